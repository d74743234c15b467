//! Large margin metric learning from relative comparisons (Schultz and Joachims 2004), in the form of the paper's appendix.
//!
//! `||M||_F^2 + alpha sum_i xi_i` with `rho(x_i, x_l) - rho(x_i, x_j) >= 1 - xi_i`: every row should be nearer to one of its
//! own class than to any of another, by a margin of one. By the appendix's choice `x_j` is the row's nearest of its class in
//! the Euclidean distance, and `x_l` are all rows of other classes. Or the comparisons are given, each with its own slack.
//!
//! Strongly convex: there is one optimum, and its certificate costs a `p x p` eigendecomposition. For any multipliers
//! `lambda` with `P = sum lambda (A_il - A_ij)`, the optimum is at least `sum lambda - ||P_+||_F^2 / 4`.

use super::frame::{Frame, Init};
use super::lmnn::{note_lonely, reach_of_one, targets};
use super::{Fit, Learner, Outcome, Training, check_limits};
use crate::solver::comparisons::{Anchor, Lists, Loss, Penalty, Problem};
use crate::solver::{Observer, Stop, Timed};
use crate::{Error, Matrix, Metric, Result, linalg};
use std::collections::BTreeMap;

/// Row numbers `i`, `j`, `l`: row `i` should be nearer to row `j` than to row `l`.
pub type Triplet = [usize; 3];

/// Large margin metric learning.
///
/// With weights, the slack of row `i` counts `w_i` times; given comparisons take none.
///
/// ```
/// use lipmetric::method::{Learner, Lmml, Training};
/// use lipmetric::{Labels, Matrix, solver::Silent};
/// let x = Matrix::from_rows(&[[0.0, 9.0], [0.5, 1.0], [2.0, 8.0], [2.5, 2.0]]);
/// let y = Labels::from_names(["a", "a", "b", "b"]);
/// let data = Training::new(&x, &y)?;
/// let fit = Lmml::new().fit(&data, &mut Silent)?;
/// assert!(fit.outcome.gap.unwrap() <= 1e-6);
/// let told = Lmml::new().triplets(vec![[0, 1, 2], [3, 2, 1]]).fit(&data, &mut Silent)?;
/// assert!(told.metric.squared_distance(x.row(0), x.row(1)) < told.metric.squared_distance(x.row(0), x.row(2)));
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Lmml {
    alpha: f64,
    triplets: Option<Vec<Triplet>>,
    init: Init,
    components: Option<usize>,
    tolerance: f64,
    max_iterations: usize,
}

impl Default for Lmml {
    fn default() -> Self {
        Self::new()
    }
}

impl Lmml {
    /// Comparisons from the labels, `alpha = 1`, to a certified relative gap of 1e-6.
    #[must_use]
    pub fn new() -> Self {
        Self { alpha: 1.0, triplets: None, init: Init::Auto, components: None, tolerance: 1e-6, max_iterations: 20_000 }
    }

