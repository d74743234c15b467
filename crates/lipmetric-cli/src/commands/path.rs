use super::shared::LabelledArgs;
use super::watched::measure;
use crate::failure::{Failure, Result};
use crate::input::PrepareArgs;
use crate::memory;
use crate::method::options;
use crate::method::{LipArgs, Method};
use crate::output::{self, Align, TextTable, short};
use crate::pages::{self, PageArgs};
use crate::session::Session;
use lipmetric::data::{Table, folds};
use lipmetric::evaluate::{HELD_OUT_GAP, accuracy_along};
use lipmetric::lipschitz::Margins;
use lipmetric::method::{Fit, Lip, Solver, Spec, Training};
use lipmetric::model::Foreseen;
use lipmetric::prepare::{Dataset, Preparation};
use lipmetric::problem::SupportPair;
use lipmetric::solver::{Budget, Observer, Status};
use lipmetric::view::PathView;
use lipmetric::{Labels, Metric, Task};
use serde::Serialize;

/// Compute a regularisation path of Lip^D or Lip^I: margin ratio, held-out accuracy and support pairs along c
///
/// c runs from near c_max, where the metric is almost zero, down to a small fraction of it, in equal ratios. Each fit is
/// warm-started and certified. The margin ratio is that of the training rows; how well the nearest row predicts rows that were
/// held out is found by cross-validation, to a gap of 1 %. The support pairs determine the optimum: pairs of different labels at
/// the margin, and the longest pairs, which determine the diameter.
#[derive(clap::Args)]
#[command(mut_args(here))]
#[command(after_help = "\
Examples:
  lipmetric path --data echo
  lipmetric path --data echo --method lip-d --points 5 --least 0.01 --support 3
  lipmetric path --data echo --slack pair --json
  lipmetric path --data echo --points 5 --least 0.01 --report path.html")]
pub(crate) struct Args {
    #[command(flatten)]
    rows: LabelledArgs,
    /// How the distance is learned: lip-d (relative to the largest distance between any two rows) or lip-i (within a class)
    #[arg(long, value_name = "METHOD", value_parser = method, default_value = "lip-i", hide_possible_values = true, help_heading = "Method")]
    method: Method,
    #[command(flatten)]
    lip: LipArgs,
    /// Number of values of c
    #[arg(long, value_name = "N", default_value_t = 25, help_heading = "Path")]
    points: usize,
    /// The largest c, as a fraction of c_max
    #[arg(long, value_name = "FRACTION", default_value_t = 0.9, help_heading = "Path")]
    most: f64,
    /// The smallest c, as a fraction of c_max
    #[arg(long, value_name = "FRACTION", default_value_t = 0.001, help_heading = "Path")]
    least: f64,
    /// Folds of the cross-validation that finds the held-out accuracy; 0 leaves it out
    #[arg(long, value_name = "K", default_value_t = 5, help_heading = "Path")]
    folds: usize,
    /// Seed of the folds
    #[arg(long, value_name = "SEED", default_value_t = 0, help_heading = "Path")]
    seed: u64,
    /// Show this many support pairs of each distance, those with the largest multipliers
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Output")]
    support: usize,
    /// Stop this many seconds after the program began, with what there is (exit code 4)
    #[arg(long, value_name = "SECONDS", value_parser = crate::cli::seconds, help_heading = "Method")]
    time_limit: Option<f64>,
    /// Print the result as JSON, with all support pairs
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    pages: PageArgs,
}

/// Options of methods that have no part in a path; they are refused with a reason.
const NOT_HERE: [&str; 7] = ["c", "c_rel", "solver", "mu", "rank", "score", "metrics"];

/// What the others are here, where there is one method and neither a choice nor another solver.
const HERE: [(&str, &str); 8] = [
    (
        "scale",
        "How numeric features are scaled: none, standard (mean 0, deviation 1), minmax (0 to 1), quantile (the normal quantile of the \
         rank), unit (each row to length 1, as for cosine similarity: embeddings), or auto, which is standard here",
    ),
    (
        "slack",
        "Whether a violated margin is charged once per pair of rows (`pair`) or once per row (`instance`) [default: instance]",
    ),
    (
        "diameter",
        "How the diameter is measured: `max`, the largest distance, as in the paper; `mean`, the mean distance; `cvar:0.1`, the mean of \
         the longest tenth [default: max]",
    ),
    ("anchor", "Pull the learned distance towards a simple one"),
    ("anchor_weight", "Weight of the anchor: at 1 it counts about as much as the diameter [default: 0.1]"),
    ("balanced", "Give every class the same total weight, whatever its size"),
    ("tol", "Stop at this certified relative duality gap, at each c [default: 1e-6]"),
    ("max_iter", "Stop after this many iterations at each c [default: 500]"),
];

