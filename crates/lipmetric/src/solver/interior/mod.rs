//! The certified exact solver: a primal-dual interior-point method on a working set of pairs.
//!
//! The reduced problem holds a row for each different-label pair near its kink `rho = 2`, one row for the sum of all
//! pairs well below it, none for those well above; a row for each of the longest pairs that bound the diameter, and one
//! for the mean of all of them (it has full rank and keeps the dual strictly feasible). At all times it is a lower bound
//! of the full problem, and its multipliers, padded with zeros, are feasible for the full dual: every iterate carries a
//! certificate. After every step a pass over all pairs (matrix products, tile by tile) evaluates the true objective and
//! finds the pairs that need a row; they enter without losing dual feasibility.
//!
//! | file | what it does |
//! |---|---|
//! | `rows` | the rows of the reduced problem and their variables |
//! | `assemble` | sums over rows: the Newton matrix, residuals, products |
//! | `newton` | one step: Nesterov-Todd direction with Mehrotra's corrector |
//! | `scan` | passes over all pairs |
//! | `start` | a strictly feasible first point |
//! | `admit` | new rows without losing feasibility |
//! | `prune` | gives up rows that are no longer needed |
//! | `engine` | the loop, the certificate |
//! | `path` | a sequence of trade-offs, each started from the one before |
//! | `ceiling` | the trade-off from which on the zero metric is optimal |

mod admit;
mod assemble;
mod ceiling;
mod engine;
mod newton;
mod path;
mod prune;
mod rows;
mod scan;
mod start;

pub(crate) use ceiling::{ceiling, value_at_zero};
pub(crate) use engine::{Settings, Solution, solve};
pub(crate) use path::path;

use crate::Matrix;
use crate::linalg;
use crate::pairs::{Cloud, weighted_outer};
use rows::Rows;

/// The scalar variable of a problem (for a fit, the diameter): whether there is one, and its cost.
#[derive(Debug, Clone, Copy)]
struct Shape {
    scalar: bool,
    cost: f64,
}

/// A primal-dual point of the reduced problem. The primal side is always feasible.
#[derive(Debug, Clone)]
struct State {
    /// `M`, positive definite.
    m: Matrix,
    /// Its dual, positive definite: `sum over pulling rows of lambda A - sum over pushing rows of lambda A - fixed`.
    z: Matrix,
    scalar: f64,
    rows: Rows,
    /// A part of the linear cost of `M` that has no row.
    fixed: Matrix,
    /// The points that have a slack of their own (one per instance), ...
    active: Vec<u32>,
    /// ... where each point's slack is, [`NOWHERE`] if it has none, ...
    place: Vec<u32>,
    /// ... the slacks, ...
    slack: Vec<f64>,
    /// ... and the multipliers of `slack >= 0`.
    reduced: Vec<f64>,
}

/// The place of a point without a slack.
const NOWHERE: u32 = u32::MAX;

impl State {
    /// `sum lambda A` over the rows that pull and over those that push (with the fixed part).
    fn sums(&self, cloud: &Cloud) -> (Matrix, Matrix) {
        let rows = &self.rows;
        let pick = |push: bool| {
            (0..rows.len())
                .filter(move |&k| rows.push[k] == push)
                .filter_map(|k| rows.pair(k).map(|(i, j)| (i, j, rows.lambda[k])))
        };
        let mut pull = weighted_outer(&cloud.x, pick(false));
        let mut push = weighted_outer(&cloud.x, pick(true));
        linalg::add_scaled(&mut push, 1.0, &self.fixed);
        for k in 0..rows.len() {
            if rows.pair(k).is_none() {
                let sum = &rows.sums[rows.j[k] as usize];
                linalg::add_scaled(if rows.push[k] { &mut push } else { &mut pull }, rows.lambda[k], sum);
            }
        }
        (pull, push)
    }

    /// The slack of a point; zero where it has none.
    fn slack_of(&self, i: usize) -> f64 {
        match self.place.get(i) {
            Some(&at) if at != NOWHERE => self.slack[at as usize],
            _ => 0.0,
        }
    }

    /// The mean complementary product.
    fn mu(&self) -> f64 {
        self.complementarity() / self.degree()
    }
}
