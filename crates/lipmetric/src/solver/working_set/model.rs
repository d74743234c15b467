//! The rows of a reduced problem and sums over them.

use crate::pairs::Cloud;
use crate::problem::SUMMED;
use crate::{Matrix, linalg};
use serde::{Deserialize, Serialize};

/// With more coordinates than this lengths are sums in several parts side by side.
const FEW: usize = 36;

/// A different-label pair with a row of its own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Push {
    pub(crate) i: u32,
    pub(crate) j: u32,
    /// The largest multiplier: the pair's weight; with a slack per row more than the smaller weight of the two rows.
    pub(crate) cap: f64,
}

/// A problem with few rows:
/// `c max(pull lengths, mean length) + sum over push rows of cap max(0, 2 - length)`, `M` positive. With a slack per row the
/// length of a pair that pushes is `rho + xi_i + xi_j`, and `sum w xi` is added: as a slack costs less than the hinge of a pair, no
/// hinge is left over at the optimum.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) c: f64,
    /// Sorted by pair.
    pub(crate) push: Vec<Push>,
    /// Rows that stand for the mean of many pairs that push, with their largest multiplier.
    pub(crate) sums: Vec<(Matrix, f64)>,
    /// Pairs that bound the diameter, sorted.
    pub(crate) pull: Vec<(u32, u32)>,
    /// The mean of all pairs that bound the diameter: the last row that pulls.
    pub(crate) mean: Matrix,
    /// With a slack per row: the weight of each point; else empty.
    pub(crate) weight: Vec<f64>,
    /// The largest diameter allowed, which then costs nothing, and its multipliers are free in their sum.
    pub(crate) limit: Option<f64>,
}

/// Lengths of all rows under a metric: pairs first, then sums, then the mean.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lengths {
    pub(crate) push: Vec<f64>,
    pub(crate) pull: Vec<f64>,
}

impl Model {
    /// A problem without any rows but the mean.
    pub(crate) fn empty(c: f64, mean: Matrix) -> Self {
        Self { c, push: Vec::new(), sums: Vec::new(), pull: Vec::new(), mean, weight: Vec::new(), limit: None }
    }

    /// What the slacks add to the length of a row that pushes.
    pub(crate) fn lift(&self, k: usize, slack: &[f64]) -> f64 {
        match self.push.get(k) {
            Some(row) if !slack.is_empty() => slack[row.i as usize] + slack[row.j as usize],
            _ => 0.0,
        }
    }

    /// `sum_j lambda_ij` of each point, with a slack per row; else nothing.
    pub(crate) fn loads(&self, lambda: &[f64]) -> Vec<f64> {
        let mut load = vec![0.0; self.weight.len()];
        if !load.is_empty() {
            for (row, l) in self.push.iter().zip(lambda) {
                load[row.i as usize] += l;
                load[row.j as usize] += l;
            }
        }
        load
    }

    /// The largest multiplier of a row that pushes.
    pub(crate) fn cap(&self, k: usize) -> f64 {
        if k < self.push.len() { self.push[k].cap } else { self.sums[k - self.push.len()].1 }
    }

    /// Rows that push.
    pub(crate) fn pushes(&self) -> usize {
        self.push.len() + self.sums.len()
    }

    /// Rows that pull.
    pub(crate) fn pulls(&self) -> usize {
        self.pull.len() + 1
    }

