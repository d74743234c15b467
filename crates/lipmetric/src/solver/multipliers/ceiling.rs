//! `c_max`: at this trade-off and above, the zero metric is optimal.
//!
//! `c_max = max { <N, M> : max_P rho_M <= 1 }` with `N = sum_D w A`. It is one over the smallest diameter of a metric under
//! which the mean different-label pair is apart: a problem of the usual form with a single row that pushes, of large cap.
//! That row is known in closed form, so that only points far out matter: of many, the others are left out until a pass over
//! all pairs finds one of theirs too long.
//!
//! With a slack per row it is the largest `(F(0) - loss(M)) / diameter(M)`. Either is found as the largest gain under a limit of the
//! diameter (`working_set/limit`); with very many coordinates the one by the problem above, the other by `working_set/climb`.

use super::Augmented;
use super::slacks::{slacked_gain, suits_slacked};
use crate::linalg;
use crate::pairs::pass::{Beyond, Query};
use crate::pairs::{Cloud, Embedding};
use crate::problem::{Slack, Variant, balancing, different_sum, groups};
use crate::solver::working_set::survey::survey;
use crate::solver::working_set::{Gain, Settings, climb, largest_gain, solve_rows, suits_limit};
use crate::solver::{Ceilinged, Observer, Progress, Status, Stop};
use crate::{Error, Matrix, Result};

/// Relative accuracy of `c_max` that is aimed at.
const ACCURACY: f64 = 1e-2;
/// The objective is known that much better where `c_max` with a slack per row is.
const FINER: f64 = 0.03;
/// Iterations of each of its problems, at most: they take some dozens.
const MAX_ITERATIONS: usize = 400;
/// The same with a slack per row, where the lower bound is hardly better after more: the upper one is, slowly.
const MAX_ITERATIONS_WITH_SLACKS: usize = 400;
/// From this many points on only those far out are taken, ...
const MANY: usize = 4000;
/// ... so many of them, ...
const FAR: usize = 1500;
/// ... and about so many more, spread evenly over the classes.
const EACH: usize = 500;
/// How far a pair left out may exceed the known diameter, as a part of the accuracy.
const EXCESS: f64 = 0.3;
/// Pairs longer than this part of the known diameter bring their points in.
const LONG: f64 = 0.9;
/// Rounds of adding points whose pairs were too long.
const ROUNDS: usize = 6;

/// A lower and an upper bound of `c_max`, about one in a hundred apart where the iterations suffice.
pub(crate) fn ceiling(
    cloud: &Cloud,
    variant: Variant,
    slack: Slack,
    observer: &mut dyn Observer,
) -> Result<(f64, f64)> {
    let stop = Stop::new(ACCURACY, MAX_ITERATIONS);
    let settings = Settings { variant, slack, c: 1.0, rank: None, stop };
    match slack {
        Slack::Pair => pair_ceiling(cloud, settings, observer),
        Slack::Instance => {
            let cloud = cloud.mapped(&balancing(cloud, variant)?.0);
            let (mut below, mut above) = (0.0f64, f64::INFINITY);
            if suits_limit(&cloud, slack) {
                let observer =
                    &mut Ceilinged { inner: &mut *observer, bounds: &|at| at.c_max.unwrap_or((below, above)) };
                let gain = if suits_slacked(&cloud, &settings) {
                    slacked_gain(&cloud, settings, observer)?
                } else {
                    largest_gain(&cloud, None, settings, &mut Augmented::default(), observer)?
                };
                told(gain.status)?;
                (below, above) = (gain.below, gain.above);
                if gain.is_known() || cloud.len() > MANY {
                    return Ok((below, above));
                }
            }
            let settings = Settings { stop: Stop::new(FINER * ACCURACY, MAX_ITERATIONS_WITH_SLACKS), ..settings };
            let better = |c_max: (f64, f64)| (below.max(c_max.0), above.min(c_max.1));
            let bounds = |at: &Progress| better(at.c_max.unwrap_or((below, above)));
            let observer = &mut Ceilinged { inner: observer, bounds: &bounds };
            let (c_max, status) = climb(&cloud, ACCURACY, settings, &mut Augmented::default(), observer)?;
            told(status)?;
            Ok(better(c_max))
        }
    }
}

/// What is said of `c_max` where the observer has stopped its computation.
fn told(status: Status) -> Result<()> {
    match status {
        Status::Interrupted => Err(Error::Interrupted),
        Status::TimeLimit => Err(Error::before_c_max()),
        _ => Ok(()),
    }
}

