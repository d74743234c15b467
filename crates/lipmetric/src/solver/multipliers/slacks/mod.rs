//! Many rows with a slack each: a primal-dual interior-point method on the pairs that are nearly tight.
//!
//! Unknowns are `M`, the diameter `t` and the slacks `xi`. A pair of different label that is nearly tight has a row
//! `rho + xi_i + xi_j - 2 = s > 0` with a multiplier `lambda`, a long pair `t - rho = s > 0` with `eta`, a slack `xi > 0` with what its
//! row's weight has left, `nu = w - sum lambda`. On the central path all products of a row and its multiplier are `mu`, and `M Z = mu`.
//! In a Newton step the slacks, as many as there are points, are eliminated by conjugate gradients (`couplings`): what is left has the
//! size of `M`. Between passes over all pairs the rows stay. A pass finds of each point its tightest pairs, and tells what the metric is
//! worth; the multipliers prove a bound whichever pairs have a row.
//!
//! `c_max` is sought by the same method: `c` rises to the largest `(F(0) - loss) / diameter` so far, as in `working_set/climb`. The
//! multipliers of the diameter rise with it, which leaves them feasible, so that the method just goes on.
//!
//! | file | what it does |
//! |---|---|
//! | `step` | the Newton step |
//! | `couplings` | the slacks in it |
//! | `tightest` | the pass over all pairs |

mod couplings;
mod step;
mod tightest;

pub(crate) use tightest::TightestMargins;

use super::levels::Ended;
use crate::linalg::{self, packed_len};
use crate::pairs::pass::{Beyond, Long, Query, some_long};
use crate::pairs::{Cloud, Compact, Embedding};
use crate::problem::{
    Bound, Certificate, Multipliers, Slack, SupportPair, certify, mean_pair, relative_gap, value_at_zero,
};
use crate::solver::working_set::model::{Lengths, Model, Push};
use crate::solver::working_set::rows::within_loads;
use crate::solver::working_set::{Gain, LEAST, PART, Settings, filled, first_factor, least_ratio};
use crate::solver::{Ceilinged, Halt, Kept, Observer, Progress, Solution, Status, Termination};
use crate::{Matrix, Metric, Result};
use couplings::Couplings;
use std::ops::ControlFlow;
use step::System;
use tightest::{Tightest, tightest};

/// Up to so many coordinates.
const COORDINATES: usize = 36;
/// Of more points than this: fewer are better off with a row for each pair that pushes.
const POINTS: usize = 1500;
/// The first `mu` costs this part of the first objective.
const FIRST: f64 = 1.0;
/// The slack of a point that only bounds the diameter: no margin is wider.
const NEVER: f64 = 4.0;
/// Slacks begin by so much above what the first metric needs.
const INWARD: f64 = 0.5;
/// The part of each row's weight that is shared out among its pairs at first.
const SHARED: f64 = 0.5;
/// Pairs within this margin have a row at first, ...
const MARGIN: f64 = 3.0;
/// ... and later as many as this for each point, within a margin ...
const ROWS_PER_POINT: usize = 8;
/// ... that grows by this factor where there are fewer, ...
const WIDER: f64 = 1.5;
/// ... and stays between these.
const NARROWEST: f64 = 2e-3;
/// See [`NARROWEST`].
const WIDEST: f64 = 2.0;
/// A row that is no longer among these is given up where its multiplier is below this part of what its rows weigh.
const UNUSED: f64 = 3e-3;
/// A new row's multiplier is at most this part of what its rows weigh.
const NEW: f64 = 0.05;
/// Steps of the slacks alone, at most.
const LED: usize = 25;
/// Rounds of passes and such steps, at most, ...
const ROUNDS: usize = 6;
/// ... until no margin is violated by more than this.
const ROUGHLY: f64 = 0.1;
/// `mu` does not fall fast where the sum of the gradients costs more than so many times what all products do.
const LAGS: f64 = 3.0;
/// Steps that do not lower the gap before the method gives up.
const PATIENCE: usize = 40;
/// A gap that is not below this part of the least one is no progress.
const PROGRESS: f64 = 0.99;
/// Pairs longer than this part of the longest are looked for.
const LONG: f64 = 0.7;
/// How many of them, at most: half as many as `M` has elements, within these.
const LONG_PAIRS: (usize, usize) = (60, 600);
/// A long pair gets a row if its multiplier will be at least this part of the mean one; ...
const USED: f64 = 0.2;
/// ... all new ones together get at most this part of `c`.
const NEW_LONG: f64 = 0.05;
/// A long pair loses its row where its multiplier is below this part of the mean one ...
const IDLE: f64 = 0.02;
/// ... and the pair is shorter than the longest by this part.
const SHORT: f64 = 0.03;

