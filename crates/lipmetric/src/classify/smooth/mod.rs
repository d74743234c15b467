//! Classification by a smooth function of the distances to the training rows.
//!
//! `f_c(x) = sum_j A_jc exp(-d(x, x_j) / l)` for each class `c`, by kernel ridge on targets of 1 and -1; the largest wins.
//!
//! | file | what it does |
//! |---|---|
//! | `mod` | [`SmoothFunction`]: values, decisions, certified radii |
//! | `kernel` | distances and the Laplace kernel, in blocks |
//! | `ridge` | the coefficients; what each row gets from the others, in closed form |
//! | `fit` | the function for given rows and settings |
//! | `judge` | settings judged on rows that the functions have not seen |
//! | `landmarks` | the same for many rows: coefficients on some of them, fitted to all |
//! | `gradients` | the gradients of the function, and the mean of their outer products |

mod fit;
mod gradients;
mod judge;
mod kernel;
mod landmarks;
mod ridge;

pub(crate) use fit::{EXACT_ROWS, Fitted, LANDMARKS, SEED, fit, fit_all, fit_landmarks};
pub use fit::{SmoothSpec, Smoothness};
pub(crate) use judge::{Said, Sample, explained, median, pick, usual};
pub(crate) use kernel::{Points, laplace_of};
pub(crate) use landmarks::{Landmarks, draw};
pub(crate) use ridge::{Ridge, Wanted, balanced, largest, row_weights};

use crate::neighbours::check_finite;
use crate::{Error, Matrix, Result, linalg};
use kernel::BLOCK;
use rayon::prelude::*;

/// A function with a term for each of some rows, its *centres*: `f_c(x) = sum_j A_jc exp(-d(x, x_j) / l)`, where `d` is the
/// Euclidean distance of mapped rows.
///
/// Each term changes by at most `|A_jc| / l` per unit of distance, so that the function has a known Lipschitz constant
/// ([`Self::lipschitz`]) and its decisions hold within a radius that is known in closed form ([`Self::radii`]).
///
/// Answers are the same bits for any number of threads and any division of the queries.
///
/// ```
/// use lipmetric::{Matrix, classify::SmoothFunction};
/// let centres = Matrix::from_rows(&[[0.0], [4.0]]);
/// let f = SmoothFunction::new(&centres, Matrix::from_rows(&[[1.0, -1.0], [-1.0, 1.0]]), 2.0)?;
/// let queries = Matrix::from_rows(&[[1.0], [3.5]]);
/// assert_eq!(f.predict(&queries)?, [0, 1]);
/// // The border is at 2, and the first query is at 1: here the certified radius is the distance to the border.
/// assert!((f.radii(&queries)?[0] - 1.0).abs() < 1e-9);
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SmoothFunction {
    points: Points,
    coefficients: Matrix,
    bandwidth: f64,
    /// What is added to all values.
    offset: f64,
}

impl SmoothFunction {
    /// The function of these centres: a row of coefficients for each, a column per class.
    ///
    /// # Errors
    /// If there is not one row of coefficients per centre, a number is not finite, or the bandwidth is not positive.
    pub fn new(centres: &Matrix, coefficients: Matrix, bandwidth: f64) -> Result<Self> {
        if coefficients.rows() != centres.rows() || centres.rows() == 0 {
            return Err(Error::shape("coefficients of the centres", centres.rows().max(1), coefficients.rows()));
        }
        check_finite(centres, "centre")?;
        if let Some((i, c)) = coefficients.first_non_finite() {
            return Err(Error::data(format!("coefficient ({i}, {c}) is {}: it must be finite", coefficients[(i, c)])));
        }
        if !(bandwidth > 0.0 && bandwidth.is_finite()) {
            return Err(Error::parameter("bandwidth", format!("{bandwidth} is not a positive number")));
        }
        Ok(Self { points: Points::new(centres), coefficients, bandwidth, offset: 0.0 })
    }

    /// The same with a number added to all values, such as the mean of what is to be predicted.
    #[must_use]
    pub fn above(self, offset: f64) -> Self {
        Self { offset, ..self }
    }

