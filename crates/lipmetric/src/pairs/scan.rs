//! One pass over all unordered pairs: tile row by tile row, merged in their order.

use super::executor::{Executor, Plain};
use super::screen::{Bounds, SCREENED, Screen};
use super::{Cloud, Embedding, weighted_outer};
use crate::{Matrix, linalg};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::ops::Range;

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

/// Consecutive pairs `(i, j0), (i, j0 + 1), ...` that all have the same label or all have different ones.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) i: usize,
    pub(crate) j0: usize,
    pub(crate) same: bool,
    /// Their squared distances under the first embedding, ...
    pub(crate) rho: &'a [f64],
    /// ... and under the second; empty where there is only one.
    pub(crate) other: &'a [f64],
    /// The weights that the pass gives them, none negative, zero at first; empty unless the pass is weighted.
    pub(crate) weight: &'a mut [f64],
}

/// The pairs between some points and a block, of which nothing is known but what their lengths are surely between.
#[derive(Debug)]
pub(crate) struct Stretch {
    pub(crate) left: Range<usize>,
    pub(crate) right: Range<usize>,
    pub(crate) kind: Kind,
    pub(crate) bounds: Bounds,
}

/// A question to all pairs. What a row of tiles answers is a part; parts are merged in the order of the rows.
pub(crate) trait Pass: Sync {
    /// Plain data, so that a part can be computed in another process. The default is that of no pairs.
    type Part: Plain + Default;

    /// Whether tiles of this kind are looked at. A pass that wants one sort of pairs still meets the other in mixed tiles.
    fn wanted(&self, _kind: Kind) -> bool {
        true
    }

    /// Whether the pass gives weights, whose sum `sum of w_ij (x_i - x_j)(x_i - x_j)^T` is wanted.
    fn weighted(&self) -> bool {
        false
    }

    /// Whether bounds on lengths may make for pairs that need not be looked at.
    fn screened(&self) -> bool {
        false
    }

    /// Whether visiting these pairs would surely change nothing of what the question returns in the end.
    fn skips(&self, _pairs: &Stretch) -> bool {
        false
    }

    /// The part of a row of tiles before its first pair.
    fn begin(&self, _row: usize) -> Self::Part {
        Self::Part::default()
    }

    /// Takes in some pairs.
    fn visit(&self, part: &mut Self::Part, run: Run<'_>);

    /// The row of tiles is complete.
    fn end(&self, _part: &mut Self::Part) {}

    /// Takes in the part of the next row of tiles.
    fn merge(&self, into: &mut Self::Part, next: Self::Part);
}

/// Distances and weights of a tile.
#[derive(Default)]
struct Scratch {
    rho: Vec<f64>,
    other: Vec<f64>,
    weight: Vec<f64>,
    /// The left points, where only some of a block are looked at.
    some: Vec<usize>,
    /// These, side by side; and sums over them.
    room: Vec<f64>,
}

thread_local! {
    /// Kept from one pass to the next: pages that come new from the system each time cost more than what is computed in them.
    static ROOM: Cell<Scratch> = Cell::default();
}

/// Parts of a pass, at most: where there are more rows of tiles, several make up a part, so that the parts that travel are few.
/// What a pass gives does not change up to 32,768 rows of one class each, which is what the golden files know.
const PARTS: usize = 256;

/// What a row of tiles adds to the weighted sum; or several rows, one after the other.
#[derive(Default, Serialize, Deserialize)]
struct Sums {
    /// `sum_j w_ij x_j` for the points of the left block.
    cross: Vec<f64>,
    /// `sum w` of each point from the left block on.
    degree: Vec<f64>,
    /// Where differences must keep their digits: the weighted sum itself instead, from differences.
    outer: Vec<f64>,
}

/// What a few consecutive rows of tiles give.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct Parcel<P: Plain> {
    part: P,
    sums: Option<Sums>,
    /// Pairs that were looked at.
    looked: u64,
}

/// Which rows of tiles make up each part of a pass, how many of them there are, and what they cost: pairs, about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Division {
    rows: usize,
    each: usize,
}

impl Division {
    pub(super) fn of(cloud: &Cloud) -> Self {
        let rows = cloud.blocks.len();
        Self { rows, each: rows.div_ceil(PARTS).max(1) }
    }

