use super::frame::{Frame, line, text, through, tip, wide};
use super::{Figure, Table};
use crate::markup::{Element, el};
use crate::number::short;
use crate::scale::{Scale, extent};

/// A curve.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
    /// Around each point.
    pub(crate) band: Vec<(f64, f64)>,
    /// Which of the colours.
    pub(crate) colour: usize,
    /// Which of the strokes: whole, dashed, dotted.
    pub(crate) stroke: usize,
    /// Whether each point is marked.
    pub(crate) dots: bool,
    /// How large each dot is, where they differ.
    pub(crate) sizes: Vec<f64>,
    /// Whether the space below is filled.
    pub(crate) filled: bool,
}

impl Series {
    pub(crate) fn new(name: impl Into<String>, points: Vec<(f64, f64)>, colour: usize, stroke: usize) -> Self {
        Self { name: name.into(), points, colour, stroke, ..Self::default() }
    }

    /// A histogram's outline.
    pub(crate) fn steps(name: &str, edges: &[f64], shares: &[f64], colour: usize, stroke: usize) -> Self {
        let mut points = vec![(edges.first().copied().unwrap_or(0.0), 0.0)];
        for (k, &share) in shares.iter().enumerate() {
            points.push((edges[k], share));
            points.push((edges[k + 1], share));
        }
        points.push((edges.last().copied().unwrap_or(1.0), 0.0));
        Self { filled: true, ..Self::new(name, points, colour, stroke) }
    }
}

/// What is along an axis.
#[derive(Debug, Clone, Default)]
pub(crate) struct Along {
    pub(crate) label: String,
    pub(crate) log: bool,
    /// The ends, where they are given.
    pub(crate) ends: Option<(f64, f64)>,
}

impl Along {
    pub(crate) fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    pub(crate) fn log(mut self) -> Self {
        self.log = true;
        self
    }

    pub(crate) fn ends(mut self, from: f64, to: f64) -> Self {
        self.ends = Some((from, to));
        self
    }

    fn scale(&self, values: impl IntoIterator<Item = f64>, places: (f64, f64), rounded: bool) -> Scale {
        if let Some(ends) = self.ends {
            return if self.log { Scale::log(ends, places) } else { Scale::linear(ends, places) };
        }
        let positive = |v: &f64| !self.log || *v > 0.0;
        let ends = extent(values.into_iter().filter(positive));
        let scale = if self.log { Scale::log(ends, places) } else { Scale::linear(ends, places) };
        if rounded { scale.rounded() } else { scale }
    }
}

/// Rows of a table behind curves.
const MOST_ROWS: usize = 60;

/// Curves over one axis, with a key above; `marked` is a place across and its name.
pub(crate) fn curves(
    figure: Figure,
    (x, y): (&Along, &Along),
    series: &[Series],
    marked: Option<(f64, &str)>,
) -> Figure {
    let mut frame = Frame { left: 52.0, right: figure.width - 16.0, top: 34.0, bottom: figure.height - 46.0 };
    let (key, deep) = key(series, &frame);
    frame.top += deep;
    let xs = series.iter().flat_map(|s| s.points.iter().map(|p| p.0));
    let ys = series.iter().flat_map(|s| s.points.iter().map(|p| p.1).chain(s.band.iter().flat_map(|b| [b.0, b.1])));
    let sx = x.scale(xs, frame.x(), false);
    let sy = y.scale(ys, frame.y(), true);
    let mut figure = figure;
    figure.content.push(key);
    figure.content.extend(frame.axes((&sx, &x.label), (&sy, &y.label)));
    if let Some((at, name)) = marked {
        let place = sx.at(at);
        figure.content.push(line("marked", [((place, frame.top), (place, frame.bottom))]));
        let half = wide(name) / 2.0;
        let middle = place.clamp(frame.left + half, (frame.right - half).max(frame.left + half));
        figure.content.push(text(name, middle, frame.top - 6.0, "mid strong halo"));
    }
    for s in series {
        figure.content.extend(curve(s, (&sx, &sy), y.log));
    }
    if figure.table.is_none() {
        figure.table = Some(table(&x.label, series));
    }
    figure
}

