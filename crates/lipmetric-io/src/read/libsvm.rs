//! LIBSVM's sparse text: `label index:value index:value ...`, indices from 1 and increasing, `#` comments.

use lipmetric::data::{Column, SparseRows, Table, Texts, Values, excerpt};

use super::lines::{Lines, not_utf8};
use super::{Batches, MAX_COLUMNS, ReadOptions, position_names};
use crate::source::{Input, too_large};
use crate::{Error, Result};

/// What an empty column costs: its name, its place in the table, its allocation.
const COLUMN_COST: u64 = 128;

pub(super) struct Libsvm {
    lines: Lines,
    seen: usize,
    /// The most features of a row, if they are known.
    most: Option<usize>,
    /// The most memory that the dense columns of one batch may take.
    limit: u64,
}

impl Libsvm {
    pub(super) fn new(input: Input, options: &ReadOptions) -> Self {
        Self { lines: Lines::new(input), seen: 0, most: options.max_features, limit: options.limit() }
    }
}

/// Rows of LIBSVM, as sparse as they were written.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SparseTable {
    /// What messages call the source.
    pub origin: String,
    /// The label of each row, as written.
    pub labels: Texts,
    /// The line (from 1) of each row.
    pub lines: Vec<u64>,
    /// The rows.
    pub rows: SparseRows,
}

/// Bytes that a value of a sparse row takes while it is read.
const CELL_COST: u64 = 40;

/// All rows of a source; nothing where a value is missing, which sparse rows cannot hold.
pub(super) fn read_sparse(input: Input, options: &ReadOptions) -> Result<Option<SparseTable>> {
    let (origin, limit) = (input.origin.clone(), options.limit());
    let mut lines = Lines::new(input);
    let mut all = Sparse { most: options.max_features, limit, stays: true, ..Sparse::default() };
    while let Some((number, line)) = lines.next()? {
        let fail = |message| Error::data_at_line(&origin, number, message);
        let text = std::str::from_utf8(line).map_err(|e| fail(not_utf8(line, e)))?;
        all.take_in(number, text).map_err(fail)?;
        if (all.cells.len() as u64).saturating_mul(CELL_COST) > limit {
            return Err(too_large(&origin, limit));
        }
    }
    if all.cells.iter().any(|(.., value)| value.is_nan()) {
        return Ok(None);
    }
    let mut rows = SparseRows::new();
    let mut cells = all.cells.chunk_by(|a, b| a.0 == b.0).peekable();
    for (row, &line) in all.lines.iter().enumerate() {
        let own = cells.next_if(|cells| cells[0].0 == row).unwrap_or(&[]);
        let pushed = rows.push(own.iter().map(|&(_, column, value)| (column as u32, value)));
        pushed.map_err(|e| Error::data_at_line(&origin, line, e.to_string()))?;
    }
    Ok(Some(SparseTable { origin, labels: all.labels, lines: all.lines, rows }))
}

/// Rows of one batch, still sparse.
#[derive(Default)]
struct Sparse {
    labels: Texts,
    lines: Vec<u64>,
    /// Per value: its row, its column (from 0), itself.
    cells: Vec<(usize, usize, f64)>,
    columns: usize,
    most: Option<usize>,
    limit: u64,
    /// Whether the rows stay sparse.
    stays: bool,
}

