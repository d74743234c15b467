//! Passes over all pairs: the true objective, and the rows that a reduced problem should have.

use super::model::Push;
use crate::Matrix;
use crate::pairs::{Cloud, Embedding, Run, sweep};
use crate::problem::Variant;

/// Points of the sample from which windows are guessed.
const SAMPLE: usize = 700;

/// What to look for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Query {
    pub(crate) variant: Variant,
    /// Different-label pairs with a length inside are listed, those below are summed up.
    pub(crate) window: (f64, f64),
    /// Pairs that bound the diameter and are longer than this part of the longest are listed, ...
    pub(crate) beyond: f64,
    /// ... at most this many of them.
    pub(crate) most: usize,
}

/// What a pass over all pairs finds.
#[derive(Debug, Clone)]
pub(crate) struct Survey {
    /// Pairs inside the window with their lengths, sorted by pair.
    pub(crate) near: Vec<(Push, f64)>,
    /// `sum w A` over the pairs below the window.
    pub(crate) below: Matrix,
    /// `sum w` and `sum w rho` over them.
    pub(crate) below_weight: f64,
    pub(crate) below_length: f64,
    /// The longest of the pairs that bound the diameter.
    pub(crate) longest: f64,
    /// The longest pairs, in descending order.
    pub(crate) far: Vec<(f64, u32, u32)>,
}

#[derive(Default)]
struct Part {
    near: Vec<(Push, f64)>,
    weight: f64,
    length: f64,
    longest: f64,
    far: Vec<(f64, u32, u32)>,
    /// So many pairs are listed already that shorter ones are not wanted.
    floor: f64,
}

/// One pass over all pairs.
pub(crate) fn survey(cloud: &Cloud, embedding: &Embedding, query: &Query) -> Survey {
    let mut parts: Vec<Part> = (0..cloud.tile_rows()).map(|_| Part::default()).collect();
    let (low, high) = query.window;
    let visit = |part: &mut Part, run: Run<'_>| {
        let Run { i, j0, same, rho, weight } = run;
        if !same {
            let own = cloud.weight[i];
            for (k, &r) in rho.iter().enumerate() {
                if r < high {
                    let cap = own * cloud.weight[j0 + k];
                    if r < low {
                        weight[k] = cap;
                        part.weight += cap;
                        part.length += cap * r;
                    } else {
                        part.near.push((Push { i: i as u32, j: (j0 + k) as u32, cap }, r));
                    }
                }
            }
        }
        longest_of(part, query, i, j0, same, rho);
    };
    let below = sweep(cloud, embedding, |_| true, low > f64::NEG_INFINITY, &mut parts, visit);
    let p = cloud.x.cols();
    let mut out = Survey {
        near: Vec::with_capacity(parts.iter().map(|s| s.near.len()).sum()),
        below: below.unwrap_or_else(|| Matrix::zeros(p, p)),
        below_weight: 0.0,
        below_length: 0.0,
        longest: 0.0,
        far: Vec::new(),
    };
    for mut part in parts {
        keep_longest(&mut part.far, query.most);
        out.near.append(&mut part.near);
        out.below_weight += part.weight;
        out.below_length += part.length;
        out.longest = out.longest.max(part.longest);
        out.far.append(&mut part.far);
    }
    out.near.sort_unstable_by_key(|n| (n.0.i, n.0.j));
    keep_longest(&mut out.far, query.most);
    let least = query.beyond * out.longest;
    out.far.retain(|f| f.0 > least);
    out
}

impl Survey {
    /// The best multiple of the metric that keeps the sides of all pairs outside the window, and its objective: `F(t M)` is
    /// convex and piecewise linear in `t`, with kinks at `2 / rho`.
    pub(crate) fn rescaled(&self, c: f64, window: (f64, f64)) -> (f64, f64) {
        let mut kinks: Vec<(f64, f64)> = self.near.iter().map(|n| (n.1.max(0.0), n.0.cap)).collect();
        kinks.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        // Walking t upwards from the smallest allowed: pairs cease to be violated, the longest first.
        let (least, most) = (2.0 / window.1.max(2.0), if window.0 > 0.0 { 2.0 / window.0.min(2.0) } else { 1e12 });
        let value = |t: f64| {
            let near: f64 = kinks.iter().map(|&(r, w)| w * (2.0 - t * r).max(0.0)).sum();
            c * t * self.longest + near + 2.0 * self.below_weight - t * self.below_length
        };
        let mut slope = c * self.longest - self.below_length - kinks.iter().map(|k| k.0 * k.1).sum::<f64>();
        let mut t = least;
        for &(r, w) in kinks.iter().rev() {
            if slope >= 0.0 || t >= most {
                break;
            }
            let kink = 2.0 / r.max(1e-300);
            if kink > most {
                t = most;
                break;
            }
            t = t.max(kink);
            slope += r * w;
        }
        let t = t.clamp(least, most);
        let (scaled, plain) = (value(t), value(1.0));
        if scaled < plain { (t, scaled) } else { (1.0, plain) }
    }
}

