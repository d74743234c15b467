//! Rows as Python has them: a two-dimensional array of numbers, or a list of named columns.

use crate::failure::raise;
use lipmetric::data::{Column, Table, Texts, Values};
use lipmetric::model::TrainingRows;
use lipmetric::prepare::{ColumnRef, Dataset, Fill, Kind, Preparation, Roles, Scaling, Unseen};
use lipmetric::{Labels, Matrix};
use numpy::ndarray::{ArrayView2, s};
use numpy::{Element, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::ops::Range;

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
    table(&x.as_array(), 0..x.as_array().ncols(), 0..x.as_array().nrows(), number)
}

/// Some columns and rows of an array.
fn table<T: Copy>(
    x: &ArrayView2<'_, T>,
    columns: Range<usize>,
    rows: Range<usize>,
    number: impl Fn(T) -> f64,
) -> Table {
    let column = |j: usize| {
        let values = x.column(j).slice_move(s![rows.clone()]).iter().map(|v| number(*v)).collect();
        Column::numbers(format!("x{}", j + 1), values)
    };
    let mut table = Table::new("X", columns.map(column).collect());
    table.named = false;
    table
}

/// Rows to learn from. An array stays where it is: columns are read one at a time and rows some at a time, so that the prepared rows
/// are the only copy.
pub(crate) enum Given<'py> {
    Double(PyReadonlyArray2<'py, f64>),
    Single(PyReadonlyArray2<'py, f32>),
    Columns(Frame),
}

impl<'py> FromPyObject<'_, 'py> for Given<'py> {
    type Error = PyErr;

    fn extract(rows: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(x) = rows.extract() {
            return Ok(Self::Double(x));
        }
        if let Ok(x) = rows.extract() {
            return Ok(Self::Single(x));
        }
        rows.extract().map(Self::Columns)
    }
}

/// Cells that are prepared at a time.
const CELLS: usize = 1 << 18;

impl Given<'_> {
    pub(crate) fn shape(&self) -> (usize, usize) {
        match self {
            Self::Double(x) => x.as_array().dim(),
            Self::Single(x) => x.as_array().dim(),
            Self::Columns(frame) => (frame.table.rows(), frame.table.columns.len()),
        }
    }

    /// Some of an array's columns and rows.
    fn part(&self, columns: Range<usize>, rows: Range<usize>) -> Table {
        match self {
            Self::Double(x) => table(&x.as_array(), columns, rows, |v| v),
            Self::Single(x) => table(&x.as_array(), columns, rows, f64::from),
            Self::Columns(frame) => frame.table.clone(),
        }
    }

    /// The preparation of these rows, and the rows as it makes them.
    pub(crate) fn prepared(
        self,
        label: &str,
        labels: Labels,
        (fill, scaling): (Fill, Scaling),
    ) -> PyResult<(Preparation, TrainingRows)> {
        let (rows, columns) = self.shape();
        let of = |data: &Dataset| Preparation::fit(data.schema.clone(), &data.columns, None, fill, scaling);
        if let Self::Columns(frame) = self {
            let data = frame.labelled(label, labels)?;
            let preparation = of(&data).map_err(raise)?;
            let x = preparation.apply(&data.columns).map_err(raise)?;
            return Ok((preparation, TrainingRows::new(x, data.labels)));
        }
        let one =
            |j: usize| of(&Dataset::labelled(&self.part(j..j + 1, 0..rows), label, labels.clone(), &Roles::default())?);
        let whole =
            |_| match Dataset::labelled(&self.part(0..columns, 0..rows), label, labels.clone(), &Roles::default()) {
                // Everything that is wrong at once.
                Err(error) => error,
                Ok(data) => of(&data).err().unwrap_or_else(|| lipmetric::Error::data("the columns cannot be prepared")),
            };
        let parts: lipmetric::Result<Vec<_>> = (0..columns).map(one).collect();
        let preparation = parts.and_then(Preparation::beside).map_err(whole).map_err(raise)?;
        let mut x = Matrix::zeros(rows, preparation.width());
        let step = (CELLS / columns.max(1)).max(1);
        for from in (0..rows).step_by(step) {
            let to = (from + step).min(rows);
            let some = preparation.read(&self.part(0..columns, from..to), Unseen::Error).map_err(raise)?;
            (from..to).for_each(|i| x.row_mut(i).copy_from_slice(some.row(i - from)));
        }
        Ok((preparation, TrainingRows::new(x, labels)))
    }
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

/// Labels by their classes' names and a code per row, or the numbers that are to be predicted.
pub(crate) struct Coded(pub(crate) Labels);

impl<'py> FromPyObject<'_, 'py> for Coded {
    type Error = PyErr;

    fn extract(labels: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(numbers) = labels.extract::<PyReadonlyArray1<'py, f64>>() {
            return Labels::from_numbers(numbers.as_array().to_vec()).map(Self).map_err(raise);
        }
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
