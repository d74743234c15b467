use crate::failure::Result;
use crate::method::options::in_flags;
use crate::output::{self, Align, TextTable};
use crate::session::Session;
use clap::Subcommand;
use lipmetric_io::datasets::{self, Dataset, FetchOptions};
use lipmetric_io::{TableWriter, Target, WriteOptions};
use serde::Serialize;
use std::path::PathBuf;

/// List, show and export the bundled data sets
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lipmetric datasets list
  lipmetric datasets show australian
  lipmetric datasets export australian -o australian.csv
  lipmetric datasets fetch fourclass --from downloaded.txt")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List the data sets
    List {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what a data set holds, where it comes from and how to cite it
    Show {
        /// The data set
        name: String,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a data set to a file, in the format that its name asks for
    Export {
        /// The data set
        name: String,
        /// The file (default: standard output, as CSV)
        #[arg(short, long, value_name = "OUT")]
        output: Option<PathBuf>,
    },
    /// Check and keep a data set that is not bundled: from a file, or by download if this build has the feature `fetch`
    Fetch {
        /// The data set
        name: String,
        /// Take it from this file instead
        #[arg(long, value_name = "FILE", conflicts_with = "url")]
        from: Option<PathBuf>,
        /// Download it from this address instead
        #[arg(long, value_name = "URL")]
        url: Option<String>,
    },
}

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    title: &'static str,
    rows: usize,
    features: usize,
    classes: Vec<(&'static str, usize)>,
    missing: usize,
    available: bool,
    description: &'static str,
    remarks: Vec<String>,
    source: &'static str,
    citation: &'static str,
    licence: &'static str,
}

impl Entry {
    fn new(set: &Dataset) -> Self {
        Self {
            name: set.name,
            title: set.title,
            rows: set.rows,
            features: set.features,
            classes: set.classes.to_vec(),
            missing: set.missing,
            available: datasets::is_available(set),
            description: set.description,
            remarks: set.remarks.iter().map(|r| in_flags(r)).collect(),
            source: set.source,
            citation: set.citation,
            licence: set.licence,
        }
    }
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    match &args.action {
        Action::List { json } => {
            let entries: Vec<Entry> = datasets::list().iter().map(Entry::new).collect();
            if *json { output::print_json(&entries) } else { output::print(&list(&entries)) }
        }
        Action::Show { name, json } => {
            let entry = Entry::new(datasets::find(name)?);
            if *json { output::print_json(&entry) } else { output::print(&show(&entry)) }
        }
        Action::Export { name, output } => {
            let table = datasets::load(name)?;
            let target = output.as_ref().map_or(Target::Stdout, Target::new);
            let mut writer = TableWriter::create(&target, &WriteOptions::default())?;
            writer.write_batch(&table)?;
            Ok(writer.finish()?)
        }
        Action::Fetch { name, from, url } => {
            let options = FetchOptions { from: from.clone(), url: url.clone(), ..FetchOptions::default() };
            let path = datasets::fetch(name, &options)?;
            session.note(format!("{name}: checked and kept in {}", path.display()));
            Ok(())
        }
    }
}

fn classes(entry: &Entry) -> String {
    entry.classes.iter().map(|(class, n)| format!("{class}: {n}")).collect::<Vec<_>>().join(", ")
}

fn list(entries: &[Entry]) -> String {
    let mut table =
        TextTable::new(vec![Align::Left, Align::Right, Align::Right, Align::Right, Align::Left, Align::Left]);
    table.row(["name", "rows", "features", "missing", "classes", ""]);
    for e in entries {
        let state = if e.available { String::new() } else { format!("(lipmetric datasets fetch {})", e.name) };
        table.row([
            e.name.to_owned(),
            e.rows.to_string(),
            e.features.to_string(),
            e.missing.to_string(),
            classes(e),
            state,
        ]);
    }
    table.render()
}

fn show(e: &Entry) -> String {
    let mut facts = TextTable::new(vec![Align::Left, Align::Left]);
    facts.row(["rows", &e.rows.to_string()]);
    facts.row(["features", &e.features.to_string()]);
    facts.row(["missing", &e.missing.to_string()]);
    facts.row(["classes", &classes(e)]);
    facts.row(["source", e.source]);
    facts.row(["licence", e.licence]);
    facts.row(["cite as", e.citation]);
    if !e.available {
        facts.row(["to get it", &format!("lipmetric datasets fetch {}", e.name)]);
    }
    let remarks: String = e.remarks.iter().map(|r| format!("- {r}\n")).collect();
    format!("{} ({})\n\n{}\n{remarks}\n{}", e.title, e.name, e.description, facts.render())
}