/// An option of the methods as it is here.
fn here(option: clap::Arg) -> clap::Arg {
    let id = option.get_id().to_string();
    if NOT_HERE.contains(&id.as_str()) {
        return option.hide(true);
    }
    match HERE.iter().find(|(name, _)| *name == id) {
        Some((name, help)) => option.help(*help).hide_possible_values(*name == "slack"),
        None => option,
    }
}

#[derive(Serialize)]
struct Point<'a> {
    c_rel: f64,
    c: Option<f64>,
    status: Status,
    objective: Option<f64>,
    dual: Option<f64>,
    gap: Option<f64>,
    iterations: usize,
    rank: usize,
    /// Of the training rows under this distance.
    margin: Option<f64>,
    ratio_diameter: Option<f64>,
    ratio_intra: Option<f64>,
    /// Share of held-out rows that the nearest row predicts rightly, in the mean over the folds.
    held_out_accuracy: Option<f64>,
    support: Vec<Support<'a>>,
}

#[derive(Serialize)]
struct Support<'a> {
    /// Rows counted from 1, as in `margins`.
    first: usize,
    second: usize,
    labels: [&'a str; 2],
    role: &'static str,
    multiplier: f64,
}

#[derive(Serialize)]
struct Report<'a> {
    method: &'a str,
    c_max: Option<f64>,
    /// The certified gap at which each distance counts as optimal.
    tolerance: f64,
    notes: Vec<String>,
    /// Folds behind the held-out accuracies.
    folds: usize,
    /// The ratio that the method maximises, of the Euclidean distance.
    euclidean_ratio: Option<f64>,
    points: Vec<Point<'a>>,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    args.pages.check(&[args.rows.data.path()])?;
    let limit = session.limit(args.time_limit)?;
    let lip = problem(args)?;
    let fractions = fractions(args)?;
    let (table, data) = args.rows.read(Task::Classification, session)?;
    let foreseen = Foreseen::of(&lip.clone().into(), data.labels.len(), data.schema.prepared_width());
    memory::check(&foreseen, args.rows.data.max_memory(), &table.origin)?;
    let PrepareArgs { fill, scale } = args.rows.prepare;
    let preparation = Preparation::fit(data.schema.clone(), &data.columns, None, fill, scale.usual())?;
    let x = preparation.apply(&data.columns)?;
    let training = Training::new(&x, &data.labels)?;
    let deadline = session.deadline(limit, || Some(late()));
    let mut observer = Budget::new(limit.map(|l| l.left()), session.fit_observer());
    let fits = lip.path(&training, &fractions, &mut observer)?;
    let Some(first) = fits.first() else { return Ok(()) };
    let stopped = fits.iter().map(|f| f.outcome.status).find(|s| !s.converged());
    let held_out = match stopped {
        None => held_out(args, &lip, &data, &fractions, &mut observer, session)?,
        Some(_) => None,
    };
    drop(observer);
    if args.pages.wanted() {
        let accuracies = held_out.as_deref().unwrap_or_default();
        args.pages.write(&page(args, &fractions, &data, (&x, &fits), accuracies)?, session)?;
    }
    let outcome = &first.outcome;
    let mean = |at: usize| held_out.as_ref().map(|h| h.iter().map(|fold| fold[at]).sum::<f64>() / h.len() as f64);
    let time_left = stopped.is_none() && limit.is_none_or(|l| !l.left().is_zero());
    let point = |(at, fit): (usize, &Fit)| {
        let margins = if time_left { measure(&fit.metric, &x, &data.labels)? } else { None };
        Ok(point(fractions[at], fit, &data.labels, margins.as_ref(), mean(at)))
    };
    let euclidean =
        if time_left { measure(&Metric::euclidean(x.cols()), &x, &data.labels).ok().flatten() } else { None };
    let report = Report {
        method: args.method.title(),
        c_max: outcome.c_max,
        tolerance: lip.tolerance.unwrap_or(Solver::Exact.usual_tolerance()),
        notes: options::notes(outcome),
        folds: if held_out.is_some() { args.folds } else { 0 },
        euclidean_ratio: euclidean.as_ref().map(|m| ratio(args.method, m.ratio_diameter, m.ratio_intra)),
        points: fits.iter().enumerate().map(point).collect::<Result<_>>()?,
    };
    drop(deadline);
    if args.json {
        output::print_json(&report)?;
    } else {
        output::print(&describe(&report, args, &table))?;
    }
    match stopped {
        None => session.go_on(),
        Some(Status::Interrupted) => Err(Failure::Interrupted(String::new())),
        Some(status) => Err(Failure::NotConverged(format!("not converged: {}", status.describe()))),
    }
}

