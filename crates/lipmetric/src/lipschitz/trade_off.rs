//! Giving up rows for a larger margin: the trade-off of Gottlieb et al. between `k / n` and the complexity term.

use super::bounds::{Bound, fat_shattering_bound, learning_bound};
use super::check_labels;
use super::distance::TrueMetric;
use super::matching::{Growing, minimum_vertex_cover};
use super::pair::{Groups, diameter, indices};
use crate::neighbours::{Best, Close, Distance, Nearest, close_pairs, from_raw, rooted};
use crate::{Error, Labels, Result};
use serde::Serialize;

/// What the trade-off is computed for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TradeOffOptions {
    /// The doubling dimension that enters the bound.
    pub ddim: f64,
    /// The bound holds with probability `1 - delta`.
    pub delta: f64,
    /// The most rows to give up.
    pub max_drop: usize,
    /// The most pairs of rows to hold in memory, at 16 bytes each; when they do not suffice the curve ends early.
    pub max_pairs: usize,
}

impl Default for TradeOffOptions {
    fn default() -> Self {
        Self { ddim: 1.0, delta: 0.05, max_drop: 200, max_pairs: 4_000_000 }
    }
}

/// The margin and the bound after giving up some rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TradeOffPoint {
    /// How many rows are given up; they count as errors.
    pub dropped: usize,
    /// The largest margin that the other rows can have.
    pub margin: f64,
    /// The Lipschitz constant `2 / margin`; infinite if rows of different classes coincide.
    pub constant: f64,
    /// The bound of Theorem 2 with `dropped` errors.
    pub bound: Bound,
}

/// The curve from the number of rows given up to the bound.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TradeOffCurve {
    /// A point per number of rows: 0, 1, 2, ... for two classes; 0, 2, 4, ... for more.
    pub curve: Vec<TradeOffPoint>,
    /// The position in `curve` of the smallest bound (the first of equal ones).
    pub best: usize,
    /// Whether each margin is the largest possible (two classes), or up to twice as many rows as needed are given up
    /// for it (more classes).
    pub exact: bool,
    /// Whether the curve goes as far as asked, or as far as there are two classes left; if not, `max_pairs` ended it.
    pub complete: bool,
}

impl TradeOffCurve {
    /// The point with the smallest bound.
    #[must_use]
    pub fn best_point(&self) -> TradeOffPoint {
        self.curve[self.best]
    }
}

/// For each `k`, the largest margin that is left when `k` rows are given up, and Theorem 2's bound with these as errors.
///
/// The pairs of rows of different classes that are nearer than a margin form a graph, and rows must be given up until
/// each such pair has lost one: a vertex cover. With **two classes** the graph is bipartite, the smallest cover has the
/// size of the largest matching, and the curve is exact. With **more**, both ends of a maximal matching are given up: at
/// most twice as many rows as needed; and as one-versus-rest errs only if one of its `K` functions does, the bound is `K`
/// times that of one function at `delta / K`. The diameter stays that of the whole sample.
///
/// The `k` is chosen after seeing the sample; for a bound that holds for all `k` at once, divide `delta` by their number.
///
/// ```
/// use lipmetric::{Labels, Matrix, lipschitz::{Mahalanobis, trade_off::{TradeOffOptions, trade_off}}};
/// let x = Matrix::from_rows(&[[0.0], [1.0], [1.1], [9.0], [9.5]]);
/// let y = Labels::from_names(["a", "a", "b", "b", "b"]);
/// let t = trade_off(&Mahalanobis::euclidean(&x).unwrap(), &y, &TradeOffOptions::default()).unwrap();
/// assert!((t.curve[0].margin - 0.1).abs() < 1e-12);
/// assert_eq!(t.curve[1].margin, 8.0); // without the row at 1.1
/// ```
///
/// # Errors
/// If the labels do not fit the sample or are of one class only, an option is out of range, or a distance is not a
/// finite number of at least 0.
pub fn trade_off<D>(distance: &D, labels: &Labels, options: &TradeOffOptions) -> Result<TradeOffCurve>
where
    D: Distance + TrueMetric + ?Sized,
{
    let groups = check_labels(distance, labels)?;
    if options.max_pairs == 0 {
        return Err(Error::parameter("max_pairs", "it must be 1 at least"));
    }
    let two = groups.rows.len() == 2;
    let limit = enough(distance, &groups, options.max_drop)?;
    let found = close_pairs(distance, &groups.rows, limit, options.max_pairs)?;
    let margins = if two {
        matched_margins(&groups, &found.pairs, options.max_drop)
    } else {
        greedy_margins(labels.len(), &found.pairs, options.max_drop / 2)
    };
    let step = if two { 1 } else { 2 };
    let diameter = diameter(distance)?.distance;
    let mut curve = Vec::with_capacity(margins.len());
    for (k, raw) in margins.into_iter().enumerate() {
        let margin = from_raw(distance, raw);
        curve.push(point(step * k, margin, diameter, labels.len(), groups.rows.len(), options)?);
    }
    let mut best = 0;
    for k in 1..curve.len() {
        if curve[k].bound.value < curve[best].bound.value {
            best = k;
        }
    }
    let complete = found.complete || curve.len() > options.max_drop / step;
    Ok(TradeOffCurve { curve, best, exact: two, complete })
}

