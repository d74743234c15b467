//! Sums over rows: the dense part `sum h v v^T` of the Newton matrix, residuals, products.

use super::State;
use super::rows::Rows;
use crate::Matrix;
use crate::linalg::{self, pack_lower, packed_len};
use crate::pairs::{Cloud, Differences, Points, weighted_outer};
use rayon::prelude::*;
use std::ops::Range;

/// Rows that are expanded at a time.
const CHUNK: usize = 512;
/// Columns of a block of the Newton matrix.
const COLUMNS: usize = 192;
/// Rows per partial sum while the matrix is small.
const GROUP: usize = 2048;

const SQRT_2: f64 = std::f64::consts::SQRT_2;

/// The rows in the coordinates of the current scaling.
pub(super) struct Scaled<'a> {
    pub(super) rows: &'a Rows,
    pub(super) x: Points,
    pub(super) sums: Vec<Matrix>,
}

impl<'a> Scaled<'a> {
    pub(super) fn new(cloud: &Cloud, state: &'a State, g: &Matrix) -> Self {
        Self {
            rows: &state.rows,
            x: cloud.x.mapped(g),
            sums: state.rows.sums.iter().map(|a| linalg::congruence(a, g)).collect(),
        }
    }

    /// Writes `f * (+-A, b)` of row `k`, packed.
    pub(super) fn expand(&self, k: usize, f: f64, d: &mut [f64], out: &mut [f64]) {
        let p = self.x.cols();
        let q = packed_len(p);
        let signed = f * self.rows.sign(k);
        match self.rows.pair(k) {
            Some((i, j)) => {
                self.x.difference(i, j, d);
                let mut at = 0;
                for r in 0..p {
                    let t = signed * d[r] * SQRT_2;
                    for (o, &v) in out[at..at + r].iter_mut().zip(&d[..r]) {
                        *o = t * v;
                    }
                    out[at + r] = signed * d[r] * d[r];
                    at += r + 1;
                }
            }
            None => {
                pack_lower(&self.sums[self.rows.j[k] as usize], &mut out[..q]);
                out[..q].iter_mut().for_each(|v| *v *= signed);
            }
        }
        out[q] = f * self.rows.b[k];
    }

    /// `<+-A_k, D> + b_k t` for every row.
    pub(super) fn products(&self, d: &Matrix, t: f64) -> Vec<f64> {
        let p = self.x.cols();
        let part = |range: Range<usize>| {
            let (mut diff, mut mapped) = (vec![0.0; range.len() * p], vec![0.0; range.len() * p]);
            for (k, row) in range.clone().zip(diff.chunks_exact_mut(p)) {
                if let Some((i, j)) = self.rows.pair(k) {
                    self.x.difference(i, j, row);
                }
            }
            linalg::gemm_nn(&mut mapped, &diff, d.as_slice(), range.len(), p, p);
            range
                .zip(diff.chunks_exact(p).zip(mapped.chunks_exact(p)))
                .map(|(k, (a, b))| {
                    let value = match self.rows.pair(k) {
                        Some(_) => linalg::dot(a, b),
                        None => linalg::inner(&self.sums[self.rows.j[k] as usize], d),
                    };
                    self.rows.sign(k) * value + self.rows.b[k] * t
                })
                .collect::<Vec<f64>>()
        };
        let n = self.rows.len();
        let chunks = n.div_ceil(CHUNK);
        let range = |c: usize| c * CHUNK..((c + 1) * CHUNK).min(n);
        if n * p * p < 400_000 {
            return (0..chunks).flat_map(|c| part(range(c))).collect();
        }
        (0..chunks).into_par_iter().flat_map_iter(|c| part(range(c))).collect()
    }

