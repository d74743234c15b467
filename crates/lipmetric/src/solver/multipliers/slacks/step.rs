//! The Newton step.

use super::super::scaling::{Scaling, add_gram, columns, factored};
use super::Slacked;
use super::couplings::Couplings;
use crate::linalg::{self, Cholesky, Eigen, pack, pack_square, packed_len, unpack};
use crate::solver::working_set::model::Model;
use crate::{Matrix, Result};
use rayon::prelude::*;

/// A step goes no further than this part of the way to where a row, a multiplier, `M` or `Z` is not positive any more.
const INSIDE: f64 = 0.95;
/// This part of the rows may be held back: a step need not stop where they would, ...
const HELD_BACK: f64 = 0.001;
/// ... they go no further than to this part of what they were.
const NEVER_BELOW: f64 = 0.05;
/// What solutions of the slacks' system leave of the right side: in a step, ...
const SOLVED: f64 = 1e-7;
/// ... in one that is not taken, ...
const GUESSED: f64 = 1e-3;
/// ... and in products with the Hessian.
const APPLIED: f64 = 1e-4;
/// Columns of the slacks' system that are solved side by side.
const WIDTH: usize = 16;
/// What the solution of these may leave of the right side: the error of the Hessian is of second order in it, ...
const ACCURACY: f64 = 0.1;
/// ... and the steps of conjugate gradients, at most.
const STEPS: usize = 40;
/// The metric's part of a step may leave this part of the roots of the products of `M` and `Z`, ...
const LEFT: f64 = 0.1;
/// ... or this part of the gradient, ...
const LEFT_AT_LEAST: f64 = 1e-4;
/// ... or what so many steps of conjugate gradients leave.
const REFINED: usize = 12;

/// The Newton system at a point, for every target.
pub(super) struct System {
    scaling: Scaling,
    /// `Z G V^-1/2`: times its transpose it is `Z`.
    dual: Matrix,
    /// The points and the rows in these coordinates.
    points: Matrix,
    model: Model,
    /// `lambda / s` of the pairs that push, `eta / s` of the long ones.
    weight: Vec<f64>,
    omega: Vec<f64>,
    /// What the slacks that rows have are short of those that they should have.
    short: Vec<f64>,
    short_pull: Vec<f64>,
    /// The mean of the long pairs, with these weights.
    centre: Matrix,
    couplings: Couplings,
    /// Of the metric alone; nothing where it is held.
    factor: Option<Cholesky>,
}

/// A direction.
pub(super) struct Step {
    metric: Matrix,
    dual: Matrix,
    t: f64,
    slack: Vec<f64>,
    nu: Vec<f64>,
    s: Vec<f64>,
    lambda: Vec<f64>,
    room: Vec<f64>,
    eta: Vec<f64>,
    /// The changes of `M` and `Z` over these.
    spectra: (Eigen, Eigen),
    /// How far the metric and the slacks may go, and the multipliers, in parts of the step.
    pub(super) reach: (f64, f64),
}

impl System {
    /// The system at a point; where the metric is `held` that of the slacks alone.
    pub(super) fn of(at: &Slacked<'_>, held: bool) -> Result<Self> {
        let scaling = Scaling::of(&at.root, &at.dual)?;
        let z = linalg::product_transposed(&at.dual, &at.dual);
        let dual = columns(&linalg::product(&z, &scaling.map), &scaling.values, |v| v.powf(-0.5));
        let points = linalg::product(&at.cloud.x, &scaling.map);
        let model = at.model.within(&scaling.map);
        let weight: Vec<f64> = at.lambda.iter().zip(&at.s).map(|(l, s)| l / s).collect();
        let omega: Vec<f64> = at.eta.iter().zip(&at.room).map(|(e, s)| e / s).collect();
        let lengths = at.lengths();
        let short = (0..at.s.len()).map(|k| at.margin_of(&lengths, k) - at.s[k]).collect();
        let short_pull = lengths.pull.iter().zip(&at.room).map(|(r, s)| at.t - r - s).collect();
        let couplings = at.couplings(&weight);
        let total: f64 = omega.iter().sum();
        let mut centre = model.pull_sum(&points, &omega);
        centre.as_mut_slice().iter_mut().for_each(|v| *v /= total);
        let factor = None;
        let mut system =
            Self { scaling, dual, points, model, weight, omega, short, short_pull, centre, couplings, factor };
        if !held {
            system.factor = Some(system.factored()?);
        }
        Ok(system)
    }

