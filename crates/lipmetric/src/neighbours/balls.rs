//! Search in a shallow tree of balls, for data with structure: low dimension, clusters, curved sheets.
//!
//! A leaf holds a few dozen rows near each other, an inner node a few dozen children; either way the points of
//! a node (rows, or the centres of children) are packed in panels about the node's own centre and scored by the
//! same kernel. The own centre and scale keep the rounding of single precision relative to the node's extent,
//! however far from the origin it lies.

use super::candidates::{Candidates, Measure};
use super::distance::{rounding_allowance, squared_distance};
use super::screen::{AlignedBuffer, Packing, any_passes, excess, lines, panel_width, scores};
use crate::Matrix;
use pulp::{Simd, WithSimd};
use rayon::prelude::*;

/// Most rows in a leaf.
pub(super) const LEAF: usize = 64;

/// Most children of an inner node.
const FANOUT: usize = 64;

/// Panels that the kernel scores at once for a single query: with two vectors each, eight accumulators, enough
/// to hide the latency of a fused multiply-add.
const PANELS_AT_ONCE: usize = 4;

/// Rows looked at to find the direction along which a set is cut.
const SAMPLE: usize = 128;

/// Sets of at least this many rows are cut in parallel.
const PARALLEL_ROWS: usize = 2048;

#[derive(Debug)]
struct Node {
    packing: Packing,
    /// Where its panels start.
    packed: usize,
    /// How many rows (of a leaf) or children.
    points: usize,
    /// First position in the order of rows, or first child.
    first: usize,
    leaf: bool,
}

/// The tree. Rows of a leaf, and children of a node, are contiguous.
#[derive(Debug)]
pub(super) struct Balls {
    order: Vec<u32>,
    nodes: Vec<Node>,
    /// Centre of each node.
    centres: Vec<f64>,
    /// Radius of the ball about its centre that holds all rows of a node, rounded upwards.
    radii: Vec<f64>,
    packed: AlignedBuffer,
    width: usize,
}

/// A node still to be visited.
#[derive(Debug, Clone, Copy)]
struct Visit {
    /// No row of the node has a smaller squared distance.
    lower: f64,
    /// Estimated squared distance of the centre: the order of visits.
    centre: f64,
    node: u32,
}

/// What a thread needs for its queries.
#[derive(Debug)]
pub(super) struct Workspace {
    candidates: Candidates,
    query: Vec<[f32; 1]>,
    scores: Vec<f32>,
    stack: Vec<Visit>,
}

impl Workspace {
    pub(super) fn new(k: usize, columns: usize) -> Self {
        Self {
            candidates: Candidates::new(k, columns),
            query: vec![[0.0]; columns],
            scores: Vec::new(),
            stack: Vec::new(),
        }
    }
}

impl Balls {
    pub(super) fn new(rows: &Matrix) -> Self {
        let shape = Shape::of(rows.rows());
        let mut keyed: Vec<(f64, u32)> = (0..rows.rows() as u32).map(|i| (0.0, i)).collect();
        shape.arrange(rows, &mut keyed, 1, shape.levels + 1);
        let order: Vec<u32> = keyed.into_iter().map(|(_, row)| row).collect();
        let spans = shape.spans(order.len());

        let columns = rows.cols();
        let member = |i: usize| rows.row(order[i] as usize);
        let balls: Vec<(Vec<f64>, f64)> =
            spans.par_iter().map(|span| ball(columns, span.rows.clone().map(member))).collect();
        let (centres, radii): (Vec<Vec<f64>>, Vec<f64>) = balls.into_iter().unzip();

        let width = panel_width();
        let packed: Vec<(Packing, Vec<f32>)> = spans
            .par_iter()
            .zip(&centres)
            .map(|(span, centre)| {
                let points: Vec<&[f64]> = match &span.children {
                    None => span.rows.clone().map(member).collect(),
                    Some(children) => children.clone().map(|c| centres[c].as_slice()).collect(),
                };
                let packing = Packing::of(points.iter().copied(), centre);
                let mut out = Vec::new();
                if packing.usable() {
                    out.resize(points.len().div_ceil(width) * (columns + 1) * width, 0.0);
                    packing.pack(points.into_iter(), centre, width, &mut out);
                }
                (packing, out)
            })
            .collect();

        let mut buffer = AlignedBuffer::new(packed.iter().map(|(_, panels)| panels.len()).sum());
        let mut at = 0;
        let nodes = spans
            .iter()
            .zip(packed)
            .map(|(span, (packing, panels))| {
                let start = at;
                at += panels.len();
                buffer.as_mut_slice()[start..at].copy_from_slice(&panels);
                let points = span.children.as_ref().unwrap_or(&span.rows);
                Node {
                    packing,
                    packed: start,
                    points: points.len(),
                    first: points.start,
                    leaf: span.children.is_none(),
                }
            })
            .collect();
        Self { order, nodes, centres: centres.concat(), radii, packed: buffer, width }
    }

