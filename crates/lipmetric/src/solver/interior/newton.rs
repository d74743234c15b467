//! One primal-dual step: Nesterov-Todd direction with Mehrotra's corrector.

use super::assemble::Scaled;
use super::factor::{Factor, Parts};
use super::{Shape, State};
use crate::linalg::{self, Cholesky};
use crate::linalg::{pack_lower, packed_len, unpack_lower};
use crate::{Error, Matrix, Result, pairs::Cloud};

/// A step shorter than this asks for another direction.
const SHORT: f64 = 0.3;
/// The least complementarity that a step aims at, relative to the present one: the corrector is worth no more.
const LEAST_SIGMA: f64 = 1e-6;
/// The complementarity that a centring step aims at, at least, ...
const CENTRING: f64 = 0.6;
/// ... and how much further it must go to be taken.
const FURTHER: f64 = 1.5;
/// The part of the way to the boundary that a step leaves: a tenth of a short one, a hundredth (a tenth of what the second
/// leaves) of a full one, and never less than the last, so that no product becomes zero.
const KEPT: (f64, f64, f64) = (0.1, 0.9, 0.005);
/// Steps of iterative refinement of a careful direction.
const REFINED: usize = 2;

/// The point where `M` and `Z` look alike: `G^-1 M G^-T = G^T Z G = diag(v)`.
pub(super) struct Scaling {
    pub(super) g: Matrix,
    pub(super) v: Vec<f64>,
}

impl Scaling {
    pub(super) fn new(m: &Matrix, z: &Matrix) -> Result<Self> {
        let lower = factor_of(m, "the metric")?;
        // Eigenvalues of L^T Z L are those of M Z, all near mu: a well-conditioned eigenproblem.
        let eigen = linalg::symmetric_eigen(&linalg::congruence(z, &lower))?;
        let v: Vec<f64> = eigen.values.iter().map(|&t| t.max(f64::MIN_POSITIVE).sqrt()).collect();
        let mut g = linalg::product(&lower, &eigen.vectors);
        for r in 0..g.rows() {
            for (x, s) in g.row_mut(r).iter_mut().zip(&v) {
                *x /= s.sqrt();
            }
        }
        Ok(Self { g, v })
    }
}

/// The Cholesky factor of a matrix that must be positive definite.
pub(super) fn factor_of(a: &Matrix, what: &'static str) -> Result<Matrix> {
    Ok(Cholesky::of(a).ok_or_else(|| not_definite(what))?.lower())
}

pub(super) fn not_definite(what: &'static str) -> Error {
    Error::Numerical { place: "the interior-point solver", message: format!("{what} lost positive definiteness") }
}

/// A direction in all variables; `m` and `z` in scaled coordinates.
struct Direction {
    m: Matrix,
    z: Matrix,
    scalar: f64,
    slack: Vec<f64>,
    reduced: Vec<f64>,
    s: Vec<f64>,
    xi: Vec<f64>,
    lambda: Vec<f64>,
}

/// The Newton system of the current point, factored once for predictor and corrector.
struct System<'a> {
    scaled: Scaled<'a>,
    state: &'a State,
    factor: Factor,
    v: Vec<f64>,
    h: Vec<f64>,
    /// Steps of iterative refinement.
    refined: usize,
    /// The anchor's weight and `G^T G`.
    quadratic: Option<(f64, Matrix)>,
    /// Dual residuals: of the matrix equation (scaled), of the scalar's, of the instances'.
    residual: (Matrix, f64, Vec<f64>),
}

