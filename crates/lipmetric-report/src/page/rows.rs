//! What pages about labelled rows share: the maps, and how far classes are apart.

use super::{Sheet, facts};
use crate::figure::Figure;
use crate::figure::lines::{Along, Series, curves};
use crate::figure::map::{Drawn, circle, data, map, named};
use crate::figure::marks;
use crate::markup::{Element, el};
use crate::number::{count, counted, short};
use lipmetric::view::{ClassView, Curve, Map, RowsView, Separation};
use serde_json::json;

/// Classes in a key.
const KEYS: usize = 24;

/// The rows before and after.
pub(crate) fn maps(sheet: &mut Sheet, rows: &RowsView, classes: &[ClassView]) {
    let pairs = |s: Option<&Separation>| s.map(|s| [s.margins.margin, s.margins.diameter]);
    let radius = circle(rows.after.as_ref().unwrap_or(&rows.before));
    let drawn = |map, side: usize, direction| Drawn {
        map,
        shown: &rows.shown,
        classes,
        pairs: pairs(rows.separation.get(side)),
        radius,
        direction,
    };
    sheet.push(keys(classes, !rows.shown.relabelled.is_empty()));
    let before = drawn(&rows.before, 0, "Euclidean direction");
    let mut figures = vec![(map("before", "Before: the Euclidean distance", &before), tools(&before))];
    let mut all = vec![data("before", &before)];
    if let Some(learned) = &rows.after {
        let after = drawn(learned, 1, "learned direction");
        figures.push((map("after", "After: the learned distance", &after), tools(&after)));
        all.push(data("after", &after));
    }
    sheet.controlled(figures);
    sheet.data("maps", json!({ "maps": all, "labels": rows.shown.labels }));
}

/// The classes with their marks: each shown or not.
fn keys(classes: &[ClassView], ringed: bool) -> Element {
    let one = |(k, class): (usize, &ClassView)| {
        el("button")
            .class("key")
            .set("type", "button")
            .set("aria-pressed", "true")
            .set("disabled", "")
            .set("data-class", k)
            .with(marks::key(k))
            .with(el("bdi").text(&class.name))
            .with(el("span").text(count(class.rows)))
    };
    let mut out = el("div").class("keys").set("role", "group").set("aria-label", "Classes shown");
    out = out.all(classes.iter().take(KEYS).enumerate().map(one));
    if classes.len() > KEYS {
        out.push(el("span").text(format!("and {} more classes", classes.len() - KEYS)));
    }
    if ringed {
        out.push(el("span").text("Rings: rows whose label the learned function overrules."));
    }
    out
}

/// Which directions, and how near.
fn tools(drawn: &Drawn<'_>) -> Element {
    let mut out = el("div").class("tools");
    let dims = drawn.map.coordinates.len();
    if dims > 1 {
        for (axis, chosen, name) in [("a", 0, "across"), ("b", 1, "up")] {
            let option = |d: usize| {
                let item = el("option")
                    .set("value", d)
                    .text(format!("direction {}", d + 1))
                    .set("title", named(drawn.map, d, drawn.direction));
                if d == chosen { item.set("selected", "") } else { item }
            };
            let select = el("select").set("data-axis", axis).all((0..dims).map(option));
            out.push(el("label").text(name).with(select));
        }
    }
    for (k, (what, sign, name)) in
        [("in", "+", "Zoom in"), ("out", "−", "Zoom out"), ("all", "All", "Show all rows")].into_iter().enumerate()
    {
        let button = el("button").set("type", "button").set("data-zoom", what).set("aria-label", name).text(sign);
        out.push(if k == 0 { button.class("push") } else { button });
    }
    out
}

/// Names of the sides: one, or before and after.
const SIDES: [&str; 2] = ["Euclidean", "learned"];

/// Margins, ratios, histograms, certified accuracy.
pub(crate) fn separation(sheet: &mut Sheet, sides: &[Separation], own: Option<&Curve>) {
    let Some(first) = sides.first() else { return };
    sheet.push(measured(sides));
    let mut figures = vec![local(sides)];
    figures.extend(sides.iter().enumerate().map(|(k, side)| distances(k, side)));
    figures.push(certified(sides, own));
    sheet.figures(figures);
    if first.rows < first.of {
        sheet.say(&format!("These figures are of a sample of {} rows of {}.", count(first.rows), count(first.of)));
    }
}

