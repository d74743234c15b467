//! How features are scaled: to mean 0 and deviation 1, unless the normal quantiles of their ranks, or the range from 0 to 1, predict
//! better.

use super::family::Traits;
use super::joint::{Ask, Fold, Round, part_goodness, row_weights};
use super::judge::Candidate;
use super::score::Told;
use super::standing::Standing;
use super::{Auto, FOLDS, Family, REPEATS, Score, Training, large};
use crate::classify::{SmoothSpec, Smoothness, Weights};
use crate::data::{folds, holdouts};
use crate::prepare::{Columns, Dataset, Encoding, Fill, Preparation, Scaling};
use crate::solver::{Observer, Progress};
use crate::{Labels, Matrix, Result};
use serde::{Deserialize, Serialize};

/// The scalings that are judged, in the order in which each has to be better than what was taken before.
const TRIED: [Scaling; 3] = [Scaling::Standard, Scaling::Quantile, Scaling::Minmax];
/// Rows to choose by, at most: a gain of three points is then three standard errors, and the choice takes half a second.
const ROWS: usize = 600;
/// Features, at most: of more, the preparation of every fold would take longer than the functions that judge it.
const FEATURES: usize = 1000;
/// Smooth functions that judge: those of the usual settings that are neither the most nor the least smooth.
const WIDTHS: std::ops::Range<f64> = 0.3..2.0;
const RIDGES: std::ops::Range<f64> = 5e-3..0.5;

/// How the features are scaled, and by which figures that was chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScalingChoice {
    /// What was chosen.
    pub scaling: Scaling,
    /// The part of the held-out rows that is predicted correctly with features of mean 0 and deviation 1 ...
    pub standard: f64,
    /// ... with the normal quantiles of their ranks ...
    pub quantile: f64,
    /// ... and with features from 0 to 1. Models of earlier versions do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minmax: Option<f64>,
    /// The standard error of the difference between what was chosen and the standard one, or between ranks and that.
    pub standard_error: f64,
}

/// Rows as they come, before anything is prepared.
#[derive(Clone, Copy)]
pub(crate) struct Raw<'a> {
    pub(crate) data: &'a Dataset,
    /// Those to learn from.
    pub(crate) rows: &'a [usize],
    /// How much each of them counts.
    pub(crate) weights: Option<&'a [f64]>,
    pub(crate) fill: Fill,
}

/// What predicts while scalings are judged.
#[derive(Clone, Copy)]
pub(crate) struct Judges<'a> {
    pub(crate) neighbours: &'a [usize],
    pub(crate) weights: Weights,
    pub(crate) smooth: Option<SmoothSpec>,
}

impl Auto {
    /// Chooses the scaling by the Euclidean distance alone, on folds: fill values, scales and ranks are those of the rows that are
    /// learned from. Another one is taken if it predicts better by more than one standard error, also without any one of the folds.
    /// Nothing where there is nothing to choose, or the observer ends it.
    pub(crate) fn choose_scaling(
        &self,
        raw: Raw<'_>,
        judges: Judges<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Option<ScalingChoice>> {
        let Judges { neighbours, weights, smooth } = judges;
        let features = &raw.data.schema.features;
        let numeric = features.iter().any(|f| f.encoding == Encoding::Numeric);
        if !numeric || raw.data.schema.prepared_width() > FEATURES || raw.data.labels.numbers().is_some() {
            return Ok(None);
        }
        let ask = Ask { neighbours, weights, smooth, score: self.score };
        let sample = Sample::of(raw, self.seed)?;
        let Some(trial) = sample.judge(&ask, self.seed, observer)? else { return Ok(None) };
        let choice = trial.choice(&sample.counts(&trial.times, self.score)?);
        observer.decided(&format!(
            "scaling: {}, by held-out rows: {:.1} % of them are predicted correctly with standard, {:.1} % with quantile, {:.1} % \
             with minmax",
            choice.scaling,
            100.0 * choice.standard,
            100.0 * choice.quantile,
            100.0 * choice.minmax.unwrap_or_default()
        ));
        Ok(Some(choice))
    }
}

/// Some of the rows, by their numbers in the table.
struct Sample<'a> {
    columns: &'a Columns,
    raw: Raw<'a>,
    rows: Vec<usize>,
    labels: Labels,
    weights: Option<Vec<f64>>,
}

