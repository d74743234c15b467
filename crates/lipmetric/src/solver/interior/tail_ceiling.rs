//! `c_max`: at this trade-off and above, the zero metric is optimal, where the diameter is the mean of the longest distances.
//!
//! `c_max = max { <N, M> : tail(M) <= 1 }` with `N = sum_D w A` and `tail` that mean. Any metric gives a lower bound,
//! `<N, M> / tail(M)`; any multipliers `eta` of the tail (`sum eta = 1`, each at most `w / (level W)`) an upper one, the
//! largest eigenvalue of `N` against `sum eta A`. The two meet at the minimum over `M` and `d` of
//!
//! ```text
//! d + sum w h(rho - d) / (level W) - log <N, M> - mu log det M
//! ```
//!
//! as `mu` and the width over which the hinges `h` are rounded go to zero. It is followed by Newton steps, in coordinates in
//! which `M` is the identity; value, gradient and the pairs within the width come from one pass over the pairs, and no pair
//! has a multiplier of its own.

use super::tail::sample;
use crate::linalg::{self, Cholesky};
use crate::linalg::{pack, pack_square, packed_len, unpack};
use crate::pairs::pass::{Among, is_listed};
use crate::pairs::{Cloud, Differences, Embedding, Kind, Pass, Run, Threads, scan};
use crate::problem::{Variant, different_sum, mean_pair, relative_gap};
use crate::solver::lbfgs::SUFFICIENT;
use crate::solver::{Halt, Observer, Progress};
use crate::{Matrix, Result};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// Bounds of `c_max`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) lower: f64,
    pub(super) upper: f64,
    /// Why the steps ended before the bounds met, if an observer wanted it.
    pub(super) stopped: Option<Halt>,
}

impl Bounds {
    /// How far apart they are, relatively.
    pub(super) fn gap(&self) -> f64 {
        relative_gap(self.upper, self.lower)
    }
}

/// What one pass over the pairs finds.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Seen {
    /// The rounded hinges, ...
    value: f64,
    /// ... the true ones, ...
    excess: f64,
    /// ... `sum eta`, and `sum eta (rho - d)`.
    eta: f64,
    inside: f64,
    /// Some pairs within the width with their weight; the number and the weight of all of them.
    zone: Vec<(u32, u32, f64)>,
    zone_count: usize,
    zone_weight: f64,
    /// `sum eta A`, once all rows of tiles are merged.
    #[serde(skip)]
    pull: Matrix,
}

/// The pass that finds it.
struct Look<'a> {
    cloud: &'a Cloud,
    among: Among,
    d: f64,
    width: f64,
    rate: f64,
    every: u64,
}

impl Pass for Look<'_> {
    type Part = Seen;

    fn wanted(&self, kind: Kind) -> bool {
        self.among.may_hold(kind)
    }

    fn weighted(&self) -> bool {
        true
    }

    fn visit(&self, out: &mut Seen, run: Run<'_>) {
        if !self.among.holds(run.same) {
            return;
        }
        let own = self.rate * self.cloud.weight[run.i];
        let each = 1.0 / self.width;
        for (k, &r) in run.rho.iter().enumerate() {
            let over = r - self.d;
            let y = over * each + 0.5;
            if y <= 0.0 {
                continue;
            }
            let j = run.j0 + k;
            let cap = own * self.cloud.weight[j];
            let part = y.min(1.0);
            run.weight[k] = cap * part;
            out.eta += cap * part;
            out.inside += cap * part * over;
            out.value += cap * part * (y - 0.5 * part) * self.width;
            out.excess += cap * over.max(0.0);
            if y < 1.0 {
                out.zone_count += 1;
                out.zone_weight += cap;
                if is_listed(run.i, j, self.every) {
                    out.zone.push((run.i as u32, j as u32, cap));
                }
            }
        }
    }

    fn merge(&self, into: &mut Seen, mut next: Seen) {
        into.value += next.value;
        into.excess += next.excess;
        into.eta += next.eta;
        into.inside += next.inside;
        into.zone.append(&mut next.zone);
        into.zone_count += next.zone_count;
        into.zone_weight += next.zone_weight;
    }
}

/// Where the method stands.
struct Search<'a> {
    cloud: &'a Cloud,
    variant: Variant,
    level: f64,
    /// `1 / (level W)`.
    rate: f64,
    push: Matrix,
    mean: Matrix,
    /// `M = factor factor^T`.
    factor: Matrix,
    edge: f64,
    width: f64,
    barrier: f64,
    /// One in so many of the pairs within the width is listed.
    every: u64,
    bounds: Bounds,
}

/// A direction in coordinates in which the metric is the identity, and what it promises.
struct Direction {
    metric: Matrix,
    edge: f64,
    slope: f64,
}

