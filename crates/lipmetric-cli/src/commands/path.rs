use super::shared::LabelledArgs;
use crate::failure::{Failure, Result};
use crate::input::PrepareArgs;
use crate::method::options;
use crate::method::{LipArgs, Method, time_limit};
use crate::output::{self, Align, TextTable, short};
use crate::pages::{self, PageArgs};
use crate::session::Session;
use lipmetric::Labels;
use lipmetric::data::Table;
use lipmetric::evaluate::path_accuracies;
use lipmetric::method::{Fit, Lip, Spec, Training};
use lipmetric::prepare::{Dataset, Preparation};
use lipmetric::problem::SupportPair;
use lipmetric::solver::{Budget, Observer, Status};
use lipmetric::view::PathView;
use serde::Serialize;

/// Compute a regularisation path of Lip^D or Lip^I, and the pairs of rows that determine each distance
///
/// c runs from near c_max, where the metric is almost zero, down to a small fraction of it, in equal ratios. Each fit is
/// warm-started and certified. The support pairs determine the optimum: pairs of different labels at the margin, and the
/// longest pairs, which determine the diameter.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lipmetric path --data echo
  lipmetric path --data echo --method lip-d --points 5 --least 0.01 --support 3
  lipmetric path --data echo --slack pair --json
  lipmetric path --data echo --points 5 --least 0.01 --report path.html")]
pub(crate) struct Args {
    #[command(flatten)]
    rows: LabelledArgs,
    /// How the distance is learned: lip-d or lip-i
    #[arg(long, value_enum, default_value_t = Method::LipI, help_heading = "Method")]
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
    /// Show this many support pairs of each distance, those with the largest multipliers
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Output")]
    support: usize,
    /// Stop after this many seconds, with what there is (exit code 4)
    #[arg(long, value_name = "SECONDS", help_heading = "Method")]
    time_limit: Option<f64>,
    /// Print the result as JSON, with all support pairs
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    pages: PageArgs,
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
    notes: Vec<String>,
    points: Vec<Point<'a>>,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    args.pages.check(&[args.rows.data.path()])?;
    let lip = problem(args)?;
    let fractions = fractions(args)?;
    let (table, data) = args.rows.read(session)?;
    let PrepareArgs { fill, scale } = args.rows.prepare;
    let preparation = Preparation::fit(data.schema.clone(), &data.columns, None, fill, scale)?;
    let x = preparation.apply(&data.columns)?;
    let training = Training::new(&x, &data.labels)?;
    let mut observer = Budget::new(time_limit(args.time_limit)?, session.fit_observer());
    let fits = lip.path(&training, &fractions, &mut observer)?;
    if args.pages.wanted() && !fits.is_empty() {
        let page = page(args, (&lip, &fractions), &data, (&x, &fits), &mut observer)?;
        args.pages.write(&page, session)?;
    }
    drop(observer);
    let Some(first) = fits.first() else { return Ok(()) };
    let outcome = &first.outcome;
    let report = Report {
        method: args.method.title(),
        c_max: outcome.c_max,
        notes: options::notes(outcome),
        points: fractions.iter().zip(&fits).map(|(&f, fit)| point(f, fit, &data.labels)).collect(),
    };
    if args.json {
        output::print_json(&report)?;
    } else {
        output::print(&describe(&report, &table, args.support))?;
    }
    match fits.iter().map(|f| f.outcome.status).find(|s| !s.converged()) {
        None => Ok(()),
        Some(Status::Interrupted) => Err(Failure::Interrupted(String::new())),
        Some(status) => Err(Failure::NotConverged(format!("not converged: {}", status.describe()))),
    }
}

/// Folds that the held-out accuracy of a page is over.
const FOLDS: usize = 5;

/// The page about the path: with the accuracy on rows that were held out, where every class has enough of them.
fn page(
    args: &Args,
    path: (&Lip, &[f64]),
    data: &Dataset,
    (x, fits): (&lipmetric::Matrix, &[Fit]),
    observer: &mut dyn Observer,
) -> Result<lipmetric_report::Page> {
    let PrepareArgs { fill, scale } = args.rows.prepare;
    let least = data.labels.counts().into_iter().filter(|n| *n > 0).min().unwrap_or(0);
    // After a limit or Ctrl-C there is no time for more.
    let over = |s: Status| matches!(s, Status::TimeLimit | Status::Interrupted);
    let whole = !fits.iter().any(|f| over(f.outcome.status));
    let accuracies = match FOLDS.min(least) {
        folds if folds >= 2 && whole => path_accuracies(data, (fill, scale), path, (folds, 0), observer)?,
        _ => Vec::new(),
    };
    let mut view = PathView::of(fits, path.1, (x, &data.labels), &accuracies)?;
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

/// The problem that the path is of.
fn problem(args: &Args) -> Result<Lip> {
    let given = args.lip.given();
    if given.contains_key("c") || given.contains_key("c_rel") {
        return Err(Failure::Usage("--c and --c-rel: a path has many values of c; set their number and range with --points, --most and --least".to_owned()));
    }
    match (args.method, options::apply(&args.method.base(), &given)?) {
        (Method::LipD | Method::LipI, Spec::Lip(lip)) => Ok(lip),
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

fn point<'a>(c_rel: f64, fit: &Fit, labels: &'a Labels) -> Point<'a> {
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
        support: fit.support().into_iter().map(support).collect(),
    }
}

fn describe(report: &Report<'_>, table: &Table, shown: usize) -> String {
    let mut text = format!("{}: {}", table.origin, report.method);
    if let Some(c_max) = report.c_max {
        text += &format!(", c_max = {}", short(c_max));
    }
    text += "\n\n";
    let mut rows = TextTable::new(vec![Align::Right; 8]);
    rows.row(["c/c_max", "c", "objective", "certified gap", "rank", "margin pairs", "diameter pairs", "iterations"]);
    let number = |v: Option<f64>| v.map(short).unwrap_or_default();
    for p in &report.points {
        let margin = p.support.iter().filter(|s| s.role == "margin").count();
        rows.row([
            short(p.c_rel),
            number(p.c),
            number(p.objective),
            number(p.gap),
            p.rank.to_string(),
            margin.to_string(),
            (p.support.len() - margin).to_string(),
            p.iterations.to_string(),
        ]);
    }
    text += &rows.render();
    for note in &report.notes {
        text += &format!("note: {note}\n");
    }
    for p in report.points.iter().filter(|_| shown > 0) {
        text += &format!("\nsupport pairs at c/c_max = {}\n", short(p.c_rel));
        let mut pairs =
            TextTable::new(vec![Align::Left, Align::Left, Align::Left, Align::Left, Align::Left, Align::Right]);
        pairs.row(["row", "label", "row", "label", "determines the", "multiplier"]);
        for s in p.support.iter().take(shown) {
            pairs.row([
                table.place(s.first - 1),
                s.labels[0].to_owned(),
                table.place(s.second - 1),
                s.labels[1].to_owned(),
                s.role.to_owned(),
                short(s.multiplier),
            ]);
        }
        text += &pairs.render();
    }
    text
}