/// The longest of the listed pairs in descending order, of equal ones the first.
fn keep_longest(far: &mut Vec<(f64, u32, u32)>, most: usize) {
    // With many features most pairs are nearly as long as the longest: few of them need to be put in order.
    let some = 4 * most;
    if far.len() > some && some > 0 {
        far.select_nth_unstable_by(some, descending);
        let mut top = far[..some].to_vec();
        sort_distinct(&mut top);
        if top.len() >= most {
            *far = top;
        }
    }
    sort_distinct(far);
    far.truncate(most);
}

fn descending(a: &(f64, u32, u32), b: &(f64, u32, u32)) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2)))
}

fn sort_distinct(far: &mut Vec<(f64, u32, u32)>) {
    far.sort_unstable_by(descending);
    // Equal lengths are mostly equal differences of discrete features.
    far.dedup_by(|a, b| (a.0 - b.0).abs() <= 1e-11 * b.0);
}

/// The window around the kink that holds about `target` different-label pairs on either side, guessed from a sample;
/// everything where there are not many more.
pub(crate) fn window(cloud: &Cloud, factor: &Matrix, target: usize) -> (f64, f64) {
    let pairs = cloud.len() as f64 * cloud.len() as f64 / 2.0;
    if pairs <= 2.0 * target as f64 {
        return (f64::NEG_INFINITY, f64::INFINITY);
    }
    let part = if cloud.len() > SAMPLE { cloud.thinned(SAMPLE) } else { cloud.clone() };
    let embedding = Embedding::new(&part, factor);
    let mut lengths: Vec<Vec<f64>> = vec![Vec::new(); part.tile_rows()];
    sweep(
        &part,
        &embedding,
        |_| true,
        false,
        &mut lengths,
        |found, run| {
            if !run.same {
                found.extend_from_slice(run.rho);
            }
        },
    );
    let mut lengths = lengths.concat();
    lengths.sort_unstable_by(f64::total_cmp);
    let share = (part.len() as f64 / cloud.len() as f64).powi(2);
    let count = (target as f64 * share).ceil() as usize;
    let kink = lengths.partition_point(|&r| r < 2.0);
    let low = if kink > count { lengths[kink - count] } else { f64::NEG_INFINITY };
    let high = lengths.get(kink + count).copied().unwrap_or(f64::INFINITY);
    (low.min(1.999), high.max(2.001))
}

/// What a pass over all pairs finds under hinges rounded over a width.
#[derive(Debug, Clone)]
pub(crate) struct Rounded {
    /// The sum of the rounded hinges, up to a constant.
    pub(crate) value: f64,
    /// `sum lambda A` with `lambda = w clamp((2 - rho) / width + 1/2)`, and `sum lambda`.
    pub(crate) push: Matrix,
    pub(crate) total: f64,
    /// `sum w max(0, 2 - rho)`.
    pub(crate) hinge: f64,
    pub(crate) longest: f64,
    pub(crate) far: Vec<(f64, u32, u32)>,
    /// An evenly spread part of the pairs where the rounding is at work, with their weight.
    pub(crate) zone: Vec<(u32, u32, f64)>,
    /// The weight and the number of all of them.
    pub(crate) zone_weight: f64,
    pub(crate) zone_count: usize,
}

/// Sums that go side by side, so that one addition need not wait for the one before.
const LANES: usize = 8;

#[derive(Default)]
struct Lanes {
    total: [f64; LANES],
    value: [f64; LANES],
    hinge: [f64; LANES],
    zone: [f64; LANES],
}

impl Lanes {
    /// The rounded hinges of pairs with lengths `r` and weights `own w`; their multipliers go to `l`.
    #[inline(always)]
    fn add(&mut self, r: &[f64], w: &[f64], l: &mut [f64], own: f64, width: f64) {
        let each = 1.0 / width;
        for k in 0..r.len() {
            let below = 2.0 - r[k];
            let y = below * each + 0.5;
            let part = y.clamp(0.0, 1.0);
            l[k] = part * own * w[k];
            self.total[k] += l[k];
            self.value[k] += l[k] * (y - 0.5 * part);
            self.hinge[k] += w[k] * below.max(0.0);
            self.zone[k] += if y > 0.0 && y < 1.0 { w[k] } else { 0.0 };
        }
    }
}

