use super::{Split, Trial, holdouts};
use crate::model::Recipe;
use crate::prepare::{Frame, Schema};
use crate::solver::Observer;
use crate::{Error, Labels, Result};
use rayon::prelude::*;

/// A data set to compare on.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Its name.
    pub name: String,
    /// What its columns are.
    pub schema: Schema,
    /// Its features.
    pub frame: Frame,
    /// Its labels.
    pub labels: Labels,
}

/// A recipe under the name that the table's column shows.
#[derive(Clone)]
pub struct Entry<'a> {
    /// The column's name.
    pub name: String,
    /// What is fitted.
    pub recipe: Recipe<'a>,
}

/// Repeated stratified splits, the same for every method.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Protocol {
    /// The part of each class to train on.
    pub train_fraction: f64,
    /// How many splits.
    pub repeats: usize,
    /// Decides the splits.
    pub seed: u64,
}

impl Default for Protocol {
    /// The paper's: 60 % of each class, 10 times.
    fn default() -> Self {
        Self { train_fraction: 0.6, repeats: 10, seed: 0 }
    }
}

/// Watches a comparison, from several threads at once.
pub trait Supervisor: Sync {
    /// An observer for one fit.
    fn observer(&self) -> Box<dyn Observer>;

    /// One fit has been judged, `total` there are.
    fn finished(&self, total: usize);

    /// Whether to give up.
    fn cancelled(&self) -> bool;
}

/// One method on one data set.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// A result per split, in the order of the splits; the reason where a split could not be fitted.
    pub trials: Vec<Result<Trial>>,
}

/// Mean and standard deviation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// The mean.
    pub mean: f64,
    /// The sample standard deviation (0 of a single value).
    pub sd: f64,
}

impl Summary {
    /// Of these values; `None` of none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        Some(Self { mean, sd: if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 } })
    }
}

impl Cell {
    /// Accuracy over the splits, if every one of them could be fitted.
    #[must_use]
    pub fn accuracy(&self) -> Option<Summary> {
        let values: Option<Vec<f64>> =
            self.trials.iter().map(|t| Some(t.as_ref().ok()?.confusion.accuracy())).collect();
        Summary::of(&values?)
    }

    /// Mean seconds that a fit took.
    #[must_use]
    pub fn fit_seconds(&self) -> Option<f64> {
        let seconds: Vec<f64> = self.trials.iter().flatten().map(|t| t.fit_seconds).collect();
        Summary::of(&seconds).map(|s| s.mean)
    }

    /// Why a split could not be fitted: the first reason.
    #[must_use]
    pub fn refusal(&self) -> Option<&Error> {
        self.trials.iter().find_map(|t| t.as_ref().err())
    }
}

/// Methods x data sets x splits, every result kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The data sets' names.
    pub subjects: Vec<String>,
    /// The methods' names.
    pub methods: Vec<String>,
    /// The splits of each data set.
    pub splits: Vec<Vec<Split>>,
    /// `cells[subject][method]`.
    pub cells: Vec<Vec<Cell>>,
}

impl Comparison {
    /// Runs every recipe on every split of every data set, in parallel. The result does not depend on the threads.
    ///
    /// # Errors
    /// If a data set cannot be split, or the supervisor gives up. A recipe that cannot be fitted on some split is not
    /// an error: its cell says why.
    pub fn run(
        subjects: &[Subject],
        entries: &[Entry<'_>],
        protocol: &Protocol,
        supervisor: &dyn Supervisor,
    ) -> Result<Self> {
        let splits = subjects
            .iter()
            .map(|s| {
                holdouts(&s.labels, protocol.train_fraction, protocol.repeats, protocol.seed)
                    .map_err(|e| Error::data(format!("{}: {e}", s.name)))
            })
            .collect::<Result<Vec<_>>>()?;
        let tasks: Vec<(usize, usize, usize)> = (0..subjects.len())
            .flat_map(|s| (0..entries.len()).map(move |m| (s, m)))
            .flat_map(|(s, m)| (0..protocol.repeats).map(move |r| (s, m, r)))
            .collect();
        let trials: Vec<Option<Result<Trial>>> = tasks
            .par_iter()
            .with_max_len(1)
            .map(|&(s, m, r)| {
                if supervisor.cancelled() {
                    return None;
                }
                let subject = &subjects[s];
                let trial = Trial::run(
                    &entries[m].recipe,
                    &subject.schema,
                    &subject.frame,
                    &subject.labels,
                    &splits[s][r],
                    &mut *supervisor.observer(),
                );
                supervisor.finished(tasks.len());
                Some(trial)
            })
            .collect();
        if supervisor.cancelled() {
            return Err(Error::Interrupted);
        }
        let mut trials = trials.into_iter().flatten();
        let cells = (0..subjects.len())
            .map(|_| {
                (0..entries.len()).map(|_| Cell { trials: trials.by_ref().take(protocol.repeats).collect() }).collect()
            })
            .collect();
        Ok(Self {
            subjects: subjects.iter().map(|s| s.name.clone()).collect(),
            methods: entries.iter().map(|e| e.name.clone()).collect(),
            splits,
            cells,
        })
    }

    /// For each data set, the methods with the highest mean accuracy; equal is what prints as equal, in hundredths of
    /// a per cent.
    #[must_use]
    pub fn best(&self) -> Vec<Vec<bool>> {
        self.cells
            .iter()
            .map(|row| {
                let shown: Vec<Option<i64>> =
                    row.iter().map(|c| c.accuracy().map(|s| (s.mean * 1e4).round() as i64)).collect();
                let top = shown.iter().flatten().max().copied();
                shown.iter().map(|v| v.is_some() && *v == top).collect()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_the_textbook_one() {
        let s = Summary::of(&[1.0, 2.0, 4.0]).unwrap();
        assert!((s.mean - 7.0 / 3.0).abs() < 1e-15);
        assert!((s.sd - (7.0_f64 / 3.0).sqrt()).abs() < 1e-15);
        assert_eq!(Summary::of(&[3.0]), Some(Summary { mean: 3.0, sd: 0.0 }));
        assert_eq!(Summary::of(&[]), None);
    }
}
