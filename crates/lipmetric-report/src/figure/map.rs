use super::frame::{Frame, label, line, text, through, tip};
use super::marks::{RING, colour, point};
use super::{Figure, Table};
use crate::markup::{Element, el};
use crate::number::{percent, rough, short};
use crate::scale::{Scale, extent};
use lipmetric::view::{ClassView, Map, PairView, Shown};
use serde_json::{Value, json};

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 400.0;
/// The radius of a circle of the metric, as a part of the picture's width.
const RADIUS: f64 = 0.12;
/// Classes whose ellipses are drawn.
const CENTRES: usize = 6;

/// What a map is drawn from.
pub(crate) struct Drawn<'a> {
    pub(crate) map: &'a Map,
    pub(crate) shown: &'a Shown,
    pub(crate) classes: &'a [ClassView],
    /// The nearest rows of different classes, and the farthest rows.
    pub(crate) pairs: Option<[PairView; 2]>,
    /// The learned distance of the ellipses.
    pub(crate) radius: f64,
    /// What directions are called.
    pub(crate) direction: &'a str,
}

/// Two coordinates of every row; where there is one direction alone, rows are spread for sight.
fn coordinates(map: &Map) -> (Vec<f64>, Vec<f64>, bool) {
    let x = map.coordinates.first().cloned().unwrap_or_default();
    match map.coordinates.get(1) {
        Some(y) => (x, y.clone(), true),
        None => {
            let (low, high) = extent(x.iter().copied());
            let spread = |k: usize| ((k as f64 * 0.618_033_988_75).fract() - 0.5) * 0.5 * (high - low);
            let y = (0..x.len()).map(spread).collect();
            (x, y, false)
        }
    }
}

/// Scales with the same unit across and up, so that distances are what they seem.
fn scales(x: &[f64], y: &[f64], frame: &Frame) -> (Scale, Scale) {
    let ((x0, x1), (y0, y1)) = (extent(x.iter().copied()), extent(y.iter().copied()));
    let (wide, high) = (frame.right - frame.left, frame.bottom - frame.top);
    let unit = ((x1 - x0) / wide).max((y1 - y0) / high) * 1.08;
    let unit = if unit > 0.0 { unit } else { 1.0 / wide };
    let (cx, cy) = ((x0 + x1) / 2.0, (y0 + y1) / 2.0);
    let (rx, ry) = (unit * wide / 2.0, unit * high / 2.0);
    (Scale::linear((cx - rx, cx + rx), frame.x()), Scale::linear((cy - ry, cy + ry), frame.y()))
}

/// The radius at which a circle of the learned distance is well seen on a map of the learned space.
pub(crate) fn circle(map: &Map) -> f64 {
    let (x, y, _) = coordinates(map);
    let (sx, _) = scales(&x, &y, &frame());
    RADIUS * (sx.to - sx.from)
}

fn frame() -> Frame {
    Frame { left: 44.0, right: WIDTH - 10.0, top: 28.0, bottom: HEIGHT - 46.0 }
}

/// The name of an axis: which direction, and what it is made of.
pub(crate) fn named(map: &Map, d: usize, direction: &str) -> String {
    if d >= map.coordinates.len() {
        return "no second direction: rows are spread for sight".to_owned();
    }
    let parts: Vec<String> = map.parts[d].iter().take(2).map(|(name, _)| name.clone()).collect();
    let share = percent(map.shares[d]);
    format!("{direction} {} ({share}), mostly {}", d + 1, parts.join(", "))
}

pub(crate) fn map(figure_id: &str, title: &str, drawn: &Drawn<'_>) -> Figure {
    let frame = frame();
    let (x, y, _) = coordinates(drawn.map);
    let (sx, sy) = scales(&x, &y, &frame);
    let place = |k: usize| (sx.at(x[k]), sy.at(y[k]));
    let mut figure = Figure::new(figure_id, title, WIDTH, HEIGHT);
    figure.kind = "map";
    figure.content.extend(axes(drawn, &frame, &sx, &sy));
    let clip = format!("clip-{figure_id}");
    let window = el("rect").at("x", frame.left).at("y", frame.top);
    let window = window.at("width", frame.right - frame.left).at("height", frame.bottom - frame.top);
    figure.content.push(el("clipPath").set("id", &clip).with(window.clone()));
    let mut inside = el("g").set("clip-path", format!("url(#{clip})"));
    let mut points = el("g").class("points");
    for k in 0..x.len() {
        let class = drawn.shown.labels[k] as usize;
        let (px, py) = place(k);
        points.push(point(class, px, py).with(tip(&told(drawn, k))));
    }
    inside.push(points);
    inside.push(rings(drawn, &place));
    inside.push(ellipses(drawn, &sx, &sy));
    inside.push(pairs(drawn, &place));
    figure.content.push(inside);
    figure.content.push(window.class("frame"));
    figure.says(words(drawn)).table(directions(drawn))
}

/// What is said of a row.
fn told(drawn: &Drawn<'_>, k: usize) -> String {
    let class = drawn.classes.get(drawn.shown.labels[k] as usize).map_or("?", |c| c.name.as_str());
    let place = &drawn.shown.places[k];
    let suspect = if drawn.shown.relabelled.binary_search(&k).is_ok() { ", label looks wrong" } else { "" };
    format!("{place}: {class}{suspect}")
}

