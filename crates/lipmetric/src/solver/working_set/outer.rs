//! The loop: move a point of the reduced problem, certify, look at all pairs, renew the rows.

use super::model::{Model, Push, State, points_within};
use super::survey::{Survey, survey};
use crate::linalg;
use crate::linalg::packed_len;
use crate::linalg::proximal::Positive;
use crate::pairs::pass::{Beyond, Query, window_of_sample};
use crate::pairs::{Cloud, Embedding, weighted_outer};
use crate::problem::{Multipliers, Variant, certify, different_sum, mean_pair, relative_gap};
use crate::solver::{Halt, Observer, Progress, Solution, Status, Stop, Termination};
use crate::{Matrix, Result};
use std::ops::ControlFlow;

/// Up to this many coordinates the metric is sought in all of them; above, in a subspace that grows where the multipliers
/// say that it must, ...
pub(crate) const DIMENSIONS: usize = 64;
/// ... by so many directions at a time, up to a size.
pub(crate) const DIRECTIONS: usize = 12;
pub(crate) const SUBSPACE: usize = 120;
/// The least eigenvalue of a first metric, as a part of its largest.
const LEAST_SIZE: f64 = 1e-4;
/// Points of the sample from which the first scale is taken.
const SAMPLE: usize = 300;
/// From this many points on, those that no row refers to are left out of sums.
const SPARSE: usize = 4000;
/// Rounds without any progress before the solver gives up, ...
const PATIENCE: usize = 120;
/// ... which is a gap that has fallen below this part of the least one.
const PROGRESS: f64 = 0.999;
/// Pairs that bound the diameter are listed where they exceed this part of the longest one, ...
const LONG: f64 = 0.5;
/// ... half as many as there are elements of `M`, within these limits; ...
const LONG_PAIRS: (usize, usize) = (60, 1500);
/// ... and those listed before stay as long as they exceed this part.
const STILL_LONG: f64 = 0.8;
/// Weight of the pairs below the window that is rounding.
const NO_WEIGHT: f64 = 1e-9;
/// A move may leave a gradient of this part of `c` times the gap, ...
const LEFT: f64 = 0.1;
/// ... the gap taken as no larger than this, and no smaller than this part of the tolerance.
const GAPS: f64 = 0.3;

/// The size of a gradient that costs the certificate little.
pub(crate) fn enough_gradient(gap: f64, tolerance: f64, c: f64) -> f64 {
    LEFT * gap.clamp(GAPS * tolerance, GAPS) * c
}

/// What to solve and how well.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) variant: Variant,
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
        let lengths = model.lengths(x, m);
        let longest = lengths.pull.iter().fold(0.0f64, |a, &b| a.max(b)).max(1e-12);
        let p = m.rows() as f64;
        let trace = (0..m.rows()).map(|k| m[(k, k)]).sum::<f64>();
        Self { push: 0.5, pull: model.c / longest, cone: 2.0 * model.c * p / trace.max(1e-12) }
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

    /// Pairs on either side of the kink that should have a row.
    fn working_target(&self, coordinates: usize) -> usize;
}

struct Outer<'a> {
    cloud: &'a Cloud,
    settings: Settings,
    /// The one row that pushes, where there is only one.
    only: Option<&'a Matrix>,
    mean: Matrix,
    /// The subspace that the metric is sought in: coordinates x directions, orthonormal.
    basis: Option<Matrix>,
    model: Model,
    state: State,
    best: (f64, Matrix),
    bound: f64,
}

/// Solves the problem on a cloud of whitened points, from a first metric (as a factor) where there is one.
pub(crate) fn solve(
    cloud: &Cloud,
    settings: Settings,
    start: Option<&Matrix>,
    inner: &mut dyn Inner,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    run(cloud, settings, start, None, inner, observer)
}

/// The same with `only` as the one row that pushes, with a cap that does not matter.
pub(crate) fn solve_rows(
    cloud: &Cloud,
    settings: Settings,
    only: &Matrix,
    inner: &mut dyn Inner,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    run(cloud, settings, None, Some(only), inner, observer)
}

