//! CSV and TSV: rows of delimited cells, every column as text.

use std::collections::VecDeque;

use lipmetric::data::{Column, Table, Texts, Values};

use super::lines::not_utf8;
use super::records::{Record, Records};
use super::{Batches, MAX_COLUMNS, position_names, sniff, too_many_columns};
use crate::source::Opened;
use crate::{Error, Result};

/// Stop looking ahead for the header when the rows held take this much.
const LOOK_AHEAD: usize = 1 << 20;

pub(super) struct Delimited {
    records: Records,
    /// Rows that were read to find out about the header.
    ahead: VecDeque<Record>,
    names: Vec<String>,
    named: bool,
    seen: usize,
}

impl Delimited {
    pub(super) fn open(opened: Opened, delimiter: Option<u8>, header: Option<bool>) -> Result<Self> {
        let delimiter = match delimiter {
            Some(given) => check_delimiter(given, &opened.input.origin)?,
            None => sniff::delimiter(&opened.sample, opened.complete),
        };
        let mut records = Records::new(opened.input, delimiter);
        let mut ahead: VecDeque<Record> = VecDeque::new();
        let mut held = 0;
        // With the header known, one row is enough to know the columns, and a pipe is not kept waiting.
        let wanted = if header.is_some() { 1 } else { sniff::ROWS };
        while ahead.len() < wanted && held < LOOK_AHEAD {
            let mut record = Record::default();
            if !records.read(&mut record)? {
                break;
            }
            held += record.size();
            ahead.push_back(record);
        }
        let columns = ahead.front().map_or(0, Record::len);
        if columns > MAX_COLUMNS {
            return Err(too_many_columns(records.input(), ahead.front().map(|r| r.line), columns));
        }
        let named = header.unwrap_or_else(|| sniff::has_header(ahead.make_contiguous()));
        let names = match ahead.front() {
            Some(first) if named => header_names(first, &records.input().origin)?,
            _ => position_names(columns).collect(),
        };
        if named {
            ahead.pop_front();
        }
        Ok(Self { records, ahead, names, named, seen: 0 })
    }
}

fn check_delimiter(delimiter: u8, origin: &str) -> Result<u8> {
    if delimiter.is_ascii_alphanumeric() || matches!(delimiter, b'"' | b'\n' | b'\r' | b'.' | b'-' | b'+') {
        let shown = char::from(delimiter).escape_debug();
        let message = format!("{origin}: `{shown}` cannot be a delimiter; use a comma, semicolon, tab, bar or blank");
        return Err(Error::usage(message));
    }
    Ok(delimiter)
}

fn header_names(first: &Record, origin: &str) -> Result<Vec<String>> {
    let mut names = Vec::with_capacity(first.len());
    for j in 0..first.len() {
        let bytes = first.cell(j);
        let name = std::str::from_utf8(bytes)
            .map_err(|e| Error::data_in_column(origin, Some(first.line), (j + 1).to_string(), not_utf8(bytes, e)))?;
        let name = name.trim();
        names.push(if name.is_empty() { format!("x{}", j + 1) } else { name.to_owned() });
    }
    let mut sorted: Vec<&str> = names.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    let mut twice: Vec<&str> = sorted.windows(2).filter(|w| w[0] == w[1]).map(|w| w[0]).collect();
    twice.dedup();
    if !twice.is_empty() {
        let shown = twice.iter().take(5).map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
        let message = format!("column names occur more than once: {shown}; give every column its own name");
        return Err(Error::data_at_line(origin, first.line, message));
    }
    Ok(names)
}

impl Delimited {
    fn take_in(&self, record: &Record, cells: &mut [Texts]) -> Result<()> {
        let origin = &self.records.input().origin;
        if record.len() != cells.len() {
            let hint = if record.last_line > record.line {
                format!("; the row runs to line {}, so look for a quote that is never closed", record.last_line)
            } else {
                "; complete the row, or quote cells that hold the delimiter".to_owned()
            };
            let (expected, found) = (cells.len(), record.len());
            let message = format!("expected {expected} cells as in the first row, found {found}{hint}");
            return Err(Error::data_at_line(origin, record.line, message));
        }
        for (j, column) in cells.iter_mut().enumerate() {
            let bytes = record.cell(j);
            let cell = std::str::from_utf8(bytes).map_err(|e| {
                let place = format!("{} (`{}`)", j + 1, self.names[j]);
                Error::data_in_column(origin, Some(record.line), place, not_utf8(bytes, e))
            })?;
            column.push(cell.trim());
        }
        Ok(())
    }
}

impl Batches for Delimited {
    fn next_batch(&mut self, max_rows: usize) -> Result<Option<Table>> {
        let mut cells = vec![Texts::new(); self.names.len()];
        let mut lines = Vec::new();
        let mut record = Record::default();
        while lines.len() < max_rows {
            if let Some(row) = self.ahead.pop_front() {
                record = row;
            } else if !self.records.read(&mut record)? {
                break;
            }
            self.take_in(&record, &mut cells)?;
            lines.push(record.line);
        }
        if lines.is_empty() {
            return Ok(None);
        }
        let first_row = self.seen;
        self.seen += lines.len();
        let columns = self.names.iter().zip(cells);
        let columns = columns.map(|(name, c)| Column { name: name.clone(), values: Values::Text(c) }).collect();
        let origin = self.records.input().origin.clone();
        let mut table = Table::new(origin, columns);
        (table.named, table.lines, table.first_row) = (self.named, lines, first_row);
        Ok(Some(table))
    }
}
