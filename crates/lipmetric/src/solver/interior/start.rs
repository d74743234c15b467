//! A strictly feasible first point.

use super::admit::{pull_row, push_row};
use super::assemble::packed_len;
use super::engine::{Best, Engine, Settings, bent, generalised_largest};
use super::newton::{factor_of, not_definite};
use super::rows::{AGGREGATE, Row, Rows};
use super::scan::{Query, survey, window};
use super::tail::{about, hold_tail};
use super::{Interior, NOWHERE, State};
use crate::linalg::{self, Cholesky};
use crate::pairs::{Cloud, Embedding, spread, weighted_outer};
use crate::problem::{Diameter, Slack, mean_pair};
use crate::{Matrix, Result};

/// Different-label pairs on either side of the kink that have a row from the beginning.
const NEAR: usize = 80;
/// The same where the first point is thought to be near the optimum.
const NEARBY: usize = 2000;
impl<'a> Engine<'a> {
    /// A strictly feasible point near a multiple of `m`.
    pub(super) fn begin(cloud: &'a Cloud, settings: Settings<'a>, m: Matrix) -> Result<Self> {
        let c = settings.c;
        let m = rescaled(cloud, &settings, m)?;
        let factor = factor_of(&m, "the starting metric")?;
        let now = Embedding::new(cloud, &factor);
        let plain = Query { variant: settings.variant, window: (0.0, 0.0), beyond: f64::INFINITY, most: 0 };
        let mut rows =
            Rows { sums: vec![mean_pair(cloud, settings.variant)], members: vec![Vec::new()], ..Rows::default() };
        let mean = linalg::inner(&rows.sums[0], &m);
        let mut slack = Vec::new();
        let (mut objective, longest, mu);
        match settings.slack {
            Slack::Pair => {
                let first = survey(cloud, &now, None, &Query { window: window(cloud, &now, NEAR), ..plain }, None);
                longest = first.longest;
                objective = c * diameter(cloud, &settings, longest, mean, &factor) + first.hinge;
                mu = objective / (2 * first.near.len() + m.rows() + packed_len(m.rows())) as f64;
                hold_near(cloud, &now, &m, &first.near, mu, &mut rows);
            }
            Slack::Instance => {
                let nothing = vec![0.0; cloud.len()];
                let first = survey(cloud, &now, None, &plain, Some((&nothing, f64::INFINITY)));
                longest = first.longest;
                slack = vec![0.0f64; cloud.len()];
                for &(z, i, j) in &first.tight {
                    for p in [i, j] {
                        slack[p as usize] = slack[p as usize].max(-0.5 * z);
                    }
                }
                let loss: f64 = slack.iter().zip(&cloud.weight).map(|(s, w)| s * w).sum();
                mu = (c * diameter(cloud, &settings, longest, mean, &factor) + loss)
                    / (first.tight.len() + cloud.len() + m.rows() + packed_len(m.rows())) as f64;
                for (s, w) in slack.iter_mut().zip(&cloud.weight) {
                    *s += mu / w;
                }
                let loss: f64 = slack.iter().zip(&cloud.weight).map(|(s, w)| s * w).sum();
                objective = c * diameter(cloud, &settings, longest, mean, &factor) + loss;
                for &(z, i, j) in &first.tight {
                    let z = z + slack[i as usize] + slack[j as usize];
                    let least = cloud.weight[i as usize].min(cloud.weight[j as usize]);
                    rows.add(push_row(i as usize, j as usize, f64::INFINITY), z, Some((mu / z).min(least)), mu);
                }
            }
        }
        let p = m.rows();
        let mut extent = diameter(cloud, &settings, longest, mean, &factor);
        let (mut scalar, mut drawn) = (0.0, Matrix::zeros(p, p));
        match settings.diameter {
            Diameter::Maximum => {
                let query = Query { beyond: 0.7 * longest, most: packed_len(p).max(60), ..plain };
                let far = survey(cloud, &now, None, &query, None).far;
                scalar = 1.2 * longest;
                for &(r, i, j) in &far {
                    rows.add(pull_row(i, j), scalar - r, Some(0.1 * c / far.len() as f64), mu);
                }
                let rest = if far.is_empty() { c } else { 0.9 * c };
                rows.add(pull_row(AGGREGATE, 0), scalar - mean, Some(rest), mu);
            }
            Diameter::Cvar(level) => {
                let exact;
                (scalar, exact) = hold_tail(cloud, &settings, level, &m, &factor, mu, &mut rows);
                // So far the diameter was only known from a sample.
                objective += c * (exact - extent);
                extent = exact;
            }
            Diameter::Mean => linalg::add_scaled(&mut drawn, c, &rows.sums[0]),
        }
        let everyone = !slack.is_empty();
        let mut state = State {
            z: Matrix::zeros(p, p),
            fixed: Matrix::zeros(p, p),
            drawn,
            anchor: settings.anchor.map(|(gamma, reference)| (gamma, reference.clone())),
            m,
            scalar,
            rows,
            active: if everyone { (0..cloud.len() as u32).collect() } else { Vec::new() },
            place: if everyone { (0..cloud.len() as u32).collect() } else { vec![NOWHERE; cloud.len()] },
            reduced: if everyone { cloud.weight.clone() } else { Vec::new() },
            slack,
        };
        state.make_dual_feasible(cloud)?;
        let objective = objective + bent(settings.anchor, &state.m);
        let best = Best { objective, diameter: extent, factor, slack: state.slack.clone() };
        let sides = best.factor.clone();
        Ok(Self::new(cloud, settings, state, now, sides, best))
    }
}

