use crate::certify::Certifier;
use crate::failure::{Failure, Result};
use crate::input::{DataArgs, PrepareArgs, RoleArgs};
use crate::method::MethodArgs;
use crate::output::{self, Align, TextTable, short};
use crate::session::Session;
use lipmetric::data::Table;
use lipmetric::data::{Split, folds, holdouts};
use lipmetric::evaluate::{ClassScore, Confusion, Subject, Summary};
use lipmetric::lipschitz::certified_accuracy;
use lipmetric::model::Recipe;
use lipmetric::prepare::{ColumnRef, Schema, Unseen};
use lipmetric_io::model::load_model;
use serde::Serialize;
use std::path::PathBuf;

/// Judge a model on labelled rows, or a method by repeated splits
///
/// With --model, the model predicts the rows and is judged by their labels. Without, the method is fitted and judged on
/// parts of the rows: repeated stratified splits (60 % of each class to train, 10 times) or, with --folds, k-fold
/// cross-validation. Preparation is fitted on the training part alone.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lipmetric evaluate --data echo --repeats 20
  lipmetric evaluate --data echo --method nn --folds 10 --k 5 --json
  lipmetric fit --data echo --k 1 --model echo.lip
  lipmetric datasets export echo -o test.csv
  lipmetric evaluate test.csv --model echo.lip --radius 0,0.1")]
pub(crate) struct Args {
    #[command(flatten)]
    data: DataArgs,
    #[command(flatten)]
    roles: RoleArgs,
    /// The model to judge
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["repeats", "train_fraction", "folds", "seed", "method", "slack", "c", "c_rel", "tol", "max_iter", "diameter", "anchor", "anchor_weight", "balanced", "solver", "mu", "rank", "n_components", "init", "warm_start", "targets", "push", "alpha", "k", "weights", "fill", "scale", "kind"])]
    model: Option<PathBuf>,
    #[command(flatten)]
    prepare: PrepareArgs,
    #[command(flatten)]
    method: MethodArgs,
    /// How many splits
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Splits")]
    repeats: usize,
    /// The part of each class to train on
    #[arg(long, value_name = "FRACTION", default_value_t = 0.6, help_heading = "Splits")]
    train_fraction: f64,
    /// Cross-validation with this many folds instead of repeated splits
    #[arg(long, value_name = "K", conflicts_with_all = ["repeats", "train_fraction"], help_heading = "Splits")]
    folds: Option<usize>,
    /// Decides the splits
    #[arg(long, value_name = "SEED", default_value_t = 0, help_heading = "Splits")]
    seed: u64,
    /// With --model: also the accuracy that no perturbation up to these distances, in the learned metric, can undo
    #[arg(long, value_name = "RADII", value_delimiter = ',', requires = "model")]
    radius: Vec<f64>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    judged: String,
    n: usize,
    accuracy: f64,
    balanced_accuracy: f64,
    macro_f1: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy_mean: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy_sd: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    accuracies: Vec<f64>,
    classes: Vec<ClassScore>,
    confusion: Vec<Vec<usize>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    certified: Vec<CertifiedAccuracy>,
}

/// The part of the rows that is predicted rightly, whatever is done to them within a distance.
#[derive(Serialize)]
struct CertifiedAccuracy {
    radius: f64,
    accuracy: f64,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let report = match &args.model {
        Some(model) => judge_model(args, model, session)?,
        None => judge_method(args, session)?,
    };
    if args.json { output::print_json(&report) } else { output::print(&describe(&report)) }
}

fn judge_model(args: &Args, path: &PathBuf, session: &Session) -> Result<Report> {
    let model = load_model(path)?.model;
    let schema = model.preparation.schema();
    let classifier = model.classifier()?;
    let certifier = if args.radius.is_empty() { None } else { Some(Certifier::new(&model)?) };
    let mut radii = Vec::new();
    let mut stream = args.data.stream(&args.roles.ignore, &model)?;
    let mut classes = model.classes.clone();
    let mut pairs = Vec::new();
    while let Some(mut batch) = stream.next_batch(super::transform::BATCH)? {
        session.go_on()?;
        if let Some(label) = &args.roles.label {
            put_label(&mut batch, schema, label)?;
        }
        args.roles.ignore.drop_from(&mut batch)?;
        let labels = schema.labels_as(&batch, &classes)?;
        classes = labels.classes().to_vec();
        let prepared = model.preparation.read(&batch, Unseen::Error)?;
        let x = model.metric.transform(&prepared)?;
        if let Some(certifier) = &certifier {
            radii.extend(certifier.radii(&prepared)?);
        }
        pairs.extend(labels.codes().iter().copied().zip(classifier.predict(&x)?));
    }
    let mut confusion = Confusion::new(classes);
    for &(truth, predicted) in &pairs {
        confusion.add(truth, predicted);
    }
    let mut report = Report::new(format!("{} on {}", path.display(), stream.origin()), &confusion, Vec::new());
    if certifier.is_some() {
        let truth: Vec<u32> = pairs.iter().map(|(truth, _)| *truth).collect();
        let accuracies = certified_accuracy(&radii, &truth, &args.radius)?;
        let certified = args.radius.iter().zip(accuracies);
        report.certified = certified.map(|(&radius, accuracy)| CertifiedAccuracy { radius, accuracy }).collect();
    }
    Ok(report)
}

