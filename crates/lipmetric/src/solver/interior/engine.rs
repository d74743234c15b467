//! The loop and the certificate.

use super::newton::factor_of;
use super::path::Waypoint;
use super::scan::{Query, Survey, survey};
use super::{NOWHERE, Shape, State};
use crate::linalg::{self, Cholesky};
use crate::pairs::{Cloud, Embedding};
use crate::problem::{Slack, Variant};
use crate::solver::{Observer, Progress, Status, Stop};
use crate::{Matrix, Result};
use std::ops::ControlFlow;
use std::time::Instant;

/// Longest pairs that a pass reports.
const LONGEST: usize = 1000;
/// Steps in a row that may be shorter than [`SHORT`], or be taken below the tolerated gap, before the solver gives up.
const PATIENCE: usize = 12;
const SHORT: f64 = 1e-5;
/// The part of the tolerated gap that a step aims at: going far below it only loses accuracy.
const ENOUGH: f64 = 0.2;
/// Rows are given up where there are more than this, each time that the gap has fallen by this factor, down to this gap.
const MANY: usize = 2500;
const PRUNE: f64 = 0.3;
const PRUNE_UNTIL: f64 = 1e-4;
/// The gap at which a point is kept for a neighbouring problem.
const WAYPOINT: f64 = 0.1;

/// What to solve and how well.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) variant: Variant,
    pub(crate) slack: Slack,
    pub(crate) c: f64,
    pub(crate) tolerance: f64,
    pub(crate) max_iterations: usize,
}

/// The best point found and what is known about it.
#[derive(Debug, Clone)]
pub(crate) struct Solution {
    /// Coordinates x rank: `M = factor factor^T`.
    pub(crate) factor: Matrix,
    pub(crate) objective: f64,
    pub(crate) dual: f64,
    pub(crate) status: Status,
    pub(crate) iterations: usize,
    /// The largest distance among the pairs that bound the diameter.
    pub(crate) diameter: f64,
    /// Multipliers of the best certificate: point, point, whether the pair pushes, multiplier.
    pub(crate) support: Vec<(u32, u32, bool, f64)>,
    /// The multiplier of the mean of all pairs that bound the diameter.
    pub(crate) mean: f64,
    /// The multiplier, per unit of weight, of the different-label pairs that are not listed and closer than 2 under
    /// `sides`.
    pub(crate) below: f64,
    pub(crate) sides: Matrix,
}

impl Solution {
    /// The certified relative gap.
    pub(crate) fn gap(&self) -> f64 {
        relative_gap(self.objective, self.dual)
    }
}

fn relative_gap(objective: f64, dual: f64) -> f64 {
    if objective > dual { (objective - dual) / objective.abs() } else { 0.0 }
}

/// The best primal point so far.
#[derive(Debug, Clone)]
pub(super) struct Best {
    pub(super) objective: f64,
    pub(super) diameter: f64,
    pub(super) factor: Matrix,
    /// The slack of each point, with a slack per instance.
    pub(super) slack: Vec<f64>,
}

/// The best certificate so far.
#[derive(Debug, Clone, Default)]
struct Certificate {
    value: f64,
    /// By what the multipliers that push were scaled, and those that pull.
    scale: (f64, f64),
    /// The multiplier that the mean of the pairs bounding the diameter got in addition.
    mixed: f64,
    lambda: Vec<f64>,
}

/// What a step may have to be taken back to.
struct Before {
    m: Matrix,
    scalar: f64,
    slack: Vec<f64>,
}

impl Before {
    fn of(state: &State) -> Self {
        Self { m: state.m.clone(), scalar: state.scalar, slack: state.slack.clone() }
    }
}

/// A fit under way.
pub(super) struct Engine<'a> {
    pub(super) cloud: &'a Cloud,
    pub(super) settings: Settings,
    pub(super) shape: Shape,
    pub(super) state: State,
    /// The embedding that tells on which side of the kink a pair without a row was put.
    pub(super) sides: Embedding,
    pub(super) sides_factor: Matrix,
    pub(super) best: Best,
    certificate: Certificate,
    stale: bool,
    /// The gap at which rows were last given up.
    pruned_at: f64,
    /// An earlier, still central point, from which a neighbouring problem can start.
    pub(super) waypoint: Option<State>,
}

/// The largest `t` such that `t` is an eigenvalue of `B^-1 A`; infinite where `B` is not positive definite.
pub(super) fn generalised_largest(a: &Matrix, b: &Matrix) -> Result<f64> {
    let Some(factor) = Cholesky::of(b) else { return Ok(f64::INFINITY) };
    Ok(linalg::symmetric_eigenvalues(&factor.whiten(a))?.last().copied().unwrap_or(0.0).max(f64::MIN_POSITIVE))
}

