//! What predicted probabilities are worth.

use crate::{Error, Matrix, Result};
use serde::Serialize;

/// Bins of the expected calibration error.
const BINS: usize = 10;
/// What a probability of zero counts as in the log-loss, so that one sure mistake does not make it infinite.
const LEAST: f64 = 1e-15;

/// Figures of predicted probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Reliability {
    /// The squared distance between the probabilities and the truth (1 for the row's class, 0 for the others), summed over the
    /// classes, in the mean over the rows: 0 is best, 2 is worst.
    pub brier: f64,
    /// The mean of `-ln p` of the row's class. A probability of 0 counts as 1e-15.
    pub log_loss: f64,
    /// How far the probability of the predicted class is from the share of correct predictions, in the mean over ten bins of equal
    /// width, each counted by its rows.
    pub calibration_error: f64,
    /// The chance that a row of a class has a higher probability of it than a row of another class, ties counted half: the area
    /// under the ROC curve, in the mean over the classes. `None` where the rows are of one class.
    pub auc: Option<f64>,
}

/// Rows whose predicted class has about the same probability.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[non_exhaustive]
pub struct CalibrationBin {
    /// The sum of these probabilities.
    pub said: f64,
    /// How many of the rows are predicted correctly.
    pub right: f64,
    /// How many rows there are.
    pub rows: usize,
}

impl CalibrationBin {
    /// The predicted class of each row and its probability against the truth, in ten bins of equal width.
    ///
    /// ```
    /// use lipmetric::{Matrix, evaluate::CalibrationBin};
    /// let shares = Matrix::from_rows(&[[0.95, 0.05], [0.08, 0.92], [0.6, 0.4]]);
    /// let bins = CalibrationBin::of(&shares, &[0, 0, 0]);
    /// assert_eq!((bins[9].rows, bins[9].right, bins[6].rows), (2, 1.0, 1));
    /// ```
    #[must_use]
    pub fn of(shares: &Matrix, truth: &[u32]) -> Vec<Self> {
        let mut bins = vec![Self::default(); BINS];
        for (i, &class) in truth.iter().enumerate().take(shares.rows()) {
            let row = shares.row(i);
            let top = (0..row.len()).fold(0, |top, c| if row[c] > row[top] { c } else { top });
            let bin = &mut bins[((row[top] * BINS as f64) as usize).min(BINS - 1)];
            bin.said += row[top];
            bin.right += f64::from(u8::from(top == class as usize));
            bin.rows += 1;
        }
        bins
    }

    /// Several sets of bins in one.
    #[must_use]
    pub fn merged<'a>(all: impl IntoIterator<Item = &'a [Self]>) -> Vec<Self> {
        let mut out = vec![Self::default(); BINS];
        for bins in all {
            for (sum, bin) in out.iter_mut().zip(bins) {
                sum.said += bin.said;
                sum.right += bin.right;
                sum.rows += bin.rows;
            }
        }
        out
    }
}

impl Reliability {
    /// Of a row of probabilities for each row of these classes.
    ///
    /// ```
    /// use lipmetric::{Matrix, evaluate::Reliability};
    /// let sure = Matrix::from_rows(&[[1.0, 0.0], [0.0, 1.0]]);
    /// let perfect = Reliability::of(&sure, &[0, 1])?;
    /// assert_eq!((perfect.brier, perfect.log_loss, perfect.auc), (0.0, 0.0, Some(1.0)));
    /// assert_eq!(Reliability::of(&sure, &[1, 0])?.brier, 2.0);
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is not one row of probabilities per row, there are none, or a class has no column.
    pub fn of(shares: &Matrix, truth: &[u32]) -> Result<Self> {
        let n = truth.len();
        if shares.rows() != n || n == 0 {
            return Err(Error::shape("rows of probabilities", n.max(1), shares.rows()));
        }
        if let Some(&class) = truth.iter().find(|&&c| c as usize >= shares.cols()) {
            return Err(Error::data(format!(
                "class {class} has no column of probabilities: there are {}",
                shares.cols()
            )));
        }
        let (mut brier, mut loss) = (0.0, 0.0);
        for (i, &class) in truth.iter().enumerate() {
            let row = shares.row(i);
            let own = row[class as usize];
            brier += row.iter().map(|p| p * p).sum::<f64>() - 2.0 * own + 1.0;
            loss -= own.clamp(LEAST, 1.0).ln();
        }
        let apart: f64 = CalibrationBin::of(shares, truth).iter().map(|b| (b.said - b.right).abs()).sum();
        let count = n as f64;
        Ok(Self {
            brier: brier / count,
            log_loss: loss / count,
            calibration_error: apart / count,
            auc: auc(shares, truth),
        })
    }

