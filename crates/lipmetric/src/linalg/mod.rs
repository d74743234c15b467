//! Dense algebra. The only place that names faer.
//!
//! Kernels here work on row-major data and are sequential, but for the factorisation of a large matrix; parallelism lives in the callers,
//! over blocks whose number does not depend on the number of threads, so that results are bit-identical for any of them.

mod cholesky;
mod differences;
mod eigen;
mod lanczos;

pub(crate) use cholesky::{Cholesky, largest_generalised};
pub(crate) use differences::{along_differences, differences_with_image, gather_differences};
pub(crate) use eigen::{Eigen, root, roots, singular, symmetric_eigen, symmetric_eigenvalues};

pub(crate) mod exponential;
mod peeled;
pub(crate) mod proximal;
mod singular;

pub(crate) use peeled::Peeled;
pub(crate) use singular::singular_values;

mod spectral;
mod symmetric;
pub(crate) mod twofold;

pub(crate) use spectral::spectral_norm_above;
pub(crate) use symmetric::{pack, pack_lower, pack_square, packed_len, unpack, unpack_lower};

use crate::Matrix;
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, MatMut, MatRef, Par};

/// In place of a divisor that is zero: no figure of a problem that can be solved is as small.
pub(crate) const TINY: f64 = 1e-300;

fn view(m: &Matrix) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(m.as_slice(), m.rows(), m.cols())
}

fn view_mut(m: &mut Matrix) -> MatMut<'_, f64> {
    let (rows, cols) = (m.rows(), m.cols());
    MatMut::from_row_major_slice_mut(m.as_mut_slice(), rows, cols)
}

/// `A B`.
pub(crate) fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.rows(), b.cols());
    matmul(view_mut(&mut out), Accum::Replace, view(a), view(b), 1.0, Par::Seq);
    out
}

/// `A B^T`.
pub(crate) fn product_transposed(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.rows(), b.rows());
    matmul(view_mut(&mut out), Accum::Replace, view(a), view(b).transpose(), 1.0, Par::Seq);
    out
}

/// `A^T B`.
pub(crate) fn transposed_product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.cols(), b.cols());
    matmul(view_mut(&mut out), Accum::Replace, view(a).transpose(), view(b), 1.0, Par::Seq);
    out
}

/// `out = A B^T` on row-major slices: `A` is `m x k`, `B` is `n x k`.
pub(crate) fn gemm_nt(out: &mut [f64], a: &[f64], b: &[f64], m: usize, n: usize, k: usize) {
    let dst = MatMut::from_row_major_slice_mut(&mut out[..m * n], m, n);
    let a = MatRef::from_row_major_slice(&a[..m * k], m, k);
    let b = MatRef::from_row_major_slice(&b[..n * k], n, k);
    matmul(dst, Accum::Replace, a, b.transpose(), 1.0, Par::Seq);
}

/// `out = A B` on row-major slices: `A` is `m x k`, `B` is `k x n`.
pub(crate) fn gemm_nn(out: &mut [f64], a: &[f64], b: &[f64], m: usize, n: usize, k: usize) {
    let dst = MatMut::from_row_major_slice_mut(&mut out[..m * n], m, n);
    let a = MatRef::from_row_major_slice(&a[..m * k], m, k);
    let b = MatRef::from_row_major_slice(&b[..k * n], k, n);
    matmul(dst, Accum::Replace, a, b, 1.0, Par::Seq);
}

/// `out += A B` on row-major slices: `A` is `m x k`, `B` is `k x n`.
pub(crate) fn gemm_nn_add(out: &mut [f64], a: &[f64], b: &[f64], m: usize, n: usize, k: usize) {
    let dst = MatMut::from_row_major_slice_mut(&mut out[..m * n], m, n);
    let a = MatRef::from_row_major_slice(&a[..m * k], m, k);
    let b = MatRef::from_row_major_slice(&b[..k * n], k, n);
    matmul(dst, Accum::Add, a, b, 1.0, Par::Seq);
}

/// `out += A^T B` on row-major slices: `A` is `k x m`, `B` is `k x n`.
pub(crate) fn gemm_tn_add(out: &mut [f64], a: &[f64], b: &[f64], m: usize, n: usize, k: usize) {
    let dst = MatMut::from_row_major_slice_mut(&mut out[..m * n], m, n);
    let a = MatRef::from_row_major_slice(&a[..k * m], k, m);
    let b = MatRef::from_row_major_slice(&b[..k * n], k, n);
    matmul(dst, Accum::Add, a.transpose(), b, 1.0, Par::Seq);
}

/// `out += A_i^T A_j` where `A_i`, `A_j` are the column ranges `i`, `j` of a row-major matrix with `cols` columns and
/// `rows` rows. `out` is column-major, `i.len() x j.len()`; where `i == j` only its lower triangle is computed.
pub(crate) fn gram_block_add(
    out: &mut [f64],
    a: &[f64],
    rows: usize,
    cols: usize,
    i: std::ops::Range<usize>,
    j: std::ops::Range<usize>,
) {
    let dst = MatMut::from_column_major_slice_mut(&mut out[..i.len() * j.len()], i.len(), j.len());
    let a = MatRef::from_row_major_slice(&a[..rows * cols], rows, cols);
    let left = a.subcols(i.start, i.len()).transpose();
    let right = a.subcols(j.start, j.len());
    if i == j {
        use BlockStructure::{Rectangular, TriangularLower};
        triangular::matmul(dst, TriangularLower, Accum::Add, left, Rectangular, right, Rectangular, 1.0, Par::Seq);
    } else {
        matmul(dst, Accum::Add, left, right, 1.0, Par::Seq);
    }
}

/// `G^T A G`, made exactly symmetric.
pub(crate) fn congruence(a: &Matrix, g: &Matrix) -> Matrix {
    let mut out = transposed_product(g, &product(a, g));
    symmetrise(&mut out);
    out
}

/// `G A G^T`, made exactly symmetric.
pub(crate) fn congruence_transposed(a: &Matrix, g: &Matrix) -> Matrix {
    let mut out = product_transposed(&product(g, a), g);
    symmetrise(&mut out);
    out
}

/// Replaces a square matrix by its symmetric part.
pub(crate) fn symmetrise(a: &mut Matrix) {
    for i in 0..a.rows() {
        for j in 0..i {
            let mean = 0.5 * (a[(i, j)] + a[(j, i)]);
            a[(i, j)] = mean;
            a[(j, i)] = mean;
        }
    }
}

/// `<A, B>`, the sum of products of elements.
pub(crate) fn inner(a: &Matrix, b: &Matrix) -> f64 {
    dot(a.as_slice(), b.as_slice())
}

/// `|A|`, element by element.
pub(crate) fn absolute(a: &Matrix) -> Matrix {
    let mut out = a.clone();
    out.as_mut_slice().iter_mut().for_each(|v| *v = v.abs());
    out
}

/// `A += t B`.
pub(crate) fn add_scaled(a: &mut Matrix, t: f64, b: &Matrix) {
    for (x, y) in a.as_mut_slice().iter_mut().zip(b.as_slice()) {
        *x += t * y;
    }
}

/// The inner product of two vectors, in four interleaved sums.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (a4, b4) = (a.chunks_exact(4), b.chunks_exact(4));
    let tail: f64 = a4.remainder().iter().zip(b4.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a4.zip(b4) {
        for k in 0..4 {
            sums[k] += x[k] * y[k];
        }
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + tail
}