impl<'a> System<'a> {
    fn new(cloud: &Cloud, state: &'a State, shape: &'a Shape, scaling: &Scaling, careful: bool) -> Result<Self> {
        let scaled = Scaled::new(cloud, state, &scaling.g);
        let rows = &state.rows;
        let h: Vec<f64> = (0..rows.len())
            .map(|k| {
                let soft = if rows.cap[k].is_finite() { rows.xi[k] / (rows.cap[k] - rows.lambda[k]) } else { 0.0 };
                1.0 / (rows.s[k] / rows.lambda[k] + soft)
            })
            .collect();
        let slacks = state.active.len();
        let q = packed_len(state.m.rows());
        let n = slacks + q + 1;
        let quadratic =
            state.anchor.as_ref().map(|(gamma, _)| (*gamma, linalg::transposed_product(&scaling.g, &scaling.g)));
        let mut diagonal = vec![1.0; n];
        for k in 0..slacks {
            diagonal[k] = state.reduced[k] / state.slack[k];
        }
        if shape.scalar {
            diagonal[n - 1] = 0.0;
        }
        let matrix = Parts { scaled: &scaled, state, h: &h, diagonal: &diagonal, quadratic: quadratic.as_ref() };
        let careful = if careful { matrix.factor_carefully() } else { None };
        let refined = if careful.is_some() { REFINED } else { usize::from(slacks > 0) };
        let factor = match careful {
            Some(factor) => factor,
            None => matrix.factor(&cloud.class)?,
        };
        let residual = residual(cloud, state, shape, &scaled, scaling);
        Ok(Self { scaled, state, factor, v: scaling.v.clone(), h, quadratic, residual, refined })
    }

    /// The direction to complementarity `mu`, second-order terms taken from `before`.
    fn direction(&self, mu: f64, before: Option<&Direction>) -> Direction {
        let (state, rows) = (self.state, &self.state.rows);
        let p = state.m.rows();
        let q = packed_len(p);
        let slacks = state.active.len();
        let mut target = Matrix::zeros(p, p);
        if let Some(d) = before {
            let product = linalg::product(&d.m, &d.z);
            for r in 0..p {
                for c in 0..p {
                    target[(r, c)] = -0.5 * (product[(r, c)] + product[(c, r)]);
                }
            }
        }
        for k in 0..p {
            target[(k, k)] += mu - self.v[k] * self.v[k];
        }
        for r in 0..p {
            for c in 0..p {
                target[(r, c)] *= 2.0 / (self.v[r] + self.v[c]);
            }
        }
        let second = |f: fn(&Direction, usize) -> f64, k: usize| before.map_or(0.0, |d| f(d, k));
        let (mut c1, mut c2, mut pull) = (vec![0.0; rows.len()], vec![0.0; rows.len()], vec![0.0; rows.len()]);
        for k in 0..rows.len() {
            c1[k] = (mu - rows.lambda[k] * rows.s[k] - second(|d, k| d.lambda[k] * d.s[k], k)) / rows.lambda[k];
            if rows.cap[k].is_finite() {
                let u = rows.cap[k] - rows.lambda[k];
                c2[k] = (mu - u * rows.xi[k] + second(|d, k| d.lambda[k] * d.xi[k], k)) / u;
            }
            pull[k] = self.h[k] * (c1[k] - c2[k]);
        }
        let mut rhs = vec![0.0; slacks + q + 1];
        let mut matrix_part = target.clone();
        linalg::add_scaled(&mut matrix_part, -1.0, &self.residual.0);
        pack_lower(&matrix_part, &mut rhs[slacks..slacks + q]);
        rhs[slacks + q] = -self.residual.1;
        for (o, v) in rhs[slacks..].iter_mut().zip(self.scaled.combination(&pull)) {
            *o += v;
        }
        let mut c4 = vec![0.0; slacks];
        for k in 0..slacks {
            c4[k] = mu - state.slack[k] * state.reduced[k] - second(|d, k| d.slack[k] * d.reduced[k], k);
            rhs[k] = c4[k] / state.slack[k] - self.residual.2[k];
        }
        let instance = |k: usize| if slacks > 0 && rows.push[k] { rows.pair(k) } else { None };
        for k in 0..rows.len() {
            if let Some((i, j)) = instance(k) {
                rhs[state.place[i] as usize] += pull[k];
                rhs[state.place[j] as usize] += pull[k];
            }
        }
        let wanted = rhs.clone();
        self.factor.solve(&mut rhs);
        for _ in 0..self.refined {
            self.refine(&mut rhs, &wanted);
        }
        let m = unpack_lower(&rhs[slacks..slacks + q], p);
        let scalar = rhs[slacks + q];
        let slack = rhs[..slacks].to_vec();
        let mut z = target;
        linalg::add_scaled(&mut z, -1.0, &m);
        let mut dz = self.scaled.products(&m, scalar);
        let (mut lambda, mut s, mut xi) = (vec![0.0; rows.len()], vec![0.0; rows.len()], vec![0.0; rows.len()]);
        for k in 0..rows.len() {
            if let Some((i, j)) = instance(k) {
                dz[k] += slack[state.place[i] as usize] + slack[state.place[j] as usize];
            }
            lambda[k] = pull[k] - self.h[k] * dz[k];
            if rows.cap[k].is_finite() {
                s[k] = c1[k] - rows.s[k] / rows.lambda[k] * lambda[k];
                xi[k] = c2[k] + rows.xi[k] / (rows.cap[k] - rows.lambda[k]) * lambda[k];
            } else {
                s[k] = dz[k];
            }
        }
        let reduced = (0..slacks).map(|k| (c4[k] - state.reduced[k] * slack[k]) / state.slack[k]).collect();
        Direction { m, z, scalar, slack, reduced, s, xi, lambda }
    }

