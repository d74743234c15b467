use super::balance::balancing;
use super::faint::{Faint, exactly_rounded};
use super::leak::{leak, within};
use super::{Certificate, Towards, Variant};
use crate::linalg::twofold::{Twofold, Twofolds};
use crate::pairs::pass::shorter;
use crate::pairs::{Affine, Cloud, Embedding, Helpers, Points};
use crate::{Error, Matrix, Metric, Result, linalg};
use std::sync::Arc;

/// Singular values below this fraction of the largest count as zero: what a decomposition in double precision leaves of a
/// dependent feature is some 1e-15 of the largest, and of one that was rounded to ten digits this much.
const RANK_TOLERANCE: f64 = 1e-10;
/// The same where the rows are mapped in twice the usual precision: singular values are right to this part of the largest, and
/// three digits of a weaker one are left.
const WHITE_RANK_TOLERANCE: f64 = 1e-13;
/// A feature that moves by less than this part of its size is constant: the mean of equal values is off by rounding.
const CONSTANT: f64 = 1e-14;
/// The scatter matrix, which squares the singular values, tells all directions where its least eigenvalue is at least this
/// part of the largest: seven digits of the weakest direction are left.
const WELL_SPREAD: f64 = 1e-9;
/// Rows may spread over this much, and one over it: squares of squares of it stay within floating point.
const WIDEST: f64 = 1e140;
/// Where some direction is so much weaker than the strongest, a coordinate along it is a small difference of large numbers.
const WEAK: f64 = 1e-4;
/// Where one is so weak, rounding the elements of a factor to the usual precision would show in the figures of a fit to 1e-9.
const VERY_WEAK: f64 = 1e-7;
/// Rows of different label nearer than this part of the largest row have differences with less than ten digits.
const NEAR: f64 = 1e-6;
/// Variances within the classes are raised to this part of the largest where they are divided by.
const LEAST_WITHIN: f64 = 1e-6;

/// The training rows in coordinates of their own.
///
/// Every problem here is equivariant under affine maps of the features, so it may be solved in any coordinates; in some it is
/// well scaled. Directions in which the rows do not vary (constant or linearly dependent features, or few rows) are removed:
/// no pair of rows sees them.
#[derive(Debug, Clone)]
pub(crate) struct Coordinates {
    /// The points, sorted by class.
    pub(crate) cloud: Cloud,
    /// `x -> back x` maps a difference of rows to these coordinates: coordinates x features.
    back: Matrix,
    /// The way from these coordinates to a difference of rows: features x coordinates.
    forth: Matrix,
    /// Directions that are left out although the rows vary in them: a direction each x features.
    faint: Matrix,
    /// How the rows vary in the weakest direction, as a part of the strongest.
    weakest: f64,
}

/// How often what is left of a factor is mapped again: each time some four digits are won where directions are as weak as can be.
const SEEN_AGAIN: usize = 3;

impl Coordinates {
    /// The rows of positive weight, centred, with the identity for their covariance. Passes over the pairs are computed by helpers, if
    /// there are some that hold the rows.
    pub(crate) fn whitened(
        x: &Matrix,
        class: &[u32],
        weight: &[f64],
        helpers: Option<&Arc<dyn Helpers>>,
    ) -> Result<Self> {
        let (mut centred, mean, used, reach) = centred(x, weight);
        let (root, p) = ((used.len() as f64).sqrt(), x.cols());
        // Every feature at unit range first: what counts as no direction must not depend on their units.
        let scale: Vec<f64> = reach.iter().map(|&r| if r > 0.0 { 1.0 / r } else { 0.0 }).collect();
        for i in 0..x.rows() {
            centred.row_mut(i).iter_mut().zip(&scale).for_each(|(v, s)| *v *= s);
        }
        let (values, right) = linalg::singular(&centred.select_rows(&used))?;
        let rank = rank(&values, WHITE_RANK_TOLERANCE);
        let (mut map, mut forth) = (Matrix::zeros(p, rank), Matrix::zeros(p, rank));
        for a in 0..p {
            let unit = if scale[a] > 0.0 { 1.0 / scale[a] } else { 0.0 };
            for k in 0..rank {
                map[(a, k)] = right[(a, k)] * (root / values[k]);
                forth[(a, k)] = right[(a, k)] * values[k] / root * unit;
            }
        }
        let mut cloud = Cloud::new(&linalg::product(&centred, &map), class, weight);
        let mut back = map.transpose();
        cloud = cloud.helped_by(helpers, weight, Some(&Affine { mean, scale: scale.clone(), map }));
        for k in 0..rank {
            back.row_mut(k).iter_mut().zip(&scale).for_each(|(v, s)| *v *= s);
        }
        let weakest = values[..rank].last().zip(values.first()).map_or(1.0, |(low, top)| low / top);
        if weakest < WEAK || has_near_rows(x, &cloud) {
            let rows = Points::from(x.select_rows(&cloud.origin));
            cloud.x = about_mean(rows.mapped_twofold(&back.transpose()), rank);
            // Nobody else has these digits.
            cloud.source = None;
        }
        let others = (rank..p).map(|k| (0..p).map(|a| right[(a, k)] * scale[a]).collect());
        let faint = Faint { x, used: &used, back: &back }.directions(others);
        Ok(Self { cloud, back, forth, faint, weakest })
    }

