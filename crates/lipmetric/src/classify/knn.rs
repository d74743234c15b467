//! Classification by the votes of the nearest rows.

use super::vote::{Poll, Weights};
use crate::neighbours::{ClassIndex, NeighbourIndex, check_k};
use crate::{Error, Labels, Matrix, Result};
use std::sync::OnceLock;

/// A k-nearest-neighbour classifier.
///
/// The class with most votes wins. Among classes with equally many votes it is the one whose nearest member among
/// the neighbours is nearest, and if these are equally near, the one with the lower code.
///
/// ```
/// use lipmetric::classify::{KnnClassifier, Weights};
/// use lipmetric::neighbours::NeighbourIndex;
/// use lipmetric::{Labels, Matrix};
/// let index = NeighbourIndex::new(Matrix::from_rows(&[[0.0], [1.0], [5.0]]))?;
/// let knn = KnnClassifier::new(index, Labels::from_names(["a", "a", "b"]), 2, Weights::Uniform)?;
/// let queries = Matrix::from_rows(&[[0.2], [3.5]]);
/// assert_eq!(knn.predict(&queries)?, [0, 1]);
/// assert_eq!(knn.predict_proba(&queries)?.row(1), [0.5, 0.5]);
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug)]
pub struct KnnClassifier {
    index: NeighbourIndex,
    labels: Labels,
    k: usize,
    weights: Weights,
    by_class: OnceLock<ClassIndex>,
}

/// A row of the training data, seen from a query. The distance is the metric's own, not squared.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Neighbour {
    /// Its number.
    pub row: usize,
    /// How far it is.
    pub distance: f64,
}

/// A predicted class, and what it rests on.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Prediction {
    /// Code of the predicted class.
    pub label: u32,
    /// The rows that voted, nearest first; where a function predicts, the nearest row.
    pub neighbours: Vec<Neighbour>,
    /// Each class's share of the votes or, where a function predicts, its calibrated probability; empty where the function was not
    /// calibrated.
    pub shares: Vec<f64>,
    /// Where a function predicts, its value for each class: the largest wins. Else empty.
    pub values: Vec<f64>,
    /// The nearest row of the predicted class.
    pub same: Option<Neighbour>,
    /// The nearest row of any other class; none if no other class has rows.
    pub other: Option<Neighbour>,
}

impl Prediction {
    /// Distance to the nearest row of all.
    #[must_use]
    pub fn nearest(&self) -> f64 {
        self.neighbours.first().map_or(f64::INFINITY, |n| n.distance)
    }

    /// Distance to the nearest row of any class but the predicted one, less that to the nearest row of the predicted
    /// class. Negative if the votes overrule the nearest row; infinite if no other class has rows; zero if both
    /// distances are infinite.
    #[must_use]
    pub fn margin(&self) -> f64 {
        let own = self.same.map_or(f64::INFINITY, |n| n.distance);
        match self.other {
            None => f64::INFINITY,
            Some(other) if other.distance == own => 0.0,
            Some(other) => other.distance - own,
        }
    }
}

impl KnnClassifier {
    /// A classifier by the `k` nearest rows of `index`, which belong to the classes that `labels` tells.
    ///
    /// # Errors
    /// If `k` is 0 or larger than the number of rows, or if there is not one label per row.
    pub fn new(index: NeighbourIndex, labels: Labels, k: usize, weights: Weights) -> Result<Self> {
        if labels.len() != index.rows().rows() {
            return Err(Error::shape("labels of the indexed rows", index.rows().rows(), labels.len()));
        }
        check_k(k, index.rows().rows(), "rows")?;
        Ok(Self { index, labels, k, weights, by_class: OnceLock::new() })
    }

    /// The rows it searches in.
    #[must_use]
    pub fn index(&self) -> &NeighbourIndex {
        &self.index
    }

    /// Their classes.
    #[must_use]
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Number of neighbours that vote.
    #[must_use]
    pub fn k(&self) -> usize {
        self.k
    }

    /// How the votes count.
    #[must_use]
    pub fn weights(&self) -> Weights {
        self.weights
    }

