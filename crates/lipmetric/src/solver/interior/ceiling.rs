//! `c_max`: at this trade-off and above, the zero metric is optimal.
//!
//! With a slack per pair, `M = 0` is optimal exactly when `c >= c_max = max { <N, M> : max_P rho_M <= 1 }` with
//! `N = sum_D w A`: a small problem of its own, whose dual is `min { sum eta : sum eta A >= N }`. With a slack per
//! instance it is the largest `(F(0) - loss(M)) / diameter(M)`: Dinkelbach's method. `tail_ceiling` has the mean of the
//! longest distances.

use super::admit::pull_row;
use super::engine::{Engine, Settings, WAYPOINT};
use super::newton::factor_of;
use super::path::Start;
use super::rows::{AGGREGATE, Row, Rows};
use super::scan::{Survey, survey};
use super::tail_ceiling::bounds;
use super::{NOWHERE, Shape, State};
use crate::linalg;
use crate::linalg::packed_len;
use crate::pairs::pass::{Beyond, Query, keep_longest, longer, same_length};
use crate::pairs::{Cloud, Embedding, weighted_outer};
use crate::problem::{Diameter, Slack, Variant, different_sum, mean_pair, relative_gap, value_at_zero};
use crate::solver::{Ceilinged, Halt, Observer, Progress, Status};
use crate::{Error, Matrix, Result};
use std::ops::ControlFlow;

/// Relative accuracy of `c_max` with a slack per row.
const INSTANCE_ACCURACY: f64 = 1e-4;
/// Steps, at most; most problems take fewer than fifty.
const MAX_ITERATIONS: usize = 500;
/// The gap to which its problems are solved, as a part of the accuracy.
const FINER: f64 = 0.1;

/// `c_max` from below.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ceiling {
    pub(crate) value: f64,
    /// Whether it is `c_max` to its accuracy; else time ran out, and it is a guess.
    pub(crate) known: bool,
}

impl Ceiling {
    fn known(value: f64) -> Self {
        Self { value, known: true }
    }

    fn guess(value: f64) -> Self {
        Self { value, known: false }
    }
}

/// `c_max`, from below, to a relative accuracy of `1e-7`, with a slack per row or a tail of `1e-4`, or of `rough` where that is
/// more. Of the settings the problem counts, not `c`, the tolerance or an anchor. With a slack per row `start` becomes a point
/// of a problem with nearly that trade-off.
pub(crate) fn ceiling<'a>(
    cloud: &'a Cloud,
    settings: Settings<'a>,
    rough: f64,
    start: &mut Option<Start<'a>>,
    observer: &mut dyn Observer,
) -> Result<Ceiling> {
    match (settings.slack, settings.diameter) {
        (Slack::Pair, Diameter::Mean) => {
            // `max { <N, M> : <mean, M> <= 1 }`.
            linalg::largest_generalised(&different_sum(cloud), &mean_pair(cloud, settings.variant)).map(Ceiling::known)
        }
        (Slack::Pair, Diameter::Maximum) => pair_ceiling(cloud, settings.variant, rough, observer),
        (Slack::Pair, Diameter::Cvar(level)) => tail_ceiling(cloud, settings, (level, rough), observer),
        (Slack::Instance, _) => {
            instance_ceiling(cloud, Settings { anchor: None, ..settings }, (rough, start), observer)
        }
    }
}

/// From bounds that meet; where they do not, by Dinkelbach's method.
fn tail_ceiling(
    cloud: &Cloud,
    settings: Settings<'_>,
    (level, rough): (f64, f64),
    observer: &mut dyn Observer,
) -> Result<Ceiling> {
    /// What is aimed at for the mean of the longest distances.
    const TAIL_ACCURACY: f64 = 1e-5;
    let found = bounds(cloud, settings.variant, level, TAIL_ACCURACY.max(FINER * rough), observer)?;
    match found.stopped {
        Some(Halt::TimeLimit) => Ok(Ceiling::guess(found.lower)),
        Some(Halt::Interrupted) => Err(Error::Interrupted),
        None if found.gap() <= INSTANCE_ACCURACY.max(rough) => Ok(Ceiling::known(found.lower)),
        None => instance_ceiling(cloud, Settings { anchor: None, ..settings }, (rough, &mut None), observer),
    }
}

