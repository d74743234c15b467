//! Minimises a penalty plus hinges of relative comparisons: "`x_i` is nearer to `x_j` than to `x_l`, by a margin of one".
//!
//! `F(M) = R(M) + sum u max(0, 1 + rho_M(x_i, x_j) - rho_M(x_i, x_l))`, `M` positive semidefinite, with `R` linear (the pull
//! of LMNN) or the squared Frobenius norm (LMML). It is convex in `M`; it is minimised over factors `L`, `M = L^T L`, by
//! quasi-Newton steps on a smoothed form: the method of multipliers, in which each hinge's multiplier `u nu` with `nu` in
//! [0, 1] is `nu = clip(nu_0 + t / delta)` and `nu_0` is what it was in the round before.
//!
//! The same multipliers are a point of the dual problem. Scaled down until they are feasible there, they prove a lower bound
//! of `F`: every round ends with a certified gap. In `impostors` are the comparisons that are listed, never one too few; in
//! `given` the figures that are reported in the end, on the rows as they were given.

mod given;
mod impostors;
mod measure;

pub(crate) use impostors::Lists;

use crate::pairs::Cloud;
use crate::problem::{relative_gap, tested_scale};
use crate::solver::lbfgs::{End, Lbfgs, Steps};
use crate::solver::{Kept, Observer, Progress, Solution, Status, Stop, Termination};
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

/// Multipliers of all comparisons, summed up by pairs of points: positive for those that are held together, negative for those that
/// are pushed apart.
#[derive(Debug, Clone, Default)]
pub(crate) struct Multiplied {
    pub(crate) pairs: Vec<(u32, u32, f64)>,
    /// The sum over the comparisons.
    pub(crate) sum: f64,
    /// What they are to be scaled by, as far as the solver knows.
    pub(crate) scale: f64,
}

/// What an observer keeps of a search: its factor.
const PART: &str = "comparisons";

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

    /// The lower bound that multipliers prove, and what they are scaled by for it: they are `sum` in all, and `push` is the sum
    /// of `multiplier (A_il - A_ij)`.
    fn bound(&self, push: &Matrix, sum: f64) -> Result<(f64, f64)> {
        match &self.penalty {
            // Feasible where C - s push is positive semidefinite.
            Penalty::Linear(_) if sum <= 0.0 || !sum.is_finite() => Ok((0.0, 0.0)),
            Penalty::Linear(c) => {
                let scale = tested_scale(push, c)?;
                Ok((scale * sum, scale))
            }
            // min over M of ||M||^2 - s <push, M> is -s^2/4 times the squared norm of the positive part.
            Penalty::Squared => {
                let positive: f64 =
                    linalg::symmetric_eigenvalues(push)?.iter().map(|v| v.max(0.0)).map(|v| v * v).sum();
                let s = if positive > 0.0 { (2.0 * sum / positive).min(1.0) } else { 1.0 };
                Ok(((s * sum - 0.25 * s * s * positive).max(0.0), s))
            }
        }
    }

    /// The smoothed objective of `L` and its gradient.
    fn smoothed(&self, lists: &mut Lists, factor: &Matrix, delta: f64, gradient: &mut [f64]) -> f64 {
        let z = linalg::product_transposed(&self.cloud.x, factor);
        if z.first_non_finite().is_some() {
            return f64::INFINITY;
        }
        lists.ensure(self, &z, factor);
        let measured = self.measure(lists, &z, delta, false);
        let (penalty, mut half) = self.penalty(factor);
        let y = measure::apply(&measured.pairs, &z);
        let (r, p) = (factor.rows(), factor.cols());
        linalg::gemm_tn_add(half.as_mut_slice(), y.as_slice(), self.cloud.x.as_slice(), r, p, z.rows());
        gradient.iter_mut().zip(half.as_slice()).for_each(|(o, v)| *o = 2.0 * v);
        penalty + measured.smooth
    }

    /// Minimises from `start`. Where its rank is limited, the gap to the bound of the problem without that limit need not
    /// close.
    pub(crate) fn solve(
        &self,
        lists: &mut Lists,
        start: Matrix,
        stop: &Stop,
        observer: &mut dyn Observer,
    ) -> Result<(Solution, Multiplied)> {
        /// Rounds of multipliers, at most.
        const ROUNDS: usize = 150;
        /// Rounds after which a problem of limited rank counts as settled.
        const SETTLED: usize = 4;
        let kept = observer.kept(PART).and_then(|kept| kept.single(start.rows(), start.cols()));
        let mut search = Search::new(self, lists, kept.unwrap_or(start));
        let mut status = Status::Stalled;
        for round in 0..ROUNDS {
            let end = search.descend(stop, observer)?;
            let (improved, multipliers) = search.certify()?;
            let told = observer.progress(&search.progress(Some(search.lists.len())));
            let over = Termination {
                gap: Some(search.gap()),
                halt: end.halt().or(told.break_value()),
                stalled: search.is_idle(end, improved),
                exhausted: end == End::IterationLimit,
                ..Termination::default()
            };
            match over.status(stop.tolerance) {
                // A low-rank problem need not meet the bound of the convex one: settled is all that can be asked.
                None | Some(Status::Stalled) if search.limited && round >= SETTLED => {
                    status = Status::RankLimited;
                    break;
                }
                Some(ended) => {
                    status = ended;
                    break;
                }
                None => search.sharpen(stop.tolerance, multipliers),
            }
        }
        Ok(search.finish(status))
    }
}

