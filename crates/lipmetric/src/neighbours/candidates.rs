//! Per-query state of a search: the rows that may still be among the `k` nearest.

use super::distance::{rounding_allowance, squared_distance};
use crate::Matrix;

/// No row is to be left out of the search.
pub(super) const NO_ROW: u32 = u32::MAX;

/// What rows are compared by in the end. What is screened is their squared distance.
pub(super) trait Measure: Sync {
    /// The rows that are screened.
    fn matrix(&self) -> &Matrix;

    /// What rows are compared by.
    #[inline(always)]
    fn value(&self, row: u32, query: &[f64]) -> f64 {
        squared_distance(query, self.matrix().row(row as usize))
    }

    /// The largest squared distance of a row whose value may be below that of a row at the squared distance `upper`.
    #[inline(always)]
    fn reach(&self, upper: f64) -> f64 {
        upper
    }
}

/// Rows that are compared by their squared distances.
impl Measure for Matrix {
    fn matrix(&self) -> &Matrix {
        self
    }
}

/// The rows that may still be among the `k` nearest of one query.
///
/// A search offers each row with an interval that is sure to hold its squared distance. The `k`-th smallest
/// upper end is then a bound that no row of the answer can exceed, and whatever lies wholly beyond it is
/// dropped at once. Distances proper are computed only for the rows that remain.
#[derive(Debug)]
pub(super) struct Candidates {
    k: usize,
    excluded: u32,
    allowance: f64,
    /// Max-heap of the `k` smallest upper ends, one per distinct row.
    uppers: Vec<f64>,
    /// Lower end and row of those not yet measured.
    pending: Vec<(f64, u32)>,
    /// Max-heap of the rows of least value measured so far, at most `k`.
    measured: Vec<(f64, u32)>,
    capacity: usize,
}

impl Candidates {
    pub(super) fn new(k: usize, columns: usize) -> Self {
        Self {
            k,
            excluded: NO_ROW,
            allowance: rounding_allowance(columns),
            uppers: Vec::with_capacity(k),
            pending: Vec::new(),
            measured: Vec::with_capacity(k),
            capacity: 256.max(4 * k),
        }
    }

    /// Forgets everything, for the next query.
    pub(super) fn reset(&mut self, excluded: u32) {
        self.excluded = excluded;
        self.uppers.clear();
        self.pending.clear();
        self.measured.clear();
    }

    /// No row of the answer has a larger squared distance than this.
    #[inline(always)]
    pub(super) fn bound(&self) -> f64 {
        if self.uppers.len() < self.k { f64::INFINITY } else { self.uppers[0] }
    }

    /// Takes a row whose squared distance lies between `lower` and `upper`. Each row may be offered once.
    #[inline]
    pub(super) fn offer<M: Measure>(&mut self, lower: f64, upper: f64, row: u32, rows: &M, query: &[f64]) {
        if lower > self.bound() || row == self.excluded {
            return;
        }
        push_bounded(&mut self.uppers, self.k, rows.reach(upper), |a, b| a > b);
        self.pending.push((lower, row));
        if self.pending.len() >= self.capacity {
            self.compact(rows, query);
        }
    }

    /// Takes a row by its distance proper.
    #[inline]
    pub(super) fn offer_measured<M: Measure>(&mut self, row: u32, rows: &M, query: &[f64]) {
        if row == self.excluded {
            return;
        }
        let squared = squared_distance(query, rows.matrix().row(row as usize));
        push_bounded(&mut self.uppers, self.k, rows.reach(squared * self.allowance), |a, b| a > b);
        push_bounded(&mut self.measured, self.k, (rows.value(row, query), row), farther);
    }

    /// Drops what the bound has overtaken. If ties leave too many all the same, measures them: memory stays
    /// within a multiple of `k`.
    #[cold]
    #[inline(never)]
    fn compact<M: Measure>(&mut self, rows: &M, query: &[f64]) {
        let bound = self.bound();
        self.pending.retain(|&(lower, _)| lower <= bound);
        if 2 * self.pending.len() > self.capacity {
            self.measure(rows, query);
        }
    }

    fn measure<M: Measure>(&mut self, rows: &M, query: &[f64]) {
        let bound = self.bound();
        for &(lower, row) in &self.pending {
            if lower <= bound {
                push_bounded(&mut self.measured, self.k, (rows.value(row, query), row), farther);
            }
        }
        self.pending.clear();
    }

    /// The answer: value and row, the least first, the lower row first among equals.
    pub(super) fn finish<M: Measure>(&mut self, rows: &M, query: &[f64]) -> &[(f64, u32)] {
        self.measure(rows, query);
        self.measured.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        &self.measured
    }
}

/// Whether `a` comes after `b` in the answer.
#[inline(always)]
fn farther(a: &(f64, u32), b: &(f64, u32)) -> bool {
    a.0 > b.0 || (a.0 == b.0 && a.1 > b.1)
}

/// Keeps the `limit` smallest items in a max-heap.
#[inline]
fn push_bounded<T: Copy>(heap: &mut Vec<T>, limit: usize, item: T, greater: impl Fn(&T, &T) -> bool) {
    if heap.len() < limit {
        heap.push(item);
        let mut at = heap.len() - 1;
        while at > 0 {
            let parent = (at - 1) / 2;
            if !greater(&heap[at], &heap[parent]) {
                break;
            }
            heap.swap(at, parent);
            at = parent;
        }
    } else if greater(&heap[0], &item) {
        heap[0] = item;
        let mut at = 0;
        loop {
            let mut child = 2 * at + 1;
            if child >= heap.len() {
                break;
            }
            if child + 1 < heap.len() && greater(&heap[child + 1], &heap[child]) {
                child += 1;
            }
            if !greater(&heap[child], &heap[at]) {
                break;
            }
            heap.swap(at, child);
            at = child;
        }
    }
}