impl<'a> Engine<'a> {
    /// A central point at `near`, the metric (and, with a slack per instance, the slacks) of a similar problem, which is
    /// thought to be within the relative gap `likely(objective)` of the optimum. The dual point need not be feasible.
    pub(super) fn begin_at(
        cloud: &'a Cloud,
        settings: Settings<'a>,
        near: Interior,
        likely: impl Fn(f64) -> f64,
    ) -> Result<Self> {
        let c = settings.c;
        let Interior { m, slack } = near;
        let p = m.rows();
        let factor = factor_of(&m, "the starting metric")?;
        let now = Embedding::new(cloud, &factor);
        let plain = Query { variant: settings.variant, window: (0.0, 0.0), beyond: f64::INFINITY, most: 0 };
        let mut rows =
            Rows { sums: vec![mean_pair(cloud, settings.variant)], members: vec![Vec::new()], ..Rows::default() };
        let mean = linalg::inner(&rows.sums[0], &m);
        let (first, objective) = match settings.slack {
            Slack::Pair => {
                let window = window(cloud, &now, NEARBY);
                let first = survey(cloud, &now, None, &Query { window, ..plain }, None);
                let objective = c * diameter(cloud, &settings, first.longest, mean, &factor) + first.hinge;
                (first, objective)
            }
            Slack::Instance => {
                let first = survey(cloud, &now, None, &plain, Some((&slack, 0.3)));
                let loss: f64 = slack.iter().zip(&cloud.weight).map(|(s, w)| s * w).sum();
                let objective = c * diameter(cloud, &settings, first.longest, mean, &factor) + loss;
                (first, objective)
            }
        };
        let mut objective = objective + bent(settings.anchor, &m);
        let gap = likely(objective);
        let mut far = Vec::new();
        if settings.diameter == Diameter::Maximum {
            let most = 2 * packed_len(p).max(60);
            let query = Query { beyond: (1.0 - 2.0 * gap) * first.longest, most, ..plain };
            far = survey(cloud, &now, None, &query, None).far;
        }
        let held = 2 * first.near.len() + first.tight.len() + slack.len();
        let mu = gap * objective / (held + p + far.len()) as f64;
        match settings.slack {
            Slack::Pair => hold_near(cloud, &now, &m, &first.near, mu, &mut rows),
            Slack::Instance => {
                for &(z, i, j) in first.tight.iter().filter(|t| t.0 > 0.0) {
                    rows.add(push_row(i as usize, j as usize, f64::INFINITY), z, None, mu);
                }
            }
        }
        let mut extent = diameter(cloud, &settings, first.longest, mean, &factor);
        let (mut scalar, mut drawn) = (0.0, Matrix::zeros(p, p));
        match settings.diameter {
            Diameter::Maximum => {
                // The diameter at which the central multipliers add up to `c`.
                let total = |d: f64| mu / (d - mean) + far.iter().map(|f| mu / (d - f.0)).sum::<f64>();
                let mut low = first.longest;
                scalar = first.longest + mu * (far.len() + 1) as f64 / c;
                for _ in 0..60 {
                    let d = 0.5 * (low + scalar);
                    if total(d) > c {
                        low = d;
                    } else {
                        scalar = d;
                    }
                }
                for &(r, i, j) in &far {
                    rows.add(pull_row(i, j), scalar - r, None, mu);
                }
                rows.add(pull_row(AGGREGATE, 0), scalar - mean, None, mu);
            }
            Diameter::Cvar(level) => {
                let exact;
                (scalar, exact) = hold_tail(cloud, &settings, level, &m, &factor, mu, &mut rows);
                // So far the diameter was only known from a sample.
                objective += c * (exact - extent);
                extent = exact;
            }
            Diameter::Mean => linalg::add_scaled(&mut drawn, c, &rows.sums[0]),
        }
        let everyone = if slack.is_empty() { 0 } else { cloud.len() as u32 };
        let mut state = State {
            z: Matrix::zeros(p, p),
            fixed: Matrix::zeros(p, p),
            drawn,
            anchor: settings.anchor.map(|(gamma, reference)| (gamma, reference.clone())),
            m,
            scalar,
            rows,
            active: (0..everyone).collect(),
            place: if everyone > 0 { (0..everyone).collect() } else { vec![NOWHERE; cloud.len()] },
            reduced: slack.iter().map(|s| mu / s).collect(),
            slack: slack.clone(),
        };
        // `Z` is what the multipliers make it, as far as that is positive definite and near the centre.
        let (mut z, push) = state.sums(cloud);
        linalg::add_scaled(&mut z, -1.0, &push);
        if let Some((gamma, reference)) = &state.anchor {
            linalg::add_scaled(&mut z, *gamma, &state.m);
            linalg::add_scaled(&mut z, -gamma, reference);
        }
        let eigen = linalg::symmetric_eigen(&linalg::congruence(&z, &factor))?;
        let mut half = eigen.vectors.clone();
        for r in 0..p {
            for (v, &t) in half.row_mut(r).iter_mut().zip(&eigen.values) {
                *v *= t.clamp(0.1 * mu, 10.0 * mu).sqrt();
            }
        }
        let central = linalg::product_transposed(&half, &half);
        state.z = Cholesky::of(&state.m).ok_or_else(|| not_definite("the starting metric"))?.unwhiten(&central);
        let best = Best { objective, diameter: extent, factor: factor.clone(), slack };
        Ok(Self::new(cloud, settings, state, now, factor, best))
    }
}

