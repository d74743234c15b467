//! A fitted model, whole: everything between a raw row and its predicted class.
//!
//! | file | what it does |
//! |---|---|
//! | `mod` | [`Model`]: the parts, and what they do together |
//! | `predictor` | [`Predictor`]: a model made ready, for many batches |
//! | `rows` | [`Rows`]: what a model can be asked about, a table or a matrix |
//! | `recipe` | [`Recipe`]: how a model is fitted |
//! | `stopped` | what stands in for a fit that is not waited for |
//! | `foresee` | [`Foreseen`]: how large a fit will be, before it begins |
//! | `classifier` | [`Classifier`]: which function of the mapped rows predicts; what any of them must answer |
//! | `vote` | the vote of the nearest rows |
//! | `extension` | the paper's function: the Lipschitz extension of the values on the training rows |
//! | `counterfactual` | [`Counterfactual`]: the nearest row that is predicted as another class |
//! | `smooth` | a smooth function of the distances to the training rows |
//! | `number` | the same three where numbers are predicted |
//! | `pairing` | [`Pairing`]: rows without labels, and whether two of them are similar |
//! | `sparse` | [`SparseModel`]: the vote of the nearest rows, of rows that stay sparse |
//! | `nearest` | the nearest rows, for classifiers that do not search them themselves |
//! | `held_out` | a method fitted on folds, for what has to be chosen or calibrated on rows that it has not seen |
//!
//! Another classifier is a variant of [`Classifier`], one of [`ClassifierSpec`], and a file beside `vote`.

mod classifier;
mod counterfactual;
mod extension;
mod foresee;
mod held_out;
mod nearest;
mod number;
mod pairing;
mod predictor;
mod recipe;
mod rows;
mod smooth;
mod sparse;
mod stopped;
mod vote;

pub use classifier::{Certified, Classifier, ClassifierSpec};
pub use counterfactual::Counterfactual;
pub use extension::Extending;
pub use foresee::Foreseen;
pub use pairing::{Calibrated, Pairing};
pub use predictor::Predictor;
pub use recipe::Recipe;
pub use rows::Rows;
pub use smooth::{Smoothing, Terms};
pub use sparse::{Divisor, SparseModel};
pub use vote::Voting;

use crate::classify::Prediction;
use crate::method::{Outcome, Spec};
use crate::neighbours::Neighbours;
use crate::prepare::Preparation;
use crate::problem::Certificate;
use crate::robust::{Norm, Radius, Space};
use crate::{Error, Labels, Matrix, Metric, Result, Task};
use classifier::{Asked, Decide, Mapped, Ready};
use serde::{Deserialize, Serialize};

/// Prepared training rows and their labels.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TrainingRows {
    /// The rows after preparation, before the metric's map.
    pub x: Matrix,
    /// Their classes, or the numbers that are predicted.
    pub y: Labels,
    /// The values of the learned function on the rows, where there is one: `1 - xi` for the row's own class, its negative for
    /// every other. Where it is below zero the function holds the label for wrong. Of numbers, these after they were smoothed.
    pub values: Option<Vec<f64>>,
    /// The terms of the smooth function, where there is one.
    pub terms: Option<Terms>,
    /// The line of the source that each row began on, from 1; empty where the source has no lines.
    pub lines: Vec<u64>,
}

impl TrainingRows {
    /// Rows and their classes, with nothing learned about them.
    #[must_use]
    pub fn new(x: Matrix, y: Labels) -> Self {
        Self { x, y, values: None, terms: None, lines: Vec::new() }
    }

    /// The slack `xi` of each row: none where there is no learned function.
    #[must_use]
    pub fn slack(&self) -> Option<Vec<f64>> {
        let values = self.values.as_ref().filter(|_| self.y.numbers().is_none());
        values.map(|values| values.iter().map(|v| 1.0 - v).collect())
    }

    /// Where row `i` stood, for messages: `line 12`, or `row 12` where the source has no lines (rows counted from 1).
    #[must_use]
    pub fn place(&self, i: usize) -> String {
        self.lines.get(i).map_or_else(|| format!("row {}", i + 1), |line| format!("line {line}"))
    }

