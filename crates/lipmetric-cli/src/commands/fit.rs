use super::dry_run;
use super::figures::{self, Figures};
use super::pairs::{self, Told, ToldArgs};
use super::prepared;
use super::shared::LabelledArgs;
use super::sparse;
use super::suspects::Suspects;
use super::watched::{self, Measured, Watched};
use crate::draw;
use crate::failure::{Failure, Result};
use crate::input::TaskArgs;
use crate::memory;
use crate::method::MethodArgs;
use crate::method::options;
use crate::origin;
use crate::output::{self, Align, TextTable, counted, short};
use crate::outputs;
use crate::pages::{self, PageArgs};
use crate::resources::Stopwatch;
use crate::session::Session;
use lipmetric::classify::Kernel;
use lipmetric::lipschitz::Margins;
use lipmetric::method::{Choice, Choose, Method, MetricKind, Outcome, ScalingChoice, Score, Solver, Spec};
use lipmetric::model::Classifier;
use lipmetric::prepare::Scaling;
use lipmetric::problem::Slack;
use lipmetric::solver::Status;
use lipmetric::view::{ModelView, Separation};
use lipmetric::{Model, Task};
use lipmetric_io::Target;
use lipmetric_io::model::save_model_to;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Learn a distance from a labelled table
///
/// Column types are detected from the content: numbers, booleans (true/false, yes/no) and categories, which are one-hot
/// encoded. Missing values are filled and numeric features scaled. The model stores these steps; `predict` and `transform`
/// repeat them.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lipmetric fit --data haberman --model haberman.lip
  lipmetric datasets export echo -o echo.csv
  lipmetric fit echo.csv --label label --k 3 --model echo.lip
  lipmetric fit echo.csv --method lip-i --c auto --classifier extension
  lipmetric fit echo.csv --ignore epss --fill mean --scale minmax --json
  lipmetric fit echo.csv --method lip-d --slack pair --c 1 --tol 1e-9
  lipmetric fit echo.csv --method lip-d --certificate --model echo.lip
  lipmetric fit echo.csv --method lmnn --targets 2 --k auto
  lipmetric fit echo.csv --method lip-i --report echo.html
  lipmetric fit echo.csv --method nca --n-components 2 --init lda
  lipmetric fit echo.csv --method lmnn --dims 2
  lipmetric fit echo.csv --task regression --label lvdd --skip-unlabelled
  lipmetric inspect --spec echo.lip | lipmetric fit echo.csv --spec -")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) rows: LabelledArgs,
    #[command(flatten)]
    task: TaskArgs,
    #[command(flatten)]
    pub(super) method: MethodArgs,
    #[arg(long, value_name = "FILE", help_heading = "Other methods", help = options::help("triplets", "Comparisons to learn from instead of the labels: lines of three row numbers `i,j,l` for \"row i is nearer to row j than to row l\", rows counted from 1", ""))]
    pub(super) triplets: Option<PathBuf>,
    #[command(flatten)]
    pub(super) told: ToldArgs,
    /// Stop this many seconds after the program began, with the best found so far (exit code 4)
    #[arg(long, value_name = "SECONDS", value_parser = crate::cli::seconds, help_heading = "Method")]
    pub(super) time_limit: Option<f64>,
    /// Keep what the fit has come to in this file, about once a second: after `kill -9`, Ctrl-C or the time limit the same command goes on from there. Removed at the end
    #[arg(long, value_name = "FILE", help_heading = "Method")]
    checkpoint: Option<PathBuf>,
    /// Seconds between two writings of the checkpoint, at least
    #[arg(long, value_name = "SECONDS", requires = "checkpoint", default_value_t = 1.0, help_heading = "Method")]
    checkpoint_every: f64,
    /// Write the model to this file; `-` is standard output, and the report then goes to standard error
    #[arg(long, value_name = "OUT", help_heading = "Output")]
    pub(super) model: Option<PathBuf>,
    /// Leave the training rows out of the model: it can then map rows, but not predict
    #[arg(long, requires = "model", help_heading = "Output")]
    pub(super) without_rows: bool,
    /// Keep the multipliers that prove the bound in the model, for `lipmetric verify` (the exact solver of lip-d, lip-i and lip; lip-pairs)
    #[arg(long, requires = "model", conflicts_with = "without_rows", help_heading = "Output")]
    pub(super) certificate: bool,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,
    /// Only say how large the fit would be: rows, features, pairs of rows, memory, and by fits of some of the rows how long it would take
    #[arg(long, help_heading = "Output")]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) pages: PageArgs,
}

