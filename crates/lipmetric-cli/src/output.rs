//! Results on standard output: tables for people, JSON for programs.

use crate::failure::{Failure, Result};
use serde::Serialize;
use std::io::Write;
use unicode_width::UnicodeWidthStr;

/// Writes text to standard output.
pub(crate) fn print(text: &str) -> Result {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| Failure::output(&e))
}

/// Writes a value to standard output as JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result {
    let text = serde_json::to_string_pretty(value).map_err(|e| Failure::Failed(e.to_string()))?;
    print(&(text + "\n"))
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows of cells in aligned columns.
pub(crate) struct TextTable {
    align: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    pub(crate) fn new(align: Vec<Align>) -> Self {
        Self { align, rows: Vec::new() }
    }

    pub(crate) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    pub(crate) fn render(&self) -> String {
        let mut widths = vec![0; self.align.len()];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(visible_width(cell));
            }
        }
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, &width), align) in row.iter().zip(&widths).zip(&self.align) {
                let pad = " ".repeat(width - visible_width(cell));
                match align {
                    Align::Left => line += &format!("{cell}{pad}  "),
                    Align::Right => line += &format!("{pad}{cell}  "),
                }
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
}

/// Columns a cell takes on a terminal; colour codes take none.
pub(crate) fn visible_width(cell: &str) -> usize {
    let mut plain = String::new();
    let mut rest = cell;
    while let Some(at) = rest.find('\x1b') {
        plain += &rest[..at];
        rest = rest[at..].split_once('m').map_or("", |(_, after)| after);
    }
    plain += rest;
    plain.width()
}

/// A number in four significant digits, as people read it.
pub(crate) fn short(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if (1e-3..1e5).contains(&size) {
        let digits = (3 - size.log10().floor() as i32).max(0) as usize;
        let text = format!("{value:.digits$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    } else {
        format!("{value:.3e}")
    }
}

/// A number of things: `1 row`, `2 rows`.
pub(crate) fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A number in all its digits.
pub(crate) fn whole(value: f64) -> String {
    if value == 0.0 || (1e-3..1e9).contains(&value.abs()) { value.to_string() } else { format!("{value:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown: Vec<String> = [0.0, 1.0, 52.457_516, 0.001_234_56, 1.5e-9, 123_456.0, -3.25].map(short).to_vec();
        assert_eq!(shown, ["0", "1", "52.46", "0.001235", "1.500e-9", "1.235e5", "-3.25"]);
    }

    #[test]
    fn all_digits_are_shown_where_they_count() {
        let shown: Vec<String> = [0.0, 2.0, 447.2790389983646, 1.5e-9, 3e12].map(whole).to_vec();
        assert_eq!(shown, ["0", "2", "447.2790389983646", "1.5e-9", "3e12"]);
    }

    #[test]
    fn colour_codes_and_wide_letters_do_not_shift_columns() {
        let mut t = TextTable::new(vec![Align::Left, Align::Right]);
        t.row(["\x1b[1mab\x1b[0m", "1"]);
        t.row(["名前", "22"]);
        assert_eq!(t.render(), "\x1b[1mab\x1b[0m     1\n名前  22\n");
    }
}
