//! Dual feasibility where rounding has lost it.
//!
//! Late in the iteration the Newton matrix spans many orders of magnitude and the multipliers drift away from
//! `sum lambda A + Z = 0`. The smallest change that leads back, each multiplier measured by its distance from the ends of its
//! range and `Z` by itself, solves a system of the same form with moderate weights.

use super::assemble::Scaled;
use super::factor::Parts;
use super::newton::{Scaling, residual};
use super::{Shape, State};
use crate::linalg::{self, Cholesky};
use crate::linalg::{pack_lower, packed_len, unpack_lower};
use crate::{Matrix, Result, pairs::Cloud};

/// The part of its distance from the ends of its range that a multiplier may move.
const MOST: f64 = 0.5;
/// Solutions of the system, each from what the one before has left.
const TIMES: usize = 2;

impl State {
    /// Moves the multipliers back to where they agree with `Z`; leaves the point alone where that is too far.
    pub(super) fn restore(&mut self, cloud: &Cloud, shape: &Shape) -> Result<()> {
        let scaling = Scaling::new(&self.m, &self.z)?;
        let (slacks, p) = (self.active.len(), self.m.rows());
        let q = packed_len(p);
        let n = slacks + q + 1;
        let scaled = Scaled::new(cloud, self, &scaling.g);
        let reach: Vec<f64> = self.rows.lambda.iter().zip(&self.rows.cap).map(|(l, cap)| l.min(cap - l)).collect();
        let h: Vec<f64> = reach.iter().map(|r| r * r).collect();
        let own = self.reduced.iter().map(|u| u * u);
        let of_z = (0..p).flat_map(|r| (0..=r).map(move |c| (r, c))).map(|(r, c)| scaling.v[r] * scaling.v[c]);
        let scalar = std::iter::once(if shape.scalar { 0.0 } else { 1.0 });
        let diagonal: Vec<f64> = own.chain(of_z).chain(scalar).collect();
        let factor =
            Parts { scaled: &scaled, state: self, h: &h, diagonal: &diagonal, quadratic: None }.factor(&cloud.class)?;
        let mut moved = self.clone();
        let mut change = Matrix::zeros(p, p);
        for _ in 0..TIMES {
            let (mut left, scalar, mut y) = residual(cloud, &moved, shape, &scaled, &scaling);
            linalg::add_scaled(&mut left, -1.0, &change);
            y.resize(n, 0.0);
            pack_lower(&left, &mut y[slacks..n - 1]);
            y[n - 1] = scalar;
            factor.solve(&mut y);
            let matrix = unpack_lower(&y[slacks..n - 1], p);
            for r in 0..p {
                for c in 0..p {
                    change[(r, c)] += scaling.v[r] * scaling.v[c] * matrix[(r, c)];
                }
            }
            let along = scaled.products(&matrix, y[n - 1]);
            for k in 0..along.len() {
                let own = match self.rows.pair(k) {
                    Some((i, j)) if slacks > 0 && self.rows.push[k] => {
                        y[self.place[i] as usize] + y[self.place[j] as usize]
                    }
                    _ => 0.0,
                };
                moved.rows.lambda[k] += h[k] * (along[k] + own);
            }
            for (k, u) in moved.reduced.iter_mut().enumerate() {
                *u += self.reduced[k] * self.reduced[k] * y[k];
            }
        }
        let near = |new: &[f64], old: &[f64], reach: &[f64]| {
            new.iter().zip(old).zip(reach).all(|((a, b), r)| (a - b).abs() <= MOST * r)
        };
        if !near(&moved.rows.lambda, &self.rows.lambda, &reach) || !near(&moved.reduced, &self.reduced, &self.reduced) {
            return Ok(());
        }
        let (mut z, push) = moved.sums(cloud);
        linalg::add_scaled(&mut z, -1.0, &push);
        if let Some((gamma, reference)) = &self.anchor {
            linalg::add_scaled(&mut z, *gamma, &self.m);
            linalg::add_scaled(&mut z, -gamma, reference);
        }
        if Cholesky::of(&z).is_some() {
            moved.z = z;
            *self = moved;
        }
        Ok(())
    }
}