    /// Lengths under a symmetric matrix.
    pub(crate) fn lengths(&self, x: &Matrix, m: &Matrix) -> Lengths {
        let few = 2 * (self.push.len() + self.pull.len()) < x.rows();
        let sums = self.sums.iter().map(|s| linalg::inner(&s.0, m));
        let mean = std::iter::once(linalg::inner(&self.mean, m));
        if few {
            let lengths = |pairs: &mut dyn Iterator<Item = (u32, u32, f64)>| {
                let d = differences(x, pairs);
                let image = linalg::product(&d, m);
                (0..d.rows()).map(|k| linalg::dot(d.row(k), image.row(k))).collect::<Vec<f64>>()
            };
            let push = lengths(&mut self.push.iter().map(|r| (r.i, r.j, 1.0))).into_iter().chain(sums);
            let pull = lengths(&mut self.pull.iter().map(|r| (r.0, r.1, 1.0))).into_iter().chain(mean);
            return Lengths { push: push.collect(), pull: pull.collect() };
        }
        let y = linalg::product(x, m);
        let lengths = |pairs: &mut dyn Iterator<Item = (u32, u32)>| {
            if x.cols() > FEW {
                return linalg::differences_with_image(x, &y, pairs).into_iter();
            }
            let length = |(i, j): (u32, u32)| {
                let (i, j) = (i as usize, j as usize);
                let (a, b) = (x.row(i).iter().zip(x.row(j)), y.row(i).iter().zip(y.row(j)));
                a.zip(b).map(|((p, q), (r, s))| (p - q) * (r - s)).sum::<f64>()
            };
            pairs.map(length).collect::<Vec<f64>>().into_iter()
        };
        let push = lengths(&mut self.push.iter().map(|r| (r.i, r.j))).chain(sums);
        let pull = lengths(&mut self.pull.iter().copied()).chain(mean);
        Lengths { push: push.collect(), pull: pull.collect() }
    }

    /// `sum lambda A` over the rows that push.
    pub(crate) fn push_sum(&self, x: &Matrix, lambda: &[f64]) -> Matrix {
        let pairs: Vec<_> = self.push.iter().zip(lambda).map(|(r, &l)| (r.i, r.j, l)).collect();
        let mut sum = laplacian(x, &pairs);
        for ((a, _), &l) in self.sums.iter().zip(&lambda[self.push.len()..]) {
            linalg::add_scaled(&mut sum, l, a);
        }
        sum
    }

    /// `sum eta A` for a certificate, where the `eta` may not be more than `c` in all. They are differences of numbers that may be
    /// so much larger than `c` that few of their digits are right: their sum is then not `c`.
    pub(crate) fn feasible_pull(&self, x: &Matrix, eta: &[f64]) -> Matrix {
        let (mut sum, total) = (self.pull_sum(x, eta), eta.iter().sum::<f64>() * (1.0 + SUMMED));
        if total > self.c {
            sum.as_mut_slice().iter_mut().for_each(|v| *v *= self.c / total);
        }
        sum
    }

    /// `sum eta A` over the rows that pull.
    pub(crate) fn pull_sum(&self, x: &Matrix, eta: &[f64]) -> Matrix {
        let pairs: Vec<_> = self.pull.iter().zip(eta).map(|(r, &e)| (r.0, r.1, e)).collect();
        let mut sum = laplacian(x, &pairs);
        linalg::add_scaled(&mut sum, eta[self.pull.len()], &self.mean);
        sum
    }

    /// The same problem for metrics `U M U^T` only; rows of points are then `x U`.
    pub(crate) fn within(&self, basis: &Matrix) -> Self {
        Self {
            c: self.c,
            push: self.push.clone(),
            sums: self.sums.iter().map(|(a, cap)| (linalg::congruence(a, basis), *cap)).collect(),
            pull: self.pull.clone(),
            mean: linalg::congruence(&self.mean, basis),
            weight: self.weight.clone(),
            limit: self.limit,
        }
    }
}

/// `t (x_i - x_j)` of the listed pairs, a row each.
pub(crate) fn differences(x: &Matrix, pairs: &mut dyn Iterator<Item = (u32, u32, f64)>) -> Matrix {
    let mut data = Vec::new();
    let mut count = 0;
    for (i, j, t) in pairs {
        data.extend(x.row(i as usize).iter().zip(x.row(j as usize)).map(|(a, b)| t * (a - b)));
        count += 1;
    }
    let mut out = Matrix::zeros(count, x.cols());
    out.as_mut_slice().copy_from_slice(&data);
    out
}

