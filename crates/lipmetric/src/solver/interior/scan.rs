//! Passes over all pairs: the true objective, and the pairs that the reduced problem should hold.

use crate::pairs::{Cloud, Embedding, Kind, Tile, map_tiles};
use crate::problem::Variant;

/// Bins of distances from the kink: four per octave from `2^-30` on, told by the leading bits of the number.
const BIN_BITS: u32 = 50;
const FIRST_BIN: u64 = (1023 - 30) << 2;
const BINS: usize = 160;
/// Long pairs that are listed, about.
const LONGER: usize = 400_000;

/// What one pass over all pairs finds.
#[derive(Debug, Clone)]
pub(super) struct Survey {
    /// `sum of w max(0, 2 - rho)` over the different-label pairs.
    pub(super) hinge: f64,
    /// The largest distance among the pairs that bound the diameter.
    pub(super) longest: f64,
    /// Different-label pairs that have changed sides of the kink since the other embedding, or lie near it.
    pub(super) near: Vec<(u32, u32)>,
    /// Pairs that bound the diameter and exceed the given length, with their distance.
    pub(super) far: Vec<(f64, u32, u32)>,
    /// Slack per instance: different-label pairs with a small `rho + xi_i + xi_j - 2`, ascending.
    pub(super) tight: Vec<(f64, u32, u32)>,
    /// The mean of the longest distances: what lies beyond its edge (filled in elsewhere).
    pub(super) excess: f64,
}

/// What to look for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Query {
    pub(super) variant: Variant,
    /// Different-label pairs with `rho` inside are collected.
    pub(super) window: (f64, f64),
    /// Diameter pairs longer than this are collected.
    pub(super) beyond: f64,
    /// At most this many of them, the longest.
    pub(super) most: usize,
}

pub(super) fn pulls(variant: Variant, same: bool) -> bool {
    variant == Variant::Diameter || same
}

/// Visits the rows of a tile in runs of equal kind: `f(i, j0, same, positions)`.
pub(super) fn runs(
    cloud: &Cloud,
    tile: &Tile<'_>,
    a: usize,
    from: usize,
    len: usize,
    mut f: impl FnMut(usize, usize, bool),
) {
    match tile.kind {
        Kind::Same => f(0, len, true),
        Kind::Different => f(0, len, false),
        Kind::Mixed => {
            let own = cloud.class[tile.i0 + a];
            let class = &cloud.class[tile.j0 + from..tile.j0 + from + len];
            let start = class.partition_point(|&c| c < own);
            let end = class.partition_point(|&c| c <= own);
            f(0, start, false);
            f(start, end, true);
            f(end, len, false);
        }
    }
}

/// One pass over all pairs under `now`; `before` is the embedding whose sides of the kink are remembered.
///
/// With `slack` (a slack per instance, and a margin) the different-label pairs are looked at one by one: in each tile the
/// tightest pair of each point is reported where it is below the margin.
pub(super) fn survey(
    cloud: &Cloud,
    now: &Embedding,
    before: Option<&Embedding>,
    query: &Query,
    slack: Option<(&[f64], f64)>,
) -> Survey {
    let embeddings: Vec<&Embedding> = std::iter::once(now).chain(before).collect();
    let parts = map_tiles(
        cloud,
        &embeddings,
        |_| true,
        |tile| {
            let mut out =
                Survey { hinge: 0.0, longest: 0.0, near: Vec::new(), far: Vec::new(), tight: Vec::new(), excess: 0.0 };
            let mut columns = vec![(f64::INFINITY, 0u32); if slack.is_some() { tile.cols } else { 0 }];
            let mut far = vec![(query.beyond, 0u32); tile.cols];
            for a in 0..tile.rows {
                let i = tile.i0 + a;
                let (from, rho) = tile.row(0, a);
                let old = before.map(|_| tile.row(1, a).1);
                runs(cloud, tile, a, from, rho.len(), |start, end, same| {
                    let values = &rho[start..end];
                    let j0 = tile.j0 + from + start;
                    if !same && cloud.weight[i] == 0.0 {
                        // Only bounds the diameter.
                    } else if let (false, Some((slack, margin))) = (same, slack) {
                        let mut least = (f64::INFINITY, 0);
                        for (k, &r) in values.iter().enumerate() {
                            if cloud.weight[j0 + k] == 0.0 {
                                continue;
                            }
                            let z = r + slack[i] + slack[j0 + k] - 2.0;
                            if z < least.0 {
                                least = (z, j0 + k);
                            }
                            let column = &mut columns[from + start + k];
                            if z < column.0 {
                                *column = (z, i as u32);
                            }
                        }
                        if least.0 < margin {
                            out.tight.push((least.0, i as u32, least.1 as u32));
                        }
                    } else if !same {
                        out.hinge += hinge(values, cloud, i, j0);
                        let (low, high) = query.window;
                        for (k, &r) in values.iter().enumerate() {
                            let crossed = old.is_some_and(|o| (o[start + k] < 2.0) != (r < 2.0));
                            if (crossed || (r > low && r < high)) && cloud.pair_weight(i, j0 + k) > 0.0 {
                                out.near.push((i as u32, (j0 + k) as u32));
                            }
                        }
                    }
                    if pulls(query.variant, same) {
                        let most = values.iter().fold(0.0, |m: f64, &r| if r > m { r } else { m });
                        out.longest = out.longest.max(most);
                        if most > query.beyond {
                            let mut longest = (query.beyond, 0);
                            for (k, &r) in values.iter().enumerate() {
                                if r > longest.0 {
                                    longest = (r, j0 + k);
                                }
                                let column = &mut far[from + start + k];
                                if r > column.0 {
                                    *column = (r, i as u32);
                                }
                            }
                            out.far.push((longest.0, i as u32, longest.1 as u32));
                        }
                    }
                });
            }
            if let Some((_, margin)) = slack {
                let found = columns.iter().enumerate().filter(|(_, c)| c.0 < margin);
                out.tight.extend(found.map(|(b, &(z, i))| (z, i, (tile.j0 + b) as u32)));
            }
            let found = far.iter().enumerate().filter(|(_, c)| c.0 > query.beyond);
            out.far.extend(found.map(|(b, &(r, i))| (r, i, (tile.j0 + b) as u32)));
            keep_longest(&mut out.far, query.most);
            out
        },
    );
    let mut total =
        Survey { hinge: 0.0, longest: 0.0, near: Vec::new(), far: Vec::new(), tight: Vec::new(), excess: 0.0 };
    for part in parts {
        total.hinge += part.hinge;
        total.longest = total.longest.max(part.longest);
        total.near.extend(part.near);
        total.far.extend(part.far);
        total.tight.extend(part.tight);
    }
    keep_longest(&mut total.far, query.most);
    total.tight.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    total.tight.dedup_by_key(|t| (t.1, t.2));
    total
}