#[derive(Default)]
struct RoundedPart {
    part: Part,
    value: f64,
    zone: Vec<(u32, u32, f64)>,
    zone_weight: f64,
    zone_count: usize,
}

/// Whether a pair is one of an evenly spread part, about one in `every`.
pub(crate) fn is_listed(i: usize, j: usize, every: u64) -> bool {
    let hash = ((i as u64) << 32 | j as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    hash.is_multiple_of(every)
}

/// One pass over all pairs: the true objective's parts, and multipliers that are a function of the length alone. One in
/// `every` of the pairs within the width is listed.
pub(crate) fn rounded(cloud: &Cloud, embedding: &Embedding, width: f64, every: u64, query: &Query) -> Rounded {
    let mut parts: Vec<RoundedPart> = (0..cloud.tile_rows()).map(|_| RoundedPart::default()).collect();
    let (low, high) = (2.0 - 0.5 * width, 2.0 + 0.5 * width);
    let visit = |out: &mut RoundedPart, run: Run<'_>| {
        let Run { i, j0, same, rho, weight } = run;
        if !same {
            let own = cloud.weight[i];
            let others = &cloud.weight[j0..j0 + rho.len()];
            if own == 0.0 {
                // Only bounds the diameter.
                return longest_of(&mut out.part, query, i, j0, same, rho);
            }
            let mut sums = Lanes::default();
            let ((r, r_rest), (w, w_rest)) = (rho.as_chunks::<LANES>(), others.as_chunks::<LANES>());
            let (l, l_rest) = weight.as_chunks_mut::<LANES>();
            for ((r, w), l) in r.iter().zip(w).zip(l) {
                sums.add(r, w, l, own, width);
            }
            sums.add(r_rest, w_rest, l_rest, own, width);
            let zone: f64 = sums.zone.iter().sum();
            out.part.weight += sums.total.iter().sum::<f64>();
            out.part.length += own * sums.hinge.iter().sum::<f64>();
            out.value += width * sums.value.iter().sum::<f64>();
            out.zone_weight += own * zone;
            if zone > 0.0 {
                for (k, &r) in rho.iter().enumerate() {
                    if r > low && r < high && others[k] > 0.0 {
                        out.zone_count += 1;
                        if is_listed(i, j0 + k, every) {
                            out.zone.push((i as u32, (j0 + k) as u32, own * others[k]));
                        }
                    }
                }
            }
        }
        longest_of(&mut out.part, query, i, j0, same, rho);
    };
    let push = sweep(cloud, embedding, |_| true, true, &mut parts, visit);
    let p = cloud.x.cols();
    let mut out = Rounded {
        value: 0.0,
        push: push.unwrap_or_else(|| Matrix::zeros(p, p)),
        total: 0.0,
        hinge: 0.0,
        longest: 0.0,
        far: Vec::new(),
        zone: Vec::new(),
        zone_weight: 0.0,
        zone_count: 0,
    };
    for RoundedPart { mut part, value, mut zone, zone_weight, zone_count } in parts {
        keep_longest(&mut part.far, query.most);
        out.total += part.weight;
        out.hinge += part.length;
        out.longest = out.longest.max(part.longest);
        out.far.append(&mut part.far);
        out.value += value;
        out.zone.append(&mut zone);
        out.zone_weight += zone_weight;
        out.zone_count += zone_count;
    }
    keep_longest(&mut out.far, query.most);
    let least = query.beyond * out.longest;
    out.far.retain(|f| f.0 > least);
    out
}

fn longest_of(part: &mut Part, query: &Query, i: usize, j0: usize, same: bool, rho: &[f64]) {
    if !(same || query.variant == Variant::Diameter) || query.most == 0 {
        return;
    }
    let mut lanes = [0.0f64; LANES];
    let (chunks, rest) = rho.as_chunks::<LANES>();
    lanes.iter_mut().zip(rest).for_each(|(m, &r)| *m = r);
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(m, &r)| *m = if r > *m { r } else { *m });
    }
    let most = lanes.iter().fold(0.0, |m: f64, &r| if r > m { r } else { m });
    part.longest = part.longest.max(most);
    let least = part.floor.max(query.beyond * part.longest);
    if most > least {
        let found = rho.iter().enumerate().filter(|(_, r)| **r > least);
        part.far.extend(found.map(|(k, &r)| (r, i as u32, (j0 + k) as u32)));
        if part.far.len() > 8 * query.most {
            keep_longest(&mut part.far, query.most);
            if part.far.len() == query.most {
                part.floor = part.far[query.most - 1].0;
            }
        }
    }
}

#[cfg(test)]
mod tests;
