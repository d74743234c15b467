//! The same method where there are too many pairs to give each a row.
//!
//! The hinges are rounded over a width that shrinks with the gap, so that a multiplier is a function of the pair's length
//! alone and none is stored: value and gradient come from a pass over the pairs by tiles. The Hessian sees an evenly spread
//! part of the pairs within the width.
//!
//! With many coordinates, where a Hessian of few pairs would say little, the curvature that recent steps have met takes its
//! place.
//!
//! Many rows are solved from coarse to fine: the hinges are first those of a sample, weighted to stand for all, and the
//! sample grows. The diameter is that of all rows at every level (as far as its long pairs are known), so that metric,
//! multipliers and penalties go from one level to the next as they are. A pass over all pairs at the end of each level
//! gives the true objective, a certified bound and the long pairs that were missed.

use super::central::solve_centrally;
use super::levels::{Ended, LARGER, Level, Rounding, SAMPLE, takes_all, with_rows_for, worth};
use super::newton::System;
use super::{HALVINGS, PROXIMAL, negative_factor};
use crate::linalg::packed_len;
use crate::linalg::proximal::{Positive, simplex_threshold};
use crate::linalg::{self, Cholesky, Eigen};
use crate::pairs::pass::{Beyond, Query, Rounded};
use crate::pairs::{Cloud, Embedding};
use crate::problem::{Multipliers, certify, mean_pair, relative_gap};
use crate::solver::lbfgs::{Curvature, SUFFICIENT};
use crate::solver::working_set::model::{Lengths, Model, State};
use crate::solver::working_set::outer::{DIMENSIONS, enough_gradient};
use crate::solver::working_set::{LEAST, PART, Penalty, Settings, even_bound, first_factor};
use crate::solver::{Kept, Observer, Progress, Solution, Termination};
use crate::{Matrix, Result};
use std::ops::ControlFlow;

/// Newton steps between updates of the multipliers.
const STEPS: usize = 12;
/// The same, of cheaper steps, where there are many coordinates.
const STEPS_WIDE: usize = 60;
/// The widest rounding: a quarter of the kink's place, 2, to either side.
const WIDEST: f64 = 0.5;
/// The rounding's width as a part of the gap, which it follows down.
const FOLLOWS: f64 = 0.5;
/// The part of the tolerance that the narrowest rounding may cost; the rest is for the multipliers.
const ENOUGH: f64 = 0.4;
/// A width that is narrow enough for most tolerances.
const NARROW: f64 = 0.01;
/// Pairs within the width that the Hessian sees, per unknown.
const ROWS_PER_UNKNOWN: usize = 3;
/// The penalties grow by this after each update.
const GROW: f64 = 2.0;
/// Updates without progress before the solver gives up.
const PATIENCE: usize = 25;
/// The same on a sample, before a larger one is taken, and where pairs may have rows.
const PATIENCE_SHORT: usize = 8;
/// A gap within this factor of the tolerance is nearly reached: rows for the pairs would begin far from there.
const NEARLY: f64 = 2.0;
/// Steps whose curvature is remembered where there are many coordinates: a pass over the pairs costs more than all of them.
const REMEMBERED: usize = 40;
/// The first of these steps, without any curvature, is this part of the metric's length: a longer one is halved, at a pass each.
const FIRST_STEP: f64 = 0.03;
/// Pairs that the Hessian sees in any case, however few the unknowns.
const LEAST_ROWS: usize = 4000;
/// The Hessian first sees one in this many of the pairs within the width; then as many as it has room for.
const EVERY: u64 = 64;
/// What the damping of the Hessian is multiplied by after a full step, after a shortened one, and after none: each undoes
/// the one before it.
const DAMPING: (f64, f64, f64) = (0.25, 4.0, 16.0);
/// Pairs longer than this part of the longest are looked for.
const LONG: f64 = 0.7;
/// How many of them, at most: half as many as there are unknowns, within these.
const LONG_PAIRS: (usize, usize) = (60, 600);
/// The gradient that ends the steps between two updates, relative to the first one: multipliers are not worth more digits.
const LEFT: f64 = 0.1;
/// What rounding of the value, a sum over all pairs, may hide of a step's decrease.
const ROUNDING: f64 = 1e-13;
/// A gap that is not below this part of the least one is no progress.
const PROGRESS: f64 = 0.999;
/// With more pairs than this, none gets a row of its own.
const MANY_PAIRS: f64 = 1e6;
/// With so many, none gets one at first where `c` is at least [`CROWDED`]: 500 rows of 10 features took a quarter of the time, ...
const STREAMED_PAIRS: f64 = 1e5;
/// ... and with so many where no smaller gap than this is asked for: below it few rows of many features stall more often.
const STREAMED_ROUGHLY: (f64, f64) = (1e4, 1e-3);
/// The part of the weight of the pairs that push, which is about `c_max`: at a smaller `c` few push at the optimum, and rows for them took
/// half of the time.
const CROWDED: f64 = 1e-2;
/// Up to so many coordinates the central path is followed, with more than so many pairs: 1,000 rows of 10 to 20 features took a third to a
/// thirtieth of the time of rows for the pairs, ...
const CENTRAL: usize = 36;
/// See [`CENTRAL`].
const CENTRAL_PAIRS: f64 = 1e5;
/// ... and up to [`DIMENSIONS`] with so many that a pass over them takes longer than a Newton system does.
const PASS_PAIRS: f64 = 1e8;
/// The first penalty of the maximum, relative to `c` over the diameter: so small that many long pairs share the multiplier.
const PULL: f64 = 0.1;