/// The rounds of the method of multipliers.
struct Search<'a> {
    problem: &'a Problem<'a>,
    lists: &'a mut Lists,
    /// Where it began; where it is, once it has.
    start: Matrix,
    state: Option<Lbfgs>,
    /// Whether the rank of `L` is limited.
    limited: bool,
    /// The width of the smoothing, and the gradient that a round may leave, relative to the penalty's.
    delta: f64,
    accuracy: f64,
    best: Option<(Matrix, f64)>,
    bound: f64,
    /// The multipliers that prove it.
    proof: Multiplied,
    /// Rounds in a row in which nothing moved.
    idle: usize,
}

impl<'a> Search<'a> {
    fn new(problem: &'a Problem<'a>, lists: &'a mut Lists, start: Matrix) -> Self {
        /// The first width over which the hinges are smoothed.
        const WIDTH: f64 = 0.5;
        /// The gradient that the first round may leave, relative to the penalty's own.
        const ACCURACY: f64 = 0.1;
        Self {
            problem,
            lists,
            limited: start.rows() < start.cols(),
            start,
            state: None,
            delta: WIDTH,
            accuracy: ACCURACY,
            best: None,
            bound: 0.0,
            proof: Multiplied::default(),
            idle: 0,
        }
    }

    fn objective(&self) -> Option<f64> {
        self.best.as_ref().map(|b| b.1)
    }

    fn gap(&self) -> f64 {
        relative_gap(self.objective().unwrap_or(f64::INFINITY), self.bound)
    }

    fn iterations(&self) -> usize {
        self.state.as_ref().map_or(0, |s| s.iterations)
    }

    fn progress(&self, working_set: Option<usize>) -> Progress {
        let (iteration, primal) = (self.iterations(), self.objective());
        let gap = primal.map(|_| self.gap());
        Progress { iteration, primal, dual: Some(self.bound), gap, working_set, ..Progress::default() }
    }

