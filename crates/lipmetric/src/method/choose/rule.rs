use super::family::Traits;
use super::judge::{Candidate, Scores};
use crate::problem::{Diameter, Slack};
use serde::{Deserialize, Serialize};

/// What a metric is that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum MetricKind {
    /// The Euclidean metric.
    Euclidean,
    /// The Mahalanobis metric of the covariance within the classes.
    Within,
    /// Lip^I by near pairs.
    LipLocal,
    /// Lip^D.
    LipD,
    /// Lip^I.
    LipI,
}

impl MetricKind {
    /// Its name, as a file has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Euclidean => "euclidean",
            Self::Within => "within",
            Self::LipLocal => "lip-local",
            Self::LipD => "lip-d",
            Self::LipI => "lip-i",
        }
    }
}

/// A metric that was tried, at its best number of neighbours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Judged {
    /// What it is.
    pub metric: MetricKind,
    /// Its trade-off, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub c_rel: Option<f64>,
    /// A slack per pair or per row, where that was to be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slack: Option<Slack>,
    /// The diameter, where that was to be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diameter: Option<Diameter>,
    /// How many directions are kept, where fewer than all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<usize>,
    /// The share of the Euclidean metric that is mixed in.
    pub euclid: f64,
    /// The number of neighbours that it does best with, where neighbours vote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<usize>,
    /// The part of the held-out rows that it predicts correctly. Of what was chosen it is optimistic: it was chosen by this
    /// figure.
    pub accuracy: f64,
}

/// What was chosen, and by which figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Choice {
    /// What was chosen.
    #[serde(flatten)]
    pub chosen: Judged,
    /// The accuracy of what is taken unless another one is shown to be better, at its best number of neighbours.
    pub reference: f64,
    /// The standard error of the difference between the reference and the best.
    pub standard_error: f64,
    /// The accuracy of the choice where each fold is predicted by what the other folds would have chosen: not optimistic.
    pub estimate: f64,
    /// How many rows were held out at some time; none where nothing could be judged.
    pub rows: usize,
    /// Into how many folds they were dealt.
    pub folds: usize,
    /// How often.
    pub repeats: usize,
    /// Everything that was tried.
    pub tried: Vec<Judged>,
}

impl Judged {
    fn new(traits: Traits, euclid: f64, k: Option<usize>, accuracy: f64) -> Self {
        let Traits { what: metric, c_rel, slack, diameter, rank } = traits;
        Self { metric, c_rel, slack, diameter, rank, euclid, k, accuracy }
    }
}

impl Choice {
    /// What is taken where nothing could be judged.
    pub(super) fn unjudged(usual: Traits, k: Option<usize>) -> Self {
        let euclid = f64::from(u8::from(usual == Traits::euclidean()));
        Self {
            chosen: Judged::new(usual, euclid, k, 0.0),
            reference: 0.0,
            standard_error: 0.0,
            estimate: 0.0,
            rows: 0,
            folds: 0,
            repeats: 0,
            tried: Vec::new(),
        }
    }
}

/// A candidate and a number of neighbours.
type Pick = (usize, usize);

struct Verdict {
    pick: Pick,
    reference: Pick,
    standard_error: f64,
}

impl Scores {
    fn row(&self, pick: Pick) -> &[f64] {
        &self.right[pick.0 * self.rules.len() + pick.1]
    }

    fn mean(&self, pick: Pick, weight: &[f64]) -> f64 {
        let total: f64 = weight.iter().sum();
        if total <= 0.0 {
            return 0.0;
        }
        self.row(pick).iter().zip(weight).map(|(r, w)| r * w).sum::<f64>() / total
    }

    /// The best of these candidates; of equally good ones the first, with the fewest neighbours.
    fn best(&self, among: &[usize], weight: &[f64]) -> Pick {
        let mut best = (among.first().copied().unwrap_or(0), 0);
        let mut top = f64::NEG_INFINITY;
        for &candidate in among {
            for k in 0..self.rules.len() {
                let mean = self.mean((candidate, k), weight);
                // Sums in another order must not decide.
                if mean > top + 1e-12 {
                    (best, top) = ((candidate, k), mean);
                }
            }
        }
        best
    }

    /// The mean difference between two picks and its standard error, row by row.
    fn difference(&self, a: Pick, b: Pick, weight: &[f64]) -> (f64, f64) {
        let mean = self.mean(a, weight) - self.mean(b, weight);
        let (mut squares, mut total, mut used) = (0.0, 0.0, 0.0);
        for ((x, y), w) in self.row(a).iter().zip(self.row(b)).zip(weight).filter(|(_, w)| **w > 0.0) {
            squares += (w * (x - y - mean)).powi(2);
            total += w;
            used += 1.0;
        }
        if used < 2.0 {
            return (mean, 1.0);
        }
        (mean, (squares * used / (used - 1.0)).sqrt() / total)
    }

