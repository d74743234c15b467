//! LIBSVM's sparse text.

use std::borrow::Cow;
use std::io::{self, Write};

use lipmetric::data::{Table, Values, excerpt};

use super::atomic::{Sink, TextSink};
use super::{WriteBatches, numbers};
use crate::numbers::shortest;
use crate::{Error, Format, Result};

pub(super) struct Libsvm {
    sink: TextSink,
    label: String,
}

impl Libsvm {
    pub(super) fn new(sink: Sink, gzip: bool, label: String) -> Self {
        Self { sink: TextSink::new(sink, gzip), label }
    }

    fn write_rows(&mut self, labels: Option<&Values>, features: &[Cow<'_, [f64]>], rows: usize) -> io::Result<()> {
        for i in 0..rows {
            match labels {
                None => write!(self.sink, "0")?,
                Some(Values::Text(t)) => write!(self.sink, "{}", t.get(i))?,
                Some(Values::Number(v)) => write!(self.sink, "{}", shortest(v[i]))?,
            }
            for (j, column) in features.iter().enumerate() {
                let value = column[i];
                if value.is_nan() {
                    write!(self.sink, " {}:nan", j + 1)?;
                // Only the positive zero is what an absent value reads as.
                } else if value.to_bits() != 0 {
                    write!(self.sink, " {}:{}", j + 1, shortest(value))?;
                }
            }
            writeln!(self.sink)?;
        }
        Ok(())
    }
}

/// Refuses labels that would read back as something else.
fn check_labels(table: &Table, labels: &Values) -> Result<()> {
    let Values::Text(cells) = labels else { return Ok(()) };
    let breaks = |c: char| c.is_whitespace() || matches!(c, ':' | ',' | '#');
    match cells.iter().position(|cell| cell.is_empty() || cell.contains(breaks)) {
        None => Ok(()),
        Some(i) => {
            let shown = excerpt(cells.get(i));
            let message = format!(
                "the label `{shown}` cannot be written in LIBSVM format: labels must not be empty or hold blanks, \
                 colons, commas or `#`; write CSV instead"
            );
            Err(Error::data(table.place(i), message))
        }
    }
}

impl WriteBatches for Libsvm {
    fn write(&mut self, table: &Table) -> Result<()> {
        let at = table.position(&self.label);
        let labels = at.map(|j| &table.columns[j].values);
        if let Some(labels) = labels {
            check_labels(table, labels)?;
        }
        let others = table.columns.iter().enumerate().filter(|(j, _)| Some(*j) != at);
        let features = others.map(|(_, c)| numbers(table, c, Format::Libsvm)).collect::<Result<Vec<_>>>()?;
        self.write_rows(labels, &features, table.rows()).map_err(|e| self.sink.fail(e))
    }

    fn flush(&mut self) -> Result<()> {
        self.sink.flush().map_err(|e| self.sink.fail(e))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.sink.finish()
    }
}
