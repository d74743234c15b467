//! The diameter as the mean of the longest distances (the conditional value at risk): `min over d of
//! d + sum w (rho - d)_+ / (level W)`. Pairs near `d` have a row each, with a multiplier of at most `c w / (level W)`; those
//! well beyond it share one; those below have none.

use super::admit::EMPTY;
use super::engine::{Engine, Settings};
use super::rows::{AGGREGATE, Row, Rows, central, packed};
use crate::linalg::{self, packed_len};
use crate::pairs::pass::{Among, spread};
use crate::pairs::{Cloud, Embedding, Kind, Pass, Run, Threads, scan, weighted_outer};
use crate::problem::{Diameter, Variant};
use crate::{Matrix, Result};
use serde::{Deserialize, Serialize};

/// Pairs on either side of `d` that have a row from the beginning.
const NEAR: usize = 1000;
/// Where there are so few pairs for each element of `M`, all of them have a row: those near `d` alone may not span the space.
const FEW: usize = 8;
/// Points of the sample that the first `d` comes from.
const SAMPLE: usize = 300;

/// Lengths that differ by less than this part of the longest are equal up to rounding.
const SAME: f64 = 1e-9;
/// Weight of the pairs beyond the window that is rounding.
const NO_WEIGHT: f64 = 1e-9;

/// What one pass over the pairs that bound the diameter finds.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Tail {
    /// `sum of w (rho - d)_+`.
    pub(super) excess: f64,
    /// Pairs that have changed sides of `d`, or lie inside the window.
    pub(super) crossed: Vec<(u32, u32)>,
}

/// The multiplier of a pair of unit weight, at most.
pub(super) fn rate(cloud: &Cloud, settings: &Settings<'_>) -> f64 {
    let (different, same) = cloud.pair_totals();
    let pairs = if settings.variant == Variant::Diameter { different + same } else { same };
    match settings.diameter {
        Diameter::Cvar(level) => settings.c / (level * pairs),
        _ => settings.c / pairs,
    }
}

/// One pass under `now`; `before` is the embedding and the `d` whose sides are remembered.
pub(super) fn look(
    cloud: &Cloud,
    now: &Embedding,
    d: f64,
    variant: Variant,
    before: Option<(&Embedding, f64)>,
    window: (f64, f64),
) -> Tail {
    let embeddings: Vec<&Embedding> = std::iter::once(now).chain(before.map(|b| b.0)).collect();
    let edge = before.map_or(d, |b| b.1);
    scan(cloud, &embeddings, &Look { cloud, d, among: variant.bounding(), edge, window }, &Threads).0
}

/// The pass behind [`look`].
struct Look<'a> {
    cloud: &'a Cloud,
    d: f64,
    among: Among,
    /// The `d` of the other embedding.
    edge: f64,
    window: (f64, f64),
}

impl Pass for Look<'_> {
    type Part = Tail;

    fn wanted(&self, kind: Kind) -> bool {
        self.among.may_hold(kind)
    }

    fn visit(&self, part: &mut Tail, run: Run<'_>) {
        if !self.among.holds(run.same) {
            return;
        }
        let own = self.cloud.weight[run.i];
        // Without another embedding no pair has changed sides.
        let other = if run.other.is_empty() { run.rho } else { run.other };
        for (k, (&r, &o)) in run.rho.iter().zip(other).enumerate() {
            let weight = own * self.cloud.weight[run.j0 + k];
            if r > self.d {
                part.excess += weight * (r - self.d);
            }
            let crossed = (o > self.edge) != (r > self.d);
            if weight > 0.0 && (crossed || (r > self.window.0 && r < self.window.1)) {
                part.crossed.push((run.i as u32, (run.j0 + k) as u32));
            }
        }
    }

    fn merge(&self, into: &mut Tail, mut next: Tail) {
        into.excess += next.excess;
        into.crossed.append(&mut next.crossed);
    }
}

/// The distances of a sample of the pairs that bound the diameter, ascending, and where the tail begins in it.
pub(super) fn sample(cloud: &Cloud, factor: &Matrix, variant: Variant, level: f64) -> (Vec<f64>, usize) {
    let part = cloud.thinned(SAMPLE);
    let now = Embedding::new(&part, factor);
    let mut lengths = Vec::new();
    for i in 0..part.len() {
        for j in i + 1..part.len() {
            if variant.bounding().holds(part.class[i] == part.class[j]) {
                lengths.push(now.squared_distance(i, j));
            }
        }
    }
    lengths.sort_unstable_by(f64::total_cmp);
    let n = lengths.len();
    let from = ((1.0 - level) * n as f64) as usize;
    (lengths, from.min(n.saturating_sub(1)))
}

/// A number between two different lengths, the first such at or after this place, so that rounding does not decide on which side
/// of it a pair is.
fn between(lengths: &[f64], from: usize) -> f64 {
    let longest = lengths.last().copied().unwrap_or(0.0);
    let apart = |k: &usize| lengths[*k] - lengths[k - 1] > SAME * longest;
    (from.max(1)..lengths.len()).find(apart).map_or(0.5 * longest, |k| 0.5 * (lengths[k] + lengths[k - 1]))
}

/// About the mean of the longest distances.
pub(super) fn about(cloud: &Cloud, factor: &Matrix, variant: Variant, level: f64) -> f64 {
    let (lengths, from) = sample(cloud, factor, variant, level);
    lengths[from..].iter().sum::<f64>() / (lengths.len() - from).max(1) as f64
}