    /// The coordinates of the outer product of a pair.
    fn feature(&self, (i, j): (u32, u32), difference: &mut [f64], f: &mut [f64]) {
        let (a, b) = (self.points.row(i as usize), self.points.row(j as usize));
        difference.iter_mut().zip(a.iter().zip(b)).for_each(|(d, (a, b))| *d = a - b);
        pack_square(difference, f);
    }

    /// The Hessian of the metric where slacks and `t` follow it, factored.
    fn factored(&self) -> Result<Cholesky> {
        let p = self.scaling.values.len();
        let q = packed_len(p);
        let mut h = Matrix::zeros(q, q);
        let mut difference = vec![0.0; p];
        let push = &self.model.push;
        add_gram(&mut h, push.len(), |k, f| {
            self.feature((push[k].i, push[k].j), &mut difference, f);
            let t = self.weight[k].sqrt();
            f.iter_mut().for_each(|v| *v *= t);
        });
        let centre = pack(&self.centre);
        let pull = &self.model.pull;
        add_gram(&mut h, pull.len() + 1, |k, f| {
            match pull.get(k) {
                Some(pair) => self.feature(*pair, &mut difference, f),
                None => f.copy_from_slice(&pack(&self.model.mean)),
            }
            let t = self.omega[k].sqrt();
            f.iter_mut().zip(&centre).for_each(|(v, c)| *v = t * (*v - c));
        });
        let less = self.followed();
        for a in 0..q {
            for b in 0..=a {
                h[(b, a)] -= 0.5 * (less[(a, b)] + less[(b, a)]);
            }
        }
        factored(h, 1.0)
    }

    /// `C^T K^-1 C`, from below, with `C = B^T D F`: what the slacks take off by following the metric.
    fn followed(&self) -> Matrix {
        let (n, p) = (self.points.rows(), self.scaling.values.len());
        let q = packed_len(p);
        let mut c = Matrix::zeros(n, q);
        let (mut difference, mut f) = (vec![0.0; p], vec![0.0; q]);
        for (row, t) in self.model.push.iter().zip(&self.weight) {
            self.feature((row.i, row.j), &mut difference, &mut f);
            for i in [row.i, row.j] {
                c.row_mut(i as usize).iter_mut().zip(&f).for_each(|(c, f)| *c += t * f);
            }
        }
        let chunks = q.div_ceil(WIDTH);
        let solve = |k: usize| {
            let own = k * WIDTH..q.min((k + 1) * WIDTH);
            let mut right = vec![[0.0; WIDTH]; n];
            for (i, right) in right.iter_mut().enumerate() {
                right[..own.len()].copy_from_slice(&c.row(i)[own.clone()]);
            }
            self.couplings.solve(right, ACCURACY, STEPS)
        };
        let solved: Vec<_> = (0..chunks).into_par_iter().map(solve).collect();
        // With X near K^-1 C and R = C - K X: `C^T X + X^T R` is below `C^T K^-1 C`, and as near to it as the square of R.
        let mut out = Matrix::zeros(q, q);
        for (b, (x, r)) in solved.iter().enumerate() {
            let mut block = vec![0.0; q * WIDTH];
            linalg::gemm_tn_add(&mut block, c.as_slice(), x.as_flattened(), q, WIDTH, n);
            for (a, (other, _)) in solved.iter().enumerate() {
                let mut tile = vec![0.0; WIDTH * WIDTH];
                linalg::gemm_tn_add(&mut tile, other.as_flattened(), r.as_flattened(), WIDTH, WIDTH, n);
                let own = a * WIDTH * WIDTH..(q * WIDTH).min((a + 1) * WIDTH * WIDTH);
                block[own].iter_mut().zip(&tile).for_each(|(v, t)| *v += t);
            }
            for row in 0..q {
                for (k, column) in (b * WIDTH..q.min((b + 1) * WIDTH)).enumerate() {
                    out[(row, column)] = block[row * WIDTH + k];
                }
            }
        }
        out
    }