    /// The answer to one query that must not find the row `excluded`.
    pub(super) fn search<'w, M: Measure>(
        &self,
        rows: &M,
        query: &[f64],
        excluded: u32,
        work: &'w mut Workspace,
    ) -> &'w [(f64, u32)] {
        work.candidates.reset(excluded);
        self.walk(rows, query, work);
        work.candidates.finish(rows, query)
    }

    /// The walk of one query through the tree: nearest nodes first, those beyond the bound never.
    fn walk<M: Measure>(&self, rows: &M, query: &[f64], work: &mut Workspace) {
        let columns = rows.matrix().cols();
        let panel_len = (columns + 1) * self.width;
        let Workspace { candidates, query: negated, scores: kept, stack } = work;
        stack.clear();
        stack.push(Visit { lower: 0.0, centre: 0.0, node: 0 });
        while let Some(visit) = stack.pop() {
            if visit.lower > candidates.bound() {
                continue;
            }
            let node = &self.nodes[visit.node as usize];
            let centre = &self.centres[visit.node as usize * columns..][..columns];
            let Some(view) = node.packing.view(query, centre, negated.iter_mut().map(|x| &mut x[0])) else {
                self.visit_unscreened(node, rows, query, candidates, stack);
                continue;
            };
            let threshold = if node.leaf { view.threshold(candidates.bound()) } else { f32::MAX };
            let packed = &self.packed.as_slice()[node.packed..][..node.points.div_ceil(self.width) * panel_len];
            kept.clear();
            let passes = score_all(ScoreAll { packed, panel_len, query: negated, threshold, out: kept });
            if !node.leaf {
                let bound = candidates.bound();
                let first = stack.len();
                for (child, &score) in (node.first..node.first + node.points).zip(kept.iter()) {
                    let centre = view.interval(score).0.max(0.0);
                    let gap = (centre.sqrt() - self.radii[child]).max(0.0);
                    // The interval leaves room for the rounding of the root and of the difference, the factor
                    // for that of the square.
                    let lower = gap * gap * (1.0 - 1e-12);
                    if lower <= bound {
                        stack.push(Visit { lower, centre, node: child as u32 });
                    }
                }
                nearest_last(&mut stack[first..], bound);
            } else if passes {
                let order = &self.order[node.first..][..node.points];
                for (&row, &score) in order.iter().zip(kept.iter()) {
                    if score <= threshold {
                        let (lower, upper) = view.interval(score);
                        candidates.offer(lower, upper, row, rows, query);
                    }
                }
            }
        }
    }
}

/// Never inlined: the accumulators must not compete for registers with what the walk keeps in them.
#[inline(never)]
fn score_all(task: ScoreAll<'_>) -> bool {
    pulp::Arch::new().dispatch(task)
}

/// Scores one query against all points of a node, and tells whether one passes the threshold.
struct ScoreAll<'a> {
    packed: &'a [f32],
    panel_len: usize,
    query: &'a [[f32; 1]],
    threshold: f32,
    out: &'a mut Vec<f32>,
}

impl WithSimd for ScoreAll<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let Self { packed, panel_len, query, threshold, out } = self;
        let mut passes = false;
        let (fours, rest) = packed.split_at(packed.len() - packed.len() % (PANELS_AT_ONCE * panel_len));
        for panels in fours.chunks_exact(PANELS_AT_ONCE * panel_len) {
            let (a, b) = panels.split_at(2 * panel_len);
            let ((a, b), (c, d)) = (a.split_at(panel_len), b.split_at(panel_len));
            let panels = [lines::<S>(a), lines::<S>(b), lines::<S>(c), lines::<S>(d)];
            let [found] = scores::<S, 1, PANELS_AT_ONCE>(simd, panels, query);
            passes |= any_passes(simd, excess(simd, &found, threshold));
            for panel in &found {
                out.extend_from_slice(pulp::bytemuck::cast_slice(panel));
            }
        }
        for panel in rest.chunks_exact(panel_len) {
            let [found] = scores::<S, 1, 1>(simd, [lines::<S>(panel)], query);
            passes |= any_passes(simd, excess(simd, &found, threshold));
            out.extend_from_slice(pulp::bytemuck::cast_slice(&found[0]));
        }
        passes
    }
}

