//! Dense algebra. The only place that names faer.

mod singular;

pub(crate) use singular::singular_values;

use crate::Matrix;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

fn view(m: &Matrix) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(m.as_slice(), m.rows(), m.cols())
}

/// `A B^T`.
pub(crate) fn product_transposed(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.rows(), b.rows());
    let (rows, cols) = (out.rows(), out.cols());
    let dst = MatMut::from_row_major_slice_mut(out.as_mut_slice(), rows, cols);
    matmul(dst, Accum::Replace, view(a), view(b).transpose(), 1.0, Par::Seq);
    out
}

/// `A^T B`.
pub(crate) fn transposed_product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.cols(), b.cols());
    let (rows, cols) = (out.rows(), out.cols());
    let dst = MatMut::from_row_major_slice_mut(out.as_mut_slice(), rows, cols);
    matmul(dst, Accum::Replace, view(a).transpose(), view(b), 1.0, Par::Seq);
    out
}
