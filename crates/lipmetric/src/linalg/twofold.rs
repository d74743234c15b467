//! Numbers of twice the usual precision, where a proof would drown in rounding otherwise.
//!
//! A [`Twofold`] is an unevaluated sum of two numbers, the second below half a unit in the last place of the first: about 106
//! bits. Only what proofs need is here: sums, products, quotients, sums of outer products, and a test for positive matrices.

use super::packed_len;
use crate::Matrix;
use serde::{Deserialize, Serialize};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// What one operation may be off by, relatively: a few units of `2^-106`.
pub(crate) const UNIT: f64 = 1.0 / (1u128 << 102) as f64;

/// `hi + lo`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Twofold {
    pub(crate) hi: f64,
    pub(crate) lo: f64,
}

/// The rounded sum of two numbers and what rounding lost.
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

/// The same where `|a| >= |b|`.
#[inline(always)]
fn quick_two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    (s, b - (s - a))
}

/// The rounded product of two numbers and what rounding lost.
#[inline(always)]
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let p = a * b;
    (p, a.mul_add(b, -p))
}

impl From<f64> for Twofold {
    fn from(hi: f64) -> Self {
        Self { hi, lo: 0.0 }
    }
}

impl Twofold {
    pub(crate) const ZERO: Self = Self { hi: 0.0, lo: 0.0 };

    /// A number that is not above this one, and one that is not below it, a few roundings apart.
    pub(crate) fn below(self) -> f64 {
        (self.hi + self.lo) - 2.0 * f64::EPSILON * self.hi.abs()
    }

    pub(crate) fn above(self) -> f64 {
        (self.hi + self.lo) + 2.0 * f64::EPSILON * self.hi.abs()
    }

    pub(crate) fn value(self) -> f64 {
        self.hi + self.lo
    }
}

impl Add for Twofold {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let (s, e) = two_sum(self.hi, other.hi);
        let (t, f) = two_sum(self.lo, other.lo);
        let (s, e) = quick_two_sum(s, e + t);
        let (hi, lo) = quick_two_sum(s, e + f);
        Self { hi, lo }
    }
}

impl Neg for Twofold {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self { hi: -self.hi, lo: -self.lo }
    }
}

impl Sub for Twofold {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Twofold {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let (p, e) = two_product(self.hi, other.hi);
        let (hi, lo) = quick_two_sum(p, e + (self.hi * other.lo + self.lo * other.hi));
        Self { hi, lo }
    }
}

impl Mul<f64> for Twofold {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: f64) -> Self {
        let (p, e) = two_product(self.hi, other);
        let (hi, lo) = quick_two_sum(p, e + self.lo * other);
        Self { hi, lo }
    }
}

impl Div for Twofold {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let first = self.hi / other.hi;
        let rest = self - other * first;
        let second = rest.hi / other.hi;
        let rest = rest - other * second;
        let (hi, lo) = quick_two_sum(first, second);
        Self { hi, lo } + Self::from(rest.hi / other.hi)
    }
}

/// A matrix of such numbers, the two parts apart so that loops over them become vector instructions.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Twofolds {
    pub(crate) hi: Vec<f64>,
    pub(crate) lo: Vec<f64>,
}

impl Twofolds {
    pub(crate) fn zeros(len: usize) -> Self {
        Self { hi: vec![0.0; len], lo: vec![0.0; len] }
    }

    pub(crate) fn get(&self, k: usize) -> Twofold {
        Twofold { hi: self.hi[k], lo: self.lo[k] }
    }

    pub(crate) fn set(&mut self, k: usize, v: Twofold) {
        (self.hi[k], self.lo[k]) = (v.hi, v.lo);
    }

    /// The difference of two rows of `side` elements, in two parts.
    #[inline(always)]
    pub(crate) fn difference(&self, side: usize, i: usize, j: usize, hi: &mut [f64], lo: &mut [f64]) {
        let row = |of: usize| (&self.hi[of * side..(of + 1) * side], &self.lo[of * side..(of + 1) * side]);
        let ((a, a_rest), (b, b_rest)) = (row(i), row(j));
        let (hi, lo) = (&mut hi[..side], &mut lo[..side]);
        for k in 0..side {
            let d = Twofold { hi: a[k], lo: a_rest[k] } - Twofold { hi: b[k], lo: b_rest[k] };
            (hi[k], lo[k]) = (d.hi, d.lo);
        }
    }

