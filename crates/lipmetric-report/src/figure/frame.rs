use crate::markup::{Element, el};
use crate::scale::Scale;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The width of a letter, about, in the letters of a figure.
const LETTER: f64 = 7.0;

/// Where the data are within a figure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

impl Frame {
    pub(crate) fn x(&self) -> (f64, f64) {
        (self.left, self.right)
    }

    /// Upwards.
    pub(crate) fn y(&self) -> (f64, f64) {
        (self.bottom, self.top)
    }

    pub(crate) fn middle(&self) -> f64 {
        (self.left + self.right) / 2.0
    }

    /// Both axes, with grid lines for the values up.
    pub(crate) fn axes(&self, (x, across): (&Scale, &str), (y, up): (&Scale, &str)) -> Vec<Element> {
        let mut out = self.up(y, up);
        out.extend(self.below(x, across));
        out
    }

    /// The values up alone, with grid lines.
    pub(crate) fn up(&self, y: &Scale, name: &str) -> Vec<Element> {
        let ticks = y.ticks(5);
        let mut out = vec![line("grid", ticks.iter().map(|(v, _)| ((self.left, y.at(*v)), (self.right, y.at(*v)))))];
        out.push(line("axis", [((self.left, self.bottom), (self.right, self.bottom))]));
        for (value, shown) in &ticks {
            out.push(text(shown, self.left - 6.0, y.at(*value) + 4.0, "end"));
        }
        // Above its axis, where it need not be turned to be read.
        if !name.is_empty() {
            out.push(text(name, 8.0, self.top - 14.0, "strong"));
        }
        out
    }

    /// The axis below alone.
    pub(crate) fn below(&self, x: &Scale, across: &str) -> Vec<Element> {
        let mut out = Vec::new();
        let mut free = f64::NEG_INFINITY;
        for (value, shown) in x.ticks(6) {
            let at = x.at(value);
            let half = wide(&shown) / 2.0;
            if at - half < free {
                continue;
            }
            free = at + half + 8.0;
            out.push(line("axis", [((at, self.bottom), (at, self.bottom + 4.0))]));
            out.push(text(&shown, at, self.bottom + 17.0, "mid"));
        }
        if !across.is_empty() {
            out.push(text(across, self.middle(), self.bottom + 36.0, "mid strong"));
        }
        out
    }
}

/// How wide a text is drawn, about.
pub(crate) fn wide(text: &str) -> f64 {
    text.width() as f64 * LETTER
}

/// A text that fits into a width, cut where it is too long.
pub(crate) fn fitted(text: &str, width: f64) -> String {
    if wide(text) <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = LETTER;
    for c in text.chars() {
        used += c.width().unwrap_or(0) as f64 * LETTER;
        if used > width {
            break;
        }
        out.push(c);
    }
    out.trim_end().to_owned() + "…"
}

pub(crate) fn text(text: &str, x: f64, y: f64, class: &str) -> Element {
    el("text").class(class).at("x", x).at("y", y).text(text)
}

/// A text cut to a width, whole when it is pointed at.
pub(crate) fn label(whole: &str, width: f64, (x, y): (f64, f64), class: &str) -> Element {
    let shown = fitted(whole, width);
    let out = text(&shown, x, y, class);
    if shown == whole { out } else { out.with(tip(whole)) }
}

/// What is shown when something is pointed at.
pub(crate) fn tip(text: &str) -> Element {
    el("title").text(text)
}

type Place = (f64, f64);

/// Lines of one kind, as one path.
pub(crate) fn line(class: &str, lines: impl IntoIterator<Item = (Place, Place)>) -> Element {
    use crate::markup::length;
    let one = |((a, b), (c, d)): (Place, Place)| format!("M{} {}L{} {}", length(a), length(b), length(c), length(d));
    el("path").class(class).set("d", lines.into_iter().map(one).collect::<String>())
}

/// A path through places.
pub(crate) fn through(places: impl IntoIterator<Item = Place>) -> String {
    use crate::markup::length;
    let mut out = String::new();
    for (k, (x, y)) in places.into_iter().enumerate() {
        out += if k == 0 { "M" } else { "L" };
        out += &format!("{} {}", length(x), length(y));
    }
    out
}
