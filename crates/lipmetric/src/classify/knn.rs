//! Classification by the votes of the nearest rows.

use crate::neighbours::{NeighbourIndex, Neighbours, check_k, nearest_per_class};
use crate::{Error, Labels, Matrix, Result};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// How much each neighbour's vote counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weights {
    /// All the same.
    #[default]
    Uniform,
    /// One over the distance (not squared). If neighbours are at distance zero, only these count; infinitely far
    /// ones count only if there are no others.
    Distance,
}

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
    by_class: OnceLock<Vec<Option<NeighbourIndex>>>,
}

/// What a [`KnnClassifier`] has to say about one query. Distances are in the metric itself, not squared.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Prediction {
    /// Code of the predicted class.
    pub label: u32,
    /// The rows that voted, nearest first.
    pub neighbours: Vec<usize>,
    /// Their distances.
    pub distances: Vec<f64>,
    /// Each class's share of the votes.
    pub shares: Vec<f64>,
    /// Distance to the nearest row of all.
    pub nearest: f64,
    /// Distance to the nearest row of any class but the predicted one, less that to the nearest row of the predicted
    /// class. Negative if the votes overrule the nearest row; infinite if no other class has rows; zero if both
    /// distances are infinite.
    pub margin: f64,
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
        let mut poll = Poll::new(self);
        Ok((0..found.len()).map(|i| poll.winner(&found, i)).collect())
    }

    /// Each class's share of the votes: a row per query, a column per class.
    ///
    /// # Errors
    /// If the queries have another number of columns than the rows, or one is not finite.
    pub fn predict_proba(&self, queries: &Matrix) -> Result<Matrix> {
        let found = self.index.query(queries, self.k)?;
        let mut poll = Poll::new(self);
        let mut shares = Matrix::zeros(found.len(), self.labels.classes().len());
        for i in 0..found.len() {
            poll.count(&found, i);
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
    /// let told = &knn.predict_detailed(&Matrix::from_rows(&[[2.0]]))?[0];
    /// assert_eq!((told.label, told.nearest, told.margin), (0, 1.0, 2.0));
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the queries have another number of columns than the rows, or one is not finite.
    pub fn predict_detailed(&self, queries: &Matrix) -> Result<Vec<Prediction>> {
        let found = self.index.query(queries, self.k)?;
        let by_class = match self.by_class.get() {
            Some(built) => built,
            None => {
                let built = self.index.by_class(&self.labels)?;
                self.by_class.get_or_init(|| built)
            }
        };
        let per_class = nearest_per_class(by_class, queries)?;
        let mut poll = Poll::new(self);
        let detail = |i: usize| {
            let label = poll.winner(&found, i);
            let mut shares = vec![0.0; self.labels.classes().len()];
            poll.shares(&mut shares);
            let distances: Vec<f64> = found.squared_distances(i).iter().map(|d| d.sqrt()).collect();
            Prediction {
                label,
                neighbours: found.indices(i).to_vec(),
                nearest: distances[0],
                margin: self.margin(label, per_class.row(i)),
                shares,
                distances,
            }
        };
        Ok((0..found.len()).map(detail).collect())
    }

    fn margin(&self, label: u32, squared_per_class: &[f64]) -> f64 {
        let own = squared_per_class[label as usize].sqrt();
        let populated = self.by_class.get().map_or(&[][..], Vec::as_slice);
        let others = (0..squared_per_class.len()).filter(|&c| c != label as usize && populated[c].is_some());
        match others.map(|c| squared_per_class[c].sqrt()).min_by(f64::total_cmp) {
            None => f64::INFINITY,
            Some(other) if other == own => 0.0,
            Some(other) => other - own,
        }
    }
}

/// Counts votes. Only the classes of the neighbours are touched, however many there are.
struct Poll<'a> {
    classifier: &'a KnnClassifier,
    votes: Vec<f64>,
    /// Squared distance of a class's nearest member among the neighbours; negative if it has none.
    nearest: Vec<f64>,
    /// Classes with a vote, nearest member first.
    polled: Vec<u32>,
}

impl<'a> Poll<'a> {
    fn new(classifier: &'a KnnClassifier) -> Self {
        let classes = classifier.labels.classes().len();
        Self { classifier, votes: vec![0.0; classes], nearest: vec![-1.0; classes], polled: Vec::new() }
    }

    fn count(&mut self, found: &Neighbours, i: usize) {
        for class in self.polled.drain(..) {
            self.votes[class as usize] = 0.0;
            self.nearest[class as usize] = -1.0;
        }
        let squared = found.squared_distances(i);
        let at_zero = squared[0] == 0.0;
        let weight = |d2: f64| match self.classifier.weights {
            Weights::Uniform => 1.0,
            Weights::Distance if at_zero => f64::from(u8::from(d2 == 0.0)),
            // Sorted, so that then all are infinitely far.
            Weights::Distance if squared[0] == f64::INFINITY => 1.0,
            Weights::Distance => 1.0 / d2.sqrt(),
        };
        for (&row, &d2) in found.indices(i).iter().zip(squared) {
            let class = self.classifier.labels.codes()[row];
            if self.nearest[class as usize] < 0.0 {
                self.polled.push(class);
                self.nearest[class as usize] = d2;
            }
            self.votes[class as usize] += weight(d2);
        }
    }

    /// Each class's share of what was counted last, into a row of zeros.
    fn shares(&self, row: &mut [f64]) {
        let total: f64 = self.polled.iter().map(|&class| self.votes[class as usize]).sum();
        for &class in &self.polled {
            row[class as usize] = self.votes[class as usize] / total;
        }
    }

    fn winner(&mut self, found: &Neighbours, i: usize) -> u32 {
        self.count(found, i);
        let rank = |&class: &u32| (self.votes[class as usize], self.nearest[class as usize], class);
        let best = self
            .polled
            .iter()
            .map(rank)
            .min_by(|a, b| b.0.total_cmp(&a.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        best.map_or(0, |(_, _, class)| class)
    }
}
