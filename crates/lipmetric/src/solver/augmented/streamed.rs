//! The same method where there are too many pairs to give each a row.
//!
//! The hinges are rounded over a width that shrinks with the gap, so that a multiplier is a function of the pair's length
//! alone and none is stored: value and gradient come from a pass over all pairs by tiles. The Hessian sees an evenly spread
//! part of the pairs within the width. Many rows are begun on a sample of them.

use super::newton::System;
use super::{HALVINGS, PROXIMAL, negative_factor};
use crate::linalg;
use crate::pairs::{Cloud, Embedding};
use crate::problem::{Multipliers, certify, mean_pair, relative_gap};
use crate::solver::admm::moments::packed_len;
use crate::solver::admm::proximal::{Positive, simplex_threshold};
use crate::solver::reduced::model::{Lengths, Model, State};
use crate::solver::reduced::outer::{DIMENSIONS, first_factor};
use crate::solver::reduced::survey::{Query, Rounded, rounded};
use crate::solver::reduced::{Penalty, Settings, Solution};
use crate::solver::{Observer, Progress, Status, Stop};
use crate::{Matrix, Result};
use std::ops::ControlFlow;
use std::time::Instant;

/// Newton steps between updates of the multipliers.
const STEPS: usize = 12;
/// The widest rounding, the narrowest, and the part of the gap that it follows.
const WIDEST: f64 = 0.5;
const NARROWEST: f64 = 0.01;
/// Pairs within the width that the Hessian sees, per unknown.
const ROWS_PER_UNKNOWN: usize = 3;
/// Points from which a sample goes first, and its size.
const LARGE: usize = 6000;
const SAMPLE: usize = 2000;
/// The penalties grow by this after each update.
const GROW: f64 = 2.0;
const PATIENCE: usize = 25;
/// The first penalty of the maximum, relative to `c` over the diameter: so small that many long pairs share the multiplier.
const PULL: f64 = 0.1;

/// Where the method stands.
struct Streamed<'a> {
    cloud: &'a Cloud,
    settings: Settings,
    mean: Matrix,
    model: Model,
    state: State,
    penalty: Penalty,
    proximal: f64,
    /// What is added to the Hessian so that steps stay as short as they were found to descend.
    damping: f64,
    width: f64,
    /// One in so many of the pairs within the width is listed.
    every: u64,
    best: (f64, Matrix),
    bound: f64,
}

/// The augmented Lagrangian at a point.
struct At {
    phi: f64,
    seen: Rounded,
    lengths: Lengths,
    eta: Vec<f64>,
    z: Positive,
}

/// Solves the problem on a cloud of whitened points, all of whose coordinates are used.
pub(crate) fn solve_streamed(cloud: &Cloud, settings: Settings, observer: &mut dyn Observer) -> Result<Solution> {
    let begun = Instant::now();
    let mut start = None;
    let mut iterations = 0;
    if cloud.len() > LARGE {
        let part = cloud.thinned(SAMPLE);
        let share = part.pair_totals().0 / cloud.pair_totals().0;
        let sample = Settings { c: settings.c * share, tolerance: settings.tolerance.max(0.05), ..settings };
        let mut quiet = Relay { observer, begun };
        let solution = run(&part, sample, None, &mut quiet, begun)?;
        iterations = solution.iterations;
        if matches!(solution.status, Status::Interrupted | Status::TimeLimit) && solution.factor.cols() == 0 {
            return Ok(solution);
        }
        start = Some(solution.factor);
    }
    let mut solution = run(cloud, settings, start, observer, begun)?;
    solution.iterations += iterations;
    Ok(solution)
}

/// Passes on that time goes by, but not the figures of a sample.
struct Relay<'a> {
    observer: &'a mut dyn Observer,
    begun: Instant,
}

impl Observer for Relay<'_> {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Stop> {
        let seconds = self.begun.elapsed().as_secs_f64();
        self.observer.progress(&Progress {
            iteration: at.iteration,
            working_set: at.working_set,
            seconds,
            ..Progress::default()
        })
    }
}

