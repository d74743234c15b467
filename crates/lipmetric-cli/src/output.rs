//! Results on standard output: tables for people, JSON for programs.

use crate::failure::{Failure, Result};
use crate::session;
use serde::Serialize;
use std::io::{IsTerminal, Write};
use unicode_width::UnicodeWidthStr;

/// Writes text to standard output, broken between words where a terminal is too narrow.
pub(crate) fn print(text: &str) -> Result {
    let text = harmless(text, session::colour());
    let text = match terminal_width() {
        Some(width) => text.lines().map(|line| wrapped(line, width) + "\n").collect(),
        None => text,
    };
    write(&text)
}

/// Writes text to standard output as it is.
pub(crate) fn write(text: &str) -> Result {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| Failure::output(&e))
}

/// Writes a line to standard error. A reader that is gone is no reason to end.
pub(crate) fn say(text: &str) {
    let text = harmless(text, false);
    let width = if std::io::stderr().is_terminal() { terminal_size::terminal_size_of(std::io::stderr()) } else { None };
    let text = match width.map(|(width, _)| usize::from(width.0)).filter(|&w| w >= LEAST_WIDTH) {
        Some(width) => text.lines().map(|line| wrapped(line, width)).collect::<Vec<_>>().join("\n"),
        None => text,
    };
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Nothing is broken to fit terminals narrower than this.
const LEAST_WIDTH: usize = 20;

/// The columns of the terminal that results go to; none where they go elsewhere.
pub(crate) fn terminal_width() -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)).filter(|&w| w >= LEAST_WIDTH)
}

/// Our own codes for bold letters and back.
const COLOURS: [&str; 2] = ["\x1b[1m", "\x1b[0m"];

/// Text in which control characters, which a file may hold and a terminal would obey, are written out. Characters that turn the
/// direction of writing are among them; `coloured` lets our own codes through.
fn harmless(text: &str, coloured: bool) -> String {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let bad = |c: char| (c.is_control() && c != '\n' && c != '\t') || turns(c);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(bad) {
        out += &rest[..at];
        rest = &rest[at..];
        if let Some(code) = COLOURS.into_iter().find(|code| coloured && rest.starts_with(code)) {
            out += code;
            rest = &rest[code.len()..];
            continue;
        }
        let c = rest.chars().next().unwrap_or_default();
        out.extend(c.escape_default());
        rest = &rest[c.len_utf8()..];
    }
    out + rest
}

/// A line in as many as it takes, broken between words; what follows stands below the line's second column, if it has one.
fn wrapped(line: &str, width: usize) -> String {
    if visible_width(line) <= width {
        return line.to_owned();
    }
    let start = line.len() - line.trim_start().len();
    let second = line[start..].find("  ").map(|gap| {
        let after = start + gap;
        after + line[after..].len() - line[after..].trim_start().len()
    });
    let indent =
        second.map(|at| visible_width(&line[..at])).filter(|&at| at < width / 2).unwrap_or(start.min(width / 2));
    let (mut out, mut column) = (String::new(), 0);
    // Blanks belong to the word behind them, so that columns stay where they are.
    let mut rest = line;
    while !rest.is_empty() {
        let blanks = rest.len() - rest.trim_start_matches(' ').len();
        let end = rest[blanks..].find(' ').map_or(rest.len(), |at| blanks + at);
        let (word, after) = rest.split_at(end);
        if column > indent && column + visible_width(word) > width {
            out += "\n";
            out += &" ".repeat(indent);
            out += word.trim_start_matches(' ');
            column = indent + visible_width(word.trim_start_matches(' '));
        } else {
            out += word;
            column += visible_width(word);
        }
        rest = after;
    }
    out
}

/// Writes a value to standard output as JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result {
    write(&json(value)?)
}

/// A value as JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string_pretty(value).map_err(|e| Failure::Failed(e.to_string()))? + "\n")
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
    fn control_characters_are_shown_and_our_own_colours_obeyed() {
        let text = "a\x1b[2Jb\u{202e}c\r\n\x1b[1mbest\x1b[0m";
        assert_eq!(harmless(text, true), "a\\u{1b}[2Jb\\u{202e}c\\r\n\x1b[1mbest\x1b[0m");
        assert!(!harmless(text, false).contains('\x1b'));
    }

    #[test]
    fn long_lines_break_between_words_below_their_second_column() {
        let line = "chosen   Lip^I by near pairs, blended with the Euclidean distance";
        assert_eq!(wrapped(line, 40), "chosen   Lip^I by near pairs, blended\n         with the Euclidean distance");
        assert_eq!(wrapped("one two three four", 9), "one two\nthree\nfour");
        assert_eq!(wrapped("short", 9), "short");
    }

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
