use super::listed::coordinate_error;
use super::{Diameter, Problem, Slack};
use crate::Matrix;
use crate::linalg::twofold::{Outer, Twofold, Twofolds, is_positive_definite};
use crate::pairs::{Embedding, Pass, Run, Threads, scan};
use crate::problem::{Certificate, SupportPair, groups};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};

/// Parts of `c` that are moved to the mean of all pairs, which has full rank, where the multipliers alone prove nothing.
const PARTS: [f64; 12] = [0.0, 1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1];
/// What the multipliers that push are scaled down by: the least of these with which they are feasible.
pub(super) const LESS: [f64; 20] = [
    0.0, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 3e-8, 1e-7, 3e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 0.9,
    0.99,
];
/// A few roundings: products of plain numbers are made so much smaller, so that what is stored stays feasible. All terms are
/// positive matrices, so that a part of each is a part of their sum.
const ROUNDED: f64 = 8.0 * f64::EPSILON;
/// Pairs whose length is so near to a kink that rounding could decide on which side they are get a multiplier of their own.
const TIE: f64 = 1e-9;

/// The pairs that have no multiplier of their own but share one: those below the kink, or beyond the edge of the tail.
struct Shared<'a> {
    problem: &'a Problem,
    certificate: &'a Certificate,
    /// Those that have one of their own.
    listed: &'a HashSet<(u32, u32, bool)>,
    /// The points in the coordinates of the proof, and how many coordinates there are.
    y: &'a Twofolds,
    side: usize,
}

/// Sums of a row of tiles.
#[derive(Default, Serialize, Deserialize)]
struct Part {
    below: Outer,
    beyond: Outer,
    /// Pairs at a kink: whether they push, and whether they are on the side that has a multiplier.
    ties: Vec<(u32, u32, bool, bool)>,
}

impl Shared<'_> {
    /// Sorts the pairs of a run: those that share a multiplier, and those too near to the kink to tell.
    fn sort(&self, run: &Run<'_>, push: bool, ties: &mut Vec<(u32, u32, bool, bool)>) -> Vec<usize> {
        let kink = if push { 2.0 } else { self.certificate.edge };
        let mut taken = Vec::new();
        for (k, &r) in run.rho.iter().enumerate() {
            let pair = (run.i as u32, (run.j0 + k) as u32);
            let inside = if push { r < kink } else { r > kink };
            let tie = (r - kink).abs() <= TIE * kink;
            if (inside || tie) && !self.listed.contains(&(pair.0, pair.1, push)) {
                if tie {
                    ties.push((pair.0, pair.1, push, inside));
                } else {
                    taken.push(run.j0 + k);
                }
            }
        }
        taken
    }
}

impl Pass for Shared<'_> {
    type Part = Part;

    fn begin(&self, _row: usize) -> Part {
        Part { below: Outer::zeros(self.side), beyond: Outer::zeros(self.side), ties: Vec::new() }
    }

    fn visit(&self, part: &mut Part, run: Run<'_>) {
        let weight = &self.problem.cloud.weight;
        let wanted = [
            (self.certificate.below > 0.0 && !run.same, true),
            (self.certificate.beyond > 0.0 && self.problem.variant.bounding().holds(run.same), false),
        ];
        for (_, push) in wanted.into_iter().filter(|w| w.0) {
            let taken = self.sort(&run, push, &mut part.ties);
            let sum = if push { &mut part.below } else { &mut part.beyond };
            let own = weight[run.i];
            sum.add_all(
                taken.len(),
                |k| own * weight[taken[k]],
                |k, hi, lo| {
                    difference(self.y, self.side, run.i, taken[k], hi, lo);
                },
            );
        }
    }

    fn merge(&self, into: &mut Part, next: Part) {
        if into.below.side == 0 {
            *into = next;
            return;
        }
        into.below.merge(&next.below);
        into.beyond.merge(&next.beyond);
        into.ties.extend(next.ties);
    }
}

/// The difference of two points.
#[inline(always)]
fn difference(y: &Twofolds, side: usize, i: usize, j: usize, hi: &mut [f64], lo: &mut [f64]) {
    let (a, b) = (i * side, j * side);
    for k in 0..side {
        let d = y.get(a + k) - y.get(b + k);
        (hi[k], lo[k]) = (d.hi, d.lo);
    }
}

/// Sums over the multipliers, in the coordinates of the proof.
pub(super) struct Sums {
    pub(super) push: Outer,
    pull: Outer,
    pub(super) below: Outer,
    beyond: Outer,
    /// `sum of w A` over all pairs that bound the diameter.
    all: Outer,
    /// What each coordinate of a difference may be off by.
    pub(super) error: Vec<f64>,
}

/// How the multipliers are scaled: those that push, those that pull, and what the mean of all pairs gets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scaled {
    push: f64,
    pull: f64,
    mean: f64,
}

impl Scaled {
    /// The same with another scale of the multipliers that push.
    pub(super) fn pushing(self, push: f64) -> Self {
        Self { push, ..self }
    }
}

