use crate::failure::{Failure, Result};
use crate::input::{PrepareArgs, ReadArgs, RoleArgs};
use crate::method::{LipArgs, Method, VotingArgs};
use crate::output::{self, Align, TextTable};
use crate::rivals::RivalArgs;
use crate::session::{self, Session};
use lipmetric::evaluate::{Cell, Comparison, Entry, Protocol, Subject};
use lipmetric::learner::{Learner, TradeOff};
use lipmetric::model::{Recipe, Voting};
use lipmetric::table::Table;
use lipmetric_io::{Source, datasets, read_table};
use serde::Serialize;

/// Compare methods on data sets, by repeated splits
///
/// Every method sees the same stratified splits. The default is the paper's protocol: 60 % of each class to train, 10
/// times, one nearest neighbour, Lip with a slack per row and c = 1. Without DATA: the bundled data sets, and those that have been fetched.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lipmetric compare
  lipmetric compare haberman cancer --repeats 20
  lipmetric datasets export voting -o votes.csv
  lipmetric compare votes.csv --methods nn --k 3 --csv")]
pub(crate) struct Args {
    /// Data sets of the program, by name, or files, the label in their last column
    #[arg(value_name = "DATA")]
    data: Vec<String>,
    /// The methods, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', value_name = "METHODS", default_values_t = [Method::LipD, Method::LipI, Method::Euclidean])]
    methods: Vec<Method>,
    #[command(flatten)]
    lip: LipArgs,
    #[command(flatten)]
    rivals: RivalArgs,
    #[command(flatten)]
    voting: VotingArgs,
    #[command(flatten)]
    prepare: PrepareArgs,
    #[command(flatten)]
    roles: RoleArgs,
    #[command(flatten)]
    reading: ReadArgs,
    /// How many splits
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Splits")]
    repeats: usize,
    /// The part of each class to train on
    #[arg(long, value_name = "FRACTION", default_value_t = 0.6, help_heading = "Splits")]
    train_fraction: f64,
    /// Decides the splits
    #[arg(long, value_name = "SEED", default_value_t = 0, help_heading = "Splits")]
    seed: u64,
    /// Print every split's result as JSON
    #[arg(long, help_heading = "Output", conflicts_with = "csv")]
    json: bool,
    /// Print every split's result as CSV
    #[arg(long, help_heading = "Output")]
    csv: bool,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let subjects = subjects(args, session)?;
    let learner = |method: &Method| -> Result<Box<dyn Learner>> {
        let rival = args.rivals.learner(*method, &args.lip.shared(), None)?;
        match rival {
            Some(rival) => Ok(rival),
            None => args.lip.learner(*method, TradeOff::Absolute(1.0), None),
        }
    };
    let learners = args.methods.iter().map(learner).collect::<Result<Vec<_>>>()?;
    let entries: Vec<Entry<'_>> = args
        .methods
        .iter()
        .zip(&learners)
        .map(|(method, learner)| Entry {
            name: method.title().to_owned(),
            recipe: Recipe {
                learner: &**learner,
                fill: args.prepare.fill,
                scaling: args.prepare.scale,
                voting: args.voting.settings(),
            },
        })
        .collect();
    let protocol = Protocol { train_fraction: args.train_fraction, repeats: args.repeats, seed: args.seed };
    let comparison = Comparison::run(&subjects, &entries, &protocol, &session.supervisor("fits"))?;
    if args.json {
        return output::print_json(&Report::new(&comparison, &protocol, args));
    }
    if args.csv {
        return output::print(&as_csv(&comparison));
    }
    output::print(&describe(&comparison, &subjects, &protocol, args))
}

fn subjects(args: &Args, session: &Session) -> Result<Vec<Subject>> {
    let bundled = || datasets::list().iter().filter(|d| datasets::is_available(d)).map(|d| d.name);
    let names: Vec<&str> =
        if args.data.is_empty() { bundled().collect() } else { args.data.iter().map(String::as_str).collect() };
    names
        .into_iter()
        .map(|name| {
            let table = load(name, args)?;
            session.detail(format!("{name}: {} rows", table.rows()));
            let data = args.roles.read(&table)?;
            Ok(Subject { name: name.to_owned(), schema: data.schema, frame: data.frame, labels: data.labels })
        })
        .collect()
}

/// A data set's name wins over a file's; `./name` is always the file.
fn load(name: &str, args: &Args) -> Result<Table> {
    match datasets::find(name) {
        Ok(set) => Ok(datasets::load(set.name)?),
        Err(_) if name == "-" || std::path::Path::new(name).exists() => {
            Ok(read_table(&Source::new(name), &args.reading.options(&args.roles.ignore))?)
        }
        Err(e) => Err(Failure::Usage(format!("`{name}` is neither a file nor a data set: {e}"))),
    }
}

#[derive(Serialize)]
struct Report<'a> {
    train_fraction: f64,
    repeats: usize,
    seed: u64,
    fill: String,
    scale: String,
    data: Vec<DataReport<'a>>,
}

#[derive(Serialize)]
struct DataReport<'a> {
    name: &'a str,
    methods: Vec<CellReport<'a>>,
}

#[derive(Serialize)]
struct CellReport<'a> {
    method: &'a str,
    accuracy_mean: Option<f64>,
    accuracy_sd: Option<f64>,
    best: bool,
    fit_seconds_mean: Option<f64>,
    splits: Vec<SplitReport>,
}

