//! From the distance of two rows to whether they are similar: a threshold, how it is chosen, and what it is worth.

use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// What a threshold is chosen by, among all that tell given pairs apart differently.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ThresholdRule {
    /// The largest share of pairs that are told rightly.
    #[default]
    Accuracy,
    /// The largest F score of the similar pairs, in which recall counts this many times as much as precision.
    FBeta(f64),
    /// As many similar pairs as possible told rightly, with at least this share of the dissimilar ones.
    MaxTpr(f64),
    /// As many dissimilar pairs as possible told rightly, with at least this share of the similar ones.
    MaxTnr(f64),
}

impl ThresholdRule {
    /// Checks its number.
    ///
    /// # Errors
    /// If `beta` is not positive and finite, or a share not from 0 to 1.
    pub fn check(self) -> Result<()> {
        match self {
            Self::FBeta(beta) if !(beta > 0.0 && beta.is_finite()) => {
                Err(Error::parameter("beta", format!("{beta} is not positive and finite")))
            }
            Self::MaxTpr(rate) | Self::MaxTnr(rate) if !(0.0..=1.0).contains(&rate) => {
                Err(Error::parameter("min_rate", format!("{rate} is not from 0 to 1")))
            }
            _ => Ok(()),
        }
    }

    /// How good a threshold is; none where it does not do what is asked for.
    fn score(self, tally: &Tally) -> Option<f64> {
        match self {
            Self::Accuracy => Some(tally.accuracy()),
            Self::FBeta(beta) => Some(tally.f_score(beta).unwrap_or(0.0)),
            Self::MaxTpr(least) => (tally.rate_of_dissimilar() >= least).then(|| tally.rate_of_similar()),
            Self::MaxTnr(least) => (tally.rate_of_similar() >= least).then(|| tally.rate_of_dissimilar()),
        }
    }
}

/// Weights of pairs, by what they are and what they are told to be.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    /// Similar, and told so; dissimilar, and told similar.
    near: [f64; 2],
    /// Similar, and told dissimilar; dissimilar, and told so.
    far: [f64; 2],
}

fn share(part: f64, rest: f64) -> Option<f64> {
    (part + rest > 0.0).then(|| part / (part + rest))
}

impl Tally {
    fn accuracy(&self) -> f64 {
        share(self.near[0] + self.far[1], self.near[1] + self.far[0]).unwrap_or(0.0)
    }

    fn rate_of_similar(&self) -> f64 {
        share(self.near[0], self.far[0]).unwrap_or(1.0)
    }

    fn rate_of_dissimilar(&self) -> f64 {
        share(self.far[1], self.near[1]).unwrap_or(1.0)
    }

    fn f_score(&self, beta: f64) -> Option<f64> {
        let right = (1.0 + beta * beta) * self.near[0];
        share(right, beta * beta * self.far[0] + self.near[1])
    }
}

/// Pairs of which is known whether they are similar: how far apart they are, and how much each counts.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct JudgedPairs<'a> {
    /// The distance of each pair.
    pub distances: &'a [f64],
    /// Whether it is similar.
    pub similar: &'a [bool],
    /// How much it counts; once where there are none.
    pub strengths: Option<&'a [f64]>,
}

impl<'a> JudgedPairs<'a> {
    /// Pairs that count once each.
    ///
    /// # Errors
    /// If there are not as many distances, a distance is not a number, or there is no pair.
    pub fn new(distances: &'a [f64], similar: &'a [bool]) -> Result<Self> {
        if distances.len() != similar.len() {
            return Err(Error::shape("distances of the pairs", similar.len(), distances.len()));
        }
        if distances.is_empty() {
            return Err(Error::parameter("pairs", "there are none to judge by: give at least one"));
        }
        if let Some(k) = distances.iter().position(|d| d.is_nan()) {
            return Err(Error::data(format!("the distance of pair {k} is not a number")));
        }
        Ok(Self { distances, similar, strengths: None })
    }

    /// The same with a strength each.
    #[must_use]
    pub fn weighing(self, strengths: &'a [f64]) -> Self {
        Self { strengths: Some(strengths), ..self }
    }