impl Problem {
    /// Makes the multipliers of a certificate feasible, whatever they are, and returns the lower bound of the objective that
    /// they prove then: over all metrics that see the rows through `basis` (coordinates x features). Zero where they prove
    /// nothing.
    pub(crate) fn prove(&self, certificate: &mut Certificate, basis: &Matrix) -> f64 {
        let place = self.places();
        tidy(certificate);
        let sums = self.sums(certificate, &place, basis);
        let most = self.most(certificate, &place);
        let mut best = Scaled { push: 0.0, pull: 0.0, mean: 0.0 };
        for part in PARTS {
            // Even multipliers that are not scaled down would not prove more than what is there.
            if most * (1.0 - part) <= best.push {
                break;
            }
            let Some(scaled) = self.scaled(certificate, &place, &sums, part) else { continue };
            let at = |k: usize| scaled.pushing(most * (1.0 - LESS[k]));
            let (mut low, mut high) = (0, LESS.len());
            while low < high {
                let middle = usize::midpoint(low, high);
                if self.is_feasible(certificate, &sums, at(middle)) {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            if low < LESS.len() && at(low).push > best.push {
                best = at(low);
            }
        }
        let equal = |p: &SupportPair| self.cloud.x.row(place[p.first]) == self.cloud.x.row(place[p.second]);
        store(certificate, best, |p| if equal(p) { most } else { best.push });
        let pushed = certificate.pairs.iter().filter(|p| p.pushes);
        let total = pushed.fold(sums.below.total * certificate.below, |sum, p| sum + Twofold::from(p.multiplier));
        (total * 2.0).below().max(0.0)
    }

    /// Where each given row is in the cloud.
    pub(super) fn places(&self) -> Vec<usize> {
        let mut place = vec![usize::MAX; self.cloud.origin.iter().max().map_or(0, |m| m + 1)];
        self.cloud.origin.iter().enumerate().for_each(|(k, &i)| place[i] = k);
        place
    }

    pub(super) fn sums(&self, certificate: &mut Certificate, place: &[usize], basis: &Matrix) -> Sums {
        let side = basis.rows();
        let y = Twofolds::product(&self.cloud.x, &basis.transpose());
        let mut shared = Part { below: Outer::zeros(side), beyond: Outer::zeros(side), ties: Vec::new() };
        if certificate.below > 0.0 || certificate.beyond > 0.0 {
            let sorted = |a: usize, b: usize| (a.min(b) as u32, a.max(b) as u32);
            let listed = certificate.pairs.iter().map(|p| {
                let (i, j) = sorted(place[p.first], place[p.second]);
                (i, j, p.pushes)
            });
            let listed = listed.collect();
            let pass = Shared { problem: self, certificate, listed: &listed, y: &y, side };
            let sides = Embedding::careful(&self.cloud, &certificate.sides.factor().transpose());
            shared = scan(&self.cloud, &[&sides], &pass, &Threads).0;
        }
        for &(i, j, pushes, inside) in &shared.ties {
            let share = if pushes { certificate.below } else { certificate.beyond };
            let multiplier = if inside { share * self.cloud.pair_weight(i as usize, j as usize) } else { 0.0 };
            let (first, second) = (self.cloud.origin[i as usize], self.cloud.origin[j as usize]);
            certificate.pairs.push(SupportPair { first, second, pushes, multiplier });
        }
        let pairs = &certificate.pairs;
        let own = |pushes: bool| {
            let mut out = Outer::zeros(side);
            let weight = |k: usize| if pairs[k].pushes == pushes { pairs[k].multiplier } else { 0.0 };
            out.add_all(pairs.len(), weight, |k, hi, lo| {
                difference(&y, side, place[pairs[k].first], place[pairs[k].second], hi, lo);
            });
            out
        };
        let (push, pull) = (own(true), own(false));
        let all = self.all_pairs(&y, side);
        Sums {
            push,
            pull,
            below: shared.below,
            beyond: shared.beyond,
            all,
            error: coordinate_error(&self.cloud, basis),
        }
    }

    /// `sum of w A` over all pairs that bound the diameter: a group's is its weight times the scatter about its mean.
    fn all_pairs(&self, y: &Twofolds, side: usize) -> Outer {
        let mut out = Outer::zeros(side);
        let weight = &self.cloud.weight;
        for group in groups(&self.cloud, self.variant) {
            let total = group.clone().fold(Twofold::ZERO, |sum, i| sum + Twofold::from(weight[i]));
            let mut mean = vec![Twofold::ZERO; side];
            for i in group.clone() {
                mean.iter_mut().enumerate().for_each(|(k, m)| *m = *m + y.get(i * side + k) * weight[i]);
            }
            mean.iter_mut().for_each(|m| *m = *m / total);
            out.add_all(
                group.len(),
                |k| total.below() * weight[group.start + k],
                |k, hi, lo| {
                    for (a, m) in mean.iter().enumerate() {
                        let d = y.get((group.start + k) * side + a) - *m;
                        (hi[a], lo[a]) = (d.hi, d.lo);
                    }
                },
            );
        }
        out
    }

    /// The largest scale, at most one, that the bounds of the multipliers that push allow.
    pub(super) fn most(&self, certificate: &Certificate, place: &[usize]) -> f64 {
        let pushed = certificate.pairs.iter().filter(|p| p.pushes && p.multiplier > 0.0);
        let most = match self.slack {
            Slack::Pair => {
                let shared = if certificate.below > 1.0 { 1.0 / certificate.below } else { 1.0 };
                let weight = |p: &SupportPair| self.cloud.pair_weight(place[p.first], place[p.second]);
                pushed.fold(shared, |most: f64, p| most.min(weight(p) / p.multiplier))
            }
            Slack::Instance => {
                let mut load = vec![Twofold::ZERO; self.cloud.len()];
                for p in pushed {
                    for i in [place[p.first], place[p.second]] {
                        load[i] = load[i] + Twofold::from(p.multiplier);
                    }
                }
                load.iter().zip(&self.cloud.weight).fold(1.0, |most: f64, (l, w)| most.min(w / l.above()))
            }
        };
        most * (1.0 - ROUNDED)
    }

    /// The multipliers that pull, with a part of `c` moved to the mean of all pairs: no more than `c` in all, and, where the
    /// diameter is the mean of the longest distances, no pair more than its share of that.
    pub(super) fn scaled(&self, certificate: &Certificate, place: &[usize], sums: &Sums, part: f64) -> Option<Scaled> {
        let all = self.bounding();
        let mean = ((1.0 - part) * certificate.mean.clamp(0.0, self.c) + part * self.c) * (1.0 - ROUNDED);
        let eta = (sums.pull.total + sums.beyond.total * certificate.beyond).above();
        let mut pull = if eta > 0.0 { ((self.c - mean) * (1.0 - ROUNDED) / eta).min(1.0) } else { 0.0 };
        if let Diameter::Cvar(level) = self.diameter {
            // In units of a pair's weight: what it may have, less its share of the mean.
            let room = (self.c / level - mean) / all * (1.0 - ROUNDED);
            let most = certificate.pairs.iter().filter(|p| !p.pushes && p.multiplier > 0.0);
            let each = most.map(|p| p.multiplier / self.cloud.pair_weight(place[p.first], place[p.second]));
            let largest = each.fold(certificate.beyond, f64::max);
            if largest > 0.0 {
                pull = pull.min(room / largest);
            }
        }
        (pull >= 0.0).then_some(Scaled { push: 0.0, pull, mean })
    }

    /// `sum eta A - sum lambda A`, by its parts.
    pub(super) fn parts<'a>(
        &self,
        certificate: &Certificate,
        sums: &'a Sums,
        scaled: Scaled,
    ) -> [(Twofold, &'a Outer); 5] {
        // What pulls is tested as less than it will be after rounding, what pushes as more.
        let less = 1.0 - 2.0 * ROUNDED;
        let mean = Twofold::from(scaled.mean * less) / Twofold::from(self.bounding());
        let (pull, push) = (Twofold::from(scaled.pull * less), Twofold::from(-scaled.push));
        [
            (pull, &sums.pull),
            (pull * certificate.beyond, &sums.beyond),
            (mean, &sums.all),
            (push, &sums.push),
            (push * certificate.below, &sums.below),
        ]
    }

    /// Whether `sum eta A - sum lambda A` is positive definite, proved.
    fn is_feasible(&self, certificate: &Certificate, sums: &Sums, scaled: Scaled) -> bool {
        is_positive_definite(&self.parts(certificate, sums, scaled), &sums.error)
    }
}

/// Each pair once, and no multiplier negative.
pub(super) fn tidy(certificate: &mut Certificate) {
    let mut each: BTreeMap<(bool, usize, usize), f64> = BTreeMap::new();
    for p in &certificate.pairs {
        let key = (!p.pushes, p.first.min(p.second), p.first.max(p.second));
        *each.entry(key).or_default() += p.multiplier.max(0.0);
    }
    let pair = |((pulls, first, second), multiplier): ((bool, usize, usize), f64)| SupportPair {
        first,
        second,
        pushes: !pulls,
        multiplier,
    };
    certificate.pairs = each.into_iter().map(pair).collect();
    certificate.below = certificate.below.max(0.0);
    certificate.beyond = certificate.beyond.max(0.0);
}

/// Scales the multipliers, a little less where rounding would make one larger. Those that push may have scales of their own: equal
/// rows, which no metric parts, push nothing, so that theirs need not be scaled down with the others.
fn store(certificate: &mut Certificate, scaled: Scaled, push: impl Fn(&SupportPair) -> f64) {
    let down = |scale: f64, multiplier: f64| scale * multiplier * (1.0 - ROUNDED);
    for p in &mut certificate.pairs {
        p.multiplier = down(if p.pushes { push(p) } else { scaled.pull }, p.multiplier);
    }
    certificate.below = down(scaled.push, certificate.below);
    certificate.beyond = down(scaled.pull, certificate.beyond);
    certificate.mean = scaled.mean;
}
