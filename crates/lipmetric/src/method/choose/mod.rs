//! A method that chooses: a small family of metrics, judged on rows that they were not learned from.
//!
//! | file | what it does |
//! |---|---|
//! | `family` | which metrics are tried |
//! | `forms` | the same of Lip^D and Lip^I: trade-off, slack, diameter, variant and rank |
//! | `judge` | folds: every metric, mixed with the Euclidean one or not, predicts rows it has not seen |
//! | `rule` | the choice by those predictions, and an estimate of what it is worth |
//! | `mix` | metrics of unit mean distance, and what is between one and the Euclidean metric |

mod family;
mod forms;
mod judge;
mod mix;
mod rule;

pub use forms::Aspect;
pub use rule::{Choice, Judged};

use super::{Fit, Learner, Lip, LipAdmm, Training};
use crate::classify::Weights;
use crate::data::holdouts;
use crate::solver::{Halt, Observer, Progress, Status, Timed};
use crate::{Error, Labels, Matrix, Result};
use family::Family;
use forms::Forms;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

const FOLDS: usize = 5;
/// How often the rows of small tables are dealt to folds, at most.
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
/// use lipmetric::method::{Learner, Training, Tuned};
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
    #[must_use]
    pub fn trade_off(lip: Lip, large: Option<LipAdmm>) -> Self {
        Self::lip(lip, large, &[Aspect::TradeOff])
    }

    /// Lip^D or Lip^I of which these aspects are chosen, together, by the same held-out rows: `lip` as it is given, unless
    /// another one is shown to be better. If the form of the problem (slack, diameter, variant) is to be chosen, its
    /// trade-off must be a fraction of `c_max`, or be chosen as well.
    ///
    /// The choice is made by the exact solver, each form a path of trade-offs, on at most 600 rows (300 where the form is
    /// chosen); where there is a `large` learner, it may do the last fit (see [`LipAuto`](super::LipAuto)).
    ///
    /// ```
    /// use lipmetric::method::{Aspect, Learner, Lip, Training, Tuned};
    /// use lipmetric::{Labels, Matrix, solver::Silent};
    /// let x = Matrix::from_rows(&[[0.0, 0.1], [0.2, 0.9], [0.1, 0.5], [1.0, 0.2], [1.1, 0.8], [0.9, 0.4]]);
    /// let y = Labels::from_names(["a", "a", "a", "b", "b", "b"]);
    /// let tuned = Tuned::lip(Lip::intra().c_relative(0.1), None, &[Aspect::Slack, Aspect::Rank]);
    /// let choice = tuned.fit(&Training::new(&x, &y)?, &mut Silent)?.outcome.choice.unwrap();
    /// assert!(choice.slack.is_some() && choice.rank == Some(1));
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    #[must_use]
    pub fn lip(lip: Lip, large: Option<LipAdmm>, aspects: &[Aspect]) -> Self {
        Self { family: Family::Forms(Box::new(Forms::new(lip, large, aspects))), seed: 0 }
    }

    /// Decides which rows are held out together.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The rows that the choice looks at.
    fn sample(&self, data: &Training<'_>) -> Result<Option<Vec<usize>>> {
        let (most, _) = self.family.effort();
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
        if let Some(told) = self.family.describe() {
            watch.inner.decided(&told);
        }
        let sample = self.sample(data)?;
        let part = sample.map(|rows| Part::of(data, &rows));
        let part = part.as_ref().map(Part::training).transpose()?;
        let data = part.as_ref().unwrap_or(data);
        let (_, predictions) = self.family.effort();
        let repeats = predictions.div_ceil(data.x.rows().max(1)).clamp(1, REPEATS);
        judge::judge(&self.family, data, ks, votes, FOLDS, repeats, self.seed, watch)
    }

    /// What is returned where nothing could be chosen.
    fn fallback(&self, data: &Training<'_>, k: usize, why: &str, watch: &mut Watch<'_>) -> Result<Fit> {
        let usual = self.family.usual();
        let mut fit = self.family.finish(usual, 0.0, data, watch)?;
        match watch.stop {
            Some(Halt::TimeLimit) => fit.outcome.status = Status::TimeLimit,
            Some(Halt::Interrupted) => fit.outcome.status = Status::Interrupted,
            None => {}
        }
        fit.outcome.notes.push(format!("nothing was chosen by held-out rows: {why}"));
        fit.outcome.choice = Some(Choice::unjudged(usual, k));
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
    stop: Option<Halt>,
    /// Whether fits are still judged, whose figures tell an observer nothing.
    judging: bool,
}

impl Observer for Watch<'_> {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt> {
        if let Some(stop) = self.stop {
            return ControlFlow::Break(stop);
        }
        self.steps += 1;
        let figures = if self.judging { Progress::default() } else { *at };
        let told = self.inner.progress(&Progress { iteration: self.steps, ..figures });
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
        self.family.check()?;
        let observer = &mut Timed::new(observer);
        let watch = &mut Watch { inner: observer, steps: 0, stop: None, judging: true };
        if data.y.counts().iter().filter(|n| **n > 0).count() < 2 {
            return Err(Error::data("all rows have the same label: there is nothing to tell apart"));
        }
        let settled = Self { family: self.family.settled(data)?, seed: self.seed };
        let scores = match settled.judge(data, neighbours, votes, watch) {
            Ok(Ok(scores)) => scores,
            Ok(Err(why)) => return settled.fallback(data, first, &why, watch),
            Err(_) if watch.stop.is_some() => return settled.fallback(data, first, "the fit was stopped", watch),
            Err(error) => return Err(error),
        };
        let (candidate, choice) = rule::choose(&scores, settled.family.usual());
        watch.judging = false;
        let mut fit = settled.family.finish(candidate.traits, candidate.euclid, data, watch)?;
        fit.outcome.iterations = watch.steps;
        fit.outcome.choice = Some(choice);
        Ok(fit)
    }
}
