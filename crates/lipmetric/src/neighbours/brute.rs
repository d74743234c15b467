//! Exhaustive search: every query against every row, tile by tile, screened in single precision.

use super::candidates::{Candidates, Measure};
use super::screen::{AlignedBuffer, Packing, Viewpoint, any_passes, excess, lines, panel_width, scores};
use crate::Matrix;
use pulp::{Simd, WithSimd};

/// Queries that the kernel handles at once: with two vectors of rows, twelve accumulators in sixteen registers.
const GROUP: usize = 6;

/// Groups per block: what shares one pass over the rows.
const GROUPS: usize = 8;

/// Queries per block.
pub(super) const BLOCK: usize = GROUP * GROUPS;

/// Packed rows that stay in the first-level cache while a block of queries goes over them.
const TILE_BYTES: usize = 16 << 10;

/// All rows packed about one centre.
#[derive(Debug)]
pub(super) struct Brute {
    centre: Vec<f64>,
    packing: Packing,
    packed: AlignedBuffer,
    panels: usize,
    width: usize,
}

/// What a thread needs for a block of queries.
#[derive(Debug)]
pub(super) struct Workspace {
    candidates: Vec<Candidates>,
    views: Vec<Viewpoint>,
    thresholds: Vec<[f32; GROUP]>,
    queries: Vec<[f32; GROUP]>,
}

impl Workspace {
    pub(super) fn new(k: usize, columns: usize) -> Self {
        Self {
            candidates: (0..BLOCK).map(|_| Candidates::new(k, columns)).collect(),
            views: vec![Viewpoint::default(); BLOCK],
            thresholds: vec![[Viewpoint::NOTHING_PASSES; GROUP]; GROUPS],
            queries: vec![[0.0; GROUP]; GROUPS * columns],
        }
    }
}

impl Brute {
    pub(super) fn new(rows: &Matrix) -> Self {
        let width = panel_width();
        let centre = mean(rows);
        let packing = Packing::of((0..rows.rows()).map(|i| rows.row(i)), &centre);
        let panels = if packing.usable() { rows.rows().div_ceil(width) } else { 0 };
        let mut packed = AlignedBuffer::new(panels * (rows.cols() + 1) * width);
        if packing.usable() {
            let out = &mut packed.as_mut_slice()[..panels * (rows.cols() + 1) * width];
            packing.pack((0..rows.rows()).map(|i| rows.row(i)), &centre, width, out);
        }
        Self { centre, packing, packed, panels, width }
    }

    /// Searches for up to [`BLOCK`] queries, each with the row that it must not find. Hands the answers to
    /// `emit` in order.
    pub(super) fn search<M: Measure>(
        &self,
        rows: &M,
        queries: &[(&[f64], u32)],
        work: &mut Workspace,
        mut emit: impl FnMut(usize, &[(f64, u32)]),
    ) {
        let columns = rows.matrix().cols();
        work.thresholds.fill([Viewpoint::NOTHING_PASSES; GROUP]);
        for (i, &(query, excluded)) in queries.iter().enumerate() {
            let candidates = &mut work.candidates[i];
            candidates.reset(excluded);
            let (group, lane) = (i / GROUP, i % GROUP);
            let out = work.queries[group * columns..][..columns].iter_mut().map(|line| &mut line[lane]);
            match self.packing.view(query, &self.centre, out) {
                Some(view) => {
                    work.views[i] = view;
                    work.thresholds[group][lane] = f32::MAX;
                }
                None => {
                    // What overflowed here would spread as NaN to the group's common minimum.
                    work.queries[group * columns..][..columns].iter_mut().for_each(|line| line[lane] = 0.0);
                    (0..rows.matrix().rows() as u32).for_each(|row| candidates.offer_measured(row, rows, query));
                }
            }
        }
        pulp::Arch::new().dispatch(Scan { brute: self, rows, queries, work });
        for (i, &(query, _)) in queries.iter().enumerate() {
            emit(i, work.candidates[i].finish(rows, query));
        }
    }
}

/// The column means, as rows' common centre.
pub(super) fn mean(rows: &Matrix) -> Vec<f64> {
    let mut mean = vec![0.0; rows.cols()];
    for i in 0..rows.rows() {
        for (m, x) in mean.iter_mut().zip(rows.row(i)) {
            *m += x;
        }
    }
    for m in &mut mean {
        *m /= rows.rows() as f64;
    }
    mean
}

/// One pass of a block of queries over all packed rows.
struct Scan<'a, 'q, M> {
    brute: &'a Brute,
    rows: &'a M,
    queries: &'a [(&'q [f64], u32)],
    work: &'a mut Workspace,
}

impl<M: Measure> WithSimd for Scan<'_, '_, M> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { brute, rows, queries, work } = self;
        let columns = rows.matrix().cols();
        let panel_len = (columns + 1) * brute.width;
        let per_tile = (TILE_BYTES / size_of::<f32>() / panel_len).max(1);
        let packed = &brute.packed.as_slice()[..brute.panels * panel_len];
        for (t, tile) in packed.chunks(per_tile * panel_len).enumerate() {
            for group in 0..queries.len().div_ceil(GROUP) {
                let lanes = &work.queries[group * columns..][..columns];
                for (p, panel) in tile.chunks_exact(panel_len).enumerate() {
                    let scores = scores::<S, GROUP, 1>(simd, [lines::<S>(panel)], lanes);
                    let thresholds = work.thresholds[group];
                    let mut least = excess(simd, &scores[0], thresholds[0]);
                    for q in 1..GROUP {
                        least = simd.min_f32s(least, excess(simd, &scores[q], thresholds[q]));
                    }
                    if any_passes(simd, least) {
                        let first = ((t * per_tile + p) * brute.width) as u32;
                        for q in 0..GROUP {
                            if any_passes(simd, excess(simd, &scores[q], thresholds[q])) {
                                let i = group * GROUP + q;
                                let scores: &[f32] = pulp::bytemuck::cast_slice(&scores[q][0]);
                                work.thresholds[group][q] = offer(
                                    &mut work.candidates[i],
                                    &work.views[i],
                                    thresholds[q],
                                    scores,
                                    first,
                                    rows,
                                    queries[i].0,
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Offers the rows of a panel whose scores pass; the new threshold.
#[inline(never)]
fn offer<M: Measure>(
    candidates: &mut Candidates,
    view: &Viewpoint,
    threshold: f32,
    scores: &[f32],
    first: u32,
    rows: &M,
    query: &[f64],
) -> f32 {
    for (row, &score) in (first..).zip(scores) {
        if score <= threshold {
            let (lower, upper) = view.interval(score);
            candidates.offer(lower, upper, row, rows, query);
        }
    }
    view.threshold(candidates.bound())
}