    /// The rows of positive weight, centred and rotated: distances are the features' own.
    pub(crate) fn rotated(x: &Matrix, class: &[u32], weight: &[f64]) -> Result<Self> {
        let (centred, _, used, reach) = centred(x, weight);
        let largest = reach.iter().fold(0.0, |m: f64, &r| m.max(r));
        if largest > 0.0 && !(1.0 / WIDEST..=WIDEST).contains(&largest) {
            return Err(Error::data(format!(
                "the rows spread over {largest:e}, whose square is beyond floating point: scale the features first"
            )));
        }
        let (forth, others) = directions(&centred.select_rows(&used))?;
        let cloud = Cloud::new(&linalg::product(&centred, &forth), class, weight);
        let back = forth.transpose();
        let faint = Faint { x, used: &used, back: &back }.directions(others.into_iter());
        Ok(Self { cloud, back, forth, faint, weakest: 1.0 })
    }

    /// Refuses rows that are all equal.
    pub(crate) fn check(self) -> Result<Self> {
        if self.rank() == 0 {
            return Err(Error::data("all rows are equal: no metric can separate them"));
        }
        Ok(self)
    }

    /// The coordinates `T x`, `inverse` being that of `T`; `T` is symmetric.
    #[must_use]
    pub(crate) fn changed(&self, map: &Matrix, inverse: &Matrix) -> Self {
        let back = linalg::product(map, &self.back);
        let (faint, weakest) = (self.faint.clone(), self.weakest);
        Self { cloud: self.cloud.mapped(map), back, forth: linalg::product(&self.forth, inverse), faint, weakest }
    }

    /// Coordinates in which no direction holds far longer pairs than another.
    pub(crate) fn balanced(&self, variant: Variant) -> Result<Self> {
        let (map, inverse) = balancing(&self.cloud, variant)?;
        Ok(self.changed(&map, &inverse))
    }

    /// The directions in which the rows vary by more than rounding, those that are left out among them: x features. A bound
    /// on the metrics that see the rows through these is one on all metrics but those that measure rounding.
    pub(crate) fn basis(&self) -> Matrix {
        let rows = self.back.rows() + self.faint.rows();
        let values = [self.back.as_slice(), self.faint.as_slice()].concat();
        Matrix::from_vec(rows, self.features(), values).unwrap_or_default()
    }

    /// The coordinates' axes: coordinates x features. Orthonormal where the rows were only rotated.
    pub(crate) fn axes(&self) -> &Matrix {
        &self.back
    }

    /// Whether directions are so weak that rounding a factor to the usual precision may show in its objective.
    pub(crate) fn is_very_weak(&self) -> bool {
        self.weakest < VERY_WEAK
    }

    /// A note where sums over pairs in the usual precision prove nothing: directions are left out, or hardly there.
    pub(crate) fn note_unproved(&self) -> Option<String> {
        (self.is_partial() || self.is_very_weak()).then(|| {
            format!(
                "rows vary in some direction by less than {VERY_WEAK:.0e} of the largest, where this solver proves no bound; \
                 `solver = exact` may"
            )
        })
    }