fn run(
    cloud: &Cloud,
    settings: Settings,
    start: Option<Matrix>,
    observer: &mut dyn Observer,
    begun: Instant,
) -> Result<Solution> {
    let mut streamed = Streamed::begin(cloud, settings, start)?;
    let (mut iterations, mut idle, mut least) = (0, 0, f64::INFINITY);
    let mut at = streamed.evaluate(&streamed.state.m.clone(), (0.0, &streamed.state.m.clone()))?;
    streamed.adopt_far(&at.seen);
    streamed.penalty.pull = PULL * settings.c / at.seen.longest.max(1e-12);
    let status = loop {
        let gap = relative_gap(streamed.best.0, streamed.bound);
        if gap <= settings.tolerance {
            break Status::Optimal;
        }
        idle = if gap < 0.999 * least { 0 } else { idle + 1 };
        least = least.min(gap);
        if idle > PATIENCE {
            break Status::Stalled;
        }
        if iterations >= settings.max_iterations {
            break Status::IterationLimit;
        }
        streamed.width = (0.5 * gap).clamp(NARROWEST, streamed.width);
        let anchor = streamed.state.m.clone();
        at = streamed.evaluate(&anchor, (streamed.proximal, &anchor))?;
        let mut told = ControlFlow::Continue(());
        let (mut steps, mut first) = (0, f64::INFINITY);
        while steps < STEPS {
            let progress = Progress {
                iteration: iterations + steps,
                primal: streamed.best.0.is_finite().then_some(streamed.best.0),
                dual: Some(streamed.bound),
                gap: Some(gap),
                working_set: Some(at.seen.zone.len() + streamed.model.pulls()),
                seconds: begun.elapsed().as_secs_f64(),
            };
            told = observer.progress(&progress);
            if told.is_break() {
                break;
            }
            let gradient = streamed.gradient(&at, &anchor);
            let size = linalg::inner(&gradient, &gradient).sqrt();
            first = first.min(size);
            let enough = 0.1 * gap.clamp(0.3 * settings.tolerance, 0.3) * settings.c;
            if size <= enough || (steps > 0 && size <= 0.1 * first) {
                break;
            }
            steps += 1;
            let mut tick = || {
                let seconds = begun.elapsed().as_secs_f64();
                told = observer.progress(&Progress { seconds, ..progress });
                told.is_break()
            };
            match streamed.step(&at, &gradient, size, &anchor, &mut tick)? {
                Some(next) => at = next,
                None => break,
            }
        }
        iterations += steps.max(1);
        streamed.close(&at, steps)?;
        if let ControlFlow::Break(stop) = told {
            break match stop {
                Stop::TimeLimit => Status::TimeLimit,
                Stop::Interrupted => Status::Interrupted,
            };
        }
    };
    Ok(Solution { factor: streamed.best.1, objective: streamed.best.0, bound: streamed.bound, status, iterations })
}

impl<'a> Streamed<'a> {
    fn begin(cloud: &'a Cloud, settings: Settings, start: Option<Matrix>) -> Result<Self> {
        let p = cloud.x.cols();
        let mean = mean_pair(cloud, settings.variant);
        let factor = match start {
            Some(factor) => factor,
            None => first_factor(cloud, &settings)?,
        };
        let m = linalg::product_transposed(&factor, &factor);
        let model = Model {
            c: settings.c,
            push: Vec::new(),
            sums: Vec::new(),
            pull: Vec::new(),
            mean: mean.clone(),
            linear: None,
        };
        let penalty = Penalty::guess(&model, &cloud.x, &m);
        let state =
            State { z: Matrix::zeros(p, p), m, lambda: Vec::new(), eta: vec![settings.c], factor: factor.clone() };
        let proximal = PROXIMAL * penalty.cone;
        let best = (f64::INFINITY, factor);
        let every = 64;
        Ok(Self {
            cloud,
            settings,
            mean,
            model,
            state,
            penalty,
            proximal,
            damping: f64::INFINITY,
            width: WIDEST,
            every,
            best,
            bound: 0.0,
        })
    }

    fn query(&self) -> Query {
        let most = (packed_len(self.state.m.rows()) / 2).clamp(60, 600);
        Query { variant: self.settings.variant, window: (2.0, 2.0), beyond: 0.7, most }
    }

    fn evaluate(&self, m: &Matrix, (proximal, anchor): (f64, &Matrix)) -> Result<At> {
        let embedding = Embedding::symmetric(self.cloud, m);
        let seen = rounded(self.cloud, &embedding, self.width, self.every, &self.query());
        let lengths = self.model.lengths(&self.cloud.x, m);
        let y: Vec<f64> = self.state.eta.iter().zip(&lengths.pull).map(|(e, r)| e + self.penalty.pull * r).collect();
        let t = simplex_threshold(y.iter().copied(), self.settings.c);
        let eta: Vec<f64> = y.iter().map(|v| (v - t).max(0.0)).collect();
        let mut shifted = self.state.z.clone();
        linalg::add_scaled(&mut shifted, -self.penalty.cone, m);
        let z = Positive::part(&shifted)?;
        let away: f64 = m.as_slice().iter().zip(anchor.as_slice()).map(|(a, b)| (a - b).powi(2)).sum();
        let phi = seen.value
            + y.iter().zip(&eta).map(|(y, e)| e * (y - 0.5 * e)).sum::<f64>() / self.penalty.pull
            + 0.5 * linalg::inner(&z.matrix, &z.matrix) / self.penalty.cone
            + 0.5 * proximal * away;
        Ok(At { phi, seen, lengths, eta, z })
    }

    fn gradient(&self, at: &At, anchor: &Matrix) -> Matrix {
        let mut g = self.model.pull_sum(&self.cloud.x, &at.eta);
        linalg::add_scaled(&mut g, -1.0, &at.seen.push);
        linalg::add_scaled(&mut g, -1.0, &at.z.matrix);
        linalg::add_scaled(&mut g, self.proximal, &self.state.m);
        linalg::add_scaled(&mut g, -self.proximal, anchor);
        g
    }

