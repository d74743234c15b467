//! One NumPy array as a table.

use std::io::Read;

use lipmetric::data::{Column, Table, Texts, Values};

use super::{Batches, Loaded, MAX_COLUMNS, position_names};
use crate::npy::{Dtype, Header, HeaderError};
use crate::source::{Input, read_failure};
use crate::{Error, Result};

/// Elements are read in pieces of about this size, so that a false shape cannot reserve memory.
const PIECE: usize = 1 << 20;

pub(super) fn open(mut input: Input, limit: u64) -> Result<Box<dyn Batches>> {
    let header = Header::read(&mut input.reader).map_err(|e| match e {
        HeaderError::Io(e) => input.fail(e),
        HeaderError::Content(message) => Error::data(&input.origin, message),
    })?;
    let array = Array::new(&input.origin, &header, limit)?;
    if header.fortran && array.columns > 1 {
        let fail = |e| read_failure(&input.origin, input.gzip, e);
        let columns = array.read_columns(&mut input.reader, fail)?;
        array.finish(&mut input.reader, &fail)?;
        return Ok(Box::new(Loaded::new(table(&input.origin, columns, 0))));
    }
    Ok(Box::new(Rows { input, array, done: 0, ended: false }))
}

fn table(origin: &str, columns: Vec<Values>, first_row: usize) -> Table {
    let columns = position_names(columns.len()).zip(columns).map(|(name, values)| Column { name, values }).collect();
    let mut table = Table::new(origin, columns);
    (table.named, table.first_row) = (false, first_row);
    table
}

/// The layout of an array that is a table.
pub(super) struct Array {
    origin: String,
    dtype: Dtype,
    rows: u64,
    pub(super) columns: usize,
    row_bytes: usize,
    /// The most memory that the values may take.
    limit: u64,
}

impl Array {
    pub(super) fn new(origin: &str, header: &Header, limit: u64) -> Result<Self> {
        let fail = |message| Error::data(origin, message);
        let (rows, columns) = header.table_shape().map_err(fail)?;
        let columns = usize::try_from(columns)
            .ok()
            .filter(|&c| c <= MAX_COLUMNS)
            .ok_or_else(|| fail(format!("the header claims {columns} columns; at most {MAX_COLUMNS} can be read")))?;
        let row_bytes = columns
            .checked_mul(header.dtype.size)
            .ok_or_else(|| fail("the header claims rows that do not fit in memory; the file is damaged".to_owned()))?;
        Ok(Self { origin: origin.to_owned(), dtype: header.dtype, rows, columns, row_bytes, limit })
    }

    /// Refuses more rows than fit in memory before any of them is read.
    fn check_size(&self, rows: u64) -> Result<()> {
        let value = if self.dtype.is_text() { self.dtype.size.max(8) as u64 } else { 8 };
        if rows.saturating_mul(self.columns as u64).saturating_mul(value) > self.limit {
            let message = format!(
                "its header claims {} rows x {} columns, which take more than {} MiB of memory, the limit; read fewer, or raise it \
                 with the parameter `max_memory`",
                self.rows,
                self.columns,
                self.limit >> 20
            );
            return Err(Error::data(&self.origin, message));
        }
        Ok(())
    }

    fn new_column(&self) -> Values {
        if self.dtype.is_text() { Values::Text(Texts::new()) } else { Values::Number(Vec::new()) }
    }

    fn push(&self, column: &mut Values, bytes: &[u8], row: u64, j: usize) -> Result<()> {
        match column {
            Values::Number(v) => v.push(self.dtype.number(bytes)),
            Values::Text(t) => t.push(&self.dtype.text(bytes).map_err(|what| {
                Error::data_in_column(&self.origin, None, (j + 1).to_string(), format!("row {}: {what}", row + 1))
            })?),
        }
        Ok(())
    }

    /// Reads on behind the last element: only there a compressed stream says whether it came through undamaged. What else stands
    /// there was not meant to be read as this table.
    pub(super) fn finish(&self, reader: &mut impl Read, fail: &impl Fn(std::io::Error) -> Error) -> Result<()> {
        let mut more = [0];
        loop {
            match reader.read(&mut more) {
                Ok(0) => return Ok(()),
                Ok(_) => {
                    let message = format!(
                        "more follows after the {} rows x {} columns of its header; the file is damaged or holds several \
                         arrays: save one",
                        self.rows, self.columns
                    );
                    return Err(Error::data(&self.origin, message));
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(fail(e)),
            }
        }
    }

    /// Reads `want` bytes; an error that tells how far the file goes if it ends before.
    fn piece(
        &self,
        reader: &mut impl Read,
        want: usize,
        row: u64,
        fail: &impl Fn(std::io::Error) -> Error,
    ) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        reader.take(want as u64).read_to_end(&mut bytes).map_err(fail)?;
        if bytes.len() < want {
            let message = format!(
                "the file is cut short: its header promises {} rows x {} columns, but it ends in row {}; get it again",
                self.rows,
                self.columns,
                row + 1 + (bytes.len() / self.row_bytes.max(1)) as u64
            );
            return Err(Error::data(&self.origin, message));
        }
        Ok(bytes)
    }