fn axes(drawn: &Drawn<'_>, frame: &Frame, sx: &Scale, sy: &Scale) -> Vec<Element> {
    let mut group = el("g").class("axes");
    let across = sx.ticks(6);
    let up = if drawn.map.coordinates.len() > 1 { sy.ticks(5) } else { Vec::new() };
    group.push(line("grid", across.iter().map(|(v, _)| ((sx.at(*v), frame.top), (sx.at(*v), frame.bottom)))));
    group.push(line("grid", up.iter().map(|(v, _)| ((frame.left, sy.at(*v)), (frame.right, sy.at(*v))))));
    for (v, shown) in &across {
        group.push(text(shown, sx.at(*v), frame.bottom + 17.0, "mid"));
    }
    for (v, shown) in &up {
        group.push(text(shown, frame.left - 6.0, sy.at(*v) + 4.0, "end"));
    }
    let wide = frame.right - frame.left;
    let below = named(drawn.map, 0, drawn.direction);
    let above = named(drawn.map, 1, drawn.direction);
    vec![
        group,
        label(&below, WIDTH - 16.0, (WIDTH / 2.0, frame.bottom + 36.0), "mid strong xname"),
        label(&above, wide + 30.0, (8.0, frame.top - 12.0), "strong yname"),
    ]
}

/// Rows whose labels the learned function holds for wrong.
fn rings(drawn: &Drawn<'_>, place: &dyn Fn(usize) -> (f64, f64)) -> Element {
    let one = |&k: &usize| {
        let (x, y) = place(k);
        el("circle").class("ring").at("cx", x).at("cy", y).at("r", RING)
    };
    el("g").class("rings").all(drawn.shown.relabelled.iter().map(one))
}

/// Rows at the same learned distance from the mean of each class.
fn ellipses(drawn: &Drawn<'_>, sx: &Scale, sy: &Scale) -> Element {
    let mut group = el("g").class("ellipses");
    if drawn.map.coordinates.len() < 2 || drawn.classes.len() > CENTRES {
        return group;
    }
    let g = &drawn.map.gram;
    for class in 0..drawn.classes.len() {
        let (cx, cy) = (drawn.map.centres[0][class], drawn.map.centres[1][class]);
        let around = (0..=72).map(|k| {
            let (sin, cos) = (f64::from(k) * std::f64::consts::TAU / 72.0).sin_cos();
            let size = (g[0][0] * cos * cos + 2.0 * g[0][1] * cos * sin + g[1][1] * sin * sin).max(0.0).sqrt();
            // Along a direction that the metric does not see the ellipse has no end: well outside the picture.
            let r = (drawn.radius / size).min(4.0 * (sx.to - sx.from));
            (sx.at(cx + r * cos), sy.at(cy + r * sin))
        });
        let told = tip(&format!("{}: equally far from its mean, by the learned distance", drawn.classes[class].name));
        group.push(el("path").class(format!("ellipse c{}", colour(class))).set("d", through(around)).with(told));
    }
    group
}

fn pairs(drawn: &Drawn<'_>, place: &dyn Fn(usize) -> (f64, f64)) -> Element {
    let mut group = el("g").class("pairs");
    let Some(pairs) = drawn.pairs else { return group };
    for (pair, class, name) in [(pairs[1], "pair far", "diameter"), (pairs[0], "pair", "margin")] {
        let (Some(a), Some(b)) = (drawn.shown.position(pair.first), drawn.shown.position(pair.second)) else {
            continue;
        };
        let (from, to) = (place(a), place(b));
        let places = (&drawn.shown.places[a], &drawn.shown.places[b]);
        let told = format!("{name} {}: {} and {}", short(pair.distance), places.0, places.1);
        group.push(line(class, [(from, to)]).with(tip(&told)));
        let (x, y) = ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0);
        group.push(text(name, x, y - 8.0, "mid heavy halo"));
    }
    group
}

fn words(drawn: &Drawn<'_>) -> String {
    let rows = drawn.shown.rows.len();
    let mut text = match drawn.pairs {
        Some([margin, diameter]) => format!(
            "The nearest rows of different classes are {} apart (solid line, the margin), the farthest rows {} (dashed, the diameter).",
            short(margin.distance),
            short(diameter.distance)
        ),
        None => String::new(),
    };
    if rows < drawn.shown.of {
        text += &format!(" A sample of {rows} of {} rows is drawn.", crate::number::count(drawn.shown.of));
    }
    text
}

fn directions(drawn: &Drawn<'_>) -> Table {
    let mut table = Table::new(["direction", "part of the squared distances", "mostly"]);
    for (d, share) in drawn.map.shares.iter().enumerate() {
        let parts: Vec<String> = drawn.map.parts[d].iter().map(|(n, p)| format!("{n} ({})", short(*p))).collect();
        table.row([(d + 1).to_string(), percent(*share), parts.join(", ")]);
    }
    table
}

/// What the script needs to turn and to zoom a map.
pub(crate) fn data(figure_id: &str, drawn: &Drawn<'_>) -> Value {
    let (x, y, _) = coordinates(drawn.map);
    let mut all = drawn.map.coordinates.clone();
    if all.len() < 2 {
        all = vec![x, y];
    }
    let rounded = |rows: &Vec<Vec<f64>>| -> Value {
        rows.iter().map(|r| r.iter().map(|v| rough(*v)).collect::<Vec<f64>>()).collect()
    };
    let at = |p: PairView| Some([drawn.shown.position(p.first)?, drawn.shown.position(p.second)?]);
    json!({
        "id": figure_id,
        "x": rounded(&all),
        "gram": rounded(&drawn.map.gram),
        "centres": rounded(&drawn.map.centres),
        "names": (0..all.len()).map(|d| named(drawn.map, d, drawn.direction)).collect::<Vec<_>>(),
        "margin": drawn.pairs.and_then(|p| at(p[0])),
        "diameter": drawn.pairs.and_then(|p| at(p[1])),
        "rings": drawn.shown.relabelled,
        "radius": if drawn.classes.len() > CENTRES { 0.0 } else { drawn.radius },
        "frame": { "l": frame().left, "r": frame().right, "t": frame().top, "b": frame().bottom },
    })
}