    /// The cost of a violated margin.
    #[must_use]
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.alpha = alpha;
        self
    }

    /// These comparisons instead of those from the labels.
    #[must_use]
    pub fn triplets(mut self, triplets: Vec<Triplet>) -> Self {
        self.triplets = Some(triplets);
        self
    }

    /// Where to begin: the optimum does not depend on it.
    #[must_use]
    pub fn init(mut self, init: Init) -> Self {
        self.init = init;
        self
    }

    /// The number of rows of `L`. With fewer than features the problem is not convex any more: the bound and the gap are
    /// still those of the convex problem.
    #[must_use]
    pub fn n_components(mut self, components: usize) -> Self {
        self.components = Some(components);
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

    fn problem<'a>(
        &self,
        data: &Training<'_>,
        frame: &'a Frame,
        notes: &mut Vec<String>,
    ) -> Result<(Problem<'a>, Lists)> {
        check_limits(self.tolerance, self.max_iterations)?;
        if !(self.alpha > 0.0 && self.alpha.is_finite()) {
            return Err(Error::parameter("alpha", format!("{} is not positive and finite", self.alpha)));
        }
        let cloud = &frame.cloud;
        let Some(triplets) = &self.triplets else {
            let targets = targets(data, frame, 1)?;
            note_lonely(&targets, notes)?;
            let anchors = targets
                .into_iter()
                .enumerate()
                .filter(|(_, t)| !t.is_empty())
                .map(|(point, targets)| Anchor { point, cost: self.alpha * cloud.weight[point], targets })
                .collect();
            return Ok((Problem { cloud, anchors, loss: Loss::Worst, penalty: Penalty::Squared }, Lists::by_label()));
        };
        if data.weights.is_some() {
            return Err(Error::parameter(
                "triplets",
                "given comparisons take no row weights; give a comparison as often as it should count",
            ));
        }
        if triplets.is_empty() {
            return Err(Error::parameter("triplets", "there are none: give at least one comparison"));
        }
        let n = data.x.rows();
        let mut point_of = vec![0; n];
        cloud.origin.iter().enumerate().for_each(|(point, &row)| point_of[row] = point);
        let (mut anchors, mut others) = (Vec::new(), Vec::new());
        for (k, t) in triplets.iter().enumerate() {
            if let Some(&row) = t.iter().find(|&&row| row >= n) {
                return Err(Error::parameter(
                    "triplets",
                    format!("number {k} names row {row}, but there are {n} rows"),
                ));
            }
            if t[1] == t[2] {
                return Err(Error::parameter("triplets", format!("number {k} compares row {} with itself", t[1])));
            }
            let [i, j, l] = t.map(|row| point_of[row]);
            anchors.push(Anchor { point: i, cost: self.alpha, targets: vec![j as u32] });
            others.push(vec![l as u32]);
        }
        let problem = Problem { cloud, anchors, loss: Loss::Each, penalty: Penalty::Squared };
        let lists = Lists::given(&problem, others);
        Ok((problem, lists))
    }

    fn frame(&self, data: &Training<'_>) -> Result<Frame> {
        if self.triplets.is_some() { Frame::of_any_labels(data) } else { Frame::new(data) }
    }

    /// The objective of any metric.
    ///
    /// # Errors
    /// If a parameter is out of range, or the data do not allow a fit.
    pub fn objective(&self, data: &Training<'_>, metric: &Metric) -> Result<f64> {
        let frame = self.frame(data)?;
        let (problem, mut lists) = self.problem(data, &frame, &mut Vec::new())?;
        let outside = frame.outside(metric)?;
        Ok(problem.objective(&mut lists, &frame.inner(metric)?) + outside)
    }
}

impl Learner for Lmml {
    fn name(&self) -> &'static str {
        "lmml"
    }

    fn parameters(&self) -> BTreeMap<String, serde_json::Value> {
        BTreeMap::from([
            ("alpha".to_owned(), serde_json::json!(self.alpha)),
            ("triplets".to_owned(), serde_json::json!(self.triplets.as_ref().map(Vec::len))),
            ("n_components".to_owned(), serde_json::json!(self.components)),
            ("init".to_owned(), serde_json::json!(self.init.name())),
            ("tol".to_owned(), serde_json::json!(self.tolerance)),
            ("max_iter".to_owned(), serde_json::json!(self.max_iterations)),
        ])
    }

    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        let observer = &mut Timed::new(observer);
        let mut frame = self.frame(data)?;
        let mut notes = std::mem::take(&mut frame.notes);
        let (problem, mut lists) = self.problem(data, &frame, &mut notes)?;
        let mut start = frame.start(&self.init, self.components)?;
        if self.init == Init::Auto {
            reach_of_one(&frame, &problem.anchors, &mut start);
        }
        let full = start.rows() >= frame.rank();
        let stop = Stop::new(self.tolerance, self.max_iterations);
        let solution = problem.solve(&mut lists, start, &stop, observer)?;
        let zero: f64 = problem.anchors.iter().map(|a| a.cost).sum();
        if solution.bound >= zero * (1.0 - self.tolerance) {
            return Err(Error::data(
                "the zero metric is optimal: in no direction are the rows to push away farther than those to be near to",
            ));
        }
        let metric = if full {
            frame.metric_of(&linalg::transposed_product(&solution.factor, &solution.factor))?
        } else {
            frame.metric(&solution.factor)?
        };
        Ok(Fit { metric, outcome: Outcome::of(&solution).with_notes(notes) })
    }
}

impl Frame {
    /// What `||M||_F^2` has beyond the directions in which the rows vary.
    fn outside(&self, metric: &Metric) -> Result<f64> {
        let squared = |factor: &Matrix| {
            let gram = linalg::product_transposed(factor, factor);
            linalg::inner(&gram, &gram)
        };
        Ok((squared(metric.factor()) - squared(&self.inner(metric)?)).max(0.0))
    }
}
