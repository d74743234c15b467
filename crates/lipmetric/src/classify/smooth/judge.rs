//! Settings judged on rows that the functions have not seen, and the choice between them.

use super::fit::Smoothness;
use super::kernel::{Decay, Kernel};
use super::radius::Seen;
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

/// All settings of these kernels that are tried where nothing is given, the smoothest of each first.
pub(crate) fn usual(kernels: &[Kernel], width: Option<f64>, ridge: Option<f64>) -> Vec<Smoothness> {
    let list = |given: Option<f64>, all: &[f64]| given.map_or_else(|| all.iter().rev().copied().collect(), |v| vec![v]);
    let (widths, ridges) = (list(width, &WIDTHS), list(ridge, &RIDGES));
    let mut out = Vec::with_capacity(kernels.len() * widths.len() * ridges.len());
    for &kernel in kernels {
        let of = |&ridge: &f64| widths.iter().map(move |&width| Smoothness::new(width, ridge).with_kernel(kernel));
        out.extend(ridges.iter().flat_map(of));
    }
    out
}

/// What a function says of rows that it has not seen.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    /// A row per row, a column per class.
    pub(crate) values: Matrix,
    /// How far each row, or some of them, may move before its class can change.
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
        let of = |&(kernel, width): &(Kernel, f64)| -> Result<Vec<(usize, Said)>> {
            let decay = Decay::new(kernel, width * self.spread);
            let mut room = ROOM.take();
            decay.of_upper(&mut room.within, self.within);
            decay.of_into(&mut room.kernel, queries);
            let Scratch { within, kernel: to, system } = &mut room;
            let one = |(at, smoothness): (usize, &Smoothness)| -> Result<(usize, Said)> {
                let spare = std::mem::take(system);
                let solved = Ridge::in_memory(spare, within, &wanted.targets, self.weights, smoothness.ridge)?;
                let coefficients;
                (coefficients, *system) = solved.into_parts();
                let values = wanted.told(linalg::product(to, &coefficients));
                let seen = Seen { kernel: to, values: &values, within: self.within, left_out: false };
                let radii = wanted.radii(&seen, &wanted.per_class(coefficients), decay);
                Ok((at, Said { radii, values }))
            };
            let own = |(_, s): &(usize, &Smoothness)| (s.kernel, s.width) == (kernel, width);
            let said = tried.iter().enumerate().filter(own).map(one).collect();
            if self.within.rows() <= KEPT_ROWS {
                ROOM.set(room);
            }
            said
        };
        let mut kernels: Vec<(Kernel, f64)> = tried.iter().map(|s| (s.kernel, s.width)).collect();
        kernels.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        kernels.dedup();
        let mut said: Vec<(usize, Said)> =
            kernels.par_iter().map(of).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
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
            let decay = Decay::new(smoothness.kernel, smoothness.width * self.spread);
            let kernel = decay.of(self.within);
            let solved = Ridge::new(&kernel, &wanted.targets, self.weights, smoothness.ridge)?;
            let values = wanted.told(solved.left_out(&wanted.targets));
            let coefficients = wanted.per_class(solved.coefficients);
            let seen = Seen { kernel: &kernel, values: &values, within: self.within, left_out: true };
            Ok(Said { radii: wanted.radii(&seen, &coefficients, decay), values })
        };
        tried.par_iter().map(one).collect()
    }
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
        let tried = usual(&Kernel::ALL, None, Some(0.1));
        assert_eq!(tried.len(), 10);
        for (said, &smoothness) in sample.at(&points.squared_distances(&queries), &tried).unwrap().iter().zip(&tried) {
            let f = fit(&x.select_rows(&train), &labels, None, smoothness, None).unwrap().function;
            for (a, b) in said.values.as_slice().iter().zip(f.values(&queries).unwrap().as_slice()) {
                assert!((a - b).abs() < 1e-9);
            }
            let (radii, all) = (said.radii.iter(), f.radii(&queries).unwrap());
            match smoothness.kernel {
                Kernel::Laplace => radii.zip(all).for_each(|(a, b)| assert!((a - b).abs() < 1e-9)),
                // Here to the nearest rival alone, and halved as long as is needed.
                Kernel::Gaussian => radii.zip(all).for_each(|(a, b)| assert!(*a > 0.99 * b && *a < 1e3)),
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
