//! Coordinates in which no direction holds far longer pairs than another.
//!
//! In whitened coordinates a feature that is not zero in few rows makes a few pairs very long, and a metric must first
//! unlearn that direction. The ellipsoid of least volume around the points (a D-optimal design) weighs directions by what
//! their longest pairs need: the multipliers of the diameter, at the optimum, are such a design.

use super::{Variant, groups};
use crate::linalg::{self, Cholesky};
use crate::pairs::Cloud;
use crate::{Matrix, Result};

/// Multiplicative updates of the design's weights.
const UPDATES: usize = 40;
/// A part of the weights that stays evenly spread.
const EVEN: f64 = 1e-3;
/// What is added to the design's diagonal, as a part of its mean: enough to factor it where few rows carry all weight.
const RIDGE: f64 = 1e-9;

/// The map to balanced coordinates, a symmetric matrix, and its inverse.
pub(crate) fn balancing(cloud: &Cloud, variant: Variant) -> Result<(Matrix, Matrix)> {
    let (n, p) = (cloud.len(), cloud.x.cols());
    let mut centred = Matrix::zeros(n, p);
    for group in groups(cloud, variant) {
        let mean = cloud.mean(group.clone());
        for i in group {
            centred.row_mut(i).iter_mut().zip(cloud.x.row(i)).zip(&mean).for_each(|((c, v), m)| *c = v - m);
        }
    }
    let mut weights = vec![1.0 / n as f64; n];
    let design = |weights: &[f64]| {
        let mut scaled = centred.clone();
        for (i, w) in weights.iter().enumerate() {
            let t = (1.0 - EVEN) * w + EVEN / n as f64;
            scaled.row_mut(i).iter_mut().for_each(|v| *v *= t);
        }
        let mut out = linalg::transposed_product(&centred, &scaled);
        linalg::symmetrise(&mut out);
        let size = (0..p).map(|k| out[(k, k)]).sum::<f64>() / p as f64;
        (0..p).for_each(|k| out[(k, k)] += RIDGE * size);
        out
    };
    for _ in 0..UPDATES {
        let Some(factor) = Cholesky::of(&design(&weights)) else { break };
        let lengths = factor.lengths(&centred);
        let mut total = 0.0;
        for (w, g) in weights.iter_mut().zip(&lengths) {
            *w *= g / p as f64;
            total += *w;
        }
        if !(total.is_finite() && total > 0.0) {
            break;
        }
        weights.iter_mut().for_each(|w| *w /= total);
    }
    let eigen = linalg::symmetric_eigen(&design(&weights))?;
    let root = |v: f64| v.max(f64::MIN_POSITIVE).sqrt();
    Ok((linalg::product_transposed(&eigen.divided(root), &eigen.vectors), eigen.apply(root)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balanced_points_are_about_equally_long_in_every_direction() {
        // One row is far out in a direction in which the others hardly vary.
        let mut x = Matrix::zeros(40, 3);
        for i in 0..40 {
            for k in 0..3 {
                x[(i, k)] = ((i * (k + 3) * 7919) % 101) as f64 / 50.0 - 1.0;
            }
        }
        x[(5, 2)] = 500.0;
        let cloud = Cloud::new(&x, &[0; 40], &[1.0; 40]);
        let (map, inverse) = balancing(&cloud, Variant::Diameter).unwrap();
        let (out, unit) = (cloud.mapped(&map), linalg::product(&map, &inverse));
        assert!((0..9).all(|k| (unit.as_slice()[k] - f64::from(k % 4 == 0)).abs() < 1e-9), "{unit:?}");
        let mut mean = [0.0; 3];
        (0..40).for_each(|i| (0..3).for_each(|k| mean[k] += out.x[(i, k)] / 40.0));
        let longest =
            (0..40).map(|i| (0..3).map(|k| (out.x[(i, k)] - mean[k]).powi(2)).sum::<f64>()).fold(0.0, f64::max);
        // The ellipsoid of least volume has radius sqrt(p).
        assert!(longest > 2.9 && longest < 3.6, "{longest}");
    }
}
