//! The loop and the certificate.

use super::newton::factor_of;
use super::scan::{Query, Survey, keep_longest, survey};
use super::tail;
use super::{Interior, NOWHERE, Shape, State};
use crate::linalg::{self, Cholesky};
use crate::pairs::{Cloud, Embedding};
use crate::problem::{Diameter, Slack, Variant, relative_gap};
use crate::solver::{Halt, Observer, Progress, Status};
use crate::{Matrix, Result};
use std::ops::ControlFlow;

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
/// A smaller problem comes first where `c` exceeds this part of the number of pairs that push: so many of its points
/// push, so many bound the diameter, and it is solved to this gap.
const CROWDED: f64 = 0.02;
const FEW: usize = 64;
const BOUNDING: usize = 1000;
const ROUGH: f64 = 0.1;
/// The range of gaps that its solution is thought to have in the whole problem.
const LIKELY: (f64, f64) = (0.04, 0.6);
/// The gap that a metric to start from is thought to have.
const NEAR_GAP: f64 = 0.3;
/// The part of the complementarity that leaving the feasible region may cost.
const MAY_COST: f64 = 0.5;
/// The gap at which a point is kept for a neighbouring problem.
pub(super) const WAYPOINT: f64 = 0.1;

/// Directions are computed carefully where the relative sum of complementary products is below the first of these, or below the
/// second and the gap wanted, which then should have been reached; if that takes no more than so many operations.
const LATE: (f64, f64) = (3e-7, 1e-6);
const WORK: f64 = 3e10;

/// What to solve and how well.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings<'a> {
    pub(crate) variant: Variant,
    pub(crate) slack: Slack,
    pub(crate) diameter: Diameter,
    /// `(gamma / 2) |M - M_0|^2` in the objective.
    pub(crate) anchor: Option<(f64, &'a Matrix)>,
    pub(crate) c: f64,
    pub(crate) tolerance: f64,
    pub(crate) max_iterations: usize,
    /// Bytes that the largest matrices may take.
    pub(crate) memory: usize,
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
    /// Multipliers of the best certificate: point, point, whether the pair pushes, multiplier.
    pub(crate) support: Vec<(u32, u32, bool, f64)>,
    /// The multiplier of the mean of all pairs that bound the diameter.
    pub(crate) mean: f64,
    /// The multiplier, per unit of weight, of the different-label pairs that are not listed and closer than 2 under
    /// `sides`.
    pub(crate) below: f64,
    /// The multiplier, per unit of weight, of the pairs that bound the diameter, are not listed and are longer than `edge`
    /// under `sides`.
    pub(crate) beyond: f64,
    pub(crate) edge: f64,
    pub(crate) sides: Matrix,
}

