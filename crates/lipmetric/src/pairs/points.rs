use crate::linalg::twofold::Twofolds;
use crate::{Matrix, linalg};
use std::ops::Deref;

/// Points, a row each; where rows are much nearer to each other than to the origin, also what rounding has cut off of them, so
/// that differences keep all their digits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Points {
    x: Matrix,
    rest: Option<Matrix>,
}

impl From<Matrix> for Points {
    fn from(x: Matrix) -> Self {
        Self { x, rest: None }
    }
}

impl Deref for Points {
    type Target = Matrix;

    fn deref(&self) -> &Matrix {
        &self.x
    }
}

impl Points {
    /// Numbers of twice the usual precision, row by row.
    pub(crate) fn twofold(values: Twofolds, cols: usize) -> Self {
        let rows = values.hi.len() / cols.max(1);
        let matrix = |v: Vec<f64>| Matrix::from_vec(rows, cols, v).unwrap_or_default();
        Self { x: matrix(values.hi), rest: Some(matrix(values.lo)) }
    }

    /// Whether more than the usual digits are known.
    pub(crate) fn is_twofold(&self) -> bool {
        self.rest.is_some()
    }

    /// The points `F^T x`, with as many digits as these have.
    pub(crate) fn mapped(&self, f: &Matrix) -> Self {
        match &self.rest {
            None => linalg::product(&self.x, f).into(),
            Some(_) => Self::twofold(self.mapped_twofold(f), f.cols()),
        }
    }

    /// The same in twice the usual precision.
    pub(crate) fn mapped_twofold(&self, f: &Matrix) -> Twofolds {
        Twofolds::product_of(&self.x, self.rest.as_ref(), f)
    }

    /// Some of the points.
    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        Self { x: self.x.select_rows(rows), rest: self.rest.as_ref().map(|r| r.select_rows(rows)) }
    }
}

/// What has differences of rows.
pub(crate) trait Differences {
    fn side(&self) -> usize;

    /// Writes `x_i - x_j`.
    fn difference(&self, i: usize, j: usize, out: &mut [f64]);
}

impl Differences for Matrix {
    fn side(&self) -> usize {
        self.cols()
    }

    #[inline]
    fn difference(&self, i: usize, j: usize, out: &mut [f64]) {
        for ((d, a), b) in out.iter_mut().zip(self.row(i)).zip(self.row(j)) {
            *d = a - b;
        }
    }
}

impl Differences for Points {
    fn side(&self) -> usize {
        self.x.cols()
    }

    #[inline]
    fn difference(&self, i: usize, j: usize, out: &mut [f64]) {
        self.x.difference(i, j, out);
        if let Some(rest) = &self.rest {
            for ((d, a), b) in out.iter_mut().zip(rest.row(i)).zip(rest.row(j)) {
                *d += a - b;
            }
        }
    }
}