    fn weight(&self, k: usize) -> f64 {
        self.strengths.map_or(1.0, |s| s[k])
    }

    fn tally(&self, threshold: f64) -> Tally {
        let mut tally = Tally::default();
        for (k, &d) in self.distances.iter().enumerate() {
            let side = if d <= threshold { &mut tally.near } else { &mut tally.far };
            side[usize::from(!self.similar[k])] += self.weight(k);
        }
        tally
    }

    /// The threshold that a rule chooses: pairs up to it are told similar. It is half-way between two distances; of equally good
    /// ones it is the smallest.
    ///
    /// ```
    /// use lipmetric::classify::{JudgedPairs, ThresholdRule};
    /// let pairs = JudgedPairs::new(&[0.5, 1.0, 2.0, 3.0], &[true, true, false, false])?;
    /// assert_eq!(pairs.threshold(ThresholdRule::Accuracy)?, 1.5);
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    ///
    /// # Errors
    /// If all pairs are of one kind, or the rule's number is out of range.
    pub fn threshold(&self, rule: ThresholdRule) -> Result<f64> {
        rule.check()?;
        if self.similar.iter().all(|s| *s == self.similar[0]) {
            let kind = if self.similar[0] { "similar" } else { "dissimilar" };
            return Err(Error::parameter(
                "pairs",
                format!("all are {kind}: a threshold is chosen by pairs of both kinds"),
            ));
        }
        let mut order: Vec<usize> = (0..self.distances.len()).collect();
        order.sort_by(|&a, &b| self.distances[a].total_cmp(&self.distances[b]));
        let least = self.distances[order[0]];
        // No pair is told similar below the least distance: at it all that are equal to it are.
        let nothing = if least > 0.0 { 0.5 * least } else { -1.0 };
        let mut tally = self.tally(f64::NEG_INFINITY);
        let mut best = rule.score(&tally).map(|score| (score, nothing));
        for tied in order.chunk_by(|&a, &b| self.distances[a] == self.distances[b]) {
            for &k in tied {
                let kind = usize::from(!self.similar[k]);
                tally.far[kind] -= self.weight(k);
                tally.near[kind] += self.weight(k);
            }
            let here = self.distances[tied[0]];
            let Some(score) = rule.score(&tally).filter(|s| best.is_none_or(|b| *s > b.0)) else { continue };
            let next = order.iter().map(|&k| self.distances[k]).find(|d| *d > here);
            best = Some((score, next.map_or(here, |next| f64::midpoint(here, next))));
        }
        best.map(|b| b.1).ok_or_else(|| Error::parameter("min_rate", "no threshold reaches it on these pairs"))
    }

    /// What a threshold is worth on these pairs.
    #[must_use]
    pub fn scores(&self, threshold: Option<f64>) -> PairScores {
        let tally = threshold.map(|t| self.tally(t));
        PairScores {
            pairs: self.similar.len(),
            similar: self.similar.iter().filter(|s| **s).count(),
            threshold,
            accuracy: tally.map(|t| t.accuracy()),
            precision: tally.and_then(|t| share(t.near[0], t.near[1])),
            recall: tally.and_then(|t| share(t.near[0], t.far[0])),
            f1: tally.and_then(|t| t.f_score(1.0)),
            auc: self.auc(),
        }
    }

    /// The chance that a similar pair is nearer than a dissimilar one; equal distances count half.
    fn auc(&self) -> Option<f64> {
        let mut order: Vec<usize> = (0..self.distances.len()).collect();
        order.sort_by(|&a, &b| self.distances[a].total_cmp(&self.distances[b]));
        let total = |of: &[usize], similar: bool| -> f64 {
            of.iter().filter(|&&k| self.similar[k] == similar).map(|&k| self.weight(k)).sum()
        };
        let (own, others) = (total(&order, true), total(&order, false));
        let (mut sum, mut nearer) = (0.0, 0.0);
        for tied in order.chunk_by(|&a, &b| self.distances[a] == self.distances[b]) {
            let (similar, dissimilar) = (total(tied, true), total(tied, false));
            sum += dissimilar * (nearer + 0.5 * similar);
            nearer += similar;
        }
        (own > 0.0 && others > 0.0).then(|| sum / (own * others))
    }
}

