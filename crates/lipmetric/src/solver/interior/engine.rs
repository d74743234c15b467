//! The loop.

use super::certify::Proof;
use super::newton::factor_of;
use super::scan::{Survey, survey};
use super::tail;
use super::{Interior, NOWHERE, Shape, State};
use crate::linalg;
use crate::pairs::pass::{Beyond, Query, keep_longest};
use crate::pairs::{Cloud, Embedding};
use crate::problem::{Diameter, Slack, Variant, relative_gap};
use crate::solver::{Kept, Observer, Progress, Solution, Status, Stop, Termination};
use crate::{Matrix, Result};

/// Steps in a row that may be shorter than [`SHORT`], or be taken below the tolerated gap, before the solver gives up.
const PATIENCE: usize = 12;
const SHORT: f64 = 1e-5;
/// The part of the tolerated gap that a step aims at: going far below it only loses accuracy.
const ENOUGH: f64 = 0.2;
/// Where a looser gap is tolerated, a step aims as for this one. A point that keeps as far from all constraints as a gap of some
/// percent allows sees ever more pairs as nearly tight, so that its gap hardly falls.
const FINE: f64 = 1e-3;
/// Rows are given up where there are more than this, each time that the gap has fallen by this factor, down to this gap.
const MANY: usize = 2500;
const PRUNE: f64 = 0.3;
const PRUNE_UNTIL: f64 = 1e-4;
/// On a path, whose problems begin with the rows of others: where there are more than this, and settled ones are this part of all.
const MANY_ON_PATH: usize = 1000;
const PARTS: (f64, f64) = (0.5, 0.2);
/// On a path: pairs that come from below the kink and are further above it than this after a step get no row.
const LEAP: f64 = 0.2;
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
    pub(crate) stop: Stop,
}

/// The best primal point so far.
#[derive(Debug, Clone)]
pub(super) struct Best {
    pub(super) objective: f64,
    pub(super) diameter: f64,
    pub(super) factor: Matrix,
    /// The slack of each point, with a slack per row.
    pub(super) slack: Vec<f64>,
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
    /// The best certificate so far, ...
    pub(super) proof: Proof,
    /// ... and whether its multipliers have lost their rows.
    pub(super) stale: bool,
    /// The gap at which rows were last given up.
    pruned_at: f64,
    /// An earlier, still central point, from which a neighbouring problem can start.
    pub(super) waypoint: Option<Box<Engine<'a>>>,
    /// Whether this is a problem of a path: keeps one, and gives up rows more readily.
    pub(super) keep: bool,
    /// How often in a row there were more long pairs than may enter at a time: that number grows with it.
    pub(super) hurry: u32,
    /// The diameter's edge of the tail that goes with `sides`.
    pub(super) edge: f64,
    /// Whether an observer may keep the point, as that of the problem that was asked for.
    offered: bool,
}

