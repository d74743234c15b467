//! The Newton direction of the augmented Lagrangian.

use crate::linalg::{self, Cholesky, Eigen};
use crate::linalg::{pack, pack_square, packed_len, unpack};
use crate::solver::working_set::Penalty;
use crate::solver::working_set::links::Links;
use crate::solver::working_set::model::{Lengths, Model, State};
use crate::{Error, Matrix, Result};

/// The largest system that is factorised.
const DIRECT: usize = 700;

/// Where the direction is wanted.
pub(super) struct System<'a> {
    pub(super) model: &'a Model,
    pub(super) x: &'a Matrix,
    pub(super) penalty: &'a Penalty,
    pub(super) proximal: f64,
    pub(super) proximal_slack: f64,
    pub(super) lengths: &'a Lengths,
    pub(super) slack: &'a [f64],
    pub(super) state: &'a State,
}

/// The gradient of the augmented Lagrangian.
pub(super) struct Gradient {
    pub(super) m: Matrix,
    /// Of `m`.
    pub(super) size: f64,
    pub(super) slack: Vec<f64>,
    /// The slacks that are not held at zero.
    pub(super) free: Vec<bool>,
}

impl Gradient {
    /// What is left in the slacks that can move.
    pub(super) fn of_slacks(&self) -> f64 {
        self.slack.iter().zip(&self.free).filter(|g| *g.1).map(|g| g.0.abs()).sum()
    }

    /// The slope along a move of the slacks.
    pub(super) fn along(&self, from: &[f64], to: &[f64]) -> f64 {
        self.slack.iter().zip(from).zip(to).map(|((g, a), b)| g * (b - a)).sum()
    }
}

/// A Newton step.
pub(super) struct Direction {
    pub(super) m: Matrix,
    pub(super) slack: Vec<f64>,
}

/// The rows that the Hessian sees, in the eigenbasis: differences of pairs, scaled by the fourth root of their weight, and
/// matrices, scaled by its square root.
struct Rows {
    differences: Matrix,
    /// The points of each pair, and the fourth root of its weight.
    pairs: Vec<(u32, u32, f64)>,
    matrices: Vec<Matrix>,
    /// The slacks of the pairs' rows, where they have any that can move.
    links: Option<Links>,
    /// Whether the Hessian sees what the values differ from their mean by: of a maximum, not of a limit.
    centred: bool,
}

impl Rows {
    /// `<f, d>` of every row.
    fn values(&self, d: &Matrix) -> Vec<f64> {
        let image = linalg::product(&self.differences, d);
        let own = (0..self.differences.rows()).map(|k| linalg::dot(image.row(k), self.differences.row(k)));
        own.chain(self.matrices.iter().map(|a| linalg::inner(a, d))).collect()
    }

    /// `out += sum of t f` over the rows.
    fn add_weighted(&self, out: &mut Matrix, t: &[f64]) {
        let mut weighted = self.differences.clone();
        for (k, &t) in t.iter().take(weighted.rows()).enumerate() {
            weighted.row_mut(k).iter_mut().for_each(|v| *v *= t);
        }
        linalg::add_scaled(out, 1.0, &linalg::transposed_product(&self.differences, &weighted));
        for (a, &t) in self.matrices.iter().zip(&t[self.differences.rows()..]) {
            linalg::add_scaled(out, t, a);
        }
    }
}

impl Rows {
    /// `<f, d>` of every row, from `points d`.
    fn values_at(&self, image: &Matrix, d: &Matrix) -> Vec<f64> {
        let own = linalg::along_differences(&self.differences, &self.pairs, image).into_iter();
        own.chain(self.matrices.iter().map(|a| linalg::inner(a, d))).collect()
    }

    /// Adds to `sums`, where a sum over the rows with weights `t` is `points^T sums`, what their pairs have; what their matrices have
    /// to `out`.
    fn gather(&self, sums: &mut Matrix, out: &mut Matrix, t: &[f64]) {
        linalg::gather_differences(sums, &self.differences, &self.pairs, t);
        for (a, &t) in self.matrices.iter().zip(&t[self.pairs.len()..]) {
            linalg::add_scaled(out, t, a);
        }
    }
}

