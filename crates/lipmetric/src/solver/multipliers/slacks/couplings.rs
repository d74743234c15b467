//! The slacks' part of a Newton system: those of the two rows of a pair are coupled.
//!
//! The pairs that matter at the end are nearly a forest. The heaviest couplings that make up one are eliminated exactly, and
//! conjugate gradients see to the others.

/// A point that no other follows in its tree.
const ROOT: u32 = u32::MAX;
/// Couplings weaker than this, in parts of the roots of their diagonal elements, are not worth a place in the forest.
const WEAK: f64 = 0.01;

/// A symmetric positive definite matrix: a diagonal and elements off it, none negative.
pub(super) struct Couplings {
    diagonal: Vec<f64>,
    pairs: Vec<(u32, u32, f64)>,
    forest: Forest,
}

/// The same matrix without the couplings that are not in the forest, factored.
struct Forest {
    /// Points before the one they hang on.
    order: Vec<u32>,
    parent: Vec<u32>,
    /// The coupling over the pivot.
    part: Vec<f64>,
    pivot: Vec<f64>,
}

impl Couplings {
    pub(super) fn new(diagonal: Vec<f64>, pairs: Vec<(u32, u32, f64)>) -> Self {
        let forest = Forest::new(&diagonal, &pairs);
        Self { diagonal, pairs, forest }
    }

    fn times<const W: usize>(&self, x: &[[f64; W]], out: &mut [[f64; W]]) {
        for ((o, x), d) in out.iter_mut().zip(x).zip(&self.diagonal) {
            o.iter_mut().zip(x).for_each(|(o, x)| *o = d * x);
        }
        for &(i, j, t) in &self.pairs {
            let (i, j) = (i as usize, j as usize);
            let (a, b) = (x[i], x[j]);
            out[i].iter_mut().zip(&b).for_each(|(o, v)| *o += t * v);
            out[j].iter_mut().zip(&a).for_each(|(o, v)| *o += t * v);
        }
    }

    /// `X` near `A^-1 B`, and what is left, `B - A X`: of each column at most this part of `B`, unless the steps
    /// do not suffice.
    pub(super) fn solve<const W: usize>(
        &self,
        right: Vec<[f64; W]>,
        accuracy: f64,
        steps: usize,
    ) -> (Vec<[f64; W]>, Vec<[f64; W]>) {
        let n = right.len();
        let mut image = vec![[0.0; W]; n];
        let enough = dots(&right, &right).map(|v| v * accuracy * accuracy);
        let mut residual = right;
        let mut x = vec![[0.0; W]; n];
        let mut better = residual.clone();
        self.forest.solve(&mut better);
        let mut search = better.clone();
        let mut product = dots(&residual, &better);
        for _ in 0..steps {
            let left = dots(&residual, &residual);
            if left.iter().zip(&enough).all(|(l, e)| l <= e) {
                break;
            }
            self.times(&search, &mut image);
            let curvature = dots(&search, &image);
            let mut t = [0.0; W];
            for (t, (p, c)) in t.iter_mut().zip(product.iter().zip(&curvature)) {
                *t = if *c > 0.0 { p / c } else { 0.0 };
            }
            for ((x, r), (s, a)) in x.iter_mut().zip(&mut residual).zip(search.iter().zip(&image)) {
                for k in 0..W {
                    x[k] += t[k] * s[k];
                    r[k] -= t[k] * a[k];
                }
            }
            better.copy_from_slice(&residual);
            self.forest.solve(&mut better);
            let next = dots(&residual, &better);
            let mut ratio = [0.0; W];
            for (ratio, (n, p)) in ratio.iter_mut().zip(next.iter().zip(&product)) {
                *ratio = if *p > 0.0 { n / p } else { 0.0 };
            }
            product = next;
            for (s, b) in search.iter_mut().zip(&better) {
                for k in 0..W {
                    s[k] = b[k] + ratio[k] * s[k];
                }
            }
        }
        (x, residual)
    }

    /// `A^-1 b`, but for this part of the right side.
    pub(super) fn solved(&self, right: &[f64], accuracy: f64) -> Vec<f64> {
        /// Steps, at most.
        const STEPS: usize = 300;
        let columns = |v: &[f64]| v.iter().map(|v| [*v]).collect::<Vec<[f64; 1]>>();
        let (x, _) = self.solve(columns(right), accuracy, STEPS);
        x.into_iter().map(|[v]| v).collect()
    }
}

/// The inner products of the columns of two matrices.
fn dots<const W: usize>(a: &[[f64; W]], b: &[[f64; W]]) -> [f64; W] {
    let mut out = [0.0; W];
    for (a, b) in a.iter().zip(b) {
        for k in 0..W {
            out[k] += a[k] * b[k];
        }
    }
    out
}

