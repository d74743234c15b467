//! The row of least squared distance plus an offset of its own: a nearest neighbour in one more column.
//!
//! With `b` the least offset, `|z - z_i|^2 + b_i = |z - z_i|^2 + (sqrt(b_i - b))^2 + b`: rows get the column
//! `sqrt(b_i - b)`, queries a column of zeros. That finds the rows that may win; what decides is the sum itself.

use super::candidates::Measure;
use super::distance::{rounding_allowance, squared_distance};
use super::nearest::{Exclude, NeighbourIndex};
use crate::{Matrix, Result};

/// Some of a matrix's rows with an offset each, made ready for searches.
#[derive(Debug)]
pub(crate) struct OffsetIndex {
    /// The numbers of the rows, ascending.
    ids: Vec<usize>,
    offsets: Vec<f64>,
    /// The rows with the further column.
    index: NeighbourIndex,
    /// How much the rounding of the offsets can amount to in a comparison of two rows.
    rounding: f64,
}

/// The row of least `|z - z_i|^2 + b_i`, as computed in that order; of equal ones the row with the lowest number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Least {
    pub(crate) value: f64,
    pub(crate) row: usize,
}

impl Least {
    /// The lesser of two.
    pub(crate) fn min(self, other: Self) -> Self {
        if other.value < self.value || (other.value == self.value && other.row < self.row) { other } else { self }
    }
}

/// Queries as an [`OffsetIndex`] takes them: with a further column of zeros.
pub(crate) fn lifted(queries: &Matrix) -> Matrix {
    widened(queries, (0..queries.rows()).map(|i| (i, 0.0)))
}

/// Some rows of a matrix, each with a further value.
fn widened(x: &Matrix, rows: impl ExactSizeIterator<Item = (usize, f64)>) -> Matrix {
    let mut out = Matrix::zeros(rows.len(), x.cols() + 1);
    for (at, (i, value)) in rows.enumerate() {
        let (last, first) = (x.cols(), out.row_mut(at));
        first[..last].copy_from_slice(x.row(i));
        first[last] = value;
    }
    out
}

impl OffsetIndex {
    /// The rows `ids` of `x`, ascending, where `ids[k]` has the offset `offsets[k]`, a finite number.
    ///
    /// # Errors
    /// If there is no row, or a value is not finite.
    pub(crate) fn new(x: &Matrix, ids: Vec<usize>, offsets: Vec<f64>) -> Result<Self> {
        let least = offsets.iter().fold(f64::INFINITY, |m, &b| m.min(b));
        let largest = offsets.iter().fold(0.0_f64, |m, b| m.max(b.abs()));
        let rows = ids.iter().zip(&offsets).map(|(&i, b)| (i, (b - least).sqrt()));
        let index = NeighbourIndex::new(widened(x, rows))?;
        // The value of a row is off by at most 7 roundings of the largest offset, apart from what is relative to the distance.
        Ok(Self { ids, offsets, index, rounding: 16.0 * f64::EPSILON * largest })
    }

    /// For each lifted query the least row.
    pub(crate) fn least(&self, queries: &Matrix) -> Vec<Least> {
        let found = self.index.search_by(self, queries, 1, Exclude::Nothing);
        (0..found.len()).map(|q| self.told(found.indices(q)[0], found.squared_distances(q)[0])).collect()
    }

    /// For each lifted query the least row and the next. There must be two rows.
    pub(crate) fn two_least(&self, queries: &Matrix) -> Vec<[Least; 2]> {
        let found = self.index.search_by(self, queries, 2, Exclude::Nothing);
        (0..found.len())
            .map(|q| [0, 1].map(|k| self.told(found.indices(q)[k], found.squared_distances(q)[k])))
            .collect()
    }

    fn told(&self, at: usize, value: f64) -> Least {
        Least { value, row: self.ids[at] }
    }
}

impl Measure for OffsetIndex {
    fn matrix(&self) -> &Matrix {
        self.index.rows()
    }

    #[inline(always)]
    fn value(&self, row: u32, query: &[f64]) -> f64 {
        let (row, columns) = (row as usize, query.len() - 1);
        squared_distance(&query[..columns], &self.matrix().row(row)[..columns]) + self.offsets[row]
    }

    #[inline(always)]
    fn reach(&self, upper: f64) -> f64 {
        upper * rounding_allowance(self.matrix().cols() + 4) + self.rounding
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn by_hand(x: &Matrix, ids: &[usize], offsets: &[f64], query: &[f64]) -> Vec<Least> {
        let value = |(&row, b): (&usize, &f64)| Least { value: squared_distance(query, x.row(row)) + b, row };
        let mut all: Vec<Least> = ids.iter().zip(offsets).map(value).collect();
        all.sort_by(|a, b| a.value.total_cmp(&b.value).then(a.row.cmp(&b.row)));
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn the_least_row_is_that_of_all_rows(
            numbers in prop::collection::vec(-3.0_f64..3.0, 2 * 1400), p in 1_usize..4, coarse in any::<bool>(),
            size in prop::sample::select(vec![0.0, 1e-9, 1.0, 1e6, 1e15]),
            shift in prop::sample::select(vec![0.0, 1.0, -1e8, 1e17]),
        ) {
            // More than 1,024 rows and 256 queries, so that a tree is considered.
            let number = |v: &f64| if coarse { v.round() } else { *v };
            let values: Vec<f64> = numbers.iter().cycle().take(1400 * p).map(number).collect();
            let x = Matrix::from_vec(1400, p, values).unwrap();
            let ids: Vec<usize> = (0..1400).filter(|i| i % 7 != 0).collect();
            let offsets: Vec<f64> = ids.iter().map(|i| number(&numbers[i * 2 + 1]) * size + shift).collect();
            let queries: Vec<usize> = (0..1400).step_by(5).collect();
            let queries = x.select_rows(&queries);
            let index = OffsetIndex::new(&x, ids.clone(), offsets.clone()).unwrap();
            let (one, two) = (index.least(&lifted(&queries)), index.two_least(&lifted(&queries)));
            for q in 0..queries.rows() {
                let all = by_hand(&x, &ids, &offsets, queries.row(q));
                prop_assert_eq!(one[q], all[0]);
                prop_assert_eq!(two[q], [all[0], all[1]]);
            }
        }
    }
}