/// Where the method stands.
struct Streamed<'a> {
    cloud: &'a Cloud,
    settings: Settings,
    level: Level,
    mean: Matrix,
    model: Model,
    state: State,
    penalty: Penalty,
    proximal: f64,
    /// What is added to the Hessian so that steps stay as short as they were found to descend.
    damping: f64,
    memory: Curvature,
    width: f64,
    /// One in so many of the pairs within the width is listed.
    every: u64,
    /// The best metric on all pairs and its objective.
    best: (f64, Matrix),
    bound: f64,
    iterations: usize,
}

/// The augmented Lagrangian at a point.
struct At {
    phi: f64,
    seen: Rounded,
    lengths: Lengths,
    eta: Vec<f64>,
    z: Positive,
}

/// Solves the problem on a cloud of whitened points, all of whose coordinates are used, from a first metric.
pub(crate) fn solve_streamed(
    cloud: &Cloud,
    settings: Settings,
    start: Option<&Matrix>,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    if is_central(cloud) {
        return solve_centrally(cloud, settings, start, observer);
    }
    let mut streamed = Streamed::begin(cloud, settings, start)?;
    let mut size = SAMPLE;
    let status = loop {
        let all = takes_all(size, cloud);
        streamed.enter((!all).then_some(size));
        let tolerance = settings.stop.tolerance;
        let tolerance = if all { tolerance } else { worth(size, cloud, tolerance) };
        let ended = streamed.descend(tolerance, observer)?;
        let next = size * LARGER;
        // On all pairs the metric is known already, or will be at the beginning of the next level.
        let known = matches!(ended, Ended::Reached) && all;
        let soon = matches!(ended, Ended::Reached | Ended::Idle) && takes_all(next, cloud);
        if !known && (all || !soon) {
            streamed.judge()?;
        }
        let over = Termination {
            gap: Some(streamed.gap()),
            halt: ended.halt(),
            stalled: matches!(ended, Ended::Idle) && all,
            exhausted: matches!(ended, Ended::Iterations),
            ..Termination::default()
        };
        if let Some(status) = over.status(settings.stop.tolerance) {
            break status;
        }
        size = next;
    };
    let Streamed { best, bound, iterations, .. } = streamed;
    let factor = best.1.transpose();
    Ok(Solution { factor, objective: best.0, bound, slack: Vec::new(), status, iterations, certificate: None })
}