    /// One Newton step; `None` where no descent is left, or the observer wants to stop.
    fn step(
        &mut self,
        at: &At,
        gradient: &Matrix,
        size: f64,
        anchor: &Matrix,
        stopped: &mut dyn FnMut() -> bool,
    ) -> Result<Option<At>> {
        let wanted = (ROWS_PER_UNKNOWN * packed_len(self.state.m.rows())).max(4000);
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
        let length = linalg::inner(&self.state.m, &self.state.m).sqrt().max(1e-12);
        self.damping = self.damping.min(size / length);
        let system = System {
            model: &self.model,
            x: &self.cloud.x,
            penalty: &self.penalty,
            proximal: self.proximal + self.damping,
            lengths: &at.lengths,
            state: &self.state,
        };
        let direction = system.direction_from(&rows, &at.eta, &at.z.eigen, gradient, size)?;
        let slope = linalg::inner(gradient, &direction);
        let pairs = at.seen.zone_weight.max(1.0);
        self.every = ((pairs / (2.0 * wanted as f64)) as u64).max(1);
        let mut t = 1.0;
        for trial in 0..HALVINGS / 2 {
            let mut m = self.state.m.clone();
            linalg::add_scaled(&mut m, t, &direction);
            let next = self.evaluate(&m, (self.proximal, anchor))?;
            if next.phi <= at.phi + 1e-4 * t * slope + 1e-13 * at.phi.abs() {
                self.state.m = m;
                self.damping *= if trial > 0 { 4.0 } else { 0.25 };
                let grown = self.adopt_far(&next.seen);
                // More rows change the value, not the pass over the pairs.
                return Ok(Some(if grown { self.refreshed(next, anchor)? } else { next }));
            }
            t *= 0.5;
            // A pass over many pairs takes long.
            if stopped() {
                return Ok(None);
            }
        }
        self.damping *= 16.0;
        Ok(None)
    }

    /// The value after rows were added.
    fn refreshed(&self, at: At, anchor: &Matrix) -> Result<At> {
        let m = &self.state.m;
        let lengths = self.model.lengths(&self.cloud.x, m);
        let y: Vec<f64> = self.state.eta.iter().zip(&lengths.pull).map(|(e, r)| e + self.penalty.pull * r).collect();
        let t = simplex_threshold(y.iter().copied(), self.settings.c);
        let eta: Vec<f64> = y.iter().map(|v| (v - t).max(0.0)).collect();
        let away: f64 = m.as_slice().iter().zip(anchor.as_slice()).map(|(a, b)| (a - b).powi(2)).sum();
        let phi = at.seen.value
            + y.iter().zip(&eta).map(|(y, e)| e * (y - 0.5 * e)).sum::<f64>() / self.penalty.pull
            + 0.5 * linalg::inner(&at.z.matrix, &at.z.matrix) / self.penalty.cone
            + 0.5 * self.proximal * away;
        Ok(At { phi, lengths, eta, ..at })
    }

    /// Rows for the longest pairs; tells whether there are new ones.
    fn adopt_far(&mut self, seen: &Rounded) -> bool {
        let from = self.model.pull.clone();
        let mut pull = from.clone();
        pull.extend(seen.far.iter().map(|f| (f.1, f.2)));
        pull.sort_unstable();
        pull.dedup();
        if pull.len() == from.len() {
            return false;
        }
        let mut eta: Vec<f64> =
            pull.iter().map(|pair| from.binary_search(pair).map_or(0.0, |k| self.state.eta[k])).collect();
        eta.push(self.state.eta[from.len()]);
        self.model.pull = pull;
        self.state.eta = eta;
        true
    }

    /// Updates the multipliers, certifies, and evaluates the metric that belongs to them.
    fn close(&mut self, at: &At, steps: usize) -> Result<()> {
        let pull = self.model.pull_sum(&self.cloud.x, &at.eta);
        let multipliers = Multipliers { push: &at.seen.push, total: at.seen.total, pull: &pull, load: 0.0 };
        self.bound = self.bound.max(certify(&multipliers, &self.mean, self.settings.c)?.value);
        self.state.factor = negative_factor(&at.z, self.penalty.cone);
        self.state.eta.clone_from(&at.eta);
        self.state.z = at.z.matrix.clone();
        if self.state.factor.cols() > 0 {
            let embedding = Embedding::new(self.cloud, &self.state.factor);
            let (objective, longest) = plain(self.cloud, &embedding, &self.settings);
            if objective < self.best.0 && longest > 0.0 {
                self.best = (objective, self.state.factor.clone());
            }
        }
        let growth = if steps < STEPS { GROW } else { 1.0 };
        self.penalty = self.penalty.times(growth);
        self.proximal /= growth;
        Ok(())
    }
}

/// The true objective and the longest pair.
fn plain(cloud: &Cloud, embedding: &Embedding, settings: &Settings) -> (f64, f64) {
    crate::solver::admm::objective(cloud, embedding, settings.variant, settings.c)
}

/// Whether the pairs are too many for rows of their own.
pub(crate) fn wants_stream(cloud: &Cloud) -> bool {
    cloud.x.cols() <= DIMENSIONS && (cloud.len() as f64).powi(2) / 2.0 > 1e6
}
