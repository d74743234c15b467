//! The data sets that travel with the package.

use crate::failure::raise_io;
use lipmetric::data::{Column, Values};
use lipmetric_io::datasets::{find, list, load};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// The names of the bundled data sets.
#[pyfunction]
pub(crate) fn datasets() -> Vec<&'static str> {
    list().iter().filter(|d| d.is_bundled()).map(|d| d.name).collect()
}

/// A data set: what is known about it, and its columns, the label's last.
#[pyfunction]
pub(crate) fn dataset<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
    let known = find(name).map_err(raise_io)?;
    let table = load(name).map_err(raise_io)?;
    let out = PyDict::new(py);
    for (key, text) in [
        ("name", known.name),
        ("title", known.title),
        ("description", known.description),
        ("source", known.source),
        ("citation", known.citation),
        ("licence", known.licence),
    ] {
        out.set_item(key, text)?;
    }
    out.set_item("remarks", PyList::new(py, known.remarks)?)?;
    let columns = PyList::empty(py);
    for column in &table.columns {
        columns.append((column.name.as_str(), values(py, column)?))?;
    }
    out.set_item("columns", columns)?;
    Ok(out)
}

/// Numbers as an array; a list of texts where a cell is none, `None` where one is missing.
fn values<'py>(py: Python<'py>, column: &Column) -> PyResult<Bound<'py, PyAny>> {
    let texts = match &column.values {
        Values::Number(values) => return Ok(PyArray1::from_vec(py, values.clone()).into_any()),
        Values::Text(texts) => texts,
    };
    let number = |cell: &str| match lipmetric::data::is_missing(cell) {
        true => Some(f64::NAN),
        false => lipmetric::data::number(cell),
    };
    match texts.iter().map(number).collect::<Option<Vec<f64>>>() {
        Some(numbers) => Ok(PyArray1::from_vec(py, numbers).into_any()),
        None => {
            let cells = texts.iter().map(|cell| (!lipmetric::data::is_missing(cell)).then_some(cell));
            Ok(PyList::new(py, cells.collect::<Vec<_>>())?.into_any())
        }
    }
}
