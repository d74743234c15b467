//! `min c (b + |L|^2) + sum w_e max(0, 2 - g_e - |L d_e|^2)` over a list of differences `d_e`: the problem of Lip^I with a mean for
//! its diameter, in coordinates where that mean is the squared length of `L`. A part of the metric is fixed: `b` is its diameter,
//! and `g_e` what it gives to each pair.
//!
//! The hinges are rounded, ever less, and L-BFGS runs on the full factor. The rounded hinges' slopes are multipliers
//! `lambda` in `[0, w]`; scaled until `sum lambda d d^T <= c I`, they give the lower bound `c b + sum lambda (2 - g)`.

use super::lbfgs::{End, Lbfgs, Steps};
use super::{Kept, Observer, Progress, Solution, Status, Stop, Termination, row};
use crate::{Matrix, Result, linalg};

/// Differences and their weights, and the part of the metric that is fixed.
pub(crate) struct Problem {
    pub(crate) differences: Matrix,
    pub(crate) weights: Vec<f64>,
    /// `g`: the distances of the fixed part.
    pub(crate) given: Vec<f64>,
    /// `b`: its diameter.
    pub(crate) base: f64,
}

/// Where the hinges have their kink.
const MARGIN: f64 = 2.0;
/// Half of the first rounding's width.
const WIDTH: f64 = 0.2;
/// How much narrower each rounding is than the one before it.
const NARROWER: f64 = 0.2;
/// No rounding narrower than this is tried.
const NARROWEST: f64 = 1e-5;
/// A run ends where a step lowers the value by less than this part of the tolerance.
const DECREASE: f64 = 0.002;
/// Values below this part of the zero metric's objective count as that large for the decrease.
const SMALL: f64 = 1e-3;
/// Steps that are remembered.
const MEMORY: usize = 10;
/// A direction is too weak where the multipliers ask for more than `c` by this part of the tolerance.
const WEAK: f64 = 0.5;
/// What such directions are raised by, as a part of the mean eigenvalue of `M`.
const RAISE: f64 = 0.01;
/// How often a run goes on from where it ended, at most, before the rounding becomes narrower.
const ESCAPES: usize = 6;

/// The rounded hinge of `t` and its slope.
fn rounded(t: f64, width: f64) -> (f64, f64) {
    if t <= -width {
        (0.0, 0.0)
    } else if t >= width {
        (t, 1.0)
    } else {
        let u = t + width;
        (u * u / (4.0 * width), u / (2.0 * width))
    }
}

impl Problem {
    /// What a pair needs beyond the fixed part; not positive where it needs nothing.
    fn lacking(&self, i: usize) -> f64 {
        MARGIN - self.given[i]
    }

    /// `c_max`: at this `c` and above, the fixed part alone is optimal.
    pub(crate) fn ceiling(&self) -> Result<f64> {
        let pushes: Vec<f64> =
            self.weights.iter().enumerate().map(|(i, &w)| if self.lacking(i) > 0.0 { w } else { 0.0 }).collect();
        let values = linalg::symmetric_eigenvalues(&self.scatter(&pushes))?;
        Ok(values.last().copied().unwrap_or(0.0).max(0.0))
    }

    fn scatter(&self, weights: &[f64]) -> Matrix {
        let mut scaled = self.differences.clone();
        for (i, w) in weights.iter().enumerate() {
            scaled.row_mut(i).iter_mut().for_each(|v| *v *= w);
        }
        let mut out = linalg::transposed_product(&self.differences, &scaled);
        linalg::symmetrise(&mut out);
        out
    }

    /// A multiple of the identity under which the differences have a mean squared length of 2.
    pub(crate) fn plain_start(&self) -> Matrix {
        let p = self.differences.cols();
        let mut mean = 0.0;
        for (i, w) in self.weights.iter().enumerate() {
            let row = self.differences.row(i);
            mean += w * linalg::dot(row, row);
        }
        let total: f64 = self.weights.iter().sum();
        let scale = if mean > 0.0 { (MARGIN * total / mean).sqrt() } else { 1.0 };
        let mut out = Matrix::identity(p);
        out.as_mut_slice().iter_mut().for_each(|v| *v *= scale);
        out
    }

    /// The rounded objective, its gradient, and the mapped differences' slopes.
    fn rounded(&self, c: f64, factor: &Matrix, width: f64, gradient: Option<&mut [f64]>, slopes: &mut Vec<f64>) -> f64 {
        let mut mapped = linalg::product_transposed(&self.differences, factor);
        slopes.clear();
        let mut value = c * (self.base + linalg::inner(factor, factor));
        for (i, &w) in self.weights.iter().enumerate() {
            let row = mapped.row_mut(i);
            let (h, slope) = rounded(self.lacking(i) - linalg::dot(row, row), width);
            value += w * h;
            slopes.push(w * slope);
            row.iter_mut().for_each(|v| *v *= w * slope);
        }
        if let Some(gradient) = gradient {
            let push = linalg::transposed_product(&mapped, &self.differences);
            for ((g, l), p) in gradient.iter_mut().zip(factor.as_slice()).zip(push.as_slice()) {
                *g = 2.0 * (c * l - p);
            }
        }
        value
    }

