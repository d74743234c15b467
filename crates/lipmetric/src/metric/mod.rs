//! The learned Mahalanobis map. `directions` has those in which rows spread most under it.

mod directions;

pub(crate) use directions::Directions;

use crate::{Error, Matrix, Result, linalg};
use std::sync::OnceLock;

/// A squared Mahalanobis metric, held by its factor: `rho(x, y) = ||L (x - y)||^2`, `M = L^T L`.
///
/// The factor, not `M`, is what is stored: with features on very different scales `M` loses in rounding what
/// `L` keeps. `L` has as many rows as the metric has rank, and a column per feature.
///
/// ```
/// use lipmetric::{Matrix, Metric};
/// let metric = Metric::new(Matrix::from_rows(&[[2.0, 0.0]])).unwrap();
/// assert_eq!(metric.squared_distance(&[0.0, 5.0], &[1.0, 9.0]), 4.0);
/// assert_eq!(metric.rank(), 1);
/// ```
#[derive(Debug, Clone)]
pub struct Metric {
    features: usize,
    /// The identity is written out only where somebody asks for its elements: with many features it is large.
    identity: bool,
    factor: OnceLock<Matrix>,
}

impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        if self.identity && other.identity {
            return self.features == other.features;
        }
        self.factor() == other.factor()
    }
}

impl Metric {
    /// The metric of a factor `L` (rank x features).
    ///
    /// # Errors
    /// If an element is not finite.
    pub fn new(factor: Matrix) -> Result<Self> {
        if let Some((i, j)) = factor.first_non_finite() {
            return Err(Error::Numerical {
                place: "the metric's factor",
                message: format!("element ({i}, {j}) is {}", factor[(i, j)]),
            });
        }
        Ok(Self { features: factor.cols(), identity: false, factor: OnceLock::from(factor) })
    }

    /// The (squared) Euclidean metric on `features` features.
    #[must_use]
    pub fn euclidean(features: usize) -> Self {
        Self { features, identity: true, factor: OnceLock::new() }
    }

    /// Whether this is the Euclidean metric by construction: its factor is the identity.
    #[must_use]
    pub fn is_euclidean(&self) -> bool {
        self.identity
    }

    /// The factor `L`, rank x features.
    #[must_use]
    pub fn factor(&self) -> &Matrix {
        self.factor.get_or_init(|| Matrix::identity(self.features))
    }

    /// Number of features that the metric takes.
    #[must_use]
    pub fn features(&self) -> usize {
        self.features
    }

    /// Number of coordinates that the map gives.
    #[must_use]
    pub fn rank(&self) -> usize {
        if self.identity { self.features } else { self.factor().rows() }
    }

    /// `M = L^T L`.
    #[must_use]
    pub fn matrix(&self) -> Matrix {
        linalg::transposed_product(self.factor(), self.factor())
    }

    /// The diagonal of `M`: how much each feature counts by itself.
    #[must_use]
    pub fn diagonal(&self) -> Vec<f64> {
        if self.identity {
            return vec![1.0; self.features];
        }
        let mut diagonal = vec![0.0; self.features()];
        for k in 0..self.rank() {
            for (d, l) in diagonal.iter_mut().zip(self.factor().row(k)) {
                *d += l * l;
            }
        }
        diagonal
    }

    /// The eigenvalues of `M` that are not zero by construction, largest first: as many as the rank. They are the
    /// squared singular values of `L`, so that none comes out negative.
    ///
    /// # Errors
    /// If the decomposition does not converge.
    pub fn spectrum(&self) -> Result<Vec<f64>> {
        if self.identity {
            return Ok(vec![1.0; self.features]);
        }
        let values = linalg::singular_values(self.factor()).ok_or_else(|| Error::Numerical {
            place: "the metric's spectrum",
            message: "the singular value decomposition did not converge".to_owned(),
        })?;
        Ok(values.into_iter().map(|s| s * s).collect())
    }

