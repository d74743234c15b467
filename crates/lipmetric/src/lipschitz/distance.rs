//! The Mahalanobis family of distances, and the promise of a triangle inequality.

use crate::neighbours::{Coordinates, Cross, Distance, check_finite, squared_distance};
use crate::{Error, Matrix, Metric, Result};
use std::marker::PhantomData;

/// A promise: the triangle inequality holds, among the points and from queries to points.
///
/// The squared Mahalanobis form, the paper's `rho_M`, is *not* a metric in this sense; its square root is.
/// Propositions 4 and 6, Theorem 2 and a certified radius need this promise, so that the functions for them ask for it.
///
/// ```compile_fail
/// use lipmetric::{Matrix, Metric, lipschitz::{SquaredMahalanobis, bounds::{DoublingOptions, doubling_dimension}}};
/// let x = Matrix::from_rows(&[[0.0], [1.0], [3.0]]);
/// let rho = SquaredMahalanobis::new(&Metric::euclidean(1), &x).unwrap();
/// doubling_dimension(&rho, &DoublingOptions::default()); // the squared form is not a `TrueMetric`
/// ```
pub trait TrueMetric: Cross {}

/// How a distance derives from a squared Euclidean one: [`Root`] or [`Square`].
pub trait Power: Sync + Send + private::Sealed {
    /// Whether it is the squared form.
    const SQUARED: bool;
}

/// The square root of the squared form: a true metric.
#[derive(Debug, Clone, Copy)]
pub struct Root;

/// The squared form itself: no triangle inequality.
#[derive(Debug, Clone, Copy)]
pub struct Square;

impl Power for Root {
    const SQUARED: bool = false;
}

impl Power for Square {
    const SQUARED: bool = true;
}

mod private {
    pub trait Sealed {}
    impl Sealed for super::Root {}
    impl Sealed for super::Square {}
}

/// The rows of a matrix under a Mahalanobis distance; see [`Mahalanobis`] and [`SquaredMahalanobis`].
#[derive(Debug, Clone)]
pub struct Vectors<P> {
    metric: Option<Metric>,
    mapped: Matrix,
    rounding: f64,
    power: PhantomData<P>,
}

/// `||L (x - y)||`, the square root of the paper's `rho_M`: a [`TrueMetric`]. With `L = I` it is Euclid's.
///
/// ```
/// use lipmetric::{Matrix, Metric, lipschitz::{Mahalanobis, distances::Cross}};
/// let x = Matrix::from_rows(&[[0.0, 0.0], [3.0, 4.0]]);
/// assert_eq!(Mahalanobis::euclidean(&x).unwrap().get(0, 1), 5.0);
/// let stretched = Metric::new(Matrix::from_rows(&[[2.0, 0.0]])).unwrap();
/// assert_eq!(Mahalanobis::new(&stretched, &x).unwrap().get(0, 1), 6.0);
/// ```
pub type Mahalanobis = Vectors<Root>;

/// `rho_M(x, y) = ||L (x - y)||^2`, the paper's squared form. It has no triangle inequality, hence is no [`TrueMetric`].
///
/// ```
/// use lipmetric::{Matrix, Metric, lipschitz::{SquaredMahalanobis, distances::Cross}};
/// let x = Matrix::from_rows(&[[0.0], [1.0], [2.0]]);
/// let rho = SquaredMahalanobis::new(&Metric::euclidean(1), &x).unwrap();
/// assert!(rho.get(0, 2) > rho.get(0, 1) + rho.get(1, 2)); // 4 > 1 + 1
/// ```
pub type SquaredMahalanobis = Vectors<Square>;

impl<P: Power> Vectors<P> {
    /// The rows of `x` under a learned metric. Rows whose mapped coordinates all differ by less than about `1e-162`
    /// count as coinciding: the square of such a difference is zero in `f64`.
    ///
    /// # Errors
    /// If `x` has another number of columns than the metric has features, holds a NaN or an infinity, or maps to
    /// values so large or so small that their squares leave the range of `f64`.
    pub fn new(metric: &Metric, x: &Matrix) -> Result<Self> {
        check_finite(x, "row")?;
        let mapped = metric.transform(x)?;
        check_range(&mapped)?;
        let rounding = map_rounding(metric, x);
        Ok(Self { metric: Some(metric.clone()), mapped, rounding, power: PhantomData })
    }

    /// The rows of `x` under Euclid's metric (or its square).
    ///
    /// # Errors
    /// If `x` holds a NaN or an infinity, or values whose squares leave the range of `f64`.
    pub fn euclidean(x: &Matrix) -> Result<Self> {
        check_finite(x, "row")?;
        check_range(x)?;
        Ok(Self { metric: None, mapped: x.clone(), rounding: 0.0, power: PhantomData })
    }

