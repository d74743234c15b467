//! The farthest pair, exactly, without looking at every pair.
//!
//! A few sweeps from the centroid give a long pair. A point whose distance from the centroid, added to the largest
//! such distance, is shorter cannot be an end of the diameter and leaves. For the rest, what is far from a point is near
//! its mirror image at the centroid: boxes of a tree are ruled out by that in few dimensions, and in many, tiles of
//! inner products screen the pairs of blocks that the radii leave.

use super::best::{BOX_COLUMNS, Floor, norm2, screen_error};
use super::boxes::{Boxes, LEAF};
use super::distance::{Coordinates, Cross, Distance, from_raw, measured, squared_distance};
use super::found::Pair;
use crate::{Matrix, Result, linalg};
use rayon::prelude::*;

/// Points per tile of inner products.
const POINTS: usize = 256;
/// Rows per task where every pair is visited.
const ROWS: usize = 16;

/// The farthest pair among the points `ids`; `None` if there are fewer than two. Of equally far pairs it is the one
/// with the smallest row numbers.
pub(crate) fn farthest<D: Distance + ?Sized>(distance: &D, ids: &[usize]) -> Result<Option<Pair>> {
    if ids.len() < 2 {
        return Ok(None);
    }
    let best = match distance.coordinates() {
        None => each(distance, ids)?,
        Some(c) => by_blocks(c, ids),
    };
    Ok(Some(Pair { i: best.i, j: best.j, distance: from_raw(distance, best.raw) }))
}

/// A pair with its raw distance; the larger one wins, then the smaller row numbers.
#[derive(Debug, Clone, Copy)]
struct Far {
    raw: f64,
    i: usize,
    j: usize,
}

impl Far {
    fn new(a: usize, b: usize, raw: f64) -> Self {
        Self { raw, i: a.min(b), j: a.max(b) }
    }

    fn max(self, other: Self) -> Self {
        let wins = other.raw > self.raw || (other.raw == self.raw && (other.i, other.j) < (self.i, self.j));
        if wins { other } else { self }
    }
}

fn each<C: Cross + ?Sized>(distance: &C, ids: &[usize]) -> Result<Far> {
    let first = Far::new(ids[0], ids[1], measured(distance, ids[0], ids[1])?);
    let starts: Vec<usize> = (0..ids.len()).step_by(ROWS).collect();
    starts
        .into_par_iter()
        .map(|start| {
            let mut best = first;
            for a in start..ids.len().min(start + ROWS) {
                for b in a + 1..ids.len() {
                    best = best.max(Far::new(ids[a], ids[b], measured(distance, ids[a], ids[b])?));
                }
            }
            Ok(best)
        })
        .try_reduce(|| first, |a, b| Ok(a.max(b)))
}

fn by_blocks(c: Coordinates<'_>, ids: &[usize]) -> Far {
    let rows = c.points;
    let centre = centroid(rows, ids);
    let radii: Vec<f64> = ids.par_iter().map(|&i| squared_distance(rows.row(i), &centre).sqrt()).collect();
    let start = sweep(rows, ids, &radii);
    let largest = radii.iter().fold(0.0_f64, |m, &r| m.max(r));
    let slack = 1.0 + screen_error(rows.cols());
    let reach = start.raw.sqrt();
    let mut kept: Vec<(usize, f64)> =
        ids.iter().copied().zip(radii).filter(|(_, r)| (r + largest) * slack >= reach).collect();
    // Far points first: the long pairs are met early, and a block's radius falls along the list.
    kept.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let (ids, radii): (Vec<usize>, Vec<f64>) = kept.into_iter().unzip();
    if rows.cols() <= BOX_COLUMNS {
        by_tree(rows, &ids, &radii, &centre, start)
    } else {
        by_tiles(rows, &ids, &radii, &centre, start, slack)
    }
}

fn centroid(rows: &Matrix, ids: &[usize]) -> Vec<f64> {
    let mut centre = vec![0.0; rows.cols()];
    for &i in ids {
        centre.iter_mut().zip(rows.row(i)).for_each(|(m, v)| *m += v / ids.len() as f64);
    }
    centre
}

/// A long pair: from the point farthest from the centroid to the point farthest from it, and so on.
fn sweep(rows: &Matrix, ids: &[usize], radii: &[f64]) -> Far {
    let mut from = 0;
    for k in 1..ids.len() {
        if radii[k] > radii[from] {
            from = k;
        }
    }
    let mut best = Far::new(ids[0], ids[1], squared_distance(rows.row(ids[0]), rows.row(ids[1])));
    let mut from = ids[from];
    for _ in 0..4 {
        let nothing = Far { raw: -1.0, i: usize::MAX, j: usize::MAX };
        let next = ids
            .par_iter()
            .filter(|&&i| i != from)
            .map(|&i| Far::new(from, i, squared_distance(rows.row(from), rows.row(i))))
            .reduce(|| nothing, Far::max);
        best = best.max(next);
        from = if next.i == from { next.j } else { next.i };
    }
    best
}

fn by_tree(rows: &Matrix, ids: &[usize], radii: &[f64], centre: &[f64], start: Far) -> Far {
    let centred = centred(rows, ids, centre);
    let places: Vec<usize> = (0..ids.len()).collect();
    let tree = Boxes::new(&centred, &places, radii);
    let floor = Floor::new(start.raw);
    let error = screen_error(rows.cols());
    let walk = Walk { rows, ids, radii, centred: &centred, tree: &tree, floor: &floor, error };
    let chunks: Vec<&[usize]> = places.chunks(ROWS).collect();
    chunks
        .into_par_iter()
        .map(|places| pulp::Arch::new().dispatch(WalkFrom { walk, places, start }))
        .reduce(|| start, Far::max)
}

