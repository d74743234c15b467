//! What the multipliers of the reduced problem prove of the whole one.

use super::engine::Engine;
use crate::Result;
use crate::problem::{Bound, Diameter, Mix, Multipliers, Slack};

/// Late in the iteration (where the complementary products are below this part of the tolerated gap) `sum eta A` is nearly
/// singular and rounding spoils the comparison ...
const LATE: f64 = 0.3;
/// ... so that a little of the mean of all pairs, which costs next to nothing, is tried in it: these parts of the tolerance.
const MIXES: [f64; 5] = [0.0, 1e-3, 1e-2, 0.1, 0.3];

/// The best certificate so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Proof {
    pub(super) bound: Bound,
    /// The multipliers of the rows, before they are scaled.
    pub(super) lambda: Vec<f64>,
}

impl Engine<'_> {
    /// Updates the certified lower bound from the current multipliers: those that push are scaled down until
    /// `sum lambda A <= sum eta A` with `sum eta = c` (and, with a slack per row, `sum_j lambda_ij <= w_i`).
    pub(super) fn certify(&mut self) -> Result<()> {
        let rows = &self.state.rows;
        let (pull, push) = self.state.sums(self.cloud);
        let (mut total, mut value) = (0.0, 0.0);
        for k in 0..rows.len() {
            total += rows.lambda[k] * rows.b[k];
            value += rows.lambda[k] * rows.g[k];
        }
        let (c, tolerance) = (self.settings.c, self.settings.stop.tolerance);
        let late = self.state.complementarity() < LATE * tolerance * self.best.objective;
        let scalar = self.settings.diameter != Diameter::Mean;
        let mixes: &[f64] = if late && scalar { &MIXES } else { &MIXES[..1] };
        // Multipliers that have an upper bound cannot be scaled up: what is missing comes from all pairs.
        let (to_c, missing) = match self.settings.diameter {
            Diameter::Maximum => (c / total, 0.0),
            Diameter::Cvar(_) if total >= c => (c / total, 0.0),
            Diameter::Cvar(level) => {
                let part = (c - total) / (c / level - total);
                (1.0 - part, part * c / level)
            }
            Diameter::Mean => (1.0, 0.0),
        };
        let multipliers = Multipliers { push: &push, total: 0.5 * value, pull: &pull, most: self.most() };
        let mut best = Bound { value: f64::NEG_INFINITY, ..Bound::default() };
        for t in mixes.iter().map(|t| t * tolerance) {
            let mix = Mix { kept: (1.0 - t) * to_c, mean: t * c + (1.0 - t) * missing };
            let bound = multipliers.bound(&rows.sums[0], mix, 0.0, self.settings.anchor)?;
            if bound.value > best.value {
                best = bound;
            }
        }
        // After pruning the old multipliers have lost their rows: the next certificate replaces them even if it is worse.
        if best.value > self.proof.bound.value || self.stale {
            self.stale = false;
            self.proof = Proof { bound: best, lambda: rows.lambda.clone() };
        }
        Ok(())
    }

    /// The largest scale of the multipliers that push, with a slack per row, that no row's own bound forbids.
    fn most(&self) -> f64 {
        if self.settings.slack == Slack::Pair {
            return 1.0;
        }
        let rows = &self.state.rows;
        let mut load = vec![0.0; self.cloud.len()];
        for (k, (i, j)) in (0..rows.len()).filter(|&k| rows.push[k]).filter_map(|k| Some((k, rows.pair(k)?))) {
            load[i] += rows.lambda[k];
            load[j] += rows.lambda[k];
        }
        load.iter().zip(&self.cloud.weight).fold(1.0, |most: f64, (l, w)| most.min(w / l))
    }

    /// Forgets the multipliers of the best certificate (their rows are gone), not its value.
    pub(super) fn forget_certificate(&mut self) {
        self.stale = true;
    }
}
