use super::Figure;
use super::frame::{Frame, text, tip};
use super::marks::{RING, colour, point};
use crate::markup::{el, length};
use crate::scale::Scale;
use lipmetric::view::{ClassView, Plane, Shown};

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 400.0;
/// Level sets on each side.
const LEVELS: usize = 4;

/// The regions of a function of two features, its zero line and level sets, and the rows.
pub(crate) fn plane(id: &str, title: &str, plane: &Plane, shown: &Shown, classes: &[ClassView]) -> Figure {
    let frame = Frame { left: 52.0, right: WIDTH - 10.0, top: 28.0, bottom: HEIGHT - 46.0 };
    let [across, up] = &plane.axes;
    let unit = |a: &lipmetric::view::Axis, v: f64| v * a.scale + a.offset;
    let sx = Scale::linear((unit(across, across.from), unit(across, across.to)), frame.x());
    let sy = Scale::linear((unit(up, up.from), unit(up, up.to)), frame.y());
    let mut figure = Figure::new(id, title, WIDTH, HEIGHT);
    let regions = (0..classes.len()).map(|class| {
        let d = region(plane, class as u32, &frame);
        el("path")
            .class(format!("region c{}", colour(class)))
            .set("d", d)
            .with(tip(&format!("predicted: {}", classes[class].name)))
    });
    figure.content.extend(regions);
    let most = plane.values.iter().fold(0.0_f64, |m, v| if v.is_finite() { m.max(v.abs()) } else { m });
    let mut levels = String::new();
    for k in 1..=LEVELS {
        let level = most * k as f64 / (LEVELS + 1) as f64;
        levels += &contour(plane, level, &frame);
        if plane.signed {
            levels += &contour(plane, -level, &frame);
        }
    }
    figure.content.push(el("path").class("level").set("d", levels));
    let zero = if plane.signed { contour(plane, 0.0, &frame) } else { borders(plane, &frame) };
    figure.content.push(el("path").class("zero").set("d", zero));
    for (k, (x, y)) in plane.x.iter().zip(&plane.y).enumerate() {
        let class = shown.labels[k] as usize;
        let told = format!("{}: {}", shown.places[k], classes.get(class).map_or("?", |c| c.name.as_str()));
        let (px, py) = (sx.at(unit(across, *x)), sy.at(unit(up, *y)));
        figure.content.push(point(class, px, py).with(tip(&told)));
        if shown.relabelled.binary_search(&k).is_ok() {
            figure.content.push(el("circle").class("ring").at("cx", px).at("cy", py).at("r", RING));
        }
    }
    let window = el("rect").class("frame").at("x", frame.left).at("y", frame.top);
    figure.content.push(window.at("width", frame.right - frame.left).at("height", frame.bottom - frame.top));
    figure.content.extend(frame.below(&sx, &across.name));
    for (v, shown) in sy.ticks(5) {
        figure.content.push(text(&shown, frame.left - 6.0, sy.at(v) + 4.0, "end"));
    }
    figure.content.push(text(&up.name, 8.0, frame.top - 12.0, "strong"));
    figure.says(format!(
        "Shades are predicted classes, the thick line is where the prediction changes, and thin lines join places of the same value. The function is {}.",
        plane.function
    ))
}

/// Where a place of the grid is drawn.
fn at(plane: &Plane, frame: &Frame, u: f64, v: f64) -> (f64, f64) {
    (
        frame.left + (frame.right - frame.left) * u / (plane.across - 1) as f64,
        frame.bottom - (frame.bottom - frame.top) * v / (plane.up - 1) as f64,
    )
}

/// The places of one class, as runs of squares.
fn region(plane: &Plane, class: u32, frame: &Frame) -> String {
    let mut out = String::new();
    let clamp = |u: f64, most: usize| u.clamp(0.0, (most - 1) as f64);
    for v in 0..plane.up {
        let row = &plane.labels[v * plane.across..(v + 1) * plane.across];
        let mut u = 0;
        while u < plane.across {
            if row[u] != class {
                u += 1;
                continue;
            }
            let run = row[u..].iter().take_while(|l| **l == class).count();
            let low = at(plane, frame, clamp(u as f64 - 0.5, plane.across), clamp(v as f64 - 0.5, plane.up));
            let high = at(plane, frame, clamp((u + run) as f64 - 0.5, plane.across), clamp(v as f64 + 0.5, plane.up));
            out += &format!(
                "M{} {}H{}V{}H{}Z",
                length(low.0),
                length(low.1),
                length(high.0),
                length(high.1),
                length(low.0)
            );
            u += run;
        }
    }
    out
}

/// Lines between places of different classes.
fn borders(plane: &Plane, frame: &Frame) -> String {
    let label = |u: usize, v: usize| plane.labels[v * plane.across + u];
    let mut out = String::new();
    let mut draw = |a: (f64, f64), b: (f64, f64)| {
        let (p, q) = (at(plane, frame, a.0, a.1), at(plane, frame, b.0, b.1));
        out += &format!("M{} {}L{} {}", length(p.0), length(p.1), length(q.0), length(q.1));
    };
    for v in 0..plane.up {
        for u in 0..plane.across {
            let (x, y) = (u as f64, v as f64);
            if u + 1 < plane.across && label(u, v) != label(u + 1, v) {
                draw((x + 0.5, (y - 0.5).max(0.0)), (x + 0.5, (y + 0.5).min((plane.up - 1) as f64)));
            }
            if v + 1 < plane.up && label(u, v) != label(u, v + 1) {
                draw(((x - 0.5).max(0.0), y + 0.5), ((x + 0.5).min((plane.across - 1) as f64), y + 0.5));
            }
        }
    }
    out
}

/// The line on which the function has this value, by squares of four places.
fn contour(plane: &Plane, level: f64, frame: &Frame) -> String {
    let value = |u: usize, v: usize| plane.values[v * plane.across + u] - level;
    let mut out = String::new();
    for v in 0..plane.up - 1 {
        for u in 0..plane.across - 1 {
            let corners = [(u, v), (u + 1, v), (u + 1, v + 1), (u, v + 1)];
            let values = corners.map(|(a, b)| value(a, b));
            let mut crossings: Vec<(f64, f64)> = Vec::with_capacity(4);
            for k in 0..4 {
                let (a, b) = (values[k], values[(k + 1) % 4]);
                if (a > 0.0) != (b > 0.0) {
                    let t = a / (a - b);
                    let (p, q) = (corners[k], corners[(k + 1) % 4]);
                    let mix = |x: usize, y: usize| x as f64 + t * (y as f64 - x as f64);
                    crossings.push((mix(p.0, q.0), mix(p.1, q.1)));
                }
            }
            for pair in crossings.chunks_exact(2) {
                let (p, q) = (at(plane, frame, pair[0].0, pair[0].1), at(plane, frame, pair[1].0, pair[1].1));
                out += &format!("M{} {}L{} {}", length(p.0), length(p.1), length(q.0), length(q.1));
            }
        }
    }
    out
}