    /// Minimises the smoothed objective as it is now.
    fn descend(&mut self, stop: &Stop, observer: &mut dyn Observer) -> Result<End> {
        /// Steps that are remembered.
        const MEMORY: usize = 20;
        /// A round also ends where a step lowers the value by less than this part of it: rounding.
        const DECREASE: f64 = 1e-13;
        let (r, p) = (self.start.rows(), self.start.cols());
        let progress = self.progress(None);
        self.lists.review(self.problem);
        let mut factor = Matrix::zeros(r, p);
        let mut function = |x: &[f64], g: &mut [f64]| {
            factor.as_mut_slice().copy_from_slice(x);
            self.problem.smoothed(self.lists, &factor, self.delta, g)
        };
        let state = match &mut self.state {
            Some(state) => {
                state.renew(&mut function, false);
                state
            }
            None => self.state.insert(Lbfgs::new(self.start.as_slice().to_vec(), &mut function)),
        };
        let half = self.problem.penalty(&Matrix::from_vec(r, p, state.x.clone())?).1;
        let resistance = 2.0 * linalg::inner(&half, &half).sqrt();
        let steps = Steps {
            memory: MEMORY,
            decrease: DECREASE,
            scale: 0.0,
            gradient: self.accuracy * resistance,
            max_iterations: stop.max_iterations,
        };
        Ok(state.run(&mut function, &steps, &mut |told| {
            if let Some(state) = told.state {
                let factor = || Matrix::from_vec(r, p, state.x.clone()).into_iter().collect();
                observer.keep(PART, &mut || Kept::new("", factor()));
            }
            let primal = progress.primal.or(Some(told.value));
            observer.progress(&Progress { iteration: told.iteration, primal, ..progress })
        }))
    }

    /// The objective and the bound of where the round ended: whether that is the best point so far, and its multipliers.
    fn certify(&mut self) -> Result<(bool, Vec<f64>)> {
        let mut factor = self.start.clone();
        if let Some(state) = &self.state {
            factor.as_mut_slice().copy_from_slice(&state.x);
        }
        let z = linalg::product_transposed(&self.problem.cloud.x, &factor);
        self.lists.ensure(self.problem, &z, &factor);
        let measured = self.problem.measure(self.lists, &z, self.delta, true);
        let objective = self.problem.penalty(&factor).0 + measured.exact;
        let push = measure::push(&measured.pairs, &self.problem.cloud.x);
        let (bound, scale) = self.problem.bound(&push, measured.sum)?;
        if bound > self.bound {
            self.bound = bound;
            self.proof = Multiplied { pairs: measured.pairs, sum: measured.sum, scale };
        }
        let improved = self.best.as_ref().is_none_or(|b| objective < b.1);
        if improved {
            self.best = Some((factor, objective));
        }
        Ok((improved, measured.multipliers))
    }

    /// Whether nothing has moved for some rounds.
    fn is_idle(&mut self, end: End, improved: bool) -> bool {
        /// Rounds in a row without any movement before the search gives up.
        const IDLE: usize = 4;
        self.idle = if end == End::Stalled && !improved { self.idle + 1 } else { 0 };
        self.idle >= IDLE
    }

    /// Goes on with these multipliers and less smoothing.
    fn sharpen(&mut self, tolerance: f64, multipliers: Vec<f64>) {
        /// What the width of the hinges is multiplied by after each round, ...
        const NARROWER: f64 = 0.4;
        /// ... and the least one: below it the multipliers do the rest.
        const NARROWEST: f64 = 0.01;
        /// What the gradient that a round may leave is multiplied by after each, ...
        const STRICTER: f64 = 0.7;
        /// ... and the least one, as a part of the tolerance.
        const STRICTEST: f64 = 0.2;
        self.lists.keep(multipliers);
        self.delta = (NARROWER * self.delta).max(NARROWEST);
        self.accuracy = (STRICTER * self.accuracy).max(STRICTEST * tolerance);
    }

    fn finish(self, status: Status) -> (Solution, Multiplied) {
        let iterations = self.iterations();
        let (factor, objective) = self.best.unwrap_or((Matrix::zeros(self.start.rows(), self.start.cols()), f64::NAN));
        let slack = Vec::new();
        let solution = Solution { factor, objective, bound: self.bound, slack, status, iterations, certificate: None };
        (solution, self.proof)
    }
}