/// `sum of t (x_i - x_j)(x_i - x_j)^T = X^T (L X)` with the Laplacian `L` of the listed pairs.
fn laplacian(x: &Matrix, pairs: &[(u32, u32, f64)]) -> Matrix {
    let p = x.cols();
    let own = || pairs.iter().copied().filter(|pair| pair.2 != 0.0);
    if 2 * own().count() < x.rows() {
        let plain = differences(x, &mut own().map(|(i, j, _)| (i, j, 1.0)));
        let scaled = differences(x, &mut own());
        let mut out = linalg::transposed_product(&plain, &scaled);
        linalg::symmetrise(&mut out);
        return out;
    }
    let mut product = Matrix::zeros(x.rows(), p);
    let mut difference = vec![0.0; p];
    for (i, j, t) in own() {
        let (i, j) = (i as usize, j as usize);
        for ((d, a), b) in difference.iter_mut().zip(x.row(i)).zip(x.row(j)) {
            *d = t * (a - b);
        }
        product.row_mut(i).iter_mut().zip(&difference).for_each(|(r, d)| *r += d);
        product.row_mut(j).iter_mut().zip(&difference).for_each(|(r, d)| *r -= d);
    }
    let mut out = linalg::transposed_product(x, &product);
    linalg::symmetrise(&mut out);
    out
}

/// A point of a reduced problem, kept while its rows change.
#[derive(Debug, Clone)]
pub(crate) struct State {
    /// Symmetric; close to positive.
    pub(crate) m: Matrix,
    /// The multiplier of `M` being positive.
    pub(crate) z: Matrix,
    /// Multipliers of the rows that push, in the model's order.
    pub(crate) lambda: Vec<f64>,
    /// Multipliers of the rows that pull; their sum is `c`.
    pub(crate) eta: Vec<f64>,
    /// A positive matrix close to `m`, as a factor: coordinates x rank.
    pub(crate) factor: Matrix,
    /// The slack of each point, with a slack per row; else empty.
    pub(crate) slack: Vec<f64>,
}

impl State {
    /// Multipliers for other rows: pairs keep theirs, new ones get what the side of the kink that they are on tells.
    pub(crate) fn moved(&mut self, from: &Model, to: &Model, x: &Matrix) {
        let lengths = to.lengths(x, &linalg::product_transposed(&self.factor, &self.factor));
        let mut lambda = Vec::with_capacity(to.pushes());
        for (row, &length) in to.push.iter().zip(&lengths.push) {
            let known = from.push.binary_search_by_key(&(row.i, row.j), |r| (r.i, r.j));
            lambda.push(match known {
                Ok(k) => self.lambda[k].min(row.cap),
                Err(_) if length < 2.0 && to.weight.is_empty() => row.cap,
                Err(_) => 0.0,
            });
        }
        lambda.extend(to.sums.iter().map(|s| s.1));
        let mut eta: Vec<f64> =
            to.pull.iter().map(|pair| from.pull.binary_search(pair).map_or(0.0, |k| self.eta[k])).collect();
        eta.push(self.eta[from.pull.len()]);
        let total: f64 = eta.iter().sum();
        if to.limit.is_some() {
            // Their sum is free.
        } else if total > 0.0 {
            eta.iter_mut().for_each(|e| *e *= to.c / total);
        } else if let Some(last) = eta.last_mut() {
            *last = to.c;
        }
        (self.lambda, self.eta) = (lambda, eta);
    }
}

/// The points that rows refer to, mapped by a basis; the points themselves where there is none.
pub(crate) fn points_within(cloud: &Cloud, basis: Option<&Matrix>) -> Matrix {
    basis.map_or_else(|| (*cloud.x).clone(), |u| linalg::product(&cloud.x, u))
}
