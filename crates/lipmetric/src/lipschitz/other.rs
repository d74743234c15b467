//! Distances that are no Mahalanobis form: a closure, a precomputed matrix, and the promise of a triangle inequality.

use super::distance::TrueMetric;
use crate::neighbours::{Coordinates, Cross, Distance};
use crate::{Error, Matrix, Result};

/// The rows of a matrix under any function of two rows.
///
/// The function must be symmetric and zero from a row to itself. If it is a metric, say so with [`AsMetric::assume`].
///
/// ```
/// use lipmetric::{Matrix, lipschitz::distances::{Closure, Cross}};
/// let x = Matrix::from_rows(&[[0.0, 0.0], [3.0, 4.0]]);
/// let city = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(u, v)| (u - v).abs()).sum();
/// assert_eq!(Closure::new(&x, city).get(0, 1), 7.0);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Closure<'a, F> {
    rows: &'a Matrix,
    f: F,
}

impl<'a, F: Fn(&[f64], &[f64]) -> f64 + Sync> Closure<'a, F> {
    /// The rows of `x` under `f`.
    pub fn new(x: &'a Matrix, f: F) -> Self {
        Self { rows: x, f }
    }

    /// The distances from new rows to this sample, by the same function.
    pub fn to<'b>(&'b self, queries: &'b Matrix) -> ClosureTo<'b, F> {
        ClosureTo { queries, points: self.rows, f: &self.f }
    }
}

/// The distances from new rows to a sample; see [`Closure::to`].
#[derive(Debug, Clone, Copy)]
pub struct ClosureTo<'a, F> {
    queries: &'a Matrix,
    points: &'a Matrix,
    f: &'a F,
}

impl<F: Fn(&[f64], &[f64]) -> f64 + Sync> Cross for Closure<'_, F> {
    fn queries(&self) -> usize {
        self.rows.rows()
    }

    fn points(&self) -> usize {
        self.rows.rows()
    }

    fn get(&self, q: usize, i: usize) -> f64 {
        (self.f)(self.rows.row(q), self.rows.row(i))
    }
}

impl<F: Fn(&[f64], &[f64]) -> f64 + Sync> Distance for Closure<'_, F> {}

impl<F: Fn(&[f64], &[f64]) -> f64 + Sync> Cross for ClosureTo<'_, F> {
    fn queries(&self) -> usize {
        self.queries.rows()
    }

    fn points(&self) -> usize {
        self.points.rows()
    }

    fn get(&self, q: usize, i: usize) -> f64 {
        (self.f)(self.queries.row(q), self.points.row(i))
    }
}

/// A matrix of distances between the points of a sample, checked when it is made.
///
/// ```
/// use lipmetric::{Matrix, lipschitz::distances::Precomputed};
/// let asymmetric = Matrix::from_rows(&[[0.0, 1.0], [2.0, 0.0]]);
/// let error = Precomputed::new(asymmetric).unwrap_err().to_string();
/// assert!(error.contains("(0, 1) is 1") && error.contains("(1, 0) is 2"), "{error}");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Precomputed {
    distances: Matrix,
}

impl Precomputed {
    /// A square matrix of distances.
    ///
    /// # Errors
    /// If the matrix is not square, an element is negative or not finite, the diagonal is not zero, or the matrix is
    /// not exactly symmetric. The message names the element.
    pub fn new(distances: Matrix) -> Result<Self> {
        let n = distances.rows();
        if distances.cols() != n {
            return Err(Error::shape("columns of a precomputed square distance matrix", n, distances.cols()));
        }
        check_elements(&distances)?;
        for i in 0..n {
            if distances[(i, i)] != 0.0 {
                return Err(Error::data(format!(
                    "precomputed distances: element ({i}, {i}) is {}, but a point is at distance 0 from itself",
                    distances[(i, i)]
                )));
            }
            for j in 0..i {
                let (a, b) = (distances[(j, i)], distances[(i, j)]);
                if a != b {
                    return Err(Error::data(format!(
                        "precomputed distances: element ({j}, {i}) is {a} but ({i}, {j}) is {b}; the matrix must be \
                         symmetric (if only rounding differs, average it with its transpose)"
                    )));
                }
            }
        }
        Ok(Self { distances })
    }

