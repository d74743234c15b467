//! The Newton direction of the augmented Lagrangian.

use crate::linalg::{self, Cholesky, Eigen};
use crate::linalg::{pack, pack_square, packed_len, unpack};
use crate::solver::working_set::Penalty;
use crate::solver::working_set::model::{Lengths, Model, State};
use crate::{Error, Matrix, Result};

/// The largest system that is factorised.
const DIRECT: usize = 700;
/// Rows of features at a time.
const CHUNK: usize = 256;
/// What keeps directions that nothing sees from growing, relative to the cone's penalty.
const SHIFT: f64 = 1e-10;
const MAX_CONJUGATE: usize = 100;
/// Rows per unknown that conjugate gradients see at most: of more, an evenly spaced part stands for all.
const ROWS_PER_UNKNOWN: usize = 3;

/// Where the direction is wanted.
pub(super) struct System<'a> {
    pub(super) model: &'a Model,
    pub(super) x: &'a Matrix,
    pub(super) penalty: &'a Penalty,
    pub(super) proximal: f64,
    pub(super) lengths: &'a Lengths,
    pub(super) state: &'a State,
}

/// The rows that the Hessian sees, in the eigenbasis: differences of pairs, scaled by the fourth root of their weight, and
/// matrices, scaled by its square root.
struct Rows {
    differences: Matrix,
    matrices: Vec<Matrix>,
}

impl System<'_> {
    /// `-H^-1 gradient`.
    pub(super) fn direction(
        &self,
        lambda: &[f64],
        eta: &[f64],
        eigen: &Eigen,
        gradient: &Matrix,
        size: f64,
    ) -> Result<Matrix> {
        let push = self.push_rows(lambda, &eigen.vectors);
        self.solve(&push, eta, eigen, gradient, size)
    }

    /// The same where the hinges strictly between their bounds are given, with their weights in the Hessian.
    pub(super) fn direction_from(
        &self,
        pairs: &[(u32, u32, f64)],
        eta: &[f64],
        eigen: &Eigen,
        gradient: &Matrix,
        size: f64,
    ) -> Result<Matrix> {
        let push = Rows { differences: self.differences(pairs, &eigen.vectors), matrices: Vec::new() };
        self.solve(&push, eta, eigen, gradient, size)
    }

    fn solve(&self, push: &Rows, eta: &[f64], eigen: &Eigen, gradient: &Matrix, size: f64) -> Result<Matrix> {
        let p = gradient.rows();
        let v = &eigen.vectors;
        let rotated = linalg::congruence(gradient, v);
        let pull = self.pull_rows(eta, v);
        let diagonal = self.diagonal(&eigen.values);
        let inner = if packed_len(p) <= DIRECT {
            direct(push, &pull, &diagonal, &rotated)?
        } else {
            conjugate(push, &pull, &diagonal, &rotated, size)
        };
        Ok(linalg::congruence_transposed(&inner, v))
    }

    /// Hinges strictly between their bounds.
    fn push_rows(&self, lambda: &[f64], v: &Matrix) -> Rows {
        let model = self.model;
        let between = |k: usize| {
            let cap = model.cap(k);
            let y = self.state.lambda[k] + self.penalty.push * cap * (2.0 - self.lengths.push[k]);
            lambda[k] > 0.0 && y < cap
        };
        let mut own: Vec<(u32, u32, f64)> = (0..model.push.len())
            .filter(|&k| between(k))
            .map(|k| (model.push[k].i, model.push[k].j, self.penalty.push * model.push[k].cap))
            .collect();
        let q = packed_len(self.x.cols());
        let most = (ROWS_PER_UNKNOWN * q).max(4000);
        if q > DIRECT && own.len() > most {
            let ratio = own.len() as f64 / most as f64;
            own = (0..most)
                .map(|k| own[(k as f64 * ratio) as usize])
                .map(|(i, j, sigma)| (i, j, sigma * ratio))
                .collect();
        }
        let matrices = (0..model.sums.len()).filter(|k| between(model.push.len() + k)).map(|k| {
            let (a, cap) = &model.sums[k];
            scaled(linalg::congruence(a, v), (self.penalty.push * cap).sqrt())
        });
        Rows { differences: self.differences(&own, v), matrices: matrices.collect() }
    }

    /// Pairs that carry a part of the diameter's multiplier.
    fn pull_rows(&self, eta: &[f64], v: &Matrix) -> Rows {
        let model = self.model;
        let own: Vec<(u32, u32, f64)> = (0..model.pull.len())
            .filter(|&k| eta[k] > 0.0)
            .map(|k| (model.pull[k].0, model.pull[k].1, self.penalty.pull))
            .collect();
        let mean =
            (eta[model.pull.len()] > 0.0).then(|| scaled(linalg::congruence(&model.mean, v), self.penalty.pull.sqrt()));
        Rows { differences: self.differences(&own, v), matrices: mean.into_iter().collect() }
    }

    fn differences(&self, pairs: &[(u32, u32, f64)], v: &Matrix) -> Matrix {
        let mut out = Matrix::zeros(pairs.len(), self.x.cols());
        for (k, &(i, j, sigma)) in pairs.iter().enumerate() {
            let t = sigma.sqrt().sqrt();
            let (a, b) = (self.x.row(i as usize), self.x.row(j as usize));
            out.row_mut(k).iter_mut().zip(a).zip(b).for_each(|((d, a), b)| *d = t * (a - b));
        }
        linalg::product(&out, v)
    }

    /// The derivative of the projection on the cone, element by element in the eigenbasis, and the shift.
    fn diagonal(&self, values: &[f64]) -> Matrix {
        let p = values.len();
        let sigma = self.penalty.cone;
        let mut out = Matrix::zeros(p, p);
        for a in 0..p {
            for b in 0..p {
                let (x, y) = (values[a].max(values[b]), values[a].min(values[b]));
                let part = if y > 0.0 {
                    1.0
                } else if x <= 0.0 {
                    0.0
                } else {
                    x / (x - y)
                };
                out[(a, b)] = sigma * (part + SHIFT) + self.proximal;
            }
        }
        out
    }
}

