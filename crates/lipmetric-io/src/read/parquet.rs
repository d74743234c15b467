//! Parquet, one row group at a time. Numbers stay numbers, booleans become `true` and `false`, nulls are missing.

use std::cell::Cell;
use std::collections::HashSet;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::sync::Arc;

use bytes::Bytes;
use lipmetric::data::{Column, Table, Texts, Values};
use parquet::basic::{CompressionCodec, ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::pages::{Checked, check_description, check_sizes};
use super::{Batches, Loaded, MAX_COLUMNS, Random, RandomAccess, ReadOptions};
use crate::source::too_large;
use crate::{Error, Result};

/// Values are decoded in pieces of this many rows, so that a false row count cannot reserve memory.
const PIECE: usize = 1 << 16;

pub(super) fn open(source: RandomAccess, options: &ReadOptions) -> Result<Box<dyn Batches>> {
    let origin = source.origin;
    match source.bytes {
        Random::File(file) => Ok(Box::new(Groups::<File>::open(origin, file, options)?)),
        Random::Memory(bytes) => Ok(Box::new(Groups::<Bytes>::open(origin, Bytes::from(bytes), options)?)),
    }
}

/// What a column's values become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Unsigned,
    Boolean,
    Text,
    /// Not wanted: empty cells stand in for them.
    Skipped,
}

struct Groups<R: ChunkReader> {
    origin: String,
    /// The bytes themselves, where pages are looked at before they are unpacked.
    source: Arc<R>,
    reader: SerializedFileReader<Shared<R>>,
    columns: Vec<(String, Kind)>,
    next_group: usize,
    current: Option<Loaded>,
    seen: usize,
    /// The most memory that a row group may take.
    limit: u64,
}

fn failure(origin: &str, error: &ParquetError) -> Error {
    Error::data(origin, format!("this is not a readable Parquet file, or it is damaged ({error}); get it again"))
}

/// Checks what the decoder takes on trust: that every column lies within the file.
fn check_layout(metadata: &ParquetMetaData, length: u64) -> Result<(), ParquetError> {
    for column in metadata.row_groups().iter().flat_map(RowGroupMetaData::columns) {
        let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
        let end = start.checked_add(column.compressed_size());
        let inside = end.and_then(|end| u64::try_from(end).ok()).is_some_and(|end| end <= length);
        if start < 0 || column.data_page_offset() < 0 || column.compressed_size() < 0 || !inside {
            return Err(ParquetError::General(format!("column `{}` lies outside of the file", column.column_path())));
        }
    }
    Ok(())
}

/// Refuses columns whose compression this build cannot undo.
fn check_codecs(origin: &str, metadata: &ParquetMetaData, columns: &[(String, Kind)]) -> Result<()> {
    let chunks = metadata.row_groups().iter().flat_map(|group| group.columns().iter().zip(columns));
    for (chunk, (name, _)) in chunks.filter(|(_, (_, kind))| *kind != Kind::Skipped) {
        let (codec, or_build) = match chunk.compression_codec() {
            CompressionCodec::ZSTD if cfg!(not(feature = "zstd")) => {
                ("Zstandard", ", or build with it: `feature = zstd`")
            }
            CompressionCodec::BROTLI => ("Brotli", ""),
            CompressionCodec::LZO => ("LZO", ""),
            _ => continue,
        };
        let message = format!(
            "it is compressed with {codec}, which this build cannot read; write the file with another compression \
             (pandas, polars and pyarrow: `compression=\"snappy\"`){or_build}"
        );
        return Err(Error::data_in_column(origin, None, format!("`{name}`"), message));
    }
    Ok(())
}

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

pub(super) fn panic_is_handled() -> bool {
    GUARDED.get()
}

/// Runs the decoder, which panics on some damaged files, and turns such a panic into the error that it should
/// have been.
fn guarded<T>(decode: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    GUARDED.set(true);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(decode));
    GUARDED.set(false);
    result.unwrap_or_else(|_| Err(ParquetError::General("the values contradict their description".to_owned())))
}

/// Bytes that are read by the decoder and by us.
struct Shared<R>(Arc<R>);

impl<R: Length> Length for Shared<R> {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

/// Bytes whose end is an error: the decoder passes over a list of billions of numbers that are not there without looking.
struct Ending<T>(T);

impl<T: Read> Read for Ending<T> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(into)? {
            0 if !into.is_empty() => Err(ErrorKind::UnexpectedEof.into()),
            found => Ok(found),
        }
    }
}

impl<R: ChunkReader> ChunkReader for Shared<R> {
    type T = Ending<R::T>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        self.0.get_read(start).map(Ending)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        self.0.get_bytes(start, length)
    }
}

