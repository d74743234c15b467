use super::listed::largest_sums;
use super::{Diameter, Problem, Slack};
use crate::linalg::twofold::{Twofold, UNIT};
use crate::pairs::pass::{Among, longest, some_long};
use crate::pairs::{Cloud, Embedding, Kind, Pass, Question, Run, Stretch, ask};
use crate::{Matrix, Metric};
use serde::{Deserialize, Serialize};

/// Pairs whose lengths are put in order for the mean of the longest, at most; where there are more, the length from which on
/// they count is taken from a sample, and the diameter is bounded from above.
const MOST_LENGTHS: f64 = 2e7;
/// Points of that sample.
const SAMPLE: usize = 2_000;
/// Violated margins that are listed to make slacks smaller, at most.
const MOST_MARGINS: f64 = 2e7;
/// Of more pairs than this, where slacks are given, only those margins are listed that are violated but for this much of the slacks.
const MANY_PAIRS: f64 = 5e6;
/// See [`MANY_PAIRS`].
const NEAR: f64 = 0.2;
/// Lengths nearer to the kink than this leave less than ten digits of a hinge.
pub(super) const AT_KINK: f64 = 1e-5;
/// What a figure that was measured in the usual precision may be off by, at most, as a part of it: ten digits are right.
/// Otherwise it is measured again, carefully.
pub(super) const SURE: f64 = 1e-10;
/// Sums that go side by side, so that one addition need not wait for the one before.
const LANES: usize = 8;
/// How often each row's slack is made as small as the others allow: after two rounds hardly anything is left to gain.
const ROUNDS: usize = 4;

/// What a metric's objective is made of.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    /// The objective; with a slack per row, for slacks that are feasible: not below the least objective of this metric.
    pub(crate) objective: f64,
    /// What it may be off by; zero where it is right to rounding.
    pub(crate) off: f64,
    /// A slack for each given row, with a slack per row; else empty.
    pub(crate) slack: Vec<f64>,
}

/// Everything that the objective needs of the pairs.
pub(crate) struct Look<'a> {
    cloud: &'a Cloud,
    among: Among,
    wanted: Wanted,
    embedding: &'a Embedding,
    careful: Option<Careful<'a>>,
    /// Slacks that are known, where only margins are listed that these nearly leave violated.
    slack: &'a [f64],
}

/// What is wanted of the pairs.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Wanted {
    /// Of those that bound the diameter: nothing but the longest, or also all lengths.
    only_longest: bool,
    lengths: bool,
    /// Length beyond which the excess is summed up.
    edge: f64,
    /// All violated margins.
    margins: bool,
    /// Some pair that bounds the diameter is surely as long as this.
    known: f64,
}

/// Where every length is to be right to rounding.
#[derive(Clone, Copy)]
struct Careful<'a> {
    /// Lengths up to `tiny` are differences of numbers so large that twice the usual digits do not do, and are computed from the
    /// differences of the rows by this factor (features x components).
    tiny: f64,
    factor: &'a Matrix,
}

/// The squared length of a difference of rows under a factor (features x components), the difference taken first.
pub(super) fn of_difference(a: &[f64], b: &[f64], factor: &Matrix) -> f64 {
    if a == b {
        return 0.0;
    }
    let mapped = |c: usize| {
        let terms = a.iter().zip(b).enumerate();
        terms.fold(Twofold::ZERO, |sum, (f, (a, b))| sum + (Twofold::from(*a) - Twofold::from(*b)) * factor[(f, c)])
    };
    (0..factor.cols()).map(|c| mapped(c).value()).map(|v| v * v).sum()
}