fn run(
    cloud: &Cloud,
    settings: Settings,
    start: Option<&Matrix>,
    only: Option<&Matrix>,
    inner: &mut dyn Inner,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    let mut outer = Outer::begin(cloud, settings, start, only, inner)?;
    let (mut iterations, mut idle, mut least) = (0, 0, f64::INFINITY);
    let (mut renewed, mut halt) = (true, None);
    let status = loop {
        let gap = relative_gap(outer.best.0, outer.bound);
        let at = |iteration: usize, rows: usize| Progress {
            iteration,
            primal: Some(outer.best.0),
            dual: Some(outer.bound),
            gap: Some(gap),
            working_set: Some(rows),
            ..Progress::default()
        };
        if gap < PROGRESS * least {
            (least, idle) = (gap, 0);
        } else {
            idle += 1;
        }
        let exhausted = iterations >= settings.stop.max_iterations;
        let ended = Termination { gap: Some(gap), halt, stalled: idle > PATIENCE, exhausted, ..Termination::default() };
        if let Some(status) = ended.status(settings.stop.tolerance) {
            if status == Status::Optimal {
                // The last figures are told, whatever the observer makes of them.
                let _ = observer.progress(&at(iterations, outer.rows()));
            }
            break status;
        }
        let (x, model) = outer.compact();
        let (rows, mut ticks) = (outer.rows(), iterations);
        let progress = at(iterations, rows);
        let mut tick = || {
            ticks += 1;
            observer.progress(&Progress { iteration: ticks, ..progress })
        };
        let task =
            Task { gradient: enough_gradient(gap, settings.stop.tolerance, settings.c), renewed, size: outer.best.0 };
        let (done, told) = inner.advance(Point { model: &model, x: &x, state: &mut outer.state }, &task, &mut tick)?;
        iterations += done;
        halt = told.break_value();
        renewed = outer.look(inner)?;
    };
    Ok(Solution {
        slack: Vec::new(),
        factor: outer.best.1.transpose(),
        objective: outer.best.0,
        bound: outer.bound,
        status,
        iterations,
        certificate: None,
    })
}