    /// A note where a method proves no bound because the rows vary in directions that are left out.
    pub(crate) fn note_no_bound(&self) -> Option<String> {
        self.is_partial().then(|| {
            format!(
                "directions in which the rows vary by less than {RANK_TOLERANCE:.0e} of the largest: {}; the metric does not use \
                 them, and no bound is proved of metrics that do",
                self.faint.rows()
            )
        })
    }

    /// Whether directions are left out in which the rows vary by more than rounding.
    pub(crate) fn is_partial(&self) -> bool {
        self.faint.rows() > 0
    }

    /// Number of directions in which the rows vary.
    pub(crate) fn rank(&self) -> usize {
        self.back.rows()
    }

    /// A note where rows vary in a direction by more than rounding, and yet too little for it to be used.
    pub(crate) fn note_faint(&self) -> Option<String> {
        self.is_partial().then(|| {
            format!(
                "directions in which the rows vary by less than {WHITE_RANK_TOLERANCE:.0e} of the largest: {}; the metric does not \
                 use them, and the bound allows for metrics that do. Look for features that are nearly sums of others, and for \
                 values far outside the range of the others",
                self.faint.rows()
            )
        })
    }

    /// Number of features.
    pub(crate) fn features(&self) -> usize {
        self.back.cols()
    }

    /// The factor in these coordinates of a factor on the features (any x features).
    pub(crate) fn inner(&self, factor: &Matrix) -> Result<Matrix> {
        if factor.cols() != self.features() {
            return Err(Error::shape("features of the metric", self.features(), factor.cols()));
        }
        Ok(linalg::product(factor, &self.forth))
    }

    /// `M` in these coordinates of a metric on the features, whose elements may be large and cancel along strong directions.
    ///
    /// The way back from a factor is known to rounding only, which such elements make large: what is left of the factor is
    /// mapped again, in twice the usual precision.
    pub(crate) fn seen(&self, metric: &Metric) -> Result<Matrix> {
        let (factor, rank) = (metric.factor(), self.rank());
        let plain = |v: &[f64]| Matrix::from_vec(factor.rows(), rank, v.to_vec());
        let mut inner = Twofolds::product(factor, &self.forth);
        for _ in 0..SEEN_AGAIN {
            let there = Twofolds::product_of(&plain(&inner.hi)?, Some(&plain(&inner.lo)?), &self.back);
            let left = factor.as_slice().iter().enumerate().map(|(k, v)| (Twofold::from(*v) - there.get(k)).value());
            let left = Matrix::from_vec(factor.rows(), self.features(), left.collect())?;
            inner.add_scaled(Twofold::from(1.0), &Twofolds::product(&left, &self.forth));
        }
        let inner: Vec<f64> = (0..inner.hi.len()).map(|k| inner.get(k).value()).collect();
        let inner = plain(&inner)?;
        Ok(linalg::transposed_product(&inner, &inner))
    }

    /// The factor on the features (components x features) of one in these coordinates (components x coordinates). `M`
    /// itself is never formed.
    pub(crate) fn factor(&self, inner: &Matrix) -> Matrix {
        if self.is_very_weak() {
            return exactly_rounded(inner, &self.back, &self.forth);
        }
        linalg::product(inner, &self.back)
    }

    /// The metric on the features of a factor in these coordinates.
    pub(crate) fn metric(&self, inner: &Matrix) -> Result<Metric> {
        Metric::new(self.factor(inner))
    }

    /// The metric on the features of `M` in these coordinates, by the square roots of its eigenvalues: of the rank of `M`.
    pub(crate) fn metric_of(&self, m: &Matrix) -> Result<Metric> {
        self.metric(&linalg::root(m)?)
    }

    /// `M` in these coordinates of the metric that an anchor draws towards, up to its scale.
    pub(crate) fn reference(&self, towards: Towards) -> Result<Matrix> {
        match towards {
            Towards::Euclid => Ok(linalg::transposed_product(&self.forth, &self.forth)),
            Towards::Within => {
                let eigen = linalg::symmetric_eigen(&within(&self.cloud))?;
                let least = LEAST_WITHIN * eigen.values.last().copied().unwrap_or(1.0);
                let scaled = eigen.divided(|v| v.max(least).sqrt());
                Ok(linalg::product_transposed(&scaled, &scaled))
            }
        }
    }

