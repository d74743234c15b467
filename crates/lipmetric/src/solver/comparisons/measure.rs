//! Hinges, their smooth form and their multipliers at a point.

use super::{Lists, Loss, Problem};
use crate::{Matrix, linalg};
use rayon::prelude::*;

/// Anchors that are measured at a time, whatever the number of threads.
const CHUNK: usize = 128;

/// The hinges at a point.
#[derive(Default)]
pub(super) struct Measured {
    /// The sum of the smoothed hinges.
    pub(super) smooth: f64,
    /// The sum of the hinges.
    pub(super) exact: f64,
    /// The sum of the multipliers.
    pub(super) sum: f64,
    /// Pairs with their coefficient: how fast the smoothed sum rises with the squared distance.
    pub(super) pairs: Vec<(u32, u32, f64)>,
    /// `nu` of every listed comparison, where it was asked for.
    pub(super) multipliers: Vec<f64>,
}

impl Problem<'_> {
    /// Measures the listed comparisons under the points `z`. With `delta` zero only the hinges themselves.
    pub(super) fn measure(&self, lists: &Lists, z: &Matrix, delta: f64, keep: bool) -> Measured {
        let chunks: Vec<&[super::Anchor]> = self.anchors.chunks(CHUNK).collect();
        let run = |(k, anchors): (usize, &&[super::Anchor])| {
            let mut out = Measured::default();
            let task = Chunk { problem: self, lists, first: k * CHUNK, anchors, z, delta, keep, out: &mut out };
            pulp::Arch::new().dispatch(task);
            out
        };
        let parts: Vec<Measured> = if chunks.len() < 4 {
            chunks.iter().enumerate().map(run).collect()
        } else {
            chunks.par_iter().enumerate().map(run).collect()
        };
        let mut total = Measured::default();
        for part in parts {
            total.smooth += part.smooth;
            total.exact += part.exact;
            total.sum += part.sum;
            total.pairs.extend_from_slice(&part.pairs);
            total.multipliers.extend_from_slice(&part.multipliers);
        }
        total
    }
}

struct Chunk<'a, 'b> {
    problem: &'a Problem<'b>,
    lists: &'a Lists,
    first: usize,
    anchors: &'a [super::Anchor],
    z: &'a Matrix,
    delta: f64,
    keep: bool,
    out: &'a mut Measured,
}

impl pulp::WithSimd for Chunk<'_, '_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, _: S) {
        let mut work = Work::default();
        let anchors = self.anchors;
        for (k, anchor) in anchors.iter().enumerate() {
            let (others, kept) = self.lists.of(self.first + k);
            if others.is_empty() {
                continue;
            }
            let here = self.z.row(anchor.point);
            work.near.clear();
            work.near.extend(anchor.targets.iter().map(|&j| squared(here, self.z.row(j as usize))));
            work.pulled.clear();
            work.pulled.resize(anchor.targets.len(), 0.0);
            match self.problem.loss {
                Loss::Each => self.each(anchor, others, kept, &mut work),
                Loss::Worst => self.worst(anchor, others, kept, &mut work),
            }
            for (&j, &c) in anchor.targets.iter().zip(&work.pulled) {
                if c > 0.0 {
                    self.out.pairs.push((anchor.point as u32, j, c));
                }
            }
        }
    }
}

/// Buffers of one anchor.
#[derive(Default)]
struct Work {
    /// Squared distances to its targets.
    near: Vec<f64>,
    /// How fast the smoothed sum rises with each of them.
    pulled: Vec<f64>,
    /// Multipliers before the projection, and after it, where the worst comparison counts.
    wanted: Vec<f64>,
    nu: Vec<f64>,
}

impl Chunk<'_, '_> {
    /// Every comparison of an anchor counts.
    #[inline(always)]
    fn each(&mut self, anchor: &super::Anchor, others: &[u32], kept: &[f64], work: &mut Work) {
        let here = self.z.row(anchor.point);
        let count = work.near.len();
        let farthest = work.near.iter().fold(0.0f64, |m, &v| m.max(v));
        for (at, &l) in others.iter().enumerate() {
            let rho = squared(here, self.z.row(l as usize));
            let kept = &kept[at * count..(at + 1) * count];
            if rho >= 1.0 + farthest && kept.iter().all(|&v| v == 0.0) {
                if self.keep {
                    self.out.multipliers.extend(std::iter::repeat_n(0.0, count));
                }
                continue;
            }
            let cost = anchor.cost * self.problem.cloud.weight[l as usize];
            let mut pushed = 0.0;
            for a in 0..count {
                let t = 1.0 + work.near[a] - rho;
                self.out.exact += cost * t.max(0.0);
                if self.delta > 0.0 {
                    let nu = (kept[a] + t / self.delta).clamp(0.0, 1.0);
                    let moved = nu - kept[a];
                    self.out.smooth += cost * (nu * t - 0.5 * self.delta * moved * moved);
                    work.pulled[a] += cost * nu;
                    pushed += cost * nu;
                    if self.keep {
                        self.out.multipliers.push(nu);
                    }
                }
            }
            self.push(anchor, l, pushed);
        }
    }

