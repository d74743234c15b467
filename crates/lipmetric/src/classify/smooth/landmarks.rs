//! Kernel ridge for many rows: a term for each of some rows, the landmarks, fitted to all rows (the Nystroem approximation).
//!
//! `min sum_i w_i |f(x_i) - t_i|^2 + ridge |f|^2` over the functions of the landmarks is the linear system
//! `(K_m^T W K_m + ridge K_mm) A = K_m^T W T`. Its matrix is summed over blocks of rows, once for all ridges: the memory is that of
//! the landmarks, whatever the number of rows.

use super::kernel::{BLOCK, Decay, Points};
use crate::data::holdouts;
use crate::linalg::Cholesky;
use crate::{Error, Labels, Matrix, Result, linalg};
use rayon::prelude::*;
use std::ops::Range;

/// Rows whose kernel is held at a time.
const ROWS: usize = 16 * BLOCK;
/// Landmarks of a tile of the system's matrix.
const TILE: usize = 256;
/// What is added to the diagonal, as a part of its mean, so that equal landmarks do no harm; if that is not enough, a hundred times
/// as much, and so on.
const LEAST_RIDGE: f64 = 1e-12;

/// Which of the rows are landmarks: about so many, of each class in proportion, by a seeded draw.
///
/// # Errors
/// If the rows cannot be divided so.
pub(crate) fn draw(labels: &Labels, count: usize, seed: u64) -> Result<Vec<usize>> {
    if count >= labels.len() {
        return Ok((0..labels.len()).collect());
    }
    let split = holdouts(labels, count as f64 / labels.len() as f64, 1, seed)?;
    Ok(split.into_iter().next().map_or_else(Vec::new, |s| s.train))
}

/// The system of some landmarks for one bandwidth.
#[derive(Debug)]
pub(crate) struct Landmarks {
    within: Matrix,
    tiles: Vec<Tile>,
    moments: Matrix,
}

/// A part of the lower triangle of `K_m^T W K_m`, column-major.
#[derive(Debug)]
struct Tile {
    rows: Range<usize>,
    columns: Range<usize>,
    values: Vec<f64>,
}

impl Landmarks {
    /// Sums the system over all rows. Weights, where there are some, are not negative.
    pub(crate) fn new(
        landmarks: &Points,
        rows: &Matrix,
        targets: &Matrix,
        weights: Option<&[f64]>,
        decay: Decay,
    ) -> Self {
        let (m, columns) = (landmarks.len(), targets.cols());
        let mut tiles = Vec::new();
        let range = |k: usize| k * TILE..((k + 1) * TILE).min(m);
        for i in 0..m.div_ceil(TILE) {
            for j in 0..=i {
                let (rows, columns) = (range(i), range(j));
                tiles.push(Tile { values: vec![0.0; rows.len() * columns.len()], rows, columns });
            }
        }
        let mut moments = Matrix::zeros(m, columns);
        for from in (0..rows.rows()).step_by(ROWS) {
            let count = ROWS.min(rows.rows() - from);
            let mut kernel = vec![0.0; count * m];
            kernel.par_chunks_mut(BLOCK * m).enumerate().for_each(|(at, block)| {
                let first = from + at * BLOCK;
                let found = landmarks.kernel(&landmarks.queries(rows, first), decay);
                block.copy_from_slice(&found[..block.len()]);
                let Some(weights) = weights else { return };
                for (row, w) in block.chunks_exact_mut(m).zip(&weights[first..]) {
                    row.iter_mut().for_each(|k| *k *= w.sqrt());
                }
            });
            let mut wanted = targets.as_slice()[from * columns..(from + count) * columns].to_vec();
            if let Some(weights) = weights {
                for (row, w) in wanted.chunks_exact_mut(columns).zip(&weights[from..]) {
                    row.iter_mut().for_each(|t| *t *= w.sqrt());
                }
            }
            linalg::gemm_tn_add(moments.as_mut_slice(), &kernel, &wanted, m, columns, count);
            tiles.par_iter_mut().for_each(|tile| {
                let (i, j) = (tile.rows.clone(), tile.columns.clone());
                linalg::gram_block_add(&mut tile.values, &kernel, count, m, i, j);
            });
        }
        Self { within: decay.of(&landmarks.squared_within()), tiles, moments }
    }

