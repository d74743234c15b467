//! A script for `psql`: makes a table and fills it, or leaves the database as it was.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};

use lipmetric::data::{Column, Values};

use super::super::atomic::Sink;
use super::ids::Ids;
use super::{Batch, WriteVectors};
use crate::numbers::{is_code, number_or_missing, shortest};
use crate::{Error, Result};

/// As many elements as pgvector's type `vector` takes.
pub(super) const MOST: usize = 16_000;

pub(super) struct Script {
    sink: Sink,
    width: usize,
    table: String,
    /// The rows, which stand below the types of their columns.
    spool: BufWriter<File>,
    /// The other columns, and whether each has text in it.
    columns: Vec<(String, bool)>,
}

fn spool_failure(error: io::Error) -> Error {
    Error::io("write", "a temporary file", error)
}

/// A name as SQL takes any.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A cell as COPY reads it.
fn escaped(cell: &str) -> String {
    cell.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}

fn cell(column: &Column, i: usize) -> String {
    match &column.values {
        Values::Number(v) if v[i].is_nan() => "\\N".to_owned(),
        Values::Number(v) => shortest(v[i]),
        Values::Text(t) if t.get(i).is_empty() => "\\N".to_owned(),
        Values::Text(t) => escaped(t.get(i)),
    }
}

/// Whether a column's cells are no quantities.
fn has_text(column: &Column) -> bool {
    match &column.values {
        Values::Number(_) => false,
        Values::Text(t) => {
            t.iter().any(|c| !c.is_empty() && (is_code(c) || number_or_missing(c).is_none_or(f64::is_nan)))
        }
    }
}

impl Script {
    pub(super) fn new(sink: Sink, width: usize, table: &str) -> Result<Self> {
        if table.is_empty() || table.contains('\0') {
            return Err(Error::usage(format!("`{}` is no name of a table", table.escape_default())));
        }
        let table = match table.split_once('.') {
            Some((schema, name)) => format!("{}.{}", quoted(schema), quoted(name)),
            None => quoted(table),
        };
        let spool = BufWriter::new(tempfile::tempfile().map_err(spool_failure)?);
        Ok(Self { sink, width, table, spool, columns: Vec::new() })
    }

    /// Everything above the rows.
    fn head(&self, ids: &Ids) -> String {
        let id = if ids.whole() { "bigint" } else { "text" };
        let typed = |(name, text): &(String, bool)| {
            format!(",\n  {} {}", quoted(name), if *text { "text" } else { "double precision" })
        };
        let others: String = self.columns.iter().map(typed).collect();
        let names: String = self.columns.iter().map(|(name, _)| format!("{}, ", quoted(name))).collect();
        let table = &self.table;
        format!(
            "\\set ON_ERROR_STOP on\nCREATE EXTENSION IF NOT EXISTS vector;\nBEGIN;\nCREATE TABLE {table} (\n  id {id} PRIMARY \
             KEY{others},\n  vector vector({}) NOT NULL\n);\nCOPY {table} (id, {names}vector) FROM stdin;\n",
            self.width
        )
    }

    /// Everything below.
    fn tail(&self) -> String {
        let table = &self.table;
        format!(
            "\\.\nCOMMIT;\n-- Search is exact, row by row. For approximate search in large tables:\n-- CREATE INDEX ON {table} \
             USING hnsw (vector vector_l2_ops);\n-- The ten nearest of a mapped row:\n-- SELECT id, vector <-> '[...]' AS \
             distance FROM {table} ORDER BY distance LIMIT 10;\n"
        )
    }
}

impl WriteVectors for Script {
    fn write(&mut self, batch: &Batch<'_>) -> Result<()> {
        let beside = batch.beside;
        if self.columns.is_empty() {
            self.columns = beside.columns.iter().map(|c| (c.name.clone(), false)).collect();
        }
        for ((_, text), column) in self.columns.iter_mut().zip(&beside.columns) {
            *text |= has_text(column);
        }
        for (i, (id, vector)) in batch.ids.iter().zip(batch.vectors.chunks_exact(self.width)).enumerate() {
            let mut line = escaped(id);
            for column in &beside.columns {
                line.push('\t');
                line.push_str(&cell(column, i));
            }
            if line.contains('\0') {
                return Err(Error::data(
                    beside.place(i),
                    "a cell holds the character NUL, which PostgreSQL cannot hold",
                ));
            }
            let elements: Vec<String> = vector.iter().map(|v| format!("{v:?}")).collect();
            writeln!(self.spool, "{line}\t[{}]", elements.join(",")).map_err(spool_failure)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, ids: &Ids) -> Result<()> {
        let (head, tail) = (self.head(ids), self.tail());
        let mut rows = self.spool.into_inner().map_err(|e| spool_failure(e.into_error()))?;
        rows.rewind().map_err(spool_failure)?;
        let sink = &mut self.sink;
        let mut write = || {
            sink.write_all(head.as_bytes())?;
            io::copy(&mut rows, sink)?;
            sink.write_all(tail.as_bytes())
        };
        write().map_err(|e| self.sink.fail(e))?;
        self.sink.finish()
    }
}
