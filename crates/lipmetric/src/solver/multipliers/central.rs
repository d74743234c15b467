//! Very many pairs, few coordinates: a primal-dual interior-point method on passes over the pairs.
//!
//! The hinges are rounded over a width, so that a multiplier is a function of the pair's length alone and none is stored. The
//! long pairs that are known have rows `t - rho = s > 0` with multipliers `eta`, which add up to `c`, and `M` has the multiplier `Z`.
//! On the central path `eta s = mu`, `M Z = mu` and `sum eta A - sum lambda A = Z`. A Newton step towards a smaller `mu` sees the hinges by an
//! evenly spread part of the pairs within the width. On the path the multipliers are feasible, and the gap is `mu` times the number of rows
//! and coordinates, plus what the rounding costs; the width shrinks with `mu`.
//!
//! From a sample of the rows to the next, larger one the path moves a little, and few steps lead back to it. So most steps are taken on
//! few rows, and all pairs are seen a few times.
//!
//! | file | what it does |
//! |---|---|
//! | `step` | the Newton step, in coordinates in which `M` and `Z` are the same diagonal matrix |

mod step;

use super::levels::{Ended, LARGER, Level, Rounding, SAMPLE, takes_all, with_rows_for, worth};
use crate::linalg::{self, packed_len};
use crate::pairs::pass::{Beyond, Query, Rounded, objective};
use crate::pairs::{Cloud, Embedding};
use crate::problem::{Multipliers, certify, mean_pair, relative_gap};
use crate::solver::working_set::model::Model;
use crate::solver::working_set::survey::survey;
use crate::solver::working_set::{LEAST, PART, Settings, even_bound, first_factor};
use crate::solver::{Halt, Kept, Observer, Progress, Solution, Termination};
use crate::{Matrix, Result};
use std::ops::ControlFlow;
use step::{Step, System};

/// The first `mu` costs this part of the first objective.
const FIRST: f64 = 0.2;
/// On a larger sample `mu` costs at least this part of the gap that the one before was solved to.
const AGAIN: f64 = 0.5;
/// `mu` is to fall to one of these parts, the first with which the step may be so long ...
const FALLS: [f64; 5] = [0.03, 0.1, 0.3, 0.6, 1.0];
/// (the first one after a step that could not be made) ...
const CAREFUL: usize = 2;
/// ... as this part of a Newton step, ...
const LONG_STEP: f64 = 0.5;
/// ... but not to less than costs this part of the gap that is asked for.
const ENOUGH: f64 = 0.3;
/// The widest rounding: a quarter of the kink's place, 2, to either side.
const WIDEST: f64 = 0.5;
/// The width shrinks by no more than this at a time.
const NARROWER: f64 = 0.2;
/// Of the decrease that the slope promises a step has to have this part, ...
const SUFFICIENT: f64 = 1e-4;
/// ... or it is shortened to this part, ...
const SHORTER: f64 = 0.3;
/// ... so often at most.
const SHORTENED: usize = 6;
/// What rounding of the value, a sum over all pairs, may hide of a step's decrease.
const ROUNDING: f64 = 1e-13;
/// After steps that could not be made the Hessian is damped, by this many times as much each time, ...
const DAMPED: f64 = 16.0;
/// ... and less by this factor after each step that could, ...
const RELIEF: f64 = 0.1;
/// ... and after so many in a row the solver gives up.
const STUCK: usize = 8;
/// Steps that do not lower the gap before the solver gives up.
const PATIENCE: usize = 30;
/// A gap that is not below this part of the least one is no progress.
const PROGRESS: f64 = 0.99;
/// Pairs within the width that the Hessian sees: so many for each unknown, and this many in any case.
const ROWS_PER_UNKNOWN: usize = 3;
/// See [`ROWS_PER_UNKNOWN`].
const LEAST_ROWS: usize = 4000;
/// The first pass lists one in so many pairs as gives this many times what the Hessian should see, if all were within the width.
const LISTED_FIRST: usize = 16;
/// Pairs longer than this part of the longest are looked for.
const LONG: f64 = 0.7;
/// How many of them, at most: half as many as there are unknowns, within these.
const LONG_PAIRS: (usize, usize) = (60, 600);
/// A new long pair gets no more than this part of `c` as its multiplier at first: so much longer `t` becomes.
const SHARE: f64 = 0.2;
/// A long pair gets a row if its multiplier will be at least this part of the mean one, ...
const USED: f64 = 0.2;
/// ... and loses it where it is below this part of that ...
const IDLE: f64 = 0.02;
/// ... and the pair is shorter than the longest by this part, if there are more rows than are looked for at a time.
const SHORT: f64 = 0.03;
/// Of no more points than this the directions are looked for that may be left out: ...
const TRIMMED: usize = 5000;
/// ... those of less than one of these parts of the largest eigenvalue, the first with which the gap stays.
const FAINT: [f64; 4] = [1e-2, 1e-3, 1e-4, 1e-6];
/// Passes over the long pairs of all points at the end of a sample, at most.
const WIDER: usize = 5;
/// So many times as many long pairs are looked for then.
const MORE: usize = 4;
/// A long pair of all points that exceeds the known ones by this part of the gap sends the sample back to work.
const LONGER: f64 = 0.25;

