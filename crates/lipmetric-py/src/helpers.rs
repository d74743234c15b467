//! Passes over all pairs in other processes, which Python reaches.

use crate::failure::raise;
use crate::fit::Asked;
use crate::rows::{Coded, Frame};
use crate::run::released;
use lipmetric::helpers::{Errand, Helpers};
use lipmetric::{Error, Result};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use std::sync::atomic::{AtomicBool, Ordering};

/// The rows of a fit in another process than the one that fits, prepared as there.
#[pyclass(frozen, module = "lipmetric._lipmetric")]
pub(crate) struct Share(lipmetric::helpers::Share);

#[pymethods]
impl Share {
    /// All rows and labels of a fit, and what is asked of it.
    #[new]
    fn new(py: Python<'_>, rows: Frame, labels: Coded, asked: &str) -> PyResult<Self> {
        let asked = Asked::read(asked)?;
        let data = rows.labelled(&asked.label, labels.0)?;
        let preparation = asked.prepare(&data)?;
        released(py, None, || lipmetric::helpers::Share::new(preparation.apply(&data.columns)?, data.labels)).map(Self)
    }

    /// Some parts of a pass; `None` where the lineage of the cloud of points is needed.
    #[pyo3(signature = (name, cloud, lineage, maps, question, parts, threads=None))]
    #[expect(clippy::too_many_arguments, reason = "called by the package alone")]
    fn answer<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        cloud: u64,
        lineage: Option<PyBackedBytes>,
        maps: PyBackedBytes,
        question: PyBackedBytes,
        parts: Vec<usize>,
        threads: Option<usize>,
    ) -> PyResult<Option<Vec<Bound<'py, PyBytes>>>> {
        let cloud = (cloud, lineage.as_deref());
        let answer = released(py, threads, || self.0.answer(name, cloud, (&maps, &question), &parts))?;
        Ok(answer.map(|parts| parts.iter().map(|part| PyBytes::new(py, part)).collect()))
    }

    fn __sizeof__(&self) -> usize {
        self.0.bytes()
    }
}

/// Other processes behind a Python object with `least_rows` and `run(name, cloud, lineage, maps, question, costs)`, which gives the
/// parts of a pass in their order. One that gives too few is not asked again.
#[derive(Debug)]
pub(crate) struct Reached {
    crew: Py<PyAny>,
    least_rows: usize,
    left: AtomicBool,
}

impl Reached {
    pub(crate) fn new(py: Python<'_>, crew: Py<PyAny>) -> PyResult<Self> {
        let least_rows = crew.getattr(py, "least_rows")?.extract(py)?;
        Ok(Self { crew, least_rows, left: AtomicBool::new(false) })
    }

    fn ask(&self, py: Python<'_>, errand: &Errand<'_>, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> PyResult<usize> {
        let bytes = |data: &[u8]| PyBytes::new(py, data).unbind();
        let letter = (bytes(errand.lineage), bytes(errand.maps), bytes(errand.question));
        let asked = (errand.name, errand.cloud, letter.0, letter.1, letter.2, errand.costs.to_vec());
        let mut taken = 0;
        for part in self.crew.bind(py).call_method1("run", asked)?.try_iter()? {
            let part: PyBackedBytes = part?.extract()?;
            take(&part).map_err(raise)?;
            taken += 1;
        }
        Ok(taken)
    }
}

impl Helpers for Reached {
    fn worthwhile(&self, points: usize) -> bool {
        points >= self.least_rows && !self.left.load(Ordering::SeqCst)
    }

    fn run(&self, errand: &Errand<'_>, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let told = match Python::attach(|py| self.ask(py, errand, take).map_err(|e| e.to_string())) {
            Ok(taken) if taken == errand.costs.len() => return Ok(()),
            Ok(taken) => format!("{taken} of {} parts came", errand.costs.len()),
            Err(told) => told,
        };
        self.left.store(true, Ordering::SeqCst);
        Err(Error::data(told))
    }
}
