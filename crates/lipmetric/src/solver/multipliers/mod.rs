//! The method of multipliers with a semismooth Newton method inside.
//!
//! The hinges, the maximum and the cone each have a multiplier (`lambda` in `[0, cap]`, `eta` on the simplex of size `c`, `Z`
//! positive). For fixed multipliers the augmented Lagrangian is smooth in `M` alone; its generalised Hessian sees only the
//! hinges strictly between 0 and their cap, the pairs that carry `eta`, and the derivative of the projection on the cone. In
//! the eigenbasis of `Z - sigma M` that derivative is diagonal, so the Newton system is a Gram matrix plus a diagonal: it is
//! factorised where it is small and solved by conjugate gradients where it is not.
//!
//! Slacks of rows are further unknowns, with the bound `xi >= 0`: a projected Newton step. They are eliminated from its system,
//! which couples those of the two rows of a pair only where the pair's hinge is strictly between its bounds: few pairs are, and
//! the graph of them is nearly a forest.
//!
//! | file | what it does |
//! |---|---|
//! | `newton` | the Newton direction |
//! | `balance` | penalties that suit each other |
//! | `streamed` | the same method where there are too many pairs to give each a row, by passes over them |
//! | `central` | in its place where the coordinates are few: a primal-dual interior-point method on such passes |
//! | `scaling` | what the steps of `central` and `slacks` have in common |
//! | `levels` | the rows that passes see: samples that grow, then all |
//! | `slacks` | many rows with a slack each: a primal-dual interior-point method on the pairs that are nearly tight |
//! | `given` | the same method where the pairs are given, and are all that there are |
//! | `narrow` | the same in many coordinates: few directions, and more where they are needed |
//! | `ceiling` | `c_max`: at this trade-off and above, the zero metric is optimal |

mod balance;
mod ceiling;
mod central;
mod given;
mod levels;
mod narrow;
mod newton;
mod scaling;
mod slacks;
mod streamed;

pub(crate) use ceiling::ceiling;
pub(crate) use given::{Proof, solve_given};
pub(crate) use narrow::{NARROW, solve_narrow};
pub(crate) use slacks::{TightestMargins, solve_slacked, suits_slacked};
pub(crate) use streamed::{allows_rows, solve_streamed, wants_stream};

use crate::linalg;
use crate::linalg::proximal::{Positive, hinge_multiplier, simplex_threshold};
use crate::solver::Halt;
use crate::solver::lbfgs::SUFFICIENT;
use crate::solver::working_set::model::{Lengths, Model, State};
use crate::solver::working_set::{Inner, Penalty, Point, Task, Tick};
use crate::{Matrix, Result};
use balance::Missed;
use newton::{Direction, Gradient};
use std::ops::ControlFlow;

/// Newton steps in one move, at most.
const STEPS: usize = 30;
/// The penalty grows by this when a move was easy (that many steps) ...
const GROW: f64 = 3.0;
const EASY: usize = 8;
/// ... and shrinks by this when a move did not come to its end.
const SHRINK: f64 = 0.5;
/// The first penalty of the maximum, as a part of the usual guess.
const PULL: f64 = 0.2;
/// Under a limit of the diameter hinges are no larger than the limit: the first penalty of hinges, of weight one and for a limit of one.
const PUSH_LIMITED: f64 = 10.0;
/// The first weight of the distance to where a move began, relative to the cone's penalty.
const PROXIMAL: f64 = 0.1;
/// The same for slacks, relative to the penalty of hinges.
const PROXIMAL_SLACK: f64 = 0.1;
/// Slacks up to this are near zero.
const NEAR: f64 = 1e-3;
/// Halvings of a step that does not descend.
const HALVINGS: usize = 20;
/// What rounding of the value may hide of a step's decrease.
const ROUNDED: f64 = 1e-14;

/// The method of multipliers.
#[derive(Debug, Default)]
pub(crate) struct Augmented {
    penalty: Option<Penalty>,
    /// The weight of the distance to where a move began: it keeps directions that nothing sees from running away.
    proximal: f64,
    /// The same for slacks, per weight of their row.
    proximal_slack: f64,
}

/// Where a move began, and the weights of the distance to it.
struct Anchor {
    m: Matrix,
    slack: Vec<f64>,
    proximal: f64,
    proximal_slack: f64,
}

