//! `A^T A` of all pairs from fourth moments, on the `p (p + 1) / 2` coordinates of symmetric matrices.

use crate::linalg;
use crate::pairs::Cloud;
use crate::problem::{Variant, groups};
use crate::{Error, Matrix, Result};

/// Features up to which the paper's systems are built: each then takes a quarter of a gigabyte.
const MOST_FEATURES: usize = 107;

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
        out.extend((a + 1..p).map(|b| std::f64::consts::SQRT_2 * m[(a, b)]));
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
        let t = std::f64::consts::SQRT_2 * x[a];
        for &v in &x[a + 1..] {
            out[at] = t * v;
            at += 1;
        }
    }
}

/// `sum over pairs of a a^T` with `a` the coordinates of `(x_i - x_j)(x_i - x_j)^T`, over the pairs that bound the diameter.
///
/// With the rows of a group centred, `sum_{i<j} d_a d_b d_c d_d = n T_abcd + T_ab T_cd + T_ac T_bd + T_ad T_bc`, where `T`
/// are the group's sums of products: the odd moments cancel or vanish.
pub(crate) fn gram(cloud: &Cloud, variant: Variant) -> Result<Matrix> {
    let p = cloud.x.cols();
    let q = packed_len(p);
    if p > MOST_FEATURES {
        return Err(Error::parameter(
            "solver",
            format!(
                "`paper` factorises two systems of p (p + 1) / 2 unknowns, {q} for {p} features, and takes at most \
                 {MOST_FEATURES} features; use `admm` or `augmented`, the practical forms, or fewer features"
            ),
        ));
    }
    let mut out = Matrix::zeros(q, q);
    for group in groups(cloud, variant) {
        let n = group.len() as f64;
        let mut mean = vec![0.0; p];
        for i in group.clone() {
            mean.iter_mut().zip(cloud.x.row(i)).for_each(|(m, v)| *m += v / n);
        }
        let mut centred = Matrix::zeros(group.len(), p);
        for (row, i) in group.clone().enumerate() {
            centred.row_mut(row).iter_mut().zip(cloud.x.row(i)).zip(&mean).for_each(|((c, v), m)| *c = v - m);
        }
        let second = linalg::transposed_product(&centred, &centred);
        let mut features = vec![0.0; 256 * q];
        for rows in centred.as_slice().chunks(256 * p) {
            let count = rows.len() / p;
            for (x, f) in rows.chunks_exact(p).zip(features.chunks_exact_mut(q)) {
                pack_square(x, f);
                f.iter_mut().for_each(|v| *v *= n.sqrt());
            }
            linalg::gemm_tn_add(out.as_mut_slice(), &features, &features, q, q, count);
        }
        add_second_moments(&mut out, &second);
    }
    linalg::symmetrise(&mut out);
    Ok(out)
}

fn add_second_moments(out: &mut Matrix, t: &Matrix) {
    let p = t.rows();
    let scale = |a: usize, b: usize| if a == b { 1.0 } else { std::f64::consts::SQRT_2 };
    let index: Vec<(usize, usize)> = (0..p).flat_map(|a| (a..p).map(move |b| (a, b))).collect();
    for (row, &(a, b)) in index.iter().enumerate() {
        for (value, &(c, d)) in out.row_mut(row).iter_mut().zip(&index) {
            let sum = t[(a, b)] * t[(c, d)] + t[(a, c)] * t[(b, d)] + t[(a, d)] * t[(b, c)];
            *value += scale(a, b) * scale(c, d) * sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_keeps_inner_products_and_comes_back() {
        let a = Matrix::from_rows(&[[1.0, 2.0, 3.0], [2.0, -4.0, 0.5], [3.0, 0.5, 7.0]]);
        let b = Matrix::from_rows(&[[0.0, 1.0, -2.0], [1.0, 2.0, 0.25], [-2.0, 0.25, 1.0]]);
        assert!((linalg::dot(&pack(&a), &pack(&b)) - linalg::inner(&a, &b)).abs() < 1e-12);
        for (v, w) in unpack(&pack(&a), 3).as_slice().iter().zip(a.as_slice()) {
            assert!((v - w).abs() < 1e-15);
        }
        let mut square = vec![0.0; 6];
        pack_square(&[1.0, -2.0, 0.5], &mut square);
        let x = Matrix::from_rows(&[[1.0, -2.0, 0.5]]);
        assert_eq!(square, pack(&linalg::transposed_product(&x, &x)));
    }

    #[test]
    fn fourth_moments_agree_with_summing_over_pairs() {
        let x = Matrix::from_rows(&[
            [5.0, 0.1, -1.0],
            [5.3, 0.9, 0.4],
            [6.0, 0.2, 2.0],
            [4.4, 0.8, -0.3],
            [5.6, -0.7, 0.0],
            [4.9, 0.3, 1.2],
        ]);
        let cloud = Cloud::new(&x, &[0, 1, 0, 2, 1, 0], &[1.0; 6]);
        for variant in [Variant::Diameter, Variant::Intra] {
            let mut expected = Matrix::zeros(6, 6);
            for i in 0..6 {
                for j in 0..i {
                    if variant == Variant::Diameter || cloud.class[i] == cloud.class[j] {
                        let d: Vec<f64> = cloud.x.row(i).iter().zip(cloud.x.row(j)).map(|(a, b)| a - b).collect();
                        let mut f = vec![0.0; 6];
                        pack_square(&d, &mut f);
                        linalg::gemm_tn_add(expected.as_mut_slice(), &f, &f, 6, 6, 1);
                    }
                }
            }
            for (v, w) in gram(&cloud, variant).unwrap().as_slice().iter().zip(expected.as_slice()) {
                assert!((v - w).abs() < 1e-11 * (1.0 + w.abs()), "{v} {w}");
            }
        }
    }

    #[test]
    fn too_many_features_are_refused_with_a_remedy() {
        let cloud = Cloud::new(&Matrix::zeros(2, 200), &[0, 1], &[1.0; 2]);
        let message = gram(&cloud, Variant::Diameter).unwrap_err().to_string();
        assert!(message.contains("200") && message.contains("practical"), "{message}");
    }
}