    /// A matrix of so many rows and columns, column by column.
    pub(crate) fn transposed(&self, rows: usize, cols: usize) -> Self {
        let mut out = Self::zeros(rows * cols);
        for i in 0..rows {
            for c in 0..cols {
                out.set(c * rows + i, self.get(i * cols + c));
            }
        }
        out
    }

    /// Adds a multiple of another, element by element.
    pub(crate) fn add_scaled(&mut self, by: Twofold, other: &Self) {
        for k in 0..self.hi.len() {
            self.set(k, self.get(k) + by * other.get(k));
        }
    }

    /// `X F`, row by row: `X` is rows x features, `F` features x columns.
    pub(crate) fn product(x: &Matrix, f: &Matrix) -> Self {
        Self::product_of(x, None, f)
    }

    /// The same where `X` has a second part.
    pub(crate) fn product_of(x: &Matrix, rest: Option<&Matrix>, f: &Matrix) -> Self {
        struct Kernel<'a>(&'a Matrix, Option<&'a Matrix>, &'a Matrix, &'a mut Twofolds);
        impl pulp::NullaryFnOnce for Kernel<'_> {
            type Output = ();
            #[inline(always)]
            fn call(self) {
                let Self(x, rest, f, out) = self;
                let cols = f.cols();
                for i in 0..x.rows() {
                    let hi = &mut out.hi[i * cols..(i + 1) * cols];
                    let lo = &mut out.lo[i * cols..(i + 1) * cols];
                    for (k, &v) in x.row(i).iter().enumerate() {
                        add_multiple(hi, lo, v, f.row(k));
                    }
                    for (k, &v) in rest.iter().flat_map(|r| r.row(i)).enumerate() {
                        add_multiple(hi, lo, v, f.row(k));
                    }
                    for (h, l) in hi.iter_mut().zip(lo) {
                        (*h, *l) = two_sum(*h, *l);
                    }
                }
            }
        }
        let mut out = Self::zeros(x.rows() * f.cols());
        pulp::Arch::new().dispatch(Kernel(x, rest, f, &mut out));
        out
    }
}

/// Adds `v` times plain numbers to a row.
#[inline(always)]
fn add_multiple(hi: &mut [f64], lo: &mut [f64], v: f64, row: &[f64]) {
    let n = row.len();
    let (hi, lo) = (&mut hi[..n], &mut lo[..n]);
    for k in 0..n {
        let (p, e) = two_product(v, row[k]);
        let (s, f) = two_sum(hi[k], p);
        hi[k] = s;
        lo[k] += e + f;
    }
}

/// Outer products that are summed side by side: as many as a vector register holds.
const LANES: usize = 4;

/// Vectors, their weights, and sums of their outer products, each lane by itself.
struct Lanes {
    weight: [f64; LANES],
    hi: Vec<[f64; LANES]>,
    lo: Vec<[f64; LANES]>,
    /// Two parts of each sum: of the weights, and of each element.
    total: ([f64; LANES], [f64; LANES]),
    sum: Vec<([f64; LANES], [f64; LANES])>,
}

impl Lanes {
    fn zeros(side: usize) -> Self {
        let none = [0.0; LANES];
        Self {
            weight: none,
            hi: vec![none; side],
            lo: vec![none; side],
            total: (none, none),
            sum: vec![(none, none); packed_len(side)],
        }
    }

    #[inline(always)]
    fn put(&mut self, lane: usize, weight: f64, hi: &[f64], lo: &[f64]) {
        self.weight[lane] = weight;
        self.hi.iter_mut().zip(hi).for_each(|(out, v)| out[lane] = *v);
        self.lo.iter_mut().zip(lo).for_each(|(out, v)| out[lane] = *v);
    }

    /// Adds `w v v^T` in each lane.
    #[inline(always)]
    fn add(&mut self) {
        for t in 0..LANES {
            let (s, e) = two_sum(self.total.0[t], self.weight[t]);
            self.total.0[t] = s;
            self.total.1[t] += e;
        }
        let mut start = 0;
        for a in 0..self.hi.len() {
            let (mut left, mut rest) = ([0.0; LANES], [0.0; LANES]);
            for t in 0..LANES {
                let (p, e) = two_product(self.hi[a][t], self.weight[t]);
                (left[t], rest[t]) = quick_two_sum(p, e + self.lo[a][t] * self.weight[t]);
            }
            let out = &mut self.sum[start..=start + a];
            for ((out, hi), lo) in out.iter_mut().zip(&self.hi[..=a]).zip(&self.lo[..=a]) {
                for t in 0..LANES {
                    let (p, e) = two_product(left[t], hi[t]);
                    let (s, f) = two_sum(out.0[t], p);
                    out.0[t] = s;
                    out.1[t] += f + (e + (left[t] * lo[t] + rest[t] * hi[t]));
                }
            }
            start += a + 1;
        }
    }