/// Where the method stands.
struct Central<'a> {
    cloud: &'a Cloud,
    settings: Settings,
    level: Level,
    /// The mean of all pairs that bound the diameter.
    mean: Matrix,
    /// The long pairs, and the trade-off.
    model: Model,
    /// Their multipliers, and that of the mean.
    eta: Vec<f64>,
    /// `Z` is this times its transpose.
    dual: Matrix,
    mu: f64,
    /// What is added to the Hessian, where steps could not be made.
    damping: f64,
    width: f64,
    /// One in so many of the pairs within the width is listed.
    every: u64,
    /// `M = root root^T`.
    root: Matrix,
    /// The best metric on all pairs and its objective.
    best: (f64, Matrix),
    bound: f64,
    iterations: usize,
}

/// A metric and what a pass over the pairs says of it.
struct Spot {
    root: Matrix,
    log_det: f64,
    t: f64,
    /// `t - rho` of the long pairs, and of the mean.
    slack: Vec<f64>,
    seen: Rounded,
    /// What the rounding of the hinges costs.
    rounding: f64,
}

/// Where a step leads.
enum Advance {
    To(Box<Spot>, f64),
    Stuck,
    Told(Halt),
}

/// The `t` with `sum mu / (t - rho) = c`.
fn softened(lengths: &[f64], c: f64, mu: f64) -> f64 {
    /// Newton steps, which rise to it from below and double the digits each.
    const STEPS: usize = 60;
    let longest = lengths.iter().fold(f64::NEG_INFINITY, |m: f64, r| m.max(*r));
    let mut above = mu / c;
    for _ in 0..STEPS {
        let (sum, slope) = lengths.iter().fold((0.0, 0.0), |(sum, slope), r| {
            let eta = mu / (above + (longest - r));
            (sum + eta, slope + eta * eta / mu)
        });
        let step = (sum - c) / slope;
        above += step;
        if step.abs() <= 1e-14 * above {
            break;
        }
    }
    // Where all digits are those of the longest length the last of them are all there is.
    longest + above.max(4.0 * f64::EPSILON * longest)
}

/// Solves the problem on a cloud of whitened points, all of whose coordinates are used, from a first metric.
pub(super) fn solve_centrally(
    cloud: &Cloud,
    settings: Settings,
    start: Option<&Matrix>,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    let mut central = Central::begin(cloud, settings, start)?;
    let tolerance = settings.stop.tolerance;
    let mut size = SAMPLE;
    let status = loop {
        let all = takes_all(size, cloud);
        central.enter((!all).then_some(size));
        let goal = if all { tolerance } else { worth(size, cloud, tolerance).max(tolerance) };
        let mut ended = central.descend(goal, observer)?;
        for _ in 0..if all { 0 } else { WIDER } {
            if !matches!(ended, Ended::Reached) || !central.widen(goal) {
                break;
            }
            ended = central.descend(goal, observer)?;
        }
        if !all && !matches!(ended, Ended::Reached | Ended::Idle) {
            central.judge()?;
        }
        let over = Termination {
            gap: Some(central.gap()),
            halt: ended.halt(),
            stalled: matches!(ended, Ended::Idle) && all,
            exhausted: matches!(ended, Ended::Iterations),
            ..Termination::default()
        };
        if let Some(status) = over.status(tolerance) {
            break status;
        }
        central.mu = central.mu.max(AGAIN * goal * central.level.objective / central.rows());
        size *= LARGER;
    };
    central.trim();
    let Central { best, bound, iterations, .. } = central;
    let factor = best.1.transpose();
    Ok(Solution { factor, objective: best.0, bound, slack: Vec::new(), status, iterations, certificate: None })
}

