//! For each query, the sample point of the highest score: the one search behind margins, constants and extensions.
//!
//! A score falls with the distance. In few dimensions a [`Boxes`] rules out boxes; in many, a tile of inner products
//! (one GEMM) screens the pairs, with a bound of its rounding error, and only the pairs that may win are computed
//! from their differences; a distance without coordinates is asked pair by pair. The three give the same answers bit for
//! bit, and for any number of threads: ties go to the smallest row number, and nothing is ruled out on a tie.

use super::boxes::{Boxes, LEAF, Node};
use super::distance::{Coordinates, Cross, measured, squared_distance};
use crate::{Error, Matrix, Result, linalg};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// Up to this many coordinates boxes rule out most pairs; above, tiles of inner products are faster.
pub(crate) const BOX_COLUMNS: usize = 16;
/// Queries per task: the number does not depend on the threads.
const QUERIES: usize = 64;
/// Points per tile of inner products.
const POINTS: usize = 256;

/// What is maximised. `raw` is the squared distance where there are coordinates, the distance itself elsewhere.
pub(crate) trait Score: Sync {
    /// The highest score that a point with a value in `lo..=hi` can have for query `q` from the distance `raw` on.
    /// With `lo == hi` it is that point's score. NaN counts as a score that never wins.
    fn bound(&self, q: usize, lo: f64, hi: f64, raw: f64) -> f64;
}

/// The nearest point wins.
pub(crate) struct Nearest;

impl Score for Nearest {
    #[inline(always)]
    fn bound(&self, _: usize, _: f64, _: f64, raw: f64) -> f64 {
        -raw
    }
}

/// The best point so far for one query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Best {
    pub(crate) score: f64,
    pub(crate) at: usize,
}

impl Best {
    pub(crate) const NONE: Self = Self { score: f64::NEG_INFINITY, at: usize::MAX };

    #[inline(always)]
    pub(crate) fn offer(&mut self, score: f64, at: usize) {
        if score > self.score || (score == self.score && at < self.at) {
            *self = Self { score, at };
        }
    }

    pub(crate) fn found(self) -> Option<Self> {
        (self.at != usize::MAX).then_some(self)
    }
}

/// A score that all queries share: what cannot reach it need not be looked at. It only ever rises.
pub(crate) struct Floor(AtomicU64);

impl Floor {
    pub(crate) fn new(score: f64) -> Self {
        Self(AtomicU64::new(key(score)))
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> f64 {
        let k = self.0.load(Ordering::Relaxed);
        f64::from_bits(if k >> 63 == 1 { k & !(1 << 63) } else { !k })
    }

    #[inline(always)]
    pub(crate) fn raise(&self, score: f64) {
        self.0.fetch_max(key(score), Ordering::Relaxed);
    }
}

/// Bits whose order is that of the numbers.
fn key(v: f64) -> u64 {
    let bits = (v + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | (1 << 63) }
}

/// A part of the sample, each point with a value, made ready for searches.
#[derive(Debug)]
pub(crate) struct Index {
    ids: Vec<usize>,
    values: Vec<f64>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Boxes(Boxes),
    Tiles(Tiles),
    Plain,
}

/// Centred copies of the points: inner products of centred rows lose the least to cancellation.
#[derive(Debug)]
struct Tiles {
    mean: Vec<f64>,
    centred: Matrix,
    norms: Vec<f64>,
}

impl Tiles {
    fn new(points: &Matrix, ids: &[usize]) -> Self {
        let mut mean = vec![0.0; points.cols()];
        for &i in ids {
            for (m, v) in mean.iter_mut().zip(points.row(i)) {
                *m += v / ids.len() as f64;
            }
        }
        let mut centred = points.select_rows(ids);
        for i in 0..ids.len() {
            centred.row_mut(i).iter_mut().zip(&mean).for_each(|(v, m)| *v -= m);
        }
        let norms = (0..ids.len()).map(|i| norm2(centred.row(i))).collect();
        Self { mean, centred, norms }
    }
}

pub(crate) fn norm2(row: &[f64]) -> f64 {
    row.iter().map(|v| v * v).sum()
}

/// `|g_a + g_b - 2 <a, b> - ||x - y||^2| <= screen_error(p) (g_a + g_b)` for centred rows `a`, `b` of `x`, `y`:
/// twice what the rounding of the centring, of the norms and of an inner product of `p` terms can add up to.
pub(crate) fn screen_error(p: usize) -> f64 {
    4.0 * (p + 16) as f64 * f64::EPSILON
}

impl Index {
    /// The points `ids` of the sample behind `cross`, with the value `values[k]` for point `ids[k]`.
    pub(crate) fn new<C: Cross + ?Sized>(cross: &C, ids: Vec<usize>, values: Vec<f64>) -> Self {
        let kind = match cross.coordinates() {
            None => Kind::Plain,
            Some(c) if c.points.cols() <= BOX_COLUMNS => Kind::Boxes(Boxes::new(c.points, &ids, &values)),
            Some(c) => Kind::Tiles(Tiles::new(c.points, &ids)),
        };
        Self { ids, values, kind }
    }

    /// Points without values.
    pub(crate) fn plain<C: Cross + ?Sized>(cross: &C, ids: Vec<usize>) -> Self {
        let values = vec![0.0; ids.len()];
        Self::new(cross, ids, values)
    }

