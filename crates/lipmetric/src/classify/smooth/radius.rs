//! Certified radii: how far a row may move before its class can change, or its number by more than a little.
//!
//! Let `f_top - f_c` have the terms `b_j k(d_j)` at a row `x`, with the sums `P` of the positive and `N` of the sizes of the negative
//! ones.
//!
//! **Laplace.** A step of length `r` multiplies each term by `exp(-r / l)` at least and by `exp(r / l)` at most, so that the difference
//! stays positive up to `r = (l / 2) ln(P / N)`.
//!
//! **Gaussian.** No factor bounds all terms: at a distance `d` a step multiplies one by up to `exp(r d / l^2)`. But a step `s`
//! multiplies all of them by the same `exp(-(|s|^2 + 2 s.(x - m)) / (2 l^2))`, whatever the point `m`, which changes no sign, and besides
//! each by `exp(s.u_j)` with `u_j = (x_j - m) / l^2`. Take for `m` the mean of the positive terms' centres, weighted by the terms.
//! - The exponential is convex and the weighted mean of `s.u_j` over the positive terms is zero, so that by Jensen's inequality they are
//!   still at least `P`.
//! - `exp(t) <= 1 + t + (exp(|t|) - 1 - |t|)`, so that the negative ones are at most `N + r |V| + sum_j w_j (exp(r v_j) - 1 - r v_j)`, with
//!   `w_j` their sizes, `v_j = |u_j|` and `V = sum_j w_j u_j`.
//!
//! The class holds as long as the second is less than the first: up to the root of an ascending function of `r`, found by halving
//! from below. For small `r` it is `ln(P / N)` by the distance of the two weighted means, which is the slope of the border: large
//! coefficients of alternating signs, which a wide kernel and a small ridge bring, cost far less than if each term went its own way.
//!
//! **Offsets.** Where the classes have numbers added to their values, their difference `b` does not change with a step. With the Laplace
//! kernel `u = exp(r / l)` is then the root of `N u^2 - b u - P`. With the Gaussian kernel the factor that all terms share is
//! taken from them, so that `b` is multiplied by its inverse: `exp(|s|^2 / (2 l^2) + s.(x - m) / l^2)`, at least `exp(-r D)` and at most
//! `exp(r^2 / (2 l^2) + r D)`, where `D` is the mean distance of `x` to the rows of the positive terms over `l^2`, no less than that to
//! their mean.

use super::kernel::{Decay, Kernel};
use super::ridge::largest;
use crate::{Matrix, linalg};

/// Rows that radii of the Gaussian kernel are estimated by where settings are compared.
pub(super) const SOME: usize = 16;
/// What rounding may do to `P - N`, as a part of `P + N`.
const ROUNDING: f64 = 1e-12;
/// How close a radius is to what the bound allows.
const CLOSE: f64 = 1e-3;
/// Beyond `exp` of minus this a kernel is not followed: not much farther it is no longer told from zero.
const FAR: f64 = 600.0;

/// Rows of which a function has told: their kernel to the centres, and what was told.
pub(crate) struct Seen<'a> {
    pub(crate) kernel: &'a Matrix,
    /// A column per class, or the numbers.
    pub(crate) values: &'a Matrix,
    /// The squared distances between the centres.
    pub(crate) within: &'a Matrix,
    /// Whether the rows are the centres, and each was told of by all others.
    pub(crate) left_out: bool,
}

