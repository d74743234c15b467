use super::fit::{describe_outcome, drawn};
use super::margins::{self, ReportArgs};
use super::prepared;
use super::shared::needs_classes;
use super::sparse;
use super::suspects::Suspects;
use crate::failure::{Failure, Result};
use crate::memory;
use crate::method::options::{self, Given};
use crate::output::{self, Align, TextTable, counted, short};
use crate::outputs;
use crate::pages::{self, PageArgs};
use crate::session::Session;
use lipmetric::method::{Method, Outcome, Spec};
use lipmetric::model::{Classifier, Origin};
use lipmetric::prepare::{Encoding, Preparation};
use lipmetric::view::{History, ModelView};
use lipmetric::{Matrix, Model, Task};
use lipmetric_io::model::StoredModel;
use lipmetric_io::{Target, atomic_write};
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
  lipmetric inspect haberman.lip --report haberman.html
  lipmetric inspect haberman.lip --matrix -o M.csv
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
    /// Show the weights of at most this many features, the largest first; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 15)]
    weights: usize,
    /// Print only the matrix M = LᵀL, as CSV with the features' names
    #[arg(long, conflicts_with_all = ["lipschitz", "json", "spec"])]
    matrix: bool,
    /// Print only the factor L, as CSV with the features' names: a row maps to a coordinate of `transform`
    #[arg(long, conflicts_with_all = ["lipschitz", "json", "spec", "matrix"])]
    factor: bool,
    /// Write what would be printed to this file
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pages: PageArgs,
}

#[derive(Serialize)]
struct Report<'a> {
    format_version: u32,
    program_version: &'a str,
    checksum: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<&'a Origin>,
    method: &'a str,
    /// As the fit had them.
    parameters: Given,
    spec: &'a Spec,
    outcome: &'a Outcome,
    task: Task,
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

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    args.pages.check(&[Some(&args.model)])?;
    if let Some(text) = sparse::inspect(&args.model)? {
        return show(args, &text);
    }
    let stored = crate::input::load_model(&args.model)?;
    if let Some(output) = &args.output {
        outputs::check("--output", output, &[Some(&args.model)])?;
    }
    if args.pages.wanted() {
        memory::check_page(stored.model.metric.features(), None)?;
        if stored.model.task != Task::Pairs {
            needs_classes(&stored.model, "--report, --plots")?;
        }
        let view = ModelView::of(&stored.model, args.model.display().to_string(), History::default())?;
        let model = args.model.display();
        let next = [("Predict new rows:".to_owned(), Some(format!("lipmetric predict --model {model} new.csv")))];
        args.pages.write(&lipmetric_report::model_page(&view, &pages::about(next)), session)?;
    }
    if args.spec {
        return show(args, &output::json(&stored.model.spec)?);
    }
    if args.matrix || args.factor || args.json {
        let asked = ("--matrix, --factor, --json", "its elements are 1 on the diagonal and 0 elsewhere");
        memory::check_model(&stored.model, None, asked)?;
    }
    if args.matrix {
        return show(args, &matrix_csv(&stored.model, &stored.model.metric.matrix(), true)?);
    }
    if args.factor {
        return show(args, &matrix_csv(&stored.model, stored.model.metric.factor(), false)?);
    }
    let spectrum = stored.model.metric.spectrum()?;
    let lipschitz = if args.lipschitz { Some(measure(&stored.model)?) } else { None };
    if args.json {
        return show(args, &output::json(&Report { lipschitz, ..report(&stored, spectrum) })?);
    }
    let mut text = describe(args, &stored, &spectrum);
    if let Some(measured) = &lipschitz {
        text += "\ntraining rows under the learned distance\n\n";
        text += &margins::describe(measured, &|i| format!("row {}", i + 1));
    }
    if let Some(width) = crate::draw::room().filter(|_| args.output.is_none()) {
        text += "\n";
        text += &drawn(&stored.model, width);
    }
    if args.output.is_some() { show(args, &text) } else { output::print(&text) }
}

/// Writes to the file that was asked for, or to standard output.
fn show(args: &Args, text: &str) -> Result {
    match &args.output {
        Some(path) if Target::new(path) != Target::Stdout => Ok(atomic_write(path, |w| w.write_all(text.as_bytes()))?),
        _ => output::write(text),
    }
}

