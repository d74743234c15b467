//! The Lipschitz toolbox on arrays: a sample `x`, under the metric of a factor `L` or Euclid's.

use crate::failure::raise;
use crate::plain::plain;
use crate::rows::{Coded, Numbers};
use crate::run::released;
use lipmetric::lipschitz::values::{self, ValueOptions};
use lipmetric::lipschitz::{
    Extension, Mahalanobis, Margins, Report, ReportOptions, SquaredMahalanobis, certified_radii,
};
use lipmetric::{Matrix, Metric, Result};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub(crate) fn metric(x: &Matrix, factor: Option<Numbers>) -> PyResult<Metric> {
    factor.map_or_else(|| Ok(Metric::euclidean(x.cols())), |factor| Metric::new(factor.0).map_err(raise))
}

/// Margin, diameters and their ratios.
#[pyfunction]
#[pyo3(signature = (x, labels, factor=None))]
pub(crate) fn margins<'py>(
    py: Python<'py>,
    x: Numbers,
    labels: Coded,
    factor: Option<Numbers>,
) -> PyResult<Bound<'py, PyAny>> {
    let metric = metric(&x.0, factor)?;
    plain(py, &released(py, None, || Margins::new(&Mahalanobis::new(&metric, &x.0)?, &labels.0))?)
}

/// Everything at once: margins, local ratios, the doubling dimension, learning bounds, the trade-off.
#[pyfunction]
#[pyo3(signature = (x, labels, factor=None, delta=None, max_drop=None))]
pub(crate) fn report<'py>(
    py: Python<'py>,
    x: Numbers,
    labels: Coded,
    factor: Option<Numbers>,
    delta: Option<f64>,
    max_drop: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let metric = metric(&x.0, factor)?;
    let usual = ReportOptions::default();
    let options =
        ReportOptions { delta: delta.unwrap_or(usual.delta), max_drop: max_drop.unwrap_or(usual.max_drop), ..usual };
    plain(py, &released(py, None, || Report::new(&Mahalanobis::new(&metric, &x.0)?, &labels.0, &options))?)
}

/// The Lipschitz extension of values on the sample to new rows, and its constant.
#[pyfunction]
#[pyo3(signature = (x, values, queries, factor=None, constant=None, alpha=0.5))]
pub(crate) fn extend<'py>(
    py: Python<'py>,
    x: Numbers,
    values: Vec<f64>,
    queries: Numbers,
    factor: Option<Numbers>,
    constant: Option<f64>,
    alpha: f64,
) -> PyResult<(Bound<'py, PyArray1<f64>>, f64)> {
    let metric = metric(&x.0, factor)?;
    let (extended, constant) = released(py, None, || -> Result<_> {
        let sample = Mahalanobis::new(&metric, &x.0)?;
        let extension = Extension::new(&sample, &values)?;
        let extension = match constant {
            Some(constant) => extension.with_constant(constant)?,
            None => extension,
        };
        let constant = extension.constant();
        Ok((extension.values(&sample.to(&queries.0)?, alpha)?, constant))
    })?;
    Ok((PyArray1::from_vec(py, extended), constant))
}

/// The cheapest values of the rows for their own class at a Lipschitz constant (of squared distances), with their certificate.
#[pyfunction]
#[pyo3(signature = (x, labels, constant, factor=None))]
pub(crate) fn learned_values<'py>(
    py: Python<'py>,
    x: Numbers,
    labels: Coded,
    constant: f64,
    factor: Option<Numbers>,
) -> PyResult<Bound<'py, PyAny>> {
    let metric = metric(&x.0, factor)?;
    let options = ValueOptions { constant, ..ValueOptions::default() };
    let learned =
        released(py, None, || values::learned_values(&SquaredMahalanobis::new(&metric, &x.0)?, &labels.0, &options))?;
    plain(py, &learned)
}

/// The class of the nearest row for each query, and the radius within which it cannot change.
#[pyfunction]
#[pyo3(signature = (x, labels, queries, factor=None))]
pub(crate) fn radii<'py>(
    py: Python<'py>,
    x: Numbers,
    labels: Coded,
    queries: Numbers,
    factor: Option<Numbers>,
) -> PyResult<Bound<'py, PyDict>> {
    let metric = metric(&x.0, factor)?;
    let certified =
        released(py, None, || certified_radii(&Mahalanobis::new(&metric, &x.0)?.to(&queries.0)?, &labels.0))?;
    let out = PyDict::new(py);
    out.set_item("code", PyArray1::from_vec(py, certified.iter().map(|c| c.code).collect()))?;
    out.set_item("radius", PyArray1::from_vec(py, certified.iter().map(|c| c.radius).collect()))?;
    Ok(out)
}
