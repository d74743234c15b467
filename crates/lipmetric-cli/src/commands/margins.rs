use super::shared::{LabelledArgs, line_up, needs_classes};
use crate::failure::Result;
use crate::input::PrepareArgs;
use crate::memory;
use crate::output::{self, Align, TextTable, counted, short};
use crate::pages::{self, PageArgs};
use crate::session::Session;
use lipmetric::classify::Prediction;
use lipmetric::lipschitz::{
    FunctionReport, Mahalanobis, Margins, Report, ReportOptions, bounds::LearningBound, local::LocalSummary,
};
use lipmetric::method::Method;
use lipmetric::model::{Classifier, Rows, TrainingRows};
use lipmetric::prepare::{Dataset, Preparation, Unseen};
use lipmetric::view::RowsView;
use lipmetric::{Labels, Matrix, Metric, Model, Task};
use lipmetric_report::{MarginsPage, margins_page};
use serde::Serialize;
use std::path::PathBuf;

/// Measure margins, Lipschitz margin ratios and learning bounds of labelled rows
///
/// Under the Euclidean distance on the prepared features or, with --model, under a learned one (the square root of the
/// paper's squared form: the one that obeys the triangle inequality). The margin ratios say how well the classes are
/// separated in relation to their size. The bounds limit the error on new rows; the report says so where a bound is too weak
/// to mean anything. Of a model that predicts by the Lipschitz extension, the same figures of its function stand beside those
/// of the labels, by which the nearest neighbour classifies.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lipmetric margins --data haberman
  lipmetric margins --data haberman --report margins.html
  lipmetric fit --data echo --model echo.lip
  lipmetric margins --data echo --model echo.lip
  lipmetric margins --data echo --model echo.lip --json
  lipmetric fit --data echo --method lip-i --classifier extension --model f.lip
  lipmetric margins --data echo --model f.lip")]
pub(crate) struct Args {
    #[command(flatten)]
    rows: LabelledArgs,
    /// Measure under the learned distance of this model, on rows prepared as in its fit
    #[arg(long, value_name = "MODEL", help_heading = None::<&str>, conflicts_with_all = ["fill", "scale", "kind"])]
    model: Option<PathBuf>,
    #[command(flatten)]
    report: ReportArgs,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    pages: PageArgs,
}

/// What the report is computed with.
#[derive(clap::Args)]
pub(crate) struct ReportArgs {
    /// The bounds hold with a probability of one minus this
    #[arg(long, value_name = "DELTA", default_value_t = ReportOptions::default().delta, help_heading = "Bounds")]
    delta: f64,
    /// Leave out at most this many rows to enlarge the margin
    #[arg(long, value_name = "K", default_value_t = ReportOptions::default().max_drop, help_heading = "Bounds")]
    max_drop: usize,
}

impl Default for ReportArgs {
    fn default() -> Self {
        let options = ReportOptions::default();
        Self { delta: options.delta, max_drop: options.max_drop }
    }
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    args.pages.check(&[args.rows.data.path(), args.model.as_deref()])?;
    let table = args.rows.table(session)?;
    let (metric, x, labels, what, values, names) = match &args.model {
        None => {
            let Dataset { schema, columns, labels, .. } =
                args.rows.roles.read(&table, Task::Classification, session)?;
            let PrepareArgs { fill, scale } = args.rows.prepare;
            let preparation = Preparation::fit(schema, &columns, None, fill, scale.usual())?;
            let (x, names) = (preparation.apply(&columns)?, preparation.feature_names());
            (Metric::euclidean(x.cols()), x, labels, "the Euclidean distance".to_owned(), None, names)
        }
        Some(path) => {
            let model = crate::input::load_model(path)?.model;
            needs_classes(&model, "margins")?;
            let mut table = table.clone();
            line_up(&mut table, model.preparation.schema(), &args.rows.roles)?;
            let labels = model.preparation.schema().labels_as(&table, &model.classes)?;
            let x = model.preparation.read(&table, Unseen::Error)?;
            let what = format!("the metric of {} ({})", path.display(), model.spec.name());
            let values = own_values(&model, &x, &labels)?;
            let names = model.preparation.feature_names();
            (model.metric, x, labels, what, values, names)
        }
    };
    let report = measure(&metric, &x, &labels, &args.report)?;
    let function =
        values.map(|values| of_function(&metric, &x, &labels, &values, &report, args.report.delta)).transpose()?;
    if args.pages.wanted() {
        memory::check_page(x.cols(), args.rows.data.max_memory())?;
        let mut rows = TrainingRows::new(x, labels);
        rows.lines.clone_from(&table.lines);
        let view = RowsView::of(&rows, &metric, &names)?;
        let page = MarginsPage::of(table.origin.as_str(), what.as_str(), &rows.y, view, &report);
        args.pages.write(&margins_page(&page, &pages::about([])), session)?;
    }
    if args.json {
        return output::print_json(&JsonReport { data: &table.origin, distance: &what, function, report: &report });
    }
    let mut text = format!("{} under {what}\n\n{}", table.origin, describe(&report, &|i| table.place(i)));
    if let Some(function) = &function {
        text += &describe_function(function, &report, &|i| table.place(i));
    }
    output::print(&text)
}

