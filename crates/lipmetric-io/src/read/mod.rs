//! A file as a table, whole or batch by batch.
//!
//! Text formats keep their cells as written; what is a number, a category or missing is decided later, from
//! whole columns. Rules that a user may want to know:
//!
//! * **Delimiter** (CSV): the one of `,` tab `;` `|` that cuts the most of the first rows into the same number
//!   of cells, more cells winning ties; if none does, runs of blanks. `.tsv` means tab.
//! * **Header** (CSV, TSV): the first row holds names if none of its cells is a number or a missing value (an
//!   empty first cell, as left by tools that write an index, is allowed) and some column below it is all
//!   numbers. If every column below is text, the first row holds names when its cells are distinct and none
//!   occurs again in its own column. Only the first rows (at most 200) are looked at.
//! * Empty names become `x` and the column's number; duplicate names are refused.
//! * Lines that begin with `#` before the first row are comments, unless they have as many cells as the row below.
//! * Lines of nothing but blanks are skipped, cells are trimmed, a byte order mark is dropped.
//! * A row longer than 64 MiB is refused without reading it to its end.

mod delimited;
mod jsonl;
mod libsvm;
mod lines;
mod npy;
mod npz;
#[cfg(feature = "parquet")]
mod pages;
#[cfg(feature = "parquet")]
mod parquet;
mod records;
mod sniff;
mod tuples;

pub use libsvm::SparseTable;
pub use tuples::{RowNames, read_asked_pairs, read_comparisons, read_pairs, read_triplets};

use std::fs::File;
use std::io::{Cursor, Read, Seek};

use lipmetric::data::{Column, Table, Texts, Values};

use crate::encoding::{self, Encoding};
use crate::source::{Input, Opened};
use crate::{Error, Format, Result, Source, strange};

/// The longest row of a text format, in bytes.
pub(crate) const MAX_RECORD: usize = 64 << 20;

/// The most columns a table may have: far more than any metric can be learned on, few enough that a
/// damaged file cannot exhaust memory.
pub(crate) const MAX_COLUMNS: usize = 4_000_000;

/// How to read a table; the default finds everything out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadOptions {
    /// The format, if the name and the content do not tell it.
    pub format: Option<Format>,
    /// The delimiter of CSV; a blank stands for runs of blanks and tabs.
    pub delimiter: Option<u8>,
    /// Whether the first row of CSV or TSV holds the column names.
    pub header: Option<bool>,
    /// Names of columns that will be left out anyway. Formats that store columns apart (Parquet) do not decode them,
    /// whatever their type, and give empty cells. In CSV they may be badly encoded or, given by their numbers, have a name that
    /// another column has.
    pub skip: Vec<String>,
    /// How text is encoded; UTF-8 by default, and UTF-16 where the file begins with its mark.
    pub encoding: Option<Encoding>,
    /// The most features that a row of LIBSVM may have, where that is known.
    pub max_features: Option<usize>,
    /// The most memory that a table, or one batch of it, may take, in bytes; 8 GiB by default.
    pub max_memory: Option<u64>,
    /// Give out rows as soon as they come, in batches as small as the pauses make them.
    pub streaming: bool,
    /// A source with columns and no rows is no error: there is one batch, without rows.
    pub allow_empty: bool,
}

impl ReadOptions {
    fn limit(&self) -> u64 {
        self.max_memory.unwrap_or(USUAL_LIMIT)
    }

    /// Whether a column is among those to leave out.
    fn skips(&self, name: &str) -> bool {
        self.skip.iter().any(|s| s == name)
    }
}

/// The most memory that a table may take unless it is said.
const USUAL_LIMIT: u64 = 8 << 30;

/// Reads a whole table.
///
/// # Errors
/// If the source cannot be read, is damaged, or has no rows.
pub fn read_table(source: &Source, options: &ReadOptions) -> Result<Table> {
    let mut stream = TableStream::open(source, options)?;
    let origin = stream.origin.clone();
    stream.next_batch(usize::MAX)?.ok_or_else(|| no_rows(&origin))
}