fn late() -> Failure {
    Failure::NotConverged("--time-limit was reached in the middle of a step; allow more time".to_owned())
}

/// The page about the path.
fn page(
    args: &Args,
    fractions: &[f64],
    data: &Dataset,
    (x, fits): (&lipmetric::Matrix, &[Fit]),
    accuracies: &[Vec<f64>],
) -> Result<lipmetric_report::Page> {
    let mut view = PathView::of(fits, fractions, (x, &data.labels), accuracies)?;
    view.source.clone_from(&data.name);
    view.method = args.method.title().to_owned();
    let best = view.chosen.map(|k| view.points[k].c_rel);
    let next = best.map(|c| {
        let rows = args.rows.data.path().map_or_else(|| format!("--data {}", data.name), |p| p.display().to_string());
        let method = match args.method {
            Method::LipD => "lip-d",
            _ => "lip-i",
        };
        let command = format!("lipmetric fit {rows} --method {method} --c-rel {} --model model.lip", short(c));
        ("Fit the chosen distance:".to_owned(), Some(command))
    });
    Ok(lipmetric_report::path_page(&view, &pages::about(next)))
}

/// `[fold][point]`: the accuracy on held-out rows along the path; none where it is not wanted, or cannot be had: then a note says why.
fn held_out(
    args: &Args,
    lip: &Lip,
    data: &Dataset,
    fractions: &[f64],
    observer: &mut dyn Observer,
    session: &Session,
) -> Result<Option<Vec<Vec<f64>>>> {
    if args.folds == 0 {
        return Ok(None);
    }
    let PrepareArgs { fill, scale } = args.rows.prepare;
    let splits = folds(&data.labels, args.folds, args.seed)?;
    match accuracy_along(lip, data, &splits, (fill, scale.usual()), fractions, observer) {
        Ok(found) => Ok(Some(found)),
        Err(lipmetric::Error::Interrupted) => {
            session.note("note: stopped before the held-out accuracies were known");
            Ok(None)
        }
        Err(e) => {
            session.note(format!("note: no held-out accuracies: {}", options::in_flags(&e.to_string())));
            Ok(None)
        }
    }
}

/// lip-d or lip-i.
fn method(text: &str) -> Result<Method, String> {
    match <Method as clap::ValueEnum>::from_str(text, false) {
        Ok(method @ (Method::LipD | Method::LipI)) => Ok(method),
        _ => Err("a path is computed for lip-d or lip-i; give one of them".to_owned()),
    }
}

/// The ratio that a method maximises.
fn ratio(method: Method, of_diameter: f64, of_classes: f64) -> f64 {
    if matches!(method, Method::LipD) { of_diameter } else { of_classes }
}

/// The problem that the path is of.
fn problem(args: &Args) -> Result<Lip> {
    let given = args.lip.given();
    if given.contains_key("c") || given.contains_key("c_rel") {
        return Err(Failure::Usage("--c and --c-rel: a path has many values of c; set their number and range with --points, --most and --least".to_owned()));
    }
    for option in given.keys() {
        options::check(option, args.method, "fit with --method")?;
    }
    match options::apply(&args.method.base(), &given)? {
        Spec::Lip(lip) => Ok(lip),
        _ => Err(Failure::Usage("--method: a path is computed for lip-d or lip-i; give one of them".to_owned())),
    }
}

/// From the largest to the least, in equal ratios.
fn fractions(args: &Args) -> Result<Vec<f64>> {
    let inside = |f: f64| f > 0.0 && f < 1.0;
    if args.points == 0 {
        return Err(Failure::Usage("--points: a path needs at least 1 value of c".to_owned()));
    }
    for (name, value) in [("--most", args.most), ("--least", args.least)] {
        if !inside(value) {
            return Err(Failure::Usage(format!("{name}: {value} is not between 0 and 1")));
        }
    }
    if args.least > args.most {
        return Err(Failure::Usage(format!("--least: {} is above --most, {}", args.least, args.most)));
    }
    let ratio = (args.least / args.most).ln() / (args.points.max(2) - 1) as f64;
    Ok((0..args.points).map(|k| args.most * (ratio * k as f64).exp()).collect())
}