impl<'a> Engine<'a> {
    /// Starts from `state`; `sides_factor` is the factor that `sides` embeds.
    pub(super) fn new(
        cloud: &'a Cloud,
        settings: Settings,
        state: State,
        sides: Embedding,
        sides_factor: Matrix,
        best: Best,
    ) -> Self {
        let shape = Shape { scalar: true, cost: settings.c };
        Self {
            cloud,
            settings,
            shape,
            state,
            sides,
            sides_factor,
            best,
            certificate: Certificate::default(),
            stale: false,
            pruned_at: 1.0,
            waypoint: None,
        }
    }

    /// Updates the certified lower bound from the current multipliers: those that push are scaled down until
    /// `sum lambda A <= sum eta A` with `sum eta = c` (and, with a slack per instance, `sum_j lambda_ij <= w_i`).
    fn certify(&mut self) -> Result<()> {
        let rows = &self.state.rows;
        let (pull, push) = self.state.sums(self.cloud);
        let (mut total, mut value) = (0.0, 0.0);
        for k in 0..rows.len() {
            total += rows.lambda[k] * rows.b[k];
            value += rows.lambda[k] * rows.g[k];
        }
        let mut most: f64 = 1.0;
        if self.settings.slack == Slack::Instance {
            let mut load = vec![0.0; self.cloud.len()];
            for (k, (i, j)) in (0..rows.len()).filter(|&k| rows.push[k]).filter_map(|k| Some((k, rows.pair(k)?))) {
                load[i] += rows.lambda[k];
                load[j] += rows.lambda[k];
            }
            for (l, w) in load.iter().zip(&self.cloud.weight) {
                most = most.min(w / l);
            }
        }
        // Late in the iteration `sum eta A` is nearly singular and rounding spoils the comparison: a little of the mean of
        // all pairs in it costs next to nothing and restores it.
        let c = self.settings.c;
        let late = self.state.complementarity() < 0.3 * self.settings.tolerance * self.best.objective;
        let mixes: &[f64] = if late { &[0.0, 1e-3, 1e-2, 0.1, 0.3] } else { &[0.0] };
        let (mut scale, mut mix) = (0.0, 0.0);
        for t in mixes.iter().map(|t| t * self.settings.tolerance) {
            let mut mixed = pull.clone();
            mixed.as_mut_slice().iter_mut().for_each(|v| *v *= (1.0 - t) * c / total);
            linalg::add_scaled(&mut mixed, t * c, &rows.sums[0]);
            let reached = (1.0 / generalised_largest(&push, &mixed)?).min(most);
            if reached > scale {
                (scale, mix) = (reached, t);
            }
        }
        // After pruning the old multipliers have lost their rows: the next certificate replaces them even if it is worse.
        if value * scale > self.certificate.value || self.stale {
            self.stale = false;
            self.certificate = Certificate {
                value: value * scale,
                scale: (scale, (1.0 - mix) * c / total),
                mixed: mix * c,
                lambda: rows.lambda.clone(),
            };
        }
        Ok(())
    }

    /// Forgets the multipliers of the best certificate (their rows are gone), not its value.
    pub(super) fn forget_certificate(&mut self) {
        self.stale = true;
    }

    /// Recomputes what depends on `M`, so that rounding does not pile up.
    fn refresh(&mut self, factor: &Matrix) {
        let state = &mut self.state;
        let products = state.rows.products(self.cloud, &state.m, factor);
        for k in 0..state.rows.len() {
            let mut z = state.rows.sign(k) * products[k] + state.rows.b[k] * state.scalar - state.rows.g[k];
            if let (true, Some((i, j))) = (state.rows.push[k], state.rows.pair(k)) {
                z += state.slack_of(i) + state.slack_of(j);
            }
            state.rows.settle(k, z);
        }
    }

    /// Looks at all pairs under the current metric.
    fn look(&self, now: &Embedding) -> Survey {
        let relative = (self.state.complementarity() / self.best.objective).clamp(1e-3, 0.3);
        let query = Query {
            variant: self.settings.variant,
            window: (0.0, 0.0),
            beyond: self.state.scalar * (1.0 - relative),
            most: LONGEST,
        };
        match self.settings.slack {
            Slack::Pair => survey(self.cloud, now, Some(&self.sides), &query, None),
            Slack::Instance => {
                let slack: Vec<f64> = (0..self.cloud.len()).map(|i| self.state.slack_of(i)).collect();
                survey(self.cloud, now, None, &query, Some((&slack, relative)))
            }
        }
    }