    /// The true objective.
    fn objective(&self, c: f64, factor: &Matrix) -> f64 {
        let mapped = linalg::product_transposed(&self.differences, factor);
        let hinge = |(i, w): (usize, &f64)| w * (self.lacking(i) - linalg::dot(mapped.row(i), mapped.row(i))).max(0.0);
        c * (self.base + linalg::inner(factor, factor)) + self.weights.iter().enumerate().map(hinge).sum::<f64>()
    }

    /// The lower bound that these multipliers prove, what they are scaled by for it, and the directions in which they ask for more than `c`: there the
    /// metric has become too small, where its factor cannot grow by itself.
    fn bound(&self, c: f64, lambda: &[f64], slack: f64) -> Result<(f64, f64, Matrix)> {
        let eigen = linalg::symmetric_eigen(&self.scatter(lambda))?;
        let p = eigen.values.len();
        let top = eigen.values.last().copied().unwrap_or(0.0);
        let scale = if top > c { c / top } else { 1.0 };
        let above: Vec<usize> = (0..p).filter(|&k| eigen.values[k] > c * (1.0 + slack)).collect();
        let mut directions = Matrix::zeros(above.len(), p);
        for (r, &k) in above.iter().enumerate() {
            (0..p).for_each(|a| directions[(r, a)] = eigen.vectors[(a, k)]);
        }
        let sum: f64 = lambda.iter().enumerate().map(|(i, l)| l * self.lacking(i)).sum();
        Ok((c * self.base + scale * sum, scale, directions))
    }

    /// Runs from a factor, at this trade-off, until the certified gap is reached. The multipliers that prove the bound come
    /// with it. `part` is what an observer keeps the search by.
    pub(crate) fn solve(
        &self,
        c: f64,
        start: Matrix,
        stop: &Stop,
        (part, observer): (&str, &mut dyn Observer),
    ) -> Result<(Solution, Vec<f64>)> {
        let p = start.cols();
        let mut slopes = Vec::new();
        let mut factor = square(&start)?;
        let zero = MARGIN * self.weights.iter().sum::<f64>();
        let mut point = factor.clone();
        let mut at = Descent::new(self.objective(c, &factor), factor.clone());
        let mut midway = observer.kept(part).and_then(|kept| at.revive(&kept.numbers, self.weights.len()));
        loop {
            let width = at.width;
            let mut function = |x: &[f64], g: &mut [f64]| {
                factor.as_mut_slice().copy_from_slice(x);
                self.rounded(c, &factor, width, Some(g), &mut slopes)
            };
            let mut run = midway.take().unwrap_or_else(|| Lbfgs::new(point.into_vec(), &mut function));
            let steps = Steps {
                memory: MEMORY,
                decrease: DECREASE * stop.tolerance,
                scale: SMALL * zero,
                gradient: 0.0,
                max_iterations: stop.max_iterations.saturating_sub(at.best.iterations),
            };
            let end = run.run(&mut function, &steps, &mut |told| {
                if let Some(state) = told.state {
                    observer.keep(part, &mut || Kept::new("", at.numbers(state)));
                }
                observer.progress(&at.progress(told.iteration))
            });
            at.best.iterations += run.iterations;
            point = Matrix::from_vec(p, p, run.x)?;
            let objective = self.objective(c, &point);
            self.rounded(c, &point, width, None, &mut slopes);
            let (bound, scale, weak) = self.bound(c, &slopes, WEAK * stop.tolerance)?;
            if bound > at.best.bound {
                at.best.bound = bound;
                at.proof = slopes.iter().map(|lambda| scale * lambda).collect();
            }
            if objective < at.best.objective {
                at.best.objective = objective;
                at.best.factor = point.clone();
            }
            let over = Termination {
                gap: Some(at.best.gap()),
                halt: end.halt(),
                stalled: width < NARROWEST,
                exhausted: end == End::IterationLimit,
                ..Termination::default()
            };
            if let Some(status) = over.status(stop.tolerance) {
                at.best.status = status;
                return Ok((at.best, at.proof));
            }
            if weak.rows() > 0 && at.escapes < ESCAPES {
                at.escapes += 1;
                point = raised(&point, &weak)?;
            } else {
                at.escapes = 0;
                at.width *= NARROWER;
            }
        }
    }
}

/// Where a search stands between two runs.
struct Descent {
    width: f64,
    /// How often a run went on at this width.
    escapes: usize,
    best: Solution,
    /// The multipliers of its bound.
    proof: Vec<f64>,
}