impl System<'_> {
    /// `-H^-1 gradient`.
    pub(super) fn direction(
        &self,
        lambda: &[f64],
        eta: &[f64],
        eigen: &Eigen,
        gradient: &Gradient,
    ) -> Result<Direction> {
        let push = self.push_rows(lambda, gradient, &eigen.vectors);
        let Some(links) = &push.links else {
            let m = self.solve(&push, eta, eigen, &gradient.m, gradient.size)?;
            // No slack can move, or there are none.
            return Ok(Direction { m, slack: self.slack.iter().map(|s| -s).collect() });
        };
        let v = &eigen.vectors;
        // What the metric sees of the slacks' gradient, as they will follow it.
        let mut seen: Vec<f64> = links.along(&links.solved(&gradient.slack)).iter().map(|t| -t).collect();
        seen.resize(push.differences.rows() + push.matrices.len(), 0.0);
        let mut reduced = Matrix::zeros(v.cols(), v.cols());
        push.add_weighted(&mut reduced, &seen);
        linalg::symmetrise(&mut reduced);
        let mut rest = linalg::congruence_transposed(&reduced, v);
        linalg::add_scaled(&mut rest, 1.0, &gradient.m);
        let size = linalg::inner(&rest, &rest).sqrt();
        let m = self.solve(&push, eta, eigen, &rest, size)?;
        let mut slack = links.step(&gradient.slack, &push.values(&linalg::congruence(&m, v)));
        for (k, d) in slack.iter_mut().enumerate().filter(|(k, _)| !gradient.free[*k]) {
            *d = -self.slack[k];
        }
        Ok(Direction { m, slack })
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
        let push = self.rows(pairs, &eigen.vectors);
        self.solve(&push, eta, eigen, gradient, size)
    }

    fn solve(&self, push: &Rows, eta: &[f64], eigen: &Eigen, gradient: &Matrix, size: f64) -> Result<Matrix> {
        /// The part of the gradient that conjugate gradients may leave, ...
        const LEFT: f64 = 0.1;
        /// ... and with a slack per row, where more steps that are cheaper took half of the time at 60 features.
        const LEFT_WITH_SLACKS: f64 = 0.3;
        let p = gradient.rows();
        let v = &eigen.vectors;
        let rotated = linalg::congruence(gradient, v);
        let pull = self.pull_rows(eta, v);
        let diagonal = self.diagonal(&eigen.values);
        let inner = if packed_len(p) <= DIRECT {
            direct(push, &pull, &diagonal, &rotated)?
        } else {
            let left = if self.slack.is_empty() { LEFT } else { LEFT_WITH_SLACKS };
            // With more pairs than points, products with the points are the smaller ones.
            let pairs = push.pairs.len() + pull.pairs.len();
            let points = (pairs > self.x.rows()).then(|| linalg::product(self.x, v));
            conjugate((push, &pull), points.as_ref(), &diagonal, &rotated, left * size)
        };
        Ok(linalg::congruence_transposed(&inner, v))
    }

    /// Hinges strictly between their bounds.
    fn push_rows(&self, lambda: &[f64], gradient: &Gradient, v: &Matrix) -> Rows {
        /// Rows per unknown that conjugate gradients see at most: of more, an evenly spaced part stands for all.
        const ROWS_PER_UNKNOWN: usize = 3;
        let model = self.model;
        let between = |k: usize| {
            let cap = model.cap(k);
            let y = self.state.lambda[k]
                + self.penalty.push * cap * (2.0 - (self.lengths.push[k] + model.lift(k, self.slack)));
            lambda[k] > 0.0 && y < cap
        };
        let mut own: Vec<(u32, u32, f64)> = (0..model.push.len())
            .filter(|&k| between(k))
            .map(|k| (model.push[k].i, model.push[k].j, self.penalty.push * model.push[k].cap))
            .collect();
        let q = packed_len(self.x.cols());
        let most = (ROWS_PER_UNKNOWN * q).max(4000);
        if q > DIRECT && own.len() > most && self.slack.is_empty() {
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
        let links = gradient.free.contains(&true).then(|| {
            let shift: Vec<f64> = model.weight.iter().map(|w| w * self.proximal_slack).collect();
            Links::new(&own, &gradient.free, &shift)
        });
        Rows { matrices: matrices.collect(), links: links.flatten(), ..self.rows(&own, v) }
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
        Rows { matrices: mean.into_iter().collect(), centred: model.limit.is_none(), ..self.rows(&own, v) }
    }

    /// Rows of pairs with these weights, in the basis `v`.
    fn rows(&self, pairs: &[(u32, u32, f64)], v: &Matrix) -> Rows {
        let mut out = Matrix::zeros(pairs.len(), self.x.cols());
        for (k, &(i, j, sigma)) in pairs.iter().enumerate() {
            let t = sigma.sqrt().sqrt();
            let (a, b) = (self.x.row(i as usize), self.x.row(j as usize));
            out.row_mut(k).iter_mut().zip(a).zip(b).for_each(|((d, a), b)| *d = t * (a - b));
        }
        let pairs = pairs.iter().map(|&(i, j, sigma)| (i, j, sigma.sqrt().sqrt())).collect();
        Rows { differences: linalg::product(&out, v), pairs, matrices: Vec::new(), links: None, centred: false }
    }

    /// The derivative of the projection on the cone, element by element in the eigenbasis, and the shift.
    fn diagonal(&self, values: &[f64]) -> Matrix {
        /// What keeps directions that nothing sees from growing, relative to the cone's penalty.
        const SHIFT: f64 = 1e-10;
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

/// `out += sum f f^T` over rows, minus their mean first where these are `centred`.
fn add_gram(out: &mut Matrix, rows: &Rows) {
    /// Rows of features at a time.
    const CHUNK: usize = 256;
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
    if rows.centred {
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
    /// What a system that cannot be factored gets on its diagonal, as a part of the largest element: a hundred roundings, ...
    const FIRST_SHIFT: f64 = 1e-14;
    /// ... this many times as much each time it fails again, ...
    const LARGER: f64 = 100.0;
    /// ... so often: by then the diagonal is all that is left.
    const SHIFTS: usize = 8;
    let p = gradient.rows();
    let q = packed_len(p);
    let mut h = Matrix::zeros(q, q);
    add_gram(&mut h, push);
    add_gram(&mut h, pull);
    if let Some(links) = &push.links {
        links.subtract(&mut h, |k, f| pack_square(push.differences.row(k), f));
    }
    let mut at = 0;
    for a in 0..p {
        for b in a..p {
            h[(at, at)] += diagonal[(a, b)];
            at += 1;
        }
    }
    let top = (0..q).fold(0.0f64, |m, k| m.max(h[(k, k)]));
    let mut rhs: Vec<f64> = pack(gradient).iter().map(|v| -v).collect();
    let mut shift = FIRST_SHIFT * top;
    for _ in 0..SHIFTS {
        let mut trial = h.clone();
        (0..q).for_each(|k| trial[(k, k)] += shift);
        if let Some(factor) = Cholesky::factor(trial.into_vec(), q) {
            factor.solve(&mut rhs);
            if rhs.iter().all(|v| v.is_finite()) {
                return Ok(unpack(&rhs, p));
            }
            break;
        }
        shift *= LARGER;
    }
    Err(Error::Numerical {
        place: "a Newton system",
        message: "it could not be factorised: the features may be of very different scales".to_owned(),
    })
}

/// `H d` without `H`.
fn apply(rows: [&Rows; 2], points: Option<&Matrix>, diagonal: &Matrix, d: &Matrix) -> Matrix {
    let mut out = d.clone();
    out.as_mut_slice().iter_mut().zip(diagonal.as_slice()).for_each(|(o, t)| *o *= t);
    let image = points.map(|points| linalg::product(points, d));
    let mut sums = points.map(|points| Matrix::zeros(points.rows(), points.cols()));
    for rows in rows {
        let count = rows.differences.rows() + rows.matrices.len();
        if count == 0 {
            continue;
        }
        let mut values = image.as_ref().map_or_else(|| rows.values(d), |image| rows.values_at(image, d));
        if let Some(links) = &rows.links {
            links.project(&mut values);
        }
        if rows.centred {
            let mean = values.iter().sum::<f64>() / count as f64;
            values.iter_mut().for_each(|v| *v -= mean);
        }
        match &mut sums {
            Some(sums) => rows.gather(sums, &mut out, &values),
            None => rows.add_weighted(&mut out, &values),
        }
    }
    if let (Some(points), Some(sums)) = (points, sums) {
        linalg::add_scaled(&mut out, 1.0, &linalg::transposed_product(points, &sums));
    }
    linalg::symmetrise(&mut out);
    out
}

/// Conjugate gradients, preconditioned by the diagonal of `H`, until the residual is small enough.
fn conjugate(
    (push, pull): (&Rows, &Rows),
    points: Option<&Matrix>,
    diagonal: &Matrix,
    gradient: &Matrix,
    enough: f64,
) -> Matrix {
    /// Steps of conjugate gradients, at most.
    const MAX_CONJUGATE: usize = 100;
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
    for _ in 0..MAX_CONJUGATE {
        let image = apply([push, pull], points, diagonal, &search);
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