    /// One step of iterative refinement, with the matrix applied row by row: with a slack per row the factored matrix
    /// is badly scaled late in the iteration, and dual feasibility would suffer.
    fn refine(&self, solution: &mut [f64], wanted: &[f64]) {
        let (state, rows) = (self.state, &self.state.rows);
        let p = state.m.rows();
        let q = packed_len(p);
        let slacks = state.active.len();
        let place = |i: usize| state.place[i] as usize;
        let mut along = self.scaled.products(&unpack_lower(&solution[slacks..slacks + q], p), solution[slacks + q]);
        let pushing = |k: usize| if slacks > 0 && rows.push[k] { rows.pair(k) } else { None };
        for k in 0..rows.len() {
            if let Some((i, j)) = pushing(k) {
                along[k] += solution[place(i)] + solution[place(j)];
            }
            along[k] *= self.h[k];
        }
        let mut residual = wanted.to_vec();
        for (r, v) in residual[slacks..].iter_mut().zip(self.scaled.combination(&along)) {
            *r -= v;
        }
        for k in slacks..slacks + q {
            residual[k] -= solution[k];
        }
        if let Some((gamma, w)) = &self.quadratic {
            let moved = linalg::congruence(&unpack_lower(&solution[slacks..slacks + q], p), w);
            let mut bent = vec![0.0; q];
            pack_lower(&moved, &mut bent);
            residual[slacks..slacks + q].iter_mut().zip(&bent).for_each(|(r, b)| *r -= gamma * b);
        }
        for k in 0..slacks {
            residual[k] -= state.reduced[k] / state.slack[k] * solution[k];
        }
        for k in 0..rows.len() {
            if let Some((i, j)) = pushing(k) {
                residual[place(i)] -= along[k];
                residual[place(j)] -= along[k];
            }
        }
        self.factor.solve(&mut residual);
        solution.iter_mut().zip(&residual).for_each(|(x, r)| *x += r);
    }