fn scaled(mut a: Matrix, t: f64) -> Matrix {
    a.as_mut_slice().iter_mut().for_each(|v| *v *= t);
    a
}

/// `out += sum f f^T` over rows, minus their mean first where `centred`.
fn add_gram(out: &mut Matrix, rows: &Rows, centred: bool) {
    let q = out.rows();
    let count = rows.differences.rows() + rows.matrices.len();
    if count == 0 {
        return;
    }
    let feature = |k: usize, f: &mut [f64]| {
        if k < rows.differences.rows() {
            pack_square(rows.differences.row(k), f);
        } else {
            f.copy_from_slice(&pack(&rows.matrices[k - rows.differences.rows()]));
        }
    };
    let mut mean = vec![0.0; q];
    let mut f = vec![0.0; q];
    if centred {
        for k in 0..count {
            feature(k, &mut f);
            mean.iter_mut().zip(&f).for_each(|(m, v)| *m += v / count as f64);
        }
    }
    let mut chunk = vec![0.0; CHUNK * q];
    for from in (0..count).step_by(CHUNK) {
        let many = CHUNK.min(count - from);
        for (k, f) in chunk.chunks_exact_mut(q).take(many).enumerate() {
            feature(from + k, f);
            f.iter_mut().zip(&mean).for_each(|(v, m)| *v -= m);
        }
        linalg::gram_block_add(out.as_mut_slice(), &chunk, many, q, 0..q, 0..q);
    }
}

