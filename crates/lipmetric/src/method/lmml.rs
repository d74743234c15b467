//! Large margin metric learning from relative comparisons (Schultz and Joachims 2004), in the form of the paper's appendix.
//!
//! `||M||_F^2 + alpha sum_i xi_i` with `rho(x_i, x_l) - rho(x_i, x_j) >= 1 - xi_i`: every row should be nearer to one of its
//! own class than to any of another, by a margin of one. By the appendix's choice `x_j` is the row's nearest of its class in
//! the Euclidean distance, and `x_l` are all rows of other classes. Or the comparisons are given, each with its own slack: triplets
//! `(i, j, l)`, or quadruplets `(i, j, k, l)` with `rho(x_k, x_l) - rho(x_i, x_j) >= 1 - xi`.
//!
//! Strongly convex: there is one optimum, and its certificate costs a `p x p` eigendecomposition. For any multipliers
//! `lambda` with `P = sum lambda (A_il - A_ij)`, the optimum is at least `sum lambda - ||P_+||_F^2 / 4`.

use super::lmnn::{note_lonely, reach_of_one, targets};
use super::parameters::parameters;
use super::start::{Begin, Init, coordinates, coordinates_of_any_labels, notes_on, weights};
use super::told::{check_comparisons, differences};
use super::{Fit, Method, Outcome, Training, check_limits, check_positive, settle};
use crate::data::{Quadruplet, Triplet};
use crate::problem::{Coordinates, Under};
use crate::solver::comparisons::{Anchor, Lists, Loss, Penalty, Problem};
use crate::solver::{Kept, Observer, Stop, Timed, Translated};
use crate::{Error, Labels, Matrix, Metric, Result, linalg};

parameters! {
    /// Large margin metric learning.
    ///
    /// With weights, the slack of row `i` counts `w_i` times; given comparisons take none.
    ///
    /// ```
    /// use lipmetric::method::{Method, Lmml, Training};
    /// use lipmetric::{Labels, Matrix, solver::Silent};
    /// let x = Matrix::from_rows(&[[0.0, 9.0], [0.5, 1.0], [2.0, 8.0], [2.5, 2.0]]);
    /// let y = Labels::from_names(["a", "a", "b", "b"]);
    /// let data = Training::new(&x, &y)?;
    /// let fit = Lmml::new().fit(&data, &mut Silent)?;
    /// assert!(fit.outcome.gap.unwrap() <= 1e-6);
    /// let told = Lmml::new().fit(&data.with_triplets(&[[0, 1, 2], [3, 2, 1]]), &mut Silent)?;
    /// assert!(told.metric.squared_distance(x.row(0), x.row(1)) < told.metric.squared_distance(x.row(0), x.row(2)));
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    pub struct Lmml = "lmml" {
        /// The cost of a violated margin.
        alpha: f64 = 1.0,
        /// The number of rows of `L`, all unless it is given. With fewer than features the problem is not convex any more: the
        /// bound and the gap are still those of the convex problem.
        n_components: Option<usize> as impl Into<Option<usize>> = None,
        /// Where the search begins, unless a metric to start from is given; the optimum does not depend on it.
        init: Init = Init::Auto,
        /// The certified relative gap to reach.
        tolerance: f64 = 1e-6,
        /// Steps, at most.
        max_iterations: usize = 20_000,
    }
}

/// What is said where rows have weights.
const NO_WEIGHTS: &str = "given comparisons take no row weights; give a comparison as often as it should count";

