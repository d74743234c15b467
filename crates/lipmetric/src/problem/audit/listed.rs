use super::prove::LESS;
use crate::linalg::twofold::{Outer, Twofold, Twofolds, UNIT, is_positive_definite};
use crate::linalg::{self, packed_len};
use crate::pairs::{Cloud, weighted_outer};
use crate::problem::{Known, is_surely_positive};
use crate::{Matrix, Result};
use rayon::prelude::*;

/// What sums of multipliers may be off by, relatively: those of a pair are sums over the comparisons that it is in.
pub(crate) const SUMMED: f64 = 1e-12;
/// Elements of outer products in twice the usual precision, at most: about a second. Beyond, the usual precision does, with an
/// allowance that costs more digits.
const MOST: f64 = 5e8;
/// What sums of outer products and eigenvalues in the usual precision may be off by, relatively.
const PLAIN: f64 = 1e-13;
/// Features depend on each other where some direction varies by less than this part of the largest: rounded coordinates could
/// then miss it.
const DEPENDENT: f64 = 1e-10;
/// Pairs that are summed up at a time, whatever the number of threads.
const CHUNK: usize = 2048;

/// A pair and its multiplier.
pub(crate) type Weighed = (u32, u32, f64);

/// The given rows in some coordinates, for sums over listed pairs of `A = (x_i - x_j)(x_i - x_j)^T`.
pub(crate) struct Listed<'a> {
    /// The given rows of positive weight, sorted by class.
    pub(crate) cloud: &'a Cloud,
    /// Coordinates x features.
    pub(crate) basis: &'a Matrix,
}