fn direct(push: &Rows, pull: &Rows, diagonal: &Matrix, gradient: &Matrix) -> Result<Matrix> {
    let p = gradient.rows();
    let q = packed_len(p);
    let mut h = Matrix::zeros(q, q);
    add_gram(&mut h, push, false);
    add_gram(&mut h, pull, true);
    let mut at = 0;
    for a in 0..p {
        for b in a..p {
            h[(at, at)] += diagonal[(a, b)];
            at += 1;
        }
    }
    let top = (0..q).fold(0.0f64, |m, k| m.max(h[(k, k)]));
    let mut rhs: Vec<f64> = pack(gradient).iter().map(|v| -v).collect();
    let mut shift = 1e-14 * top;
    for _ in 0..8 {
        let mut trial = h.clone();
        (0..q).for_each(|k| trial[(k, k)] += shift);
        if let Some(factor) = Cholesky::factor(trial.into_vec(), q) {
            factor.solve(&mut rhs);
            if rhs.iter().all(|v| v.is_finite()) {
                return Ok(unpack(&rhs, p));
            }
            break;
        }
        shift *= 100.0;
    }
    Err(Error::Numerical {
        place: "a Newton system",
        message: "it could not be factorised: the features may be of very different scales".to_owned(),
    })
}

/// `H d` without `H`.
fn apply(push: &Rows, pull: &Rows, diagonal: &Matrix, d: &Matrix) -> Matrix {
    let mut out = d.clone();
    out.as_mut_slice().iter_mut().zip(diagonal.as_slice()).for_each(|(o, t)| *o *= t);
    for (rows, centred) in [(push, false), (pull, true)] {
        let count = rows.differences.rows() + rows.matrices.len();
        if count == 0 {
            continue;
        }
        let image = linalg::product(&rows.differences, d);
        let mut values: Vec<f64> =
            (0..rows.differences.rows()).map(|k| linalg::dot(image.row(k), rows.differences.row(k))).collect();
        values.extend(rows.matrices.iter().map(|a| linalg::inner(a, d)));
        if centred {
            let mean = values.iter().sum::<f64>() / count as f64;
            values.iter_mut().for_each(|v| *v -= mean);
        }
        let mut weighted = rows.differences.clone();
        for (k, &t) in values.iter().take(rows.differences.rows()).enumerate() {
            weighted.row_mut(k).iter_mut().for_each(|v| *v *= t);
        }
        linalg::add_scaled(&mut out, 1.0, &linalg::transposed_product(&rows.differences, &weighted));
        for (a, &t) in rows.matrices.iter().zip(&values[rows.differences.rows()..]) {
            linalg::add_scaled(&mut out, t, a);
        }
    }
    linalg::symmetrise(&mut out);
    out
}

/// Conjugate gradients, preconditioned by the diagonal of `H`.
fn conjugate(push: &Rows, pull: &Rows, diagonal: &Matrix, gradient: &Matrix, size: f64) -> Matrix {
    let p = gradient.rows();
    let mut weights = diagonal.clone();
    for rows in [push, pull] {
        let mut squares = rows.differences.clone();
        squares.as_mut_slice().iter_mut().for_each(|v| *v *= *v);
        let fourth = linalg::transposed_product(&squares, &squares);
        for a in 0..p {
            for b in 0..p {
                weights[(a, b)] += if a == b { 1.0 } else { 2.0 } * fourth[(a, b)];
            }
        }
    }
    let precondition = |r: &Matrix| {
        let mut out = r.clone();
        out.as_mut_slice().iter_mut().zip(weights.as_slice()).for_each(|(o, w)| *o /= w);
        out
    };
    let mut d = Matrix::zeros(p, p);
    let mut residual = scaled(gradient.clone(), -1.0);
    let mut better = precondition(&residual);
    let mut search = better.clone();
    let mut product = linalg::inner(&residual, &better);
    let enough = 0.1 * size;
    for _ in 0..MAX_CONJUGATE {
        let image = apply(push, pull, diagonal, &search);
        let curvature = linalg::inner(&search, &image);
        if curvature.is_nan() || curvature <= 0.0 {
            break;
        }
        let t = product / curvature;
        linalg::add_scaled(&mut d, t, &search);
        linalg::add_scaled(&mut residual, -t, &image);
        if linalg::inner(&residual, &residual).sqrt() <= enough {
            break;
        }
        better = precondition(&residual);
        let next = linalg::inner(&residual, &better);
        let ratio = next / product;
        product = next;
        search.as_mut_slice().iter_mut().zip(better.as_slice()).for_each(|(s, b)| *s = b + ratio * *s);
    }
    d
}
