//! Probabilities from the values of a function, by values on rows that it has not seen.

use crate::linalg::Cholesky;
use crate::{Error, Matrix, Result};
use serde::{Deserialize, Serialize};

/// Newton steps, at most: eight are usual.
const STEPS: usize = 50;
/// A step that improves the likelihood of a row by less than this, on average, is the last.
const ENOUGH: f64 = 1e-10;
/// What is added to the diagonal of the Hessian, as a part of the number of rows, so that it can be inverted where the values say
/// nothing.
const LEAST_CURVATURE: f64 = 1e-9;
/// Halvings of a step that does not descend.
const HALVINGS: usize = 30;

/// A map from the values of a function, one per class, to probabilities: `p_c ~ exp(slope f_c + offset_c)`.
///
/// With two classes, where `f_1 = -f_2`, it is Platt's logistic function. Slope and offsets have the largest likelihood on rows
/// that the function was not learned from. As in Platt's method a row of a class with `n` rows counts with `1 - 1 / (n + 2)` for its
/// class, and with the rest for the others, so that separable values give no probability of 1.
///
/// ```
/// use lipmetric::{Matrix, classify::Calibration};
/// let values = Matrix::from_rows(&[[1.0, -1.0], [0.5, -0.5], [-0.2, 0.2], [-1.0, 1.0], [0.1, -0.1], [-0.4, 0.4]]);
/// let fitted = Calibration::fit(&values, &[0, 0, 0, 1, 1, 1], 2)?;
/// let shares = fitted.shares(&[0.8, -0.8]);
/// assert!(shares[0] > 0.5 && (shares[0] + shares[1] - 1.0).abs() < 1e-12);
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Calibration {
    /// How fast probabilities follow the values.
    pub slope: f64,
    /// What is added for each class.
    pub offsets: Vec<f64>,
    /// How many rows it was fitted on.
    pub rows: usize,
}

/// The rows that a calibration is fitted on.
struct Sample<'a> {
    values: &'a Matrix,
    codes: &'a [u32],
    /// What a row of each class counts for its own class.
    own: Vec<f64>,
}

impl Calibration {
    /// Fits the map to the values of rows of these classes, which must not have been learned from.
    ///
    /// # Errors
    /// If there is no row, not one class per row, or a value is not finite.
    pub fn fit(values: &Matrix, codes: &[u32], classes: usize) -> Result<Self> {
        if values.rows() != codes.len() || values.rows() == 0 {
            return Err(Error::shape("classes of the rows to calibrate on", values.rows().max(1), codes.len()));
        }
        if values.cols() != classes || classes < 2 {
            return Err(Error::shape("values of each row", classes.max(2), values.cols()));
        }
        if let Some((i, c)) = values.first_non_finite() {
            return Err(Error::data(format!("the value of row {i} for class {c} is not finite")));
        }
        let mut counts = vec![0.0; classes];
        codes.iter().for_each(|&c| counts[c as usize] += 1.0);
        let own = counts.iter().map(|n| 1.0 - 1.0 / (n + 2.0)).collect();
        let sample = Sample { values, codes, own };
        // The slope, and the offsets of all classes but the first.
        let mut at = vec![0.0; classes];
        let mut loss = sample.loss(&at);
        for _ in 0..STEPS {
            let Some(direction) = sample.newton(&at) else { break };
            let mut next = None;
            let mut t = 1.0;
            for _ in 0..HALVINGS {
                let trial: Vec<f64> = at.iter().zip(&direction).map(|(a, d)| a - t * d).collect();
                let value = sample.loss(&trial);
                if value < loss {
                    next = Some((trial, value));
                    break;
                }
                t *= 0.5;
            }
            let Some((trial, value)) = next else { break };
            let gain = loss - value;
            (at, loss) = (trial, value);
            if gain <= ENOUGH * codes.len() as f64 {
                break;
            }
        }
        let offsets = std::iter::once(0.0).chain(at[1..].iter().copied()).collect();
        // Values that say the opposite of what they should say nothing.
        Ok(Self { slope: at[0].max(0.0), offsets, rows: codes.len() })
    }

    /// The probability of each class, by the function's values for them.
    #[must_use]
    pub fn shares(&self, values: &[f64]) -> Vec<f64> {
        softmax(values.iter().zip(&self.offsets).map(|(f, b)| self.slope * f + b).collect())
    }

    /// The same of each row of a matrix.
    #[must_use]
    pub(crate) fn all(&self, values: &Matrix) -> Matrix {
        let mut out = values.clone();
        for i in 0..values.rows() {
            out.row_mut(i).copy_from_slice(&self.shares(values.row(i)));
        }
        out
    }

    /// Whether it can be one of so many classes.
    pub(crate) fn fits(&self, classes: usize) -> bool {
        self.offsets.len() == classes && self.slope.is_finite() && self.offsets.iter().all(|b| b.is_finite())
    }
}