impl Listed<'_> {
    /// The part of `scale` with which `sum fixed A + ridge I + scale sum moving A` is positive definite, proved: the largest of
    /// some parts just below one, or zero. Multipliers of `moving` may have either sign.
    pub(crate) fn proved_part(&self, fixed: &[Weighed], ridge: f64, moving: &[Weighed], scale: f64) -> f64 {
        let part = self.part(fixed, ridge, moving, scale);
        if part > 0.0 || ridge > 0.0 {
            return part;
        }
        let basis = self.where_they_differ(fixed, moving);
        basis.map_or(0.0, |basis| Listed { cloud: self.cloud, basis: &basis }.part(fixed, ridge, moving, scale))
    }

    /// Coordinates of all features but those in which no listed pair differs, in which the sums are zero whatever the
    /// multipliers: whitened, and as many as features, so that no metric of these features is left out. None where all features
    /// count, or those that do depend on each other.
    fn where_they_differ(&self, fixed: &[Weighed], moving: &[Weighed]) -> Option<Matrix> {
        let x = &self.cloud.x;
        let pairs = || fixed.iter().chain(moving).filter(|m| m.2 != 0.0);
        let differs = |&k: &usize| pairs().any(|&(i, j, _)| x[(i as usize, k)] != x[(j as usize, k)]);
        let active: Vec<usize> = (0..x.cols()).filter(differs).collect();
        if active.is_empty() || active.len() == x.cols() {
            return None;
        }
        let mut spread = Matrix::zeros(active.len(), active.len());
        for &(i, j, m) in pairs() {
            let d: Vec<f64> = active.iter().map(|&k| x[(i as usize, k)] - x[(j as usize, k)]).collect();
            for (a, da) in d.iter().enumerate() {
                spread.row_mut(a).iter_mut().zip(&d).for_each(|(v, db)| *v += m.abs() * da * db);
            }
        }
        let eigen = linalg::symmetric_eigen(&spread).ok()?;
        let (least, most) = (*eigen.values.first()?, *eigen.values.last()?);
        let independent = least > DEPENDENT * most;
        if !independent {
            return None;
        }
        let mut basis = Matrix::zeros(active.len(), x.cols());
        for (row, value) in eigen.values.iter().enumerate() {
            for (a, &k) in active.iter().enumerate() {
                basis[(row, k)] = eigen.vectors[(a, row)] / value.sqrt();
            }
        }
        Some(basis)
    }

    fn part(&self, fixed: &[Weighed], ridge: f64, moving: &[Weighed], scale: f64) -> f64 {
        let (near, far): (Vec<Weighed>, Vec<Weighed>) = moving.iter().partition(|m| m.2 > 0.0);
        let far: Vec<Weighed> = far.into_iter().map(|(i, j, m)| (i, j, -m)).collect();
        let fits: Box<dyn Fn(f64) -> bool> = if self.is_cheap(fixed.len() + moving.len()) {
            self.twofold_test(fixed, ridge, &near, &far)
        } else {
            self.plain_test(fixed, ridge, &near, &far)
        };
        let at = |k: usize| 1.0 - LESS[k];
        let (mut low, mut high) = (0, LESS.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if fits(scale * at(middle)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        if low < LESS.len() { at(low) } else { 0.0 }
    }

    fn is_cheap(&self, pairs: usize) -> bool {
        (pairs * packed_len(self.basis.rows())) as f64 <= MOST
    }

    fn twofold_test(
        &self,
        fixed: &[Weighed],
        ridge: f64,
        near: &[Weighed],
        far: &[Weighed],
    ) -> Box<dyn Fn(f64) -> bool> {
        let side = self.basis.rows();
        let y = Twofolds::product(&self.cloud.x, &self.basis.transpose());
        let [fixed, near, far] = [fixed, near, far].map(|pairs| outer(&y, side, pairs));
        let mut unit = Outer::zeros(side);
        unit.add_all(
            if ridge > 0.0 { side } else { 0 },
            |_| 1.0,
            |k, hi, lo| {
                hi.fill(0.0);
                lo.fill(0.0);
                hi[k] = 1.0;
            },
        );
        let error = coordinate_error(self.cloud, self.basis);
        Box::new(move |scale| {
            // What pulls is tested as less than it may be after rounding, what pushes as more.
            let parts = [
                (Twofold::from(1.0 - SUMMED), &fixed),
                (Twofold::from(ridge * (1.0 - SUMMED)), &unit),
                (Twofold::from(scale * (1.0 - SUMMED)), &near),
                (Twofold::from(-scale * (1.0 + SUMMED)), &far),
            ];
            is_positive_definite(&parts, &error)
        })
    }

    fn plain_test(&self, fixed: &[Weighed], ridge: f64, near: &[Weighed], far: &[Weighed]) -> Box<dyn Fn(f64) -> bool> {
        let (points, reach) = self.plain();
        let sum =
            |pairs: &[Weighed]| weighted_outer(&points, pairs.iter().map(|&(i, j, m)| (i as usize, j as usize, m)));
        let total = |pairs: &[Weighed]| pairs.iter().map(|p| p.2).sum::<f64>();
        let weight = total(fixed) + total(near) + total(far);
        let (mut fixed, near, far) = (sum(fixed), sum(near), sum(far));
        (0..fixed.rows()).for_each(|k| fixed[(k, k)] += ridge);
        Box::new(move |scale| {
            let mut pull = fixed.clone();
            linalg::add_scaled(&mut pull, scale, &near);
            let known = Known { reach: &reach, mapped: false };
            is_surely_positive(&pull, &far, scale * (1.0 + SUMMED), weight, known)
        })
    }

    /// The points in these coordinates about one of them, and the largest size of each coordinate.
    fn plain(&self) -> (Matrix, Vec<f64>) {
        let y = Twofolds::product(&self.cloud.x, &self.basis.transpose());
        let (n, side) = (self.cloud.len(), self.basis.rows());
        let mut out = Matrix::zeros(n, side);
        let mut reach = vec![0.0f64; side];
        for i in 0..n {
            for k in 0..side {
                let v = (y.get(i * side + k) - y.get(k)).value();
                out[(i, k)] = v;
                reach[k] = reach[k].max(v.abs());
            }
        }
        (out, reach)
    }

    /// A number that is not below the Frobenius norm of the positive part of `- sum moving A` on all features. The coordinates
    /// have orthonormal axes; what of the rows is outside of them is allowed for.
    pub(crate) fn pushing_norm(&self, moving: &[Weighed]) -> Result<f64> {
        let (points, _) = self.plain();
        let side = self.basis.rows();
        let outside = self.outside(&points);
        let (mut size, mut off) = (0.0, 0.0);
        for &(i, j, m) in moving {
            let (i, j) = (i as usize, j as usize);
            let length = points.row(i).iter().zip(points.row(j)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
            let beside = outside[i] + outside[j];
            size += m.abs() * length;
            off += m.abs() * (2.0 * length.sqrt() * beside + beside * beside);
        }
        let cheap = self.is_cheap(moving.len());
        let sum = if cheap {
            let y = Twofolds::product(&self.cloud.x, &self.basis.transpose());
            unpacked(&outer(&y, side, moving))
        } else {
            weighted_outer(&points, moving.iter().map(|&(i, j, m)| (i as usize, j as usize, m)))
        };
        let values = linalg::symmetric_eigenvalues(&sum)?;
        let positive = values.iter().map(|v| v.min(0.0).powi(2)).sum::<f64>().sqrt();
        let norm = linalg::inner(&sum, &sum).sqrt();
        let rounding = 8.0 * side as f64 * f64::EPSILON * norm + SUMMED * norm + if cheap { 0.0 } else { PLAIN * size };
        Ok(positive + rounding + off)
    }

    /// How far each row is from the space of the coordinates through the first row.
    fn outside(&self, points: &Matrix) -> Vec<f64> {
        let x = &self.cloud.x;
        let p = x.cols();
        if self.basis.rows() == p {
            return vec![0.0; x.rows()];
        }
        let back = linalg::product(points, self.basis);
        let one = |i: usize| {
            let differences = x.row(i).iter().zip(x.row(0)).zip(back.row(i));
            let (mut sum, mut size) = (0.0, 0.0);
            for ((a, b), c) in differences {
                sum += (a - b - c) * (a - b - c);
                size += (a - b) * (a - b);
            }
            sum.sqrt() + 4.0 * p as f64 * f64::EPSILON * f64::sqrt(size)
        };
        (0..x.rows()).map(one).collect()
    }
}

/// What a coordinate of a difference may be off by: the products and sums that it comes from are rounded.
pub(super) fn coordinate_error(cloud: &Cloud, basis: &Matrix) -> Vec<f64> {
    let terms = 4.0 * (basis.cols() + 4) as f64;
    largest_sums(&cloud.x, &basis.transpose()).into_iter().map(|largest| terms * UNIT * largest).collect()
}

/// For each column of `F` the largest of the sums `sum over features of |x F|` of all rows.
pub(super) fn largest_sums(x: &Matrix, f: &Matrix) -> Vec<f64> {
    let sums = linalg::product(&linalg::absolute(x), &linalg::absolute(f));
    let mut largest = vec![0.0f64; f.cols()];
    for i in 0..sums.rows() {
        largest.iter_mut().zip(sums.row(i)).for_each(|(l, s)| *l = l.max(*s));
    }
    largest
}

/// `sum m A` over pairs.
fn outer(y: &Twofolds, side: usize, pairs: &[Weighed]) -> Outer {
    let part = |pairs: &[Weighed]| {
        let mut out = Outer::zeros(side);
        let vector = |k: usize, hi: &mut [f64], lo: &mut [f64]| {
            y.difference(side, pairs[k].0 as usize, pairs[k].1 as usize, hi, lo);
        };
        out.add_all(pairs.len(), |k| pairs[k].2, vector);
        out
    };
    let parts: Vec<Outer> = pairs.par_chunks(CHUNK).map(part).collect();
    let mut out = Outer::zeros(side);
    parts.iter().for_each(|p| out.merge(p));
    out
}

/// The matrix in the usual precision.
pub(super) fn unpacked(sum: &Outer) -> Matrix {
    let mut out = Matrix::zeros(sum.side, sum.side);
    for r in 0..sum.side {
        for c in 0..=r {
            let v = sum.sum.get(packed_len(r) + c).value();
            (out[(r, c)], out[(c, r)]) = (v, v);
        }
    }
    out
}