impl Look<'_> {
    /// The length of a pair; where it is to be, right to rounding.
    fn length(&self, run: &Run<'_>, k: usize) -> f64 {
        match self.careful {
            Some(Careful { tiny, factor }) if run.rho[k] <= tiny => {
                of_difference(self.cloud.x.row(run.i), self.cloud.x.row(run.j0 + k), factor)
            }
            _ => run.rho[k],
        }
    }

    /// Where a hinge is a small difference of large numbers, it is computed with all its digits.
    fn lacking(&self, run: &Run<'_>, k: usize) -> f64 {
        let plain = 2.0 - run.rho[k];
        let enough = self.careful.is_none() || plain.abs() > AT_KINK;
        if enough { plain } else { self.embedding.lacking(2.0, run.i, run.j0 + k) }
    }

    fn add_margins(&self, part: &mut Part, run: &Run<'_>) {
        let (own, others) = (self.cloud.weight[run.i], &self.cloud.weight[run.j0..]);
        for (k, _) in run.rho.iter().enumerate().filter(|(_, r)| **r < 2.0 + AT_KINK) {
            let lacking = self.lacking(run, k).max(0.0);
            part.hinge += own * others[k] * lacking;
            let known = self.slack.get(run.i).map_or(0.0, |s| (s + self.slack[run.j0 + k] - NEAR).max(0.0));
            if self.wanted.margins && lacking > known {
                part.margins.push((run.i as u32, (run.j0 + k) as u32, lacking));
            }
        }
    }

    fn add_lengths(&self, part: &mut Part, run: &Run<'_>) {
        let (own, others) = (self.cloud.weight[run.i], &self.cloud.weight[run.j0..]);
        for (k, w) in (0..run.rho.len()).zip(others) {
            let r = self.length(run, k);
            part.longest = if r > part.longest { r } else { part.longest };
            part.sum += own * w * r;
            part.excess += own * w * (r - self.wanted.edge).max(0.0);
            if self.wanted.lengths {
                part.lengths.push((r, own * w));
            }
        }
    }
}

/// `sum w max(0, 2 - rho)`, and the weight of the pairs whose hinge is not surely zero.
fn hinges(rho: &[f64], weight: &[f64]) -> (f64, f64) {
    let (mut sum, mut near) = ([0.0; LANES], [0.0; LANES]);
    let mut add = |r: &[f64], w: &[f64]| {
        for (t, (r, w)) in r.iter().zip(w).enumerate() {
            let lacking = 2.0 - r;
            sum[t] += w * if lacking > 0.0 { lacking } else { 0.0 };
            near[t] += if lacking > -AT_KINK { *w } else { 0.0 };
        }
    };
    let ((r, r_rest), (w, w_rest)) = (rho.as_chunks::<LANES>(), weight.as_chunks::<LANES>());
    r.iter().zip(w).for_each(|(r, w)| add(r, w));
    add(r_rest, w_rest);
    (sum.iter().sum(), near.iter().sum())
}

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Part {
    hinge: f64,
    /// The weight of the pairs whose hinge is not surely zero, where they are not listed.
    near: f64,
    longest: f64,
    /// `sum of w rho` and `sum of w max(0, rho - edge)` over the pairs that bound the diameter.
    sum: f64,
    excess: f64,
    /// Lengths of these pairs with their weights.
    lengths: Vec<(f64, f64)>,
    /// Different-label pairs nearer than the margin, with what is missing.
    margins: Vec<(u32, u32, f64)>,
}

impl Pass for Look<'_> {
    type Part = Part;

    fn screened(&self) -> bool {
        self.careful.is_none() && self.wanted.only_longest
    }

    fn skips(&self, pairs: &Stretch) -> bool {
        let short = !self.among.may_hold(pairs.kind) || pairs.bounds.most < self.wanted.known;
        short && (pairs.kind == Kind::Same || pairs.bounds.least > 2.0 + 2.0 * AT_KINK)
    }

    fn visit(&self, part: &mut Part, run: Run<'_>) {
        if !run.same && (self.wanted.margins || self.careful.is_some()) {
            self.add_margins(part, &run);
        } else if !run.same {
            let own = self.cloud.weight[run.i];
            let (hinge, near) = hinges(run.rho, &self.cloud.weight[run.j0..run.j0 + run.rho.len()]);
            part.hinge += own * hinge;
            part.near += own * near;
        }
        if self.among.holds(run.same) {
            let most = longest(run.rho);
            if self.wanted.only_longest && self.careful.is_none_or(|c| most > c.tiny) {
                part.longest = part.longest.max(most);
            } else {
                self.add_lengths(part, &run);
            }
        }
    }

    fn merge(&self, into: &mut Part, mut next: Part) {
        into.hinge += next.hinge;
        into.near += next.near;
        into.longest = into.longest.max(next.longest);
        into.sum += next.sum;
        into.excess += next.excess;
        into.lengths.append(&mut next.lengths);
        into.margins.append(&mut next.margins);
    }
}

