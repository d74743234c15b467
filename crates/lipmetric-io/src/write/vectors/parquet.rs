//! Parquet: `id`, other columns, and `vector`, a list of floats.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{FloatType, Int64Type};
use parquet::errors::ParquetError;
use parquet::schema::types::Type;

use super::super::atomic::Sink;
use super::super::parquet::{Opened, Pending, failure, field, open, pending_for, take, write_column};
use super::ids::Ids;
use super::{Batch, WriteVectors};
use crate::numbers::as_whole;
use crate::{Error, Result};

/// Row groups have at least so many floats, or so many rows.
const FLOATS: usize = 1 << 24;
const ROWS: usize = 1 << 16;

pub(super) struct Lists {
    name: String,
    width: usize,
    waiting: Option<Sink>,
    open: Option<Opened>,
    /// Whole numbers until an id is none.
    whole: bool,
    ids: Vec<String>,
    beside: Vec<(String, Pending)>,
    vectors: Vec<f32>,
}

impl Lists {
    pub(super) fn new(sink: Sink, width: usize) -> Self {
        let name = sink.name().to_owned();
        Self { name, width, waiting: Some(sink), open: None, whole: true, ids: vec![], beside: vec![], vectors: vec![] }
    }

    fn schema(&self) -> Result<Type, ParquetError> {
        let id = if self.whole {
            Type::primitive_type_builder("id", Physical::INT64)
        } else {
            Type::primitive_type_builder("id", Physical::BYTE_ARRAY).with_logical_type(Some(LogicalType::String))
        };
        let mut fields = vec![Arc::new(id.with_repetition(Repetition::REQUIRED).build()?)];
        for (name, pending) in &self.beside {
            fields.push(Arc::new(field(name, pending)?));
        }
        let element =
            Type::primitive_type_builder("element", Physical::FLOAT).with_repetition(Repetition::REQUIRED).build()?;
        let list = Type::group_type_builder("list")
            .with_repetition(Repetition::REPEATED)
            .with_fields(vec![Arc::new(element)])
            .build()?;
        let vector = Type::group_type_builder("vector")
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(Some(LogicalType::List))
            .with_fields(vec![Arc::new(list)])
            .build()?;
        fields.push(Arc::new(vector));
        Type::group_type_builder("table").with_fields(fields).build()
    }

    fn flush_group(&mut self) -> Result<()> {
        let fail = |e| failure(&self.name, e);
        if let Some(sink) = self.waiting.take() {
            self.open = Some(open(sink, self.schema().map_err(fail)?).map_err(fail)?);
        }
        if self.ids.is_empty() {
            return Ok(());
        }
        let (ids, vectors) = (std::mem::take(&mut self.ids), std::mem::take(&mut self.vectors));
        let (whole, width) = (self.whole, self.width);
        let Some(writer) = &mut self.open else { return Ok(()) };
        let mut write = || -> Result<(), ParquetError> {
            let short = || ParquetError::General("fewer columns than the schema has".to_owned());
            let mut group = writer.next_row_group()?;
            if whole {
                let mut column = group.next_column()?.ok_or_else(short)?;
                let numbers: Vec<i64> = ids.iter().filter_map(|id| as_whole(id)).collect();
                column.typed::<Int64Type>().write_batch(&numbers, None, None)?;
                column.close()?;
            } else {
                write_column(&mut group, &mut Pending::Text(ids.iter().collect()), false)?;
            }
            for (_, pending) in &mut self.beside {
                write_column(&mut group, pending, true)?;
            }
            let repeats: Vec<i16> = (0..vectors.len()).map(|at| i16::from(at % width != 0)).collect();
            let mut column = group.next_column()?.ok_or_else(short)?;
            column.typed::<FloatType>().write_batch(&vectors, Some(&vec![1; vectors.len()]), Some(&repeats))?;
            column.close()?;
            group.close().map(|_| ())
        };
        write().map_err(|e| failure(&self.name, e))
    }
}

impl WriteVectors for Lists {
    fn write(&mut self, batch: &Batch<'_>) -> Result<()> {
        let columns = &batch.beside.columns;
        if self.beside.is_empty() {
            self.beside = columns.iter().map(|c| (c.name.clone(), pending_for(c, false))).collect();
        }
        let all_whole = batch.ids.iter().all(|id| as_whole(id).is_some());
        if self.waiting.is_some() {
            self.whole &= all_whole;
        } else if self.whole && !all_whole {
            return Err(Error::data(
                &batch.beside.origin,
                "the ids of the first rows are whole numbers and later ones are not; write them alike, for instance with a letter",
            ));
        }
        for ((_, pending), column) in self.beside.iter_mut().zip(columns) {
            take(pending, batch.beside, column)?;
        }
        self.ids.extend_from_slice(batch.ids);
        self.vectors.extend_from_slice(batch.vectors);
        if self.ids.len() >= ROWS || self.vectors.len() >= FLOATS { self.flush_group() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>, _: &Ids) -> Result<()> {
        self.flush_group()?;
        match self.open {
            Some(writer) => writer.into_inner().map_err(|e| failure(&self.name, e))?.finish(),
            None => Err(Error::data(self.name, "there are no rows to write")),
        }
    }
}
