//! Screening of rows in `f32`: packed panels, the kernel over them, and the bound on what rounding can do.
//!
//! For a row `r` and a query `q`, both taken relative to a common centre and multiplied by a power of two, the
//! kernel computes the score `|r|^2 / 2 - q.r` in single precision. Half the squared distance is the score plus
//! `|q|^2 / 2`, up to an error that [`Packing::error`] bounds rigorously.

use pulp::Simd;

/// Unit roundoff of `f32`.
const UNIT: f64 = 1.0 / (1u64 << 24) as f64;

/// Extent of the rows (largest absolute coordinate about the centre) within which squares of `f64` neither
/// overflow nor underflow by more than the screen's own error.
const EXTENTS: std::ops::RangeInclusive<f64> = 1e-130..=1e130;

/// Queries farther from the centre than this many extents are measured directly: the bound on rounding would
/// let every row pass, and still larger ones would overflow.
const FARTHEST_QUERY: f64 = 1e6;

/// Columns up to which the error bound's constant holds.
const MOST_COLUMNS: usize = 1 << 20;

/// Vectors side by side in a panel.
const PANEL_VECTORS: usize = 2;

/// Rows per panel: a few vectors of the widest kind that this processor has.
pub(super) fn panel_width() -> usize {
    struct Width;
    impl pulp::WithSimd for Width {
        type Output = usize;
        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> usize {
            PANEL_VECTORS * S::F32_LANES
        }
    }
    pulp::Arch::new().dispatch(Width)
}

/// `f32` storage that starts at a cache line, so that no vector load straddles two.
#[derive(Debug, Default)]
pub(super) struct AlignedBuffer {
    data: Vec<f32>,
    start: usize,
}

impl AlignedBuffer {
    pub(super) fn new(len: usize) -> Self {
        const LINE: usize = 64;
        let data = vec![0.0f32; len + LINE / size_of::<f32>()];
        let start = data.as_ptr().align_offset(LINE).min(LINE / size_of::<f32>());
        Self { data, start }
    }

    #[inline(always)]
    pub(super) fn as_slice(&self) -> &[f32] {
        &self.data[self.start..]
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [f32] {
        &mut self.data[self.start..]
    }
}

/// The common centre and scale of a set of packed rows.
#[derive(Debug, Clone)]
pub(super) struct Packing {
    /// Power of two; 0 if these rows cannot be screened and must be measured directly.
    scale: f64,
    /// `2 / scale^2`: from half squared distances as packed to squared distances.
    unscale: f64,
    /// Largest norm of a packed row.
    norm: f64,
}

/// A query seen from a [`Packing`].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Viewpoint {
    half_norm2: f64,
    error: f64,
    unscale: f64,
}

impl Viewpoint {
    /// The largest score that can belong to a squared distance of at most `bound`.
    #[inline(always)]
    pub(super) fn threshold(&self, bound: f64) -> f32 {
        let score = bound / self.unscale - self.half_norm2 + self.error;
        // The padding of panels scores infinity and must never pass.
        (score as f32).next_up().min(f32::MAX)
    }

    /// The interval that holds the squared distance behind a score.
    #[inline(always)]
    pub(super) fn interval(&self, score: f32) -> (f64, f64) {
        let half = self.half_norm2 + f64::from(score);
        ((half - self.error) * self.unscale, (half + self.error) * self.unscale)
    }

    /// A threshold that no score passes.
    pub(super) const NOTHING_PASSES: f32 = f32::NEG_INFINITY;
}