/// Brings the visits into the order in which they are popped. Without a bound yet, only the first matters: it
/// will set one that most of the others fail.
fn nearest_last(visits: &mut [Visit], bound: f64) {
    if bound < f64::INFINITY {
        visits.sort_unstable_by(|a, b| b.centre.total_cmp(&a.centre));
    } else if let Some(nearest) = (0..visits.len()).min_by(|&a, &b| visits[a].centre.total_cmp(&visits[b].centre)) {
        let last = visits.len() - 1;
        visits.swap(nearest, last);
    }
}

impl Balls {
    /// What a visit does where single precision is of no use: the rows are measured, the children all visited.
    #[cold]
    #[inline(never)]
    fn visit_unscreened<M: Measure>(
        &self,
        node: &Node,
        rows: &M,
        query: &[f64],
        candidates: &mut Candidates,
        stack: &mut Vec<Visit>,
    ) {
        let points = node.first..node.first + node.points;
        if node.leaf {
            self.order[points].iter().for_each(|&row| candidates.offer_measured(row, rows, query));
        } else {
            stack.extend(points.map(|child| Visit { lower: 0.0, centre: 0.0, node: child as u32 }));
        }
    }
}

/// The ball about the mean of some rows that holds them all.
fn ball<'a>(columns: usize, rows: impl ExactSizeIterator<Item = &'a [f64]> + Clone) -> (Vec<f64>, f64) {
    let count = rows.len() as f64;
    let mut centre = vec![0.0; columns];
    for row in rows.clone() {
        for (c, x) in centre.iter_mut().zip(row) {
            *c += x;
        }
    }
    for c in &mut centre {
        *c /= count;
    }
    let mut squared = 0.0f64;
    for row in rows {
        let s = squared_distance(row, &centre);
        // A sum that overflowed makes the centre useless: infinity, or NaN.
        squared = if s.is_finite() { squared.max(s) } else { f64::INFINITY };
        if squared == f64::INFINITY {
            break;
        }
    }
    // The second term covers squares that underflow.
    let radius = squared.sqrt() * rounding_allowance(columns) + 1e-150 * (columns as f64);
    (centre, radius)
}

/// The shape of a tree: it follows from the number of rows alone.
#[derive(Debug, Clone, Copy)]
struct Shape {
    levels: usize,
    fanout: usize,
}

/// The rows of a node, as positions in the tree's order, and the numbers of its children.
struct Span {
    rows: std::ops::Range<usize>,
    children: Option<std::ops::Range<usize>>,
}

impl Shape {
    /// As few levels as the largest fanout allows, and then the smallest fanout that they allow.
    fn of(rows: usize) -> Self {
        let leaves = rows.div_ceil(LEAF).max(1);
        let holds = |fanout: usize, levels: usize| (0..levels).fold(1usize, |n, _| n.saturating_mul(fanout)) >= leaves;
        let mut levels = 0;
        while !holds(FANOUT, levels) {
            levels += 1;
        }
        let fanout = (1..=FANOUT).find(|&f| holds(f, levels)).unwrap_or(FANOUT);
        Self { levels, fanout }
    }

    /// Children of a node of `rows` rows with `levels` levels below it.
    fn parts(&self, rows: usize, levels: usize) -> usize {
        self.fanout.min(rows.div_ceil(LEAF)).max(usize::from(levels > 0))
    }