/// A point on the way.
struct Spot {
    m: Matrix,
    slack: Vec<f64>,
    /// Without the slacks.
    lengths: Lengths,
}

/// The augmented Lagrangian at a point.
struct Value {
    phi: f64,
    lambda: Vec<f64>,
    eta: Vec<f64>,
    /// Positive part of `Z - sigma M`: the next `Z`.
    z: Positive,
}

impl Value {
    fn at(model: &Model, spot: &Spot, state: &State, penalty: &Penalty, anchor: &Anchor) -> Result<Self> {
        let Spot { m, slack, lengths } = spot;
        let mut phi = 0.0;
        let lambda: Vec<f64> = (0..model.pushes())
            .map(|k| {
                let cap = model.cap(k);
                let sigma = penalty.push * cap;
                let y = state.lambda[k] + sigma * (2.0 - (lengths.push[k] + model.lift(k, slack)));
                let l = hinge_multiplier(y, cap);
                phi += l * (y - 0.5 * l) / sigma;
                l
            })
            .collect();
        let limit = model.limit.unwrap_or(0.0);
        let y: Vec<f64> = state.eta.iter().zip(&lengths.pull).map(|(e, r)| e + penalty.pull * (r - limit)).collect();
        let t = if model.limit.is_some() { 0.0 } else { simplex_threshold(y.iter().copied(), model.c) };
        let eta: Vec<f64> = y.iter().map(|v| (v - t).max(0.0)).collect();
        phi += y.iter().zip(&eta).map(|(y, e)| e * (y - 0.5 * e)).sum::<f64>() / penalty.pull;
        let mut shifted = state.z.clone();
        linalg::add_scaled(&mut shifted, -penalty.cone, m);
        let z = Positive::part(&shifted)?;
        phi += 0.5 * linalg::inner(&z.matrix, &z.matrix) / penalty.cone;
        phi += 0.5
            * anchor.proximal
            * m.as_slice().iter().zip(anchor.m.as_slice()).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        for ((s, a), w) in slack.iter().zip(&anchor.slack).zip(&model.weight) {
            phi += w * (s + 0.5 * anchor.proximal_slack * (s - a).powi(2));
        }
        Ok(Self { phi, lambda, eta, z })
    }

    fn gradient(&self, model: &Model, x: &Matrix, spot: &Spot, anchor: &Anchor) -> Gradient {
        let mut m = model.pull_sum(x, &self.eta);
        linalg::add_scaled(&mut m, -1.0, &model.push_sum(x, &self.lambda));
        linalg::add_scaled(&mut m, -1.0, &self.z.matrix);
        linalg::add_scaled(&mut m, anchor.proximal, &spot.m);
        linalg::add_scaled(&mut m, -anchor.proximal, &anchor.m);
        let size = linalg::inner(&m, &m).sqrt();
        let mut slack: Vec<f64> = model.loads(&self.lambda).iter().zip(&model.weight).map(|(l, w)| w - l).collect();
        for (k, g) in slack.iter_mut().enumerate() {
            *g += model.weight[k] * anchor.proximal_slack * (spot.slack[k] - anchor.slack[k]);
        }
        // Slacks that would reach zero at once are sent there: a Newton step that is cut off need not descend (D. P. Bertsekas,
        // Projected Newton methods, 1982).
        let each = slack.iter().zip(&spot.slack).zip(&model.weight);
        let far = each.map(|((g, s), w)| (s - (s - g / w).max(0.0)).powi(2)).sum::<f64>().sqrt();
        let near = far.min(NEAR);
        let free = slack.iter().zip(&spot.slack).map(|(g, s)| *g < 0.0 || *s > near).collect();
        Gradient { m, size, slack, free }
    }
}

impl Spot {
    /// The point after a part of a step: slacks stay at zero or above.
    fn after(&self, direction: &Direction, ahead: &Lengths, t: f64) -> Self {
        let mut m = self.m.clone();
        linalg::add_scaled(&mut m, t, &direction.m);
        let moved = |at: &[f64], by: &[f64]| at.iter().zip(by).map(|(a, b)| a + t * b).collect();
        let lengths =
            Lengths { push: moved(&self.lengths.push, &ahead.push), pull: moved(&self.lengths.pull, &ahead.pull) };
        let slack = self.slack.iter().zip(&direction.slack).map(|(s, d)| (s + t * d).max(0.0)).collect();
        Self { m, slack, lengths }
    }
}

