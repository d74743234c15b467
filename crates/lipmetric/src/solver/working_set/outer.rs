//! The loop: move a point of the reduced problem, certify, look at all pairs, renew the rows.

use super::LEAST;
use super::climb::Climb;
use super::first::{even_bound, first_factor};
use super::limit::Limit;
use super::model::{Model, Push, State, points_within};
use super::rows::{even_loads, first_slacks, longest, within_loads};
use super::subspace::columns;
use super::survey::{Survey, survey};
use crate::linalg;
use crate::linalg::packed_len;
use crate::linalg::proximal::Positive;
use crate::pairs::pass::{Beyond, Long, Query, some_long, window_of_sample};
use crate::pairs::{Cloud, Compact, Embedding, weighted_outer};
use crate::problem::{Certificate, Multipliers, Slack, Variant, certify, mean_pair, relative_gap};
use crate::solver::{Halt, Kept, Observer, Progress, Solution, Status, Stop, Termination};
use crate::{Matrix, Result};
use std::ops::ControlFlow;

/// Up to this many coordinates the metric is sought in all of them; above, in a subspace that grows where the multipliers
/// say that it must, ...
pub(crate) const DIMENSIONS: usize = 64;
/// (with a slack per row, where few pairs push and a step costs less, up to this many)
pub(super) const DIMENSIONS_WITH_SLACKS: usize = 200;
/// ... by so many directions at a time, up to a size.
pub(crate) const DIRECTIONS: usize = 12;
pub(crate) const SUBSPACE: usize = 120;

/// The size of a gradient that costs the certificate little.
pub(crate) fn enough_gradient(gap: f64, tolerance: f64, c: f64) -> f64 {
    /// A move may leave a gradient of this part of `c` times the gap, ...
    const LEFT: f64 = 0.1;
    /// ... the gap taken as no larger than this, and no smaller than this part of the tolerance.
    const GAPS: f64 = 0.3;
    LEFT * gap.clamp(GAPS * tolerance, GAPS) * c
}

/// What to solve and how well.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) variant: Variant,
    pub(crate) slack: Slack,
    pub(crate) c: f64,
    /// The largest rank of the metric, where the user wants one.
    pub(crate) rank: Option<usize>,
    pub(crate) stop: Stop,
}

/// Penalties of the three blocks: hinges (times their cap), maximum, cone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Penalty {
    pub(crate) push: f64,
    pub(crate) pull: f64,
    pub(crate) cone: f64,
}

impl Penalty {
    /// What each multiplier can be, over the size of what it multiplies.
    pub(crate) fn guess(model: &Model, x: &Matrix, m: &Matrix) -> Self {
        /// The first penalty of a hinge of weight one: its multiplier is at most one, and the hinge at most 2.
        const PUSH: f64 = 0.5;
        let lengths = model.lengths(x, m);
        let longest = lengths.pull.iter().fold(0.0f64, |a, &b| a.max(b)).max(LEAST);
        let p = m.rows() as f64;
        let trace = (0..m.rows()).map(|k| m[(k, k)]).sum::<f64>();
        Self { push: PUSH, pull: model.c / longest, cone: 2.0 * model.c * p / trace.max(LEAST) }
    }

    pub(crate) fn times(&self, t: f64) -> Self {
        Self { push: self.push * t, pull: self.pull * t, cone: self.cone * t }
    }
}

/// How far a move should go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task {
    /// A gradient of this size costs the certificate little.
    pub(crate) gradient: f64,
    /// The same for all slacks together.
    pub(crate) slack: f64,
    /// Whether rows or coordinates have changed since the last move.
    pub(crate) renewed: bool,
    /// The objective's order of magnitude.
    pub(crate) size: f64,
}

/// A reduced problem and a point of it.
pub(crate) struct Point<'a> {
    pub(crate) model: &'a Model,
    pub(crate) x: &'a Matrix,
    pub(crate) state: &'a mut State,
}

/// Tells the observer that a method is at work, and whether it wants to stop.
pub(crate) type Tick<'a> = dyn FnMut() -> ControlFlow<Halt> + 'a;

