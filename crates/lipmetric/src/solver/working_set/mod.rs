//! Problems too large for the exact solver, through reduced ones.
//!
//! A reduced problem has a row for each different-label pair near its kink, one for the mean of those well below it, and
//! a few of the longest pairs; it never exceeds the true objective. A method (`Inner`) moves a point of it; between moves
//! the multipliers give a certified bound, and a pass over all pairs gives the true objective and the next rows.
//!
//! | file | what it does |
//! |---|---|
//! | `model` | the rows and sums over them |
//! | `survey` | passes over all pairs |
//! | `outer` | the loop: move, certify, look, renew the rows |

pub(crate) mod model;
pub(crate) mod outer;
pub(crate) mod survey;

pub(crate) use outer::{Inner, Penalty, Point, Settings, Task, Tick, solve, solve_rows};
