//! What a user calls to learn a metric.
//!
//! Every method is a struct of its parameters; [`Spec`] is any of them. The rows, and what a fit may be given beside them, are
//! a [`Training`].
//!
//! | file | what |
//! |---|---|
//! | `spec` | `Spec`, `Choose`, the solvers' defaults |
//! | `parameters` | how a method's parameters are declared: struct, defaults, setters, table |
//! | `lip/` | Lip^D and Lip^I: parameters and checks (`mod`), the exact solver (`exact`), the others (`large`) |
//! | `agop`, `lip_local`, `lmnn`, `lmml`, `nca/`, `mcml`, `euclidean` | a method each |
//! | `discriminant`, `near_discriminant` | the directions that tell classes apart, by their means or by near rows, also of wide rows such as embeddings |
//! | `mlkr` | the rival where the targets are numbers |
//! | `lip_pairs`, `itml` | what learns from pairs; `told` has those that are given or drawn from labels |
//! | `arml`, `lip_robust` | methods for certified robustness; `climb` is the ascent behind them |
//! | `choose/` | what is chosen by cross-validation |
//! | `start` | the rows' coordinates, and where a search begins |
//! | `held_out` | how many steps a search takes, by rows that it does not see |
//! | `values` | the values of a Lipschitz function that are learned for a given metric |

mod agop;
mod arml;
mod choose;
mod climb;
mod discriminant;
mod euclidean;
mod held_out;
mod itml;
mod lip;
mod lip_local;
mod lip_pairs;
mod lip_robust;
mod lmml;
mod lmnn;
mod mcml;
mod mlkr;
mod nca;
mod near_discriminant;
mod parameters;
mod spec;
mod start;
mod told;
pub(crate) mod values;
mod written;

pub use agop::Agop;
pub use arml::Arml;
pub use choose::{Auto, Choice, Judged, MetricKind, ScalingChoice, Score};
pub(crate) use choose::{Judges, Raw};
pub use discriminant::Discriminant;
pub use euclidean::Euclidean;
pub use itml::Itml;
pub(crate) use lip::JUDGED;
pub use lip::{ClassWeights, Lip, Solver, TradeOff};
pub use lip_local::LipLocal;
pub use lip_pairs::LipPairs;
pub use lip_robust::LipRobust;
pub use lmml::Lmml;
pub use lmnn::Lmnn;
pub use mcml::Mcml;
pub use mlkr::Mlkr;
pub use nca::{Loss, Nca};
pub use parameters::Field;
pub use spec::{Choose, Spec};
pub use start::Init;
pub use written::in_words;

pub use crate::data::Triplet;

use crate::classify::smooth;
use crate::classify::{Calibration, SmoothSpec, Weights};
use crate::data::{Pair, Quadruplet};
use crate::pairs::Helpers;
use crate::problem::{Certificate, relative_gap};
use crate::solver::{Observer, Solution, Status};
use crate::{Error, Labels, Matrix, Metric, Result};
use serde::{Deserialize, Serialize};
use spec::{check_limits, check_positive};
use std::sync::Arc;

/// The prediction that a metric is to serve.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Serves<'a> {
    /// A vote of the nearest rows.
    Votes {
        /// The numbers of neighbours to choose from.
        neighbours: &'a [usize],
        /// How much each vote counts.
        weights: Weights,
    },
    /// The Lipschitz extension of values that are learned with the metric, or for it.
    Extension {
        /// The share of the upper extension.
        alpha: f64,
    },
    /// Votes or a smooth function of the distances, whichever predicts better: [`Auto`] chooses between them, others serve votes.
    Function {
        /// The numbers of neighbours to choose from; none where votes are not wanted.
        neighbours: &'a [usize],
        /// How much each vote counts.
        weights: Weights,
        /// What a smooth function is to be, where one may predict.
        smooth: Option<SmoothSpec>,
    },
}

/// What a metric serves where nothing is said.
const ONE_NEIGHBOUR: Serves<'static> = Serves::Votes { neighbours: &[1], weights: Weights::Uniform };