/// Reads the rows of a LIBSVM file without their zeros; nothing if the source is of another format, or a value is
/// missing.
///
/// # Errors
/// If the source cannot be read, is damaged, or has no rows.
pub fn read_sparse(source: &Source, options: &ReadOptions) -> Result<Option<SparseTable>> {
    let named = source.file_name().and_then(|name| Format::of_name(name).0);
    let (opened, format) = told_apart(source.open(false)?, named, options)?;
    if format != Format::Libsvm {
        return Ok(None);
    }
    let Some(table) = libsvm::read_sparse(opened.input, options)? else { return Ok(None) };
    if table.rows.is_empty() && !options.allow_empty {
        return Err(no_rows(&table.origin));
    }
    Ok(Some(table))
}

/// A table that is read batch by batch. CSV, TSV, LIBSVM and NPY (in C order) take memory for one batch only,
/// Parquet for one row group, NPZ and NPY in Fortran order for the whole.
///
/// ```
/// use lipmetric_io::{ReadOptions, Source, TableStream};
///
/// let source = Source::bytes("n.csv", "a,b\n1,2\n3,4\n5,6\n");
/// let mut stream = TableStream::open(&source, &ReadOptions::default())?;
/// let mut sizes = Vec::new();
/// while let Some(batch) = stream.next_batch(2)? {
///     sizes.push((batch.first_row, batch.rows()));
/// }
/// assert_eq!(sizes, [(0, 2), (2, 1)]);
/// # Ok::<(), lipmetric_io::Error>(())
/// ```
pub struct TableStream {
    origin: String,
    batches: Box<dyn Batches>,
    seen: usize,
    /// Whether no rows at all are still to be told: as a batch of none, or as an error.
    allow_empty: bool,
}

impl std::fmt::Debug for TableStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableStream").field("origin", &self.origin).finish_non_exhaustive()
    }
}

/// What a format's reader does: up to `max_rows` more rows, none at the end.
trait Batches: Send {
    fn next_batch(&mut self, max_rows: usize) -> Result<Option<Table>>;

    /// The columns without any row, where they are known.
    fn empty(&self) -> Option<Table> {
        None
    }
}

impl TableStream {
    /// Opens a source and reads as much as it takes to know its format.
    ///
    /// # Errors
    /// If the source cannot be read or its beginning is not of the format.
    pub fn open(source: &Source, options: &ReadOptions) -> Result<Self> {
        let named = source.file_name().and_then(|name| Format::of_name(name).0);
        Self::start(source.open(options.streaming)?, named, options)
    }

    /// A stream over any reader; `origin` is what messages call it.
    ///
    /// # Errors
    /// As [`TableStream::open`].
    pub fn from_reader(
        origin: impl Into<String>,
        reader: impl Read + Send + 'static,
        options: &ReadOptions,
    ) -> Result<Self> {
        Self::start(Opened::new(origin.into(), Box::new(reader), None, options.streaming)?, None, options)
    }

    fn start(opened: Opened, named: Option<Format>, options: &ReadOptions) -> Result<Self> {
        let origin = opened.input.origin.clone();
        let (opened, format) = told_apart(opened, named, options)?;
        let batches: Box<dyn Batches> = match format {
            Format::Csv => Box::new(delimited::Delimited::open(opened, options.delimiter, options)?),
            Format::Tsv => Box::new(delimited::Delimited::open(opened, options.delimiter.or(Some(b'\t')), options)?),
            Format::Libsvm => Box::new(libsvm::Libsvm::new(opened.input, options)),
            Format::Jsonl => Box::new(jsonl::JsonLines::new(opened.input)),
            Format::Npy => npy::open(opened.input, options.limit())?,
            Format::Npz => Box::new(npz::open(random_access(opened, options.limit())?, options.limit())?),
            Format::Parquet => open_parquet(opened, options)?,
        };
        Ok(Self { origin, batches, seen: 0, allow_empty: options.allow_empty })
    }