fn softmax(mut scores: Vec<f64>) -> Vec<f64> {
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    scores.iter_mut().for_each(|s| *s = (*s - top).exp());
    let total: f64 = scores.iter().sum();
    scores.iter_mut().for_each(|s| *s /= total);
    scores
}

impl Sample<'_> {
    fn shares(&self, i: usize, at: &[f64]) -> Vec<f64> {
        let offset = |c: usize| if c == 0 { 0.0 } else { at[c] };
        softmax(self.values.row(i).iter().enumerate().map(|(c, f)| at[0] * f + offset(c)).collect())
    }

    /// What row `i` counts for class `c`.
    fn target(&self, i: usize, c: usize) -> f64 {
        let own = self.own[self.codes[i] as usize];
        if c == self.codes[i] as usize { own } else { (1.0 - own) / (self.own.len() - 1) as f64 }
    }

    fn loss(&self, at: &[f64]) -> f64 {
        let row = |i: usize| -> f64 {
            let shares = self.shares(i, at);
            shares.iter().enumerate().map(|(c, p)| -self.target(i, c) * p.max(f64::MIN_POSITIVE).ln()).sum()
        };
        (0..self.codes.len()).map(row).sum()
    }

    /// The Newton direction of the loss.
    fn newton(&self, at: &[f64]) -> Option<Vec<f64>> {
        let classes = self.own.len();
        let (mut gradient, mut hessian) = (vec![0.0; classes], Matrix::zeros(classes, classes));
        for i in 0..self.codes.len() {
            let (shares, values) = (self.shares(i, at), self.values.row(i));
            let mean: f64 = shares.iter().zip(values).map(|(p, f)| p * f).sum();
            for c in 0..classes {
                let error = shares[c] - self.target(i, c);
                gradient[0] += error * values[c];
                hessian[(0, 0)] += shares[c] * (values[c] - mean).powi(2);
                if c == 0 {
                    continue;
                }
                gradient[c] += error;
                hessian[(0, c)] += shares[c] * (values[c] - mean);
                for d in 1..classes {
                    hessian[(c, d)] += if c == d { shares[c] * (1.0 - shares[c]) } else { -shares[c] * shares[d] };
                }
            }
        }
        for c in 0..classes {
            hessian[(c, 0)] = hessian[(0, c)];
            hessian[(c, c)] += LEAST_CURVATURE * self.codes.len() as f64;
        }
        Cholesky::of(&hessian)?.solve(&mut gradient);
        Some(gradient)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two(values: &[f64]) -> Matrix {
        let rows: Vec<[f64; 2]> = values.iter().map(|v| [-v, *v]).collect();
        Matrix::from_rows(&rows)
    }

    #[test]
    fn shares_are_those_of_the_rows_where_a_value_has_few_levels() {
        // Of 200 rows with the value 1, 160 are of the second class; of as many with the value -1, 60.
        let values: Vec<f64> = (0..400).map(|i| if i < 200 { 1.0 } else { -1.0 }).collect();
        let codes: Vec<u32> = (0..400).map(|i| u32::from(if i < 200 { i < 160 } else { i < 260 })).collect();
        let fitted = Calibration::fit(&two(&values), &codes, 2).unwrap();
        assert!((fitted.shares(&[-1.0, 1.0])[1] - 0.8).abs() < 0.01, "{fitted:?}");
        assert!((fitted.shares(&[1.0, -1.0])[1] - 0.3).abs() < 0.01, "{fitted:?}");
    }

    #[test]
    fn separable_values_give_no_certainty_and_misleading_ones_no_slope() {
        let values: Vec<f64> = (0..20).map(|i| f64::from(i) - 9.5).collect();
        let codes: Vec<u32> = (0..20).map(|i| u32::from(i >= 10)).collect();
        let sure = Calibration::fit(&two(&values), &codes, 2).unwrap();
        assert!(sure.slope > 0.0 && sure.shares(&[-9.5, 9.5])[1] < 1.0);
        let opposite: Vec<u32> = codes.iter().map(|c| 1 - c).collect();
        assert_eq!(Calibration::fit(&two(&values), &opposite, 2).unwrap().slope, 0.0);
    }

    #[test]
    fn a_class_without_rows_and_bad_input() {
        let values = Matrix::from_rows(&[[1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [0.9, -1.0, -0.9]]);
        let fitted = Calibration::fit(&values, &[0, 1, 0], 3).unwrap();
        let shares = fitted.shares(&[1.0, -1.0, -1.0]);
        assert!(shares.iter().all(|p| *p > 0.0) && (shares.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{shares:?}");
        assert!(shares[0] > shares[1] && fitted.fits(3) && !fitted.fits(2));
        assert!(Calibration::fit(&values, &[0, 1], 3).is_err());
        assert!(Calibration::fit(&values, &[0, 1, 0], 2).is_err());
        assert!(Calibration::fit(&two(&[f64::NAN]), &[0], 2).is_err());
    }
}
