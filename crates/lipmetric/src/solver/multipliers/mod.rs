//! The method of multipliers with a semismooth Newton method inside.
//!
//! The hinges, the maximum and the cone each have a multiplier (`lambda` in `[0, cap]`, `eta` on the simplex of size `c`, `Z`
//! positive). For fixed multipliers the augmented Lagrangian is smooth in `M` alone; its generalised Hessian sees only the
//! hinges strictly between 0 and their cap, the pairs that carry `eta`, and the derivative of the projection on the cone. In
//! the eigenbasis of `Z - sigma M` that derivative is diagonal, so the Newton system is a Gram matrix plus a diagonal: it is
//! factorised where it is small and solved by conjugate gradients where it is not.
//!
//! | file | what it does |
//! |---|---|
//! | `newton` | the Newton direction |
//! | `streamed` | the same method where there are too many pairs to give each a row |
//! | `ceiling` | the trade-off from which on the zero metric is optimal |

mod ceiling;
mod newton;
mod streamed;

pub(crate) use ceiling::ceiling;
pub(crate) use streamed::{solve_streamed, wants_stream};

use crate::linalg;
use crate::linalg::proximal::{Positive, hinge_multiplier, simplex_threshold};
use crate::solver::Halt;
use crate::solver::working_set::model::{Lengths, Model, State};
use crate::solver::working_set::{Inner, Penalty, Point, Task, Tick};
use crate::{Matrix, Result};
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
/// The first weight of the distance to where a move began, relative to the cone's penalty.
const PROXIMAL: f64 = 0.1;
/// Halvings of a step that does not descend.
const HALVINGS: usize = 20;

/// The method of multipliers.
#[derive(Debug, Default)]
pub(crate) struct Augmented {
    penalty: Option<Penalty>,
    /// The weight of the distance to where a move began: it keeps directions that nothing sees from running away.
    proximal: f64,
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
    fn at(
        model: &Model,
        lengths: &Lengths,
        state: &State,
        m: &Matrix,
        penalty: &Penalty,
        (proximal, anchor): (f64, &Matrix),
    ) -> Result<Self> {
        let mut phi = 0.0;
        let lambda: Vec<f64> = (0..model.pushes())
            .map(|k| {
                let cap = model.cap(k);
                let sigma = penalty.push * cap;
                let y = state.lambda[k] + sigma * (2.0 - lengths.push[k]);
                let l = hinge_multiplier(y, cap);
                phi += l * (y - 0.5 * l) / sigma;
                l
            })
            .collect();
        let y: Vec<f64> = state.eta.iter().zip(&lengths.pull).map(|(e, r)| e + penalty.pull * r).collect();
        let t = simplex_threshold(y.iter().copied(), model.c);
        let eta: Vec<f64> = y.iter().map(|v| (v - t).max(0.0)).collect();
        phi += y.iter().zip(&eta).map(|(y, e)| e * (y - 0.5 * e)).sum::<f64>() / penalty.pull;
        let mut shifted = state.z.clone();
        linalg::add_scaled(&mut shifted, -penalty.cone, m);
        let z = Positive::part(&shifted)?;
        phi += 0.5 * linalg::inner(&z.matrix, &z.matrix) / penalty.cone;
        phi += 0.5 * proximal * m.as_slice().iter().zip(anchor.as_slice()).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        Ok(Self { phi, lambda, eta, z })
    }

    fn gradient(&self, model: &Model, x: &Matrix, m: &Matrix, (proximal, anchor): (f64, &Matrix)) -> Matrix {
        let mut g = model.pull_sum(x, &self.eta);
        linalg::add_scaled(&mut g, -1.0, &model.push_sum(x, &self.lambda));
        linalg::add_scaled(&mut g, -1.0, &self.z.matrix);
        linalg::add_scaled(&mut g, proximal, m);
        linalg::add_scaled(&mut g, -proximal, anchor);
        g
    }
}

impl Inner for Augmented {
    fn advance(&mut self, at: Point<'_>, task: &Task, tick: &mut Tick<'_>) -> Result<(usize, ControlFlow<Halt>)> {
        let Point { model, x, state } = at;
        let penalty = *self.penalty.get_or_insert_with(|| {
            let guess = Penalty::guess(model, x, &state.m);
            // So small that several long pairs share the multiplier from the first.
            Penalty { pull: PULL * guess.pull, ..guess }
        });
        if self.proximal == 0.0 {
            self.proximal = PROXIMAL * penalty.cone;
        }
        let start = state.m.clone();
        let anchor = (self.proximal, &start);
        let mut lengths = model.lengths(x, &state.m);
        let mut value = Value::at(model, &lengths, state, &state.m, &penalty, anchor)?;
        let (mut steps, mut told) = (0, ControlFlow::Continue(()));
        while steps < STEPS {
            let gradient = value.gradient(model, x, &state.m, anchor);
            let size = linalg::inner(&gradient, &gradient).sqrt();
            if size <= task.gradient {
                break;
            }
            let system =
                newton::System { model, x, penalty: &penalty, proximal: self.proximal, lengths: &lengths, state };
            let direction = system.direction(&value.lambda, &value.eta, &value.z.eigen, &gradient, size)?;
            let slope = linalg::inner(&gradient, &direction);
            let ahead = model.lengths(x, &direction);
            let mut t = 1.0;
            let mut moved = None;
            for _ in 0..HALVINGS {
                let mut m = state.m.clone();
                linalg::add_scaled(&mut m, t, &direction);
                let trial = Lengths {
                    push: lengths.push.iter().zip(&ahead.push).map(|(a, b)| a + t * b).collect(),
                    pull: lengths.pull.iter().zip(&ahead.pull).map(|(a, b)| a + t * b).collect(),
                };
                let next = Value::at(model, &trial, state, &m, &penalty, anchor)?;
                if next.phi <= value.phi + 1e-4 * t * slope + 1e-14 * value.phi.abs() {
                    moved = Some((m, trial, next));
                    break;
                }
                t *= 0.5;
            }
            steps += 1;
            told = tick();
            let Some((m, trial, next)) = moved else { break };
            (state.m, lengths, value) = (m, trial, next);
            if told.is_break() {
                break;
            }
        }
        // The positive matrix that belongs to the new multiplier: (Z next - (Z - sigma M)) / sigma.
        state.factor = negative_factor(&value.z, penalty.cone);
        (state.lambda, state.eta, state.z) = (value.lambda, value.eta, value.z.matrix);
        let growth = if steps <= EASY {
            GROW
        } else if steps < STEPS {
            1.0
        } else {
            SHRINK
        };
        self.penalty = Some(penalty.times(growth));
        self.proximal /= growth;
        Ok((steps.max(1), told))
    }

    fn working_target(&self, coordinates: usize) -> usize {
        (20 * coordinates).max(40_000)
    }
}

/// The factor of the negative part, divided by `sigma`.
fn negative_factor(of: &Positive, sigma: f64) -> Matrix {
    let count = of.eigen.values.iter().take_while(|&&v| v < 0.0).count();
    of.eigen.scaled(0..count, |v| (-v / sigma).sqrt())
}
