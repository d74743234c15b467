//! The Newton matrix, factored.
//!
//! With a slack per row most of its variables are slacks. Points of one class share no row, so that their block is
//! diagonal: the largest class goes first, at the price of its rows, and what is left is dense.

use super::State;
use super::assemble::Scaled;
use super::newton::not_definite;
use crate::linalg::packed_len;
use crate::linalg::{self, Cholesky};
use crate::{Matrix, Result};

/// The part of the diagonal that is added first where elimination fails, a hundred roundings, ...
const FIRST_SHIFT: f64 = 1e-14;
/// ... how much more is tried next, ...
const LARGER: f64 = 100.0;
/// ... and where the direction would be another one.
const MOST_SHIFT: f64 = 1e-4;

/// What the Newton matrix is the sum of: `h_k v_k v_k^T` over the rows, a diagonal, and what an anchor adds. The variables
/// are the slacks, the packed matrix, the scalar.
pub(super) struct Parts<'a> {
    pub(super) scaled: &'a Scaled<'a>,
    pub(super) state: &'a State,
    pub(super) h: &'a [f64],
    pub(super) diagonal: &'a [f64],
    /// `gamma` and `W`: the term `gamma W D W`.
    pub(super) quadratic: Option<&'a (f64, Matrix)>,
}

/// Slacks that are eliminated first, and the factor of what is left.
pub(super) struct Factor {
    /// The variables that are eliminated first, ...
    first: Vec<usize>,
    /// ... their diagonal elements, ...
    pivots: Vec<f64>,
    /// ... their other elements: places among the rest, ...
    sparse: Vec<Vec<(usize, f64)>>,
    /// ... and those of the matrix and the scalar, which are last.
    dense: Matrix,
    /// The variables that are left, in order.
    rest: Vec<usize>,
    factor: Cholesky,
}

impl Parts<'_> {
    /// By elimination, with a growing multiple of the diagonal added where rounding made the matrix indefinite.
    pub(super) fn factor(&self, class: &[u32]) -> Result<Factor> {
        let mut shift = 0.0;
        while shift < MOST_SHIFT {
            if let Some(factor) = self.eliminate(class, shift) {
                return Ok(factor);
            }
            shift = if shift == 0.0 { FIRST_SHIFT } else { LARGER * shift };
        }
        Err(not_definite("the Newton matrix"))
    }

    /// By an orthogonal transformation of the rows: slower, and accurate where their weights span many orders of magnitude.
    pub(super) fn factor_carefully(&self) -> Option<Factor> {
        if self.quadratic.is_some() {
            return None;
        }
        let (rows, n) = (&self.state.rows, self.diagonal.len());
        let slacks = self.state.active.len();
        let mut stacked = Matrix::zeros(rows.len() + n, n);
        let mut d = vec![0.0; self.scaled.x.cols()];
        for k in 0..rows.len() {
            let root = self.h[k].sqrt();
            let row = stacked.row_mut(k);
            self.scaled.expand(k, root, &mut d, &mut row[slacks..]);
            if let Some((a, b)) = self.slacks_of(k) {
                row[a] = root;
                row[b] = root;
            }
        }
        for (k, v) in self.diagonal.iter().enumerate() {
            stacked[(rows.len() + k, k)] = v.sqrt();
        }
        let factor = Cholesky::of_rows(&stacked)?;
        let none = Matrix::zeros(0, n - slacks);
        Some(Factor {
            first: Vec::new(),
            pivots: Vec::new(),
            sparse: Vec::new(),
            dense: none,
            rest: (0..n).collect(),
            factor,
        })
    }

    /// The slacks in row `k`.
    fn slacks_of(&self, k: usize) -> Option<(usize, usize)> {
        let (state, rows) = (self.state, &self.state.rows);
        if state.active.is_empty() || !rows.push[k] {
            return None;
        }
        let (i, j) = rows.pair(k)?;
        Some((state.place[i] as usize, state.place[j] as usize))
    }

    fn eliminate(&self, class: &[u32], shift: f64) -> Option<Factor> {
        let active = &self.state.active;
        let width = packed_len(self.scaled.x.cols()) + 1;
        let goes = largest(active, class);
        let (mut first, mut rest, mut place) = (Vec::new(), Vec::new(), Vec::with_capacity(active.len()));
        for (k, &point) in active.iter().enumerate() {
            let order = if Some(class[point as usize]) == goes { &mut first } else { &mut rest };
            place.push(order.len());
            order.push(k);
        }
        let kept = rest.len();
        let m = kept + width;
        rest.extend(active.len()..active.len() + width);
        let mut matrix = vec![0.0; m * m];
        for (c, column) in self.scaled.gram(self.h).chunks_exact(width).enumerate() {
            let at = (kept + c) * m + kept;
            matrix[at + c..at + width].copy_from_slice(&column[c..]);
        }
        let mut pivots = vec![0.0; first.len()];
        let mut sparse = vec![Vec::new(); first.len()];
        let mut dense = Matrix::zeros(first.len(), width);
        let (mut row, mut d) = (vec![0.0; width], vec![0.0; self.scaled.x.cols()]);
        let gone = |k: usize| Some(class[active[k] as usize]) == goes;
        for k in 0..self.h.len() {
            let Some((a, b)) = self.slacks_of(k) else { continue };
            let h = self.h[k];
            self.scaled.expand(k, h, &mut d, &mut row);
            for (at, other) in [(a, b), (b, a)] {
                let (to, other_to) = (place[at], place[other]);
                let own = if gone(at) {
                    pivots[to] += h;
                    sparse[to].push((other_to, h));
                    dense.row_mut(to)
                } else {
                    matrix[to * m + to] += h;
                    if !gone(other) && other_to > to {
                        matrix[to * m + other_to] += h;
                    }
                    &mut matrix[to * m + kept..(to + 1) * m]
                };
                own.iter_mut().zip(&row).for_each(|(o, v)| *o += v);
            }
        }
        for (k, &variable) in first.iter().enumerate() {
            pivots[k] = (pivots[k] + self.diagonal[variable]) * (1.0 + shift);
        }
        for (k, &variable) in rest.iter().enumerate() {
            matrix[k * m + k] += self.diagonal[variable];
        }
        if let Some((gamma, w)) = self.quadratic {
            add_quadratic(&mut matrix, *gamma, w, kept, m);
        }
        (0..m).for_each(|k| matrix[k * m + k] *= 1.0 + shift);
        let mut scaled = dense.clone();
        for e in 0..first.len() {
            let inverse = 1.0 / pivots[e];
            for &(c, v) in &sparse[e] {
                let by = v * inverse;
                for &(r, u) in sparse[e].iter().filter(|(r, _)| *r >= c) {
                    matrix[c * m + r] -= by * u;
                }
                matrix[c * m + kept..(c + 1) * m].iter_mut().zip(dense.row(e)).for_each(|(o, u)| *o -= by * u);
            }
            let root = inverse.sqrt();
            scaled.row_mut(e).iter_mut().for_each(|v| *v *= root);
        }
        if !first.is_empty() {
            let product = linalg::transposed_product(&scaled, &scaled);
            for c in 0..width {
                let at = (kept + c) * m + kept;
                matrix[at + c..at + width].iter_mut().zip(&product.row(c)[c..]).for_each(|(o, v)| *o -= v);
            }
        }
        let factor = Cholesky::factor(matrix, m)?;
        Some(Factor { first, pivots, sparse, dense, rest, factor })
    }
}

