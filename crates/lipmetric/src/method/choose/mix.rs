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
    if p > MANY && of_few_directions(metric) {
        return Metric::new(root_of_few(metric.factor(), learned, plain)?);
    }
    let mut m = linalg::transposed_product(metric.factor(), metric.factor());
    m.as_mut_slice().iter_mut().for_each(|v| *v *= learned);
    (0..p).for_each(|k| m[(k, k)] += plain);
    linalg::symmetrise(&mut m);
    Metric::new(linalg::root(&m)?)
}

/// Features from which on a mixture is put together from a metric's directions, where these are few.
const MANY: usize = 200;

/// Whether a metric has few directions, compared with its features.
pub(super) fn of_few_directions(metric: &Metric) -> bool {
    4 * metric.rank() <= metric.features()
}

/// The symmetric root of `a L^T L + b I`: in the directions `q` of `L` it is the root of `a s + b`, in all others that of `b`. It takes
/// the time of `rank p^2` multiplications, not of `p^3`.
fn root_of_few(factor: &Matrix, a: f64, b: f64) -> Result<Matrix> {
    let (r, p) = (factor.rows(), factor.cols());
    let eigen = linalg::symmetric_eigen(&linalg::product_transposed(factor, factor))?;
    let least = 1e-14 * eigen.values.last().copied().unwrap_or(0.0);
    // Rows of unit length, and the same times what the root has there more than elsewhere.
    let mut unit = linalg::transposed_product(&eigen.vectors, factor);
    let mut more = unit.clone();
    for k in 0..r {
        let s = eigen.values[k];
        let (scale, gain) = if s > least { (1.0 / s.sqrt(), (a * s + b).sqrt() - b.sqrt()) } else { (0.0, 0.0) };
        unit.row_mut(k).iter_mut().for_each(|v| *v *= scale);
        more.row_mut(k).iter_mut().for_each(|v| *v *= scale * gain);
    }
    let mut out = linalg::transposed_product(&unit, &more);
    (0..p).for_each(|k| out[(k, k)] += b.sqrt());
    linalg::symmetrise(&mut out);
    Ok(out)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_of_few_directions_is_a_root() {
        let (r, p) = (3, 20);
        let mut factor = Matrix::from_vec(r, p, (0..r * p).map(|k| (1.3 * k as f64).sin()).collect()).unwrap();
        // A direction that is there twice.
        let first = factor.row(0).to_vec();
        factor.row_mut(2).copy_from_slice(&first);
        let root = root_of_few(&factor, 0.7, 0.4).unwrap();
        let (square, gram) = (linalg::transposed_product(&root, &root), linalg::transposed_product(&factor, &factor));
        for i in 0..p {
            for j in 0..p {
                let wanted = 0.7 * gram[(i, j)] + if i == j { 0.4 } else { 0.0 };
                assert!((square[(i, j)] - wanted).abs() < 1e-12, "{} and {wanted}", square[(i, j)]);
            }
        }
    }
}