    /// The longest primal and dual steps that stay in the cones.
    fn longest(&self, d: &Direction) -> Result<(f64, f64)> {
        let rows = &self.state.rows;
        let cone = |a: &Matrix| -> Result<f64> {
            let mut scaled = a.clone();
            for r in 0..a.rows() {
                for c in 0..a.cols() {
                    scaled[(r, c)] /= (self.v[r] * self.v[c]).sqrt();
                }
            }
            let least = linalg::symmetric_eigenvalues(&scaled)?.first().copied().unwrap_or(0.0);
            Ok(if least < 0.0 { -1.0 / least } else { f64::INFINITY })
        };
        let ratio = |value: &[f64], step: &[f64]| {
            value.iter().zip(step).fold(f64::INFINITY, |a, (&v, &d)| if d < 0.0 { a.min(-v / d) } else { a })
        };
        let mut primal = cone(&d.m)?.min(ratio(&rows.s, &d.s)).min(ratio(&self.state.slack, &d.slack));
        let mut dual = cone(&d.z)?.min(ratio(&rows.lambda, &d.lambda)).min(ratio(&self.state.reduced, &d.reduced));
        for k in 0..rows.len() {
            if rows.cap[k].is_finite() {
                if d.xi[k] < 0.0 {
                    primal = primal.min(-rows.xi[k] / d.xi[k]);
                }
                if d.lambda[k] > 0.0 {
                    dual = dual.min((rows.cap[k] - rows.lambda[k]) / d.lambda[k]);
                }
            }
        }
        Ok((primal, dual))
    }
}

/// Dual residuals: of the matrix equation (scaled), of the scalar's, of the instances'.
pub(super) fn residual(
    cloud: &Cloud,
    state: &State,
    shape: &Shape,
    scaled: &Scaled<'_>,
    scaling: &Scaling,
) -> (Matrix, f64, Vec<f64>) {
    let rows = &state.rows;
    let (slacks, q) = (state.active.len(), packed_len(state.m.rows()));
    let current = scaled.combination(&rows.lambda);
    let mut residual = unpack_lower(&current[..q], state.m.rows());
    let mut fixed = state.fixed.clone();
    linalg::add_scaled(&mut fixed, -1.0, &state.drawn);
    if let Some((gamma, reference)) = &state.anchor {
        linalg::add_scaled(&mut fixed, -gamma, &state.m);
        linalg::add_scaled(&mut fixed, *gamma, reference);
    }
    linalg::add_scaled(&mut residual, 1.0, &linalg::congruence(&fixed, &scaling.g));
    residual.as_mut_slice().iter_mut().for_each(|v| *v = -*v);
    for (k, &v) in scaling.v.iter().enumerate() {
        residual[(k, k)] -= v;
    }
    let scalar = if shape.scalar { shape.cost - current[q] } else { 0.0 };
    let mut instances: Vec<f64> =
        state.active.iter().zip(&state.reduced).map(|(&i, u)| cloud.weight[i as usize] - u).collect();
    for k in 0..rows.len() {
        if let (true, Some((i, j))) = (slacks > 0 && rows.push[k], rows.pair(k)) {
            instances[state.place[i] as usize] -= rows.lambda[k];
            instances[state.place[j] as usize] -= rows.lambda[k];
        }
    }
    (residual, scalar, instances)
}

impl State {
    /// The number of complementary products.
    pub(super) fn degree(&self) -> f64 {
        let soft = self.rows.cap.iter().filter(|c| c.is_finite()).count();
        (self.m.rows() + self.rows.len() + soft + self.active.len()) as f64
    }

    /// The sum of all complementary products: the gap of the reduced problem at a dual feasible point.
    pub(super) fn complementarity(&self) -> f64 {
        let rows = &self.rows;
        let soft: f64 = (0..rows.len())
            .filter(|&k| rows.cap[k].is_finite())
            .map(|k| (rows.cap[k] - rows.lambda[k]) * rows.xi[k])
            .sum();
        linalg::inner(&self.m, &self.z)
            + linalg::dot(&rows.lambda, &rows.s)
            + soft
            + linalg::dot(&self.slack, &self.reduced)
    }

