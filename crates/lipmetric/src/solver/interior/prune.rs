//! Rows that are no longer needed: pairs that have settled well on one side of their kink, the margin or the edge of the tail.

use super::State;
use super::engine::Engine;
use super::newton::factor_of;
use super::rows::{AGGREGATE, Row, Rows};
use crate::linalg;
use crate::pairs::{Cloud, Embedding, weighted_outer};
use crate::{Matrix, Result};

/// How far from the kink a pair must be.
const CLEAR: f64 = 0.2;
/// How close to an end of its range the multiplier must be, in units of the mean product.
const SETTLED: f64 = 0.1;
/// How far above the kink a pair must be whose row goes whatever its multiplier is.
const FREE: f64 = 0.3;
/// How much shorter than the diameter a pair must be.
const SHORT: f64 = 0.2;

impl Engine<'_> {
    /// Gives up the rows of settled pairs: those on the side without a multiplier simply go, the others join the band. The
    /// dual point stays feasible. Rows that push, and rows that pull, go only if they are at least this part of all rows.
    pub(super) fn prune(&mut self, part: f64) -> Result<()> {
        let mut merged = false;
        for push in [true, false] {
            let (free, costly) = self.state.settled(push);
            let count = (free.len() + costly.len()) as f64;
            if count > 0.0 && count >= part * self.state.rows.len() as f64 {
                merged |= self.state.merge(self.cloud, push, &free, &costly)?;
            }
        }
        if merged { self.take_sides() } else { Ok(()) }
    }

    /// Gives up the rows of different-label pairs that are well above the kink, whatever their multipliers: under the present metric
    /// and, where the problem has ended since, also under the one that it ended with, whose factor that is. The dual point stays
    /// feasible, and proves a little less.
    pub(super) fn prune_free(&mut self, ended: Option<&Matrix>) -> Result<()> {
        let rows = &self.state.rows;
        let lengths =
            ended.map(|factor| rows.products(self.cloud, &linalg::product_transposed(factor, factor), factor));
        let is_free = |k: &usize| {
            let pair = rows.push[*k] && rows.cap[*k].is_finite() && rows.pair(*k).is_some();
            let then = lengths.as_ref().map_or(f64::INFINITY, |lengths| lengths[*k] - 2.0);
            pair && (rows.s[*k] - rows.xi[*k]).min(then) > FREE
        };
        let free: Vec<usize> = (0..rows.len()).filter(is_free).collect();
        if free.is_empty() || !self.state.merge(self.cloud, true, &free, &[])? {
            return Ok(());
        }
        self.take_sides()
    }

    /// Pairs without a row are on the side of the kink, and of the edge of the tail, where they are now.
    fn take_sides(&mut self) -> Result<()> {
        let factor = factor_of(&self.state.m, "the metric")?;
        self.sides = Embedding::new(self.cloud, &factor);
        self.sides_factor = factor;
        self.edge = self.state.scalar;
        self.forget_certificate();
        Ok(())
    }
}

impl State {
    /// Drops the rows of pairs that are far from bounding the diameter, and, with a slack per row, of those far from their
    /// margin; the dual point loses a little of its feasibility where they pull.
    pub(super) fn drop_idle(&mut self, cloud: &Cloud) {
        let rows = &self.rows;
        let idle = |k: usize| {
            let hard = rows.pair(k).is_some() && rows.cap[k].is_infinite();
            hard && rows.s[k] > if rows.push[k] { CLEAR } else { SHORT * self.scalar }
        };
        let mut kept = Rows { sums: rows.sums.clone(), members: rows.members.clone(), ..Rows::default() };
        (0..rows.len()).filter(|&k| !idle(k)).for_each(|k| kept.copy(rows, k));
        let pushing = (0..rows.len()).filter(|&k| idle(k) && rows.push[k]);
        let gone: Vec<(usize, usize, f64)> =
            pushing.filter_map(|k| rows.pair(k).map(|(i, j)| (i, j, rows.lambda[k]))).collect();
        linalg::add_scaled(&mut self.z, 1.0, &weighted_outer(&cloud.x, gone.iter().copied()));
        for &(i, j, lambda) in &gone {
            for p in [i, j] {
                self.reduced[self.place[p] as usize] += lambda;
            }
        }
        self.rows = kept;
    }

