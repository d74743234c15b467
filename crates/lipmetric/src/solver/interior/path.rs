//! A sequence of trade-offs, each problem started from a central point of the one before.

use super::Interior;
use super::engine::{Engine, Settings, Solution, solve_from};
use crate::Result;
use crate::pairs::Cloud;
use crate::solver::{Observer, Status};

/// The least and the largest gap that a first point is thought to have.
const LEAST: f64 = 0.05;
const MOST: f64 = 0.5;

/// A point of one problem, to start another from that differs only in `c`.
pub(super) struct Waypoint {
    c: f64,
    interior: Interior,
    /// The optimal value, about.
    value: f64,
}

impl Waypoint {
    /// The point that an engine has kept.
    pub(super) fn of(engine: &mut Engine<'_>) -> Option<Self> {
        let value = engine.best.objective;
        let mut interior = engine.waypoint.take()?;
        interior.bounding = engine.bounding();
        Some(Self { c: engine.settings.c, interior, value })
    }

    /// A central point of the problem with another `c`. The optimal value is concave in `c` and grows less than in
    /// proportion, which tells about how far the point is from the optimum.
    pub(super) fn resume<'a>(&self, cloud: &'a Cloud, settings: Settings<'a>) -> Result<Engine<'a>> {
        let ratio = settings.c / self.c;
        let likely = |objective: f64| {
            let least = self.value * ratio.min(1.0);
            let expected = (least * objective).sqrt();
            (1.0 - expected / objective).clamp(LEAST, MOST)
        };
        Engine::begin_at(cloud, settings, self.interior.clone(), likely)
    }
}

/// Solves the problem for each `c` in turn, each from a point of the one before; stops early where the observer says so.
pub(crate) fn path(
    cloud: &Cloud,
    settings: Settings<'_>,
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
