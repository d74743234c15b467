//! Settings judged on rows that the functions have not seen, and the choice between them.

use super::fit::Smoothness;
use super::kernel::{laplace_into, laplace_of, laplace_upper};
use super::ridge::{Ridge, Wanted, largest};
use crate::{Labels, Matrix, Result, linalg};
use rayon::prelude::*;
use std::cell::Cell;

/// Bandwidths that are tried, as parts of the root of the mean squared distance: from where only near rows matter to where the
/// kernel is nearly linear in the distance.
const WIDTHS: [f64; 5] = [0.2, 0.35, 0.7, 1.5, 3.0];
/// Ridges that are tried: from nearly none to where the targets' noise is as large as the targets.
const RIDGES: [f64; 4] = [1e-3, 1e-2, 1e-1, 1.0];

/// Kernel matrices and a system of one width.
#[derive(Default)]
struct Scratch {
    within: Matrix,
    kernel: Matrix,
    system: Vec<f64>,
}

/// Rows up to which matrices are kept from one width to the next: pages that come new from the system each time cost a quarter of
/// what is computed in them at 400 rows, and next to nothing at 2,000.
const KEPT_ROWS: usize = 1024;

thread_local! {
    static ROOM: Cell<Scratch> = Cell::default();
}

/// All settings that are tried where nothing is given, the smoothest first.
pub(crate) fn usual(width: Option<f64>, ridge: Option<f64>) -> Vec<Smoothness> {
    let list = |given: Option<f64>, all: &[f64]| given.map_or_else(|| all.iter().rev().copied().collect(), |v| vec![v]);
    let (widths, ridges) = (list(width, &WIDTHS), list(ridge, &RIDGES));
    ridges.iter().flat_map(|&ridge| widths.iter().map(move |&width| Smoothness::new(width, ridge))).collect()
}

/// What a function says of rows that it has not seen.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    /// A row per row, a column per class.
    pub(crate) values: Matrix,
    /// How far each row may move before its class can change.
    pub(crate) radii: Vec<f64>,
}

/// Rows with their squared distances, to fit functions to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample<'a> {
    /// Between the rows.
    pub(crate) within: &'a Matrix,
    /// The root of their mean.
    pub(crate) spread: f64,
    pub(crate) labels: &'a Labels,
    /// How much each row counts.
    pub(crate) weights: Option<&'a [f64]>,
}

impl Sample<'_> {
    fn wanted(&self) -> Wanted {
        Wanted::new(self.labels, self.weights)
    }

    /// What functions of these settings say of queries with these squared distances to the rows.
    ///
    /// # Errors
    /// If a system is singular.
    pub(crate) fn at(&self, queries: &Matrix, tried: &[Smoothness]) -> Result<Vec<Said>> {
        let wanted = self.wanted();
        let of_width = |width: &f64| -> Result<Vec<(usize, Said)>> {
            let bandwidth = width * self.spread;
            let mut room = ROOM.take();
            laplace_upper(&mut room.within, self.within, bandwidth);
            laplace_into(&mut room.kernel, queries, bandwidth);
            let Scratch { within, kernel, system } = &mut room;
            let one = |(at, smoothness): (usize, &Smoothness)| -> Result<(usize, Said)> {
                let spare = std::mem::take(system);
                let solved = Ridge::in_memory(spare, within, &wanted.targets, self.weights, smoothness.ridge)?;
                let coefficients;
                (coefficients, *system) = solved.into_parts();
                let values = wanted.told(linalg::product(kernel, &coefficients));
                let radii = wanted.radii(kernel, &wanted.per_class(coefficients), &values, bandwidth);
                Ok((at, Said { radii, values }))
            };
            let said = tried.iter().enumerate().filter(|(_, s)| s.width == *width).map(one).collect();
            if self.within.rows() <= KEPT_ROWS {
                ROOM.set(room);
            }
            said
        };
        let mut widths: Vec<f64> = tried.iter().map(|s| s.width).collect();
        widths.sort_unstable_by(f64::total_cmp);
        widths.dedup();
        let mut said: Vec<(usize, Said)> =
            widths.par_iter().map(of_width).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        said.sort_unstable_by_key(|(at, _)| *at);
        Ok(said.into_iter().map(|(_, said)| said).collect())
    }

    /// What each row gets from all others by functions of these settings. The radius is that of the function of all rows without
    /// the row's own term.
    ///
    /// # Errors
    /// If a system is singular.
    pub(crate) fn left_out(&self, tried: &[Smoothness]) -> Result<Vec<Said>> {
        let wanted = self.wanted();
        let one = |smoothness: &Smoothness| -> Result<Said> {
            let bandwidth = smoothness.width * self.spread;
            let kernel = laplace_of(self.within, bandwidth);
            let solved = Ridge::new(&kernel, &wanted.targets, self.weights, smoothness.ridge)?;
            let values = wanted.told(solved.left_out(&wanted.targets));
            let coefficients = wanted.per_class(solved.coefficients);
            let radius = |i: usize| wanted.radius(kernel.row(i), Some(i), &coefficients, values.row(i), bandwidth);
            Ok(Said { radii: (0..values.rows()).map(radius).collect(), values })
        };
        tried.par_iter().map(one).collect()
    }
}