/// The figures of a fit, as `--json` prints them.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    figures: Figures<'a>,
    /// Of numbers, how they are spread.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<Spread>,
    classes: usize,
    class_names: &'a [String],
    class_counts: &'a [usize],
    classifier: &'a Classifier,
    k: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suspects: Option<Suspects>,
    #[serde(skip_serializing_if = "Option::is_none")]
    choice: Option<&'a Choice>,
    lipschitz: Option<&'a Margins>,
    /// The same of the Euclidean distance, where another one was learned.
    #[serde(skip_serializing_if = "Option::is_none")]
    lipschitz_euclidean: Option<&'a Margins>,
}

impl Args {
    /// Whether nothing is asked for that needs rows with their zeros.
    pub(super) fn stays_sparse(&self) -> bool {
        let plain = !(self.certificate || self.json || self.dry_run || self.without_rows || self.pages.wanted());
        plain
            && self.triplets.is_none()
            && self.told.is_empty()
            && self.checkpoint.is_none()
            && self.method.prediction.dims().is_none()
            && self.rows.roles.is_plain()
    }
}

impl Args {
    /// The file that keeps what a fit has come to, and how often.
    pub(super) fn checkpoint(&self) -> Result<Option<(&Path, Duration)>> {
        let every = Duration::try_from_secs_f64(self.checkpoint_every)
            .map_err(|e| Failure::Usage(format!("--checkpoint-every: {} is no time: {e}", self.checkpoint_every)))?;
        Ok(self.checkpoint.as_deref().map(|path| (path, every)))
    }

    /// Writes the model where that is wished; a checkpoint of what has ended is no longer needed.
    pub(super) fn keep(&self, model: &Model, session: &Session) -> Result {
        if let Some(path) = &self.model {
            save_model_to(model, &Target::new(path))?;
            session.detail(format!("wrote {}", path.display()));
        }
        // What was stopped goes on from it.
        if let Some(path) = &self.checkpoint
            && !matches!(model.outcome.status, Status::TimeLimit | Status::Interrupted)
        {
            lipmetric_io::checkpoint::remove(path)?;
        }
        Ok(())
    }

    /// An option that rows without labels do not have.
    pub(super) fn labelled_only(&self) -> Option<&'static str> {
        let given = [
            ("--task regression", self.task.task() == Task::Regression),
            ("--skip-unlabelled", self.rows.roles.skip_unlabelled),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }
}

