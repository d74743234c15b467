use super::frame::{Frame, label, text, tip, wide};
use super::{Figure, Table};
use crate::markup::{Element, el};
use crate::number::{count, percent, short};

/// A matrix of signed elements: colour is the sign, strength the size.
pub(crate) fn heat(figure: Figure, names: &[String], values: &[Vec<f64>]) -> Figure {
    let n = names.len().max(1);
    let left = names.iter().map(|s| wide(s)).fold(0.0, f64::max).min(0.34 * figure.width) + 10.0;
    // Turned names reach beyond the last column.
    let room = figure.width - left - 54.0;
    let side = (room / n as f64).min(44.0);
    let above = names.iter().map(|s| wide(s)).fold(0.0, f64::max).min(90.0) * 0.75 + 16.0;
    let frame = Frame { left, right: left + side * n as f64, top: above, bottom: above + side * n as f64 };
    let most = values.iter().flatten().fold(0.0_f64, |m, v| m.max(v.abs()));
    let mut figure = figure;
    figure.height = frame.bottom + 46.0;
    let room_below = above / 0.75;
    for (a, name) in names.iter().enumerate() {
        let y = frame.top + side * (a as f64 + 0.5);
        figure.content.push(label(name, left - 8.0, (left - 8.0, y + 4.0), "end strong"));
        let x = frame.left + side * (a as f64 + 0.5);
        let turned =
            format!("translate({} {}) rotate(-48)", crate::markup::length(x), crate::markup::length(above - 6.0));
        figure.content.push(label(name, room_below.min(95.0), (0.0, 0.0), "strong").set("transform", turned));
    }
    let mut table = Table::new([""].into_iter().chain(names.iter().map(String::as_str)));
    for (a, row) in values.iter().enumerate() {
        for (b, &value) in row.iter().enumerate() {
            let strength = if most > 0.0 { value.abs() / most } else { 0.0 };
            let told = format!("{} × {}: {}", names[a], names[b], short(value));
            let class = if value < 0.0 { "cell c1" } else { "cell c0" };
            figure.content.push(cell(class, &frame, side, (a, b), strength).with(tip(&told)));
        }
        table.row([names[a].clone()].into_iter().chain(row.iter().map(|v| short(*v))));
    }
    figure.content.push(outline(&frame));
    figure.content.extend(legend(&frame, most));
    figure.table = Some(table);
    figure
}

fn cell(class: &str, frame: &Frame, side: f64, (a, b): (usize, usize), strength: f64) -> Element {
    el("rect")
        .class(class)
        .at("x", frame.left + side * b as f64)
        .at("y", frame.top + side * a as f64)
        .at("width", side)
        .at("height", side)
        .at("fill-opacity", strength)
}

fn outline(frame: &Frame) -> Element {
    el("rect")
        .class("frame")
        .at("x", frame.left)
        .at("y", frame.top)
        .at("width", frame.right - frame.left)
        .at("height", frame.bottom - frame.top)
}

/// Which colour is which value.
fn legend(frame: &Frame, most: f64) -> Vec<Element> {
    let (y, wide) = (frame.bottom + 12.0, 14.0);
    let mut out = Vec::new();
    for k in 0..=8 {
        let part = f64::from(k - 4) / 4.0;
        let class = if part < 0.0 { "cell c1" } else { "cell c0" };
        let rect = el("rect").class(class).at("x", frame.left + wide * f64::from(k)).at("y", y);
        out.push(rect.at("width", wide).at("height", 10.0).at("fill-opacity", part.abs()));
    }
    out.push(el("rect").class("frame").at("x", frame.left).at("y", y).at("width", 9.0 * wide).at("height", 10.0));
    for (k, shown) in [(0, short(-most)), (4, "0".to_owned()), (8, short(most))] {
        out.push(text(&shown, frame.left + wide * (f64::from(k) + 0.5), y + 25.0, "mid"));
    }
    out
}

/// Classes against predicted classes, with the counts.
pub(crate) fn confusion(figure: Figure, names: &[String], counts: &[Vec<usize>]) -> Figure {
    let n = names.len().max(1);
    let left = names.iter().map(|s| wide(s)).fold(0.0, f64::max).min(0.34 * figure.width).max(26.0) + 14.0;
    let side = ((figure.width - left - 12.0) / n as f64).min(92.0);
    let height = side.min(54.0);
    let frame = Frame { left, right: left + side * n as f64, top: 40.0, bottom: 40.0 + height * n as f64 };
    let mut figure = figure;
    figure.height = frame.bottom + 10.0;
    figure.content.push(text("predicted", frame.left, 14.0, ""));
    figure.content.push(text("true", left - 10.0, 32.0, "end"));
    let mut table = Table::new(["true class"].into_iter().chain(names.iter().map(String::as_str)));
    for (a, row) in counts.iter().enumerate() {
        let total: usize = row.iter().sum();
        let y = frame.top + height * a as f64;
        figure.content.push(label(&names[a], left - 14.0, (left - 10.0, y + height / 2.0 + 4.0), "end strong"));
        let x = frame.left + side * (a as f64 + 0.5);
        figure.content.push(label(&names[a], side - 6.0, (x, 32.0), "mid strong"));
        for (b, &number) in row.iter().enumerate() {
            let share = if total > 0 { number as f64 / total as f64 } else { 0.0 };
            let told = format!("{} predicted as {}: {} ({})", names[a], names[b], count(number), percent(share));
            let rect =
                el("rect").class(if a == b { "cell c0" } else { "cell c1" }).at("x", frame.left + side * b as f64);
            // Weak enough for the figures on top.
            let rect = rect.at("y", y).at("width", side).at("height", height).at("fill-opacity", 0.42 * share);
            figure.content.push(rect.with(tip(&told)));
            if side > 26.0 {
                let (x, y) = (frame.left + side * (b as f64 + 0.5), y + height / 2.0);
                let two = height > 40.0 && side > 48.0;
                figure.content.push(text(&count(number), x, if two { y - 1.0 } else { y + 4.0 }, "mid heavy"));
                if two {
                    figure.content.push(text(&percent(share), x, y + 15.0, "mid strong"));
                }
            }
        }
        table.row([names[a].clone()].into_iter().chain(row.iter().map(|c| count(*c))));
    }
    figure.content.push(outline(&frame));
    figure.table = Some(table);
    figure
}