impl Factor {
    /// `x <- A^-1 x`.
    pub(super) fn solve(&self, x: &mut [f64]) {
        let kept = self.rest.len() - self.dense.cols();
        let mut left: Vec<f64> = self.rest.iter().map(|&k| x[k]).collect();
        for (e, &variable) in self.first.iter().enumerate() {
            let t = x[variable] / self.pivots[e];
            self.sparse[e].iter().for_each(|&(r, v)| left[r] -= t * v);
            left[kept..].iter_mut().zip(self.dense.row(e)).for_each(|(o, v)| *o -= t * v);
        }
        self.factor.solve(&mut left);
        for (e, &variable) in self.first.iter().enumerate() {
            let sparse: f64 = self.sparse[e].iter().map(|&(r, v)| v * left[r]).sum();
            let known = sparse + linalg::dot(&left[kept..], self.dense.row(e));
            x[variable] = (x[variable] - known) / self.pivots[e];
        }
        self.rest.iter().zip(&left).for_each(|(&k, v)| x[k] = *v);
    }
}

/// The class with the most of these points.
fn largest(points: &[u32], class: &[u32]) -> Option<u32> {
    let mut count = vec![0usize; points.iter().map(|&i| class[i as usize] as usize + 1).max()?];
    points.iter().for_each(|&i| count[class[i as usize] as usize] += 1);
    (0..count.len()).rev().max_by_key(|&c| count[c]).map(|c| c as u32)
}

/// Adds `gamma W D W`, as a linear map of the packed `D`, to the lower triangle of a column-major matrix.
fn add_quadratic(matrix: &mut [f64], gamma: f64, w: &Matrix, from: usize, n: usize) {
    let p = w.rows();
    let places: Vec<(usize, usize)> = (0..p).flat_map(|a| (0..=a).map(move |b| (a, b))).collect();
    for (column, &(c, d)) in places.iter().enumerate() {
        for (row, &(a, b)) in places.iter().enumerate().skip(column) {
            let both = w[(a, c)] * w[(b, d)] + w[(a, d)] * w[(b, c)];
            let norm = if a == b { std::f64::consts::FRAC_1_SQRT_2 } else { 1.0 }
                * if c == d { std::f64::consts::FRAC_1_SQRT_2 } else { 1.0 };
            matrix[(from + column) * n + from + row] += gamma * norm * both;
        }
    }
}