    /// The mean over several, where all have figures; `None` of none.
    #[must_use]
    pub fn mean(all: impl IntoIterator<Item = Option<Self>>) -> Option<Self> {
        let all = all.into_iter().collect::<Option<Vec<Self>>>().filter(|all| !all.is_empty())?;
        let mean = |f: fn(&Self) -> f64| all.iter().map(f).sum::<f64>() / all.len() as f64;
        let areas: Vec<f64> = all.iter().filter_map(|r| r.auc).collect();
        Some(Self {
            brier: mean(|r| r.brier),
            log_loss: mean(|r| r.log_loss),
            calibration_error: mean(|r| r.calibration_error),
            auc: (!areas.is_empty()).then(|| areas.iter().sum::<f64>() / areas.len() as f64),
        })
    }
}

/// The mean over the classes that occur of the area under the ROC curve of each against all others.
fn auc(shares: &Matrix, truth: &[u32]) -> Option<f64> {
    let classes = if shares.cols() == 2 { 1..2 } else { 0..shares.cols() };
    let areas: Vec<f64> = classes.filter_map(|class| area(shares, truth, class)).collect();
    (!areas.is_empty()).then(|| areas.iter().sum::<f64>() / areas.len() as f64)
}

/// By the ranks of the rows of the class (Mann and Whitney).
fn area(shares: &Matrix, truth: &[u32], class: usize) -> Option<f64> {
    let mut order: Vec<(f64, bool)> =
        truth.iter().enumerate().map(|(i, &t)| (shares[(i, class)], t as usize == class)).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let own = order.iter().filter(|o| o.1).count();
    let others = order.len() - own;
    if own == 0 || others == 0 {
        return None;
    }
    let (mut sum, mut below) = (0.0, 0);
    for tied in order.chunk_by(|a, b| a.0 == b.0) {
        let mine = tied.iter().filter(|o| o.1).count();
        let theirs = tied.len() - mine;
        sum += mine as f64 * (below as f64 + 0.5 * theirs as f64);
        below += theirs;
    }
    Some(sum / (own as f64 * others as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_definitions() {
        let shares = Matrix::from_rows(&[[0.8, 0.2], [0.6, 0.4], [0.3, 0.7], [0.4, 0.6]]);
        let found = Reliability::of(&shares, &[0, 1, 1, 1]).unwrap();
        let brier = 2.0 * (0.04 + 0.36 + 0.09 + 0.16) / 4.0;
        assert!((found.brier - brier).abs() < 1e-12);
        let loss = -(0.8_f64.ln() + 0.4_f64.ln() + 0.7_f64.ln() + 0.6_f64.ln()) / 4.0;
        assert!((found.log_loss - loss).abs() < 1e-12);
        // The bin from 0.6 has a wrong and a right row (said 1.2, right 1), 0.7 said 0.7 of 1, 0.8 said 0.8 of 1.
        assert!((found.calibration_error - (0.2 + 0.3 + 0.2) / 4.0).abs() < 1e-12);
        assert_eq!(found.auc, Some(1.0));
        let tied = Matrix::from_rows(&[[0.5, 0.5], [0.5, 0.5], [0.2, 0.8]]);
        assert_eq!(Reliability::of(&tied, &[0, 1, 1]).unwrap().auc, Some(0.75));
        assert_eq!(Reliability::of(&tied, &[1, 1, 1]).unwrap().auc, None);
        assert!(Reliability::of(&tied, &[0, 1, 2]).is_err());
        assert!(Reliability::of(&tied, &[0]).is_err());
    }

    #[test]
    fn of_several_classes_the_area_is_the_mean_of_each_against_the_others() {
        let shares = Matrix::from_rows(&[[0.6, 0.3, 0.1], [0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]);
        let found = Reliability::of(&shares, &[0, 1, 2]).unwrap();
        // Class 0: 0.6 against 0.5 and 0.1; class 1: 0.3 against 0.3 and 0.2; class 2: 0.7 against all.
        assert!((found.auc.unwrap() - (1.0 + 0.75 + 1.0) / 3.0).abs() < 1e-12);
        let sure_mistake = Reliability::of(&Matrix::from_rows(&[[1.0, 0.0]]), &[1]).unwrap();
        assert!(sure_mistake.log_loss > 30.0 && sure_mistake.log_loss.is_finite());
    }
}
