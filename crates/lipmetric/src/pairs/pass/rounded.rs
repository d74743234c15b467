use super::far::{Far, Long, Query};
use crate::Matrix;
use crate::pairs::{Cloud, Embedding, Kind, Pass, Question, Run, Stretch, ask};
use serde::{Deserialize, Serialize};

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
    pub(crate) far: Vec<Long>,
    /// An evenly spread part of the pairs where the rounding is at work, with their weight.
    pub(crate) zone: Vec<(u32, u32, f64)>,
    /// The weight and the number of all of them.
    pub(crate) zone_weight: f64,
    pub(crate) zone_count: usize,
}

/// Sums that go side by side, so that one addition need not wait for the one before.
const LANES: usize = 8;
/// From the kink a hinge is rounded over half of the width, and by rounding of the machine a little more.
const REACH: f64 = 0.5 * (1.0 + 1e-9);

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

/// What a row of tiles finds.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Part {
    total: f64,
    hinge: f64,
    value: f64,
    far: Far,
    zone: Vec<(u32, u32, f64)>,
    zone_weight: f64,
    zone_count: usize,
}

/// The pass behind [`rounded`].
pub(crate) struct Rounding<'a> {
    pub(super) cloud: &'a Cloud,
    pub(super) width: f64,
    pub(super) every: u64,
    pub(super) query: &'a Query,
}

impl Rounding<'_> {
    fn add_hinges(&self, out: &mut Part, run: &mut Run<'_>) {
        struct Kernel<'a, 'b, 'c>(&'a Rounding<'b>, &'a mut Part, &'a mut Run<'c>);
        impl pulp::NullaryFnOnce for Kernel<'_, '_, '_> {
            type Output = ();
            #[inline(always)]
            fn call(self) {
                self.0.add(self.1, self.2);
            }
        }
        pulp::Arch::new().dispatch(Kernel(self, out, run));
    }

    #[inline(always)]
    fn add(&self, out: &mut Part, run: &mut Run<'_>) {
        let (own, width) = (self.cloud.weight[run.i], self.width);
        let (rho, others) = (run.rho, &self.cloud.weight[run.j0..run.j0 + run.rho.len()]);
        let mut sums = Lanes::default();
        let ((r, r_rest), (w, w_rest)) = (rho.as_chunks::<LANES>(), others.as_chunks::<LANES>());
        let (l, l_rest) = run.weight.as_chunks_mut::<LANES>();
        // Where all of them are beyond it only zeros would be added. What is no number is not.
        let beyond = 2.0 + REACH * width;
        for ((r, w), l) in r.iter().zip(w).zip(l) {
            if !r.iter().all(|r| *r > beyond) {
                sums.add(r, w, l, own, width);
            }
        }
        sums.add(r_rest, w_rest, l_rest, own, width);
        let zone: f64 = sums.zone.iter().sum();
        out.total += sums.total.iter().sum::<f64>();
        out.hinge += own * sums.hinge.iter().sum::<f64>();
        out.value += width * sums.value.iter().sum::<f64>();
        out.zone_weight += own * zone;
        if zone > 0.0 {
            let (low, high) = (2.0 - 0.5 * width, 2.0 + 0.5 * width);
            for (k, &r) in rho.iter().enumerate() {
                if r > low && r < high && others[k] > 0.0 {
                    out.zone_count += 1;
                    if is_listed(run.i, run.j0 + k, self.every) {
                        out.zone.push((run.i as u32, (run.j0 + k) as u32, own * others[k]));
                    }
                }
            }
        }
    }
}

impl Pass for Rounding<'_> {
    type Part = Part;

    fn weighted(&self) -> bool {
        true
    }

    fn screened(&self) -> bool {
        true
    }

    fn skips(&self, pairs: &Stretch) -> bool {
        let apart = pairs.kind == Kind::Same || pairs.bounds.least > 2.0 + REACH * self.width;
        apart && self.query.passes_over(pairs)
    }

    fn visit(&self, part: &mut Part, mut run: Run<'_>) {
        // A point without weight only bounds the diameter.
        if !run.same && self.cloud.weight[run.i] > 0.0 {
            self.add_hinges(part, &mut run);
        }
        part.far.visit(self.query, self.cloud, &run);
    }

    fn end(&self, part: &mut Part) {
        part.far.end(self.query);
    }

    fn merge(&self, into: &mut Part, mut next: Part) {
        into.total += next.total;
        into.hinge += next.hinge;
        into.value += next.value;
        into.far.merge(next.far);
        into.zone.append(&mut next.zone);
        into.zone_weight += next.zone_weight;
        into.zone_count += next.zone_count;
    }
}

/// What [`rounded`] asks.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct RoundedHinges {
    width: f64,
    every: u64,
    query: Query,
}

impl Question for RoundedHinges {
    const NAME: &'static str = "rounded hinges";
    type Part = Part;
    type Pass<'a> = Rounding<'a>;

    fn pass<'a>(&'a self, cloud: &'a Cloud, _: &[&'a Embedding]) -> Rounding<'a> {
        Rounding { cloud, width: self.width, every: self.every, query: &self.query }
    }
}

/// Whether a pair is one of an evenly spread part, about one in `every`.
pub(crate) fn is_listed(i: usize, j: usize, every: u64) -> bool {
    let hash = ((i as u64) << 32 | j as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    hash.is_multiple_of(every)
}

/// One pass over all pairs: the true objective's parts, and multipliers that are a function of the length alone. One in
/// `every` of the pairs within the width is listed.
pub(crate) fn rounded(cloud: &Cloud, embedding: &Embedding, width: f64, every: u64, query: &Query) -> Rounded {
    let (mut found, push) = ask(cloud, &[embedding], &RoundedHinges { width, every, query: *query });
    found.far.finish(query);
    let Part { total, hinge, value, far, zone, zone_weight, zone_count } = found;
    let Far { longest, pairs: far, .. } = far;
    Rounded { value, push: push.unwrap_or_default(), total, hinge, longest, far, zone, zone_weight, zone_count }
}
