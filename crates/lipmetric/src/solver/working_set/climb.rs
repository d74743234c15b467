//! `c_max` with a slack per row: the largest `(F(0) - loss(M)) / diameter(M)`, by Dinkelbach's method.
//!
//! The ratio at the best point so far never exceeds `c_max`; it is the next `c`, and the iteration goes on with it. From above:
//! multipliers with `2 sum lambda = F(0)` and `sum lambda A <= s sum eta A` prove that `c_max <= s c`. Those of the iteration
//! become such ones where what the rows have left is shared out among all pairs, in proportion.

use super::limit::Limit;
use super::model::Model;
use super::outer::{Inner, Outer, Settings};
use crate::pairs::Cloud;
use crate::problem::{Slack, value_at_zero};
use crate::solver::{Observer, Status};
use crate::{Matrix, Result, linalg};

/// The first `c`, as a part of `F(0)` over the diameter of the first metric, ...
const FIRST: f64 = 0.1;
/// ... and how often it is lowered by that factor, at most, ...
const LOWER: usize = 12;
/// ... which is where the zero metric's objective is proved but for this part.
const ALL: f64 = 1e-3;
/// A new `c` is taken where it exceeds the present one by this part of the gap: very small changes only disturb.
const GROWTH: f64 = 0.3;
/// Where `c` rises by more than this factor, the iteration goes on from the best point: others are far from the optimum then.
const JUMP: f64 = 1.1;
/// What multipliers are scaled down by before the rest is shared out, where without that it could not be: the first that works.
const LESS: [f64; 5] = [0.0, 1e-3, 1e-2, 0.1, 0.5];
/// Parts of `eta` that go to the mean of all pairs, so that `sum eta A` has full rank.
const PARTS: [f64; 6] = [0.0, 1e-4, 1e-3, 3e-3, 1e-2, 0.1];

/// What is known of `c_max`.
#[derive(Debug, Clone)]
pub(super) struct Climb {
    /// `F(0)`.
    zero: f64,
    below: f64,
    above: f64,
    /// How far they may be apart, relatively.
    accuracy: f64,
}

/// A lower and an upper bound of `c_max`, which are the accuracy apart where the settings' tolerance and iterations suffice,
/// and how it ended.
pub(crate) fn climb(
    cloud: &Cloud,
    accuracy: f64,
    settings: Settings,
    inner: &mut dyn Inner,
    observer: &mut dyn Observer,
) -> Result<((f64, f64), Status)> {
    let zero = value_at_zero(cloud, Slack::Instance);
    let mut outer = Outer::begin(cloud, Settings { c: zero, ..settings }, None, None, None, inner)?;
    let mut c = FIRST * zero / outer.best.diameter.max(f64::MIN_POSITIVE);
    outer.climb = Some(Climb { zero, below: 0.0, above: f64::INFINITY, accuracy });
    for _ in 0..LOWER {
        outer.turn_to(c);
        let (status, _) = outer.run(inner, observer)?;
        let found = outer.climb.as_ref().map_or((0.0, f64::INFINITY), |climb| (climb.below, climb.above));
        if found.0 > 0.0 || matches!(status, Status::Interrupted | Status::TimeLimit) {
            return Ok((found, status));
        }
        c *= FIRST;
    }
    Ok(((c, f64::INFINITY), Status::Stalled))
}

impl Outer<'_> {
    /// The bounds of `c_max` so far, where that is what is sought.
    pub(super) fn c_max(&self) -> Option<(f64, f64)> {
        let gain = |limit: &Limit| (limit.per_diameter(self.best.objective), limit.above);
        let climb = self.climb.as_ref().map(|climb| (climb.below, climb.above));
        climb.or(self.limit.as_ref().map(gain))
    }

    /// Takes the ratio at the best point as `c` where it is larger; tells by what factor `c` has risen. Bounds that have met end
    /// the iteration.
    pub(super) fn rise(&mut self) -> Result<Option<f64>> {
        let Some(climb) = &mut self.climb else { return Ok(None) };
        let (c, tolerance) = (self.settings.c, self.settings.stop.tolerance);
        let ratio = c + (climb.zero - self.best.objective) / self.best.diameter.max(f64::MIN_POSITIVE);
        let gap = (self.best.objective - self.bound) / climb.zero;
        if ratio > c {
            climb.below = climb.below.max(ratio);
        }
        let rises = ratio > c * (1.0 + GROWTH * gap.max(tolerance));
        // What is left of the gap is what `c_max` may be above `c`, times the diameter.
        let near = !rises && self.best.objective - self.bound <= climb.accuracy * c * self.best.diameter;
        let met = climb.below > 0.0 && (near || climb.above <= climb.below * (1.0 + climb.accuracy));
        let too_large = climb.below == 0.0 && self.bound >= (1.0 - ALL) * climb.zero;
        if met || too_large {
            self.bound = self.best.objective;
            return Ok(None);
        }
        if !rises {
            return Ok(None);
        }
        self.turn_to(ratio);
        if ratio > JUMP * c && self.basis.is_none() {
            self.state.m = linalg::product_transposed(&self.best.factor, &self.best.factor);
            self.state.factor.clone_from(&self.best.factor);
            self.state.slack.clone_from(&self.best.slack);
        }
        Ok(Some(ratio / c))
    }

    /// The same point in a problem that differs only in `c`.
    fn turn_to(&mut self, c: f64) {
        let ratio = c / self.settings.c;
        self.best.objective += (c - self.settings.c) * self.best.diameter;
        (self.settings.c, self.model.c) = (c, c);
        self.state.eta.iter_mut().for_each(|e| *e *= ratio);
        self.state.z.as_mut_slice().iter_mut().for_each(|v| *v *= ratio);
        (self.bound, self.certificate) = (0.0, None);
    }
}

