//! A fitted model, whole: everything between a raw row and its predicted class.
//!
//! | file | what it does |
//! |---|---|
//! | `mod` | [`Model`]: the parts, and what they do together |
//! | `predictor` | [`Predictor`]: a model made ready, for many batches |
//! | `rows` | [`Rows`]: what a model can be asked about, a table or a matrix |
//! | `recipe` | [`Recipe`]: how a model is fitted |
//! | `classifier` | [`Classifier`]: which function of the mapped rows predicts; what any of them must answer |
//! | `vote` | the vote of the nearest rows |
//!
//! Another classifier is a variant of [`Classifier`], one of [`ClassifierSpec`], and a file beside `vote`.

mod classifier;
mod predictor;
mod recipe;
mod rows;
mod vote;

pub use classifier::{Certified, Classifier, ClassifierSpec};
pub use predictor::Predictor;
pub use recipe::Recipe;
pub use rows::Rows;
pub use vote::Voting;

use crate::classify::Prediction;
use crate::method::{Outcome, Spec};
use crate::prepare::Preparation;
use crate::problem::Certificate;
use crate::{Error, Labels, Matrix, Metric, Result};
use classifier::{Decide, Mapped};

/// Prepared training rows and their classes.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingRows {
    /// The rows after preparation, before the metric's map.
    pub x: Matrix,
    /// Their classes.
    pub y: Labels,
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
    /// From raw columns to a matrix.
    pub preparation: Preparation,
    /// The class names.
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
            preparation,
            classes,
            class_counts,
            metric,
            outcome,
            classifier,
            training: None,
            certificate: None,
        })
    }

    /// The same with the prepared rows that it was learned from, to predict by.
    ///
    /// # Errors
    /// If the rows have other features than the metric or other classes than the model, there is not one label per row, or
    /// a value is not finite.
    pub fn with_training(mut self, rows: TrainingRows) -> Result<Self> {
        let TrainingRows { x, y } = &rows;
        if x.cols() != self.metric.features() {
            return Err(Error::shape("features of the training rows", self.metric.features(), x.cols()));
        }
        if y.len() != x.rows() {
            return Err(Error::shape("classes of the training rows", x.rows(), y.len()));
        }
        if y.classes() != self.classes {
            return Err(Error::data("the training rows have other classes than the model"));
        }
        if let Some((i, j)) = x.first_non_finite() {
            return Err(Error::data(format!("training row {i}, feature {j} is {}: values must be finite", x[(i, j)])));
        }
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
            Error::data("the model was stored without its training rows: it can map rows but not predict classes")
        })
    }

    /// The rows as the learned map gives them: Euclidean distances between the results are the metric's.
    ///
    /// # Errors
    /// If the rows do not have the columns that the model was fitted on, or a value cannot be read.
    pub fn transform<'a>(&self, rows: impl Into<Rows<'a>>) -> Result<Matrix> {
        self.metric.transform(rows.into().prepared(&self.preparation)?.as_ref())
    }

    /// The class of each row, as an index into [`Self::classes`].
    ///
    /// # Errors
    /// As [`Self::transform`]; or if the model was stored without its training rows.
    pub fn predict<'a>(&self, rows: impl Into<Rows<'a>>) -> Result<Vec<u32>> {
        self.ready()?.predict(&self.map(rows.into())?)
    }

    /// The class of each row with what it rests on: the neighbours that voted, their shares, the margin.
    ///
    /// # Errors
    /// As [`Self::predict`].
    pub fn explain<'a>(&self, rows: impl Into<Rows<'a>>) -> Result<Vec<Prediction>> {
        self.ready()?.explain(&self.map(rows.into())?)
    }

    /// The class of each row, and how far the row may move before the class can change.
    ///
    /// # Errors
    /// As [`Self::predict`]; or if nothing can be certified about this model's classifier, such as a vote of several
    /// neighbours.
    pub fn radii<'a>(&self, rows: impl Into<Rows<'a>>) -> Result<Vec<Certified>> {
        self.ready()?.radii(&self.map(rows.into())?)
    }

    fn ready(&self) -> Result<Box<dyn Decide>> {
        self.classifier.ready(self)
    }

    fn map<'a>(&'a self, rows: Rows<'a>) -> Result<Mapped<'a>> {
        let prepared = rows.prepared(&self.preparation)?;
        let mapped = self.metric.transform(prepared.as_ref())?;
        Ok(Mapped { model: self, prepared, mapped })
    }
}
