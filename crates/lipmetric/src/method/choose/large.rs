//! A choice for many rows: made on a sample, and judged again with all rows, so that what is expected is what is delivered.

use super::family::Family;
use super::joint::{Arm, Ask, How, PARTS, Race};
use super::kept;
use super::rule::{Choice, MetricKind};
use super::score::{Score, Told, goodness};
use super::{Chooser, Fit, Part, Training, Watch};
use crate::classify::smooth::{self, Discriminant, Said};
use crate::classify::{Calibration, KScore, Poll, Reading, Smoothness, best_k};
use crate::data::{Split, holdouts};
use crate::neighbours::{NeighbourIndex, Neighbours};
use crate::solver::Status;
use crate::{Error, Labels, Matrix, Metric, Result};

/// Rows to choose by, at most.
pub(super) const SAMPLE: usize = 1500;
/// The part of the rows that the choice is judged on again, and how many at most.
const HELD: (f64, usize) = (0.2, 2000);
/// Rows that a metric is learned from, at most: it has far fewer unknowns.
const METRIC_ROWS: usize = 4000;

/// The same of this kind: one that needs no steps is learned from all.
const fn metric_rows(kind: MetricKind) -> usize {
    if matches!(kind, MetricKind::Discriminant) { usize::MAX } else { METRIC_ROWS }
}

/// Rows that were held out, and a way to judge what was learned from the others by them.
struct Held<'a> {
    ask: &'a Ask<'a>,
    rows: &'a Matrix,
    labels: &'a Labels,
    /// How much each row that is learned from counts.
    given: Option<&'a [f64]>,
    queries: &'a Matrix,
    truth: &'a Labels,
    weights: Vec<f64>,
}

/// An arm on the held-out rows.
struct Again {
    how: How,
    score: f64,
    accuracy: f64,
    absolute: Option<f64>,
    calibration: Option<Calibration>,
    discriminant: Option<Discriminant>,
}

/// What is told of held-out rows: by the score, by accuracy or R2 and, of numbers, how far off it is in the mean.
#[derive(Clone, Copy)]
struct Worth {
    score: f64,
    accuracy: f64,
    absolute: Option<f64>,
}

/// The rows that a choice may look at, and those that it is judged on again.
pub(super) fn kept_out(labels: &Labels, seed: u64) -> Result<Split> {
    let part = (HELD.1 as f64 / labels.len() as f64).min(HELD.0);
    let split = holdouts(labels, 1.0 - part, 1, seed)?.into_iter().next();
    split.ok_or_else(|| Error::data("the rows cannot be split"))
}

/// Chooses on a sample between the best distance for votes and the best for smooth functions by rows that neither has seen.
pub(super) fn fit(chooser: &Chooser<'_>, data: &Training<'_>, ask: &Ask<'_>, watch: &mut Watch<'_>) -> Result<Fit> {
    let n = data.x.rows();
    let split = kept_out(data.y, chooser.seed)?;
    let (rest, held) = (Part::of(data, &split.train), Part::of(data, &split.test));
    let (rest, held) = (rest.training()?, held.training()?);
    let sample = some_of(&rest, SAMPLE, chooser.seed)?;
    let few = sample.training()?;
    let race = match chooser.judge_jointly(&few, ask, watch) {
        Ok(Ok(race)) => race,
        Ok(Err(why)) => return chooser.fallback(data, ask.fallback(), &why, watch),
        Err(_) if watch.stop.is_some() => {
            return chooser.fallback(data, ask.fallback(), "the fit was stopped", watch);
        }
        Err(error) => return Err(error),
    };
    let mut choice = race.choose(&few, ask)?.choice;
    watch.inner.decided(&format!(
        "chosen on {} rows; judged again on {} rows by what is learned from the other {}",
        few.x.rows(),
        held.x.rows(),
        rest.x.rows()
    ));
    let mut best: Option<(usize, Fit, Again)> = None;
    for arm in [race.best(true, &few, ask.score), race.best(false, &few, ask.score)].into_iter().flatten() {
        let metric = learned(chooser.family, &race, arm, (&rest, "judged again"), chooser.seed, watch)?;
        let again = again(&race.arms[arm], &metric.metric, (&rest, &held), ask)?;
        if best.as_ref().is_none_or(|(_, _, known)| again.score > known.score) {
            best = Some((arm, metric, again));
        }
    }
    let Some((arm, mut fit, again)) = best else {
        return chooser.fallback(data, ask.fallback(), "nothing could be judged", watch);
    };
    // A metric of few rows is learned from all of them in the end.
    let most = metric_rows(race.candidates[race.arms[arm].candidate].traits.what);
    if rest.x.rows() <= most && watch.stop.is_none() {
        fit = learned(chooser.family, &race, arm, (data, "all rows"), chooser.seed, watch)?;
    }
    if n > METRIC_ROWS && fit.outcome.status != Status::ClosedForm {
        fit.outcome.notes.push(format!("the distance was learned from {METRIC_ROWS} of the {n} rows"));
    }
    choice.neighbours = plain_votes((&rest, &held), ask)?;
    told_again(&mut choice, &race, arm, &again, held.x.rows());
    (fit.calibration, fit.discriminant) = (again.calibration, again.discriminant);
    fit.outcome.iterations = watch.steps;
    fit.outcome.choice = Some(choice);
    Ok(fit)
}

