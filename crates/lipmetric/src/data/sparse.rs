use super::matrix::to_unit;
use crate::{Error, Result};

/// Rows of numbers most of which are zero: of each row only the others are held, by ascending column.
///
/// ```
/// use lipmetric::data::SparseRows;
/// let mut rows = SparseRows::new();
/// rows.push([(2, 1.5), (900_000, -2.0)])?;
/// assert_eq!((rows.len(), rows.width()), (1, 900_001));
/// assert_eq!(rows.row(0), (&[2, 900_000][..], &[1.5, -2.0][..]));
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SparseRows {
    /// Where each row ends.
    ends: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    width: usize,
}

impl SparseRows {
    /// No rows.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Rows from where each ends, and the columns and values of all, one row after the other.
    ///
    /// # Errors
    /// If these do not fit together, columns do not ascend within a row, or a value is not finite.
    pub fn from_parts(ends: &[usize], columns: &[u32], values: &[f64], width: usize) -> Result<Self> {
        let mut rows = Self { width, ..Self::default() };
        let mut start = 0;
        for &end in ends {
            let cells = columns.get(start..end).zip(values.get(start..end));
            let (columns, values) = cells.ok_or_else(|| Error::data("the sparse rows do not fit together"))?;
            rows.push(columns.iter().copied().zip(values.iter().copied()))?;
            start = end;
        }
        if start != columns.len() || start != values.len() || rows.width != width {
            return Err(Error::data("the sparse rows do not fit together"));
        }
        Ok(rows)
    }

    /// Adds a row by its columns (from 0) and values; zeros are left out.
    ///
    /// # Errors
    /// If the columns do not ascend, or a value is not finite.
    pub fn push(&mut self, cells: impl IntoIterator<Item = (u32, f64)>) -> Result<()> {
        let mut last = None;
        let row = self.ends.len();
        for (column, value) in cells {
            if last >= Some(column) {
                return Err(Error::data(format!("row {row}: the columns do not ascend at column {column}")));
            }
            if !value.is_finite() {
                return Err(Error::data(format!("row {row}, column {column} is {value}: values must be finite")));
            }
            last = Some(column);
            self.width = self.width.max(column as usize + 1);
            if value != 0.0 {
                self.columns.push(column);
                self.values.push(value);
            }
        }
        self.ends.push(self.columns.len());
        Ok(())
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Number of columns.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Where each row ends among [`Self::columns`] and [`Self::values`].
    #[must_use]
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// The columns that are not zero, row after row.
    #[must_use]
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Their values.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The columns of row `i` that are not zero, and their values.
    ///
    /// # Panics
    /// If `i` is out of range.
    #[must_use]
    pub fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        (&self.columns[start..self.ends[i]], &self.values[start..self.ends[i]])
    }

    /// Bytes that these rows would take with their zeros.
    #[must_use]
    pub fn dense_bytes(&self) -> u64 {
        8_u64.saturating_mul(self.len() as u64).saturating_mul(self.width as u64)
    }

    /// The same rows, each of length 1.
    pub(crate) fn of_unit_length(&self) -> Self {
        let (mut out, mut start) = (self.clone(), 0);
        for &end in &self.ends {
            to_unit(&mut out.values[start..end]);
            start = end;
        }
        out
    }

    /// The same rows with every value divided by what its column is.
    pub(crate) fn divided(&self, by: impl Fn(u32) -> f64) -> Self {
        let values = self.columns.iter().zip(&self.values).map(|(&column, value)| value / by(column)).collect();
        Self { values, ..self.clone() }
    }
}