impl Climb {
    /// Lowers the upper bound to what these multipliers prove; `pull` is `sum eta A`, with `sum eta = c`.
    pub(super) fn bound(
        &mut self,
        cloud: &Cloud,
        model: &Model,
        (lambda, lengths): (&[f64], &[f64]),
        (pull, mean): (&Matrix, &Matrix),
        c: f64,
    ) -> Result<()> {
        let Some(push) = filled(cloud, model, lambda, lengths) else { return Ok(()) };
        self.above = self.above.min(least_ratio(&push, (pull, mean), c)?);
        Ok(())
    }
}

/// The least `s c` found with `push <= s pull` where some of `pull = sum eta A`, with `sum eta = c`, may go to the mean.
pub(crate) fn least_ratio(push: &Matrix, (pull, mean): (&Matrix, &Matrix), c: f64) -> Result<f64> {
    let mut least = f64::INFINITY;
    for part in PARTS {
        let mut mixed = pull.clone();
        mixed.as_mut_slice().iter_mut().for_each(|v| *v *= 1.0 - part);
        linalg::add_scaled(&mut mixed, part * c, mean);
        least = least.min(c * linalg::largest_generalised(push, &mixed)?);
    }
    Ok(least)
}

/// `sum lambda A` of multipliers with `2 sum lambda = F(0)`, near the given ones, which keep to the rows' weights. What the
/// points have left goes to the shortest pairs at hand first.
pub(crate) fn filled(cloud: &Cloud, model: &Model, lambda: &[f64], lengths: &[f64]) -> Option<Matrix> {
    let classes: Vec<f64> = cloud.classes().iter().map(|k| cloud.weight[k.clone()].iter().sum()).collect();
    let total: f64 = classes.iter().sum();
    let largest = (0..classes.len()).max_by(|&a, &b| classes[a].total_cmp(&classes[b]))?;
    let dominant = (2.0 * classes[largest] >= total).then_some(largest);
    let mut lambda = lambda.to_vec();
    // All weight of the other classes goes to pairs with a dominant one: none is left for pairs among them.
    let crowd = dominant.map(|k| cloud.classes()[k].clone());
    let counts = |k: usize| {
        let ends = [model.push[k].i as usize, model.push[k].j as usize];
        crowd.as_ref().is_none_or(|crowd| ends.iter().any(|p| crowd.contains(p)))
    };
    (0..lambda.len()).filter(|&k| !counts(k)).for_each(|k| lambda[k] = 0.0);
    let mut loads = model.loads(&lambda);
    let mut order: Vec<usize> = (0..lambda.len()).filter(|&k| counts(k)).collect();
    order.sort_unstable_by(|&a, &b| lengths[a].total_cmp(&lengths[b]).then(a.cmp(&b)));
    for k in order {
        let ends = [model.push[k].i as usize, model.push[k].j as usize];
        let room = ends.iter().map(|&p| cloud.weight[p] - loads[p]).fold(f64::INFINITY, f64::min).max(0.0);
        lambda[k] += room;
        ends.iter().for_each(|&p| loads[p] += room);
    }
    LESS.iter().find_map(|less| {
        let rest: Vec<f64> = cloud.weight.iter().zip(&loads).map(|(w, l)| (w - (1.0 - less) * l).max(0.0)).collect();
        let flows = flows(cloud, &rest, dominant)?;
        let scaled: Vec<f64> = lambda.iter().map(|l| (1.0 - less) * l).collect();
        let mut push = model.push_sum(&cloud.x, &scaled);
        linalg::add_scaled(&mut push, 1.0, &shared(cloud, &rest, &flows));
        Some(push)
    })
}

