//! Distances between mapped rows and kernels of them, in blocks.

use crate::linalg::exponential::{LEAST_EXPONENT, exponentials};
use crate::{Matrix, linalg};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// How a term of a smooth function falls with the distance `d` to its centre.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kernel {
    /// `exp(-d / l)`: it has an edge at the centre, and forgives noise and features that do not matter.
    #[default]
    Laplace,
    /// `exp(-d^2 / (2 l^2))`: smooth everywhere, for borders that are.
    Gaussian,
}

impl Kernel {
    /// All, the usual one first.
    pub const ALL: [Self; 2] = [Self::Laplace, Self::Gaussian];

    /// Its name, as a file has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Laplace => "laplace",
            Self::Gaussian => "gaussian",
        }
    }

    pub(crate) fn is_laplace(&self) -> bool {
        matches!(self, Self::Laplace)
    }
}

impl std::fmt::Display for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A kernel of one bandwidth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Decay {
    pub(crate) kernel: Kernel,
    pub(crate) bandwidth: f64,
}

impl Decay {
    pub(crate) const fn new(kernel: Kernel, bandwidth: f64) -> Self {
        Self { kernel, bandwidth }
    }

    /// The largest slope: how much a term changes per unit of distance, at most. That of the Gaussian is at a distance of `l`.
    pub(crate) fn slope(self) -> f64 {
        match self.kernel {
            Kernel::Laplace => 1.0 / self.bandwidth,
            Kernel::Gaussian => (-0.5_f64).exp() / self.bandwidth,
        }
    }

    /// The kernel at a distance.
    pub(crate) fn at(self, distance: f64) -> f64 {
        match self.kernel {
            Kernel::Laplace => (-distance / self.bandwidth).exp(),
            Kernel::Gaussian => (-0.5 * (distance / self.bandwidth).powi(2)).exp(),
        }
    }

    /// The kernel of squared distances, in place.
    pub(crate) fn apply(self, squared: &mut [f64]) {
        match self.kernel {
            Kernel::Laplace => pulp::Arch::new().dispatch(Laplace { squared, scale: 1.0 / self.bandwidth }),
            Kernel::Gaussian => {
                let scale = 0.5 / (self.bandwidth * self.bandwidth);
                pulp::Arch::new().dispatch(Gaussian { squared, scale });
            }
        }
    }

    /// The same of a whole matrix, by all threads.
    pub(crate) fn of(self, squared: &Matrix) -> Matrix {
        let mut out = Matrix::default();
        self.of_into(&mut out, squared);
        out
    }

    /// The same in place of another matrix, whose memory is used again.
    pub(super) fn of_into(self, out: &mut Matrix, squared: &Matrix) {
        out.copy_from(squared);
        out.as_mut_slice().par_chunks_mut(1 << 14).for_each(|part| self.apply(part));
    }

    /// The same of the upper triangle of a symmetric matrix, all that a factorisation looks at; what is below it is left as it was.
    pub(super) fn of_upper(self, out: &mut Matrix, squared: &Matrix) {
        let n = squared.cols();
        out.copy_from(squared);
        for i in 0..n {
            self.apply(&mut out.row_mut(i)[i..]);
        }
    }
}

/// Rows of a block. A last block is filled up with zeros, so that what is computed of a row does not depend on the rows that are
/// asked about with it.
pub(super) const BLOCK: usize = 64;

/// Mapped rows made ready to be measured against: moved to their mean, where rounding is least, with their lengths.
#[derive(Debug, Clone)]
pub(crate) struct Points {
    centre: Vec<f64>,
    rows: Matrix,
    lengths: Vec<f64>,
}

impl Points {
    pub(crate) fn new(rows: &Matrix) -> Self {
        let mut centre = vec![0.0; rows.cols()];
        for i in 0..rows.rows() {
            centre.iter_mut().zip(rows.row(i)).for_each(|(c, v)| *c += v / rows.rows() as f64);
        }
        let mut moved = rows.clone();
        for i in 0..moved.rows() {
            moved.row_mut(i).iter_mut().zip(&centre).for_each(|(v, c)| *v -= c);
        }
        let lengths = (0..moved.rows()).map(|i| linalg::dot(moved.row(i), moved.row(i))).collect();
        Self { centre, rows: moved, lengths }
    }

    pub(crate) fn len(&self) -> usize {
        self.lengths.len()
    }

    /// The root of the mean squared distance between the rows, each from each, itself included; one where they all coincide.
    pub(crate) fn spread(&self) -> f64 {
        let mean = 2.0 * self.lengths.iter().sum::<f64>() / self.len().max(1) as f64;
        if mean > 0.0 && mean.is_finite() { mean.sqrt() } else { 1.0 }
    }

    /// The rows less their mean.
    pub(super) fn centred(&self) -> &Matrix {
        &self.rows
    }