/// A method that moves a point of a reduced problem.
pub(crate) trait Inner {
    /// Moves the point; returns the iterations done and whether the observer wants to stop.
    fn advance(&mut self, at: Point<'_>, task: &Task, tick: &mut Tick<'_>) -> Result<(usize, ControlFlow<Halt>)>;

    /// The multipliers of the diameter and the cone are now this many times as large.
    fn scale(&mut self, _ratio: f64) {}

    /// Pairs on either side of the kink that should have a row.
    fn working_target(&self, coordinates: usize) -> usize;
}

/// The best metric so far.
pub(super) struct Best {
    pub(super) objective: f64,
    pub(super) diameter: f64,
    /// Coordinates x rank.
    pub(super) factor: Matrix,
    /// The slack of each point, with a slack per row.
    pub(super) slack: Vec<f64>,
}

pub(super) struct Outer<'a> {
    pub(super) cloud: &'a Cloud,
    pub(super) settings: Settings,
    /// The one row that pushes, where there is only one.
    pub(super) only: Option<&'a Matrix>,
    pub(super) mean: Matrix,
    /// The subspace that the metric is sought in: coordinates x directions, orthonormal.
    pub(super) basis: Option<Matrix>,
    pub(super) model: Model,
    pub(super) state: State,
    pub(super) best: Best,
    pub(super) bound: f64,
    /// The multipliers that prove the bound, with a slack per row.
    pub(super) certificate: Option<Certificate>,
    /// Where `c` is to rise to `c_max`.
    pub(super) climb: Option<Climb>,
    /// Where the largest gain under a limit of the diameter is sought.
    pub(super) limit: Option<Limit>,
    /// Many points in an order that was compact under the metric at one of the last looks, and how many looks there were.
    pub(super) order: Option<Compact>,
    looks: usize,
    /// Whether an observer may keep the best metric, as that of the problem that was asked for.
    offered: bool,
}

/// What an observer keeps of a fit: the factor of the best metric, coordinates x rank.
pub(crate) const PART: &str = "large";

/// Solves the problem on a cloud of whitened points, from a first metric (as a factor) where there is one.
pub(crate) fn solve(
    cloud: &Cloud,
    settings: Settings,
    start: Option<&Matrix>,
    inner: &mut dyn Inner,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    let mut outer = Outer::begin(cloud, settings, start, None, None, inner)?;
    outer.offered = true;
    let (status, iterations) = outer.run(inner, observer)?;
    Ok(outer.solution(status, iterations))
}

/// The same with `only` as the one row that pushes, with a cap that does not matter.
pub(crate) fn solve_rows(
    cloud: &Cloud,
    settings: Settings,
    only: &Matrix,
    inner: &mut dyn Inner,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    let mut outer = Outer::begin(cloud, settings, None, Some(only), None, inner)?;
    let (status, iterations) = outer.run(inner, observer)?;
    Ok(outer.solution(status, iterations))
}