/// What is known on all pairs of the best metric.
struct Best {
    objective: f64,
    root: Matrix,
    slack: Vec<f64>,
}

/// Where the method stands.
struct Slacked<'a> {
    cloud: &'a Cloud,
    settings: Settings,
    /// Whether `c` rises to `c_max`.
    climbs: bool,
    /// The objective of the zero metric.
    zero: f64,
    /// The rows: nearly tight pairs, long pairs.
    model: Model,
    /// `M = root root^T`, `Z = dual dual^T`.
    root: Matrix,
    dual: Matrix,
    t: f64,
    slack: Vec<f64>,
    nu: Vec<f64>,
    s: Vec<f64>,
    lambda: Vec<f64>,
    room: Vec<f64>,
    eta: Vec<f64>,
    /// Within which pairs get a row.
    margin: f64,
    /// Many points in a compact order, and how many passes there were.
    order: Option<Compact>,
    looks: usize,
    best: Best,
    /// Proved.
    bound: f64,
    /// What is known of `c_max`, where that is sought.
    below: f64,
    above: f64,
    certificate: Option<Certificate>,
    iterations: usize,
}

/// Whether this method suits the problem.
pub(crate) fn suits_slacked(cloud: &Cloud, settings: &Settings) -> bool {
    let full = settings.rank.is_none() && settings.slack == Slack::Instance;
    full && cloud.len() > POINTS && (1..=COORDINATES).contains(&cloud.x.cols()) && !cloud.x.is_twofold()
}

/// Solves the problem on a cloud of balanced points, from a first metric (as a factor) where there is one.
pub(crate) fn solve_slacked(
    cloud: &Cloud,
    settings: Settings,
    start: Option<&Matrix>,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    let first = first_factor(cloud, &settings, start)?;
    let mut at = Slacked::begin(cloud, settings, false, &first)?;
    let ended = at.descend(observer)?;
    let status = at.status(ended);
    Ok(at.solution(status))
}

