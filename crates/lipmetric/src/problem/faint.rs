//! Directions in which rows vary far less than in others.

use crate::Matrix;
use crate::linalg::{
    self,
    twofold::{Twofold, Twofolds},
};

/// A coordinate of a row is known up to this part of the sizes of the products that it is the sum of: some fifty roundings, of
/// cells that were computed from others and of the direction.
const NOISE: f64 = 1e-14;
/// How often a direction is freed of the coordinates that are used: once for them, once for rounding.
const ROUNDS: usize = 2;

/// Rows, those of them that count, and the coordinates that are used: coordinates x features.
pub(super) struct Faint<'a> {
    pub(super) x: &'a Matrix,
    pub(super) used: &'a [usize],
    pub(super) back: &'a Matrix,
}

impl Faint<'_> {
    /// Those of the other directions in which the rows vary by more than rounding, each less what the used coordinates show
    /// of it.
    pub(super) fn directions(&self, others: impl Iterator<Item = Vec<f64>>) -> Matrix {
        // So many rows cannot vary in more directions.
        if self.back.rows() + 1 >= self.used.len() {
            return Matrix::default();
        }
        let rows = self.x.select_rows(self.used);
        let mut seen = None;
        let mut found: Vec<Vec<f64>> = Vec::new();
        for other in others {
            let size: Vec<f64> = other.iter().map(|v| v.abs()).collect();
            if varies(&rows, &other, &size) {
                let seen = seen.get_or_insert_with(|| self.seen(&rows));
                found.extend(self.freed(other, size, &rows, seen));
            }
        }
        Matrix::from_vec(found.len(), self.x.cols(), found.concat()).unwrap_or_default()
    }

    /// The used coordinates of the rows about their means, a coordinate each.
    fn seen(&self, rows: &Matrix) -> Vec<Vec<f64>> {
        (0..self.back.rows()).map(|k| about_mean(&mapped(rows, self.back.row(k)))).collect()
    }

    /// A direction less what the used coordinates show of it; none if that is no more than rounding. `size` is what its elements
    /// were made of.
    fn freed(&self, mut direction: Vec<f64>, mut size: Vec<f64>, rows: &Matrix, seen: &[Vec<f64>]) -> Option<Vec<f64>> {
        for _ in 0..ROUNDS {
            let along = about_mean(&mapped(rows, &direction));
            for (k, column) in seen.iter().enumerate() {
                let part = linalg::dot(&along, column) / linalg::dot(column, column);
                for (a, b) in self.back.row(k).iter().enumerate() {
                    direction[a] -= part * b;
                    size[a] = size[a].max((part * b).abs());
                }
            }
        }
        varies(rows, &direction, &size).then_some(direction)
    }
}

/// Whether rows vary in a direction by more than rounding: whether no number is a coordinate of all of them, as far as these are
/// known.
fn varies(rows: &Matrix, direction: &[f64], size: &[f64]) -> bool {
    let along = mapped(rows, direction);
    let Some(first) = along.first().copied() else { return false };
    let (mut from, mut to) = (f64::NEG_INFINITY, f64::INFINITY);
    for (i, v) in along.iter().enumerate() {
        let sizes: f64 = rows.row(i).iter().zip(size).map(|(x, s)| (x * s).abs()).sum();
        // From the first row, so that a common offset does not hide what rows differ by.
        let (v, about) = ((*v - first).value(), NOISE * sizes);
        (from, to) = (from.max(v - about), to.min(v + about));
    }
    from > to
}

/// The coordinate of each row along a direction.
fn mapped(rows: &Matrix, direction: &[f64]) -> Vec<Twofold> {
    let column = Matrix::from_vec(direction.len(), 1, direction.to_vec()).unwrap_or_default();
    let found = Twofolds::product(rows, &column);
    (0..rows.rows()).map(|i| found.get(i)).collect()
}

fn about_mean(values: &[Twofold]) -> Vec<f64> {
    let sum = values.iter().fold(Twofold::ZERO, |sum, v| sum + *v);
    let mean = Twofold::from(sum.value() / values.len() as f64);
    values.iter().map(|v| (*v - mean).value()).collect()
}

/// What looking for a rounding of a row may cost, in products: some milliseconds.
const WORK: usize = 1_000_000;
/// How much longer a row becomes from one rounding to the next: so little that no figure shows it, and so much that the last
/// digits of all its elements change.
const STEP: f64 = 1.0 / (1u64 << 48) as f64;
/// A rounding that moves coordinates by less than this part of the row is good enough.
const ENOUGH: f64 = 1e-13;

/// The factor on the features (components x features) of one in coordinates (components x coordinates), some of which are much
/// weaker than others, the weakest last.
///
/// The elements that a weak direction gives are large and cancel along the strong ones, so that their last digits show there.
/// So the components are rotated until the weaker a direction, the fewer of them see it; and of many roundings, each of a row
/// that is a little longer, the one is taken that moves the strong coordinates least.
pub(super) fn exactly_rounded(inner: &Matrix, back: &Matrix, forth: &Matrix) -> Matrix {
    let inner = echelon(inner);
    let p = back.cols();
    let exact = Twofolds::product(&inner, back);
    let mut out = Matrix::zeros(inner.rows(), p);
    for i in 0..inner.rows() {
        let row: Vec<Twofold> = (0..p).map(|a| exact.get(i * p + a)).collect();
        let enough = ENOUGH * linalg::dot(inner.row(i), inner.row(i)).sqrt();
        out.row_mut(i).copy_from_slice(&best_rounding(&row, forth, enough * enough));
    }
    out
}