impl Packing {
    /// The packing of rows about `centre`, chosen so that the largest coordinate is about one.
    pub(super) fn of<'a>(rows: impl Iterator<Item = &'a [f64]>, centre: &[f64]) -> Self {
        let unusable = Self { scale: 0.0, unscale: 0.0, norm: 0.0 };
        if centre.len() > MOST_COLUMNS {
            return unusable;
        }
        let (mut extent, mut norm2) = (0.0f64, 0.0f64);
        for row in rows {
            let (mut e, mut n) = (0.0f64, 0.0f64);
            for (x, c) in row.iter().zip(centre) {
                let t = x - c;
                e = e.max(t.abs());
                n += t * t;
            }
            // `max` would ignore a NaN, which a centre that overflowed brings.
            if !e.is_finite() || !n.is_finite() {
                return unusable;
            }
            extent = extent.max(e);
            norm2 = norm2.max(n);
        }
        if !EXTENTS.contains(&extent) {
            return unusable;
        }
        let scale = 2.0f64.powi(-extent.log2().ceil() as i32);
        Self { scale, unscale: 2.0 / (scale * scale), norm: norm2.sqrt() * scale }
    }

    /// Whether rows so packed can be screened at all.
    #[inline(always)]
    pub(super) fn usable(&self) -> bool {
        self.scale != 0.0
    }

    /// Bound on the error of `score + |q|^2 / 2` against half the squared distance, for a query of norm `q` and
    /// rows of norm up to `r`. With `u` the unit roundoff of `f32` it adds up the rounding
    /// of the coordinates, at most `u (2 q r + r^2)` (`|q|^2` itself is summed in `f64`);
    /// of the stored half norms, `u r^2 / 2`;
    /// of the `p` steps that start from them, `(p + 1) u (r^2 / 2 + q r)` to first order, fused or not;
    /// and of the `f64` arithmetic around it, distances proper included.
    /// The factor 1.1 covers the higher orders and underflow, which is far smaller as `r >= 1/2`.
    #[inline(always)]
    fn error(&self, q: f64, columns: usize) -> f64 {
        let (r, p) = (self.norm, columns as f64);
        let single = 2.0 * q * r + 1.5 * r * r + (p + 2.0) * (0.5 * r * r + q * r);
        1.1 * UNIT * single + 4.0 * (p + 8.0) * f64::EPSILON * (q + r) * (q + r)
    }

    /// Writes the negated query, as the kernel wants it, and tells how scores are to be read; `None` if this
    /// query must be measured against the rows directly.
    #[inline(always)]
    pub(super) fn view<'a>(
        &self,
        query: &[f64],
        centre: &[f64],
        mut out: impl Iterator<Item = &'a mut f32>,
    ) -> Option<Viewpoint> {
        if !self.usable() {
            return None;
        }
        // Four sums, so that one addition need not wait for the other.
        let mut sums = [0.0f64; 4];
        let ((fours, rest), (centre_fours, centre_rest)) = (query.as_chunks::<4>(), centre.as_chunks::<4>());
        for (x, c) in fours.iter().zip(centre_fours) {
            for lane in 0..4 {
                let t = (x[lane] - c[lane]) * self.scale;
                sums[lane] += t * t;
                if let Some(out) = out.next() {
                    *out = -(t as f32);
                }
            }
        }
        for ((x, c), out) in rest.iter().zip(centre_rest).zip(out) {
            let t = (x - c) * self.scale;
            sums[0] += t * t;
            *out = -(t as f32);
        }
        let norm2 = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        // Also false for NaN.
        if norm2 <= FARTHEST_QUERY * FARTHEST_QUERY {
            let error = self.error(norm2.sqrt(), query.len());
            Some(Viewpoint { half_norm2: 0.5 * norm2, error, unscale: self.unscale })
        } else {
            None
        }
    }

    /// Packs rows into panels: per panel first the half norms, then a line per column, `width` rows side by
    /// side. Missing rows of the last panel get an infinite half norm.
    pub(super) fn pack<'a>(
        &self,
        rows: impl Iterator<Item = &'a [f64]>,
        centre: &[f64],
        width: usize,
        out: &mut [f32],
    ) {
        let panel_len = (centre.len() + 1) * width;
        for panel in out.chunks_exact_mut(panel_len) {
            panel[..width].fill(f32::INFINITY);
        }
        for (i, row) in rows.enumerate() {
            let panel = &mut out[i / width * panel_len..][..panel_len];
            let lane = i % width;
            let mut half = 0.0f64;
            for (j, (x, c)) in row.iter().zip(centre).enumerate() {
                let t = ((x - c) * self.scale) as f32;
                panel[(j + 1) * width + lane] = t;
                half += 0.5 * f64::from(t) * f64::from(t);
            }
            panel[lane] = half as f32;
        }
    }
}

/// Lines of a panel: the half norms, then one per column.
pub(super) type Lines<'a, V> = &'a [[V; PANEL_VECTORS]];

/// Views packed numbers as panel lines.
#[inline(always)]
pub(super) fn lines<S: Simd>(packed: &[f32]) -> Lines<'_, S::f32s> {
    S::as_simd_f32s(packed).0.as_chunks().0
}

/// Scores of `Q` queries against the rows of `P` panels, all in registers. `queries` has a line per column.
#[inline(always)]
pub(super) fn scores<S: Simd, const Q: usize, const P: usize>(
    simd: S,
    panels: [Lines<'_, S::f32s>; P],
    queries: &[[f32; Q]],
) -> [[[S::f32s; PANEL_VECTORS]; P]; Q] {
    let start: [[S::f32s; PANEL_VECTORS]; P] = panels.map(|panel| panel[0]);
    let mut acc = [start; Q];
    let columns = panels.map(|panel| &panel[1..][..queries.len()]);
    for (j, query) in queries.iter().enumerate() {
        for q in 0..Q {
            let x = simd.splat_f32s(query[q]);
            for p in 0..P {
                for v in 0..PANEL_VECTORS {
                    acc[q][p][v] = simd.mul_add_e_f32s(x, columns[p][j][v], acc[q][p][v]);
                }
            }
        }
    }
    acc
}

/// How far the smallest of these scores lies below the threshold, lane by lane: negative or zero where one
/// passes.
#[inline(always)]
pub(super) fn excess<S: Simd, const P: usize>(
    simd: S,
    scores: &[[S::f32s; PANEL_VECTORS]; P],
    threshold: f32,
) -> S::f32s {
    let mut least = scores[0][0];
    for panel in scores {
        for &v in panel {
            least = simd.min_f32s(least, v);
        }
    }
    simd.sub_f32s(least, simd.splat_f32s(threshold))
}

/// Whether a lane of an [`excess`] is negative or zero.
#[inline(always)]
pub(super) fn any_passes<S: Simd>(simd: S, excess: S::f32s) -> bool {
    simd.reduce_min_f32s(excess) <= 0.0
}