/// Finds what is wrong with the output before anything is read.
fn check_output(args: &Args) -> Result {
    let own = [args.rows.data.path(), args.triplets.as_deref(), args.method.spec_file()];
    let inputs: Vec<Option<&Path>> = own.into_iter().chain(args.told.files()).collect();
    args.pages.check(&inputs)?;
    if let Some(path) = &args.checkpoint {
        let others: Vec<Option<&Path>> = inputs.iter().copied().chain([args.model.as_deref()]).collect();
        outputs::check("--checkpoint", path, &others)?;
    }
    let Some(path) = &args.model else { return Ok(()) };
    if Target::new(path) == Target::Stdout {
        if args.json {
            return Err(Failure::Usage("--json: standard output is taken by --model -".to_owned()));
        }
        return outputs::refuse_terminal("--model");
    }
    outputs::check("--model", path, &inputs)
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let watch = Stopwatch::start();
    check_output(args)?;
    let limit = session.limit(args.time_limit)?;
    if pairs::fit(args, session)? {
        return Ok(());
    }
    let task = args.task.task();
    if task == Task::Regression && args.pages.wanted() {
        return Err(Failure::Usage(
            "--report, --plots: pages show classes, of which --task regression has none".to_owned(),
        ));
    }
    let spec = args.method.spec()?;
    let classifier = args.method.prediction.classifier(&spec, task, true)?;
    // Of rows that stay sparse, classes alone are learned.
    if task == Task::Classification && sparse::fit(args, &spec, classifier, session)? {
        return Ok(());
    }
    let table = args.rows.table(session)?;
    let data = args.rows.roles.read_named(&table, task, args.told.id(), session)?;
    let told = Told::read(args, &table)?;
    let start = args.method.start()?;
    let recipe = args.rows.prepare.recipe(&spec, classifier).reduced_to(args.method.prediction.dims());
    let recipe = told.recipe(recipe).starting_from(start.as_ref()).keeping_certificate(args.certificate);
    let recipe = recipe.keeping_certificate_if_any(args.pages.wanted());
    if args.dry_run {
        return dry_run::tell(&recipe, &data, &table.origin, args.rows.data.max_memory());
    }
    let foreseen = recipe.foresee(&data);
    memory::check(&foreseen, args.rows.data.max_memory(), &table.origin)?;
    if args.pages.wanted() {
        memory::check_page(foreseen.features, args.rows.data.max_memory())?;
    }
    let (bytes, written) = (8 * foreseen.rows * foreseen.features, args.model.is_some() && !args.without_rows);
    let limit = limit.map(|l| {
        l.leaving_time_to_write(bytes, written, &watch)
            .leaving_time_to_measure(pairs_to_measure(&spec, foreseen.rows), watch.busy())
    });
    let origin = origin::of(&data);
    watched::fit(&recipe, &data, (limit, args.checkpoint()?), session, |Watched { model, margins, history }| {
        let mut model = Arc::unwrap_or_clone(model);
        model.origin = Some(origin.clone());
        if args.pages.wanted() {
            let view = ModelView::of(&model, &table.origin, history)?;
            args.pages.write(&lipmetric_report::model_page(&view, &pages::about(next(args, &view))), session)?;
            model.certificate = model.certificate.filter(|_| args.certificate);
        }
        complete(args, session, &table.origin, (model, margins), &watch)
    })
}

/// Writes and shows what was fitted.
fn complete(
    args: &Args,
    session: &Session,
    origin: &str,
    (mut model, margins): (Model, Measured),
    watch: &Stopwatch,
) -> Result {
    let suspects = model.training.as_ref().and_then(Suspects::of);
    let target = model.training.as_ref().and_then(|rows| rows.y.numbers()).map(Spread::of);
    model.outcome.notes.extend(margins.collapsed());
    if args.without_rows {
        model.training = None;
    }
    args.keep(&model, session)?;
    // To write a large model takes its time as well.
    let seconds = (watch.seconds(), watch.cpu_seconds());
    let classes = if target.is_some() { &[][..] } else { &model.classes };
    let report = Report {
        figures: Figures::of(&model, seconds, args.model.as_deref()),
        target,
        classes: classes.len(),
        class_names: classes,
        class_counts: &model.class_counts[..classes.len()],
        classifier: &model.classifier,
        k: model.classifier.voting().map(|v| v.k),
        suspects,
        choice: model.outcome.choice.as_ref(),
        lipschitz: margins.learned.as_ref(),
        lipschitz_euclidean: margins.euclidean.as_ref(),
    };
    if args.json {
        output::print_json(&report)?;
    } else {
        figures::print(&describe(origin, &report, &model), args.model.as_deref(), session)?;
    }
    ended(model.outcome.status, args.model.is_some())
}

/// What can be done after a fit.
fn next(args: &Args, view: &ModelView) -> Vec<(String, Option<String>)> {
    let [keep, judge] = crate::origin::again();
    let mut all = vec![("Judge it on rows that it has not seen:".to_owned(), Some(judge))];
    all.push(match &args.model {
        Some(model) => {
            ("Predict new rows:".to_owned(), Some(format!("lipmetric predict --model {} new.csv", model.display())))
        }
        None => ("Keep the model:".to_owned(), Some(keep)),
    });
    if view.rows.as_ref().is_some_and(|r| !r.shown.relabelled.is_empty()) {
        all.push(("Look at the ringed rows: their labels may be wrong.".to_owned(), None));
    }
    all
}

