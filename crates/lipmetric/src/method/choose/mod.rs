//! A method that chooses: a small family of metrics, judged on rows that they were not learned from.
//!
//! | file | what it does |
//! |---|---|
//! | `family` | which metrics are tried |
//! | `forms` | the same of Lip^D and Lip^I: trade-off, slack, diameter, variant and rank |
//! | `judge` | folds: every metric, mixed with the Euclidean one or not, predicts rows it has not seen |
//! | `joint` | the same for a metric and a function together: votes and smooth functions of every distance |
//! | `pick` | the choice between these |
//! | `kept` | what another run need not do again |
//! | `large` | the choice for many rows: on a sample, judged again with all |
//! | `scaling` | how features are scaled, before anything else is chosen |
//! | `score` | what is made as large as can be: accuracy, balanced accuracy, log-likelihood, AUC |
//! | `standing` | the rule of one standard error, and what it is worth |
//! | `rule` | the choice by those predictions, and an estimate of what it is worth |
//! | `mix` | metrics of unit mean distance, and what is between one and the Euclidean metric |

mod family;
mod forms;
mod joint;
mod judge;
mod kept;
mod large;
mod mix;
mod pick;
mod rule;
mod scaling;
mod score;
mod standing;

pub(super) use family::Family;
pub(super) use forms::Forms;
pub use rule::{Choice, Judged, MetricKind};
pub use scaling::ScalingChoice;
pub(crate) use scaling::{Judges, Raw};
pub use score::Score;

use super::parameters::parameters;
use joint::Ask;

use super::{Fit, Method, ONE_NEIGHBOUR, Part, Serves, Training};
use crate::classify::{SmoothSpec, Weights};
use crate::data::holdouts;
use crate::solver::{Halt, Kept, Observer, Progress, Status, Timed};
use crate::{Error, Result};
use std::ops::ControlFlow;

/// What the metric that was chosen, learned from all rows, is kept by.
const CHOSEN: &str = "chosen";

const FOLDS: usize = 5;
/// How often the rows of small tables are dealt to folds, at most.
const REPEATS: usize = 5;

parameters! {
    /// The Euclidean metric, unless another one is shown to be better.
    ///
    /// Tried are the within-class Mahalanobis metric, [`LipLocal`](super::LipLocal) for four trade-offs, [`Agop`](super::Agop) and,
    /// where there are few rows, [`Nca`](super::Nca) by the likelihood and [`Lmnn`](super::Lmnn); of more than 200 features, such as
    /// embeddings, Fisher's discriminant directions in place of the within-class metric and `LipLocal`. Each is tried by itself and
    /// mixed with the Euclidean metric in four shares. They are compared by five-fold cross-validation. The best is taken if it
    /// predicts better than the Euclidean metric by more than one standard error of the paired difference, and if a nested
    /// check agrees: over the folds, the winner on the other folds must also beat the Euclidean metric on the one left out.
    /// It is learned again from all rows. With several numbers of neighbours to choose from
    /// ([`Training::with_votes`]) they are judged together with the metrics.
    /// [`Outcome::choice`](super::Outcome::choice) has all scores, and an estimate of the accuracy that the choice itself has
    /// not made optimistic.
    ///
    /// ```
    /// use lipmetric::method::{Auto, Method, Training};
    /// use lipmetric::{Labels, Matrix, solver::Silent};
    /// let x = Matrix::from_rows(&[[0.0, 0.1], [0.2, 0.9], [0.1, 0.5], [1.0, 0.2], [1.1, 0.8], [0.9, 0.4]]);
    /// let y = Labels::from_names(["a", "a", "a", "b", "b", "b"]);
    /// let fit = Auto::new().fit(&Training::new(&x, &y)?, &mut Silent)?;
    /// let choice = fit.outcome.choice.unwrap();
    /// assert!(choice.chosen.accuracy >= choice.reference);
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    pub struct Auto = "auto" {
        /// Decides which rows are held out together.
        seed: u64 = 0,
        /// What is made as large as can be on held-out rows: accuracy, balanced accuracy, the log-likelihood or the AUC.
        score: Score = Score::Accuracy,
        /// The learned distances that are tried beside the Euclidean one; all where the list is empty.
        metrics: Vec<MetricKind> = Vec::new(),
    }
}

