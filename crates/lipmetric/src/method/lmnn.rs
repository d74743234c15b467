//! Large margin nearest neighbours (Weinberger and Saul 2009).
//!
//! Every row pulls its `k` nearest rows of the same class (its targets, chosen once by the Euclidean distance) and pushes
//! rows of other classes (impostors) out of the targets' reach, by a margin of one:
//!
//! `(1 - push) sum_ij rho(x_i, x_j) + push sum_ijl max(0, 1 + rho(x_i, x_j) - rho(x_i, x_l))`.
//!
//! Convex in `M`; with all components the fit ends with a certified gap to the global optimum.

use super::parameters::parameters;
use super::start::{Begin, Init, coordinates, notes_on, weights};
use super::{Fit, Method, Outcome, Training, check_limits, settle};
use crate::neighbours::NeighbourIndex;
use crate::pairs::weighted_outer;
use crate::problem::{Coordinates, Slack, Under, Weighed};
use crate::solver::comparisons::{Anchor, Lists, Loss, Penalty, Problem};
use crate::solver::{Kept, Observer, Stop, Timed, Translated};
use crate::{Error, Matrix, Metric, Result, linalg};

parameters! {
    /// Large margin nearest neighbours.
    ///
    /// With weights, the terms of row `i` count `w_i` times and impostor `l` counts `w_l` times.
    ///
    /// ```
    /// use lipmetric::method::{Method, Lmnn, Training};
    /// use lipmetric::{Labels, Matrix, solver::Silent};
    /// let x = Matrix::from_rows(&[[0.0, 9.0], [0.5, 1.0], [2.0, 8.0], [2.5, 2.0]]);
    /// let y = Labels::from_names(["a", "a", "b", "b"]);
    /// let fit = Lmnn::new().targets(1).fit(&Training::new(&x, &y)?, &mut Silent)?;
    /// assert!(fit.outcome.gap.unwrap() <= 1e-3);
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    pub struct Lmnn = "lmnn" {
        /// How many rows of its own class a row is drawn to: its targets.
        targets: usize = 3,
        /// The weight of the push, between 0 and 1; the pull has the rest.
        push: f64 = 0.5,
        /// A slack per comparison of a target with an impostor (`pair`), or the special case of the paper's appendix: a slack
        /// per row (`instance`), as large as its worst impostor asks for. The latter usually with one target; its `alpha` is
        /// `push / (1 - push)`, and its objective the one here over `1 - push`.
        slack: Slack = Slack::Pair,
        /// The number of rows of `L`, all unless it is given. With fewer than features the problem is not convex any more: the
        /// bound and the gap are still those of the convex problem.
        n_components: Option<usize> as impl Into<Option<usize>> = None,
        /// Where the search begins, unless a metric to start from is given.
        init: Init = Init::Auto,
        /// The certified relative gap to reach.
        tolerance: f64 = 1e-3,
        /// Steps, at most.
        max_iterations: usize = 2000,
    }
}

/// The least eigenvalue of the pull in the coordinates of the search, as a part of its largest: where targets hardly differ,
/// steps would be without measure.
const FLAT: f64 = 1e-8;

impl Lmnn {
    fn anchors(&self, data: &Training<'_>, frame: &Coordinates, notes: &mut Vec<String>) -> Result<Vec<Anchor>> {
        let targets = targets(data, frame, self.targets)?;
        let short = targets.iter().filter(|t| !t.is_empty() && t.len() < self.targets).count();
        if short > 0 {
            notes.push(format!(
                "rows of classes with fewer than {} rows: {short}; they have as many targets as their class allows",
                self.targets + 1
            ));
        }
        note_lonely(&targets, notes)?;
        Ok(targets
            .into_iter()
            .enumerate()
            .filter(|(_, t)| !t.is_empty())
            .map(|(point, targets)| Anchor { point, cost: self.push * frame.cloud.weight[point], targets })
            .collect())
    }

    fn problem<'a>(&self, frame: &'a Coordinates, anchors: Vec<Anchor>, pull: Matrix) -> Problem<'a> {
        let loss = match self.slack {
            Slack::Instance => Loss::Worst,
            Slack::Pair => Loss::Each,
        };
        Problem { cloud: &frame.cloud, anchors, loss, penalty: Penalty::Linear(pull) }
    }

    fn pull(&self, frame: &Coordinates, anchors: &[Anchor]) -> Matrix {
        let pairs = self.pulled(frame, anchors).into_iter().map(|(i, j, w)| (i as usize, j as usize, w));
        weighted_outer(&frame.cloud.x, pairs)
    }

    /// The pairs that are pulled together, and how hard.
    fn pulled(&self, frame: &Coordinates, anchors: &[Anchor]) -> Vec<Weighed> {
        let of = |a: &Anchor| {
            let (point, weight) = (a.point as u32, (1.0 - self.push) * frame.cloud.weight[a.point]);
            a.targets.iter().map(move |&j| (point, j, weight)).collect::<Vec<_>>()
        };
        anchors.iter().flat_map(of).collect()
    }

    /// The objective of any metric on labelled rows.
    ///
    /// # Errors
    /// If a parameter is out of range, or the data do not allow a fit.
    pub fn objective(&self, data: &Training<'_>, metric: &Metric) -> Result<f64> {
        self.check()?;
        let frame = coordinates(data)?;
        let anchors = self.anchors(data, &frame, &mut Vec::new())?;
        let pull = self.pull(&frame, &anchors);
        Ok(self.problem(&frame, anchors, pull).objective(&mut Lists::by_label(), &frame.inner(metric.factor())?))
    }
}