    /// Values of the pairs that push, times their weights, at their rows.
    fn gathered(&self, values: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut out = vec![0.0; self.points.rows()];
        for (k, row) in self.model.push.iter().enumerate() {
            let v = values(k);
            out[row.i as usize] += v;
            out[row.j as usize] += v;
        }
        out
    }

    /// `K^-1 C D`.
    fn follow(&self, seen: &[f64], accuracy: f64) -> Vec<f64> {
        self.couplings.solved(&self.gathered(|k| self.weight[k] * seen[k]), accuracy)
    }

    /// The direction to where all products of a row and its multiplier are `mu`, corrected by what an earlier one says of their change.
    pub(super) fn step(&self, at: &Slacked<'_>, mu: f64, before: Option<&Step>) -> Result<Step> {
        let p = self.scaling.values.len();
        let values = &self.scaling.values;
        let less = |of: Option<(&[f64], &[f64])>, k: usize| of.map_or(0.0, |(a, b)| a[k] * b[k]);
        let (push, slacks) = (before.map(|b| (&b.s[..], &b.lambda[..])), before.map(|b| (&b.slack[..], &b.nu[..])));
        let pull = before.map(|b| (&b.room[..], &b.eta[..]));
        let each: Vec<f64> =
            (0..at.s.len()).map(|k| (mu - less(push, k)) / at.s[k] - self.weight[k] * self.short[k]).collect();
        let lift: Vec<f64> = (0..at.slack.len()).map(|i| (mu - less(slacks, i)) / at.slack[i]).collect();
        let far: Vec<f64> = (0..at.room.len())
            .map(|k| (mu - less(pull, k)) / at.room[k] - self.omega[k] * self.short_pull[k])
            .collect();

        let mut gradient = self.gathered(|k| each[k]);
        for (i, g) in gradient.iter_mut().enumerate() {
            *g = if at.model.weight[i] > 0.0 { *g + lift[i] - at.model.weight[i] } else { 0.0 };
        }
        // What only tells how far a step will lead need not be exact.
        let accuracy = if mu > 0.0 { SOLVED } else { GUESSED };
        let first = self.couplings.solved(&gradient, accuracy);

        let mut target = Matrix::zeros(p, p);
        (0..p).for_each(|a| target[(a, a)] = mu - values[a] * values[a]);
        if let Some(b) = before {
            let both = linalg::product(&b.metric, &b.dual);
            linalg::add_scaled(&mut target, -0.5, &both);
            linalg::add_scaled(&mut target, -0.5, &both.transpose());
        }
        for a in 0..p {
            for b in 0..p {
                target[(a, b)] *= 2.0 / (values[a] + values[b]);
            }
        }
        let excess = far.iter().sum::<f64>() - at.settings.c;
        let metric = self.metric(&target, (&each, &far, excess), &first, mu);
        let mut dual = target;
        linalg::add_scaled(&mut dual, -1.0, &metric);

        let lengths = self.model.lengths(&self.points, &metric);
        let mut slack = first;
        if self.factor.is_some() {
            slack.iter_mut().zip(self.follow(&lengths.push, accuracy)).for_each(|(s, f)| *s -= f);
        }
        let moved: f64 = self.omega.iter().zip(&lengths.pull).map(|(w, r)| w * r).sum();
        let held = self.factor.is_none();
        let t = if held { 0.0 } else { (excess + moved) / self.omega.iter().sum::<f64>() };
        let s: Vec<f64> = (0..at.s.len()).map(|k| lengths.push[k] + at.model.lift(k, &slack) + self.short[k]).collect();
        let lambda = (0..s.len()).map(|k| (mu - less(push, k)) / at.s[k] - at.lambda[k] - self.weight[k] * s[k]);
        let nu = (0..slack.len()).map(|i| lift[i] - at.nu[i] - at.nu[i] / at.slack[i] * slack[i]);
        let room: Vec<f64> = lengths.pull.iter().zip(&self.short_pull).map(|(r, short)| t - r + short).collect();
        let eta = (0..room.len()).map(|k| (mu - less(pull, k)) / at.room[k] - at.eta[k] - self.omega[k] * room[k]);
        let (lambda, nu, eta) = (lambda.collect(), nu.collect(), eta.collect());
        let step =
            Step { metric, dual, t, slack, nu, s, lambda, room, eta, spectra: (empty(), empty()), reach: (1.0, 1.0) };
        self.measured(at, step)
    }