/// The pairs that bound the diameter and exceed a length; where there are very many, the first of each tile.
pub(super) fn longer(cloud: &Cloud, now: &Embedding, variant: Variant, length: f64) -> Vec<(u32, u32)> {
    let parts = map_tiles(
        cloud,
        &[now],
        |k| variant == Variant::Diameter || k != Kind::Different,
        |tile| {
            let mut out = Vec::new();
            for a in 0..tile.rows {
                let (from, rho) = tile.row(0, a);
                runs(cloud, tile, a, from, rho.len(), |start, end, same| {
                    if pulls(variant, same) {
                        let long = (start..end).filter(|&k| rho[k] > length);
                        out.extend(long.map(|k| ((tile.i0 + a) as u32, (tile.j0 + from + k) as u32)));
                    }
                });
            }
            out
        },
    );
    let most = (LONGER / parts.len().max(1)).max(1);
    parts
        .into_iter()
        .flat_map(|mut p| {
            p.truncate(most);
            p
        })
        .collect()
}

/// Keeps the longest, in descending order; of equal lengths, which are mostly equal differences (discrete features),
/// only one.
pub(super) fn keep_longest(far: &mut Vec<(f64, u32, u32)>, most: usize) {
    far.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    far.dedup_by(|a, b| same_length(a.0, b.0));
    far.truncate(most);
}

/// Whether two lengths agree up to rounding.
pub(super) fn same_length(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-11 * a.max(b)
}

fn hinge(rho: &[f64], cloud: &Cloud, i: usize, j0: usize) -> f64 {
    if cloud.uniform {
        let mut sums = [0.0; 8];
        let chunks = rho.chunks_exact(8);
        let tail: f64 = chunks.remainder().iter().map(|r| (2.0 - r).max(0.0)).sum();
        for c in chunks {
            for k in 0..8 {
                let v = 2.0 - c[k];
                sums[k] += if v > 0.0 { v } else { 0.0 };
            }
        }
        return sums.iter().sum::<f64>() + tail;
    }
    let weights = &cloud.weight[j0..j0 + rho.len()];
    cloud.weight[i] * rho.iter().zip(weights).map(|(r, w)| w * (2.0 - r).max(0.0)).sum::<f64>()
}

/// The window around the kink that holds about `target` different-label pairs on either side.
pub(super) fn window(cloud: &Cloud, now: &Embedding, target: usize) -> (f64, f64) {
    let bin = |t: f64| ((t.to_bits() >> BIN_BITS).saturating_sub(FIRST_BIN) as usize).min(BINS - 1);
    let parts = map_tiles(
        cloud,
        &[now],
        |k| k != Kind::Same,
        |tile| {
            let mut counts = vec![0u32; 2 * BINS];
            for a in 0..tile.rows {
                let (from, rho) = tile.row(0, a);
                runs(cloud, tile, a, from, rho.len(), |start, end, same| {
                    if !same {
                        for (k, &r) in rho[start..end].iter().enumerate() {
                            let side = if r < 2.0 { 0 } else { BINS };
                            let counted = cloud.pair_weight(tile.i0 + a, tile.j0 + from + start + k) > 0.0;
                            counts[side + bin((r - 2.0).abs())] += u32::from(counted);
                        }
                    }
                });
            }
            counts
        },
    );
    let mut counts = vec![0usize; 2 * BINS];
    for part in parts {
        counts.iter_mut().zip(part).for_each(|(c, v)| *c += v as usize);
    }
    let edge = |side: &[usize]| {
        let mut seen = 0;
        for (k, &c) in side.iter().enumerate() {
            seen += c;
            if seen > target {
                // The bin that goes over the target belongs to the window unless it holds far too many.
                let inside = if seen > 4 * target { k } else { k + 1 };
                return f64::from_bits((inside as u64 + FIRST_BIN) << BIN_BITS);
            }
        }
        f64::INFINITY
    };
    (2.0 - edge(&counts[..BINS]), 2.0 + edge(&counts[BINS..]))
}