impl<R: ChunkReader + 'static> Groups<R> {
    fn open(origin: String, source: R, options: &ReadOptions) -> Result<Self> {
        let length = source.len();
        check_description(&source).map_err(|e| failure(&origin, &e))?;
        let source = Arc::new(source);
        let shared = Shared(source.clone());
        let reader = guarded(|| SerializedFileReader::new(shared)).map_err(|e| failure(&origin, &e))?;
        check_layout(reader.metadata(), length).map_err(|e| failure(&origin, &e))?;
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        if schema.num_columns() > MAX_COLUMNS {
            let message = format!("{} columns; at most {MAX_COLUMNS} can be read", schema.num_columns());
            return Err(Error::data(origin, message));
        }
        let kinds = schema.columns().iter().map(|c| {
            // A nested column has many leaves; its own name is the first part of their path.
            let name = c.path().parts().first().map_or(c.name(), String::as_str);
            if options.skips(name) {
                return Ok((name.to_owned(), Kind::Skipped));
            }
            let kind = kind_of(c).map_err(|what| {
                let what = format!("{what}, or leave it out with `ignore = {name}`");
                Error::data_in_column(&origin, None, format!("`{}`", c.path().string()), what)
            })?;
            Ok((name.to_owned(), kind))
        });
        let columns = kinds.collect::<Result<Vec<_>>>()?;
        check_codecs(&origin, reader.metadata(), &columns)?;
        let mut names = HashSet::new();
        let wanted = || columns.iter().filter(|(_, kind)| *kind != Kind::Skipped);
        if let Some((twice, _)) = wanted().find(|(name, _)| !names.insert(name)) {
            let message = format!("the column name `{twice}` occurs more than once; give every column its own name");
            return Err(Error::data(origin, message));
        }
        let limit = options.limit();
        Ok(Self { origin, source, reader, columns, next_group: 0, current: None, seen: 0, limit })
    }

    fn load_group(&mut self) -> Result<Table> {
        let fail = |e: &ParquetError| failure(&self.origin, e);
        let group = guarded(|| self.reader.get_row_group(self.next_group)).map_err(|e| fail(&e))?;
        let claimed = usize::try_from(group.metadata().num_rows()).unwrap_or(usize::MAX);
        // A value takes eight bytes at least, the place of an empty cell as many.
        if (claimed as u64).saturating_mul(8).saturating_mul(self.columns.len() as u64) > self.limit {
            return Err(too_large(&self.origin, self.limit));
        }
        let mut columns = Vec::with_capacity(self.columns.len());
        for (j, (name, kind)) in self.columns.iter().enumerate() {
            if *kind == Kind::Skipped {
                // The leaves of a nested column are one column, whose cells are put in below.
                if columns.last().is_none_or(|c: &Column| c.name != *name) {
                    columns.push(Column { name: name.clone(), values: Values::Text(Texts::new()) });
                }
                continue;
            }
            check_sizes(&*self.source, group.metadata().column(j), self.limit).map_err(|e| fail(&e))?;
            let described = group.metadata().column(j).column_descr_ptr();
            let pages = guarded(|| group.get_column_page_reader(j)).map_err(|e| fail(&e))?;
            let optional = described.max_def_level() > 0;
            let pages = Box::new(Checked::new(pages, described.physical_type(), optional));
            let reader = guarded(|| Ok(get_column_reader(described, pages))).map_err(|e| fail(&e))?;
            let values = read_column(reader, *kind, (optional, claimed))
                .map_err(|e| Error::data_in_column(&self.origin, None, format!("`{name}`"), e))?;
            if values.len() != claimed {
                let more = if values.len() > claimed { "more" } else { "fewer" };
                let message = format!(
                    "row group {} should have {claimed} rows, found {more}; the file is damaged",
                    self.next_group + 1
                );
                return Err(Error::data_in_column(&self.origin, None, format!("`{name}`"), message));
            }
            columns.push(Column { name: name.clone(), values });
        }
        // Only now: the columns that were read have shown that there are as many rows as are claimed.
        for column in columns.iter_mut().filter(|c| c.values.len() != claimed) {
            column.values = Values::Text(std::iter::repeat_n("", claimed).collect());
        }
        let first_row = self.seen;
        let mut table = Table::new(self.origin.clone(), columns);
        table.first_row = first_row;
        Ok(table)
    }
}

/// How a column can be read, or why it cannot.
fn kind_of(column: &ColumnDescriptor) -> Result<Kind, String> {
    if column.max_rep_level() > 0 || column.path().parts().len() > 1 {
        return Err("nested values (lists, structs, maps) are not supported; flatten the column".to_owned());
    }
    let unsigned = matches!(
        column.converted_type(),
        ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
    );
    match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Date | LogicalType::Time { .. } | LogicalType::Timestamp { .. }), _)
        | (
            _,
            ConvertedType::DATE
            | ConvertedType::TIME_MILLIS
            | ConvertedType::TIME_MICROS
            | ConvertedType::TIMESTAMP_MILLIS
            | ConvertedType::TIMESTAMP_MICROS
            | ConvertedType::INTERVAL,
        ) => return Err("dates and times are not supported; convert the column to numbers or text".to_owned()),
        (Some(LogicalType::Decimal { .. }), _) | (_, ConvertedType::DECIMAL) => {
            return Err("decimals are not supported; convert the column to doubles".to_owned());
        }
        _ => {}
    }
    match column.physical_type() {
        Type::BOOLEAN => Ok(Kind::Boolean),
        Type::INT32 | Type::INT64 if unsigned => Ok(Kind::Unsigned),
        Type::INT32 | Type::INT64 | Type::FLOAT | Type::DOUBLE => Ok(Kind::Number),
        Type::BYTE_ARRAY => Ok(Kind::Text),
        Type::INT96 => Err("old-style timestamps are not supported; convert the column to numbers or text".to_owned()),
        Type::FIXED_LEN_BYTE_ARRAY => {
            Err("fixed-length bytes (half floats, UUIDs) are not supported; convert the column to doubles or text"
                .to_owned())
        }
    }
}

