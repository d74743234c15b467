//! Large margin nearest neighbours (Weinberger and Saul 2009).
//!
//! Every row pulls its `k` nearest rows of the same class (its targets, chosen once by the Euclidean distance) and pushes
//! rows of other classes (impostors) out of the targets' reach, by a margin of one:
//!
//! `(1 - push) sum_ij rho(x_i, x_j) + push sum_ijl max(0, 1 + rho(x_i, x_j) - rho(x_i, x_l))`.
//!
//! Convex in `M`; with all components the fit ends with a certified gap to the global optimum.

use super::frame::{Frame, Init, roots};
use super::{Fit, Learner, Outcome, Training, check_limits};
use crate::neighbours::NeighbourIndex;
use crate::pairs::weighted_outer;
use crate::solver::comparisons::{Anchor, Lists, Loss, Penalty, Problem};
use crate::solver::{Observer, Stop, Timed};
use crate::{Error, Matrix, Metric, Result, linalg};
use std::collections::BTreeMap;

/// Large margin nearest neighbours.
///
/// With weights, the terms of row `i` count `w_i` times and impostor `l` counts `w_l` times.
///
/// ```
/// use lipmetric::method::{Learner, Lmnn, Training};
/// use lipmetric::{Labels, Matrix, solver::Silent};
/// let x = Matrix::from_rows(&[[0.0, 9.0], [0.5, 1.0], [2.0, 8.0], [2.5, 2.0]]);
/// let y = Labels::from_names(["a", "a", "b", "b"]);
/// let fit = Lmnn::new().k(1).fit(&Training::new(&x, &y)?, &mut Silent)?;
/// assert!(fit.outcome.gap.unwrap() <= 1e-3);
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Lmnn {
    targets: usize,
    push: f64,
    row_slack: bool,
    components: Option<usize>,
    init: Init,
    tolerance: f64,
    max_iterations: usize,
}

impl Default for Lmnn {
    fn default() -> Self {
        Self::new()
    }
}

impl Lmnn {
    /// Three targets, pull and push in equal parts, all components, to a certified relative gap of 1e-3.
    #[must_use]
    pub fn new() -> Self {
        Self {
            targets: 3,
            push: 0.5,
            row_slack: false,
            components: None,
            init: Init::Auto,
            tolerance: 1e-3,
            max_iterations: 2000,
        }
    }

    /// Number of targets of each row.
    #[must_use]
    pub fn k(mut self, targets: usize) -> Self {
        self.targets = targets;
        self
    }

    /// The weight of the push, between 0 and 1; the pull has the rest.
    #[must_use]
    pub fn push(mut self, push: f64) -> Self {
        self.push = push;
        self
    }

    /// The special case of the paper's appendix: a slack per row, as large as its worst impostor asks for, instead of one
    /// per comparison. Usually with one target, [`Self::k`]`(1)`; its `alpha` is `push / (1 - push)`, and its objective the
    /// one here over `1 - push`.
    #[must_use]
    pub fn row_slack(mut self, row_slack: bool) -> Self {
        self.row_slack = row_slack;
        self
    }

    /// The number of rows of `L`. With fewer than features the problem is not convex any more: the bound and the gap are
    /// still those of the convex problem.
    #[must_use]
    pub fn n_components(mut self, components: usize) -> Self {
        self.components = Some(components);
        self
    }

    /// Where to begin.
    #[must_use]
    pub fn init(mut self, init: Init) -> Self {
        self.init = init;
        self
    }