    /// The coefficients of the landmarks, a column per column of the targets.
    ///
    /// # Errors
    /// If rounding makes the system singular.
    pub(crate) fn solve(&self, ridge: f64) -> Result<Matrix> {
        let m = self.within.rows();
        let mut system: Vec<f64> = self.within.as_slice().iter().map(|k| ridge * k).collect();
        for tile in &self.tiles {
            for (c, column) in tile.values.chunks_exact(tile.rows.len()).enumerate() {
                let at = (tile.columns.start + c) * m + tile.rows.start;
                system[at..at + column.len()].iter_mut().zip(column).for_each(|(s, v)| *s += v);
            }
        }
        let mean = (0..m).map(|k| system[k * m + k]).sum::<f64>() / m as f64;
        let mut added = LEAST_RIDGE * mean;
        while added < mean {
            let mut trial = system.clone();
            (0..m).for_each(|k| trial[k * m + k] += added);
            if let Some(factor) = Cholesky::factor(trial, m) {
                let mut coefficients = self.moments.clone();
                factor.solve_rows(&mut coefficients);
                return Ok(coefficients);
            }
            added *= 100.0;
        }
        Err(Error::Numerical {
            place: "kernel ridge",
            message: "the system of the landmarks is singular: the rows may hold values of very different magnitude"
                .to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel::Kernel;
    use super::super::ridge::{Ridge, targets};
    use super::*;

    fn rows(n: usize) -> (Matrix, Vec<u32>, Vec<f64>) {
        let value = |k: usize| (1.3 * k as f64).sin() + 0.2 * ((k * k) % 5) as f64;
        let x = Matrix::from_vec(n, 2, (0..2 * n).map(value).collect()).unwrap();
        let codes = (0..n).map(|i| u32::from(x[(i, 0)] + x[(i, 1)] > 0.5)).collect();
        (x, codes, (0..n).map(|i| 1.0 + (i % 3) as f64).collect())
    }

    #[test]
    fn with_all_rows_as_landmarks_it_is_the_exact_function() {
        let (x, codes, weights) = rows(300);
        let (points, t) = (Points::new(&x), targets(&codes, 2));
        for decay in Kernel::ALL.map(|kernel| Decay::new(kernel, 0.7)) {
            let landmarks = Landmarks::new(&points, &x, &t, Some(&weights), decay).solve(0.01).unwrap();
            let kernel = decay.of(&points.squared_within());
            let exact = Ridge::new(&kernel, &t, Some(&weights), 0.01).unwrap().coefficients;
            let (a, b) = (linalg::product(&kernel, &landmarks), linalg::product(&kernel, &exact));
            for (a, b) in a.as_slice().iter().zip(b.as_slice()) {
                assert!((a - b).abs() < 1e-6, "{a} and {b}");
            }
        }
    }

    #[test]
    fn the_result_is_the_same_for_any_number_of_threads_and_equal_landmarks_do_no_harm() {
        let (x, codes, _) = rows(1500);
        let chosen: Vec<usize> = (0..400).chain(0..20).collect();
        let (points, decay) = (Points::new(&x.select_rows(&chosen)), Decay::new(Kernel::Laplace, 0.5));
        let fit = || Landmarks::new(&points, &x, &targets(&codes, 2), None, decay).solve(1e-3);
        let pool = |n: usize| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        let (one, three) = (pool(1).install(fit).unwrap(), pool(3).install(fit).unwrap());
        assert_eq!(one, three);
        assert!(one.first_non_finite().is_none());
    }

    #[test]
    fn landmarks_are_drawn_from_every_class() {
        let names = (0..1000).map(|i| if i % 50 == 0 { "rare" } else { "usual" });
        let labels = Labels::from_names(names);
        let drawn = draw(&labels, 100, 3).unwrap();
        assert_eq!(drawn.iter().filter(|&&i| i % 50 == 0).count(), 2);
        assert_eq!(drawn.len(), 100);
        assert_eq!(draw(&labels, 1000, 0).unwrap().len(), 1000);
    }
}