impl<'a> Outer<'a> {
    /// Goes on until the gap is reached, or something else ends it; returns the iterations, too.
    pub(super) fn run(&mut self, inner: &mut dyn Inner, observer: &mut dyn Observer) -> Result<(Status, usize)> {
        /// Rounds without any progress before the solver gives up, ...
        const PATIENCE: usize = 120;
        /// ... which is a gap that has fallen below this part of the least one.
        const PROGRESS: f64 = 0.999;
        let outer = self;
        let (mut iterations, mut idle, mut least) = (0, 0, f64::INFINITY);
        let (mut renewed, mut halt) = (true, None);
        let status = loop {
            let gap = relative_gap(outer.best.objective, outer.bound);
            let at = |iteration: usize, rows: usize| Progress {
                iteration,
                primal: Some(outer.best.objective),
                dual: Some(outer.bound),
                gap: Some(gap),
                working_set: Some(rows),
                looked_at: outer.cloud.looked_at(),
                c_max: outer.c_max(),
                ..Progress::default()
            };
            if gap < PROGRESS * least {
                (least, idle) = (gap, 0);
            } else {
                idle += 1;
            }
            let settings = outer.settings;
            let exhausted = iterations >= settings.stop.max_iterations;
            let ended =
                Termination { gap: Some(gap), halt, stalled: idle > PATIENCE, exhausted, ..Termination::default() };
            if let Some(status) = ended.status(settings.stop.tolerance) {
                if status == Status::Optimal {
                    // The last figures are told, whatever the observer makes of them.
                    let _ = observer.progress(&at(iterations, outer.rows()));
                }
                break status;
            }
            if outer.offered && outer.best.objective.is_finite() {
                observer.keep(PART, &mut || Kept::new("", vec![outer.best.factor.clone()]));
            }
            let (x, model, used) = outer.compact();
            let (rows, mut ticks) = (outer.rows(), iterations);
            let progress = at(iterations, rows);
            let mut tick = || {
                ticks += 1;
                observer.progress(&Progress { iteration: ticks, ..progress })
            };
            let size = outer.limit.as_ref().map_or(outer.best.objective, Limit::size);
            let enough = |size: f64| enough_gradient(gap, settings.stop.tolerance, size);
            let task = Task { gradient: enough(settings.c), slack: enough(size), renewed, size };
            let slack = outer.enter(&used);
            let (done, told) =
                inner.advance(Point { model: &model, x: &x, state: &mut outer.state }, &task, &mut tick)?;
            outer.leave(slack, &used);
            outer.count_multipliers();
            iterations += done;
            halt = told.break_value();
            renewed = outer.look(inner)?;
            if outer.climb.is_some()
                && let Some(ratio) = outer.rise()?
            {
                inner.scale(ratio);
                (least, renewed) = (f64::INFINITY, true);
            }
        };
        Ok((status, iterations))
    }

    fn solution(self, status: Status, iterations: usize) -> Solution {
        Solution {
            slack: self.best.slack,
            factor: self.best.factor.transpose(),
            objective: self.best.objective,
            bound: self.bound,
            status,
            iterations,
            certificate: self.certificate,
        }
    }

    pub(super) fn begin(
        cloud: &'a Cloud,
        settings: Settings,
        start: Option<&Matrix>,
        only: Option<&'a Matrix>,
        limit: Option<Limit>,
        inner: &dyn Inner,
    ) -> Result<Self> {
        let p = cloud.x.cols();
        let mean = mean_pair(cloud, settings.variant);
        let mut factor = first_factor(cloud, &settings, start)?;
        if let Some(limit) = &limit {
            let t = (limit.longest / longest(cloud, &settings, &factor)).sqrt();
            factor.as_mut_slice().iter_mut().for_each(|v| *v *= t);
        }
        let m = linalg::product_transposed(&factor, &factor);
        let (mut nothing, mut slack) = (Model::empty(settings.c, mean.clone()), Vec::new());
        nothing.limit = limit.as_ref().map(|limit| limit.longest);
        if settings.slack == Slack::Instance {
            nothing.weight.clone_from(&cloud.weight);
            slack = first_slacks(cloud, &settings, &factor);
        }
        let state = State {
            z: Matrix::zeros(p, p),
            m,
            lambda: Vec::new(),
            eta: vec![settings.c],
            factor: factor.clone(),
            slack: slack.clone(),
        };
        let best = Best { objective: f64::INFINITY, diameter: 0.0, factor, slack };
        let even = only.is_none() && settings.slack == Slack::Pair;
        let bound = if even { even_bound(cloud, &mean, settings.c)? } else { 0.0 };
        let mut outer = Self {
            cloud,
            settings,
            only,
            mean,
            basis: None,
            model: nothing,
            state,
            best,
            bound,
            certificate: None,
            climb: None,
            limit,
            order: None,
            looks: 0,
            offered: false,
        };
        outer.look(inner)?;
        if settings.slack == Slack::Instance {
            outer.state.lambda = even_loads(&outer.model);
        }
        let allowed = settings.rank.unwrap_or(p);
        let all = match settings.slack {
            Slack::Pair => DIMENSIONS,
            Slack::Instance => DIMENSIONS_WITH_SLACKS,
        };
        if p > all || allowed < p {
            let (push, pull) = outer.sums();
            let count = allowed.min(3 * DIRECTIONS);
            let mut z = pull;
            linalg::add_scaled(&mut z, -1.0, &push);
            let eigen = linalg::symmetric_eigen(&z)?;
            let basis = columns(&eigen.vectors, 0..count);
            outer.state.m = linalg::congruence(&outer.state.m, &basis);
            outer.basis = Some(basis);
            outer.state.factor = Positive::part(&outer.state.m)?.factor;
            outer.state.z = Matrix::zeros(count, count);
            if allowed < p {
                // The first metric has more directions than are allowed.
                outer.best.objective = f64::INFINITY;
            }
            outer.look(inner)?;
        }
        Ok(outer)
    }