    /// What is added to all values.
    #[must_use]
    pub fn offset(&self) -> f64 {
        self.offset
    }

    /// How much the values of the first function may change, up or down, if a query moves by less than this far: `S (exp(r / l) - 1)`
    /// at most, where `S` is the sum of the sizes of its terms, as each is multiplied by `exp(r / l)` at most; and no more than the
    /// Lipschitz constant times `r`.
    ///
    /// # Errors
    /// As [`Self::values`].
    pub fn changes(&self, queries: &Matrix, radius: f64) -> Result<Vec<f64>> {
        let n = self.points.len();
        let most = self.lipschitz() * radius;
        let growth = (radius / self.bandwidth).exp_m1();
        self.each_block(queries, |kernel, count, _| {
            let size =
                |row: &[f64]| row.iter().enumerate().map(|(j, k)| k * self.coefficients[(j, 0)].abs()).sum::<f64>();
            kernel.chunks_exact(n).take(count).map(|row| (size(row) * growth).min(most)).collect()
        })
    }

    /// The bandwidth `l`.
    #[must_use]
    pub fn bandwidth(&self) -> f64 {
        self.bandwidth
    }

    /// The coefficients: a row per centre, a column per class.
    #[must_use]
    pub fn coefficients(&self) -> &Matrix {
        &self.coefficients
    }

    /// A Lipschitz constant of every class's function, in the distance: the largest sum of the sizes of a class's coefficients,
    /// over the bandwidth.
    #[must_use]
    pub fn lipschitz(&self) -> f64 {
        let mut sums = vec![0.0; self.coefficients.cols()];
        for j in 0..self.coefficients.rows() {
            sums.iter_mut().zip(self.coefficients.row(j)).for_each(|(s, a)| *s += a.abs());
        }
        sums.into_iter().fold(0.0, f64::max) / self.bandwidth
    }

    /// The values of the function: a row per query, a column per class.
    ///
    /// # Errors
    /// If the queries have another number of columns than the centres, or one is not finite.
    pub fn values(&self, queries: &Matrix) -> Result<Matrix> {
        let classes = self.coefficients.cols();
        let rows = self.each_block(queries, |kernel, count, _| {
            let mut values = vec![0.0; BLOCK * classes];
            let n = self.points.len();
            linalg::gemm_nn(&mut values, kernel, self.coefficients.as_slice(), BLOCK, classes, n);
            values.truncate(count * classes);
            if self.offset != 0.0 {
                values.iter_mut().for_each(|v| *v += self.offset);
            }
            values
        })?;
        Matrix::from_vec(queries.rows(), classes, rows)
    }

    /// The class of each query: that of the largest value, and of equal ones the first.
    ///
    /// # Errors
    /// As [`Self::values`].
    pub fn predict(&self, queries: &Matrix) -> Result<Vec<u32>> {
        let values = self.values(queries)?;
        Ok((0..values.rows()).map(|i| largest(values.row(i))).collect())
    }

    /// How far each query may move, in the distance, before its class can change: `min (l / 2) ln(P / N)` over the other
    /// classes, where `P` and `N` are the sums of the positive and of the negative terms of the difference between the two
    /// functions. Moving by `r` multiplies each term by `exp(-r / l)` at least and `exp(r / l)` at most.
    ///
    /// # Errors
    /// As [`Self::values`].
    pub fn radii(&self, queries: &Matrix) -> Result<Vec<f64>> {
        let predicted = self.predict(queries)?;
        let n = self.points.len();
        self.each_block(queries, |kernel, count, from| {
            let rows = kernel.chunks_exact(n).take(count).zip(&predicted[from..]);
            rows.map(|(row, &top)| judge::radius(row, None, &self.coefficients, top, self.bandwidth)).collect()
        })
    }