    pub(super) fn parts(self) -> usize {
        self.rows.div_ceil(self.each)
    }

    pub(super) fn rows(self, part: usize) -> Range<usize> {
        part * self.each..((part + 1) * self.each).min(self.rows)
    }

    /// About how many tiles a part has.
    pub(super) fn cost(self, part: usize) -> usize {
        self.rows(part).map(|row| self.rows - row).sum()
    }
}

/// Asks all pairs of the wanted sorts, under one embedding or two. Returns the merged part and, if the pass is weighted,
/// `sum of w_ij (x_i - x_j)(x_i - x_j)^T = X^T (diag(W 1) - W) X`; nothing of size N^2 is held.
pub(crate) fn scan<P: Pass>(
    cloud: &Cloud,
    embeddings: &[&Embedding],
    pass: &P,
    executor: &impl Executor,
) -> (P::Part, Option<Matrix>) {
    let division = Division::of(cloud);
    let mut total = Total::new(cloud, pass);
    screen_of(cloud, embeddings, pass);
    executor.run(
        division.parts(),
        |(), k| parcel(cloud, embeddings, pass, division.rows(k)),
        |parcel| total.take(parcel),
    );
    total.finish()
}

/// The bounds that a pass is screened by, if it is. To be asked once before threads do: it takes a while where it is the first time.
pub(super) fn screen_of<'a, P: Pass>(cloud: &Cloud, embeddings: &[&'a Embedding], pass: &P) -> Option<&'a Screen> {
    if let ([one], true) = (embeddings, pass.screened()) { one.screen(cloud) } else { None }
}

/// What the rows of tiles give, merged in their order.
pub(super) fn parcel<P: Pass>(
    cloud: &Cloud,
    embeddings: &[&Embedding],
    pass: &P,
    rows: Range<usize>,
) -> Parcel<P::Part> {
    let mut scratch = ROOM.take();
    let mut out: Option<Parcel<P::Part>> = None;
    for a in rows {
        let Parcel { part, sums, looked } = tile_row(cloud, embeddings, pass, a, &mut scratch);
        match &mut out {
            None => out = Some(Parcel { part, sums, looked }),
            Some(before) => {
                pass.merge(&mut before.part, part);
                before.looked += looked;
                if let (Some(before), Some(sums)) = (&mut before.sums, sums) {
                    before.join(sums);
                }
            }
        }
    }
    ROOM.set(scratch);
    out.unwrap_or_else(|| Parcel { part: P::Part::default(), sums: None, looked: 0 })
}

/// Takes the parts of a pass in, one after the other.
pub(super) struct Total<'a, P: Pass> {
    cloud: &'a Cloud,
    pass: &'a P,
    part: P::Part,
    cross: Matrix,
    degree: Vec<f64>,
    outer: Matrix,
    /// Points whose left blocks were taken in.
    seen: usize,
    taken: usize,
    looked: u64,
}

impl<'a, P: Pass> Total<'a, P> {
    pub(super) fn new(cloud: &'a Cloud, pass: &'a P) -> Self {
        let (n, p) = (if pass.weighted() { cloud.len() } else { 0 }, cloud.x.cols());
        // Features may be so many that a matrix with a row and a column for each finds no room.
        let side = if pass.weighted() && cloud.x.is_twofold() { p } else { 0 };
        let (cross, outer) = (Matrix::zeros(n, p), Matrix::zeros(side, side));
        let part = P::Part::default();
        Self { cloud, pass, part, cross, degree: vec![0.0; n], outer, seen: 0, taken: 0, looked: 0 }
    }

    /// How many parts were taken in.
    pub(super) fn taken(&self) -> usize {
        self.taken
    }

    pub(super) fn take(&mut self, Parcel { part, sums, looked }: Parcel<P::Part>) {
        self.pass.merge(&mut self.part, part);
        self.looked += looked;
        self.taken += 1;
        let Some(sums) = sums else { return };
        let p = self.cloud.x.cols().max(1);
        let from = self.seen;
        self.cross.as_mut_slice()[from * p..from * p + sums.cross.len()].copy_from_slice(&sums.cross);
        self.degree[from..].iter_mut().zip(&sums.degree).for_each(|(d, v)| *d += v);
        self.outer.as_mut_slice().iter_mut().zip(&sums.outer).for_each(|(o, v)| *o += v);
        self.seen += sums.cross.len() / p;
    }

