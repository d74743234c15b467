use crate::{Error, Matrix, Result};
use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::svd::{ComputeSvdVectors, svd, svd_scratch};
use faer::{MatMut, MatRef, Par, Spec};
use std::ops::Range;

/// `A = V diag(values) V^T`, eigenvalues ascending, eigenvectors in the columns of `vectors`.
#[derive(Debug, Clone)]
pub(crate) struct Eigen {
    pub(crate) values: Vec<f64>,
    pub(crate) vectors: Matrix,
}

impl Eigen {
    /// The eigenvectors of these places, each times a function of its eigenvalue: with the square root, `F` with
    /// `F F^T = A` on them.
    pub(crate) fn scaled(&self, places: Range<usize>, f: impl Fn(f64) -> f64) -> Matrix {
        let mut out = Matrix::zeros(self.vectors.rows(), places.len());
        let sizes: Vec<f64> = self.values[places.clone()].iter().map(|&v| f(v)).collect();
        for a in 0..self.vectors.rows() {
            for ((o, v), s) in out.row_mut(a).iter_mut().zip(&self.vectors.row(a)[places.clone()]).zip(&sizes) {
                *o = v * s;
            }
        }
        out
    }

    /// All eigenvectors, each divided by a function of its eigenvalue.
    pub(crate) fn divided(&self, f: impl Fn(f64) -> f64) -> Matrix {
        let mut out = self.vectors.clone();
        let sizes: Vec<f64> = self.values.iter().map(|&v| f(v)).collect();
        for a in 0..out.rows() {
            out.row_mut(a).iter_mut().zip(&sizes).for_each(|(v, s)| *v /= s);
        }
        out
    }

    /// `f(A) = V diag(f(values)) V^T`.
    pub(crate) fn apply(&self, f: impl Fn(f64) -> f64) -> Matrix {
        super::product_transposed(&self.scaled(0..self.values.len(), f), &self.vectors)
    }
}

fn failed(what: &str) -> Error {
    Error::Numerical {
        place: "an eigendecomposition",
        message: format!("{what} did not converge: the data may hold values of very different magnitude"),
    }
}

/// The eigendecomposition of a symmetric matrix.
pub(crate) fn symmetric_eigen(a: &Matrix) -> Result<Eigen> {
    let n = a.rows();
    let mut values = vec![0.0; n];
    let mut vectors = Matrix::zeros(n, n);
    let params = Spec::default();
    let mut memory = MemBuffer::new(self_adjoint_evd_scratch::<f64>(n, ComputeEigenvectors::Yes, Par::Seq, params));
    // The storage is column-major for faer, so that the row-major matrix holds the transpose.
    let u = MatMut::from_column_major_slice_mut(vectors.as_mut_slice(), n, n);
    let a = MatRef::from_column_major_slice(a.as_slice(), n, n);
    let s = DiagMut::from_slice_mut(&mut values);
    self_adjoint_evd(a, s, Some(u), Par::Seq, MemStack::new(&mut memory), params)
        .map_err(|_| failed("a symmetric matrix"))?;
    if values.iter().any(|v| !v.is_finite()) {
        return Err(failed("a symmetric matrix"));
    }
    Ok(Eigen { values, vectors: vectors.transpose() })
}

/// The eigenvalues of a symmetric matrix, ascending.
pub(crate) fn symmetric_eigenvalues(a: &Matrix) -> Result<Vec<f64>> {
    let n = a.rows();
    let mut values = vec![0.0; n];
    let params = Spec::default();
    let mut memory = MemBuffer::new(self_adjoint_evd_scratch::<f64>(n, ComputeEigenvectors::No, Par::Seq, params));
    let a = MatRef::from_column_major_slice(a.as_slice(), n, n);
    let s = DiagMut::from_slice_mut(&mut values);
    self_adjoint_evd(a, s, None, Par::Seq, MemStack::new(&mut memory), params)
        .map_err(|_| failed("a symmetric matrix"))?;
    if values.iter().any(|v| !v.is_finite()) {
        return Err(failed("a symmetric matrix"));
    }
    Ok(values)
}

/// `S^-1/2` and `S^1/2` of a symmetric matrix, its eigenvalues raised to at least this fraction of the largest.
pub(crate) fn roots(s: &Matrix, floor: f64) -> Result<(Matrix, Matrix)> {
    let eigen = symmetric_eigen(s)?;
    let p = s.rows();
    let top = eigen.values.last().copied().unwrap_or(0.0);
    if top.is_nan() || top <= 0.0 {
        return Ok((Matrix::identity(p), Matrix::identity(p)));
    }
    let build = |f: &dyn Fn(f64) -> f64| {
        let mut out = eigen.apply(|v| f(v.max(floor * top)));
        super::symmetrise(&mut out);
        out
    };
    Ok((build(&|v| 1.0 / v.sqrt()), build(&f64::sqrt)))
}

/// An eigenvalue up to this part of the largest is what rounding has made of zero.
const ROUNDED: f64 = 1e-14;

/// `L` with `L^T L` the positive part of a symmetric `M`, rows of largest eigenvalue first, those that rounding has made
/// left out.
pub(crate) fn root(m: &Matrix) -> Result<Matrix> {
    let eigen = symmetric_eigen(m)?;
    let p = m.rows();
    let top = eigen.values.last().copied().unwrap_or(0.0).max(0.0);
    let kept: Vec<usize> = (0..p).rev().filter(|&k| eigen.values[k] > ROUNDED * top && eigen.values[k] > 0.0).collect();
    let mut out = Matrix::zeros(kept.len(), p);
    for (r, &k) in kept.iter().enumerate() {
        let scale = eigen.values[k].sqrt();
        for a in 0..p {
            out[(r, a)] = scale * eigen.vectors[(a, k)];
        }
    }
    Ok(out)
}

/// The singular values (descending) and right singular vectors (columns) of a matrix.
pub(crate) fn singular(a: &Matrix) -> Result<(Vec<f64>, Matrix)> {
    let (m, n) = (a.rows(), a.cols());
    let mut values = vec![0.0; m.min(n)];
    let mut right = Matrix::zeros(n, n);
    let params = Spec::default();
    let mut memory =
        MemBuffer::new(svd_scratch::<f64>(m, n, ComputeSvdVectors::No, ComputeSvdVectors::Full, Par::Seq, params));
    let v = MatMut::from_column_major_slice_mut(right.as_mut_slice(), n, n);
    let a = MatRef::from_row_major_slice(a.as_slice(), m, n);
    let s = DiagMut::from_slice_mut(&mut values);
    svd(a, s, None, Some(v), Par::Seq, MemStack::new(&mut memory), params).map_err(|_| failed("the rows"))?;
    if values.iter().any(|v| !v.is_finite()) {
        return Err(failed("the rows"));
    }
    Ok((values, right.transpose()))
}