impl<'a> Central<'a> {
    fn begin(cloud: &'a Cloud, settings: Settings, start: Option<&Matrix>) -> Result<Self> {
        let mean = mean_pair(cloud, settings.variant);
        let root = inside(&first_factor(cloud, &settings, start)?)?;
        let bound = even_bound(cloud, &mean, settings.c)?;
        Ok(Self {
            cloud,
            settings,
            level: Level::of_all(cloud, &Matrix::zeros(cloud.x.cols(), 0), (f64::INFINITY, bound)),
            model: Model::empty(settings.c, mean.clone()),
            mean,
            eta: vec![settings.c],
            dual: Matrix::zeros(0, 0),
            mu: 0.0,
            damping: 0.0,
            width: WIDEST,
            every: 1,
            best: (f64::INFINITY, root.clone()),
            root,
            bound,
            iterations: 0,
        })
    }

    fn gap(&self) -> f64 {
        relative_gap(self.best.0, self.bound)
    }

    /// Goes on with the hinges of a sample of this size; of all points where there is none.
    fn enter(&mut self, size: Option<usize>) {
        let before = self.level.share(self.cloud);
        self.level = match size {
            Some(size) => Level::of_sample(self.cloud, &self.root, size, &self.model.pull),
            None => Level::of_all(self.cloud, &self.root, (self.best.0, self.bound)),
        };
        let share = self.level.share(self.cloud);
        let listed = if self.mu > 0.0 {
            // As many pairs of the larger sample are listed as were of the smaller one.
            self.every as f64 * share / before
        } else {
            share * (self.cloud.len() as f64).powi(2) / (LISTED_FIRST * self.wanted()) as f64
        };
        self.every = (listed as u64).max(1);
        self.dual = Matrix::zeros(0, 0);
    }

    /// How many pairs within the width the Hessian should see.
    fn wanted(&self) -> usize {
        (ROWS_PER_UNKNOWN * packed_len(self.cloud.x.cols())).max(LEAST_ROWS)
    }

    /// How many products of a row and its multiplier there are.
    fn rows(&self) -> f64 {
        (self.model.pulls() + self.cloud.x.cols()) as f64
    }

    fn query(&self) -> Query {
        let most = (packed_len(self.cloud.x.cols()) / 2).clamp(LONG_PAIRS.0, LONG_PAIRS.1);
        let among = self.settings.variant.bounding();
        Query { window: (2.0, 2.0), beyond: Beyond::Part(LONG), most, ..Query::plain(among) }
    }

    fn lengths(&self, root: &Matrix) -> Vec<f64> {
        self.model.lengths(&self.cloud.x, &linalg::product_transposed(root, root)).pull
    }

    /// A pass over the pairs of the level under `M = root root^T`.
    fn look(&self, root: Matrix, log_det: f64, t: f64) -> Spot {
        let m = linalg::product_transposed(&root, &root);
        let lengths = self.model.lengths(&self.cloud.x, &m).pull;
        let rounding = Rounding { width: self.width, every: self.every, query: self.query() };
        let known = &lengths[..self.model.pull.len()];
        let seen = self.level.pass(self.cloud, |cloud| Embedding::new(cloud, &root), &rounding, known);
        let rounding = (seen.hinge - 2.0 * seen.total + linalg::inner(&seen.push, &m)).max(0.0);
        Spot { root, log_det, t, slack: lengths.iter().map(|r| t - r).collect(), seen, rounding }
    }

    /// What the step descends on: with rounded hinges, or with these as they are.
    fn value(&self, at: &Spot, mu: f64, rounded: bool) -> f64 {
        let logs: f64 = at.slack.iter().map(|s| s.ln()).sum();
        let hinges = if rounded { at.seen.value } else { at.seen.hinge };
        hinges + self.settings.c * at.t - mu * (logs + at.log_det)
    }