    /// The metric's part of a direction.
    fn metric(&self, target: &Matrix, (each, far, excess): (&[f64], &[f64], f64), first: &[f64], mu: f64) -> Matrix {
        let p = target.rows();
        let Some(factor) = &self.factor else { return Matrix::zeros(p, p) };
        let mut right = target.clone();
        (0..p).for_each(|a| right[(a, a)] += self.scaling.values[a]);
        let along: Vec<f64> =
            each.iter().enumerate().map(|(k, e)| e - self.weight[k] * self.model.lift(k, first)).collect();
        linalg::add_scaled(&mut right, 1.0, &self.model.push_sum(&self.points, &along));
        linalg::add_scaled(&mut right, -1.0, &self.model.pull_sum(&self.points, far));
        linalg::add_scaled(&mut right, excess, &self.centre);
        if mu > 0.0 {
            return self.refined(factor, right, LEFT * mu.sqrt());
        }
        let mut packed = pack(&right);
        factor.solve(&mut packed);
        unpack(&packed, p)
    }

    /// `H^-1 B` by conjugate gradients, which the factor, of nearly the same matrix, leads, until so much of `B` is left.
    fn refined(&self, factor: &Cholesky, right: Matrix, enough: f64) -> Matrix {
        let p = right.rows();
        let better = |r: &Matrix| {
            let mut packed = pack(r);
            factor.solve(&mut packed);
            unpack(&packed, p)
        };
        let mut x = Matrix::zeros(p, p);
        let mut residual = right;
        let enough = enough.max(LEFT_AT_LEAST * linalg::inner(&residual, &residual).sqrt());
        let mut search = better(&residual);
        let mut product = linalg::inner(&residual, &search);
        for _ in 0..REFINED {
            let image = self.times(&search);
            let curvature = linalg::inner(&search, &image);
            if !(curvature > 0.0 && product > 0.0) {
                break;
            }
            let t = product / curvature;
            linalg::add_scaled(&mut x, t, &search);
            linalg::add_scaled(&mut residual, -t, &image);
            if linalg::inner(&residual, &residual).sqrt() <= enough {
                break;
            }
            let next = better(&residual);
            let follows = linalg::inner(&residual, &next);
            let ratio = follows / product;
            product = follows;
            search.as_mut_slice().iter_mut().zip(next.as_slice()).for_each(|(s, n)| *s = n + ratio * *s);
        }
        x
    }

    /// `H D`, to many digits.
    fn times(&self, d: &Matrix) -> Matrix {
        let lengths = self.model.lengths(&self.points, d);
        let follow = self.follow(&lengths.push, APPLIED);
        let seen: Vec<f64> =
            (0..lengths.push.len()).map(|k| self.weight[k] * (lengths.push[k] - self.model.lift(k, &follow))).collect();
        let mut out = d.clone();
        linalg::add_scaled(&mut out, 1.0, &self.model.push_sum(&self.points, &seen));
        let far: Vec<f64> = lengths.pull.iter().zip(&self.omega).map(|(r, w)| r * w).collect();
        linalg::add_scaled(&mut out, 1.0, &self.model.pull_sum(&self.points, &far));
        linalg::add_scaled(&mut out, -far.iter().sum::<f64>(), &self.centre);
        out
    }

