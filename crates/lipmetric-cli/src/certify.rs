//! Certified radii of a model's predictions.

use crate::failure::{Failure, Result};
use lipmetric::lipschitz::{CertifiedRadius, Mahalanobis, certified_radii, input_radius_factor};
use lipmetric::{Labels, Matrix, Model};

/// A model that predicts by one nearest neighbour, ready to tell how far a row may move without changing its class.
pub(crate) struct Certifier {
    rows: Mahalanobis,
    labels: Labels,
    /// From the learned metric to Euclidean distances on the prepared features.
    pub(crate) factor: f64,
}

impl Certifier {
    pub(crate) fn new(model: &Model) -> Result<Self> {
        if model.voting.k != 1 {
            return Err(Failure::Usage(format!(
                "--radius: radii are certified for one nearest neighbour, and this model lets {} vote; fit it with --k 1",
                model.voting.k
            )));
        }
        let Some(training) = &model.training else {
            return Err(Failure::Data("the model was stored without its training rows: it cannot predict".to_owned()));
        };
        Ok(Self {
            rows: Mahalanobis::new(&model.metric, &training.x)?,
            labels: Labels::from_codes(model.classes.clone(), training.codes.clone())?,
            factor: input_radius_factor(&model.metric)?,
        })
    }

    /// The radius of each row, which has been prepared but not mapped.
    pub(crate) fn radii(&self, prepared: &Matrix) -> Result<Vec<CertifiedRadius>> {
        Ok(certified_radii(&self.rows.to(prepared)?, &self.labels)?)
    }
}
