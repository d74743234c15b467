//! The trade-off from which on the zero metric is optimal.
//!
//! With a slack per pair, `M = 0` is optimal exactly when `c >= c_max = max { <N, M> : max_P rho_M <= 1 }` with
//! `N = sum_D w A`: a small problem of its own, whose dual is `min { sum eta : sum eta A >= N }`. With a slack per
//! instance it is the largest `(F(0) - loss(M)) / diameter(M)`: Dinkelbach's method. `tail_ceiling` has the mean of the
//! longest distances.

use super::admit::pull_row;
use super::assemble::packed_len;
use super::engine::{Engine, Settings, generalised_largest};
use super::newton::factor_of;
use super::rows::{AGGREGATE, Row, Rows};
use super::scan::{Query, keep_longest, longer, survey};
use super::tail_ceiling::bounds;
use super::{NOWHERE, Shape, State};
use crate::linalg;
use crate::pairs::{Cloud, Embedding, weighted_outer};
use crate::problem::{Diameter, Slack, Variant, different_sum, mean_pair, relative_gap};
use crate::solver::{Halt, Observer, Progress, Status};
use crate::{Error, Matrix, Result};
use std::ops::ControlFlow;

/// Relative accuracy of `c_max`.
const ACCURACY: f64 = 1e-7;
/// What is aimed at for the mean of the longest distances.
const TAIL_ACCURACY: f64 = 1e-5;
/// The same with a slack per instance.
const INSTANCE_ACCURACY: f64 = 1e-4;
const MAX_ITERATIONS: usize = 500;
/// How often a first `c` that is too large is replaced by a tenth of it: where the value at zero is reached but for this part.
const LOWER: usize = 30;
const ALL: f64 = 1e-3;
/// A new `c` is taken where it exceeds the present one by this part of the gap: very small changes only disturb.
const GROWTH: f64 = 0.3;

/// `F(0)`: twice the weight of the different-label pairs; with a slack per instance, twice the smallest fractional
/// cover of those pairs by points, which for complete multipartite graphs is `min(W, 2 (W - W_largest)) / 2`.
pub(crate) fn value_at_zero(cloud: &Cloud, slack: Slack) -> f64 {
    match slack {
        Slack::Pair => 2.0 * cloud.pair_totals().0,
        Slack::Instance => {
            let total: f64 = cloud.weight.iter().sum();
            let classes = cloud.class.last().map_or(0, |&c| c as usize + 1);
            let mut sums = vec![0.0f64; classes];
            cloud.class.iter().zip(&cloud.weight).for_each(|(&c, w)| sums[c as usize] += w);
            total.min(2.0 * (total - sums.iter().fold(0.0, |a: f64, &b| a.max(b))))
        }
    }
}

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

/// `c_max`, from below, to a relative accuracy of `1e-7`, with a slack per instance or a tail of `1e-4`. Of the settings the problem
/// counts, not `c`, the tolerance or an anchor.
pub(crate) fn ceiling(cloud: &Cloud, settings: Settings<'_>, observer: &mut dyn Observer) -> Result<Ceiling> {
    match (settings.slack, settings.diameter) {
        (Slack::Pair, Diameter::Mean) => {
            // `max { <N, M> : <mean, M> <= 1 }`.
            generalised_largest(&different_sum(cloud), &mean_pair(cloud, settings.variant)).map(Ceiling::known)
        }
        (Slack::Pair, Diameter::Maximum) => pair_ceiling(cloud, settings.variant, observer),
        (Slack::Pair, Diameter::Cvar(level)) => tail_ceiling(cloud, settings, level, observer),
        (Slack::Instance, _) => instance_ceiling(cloud, Settings { anchor: None, ..settings }, observer),
    }
}

/// From bounds that meet; where they do not, by Dinkelbach's method.
fn tail_ceiling(cloud: &Cloud, settings: Settings<'_>, level: f64, observer: &mut dyn Observer) -> Result<Ceiling> {
    let found = bounds(cloud, settings.variant, level, TAIL_ACCURACY, observer)?;
    match found.stopped {
        Some(Halt::TimeLimit) => Ok(Ceiling::guess(found.lower)),
        Some(Halt::Interrupted) => Err(Error::Interrupted),
        None if found.gap() <= INSTANCE_ACCURACY => Ok(Ceiling::known(found.lower)),
        None => instance_ceiling(cloud, Settings { anchor: None, ..settings }, observer),
    }
}