    /// What a function of each block's kernel gives, joined in the order of the queries. It is told how many of the block are
    /// queries, and the number of the first.
    fn each_block<T: Send>(
        &self,
        queries: &Matrix,
        f: impl Fn(&[f64], usize, usize) -> Vec<T> + Sync,
    ) -> Result<Vec<T>> {
        self.check(queries)?;
        let parts: Vec<Vec<T>> = (0..queries.rows().div_ceil(BLOCK))
            .into_par_iter()
            .map(|at| {
                let from = at * BLOCK;
                let kernel = self.points.kernel(&self.points.queries(queries, from), self.bandwidth);
                f(&kernel, BLOCK.min(queries.rows() - from), from)
            })
            .collect();
        Ok(parts.into_iter().flatten().collect())
    }

    fn check(&self, queries: &Matrix) -> Result<()> {
        let expected = self.points.centred().cols();
        if queries.cols() != expected {
            return Err(Error::shape("columns of the queries", expected, queries.cols()));
        }
        check_finite(queries, "query")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function of three classes with coefficients of either sign.
    fn function() -> SmoothFunction {
        let centres = Matrix::from_vec(9, 2, (0..18).map(|k| ((7 * k * k + k) % 13) as f64 / 4.0).collect()).unwrap();
        let coefficients = Matrix::from_vec(9, 3, (0..27).map(|k| ((5 * k * k) % 11) as f64 / 5.0 - 1.0).collect());
        SmoothFunction::new(&centres, coefficients.unwrap(), 1.5).unwrap()
    }

    fn queries() -> Matrix {
        Matrix::from_vec(80, 2, (0..160).map(|k| ((11 * k) % 37) as f64 / 10.0).collect()).unwrap()
    }

    #[test]
    fn no_row_within_the_radius_is_of_another_class() {
        let (f, queries) = (function(), queries());
        let (classes, radii) = (f.predict(&queries).unwrap(), f.radii(&queries).unwrap());
        assert!(radii.iter().any(|r| *r > 0.05));
        for i in 0..queries.rows() {
            for step in 0..16 {
                let angle = f64::from(step) * std::f64::consts::TAU / 16.0;
                let r = 0.999 * radii[i];
                let moved =
                    Matrix::from_rows(&[[queries[(i, 0)] + r * angle.cos(), queries[(i, 1)] + r * angle.sin()]]);
                assert_eq!(f.predict(&moved).unwrap(), [classes[i]], "query {i}");
            }
        }
    }

    #[test]
    fn values_are_those_of_the_plain_sum_and_keep_the_lipschitz_constant() {
        let (f, queries) = (function(), queries());
        let values = f.values(&queries).unwrap();
        let centres = Matrix::from_vec(9, 2, (0..18).map(|k| ((7 * k * k + k) % 13) as f64 / 4.0).collect()).unwrap();
        let distance = |a: &[f64], b: &[f64]| ((a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)).sqrt();
        for i in 0..queries.rows() {
            for c in 0..3 {
                let term = |j: usize| f.coefficients[(j, c)] * (-distance(queries.row(i), centres.row(j)) / 1.5).exp();
                let expected: f64 = (0..9).map(term).sum();
                assert!((values[(i, c)] - expected).abs() < 1e-7);
            }
            for j in 0..i {
                let apart = (values[(i, 0)] - values[(j, 0)]).abs();
                assert!(apart <= f.lipschitz() * distance(queries.row(i), queries.row(j)) + 1e-12);
            }
        }
    }

    #[test]
    fn bad_input_is_refused() {
        let centres = Matrix::from_rows(&[[0.0, 1.0], [1.0, 0.0]]);
        let a = || Matrix::from_rows(&[[1.0, -1.0], [-1.0, 1.0]]);
        assert!(SmoothFunction::new(&centres, a(), 0.0).is_err());
        assert!(SmoothFunction::new(&centres, Matrix::zeros(1, 2), 1.0).is_err());
        assert!(SmoothFunction::new(&centres, Matrix::from_rows(&[[f64::NAN, 0.0], [0.0, 0.0]]), 1.0).is_err());
        let f = SmoothFunction::new(&centres, a(), 1.0).unwrap();
        assert!(f.values(&Matrix::zeros(1, 3)).is_err());
        assert!(f.values(&Matrix::from_rows(&[[f64::NAN, 0.0]])).is_err());
        assert_eq!(f.predict(&Matrix::zeros(0, 2)).unwrap(), [] as [u32; 0]);
    }
}