/// How every function did with every scaling on each row.
struct Trial {
    /// By scaling, then by function.
    good: Vec<Vec<f64>>,
    right: Vec<Vec<f64>>,
    fold: Vec<usize>,
    times: Vec<f64>,
    folds: usize,
}

impl<'a> Sample<'a> {
    fn of(raw: Raw<'a>, seed: u64) -> Result<Self> {
        let all = raw.data.labels.select(raw.rows);
        let n = raw.rows.len();
        // What many rows are judged on again has no part in this choice either.
        let mut places: Vec<usize> =
            if n > large::SAMPLE { large::kept_out(&all, seed)?.train } else { (0..n).collect() };
        if places.len() > ROWS {
            let split = holdouts(&all.select(&places), ROWS as f64 / places.len() as f64, 1, seed)?;
            let some = split.into_iter().next().map(|s| s.train).unwrap_or_default();
            places = some.into_iter().map(|i| places[i]).collect();
        }
        Ok(Self {
            columns: &raw.data.columns,
            raw,
            rows: places.iter().map(|&i| raw.rows[i]).collect(),
            labels: all.select(&places),
            weights: raw.weights.map(|w| places.iter().map(|&i| w[i]).collect()),
        })
    }

    /// How much each row counts by a score: not at all where it was never held out.
    fn counts(&self, times: &[f64], score: Score) -> Result<Vec<f64>> {
        let none = Matrix::zeros(self.rows.len(), 1);
        let training = self.training(&none, &self.labels, self.weights.as_deref())?;
        let weights = row_weights(&training, score).into_iter().zip(times);
        Ok(weights.map(|(w, t)| if *t > 0.0 { w } else { 0.0 }).collect())
    }

    fn training<'b>(&self, x: &'b Matrix, y: &'b Labels, weights: Option<&'b [f64]>) -> Result<Training<'b>> {
        let training = Training::new(x, y)?;
        weights.map_or(Ok(training), |w| training.with_weights(w))
    }

    /// Lets every function predict every fold with every scaling.
    fn judge(&self, ask: &Ask<'_>, seed: u64, observer: &mut dyn Observer) -> Result<Option<Trial>> {
        let n = self.rows.len();
        let number = FOLDS.min(n);
        if number < 2 {
            return Ok(None);
        }
        let (_, predictions) = Family::EFFORT;
        let repeats = predictions.div_ceil(n).clamp(1, REPEATS);
        let settings = ask.smooth.map(|spec| middle(spec.tried()));
        let functions = settings.as_ref().map_or(ask.neighbours.len(), Vec::len);
        let empty = vec![vec![0.0; n]; TRIED.len() * functions];
        let mut trial =
            Trial { right: empty.clone(), good: empty, fold: vec![0; n], times: vec![0.0; n], folds: number };
        for repeat in 0..repeats {
            let mut round = Round::new(n, self.labels.classes().len());
            for (at, split) in folds(&self.labels, number, seed.wrapping_add(repeat as u64))?.into_iter().enumerate() {
                if repeat == 0 {
                    split.test.iter().for_each(|&i| trial.fold[i] = at);
                }
                if observer.progress(&Progress::default()).is_break() {
                    return Ok(None);
                }
                // A fold whose removal leaves nothing to learn from tells nothing.
                let told = TRIED.iter().map(|s| self.told(*s, (&split.train, &split.test), ask, settings.as_deref()));
                let Ok(told) = told.collect::<Result<Vec<_>>>() else { continue };
                told.into_iter().flatten().enumerate().for_each(|(arm, told)| round.put(arm, &split.test, told));
                split.test.iter().for_each(|&i| round.held[i] = true);
            }
            self.take(&mut trial, &round, ask)?;
        }
        trial.average();
        Ok(trial.times.iter().any(|t| *t > 0.0).then_some(trial))
    }

    /// What every function says of some rows with one scaling, all of it learned from others.
    fn told(
        &self,
        scaling: Scaling,
        (train, test): (&[usize], &[usize]),
        ask: &Ask<'_>,
        settings: Option<&[Smoothness]>,
    ) -> Result<Vec<Told>> {
        let of = |places: &[usize]| -> Vec<usize> { places.iter().map(|&i| self.rows[i]).collect() };
        let (train_rows, test_rows) = (of(train), of(test));
        let schema = self.raw.data.schema.clone();
        let preparation = Preparation::fit(schema, self.columns, Some(&train_rows), self.raw.fill, scaling)?;
        let (x, queries) =
            (preparation.apply_rows(self.columns, &train_rows)?, preparation.apply_rows(self.columns, &test_rows)?);
        let (y, weights) = (self.labels.select(train), self.weights.as_ref());
        let weights: Option<Vec<f64>> = weights.map(|w| train.iter().map(|&i| w[i]).collect());
        let training = self.training(&x, &y, weights.as_deref())?;
        let fold = Fold::new(&training, (&[], &[]), &queries, ask)?;
        let plain = Candidate { member: None, traits: Traits::euclidean(), euclid: 1.0, unit_c: None };
        match settings {
            Some(settings) => Ok(fold.smooth(&plain, settings)?.into_iter().map(|(told, _)| told).collect()),
            None => Ok(fold.votes(&plain, ask)),
        }
    }

    fn take(&self, trial: &mut Trial, round: &Round, ask: &Ask<'_>) -> Result<()> {
        let rows: Vec<usize> = (0..self.rows.len()).filter(|&i| round.held[i]).collect();
        for (arm, told) in round.told.iter().enumerate().filter(|_| !rows.is_empty()) {
            let good = part_goodness(ask.score, told, &self.labels, &rows)?;
            for (&i, g) in rows.iter().zip(good) {
                trial.good[arm][i] += g;
                trial.right[arm][i] += f64::from(u8::from(told.labels[i] == self.labels.codes()[i]));
            }
        }
        rows.iter().for_each(|&i| trial.times[i] += 1.0);
        Ok(())
    }
}

