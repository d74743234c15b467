//! `A^T A` of all pairs from fourth moments, on the `p (p + 1) / 2` coordinates of symmetric matrices.

use crate::linalg::{self, pack_square, packed_len};
use crate::pairs::Cloud;
use crate::problem::{Variant, groups};
use crate::{Error, Matrix, Result};

/// Features up to which the paper's systems are built: each then takes a quarter of a gigabyte.
const MOST_FEATURES: usize = 107;

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
        let mean = cloud.mean(group.clone());
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