fn pair_ceiling(cloud: &Cloud, variant: Variant, rough: f64, observer: &mut dyn Observer) -> Result<Ceiling> {
    /// Relative accuracy of `c_max`.
    const ACCURACY: f64 = 1e-7;
    let mut climb = Climb::begin(cloud, variant)?;
    for iteration in 0..MAX_ITERATIONS {
        let gap = climb.bound_above()?;
        let (rows, c_max) = (Some(climb.state.rows.len()), Some((climb.lower, climb.upper)));
        let at = Progress { iteration, working_set: rows, c_max, ..Progress::default() };
        match observer.progress(&at) {
            ControlFlow::Break(Halt::TimeLimit) => return Ok(Ceiling::guess(climb.lower)),
            ControlFlow::Break(Halt::Interrupted) => return Err(Error::Interrupted),
            ControlFlow::Continue(()) => (),
        }
        if gap <= ACCURACY.max(rough) || !climb.step(gap, iteration)? {
            break;
        }
    }
    Ok(Ceiling::known(climb.lower))
}

/// The way to `max { <N, M> : max_P rho_M <= 1 }`.
struct Climb<'a> {
    cloud: &'a Cloud,
    variant: Variant,
    /// `N`.
    push: Matrix,
    state: State,
    lower: f64,
    upper: f64,
}

/// A row of a pair that bounds the diameter, which is one.
fn unit_row(i: u32, j: u32) -> Row {
    Row { b: 0.0, g: -1.0, ..pull_row(i, j) }
}

impl<'a> Climb<'a> {
    fn begin(cloud: &'a Cloud, variant: Variant) -> Result<Self> {
        /// The first diameter, of the one that is allowed: well inside.
        const FIRST: f64 = 0.5;
        /// The first multiplier of the mean pair, in units of the least one that is feasible.
        const HEAVY: f64 = 2.0;
        /// Long pairs that have a row from the beginning are twice as many as there are elements of `M`, or as this.
        const LONG_AT_FIRST: usize = 60;
        let p = cloud.x.cols();
        let push = different_sum(cloud);
        let mean = mean_pair(cloud, variant);
        let mut m = Matrix::identity(p);
        let first = look(cloud, variant, &m, 0.0, 2 * packed_len(p).max(LONG_AT_FIRST))?;
        m.as_mut_slice().iter_mut().for_each(|v| *v *= FIRST / first.longest);
        let heavy = HEAVY * linalg::largest_generalised(&push, &mean)?;
        let mut z = mean.clone();
        z.as_mut_slice().iter_mut().for_each(|v| *v *= heavy);
        linalg::add_scaled(&mut z, -1.0, &push);
        let mu = linalg::inner(&m, &z) / p as f64;
        let mut rows = Rows { sums: vec![mean], members: vec![Vec::new()], ..Rows::default() };
        rows.add(unit_row(AGGREGATE, 0), 1.0 - linalg::inner(&rows.sums[0], &m), Some(heavy), mu);
        for &(r, i, j) in &first.far {
            let t = 1.0 - r * FIRST / first.longest;
            rows.add(unit_row(i, j), t, Some(mu / t), mu);
            let entering = weighted_outer(&cloud.x, std::iter::once((i as usize, j as usize, mu / t)));
            linalg::add_scaled(&mut z, 1.0, &entering);
        }
        let state = State {
            m,
            z,
            scalar: 0.0,
            rows,
            fixed: push.clone(),
            drawn: Matrix::zeros(p, p),
            anchor: None,
            active: Vec::new(),
            place: vec![NOWHERE; cloud.len()],
            slack: Vec::new(),
            reduced: Vec::new(),
        };
        let lower = linalg::inner(&push, &state.m) / FIRST;
        Ok(Self { cloud, variant, push, state, lower, upper: f64::INFINITY })
    }

    /// What the multipliers prove; returns how far the bounds are apart.
    fn bound_above(&mut self) -> Result<f64> {
        let total: f64 = self.state.rows.lambda.iter().sum();
        let (pull, _) = self.state.sums(self.cloud);
        self.upper = self.upper.min(total * linalg::largest_generalised(&self.push, &pull)?);
        Ok(relative_gap(self.upper, self.lower))
    }