impl<'a> Streamed<'a> {
    fn begin(cloud: &'a Cloud, settings: Settings, start: Option<&Matrix>) -> Result<Self> {
        let p = cloud.x.cols();
        let mean = mean_pair(cloud, settings.variant);
        let factor = first_factor(cloud, &settings, start)?;
        let m = linalg::product_transposed(&factor, &factor);
        let model = Model::empty(settings.c, mean.clone());
        let penalty = Penalty::guess(&model, &cloud.x, &m);
        let state = State {
            z: Matrix::zeros(p, p),
            m,
            lambda: Vec::new(),
            eta: vec![settings.c],
            factor: factor.clone(),
            slack: Vec::new(),
        };
        let bound = even_bound(cloud, &mean, settings.c)?;
        Ok(Self {
            cloud,
            settings,
            level: Level::of_all(cloud, &Matrix::zeros(p, 0), (f64::INFINITY, bound)),
            mean,
            model,
            state,
            proximal: PROXIMAL * penalty.cone,
            penalty,
            damping: f64::INFINITY,
            memory: Curvature::default(),
            width: WIDEST,
            every: EVERY,
            best: (f64::INFINITY, factor),
            bound,
            iterations: 0,
        })
    }

    fn gap(&self) -> f64 {
        relative_gap(self.best.0, self.bound)
    }

    /// Goes on with the hinges of a sample of this size; of all points where there is none.
    fn enter(&mut self, size: Option<usize>) {
        let factor = &self.state.factor;
        self.level = match size {
            Some(size) => Level::of_sample(self.cloud, factor, size, &self.model.pull),
            None => Level::of_all(self.cloud, factor, (self.best.0, self.bound)),
        };
        self.every = EVERY;
    }

    /// Minimises at the present level until its gap is below the tolerance.
    fn descend(&mut self, tolerance: f64, observer: &mut dyn Observer) -> Result<Ended> {
        let sampled = self.level.sampled;
        let patience = if sampled || allows_rows(self.cloud) { PATIENCE_SHORT } else { PATIENCE };
        let most = if self.wide() { STEPS_WIDE } else { STEPS };
        let (mut idle, mut least) = (0, f64::INFINITY);
        loop {
            let anchor = self.state.m.clone();
            let mut at = self.evaluate(&anchor, (self.proximal, &anchor))?;
            if self.model.pull.is_empty() {
                self.penalty.pull = PULL * self.settings.c / at.seen.longest.max(LEAST);
            }
            if self.adopt_far(&at.seen) {
                at = self.refreshed(at, &anchor)?;
            }
            // The metric is positive here: this is its objective.
            let objective = self.settings.c * at.seen.longest + at.seen.hinge;
            if at.seen.longest > 0.0 {
                self.level.objective = self.level.objective.min(objective);
                if !sampled && objective < self.best.0 {
                    self.best = (objective, self.state.factor.clone());
                }
            }
            self.take_bound(&at)?;
            let gap = relative_gap(self.level.objective, self.level.bound);
            if gap <= tolerance {
                return Ok(Ended::Reached);
            }
            idle = if gap < PROGRESS * least { 0 } else { idle + 1 };
            least = least.min(gap);
            if idle > if gap <= NEARLY * tolerance { PATIENCE } else { patience } {
                return Ok(Ended::Idle);
            }
            if self.iterations >= self.settings.stop.max_iterations {
                return Ok(Ended::Iterations);
            }
            let mut told = ControlFlow::Continue(());
            let (mut steps, mut first) = (0, f64::INFINITY);
            while steps < most {
                let progress = self.progress(steps, at.seen.zone.len());
                observer.keep(PART, &mut || Kept::new("", vec![self.state.factor.clone()]));
                told = observer.progress(&progress);
                if told.is_break() {
                    break;
                }
                let gradient = self.gradient(&at, &anchor);
                let size = linalg::inner(&gradient, &gradient).sqrt();
                first = first.min(size);
                let enough = enough_gradient(gap, tolerance, self.settings.c);
                if size <= enough || (steps > 0 && size <= LEFT * first) {
                    break;
                }
                steps += 1;
                let mut tick = || {
                    told = observer.progress(&progress);
                    told.is_break()
                };
                match self.step(&at, &gradient, size, &anchor, &mut tick)? {
                    Some(next) => at = next,
                    None => break,
                }
            }
            self.iterations += steps.max(1);
            let rounding = at.seen.hinge - 2.0 * at.seen.total + linalg::inner(&at.seen.push, &self.state.m);
            self.close(&at, steps)?;
            self.narrow(rounding, tolerance);
            if let ControlFlow::Break(halt) = told {
                return Ok(Ended::Told(halt));
            }
        }
    }