impl Descent {
    fn new(objective: f64, factor: Matrix) -> Self {
        let best = Solution {
            slack: Vec::new(),
            objective,
            factor,
            bound: 0.0,
            iterations: 0,
            status: Status::Stalled,
            certificate: None,
        };
        Self { width: WIDTH, escapes: 0, best, proof: Vec::new() }
    }

    fn progress(&self, iteration: usize) -> Progress {
        Progress {
            iteration: self.best.iterations + iteration,
            primal: Some(self.best.objective),
            dual: Some(self.best.bound),
            gap: Some(self.best.gap()),
            ..Progress::default()
        }
    }

    /// All of it, and the state of the run that is under way.
    fn numbers(&self, run: &Lbfgs) -> Vec<Matrix> {
        let best = &self.best;
        let (escapes, done) = (self.escapes as f64, best.iterations as f64);
        let figures = row(vec![self.width, escapes, best.objective, best.bound, done]);
        [figures, best.factor.clone(), row(self.proof.clone())].into_iter().chain(run.numbers()).collect()
    }

    /// Becomes what these numbers were taken from and returns the run that was under way; nothing happens if they are none.
    fn revive(&mut self, numbers: &[Matrix], pairs: usize) -> Option<Lbfgs> {
        let [figures, factor, proof, run @ ..] = numbers else { return None };
        let &[width, escapes, objective, bound, done] = figures.as_slice() else { return None };
        let p = self.best.factor.cols();
        let fits = (factor.rows(), factor.cols()) == (p, p) && [0, pairs].contains(&proof.as_slice().len());
        let finite = [figures, factor, proof].iter().all(|m| m.first_non_finite().is_none());
        let run = Lbfgs::revived(run, p * p).filter(|_| fits && finite)?;
        (self.width, self.escapes, self.proof) = (width, escapes as usize, proof.as_slice().to_vec());
        let best = &mut self.best;
        (best.objective, best.bound, best.iterations) = (objective, bound, done as usize);
        best.factor = factor.clone();
        Some(run)
    }
}

/// The factor with as many rows as columns.
fn square(factor: &Matrix) -> Result<Matrix> {
    let p = factor.cols();
    if factor.rows() == p {
        return Ok(factor.clone());
    }
    root(&linalg::transposed_product(factor, factor))
}

/// The factor of `M` with a little of each of these directions added.
fn raised(factor: &Matrix, directions: &Matrix) -> Result<Matrix> {
    let mut m = linalg::transposed_product(factor, factor);
    let more = linalg::transposed_product(directions, directions);
    let part = RAISE * linalg::inner(factor, factor) / factor.cols() as f64;
    linalg::add_scaled(&mut m, part, &more);
    linalg::symmetrise(&mut m);
    root(&m)
}

/// `M^1/2`.
fn root(m: &Matrix) -> Result<Matrix> {
    Ok(linalg::symmetric_eigen(m)?.apply(|e| e.max(0.0).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::Silent;

    #[test]
    fn one_direction_has_the_known_optimum() {
        // c m + max(0, 2 - m) + max(0, 2 - 4 m) at c = 2: down to m = 1/2, up from there.
        let problem = Problem {
            differences: Matrix::from_rows(&[[1.0], [2.0]]),
            weights: vec![1.0, 1.0],
            given: vec![0.0, 0.0],
            base: 0.0,
        };
        assert!((problem.ceiling().unwrap() - 5.0).abs() < 1e-12);
        let (s, _) = problem.solve(2.0, problem.plain_start(), &Stop::new(1e-5, 1000), ("", &mut Silent)).unwrap();
        assert_eq!(s.status, Status::Optimal);
        assert!((s.objective - 2.5).abs() < 1e-4, "{}", s.objective);
        assert!(s.bound <= 2.5 + 1e-12);
    }
    #[test]
    fn a_fixed_part_is_in_the_objective_and_in_the_bound() {
        // The same with the part m >= 0.2 fixed, as m = 0.2 + l^2; and with one that leaves nothing to learn: m = 0.7.
        for (fixed, expected) in [(0.2, 2.5), (0.7, 2.7)] {
            let problem = Problem {
                differences: Matrix::from_rows(&[[1.0], [2.0]]),
                weights: vec![1.0, 1.0],
                given: vec![fixed, 4.0 * fixed],
                base: fixed,
            };
            let (s, _) = problem.solve(2.0, problem.plain_start(), &Stop::new(1e-5, 1000), ("", &mut Silent)).unwrap();
            assert_eq!(s.status, Status::Optimal);
            assert!((s.objective - expected).abs() < 1e-4, "{}", s.objective);
            assert!(s.bound <= expected + 1e-12);
        }
    }
}