    /// Improves `best[k]` for query `queries[k]` by the points of this index, leaving out the query itself where
    /// `skip_self` (then queries and points are the same sample). With a `floor`, points that cannot reach it may be
    /// passed over, and the floor is raised.
    pub(crate) fn search<C: Cross + ?Sized, S: Score>(
        &self,
        cross: &C,
        queries: &[usize],
        skip_self: bool,
        score: &S,
        best: &mut [Best],
        floor: Option<&Floor>,
    ) -> Result<()> {
        let task = Task { index: self, skip_self, score, floor };
        queries.par_chunks(QUERIES).zip(best.par_chunks_mut(QUERIES)).try_for_each(|(queries, best)| {
            match (&self.kind, cross.coordinates()) {
                (Kind::Boxes(tree), Some(c)) => {
                    pulp::Arch::new().dispatch(Walk { task, tree, c, queries, best });
                    Ok(())
                }
                (Kind::Tiles(tiles), Some(c)) => {
                    task.tiles(tiles, c, queries, best);
                    Ok(())
                }
                (Kind::Plain, None) => task.each(cross, queries, best),
                _ => Err(Error::data("the queries are not measured by the same distance as the sample")),
            }
        })
    }
}

struct Task<'a, S> {
    index: &'a Index,
    skip_self: bool,
    score: &'a S,
    floor: Option<&'a Floor>,
}

impl<S> Clone for Task<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Task<'_, S> {}

struct Walk<'a, 'b, S> {
    task: Task<'a, S>,
    tree: &'a Boxes,
    c: Coordinates<'a>,
    queries: &'a [usize],
    best: &'b mut [Best],
}

impl<S: Score> pulp::NullaryFnOnce for Walk<'_, '_, S> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (&q, best) in self.queries.iter().zip(self.best) {
            self.task.walk(self.tree, self.c.queries.row(q), q, best);
        }
    }
}

impl<S: Score> Task<'_, S> {
    #[inline(always)]
    fn level(&self, best: &Best) -> f64 {
        self.floor.map_or(best.score, |f| f.get().max(best.score))
    }

    #[inline(always)]
    fn offer(&self, best: &mut Best, q: usize, at: usize, score: f64) {
        if self.skip_self && at == q {
            return;
        }
        best.offer(score, at);
        if let Some(floor) = self.floor {
            floor.raise(best.score);
        }
    }

    #[inline(always)]
    fn walk(&self, tree: &Boxes, row: &[f64], q: usize, best: &mut Best) {
        if tree.nodes.is_empty() {
            return;
        }
        // A path has at most one waiting sibling per level, and a tree of 2^58 leaves does not fit any memory.
        let mut waiting = [(0_u32, f64::INFINITY); 64];
        let mut depth = 1;
        while depth > 0 {
            depth -= 1;
            let (at, bound) = waiting[depth];
            if bound < self.level(best) {
                continue;
            }
            let node = tree.nodes[at as usize];
            if node.right == 0 {
                self.leaf(tree, node.block as usize, row, q, best);
                continue;
            }
            let mut near = (at + 1, self.node_bound(tree, at + 1, row, q));
            let mut far = (node.right, self.node_bound(tree, node.right, row, q));
            if far.1 > near.1 {
                std::mem::swap(&mut near, &mut far);
            }
            waiting[depth] = far;
            waiting[depth + 1] = near;
            depth += 2;
        }
    }

    #[inline(always)]
    fn node_bound(&self, tree: &Boxes, node: u32, row: &[f64], q: usize) -> f64 {
        let Node { lo, hi, .. } = tree.nodes[node as usize];
        self.score.bound(q, lo, hi, tree.squared_to_box(node as usize, row))
    }

    #[inline(always)]
    fn leaf(&self, tree: &Boxes, block: usize, row: &[f64], q: usize, best: &mut Best) {
        let mut scores = tree.squared(block, row);
        let mut top = f64::NEG_INFINITY;
        for (s, &v) in scores.iter_mut().zip(tree.values(block)) {
            *s = self.score.bound(q, v, v, *s);
            top = if *s > top { *s } else { top };
        }
        if top < self.level(best) {
            return;
        }
        for lane in 0..LEAF {
            if scores[lane] >= best.score {
                self.offer(best, q, tree.ids(block)[lane], scores[lane]);
            }
        }
    }

    fn tiles(&self, tiles: &Tiles, c: Coordinates<'_>, queries: &[usize], best: &mut [Best]) {
        let (p, points) = (c.queries.cols(), &self.index.ids);
        let mut centred = c.queries.select_rows(queries);
        for k in 0..queries.len() {
            centred.row_mut(k).iter_mut().zip(&tiles.mean).for_each(|(v, m)| *v -= m);
        }
        let mut products = vec![0.0; queries.len() * POINTS.min(points.len())];
        for start in (0..points.len()).step_by(POINTS) {
            let end = points.len().min(start + POINTS);
            let block = &tiles.centred.as_slice()[start * p..end * p];
            linalg::gemm_nt(&mut products, centred.as_slice(), block, queries.len(), end - start, p);
            for (k, &q) in queries.iter().enumerate() {
                let products = &products[k * (end - start)..(k + 1) * (end - start)];
                let norm = norm2(centred.row(k));
                for (at, product) in (start..end).zip(products) {
                    let sum = norm + tiles.norms[at];
                    let least = (sum - 2.0 * product - screen_error(p) * sum).max(0.0);
                    let v = self.index.values[at];
                    if self.score.bound(q, v, v, least) >= self.level(&best[k]) {
                        let raw = squared_distance(c.points.row(points[at]), c.queries.row(q));
                        self.offer(&mut best[k], q, points[at], self.score.bound(q, v, v, raw));
                    }
                }
            }
        }
    }

    fn each<C: Cross + ?Sized>(&self, cross: &C, queries: &[usize], best: &mut [Best]) -> Result<()> {
        for (&q, best) in queries.iter().zip(best) {
            for (&i, &v) in self.index.ids.iter().zip(&self.index.values) {
                let raw = measured(cross, q, i)?;
                self.offer(best, q, i, self.score.bound(q, v, v, raw));
            }
        }
        Ok(())
    }
}
