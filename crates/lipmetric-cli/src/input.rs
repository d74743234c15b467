//! From what was typed to a table, and to what its columns are.

use crate::failure::{Failure, Result};
use crate::memory;
use crate::method::options::in_flags;
use crate::output::counted;
use crate::session::Session;
use clap::{Args, ValueEnum};
use lipmetric::data::{Column, Table};
use lipmetric::method::Choose;
use lipmetric::prepare::{ColumnRef, Dataset, Fill, Kind, Notation, Roles, Scaling};
use lipmetric::{Model, Task};
use lipmetric_io::model::{StoredModel, load_model_from};
use lipmetric_io::{
    Encoding, Format, ReadOptions, Source, SparseTable, TableStream, datasets, read_sparse, read_table,
};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The model of a file, or of standard input.
pub(crate) fn load_model(path: &Path) -> Result<StoredModel> {
    Ok(load_model_from(&Source::new(path))?)
}

/// Where rows come from.
#[derive(Args)]
pub(crate) struct DataArgs {
    /// File to read: CSV, TSV, LIBSVM, NPY, NPZ, Parquet or JSON lines, plain or gzipped; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present = "data", conflicts_with = "data")]
    file: Option<PathBuf>,
    /// A bundled data set instead of a file (`lipmetric datasets list`)
    #[arg(long, value_name = "NAME")]
    data: Option<String>,
    #[command(flatten)]
    reading: ReadArgs,
}

/// How a file is to be read, where its name and content do not tell.
#[derive(Args, Clone)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadArgs {
    /// The file's format (default: detected): csv, tsv, libsvm, npy, npz, parquet, jsonl
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// What separates cells: a character, or `tab` or `space` (default: detected)
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Whether the first row holds the columns' names (default: detected)
    #[arg(long, value_name = "yes|no")]
    header: Option<YesNo>,
    /// How the text is encoded: utf-8, utf-16, latin-1, windows-1252 (default: UTF-8, or UTF-16 where the file says so)
    #[arg(long, value_name = "NAME")]
    encoding: Option<Encoding>,
    /// Refuse what would take more memory than this, such as 800M or 2G (default: what the machine has free)
    #[arg(long, value_name = "SIZE", value_parser = memory::parse)]
    pub(crate) max_memory: Option<u64>,
}

#[derive(Clone, Copy, ValueEnum)]
enum YesNo {
    Yes,
    No,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        "space" => Ok(b' '),
        _ => match text.as_bytes() {
            [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"\"\n\r.+-".contains(byte) => Ok(*byte),
            _ => Err("give one character such as `;`, or `tab` or `space`".to_owned()),
        },
    }
}

impl ReadArgs {
    pub(crate) fn options(&self, skip: &IgnoreArgs) -> ReadOptions {
        ReadOptions {
            format: self.format,
            delimiter: self.delimiter,
            header: self.header.map(|h| matches!(h, YesNo::Yes)),
            skip: skip.ignore.clone(),
            encoding: self.encoding,
            max_memory: self.max_memory.or_else(memory::available),
            ..ReadOptions::default()
        }
    }
}

pub(crate) fn no_data() -> Failure {
    Failure::Usage("name a FILE, or a data set with --data".to_owned())
}

impl DataArgs {
    pub(crate) fn new(file: Option<PathBuf>, data: Option<String>, reading: ReadArgs) -> Self {
        Self { file, data, reading }
    }

    /// The whole table.
    pub(crate) fn table(&self, ignore: &IgnoreArgs, session: &Session) -> Result<Table> {
        let table = match (&self.file, &self.data) {
            (Some(file), _) => session.reading(|| read_table(&Source::new(file), &self.reading.options(ignore)))?,
            (None, Some(name)) => datasets::load(name)?,
            (None, None) => return Err(no_data()),
        };
        session.detail(format!(
            "{}: {}, {}{}",
            table.origin,
            counted(table.rows(), "row", "rows"),
            counted(table.columns.len(), "column", "columns"),
            if table.named { "" } else { " (no header)" }
        ));
        Ok(table)
    }

    /// The rows of a LIBSVM file without their zeros, with so many features at most; nothing if it is
    /// another file, one with missing values, or a pipe.
    pub(crate) fn sparse(&self, most: Option<usize>, session: &Session) -> Result<Option<SparseTable>> {
        // Only what can be opened again.
        let Some(file) = self.file.as_ref().filter(|file| file.is_file()) else { return Ok(None) };
        let options = self.reading.options(&IgnoreArgs { ignore: Vec::new() });
        Ok(session.reading(|| {
            read_sparse(&Source::new(file), &ReadOptions { allow_empty: true, max_features: most, ..options })
        })?)
    }

    /// The file that is read, if it is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The most memory to take, where it was said.
    pub(crate) fn max_memory(&self) -> Option<u64> {
        self.reading.max_memory
    }