/// The value of the model's function on each row for the row's own class; none where the model predicts by votes.
pub(crate) fn own_values(model: &Model, x: &Matrix, labels: &Labels) -> Result<Option<Vec<f64>>> {
    if !matches!(model.classifier, Classifier::Extension(_)) {
        return Ok(None);
    }
    let told = model.explain(Rows::Prepared(x))?;
    // A class that the model does not know has the value of none.
    let own = |(row, &code): (&Prediction, &u32)| row.values.get(code as usize).copied().unwrap_or(-1.0);
    Ok(Some(told.iter().zip(labels.codes()).map(own).collect()))
}

fn of_function(
    metric: &Metric,
    x: &Matrix,
    labels: &Labels,
    values: &[f64],
    report: &Report,
    delta: f64,
) -> Result<FunctionReport> {
    let distance = Mahalanobis::new(metric, x)?;
    Ok(FunctionReport::new(&distance, labels, values, &report.margins, report.doubling.upper, delta)?)
}

/// The function's figures beside those of the labels, by which the nearest neighbour classifies.
fn describe_function(function: &FunctionReport, report: &Report, place: &dyn Fn(usize) -> String) -> String {
    let m = &report.margins;
    let mut table = TextTable::new(vec![Align::Left, Align::Right, Align::Right]);
    table.row(["the function that predicts, beside the labels", "function", "labels (1-NN)"]);
    let pairs = [
        ("Lipschitz constant on these rows", function.constant.constant, m.constant.constant),
        ("2 / (constant x diameter)", function.ratio_diameter, m.ratio_diameter),
        ("2 / (constant x sum of class diameters)", function.ratio_intra, m.ratio_intra),
    ];
    for (name, own, labels) in pairs {
        table.row([name.to_owned(), short(own), short(labels)]);
    }
    table.row(["rows on the wrong side".to_owned(), function.errors.to_string(), "0".to_owned()]);
    table.row(["rows below the full margin of 1".to_owned(), function.below_margin.to_string(), "0".to_owned()]);
    let bounds = report.bounds.as_ref();
    for (name, own, labels) in [
        ("bound on the error, by the diameter", &function.by_diameter, bounds.map(|b| &b.diameter)),
        ("bound on the error, by the class diameters", &function.by_intra, bounds.map(|b| &b.intra)),
    ] {
        let shown = |bound: Option<&LearningBound>| match bound.map(LearningBound::best) {
            Some(b) if b.vacuous => "1 or more".to_owned(),
            Some(b) => format!("{:.4}", b.value),
            None => "-".to_owned(),
        };
        table.row([name.to_owned(), shown(own.as_ref()), shown(labels)]);
    }
    let steepest = format!("{} and {}", place(function.constant.i), place(function.constant.j));
    format!(
        "\n{}steepest between {steepest}; the bounds count every row below the full margin as an error\n",
        table.render()
    )
}

#[derive(Serialize)]
struct JsonReport<'a> {
    data: &'a str,
    distance: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<FunctionReport>,
    #[serde(flatten)]
    report: &'a Report,
}

pub(crate) fn measure(metric: &Metric, x: &Matrix, labels: &Labels, args: &ReportArgs) -> Result<Report> {
    let options = ReportOptions { delta: args.delta, max_drop: args.max_drop, ..ReportOptions::default() };
    Ok(Report::new(&Mahalanobis::new(metric, x)?, labels, &options)?)
}

/// The margins and ratios alone, under the Euclidean distance, where that is given, and under the learned one: a few lines of a
/// fit's report.
pub(crate) fn describe_margins(euclidean: Option<&Margins>, learned: &Margins) -> String {
    let mut table = TextTable::new(vec![Align::Left, Align::Right, Align::Left, Align::Right]);
    if euclidean.is_some() {
        table.row(["", "Euclidean", "", "learned"]);
    }
    let names = ["margin", "diameter", "margin / diameter", "margin / sum of class diameters"];
    let figures = |m: &Margins| [m.margin.distance, m.diameter.distance, m.ratio_diameter, m.ratio_intra];
    let before = euclidean.map(figures);
    for (at, (name, figure)) in names.into_iter().zip(figures(learned)).enumerate() {
        match &before {
            Some(before) => table.row([name, &short(before[at]), "->", &short(figure)]),
            None => table.row([name, &short(figure)]),
        }
    }
    table.render()
}

