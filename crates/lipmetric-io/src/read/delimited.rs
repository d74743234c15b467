//! CSV and TSV: rows of delimited cells, every column as text.

use std::collections::{HashMap, VecDeque};

use lipmetric::data::{Column, Table, Texts, Values};

use super::lines::not_utf8;
use super::records::{Record, Records};
use super::{Batches, MAX_COLUMNS, ReadOptions, position_names, sniff, too_many_columns};
use crate::source::{Opened, too_large};
use crate::{Error, Result};

/// Stop looking ahead for the header when the rows held take this much.
const LOOK_AHEAD: usize = 1 << 20;

/// So many remarks above a table are waited for.
const MOST_REMARKS: usize = 64;

pub(super) struct Delimited {
    records: Records,
    delimiter: u8,
    /// Rows that were read to find out about the header.
    ahead: VecDeque<Record>,
    names: Vec<String>,
    named: bool,
    /// Whether each column will be left out.
    skipped: Vec<bool>,
    seen: usize,
    /// A bad row that follows the rows which were given out last.
    pending: Option<Error>,
    /// The most memory that a batch may take.
    limit: u64,
}

impl Delimited {
    pub(super) fn open(opened: Opened, delimiter: Option<u8>, options: &ReadOptions) -> Result<Self> {
        let header = options.header;
        let delimiter = match delimiter {
            Some(given) => check_delimiter(given, &opened.input.origin)?,
            None => sniff::delimiter(&opened.sample, opened.complete),
        };
        let mut records = Records::new(opened.input, delimiter);
        let mut ahead: VecDeque<Record> = VecDeque::new();
        let mut held = 0;
        // With the header known, one row is enough to know the columns, and a pipe is not kept waiting.
        let wanted = if header.is_some() { 1 } else { sniff::ROWS };
        let comment = |row: &Record| row.len() > 0 && row.cell(0).starts_with(b"#");
        while held < LOOK_AHEAD {
            let enough = if records.input().would_wait(0) { 2.min(wanted) } else { wanted };
            let remarks = ahead.iter().take(MOST_REMARKS).take_while(|row| comment(row)).count();
            if ahead.len() >= enough + remarks {
                break;
            }
            let mut record = Record::default();
            if !records.read(&mut record)? {
                break;
            }
            held += record.size();
            ahead.push_back(record);
            // A remark above the table; a row of names that begins so has as many cells as the rows below it.
            while let Some(first) = ahead.front().filter(|row| comment(row)) {
                let differs = |below: &Record| below.len() != first.len();
                if !(ahead.get(1).is_some_and(differs) || ahead.iter().find(|row| !comment(row)).is_some_and(differs)) {
                    break;
                }
                ahead.pop_front();
            }
        }
        let columns = ahead.front().map_or(0, Record::len);
        if columns > MAX_COLUMNS {
            return Err(too_many_columns(records.input(), ahead.front().map(|r| r.line), columns));
        }
        let named = header.unwrap_or_else(|| sniff::has_header(ahead.make_contiguous()));
        let names = match ahead.front() {
            Some(first) if named => header_names(first, &records.input().origin, options)?,
            _ => position_names(columns).collect(),
        };
        if named {
            ahead.pop_front();
        }
        let by_number = |j: usize| options.skips(&(j + 1).to_string());
        let skipped = names.iter().enumerate().map(|(j, name)| options.skips(name) || by_number(j)).collect();
        Ok(Self { records, delimiter, ahead, names, named, skipped, seen: 0, pending: None, limit: options.limit() })
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

fn header_names(first: &Record, origin: &str, options: &ReadOptions) -> Result<Vec<String>> {
    let mut names = Vec::with_capacity(first.len());
    for j in 0..first.len() {
        let bytes = first.cell(j);
        let name = std::str::from_utf8(bytes)
            .map_err(|e| Error::data_in_column(origin, Some(first.line), (j + 1).to_string(), not_utf8(bytes, e)))?;
        let name = name.trim();
        names.push(if name.is_empty() { format!("x{}", j + 1) } else { name.to_owned() });
    }
    tell_apart(&mut names, options);
    let mut sorted: Vec<&str> = names.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    let mut twice: Vec<&str> = sorted.windows(2).filter(|w| w[0] == w[1]).map(|w| w[0]).collect();
    twice.dedup();
    if !twice.is_empty() {
        let shown = twice.iter().take(5).map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
        let message = format!(
            "column names occur more than once: {shown}; give every column its own name, or leave all but one out by number, as \
             with `ignore = 2`"
        );
        return Err(Error::data_at_line(origin, first.line, message));
    }
    Ok(names)
}

/// Gives columns that are left out by number a name of their own where another column has the same.
fn tell_apart(names: &mut [String], options: &ReadOptions) {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for name in names.iter() {
        *counts.entry(name.clone()).or_default() += 1;
    }
    for (j, name) in names.iter_mut().enumerate() {
        let own = format!("{name}#{}", j + 1);
        if counts[name] > 1 && (options.skips(&(j + 1).to_string()) || options.skips(&own)) {
            *name = own;
        }
    }
}

impl Delimited {
    fn take_in(&self, record: &Record, cells: &mut [Texts]) -> Result<()> {
        let origin = &self.records.input().origin;
        if record.len() != cells.len() {
            let hint = if record.last_line > record.line {
                format!("; the row runs to line {}, so look for a quote that is never closed", record.last_line)
            } else if cells.len() == 1 {
                "; if lines above the table are a title, remove them or begin each with `#`".to_owned()
            } else {
                "; complete the row, or quote cells that hold the delimiter".to_owned()
            };
            let (expected, found) = (cells.len(), record.len());
            let noun = if expected == 1 { "cell" } else { "cells" };
            let message = format!("expected {expected} {noun} as in the first row, found {found}{hint}");
            return Err(Error::data_at_line(origin, record.line, message));
        }
        // All cells first, so that a row is taken in whole or not at all.
        let mut row = Vec::with_capacity(cells.len());
        for j in 0..cells.len() {
            let bytes = record.cell(j);
            row.push(if self.skipped[j] {
                ""
            } else {
                std::str::from_utf8(bytes).map_err(|e| {
                    let place = format!("{} (`{}`)", j + 1, self.names[j]);
                    Error::data_in_column(origin, Some(record.line), place, not_utf8(bytes, e))
                })?
            });
        }
        for (column, cell) in cells.iter_mut().zip(row) {
            column.push(cell.trim());
        }
        Ok(())
    }
}

impl Delimited {
    fn table(&self, cells: Vec<Texts>) -> Table {
        let columns = self.names.iter().zip(cells);
        let columns = columns.map(|(name, c)| Column { name: name.clone(), values: Values::Text(c) }).collect();
        let mut table = Table::new(self.records.input().origin.clone(), columns);
        (table.named, table.separator) = (self.named, Some(char::from(self.delimiter)));
        table
    }
}

impl Batches for Delimited {
    fn next_batch(&mut self, max_rows: usize) -> Result<Option<Table>> {
        if let Some(error) = self.pending.take() {
            return Err(error);
        }
        let mut cells = vec![Texts::new(); self.names.len()];
        let mut lines = Vec::new();
        let mut record = Record::default();
        let mut held: u64 = 0;
        while lines.len() < max_rows {
            if !lines.is_empty() && self.ahead.is_empty() && self.records.input().would_wait(max_rows) {
                break;
            }
            if let Some(row) = self.ahead.pop_front() {
                record = row;
            } else if !self.records.read(&mut record)? {
                break;
            }
            match self.take_in(&record, &mut cells) {
                Err(e) if !lines.is_empty() && max_rows < usize::MAX => {
                    self.pending = Some(e);
                    break;
                }
                other => other?,
            }
            lines.push(record.line);
            held += (record.size() + 8 * record.len()) as u64;
            if held > self.limit {
                return Err(too_large(&self.records.input().origin, self.limit));
            }
        }
        if lines.is_empty() {
            return Ok(None);
        }
        let first_row = self.seen;
        self.seen += lines.len();
        let mut table = self.table(cells);
        (table.lines, table.first_row) = (lines, first_row);
        Ok(Some(table))
    }

    fn empty(&self) -> Option<Table> {
        Some(self.table(vec![Texts::new(); self.names.len()]))
    }
}