/// The settings in the middle, of one kernel; all where there is none.
fn middle(all: Vec<Smoothness>) -> Vec<Smoothness> {
    let first = all.first().map(|s| s.kernel);
    let inside = |s: &Smoothness| Some(s.kernel) == first && WIDTHS.contains(&s.width) && RIDGES.contains(&s.ridge);
    let some: Vec<Smoothness> = all.iter().copied().filter(inside).collect();
    if some.is_empty() { all } else { some }
}

impl Trial {
    fn average(&mut self) {
        for row in self.good.iter_mut().chain(&mut self.right) {
            row.iter_mut().zip(&self.times).for_each(|(g, t)| *g /= t.max(1.0));
        }
    }

    /// Applies the rule.
    fn choice(&self, weight: &[f64]) -> ScalingChoice {
        let standing = Standing { good: &self.good, fold: &self.fold, folds: 0..self.folds };
        let functions = self.good.len() / TRIED.len();
        let arms = |scaling: usize| -> Vec<usize> { (scaling * functions..(scaling + 1) * functions).collect() };
        let better = |scaling: usize, usual: usize, weight: &[f64]| {
            let (usual, other) = (arms(usual), arms(scaling));
            other.contains(&standing.verdict(&[usual.clone(), other.clone()].concat(), &usual, weight).pick)
        };
        let left_out = standing.left_out(weight);
        let taken = (1..TRIED.len()).fold(0, |usual, scaling| {
            let holds = || left_out.iter().all(|(_, outside)| better(scaling, usual, outside));
            if better(scaling, usual, weight) && holds() { scaling } else { usual }
        });
        let best = |scaling: usize| standing.best(arms(scaling), weight);
        let right = Standing { good: &self.right, ..standing.clone() };
        ScalingChoice {
            scaling: TRIED[taken],
            standard: right.mean(best(0), weight),
            quantile: right.mean(best(1), weight),
            minmax: Some(right.mean(best(2), weight)),
            standard_error: standing.difference(best(taken.max(1)), best(0), weight).1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Column, Table};
    use crate::prepare::Roles;

    fn read(numbers: &[f64]) -> Dataset {
        let classes = (0..numbers.len()).map(|i| if i % 2 == 0 { "a" } else { "b" });
        let squares = numbers.iter().map(|v| v * v).collect();
        let columns = vec![
            Column::numbers("x", numbers.to_vec()),
            Column::numbers("xx", squares),
            Column::texts("class", classes),
        ];
        Dataset::read(&Table::new("rows", columns), &Roles::default()).unwrap()
    }

    #[test]
    fn a_held_out_row_has_no_part_in_the_preparation_of_the_others() {
        let mut numbers: Vec<f64> = (0..30).map(|i| (1.3 * f64::from(i)).sin().exp()).collect();
        let (train, test): (Vec<usize>, Vec<usize>) = (0..30).partition(|i| i % 5 != 0);
        let ask = Ask {
            neighbours: &[],
            weights: Weights::Uniform,
            smooth: Some(SmoothSpec::default()),
            score: Score::Accuracy,
        };
        let settings = middle(SmoothSpec::default().tried());
        assert_eq!(settings.len(), 6);
        let told = |numbers: &[f64], scaling: Scaling| {
            let (data, rows) = (read(numbers), (0..30).collect::<Vec<usize>>());
            let raw = Raw { data: &data, rows: &rows, weights: None, fill: Fill::Median };
            let sample = Sample::of(raw, 0).unwrap();
            sample.told(scaling, (&train, &test), &ask, Some(&settings)).unwrap()
        };
        let before: Vec<Vec<Told>> = TRIED.iter().map(|s| told(&numbers, *s)).collect();
        numbers[test[1]] = 1e9;
        for (scaling, before) in TRIED.into_iter().zip(before) {
            for (a, b) in before.iter().zip(told(&numbers, scaling)) {
                let (a, b) = (a.values.as_ref().unwrap(), b.values.unwrap());
                (0..test.len()).filter(|q| *q != 1).for_each(|q| assert_eq!(a.row(q), b.row(q), "{scaling}, {q}"));
            }
        }
    }

    #[test]
    fn what_many_rows_are_judged_on_again_is_not_looked_at() {
        let numbers: Vec<f64> = (0..2000).map(|i| (1.3 * f64::from(i)).sin()).collect();
        let (data, rows) = (read(&numbers), (0..2000).collect::<Vec<usize>>());
        let raw = Raw { data: &data, rows: &rows, weights: None, fill: Fill::Median };
        let sample = Sample::of(raw, 3).unwrap();
        assert_eq!(sample.rows.len(), ROWS);
        let kept_out = large::kept_out(&data.labels, 3).unwrap().test;
        assert!(sample.rows.iter().all(|i| !kept_out.contains(i)));
    }

    /// Five folds of twenty rows, of which a function with each of the scalings gets some wrong.
    fn trial(standard: &dyn Fn(usize) -> bool, ranks: &dyn Fn(usize) -> bool, range: &dyn Fn(usize) -> bool) -> Trial {
        let good = [standard, ranks, range].map(|w| (0..100).map(|i| f64::from(u8::from(!w(i)))).collect()).to_vec();
        Trial { right: good.clone(), good, fold: (0..100).map(|i| i / 20).collect(), times: vec![1.0; 100], folds: 5 }
    }

    #[test]
    fn a_gain_that_one_fold_brings_alone_is_not_enough() {
        let (everywhere, nowhere) = (|i: usize| i.is_multiple_of(7), |_: usize| false);
        let choice = trial(&everywhere, &nowhere, &everywhere).choice(&[1.0; 100]);
        assert_eq!(choice.scaling, Scaling::Quantile);
        assert!((choice.standard - 0.85).abs() < 1e-12 && choice.quantile == 1.0, "{choice:?}");
        let some = |i: usize| i < 10;
        for (ranks, range) in [(nowhere as fn(usize) -> bool, some as fn(usize) -> bool), (some, nowhere)] {
            assert_eq!(trial(&some, &ranks, &range).choice(&[1.0; 100]).scaling, Scaling::Standard);
        }
    }

    #[test]
    fn the_range_is_taken_where_it_is_better_than_what_would_be_taken_without_it() {
        let (often, seldom, nowhere) = (|i: usize| i.is_multiple_of(4), |i: usize| i % 12 == 5, |_: usize| false);
        let chosen = |ranks: &dyn Fn(usize) -> bool, range: &dyn Fn(usize) -> bool| {
            trial(&often, ranks, range).choice(&[1.0; 100]).scaling
        };
        assert_eq!(chosen(&often, &seldom), Scaling::Minmax);
        assert_eq!(chosen(&seldom, &nowhere), Scaling::Minmax);
        assert_eq!(chosen(&seldom, &seldom), Scaling::Quantile);
        assert_eq!(chosen(&nowhere, &seldom), Scaling::Quantile);
        assert_eq!(trial(&often, &often, &seldom).choice(&[1.0; 100]).minmax, Some(0.92));
    }
}
