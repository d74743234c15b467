//! What a search returns.

use rayon::prelude::*;
use serde::Serialize;

/// Two rows and the distance between them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Pair {
    /// The smaller row number.
    pub i: usize,
    /// The larger row number.
    pub j: usize,
    /// Their distance.
    pub distance: f64,
}

/// The nearest rows of each query, nearest first; among equal distances the lower row index comes first.
///
/// ```
/// use lipmetric::{Matrix, neighbours::NeighbourIndex};
/// let index = NeighbourIndex::new(Matrix::from_rows(&[[0.0], [4.0], [1.0]])).unwrap();
/// let near = index.query(&Matrix::from_rows(&[[0.0], [3.0]]), 2).unwrap();
/// assert_eq!(near.indices(1), [1, 2]);
/// assert_eq!(near.squared_distances(1), [1.0, 4.0]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbours {
    k: usize,
    indices: Vec<usize>,
    squared: Vec<f64>,
}

impl Neighbours {
    /// Room for the answers to `queries` queries.
    pub(super) fn with_room(queries: usize, k: usize) -> Self {
        Self { k, indices: vec![0; queries * k], squared: vec![0.0; queries * k] }
    }

    /// The room for `block` queries each, to be filled in parallel.
    pub(super) fn blocks_mut(&mut self, block: usize) -> impl IndexedParallelIterator<Item = Block<'_>> {
        let k = self.k;
        self.indices
            .par_chunks_mut(block * k)
            .zip(self.squared.par_chunks_mut(block * k))
            .enumerate()
            .map(move |(b, (indices, squared))| Block { k, first: b * block, indices, squared })
    }

    /// Number of queries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.indices.len() / self.k
    }

    /// Whether there was no query.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// Neighbours per query.
    #[must_use]
    pub fn k(&self) -> usize {
        self.k
    }

    /// The rows nearest to query `i`.
    ///
    /// # Panics
    /// If `i` is out of range.
    #[must_use]
    pub fn indices(&self, i: usize) -> &[usize] {
        &self.indices[i * self.k..(i + 1) * self.k]
    }

    /// Their squared Euclidean distances.
    ///
    /// # Panics
    /// If `i` is out of range.
    #[must_use]
    pub fn squared_distances(&self, i: usize) -> &[f64] {
        &self.squared[i * self.k..(i + 1) * self.k]
    }
}

/// The room for the answers to some consecutive queries.
pub(super) struct Block<'a> {
    k: usize,
    first: usize,
    indices: &'a mut [usize],
    squared: &'a mut [f64],
}

impl Block<'_> {
    /// The numbers of these queries.
    pub(super) fn queries(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.indices.len() / self.k
    }

    /// Writes the answer to the `i`-th of these queries.
    pub(super) fn write(&mut self, i: usize, answer: &[(f64, u32)]) {
        let range = i * self.k..(i + 1) * self.k;
        let out = self.indices[range.clone()].iter_mut().zip(&mut self.squared[range]);
        for ((index, squared), &(d, row)) in out.zip(answer) {
            *index = row as usize;
            *squared = d;
        }
    }
}
