//! A certified lower bound from any multipliers.
//!
//! The dual problem: `lambda` in `[0, w_i w_j]` on the different-label pairs (with a slack per row: `lambda >= 0` and
//! `sum_j lambda_ij <= w_i`), `eta >= 0` with `sum eta = c` on the pairs that bound the diameter, and
//! `sum lambda A <= sum eta A` in the order of matrices; its value is `2 sum lambda`. Multipliers that miss only the
//! last condition become feasible when `lambda` is scaled down, so that whatever a solver has at hand gives a bound.

use super::Variant;
use crate::linalg::{self, Cholesky};
use crate::pairs::Cloud;
use crate::{Matrix, Result};

/// Parts of `eta` that are tried for the mean of all pairs; the best is refined.
const PARTS: [f64; 9] = [0.0, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5];
/// Steps of that refinement, and the size above which there are fewer of them.
const REFINE: usize = 12;
const REFINE_LARGE: usize = 4;
const LARGE: usize = 150;

/// Sums over multipliers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Multipliers<'a> {
    /// `sum lambda A`.
    pub(crate) push: &'a Matrix,
    /// `sum lambda`.
    pub(crate) total: f64,
    /// `sum eta A`, with `sum eta = c`.
    pub(crate) pull: &'a Matrix,
    /// With a slack per row: the largest `sum_j lambda_ij / w_i`; else zero.
    pub(crate) load: f64,
}

/// A certified lower bound of the objective.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Bound {
    /// The bound: `2 scale sum lambda`.
    pub(crate) value: f64,
    /// What `lambda` is to be scaled by.
    pub(crate) scale: f64,
    /// The part of `eta` that goes to the mean of all pairs that bound the diameter.
    pub(crate) mixed: f64,
}

/// The largest feasible scaling of `lambda`, with as much of the mean of all pairs mixed into `eta` as is best: that
/// mean has full rank where `sum eta A` may have not.
pub(crate) fn certify(multipliers: &Multipliers<'_>, mean: &Matrix, c: f64) -> Result<Bound> {
    if multipliers.total.is_nan() || multipliers.total <= 0.0 {
        return Ok(Bound::default());
    }
    let by_load = if multipliers.load > 1.0 { 1.0 / multipliers.load } else { 1.0 };
    let at = |part: f64| -> Result<Bound> {
        let mut pull = multipliers.pull.clone();
        pull.as_mut_slice().iter_mut().for_each(|v| *v *= 1.0 - part);
        linalg::add_scaled(&mut pull, part * c, mean);
        let scale = scaling(multipliers.push, &pull)?.min(by_load);
        Ok(Bound { value: 2.0 * scale * multipliers.total, scale, mixed: part })
    };
    let mut best = Bound::default();
    let (mut position, mut found) = (0, Vec::with_capacity(PARTS.len()));
    for (k, &part) in PARTS.iter().enumerate() {
        let bound = at(part)?;
        if bound.value > best.value {
            (best, position) = (bound, k);
        }
        found.push(bound.value);
        // The scaling is concave in the part: once it falls it goes on falling.
        if best.scale >= by_load || (k > position && best.value > 0.0) {
            break;
        }
    }
    if best.value <= 0.0 || best.scale >= by_load {
        return Ok(best);
    }
    let (mut low, mut high) =
        (PARTS[position.saturating_sub(1)].max(1e-10).ln(), PARTS[(position + 1).min(PARTS.len() - 1)].ln());
    for _ in 0..if mean.rows() > LARGE { REFINE_LARGE } else { REFINE } {
        let (a, b) = (low + (high - low) * 0.382, low + (high - low) * 0.618);
        let (first, second) = (at(a.exp())?, at(b.exp())?);
        if first.value >= second.value {
            high = b;
        } else {
            low = a;
        }
        for bound in [first, second] {
            if bound.value > best.value {
                best = bound;
            }
        }
    }
    Ok(best)
}

/// The largest `s <= 1` with `s push <= pull`, a little below where rounding could matter; zero where there is none.
fn scaling(push: &Matrix, pull: &Matrix) -> Result<f64> {
    let Some(factor) = Cholesky::of(pull) else { return Ok(0.0) };
    let values = linalg::symmetric_eigenvalues(&factor.whiten(push))?;
    let top = values.last().copied().unwrap_or(0.0);
    let safe = top * (1.0 + 1e-13 * push.rows() as f64);
    Ok(if safe <= 1.0 { 1.0 } else { 1.0 / safe })
}

/// `(objective - bound) / objective`, never negative; one where no point is known yet.
pub(crate) fn relative_gap(objective: f64, bound: f64) -> f64 {
    if !objective.is_finite() {
        return 1.0;
    }
    if objective > bound { (objective - bound) / objective.abs() } else { 0.0 }
}

/// `sum of w A / sum of w` over the pairs that bound the diameter, in closed form.
pub(crate) fn mean_pair(cloud: &Cloud, variant: Variant) -> Matrix {
    let (different, same) = cloud.pair_totals();
    let mut sum = pair_sum(cloud, variant);
    let count = if variant == Variant::Diameter { different + same } else { same };
    sum.as_mut_slice().iter_mut().for_each(|v| *v /= count);
    sum
}

/// `sum of w A` over the different-label pairs: all pairs less those of equal label.
pub(crate) fn different_sum(cloud: &Cloud) -> Matrix {
    let mut sum = pair_sum(cloud, Variant::Diameter);
    linalg::add_scaled(&mut sum, -1.0, &pair_sum(cloud, Variant::Intra));
    sum
}