    /// The table in batches, as its rows come. Columns that the model ignores are not read, unless they are wanted.
    pub(crate) fn stream(&self, ignore: &IgnoreArgs, model: &Model, keep: &KeepArgs) -> Result<TableStream> {
        let schema = model.preparation.schema();
        match (&self.file, &self.data) {
            (Some(file), _) => {
                let mut options = self.reading.options(ignore);
                options.skip.retain(|name| !keep.wants(name));
                options.skip.extend(schema.ignored.iter().filter(|name| !keep.wants(name)).cloned());
                (options.streaming, options.allow_empty) = (true, true);
                options.max_features = Some(schema.width);
                Ok(TableStream::open(&Source::new(file), &options)?)
            }
            (None, Some(name)) => Ok(TableStream::from_table(datasets::load(name)?)),
            (None, None) => Err(no_data()),
        }
    }
}

/// Columns of the input that go into the output as they are.
#[derive(Args, Default)]
pub(crate) struct KeepArgs {
    /// Columns of the input to put before the results, by name or number, separated by commas; `all` for every one
    #[arg(long, value_name = "COLS|all", value_delimiter = ',', allow_hyphen_values = true, help_heading = "Output")]
    keep: Vec<String>,
}

impl KeepArgs {
    fn all(&self) -> bool {
        self.keep == ["all"]
    }

    /// The same with one more column.
    pub(crate) fn with(&self, column: Option<&str>) -> Self {
        let one = column.filter(|_| !self.all()).map(str::to_owned);
        Self { keep: self.keep.iter().cloned().chain(one).collect() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.keep.is_empty()
    }

    /// Whether a column may be wanted; one that is given by its number may be any.
    fn wants(&self, name: &str) -> bool {
        self.all() || self.keep.iter().any(|k| k == name || k.parse::<i64>().is_ok())
    }

    /// The columns that are wanted of a batch.
    pub(crate) fn of(&self, batch: &Table) -> Result<Vec<Column>> {
        if self.all() {
            return Ok(batch.columns.clone());
        }
        self.keep.iter().map(|name| Ok(batch.columns[ColumnRef::new(name).find(batch)?].clone())).collect()
    }
}

/// Which column is what.
#[derive(Args)]
#[command(next_help_heading = "Columns")]
pub(crate) struct RoleArgs {
    /// The label's column: its name, or its number from 1, or from the end with a minus (default: the last)
    #[arg(long, value_name = "NAME|INDEX", allow_hyphen_values = true)]
    pub(crate) label: Option<String>,
    #[command(flatten)]
    pub(crate) ignore: IgnoreArgs,
    /// Treat a column as numeric, boolean or category, whatever its content suggests (repeatable)
    #[arg(long, value_name = "COL=KIND", value_parser = kind_of_column)]
    kind: Vec<(String, Kind)>,
    /// What separates a number's whole part from its fraction: `.` or `,` (default: `,` where cells are not separated by commas and
    /// the columns leave no doubt, else `.`)
    #[arg(long, value_name = "MARK")]
    decimal: Option<char>,
    /// What stands between groups of three digits: a character, or `space` (default: nothing)
    #[arg(long, value_name = "MARK", value_parser = thousands)]
    thousands: Option<char>,
    /// Further cells that stand for a missing value, separated by commas, such as -999,#N/A,None
    #[arg(long, value_name = "CELLS", value_delimiter = ',', allow_hyphen_values = true)]
    missing: Vec<String>,
    /// Leave out rows without a label instead of refusing the table
    #[arg(long)]
    pub(crate) skip_unlabelled: bool,
}

fn thousands(text: &str) -> Result<char, String> {
    let mut letters = text.chars();
    match (text, letters.next(), letters.next()) {
        ("space", ..) => Ok(' '),
        (_, Some(only), None) => Ok(only),
        _ => Err("give one character such as `,` or `.`, or `space`".to_owned()),
    }
}

/// Columns to leave out.
#[derive(Args)]
pub(crate) struct IgnoreArgs {
    /// Columns to leave out, by name or number, separated by commas
    #[arg(long, value_name = "COLS", value_delimiter = ',', allow_hyphen_values = true)]
    ignore: Vec<String>,
}

impl IgnoreArgs {
    fn columns(&self) -> Vec<ColumnRef> {
        self.ignore.iter().map(ColumnRef::new).collect()
    }

