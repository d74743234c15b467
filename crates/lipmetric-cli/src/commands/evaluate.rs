mod numbers;

use super::pairs::{self, AskedArgs, ComparedArgs};
use super::seen::{self, Seen};
use super::shared::{BATCH, SplitArgs, line_up};
use crate::failure::{Failure, Result};
use crate::input::{DataArgs, KeepArgs, PrepareArgs, RoleArgs, TaskArgs};
use crate::memory;
use crate::method::MethodArgs;
use crate::output::{self, Align, TextTable, counted, short};
use crate::pages::{self, PageArgs};
use crate::radius::CertifiedArgs;
use crate::session::Session;
use lipmetric::data::Table;
use lipmetric::evaluate::{CalibrationBin, ClassScore, Confusion, Reliability, Summary, Trial, certified_trials};
use lipmetric::lipschitz::certified_accuracy;
use lipmetric::method::Method;
use lipmetric::model::Predictor;
use lipmetric::prepare::{Schema, Unseen};
use lipmetric::robust::{Norm, Radius, Space};
use lipmetric::view::Judgement;
use lipmetric::{Labels, Matrix, Task};
use lipmetric_io::TableStream;
use serde::Serialize;
use std::path::PathBuf;

/// Evaluate a model on labelled rows, or a method by repeated train/test splits
///
/// With --model, the model predicts the rows, and the predictions are compared with their labels. Without it, the method is
/// fitted and evaluated on repeated stratified splits (60 % of each class to train, 10 times) or, with --folds, by k-fold
/// cross-validation. Preparation is fitted on the training part alone.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lipmetric evaluate --data echo --repeats 20
  lipmetric evaluate --data echo --folds 5 --report judged.html
  lipmetric evaluate --data echo --method nn --folds 10 --k 5 --json
  lipmetric evaluate --data echo --radius 0,0.1 --radius-norm linf
  lipmetric evaluate --data cancer --method nca --n-components 2 --k auto
  lipmetric datasets export echo -o echo.csv
  lipmetric evaluate echo.csv --task regression --label lvdd --skip-unlabelled
  lipmetric datasets export haberman -o all.csv
  sed '2,100d' all.csv > train.csv
  sed '101,$d' all.csv > test.csv
  lipmetric fit train.csv --k 1 --model h.lip
  lipmetric evaluate test.csv --model h.lip --radius 0,0.1")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) data: DataArgs,
    #[command(flatten)]
    pub(super) roles: RoleArgs,
    #[command(flatten)]
    pub(super) asked: AskedArgs,
    #[command(flatten)]
    pub(super) compared: ComparedArgs,
    #[command(flatten)]
    task: TaskArgs,
    /// The model to evaluate
    #[arg(long, value_name = "MODEL", help_heading = None::<&str>, conflicts_with_all = ["repeats", "train_fraction", "folds", "seed", "method", "spec", "slack", "c", "c_rel", "tol", "max_iter", "diameter", "anchor", "anchor_weight", "balanced", "solver", "mu", "rank", "n_components", "init", "warm_start", "targets", "push", "alpha", "robust", "triplet_seed", "classifier", "k", "dims", "weights", "width", "ridge", "class_weights", "fill", "scale", "kind", "decimal", "thousands", "missing", "task"])]
    pub(super) model: Option<PathBuf>,
    #[command(flatten)]
    prepare: PrepareArgs,
    #[command(flatten)]
    method: MethodArgs,
    #[command(flatten)]
    splits: SplitArgs,
    /// Without --model: stop this many seconds after the program began (exit code 4)
    #[arg(long, value_name = "SECONDS", value_parser = crate::cli::seconds, conflicts_with = "model", help_heading = "Splits")]
    time_limit: Option<f64>,
    #[command(flatten)]
    certified: CertifiedArgs,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,
    #[command(flatten)]
    pages: PageArgs,
}

#[derive(Serialize)]
struct Report {
    judged: String,
    n: usize,
    /// How many of the rows the model was fitted on.
    #[serde(skip_serializing_if = "Option::is_none")]
    training_rows: Option<usize>,
    accuracy: f64,
    balanced_accuracy: f64,
    macro_f1: f64,
    /// The share of the largest class.
    majority: f64,
    #[serde(flatten)]
    reliability: Option<Reliability>,
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
    /// What the radii are of.
    #[serde(skip_serializing_if = "Option::is_none")]
    radius: Option<String>,
    /// The same for a page.
    #[serde(skip)]
    judgement: Judgement,
}

