//! A dense row-major matrix of `f64`: rows are instances, columns are features.

use super::MatrixRef;
use crate::Result;

/// A dense row-major matrix. The crate's public functions take and return this plain type, so that no
/// particular linear-algebra crate (or version of one) is imposed on callers.
///
/// ```
/// let x = lipmetric::Matrix::from_rows(&[[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!(x.row(1), &[3.0, 4.0]);
/// assert_eq!((x.rows(), x.cols()), (2, 2));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matrix {
    data: Vec<f64>,
    rows: usize,
    cols: usize,
}

impl Matrix {
    /// A matrix over `data`, which holds the rows one after another.
    ///
    /// # Errors
    /// If `data` does not have `rows * cols` elements.
    pub fn from_vec(rows: usize, cols: usize, data: Vec<f64>) -> Result<Self> {
        MatrixRef::new(rows, cols, &data)?;
        Ok(Self { data, rows, cols })
    }

    /// A matrix from rows of a fixed length.
    #[must_use]
    pub fn from_rows<const P: usize>(rows: &[[f64; P]]) -> Self {
        Self { data: rows.concat(), rows: rows.len(), cols: P }
    }

    /// All zeros.
    #[must_use]
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { data: vec![0.0; rows * cols], rows, cols }
    }

    /// The identity of size `n`.
    #[must_use]
    pub fn identity(n: usize) -> Self {
        let mut m = Self::zeros(n, n);
        for i in 0..n {
            m.data[i * n + i] = 1.0;
        }
        m
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Row `i`.
    ///
    /// # Panics
    /// If `i` is out of range.
    #[must_use]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// Row `i`, writable.
    ///
    /// # Panics
    /// If `i` is out of range.
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// Every element, row after row.
    #[must_use]
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }

    /// Every element, row after row, writable.
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// The elements, row after row.
    #[must_use]
    pub fn into_vec(self) -> Vec<f64> {
        self.data
    }

    /// Becomes a copy of another matrix, in the memory that this one has.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.data.clone_from(&other.data);
        (self.rows, self.cols) = (other.rows, other.cols);
    }

    /// The rows with these indices, in this order (repeats allowed).
    ///
    /// # Panics
    /// If an index is out of range.
    #[must_use]
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        let mut data = Vec::with_capacity(rows.len() * self.cols);
        for &i in rows {
            data.extend_from_slice(self.row(i));
        }
        Self { data, rows: rows.len(), cols: self.cols }
    }

    /// The columns with these indices, in this order.
    pub(crate) fn select_cols(&self, cols: impl ExactSizeIterator<Item = usize> + Clone) -> Self {
        let data = (0..self.rows).flat_map(|i| cols.clone().map(move |k| self.row(i)[k])).collect();
        Self { data, rows: self.rows, cols: cols.len() }
    }

    /// The transpose.
    #[must_use]
    pub fn transpose(&self) -> Self {
        let mut t = Self::zeros(self.cols, self.rows);
        for i in 0..self.rows {
            for j in 0..self.cols {
                t.data[j * self.rows + i] = self.data[i * self.cols + j];
            }
        }
        t
    }

    /// The position of the first NaN or infinity, if there is one.
    #[must_use]
    pub fn first_non_finite(&self) -> Option<(usize, usize)> {
        let at = self.data.iter().position(|v| !v.is_finite())?;
        Some((at / self.cols, at % self.cols))
    }
}

impl std::ops::Index<(usize, usize)> for Matrix {
    type Output = f64;

    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        &self.data[i * self.cols + j]
    }
}

impl std::ops::IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        &mut self.data[i * self.cols + j]
    }
}

/// Divides a row by its length, in two steps, so that no square leaves the range of floating point; zeros stay.
pub(crate) fn to_unit(row: &mut [f64]) {
    let most = row.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    if most == 0.0 {
        return;
    }
    row.iter_mut().for_each(|v| *v /= most);
    let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
    row.iter_mut().for_each(|v| *v /= length);
}
