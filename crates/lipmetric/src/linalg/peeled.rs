//! Sparse systems whose graph is nearly a forest.

use super::Cholesky;
use crate::Matrix;
use std::collections::{BTreeMap, BTreeSet};

/// Unknowns with more neighbours than this are left to the dense factorisation: eliminated one by one they would fill the rest.
const FEW: usize = 12;

/// An eliminated unknown.
#[derive(Debug, Clone)]
struct Step {
    node: u32,
    pivot: f64,
    /// Its neighbours at that time, with the element over the pivot.
    others: Vec<(u32, f64)>,
}

/// A symmetric positive definite matrix, factorised: unknowns with few neighbours are eliminated one by one, those with the
/// fewest first; what is left is factorised as a dense matrix.
#[derive(Debug, Clone)]
pub(crate) struct Peeled {
    steps: Vec<Step>,
    core: Vec<u32>,
    dense: Option<Cholesky>,
}

impl Peeled {
    /// Factors the matrix with this diagonal and these elements off it, each pair of unknowns given once or more often (they
    /// add up). `None` where it is not positive definite.
    pub(crate) fn factor(mut diagonal: Vec<f64>, elements: impl Iterator<Item = (u32, u32, f64)>) -> Option<Self> {
        let mut near: Vec<BTreeMap<u32, f64>> = vec![BTreeMap::new(); diagonal.len()];
        for (i, j, v) in elements {
            *near[i as usize].entry(j).or_default() += v;
            *near[j as usize].entry(i).or_default() += v;
        }
        let mut queue: BTreeSet<(usize, u32)> = near.iter().enumerate().map(|(k, n)| (n.len(), k as u32)).collect();
        let mut steps = Vec::new();
        while let Some(&(count, node)) = queue.first().filter(|q| q.0 <= FEW) {
            queue.remove(&(count, node));
            let pivot = diagonal[node as usize];
            if !(pivot > 0.0 && pivot.is_finite()) {
                return None;
            }
            let own: Vec<(u32, f64)> = std::mem::take(&mut near[node as usize]).into_iter().collect();
            for &(a, _) in &own {
                queue.remove(&(near[a as usize].len(), a));
                near[a as usize].remove(&node);
            }
            for (k, &(a, v)) in own.iter().enumerate() {
                diagonal[a as usize] -= v * v / pivot;
                for &(b, w) in &own[k + 1..] {
                    *near[a as usize].entry(b).or_default() -= v * w / pivot;
                    *near[b as usize].entry(a).or_default() -= v * w / pivot;
                }
            }
            queue.extend(own.iter().map(|&(a, _)| (near[a as usize].len(), a)));
            steps.push(Step { node, pivot, others: own.into_iter().map(|(a, v)| (a, v / pivot)).collect() });
        }
        let mut core: Vec<u32> = queue.into_iter().map(|q| q.1).collect();
        core.sort_unstable();
        let dense = if core.is_empty() { None } else { Some(dense(&core, &diagonal, &near)?) };
        Some(Self { steps, core, dense })
    }

    /// `X <- A^-1 X`, a row of `X` for each unknown.
    pub(crate) fn solve(&self, x: &mut Matrix) {
        let mut own = vec![0.0; x.cols()];
        for step in &self.steps {
            own.copy_from_slice(x.row(step.node as usize));
            for &(a, part) in &step.others {
                x.row_mut(a as usize).iter_mut().zip(&own).for_each(|(v, o)| *v -= part * o);
            }
        }
        if let Some(dense) = &self.dense {
            let rows: Vec<usize> = self.core.iter().map(|&k| k as usize).collect();
            let mut part = x.select_rows(&rows);
            dense.solve_rows(&mut part);
            rows.iter().enumerate().for_each(|(k, &row)| x.row_mut(row).copy_from_slice(part.row(k)));
        }
        for step in self.steps.iter().rev() {
            own.iter_mut().zip(x.row(step.node as usize)).for_each(|(o, v)| *o = v / step.pivot);
            for &(a, part) in &step.others {
                own.iter_mut().zip(x.row(a as usize)).for_each(|(o, v)| *o -= part * v);
            }
            x.row_mut(step.node as usize).copy_from_slice(&own);
        }
    }
}

fn dense(core: &[u32], diagonal: &[f64], near: &[BTreeMap<u32, f64>]) -> Option<Cholesky> {
    let n = core.len();
    let mut data = vec![0.0; n * n];
    for (k, &node) in core.iter().enumerate() {
        data[k * n + k] = diagonal[node as usize];
        for (other, &v) in &near[node as usize] {
            if let Ok(at) = core.binary_search(other) {
                data[k * n + at] = v;
            }
        }
    }
    Cholesky::factor(data, n)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path, a star and a crowd in which all are neighbours of all.
    fn elements(crowd: u32) -> (usize, Vec<(u32, u32, f64)>) {
        let mut out: Vec<(u32, u32, f64)> = (0..9).map(|k| (k, k + 1, 1.0 + 0.1 * f64::from(k))).collect();
        out.extend((11..18).map(|k| (10, k, 0.5)));
        for a in 0..crowd {
            out.extend((0..a).map(|b| (18 + b, 18 + a, 0.3 / f64::from(1 + a + b))));
        }
        out.push((9, 10, 0.25));
        out.push((9, 10, 0.5));
        (18 + crowd as usize, out)
    }

    #[test]
    fn it_solves_what_a_dense_factorisation_solves() {
        for crowd in [0, 3, 30] {
            let (n, elements) = elements(crowd);
            let mut full = Matrix::zeros(n, n);
            let mut diagonal = vec![0.01; n];
            for &(i, j, v) in &elements {
                let (i, j) = (i as usize, j as usize);
                full[(i, j)] += v;
                full[(j, i)] += v;
                diagonal[i] += v;
                diagonal[j] += v;
            }
            (0..n).for_each(|k| full[(k, k)] = diagonal[k]);
            let peeled = Peeled::factor(diagonal, elements.iter().copied()).unwrap();
            assert_eq!(peeled.dense.is_some(), crowd > 20);
            let mut x = Matrix::zeros(n, 2);
            (0..n).for_each(|k| (x[(k, 0)], x[(k, 1)]) = ((k as f64).sin(), 1.0));
            let wanted = x.clone();
            peeled.solve(&mut x);
            let back = crate::linalg::product(&full, &x);
            for (a, b) in back.as_slice().iter().zip(wanted.as_slice()) {
                assert!((a - b).abs() < 1e-9, "{crowd}: {a} {b}");
            }
        }
    }

    #[test]
    fn what_is_not_positive_definite_is_told() {
        assert!(Peeled::factor(vec![1.0, 1.0], std::iter::once((0, 1, 2.0))).is_none());
    }
}