    /// How far a direction may go.
    fn measured(&self, at: &Slacked<'_>, step: Step) -> Result<Step> {
        let (p, values) = (self.scaling.values.len(), &self.scaling.values);
        let over = |of: &Matrix| {
            let mut out = of.clone();
            for a in 0..p {
                for b in 0..p {
                    out[(a, b)] /= (values[a] * values[b]).sqrt();
                }
            }
            linalg::symmetrise(&mut out);
            linalg::symmetric_eigen(&out)
        };
        let held = self.factor.is_none();
        let spectra = (over(&step.metric)?, over(&step.dual)?);
        let active = |i: usize| at.model.weight[i] > 0.0;
        let least = |of: &[f64], by: &[f64]| of.iter().zip(by).fold(0.0f64, |m, (v, d)| m.min(d / v));
        let most = |of: &[f64], by: &[f64], slack: &[f64], slacks: &[f64]| {
            let rows = (0..slack.len()).filter(|i| active(*i)).map(|i| slacks[i] / slack[i]);
            let mut parts: Vec<f64> = of.iter().zip(by).map(|(v, d)| d / v).chain(rows).collect();
            let at = ((parts.len() as f64 * HELD_BACK) as usize).min(parts.len() - 1);
            parts.select_nth_unstable_by(at, f64::total_cmp).1.min(0.0)
        };
        let mut primal = most(&at.s, &step.s, &at.slack, &step.slack);
        let mut dual = most(&at.lambda, &step.lambda, &at.nu, &step.nu);
        if !held {
            primal = primal.min(least(&at.room, &step.room)).min(spectra.0.values.first().copied().unwrap_or(0.0));
            dual = dual.min(least(&at.eta, &step.eta)).min(spectra.1.values.first().copied().unwrap_or(0.0));
        }
        let reach = |least: f64| if least < 0.0 { (INSIDE / -least).min(1.0) } else { 1.0 };
        Ok(Step { spectra, reach: (reach(primal), reach(dual)), ..step })
    }

    /// The sum of all products of a row and its multiplier after a direction, as far as it may go.
    pub(super) fn products_after(&self, at: &Slacked<'_>, step: &Step) -> f64 {
        let (a, b) = step.reach;
        let sum = |x: &[f64], dx: &[f64], y: &[f64], dy: &[f64]| {
            (0..x.len()).map(|k| (x[k] + a * dx[k]) * (y[k] + b * dy[k])).sum::<f64>()
        };
        let slacks = (0..at.slack.len()).filter(|i| at.model.weight[*i] > 0.0);
        let slacks: f64 = slacks.map(|i| (at.slack[i] + a * step.slack[i]) * (at.nu[i] + b * step.nu[i])).sum();
        let mut out = sum(&at.s, &step.s, &at.lambda, &step.lambda) + slacks;
        if self.factor.is_some() {
            out += sum(&at.room, &step.room, &at.eta, &step.eta);
            let values = &self.scaling.values;
            out += values
                .iter()
                .enumerate()
                .map(|(k, v)| v * (v + a * step.metric[(k, k)] + b * step.dual[(k, k)]))
                .sum::<f64>();
            out += a * b * linalg::inner(&step.metric, &step.dual);
        }
        out
    }

    /// Goes along a direction, as far as it may go.
    pub(super) fn advance(&self, at: &mut Slacked<'_>, step: &Step) {
        let (a, b) = step.reach;
        let moved = |v: f64, t: f64, d: f64| (v + t * d).max(NEVER_BELOW * v);
        let add = |of: &mut [f64], t: f64, by: &[f64]| of.iter_mut().zip(by).for_each(|(v, d)| *v = moved(*v, t, *d));
        add(&mut at.s, a, &step.s);
        add(&mut at.lambda, b, &step.lambda);
        for i in (0..at.slack.len()).filter(|i| at.model.weight[*i] > 0.0) {
            at.slack[i] = moved(at.slack[i], a, step.slack[i]);
            at.nu[i] = moved(at.nu[i], b, step.nu[i]);
        }
        if self.factor.is_none() {
            return;
        }
        add(&mut at.room, a, &step.room);
        add(&mut at.eta, b, &step.eta);
        at.t += a * step.t;
        let stretched =
            |eigen: &Eigen, t: f64| columns(&eigen.vectors, &eigen.values, |d| (1.0 + t * d).max(0.0).sqrt());
        let root = columns(&self.scaling.map, &self.scaling.values, f64::sqrt);
        at.root = linalg::product(&root, &stretched(&step.spectra.0, a));
        at.dual = linalg::product(&self.dual, &stretched(&step.spectra.1, b));
    }
}

fn empty() -> Eigen {
    Eigen { values: Vec::new(), vectors: Matrix::zeros(0, 0) }
}
