//! A method that chooses: a small family of metrics, judged on rows that they were not learned from.
//!
//! | file | what it does |
//! |---|---|
//! | `family` | which metrics are tried |
//! | `judge` | folds: every metric, mixed with the Euclidean one or not, predicts rows it has not seen |
//! | `rule` | the choice by those predictions, and an estimate of what it is worth |
//! | `mix` | metrics of unit mean distance, and what is between one and the Euclidean metric |

mod family;
mod judge;
mod mix;
mod rule;

pub use rule::{Choice, Judged};

use super::{Euclidean, Fit, Learner, Lip, LipAdmm, Training};
use crate::classify::Weights;
use crate::evaluate::holdouts;
use crate::solver::{Observer, Progress, Status, Stop};
use crate::{Error, Labels, Matrix, Result};
use family::{Family, Member};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

/// Rows that the choice looks at, at most; the chosen metric is then learned from all.
const ROWS: usize = 2000;
const FOLDS: usize = 5;
/// Small tables are dealt to folds several times: until about this many rows have been predicted.
const PREDICTIONS: usize = 1000;
const REPEATS: usize = 5;

/// The tuned method: the Euclidean metric, unless another one is shown to be better.
///
/// Tried are the within-class Mahalanobis metric and [`LipLocal`](super::LipLocal) for four trade-offs, each by itself and
/// mixed with the Euclidean metric in four shares. All of them learn from four fifths of the rows and predict the last
/// fifth, in turn; the best is taken if it predicts better than the Euclidean metric by more than one standard error of the
/// difference, and if choosing the best by all folds but one pays on the one left out; it is learned again from all rows. With several numbers of neighbours to choose from
/// ([`Learner::fit_for`]) they are judged together with the metrics. [`Outcome::choice`](super::Outcome::choice) has all
/// scores, and an estimate of the accuracy that the choice itself has not made optimistic.
///
/// ```
/// use lipmetric::learner::{Learner, Training, Tuned};
/// use lipmetric::{Labels, Matrix, solver::Silent};
/// let x = Matrix::from_rows(&[[0.0, 0.1], [0.2, 0.9], [0.1, 0.5], [1.0, 0.2], [1.1, 0.8], [0.9, 0.4]]);
/// let y = Labels::from_names(["a", "a", "a", "b", "b", "b"]);
/// let fit = Tuned::new().fit(&Training::new(&x, &y)?, &mut Silent)?;
/// let choice = fit.outcome.choice.unwrap();
/// assert!(choice.accuracy >= choice.reference);
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Tuned {
    family: Family,
    seed: u64,
}

impl Default for Tuned {
    fn default() -> Self {
        Self::new()
    }
}

impl Tuned {
    /// The default family.
    #[must_use]
    pub fn new() -> Self {
        Self { family: Family::Local, seed: 0 }
    }

    /// Lip^D or Lip^I with `c` chosen among fractions of `c_max`: a tenth of it, unless another one is shown to be better.
    /// The choice is made by the exact solver on at most 600 rows; where there is a `large` one, it may do the last fit (see
    /// [`LipAuto`](super::LipAuto)).
    #[must_use]
    pub fn trade_off(lip: Lip, large: Option<LipAdmm>) -> Self {
        Self { family: Family::TradeOff(Box::new((lip, large))), seed: 0 }
    }

    /// Decides which rows are held out together.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The rows that the choice looks at.
    fn sample(&self, data: &Training<'_>) -> Result<Option<Vec<usize>>> {
        let most = self.family.rows().unwrap_or(ROWS);
        let n = data.x.rows();
        if n <= most {
            return Ok(None);
        }
        let split = holdouts(data.y, most as f64 / n as f64, 1, self.seed)?;
        Ok(split.into_iter().next().map(|s| s.train))
    }

    fn judge(
        &self,
        data: &Training<'_>,
        ks: &[usize],
        votes: Weights,
        watch: &mut Watch<'_>,
    ) -> Result<std::result::Result<judge::Scores, String>> {
        let sample = self.sample(data)?;
        let part = sample.map(|rows| Part::of(data, &rows));
        let part = part.as_ref().map(Part::training).transpose()?;
        let data = part.as_ref().unwrap_or(data);
        let repeats = PREDICTIONS.div_ceil(data.x.rows().max(1)).clamp(1, REPEATS);
        judge::judge(&self.family, data, ks, votes, FOLDS, repeats, self.seed, watch)
    }

