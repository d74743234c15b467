use crate::Matrix;
use crate::pairs::{Cloud, Differences};
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// Marks a row that stands for a sum of pairs.
pub(super) const AGGREGATE: u32 = u32::MAX;

/// A fast hash for packed pairs; its order is never used.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct PairHasher(u64);

impl Hasher for PairHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.write_u64(u64::from(b));
        }
    }

    fn write_u64(&mut self, v: u64) {
        let h = (self.0 ^ v).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = h ^ (h >> 29);
    }
}

/// A set of pairs of points.
pub(super) type PairSet = HashSet<u64, BuildHasherDefault<PairHasher>>;

/// A row's pair and sort as one number (a pair may both push and pull).
pub(super) fn packed(i: usize, j: usize, push: bool) -> u64 {
    ((i as u64) << 33) | ((j as u64) << 1) | u64::from(push)
}

/// The rows of the reduced problem: `z = +-<A, M> + b d - g (+ xi_i + xi_j) = s - xi`, `s, xi >= 0`, with multiplier
/// `0 <= lambda <= cap`. `xi` is absent where `cap` is infinite.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    pub(super) i: Vec<u32>,
    pub(super) j: Vec<u32>,
    pub(super) push: Vec<bool>,
    pub(super) cap: Vec<f64>,
    /// Coefficient of the scalar variable.
    pub(super) b: Vec<f64>,
    /// Right-hand side.
    pub(super) g: Vec<f64>,
    pub(super) s: Vec<f64>,
    pub(super) xi: Vec<f64>,
    pub(super) lambda: Vec<f64>,
    /// What rows of index [`AGGREGATE`] stand for: `j` is the place here.
    pub(super) sums: Vec<Matrix>,
    /// The pairs whose mean each sum is; none for the mean of all pairs and for the band.
    pub(super) members: Vec<Vec<(u32, u32)>>,
    /// Which pairs have a row.
    pub(super) held: PairSet,
}

/// What a row says, without its variables.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) i: u32,
    pub(super) j: u32,
    pub(super) push: bool,
    pub(super) cap: f64,
    pub(super) b: f64,
    pub(super) g: f64,
}

/// Slacks of a row that is made consistent exceed what they must be by this part of its value, at most.
const TIGHTLY: f64 = 1e-3;

/// The central multiplier of a row: `lambda s = mu`, `(cap - lambda) xi = mu`, `s - xi = z`.
pub(super) fn central(z: f64, cap: f64, mu: f64) -> (f64, f64, f64) {
    if cap.is_infinite() {
        return (mu / z, z, 0.0);
    }
    let positive = |z: f64| 2.0 * mu * cap / (z * cap + 2.0 * mu + (z * z * cap * cap + 4.0 * mu * mu).sqrt());
    let (lambda, rest) = if z >= 0.0 {
        let l = positive(z);
        (l, cap - l)
    } else {
        let u = positive(-z);
        (cap - u, u)
    };
    (lambda, mu / lambda, mu / rest)
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        self.i.len()
    }

    /// Adds a row with multiplier `lambda` (or the central one where there is none); hard rows must have `z > 0`.
    pub(super) fn add(&mut self, row: Row, z: f64, lambda: Option<f64>, mu: f64) {
        let (central_lambda, s, xi) = central(z, row.cap, mu);
        let lambda = lambda.unwrap_or(central_lambda);
        self.i.push(row.i);
        self.j.push(row.j);
        self.push.push(row.push);
        self.cap.push(row.cap);
        self.b.push(row.b);
        self.g.push(row.g);
        self.s.push(s);
        self.xi.push(xi);
        self.lambda.push(lambda);
        if row.i != AGGREGATE {
            self.held.insert(packed(row.i as usize, row.j as usize, row.push));
        }
    }

    /// A place for what a row stands for.
    pub(super) fn place_sum(&mut self, sum: Matrix, members: Vec<(u32, u32)>) -> u32 {
        self.sums.push(sum);
        self.members.push(members);
        self.sums.len() as u32 - 1
    }

    /// Copies row `k` of another set.
    pub(super) fn copy(&mut self, other: &Self, k: usize) {
        self.i.push(other.i[k]);
        self.j.push(other.j[k]);
        self.push.push(other.push[k]);
        self.cap.push(other.cap[k]);
        self.b.push(other.b[k]);
        self.g.push(other.g[k]);
        self.s.push(other.s[k]);
        self.xi.push(other.xi[k]);
        self.lambda.push(other.lambda[k]);
        if let Some((i, j)) = other.pair(k) {
            self.held.insert(packed(i, j, other.push[k]));
        }
    }

    /// Makes soft row `k` consistent with its value `z` without adding to the objective more than its kink needs.
    pub(super) fn settle_tightly(&mut self, k: usize, z: f64) {
        let small = (TIGHTLY * z.abs()).min(self.s[k].min(self.xi[k]));
        self.s[k] = z.max(0.0) + small;
        self.xi[k] = (-z).max(0.0) + small;
    }

    /// Makes row `k` consistent with its value `z`.
    pub(super) fn settle(&mut self, k: usize, z: f64) {
        if self.cap[k].is_infinite() {
            if z > 0.0 {
                self.s[k] = z;
            }
        } else if z > 0.0 {
            self.s[k] = z + self.xi[k];
        } else {
            self.xi[k] = self.s[k] - z;
        }
    }

    /// `+1` for a row that pushes, `-1` for one that pulls.
    pub(super) fn sign(&self, k: usize) -> f64 {
        if self.push[k] { 1.0 } else { -1.0 }
    }

    /// The points of row `k`, unless it is an aggregate.
    pub(super) fn pair(&self, k: usize) -> Option<(usize, usize)> {
        (self.i[k] != AGGREGATE).then_some((self.i[k] as usize, self.j[k] as usize))
    }

    /// `<A_k, M>` for every row.
    pub(super) fn products(&self, cloud: &Cloud, m: &Matrix, factor: &Matrix) -> Vec<f64> {
        let z = cloud.x.mapped(factor);
        let mut d = vec![0.0; factor.cols()];
        (0..self.len())
            .map(|k| match self.pair(k) {
                Some((i, j)) => {
                    z.difference(i, j, &mut d);
                    d.iter().map(|v| v * v).sum()
                }
                None => crate::linalg::inner(&self.sums[self.j[k] as usize], m),
            })
            .collect()
    }
}
