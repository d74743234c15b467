//! A strictly feasible first point.

use super::admit::{pull_row, push_row};
use super::engine::{Best, Engine, Settings, bent};
use super::newton::{factor_of, not_definite};
use super::rows::{AGGREGATE, Row, Rows};
use super::scan::{Survey, survey};
use super::tail::{about, hold_tail, measured};
use super::{Interior, NOWHERE, State};
use crate::linalg::packed_len;
use crate::linalg::{self, Cholesky};
use crate::pairs::pass::{Beyond, Long, Query, spread, window};
use crate::pairs::{Cloud, Embedding, weighted_outer};
use crate::problem::{Diameter, Slack, mean_pair};
use crate::{Matrix, Result};

/// Different-label pairs on either side of the kink that have a row from the beginning.
const NEAR: usize = 80;
/// The same where the first point is thought to be near the optimum.
const NEARBY: usize = 2000;
/// Pairs that bound the diameter have a row from the beginning where they exceed this part of the longest one, ...
const LONG: f64 = 0.7;
/// ... as many as there are elements of `M`, and no fewer than this.
const LEAST_LONG: usize = 60;
/// The first diameter, in units of the longest pair: well inside the bounds.
const ROOMY: f64 = 1.2;
/// The part of `c` that the long pairs share at first; the rest goes to the mean of all pairs, which has full rank.
const SHARED: f64 = 0.1;
/// With a slack per row: pairs whose margin is below this have a row where the first point is thought to be near the optimum.
const TIGHT: f64 = 0.3;
/// Halvings of the interval in which the diameter of a central point is sought: it is then known to rounding.
const HALVINGS: usize = 60;
/// How far the eigenvalues of `M Z` of a first point may be from their mean, as factors.
const CENTRAL: (f64, f64) = (0.1, 10.0);
/// How much of the way to the end of their cones the first multipliers go.
const INSIDE: f64 = 0.5;
/// Weight of the pairs below the kink that is rounding.
const NO_WEIGHT: f64 = 1e-9;

/// A first point under way: the metric, and the rows that were given so far.
struct Draft<'a> {
    cloud: &'a Cloud,
    settings: Settings<'a>,
    m: Matrix,
    factor: Matrix,
    now: Embedding,
    rows: Rows,
    /// The length of the mean of the pairs that bound the diameter.
    mean: f64,
}

/// What bounds the diameter: the scalar variable, what pulls without a row, and the diameter itself.
struct Pulled {
    scalar: f64,
    drawn: Matrix,
    extent: f64,
}

impl<'a> Draft<'a> {
    fn new(cloud: &'a Cloud, settings: Settings<'a>, m: Matrix) -> Result<Self> {
        let factor = factor_of(&m, "the starting metric")?;
        let now = Embedding::new(cloud, &factor);
        let rows =
            Rows { sums: vec![mean_pair(cloud, settings.variant)], members: vec![Vec::new()], ..Rows::default() };
        let mean = linalg::inner(&rows.sums[0], &m);
        Ok(Self { cloud, settings, m, factor, now, rows, mean })
    }

    /// Looks for nothing in particular.
    fn query(&self) -> Query {
        Query::plain(self.settings.variant.bounding())
    }

    /// A pass that lists about `target` different-label pairs on either side of the kink.
    fn near(&self, target: usize) -> Survey {
        let window = window(self.cloud, &self.now, target);
        survey(self.cloud, &self.now, None, &Query { window, ..self.query() }, None)
    }

    /// A pass that lists the pairs with small margins under these slacks.
    fn tight(&self, slack: &[f64], margin: f64) -> Survey {
        survey(self.cloud, &self.now, None, &self.query(), Some((slack, margin)))
    }

    /// The longest pairs.
    fn far(&self, beyond: f64, most: usize) -> Vec<Long> {
        let beyond = Beyond::Length(beyond);
        survey(self.cloud, &self.now, None, &Query { beyond, most, ..self.query() }, None).far
    }

    /// `c` times the diameter, as far as it is known from the longest pair.
    fn pull_cost(&self, longest: f64) -> f64 {
        self.settings.c * diameter(self.cloud, &self.settings, longest, self.mean, &self.factor)
    }

