use super::family::Traits;
use super::judge::{Candidate, Scores};
use super::scaling::ScalingChoice;
use super::standing::{Standing, Verdict};
use crate::classify::Smoothness;
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
    /// Fisher's discriminant directions, of a shrunk covariance within the classes.
    Discriminant,
    /// The directions in which near rows of other classes differ more than near rows of the same class.
    NearDiscriminant,
    /// Lip^I by near pairs.
    LipLocal,
    /// The metric of a smooth function's gradients.
    Agop,
    /// Neighbourhood components analysis by the likelihood.
    Nca,
    /// Large margin nearest neighbours.
    Lmnn,
    /// Metric learning for kernel regression.
    Mlkr,
    /// Lip^D.
    LipD,
    /// Lip^I.
    LipI,
}

impl MetricKind {
    /// The learned distances that [`Auto`](super::Auto) tries beside the Euclidean one.
    pub const TRIED: &'static [Self] = &[Self::Within, Self::LipLocal, Self::Agop, Self::Nca, Self::Lmnn];

    /// Those that are tried where rows are wide, such as embeddings.
    pub const TRIED_WIDE: &'static [Self] = &[Self::Discriminant, Self::NearDiscriminant, Self::Agop];

    /// All that can be asked for: of classes, and of numbers.
    pub const KNOWN: &'static [Self] = &[
        Self::Within,
        Self::Discriminant,
        Self::NearDiscriminant,
        Self::LipLocal,
        Self::Agop,
        Self::Nca,
        Self::Lmnn,
        Self::Mlkr,
    ];

    /// Those that are tried where the targets are numbers.
    pub const TRIED_FOR_NUMBERS: &'static [Self] = &[Self::Agop, Self::Mlkr];

    /// Its name, as a file has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Euclidean => "euclidean",
            Self::Within => "within",
            Self::Discriminant => "discriminant",
            Self::NearDiscriminant => "near-discriminant",
            Self::LipLocal => "lip-local",
            Self::Agop => "agop",
            Self::Nca => "nca",
            Self::Lmnn => "lmnn",
            Self::Mlkr => "mlkr",
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
    /// How often gradients were taken, where they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<usize>,
    /// How far a covariance was drawn to its mean variance, where by a given part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shrinkage: Option<f64>,
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
    /// How smooth its function is, where a smooth function predicts.
    #[serde(default, skip_serializing_if = "Option::is_none", flatten)]
    pub smoothness: Option<Smoothness>,
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
    /// The accuracy of the choice where each fold is predicted by what the other folds would have chosen: not optimistic. None where
    /// a time limit or an observer ended the choice before two folds were done.
    pub estimate: Option<f64>,
    /// Of numbers, the mean absolute error of the choice, likewise. The other figures are then R2 in the accuracy's place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absolute_error: Option<f64>,
    /// How many rows were held out at some time; none where nothing could be judged.
    pub rows: usize,
    /// Into how many folds they were dealt.
    pub folds: usize,
    /// How often.
    pub repeats: usize,
    /// The part of the same rows that a vote of the nearest under the Euclidean distance predicts correctly, at its best number of
    /// neighbours; where functions other than votes were judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<f64>,
    /// The score of what was chosen on the same rows, where it was not chosen by the accuracy: as optimistic as that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// How features are scaled, where that was chosen, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling: Option<ScalingChoice>,
    /// Everything that was tried.
    pub tried: Vec<Judged>,
}

impl Judged {
    pub(super) fn new(traits: Traits, euclid: f64, k: Option<usize>, accuracy: f64) -> Self {
        let Traits { what: metric, c_rel, rounds, shrinkage, slack, diameter, rank } = traits;
        Self { metric, c_rel, rounds, shrinkage, slack, diameter, rank, euclid, k, smoothness: None, accuracy }
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
            estimate: None,
            absolute_error: None,
            rows: 0,
            folds: 0,
            repeats: 0,
            neighbours: None,
            score: None,
            scaling: None,
            tried: Vec::new(),
        }
    }
}

impl Scores {
    fn standing(&self) -> Standing<'_> {
        Standing { good: &self.right, fold: &self.fold, folds: 0..self.folds }
    }

    /// The places of a candidate with each of the rules.
    fn places(&self, candidate: usize) -> Vec<usize> {
        let rules = self.rules.len();
        (candidate * rules..(candidate + 1) * rules).collect()
    }

    /// Of those that differ from this one in rank alone and predict no worse, the one of lowest rank.
    fn simplest(&self, pick: usize, weight: &[f64]) -> usize {
        let (standing, rules) = (self.standing(), self.rules.len());
        let chosen = self.candidates[pick / rules];
        let alike = |c: &Candidate| {
            c.euclid == chosen.euclid && Traits { rank: chosen.traits.rank, ..c.traits } == chosen.traits
        };
        let least = standing.mean(pick, weight) - 1e-12;
        let place = |at: usize| at * rules + pick % rules;
        let good = |at: &usize| alike(&self.candidates[*at]) && standing.mean(place(*at), weight) >= least;
        let rank = |at: &usize| self.candidates[*at].traits.rank.unwrap_or(usize::MAX);
        (0..self.candidates.len()).filter(good).min_by_key(rank).map_or(pick, place)
    }

    /// The verdict, in its simplest form.
    fn judged(&self, reference: usize, weight: &[f64]) -> Verdict {
        let rules = self.rules.len();
        let all: Vec<usize> = (0..self.right.len()).filter(|place| !self.given_up[place / rules]).collect();
        let verdict = self.standing().verdict(&all, &self.places(reference), weight);
        Verdict { pick: self.simplest(verdict.pick, weight), ..verdict }
    }
}

/// Applies the rule, and to each fold what it would have chosen without that fold.
pub(super) fn choose(scores: &Scores, usual: Traits) -> (Candidate, Choice) {
    let (standing, weight, rules) = (scores.standing(), &scores.weight, scores.rules.len());
    let reference = scores.candidates.iter().position(|c| c.traits == usual).unwrap_or(0);
    let verdict = scores.judged(reference, weight);
    let candidate = scores.candidates[verdict.pick / rules];
    let tried = scores.candidates.iter().enumerate().map(|(at, c)| {
        let weight = if scores.given_up[at] { &scores.early } else { weight };
        let pick = standing.best(scores.places(at), weight);
        Judged::new(c.traits, c.euclid, scores.rules[pick % rules], standing.mean(pick, weight))
    });
    let accuracy = standing.mean(verdict.pick, weight);
    let choice = Choice {
        chosen: Judged::new(candidate.traits, candidate.euclid, scores.rules[verdict.pick % rules], accuracy),
        reference: standing.mean(verdict.reference, weight),
        standard_error: verdict.standard_error,
        estimate: standing.nested(weight, |outside| scores.judged(reference, outside).pick),
        absolute_error: None,
        rows: weight.iter().filter(|w| **w > 0.0).count(),
        folds: scores.folds,
        repeats: scores.repeats,
        neighbours: None,
        score: None,
        scaling: None,
        tried: tried.collect(),
    };
    (candidate, choice)
}