/// `c_max`, as `working_set::largest_gain` has it: `c` rises to the largest `(F(0) - loss) / diameter` so far, and the method goes on.
pub(crate) fn slacked_gain(cloud: &Cloud, settings: Settings, observer: &mut dyn Observer) -> Result<Gain> {
    /// What the slacks of the first metric are below one, in the mean.
    const BELOW: f64 = 0.5;
    /// Of more points than this the metric is first that of a sample of so many, and of so many more that only bound the diameter.
    const SAMPLED: usize = 4000;
    const SAMPLE: usize = 1500;
    const FAR: usize = 500;
    let mean = mean_pair(cloud, settings.variant);
    let nothing = Model { weight: cloud.weight.clone(), ..Model::empty(1.0, mean.clone()) };
    // The bound of multipliers that are shared out evenly, most often within a factor of ten.
    let even = filled(cloud, &nothing, &[], &[]);
    let above = even.map_or(Ok(f64::INFINITY), |even| linalg::largest_generalised(&even, &mean))?;
    let mut first = if cloud.len() > SAMPLED {
        // The metric of a sample is a start from which few steps are left.
        // Its bounds are not those of all rows.
        let watched = &mut Ceilinged { inner: &mut *observer, bounds: &|_| (0.0, above) };
        let gain = slacked_gain(&cloud.coarse(SAMPLE, SAMPLE + FAR), settings, watched)?;
        if matches!(gain.status, Status::Interrupted | Status::TimeLimit) {
            return Ok(gain);
        }
        gain.factor
    } else {
        first_factor(cloud, &Settings { c: above, ..settings }, None)?
    };
    let mut at = Slacked::begin(cloud, Settings { c: above, ..settings }, true, &first)?;
    // Half of the distance to the nearest row of another class is what each slack may fall by.
    at.margin = f64::INFINITY;
    let found = at.pass();
    let gains = lifts(&found.pairs, cloud.len()).into_iter().map(|l| 1.0 - l);
    let gain: f64 = gains.zip(&cloud.weight).map(|(g, w)| g * w).sum();
    let (c, size) = (gain / found.longest, gain / cloud.weight.iter().sum::<f64>());
    if !(above.is_finite() && c.is_finite() && c > 0.0 && size > 0.0) {
        let factor = Matrix::zeros(cloud.x.cols(), 0);
        return Ok(Gain { below: 0.0, above, factor, status: Status::Stalled });
    }
    let t = (BELOW / size).sqrt();
    first.as_mut_slice().iter_mut().for_each(|v| *v *= t);
    let mut at = Slacked::begin(cloud, Settings { c, ..settings }, true, &first)?;
    at.above = above;
    let ended = at.descend(observer)?;
    let status = at.status(ended);
    Ok(Gain { below: at.below, above: at.above, factor: at.best.root, status })
}

impl<'a> Slacked<'a> {
    fn begin(cloud: &'a Cloud, settings: Settings, climbs: bool, factor: &Matrix) -> Result<Self> {
        let mean = mean_pair(cloud, settings.variant);
        let root = inside(factor)?;
        let active = |w: &f64| if *w > 0.0 { 0.0 } else { NEVER };
        let model = Model { weight: cloud.weight.clone(), ..Model::empty(settings.c, mean) };
        let best = Best { objective: f64::INFINITY, root: root.clone(), slack: Vec::new() };
        Ok(Self {
            cloud,
            settings,
            climbs,
            zero: value_at_zero(cloud, Slack::Instance),
            model,
            root,
            dual: Matrix::zeros(0, 0),
            t: 0.0,
            slack: cloud.weight.iter().map(active).collect(),
            nu: cloud.weight.clone(),
            s: Vec::new(),
            lambda: Vec::new(),
            room: Vec::new(),
            eta: Vec::new(),
            margin: NEVER,
            order: None,
            looks: 0,
            best,
            bound: 0.0,
            below: 0.0,
            above: f64::INFINITY,
            certificate: None,
            iterations: 0,
        })
    }

    fn active(&self, i: usize) -> bool {
        self.model.weight[i] > 0.0
    }

    fn lengths(&self) -> Lengths {
        self.model.lengths(&self.cloud.x, &linalg::product_transposed(&self.root, &self.root))
    }

    fn margin_of(&self, lengths: &Lengths, k: usize) -> f64 {
        lengths.push[k] + self.model.lift(k, &self.slack) - 2.0
    }

    fn query(&self) -> Query {
        let most = (packed_len(self.cloud.x.cols()) / 2).clamp(LONG_PAIRS.0, LONG_PAIRS.1);
        let among = self.settings.variant.bounding();
        Query { beyond: Beyond::Part(LONG), most, ..Query::plain(among) }
    }

    /// How many products of a row and its multiplier there are.
    fn rows(&self) -> f64 {
        let active = self.model.weight.iter().filter(|w| **w > 0.0).count();
        (self.s.len() + active + self.room.len() + self.cloud.x.cols()) as f64
    }

