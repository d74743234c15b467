//! A table as a file. Files are written beside their final place and renamed when complete, so that a crash, a
//! full disk or an interrupt never leaves half a file under the name that was asked for.
//!
//! What each format keeps:
//!
//! * CSV, TSV: everything, with a header row; missing numbers are empty cells.
//! * JSON lines: everything; missing values are `null`, text that is a number is written as one.
//! * LIBSVM: numbers and one label per row (`0` where there is no label column); names are lost. Text that is a
//!   number is written as one, a missing value as `nan`.
//! * NPY: numbers only, in one array of doubles; names are lost.
//! * NPZ: numbers as `X`, the labels as `y` (whole numbers if all are, else text), the names as `columns`.
//! * Parquet: numbers as doubles, other text as strings, missing values as nulls. Text columns that are all
//!   numbers in the first batch become doubles, except the label.

mod atomic;
mod delimited;
mod jsonl;
mod libsvm;
mod npy;
mod npz;
#[cfg(feature = "parquet")]
mod parquet;
mod vectors;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::PathBuf;

use lipmetric::data::{Column, Table, Values, excerpt};

use atomic::Sink;
pub(crate) use atomic::write_whole;
pub use atomic::{atomic_write, check_target, remove_unfinished};
pub use vectors::{VectorFormat, VectorOptions, VectorWriter, companion};

use crate::numbers::number_or_missing;
use crate::{Error, Format, Result};

/// Where to write to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target {
    /// A file. Devices and pipes are written through, anything else is replaced atomically.
    Path(PathBuf),
    /// Standard output.
    Stdout,
}

impl Target {
    /// A target as a user names it on a command line: a path, or `-` for standard output.
    pub fn new(name: impl AsRef<OsStr>) -> Self {
        let name = name.as_ref();
        if name == "-" || name == "/dev/stdout" { Self::Stdout } else { Self::Path(PathBuf::from(name)) }
    }

    /// What messages call the target.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Stdout => "standard output".to_owned(),
        }
    }
}

/// How to write a table; the default follows the target's name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WriteOptions {
    /// The format; by default what the target's name asks for, and CSV for standard output, devices and names that
    /// ask for nothing (`.txt` included).
    pub format: Option<Format>,
    /// Whether to compress with gzip; by default if the name ends in `.gz`. Text formats only.
    pub gzip: Option<bool>,
    /// The delimiter of CSV; a comma by default.
    pub delimiter: Option<u8>,
    /// Leave out the header row of CSV and TSV.
    pub no_header: bool,
    /// Which column holds the labels, for LIBSVM, NPZ and Parquet; by default the one named `label`, if any.
    pub label: Option<String>,
}

/// Writes a table batch by batch. Nothing appears under the target's name before [`TableWriter::finish`].
///
/// ```
/// use lipmetric_io::{ReadOptions, Source, TableWriter, Target, WriteOptions, datasets, read_table};
///
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("haberman.parquet.csv.gz");
/// let table = datasets::load("haberman")?;
/// let mut writer = TableWriter::create(&Target::new(&path), &WriteOptions::default())?;
/// writer.write_batch(&table)?;
/// writer.finish()?;
/// let again = read_table(&Source::new(&path), &ReadOptions::default())?;
/// assert_eq!(again.columns, table.columns);
/// # Ok::<(), lipmetric_io::Error>(())
/// ```
pub struct TableWriter {
    name: String,
    format: Format,
    batches: Box<dyn WriteBatches>,
    /// Column names of the first batch.
    columns: Option<Vec<String>>,
}

impl std::fmt::Debug for TableWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableWriter").field("name", &self.name).field("format", &self.format).finish_non_exhaustive()
    }
}

/// What a format's writer does.
trait WriteBatches: Send {
    fn write(&mut self, table: &Table) -> Result<()>;

    /// Hands over what has been written so far, where the format can.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()>;
}

