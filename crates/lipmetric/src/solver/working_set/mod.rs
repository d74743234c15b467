//! Problems too large for the exact solver, through reduced ones.
//!
//! A reduced problem has a row for each different-label pair near its kink, one for the mean of those well below it, and
//! a few of the longest pairs; it never exceeds the true objective. A method (`Inner`) moves a point of it; between moves
//! the multipliers give a certified bound, and a pass over all pairs gives the true objective and the next rows.
//!
//! | file | what it does |
//! |---|---|
//! | `model` | the rows and sums over them |
//! | `first` | where it begins |
//! | `survey` | passes over all pairs |
//! | `rows` | the same with a slack per row |
//! | `links` | the slacks of rows in a method's linear systems |
//! | `subspace` | where the metric is sought if there are many coordinates |
//! | `climb` | `c_max` with a slack per row |
//! | `limit` | `c_max` as the largest gain under a limit of the diameter |
//! | `outer` | the loop: move, certify, look, renew the rows |

mod climb;
mod first;
mod limit;
pub(crate) mod links;
pub(crate) mod model;
pub(crate) mod outer;
pub(crate) mod rows;
mod subspace;
pub(crate) mod survey;

/// Lengths and traces of a metric, which divide, count as at least this: they are about one in the coordinates of a solver.
pub(crate) const LEAST: f64 = 1e-12;

pub(crate) use climb::{climb, filled, least_ratio};
pub(crate) use first::{even_bound, first_factor};
pub(crate) use limit::{Gain, largest_gain, suits_limit};
pub(crate) use outer::{Inner, PART, Penalty, Point, Settings, Task, Tick, solve, solve_rows};
