use crate::plain::plain;
use crate::run::usual_threads;
use lipmetric::method::{Method, Spec};
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::Value;

#[derive(Serialize)]
struct Described {
    method: String,
    fields: Vec<Parameter>,
    takes_start: bool,
    takes_triplets: bool,
}

#[derive(Serialize)]
struct Parameter {
    name: &'static str,
    doc: String,
    default: Value,
}

fn describe(spec: &Spec) -> Described {
    let written = serde_json::to_value(spec).unwrap_or_default();
    let field = |f: &lipmetric::method::Field| Parameter {
        name: f.name,
        doc: f.doc.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" "),
        default: written[f.name].clone(),
    };
    Described {
        method: written["method"].as_str().unwrap_or_default().to_owned(),
        fields: spec.fields().iter().map(field).collect(),
        takes_start: spec.takes_start(),
        takes_triplets: spec.takes_triplets(),
    }
}

/// Every method: its name in a spec, its parameters with their descriptions and defaults.
#[pyfunction]
pub(crate) fn methods(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let all: Vec<Described> = Spec::all().iter().map(describe).collect();
    plain(py, &all)
}

/// The number of threads that a call takes unless it says otherwise.
#[pyfunction]
pub(crate) fn used_threads() -> usize {
    usual_threads()
}