impl Seen<'_> {
    fn without(&self, row: usize) -> Option<usize> {
        self.left_out.then_some(row)
    }

    /// How far each row, or of the Gaussian kernel some of them, may move before its class can change.
    pub(super) fn radii(&self, coefficients: &Matrix, decay: Decay) -> Vec<f64> {
        let n = self.values.rows();
        match decay.kernel {
            Kernel::Laplace if self.left_out => {
                let top = |i: usize| largest(self.values.row(i));
                (0..n)
                    .map(|i| laplace(self.kernel.row(i), Some(i), (coefficients, &[]), top(i), decay.bandwidth))
                    .collect()
            }
            Kernel::Laplace => laplace_all(self.kernel, coefficients, self.values, decay.bandwidth),
            Kernel::Gaussian => {
                let some = spaced(n, SOME);
                let mut kernel = self.kernel.select_rows(&some);
                if self.left_out {
                    some.iter().enumerate().for_each(|(q, &i)| kernel[(q, i)] = 0.0);
                }
                let places = |terms: &Terms| terms.by_distances(self.within);
                gaussian(&kernel, (coefficients, &[]), &self.values.select_rows(&some), decay, (1, &places))
            }
        }
    }

    /// How far each row may move before its number can change by so much.
    pub(super) fn steps(&self, coefficients: &Matrix, decay: Decay, change: f64) -> Vec<f64> {
        let sizes = |row: &[f64], without: Option<usize>| -> f64 {
            let terms = row.iter().enumerate().filter(|(j, _)| without != Some(*j));
            terms.map(|(j, k)| k * coefficients[(j, 0)].abs()).sum()
        };
        match decay.kernel {
            Kernel::Laplace => {
                let size = |q: usize| sizes(self.kernel.row(q), self.without(q));
                (0..self.values.rows()).map(|q| decay.bandwidth * (change / size(q)).ln_1p()).collect()
            }
            Kernel::Gaussian => {
                let most = decay.slope() * coefficients.as_slice().iter().map(|a| a.abs()).sum::<f64>();
                vec![change / most.max(f64::MIN_POSITIVE); self.values.rows()]
            }
        }
    }
}

/// About so many of `n` rows, evenly spaced; all where there are no more.
pub(super) fn spaced(n: usize, most: usize) -> Vec<usize> {
    let count = n.min(most);
    (0..count).map(|k| k * n / count).collect()
}

/// What [`laplace`] gives for every row of a kernel, to rounding: `P - N` is the difference of two values, and `P + N` a product of
/// the kernel and the sizes of the differences of the coefficients.
pub(super) fn laplace_all(kernel: &Matrix, coefficients: &Matrix, values: &Matrix, bandwidth: f64) -> Vec<f64> {
    let classes = coefficients.cols();
    let top: Vec<usize> = (0..values.rows()).map(|q| largest(values.row(q)) as usize).collect();
    let mut out = vec![0.0; values.rows()];
    for class in 0..classes {
        let own: Vec<usize> = (0..top.len()).filter(|&q| top[q] == class).collect();
        if own.is_empty() {
            continue;
        }
        let others: Vec<usize> = (0..classes).filter(|&c| c != class).collect();
        let mut sizes = Matrix::zeros(coefficients.rows(), others.len());
        for j in 0..sizes.rows() {
            let a = coefficients.row(j);
            sizes.row_mut(j).iter_mut().zip(&others).for_each(|(s, &c)| *s = (a[class] - a[c]).abs());
        }
        let sums = linalg::product(&kernel.select_rows(&own), &sizes);
        for (row, &q) in own.iter().enumerate() {
            let one = |(&sum, &c): (&f64, &usize)| {
                let apart = values[(q, class)] - values[(q, c)];
                if apart <= 0.0 { 0.0 } else { ((sum + apart) / (sum - apart).max(0.0)).ln().max(0.0) }
            };
            out[q] = 0.5 * bandwidth * sums.row(row).iter().zip(&others).map(one).fold(f64::INFINITY, f64::min);
        }
    }
    out
}

/// The certified radius `(l / 2) ln(P / N)` of a class against all others, by the kernel to the centres, one of which may have no
/// part.
pub(super) fn laplace(
    kernel: &[f64],
    without: Option<usize>,
    (coefficients, offsets): (&Matrix, &[f64]),
    top: u32,
    bandwidth: f64,
) -> f64 {
    // The positive and the negative sum against each class.
    let mut sums = vec![(0.0_f64, 0.0_f64); coefficients.cols()];
    for (j, &k) in kernel.iter().enumerate() {
        if without == Some(j) {
            continue;
        }
        let a = coefficients.row(j);
        let own = a[top as usize];
        for (sum, other) in sums.iter_mut().zip(a) {
            let term = k * (own - other);
            sum.0 += term.max(0.0);
            sum.1 -= term.min(0.0);
        }
    }
    let others = sums.iter().enumerate().filter(|(c, _)| *c != top as usize);
    let one = |(c, &(p, n)): (usize, &(f64, f64))| {
        let added = ahead(offsets, top as usize, c);
        if p + added <= n {
            0.0
        } else if added == 0.0 {
            (p / n).ln().max(0.0)
        } else {
            let root = (added * added + 4.0 * n * p).sqrt();
            let u = if added > 0.0 { (added + root) / (2.0 * n) } else { 2.0 * p / (root - added) };
            2.0 * u.ln().max(0.0)
        }
    };
    0.5 * bandwidth * others.map(one).fold(f64::INFINITY, f64::min)
}

