//! The method of multipliers on pairs that are given: every one has a row, and there is none to look for.

use super::{Augmented, PULL};
use crate::linalg;
use crate::problem::{Multipliers, certify, relative_gap};
use crate::solver::working_set::model::{Lengths, Model, State};
use crate::solver::working_set::outer::enough_gradient;
use crate::solver::working_set::{Inner, LEAST, Penalty, Point, Task};
use crate::solver::{Kept, Observer, Progress, Solution, Status, Stop, Termination};
use crate::{Matrix, Result};

/// Rounds in a row without progress before the solver gives up, ...
const PATIENCE: usize = 60;
/// ... which is a gap that has fallen below this part of the least one.
const PROGRESS: f64 = 0.999;
/// What an observer keeps of a fit: the factor of the best metric, coordinates x rank.
const PART: &str = "given pairs";

/// Multipliers that prove the bound: those of the rows that push, and those of the rows that pull, the mean's last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Proof {
    pub(crate) push: Vec<f64>,
    pub(crate) pull: Vec<f64>,
}

/// A problem that is solved, and where the iteration stands.
struct Descent<'a> {
    model: &'a Model,
    x: &'a Matrix,
    reach: Vec<f64>,
    state: State,
    /// The objective and the factor of the best metric so far.
    best: (f64, Matrix),
    bound: f64,
    proof: Proof,
}

