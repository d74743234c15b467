//! Rows without labels: a metric learned from pairs or comparisons, and whether two rows are similar.

use super::recipe::Recipe;
use super::{Classifier, Model, Provenance, Rows, TrainingRows};
use crate::classify::{JudgedPairs, PairScores, ThresholdRule};
use crate::data::{Pair, check_pairs};
use crate::method::{Fit, Method, Spec, Training};
use crate::prepare::Preparation;
use crate::solver::{Fleeting, Observer, Status};
use crate::{Error, Matrix, Metric, Result};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Parts of the pairs, of which each is held out once.
const FOLDS: usize = 5;

/// How a model of rows without labels tells whether two of them are similar.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Pairing {
    /// The distance up to which two rows are told similar; without one the model only tells distances.
    pub threshold: Option<f64>,
    /// Which pairs it was chosen on.
    pub chosen: Calibrated,
    /// By which rule.
    pub rule: ThresholdRule,
    /// What it was worth on these pairs.
    pub scores: Option<PairScores>,
}

/// The pairs that a threshold was chosen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Calibrated {
    /// On none: there is no threshold.
    No,
    /// On the training pairs, each under a metric that was learned without it.
    HeldOut,
    /// On pairs that were given for it.
    Given,
    /// On the training pairs themselves, which look nearer to what they should be than others.
    Training,
    /// By hand.
    Set,
}

impl std::fmt::Display for Calibrated {
    /// In words: "chosen on held-out pairs".
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::No => "not chosen",
            Self::HeldOut => "chosen on held-out pairs",
            Self::Given => "chosen on pairs given for it",
            Self::Training => "chosen on the training pairs",
            Self::Set => "set by hand",
        })
    }
}

impl Pairing {
    /// No threshold.
    #[must_use]
    pub fn without() -> Self {
        Self { threshold: None, chosen: Calibrated::No, rule: ThresholdRule::default(), scores: None }
    }
}

impl std::fmt::Display for Pairing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.threshold {
            Some(threshold) => {
                write!(f, "two rows are similar up to a distance of {threshold:.4} ({})", self.chosen)
            }
            None => f.write_str("distances between rows"),
        }
    }
}

/// The distances of pairs of mapped rows.
pub(super) fn distances(mapped: &Matrix, pairs: impl Iterator<Item = [usize; 2]>) -> Vec<f64> {
    let squared = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>();
    pairs.map(|[i, j]| squared(mapped.row(i), mapped.row(j)).sqrt()).collect()
}

/// A threshold and what it is worth, on pairs of these distances.
pub(super) fn choose(distances: &[f64], pairs: &[Pair], rule: ThresholdRule) -> Result<PairScores> {
    let similar: Vec<bool> = pairs.iter().map(|p| p.similar).collect();
    let strengths: Vec<f64> = pairs.iter().map(|p| p.strength).collect();
    let judged = JudgedPairs::new(distances, &similar)?.weighing(&strengths);
    Ok(judged.scores(Some(judged.threshold(rule)?)))
}