fn point<'a>(
    c_rel: f64,
    fit: &Fit,
    labels: &'a Labels,
    margins: Option<&Margins>,
    held_out_accuracy: Option<f64>,
) -> Point<'a> {
    let outcome = &fit.outcome;
    let name = |row: usize| labels.name(row);
    let support = |s: SupportPair| Support {
        first: s.first + 1,
        second: s.second + 1,
        labels: [name(s.first), name(s.second)],
        role: if s.pushes { "margin" } else { "diameter" },
        multiplier: s.multiplier,
    };
    Point {
        c_rel,
        c: outcome.c,
        status: outcome.status,
        objective: outcome.objective,
        dual: outcome.dual,
        gap: outcome.gap,
        iterations: outcome.iterations,
        rank: fit.metric.rank(),
        margin: margins.map(|m| m.margin.distance),
        ratio_diameter: margins.map(|m| m.ratio_diameter),
        ratio_intra: margins.map(|m| m.ratio_intra),
        held_out_accuracy,
        support: fit.support().into_iter().map(support).collect(),
    }
}

fn describe(report: &Report<'_>, args: &Args, table: &Table) -> String {
    let mut text = format!("{}: {}", table.origin, report.method);
    if let Some(c_max) = report.c_max {
        text += &format!(", c_max = {}", short(c_max));
    }
    text += "\n\n";
    let mut rows = TextTable::new(vec![Align::Right; 8]);
    rows.row(["c/c_max", "c", "objective", "gap", "rank", "ratio", "held-out", "pairs"]);
    let number = |v: Option<f64>| v.map(short).unwrap_or_default();
    let percent = |v: f64| format!("{:.2} %", 100.0 * v);
    let most = report.points.iter().filter_map(|p| p.held_out_accuracy).fold(0.0, f64::max);
    for p in &report.points {
        let margin = p.support.iter().filter(|s| s.role == "margin").count();
        let held_out = p.held_out_accuracy.map(|a| percent(a) + if a == most { "*" } else { " " });
        rows.row([
            short(p.c_rel),
            number(p.c),
            number(p.objective),
            number(p.gap),
            p.rank.to_string(),
            number(p.ratio_diameter.zip(p.ratio_intra).map(|(d, i)| ratio(args.method, d, i))),
            held_out.unwrap_or_default(),
            format!("{margin}+{}", p.support.len() - margin),
        ]);
    }
    text += &rows.render();
    let of = if matches!(args.method, Method::LipD) { "diameter" } else { "sum of class diameters" };
    let euclidean = report.euclidean_ratio.map(|r| format!("; of the Euclidean distance: {}", short(r)));
    let tolerance = short(report.tolerance);
    text += &format!("gap: certified relative duality gap; asked for: {tolerance}\n");
    text += &format!("ratio: margin / {of}{}\n", euclidean.unwrap_or_default());
    if report.folds > 0 {
        text += &format!(
            "held-out: rows that their nearest row predicts rightly, by {}-fold cross-validation; * the highest\n\
             (the folds' distances are solved to a gap of {})\n",
            report.folds,
            short(report.tolerance.max(HELD_OUT_GAP))
        );
    }
    text += "pairs: of rows that determine the distance, at the margin + of the diameter\n";
    for note in &report.notes {
        text += &format!("note: {note}\n");
    }
    for p in report.points.iter().filter(|_| args.support > 0) {
        text += &format!("\nsupport pairs at c/c_max = {}\n", short(p.c_rel));
        let mut pairs =
            TextTable::new(vec![Align::Left, Align::Left, Align::Left, Align::Left, Align::Left, Align::Right]);
        pairs.row(["row", "label", "row", "label", "determines", "multiplier"]);
        // All rows are of one table: its name would only take room.
        let place = |row: usize| {
            let place = table.place(row - 1);
            place.strip_prefix(&format!("{}, ", table.origin)).map_or(place.clone(), str::to_owned)
        };
        for s in p.support.iter().take(args.support) {
            pairs.row([
                place(s.first),
                s.labels[0].to_owned(),
                place(s.second),
                s.labels[1].to_owned(),
                s.role.to_owned(),
                short(s.multiplier),
            ]);
        }
        text += &pairs.render();
    }
    text
}