/// The rows that a metric is learned from.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Training<'a> {
    /// One row per instance; finite values only.
    pub x: &'a Matrix,
    /// The class of each row, or its number for a method that [takes numbers](Method::takes_numbers).
    pub y: &'a Labels,
    /// A weight per row; every row counts once where there are none.
    pub weights: Option<&'a [f64]>,
    /// A metric to start from, on the same features.
    pub start: Option<&'a Metric>,
    /// Comparisons to learn from instead of the labels.
    pub triplets: Option<&'a [Triplet]>,
    /// The same between pairs of rows.
    pub quadruplets: Option<&'a [Quadruplet]>,
    /// Pairs of rows that are similar or not, to learn from instead of the labels.
    pub pairs: Option<&'a [Pair]>,
    /// What the metric is to serve, one neighbour if nothing is said; only a method that chooses by cross-validation looks at it.
    pub serves: Serves<'a>,
    /// Other processes that hold these very rows and compute passes over their pairs. A method without passes that can travel
    /// does not look at them.
    pub helpers: Option<&'a Arc<dyn Helpers>>,
    /// Whether the multipliers behind the bound are wanted ([`Fit::certificate`]): a solver that is chosen automatically is then one
    /// that keeps them.
    pub certified: bool,
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
        Ok(Self {
            x,
            y,
            weights: None,
            start: None,
            triplets: None,
            quadruplets: None,
            pairs: None,
            serves: ONE_NEIGHBOUR,
            helpers: None,
            certified: false,
        })
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

    /// The same with a metric to start from, such as that of an earlier fit. In a convex problem it changes the way, not the
    /// optimum.
    #[must_use]
    pub fn with_start(mut self, metric: &'a Metric) -> Self {
        self.start = Some(metric);
        self
    }

    /// The same with comparisons that take the labels' place.
    #[must_use]
    pub fn with_triplets(mut self, triplets: &'a [Triplet]) -> Self {
        self.triplets = Some(triplets);
        self
    }

    /// The same with comparisons of two pairs each that take the labels' place.
    #[must_use]
    pub fn with_quadruplets(mut self, quadruplets: &'a [Quadruplet]) -> Self {
        self.quadruplets = Some(quadruplets);
        self
    }

    /// The same with pairs that take the labels' place; rows without labels have [`Labels::none`].
    #[must_use]
    pub fn with_pairs(mut self, pairs: &'a [Pair]) -> Self {
        self.pairs = Some(pairs);
        self
    }

    /// The same for votes of one of these numbers of neighbours. A method that chooses by cross-validation does so for them, and
    /// says which number it chose in [`Outcome::choice`].
    #[must_use]
    pub fn with_votes(mut self, neighbours: &'a [usize], weights: Weights) -> Self {
        self.serves = Serves::Votes { neighbours, weights };
        self
    }

    /// The same for the Lipschitz extension of learned values, `U_alpha`. A method that chooses by cross-validation does so by its
    /// predictions.
    #[must_use]
    pub fn with_extension(mut self, alpha: f64) -> Self {
        self.serves = Serves::Extension { alpha };
        self
    }

    /// Refuses what a method would not look at, and a start on other features.
    fn check_for(&self, method: &dyn Method) -> Result<()> {
        let name = method.name();
        match self.start {
            Some(_) if !method.takes_start() => {
                return Err(Error::parameter("start", format!("{name} has no start to choose; leave it out")));
            }
            Some(start) if start.features() != self.x.cols() => {
                return Err(Error::shape("features of the metric to start from", self.x.cols(), start.features()));
            }
            _ => {}
        }
        if self.y.numbers().is_some() && !method.takes_numbers() {
            let message = format!(
                "{name} learns from classes, and the targets are numbers; use auto, agop, mlkr or nn, or predict classes with `task = \
                 classification`"
            );
            return Err(Error::parameter("method", message));
        }
        for (what, given, taken) in [
            ("triplets", self.triplets.is_some(), method.takes_triplets()),
            ("quadruplets", self.quadruplets.is_some(), method.takes_triplets()),
        ] {
            if given && !taken {
                let learns = if method.takes_pairs() { "pairs" } else { "labels" };
                let message = format!("{name} learns from {learns}, not from comparisons; use lmml, or leave them out");
                return Err(Error::parameter(what, message));
            }
        }
        if self.pairs.is_some() && !method.takes_pairs() {
            let learns = if method.takes_triplets() { "labels or comparisons" } else { "labels" };
            let message =
                format!("{name} learns from {learns}, not from pairs; use lip-pairs or itml, or leave them out");
            return Err(Error::parameter("pairs", message));
        }
        if [self.triplets.is_some(), self.quadruplets.is_some(), self.pairs.is_some()].iter().filter(|g| **g).count()
            > 1
        {
            return Err(Error::parameter("pairs", "give only one of pairs, triplets and quadruplets"));
        }
        Ok(())
    }
}

/// Some of the training rows.
pub(crate) struct Part {
    x: Matrix,
    y: Labels,
    weights: Option<Vec<f64>>,
}

impl Part {
    pub(crate) fn of(data: &Training<'_>, rows: &[usize]) -> Self {
        Self {
            x: data.x.select_rows(rows),
            y: data.y.select(rows),
            weights: data.weights.map(|w| rows.iter().map(|&i| w[i]).collect()),
        }
    }