    /// What is certified so far.
    fn progress(&self, steps: usize, zone: usize) -> Progress {
        let known = self.best.0.is_finite();
        Progress {
            iteration: self.iterations + steps,
            primal: known.then_some(self.best.0),
            dual: Some(self.bound),
            gap: known.then(|| self.gap()),
            working_set: Some(zone + self.model.pulls()),
            looked_at: self.cloud.looked_at(),
            ..Progress::default()
        }
    }

    fn query(&self) -> Query {
        let most = (packed_len(self.state.m.rows()) / 2).clamp(LONG_PAIRS.0, LONG_PAIRS.1);
        let among = self.settings.variant.bounding();
        Query { window: (2.0, 2.0), beyond: Beyond::Part(LONG), most, ..Query::plain(among) }
    }

    /// A pass over the pairs of a level.
    fn pass(&self, level: &Level, m: &Matrix, every: u64) -> Rounded {
        let rounding = Rounding { width: self.width, every, query: self.query() };
        let lengths = self.model.lengths(&self.cloud.x, m).pull;
        let known = &lengths[..self.model.pull.len()];
        level.pass(self.cloud, |cloud| Embedding::symmetric(cloud, m), &rounding, known)
    }

    fn evaluate(&self, m: &Matrix, anchor: (f64, &Matrix)) -> Result<At> {
        let mut shifted = self.state.z.clone();
        linalg::add_scaled(&mut shifted, -self.penalty.cone, m);
        let z = if self.wide() { positive_part(shifted)? } else { Positive::part(&shifted)? };
        self.value(m, anchor, self.pass(&self.level, m, self.every), z)
    }

    /// The augmented Lagrangian after a pass over the pairs.
    fn value(&self, m: &Matrix, (proximal, anchor): (f64, &Matrix), seen: Rounded, z: Positive) -> Result<At> {
        let lengths = self.model.lengths(&self.cloud.x, m);
        let y: Vec<f64> = self.state.eta.iter().zip(&lengths.pull).map(|(e, r)| e + self.penalty.pull * r).collect();
        let t = simplex_threshold(y.iter().copied(), self.settings.c);
        let eta: Vec<f64> = y.iter().map(|v| (v - t).max(0.0)).collect();
        let away: f64 = m.as_slice().iter().zip(anchor.as_slice()).map(|(a, b)| (a - b).powi(2)).sum();
        let phi = seen.value
            + y.iter().zip(&eta).map(|(y, e)| e * (y - 0.5 * e)).sum::<f64>() / self.penalty.pull
            + 0.5 * linalg::inner(&z.matrix, &z.matrix) / self.penalty.cone
            + 0.5 * proximal * away;
        Ok(At { phi, seen, lengths, eta, z })
    }

    /// The value after rows were added: these change it, not the pass over the pairs.
    fn refreshed(&self, at: At, anchor: &Matrix) -> Result<At> {
        self.value(&self.state.m, (self.proximal, anchor), at.seen, at.z)
    }

    fn gradient(&self, at: &At, anchor: &Matrix) -> Matrix {
        let mut g = self.model.pull_sum(&self.cloud.x, &at.eta);
        linalg::add_scaled(&mut g, -1.0, &at.seen.push);
        linalg::add_scaled(&mut g, -1.0, &at.z.matrix);
        linalg::add_scaled(&mut g, self.proximal, &self.state.m);
        linalg::add_scaled(&mut g, -self.proximal, anchor);
        g
    }

