//! Parquet, compressed with Snappy.

use std::io;
use std::sync::Arc;

use lipmetric::data::{Column, Table, Texts, Values, number};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::atomic::Sink;
use super::{WriteBatches, numbers};
use crate::numbers::{is_code, number_or_missing, shortest};
use crate::{Error, Format, Result};

/// Batches are gathered into row groups of at least this many rows.
const GROUP: usize = 1 << 16;

/// A file whose schema is known.
pub(super) type Opened = Box<SerializedFileWriter<Sink>>;

/// Opens a file of this schema.
pub(super) fn open(sink: Sink, schema: Type) -> Result<Opened, ParquetError> {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    SerializedFileWriter::new(sink, Arc::new(schema), Arc::new(properties)).map(Box::new)
}

/// The rows of one column that wait for their row group.
pub(super) enum Pending {
    Number(Vec<f64>),
    Text(Texts),
}

enum State {
    /// Before the first batch, which decides the schema.
    Waiting(Sink),
    Open(Opened),
    Failed,
}

pub(super) struct Parquet {
    name: String,
    label: String,
    state: State,
    pending: Vec<Pending>,
    rows: usize,
}

impl Parquet {
    pub(super) fn new(sink: Sink, label: String) -> Self {
        Self { name: sink.name().to_owned(), label, state: State::Waiting(sink), pending: Vec::new(), rows: 0 }
    }

    fn start(&mut self, table: &Table) -> Result<()> {
        let State::Waiting(sink) = std::mem::replace(&mut self.state, State::Failed) else {
            return Err(failure(&self.name, ParquetError::General("an earlier write failed".to_owned())));
        };
        self.pending = table.columns.iter().map(|c| pending_for(c, c.name == self.label)).collect();
        let start = || -> Result<_, ParquetError> {
            let fields = table.columns.iter().zip(&self.pending).map(|(c, p)| field(&c.name, p).map(Arc::new));
            let fields = fields.collect::<Result<Vec<_>, _>>()?;
            open(sink, Type::group_type_builder("table").with_fields(fields).build()?)
        };
        self.state = State::Open(start().map_err(|e| failure(&self.name, e))?);
        Ok(())
    }

    fn flush_group(&mut self) -> Result<()> {
        let State::Open(writer) = &mut self.state else { return Ok(()) };
        if self.rows == 0 {
            return Ok(());
        }
        self.rows = 0;
        let mut write = || -> Result<(), ParquetError> {
            let mut group = writer.next_row_group()?;
            for column in &mut self.pending {
                write_column(&mut group, column, true)?;
            }
            group.close().map(|_| ())
        };
        write().map_err(|e| failure(&self.name, e))
    }
}

/// A text column is kept as numbers if all its cells are, but labels stay as written.
pub(super) fn pending_for(column: &Column, is_label: bool) -> Pending {
    match &column.values {
        Values::Number(_) => Pending::Number(Vec::new()),
        Values::Text(cells) => {
            let numeric = cells.iter().all(|c| number_or_missing(c).is_some() && !is_code(c));
            let any = cells.iter().any(|c| number(c).is_some());
            if numeric && any && !is_label { Pending::Number(Vec::new()) } else { Pending::Text(Texts::new()) }
        }
    }
}

pub(super) fn field(name: &str, pending: &Pending) -> Result<Type, ParquetError> {
    let builder = match pending {
        Pending::Number(_) => Type::primitive_type_builder(name, Physical::DOUBLE),
        Pending::Text(_) => {
            Type::primitive_type_builder(name, Physical::BYTE_ARRAY).with_logical_type(Some(LogicalType::String))
        }
    };
    builder.with_repetition(Repetition::OPTIONAL).build()
}

/// Adds the cells of a column to those that wait.
pub(super) fn take(pending: &mut Pending, table: &Table, column: &Column) -> Result<()> {
    match (pending, &column.values) {
        (Pending::Number(v), _) => v.extend_from_slice(&numbers(table, column, Format::Parquet)?),
        (Pending::Text(t), Values::Text(cells)) => cells.iter().for_each(|c| t.push(c)),
        (Pending::Text(t), Values::Number(v)) => {
            v.iter().for_each(|&v| t.push(&if v.is_nan() { String::new() } else { shortest(v) }));
        }
    }
    Ok(())
}

/// Writes out one column and empties it. Cells may be missing where the schema has the column as optional.
pub(super) fn write_column(
    group: &mut SerializedRowGroupWriter<'_, Sink>,
    column: &mut Pending,
    optional: bool,
) -> Result<(), ParquetError> {
    let Some(mut writer) = group.next_column()? else {
        return Err(ParquetError::General("more columns than the schema has".to_owned()));
    };
    match column {
        Pending::Number(v) => {
            let levels: Vec<i16> = v.iter().map(|v| i16::from(!v.is_nan())).collect();
            let present: Vec<f64> = v.iter().copied().filter(|v| !v.is_nan()).collect();
            writer.typed::<DoubleType>().write_batch(&present, optional.then_some(&levels[..]), None)?;
            v.clear();
        }
        Pending::Text(t) => {
            let levels: Vec<i16> = t.iter().map(|c| i16::from(!c.is_empty())).collect();
            let present: Vec<ByteArray> = t.iter().filter(|c| !c.is_empty()).map(ByteArray::from).collect();
            writer.typed::<ByteArrayType>().write_batch(&present, optional.then_some(&levels[..]), None)?;
            *t = Texts::new();
        }
    }
    writer.close()
}

/// The system's own error, which Parquet's wraps.
pub(super) fn failure(name: &str, error: ParquetError) -> Error {
    let error = match error {
        ParquetError::External(inner) => inner.downcast::<io::Error>().map_or_else(io::Error::other, |e| *e),
        other => io::Error::other(other),
    };
    Error::io("write", name, error)
}

impl WriteBatches for Parquet {
    fn write(&mut self, table: &Table) -> Result<()> {
        if matches!(self.state, State::Waiting(_)) {
            self.start(table)?;
        }
        for (pending, column) in self.pending.iter_mut().zip(&table.columns) {
            take(pending, table, column)?;
        }
        self.rows += table.rows();
        if self.rows >= GROUP { self.flush_group() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.flush_group()?;
        match self.state {
            State::Open(writer) => writer.into_inner().map_err(|e| failure(&self.name, e))?.finish(),
            State::Waiting(_) | State::Failed => {
                Err(failure(&self.name, ParquetError::General("an earlier write failed".to_owned())))
            }
        }
    }
}
