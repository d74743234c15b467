mod beside;
mod certified;
mod columns;
mod differences;
mod export;
mod grid;
mod paper;
mod report;
mod table;

use super::shared::SplitArgs;
use crate::failure::{Failure, Result};
use crate::input::{PrepareArgs, ReadArgs, RoleArgs, TaskArgs};
use crate::memory;
use crate::output;
use crate::outputs;
use crate::pages::{self, PageArgs};
use crate::radius::CertifiedArgs;
use crate::session::Session;
use beside::PaperReport;
use columns::{Column, Own, Shared, USUAL, USUAL_FOR_NUMBERS, column};
use lipmetric::Task;
use lipmetric::data::Table;
use lipmetric::evaluate::{Analysis, Certification, Comparison, Entry, Protocol};
use lipmetric::method::Spec;
use lipmetric::model::ClassifierSpec;
use lipmetric::prepare::Dataset;
use lipmetric::view::ComparisonView;
use lipmetric_io::{Source, Target, atomic_write, datasets, read_table};
use report::{Report, as_csv};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The chance of a false call that is allowed.
const LEVEL: f64 = 0.05;

/// Compare methods on data sets, by repeated train/test splits or cross-validation
///
/// Every method sees the same stratified splits. The default is the paper's protocol and its columns: 60 % of each class to
/// train, 10 times, one nearest neighbour; Lip^D and Lip^I with a slack per row and c = 1, solved to the optimum; Lip^D(P) and
/// Lip^I(P) (lip-d-p, lip-i-p) with a slack per pair by the paper's ADMM, stopped after 10 iterations; NN; LMNN; MCML; NCA.
/// These predict by one neighbour, as the printed results do, unless --k says otherwise. Three more show what the program can do:
/// Lip^D(f) and Lip^I(f) (lip-d-f, lip-i-f) predict by the function that the paper selects, the Lipschitz extension of the
/// learned values, with c chosen by cross-validation; auto is the default of `fit`, with its own choice of k. Without DATA: the
/// bundled data sets, and those that have been fetched.
///
/// The lines below the table say which differences are significant at 5 %. After Ctrl-C or --time-limit the table covers the
/// splits that are complete.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lipmetric compare echo fertility --paper
  lipmetric compare haberman --methods nn,nn:k=9,lip-i:c-rel=0.1 --stats
  lipmetric compare echo --methods nn,lmnn --radius 0,0.2 --rank-by 0.2
  lipmetric datasets export voting -o votes.csv
  lipmetric compare votes.csv --methods nn,lmnn --k 3 --csv
  lipmetric compare echo --methods nn,lmnn --folds 5
  lipmetric compare echo --methods nn,nn:dims=2,lmnn:dims=2 --k auto
  lipmetric compare echo --methods nn,lip-i --latex -o table.tex
  lipmetric compare echo fertility --methods nn,lmnn --report two.html")]
pub(crate) struct Args {
    /// Bundled data sets by name, or files (label in the last column unless --label says otherwise)
    #[arg(value_name = "DATA")]
    data: Vec<String>,
    /// The same, as other commands have it
    #[arg(long = "data", value_name = "NAME", hide = true)]
    named: Vec<String>,
    /// The methods, separated by commas: lip-d, lip-d-p, lip-d-f, lip-i, lip-i-p, lip-i-f, lip, lip-local, lip-robust, nn,
    /// lmnn, lmml, mcml, nca, agop, discriminant, arml, auto; options of one column follow it after colons, as in lip-i:c=0.1:slack=pair or
    /// nca:loss=log
    /// [with --task regression: nn, mlkr, agop, auto]
    #[arg(long, value_parser = column, value_delimiter = ',', value_name = "METHODS", default_values = USUAL)]
    methods: Vec<Column>,
    #[command(flatten)]
    task: TaskArgs,
    #[command(flatten)]
    all: Own,
    #[command(flatten)]
    prepare: PrepareArgs,
    #[command(flatten)]
    roles: RoleArgs,
    #[command(flatten)]
    reading: ReadArgs,
    #[command(flatten)]
    splits: SplitArgs,
    /// Stop this many seconds after the program began; the table covers the splits that are complete by then
    #[arg(long, value_name = "SECONDS", value_parser = crate::cli::seconds, help_heading = "Splits")]
    time_limit: Option<f64>,
    #[command(flatten)]
    certified: CertifiedArgs,
    /// Judge the methods by their certified accuracy at this radius, one of --radius: the table, the ranks and the tests
    #[arg(long, value_name = "RADIUS", requires = "radius", help_heading = "Certified accuracy")]
    rank_by: Option<f64>,
    /// The column that the others are tested against [default: nn, or else the first]
    #[arg(long, value_name = "METHOD", help_heading = "Output")]
    against: Option<String>,
    /// Also print the difference and its p-value on each data set
    #[arg(long, help_heading = "Output")]
    stats: bool,
    /// Print the paper's results beside these, and what it leaves open
    #[arg(long, help_heading = "Output")]
    paper: bool,
    /// Print the result of every split as JSON, with the confusion matrices
    #[arg(long, help_heading = "Output", group = "form")]
    json: bool,
    /// Print the result of every split as CSV, with the confusion matrices
    #[arg(long, help_heading = "Output", group = "form")]
    csv: bool,
    /// Print the table in LaTeX
    #[arg(long, help_heading = "Output", group = "form")]
    latex: bool,
    /// Print the table in Markdown
    #[arg(long, help_heading = "Output", group = "form")]
    markdown: bool,
    /// Write what would be printed to this file
    #[arg(short, long, value_name = "OUT", help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten)]
    pages: PageArgs,
}