    fn fold_into(&self, out: &mut Outer) {
        let whole = |(hi, lo): &([f64; LANES], [f64; LANES])| {
            hi.iter().zip(lo).fold(Twofold::ZERO, |sum, (h, l)| {
                let (hi, lo) = two_sum(*h, *l);
                sum + Twofold { hi, lo }
            })
        };
        out.terms += LANES;
        out.total = out.total + whole(&self.total);
        for (k, sum) in self.sum.iter().enumerate() {
            out.sum.set(k, out.sum.get(k) + whole(sum));
        }
    }
}

/// A symmetric matrix as a sum of weighted outer products, its lower triangle row by row.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Outer {
    pub(crate) side: usize,
    pub(crate) sum: Twofolds,
    /// How many sums an element went through, at most.
    pub(crate) terms: usize,
    /// The sum of the weights.
    pub(crate) total: Twofold,
}

impl Outer {
    pub(crate) fn zeros(side: usize) -> Self {
        Self { side, sum: Twofolds::zeros(packed_len(side)), terms: 0, total: Twofold::ZERO }
    }

    /// Adds `weight v v^T` for each pair of a list, whose vector `vector` writes.
    pub(crate) fn add_all(
        &mut self,
        count: usize,
        weight: impl Fn(usize) -> f64,
        vector: impl Fn(usize, &mut [f64], &mut [f64]),
    ) {
        struct Kernel<'a, W, V>(&'a mut Outer, usize, W, V);
        impl<W: Fn(usize) -> f64, V: Fn(usize, &mut [f64], &mut [f64])> pulp::NullaryFnOnce for Kernel<'_, W, V> {
            type Output = ();
            #[inline(always)]
            fn call(self) {
                let Self(out, count, weight, vector) = self;
                let (mut hi, mut lo) = (vec![0.0; out.side], vec![0.0; out.side]);
                let mut lanes = Lanes::zeros(out.side);
                let mut filled = 0;
                for k in 0..count {
                    let w = weight(k);
                    if w != 0.0 {
                        vector(k, &mut hi, &mut lo);
                        lanes.put(filled, w, &hi, &lo);
                        out.terms += 1;
                        filled += 1;
                        if filled == LANES {
                            lanes.add();
                            filled = 0;
                        }
                    }
                }
                if filled > 0 {
                    lanes.weight[filled..].fill(0.0);
                    lanes.add();
                }
                lanes.fold_into(out);
            }
        }
        if count > 0 {
            pulp::Arch::new().dispatch(Kernel(self, count, weight, vector));
        }
    }

    /// Adds what another has summed.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.terms += other.terms;
        self.total = self.total + other.total;
        self.sum.add_scaled(Twofold::from(1.0), &other.sum);
    }

    /// An element of the diagonal, where sums are of numbers of one sign.
    pub(crate) fn diagonal(&self, k: usize) -> f64 {
        self.sum.get(packed_len(k) + k).value()
    }
}

/// Whether `sum of factor_k A_k` is positive definite, proved. `A_k` are sums of outer products; `error` is what each coordinate
/// of their vectors may be off by.
///
/// The matrix is scaled so that the diagonal of `sum |factor_k| A_k` is about one. If a triangular factorisation of it less a
/// small multiple of the identity meets positive pivots only, then the matrix itself is positive definite: what rounding can do
/// in the factorisation, the sums and the vectors is below that multiple (as in S. M. Rump, Verification of positive
/// definiteness, 2006).
pub(crate) fn is_positive_definite(parts: &[(Twofold, &Outer)], error: &[f64]) -> bool {
    let Some(side) = parts.first().map(|p| p.1.side) else { return false };
    let mut sum = Twofolds::zeros(packed_len(side));
    let (mut terms, mut weight) = (0, 0.0);
    for (factor, part) in parts {
        sum.add_scaled(*factor, &part.sum);
        terms += part.terms + 8;
        weight += (*factor * part.total).value().abs();
    }
    let mut loss = 0.0f64;
    let mut size = vec![0.0; side];
    for k in 0..side {
        let diagonal: f64 = parts.iter().map(|(f, a)| f.value().abs() * a.diagonal(k)).sum();
        // Also refuses what is not a number.
        if !(diagonal > 0.0 && diagonal.is_finite()) {
            return false;
        }
        size[k] = (-0.5 * diagonal.log2()).round().exp2();
        let off = error.get(k).copied().unwrap_or(0.0) * (weight / diagonal).sqrt();
        loss = loss.max(2.0 * off + off * off);
    }
    // Scaling by powers of two leaves the diagonal of the absolute sums between a half and two.
    let n = side as f64;
    let shift = n * (2.0 * (terms as f64 + 8.0 * n + 16.0) * UNIT + 2.0 * loss);
    for r in 0..side {
        for c in 0..=r {
            let (k, scale) = (packed_len(r) + c, size[r] * size[c]);
            sum.set(k, Twofold { hi: sum.hi[k] * scale, lo: sum.lo[k] * scale });
        }
        let k = packed_len(r) + r;
        sum.set(k, sum.get(k) - Twofold::from(shift));
    }
    pivots_are_positive(&mut sum, side)
}