    /// The best, if it is better than the reference by more than one standard error; else the reference.
    fn verdict(&self, reference: usize, weight: &[f64]) -> Verdict {
        let all: Vec<usize> = (0..self.candidates.len()).collect();
        let (best, reference) = (self.best(&all, weight), self.best(&[reference], weight));
        let (gain, standard_error) = self.difference(best, reference, weight);
        let pick = if gain > standard_error { best } else { reference };
        Verdict { pick, reference, standard_error }
    }
}

impl Scores {
    /// The weights of each fold's rows, and those of the others.
    fn left_out(&self, weight: &[f64]) -> Vec<(Vec<f64>, Vec<f64>)> {
        let only = |fold: usize, inside: bool| -> Vec<f64> {
            let part = weight.iter().zip(&self.fold);
            part.map(|(&w, &f)| if (f == fold) == inside { w } else { 0.0 }).collect()
        };
        (0..self.folds).map(|fold| (only(fold, true), only(fold, false))).collect()
    }

    /// Of the picks that differ from this one in rank alone and predict no worse, the one of lowest rank.
    fn simplest(&self, pick: Pick, weight: &[f64]) -> Pick {
        let chosen = self.candidates[pick.0];
        let alike = |c: &Candidate| {
            c.euclid == chosen.euclid && Traits { rank: chosen.traits.rank, ..c.traits } == chosen.traits
        };
        let least = self.mean(pick, weight) - 1e-12;
        let good = |at: &usize| alike(&self.candidates[*at]) && self.mean((*at, pick.1), weight) >= least;
        let rank = |at: &usize| self.candidates[*at].traits.rank.unwrap_or(usize::MAX);
        (0..self.candidates.len()).filter(good).min_by_key(rank).map_or(pick, |at| (at, pick.1))
    }

    /// The verdict that is upheld, in its simplest form.
    fn judged(&self, reference: usize, weight: &[f64]) -> Verdict {
        let verdict = self.upheld(reference, weight);
        Verdict { pick: self.simplest(verdict.pick, weight), ..verdict }
    }

    /// The verdict, upheld only if what it says of all folds but one is no worse than the reference on that one, over all of them.
    fn upheld(&self, reference: usize, weight: &[f64]) -> Verdict {
        let verdict = self.verdict(reference, weight);
        if verdict.pick == verdict.reference {
            return verdict;
        }
        let all: Vec<usize> = (0..self.candidates.len()).collect();
        let mut gain = 0.0;
        for (inside, outside) in self.left_out(weight) {
            let mass: f64 = inside.iter().sum();
            let (best, usual) = (self.best(&all, &outside), self.best(&[reference], &outside));
            gain += mass * (self.mean(best, &inside) - self.mean(usual, &inside));
        }
        if gain > 0.0 { verdict } else { Verdict { pick: verdict.reference, ..verdict } }
    }
}

/// Applies the rule, and to each fold what it would have chosen without that fold.
pub(super) fn choose(scores: &Scores, usual: Traits) -> (Candidate, Choice) {
    let reference = scores.candidates.iter().position(|c| c.traits == usual).unwrap_or(0);
    let verdict = scores.judged(reference, &scores.weight);
    let (mut right, mut total) = (0.0, 0.0);
    for (inside, outside) in scores.left_out(&scores.weight) {
        let mass: f64 = inside.iter().sum();
        right += mass * scores.mean(scores.judged(reference, &outside).pick, &inside);
        total += mass;
    }
    let candidate = scores.candidates[verdict.pick.0];
    let tried = scores.candidates.iter().enumerate().map(|(at, c)| {
        let pick = scores.best(&[at], &scores.weight);
        Judged::new(c.traits, c.euclid, scores.rules[pick.1], scores.mean(pick, &scores.weight))
    });
    let accuracy = scores.mean(verdict.pick, &scores.weight);
    let choice = Choice {
        chosen: Judged::new(candidate.traits, candidate.euclid, scores.rules[verdict.pick.1], accuracy),
        reference: scores.mean(verdict.reference, &scores.weight),
        standard_error: verdict.standard_error,
        estimate: if total > 0.0 { right / total } else { 0.0 },
        rows: scores.weight.iter().filter(|w| **w > 0.0).count(),
        folds: scores.folds,
        repeats: scores.repeats,
        tried: tried.collect(),
    };
    (candidate, choice)
}
