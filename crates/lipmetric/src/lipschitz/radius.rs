//! Certified radii: how far an instance can move before its label can change.

use super::distance::TrueMetric;
use super::pair::{Groups, indices};
use crate::neighbours::{Best, Cross, Nearest, from_raw};
use crate::{Error, Labels, Metric, Result, linalg};
use serde::Serialize;

/// The nearest-neighbour label of a query and the radius within which it cannot change.
///
/// By the triangle inequality, moving the query by less than `(d_other - d_same) / 2` brings no row of another class
/// nearer than the nearest row of its own, so that the 1-NN classifier, and `sign(U_1/2)` with it (Proposition 1), stay
/// with the label. The rounding of the distances is taken off the radius, so that it holds for the exact ones.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CertifiedRadius {
    /// The predicted class, as an index into the classes of the labels. Of classes at the same distance the first one.
    pub code: u32,
    /// The nearest row of that class.
    pub nearest: usize,
    /// Its distance.
    pub distance: f64,
    /// The nearest row of another class.
    pub other: usize,
    /// Its distance.
    pub other_distance: f64,
    /// Every point nearer to the query than this, in the metric that was used, has the same label.
    pub radius: f64,
}

impl CertifiedRadius {
    /// The radius in the units of the metric's input, with the factor of [`input_radius_factor`].
    #[must_use]
    pub fn in_input_units(&self, factor: f64) -> f64 {
        if self.radius == 0.0 { 0.0 } else { self.radius * factor }
    }
}

/// The label and the certified radius of every query, for the 1-NN classifier on a labelled sample.
///
/// ```
/// use lipmetric::{Labels, Matrix, lipschitz::{Mahalanobis, certified_radii}};
/// let sample = Mahalanobis::euclidean(&Matrix::from_rows(&[[0.0], [10.0]])).unwrap();
/// let at = sample.to(&Matrix::from_rows(&[[2.0]])).unwrap();
/// let r = certified_radii(&at, &Labels::from_names(["a", "b"])).unwrap()[0];
/// assert_eq!(r.code, 0);
/// assert!(r.radius <= 3.0 && r.radius > 2.999_999); // (8 - 2) / 2: the label changes at 5
/// ```
///
/// # Errors
/// If the labels do not fit the sample or are of one class only, or a distance is not a finite number of at least 0.
pub fn certified_radii<C: TrueMetric + ?Sized>(queries: &C, labels: &Labels) -> Result<Vec<CertifiedRadius>> {
    if labels.len() != queries.points() {
        return Err(Error::shape("labels of the sample", queries.points(), labels.len()));
    }
    let groups = Groups::new(labels);
    if groups.rows.len() < 2 {
        return Err(Error::data("a certified radius needs rows of two classes: with one, no label can change"));
    }
    let all: Vec<usize> = (0..queries.queries()).collect();
    let mut top: Vec<(usize, Best)> = vec![(0, Best::NONE); all.len()];
    let mut second = vec![Best::NONE; all.len()];
    for (k, index) in indices(queries, &groups).iter().enumerate() {
        let mut best = vec![Best::NONE; all.len()];
        index.search(queries, &all, false, &Nearest, &mut best, None)?;
        for (q, best) in best.into_iter().enumerate() {
            if best.score > top[q].1.score {
                second[q] = top[q].1;
                top[q] = (k, best);
            } else if best.score > second[q].score {
                second[q] = best;
            }
        }
    }
    Ok(top.into_iter().zip(second).map(|((k, same), other)| certify(queries, groups.codes[k], same, other)).collect())
}

fn certify<C: Cross + ?Sized>(queries: &C, code: u32, same: Best, other: Best) -> CertifiedRadius {
    let (distance, other_distance) = (from_raw(queries, -same.score), from_raw(queries, -other.score));
    let radius = radius_of(distance, other_distance, |d| queries.rounding(d));
    CertifiedRadius { code, nearest: same.at, distance, other: other.at, other_distance, radius }
}

/// Half the difference of the distances to the nearest row of the own and of another class, less their rounding.
fn radius_of(same: f64, other: f64, rounding: impl Fn(f64) -> f64) -> f64 {
    // Where another class is as near as the nearest, both rounding terms exceed the difference and the radius is 0.
    ((other - same - (rounding(same) + rounding(other))) / 2.0).max(0.0)
}

/// What a radius in the learned metric is worth in input units: `1 / sigma`, rounded down, with `sigma` the largest
/// singular value of the factor `L`, as `||L v|| <= sigma ||v||`. Infinite for a metric that is zero everywhere.
///
/// ```
/// use lipmetric::{Matrix, Metric, lipschitz::input_radius_factor};
/// let metric = Metric::new(Matrix::from_rows(&[[4.0, 0.0], [0.0, 1.0]])).unwrap();
/// let factor = input_radius_factor(&metric).unwrap();
/// assert!(factor <= 0.25 && factor > 0.249_999);
/// ```
///
/// # Errors
/// If the singular value cannot be computed.
pub fn input_radius_factor(metric: &Metric) -> Result<f64> {
    if metric.is_euclidean() {
        return Ok(1.0);
    }
    Ok(1.0 / linalg::spectral_norm_above(metric.factor())?)
}

/// The part of the queries that are classified correctly and stay so under any perturbation of length `r`, for each `r`
/// in `radii`, in the units of the metric. At `r = 0` it is the plain accuracy. A query is its predicted class and its
/// certified radius.
///
/// ```
/// use lipmetric::lipschitz::certified_accuracy;
/// let certified = [(0, 3.0), (0, 0.5), (1, 4.0)];
/// let truth = [0, 0, 0];
/// assert_eq!(certified_accuracy(&certified, &truth, &[0.0, 1.0, 5.0])?, [2.0 / 3.0, 1.0 / 3.0, 0.0]);
/// # Ok::<(), lipmetric::Error>(())
/// ```
///
/// # Errors
/// If there is no query, there is not one true class code per query, or a radius is negative, infinite or NaN.
pub fn certified_accuracy(certified: &[(u32, f64)], truth: &[u32], radii: &[f64]) -> Result<Vec<f64>> {
    if certified.is_empty() {
        return Err(Error::data("a certified accuracy needs one query at least"));
    }
    if truth.len() != certified.len() {
        return Err(Error::shape("true classes of the queries", certified.len(), truth.len()));
    }
    check_lengths(radii)?;
    let share = |&r: &f64| {
        let right = certified.iter().zip(truth).filter(|&(c, t)| c.0 == *t && (r == 0.0 || c.1 > r)).count();
        right as f64 / certified.len() as f64
    };
    Ok(radii.iter().map(share).collect())
}

/// Refuses radii that are no lengths.
pub(crate) fn check_lengths(radii: &[f64]) -> Result<()> {
    match radii.iter().find(|r| !(**r >= 0.0 && r.is_finite())) {
        Some(bad) => Err(Error::parameter("radius", format!("{bad} is not a length: give a number of 0 or more"))),
        None => Ok(()),
    }
}
