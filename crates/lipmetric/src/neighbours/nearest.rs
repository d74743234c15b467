//! The `k` nearest rows: what is searched in, and the choice of how.

use super::balls::{self, Balls};
use super::brute::{self, Brute};
use super::candidates::{Measure, NO_ROW};
use super::choose;
use super::distance::check_finite;
use super::found::Neighbours;
use crate::{Error, Matrix, Result};
use rayon::prelude::*;
use std::sync::OnceLock;

/// How a [`NeighbourIndex`] searches. The answers are the same to the last bit; only the time differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Algorithm {
    /// [`Tree`](Self::Tree) where it is expected to be faster, else [`Brute`](Self::Brute). Decided for each
    /// batch of queries:
    ///
    /// 1. Fewer than 1,024 rows, or fewer than 256 queries and no tree built yet: brute force.
    /// 2. Otherwise 16 of the queries are searched by brute force for their `k` and their 64 nearest rows (64 is
    ///    the size of a leaf). With `d` the `k`-th and `r` the 64-th distance, a leaf of radius `r` must be looked
    ///    into if its centre is within `d + r`; how many are is estimated from 512 rows. The tree is taken if the
    ///    share of rows in such leaves is on average below 5 %. Beyond this, brute force is faster, because
    ///    it shares each row that it loads among several queries.
    #[default]
    Auto,
    /// Every query against every row, in tiles.
    Brute,
    /// A tree of balls, of which a query skips what cannot hold a neighbour. Wins on few columns, on clusters and
    /// on rows near a surface of low dimension.
    Tree,
}

/// Rows to search for nearest neighbours in: exactly, in the Euclidean distance.
///
/// The answer to a query is the `k` rows of smallest squared distance, nearest first, **the lower row index first
/// among equal distances**. Squared distances are sums of squared differences in `f64` from the first column to
/// the last; answers, ties included, follow these numbers and are identical for every [`Algorithm`], number of
/// threads and division of the queries into batches. Distances too large for `f64` are infinite, and equal to
/// each other.
///
/// Searches run in the current rayon pool and need memory for the answers and little else.
///
/// ```
/// use lipmetric::{Matrix, neighbours::NeighbourIndex};
/// let index = NeighbourIndex::new(Matrix::from_rows(&[[0.0, 0.0], [3.0, 4.0], [1.0, 0.0]]))?;
/// let near = index.query(&Matrix::from_rows(&[[0.0, 0.0]]), 2)?;
/// assert_eq!(near.indices(0), [0, 2]);
/// assert_eq!(near.squared_distances(0), [0.0, 1.0]);
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug)]
pub struct NeighbourIndex {
    rows: Matrix,
    algorithm: Algorithm,
    brute: OnceLock<Brute>,
    tree: OnceLock<Balls>,
}

/// Queries of one task where each is searched on its own.
const TASK: usize = 64;

/// Which row a query must not find.
#[derive(Clone, Copy)]
pub(super) enum Exclude {
    Nothing,
    /// The row with the query's own number.
    Itself,
}

impl Exclude {
    pub(super) fn row(self, query: usize) -> u32 {
        match self {
            Self::Nothing => NO_ROW,
            Self::Itself => query as u32,
        }
    }
}

impl NeighbourIndex {
    /// An index over `rows` that chooses how to search.
    ///
    /// # Errors
    /// If there is no row, or a value is not finite.
    pub fn new(rows: Matrix) -> Result<Self> {
        Self::with_algorithm(rows, Algorithm::Auto)
    }

    /// An index over `rows` that searches in the given way.
    ///
    /// ```
    /// use lipmetric::{Matrix, neighbours::{Algorithm, NeighbourIndex}};
    /// let rows = Matrix::from_rows(&[[0.0], [2.0], [1.0]]);
    /// let index = NeighbourIndex::with_algorithm(rows, Algorithm::Tree)?;
    /// assert_eq!(index.query(&Matrix::from_rows(&[[1.8]]), 1)?.indices(0), [1]);
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no row, or a value is not finite.
    pub fn with_algorithm(rows: Matrix, algorithm: Algorithm) -> Result<Self> {
        if rows.rows() == 0 {
            return Err(Error::data("no rows to search for neighbours in"));
        }
        if rows.rows() >= NO_ROW as usize {
            return Err(Error::data(format!(
                "{} rows are more than the {} that can be indexed",
                rows.rows(),
                NO_ROW - 1
            )));
        }
        check_finite(&rows, "indexed row")?;
        Ok(Self { rows, algorithm, brute: OnceLock::new(), tree: OnceLock::new() })
    }