/// Bounds of `c_max`, at most `accuracy` apart where the steps suffice.
pub(super) fn bounds(
    cloud: &Cloud,
    variant: Variant,
    level: f64,
    accuracy: f64,
    observer: &mut dyn Observer,
) -> Result<Bounds> {
    /// Newton steps, at most: they take some dozens.
    const MAX_STEPS: usize = 300;
    /// A stage ends where a step promises less than this part of the barrier.
    const CENTRED: f64 = 0.3;
    let mut search = Search::begin(cloud, variant, level);
    let mut seen = search.look(&search.factor, search.edge);
    for iteration in 0..MAX_STEPS {
        search.take_bounds(&seen)?;
        let (rows, c_max) = (Some(seen.zone_count), Some((search.bounds.lower, search.bounds.upper)));
        let at = Progress { iteration, working_set: rows, c_max, ..Progress::default() };
        if let ControlFlow::Break(stop) = observer.progress(&at) {
            search.bounds.stopped = Some(stop);
            break;
        }
        if search.bounds.gap() <= accuracy {
            break;
        }
        let Some(direction) = search.direction(&seen) else { break };
        let centred = -direction.slope <= CENTRED * search.barrier;
        if centred && search.tighten(&seen, accuracy) {
            seen = search.look(&search.factor, search.edge);
        } else if let Some(next) = search.step(&seen, &direction)? {
            seen = next;
        } else if search.tighten(&seen, accuracy) {
            seen = search.look(&search.factor, search.edge);
        } else {
            break;
        }
    }
    Ok(search.bounds)
}

impl<'a> Search<'a> {
    fn begin(cloud: &'a Cloud, variant: Variant, level: f64) -> Self {
        /// The first barrier, times the coordinates.
        const FIRST: f64 = 0.3;
        /// The first width, as a part of the edge of the tail, ...
        const WIDTH: f64 = 0.3;
        /// ... which counts as at least this, relative to the mean distance; ...
        const LEAST_EDGE: f64 = 0.1;
        /// ... one pair in this many is thought to be within it.
        const ZONE: usize = 8;
        let p = cloud.x.cols();
        let (different, same) = cloud.pair_totals();
        let pairs = if variant == Variant::Diameter { different + same } else { same };
        let mut factor = Matrix::identity(p);
        let (lengths, from) = sample(cloud, &factor, variant, level);
        let tail = lengths[from..].iter().sum::<f64>() / (lengths.len() - from).max(1) as f64;
        let edge = lengths[from] / tail;
        factor.as_mut_slice().iter_mut().for_each(|v| *v /= tail.sqrt());
        let all = cloud.len() * cloud.len() / 2;
        Self {
            cloud,
            variant,
            level,
            rate: 1.0 / (level * pairs),
            push: different_sum(cloud),
            mean: mean_pair(cloud, variant),
            factor,
            edge,
            width: WIDTH * edge.max(LEAST_EDGE),
            barrier: FIRST / p as f64,
            every: (all / (ZONE * rows_wanted(p))).max(1) as u64,
            bounds: Bounds { lower: 0.0, upper: f64::INFINITY, stopped: None },
        }
    }

    /// One pass over the pairs that bound the diameter.
    fn look(&self, factor: &Matrix, d: f64) -> Seen {
        let pass = Look {
            cloud: self.cloud,
            among: self.variant.bounding(),
            d,
            width: self.width,
            rate: self.rate,
            every: self.every,
        };
        let (seen, pull) = scan(self.cloud, &[&Embedding::new(self.cloud, factor)], &pass, &Threads);
        Seen { pull: pull.unwrap_or_default(), ..seen }
    }

    fn size(&self) -> f64 {
        linalg::inner(&self.push, &linalg::product_transposed(&self.factor, &self.factor))
    }

    /// What the metric and the multipliers prove.
    fn take_bounds(&mut self, seen: &Seen) -> Result<()> {
        // At any edge this is at least the mean of the tail.
        self.bounds.lower = self.bounds.lower.max(self.size() / (self.edge + seen.excess));
        let mut pull = seen.pull.clone();
        if seen.eta >= 1.0 {
            pull.as_mut_slice().iter_mut().for_each(|v| *v /= seen.eta);
        } else {
            // What is missing goes to all pairs evenly, so that none exceeds its cap.
            let even = (1.0 - seen.eta) / (1.0 - self.level * seen.eta);
            pull.as_mut_slice().iter_mut().for_each(|v| *v *= 1.0 - self.level * even);
            linalg::add_scaled(&mut pull, even, &self.mean);
        }
        self.bounds.upper = self.bounds.upper.min(linalg::largest_generalised(&self.push, &pull)?);
        Ok(())
    }