/// Puts what was found with all rows in the place of what was found on the sample.
fn told_again(choice: &mut Choice, race: &Race, arm: usize, again: &Again, rows: usize) {
    choice.chosen = race.judged(arm, again.accuracy);
    match again.how {
        How::Votes(k) => choice.chosen.k = Some(k),
        How::Smooth(smoothness) => choice.chosen.smoothness = Some(smoothness),
    }
    (choice.estimate, choice.absolute_error, choice.rows) = (Some(again.accuracy), again.absolute, rows);
    choice.score = choice.score.map(|_| again.score);
    (choice.folds, choice.repeats) = (1, 1);
}

fn some_of(data: &Training<'_>, most: usize, seed: u64) -> Result<Part> {
    let n = data.x.rows();
    if n <= most {
        return Ok(Part::of(data, &(0..n).collect::<Vec<_>>()));
    }
    let split = holdouts(data.y, most as f64 / n as f64, 1, seed)?;
    Ok(Part::of(data, &split.first().map(|s| s.train.clone()).unwrap_or_default()))
}

/// The distance of an arm, learned from these rows or, of many, some of them.
fn learned(
    family: &Family,
    race: &Race,
    arm: usize,
    (data, rows): (&Training<'_>, &str),
    seed: u64,
    watch: &mut Watch<'_>,
) -> Result<Fit> {
    let candidate = &race.candidates[race.arms[arm].candidate];
    let part = some_of(data, metric_rows(candidate.traits.what), seed)?;
    watch.judging = false;
    let data = part.training()?;
    kept::fit((&format!("arm {arm}, {rows}"), family), &data, watch, |watch| {
        family.finish(candidate.traits, (candidate.euclid, candidate.unit_c), &data, watch)
    })
}

/// An arm judged again, its number of neighbours or its ridge included.
fn again(arm: &Arm, metric: &Metric, (rest, held): (&Training<'_>, &Training<'_>), ask: &Ask<'_>) -> Result<Again> {
    let (rows, queries) = (metric.transform(rest.x)?, metric.transform(held.x)?);
    let weights = super::joint::row_weights(held, ask.score);
    let (labels, given, truth) = (rest.y, rest.weights, held.y);
    let held = Held { ask, rows: &rows, labels, given, queries: &queries, truth, weights };
    match arm.how {
        How::Votes(_) => held.votes(),
        How::Smooth(smoothness) => held.smooth(smoothness),
    }
}

/// The accuracy of votes under the Euclidean distance.
fn plain_votes((rest, held): (&Training<'_>, &Training<'_>), ask: &Ask<'_>) -> Result<Option<f64>> {
    if ask.neighbours.is_empty() {
        return Ok(None);
    }
    let plain = Ask { score: Score::Accuracy, ..*ask };
    let weights = vec![1.0; held.x.rows()];
    let (labels, truth) = (rest.y, held.y);
    let held = Held { ask: &plain, rows: rest.x, labels, given: None, queries: held.x, truth, weights };
    Ok(Some(held.votes()?.accuracy))
}

impl Held<'_> {
    fn score(&self, told: &Told) -> Result<Worth> {
        let good = goodness(self.ask.score, told, self.truth)?;
        let total: f64 = self.weights.iter().sum();
        let score = good.iter().zip(&self.weights).map(|(g, w)| g * w).sum::<f64>() / total;
        let n = self.truth.len().max(1) as f64;
        if let (Some(numbers), Some(values)) = (self.truth.numbers(), &told.values) {
            let off: f64 = values.as_slice().iter().zip(numbers).map(|(v, t)| (v - t).abs()).sum();
            return Ok(Worth { score, accuracy: score, absolute: Some(off / n) });
        }
        let hits = told.labels.iter().zip(self.truth.codes()).filter(|(a, b)| a == b).count();
        Ok(Worth { score, accuracy: hits as f64 / n, absolute: None })
    }

    fn votes(&self) -> Result<Again> {
        let ks: Vec<usize> = self.ask.neighbours.iter().copied().filter(|k| *k <= self.labels.len()).collect();
        let most = ks.iter().copied().max().unwrap_or(1);
        let near = NeighbourIndex::new(self.rows.clone())?.query(self.queries, most)?;
        let mut found: Vec<(KScore, Worth)> = Vec::new();
        for &k in &ks {
            let told = match self.labels.numbers() {
                Some(numbers) => self.means(&near, numbers, k)?,
                None => self.polls(&near, k)?,
            };
            let worth = self.score(&told)?;
            found.push((KScore::new(k, worth.score), worth));
        }
        let scores: Vec<KScore> = found.iter().map(|f| f.0).collect();
        let k = best_k(&scores).unwrap_or(1);
        let none = Worth { score: f64::NEG_INFINITY, accuracy: 0.0, absolute: None };
        let Worth { score, accuracy, absolute } = found.iter().find(|f| f.0.k == k).map_or(none, |f| f.1);
        Ok(Again { how: How::Votes(k), score, accuracy, absolute, calibration: None, discriminant: None })
    }

    /// The votes of so many of the nearest rows.
    fn polls(&self, near: &Neighbours, k: usize) -> Result<Told> {
        let (codes, classes) = (self.labels.codes(), self.labels.classes().len());
        let mut poll = Poll::new(classes, self.ask.weights);
        let (mut labels, mut shares) = (Vec::with_capacity(near.len()), vec![0.0; near.len() * classes]);
        for (q, shares) in shares.chunks_exact_mut(classes.max(1)).enumerate() {
            let voters = near.indices(q)[..k].iter().map(|&j| codes[j]);
            labels.push(poll.winner(voters, &near.squared_distances(q)[..k]));
            poll.shares(shares);
        }
        Ok(Told { labels, values: Some(Matrix::from_vec(near.len(), classes, shares)?), shares: true })
    }

    /// The means of their numbers.
    fn means(&self, near: &Neighbours, numbers: &[f64], k: usize) -> Result<Told> {
        let one = |q: usize| {
            let voters = near.indices(q)[..k].iter().map(|&j| numbers[j]);
            self.ask.weights.mean(voters, &near.squared_distances(q)[..k])
        };
        let values = Matrix::from_vec(near.len(), 1, (0..near.len()).map(one).collect())?;
        Ok(Told { labels: vec![0; near.len()], values: Some(values), shares: false })
    }

    /// The ridge is chosen again: that of a sample may not be that of all rows.
    fn smooth(&self, near: Smoothness) -> Result<Again> {
        let spec = self.ask.smooth.unwrap_or_default();
        let tried = spec.near(near);
        let weights = smooth::row_weights(self.labels, self.given, spec.balanced);
        let functions = smooth::fit_all(self.rows, self.labels, weights.as_deref(), &tried)?;
        let mut said = Vec::with_capacity(tried.len());
        for function in &functions {
            said.push(Said { values: function.values(self.queries)?, radii: function.usual_radii(self.queries)? });
        }
        let read = near.reading == Reading::Discriminant;
        let part: Vec<usize> = (0..self.truth.len()).map(|i| i % PARTS).collect();
        let raw: Vec<Matrix> = said.iter().filter(|_| read).map(|s| s.values.clone()).collect();
        for said in said.iter_mut().filter(|_| read) {
            if let Some(scores) = smooth::crossed(&said.values, self.truth.codes(), &self.weights, &part) {
                said.values = scores;
            }
        }
        let (at, _) = smooth::pick(&said, self.truth, &self.weights);
        let discriminant =
            raw.get(at).map(|raw| Discriminant::fit(raw, self.truth.codes(), &self.weights)).transpose()?;
        let values = said.swap_remove(at).values;
        let labels = (0..values.rows()).map(|i| smooth::largest(values.row(i))).collect();
        let calibration = match self.truth.numbers() {
            Some(_) => None,
            None => Some(Calibration::fit(&values, self.truth.codes(), values.cols())?),
        };
        let told = Told { labels, values: Some(values), shares: false };
        let Worth { score, accuracy, absolute } = self.score(&told)?;
        let how = How::Smooth(tried[at].with_reading(near.reading));
        Ok(Again { how, score, accuracy, absolute, calibration, discriminant })
    }
}
