use super::Cloud;
use crate::{Matrix, linalg};
use std::ops::Range;

/// Points mapped by a factor, augmented so that one product of two rows is a squared distance.
#[derive(Debug, Clone)]
pub(crate) struct Embedding {
    left: Matrix,
    right: Matrix,
}

impl Embedding {
    /// The points of `cloud` mapped by `x -> L^T x` with `L` of size features x rank, so that `M = L L^T`.
    pub(crate) fn new(cloud: &Cloud, factor: &Matrix) -> Self {
        let z = linalg::product(&cloud.x, factor);
        Self::augmented(&z, &z)
    }

    /// The points of `cloud` under `rho = (x - y)^T M (x - y)` with any symmetric `M`, be it positive or not.
    pub(crate) fn symmetric(cloud: &Cloud, m: &Matrix) -> Self {
        Self::augmented(&linalg::product(&cloud.x, m), &cloud.x)
    }

    /// `rho_ij = y_i . x_i + y_j . x_j - 2 y_i . x_j`.
    fn augmented(y: &Matrix, x: &Matrix) -> Self {
        let (n, k) = (y.rows(), y.cols());
        let (mut left, mut right) = (Matrix::zeros(n, k + 2), Matrix::zeros(n, k + 2));
        for i in 0..n {
            let norm = linalg::dot(y.row(i), x.row(i));
            let (l, r) = (left.row_mut(i), right.row_mut(i));
            l[..k].copy_from_slice(y.row(i));
            r[..k].iter_mut().zip(x.row(i)).for_each(|(r, v)| *r = -2.0 * v);
            l[k..].copy_from_slice(&[norm, 1.0]);
            r[k..].copy_from_slice(&[1.0, norm]);
        }
        Self { left, right }
    }

    /// The squared distance of two points, from their difference (no cancellation).
    pub(crate) fn squared_distance(&self, i: usize, j: usize) -> f64 {
        let k = self.left.cols() - 2;
        let left = self.left.row(i)[..k].iter().zip(&self.left.row(j)[..k]);
        let right = self.right.row(i)[..k].iter().zip(&self.right.row(j)[..k]);
        -0.5 * left.zip(right).map(|((a, b), (c, d))| (a - b) * (c - d)).sum::<f64>()
    }

    /// The squared distances between two ranges of points, row by row.
    pub(super) fn distances(&self, out: &mut [f64], left: &Range<usize>, right: &Range<usize>) {
        let k = self.left.cols();
        let (a, b) = (&self.left.as_slice()[left.start * k..], &self.right.as_slice()[right.start * k..]);
        linalg::gemm_nt(out, a, b, left.len(), right.len(), k);
    }
}
