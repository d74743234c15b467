//! Symmetric matrices as vectors of their distinct elements, in an orthonormal basis: inner products stay as they are.
//!
//! Elements run along the rows of the upper triangle, or with `_lower` of the lower one. The exact solver takes the latter, in
//! which the rows of a Newton system can be written without a stride.

use crate::Matrix;

const SQRT_2: f64 = std::f64::consts::SQRT_2;

/// Number of coordinates of a symmetric matrix of size `p`.
pub(crate) fn packed_len(p: usize) -> usize {
    p * (p + 1) / 2
}

/// The coordinates of a symmetric matrix in an orthonormal basis: off-diagonal elements count twice, hence `sqrt 2`.
pub(crate) fn pack(m: &Matrix) -> Vec<f64> {
    let p = m.rows();
    let mut out = Vec::with_capacity(packed_len(p));
    for a in 0..p {
        out.push(m[(a, a)]);
        out.extend((a + 1..p).map(|b| SQRT_2 * m[(a, b)]));
    }
    out
}

/// The symmetric matrix with these coordinates.
pub(crate) fn unpack(v: &[f64], p: usize) -> Matrix {
    let mut m = Matrix::zeros(p, p);
    let mut at = 0;
    for a in 0..p {
        m[(a, a)] = v[at];
        at += 1;
        for b in a + 1..p {
            let value = v[at] * std::f64::consts::FRAC_1_SQRT_2;
            m[(a, b)] = value;
            m[(b, a)] = value;
            at += 1;
        }
    }
    m
}

/// Writes the coordinates of `x x^T`.
pub(crate) fn pack_square(x: &[f64], out: &mut [f64]) {
    let mut at = 0;
    for a in 0..x.len() {
        out[at] = x[a] * x[a];
        at += 1;
        let t = SQRT_2 * x[a];
        for &v in &x[a + 1..] {
            out[at] = t * v;
            at += 1;
        }
    }
}

/// The lower triangle of a symmetric matrix, off-diagonal elements times `sqrt 2`: an isometry.
pub(crate) fn pack_lower(a: &Matrix, out: &mut [f64]) {
    let mut at = 0;
    for r in 0..a.rows() {
        for c in 0..r {
            out[at] = SQRT_2 * a[(r, c)];
            at += 1;
        }
        out[at] = a[(r, r)];
        at += 1;
    }
}

/// The inverse of [`pack_lower`].
pub(crate) fn unpack_lower(v: &[f64], p: usize) -> Matrix {
    let mut a = Matrix::zeros(p, p);
    let mut at = 0;
    for r in 0..p {
        for c in 0..r {
            a[(r, c)] = v[at] / SQRT_2;
            a[(c, r)] = a[(r, c)];
            at += 1;
        }
        a[(r, r)] = v[at];
        at += 1;
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{dot, inner, transposed_product};

    #[test]
    fn packing_keeps_inner_products_and_comes_back() {
        let a = Matrix::from_rows(&[[1.0, 2.0, 3.0], [2.0, -4.0, 0.5], [3.0, 0.5, 7.0]]);
        let b = Matrix::from_rows(&[[0.0, 1.0, -2.0], [1.0, 2.0, 0.25], [-2.0, 0.25, 1.0]]);
        assert!((dot(&pack(&a), &pack(&b)) - inner(&a, &b)).abs() < 1e-12);
        for (v, w) in unpack(&pack(&a), 3).as_slice().iter().zip(a.as_slice()) {
            assert!((v - w).abs() < 1e-15);
        }
        let mut square = vec![0.0; 6];
        pack_square(&[1.0, -2.0, 0.5], &mut square);
        let x = Matrix::from_rows(&[[1.0, -2.0, 0.5]]);
        assert_eq!(square, pack(&transposed_product(&x, &x)));
    }

    #[test]
    fn either_triangle_has_the_same_elements() {
        let a = Matrix::from_rows(&[[1.0, 2.0, 3.0], [2.0, -4.0, 0.5], [3.0, 0.5, 7.0]]);
        let mut lower = vec![0.0; packed_len(3)];
        pack_lower(&a, &mut lower);
        assert!((dot(&lower, &lower) - inner(&a, &a)).abs() < 1e-12);
        for (v, w) in unpack_lower(&lower, 3).as_slice().iter().zip(a.as_slice()) {
            assert!((v - w).abs() < 1e-15);
        }
        let mut upper = pack(&a);
        upper.sort_by(f64::total_cmp);
        lower.sort_by(f64::total_cmp);
        assert_eq!(upper, lower);
    }
}