impl Args {
    /// The columns: those that were asked for, or the usual ones of the task.
    fn columns(&self) -> Vec<Column> {
        let usual = self.methods.iter().map(|column| column.text.as_str()).eq(USUAL);
        if usual && self.task.task() == Task::Regression {
            return USUAL_FOR_NUMBERS.iter().filter_map(|name| column(name).ok()).collect();
        }
        self.methods.clone()
    }
}

/// A comparison and what belongs to it.
struct Outcome<'a> {
    comparison: Comparison,
    /// What its differences are worth; `None` of a single column.
    analysis: Option<Analysis>,
    protocol: Protocol,
    specs: &'a [Spec],
    /// How each column predicts.
    classifiers: Vec<ClassifierSpec>,
    seconds: f64,
}

impl Args {
    /// The data sets and files.
    fn names(&self) -> impl Iterator<Item = &str> {
        self.data.iter().chain(&self.named).map(String::as_str)
    }
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let begun = Instant::now();
    let limit = session.limit(args.time_limit)?;
    let inputs: Vec<Option<&Path>> = args.names().map(|name| Some(Path::new(name))).collect();
    args.pages.check(&inputs)?;
    if let Some(output) = &args.output {
        outputs::check("--output", output, &inputs)?;
    }
    let (task, methods) = (args.task.task(), args.columns());
    let against = reference(args, &methods)?;
    let asked = certification(args)?;
    if task == Task::Regression {
        let of_classes =
            [("--radius", asked.is_some()), ("--paper", args.paper), ("--report, --plots", args.pages.wanted())];
        if let Some((option, _)) = of_classes.into_iter().find(|o| o.1) {
            return Err(Failure::Usage(format!(
                "{option}: this is about classes, of which --task regression has none"
            )));
        }
        if args.names().next().is_none() {
            return Err(Failure::Usage(
                "--task regression: name the files to compare on; the bundled data have classes".to_owned(),
            ));
        }
    }
    let shared = Shared::new(&args.all, &methods)?;
    let specs = methods.iter().map(|column| column.spec(&shared)).collect::<Result<Vec<_>>>()?;
    let predict = |(column, spec): (&Column, &Spec)| column.classifier(spec, task, &args.all.prediction);
    let classifiers = methods.iter().zip(&specs).map(predict).collect::<Result<Vec<_>>>()?;
    let starts = methods.iter().map(|column| column.start(&shared)).collect::<Result<Vec<_>>>()?;
    let subjects = subjects(args, session)?;
    let entries: Vec<Entry<'_>> = methods
        .iter()
        .zip(specs.iter().zip(&classifiers).zip(&starts))
        .map(|(column, ((spec, classifier), start))| Entry {
            name: column.title.clone(),
            recipe: args
                .prepare
                .recipe(spec, *classifier)
                .starting_from(start.as_ref())
                .reduced_to(column.dims(&args.all.prediction)),
        })
        .collect();
    foresee(&entries, &subjects, args.reading.max_memory)?;
    let protocol = args.splits.protocol();
    let supervisor = session.supervisor("fits", limit);
    // Once there are splits to show, a fit that is in the middle of a step is waited for.
    let (done, first) = (supervisor.done.clone(), subjects.len() * entries.len());
    let deadline = session.deadline(limit, move || (done.load(Ordering::SeqCst) < first).then(late));
    let comparison = Comparison::certified(&subjects, &entries, &protocol, asked.as_ref(), &supervisor);
    drop(deadline);
    let comparison = match comparison {
        Err(lipmetric::Error::Interrupted) if !session.interrupted() => return Err(late()),
        other => other?,
    };
    let analysis =
        if entries.len() > 1 { Some(Analysis::of(&comparison, &methods[against].title, LEVEL)?) } else { None };
    let outcome =
        Outcome { comparison, analysis, protocol, classifiers, specs: &specs, seconds: begun.elapsed().as_secs_f64() };
    if args.pages.wanted() {
        let mut view = ComparisonView::of(&outcome.comparison, outcome.analysis.as_ref());
        (view.train_fraction, view.seconds) = (protocol.train_fraction, outcome.seconds);
        args.pages.write(&lipmetric_report::compare_page(&view, &pages::about([])), session)?;
    }
    show(&outcome, &subjects, args)?;
    let (done, asked) = (outcome.comparison.repeats(), protocol.count());
    if session.interrupted() && done < asked {
        return Err(Failure::Interrupted(format!("; the results are those of {done} of {asked} splits")));
    }
    if done < asked {
        session.note(format!("--time-limit was reached: the results are those of {done} of {asked} splits"));
    }
    Ok(())
}

