//! ADMM in two blocks, which converges for every penalty: the metric against everything else.
//!
//! The lengths of the rows and the cone's copy of `M` are one block, separable given `M`; `M` alone is the other, a
//! least-squares problem whose matrix is factorised once for a set of rows (it only scales with the penalty). With
//! over-relaxation, and a penalty that keeps primal and dual residuals in balance.
//!
//! With a slack per row the slacks are in the metric's block, and copies of them, which are not negative and pay for it, in the
//! other one.

use crate::linalg::proximal::{Positive, hinge_multiplier, simplex_threshold};
use crate::linalg::{self, Cholesky};
use crate::linalg::{pack, pack_square, packed_len, unpack};
use crate::solver::Halt;
use crate::solver::working_set::links::Links;
use crate::solver::working_set::model::{Lengths, Model, State};
use crate::solver::working_set::{Inner, Penalty, Point, Task, Tick};
use crate::{Error, Matrix, Result};
use std::ops::ControlFlow;

/// Over-relaxation.
const RELAX: f64 = 1.6;

/// The two-block ADMM.
#[derive(Default)]
pub(crate) struct Practical {
    penalty: Option<Penalty>,
    system: Option<System>,
    /// Iterations done, and the one after which residuals are balanced next.
    count: usize,
    next: usize,
}

/// The metric's least-squares problem, factorised, for penalties whose first is one.
struct System {
    metric: Cholesky,
    /// The slacks, eliminated, where there are any.
    links: Option<Links>,
}

impl System {
    /// `A^T A` of the rows, weighted by the penalties, and the cone's identity.
    fn factorise(model: &Model, x: &Matrix, penalty: &Penalty) -> Result<Self> {
        /// Rows of the least-squares system at a time.
        const CHUNK: usize = 256;
        let q = packed_len(x.cols());
        let mut gram = vec![0.0; q * q];
        let pushes = model.push.iter().map(|r| (r.i, r.j, penalty.push * r.cap));
        let pulls = model.pull.iter().map(|r| (r.0, r.1, penalty.pull));
        let mut chunk = vec![0.0; CHUNK * q];
        let mut filled = 0;
        let mut difference = vec![0.0; x.cols()];
        for (i, j, sigma) in pushes.chain(pulls) {
            let t = sigma.sqrt().sqrt();
            let (a, b) = (x.row(i as usize), x.row(j as usize));
            difference.iter_mut().zip(a).zip(b).for_each(|((d, a), b)| *d = t * (a - b));
            pack_square(&difference, &mut chunk[filled * q..(filled + 1) * q]);
            filled += 1;
            if filled == CHUNK {
                linalg::gram_block_add(&mut gram, &chunk, filled, q, 0..q, 0..q);
                filled = 0;
            }
        }
        linalg::gram_block_add(&mut gram, &chunk, filled, q, 0..q, 0..q);
        let dense = model.sums.iter().map(|(a, cap)| (a, penalty.push * cap));
        for (a, sigma) in dense.chain(std::iter::once((&model.mean, penalty.pull))) {
            let f: Vec<f64> = pack(a).iter().map(|v| v * sigma.sqrt()).collect();
            linalg::gram_block_add(&mut gram, &f, 1, q, 0..q, 0..q);
        }
        (0..q).for_each(|k| gram[k * q + k] += penalty.cone);
        let failed = || Error::Numerical {
            place: "the ADMM's least-squares system",
            message: "it could not be factorised: the features may be of very different scales".to_owned(),
        };
        let mut links = None;
        if !model.weight.is_empty() {
            let pairs: Vec<(u32, u32, f64)> = model.push.iter().map(|r| (r.i, r.j, penalty.push * r.cap)).collect();
            let shift: Vec<f64> = model.weight.iter().map(|w| penalty.push * w).collect();
            let slacks = Links::new(&pairs, &vec![true; shift.len()], &shift).ok_or_else(failed)?;
            let mut matrix = Matrix::from_vec(q, q, gram)?;
            // One triangle of the sum is filled; what is taken from it is symmetric.
            slacks.subtract(&mut matrix, |k, f| {
                let (i, j, sigma) = pairs[k];
                let t = sigma.sqrt().sqrt();
                let (a, b) = (x.row(i as usize), x.row(j as usize));
                let d: Vec<f64> = a.iter().zip(b).map(|(a, b)| t * (a - b)).collect();
                pack_square(&d, f);
            });
            gram = matrix.into_vec();
            links = Some(slacks);
        }
        Ok(Self { metric: Cholesky::factor(gram, q).ok_or_else(failed)?, links })
    }
}

/// A point of the iteration: the state, and the other block's own lengths and its copy of the metric.
struct Iterate<'a> {
    model: &'a Model,
    x: &'a Matrix,
    penalty: Penalty,
    state: &'a mut State,
    own: Lengths,
    copy: Matrix,
    slacks: Slacks,
}