    /// What is returned where nothing could be chosen.
    fn fallback(&self, data: &Training<'_>, k: usize, why: &str, watch: &mut Watch<'_>) -> Result<Fit> {
        let (mut fit, metric) = match self.family.finish(None) {
            Some(learner) => (learner.fit(data, watch)?, self.name()),
            None => (Euclidean.fit(data, watch)?, "euclidean"),
        };
        match watch.stop {
            Some(Stop::TimeLimit) => fit.outcome.status = Status::TimeLimit,
            Some(Stop::Interrupted) => fit.outcome.status = Status::Interrupted,
            None => {}
        }
        fit.outcome.notes.push(format!("nothing was chosen by held-out rows: {why}"));
        fit.outcome.choice = Some(Choice::unjudged(metric, k));
        Ok(fit)
    }
}

/// Some of the training rows.
struct Part {
    x: Matrix,
    y: Labels,
    weights: Option<Vec<f64>>,
}

impl Part {
    fn of(data: &Training<'_>, rows: &[usize]) -> Self {
        Self {
            x: data.x.select_rows(rows),
            y: data.y.select(rows),
            weights: data.weights.map(|w| rows.iter().map(|&i| w[i]).collect()),
        }
    }

    fn training(&self) -> Result<Training<'_>> {
        let training = Training::new(&self.x, &self.y)?;
        match &self.weights {
            Some(weights) => training.with_weights(weights),
            None => Ok(training),
        }
    }
}

/// Counts steps over all fits, passes on the figures of the last one alone, and remembers that it was told to stop.
struct Watch<'a> {
    inner: &'a mut dyn Observer,
    steps: usize,
    stop: Option<Stop>,
    /// Whether fits are still judged, whose figures tell an observer nothing.
    judging: bool,
    begun: Instant,
}

impl Observer for Watch<'_> {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Stop> {
        if let Some(stop) = self.stop {
            return ControlFlow::Break(stop);
        }
        self.steps += 1;
        let figures = if self.judging { Progress::default() } else { *at };
        let seconds = self.begun.elapsed().as_secs_f64();
        let told = self.inner.progress(&Progress { iteration: self.steps, seconds, ..figures });
        if let ControlFlow::Break(stop) = told {
            self.stop = Some(stop);
        }
        told
    }

    fn decided(&mut self, what: &str) {
        self.inner.decided(what);
    }
}

impl Learner for Tuned {
    fn name(&self) -> &'static str {
        self.family.name()
    }

    fn parameters(&self) -> BTreeMap<String, serde_json::Value> {
        let mut out = self.family.parameters();
        out.insert("seed".to_owned(), serde_json::json!(self.seed));
        out
    }

    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        self.fit_for(data, &[1], Weights::Uniform, observer)
    }

    fn fit_for(
        &self,
        data: &Training<'_>,
        neighbours: &[usize],
        votes: Weights,
        observer: &mut dyn Observer,
    ) -> Result<Fit> {
        let Some(&first) = neighbours.iter().min() else {
            return Err(Error::parameter("k", "there is no number of neighbours to choose from"));
        };
        let watch = &mut Watch { inner: observer, steps: 0, stop: None, judging: true, begun: Instant::now() };
        if data.y.counts().iter().filter(|n| **n > 0).count() < 2 {
            return Err(Error::data("all rows have the same label: there is nothing to tell apart"));
        }
        let scores = match self.judge(data, neighbours, votes, watch) {
            Ok(Ok(scores)) => scores,
            Ok(Err(why)) => return self.fallback(data, first, &why, watch),
            Err(_) if watch.stop.is_some() => return self.fallback(data, first, "the fit was stopped", watch),
            Err(error) => return Err(error),
        };
        let (candidate, choice) = rule::choose(&scores, self.family.reference());
        watch.judging = false;
        let mut fit = match (candidate.member, self.family.finish(candidate.c_rel)) {
            (None, _) => Euclidean.fit(data, watch)?,
            (Some(_), Some(learner)) => learner.fit(data, watch)?,
            (Some(at), None) => {
                let Member { fit, .. } = self.family.member(at, data, watch)?;
                Fit { metric: mix::mixed(&fit.metric, candidate.euclid, data.x)?, outcome: fit.outcome }
            }
        };
        fit.outcome.iterations = watch.steps;
        fit.outcome.choice = Some(choice);
        Ok(fit)
    }
}
