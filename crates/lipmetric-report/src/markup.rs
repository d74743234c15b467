//! Elements of HTML and SVG. Whatever is put into one is escaped when it is written: there is no way around it but for text that
//! stands in this crate's own source.

use std::fmt::{self, Display, Write};

/// HTML elements that have no end.
const VOID: [&str; 4] = ["meta", "br", "hr", "input"];
/// SVG elements that mostly have no children: written short.
const SHORT: [&str; 9] = ["use", "rect", "path", "line", "circle", "polygon", "polyline", "ellipse", "stop"];

/// An element with its attributes and what is in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    inner: Vec<Node>,
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Element(Element),
    Text(String),
    /// From our own source.
    Own(&'static str),
    /// Data for the script.
    Json(String),
}

/// An element without anything in it.
pub(crate) fn el(name: &'static str) -> Element {
    Element { name, attributes: Vec::new(), inner: Vec::new() }
}

impl Element {
    /// With an attribute.
    pub(crate) fn set(mut self, name: &'static str, value: impl Display) -> Self {
        self.attributes.push((name, value.to_string()));
        self
    }

    /// With a class.
    pub(crate) fn class(self, value: impl Display) -> Self {
        self.set("class", value)
    }

    /// With a length as attribute, in hundredths at most.
    pub(crate) fn at(self, name: &'static str, value: f64) -> Self {
        self.set(name, length(value))
    }

    /// With text.
    pub(crate) fn text(mut self, text: impl Display) -> Self {
        self.inner.push(Node::Text(text.to_string()));
        self
    }

    /// With an element in it.
    pub(crate) fn with(mut self, inner: Self) -> Self {
        self.push(inner);
        self
    }

    /// With elements in it.
    pub(crate) fn all(mut self, inner: impl IntoIterator<Item = Self>) -> Self {
        self.inner.extend(inner.into_iter().map(Node::Element));
        self
    }

    /// With text of our own, as it is.
    pub(crate) fn own(mut self, text: &'static str) -> Self {
        self.inner.push(Node::Own(text));
        self
    }

    /// With data for the script.
    pub(crate) fn json(mut self, data: &serde_json::Value) -> Self {
        self.inner.push(Node::Json(data.to_string()));
        self
    }

    /// Puts an element at the end.
    pub(crate) fn push(&mut self, inner: Self) {
        self.inner.push(Node::Element(inner));
    }

    /// Puts an element at the beginning.
    pub(crate) fn push_first(&mut self, inner: Self) {
        self.inner.insert(0, Node::Element(inner));
    }
}

/// A length in hundredths at most, as short as it can be; what is not finite is drawn at zero.
pub(crate) fn length(value: f64) -> String {
    if !value.is_finite() {
        return "0".to_owned();
    }
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text as it may stand between tags and in quotes. Control characters, which XML does not allow, are shown as such.
fn escape(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for c in text.chars() {
        match c {
            '&' => f.write_str("&amp;")?,
            '<' => f.write_str("&lt;")?,
            '>' => f.write_str("&gt;")?,
            '"' => f.write_str("&quot;")?,
            '\'' => f.write_str("&#39;")?,
            '\n' | '\t' => f.write_char(c)?,
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => f.write_char('\u{fffd}')?,
            c => f.write_char(c)?,
        }
    }
    Ok(())
}

impl Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}", self.name)?;
        for (name, value) in &self.attributes {
            write!(f, " {name}=\"")?;
            escape(value, f)?;
            f.write_char('"')?;
        }
        if self.inner.is_empty() && SHORT.contains(&self.name) {
            return f.write_str("/>");
        }
        f.write_char('>')?;
        if VOID.contains(&self.name) {
            return Ok(());
        }
        for node in &self.inner {
            match node {
                Node::Element(element) => element.fmt(f)?,
                Node::Text(text) => escape(text, f)?,
                Node::Own(text) => f.write_str(text)?,
                // Nothing in it can end the script or begin a comment; the rest is JSON as it was.
                Node::Json(data) => f.write_str(&data.replace('<', "\\u003c").replace('>', "\\u003e"))?,
            }
        }
        write!(f, "</{}>", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_data_becomes_markup() {
        let bad = "<script>alert('x')</script> & \"q\" \u{1b}[2J \u{0}";
        let shown = el("p").set("title", bad).text(bad).to_string();
        assert!(!shown.contains("<script") && !shown.contains('\u{1b}') && !shown.contains('\u{0}'), "{shown}");
        assert_eq!(shown.matches('<').count(), 2);
        let data = el("script").json(&serde_json::json!({ "name": "</script><!--" })).to_string();
        assert_eq!(data.matches('<').count(), 2, "{data}");
        let inside = data.trim_start_matches("<script>").trim_end_matches("</script>");
        assert_eq!(serde_json::from_str::<serde_json::Value>(inside).unwrap()["name"], "</script><!--");
    }

    #[test]
    fn empty_elements_are_closed_as_their_language_wants_it() {
        assert_eq!(el("rect").at("x", 1.0).to_string(), "<rect x=\"1\"/>");
        assert_eq!(el("div").to_string(), "<div></div>");
        assert_eq!(el("meta").set("charset", "utf-8").to_string(), "<meta charset=\"utf-8\">");
        assert_eq!((length(1.005), length(-0.001), length(f64::NAN)), ("1".into(), "0".into(), "0".into()));
    }
}
