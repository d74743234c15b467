use super::{Cloud, Embedding, Kind};
use crate::{Matrix, linalg};
use rayon::prelude::*;

/// Rows of tiles that are held at a time: it bounds the memory, and does not depend on the number of threads.
const BATCH: usize = 32;

/// Consecutive pairs `(i, j0), (i, j0 + 1), ...` that all have the same label or all have different ones.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) i: usize,
    pub(crate) j0: usize,
    pub(crate) same: bool,
    /// Their squared distances.
    pub(crate) rho: &'a [f64],
    /// The weights that the visitor gives them, zero at first; empty where no weighted sum was asked for.
    pub(crate) weight: &'a mut [f64],
}

#[derive(Default)]
struct Scratch {
    rho: Vec<f64>,
    weight: Vec<f64>,
}

/// What a row of tiles adds to the weighted sum.
#[derive(Default)]
struct Part {
    /// `sum_j w_ij x_j` for the points of the left block.
    cross: Vec<f64>,
    /// `sum w` of each point from the left block on.
    degree: Vec<f64>,
}

/// Visits all unordered pairs of the wanted sorts. There is one state for each row of tiles (see [`Cloud::tile_rows`]),
/// visited in a fixed order, so that what the states hold does not depend on the number of threads.
///
/// With `weighted`, returns `sum of w_ij (x_i - x_j)(x_i - x_j)^T = X^T (diag(W 1) - W) X` with the weights that `visit`
/// has set; nothing of size N^2 is held.
pub(crate) fn sweep<S: Send>(
    cloud: &Cloud,
    embedding: &Embedding,
    wanted: impl Fn(Kind) -> bool + Sync,
    weighted: bool,
    states: &mut [S],
    visit: impl Fn(&mut S, Run<'_>) + Sync,
) -> Option<Matrix> {
    let (n, p) = (cloud.len(), cloud.x.cols());
    let mut cross = Matrix::zeros(if weighted { n } else { 0 }, p);
    let mut degree = vec![0.0; if weighted { n } else { 0 }];
    let few = cloud.blocks.len() < 5;
    for (batch, states) in states.chunks_mut(BATCH).enumerate() {
        let run = |scratch: &mut Scratch, (k, state): (usize, &mut S)| {
            tile_row(cloud, embedding, &wanted, weighted, batch * BATCH + k, scratch, |run| visit(state, run))
        };
        let parts: Vec<Part> = if few {
            let mut scratch = Scratch::default();
            states.iter_mut().enumerate().map(|s| run(&mut scratch, s)).collect()
        } else {
            states.par_iter_mut().enumerate().with_max_len(1).map_init(Scratch::default, run).collect()
        };
        if weighted {
            for (k, part) in parts.iter().enumerate() {
                let from = cloud.blocks[batch * BATCH + k].0.start;
                cross.as_mut_slice()[from * p..from * p + part.cross.len()].copy_from_slice(&part.cross);
                degree[from..].iter_mut().zip(&part.degree).for_each(|(d, v)| *d += v);
            }
        }
    }
    weighted.then(|| {
        let mut half = Matrix::zeros(n, p);
        for i in 0..n {
            for ((h, x), c) in half.row_mut(i).iter_mut().zip(cloud.x.row(i)).zip(cross.row(i)) {
                *h = 0.5 * degree[i] * x - c;
            }
        }
        let one = linalg::transposed_product(&cloud.x, &half);
        let mut sum = one.transpose();
        linalg::add_scaled(&mut sum, 1.0, &one);
        sum
    })
}

fn tile_row(
    cloud: &Cloud,
    embedding: &Embedding,
    wanted: &(impl Fn(Kind) -> bool + Sync),
    weighted: bool,
    a: usize,
    scratch: &mut Scratch,
    mut visit: impl FnMut(Run<'_>),
) -> Part {
    let p = cloud.x.cols();
    let (left, first) = &cloud.blocks[a];
    let mut part = Part::default();
    if weighted {
        part.cross = vec![0.0; left.len() * p];
        part.degree = vec![0.0; cloud.len() - left.start];
    }
    for (b, (right, second)) in cloud.blocks.iter().enumerate().skip(a) {
        let kind = match (first, second) {
            (Some(c), Some(d)) if c == d => Kind::Same,
            (Some(_), Some(_)) => Kind::Different,
            _ => Kind::Mixed,
        };
        if !wanted(kind) {
            continue;
        }
        let cols = right.len();
        scratch.rho.resize(left.len() * cols, 0.0);
        embedding.distances(&mut scratch.rho, left, right);
        if weighted {
            scratch.weight.clear();
            scratch.weight.resize(left.len() * cols, 0.0);
        }
        for row in 0..left.len() {
            let i = left.start + row;
            let from = if a == b { row + 1 } else { 0 };
            let mut piece = |start: usize, end: usize, same: bool| {
                if start < end {
                    let range = row * cols + start..row * cols + end;
                    let rho = &scratch.rho[range.clone()];
                    let weight = if weighted { &mut scratch.weight[range] } else { &mut [][..] };
                    visit(Run { i, j0: right.start + start, same, rho, weight });
                }
            };
            match kind {
                Kind::Same => piece(from, cols, true),
                Kind::Different => piece(from, cols, false),
                Kind::Mixed => {
                    let own = cloud.class[i];
                    let class = &cloud.class[right.start + from..right.end];
                    let (start, end) = (class.partition_point(|&c| c < own), class.partition_point(|&c| c <= own));
                    piece(from, from + start, false);
                    piece(from + start, from + end, true);
                    piece(from + end, cols, false);
                }
            }
        }
        if weighted {
            let xj = &cloud.x.as_slice()[right.start * p..right.end * p];
            linalg::gemm_nn_add(&mut part.cross, &scratch.weight, xj, left.len(), p, cols);
            let (own, other) = (0, right.start - left.start);
            for (row, weights) in scratch.weight.chunks_exact(cols).enumerate() {
                part.degree[own + row] += weights.iter().sum::<f64>();
                part.degree[other..other + cols].iter_mut().zip(weights).for_each(|(d, w)| *d += w);
            }
        }
    }
    part
}