/// A fit that ended early is told by the exit code, after everything has been written.
pub(super) fn ended(status: Status, written: bool) -> Result {
    let kept = if written { "; the best result so far was written" } else { "" };
    match status {
        status if status.converged() => Ok(()),
        Status::Interrupted => Err(Failure::Interrupted(kept.to_owned())),
        status => Err(Failure::NotConverged(format!("not converged: {}{kept}", status.describe()))),
    }
}

/// Pairs of rows that a fit looks at after it was asked to stop. With a slack per pair a metric of a sample of many rows has yet to be
/// measured on all of them, with its bound, and once more in the user's coordinates.
fn pairs_to_measure(spec: &Spec, rows: usize) -> f64 {
    const PASSES: f64 = 2.5;
    match spec {
        Spec::Lip(lip) if lip.slack == Choose::Value(Slack::Pair) && rows >= Solver::QUICK_ROWS => {
            PASSES * 0.5 * (rows as f64).powi(2)
        }
        _ => 0.0,
    }
}

fn describe(origin: &str, report: &Report<'_>, model: &Model) -> String {
    let features = counted(report.figures.p, "feature", "features");
    let mut text = match &report.target {
        Some(target) => format!("{origin}: {} rows, {features}, a number to predict\n{target}\n\n", report.figures.n),
        None => {
            let classes = describe_classes(model);
            format!(
                "{origin}: {} rows, {features}, {} classes\nclasses: {classes}\n\n",
                report.figures.n, report.classes
            )
        }
    };
    text += &prepared::describe(&model.preparation);
    text += "\n";
    text += &describe_outcome(model);
    if let Some(margins) = report.lipschitz {
        let of =
            if report.lipschitz_euclidean.is_some() { "training rows" } else { "training rows under this distance" };
        text += &format!("\n{of}\n");
        text += &super::margins::describe_margins(report.lipschitz_euclidean, margins);
    }
    text += "\n";
    // A spectrum takes time, and that is up.
    let early = matches!(report.figures.status, Status::TimeLimit | Status::Interrupted);
    text += &draw::room()
        .filter(|_| !early)
        .map_or_else(String::new, |width| drawn(model, width) + &drawn_weights(model, width));
    let mut facts = TextTable::new(vec![Align::Left, Align::Left]);
    facts.row(["seconds", &format!("{:.3}", report.figures.seconds)]);
    facts.row(["model", report.figures.model.as_deref().unwrap_or("not kept; --model FILE keeps it")]);
    text + &facts.render()
}

/// Features that a drawing shows.
const DRAWN_FEATURES: usize = 8;
/// Rows whose local ratios are drawn at most.
const DRAWN_ROWS: usize = 2000;

/// Small pictures of a metric: its spectrum and the local ratios of its rows.
pub(crate) fn drawn(model: &Model, width: usize) -> String {
    let mut text = String::new();
    if model.metric.is_euclidean() {
        return text;
    }
    if let Ok(spectrum) = model.metric.spectrum() {
        text += &format!("spectrum      {}\n", draw::columns(&spectrum, width.saturating_sub(14)));
    }
    if let Some(rows) = model.training.as_ref().filter(|rows| rows.x.rows() <= DRAWN_ROWS)
        && rows.y.numbers().is_none()
        && let Ok(seen) = Separation::of(&model.metric, &rows.x, &rows.y)
    {
        let counts: Vec<f64> = seen.local.counts.iter().map(|&c| c as f64).collect();
        text += &format!("local ratios  0 {:20} 1\n", draw::columns(&counts, 20));
    }
    text
}