    pub(crate) fn training(&self) -> Result<Training<'_>> {
        let training = Training::new(&self.x, &self.y)?;
        match &self.weights {
            Some(weights) => training.with_weights(weights),
            None => Ok(training),
        }
    }
}

/// What the sums behind an objective may be off by, relatively.
const ROUNDED: f64 = 1e-12;

/// Figures of a fit. `None` where a method has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Outcome {
    /// How the fit ended.
    pub status: Status,
    /// The trade-off parameter that was used.
    pub c: Option<f64>,
    /// `c_max`, at and above which the best metric is zero.
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
        Self::new(solution.status, solution.iterations).with_figures(solution.objective, solution.bound)
    }

    /// The same with this objective and bound. A bound above the objective, by more than rounding, is not turned into a gap.
    #[must_use]
    pub(crate) fn with_figures(self, objective: f64, bound: f64) -> Self {
        let apart = bound > objective * (1.0 + ROUNDED);
        Self {
            status: if apart { Status::Inconsistent } else { self.status },
            objective: Some(objective),
            dual: Some(bound),
            gap: (!apart).then(|| relative_gap(objective, bound)),
            ..self
        }
    }

    /// The same with the trade-off that was used, and `c_max`.
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

/// How a run has ended, by what was shown on the given rows. Where the solver believed in more, a note says so.
fn settle(solution: &mut Solution, tolerance: f64) -> Option<String> {
    let gap = relative_gap(solution.objective, solution.bound);
    if gap <= tolerance {
        solution.status = Status::Optimal;
        return None;
    }
    if solution.status != Status::Optimal {
        return None;
    }
    solution.status = Status::Stalled;
    Some(format!(
        "the solver reached its tolerance, but on the rows themselves a gap of {gap:.1e} is left: some rows are so near to each \
         other, compared with the range of a feature, that the solver's arithmetic cannot tell them apart"
    ))
}

/// A learned metric and how it came about.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Fit {
    /// The metric, on the features it was learned from.
    pub metric: Metric,
    /// Figures of the fit.
    pub outcome: Outcome,
    /// The multipliers behind [`Outcome::dual`], where the exact solver gave them.
    pub certificate: Option<Certificate>,
    /// Of Lip^D and Lip^I with a slack per row, the slack `xi` of each row: the learned function has the value `1 - xi` there
    /// for the row's own class. At a slack above 1 it is of another class than the label says.
    pub slack: Option<Vec<f64>>,
    /// Where a smooth function was chosen with the metric: how its values become probabilities.
    pub calibration: Option<Calibration>,
    /// How a smooth function that was chosen with the metric tells classes from its values, where not by the largest.
    pub(crate) discriminant: Option<smooth::Discriminant>,
}

impl Fit {
    fn new(metric: Metric, outcome: Outcome) -> Self {
        Self { metric, outcome, certificate: None, slack: None, calibration: None, discriminant: None }
    }
}

/// A method that learns a metric: any of the structs of parameters, or [`Spec`].
pub trait Method: Send + Sync {
    /// Its name: `lip-d`, `lmnn`, ...
    fn name(&self) -> &'static str;

    /// Checks the parameters as far as that needs no data.
    ///
    /// # Errors
    /// If one is out of its range, or does not go with another.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Whether it can begin from a given metric ([`Training::with_start`]).
    fn takes_start(&self) -> bool {
        true
    }

    /// Whether it can learn from comparisons ([`Training::with_triplets`], [`Training::with_quadruplets`]).
    fn takes_triplets(&self) -> bool {
        false
    }

    /// Whether it can learn from pairs ([`Training::with_pairs`]).
    fn takes_pairs(&self) -> bool {
        false
    }

    /// Whether it can learn from targets that are numbers ([`Labels::from_numbers`]).
    fn takes_numbers(&self) -> bool {
        false
    }

    /// Learns a metric.
    ///
    /// # Errors
    /// If the data or the parameters do not allow it. A fit that stops early is not an error: its
    /// [`Outcome::status`] tells.
    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_above_the_objective_is_a_status_of_its_own_without_a_gap() {
        let told = |bound: f64| Outcome::new(Status::Optimal, 3).with_figures(1.0, bound);
        let trouble = told(1.0 + 1e-6);
        assert_eq!((trouble.status, trouble.gap), (Status::Inconsistent, None));
        assert_eq!((trouble.objective, trouble.dual), (Some(1.0), Some(1.0 + 1e-6)));
        assert!(!trouble.status.converged());
        // The last digits are rounding.
        assert_eq!(told(1.0 + f64::EPSILON).status, Status::Optimal);
        assert_eq!(told(0.5).gap, Some(0.5));
    }
}
