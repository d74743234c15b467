//! Classification by a smooth function of the distances to the training rows.
//!
//! `f_c(x) = sum_j A_jc k(d(x, x_j))` for each class `c`, by kernel ridge on targets of 1 and -1; the largest wins. The kernel is
//! `exp(-d / l)` (Laplace) or `exp(-d^2 / (2 l^2))` (Gaussian).
//!
//! | file | what it does |
//! |---|---|
//! | `mod` | [`SmoothFunction`]: values, decisions, certified radii |
//! | `kernel` | distances and kernels of them, in blocks |
//! | `ridge` | the coefficients; what each row gets from the others, in closed form |
//! | `fit` | the function for given rows and settings |
//! | `judge` | settings judged on rows that the functions have not seen |
//! | `reading` | how a class is told from the values of all classes |
//! | `radius` | certified radii of either kernel, and why they hold |
//! | `landmarks` | the same for many rows: coefficients on some of them, fitted to all |
//! | `gradients` | the gradients of the function, and the mean of their outer products |

mod fit;
mod gradients;
mod judge;
mod kernel;
mod landmarks;
mod radius;
mod reading;
mod ridge;

pub(crate) use fit::{EXACT_ROWS, Fitted, LANDMARKS, SEED, fit, fit_all, fit_landmarks};
pub use fit::{KernelChoice, SmoothSpec, Smoothness};
pub(crate) use judge::{Said, Sample, explained, median, pick, usual};
pub use kernel::Kernel;
pub(crate) use kernel::{Decay, Points};
pub(crate) use landmarks::{Landmarks, draw};
pub use reading::Reading;
pub(crate) use reading::{Discriminant, crossed};
pub(crate) use ridge::{Ridge, Wanted, balanced, largest, row_weights};

use crate::neighbours::check_finite;
use crate::{Error, Matrix, Result, linalg};
use kernel::BLOCK;
use rayon::prelude::*;

/// A function with a term for each of some rows, its *centres*: `f_c(x) = sum_j A_jc k(d(x, x_j))`, where `d` is the Euclidean distance
/// of mapped rows and `k` a [`Kernel`].
///
/// Each term changes by at most `|A_jc| / l` per unit of distance (of the Gaussian kernel `exp(-1 / 2)` times that), so that the
/// function has a known Lipschitz constant ([`Self::lipschitz`]), and its decisions hold within a certified radius ([`Self::radii`]).
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
    decay: Decay,
    /// What is added to all values.
    offset: f64,
    /// What is added to the value of each class; empty where nothing is.
    offsets: Vec<f64>,
}