    /// Goes to the next stage, a lower barrier and a narrower width; tells whether there is one.
    fn tighten(&mut self, seen: &Seen, accuracy: f64) -> bool {
        /// What the barrier is multiplied by at each stage.
        const LOWER: f64 = 0.15;
        /// The least factor between the widths of two stages.
        const NARROWER: f64 = 0.2;
        /// The part of a stage's gap that the rounding may have.
        const ROUNDING: f64 = 0.5;
        /// The parts of the accuracy that the last barrier and its rounding may have, and that a narrower width aims at.
        const LAST: (f64, f64) = (0.1, 0.05);
        let p = self.cloud.x.cols() as f64;
        let least = LAST.0 * accuracy / p;
        let rounding = seen.excess - seen.inside;
        let wanted = ROUNDING * LOWER * self.barrier * p;
        if self.barrier <= least && rounding <= LAST.0 * accuracy {
            return false;
        }
        self.barrier = (LOWER * self.barrier).max(least);
        // The rounding costs about the square of the width.
        self.width *= (wanted.max(LAST.1 * accuracy) / rounding.max(linalg::TINY)).sqrt().clamp(NARROWER, 1.0);
        self.every = (seen.zone_count / rows_wanted(self.cloud.x.cols())).max(1) as u64;
        true
    }

    /// The Newton direction; none where rounding leaves none.
    fn direction(&self, seen: &Seen) -> Option<Direction> {
        /// What keeps the edge where hardly any pair is within the width, and where some are, as parts of the tail's weight.
        const STIFF: f64 = 1e-3;
        const LOOSE: f64 = 1e-9;
        let p = self.cloud.x.cols();
        let q = packed_len(p);
        let push = linalg::congruence(&self.push, &self.factor);
        let size: f64 = (0..p).map(|k| push[(k, k)]).sum();
        let mut gradient = linalg::congruence(&seen.pull, &self.factor);
        linalg::add_scaled(&mut gradient, -1.0 / size, &push);
        (0..p).for_each(|k| gradient[(k, k)] -= self.barrier);
        let mut h = self.gram(seen, q);
        let pushed: Vec<f64> = pack(&push).iter().map(|v| v / size).chain(std::iter::once(0.0)).collect();
        linalg::gram_block_add(&mut h, &pushed, 1, q + 1, 0..q + 1, 0..q + 1);
        (0..q).for_each(|k| h[k * (q + 2)] += self.barrier);
        let stiff = if seen.zone_weight < STIFF { STIFF } else { LOOSE };
        h[q * (q + 2)] += stiff / self.width;
        let slopes: Vec<f64> = pack(&gradient).into_iter().chain(std::iter::once(1.0 - seen.eta)).collect();
        let mut step: Vec<f64> = slopes.iter().map(|v| -v).collect();
        Cholesky::factor(h, q + 1)?.solve(&mut step);
        let slope = linalg::dot(&slopes, &step);
        let fine = slope < 0.0 && step.iter().all(|v| v.is_finite());
        fine.then(|| Direction { metric: unpack(&step[..q], p), edge: step[q], slope })
    }

    /// The second derivative of the rounded hinges in metric and edge, column-major, its lower triangle.
    fn gram(&self, seen: &Seen, q: usize) -> Vec<f64> {
        /// Rows of the Newton matrix at a time.
        const CHUNK: usize = 256;
        let p = self.cloud.x.cols();
        let mut h = vec![0.0; (q + 1) * (q + 1)];
        let listed: f64 = seen.zone.iter().map(|z| z.2).sum();
        if listed <= 0.0 {
            return h;
        }
        let scale = seen.zone_weight / listed / self.width;
        let z = self.cloud.x.mapped(&self.factor);
        let mut chunk = vec![0.0; CHUNK * (q + 1)];
        let mut difference = vec![0.0; p];
        for pairs in seen.zone.chunks(CHUNK) {
            for (row, &(i, j, w)) in chunk.chunks_exact_mut(q + 1).zip(pairs) {
                let t = (w * scale).sqrt();
                let root = t.sqrt();
                z.difference(i as usize, j as usize, &mut difference);
                difference.iter_mut().for_each(|d| *d *= root);
                pack_square(&difference, &mut row[..q]);
                row[q] = -t;
            }
            linalg::gram_block_add(&mut h, &chunk, pairs.len(), q + 1, 0..q + 1, 0..q + 1);
        }
        h
    }