    /// A sum over pairs of `(x_i - x_j)(x_i - x_j)^T` of the features, in these coordinates.
    pub(crate) fn sum_of(&self, features: &Matrix) -> Matrix {
        linalg::congruence_transposed(features, &self.back)
    }

    /// The largest size that each coordinate would have if nothing cancelled in it, for rows of features.
    pub(crate) fn reach_of(&self, rows: &Matrix) -> Vec<f64> {
        let mut largest = vec![0.0f64; rows.cols()];
        for i in 0..rows.rows() {
            largest.iter_mut().zip(rows.row(i)).for_each(|(l, v)| *l = l.max(v.abs()));
        }
        let size = |k: usize| self.back.row(k).iter().zip(&largest).map(|(b, l)| b.abs() * l).sum();
        (0..self.rank()).map(size).collect()
    }

    /// Lip^I where directions without scatter within the classes tell them apart: the metric on the features that measures
    /// these alone, whose objective is zero. To be asked in whitened coordinates.
    pub(crate) fn leak(&self, variant: Variant) -> Result<Option<Metric>> {
        match variant {
            Variant::Diameter => Ok(None),
            Variant::Intra => leak(&self.cloud)?.map(|basis| self.metric(&basis.transpose())).transpose(),
        }
    }

    /// A certificate on the user's rows and features of one on these points and coordinates.
    pub(crate) fn certificate(&self, mut inner: Certificate) -> Result<Certificate> {
        let origin = &self.cloud.origin;
        for pair in &mut inner.pairs {
            (pair.first, pair.second) = (origin[pair.first], origin[pair.second]);
        }
        inner.sides = self.metric(inner.sides.factor())?;
        Ok(inner)
    }
}

/// The rows about the mean of those of positive weight, the mean, which these are, and how far each feature moves from its mean; a
/// constant feature is zero.
fn centred(x: &Matrix, weight: &[f64]) -> (Matrix, Vec<f64>, Vec<usize>, Vec<f64>) {
    let used: Vec<usize> = (0..x.rows()).filter(|&i| weight[i] > 0.0).collect();
    let mut mean = vec![0.0; x.cols()];
    for &i in &used {
        mean.iter_mut().zip(x.row(i)).for_each(|(m, v)| *m += v / used.len() as f64);
    }
    let mut out = x.clone();
    let (mut reach, mut size) = (vec![0.0f64; x.cols()], vec![0.0f64; x.cols()]);
    for i in 0..x.rows() {
        out.row_mut(i).iter_mut().zip(&mean).for_each(|(v, m)| *v -= m);
        if weight[i] > 0.0 {
            reach.iter_mut().zip(out.row(i)).for_each(|(r, v)| *r = r.max(v.abs()));
            size.iter_mut().zip(x.row(i)).for_each(|(s, v)| *s = s.max(v.abs()));
        }
    }
    for k in 0..x.cols() {
        if reach[k] <= CONSTANT * size[k] {
            reach[k] = 0.0;
            (0..x.rows()).for_each(|i| out[(i, k)] = 0.0);
        }
    }
    (out, mean, used, reach)
}

/// Whether rows of different label that are not equal are so near to each other, compared with the largest row, that rounding in
/// usual precision would show in their distance.
fn has_near_rows(x: &Matrix, cloud: &Cloud) -> bool {
    let n = cloud.len();
    let largest = (0..n).map(|i| linalg::dot(cloud.x.row(i), cloud.x.row(i))).fold(0.0, f64::max);
    let identity = Matrix::identity(cloud.x.cols());
    let order = cloud.compacted(&identity);
    let cloud = order.as_ref().map_or(cloud, |order| &order.cloud);
    let near = shorter(cloud, &Embedding::new(cloud, &identity), NEAR * NEAR * largest);
    near.iter().any(|&(i, j)| {
        let (a, b) = (x.row(cloud.origin[i as usize]), x.row(cloud.origin[j as usize]));
        a != b
    })
}