impl Forest {
    fn new(diagonal: &[f64], pairs: &[(u32, u32, f64)]) -> Self {
        let n = diagonal.len();
        let size = |p: &(u32, u32, f64)| p.2 / (diagonal[p.0 as usize] * diagonal[p.1 as usize]).sqrt();
        let mut heavy: Vec<(f64, u32)> =
            pairs.iter().enumerate().map(|(k, p)| (size(p), k as u32)).filter(|h| h.0 > WEAK).collect();
        heavy.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut group: Vec<u32> = (0..n as u32).collect();
        let mut chosen: Vec<u32> = Vec::new();
        for &(_, k) in &heavy {
            let (i, j, _) = pairs[k as usize];
            let (a, b) = (leader(&mut group, i), leader(&mut group, j));
            if a != b {
                group[a.max(b) as usize] = a.min(b);
                chosen.push(k);
            }
        }
        // The neighbours of each point in the forest, one after another.
        let mut start = vec![0u32; n + 1];
        for &k in &chosen {
            start[pairs[k as usize].0 as usize + 1] += 1;
            start[pairs[k as usize].1 as usize + 1] += 1;
        }
        (0..n).for_each(|i| start[i + 1] += start[i]);
        let (mut at, mut near) = (start.clone(), vec![(0u32, 0.0); 2 * chosen.len()]);
        for &k in &chosen {
            let (i, j, t) = pairs[k as usize];
            for (a, b) in [(i, j), (j, i)] {
                near[at[a as usize] as usize] = (b, t);
                at[a as usize] += 1;
            }
        }
        let (mut order, mut parent, mut to_parent) = (Vec::with_capacity(n), vec![ROOT; n], vec![0.0; n]);
        let mut seen = vec![false; n];
        for root in 0..n {
            if seen[root] {
                continue;
            }
            seen[root] = true;
            let mut next = order.len();
            order.push(root as u32);
            while next < order.len() {
                let i = order[next] as usize;
                next += 1;
                for &(j, t) in &near[start[i] as usize..start[i + 1] as usize] {
                    if !seen[j as usize] {
                        seen[j as usize] = true;
                        (parent[j as usize], to_parent[j as usize]) = (i as u32, t);
                        order.push(j);
                    }
                }
            }
        }
        order.reverse();
        let (mut pivot, mut part) = (diagonal.to_vec(), vec![0.0; n]);
        for &i in &order {
            let i = i as usize;
            if parent[i] != ROOT {
                part[i] = to_parent[i] / pivot[i];
                pivot[parent[i] as usize] -= part[i] * to_parent[i];
            }
        }
        Self { order, parent, part, pivot }
    }

    fn solve<const W: usize>(&self, x: &mut [[f64; W]]) {
        for &i in &self.order {
            let i = i as usize;
            if self.parent[i] != ROOT {
                let (own, t) = (x[i], self.part[i]);
                x[self.parent[i] as usize].iter_mut().zip(&own).for_each(|(v, o)| *v -= t * o);
            }
        }
        for &i in self.order.iter().rev() {
            let i = i as usize;
            let above = if self.parent[i] == ROOT { [0.0; W] } else { x[self.parent[i] as usize] };
            let (pivot, t) = (self.pivot[i], self.part[i]);
            x[i].iter_mut().zip(&above).for_each(|(v, a)| *v = *v / pivot - t * a);
        }
    }
}

/// The point that stands for all that are connected to this one.
fn leader(group: &mut [u32], mut i: u32) -> u32 {
    while group[i as usize] != i {
        group[i as usize] = group[group[i as usize] as usize];
        i = group[i as usize];
    }
    i
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;

    #[test]
    fn it_solves_what_a_dense_factorisation_solves() {
        let n = 40;
        let mut pairs: Vec<(u32, u32, f64)> = (1..n).map(|k| (k / 2, k, 1.0 + f64::from(k % 7))).collect();
        pairs.extend((0..n - 5).map(|k| (k, k + 5, 0.3 + f64::from(k % 3))));
        let mut full = Matrix::zeros(n as usize, n as usize);
        let mut diagonal = vec![0.01; n as usize];
        for &(i, j, t) in &pairs {
            let (i, j) = (i as usize, j as usize);
            full[(i, j)] += t;
            full[(j, i)] += t;
            diagonal[i] += t;
            diagonal[j] += t;
        }
        (0..n as usize).for_each(|k| full[(k, k)] = diagonal[k]);
        let couplings = Couplings::new(diagonal, pairs);
        let right: Vec<f64> = (0..n).map(|k| f64::from(k).sin()).collect();
        let mut wanted = right.clone();
        crate::linalg::Cholesky::of(&full).unwrap().solve(&mut wanted);
        let found = couplings.solved(&right, 1e-8);
        assert!(found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-5 * (1.0 + b.abs())), "{found:?} {wanted:?}");
    }
}