/// What [`radius`] gives for every row of a kernel, to rounding: `P - N` is the difference of two values, and `P + N` a product of
/// the kernel and the sizes of the differences of the coefficients.
pub(super) fn radii(kernel: &Matrix, coefficients: &Matrix, values: &Matrix, bandwidth: f64) -> Vec<f64> {
    let classes = coefficients.cols();
    let top: Vec<usize> = (0..values.rows()).map(|q| largest(values.row(q)) as usize).collect();
    let mut out = vec![0.0; values.rows()];
    for class in 0..classes {
        let own: Vec<usize> = (0..top.len()).filter(|&q| top[q] == class).collect();
        if own.is_empty() {
            continue;
        }
        let others: Vec<usize> = (0..classes).filter(|&c| c != class).collect();
        let mut sizes = Matrix::zeros(coefficients.rows(), others.len());
        for j in 0..sizes.rows() {
            let a = coefficients.row(j);
            sizes.row_mut(j).iter_mut().zip(&others).for_each(|(s, &c)| *s = (a[class] - a[c]).abs());
        }
        let sums = linalg::product(&kernel.select_rows(&own), &sizes);
        for (row, &q) in own.iter().enumerate() {
            let one = |(&sum, &c): (&f64, &usize)| {
                let apart = values[(q, class)] - values[(q, c)];
                if apart <= 0.0 { 0.0 } else { ((sum + apart) / (sum - apart).max(0.0)).ln().max(0.0) }
            };
            out[q] = 0.5 * bandwidth * sums.row(row).iter().zip(&others).map(one).fold(f64::INFINITY, f64::min);
        }
    }
    out
}

/// The certified radius `(l / 2) ln(P / N)` of a class against all others, by the kernel to the centres, one of which may have no
/// part.
pub(super) fn radius(kernel: &[f64], without: Option<usize>, coefficients: &Matrix, top: u32, bandwidth: f64) -> f64 {
    // The positive and the negative sum against each class.
    let mut sums = vec![(0.0_f64, 0.0_f64); coefficients.cols()];
    for (j, &k) in kernel.iter().enumerate() {
        if without == Some(j) {
            continue;
        }
        let a = coefficients.row(j);
        let own = a[top as usize];
        for (sum, other) in sums.iter_mut().zip(a) {
            let term = k * (own - other);
            sum.0 += term.max(0.0);
            sum.1 -= term.min(0.0);
        }
    }
    let others = sums.iter().enumerate().filter(|(c, _)| *c != top as usize);
    let one = |(_, &(p, n)): (usize, &(f64, f64))| if p > n { (p / n).ln().max(0.0) } else { 0.0 };
    0.5 * bandwidth * others.map(one).fold(f64::INFINITY, f64::min)
}

