//! What a user calls to learn a metric.

mod choose;
mod euclidean;
mod frame;
mod lip;
mod lip_admm;
mod lip_auto;
mod lip_local;
mod lmml;
mod lmnn;
mod mcml;
mod nca;

pub use choose::{Aspect, Choice, Judged, Tuned};
pub use euclidean::Euclidean;
pub use frame::Init;
pub use lip::{ClassWeights, Lip, LipFit, TradeOff};
pub use lip_admm::{LipAdmm, Solver};
pub use lip_auto::LipAuto;
pub use lip_local::LipLocal;
pub use lmml::{Lmml, Triplet};
pub use lmnn::Lmnn;
pub use mcml::Mcml;
pub use nca::Nca;

use crate::classify::Weights;
use crate::solver::{Observer, Solution, Status};
use crate::{Error, Labels, Matrix, Metric, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The rows that a metric is learned from.
#[derive(Debug, Clone, Copy)]
pub struct Training<'a> {
    /// One row per instance; finite values only.
    pub x: &'a Matrix,
    /// The class of each row.
    pub y: &'a Labels,
    /// A weight per row; every row counts once where there are none.
    pub weights: Option<&'a [f64]>,
}

impl<'a> Training<'a> {
    /// Rows and labels without weights.
    ///
    /// # Errors
    /// If the two differ in length, there is no row or no feature, or a value is not finite.
    pub fn new(x: &'a Matrix, y: &'a Labels) -> Result<Self> {
        if x.rows() != y.len() {
            return Err(Error::shape("labels", x.rows(), y.len()));
        }
        if x.rows() == 0 {
            return Err(Error::data("there are no rows to learn from"));
        }
        if x.cols() == 0 {
            return Err(Error::data("there are no features to learn from"));
        }
        if let Some((i, j)) = x.first_non_finite() {
            return Err(Error::data(format!("row {i}, feature {j} is {}: values must be finite", x[(i, j)])));
        }
        Ok(Self { x, y, weights: None })
    }

    /// The same with a weight per row.
    ///
    /// # Errors
    /// If their number is not the rows', or one is negative or not finite, or all are zero.
    pub fn with_weights(mut self, weights: &'a [f64]) -> Result<Self> {
        if weights.len() != self.x.rows() {
            return Err(Error::shape("weights", self.x.rows(), weights.len()));
        }
        if let Some(i) = weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
            return Err(Error::data(format!("weight {i} is {}: weights must be finite and not negative", weights[i])));
        }
        if weights.iter().all(|&w| w == 0.0) {
            return Err(Error::data("all weights are zero"));
        }
        self.weights = Some(weights);
        Ok(self)
    }
}

/// Figures of a fit. `None` where a method has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Outcome {
    /// How the fit ended.
    pub status: Status,
    /// The trade-off parameter that was used.
    pub c: Option<f64>,
    /// The trade-off from which on the zero metric is optimal.
    pub c_max: Option<f64>,
    /// Objective at the returned metric.
    pub objective: Option<f64>,
    /// Certified lower bound of the objective.
    pub dual: Option<f64>,
    /// Certified relative gap between the two.
    pub gap: Option<f64>,
    /// Iterations done.
    pub iterations: usize,
    /// Things the user should know, in plain sentences.
    pub notes: Vec<String>,
    /// What was chosen and by which figures, where the method chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<Choice>,
}

impl Outcome {
    /// A fit that ended so, after so many iterations, without any other figures.
    #[must_use]
    pub fn new(status: Status, iterations: usize) -> Self {
        Self {
            status,
            c: None,
            c_max: None,
            objective: None,
            dual: None,
            gap: None,
            iterations,
            notes: Vec::new(),
            choice: None,
        }
    }

    /// What a solver found.
    pub(crate) fn of(solution: &Solution) -> Self {
        Self {
            objective: Some(solution.objective),
            dual: Some(solution.bound),
            gap: Some(solution.gap()),
            ..Self::new(solution.status, solution.iterations)
        }
    }

    /// The same with the trade-off that was used, and the one from which on the zero metric is optimal.
    #[must_use]
    pub(crate) fn with_trade_off(self, c: Option<f64>, c_max: Option<f64>) -> Self {
        Self { c, c_max, ..self }
    }

    /// The same with these notes.
    #[must_use]
    pub(crate) fn with_notes(self, notes: Vec<String>) -> Self {
        Self { notes, ..self }
    }
}

/// A learned metric and how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The metric, on the features it was learned from.
    pub metric: Metric,
    /// Figures of the fit.
    pub outcome: Outcome,
}

/// A method that learns a metric.
pub trait Learner: Send + Sync {
    /// The name that the command line and the model file use.
    fn name(&self) -> &'static str;

    /// The parameters, as the command line and the model file name them.
    fn parameters(&self) -> BTreeMap<String, serde_json::Value> {
        BTreeMap::new()
    }

    /// The parameters that a fit on these rows has: others than [`Learner::parameters`] where the method chooses by size.
    fn parameters_for(&self, _data: &Training<'_>) -> BTreeMap<String, serde_json::Value> {
        self.parameters()
    }

    /// Learns a metric.
    ///
    /// # Errors
    /// If the data or the parameters do not allow it. A fit that stops early is not an error: its
    /// [`Outcome::status`] tells.
    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit>;

    /// Learns a metric for votes of one of these numbers of neighbours. A method that chooses does so for them, and says
    /// which number it chose in [`Outcome::choice`]; the others do not care.
    ///
    /// # Errors
    /// As [`Learner::fit`].
    fn fit_for(
        &self,
        data: &Training<'_>,
        _neighbours: &[usize],
        _votes: Weights,
        observer: &mut dyn Observer,
    ) -> Result<Fit> {
        self.fit(data, observer)
    }
}

/// Checks what most learners have: a tolerance and a limit on the steps.
fn check_limits(tolerance: f64, max_iterations: usize) -> Result<()> {
    if !(1e-12..1.0).contains(&tolerance) {
        return Err(Error::parameter("tol", format!("{tolerance} is not from 1e-12 to below 1")));
    }
    if max_iterations == 0 {
        return Err(Error::parameter("max-iter", "0 steps: give at least 1"));
    }
    Ok(())
}