/// What an observer keeps of a fit: the best `M`.
pub(crate) const PART: &str = "exact";

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
            proof: Proof::default(),
            stale: false,
            pruned_at: 1.0,
            waypoint: None,
            keep: false,
            hurry: 0,
            edge,
            offered: false,
        }
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

    /// How near to the optimum the point is, about: pairs that are nearer than this to being tight are looked for.
    pub(super) fn nearness(&self) -> f64 {
        /// The range of the relative distances from being tight within which pairs get a row.
        const NEARNESS: (f64, f64) = (1e-7, 0.3);
        (self.state.complementarity() / self.best.objective).clamp(NEARNESS.0, NEARNESS.1)
    }

    /// Looks at all pairs under the current metric.
    fn look(&self, now: &Embedding) -> Survey {
        /// Longest pairs that a pass reports.
        const LONGEST: usize = 1000;
        let relative = self.nearness();
        let beyond = match self.settings.diameter {
            Diameter::Maximum => self.state.scalar * (1.0 - relative),
            Diameter::Cvar(_) | Diameter::Mean => f64::INFINITY,
        };
        let query =
            Query { beyond: Beyond::Length(beyond), most: LONGEST, ..Query::plain(self.settings.variant.bounding()) };
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
        /// The part of the complementarity that leaving the feasible region may cost.
        const MAY_COST: f64 = 0.5;
        /// So often this part of a step is kept where lifting costs too much, relative to the part that would cost what is allowed; then
        /// the whole step is taken back.
        const RETREAT: (usize, f64) = (4, 0.9);
        let allowed = MAY_COST * self.state.complementarity();
        let mut retreats = 0;
        let mut blocking = Vec::new();
        let (now, mut found, factor) = loop {
            let factor = factor_of(&self.state.m, "the metric")?;
            let now = Embedding::new(self.cloud, &factor);
            let found = self.look(&now);
            let cost = self.cost_of_lifting(&found);
            if cost <= allowed || retreats > RETREAT.0 {
                self.lift(&found);
                break (now, found, factor);
            }
            retreats += 1;
            blocking.extend(found.far.iter().filter(|f| f.0 > self.state.scalar).map(|f| (f.1, f.2, false)));
            blocking.extend(found.tight.iter().filter(|t| t.0 < 0.0).map(|t| (t.1, t.2, true)));
            self.retreat(before, if retreats > RETREAT.0 { 0.0 } else { RETREAT.1 * allowed / cost });
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
        let leapt = match self.settings.slack {
            Slack::Pair => self.admit_push(&found.near, &now, mu, self.leap())?,
            Slack::Instance => {
                self.admit_tight(&found.tight, &now, mu)?;
                false
            }
        };
        match self.settings.diameter {
            Diameter::Maximum => self.admit_pull(&found, &now, mu)?,
            Diameter::Cvar(_) => self.admit_tail(&crossed, &now, mu)?,
            Diameter::Mean => {}
        }
        if leapt {
            // All pairs that had changed sides since then have a row now, or have left the band.
            (self.sides, self.sides_factor) = (now, factor);
            self.forget_certificate();
        }
        Ok(())
    }

    fn leap(&self) -> f64 {
        if self.keep && self.settings.diameter == Diameter::Maximum { LEAP } else { f64::INFINITY }
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

    /// Half of the largest violation of each point's margins, with a slack per row.
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
        /// How far above the longest pair the diameter is lifted, as a part of what the complementarity is worth: strictly, but hardly.
        const ABOVE: f64 = 1e-3;
        /// How much of what is missing slacks are lifted by: strictly inside, at a tenth more.
        const LIFTED: f64 = 1.1;
        let state = &mut self.state;
        if self.settings.diameter == Diameter::Maximum {
            let least = found.longest + ABOVE * state.complementarity() / self.settings.c;
            state.scalar = state.scalar.max(least);
        }
        for (p, missing) in self.missing_slack(found).into_iter().enumerate().filter(|(_, m)| *m > 0.0) {
            let at = self.state.place[p];
            if at != NOWHERE {
                self.state.slack[at as usize] += LIFTED * missing;
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
        self.proof.bound.value
    }

    /// The same point in a problem that differs only in `c`. The multipliers that bound the diameter follow `c`; on a path, and with
    /// a slack per pair, the others do, too, where it falls, and the dual point stays feasible.
    pub(super) fn turn_to(&mut self, settings: Settings<'a>) {
        let ratio = settings.c / self.settings.c;
        let bend = bent(settings.anchor, &self.state.m) - bent(self.settings.anchor, &self.state.m);
        self.best.objective += (settings.c - self.settings.c) * self.best.diameter + bend;
        self.settings = settings;
        self.shape.cost = settings.c;
        self.proof = Proof::default();
        self.stale = true;
        self.pruned_at = 1.0;
        self.waypoint = None;
        let state = &mut self.state;
        state.anchor = settings.anchor.map(|(gamma, reference)| (gamma, reference.clone()));
        let scale = |matrix: &mut Matrix| matrix.as_mut_slice().iter_mut().for_each(|v| *v *= ratio);
        let falls = ratio < 1.0 && (self.keep || settings.slack == Slack::Pair);
        if falls {
            for (&i, u) in state.active.iter().zip(&mut state.reduced) {
                let weight = self.cloud.weight[i as usize];
                *u = weight - ratio * (weight - *u);
            }
        } else if self.keep {
            let (pull, _) = state.sums(self.cloud);
            linalg::add_scaled(&mut state.z, ratio - 1.0, &pull);
        }
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

    /// Gives up rows where there are many.
    fn give_up_rows(&mut self, gap: f64) -> Result<()> {
        let (many, part) = if self.keep { (MANY_ON_PATH, PARTS.1) } else { (MANY, PARTS.0) };
        if self.state.rows.len() <= many {
            return Ok(());
        }
        self.pruned_at = gap;
        self.prune(part)?;
        if self.keep {
            self.prune_free(None)?;
        }
        self.certify()
    }

    /// Iterates until the certified gap is at most `until`.
    pub(super) fn run(&mut self, until: f64, iterations: &mut usize, observer: &mut dyn Observer) -> Result<Status> {
        let (mut short, mut late) = (0, 0);
        loop {
            self.certify()?;
            let gap = relative_gap(self.best.objective, self.proof.bound.value);
            let at = Progress {
                iteration: *iterations,
                primal: Some(self.best.objective),
                dual: Some(self.proof.bound.value),
                gap: Some(gap),
                working_set: Some(self.state.rows.len()),
                ..Progress::default()
            };
            if self.offered {
                let best = &self.best.factor;
                let m = || vec![linalg::product_transposed(best, best)];
                observer.keep(PART, &mut || Kept::new("", m()));
            }
            let halt = observer.progress(&at).break_value();
            if gap <= WAYPOINT && self.keep && self.waypoint.is_none() {
                self.waypoint = Some(Box::new(self.clone()));
            }
            let enough = until.min(FINE) * self.best.objective;
            late = if self.state.complementarity() < enough { late + 1 } else { 0 };
            let ended = Termination {
                gap: Some(gap),
                halt,
                stalled: short > PATIENCE || late > PATIENCE,
                exhausted: *iterations >= self.settings.stop.max_iterations,
                crowded: self.state.bytes() > self.settings.stop.memory,
            };
            if let Some(status) = ended.status(until) {
                return Ok(status);
            }
            if gap < PRUNE * self.pruned_at && gap > PRUNE_UNTIL {
                self.give_up_rows(gap)?;
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
}

/// Solves the problem on a cloud.
pub(crate) fn solve(cloud: &Cloud, settings: Settings<'_>, observer: &mut dyn Observer) -> Result<Solution> {
    let mut iterations = 0;
    let mut engine = begin(cloud, settings, &mut iterations, observer)?;
    engine.offered = true;
    let status = engine.run(settings.stop.tolerance, &mut iterations, observer)?;
    engine.finish(status, iterations)
}

/// Solves the problem, from a metric that may be near the optimum.
pub(crate) fn solve_near(
    cloud: &Cloud,
    settings: Settings<'_>,
    mut m: Matrix,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    /// The gap that a metric to start from is thought to have.
    const NEAR_GAP: f64 = 0.3;
    /// A metric to start from gets this part of its mean eigenvalue in all directions: well inside the cone, and still near.
    const INWARDS: f64 = 0.03;
    // Well inside the cone, and of about the right scale.
    let p = m.rows();
    let shift = INWARDS * (0..p).map(|k| m[(k, k)]).sum::<f64>() / p as f64;
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
    engine.offered = true;
    let status = engine.run(settings.stop.tolerance, &mut iterations, observer)?;
    engine.finish(status, iterations)
}

/// A first point. Where `c` is so large that a good part of all pairs stays inside the margin, it comes from a smaller
/// problem with few of the pairs that push and all that may bound the diameter.
pub(super) fn begin<'a>(
    cloud: &'a Cloud,
    settings: Settings<'a>,
    iterations: &mut usize,
    observer: &mut dyn Observer,
) -> Result<Engine<'a>> {
    /// A smaller problem comes first where `c` exceeds this part of the number of pairs that push: so many of its points
    /// push, so many bound the diameter, and it is solved to this gap.
    const CROWDED: f64 = 0.02;
    const FEW: usize = 64;
    const BOUNDING: usize = 1000;
    const ROUGH: f64 = 0.1;
    /// The range of gaps that its solution is thought to have in the whole problem.
    const LIKELY: (f64, f64) = (0.04, 0.6);
    let first = settings.anchor.map_or_else(|| Matrix::identity(cloud.x.cols()), |(_, reference)| reference.clone());
    let pairs = cloud.pair_totals().0;
    let plain = settings.slack == Slack::Pair && settings.diameter == Diameter::Maximum && settings.anchor.is_none();
    if cloud.len() < 3 * FEW || !plain || settings.c < CROWDED * pairs {
        return Engine::begin(cloud, settings, first);
    }
    let part = cloud.coarse(FEW, BOUNDING);
    let share = part.pair_totals().0 / pairs;
    let easier = Settings { c: settings.c * share, stop: settings.stop.at_gap(ROUGH), ..settings };
    let mut engine = Engine::begin(&part, easier, first)?;
    engine.run(ROUGH, iterations, observer)?;
    let expected = engine.proof.bound.value / share;
    Engine::begin_at(cloud, settings, engine.interior(), |objective| {
        (1.0 - expected / objective).clamp(LIKELY.0, LIKELY.1)
    })
}

/// The anchor's part of the objective.
pub(crate) fn bent(anchor: Option<(f64, &Matrix)>, m: &Matrix) -> f64 {
    let Some((gamma, reference)) = anchor else { return 0.0 };
    let mut apart = m.clone();
    linalg::add_scaled(&mut apart, -1.0, reference);
    0.5 * gamma * linalg::inner(&apart, &apart)
}