/// The nearest rows of its own class of each point, by the Euclidean distance on the features.
pub(super) fn targets(data: &Training<'_>, frame: &Coordinates, k: usize) -> Result<Vec<Vec<u32>>> {
    let mut out = Vec::with_capacity(frame.cloud.len());
    for range in frame.cloud.classes() {
        let count = k.min(range.len() - 1);
        if count == 0 {
            out.extend(range.map(|_| Vec::new()));
            continue;
        }
        let rows = data.x.select_rows(&frame.cloud.origin[range.clone()]);
        let found = NeighbourIndex::new(rows)?.query_excluding_self(count)?;
        out.extend((0..range.len()).map(|i| found.indices(i).iter().map(|&j| (range.start + j) as u32).collect()));
    }
    Ok(out)
}

/// Scales a start so that the mean squared distance to a target is one, the margin.
pub(super) fn reach_of_one(frame: &Coordinates, anchors: &[Anchor], start: &mut Matrix) {
    let (mut sum, mut count) = (0.0, 0.0);
    let z = linalg::product_transposed(&frame.cloud.x, start);
    for a in anchors {
        for &j in &a.targets {
            sum += z.row(a.point).iter().zip(z.row(j as usize)).map(|(p, q)| (p - q) * (p - q)).sum::<f64>();
            count += 1.0;
        }
    }
    if sum > 0.0 {
        let scale = (count / sum).sqrt();
        start.as_mut_slice().iter_mut().for_each(|v| *v *= scale);
    }
}

pub(super) fn note_lonely(targets: &[Vec<u32>], notes: &mut Vec<String>) -> Result<()> {
    let lonely = targets.iter().filter(|t| t.is_empty()).count();
    if lonely == targets.len() {
        return Err(Error::data("no two rows have the same label: no row has a target neighbour"));
    }
    if lonely > 0 {
        notes.push(format!("classes of a single row: {lonely}; these rows have no target and push no other row away"));
    }
    Ok(())
}

impl Method for Lmnn {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn check(&self) -> Result<()> {
        check_limits(self.tolerance, self.max_iterations)?;
        if self.targets == 0 {
            return Err(Error::parameter("targets", "0 target neighbours: give at least 1, usually 3"));
        }
        if !(self.push > 0.0 && self.push < 1.0) {
            return Err(Error::parameter("push", format!("{} is not between 0 and 1, for example 0.5", self.push)));
        }
        Ok(())
    }

    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        self.check()?;
        data.check_for(self)?;
        let observer = &mut Timed::new(observer);
        let frame = coordinates(data)?;
        let mut notes = notes_on(&frame);
        let anchors = self.anchors(data, &frame, &mut notes)?;
        let begin = Begin::new(self.init, data);
        let mut start = frame.start(begin, self.n_components)?;
        if begin.is_auto() {
            reach_of_one(&frame, &anchors, &mut start);
        }
        // In coordinates where the pull is the squared length of L the problem is well scaled.
        let (map, inverse) = linalg::roots(&self.pull(&frame, &anchors), FLAT)?;
        let start = linalg::product(&start, &inverse);
        let frame = frame.changed(&map, &inverse);
        let pull = self.pull(&frame, &anchors);
        let problem = self.problem(&frame, anchors, pull);
        let full = start.rows() >= frame.rank();
        let stop = Stop::new(self.tolerance, self.max_iterations);
        let mut lists = Lists::by_label();
        let reached = |kept: &Kept| frame.metric(kept.numbers.first()?).ok();
        let watched = &mut Translated { inner: observer, metric: &reached };
        let (mut solution, proof) = problem.solve(&mut lists, start, &stop, watched)?;
        let metric = if full {
            frame.metric_of(&linalg::transposed_product(&solution.factor, &solution.factor))?
        } else {
            frame.metric(&solution.factor)?
        };
        // The solver's own figures are those of its coordinates.
        let pulled = self.pulled(&frame, &problem.anchors);
        let rows = Under::new((data.x, data.y.codes(), &weights(data)), &metric);
        solution.objective = problem.measured(&lists, &rows, &metric, &pulled);
        solution.bound = problem.proved(&proof, (&rows.cloud, &frame.basis()), &pulled)?;
        let zero = problem.objective_of_zero();
        if solution.bound >= zero * (1.0 - self.tolerance) || metric.rank() == 0 {
            let other = if self.slack == Slack::Instance {
                ", or `slack = pair`, where every row that is too near counts"
            } else {
                ""
            };
            let message =
                format!("{} is too small: all learned distances become 0; use a larger one{other}", self.push);
            return Err(Error::parameter("push", message));
        }
        if !full && solution.gap() > self.tolerance {
            notes.push(
                "the lower bound is that of the full-rank problem: the gap is an upper bound on the loss from limiting the components"
                    .to_owned(),
            );
        }
        notes.extend(settle(&mut solution, self.tolerance));
        Ok(Fit::new(metric, Outcome::of(&solution).with_notes(notes)))
    }
}