/// The part of the rows that is predicted rightly, whatever is done to them within a distance.
#[derive(Serialize)]
struct CertifiedAccuracy {
    radius: f64,
    accuracy: f64,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    if pairs::evaluate(args, session)? {
        return Ok(());
    }
    args.pages.check(&[args.data.path(), args.model.as_deref()])?;
    let report = match &args.model {
        Some(path) => {
            let predictor = Predictor::new(crate::input::load_model(path)?.model)?;
            match predictor.model().task {
                Task::Regression => return numbers::judge_model(args, (path, &predictor), session),
                Task::Pairs => {
                    return Err(Failure::Usage(
                        "the model was learned from rows without labels: judge it by pairs (--pairs FILE), or by comparisons (--triplets \
                         FILE or --quadruplets FILE)"
                            .to_owned(),
                    ));
                }
                _ => judge_model(args, (path, predictor), session)?,
            }
        }
        None if args.task.task() == Task::Regression => return numbers::judge_method(args, session),
        None => judge_method(args, session)?,
    };
    if let Some(warning) = report.training_rows.and_then(|met| seen::warning(met, report.n)) {
        session.note(format!("note: {warning}"));
    }
    if args.pages.wanted() {
        args.pages.write(&lipmetric_report::judgement_page(&report.judgement, &pages::about([])), session)?;
    }
    if args.json { output::print_json(&report) } else { output::print(&describe(&report)) }
}

/// The next rows to judge a model on: those with a label, where the others are skipped.
fn labelled_batch(args: &Args, schema: &Schema, stream: &mut TableStream, session: &Session) -> Result<Option<Table>> {
    while let Some(mut batch) = session.reading(|| stream.next_batch(BATCH))? {
        session.go_on()?;
        line_up(&mut batch, schema, &args.roles)?;
        if args.roles.skip_unlabelled {
            batch = schema.labelled(&batch)?;
        }
        if batch.rows() > 0 {
            return Ok(Some(batch));
        }
    }
    Ok(None)
}

fn judge_model(args: &Args, (path, predictor): (&std::path::Path, Predictor), session: &Session) -> Result<Report> {
    let schema = predictor.model().preparation.schema();
    let seen = predictor.model().training.as_ref().map(Seen::of);
    let mut met = 0;
    let mut stream =
        session.reading(|| args.data.stream(&args.roles.ignore, predictor.model(), &KeepArgs::default()))?;
    let mut classes = predictor.model().classes.clone();
    let mut truth = Vec::new();
    // Each row's predicted class, and how far it holds where that is asked for.
    let mut predicted: Vec<(u32, f64)> = Vec::new();
    let mut shares: Vec<f64> = Vec::new();
    // For a page, radii are told where there are some.
    let remedy = "use `--radius-space learned`, which by this distance is the same";
    let room = memory::check_model(predictor.model(), args.data.max_memory(), ("--radius", remedy));
    let mut curve = !args.certified.radius.is_empty() || (args.pages.wanted() && room.is_ok());
    if !args.certified.radius.is_empty() && !args.certified.is_learned() {
        room?;
    }
    while let Some(batch) = labelled_batch(args, schema, &mut stream, session)? {
        let labels = schema.labels_as(&batch, &classes)?;
        classes = labels.classes().to_vec();
        truth.extend_from_slice(labels.codes());
        if let Some(seen) = &seen {
            met += seen.count(&predictor.model().preparation.read(&batch, Unseen::Error)?);
        }
        shares.extend(predictor.shares(&batch)?.map_or_else(Vec::new, Matrix::into_vec));
        if args.certified.radius.is_empty() {
            let radius = Radius::new(Norm::L2, Space::Prepared);
            let told = if curve { predictor.certify(&batch, radius).ok() } else { None };
            curve &= told.is_some();
            if let Some(told) = told {
                predicted.extend(told);
                continue;
            }
            predicted.extend(predictor.predict(&batch)?.into_iter().map(|label| (label, 0.0)));
        } else {
            predicted.extend(predictor.certify(&batch, args.certified.asked()?)?);
        }
    }
    let known = predictor.model().classes.len();
    let (reliability, bins) = reliability(shares, &truth, known, classes.len())?;
    let mut confusion = Confusion::new(classes);
    for (&truth, &(predicted, _)) in truth.iter().zip(&predicted) {
        confusion.add(truth, predicted);
    }
    if truth.is_empty() {
        return Err(Failure::Data(format!("{}: there are no rows to judge the model on", stream.origin())));
    }
    let mut report = Report::new(format!("{} on {}", path.display(), stream.origin()), &confusion, Vec::new());
    report.training_rows = seen.map(|_| met);
    report.reliability = reliability;
    let mut judgement = report.judgement.with_probabilities(report.reliability.as_ref(), &bins);
    judgement.seen = report.training_rows.unwrap_or(0);
    if curve {
        judgement = judgement.with_radii(&predicted, &truth, args.certified.describe());
    }
    report.judgement = judgement;
    if !args.certified.radius.is_empty() {
        let accuracies = certified_accuracy(&predicted, &truth, &args.certified.radius)?;
        report.certify(&args.certified, accuracies);
    }
    Ok(report)
}

