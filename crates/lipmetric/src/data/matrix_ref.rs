use super::Matrix;
use crate::{Error, Result};

/// A row-major matrix that belongs to someone else: a view that costs nothing to make and to copy.
///
/// ```
/// use lipmetric::data::MatrixRef;
/// let x = MatrixRef::new(2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// assert_eq!(x.row(1), [4.0, 5.0, 6.0]);
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MatrixRef<'a> {
    data: &'a [f64],
    rows: usize,
    cols: usize,
}

impl<'a> MatrixRef<'a> {
    /// A view of `data`, which holds the rows one after another.
    ///
    /// # Errors
    /// If `data` does not have `rows * cols` elements.
    pub fn new(rows: usize, cols: usize, data: &'a [f64]) -> Result<Self> {
        if rows.checked_mul(cols) != Some(data.len()) {
            return Err(Error::shape(
                format!("elements of a {rows} x {cols} matrix"),
                rows.saturating_mul(cols),
                data.len(),
            ));
        }
        Ok(Self { data, rows, cols })
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
    pub fn row(&self, i: usize) -> &'a [f64] {
        &self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// Every element, row after row.
    #[must_use]
    pub fn as_slice(&self) -> &'a [f64] {
        self.data
    }
}

impl<'a> From<&'a Matrix> for MatrixRef<'a> {
    fn from(matrix: &'a Matrix) -> Self {
        Self { data: matrix.as_slice(), rows: matrix.rows(), cols: matrix.cols() }
    }
}
