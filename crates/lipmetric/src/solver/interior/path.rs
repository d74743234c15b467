//! A sequence of trade-offs, each problem started from a point of the one before.

use super::engine::{Engine, Settings, WAYPOINT, begin};
use crate::Result;
use crate::pairs::Cloud;
use crate::problem::{Slack, relative_gap};
use crate::solver::{Observer, Solution, Status};

/// Steps that a point of the problem before may take to come as near to the optimum as it was; else a new start is made.
const PATIENCE: usize = 20;
/// Settled rows of the problem before go where they are at least this part of all.
const PRUNED: f64 = 0.1;

/// A still central point of a problem, from which a path may start.
pub(crate) struct Start<'a>(Box<Engine<'a>>);

impl<'a> Start<'a> {
    pub(super) fn of(engine: &Engine<'a>) -> Self {
        let mut point = engine.clone();
        point.keep = true;
        Self(Box::new(point))
    }
}

/// Solves the problem for each `c` in turn, from a still central point of the one before, the first from `start` where there is one;
/// stops early where the observer says so.
pub(crate) fn path<'a>(
    cloud: &'a Cloud,
    settings: Settings<'a>,
    trade_offs: &[f64],
    start: Option<Start<'a>>,
    observer: &mut dyn Observer,
) -> Result<Vec<Solution>> {
    let mut solutions = Vec::with_capacity(trade_offs.len());
    let mut waypoint = start.map(|start| start.0);
    let mut last: Option<Engine<'_>> = None;
    for &c in trade_offs {
        let settings = Settings { c, ..settings };
        if let Some(mut same) = last.take()
            && same.stays_optimal(settings)?
        {
            waypoint.iter_mut().for_each(|waypoint| waypoint.turn_to(settings));
            solutions.push(same.clone().finish(Status::Optimal, 0)?);
            last = Some(same);
            continue;
        }
        let mut iterations = 0;
        let warm = waypoint.is_some();
        let mut engine = match waypoint.take() {
            Some(before) => near(before, settings, &mut iterations, observer)?,
            None => begin(cloud, settings, &mut iterations, observer)?,
        };
        engine.settings = settings;
        engine.keep = true;
        let mut status = engine.run(settings.stop.tolerance, &mut iterations, observer)?;
        // A point of the problem before can lie where no step leads away from; a new start does not.
        if warm && status == Status::Stalled {
            engine = begin(cloud, settings, &mut iterations, observer)?;
            engine.keep = true;
            status = engine.run(settings.stop.tolerance, &mut iterations, observer)?;
        }
        waypoint = engine.waypoint.take();
        if let (Some(waypoint), Slack::Pair) = (&mut waypoint, settings.slack) {
            waypoint.prune_free(Some(&engine.best.factor))?;
        }
        if status == Status::Optimal {
            last = Some(engine.clone());
        }
        solutions.push(engine.finish(status, iterations)?);
        if matches!(status, Status::TimeLimit | Status::Interrupted) {
            break;
        }
    }
    Ok(solutions)
}

impl<'a> Engine<'a> {
    /// Turns to another trade-off; tells whether the point is optimal there, too. So it is where no slack is left and all
    /// multipliers follow `c`.
    fn stays_optimal(&mut self, settings: Settings<'a>) -> Result<bool> {
        self.turn_to(settings);
        self.certify()?;
        Ok(relative_gap(self.best.objective, self.lower()) <= settings.stop.tolerance)
    }
}

/// The point `before` of another problem, led as near to the optimum of this one as it was to that of its own; a new start where
/// that takes too long.
fn near<'a>(
    mut before: Box<Engine<'a>>,
    settings: Settings<'a>,
    iterations: &mut usize,
    observer: &mut dyn Observer,
) -> Result<Engine<'a>> {
    before.prune(PRUNED)?;
    before.state.drop_idle(before.cloud);
    let patience = settings.stop.after(PATIENCE.min(settings.stop.max_iterations));
    before.turn_to(Settings { stop: patience, ..settings });
    let status = before.run(WAYPOINT.max(settings.stop.tolerance), iterations, observer)?;
    match status {
        Status::IterationLimit | Status::Stalled => begin(before.cloud, settings, iterations, observer),
        _ => Ok(*before),
    }
}