    fn complementarity_after(&self, d: &Direction, v: &[f64], primal: f64, dual: f64) -> f64 {
        let rows = &self.rows;
        let mut total = primal * dual * linalg::inner(&d.m, &d.z);
        for (k, &s) in v.iter().enumerate() {
            total += s * s + s * (primal * d.m[(k, k)] + dual * d.z[(k, k)]);
        }
        for k in 0..rows.len() {
            total += (rows.lambda[k] + dual * d.lambda[k]) * (rows.s[k] + primal * d.s[k]);
            if rows.cap[k].is_finite() {
                total += (rows.cap[k] - rows.lambda[k] - dual * d.lambda[k]) * (rows.xi[k] + primal * d.xi[k]);
            }
        }
        for k in 0..self.slack.len() {
            total += (self.slack[k] + primal * d.slack[k]) * (self.reduced[k] + dual * d.reduced[k]);
        }
        total
    }

    /// Takes one step towards the optimum of the reduced problem; returns how far it went in the primal and the dual. It does
    /// not aim at a sum of complementary products below `floor`.
    pub(super) fn step(&mut self, cloud: &Cloud, shape: &Shape, floor: f64) -> Result<(f64, f64)> {
        self.step_with(cloud, shape, floor, false)
    }

    /// The same; `careful` takes a slower way to the direction that holds where rounding spoils the usual one.
    pub(super) fn step_with(&mut self, cloud: &Cloud, shape: &Shape, floor: f64, careful: bool) -> Result<(f64, f64)> {
        let scaling = Scaling::new(&self.m, &self.z)?;
        let (d, primal, dual) = {
            let system = System::new(cloud, self, shape, &scaling, careful)?;
            let mu = self.complementarity() / self.degree();
            let predictor = system.direction(0.0, None);
            let (primal, dual) = system.longest(&predictor)?;
            let (primal, dual) = (primal.min(1.0), dual.min(1.0));
            let after = self.complementarity_after(&predictor, &system.v, primal, dual) / self.degree();
            let least = (floor / self.degree() / mu).clamp(LEAST_SIGMA, 1.0);
            let sigma = (after / mu).max(0.0).powi(3).clamp(least, 1.0);
            let mut d = system.direction(sigma * mu, Some(&predictor));
            let (mut primal, mut dual) = system.longest(&d)?;
            if primal.min(dual) < SHORT {
                // Some products are far below the others: a centring step often goes much further.
                let centring = system.direction(sigma.max(CENTRING) * mu, None);
                let (p, q) = system.longest(&centring)?;
                if p.min(q) > FURTHER * primal.min(dual) {
                    (d, primal, dual) = (centring, p, q);
                }
            }
            let keep = 1.0 - (KEPT.0 * (1.0 - primal.min(dual).min(1.0) * KEPT.1)).max(KEPT.2);
            (d, (keep * primal).min(1.0), (keep * dual).min(1.0))
        };
        self.advance(&d, &scaling, primal, dual)?;
        Ok((primal, dual))
    }

    fn advance(&mut self, d: &Direction, scaling: &Scaling, primal: f64, dual: f64) -> Result<()> {
        // M + t G D G^T = G (V + t D) G^T, Z likewise with G^-T.
        linalg::add_scaled(&mut self.m, primal, &linalg::congruence_transposed(&d.m, &scaling.g));
        // G^-T = Z G V^-1.
        let mut inverse = linalg::product(&self.z, &scaling.g);
        for r in 0..inverse.rows() {
            for (x, v) in inverse.row_mut(r).iter_mut().zip(&scaling.v) {
                *x /= v;
            }
        }
        linalg::add_scaled(&mut self.z, dual, &linalg::congruence_transposed(&d.z, &inverse));
        self.scalar += primal * d.scalar;
        let rows = &mut self.rows;
        for k in 0..rows.len() {
            rows.s[k] += primal * d.s[k];
            rows.xi[k] += primal * d.xi[k];
            rows.lambda[k] += dual * d.lambda[k];
        }
        for k in 0..self.slack.len() {
            self.slack[k] += primal * d.slack[k];
            self.reduced[k] += dual * d.reduced[k];
        }
        let finite = self.m.first_non_finite().is_none() && self.z.first_non_finite().is_none();
        if finite { Ok(()) } else { Err(not_definite("the iterate")) }
    }
}

#[cfg(test)]
mod tests;