    /// One step of descent; `None` where no descent is left, or the observer wants to stop.
    fn step(
        &mut self,
        at: &At,
        gradient: &Matrix,
        size: f64,
        anchor: &Matrix,
        stopped: &mut dyn FnMut() -> bool,
    ) -> Result<Option<At>> {
        let direction = if self.wide() {
            let mut d = self.memory.direction(gradient.as_slice());
            if self.memory.is_empty() {
                let length = FIRST_STEP * linalg::inner(&self.state.m, &self.state.m).sqrt();
                d.iter_mut().for_each(|v| *v *= length / size.max(f64::MIN_POSITIVE));
            }
            Matrix::from_vec(gradient.rows(), gradient.cols(), d)?
        } else {
            self.newton(at, gradient, size)?
        };
        let slope = linalg::inner(gradient, &direction);
        let mut t = 1.0;
        for trial in 0..HALVINGS / 2 {
            let mut m = self.state.m.clone();
            linalg::add_scaled(&mut m, t, &direction);
            let next = self.evaluate(&m, (self.proximal, anchor))?;
            if next.phi <= at.phi + SUFFICIENT * t * slope + ROUNDING * at.phi.abs() {
                let before = std::mem::replace(&mut self.state.m, m);
                self.damping *= if trial > 0 { DAMPING.1 } else { DAMPING.0 };
                if self.wide() {
                    let (mut step, mut change) = (self.state.m.clone(), self.gradient(&next, anchor));
                    linalg::add_scaled(&mut step, -1.0, &before);
                    linalg::add_scaled(&mut change, -1.0, gradient);
                    self.memory.add(step.into_vec(), change.into_vec(), REMEMBERED);
                }
                let grown = self.adopt_far(&next.seen);
                return Ok(Some(if grown { self.refreshed(next, anchor)? } else { next }));
            }
            t *= 0.5;
            // A pass over many pairs takes long.
            if stopped() {
                return Ok(None);
            }
        }
        self.damping *= DAMPING.2;
        Ok(None)
    }

    /// Whether there are too many coordinates for a Hessian.
    fn wide(&self) -> bool {
        self.cloud.x.cols() > DIMENSIONS
    }

    /// The Newton direction, with the Hessian of an evenly spread part of the pairs within the width.
    fn newton(&mut self, at: &At, gradient: &Matrix, size: f64) -> Result<Matrix> {
        let wanted = (ROWS_PER_UNKNOWN * packed_len(self.state.m.rows())).max(LEAST_ROWS);
        self.every = (at.seen.zone_count / (2 * wanted)).max(1) as u64;
        let listed: f64 = at.seen.zone.iter().map(|z| z.2).sum();
        let stands_for = if listed > 0.0 { at.seen.zone_weight / listed } else { 0.0 };
        let skip = at.seen.zone.len().div_ceil(wanted).max(1);
        let rows: Vec<(u32, u32, f64)> = at
            .seen
            .zone
            .iter()
            .step_by(skip)
            .map(|&(i, j, w)| (i, j, w * stands_for * skip as f64 / self.width))
            .collect();
        // At most the first step is as long as the metric itself.
        let length = linalg::inner(&self.state.m, &self.state.m).sqrt().max(LEAST);
        self.damping = self.damping.min(size / length);
        let system = System {
            model: &self.model,
            x: &self.cloud.x,
            penalty: &self.penalty,
            proximal: self.proximal + self.damping,
            proximal_slack: 0.0,
            lengths: &at.lengths,
            slack: &[],
            state: &self.state,
        };
        system.direction_from(&rows, &at.eta, &at.z.eigen, gradient, size)
    }

    /// Rows for the longest pairs; tells whether there are new ones.
    fn adopt_far(&mut self, seen: &Rounded) -> bool {
        match with_rows_for(&mut self.model, &seen.far, &self.state.eta) {
            Some(eta) => {
                self.state.eta = eta;
                true
            }
            None => false,
        }
    }

    /// A narrower rounding where the gap asks for it, below [`NARROW`] only where the tolerance does, too; the rounding now
    /// costs `rounding`.
    fn narrow(&mut self, rounding: f64, tolerance: f64) {
        let objective = self.level.objective;
        let enough = self.width * ENOUGH * tolerance * objective / rounding.max(linalg::TINY);
        let wanted = FOLLOWS * relative_gap(objective, self.level.bound);
        self.width = self.width.min(wanted.max(enough.min(NARROW)));
    }