    fn rows(&self) -> usize {
        self.model.pushes() + self.model.pulls()
    }

    /// The reduced problem in the coordinates of the subspace.
    fn reduced(&self) -> Model {
        self.basis.as_ref().map_or_else(|| self.model.clone(), |u| self.model.within(u))
    }

    /// `sum lambda A` and `sum eta A` in all coordinates.
    fn sums(&self) -> (Matrix, Matrix) {
        let x = &self.cloud.x;
        (self.model.push_sum(x, &self.state.lambda), self.model.pull_sum(x, &self.state.eta))
    }

    /// The current metric's factor in all coordinates.
    pub(super) fn factor(&self) -> Matrix {
        self.basis.as_ref().map_or_else(|| self.state.factor.clone(), |u| linalg::product(u, &self.state.factor))
    }

    /// The reduced problem in the coordinates of the subspace, and the points that it refers to: which they are, where
    /// these are not all.
    fn compact(&self) -> (Matrix, Model, Option<Vec<usize>>) {
        /// From this many points on, those that no row refers to are left out of sums.
        const SPARSE: usize = 4000;
        let mut model = self.reduced();
        let x = points_within(self.cloud, self.basis.as_ref());
        if x.rows() < SPARSE {
            return (x, model, None);
        }
        let pairs = || model.push.iter().map(|r| (r.i, r.j)).chain(model.pull.iter().copied());
        let mut used: Vec<u32> = pairs().flat_map(|(i, j)| [i, j]).collect();
        used.sort_unstable();
        used.dedup();
        let mut place = vec![0u32; x.rows()];
        used.iter().enumerate().for_each(|(k, &i)| place[i as usize] = k as u32);
        let rows: Vec<usize> = used.iter().map(|&i| i as usize).collect();
        // The order of points, and so that of rows, stays.
        for row in &mut model.push {
            (row.i, row.j) = (place[row.i as usize], place[row.j as usize]);
        }
        for pair in &mut model.pull {
            *pair = (place[pair.0 as usize], place[pair.1 as usize]);
        }
        if !model.weight.is_empty() {
            model.weight = rows.iter().map(|&i| self.cloud.weight[i]).collect();
        }
        (x.select_rows(&rows), model, Some(rows))
    }

    /// Leaves only the slacks of the points that a method is given; returns all.
    fn enter(&mut self, used: &Option<Vec<usize>>) -> Vec<f64> {
        let all = self.state.slack.clone();
        if let (Some(used), false) = (used, all.is_empty()) {
            self.state.slack = used.iter().map(|&i| all[i]).collect();
        }
        all
    }

    /// Puts the slacks of these points back among all.
    fn leave(&mut self, mut all: Vec<f64>, used: &Option<Vec<usize>>) {
        if let (Some(used), false) = (used, all.is_empty()) {
            used.iter().zip(&self.state.slack).for_each(|(&i, s)| all[i] = *s);
            self.state.slack = all;
        }
    }

