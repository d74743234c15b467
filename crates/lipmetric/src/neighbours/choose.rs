//! When the tree is worth taking.

use super::balls::LEAF;
use super::brute::{self, Brute};
use super::candidates::NO_ROW;
use super::distance::squared_distance;
use crate::Matrix;

/// With fewer rows brute force is always faster.
const FEWEST_ROWS: usize = 1024;

/// With fewer queries a tree does not pay for being built.
const FEWEST_QUERIES: usize = 256;

/// Queries tried.
const TRIED: usize = 16;

/// Rows from which the share is estimated.
const SAMPLE: usize = 512;

/// Share of the rows up to which the tree wins, as measured over uniform, Gaussian and clustered data of 2 to 64
/// columns.
const LARGEST_SHARE: f64 = 0.05;

/// The rule of [`Algorithm::Auto`](super::Algorithm::Auto). Deterministic, though the answers would not tell.
pub(super) fn tree_wins(rows: &Matrix, brute: &Brute, tree_built: bool, queries: &Matrix, k: usize) -> bool {
    if rows.rows() < FEWEST_ROWS || (queries.rows() < FEWEST_QUERIES && !tree_built) || queries.rows() == 0 {
        return false;
    }
    share_in_reach(rows, brute, queries, k) < LARGEST_SHARE
}

/// The estimated share of the rows that lie in leaves which a query must look into.
fn share_in_reach(rows: &Matrix, brute: &Brute, queries: &Matrix, k: usize) -> f64 {
    let tried: Vec<(&[f64], u32)> =
        (0..queries.rows()).step_by(queries.rows().div_ceil(TRIED)).map(|i| (queries.row(i), NO_ROW)).collect();
    let most = k.max(LEAF).min(rows.rows());
    let sample: Vec<&[f64]> = (0..rows.rows()).step_by(rows.rows().div_ceil(SAMPLE)).map(|i| rows.row(i)).collect();
    let mut shares = 0.0;
    let mut work = brute::Workspace::new(most, rows.cols());
    brute.search(rows, &tried, &mut work, |i, answer| {
        let (d, r2) = (answer[k - 1].0.sqrt(), answer[LEAF.min(most) - 1].0);
        // The centre of a leaf is nearer than its rows are, by about its radius in squares.
        let reach = (d + r2.sqrt()).powi(2) + r2;
        let within = sample.iter().filter(|row| squared_distance(tried[i].0, row) <= reach).count();
        shares += within as f64 / sample.len() as f64;
    });
    shares / tried.len() as f64
}
