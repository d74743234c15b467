//! How neighbours vote, and how many of them.

use crate::{Error, Matrix, Result};
use serde::{Deserialize, Serialize};

/// How much each neighbour's vote counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Weights {
    /// All the same.
    #[default]
    Uniform,
    /// One over the distance (not squared). If neighbours are at distance zero, only these count; infinitely far
    /// ones count only if there are no others.
    Distance,
}

impl Weights {
    /// How much a neighbour at this squared distance counts, where the nearest is at `first`.
    pub(crate) fn of(self, squared: f64, first: f64) -> f64 {
        match self {
            Self::Uniform => 1.0,
            Self::Distance if first == 0.0 => f64::from(u8::from(squared == 0.0)),
            // Sorted, so that then all are infinitely far.
            Self::Distance if first == f64::INFINITY => 1.0,
            Self::Distance => 1.0 / squared.sqrt(),
        }
    }

    /// The mean of the numbers of some rows, nearest first, given their squared distances.
    pub(crate) fn mean(self, numbers: impl IntoIterator<Item = f64>, squared: &[f64]) -> f64 {
        let first = squared.first().copied().unwrap_or(0.0);
        let (mut sum, mut total) = (0.0, 0.0);
        for (number, &d2) in numbers.into_iter().zip(squared) {
            let weight = self.of(d2, first);
            sum += weight * number;
            total += weight;
        }
        sum / total
    }
}

/// How many neighbours vote. In a file it is a number, or `"auto"`.
///
/// ```
/// use lipmetric::classify::K;
/// assert_eq!("auto".parse::<K>()?, K::Auto);
/// assert_eq!("3".parse::<K>()?.to_string(), "3");
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub enum K {
    /// So many.
    Fixed(usize),
    /// One of [`usual_ks`](super::usual_ks), by leave-one-out on the mapped training rows, or by cross-validation where the
    /// method chooses its metric so.
    Auto,
}

/// As a file has it.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "give a number of neighbours such as 3, or \"auto\"")]
enum Written {
    Number(usize),
    Word(String),
}

impl From<K> for Written {
    fn from(k: K) -> Self {
        match k {
            K::Fixed(k) => Self::Number(k),
            K::Auto => Self::Word(k.to_string()),
        }
    }
}

impl TryFrom<Written> for K {
    type Error = Error;

    fn try_from(written: Written) -> Result<Self> {
        match written {
            Written::Number(k) => Ok(Self::Fixed(k)),
            Written::Word(word) => word.parse(),
        }
    }
}

impl Default for K {
    /// The nearest row alone.
    fn default() -> Self {
        Self::Fixed(1)
    }
}

impl std::str::FromStr for K {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            _ => match text.parse() {
                Ok(k) => Ok(Self::Fixed(k)),
                Err(_) => Err(Error::parameter("k", format!("`{text}` is not a number such as 3, nor `auto`"))),
            },
        }
    }
}

impl std::fmt::Display for K {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fixed(k) => k.fmt(f),
            Self::Auto => f.write_str("auto"),
        }
    }
}

/// The class that the neighbours of each query vote for, and each class's share of the votes, where the neighbours were found by
/// several indexes: the codes of the neighbours' classes, query by query and nearest first, and the squares of their distances, a
/// row for each query. Votes count as in [`KnnClassifier`](super::KnnClassifier).
///
/// ```
/// use lipmetric::{Matrix, classify::{Weights, vote}};
/// let (winners, shares) = vote(&[1, 0, 0], &Matrix::from_rows(&[[0.5, 1.0, 2.0]]), 2, Weights::Uniform)?;
/// assert_eq!((winners, shares[(0, 1)]), (vec![0], 1.0 / 3.0));
/// # Ok::<(), lipmetric::Error>(())
/// ```
///
/// # Errors
/// If there is not one code for each distance, or a code of none of the classes.
pub fn vote(codes: &[u32], squared: &Matrix, classes: usize, weights: Weights) -> Result<(Vec<u32>, Matrix)> {
    if codes.len() != squared.rows() * squared.cols() {
        return Err(Error::shape("classes of the neighbours", squared.rows() * squared.cols(), codes.len()));
    }
    if let Some(code) = codes.iter().find(|code| **code as usize >= classes) {
        return Err(Error::data(format!("a neighbour has class {code}, but there are {classes} classes, from 0 on")));
    }
    let (mut poll, mut shares) = (Poll::new(classes, weights), Matrix::zeros(squared.rows(), classes));
    let mut winners = Vec::with_capacity(squared.rows());
    for (i, own) in codes.chunks_exact(squared.cols().max(1)).enumerate() {
        winners.push(poll.winner(own.iter().copied(), squared.row(i)));
        poll.shares(shares.row_mut(i));
    }
    Ok((winners, shares))
}

/// Counts votes. Only the classes of the neighbours are touched, however many there are.
#[derive(Debug)]
pub(crate) struct Poll {
    weights: Weights,
    votes: Vec<f64>,
    /// Squared distance of a class's nearest member among the neighbours; negative if it has none.
    nearest: Vec<f64>,
    /// Classes with a vote, nearest member first.
    polled: Vec<u32>,
}

impl Poll {
    pub(crate) fn new(classes: usize, weights: Weights) -> Self {
        Self { weights, votes: vec![0.0; classes], nearest: vec![-1.0; classes], polled: Vec::new() }
    }

    /// Counts the votes of some neighbours, nearest first, given their classes and squared distances. The winner is the
    /// class with most votes; among equals the one whose nearest member is nearest; then the one with the lower code.
    pub(crate) fn winner(&mut self, classes: impl IntoIterator<Item = u32>, squared: &[f64]) -> u32 {
        for class in self.polled.drain(..) {
            self.votes[class as usize] = 0.0;
            self.nearest[class as usize] = -1.0;
        }
        let first = squared.first().copied().unwrap_or(0.0);
        for (class, &d2) in classes.into_iter().zip(squared) {
            if self.nearest[class as usize] < 0.0 {
                self.polled.push(class);
                self.nearest[class as usize] = d2;
            }
            self.votes[class as usize] += self.weights.of(d2, first);
        }
        let rank = |&class: &u32| (self.votes[class as usize], self.nearest[class as usize], class);
        let ranked = self.polled.iter().map(rank);
        let best = ranked.min_by(|a, b| b.0.total_cmp(&a.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        best.map_or(0, |(_, _, class)| class)
    }

    /// Each class's share of the votes that were counted last, into a row of zeros.
    pub(crate) fn shares(&self, row: &mut [f64]) {
        let total: f64 = self.polled.iter().map(|&class| self.votes[class as usize]).sum();
        for &class in &self.polled {
            row[class as usize] = self.votes[class as usize] / total;
        }
    }
}