/// Of the settings that predict held-out rows no worse than the best by more than one standard error of the paired difference,
/// the one with the largest median radius; of equal ones the first. With it, the part of the rows that it predicts correctly or, of
/// numbers, R2.
pub(crate) fn pick(said: &[Said], truth: &Labels, weights: &[f64]) -> (usize, f64) {
    let hits: Vec<Vec<f64>> = said.iter().map(|s| hits(&s.values, truth)).collect();
    let total: f64 = weights.iter().sum();
    let mean = |row: &[f64]| row.iter().zip(weights).map(|(h, w)| h * w).sum::<f64>() / total.max(f64::MIN_POSITIVE);
    let means: Vec<f64> = hits.iter().map(|row| mean(row)).collect();
    let best = (0..means.len()).fold(0, |top, k| if means[k] > means[top] + 1e-12 { k } else { top });
    let mut chosen = (best, f64::NEG_INFINITY);
    for k in 0..said.len() {
        let apart: Vec<f64> = hits[best].iter().zip(&hits[k]).map(|(a, b)| a - b).collect();
        let gap = mean(&apart);
        let squares: f64 = apart.iter().zip(weights).map(|(d, w)| (w * (d - gap)).powi(2)).sum();
        if gap <= squares.sqrt() / total + 1e-12 {
            let middle = median(&said[k].radii);
            if middle > chosen.1 + 1e-12 {
                chosen = (k, middle);
            }
        }
    }
    (chosen.0, means.get(chosen.0).copied().unwrap_or(0.0))
}

/// Which rows are predicted correctly, as ones and zeros; of numbers, how well each is, so that the mean is R2.
fn hits(values: &Matrix, truth: &Labels) -> Vec<f64> {
    if let Some(numbers) = truth.numbers() {
        return explained(values.as_slice(), numbers);
    }
    let codes = truth.codes().iter().enumerate();
    codes.map(|(i, &t)| f64::from(u8::from(largest(values.row(i)) == t))).collect()
}

/// One less the squared error of each number, as a part of their variance: the mean of it is R2. All of them are 0 where the numbers
/// are the same.
pub(crate) fn explained(told: &[f64], truth: &[f64]) -> Vec<f64> {
    let n = truth.len() as f64;
    let mean = truth.iter().sum::<f64>() / n;
    let variance = truth.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / n;
    let one = |(v, t): (&f64, &f64)| if variance > 0.0 { 1.0 - (v - t).powi(2) / variance } else { 0.0 };
    told.iter().zip(truth).map(one).collect()
}

/// The median, of an even number the upper one; zero of none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::super::fit::fit;
    use super::super::kernel::Points;
    use super::*;

    fn rows(n: usize) -> (Matrix, Labels) {
        let value = |k: usize| (1.7 * k as f64).sin() + 0.1 * ((k * k) % 7) as f64;
        let x = Matrix::from_vec(n, 2, (0..2 * n).map(value).collect()).unwrap();
        let y = Labels::from_names((0..n).map(|i| {
            if x[(i, 0)] > 0.2 {
                "b"
            } else if x[(i, 1)] > 0.3 {
                "c"
            } else {
                "a"
            }
        }));
        (x, y)
    }

    #[test]
    fn what_is_said_of_queries_is_what_the_fitted_function_says() {
        let (x, y) = rows(50);
        let (train, test): (Vec<usize>, Vec<usize>) = (0..50).partition(|i| i % 5 != 0);
        let (points, labels) = (Points::new(&x.select_rows(&train)), y.select(&train));
        let within = points.squared_within();
        let sample = Sample { within: &within, spread: points.spread(), labels: &labels, weights: None };
        let queries = x.select_rows(&test);
        let tried = usual(None, Some(0.1));
        assert_eq!(tried.len(), 5);
        for (said, &smoothness) in sample.at(&points.squared_distances(&queries), &tried).unwrap().iter().zip(&tried) {
            let f = fit(&x.select_rows(&train), &labels, None, smoothness, None).unwrap().function;
            for (a, b) in said.values.as_slice().iter().zip(f.values(&queries).unwrap().as_slice()) {
                assert!((a - b).abs() < 1e-9);
            }
            for (a, b) in said.radii.iter().zip(f.radii(&queries).unwrap()) {
                assert!((a - b).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn of_settings_that_predict_alike_the_one_with_the_larger_radius_is_taken() {
        let said = |right: [bool; 4], radius: f64| Said {
            values: Matrix::from_vec(
                4,
                2,
                right.iter().flat_map(|r| if *r { [1.0, 0.0] } else { [0.0, 1.0] }).collect(),
            )
            .unwrap(),
            radii: vec![radius; 4],
        };
        let all = [
            said([true, true, true, true], 0.1),
            said([true, true, true, true], 0.3),
            said([false, false, false, true], 0.9),
        ];
        let truth = Labels::from_codes(vec!["a".to_owned(), "b".to_owned()], vec![0; 4]).unwrap();
        assert_eq!(pick(&all, &truth, &[1.0; 4]), (1, 1.0));
    }
}
