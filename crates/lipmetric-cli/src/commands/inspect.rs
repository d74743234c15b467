use super::fit::{describe_outcome, describe_preparation};
use super::margins::{self, ReportArgs};
use super::suspects::Suspects;
use crate::failure::{Failure, Result};
use crate::method::options::{self, Given};
use crate::output::{self, Align, TextTable, short};
use lipmetric::Model;
use lipmetric::method::{Method, Outcome, Spec};
use lipmetric::model::Classifier;
use lipmetric::prepare::Preparation;
use lipmetric_io::model::{StoredModel, load_model};
use serde::Serialize;
use std::path::PathBuf;

/// Show everything that a model file holds
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lipmetric fit --data haberman --model haberman.lip
  lipmetric inspect haberman.lip
  lipmetric inspect haberman.lip --lipschitz
  lipmetric inspect haberman.lip --spec
  lipmetric inspect haberman.lip --json")]
pub(crate) struct Args {
    /// The model
    model: PathBuf,
    /// Also measure margins, ratios and bounds of the training rows, as `lipmetric margins` does
    #[arg(long)]
    lipschitz: bool,
    /// Print only the method and its parameters, as JSON for `lipmetric fit --spec`
    #[arg(long, conflicts_with_all = ["lipschitz", "json"])]
    spec: bool,
    /// List at most this many rows that the learned function relabels, and as many that it bends; 0 lists all
    #[arg(long, value_name = "N", default_value_t = 10)]
    rows: usize,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    format_version: u32,
    program_version: &'a str,
    checksum: &'a str,
    method: &'a str,
    /// As the fit had them.
    parameters: Given,
    spec: &'a Spec,
    outcome: &'a Outcome,
    classifier: &'a Classifier,
    #[serde(skip_serializing_if = "Option::is_none")]
    suspects: Option<Suspects>,
    n: Option<usize>,
    p: usize,
    rank: usize,
    classes: &'a [String],
    class_counts: &'a [usize],
    feature_names: Vec<String>,
    /// Eigenvalues of M = L^T L.
    spectrum: Vec<f64>,
    /// The factor L, row by row.
    factor: Vec<&'a [f64]>,
    preparation: &'a Preparation,
    #[serde(skip_serializing_if = "Option::is_none")]
    lipschitz: Option<lipmetric::lipschitz::Report>,
}

pub(crate) fn run(args: &Args) -> Result {
    let stored = load_model(&args.model)?;
    if args.spec {
        return output::print_json(&stored.model.spec);
    }
    let spectrum = stored.model.metric.spectrum()?;
    let lipschitz = if args.lipschitz { Some(measure(&stored.model)?) } else { None };
    if args.json {
        return output::print_json(&Report { lipschitz, ..report(&stored, spectrum) });
    }
    let mut text = describe(args, &stored, &spectrum);
    if let Some(measured) = &lipschitz {
        text += "\ntraining rows under the learned distance\n\n";
        text += &margins::describe(measured, &|i| format!("row {}", i + 1));
    }
    output::print(&text)
}

fn measure(model: &Model) -> Result<lipmetric::lipschitz::Report> {
    let Some(rows) = &model.training else {
        return Err(Failure::Data(
            "the model was stored without its training rows: there is nothing to measure".to_owned(),
        ));
    };
    margins::measure(&model.metric, &rows.x, &rows.y, &ReportArgs::default())
}

fn report(stored: &StoredModel, spectrum: Vec<f64>) -> Report<'_> {
    let model = &stored.model;
    Report {
        format_version: stored.format_version,
        program_version: &stored.program_version,
        checksum: &stored.checksum,
        method: model.spec.name(),
        parameters: options::parameters(&model.used),
        spec: &model.spec,
        outcome: &model.outcome,
        classifier: &model.classifier,
        suspects: model.training.as_ref().and_then(Suspects::of),
        n: model.training.as_ref().map(|t| t.x.rows()),
        p: model.metric.features(),
        rank: model.metric.rank(),
        classes: &model.classes,
        class_counts: &model.class_counts,
        feature_names: model.preparation.feature_names(),
        spectrum,
        factor: (0..model.metric.rank()).map(|i| model.metric.factor().row(i)).collect(),
        preparation: &model.preparation,
        lipschitz: None,
    }
}

fn describe(args: &Args, stored: &StoredModel, spectrum: &[f64]) -> String {
    let model = &stored.model;
    let mut text = format!(
        "{}: model of lipmetric {} (format {})\n\n",
        args.model.display(),
        stored.program_version,
        stored.format_version
    );
    text += &describe_outcome(model);
    text += "\n";
    let mut classes = TextTable::new(vec![Align::Left, Align::Right]);
    classes.row(["class", "training rows"]);
    for (class, count) in model.classes.iter().zip(&model.class_counts) {
        classes.row([class.clone(), count.to_string()]);
    }
    text += &classes.render();
    if model.training.is_none() {
        text += "The training rows are not in the model: it can map rows but not predict.\n";
    }
    if let Some(suspects) = model.training.as_ref().and_then(Suspects::of) {
        text += "\n";
        text += &suspects.describe(&model.classes, args.rows);
    }
    text += &format!(
        "\npreparation (missing values: {}, scaling: {})\n",
        model.preparation.fill(),
        model.preparation.scaling()
    );
    text += &describe_preparation(&model.preparation);
    text += "\nweight of each feature (diagonal of M = LᵀL, on the prepared features)\n";
    let diagonal = model.metric.diagonal();
    let top = diagonal.iter().copied().fold(0.0, f64::max);
    let mut weights = TextTable::new(vec![Align::Left, Align::Right, Align::Left]);
    for (name, &value) in model.preparation.feature_names().iter().zip(&diagonal) {
        let length = if top > 0.0 { (30.0 * value / top).round() as usize } else { 0 };
        weights.row([name.clone(), short(value), "█".repeat(length)]);
    }
    text += &weights.render();
    let spectrum: Vec<String> = spectrum.iter().copied().map(short).collect();
    text += &format!("\neigenvalues of M: {}\n", spectrum.join(", "));
    text += &format!("checksum: {}\n", stored.checksum);
    text
}
