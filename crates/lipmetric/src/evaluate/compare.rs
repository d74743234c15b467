use super::statistics::ranks;
use super::{Advance, Certification, Trial, jobs};
use crate::data::{Split, folds, holdouts};
use crate::model::Recipe;
use crate::prepare::Dataset;
use crate::solver::{Observer, Status};
use crate::{Error, Labels, Result};

/// Fits and judges a recipe on each of these splits of a data set, in parallel.
///
/// # Errors
/// If the recipe cannot be fitted on one of them, or the supervisor gives up.
pub fn trials(
    data: &Dataset,
    recipe: &Recipe<'_>,
    splits: &[Split],
    supervisor: &dyn Supervisor,
) -> Result<Vec<Trial>> {
    certified_trials(data, recipe, splits, None, supervisor)
}

/// The same with certified accuracies.
///
/// # Errors
/// As [`trials`]; or if the classifier certifies no such radius.
pub fn certified_trials(
    data: &Dataset,
    recipe: &Recipe<'_>,
    splits: &[Split],
    asked: Option<&Certification>,
    supervisor: &dyn Supervisor,
) -> Result<Vec<Trial>> {
    let one = |job: usize| trial(data, recipe, &splits[job], asked, supervisor);
    let trials = jobs::run(splits.len(), 1, |_| 0, supervisor, one);
    trials.into_iter().map(|trial| trial.flatten().unwrap_or(Err(Error::Interrupted))).collect()
}

/// One trial; `None` if it was given up on the way.
fn trial(
    data: &Dataset,
    recipe: &Recipe<'_>,
    split: &Split,
    asked: Option<&Certification>,
    supervisor: &dyn Supervisor,
) -> Option<Result<Trial>> {
    let trial = Trial::certified(recipe, data, split, asked, &mut *supervisor.observer());
    match &trial {
        Ok(t) if t.outcome.status == Status::Interrupted => None,
        Err(Error::Interrupted) => None,
        _ => Some(trial),
    }
}

/// A recipe under the name that the table's column shows.
#[derive(Clone)]
pub struct Entry<'a> {
    /// The column's name.
    pub name: String,
    /// What is fitted.
    pub recipe: Recipe<'a>,
}

/// Repeated stratified splits, or the folds of a cross-validation, the same for every method.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Protocol {
    /// The part of each class to train on.
    pub train_fraction: f64,
    /// How many splits.
    pub repeats: usize,
    /// Cross-validation with this many folds in place of repeated splits.
    pub folds: Option<usize>,
    /// Decides the splits.
    pub seed: u64,
}

impl Default for Protocol {
    /// The paper's: 60 % of each class, 10 times.
    fn default() -> Self {
        Self { train_fraction: 0.6, repeats: 10, folds: None, seed: 0 }
    }
}

impl Protocol {
    /// How many splits there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.folds.unwrap_or(self.repeats)
    }

    /// The splits of rows with these labels.
    ///
    /// # Errors
    /// As [`holdouts`] and [`folds`].
    pub fn splits(&self, labels: &Labels) -> Result<Vec<Split>> {
        match self.folds {
            Some(k) => folds(labels, k, self.seed),
            None => holdouts(labels, self.train_fraction, self.repeats, self.seed),
        }
    }
}

/// Watches many fits, from several threads at once.
pub trait Supervisor: Sync {
    /// An observer for one fit.
    fn observer(&self) -> Box<dyn Observer>;

    /// One more fit has been judged.
    fn advanced(&self, at: &Advance);

    /// Whether to give up.
    fn cancelled(&self) -> bool;
}

