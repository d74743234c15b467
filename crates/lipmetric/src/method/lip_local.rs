//! Lip^I by near pairs: the local form of the Lipschitz margin ratio.

use super::parameters::parameters;
use super::start::{coordinates, notes_on, weights};
use super::{Fit, Method, Outcome, Training, check_limits, settle};
use crate::neighbours::NeighbourIndex;
use crate::pairs::weighted_outer;
use crate::problem::{Coordinates, Listed, SUMMED, Under, Weighed};
use crate::solver::listed::Problem;
use crate::solver::{Kept, Observer, Solution, Status, Stop, Timed, Translated};
use crate::{Error, Matrix, Metric, Result, linalg};

parameters! {
    /// Lip^I by near pairs: a general metric that respects local Lipschitz margin ratios.
    ///
    /// `F(M) = c mean_P rho_M + mean_D max(0, 2 - rho_M)`. Each row is the centre of a small set: `P` are the pairs with its
    /// nearest rows of the same label, whose mean distance is the local diameter, and `D` those with its nearest rows of another
    /// label, which push. What is near is told by the Euclidean distance first and, from the second round on, by the metric
    /// learned in the round before. A thousandth of the Euclidean mean distance is mixed into the diameter, so that directions
    /// without any local spread do not count as free. `c` is a fraction of `c_max`, at and above which the best metric is its
    /// Euclidean part.
    ///
    /// That part is fixed: `M` is at least a multiple of the Euclidean metric, the one that gives the pairs of `D` a share of their
    /// margin in the mean. Without it a table whose classes differ most in one direction, of many in which they differ, would be
    /// measured by that direction alone.
    ///
    /// Each round is a convex problem, and the last one's certified gap is reported. From 100 dimensions on the metric lives in
    /// the 100 directions of largest variance, and from 20,000 rows on 20,000 of them are centres.
    ///
    /// ```
    /// use lipmetric::method::{LipLocal, Method, Training};
    /// use lipmetric::{Labels, Matrix, solver::Silent};
    /// let x = Matrix::from_rows(&[[0.0, 0.1], [0.2, 0.9], [1.0, 0.2], [1.1, 0.8]]);
    /// let y = Labels::from_names(["a", "a", "b", "b"]);
    /// let fit = LipLocal::new().c_rel(0.1).fit(&Training::new(&x, &y)?, &mut Silent)?;
    /// assert!(fit.outcome.gap.unwrap() <= 1e-2);
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    pub struct LipLocal = "lip-local" {
        /// The trade-off, as a fraction of `c_max`, at and above which the best metric is its Euclidean part.
        c_rel: f64 = 0.2,
        /// The share of the margin, in the mean, that a fixed multiple of the Euclidean metric gives; 0 for no such part.
        euclid: f64 = 0.3,
        /// How many rows of its own label, and how many of others, are near a row.
        neighbours: usize = 5,
        /// How often neighbours are chosen: by the Euclidean distance, then by the metric that was learned.
        rounds: usize = 2,
        /// The certified relative gap to reach.
        tolerance: f64 = 1e-2,
        /// Steps of a round, at most.
        max_iterations: usize = 1000,
    }
}

/// The metric lives in this many directions, at most.
const DIMENSIONS: usize = 100;
/// Rows that are centres of a small set, at most.
const CENTRES: usize = 20_000;
/// How much of the Euclidean mean distance is in the local diameter.
const PLAIN: f64 = 1e-3;
/// The spread of near rows counts as at least this part of that of all rows: near rows may all be equal.
const LEAST_SPREAD: f64 = 1e-6;
/// The least eigenvalue of the local diameter, as a part of its largest, so that it can be divided by.
const FLAT: f64 = 1e-12;

impl LipLocal {
    fn check_all(&self, fractions: &[f64]) -> Result<()> {
        check_limits(self.tolerance, self.max_iterations)?;
        if let Some(wrong) = fractions.iter().find(|f| !(**f > 0.0 && **f < 1.0)) {
            return Err(Error::parameter("c_rel", format!("{wrong} is not between 0 and 1, for example 0.2")));
        }
        if !(0.0..1.0).contains(&self.euclid) {
            let message = format!("{} is not from 0 to below 1, for example 0.3", self.euclid);
            return Err(Error::parameter("euclid", message));
        }
        if self.neighbours == 0 {
            return Err(Error::parameter("neighbours", "0 neighbours: give at least 1, usually 5"));
        }
        if self.rounds == 0 {
            return Err(Error::parameter("rounds", "0 rounds: give at least 1, usually 2"));
        }
        Ok(())
    }

