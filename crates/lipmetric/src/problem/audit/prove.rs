use super::listed::coordinate_error;
use super::{Diameter, Problem, Slack};
use crate::Matrix;
use crate::linalg::twofold::{Outer, Twofold, Twofolds, is_positive_definite};
use crate::pairs::{Embedding, Pass, Run, Threads, scan};
use crate::problem::{Certificate, SupportPair, groups};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

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

/// Lengths that are looked at together.
const LANES: usize = 8;
/// Pairs whose outer products are summed at a time.
const AT_A_TIME: usize = 4096;

/// A pair, and whether it pushes.
type Listed = (bool, u32, u32);

/// The pairs that have no multiplier of their own but share one: those below the kink, or beyond the edge of the tail.
struct Shared<'a> {
    problem: &'a Problem,
    certificate: &'a Certificate,
    /// Those that have one of their own, in ascending order.
    listed: &'a [Listed],
    /// The points in the coordinates of the proof, and how many coordinates there are.
    y: &'a Twofolds,
    side: usize,
}

/// Pairs that share a multiplier, and their sum.
#[derive(Default, Serialize, Deserialize)]
struct Sharing {
    sum: Outer,
    /// Those that are not in the sum yet.
    pairs: Vec<(u32, u32)>,
}

/// Sums of a row of tiles.
#[derive(Default, Serialize, Deserialize)]
struct Part {
    below: Sharing,
    beyond: Sharing,
    /// Pairs at a kink: whether they push, and whether they are on the side that has a multiplier.
    ties: Vec<(u32, u32, bool, bool)>,
}

impl Part {
    fn zeros(side: usize) -> Self {
        let none = || Sharing { sum: Outer::zeros(side), pairs: Vec::new() };
        Self { below: none(), beyond: none(), ties: Vec::new() }
    }
}

impl Shared<'_> {
    /// Sorts the pairs of a run: those that share a multiplier, and those too near to the kink to tell.
    fn sort(&self, run: &Run<'_>, push: bool, part: &mut Part) {
        let kink = if push { 2.0 } else { self.certificate.edge };
        let taken = if push { &mut part.below.pairs } else { &mut part.beyond.pairs };
        // Lengths so that less counts, whichever side of the kink that is.
        let sign = if push { 1.0 } else { -1.0 };
        let (limit, width) = (sign * kink + TIE * kink, TIE * kink);
        let from = self.listed.partition_point(|l| *l < (push, run.i as u32, run.j0 as u32));
        let mut listed = self.listed[from..].iter().peekable();
        let mut look = |start: usize, lengths: &[f64]| {
            for (k, r) in lengths.iter().enumerate().filter(|(_, r)| sign * **r <= limit) {
                let pair = (push, run.i as u32, (run.j0 + start + k) as u32);
                while listed.next_if(|l| **l < pair).is_some() {}
                if listed.peek().is_some_and(|l| **l == pair) {
                    continue;
                }
                if (r - kink).abs() <= width {
                    part.ties.push((pair.1, pair.2, push, sign * r < sign * kink));
                } else {
                    taken.push((pair.1, pair.2));
                }
            }
        };
        let (chunks, rest) = run.rho.as_chunks::<LANES>();
        for (c, chunk) in chunks.iter().enumerate() {
            let least = chunk.iter().fold(f64::INFINITY, |m: f64, r| if sign * r < m { sign * r } else { m });
            if least <= limit {
                look(c * LANES, chunk);
            }
        }
        look(chunks.len() * LANES, rest);
    }

    /// Adds the pairs that were put aside.
    fn add(&self, sharing: &mut Sharing) {
        let Sharing { sum, pairs } = sharing;
        let place = |k: usize| (pairs[k].0 as usize, pairs[k].1 as usize);
        let weight = |k: usize| self.problem.cloud.pair_weight(place(k).0, place(k).1);
        sum.add_all(pairs.len(), weight, |k, hi, lo| self.y.difference(self.side, place(k).0, place(k).1, hi, lo));
        pairs.clear();
    }
}

impl Pass for Shared<'_> {
    type Part = Part;

    fn begin(&self, _row: usize) -> Part {
        Part::zeros(self.side)
    }

    fn visit(&self, part: &mut Part, run: Run<'_>) {
        if self.certificate.below > 0.0 && !run.same {
            self.sort(&run, true, part);
        }
        if self.certificate.beyond > 0.0 && self.problem.variant.bounding().holds(run.same) {
            self.sort(&run, false, part);
        }
        for sharing in [&mut part.below, &mut part.beyond] {
            if sharing.pairs.len() >= AT_A_TIME {
                self.add(sharing);
            }
        }
    }

    fn end(&self, part: &mut Part) {
        self.add(&mut part.below);
        self.add(&mut part.beyond);
    }

    fn merge(&self, into: &mut Part, next: Part) {
        if into.below.sum.side == 0 {
            *into = next;
            return;
        }
        into.below.sum.merge(&next.below.sum);
        into.beyond.sum.merge(&next.beyond.sum);
        into.ties.extend(next.ties);
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
        let mut shared = Part::zeros(side);
        if certificate.below > 0.0 || certificate.beyond > 0.0 {
            let row = |of: usize| place[of] as u32;
            let each = |p: &SupportPair| {
                let (i, j) = (row(p.first), row(p.second));
                (p.pushes, i.min(j), i.max(j))
            };
            let mut listed: Vec<Listed> = certificate.pairs.iter().map(each).collect();
            listed.sort_unstable();
            let pass = Shared { problem: self, certificate, listed: &listed, y: &y, side };
            shared = scan(&self.cloud, &[&self.sides(certificate)], &pass, &Threads).0;
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
                y.difference(side, place[pairs[k].first], place[pairs[k].second], hi, lo);
            });
            out
        };
        let (push, pull) = (own(true), own(false));
        let all = self.all_pairs(&y, side);
        Sums {
            push,
            pull,
            below: shared.below.sum,
            beyond: shared.beyond.sum,
            all,
            error: coordinate_error(&self.cloud, basis),
        }
    }

    /// The points under the metric that tells on which side of a kink pairs are: in the usual precision where that cannot put a
    /// pair on the wrong side that is not taken as a tie.
    fn sides(&self, certificate: &Certificate) -> Embedding {
        let factor = certificate.sides.factor().transpose();
        let (plain, error) = Embedding::about_centre(&self.cloud, &factor);
        let least = if certificate.beyond > 0.0 { certificate.edge.min(2.0) } else { 2.0 };
        if error < 0.5 * TIE * least { plain } else { Embedding::careful(&self.cloud, &factor) }
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
    let order = |a: &SupportPair, b: &SupportPair| -> Ordering {
        b.pushes.cmp(&a.pushes).then((a.first, a.second).cmp(&(b.first, b.second)))
    };
    for p in &mut certificate.pairs {
        (p.first, p.second) = (p.first.min(p.second), p.first.max(p.second));
        p.multiplier = p.multiplier.max(0.0);
    }
    certificate.pairs.sort_by(order);
    certificate.pairs.dedup_by(|next, first| {
        let same = order(first, next).is_eq();
        first.multiplier += if same { next.multiplier } else { 0.0 };
        same
    });
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
