//! The choice of a metric and a function by what every combination said of rows that it had not seen.

use super::joint::{Arm, Ask, How, Race, reading_weights, row_weights};
use super::rule::{Choice, Judged, MetricKind};
use super::standing::Standing;
use super::{Score, Training};
use crate::Result;
use crate::classify::smooth::Discriminant;
use crate::classify::{Calibration, Reading, Smoothness};

/// What was chosen.
pub(super) struct Picked {
    pub(super) arm: usize,
    pub(super) choice: Choice,
    /// How the values of a smooth function become probabilities.
    pub(super) calibration: Option<Calibration>,
    /// How a class is told from the values, where not by the largest.
    pub(super) discriminant: Option<Discriminant>,
}

impl Race {
    pub(super) fn standing<'a>(&'a self, good: &'a [Vec<f64>]) -> Standing<'a> {
        // What was given up after the first fold was so by that fold: it can tell nothing of what is left.
        let first = usize::from(self.dropped);
        Standing { good, fold: &self.fold, folds: first..self.folds }
    }

    pub(super) fn alive(&self, wanted: impl Fn(&Arm) -> bool) -> Vec<usize> {
        (0..self.arms.len()).filter(|&a| self.alive[a] && wanted(&self.arms[a])).collect()
    }

    /// What is taken unless another one is shown to be better: votes under the Euclidean distance, or the better of the smooth
    /// functions of the Euclidean distance and of their own gradients'.
    pub(super) fn usual(&self, smooth: bool) -> Vec<usize> {
        let own = |arm: &Arm| smooth && self.candidates[arm.candidate].traits.what == MetricKind::Agop;
        self.alive(|arm| (arm.candidate == 0 || own(arm)) && arm.smooth() == smooth)
    }

    /// The rule: the best of these, if it is shown to be better than the usual. Of smooth functions of its distance that are not
    /// shown to be worse, by one standard error, the one with the largest certified radius.
    fn rule(&self, among: &[usize], usual: &[usize], weight: &[f64]) -> usize {
        let standing = self.standing(&self.good);
        let pick = standing.verdict(among, usual, weight).pick;
        let chosen = self.arms[pick];
        if !chosen.smooth() {
            return pick;
        }
        let mut best = (pick, f64::NEG_INFINITY);
        for arm in self.alive(|arm| arm.smooth() && arm.candidate == chosen.candidate) {
            let (gap, error) = standing.difference(pick, arm, weight);
            if gap <= error + 1e-12 && self.radius[arm] > best.1 + 1e-12 {
                best = (arm, self.radius[arm]);
            }
        }
        best.0
    }

    /// The best arm with a smooth function, or with votes, by the rule; nothing where there is none.
    pub(super) fn best(&self, smooth: bool, data: &Training<'_>, score: Score) -> Option<usize> {
        let (among, usual) = (self.alive(|arm| arm.smooth() == smooth), self.usual(smooth));
        (!among.is_empty() && !usual.is_empty()).then(|| self.rule(&among, &usual, &self.weights(data, score)))
    }

    fn weights(&self, data: &Training<'_>, score: Score) -> Vec<f64> {
        let weights = row_weights(data, score).into_iter().zip(&self.times);
        weights.map(|(w, t)| if *t > 0.0 { w } else { 0.0 }).collect()
    }