/// What [`Problem::measure`] asks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Figures {
    among: Among,
    wanted: Wanted,
    /// Where every length is to be right to rounding: up to where that takes the rows themselves.
    tiny: Option<f64>,
    /// See [`Look`].
    slack: Vec<f64>,
}

impl Question for Figures {
    const NAME: &'static str = "figures";
    type Part = Part;
    type Pass<'a> = Look<'a>;

    fn pass<'a>(&'a self, cloud: &'a Cloud, embeddings: &[&'a Embedding]) -> Look<'a> {
        let embedding = embeddings[0];
        let careful = self.tiny.map(|tiny| Careful { tiny, factor: embedding.map() });
        Look { cloud, among: self.among, wanted: self.wanted, embedding, careful, slack: &self.slack }
    }
}

impl Problem {
    /// The objective of a metric, from the differences of the given rows. With a slack per row `slack` are slacks to begin
    /// from, for each given row; they need not be feasible.
    pub(crate) fn measure(&self, metric: &Metric, slack: &[f64]) -> Measured {
        let factor = metric.factor().transpose();
        // In an order in which a pass over many rows can leave most of them out.
        let order = self.cloud.compacted(&factor);
        let cloud = order.as_ref().map_or(&self.cloud, |order| &order.cloud);
        let (embedding, error) = Embedding::about_centre(cloud, &factor);
        if error < AT_KINK {
            let place = order.as_ref().map(|order| &order.place[..]);
            let measured = self.measured((cloud, place), (&embedding, error), &factor, slack, None);
            if measured.off <= SURE * measured.objective {
                return measured;
            }
        }
        self.measure_carefully(metric, slack)
    }

    /// The same with every length right to rounding.
    pub(crate) fn measure_carefully(&self, metric: &Metric, slack: &[f64]) -> Measured {
        let factor = metric.factor().transpose();
        let embedding = Embedding::careful(&self.cloud, &factor);
        self.measured((&self.cloud, None), (&embedding, 0.0), &factor, slack, Some(tiny(&self.cloud, &factor)))
    }

    /// The objective from lengths that may be off by `error`, of the points in an order that may be their own.
    fn measured(
        &self,
        (cloud, place): (&Cloud, Option<&[usize]>),
        (embedding, error): (&Embedding, f64),
        factor: &Matrix,
        slack: &[f64],
        tiny: Option<f64>,
    ) -> Measured {
        let pairs = 0.5 * (self.cloud.len() as f64).powi(2);
        let tail = matches!(self.diameter, Diameter::Cvar(_));
        let lengths = tail && pairs <= MOST_LENGTHS;
        let edge = if tail && !lengths { self.guessed_edge(factor) } else { f64::INFINITY };
        let only_longest = matches!(self.diameter, Diameter::Maximum);
        let among = self.variant.bounding();
        // Less what rounding may have made of it.
        let known = |l: Vec<f64>| (1.0 - SURE) * l.into_iter().fold(0.0, f64::max) - error;
        let known = place.map_or(0.0, |_| known(some_long(cloud, embedding, among)));
        let wanted = Wanted { only_longest, lengths, edge, margins: self.slack == Slack::Instance, known };
        let near = wanted.margins && pairs > MANY_PAIRS && !slack.is_empty();
        let known = if near { self.slack_of_points(slack) } else { Vec::new() };
        let known = place
            .map_or(known.clone(), |place| if near { place.iter().map(|&i| known[i]).collect() } else { Vec::new() });
        let (mut found, _) = ask(cloud, &[embedding], &Figures { among, wanted, tiny, slack: known });
        if let Some(place) = place {
            let placed = |i: u32| place[i as usize] as u32;
            found.margins.iter_mut().for_each(|(i, j, _)| (*i, *j) = (placed(*i), placed(*j)));
        }
        let diameter = match self.diameter {
            Diameter::Maximum => found.longest,
            Diameter::Mean => found.sum / self.bounding(),
            Diameter::Cvar(level) if lengths => mean_of_longest(&mut found.lengths, level * self.bounding()),
            Diameter::Cvar(level) => edge + found.excess / (level * self.bounding()),
        };
        // A hinge moves by no more than the length, a slack by no more than the hinges do, the longest by no more than each.
        let pulled = if let Diameter::Cvar(level) = self.diameter { self.c / level } else { self.c };
        let (loss, slack, pushed) = match self.slack {
            Slack::Pair => (found.hinge, Vec::new(), found.near),
            Slack::Instance => {
                let (loss, slack) = self.least_slacks(&found.margins, slack, near);
                (loss, slack, self.cloud.weight.iter().sum())
            }
        };
        Measured { objective: self.c * diameter + loss, off: error * (pulled + pushed), slack }
    }