    /// The class of each query, as a code of [`Self::labels`].
    ///
    /// # Errors
    /// If the queries have another number of columns than the rows, or one is not finite.
    pub fn predict(&self, queries: &Matrix) -> Result<Vec<u32>> {
        let found = self.index.query(queries, self.k)?;
        let mut poll = self.poll();
        Ok((0..found.len()).map(|i| poll.winner(self.classes(found.indices(i)), found.squared_distances(i))).collect())
    }

    /// Each class's share of the votes: a row per query, a column per class.
    ///
    /// # Errors
    /// If the queries have another number of columns than the rows, or one is not finite.
    pub fn predict_proba(&self, queries: &Matrix) -> Result<Matrix> {
        let found = self.index.query(queries, self.k)?;
        let mut poll = self.poll();
        let mut shares = Matrix::zeros(found.len(), self.labels.classes().len());
        for i in 0..found.len() {
            poll.winner(self.classes(found.indices(i)), found.squared_distances(i));
            poll.shares(shares.row_mut(i));
        }
        Ok(shares)
    }

    /// The class of each query with the neighbours behind it and the margin by which it is nearer than others.
    ///
    /// ```
    /// # use lipmetric::classify::{KnnClassifier, Weights};
    /// # use lipmetric::neighbours::NeighbourIndex;
    /// # use lipmetric::{Labels, Matrix};
    /// let index = NeighbourIndex::new(Matrix::from_rows(&[[0.0], [1.0], [5.0]]))?;
    /// let knn = KnnClassifier::new(index, Labels::from_names(["a", "a", "b"]), 1, Weights::Uniform)?;
    /// let told = &knn.explain(&Matrix::from_rows(&[[2.0]]))?[0];
    /// assert_eq!((told.label, told.nearest(), told.margin()), (0, 1.0, 2.0));
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the queries have another number of columns than the rows, or one is not finite.
    pub fn explain(&self, queries: &Matrix) -> Result<Vec<Prediction>> {
        self.told(queries, |_| None)
    }

    /// The same where something else than the votes decides which class each query has.
    pub(crate) fn explain_as(&self, queries: &Matrix, labels: &[u32]) -> Result<Vec<Prediction>> {
        self.told(queries, |i| Some(labels[i]))
    }

    fn told(&self, queries: &Matrix, decided: impl Fn(usize) -> Option<u32>) -> Result<Vec<Prediction>> {
        let found = self.index.query(queries, self.k)?;
        let by_class = match self.by_class.get() {
            Some(built) => built,
            None => {
                let built = ClassIndex::new(&self.index, &self.labels)?;
                self.by_class.get_or_init(|| built)
            }
        };
        let per_class = by_class.nearest(queries);
        let mut poll = self.poll();
        let explain = |i: usize| {
            let winner = poll.winner(self.classes(found.indices(i)), found.squared_distances(i));
            let label = decided(i).unwrap_or(winner);
            let mut shares = vec![0.0; self.labels.classes().len()];
            poll.shares(&mut shares);
            let voters = found.indices(i).iter().zip(found.squared_distances(i));
            let nearest = |&(squared, row): &(f64, Option<usize>)| Some(neighbour(row?, squared));
            let others = per_class.of(i).iter().enumerate().filter(|(class, _)| *class != label as usize);
            Prediction {
                label,
                neighbours: voters.map(|(&row, &squared)| neighbour(row, squared)).collect(),
                shares,
                values: Vec::new(),
                same: nearest(&per_class.of(i)[label as usize]),
                other: others.filter_map(|(_, found)| nearest(found)).min_by(|a, b| a.distance.total_cmp(&b.distance)),
            }
        };
        Ok((0..found.len()).map(explain).collect())
    }

    fn poll(&self) -> Poll {
        Poll::new(self.labels.classes().len(), self.weights)
    }

    fn classes(&self, rows: &[usize]) -> impl Iterator<Item = u32> {
        rows.iter().map(|&row| self.labels.codes()[row])
    }
}

fn neighbour(row: usize, squared: f64) -> Neighbour {
    Neighbour { row, distance: squared.sqrt() }
}