    /// Applies the rule, and to each fold what it would have chosen without that fold.
    pub(super) fn choose(&self, data: &Training<'_>, ask: &Ask<'_>) -> Result<Picked> {
        let (weight, counts) = (self.weights(data, ask.score), self.weights(data, Score::Accuracy));
        let (all, usual) = (self.alive(|_| true), self.usual(ask.smooth.is_some()));
        let right = self.standing(&self.right);
        let arm = self.rule(&all, &usual, &weight);
        let verdict = self.standing(&self.good).verdict(&all, &usual, &weight);
        // Where the weights of a nested choice are those of a score, its worth is still the accuracy.
        let outside = |counts: &[f64]| -> Vec<f64> {
            weight.iter().zip(counts).map(|(w, c)| if *c > 0.0 { *w } else { 0.0 }).collect()
        };
        let estimate = right.nested(&counts, |kept| self.rule(&all, &usual, &outside(kept)));
        let votes = self.usual(false);
        let choice = Choice {
            chosen: self.judged(arm, right.mean(arm, &counts)),
            reference: right.mean(verdict.reference, &counts),
            standard_error: verdict.standard_error,
            estimate,
            rows: counts.iter().filter(|w| **w > 0.0).count(),
            folds: self.folds,
            repeats: self.repeats,
            absolute_error: data
                .y
                .numbers()
                .and_then(|_| self.standing(&self.off).nested(&counts, |kept| self.rule(&all, &usual, &outside(kept)))),
            neighbours: (!votes.is_empty()).then(|| right.mean(right.best(votes, &counts), &counts)),
            score: (ask.score != Score::Accuracy).then(|| self.standing(&self.good).mean(arm, &weight)),
            scaling: None,
            tried: self.tried(&right, &counts),
        };
        let (calibration, discriminant) = (self.calibration(arm, data)?, self.discriminant(arm, data, ask)?);
        Ok(Picked { arm, choice, calibration, discriminant })
    }

    /// The discriminants of all held-out rows, of an arm that is read by them.
    fn discriminant(&self, arm: usize, data: &Training<'_>, ask: &Ask<'_>) -> Result<Option<Discriminant>> {
        let (How::Smooth(Smoothness { reading: Reading::Discriminant, .. }), Some(values)) =
            (self.arms[arm].how, &self.unread[arm])
        else {
            return Ok(None);
        };
        let rows = self.times.iter().zip(reading_weights(data, ask));
        let weights: Vec<f64> = rows.map(|(t, w)| if *t > 0.0 { w } else { 0.0 }).collect();
        Discriminant::fit(values, data.y.codes(), &weights).map(Some)
    }

    /// How the values of a smooth arm become probabilities, by those on rows that it had not seen.
    pub(super) fn calibration(&self, arm: usize, data: &Training<'_>) -> Result<Option<Calibration>> {
        let Some(values) = self.values[arm].as_ref().filter(|_| data.y.numbers().is_none()) else { return Ok(None) };
        let rows: Vec<usize> = (0..self.times.len()).filter(|&i| self.times[i] > 0.0).collect();
        let truth: Vec<u32> = rows.iter().map(|&i| data.y.codes()[i]).collect();
        Calibration::fit(&values.select_rows(&rows), &truth, values.cols()).map(Some)
    }

    pub(super) fn judged(&self, arm: usize, accuracy: f64) -> Judged {
        let Arm { candidate, how } = self.arms[arm];
        let candidate = &self.candidates[candidate];
        match how {
            How::Votes(k) => Judged::new(candidate.traits, candidate.euclid, Some(k), accuracy),
            How::Smooth(smoothness) => Judged {
                smoothness: Some(smoothness),
                ..Judged::new(candidate.traits, candidate.euclid, None, accuracy)
            },
        }
    }

    /// Each distance with its best votes and its best smooth function, also of those that were given up after some rounds.
    fn tried(&self, right: &Standing<'_>, counts: &[f64]) -> Vec<Judged> {
        let mut out = Vec::new();
        for candidate in 0..self.candidates.len() {
            for smooth in [false, true] {
                let own = |arm: &Arm| arm.candidate == candidate && arm.smooth() == smooth;
                let judged = |a: &usize| (self.alive[*a] || self.given_up[*a]) && own(&self.arms[*a]);
                let arms: Vec<usize> = (0..self.arms.len()).filter(judged).collect();
                if !arms.is_empty() {
                    let best = right.best(arms, counts);
                    out.push(self.judged(best, right.mean(best, counts)));
                }
            }
        }
        out
    }
}
