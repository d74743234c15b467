use crate::{Error, Result};
use serde::Serialize;

/// How far predicted numbers are from the true ones, and what predicting the same number everywhere would have given.
///
/// ```
/// use lipmetric::evaluate::Errors;
/// let errors = Errors::of(&[1.0, 2.0, 6.0], &[1.0, 3.0, 5.0], 2.0)?;
/// assert_eq!((errors.r2, errors.mae), (1.0 - 2.0 / 14.0, 2.0 / 3.0));
/// assert_eq!(errors.mean_mae, 5.0 / 3.0);
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Errors {
    /// How many rows.
    pub n: usize,
    /// The part of the variance of the true numbers that is explained, `1 - sum (y - f)^2 / sum (y - mean y)^2`: 1 at best, 0 for
    /// the mean of the rows themselves, negative for what is worse. Where all true numbers are the same it is 1 for these, else 0.
    pub r2: f64,
    /// The mean absolute error.
    pub mae: f64,
    /// The root of the mean squared error.
    pub rmse: f64,
    /// The mean absolute error of predicting the mean of the training rows everywhere.
    pub mean_mae: f64,
    /// The root of the mean squared error of the same.
    pub mean_rmse: f64,
}

impl Errors {
    /// Of true and predicted numbers, where the training rows have this mean.
    ///
    /// # Errors
    /// If they differ in length, or there are none.
    pub fn of(truth: &[f64], predicted: &[f64], mean: f64) -> Result<Self> {
        if truth.len() != predicted.len() {
            return Err(Error::shape("predicted numbers", truth.len(), predicted.len()));
        }
        if truth.is_empty() {
            return Err(Error::data("there are no rows to judge"));
        }
        let n = truth.len() as f64;
        let off = |base: &dyn Fn(usize) -> f64, power: i32| {
            (0..truth.len()).map(|i| (truth[i] - base(i)).abs().powi(power)).sum::<f64>() / n
        };
        let own = truth.iter().sum::<f64>() / n;
        let (squared, variance) = (off(&|i| predicted[i], 2), off(&|_| own, 2));
        let r2 = match variance > 0.0 {
            true => 1.0 - squared / variance,
            false => f64::from(u8::from(squared == 0.0)),
        };
        Ok(Self {
            n: truth.len(),
            r2,
            mae: off(&|i| predicted[i], 1),
            rmse: squared.sqrt(),
            mean_mae: off(&|_| mean, 1),
            mean_rmse: off(&|_| mean, 2).sqrt(),
        })
    }

    /// The mean of each figure over several trials; none of none.
    #[must_use]
    pub fn mean<'e>(all: impl IntoIterator<Item = &'e Self>) -> Option<Self> {
        let all: Vec<&Self> = all.into_iter().collect();
        let mean = |of: fn(&Self) -> f64| all.iter().map(|e| of(e)).sum::<f64>() / all.len() as f64;
        (!all.is_empty()).then(|| Self {
            n: all.iter().map(|e| e.n).sum(),
            r2: mean(|e| e.r2),
            mae: mean(|e| e.mae),
            rmse: mean(|e| e.rmse),
            mean_mae: mean(|e| e.mean_mae),
            mean_rmse: mean(|e| e.mean_rmse),
        })
    }
}
