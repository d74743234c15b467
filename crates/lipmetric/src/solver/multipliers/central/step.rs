//! The Newton step.

use super::super::scaling::{Scaling, add_gram, columns, factored};
use super::{Central, Spot};
use crate::linalg::{self, Eigen, pack, pack_square, packed_len, unpack};
use crate::solver::working_set::model::differences;
use crate::{Matrix, Result};

/// A step goes no further than this part of the way to where a row, a multiplier, `M` or `Z` is not positive any more.
const INSIDE: f64 = 0.9;

/// The Newton system at a point, solved for every `mu`.
pub(super) struct System {
    scaling: Scaling,
    /// `Z G V^-1/2`: times its transpose it is `Z`.
    dual: Matrix,
    pull: Matrix,
    mean: Matrix,
    pushed: Matrix,
    /// `eta / s`.
    omega: Vec<f64>,
    /// The step is `fixed + mu each`.
    fixed: Matrix,
    each: Matrix,
}

/// A step towards some `mu`.
pub(super) struct Step {
    pub(super) mu: f64,
    /// How `t` changes.
    pub(super) t: f64,
    /// What the value falls by to first order.
    pub(super) decrement: f64,
    /// How far the metric may go, and the multipliers, in parts of the step.
    pub(super) reach: (f64, f64),
    /// `G V^1/2`, and the change of `M` in these coordinates.
    root: Matrix,
    metric: Eigen,
    dual: Matrix,
    multiplier: Eigen,
    eta: Vec<f64>,
}

impl System {
    pub(super) fn of(central: &mut Central<'_>, at: &Spot) -> Result<Self> {
        let (p, x) = (central.cloud.x.cols(), &central.cloud.x);
        let wanted = central.wanted();
        let zone = &at.seen.zone;
        central.every = (at.seen.zone_count / (2 * wanted)).max(1) as u64;
        let listed: f64 = zone.iter().map(|z| z.2).sum();
        let stands_for = if listed > 0.0 { at.seen.zone_weight / listed } else { 0.0 };
        let skip = zone.len().div_ceil(wanted).max(1);
        let pairs = zone.iter().step_by(skip);
        let weights = pairs.clone().map(|z| z.2 * stands_for * skip as f64 / central.width);

        let scaling = Scaling::of(&at.root, &central.dual)?;
        let z = linalg::product_transposed(&central.dual, &central.dual);
        let dual = columns(&linalg::product(&z, &scaling.map), &scaling.values, |v| v.powf(-0.5));
        let push = linalg::product(&differences(x, &mut pairs.clone().map(|z| (z.0, z.1, 1.0))), &scaling.map);
        let long = &mut central.model.pull.iter().map(|pair| (pair.0, pair.1, 1.0));
        let pull = linalg::product(&differences(x, long), &scaling.map);
        let mean = linalg::congruence(&central.mean, &scaling.map);
        let pushed = linalg::congruence(&at.seen.push, &scaling.map);
        let omega: Vec<f64> = central.eta.iter().zip(&at.slack).map(|(eta, s)| eta / s).collect();
        let mut system =
            Self { scaling, dual, pull, mean, pushed, omega, fixed: Matrix::zeros(p, p), each: Matrix::zeros(p, p) };
        system.solve(&push, weights.collect(), (central.settings.c, central.damping), at)?;
        Ok(system)
    }

    /// The coordinates of the outer product of a long pair, or of the mean.
    fn feature(&self, k: usize, f: &mut [f64]) {
        match k < self.pull.rows() {
            true => pack_square(self.pull.row(k), f),
            false => f.copy_from_slice(&pack(&self.mean)),
        }
    }

    fn solve(&mut self, push: &Matrix, weights: Vec<f64>, (c, damping): (f64, f64), at: &Spot) -> Result<()> {
        let p = self.mean.rows();
        let q = packed_len(p);
        let mut h = Matrix::zeros(q, q);
        add_gram(&mut h, push.rows(), |k, f| {
            pack_square(push.row(k), f);
            let t = weights[k].sqrt();
            f.iter_mut().for_each(|v| *v *= t);
        });
        // Of the maximum: what the long pairs differ by from their mean.
        let total: f64 = self.omega.iter().sum();
        let (mut centre, mut even, mut f) = (vec![0.0; q], vec![0.0; q], vec![0.0; q]);
        for (k, t) in self.omega.iter().enumerate() {
            self.feature(k, &mut f);
            centre.iter_mut().zip(&f).for_each(|(c, v)| *c += t / total * v);
            even.iter_mut().zip(&f).for_each(|(e, v)| *e += v / at.slack[k]);
        }
        add_gram(&mut h, self.omega.len(), |k, f| {
            self.feature(k, f);
            let t = self.omega[k].sqrt();
            f.iter_mut().zip(&centre).for_each(|(v, c)| *v = t * (*v - c));
        });
        let mut fixed = pack(&self.pushed);
        fixed.iter_mut().zip(&centre).for_each(|(v, m)| *v -= c * m);
        let inverse: f64 = at.slack.iter().map(|s| 1.0 / s).sum();
        let mut each: Vec<f64> = even.iter().zip(&centre).map(|(e, c)| inverse * c - e).collect();
        let mut diagonal = Matrix::zeros(p, p);
        (0..p).for_each(|k| diagonal[(k, k)] = 1.0 / self.scaling.values[k]);
        each.iter_mut().zip(pack(&diagonal)).for_each(|(e, v)| *e += v);
        let factor = factored(h, 1.0 + damping)?;
        factor.solve(&mut fixed);
        factor.solve(&mut each);
        (self.fixed, self.each) = (unpack(&fixed, p), unpack(&each, p));
        Ok(())
    }