/// What a distance and a threshold are worth on pairs. "Positive" is similar.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PairScores {
    /// Pairs that were judged.
    pub pairs: usize,
    /// How many of them are similar.
    pub similar: usize,
    /// The threshold, where there is one.
    pub threshold: Option<f64>,
    /// The share that is told rightly.
    pub accuracy: Option<f64>,
    /// Of those told similar, the share that is.
    pub precision: Option<f64>,
    /// Of the similar ones, the share told so.
    pub recall: Option<f64>,
    /// The harmonic mean of precision and recall.
    pub f1: Option<f64>,
    /// The chance that a similar pair is nearer than a dissimilar one.
    pub auc: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const D: [f64; 6] = [0.1, 0.4, 0.4, 0.9, 1.5, 2.0];
    const S: [bool; 6] = [true, true, false, true, false, false];

    #[test]
    fn a_threshold_is_the_best_of_all_by_its_rule() {
        let pairs = JudgedPairs::new(&D, &S).unwrap();
        let rules = [
            ThresholdRule::Accuracy,
            ThresholdRule::FBeta(2.0),
            ThresholdRule::MaxTpr(0.6),
            ThresholdRule::MaxTnr(0.3),
        ];
        for rule in rules {
            let chosen = rule.score(&pairs.tally(pairs.threshold(rule).unwrap())).unwrap();
            for t in (0..250).map(|k| f64::from(k) * 0.01) {
                assert!(rule.score(&pairs.tally(t)).is_none_or(|s| s <= chosen), "{rule:?} {t}");
            }
        }
        assert_eq!(pairs.threshold(ThresholdRule::Accuracy).unwrap(), 1.2);
        // Everything, and nothing, told similar.
        assert_eq!(pairs.threshold(ThresholdRule::MaxTpr(0.0)).unwrap(), 1.2);
        assert_eq!(pairs.threshold(ThresholdRule::MaxTnr(0.0)).unwrap(), 0.05);
        assert_eq!(pairs.threshold(ThresholdRule::MaxTpr(1.0)).unwrap(), 0.25);
    }

    #[test]
    fn scores_are_those_of_the_counts() {
        let scores = JudgedPairs::new(&D, &S).unwrap().scores(Some(1.2));
        assert_eq!((scores.accuracy, scores.precision, scores.recall), (Some(5.0 / 6.0), Some(0.75), Some(1.0)));
        assert!((scores.f1.unwrap() - 6.0 / 7.0).abs() < 1e-12);
        // 3 x 3 comparisons: one tie, one lost.
        assert!((scores.auc.unwrap() - 7.5 / 9.0).abs() < 1e-12);
    }

    #[test]
    fn a_strength_of_two_is_a_pair_given_twice() {
        let twice = JudgedPairs::new(&[0.4, 0.4, 0.9, 1.0], &[true, true, false, true]).unwrap();
        let strong = JudgedPairs::new(&[0.4, 0.9, 1.0], &[true, false, true]).unwrap().weighing(&[2.0, 1.0, 1.0]);
        assert_eq!(twice.threshold(ThresholdRule::Accuracy), strong.threshold(ThresholdRule::Accuracy));
        assert_eq!(twice.scores(Some(0.5)).accuracy, strong.scores(Some(0.5)).accuracy);
        assert_eq!(twice.scores(None).auc, strong.scores(None).auc);
    }

    #[test]
    fn what_cannot_be_judged_is_refused() {
        assert!(JudgedPairs::new(&[1.0], &[]).is_err());
        assert!(JudgedPairs::new(&[], &[]).is_err());
        assert!(JudgedPairs::new(&[f64::NAN], &[true]).is_err());
        let one = JudgedPairs::new(&[1.0, 2.0], &[true, true]).unwrap();
        assert!(one.threshold(ThresholdRule::Accuracy).unwrap_err().to_string().contains("all are similar"));
        let both = JudgedPairs::new(&[1.0, 2.0], &[true, false]).unwrap();
        assert!(both.threshold(ThresholdRule::FBeta(0.0)).is_err());
        assert!(both.threshold(ThresholdRule::MaxTpr(1.5)).is_err());
    }
}