impl TableWriter {
    /// Opens a target; mistakes in its name and missing rights show here, before anything is computed.
    ///
    /// # Errors
    /// If the target cannot be written or the options do not fit the format.
    pub fn create(target: &Target, options: &WriteOptions) -> Result<Self> {
        let name = target.name();
        let (named, named_gzip) = match target {
            Target::Path(path) => Format::of_name(path),
            Target::Stdout => (None, false),
        };
        if let (None, None, Target::Path(path)) = (options.format, named, target)
            && let Some(ending) = path.extension().filter(|e| *e != "txt" && *e != "gz" && !path.starts_with("/dev"))
        {
            return Err(Error::usage(format!(
                "{name}: the ending `.{}` tells no format; choose .csv, .tsv, .jsonl, .libsvm, .npy, .npz or .parquet",
                ending.display()
            )));
        }
        let format = options.format.or(named).unwrap_or(Format::Csv);
        let gzip = options.gzip.unwrap_or(named_gzip);
        if gzip && !format.is_text() {
            return Err(Error::usage(format!("{name}: {format} is not written with gzip around it; leave out `.gz`")));
        }
        #[cfg(not(feature = "parquet"))]
        if format == Format::Parquet {
            return Err(Error::usage(format!(
                "{name}: this program was built without Parquet; build it with `feature = parquet`, or write CSV"
            )));
        }
        let sink = Sink::open(target)?;
        let label = options.label.clone().unwrap_or_else(|| "label".to_owned());
        let batches: Box<dyn WriteBatches> = match format {
            Format::Csv | Format::Tsv => {
                let usual = if format == Format::Tsv { b'\t' } else { b',' };
                let delimiter = options.delimiter.unwrap_or(usual);
                Box::new(delimited::Delimited::new(sink, gzip, delimiter, !options.no_header))
            }
            Format::Libsvm => Box::new(libsvm::Libsvm::new(sink, gzip, label)),
            Format::Jsonl => Box::new(jsonl::JsonLines::new(sink, gzip)),
            Format::Npy => Box::new(npy::Npy::new(sink)?),
            Format::Npz => Box::new(npz::Npz::new(sink, label)?),
            #[cfg(feature = "parquet")]
            Format::Parquet => Box::new(parquet::Parquet::new(sink, label)),
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => unreachable!("refused above"),
        };
        Ok(Self { name, format, batches, columns: None })
    }

    /// The format that is being written.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Adds the rows of a table. Every batch must have the columns of the first (LIBSVM, being sparse, takes any).
    ///
    /// # Errors
    /// If writing fails, or the format cannot hold what the table has.
    pub fn write_batch(&mut self, table: &Table) -> Result<()> {
        let names = || table.columns.iter().map(|c| &c.name);
        match &self.columns {
            Some(first) if self.format != Format::Libsvm && !first.iter().eq(names()) => {
                let message = format!("{}: a later batch has other columns than the first", self.name);
                return Err(Error::usage(message));
            }
            Some(_) => {}
            None => self.columns = Some(names().cloned().collect()),
        }
        self.batches.write(table)
    }

    /// Hands over what has been written so far: a reader at the other end of a pipe need not wait for the rest.
    ///
    /// # Errors
    /// If writing fails.
    pub fn flush(&mut self) -> Result<()> {
        self.batches.flush()
    }

    /// Completes the file and puts it in its place.
    ///
    /// # Errors
    /// If writing fails or nothing was written.
    pub fn finish(self) -> Result<()> {
        if self.columns.is_none() {
            return Err(Error::data(self.name, "there are no rows to write"));
        }
        self.batches.finish()
    }
}

/// A column as numbers, NaN where missing; an error that names the cell if it holds text.
fn numbers<'t>(table: &'t Table, column: &'t Column, format: Format) -> Result<Cow<'t, [f64]>> {
    match &column.values {
        Values::Number(v) => Ok(Cow::Borrowed(v)),
        Values::Text(cells) => {
            let numbers = cells.iter().enumerate().map(|(i, cell)| {
                number_or_missing(cell).ok_or_else(|| {
                    let message = format!(
                        "found the text `{}`, but {format} holds numbers only here; write CSV or Parquet instead",
                        excerpt(cell)
                    );
                    Error::data_in_column(
                        &table.origin,
                        table.lines.get(i).copied(),
                        format!("`{}`", column.name),
                        message,
                    )
                })
            });
            Ok(Cow::Owned(numbers.collect::<Result<_>>()?))
        }
    }
}
