//! A sequence of trade-offs, each problem started from a point of the one before.

use super::engine::{Engine, Settings, WAYPOINT, begin};
use crate::Result;
use crate::pairs::Cloud;
use crate::problem::Slack;
use crate::solver::{Observer, Solution, Status};

/// Steps that a point of the problem before may take to come as near to the optimum as it was; else a new start is made.
const PATIENCE: usize = 20;
/// The gap that a metric of the problem before is thought to have, with a slack per row.
const LIKELY: f64 = 0.2;
/// Where a gap of more than this is enough, a new start takes a sixth fewer steps than one from there: it goes fast until then.
const LOOSE: f64 = 0.02;
/// Settled rows of the problem before go where they are at least this part of all.
const PRUNED: f64 = 0.1;

/// Solves the problem for each `c` in turn, from a still central point of the one before; stops early where the observer says
/// so.
pub(crate) fn path(
    cloud: &Cloud,
    settings: Settings<'_>,
    trade_offs: &[f64],
    observer: &mut dyn Observer,
) -> Result<Vec<Solution>> {
    let mut solutions = Vec::with_capacity(trade_offs.len());
    let mut waypoint: Option<Box<Engine<'_>>> = None;
    for &c in trade_offs {
        let settings = Settings { c, ..settings };
        let mut iterations = 0;
        let warm = waypoint.is_some();
        let mut engine = match waypoint.take() {
            // With a slack per row the rows of the problem before are of little use: they are chosen anew.
            Some(_) if settings.slack == Slack::Instance && settings.stop.tolerance > LOOSE => {
                begin(cloud, settings, &mut iterations, observer)?
            }
            Some(engine) if settings.slack == Slack::Instance => {
                Engine::begin_at(cloud, settings, engine.interior(), |_| LIKELY)?
            }
            Some(mut engine) => {
                engine.prune(PRUNED)?;
                engine.state.drop_idle();
                engine.turn_to(Settings {
                    stop: settings.stop.after(PATIENCE.min(settings.stop.max_iterations)),
                    ..settings
                });
                let near = engine.run(WAYPOINT.max(settings.stop.tolerance), &mut iterations, observer)?;
                match near {
                    Status::IterationLimit | Status::Stalled => begin(cloud, settings, &mut iterations, observer)?,
                    _ => *engine,
                }
            }
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
        solutions.push(engine.finish(status, iterations)?);
        if matches!(status, Status::TimeLimit | Status::Interrupted) {
            break;
        }
    }
    Ok(solutions)
}