    /// `sum of coefficient_k (+-A_k, b_k)`, packed.
    pub(super) fn combination(&self, coefficient: &[f64]) -> Vec<f64> {
        let p = self.x.cols();
        let q = packed_len(p);
        let n = self.rows.len();
        let part = |range: Range<usize>| {
            let pairs =
                range.filter_map(|k| self.rows.pair(k).map(|(i, j)| (i, j, coefficient[k] * self.rows.sign(k))));
            weighted_outer(&self.x, pairs)
        };
        let groups = n.div_ceil(GROUP).max(1);
        let range = |g: usize| g * n / groups..(g + 1) * n / groups;
        let mut total = Matrix::zeros(p, p);
        if groups == 1 {
            total = part(0..n);
        } else {
            let parts: Vec<Matrix> = (0..groups).into_par_iter().map(|g| part(range(g))).collect();
            parts.iter().for_each(|other| linalg::add_scaled(&mut total, 1.0, other));
        }
        let mut scalar = 0.0;
        for k in 0..n {
            scalar += coefficient[k] * self.rows.b[k];
            if self.rows.pair(k).is_none() {
                let f = coefficient[k] * self.rows.sign(k);
                linalg::add_scaled(&mut total, f, &self.sums[self.rows.j[k] as usize]);
            }
        }
        let mut out = vec![0.0; q + 1];
        pack_lower(&total, &mut out[..q]);
        out[q] = scalar;
        out
    }

    /// `sum of h_k v_k v_k^T` where `v` is the packed row and the scalar's coefficient: the lower triangle, column-major.
    pub(super) fn gram(&self, h: &[f64]) -> Vec<f64> {
        let n = self.rows.len();
        let p = self.x.cols();
        let width = packed_len(p) + 1;
        let blocks: Vec<Range<usize>> =
            (0..width.div_ceil(COLUMNS)).map(|b| b * COLUMNS..((b + 1) * COLUMNS).min(width)).collect();
        let tiles: Vec<(usize, usize)> = (0..blocks.len()).flat_map(|a| (0..=a).map(move |b| (a, b))).collect();
        // Small matrices: partial sums over groups of rows. Large ones: one sum, its blocks in parallel.
        let groups = if tiles.len() > 3 { 1 } else { n.div_ceil(GROUP).max(1) };
        let part = |group: usize| {
            let range = group * n / groups..(group + 1) * n / groups;
            let mut sums: Vec<Vec<f64>> =
                tiles.iter().map(|&(a, b)| vec![0.0; blocks[a].len() * blocks[b].len()]).collect();
            let chunk = if tiles.len() > 3 { 4 * CHUNK } else { CHUNK }.min(range.len().max(1));
            let mut expanded = vec![0.0; chunk * width];
            let mut start = range.start;
            while start < range.end {
                let end = (start + chunk).min(range.end);
                let fill = |(k, out): (usize, &mut [f64])| {
                    let mut d = [0.0; 64];
                    let mut large = Vec::new();
                    let d: &mut [f64] = if p <= 64 {
                        &mut d[..p]
                    } else {
                        large.resize(p, 0.0);
                        &mut large
                    };
                    self.expand(start + k, h[start + k].sqrt(), d, out);
                };
                let used = &mut expanded[..(end - start) * width];
                if tiles.len() > 3 {
                    used.par_chunks_mut(width).enumerate().with_min_len(32).for_each(fill);
                } else {
                    used.chunks_mut(width).enumerate().for_each(fill);
                }
                let used = &expanded[..(end - start) * width];
                let add = |(&(a, b), sum): (&(usize, usize), &mut Vec<f64>)| {
                    linalg::gram_block_add(sum, used, end - start, width, blocks[a].clone(), blocks[b].clone());
                };
                if tiles.len() > 3 {
                    tiles.par_iter().zip(sums.par_iter_mut()).for_each(add);
                } else {
                    tiles.iter().zip(sums.iter_mut()).for_each(add);
                }
                start = end;
            }
            sums
        };
        let parts: Vec<Vec<Vec<f64>>> =
            if groups == 1 { vec![part(0)] } else { (0..groups).into_par_iter().map(part).collect() };
        let mut out = vec![0.0; width * width];
        for sums in &parts {
            for (&(a, b), sum) in tiles.iter().zip(sums) {
                for (c, column) in sum.chunks_exact(blocks[a].len()).enumerate() {
                    let at = (blocks[b].start + c) * width + blocks[a].start;
                    out[at..at + column.len()].iter_mut().zip(column).for_each(|(o, v)| *o += v);
                }
            }
        }
        out
    }
}