    fn hold_near(&mut self, near: &[(u32, u32)], mu: f64) {
        hold_near(self.cloud, &self.now, &self.m, near, mu, &mut self.rows);
    }

    /// Slack per row: the smallest slacks and a little more, rows for all pairs that ask for one, the objective and `mu`.
    fn hold_all(&mut self) -> (Vec<f64>, f64, f64, f64) {
        let cloud = self.cloud;
        let mut slack = vec![0.0f64; cloud.len()];
        let first = self.tight(&slack, f64::INFINITY);
        for &(z, i, j) in &first.tight {
            for p in [i, j] {
                slack[p as usize] = slack[p as usize].max(-0.5 * z);
            }
        }
        let p = self.m.rows();
        let mu = (self.pull_cost(first.longest) + cost(cloud, &slack))
            / (first.tight.len() + cloud.len() + p + packed_len(p)) as f64;
        for (s, w) in slack.iter_mut().zip(&cloud.weight) {
            *s += mu / w;
        }
        let objective = self.pull_cost(first.longest) + cost(cloud, &slack);
        for &(z, i, j) in &first.tight {
            let z = z + slack[i as usize] + slack[j as usize];
            let least = cloud.weight[i as usize].min(cloud.weight[j as usize]);
            self.rows.add(push_row(i as usize, j as usize, f64::INFINITY), z, Some((mu / z).min(least)), mu);
        }
        (slack, first.longest, objective, mu)
    }

    /// Rows for what bounds the diameter; those of the maximum by `maximum`, which tells the scalar variable.
    fn hold_diameter(
        &mut self,
        longest: f64,
        mu: f64,
        objective: &mut f64,
        maximum: impl FnOnce(&mut Self) -> f64,
    ) -> Pulled {
        let (p, c) = (self.m.rows(), self.settings.c);
        let mut extent = diameter(self.cloud, &self.settings, longest, self.mean, &self.factor);
        let (mut scalar, mut drawn) = (0.0, Matrix::zeros(p, p));
        match self.settings.diameter {
            Diameter::Maximum => scalar = maximum(self),
            Diameter::Cvar(level) => {
                let exact;
                (scalar, exact) =
                    hold_tail(self.cloud, &self.settings, level, &self.m, &self.factor, mu, &mut self.rows);
                // So far the diameter was only known from a sample.
                *objective += c * (exact - extent);
                extent = exact;
            }
            Diameter::Mean => linalg::add_scaled(&mut drawn, c, &self.rows.sums[0]),
        }
        Pulled { scalar, drawn, extent }
    }

    /// The engine at this point, its `Z` still to be set.
    fn finish(self, pulled: Pulled, slack: Vec<f64>, reduced: Vec<f64>, objective: f64) -> Engine<'a> {
        let p = self.m.rows();
        let everyone = if slack.is_empty() { 0 } else { self.cloud.len() as u32 };
        let state = State {
            z: Matrix::zeros(p, p),
            fixed: Matrix::zeros(p, p),
            drawn: pulled.drawn,
            anchor: self.settings.anchor.map(|(gamma, reference)| (gamma, reference.clone())),
            m: self.m,
            scalar: pulled.scalar,
            rows: self.rows,
            active: (0..everyone).collect(),
            place: if everyone > 0 { (0..everyone).collect() } else { vec![NOWHERE; self.cloud.len()] },
            reduced,
            slack: slack.clone(),
        };
        let best = Best { objective, diameter: pulled.extent, factor: self.factor.clone(), slack };
        Engine::new(self.cloud, self.settings, state, self.now, self.factor, best)
    }
}

/// What slacks cost.
fn cost(cloud: &Cloud, slack: &[f64]) -> f64 {
    slack.iter().zip(&cloud.weight).map(|(s, w)| s * w).sum()
}

