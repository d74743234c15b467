//! The learned Mahalanobis map.

use crate::{Error, Matrix, Result, linalg};

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
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    factor: Matrix,
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
        Ok(Self { factor })
    }

    /// The (squared) Euclidean metric on `features` features.
    #[must_use]
    pub fn euclidean(features: usize) -> Self {
        Self { factor: Matrix::identity(features) }
    }

    /// The factor `L`, rank x features.
    #[must_use]
    pub fn factor(&self) -> &Matrix {
        &self.factor
    }

    /// Number of features that the metric takes.
    #[must_use]
    pub fn features(&self) -> usize {
        self.factor.cols()
    }

    /// Number of coordinates that the map gives.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.factor.rows()
    }

    /// `M = L^T L`.
    #[must_use]
    pub fn matrix(&self) -> Matrix {
        linalg::transposed_product(&self.factor, &self.factor)
    }

    /// `||L (x - y)||^2`. This is the paper's `rho_M`; its square root is the one that obeys the triangle inequality.
    ///
    /// # Panics
    /// If `x` or `y` has not as many elements as there are features.
    #[must_use]
    pub fn squared_distance(&self, x: &[f64], y: &[f64]) -> f64 {
        assert_eq!(x.len(), self.features(), "x has another number of features than the metric");
        assert_eq!(y.len(), self.features(), "y has another number of features than the metric");
        (0..self.rank())
            .map(|k| {
                let row = self.factor.row(k);
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
        Ok(linalg::product_transposed(x, &self.factor))
    }
}