/// One method on one data set.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
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
    /// Accuracy over the splits, plain or certified as the trials are judged, or R2 where numbers are predicted, if every one of them could be fitted.
    #[must_use]
    pub fn accuracy(&self) -> Option<Summary> {
        let values: Option<Vec<f64>> = self.trials.iter().map(|t| Some(t.as_ref().ok()?.score())).collect();
        Summary::of(&values?)
    }

    /// The certified accuracy at the radius of this number over the splits, if every one of them could be fitted.
    #[must_use]
    pub fn certified(&self, at: usize) -> Option<Summary> {
        let values: Option<Vec<f64>> =
            self.trials.iter().map(|t| t.as_ref().ok()?.certified.get(at).copied()).collect();
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
#[non_exhaustive]
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
    /// Results from elsewhere: `trials[subject][method]` has one for each split of the subject.
    ///
    /// # Errors
    /// If the numbers of subjects, methods and splits do not agree.
    pub fn from_trials(
        subjects: Vec<String>,
        methods: Vec<String>,
        splits: Vec<Vec<Split>>,
        trials: Vec<Vec<Vec<Result<Trial>>>>,
    ) -> Result<Self> {
        let same = |what: &str, expected: usize, found: usize| match expected == found {
            true => Ok(()),
            false => Err(Error::shape(what, expected, found)),
        };
        same("data sets with splits", subjects.len(), splits.len())?;
        same("data sets with trials", subjects.len(), trials.len())?;
        for (splits, row) in splits.iter().zip(&trials) {
            same("methods with trials", methods.len(), row.len())?;
            row.iter().try_for_each(|cell| same("trials of a method", splits.len(), cell.len()))?;
        }
        let cells = trials.into_iter().map(|row| row.into_iter().map(|trials| Cell { trials }).collect()).collect();
        Ok(Self { subjects, methods, splits, cells })
    }

    /// Runs every recipe on every split of every data set, in parallel. The result does not depend on the threads.
    ///
    /// All of the first split is done before the second is begun, and so on. If the supervisor gives up, the comparison
    /// has the splits that are whole: it is what the same call with fewer repeats gives.
    ///
    /// # Errors
    /// If a data set cannot be split, or the supervisor gives up before a split is whole. A recipe that cannot be fitted
    /// on some split is not an error: its cell says why.
    pub fn run(
        subjects: &[Dataset],
        entries: &[Entry<'_>],
        protocol: &Protocol,
        supervisor: &dyn Supervisor,
    ) -> Result<Self> {
        Self::certified(subjects, entries, protocol, None, supervisor)
    }

    /// The same with certified accuracies.
    ///
    /// # Errors
    /// As [`Self::run`]. A recipe whose classifier certifies no such radius is not an error: its cell says why.
    pub fn certified(
        subjects: &[Dataset],
        entries: &[Entry<'_>],
        protocol: &Protocol,
        asked: Option<&Certification>,
        supervisor: &dyn Supervisor,
    ) -> Result<Self> {
        let mut splits = subjects
            .iter()
            .map(|s| {
                protocol.splits(&s.labels).map_err(|e| match e {
                    Error::Data(text) => Error::data(format!("{}: {text}", s.name)),
                    other => other,
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let (methods, cells) = (entries.len(), subjects.len() * entries.len());
        let trials = jobs::run(
            cells * protocol.count(),
            cells,
            |job| job % cells,
            supervisor,
            |job| {
                let (repeat, s, m) = (job / cells, job % cells / methods, job % methods);
                trial(&subjects[s], &entries[m].recipe, &splits[s][repeat], asked, supervisor)
            },
        );
        let mut whole = 0;
        let mut columns: Vec<Vec<Result<Trial>>> = vec![Vec::new(); cells];
        let mut trials = trials.into_iter().map(Option::flatten);
        while whole < protocol.count() {
            let Some(row) = trials.by_ref().take(cells).collect::<Option<Vec<_>>>() else { break };
            columns.iter_mut().zip(row).for_each(|(column, trial)| column.push(trial));
            whole += 1;
        }
        if whole == 0 && cells > 0 {
            return Err(Error::Interrupted);
        }
        splits.iter_mut().for_each(|s| s.truncate(whole));
        let mut columns = columns.into_iter();
        let cells =
            subjects.iter().map(|_| columns.by_ref().take(methods).map(|trials| Cell { trials }).collect()).collect();
        Ok(Self {
            subjects: subjects.iter().map(|s| s.name.clone()).collect(),
            methods: entries.iter().map(|e| e.name.clone()).collect(),
            splits,
            cells,
        })
    }

    /// How many splits each data set has: as many as asked for, or fewer if the supervisor gave up.
    #[must_use]
    pub fn repeats(&self) -> usize {
        self.splits.first().map_or(0, Vec::len)
    }

    /// The mean rank of each method, 1 being the best, over the data sets where every method has a result; `None` of no
    /// such data set.
    #[must_use]
    pub fn average_ranks(&self) -> Option<Vec<f64>> {
        let means = |row: &Vec<Cell>| row.iter().map(|c| Some(c.accuracy()?.mean)).collect::<Option<Vec<f64>>>();
        let complete: Vec<Vec<f64>> = self.cells.iter().filter_map(means).map(|m| ranks(&m)).collect();
        let n = complete.len() as f64;
        (!complete.is_empty())
            .then(|| (0..self.methods.len()).map(|m| complete.iter().map(|row| row[m]).sum::<f64>() / n).collect())
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
