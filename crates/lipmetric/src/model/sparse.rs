use super::Origin;
use super::vote::Voting;
use crate::classify::{K, KScore, Poll, Weights, best_k, usual_ks};
use crate::data::SparseRows;
use crate::neighbours::{Neighbours, nearest_other_sparse, nearest_sparse};
use crate::prepare::Scaling;
use crate::{Error, Labels, Matrix, Result};
use serde::{Deserialize, Serialize};

/// The vote of the nearest rows under the Euclidean distance, of rows that stay sparse.
///
/// Scaling divides each column by its deviation or its range, zeros included. Nothing is subtracted, which would make zeros into
/// other numbers: distances do not depend on it. A column that is the same in all training rows is not divided.
///
/// ```
/// use lipmetric::classify::{K, Weights};
/// use lipmetric::data::SparseRows;
/// use lipmetric::model::SparseModel;
/// use lipmetric::prepare::Scaling;
/// use lipmetric::Labels;
/// let mut rows = SparseRows::new();
/// rows.push([(0, 1.0), (999_999, 2.0)])?;
/// rows.push([(5, 3.0)])?;
/// let labels = Labels::from_names(["a", "b"]);
/// let model = SparseModel::fit(&rows, &labels, Scaling::None, (K::Fixed(1), Weights::Uniform))?;
/// let mut new = SparseRows::new();
/// new.push([(999_999, 1.5)])?;
/// assert_eq!(model.predict(&new)?, [0]);
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SparseModel {
    /// The training rows, divided.
    pub rows: SparseRows,
    /// Their classes.
    pub labels: Labels,
    /// How columns were scaled.
    pub scaling: Scaling,
    /// The columns that were divided, ascending, and what by.
    pub divisors: Vec<Divisor>,
    /// How the nearest rows vote.
    pub voting: Voting,
    /// The line of the source that each row began on; empty where the source has no lines.
    pub lines: Vec<u64>,
    /// Where it comes from, as far as that was told.
    pub origin: Option<Origin>,
}

/// What a column is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Divisor {
    /// The column, from 0.
    pub column: u32,
    /// Finite and positive.
    pub by: f64,
}

impl SparseModel {
    /// A model of rows that are divided already; [`Self::checked`] tells whether its parts fit together.
    #[must_use]
    pub fn new(rows: SparseRows, labels: Labels, scaling: Scaling, divisors: Vec<Divisor>, voting: Voting) -> Self {
        Self { rows, labels, scaling, divisors, voting, lines: Vec::new(), origin: None }
    }

    /// Learns the scaling and, where it is to be chosen, the number of neighbours (leave-one-out).
    ///
    /// # Errors
    /// If there is not one label per row, the labels are numbers, there is one class only, or fewer rows than neighbours; or the
    /// scaling is by quantiles, which leave no zeros.
    pub fn fit(rows: &SparseRows, labels: &Labels, scaling: Scaling, (k, weights): (K, Weights)) -> Result<Self> {
        check_labels(rows, labels)?;
        if scaling == Scaling::Quantile {
            let message = "the quantile of a zero's rank is no zero, so that rows would not stay sparse; take standard, minmax, unit or none";
            return Err(Error::parameter("scaling", message));
        }
        let (divisors, voting) = (divisors(rows, scaling), Voting { k: 1, weights });
        let mut model = Self::new(rows.clone(), labels.clone(), scaling, divisors, voting);
        model.rows = model.divided(rows);
        model.voting.k = match k {
            K::Fixed(k) => k,
            K::Auto => model.best_k()?,
        };
        model.checked()
    }

    /// The same, if its parts fit together.
    ///
    /// # Errors
    /// If they do not.
    pub fn checked(self) -> Result<Self> {
        let n = self.rows.len();
        check_labels(&self.rows, &self.labels)?;
        if self.voting.k == 0 || self.voting.k > n {
            let message = format!("{} neighbours of {n} training rows: give 1 to {n}", self.voting.k);
            return Err(Error::parameter("k", message));
        }
        if !self.lines.is_empty() && self.lines.len() != n {
            return Err(Error::shape("lines of the training rows", n, self.lines.len()));
        }
        let ascend = self.divisors.windows(2).all(|w| w[0].column < w[1].column);
        if !ascend || self.divisors.iter().any(|d| !(d.by.is_finite() && d.by > 0.0)) {
            return Err(Error::data("the divisors of the columns are no positive numbers in ascending columns"));
        }
        Ok(self)
    }