    /// Only the worst comparison of an anchor counts: its multipliers share a sum of at most one.
    #[inline(always)]
    fn worst(&mut self, anchor: &super::Anchor, others: &[u32], kept: &[f64], work: &mut Work) {
        let here = self.z.row(anchor.point);
        let count = work.near.len();
        work.wanted.clear();
        let mut worst = 0.0f64;
        for (at, &l) in others.iter().enumerate() {
            let rho = squared(here, self.z.row(l as usize));
            for a in 0..count {
                let t = 1.0 + work.near[a] - rho;
                worst = worst.max(t);
                let from = kept[at * count + a];
                work.wanted.push(if self.delta > 0.0 { from + t / self.delta } else { 0.0 });
            }
        }
        self.out.exact += anchor.cost * worst;
        if self.delta <= 0.0 {
            return;
        }
        work.nu.clear();
        work.nu.extend_from_slice(&work.wanted);
        to_capped_simplex(&mut work.nu);
        for (at, &l) in others.iter().enumerate() {
            let mut pushed = 0.0;
            for a in 0..count {
                let e = at * count + a;
                let (from, t) = (kept[e], (work.wanted[e] - kept[e]) * self.delta);
                let moved = work.nu[e] - from;
                self.out.smooth += anchor.cost * (work.nu[e] * t - 0.5 * self.delta * moved * moved);
                work.pulled[a] += anchor.cost * work.nu[e];
                pushed += anchor.cost * work.nu[e];
            }
            self.push(anchor, l, pushed);
        }
        if self.keep {
            self.out.multipliers.extend_from_slice(&work.nu);
        }
    }

    /// Notes how hard an anchor pushes another point away.
    #[inline(always)]
    fn push(&mut self, anchor: &super::Anchor, other: u32, pushed: f64) {
        if pushed > 0.0 {
            self.out.sum += pushed;
            self.out.pairs.push((anchor.point as u32, other, -pushed));
        }
    }
}

/// The squared distance, in eight interleaved sums.
#[inline(always)]
pub(super) fn squared(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    let (a, b) = (&a[..n], &b[..n]);
    let mut sums = [0.0; 8];
    let whole = n - n % 8;
    let mut k = 0;
    while k < whole {
        let (x, y) = (&a[k..k + 8], &b[k..k + 8]);
        for e in 0..8 {
            sums[e] += (x[e] - y[e]) * (x[e] - y[e]);
        }
        k += 8;
    }
    let mut tail = 0.0;
    for e in whole..n {
        tail += (a[e] - b[e]) * (a[e] - b[e]);
    }
    ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7])) + tail
}

/// The nearest point with no negative element and a sum of at most one.
fn to_capped_simplex(v: &mut [f64]) {
    if v.iter().map(|x| x.max(0.0)).sum::<f64>() <= 1.0 {
        v.iter_mut().for_each(|x| *x = x.max(0.0));
        return;
    }
    let mut sorted: Vec<f64> = v.iter().copied().filter(|x| *x > 0.0).collect();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut shift) = (0.0, 0.0);
    for (k, x) in sorted.iter().enumerate() {
        sum += x;
        let s = (sum - 1.0) / (k + 1) as f64;
        if *x > s {
            shift = s;
        } else {
            break;
        }
    }
    v.iter_mut().for_each(|x| *x = (*x - shift).max(0.0));
}

/// `W z`, with `W` the Laplacian of the pairs: `sum c (e_i - e_j)(e_i - e_j)^T`.
pub(super) fn apply(pairs: &[(u32, u32, f64)], z: &Matrix) -> Matrix {
    struct Task<'a>(&'a [(u32, u32, f64)], &'a Matrix, &'a mut [f64]);
    impl pulp::WithSimd for Task<'_> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: pulp::Simd>(self, _: S) {
            let Task(pairs, z, out) = self;
            let r = z.cols();
            let mut change = vec![0.0; r];
            let mut at = 0;
            // Pairs with the same first point stand together: their sum is added once.
            while at < pairs.len() {
                let i = pairs[at].0;
                let here = &z.row(i as usize)[..r];
                change.fill(0.0);
                while at < pairs.len() && pairs[at].0 == i {
                    let (_, j, c) = pairs[at];
                    let j = j as usize;
                    let (there, o, s) = (&z.row(j)[..r], &mut out[j * r..(j + 1) * r], &mut change[..r]);
                    for k in 0..r {
                        let d = c * (here[k] - there[k]);
                        s[k] += d;
                        o[k] -= d;
                    }
                    at += 1;
                }
                let i = i as usize;
                out[i * r..(i + 1) * r].iter_mut().zip(&change).for_each(|(o, s)| *o += s);
            }
        }
    }
    let mut out = Matrix::zeros(z.rows(), z.cols());
    pulp::Arch::new().dispatch(Task(pairs, z, out.as_mut_slice()));
    out
}

/// `sum of multiplier (A_il - A_ij)`: minus the pairs' weighted outer products.
pub(super) fn push(pairs: &[(u32, u32, f64)], x: &Matrix) -> Matrix {
    let mut out = linalg::transposed_product(x, &apply(pairs, x));
    linalg::symmetrise(&mut out);
    out.as_mut_slice().iter_mut().for_each(|v| *v = -*v);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capped_simplex_projection_meets_its_optimality_conditions() {
        for v in [vec![0.2, -1.0, 0.3], vec![2.0, 1.9, -0.5, 0.1], vec![0.5, 0.5, 0.5], vec![-1.0], vec![5.0]] {
            let mut x = v.clone();
            to_capped_simplex(&mut x);
            let sum: f64 = x.iter().sum();
            assert!(x.iter().all(|t| *t >= 0.0) && sum <= 1.0 + 1e-12);
            // v - x is the same shift >= 0 wherever x > 0, and at most that elsewhere; none unless the sum is one.
            let shift = v.iter().zip(&x).filter(|(_, x)| **x > 0.0).map(|(v, x)| v - x).fold(0.0, f64::max);
            assert!(shift >= -1e-12 && (shift < 1e-12 || (sum - 1.0).abs() < 1e-12));
            for (v, x) in v.iter().zip(&x) {
                assert!(if *x > 0.0 { (v - x - shift).abs() < 1e-12 } else { v - shift <= 1e-12 });
            }
        }
    }
}
