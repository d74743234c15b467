//! The Lipschitz toolbox on arrays: a sample `x`, under the metric of a factor `L` or Euclid's.

use crate::failure::raise;
use crate::plain::plain;
use crate::rows::{Coded, Numbers};
use crate::run::released;
use lipmetric::lipschitz::values::{self, ValueOptions};
use lipmetric::lipschitz::{
    Extension, Mahalanobis, Margins, Report, ReportOptions, SquaredMahalanobis, certified_radii,
};
use lipmetric::{Labels, Matrix, Metric, Result};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

fn metric(x: &Matrix, factor: Option<Numbers>) -> PyResult<Metric> {
    factor.map_or_else(|| Ok(Metric::euclidean(x.cols())), |factor| Metric::new(factor.0).map_err(raise))
}

/// Labelled rows and the distance between them: `(x, labels, factor)`, the Euclidean distance where the factor is `None`.
pub(crate) struct Sample {
    pub(crate) x: Matrix,
    pub(crate) labels: Labels,
    pub(crate) metric: Metric,
}

impl<'py> FromPyObject<'_, 'py> for Sample {
    type Error = PyErr;

    fn extract(sample: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (x, labels, factor): (Numbers, Coded, Option<Numbers>) = sample.extract()?;
        let metric = metric(&x.0, factor)?;
        Ok(Self { x: x.0, labels: labels.0, metric })
    }
}

impl Sample {
    fn distances(&self) -> Result<Mahalanobis> {
        Mahalanobis::new(&self.metric, &self.x)
    }
}

/// Margin, diameters and their ratios.
#[pyfunction]
pub(crate) fn margins(py: Python<'_>, sample: Sample) -> PyResult<Bound<'_, PyAny>> {
    plain(py, &released(py, None, || Margins::new(&sample.distances()?, &sample.labels))?)
}

/// Everything at once: margins, local ratios, the doubling dimension, learning bounds, the trade-off.
#[pyfunction]
#[pyo3(signature = (sample, delta=None, max_drop=None))]
pub(crate) fn report(
    py: Python<'_>,
    sample: Sample,
    delta: Option<f64>,
    max_drop: Option<usize>,
) -> PyResult<Bound<'_, PyAny>> {
    let usual = ReportOptions::default();
    let options =
        ReportOptions { delta: delta.unwrap_or(usual.delta), max_drop: max_drop.unwrap_or(usual.max_drop), ..usual };
    plain(py, &released(py, None, || Report::new(&sample.distances()?, &sample.labels, &options))?)
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
pub(crate) fn learned_values(py: Python<'_>, sample: Sample, constant: f64) -> PyResult<Bound<'_, PyAny>> {
    let options = ValueOptions { constant, ..ValueOptions::default() };
    let learned = released(py, None, || {
        let distances = SquaredMahalanobis::new(&sample.metric, &sample.x)?;
        values::learned_values(&distances, &sample.labels, &options)
    })?;
    plain(py, &learned)
}

/// The class of the nearest row for each query, and the radius within which it cannot change.
#[pyfunction]
pub(crate) fn radii(py: Python<'_>, sample: Sample, queries: Numbers) -> PyResult<Bound<'_, PyDict>> {
    let certified = released(py, None, || certified_radii(&sample.distances()?.to(&queries.0)?, &sample.labels))?;
    let out = PyDict::new(py);
    out.set_item("code", PyArray1::from_vec(py, certified.iter().map(|c| c.code).collect()))?;
    out.set_item("radius", PyArray1::from_vec(py, certified.iter().map(|c| c.radius).collect()))?;
    Ok(out)
}
