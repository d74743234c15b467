use crate::markup::{Element, el};

/// Colours, and shapes, that there are.
pub(crate) const KINDS: usize = 8;

/// The radius of a ring around a mark: near enough that rings of neighbouring rows can be told apart.
pub(crate) const RING: f64 = 7.0;

/// The outlines of the shapes, about a middle at 0.
const SHAPES: [&str; KINDS] = [
    "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0Z",
    "M0 -4.4L4.1 3.2L-4.1 3.2Z",
    "M-3.2 -3.2H3.2V3.2H-3.2Z",
    "M0 -4.6L4.2 0L0 4.6L-4.2 0Z",
    "M-1.3 -4H1.3V-1.3H4V1.3H1.3V4H-1.3V1.3H-4V-1.3H-1.3Z",
    "M0 4.4L4.1 -3.2L-4.1 -3.2Z",
    "M-4 -2.2L-2.2 -4L0 -1.8L2.2 -4L4 -2.2L1.8 0L4 2.2L2.2 4L0 1.8L-2.2 4L-4 2.2L-1.8 0Z",
    "M-3.9 0L-1.9 -3.6H1.9L3.9 0L1.9 3.6H-1.9Z",
];

/// The colour of a class.
pub(crate) fn colour(class: usize) -> usize {
    class % KINDS
}

/// The shape of a class: of classes of the same colour another one each.
pub(crate) fn shape(class: usize) -> usize {
    (class + class / KINDS) % KINDS
}

/// The shapes, once in a page or a file.
pub(crate) fn definitions() -> Element {
    let one = |(k, outline): (usize, &&str)| el("path").set("id", format!("m{k}")).set("d", outline);
    el("defs").all(SHAPES.iter().enumerate().map(one))
}

/// A row of a class.
pub(crate) fn point(class: usize, x: f64, y: f64) -> Element {
    el("use").set("href", format!("#m{}", shape(class))).class(format!("p c{}", colour(class))).at("x", x).at("y", y)
}

/// The mark of a class beside its name.
pub(crate) fn key(class: usize) -> Element {
    el("svg").class("mark").set("viewBox", "-6 -6 12 12").set("aria-hidden", "true").with(point(class, 0.0, 0.0))
}
