//! A preconditioner of the Newton system where there are many coordinates and few rows.
//!
//! In the eigenbasis the cone's part of the Hessian is diagonal and nearly constant on three blocks: both indices on the
//! metric's side, both on its multiplier's side, one on either. With constants there, the rows enter through a matrix of
//! their own size, `K = 1 + F D^-1 F^T`, whose elements are products of inner products of differences.

use crate::Matrix;
use crate::linalg::{self, Cholesky};

/// Rows up to which the matrix of their size is factorised.
pub(super) const MOST_ROWS: usize = 4000;

/// `(D + F^T F)^-1` with `D` constant on blocks.
pub(super) struct Blocks<'a> {
    differences: [&'a Matrix; 2],
    inverse: Matrix,
    small: Cholesky,
}

impl<'a> Blocks<'a> {
    /// From the differences of two sets of rows and the diagonal; the first `split` coordinates are the metric's side.
    pub(super) fn new(differences: [&'a Matrix; 2], diagonal: &Matrix, split: usize) -> Option<Self> {
        let p = diagonal.rows();
        let count = differences[0].rows() + differences[1].rows();
        if count == 0 || count > MOST_ROWS {
            return None;
        }
        let block = |a: std::ops::Range<usize>, b: std::ops::Range<usize>| {
            let number = (a.len() * b.len()).max(1) as f64;
            let logs: f64 = a.map(|i| b.clone().map(|j| diagonal[(i, j)].max(1e-300).ln()).sum::<f64>()).sum();
            (logs / number).exp()
        };
        let (own, across, other) = (block(0..split, 0..split), block(0..split, split..p), block(split..p, split..p));
        let mut inverse = Matrix::zeros(p, p);
        for i in 0..p {
            for j in 0..p {
                inverse[(i, j)] = 1.0
                    / match (i < split, j < split) {
                        (true, true) => own,
                        (false, false) => other,
                        _ => across,
                    };
            }
        }
        let side = |range: std::ops::Range<usize>| {
            let mut out = Matrix::zeros(count, range.len());
            let rows = differences.iter().flat_map(|d| (0..d.rows()).map(move |k| d.row(k)));
            for (k, row) in rows.enumerate() {
                out.row_mut(k).copy_from_slice(&row[range.clone()]);
            }
            linalg::product_transposed(&out, &out)
        };
        let (mut k, second) = (side(0..split), side(split..p));
        for (a, b) in k.as_mut_slice().iter_mut().zip(second.as_slice()) {
            *a = *a * *a / own + 2.0 * *a * b / across + b * b / other;
        }
        (0..count).for_each(|i| k[(i, i)] += 1.0);
        Some(Self { differences, inverse, small: Cholesky::factor(k.into_vec(), count)? })
    }

    pub(super) fn apply(&self, r: &Matrix) -> Matrix {
        let mut out = r.clone();
        out.as_mut_slice().iter_mut().zip(self.inverse.as_slice()).for_each(|(o, t)| *o *= t);
        let mut values = Vec::new();
        for d in self.differences {
            let image = linalg::product(d, &out);
            values.extend((0..d.rows()).map(|k| linalg::dot(image.row(k), d.row(k))));
        }
        self.small.solve(&mut values);
        let mut back = Matrix::zeros(r.rows(), r.rows());
        let mut at = 0;
        for d in self.differences {
            let mut weighted = d.clone();
            for k in 0..d.rows() {
                weighted.row_mut(k).iter_mut().for_each(|v| *v *= values[at + k]);
            }
            at += d.rows();
            linalg::add_scaled(&mut back, 1.0, &linalg::transposed_product(d, &weighted));
        }
        back.as_mut_slice().iter_mut().zip(self.inverse.as_slice()).for_each(|(b, t)| *b *= t);
        linalg::add_scaled(&mut out, -1.0, &back);
        linalg::symmetrise(&mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_a_diagonal_that_is_constant_on_blocks_it_is_the_inverse() {
        let p = 5;
        let split = 2;
        let mut diagonal = Matrix::zeros(p, p);
        for i in 0..p {
            for j in 0..p {
                diagonal[(i, j)] = [[0.3, 1.5], [1.5, 4.0]][usize::from(i >= split)][usize::from(j >= split)];
            }
        }
        let rows = |seed: usize, count: usize| {
            let data = (0..count * p).map(|k| ((k * 7919 + seed * 31) % 97) as f64 / 48.0 - 1.0).collect();
            Matrix::from_vec(count, p, data).unwrap()
        };
        let (first, second) = (rows(1, 4), rows(2, 3));
        let blocks = Blocks::new([&first, &second], &diagonal, split).unwrap();
        let mut m = rows(3, p);
        linalg::symmetrise(&mut m);
        // H m, and back.
        let mut image = m.clone();
        image.as_mut_slice().iter_mut().zip(diagonal.as_slice()).for_each(|(v, t)| *v *= t);
        for d in [&first, &second] {
            for k in 0..d.rows() {
                let row = Matrix::from_vec(1, p, d.row(k).to_vec()).unwrap();
                let outer = linalg::transposed_product(&row, &row);
                linalg::add_scaled(&mut image, linalg::inner(&outer, &m), &outer);
            }
        }
        for (a, b) in blocks.apply(&image).as_slice().iter().zip(m.as_slice()) {
            assert!((a - b).abs() < 1e-10, "{a} {b}");
        }
    }
}