/// How much more is added to the value of a class than to that of another.
fn ahead(offsets: &[f64], top: usize, other: usize) -> f64 {
    if offsets.is_empty() { 0.0 } else { offsets[top] - offsets[other] }
}

/// The terms of the difference between two classes at some rows: a row per row, a column per centre, sizes alone.
pub(super) struct Terms {
    positive: Matrix,
    negative: Matrix,
    /// `P` and `N` of each row.
    sums: Vec<(f64, f64)>,
}

/// Where the centres are, seen from the weighted means of [`Terms`].
pub(super) struct Places {
    /// The squared distance of each centre from the mean of the positive terms, a row per row.
    squared: Matrix,
    /// How far the mean of the negative terms is from it.
    apart: Vec<f64>,
}

impl Terms {
    fn new(kernel: &Matrix, coefficients: &Matrix, pairs: &[(usize, usize)]) -> Self {
        let (rows, n) = (kernel.rows(), kernel.cols());
        let (mut positive, mut negative) = (Matrix::zeros(rows, n), Matrix::zeros(rows, n));
        let mut sums = vec![(0.0, 0.0); rows];
        for (q, &(top, other)) in pairs.iter().enumerate() {
            for (j, k) in kernel.row(q).iter().enumerate() {
                let term = k * (coefficients[(j, top)] - coefficients[(j, other)]);
                if term > 0.0 {
                    positive[(q, j)] = term;
                    sums[q].0 += term;
                } else {
                    negative[(q, j)] = -term;
                    sums[q].1 -= term;
                }
            }
        }
        Self { positive, negative, sums }
    }

    /// The mean distance of a row to the centres of its positive terms, over `l^2`.
    fn away(&self, row: usize, kernel: &[f64], bandwidth: f64) -> f64 {
        let distance = |k: f64| (-2.0 * k.ln()).max(0.0).sqrt() / bandwidth;
        let some = self.positive.row(row).iter().zip(kernel).filter(|(w, _)| **w > 0.0);
        some.map(|(w, k)| w * distance(*k)).sum::<f64>() / self.sums[row].0.max(f64::MIN_POSITIVE)
    }

    /// Weights of the centres that add up to one.
    fn shares(&self) -> (Matrix, Matrix) {
        let (mut positive, mut negative) = (self.positive.clone(), self.negative.clone());
        for (q, &(p, n)) in self.sums.iter().enumerate() {
            positive.row_mut(q).iter_mut().for_each(|v| *v /= p.max(f64::MIN_POSITIVE));
            negative.row_mut(q).iter_mut().for_each(|v| *v /= n.max(f64::MIN_POSITIVE));
        }
        (positive, negative)
    }