    /// Fits for several trade-offs, each started from the one before it: give them in descending order. Where the observer
    /// ends it there are fewer fits than asked for, at least one; the last one's status tells.
    ///
    /// # Errors
    /// If the data or the parameters do not allow a fit, or a fraction is not between 0 and 1.
    pub fn path(&self, data: &Training<'_>, fractions: &[f64], observer: &mut dyn Observer) -> Result<Vec<Fit>> {
        self.along(data, fractions, true, observer)
    }

    /// The same; where the fits are only to be compared by their predictions, with the solver's own figures.
    pub(super) fn along(
        &self,
        data: &Training<'_>,
        fractions: &[f64],
        audited: bool,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Fit>> {
        self.check_all(fractions)?;
        data.check_for(self)?;
        let observer = &mut Timed::new(observer);
        let mut ground = Ground::new(coordinates(data)?)?;
        let near = ground.near(&ground.x, self.neighbours)?;
        ground.fix(&near, self.euclid);
        let plain = ground.problem(near)?;
        let mut fits = Vec::with_capacity(fractions.len());
        let mut last: Option<Matrix> = None;
        for &fraction in fractions {
            let (factor, mut done) = self.rounds_from(&ground, &plain, last.take(), fraction, observer)?;
            let stopped = matches!(done.solution.status, Status::TimeLimit | Status::Interrupted);
            let metric = ground.metric(&factor)?;
            let mut notes = ground.notes();
            if audited {
                let last = done.last.take();
                notes.extend(ground.audit(data, &metric, last.as_ref().unwrap_or(&plain), &mut done));
                notes.extend(settle(&mut done.solution, self.tolerance).filter(|_| !ground.frame.is_partial()));
            }
            let outcome = Outcome::of(&done.solution).with_trade_off(Some(done.c), Some(done.c_max));
            let iterations = done.steps;
            fits.push(Fit::new(metric, Outcome { iterations, ..outcome.with_notes(notes) }));
            if stopped {
                break;
            }
            last = Some(done.first);
        }
        Ok(fits)
    }

    fn rounds_from(
        &self,
        ground: &Ground,
        plain: &Whitened,
        start: Option<Matrix>,
        fraction: f64,
        observer: &mut dyn Observer,
    ) -> Result<(Matrix, Done)> {
        let (mut steps, mut round) = (0, 0);
        let mut solve = |at: &Whitened, start: Matrix, observer: &mut dyn Observer| -> Result<Round> {
            let c_max = at.problem.ceiling()?;
            if c_max <= 0.0 {
                return Err(Error::data("near rows of different labels are all equal: no metric can separate them"));
            }
            let c = fraction * c_max;
            let stop = Stop::new(self.tolerance, self.max_iterations);
            round += 1;
            let part = format!("{}, c_rel {fraction}, round {round}", Self::NAME);
            let metric = |kept: &Kept| ground.metric(&linalg::product(kept.numbers.get(1)?, &at.map)).ok();
            let watched = &mut Translated { inner: observer, metric: &metric };
            let (solution, proof) = at.problem.solve(c, start, &stop, (&part, watched))?;
            steps += solution.iterations;
            Ok(Round { solution, proof, c_max })
        };
        let start = start.unwrap_or_else(|| plain.problem.plain_start());
        let mut round = solve(plain, start, observer)?;
        let first = round.solution.factor.clone();
        let mut factor = linalg::product(&round.solution.factor, &plain.map);
        let mut last = None;
        for _ in 1..self.rounds {
            if matches!(round.solution.status, Status::TimeLimit | Status::Interrupted) {
                break;
            }
            let mapped = ground.mapped(&factor)?;
            let near = ground.near(&mapped, self.neighbours)?;
            let at = ground.problem(near)?;
            let start = linalg::product(&factor, &at.inverse);
            round = solve(&at, start, observer)?;
            factor = linalg::product(&round.solution.factor, &at.map);
            last = Some(at);
        }
        let Round { solution, proof, c_max } = round;
        Ok((factor, Done { solution, proof, c: fraction * c_max, c_max, steps, first, last }))
    }
}

/// What a round ended with.
struct Round {
    solution: Solution,
    /// The multipliers of its bound, a pair of different label each.
    proof: Vec<f64>,
    c_max: f64,
}

/// What the rounds ended with.
struct Done {
    solution: Solution,
    proof: Vec<f64>,
    c: f64,
    c_max: f64,
    steps: usize,
    /// The factor after the first round, in its coordinates: where the next trade-off begins.
    first: Matrix,
    /// The problem of the last round, if there was more than one.
    last: Option<Whitened>,
}

/// The rows in the coordinates that the metric lives in.
struct Ground {
    frame: Coordinates,
    x: Matrix,
    /// The centres, ascending, class by class.
    centres: Vec<usize>,
    /// What the Euclidean metric is multiplied by in the fixed part.
    fixed: f64,
}

/// Pairs of points, each first the centre.
struct Near {
    same: Vec<(usize, usize)>,
    other: Vec<(usize, usize)>,
}

/// A problem in coordinates where the local diameter is the squared length of the factor.
struct Whitened {
    problem: Problem,
    near: Near,
    /// The Euclidean part of the local diameter.
    plain: f64,
    map: Matrix,
    inverse: Matrix,
}

impl Ground {
    fn new(frame: Coordinates) -> Result<Self> {
        let all = &frame.cloud.x;
        let p = all.cols().min(DIMENSIONS);
        let x = all.select_cols(0..p);
        if frame.cloud.classes().iter().all(|s| s.len() == 1) {
            return Err(Error::data("no two rows have the same label: no row has a neighbour of its own class"));
        }
        let n = x.rows();
        let centres = (0..n.min(CENTRES)).map(|k| k * n / n.min(CENTRES)).collect();
        Ok(Self { frame, x, centres, fixed: 0.0 })
    }