    /// The certified relative gap to reach.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Steps, at most.
    #[must_use]
    pub fn max_iterations(mut self, max_iterations: usize) -> Self {
        self.max_iterations = max_iterations;
        self
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

    fn anchors(&self, data: &Training<'_>, frame: &Frame, notes: &mut Vec<String>) -> Result<Vec<Anchor>> {
        let targets = targets(data, frame, self.targets)?;
        let short = targets.iter().filter(|t| !t.is_empty() && t.len() < self.targets).count();
        if short > 0 {
            notes.push(format!(
                "{short} rows are of classes with fewer than {} rows: they have as many targets as their class allows",
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

    fn problem<'a>(&self, frame: &'a Frame, anchors: Vec<Anchor>, pull: Matrix) -> Problem<'a> {
        let loss = if self.row_slack { Loss::Worst } else { Loss::Each };
        Problem { cloud: &frame.cloud, anchors, loss, penalty: Penalty::Linear(pull) }
    }

    fn pull(&self, frame: &Frame, anchors: &[Anchor]) -> Matrix {
        let pairs = anchors.iter().flat_map(|a| {
            let weight = (1.0 - self.push) * frame.cloud.weight[a.point];
            a.targets.iter().map(move |&j| (a.point, j as usize, weight))
        });
        weighted_outer(&frame.cloud.x, pairs)
    }

    /// The objective of any metric on labelled rows.
    ///
    /// # Errors
    /// If a parameter is out of range, or the data do not allow a fit.
    pub fn objective(&self, data: &Training<'_>, metric: &Metric) -> Result<f64> {
        self.check()?;
        let frame = Frame::new(data)?;
        let anchors = self.anchors(data, &frame, &mut Vec::new())?;
        let pull = self.pull(&frame, &anchors);
        Ok(self.problem(&frame, anchors, pull).objective(&mut Lists::by_label(), &frame.inner(metric)?))
    }
}

/// The nearest rows of its own class of each point, by the Euclidean distance on the features.
pub(super) fn targets(data: &Training<'_>, frame: &Frame, k: usize) -> Result<Vec<Vec<u32>>> {
    let mut out = Vec::with_capacity(frame.cloud.len());
    while out.len() < frame.cloud.len() {
        let range = frame.same[out.len()].clone();
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
pub(super) fn reach_of_one(frame: &Frame, anchors: &[Anchor], start: &mut Matrix) {
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
        notes.push(format!("{lonely} rows are the only ones of their class: they have no target, and push none away"));
    }
    Ok(())
}

impl Learner for Lmnn {
    fn name(&self) -> &'static str {
        "lmnn"
    }

    fn parameters(&self) -> BTreeMap<String, serde_json::Value> {
        BTreeMap::from([
            ("targets".to_owned(), serde_json::json!(self.targets)),
            ("push".to_owned(), serde_json::json!(self.push)),
            ("slack".to_owned(), serde_json::json!(if self.row_slack { "instance" } else { "pair" })),
            ("n_components".to_owned(), serde_json::json!(self.components)),
            ("init".to_owned(), serde_json::json!(self.init.name())),
            ("tol".to_owned(), serde_json::json!(self.tolerance)),
            ("max_iter".to_owned(), serde_json::json!(self.max_iterations)),
        ])
    }

    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        self.check()?;
        let observer = &mut Timed::new(observer);
        let mut frame = Frame::new(data)?;
        let mut notes = std::mem::take(&mut frame.notes);
        let anchors = self.anchors(data, &frame, &mut notes)?;
        let mut start = frame.start(&self.init, self.components)?;
        if self.init == Init::Auto {
            reach_of_one(&frame, &anchors, &mut start);
        }
        // In coordinates where the pull is the squared length of L the problem is well scaled.
        let (map, inverse) = roots(&self.pull(&frame, &anchors), 1e-8)?;
        let start = linalg::product(&start, &inverse);
        frame.change(&map, &inverse);
        let pull = self.pull(&frame, &anchors);
        let problem = self.problem(&frame, anchors, pull);
        let full = start.rows() >= frame.rank();
        let stop = Stop::new(self.tolerance, self.max_iterations);
        let solution = problem.solve(&mut Lists::by_label(), start, &stop, observer)?;
        let zero = problem.objective_of_zero();
        if solution.bound >= zero * (1.0 - self.tolerance) {
            return Err(Error::parameter(
                "push",
                format!(
                    "{} is so small that the zero metric is optimal, which tells nothing apart; choose a larger one",
                    self.push
                ),
            ));
        }
        if !full && solution.gap() > self.tolerance {
            notes.push(
                "the bound is that of the problem without a limit on the components: the gap shows what the limit costs, \
                 at most"
                    .to_owned(),
            );
        }
        let metric = if full {
            frame.metric_of(&linalg::transposed_product(&solution.factor, &solution.factor))?
        } else {
            frame.metric(&solution.factor)?
        };
        Ok(Fit { metric, outcome: Outcome::of(&solution).with_notes(notes) })
    }
}