    /// The distances from new rows to this sample, by the same metric.
    ///
    /// # Errors
    /// As for the sample's own rows.
    pub fn to(&self, queries: &Matrix) -> Result<VectorsTo<'_, P>> {
        check_finite(queries, "query row")?;
        let (mapped, rounding) = match &self.metric {
            Some(metric) => (metric.transform(queries)?, map_rounding(metric, queries)),
            None if queries.cols() == self.mapped.cols() => (queries.clone(), 0.0),
            None => return Err(Error::shape("features of the query rows", self.mapped.cols(), queries.cols())),
        };
        check_range(&mapped)?;
        Ok(VectorsTo { sample: self, mapped, rounding })
    }

    /// The rows as the metric's map `x -> L x` gives them.
    #[must_use]
    pub fn mapped(&self) -> &Matrix {
        &self.mapped
    }

    /// The metric; `None` is Euclid's.
    #[must_use]
    pub fn metric(&self) -> Option<&Metric> {
        self.metric.as_ref()
    }
}

/// The distances from new rows to a sample; see [`Vectors::to`].
#[derive(Debug, Clone)]
pub struct VectorsTo<'a, P> {
    sample: &'a Vectors<P>,
    mapped: Matrix,
    rounding: f64,
}

impl<P: Power> Cross for Vectors<P> {
    fn queries(&self) -> usize {
        self.mapped.rows()
    }

    fn points(&self) -> usize {
        self.mapped.rows()
    }

    fn get(&self, q: usize, i: usize) -> f64 {
        finish::<P>(squared_distance(self.mapped.row(q), self.mapped.row(i)))
    }

    fn coordinates(&self) -> Option<Coordinates<'_>> {
        Some(Coordinates { queries: &self.mapped, points: &self.mapped, squared: P::SQUARED })
    }

    fn rounding(&self, d: f64) -> f64 {
        rounding::<P>(d, self.mapped.cols(), 2.0 * self.rounding)
    }
}

impl<P: Power> Distance for Vectors<P> {}
impl TrueMetric for Vectors<Root> {}

impl<P: Power> Cross for VectorsTo<'_, P> {
    fn queries(&self) -> usize {
        self.mapped.rows()
    }

    fn points(&self) -> usize {
        self.sample.mapped.rows()
    }

    fn get(&self, q: usize, i: usize) -> f64 {
        finish::<P>(squared_distance(self.mapped.row(q), self.sample.mapped.row(i)))
    }

    fn coordinates(&self) -> Option<Coordinates<'_>> {
        Some(Coordinates { queries: &self.mapped, points: &self.sample.mapped, squared: P::SQUARED })
    }

    fn rounding(&self, d: f64) -> f64 {
        rounding::<P>(d, self.mapped.cols(), self.rounding + self.sample.rounding)
    }
}

impl TrueMetric for VectorsTo<'_, Root> {}

#[inline(always)]
fn finish<P: Power>(squared: f64) -> f64 {
    if P::SQUARED { squared } else { squared.sqrt() }
}

/// The rounding of a distance between mapped rows that are themselves off by `mapped` together.
pub(super) fn rounding<P: Power>(d: f64, coordinates: usize, mapped: f64) -> f64 {
    let relative = (coordinates + 6) as f64 * f64::EPSILON;
    if P::SQUARED {
        let root = d.sqrt();
        2.0 * root * mapped + mapped * mapped + relative * d
    } else {
        mapped + relative * d
    }
}

/// The rounding of a squared distance between mapped rows that are themselves off by `mapped` together.
pub(crate) fn squared_rounding(d: f64, coordinates: usize, mapped: f64) -> f64 {
    rounding::<Square>(d, coordinates, mapped)
}

/// The same of the distance.
pub(crate) fn root_rounding(d: f64, coordinates: usize, mapped: f64) -> f64 {
    rounding::<Root>(d, coordinates, mapped)
}

/// A bound of the Euclidean length of the rounding errors in any row of `X L^T`.
pub(super) fn map_rounding(metric: &Metric, x: &Matrix) -> f64 {
    (0..x.rows()).fold(0.0, |largest, i| row_rounding(metric, x.row(i)).max(largest))
}

/// A bound of the Euclidean length of the rounding errors in `L x`.
pub(crate) fn row_rounding(metric: &Metric, x: &[f64]) -> f64 {
    let unit = (metric.features() + 1) as f64 * f64::EPSILON;
    let mut sum = 0.0;
    if metric.is_euclidean() {
        return unit * x.iter().map(|v| v * v).sum::<f64>().sqrt();
    }
    for k in 0..metric.rank() {
        let magnitude: f64 = metric.factor().row(k).iter().zip(x).map(|(l, v)| (l * v).abs()).sum();
        sum += magnitude * magnitude;
    }
    unit * sum.sqrt()
}

/// Coordinates whose squares are within the range of `f64`, ...
const LARGEST: f64 = 1e150;
/// ... and whose differences, to many digits, have squares above its least number.
const SMALLEST: f64 = 1e-140;

/// Squares of differences must neither overflow nor all underflow.
pub(crate) fn check_range(mapped: &Matrix) -> Result<()> {
    let largest = mapped.as_slice().iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let limit = LARGEST / (mapped.cols().max(1) as f64).sqrt();
    if largest.is_finite() && (largest == 0.0 || (SMALLEST..limit).contains(&largest)) {
        return Ok(());
    }
    Err(Error::Numerical {
        place: "distances",
        message: format!(
            "the largest coordinate is {largest:e}: its square leaves the range of f64; rescale the features"
        ),
    })
}