    /// One step; tells whether there was one. Rounding may end the iteration: the bound that was reached stays one.
    fn step(&mut self, gap: f64, iteration: usize) -> Result<bool> {
        /// Long pairs that a pass lists, at most.
        const LONGEST: usize = 1000;
        /// Pairs are listed where they are shorter than the longest allowed by at most the gap, taken within these limits.
        const MARGINS: (f64, f64) = (1e-7, 0.3);
        /// Every so many steps pairs of equal length get a row for their mean, where there are many.
        const TIES: usize = 3;
        /// Long pairs that enter at once are as many as there are elements of `M`, and no fewer than this.
        const LONG_AT_ONCE: usize = 40;
        let before = self.state.m.clone();
        let shape = Shape { scalar: false, cost: 0.0 };
        if self.state.step(self.cloud, &shape, 0.0).is_err() {
            return Ok(false);
        }
        let margin = gap.clamp(MARGINS.0, MARGINS.1);
        let Ok(mut found) = self.look(1.0 - margin, LONGEST) else { return Ok(false) };
        let mut blocking = Vec::new();
        if found.longest > 1.0 + gap {
            // Far outside: part of the step is taken back, and what stood in the way gets rows.
            blocking.extend(found.far.iter().filter(|f| f.0 > 1.0).map(|f| (f.1, f.2)));
            let start = look(self.cloud, self.variant, &before, f64::INFINITY, 0)?.longest;
            let part = (1.0 - start) / (found.longest - start);
            for (now, &old) in self.state.m.as_mut_slice().iter_mut().zip(before.as_slice()) {
                *now = old + part * (*now - old);
            }
            let Ok(again) = self.look(1.0 - margin, LONGEST) else { return Ok(false) };
            found = again;
        }
        self.make_feasible(&mut found);
        let factor = factor_of(&self.state.m, "the metric")?;
        let now = Embedding::new(self.cloud, &factor);
        for (i, j) in blocking {
            found.far.push((now.squared_distance(i as usize, j as usize), i, j));
        }
        keep_longest(&mut found.far, usize::MAX);
        self.lower = self.lower.max(linalg::inner(&self.push, &self.state.m) / found.longest);
        let products = self.state.rows.products(self.cloud, &self.state.m, &factor);
        products.iter().enumerate().for_each(|(k, r)| self.state.rows.settle(k, 1.0 - r));
        let most = packed_len(self.cloud.x.cols()).max(LONG_AT_ONCE);
        let mu = self.state.mu();
        if found.far.len() > 2 * most && iteration % TIES == TIES - 1 {
            self.hold_ties(&now, found.longest * (1.0 - margin), mu);
        }
        self.admit(&found, &products, most, mu);
        Ok(true)
    }

    fn look(&self, beyond: f64, most: usize) -> Result<Survey> {
        look(self.cloud, self.variant, &self.state.m, beyond, most)
    }

    /// The problem is homogeneous but for the bound: a multiple is strictly feasible.
    fn make_feasible(&mut self, found: &mut Survey) {
        /// The part of the gap that staying away from the bound may cost ...
        const ROOM: f64 = 0.1;
        /// ... and the least distance from it.
        const LEAST_ROOM: f64 = 1e-14;
        let room = (ROOM * self.state.mu() * self.state.degree() / self.upper).max(LEAST_ROOM);
        if found.longest >= 1.0 - room {
            let t = (1.0 - room) / found.longest;
            self.state.m.as_mut_slice().iter_mut().for_each(|v| *v *= t);
            found.far.iter_mut().for_each(|f| f.0 *= t);
            found.longest *= t;
        }
    }

    /// Many ties, as features with few values have them: together they get a row for their mean.
    fn hold_ties(&mut self, now: &Embedding, length: f64, mu: f64) {
        let members = longer(self.cloud, now, self.variant.bounding(), length);
        let share = 1.0 / members.len() as f64;
        let sum = weighted_outer(&self.cloud.x, members.iter().map(|&(i, j)| (i as usize, j as usize, share)));
        let room = 1.0 - linalg::inner(&sum, &self.state.m);
        linalg::add_scaled(&mut self.state.z, mu / room, &sum);
        let at = self.state.rows.place_sum(sum, Vec::new());
        self.state.rows.add(unit_row(AGGREGATE, at), room, None, mu);
    }

