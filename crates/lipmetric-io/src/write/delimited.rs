//! CSV and TSV.

use std::io;

use lipmetric::data::{Table, Values};

use super::WriteBatches;
use super::atomic::{Sink, TextSink};
use crate::numbers::shortest;
use crate::{Error, Result};

pub(super) struct Delimited {
    writer: csv::Writer<TextSink>,
    header: bool,
    name: String,
}

impl Delimited {
    pub(super) fn new(sink: Sink, gzip: bool, delimiter: u8, header: bool) -> Self {
        let name = sink.name().to_owned();
        let writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(TextSink::new(sink, gzip));
        Self { writer, header, name }
    }

    fn write_rows(&mut self, table: &Table) -> Result<(), csv::Error> {
        if std::mem::take(&mut self.header) {
            self.writer.write_record(table.columns.iter().map(|c| &c.name))?;
        }
        for i in 0..table.rows() {
            for column in &table.columns {
                match &column.values {
                    Values::Text(cells) => self.writer.write_field(cells.get(i))?,
                    Values::Number(v) if v[i].is_nan() => self.writer.write_field("")?,
                    Values::Number(v) => self.writer.write_field(shortest(v[i]))?,
                }
            }
            self.writer.write_record(None::<&[u8]>)?;
        }
        Ok(())
    }
}

impl WriteBatches for Delimited {
    fn write(&mut self, table: &Table) -> Result<()> {
        self.write_rows(table).map_err(|e| {
            let error = match e.into_kind() {
                csv::ErrorKind::Io(e) => e,
                other => io::Error::other(format!("{other:?}")),
            };
            Error::io("write", &self.name, error)
        })
    }

    fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(|e| Error::io("write", &self.name, e))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let sink = self.writer.into_inner().map_err(|e| Error::io("write", &self.name, e.into_error()))?;
        sink.finish()
    }
}