    /// `||L (x - y)||^2`. This is the paper's `rho_M`; its square root is the one that obeys the triangle inequality.
    ///
    /// # Panics
    /// If `x` or `y` has not as many elements as there are features.
    #[must_use]
    pub fn squared_distance(&self, x: &[f64], y: &[f64]) -> f64 {
        assert_eq!(x.len(), self.features(), "x has another number of features than the metric");
        assert_eq!(y.len(), self.features(), "y has another number of features than the metric");
        if self.identity {
            return x.iter().zip(y).map(|(a, b)| (a - b) * (a - b)).sum();
        }
        (0..self.rank())
            .map(|k| {
                let row = self.factor().row(k);
                let t: f64 = row.iter().zip(x.iter().zip(y)).map(|(l, (a, b))| l * (a - b)).sum();
                t * t
            })
            .sum()
    }

    /// The rows of `x` mapped by `L`: Euclidean distances between the results are the metric's.
    ///
    /// # Errors
    /// If `x` has another number of columns than the metric has features.
    pub fn transform(&self, x: &Matrix) -> Result<Matrix> {
        if x.cols() != self.features() {
            return Err(Error::shape("features of the rows to map", self.features(), x.cols()));
        }
        if self.identity {
            return Ok(x.clone());
        }
        Ok(linalg::product_transposed(x, self.factor()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spectrum_and_diagonal_are_those_of_m() {
        let metric = Metric::new(Matrix::from_rows(&[[1e5, 0.0, 0.0], [0.0, 3.0, 4.0]])).unwrap();
        let spectrum = metric.spectrum().unwrap();
        assert!((spectrum[0] / 1e10 - 1.0).abs() < 1e-12 && (spectrum[1] - 25.0).abs() < 1e-9, "{spectrum:?}");
        assert_eq!(metric.diagonal(), [1e10, 9.0, 16.0]);
        let m = Metric::new(Matrix::from_rows(&[[1.0, 2.0], [3.0, -1.0]])).unwrap().matrix();
        assert_eq!(m, Matrix::from_rows(&[[10.0, -1.0], [-1.0, 5.0]]));
    }

    #[test]
    fn the_euclidean_metric_is_the_identity_without_being_written_out() {
        let (plain, written) = (Metric::euclidean(3), Metric::new(Matrix::identity(3)).unwrap());
        let x = Matrix::from_rows(&[[1.0, 2.5, -3.0], [-1.0, 0.5, 0.0]]);
        assert_eq!(plain.transform(&x).unwrap(), written.transform(&x).unwrap());
        assert_eq!(plain.squared_distance(x.row(0), x.row(1)), written.squared_distance(x.row(0), x.row(1)));
        assert_eq!((plain.rank(), plain.diagonal()), (written.rank(), written.diagonal()));
        assert_eq!(plain.spectrum().unwrap(), written.spectrum().unwrap());
        assert_eq!(plain, written);
        // A million features: the written identity would take 8 TB.
        assert_eq!(Metric::euclidean(1_000_000).rank(), 1_000_000);
    }

    #[test]
    fn mapped_rows_are_as_far_apart_as_the_metric_says() {
        let metric = Metric::new(Matrix::from_rows(&[[1.0, 2.0, 0.0], [0.5, -1.0, 3.0]])).unwrap();
        let x = Matrix::from_rows(&[[1.0, 2.0, 3.0], [-1.0, 0.5, 0.0]]);
        let z = metric.transform(&x).unwrap();
        let mapped: f64 = z.row(0).iter().zip(z.row(1)).map(|(a, b)| (a - b) * (a - b)).sum();
        assert!((mapped - metric.squared_distance(x.row(0), x.row(1))).abs() < 1e-12);
        assert!(metric.transform(&Matrix::zeros(2, 2)).is_err());
        assert!(Metric::new(Matrix::from_rows(&[[f64::NAN]])).is_err());
    }
}