    /// Certifies, evaluates the metric on all pairs, and renews rows and subspace; tells whether any have changed.
    fn look(&mut self, inner: &dyn Inner) -> Result<bool> {
        let mut grown = false;
        if !self.state.lambda.is_empty() {
            let (push, pull) = self.certify()?;
            if self.basis.is_some() {
                grown = self.grow(&push, &pull)?;
            }
        }
        let factor = self.factor();
        if factor.cols() == 0 {
            return Ok(grown);
        }
        if self.settings.slack == Slack::Instance {
            return Ok(self.look_at_rows(&factor) || grown);
        }
        let q = packed_len(self.state.m.rows());
        let nothing = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        let window =
            if self.only.is_some() { nothing } else { window_of_sample(self.cloud, &factor, inner.working_target(q)) };
        let embedding = Embedding::new(self.cloud, &factor);
        self.arrange(&factor);
        let query = Query { window, ..self.query() }.knowing(self.known_lengths(&embedding));
        let found = match &self.order {
            Some(order) => survey(&order.cloud, &Embedding::new(&order.cloud, &factor), &query).placed(order),
            None => survey(self.cloud, &embedding, &query),
        };
        let (t, objective) = match self.only {
            Some(row) => {
                let t = 2.0 / linalg::inner(row, &linalg::product_transposed(&factor, &factor));
                let per_diameter = if self.limit.is_some() { 1.0 } else { self.settings.c };
                (t, per_diameter * t * found.longest)
            }
            None => found.rescaled(self.settings.c, window),
        };
        if objective < self.best.objective {
            let mut scaled = factor.clone();
            scaled.as_mut_slice().iter_mut().for_each(|v| *v *= t.sqrt());
            self.best = Best { objective, diameter: t * found.longest, factor: scaled, slack: Vec::new() };
        }
        Ok(self.renew(found, window, &embedding) || grown)
    }

    /// Has many points in a compact order: a new one at the first looks, where the metric changes much, and then ever more rarely.
    pub(super) fn arrange(&mut self, factor: &Matrix) {
        self.looks += 1;
        if self.looks.is_power_of_two() {
            self.order = self.cloud.compacted(factor);
        }
    }

    /// Lengths of pairs that bound the diameter, long ones among them; nothing where points are few.
    pub(super) fn known_lengths(&self, embedding: &Embedding) -> Vec<f64> {
        if self.order.is_none() {
            return Vec::new();
        }
        let mut lengths = some_long(self.cloud, embedding, self.settings.variant.bounding());
        let pull = self.model.pull.iter();
        lengths.extend(pull.map(|&(i, j)| embedding.squared_distance(i as usize, j as usize)));
        lengths
    }

    /// The long pairs that are wanted.
    pub(super) fn query(&self) -> Query {
        /// Pairs that bound the diameter are listed where they exceed this part of the longest one, ...
        const LONG: f64 = 0.5;
        /// ... half as many as there are elements of `M`, within these limits, ...
        const LONG_PAIRS: (usize, usize) = (60, 1500);
        /// ... and with a slack per row, where few pairs push, more of them: fewer rounds take less time.
        const LONG_PAIRS_WITH_SLACKS: (usize, usize) = (60, 4000);
        let q = packed_len(self.state.m.rows());
        let most = match self.settings.slack {
            Slack::Pair => (q / 2).clamp(LONG_PAIRS.0, LONG_PAIRS.1),
            Slack::Instance => (2 * q).clamp(LONG_PAIRS_WITH_SLACKS.0, LONG_PAIRS_WITH_SLACKS.1),
        };
        let window = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        Query { window, beyond: Beyond::Part(LONG), most, ..Query::plain(self.settings.variant.bounding()) }
    }

    /// Takes a bound from the multipliers; returns `sum lambda A` and `sum eta A` in all coordinates.
    fn certify(&mut self) -> Result<(Matrix, Matrix)> {
        let own = match self.settings.slack {
            Slack::Pair => None,
            Slack::Instance => Some(within_loads(&self.model, &self.state.lambda)),
        };
        let (x, lambda) = (&self.cloud.x, own.as_ref().unwrap_or(&self.state.lambda));
        let (push, pull) = (self.model.push_sum(x, lambda), self.model.feasible_pull(x, &self.state.eta));
        if let Some(climb) = &mut self.climb {
            let factor = self
                .basis
                .as_ref()
                .map_or_else(|| self.state.factor.clone(), |u| linalg::product(u, &self.state.factor));
            let lengths = self.model.lengths(x, &linalg::product_transposed(&factor, &factor)).push;
            climb.bound(self.cloud, &self.model, (lambda, &lengths), (&pull, &self.mean), self.settings.c)?;
        }
        if self.limit.is_some() {
            let lambda = own.unwrap_or_else(|| self.state.lambda.clone());
            self.bound_gain(&lambda, &pull)?;
            return Ok((push, pull));
        }
        let multipliers = Multipliers { push: &push, total: lambda.iter().sum(), pull: &pull, most: 1.0 };
        let found = certify(&multipliers, &self.mean, self.settings.c, &self.cloud.reach())?;
        if found.value > self.bound {
            self.bound = found.value;
            if let Some(lambda) = own {
                self.certificate = Some(self.proof(&lambda, &found)?);
            }
        }
        Ok((push, pull))
    }