/// Moves the column that the user calls the label to where the model had it, under the model's name for it.
pub(crate) fn put_label(table: &mut Table, schema: &Schema, label: &str) -> Result {
    let Some(place) = &schema.label else {
        return Err(Failure::Data("the model has no label column".to_owned()));
    };
    let at = ColumnRef::new(label).find(table)?;
    let mut column = table.columns.remove(at);
    column.name.clone_from(&place.name);
    table.columns.insert(place.index.min(table.columns.len()), column);
    Ok(())
}

fn judge_method(args: &Args, session: &Session) -> Result<Report> {
    let table = args.data.table(&args.roles.ignore, session)?;
    let data = args.roles.read(&table)?;
    let learner = args.method.learner()?;
    let recipe = Recipe {
        learner: &*learner,
        fill: args.prepare.fill,
        scaling: args.prepare.scale,
        voting: args.method.voting.settings_for(args.method.method),
    };
    let (splits, how): (Vec<Split>, String) = match args.folds {
        Some(k) => (folds(&data.labels, k, args.seed)?, format!("{k}-fold cross-validation")),
        None => (
            holdouts(&data.labels, args.train_fraction, args.repeats, args.seed)?,
            format!("{} stratified splits, {} of each class to train", args.repeats, args.train_fraction),
        ),
    };
    let subject =
        Subject { name: table.origin.clone(), schema: data.schema, columns: data.columns, labels: data.labels };
    let trials = subject.trials(&recipe, &splits, &session.supervisor("splits", None))?;
    session.go_on()?;
    let mut confusion = Confusion::new(subject.labels.classes().to_vec());
    for trial in &trials {
        confusion.merge(&trial.confusion);
    }
    let early = trials.iter().filter(|t| !t.outcome.status.converged()).count();
    if early > 0 {
        session.note(format!("{early} of {} fits ended before they had converged", trials.len()));
    }
    let accuracies = trials.iter().map(|t| t.confusion.accuracy()).collect();
    let judged = format!("{} on {}, {how}", learner.name(), table.origin);
    Ok(Report::new(judged, &confusion, accuracies))
}

impl Report {
    fn new(judged: String, confusion: &Confusion, accuracies: Vec<f64>) -> Self {
        let summary = Summary::of(&accuracies);
        Self {
            judged,
            n: confusion.total(),
            accuracy: confusion.accuracy(),
            balanced_accuracy: confusion.balanced_accuracy(),
            macro_f1: confusion.macro_f1(),
            accuracy_mean: summary.map(|s| s.mean),
            accuracy_sd: summary.map(|s| s.sd),
            accuracies,
            classes: confusion.scores(),
            confusion: confusion.counts().to_vec(),
            certified: Vec::new(),
        }
    }
}

fn describe(report: &Report) -> String {
    let percent = |v: f64| format!("{:.2} %", 100.0 * v);
    let mut text = format!("{}\n\n", report.judged);
    let mut facts = TextTable::new(vec![Align::Left, Align::Right, Align::Left]);
    match (report.accuracy_mean, report.accuracy_sd) {
        (Some(mean), Some(sd)) => {
            facts.row([
                "accuracy",
                &percent(mean),
                &format!("± {:.2} (standard deviation over the splits)", 100.0 * sd),
            ]);
        }
        _ => facts.row(["accuracy", &percent(report.accuracy), &format!("of {} rows", report.n)]),
    }
    facts.row(["balanced accuracy", &percent(report.balanced_accuracy), ""]);
    facts.row(["macro F1", &percent(report.macro_f1), ""]);
    for c in &report.certified {
        facts.row([&format!("certified at {}", short(c.radius)), &percent(c.accuracy), ""]);
    }
    text += &facts.render();
    text += "\n";
    let mut scores = TextTable::new(vec![Align::Left, Align::Right, Align::Right, Align::Right, Align::Right]);
    scores.row(["class", "precision", "recall", "F1", "rows"]);
    let figure = |v: Option<f64>| v.map_or("-".to_owned(), percent);
    for s in &report.classes {
        scores.row([s.class.clone(), figure(s.precision), figure(s.recall), figure(s.f1), s.support.to_string()]);
    }
    text += &scores.render();
    text += "\nconfusion (rows: true class, columns: predicted)\n";
    let mut matrix = TextTable::new([vec![Align::Left], vec![Align::Right; report.classes.len()]].concat());
    matrix.row(std::iter::once(String::new()).chain(report.classes.iter().map(|s| s.class.clone())));
    for (score, counts) in report.classes.iter().zip(&report.confusion) {
        matrix.row(std::iter::once(score.class.clone()).chain(counts.iter().map(ToString::to_string)));
    }
    text + &matrix.render()
}
