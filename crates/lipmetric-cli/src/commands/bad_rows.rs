//! Rows of a stream that cannot be used: the end, or left out.

use super::shared::BATCH;
use crate::failure::{Failure, Result};
use crate::output::counted;
use crate::session::Session;
use lipmetric::data::Table;
use lipmetric_io::{ErrorKind, TableStream};

/// At most so many rows that are left out are told one by one.
const MOST_TOLD: usize = 10;

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub(super) enum BadRowRule {
    /// End there
    Error,
    /// Leave it out and say so
    Skip,
}

/// What becomes of bad rows, and how far the output is.
pub(super) struct BadRows {
    rule: BadRowRule,
    /// Whether rows reach their reader before the end.
    through: bool,
    pub(super) written: usize,
    skipped: usize,
    last: String,
}

impl BadRows {
    pub(super) fn new(rule: BadRowRule, through: bool) -> Self {
        Self { rule, through, written: 0, skipped: 0, last: String::new() }
    }

    /// The next batch that can be read.
    pub(super) fn next(&mut self, stream: &mut TableStream, session: &Session) -> Result<Option<Table>> {
        loop {
            let error = match session.reading(|| stream.next_batch(BATCH)) {
                Ok(batch) => return Ok(batch),
                Err(e) => e,
            };
            let (text, about_data) = (error.to_string(), error.kind() == ErrorKind::Data);
            // The same complaint again: the stream does not get over it.
            if self.rule == BadRowRule::Error || !about_data || text == self.last {
                return Err(self.with_written(error.into()));
            }
            self.skip(&text, session);
            self.last = text;
        }
    }

    /// What one batch gives: whole or, where it has a bad row, row by row.
    pub(super) fn each(
        &mut self,
        batch: &Table,
        one: impl Fn(&Table) -> Result<Table>,
        session: &Session,
    ) -> Result<Vec<Table>> {
        let problem = match one(batch) {
            Ok(out) => return Ok(vec![out]),
            Err(problem) => problem,
        };
        if self.rule == BadRowRule::Error || !matches!(problem, Failure::Data(_)) {
            // What is wrong with every row is wrong with a column.
            let some_are_good = || (0..batch.rows()).any(|i| one(&batch.select_rows(&[i])).is_ok());
            return Err(match problem {
                Failure::Data(text) if self.rule == BadRowRule::Error && some_are_good() => {
                    let none = if self.through && self.written > 0 { "" } else { " (no row was written)" };
                    self.with_written(Failure::Data(format!("{text}; `--bad-rows skip` leaves such rows out{none}")))
                }
                problem => self.with_written(problem),
            });
        }
        let mut good = Vec::new();
        for i in 0..batch.rows() {
            let mut row = batch.select_rows(&[i]);
            row.first_row = batch.first_row + i;
            match one(&row) {
                Ok(out) => good.push(out),
                Err(Failure::Data(text)) => self.skip(&text, session),
                Err(other) => return Err(other),
            }
        }
        // All of them: then it is not a row that is bad.
        if good.is_empty() && batch.rows() > 1 { Err(self.with_written(problem)) } else { Ok(good) }
    }

    fn skip(&mut self, text: &str, session: &Session) {
        self.skipped += 1;
        if self.skipped <= MOST_TOLD {
            session.note(format!("left out: {text}"));
        }
    }

    /// Says how many rows were left out.
    pub(super) fn tell(&self, session: &Session) {
        if self.skipped > 0 {
            session.note(format!(
                "{} left out, {} written",
                counted(self.skipped, "row was", "rows were"),
                counted(self.written, "row was", "rows were")
            ));
        }
    }

    /// A failure with how far the output has come.
    fn with_written(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Data(text) if self.through && self.written > 0 => {
                Failure::Data(format!("{text} ({} written before)", counted(self.written, "row was", "rows were")))
            }
            other => other,
        }
    }
}