impl Solution {
    /// The certified relative gap.
    pub(crate) fn gap(&self) -> f64 {
        relative_gap(self.objective, self.dual)
    }
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
#[derive(Clone)]
pub(super) struct Engine<'a> {
    pub(super) cloud: &'a Cloud,
    pub(super) settings: Settings<'a>,
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
    pub(super) waypoint: Option<Box<Engine<'a>>>,
    /// Whether to keep one.
    pub(super) keep: bool,
    /// How often in a row there were more long pairs than may enter at a time: that number grows with it.
    pub(super) hurry: u32,
    /// The diameter's edge of the tail that goes with `sides`.
    pub(super) edge: f64,
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
        settings: Settings<'a>,
        state: State,
        sides: Embedding,
        sides_factor: Matrix,
        best: Best,
    ) -> Self {
        let shape = Shape { scalar: settings.diameter != Diameter::Mean, cost: settings.c };
        let edge = state.scalar;
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
            keep: false,
            hurry: 0,
            edge,
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
        let scalar = self.settings.diameter != Diameter::Mean;
        let mixes: &[f64] = if late && scalar { &[0.0, 1e-3, 1e-2, 0.1, 0.3] } else { &[0.0] };
        // Multipliers that have an upper bound cannot be scaled up: what is missing comes from all pairs.
        let (to_c, missing) = match self.settings.diameter {
            Diameter::Maximum => (c / total, 0.0),
            Diameter::Cvar(_) if total >= c => (c / total, 0.0),
            Diameter::Cvar(level) => {
                let part = (c - total) / (c / level - total);
                (1.0 - part, part * c / level)
            }
            Diameter::Mean => (1.0, 0.0),
        };
        let mut best = Certificate { value: f64::NEG_INFINITY, ..Certificate::default() };
        for t in mixes.iter().map(|t| t * self.settings.tolerance) {
            let mut mixed = pull.clone();
            mixed.as_mut_slice().iter_mut().for_each(|v| *v *= (1.0 - t) * to_c);
            let mean = t * c + (1.0 - t) * missing;
            linalg::add_scaled(&mut mixed, mean, &rows.sums[0]);
            let reached = (1.0 / generalised_largest(&push, &mixed)?).min(most);
            // With an anchor the dual point need not make `Z` positive semidefinite.
            let scales = [reached, if self.settings.anchor.is_some() { most } else { reached }];
            for scale in scales {
                let value = value * scale + self.conjugate(&mixed, &push, scale)?;
                if value > best.value {
                    best = Certificate { value, scale: (scale, (1.0 - t) * to_c), mixed: mean, lambda: Vec::new() };
                }
            }
        }
        // After pruning the old multipliers have lost their rows: the next certificate replaces them even if it is worse.
        if best.value > self.certificate.value || self.stale {
            self.stale = false;
            self.certificate = Certificate { lambda: rows.lambda.clone(), ..best };
        }
        Ok(())
    }

    /// The least value over all positive semidefinite `M` of `<pull - scale push, M>` and the anchor's term; zero without
    /// an anchor, where the first must be positive semidefinite.
    fn conjugate(&self, pull: &Matrix, push: &Matrix, scale: f64) -> Result<f64> {
        let Some((gamma, reference)) = self.settings.anchor else { return Ok(0.0) };
        let mut moved = pull.clone();
        linalg::add_scaled(&mut moved, -scale, push);
        moved.as_mut_slice().iter_mut().for_each(|v| *v /= -gamma);
        linalg::add_scaled(&mut moved, 1.0, reference);
        let positive: f64 = linalg::symmetric_eigenvalues(&moved)?.iter().map(|v| v.max(0.0).powi(2)).sum();
        Ok(0.5 * gamma * (linalg::inner(reference, reference) - positive))
    }

    /// Forgets the multipliers of the best certificate (their rows are gone), not its value.
    pub(super) fn forget_certificate(&mut self) {
        self.stale = true;
    }

    /// The present primal point.
    pub(super) fn interior(&self) -> Interior {
        let slack = match self.settings.slack {
            Slack::Pair => Vec::new(),
            Slack::Instance => (0..self.cloud.len()).map(|i| self.state.slack_of(i)).collect(),
        };
        Interior { m: self.state.m.clone(), slack }
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
        let relative = (self.state.complementarity() / self.best.objective).clamp(1e-7, 0.3);
        let beyond = match self.settings.diameter {
            Diameter::Maximum => self.state.scalar * (1.0 - relative),
            Diameter::Cvar(_) | Diameter::Mean => f64::INFINITY,
        };
        let query = Query { variant: self.settings.variant, window: (0.0, 0.0), beyond, most: LONGEST };
        match self.settings.slack {
            Slack::Pair => survey(self.cloud, now, Some(&self.sides), &query, None),
            Slack::Instance => {
                let slack: Vec<f64> = (0..self.cloud.len()).map(|i| self.state.slack_of(i)).collect();
                survey(self.cloud, now, None, &query, Some((&slack, relative)))
            }
        }
    }

    /// The diameter of the present metric.
    fn diameter(&self, found: &Survey) -> f64 {
        match self.settings.diameter {
            Diameter::Maximum => found.longest,
            Diameter::Cvar(_) => {
                let excess = tail::rate(self.cloud, &self.settings) * found.excess;
                self.state.scalar + excess / self.settings.c
            }
            Diameter::Mean => linalg::inner(&self.state.rows.sums[0], &self.state.m),
        }
    }

    fn objective(&self, found: &Survey) -> f64 {
        let loss = match self.settings.slack {
            Slack::Pair => found.hinge,
            Slack::Instance => {
                self.state.active.iter().zip(&self.state.slack).map(|(&i, s)| self.cloud.weight[i as usize] * s).sum()
            }
        };
        self.settings.c * self.diameter(found) + loss + bent(self.settings.anchor, &self.state.m)
    }

    /// After a step from `before`: the true objective, and new rows where the reduced problem was wrong. Where the step
    /// has left the feasible region of the full problem, diameter and slacks are lifted back into it; where that would cost
    /// too much, part of the step is taken back first.
    fn scan(&mut self, before: &Before) -> Result<()> {
        let allowed = MAY_COST * self.state.complementarity();
        let mut retreats = 0;
        let mut blocking = Vec::new();
        let (now, mut found, factor) = loop {
            let factor = factor_of(&self.state.m, "the metric")?;
            let now = Embedding::new(self.cloud, &factor);
            let found = self.look(&now);
            let cost = self.cost_of_lifting(&found);
            if cost <= allowed || retreats > 4 {
                self.lift(&found);
                break (now, found, factor);
            }
            retreats += 1;
            blocking.extend(found.far.iter().filter(|f| f.0 > self.state.scalar).map(|f| (f.1, f.2, false)));
            blocking.extend(found.tight.iter().filter(|t| t.0 < 0.0).map(|t| (t.1, t.2, true)));
            self.retreat(before, if retreats > 4 { 0.0 } else { 0.9 * allowed / cost });
        };
        // What stood in the way of the whole step gets rows even if nothing else would give it one.
        for (i, j, push) in blocking {
            let r = now.squared_distance(i as usize, j as usize);
            if push { found.tight.push((r - 2.0, i, j)) } else { found.far.push((r, i, j)) }
        }
        keep_longest(&mut found.far, usize::MAX);
        let mut crossed = Vec::new();
        if let Diameter::Cvar(_) = self.settings.diameter {
            let before = Some((&self.sides, self.edge));
            let tail = tail::look(self.cloud, &now, self.state.scalar, self.settings.variant, before, (0.0, 0.0));
            found.excess = tail.excess;
            crossed = tail.crossed;
        }
        let objective = self.objective(&found);
        if objective < self.best.objective {
            let slack = self.interior().slack;
            self.best = Best { objective, diameter: self.diameter(&found), factor: factor.clone(), slack };
        }
        self.refresh(&factor);
        let mu = self.state.mu();
        match self.settings.slack {
            Slack::Pair => self.admit_push(&found.near, &now, mu)?,
            Slack::Instance => self.admit_tight(&found.tight, &now, mu)?,
        }
        match self.settings.diameter {
            Diameter::Maximum => self.admit_pull(&found, &now, mu),
            Diameter::Cvar(_) => self.admit_tail(&crossed, &now, mu),
            Diameter::Mean => Ok(()),
        }
    }

    /// What the objective grows by where diameter and slacks are lifted to what was found.
    fn cost_of_lifting(&self, found: &Survey) -> f64 {
        let longer = match self.settings.diameter {
            Diameter::Maximum => self.settings.c * (found.longest - self.state.scalar).max(0.0),
            Diameter::Cvar(_) | Diameter::Mean => 0.0,
        };
        let slacks: f64 = self.missing_slack(found).iter().zip(&self.cloud.weight).map(|(s, w)| s * w).sum();
        longer + slacks
    }

    /// Half of the largest violation of each point's margins, with a slack per instance.
    fn missing_slack(&self, found: &Survey) -> Vec<f64> {
        let mut missing = Vec::new();
        for &(z, i, j) in found.tight.iter().take_while(|t| t.0 < 0.0) {
            missing.resize(self.cloud.len(), 0.0f64);
            for p in [i as usize, j as usize] {
                missing[p] = missing[p].max(-0.5 * z);
            }
        }
        missing
    }

    /// Makes the point strictly feasible for all pairs.
    fn lift(&mut self, found: &Survey) {
        let state = &mut self.state;
        if self.settings.diameter == Diameter::Maximum {
            let least = found.longest + 1e-3 * state.complementarity() / self.settings.c;
            state.scalar = state.scalar.max(least);
        }
        for (p, missing) in self.missing_slack(found).into_iter().enumerate().filter(|(_, m)| *m > 0.0) {
            let at = self.state.place[p];
            if at != NOWHERE {
                self.state.slack[at as usize] += 1.1 * missing;
            }
        }
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

    /// The best certified lower bound so far.
    pub(super) fn lower(&self) -> f64 {
        self.certificate.value
    }

    /// The same point in a problem that differs only in `c`. The multipliers that bound the diameter follow `c`; where it
    /// falls the others do, too, which leaves the dual point feasible.
    pub(super) fn turn_to(&mut self, settings: Settings<'a>) {
        let ratio = settings.c / self.settings.c;
        let bend = bent(settings.anchor, &self.state.m) - bent(self.settings.anchor, &self.state.m);
        self.best.objective += (settings.c - self.settings.c) * self.best.diameter + bend;
        self.settings = settings;
        self.shape.cost = settings.c;
        self.certificate = Certificate::default();
        self.stale = true;
        self.pruned_at = 1.0;
        self.waypoint = None;
        let state = &mut self.state;
        state.anchor = settings.anchor.map(|(gamma, reference)| (gamma, reference.clone()));
        let scale = |matrix: &mut Matrix| matrix.as_mut_slice().iter_mut().for_each(|v| *v *= ratio);
        let falls = ratio < 1.0 && settings.slack == Slack::Pair;
        let rows = &mut state.rows;
        for k in 0..rows.len() {
            let tail = !rows.push[k] && rows.cap[k].is_finite();
            if tail && rows.pair(k).is_none() {
                // All its coefficients follow `c`, not its multiplier.
                scale(&mut rows.sums[rows.j[k] as usize]);
                rows.b[k] *= ratio;
                rows.s[k] *= ratio;
                rows.xi[k] *= ratio;
            } else if !rows.push[k] || falls {
                rows.lambda[k] *= ratio;
            }
            if tail && rows.pair(k).is_some() {
                rows.cap[k] *= ratio;
            }
        }
        scale(&mut state.drawn);
        if falls {
            scale(&mut state.z);
        }
    }

    /// Iterates until the certified gap is at most `until`.
    pub(super) fn run(&mut self, until: f64, iterations: &mut usize, observer: &mut dyn Observer) -> Result<Status> {
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
                ..Progress::default()
            };
            if let ControlFlow::Break(stop) = observer.progress(&at) {
                return Ok(match stop {
                    Halt::TimeLimit => Status::TimeLimit,
                    Halt::Interrupted => Status::Interrupted,
                });
            }
            if gap <= WAYPOINT && self.keep && self.waypoint.is_none() {
                self.waypoint = Some(Box::new(self.clone()));
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
            if self.state.bytes() > self.settings.memory {
                return Ok(Status::MemoryLimit);
            }
            if gap < PRUNE * self.pruned_at && self.state.rows.len() > MANY && gap > PRUNE_UNTIL {
                self.pruned_at = gap;
                self.prune(0.5)?;
                self.certify()?;
            }
            let before = Before::of(&self.state);
            // Rounding may end the iteration at very small gaps: what was certified before stays.
            let careful = self.state.complementarity() < LATE.1.min(until).max(LATE.0) * self.best.objective;
            let careful = careful && self.state.careful_work() <= WORK;
            let moved = self.state.step_with(self.cloud, &self.shape, ENOUGH * enough, careful).and_then(|lengths| {
                self.scan(&before)?;
                if careful {
                    self.state.restore(self.cloud, &self.shape)?;
                }
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
        let mut support = Vec::with_capacity(lambda.len());
        for k in 0..lambda.len() {
            let multiplier = lambda[k] * if rows.push[k] { scale.0 } else { scale.1 };
            match rows.pair(k) {
                Some((i, j)) => support.push((i as u32, j as u32, rows.push[k], multiplier)),
                None => {
                    let members = &rows.members[rows.j[k] as usize];
                    let share = multiplier / members.len() as f64;
                    support.extend(members.iter().map(|&(i, j)| (i, j, rows.push[k], share)));
                }
            }
        }
        let sum = |push: bool| {
            let whole = |k: &usize| rows.pair(*k).is_none() && rows.members[rows.j[*k] as usize].is_empty();
            let at = (0..lambda.len()).find(|k| rows.push[*k] == push && whole(k));
            at.map_or(0.0, |k| lambda[k])
        };
        let below = sum(true) * scale.0;
        let (mean, beyond) = match self.settings.diameter {
            Diameter::Maximum => (sum(false) * scale.1 + mixed, 0.0),
            Diameter::Cvar(_) => (mixed, sum(false) * scale.1 * tail::rate(self.cloud, &self.settings)),
            Diameter::Mean => (self.settings.c, 0.0),
        };
        let edge = self.edge;
        let sides = self.sides_factor;
        let best = trimmed(self.cloud, &self.settings, self.best, value, &rows.sums[0], self.state.scalar);
        Solution {
            factor: best.factor,
            objective: best.objective,
            dual: value,
            status,
            iterations,
            support,
            mean,
            below,
            beyond,
            edge,
            sides,
        }
    }
}

/// Interior points have full rank; optima often have not. Leaves out the smallest directions of `M` as long as the
/// certified gap allows it.
fn trimmed(cloud: &Cloud, settings: &Settings<'_>, best: Best, dual: f64, mean: &Matrix, scalar: f64) -> Best {
    if settings.anchor.is_some() {
        return best;
    }
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
        let diameter = match settings.diameter {
            Diameter::Maximum => found.longest,
            Diameter::Cvar(_) => {
                let excess = tail::look(cloud, &now, scalar, settings.variant, None, (0.0, 0.0)).excess;
                scalar + tail::rate(cloud, settings) * excess / settings.c
            }
            Diameter::Mean => linalg::inner(mean, &linalg::product_transposed(&factor, &factor)),
        };
        let objective = settings.c * diameter + loss;
        if relative_gap(objective, dual) <= allowed {
            return Best { objective, diameter, factor, slack };
        }
    }
    best
}

/// Solves the problem on a cloud.
pub(crate) fn solve(cloud: &Cloud, settings: Settings<'_>, observer: &mut dyn Observer) -> Result<Solution> {
    let mut iterations = 0;
    let mut engine = begin(cloud, settings, &mut iterations, observer)?;
    let status = engine.run(settings.tolerance, &mut iterations, observer)?;
    Ok(engine.finish(status, iterations))
}

/// Solves the problem, from a metric that may be near the optimum.
pub(crate) fn solve_near(
    cloud: &Cloud,
    settings: Settings<'_>,
    mut m: Matrix,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    // Well inside the cone, and of about the right scale.
    let p = m.rows();
    let shift = 0.03 * (0..p).map(|k| m[(k, k)]).sum::<f64>() / p as f64;
    (0..p).for_each(|k| m[(k, k)] += shift.max(f64::MIN_POSITIVE));
    let plain = Engine::begin(cloud, settings, Matrix::identity(p))?;
    let engine = Engine::begin(cloud, settings, m)?;
    let mut engine = if engine.best.objective < plain.best.objective {
        let near = engine.interior();
        Engine::begin_at(cloud, settings, near, |_| NEAR_GAP)?
    } else {
        plain
    };
    let mut iterations = 0;
    let status = engine.run(settings.tolerance, &mut iterations, observer)?;
    Ok(engine.finish(status, iterations))
}

/// The multiple of `m` with the smallest objective, and its diameter.
pub(crate) fn fitted(cloud: &Cloud, settings: Settings<'_>, m: Matrix) -> Result<(Matrix, f64)> {
    let engine = Engine::begin(cloud, settings, m)?;
    Ok((engine.state.m, engine.best.diameter))
}

/// A first point. Where `c` is so large that a good part of all pairs stays inside the margin, it comes from a smaller
/// problem with few of the pairs that push and all that may bound the diameter.
pub(super) fn begin<'a>(
    cloud: &'a Cloud,
    settings: Settings<'a>,
    iterations: &mut usize,
    observer: &mut dyn Observer,
) -> Result<Engine<'a>> {
    let first = settings.anchor.map_or_else(|| Matrix::identity(cloud.x.cols()), |(_, reference)| reference.clone());
    let pairs = cloud.pair_totals().0;
    let plain = settings.slack == Slack::Pair && settings.diameter == Diameter::Maximum && settings.anchor.is_none();
    if cloud.len() < 3 * FEW || !plain || settings.c < CROWDED * pairs {
        return Engine::begin(cloud, settings, first);
    }
    let part = cloud.coarse(FEW, BOUNDING);
    let share = part.pair_totals().0 / pairs;
    let anchor = settings.anchor.map(|(gamma, reference)| (gamma * share, reference));
    let easier = Settings { c: settings.c * share, anchor, tolerance: ROUGH, ..settings };
    let mut engine = Engine::begin(&part, easier, first)?;
    engine.run(ROUGH, iterations, observer)?;
    let expected = engine.certificate.value / share;
    Engine::begin_at(cloud, settings, engine.interior(), |objective| {
        (1.0 - expected / objective).clamp(LIKELY.0, LIKELY.1)
    })
}

/// The anchor's part of the objective.
pub(super) fn bent(anchor: Option<(f64, &Matrix)>, m: &Matrix) -> f64 {
    let Some((gamma, reference)) = anchor else { return 0.0 };
    let mut apart = m.clone();
    linalg::add_scaled(&mut apart, -1.0, reference);
    0.5 * gamma * linalg::inner(&apart, &apart)
}