fn read_column(reader: ColumnReader, kind: Kind, shape: (bool, usize)) -> Result<Values, String> {
    let unsigned = kind == Kind::Unsigned;
    match reader {
        ColumnReader::BoolColumnReader(r) => texts(r, shape, |v, t| {
            t.push(if *v { "true" } else { "false" });
            Ok(())
        }),
        ColumnReader::Int32ColumnReader(r) => {
            numbers(r, shape, |v| if unsigned { f64::from(*v as u32) } else { f64::from(*v) })
        }
        ColumnReader::Int64ColumnReader(r) => {
            numbers(r, shape, |v| if unsigned { *v as u64 as f64 } else { *v as f64 })
        }
        ColumnReader::FloatColumnReader(r) => numbers(r, shape, |v| f64::from(*v)),
        ColumnReader::DoubleColumnReader(r) => numbers(r, shape, |v| *v),
        ColumnReader::ByteArrayColumnReader(r) => texts(r, shape, |v, t| {
            t.push(v.as_utf8().map_err(|_| "text that is not valid UTF-8; convert the column".to_owned())?);
            Ok(())
        }),
        _ => Err("the stored type does not agree with the schema; the file is damaged".to_owned()),
    }
}

/// Reads a column to its end, or to the first value too many, and calls `each` with every value, or `None` for a null.
fn for_each_value<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    (optional, claimed): (bool, usize),
    mut each: impl FnMut(Option<&T::T>) -> Result<(), String>,
) -> Result<(), String> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let mut seen = 0;
    while seen <= claimed {
        values.clear();
        levels.clear();
        let (records, found, _) = guarded(|| {
            reader.read_records(PIECE.min(claimed + 1 - seen), optional.then_some(&mut levels), None, &mut values)
        })
        .map_err(|e| format!("the values are damaged ({e}); get the file again"))?;
        if records == 0 && found == 0 {
            return Ok(());
        }
        seen += records.max(1);
        let mut rest = values.iter();
        if optional {
            for &level in &levels {
                each(if level > 0 { rest.next() } else { None })?;
            }
        } else {
            rest.try_for_each(|v| each(Some(v)))?;
        }
    }
    Ok(())
}

fn numbers<T: DataType>(
    reader: ColumnReaderImpl<T>,
    shape: (bool, usize),
    number: impl Fn(&T::T) -> f64,
) -> Result<Values, String> {
    let mut column = Vec::new();
    for_each_value(reader, shape, |v| {
        column.push(v.map_or(f64::NAN, &number));
        Ok(())
    })?;
    Ok(Values::Number(column))
}

fn texts<T: DataType>(
    reader: ColumnReaderImpl<T>,
    shape: (bool, usize),
    push: impl Fn(&T::T, &mut Texts) -> Result<(), String>,
) -> Result<Values, String> {
    let mut column = Texts::new();
    for_each_value(reader, shape, |v| match v {
        Some(v) => push(v, &mut column),
        None => {
            column.push("");
            Ok(())
        }
    })?;
    Ok(Values::Text(column))
}

impl<R: ChunkReader + 'static> Batches for Groups<R> {
    fn next_batch(&mut self, max_rows: usize) -> Result<Option<Table>> {
        let mut whole: Option<Table> = None;
        loop {
            let missing = max_rows - whole.as_ref().map_or(0, Table::rows);
            if missing == 0 {
                return Ok(whole);
            }
            if let Some(batch) = self.current.as_mut().map(|c| c.next_batch(missing)).transpose()?.flatten() {
                match &mut whole {
                    Some(table) => append(table, batch),
                    None => whole = Some(batch),
                }
                continue;
            }
            if self.next_group == self.reader.num_row_groups() {
                return Ok(whole);
            }
            let table = self.load_group()?;
            self.next_group += 1;
            self.seen += table.rows();
            self.current = Some(Loaded::new(table));
        }
    }
}

/// Adds the rows of `more`, which has the same columns.
fn append(table: &mut Table, more: Table) {
    for (column, rest) in table.columns.iter_mut().zip(more.columns) {
        match (&mut column.values, rest.values) {
            (Values::Number(v), Values::Number(w)) => v.extend(w),
            (Values::Text(t), Values::Text(u)) => u.iter().for_each(|cell| t.push(cell)),
            _ => unreachable!("a column keeps its kind from row group to row group"),
        }
    }
}
