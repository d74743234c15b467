//! The nearest row of each class.

use super::nearest::{Exclude, NeighbourIndex};
use crate::{Error, Labels, Matrix, Result};

/// Rows to search in, class by class: an index over the rows of each.
#[derive(Debug)]
pub(crate) struct ClassIndex {
    classes: Vec<Option<Class>>,
}

#[derive(Debug)]
struct Class {
    /// The numbers of its rows.
    rows: Vec<usize>,
    index: NeighbourIndex,
}

/// The nearest row of each class to each query.
#[derive(Debug)]
pub(crate) struct NearestOfEach {
    /// By query, then by class: the squared distance (infinite for a class without rows) and the row.
    nearest: Vec<(f64, Option<usize>)>,
    classes: usize,
}

impl NearestOfEach {
    /// Squared distance and row of the nearest row of each class to query `i`.
    pub(crate) fn of(&self, i: usize) -> &[(f64, Option<usize>)] {
        &self.nearest[i * self.classes..(i + 1) * self.classes]
    }
}

impl ClassIndex {
    /// The rows of `index`, by the classes that `labels` tells.
    pub(crate) fn new(index: &NeighbourIndex, labels: &Labels) -> Result<Self> {
        if labels.len() != index.rows().rows() {
            return Err(Error::shape("labels of the indexed rows", index.rows().rows(), labels.len()));
        }
        let build = |rows: Vec<usize>| -> Result<Option<Class>> {
            if rows.is_empty() {
                return Ok(None);
            }
            let index = NeighbourIndex::with_algorithm(index.rows().select_rows(&rows), index.algorithm())?;
            Ok(Some(Class { rows, index }))
        };
        Ok(Self { classes: labels.members().into_iter().map(build).collect::<Result<_>>()? })
    }

    /// The nearest row of each class to each query, of equally near ones that with the lowest number. The queries have
    /// been checked.
    pub(crate) fn nearest(&self, queries: &Matrix) -> NearestOfEach {
        let count = self.classes.len();
        let mut nearest = vec![(f64::INFINITY, None); queries.rows() * count];
        for (k, class) in self.classes.iter().enumerate() {
            let Some(Class { rows, index }) = class else { continue };
            let found = index.search(queries, 1, Exclude::Nothing);
            for i in 0..queries.rows() {
                nearest[i * count + k] = (found.squared_distances(i)[0], Some(rows[found.indices(i)[0]]));
            }
        }
        NearestOfEach { nearest, classes: count }
    }
}

impl NeighbourIndex {
    /// The squared distance from each query to the nearest row of each class: a row per query, a column per class.
    /// Infinite for a class without rows.
    ///
    /// ```
    /// use lipmetric::{Labels, Matrix, neighbours::NeighbourIndex};
    /// let index = NeighbourIndex::new(Matrix::from_rows(&[[0.0], [4.0], [1.0]]))?;
    /// let nearest = index.nearest_per_class(&Matrix::from_rows(&[[2.0]]), &Labels::from_names(["a", "b", "a"]))?;
    /// assert_eq!(nearest.row(0), [1.0, 4.0]);
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is not one label per row, if the queries have another number of columns than the rows, or if a
    /// query is not finite.
    pub fn nearest_per_class(&self, queries: &Matrix, labels: &Labels) -> Result<Matrix> {
        self.check_queries(queries)?;
        let found = ClassIndex::new(self, labels)?.nearest(queries);
        let squared = found.nearest.iter().map(|(squared, _)| *squared).collect();
        Matrix::from_vec(queries.rows(), labels.classes().len(), squared)
    }
}