/// What the probabilities of a model's classes are worth on rows of these and, without a probability, of others.
fn reliability(
    shares: Vec<f64>,
    truth: &[u32],
    known: usize,
    all: usize,
) -> Result<(Option<Reliability>, Vec<CalibrationBin>)> {
    if shares.is_empty() || shares.len() != truth.len() * known {
        return Ok((None, Vec::new()));
    }
    let mut padded = Matrix::zeros(truth.len(), all);
    for (i, row) in shares.chunks_exact(known).enumerate() {
        padded.row_mut(i)[..known].copy_from_slice(row);
    }
    Ok((Some(Reliability::of(&padded, truth)?), CalibrationBin::of(&padded, truth)))
}

/// The trials of a method, and what was judged.
struct Tried {
    trials: Vec<Trial>,
    labels: Labels,
    judged: String,
}

fn try_method(args: &Args, session: &Session) -> Result<Tried> {
    let table = args.data.table(&args.roles.ignore, session)?;
    let task = args.task.task();
    let data = args.roles.read(&table, task, session)?;
    let spec = args.method.spec()?;
    let start = args.method.start()?;
    let classifier = args.method.prediction.classifier(&spec, task, false)?;
    let recipe = args.prepare.recipe(&spec, classifier).starting_from(start.as_ref());
    let recipe = recipe.reduced_to(args.method.prediction.dims());
    let protocol = args.splits.protocol();
    let splits = protocol.splits(&data.labels)?;
    let how = match protocol.folds {
        Some(k) => format!("{k}-fold cross-validation"),
        None => {
            let splits = counted(protocol.repeats, "stratified split", "stratified splits");
            let of = if task == Task::Regression { "the rows" } else { "each class" };
            format!("{splits}, {} of {of} to train", protocol.train_fraction)
        }
    };
    let asked = args.certified.certification()?;
    memory::check(&recipe.foresee(&data), args.data.max_memory(), &table.origin)?;
    let limit = session.limit(args.time_limit)?;
    let supervisor = session.supervisor("splits", limit);
    let deadline = session.deadline(limit, || Some(late()));
    let trials = certified_trials(&data, &recipe, &splits, asked.as_ref(), &supervisor).map_err(|e| match e {
        lipmetric::Error::Interrupted if !session.interrupted() => late(),
        other => other.into(),
    })?;
    drop(deadline);
    session.go_on()?;
    let early = trials.iter().filter(|t| !t.outcome.status.converged()).count();
    if early > 0 {
        session.note(format!("{early} of {} fits ended before they had converged", trials.len()));
    }
    let judged = format!("{} on {}, {how}", spec.name(), table.origin);
    Ok(Tried { trials, labels: data.labels, judged })
}

fn judge_method(args: &Args, session: &Session) -> Result<Report> {
    let Tried { trials, labels, judged } = try_method(args, session)?;
    let mut confusion = Confusion::new(labels.classes().to_vec());
    for trial in &trials {
        confusion.merge(&trial.confusion);
    }
    let reliability = Reliability::mean(trials.iter().map(|t| t.reliability));
    let accuracies = trials.iter().map(|t| t.confusion.accuracy()).collect();
    let mut report = Report { reliability, ..Report::new(judged, &confusion, accuracies) };
    let mean = |at: usize| trials.iter().map(|t| t.certified[at]).sum::<f64>() / trials.len().max(1) as f64;
    report.certify(&args.certified, (0..args.certified.radius.len()).map(mean).collect());
    let bins = CalibrationBin::merged(trials.iter().map(|t| t.bins.as_slice()));
    let mut judgement = report.judgement.with_probabilities(report.reliability.as_ref(), &bins);
    if !report.certified.is_empty() {
        let (x, y) = report.certified.iter().map(|c| (c.radius, c.accuracy)).unzip();
        judgement = judgement.with_certified(x, y, args.certified.describe());
    }
    report.judgement = judgement;
    Ok(report)
}