/// What goes between each two classes, so that all of the rest is used up: of all classes, or of all but the dominant one.
fn flows(cloud: &Cloud, rest: &[f64], dominant: Option<usize>) -> Option<Vec<(usize, usize, f64)>> {
    let left: Vec<f64> = cloud.classes().iter().map(|k| rest[k.clone()].iter().sum()).collect();
    if let Some(d) = dominant {
        let others = (0..left.len()).filter(|&k| k != d && left[k] > 0.0);
        return Some(others.map(|k| (k, d, left[k])).collect());
    }
    let half = 0.5 * left.iter().sum::<f64>();
    if left.iter().any(|l| *l > half) {
        return None;
    }
    // The classes one after another on a line: what lies half of its length apart is never of the same class.
    let mut ends = Vec::with_capacity(left.len());
    let mut end = 0.0;
    for l in &left {
        end += l;
        ends.push(end);
    }
    let at = |t: f64| ends.partition_point(|e| *e <= t).min(left.len() - 1);
    let mut cuts: Vec<f64> = ends.iter().map(|e| if *e < half { *e } else { e - half }).collect();
    cuts.extend([0.0, half]);
    cuts.sort_unstable_by(f64::total_cmp);
    let pieces = cuts.windows(2).filter(|w| w[1] > w[0]);
    let flows = pieces.map(|w| (at(0.5 * (w[0] + w[1])), at(half + 0.5 * (w[0] + w[1])), w[1] - w[0]));
    Some(flows.filter(|f| f.0 != f.1).collect())
}

/// `sum of t A` where what goes between two classes is shared out in proportion to what their rows have left.
fn shared(cloud: &Cloud, rest: &[f64], flows: &[(usize, usize, f64)]) -> Matrix {
    let p = cloud.x.cols();
    // The mean and the second moment of each class.
    let moments: Vec<(Matrix, Matrix)> = cloud
        .classes()
        .into_iter()
        .map(|class| {
            let total: f64 = rest[class.clone()].iter().sum::<f64>().max(f64::MIN_POSITIVE);
            let (mut mean, mut plain, mut scaled) = (Matrix::zeros(1, p), Vec::new(), Vec::new());
            for i in class {
                let part = rest[i] / total;
                plain.extend_from_slice(cloud.x.row(i));
                scaled.extend(cloud.x.row(i).iter().map(|v| part * v));
                mean.as_mut_slice().iter_mut().zip(cloud.x.row(i)).for_each(|(m, v)| *m += part * v);
            }
            let mut second = Matrix::zeros(p, p);
            linalg::gemm_tn_add(second.as_mut_slice(), &plain, &scaled, p, p, plain.len() / p);
            (mean, second)
        })
        .collect();
    let mut out = Matrix::zeros(p, p);
    for &(a, b, t) in flows {
        let cross = linalg::transposed_product(&moments[a].0, &moments[b].0);
        linalg::add_scaled(&mut out, t, &moments[a].1);
        linalg::add_scaled(&mut out, t, &moments[b].1);
        linalg::add_scaled(&mut out, -t, &cross);
        linalg::add_scaled(&mut out, -t, &cross.transpose());
    }
    linalg::symmetrise(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairs::weighted_outer;

    fn cloud(class: &[u32]) -> Cloud {
        let value = |k: usize| (k * 7919 % 1013) as f64 / 1013.0;
        let x = Matrix::from_vec(class.len(), 2, (0..2 * class.len()).map(value).collect()).unwrap();
        let weight: Vec<f64> = (0..class.len()).map(|i| 1.0 + 0.5 * (i % 3) as f64).collect();
        Cloud::new(&x, class, &weight)
    }

    #[test]
    fn what_is_left_is_shared_out_among_pairs_of_different_label() {
        for class in [&[0, 0, 0, 1, 1][..], &[0, 0, 1, 1, 2, 2, 2], &[0, 0, 1, 2, 3, 3], &[0, 0, 0, 0, 1, 2]] {
            let cloud = cloud(class);
            let sums: Vec<f64> = cloud.classes().iter().map(|k| cloud.weight[k.clone()].iter().sum()).collect();
            let total: f64 = sums.iter().sum();
            let dominant = (0..sums.len()).find(|&k| 2.0 * sums[k] >= total);
            let flows = flows(&cloud, &cloud.weight, dominant).unwrap();
            let mut used = vec![0.0; sums.len()];
            for &(a, b, t) in &flows {
                assert!(a != b && t > 0.0);
                used[a] += t;
                used[b] += t;
            }
            for k in (0..sums.len()).filter(|&k| Some(k) != dominant) {
                assert!((used[k] - sums[k]).abs() < 1e-12, "{class:?} {used:?} {sums:?}");
            }
            let value = 2.0 * flows.iter().map(|f| f.2).sum::<f64>();
            assert!((value - value_at_zero(&cloud, Slack::Instance)).abs() < 1e-12);
            // The sum in closed form against a loop over the pairs.
            let mut pairs = Vec::new();
            for i in 0..cloud.len() {
                for j in (0..cloud.len()).filter(|&j| j != i) {
                    let of = |p: usize| cloud.class[p] as usize;
                    for &(_, _, t) in flows.iter().filter(|f| (f.0, f.1) == (of(i), of(j))) {
                        pairs.push((i, j, t * cloud.weight[i] / sums[of(i)] * cloud.weight[j] / sums[of(j)]));
                    }
                }
            }
            let wanted = weighted_outer(&cloud.x, pairs.into_iter());
            let found = shared(&cloud, &cloud.weight, &flows);
            assert!(found.as_slice().iter().zip(wanted.as_slice()).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }
}