/// Points about their mean.
fn about_mean(mut points: Twofolds, cols: usize) -> Points {
    let rows = points.hi.len() / cols.max(1);
    for k in 0..cols {
        let sum = (0..rows).fold(Twofold::ZERO, |sum, i| sum + points.get(i * cols + k));
        // Any number near the mean does: only differences count.
        let mean = Twofold::from(sum.value() / rows as f64);
        (0..rows).for_each(|i| points.set(i * cols + k, points.get(i * cols + k) - mean));
    }
    Points::twofold(points, cols)
}

/// How many singular values, descending, do not count as zero.
fn rank(values: &[f64], tolerance: f64) -> usize {
    let top = values.first().copied().unwrap_or(0.0);
    values.iter().take_while(|&&s| s > tolerance * top).count()
}

/// Orthonormal columns that span the rows, those of largest variance first (features x rank); and other directions, in which the
/// rows hardly vary or do not.
fn directions(rows: &Matrix) -> Result<(Matrix, Vec<Vec<f64>>)> {
    let (n, p) = (rows.rows(), rows.cols());
    if p <= n {
        // Where no direction is weak the scatter matrix tells it all, for less.
        let eigen = linalg::symmetric_eigen(&linalg::transposed_product(rows, rows))?;
        let top = eigen.values.last().copied().unwrap_or(0.0);
        if eigen.values.first().is_some_and(|&low| low > WELL_SPREAD * top) {
            return Ok((eigen.vectors.select_cols((0..p).rev()), Vec::new()));
        }
        let (values, right) = linalg::singular(rows)?;
        let rank = rank(&values, RANK_TOLERANCE);
        return Ok((right.select_cols(0..rank), (rank..p).map(|k| column(&right, k)).collect()));
    }
    // Fewer rows than features: the small side has all there is to know.
    let transposed = rows.transpose();
    let (values, left) = linalg::singular(&transposed)?;
    let rank = rank(&values, RANK_TOLERANCE);
    let all = linalg::product(&transposed, &left);
    let unit = |mut v: Vec<f64>| {
        let norm = linalg::dot(&v, &v).sqrt();
        v.iter_mut().for_each(|v| *v /= norm);
        (norm > 0.0).then_some(v)
    };
    let others = (rank..n).filter_map(|k| unit(column(&all, k))).collect();
    let mut out = all.select_cols(0..rank);
    for a in 0..p {
        out.row_mut(a).iter_mut().zip(&values).for_each(|(v, s)| *v /= s);
    }
    // Once more against rounding in the small directions.
    for k in 0..rank {
        for e in 0..k {
            let t: f64 = (0..p).map(|a| out[(a, k)] * out[(a, e)]).sum();
            (0..p).for_each(|a| out[(a, k)] -= t * out[(a, e)]);
        }
        let norm = (0..p).map(|a| out[(a, k)] * out[(a, k)]).sum::<f64>().sqrt();
        (0..p).for_each(|a| out[(a, k)] /= norm);
    }
    Ok((out, others))
}

