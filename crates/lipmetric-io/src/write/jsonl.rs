//! JSON lines: an object per row.

use std::io::Write;

use lipmetric::data::{Table, Values, is_missing, number};
use serde_json::{Value, json};

use super::WriteBatches;
use super::atomic::{Sink, TextSink};
use crate::Result;

pub(super) struct JsonLines {
    sink: TextSink,
}

impl JsonLines {
    pub(super) fn new(sink: Sink, gzip: bool) -> Self {
        Self { sink: TextSink::new(sink, gzip) }
    }
}

/// A cell of text: a number where it is written as JSON would write it, nothing where it is missing, else text.
fn value(cell: &str) -> Value {
    let written = |v: f64| [json!(v).to_string(), v.to_string()];
    match number(cell) {
        Some(v) if written(v).iter().any(|text| text == cell) => serde_json::from_str(cell).unwrap_or(json!(v)),
        _ if is_missing(cell) => Value::Null,
        _ => json!(cell),
    }
}

impl WriteBatches for JsonLines {
    fn write(&mut self, table: &Table) -> Result<()> {
        for i in 0..table.rows() {
            let cells = table.columns.iter().map(|c| {
                let value = match &c.values {
                    Values::Number(v) if v[i].is_nan() => Value::Null,
                    Values::Number(v) => json!(v[i]),
                    Values::Text(t) => value(t.get(i)),
                };
                format!("{}:{value}", json!(c.name))
            });
            // Put together by hand, as the columns' order is to be kept.
            let line = format!("{{{}}}\n", cells.collect::<Vec<_>>().join(","));
            self.sink.write_all(line.as_bytes()).map_err(|e| self.sink.fail(e))?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.sink.flush().map_err(|e| self.sink.fail(e))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.sink.finish()
    }
}