impl Model {
    /// The learned distance of each pair of rows, by their numbers.
    ///
    /// # Errors
    /// As [`Self::transform`]; or if a row is not there.
    pub fn pair_distances<'a>(&self, rows: impl Into<Rows<'a>>, pairs: &[[usize; 2]]) -> Result<Vec<f64>> {
        let mapped = self.transform(rows)?;
        let n = mapped.rows();
        if let Some((k, row)) = pairs.iter().enumerate().find_map(|(k, p)| p.iter().find(|r| **r >= n).map(|r| (k, r)))
        {
            return Err(Error::parameter("pairs", format!("number {k} names row {row}, but there are {n} rows")));
        }
        Ok(distances(&mapped, pairs.iter().copied()))
    }

    /// Whether two rows at such a distance are told similar.
    ///
    /// # Errors
    /// If the model has no threshold.
    pub fn threshold(&self) -> Result<f64> {
        match &self.classifier {
            Classifier::Pairs(Pairing { threshold: Some(threshold), .. }) => Ok(*threshold),
            Classifier::Pairs(_) => Err(Error::data(
                "the model has no threshold, as it was learned from comparisons: it tells distances, not whether rows are similar; \
                 calibrate it on pairs",
            )),
            _ => Err(Error::data(
                "the model predicts classes or numbers, not whether two rows are similar; calibrate it on pairs, or fit it \
                 on pairs",
            )),
        }
    }

    /// What the distance, and the threshold if there is one, are worth on pairs.
    ///
    /// # Errors
    /// As [`Self::pair_distances`].
    pub fn judge_pairs<'a>(&self, rows: impl Into<Rows<'a>>, pairs: &[Pair]) -> Result<PairScores> {
        let told: Vec<[usize; 2]> = pairs.iter().map(Pair::rows).collect();
        let distances = self.pair_distances(rows, &told)?;
        let similar: Vec<bool> = pairs.iter().map(|p| p.similar).collect();
        let strengths: Vec<f64> = pairs.iter().map(|p| p.strength).collect();
        Ok(JudgedPairs::new(&distances, &similar)?.weighing(&strengths).scores(self.threshold().ok()))
    }

    /// Chooses the threshold anew, on pairs of these rows that the metric should not have been learned from.
    ///
    /// # Errors
    /// As [`Self::pair_distances`]; or if the model is not one of rows without labels, or the pairs are all of one kind.
    pub fn calibrate<'a>(
        &mut self,
        rows: impl Into<Rows<'a>>,
        pairs: &[Pair],
        rule: ThresholdRule,
    ) -> Result<PairScores> {
        let told: Vec<[usize; 2]> = pairs.iter().map(Pair::rows).collect();
        let scores = choose(&self.pair_distances(rows, &told)?, pairs, rule)?;
        let Classifier::Pairs(pairing) = &mut self.classifier else {
            return Err(Error::data(
                "the model predicts classes or numbers: only one of rows without labels has a threshold",
            ));
        };
        *pairing = Pairing { threshold: scores.threshold, chosen: Calibrated::Given, rule, scores: Some(scores) };
        Ok(scores)
    }
}

