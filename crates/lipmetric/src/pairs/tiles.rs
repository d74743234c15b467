use super::Cloud;
use crate::{Matrix, linalg};
use rayon::prelude::*;
use std::ops::Range;

/// Points mapped by a factor, augmented so that one product of two rows is a squared distance.
#[derive(Debug, Clone)]
pub(crate) struct Embedding {
    left: Matrix,
    right: Matrix,
}

impl Embedding {
    /// The points of `cloud` mapped by `x -> L^T x` with `L` of size features x rank, so that `M = L L^T`.
    pub(crate) fn new(cloud: &Cloud, factor: &Matrix) -> Self {
        let z = linalg::product(&cloud.x, factor);
        let k = z.cols();
        let mut left = Matrix::zeros(z.rows(), k + 2);
        let mut right = Matrix::zeros(z.rows(), k + 2);
        for i in 0..z.rows() {
            let norm = linalg::dot(z.row(i), z.row(i));
            let (l, r) = (left.row_mut(i), right.row_mut(i));
            for (a, &v) in z.row(i).iter().enumerate() {
                l[a] = v;
                r[a] = -2.0 * v;
            }
            l[k] = norm;
            l[k + 1] = 1.0;
            r[k] = 1.0;
            r[k + 1] = norm;
        }
        Self { left, right }
    }

    /// The points of `cloud` under `rho = (x - y)^T M (x - y)` with any symmetric `M`, be it positive or not.
    pub(crate) fn symmetric(cloud: &Cloud, m: &Matrix) -> Self {
        let y = linalg::product(&cloud.x, m);
        let k = y.cols();
        let mut left = Matrix::zeros(y.rows(), k + 2);
        let mut right = Matrix::zeros(y.rows(), k + 2);
        for i in 0..y.rows() {
            let norm = linalg::dot(y.row(i), cloud.x.row(i));
            let (l, r) = (left.row_mut(i), right.row_mut(i));
            l[..k].copy_from_slice(y.row(i));
            r[..k].iter_mut().zip(cloud.x.row(i)).for_each(|(r, v)| *r = -2.0 * v);
            l[k] = norm;
            l[k + 1] = 1.0;
            r[k] = 1.0;
            r[k + 1] = norm;
        }
        Self { left, right }
    }

    /// The squared distance of two points, from their difference (no cancellation).
    pub(crate) fn squared_distance(&self, i: usize, j: usize) -> f64 {
        let k = self.left.cols() - 2;
        let left = self.left.row(i)[..k].iter().zip(&self.left.row(j)[..k]);
        let right = self.right.row(i)[..k].iter().zip(&self.right.row(j)[..k]);
        -0.5 * left.zip(right).map(|((a, b), (c, d))| (a - b) * (c - d)).sum::<f64>()
    }

    /// The squared distances between two ranges of points, row by row.
    pub(super) fn distances(&self, out: &mut [f64], left: &Range<usize>, right: &Range<usize>) {
        let k = self.left.cols();
        let (a, b) = (&self.left.as_slice()[left.start * k..], &self.right.as_slice()[right.start * k..]);
        linalg::gemm_nt(out, a, b, left.len(), right.len(), k);
    }
}

/// Which pairs of a tile have the same label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// All.
    Same,
    /// None.
    Different,
    /// Some: the labels tell.
    Mixed,
}

/// Pairs between two blocks of points.
#[derive(Debug)]
pub(crate) struct Tile<'a> {
    /// First point of the left block.
    pub(crate) i0: usize,
    /// First point of the right block.
    pub(crate) j0: usize,
    /// Points of the left block.
    pub(crate) rows: usize,
    /// Points of the right block.
    pub(crate) cols: usize,
    /// Which pairs have the same label.
    pub(crate) kind: Kind,
    rho: &'a [Vec<f64>],
}

impl Tile<'_> {
    /// Squared distances under embedding `which` of point `i0 + a` to the points `from..` of the right block, where
    /// `from` (returned first) skips what is not an unordered pair.
    pub(crate) fn row(&self, which: usize, a: usize) -> (usize, &[f64]) {
        let from = if self.i0 == self.j0 { a + 1 } else { 0 };
        (from, &self.rho[which][a * self.cols + from..(a + 1) * self.cols])
    }
}

/// Applies `f` to every tile that holds a pair of the wanted sort, and returns the results in the tiles' order.
pub(crate) fn map_tiles<A: Send>(
    cloud: &Cloud,
    embeddings: &[&Embedding],
    wanted: impl Fn(Kind) -> bool,
    f: impl Fn(&Tile<'_>) -> A + Sync,
) -> Vec<A> {
    let mut tiles = Vec::new();
    for (a, (_, first)) in cloud.blocks.iter().enumerate() {
        for (b, (_, second)) in cloud.blocks.iter().enumerate().skip(a) {
            let kind = match (first, second) {
                (Some(c), Some(d)) if c == d => Kind::Same,
                (Some(_), Some(_)) => Kind::Different,
                _ => Kind::Mixed,
            };
            if wanted(kind) {
                tiles.push((a, b, kind));
            }
        }
    }
    let run = |buffers: &mut Vec<Vec<f64>>, &(a, b, kind): &(usize, usize, Kind)| {
        let (left, right) = (cloud.blocks[a].0.clone(), cloud.blocks[b].0.clone());
        for (buffer, embedding) in buffers.iter_mut().zip(embeddings) {
            let k = embedding.left.cols();
            buffer.resize(left.len() * right.len(), 0.0);
            linalg::gemm_nt(
                buffer,
                &embedding.left.as_slice()[left.start * k..],
                &embedding.right.as_slice()[right.start * k..],
                left.len(),
                right.len(),
                k,
            );
        }
        f(&Tile { i0: left.start, j0: right.start, rows: left.len(), cols: right.len(), kind, rho: buffers })
    };
    let buffers = || vec![Vec::new(); embeddings.len()];
    if tiles.len() < 24 {
        let mut scratch = buffers();
        return tiles.iter().map(|t| run(&mut scratch, t)).collect();
    }
    tiles.par_iter().with_min_len(4).map_init(buffers, run).collect()
}
