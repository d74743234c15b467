//! Minimises a penalty plus hinges of relative comparisons: "`x_i` is nearer to `x_j` than to `x_l`, by a margin of one".
//!
//! `F(M) = R(M) + sum u max(0, 1 + rho_M(x_i, x_j) - rho_M(x_i, x_l))`, `M` positive semidefinite, with `R` linear (the pull
//! of LMNN) or the squared Frobenius norm (LMML). It is convex in `M`; it is minimised over factors `L`, `M = L^T L`, by
//! quasi-Newton steps on a smoothed form: the method of multipliers, in which each hinge's multiplier `u nu` with `nu` in
//! [0, 1] is `nu = clip(nu_0 + t / delta)` and `nu_0` is what it was in the round before.
//!
//! The same multipliers are a point of the dual problem. Scaled down until they are feasible there, they prove a lower bound
//! of `F`: every round ends with a certified gap. In `impostors` are the comparisons that are listed, never one too few.

mod impostors;
mod measure;

pub(crate) use impostors::Lists;

use crate::pairs::Cloud;
use crate::solver::lbfgs::{End, Lbfgs, Settings as Steps};
use crate::solver::{Halt, Observer, Progress, Status};
use crate::{Matrix, Result, linalg};

/// What keeps the metric small.
#[derive(Debug, Clone)]
pub(crate) enum Penalty {
    /// `<C, M>`, `C` positive semidefinite.
    Linear(Matrix),
    /// `||M||_F^2`.
    Squared,
}

/// What a slack belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// Each comparison has its own, counted as often as the impostor's weight says.
    Each,
    /// A row has one, as large as its worst comparison asks for.
    Worst,
}

/// The comparisons that begin with the same row.
#[derive(Debug, Clone)]
pub(crate) struct Anchor {
    /// The row.
    pub(crate) point: usize,
    /// How much a violated margin costs.
    pub(crate) cost: f64,
    /// The rows that it should be near to.
    pub(crate) targets: Vec<u32>,
}

/// The problem.
pub(crate) struct Problem<'a> {
    pub(crate) cloud: &'a Cloud,
    pub(crate) anchors: Vec<Anchor>,
    pub(crate) loss: Loss,
    pub(crate) penalty: Penalty,
}

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    /// The certified relative gap to reach.
    pub(crate) tolerance: f64,
    /// Steps, at most.
    pub(crate) max_iterations: usize,
    /// Whether `L` may be of any rank, so that a gap above the tolerance means that it is not yet optimal.
    pub(crate) full: bool,
}

/// What was found.
pub(crate) struct Solution {
    /// `L`, components x coordinates.
    pub(crate) factor: Matrix,
    pub(crate) objective: f64,
    pub(crate) dual: f64,
    pub(crate) status: Status,
    pub(crate) iterations: usize,
}

impl Solution {
    /// The relative gap between objective and dual.
    pub(crate) fn gap(&self) -> f64 {
        relative(self.objective, self.dual)
    }
}

fn relative(objective: f64, dual: f64) -> f64 {
    if objective <= 0.0 { 0.0 } else { ((objective - dual) / objective).clamp(0.0, 1.0) }
}

/// Steps that are remembered.
const MEMORY: usize = 20;
/// Rounds of multipliers, at most.
const ROUNDS: usize = 150;

