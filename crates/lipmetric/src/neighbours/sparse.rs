//! The nearest of sparse rows, by comparing every query with every row where one of the two is not zero.

use super::check_k;
use super::found::Neighbours;
use super::nearest::Exclude;
use crate::data::SparseRows;
use crate::{Error, Result};
use rayon::prelude::*;

/// Queries of one task.
const TASK: usize = 16;

/// The squared Euclidean distance of two rows: the same number, to the last bit, as between the rows with their zeros, which add nothing.
pub(crate) fn sparse_distance((a, x): (&[u32], &[f64]), (b, y): (&[u32], &[f64])) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while i < a.len() && j < b.len() {
        let t = match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Equal => {
                (i, j) = (i + 1, j + 1);
                x[i - 1] - y[j - 1]
            }
            std::cmp::Ordering::Less => {
                i += 1;
                x[i - 1]
            }
            std::cmp::Ordering::Greater => {
                j += 1;
                y[j - 1]
            }
        };
        sum += t * t;
    }
    x[i..].iter().chain(&y[j..]).fold(sum, |sum, t| sum + t * t)
}

/// The `k` nearest rows of each query, nearest first; the lower row number first among equally near ones.
///
/// # Errors
/// If `k` is 0 or larger than the number of rows.
pub(crate) fn nearest_sparse(rows: &SparseRows, queries: &SparseRows, k: usize) -> Result<Neighbours> {
    check_k(k, rows.len(), "rows")?;
    Ok(search(rows, queries, k, Exclude::Nothing))
}

/// The `k` nearest other rows of each row.
///
/// # Errors
/// If `k` is 0 or not smaller than the number of rows.
pub(crate) fn nearest_other_sparse(rows: &SparseRows, k: usize) -> Result<Neighbours> {
    let others = rows.len().checked_sub(1).ok_or_else(|| Error::data("no rows to search for neighbours in"))?;
    check_k(k, others, "other rows")?;
    Ok(search(rows, rows, k, Exclude::Itself))
}

fn search(rows: &SparseRows, queries: &SparseRows, k: usize, exclude: Exclude) -> Neighbours {
    let mut found = Neighbours::with_room(queries.len(), k);
    found.blocks_mut(TASK).for_each(|mut block| {
        let mut near: Vec<(f64, u32)> = Vec::with_capacity(rows.len());
        for (at, query) in block.queries().enumerate() {
            near.clear();
            let others = (0..rows.len() as u32).filter(|&i| i != exclude.row(query));
            near.extend(others.map(|i| (sparse_distance(queries.row(query), rows.row(i as usize)), i)));
            let nearer = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
            if k < near.len() {
                near.select_nth_unstable_by(k - 1, nearer);
                near.truncate(k);
            }
            near.sort_unstable_by(nearer);
            block.write(at, &near);
        }
    });
    found
}
