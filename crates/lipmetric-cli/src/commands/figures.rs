//! The figures of a fit, as `--json` prints them, whatever it was learned from; and where its text goes.

use crate::failure::Result;
use crate::method::options::{self, Given};
use crate::output;
use crate::resources;
use crate::session::Session;
use lipmetric::method::{Method as _, Spec};
use lipmetric::solver::Status;
use lipmetric::{Model, Task};
use lipmetric_io::Target;
use serde::Serialize;
use std::path::Path;

/// What every fit has.
#[derive(Serialize)]
pub(super) struct Figures<'a> {
    pub(super) status: Status,
    method: &'a str,
    /// As the fit had them.
    parameters: Given,
    /// As it was asked for: `fit --spec` does the same again.
    spec: &'a Spec,
    pub(super) n: usize,
    pub(super) p: usize,
    task: Task,
    feature_names: Vec<String>,
    c: Option<f64>,
    c_max: Option<f64>,
    objective: Option<f64>,
    dual: Option<f64>,
    gap: Option<f64>,
    iterations: usize,
    rank: usize,
    notes: Vec<String>,
    pub(super) seconds: f64,
    cpu_seconds: Option<f64>,
    peak_memory_bytes: Option<u64>,
    pub(super) model: Option<String>,
}

impl<'a> Figures<'a> {
    /// Of a model, of the seconds that it took (and those of processors), and of where it was written.
    pub(super) fn of(model: &'a Model, (seconds, cpu_seconds): (f64, Option<f64>), kept: Option<&Path>) -> Self {
        let outcome = &model.outcome;
        Self {
            status: outcome.status,
            method: model.spec.name(),
            parameters: options::parameters(&model.used),
            spec: &model.spec,
            n: model.class_counts.iter().sum(),
            p: model.metric.features(),
            task: model.task,
            feature_names: model.preparation.feature_names(),
            c: outcome.c,
            c_max: outcome.c_max,
            objective: outcome.objective,
            dual: outcome.dual,
            gap: outcome.gap,
            iterations: outcome.iterations,
            rank: model.metric.rank(),
            notes: options::notes(outcome),
            seconds,
            cpu_seconds,
            peak_memory_bytes: resources::peak_memory_bytes(),
            model: kept.map(named),
        }
    }
}

/// What a person calls the place of a model.
pub(super) fn named(path: &Path) -> String {
    match Target::new(path) {
        Target::Stdout => "standard output".to_owned(),
        _ => path.display().to_string(),
    }
}

/// Prints what was fitted; beside the model, where that takes standard output.
pub(super) fn print(text: &str, kept: Option<&Path>, session: &Session) -> Result {
    if kept.is_some_and(|path| Target::new(path) == Target::Stdout) {
        session.note(text.trim_end());
        return Ok(());
    }
    output::print(text)
}
