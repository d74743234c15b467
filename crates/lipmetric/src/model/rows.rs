use crate::data::{MatrixRef, Table};
use crate::prepare::{Preparation, Unseen};
use crate::{Matrix, Result};
use std::borrow::Cow;

/// Rows to ask a [`Model`](super::Model) about.
///
/// A [`Table`] is lined up with the columns that the model was fitted on: by name, or by position where one of the two has
/// no names; the label's column may be there or not. A [`Matrix`] (or a [`MatrixRef`]) is a table of numbers without
/// names. Functions take `impl Into<Rows>`, so that `&table` and `&matrix` will do.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Rows<'a> {
    /// Raw columns, and what becomes of a category's level that training did not have.
    Table(&'a Table, Unseen),
    /// Raw numbers.
    Matrix(MatrixRef<'a>),
    /// Rows that the model's own preparation has already been applied to.
    Prepared(&'a Matrix),
}

impl<'a> From<&'a Table> for Rows<'a> {
    /// A level that training did not have is refused.
    fn from(table: &'a Table) -> Self {
        Self::Table(table, Unseen::Error)
    }
}

impl<'a> From<&'a Matrix> for Rows<'a> {
    fn from(matrix: &'a Matrix) -> Self {
        Self::Matrix(matrix.into())
    }
}

impl<'a> From<MatrixRef<'a>> for Rows<'a> {
    fn from(matrix: MatrixRef<'a>) -> Self {
        Self::Matrix(matrix)
    }
}

impl<'a> Rows<'a> {
    /// The rows, prepared.
    pub(super) fn prepared(self, preparation: &Preparation) -> Result<Cow<'a, Matrix>> {
        Ok(match self {
            Self::Table(table, unseen) => Cow::Owned(preparation.read(table, unseen)?),
            Self::Matrix(x) => Cow::Owned(preparation.read(&Table::from_matrix(x), Unseen::Error)?),
            Self::Prepared(x) => Cow::Borrowed(x),
        })
    }
}