/// Rows for the pairs near the kink, and one for the sum of those below it.
fn hold_near(cloud: &Cloud, now: &Embedding, m: &Matrix, near: &[(u32, u32)], mu: f64, rows: &mut Rows) {
    let (mut below, mut count) = spread(cloud, now, |r, same| !same && r < 2.0);
    let mut own = Vec::new();
    for &(i, j) in near {
        let (i, j) = (i as usize, j as usize);
        let (w, r) = (cloud.pair_weight(i, j), now.squared_distance(i, j));
        if r < 2.0 {
            own.push((i, j, w));
            count -= w;
        }
        rows.add(push_row(i, j, w), r - 2.0, None, mu);
    }
    linalg::add_scaled(&mut below, -1.0, &weighted_outer(&cloud.x, own.into_iter()));
    if count > 1e-9 {
        let z = linalg::inner(&below, m) - 2.0 * count;
        let at = rows.place_sum(below, Vec::new());
        rows.add(Row { i: AGGREGATE, j: at, push: true, cap: 1.0, b: 0.0, g: 2.0 * count }, z, None, mu);
    }
}

impl State {
    /// Scales the multipliers that push so that `Z` (and the instances' multipliers) are well inside their cones.
    fn make_dual_feasible(&mut self, cloud: &Cloud) -> Result<()> {
        let (pull, push) = self.sums(cloud);
        let mut scale = (0.5 / generalised_largest(&push, &pull)?).min(1.0);
        if !self.active.is_empty() {
            let mut load = vec![0.0; cloud.len()];
            for (k, (i, j)) in self.pushing() {
                load[i] += self.rows.lambda[k];
                load[j] += self.rows.lambda[k];
            }
            for (l, w) in load.iter().zip(&cloud.weight) {
                scale = scale.min(0.5 * w / l);
            }
            for (u, l) in self.reduced.iter_mut().zip(&load) {
                *u -= scale * l;
            }
        }
        for k in 0..self.rows.len() {
            if self.rows.push[k] {
                self.rows.lambda[k] *= scale;
            }
        }
        self.z = pull;
        linalg::add_scaled(&mut self.z, -scale, &push);
        Ok(())
    }