    fn pair_weight(&self, &(i, j): &(usize, usize)) -> f64 {
        self.frame.cloud.weight[i] * self.frame.cloud.weight[j]
    }

    fn squared_distance(&self, &(i, j): &(usize, usize)) -> f64 {
        self.x.row(i).iter().zip(self.x.row(j)).map(|(a, b)| (a - b) * (a - b)).sum()
    }

    /// Fixes the Euclidean part that gives the near pairs of different label this share of their margin, in the mean.
    fn fix(&mut self, near: &Near, share: f64) {
        let total: f64 = near.other.iter().map(|pair| self.pair_weight(pair)).sum();
        let mean =
            near.other.iter().map(|pair| self.pair_weight(pair) * self.squared_distance(pair)).sum::<f64>() / total;
        self.fixed = if mean > 0.0 { 2.0 * share / mean } else { 0.0 };
    }

    /// `M` of the fixed part and a learned factor.
    fn whole(&self, factor: &Matrix) -> Matrix {
        let mut m = linalg::transposed_product(factor, factor);
        (0..m.rows()).for_each(|k| m[(k, k)] += self.fixed);
        m
    }

    /// The rows under it.
    fn mapped(&self, factor: &Matrix) -> Result<Matrix> {
        if self.fixed == 0.0 {
            return Ok(linalg::product_transposed(&self.x, factor));
        }
        Ok(linalg::product_transposed(&self.x, &linalg::root(&self.whole(factor))?))
    }

    /// The nearest points of the same and of other classes, by the Euclidean distance between these rows.
    fn near(&self, mapped: &Matrix, k: usize) -> Result<Near> {
        let n = mapped.rows();
        let (mut same, mut other) = (Vec::new(), Vec::new());
        for range in self.frame.cloud.classes() {
            let from = self.centres.partition_point(|&i| i < range.start);
            let to = self.centres.partition_point(|&i| i < range.end);
            let centres = &self.centres[from..to];
            if centres.is_empty() {
                continue;
            }
            let queries = mapped.select_rows(centres);
            let own: Vec<usize> = range.clone().collect();
            if own.len() > 1 {
                let count = (k + 1).min(own.len());
                let found = NeighbourIndex::new(mapped.select_rows(&own))?.query(&queries, count)?;
                for (q, &i) in centres.iter().enumerate() {
                    let others = found.indices(q).iter().map(|&j| own[j]).filter(|&j| j != i);
                    same.extend(others.take(count - 1).map(|j| (i, j)));
                }
            }
            let rest: Vec<usize> = (0..range.start).chain(range.end..n).collect();
            let found = NeighbourIndex::new(mapped.select_rows(&rest))?.query(&queries, k.min(rest.len()))?;
            for (q, &i) in centres.iter().enumerate() {
                other.extend(found.indices(q).iter().map(|&j| (i, rest[j])));
            }
        }
        Ok(Near { same, other })
    }