impl<'a> Engine<'a> {
    /// A strictly feasible point near a multiple of `m`.
    pub(super) fn begin(cloud: &'a Cloud, settings: Settings<'a>, m: Matrix) -> Result<Self> {
        let c = settings.c;
        let mut draft = Draft::new(cloud, settings, rescaled(cloud, &settings, m)?)?;
        let p = draft.m.rows();
        let (slack, longest, mut objective, mu) = match settings.slack {
            Slack::Pair => {
                let first = draft.near(NEAR);
                let objective = draft.pull_cost(first.longest) + first.hinge;
                let mu = objective / (2 * first.near.len() + p + packed_len(p)) as f64;
                draft.hold_near(&first.near, mu);
                (Vec::new(), first.longest, objective, mu)
            }
            Slack::Instance => draft.hold_all(),
        };
        let pulled = draft.hold_diameter(longest, mu, &mut objective, |draft| {
            let far = draft.far(LONG * longest, packed_len(p).max(LEAST_LONG));
            let scalar = ROOMY * longest;
            for &(r, i, j) in &far {
                draft.rows.add(pull_row(i, j), scalar - r, Some(SHARED * c / far.len() as f64), mu);
            }
            let rest = if far.is_empty() { c } else { (1.0 - SHARED) * c };
            draft.rows.add(pull_row(AGGREGATE, 0), scalar - draft.mean, Some(rest), mu);
            scalar
        });
        let reduced = if slack.is_empty() { Vec::new() } else { cloud.weight.clone() };
        let objective = objective + bent(settings.anchor, &draft.m);
        let mut engine = draft.finish(pulled, slack, reduced, objective);
        engine.state.make_dual_feasible(cloud)?;
        Ok(engine)
    }

    /// A central point at `near`, the metric (and, with a slack per row, the slacks) of a similar problem, which is
    /// thought to be within the relative gap `likely(objective)` of the optimum. The dual point need not be feasible.
    pub(super) fn begin_at(
        cloud: &'a Cloud,
        settings: Settings<'a>,
        near: Interior,
        likely: impl Fn(f64) -> f64,
    ) -> Result<Self> {
        let c = settings.c;
        let Interior { m, slack } = near;
        let mut draft = Draft::new(cloud, settings, m)?;
        let p = draft.m.rows();
        let (first, loss) = match settings.slack {
            Slack::Pair => {
                let first = draft.near(NEARBY);
                let loss = first.hinge;
                (first, loss)
            }
            Slack::Instance => (draft.tight(&slack, TIGHT), cost(cloud, &slack)),
        };
        let mut objective = draft.pull_cost(first.longest) + loss + bent(settings.anchor, &draft.m);
        let gap = likely(objective);
        let mut far = Vec::new();
        if settings.diameter == Diameter::Maximum {
            far = draft.far((1.0 - 2.0 * gap) * first.longest, 2 * packed_len(p).max(LEAST_LONG));
        }
        let held = 2 * first.near.len() + first.tight.len() + slack.len();
        let mu = gap * objective / (held + p + far.len()) as f64;
        match settings.slack {
            Slack::Pair => draft.hold_near(&first.near, mu),
            Slack::Instance => {
                for &(z, i, j) in first.tight.iter().filter(|t| t.0 > 0.0) {
                    draft.rows.add(push_row(i as usize, j as usize, f64::INFINITY), z, None, mu);
                }
            }
        }
        let pulled = draft.hold_diameter(first.longest, mu, &mut objective, |draft| {
            let scalar = central_diameter(first.longest, draft.mean, &far, mu, c);
            for &(r, i, j) in &far {
                draft.rows.add(pull_row(i, j), scalar - r, None, mu);
            }
            draft.rows.add(pull_row(AGGREGATE, 0), scalar - draft.mean, None, mu);
            scalar
        });
        let reduced = slack.iter().map(|s| mu / s).collect();
        let mut engine = draft.finish(pulled, slack, reduced, objective);
        engine.state.make_central(cloud, &engine.sides_factor, mu)?;
        Ok(engine)
    }
}

/// The diameter at which the central multipliers add up to `c`.
fn central_diameter(longest: f64, mean: f64, far: &[(f64, u32, u32)], mu: f64, c: f64) -> f64 {
    let total = |d: f64| mu / (d - mean) + far.iter().map(|f| mu / (d - f.0)).sum::<f64>();
    let mut low = longest;
    let mut high = longest + mu * (far.len() + 1) as f64 / c;
    for _ in 0..HALVINGS {
        let d = 0.5 * (low + high);
        if total(d) > c {
            low = d;
        } else {
            high = d;
        }
    }
    high
}

