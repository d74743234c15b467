//! Small drawings in text, for terminals.

use crate::output::{terminal_width, visible_width};

/// Columns of a drawing, where a terminal has more.
const MOST: usize = 80;

/// The columns for drawings: none where results go to no terminal.
pub(crate) fn room() -> Option<usize> {
    terminal_width().map(|w| w.min(MOST))
}

/// Values as columns of one line, from zero: `█▅▂▁`.
pub(crate) fn columns(values: &[f64], width: usize) -> String {
    const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let top = values.iter().copied().filter(|v| v.is_finite()).fold(0.0, f64::max);
    let one = |v: &f64| {
        let part = if top > 0.0 && v.is_finite() { (v / top).clamp(0.0, 1.0) } else { 0.0 };
        if part == 0.0 { ' ' } else { STEPS[((part * 8.0).ceil() as usize).clamp(1, 8) - 1] }
    };
    values.iter().take(width).map(one).collect::<String>().trim_end().to_owned()
}

/// Bars with names before and figures behind, none wider than the room; lengths are from `from` on.
pub(crate) fn bars(rows: &[(String, f64, String)], from: f64, width: usize) -> String {
    let widest = |f: &dyn Fn(&(String, f64, String)) -> usize| rows.iter().map(f).max().unwrap_or(0);
    let names = widest(&|r| visible_width(&r.0)).min(width * 2 / 5);
    let figures = widest(&|r| visible_width(&r.2));
    let space = width.saturating_sub(names + figures + 6).clamp(4, 50);
    let top = rows.iter().map(|r| r.1).fold(from, f64::max);
    let mut text = String::new();
    for (name, value, figure) in rows {
        let part = if top > from { ((value - from) / (top - from)).clamp(0.0, 1.0) } else { 0.0 };
        let name = cut(name, names);
        let pad = " ".repeat(names - visible_width(&name));
        let room = " ".repeat(figures - visible_width(figure));
        let bar = "█".repeat((part * space as f64).round() as usize);
        text += format!("  {name}{pad}  {room}{figure}  {bar}").trim_end();
        text.push('\n');
    }
    text
}

/// A name in at most so many columns.
fn cut(name: &str, width: usize) -> String {
    if visible_width(name) <= width {
        return name.to_owned();
    }
    let mut out = String::new();
    for c in name.chars() {
        if visible_width(&out) + visible_width(&c.to_string()) + 1 > width {
            break;
        }
        out.push(c);
    }
    out + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_grow_with_their_values() {
        assert_eq!(columns(&[8.0, 4.0, 1.0, 0.01, 0.0], 80), "█▄▁▁");
        assert_eq!(columns(&[0.0, 0.0], 80), "");
        assert_eq!(columns(&[1.0, f64::NAN, f64::INFINITY, 1.0], 80), "█  █");
    }

    #[test]
    fn bars_fit_eighty_columns_whatever_their_names() {
        let long = "an endless name of a column that somebody exported from a spreadsheet 名前".to_owned();
        let rows = [(long, 3.0, "3".to_owned()), ("b".to_owned(), 1.5, "1.5".to_owned())];
        for width in [40, 80] {
            let text = bars(&rows, 0.0, width);
            assert!(text.lines().all(|l| visible_width(l) <= width), "{text}");
            let lengths: Vec<usize> = text.lines().map(|l| l.matches('█').count()).collect();
            assert!(lengths[0].abs_diff(2 * lengths[1]) <= 1, "{lengths:?}");
        }
        assert!(bars(&[("a".to_owned(), 0.0, "0".to_owned())], 0.0, 80).contains("a  0"));
    }
}