impl Recipe<'_> {
    /// Fits on rows without labels.
    pub(super) fn fit_unlabelled(
        &self,
        preparation: Preparation,
        rows: TrainingRows,
        observer: &mut dyn Observer,
    ) -> Result<Model> {
        let (x, y) = (&rows.x, &rows.y);
        if self.pairs.is_none() && self.triplets.is_none() && self.quadruplets.is_none() {
            return Err(Error::parameter(
                "pairs",
                "the rows have no labels: give pairs, triplets or quadruplets to learn from, or name the label's column",
            ));
        }
        let mut training = Training::new(x, y)?;
        (training.start, training.weights) = (self.start, self.weights);
        (training.triplets, training.quadruplets, training.pairs) = (self.triplets, self.quadruplets, self.pairs);
        if matches!(self.spec, Spec::Euclidean(_)) {
            // Nothing is learned of any of them: the distance that others are compared with.
            (training.triplets, training.quadruplets) = (None, None);
        }
        if self.certificate {
            self.spec.check_certificate(&training)?;
        }
        let mut fit = self.spec.fit(&training, observer)?;
        let pairing = match (self.pairs, self.threshold) {
            (Some(pairs), Some(rule)) => {
                check_pairs(pairs, x.rows())?;
                self.calibrated(&training, &fit, (pairs, rule), observer)?
            }
            _ => Pairing::without(),
        };
        if pairing.chosen == Calibrated::Training {
            fit.outcome.notes.push(
                "the threshold was chosen on the training pairs, which makes it look better than it is; calibrate it on others"
                    .to_owned(),
            );
        }
        let learned = Provenance { spec: self.spec.clone(), used: self.spec.used(&training)?, outcome: fit.outcome };
        let classes = (y.classes().to_vec(), y.counts());
        let model =
            Model::new(learned, fit.metric, preparation, classes, Classifier::Pairs(pairing))?.with_training(rows)?;
        match fit.certificate {
            Some(certificate) if self.certificate => model.with_certificate(certificate),
            _ => Ok(model),
        }
    }

    /// The threshold by pairs under metrics that were learned without them.
    fn calibrated(
        &self,
        training: &Training<'_>,
        fit: &Fit,
        (pairs, rule): (&[Pair], ThresholdRule),
        observer: &mut dyn Observer,
    ) -> Result<Pairing> {
        rule.check()?;
        let stopped = matches!(fit.outcome.status, Status::TimeLimit | Status::Interrupted);
        let held_out = if stopped { None } else { self.held_out(training, &fit.metric, pairs, observer)? };
        let (chosen, found) = match held_out {
            Some(distances) => (Calibrated::HeldOut, distances),
            None => (Calibrated::Training, distances(&fit.metric.transform(training.x)?, pairs.iter().map(Pair::rows))),
        };
        let scores = choose(&found, pairs, rule)?;
        Ok(Pairing { threshold: scores.threshold, chosen, rule, scores: Some(scores) })
    }

    /// The distance of each pair under a metric that was learned from the other folds' pairs, in the scale of the metric of all; none
    /// where there are too few pairs, or the observer ends it.
    fn held_out(
        &self,
        training: &Training<'_>,
        metric: &Metric,
        pairs: &[Pair],
        observer: &mut dyn Observer,
    ) -> Result<Option<Vec<f64>>> {
        let Some(fold) = folds(pairs) else { return Ok(None) };
        let whole = metric.transform(training.x)?;
        let mut out = vec![0.0; pairs.len()];
        for held in 0..FOLDS {
            let rest: Vec<Pair> = pairs.iter().zip(&fold).filter(|(_, f)| **f != held).map(|(p, _)| *p).collect();
            let fit = self.spec.fit(&Training { pairs: Some(&rest), ..*training }, &mut Fleeting(observer))?;
            if matches!(fit.outcome.status, Status::TimeLimit | Status::Interrupted) {
                return Ok(None);
            }
            let mapped = fit.metric.transform(training.x)?;
            let size = |mapped: &Matrix| {
                let all = distances(mapped, rest.iter().map(Pair::rows));
                all.iter().zip(&rest).map(|(d, p)| p.strength * d * d).sum::<f64>().sqrt()
            };
            let (own, all) = (size(&mapped), size(&whole));
            let scale = if own > 0.0 && all > 0.0 { all / own } else { 1.0 };
            for (k, pair) in pairs.iter().enumerate().filter(|(k, _)| fold[*k] == held) {
                out[k] = scale * distances(&mapped, std::iter::once(pair.rows()))[0];
            }
        }
        Ok(Some(out))
    }
}

/// The fold of each pair: both kinds are in each, and the same two rows always in the same one. None where there are too few.
fn folds(pairs: &[Pair]) -> Option<Vec<usize>> {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut fold_of = std::collections::BTreeMap::new();
    let key = |p: &Pair| (p.first.min(p.second), p.first.max(p.second));
    for similar in [true, false] {
        let mut all: Vec<(usize, usize)> = pairs.iter().filter(|p| p.similar == similar).map(key).collect();
        all.sort_unstable();
        all.dedup();
        if all.len() < FOLDS {
            return None;
        }
        all.shuffle(&mut rng);
        for (k, pair) in all.into_iter().enumerate() {
            fold_of.entry(pair).or_insert(k % FOLDS);
        }
    }
    let fold: Vec<usize> = pairs.iter().map(|p| fold_of[&key(p)]).collect();
    // Where pairs are said to be both, a fold's rest may have lost one kind.
    let both = |held: usize| {
        [true, false].iter().all(|kind| pairs.iter().zip(&fold).any(|(p, f)| *f != held && p.similar == *kind))
    };
    (0..FOLDS).all(both).then_some(fold)
}
