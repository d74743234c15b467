//! One NumPy array of doubles, in C order.

use std::io::{self, Seek, SeekFrom, Write};

use lipmetric::data::Table;

use super::atomic::{SeekSink, Sink};
use super::{WriteBatches, numbers};
use crate::npy::header_bytes;
use crate::{Format, Result};

pub(super) struct Npy {
    sink: SeekSink,
    rows: usize,
    columns: usize,
}

impl Npy {
    pub(super) fn new(sink: Sink) -> Result<Self> {
        Ok(Self { sink: SeekSink::new(sink)?, rows: 0, columns: 0 })
    }

    fn header(&self) -> Vec<u8> {
        header_bytes("<f8", self.rows, Some(self.columns))
    }
}

/// Writes columns row by row as little-endian doubles.
pub(super) fn write_rows<C: AsRef<[f64]>>(sink: &mut impl Write, columns: &[C], rows: usize) -> io::Result<()> {
    for i in 0..rows {
        for column in columns {
            sink.write_all(&column.as_ref()[i].to_le_bytes())?;
        }
    }
    Ok(())
}

impl WriteBatches for Npy {
    fn write(&mut self, table: &Table) -> Result<()> {
        let columns = table.columns.iter().map(|c| numbers(table, c, Format::Npy)).collect::<Result<Vec<_>>>()?;
        if self.columns == 0 {
            self.columns = columns.len();
            let header = self.header();
            self.sink.write_all(&header).map_err(|e| self.sink.fail(e))?;
        }
        write_rows(&mut self.sink, &columns, table.rows()).map_err(|e| self.sink.fail(e))?;
        self.rows += table.rows();
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        // Only now is the number of rows known; the header has room for it.
        let header = self.header();
        let patch = |sink: &mut SeekSink| {
            sink.seek(SeekFrom::Start(0))?;
            sink.write_all(&header)
        };
        patch(&mut self.sink).map_err(|e| self.sink.fail(e))?;
        self.sink.finish()
    }
}