    pub(super) fn finish(self) -> (P::Part, Option<Matrix>) {
        let n = self.cloud.len() as u64;
        self.cloud.tally.add(n * n.saturating_sub(1) / 2, self.looked);
        let sum =
            || if self.cloud.x.is_twofold() { self.outer } else { laplacian(self.cloud, &self.cross, &self.degree) };
        (self.part, self.pass.weighted().then(sum))
    }
}

/// `X^T (diag(degree) - W - W^T) X` from `cross = W X` with the upper triangle `W`.
fn laplacian(cloud: &Cloud, cross: &Matrix, degree: &[f64]) -> Matrix {
    let mut half = Matrix::zeros(cross.rows(), cross.cols());
    for i in 0..cross.rows() {
        for ((h, x), c) in half.row_mut(i).iter_mut().zip(cloud.x.row(i)).zip(cross.row(i)) {
            *h = 0.5 * degree[i] * x - c;
        }
    }
    let one = linalg::transposed_product(&cloud.x, &half);
    let mut sum = one.transpose();
    linalg::add_scaled(&mut sum, 1.0, &one);
    sum
}

/// Two blocks of points.
#[derive(Clone, Copy)]
struct Tile<'a> {
    cloud: &'a Cloud,
    a: usize,
    b: usize,
    kind: Kind,
}

fn tile_row<P: Pass>(
    cloud: &Cloud,
    embeddings: &[&Embedding],
    pass: &P,
    a: usize,
    scratch: &mut Scratch,
) -> Parcel<P::Part> {
    let left = &cloud.blocks[a].0;
    // What is empty was not asked for. The rest is written before it is read: clearing it would write it twice.
    if embeddings.len() < 2 {
        scratch.other.clear();
    }
    if !pass.weighted() {
        scratch.weight.clear();
    }
    let screen = screen_of(cloud, embeddings, pass);
    let mut part = pass.begin(a);
    let mut sums = pass.weighted().then(|| match cloud.x.is_twofold() {
        true => Sums { outer: vec![0.0; cloud.x.cols() * cloud.x.cols()], ..Sums::default() },
        false => Sums {
            cross: vec![0.0; left.len() * cloud.x.cols()],
            degree: vec![0.0; cloud.len() - left.start],
            outer: Vec::new(),
        },
    });
    let mut looked = 0;
    for b in a..cloud.blocks.len() {
        let tile = Tile { cloud, a, b, kind: cloud.kind(a, b) };
        if !pass.wanted(tile.kind) {
            continue;
        }
        scratch.some.clear();
        if screen.is_some_and(|screen| !tile.screened(screen, pass, &mut scratch.some)) {
            continue;
        }
        let right = &cloud.blocks[b].0;
        let rows = if scratch.some.is_empty() { left.len() } else { scratch.some.len() };
        let size = rows * right.len();
        looked += if a == b { size - left.len() * (left.len() + 1) / 2 } else { size } as u64;
        for (rho, embedding) in [&mut scratch.rho, &mut scratch.other].into_iter().zip(embeddings) {
            rho.resize(size, 0.0);
            if scratch.some.is_empty() {
                embedding.distances(rho, left, right);
            } else {
                embedding.distances_of(rho, &scratch.some, right, &mut scratch.room);
            }
        }
        if sums.is_some() {
            scratch.weight.clear();
            scratch.weight.resize(size, 0.0);
        }
        tile.visit(scratch, |run| pass.visit(&mut part, run));
        if let Some(sums) = &mut sums {
            sums.add(tile, scratch);
        }
    }
    pass.end(&mut part);
    Parcel { part, sums, looked }
}

/// Where fewer than this part of a tile's rows can be left out, none is.
const FEW: f64 = 0.1;