fn curve(s: &Series, (sx, sy): (&Scale, &Scale), log: bool) -> Vec<Element> {
    let drawn = |(x, y): &(f64, f64)| x.is_finite() && y.is_finite() && (!log || *y > 0.0);
    let places: Vec<(f64, f64)> = s.points.iter().filter(|p| drawn(p)).map(|(x, y)| (sx.at(*x), sy.at(*y))).collect();
    let mut out = Vec::new();
    let colour = format!("c{}", s.colour);
    if !s.band.is_empty() {
        let upper = s.points.iter().zip(&s.band).map(|(p, b)| (sx.at(p.0), sy.at(b.1)));
        let lower = s.points.iter().zip(&s.band).rev().map(|(p, b)| (sx.at(p.0), sy.at(b.0)));
        let outline = through(upper.chain(lower)) + "Z";
        out.push(el("path").class(format!("area {colour}")).set("d", outline));
    }
    if s.filled {
        out.push(el("path").class(format!("area {colour}")).set("d", through(places.iter().copied()) + "Z"));
    }
    if places.len() > 1 {
        let class = format!("curve s{} {colour}", s.stroke);
        out.push(el("path").class(class).set("d", through(places.iter().copied())));
    }
    if s.dots || places.len() == 1 {
        for (k, (point, (x, y))) in s.points.iter().filter(|p| drawn(p)).zip(&places).enumerate() {
            let size = s.sizes.get(k).copied().unwrap_or(3.2);
            let told = format!("{}: {} at {}", s.name, short(point.1), short(point.0));
            out.push(
                el("circle").class(format!("dot {colour}")).at("cx", *x).at("cy", *y).at("r", size).with(tip(&told)),
            );
        }
    }
    out
}

/// Names beside their strokes, in a row, or in more where they are long; and how high that is.
fn key(series: &[Series], frame: &Frame) -> (Element, f64) {
    let mut group = el("g");
    let (mut x, mut y) = (8.0, 14.0);
    let named = || series.iter().filter(|s| !s.name.is_empty());
    // Of a single curve the figure's title tells what it is.
    for s in named().filter(|_| named().count() > 1) {
        let needs = 30.0 + wide(&s.name);
        if x > 8.0 && x + needs > frame.right + 12.0 {
            (x, y) = (8.0, y + 17.0);
        }
        let path = through([(x, y - 4.0), (x + 22.0, y - 4.0)]);
        group.push(el("path").class(format!("curve s{} c{}", s.stroke, s.colour)).set("d", path));
        if s.dots {
            group.push(
                el("circle").class(format!("dot c{}", s.colour)).at("cx", x + 11.0).at("cy", y - 4.0).at("r", 3.2),
            );
        }
        group.push(text(&s.name, x + 28.0, y, ""));
        x += needs + 16.0;
    }
    let deep = if x > 8.0 { y + 8.0 } else { 0.0 };
    (group, deep)
}

fn table(across: &str, series: &[Series]) -> Table {
    let longest = series.iter().map(|s| s.points.len()).max().unwrap_or(0);
    let every = longest.div_ceil(MOST_ROWS).max(1);
    let same = series
        .iter()
        .all(|s| s.points.len() == longest && s.points.iter().zip(&series[0].points).all(|(a, b)| a.0 == b.0));
    if same && !series.is_empty() {
        let mut table = Table::new([across].into_iter().chain(series.iter().map(|s| s.name.as_str())));
        for k in (0..longest).step_by(every) {
            let values = series.iter().map(|s| short(s.points[k].1));
            table.row([short(series[0].points[k].0)].into_iter().chain(values));
        }
        return table;
    }
    let mut table = Table::new(["curve", across, "value"]);
    for s in series {
        for (x, y) in s.points.iter().step_by(every) {
            table.row([s.name.clone(), short(*x), short(*y)]);
        }
    }
    table
}