fn pair_sum(cloud: &Cloud, variant: Variant) -> Matrix {
    let p = cloud.x.cols();
    let mut out = Matrix::zeros(p, p);
    for group in groups(cloud, variant) {
        let total: f64 = cloud.weight[group.clone()].iter().sum();
        let mut mean = vec![0.0; p];
        for i in group.clone() {
            mean.iter_mut().zip(cloud.x.row(i)).for_each(|(m, v)| *m += cloud.weight[i] * v / total);
        }
        let mut plain = Vec::with_capacity(group.len() * p);
        let mut scaled = Vec::with_capacity(group.len() * p);
        for i in group.clone() {
            for (v, m) in cloud.x.row(i).iter().zip(&mean) {
                plain.push(v - m);
                scaled.push(total * cloud.weight[i] * (v - m));
            }
        }
        linalg::gemm_tn_add(out.as_mut_slice(), &plain, &scaled, p, p, group.len());
    }
    linalg::symmetrise(&mut out);
    out
}

/// The groups of points all of whose pairs bound the diameter: everyone, or each class.
pub(crate) fn groups(cloud: &Cloud, variant: Variant) -> Vec<std::ops::Range<usize>> {
    match variant {
        Variant::Diameter => std::iter::once(0..cloud.len()).collect(),
        Variant::Intra => {
            let mut out = Vec::new();
            let mut start = 0;
            for run in cloud.class.chunk_by(|a, b| a == b) {
                out.push(start..start + run.len());
                start += run.len();
            }
            out
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairs::weighted_outer;

    fn cloud() -> Cloud {
        let x = Matrix::from_rows(&[[0.0, 0.1], [0.3, 0.9], [1.0, 0.2], [1.4, 0.8], [0.6, -0.7]]);
        Cloud::new(&x, &[0, 1, 0, 1, 1], &[1.0, 2.0, 1.0, 0.5, 1.0])
    }

    fn listed(cloud: &Cloud, wanted: impl Fn(bool) -> bool) -> Vec<(usize, usize, f64)> {
        let pairs = (0..cloud.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        pairs
            .filter(|&(i, j)| wanted(cloud.class[i] == cloud.class[j]))
            .map(|(i, j)| (i, j, cloud.pair_weight(i, j)))
            .collect()
    }

    #[test]
    fn sums_over_pairs_agree_with_listing_them() {
        let cloud = cloud();
        for (variant, same_only) in [(Variant::Diameter, false), (Variant::Intra, true)] {
            let pairs = listed(&cloud, |same| same || !same_only);
            let total: f64 = pairs.iter().map(|p| p.2).sum();
            let mut expected = weighted_outer(&cloud.x, pairs.into_iter());
            expected.as_mut_slice().iter_mut().for_each(|v| *v /= total);
            let found = mean_pair(&cloud, variant);
            for (a, b) in found.as_slice().iter().zip(expected.as_slice()) {
                assert!((a - b).abs() < 1e-12, "{a} {b}");
            }
        }
        let expected = weighted_outer(&cloud.x, listed(&cloud, |same| !same).into_iter());
        for (a, b) in different_sum(&cloud).as_slice().iter().zip(expected.as_slice()) {
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }
    }

    #[test]
    fn the_scaled_multipliers_are_feasible_and_cannot_be_scaled_up() {
        let cloud = cloud();
        let push = weighted_outer(&cloud.x, listed(&cloud, |same| !same).into_iter());
        let c = 0.7;
        let mean = mean_pair(&cloud, Variant::Diameter);
        // All of eta on one pair: a matrix of rank one, with which nothing but zero would be feasible.
        let pull = weighted_outer(&cloud.x, std::iter::once((0, 3, c)));
        let bound = certify(&Multipliers { push: &push, total: 4.0, pull: &pull, load: 0.0 }, &mean, c).unwrap();
        assert!(bound.value > 0.0 && bound.mixed > 0.0);
        let mut rest = pull.clone();
        rest.as_mut_slice().iter_mut().for_each(|v| *v *= 1.0 - bound.mixed);
        linalg::add_scaled(&mut rest, bound.mixed * c, &mean);
        linalg::add_scaled(&mut rest, -bound.scale, &push);
        let least = linalg::symmetric_eigenvalues(&rest).unwrap()[0];
        assert!(least >= -1e-12, "{least}");
        linalg::add_scaled(&mut rest, -1e-6 * bound.scale, &push);
        assert!(linalg::symmetric_eigenvalues(&rest).unwrap()[0] < 0.0);
        assert!((bound.value - 8.0 * bound.scale).abs() < 1e-12);
    }

    #[test]
    fn an_overloaded_row_scales_the_multipliers_down() {
        let mean = Matrix::identity(2);
        let push = Matrix::from_rows(&[[0.1, 0.0], [0.0, 0.1]]);
        let at = |load| certify(&Multipliers { push: &push, total: 1.0, pull: &mean, load }, &mean, 1.0).unwrap();
        assert_eq!(at(0.5).scale, 1.0);
        assert_eq!(at(4.0).scale, 0.25);
    }

    #[test]
    fn no_multipliers_give_no_bound() {
        let mean = Matrix::identity(2);
        let nothing = Multipliers { push: &Matrix::zeros(2, 2), total: 0.0, pull: &mean, load: 0.0 };
        assert_eq!(certify(&nothing, &mean, 1.0).unwrap(), Bound::default());
    }
}