impl Method for Auto {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn takes_start(&self) -> bool {
        false
    }

    fn takes_numbers(&self) -> bool {
        true
    }

    fn check(&self) -> Result<()> {
        match self.metrics.iter().find(|m| !MetricKind::KNOWN.contains(m)) {
            Some(other) => {
                let names: Vec<&str> = MetricKind::KNOWN.iter().map(|m| m.name()).collect();
                let message =
                    format!("{} is not chosen by cross-validation; give some of {}", other.name(), names.join(", "));
                Err(Error::parameter("metrics", message))
            }
            None => Ok(()),
        }
    }

    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        data.check_for(self)?;
        self.check()?;
        let family = Family::local(&self.metrics, data)?;
        if data.y.numbers().is_some() && self.score != Score::Accuracy {
            let message = format!(
                "{} is a score of classes; numbers are judged by their squared errors: leave it out",
                self.score
            );
            return Err(Error::parameter("score", message));
        }
        let (neighbours, weights, smooth) = match data.serves {
            Serves::Function { neighbours, weights, smooth } => (neighbours, weights, smooth),
            Serves::Votes { neighbours, weights } if data.y.numbers().is_some() => (neighbours, weights, None),
            // The extension is a smooth function, too, and takes the distance that is the best for one.
            Serves::Extension { .. } if data.y.numbers().is_some() => {
                (&[][..], Weights::Uniform, Some(SmoothSpec::default()))
            }
            _ => return fit(&family, self.seed, data, observer),
        };
        let ask = Ask { neighbours, weights, smooth, score: self.score };
        fit_jointly(&Chooser { family: &family, seed: self.seed }, data, &ask, observer)
    }
}

/// Chooses from a family by cross-validation, and learns what was chosen from all rows.
pub(super) fn fit(family: &Family, seed: u64, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
    let serves = match (family, data.serves) {
        // Without learned values the extension of the labels is the nearest neighbour.
        (Family::Local(..), Serves::Extension { .. }) => ONE_NEIGHBOUR,
        (_, Serves::Function { neighbours, weights, .. }) => Serves::Votes { neighbours, weights },
        (_, serves) => serves,
    };
    let first = match serves {
        Serves::Votes { neighbours: [], .. } => {
            return Err(Error::parameter("k", "there is no number of neighbours to choose from"));
        }
        Serves::Votes { neighbours, .. } => neighbours.iter().copied().min(),
        Serves::Extension { .. } | Serves::Function { .. } => None,
    };
    let observer = &mut Timed::new(observer);
    let watch = &mut Watch { inner: observer, steps: 0, stop: None, judging: true, folds: None, within: None };
    if data.y.counts().iter().filter(|n| **n > 0).count() < 2 {
        return Err(Error::data("all rows have the same label: at least two classes are needed"));
    }
    let chooser = Chooser { family, seed };
    let scores = match chooser.judge(data, serves, watch) {
        Ok(Ok(scores)) => scores,
        Ok(Err(why)) => return chooser.fallback(data, first, &why, watch),
        Err(_) if watch.stop.is_some() => return chooser.fallback(data, first, "the fit was stopped", watch),
        Err(error) => return Err(error),
    };
    let (candidate, choice) = rule::choose(&scores, family.usual());
    watch.judging = false;
    let mut fit = kept::fit((CHOSEN, family), data, watch, |watch| {
        family.finish(candidate.traits, (candidate.euclid, candidate.unit_c), data, watch)
    })?;
    fit.outcome.iterations = watch.steps;
    fit.outcome.choice = Some(choice);
    Ok(fit)
}