    /// Slacks that suit the first metric, and the pairs that are nearly tight with these.
    fn set_out(&mut self) {
        let found = self.pass();
        let lifts = lifts(&found.pairs, self.cloud.len());
        for i in (0..self.cloud.len()).filter(|i| self.model.weight[*i] > 0.0) {
            self.slack[i] += lifts[i] + INWARD;
        }
        self.margin = MARGIN;
        let found = self.pass();
        self.renew(&found, 0.0);
        let count = self.model.loads(&vec![1.0; self.s.len()]);
        let part = |p: u32| SHARED * self.model.weight[p as usize] / count[p as usize];
        self.lambda = self.model.push.iter().map(|r| part(r.i).min(part(r.j))).collect();
        let loads = self.model.loads(&self.lambda);
        self.nu = self.model.weight.iter().zip(&loads).map(|(w, l)| w - l).collect();
        self.t = found.longest;
    }

    /// A pass over all pairs at the present point.
    fn pass(&mut self) -> Tightest {
        self.looks += 1;
        if self.looks.is_power_of_two() {
            self.order = self.cloud.compacted(&self.root);
        }
        let among = self.settings.variant.bounding();
        let mut known = Vec::new();
        if let Some(order) = &self.order {
            known = some_long(&order.cloud, &Embedding::new(&order.cloud, &self.root), among);
            known.extend(&self.lengths().pull[..self.model.pull.len()]);
        }
        let query = self.query().knowing(known);
        tightest((self.cloud, self.order.as_ref()), &self.root, &self.slack, self.margin, &query)
    }

    /// Rows for what a pass has found; those that do not matter any more lose theirs.
    fn renew(&mut self, found: &Tightest, mu: f64) {
        let wanted = ROWS_PER_POINT * self.model.weight.iter().filter(|w| **w > 0.0).count();
        let lighter = |r: &Push| self.model.weight[r.i as usize].min(self.model.weight[r.j as usize]);
        let mut rows: Vec<(Push, f64, f64)> = Vec::with_capacity(found.pairs.len());
        for &(z, i, j) in &found.pairs {
            let row = Push { i, j, cap: 0.0 };
            let (s, lambda) = match self.model.push.binary_search_by_key(&(i, j), |r| (r.i, r.j)) {
                Ok(k) => (self.s[k], self.lambda[k]),
                Err(_) if mu > 0.0 => {
                    let s = z.max(mu / lighter(&row));
                    (s, (mu / s).min(NEW * lighter(&row)))
                }
                Err(_) => (z.max(INWARD), 0.0),
            };
            rows.push((row, s, lambda));
        }
        for (k, row) in self.model.push.iter().enumerate() {
            if self.lambda[k] > UNUSED * lighter(row) {
                rows.push((*row, self.s[k], self.lambda[k]));
            }
        }
        rows.sort_by_key(|r| (r.0.i, r.0.j));
        rows.dedup_by_key(|r| (r.0.i, r.0.j));
        self.margin = match found.pairs.get(wanted) {
            Some(pair) => pair.0.max(NARROWEST),
            None => (WIDER * self.margin).min(WIDEST),
        };
        self.model.push = rows.iter().map(|r| r.0).collect();
        self.s = rows.iter().map(|r| r.1).collect();
        self.lambda = rows.iter().map(|r| r.2).collect();
        if mu > 0.0 {
            self.renew_long(&found.far, mu);
        } else {
            self.model.pull = found.far.iter().map(|f| (f.1, f.2)).collect();
            self.model.pull.sort_unstable();
            self.model.pull.dedup();
        }
    }

    fn renew_long(&mut self, far: &[Long], mu: f64) {
        let c = self.eta.iter().sum::<f64>();
        let count = self.model.pulls() as f64;
        let (least, most) = (self.t - mu * count / (USED * c), SHORT * self.t);
        let pairs = self.model.pull.iter().copied().zip(self.room.iter().zip(&self.eta));
        let many = self.model.pull.len() > self.query().most;
        let mut rows: Vec<((u32, u32), f64, f64)> = pairs
            .filter(|(_, (room, eta))| !many || **eta >= IDLE * c / count || **room < most)
            .map(|(pair, (room, eta))| (pair, *room, *eta))
            .collect();
        let wanted = far.iter().take_while(|f| f.0 > least).count();
        let most = NEW_LONG * c / wanted.max(1) as f64;
        for f in &far[..wanted] {
            let room = (self.t - f.0).max(mu / (USED * c));
            rows.push(((f.1, f.2), room, (mu / room).min(most)));
        }
        rows.sort_by_key(|r| r.0);
        rows.dedup_by_key(|r| r.0);
        let last = (self.room.last().copied(), self.eta.last().copied());
        self.model.pull = rows.iter().map(|r| r.0).collect();
        self.room = rows.iter().map(|r| r.1).chain(last.0).collect();
        self.eta = rows.iter().map(|r| r.2).chain(last.1).collect();
    }