/// The whole report; `place` tells where a row stands.
pub(crate) fn describe(report: &Report, place: &dyn Fn(usize) -> String) -> String {
    let m = &report.margins;
    let mut facts = TextTable::new(vec![Align::Left, Align::Right, Align::Left]);
    let pair = |i: usize, j: usize| both(&place(i), &place(j));
    facts.row(["margin", &short(m.margin.distance), &pair(m.margin.i, m.margin.j)]);
    let constant = if m.constant.is_infinite() {
        "rows of different classes coincide: no Lipschitz function separates them".to_owned()
    } else {
        String::new()
    };
    facts.row(["Lipschitz constant of the labels", &short(m.constant.constant), &constant]);
    facts.row(["diameter", &short(m.diameter.distance), &pair(m.diameter.i, m.diameter.j)]);
    for class in &m.class_diameters {
        let where_ = class.pair.map(|p| pair(p.i, p.j)).unwrap_or_default();
        facts.row([&format!("diameter of class {}", class.class), &short(class.diameter), &where_]);
    }
    facts.row(["margin / diameter", &short(m.ratio_diameter), "L-Ratio^Diam"]);
    facts.row(["margin / sum of class diameters", &short(m.ratio_intra), "L-Ratio^Intra"]);
    let d = &report.doubling;
    let how = if d.exhaustive { String::new() } else { format!("(from {} of the rows)", d.points_used) };
    let range = format!("{} to {}", short(d.lower), short(d.upper));
    facts.row(["doubling dimension, estimated", &range, &how]);
    let mut text = facts.render();
    if m.class_margins.len() > 1 {
        text += "\nmargins between classes\n";
        let mut table = TextTable::new(vec![Align::Left, Align::Right]);
        for c in &m.class_margins {
            table.row([format!("{} and {}", c.first, c.second), short(c.pair.distance)]);
        }
        text += &table.render();
    }
    text += "\nlocal ratios of each row, its nearest row of the same class and its nearest row of another class\n";
    let mut local = TextTable::new([vec![Align::Left], vec![Align::Right; 5]].concat());
    local.row(["", "min", "25 %", "median", "75 %", "max"]);
    for (name, s) in [
        ("margin / diameter of the three rows", &report.local_diameter),
        ("margin / distance within the class", &report.local_intra),
    ] {
        let figures = s.quantiles.iter().map(|q| short(*q));
        local.row(std::iter::once(name.to_owned()).chain(figures));
    }
    text += &local.render();
    text += "margin / distance within the class above 1: the nearest row is one of the same class\n";
    if report.local_intra.infinite > 0 {
        let rows = counted(report.local_intra.infinite, "row", "rows");
        text += &format!(
            "margin / distance within the class is infinite for {rows}, with a row of the same class in the same place\n"
        );
    }
    text += "\nhistogram of margin / diameter of the three rows\n";
    text += &histogram(&report.local_diameter);
    text += "\nupper bounds on the error on new rows\n";
    let mut bounds = TextTable::new(vec![Align::Left, Align::Left]);
    if let Some(b) = &report.bounds {
        bounds.row(["by the diameter", &b.diameter.best().to_string()]);
        bounds.row(["by the class diameters", &b.intra.best().to_string()]);
    }
    let t = &report.trade_off;
    let best = t.best_point();
    let given_up = format!("rows left out: {}, margin {}", best.dropped, short(best.margin));
    bounds.row(["best trade-off", &format!("{} ({given_up})", best.bound)]);
    text + &bounds.render()
}

/// Two rows of a table, by their places in it.
fn both(first: &str, second: &str) -> String {
    let number = |place: &str| place.rsplit_once(", ").map(|(_, at)| at.to_owned());
    let (one, other) = (number(first), number(second));
    let at =
        |place: &Option<String>| place.as_deref()?.split_once(' ').map(|(word, n)| (word.to_owned(), n.to_owned()));
    match (at(&one), at(&other)) {
        (Some((word, i)), Some((same, j))) if word == same => format!("{word}s {i} and {j}"),
        _ => format!("{first} and {second}"),
    }
}

fn histogram(summary: &LocalSummary) -> String {
    let most = summary.histogram.counts.iter().copied().max().unwrap_or(0).max(1);
    let mut table = TextTable::new(vec![Align::Right, Align::Left, Align::Right, Align::Right, Align::Left]);
    for (ends, &count) in summary.histogram.edges.windows(2).zip(&summary.histogram.counts) {
        let bar = "█".repeat((30 * count).div_ceil(most));
        table.row([short(ends[0]), "to".to_owned(), short(ends[1]), count.to_string(), bar]);
    }
    table.render()
}