impl Sparse {
    /// Takes in one line; the message of what is wrong with it otherwise.
    fn take_in(&mut self, number: u64, text: &str) -> Result<(), String> {
        let text = text.split('#').next().unwrap_or("");
        let mut tokens = text.split_ascii_whitespace();
        let Some(label) = tokens.next() else { return Ok(()) };
        if label.contains(':') {
            return Err(format!(
                "the row begins with `{}` instead of a label; write `label index:value ...`",
                excerpt(label)
            ));
        }
        if label.contains(',') {
            return Err(format!("several labels in one row (`{}`) are not supported; keep one", excerpt(label)));
        }
        let row = self.labels.len();
        let mut last = 0;
        for token in tokens {
            let (index, value) = parse_pair(token)?;
            if index <= last {
                return Err(format!("index {index} comes after {last}; indices must increase within a row"));
            }
            last = index;
            self.check_index(index)?;
            self.cells.push((row, usize::try_from(index - 1).map_err(|e| e.to_string())?, value));
        }
        let columns = last.max(self.columns as u64);
        let rows = row as u64 + 1;
        let dense = columns.saturating_mul(rows.saturating_mul(8).saturating_add(COLUMN_COST));
        if dense > self.limit && !self.stays {
            return Err(format!(
                "index {last} makes {rows} rows x {columns} columns, which need {} GiB of memory as a dense table \
                 (the limit is {}, set by the parameter `max_memory`); renumber the features, choose fewer of them, or fit with \
                 `method = euclidean`, which keeps such rows sparse",
                dense >> 30,
                self.limit >> 30
            ));
        }
        self.columns = columns as usize;
        self.labels.push(label);
        self.lines.push(number);
        Ok(())
    }

    /// Refuses a feature that cannot be, before anything is made room for.
    fn check_index(&self, index: u64) -> Result<(), String> {
        match self.most {
            Some(most) if index > most as u64 => {
                Err(format!("feature {index} is new: the model was fitted on {most} features; leave it out"))
            }
            _ if index > MAX_COLUMNS as u64 => Err(format!(
                "feature {index}: at most {MAX_COLUMNS} can be read; renumber the features or choose fewer of them"
            )),
            _ => Ok(()),
        }
    }

    fn into_table(self, origin: String, first_row: usize) -> Table {
        let rows = self.labels.len();
        let mut dense = vec![vec![0.0; rows]; self.columns];
        for (i, j, value) in self.cells {
            dense[j][i] = value;
        }
        let mut columns: Vec<Column> = position_names(self.columns)
            .zip(dense)
            .map(|(name, values)| Column { name, values: Values::Number(values) })
            .collect();
        columns.push(Column { name: "label".to_owned(), values: Values::Text(self.labels) });
        let mut table = Table::new(origin, columns);
        (table.named, table.sparse, table.lines, table.first_row) = (false, true, self.lines, first_row);
        table
    }
}

fn parse_pair(token: &str) -> Result<(u64, f64), String> {
    let shown = excerpt(token);
    let Some((index, value)) = token.split_once(':') else {
        return Err(format!("found `{shown}` where `index:value` is expected; this may not be a LIBSVM file"));
    };
    if index == "qid" {
        return Err(format!("`{shown}`: query ids (qid) belong to ranking data, which are not supported; remove them"));
    }
    let index = match index.parse::<u64>() {
        Ok(0) => return Err(format!("`{shown}`: indices begin at 1; add 1 to every index of the file")),
        Ok(index) => index,
        Err(_) => return Err(format!("`{shown}`: the index must be a whole number from 1")),
    };
    let value = value.parse().map_err(|_| format!("`{shown}`: the value must be a number"))?;
    Ok((index, value))
}

impl Batches for Libsvm {
    fn next_batch(&mut self, max_rows: usize) -> Result<Option<Table>> {
        let origin = self.lines.input.origin.clone();
        let mut batch = Sparse { most: self.most, limit: self.limit, ..Sparse::default() };
        while batch.labels.len() < max_rows && (batch.labels.is_empty() || !self.lines.input.would_wait(max_rows)) {
            let Some((number, line)) = self.lines.next()? else { break };
            let fail = |message| Error::data_at_line(&origin, number, message);
            let text = std::str::from_utf8(line).map_err(|e| fail(not_utf8(line, e)))?;
            batch.take_in(number, text).map_err(fail)?;
        }
        let rows = batch.labels.len();
        if rows == 0 {
            return Ok(None);
        }
        let table = batch.into_table(origin, self.seen);
        self.seen += rows;
        Ok(Some(table))
    }
}