    fn longest(&self, at: &Spot) -> f64 {
        let known = at.slack[..self.model.pull.len()].iter().map(|s| at.t - s);
        known.fold(at.seen.longest, f64::max)
    }

    fn objective(&self, at: &Spot) -> f64 {
        self.settings.c * self.longest(at) + at.seen.hinge
    }

    /// The first spot of a level: on the central path but for the sum of the gradients.
    fn set_out(&mut self) -> Result<Spot> {
        let mut at = self.look(self.root.clone(), 0.0, 0.0);
        if !self.dual.as_slice().is_empty() {
            let lengths = self.lengths(&self.root);
            let longest = lengths.iter().fold(0.0f64, |m, r| m.max(*r));
            at.t = longest + self.mu / (SHARE * self.settings.c);
            at.slack = lengths.iter().map(|r| at.t - r).collect();
            return Ok(at);
        }
        with_rows_for(&mut self.model, &at.seen.far, &vec![0.0; self.eta.len()]);
        let lengths = self.lengths(&self.root);
        at.slack = lengths.iter().map(|r| at.t - r).collect();
        if self.mu == 0.0 {
            self.mu = FIRST * self.objective(&at).max(LEAST) / self.rows();
        }
        at.t = softened(&lengths, self.settings.c, self.mu);
        at.slack = lengths.iter().map(|r| at.t - r).collect();
        self.eta = at.slack.iter().map(|s| self.mu / s).collect();
        let m = linalg::symmetric_eigen(&linalg::product_transposed(&self.root, &self.root))?;
        let least = linalg::TINY + m.values.last().map_or(0.0, |v| 1e-14 * v);
        self.dual = m.scaled(0..m.values.len(), |v| (self.mu / v.max(least)).sqrt());
        Ok(at)
    }

    /// Minimises at the present level until its gap is below the tolerance.
    fn descend(&mut self, tolerance: f64, observer: &mut dyn Observer) -> Result<Ended> {
        let mut at = self.set_out()?;
        (self.level.objective, self.level.bound) = (f64::INFINITY, 0.0);
        let (mut idle, mut least, mut stuck) = (0, f64::INFINITY, 0);
        loop {
            self.adopt(&mut at);
            self.note(&at)?;
            let gap = relative_gap(self.level.objective, self.level.bound);
            if gap <= tolerance {
                return Ok(Ended::Reached);
            }
            idle = if gap < PROGRESS * least { 0 } else { idle + 1 };
            least = least.min(gap);
            if idle > PATIENCE || stuck > STUCK {
                return Ok(Ended::Idle);
            }
            if self.iterations >= self.settings.stop.max_iterations {
                return Ok(Ended::Iterations);
            }
            observer.keep(PART, &mut || Kept::new("", vec![self.root.clone()]));
            let progress = self.progress(at.seen.zone.len());
            if let ControlFlow::Break(halt) = observer.progress(&progress) {
                return Ok(Ended::Told(halt));
            }
            self.iterations += 1;
            let system = System::of(self, &at)?;
            self.mu = system.products(&self.eta, &at.slack) / self.rows();
            let step = self.step(&system, &at, tolerance, stuck > 0)?;
            let changed = self.narrow(&at, step.mu);
            match self.advance(&at, &step, changed, &mut || observer.progress(&progress))? {
                Advance::To(next, t) => {
                    step.follow(&mut self.eta, &mut self.dual, t);
                    (at, stuck) = (*next, 0);
                    self.damping *= RELIEF;
                    self.root = at.root.clone();
                }
                Advance::Stuck => {
                    stuck += 1;
                    self.damping = (self.damping * DAMPED).max(1.0);
                }
                Advance::Told(halt) => return Ok(Ended::Told(halt)),
            }
        }
    }