    fn objective(&self, found: &Survey) -> f64 {
        let loss = match self.settings.slack {
            Slack::Pair => found.hinge,
            Slack::Instance => {
                self.state.active.iter().zip(&self.state.slack).map(|(&i, s)| self.cloud.weight[i as usize] * s).sum()
            }
        };
        self.settings.c * found.longest + loss
    }

    /// After a step from `before`: the true objective, and new rows where the reduced problem was wrong. Where the step
    /// has left the feasible region of the full problem, part of it is taken back.
    fn scan(&mut self, before: &Before) -> Result<()> {
        let mut retreats = 0;
        let (now, found, factor) = loop {
            let factor = factor_of(&self.state.m, "the metric")?;
            let now = Embedding::new(self.cloud, &factor);
            let found = self.look(&now);
            let feasible = found.tight.first().is_none_or(|t| t.0 > 0.0);
            let objective = self.objective(&found);
            if feasible && objective < self.best.objective {
                let slack = match self.settings.slack {
                    Slack::Pair => Vec::new(),
                    Slack::Instance => (0..self.cloud.len()).map(|i| self.state.slack_of(i)).collect(),
                };
                self.best = Best { objective, diameter: found.longest, factor: factor.clone(), slack };
            }
            if feasible && found.longest < self.state.scalar {
                break (now, found, factor);
            }
            retreats += 1;
            let part = if retreats > 4 { 0.0 } else { 0.9 * self.inside(before, &found)? };
            self.retreat(before, part);
        };
        self.refresh(&factor);
        let mu = self.state.mu();
        match self.settings.slack {
            Slack::Pair => self.admit_push(&found.near, &now, mu)?,
            Slack::Instance => self.admit_tight(&found.tight, mu)?,
        }
        self.admit_pull(&found, mu)
    }

    /// How much of the step from `before` the pairs that were found violated allow.
    fn inside(&self, before: &Before, found: &Survey) -> Result<f64> {
        let old = Embedding::new(self.cloud, &factor_of(&before.m, "the metric")?);
        let mut part: f64 = 1.0;
        for &(r, i, j) in &found.far {
            let room = before.scalar - old.squared_distance(i as usize, j as usize);
            let over = r - self.state.scalar;
            if over >= 0.0 && room > 0.0 {
                part = part.min(room / (room + over));
            }
        }
        for &(z, i, j) in found.tight.iter().take_while(|t| t.0 <= 0.0) {
            let (i, j) = (i as usize, j as usize);
            let slack = |p: usize| match self.state.place[p] {
                NOWHERE => 0.0,
                at => before.slack[at as usize],
            };
            let room = old.squared_distance(i, j) + slack(i) + slack(j) - 2.0;
            if room > 0.0 {
                part = part.min(room / (room - z));
            }
        }
        Ok(part)
    }

    fn retreat(&mut self, before: &Before, part: f64) {
        let state = &mut self.state;
        let mix = |now: &mut f64, old: f64| *now = old + part * (*now - old);
        for (now, &old) in state.m.as_mut_slice().iter_mut().zip(before.m.as_slice()) {
            mix(now, old);
        }
        mix(&mut state.scalar, before.scalar);
        for (now, &old) in state.slack.iter_mut().zip(&before.slack) {
            mix(now, old);
        }
    }

    /// Iterates until the certified gap is at most `until`.
    pub(super) fn run(&mut self, until: f64, iterations: &mut usize, observer: &mut dyn Observer) -> Result<Status> {
        let start = Instant::now();
        let (mut short, mut late) = (0, 0);
        loop {
            self.certify()?;
            let gap = relative_gap(self.best.objective, self.certificate.value);
            let at = Progress {
                iteration: *iterations,
                primal: Some(self.best.objective),
                dual: Some(self.certificate.value),
                gap: Some(gap),
                working_set: Some(self.state.rows.len()),
                seconds: start.elapsed().as_secs_f64(),
            };
            if let ControlFlow::Break(stop) = observer.progress(&at) {
                return Ok(match stop {
                    Stop::TimeLimit => Status::TimeLimit,
                    Stop::Interrupted => Status::Interrupted,
                });
            }
            if gap <= WAYPOINT && self.waypoint.is_none() {
                self.waypoint = Some(self.state.clone());
            }
            if gap <= until {
                return Ok(Status::Optimal);
            }
            let enough = until * self.best.objective;
            late = if self.state.complementarity() < enough { late + 1 } else { 0 };
            if short > PATIENCE || late > PATIENCE {
                return Ok(Status::Stalled);
            }
            if *iterations >= self.settings.max_iterations {
                return Ok(Status::IterationLimit);
            }
            if gap < PRUNE * self.pruned_at && self.state.rows.len() > MANY && gap > PRUNE_UNTIL {
                self.pruned_at = gap;
                self.prune()?;
                self.certify()?;
            }
            let before = Before::of(&self.state);
            // Rounding may end the iteration at very small gaps: what was certified before stays.
            let moved = self.state.step(self.cloud, &self.shape, ENOUGH * enough).and_then(|lengths| {
                self.scan(&before)?;
                Ok(lengths)
            });
            let Ok((primal, dual)) = moved else { return Ok(Status::Stalled) };
            *iterations += 1;
            short = if primal.max(dual) < SHORT { short + 1 } else { 0 };
        }
    }