fn pair_ceiling(cloud: &Cloud, variant: Variant, observer: &mut dyn Observer) -> Result<Ceiling> {
    let p = cloud.x.cols();
    let push = different_sum(cloud);
    let mean = mean_pair(cloud, variant);
    let shape = Shape { scalar: false, cost: 0.0 };
    let look = |m: &Matrix, beyond: f64, most: usize| -> Result<_> {
        let now = Embedding::new(cloud, &factor_of(m, "the metric")?);
        let query = Query { variant, window: (0.0, 0.0), beyond, most };
        Ok(survey(cloud, &now, None, &query, None))
    };
    let mut m = Matrix::identity(p);
    let first = look(&m, 0.0, 2 * packed_len(p).max(60))?;
    m.as_mut_slice().iter_mut().for_each(|v| *v *= 0.5 / first.longest);
    let row = |i, j| Row { b: 0.0, g: -1.0, ..pull_row(i, j) };
    let heavy = 2.0 * generalised_largest(&push, &mean)?;
    let mut z = mean.clone();
    z.as_mut_slice().iter_mut().for_each(|v| *v *= heavy);
    linalg::add_scaled(&mut z, -1.0, &push);
    let mu = linalg::inner(&m, &z) / p as f64;
    let mut rows = Rows { sums: vec![mean], members: vec![Vec::new()], ..Rows::default() };
    rows.add(row(AGGREGATE, 0), 1.0 - linalg::inner(&rows.sums[0], &m), Some(heavy), mu);
    for &(r, i, j) in &first.far {
        let t = 1.0 - r * 0.5 / first.longest;
        rows.add(row(i, j), t, Some(mu / t), mu);
        let entering = weighted_outer(&cloud.x, std::iter::once((i as usize, j as usize, mu / t)));
        linalg::add_scaled(&mut z, 1.0, &entering);
    }
    let mut state = State {
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
    let (mut lower, mut upper) = (linalg::inner(&push, &state.m) / 0.5, f64::INFINITY);
    for iteration in 0..MAX_ITERATIONS {
        let total: f64 = state.rows.lambda.iter().sum();
        let (pull, _) = state.sums(cloud);
        upper = upper.min(total * generalised_largest(&push, &pull)?);
        let gap = (upper - lower) / upper;
        let at = Progress { iteration, working_set: Some(state.rows.len()), ..Progress::default() };
        match observer.progress(&at) {
            ControlFlow::Break(Halt::TimeLimit) => return Ok(Ceiling::guess(lower)),
            ControlFlow::Break(Halt::Interrupted) => return Err(Error::Interrupted),
            ControlFlow::Continue(()) => (),
        }
        if gap <= ACCURACY {
            break;
        }
        let before = state.m.clone();
        if state.step(cloud, &shape, 0.0).is_err() {
            break;
        }
        let margin = gap.clamp(1e-7, 0.3);
        // Rounding may end the iteration: the bound that was reached stays one.
        let Ok(mut found) = look(&state.m, 1.0 - margin, 1000) else { break };
        let mut blocking = Vec::new();
        if found.longest > 1.0 + gap {
            // Far outside: part of the step is taken back, and what stood in the way gets rows.
            blocking.extend(found.far.iter().filter(|f| f.0 > 1.0).map(|f| (f.1, f.2)));
            let start = look(&before, f64::INFINITY, 0)?.longest;
            let part = (1.0 - start) / (found.longest - start);
            for (now, &old) in state.m.as_mut_slice().iter_mut().zip(before.as_slice()) {
                *now = old + part * (*now - old);
            }
            let Ok(again) = look(&state.m, 1.0 - margin, 1000) else { break };
            found = again;
        }
        let room = (0.1 * state.mu() * state.degree() / upper).max(1e-14);
        if found.longest >= 1.0 - room {
            // The problem is homogeneous but for the bound: a multiple is feasible.
            let t = (1.0 - room) / found.longest;
            state.m.as_mut_slice().iter_mut().for_each(|v| *v *= t);
            found.far.iter_mut().for_each(|f| f.0 *= t);
            found.longest *= t;
        }
        let now = Embedding::new(cloud, &factor_of(&state.m, "the metric")?);
        for (i, j) in blocking {
            found.far.push((now.squared_distance(i as usize, j as usize), i, j));
        }
        keep_longest(&mut found.far, usize::MAX);
        lower = lower.max(linalg::inner(&push, &state.m) / found.longest);
        let products = state.rows.products(cloud, &state.m, &factor_of(&state.m, "the metric")?);
        products.iter().enumerate().for_each(|(k, r)| state.rows.settle(k, 1.0 - r));
        let mu = state.mu();
        let most = packed_len(p).max(40);
        if found.far.len() > 2 * most && iteration % 3 == 2 {
            // Many ties, as features with few values have them: together they get a row for their mean.
            let members = longer(cloud, &now, variant, found.longest * (1.0 - margin));
            let share = 1.0 / members.len() as f64;
            let sum = weighted_outer(&cloud.x, members.iter().map(|&(i, j)| (i as usize, j as usize, share)));
            let room = 1.0 - linalg::inner(&sum, &state.m);
            linalg::add_scaled(&mut state.z, mu / room, &sum);
            let at = state.rows.place_sum(sum, Vec::new());
            state.rows.add(row(AGGREGATE, at), room, None, mu);
        }
        let is_known = |r: f64| products.iter().any(|&l| super::scan::same_length(l, r));
        let fresh: Vec<(f64, u32, u32)> = found.far.iter().copied().filter(|f| !is_known(f.0)).take(most).collect();
        let cost: f64 = fresh.iter().map(|f| mu / (1.0 - f.0)).sum();
        let part = (state.complementarity() / cost).min(1.0);
        for &(r, i, j) in &fresh {
            let lambda = part * mu / (1.0 - r);
            state.rows.add(row(i, j), 1.0 - r, Some(lambda), mu);
            let entering = weighted_outer(&cloud.x, std::iter::once((i as usize, j as usize, lambda)));
            linalg::add_scaled(&mut state.z, 1.0, &entering);
        }
    }
    Ok(Ceiling::known(lower))
}

/// `c_max = max (F(0) - loss(M)) / diameter(M)` over all `M`, by Dinkelbach's method: the ratio at the best point so far never
/// exceeds `c_max` and is the next `c`, and the iteration goes on with it.
fn instance_ceiling(cloud: &Cloud, settings: Settings<'_>, observer: &mut dyn Observer) -> Result<Ceiling> {
    let zero = value_at_zero(cloud, settings.slack);
    let tolerance = 0.1 * INSTANCE_ACCURACY;
    // Multipliers that are equal for all pairs give an upper bound, most often within a factor of ten.
    let equal = match settings.diameter {
        Diameter::Cvar(_) => {
            ceiling(cloud, Settings { diameter: Diameter::Mean, slack: Slack::Pair, ..settings }, observer)?
        }
        _ => ceiling(cloud, Settings { slack: Slack::Pair, ..settings }, observer)?,
    };
    let mut c = 0.1 * equal.value * zero / value_at_zero(cloud, Slack::Pair);
    for _ in 0..LOWER {
        let first = Settings { c, tolerance, ..settings };
        let mut engine = Engine::begin(cloud, first, Matrix::identity(cloud.x.cols()))?;
        let (mut iterations, mut below) = (0, false);
        while iterations < MAX_ITERATIONS {
            engine.settings.max_iterations = iterations + 1;
            let status = engine.run(tolerance, &mut iterations, observer)?;
            match status {
                Status::TimeLimit => return Ok(Ceiling::guess(engine.settings.c)),
                Status::Interrupted => return Err(Error::Interrupted),
                _ => (),
            }
            let ratio = engine.settings.c + (zero - engine.best.objective) / engine.best.diameter;
            let gap = relative_gap(engine.best.objective, engine.lower());
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
        c *= 0.1;
    }
    Ok(Ceiling::known(c))
}
