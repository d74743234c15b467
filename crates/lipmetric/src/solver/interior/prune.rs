//! Rows that are no longer needed: pairs that have settled well above or well below the kink.

use super::State;
use super::engine::{Engine, generalised_largest};
use super::newton::factor_of;
use super::rows::{AGGREGATE, Row, Rows};
use crate::Result;
use crate::linalg;
use crate::pairs::{Cloud, Embedding, weighted_outer};
use crate::problem::Slack;

/// How far from the kink a pair must be.
const CLEAR: f64 = 0.2;
/// How close to an end of its range the multiplier must be, in units of the mean product.
const SETTLED: f64 = 0.1;

impl Engine<'_> {
    /// Gives up the rows of settled pairs: those above the kink simply go, those below join the band. The dual point
    /// stays feasible. Does nothing unless at least half of the rows can go.
    pub(super) fn prune(&mut self) -> Result<()> {
        if self.settings.slack == Slack::Instance {
            return Ok(());
        }
        let rows = &self.state.rows;
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for k in 0..rows.len() {
            if !rows.push[k] || rows.pair(k).is_none() {
                continue;
            }
            let (z, share) = (rows.s[k] - rows.xi[k], rows.lambda[k] / rows.cap[k]);
            if z > CLEAR && share < SETTLED {
                above.push(k);
            } else if z < -CLEAR && share > 1.0 - SETTLED {
                below.push(k);
            }
        }
        if 2 * (above.len() + below.len()) < rows.len() {
            return Ok(());
        }
        if self.state.merge(self.cloud, &above, &below)? {
            let factor = factor_of(&self.state.m, "the metric")?;
            self.sides = Embedding::new(self.cloud, &factor);
            self.sides_factor = factor;
            self.edge = self.state.scalar;
            self.forget_certificate();
        }
        Ok(())
    }
}

impl State {
    /// Drops the rows `above` and moves the rows `below` into the band, if `Z` allows it.
    fn merge(&mut self, cloud: &Cloud, above: &[usize], below: &[usize]) -> Result<bool> {
        let rows = &self.rows;
        let band = (0..rows.len()).find(|&k| rows.push[k] && rows.pair(k).is_none());
        let pairs = |of: &[usize], f: &dyn Fn(usize) -> f64| {
            weighted_outer(&cloud.x, of.iter().filter_map(|&k| rows.pair(k).map(|(i, j)| (i, j, f(k)))))
        };
        let own = band.map_or(0.0, |k| 0.5 * rows.g[k]);
        let weight = own + below.iter().map(|&k| rows.cap[k]).sum::<f64>();
        let total = band.map_or(0.0, |k| own * rows.lambda[k]) + below.iter().map(|&k| rows.lambda[k]).sum::<f64>();
        let share = if weight > 0.0 { total / weight } else { 0.0 };
        let mut sum = pairs(below, &|k| rows.cap[k]);
        // What Z loses: the pairs whose multiplier grows to the band's; what it gains: the others, and the rows above.
        let mut loss = pairs(below, &|k| share * rows.cap[k] - rows.lambda[k]);
        linalg::add_scaled(&mut loss, -1.0, &pairs(above, &|k| rows.lambda[k]));
        if let Some(k) = band {
            let old = &rows.sums[rows.j[k] as usize];
            linalg::add_scaled(&mut loss, share - rows.lambda[k], old);
            linalg::add_scaled(&mut sum, 1.0, old);
        }
        if generalised_largest(&loss, &self.z)? > 0.5 {
            return Ok(false);
        }
        linalg::add_scaled(&mut self.z, -1.0, &loss);
        let mut gone = vec![false; rows.len()];
        above.iter().chain(below).copied().chain(band).for_each(|k| gone[k] = true);
        let mu = self.mu();
        let mut kept = Rows { sums: self.rows.sums.clone(), members: self.rows.members.clone(), ..Rows::default() };
        for k in (0..self.rows.len()).filter(|&k| !gone[k]) {
            kept.copy(&self.rows, k);
        }
        if weight > 0.0 {
            let z = linalg::inner(&sum, &self.m) - 2.0 * weight;
            let at = match band {
                Some(k) => {
                    let at = self.rows.j[k];
                    kept.sums[at as usize] = sum;
                    at
                }
                None => kept.place_sum(sum, Vec::new()),
            };
            let row = Row { i: AGGREGATE, j: at, push: true, cap: 1.0, b: 0.0, g: 2.0 * weight };
            kept.add(row, z, Some(share), mu);
            let last = kept.len() - 1;
            kept.settle_tightly(last, z);
        }
        self.rows = kept;
        Ok(true)
    }
}