/// The features with the largest weights, as bars.
fn drawn_weights(model: &Model, width: usize) -> String {
    if model.metric.is_euclidean() {
        return String::new();
    }
    let (names, diagonal) = (model.preparation.feature_names(), model.metric.diagonal());
    let mut order: Vec<usize> = (0..diagonal.len()).collect();
    order.sort_by(|&i, &j| diagonal[j].total_cmp(&diagonal[i]));
    let row = |&j: &usize| (names[j].clone(), diagonal[j], short(diagonal[j]));
    let bars = draw::bars(&order.iter().take(DRAWN_FEATURES).map(row).collect::<Vec<_>>(), 0.0, width);
    format!("features by weight\n{bars}\n")
}

/// The method and how its fit ended.
pub(crate) fn describe_outcome(model: &Model) -> String {
    let mut facts = TextTable::new(vec![Align::Left, Align::Left]);
    facts.row(["method", model.spec.name()]);
    let given = options::worded_parameters(&model.used, model.task);
    let told = given.iter().any(|(name, _)| name == "c");
    for (name, value) in given {
        facts.row([name, value]);
    }
    let outcome = &model.outcome;
    if let Some(choice) = &outcome.choice {
        describe_choice(model, choice, &mut facts);
    }
    facts.row(["ended", describe_end(outcome)]);
    for (name, value) in [("objective", outcome.objective), ("lower bound", outcome.dual)] {
        if let Some(value) = value {
            facts.row([name, &format!("{value:.9}")]);
        }
    }
    for (name, value) in [("certified gap", outcome.gap), ("c", outcome.c.filter(|_| !told)), ("c_max", outcome.c_max)]
    {
        if let Some(value) = value {
            facts.row([name, &short(value)]);
        }
    }
    if outcome.iterations > 0 {
        let of_all = if outcome.choice.is_some() { " in all fits of the choice" } else { "" };
        facts.row(["iterations", &format!("{}{of_all}", outcome.iterations)]);
    }
    facts.row(["rank", &format!("{} of {}", model.metric.rank(), model.metric.features())]);
    let prediction = match &model.training {
        None if model.task != Task::Pairs => "none: the training rows are not in the model, it can only map".to_owned(),
        _ => model.classifier.describe(model.task),
    };
    for (at, line) in wrapped(&prediction, WIDTH).into_iter().enumerate() {
        facts.row([if at == 0 { "prediction" } else { "" }, &line]);
    }
    if let Some(suspects) = model.training.as_ref().and_then(Suspects::of) {
        facts.row(["rows relabelled", &format!("{} of {}", suspects.relabelled.len(), suspects.rows)]);
        facts.row(["rows bent", &format!("{} of {}", suspects.bent.len(), suspects.rows)]);
    }
    let mut text = facts.render();
    for note in options::notes(outcome) {
        text += &format!("note: {note}\n");
    }
    text
}

/// What is left of 80 columns beside the names of the figures.
const WIDTH: usize = 48;

/// The words of a text on lines of at most so many characters, as far as single words allow.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut().filter(|line| line.chars().count() + 1 + word.chars().count() <= width) {
            Some(line) => *line += &format!(" {word}"),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// How a fit ended. Of a choice, the certificate is one to the tolerance of the choice's own fits; a blend has none.
fn describe_end(outcome: &Outcome) -> &'static str {
    let optimal = outcome.status == Status::Optimal;
    match &outcome.choice {
        Some(choice) if optimal && choice.chosen.euclid > 0.0 && choice.chosen.euclid < 1.0 => {
            "learned part optimal to the gap noted below"
        }
        Some(_) if optimal && outcome.gap.is_some() => "optimal to the certified gap below",
        _ => outcome.status.describe(),
    }
}

/// Classes that a line shows.
const SHOWN: usize = 12;

/// `a: 30 (60.0 %), b: 20 (40.0 %)`.
fn describe_classes(model: &Model) -> String {
    let total: usize = model.class_counts.iter().sum();
    let share = |count: usize| 100.0 * count as f64 / total.max(1) as f64;
    let each = model.classes.iter().zip(&model.class_counts).take(SHOWN);
    let shown = each.map(|(class, &count)| format!("{class}: {count} ({:.1} %)", share(count)));
    let more = model.classes.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| format!("and {more} more"));
    shown.chain(more).collect::<Vec<_>>().join(", ")
}