/// The multiple of `m` with about the smallest objective, and its diameter.
pub(crate) fn fitted(cloud: &Cloud, settings: Settings<'_>, m: Matrix) -> Result<(Matrix, f64)> {
    let draft = Draft::new(cloud, settings, rescaled(cloud, &settings, m)?)?;
    let extent = match settings.diameter {
        Diameter::Maximum => survey(cloud, &draft.now, None, &draft.query(), None).longest,
        Diameter::Cvar(level) => measured(cloud, &settings, level, &draft.factor).1,
        Diameter::Mean => draft.mean,
    };
    Ok((draft.m, extent))
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
    if count > NO_WEIGHT {
        let z = linalg::inner(&below, m) - 2.0 * count;
        let at = rows.place_sum(below, Vec::new());
        rows.add(Row { i: AGGREGATE, j: at, push: true, cap: 1.0, b: 0.0, g: 2.0 * count }, z, None, mu);
    }
}

impl State {
    /// Scales the multipliers that push so that `Z` (and the instances' multipliers) are well inside their cones.
    fn make_dual_feasible(&mut self, cloud: &Cloud) -> Result<()> {
        let (pull, push) = self.sums(cloud);
        let mut scale = (INSIDE / linalg::largest_generalised(&push, &pull)?).min(1.0);
        if !self.active.is_empty() {
            let mut load = vec![0.0; cloud.len()];
            for (k, (i, j)) in self.pushing() {
                load[i] += self.rows.lambda[k];
                load[j] += self.rows.lambda[k];
            }
            for (l, w) in load.iter().zip(&cloud.weight) {
                scale = scale.min(INSIDE * w / l);
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

    /// `Z` as the multipliers make it, as far as that is positive definite and near the centre. `factor` is that of `M`.
    fn make_central(&mut self, cloud: &Cloud, factor: &Matrix, mu: f64) -> Result<()> {
        let (mut z, push) = self.sums(cloud);
        linalg::add_scaled(&mut z, -1.0, &push);
        if let Some((gamma, reference)) = &self.anchor {
            linalg::add_scaled(&mut z, *gamma, &self.m);
            linalg::add_scaled(&mut z, -gamma, reference);
        }
        let eigen = linalg::symmetric_eigen(&linalg::congruence(&z, factor))?;
        let half = eigen.scaled(0..eigen.values.len(), |t| t.clamp(CENTRAL.0 * mu, CENTRAL.1 * mu).sqrt());
        let central = linalg::product_transposed(&half, &half);
        self.z = Cholesky::of(&self.m).ok_or_else(|| not_definite("the starting metric"))?.unwhiten(&central);
        Ok(())
    }

    /// The rows of pairs that push.
    fn pushing(&self) -> Vec<(usize, (usize, usize))> {
        (0..self.rows.len()).filter(|&k| self.rows.push[k]).filter_map(|k| Some((k, self.rows.pair(k)?))).collect()
    }
}

/// Points of the sample on which the best multiple of a metric is sought.
const SAMPLE: usize = 256;
/// The multiples that come into question: `e^-12` to `e^12`.
const MULTIPLES: f64 = 12.0;
/// Where golden-section search looks inside its interval.
const GOLDEN: (f64, f64) = (0.381_966, 0.618_034);
/// Its steps: the multiple is then known to about 4 %, and the first Newton step corrects the rest.
const GOLDEN_STEPS: usize = 12;

/// About the best multiple of `M` (for the objective with a slack per pair, which is a good guess for either).
pub(super) fn rescaled(cloud: &Cloud, settings: &Settings<'_>, mut m: Matrix) -> Result<Matrix> {
    let factor = factor_of(&m, "the starting metric")?;
    let part = cloud.thinned(SAMPLE);
    let share = part.pair_totals().0 / cloud.pair_totals().0;
    let query = Query::plain(settings.variant.bounding());
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
    let (mut low, mut high) = (-MULTIPLES, MULTIPLES);
    let inner = |low: f64, high: f64| (low + GOLDEN.0 * (high - low), low + GOLDEN.1 * (high - low));
    let (mut a, mut b) = inner(low, high);
    let (mut at_a, mut at_b) = (value(a), value(b));
    for _ in 0..GOLDEN_STEPS {
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
