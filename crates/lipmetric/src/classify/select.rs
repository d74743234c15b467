//! The number of neighbours that vote, chosen by cross-validation.

use super::vote::{Poll, Weights};
use crate::data::folds;
use crate::neighbours::NeighbourIndex;
use crate::{Error, Labels, Matrix, Result};

/// How a number of neighbours is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Validation {
    /// Every row is predicted from all others.
    LeaveOneOut,
    /// The rows are dealt to this many stratified folds, each of which is predicted from the others.
    Folds {
        /// How many.
        folds: usize,
        /// Decides which row is in which.
        seed: u64,
    },
}

/// A number of neighbours and the part of the rows that it predicts correctly; of numbers, R2.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct KScore {
    /// Number of neighbours.
    pub k: usize,
    /// The part of the rows that is predicted correctly, or R2 where the labels are numbers.
    pub accuracy: f64,
}

impl KScore {
    /// A number of neighbours and what it is worth.
    pub(crate) fn new(k: usize, accuracy: f64) -> Self {
        Self { k, accuracy }
    }
}

/// Judges numbers of neighbours on mapped, labelled rows. Votes count as in [`KnnClassifier`](super::KnnClassifier). If the
/// map was learned from the same rows, the figures are optimistic; they still compare one `k` with another.
///
/// ```
/// use lipmetric::classify::{Validation, Weights, best_k, judge_k};
/// use lipmetric::{Labels, Matrix};
/// let x = Matrix::from_rows(&[[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]);
/// let y = Labels::from_names(["a", "a", "a", "b", "b", "b"]);
/// let scores = judge_k(&x, &y, &[1, 5], Weights::Uniform, Validation::LeaveOneOut)?;
/// assert_eq!((scores[0].accuracy, scores[1].accuracy), (1.0, 0.0));
/// assert_eq!(best_k(&scores), Some(1));
/// # Ok::<(), lipmetric::Error>(())
/// ```
///
/// # Errors
/// If a `k` is 0 or larger than the number of rows to predict from, or there is not one label per row.
pub fn judge_k(
    rows: &Matrix,
    labels: &Labels,
    candidates: &[usize],
    weights: Weights,
    how: Validation,
) -> Result<Vec<KScore>> {
    if labels.len() != rows.rows() {
        return Err(Error::shape("labels of the rows", rows.rows(), labels.len()));
    }
    let most = candidates.iter().copied().max().unwrap_or(0);
    if candidates.contains(&0) || most == 0 {
        return Err(Error::parameter("k", "must be at least 1, found 0 or none to choose from"));
    }
    let mut good = vec![0.0; candidates.len()];
    let mut polled = Polled::new(labels, weights);
    let mut count = |row: usize, near: &dyn Fn(usize) -> usize, squared: &[f64]| {
        for (good, &k) in good.iter_mut().zip(candidates) {
            *good += polled.good(row, (0..k).map(near), &squared[..k]);
        }
    };
    match how {
        Validation::LeaveOneOut => {
            let found = NeighbourIndex::new(rows.clone())?.query_excluding_self(most)?;
            for i in 0..labels.len() {
                count(i, &|at| found.indices(i)[at], found.squared_distances(i));
            }
        }
        Validation::Folds { folds: number, seed } => {
            for split in folds(labels, number, seed)? {
                let index = NeighbourIndex::new(rows.select_rows(&split.train))?;
                let found = index.query(&rows.select_rows(&split.test), most)?;
                for (i, &row) in split.test.iter().enumerate() {
                    let near = |at: usize| split.train[found.indices(i)[at]];
                    count(row, &near, found.squared_distances(i));
                }
            }
        }
    }
    let mean = |good: f64| good / labels.len().max(1) as f64;
    Ok(candidates.iter().zip(good).map(|(&k, good)| KScore { k, accuracy: mean(good) }).collect())
}

/// How well neighbours predict labelled rows.
struct Polled<'a> {
    labels: &'a Labels,
    weights: Weights,
    poll: Poll,
    /// Of numbers.
    variance: f64,
}

impl<'a> Polled<'a> {
    fn new(labels: &'a Labels, weights: Weights) -> Self {
        let n = labels.len().max(1) as f64;
        let numbers = labels.numbers().unwrap_or_default();
        let mean = numbers.iter().sum::<f64>() / n;
        let variance = numbers.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
        Self { labels, weights, poll: Poll::new(labels.classes().len(), weights), variance }
    }

    /// Whether these rows, nearest first, predict a row's class: 1 or 0. Of numbers, one less the squared error as a part of the
    /// variance, so that the mean over all rows is R2.
    fn good(&mut self, row: usize, near: impl Iterator<Item = usize>, squared: &[f64]) -> f64 {
        match self.labels.numbers() {
            Some(_) if self.variance == 0.0 => 0.0,
            Some(numbers) => {
                let mean = self.weights.mean(near.map(|i| numbers[i]), squared);
                1.0 - (mean - numbers[row]).powi(2) / self.variance
            }
            None => {
                let codes = self.labels.codes();
                f64::from(u8::from(self.poll.winner(near.map(|i| codes[i]), squared) == codes[row]))
            }
        }
    }
}

/// The best of the judged numbers; of equally good ones the smallest.
#[must_use]
pub fn best_k(scores: &[KScore]) -> Option<usize> {
    let best = scores.iter().max_by(|a, b| a.accuracy.total_cmp(&b.accuracy).then(b.k.cmp(&a.k)))?;
    Some(best.k)
}

/// Odd numbers up to 31 that are smaller than the number of rows: what is tried where nothing else is asked for.
#[must_use]
pub fn usual_ks(rows: usize) -> Vec<usize> {
    [1, 3, 5, 7, 9, 11, 15, 21, 31].into_iter().filter(|&k| k < rows.max(2)).collect()
}