/// What a method that chooses has chosen, and what it is worth.
fn describe_choice(model: &Model, choice: &Choice, facts: &mut TextTable) {
    let percent = |v: f64| format!("{:.1} %", 100.0 * v);
    let taken = &choice.chosen;
    let mut distance = describe_distance(taken.metric).to_owned();
    if let Some(c) = taken.c_rel {
        distance += &format!(", c-rel {}", short(c));
    }
    facts.row(["chosen distance", &distance]);
    if let Some(slack) = taken.slack {
        facts.row(["  slack", &slack.to_string()]);
    }
    if let Some(diameter) = taken.diameter {
        facts.row(["  diameter", &diameter.to_string()]);
    }
    if let Some(rank) = taken.rank {
        facts.row(["  rank", &rank.to_string()]);
    }
    if taken.euclid > 0.0 && taken.euclid < 1.0 {
        facts.row(["  blended with", &format!("{} of the Euclidean distance", percent(taken.euclid))]);
    }
    if let Some(k) = taken.k.filter(|_| choice.neighbours.is_some()) {
        let who = if model.task == Task::Regression { "the mean" } else { "votes" };
        let votes = if k == 1 { "the nearest row".to_owned() } else { format!("{who} of the {k} nearest rows") };
        facts.row(["chosen function", &votes]);
    }
    if let Some(smoothness) = taken.smoothness {
        let kernel = match smoothness.kernel {
            Kernel::Gaussian => ", Gaussian kernel",
            _ => "",
        };
        facts.row(["chosen function", &format!("smooth in the distances (kernel ridge{kernel})")]);
    }
    if let Some(scaling) = &choice.scaling {
        facts.row(["chosen scaling", &describe_scaling(scaling)]);
    }
    if choice.rows == 0 {
        return;
    }
    if model.task == Task::Regression {
        return expect_numbers(model, choice, facts);
    }
    if let Some(neighbours) = choice.neighbours {
        let total: usize = model.class_counts.iter().sum();
        let largest = model.class_counts.iter().copied().max().unwrap_or(0);
        facts.row(["accuracy on held-out rows", ""]);
        facts.row(["  always the largest class", &percent(largest as f64 / total.max(1) as f64)]);
        facts.row(["  Euclidean nearest neighbours", &percent(neighbours)]);
        facts.row(["  chosen", &percent(taken.accuracy)]);
        describe_score(model, choice, facts);
        expect(choice, facts);
        return;
    }
    let reference = match taken.metric {
        MetricKind::LipD | MetricKind::LipI => "default",
        _ => "Euclidean",
    };
    facts.row([
        "cross-validated accuracy",
        &format!(
            "{} ({reference}: {}, standard error: {})",
            percent(taken.accuracy),
            percent(choice.reference),
            percent(choice.standard_error)
        ),
    ]);
    describe_score(model, choice, facts);
    expect(choice, facts);
}

/// What kind of distance was chosen.
fn describe_distance(kind: MetricKind) -> &'static str {
    match kind {
        MetricKind::Euclidean => "Euclidean",
        MetricKind::Within => "Mahalanobis, of the within-class covariance",
        MetricKind::Discriminant => "learned: directions between the classes (LDA)",
        MetricKind::NearDiscriminant => "learned: directions between near rows of different classes",
        MetricKind::LipLocal => "learned: Lip^I by near pairs",
        MetricKind::Agop => "learned: AGOP, a smooth function's gradients",
        MetricKind::Nca => "learned: NCA by the likelihood",
        MetricKind::Lmnn => "learned: LMNN",
        MetricKind::Mlkr => "learned: MLKR, for kernel regression",
        MetricKind::LipD => "Lip^D",
        MetricKind::LipI => "Lip^I",
        other => other.name(),
    }
}

