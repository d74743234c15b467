use super::frame::{Frame, label, line, text, tip, wide};
use super::{Figure, Table};
use crate::markup::{Element, el};
use crate::number::{percent, short};
use crate::scale::{Scale, extent};

/// The height of a bar with its space.
const PITCH: f64 = 22.0;

/// A bar with its name.
#[derive(Debug, Clone)]
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) value: f64,
    /// As it is written beside the bar.
    pub(crate) shown: String,
    /// Whether it stands out.
    pub(crate) strong: bool,
}

/// Bars one below the other, from a value on.
pub(crate) fn bars(figure: Figure, from: f64, across: &str, bars: &[Bar], head: [&str; 2]) -> Figure {
    let names =
        bars.iter().map(|b| wide(&b.name)).fold(0.0, |m: f64, w| m.max(1.14 * w)).min(0.55 * figure.width) + 12.0;
    let shown = bars.iter().map(|b| wide(&b.shown)).fold(0.0, f64::max) + 12.0;
    let frame = Frame { left: names, right: figure.width - shown, top: 6.0, bottom: 6.0 + PITCH * bars.len() as f64 };
    let top = bars.iter().map(|b| b.value).fold(from, f64::max);
    let scale = Scale::linear((from, if top > from { top } else { from + 1.0 }), frame.x());
    let mut figure = figure;
    figure.height = frame.bottom + if across.is_empty() { 8.0 } else { 24.0 };
    let all_strong = bars.iter().all(|b| b.strong);
    for (k, bar) in bars.iter().enumerate() {
        let y = frame.top + PITCH * k as f64;
        let end = scale.at(bar.value.max(from));
        let class = if bar.strong { "bar c0" } else { "bar dim c0" };
        let told = tip(&format!("{}: {}", bar.name, bar.shown));
        let rect = el("rect").class(class).at("x", frame.left).at("y", y + 4.0);
        figure.content.push(rect.at("width", (end - frame.left).max(1.0)).at("height", PITCH - 8.0).with(told));
        let class = if bar.strong && !all_strong { "end heavy" } else { "end strong" };
        figure.content.push(label(&bar.name, names - 8.0, (frame.left - 8.0, y + 15.0), class));
        figure.content.push(text(&bar.shown, end + 6.0, y + 15.0, ""));
    }
    figure.content.push(line("axis", [((frame.left, frame.top), (frame.left, frame.bottom))]));
    if !across.is_empty() {
        figure.content.push(text(across, frame.left, frame.bottom + 16.0, ""));
    }
    let mut table = Table::new(head);
    for bar in bars {
        table.row([bar.name.clone(), bar.shown.clone()]);
    }
    figure.table = Some(table);
    figure
}

/// Columns side by side, such as a spectrum.
pub(crate) fn columns(figure: Figure, (across, up): (&str, &str), values: &[f64]) -> Figure {
    let frame = Frame { left: 52.0, right: figure.width - 14.0, top: 34.0, bottom: figure.height - 46.0 };
    let top = values.iter().copied().fold(0.0, f64::max);
    let y = Scale::linear((0.0, if top > 0.0 { top } else { 1.0 }), frame.y()).rounded();
    let x = Scale::linear((0.5, values.len().max(4) as f64 + 0.5), frame.x());
    let mut figure = figure;
    figure.content.extend(frame.up(&y, up));
    let width = (x.at(2.0) - x.at(1.0)) * 0.7;
    let mut table = Table::new([across, up]);
    let every = values.len().div_ceil(14).max(1);
    for (k, &value) in values.iter().enumerate() {
        let middle = x.at(k as f64 + 1.0);
        let rect = el("rect").class("bar c0").at("x", middle - width / 2.0).at("y", y.at(value));
        let told = tip(&format!("{across} {}: {}", k + 1, short(value)));
        figure.content.push(rect.at("width", width).at("height", (frame.bottom - y.at(value)).max(0.5)).with(told));
        if k % every == 0 {
            figure.content.push(text(&(k + 1).to_string(), middle, frame.bottom + 17.0, "mid"));
        }
        table.row([(k + 1).to_string(), short(value)]);
    }
    figure.content.push(text(across, frame.middle(), frame.bottom + 36.0, "mid strong"));
    figure.table = Some(table);
    figure
}

/// Box plots of shares, one below the other, with every value as a dot.
pub(crate) fn boxes(figure: Figure, across: &str, rows: &[(String, Vec<f64>, bool)]) -> Figure {
    let names = rows.iter().map(|r| wide(&r.0)).fold(0.0, |m: f64, w| m.max(1.14 * w)).min(0.36 * figure.width) + 12.0;
    let pitch = 26.0;
    let frame = Frame { left: names, right: figure.width - 18.0, top: 6.0, bottom: 6.0 + pitch * rows.len() as f64 };
    let (low, high) = extent(rows.iter().flat_map(|r| r.1.iter().map(|v| 100.0 * v)));
    let scale = Scale::linear((low, high), frame.x()).rounded();
    let mut figure = figure;
    figure.height = frame.bottom + 46.0;
    let lines = scale.ticks(6).into_iter().map(|(v, _)| ((scale.at(v), frame.top), (scale.at(v), frame.bottom)));
    figure.content.push(line("grid", lines));
    figure.content.extend(frame.below(&scale, across));
    let mut table = Table::new(["method", "least", "lower quartile", "median", "upper quartile", "largest"]);
    for (k, (name, values, best)) in rows.iter().enumerate() {
        let y = frame.top + pitch * (k as f64 + 0.5);
        let class = if *best { "end heavy" } else { "end strong" };
        figure.content.push(label(name, names - 8.0, (frame.left - 8.0, y + 4.0), class));
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        if sorted.is_empty() {
            figure.content.push(text("no result", frame.left + 8.0, y + 4.0, ""));
            continue;
        }
        let at = |q: f64| quantile(&sorted, q);
        let told = format!("{name}: median {}, from {} to {}", percent(at(0.5)), percent(at(0.0)), percent(at(1.0)));
        for v in &sorted {
            let dot = el("circle").class(if *best { "dot c0" } else { "dot c5" });
            figure.content.push(dot.at("cx", scale.at(100.0 * v)).at("cy", y).at("r", 2.2));
        }
        figure
            .content
            .push(one_box(&scale, y, [0.0, 0.25, 0.5, 0.75, 1.0].map(|q| 100.0 * at(q)), *best).with(tip(&told)));
        let cells = [0.0, 0.25, 0.5, 0.75, 1.0].map(|q| percent(at(q)));
        table.row([name.clone()].into_iter().chain(cells));
    }
    figure.table = Some(table);
    figure
}

fn one_box(scale: &Scale, y: f64, q: [f64; 5], best: bool) -> Element {
    let at = q.map(|v| scale.at(v));
    let colour = if best { "c0" } else { "c5" };
    let height = 14.0;
    let whisker = line(&format!("whisker {colour}"), [((at[0], y), (at[1], y)), ((at[3], y), (at[4], y))]);
    let body = el("rect").class(format!("box {colour}")).at("x", at[1]).at("y", y - height / 2.0);
    el("g")
        .with(whisker)
        .with(body.at("width", (at[3] - at[1]).max(1.0)).at("height", height))
        .with(line("median", [((at[2], y - height / 2.0), (at[2], y + height / 2.0))]))
}

/// Between the values where it does not fall on one.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let place = q * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    #[test]
    fn quartiles_are_between_values() {
        assert_eq!(super::quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), 2.5);
        assert_eq!(super::quantile(&[5.0], 0.75), 5.0);
    }
}
