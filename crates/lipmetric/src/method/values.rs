//! The values of the paper's function on the training rows, where they are not learned together with the metric.

use super::Training;
use crate::lipschitz::{
    SquaredMahalanobis,
    values::{ValueOptions, Values, learned_values},
};
use crate::{Matrix, Metric, Result};

/// The Lipschitz constant of values that are learned for a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Constant {
    /// 1: the metric was learned at this scale.
    One,
    /// Rows of different classes bend each other's values up to this part of the mean squared distance.
    Reach(f64),
}

impl Constant {
    /// The constant for these mapped rows.
    pub(crate) fn of(self, mapped: &Matrix) -> f64 {
        match self {
            Self::One => 1.0,
            Self::Reach(part) => {
                let constant = 2.0 / (part * mean_distance(mapped));
                // Rows that all coincide have no scale.
                if constant.is_finite() { constant } else { 1.0 }
            }
        }
    }
}

/// The best values for a metric and a Lipschitz constant: those with the least sum of weighted slacks.
pub(crate) fn learned(metric: &Metric, data: &Training<'_>, weights: Vec<f64>, constant: f64) -> Result<Values> {
    let distance = SquaredMahalanobis::new(metric, data.x)?;
    learned_values(&distance, data.y, &ValueOptions { constant, weights: Some(weights), ..ValueOptions::default() })
}

/// The mean squared distance between mapped rows, each from each, itself included.
pub(crate) fn mean_distance(mapped: &Matrix) -> f64 {
    let n = mapped.rows() as f64;
    let mut total = 0.0;
    for k in 0..mapped.cols() {
        let mean = (0..mapped.rows()).map(|i| mapped[(i, k)]).sum::<f64>() / n;
        total += (0..mapped.rows()).map(|i| (mapped[(i, k)] - mean).powi(2)).sum::<f64>();
    }
    2.0 * total / n
}