fn late() -> Failure {
    let message = "--time-limit was reached before the first split was complete; allow more time, or use fewer methods or data sets";
    Failure::Failed(message.to_owned())
}

/// The certified accuracies that are asked for, and which of them judges.
fn certification(args: &Args) -> Result<Option<Certification>> {
    let Some(asked) = args.certified.certification()? else { return Ok(None) };
    let Some(radius) = args.rank_by else { return Ok(Some(asked)) };
    match asked.at.iter().position(|r| *r == radius) {
        Some(at) => Ok(Some(asked.judged_at(Some(at)))),
        None => Err(Failure::Usage(format!("--rank-by: {radius} is none of the radii of --radius"))),
    }
}

/// Prints the result, or writes it to a file, in the form that was asked for.
fn show(outcome: &Outcome<'_>, subjects: &[Dataset], args: &Args) -> Result {
    let text = if args.json {
        output::json(&Report::new(outcome, subjects, args))?
    } else if args.csv {
        as_csv(&outcome.comparison, &args.certified.radius)
    } else if args.latex {
        export::latex(outcome, args)
    } else if args.markdown {
        export::markdown(outcome, args)
    } else {
        let text = describe(outcome, args);
        if args.output.is_none() {
            return output::print(&text);
        }
        text
    };
    match &args.output {
        Some(path) if Target::new(path) != Target::Stdout => Ok(atomic_write(path, |w| w.write_all(text.as_bytes()))?),
        _ => output::write(&text),
    }
}

fn describe(outcome: &Outcome<'_>, args: &Args) -> String {
    let width = grid::terminal_width();
    let mut text = table::describe(outcome, args, width);
    if !args.certified.radius.is_empty() {
        text += "\n";
        text += &certified::describe(&outcome.comparison, &args.certified, width);
    }
    if let (Some(width), Some(ranks)) = (crate::draw::room(), outcome.comparison.average_ranks()) {
        text += "\naverage rank (1 is best)\n";
        text += &drawn_ranks(&outcome.comparison.methods, &ranks, width);
    }
    if let Some(analysis) = &outcome.analysis {
        text += "\n";
        text += &differences::brief(analysis, width);
        if args.stats {
            text += "\n";
            text += &differences::in_full(analysis, &outcome.comparison, width);
        }
    }
    if args.paper {
        text += "\n";
        text += &PaperReport::new(&outcome.comparison).describe(width);
    }
    text
}

/// The methods' ranks as bars, the best first.
fn drawn_ranks(methods: &[String], ranks: &[f64], width: usize) -> String {
    let mut rows: Vec<(String, f64, String)> =
        methods.iter().zip(ranks).map(|(m, &r)| (m.clone(), r, format!("{r:.2}"))).collect();
    rows.sort_by(|a, b| a.1.total_cmp(&b.1));
    crate::draw::bars(&rows, 0.0, width)
}

/// Which column the others are held against; columns that have the same name are refused.
fn reference(args: &Args, methods: &[Column]) -> Result<usize> {
    for (i, column) in methods.iter().enumerate() {
        if methods[..i].iter().any(|c| c.title == column.title) {
            return Err(Failure::Usage(format!("--methods: `{}` is there twice", column.title)));
        }
    }
    match &args.against {
        None => Ok(methods.iter().position(|c| c.is("nn")).unwrap_or(0)),
        Some(name) => methods.iter().position(|c| c.is(name)).ok_or_else(|| {
            let known: Vec<&str> = methods.iter().map(|c| c.text.as_str()).collect();
            Failure::Usage(format!("--against: `{name}` is none of the columns {}", known.join(", ")))
        }),
    }
}

/// Refuses what would not find room in memory, before the work.
fn foresee(entries: &[Entry<'_>], subjects: &[Dataset], limit: Option<u64>) -> Result {
    for (subject, entry) in subjects.iter().flat_map(|s| entries.iter().map(move |e| (s, e))) {
        memory::check(&entry.recipe.foresee(subject), limit, &format!("{}, {}", subject.name, entry.name))?;
    }
    Ok(())
}

fn subjects(args: &Args, session: &Session) -> Result<Vec<Dataset>> {
    let bundled = || datasets::list().iter().filter(|d| datasets::is_available(d)).map(|d| d.name);
    let named: Vec<&str> = args.names().collect();
    let names = if named.is_empty() { bundled().collect() } else { named };
    names
        .into_iter()
        .map(|name| {
            let table = load(name, args)?;
            session.detail(format!("{name}: {} rows", table.rows()));
            Ok(args.roles.read(&table, args.task.task(), session)?.named(name))
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
        Err(e) => Err(Failure::Usage(format!("`{name}` is no file, and {e}"))),
    }
}