    /// Orders `rows` so that each node's are contiguous: cuts them into `parts`, and each part further down.
    fn arrange(&self, rows: &Matrix, keyed: &mut [(f64, u32)], parts: usize, levels: usize) {
        if parts == 1 {
            if levels > 1 {
                self.arrange(rows, keyed, self.parts(keyed.len(), levels - 1), levels - 1);
            }
            return;
        }
        let (at, left, right) = halves(keyed.len(), parts);
        project_on_widest_direction(rows, keyed);
        keyed.select_nth_unstable_by(at, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let parallel = keyed.len() >= PARALLEL_ROWS;
        let (low, high) = keyed.split_at_mut(at);
        let mut cut_low = || self.arrange(rows, low, left, levels);
        let mut cut_high = || self.arrange(rows, high, right, levels);
        if parallel {
            rayon::join(cut_low, cut_high);
        } else {
            cut_low();
            cut_high();
        }
    }

    /// All nodes, the root first, level by level.
    fn spans(&self, rows: usize) -> Vec<Span> {
        let mut spans = vec![Span { rows: 0..rows, children: None }];
        let mut level = 0..1;
        for below in (1..=self.levels).rev() {
            for node in level.clone() {
                let span = spans[node].rows.clone();
                let first = spans.len();
                push_parts(&mut spans, span.clone(), self.parts(span.len(), below));
                spans[node].children = Some(first..spans.len());
            }
            level = level.end..spans.len();
        }
        spans
    }
}

/// Where `rows` rows are cut in two on the way to `parts` parts, and how many parts each side becomes. Sizes
/// differ by at most one row per part.
fn halves(rows: usize, parts: usize) -> (usize, usize, usize) {
    let left = parts / 2;
    ((rows as u128 * left as u128 / parts as u128) as usize, left, parts - left)
}

fn push_parts(spans: &mut Vec<Span>, rows: std::ops::Range<usize>, parts: usize) {
    if parts == 1 {
        spans.push(Span { rows, children: None });
    } else {
        let (at, left, right) = halves(rows.len(), parts);
        push_parts(spans, rows.start..rows.start + at, left);
        push_parts(spans, rows.start + at..rows.end, right);
    }
}

/// Sets each key to the row's coordinate along the direction in which these rows spread most, found from a
/// sample by a few steps of the power method. Only the quality of the tree depends on it.
fn project_on_widest_direction(rows: &Matrix, keyed: &mut [(f64, u32)]) {
    let columns = rows.cols();
    let sample: Vec<&[f64]> =
        keyed.iter().step_by(keyed.len().div_ceil(SAMPLE)).map(|&(_, row)| rows.row(row as usize)).collect();
    let (centre, _) = ball(columns, sample.iter().copied());
    let mut spread = vec![0.0; columns];
    for row in &sample {
        for ((s, x), c) in spread.iter_mut().zip(*row).zip(&centre) {
            *s += (x - c) * (x - c);
        }
    }
    let Some(widest) = (0..columns).max_by(|&a, &b| spread[a].total_cmp(&spread[b])) else {
        return;
    };
    let direction = if columns > AXIS_COLUMNS { principal_direction(&sample, &centre, widest) } else { None };
    match direction {
        Some(direction) => {
            for (key, row) in keyed.iter_mut() {
                *key = dot(rows.row(*row as usize), &direction);
            }
        }
        None => {
            for (key, row) in keyed.iter_mut() {
                *key = rows.row(*row as usize)[widest];
            }
        }
    }
}

/// Up to this many columns, cuts along the axes are as good and cheaper.
const AXIS_COLUMNS: usize = 4;

/// Steps of the power method from the widest axis.
const POWER_STEPS: usize = 3;

/// `None` if a step overflows or vanishes.
fn principal_direction(sample: &[&[f64]], centre: &[f64], widest: usize) -> Option<Vec<f64>> {
    let mut direction = vec![0.0; centre.len()];
    direction[widest] = 1.0;
    for _ in 0..POWER_STEPS {
        let offset = dot(centre, &direction);
        let mut next = vec![0.0; centre.len()];
        for row in sample {
            let weight = dot(row, &direction) - offset;
            for ((n, x), c) in next.iter_mut().zip(*row).zip(centre) {
                *n += weight * (x - c);
            }
        }
        let norm = dot(&next, &next).sqrt();
        if !(norm.is_finite() && norm > 0.0) {
            return None;
        }
        next.iter_mut().for_each(|n| *n /= norm);
        direction = next;
    }
    Some(direction)
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    let (xs, x_rest) = x.as_chunks::<4>();
    let (ys, y_rest) = y.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (a, b) in xs.iter().zip(ys) {
        for i in 0..4 {
            sums[i] += a[i] * b[i];
        }
    }
    sums.iter().sum::<f64>() + x_rest.iter().zip(y_rest).map(|(a, b)| a * b).sum::<f64>()
}
