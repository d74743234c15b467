//! Where the iteration begins: a first metric, and what even multipliers prove.

use super::LEAST;
use super::outer::Settings;
use super::survey::survey;
use crate::pairs::pass::{Beyond, Query};
use crate::pairs::{Cloud, Embedding};
use crate::problem::{Multipliers, certify, different_sum};
use crate::{Matrix, Result, linalg};

/// The least eigenvalue of a first metric, as a part of its largest.
const LEAST_SIZE: f64 = 1e-4;
/// Points of the sample from which the first scale is taken.
const SAMPLE: usize = 300;
/// What is added to the eigenvalues of the within-class covariance, relative to the largest, before they are inverted; without a
/// number, the identity. From cautious to bold: the sample tells which is best.
const FLATNESS: [Option<f64>; 4] = [None, Some(0.3), Some(0.1), Some(0.03)];
/// Only the longest pair is asked for, among those longer than this part of it.
const LONG: f64 = 0.9;

/// The bound from multipliers that are all equal: a fair one where nearly all pairs of different class can be separated.
pub(crate) fn even_bound(cloud: &Cloud, mean: &Matrix, c: f64) -> Result<f64> {
    let (push, mut pull) = (different_sum(cloud), mean.clone());
    pull.as_mut_slice().iter_mut().for_each(|v| *v *= c);
    let even = Multipliers { push: &push, total: cloud.pair_totals().0, pull: &pull, most: 1.0 };
    Ok(certify(&even, mean, c, &cloud.reach())?.value)
}

/// A first metric: of the identity and some inverses of the within-class covariance (as in a discriminant analysis), in
/// their best multiples, and a given one, the best on a sample.
pub(crate) fn first_factor(cloud: &Cloud, settings: &Settings, start: Option<&Matrix>) -> Result<Matrix> {
    let p = cloud.x.cols();
    let part = if cloud.len() > SAMPLE { cloud.thinned(SAMPLE) } else { cloud.clone() };
    let share = part.pair_totals().0 / cloud.pair_totals().0;
    let everything = (f64::NEG_INFINITY, f64::INFINITY);
    let query =
        Query { window: everything, beyond: Beyond::Part(LONG), most: 1, ..Query::plain(settings.variant.bounding()) };
    let total = cloud.weight.iter().sum::<f64>();
    let mut within = Matrix::zeros(p, p);
    for group in cloud.classes() {
        let weight: f64 = cloud.weight[group.clone()].iter().sum();
        let own = group_scatter(cloud, group);
        linalg::add_scaled(&mut within, 1.0 / (total * weight), &own);
    }
    let eigen = linalg::symmetric_eigen(&within)?;
    let top = eigen.values.last().copied().unwrap_or(0.0).max(linalg::TINY);
    let mut candidates: Vec<Matrix> = start.cloned().into_iter().collect();
    for flatness in FLATNESS {
        let shape = |w: f64| flatness.map_or(1.0, |least| 1.0 / (w + least));
        let sizes: Vec<f64> = eigen.values.iter().map(|w| shape(w.max(0.0) / top)).collect();
        let most = sizes.iter().fold(0.0f64, |a, &b| a.max(b)).max(LEAST);
        candidates.push(eigen.scaled(0..p, |w| (shape(w.max(0.0) / top) / most).max(LEAST_SIZE).sqrt()));
    }
    let mut best: Option<(f64, Matrix)> = None;
    for mut factor in candidates {
        let found = survey(&part, &Embedding::new(&part, &factor), &query);
        let (t, value) = found.rescaled(settings.c * share, everything);
        // At the smallest multiples no pair is separated: one that just separates the longest pair is a better start.
        let t = t.max(2.0 / found.longest.max(LEAST)).sqrt();
        factor.as_mut_slice().iter_mut().for_each(|v| *v *= t);
        if best.as_ref().is_none_or(|b| value < b.0) {
            best = Some((value, factor));
        }
    }
    Ok(best.map_or_else(|| Matrix::identity(p), |b| b.1))
}

/// `W sum w (x - mean)(x - mean)^T` over a group, with `W` its weight.
fn group_scatter(cloud: &Cloud, group: std::ops::Range<usize>) -> Matrix {
    let p = cloud.x.cols();
    let total: f64 = cloud.weight[group.clone()].iter().sum();
    let mean = cloud.weighted_mean(group.clone());
    let mut plain = Matrix::zeros(group.len(), p);
    let mut scaled = Matrix::zeros(group.len(), p);
    for (row, i) in group.enumerate() {
        for (k, (v, m)) in cloud.x.row(i).iter().zip(&mean).enumerate() {
            plain[(row, k)] = v - m;
            scaled[(row, k)] = total * cloud.weight[i] * (v - m);
        }
    }
    let mut out = linalg::transposed_product(&plain, &scaled);
    linalg::symmetrise(&mut out);
    out
}