impl SmoothFunction {
    /// The function of these centres, with the Laplace kernel: a row of coefficients for each, a column per class.
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
        let decay = Decay::new(Kernel::Laplace, bandwidth);
        Ok(Self { points: Points::new(centres), coefficients, decay, offset: 0.0, offsets: Vec::new() })
    }

    /// The same with another kernel.
    #[must_use]
    pub fn with_kernel(self, kernel: Kernel) -> Self {
        Self { decay: Decay { kernel, ..self.decay }, ..self }
    }

    /// The kernel.
    #[must_use]
    pub fn kernel(&self) -> Kernel {
        self.decay.kernel
    }

    /// The same with a number added to all values, such as the mean of what is to be predicted.
    #[must_use]
    pub fn above(self, offset: f64) -> Self {
        Self { offset, ..self }
    }

    /// The same with a number added to the value of each class.
    ///
    /// # Errors
    /// If there is not one finite number per class.
    pub fn with_offsets(self, offsets: Vec<f64>) -> Result<Self> {
        if !offsets.is_empty() && offsets.len() != self.coefficients.cols() {
            return Err(Error::shape("what is added to the values", self.coefficients.cols(), offsets.len()));
        }
        match offsets.iter().find(|b| !b.is_finite()) {
            Some(b) => Err(Error::data(format!("{b} is added to a value: it must be finite"))),
            None => Ok(Self { offsets, ..self }),
        }
    }

    /// What is added to the value of each class; empty where nothing is.
    #[must_use]
    pub fn offsets(&self) -> &[f64] {
        &self.offsets
    }

    /// The function of the discriminants of the values.
    pub(crate) fn read_by(self, discriminant: &Discriminant) -> Result<Self> {
        let coefficients = discriminant.coefficients(&self.coefficients);
        Self { coefficients, ..self }.with_offsets(discriminant.offsets().to_vec())
    }

    /// What is added to all values.
    #[must_use]
    pub fn offset(&self) -> f64 {
        self.offset
    }

    /// How much the values of the first function may change, up or down, if a query moves by less than this far. Each distance changes by
    /// no more, so that a term of the Laplace kernel is multiplied by `exp(r / l)` at most, and one of the Gaussian lies between its values
    /// at `d - r` and `d + r`; and no term changes by more than the kernel's slope times `r`.
    ///
    /// # Errors
    /// As [`Self::values`].
    pub fn changes(&self, queries: &Matrix, radius: f64) -> Result<Vec<f64>> {
        let n = self.points.len();
        let (decay, most) = (self.decay, self.lipschitz() * radius);
        let growth = (radius / decay.bandwidth).exp_m1();
        let change = |k: f64| match decay.kernel {
            Kernel::Laplace => k * growth,
            Kernel::Gaussian => {
                let d = decay.bandwidth * (-2.0 * k.ln()).max(0.0).sqrt();
                (decay.at((d - radius).max(0.0)) - k).max(k - decay.at(d + radius)).min(decay.slope() * radius)
            }
        };
        self.each_block(queries, |kernel, count, _| {
            let sum = |row: &[f64]| -> f64 {
                row.iter().enumerate().map(|(j, k)| change(*k) * self.coefficients[(j, 0)].abs()).sum()
            };
            kernel.chunks_exact(n).take(count).map(|row| sum(row).min(most)).collect()
        })
    }

    /// The bandwidth `l`.
    #[must_use]
    pub fn bandwidth(&self) -> f64 {
        self.decay.bandwidth
    }

    /// The coefficients: a row per centre, a column per class.
    #[must_use]
    pub fn coefficients(&self) -> &Matrix {
        &self.coefficients
    }

    /// A Lipschitz constant of every class's function, in the distance: the largest sum of the sizes of a class's coefficients,
    /// times the kernel's largest slope: `1 / l`, of the Gaussian `exp(-1 / 2) / l`.
    #[must_use]
    pub fn lipschitz(&self) -> f64 {
        let mut sums = vec![0.0; self.coefficients.cols()];
        for j in 0..self.coefficients.rows() {
            sums.iter_mut().zip(self.coefficients.row(j)).for_each(|(s, a)| *s += a.abs());
        }
        sums.into_iter().fold(0.0, f64::max) * self.decay.slope()
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
            if !self.offsets.is_empty() {
                values.iter_mut().zip(self.offsets.iter().cycle()).for_each(|(v, b)| *v += b);
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

    /// How far each query may move, in the distance, before its class can change. With the Laplace kernel it is `min (l / 2) ln(P / N)` over
    /// the other classes, where `P` and `N` are the sums of the positive and of the negative terms of the difference between the two
    /// functions: moving by `r` multiplies each term by `exp(-r / l)` at least and `exp(r / l)` at most. Where numbers are added to the
    /// values, it is the root of `P exp(-r / l) + b = N exp(r / l)` with `b` their difference. With the Gaussian kernel it is
    /// the root of a bound of the same sums (`radius.rs` proves it), from below.
    ///
    /// # Errors
    /// As [`Self::values`].
    pub fn radii(&self, queries: &Matrix) -> Result<Vec<f64>> {
        let values = self.values(queries)?;
        let n = self.points.len();
        self.each_block(queries, |kernel, count, from| match self.decay.kernel {
            Kernel::Laplace => {
                let top = |q: usize| largest(values.row(q));
                let rows = kernel.chunks_exact(n).take(count).zip(from..);
                let added = (&self.coefficients, &self.offsets[..]);
                rows.map(|(row, q)| radius::laplace(row, None, added, top(q), self.decay.bandwidth)).collect()
            }
            Kernel::Gaussian => {
                let filled = |of: &[f64]| {
                    let mut block = Matrix::zeros(BLOCK, n);
                    block.as_mut_slice().copy_from_slice(of);
                    block
                };
                let told = values.select_rows(&Vec::from_iter(from..from + count));
                let squared = |means: &Matrix| filled(&self.points.squared(means.as_slice()));
                let places = |terms: &radius::Terms| terms.by_centres(self.points.centred(), squared);
                let added = (&self.coefficients, &self.offsets[..]);
                radius::gaussian(&filled(kernel), added, &told, self.decay, (usize::MAX, &places))
            }
        })
    }

    /// The same of all queries or, with the Gaussian kernel, of some of them: enough for their median.
    pub(crate) fn usual_radii(&self, queries: &Matrix) -> Result<Vec<f64>> {
        match self.decay.kernel {
            Kernel::Laplace => self.radii(queries),
            Kernel::Gaussian => self.radii(&queries.select_rows(&radius::spaced(queries.rows(), BLOCK))),
        }
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
                let kernel = self.points.kernel(&self.points.queries(queries, from), self.decay);
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
    fn function(kernel: Kernel) -> SmoothFunction {
        let centres = Matrix::from_vec(9, 2, (0..18).map(|k| ((7 * k * k + k) % 13) as f64 / 4.0).collect()).unwrap();
        let coefficients = Matrix::from_vec(9, 3, (0..27).map(|k| ((5 * k * k) % 11) as f64 / 5.0 - 1.0).collect());
        SmoothFunction::new(&centres, coefficients.unwrap(), 1.5).unwrap().with_kernel(kernel)
    }

    fn queries() -> Matrix {
        Matrix::from_vec(80, 2, (0..160).map(|k| ((11 * k) % 37) as f64 / 10.0).collect()).unwrap()
    }

    #[test]
    fn no_row_within_the_radius_is_of_another_class() {
        for kernel in Kernel::ALL {
            let (f, queries) = (function(kernel), queries());
            let (classes, radii) = (f.predict(&queries).unwrap(), f.radii(&queries).unwrap());
            assert!(radii.iter().any(|r| *r > 0.05));
            let mut nearest = f64::INFINITY;
            for i in 0..queries.rows() {
                for step in 0..16 {
                    let angle = f64::from(step) * std::f64::consts::TAU / 16.0;
                    let stays = |times: f64| {
                        let r = times * radii[i];
                        let moved = [queries[(i, 0)] + r * angle.cos(), queries[(i, 1)] + r * angle.sin()];
                        f.predict(&Matrix::from_rows(&[moved])).unwrap() == [classes[i]]
                    };
                    assert!(stays(0.999), "{kernel}, query {i}");
                    let beyond = [1.3, 1.6, 2.0, 2.5].into_iter().find(|t| !stays(*t));
                    nearest = nearest.min(beyond.unwrap_or(f64::INFINITY));
                }
            }
            // Not so small that it says nothing.
            assert!(nearest <= 2.0, "{kernel}: {nearest}");
        }
    }

    #[test]
    fn gaussian_radii_hold_where_large_coefficients_of_either_sign_meet() {
        let value = |k: usize| (1.7 * k as f64).sin() + 0.1 * ((k * k) % 7) as f64;
        let x = Matrix::from_vec(60, 3, (0..180).map(value).collect()).unwrap();
        let names = (0..60).map(|i| ["a", "b", "c"][usize::from(x[(i, 0)] > 0.3) + usize::from(x[(i, 1)] > 0.4)]);
        let y = crate::Labels::from_names(names);
        let queries = Matrix::from_vec(40, 3, (0..120).map(|k| 1.3 * (0.37 * k as f64).cos()).collect()).unwrap();
        for (width, ridge) in [(0.2, 1e-3), (0.7, 1e-3), (3.0, 1e-3), (1.5, 1.0)] {
            let settings = Smoothness::new(width, ridge).with_kernel(Kernel::Gaussian);
            let f = fit(&x, &y, None, settings, None).unwrap().function;
            let (values, radii) = (f.values(&queries).unwrap(), f.radii(&queries).unwrap());
            assert!(radii.iter().filter(|r| **r > 1e-3).count() > 20, "{width}, {ridge}");
            for i in 0..queries.rows() {
                let class = largest(values.row(i));
                // Steps up the slope of every other class's lead, the way an attack would go, and in all directions.
                for other in (0..3).filter(|c| *c != class) {
                    let mut at = queries.row(i).to_vec();
                    for _ in 0..10 {
                        let lead = |z: &[f64]| {
                            let v = f.values(&Matrix::from_vec(1, 3, z.to_vec()).unwrap()).unwrap();
                            v[(0, other as usize)] - v[(0, class as usize)]
                        };
                        let slope: Vec<f64> = (0..3)
                            .map(|k| {
                                let (mut up, mut down) = (at.clone(), at.clone());
                                (up[k], down[k]) = (up[k] + 1e-5, down[k] - 1e-5);
                                lead(&up) - lead(&down)
                            })
                            .collect();
                        let length = slope.iter().map(|s| s * s).sum::<f64>().sqrt().max(1e-300);
                        let step = 0.4 * radii[i];
                        at.iter_mut().zip(&slope).for_each(|(a, s)| *a += step * s / length);
                        let moved: Vec<f64> = at.iter().zip(queries.row(i)).map(|(a, q)| a - q).collect();
                        let far = moved.iter().map(|m| m * m).sum::<f64>().sqrt();
                        if far > 0.999 * radii[i] {
                            let back = 0.999 * radii[i] / far;
                            at.iter_mut()
                                .zip(queries.row(i).iter().zip(&moved))
                                .for_each(|(a, (q, m))| *a = q + back * m);
                        }
                        assert!(lead(&at) < 0.0, "{width}, {ridge}, query {i}: {} of {}", far, radii[i]);
                    }
                }
            }
        }
    }

    #[test]
    fn radii_do_not_depend_on_the_rows_that_are_asked_about_together() {
        for kernel in Kernel::ALL {
            let (f, queries) = (function(kernel), queries());
            let all = f.radii(&queries).unwrap();
            for i in [0, 7, 79] {
                assert_eq!(f.radii(&queries.select_rows(&[i])).unwrap(), [all[i]], "{kernel}");
            }
        }
    }

    #[test]
    fn far_away_where_a_gaussian_is_no_longer_told_from_zero_nothing_is_certified() {
        let f = function(Kernel::Gaussian);
        let radii = f.radii(&Matrix::from_rows(&[[1e3, 0.0], [40.0, 40.0], [0.0, 0.0]])).unwrap();
        assert_eq!(radii[..2], [0.0, 0.0]);
        assert!(radii[2] < 100.0);
    }

    #[test]
    fn values_change_by_no_more_than_is_told() {
        for kernel in Kernel::ALL {
            let (f, queries) = (function(kernel), queries());
            let values = f.values(&queries).unwrap();
            for radius in [0.01, 0.3, 2.0] {
                let changes = f.changes(&queries, radius).unwrap();
                for (i, change) in changes.into_iter().enumerate() {
                    for step in 0..16 {
                        let angle = f64::from(step) * std::f64::consts::TAU / 16.0;
                        let (a, b) = (radius * angle.cos(), radius * angle.sin());
                        let moved = Matrix::from_rows(&[[queries[(i, 0)] + a, queries[(i, 1)] + b]]);
                        let apart = (f.values(&moved).unwrap()[(0, 0)] - values[(i, 0)]).abs();
                        assert!(apart <= change + 1e-12, "{kernel}: {apart} of {change}");
                    }
                }
            }
        }
    }

    #[test]
    fn values_are_those_of_the_plain_sum_and_keep_the_lipschitz_constant() {
        let centres = Matrix::from_vec(9, 2, (0..18).map(|k| ((7 * k * k + k) % 13) as f64 / 4.0).collect()).unwrap();
        let distance = |a: &[f64], b: &[f64]| ((a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)).sqrt();
        let kernel = |d: f64, kernel: Kernel| match kernel {
            Kernel::Laplace => (-d / 1.5).exp(),
            Kernel::Gaussian => (-d * d / (2.0 * 1.5 * 1.5)).exp(),
        };
        for (f, queries) in Kernel::ALL.map(|kernel| (function(kernel), queries())) {
            let values = f.values(&queries).unwrap();
            for i in 0..queries.rows() {
                for c in 0..3 {
                    let apart = |j: usize| distance(queries.row(i), centres.row(j));
                    let term = |j: usize| f.coefficients[(j, c)] * kernel(apart(j), f.kernel());
                    let expected: f64 = (0..9).map(term).sum();
                    assert!((values[(i, c)] - expected).abs() < 1e-7);
                }
                for j in 0..i {
                    let apart = (values[(i, 0)] - values[(j, 0)]).abs();
                    assert!(apart <= f.lipschitz() * distance(queries.row(i), queries.row(j)) + 1e-12);
                }
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