    /// The length from which on pairs count as the longest, in a sample.
    fn guessed_edge(&self, factor: &Matrix) -> f64 {
        let Diameter::Cvar(level) = self.diameter else { return f64::INFINITY };
        let part = self.cloud.thinned(SAMPLE);
        let embedding = Embedding::careful(&part, factor);
        let wanted = Wanted { only_longest: false, lengths: true, edge: f64::INFINITY, margins: false, known: 0.0 };
        let figures = Figures { among: self.variant.bounding(), wanted, tiny: None, slack: Vec::new() };
        let mut lengths = ask(&part, &[&embedding], &figures).0.lengths;
        lengths.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let total: f64 = lengths.iter().map(|l| l.1).sum();
        let mut seen = 0.0;
        let at = lengths.iter().find(|l| {
            seen += l.1;
            seen >= level * total
        });
        at.map_or(0.0, |l| l.0)
    }

    /// The given slacks of the points, none negative.
    fn slack_of_points(&self, given: &[f64]) -> Vec<f64> {
        self.cloud.origin.iter().map(|&i| given.get(i).copied().filter(|s| *s > 0.0).unwrap_or(0.0)).collect()
    }

    /// Slacks that are feasible for the violated margins and as small as a few rounds make them, their weighted sum first.
    /// Where only margins are listed that the given ones nearly leave violated (`near`), no slack falls by more than that allows.
    fn least_slacks(&self, margins: &[(u32, u32, f64)], given: &[f64], near: bool) -> (f64, Vec<f64>) {
        let n = self.cloud.len();
        let mut slack = self.slack_of_points(given);
        let mut lift = vec![0.0f64; n];
        for &(i, j, missing) in margins {
            let short = 0.5 * (missing - slack[i as usize] - slack[j as usize]);
            for p in [i as usize, j as usize] {
                lift[p] = lift[p].max(short);
            }
        }
        slack.iter_mut().zip(&lift).for_each(|(s, l)| *s += l);
        if margins.len() as f64 <= MOST_MARGINS {
            let least = |s: &f64| if near { (s - 0.5 * NEAR).max(0.0) } else { 0.0 };
            let least: Vec<f64> = slack.iter().map(least).collect();
            let mut of_row: Vec<Vec<(u32, f64)>> = vec![Vec::new(); n];
            for &(i, j, missing) in margins {
                of_row[i as usize].push((j, missing));
                of_row[j as usize].push((i, missing));
            }
            for _ in 0..ROUNDS {
                for i in 0..n {
                    slack[i] =
                        of_row[i].iter().fold(least[i], |s: f64, &(j, missing)| s.max(missing - slack[j as usize]));
                }
            }
        }
        let loss = slack.iter().zip(&self.cloud.weight).map(|(s, w)| s * w).sum();
        let rows = self.cloud.origin.iter().max().map_or(0, |m| m + 1).max(given.len());
        let mut out = vec![0.0; rows];
        self.cloud.origin.iter().zip(&slack).for_each(|(&i, s)| out[i] = *s);
        (loss, out)
    }
}

/// What is lost of a number with ten digits left.
const TEN_DIGITS: f64 = 1e10;

/// The squared length below which a difference of mapped rows has less than ten digits.
pub(super) fn tiny(cloud: &Cloud, factor: &Matrix) -> f64 {
    let off = TEN_DIGITS * UNIT * largest_sums(&cloud.x, factor).iter().sum::<f64>();
    off * off
}

/// The weighted mean of the longest, as many as weigh `wanted`.
fn mean_of_longest(lengths: &mut [(f64, f64)], wanted: f64) -> f64 {
    lengths.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let (mut left, mut sum) = (wanted, 0.0);
    for &(r, w) in lengths.iter() {
        let taken = w.min(left);
        sum += taken * r;
        left -= taken;
        if left <= 0.0 {
            break;
        }
    }
    sum / wanted
}