#[derive(Clone, Copy)]
struct Walk<'a> {
    rows: &'a Matrix,
    ids: &'a [usize],
    radii: &'a [f64],
    centred: &'a Matrix,
    tree: &'a Boxes,
    floor: &'a Floor,
    error: f64,
}

struct WalkFrom<'a> {
    walk: Walk<'a>,
    places: &'a [usize],
    start: Far,
}

impl pulp::NullaryFnOnce for WalkFrom<'_> {
    type Output = Far;

    #[inline(always)]
    fn call(self) -> Far {
        let mut best = self.start;
        let mut mirrored = vec![0.0; self.walk.rows.cols()];
        for &from in self.places {
            mirrored.iter_mut().zip(self.walk.centred.row(from)).for_each(|(m, v)| *m = -v);
            self.walk.from(from, &mirrored, &mut best);
        }
        best
    }
}

impl Walk<'_> {
    /// An upper bound of the squared distance to the points of a node. With the origin in the centroid,
    /// `||x - q||^2 = 2 ||x||^2 + 2 ||q||^2 - ||x + q||^2`: a point far from `q` is near its mirror image.
    #[inline(always)]
    fn bound(&self, node: usize, radius: f64, mirrored: &[f64]) -> f64 {
        let largest = self.tree.nodes[node].hi;
        let norms = 2.0 * (largest * largest + radius * radius);
        norms - self.tree.squared_to_box(node, mirrored) + self.error * norms
    }

    #[inline(always)]
    fn from(&self, from: usize, mirrored: &[f64], best: &mut Far) {
        let (tree, row, radius) = (self.tree, self.centred.row(from), self.radii[from]);
        // As in a search for the nearest: one waiting sibling per level.
        let mut waiting = [(0_usize, f64::INFINITY); 64];
        let mut depth = 1;
        while depth > 0 {
            depth -= 1;
            let (at, bound) = waiting[depth];
            if bound < self.floor.get() {
                continue;
            }
            let node = tree.nodes[at];
            if node.right == 0 {
                self.leaf(node.block as usize, from, row, best);
                continue;
            }
            let mut far = (at + 1, self.bound(at + 1, radius, mirrored));
            let mut near = (node.right as usize, self.bound(node.right as usize, radius, mirrored));
            if near.1 > far.1 {
                std::mem::swap(&mut near, &mut far);
            }
            waiting[depth] = near;
            waiting[depth + 1] = far;
            depth += 2;
        }
    }

    /// Screens by the centred rows, and computes from the rows themselves what may win.
    #[inline(always)]
    fn leaf(&self, block: usize, from: usize, row: &[f64], best: &mut Far) {
        let squared = self.tree.squared(block, row);
        let norm = self.radii[from] * self.radii[from];
        for lane in 0..LEAF {
            let to = self.tree.ids(block)[lane];
            let error = self.error * (norm + self.radii[to] * self.radii[to]);
            if squared[lane] + error >= self.floor.get() && to != from {
                let raw = squared_distance(self.rows.row(self.ids[from]), self.rows.row(self.ids[to]));
                *best = best.max(Far::new(self.ids[from], self.ids[to], raw));
                self.floor.raise(best.raw);
            }
        }
    }
}

fn centred(rows: &Matrix, ids: &[usize], centre: &[f64]) -> Matrix {
    let mut centred = rows.select_rows(ids);
    for k in 0..ids.len() {
        centred.row_mut(k).iter_mut().zip(centre).for_each(|(v, m)| *v -= m);
    }
    centred
}

fn by_tiles(rows: &Matrix, ids: &[usize], radii: &[f64], centre: &[f64], start: Far, slack: f64) -> Far {
    let p = rows.cols();
    let centred = centred(rows, ids, centre);
    let norms: Vec<f64> = (0..ids.len()).map(|k| norm2(centred.row(k))).collect();
    let error = screen_error(p);
    let floor = Floor::new(start.raw);
    let starts: Vec<usize> = (0..ids.len()).step_by(POINTS).collect();
    starts
        .par_iter()
        .map(|&a| {
            let a_end = ids.len().min(a + POINTS);
            let mut products = vec![0.0; POINTS * POINTS];
            let mut best = start;
            for b in (a..ids.len()).step_by(POINTS) {
                let b_end = ids.len().min(b + POINTS);
                let reach = (radii[a] + radii[b]) * slack;
                if reach * reach * slack < floor.get() {
                    break;
                }
                let (left, right) = (&centred.as_slice()[a * p..a_end * p], &centred.as_slice()[b * p..b_end * p]);
                linalg::gemm_nt(&mut products, left, right, a_end - a, b_end - b, p);
                for i in a..a_end {
                    let products = &products[(i - a) * (b_end - b)..(i - a + 1) * (b_end - b)];
                    for (j, product) in (b..b_end).zip(products) {
                        let sum = norms[i] + norms[j];
                        if sum - 2.0 * product + error * sum >= floor.get() && i != j {
                            let raw = squared_distance(rows.row(ids[i]), rows.row(ids[j]));
                            best = best.max(Far::new(ids[i], ids[j], raw));
                            floor.raise(best.raw);
                        }
                    }
                }
            }
            best
        })
        .reduce(|| start, Far::max)
}