    /// The sum of all products of a row and its multiplier.
    pub(super) fn products(&self, eta: &[f64], slack: &[f64]) -> f64 {
        eta.iter().zip(slack).map(|(e, s)| e * s).sum::<f64>() + self.scaling.values.iter().map(|v| v * v).sum::<f64>()
    }

    /// The step towards this `mu`.
    pub(super) fn step(&self, central: &Central<'_>, at: &Spot, mu: f64) -> Result<Step> {
        let (p, c) = (self.mean.rows(), central.settings.c);
        let values = &self.scaling.values;
        let mut d = self.fixed.clone();
        linalg::add_scaled(&mut d, mu, &self.each);
        let image = linalg::product(&self.pull, &d);
        let mut lengths: Vec<f64> =
            (0..self.pull.rows()).map(|k| linalg::dot(image.row(k), self.pull.row(k))).collect();
        lengths.push(linalg::inner(&self.mean, &d));
        let inverse: f64 = at.slack.iter().map(|s| 1.0 / s).sum();
        let moved: f64 = self.omega.iter().zip(&lengths).map(|(w, r)| w * r).sum();
        let t = (mu * inverse - c + moved) / self.omega.iter().sum::<f64>();
        let each = at.slack.iter().zip(&lengths).zip(central.eta.iter().zip(&self.omega));
        let eta: Vec<f64> = each.map(|((s, r), (eta, w))| mu / s - eta - w * (t - r)).collect();

        let mut metric = d.clone();
        for a in 0..p {
            for b in 0..p {
                metric[(a, b)] /= (values[a] * values[b]).sqrt();
            }
        }
        let mut multiplier = metric.clone();
        multiplier.as_mut_slice().iter_mut().for_each(|v| *v = -*v);
        (0..p).for_each(|k| multiplier[(k, k)] += mu / (values[k] * values[k]) - 1.0);
        let (metric, multiplier) = (linalg::symmetric_eigen(&metric)?, linalg::symmetric_eigen(&multiplier)?);
        let slacks = at.slack.iter().zip(&lengths).map(|(s, r)| (t - r) / s);
        let primal = slacks.chain(metric.values.iter().copied()).fold(0.0, f64::min);
        let etas = central.eta.iter().zip(&eta).map(|(eta, d)| d / eta);
        let dual = etas.chain(multiplier.values.iter().copied()).fold(0.0, f64::min);
        let reach = |least: f64| if least < 0.0 { (INSIDE / -least).min(1.0) } else { 1.0 };

        // The slope of `c t - mu sum log s - mu log det M + hinges`.
        let pull: f64 = at.slack.iter().zip(&lengths).map(|(s, r)| mu / s * (t - r)).sum();
        let slope = c * t - pull - mu * metric.values.iter().sum::<f64>() - linalg::inner(&self.pushed, &d);
        let root = columns(&self.scaling.map, values, f64::sqrt);
        let reach = (reach(primal), reach(dual));
        Ok(Step { mu, t, decrement: -slope, reach, root, metric, dual: self.dual.clone(), multiplier, eta })
    }
}

impl Step {
    /// The factor of the metric after a part of the step, and what its logarithmic determinant grows by.
    pub(super) fn moved(&self, t: f64) -> (Matrix, f64) {
        let root =
            linalg::product(&self.root, &columns(&self.metric.vectors, &self.metric.values, |d| (1.0 + t * d).sqrt()));
        (root, self.metric.values.iter().map(|d| (t * d).ln_1p()).sum())
    }

    /// Takes the multipliers along, where the metric has gone this part of the step.
    pub(super) fn follow(&self, eta: &mut [f64], dual: &mut Matrix, t: f64) {
        // As far as they may go, unless the metric had to stop early for the hinges' sake.
        let part = if t < self.reach.0 { t.min(self.reach.1) } else { self.reach.1 };
        eta.iter_mut().zip(&self.eta).for_each(|(eta, d)| *eta += part * d);
        let stretched =
            columns(&self.multiplier.vectors, &self.multiplier.values, |d| (1.0 + part * d).max(0.0).sqrt());
        *dual = linalg::product(&self.dual, &stretched);
    }
}