    fn check(&self) -> Result<()> {
        let n = self.x.rows();
        if self.y.len() != n {
            return Err(Error::shape("classes of the training rows", n, self.y.len()));
        }
        if let Some((i, j)) = self.x.first_non_finite() {
            return Err(Error::data(format!(
                "training row {i}, feature {j} is {}: values must be finite",
                self.x[(i, j)]
            )));
        }
        if !self.lines.is_empty() && self.lines.len() != n {
            return Err(Error::shape("lines of the training rows", n, self.lines.len()));
        }
        if let Some(terms) = &self.terms {
            terms.check(n, if self.y.numbers().is_some() { 1 } else { self.y.classes().len() })?;
        }
        let Some(values) = &self.values else { return Ok(()) };
        if values.len() != n {
            return Err(Error::shape("values of the training rows", n, values.len()));
        }
        match values.iter().position(|v| !v.is_finite()) {
            Some(i) => Err(Error::data(format!("the value of training row {i} is {}: it must be finite", values[i]))),
            None => Ok(()),
        }
    }
}

/// A fitted model.
///
/// What it predicts and maps are the raw rows of a table, or a matrix of their numbers; see [`Rows`]. Each call makes the
/// model ready first: it maps and indexes the training rows. For many calls, a [`Predictor`] does so once.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Model {
    /// The method and its parameters, as given.
    pub spec: Spec,
    /// The same as the fit had it: with the solver that was taken, its tolerance and its limit.
    pub used: Spec,
    /// Whether it predicts classes or numbers, or tells distances between rows without labels.
    pub task: Task,
    /// From raw columns to a matrix.
    pub preparation: Preparation,
    /// The class names; of numbers, the strata of the training rows ([`Labels`]); of rows without labels, one without a name.
    pub classes: Vec<String>,
    /// How many training rows each class had.
    pub class_counts: Vec<usize>,
    /// The learned metric, on the prepared features.
    pub metric: Metric,
    /// How the fit ended.
    pub outcome: Outcome,
    /// How it predicts.
    pub classifier: Classifier,
    /// The rows it predicts from; without them the model can only map.
    pub training: Option<TrainingRows>,
    /// The multipliers that prove the outcome's bound, where they were kept ([`Recipe::keeping_certificate`]).
    pub certificate: Option<Certificate>,
    /// Where it comes from, as far as that was told.
    pub origin: Option<Origin>,
}

/// Where a model comes from, in the words of those who made it. There is no time in it, nor a place that was not typed: the same
/// command on the same rows gives the same model, to the last byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Origin {
    /// What the rows were called.
    pub data: String,
    /// A fingerprint of the rows and their labels, whatever file they came from.
    pub fingerprint: String,
    /// The command that made the model, without what has no part in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

impl Origin {
    /// Rows by what they are called and by their fingerprint.
    #[must_use]
    pub fn new(data: impl Into<String>, fingerprint: impl Into<String>) -> Self {
        Self { data: data.into(), fingerprint: fingerprint.into(), command: None }
    }

    /// With the command that made the model.
    #[must_use]
    pub fn made_by(self, command: impl Into<String>) -> Self {
        Self { command: Some(command.into()), ..self }
    }
}

/// The method that learned a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Provenance {
    /// The method and its parameters, as given.
    pub spec: Spec,
    /// The same as the fit had it: with the solver that was taken, its tolerance and its limit.
    pub used: Spec,
    /// How the fit ended.
    pub outcome: Outcome,
}

impl Model {
    /// A model from its parts, without training rows: it can map rows, but not predict.
    ///
    /// # Errors
    /// If the metric is not one of the prepared features, or the classes and their numbers of rows differ in length.
    pub fn new(
        learned: Provenance,
        metric: Metric,
        preparation: Preparation,
        (classes, class_counts): (Vec<String>, Vec<usize>),
        classifier: Classifier,
    ) -> Result<Self> {
        if metric.features() != preparation.width() {
            return Err(Error::shape("features of the metric", preparation.width(), metric.features()));
        }
        if class_counts.len() != classes.len() {
            return Err(Error::shape("numbers of rows of the classes", classes.len(), class_counts.len()));
        }
        let Provenance { spec, used, outcome } = learned;
        Ok(Self {
            spec,
            used,
            task: Task::Classification,
            preparation,
            classes,
            class_counts,
            metric,
            outcome,
            classifier,
            training: None,
            certificate: None,
            origin: None,
        })
    }