    /// The step to the smallest `mu` with which it may be long.
    fn step(&self, system: &System, at: &Spot, tolerance: f64, careful: bool) -> Result<Step> {
        let enough = ENOUGH * tolerance * self.level.objective / self.rows();
        let falls = if careful { &FALLS[CAREFUL..] } else { &FALLS };
        let towards = |fall: f64| system.step(self, at, (fall * self.mu).max(enough.min(self.mu)));
        for fall in &falls[..falls.len() - 1] {
            let step = towards(*fall)?;
            if step.reach.0.min(step.reach.1) >= LONG_STEP {
                return Ok(step);
            }
        }
        towards(falls[falls.len() - 1])
    }

    /// What is certified so far.
    fn progress(&self, zone: usize) -> Progress {
        let known = self.best.0.is_finite();
        Progress {
            iteration: self.iterations,
            primal: known.then_some(self.best.0),
            dual: Some(self.bound),
            gap: known.then(|| self.gap()),
            working_set: Some(zone + self.model.pulls()),
            looked_at: self.cloud.looked_at(),
            ..Progress::default()
        }
    }

    /// Rows for the longest pairs that were seen; those that do not matter any more lose theirs.
    fn adopt(&mut self, at: &mut Spot) {
        let c = self.settings.c;
        self.give_up(at);
        // On the path a multiplier is `mu / s`.
        let least = at.t - self.mu * self.model.pulls() as f64 / (USED * c);
        let matters = at.seen.far.iter().take_while(|far| far.0 > least).count();
        if let Some(eta) = with_rows_for(&mut self.model, &at.seen.far[..matters], &self.eta) {
            self.eta = eta;
        }
        if self.eta.len() == at.slack.len() && self.eta.iter().all(|eta| *eta > 0.0) {
            return;
        }
        let lengths = self.lengths(&at.root);
        let rows = self.eta.iter().zip(&lengths);
        let newest = rows.filter(|(eta, _)| **eta == 0.0).fold(0.0f64, |m, (_, r)| m.max(*r));
        at.t = at.t.max(newest + self.mu / (SHARE * c));
        at.slack = lengths.iter().map(|r| at.t - r).collect();
        for (eta, s) in self.eta.iter_mut().zip(&at.slack) {
            if *eta == 0.0 {
                *eta = self.mu / s;
            }
        }
        let total: f64 = self.eta.iter().sum();
        self.eta.iter_mut().for_each(|eta| *eta *= c / total);
    }

    /// Of many long pairs those with next to no multiplier, which are shorter by far, lose their rows.
    fn give_up(&mut self, at: &Spot) {
        if self.model.pull.len() <= self.query().most || self.eta.len() != at.slack.len() {
            return;
        }
        let (least, far) = (IDLE * self.settings.c / self.model.pulls() as f64, SHORT * at.t);
        let (pull, eta) = (std::mem::take(&mut self.model.pull), std::mem::take(&mut self.eta));
        let last = eta.last().copied();
        let rows = pull.into_iter().zip(eta).zip(&at.slack);
        (self.model.pull, self.eta) = rows.filter(|((_, eta), s)| *eta >= least || **s < far).map(|row| row.0).unzip();
        self.eta.extend(last);
    }

    /// What the metric is worth, and what its multipliers prove.
    fn note(&mut self, at: &Spot) -> Result<()> {
        let objective = self.objective(at);
        let bound = self.certified(&at.seen, &self.eta)?;
        self.level.objective = self.level.objective.min(objective);
        self.level.bound = self.level.bound.max(bound);
        if !self.level.sampled {
            if objective < self.best.0 && at.seen.longest > 0.0 {
                self.best = (objective, at.root.clone());
            }
            self.bound = self.bound.max(bound);
            (self.level.objective, self.level.bound) = (self.best.0, self.bound);
        }
        Ok(())
    }

    fn certified(&self, seen: &Rounded, eta: &[f64]) -> Result<f64> {
        let pull = self.model.feasible_pull(&self.cloud.x, eta);
        let multipliers = Multipliers { push: &seen.push, total: seen.total, pull: &pull, most: 1.0 };
        Ok(certify(&multipliers, &self.mean, self.settings.c, &self.cloud.reach())?.value)
    }

    /// A smaller width where the rounding costs more than `mu` will; tells whether it changes.
    fn narrow(&mut self, at: &Spot, mu: f64) -> bool {
        let part = (self.rows() * mu / at.rounding.max(linalg::TINY)).sqrt().clamp(NARROWER, 1.0);
        self.width *= part;
        self.every = ((self.every as f64 * part) as u64).max(1);
        part < 1.0
    }