impl Problem<'_> {
    /// The penalty and half its gradient in `L`.
    fn penalty(&self, factor: &Matrix) -> (f64, Matrix) {
        match &self.penalty {
            Penalty::Linear(c) => {
                let gradient = linalg::product(factor, c);
                (linalg::inner(&gradient, factor), gradient)
            }
            Penalty::Squared => {
                let gram = linalg::product_transposed(factor, factor);
                let mut gradient = linalg::product(&gram, factor);
                gradient.as_mut_slice().iter_mut().for_each(|v| *v *= 2.0);
                (linalg::inner(&gram, &gram), gradient)
            }
        }
    }

    /// The objective of `L`, the hinges as they are.
    pub(crate) fn objective(&self, lists: &mut Lists, factor: &Matrix) -> f64 {
        let z = linalg::product_transposed(&self.cloud.x, factor);
        lists.ensure(self, &z, factor);
        self.penalty(factor).0 + self.measure(lists, &z, 0.0, false).exact
    }

    /// The objective of the zero metric, where the comparisons are those of the labels: every one is violated by one.
    pub(crate) fn objective_of_zero(&self) -> f64 {
        if self.loss == Loss::Worst {
            return self.anchors.iter().map(|a| a.cost).sum();
        }
        let classes = self.cloud.class.last().map_or(0, |&c| c as usize + 1);
        let mut mass = vec![0.0; classes];
        self.cloud.class.iter().zip(&self.cloud.weight).for_each(|(&c, w)| mass[c as usize] += w);
        let total: f64 = mass.iter().sum();
        let others = |a: &Anchor| total - mass[self.cloud.class[a.point] as usize];
        self.anchors.iter().map(|a| a.cost * a.targets.len() as f64 * others(a)).sum()
    }

    /// The lower bound that multipliers prove: they are `sum` in all, and `push` is the sum of
    /// `multiplier (A_il - A_ij)`.
    fn bound(&self, push: &Matrix, sum: f64) -> Result<f64> {
        match &self.penalty {
            // Feasible where C - s push is positive semidefinite.
            Penalty::Linear(c) => {
                let left = |s: f64| {
                    let mut m = c.clone();
                    linalg::add_scaled(&mut m, -s, push);
                    m
                };
                let size = linalg::inner(c, c).sqrt() + linalg::inner(push, push).sqrt();
                let fits = |s: f64| -> Result<bool> {
                    let low = linalg::symmetric_eigenvalues(&left(s))?.first().copied().unwrap_or(0.0);
                    // Eigenvalues are right to a few roundings of the norm.
                    Ok(low >= -4.0 * f64::EPSILON * size)
                };
                if sum <= 0.0 || !sum.is_finite() {
                    return Ok(0.0);
                }
                if fits(1.0)? {
                    return Ok(sum);
                }
                let (mut low, mut high) = (0.0, 1.0);
                if let Some(s) = largest_scale(c, push)? {
                    let s = (s * (1.0 - 1e-9)).min(1.0);
                    if fits(s)? {
                        return Ok(s * sum);
                    }
                    high = s;
                }
                for _ in 0..40 {
                    let middle = 0.5 * (low + high);
                    if fits(middle)? {
                        low = middle;
                    } else {
                        high = middle;
                    }
                }
                Ok(low * sum)
            }
            // min over M of ||M||^2 - s <push, M> is -s^2/4 times the squared norm of the positive part.
            Penalty::Squared => {
                let positive: f64 =
                    linalg::symmetric_eigenvalues(push)?.iter().map(|v| v.max(0.0)).map(|v| v * v).sum();
                let s = if positive > 0.0 { (2.0 * sum / positive).min(1.0) } else { 1.0 };
                Ok((s * sum - 0.25 * s * s * positive).max(0.0))
            }
        }
    }

    /// Minimises from `start`.
    pub(crate) fn solve(
        &self,
        lists: &mut Lists,
        start: Matrix,
        settings: &Settings,
        observer: &mut dyn Observer,
    ) -> Result<Solution> {
        let (r, p) = (start.rows(), start.cols());
        let mut delta: f64 = 0.5;
        let mut accuracy: f64 = 0.1;
        let mut best: Option<(Matrix, f64)> = None;
        let (mut dual, mut idle) = (0.0f64, 0);
        let mut state: Option<Lbfgs> = None;
        let mut first = Some(start);
        let mut status = Status::Stalled;
        for round in 0..ROUNDS {
            let mut factor = Matrix::zeros(r, p);
            lists.review(self);
            let mut function = |x: &[f64], g: &mut [f64]| {
                factor.as_mut_slice().copy_from_slice(x);
                let z = linalg::product_transposed(&self.cloud.x, &factor);
                if z.first_non_finite().is_some() {
                    return f64::INFINITY;
                }
                lists.ensure(self, &z, &factor);
                let measured = self.measure(lists, &z, delta, false);
                let (penalty, mut half) = self.penalty(&factor);
                let y = measure::apply(&measured.pairs, &z);
                linalg::gemm_tn_add(half.as_mut_slice(), y.as_slice(), self.cloud.x.as_slice(), r, p, z.rows());
                g.iter_mut().zip(half.as_slice()).for_each(|(o, v)| *o = 2.0 * v);
                penalty + measured.smooth
            };
            let state = match &mut state {
                Some(state) => {
                    state.renew(&mut function, false);
                    state
                }
                None => state.insert(Lbfgs::new(first.take().unwrap_or_default().into_vec(), &mut function)),
            };
            let resistance = {
                let half = self.penalty(&Matrix::from_vec(r, p, state.x.clone())?).1;
                2.0 * linalg::inner(&half, &half).sqrt()
            };
            let steps = Steps {
                memory: MEMORY,
                decrease: 1e-13,
                scale: 0.0,
                gradient: accuracy * resistance,
                max_iterations: settings.max_iterations,
            };
            let end = state.run(&mut function, &steps, &mut |iteration, value| {
                observer.progress(&Progress {
                    iteration,
                    primal: Some(best.as_ref().map_or(value, |b| b.1)),
                    dual: Some(dual),
                    gap: best.as_ref().map(|b| relative(b.1, dual)),
                    ..Progress::default()
                })
            });
            factor.as_mut_slice().copy_from_slice(&state.x);
            let z = linalg::product_transposed(&self.cloud.x, &factor);
            lists.ensure(self, &z, &factor);
            let measured = self.measure(lists, &z, delta, true);
            let objective = self.penalty(&factor).0 + measured.exact;
            let push = measure::push(&measured.pairs, &self.cloud.x);
            dual = dual.max(self.bound(&push, measured.sum)?);
            let improved = best.as_ref().is_none_or(|b| objective < b.1);
            if improved {
                best = Some((factor, objective));
            }
            let objective = best.as_ref().map_or(objective, |b| b.1);
            let gap = relative(objective, dual);
            let told = observer.progress(&Progress {
                iteration: state.iterations,
                primal: Some(objective),
                dual: Some(dual),
                gap: Some(gap),
                working_set: Some(lists.len()),
                ..Progress::default()
            });
            let stop = match (end, told) {
                (End::Stopped(stop), _) | (_, std::ops::ControlFlow::Break(stop)) => Some(stop),
                _ => None,
            };
            if gap <= settings.tolerance {
                status = Status::Optimal;
                break;
            }
            if let Some(stop) = stop {
                status = if stop == Halt::TimeLimit { Status::TimeLimit } else { Status::Interrupted };
                break;
            }
            if end == End::IterationLimit {
                status = Status::IterationLimit;
                break;
            }
            if !settings.full && round >= 4 {
                // A low-rank problem need not meet the bound of the convex one: settled is all that can be asked.
                status = Status::Optimal;
                break;
            }
            lists.keep(measured.multipliers);
            idle = if end == End::Stalled && !improved { idle + 1 } else { 0 };
            if idle >= 4 {
                break;
            }
            delta = (0.4 * delta).max(0.01);
            accuracy = (0.7 * accuracy).max(0.2 * settings.tolerance);
        }
        let iterations = state.as_ref().map_or(0, |s| s.iterations);
        let (factor, objective) = best.unwrap_or((Matrix::zeros(r, p), f64::NAN));
        Ok(Solution { factor, objective, dual: dual.min(objective), status, iterations })
    }
}

/// The largest `s` with `C - s P` positive semidefinite, if `C` is positive definite.
fn largest_scale(c: &Matrix, push: &Matrix) -> Result<Option<f64>> {
    let Some(cholesky) = linalg::Cholesky::of(c) else { return Ok(None) };
    let top = linalg::symmetric_eigenvalues(&cholesky.whiten(push))?.last().copied().unwrap_or(0.0);
    Ok(Some(if top > 0.0 { 1.0 / top } else { f64::INFINITY }))
}
