//! The trade-off from which on the zero metric is optimal.
//!
//! `c_max = max { <N, M> : max_P rho_M <= 1 }` with `N = sum_D w A`. It is one over the smallest diameter of a metric under
//! which the mean different-label pair is apart: a problem of the usual form with a single row that pushes, of large cap.

use super::balance::balanced;
use super::outer::{Settings, solve_rows};
use crate::linalg;
use crate::pairs::Cloud;
use crate::problem::{Variant, different_sum};
use crate::solver::augmented::Augmented;
use crate::solver::{Observer, Status};
use crate::{Error, Result};

/// Relative accuracy of `c_max` that is aimed at.
const ACCURACY: f64 = 1e-2;
const MAX_ITERATIONS: usize = 400;

/// A lower and an upper bound of `c_max`, about one in a hundred apart where the iterations suffice.
pub(crate) fn ceiling(cloud: &Cloud, variant: Variant, observer: &mut dyn Observer) -> Result<(f64, f64)> {
    let (cloud, _) = balanced(cloud, variant)?;
    let weight = cloud.pair_totals().0;
    let mut mean = different_sum(&cloud);
    mean.as_mut_slice().iter_mut().for_each(|v| *v /= weight);
    let settings = Settings { variant, c: 1.0, tolerance: ACCURACY, max_iterations: MAX_ITERATIONS, rank: None };
    let mut inner = Augmented::default();
    let solution = solve_rows(&cloud, settings, &mean, &mut inner, observer)?;
    match solution.status {
        Status::Interrupted => return Err(Error::Interrupted),
        Status::TimeLimit => {
            return Err(Error::Numerical {
                place: "c_max",
                message: "the time limit came before c_max was known; give c absolutely, or more time".to_owned(),
            });
        }
        _ => {}
    }
    // The best metric, scaled so that the mean different-label pair has length 1.
    let m = linalg::product_transposed(&solution.factor, &solution.factor);
    let size = weight * linalg::inner(&mean, &m);
    Ok((size / solution.objective, size / solution.bound.max(1e-300)))
}
