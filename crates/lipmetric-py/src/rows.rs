//! Rows as Python has them: a two-dimensional array of numbers, or a list of named columns.

use crate::failure::raise;
use lipmetric::data::{Column, Table, Texts, Values};
use lipmetric::prepare::{ColumnRef, Dataset, Kind, Roles};
use lipmetric::{Labels, Matrix};
use numpy::{Element, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// A table of an array of any order, or of `(name, values, kind)` tuples. Values are an array of numbers, NaN where one is
/// missing, or a list of texts, `None` where one is missing; the kind is `None` where the content decides it.
pub(crate) struct Frame {
    pub(crate) table: Table,
    kinds: Vec<(ColumnRef, Kind)>,
}

impl<'py> FromPyObject<'_, 'py> for Frame {
    type Error = PyErr;

    fn extract(rows: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(x) = rows.extract::<PyReadonlyArray2<'py, f64>>() {
            return Ok(Self { table: numbers(&x, |v| v), kinds: Vec::new() });
        }
        if let Ok(x) = rows.extract::<PyReadonlyArray2<'py, f32>>() {
            return Ok(Self { table: numbers(&x, f64::from), kinds: Vec::new() });
        }
        let (mut columns, mut kinds) = (Vec::new(), Vec::new());
        for column in rows.try_iter()? {
            let (name, values, kind): (String, Bound<'py, PyAny>, Option<String>) = column?.extract()?;
            if let Some(kind) = kind {
                kinds.push((ColumnRef::new(name.as_str()), kind.parse().map_err(raise)?));
            }
            columns.push(Column { name, values: cells(&values)? });
        }
        Ok(Self { table: Table::new("the table", columns), kinds })
    }
}

/// The columns of an array, whatever its order: one copy.
fn numbers<T: Element + Copy>(x: &PyReadonlyArray2<'_, T>, number: impl Fn(T) -> f64) -> Table {
    let x = x.as_array();
    let column = |(j, values): (usize, numpy::ndarray::ArrayView1<'_, T>)| {
        Column::numbers(format!("x{}", j + 1), values.iter().map(|v| number(*v)).collect())
    };
    let mut table = Table::new("X", x.columns().into_iter().enumerate().map(column).collect());
    table.named = false;
    table
}

fn cells(values: &Bound<'_, PyAny>) -> PyResult<Values> {
    if let Ok(values) = values.extract::<PyReadonlyArray1<'_, f64>>() {
        return Ok(Values::Number(values.as_array().to_vec()));
    }
    let mut texts = Texts::new();
    for cell in values.try_iter()? {
        let cell: Option<String> = cell?.extract()?;
        texts.push(cell.as_deref().unwrap_or_default());
    }
    Ok(Values::Text(texts))
}

impl Frame {
    /// The frame with labels: the codes of rows and the names of the classes.
    pub(crate) fn labelled(self, label: &str, labels: Labels) -> PyResult<Dataset> {
        let roles = Roles { kinds: self.kinds, ..Roles::default() };
        Dataset::labelled(&self.table, label, labels, &roles).map_err(raise)
    }
}

/// Labels by their classes' names and a code per row.
pub(crate) struct Coded(pub(crate) Labels);

impl<'py> FromPyObject<'_, 'py> for Coded {
    type Error = PyErr;

    fn extract(labels: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (classes, codes): (Vec<String>, PyReadonlyArray1<'py, u32>) = labels.extract()?;
        Labels::from_codes(classes, codes.as_array().to_vec()).map(Self).map_err(raise)
    }
}

/// A matrix of numbers as they are, nothing prepared.
pub(crate) struct Numbers(pub(crate) Matrix);

impl<'py> FromPyObject<'_, 'py> for Numbers {
    type Error = PyErr;

    fn extract(rows: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let x = rows
            .extract::<PyReadonlyArray2<'py, f64>>()
            .map_err(|_| PyTypeError::new_err("a two-dimensional array of 64-bit numbers is wanted"))?;
        let x = x.as_array();
        Matrix::from_vec(x.nrows(), x.ncols(), x.iter().copied().collect()).map(Self).map_err(raise)
    }
}
