//! The subspace that the metric is sought in where there are many coordinates.

use super::outer::{DIRECTIONS, Outer, SUBSPACE};
use crate::{Matrix, Result, linalg};

/// Multipliers that are infeasible by less than this part of the tolerance ask for no direction.
const FEASIBLE: f64 = 1e-3;
/// A direction is unused, or no new one, where it has less than this part of the largest.
const UNUSED: f64 = 1e-6;

impl Outer<'_> {
    /// Adds the directions in which the multipliers are least feasible; drops the least used ones where there are too many.
    pub(super) fn grow(&mut self, push: &Matrix, pull: &Matrix) -> Result<bool> {
        let Some(basis) = &self.basis else { return Ok(false) };
        let (p, r) = (basis.rows(), basis.cols());
        let mut z = pull.clone();
        linalg::add_scaled(&mut z, -1.0, push);
        let eigen = linalg::symmetric_eigen(&z)?;
        let tiny = FEASIBLE * self.settings.stop.tolerance * self.settings.c;
        let wanted = eigen.values.iter().take_while(|&&v| v < -tiny).count().min(DIRECTIONS);
        let most = self.settings.rank.unwrap_or(SUBSPACE).min(p);
        if wanted == 0 {
            return Ok(false);
        }
        // The directions that the metric uses, the most used first.
        let own = linalg::symmetric_eigen(&linalg::product_transposed(&self.state.factor, &self.state.factor))?;
        let top = own.values.last().copied().unwrap_or(0.0);
        let used = own.values.iter().filter(|&&v| v > UNUSED * top).count();
        let wanted = wanted.min(most.saturating_sub(used));
        if wanted == 0 {
            return Ok(false);
        }
        let keep = (most - wanted).min(r);
        let rotation = columns(&own.vectors, r - keep..r);
        let mut next = Matrix::zeros(p, keep + wanted);
        let kept = linalg::product(basis, &rotation);
        for a in 0..p {
            next.row_mut(a)[..keep].copy_from_slice(kept.row(a));
        }
        let mut count = keep;
        for k in 0..wanted {
            let mut v: Vec<f64> = (0..p).map(|a| eigen.vectors[(a, k)]).collect();
            for _ in 0..2 {
                for b in 0..count {
                    let t: f64 = (0..p).map(|a| next[(a, b)] * v[a]).sum();
                    (0..p).for_each(|a| v[a] -= t * next[(a, b)]);
                }
            }
            let norm = linalg::dot(&v, &v).sqrt();
            if norm > UNUSED {
                (0..p).for_each(|a| next[(a, count)] = v[a] / norm);
                count += 1;
            }
        }
        if count == keep {
            return Ok(false);
        }
        let next = columns(&next, 0..count);
        let pad = |a: &Matrix| {
            let small = linalg::congruence(a, &rotation);
            let mut out = Matrix::zeros(count, count);
            for i in 0..keep {
                out.row_mut(i)[..keep].copy_from_slice(small.row(i));
            }
            out
        };
        self.state.m = pad(&self.state.m);
        self.state.z = pad(&self.state.z);
        let factor = linalg::transposed_product(&rotation, &self.state.factor);
        let mut padded = Matrix::zeros(count, factor.cols());
        for i in 0..keep {
            padded.row_mut(i).copy_from_slice(factor.row(i));
        }
        self.state.factor = padded;
        self.basis = Some(next);
        Ok(true)
    }
}

pub(crate) fn columns(a: &Matrix, range: std::ops::Range<usize>) -> Matrix {
    let mut out = Matrix::zeros(a.rows(), range.len());
    for i in 0..a.rows() {
        out.row_mut(i).copy_from_slice(&a.row(i)[range.clone()]);
    }
    out
}
