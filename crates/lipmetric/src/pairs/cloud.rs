use super::{Kind, Points, Source};
use crate::Matrix;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows of a block, at most.
pub(super) const BLOCK: usize = 128;
/// A class smaller than this shares its block with others.
const OWN_BLOCK: usize = 24;

/// Weighted, labelled points, sorted by class.
#[derive(Debug, Clone)]
pub(crate) struct Cloud {
    /// One row per point.
    pub(crate) x: Points,
    /// The class of each point, ascending.
    pub(crate) class: Vec<u32>,
    /// The weight of each point; points of weight zero only bound the diameter.
    pub(crate) weight: Vec<f64>,
    /// Whether every weight is one.
    pub(crate) uniform: bool,
    /// Which row of the user's data each point is.
    pub(crate) origin: Vec<usize>,
    /// Ranges of points, with their class where all have the same.
    pub(super) blocks: Vec<(Range<usize>, Option<u32>)>,
    /// Who else holds the rows that these points are made of, if anyone.
    pub(crate) source: Option<Source>,
    /// Counts the pairs of all passes, over these points and over parts of them.
    pub(super) tally: Tally,
}

/// How many pairs passes were asked about, and at how many of them they had to look.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally(Arc<[AtomicU64; 2]>);

impl Tally {
    pub(super) fn add(&self, asked: u64, looked: u64) {
        self.0[0].fetch_add(asked, Ordering::Relaxed);
        self.0[1].fetch_add(looked, Ordering::Relaxed);
    }
}

impl Cloud {
    /// The points of `x` with a positive weight, sorted by class (and by row within one).
    pub(crate) fn new(x: &Matrix, class: &[u32], weight: &[f64]) -> Self {
        let mut origin: Vec<usize> = (0..x.rows()).filter(|&i| weight[i] > 0.0).collect();
        origin.sort_by_key(|&i| class[i]);
        let class: Vec<u32> = origin.iter().map(|&i| class[i]).collect();
        let weight: Vec<f64> = origin.iter().map(|&i| weight[i]).collect();
        let uniform = weight.iter().all(|&w| w == 1.0);
        let blocks = blocks(&class);
        let (x, tally) = (x.select_rows(&origin).into(), Tally::default());
        Self { x, class, weight, uniform, origin, blocks, source: None, tally }
    }

    /// The listed points, in an order of the classes, with other weights.
    pub(crate) fn part(&self, keep: &[usize], weight: Vec<f64>) -> Self {
        let class: Vec<u32> = keep.iter().map(|&i| self.class[i]).collect();
        let blocks = blocks(&class);
        let origin = keep.iter().map(|&i| self.origin[i]).collect();
        let source = self.source_of_part(keep, &weight, false);
        Self {
            x: self.x.select(keep),
            weight,
            uniform: false,
            origin,
            class,
            blocks,
            source,
            tally: self.tally.clone(),
        }
    }

    /// The points `T x`; `T` is symmetric. Their passes are counted anew.
    pub(crate) fn mapped(&self, map: &Matrix) -> Self {
        Self { x: self.x.mapped(map), source: self.source_of_mapped(map), tally: Tally::default(), ..self.clone() }
    }

    /// About `target` of the points, evenly spaced within each class, at least two of each where there are.
    pub(crate) fn thinned(&self, target: usize) -> Self {
        let keep: Vec<usize> = self.classes().into_iter().flat_map(|class| self.spaced(class, target)).collect();
        let weight: Vec<f64> = keep.iter().map(|&i| self.weight[i]).collect();
        let source = self.source_of_part(&keep, &weight, self.uniform);
        Self { uniform: self.uniform, source, ..self.part(&keep, weight) }
    }

    /// The share of a class, evenly spaced, where about `target` of all points are taken; at least two if there are.
    pub(crate) fn spaced(&self, class: Range<usize>, target: usize) -> impl Iterator<Item = usize> + use<> {
        let size = class.len();
        let take = (size * target).div_ceil(self.len()).max(2).min(size);
        (0..take).map(move |k| class.start + k * size / take)
    }

    /// A smaller problem like this one: about `push` of the points, evenly spaced within each class, keep their weight; of
    /// the others the farthest from the centre, up to `pull` points in all, only bound the diameter.
    pub(crate) fn coarse(&self, push: usize, pull: usize) -> Self {
        let chosen = self.thinned(push);
        let mut pushes = vec![false; self.len()];
        let mut at = 0;
        for i in 0..self.len() {
            if chosen.origin.get(at) == Some(&self.origin[i]) {
                pushes[i] = true;
                at += 1;
            }
        }
        let norm = |i: usize| self.x.row(i).iter().map(|v| v * v).sum::<f64>();
        let mut others: Vec<(f64, usize)> = (0..self.len()).filter(|&i| !pushes[i]).map(|i| (norm(i), i)).collect();
        others.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        others.truncate(pull.saturating_sub(chosen.len()));
        let mut keep: Vec<usize> = (0..self.len()).filter(|&i| pushes[i]).collect();
        keep.extend(others.iter().map(|o| o.1));
        keep.sort_unstable();
        let weight = keep.iter().map(|&i| if pushes[i] { self.weight[i] } else { 0.0 }).collect();
        self.part(&keep, weight)
    }