    /// The pairs that bound the diameter and get a row: those found, those that carry a multiplier, those still long.
    pub(super) fn long_pairs(&self, far: &[Long], longest: f64, embedding: &Embedding) -> Vec<(u32, u32)> {
        /// Pairs that were listed before stay as long as they exceed this part of the longest one.
        const STILL_LONG: f64 = 0.8;
        let mut pull: Vec<(u32, u32)> = far.iter().map(|f| (f.1, f.2)).collect();
        for (pair, &e) in self.model.pull.iter().zip(&self.state.eta) {
            if e > 0.0 || embedding.squared_distance(pair.0 as usize, pair.1 as usize) > STILL_LONG * longest {
                pull.push(*pair);
            }
        }
        pull.sort_unstable();
        pull.dedup();
        pull
    }

    /// Goes on with these rows; tells whether they are others.
    pub(super) fn replace(&mut self, push: Vec<Push>, sums: Vec<(Matrix, f64)>, pull: Vec<(u32, u32)>) -> bool {
        let changed = push != self.model.push || pull != self.model.pull || sums != self.model.sums;
        if changed {
            let next = Model { push, sums, pull, ..self.model.clone() };
            let (from, to) = (self.reduced(), self.basis.as_ref().map_or_else(|| next.clone(), |u| next.within(u)));
            self.state.moved(&from, &to, &points_within(self.cloud, self.basis.as_ref()));
            self.model = next;
        }
        changed
    }

    /// Rows for what a pass has found.
    fn renew(&mut self, found: Survey, window: (f64, f64), embedding: &Embedding) -> bool {
        /// Weight of the pairs below the window that is rounding.
        const NO_WEIGHT: f64 = 1e-9;
        let Survey { near, mut below, mut below_weight, longest, far, .. } = found;
        let mut push: Vec<Push> = near.iter().map(|n| n.0).collect();
        // Multipliers strictly between their bounds keep their rows wherever the pair is now.
        let mut kept = Vec::new();
        for (row, &l) in self.model.push.iter().zip(&self.state.lambda) {
            let known = || push.binary_search_by_key(&(row.i, row.j), |r| (r.i, r.j)).is_ok();
            if l > 0.0 && l < row.cap && !known() {
                kept.push(*row);
            }
        }
        let inside = kept.iter().filter(|r| embedding.squared_distance(r.i as usize, r.j as usize) < window.0);
        let inside: Vec<(usize, usize, f64)> = inside.map(|r| (r.i as usize, r.j as usize, r.cap)).collect();
        below_weight -= inside.iter().map(|r| r.2).sum::<f64>();
        linalg::add_scaled(&mut below, -1.0, &weighted_outer(&self.cloud.x, inside.into_iter()));
        push.append(&mut kept);
        push.sort_unstable_by_key(|r| (r.i, r.j));
        let pull = self.long_pairs(&far, longest, embedding);
        let mut sums = Vec::new();
        if let Some(row) = self.only {
            // Its multiplier is half the objective at most.
            let cap = if self.limit.is_some() { 1.0 } else { self.best.objective };
            sums.push((row.clone(), self.model.sums.first().map_or(cap, |s| s.1)));
        }
        if below_weight > NO_WEIGHT {
            below.as_mut_slice().iter_mut().for_each(|v| *v /= below_weight);
            sums.push((below, below_weight));
        }
        self.replace(push, sums, pull)
    }
}