fn point(
    dropped: usize,
    margin: f64,
    diameter: f64,
    n: usize,
    classes: usize,
    options: &TradeOffOptions,
) -> Result<TradeOffPoint> {
    let constant = 2.0 / margin;
    let fat = fat_shattering_bound(constant, diameter, options.ddim)?;
    // One function for two classes, one per class for more.
    let functions = if classes == 2 { 1.0 } else { classes as f64 };
    let one = learning_bound(n, dropped.min(n), fat, options.delta / functions)?.best();
    let value = functions * one.value;
    Ok(TradeOffPoint { dropped, margin, constant, bound: Bound { value, vacuous: value >= 1.0 } })
}

/// A raw distance within which more than `drop` rows must be given up, if the nearest neighbours of other classes show
/// one: that many disjoint pairs.
fn enough<D: Distance + ?Sized>(distance: &D, groups: &Groups, drop: usize) -> Result<f64> {
    let indices = indices(distance, groups);
    let mut near: Vec<(f64, usize, usize)> = Vec::with_capacity(distance.len());
    for (k, rows) in groups.rows.iter().enumerate() {
        let mut best = vec![Best::NONE; rows.len()];
        for (_, index) in indices.iter().enumerate().filter(|(j, _)| *j != k) {
            index.search(distance, rows, false, &Nearest, &mut best, None)?;
        }
        near.extend(rows.iter().zip(best).map(|(&i, b)| (-b.score, i, b.at)));
    }
    near.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let mut used = vec![false; distance.len()];
    let mut disjoint = 0;
    for (raw, i, j) in near {
        if !used[i] && !used[j] {
            (used[i], used[j]) = (true, true);
            disjoint += 1;
            if disjoint > drop {
                return Ok(raw);
            }
        }
    }
    Ok(f64::INFINITY)
}

/// The `k`-th element is the distance of the pair that first needs more than `k` rows to be given up.
fn matched_margins(groups: &Groups, pairs: &[Close], drop: usize) -> Vec<f64> {
    let place = places(groups);
    let mut graph = Growing::new(groups.rows[0].len(), groups.rows[1].len());
    let mut margins = Vec::new();
    for pair in pairs {
        let (u, v) = edge(&place, pair);
        if graph.enlarges(u, v) {
            margins.push(pair.raw);
            if graph.size() == drop {
                break;
            }
        }
        graph.add(u, v);
    }
    margins
}

