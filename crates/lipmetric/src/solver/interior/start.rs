//! A strictly feasible first point.

use super::admit::{pull_row, push_row};
use super::assemble::packed_len;
use super::engine::{Best, Engine, Settings, generalised_largest};
use super::newton::factor_of;
use super::rows::{AGGREGATE, Row, Rows};
use super::scan::{Query, survey, window};
use super::{NOWHERE, State};
use crate::linalg;
use crate::pairs::{Cloud, Embedding, spread, weighted_outer};
use crate::problem::{Slack, Variant};
use crate::{Matrix, Result};

/// Different-label pairs on either side of the kink that have a row from the beginning.
const NEAR: usize = 1000;
/// The same where more than this part of the pairs is below the kink: the optimum is then a compromise of many pairs, and
/// a reduced problem with few of them would lead far astray.
const MANY: usize = 50_000;
const CROWDED: f64 = 0.06;

/// `sum of w_i w_j A_ij / sum of w_i w_j` over the pairs that bound the diameter, in closed form.
pub(super) fn mean_pull(cloud: &Cloud, variant: Variant) -> Matrix {
    let p = cloud.x.cols();
    let mut out = Matrix::zeros(p, p);
    let mut start = 0;
    while start < cloud.len() {
        let end = match variant {
            Variant::Diameter => cloud.len(),
            Variant::Intra => start + cloud.class[start..].iter().take_while(|&&c| c == cloud.class[start]).count(),
        };
        let total: f64 = cloud.weight[start..end].iter().sum();
        let mut mean = vec![0.0; p];
        for i in start..end {
            mean.iter_mut().zip(cloud.x.row(i)).for_each(|(m, v)| *m += cloud.weight[i] * v / total);
        }
        for i in start..end {
            for a in 0..p {
                let t = total * cloud.weight[i] * (cloud.x[(i, a)] - mean[a]);
                for b in 0..p {
                    out[(a, b)] += t * (cloud.x[(i, b)] - mean[b]);
                }
            }
        }
        start = end;
    }
    // Weights may count a row as many equal ones: those pairs have distance zero, and do not count here.
    let (different, same) = cloud.pair_totals();
    let count = if variant == Variant::Diameter { different + same } else { same };
    out.as_mut_slice().iter_mut().for_each(|v| *v /= count);
    linalg::symmetrise(&mut out);
    out
}

impl<'a> Engine<'a> {
    /// A strictly feasible point near a multiple of `m`.
    pub(super) fn begin(cloud: &'a Cloud, settings: Settings, m: Matrix) -> Result<Self> {
        let c = settings.c;
        let m = rescaled(cloud, &settings, m)?;
        let factor = factor_of(&m, "the starting metric")?;
        let now = Embedding::new(cloud, &factor);
        let plain = Query { variant: settings.variant, window: (0.0, 0.0), beyond: f64::INFINITY, most: 0 };
        let mut rows = Rows { sums: vec![mean_pull(cloud, settings.variant)], ..Rows::default() };
        let mean = linalg::inner(&rows.sums[0], &m);
        let mut slack = Vec::new();
        let (objective, longest, mu);
        match settings.slack {
            Slack::Pair => {
                let near = if below(cloud, &now) > CROWDED { MANY } else { NEAR };
                let first = survey(cloud, &now, None, &Query { window: window(cloud, &now, near), ..plain }, None);
                objective = c * first.longest + first.hinge;
                longest = first.longest;
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
                mu = (c * longest + loss) / (first.tight.len() + cloud.len() + m.rows() + packed_len(m.rows())) as f64;
                for (s, w) in slack.iter_mut().zip(&cloud.weight) {
                    *s += mu / w;
                }
                let loss: f64 = slack.iter().zip(&cloud.weight).map(|(s, w)| s * w).sum();
                objective = c * longest + loss;
                for &(z, i, j) in &first.tight {
                    let z = z + slack[i as usize] + slack[j as usize];
                    let least = cloud.weight[i as usize].min(cloud.weight[j as usize]);
                    rows.add(push_row(i as usize, j as usize, f64::INFINITY), z, Some((mu / z).min(least)), mu);
                }
            }
        }
        let query = Query { beyond: 0.7 * longest, most: packed_len(m.rows()).max(60), ..plain };
        let far = survey(cloud, &now, None, &query, None).far;
        let scalar = 1.2 * longest;
        for &(r, i, j) in &far {
            rows.add(pull_row(i, j), scalar - r, Some(0.1 * c / far.len() as f64), mu);
        }
        let rest = if far.is_empty() { c } else { 0.9 * c };
        rows.add(pull_row(AGGREGATE, 0), scalar - mean, Some(rest), mu);
        let p = m.rows();
        let everyone = !slack.is_empty();
        let mut state = State {
            z: Matrix::zeros(p, p),
            fixed: Matrix::zeros(p, p),
            m,
            scalar,
            rows,
            active: if everyone { (0..cloud.len() as u32).collect() } else { Vec::new() },
            place: if everyone { (0..cloud.len() as u32).collect() } else { vec![NOWHERE; cloud.len()] },
            reduced: if everyone { cloud.weight.clone() } else { Vec::new() },
            slack,
        };
        state.make_dual_feasible(cloud)?;
        let best = Best { objective, diameter: longest, factor, slack: state.slack.clone() };
        let sides = best.factor.clone();
        Ok(Self::new(cloud, settings, state, now, sides, best))
    }
}

/// The part of the different-label pairs (of a sample) that are below the kink.
fn below(cloud: &Cloud, now: &Embedding) -> f64 {
    spread(cloud, now, |r| r < 2.0).1 / cloud.pair_totals().0
}

/// Rows for the pairs near the kink, and one for the sum of those below it.
fn hold_near(cloud: &Cloud, now: &Embedding, m: &Matrix, near: &[(u32, u32)], mu: f64, rows: &mut Rows) {
    let (mut below, mut count) = spread(cloud, now, |r| r < 2.0);
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
        rows.sums.push(below);
        rows.add(Row { i: AGGREGATE, j: 1, push: true, cap: 1.0, b: 0.0, g: 2.0 * count }, z, None, mu);
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
fn rescaled(cloud: &Cloud, settings: &Settings, mut m: Matrix) -> Result<Matrix> {
    let factor = factor_of(&m, "the starting metric")?;
    let part = cloud.thinned(256);
    let share = part.pair_totals().0 / cloud.pair_totals().0;
    let query = Query { variant: settings.variant, window: (0.0, 0.0), beyond: f64::INFINITY, most: 0 };
    let value = |log: f64| {
        let mut scaled = factor.clone();
        scaled.as_mut_slice().iter_mut().for_each(|v| *v *= (0.5 * log).exp());
        let s = survey(&part, &Embedding::new(&part, &scaled), None, &query, None);
        settings.c * share * s.longest + s.hinge
    };
    let (mut low, mut high) = (-12.0f64, 12.0f64);
    for _ in 0..12 {
        let (a, b) = (low + (high - low) * 0.382, low + (high - low) * 0.618);
        if value(a) <= value(b) {
            high = b;
        } else {
            low = a;
        }
    }
    let t = (0.5 * (low + high)).exp();
    m.as_mut_slice().iter_mut().for_each(|v| *v *= t);
    Ok(m)
}