    /// Looks at every triple, and gives the promise of a [`TrueMetric`] if the triangle inequality holds up to a
    /// relative `tolerance`. Takes time in the cube of the number of points; [`AsMetric::assume`] takes none.
    ///
    /// # Errors
    /// If a triple violates it; the message names the first one.
    pub fn check_triangle(self, tolerance: f64) -> Result<AsMetric<Self>> {
        let n = self.distances.rows();
        for i in 0..n {
            for j in 0..i {
                let direct = self.distances[(i, j)];
                for k in 0..n {
                    let detour = self.distances[(i, k)] + self.distances[(k, j)];
                    if direct > detour * (1.0 + tolerance) {
                        return Err(Error::data(format!(
                            "precomputed distances: no metric, from {i} to {j} it is {direct} but by way of {k} {detour}"
                        )));
                    }
                }
            }
        }
        Ok(AsMetric(self))
    }

    /// The distances.
    #[must_use]
    pub fn matrix(&self) -> &Matrix {
        &self.distances
    }
}

impl Cross for Precomputed {
    fn queries(&self) -> usize {
        self.distances.rows()
    }

    fn points(&self) -> usize {
        self.distances.rows()
    }

    fn get(&self, q: usize, i: usize) -> f64 {
        self.distances[(q, i)]
    }
}

impl Distance for Precomputed {}

/// A matrix of distances from queries (rows) to the points of a sample (columns).
#[derive(Debug, Clone, PartialEq)]
pub struct PrecomputedCross {
    distances: Matrix,
}

impl PrecomputedCross {
    /// A row per query, a column per sample point.
    ///
    /// # Errors
    /// If an element is negative or not finite.
    pub fn new(distances: Matrix) -> Result<Self> {
        check_elements(&distances)?;
        Ok(Self { distances })
    }
}

impl Cross for PrecomputedCross {
    fn queries(&self) -> usize {
        self.distances.rows()
    }

    fn points(&self) -> usize {
        self.distances.cols()
    }

    fn get(&self, q: usize, i: usize) -> f64 {
        self.distances[(q, i)]
    }
}

fn check_elements(distances: &Matrix) -> Result<()> {
    let bad = distances.as_slice().iter().position(|d| !(d.is_finite() && *d >= 0.0));
    match bad {
        None => Ok(()),
        Some(at) => {
            let (i, j) = (at / distances.cols(), at % distances.cols());
            Err(Error::data(format!(
                "precomputed distances: element ({i}, {j}) is {}; a distance is a finite number, at least 0",
                distances[(i, j)]
            )))
        }
    }
}

/// A distance that is taken for a [`TrueMetric`], by a check or by the caller's word.
///
/// ```
/// use lipmetric::{Matrix, lipschitz::{bounds::{DoublingOptions, doubling_dimension}, distances::{AsMetric, Closure}}};
/// let x = Matrix::from_rows(&[[0.0], [1.0], [2.0]]);
/// let city = AsMetric::assume(Closure::new(&x, |a: &[f64], b: &[f64]| (a[0] - b[0]).abs()));
/// assert!(doubling_dimension(&city, &DoublingOptions::default()).unwrap().lower >= 1.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AsMetric<D>(D);

impl<D: Cross> AsMetric<D> {
    /// Takes the caller's word that the triangle inequality holds. If it does not, the results that need it are wrong.
    pub fn assume(distance: D) -> Self {
        Self(distance)
    }

    /// The distance.
    pub fn inner(&self) -> &D {
        &self.0
    }
}

impl<D: Cross> Cross for AsMetric<D> {
    fn queries(&self) -> usize {
        self.0.queries()
    }

    fn points(&self) -> usize {
        self.0.points()
    }

    fn get(&self, q: usize, i: usize) -> f64 {
        self.0.get(q, i)
    }

    fn coordinates(&self) -> Option<Coordinates<'_>> {
        self.0.coordinates()
    }

    fn rounding(&self, d: f64) -> f64 {
        self.0.rounding(d)
    }
}

impl<D: Distance> Distance for AsMetric<D> {}
impl<D: Cross> TrueMetric for AsMetric<D> {}
