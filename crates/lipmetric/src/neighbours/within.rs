//! All pairs of rows of different classes within a distance.

use super::best::BOX_COLUMNS;
use super::boxes::{Boxes, LEAF};
use super::distance::{Cross, Distance, measured, squared_distance};
use crate::Result;
use rayon::prelude::*;

/// Rows that are asked at a time.
const BATCH: usize = 64;

/// A pair of rows of different classes, ordered by distance and then by row numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Close {
    pub(crate) raw: f64,
    pub(crate) i: u32,
    pub(crate) j: u32,
}

impl Close {
    fn new(a: usize, b: usize, raw: f64) -> Self {
        Self { raw, i: a.min(b) as u32, j: a.max(b) as u32 }
    }

    fn order(a: &Self, b: &Self) -> std::cmp::Ordering {
        a.raw.total_cmp(&b.raw).then((a.i, a.j).cmp(&(b.i, b.j)))
    }
}

/// The pairs found, nearest first.
#[derive(Debug)]
pub(crate) struct ClosePairs {
    pub(crate) pairs: Vec<Close>,
    /// Whether these are all within the limit; if not, they are the nearest of them.
    pub(crate) complete: bool,
}

/// The pairs of rows of different `classes` whose raw distance is at most `limit`; if there are more than `most`, the
/// nearest `most` of them.
pub(crate) fn close_pairs<D: Distance + ?Sized>(
    distance: &D,
    classes: &[Vec<usize>],
    limit: f64,
    most: usize,
) -> Result<ClosePairs> {
    let mut found = ClosePairs { pairs: Vec::new(), complete: true };
    let mut limit = limit;
    for b in (1..classes.len()).filter(|&b| !classes[b].is_empty()) {
        let finder = Finder::new(distance, &classes[b]);
        let earlier: Vec<usize> = classes[..b].iter().flatten().copied().collect();
        for batch in earlier.chunks(BATCH) {
            let parts: Vec<Vec<Close>> =
                batch.par_iter().map(|&q| finder.within(distance, q, limit)).collect::<Result<_>>()?;
            parts.into_iter().for_each(|part| found.pairs.extend(part));
            if found.pairs.len() > most {
                found.complete = false;
                found.pairs.select_nth_unstable_by(most, Close::order);
                found.pairs.truncate(most);
                limit = found.pairs.iter().fold(0.0, |m: f64, c| m.max(c.raw));
            }
        }
    }
    found.pairs.sort_unstable_by(Close::order);
    Ok(found)
}

struct Finder<'a> {
    rows: &'a [usize],
    tree: Option<Boxes>,
}

impl<'a> Finder<'a> {
    fn new<C: Cross + ?Sized>(distance: &C, rows: &'a [usize]) -> Self {
        let coordinates = distance.coordinates().filter(|c| c.points.cols() <= BOX_COLUMNS);
        Self { rows, tree: coordinates.map(|c| Boxes::new(c.points, rows, &vec![0.0; rows.len()])) }
    }

    fn within<D: Distance + ?Sized>(&self, distance: &D, q: usize, limit: f64) -> Result<Vec<Close>> {
        let mut out = Vec::new();
        match (&self.tree, distance.coordinates()) {
            (Some(tree), Some(c)) => {
                let mut waiting = vec![0];
                while let Some(at) = waiting.pop() {
                    if tree.squared_to_box(at, c.queries.row(q)) > limit {
                        continue;
                    }
                    let node = tree.nodes[at];
                    if node.right != 0 {
                        waiting.extend([node.right as usize, at + 1]);
                        continue;
                    }
                    let squared = tree.squared(node.block as usize, c.queries.row(q));
                    let ids = tree.ids(node.block as usize);
                    for lane in 0..LEAF {
                        // Lanes that repeat the last point are not further pairs.
                        let repeated = lane > 0 && ids[lane] == ids[lane - 1];
                        if squared[lane] <= limit && !repeated {
                            out.push(Close::new(q, ids[lane], squared[lane]));
                        }
                    }
                }
            }
            (_, Some(c)) => {
                let near = self.rows.iter().map(|&i| (i, squared_distance(c.queries.row(q), c.points.row(i))));
                out.extend(near.filter(|(_, raw)| *raw <= limit).map(|(i, raw)| Close::new(q, i, raw)));
            }
            (_, None) => {
                for &i in self.rows {
                    let raw = measured(distance, q, i)?;
                    if raw <= limit {
                        out.push(Close::new(q, i, raw));
                    }
                }
            }
        }
        Ok(out)
    }
}