    fn problem(&self, near: Near) -> Result<Whitened> {
        let p = self.x.cols();
        let weight = |pair: &(usize, usize)| self.pair_weight(pair);
        let total: f64 = near.same.iter().map(weight).sum();
        let mut spread = weighted_outer(&self.x, near.same.iter().map(|pair| (pair.0, pair.1, weight(pair) / total)));
        let trace = |m: &Matrix| (0..p).map(|k| m[(k, k)]).sum::<f64>();
        // Where no two near rows of a class differ, the Euclidean part alone is the diameter.
        let all = linalg::inner(&self.x, &self.x) / self.x.rows() as f64;
        let plain = PLAIN * trace(&spread).max(LEAST_SPREAD * all) / p as f64;
        (0..p).for_each(|k| spread[(k, k)] += plain);
        let (map, inverse) = linalg::roots(&spread, FLAT)?;
        let u = linalg::product(&self.x, &map);
        let mut differences = Matrix::zeros(near.other.len(), p);
        for (r, &(i, j)) in near.other.iter().enumerate() {
            for ((d, a), b) in differences.row_mut(r).iter_mut().zip(u.row(i)).zip(u.row(j)) {
                *d = a - b;
            }
        }
        let total: f64 = near.other.iter().map(weight).sum();
        let weights = near.other.iter().map(|pair| weight(pair) / total).collect();
        let given = near.other.iter().map(|pair| self.fixed * self.squared_distance(pair)).collect();
        let problem = Problem { differences, weights, given, base: self.fixed * trace(&spread) };
        Ok(Whitened { problem, near, plain, map, inverse })
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = notes_on(&self.frame);
        let rank = self.frame.rank();
        if rank > DIMENSIONS {
            notes.push(format!("the metric measures the {DIMENSIONS} directions of largest variance of {rank}"));
        }
        if self.x.rows() > CENTRES {
            notes.push(format!("{CENTRES} of {} rows, evenly chosen, were centres", self.x.rows()));
        }
        notes
    }

    /// The metric on the features.
    fn metric(&self, factor: &Matrix) -> Result<Metric> {
        let (whole, p, rank) = (self.whole(factor), self.x.cols(), self.frame.rank());
        let mut wide = Matrix::zeros(rank, rank);
        for i in 0..p {
            wide.row_mut(i)[..p].copy_from_slice(whole.row(i));
        }
        self.frame.metric_of(&wide)
    }

    /// Objective and bound on the rows as they were given; a note where no bound is proved.
    fn audit(&self, data: &Training<'_>, metric: &Metric, at: &Whitened, done: &mut Done) -> Option<String> {
        let rows = Under::new((data.x, data.y.codes(), &weights(data)), metric);
        let cloud = &rows.cloud;
        let weighed = |pairs: &[(usize, usize)]| -> Vec<Weighed> {
            let total: f64 = pairs.iter().map(|&(i, j)| cloud.pair_weight(i, j)).sum();
            pairs.iter().map(|&(i, j)| (i as u32, j as u32, cloud.pair_weight(i, j) / total)).collect()
        };
        let (same, other) = (weighed(&at.near.same), weighed(&at.near.other));
        let spread: f64 = same.iter().map(|&(i, j, w)| w * rows.length(i as usize, j as usize)).sum();
        let hinge: f64 = other.iter().map(|&(i, j, w)| w * rows.lacking(2.0, i as usize, j as usize).max(0.0)).sum();
        let factor = metric.factor();
        done.solution.objective = done.c * (spread + at.plain * linalg::inner(factor, factor)) + hinge;
        done.solution.bound = 0.0;
        if self.frame.is_partial() {
            return self.frame.note_no_bound();
        }
        let axes = self.frame.axes().select_rows(&Vec::from_iter(0..self.x.cols()));
        let pull: Vec<Weighed> = same.iter().map(|&(i, j, w)| (i, j, done.c * w)).collect();
        // No multiplier above its weight, whatever rounding did.
        let lambda = |(pair, m): (&Weighed, &f64)| (pair.0, pair.1, -m.min(pair.2 * (1.0 - SUMMED)));
        let push: Vec<Weighed> = other.iter().zip(&done.proof).map(lambda).collect();
        let total: f64 = -push.iter().map(|p| p.2).sum::<f64>();
        let part = Listed { cloud, basis: &axes }.proved_part(&pull, done.c * at.plain, &push, 1.0);
        // With Z = c W - part sum lambda A positive semidefinite, and M at least the fixed part of it, F(M) is at least
        // 2 part sum lambda + fixed trace(Z).
        let given: f64 = push.iter().zip(&at.problem.given).map(|(p, g)| -p.2 * g).sum();
        let fixed = done.c * at.problem.base * (1.0 - SUMMED) - part * given * (1.0 + SUMMED);
        done.solution.bound = 2.0 * part * total * (1.0 - SUMMED) + fixed.max(0.0);
        None
    }
}

impl Method for LipLocal {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn check(&self) -> Result<()> {
        self.check_all(&[self.c_rel])
    }

    fn takes_start(&self) -> bool {
        false
    }

    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        let fits = self.path(data, &[self.c_rel], observer)?;
        fits.into_iter().next().ok_or_else(|| Error::data("no fit was asked for"))
    }
}