/// For each row of two groups, which group it is in and where.
fn places(groups: &Groups) -> Vec<(usize, usize)> {
    let mut place = vec![(0, 0); groups.rows[0].len() + groups.rows[1].len()];
    for (side, rows) in groups.rows.iter().enumerate() {
        rows.iter().enumerate().for_each(|(k, &i)| place[i] = (side, k));
    }
    place
}

/// A pair as an edge from the first group to the second.
fn edge(place: &[(usize, usize)], pair: &Close) -> (usize, usize) {
    let (a, b) = (place[pair.i as usize], place[pair.j as usize]);
    if a.0 == 0 { (a.1, b.1) } else { (b.1, a.1) }
}

/// The same for any number of classes, by a maximal matching: element `m` is the margin after giving up `2 m` rows.
fn greedy_margins(n: usize, pairs: &[Close], matched: usize) -> Vec<f64> {
    let mut used = vec![false; n];
    let mut margins = Vec::new();
    for pair in pairs {
        let (i, j) = (pair.i as usize, pair.j as usize);
        if !used[i] && !used[j] {
            margins.push(pair.raw);
            if margins.len() > matched {
                break;
            }
            (used[i], used[j]) = (true, true);
        }
    }
    margins
}

/// Rows whose removal leaves a margin.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Cover {
    /// The rows to give up, ascending.
    pub rows: Vec<usize>,
    /// Whether no smaller set would do (two classes), or at most half as many (more).
    pub exact: bool,
}

/// The fewest rows to give up so that no two rows of different classes are nearer than `margin`.
///
/// Two classes: a minimum vertex cover, by a Hopcroft-Karp matching. More: both ends of a maximal matching, of at most
/// twice the size. Holds all pairs nearer than `margin` in memory.
///
/// ```
/// use lipmetric::{Labels, Matrix, lipschitz::{Mahalanobis, trade_off::minimum_cover}};
/// let x = Matrix::from_rows(&[[0.0], [1.0], [1.1], [9.0]]);
/// let y = Labels::from_names(["a", "a", "b", "b"]);
/// let cover = minimum_cover(&Mahalanobis::euclidean(&x).unwrap(), &y, 8.0).unwrap();
/// assert_eq!(cover.rows, [2]);
/// ```
///
/// # Errors
/// If the labels do not fit the sample or are of one class only, `margin` is negative or NaN, or a distance is not a
/// finite number of at least 0.
pub fn minimum_cover<D: Distance + ?Sized>(distance: &D, labels: &Labels, margin: f64) -> Result<Cover> {
    let groups = check_labels(distance, labels)?;
    if margin.is_nan() || margin < 0.0 {
        return Err(Error::parameter("margin", format!("{margin} is not a distance")));
    }
    let limit = if rooted(distance) { margin * margin * (1.0 + 1e-12) } else { margin };
    let mut pairs = close_pairs(distance, &groups.rows, limit, usize::MAX)?.pairs;
    pairs.retain(|p| from_raw(distance, p.raw) < margin);
    let mut rows: Vec<usize> = Vec::new();
    if groups.rows.len() == 2 {
        let place = places(&groups);
        let edges: Vec<(usize, usize)> = pairs.iter().map(|p| edge(&place, p)).collect();
        let cover = minimum_vertex_cover(groups.rows[0].len(), groups.rows[1].len(), &edges);
        for (flags, members) in [(&cover.left, &groups.rows[0]), (&cover.right, &groups.rows[1])] {
            rows.extend(members.iter().zip(flags).filter(|(_, f)| **f).map(|(&i, _)| i));
        }
    } else {
        let mut used = vec![false; labels.len()];
        for p in pairs {
            let (i, j) = (p.i as usize, p.j as usize);
            if !used[i] && !used[j] {
                (used[i], used[j]) = (true, true);
                rows.extend([i, j]);
            }
        }
    }
    rows.sort_unstable();
    Ok(Cover { rows, exact: groups.rows.len() == 2 })
}
