//! The slacks of rows in a linear system, eliminated.
//!
//! With `F` the features of some pairs (in a Newton system those whose hinge is strictly between its bounds), `B` the two ones of each such pair at its rows,
//! and `S` their penalties, the system is
//! `[F^T S F + ..., F^T S B; B^T S F, K]` with `K = B^T S B + shift`, over the slacks that can move.

use crate::Matrix;
use crate::linalg::{self, Peeled};

/// A slack that cannot move.
const HELD: u32 = u32::MAX;

/// `K`, and where each pair's slacks are in it.
pub(crate) struct Links {
    /// The place of each point's slack in the system.
    place: Vec<u32>,
    /// The places of each pair's slacks, and the root of its penalty.
    ends: Vec<(u32, u32, f64)>,
    system: Peeled,
    count: usize,
}

impl Links {
    /// Of pairs with their penalties, where `free` tells which slacks can move.
    pub(crate) fn new(pairs: &[(u32, u32, f64)], free: &[bool], shift: &[f64]) -> Option<Self> {
        let mut place = vec![HELD; free.len()];
        let mut diagonal = Vec::new();
        for i in (0..free.len()).filter(|&i| free[i]) {
            place[i] = diagonal.len() as u32;
            diagonal.push(shift[i]);
        }
        let count = diagonal.len();
        let mut coupled = Vec::new();
        let mut ends = Vec::with_capacity(pairs.len());
        for &(i, j, sigma) in pairs {
            let (a, b) = (place[i as usize], place[j as usize]);
            for at in [a, b].into_iter().filter(|&at| at != HELD) {
                diagonal[at as usize] += sigma;
            }
            if a != HELD && b != HELD {
                coupled.push((a, b, sigma));
            }
            ends.push((a, b, sigma.sqrt()));
        }
        let system = Peeled::factor(diagonal, coupled.into_iter())?;
        Some(Self { place, ends, system, count })
    }

    /// `S^1/2 B y` of every pair.
    pub(crate) fn along(&self, y: &[f64]) -> Vec<f64> {
        let of = |at: u32| if at == HELD { 0.0 } else { y[at as usize] };
        self.ends.iter().map(|&(a, b, root)| root * (of(a) + of(b))).collect()
    }

    /// `B^T S^1/2 v`.
    fn gathered(&self, v: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.count];
        for (&(a, b, root), v) in self.ends.iter().zip(v) {
            for at in [a, b].into_iter().filter(|&at| at != HELD) {
                out[at as usize] += root * v;
            }
        }
        out
    }

    fn solve(&self, y: Vec<f64>) -> Vec<f64> {
        let mut x = Matrix::zeros(self.count, 1);
        x.as_mut_slice().copy_from_slice(&y);
        self.system.solve(&mut x);
        x.into_vec()
    }

    /// `K^-1 g`, of the slacks that can move.
    pub(crate) fn solved(&self, gradient: &[f64]) -> Vec<f64> {
        self.solve(self.moving(gradient).collect())
    }

    fn moving<'a>(&'a self, all: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        self.place.iter().zip(all).filter(|p| *p.0 != HELD).map(|p| *p.1)
    }

    /// `v <- (I - S^1/2 B K^-1 B^T S^1/2) v`: what the pairs see of a move of the metric where the slacks follow it.
    pub(crate) fn project(&self, v: &mut [f64]) {
        let moved = self.along(&self.solve(self.gathered(v)));
        v.iter_mut().zip(moved).for_each(|(v, m)| *v -= m);
    }

    /// The step of all slacks, `-K^-1 (g + B^T S^1/2 v)`, after the metric's, with the values `v` that the pairs see of that.
    pub(crate) fn step(&self, gradient: &[f64], v: &[f64]) -> Vec<f64> {
        let right = self.gathered(v).iter().zip(self.moving(gradient)).map(|(c, g)| -(c + g)).collect();
        let solved = self.solve(right);
        self.place.iter().map(|&at| if at == HELD { 0.0 } else { solved[at as usize] }).collect()
    }

    /// `H -= C^T K^-1 C` with `C = B^T S^1/2 F`; `feature` writes a row of `S^1/2 F`.
    pub(crate) fn subtract(&self, h: &mut Matrix, feature: impl Fn(usize, &mut [f64])) {
        let q = h.rows();
        let mut c = Matrix::zeros(self.count, q);
        let mut f = vec![0.0; q];
        for (k, &(a, b, root)) in self.ends.iter().enumerate() {
            feature(k, &mut f);
            for at in [a, b].into_iter().filter(|&at| at != HELD) {
                c.row_mut(at as usize).iter_mut().zip(&f).for_each(|(c, f)| *c += root * f);
            }
        }
        let mut solved = c.clone();
        self.system.solve(&mut solved);
        linalg::add_scaled(h, -1.0, &linalg::transposed_product(&c, &solved));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eliminated_slacks_solve_the_whole_system() {
        // Three pairs of four points, the last of which cannot move; the metric is one number, with features 1, 2 and 3.
        let pairs = [(0, 1, 4.0), (1, 2, 9.0), (2, 3, 1.0)];
        let (free, shift, gradient) = ([true, true, true, false], [0.1, 0.2, 0.3, 0.4], [0.5, -0.4, 0.3, 7.0]);
        let links = Links::new(&pairs, &free, &shift).unwrap();
        let feature = [1.0, 2.0, 3.0];
        let root = [2.0, 3.0, 1.0];
        // The whole system, unknowns: metric, slacks 0 to 2.
        let mut h = Matrix::zeros(4, 4);
        h[(0, 0)] = 0.5;
        for (k, &(i, j, sigma)) in pairs.iter().enumerate() {
            let row: Vec<f64> = (0..4)
                .map(|c| match c {
                    0 => feature[k],
                    c if c as u32 == i + 1 || c as u32 == j + 1 => 1.0,
                    _ => 0.0,
                })
                .collect();
            for a in 0..4 {
                for b in 0..4 {
                    h[(a, b)] += sigma * row[a] * row[b];
                }
            }
        }
        (0..3).for_each(|k| h[(k + 1, k + 1)] += shift[k]);
        let mut wanted = [-0.7, -0.5, 0.4, -0.3];
        linalg::Cholesky::of(&h).unwrap().solve(&mut wanted);
        // The metric first, then the slacks.
        let mut small = Matrix::from_rows(&[[h[(0, 0)]]]);
        links.subtract(&mut small, |k, f| f[0] = root[k] * feature[k]);
        let seen: f64 =
            links.along(&links.solved(&gradient)).iter().zip(root).zip(feature).map(|((s, r), f)| s * r * f).sum();
        let m = -(0.7 - seen) / small[(0, 0)];
        assert!((m - wanted[0]).abs() < 1e-12, "{m} {wanted:?}");
        let mut values: Vec<f64> = (0..3).map(|k| root[k] * feature[k] * m).collect();
        let slack = links.step(&gradient, &values);
        assert!((0..3).all(|k| (slack[k] - wanted[k + 1]).abs() < 1e-12) && slack[3] == 0.0, "{slack:?} {wanted:?}");
        links.project(&mut values);
        let reduced: f64 = values.iter().zip(root).zip(feature).map(|((v, r), f)| v * r * f).sum();
        assert!((reduced + 0.5 * m - small[(0, 0)] * m).abs() < 1e-12);
    }
}