#[derive(Serialize)]
struct SplitReport {
    accuracy: Option<f64>,
    fit_seconds: Option<f64>,
    status: Option<lipmetric::solver::Status>,
    gap: Option<f64>,
    refused: Option<String>,
}

impl<'a> Report<'a> {
    fn new(comparison: &'a Comparison, protocol: &Protocol, args: &Args) -> Self {
        let best = comparison.best();
        Self {
            train_fraction: protocol.train_fraction,
            repeats: protocol.repeats,
            seed: protocol.seed,
            fill: args.prepare.fill.to_string(),
            scale: args.prepare.scale.to_string(),
            data: (0..comparison.subjects.len())
                .map(|s| DataReport {
                    name: &comparison.subjects[s],
                    methods: (0..comparison.methods.len())
                        .map(|m| CellReport::new(&comparison.methods[m], &comparison.cells[s][m], best[s][m]))
                        .collect(),
                })
                .collect(),
        }
    }
}

impl<'a> CellReport<'a> {
    fn new(method: &'a str, cell: &Cell, best: bool) -> Self {
        let summary = cell.accuracy();
        Self {
            method,
            accuracy_mean: summary.map(|s| s.mean),
            accuracy_sd: summary.map(|s| s.sd),
            best,
            fit_seconds_mean: cell.fit_seconds(),
            splits: splits(cell),
        }
    }
}

fn splits(cell: &Cell) -> Vec<SplitReport> {
    cell.trials
        .iter()
        .map(|trial| SplitReport {
            accuracy: trial.as_ref().ok().map(|t| t.confusion.accuracy()),
            fit_seconds: trial.as_ref().ok().map(|t| t.fit_seconds),
            status: trial.as_ref().ok().map(|t| t.outcome.status),
            gap: trial.as_ref().ok().and_then(|t| t.outcome.gap),
            refused: trial.as_ref().err().map(ToString::to_string),
        })
        .collect()
}

fn as_csv(comparison: &Comparison) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let number = |v: Option<f64>| v.map(|v| v.to_string()).unwrap_or_default();
    let mut text = "data,method,split,accuracy,fit_seconds,refused\n".to_owned();
    for (subject, row) in comparison.subjects.iter().zip(&comparison.cells) {
        for (method, cell) in comparison.methods.iter().zip(row) {
            for (i, split) in splits(cell).into_iter().enumerate() {
                text += &format!(
                    "{},{},{},{},{},{}\n",
                    quoted(subject),
                    quoted(method),
                    i + 1,
                    number(split.accuracy),
                    number(split.fit_seconds),
                    split.refused.as_deref().map(quoted).unwrap_or_default()
                );
            }
        }
    }
    text
}

fn describe(comparison: &Comparison, subjects: &[Subject], protocol: &Protocol, args: &Args) -> String {
    let best = comparison.best();
    let colour = session::colour();
    let methods = comparison.methods.len();
    let mut table =
        TextTable::new([vec![Align::Left, Align::Right, Align::Right], vec![Align::Right; methods]].concat());
    table.row(["data", "rows", "classes"].map(str::to_owned).into_iter().chain(comparison.methods.iter().cloned()));
    let mut refusals = Vec::new();
    for (s, subject) in subjects.iter().enumerate() {
        let cells = (0..methods).map(|m| match comparison.cells[s][m].accuracy() {
            Some(a) => {
                let text = format!("{:.2} ± {:.2}", 100.0 * a.mean, 100.0 * a.sd);
                match (best[s][m] && methods > 1, colour) {
                    (true, true) => format!("\x1b[1m{text} *\x1b[0m"),
                    (true, false) => format!("{text} *"),
                    (false, _) => format!("{text}  "),
                }
            }
            None => {
                if let Some(reason) = comparison.cells[s][m].refusal() {
                    refusals.push(format!("{}, {}: {reason}", subject.name, comparison.methods[m]));
                }
                "-  ".to_owned()
            }
        });
        let head = [subject.name.clone(), subject.labels.len().to_string(), subject.labels.classes().len().to_string()];
        table.row(head.into_iter().chain(cells).collect::<Vec<_>>());
    }
    let row = |name: &str, cells: Vec<String>| {
        [name.to_owned(), String::new(), String::new()].into_iter().chain(cells.into_iter().map(|c| c + "  "))
    };
    if methods > 1 {
        let wins = (0..methods).map(|m| best.iter().filter(|b| b[m]).count().to_string()).collect();
        table.row(row("# of best", wins).collect::<Vec<_>>());
    }
    let seconds = (0..methods)
        .map(|m| {
            let total: f64 = comparison.cells.iter().filter_map(|row| row[m].fit_seconds()).sum();
            format!("{:.4}", total / comparison.cells.len().max(1) as f64)
        })
        .collect();
    table.row(row("fit seconds", seconds).collect::<Vec<_>>());
    let mut text = table.render();
    text += &format!(
        "\naccuracy in per cent, mean ± standard deviation over {} stratified splits,\n\
         {} of each class to train (seed {}); missing values: {}, scaling: {},\n\
         {}{}\n",
        protocol.repeats,
        protocol.train_fraction,
        protocol.seed,
        args.prepare.fill,
        args.prepare.scale,
        match args.voting.settings().k {
            Voting::CHOOSE => "nearest neighbours, as many as leave-one-out says".to_owned(),
            1 => "1 nearest neighbour".to_owned(),
            k => format!("{k} nearest neighbours"),
        },
        if methods > 1 { "; * best of its row" } else { "" }
    );
    for reason in refusals {
        text += &format!("- {reason}\n");
    }
    text
}