    /// Updates the multipliers, takes a bound from them, and goes to the metric that belongs to them.
    fn close(&mut self, at: &At, steps: usize) -> Result<()> {
        self.take_bound(at)?;
        let factor = if at.z.eigen.values.is_empty() {
            // No part of the multiplier is positive: the metric is its own copy.
            Cholesky::of(&self.state.m).map_or_else(|| Matrix::zeros(0, 0), |l| l.lower())
        } else {
            negative_factor(&at.z, self.penalty.cone)
        };
        if factor.cols() > 0 {
            self.state.m = linalg::product_transposed(&factor, &factor);
            self.state.factor = factor;
        }
        self.state.eta.clone_from(&at.eta);
        self.state.z = at.z.matrix.clone();
        let most = if self.wide() { STEPS_WIDE } else { STEPS };
        let growth = if steps < most { GROW } else { 1.0 };
        self.penalty = self.penalty.times(growth);
        self.proximal /= growth;
        Ok(())
    }

    fn take_bound(&mut self, at: &At) -> Result<()> {
        let bound = self.certified(&at.seen, &at.eta)?;
        self.level.bound = self.level.bound.max(bound);
        if !self.level.sampled {
            self.bound = self.bound.max(bound);
        }
        Ok(())
    }

    fn certified(&self, seen: &Rounded, eta: &[f64]) -> Result<f64> {
        let pull = self.model.feasible_pull(&self.cloud.x, eta);
        let multipliers = Multipliers { push: &seen.push, total: seen.total, pull: &pull, most: 1.0 };
        Ok(certify(&multipliers, &self.mean, self.settings.c, &self.cloud.reach())?.value)
    }

    /// What the metric and the multipliers are worth on all pairs.
    fn judge(&mut self) -> Result<()> {
        let m = linalg::product_transposed(&self.state.factor, &self.state.factor);
        let seen = self.pass(&Level::of_all(self.cloud, &self.state.factor, (self.best.0, self.bound)), &m, u64::MAX);
        let objective = self.settings.c * seen.longest + seen.hinge;
        if objective < self.best.0 && seen.longest > 0.0 {
            self.best = (objective, self.state.factor.clone());
        }
        self.bound = self.bound.max(self.certified(&seen, &self.state.eta)?);
        self.adopt_far(&seen);
        Ok(())
    }
}

/// The positive part; without eigenvalues where there is none, which a factorisation finds faster.
fn positive_part(mut a: Matrix) -> Result<Positive> {
    let p = a.rows();
    a.as_mut_slice().iter_mut().for_each(|v| *v = -*v);
    if Cholesky::of(&a).is_some() {
        let eigen = Eigen { values: Vec::new(), vectors: Matrix::zeros(p, 0) };
        return Ok(Positive { matrix: Matrix::zeros(p, p), factor: Matrix::zeros(p, 0), eigen });
    }
    a.as_mut_slice().iter_mut().for_each(|v| *v = -*v);
    Positive::part(&a)
}

/// Whether this method is the faster one for these settings, or the only one.
pub(crate) fn wants_stream(cloud: &Cloud, settings: &Settings) -> bool {
    if is_central(cloud) && pairs(cloud) > CENTRAL_PAIRS {
        return true;
    }
    let least = if settings.stop.tolerance >= STREAMED_ROUGHLY.1 { STREAMED_ROUGHLY.0 } else { STREAMED_PAIRS };
    let crowded = settings.c >= CROWDED * cloud.pair_totals().0;
    !allows_rows(cloud) || (crowded && pairs(cloud) > least)
}

/// Whether the central path is followed: where its Newton system is small, or takes less than a pass over the pairs.
fn is_central(cloud: &Cloud) -> bool {
    let p = cloud.x.cols();
    p <= CENTRAL || (p <= DIMENSIONS && pairs(cloud) >= PASS_PAIRS)
}

/// Whether the pairs are few enough for rows of their own, and the coordinates for a system of them.
pub(crate) fn allows_rows(cloud: &Cloud) -> bool {
    cloud.x.cols() <= DIMENSIONS && pairs(cloud) <= MANY_PAIRS
}

fn pairs(cloud: &Cloud) -> f64 {
    (cloud.len() as f64).powi(2) / 2.0
}