/// How features are scaled, and what was found on held-out rows.
fn describe_scaling(choice: &ScalingChoice) -> String {
    let tried = [
        (Scaling::Standard, Some(choice.standard)),
        (Scaling::Minmax, choice.minmax),
        (Scaling::Quantile, Some(choice.quantile)),
    ];
    let figure = |right: Option<f64>| right.map(|v| format!("{:.1}", 100.0 * v));
    let (chosen, others): (Vec<_>, Vec<_>) = tried.into_iter().partition(|(scaling, _)| *scaling == choice.scaling);
    let own = chosen.into_iter().find_map(|(_, right)| figure(right)).unwrap_or_default();
    let others = others.into_iter().filter_map(|(scaling, right)| Some(format!("{scaling}: {}", figure(right)?)));
    format!("{}: {own} % ({})", choice.scaling, others.collect::<Vec<_>>().join(", "))
}

/// What it was chosen by, where that is not the accuracy.
fn describe_score(model: &Model, choice: &Choice, facts: &mut TextTable) {
    let (Spec::Auto(auto), Some(score)) = (&model.spec, choice.score) else { return };
    let (name, value) = match auto.score {
        Score::LogLoss => ("  log-loss of the chosen", format!("{:.4}", -score)),
        Score::Auc => ("  AUC of the chosen", format!("{:.1} %", 100.0 * score)),
        _ => ("  balanced accuracy of it", format!("{:.1} %", 100.0 * score)),
    };
    facts.row([name, &value]);
}

/// What is expected of predicted numbers: R2, and errors beside those of predicting the mean.
fn expect_numbers(model: &Model, choice: &Choice, facts: &mut TextTable) {
    facts.row(["R2 on held-out rows", ""]);
    facts.row(["  always the mean", "0"]);
    if let Some(neighbours) = choice.neighbours {
        facts.row(["  Euclidean nearest neighbours", &format!("{neighbours:.3}")]);
    }
    facts.row(["  chosen", &format!("{:.3}", choice.chosen.accuracy)]);
    facts.row(["expect about", &estimated(choice, |estimate| format!("R2 {estimate:.3}"))]);
    let Some(target) = model.training.as_ref().and_then(|rows| rows.y.numbers()).map(Spread::of) else { return };
    let beside = |error: f64, mean: f64| format!("{} (always the mean: {})", short(error), short(mean));
    if let Some(absolute) = choice.absolute_error {
        facts.row(["  mean absolute error", &beside(absolute, target.absolute)]);
    }
    if let Some(estimate) = choice.estimate {
        let rmse = target.deviation * (1.0 - estimate).max(0.0).sqrt();
        facts.row(["  root mean squared error", &beside(rmse, target.deviation)]);
    }
}

/// How numbers are spread.
#[derive(Serialize)]
struct Spread {
    mean: f64,
    /// The standard deviation, and the mean distance from the mean.
    deviation: f64,
    absolute: f64,
    least: f64,
    largest: f64,
}

impl Spread {
    fn of(numbers: &[f64]) -> Self {
        let n = numbers.len().max(1) as f64;
        let mean = numbers.iter().sum::<f64>() / n;
        Self {
            mean,
            deviation: (numbers.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt(),
            absolute: numbers.iter().map(|v| (v - mean).abs()).sum::<f64>() / n,
            least: numbers.iter().copied().fold(f64::INFINITY, f64::min),
            largest: numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { mean, deviation, least, largest, .. } = self;
        let [mean, deviation, least, largest] = [mean, deviation, least, largest].map(|v| short(*v));
        write!(f, "target: mean {mean}, standard deviation {deviation}, from {least} to {largest}")
    }
}

/// The estimate for new rows, where there is one.
fn estimated(choice: &Choice, shown: impl Fn(f64) -> String) -> String {
    match choice.estimate {
        Some(estimate) => format!("{} on new rows of the same kind", shown(estimate)),
        None => "not known: fewer than two folds were done".to_owned(),
    }
}

/// What the choice itself has not made optimistic.
fn expect(choice: &Choice, facts: &mut TextTable) {
    facts.row(["expect about", &estimated(choice, |estimate| format!("{:.1} %", 100.0 * estimate))]);
}