fn pair_ceiling(cloud: &Cloud, settings: Settings, observer: &mut dyn Observer) -> Result<(f64, f64)> {
    let variant = settings.variant;
    let cloud = cloud.mapped(&balancing(cloud, variant)?.0);
    let weight = cloud.pair_totals().0;
    let mut mean = different_sum(&cloud);
    mean.as_mut_slice().iter_mut().for_each(|v| *v /= weight);
    let (mut below, mut above) = (0.0f64, f64::INFINITY);
    let mut kept = far_out(&cloud, variant);
    for _ in 0..ROUNDS {
        let part = kept.as_ref().map(|keep| {
            let points: Vec<usize> = (0..cloud.len()).filter(|&i| keep[i]).collect();
            cloud.part(&points, points.iter().map(|&i| cloud.weight[i]).collect())
        });
        // A metric of a part of the points is yet to be measured on all.
        let bounds = |at: &Progress| {
            let found = at.c_max.unwrap_or_else(|| gain_of_rows(at));
            (if part.is_some() { below } else { weight * found.0 }, above.min(weight * found.1))
        };
        let watched = &mut Ceilinged { inner: &mut *observer, bounds: &bounds };
        let gain = mean_gain(part.as_ref().unwrap_or(&cloud), settings, &mean, watched)?;
        told(gain.status)?;
        // Multipliers of some pairs are multipliers of all; the metric is to be measured on all.
        above = above.min(weight * gain.above);
        let Some(keep) = kept.as_mut() else { return Ok((weight * gain.below, above)) };
        let factor = gain.factor;
        let size = weight * linalg::inner(&mean, &linalg::product_transposed(&factor, &factor));
        let known = size / (weight * gain.below) * (1.0 + EXCESS * ACCURACY);
        let nothing = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        let query = Query { window: nothing, beyond: Beyond::Part(0.5), most: FAR, ..Query::plain(variant.bounding()) };
        let found = survey(&cloud, &Embedding::new(&cloud, &factor), &query);
        below = below.max(size / found.longest);
        if found.longest <= known {
            break;
        }
        for &(_, i, j) in found.far.iter().filter(|f| f.0 > LONG * known) {
            (keep[i as usize], keep[j as usize]) = (true, true);
        }
    }
    Ok((below, above))
}

/// The largest `<mean, M>` per diameter from the figures of [`solve_rows`], whose metrics have `<mean, M> = 2`.
fn gain_of_rows(at: &Progress) -> (f64, f64) {
    let per = |diameter: Option<f64>, none: f64| diameter.filter(|d| *d > 0.0).map_or(none, |d| 2.0 / d);
    (per(at.primal, 0.0), per(at.dual, f64::INFINITY))
}

/// The largest `<mean, M>` per diameter.
fn mean_gain(cloud: &Cloud, settings: Settings, mean: &Matrix, observer: &mut dyn Observer) -> Result<Gain> {
    let mut limited = None;
    if suits_limit(cloud, Slack::Pair) {
        let gain = largest_gain(cloud, Some(mean), settings, &mut Augmented::default(), observer)?;
        if gain.is_known() || matches!(gain.status, Status::Interrupted | Status::TimeLimit) {
            return Ok(gain);
        }
        limited = Some(gain);
    }
    let solution = solve_rows(cloud, settings, mean, &mut Augmented::default(), observer)?;
    let factor = solution.factor.transpose();
    let size = linalg::inner(mean, &linalg::product_transposed(&factor, &factor));
    let (below, above) = (size / solution.objective, size / solution.bound.max(linalg::TINY));
    let other = Gain { below, above, factor, status: solution.status };
    Ok(match limited {
        Some(gain) => gain.with(other),
        None => other,
    })
}

/// The points farthest from the centres of what bounds the diameter, and a few of each class; `None` where there are not
/// many points.
fn far_out(cloud: &Cloud, variant: Variant) -> Option<Vec<bool>> {
    if cloud.len() < MANY {
        return None;
    }
    let mut keep = vec![false; cloud.len()];
    let mut lengths: Vec<(f64, usize)> = Vec::with_capacity(cloud.len());
    for group in groups(cloud, variant) {
        let centre = cloud.mean(group.clone());
        lengths.extend(group.map(|i| {
            let away = cloud.x.row(i).iter().zip(&centre).map(|(v, c)| (v - c).powi(2)).sum::<f64>();
            (away, i)
        }));
    }
    lengths.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    lengths.iter().take(FAR).for_each(|l| keep[l.1] = true);
    for class in cloud.classes() {
        cloud.spaced(class, EACH).for_each(|i| keep[i] = true);
    }
    Some(keep)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::Silent;

    #[test]
    fn leaving_points_out_changes_nothing_about_the_bounds() {
        let mut state = 9u64;
        let mut unit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1u32 << 31)
        };
        let n = MANY + 200;
        let data: Vec<f64> = (0..2 * n).map(|k| unit() + unit() + unit() + (k / 2 % 3) as f64 * 0.4).collect();
        let class: Vec<u32> = (0..n).map(|i| (i % 3) as u32).collect();
        let cloud = Cloud::new(&Matrix::from_vec(n, 2, data).unwrap(), &class, &vec![1.0; n]);
        for variant in [Variant::Diameter, Variant::Intra] {
            let (below, above) = ceiling(&cloud, variant, Slack::Pair, &mut Silent).unwrap();
            assert!(below <= above && above <= 1.03 * below, "{below} {above}");
            // The lower bound is a metric's own figure: no metric may exceed the upper one.
            let all = cloud.mapped(&balancing(&cloud, variant).unwrap().0);
            let push = different_sum(&all);
            for k in 0..8 {
                let (s, t) = (f64::from(k) * 0.4).sin_cos();
                let factor = Matrix::from_rows(&[[s, 0.3 * t], [t, -0.3 * s]]);
                let query = Query {
                    window: (-1.0, -1.0),
                    beyond: Beyond::Part(0.9),
                    most: 1,
                    ..Query::plain(variant.bounding())
                };
                let longest = survey(&all, &Embedding::new(&all, &factor), &query).longest;
                let size = linalg::inner(&push, &linalg::product_transposed(&factor, &factor));
                assert!(size / longest <= above * (1.0 + 1e-9), "{variant:?} {k}");
            }
        }
    }
}