fn measured(sides: &[Separation]) -> Element {
    let name = |k: usize| if sides.len() > 1 { SIDES[k] } else { "value" };
    let mut table = crate::figure::Table::new([""].into_iter().chain((0..sides.len()).map(name)));
    let mut row = |what: &str, value: &dyn Fn(&Separation) -> String| {
        table.row([what.to_owned()].into_iter().chain(sides.iter().map(value)));
    };
    row("margin: the nearest rows of different classes", &|s| short(s.margins.margin.distance));
    row("diameter: the farthest rows", &|s| short(s.margins.diameter.distance));
    for (k, (class, _)) in sides[0].margins.class_diameters.iter().enumerate().take(8) {
        row(&format!("diameter of class {class}"), &|s| {
            s.margins.class_diameters.get(k).map_or_else(String::new, |d| short(d.1))
        });
    }
    row("margin / diameter", &|s| short(s.margins.ratio_diameter));
    row("margin / sum of class diameters", &|s| short(s.margins.ratio_intra));
    row("median local ratio", &|s| short(s.local_median));
    el("div")
        .class("tablecard")
        .with(el("h3").text("Margins and ratios"))
        .with(el("div").class("scroll").with(table.element()))
}

pub(crate) fn shares(counts: &[usize]) -> Vec<f64> {
    let total: usize = counts.iter().sum();
    counts.iter().map(|c| 100.0 * *c as f64 / total.max(1) as f64).collect()
}

fn local(sides: &[Separation]) -> Figure {
    let one = |(k, s): (usize, &Separation)| {
        let name = if sides.len() > 1 { SIDES[k] } else { "rows" };
        let (colour, stroke) = if k + 1 == sides.len() { (0, 0) } else { (5, 1) };
        Series::steps(name, &s.local.edges, &shares(&s.local.counts), colour, stroke)
    };
    let series: Vec<Series> = sides.iter().enumerate().map(one).collect();
    let figure = Figure::new("local", "Local margin ratios of the rows", 460.0, 300.0).says(
        "For each row: how far the nearest row of another class is, in relation to how wide the row, its nearest neighbour of the same class and that row lie. Further right is better separated.",
    );
    curves(
        figure,
        (&Along::new("local ratio: margin / diameter").ends(0.0, 1.0), &Along::new("% of rows")),
        &series,
        None,
    )
}

fn distances(k: usize, side: &Separation) -> Figure {
    let series = [
        Series::steps("same class", &side.same.edges, &shares(&side.same.counts), 0, 0),
        Series::steps("different classes", &side.different.edges, &shares(&side.different.counts), 1, 1),
    ];
    let id = ["distances-before", "distances-after"][k.min(1)];
    let title = format!("Distances between rows: {}", SIDES[k.min(1)]);
    let mut figure = Figure::new(id, title, 460.0, 300.0)
        .says("The less the two curves overlap, the more a distance says about the class. The last step holds all distances beyond.");
    if side.counted < side.of {
        figure = figure.note(format!("Counted between {} rows of {}.", count(side.counted), count(side.of)));
    }
    curves(figure, (&Along::new("distance / mean distance"), &Along::new("% of pairs")), &series, None)
}

fn certified(sides: &[Separation], own: Option<&Curve>) -> Figure {
    let points = |c: &Curve| c.x.iter().zip(&c.y).map(|(x, y)| (*x, 100.0 * y)).collect::<Vec<_>>();
    let mut series: Vec<Series> = Vec::new();
    for (k, side) in sides.iter().enumerate() {
        let (colour, stroke) = if k + 1 == sides.len() { (0, 0) } else { (5, 1) };
        series.push(Series::new(format!("nearest row, {}", SIDES[k]), points(&side.certified), colour, stroke));
    }
    if let Some(curve) = own {
        series.push(Series::new("the model's function", points(curve), 1, 2));
    }
    let mut note = if own.is_some() {
        "The model's function is judged on the rows that it was fitted on, the nearest row on each row by the others."
    } else {
        "Each row is predicted by the others."
    }
    .to_owned();
    if let Some(side) = sides.iter().find(|side| side.counted < side.of) {
        note += &format!(" The nearest row is judged among {} rows of {}.", count(side.counted), count(side.of));
    }
    let figure = Figure::new("certified", "Certified accuracy against radius", 460.0, 300.0)
        .says("The part of the rows that are predicted rightly and stay so, whatever is done to them within the radius (a Euclidean length on the prepared features).")
        .note(note);
    curves(figure, (&Along::new("radius"), &Along::new("% of rows").ends(0.0, 100.0)), &series, None)
}

/// What is said of a map's directions, once.
pub(crate) fn about_maps(shown: usize, of: usize, before: &Map) -> String {
    let mut text = "Each point is a row, in the two directions in which the rows spread most; both axes have the same unit, so that distances are what they seem.".to_owned();
    text += " Dashed ellipses join places that are equally far from the mean of a class by the learned distance.";
    if before.coordinates.len() > 2 {
        text += " Other directions can be chosen above each picture.";
    }
    if shown < of {
        text += &format!(" {} of {} are drawn, evenly from each class.", counted(shown, "row", "rows"), count(of));
    }
    text
}

/// A list of name and value.
pub(crate) fn listed(sheet: &mut Sheet, rows: &[(&str, String)]) {
    sheet.push(facts(rows));
}