/// Whether `A = L D L^T` has positive `D`; `A` is overwritten.
fn pivots_are_positive(a: &mut Twofolds, side: usize) -> bool {
    let at = |r: usize, c: usize| packed_len(r) + c;
    let mut column = vec![Twofold::ZERO; side];
    for k in 0..side {
        let pivot = a.get(at(k, k));
        // Also refuses what is not a number.
        if !(pivot.hi > 0.0 && pivot.hi.is_finite()) {
            return false;
        }
        for r in k + 1..side {
            column[r] = a.get(at(r, k)) / pivot;
        }
        for r in k + 1..side {
            for c in k + 1..=r {
                let v = a.get(at(r, c)) - column[r] * a.get(at(c, k));
                a.set(at(r, c), v);
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_and_products_lose_nothing() {
        let d = Twofold::from(1.0) - Twofold::from(1e-20);
        assert_eq!((d.hi, d.lo), (1.0, -1e-20));
        let third = Twofold::from(1.0) / Twofold::from(3.0);
        let whole = third * 3.0 - Twofold::from(1.0);
        assert!(whole.value().abs() < UNIT, "{whole:?}");
        let p = Twofold::from(1.0 + f64::EPSILON) * Twofold::from(1.0 - f64::EPSILON);
        assert_eq!((p - Twofold::from(1.0)).value(), -f64::EPSILON * f64::EPSILON);
    }

    #[test]
    fn sums_keep_what_plain_numbers_would_lose() {
        let x = Matrix::from_rows(&[[1e16, 1.0, -1e16]]);
        let f = Matrix::from_rows(&[[1.0], [1.0], [1.0]]);
        assert_eq!(Twofolds::product(&x, &f).get(0).value(), 1.0);
        let mut outer = Outer::zeros(1);
        outer.add_all(3, |k| [1e16, 1.0, 1e-16][k], |_, hi, lo| (hi[0], lo[0]) = (1.0, 0.0));
        let rest = outer.sum.get(0) - Twofold::from(1e16);
        assert!((rest.value() - (1.0 + 1e-16)).abs() < 1e-15);
        assert_eq!(outer.terms, 3 + LANES);
    }

    fn outer(vectors: &[[f64; 2]]) -> Outer {
        let mut out = Outer::zeros(2);
        out.add_all(
            vectors.len(),
            |_| 1.0,
            |k, hi, lo| {
                hi.copy_from_slice(&vectors[k]);
                lo.fill(0.0);
            },
        );
        out
    }

    #[test]
    fn a_matrix_is_positive_only_where_that_is_proved() {
        let one = Twofold::from(1.0);
        // Positive by 1e-24 in a direction that plain numbers could not tell from zero.
        let whole = outer(&[[1.0, 1.0], [1e-12, -1e-12]]);
        assert!(is_positive_definite(&[(one, &whole)], &[]));
        assert!(!is_positive_definite(&[(one, &whole)], &[1e-13, 1e-13]), "the vectors are not known so well");
        let line = outer(&[[1.0, 1.0]]);
        assert!(!is_positive_definite(&[(one, &line)], &[]), "singular");
        let less = |part: f64| is_positive_definite(&[(one, &whole), (Twofold::from(-part), &whole)], &[]);
        assert!(less(1.0 - 1e-3) && !less(1.0) && !less(1.0 + 1e-9));
        assert!(!is_positive_definite(&[], &[]));
    }
}