    /// Rows for the longest pairs whose length no row has.
    fn admit(&mut self, found: &Survey, products: &[f64], most: usize, mu: f64) {
        let is_known = |r: f64| products.iter().any(|&l| same_length(l, r));
        let fresh: Vec<(f64, u32, u32)> = found.far.iter().copied().filter(|f| !is_known(f.0)).take(most).collect();
        let cost: f64 = fresh.iter().map(|f| mu / (1.0 - f.0)).sum();
        let part = (self.state.complementarity() / cost).min(1.0);
        for &(r, i, j) in &fresh {
            let lambda = part * mu / (1.0 - r);
            self.state.rows.add(unit_row(i, j), 1.0 - r, Some(lambda), mu);
            let entering = weighted_outer(&self.cloud.x, std::iter::once((i as usize, j as usize, lambda)));
            linalg::add_scaled(&mut self.state.z, 1.0, &entering);
        }
    }
}

/// The longest pairs under a metric.
fn look(cloud: &Cloud, variant: Variant, m: &Matrix, beyond: f64, most: usize) -> Result<Survey> {
    let now = Embedding::new(cloud, &factor_of(m, "the metric")?);
    let query = Query { beyond: Beyond::Length(beyond), most, ..Query::plain(variant.bounding()) };
    Ok(survey(cloud, &now, None, &query, None))
}

/// `c_max = max (F(0) - loss(M)) / diameter(M)` over all `M`, by Dinkelbach's method: the ratio at the best point so far never
/// exceeds `c_max` and is the next `c`, and the iteration goes on with it.
fn instance_ceiling<'a>(
    cloud: &'a Cloud,
    settings: Settings<'a>,
    (rough, start): (f64, &mut Option<Start<'a>>),
    observer: &mut dyn Observer,
) -> Result<Ceiling> {
    /// The first `c` for Dinkelbach's method, of an upper bound that is most often within a factor of ten, ...
    const BELOW: f64 = 0.1;
    /// ... and how often it is lowered by that factor, at most, ...
    const LOWER: usize = 30;
    /// ... which is where the value at zero is reached but for this part: it is too large.
    const ALL: f64 = 1e-3;
    /// A new `c` is taken where it exceeds the present one by this part of the gap: very small changes only disturb.
    const GROWTH: f64 = 0.3;
    let zero = value_at_zero(cloud, settings.slack);
    let tolerance = FINER * INSTANCE_ACCURACY.max(rough);
    // Multipliers that are equal for all pairs give an upper bound, most often within a factor of ten.
    let unit = zero / value_at_zero(cloud, Slack::Pair);
    let equal = Settings { slack: Slack::Pair, ..settings };
    let equal = match settings.diameter {
        Diameter::Cvar(_) => Settings { diameter: Diameter::Mean, ..equal },
        _ => equal,
    };
    let bounds = |at: &Progress| (0.0, at.c_max.map_or(f64::INFINITY, |c_max| unit * c_max.1));
    let equal = ceiling(cloud, equal, rough, &mut None, &mut Ceilinged { inner: &mut *observer, bounds: &bounds })?;
    let above = if equal.known { unit * equal.value / (1.0 - rough) } else { f64::INFINITY };
    let mut c = BELOW * equal.value * zero / value_at_zero(cloud, Slack::Pair);
    for _ in 0..LOWER {
        let first = Settings { c, stop: settings.stop.at_gap(tolerance), ..settings };
        let mut engine = Engine::begin(cloud, first, Matrix::identity(cloud.x.cols()))?;
        let (mut iterations, mut below) = (0, false);
        while iterations < MAX_ITERATIONS {
            engine.settings.stop.max_iterations = iterations + 1;
            let least = if below { engine.settings.c } else { 0.0 };
            let observer = &mut Ceilinged { inner: &mut *observer, bounds: &|_| (least, above) };
            let status = engine.run(tolerance, &mut iterations, observer)?;
            match status {
                Status::TimeLimit => return Ok(Ceiling::guess(engine.settings.c)),
                Status::Interrupted => return Err(Error::Interrupted),
                _ => (),
            }
            let ratio = engine.settings.c + (zero - engine.best.objective) / engine.best.diameter;
            let gap = relative_gap(engine.best.objective, engine.lower());
            if gap <= WAYPOINT && start.is_none() {
                *start = Some(Start::of(&engine));
            }
            if ratio > engine.settings.c * (1.0 + GROWTH * gap.max(tolerance)) {
                below = true;
                engine.turn_to(Settings { c: ratio, ..engine.settings });
                continue;
            }
            let too_large = !below && engine.lower() >= (1.0 - ALL) * zero;
            if status != Status::IterationLimit || too_large {
                break;
            }
        }
        if below {
            return Ok(Ceiling::known(engine.settings.c));
        }
        c *= BELOW;
        *start = None;
    }
    Ok(Ceiling::known(c))
}