/// Chooses a metric and a function by cross-validation, and learns the metric from all rows.
fn fit_jointly(chooser: &Chooser<'_>, data: &Training<'_>, ask: &Ask<'_>, observer: &mut dyn Observer) -> Result<Fit> {
    data.y.check_two_classes()?;
    let observer = &mut Timed::new(observer);
    let watch = &mut Watch { inner: observer, steps: 0, stop: None, judging: true, folds: None, within: None };
    if data.x.rows() > large::SAMPLE {
        return large::fit(chooser, data, ask, watch);
    }
    let first = ask.fallback();
    let race = match chooser.judge_jointly(data, ask, watch) {
        Ok(Ok(race)) => race,
        Ok(Err(why)) => return chooser.fallback(data, first, &why, watch),
        Err(_) if watch.stop.is_some() => return chooser.fallback(data, first, "the fit was stopped", watch),
        Err(error) => return Err(error),
    };
    let picked = race.choose(data, ask)?;
    let candidate = race.candidates[race.arms[picked.arm].candidate];
    watch.judging = false;
    let mut fit = kept::fit((CHOSEN, chooser.family), data, watch, |watch| {
        chooser.family.finish(candidate.traits, (candidate.euclid, candidate.unit_c), data, watch)
    })?;
    fit.outcome.iterations = watch.steps;
    fit.outcome.choice = Some(picked.choice);
    (fit.calibration, fit.discriminant) = (picked.calibration, picked.discriminant);
    Ok(fit)
}

/// A family and how its rows are dealt to folds.
struct Chooser<'a> {
    family: &'a Family,
    seed: u64,
}

impl Chooser<'_> {
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
        serves: Serves<'_>,
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
        judge::judge(self.family, data, serves, (FOLDS, repeats, self.seed), watch)
    }

    /// Every distance with every function, judged on folds.
    fn judge_jointly(
        &self,
        data: &Training<'_>,
        ask: &Ask<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<std::result::Result<joint::Race, String>> {
        let (_, predictions) = self.family.effort();
        let repeats = predictions.div_ceil(data.x.rows().max(1)).clamp(1, REPEATS);
        joint::judge(self.family, data, ask, (FOLDS, repeats, self.seed), watch)
    }

    /// What is returned where nothing could be chosen.
    fn fallback(&self, data: &Training<'_>, k: Option<usize>, why: &str, watch: &mut Watch<'_>) -> Result<Fit> {
        let usual = self.family.usual();
        let mut fit = self.family.finish(usual, (0.0, None), data, watch)?;
        match watch.stop {
            Some(Halt::TimeLimit) => fit.outcome.status = Status::TimeLimit,
            Some(Halt::Interrupted) => fit.outcome.status = Status::Interrupted,
            None => {}
        }
        fit.outcome.notes.push(format!("no choice was made by cross-validation: {why}"));
        fit.outcome.choice = Some(Choice::unjudged(usual, k));
        Ok(fit)
    }
}

/// Counts steps over all fits, passes on the figures of the last one alone, and remembers that it was told to stop.
struct Watch<'a> {
    inner: &'a mut dyn Observer,
    steps: usize,
    stop: Option<Halt>,
    /// Whether fits are still judged, whose figures tell an observer nothing.
    judging: bool,
    /// Folds that are done, and folds in all.
    folds: Option<(usize, usize)>,
    /// What the parts of a fit are kept under, where they are: a single fit of Lip^D or Lip^I, which goes on to the same optimum. Other fits
    /// are done again from their beginning, so that the choice is the same bit for bit.
    within: Option<String>,
}

impl Watch<'_> {
    fn named(&self, part: &str) -> Option<String> {
        Some(format!("{}{part}", self.within.as_ref()?))
    }
}

impl Observer for Watch<'_> {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt> {
        if let Some(stop) = self.stop {
            return ControlFlow::Break(stop);
        }
        self.steps += 1;
        let figures = if self.judging { Progress { folds: self.folds, ..Progress::default() } } else { *at };
        let told = self.inner.progress(&Progress { iteration: self.steps, ..figures });
        if let ControlFlow::Break(stop) = told {
            self.stop = Some(stop);
        }
        told
    }

    fn decided(&mut self, what: &str) {
        self.inner.decided(what);
    }

    fn kept(&mut self, part: &str) -> Option<Kept> {
        self.named(part).and_then(|part| self.inner.kept(&part))
    }

    fn keep(&mut self, part: &str, state: &mut dyn FnMut() -> Kept) {
        if let Some(part) = self.named(part) {
            self.inner.keep(&part, state);
        }
    }

    fn finished(&mut self, part: &str, result: &Kept) {
        if let Some(part) = self.named(part) {
            self.inner.finished(&part, result);
        }
    }
}
