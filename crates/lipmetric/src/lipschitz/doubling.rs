//! The doubling dimension (Definition 6), enclosed between two estimates.

use super::distance::TrueMetric;
use crate::neighbours::{Distance, measured};
use crate::{Error, Result};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::Serialize;

/// How the doubling dimension is estimated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DoublingOptions {
    /// Samples with more points than this are represented by a random part of this size: 8 bytes times its square of
    /// memory.
    pub max_points: usize,
    /// The seed that the part is drawn with.
    pub seed: u64,
}

impl Default for DoublingOptions {
    fn default() -> Self {
        Self { max_points: 1000, seed: 0 }
    }
}

/// An enclosure of the doubling dimension of a finite metric space.
///
/// For the points that were used, `lower <= ddim <= upper <= 3 ddim` (up to rounding of the distances), where `ddim` is
/// that of the points themselves as a metric space, with balls around points:
///
/// - *lower*: if a ball of radius `r` holds `m` points with distances above `r` from each other, no ball of radius `r / 2`
///   holds two of them, so that `m` such balls are needed. This also holds for any larger space around the points.
/// - *upper*: for radii `R` from the diameter down by factors of `sqrt 2`, every point is within `s = R / (2 sqrt 2)` of
///   a net whose points are more than `s` apart. The net points within `R + s` of `x` cover every ball around
///   `x` of a radius in `(R / sqrt 2, R]` with balls of no more than half that radius. Their number is at most the
///   doubling constant to the power of 3.
///
/// It is an estimate of the dimension of the distribution behind the sample, and with a part of the sample `upper` is
/// no upper bound for all of it; `lower` still is a lower bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DoublingDimension {
    /// The lower estimate.
    pub lower: f64,
    /// The upper estimate.
    pub upper: f64,
    /// How many points were used.
    pub points_used: usize,
    /// Whether these were all.
    pub exhaustive: bool,
}

/// How many balls per radius are packed one by one for the lower estimate.
const CENTRES: usize = 128;

/// Estimates the doubling dimension of a sample under a true metric.
///
/// ```
/// use lipmetric::{Matrix, lipschitz::{Mahalanobis, bounds::{DoublingOptions, doubling_dimension}}};
/// let line = Matrix::from_vec(64, 1, (0..64).map(f64::from).collect()).unwrap();
/// let ddim = doubling_dimension(&Mahalanobis::euclidean(&line).unwrap(), &DoublingOptions::default()).unwrap();
/// assert!(ddim.lower >= 1.0 && ddim.upper <= 3.0 && ddim.exhaustive);
/// ```
///
/// # Errors
/// If there is no point, `max_points` is 0, or a distance is not a finite number of at least 0.
pub fn doubling_dimension<D>(distance: &D, options: &DoublingOptions) -> Result<DoublingDimension>
where
    D: Distance + TrueMetric + ?Sized,
{
    let n = distance.len();
    if n == 0 {
        return Err(Error::data("a doubling dimension needs one row at least"));
    }
    if options.max_points == 0 {
        return Err(Error::parameter("max_points", "it must be 1 at least"));
    }
    let mut ids: Vec<usize> = (0..n).collect();
    if n > options.max_points {
        ids.shuffle(&mut ChaCha8Rng::seed_from_u64(options.seed));
        ids.truncate(options.max_points);
        ids.sort_unstable();
    }
    let table = Table::new(distance, &ids)?;
    let (mut packed, mut covered) = (1, 1);
    let mut radius = table.largest;
    while radius >= table.smallest && radius > 0.0 {
        packed = packed.max(table.packing(radius));
        covered = covered.max(table.cover(radius));
        radius *= std::f64::consts::FRAC_1_SQRT_2;
    }
    let used = ids.len();
    let (lower, upper) = ((packed as f64).log2(), (covered as f64).log2());
    Ok(DoublingDimension { lower, upper, points_used: used, exhaustive: used == n })
}

/// All distances between the points that are used.
struct Table {
    n: usize,
    distances: Vec<f64>,
    largest: f64,
    /// The smallest distance that is not zero; infinite if there is none.
    smallest: f64,
}

impl Table {
    fn new<D: Distance + ?Sized>(distance: &D, ids: &[usize]) -> Result<Self> {
        let n = ids.len();
        let mut distances = vec![0.0; n * n];
        distances.par_chunks_mut(n).zip(ids).try_for_each(|(row, &i)| {
            row.iter_mut().zip(ids).try_for_each(|(d, &j)| measured(distance, i, j).map(|v| *d = v))
        })?;
        let largest = distances.iter().fold(0.0_f64, |m, &d| m.max(d));
        let smallest = distances.iter().filter(|&&d| d > 0.0).fold(f64::INFINITY, |m, &d| m.min(d));
        Ok(Self { n, distances, largest, smallest })
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.distances[i * self.n..(i + 1) * self.n]
    }

    /// Of `points`, in their order, those that are more than `gap` from all taken before.
    fn separated(&self, points: impl Iterator<Item = usize>, gap: f64) -> Vec<usize> {
        let mut taken: Vec<usize> = Vec::new();
        for i in points {
            let row = self.row(i);
            if taken.iter().all(|&j| row[j] > gap) {
                taken.push(i);
            }
        }
        taken
    }

    /// The most points with distances above `radius` from each other that were found in a ball of this radius.
    fn packing(&self, radius: f64) -> usize {
        let stride = self.n.div_ceil(CENTRES);
        let centres: Vec<usize> = (0..self.n).step_by(stride).collect();
        let packed = centres.par_iter().map(|&x| {
            let row = self.row(x);
            // Points near the rim first: they leave the most room for others.
            let mut ball: Vec<usize> = (0..self.n).filter(|&i| row[i] <= radius).collect();
            ball.sort_by(|&a, &b| row[b].total_cmp(&row[a]).then(a.cmp(&b)));
            self.separated(ball.into_iter(), radius).len()
        });
        packed.max().unwrap_or(1)
    }

    /// The most net points that are needed for any ball with a radius in `(radius / sqrt 2, radius]`.
    fn cover(&self, radius: f64) -> usize {
        let gap = radius * std::f64::consts::FRAC_1_SQRT_2 * 0.5;
        let net = self.separated(0..self.n, gap);
        let near = |x: usize| net.iter().filter(|&&w| self.row(x)[w] <= radius + gap).count();
        (0..self.n).into_par_iter().map(near).max().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::distance::Mahalanobis;
    use super::*;
    use crate::Matrix;

    #[test]
    fn five_points_on_a_line_by_hand() {
        let line = Matrix::from_rows(&[[-2.0], [-1.0], [0.0], [1.0], [2.0]]);
        let table = Table::new(&Mahalanobis::euclidean(&line).unwrap(), &[0, 1, 2, 3, 4]).unwrap();
        assert_eq!((table.largest, table.smallest), (4.0, 1.0));
        // In the ball of radius 2 around 0 only the ends are more than 2 apart.
        assert_eq!(table.packing(2.0), 2);
        // Gap 1.41: the net is {-2, 0, 2}.
        assert_eq!(table.cover(4.0), 3);
        // Gap 0.53: the net is everything, and from 0 all is within 1.5 + 0.53.
        assert_eq!(table.cover(1.5), 5);
    }
}