    /// A stream over a table that is in memory already.
    #[must_use]
    pub fn from_table(table: Table) -> Self {
        Self { origin: table.origin.clone(), batches: Box::new(Loaded::new(table)), seen: 0, allow_empty: false }
    }

    /// What messages call the source.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Up to `max_rows` more rows (at least one is always allowed); `None` after the last.
    ///
    /// # Errors
    /// If the source cannot be read further, a row is malformed, or there is no row at all.
    pub fn next_batch(&mut self, max_rows: usize) -> Result<Option<Table>> {
        let batch = self.batches.next_batch(max_rows.max(1))?;
        match &batch {
            Some(table) => self.seen += table.rows(),
            None if self.seen == 0 && !self.allow_empty => return Err(no_rows(&self.origin)),
            None if self.seen == 0 => {
                self.seen = usize::MAX;
                return Ok(self.batches.empty());
            }
            None => {}
        }
        Ok(batch)
    }
}

/// The format of a source and its text as UTF-8.
fn told_apart(mut opened: Opened, named: Option<Format>, options: &ReadOptions) -> Result<(Opened, Format)> {
    let origin = opened.input.origin.clone();
    if opened.sample.is_empty() {
        return Err(Error::data(origin, "the file is empty; it must hold at least one row"));
    }
    let asked = options.format.or(named);
    let format = asked.unwrap_or_else(|| Format::of_content(&opened.sample, opened.complete));
    if let Some(what) = strange::zip_called_text(&opened.sample).filter(|_| format.is_text()) {
        return Err(Error::data(origin, format!("this is no {format} but {what}")));
    }
    if let Some(actual) = Format::of_magic(&opened.sample).filter(|a| format.is_text() && *a != format) {
        let message =
            format!("this was to be read as {format}, but its content is {actual}; rename it or name the format");
        return Err(Error::data(origin, message));
    }
    if let Some(what) = strange::kind(&opened.sample).filter(|_| format.is_text()) {
        return Err(Error::data(origin, format!("this is no table but {what}")));
    }
    if format.is_text() {
        opened = check_encoding(opened, options.encoding)?;
    }
    if options.delimiter.is_some() && !matches!(format, Format::Csv | Format::Tsv) {
        return Err(Error::usage(format!("{origin}: a delimiter was given, but {format} has none; leave it out")));
    }
    Ok((opened, format))
}

fn no_rows(origin: &str) -> Error {
    Error::data(
        origin,
        "there are no rows of data; if the first row was taken for a header but is data, say so with `header = no`",
    )
}

/// Text as UTF-8, without a byte order mark.
fn check_encoding(mut opened: Opened, encoding: Option<Encoding>) -> Result<Opened> {
    let wide = opened.sample.starts_with(&[0xff, 0xfe]) || opened.sample.starts_with(&[0xfe, 0xff]);
    match encoding {
        None | Some(Encoding::Utf8) if wide => return opened.decoded(Encoding::Utf16),
        None if encoding::seems_wide(&opened.sample) => {
            let message = "this seems to be UTF-16 without the mark at its beginning that says so; say `encoding = utf-16`, or save \
                           the file as UTF-8";
            return Err(Error::data(opened.input.origin, message));
        }
        None | Some(Encoding::Utf8) => {}
        Some(other) => return opened.decoded(other),
    }
    if opened.sample.starts_with(&[0xef, 0xbb, 0xbf]) {
        let mut mark = [0; 3];
        opened.input.reader.read_exact(&mut mark).map_err(|e| opened.input.fail(e))?;
        opened.sample.drain(..3);
    }
    Ok(opened)
}