impl Tile<'_> {
    /// Whether anything of the tile is to be looked at; lists the left points that are, where these are not all.
    fn screened<P: Pass>(self, screen: &Screen, pass: &P, some: &mut Vec<usize>) -> bool {
        let Self { cloud, a, b, kind } = self;
        let (left, right) = (&cloud.blocks[a].0, &cloud.blocks[b].0);
        let skips =
            |left: Range<usize>, bounds: Bounds| pass.skips(&Stretch { left, right: right.clone(), kind, bounds });
        if skips(left.clone(), screen.of_blocks(a, b)) {
            return false;
        }
        if a == b {
            return true;
        }
        some.extend(left.clone().filter(|&i| !skips(i..i + 1, screen.of_point(i, b))));
        let none = some.is_empty();
        if some.len() as f64 > (1.0 - FEW) * left.len() as f64 {
            some.clear();
        }
        !none
    }

    /// The left point of a row of the scratch.
    fn point(self, scratch: &Scratch, row: usize) -> usize {
        scratch.some.get(row).copied().unwrap_or(self.cloud.blocks[self.a].0.start + row)
    }

    /// Goes through the unordered pairs in runs of one sort. What of the scratch is empty was not asked for.
    fn visit(self, scratch: &mut Scratch, mut f: impl FnMut(Run<'_>)) {
        let Self { cloud, a, b, kind } = self;
        let (left, right) = (&cloud.blocks[a].0, &cloud.blocks[b].0);
        let cols = right.len();
        let rows = if scratch.some.is_empty() { left.len() } else { scratch.some.len() };
        for row in 0..rows {
            let i = self.point(scratch, row);
            let from = if a == b { row + 1 } else { 0 };
            let mut piece = |start: usize, end: usize, same: bool| {
                if start < end {
                    let range = row * cols + start..row * cols + end;
                    let other = if scratch.other.is_empty() { &[][..] } else { &scratch.other[range.clone()] };
                    let rho = &scratch.rho[range.clone()];
                    let weight = if scratch.weight.is_empty() { &mut [][..] } else { &mut scratch.weight[range] };
                    f(Run { i, j0: right.start + start, same, rho, other, weight });
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
    }
}

impl Sums {
    /// Takes in the sums of the next row of tiles.
    fn join(&mut self, next: Self) {
        let skipped = self.degree.len() - next.degree.len();
        self.cross.extend(next.cross);
        self.degree[skipped..].iter_mut().zip(&next.degree).for_each(|(d, v)| *d += v);
        self.outer.iter_mut().zip(&next.outer).for_each(|(o, v)| *o += v);
    }

    /// Adds the weights of a tile.
    fn add(&mut self, tile: Tile<'_>, scratch: &mut Scratch) {
        let Tile { cloud, a, b, .. } = tile;
        let (left, right) = (&cloud.blocks[a].0, &cloud.blocks[b].0);
        let (p, cols, other) = (cloud.x.cols(), right.len(), right.start - left.start);
        if !self.outer.is_empty() {
            let weights = scratch.weight.iter().enumerate();
            let pairs = weights.map(|(k, &w)| (tile.point(scratch, k / cols), right.start + k % cols, w));
            let sum = weighted_outer(&cloud.x, pairs);
            self.outer.iter_mut().zip(sum.as_slice()).for_each(|(o, v)| *o += v);
            return;
        }
        let mut any = false;
        let many = cloud.len() >= SCREENED;
        for (row, weights) in scratch.weight.chunks_exact(cols).enumerate() {
            // Most rows of some passes hold nothing that counts.
            if weights.iter().fold(0, |bits, w| bits | w.to_bits()) == 0 {
                continue;
            }
            any = true;
            self.degree[tile.point(scratch, row) - left.start] +=
                if many { sum(weights) } else { weights.iter().sum() };
            self.degree[other..other + cols].iter_mut().zip(weights).for_each(|(d, w)| *d += w);
        }
        let xj = &cloud.x.as_slice()[right.start * p..right.end * p];
        if any && scratch.some.is_empty() {
            linalg::gemm_nn_add(&mut self.cross, &scratch.weight, xj, left.len(), p, cols);
        } else if any {
            let Scratch { weight, some, room, .. } = scratch;
            room.clear();
            room.resize(some.len() * p, 0.0);
            linalg::gemm_nn_add(room, weight, xj, some.len(), p, cols);
            for (i, sums) in some.iter().zip(room.chunks_exact(p)) {
                let at = (i - left.start) * p;
                self.cross[at..at + p].iter_mut().zip(sums).for_each(|(c, v)| *c += v);
            }
        }
    }
}

/// A sum whose additions need not wait for one another.
fn sum(values: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let (chunks, rest) = values.as_chunks::<8>();
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(l, v)| *l += v);
    }
    lanes.iter().sum::<f64>() + rest.iter().sum::<f64>()
}
