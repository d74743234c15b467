use super::super::lip::centred;
use super::super::values::mean_distance;
use crate::{Matrix, Metric, Result, linalg};

/// What is to be multiplied with squared distances so that their mean is one; nothing where they are all zero.
pub(super) fn unit(mapped: &Matrix) -> f64 {
    let mean = mean_distance(mapped);
    if mean > 0.0 && mean.is_finite() { 1.0 / mean } else { 0.0 }
}

/// The metric and the Euclidean one, both of unit mean distance on these rows, the latter in this share.
pub(super) fn mixed(metric: &Metric, share: f64, x: &Matrix) -> Result<Metric> {
    if share == 0.0 {
        return Ok(metric.clone());
    }
    let p = x.cols();
    let learned = (1.0 - share) * unit(&metric.transform(x)?);
    let plain = share * unit(x);
    let mut m = linalg::transposed_product(metric.factor(), metric.factor());
    m.as_mut_slice().iter_mut().for_each(|v| *v *= learned);
    (0..p).for_each(|k| m[(k, k)] += plain);
    linalg::symmetrise(&mut m);
    Metric::new(linalg::root(&m)?)
}

/// The same metric by a factor whose rows are in the order in which these rows, mapped, vary: most first.
pub(super) fn principal(metric: &Metric, x: &Matrix) -> Result<Metric> {
    let (mapped, r) = (centred(&metric.transform(x)?), metric.rank());
    let eigen = linalg::symmetric_eigen(&linalg::transposed_product(&mapped, &mapped))?;
    let mut turn = Matrix::zeros(r, r);
    for k in 0..r {
        (0..r).for_each(|a| turn[(k, a)] = eigen.vectors[(a, r - 1 - k)]);
    }
    Metric::new(linalg::product(&turn, metric.factor()))
}

/// The first directions of a factor.
pub(super) fn leading(metric: &Metric, rank: usize) -> Result<Metric> {
    let rows: Vec<usize> = (0..rank.min(metric.rank())).collect();
    Metric::new(metric.factor().select_rows(&rows))
}

/// Squared distances from each query to each row, times `scale`.
pub(super) fn distances(queries: &Matrix, rows: &Matrix, scale: f64) -> Matrix {
    let lengths = |m: &Matrix| -> Vec<f64> { (0..m.rows()).map(|i| linalg::dot(m.row(i), m.row(i))).collect() };
    let (a, b) = (lengths(queries), lengths(rows));
    let mut out = linalg::product_transposed(queries, rows);
    for (i, a) in a.iter().enumerate() {
        out.row_mut(i).iter_mut().zip(&b).for_each(|(v, b)| *v = scale * (a + b - 2.0 * *v).max(0.0));
    }
    out
}
