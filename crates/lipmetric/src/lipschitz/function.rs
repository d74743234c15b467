//! What the theory says of a function that has been learned: its constant, its errors, its ratios and its bounds.

use super::bounds::{FatShattering, LearningBound, fat_shattering_bound, learning_bound};
use super::check_labels;
use super::constant::{LipschitzConstant, constant_of_margins};
use super::distance::TrueMetric;
use super::margins::Margins;
use crate::neighbours::Distance;
use crate::{Error, Labels, Result};
use serde::Serialize;

/// The figures of a function on a labelled sample, under a true metric.
///
/// The function is given by its margins: its value on each row for the row's own class, `t_i f(x_i)` with two classes. The paper's
/// ratios and bounds then have the function's own constant in the place of the labels': a function that gives up some rows
/// is flatter, and promises more of the others.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FunctionReport {
    /// The largest slope of the function between two rows, and the rows that have it.
    pub constant: LipschitzConstant,
    /// Rows that it puts into another class than their label: a margin of 0 or less.
    pub errors: usize,
    /// Rows whose margin is below 1, which the theorem counts as errors: its functions classify correctly by a margin of 1.
    pub below_margin: usize,
    /// `2 / (L diam)`: the surrogate of L-Ratio^Diam.
    pub ratio_diameter: f64,
    /// `2 / (L intra)`: the surrogate of L-Ratio^Intra.
    pub ratio_intra: f64,
    /// Theorem 2 with `D <= (16 L diam)^ddim`, with two classes.
    pub by_diameter: Option<LearningBound>,
    /// The same with `D <= (16 L intra + 32)^ddim`, where that is implied: the constant is not above the labels' own.
    pub by_intra: Option<LearningBound>,
}

/// Margins from here on are 1 but for rounding.
const FULL: f64 = 1.0 - 1e-9;

impl FunctionReport {
    /// The figures of the function with these margins. `sample` are the margins of the labels themselves under the same distance,
    /// `ddim` is the doubling dimension, and bounds hold with probability `1 - delta`.
    ///
    /// ```
    /// use lipmetric::{Labels, Matrix, lipschitz::{FunctionReport, Mahalanobis, Margins}};
    /// let distance = Mahalanobis::euclidean(&Matrix::from_rows(&[[0.0], [1.0], [2.0], [9.0]])).unwrap();
    /// let labels = Labels::from_names(["a", "b", "a", "b"]);
    /// let sample = Margins::new(&distance, &labels).unwrap();
    /// // The second row is given up.
    /// let report = FunctionReport::new(&distance, &labels, &[1.0, -1.0, 1.0, 1.0], &sample, 1.0, 0.05).unwrap();
    /// assert_eq!((report.errors, report.constant.constant), (1, 2.0 / 7.0));
    /// assert!(report.ratio_diameter > sample.ratio_diameter);
    /// ```
    ///
    /// # Errors
    /// If a margin per row is missing or not finite, the labels do not fit the sample or are of one class only, or a distance is
    /// not a finite number of at least 0.
    pub fn new<D>(
        distance: &D,
        labels: &Labels,
        margins: &[f64],
        sample: &Margins,
        ddim: f64,
        delta: f64,
    ) -> Result<Self>
    where
        D: Distance + TrueMetric + ?Sized,
    {
        let groups = check_labels(distance, labels)?;
        super::check_values(distance, margins)?;
        if sample.rows != labels.len() {
            return Err(Error::shape("rows of the sample's margins", labels.len(), sample.rows));
        }
        let constant = constant_of_margins(distance, &groups, margins)?;
        let l = constant.constant;
        let below_margin = margins.iter().filter(|m| **m < FULL).count();
        let bound = |fat: Result<FatShattering>| learning_bound(labels.len(), below_margin, fat?, delta);
        let two = groups.rows.len() == 2;
        let by_diameter = two.then(|| bound(fat_shattering_bound(l, sample.diameter.distance, ddim))).transpose()?;
        let implied = two && l * sample.margin.distance <= 2.0;
        let by_intra = implied.then(|| bound(FatShattering::from_intra(l, sample.intra_sum, ddim))).transpose()?;
        Ok(Self {
            constant,
            errors: margins.iter().filter(|m| **m <= 0.0).count(),
            below_margin,
            ratio_diameter: 2.0 / (l * sample.diameter.distance),
            ratio_intra: 2.0 / (l * sample.intra_sum),
            by_diameter,
            by_intra,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Matrix;
    use crate::lipschitz::Mahalanobis;
    use crate::neighbours::Cross;

    fn sample() -> (Matrix, Labels) {
        let rows: Vec<[f64; 2]> =
            (0..40).map(|i| [f64::from(i % 20), f64::from(i / 20) + 0.1 * f64::from(i % 3)]).collect();
        (Matrix::from_rows(&rows), Labels::from_names((0..40).map(|i| if i % 20 < 10 { "a" } else { "b" })))
    }

    #[test]
    fn with_the_labels_as_values_it_says_what_the_labels_say() {
        let (x, y) = sample();
        let distance = Mahalanobis::euclidean(&x).unwrap();
        let margins = Margins::new(&distance, &y).unwrap();
        let report = FunctionReport::new(&distance, &y, &[1.0; 40], &margins, 2.0, 0.05).unwrap();
        assert_eq!(report.constant.constant, margins.constant.constant);
        assert_eq!((report.errors, report.below_margin), (0, 0));
        assert!((report.ratio_diameter - margins.ratio_diameter).abs() < 1e-12);
        assert!((report.ratio_intra - margins.ratio_intra).abs() < 1e-12);
        assert!(report.by_intra.is_some() && report.by_diameter.unwrap().consistent.is_some());
    }

    #[test]
    fn a_row_that_is_given_up_counts_and_the_constant_is_that_of_a_double_loop() {
        let (x, y) = sample();
        let distance = Mahalanobis::euclidean(&x).unwrap();
        let sample = Margins::new(&distance, &y).unwrap();
        let values: Vec<f64> = (0..40).map(|i| if i == 9 { -0.5 } else { 1.0 - 0.02 * f64::from(i % 4) }).collect();
        let report = FunctionReport::new(&distance, &y, &values, &sample, 2.0, 0.05).unwrap();
        assert_eq!((report.errors, report.below_margin), (1, 30));
        assert_eq!(report.by_diameter.unwrap().errors, 30);
        let signed = |i: usize| if y.codes()[i] == 1 { values[i] } else { -values[i] };
        let mut steepest = 0.0_f64;
        for i in 0..40 {
            for j in 0..i {
                steepest = steepest.max((signed(i) - signed(j)).abs() / distance.get(i, j));
            }
        }
        assert!((report.constant.constant - steepest).abs() < 1e-12 * steepest);
    }

    #[test]
    fn margins_that_are_missing_or_not_finite_are_refused() {
        let (x, y) = sample();
        let distance = Mahalanobis::euclidean(&x).unwrap();
        let sample = Margins::new(&distance, &y).unwrap();
        assert!(FunctionReport::new(&distance, &y, &[1.0; 39], &sample, 2.0, 0.05).is_err());
        assert!(FunctionReport::new(&distance, &y, &[f64::NAN; 40], &sample, 2.0, 0.05).is_err());
    }
}