    /// The slacks' system.
    fn couplings(&self, weight: &[f64]) -> Couplings {
        let mut diagonal: Vec<f64> =
            (0..self.slack.len()).map(|i| if self.active(i) { self.nu[i] / self.slack[i] } else { 1.0 }).collect();
        for (row, d) in self.model.push.iter().zip(weight) {
            diagonal[row.i as usize] += d;
            diagonal[row.j as usize] += d;
        }
        let pairs = self.model.push.iter().zip(weight).map(|(r, d)| (r.i, r.j, *d)).collect();
        Couplings::new(diagonal, pairs)
    }

    /// The mean product of the pairs that push and of the slacks.
    fn mean_product(&self) -> f64 {
        let slacks = (0..self.slack.len()).filter(|i| self.active(*i));
        let count = slacks.clone().count() + self.s.len();
        let sum: f64 = slacks.map(|i| self.slack[i] * self.nu[i]).sum();
        (sum + self.s.iter().zip(&self.lambda).map(|(s, l)| s * l).sum::<f64>()) / count as f64
    }

    /// The sum of all products of a row and its multiplier.
    fn products(&self) -> f64 {
        let slacks = (0..self.slack.len()).filter(|i| self.active(*i));
        let both = linalg::transposed_product(&self.root, &self.dual);
        slacks.map(|i| self.slack[i] * self.nu[i]).sum::<f64>()
            + linalg::dot(&self.s, &self.lambda)
            + linalg::dot(&self.room, &self.eta)
            + linalg::inner(&both, &both)
    }

    /// Leads the slacks to where they belong under the metric, and sets out with the multipliers of the diameter and the cone from there.
    fn lead(&mut self, told: &mut dyn FnMut() -> ControlFlow<Halt>) -> Result<ControlFlow<Halt>> {
        self.set_out();
        let longest = self.lengths().pull.iter().fold(0.0f64, |m, r| m.max(*r));
        self.room = vec![1.0; self.model.pulls()];
        self.eta = vec![self.settings.c / self.room.len() as f64; self.room.len()];
        let mu = FIRST * self.objective(self.loss(&vec![0.0; self.slack.len()]), longest) / self.rows();
        self.dual = Matrix::identity(self.root.rows());
        for _ in 0..ROUNDS {
            if let ControlFlow::Break(halt) = self.settle(mu, told)? {
                return Ok(ControlFlow::Break(halt));
            }
            let found = self.pass();
            self.renew(&found, self.mean_product());
            if found.pairs.first().is_none_or(|f| f.0 >= -ROUGHLY) {
                break;
            }
        }
        if let ControlFlow::Break(halt) = self.settle(mu, told)? {
            return Ok(ControlFlow::Break(halt));
        }
        self.enter_cone()?;
        Ok(ControlFlow::Continue(()))
    }

