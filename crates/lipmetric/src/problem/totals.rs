//! Sums over all pairs of a kind, in closed form.

use super::{Slack, Variant};
use crate::pairs::Cloud;
use crate::{Matrix, linalg};

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

/// `F(0)`: twice the weight of the different-label pairs; with a slack per row, twice the smallest fractional
/// cover of those pairs by points, which for complete multipartite graphs is `min(W, 2 (W - W_largest)) / 2`.
pub(crate) fn value_at_zero(cloud: &Cloud, slack: Slack) -> f64 {
    match slack {
        Slack::Pair => 2.0 * cloud.pair_totals().0,
        Slack::Instance => {
            let total: f64 = cloud.weight.iter().sum();
            let classes = cloud.class.last().map_or(0, |&c| c as usize + 1);
            let mut sums = vec![0.0f64; classes];
            cloud.class.iter().zip(&cloud.weight).for_each(|(&c, w)| sums[c as usize] += w);
            total.min(2.0 * (total - sums.iter().fold(0.0, |a: f64, &b| a.max(b))))
        }
    }
}

fn pair_sum(cloud: &Cloud, variant: Variant) -> Matrix {
    let p = cloud.x.cols();
    let mut out = Matrix::zeros(p, p);
    for group in groups(cloud, variant) {
        let total: f64 = cloud.weight[group.clone()].iter().sum();
        let mean = cloud.weighted_mean(group.clone());
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
        Variant::Intra => cloud.classes(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::pairs::weighted_outer;

    /// Five points of two classes, with weights.
    pub(in crate::problem) fn cloud() -> Cloud {
        let x = Matrix::from_rows(&[[0.0, 0.1], [0.3, 0.9], [1.0, 0.2], [1.4, 0.8], [0.6, -0.7]]);
        Cloud::new(&x, &[0, 1, 0, 1, 1], &[1.0, 2.0, 1.0, 0.5, 1.0])
    }

    /// The pairs whose labels are the same, or not, as wanted, with their weights.
    pub(in crate::problem) fn listed(cloud: &Cloud, wanted: impl Fn(bool) -> bool) -> Vec<(usize, usize, f64)> {
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
}