    /// The rows of pairs that have settled on the side without a multiplier, and on the other.
    fn settled(&self, push: bool) -> (Vec<usize>, Vec<usize>) {
        let rows = &self.rows;
        let clear = if push { CLEAR } else { 0.5 * CLEAR * self.scalar };
        let (mut free, mut costly) = (Vec::new(), Vec::new());
        for k in 0..rows.len() {
            if rows.push[k] != push || rows.cap[k].is_infinite() || rows.pair(k).is_none() {
                continue;
            }
            let (z, share) = (rows.s[k] - rows.xi[k], rows.lambda[k] / rows.cap[k]);
            if z > clear && share < SETTLED {
                free.push(k);
            } else if z < -clear && share > 1.0 - SETTLED {
                costly.push(k);
            }
        }
        (free, costly)
    }

    /// Drops the rows `free` and moves the rows `costly` into the band, if `Z` allows it.
    fn merge(&mut self, cloud: &Cloud, push: bool, free: &[usize], costly: &[usize]) -> Result<bool> {
        let rows = &self.rows;
        let band = (0..rows.len()).find(|&k| rows.push[k] == push && rows.pair(k).is_none() && rows.cap[k].is_finite());
        let pairs = |of: &[usize], f: &dyn Fn(usize) -> f64| {
            weighted_outer(&cloud.x, of.iter().filter_map(|&k| rows.pair(k).map(|(i, j)| (i, j, f(k)))))
        };
        let own = band.map_or(0.0, |k| if push { 0.5 * rows.g[k] } else { rows.b[k] });
        let weight = own + costly.iter().map(|&k| rows.cap[k]).sum::<f64>();
        let total = band.map_or(0.0, |k| own * rows.lambda[k]) + costly.iter().map(|&k| rows.lambda[k]).sum::<f64>();
        let share = if weight > 0.0 { total / weight } else { 0.0 };
        let mut sum = pairs(costly, &|k| rows.cap[k]);
        // How `sum lambda A` changes: for the pairs in the band the multiplier becomes the band's, the free ones lose theirs.
        let mut change = pairs(costly, &|k| share * rows.cap[k] - rows.lambda[k]);
        linalg::add_scaled(&mut change, -1.0, &pairs(free, &|k| rows.lambda[k]));
        if let Some(k) = band {
            let old = &rows.sums[rows.j[k] as usize];
            linalg::add_scaled(&mut change, share - rows.lambda[k], old);
            linalg::add_scaled(&mut sum, 1.0, old);
        }
        if !push {
            change.as_mut_slice().iter_mut().for_each(|v| *v = -*v);
        }
        if linalg::largest_generalised(&change, &self.z)? > 0.5 {
            return Ok(false);
        }
        linalg::add_scaled(&mut self.z, -1.0, &change);
        let mut gone = vec![false; rows.len()];
        free.iter().chain(costly).copied().chain(band).for_each(|k| gone[k] = true);
        let mu = self.mu();
        let mut kept = Rows { sums: self.rows.sums.clone(), members: self.rows.members.clone(), ..Rows::default() };
        for k in (0..self.rows.len()).filter(|&k| !gone[k]) {
            kept.copy(&self.rows, k);
        }
        if weight > 0.0 {
            let (b, g) = if push { (0.0, 2.0 * weight) } else { (weight, 0.0) };
            let product = linalg::inner(&sum, &self.m);
            let z = if push { product - g } else { b * self.scalar - product };
            let at = match band {
                Some(k) => {
                    let at = self.rows.j[k];
                    kept.sums[at as usize] = sum;
                    at
                }
                None => kept.place_sum(sum, Vec::new()),
            };
            kept.add(Row { i: AGGREGATE, j: at, push, cap: 1.0, b, g }, z, Some(share), mu);
            let last = kept.len() - 1;
            kept.settle_tightly(last, z);
        }
        self.rows = kept;
        Ok(true)
    }
}