/// A matrix with a column per feature, and the features' names before its rows where these are features, too.
fn matrix_csv(model: &Model, matrix: &Matrix, square: bool) -> Result<String> {
    let cell = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let names: Vec<String> = model.preparation.feature_names().iter().map(|n| cell(n)).collect();
    let mut text = String::new();
    if square {
        text += "feature,";
    }
    text += &(names.join(",") + "\n");
    for i in 0..matrix.rows() {
        if square {
            text += &format!("{},", names[i]);
        }
        let row: Vec<String> = matrix.row(i).iter().map(ToString::to_string).collect();
        text += &(row.join(",") + "\n");
    }
    Ok(text)
}

fn measure(model: &Model) -> Result<lipmetric::lipschitz::Report> {
    needs_classes(model, "--lipschitz")?;
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
        origin: model.origin.as_ref(),
        method: model.spec.name(),
        parameters: options::parameters(&model.used),
        spec: &model.spec,
        outcome: &model.outcome,
        task: model.task,
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
    if let Some(Origin { data, fingerprint, command, .. }) = &model.origin {
        let mut facts = TextTable::new(vec![Align::Left, Align::Left]);
        let rows: usize = model.class_counts.iter().sum();
        facts.row(["fitted on", &format!("{data}: {}", counted(rows, "row", "rows"))]);
        facts.row(["fingerprint", fingerprint]);
        if let Some(command) = command {
            facts.row(["command", command]);
        }
        text += &(facts.render() + "\n");
    }
    text += &describe_outcome(model);
    text += "\n";
    if let Some(label) = &model.preparation.schema().label {
        text += &format!("label: column `{}`\n", label.name);
    }
    let mut classes = TextTable::new(vec![Align::Left, Align::Right]);
    classes.row([if model.task == Task::Regression { "number" } else { "class" }, "training rows"]);
    for (class, count) in model.classes.iter().zip(&model.class_counts) {
        let class = if model.task == Task::Pairs { "(no labels)" } else { class };
        classes.row([class, &count.to_string()]);
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
    text += &prepared::describe_every_column(&model.preparation);
    text += &describe_levels(&model.preparation);
    text += &describe_weights(model, args.weights);
    let spectrum: Vec<String> = spectrum.iter().copied().map(short).collect();
    let more = spectrum.len().saturating_sub(MOST_EIGENVALUES);
    let more_shown = if more > 0 { format!(" and {more} more (--json has all)") } else { String::new() };
    let first = spectrum[..spectrum.len().min(MOST_EIGENVALUES)].join(", ");
    text += &format!("\neigenvalues of M: {first}{more_shown}\n");
    text += &format!("checksum: {}\n", stored.checksum);
    text
}

/// Eigenvalues that a person may want to see.
const MOST_EIGENVALUES: usize = 30;

/// The levels of each category, in the order of their columns.
fn describe_levels(preparation: &Preparation) -> String {
    let mut text = String::new();
    for feature in &preparation.schema().features {
        if let Encoding::Category { levels } = &feature.encoding {
            let more = levels.len().saturating_sub(20);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            text += &format!("levels of {}: {}{more}\n", feature.name, levels[..levels.len().min(20)].join(", "));
        }
    }
    text
}

/// How much each feature counts by itself, the most important first.
fn describe_weights(model: &Model, most: usize) -> String {
    let mut text = "\nweight of each feature (diagonal of M = LᵀL, on the prepared features)\n".to_owned();
    let (names, diagonal) = (model.preparation.feature_names(), model.metric.diagonal());
    let mut order: Vec<usize> = (0..diagonal.len()).collect();
    order.sort_by(|&i, &j| diagonal[j].total_cmp(&diagonal[i]));
    let most = if most == 0 { order.len() } else { most };
    let top = order.first().map_or(0.0, |&j| diagonal[j]);
    let mut weights = TextTable::new(vec![Align::Left, Align::Right, Align::Left]);
    for &j in order.iter().take(most) {
        let length = if top > 0.0 { (30.0 * diagonal[j] / top).round() as usize } else { 0 };
        weights.row([names[j].clone(), short(diagonal[j]), "█".repeat(length)]);
    }
    text += &weights.render();
    if order.len() > most {
        text += &format!("and {} more (--weights 0 shows all)\n", order.len() - most);
    }
    text
}