    /// By where the centres are, and by what measures from other points to them.
    pub(super) fn by_centres(&self, centres: &Matrix, squared: impl Fn(&Matrix) -> Matrix) -> Places {
        let (positive, negative) = self.shares();
        let (own, other) = (linalg::product(&positive, centres), linalg::product(&negative, centres));
        let apart = |q: usize| own.row(q).iter().zip(other.row(q)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        Places { squared: squared(&own), apart: (0..own.rows()).map(apart).collect() }
    }

    /// By the squared distances between the centres alone: with shares `a` and `b` of them, a centre is at `(D a)_j - a.D a / 2` from
    /// one mean, and the two are at `a.D b - a.D a / 2 - b.D b / 2` from each other.
    fn by_distances(&self, within: &Matrix) -> Places {
        let (positive, negative) = self.shares();
        let (mut squared, other) = (linalg::product(&positive, within), linalg::product(&negative, within));
        let mut apart = Vec::with_capacity(squared.rows());
        for q in 0..squared.rows() {
            let (a, b) = (positive.row(q), negative.row(q));
            let own = linalg::dot(a, squared.row(q));
            let both = linalg::dot(b, squared.row(q)) - 0.5 * (own + linalg::dot(b, other.row(q)));
            apart.push(both.max(0.0).sqrt());
            squared.row_mut(q).iter_mut().for_each(|v| *v = (*v - 0.5 * own).max(0.0));
        }
        Places { squared, apart }
    }
}

/// The certified radius of each row of a kernel, by where the centres are, against so many of the classes that come next to its own.
pub(super) fn gaussian(
    kernel: &Matrix,
    (coefficients, offsets): (&Matrix, &[f64]),
    values: &Matrix,
    decay: Decay,
    (rivals, places): (usize, &dyn Fn(&Terms) -> Places),
) -> Vec<f64> {
    let ranking: Vec<Vec<usize>> = (0..values.rows()).map(|q| ranked(values.row(q))).collect();
    let mut out = vec![f64::INFINITY; values.rows()];
    for rival in 1..=rivals.min(coefficients.cols().saturating_sub(1)) {
        let pairs: Vec<(usize, usize)> = ranking.iter().map(|order| (order[0], order[rival])).collect();
        let terms = Terms::new(kernel, coefficients, &pairs);
        let places = places(&terms);
        for (q, out) in out.iter_mut().enumerate() {
            let largest = kernel.row(q).iter().copied().fold(0.0, f64::max);
            // So far that the nearest centre is still told from zero.
            let most = decay.bandwidth * ((2.0 * FAR).sqrt() - (-2.0 * largest.ln()).max(0.0).sqrt());
            let mut bound = Bound::new(terms.negative.row(q), places.squared.row(q), places.apart[q], decay.bandwidth);
            bound.added = ahead(offsets, pairs[q].0, pairs[q].1);
            bound.away = terms.away(q, kernel.row(q), decay.bandwidth);
            *out = out.min(bound.reach(terms.sums[q], most.min(*out)));
        }
    }
    out
}

/// The classes by their values, the largest first.
fn ranked(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
    order
}

/// What the negative terms are at most, less `N`, for a step of length `r`: `slope r + sum_j w_j (exp(r v_j) - 1 - r v_j)`.
struct Bound {
    slope: f64,
    /// `w_j` and `v_j`.
    terms: Vec<(f64, f64)>,
    /// `b`, `D` and `1 / l^2`.
    added: f64,
    away: f64,
    scale: f64,
}

impl Bound {
    fn new(negative: &[f64], squared: &[f64], apart: f64, bandwidth: f64) -> Self {
        let scale = 1.0 / (bandwidth * bandwidth);
        let some = negative.iter().zip(squared).filter(|(w, _)| **w > 0.0);
        let terms: Vec<(f64, f64)> = some.map(|(w, s)| (*w, scale * s.sqrt())).collect();
        let slope = scale * apart * terms.iter().map(|t| t.0).sum::<f64>();
        Self { slope, terms, added: 0.0, away: 0.0, scale }
    }

    fn at(&self, r: f64) -> f64 {
        let curved = |&(w, v): &(f64, f64)| w * ((r * v).exp_m1() - r * v);
        let lost = if self.added > 0.0 {
            -self.added * (-r * self.away).exp_m1()
        } else {
            -self.added * (0.5 * self.scale * r * r + r * self.away).exp_m1()
        };
        self.slope * r + self.terms.iter().map(curved).sum::<f64>() + lost
    }

    /// How far the class is certain, up to a limit: what is told is never more than the bound allows.
    fn reach(&self, (p, n): (f64, f64), most: f64) -> f64 {
        if n == 0.0 && self.added >= 0.0 {
            return if p + self.added > 0.0 { f64::INFINITY } else { 0.0 };
        }
        let room = p - n + self.added - ROUNDING * (p + n + self.added.abs());
        // Without positive terms there is no mean of them to look from.
        if room <= 0.0 || most <= 0.0 || p <= 0.0 {
            return 0.0;
        }
        // `exp(t) - 1 - t >= t^2 / 2`: the bound is not kept beyond this.
        let curve: f64 = self.terms.iter().map(|(w, v)| w * v * v).sum();
        let beyond = 2.0 * room / (self.slope + (self.slope * self.slope + 2.0 * curve * room).sqrt());
        let (mut low, mut high) = (0.0, beyond.min(most));
        if self.at(high) <= room {
            return high;
        }
        for _ in 0..64 {
            if high - low <= CLOSE * high {
                break;
            }
            let middle = 0.5 * (low + high);
            if self.at(middle) <= room { low = middle } else { high = middle }
        }
        low
    }
}