fn column(m: &Matrix, k: usize) -> Vec<f64> {
    (0..m.rows()).map(|a| m[(a, k)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five rows; the third feature is constant, the fourth the sum of the first two.
    fn rows() -> Matrix {
        let row = |a: f64, b: f64| [a, b, 0.1, a + b];
        Matrix::from_rows(&[row(0.0, 0.3), row(1.0, -0.2), row(2.5, 0.9), row(-1.0, 4.0), row(0.5, 0.5)])
    }

    fn built(x: &Matrix) -> [Coordinates; 3] {
        let (class, weight) = ([0, 1, 0, 1, 0], [1.0, 2.0, 1.0, 0.5, 1.0]);
        let rotated = Coordinates::rotated(x, &class, &weight).unwrap();
        let white = Coordinates::whitened(x, &class, &weight, None).unwrap();
        let balanced = white.balanced(Variant::Diameter).unwrap();
        [rotated, white, balanced]
    }

    fn distances(x: &Matrix, factor: &Matrix, order: &[usize]) -> Vec<f64> {
        let z = linalg::product_transposed(x, factor);
        let squared = |i: usize, j: usize| z.row(i).iter().zip(z.row(j)).map(|(a, b)| (a - b) * (a - b)).sum();
        order.iter().flat_map(|&i| order.iter().map(move |&j| (i, j))).map(|(i, j)| squared(i, j)).collect()
    }

    #[test]
    fn a_factor_goes_in_and_comes_back_with_the_same_distances_however_the_coordinates_are_built() {
        let x = rows();
        let factor = Matrix::from_rows(&[[1.0, -0.5, 3.0, 0.2], [0.3, 2.0, 1.0, -1.0]]);
        for at in built(&x) {
            assert_eq!((at.rank(), at.features()), (2, 4));
            let expected = distances(&x, &factor, &at.cloud.origin);
            let inner = at.inner(&factor).unwrap();
            let everyone: Vec<usize> = (0..5).collect();
            for found in
                [distances(&at.cloud.x, &inner, &everyone), distances(&x, &at.factor(&inner), &at.cloud.origin)]
            {
                for (a, b) in found.iter().zip(&expected) {
                    assert!((a - b).abs() <= 1e-12 * (1.0 + b), "{a} {b}");
                }
            }
            assert!(at.inner(&Matrix::zeros(1, 3)).is_err());
        }
    }

    #[test]
    fn more_features_than_rows_leave_the_directions_of_the_rows() {
        let x = rows().transpose();
        let at = Coordinates::rotated(&x, &[0, 0, 1, 1], &[1.0; 4]).unwrap();
        assert_eq!(at.rank(), 3);
        let (all, euclid) = ((0..4).collect::<Vec<_>>(), Matrix::identity(5));
        let expected = distances(&x, &euclid, &at.cloud.origin);
        for (a, b) in distances(&at.cloud.x, &Matrix::identity(3), &all).iter().zip(&expected) {
            assert!((a - b).abs() <= 1e-12 * (1.0 + b), "{a} {b}");
        }
    }

    #[test]
    fn equal_rows_have_no_direction_whatever_their_mean_is_rounded_to() {
        let x = Matrix::from_vec(3, 2, [0.1, 1e9 + 0.3].repeat(3)).unwrap();
        for at in
            [Coordinates::rotated(&x, &[0, 1, 1], &[1.0; 3]), Coordinates::whitened(&x, &[0, 1, 1], &[1.0; 3], None)]
        {
            assert!(at.unwrap().check().unwrap_err().to_string().contains("all rows are equal"));
        }
    }

    #[test]
    fn a_metric_is_seen_as_it_is_however_nearly_features_depend_on_each_other() {
        let row = |a: f64, b: f64| [a, 28.3 * (a + 1e-12 * b)];
        let x = Matrix::from_rows(&[row(0.4, 0.3), row(-1.7, -0.2), row(1.5, 0.9), row(0.8, -1.0), row(3.2, 0.5)]);
        let (class, weight) = ([0, 1, 0, 1, 0], [1.0; 5]);
        let at = Coordinates::whitened(&x, &class, &weight, None).unwrap();
        assert_eq!(at.rank(), 2);
        let metric = at.metric(&Matrix::from_rows(&[[0.3, 1.0], [0.9, -0.2]])).unwrap();
        let m = at.seen(&metric).unwrap();
        let along = |map: &Matrix, d: &[Twofold]| -> Vec<Twofold> {
            let of_row = |k: usize| d.iter().zip(map.row(k)).fold(Twofold::ZERO, |sum, (d, v)| sum + *d * *v);
            (0..map.rows()).map(of_row).collect()
        };
        for i in 1..5 {
            let d: Vec<Twofold> = (0..2).map(|a| Twofold::from(x[(i, a)]) - Twofold::from(x[(0, a)])).collect();
            let z: Vec<f64> = along(at.axes(), &d).iter().map(|v| v.value()).collect();
            let seen: f64 = (0..2).map(|a| (0..2).map(|b| m[(a, b)] * z[a] * z[b]).sum::<f64>()).sum();
            let true_length: f64 = along(metric.factor(), &d).iter().map(|v| v.value().powi(2)).sum();
            assert!((seen / true_length - 1.0).abs() < 1e-11, "{seen} and {true_length}");
        }
    }
}