/// Copies of the slacks that are not negative, and the multipliers of being copies; empty with a slack per pair.
struct Slacks {
    copy: Vec<f64>,
    multiplier: Vec<f64>,
}

/// Squared residuals, weighted by the penalties.
#[derive(Debug, Clone, Copy, Default)]
struct Residuals {
    primal: f64,
    dual: f64,
}

impl Residuals {
    /// Adds what one element of the other block has: where the metric is, where the block goes, and where it was.
    fn add(&mut self, sigma: f64, metric: f64, new: f64, old: f64) {
        self.primal += sigma * (metric - new).powi(2);
        self.dual += sigma * (new - old).powi(2);
    }
}

impl Iterate<'_> {
    /// The metric: least squares against the other block, shifted by the multipliers.
    fn update_metric(&mut self, system: &System) {
        let Self { model, x, penalty, state, own, copy, slacks } = self;
        let lambda: Vec<f64> =
            (0..model.pushes()).map(|k| penalty.push * model.cap(k) * own.push[k] + state.lambda[k]).collect();
        let eta: Vec<f64> = own.pull.iter().zip(&state.eta).map(|(v, e)| penalty.pull * v - e).collect();
        let mut rhs = model.push_sum(x, &lambda);
        linalg::add_scaled(&mut rhs, 1.0, &model.pull_sum(x, &eta));
        linalg::add_scaled(&mut rhs, penalty.cone, copy);
        linalg::add_scaled(&mut rhs, 1.0, &state.z);
        // What the slacks' own equations ask for, and what the metric sees of it.
        let mut asked = model.loads(&lambda);
        for (k, a) in asked.iter_mut().enumerate() {
            *a = (*a - slacks.multiplier[k]) / penalty.push + model.weight[k] * slacks.copy[k];
        }
        if let Some(links) = &system.links {
            let seen = links.along(&links.solved(&asked));
            let roots = model.push.iter().map(|r| r.cap.sqrt());
            let seen: Vec<f64> = seen.iter().zip(roots).map(|(s, root)| penalty.push * root * s).collect();
            linalg::add_scaled(&mut rhs, -1.0, &model.push_sum(x, &seen));
        }
        let mut packed: Vec<f64> = pack(&rhs).iter().map(|v| v / penalty.push).collect();
        system.metric.solve(&mut packed);
        state.m = unpack(&packed, x.cols());
        if let Some(links) = &system.links {
            let lengths = model.lengths(x, &state.m).push;
            let values: Vec<f64> = lengths.iter().zip(&model.push).map(|(l, r)| r.cap.sqrt() * l).collect();
            asked.iter_mut().for_each(|a| *a = -*a);
            state.slack = links.step(&asked, &values);
        }
    }

    /// Everything else, from the over-relaxed lengths; the multipliers with it.
    fn update_rest(&mut self) -> Result<Residuals> {
        let mut residuals = Residuals::default();
        self.update_lengths(&mut residuals);
        self.update_slacks(&mut residuals);
        self.update_copy(&mut residuals)?;
        Ok(residuals)
    }

    fn update_lengths(&mut self, residuals: &mut Residuals) {
        let Self { model, x, penalty, state, own, .. } = self;
        let mut lengths = model.lengths(x, &state.m);
        lengths.push.iter_mut().enumerate().for_each(|(k, l)| *l += model.lift(k, &state.slack));
        let relaxed = relax(&lengths, own);
        for k in 0..model.pushes() {
            let sigma = penalty.push * model.cap(k);
            let next = hinge_multiplier(state.lambda[k] + sigma * (2.0 - relaxed.push[k]), model.cap(k));
            let length = relaxed.push[k] + (next - state.lambda[k]) / sigma;
            residuals.add(sigma, lengths.push[k], length, own.push[k]);
            (own.push[k], state.lambda[k]) = (length, next);
        }
        let y: Vec<f64> = state.eta.iter().zip(&relaxed.pull).map(|(e, r)| e + penalty.pull * r).collect();
        let t = simplex_threshold(y.iter().copied(), model.c);
        for k in 0..y.len() {
            let next = (y[k] - t).max(0.0);
            let length = relaxed.pull[k] - (next - state.eta[k]) / penalty.pull;
            residuals.add(penalty.pull, lengths.pull[k], length, own.pull[k]);
            (own.pull[k], state.eta[k]) = (length, next);
        }
    }

    /// The copies of the slacks: each is as small as its multiplier asks for, and not negative.
    fn update_slacks(&mut self, residuals: &mut Residuals) {
        let Self { model, penalty, state, slacks, .. } = self;
        for (k, (own, multiplier)) in slacks.copy.iter_mut().zip(&mut slacks.multiplier).enumerate() {
            let (w, slack) = (model.weight[k], state.slack[k]);
            let sigma = penalty.push * w;
            let relaxed = RELAX * slack + (1.0 - RELAX) * *own;
            let next = (relaxed + (*multiplier - w) / sigma).max(0.0);
            *multiplier += sigma * (relaxed - next);
            residuals.add(sigma, slack, next, *own);
            *own = next;
        }
    }

    fn update_copy(&mut self, residuals: &mut Residuals) -> Result<()> {
        let Self { penalty, state, copy, .. } = self;
        let mut mixed = state.m.clone();
        mixed.as_mut_slice().iter_mut().zip(copy.as_slice()).for_each(|(m, w)| *m = RELAX * *m + (1.0 - RELAX) * w);
        let mut shifted = state.z.clone();
        linalg::add_scaled(&mut shifted, -penalty.cone, &mixed);
        let next = Positive::part(&shifted)?;
        let mut positive = next.matrix.clone();
        linalg::add_scaled(&mut positive, -1.0, &shifted);
        positive.as_mut_slice().iter_mut().for_each(|v| *v /= penalty.cone);
        for ((w, new), m) in copy.as_slice().iter().zip(positive.as_slice()).zip(state.m.as_slice()) {
            residuals.add(penalty.cone, *m, *new, *w);
        }
        *copy = positive;
        state.z = next.matrix;
        Ok(())
    }
}