/// Solves the problem, from a factor of as many rows as coordinates.
pub(crate) fn solve_given(
    model: &Model,
    x: &Matrix,
    start: Matrix,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<(Solution, Proof)> {
    let p = x.cols();
    let start = observer.kept(PART).and_then(|kept| kept.single(p, p)).filter(goes_on).unwrap_or(start);
    let mut descent = Descent::new(model, x, start);
    // What pulls has a size of its own: beside `c` alone the largest gradient may be a small one, and a penalty far too large.
    let size = (linalg::inner(&model.mean, &model.mean) / p.max(1) as f64).sqrt();
    let guess = Penalty::guess(model, x, &descent.state.m);
    let penalty = Penalty { pull: PULL * guess.pull, cone: size * guess.cone, ..guess };
    let mut inner = Augmented { penalty: Some(penalty), ..Augmented::default() };
    let (mut iterations, mut idle, mut least, mut halt) = (0, 0, f64::INFINITY, None);
    let status = loop {
        let gap = relative_gap(descent.best.0, descent.bound);
        (least, idle) = if gap < PROGRESS * least { (gap, 0) } else { (least, idle + 1) };
        let exhausted = iterations >= stop.max_iterations;
        let ended = Termination { gap: Some(gap), halt, stalled: idle > PATIENCE, exhausted, ..Termination::default() };
        let progress = Progress {
            iteration: iterations,
            primal: Some(descent.best.0),
            dual: Some(descent.bound),
            gap: Some(gap),
            working_set: Some(model.pushes() + model.pulls()),
            ..Progress::default()
        };
        if let Some(status) = ended.status(stop.tolerance) {
            if status == Status::Optimal {
                // The last figures are told, whatever the observer makes of them.
                let _ = observer.progress(&progress);
            }
            break status;
        }
        if goes_on(&descent.best.1) {
            observer.keep(PART, &mut || Kept::new("", vec![squared(&descent.best.1)]));
        }
        let enough = |size: f64| enough_gradient(gap, stop.tolerance, size);
        let task = Task {
            gradient: enough(size * model.c),
            slack: enough(descent.best.0),
            renewed: iterations == 0,
            size: descent.best.0,
        };
        let mut ticks = iterations;
        let mut tick = || {
            ticks += 1;
            observer.progress(&Progress { iteration: ticks, ..progress })
        };
        let (done, told) = inner.advance(Point { model, x, state: &mut descent.state }, &task, &mut tick)?;
        iterations += done;
        halt = told.break_value();
        descent.certify()?;
        descent.measure();
    };
    Ok(descent.finish(status, iterations))
}

impl<'a> Descent<'a> {
    fn new(model: &'a Model, x: &'a Matrix, factor: Matrix) -> Self {
        let p = x.cols();
        let m = linalg::product_transposed(&factor, &factor);
        let lengths = model.lengths(x, &m);
        let active = |k: usize| if lengths.push[k] < 2.0 { model.cap(k) } else { 0.0 };
        let lambda = (0..model.pushes()).map(active).collect();
        let mut eta = vec![0.0; model.pulls()];
        eta[model.pulls() - 1] = model.c;
        let state = State { m, z: Matrix::zeros(p, p), lambda, eta, factor: factor.clone(), slack: Vec::new() };
        let best = (f64::INFINITY, factor);
        let mut out = Self { model, x, reach: reach(x), state, best, bound: 0.0, proof: Proof::default() };
        out.measure();
        out
    }

    /// The objective of the present metric in its best multiple.
    fn measure(&mut self) {
        let factor = &self.state.factor;
        if factor.cols() == 0 {
            return;
        }
        let lengths = self.model.lengths(self.x, &linalg::product_transposed(factor, factor));
        let (t, objective) = rescaled(self.model, &lengths);
        if objective < self.best.0 {
            let mut scaled = factor.clone();
            scaled.as_mut_slice().iter_mut().for_each(|v| *v *= t.sqrt());
            self.best = (objective, scaled);
        }
    }

    /// The bound that the present multipliers prove.
    fn certify(&mut self) -> Result<()> {
        let (bound, proof) = proved((self.model, self.x, &self.reach), &self.state.lambda, &self.state.eta)?;
        if bound > self.bound {
            (self.bound, self.proof) = (bound, proof);
        }
        Ok(())
    }

    fn finish(self, status: Status, iterations: usize) -> (Solution, Proof) {
        let (objective, factor) = self.best;
        let solution = Solution {
            factor: factor.transpose(),
            objective,
            bound: self.bound,
            slack: Vec::new(),
            status,
            iterations,
            certificate: None,
        };
        (solution, self.proof)
    }
}

/// The bound that multipliers prove, and what they are scaled to for it.
pub(crate) fn prove(model: &Model, x: &Matrix, lambda: &[f64], eta: &[f64]) -> Result<(f64, Proof)> {
    proved((model, x, &reach(x)), lambda, eta)
}

fn proved((model, x, reach): (&Model, &Matrix, &[f64]), lambda: &[f64], eta: &[f64]) -> Result<(f64, Proof)> {
    let push = model.push_sum(x, lambda);
    let pull = model.feasible_pull(x, eta);
    let multipliers = Multipliers { push: &push, total: lambda.iter().sum(), pull: &pull, most: 1.0 };
    let found = certify(&multipliers, &model.mean, model.c, reach)?;
    let total: f64 = eta.iter().sum();
    let share = if total > model.c { model.c / total } else { 1.0 };
    let mut eta: Vec<f64> = eta.iter().map(|e| e * share * found.mix.kept).collect();
    if let Some(mean) = eta.last_mut() {
        *mean += found.mix.mean;
    }
    Ok((found.value, Proof { push: lambda.iter().map(|l| found.scale * l).collect(), pull: eta }))
}

/// The largest size of each coordinate.
fn reach(x: &Matrix) -> Vec<f64> {
    let mut reach = vec![0.0f64; x.cols()];
    for i in 0..x.rows() {
        reach.iter_mut().zip(x.row(i)).for_each(|(r, v)| *r = r.max(v.abs()));
    }
    reach
}

/// The multiple of a metric of the smallest objective, and that objective: it is piecewise linear in the multiple, with a kink where
/// a row that pushes reaches its margin.
fn rescaled(model: &Model, lengths: &Lengths) -> (f64, f64) {
    let longest = lengths.pull.iter().fold(0.0f64, |a, &b| a.max(b));
    let mut rows: Vec<(f64, f64)> =
        lengths.push.iter().enumerate().map(|(k, &r)| (r, model.cap(k))).filter(|(r, _)| *r > LEAST).collect();
    rows.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let mut slope = model.c * longest - rows.iter().map(|(r, cap)| r * cap).sum::<f64>();
    let mut t = 0.0;
    for (r, cap) in &rows {
        if slope >= 0.0 {
            break;
        }
        t = 2.0 / r;
        slope += r * cap;
    }
    let hinges = lengths.push.iter().enumerate().map(|(k, r)| model.cap(k) * (2.0 - t * r).max(0.0)).sum::<f64>();
    (t, model.c * t * longest + hinges)
}

/// Whether a fit can begin at a factor: from zero no direction leads away.
pub(crate) fn goes_on(factor: &Matrix) -> bool {
    factor.as_slice().iter().any(|v| *v != 0.0)
}

/// The factor with as many columns as rows: zeros are added.
fn squared(factor: &Matrix) -> Matrix {
    let p = factor.rows();
    let mut out = Matrix::zeros(p, p);
    for i in 0..p {
        out.row_mut(i)[..factor.cols()].copy_from_slice(factor.row(i));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::Silent;
    use crate::solver::working_set::model::Push;

    /// Two points that push from the origin at 1 and 2, one that pulls at 1: `c m + max(0, 2 - m) + max(0, 2 - 4 m)`.
    fn line(c: f64) -> (Model, Matrix) {
        let x = Matrix::from_rows(&[[0.0], [1.0], [2.0], [-1.0]]);
        let push = vec![Push { i: 0, j: 1, cap: 1.0 }, Push { i: 0, j: 2, cap: 1.0 }];
        let model = Model { push, pull: vec![(0, 3)], ..Model::empty(c, Matrix::identity(1)) };
        (model, x)
    }

    #[test]
    fn one_direction_has_the_known_optimum_and_the_bound_meets_it() {
        for (c, expected) in [(2.0, 2.5), (0.5, 1.0), (4.9, 3.95)] {
            let (model, x) = line(c);
            let stop = Stop::new(1e-8, 1000);
            let (solution, proof) = solve_given(&model, &x, Matrix::identity(1), &stop, &mut Silent).unwrap();
            assert_eq!(solution.status, Status::Optimal, "{c}");
            assert!((solution.objective - expected).abs() < 1e-6, "{c}: {}", solution.objective);
            assert!(solution.bound <= expected + 1e-12 && solution.bound >= expected - 1e-6);
            assert!(proof.push.iter().all(|l| (0.0..=1.0).contains(l)));
            assert!((proof.pull.iter().sum::<f64>() - c).abs() < 1e-9);
        }
    }

    #[test]
    fn what_pulls_may_be_of_any_size() {
        for size in [1e-8, 1e-3, 1e4] {
            let (model, x) = line(2.0);
            let mut mean = model.mean.clone();
            mean.as_mut_slice().iter_mut().for_each(|v| *v *= size);
            // The mean alone pulls, so that `c` times its size is what counts.
            let model = Model { c: model.c / size, mean, pull: Vec::new(), ..model };
            let stop = Stop::new(1e-8, 1000);
            let (solution, _) = solve_given(&model, &x, Matrix::identity(1), &stop, &mut Silent).unwrap();
            assert_eq!(solution.status, Status::Optimal, "{size}");
            assert!((solution.objective - 2.5).abs() < 1e-6, "{size}: {}", solution.objective);
        }
    }

    #[test]
    fn a_metric_is_taken_in_the_multiple_of_the_smallest_objective() {
        let (model, x) = line(2.0);
        let (t, value) = rescaled(&model, &model.lengths(&x, &Matrix::from_rows(&[[10.0]])));
        assert!((t - 0.05).abs() < 1e-12 && (value - 2.5).abs() < 1e-12);
        // Above c_max = 5 the zero metric is best.
        let (model, x) = line(6.0);
        assert_eq!(rescaled(&model, &model.lengths(&x, &Matrix::identity(1))), (0.0, 4.0));
    }
}