    /// The points of each class.
    pub(crate) fn classes(&self) -> Vec<Range<usize>> {
        runs(&self.class)
    }

    /// The largest size of each coordinate.
    pub(crate) fn reach(&self) -> Vec<f64> {
        let mut out = vec![0.0f64; self.x.cols()];
        for i in 0..self.len() {
            out.iter_mut().zip(self.x.row(i)).for_each(|(r, v)| *r = r.max(v.abs()));
        }
        out
    }

    /// The mean of some points, whatever their weights.
    pub(crate) fn mean(&self, group: Range<usize>) -> Vec<f64> {
        let mut mean = vec![0.0; self.x.cols()];
        let count = group.len() as f64;
        for i in group {
            mean.iter_mut().zip(self.x.row(i)).for_each(|(m, v)| *m += v / count);
        }
        mean
    }

    /// The same with their weights.
    pub(crate) fn weighted_mean(&self, group: Range<usize>) -> Vec<f64> {
        let total: f64 = self.weight[group.clone()].iter().sum();
        let mut mean = vec![0.0; self.x.cols()];
        for i in group {
            mean.iter_mut().zip(self.x.row(i)).for_each(|(m, v)| *m += self.weight[i] * v / total);
        }
        mean
    }

    /// Which pairs between two blocks have the same label.
    pub(super) fn kind(&self, a: usize, b: usize) -> Kind {
        match (self.blocks[a].1, self.blocks[b].1) {
            (Some(c), Some(d)) if c == d => Kind::Same,
            (Some(_), Some(_)) => Kind::Different,
            _ => Kind::Mixed,
        }
    }

    /// Rows of tiles: one for each block of points.
    pub(crate) fn tile_rows(&self) -> usize {
        self.blocks.len()
    }

    /// Of each point the least value among the points of its block.
    pub(crate) fn least_of_block(&self, values: &[f64]) -> Vec<f64> {
        let mut out = vec![f64::INFINITY; self.len()];
        for (range, _) in &self.blocks {
            let least = values[range.clone()].iter().fold(f64::INFINITY, |m: f64, v| m.min(*v));
            out[range.clone()].fill(least);
        }
        out
    }

    /// The part of the pairs that passes so far had to look at; nothing before the first.
    pub(crate) fn looked_at(&self) -> Option<f64> {
        let [asked, looked] = [0, 1].map(|k| self.tally.0[k].load(Ordering::Relaxed) as f64);
        (asked > 0.0).then(|| looked / asked)
    }

    /// Number of points.
    pub(crate) fn len(&self) -> usize {
        self.class.len()
    }

    /// The weight of a pair: a point of weight `w` counts as `w` equal points.
    pub(crate) fn pair_weight(&self, i: usize, j: usize) -> f64 {
        self.weight[i] * self.weight[j]
    }

    /// The total weight of the different-label pairs and of the same-label pairs.
    pub(crate) fn pair_totals(&self) -> (f64, f64) {
        let classes = self.class.last().map_or(0, |&c| c as usize + 1);
        let (mut sum, mut squares) = (vec![0.0; classes], 0.0);
        for (&c, &w) in self.class.iter().zip(&self.weight) {
            sum[c as usize] += w;
            squares += w * w;
        }
        let total: f64 = sum.iter().sum();
        let same: f64 = sum.iter().map(|s| s * s).sum();
        (0.5 * (total * total - same), 0.5 * (same - squares))
    }
}

/// Ranges of equal classes.
fn runs(class: &[u32]) -> Vec<Range<usize>> {
    let mut start = 0;
    let range = |run: &[u32]| {
        start += run.len();
        start - run.len()..start
    };
    class.chunk_by(|a, b| a == b).map(range).collect()
}

/// Where the blocks of a large class end, after its start.
pub(super) fn ends(class: &Range<usize>) -> Vec<usize> {
    let parts = class.len().div_ceil(BLOCK);
    (0..=parts).map(|k| class.start + k * class.len() / parts).collect()
}

fn blocks(class: &[u32]) -> Vec<(Range<usize>, Option<u32>)> {
    let mut out: Vec<(Range<usize>, Option<u32>)> = Vec::new();
    for Range { start, end } in runs(class) {
        let size = end - start;
        if size >= OWN_BLOCK {
            out.extend(ends(&(start..end)).windows(2).map(|w| (w[0]..w[1], Some(class[start]))));
        } else {
            match out.last_mut() {
                Some((range, label)) if label.is_none() && range.len() + size <= BLOCK => range.end += size,
                _ => out.push((start..end, (size == class.len()).then_some(class[start]))),
            }
        }
    }
    // A small class alone in its block was marked as mixed so that others could join it: that is always correct,
    // since a mixed tile looks at the labels.
    out
}