fn late() -> Failure {
    Failure::NotConverged("--time-limit was reached before all splits were complete; allow more time".to_owned())
}

impl Report {
    fn new(judged: String, confusion: &Confusion, accuracies: Vec<f64>) -> Self {
        let summary = Summary::of(&accuracies);
        Self {
            judgement: Judgement::new(judged.clone(), confusion, accuracies.clone()),
            judged,
            n: confusion.total(),
            training_rows: None,
            accuracy: confusion.accuracy(),
            balanced_accuracy: confusion.balanced_accuracy(),
            macro_f1: confusion.macro_f1(),
            majority: confusion.majority(),
            reliability: None,
            accuracy_mean: summary.map(|s| s.mean),
            accuracy_sd: summary.map(|s| s.sd),
            accuracies,
            classes: confusion.scores(),
            confusion: confusion.counts().to_vec(),
            certified: Vec::new(),
            radius: None,
        }
    }

    fn certify(&mut self, args: &CertifiedArgs, accuracies: Vec<f64>) {
        let radii = args.radius.iter().zip(accuracies);
        self.certified = radii.map(|(&radius, accuracy)| CertifiedAccuracy { radius, accuracy }).collect();
        self.radius = (!self.certified.is_empty()).then(|| args.describe());
    }
}

fn describe(report: &Report) -> String {
    let percent = |v: f64| format!("{:.2} %", 100.0 * v);
    let mut text = format!("{}\n\n", report.judged);
    let mut facts = TextTable::new(vec![Align::Left, Align::Right, Align::Left]);
    match (report.accuracy_mean, report.accuracy_sd) {
        // Of a single split there is no deviation.
        (Some(mean), Some(sd)) if report.accuracies.len() != 1 => {
            facts.row([
                "accuracy",
                &percent(mean),
                &format!("± {:.2} (standard deviation over the splits)", 100.0 * sd),
            ]);
        }
        _ => facts.row(["accuracy", &percent(report.accuracy), &format!("of {}", counted(report.n, "row", "rows"))]),
    }
    facts.row(["always the largest class", &percent(report.majority), ""]);
    facts.row(["balanced accuracy", &percent(report.balanced_accuracy), ""]);
    facts.row(["macro F1", &percent(report.macro_f1), ""]);
    if let Some(r) = &report.reliability {
        if let Some(auc) = r.auc {
            facts.row(["AUC", &percent(auc), "area under the ROC curve"]);
        }
        facts.row(["Brier score", &format!("{:.4}", r.brier), "squared error of the probabilities, 0 to 2"]);
        facts.row(["log-loss", &format!("{:.4}", r.log_loss), ""]);
        facts.row(["calibration error", &percent(r.calibration_error), "how far probabilities are from shares"]);
    }
    text += &facts.render();
    text += "\n";
    if let Some(of) = &report.radius {
        let mut certified = TextTable::new(vec![Align::Right, Align::Right]);
        certified.row(["radius", "certified accuracy"]);
        for c in &report.certified {
            certified.row([short(c.radius), percent(c.accuracy)]);
        }
        text += &certified.render();
        text += &format!(
            "certified accuracy: rows that are predicted correctly and stay so, whatever is\ndone to them within the radius ({of})\n\n"
        );
    }
    let mut scores = TextTable::new(vec![Align::Left, Align::Right, Align::Right, Align::Right, Align::Right]);
    scores.row(["class", "precision", "recall", "F1", "rows"]);
    let figure = |v: Option<f64>| v.map_or("-".to_owned(), percent);
    for s in &report.classes {
        scores.row([s.class.clone(), figure(s.precision), figure(s.recall), figure(s.f1), s.support.to_string()]);
    }
    text += &scores.render();
    text += "\nconfusion matrix (rows: true class, columns: predicted)\n";
    let mut matrix = TextTable::new([vec![Align::Left], vec![Align::Right; report.classes.len()]].concat());
    matrix.row(std::iter::once(String::new()).chain(report.classes.iter().map(|s| s.class.clone())));
    for (score, counts) in report.classes.iter().zip(&report.confusion) {
        matrix.row(std::iter::once(score.class.clone()).chain(counts.iter().map(ToString::to_string)));
    }
    text + &matrix.render()
}