fn best_rounding(row: &[Twofold], forth: &Matrix, enough: f64) -> Vec<f64> {
    let (mut least, mut best) = (f64::INFINITY, Vec::new());
    for k in 0..(WORK / (row.len() * forth.cols()).max(1)).max(1) {
        let longer = Twofold::from(1.0) + Twofold::from(k as f64 * STEP);
        let wanted: Vec<Twofold> = row.iter().map(|v| *v * longer).collect();
        let plain: Vec<f64> = wanted.iter().map(|v| v.value()).collect();
        let off: Vec<f64> = wanted.iter().zip(&plain).map(|(w, p)| (*w - Twofold::from(*p)).value()).collect();
        let moved = |c: usize| off.iter().enumerate().map(|(a, o)| o * forth[(a, c)]).sum::<f64>();
        let loss: f64 = (0..forth.cols()).map(moved).map(|m| m * m).sum();
        if loss < least || best.is_empty() {
            (least, best) = (loss, plain);
        }
        if least <= enough {
            break;
        }
    }
    best
}

/// Rotates the rows of a matrix until the last column has one nonzero element, the one before it two, and so on.
fn echelon(m: &Matrix) -> Matrix {
    let mut out = m.clone();
    let (rows, cols) = (m.rows(), m.cols());
    for (top, c) in (0..cols).rev().enumerate() {
        for r in top + 1..rows {
            let (a, b) = (out[(top, c)], out[(r, c)]);
            let length = a.hypot(b);
            if b == 0.0 || length == 0.0 {
                continue;
            }
            let (cos, sin) = (a / length, b / length);
            for k in 0..cols {
                let (u, v) = (out[(top, k)], out[(r, k)]);
                (out[(top, k)], out[(r, k)]) = (cos * u + sin * v, cos * v - sin * u);
            }
            out[(r, c)] = 0.0;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_rotated_so_that_few_see_the_last_columns() {
        let m = Matrix::from_rows(&[[1.0, 2.0, 3.0], [-0.5, 0.3, 4.0], [2.0, 0.1, -1.0]]);
        let e = echelon(&m);
        assert_eq!((e[(1, 2)], e[(2, 2)], e[(2, 1)]), (0.0, 0.0, 0.0));
        let (a, b) = (linalg::transposed_product(&m, &m), linalg::transposed_product(&e, &e));
        for (a, b) in a.as_slice().iter().zip(b.as_slice()) {
            assert!((a - b).abs() < 1e-13, "{a} {b}");
        }
    }

    #[test]
    fn a_factor_is_rounded_so_that_strong_directions_do_not_notice() {
        // Two features that are equal but for 1e-12.
        let (s, t) = (0.571_318_2, 0.820_729_9);
        let back = Matrix::from_rows(&[[s, t], [-t / 1e-12, s / 1e-12]]);
        let forth = Matrix::from_rows(&[[s, -t * 1e-12], [t, s * 1e-12]]);
        let inner = Matrix::from_rows(&[[0.3, 1.0], [0.9, -0.2]]);
        // The length of a step along the strong direction, in twice the usual precision.
        let step = Matrix::from_rows(&[[s], [t]]);
        let seen = Twofolds::product(&back, &step);
        let square = |v: Twofold| v * v;
        let meant = (0..2).map(|r| seen.get(0) * inner[(r, 0)] + seen.get(1) * inner[(r, 1)]).map(square);
        let meant = meant.fold(Twofold::ZERO, |sum, v| sum + v);
        let wrong = |factor: &Matrix| {
            let found = Twofolds::product(factor, &step);
            ((0..2).map(|r| square(found.get(r))).fold(-meant, |sum, v| sum + v)).value().abs()
        };
        let (plain, careful) = (wrong(&linalg::product(&inner, &back)), wrong(&exactly_rounded(&inner, &back, &forth)));
        assert!(careful < 1e-7 && careful < 0.1 * plain, "{careful} {plain}");
    }

    #[test]
    fn a_direction_is_faint_where_rows_vary_in_it_and_none_where_only_rounding_does() {
        let row = |a: f64, b: f64| [a, b, a + b];
        let x = Matrix::from_rows(&[row(0.1, 0.7), row(1.3, -0.2), row(2.5, 0.9), row(-1.0, 4.0), row(3e9, 0.3)]);
        let back = Matrix::from_rows(&[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
        let used = [0, 1, 2, 3, 4];
        let other = vec![-1.0, -1.0, 1.0];
        assert_eq!(Faint { x: &x, used: &used, back: &back }.directions(std::iter::once(other.clone())).rows(), 0);
        // The far row decides alone over the first direction; what is perpendicular to it is real all the same.
        let far = Matrix::from_rows(&[[1e17, 1e17], [0.3, 0.1], [0.2, 0.5], [0.7, 0.9]]);
        let along = Matrix::from_rows(&[[1e-17, 1e-17]]);
        let faint = Faint { x: &far, used: &[0, 1, 2, 3], back: &along };
        assert_eq!(faint.directions(std::iter::once(vec![1.0, -1.0])).rows(), 1);
    }
}