    /// Steps of the slacks alone, until the products of their rows are about `mu`.
    fn settle(&mut self, mu: f64, told: &mut dyn FnMut() -> ControlFlow<Halt>) -> Result<ControlFlow<Halt>> {
        for _ in 0..LED {
            let now = self.mean_product();
            let target = (0.1 * now).max(mu);
            let system = System::of(self, true)?;
            let step = system.step(self, target, None)?;
            system.advance(self, &step);
            if let ControlFlow::Break(halt) = told() {
                return Ok(ControlFlow::Break(halt));
            }
            if target <= 1.5 * mu && step.reach.0.min(step.reach.1) > 0.9 {
                break;
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The diameter, its multipliers, and those of the pairs that push, so much smaller that `Z` is positive.
    fn enter_cone(&mut self) -> Result<()> {
        /// What the mean of all pairs gets of the diameter's multipliers.
        const EVEN: f64 = 0.5;
        /// The diameter exceeds the longest pair by this part.
        const LONGER: f64 = 0.05;
        /// `sum lambda A` is at most this part of `sum eta A`.
        const WITHIN: f64 = 0.7;
        let (lengths, c) = (self.lengths().pull, self.settings.c);
        self.t = (1.0 + LONGER) * lengths.iter().fold(0.0f64, |m, r| m.max(*r));
        self.room = lengths.iter().map(|r| self.t - r).collect();
        self.eta = self.room.iter().map(|room| 1.0 / room).collect();
        if let Some(last) = self.eta.last_mut() {
            *last = 0.0;
        }
        let total: f64 = self.eta.iter().sum();
        self.eta.iter_mut().for_each(|eta| *eta *= (1.0 - EVEN) * c / total);
        if let Some(last) = self.eta.last_mut() {
            *last = EVEN * c;
        }
        let x = &self.cloud.x;
        self.lambda = within_loads(&self.model, &self.lambda);
        let (mut push, mut pull) = (self.model.push_sum(x, &self.lambda), self.model.pull_sum(x, &self.eta));
        let most = (linalg::largest_generalised(&push, &pull)? / WITHIN).max(1.0);
        self.lambda.iter_mut().for_each(|l| *l /= most);
        push.as_mut_slice().iter_mut().for_each(|v| *v /= most);
        let loads = self.model.loads(&self.lambda);
        self.nu = self.model.weight.iter().zip(&loads).map(|(w, l)| (w - l).max(LEAST * w)).collect();
        linalg::add_scaled(&mut pull, -1.0, &push);
        let z = linalg::symmetric_eigen(&pull)?;
        let least = linalg::TINY + z.values.last().map_or(0.0, |v| 1e-12 * v);
        self.dual = z.scaled(0..z.values.len(), |v| v.max(least).sqrt());
        Ok(())
    }

    /// Where `c` rises: to nearly the ratio of the best metric. Multipliers of the diameter that are larger by a factor stay feasible.
    fn rise(&mut self) -> Result<()> {
        /// This part of the ratio, at which the size of the metric makes a difference yet; ...
        const NEARLY: f64 = 0.995;
        /// ... where the gap at this `c` is this part of the zero metric's objective, ...
        const SETTLED: f64 = 0.01;
        /// ... so much more than it: multipliers that prove that use up the weights of all rows.
        const BEYOND: f64 = 1.003;
        /// Very small changes only disturb.
        const GROWTH: f64 = 1.002;
        let settled = self.best.objective - self.bound <= SETTLED * self.zero;
        let (c, to) = (self.settings.c, if settled { BEYOND } else { NEARLY } * self.below);
        if to < GROWTH * c {
            return Ok(());
        }
        let mut z = linalg::product_transposed(&self.dual, &self.dual);
        linalg::add_scaled(&mut z, to / c - 1.0, &self.model.pull_sum(&self.cloud.x, &self.eta));
        let z = linalg::symmetric_eigen(&z)?;
        self.dual = z.scaled(0..z.values.len(), |v| v.max(linalg::TINY).sqrt());
        self.eta.iter_mut().for_each(|eta| *eta *= to / c);
        (self.settings.c, self.model.c) = (to, to);
        (self.best.objective, self.bound) = (f64::INFINITY, 0.0);
        Ok(())
    }

    /// What is left to be proved.
    fn gap(&self) -> f64 {
        match self.climbs {
            true if self.below > 0.0 => self.above / self.below - 1.0,
            true => f64::INFINITY,
            false => relative_gap(self.best.objective, self.bound),
        }
    }

    /// Goes on until the gap on all pairs is below the tolerance.
    fn descend(&mut self, observer: &mut dyn Observer) -> Result<Ended> {
        let nothing = self.progress();
        if let ControlFlow::Break(halt) = self.lead(&mut || observer.progress(&nothing))? {
            self.look()?;
            return Ok(Ended::Told(halt));
        }
        let (tolerance, mut idle, mut least) = (self.settings.stop.tolerance, 0, f64::INFINITY);
        self.look()?;
        loop {
            let gap = self.gap();
            if gap <= tolerance {
                return Ok(Ended::Reached);
            }
            idle = if gap < PROGRESS * least { 0 } else { idle + 1 };
            least = least.min(gap);
            if idle > PATIENCE {
                return Ok(Ended::Idle);
            }
            if !self.climbs {
                observer.keep(PART, &mut || Kept::new("", vec![self.best.root.clone()]));
            }
            if let ControlFlow::Break(halt) = observer.progress(&self.progress()) {
                return Ok(Ended::Told(halt));
            }
            if self.iterations >= self.settings.stop.max_iterations {
                return Ok(Ended::Iterations);
            }
            // A system that cannot be factored ends the method, not the fit.
            if self.step().is_err() {
                return Ok(Ended::Idle);
            }
            self.look()?;
            if self.climbs {
                self.rise()?;
            }
        }
    }

    /// A step towards the centre and the optimum (Mehrotra's).
    fn step(&mut self) -> Result<()> {
        self.iterations += 1;
        let system = System::of(self, false)?;
        let ahead = system.step(self, 0.0, None)?;
        let products = self.products();
        let mu = products / self.rows();
        let part = (system.products_after(self, &ahead) / products).clamp(0.0, 1.0).powi(3).max(1e-4);
        let longest = self.t * self.eta.iter().sum::<f64>();
        let lags = self.left() * longest > LAGS * products;
        let part = if lags { part.max(0.5) } else { part };
        let mut step = system.step(self, part * mu, Some(&ahead))?;
        if step.reach.0.min(step.reach.1) < 0.1 {
            let careful = system.step(self, 0.5 * mu, None)?;
            if careful.reach.0.min(careful.reach.1) > step.reach.0.min(step.reach.1) {
                step = careful;
            }
        }
        system.advance(self, &step);
        Ok(())
    }

    /// What the sum of the gradients is, as a part of those of the diameter.
    fn left(&self) -> f64 {
        let x = &self.cloud.x;
        let mut m = self.model.pull_sum(x, &self.eta);
        let size = linalg::inner(&m, &m).sqrt();
        linalg::add_scaled(&mut m, -1.0, &self.model.push_sum(x, &self.lambda));
        linalg::add_scaled(&mut m, -1.0, &linalg::product_transposed(&self.dual, &self.dual));
        linalg::inner(&m, &m).sqrt() / size
    }

    fn progress(&self) -> Progress {
        let known = !self.climbs && self.best.objective.is_finite();
        Progress {
            iteration: self.iterations,
            primal: known.then_some(self.best.objective),
            dual: known.then_some(self.bound),
            gap: known.then(|| relative_gap(self.best.objective, self.bound)),
            working_set: Some(self.s.len() + self.room.len()),
            looked_at: self.cloud.looked_at(),
            c_max: self.climbs.then_some((self.below, self.above)),
            ..Progress::default()
        }
    }

    /// What the multipliers prove.
    fn prove(&mut self) -> Result<()> {
        let lambda = within_loads(&self.model, &self.lambda);
        let (x, c) = (&self.cloud.x, self.settings.c);
        let (push, pull) = (self.model.push_sum(x, &lambda), self.model.feasible_pull(x, &self.eta));
        let multipliers = Multipliers { push: &push, total: lambda.iter().sum(), pull: &pull, most: 1.0 };
        let found = certify(&multipliers, &self.model.mean, c, &self.cloud.reach())?;
        if self.climbs {
            self.bound = self.bound.max(found.value);
            if let Some(push) = filled(self.cloud, &self.model, &lambda, &self.lengths().push) {
                self.above = self.above.min(least_ratio(&push, (&pull, &self.model.mean), c)?);
            }
            return Ok(());
        }
        if found.value > self.bound {
            self.bound = found.value;
            self.certificate = Some(self.proof(&lambda, &found)?);
        }
        Ok(())
    }

    fn loss(&self, lifts: &[f64]) -> f64 {
        let rows = self.slack.iter().zip(lifts).zip(&self.model.weight);
        rows.map(|((s, l), w)| (s + l) * w).sum()
    }

    fn objective(&self, loss: f64, longest: f64) -> f64 {
        self.settings.c * longest + loss
    }

    /// A pass over all pairs: what the metric is worth, and new rows.
    fn look(&mut self) -> Result<()> {
        let found = self.pass();
        let lifts = lifts(&found.pairs, self.cloud.len());
        let loss = self.loss(&lifts);
        let objective = self.objective(loss, found.longest);
        self.below = self.below.max((self.zero - loss) / found.longest.max(linalg::TINY));
        if objective < self.best.objective {
            let slack = self.slack.iter().zip(&lifts).map(|(s, l)| s + l).collect();
            self.best = Best { objective, root: self.root.clone(), slack };
        }
        if !self.eta.is_empty() {
            self.prove()?;
            self.renew(&found, self.mean_product());
        }
        Ok(())
    }

    /// The multipliers behind a bound, as a verifier wants them.
    fn proof(&self, lambda: &[f64], bound: &Bound) -> Result<Certificate> {
        let pushes = self.model.push.iter().zip(lambda).map(|(r, l)| (r.i, r.j, true, bound.scale * l));
        let pulls = self.model.pull.iter().zip(&self.eta).map(|(r, e)| (r.0, r.1, false, bound.mix.kept * e));
        let pairs = pushes.chain(pulls).filter(|p| p.3 > 0.0);
        let pairs = pairs.map(|(i, j, pushes, l)| SupportPair::new(i as usize, j as usize, pushes, l)).collect();
        let mean = bound.mix.kept * self.eta[self.model.pull.len()] + bound.mix.mean;
        // No pair shares a multiplier: what tells which ones would does not matter.
        let sides = Metric::new(Matrix::identity(self.cloud.x.cols()))?;
        Ok(Certificate { pairs, mean, ..Certificate::nothing(sides) })
    }

    fn status(&self, ended: Ended) -> Status {
        let over = Termination {
            gap: Some(self.gap()),
            halt: ended.halt(),
            stalled: ended == Ended::Idle,
            exhausted: matches!(ended, Ended::Iterations),
            ..Termination::default()
        };
        over.status(self.settings.stop.tolerance).unwrap_or(Status::Stalled)
    }

    fn solution(self, status: Status) -> Solution {
        Solution {
            factor: self.best.root.transpose(),
            objective: self.best.objective,
            bound: self.bound,
            slack: self.best.slack,
            status,
            iterations: self.iterations,
            certificate: self.certificate,
        }
    }
}

/// What has to be added to the slacks so that no margin is violated: half of the worst of each point.
fn lifts(pairs: &[Long], points: usize) -> Vec<f64> {
    let mut out = vec![0.0f64; points];
    for &(z, i, j) in pairs.iter().filter(|t| t.0 < 0.0) {
        for p in [i as usize, j as usize] {
            out[p] = out[p].max(-0.5 * z);
        }
    }
    out
}

/// A factor of full rank near a given one.
fn inside(factor: &Matrix) -> Result<Matrix> {
    /// The least eigenvalue, as a part of the largest.
    const LEAST_PART: f64 = 1e-3;
    let eigen = linalg::symmetric_eigen(&linalg::product_transposed(factor, factor))?;
    let top = eigen.values.last().copied().unwrap_or(0.0);
    let least = if top > 0.0 { LEAST_PART * top } else { 1.0 };
    Ok(eigen.scaled(0..eigen.values.len(), |v| v.max(least).sqrt()))
}

#[cfg(test)]
mod tests;
