//! A table with a column per method that fits the terminal: cells may have several lines, and where all columns do not fit
//! beside each other they are printed in groups below each other.

use crate::output::{self, visible_width};
use crate::session;

/// Columns of text where results go to no terminal, unless `COLUMNS` says otherwise.
const USUAL_WIDTH: usize = 100;

/// Columns of text that are there.
pub(super) fn terminal_width() -> usize {
    let said = || std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).filter(|&c| c >= 40);
    output::terminal_width().or_else(said).unwrap_or(USUAL_WIDTH)
}

pub(super) struct Grid {
    /// Lines of each column's head.
    heads: Vec<Vec<String>>,
    rows: Vec<(String, Vec<Vec<String>>)>,
}

impl Grid {
    /// Heads are broken at colons.
    pub(super) fn new<'a>(titles: impl IntoIterator<Item = &'a str>) -> Self {
        // The blank is below the mark of a best cell.
        let heads = titles.into_iter().map(|t| t.split(':').map(|line| format!("{line} ")).collect()).collect();
        Self { heads, rows: Vec::new() }
    }

    /// A row; each cell has the lines of a string.
    pub(super) fn row(&mut self, name: &str, cells: impl IntoIterator<Item = String>) {
        let cells = cells.into_iter().map(|c| c.lines().map(str::to_owned).collect()).collect();
        self.rows.push((name.to_owned(), cells));
    }

    fn name_width(&self) -> usize {
        self.rows.iter().map(|(name, _)| visible_width(name)).max().unwrap_or(0)
    }

    fn widths(&self) -> Vec<usize> {
        let width = |lines: &[String]| lines.iter().map(|l| visible_width(l)).max().unwrap_or(0);
        (0..self.heads.len())
            .map(|m| self.rows.iter().map(|(_, cells)| width(&cells[m])).max().unwrap_or(0).max(width(&self.heads[m])))
            .collect()
    }

    /// Columns of text that it takes in one piece.
    pub(super) fn width(&self) -> usize {
        self.name_width() + self.widths().iter().map(|w| w + 1).sum::<usize>()
    }

    pub(super) fn render(&self, most: usize) -> String {
        let (name_width, widths) = (self.name_width(), self.widths());
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut used = 0;
        for (m, width) in widths.iter().enumerate() {
            match groups.last_mut() {
                Some(group) if used + width < most => group.push(m),
                _ => {
                    groups.push(vec![m]);
                    used = name_width;
                }
            }
            used += width + 1;
        }
        let group = |group: &Vec<usize>| {
            let mut text =
                lines("", &group.iter().map(|&m| &self.heads[m][..]).collect::<Vec<_>>(), group, &widths, name_width);
            for (name, cells) in &self.rows {
                let cells: Vec<&[String]> = group.iter().map(|&m| &cells[m][..]).collect();
                text += &lines(name, &cells, group, &widths, name_width);
            }
            text
        };
        groups.iter().map(group).collect::<Vec<_>>().join("\n")
    }
}

/// One row, as many lines as its highest cell has.
fn lines(name: &str, cells: &[&[String]], group: &[usize], widths: &[usize], name_width: usize) -> String {
    let mut text = String::new();
    for at in 0..cells.iter().map(|c| c.len()).max().unwrap_or(0) {
        let name = if at == 0 { name } else { "" };
        let mut line = format!("{name}{}", " ".repeat(name_width - visible_width(name)));
        for (cell, &m) in cells.iter().zip(group) {
            let own = cell.get(at).map_or("", String::as_str);
            line += &format!(" {}{own}", " ".repeat(widths[m] - visible_width(own)));
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// Bold, where colours are shown.
pub(super) fn bold(text: &str) -> String {
    if session::colour() { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
}

/// Text in lines that are not longer than `most`, all but the first indented.
pub(super) fn wrap(text: &str, indent: usize, most: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let width = visible_width(word);
        if used > 0 && used + 1 + width > most {
            out.push('\n');
            out += &" ".repeat(indent);
            used = indent;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out += word;
        used += width;
    }
    out + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_do_not_fit_go_below() {
        let mut grid = Grid::new(["one", "two:c=1", "three"]);
        grid.row("row", ["1\n±2".to_owned(), "3".to_owned(), "4".to_owned()]);
        assert_eq!(grid.width(), 3 + 5 + 5 + 7);
        assert_eq!(grid.render(80), "    one  two  three\n         c=1\nrow    1    3      4\n      ±2\n");
        assert_eq!(grid.render(14), "    one  two\n         c=1\nrow    1    3\n      ±2\n\n    three\nrow      4\n");
        // Even one column alone may be too wide: it is printed nevertheless.
        assert_eq!(grid.render(1).lines().filter(|l| l.starts_with("row")).count(), 3);
    }

    #[test]
    fn long_sentences_are_broken_between_words() {
        assert_eq!(wrap("aa bbb cc dddddddd e", 2, 8), "aa bbb\n  cc\n  dddddddd\n  e\n");
    }
}