impl Practical {
    /// Brings the residuals into balance, now and then.
    fn balance(&mut self, penalty: &mut Penalty, residuals: Residuals) {
        /// Residuals are first balanced after so many iterations, ...
        const BALANCE: usize = 20;
        /// ... and then each time after this much longer: changes that become rare cannot spoil convergence.
        const LATER: f64 = 1.1;
        /// They are where one is this much larger than the other ...
        const RATIO: f64 = 3.0;
        /// ... by a factor on the penalties of this.
        const STEP: f64 = 2.0;
        if self.count < self.next.max(BALANCE) {
            return;
        }
        self.next = (LATER * self.count as f64) as usize + BALANCE;
        let ratio = (residuals.primal / residuals.dual.max(linalg::TINY)).sqrt();
        if ratio > RATIO {
            *penalty = penalty.times(STEP);
        } else if ratio < 1.0 / RATIO {
            *penalty = penalty.times(1.0 / STEP);
        }
    }
}

impl Inner for Practical {
    fn advance(&mut self, at: Point<'_>, task: &Task, tick: &mut Tick<'_>) -> Result<(usize, ControlFlow<Halt>)> {
        /// Iterations in one move.
        const ITERATIONS: usize = 100;
        /// A move ends where the residuals are below this part of the objective: rounding is all that is left.
        const SETTLED: f64 = 1e-12;
        let Point { model, x, state } = at;
        let penalty = *self.penalty.get_or_insert_with(|| Penalty::guess(model, x, &state.m));
        // The factor of the unscaled system: the common factor of all penalties is kept apart.
        let system = match self.system.take() {
            Some(system) if !task.renewed => system,
            _ => System::factorise(model, x, &penalty.times(1.0 / penalty.push))?,
        };
        let copy = linalg::product_transposed(&state.factor, &state.factor);
        let mut own = model.lengths(x, &copy);
        own.push.iter_mut().enumerate().for_each(|(k, l)| *l += model.lift(k, &state.slack));
        let loads = model.loads(&state.lambda);
        let multiplier = loads.iter().zip(&model.weight).map(|(l, w)| l.min(*w)).collect();
        let slacks = Slacks { copy: state.slack.clone(), multiplier };
        let mut at = Iterate { model, x, penalty, own, state, copy, slacks };
        let mut told = ControlFlow::Continue(());
        let mut done = 0;
        while done < ITERATIONS {
            at.update_metric(&system);
            let residuals = at.update_rest()?;
            done += 1;
            self.count += 1;
            told = tick();
            if told.is_break() || residuals.primal.sqrt() + residuals.dual.sqrt() <= SETTLED * task.size {
                break;
            }
            self.balance(&mut at.penalty, residuals);
        }
        self.penalty = Some(at.penalty);
        self.system = Some(system);
        at.state.factor = Positive::part(&at.copy)?.factor;
        at.state.slack = at.slacks.copy;
        Ok((done, told))
    }

    fn working_target(&self, coordinates: usize) -> usize {
        /// Pairs on either side of the kink that should have a row, per element of `M` ...
        const TARGET: usize = 4;
        /// ... and at least.
        const LEAST_TARGET: usize = 1000;
        (TARGET * coordinates).max(LEAST_TARGET)
    }
}

fn relax(lengths: &Lengths, own: &Lengths) -> Lengths {
    let mix = |new: &[f64], old: &[f64]| new.iter().zip(old).map(|(a, b)| RELAX * a + (1.0 - RELAX) * b).collect();
    Lengths { push: mix(&lengths.push, &own.push), pull: mix(&lengths.pull, &own.pull) }
}
