//! The trade-off from which on the zero metric is optimal.
//!
//! With a slack per pair, `M = 0` is optimal exactly when `c >= c_max = max { <N, M> : max_P rho_M <= 1 }` with
//! `N = sum_D w A`: a small problem of its own, whose dual is `min { sum eta : sum eta A >= N }`. With a slack per
//! instance, `c_max` is where the optimal value `F*(c)`, concave in `c`, reaches `F(0)`: Newton's method from below.

use super::admit::pull_row;
use super::assemble::packed_len;
use super::engine::{Settings, generalised_largest, solve};
use super::newton::factor_of;
use super::rows::{AGGREGATE, Row, Rows};
use super::scan::{Query, survey};
use super::start::mean_pull;
use super::{NOWHERE, Shape, State};
use crate::linalg;
use crate::pairs::{Cloud, Embedding, weighted_outer};
use crate::problem::{Slack, Variant};
use crate::solver::{Observer, Progress, Status, Stop};
use crate::{Error, Matrix, Result};
use std::ops::ControlFlow;

/// Relative accuracy of `c_max`.
const ACCURACY: f64 = 1e-7;
const MAX_ITERATIONS: usize = 200;

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

/// `c_max`, from below, to a relative accuracy of `1e-7`.
pub(crate) fn ceiling(cloud: &Cloud, variant: Variant, slack: Slack, observer: &mut dyn Observer) -> Result<f64> {
    match slack {
        Slack::Pair => pair_ceiling(cloud, variant, observer),
        Slack::Instance => instance_ceiling(cloud, variant, observer),
    }
}

fn stopped(stop: Stop) -> Error {
    match stop {
        Stop::Interrupted => Error::Interrupted,
        Stop::TimeLimit => Error::Numerical {
            place: "c_max",
            message: "the time limit came before c_max was known; give c absolutely, or more time".to_owned(),
        },
    }
}

/// `sum of w A` over the different-label pairs: all pairs less those of equal label.
fn different_sum(cloud: &Cloud) -> Matrix {
    let (different, same) = cloud.pair_totals();
    let mut sum = mean_pull(cloud, Variant::Diameter);
    sum.as_mut_slice().iter_mut().for_each(|v| *v *= different + same);
    if same > 0.0 {
        linalg::add_scaled(&mut sum, -same, &mean_pull(cloud, Variant::Intra));
    }
    sum
}

fn pair_ceiling(cloud: &Cloud, variant: Variant, observer: &mut dyn Observer) -> Result<f64> {
    let p = cloud.x.cols();
    let push = different_sum(cloud);
    let mean = mean_pull(cloud, variant);
    let shape = Shape { scalar: false, cost: 0.0 };
    let look = |m: &Matrix, beyond: f64, most: usize| -> Result<_> {
        let now = Embedding::new(cloud, &factor_of(m, "the metric")?);
        let query = Query { variant, window: (0.0, 0.0), beyond, most };
        Ok(survey(cloud, &now, None, &query, None))
    };
    let mut m = Matrix::identity(p);
    let first = look(&m, 0.0, packed_len(p).max(60))?;
    m.as_mut_slice().iter_mut().for_each(|v| *v *= 0.5 / first.longest);
    let row = |i, j| Row { b: 0.0, g: -1.0, ..pull_row(i, j) };
    let heavy = 2.0 * generalised_largest(&push, &mean)?;
    let mut z = mean.clone();
    z.as_mut_slice().iter_mut().for_each(|v| *v *= heavy);
    linalg::add_scaled(&mut z, -1.0, &push);
    let mu = linalg::inner(&m, &z) / p as f64;
    let mut rows = Rows { sums: vec![mean], ..Rows::default() };
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
        if let ControlFlow::Break(stop) = observer.progress(&at) {
            return Err(stopped(stop));
        }
        if gap <= ACCURACY {
            return Ok(lower);
        }
        let before = state.m.clone();
        if state.step(cloud, &shape, 0.0).is_err() {
            break;
        }
        let margin = gap.clamp(1e-3, 0.3);
        // Rounding may end the iteration: the bound that was reached stays one.
        let Ok(mut found) = look(&state.m, 1.0 - margin, 1000) else { break };
        if found.longest >= 1.0 {
            // Both ends are known: the longest pair may grow linearly from below one.
            let start = look(&before, f64::INFINITY, 0)?.longest;
            let part = 0.9 * (1.0 - start) / (found.longest - start);
            for (now, &old) in state.m.as_mut_slice().iter_mut().zip(before.as_slice()) {
                *now = old + part * (*now - old);
            }
            let Ok(again) = look(&state.m, 1.0 - margin, 1000) else { break };
            found = again;
        }
        lower = lower.max(linalg::inner(&push, &state.m) / found.longest);
        let products = state.rows.products(cloud, &state.m, &factor_of(&state.m, "the metric")?);
        products.iter().enumerate().for_each(|(k, r)| state.rows.settle(k, 1.0 - r));
        let mu = state.mu();
        let room = packed_len(p).max(40) / 2;
        let known: Vec<f64> = products;
        for &(r, i, j) in
            found.far.iter().filter(|f| !known.iter().any(|&l| super::scan::same_length(l, f.0))).take(room)
        {
            let lambda = mu / (1.0 - r);
            state.rows.add(row(i, j), 1.0 - r, Some(lambda), mu);
            let entering = weighted_outer(&cloud.x, std::iter::once((i as usize, j as usize, lambda)));
            linalg::add_scaled(&mut state.z, 1.0, &entering);
        }
    }
    Ok(lower)
}

/// Newton's method on `F*(c) = F(0)`: `F*` is concave and its slope is the diameter of the optimum, so that the iterates
/// grow towards `c_max` from below.
fn instance_ceiling(cloud: &Cloud, variant: Variant, observer: &mut dyn Observer) -> Result<f64> {
    let zero = value_at_zero(cloud, Slack::Instance);
    let (mut c, mut below) = (1e-2 * zero, false);
    for _ in 0..40 {
        let settings = Settings { variant, slack: Slack::Instance, c, tolerance: 1e-8, max_iterations: MAX_ITERATIONS };
        let solution = solve(cloud, settings, observer)?;
        if matches!(solution.status, Status::TimeLimit | Status::Interrupted) {
            let interrupted = solution.status == Status::Interrupted;
            return Err(stopped(if interrupted { Stop::Interrupted } else { Stop::TimeLimit }));
        }
        if !below && solution.dual >= zero * (1.0 - ACCURACY) {
            c *= 0.1;
            continue;
        }
        below = true;
        let next = c + (zero - solution.objective) / solution.diameter;
        if next <= c * (1.0 + ACCURACY) {
            break;
        }
        c = next;
    }
    Ok(c)
}