    pub(super) fn finish(self, status: Status, iterations: usize) -> Solution {
        // Rows are only ever added behind the others, so that the certificate's multipliers belong to the first ones.
        let Certificate { value, scale, mixed, lambda } = self.certificate;
        let rows = &self.state.rows;
        let support = (0..lambda.len())
            .filter_map(|k| {
                let (i, j) = rows.pair(k)?;
                let multiplier = lambda[k] * if rows.push[k] { scale.0 } else { scale.1 };
                Some((i as u32, j as u32, rows.push[k], multiplier))
            })
            .collect();
        let sum = |push: bool| {
            let at = (0..lambda.len()).find(|&k| rows.push[k] == push && rows.pair(k).is_none());
            at.map_or(0.0, |k| lambda[k])
        };
        let (mean, below) = (sum(false) * scale.1 + mixed, sum(true) * scale.0);
        let sides = self.sides_factor;
        let best = trimmed(self.cloud, &self.settings, self.best, value);
        Solution {
            factor: best.factor,
            objective: best.objective,
            dual: value,
            status,
            iterations,
            diameter: best.diameter,
            support,
            mean,
            below,
            sides,
        }
    }
}

/// Interior points have full rank; optima often have not. Leaves out the smallest directions of `M` as long as the
/// certified gap allows it.
fn trimmed(cloud: &Cloud, settings: &Settings, best: Best, dual: f64) -> Best {
    let Ok(eigen) = linalg::symmetric_eigen(&linalg::product_transposed(&best.factor, &best.factor)) else {
        return best;
    };
    let allowed = settings.tolerance.max(relative_gap(best.objective, dual));
    let top = eigen.values.last().copied().unwrap_or(0.0);
    let p = eigen.values.len();
    for threshold in [1e-4, 1e-5, 1e-6, 1e-7, 1e-8] {
        let skip = eigen.values.iter().take_while(|&&v| v <= threshold * top).count();
        if skip == 0 {
            break;
        }
        let mut factor = Matrix::zeros(p, p - skip);
        for a in 0..p {
            for k in skip..p {
                factor[(a, k - skip)] = eigen.vectors[(a, k)] * eigen.values[k].sqrt();
            }
        }
        let now = Embedding::new(cloud, &factor);
        let query = Query { variant: settings.variant, window: (0.0, 0.0), beyond: f64::INFINITY, most: 0 };
        let slacks = (settings.slack == Slack::Instance).then_some((&best.slack[..], 0.0));
        let found = survey(cloud, &now, None, &query, slacks);
        let mut slack = best.slack.clone();
        let loss = match settings.slack {
            Slack::Pair => found.hinge,
            Slack::Instance => {
                for &(z, i, j) in &found.tight {
                    for point in [i as usize, j as usize] {
                        slack[point] = slack[point].max(best.slack[point] - 0.5 * z);
                    }
                }
                slack.iter().zip(&cloud.weight).map(|(s, w)| s * w).sum()
            }
        };
        let objective = settings.c * found.longest + loss;
        if relative_gap(objective, dual) <= allowed {
            return Best { objective, diameter: found.longest, factor, slack };
        }
    }
    best
}

/// Solves the problem on a cloud.
pub(crate) fn solve(cloud: &Cloud, settings: Settings, observer: &mut dyn Observer) -> Result<Solution> {
    Ok(solve_from(cloud, settings, None, observer)?.0)
}

/// Solves the problem, from a point of a neighbouring problem if there is one; returns such a point for the next.
pub(super) fn solve_from(
    cloud: &Cloud,
    settings: Settings,
    from: Option<&Waypoint>,
    observer: &mut dyn Observer,
) -> Result<(Solution, Option<Waypoint>)> {
    let mut iterations = 0;
    let mut engine = match from {
        Some(waypoint) => waypoint.resume(cloud, settings)?,
        None => Engine::begin(cloud, settings, Matrix::identity(cloud.x.cols()))?,
    };
    let status = engine.run(settings.tolerance, &mut iterations, observer)?;
    let waypoint = Waypoint::of(&mut engine);
    Ok((engine.finish(status, iterations), waypoint))
}
