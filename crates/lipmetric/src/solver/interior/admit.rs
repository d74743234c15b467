//! New rows without losing feasibility.

use super::engine::Engine;
use super::rows::{AGGREGATE, Row, central, packed};
use super::scan::Survey;
use super::{NOWHERE, State};
use crate::Result;
use crate::linalg;
use crate::linalg::packed_len;
use crate::pairs::pass::{longer, same_length};
use crate::pairs::{Cloud, Embedding, weighted_outer};

/// The part of the dual slack `Z` that new rows may use up.
const SHARE: f64 = 0.3;

/// The part of the gap that may be spent on keeping new rows away from their bound.
const LIFT: f64 = 0.1;
/// The same per row that enters, times the number of complementary products.
const CROWD: f64 = 3.0;

/// Where there were more long pairs than may enter so many times in a row, all of them together get a row for their mean.
const TIES: u32 = 3;
const MOST_SUMS: usize = 40;
/// A band whose weight has fallen below this part of what has just left it is empty: the rest is rounding.
pub(super) const EMPTY: f64 = 1e-9;
/// Long pairs that may enter at a time: one for this many elements of `M`, which counts as having at least so many, ...
const PER_ELEMENT: usize = 4;
const LEAST_ROOM: usize = 40;
/// ... or one for this many rows, if that is more.
const PER_ROW: usize = 64;

pub(super) fn push_row(i: usize, j: usize, cap: f64) -> Row {
    Row { i: i as u32, j: j as u32, push: true, cap, b: 0.0, g: 2.0 }
}

pub(super) fn pull_row(i: u32, j: u32) -> Row {
    Row { i, j, push: false, cap: f64::INFINITY, b: 1.0, g: 0.0 }
}