impl Lmml {
    fn problem<'a>(
        &self,
        data: &Training<'_>,
        frame: &'a Coordinates,
        notes: &mut Vec<String>,
    ) -> Result<(Problem<'a>, Lists)> {
        self.check()?;
        let cloud = &frame.cloud;
        let Some(triplets) = data.triplets else {
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
            return Err(Error::parameter("triplets", NO_WEIGHTS));
        }
        let n = data.x.rows();
        check_comparisons("triplets", triplets, n, ([0, 1], [0, 2]))?;
        let mut point_of = vec![0; n];
        cloud.origin.iter().enumerate().for_each(|(point, &row)| point_of[row] = point);
        let (mut anchors, mut others) = (Vec::new(), Vec::new());
        for t in triplets {
            let [i, j, l] = t.map(|row| point_of[row]);
            anchors.push(Anchor { point: i, cost: self.alpha, targets: vec![j as u32] });
            others.push(vec![l as u32]);
        }
        let problem = Problem { cloud, anchors, loss: Loss::Each, penalty: Penalty::Squared };
        let lists = Lists::given(&problem, others);
        Ok((problem, lists))
    }

    /// Quadruplets are triplets of other rows: of the differences within pairs, seen from zero.
    fn fit_quadruplets(&self, data: &Training<'_>, told: &[Quadruplet], observer: &mut dyn Observer) -> Result<Fit> {
        if data.weights.is_some() {
            return Err(Error::parameter("quadruplets", NO_WEIGHTS));
        }
        check_comparisons("quadruplets", told, data.x.rows(), ([0, 1], [2, 3]))?;
        let (x, at) = differences(data.x, told.iter().flat_map(|&[i, j, k, l]| [[i, j], [k, l]]))?;
        let triplets: Vec<Triplet> = at.chunks_exact(2).map(|pair| [0, pair[0], pair[1]]).collect();
        let y = Labels::none(x.rows());
        let training = Training { start: data.start, ..Training::new(&x, &y)? };
        self.fit(&training.with_triplets(&triplets), observer)
    }

    fn coordinates(data: &Training<'_>) -> Result<Coordinates> {
        if data.triplets.is_some() { coordinates_of_any_labels(data) } else { coordinates(data) }
    }

    /// The objective of any metric.
    ///
    /// # Errors
    /// If a parameter is out of range, or the data do not allow a fit.
    pub fn objective(&self, data: &Training<'_>, metric: &Metric) -> Result<f64> {
        let frame = Self::coordinates(data)?;
        let (problem, mut lists) = self.problem(data, &frame, &mut Vec::new())?;
        let outside = frame.outside(metric)?;
        Ok(problem.objective(&mut lists, &frame.inner(metric.factor())?) + outside)
    }
}

impl Method for Lmml {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn check(&self) -> Result<()> {
        check_limits(self.tolerance, self.max_iterations)?;
        check_positive("alpha", self.alpha, 1.0)
    }

    fn takes_triplets(&self) -> bool {
        true
    }

    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        data.check_for(self)?;
        if let Some(told) = data.quadruplets {
            return self.fit_quadruplets(data, told, observer);
        }
        let observer = &mut Timed::new(observer);
        let frame = Self::coordinates(data)?;
        let mut notes = notes_on(&frame);
        let (problem, mut lists) = self.problem(data, &frame, &mut notes)?;
        let begin = Begin::new(self.init, data);
        let mut start = frame.start(begin, self.n_components)?;
        if begin.is_auto() {
            reach_of_one(&frame, &problem.anchors, &mut start);
        }
        let full = start.rows() >= frame.rank();
        let stop = Stop::new(self.tolerance, self.max_iterations);
        let reached = |kept: &Kept| frame.metric(kept.numbers.first()?).ok();
        let watched = &mut Translated { inner: observer, metric: &reached };
        let (mut solution, proof) = problem.solve(&mut lists, start, &stop, watched)?;
        let metric = if full {
            frame.metric_of(&linalg::transposed_product(&solution.factor, &solution.factor))?
        } else {
            frame.metric(&solution.factor)?
        };
        // The solver's own figures are those of its coordinates.
        let rows = Under::new((data.x, data.y.codes(), &weights(data)), &metric);
        solution.objective = problem.measured(&lists, &rows, &metric, &[]);
        solution.bound = problem.proved(&proof, (&rows.cloud, frame.axes()), &[])?;
        let zero: f64 = problem.anchors.iter().map(|a| a.cost).sum();
        if solution.bound >= zero * (1.0 - self.tolerance) || metric.rank() == 0 {
            return Err(Error::data(
                "the best metric is zero: in no direction are the rows to push away farther than those to be near to",
            ));
        }
        notes.extend(settle(&mut solution, self.tolerance));
        Ok(Fit::new(metric, Outcome::of(&solution).with_notes(notes)))
    }
}

impl Coordinates {
    /// What `||M||_F^2` has beyond the directions in which the rows vary.
    fn outside(&self, metric: &Metric) -> Result<f64> {
        let squared = |factor: &Matrix| {
            let gram = linalg::product_transposed(factor, factor);
            linalg::inner(&gram, &gram)
        };
        Ok((squared(metric.factor()) - squared(&self.inner(metric.factor())?)).max(0.0))
    }
}