impl Inner for Augmented {
    fn advance(&mut self, at: Point<'_>, task: &Task, tick: &mut Tick<'_>) -> Result<(usize, ControlFlow<Halt>)> {
        let Point { model, x, state } = at;
        let penalty = *self.penalty.get_or_insert_with(|| first_penalty(model, x, &state.m));
        if self.proximal == 0.0 {
            self.proximal = PROXIMAL * penalty.cone;
        }
        if self.proximal_slack == 0.0 {
            self.proximal_slack = PROXIMAL_SLACK * penalty.push;
        }
        let (proximal, proximal_slack) = (self.proximal, self.proximal_slack);
        let anchor = Anchor { m: state.m.clone(), slack: state.slack.clone(), proximal, proximal_slack };
        let mut spot = Spot { m: state.m.clone(), slack: state.slack.clone(), lengths: model.lengths(x, &state.m) };
        let mut value = Value::at(model, &spot, state, &penalty, &anchor)?;
        let (mut steps, mut told, mut stuck) = (0, ControlFlow::Continue(()), false);
        while steps < STEPS {
            let gradient = value.gradient(model, x, &spot, &anchor);
            if gradient.size <= task.gradient && gradient.of_slacks() <= task.slack {
                break;
            }
            let system = newton::System {
                model,
                x,
                penalty: &penalty,
                proximal,
                proximal_slack,
                lengths: &spot.lengths,
                slack: &spot.slack,
                state,
            };
            let direction = system.direction(&value.lambda, &value.eta, &value.z.eigen, &gradient)?;
            let slope = linalg::inner(&gradient.m, &direction.m);
            let ahead = model.lengths(x, &direction.m);
            let mut t = 1.0;
            let mut moved = None;
            for _ in 0..HALVINGS {
                let trial = spot.after(&direction, &ahead, t);
                let next = Value::at(model, &trial, state, &penalty, &anchor)?;
                let lower = t * slope + gradient.along(&spot.slack, &trial.slack);
                if next.phi <= value.phi + SUFFICIENT * lower + ROUNDED * value.phi.abs() {
                    moved = Some((trial, next));
                    break;
                }
                t *= 0.5;
            }
            steps += 1;
            told = tick();
            stuck = moved.is_none() && !spot.slack.is_empty();
            let Some((trial, next)) = moved else { break };
            (spot, value) = (trial, next);
            if told.is_break() {
                break;
            }
        }
        let missed = model.limit.map(|_| Missed::by((model, x), (state, &value), (&spot, &anchor), &penalty));
        (state.m, state.slack) = (spot.m, spot.slack);
        // The positive matrix that belongs to the new multiplier: (Z next - (Z - sigma M)) / sigma.
        state.factor = negative_factor(&value.z, penalty.cone);
        (state.lambda, state.eta, state.z) = (value.lambda, value.eta, value.z.matrix);
        let growth = if stuck {
            SHRINK
        } else if steps <= EASY {
            GROW
        } else if steps < STEPS {
            1.0
        } else {
            SHRINK
        };
        let balanced = missed.map(|missed| missed.balanced(&penalty, growth));
        let (next, metric, slack) = balanced.unwrap_or((penalty.times(growth), 1.0, 1.0));
        self.penalty = Some(next);
        self.proximal /= growth * metric;
        self.proximal_slack /= growth * slack;
        Ok((steps.max(1), told))
    }

    fn scale(&mut self, ratio: f64) {
        if let Some(penalty) = &mut self.penalty {
            penalty.pull *= ratio;
            penalty.cone *= ratio;
        }
        self.proximal *= ratio;
    }

    fn working_target(&self, coordinates: usize) -> usize {
        (20 * coordinates).max(40_000)
    }
}

/// The penalties of the first move.
fn first_penalty(model: &Model, x: &Matrix, m: &Matrix) -> Penalty {
    let guess = Penalty::guess(model, x, m);
    match model.limit {
        Some(limit) => Penalty { push: PUSH_LIMITED / limit, ..guess },
        // So small that several long pairs share the multiplier from the first.
        None => Penalty { pull: PULL * guess.pull, ..guess },
    }
}

/// The factor of the negative part, divided by `sigma`.
fn negative_factor(of: &Positive, sigma: f64) -> Matrix {
    let count = of.eigen.values.iter().take_while(|&&v| v < 0.0).count();
    of.eigen.scaled(0..count, |v| (-v / sigma).sqrt())
}