    /// At the end of a sample: the long pairs of all points; tells whether these are so long that the sample is to be solved again.
    fn widen(&mut self, tolerance: f64) -> bool {
        let known = self.lengths(&self.root)[..self.model.pull.len()].to_vec();
        let longest = known.iter().fold(0.0f64, |m, r| m.max(*r));
        let nothing = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        let query = self.query();
        let query = Query { window: nothing, most: MORE * query.most, ..query }.knowing(known);
        let found = match self.cloud.compacted(&self.root) {
            Some(order) => {
                let embedding = Embedding::new(&order.cloud, &self.root);
                survey(&order.cloud, &embedding, &query).placed(&order)
            }
            None => survey(self.cloud, &Embedding::new(self.cloud, &self.root), &query),
        };
        if let Some(eta) = with_rows_for(&mut self.model, &found.far, &self.eta) {
            self.eta = eta;
        }
        found.longest > longest * (1.0 + LONGER * tolerance)
    }

    /// Leaves out directions that the gap does not need, where looking costs little: inside the cone the metric has full rank.
    fn trim(&mut self) {
        if self.gap() > self.settings.stop.tolerance || self.cloud.len() > TRIMMED {
            return;
        }
        let among = self.settings.variant.bounding();
        let Ok(eigen) = linalg::symmetric_eigen(&linalg::product_transposed(&self.best.1, &self.best.1)) else {
            return;
        };
        let top = eigen.values.last().copied().unwrap_or(0.0);
        for part in FAINT {
            let skip = eigen.values.iter().take_while(|v| **v < part * top).count();
            if skip == 0 {
                return;
            }
            let factor = eigen.scaled(skip..eigen.values.len(), f64::sqrt);
            let (hinges, longest) = objective(self.cloud, &Embedding::new(self.cloud, &factor), among);
            let found = self.settings.c * longest + hinges;
            if relative_gap(found, self.bound) <= self.settings.stop.tolerance {
                self.best = (found, factor);
                return;
            }
        }
    }

    /// What the metric and the multipliers are worth on all pairs.
    fn judge(&mut self) -> Result<()> {
        self.level = Level::of_all(self.cloud, &self.root, (self.best.0, self.bound));
        self.every = u64::MAX;
        let mut at = self.look(self.root.clone(), 0.0, 0.0);
        self.mu = self.mu.max(LEAST);
        self.adopt(&mut at);
        self.note(&at)
    }

    /// Goes along a step as far as it descends; tells how far. After the width has changed the hinges are compared as they are.
    fn advance(
        &self,
        at: &Spot,
        step: &Step,
        changed: bool,
        told: &mut dyn FnMut() -> ControlFlow<Halt>,
    ) -> Result<Advance> {
        let mut t = step.reach.0;
        let value = self.value(at, step.mu, !changed);
        let mut allowed = ROUNDING * value.abs();
        if changed {
            allowed += at.rounding;
        }
        for _ in 0..SHORTENED {
            let (root, grown) = step.moved(t);
            let next = self.look(root, at.log_det + grown, at.t + t * step.t);
            let found = self.value(&next, step.mu, !changed);
            if found <= value - SUFFICIENT * t * step.decrement + allowed {
                return Ok(Advance::To(Box::new(next), t));
            }
            t *= SHORTER;
            if let ControlFlow::Break(halt) = told() {
                return Ok(Advance::Told(halt));
            }
        }
        Ok(Advance::Stuck)
    }
}

/// A factor of full rank near a given one.
fn inside(factor: &Matrix) -> Result<Matrix> {
    /// The least eigenvalue, as a part of the largest.
    const LEAST_PART: f64 = 1e-5;
    let eigen = linalg::symmetric_eigen(&linalg::product_transposed(factor, factor))?;
    let top = eigen.values.last().copied().unwrap_or(0.0);
    let least = if top > 0.0 { LEAST_PART * top } else { 1.0 };
    Ok(eigen.scaled(0..eigen.values.len(), |v| v.max(least).sqrt()))
}

#[cfg(test)]
mod tests;
