//! Pairs of rows that attain something, and the groups that labels make of the rows.

use super::check_labels;
use crate::neighbours::{Best, Cross, Distance, Floor, Index, Nearest, Pair, farthest, from_raw};
use crate::{Labels, Result};

/// The rows of each class, for the classes that have any.
#[derive(Debug)]
pub(crate) struct Groups {
    pub(crate) codes: Vec<u32>,
    pub(crate) rows: Vec<Vec<usize>>,
}

impl Groups {
    pub(crate) fn new(labels: &Labels) -> Self {
        let mut rows = labels.members();
        let codes = (0..rows.len() as u32).filter(|&c| !rows[c as usize].is_empty()).collect();
        rows.retain(|r| !r.is_empty());
        Self { codes, rows }
    }
}

/// The diameter `diam(S, rho)` (Definition 3) with a pair that attains it.
///
/// Exact; of equally far pairs the one with the smallest row numbers. With coordinates, bounds rule out most pairs.
///
/// ```
/// use lipmetric::{Matrix, lipschitz::{Mahalanobis, diameter}};
/// let x = Matrix::from_rows(&[[0.0], [7.0], [3.0]]);
/// let pair = diameter(&Mahalanobis::euclidean(&x).unwrap()).unwrap();
/// assert_eq!((pair.i, pair.j, pair.distance), (0, 1, 7.0));
/// ```
///
/// # Errors
/// If there are fewer than two rows, or a distance is not a finite number of at least 0.
pub fn diameter<D: Distance + ?Sized>(distance: &D) -> Result<Pair> {
    let ids: Vec<usize> = (0..distance.len()).collect();
    farthest(distance, &ids)?.ok_or_else(|| {
        crate::Error::data(format!("a diameter needs two rows at least, and there are {}", distance.len()))
    })
}

/// The diameter of the rows `rows`; `None` stands for fewer than two rows (then the diameter is 0).
///
/// # Errors
/// If a row is out of range, or a distance is not a finite number of at least 0.
pub fn diameter_of<D: Distance + ?Sized>(distance: &D, rows: &[usize]) -> Result<Option<Pair>> {
    let rows = super::check_rows(rows, distance.len())?;
    farthest(distance, &rows)
}

/// The Lipschitz margin `D(S_1, S_-1)` (Definition 2) with a pair that attains it; with more than two classes, the
/// smallest distance between rows of different classes.
///
/// Exact; of equally near pairs the one with the smallest row numbers. A distance of 0 means that two rows of
/// different classes coincide.
///
/// ```
/// use lipmetric::{Labels, Matrix, lipschitz::{Mahalanobis, margin}};
/// let x = Matrix::from_rows(&[[0.0], [1.0], [4.0], [9.0]]);
/// let y = Labels::from_names(["a", "a", "b", "b"]);
/// let pair = margin(&Mahalanobis::euclidean(&x).unwrap(), &y).unwrap();
/// assert_eq!((pair.i, pair.j, pair.distance), (1, 2, 3.0));
/// ```
///
/// # Errors
/// If the labels are of another number of rows or of one class only, or a distance is not a finite number of at
/// least 0.
pub fn margin<D: Distance + ?Sized>(distance: &D, labels: &Labels) -> Result<Pair> {
    let groups = check_labels(distance, labels)?;
    let floor = Floor::new(f64::NEG_INFINITY);
    let mut best = Near::NONE;
    let indices = indices(distance, &groups);
    for a in 0..groups.rows.len() {
        for b in 0..a {
            best = best.min(closest(distance, &groups, &indices, (a, b), &floor)?);
        }
    }
    best.pair(distance).ok_or_else(no_pair)
}

/// The margin between every two classes, as positions in `groups`, and the smallest of them.
#[derive(Debug)]
pub(crate) struct Between {
    pub(crate) pairs: Vec<(usize, usize, Pair)>,
    pub(crate) nearest: Pair,
}

pub(crate) fn margins_between<D: Distance + ?Sized>(distance: &D, groups: &Groups) -> Result<Between> {
    let indices = indices(distance, groups);
    let mut pairs = Vec::new();
    let mut nearest = Near::NONE;
    for a in 0..groups.rows.len() {
        for b in a + 1..groups.rows.len() {
            let floor = Floor::new(f64::NEG_INFINITY);
            let near = closest(distance, groups, &indices, (a, b), &floor)?;
            nearest = nearest.min(near);
            pairs.extend(near.pair(distance).map(|pair| (a, b, pair)));
        }
    }
    let nearest = nearest.pair(distance).ok_or_else(no_pair)?;
    Ok(Between { pairs, nearest })
}

fn no_pair() -> crate::Error {
    crate::Error::data("no two rows of different classes")
}

pub(crate) fn indices<C: Cross + ?Sized>(distance: &C, groups: &Groups) -> Vec<Index> {
    groups.rows.iter().map(|rows| Index::plain(distance, rows.clone())).collect()
}

/// A pair with its raw distance; the smaller one wins, then the smaller row numbers. Distances are compared before
/// the root is taken: two that differ may have the same root.
#[derive(Debug, Clone, Copy)]
struct Near {
    raw: f64,
    i: usize,
    j: usize,
}

impl Near {
    const NONE: Self = Self { raw: f64::INFINITY, i: usize::MAX, j: usize::MAX };

    fn min(self, other: Self) -> Self {
        let wins = other.raw < self.raw || (other.raw == self.raw && (other.i, other.j) < (self.i, self.j));
        if wins { other } else { self }
    }

    fn pair<C: Cross + ?Sized>(self, distance: &C) -> Option<Pair> {
        (self.j != usize::MAX).then(|| Pair { i: self.i, j: self.j, distance: from_raw(distance, self.raw) })
    }
}

/// The nearest pair between two groups, unless the floor shows that another is nearer.
fn closest<D: Distance + ?Sized>(
    distance: &D,
    groups: &Groups,
    indices: &[Index],
    (a, b): (usize, usize),
    floor: &Floor,
) -> Result<Near> {
    // The smaller group asks, the larger one is searched.
    let (ask, answer) = if groups.rows[a].len() <= groups.rows[b].len() { (a, b) } else { (b, a) };
    let queries = &groups.rows[ask];
    let mut best = vec![Best::NONE; queries.len()];
    indices[answer].search(distance, queries, false, &Nearest, &mut best, Some(floor))?;
    let found = queries.iter().zip(best).filter_map(|(&q, best)| Some((q, best.found()?)));
    Ok(found
        .fold(Near::NONE, |near, (q, best)| near.min(Near { raw: -best.score, i: q.min(best.at), j: q.max(best.at) })))
}
