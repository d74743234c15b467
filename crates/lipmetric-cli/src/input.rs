//! From what was typed to a table, and to what its columns are.

use crate::failure::{Failure, Result};
use crate::output::counted;
use crate::session::Session;
use clap::{Args, ValueEnum};
use lipmetric::Model;
use lipmetric::data::Table;
use lipmetric::prepare::{ColumnRef, Dataset, Fill, Kind, Roles, Scaling};
use lipmetric_io::{Format, ReadOptions, Source, TableStream, datasets, read_table};
use std::path::PathBuf;

/// Where rows come from.
#[derive(Args)]
pub(crate) struct DataArgs {
    /// File to read: CSV, TSV, LIBSVM, NPY, NPZ or Parquet, plain or gzipped; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present = "data", conflicts_with = "data")]
    file: Option<PathBuf>,
    /// A bundled data set instead of a file (`lipmetric datasets list`)
    #[arg(long, value_name = "NAME")]
    data: Option<String>,
    #[command(flatten)]
    reading: ReadArgs,
}

/// How a file is to be read, where its name and content do not tell.
#[derive(Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadArgs {
    /// The file's format (default: detected): csv, tsv, libsvm, npy, npz, parquet
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// What separates cells: a character, or `tab` or `space` (default: detected)
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Whether the first row holds the columns' names (default: detected)
    #[arg(long, value_name = "yes|no")]
    header: Option<YesNo>,
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
        }
    }
}

fn no_data() -> Failure {
    Failure::Usage("name a FILE, or a data set with --data".to_owned())
}

impl DataArgs {
    /// The whole table.
    pub(crate) fn table(&self, ignore: &IgnoreArgs, session: &Session) -> Result<Table> {
        let table = match (&self.file, &self.data) {
            (Some(file), _) => read_table(&Source::new(file), &self.reading.options(ignore))?,
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

    /// The table in batches.
    pub(crate) fn stream(&self, ignore: &IgnoreArgs, model: &Model) -> Result<TableStream> {
        match (&self.file, &self.data) {
            (Some(file), _) => {
                let mut options = self.reading.options(ignore);
                options.skip.extend(model.preparation.schema().ignored.iter().cloned());
                Ok(TableStream::open(&Source::new(file), &options)?)
            }
            (None, Some(name)) => Ok(TableStream::from_table(datasets::load(name)?)),
            (None, None) => Err(no_data()),
        }
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
        let mut at = 0;
        table.columns.retain(|_| {
            at += 1;
            !out.contains(&(at - 1))
        });
        Ok(())
    }
}

fn kind_of_column(text: &str) -> Result<(String, Kind), String> {
    let (column, kind) = text.rsplit_once('=').ok_or("write COLUMN=KIND, e.g. --kind zip=category")?;
    Ok((column.to_owned(), kind.parse::<Kind>().map_err(|e| e.to_string())?))
}

/// How columns become features.
#[derive(Args)]
#[command(next_help_heading = "Preparation")]
pub(crate) struct PrepareArgs {
    /// How missing values (empty, NA, NaN, null, ?) are filled: median, mean, mode, zero, or error to refuse them
    #[arg(long, value_name = "RULE", default_value_t)]
    pub(crate) fill: Fill,
    /// How numeric features are scaled: none, standard (mean 0, deviation 1), minmax (0 to 1)
    #[arg(long, value_name = "RULE", default_value_t)]
    pub(crate) scale: Scaling,
}

impl RoleArgs {
    /// Decides what the columns of a table are, and reads them.
    pub(crate) fn read(&self, table: &Table) -> Result<Dataset> {
        let roles = Roles {
            label: self.label.as_ref().map(ColumnRef::new),
            ignore: self.ignore.columns(),
            kinds: self.kind.iter().map(|(c, k)| (ColumnRef::new(c), *k)).collect(),
        };
        Ok(Dataset::read(table, &roles)?)
    }
}
