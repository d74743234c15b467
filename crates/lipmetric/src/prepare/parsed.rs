//! A column whose cells have been looked at, each once.

use super::columns::Cells;
use super::notation::Notation;
use super::schema::{Encoding, Kind, Unseen};
use crate::data::{Column, Table, Values, excerpt, number};
use crate::{Error, Result};
use std::borrow::Cow;
use std::collections::HashMap;

/// Which cells are missing, which are numbers, and which are neither.
pub(super) struct Parsed<'t> {
    table: &'t Table,
    column: &'t Column,
    notation: &'t Notation,
    /// The cells' numbers; NaN where a cell is missing or odd.
    numbers: Vec<f64>,
    /// How many cells are missing.
    missing: usize,
    /// The rows whose cells are there but are no finite numbers.
    odd: Vec<usize>,
}

impl<'t> Parsed<'t> {
    pub(super) fn new(table: &'t Table, column: &'t Column, notation: &'t Notation) -> Self {
        let (mut missing, mut odd) = (0, Vec::new());
        let numbers = match &column.values {
            Values::Number(values) => {
                odd.extend((0..values.len()).filter(|&i| values[i].is_infinite()));
                let known = |v: &f64| if notation.is_missing_number(*v) { f64::NAN } else { *v };
                let values: Vec<f64> = values.iter().map(known).collect();
                missing = values.iter().filter(|v| v.is_nan()).count();
                values
            }
            Values::Text(cells) => cells
                .iter()
                .enumerate()
                .map(|(i, cell)| match notation.number(cell) {
                    Some(value) if !notation.is_missing_number(value) => value,
                    _ if notation.is_missing(cell) => {
                        missing += 1;
                        f64::NAN
                    }
                    _ => {
                        odd.push(i);
                        f64::NAN
                    }
                })
                .collect(),
        };
        Self { table, column, notation, numbers, missing, odd }
    }

    /// How many cells hold something.
    pub(super) fn present(&self) -> usize {
        self.numbers.len() - self.missing
    }

    /// The rows whose cells are there but are no finite numbers.
    pub(super) fn odd(&self) -> &[usize] {
        &self.odd
    }

    /// Whether every cell that is there is one of two opposite words.
    pub(super) fn is_words_of_truth(&self) -> bool {
        self.odd.len() == self.present()
            && self.odd.iter().all(|&i| truth(&cell_text(&self.column.values, i)).is_some())
    }

    /// What to do where the decimal mark is a comma and all odd cells would be numbers if it were a point.
    pub(super) fn points_beside_commas(&self, odd: &[Cow<'_, str>]) -> Option<(usize, String)> {
        let plain = |cell: &Cow<'_, str>| number(cell).is_some();
        (self.notation.decimal == ',' && odd.iter().all(plain)).then(|| {
            let told = "a number with a point, where the decimal mark is a comma: if points stand between thousands, read it with \
                        `thousands = .`";
            (0, told.to_owned())
        })
    }

    /// How the column is encoded as one of this kind, and its cells.
    pub(super) fn encode(self, kind: Kind) -> Result<(Encoding, Cells)> {
        match kind {
            Kind::Numeric => Ok((Encoding::Numeric, self.numbers()?)),
            Kind::Boolean => Ok((Encoding::Boolean, self.truths()?)),
            Kind::Category => {
                let levels = self.levels();
                let cells = codes(self.table, self.column, &levels, (Unseen::Error, self.notation))?;
                Ok((Encoding::Category { levels }, cells))
            }
        }
    }

    /// The cells as numbers.
    pub(super) fn numbers(self) -> Result<Cells> {
        match self.odd.first() {
            Some(&i) => Err(self.refuse(i, "a number")),
            None => Ok(Cells::Number(self.numbers)),
        }
    }

    /// The cells as 0 and 1.
    pub(super) fn truths(mut self) -> Result<Cells> {
        for &i in &self.odd {
            self.numbers[i] = truth(&cell_text(&self.column.values, i)).unwrap_or(f64::INFINITY);
        }
        match self.numbers.iter().position(|v| !v.is_nan() && *v != 0.0 && *v != 1.0) {
            Some(i) => Err(self.refuse(i, "a truth value (true/false, yes/no, 1/0)")),
            None => Ok(Cells::Number(self.numbers)),
        }
    }

    /// The different texts in order; numbers by value, under their first spelling.
    pub(super) fn levels(&self) -> Vec<String> {
        let texts =
            (0..self.numbers.len()).map(|i| cell_text(&self.column.values, i)).filter(|t| !self.notation.is_missing(t));
        let mut levels: Vec<Cow<'_, str>> = texts.collect();
        levels.sort_unstable();
        levels.dedup();
        if self.odd.is_empty() {
            let value = |level: &str| self.notation.number(level).unwrap_or(f64::NAN);
            levels.sort_by(|a, b| value(a).total_cmp(&value(b)));
            levels.dedup_by(|a, b| value(a) == value(b));
        }
        levels.into_iter().map(Cow::into_owned).collect()
    }

    fn refuse(&self, i: usize, wanted: &str) -> Error {
        let text = cell_text(&self.column.values, i);
        Error::data(format!("{}: `{}` is not {wanted}", place(self.table, self.column, i), excerpt(&text)))
    }
}

/// A category's cells as indices of its levels.
pub(super) fn codes(
    table: &Table,
    column: &Column,
    levels: &[String],
    (unseen, notation): (Unseen, &Notation),
) -> Result<Cells> {
    let known: HashMap<&str, u32> = levels.iter().enumerate().map(|(k, l)| (l.as_str(), k as u32)).collect();
    let code = |i: usize| {
        let text = cell_text(&column.values, i);
        if let Some(&k) = known.get(text.as_ref()) {
            return Ok(k);
        }
        if notation.is_missing(&text) {
            return Ok(Cells::MISSING);
        }
        let same = notation.number(&text).and_then(|v| levels.iter().position(|l| notation.number(l) == Some(v)));
        match (same, unseen) {
            (Some(k), _) => Ok(k as u32),
            (None, Unseen::Ignore) => Ok(Cells::UNSEEN),
            (None, Unseen::Error) => Err(Error::data(format!(
                "{}: level `{}` was not seen in training (known: {}); `unseen = ignore` encodes it as none of them",
                place(table, column, i),
                excerpt(&text),
                list(levels)
            ))),
        }
    };
    (0..column.values.len()).map(code).collect::<Result<_>>().map(Cells::Level)
}

fn place(table: &Table, column: &Column, i: usize) -> String {
    format!("{}, column `{}`", table.place(i), column.name)
}

fn list(levels: &[String]) -> String {
    let shown: Vec<String> = levels.iter().take(8).map(|l| excerpt(l)).collect();
    let more = levels.len().saturating_sub(8);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

/// A cell as text; numbers in their shortest form, nothing where one is missing.
pub(super) fn cell_text(values: &Values, i: usize) -> Cow<'_, str> {
    match values {
        Values::Text(t) => Cow::Borrowed(t.get(i).trim()),
        Values::Number(v) if v[i].is_nan() => Cow::Borrowed(""),
        Values::Number(v) => Cow::Owned(v[i].to_string()),
    }
}

/// 0 or 1 where the text is a word for it.
fn truth(text: &str) -> Option<f64> {
    let is = |words: [&str; 4]| words.iter().any(|w| text.eq_ignore_ascii_case(w));
    if is(["true", "yes", "t", "y"]) {
        Some(1.0)
    } else if is(["false", "no", "f", "n"]) {
        Some(0.0)
    } else {
        None
    }
}