    /// The rows searched in.
    #[must_use]
    pub fn rows(&self) -> &Matrix {
        &self.rows
    }

    /// The way of searching that was asked for.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The `k` nearest rows of each query.
    ///
    /// # Errors
    /// If `k` is 0 or larger than the number of rows, if the queries have another number of columns than the rows,
    /// or if a query is not finite.
    pub fn query(&self, queries: &Matrix, k: usize) -> Result<Neighbours> {
        check_k(k, self.rows.rows(), "rows")?;
        self.check_queries(queries)?;
        Ok(self.search(queries, k, Exclude::Nothing))
    }

    /// The `k` nearest *other* rows of each row: the query's own index is left out, its duplicates are not.
    ///
    /// ```
    /// use lipmetric::{Matrix, neighbours::NeighbourIndex};
    /// let index = NeighbourIndex::new(Matrix::from_rows(&[[0.0], [5.0], [0.0]]))?;
    /// let near = index.query_excluding_self(1)?;
    /// assert_eq!((near.indices(0), near.indices(1)), (&[2][..], &[0][..]));
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `k` is 0 or not smaller than the number of rows.
    pub fn query_excluding_self(&self, k: usize) -> Result<Neighbours> {
        check_k(k, self.rows.rows() - 1, "other rows")?;
        Ok(self.search(&self.rows, k, Exclude::Itself))
    }

    pub(super) fn check_queries(&self, queries: &Matrix) -> Result<()> {
        if queries.cols() != self.rows.cols() {
            return Err(Error::shape("columns of the queries", self.rows.cols(), queries.cols()));
        }
        check_finite(queries, "query row")
    }

    pub(super) fn search(&self, queries: &Matrix, k: usize, exclude: Exclude) -> Neighbours {
        self.search_by(&self.rows, queries, k, exclude)
    }

    /// The same by a measure of these rows, whose values then stand in place of the squared distances.
    pub(super) fn search_by<M: Measure>(&self, by: &M, queries: &Matrix, k: usize, exclude: Exclude) -> Neighbours {
        let tree = match self.algorithm {
            Algorithm::Brute => false,
            Algorithm::Tree => true,
            Algorithm::Auto => choose::tree_wins(&self.rows, self.brute(), self.tree.get().is_some(), queries, k),
        };
        let mut found = Neighbours::with_room(queries.rows(), k);
        if tree {
            self.search_tree(by, queries, k, exclude, &mut found);
        } else {
            self.search_brute(by, queries, k, exclude, &mut found);
        }
        found
    }

    fn search_brute<M: Measure>(&self, by: &M, queries: &Matrix, k: usize, exclude: Exclude, found: &mut Neighbours) {
        let brute = self.brute();
        found.blocks_mut(brute::BLOCK).for_each_init(
            || brute::Workspace::new(k, self.rows.cols()),
            |work, mut out| {
                let block: Vec<(&[f64], u32)> = out.queries().map(|i| (queries.row(i), exclude.row(i))).collect();
                brute.search(by, &block, work, |i, answer| out.write(i, answer));
            },
        );
    }

    fn search_tree<M: Measure>(&self, by: &M, queries: &Matrix, k: usize, exclude: Exclude, found: &mut Neighbours) {
        let tree = self.tree.get_or_init(|| Balls::new(&self.rows));
        found.blocks_mut(TASK).for_each_init(
            || balls::Workspace::new(k, self.rows.cols()),
            |work, mut out| {
                for (i, query) in out.queries().enumerate() {
                    out.write(i, tree.search(by, queries.row(query), exclude.row(query), work));
                }
            },
        );
    }

    fn brute(&self) -> &Brute {
        self.brute.get_or_init(|| Brute::new(&self.rows))
    }
}

pub(crate) fn check_k(k: usize, most: usize, of: &str) -> Result<()> {
    if k == 0 {
        return Err(Error::parameter("k", "must be at least 1, found 0"));
    }
    if k > most {
        return Err(Error::parameter("k", format!("{k} neighbours asked for, but the number of {of} is {most}")));
    }
    Ok(())
}