    /// The same with the prepared rows that it was learned from, to predict by.
    ///
    /// # Errors
    /// If the rows have other features than the metric or other classes than the model, there is not one label per row, or
    /// a value is not finite.
    pub fn with_training(mut self, rows: TrainingRows) -> Result<Self> {
        if rows.x.cols() != self.metric.features() {
            return Err(Error::shape("features of the training rows", self.metric.features(), rows.x.cols()));
        }
        rows.check()?;
        if rows.y.classes() != self.classes {
            return Err(Error::data("the training rows have other classes than the model"));
        }
        self.task = rows.y.task();
        self.training = Some(rows);
        Ok(self)
    }

    /// The same with the multipliers that prove the outcome's bound.
    ///
    /// # Errors
    /// If there are no training rows, or the certificate is not one of these rows.
    pub fn with_certificate(mut self, certificate: Certificate) -> Result<Self> {
        let rows = self.training_rows()?;
        certificate.check(rows.x.rows(), rows.x.cols())?;
        self.certificate = Some(certificate);
        Ok(self)
    }

    /// The rows that the model predicts by.
    ///
    /// # Errors
    /// If it was stored without them.
    pub fn training_rows(&self) -> Result<&TrainingRows> {
        self.training.as_ref().ok_or_else(|| {
            Error::data("the model was stored without its training rows: it can map rows but not predict")
        })
    }