fn tail_row(i: usize, j: usize, cap: f64) -> Row {
    Row { i: i as u32, j: j as u32, push: false, cap, b: 1.0, g: 0.0 }
}

/// The edge of the tail, from a sample, and the diameter, by a pass over the pairs.
pub(super) fn measured(cloud: &Cloud, settings: &Settings<'_>, level: f64, factor: &Matrix) -> (f64, f64) {
    let (lengths, from) = sample(cloud, factor, settings.variant, level);
    let d = between(&lengths, from);
    let excess = look(cloud, &Embedding::new(cloud, factor), d, settings.variant, None, (0.0, 0.0)).excess;
    (d, d + rate(cloud, settings) * excess / settings.c)
}

/// Rows for the pairs near the edge of the tail, and one for the sum of those well inside it. Returns that edge and the
/// diameter.
pub(super) fn hold_tail(
    cloud: &Cloud,
    settings: &Settings<'_>,
    level: f64,
    m: &Matrix,
    factor: &Matrix,
    mu: f64,
    rows: &mut Rows,
) -> (f64, f64) {
    let (lengths, from) = sample(cloud, factor, settings.variant, level);
    let d = between(&lengths, from);
    let rate = rate(cloud, settings);
    let share = rate * level * lengths.len() as f64 / settings.c;
    let reach = ((NEAR as f64 * share) as usize).clamp(10.min(lengths.len() / 4), lengths.len() / 4);
    let window = if lengths.len() <= FEW * packed_len(m.rows()) {
        (f64::NEG_INFINITY, f64::INFINITY)
    } else {
        (lengths[from.saturating_sub(reach)], lengths[(from + reach).min(lengths.len() - 1)])
    };
    let now = Embedding::new(cloud, factor);
    let found = look(cloud, &now, d, settings.variant, None, window);
    let among = settings.variant.bounding();
    let (mut beyond, mut weight) = spread(cloud, &now, |r, same| r > d && among.holds(same));
    let mut own = Vec::new();
    for &(i, j) in &found.crossed {
        let (i, j) = (i as usize, j as usize);
        let (w, r) = (cloud.pair_weight(i, j), now.squared_distance(i, j));
        if r > d {
            own.push((i, j, w));
            weight -= w;
        }
        rows.add(tail_row(i, j, rate * w), d - r, None, mu);
    }
    linalg::add_scaled(&mut beyond, -1.0, &weighted_outer(&cloud.x, own.into_iter()));
    if weight > NO_WEIGHT {
        beyond.as_mut_slice().iter_mut().for_each(|v| *v *= rate);
        let z = rate * weight * d - linalg::inner(&beyond, m);
        let at = rows.place_sum(beyond, Vec::new());
        rows.add(Row { i: AGGREGATE, j: at, push: false, cap: 1.0, b: rate * weight, g: 0.0 }, z, None, mu);
    }
    (d, d + rate * found.excess / settings.c)
}

impl Engine<'_> {
    /// Gives rows to the pairs that have crossed the edge of the tail.
    pub(super) fn admit_tail(&mut self, crossed: &[(u32, u32)], now: &Embedding, mu: f64) -> Result<()> {
        let rate = rate(self.cloud, &self.settings);
        let state = &mut self.state;
        let band = (0..state.rows.len()).find(|&k| !state.rows.push[k] && state.rows.pair(k).is_none());
        let (mut left, mut entering) = (Vec::new(), Vec::new());
        for &(i, j) in crossed {
            let (i, j) = (i as usize, j as usize);
            if state.rows.held.contains(&packed(i, j, false)) {
                continue;
            }
            let cap = rate * self.cloud.pair_weight(i, j);
            let z = state.scalar - now.squared_distance(i, j);
            if band.is_some() && self.sides.squared_distance(i, j) > self.edge {
                left.push((i, j, cap));
            } else {
                entering.push((i, j, central(z, cap, mu).0));
            }
            state.rows.add(tail_row(i, j, cap), z, None, mu);
        }
        linalg::add_scaled(&mut state.z, 1.0, &weighted_outer(&self.cloud.x, entering.into_iter()));
        if let (Some(k), false) = (band, left.is_empty()) {
            let weight: f64 = left.iter().map(|l| l.2).sum();
            let at = state.rows.j[k] as usize;
            linalg::add_scaled(&mut state.rows.sums[at], -1.0, &weighted_outer(&self.cloud.x, left.into_iter()));
            state.rows.b[k] -= weight;
            // An emptied band keeps its row, with zero coefficients.
            if state.rows.b[k] < EMPTY * weight {
                state.rows.b[k] = 0.0;
                state.rows.sums[at].as_mut_slice().fill(0.0);
            }
            let z = state.rows.b[k] * state.scalar - linalg::inner(&state.rows.sums[at], &state.m);
            state.rows.settle(k, z);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn the_edge_is_between_different_lengths() {
        let near = 1.0 + 2e-16;
        assert_eq!(between(&[0.0, 0.0, 1.0, near, 1.0 + 1e-15, 3.0], 3), 0.5 * (1.0 + 1e-15 + 3.0));
        assert_eq!(between(&[0.0, 2.0], 0), 1.0);
        assert_eq!(between(&[2.0, 2.0], 1), 1.0);
    }
}