    /// Takes the columns out of a table.
    pub(crate) fn drop_from(&self, table: &mut Table) -> Result {
        let out = self.columns().iter().map(|c| c.find(table)).collect::<Result<Vec<_>, _>>()?;
        remove(table, &out);
        Ok(())
    }
}

/// Takes columns out of a table.
pub(crate) fn remove(table: &mut Table, columns: &[usize]) {
    let out: HashSet<usize> = columns.iter().copied().collect();
    let mut at = 0;
    table.columns.retain(|_| {
        at += 1;
        !out.contains(&(at - 1))
    });
}

fn kind_of_column(text: &str) -> Result<(String, Kind), String> {
    let (column, kind) = text.rsplit_once('=').ok_or("write COLUMN=KIND, e.g. --kind zip=category")?;
    Ok((column.to_owned(), kind.parse::<Kind>().map_err(|e| e.to_string())?))
}

/// What is to be predicted.
#[derive(Args, Clone, Copy)]
pub(crate) struct TaskArgs {
    /// What is to be predicted: `classification`, a class, or `regression`, a number
    #[arg(long, value_enum, value_name = "TASK", default_value_t = TaskKind::Classification, help_heading = "Columns")]
    task: TaskKind,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TaskKind {
    /// The label is a class
    Classification,
    /// The label is a number
    Regression,
}

impl TaskArgs {
    pub(crate) fn task(self) -> Task {
        match self.task {
            TaskKind::Classification => Task::Classification,
            TaskKind::Regression => Task::Regression,
        }
    }
}

/// How columns become features.
#[derive(Args)]
#[command(next_help_heading = "Preparation")]
pub(crate) struct PrepareArgs {
    /// How missing values (empty, NA, NaN, null, ?) are filled: median, mean, mode, zero, or error to refuse them
    #[arg(long, value_name = "RULE", default_value_t)]
    pub(crate) fill: Fill,
    /// How numeric features are scaled: none, standard (mean 0, deviation 1), minmax (0 to 1),
    /// quantile (the normal quantile of the rank), unit (each row to length 1, as for cosine similarity: embeddings),
    /// or auto: standard, but `--method auto` takes quantile or minmax where that predicts held-out rows better
    #[arg(long, value_name = "RULE", default_value_t)]
    pub(crate) scale: Scale,
}

/// A scaling, or that it is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scale(pub(crate) Choose<Scaling>);

impl Scale {
    /// The scaling where nothing chooses one.
    pub(crate) fn usual(self) -> Scaling {
        self.0.unwrap_or_default()
    }
}

impl Default for Scale {
    fn default() -> Self {
        Self(Choose::Auto)
    }
}

impl FromStr for Scale {
    type Err = lipmetric::Error;

    fn from_str(text: &str) -> lipmetric::Result<Self> {
        if text == "auto" {
            return Ok(Self::default());
        }
        let others = |_| {
            lipmetric::Error::parameter(
                "scale",
                format!("`{text}` is not one of auto, none, standard, minmax, quantile, unit"),
            )
        };
        text.parse::<Scaling>().map(|scaling| Self(scaling.into())).map_err(others)
    }
}

impl std::fmt::Display for Scale {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Choose::Value(scaling) => scaling.fmt(f),
            Choose::Auto => f.write_str("auto"),
        }
    }
}

impl RoleArgs {
    /// Whether the columns are what the file says, without any option.
    pub(crate) fn is_plain(&self) -> bool {
        let nothing = self.label.is_none() && self.ignore.ignore.is_empty() && self.kind.is_empty();
        nothing && self.missing.is_empty() && !self.skip_unlabelled
    }

    /// Decides what the columns of a table are, and reads them; tells what a person should know about them.
    pub(crate) fn read(&self, table: &Table, task: Task, session: &Session) -> Result<Dataset> {
        self.read_named(table, task, None, session)
    }

    /// The same where a column that is no feature names the rows.
    pub(crate) fn read_named(&self, table: &Table, task: Task, id: Option<&str>, session: &Session) -> Result<Dataset> {
        let mut roles = self.roles(task);
        roles.ignore.extend(id.map(ColumnRef::new));
        told(Dataset::read(table, &roles)?, session)
    }

    /// The same for rows without labels, but with a column that names them.
    pub(crate) fn read_unlabelled(&self, table: &Table, id: Option<&str>, session: &Session) -> Result<Dataset> {
        let mut roles = self.roles(Task::Pairs);
        roles.ignore.extend(id.map(ColumnRef::new));
        told(Dataset::unlabelled(table, &roles)?, session)
    }

    fn roles(&self, task: Task) -> Roles {
        let mut notation = Notation::default();
        (notation.decimal, notation.thousands) = (self.decimal.unwrap_or(notation.decimal), self.thousands);
        notation.missing.clone_from(&self.missing);
        Roles {
            label: self.label.as_ref().map(ColumnRef::new),
            ignore: self.ignore.columns(),
            kinds: self.kind.iter().map(|(c, k)| (ColumnRef::new(c), *k)).collect(),
            notation,
            recognise_commas: self.decimal.is_none() && self.thousands.is_none(),
            skip_unlabelled: self.skip_unlabelled,
            task,
        }
    }
}

/// Tells what a person should know about a data set.
fn told(data: Dataset, session: &Session) -> Result<Dataset> {
    for note in &data.notes {
        session.note(format!("note: {}", in_flags(note)));
    }
    Ok(data)
}