    /// Goes along a direction as far as it descends; none where it does not.
    fn step(&mut self, seen: &Seen, direction: &Direction) -> Result<Option<Seen>> {
        /// Halvings of a step that does not descend: it is down to rounding by then.
        const HALVINGS: usize = 25;
        /// A step stays inside the cone by going this part of the way to its boundary.
        const INSIDE: f64 = 0.95;
        /// What rounding of the value may hide of a step's decrease.
        const ROUNDED: f64 = 1e-14;
        let p = self.cloud.x.cols();
        let least = linalg::symmetric_eigenvalues(&direction.metric)?.first().copied().unwrap_or(0.0);
        let mut t = if least < 0.0 { (-INSIDE / least).min(1.0) } else { 1.0 };
        let now = self.edge + seen.value - self.size().ln();
        for _ in 0..HALVINGS {
            let mut ahead = Matrix::identity(p);
            linalg::add_scaled(&mut ahead, t, &direction.metric);
            if let Some(root) = Cholesky::of(&ahead).map(|c| c.lower()) {
                let factor = linalg::product(&self.factor, &root);
                let edge = self.edge + t * direction.edge;
                let volume: f64 = (0..p).map(|k| 2.0 * root[(k, k)].ln()).sum();
                let next = self.look(&factor, edge);
                let size = linalg::inner(&self.push, &linalg::product_transposed(&factor, &factor));
                let then = edge + next.value - size.ln() - self.barrier * volume;
                if then <= now + SUFFICIENT * t * direction.slope + ROUNDED * now.abs() {
                    (self.factor, self.edge) = (factor, edge);
                    return Ok(Some(next));
                }
            }
            t *= 0.5;
        }
        Ok(None)
    }
}

fn rows_wanted(p: usize) -> usize {
    /// Pairs within the width that the Hessian sees, per unknown, and the least number of them.
    const ROWS_PER_UNKNOWN: usize = 4;
    const ROWS: usize = 4000;
    (ROWS_PER_UNKNOWN * packed_len(p)).max(ROWS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::Silent;

    fn cloud() -> Cloud {
        let mut state = 5u64;
        let mut unit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1u32 << 31)
        };
        let n = 60;
        let data: Vec<f64> = (0..3 * n).map(|k| unit() + unit() + (k / 3 % 3) as f64 * 0.3).collect();
        let class: Vec<u32> = (0..n).map(|i| (i % 3) as u32).collect();
        let weight: Vec<f64> = (0..n).map(|i| 1.0 + f64::from(i % 4 == 0)).collect();
        Cloud::new(&Matrix::from_vec(n, 3, data).unwrap(), &class, &weight)
    }

    /// The mean of the longest distances, by sorting all of them.
    fn tail(cloud: &Cloud, variant: Variant, level: f64, factor: &Matrix) -> f64 {
        let now = Embedding::new(cloud, factor);
        let pairs = (0..cloud.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        let mut lengths: Vec<(f64, f64)> = pairs
            .filter(|&(i, j)| variant.bounding().holds(cloud.class[i] == cloud.class[j]))
            .map(|(i, j)| (now.squared_distance(i, j), cloud.pair_weight(i, j)))
            .collect();
        lengths.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let wanted = level * lengths.iter().map(|l| l.1).sum::<f64>();
        let (mut sum, mut left) = (0.0, wanted);
        for (length, weight) in lengths {
            let take = weight.min(left);
            sum += take * length;
            left -= take;
        }
        sum / wanted
    }

    #[test]
    fn the_bounds_meet_and_no_metric_is_above_them() {
        let cloud = cloud();
        for variant in [Variant::Diameter, Variant::Intra] {
            for level in [1e-4, 0.02, 0.2, 0.9] {
                let found = bounds(&cloud, variant, level, 1e-5, &mut Silent).unwrap();
                assert!(found.lower <= found.upper && found.gap() <= 1e-5, "{variant:?} {level} {found:?}");
                let push = different_sum(&cloud);
                let mut best = 0.0f64;
                for k in 0..200 {
                    let factor: Vec<f64> = (0..9).map(|a| (f64::from(k * 9 + a) * 1.7).sin()).collect();
                    let factor = Matrix::from_vec(3, 3, factor).unwrap();
                    let size = linalg::inner(&push, &linalg::product_transposed(&factor, &factor));
                    best = best.max(size / tail(&cloud, variant, level, &factor));
                }
                assert!(best <= found.upper * (1.0 + 1e-9) && best > 0.5 * found.upper, "{best} {found:?}");
            }
        }
    }

    #[test]
    fn a_wish_to_stop_is_told() {
        struct Now;
        impl Observer for Now {
            fn progress(&mut self, _: &Progress) -> ControlFlow<Halt> {
                ControlFlow::Break(Halt::TimeLimit)
            }
        }
        let found = bounds(&cloud(), Variant::Diameter, 0.1, 1e-5, &mut Now).unwrap();
        assert_eq!(found.stopped, Some(Halt::TimeLimit));
    }
}
