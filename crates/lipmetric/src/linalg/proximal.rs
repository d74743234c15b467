//! The three proximal operators behind the updates, each in the form that also gives its multiplier.

use crate::linalg::{self, Eigen};
use crate::{Matrix, Result};

/// The multiplier of `cap max(0, p)` at the proximal point of `y / mu` with penalty `mu` (paper, eq. (update_p)): the point
/// itself is `y / mu - multiplier / mu`.
pub(crate) fn hinge_multiplier(y: f64, cap: f64) -> f64 {
    // Not clamp: it would panic on a cap that is not a number.
    y.max(0.0).min(cap)
}

/// The `t` with `sum max(0, y - t) = total` (paper, below eq. (update_q)): the proximal point of the maximum is `min(y, t)`,
/// its multipliers are `max(0, y - t)`, the projection of `y` on the simplex of that size. Exact, where the paper bisects.
pub(crate) fn simplex_threshold(values: impl Iterator<Item = f64>, total: f64) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let (mut sum, mut threshold) = (0.0, f64::NEG_INFINITY);
    for (k, &y) in sorted.iter().enumerate() {
        // Differences to the largest keep the digits where all values are large.
        sum += y - sorted[0];
        let next = sorted[0] + (sum - total) / (k + 1) as f64;
        if y <= next && k > 0 {
            break;
        }
        threshold = next;
    }
    threshold
}

/// The projection of a symmetric matrix on the positive semidefinite ones (paper, eq. (update_m)), with its factor
/// (`M = L L^T`, without the directions of eigenvalue zero) and the decomposition that it came from.
#[derive(Debug, Clone)]
pub(crate) struct Positive {
    pub(crate) matrix: Matrix,
    pub(crate) factor: Matrix,
    pub(crate) eigen: Eigen,
}

impl Positive {
    pub(crate) fn part(m: &Matrix) -> Result<Self> {
        let eigen = linalg::symmetric_eigen(m)?;
        let p = m.rows();
        let skip = eigen.values.iter().take_while(|&&v| v <= 0.0).count();
        let factor = eigen.scaled(skip..p, f64::sqrt);
        let mut matrix = linalg::product_transposed(&factor, &factor);
        linalg::symmetrise(&mut matrix);
        Ok(Self { matrix, factor, eigen })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_hinge_update_meets_its_optimality_condition(
            omega in -5.0..5.0f64, mu in 0.01..10.0f64, cap in 0.1..3.0f64
        ) {
            // p = omega - g / mu minimises cap max(0, p) + mu/2 (p - omega)^2 when g is a subgradient at p.
            let g = hinge_multiplier(mu * omega, cap);
            let p = omega - g / mu;
            prop_assert!((0.0..=cap).contains(&g));
            if p > 1e-9 {
                prop_assert!((g - cap).abs() < 1e-12);
            } else if p < -1e-9 {
                prop_assert_eq!(g, 0.0);
            }
        }

        #[test]
        fn the_printed_cases_of_the_hinge_update_are_the_same(omega in -5.0..5.0f64, mu in 0.01..10.0f64) {
            let printed = if omega > 1.0 / mu { omega - 1.0 / mu } else if omega >= 0.0 { 0.0 } else { omega };
            let ours = omega - hinge_multiplier(mu * omega, 1.0) / mu;
            prop_assert!((printed - ours).abs() < 1e-12);
        }

        #[test]
        fn the_maximum_update_meets_its_optimality_condition(
            v in prop::collection::vec(-100.0..100.0f64, 1..40), total in 1e-3..500.0f64, shift in -1e6..1e6f64
        ) {
            let v: Vec<f64> = v.into_iter().map(|x| x + shift).collect();
            let t = simplex_threshold(v.iter().copied(), total);
            let eta: Vec<f64> = v.iter().map(|x| (x - t).max(0.0)).collect();
            // The multipliers sum to the size, and rest only on elements of q = v - eta that attain the maximum t.
            prop_assert!((eta.iter().sum::<f64>() - total).abs() < 1e-8 * (total + shift.abs() * 1e-3 + 1.0));
            for (x, e) in v.iter().zip(&eta) {
                prop_assert!(x - e <= t + 1e-9);
                prop_assert!(*e == 0.0 || (x - e - t).abs() < 1e-9);
            }
        }

        #[test]
        fn the_projection_is_positive_and_its_residual_is_orthogonal_and_negative(
            v in prop::collection::vec(-3.0..3.0f64, 10)
        ) {
            let m = crate::linalg::unpack(&v, 4);
            let part = Positive::part(&m).unwrap();
            let mut rest = m.clone();
            linalg::add_scaled(&mut rest, -1.0, &part.matrix);
            prop_assert!(linalg::inner(&rest, &part.matrix).abs() < 1e-10);
            prop_assert!(linalg::symmetric_eigenvalues(&part.matrix).unwrap()[0] > -1e-12);
            prop_assert!(*linalg::symmetric_eigenvalues(&rest).unwrap().last().unwrap() < 1e-12);
        }
    }

    #[test]
    fn equal_values_share_the_multipliers() {
        let t = simplex_threshold([3.0, 3.0, 3.0, 1.0].into_iter(), 1.5);
        assert!((t - 2.5).abs() < 1e-15);
    }
}
