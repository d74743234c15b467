//! What the Newton steps of both interior-point methods (`central`, `slacks`) have in common: the coordinates that they are taken in, and the
//! system that is left for the metric.

use crate::linalg::{self, Cholesky};
use crate::{Error, Matrix, Result};

/// Coordinates in which `M` and `Z` are the same diagonal matrix (Nesterov and Todd): `M = G V G^T`, `G^T Z G = V`.
pub(super) struct Scaling {
    pub(super) map: Matrix,
    pub(super) values: Vec<f64>,
}

impl Scaling {
    /// From `M = root root^T` and `Z = dual dual^T`.
    pub(super) fn of(root: &Matrix, dual: &Matrix) -> Result<Self> {
        let both = linalg::transposed_product(root, dual);
        let eigen = linalg::symmetric_eigen(&linalg::product_transposed(&both, &both))?;
        let least = linalg::TINY + 1e-30 * eigen.values.last().copied().unwrap_or(0.0);
        let squares: Vec<f64> = eigen.values.iter().map(|v| v.max(least)).collect();
        let map = linalg::product(root, &columns(&eigen.vectors, &squares, |s| s.powf(-0.25)));
        Ok(Self { map, values: squares.iter().map(|s| s.sqrt()).collect() })
    }
}

/// The columns of a matrix times a function of numbers.
pub(super) fn columns(of: &Matrix, values: &[f64], f: impl Fn(f64) -> f64) -> Matrix {
    let mut out = of.clone();
    let scales: Vec<f64> = values.iter().map(|v| f(*v)).collect();
    (0..out.rows()).for_each(|a| out.row_mut(a).iter_mut().zip(&scales).for_each(|(v, t)| *v *= t));
    out
}

/// Adds `sum f f^T` to the lower triangle; `feature` writes each `f`.
pub(super) fn add_gram(h: &mut Matrix, count: usize, mut feature: impl FnMut(usize, &mut [f64])) {
    /// Rows of features at a time.
    const CHUNK: usize = 256;
    let q = h.rows();
    let mut chunk = vec![0.0; CHUNK * q];
    for from in (0..count).step_by(CHUNK) {
        let many = CHUNK.min(count - from);
        chunk.chunks_exact_mut(q).take(many).enumerate().for_each(|(k, f)| feature(from + k, f));
        linalg::gram_block_add(h.as_mut_slice(), &chunk, many, q, 0..q, 0..q);
    }
}

/// `H + shift`, factored.
pub(super) fn factored(h: Matrix, shift: f64) -> Result<Cholesky> {
    /// What a system that cannot be factored gets on its diagonal, as a part of the largest element: a hundred roundings, ...
    const FIRST_SHIFT: f64 = 1e-14;
    /// ... this many times as much each time it fails again, ...
    const LARGER: f64 = 100.0;
    /// ... so often: by then the diagonal is all that is left.
    const SHIFTS: usize = 8;
    let q = h.rows();
    let top = (0..q).fold(0.0f64, |m, k| m.max(h[(k, k)]));
    let mut more = 0.0;
    for _ in 0..SHIFTS {
        let mut trial = h.clone();
        (0..q).for_each(|k| trial[(k, k)] += shift + more);
        if let Some(factor) = Cholesky::factor(trial.into_vec(), q) {
            return Ok(factor);
        }
        more = (more * LARGER).max(FIRST_SHIFT * top);
    }
    Err(Error::Numerical {
        place: "a Newton system",
        message: "it could not be factorised: the features may be of very different scales".to_owned(),
    })
}