    /// A block of queries, beginning at this one, less the mean of the rows; zeros where there are no more.
    pub(super) fn queries(&self, queries: &Matrix, from: usize) -> Vec<f64> {
        let p = self.rows.cols();
        let mut out = vec![0.0; BLOCK * p];
        let count = BLOCK.min(queries.rows() - from);
        for (row, i) in out.chunks_exact_mut(p.max(1)).take(count).zip(from..) {
            row.iter_mut().zip(queries.row(i).iter().zip(&self.centre)).for_each(|(o, (v, c))| *o = v - c);
        }
        out
    }

    /// The squared distances from a block of queries, as [`Self::queries`] gives it, to every row.
    pub(super) fn squared(&self, queries: &[f64]) -> Vec<f64> {
        let (n, p) = (self.len(), self.rows.cols());
        let mut out = vec![0.0; BLOCK * n];
        linalg::gemm_nt(&mut out, queries, self.rows.as_slice(), BLOCK, n, p);
        for (row, query) in out.chunks_exact_mut(n).zip(queries.chunks_exact(p.max(1))) {
            let own = linalg::dot(query, query);
            row.iter_mut().zip(&self.lengths).for_each(|(v, b)| *v = (own + b - 2.0 * *v).max(0.0));
        }
        out
    }

    /// The kernel between a block of queries and every row.
    pub(super) fn kernel(&self, queries: &[f64], decay: Decay) -> Vec<f64> {
        let mut out = self.squared(queries);
        decay.apply(&mut out);
        out
    }

    /// Squared distances from each query to each row.
    pub(crate) fn squared_distances(&self, queries: &Matrix) -> Matrix {
        let (n, q) = (self.len(), queries.rows());
        let mut out = Matrix::zeros(q, n);
        out.as_mut_slice().par_chunks_mut(BLOCK * n.max(1)).enumerate().for_each(|(at, block)| {
            let found = self.squared(&self.queries(queries, at * BLOCK));
            block.copy_from_slice(&found[..block.len()]);
        });
        out
    }

    /// Squared distances between the rows: symmetric, zero from a row to itself.
    pub(crate) fn squared_within(&self) -> Matrix {
        let n = self.len();
        let mut out = Matrix::zeros(n, n);
        out.as_mut_slice().par_chunks_mut(BLOCK * n.max(1)).enumerate().for_each(|(at, block)| {
            let p = self.rows.cols();
            let from = at * BLOCK;
            let count = BLOCK.min(n - from);
            let mut queries = vec![0.0; BLOCK * p];
            queries[..count * p].copy_from_slice(&self.rows.as_slice()[from * p..(from + count) * p]);
            let found = self.squared(&queries);
            block.copy_from_slice(&found[..block.len()]);
        });
        for i in 0..n {
            out[(i, i)] = 0.0;
            for j in 0..i {
                out[(i, j)] = out[(j, i)];
            }
        }
        out
    }
}

struct Laplace<'a> {
    squared: &'a mut [f64],
    scale: f64,
}

impl pulp::WithSimd for Laplace<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        for v in self.squared.iter_mut() {
            *v = (-self.scale * v.sqrt()).max(-LEAST_EXPONENT);
        }
        exponentials(self.squared);
    }
}

struct Gaussian<'a> {
    squared: &'a mut [f64],
    scale: f64,
}

impl pulp::WithSimd for Gaussian<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        for v in self.squared.iter_mut() {
            *v = (-self.scale * *v).max(-LEAST_EXPONENT);
        }
        exponentials(self.squared);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_that_of_the_plain_formula_however_the_queries_are_divided() {
        let rows = Matrix::from_vec(70, 3, (0..210).map(|k| 100.0 + ((k * k + 3) % 17) as f64).collect()).unwrap();
        let points = Points::new(&rows);
        let all = points.squared_distances(&rows);
        for i in 0..70 {
            for j in 0..70 {
                let d: f64 = rows.row(i).iter().zip(rows.row(j)).map(|(a, b)| (a - b).powi(2)).sum();
                assert!((all[(i, j)] - d).abs() < 1e-9, "{i} {j}");
            }
            let alone = points.squared_distances(&rows.select_rows(&[i]));
            assert_eq!(alone.row(0), all.row(i));
        }
        for decay in Kernel::ALL.map(|kernel| Decay::new(kernel, 2.5)) {
            let kernel = decay.of(&points.squared_within());
            for i in 0..70 {
                assert_eq!(kernel[(i, i)], 1.0);
                for j in 0..70 {
                    assert_eq!(kernel[(i, j)], kernel[(j, i)]);
                    let expected = decay.at(all[(i, j)].sqrt());
                    assert!((kernel[(i, j)] - expected).abs() < 1e-7, "{i} {j}");
                }
            }
        }
    }
}
