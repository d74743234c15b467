//! The certified exact solver: a primal-dual interior-point method on a working set of pairs.
//!
//! The reduced problem holds a row for each different-label pair near its kink `rho = 2`, one row for the sum of all
//! pairs well below it, none for those well above; a row for each of the longest pairs that bound the diameter, and one
//! for the mean of all of them (it has full rank and keeps the dual strictly feasible). At all times it is a lower bound
//! of the full problem, and its multipliers, padded with zeros and scaled, are feasible for the full dual: every iterate
//! carries a certificate. After every step a pass over all pairs (matrix products, tile by tile) evaluates the true
//! objective and finds the pairs that need a row. The primal point is lifted back into the feasible region where the step
//! has left it; new rows enter near the central path, and what dual feasibility they cost the next steps restore. Where `c`
//! is large, a smaller problem with few pairs that push gives the first point.
//!
//! | file | what it does |
//! |---|---|
//! | `rows` | the rows of the reduced problem and their variables |
//! | `assemble` | sums over rows: the dense part of the Newton matrix, residuals, products |
//! | `factor` | the Newton matrix, factored |
//! | `newton` | one step: Nesterov-Todd direction with Mehrotra's corrector |
//! | `scan` | passes over all pairs |
//! | `start` | a strictly feasible first point |
//! | `admit` | new rows without losing feasibility |
//! | `restore` | dual feasibility where rounding has lost it |
//! | `prune` | gives up rows that are no longer needed |
//! | `tail` | the diameter as the mean of the longest distances |
//! | `certify` | the certificate of an iterate |
//! | `engine` | the loop |
//! | `finish` | the last iterate as a solution: the least rank, multipliers by pair |
//! | `path` | a sequence of trade-offs, each started from the one before |
//! | `ceiling` | `c_max`: at this trade-off and above, the zero metric is optimal |
//! | `tail_ceiling` | the same for the mean of the longest distances |

mod admit;
mod assemble;
mod ceiling;
mod certify;
mod engine;
mod factor;
mod finish;
mod newton;
mod path;
mod prune;
mod restore;
mod rows;
mod scan;
mod start;
mod tail;
mod tail_ceiling;
#[cfg(test)]
mod tests;

pub(crate) use ceiling::{Ceiling, ceiling};
pub(crate) use engine::{PART, Settings, bent, solve, solve_near};
pub(crate) use path::{Start, path};
pub(crate) use start::fitted;

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
    /// Its dual, positive definite: `sum over pulling rows of lambda A - sum over pushing rows of lambda A - fixed + drawn`,
    /// and `gamma (M - M_0)` with an anchor.
    z: Matrix,
    scalar: f64,
    rows: Rows,
    /// What pushes without a row, ...
    fixed: Matrix,
    /// ... and what pulls without one.
    drawn: Matrix,
    /// `(gamma / 2) |M - M_0|^2` in the objective.
    anchor: Option<(f64, Matrix)>,
    /// The points that have a slack of their own (one per instance), ...
    active: Vec<u32>,
    /// ... where each point's slack is, [`NOWHERE`] if it has none, ...
    place: Vec<u32>,
    /// ... the slacks, ...
    slack: Vec<f64>,
    /// ... and the multipliers of `slack >= 0`.
    reduced: Vec<f64>,
}

/// A primal point well inside its cones, to start a similar problem from.
#[derive(Debug, Clone)]
struct Interior {
    m: Matrix,
    /// The slack of each point, with a slack per row; else empty.
    slack: Vec<f64>,
}

/// The place of a point without a slack.
const NOWHERE: u32 = u32::MAX;

impl State {
    /// `sum lambda A` over the rows that pull and over those that push, with the parts that have no row.
    fn sums(&self, cloud: &Cloud) -> (Matrix, Matrix) {
        let rows = &self.rows;
        let pick = |push: bool| {
            (0..rows.len())
                .filter(move |&k| rows.push[k] == push)
                .filter_map(|k| rows.pair(k).map(|(i, j)| (i, j, rows.lambda[k])))
        };
        let mut pull = weighted_outer(&cloud.x, pick(false));
        let mut push = weighted_outer(&cloud.x, pick(true));
        linalg::add_scaled(&mut pull, 1.0, &self.drawn);
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

    /// Bytes of the largest matrices of a step, about: the Newton matrix twice, and the rows.
    fn bytes(&self) -> usize {
        let n = self.active.len() + linalg::packed_len(self.m.rows()) + 1;
        16 * n * n + 200 * self.rows.len()
    }

    /// Operations of a careful step, about.
    fn careful_work(&self) -> f64 {
        let n = (self.active.len() + linalg::packed_len(self.m.rows()) + 1) as f64;
        2.0 * (self.rows.len() as f64 + n) * n * n
    }

    /// The mean complementary product.
    fn mu(&self) -> f64 {
        self.complementarity() / self.degree()
    }
}