    /// The rows of pairs that push.
    fn pushing(&self) -> Vec<(usize, (usize, usize))> {
        (0..self.rows.len()).filter(|&k| self.rows.push[k]).filter_map(|k| Some((k, self.rows.pair(k)?))).collect()
    }
}

/// About the best multiple of `M` (for the pair form's objective, which is a good guess for either).
pub(super) fn rescaled(cloud: &Cloud, settings: &Settings<'_>, mut m: Matrix) -> Result<Matrix> {
    let factor = factor_of(&m, "the starting metric")?;
    let part = cloud.thinned(256);
    let share = part.pair_totals().0 / cloud.pair_totals().0;
    let query = Query { variant: settings.variant, window: (0.0, 0.0), beyond: f64::INFINITY, most: 0 };
    let mean = linalg::inner(&mean_pair(&part, settings.variant), &m);
    let now = Embedding::new(&part, &factor);
    let longest = survey(&part, &now, None, &query, None).longest;
    let base = settings.c * share * diameter(&part, settings, longest, mean, &factor);
    let mut pushed = Vec::new();
    for i in 0..part.len() {
        for j in (0..i).filter(|&j| part.class[i] != part.class[j]) {
            pushed.push((now.squared_distance(i, j), part.pair_weight(i, j)));
        }
    }
    let value = |log: f64| {
        let t = log.exp();
        t * base + pushed.iter().map(|(d, w)| w * (2.0 - t * d).max(0.0)).sum::<f64>()
    };
    // Golden section.
    let (mut low, mut high) = (-12.0f64, 12.0f64);
    let inner = |low: f64, high: f64| (low + 0.381_966 * (high - low), low + 0.618_034 * (high - low));
    let (mut a, mut b) = inner(low, high);
    let (mut at_a, mut at_b) = (value(a), value(b));
    for _ in 0..12 {
        if at_a <= at_b {
            (high, b, at_b) = (b, a, at_a);
            a = inner(low, high).0;
            at_a = value(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = inner(low, high).1;
            at_b = value(b);
        }
    }
    let t = (0.5 * (low + high)).exp();
    m.as_mut_slice().iter_mut().for_each(|v| *v *= t);
    Ok(m)
}

/// The diameter (for the mean of the longest distances, about), of which the largest and the mean distance are known.
fn diameter(cloud: &Cloud, settings: &Settings<'_>, longest: f64, mean: f64, factor: &Matrix) -> f64 {
    match settings.diameter {
        Diameter::Maximum => longest,
        Diameter::Cvar(level) => about(cloud, factor, settings.variant, level),
        Diameter::Mean => mean,
    }
}
