//! Neighbours without a model: an index over rows as they are, and the vote of neighbours that several indexes have found.

use crate::failure::raise;
use crate::rows::Numbers;
use crate::run::released;
use lipmetric::classify::{Weights, vote};
use lipmetric::neighbours::NeighbourIndex;
use lipmetric::{Error, Matrix};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Rows to search for nearest neighbours in.
#[pyclass(frozen, module = "lipmetric._lipmetric")]
pub(crate) struct Index(NeighbourIndex);

#[pymethods]
impl Index {
    #[new]
    fn new(rows: Numbers) -> PyResult<Self> {
        NeighbourIndex::new(rows.0).map(Self).map_err(raise)
    }

    /// The numbers of the `k` nearest rows of each row, nearest first, and the squares of their distances.
    #[pyo3(signature = (rows, k, threads=None))]
    #[expect(clippy::type_complexity, reason = "two arrays")]
    fn query<'py>(
        &self,
        py: Python<'py>,
        rows: Numbers,
        k: usize,
        threads: Option<usize>,
    ) -> PyResult<(Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f64>>)> {
        let found = released(py, threads, || self.0.query(&rows.0, k))?;
        let shape = [found.len(), k];
        let near = (0..found.len()).flat_map(|i| found.indices(i).iter().map(|&row| row as i64)).collect();
        let squared = (0..found.len()).flat_map(|i| found.squared_distances(i).iter().copied()).collect();
        Ok((PyArray1::from_vec(py, near).reshape(shape)?, PyArray1::from_vec(py, squared).reshape(shape)?))
    }
}

/// The class that the neighbours of each query vote for, and each class's share of the votes. A row for each query, its
/// neighbours nearest first: the codes of their classes, and the squares of their distances.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "two arrays")]
pub(crate) fn votes<'py>(
    py: Python<'py>,
    codes: PyReadonlyArray2<'py, u32>,
    squared: PyReadonlyArray2<'py, f64>,
    classes: usize,
    weights: &str,
) -> PyResult<(Bound<'py, PyArray1<u32>>, Bound<'py, PyArray2<f64>>)> {
    let weights = match weights {
        "uniform" => Weights::Uniform,
        "distance" => Weights::Distance,
        _ => return Err(PyValueError::new_err(format!("`weights`: `{weights}` is not one of uniform, distance"))),
    };
    if codes.shape() != squared.shape() {
        return Err(raise(Error::shape("distances of the neighbours", codes.len(), squared.len())));
    }
    let k = codes.shape()[1];
    let (codes, squared) = (codes.as_array().iter().copied().collect::<Vec<_>>(), squared.as_array());
    let squared = Matrix::from_vec(squared.nrows(), k, squared.iter().copied().collect()).map_err(raise)?;
    let (winners, shares) = vote(&codes, &squared, classes, weights).map_err(raise)?;
    Ok((PyArray1::from_vec(py, winners), crate::plain::array(py, shares)?))
}
