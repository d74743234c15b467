//! A fitted model, whole: everything between a raw row and its predicted class.

mod recipe;

pub use recipe::Recipe;

use crate::classify::{KnnClassifier, Weights};
use crate::method::Outcome;
use crate::neighbours::NeighbourIndex;
use crate::prepare::Preparation;
use crate::{Error, Labels, Matrix, Metric, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a model turns near rows into a class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Voting {
    /// How many neighbours vote.
    pub k: usize,
    /// How much each vote counts.
    pub weights: Weights,
}

impl Voting {
    /// For `k`: let the fit choose it among a few odd numbers, by leave-one-out on the mapped training rows, or by
    /// held-out rows where the method chooses by them ([`Tuned`](crate::method::Tuned)).
    pub const CHOOSE: usize = usize::MAX;
}

/// Prepared training rows and their classes, for k-nearest-neighbour prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingRows {
    /// The rows after preparation, before the metric's map.
    pub x: Matrix,
    /// Their classes, as codes into [`Model::classes`].
    pub codes: Vec<u32>,
}

/// A fitted model.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The method's name.
    pub method: String,
    /// The method's parameters, as given.
    pub parameters: BTreeMap<String, serde_json::Value>,
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
    pub voting: Voting,
    /// The rows it predicts from; without them the model can only map.
    pub training: Option<TrainingRows>,
}

impl Model {
    /// The classifier: exact k-nearest neighbours under the learned metric.
    ///
    /// # Errors
    /// If the model was stored without its training rows.
    pub fn classifier(&self) -> Result<KnnClassifier> {
        let rows = self.training.as_ref().ok_or_else(|| {
            Error::data("the model was stored without its training rows: it can map rows but not predict classes")
        })?;
        let labels = Labels::from_codes(self.classes.clone(), rows.codes.clone())?;
        let index = NeighbourIndex::new(self.metric.transform(&rows.x)?)?;
        KnnClassifier::new(index, labels, self.voting.k, self.voting.weights)
    }
}