    fn divided(&self, rows: &SparseRows) -> SparseRows {
        if self.scaling == Scaling::Unit {
            return rows.of_unit_length();
        }
        if self.divisors.is_empty() {
            return rows.clone();
        }
        let by = |column: u32| {
            self.divisors.binary_search_by_key(&column, |d| d.column).map_or(1.0, |at| self.divisors[at].by)
        };
        rows.divided(by)
    }

    fn best_k(&self) -> Result<usize> {
        let tried = usual_ks(self.rows.len());
        let most = tried.iter().copied().max().unwrap_or(1);
        let found = nearest_other_sparse(&self.rows, most)?;
        let codes = self.labels.codes();
        let mut poll = Poll::new(self.labels.classes().len(), self.voting.weights);
        let score = |&k: &usize| {
            let right = (0..codes.len()).filter(|&i| {
                let votes = found.indices(i)[..k].iter().map(|&row| codes[row]);
                poll.winner(votes, &found.squared_distances(i)[..k]) == codes[i]
            });
            KScore::new(k, right.count() as f64 / codes.len().max(1) as f64)
        };
        let scores: Vec<KScore> = tried.iter().map(score).collect();
        Ok(best_k(&scores).unwrap_or(1))
    }

    /// The `k` nearest training rows of each row, nearest first; of equally near ones the lower row number comes first.
    ///
    /// # Errors
    /// If `k` is 0 or larger than the number of training rows.
    pub fn neighbours(&self, rows: &SparseRows, k: usize) -> Result<Neighbours> {
        nearest_sparse(&self.rows, &self.divided(rows), k)
    }

    /// The class of each row, as an index into the labels' classes.
    ///
    /// # Errors
    /// As [`Self::neighbours`].
    pub fn predict(&self, rows: &SparseRows) -> Result<Vec<u32>> {
        Ok(self.votes(rows)?.0)
    }

    /// The class of each row, and each class's share of the votes: a row per row, a column per class.
    ///
    /// # Errors
    /// As [`Self::neighbours`].
    pub fn votes(&self, rows: &SparseRows) -> Result<(Vec<u32>, Matrix)> {
        let found = self.neighbours(rows, self.voting.k)?;
        let (codes, classes) = (self.labels.codes(), self.labels.classes().len());
        let mut poll = Poll::new(classes, self.voting.weights);
        let (mut labels, mut shares) = (Vec::with_capacity(rows.len()), Matrix::zeros(rows.len(), classes));
        for i in 0..rows.len() {
            let votes = found.indices(i).iter().map(|&row| codes[row]);
            labels.push(poll.winner(votes, found.squared_distances(i)));
            poll.shares(shares.row_mut(i));
        }
        Ok((labels, shares))
    }
}

/// Finds out whether rows can vote with these labels.
fn check_labels(rows: &SparseRows, labels: &Labels) -> Result<()> {
    if labels.len() != rows.len() {
        return Err(Error::shape("labels", rows.len(), labels.len()));
    }
    if labels.numbers().is_some() {
        let message = "the labels are numbers to predict, and sparse rows vote for classes only; give the rows with their zeros (`Model`)";
        return Err(Error::parameter("task", message));
    }
    labels.check_two_classes()
}

/// Sums over a column's elements that are not zero.
#[derive(Clone, Copy)]
struct Sums {
    count: usize,
    sum: f64,
    low: f64,
    high: f64,
}

fn divisors(rows: &SparseRows, scaling: Scaling) -> Vec<Divisor> {
    if matches!(scaling, Scaling::None | Scaling::Unit) {
        return Vec::new();
    }
    let mut columns: Vec<(u32, f64)> = rows.columns().iter().copied().zip(rows.values().iter().copied()).collect();
    columns.sort_by_key(|cell| cell.0);
    let n = rows.len() as f64;
    let one = |cells: &[(u32, f64)]| {
        let first = Sums { count: 0, sum: 0.0, low: f64::INFINITY, high: f64::NEG_INFINITY };
        let mut of = cells.iter().fold(first, |of, &(_, v)| Sums {
            count: of.count + 1,
            sum: of.sum + v,
            low: of.low.min(v),
            high: of.high.max(v),
        });
        if of.count < rows.len() {
            (of.low, of.high) = (of.low.min(0.0), of.high.max(0.0));
        }
        let mean = of.sum / n;
        let squares: f64 = cells.iter().map(|(_, v)| (v - mean).powi(2)).sum();
        let by = match scaling {
            Scaling::Minmax => of.high - of.low,
            _ => ((squares + (n - of.count as f64) * mean * mean) / n).sqrt(),
        };
        (of.high > of.low && by > 0.0 && by.is_finite()).then(|| Divisor { column: cells[0].0, by })
    };
    columns.chunk_by(|a, b| a.0 == b.0).filter_map(one).collect()
}