impl Engine<'_> {
    /// Gives rows to different-label pairs: those from the band below the kink with the central multiplier (the dual point
    /// may lose its feasibility, which the next steps restore), the others with as much of it as keeps it feasible. Pairs from
    /// the band that are further above the kink than `leap` leave it without a row; tells whether there were any.
    pub(super) fn admit_push(&mut self, near: &[(u32, u32)], now: &Embedding, mu: f64, leap: f64) -> Result<bool> {
        let state = &mut self.state;
        let band = (0..state.rows.len()).find(|&k| state.rows.push[k] && state.rows.pair(k).is_none());
        let (mut left, mut gone, mut entering) = (Vec::new(), Vec::new(), Vec::new());
        for &(i, j) in near {
            let (i, j) = (i as usize, j as usize);
            if state.rows.held.contains(&packed(i, j, true)) {
                continue;
            }
            let w = self.cloud.pair_weight(i, j);
            let z = now.squared_distance(i, j) - 2.0;
            let below = band.is_some() && self.sides.squared_distance(i, j) < 2.0;
            if below && z > leap {
                gone.push((i, j, w));
            } else if below {
                left.push((i, j, w));
                state.rows.add(push_row(i, j, w), z, None, mu);
            } else {
                entering.push((i, j, central(z, w, mu).0, z));
            }
        }
        state.enter(self.cloud, &entering, |cloud, i, j| cloud.pair_weight(i, j), mu)?;
        let leapt = !gone.is_empty();
        if let (Some(k), true) = (band, leapt) {
            linalg::add_scaled(
                &mut state.z,
                state.rows.lambda[k],
                &weighted_outer(&self.cloud.x, gone.iter().copied()),
            );
            left.append(&mut gone);
        }
        if let (Some(k), false) = (band, left.is_empty()) {
            let weight: f64 = left.iter().map(|f| f.2).sum();
            let sum = &mut state.rows.sums[state.rows.j[k] as usize];
            linalg::add_scaled(sum, -1.0, &weighted_outer(&self.cloud.x, left.iter().copied()));
            state.rows.g[k] -= 2.0 * weight;
            let z = linalg::inner(sum, &state.m) - state.rows.g[k];
            // An emptied band keeps its row, with zero coefficients: `0 >= 0`, slack and multiplier free to go to zero.
            if state.rows.g[k] < EMPTY * weight {
                state.rows.g[k] = 0.0;
                sum.as_mut_slice().fill(0.0);
            }
            state.rows.settle(k, if state.rows.g[k] == 0.0 { 0.0 } else { z });
        }
        Ok(leapt)
    }

    /// Slack per row: gives rows to the different-label pairs that are nearly tight.
    pub(super) fn admit_tight(&mut self, tight: &[(f64, u32, u32)], now: &Embedding, mu: f64) -> Result<()> {
        let state = &mut self.state;
        let fresh: Vec<(f64, usize, usize)> = tight
            .iter()
            .map(|&(_, i, j)| (i as usize, j as usize))
            .filter(|&(i, j)| !state.rows.held.contains(&packed(i, j, true)))
            .map(|(i, j)| (now.squared_distance(i, j) + state.slack_of(i) + state.slack_of(j) - 2.0, i, j))
            .filter(|t| t.0 > 0.0)
            .collect();
        let mut count = vec![0.0; self.cloud.len()];
        for &(_, i, j) in &fresh {
            for p in [i, j] {
                count[p] += 1.0;
                if state.place[p] == NOWHERE {
                    state.place[p] = state.active.len() as u32;
                    state.active.push(p as u32);
                    state.slack.push(mu / self.cloud.weight[p]);
                    state.reduced.push(self.cloud.weight[p]);
                }
            }
        }
        let mut entering = Vec::with_capacity(fresh.len());
        for &(z, i, j) in &fresh {
            let room = |p: usize| SHARE * state.reduced[state.place[p] as usize] / count[p];
            entering.push((i, j, (mu / z).min(room(i)).min(room(j)), z));
        }
        state.enter(self.cloud, &entering, |_, _, _| f64::INFINITY, mu)
    }

    /// Gives rows to the longest pairs that bound the diameter. Their multipliers come from those of the rows at hand,
    /// as much as keeps the dual point feasible.
    pub(super) fn admit_pull(&mut self, found: &Survey, now: &Embedding, mu: f64) -> Result<()> {
        let relative = self.nearness();
        let state = &mut self.state;
        let mut lengths: Vec<f64> =
            (0..state.rows.len()).filter(|&k| !state.rows.push[k]).map(|k| state.scalar - state.rows.s[k]).collect();
        lengths.sort_unstable_by(f64::total_cmp);
        let known = |r: f64| {
            let at = lengths.partition_point(|&l| l < r);
            lengths[at.saturating_sub(1)..(at + 1).min(lengths.len())].iter().any(|&l| same_length(l, r))
        };
        // Where they are a good part of all rows, more at a time would only make for more rows: the number of steps stays.
        let room = (packed_len(state.m.rows()).max(LEAST_ROOM) / PER_ELEMENT).max(state.rows.len() / PER_ROW);
        let fresh: Vec<(f64, u32, u32)> = found.far.iter().copied().filter(|f| !known(f.0)).take(room).collect();
        self.hurry = if fresh.len() == room { self.hurry + 1 } else { self.hurry.saturating_sub(1) };
        if self.hurry >= TIES && state.rows.sums.len() < MOST_SUMS {
            self.hurry = 0;
            let beyond = found.far[0].0.min(state.scalar) * (1.0 - relative);
            let members = longer(self.cloud, now, self.settings.variant.bounding(), beyond);
            let share = 1.0 / members.len() as f64;
            let sum = weighted_outer(&self.cloud.x, members.iter().map(|&(i, j)| (i as usize, j as usize, share)));
            let room = state.scalar - linalg::inner(&sum, &state.m);
            linalg::add_scaled(&mut state.z, mu / room, &sum);
            let at = state.rows.place_sum(sum, members);
            state.rows.add(pull_row(AGGREGATE, at), room, None, mu);
        }
        if fresh.is_empty() {
            return Ok(());
        }
        // A new row that is nearly tight would block the next steps: the diameter moves away from it, for a small part
        // of the present gap, so that the multipliers that enter are a part of the total.
        let crowd = CROWD * fresh.len() as f64 / state.degree();
        let least = LIFT.max(crowd) * state.complementarity() / self.settings.c;
        let lift = least - (state.scalar - fresh[0].0);
        if lift > 0.0 {
            state.scalar += lift;
            for k in 0..state.rows.len() {
                state.rows.s[k] += lift * state.rows.b[k];
            }
        }
        // The central multipliers, scaled down where they would undo what has been gained.
        let mut entering: Vec<f64> = fresh.iter().map(|&(r, _, _)| mu / (state.scalar - r)).collect();
        let cost = entering.iter().sum::<f64>() * state.scalar;
        let part = (state.complementarity() / cost).min(1.0);
        entering.iter_mut().for_each(|l| *l *= part);
        let pairs = fresh.iter().zip(&entering).map(|(&(_, i, j), &l)| (i as usize, j as usize, l));
        linalg::add_scaled(&mut state.z, 1.0, &weighted_outer(&self.cloud.x, pairs));
        for (&(r, i, j), &l) in fresh.iter().zip(&entering) {
            state.rows.add(pull_row(i, j), state.scalar - r, Some(l), mu);
        }
        Ok(())
    }
}

impl State {
    /// Adds pushing rows `(i, j, lambda, z)`, their multipliers scaled down so that `Z` stays positive definite.
    fn enter(
        &mut self,
        cloud: &Cloud,
        entering: &[(usize, usize, f64, f64)],
        cap: impl Fn(&Cloud, usize, usize) -> f64,
        mu: f64,
    ) -> Result<()> {
        if entering.is_empty() {
            return Ok(());
        }
        let sum = weighted_outer(&cloud.x, entering.iter().map(|&(i, j, l, _)| (i, j, l)));
        let scale = (SHARE / linalg::largest_generalised(&sum, &self.z)?).min(1.0);
        linalg::add_scaled(&mut self.z, -scale, &sum);
        for &(i, j, lambda, z) in entering {
            let lambda = scale * lambda;
            let cap = cap(cloud, i, j);
            if cap.is_infinite() {
                for p in [i, j] {
                    self.reduced[self.place[p] as usize] -= lambda;
                }
            }
            self.rows.add(push_row(i, j, cap), z, Some(lambda), mu);
        }
        Ok(())
    }
}
