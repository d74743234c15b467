//! Pages: a file per kind, all of sections with figures.

pub(crate) mod compare;
pub(crate) mod judgement;
pub(crate) mod margins;
pub(crate) mod model;
pub(crate) mod path;
mod rows;

use crate::figure::{Figure, marks, style};
use crate::markup::{Element, el};
use crate::picture::{Picture, PictureError};
use serde_json::Value;

const PAGE_STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("script.js");

/// What a page says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct About {
    /// The program that made it, with its version.
    pub program: String,
    /// What to do next.
    pub next: Vec<Next>,
}

/// Something that can be done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// What for.
    pub why: String,
    /// What to type, if anything.
    pub command: Option<String>,
}

/// A page, and its figures as files of their own.
#[derive(Debug, Clone)]
pub struct Page {
    html: String,
    figures: Vec<(String, String)>,
}

impl Page {
    /// The whole page: one file that needs no other.
    #[must_use]
    pub fn html(&self) -> &str {
        &self.html
    }

    /// A name and an SVG file of each figure.
    #[must_use]
    pub fn figures(&self) -> &[(String, String)] {
        &self.figures
    }

    /// The name and the bytes of a file for each figure, drawn as it is asked for.
    ///
    /// # Errors
    /// If it cannot be drawn so ([`Picture::bytes`]).
    pub fn files(&self, kind: Picture) -> impl Iterator<Item = Result<(String, Vec<u8>), PictureError>> + '_ {
        let one = move |(name, svg): &(String, String)| Ok((format!("{name}.{}", kind.extension()), kind.bytes(svg)?));
        self.figures.iter().map(one)
    }
}

/// A page that is being written.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    title: String,
    subtitle: String,
    glance: Vec<Element>,
    sections: Vec<Section>,
    figures: Vec<Figure>,
    data: Vec<(&'static str, Value)>,
}

#[derive(Debug)]
struct Section {
    id: &'static str,
    title: &'static str,
    inner: Vec<Element>,
}

impl Sheet {
    pub(crate) fn new(title: impl Into<String>, subtitle: impl Into<String>) -> Self {
        Self { title: title.into(), subtitle: subtitle.into(), ..Self::default() }
    }

    /// One thing to be seen at a glance: a question, a figure, a sentence.
    pub(crate) fn glance(&mut self, question: &str, figure: &str, sentence: &str) {
        let mut card = el("div").class("card").with(el("dt").text(question));
        if !figure.is_empty() {
            card.push(el("dd").class("figure").with(el("bdi").text(figure)));
        }
        card.push(el("dd").text(sentence));
        self.glance.push(card);
    }

    pub(crate) fn section(&mut self, id: &'static str, title: &'static str, intro: &str) {
        let mut inner = Vec::new();
        if !intro.is_empty() {
            inner.push(el("p").class("intro").text(intro));
        }
        self.sections.push(Section { id, title, inner });
    }

    /// Puts something into the section that was begun last.
    pub(crate) fn push(&mut self, element: Element) {
        if let Some(section) = self.sections.last_mut() {
            section.inner.push(element);
        }
    }

    /// A paragraph.
    pub(crate) fn say(&mut self, text: &str) {
        self.push(el("p").text(text));
    }

    /// Figures side by side.
    pub(crate) fn figures(&mut self, figures: Vec<Figure>) {
        let grid = el("div").class("grid").all(figures.iter().map(|f| f.element(None)));
        self.push(grid);
        self.figures.extend(figures);
    }

    /// A figure with something that changes it.
    pub(crate) fn controlled(&mut self, figures: Vec<(Figure, Element)>) {
        let one = |(f, controls): &(Figure, Element)| f.element(Some(controls.clone()));
        let grid = el("div").class("grid").all(figures.iter().map(one));
        self.push(grid);
        self.figures.extend(figures.into_iter().map(|(f, _)| f));
    }

    /// Data for the script.
    pub(crate) fn data(&mut self, name: &'static str, value: Value) {
        self.data.push((name, value));
    }

    fn contents(&self) -> Element {
        let one = |s: &Section| el("li").with(el("a").set("href", format!("#{}", s.id)).text(s.title));
        el("nav").set("aria-label", "Contents").with(el("ul").all(self.sections.iter().map(one)))
    }

    fn next(about: &About) -> Option<Element> {
        let one = |next: &Next| {
            let mut item = el("li").text(&next.why);
            if let Some(command) = &next.command {
                item = item.with(el("code").text(command));
            }
            item
        };
        let list = el("ul").all(about.next.iter().map(one));
        let heading = el("h2").set("id", "next-title").text("What to do next");
        let block = el("section").class("next").set("aria-labelledby", "next-title").with(heading).with(list);
        (!about.next.is_empty()).then_some(block)
    }

    pub(crate) fn finish(self, about: &About) -> Page {
        let head = el("head")
            .with(el("meta").set("charset", "utf-8"))
            .with(el("meta").set("name", "viewport").set("content", "width=device-width, initial-scale=1"))
            .with(el("meta").set("name", "generator").set("content", &about.program))
            .with(el("title").text(&self.title))
            .with(el("style").own(style::of_page()).own(PAGE_STYLE));
        let toggle = el("button").set("type", "button").class("theme").set("hidden", "").text("Dark");
        let top = el("header")
            .with(el("div").class("top").with(el("h1").text(&self.title)).with(toggle))
            .with(el("p").class("subtitle").text(&self.subtitle));
        let section = |s: &Section| {
            el("section")
                .set("id", s.id)
                .set("aria-labelledby", format!("{}-title", s.id))
                .with(el("h2").set("id", format!("{}-title", s.id)).text(s.title))
                .all(s.inner.iter().cloned())
        };
        let glance = el("section")
            .class("glance")
            .set("aria-labelledby", "glance-title")
            .with(el("h2").set("id", "glance-title").text("In one glance"))
            .with(el("dl").all(self.glance.iter().cloned()));
        let contents = (self.sections.len() > 1).then(|| self.contents());
        let mut main = el("main").with(glance).all(Self::next(about)).all(contents);
        main = main.all(self.sections.iter().map(section));
        let shapes = el("svg").class("shapes").set("aria-hidden", "true").with(marks::definitions());
        let mut body = el("body").with(shapes).with(top).with(main);
        body.push(el("footer").with(el("p").text(&about.program)));
        body.push(el("div").class("tip").set("role", "status").set("hidden", ""));
        for (name, value) in &self.data {
            body.push(el("script").set("type", "application/json").set("id", format!("data-{name}")).json(value));
        }
        body.push(el("script").own(SCRIPT));
        let html = format!("<!doctype html>\n{}\n", el("html").set("lang", "en").with(head).with(body));
        Page { html, figures: self.figures.iter().map(|f| (f.id.clone(), f.file())).collect() }
    }
}

/// Rows of name and value.
pub(crate) fn facts(rows: &[(&str, String)]) -> Element {
    let one =
        |(name, value): &(&str, String)| el("div").with(el("dt").text(name)).with(el("dd").with(el("bdi").text(value)));
    el("dl").class("facts").all(rows.iter().map(one))
}