    /// Appends up to `max_rows` rows of an array in C order, of which `done` came before.
    fn read_rows(
        &self,
        reader: &mut impl Read,
        done: u64,
        max_rows: usize,
        fail: impl Fn(std::io::Error) -> Error,
    ) -> Result<Vec<Values>> {
        let end = self.rows.min(done.saturating_add(max_rows as u64));
        self.check_size(end - done)?;
        let per_piece = (PIECE / self.row_bytes).max(1) as u64;
        let mut columns = Vec::new();
        let mut row = done;
        while row < end {
            let rows = per_piece.min(end - row);
            let bytes = self.piece(reader, rows as usize * self.row_bytes, row, &fail)?;
            if columns.is_empty() {
                columns = (0..self.columns).map(|_| self.new_column()).collect();
            }
            for (r, row_bytes) in bytes.chunks_exact(self.row_bytes).enumerate() {
                for (j, (cell, column)) in row_bytes.chunks_exact(self.dtype.size).zip(&mut columns).enumerate() {
                    self.push(column, cell, row + r as u64, j)?;
                }
            }
            row += rows;
        }
        Ok(columns)
    }

    /// Reads an array in Fortran order: column after column.
    pub(super) fn read_columns(
        &self,
        reader: &mut impl Read,
        fail: impl Fn(std::io::Error) -> Error,
    ) -> Result<Vec<Values>> {
        self.check_size(self.rows)?;
        let per_piece = (PIECE / self.dtype.size).max(1) as u64;
        let mut columns = Vec::new();
        for j in 0..self.columns {
            let mut column = self.new_column();
            let mut row = 0;
            while row < self.rows {
                let rows = per_piece.min(self.rows - row);
                let mut bytes = Vec::new();
                let want = rows as usize * self.dtype.size;
                reader.take(want as u64).read_to_end(&mut bytes).map_err(&fail)?;
                if bytes.len() < want {
                    let message = format!(
                        "the file is cut short: its header promises {} rows x {} columns, but it ends in column {}; \
                         get it again",
                        self.rows,
                        self.columns,
                        j + 1
                    );
                    return Err(Error::data(&self.origin, message));
                }
                for (r, cell) in bytes.chunks_exact(self.dtype.size).enumerate() {
                    self.push(&mut column, cell, row + r as u64, j)?;
                }
                row += rows;
            }
            columns.push(column);
        }
        Ok(columns)
    }

    /// Reads a whole array in either order.
    pub(super) fn read_all(
        &self,
        reader: &mut impl Read,
        fortran: bool,
        fail: impl Fn(std::io::Error) -> Error,
    ) -> Result<Vec<Values>> {
        if fortran { self.read_columns(reader, fail) } else { self.read_rows(reader, 0, usize::MAX, fail) }
    }

    /// Reads a whole one-column array as text, numbers written as labels are.
    pub(super) fn read_text(&self, reader: &mut impl Read, fail: impl Fn(std::io::Error) -> Error) -> Result<Texts> {
        self.check_size(self.rows)?;
        let mut texts = Texts::new();
        for row in 0..self.rows {
            let bytes = self.piece(reader, self.dtype.size, row, &fail)?;
            let text = self
                .dtype
                .text(&bytes)
                .map_err(|what| Error::data(&self.origin, format!("row {}: {what}", row + 1)))?;
            texts.push(&text);
        }
        Ok(texts)
    }
}

/// An array in C order, read as it comes.
struct Rows {
    input: Input,
    array: Array,
    done: u64,
    /// Whether the end behind the last row was looked at.
    ended: bool,
}

impl Batches for Rows {
    fn empty(&self) -> Option<Table> {
        let columns = (0..self.array.columns).map(|_| self.array.new_column()).collect();
        Some(table(&self.input.origin, columns, 0))
    }

    fn next_batch(&mut self, max_rows: usize) -> Result<Option<Table>> {
        let (origin, gzip) = (self.input.origin.clone(), self.input.gzip);
        let fail = |e| read_failure(&origin, gzip, e);
        let columns = self.array.read_rows(&mut self.input.reader, self.done, max_rows, fail)?;
        let rows = columns.first().map_or(0, Values::len);
        let first_row = self.done as usize;
        self.done += rows as u64;
        if self.done == self.array.rows && !self.ended {
            self.array.finish(&mut self.input.reader, &fail)?;
            self.ended = true;
        }
        if rows == 0 {
            return Ok(None);
        }
        Ok(Some(table(&origin, columns, first_row)))
    }
}
