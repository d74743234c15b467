//! Figures: an SVG element each, with the words and the table behind it.
//!
//! | file | what it draws |
//! |---|---|
//! | `frame` | axes, grid lines and their labels, which all share |
//! | `marks` | the classes' shapes |
//! | `map` | rows in two directions, with pairs and ellipses |
//! | `plane` | the regions of a function of two features, its zero line and level sets |
//! | `lines` | curves and histograms |
//! | `bars` | sorted bars, columns, box plots |
//! | `cells` | matrices: heat map, confusion |
//! | `ranks` | the critical-difference diagram |
//! | `style` | colours, and the rules that use them |

pub(crate) mod bars;
pub(crate) mod cells;
pub(crate) mod frame;
pub(crate) mod lines;
pub(crate) mod map;
pub(crate) mod marks;
pub(crate) mod plane;
pub(crate) mod ranks;
pub(crate) mod style;

use crate::markup::{Element, el};

/// A picture with its words.
#[derive(Debug, Clone)]
pub(crate) struct Figure {
    /// Its name in the page, and of its file.
    pub(crate) id: String,
    pub(crate) title: String,
    /// What is seen in it, for those who do not see it.
    pub(crate) summary: String,
    /// What should be known when one looks at it.
    pub(crate) note: Option<String>,
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// What is drawn.
    pub(crate) content: Vec<Element>,
    /// The same as numbers.
    pub(crate) table: Option<Table>,
    /// Whether it takes the whole width of a page.
    pub(crate) wide: bool,
    /// A kind of figure that the script knows: `map`, or nothing.
    pub(crate) kind: &'static str,
}

/// Rows of cells, the first of each row a heading.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<S: Into<String>>(head: impl IntoIterator<Item = S>) -> Self {
        Self { head: head.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    pub(crate) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    pub(crate) fn element(&self) -> Element {
        let head = self.head.iter().map(|h| el("th").set("scope", "col").with(el("bdi").text(h)));
        let row = |cells: &Vec<String>| {
            let cell = |(k, c): (usize, &String)| {
                let kind = if k == 0 { el("th").set("scope", "row") } else { el("td") };
                kind.with(el("bdi").text(c))
            };
            el("tr").all(cells.iter().enumerate().map(cell))
        };
        el("table").with(el("thead").with(el("tr").all(head))).with(el("tbody").all(self.rows.iter().map(row)))
    }
}

impl Figure {
    pub(crate) fn new(id: impl Into<String>, title: impl Into<String>, width: f64, height: f64) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            summary: String::new(),
            note: None,
            width,
            height,
            content: Vec::new(),
            table: None,
            wide: false,
            kind: "",
        }
    }

    pub(crate) fn says(mut self, summary: impl Into<String>) -> Self {
        self.summary = summary.into();
        self
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    pub(crate) fn table(mut self, table: Table) -> Self {
        self.table = Some(table);
        self
    }

    pub(crate) fn wide(mut self) -> Self {
        self.wide = true;
        self
    }

    fn root(&self) -> Element {
        el("svg").set("viewBox", format!("0 0 {} {}", self.width, self.height))
    }

    /// The picture in a page.
    fn inline(&self) -> Element {
        let mut svg = self
            .root()
            .class(format!("fig {}", self.kind).trim_end())
            .set("role", if self.kind == "map" { "group" } else { "img" })
            .set("aria-labelledby", format!("{}-title", self.id))
            .set("aria-describedby", format!("{}-says", self.id));
        if self.kind == "map" {
            svg = svg.set("tabindex", 0);
        }
        svg.all(self.content.iter().cloned())
    }

    /// The figure in a page: heading, picture, what it says, and its numbers.
    pub(crate) fn element(&self, controls: Option<Element>) -> Element {
        let mut figure = el("figure").set("id", &self.id).class(if self.wide { "wide" } else { "half" });
        figure.push(el("h3").set("id", format!("{}-title", self.id)).text(&self.title));
        figure = figure.all(controls);
        figure.push(el("div").class("canvas").with(self.inline()));
        let mut caption = el("figcaption").with(el("p").set("id", format!("{}-says", self.id)).text(&self.summary));
        if let Some(note) = &self.note {
            caption.push(el("p").class("note").text(note));
        }
        figure.push(caption);
        if let Some(table) = &self.table {
            let summary = el("summary").text("The numbers");
            figure.push(el("details").with(summary).with(el("div").class("scroll").with(table.element())));
        }
        figure
    }

    /// The picture as a file of its own.
    pub(crate) fn file(&self) -> String {
        let mut svg = self
            .root()
            .set("xmlns", "http://www.w3.org/2000/svg")
            .at("width", self.width)
            .at("height", self.height)
            .class("fig alone")
            .set("role", "img")
            .all(self.content.iter().cloned());
        svg.push_first(el("rect").class("paper").at("width", self.width).at("height", self.height));
        svg.push_first(marks::definitions());
        svg.push_first(el("style").own(style::of_file()));
        svg.push_first(el("desc").text(&self.summary));
        svg.push_first(el("title").text(&self.title));
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{svg}\n")
    }
}