impl<'a> Outer<'a> {
    fn begin(
        cloud: &'a Cloud,
        settings: Settings,
        start: Option<&Matrix>,
        only: Option<&'a Matrix>,
        inner: &dyn Inner,
    ) -> Result<Self> {
        let p = cloud.x.cols();
        let mean = mean_pair(cloud, settings.variant);
        let factor = first_factor(cloud, &settings, start)?;
        let m = linalg::product_transposed(&factor, &factor);
        let nothing = Model::empty(settings.c, mean.clone());
        let state =
            State { z: Matrix::zeros(p, p), m, lambda: Vec::new(), eta: vec![settings.c], factor: factor.clone() };
        let best = (f64::INFINITY, factor);
        let bound = if only.is_some() { 0.0 } else { even_bound(cloud, &mean, settings.c)? };
        let mut outer = Self { cloud, settings, only, mean, basis: None, model: nothing, state, best, bound };
        outer.look(inner)?;
        let allowed = settings.rank.unwrap_or(p);
        if p > DIMENSIONS || allowed < p {
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
                outer.best.0 = f64::INFINITY;
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
    fn factor(&self) -> Matrix {
        self.basis.as_ref().map_or_else(|| self.state.factor.clone(), |u| linalg::product(u, &self.state.factor))
    }

    /// The reduced problem in the coordinates of the subspace, and the points that it refers to.
    fn compact(&self) -> (Matrix, Model) {
        let mut model = self.reduced();
        let x = points_within(self.cloud, self.basis.as_ref());
        if x.rows() < SPARSE {
            return (x, model);
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
        (x.select_rows(&rows), model)
    }

    /// Certifies, evaluates the metric on all pairs, and renews rows and subspace; tells whether any have changed.
    fn look(&mut self, inner: &dyn Inner) -> Result<bool> {
        let mut grown = false;
        if !self.state.lambda.is_empty() {
            let (push, pull) = self.sums();
            let total: f64 = self.state.lambda.iter().sum();
            let multipliers = Multipliers { push: &push, total, pull: &pull, most: 1.0 };
            let found = certify(&multipliers, &self.mean, self.settings.c, &self.cloud.reach())?;
            self.bound = self.bound.max(found.value);
            if self.basis.is_some() {
                grown = self.grow(&push, &pull)?;
            }
        }
        let factor = self.factor();
        if factor.cols() == 0 {
            return Ok(grown);
        }
        let q = packed_len(self.state.m.rows());
        let nothing = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        let window =
            if self.only.is_some() { nothing } else { window_of_sample(self.cloud, &factor, inner.working_target(q)) };
        let most = (q / 2).clamp(LONG_PAIRS.0, LONG_PAIRS.1);
        let query = Query { among: self.settings.variant.bounding(), window, beyond: Beyond::Part(LONG), most };
        let embedding = Embedding::new(self.cloud, &factor);
        let found = survey(self.cloud, &embedding, &query);
        let (t, objective) = match self.only {
            Some(row) => {
                let t = 2.0 / linalg::inner(row, &linalg::product_transposed(&factor, &factor));
                (t, self.settings.c * t * found.longest)
            }
            None => found.rescaled(self.settings.c, window),
        };
        if objective < self.best.0 {
            let mut scaled = factor.clone();
            scaled.as_mut_slice().iter_mut().for_each(|v| *v *= t.sqrt());
            self.best = (objective, scaled);
        }
        Ok(self.renew(found, window, &embedding) || grown)
    }

    /// Rows for what a pass has found.
    fn renew(&mut self, found: Survey, window: (f64, f64), embedding: &Embedding) -> bool {
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
        let mut pull: Vec<(u32, u32)> = far.iter().map(|f| (f.1, f.2)).collect();
        for (pair, &e) in self.model.pull.iter().zip(&self.state.eta) {
            if e > 0.0 || embedding.squared_distance(pair.0 as usize, pair.1 as usize) > STILL_LONG * longest {
                pull.push(*pair);
            }
        }
        pull.sort_unstable();
        pull.dedup();
        let mut sums = Vec::new();
        if let Some(row) = self.only {
            // Its multiplier is half the objective at most.
            sums.push((row.clone(), self.model.sums.first().map_or(self.best.0, |s| s.1)));
        }
        if below_weight > NO_WEIGHT {
            below.as_mut_slice().iter_mut().for_each(|v| *v /= below_weight);
            sums.push((below, below_weight));
        }
        let changed = push != self.model.push || pull != self.model.pull || sums != self.model.sums;
        if changed {
            let next = Model { push, sums, pull, ..self.model.clone() };
            let (from, to) = (self.reduced(), self.basis.as_ref().map_or_else(|| next.clone(), |u| next.within(u)));
            self.state.moved(&from, &to, &points_within(self.cloud, self.basis.as_ref()));
            self.model = next;
        }
        changed
    }

    /// Adds the directions in which the multipliers are least feasible; drops the least used ones where there are too many.
    fn grow(&mut self, push: &Matrix, pull: &Matrix) -> Result<bool> {
        let Some(basis) = &self.basis else { return Ok(false) };
        let (p, r) = (basis.rows(), basis.cols());
        let mut z = pull.clone();
        linalg::add_scaled(&mut z, -1.0, push);
        let eigen = linalg::symmetric_eigen(&z)?;
        let tiny = 1e-3 * self.settings.stop.tolerance * self.settings.c;
        let wanted = eigen.values.iter().take_while(|&&v| v < -tiny).count().min(DIRECTIONS);
        let most = self.settings.rank.unwrap_or(SUBSPACE).min(p);
        if wanted == 0 {
            return Ok(false);
        }
        // The directions that the metric uses, the most used first.
        let own = linalg::symmetric_eigen(&linalg::product_transposed(&self.state.factor, &self.state.factor))?;
        let top = own.values.last().copied().unwrap_or(0.0);
        let used = own.values.iter().filter(|&&v| v > 1e-6 * top).count();
        let wanted = wanted.min(most.saturating_sub(used));
        if wanted == 0 {
            return Ok(false);
        }
        let keep = (most - wanted).min(r);
        let rotation = columns(&own.vectors, r - keep..r);
        let mut next = Matrix::zeros(p, keep + wanted);
        let kept = linalg::product(basis, &rotation);
        for a in 0..p {
            next.row_mut(a)[..keep].copy_from_slice(kept.row(a));
        }
        let mut count = keep;
        for k in 0..wanted {
            let mut v: Vec<f64> = (0..p).map(|a| eigen.vectors[(a, k)]).collect();
            for _ in 0..2 {
                for b in 0..count {
                    let t: f64 = (0..p).map(|a| next[(a, b)] * v[a]).sum();
                    (0..p).for_each(|a| v[a] -= t * next[(a, b)]);
                }
            }
            let norm = linalg::dot(&v, &v).sqrt();
            if norm > 1e-6 {
                (0..p).for_each(|a| next[(a, count)] = v[a] / norm);
                count += 1;
            }
        }
        if count == keep {
            return Ok(false);
        }
        let next = columns(&next, 0..count);
        let pad = |a: &Matrix| {
            let small = linalg::congruence(a, &rotation);
            let mut out = Matrix::zeros(count, count);
            for i in 0..keep {
                out.row_mut(i)[..keep].copy_from_slice(small.row(i));
            }
            out
        };
        self.state.m = pad(&self.state.m);
        self.state.z = pad(&self.state.z);
        let factor = linalg::transposed_product(&rotation, &self.state.factor);
        let mut padded = Matrix::zeros(count, factor.cols());
        for i in 0..keep {
            padded.row_mut(i).copy_from_slice(factor.row(i));
        }
        self.state.factor = padded;
        self.basis = Some(next);
        Ok(true)
    }
}

/// The bound from multipliers that are all equal: a fair one where nearly all pairs can be told apart.
pub(crate) fn even_bound(cloud: &Cloud, mean: &Matrix, c: f64) -> Result<f64> {
    let (push, mut pull) = (different_sum(cloud), mean.clone());
    pull.as_mut_slice().iter_mut().for_each(|v| *v *= c);
    let even = Multipliers { push: &push, total: cloud.pair_totals().0, pull: &pull, most: 1.0 };
    Ok(certify(&even, mean, c, &cloud.reach())?.value)
}

pub(crate) fn columns(a: &Matrix, range: std::ops::Range<usize>) -> Matrix {
    let mut out = Matrix::zeros(a.rows(), range.len());
    for i in 0..a.rows() {
        out.row_mut(i).copy_from_slice(&a.row(i)[range.clone()]);
    }
    out
}

/// A first metric: of the identity and some inverses of the within-class covariance (as in a discriminant analysis), in
/// their best multiples, and a given one, the best on a sample.
pub(crate) fn first_factor(cloud: &Cloud, settings: &Settings, start: Option<&Matrix>) -> Result<Matrix> {
    let p = cloud.x.cols();
    let part = if cloud.len() > SAMPLE { cloud.thinned(SAMPLE) } else { cloud.clone() };
    let share = part.pair_totals().0 / cloud.pair_totals().0;
    let everything = (f64::NEG_INFINITY, f64::INFINITY);
    let query = Query { among: settings.variant.bounding(), window: everything, beyond: Beyond::Part(0.9), most: 1 };
    let total = cloud.weight.iter().sum::<f64>();
    let mut within = Matrix::zeros(p, p);
    for group in cloud.classes() {
        let weight: f64 = cloud.weight[group.clone()].iter().sum();
        let own = group_scatter(cloud, group);
        linalg::add_scaled(&mut within, 1.0 / (total * weight), &own);
    }
    let eigen = linalg::symmetric_eigen(&within)?;
    let top = eigen.values.last().copied().unwrap_or(0.0).max(1e-300);
    let shapes: [fn(f64) -> f64; 4] = [|_| 1.0, |w| 1.0 / (w + 0.3), |w| 1.0 / (w + 0.1), |w| 1.0 / (w + 0.03)];
    let mut candidates: Vec<Matrix> = start.cloned().into_iter().collect();
    for shape in shapes {
        let sizes: Vec<f64> = eigen.values.iter().map(|w| shape(w.max(0.0) / top)).collect();
        let most = sizes.iter().fold(0.0f64, |a, &b| a.max(b)).max(1e-12);
        candidates.push(eigen.scaled(0..p, |w| (shape(w.max(0.0) / top) / most).max(LEAST_SIZE).sqrt()));
    }
    let mut best: Option<(f64, Matrix)> = None;
    for mut factor in candidates {
        let found = survey(&part, &Embedding::new(&part, &factor), &query);
        let (t, value) = found.rescaled(settings.c * share, everything);
        // At the smallest multiples nothing is told apart: one under which the longest pair is just apart is a better start.
        let t = t.max(2.0 / found.longest.max(1e-12)).sqrt();
        factor.as_mut_slice().iter_mut().for_each(|v| *v *= t);
        if best.as_ref().is_none_or(|b| value < b.0) {
            best = Some((value, factor));
        }
    }
    Ok(best.map_or_else(|| Matrix::identity(p), |b| b.1))
}

/// `W sum w (x - mean)(x - mean)^T` over a group, with `W` its weight.
fn group_scatter(cloud: &Cloud, group: std::ops::Range<usize>) -> Matrix {
    let p = cloud.x.cols();
    let total: f64 = cloud.weight[group.clone()].iter().sum();
    let mean = cloud.weighted_mean(group.clone());
    let mut plain = Matrix::zeros(group.len(), p);
    let mut scaled = Matrix::zeros(group.len(), p);
    for (row, i) in group.enumerate() {
        for (k, (v, m)) in cloud.x.row(i).iter().zip(&mean).enumerate() {
            plain[(row, k)] = v - m;
            scaled[(row, k)] = total * cloud.weight[i] * (v - m);
        }
    }
    let mut out = linalg::transposed_product(&plain, &scaled);
    linalg::symmetrise(&mut out);
    out
}