    /// The rows as the learned map gives them: Euclidean distances between the results are the metric's.
    ///
    /// # Errors
    /// If the rows do not have the columns that the model was fitted on, or a value cannot be read.
    pub fn transform<'a>(&self, rows: impl Into<Rows<'a>>) -> Result<Matrix> {
        self.metric.transform(rows.into().prepared(&self.preparation)?.as_ref())
    }

    /// The factor of the metric on the features before they are scaled, rank x prepared columns: what [`Self::transform`] does to
    /// them, but for a shift.
    #[must_use]
    pub fn components(&self) -> Matrix {
        self.preparation.unscaled(self.metric.factor())
    }

    /// The class of each row, as an index into [`Self::classes`].
    ///
    /// # Errors
    /// As [`Self::transform`]; or if the model was stored without its training rows.
    pub fn predict<'a>(&self, rows: impl Into<Rows<'a>>) -> Result<Vec<u32>> {
        self.ready()?.classes()?.predict(&self.map(rows.into())?)
    }

    /// The number of each row, of a model of numbers.
    ///
    /// # Errors
    /// As [`Self::predict`]; or if the model predicts classes.
    pub fn estimate<'a>(&self, rows: impl Into<Rows<'a>>) -> Result<Vec<f64>> {
        self.ready()?.numbers()?.predict(&self.map(rows.into())?)
    }

    /// The least and the largest number that any row may get that is less than `length` from each row, by this norm: certified
    /// bounds, of a model of numbers.
    ///
    /// # Errors
    /// As [`Self::estimate`]; or if the length is negative, or cannot be measured there ([`Self::certify`]).
    pub fn ranges<'a>(&self, rows: impl Into<Rows<'a>>, radius: Radius, length: f64) -> Result<Vec<(f64, f64)>> {
        number::ranges(self.ready()?.numbers()?, &self.map(rows.into())?, radius, length)
    }

    /// The probability of each class, a row per row and a column per class: shares of the neighbours' votes, or the calibrated
    /// values of a function. Nothing where a function was not calibrated.
    ///
    /// # Errors
    /// As [`Self::predict`].
    pub fn shares<'a>(&self, rows: impl Into<Rows<'a>>) -> Result<Option<Matrix>> {
        self.ready()?.classes()?.shares(&self.map(rows.into())?)
    }

    /// The class of each row with what it rests on: the neighbours that voted or the values of the function, the shares of the
    /// classes, the margin.
    ///
    /// # Errors
    /// As [`Self::predict`].
    pub fn explain<'a>(&self, rows: impl Into<Rows<'a>>) -> Result<Vec<Prediction>> {
        self.ready()?.classes()?.explain(&self.map(rows.into())?)
    }

    /// The class of each row with what it rests on, and how far the row may move before the class can change: certified
    /// bounds in the learned distance, and as a Euclidean distance on the prepared features.
    ///
    /// # Errors
    /// As [`Self::predict`]; or if nothing can be certified about this model's classifier, such as a weighted vote.
    pub fn radii<'a>(&self, rows: impl Into<Rows<'a>>) -> Result<Vec<Certified>> {
        certified(self.ready()?.classes()?, &self.map(rows.into())?)
    }

    /// The class of each row, and the radius that is asked for: a row that moves by less keeps its class.
    ///
    /// # Errors
    /// As [`Self::radii`]; or if this radius cannot be told, such as one in the units of the input where no column is a
    /// number.
    pub fn certify<'a>(&self, rows: impl Into<Rows<'a>>, radius: Radius) -> Result<Vec<(u32, f64)>> {
        certify(self.ready()?.classes()?, &self.map(rows.into())?, radius)
    }

    /// For each row the nearest one by this norm that is predicted as another class, where only columns of numbers change: on the
    /// prepared features, or in the units of the input. None where no change of the numbers changes the class.
    ///
    /// # Errors
    /// As [`Self::predict`]; or if the classifier is neither one nearest neighbour nor a Lipschitz extension, or no column is a
    /// number.
    pub fn counterfactuals<'a>(
        &self,
        rows: impl Into<Rows<'a>>,
        norm: Norm,
        space: Space,
    ) -> Result<Vec<Option<Counterfactual>>> {
        counterfactual::find(self.ready()?.classes()?, &self.map(rows.into())?, norm, space)
    }

    /// The `k` nearest training rows of each row in the learned distance, nearest first; of equally near ones the lower row number
    /// comes first.
    ///
    /// # Errors
    /// As [`Self::predict`]; or if `k` is 0 or larger than the number of training rows.
    pub fn neighbours<'a>(&self, rows: impl Into<Rows<'a>>, k: usize) -> Result<Neighbours> {
        self.ready()?.index(self)?.query(&self.transform(rows)?, k)
    }

    fn ready(&self) -> Result<Ready> {
        self.classifier.ready(self)
    }

    fn map<'a>(&'a self, rows: Rows<'a>) -> Result<Mapped<'a>> {
        let prepared = rows.prepared(&self.preparation)?;
        let mapped = self.metric.transform(prepared.as_ref())?;
        Ok(Mapped { model: self, prepared, mapped })
    }
}

/// Classes, what they rest on, and the usual radii.
fn certified(decide: &dyn Decide, rows: &Mapped<'_>) -> Result<Vec<Certified>> {
    let told = decide.explain(rows)?;
    let labels: Vec<u32> = told.iter().map(|p| p.label).collect();
    let radii = |space| decide.radii(rows, &labels, &Asked::new(rows.model, Radius::new(Norm::L2, space))?);
    let (learned, prepared) = (radii(Space::Learned)?, radii(Space::Prepared)?);
    let one = |((prediction, radius), radius_prepared)| Certified { prediction, radius, radius_prepared };
    Ok(told.into_iter().zip(learned).zip(prepared).map(one).collect())
}

/// Classes and the radius that is asked for.
fn certify(decide: &dyn Decide, rows: &Mapped<'_>, radius: Radius) -> Result<Vec<(u32, f64)>> {
    let asked = Asked::new(rows.model, radius)?;
    let labels = decide.predict(rows)?;
    let radii = decide.radii(rows, &labels, &asked)?;
    Ok(labels.into_iter().zip(radii).collect())
}
