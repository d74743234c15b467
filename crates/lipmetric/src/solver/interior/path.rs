//! A sequence of trade-offs, each problem started from a central point of the one before.

use super::State;
use super::engine::{Best, Engine, Settings, Solution, solve_from};
use super::newton::factor_of;
use super::scan::{Query, survey};
use crate::linalg;
use crate::pairs::{Cloud, Embedding};
use crate::problem::Slack;
use crate::solver::{Observer, Status};
use crate::{Matrix, Result};

/// A central point of one problem, to start another from that differs only in `c`.
pub(super) struct Waypoint {
    c: f64,
    state: State,
    sides: Embedding,
    sides_factor: Matrix,
}

impl Waypoint {
    /// The point that an engine has kept.
    pub(super) fn of(engine: &mut Engine<'_>) -> Option<Self> {
        let state = engine.waypoint.take()?;
        Some(Self {
            c: engine.settings.c,
            state,
            sides: engine.sides.clone(),
            sides_factor: engine.sides_factor.clone(),
        })
    }

    /// A strictly feasible point of the problem with another `c`: for a smaller one all multipliers shrink, for a larger
    /// one those that pull grow; either way `Z` stays positive definite.
    pub(super) fn resume<'a>(&self, cloud: &'a Cloud, settings: Settings) -> Result<Engine<'a>> {
        let mut state = self.state.clone();
        let ratio = settings.c / self.c;
        let shrink = ratio.min(1.0);
        let (pull, push) = state.sums(cloud);
        for k in 0..state.rows.len() {
            state.rows.lambda[k] *= if state.rows.push[k] { shrink } else { ratio };
        }
        for (u, &i) in state.reduced.iter_mut().zip(&state.active) {
            let weight = cloud.weight[i as usize];
            *u = weight - shrink * (weight - *u);
        }
        state.z = pull;
        state.z.as_mut_slice().iter_mut().for_each(|v| *v *= ratio);
        linalg::add_scaled(&mut state.z, -shrink, &push);
        let factor = factor_of(&state.m, "the metric")?;
        let query = Query { variant: settings.variant, window: (0.0, 0.0), beyond: f64::INFINITY, most: 0 };
        let found = survey(cloud, &Embedding::new(cloud, &factor), None, &query, None);
        let slack: Vec<f64> = match settings.slack {
            Slack::Pair => Vec::new(),
            Slack::Instance => (0..cloud.len()).map(|i| state.slack_of(i)).collect(),
        };
        let loss = match settings.slack {
            Slack::Pair => found.hinge,
            Slack::Instance => slack.iter().zip(&cloud.weight).map(|(s, w)| s * w).sum(),
        };
        let objective = settings.c * found.longest + loss;
        let best = Best { objective, diameter: found.longest, factor, slack };
        let mut engine = Engine::new(cloud, settings, state, self.sides.clone(), self.sides_factor.clone(), best);
        engine.prune()?;
        Ok(engine)
    }
}

/// Solves the problem for each `c` in turn, each from a point of the one before; stops early where the observer says so.
pub(crate) fn path(
    cloud: &Cloud,
    settings: Settings,
    trade_offs: &[f64],
    observer: &mut dyn Observer,
) -> Result<Vec<Solution>> {
    let mut solutions = Vec::with_capacity(trade_offs.len());
    let mut waypoint: Option<Waypoint> = None;
    for &c in trade_offs {
        let (solution, next) = solve_from(cloud, Settings { c, ..settings }, waypoint.as_ref(), observer)?;
        let stop = matches!(solution.status, Status::TimeLimit | Status::Interrupted);
        solutions.push(solution);
        if stop {
            break;
        }
        waypoint = next;
    }
    Ok(solutions)
}