/// Whether a panic on this thread, now, is one that the reader catches and turns into an error: a decoder gave up on a
/// damaged file. A program's panic hook may want to keep quiet about it.
#[must_use]
pub fn panic_is_handled() -> bool {
    #[cfg(feature = "parquet")]
    return parquet::panic_is_handled();
    #[cfg(not(feature = "parquet"))]
    return false;
}

/// Bytes in which one can jump about.
trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

enum Random {
    File(File),
    Memory(Vec<u8>),
}

/// A source for the formats that are read from their end: the file itself, or all of its bytes.
struct RandomAccess {
    origin: String,
    bytes: Random,
}

impl RandomAccess {
    fn into_read_seek(self) -> Result<Box<dyn ReadSeek>> {
        Ok(match self.bytes {
            Random::Memory(bytes) => Box::new(Cursor::new(bytes)),
            Random::File(mut file) => {
                file.rewind().map_err(|e| Error::io("read", &self.origin, e))?;
                Box::new(std::io::BufReader::new(file))
            }
        })
    }
}

fn random_access(mut opened: Opened, limit: u64) -> Result<RandomAccess> {
    let bytes = match opened.file {
        Some(file) => Random::File(file),
        None => Random::Memory(opened.input.slurp(limit)?),
    };
    Ok(RandomAccess { origin: opened.input.origin, bytes })
}

#[cfg(feature = "parquet")]
fn open_parquet(opened: Opened, options: &ReadOptions) -> Result<Box<dyn Batches>> {
    parquet::open(random_access(opened, options.limit())?, options)
}

#[cfg(not(feature = "parquet"))]
fn open_parquet(opened: Opened, _: &ReadOptions) -> Result<Box<dyn Batches>> {
    Err(Error::usage(format!(
        "{}: this program was built without Parquet; build it with `feature = parquet`, or convert the file to CSV",
        opened.input.origin
    )))
}

/// Names for columns of a source that has none.
fn position_names(columns: usize) -> impl Iterator<Item = String> {
    (1..=columns).map(|j| format!("x{j}"))
}

fn too_many_columns(input: &Input, line: Option<u64>, found: impl std::fmt::Display) -> Error {
    let message = format!("{found} columns; at most {MAX_COLUMNS} can be read, so choose fewer features");
    match line {
        Some(line) => Error::data_at_line(&input.origin, line, message),
        None => Error::data(&input.origin, message),
    }
}

/// A table that is all in memory, given out in slices.
struct Loaded {
    table: Table,
    given: usize,
}

impl Loaded {
    fn new(table: Table) -> Self {
        Self { table, given: 0 }
    }
}

impl Batches for Loaded {
    fn next_batch(&mut self, max_rows: usize) -> Result<Option<Table>> {
        let rows = self.table.rows();
        if self.given == rows {
            return Ok(None);
        }
        let (from, to) = (self.given, rows.min(self.given.saturating_add(max_rows)));
        self.given = to;
        if from == 0 && to == rows {
            // The whole at once: hand it over instead of copying it.
            let mut empty = Table::new(self.table.origin.clone(), Vec::new());
            (empty.named, empty.sparse) = (self.table.named, self.table.sparse);
            self.given = 0;
            return Ok(Some(std::mem::replace(&mut self.table, empty)));
        }
        Ok(Some(slice(&self.table, from, to)))
    }
}

/// Rows `from..to` of a table.
fn slice(table: &Table, from: usize, to: usize) -> Table {
    let columns = table
        .columns
        .iter()
        .map(|c| Column {
            name: c.name.clone(),
            values: match &c.values {
                Values::Number(v) => Values::Number(v[from..to].to_vec()),
                Values::Text(t) => Values::Text((from..to).map(|i| t.get(i)).collect::<Texts>()),
            },
        })
        .collect();
    let mut part = Table::new(table.origin.clone(), columns);
    (part.named, part.sparse) = (table.named, table.sparse);
    part.lines = table.lines.get(from..to).map(<[u64]>::to_vec).unwrap_or_default();
    (part.first_row, part.separator) = (table.first_row + from, table.separator);
    part
}
