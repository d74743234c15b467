//! The directions in which rows spread most under a metric.

use super::Metric;
use crate::{Error, Matrix, Result, linalg};

/// Principal directions of mapped rows: steps along them are as long as the metric says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Directions {
    /// The mean of the rows.
    pub(crate) mean: Vec<f64>,
    /// A direction each, of unit length: those of the largest spread first. Signs are such that the largest element is positive.
    pub(crate) vectors: Matrix,
    /// The part of the rows' squared distances that is along each.
    pub(crate) shares: Vec<f64>,
}

impl Directions {
    /// At most so many directions of mapped rows. With more coordinates than `side` (and more rows than that) they are those of so many
    /// of the rows, evenly chosen.
    pub(crate) fn of(mapped: &Matrix, most: usize, side: usize) -> Result<Self> {
        let (n, p) = (mapped.rows(), mapped.cols());
        let mean = mean(mapped);
        let dims = most.min(p);
        let (found, values) = if p <= side {
            let rows = centred(mapped, &mean, &Vec::from_iter(0..n));
            let eigen = linalg::symmetric_eigen(&linalg::transposed_product(&rows, &rows))?;
            (eigen.vectors, eigen.values)
        } else {
            let wanted = side.min(n);
            let some: Vec<usize> = (0..wanted).map(|k| k * n / wanted.max(1)).collect();
            let rows = centred(mapped, &mean, &some);
            let eigen = linalg::symmetric_eigen(&linalg::product_transposed(&rows, &rows))?;
            (linalg::transposed_product(&rows, &eigen.vectors), eigen.values)
        };
        let total: f64 = values.iter().map(|v| v.max(0.0)).sum();
        let mut vectors = Matrix::zeros(dims.min(values.len()), p);
        let mut shares = Vec::new();
        for (d, k) in (0..values.len()).rev().take(dims).enumerate() {
            let column: Vec<f64> = (0..p).map(|a| found[(a, k)]).collect();
            let length = column.iter().map(|v| v * v).sum::<f64>().sqrt();
            let top = column.iter().fold(0.0_f64, |top, v| if v.abs() > top.abs() { *v } else { top });
            let scale = if length > 0.0 { top.signum() / length } else { 0.0 };
            vectors.row_mut(d).iter_mut().zip(&column).for_each(|(o, v)| *o = v * scale);
            shares.push(if total > 0.0 { values[k].max(0.0) / total } else { 0.0 });
        }
        Ok(Self { mean, vectors, shares })
    }

    /// The coordinates of mapped rows along the directions, from the mean.
    pub(crate) fn apply(&self, mapped: &Matrix) -> Matrix {
        let all: Vec<usize> = (0..mapped.rows()).collect();
        linalg::product_transposed(&centred(mapped, &self.mean, &all), &self.vectors)
    }
}

/// Coordinates up to which [`Metric::leading`] looks at all rows.
const SIDE: usize = 1000;

impl Metric {
    /// The metric that sees only so many directions, those in which these rows spread most under this one, and the part of the rows'
    /// squared distances that is left. Of the Euclidean metric they are the principal components. A metric of a lower rank stays as
    /// it is. With more than 1,000 directions those of 1,000 rows are taken.
    ///
    /// ```
    /// use lipmetric::{Matrix, Metric};
    /// let x = Matrix::from_rows(&[[0.0, 0.0, 1.0], [4.0, 0.1, 2.0], [8.0, 0.0, 0.0]]);
    /// let (map, share) = Metric::euclidean(3).leading(&x, 1)?;
    /// assert_eq!(map.rank(), 1);
    /// assert!(share > 0.9 && map.squared_distance(x.row(0), x.row(2)) > 60.0);
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    ///
    /// # Errors
    /// If no direction is asked for, the rows have another number of features, or a decomposition fails.
    pub fn leading(&self, x: &Matrix, dims: usize) -> Result<(Self, f64)> {
        if dims == 0 {
            return Err(Error::parameter("dims", "0 directions: give at least 1"));
        }
        if dims >= self.rank() {
            return Ok((self.clone(), 1.0));
        }
        let found = Directions::of(&self.transform(x)?, dims, SIDE)?;
        let factor = match self.is_euclidean() {
            true => found.vectors,
            false => linalg::product(&found.vectors, self.factor()),
        };
        Ok((Self::new(factor)?, found.shares.iter().sum()))
    }
}

fn mean(x: &Matrix) -> Vec<f64> {
    let mut mean = vec![0.0; x.cols()];
    for i in 0..x.rows() {
        mean.iter_mut().zip(x.row(i)).for_each(|(m, v)| *m += v);
    }
    mean.iter_mut().for_each(|m| *m /= x.rows().max(1) as f64);
    mean
}

fn centred(x: &Matrix, mean: &[f64], rows: &[usize]) -> Matrix {
    let mut out = x.select_rows(rows);
    for i in 0..out.rows() {
        out.row_mut(i).iter_mut().zip(mean).for_each(|(v, m)| *v -= m);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 60 rows of 5 features, each with another spread.
    fn rows() -> Matrix {
        let value = |k: usize| ((k * 7919 + 13) % 1009) as f64 / 1009.0 - 0.5;
        let mut x = Matrix::zeros(60, 5);
        for i in 0..60 {
            for j in 0..5 {
                x[(i, j)] = value(5 * i + j) * (j + 1) as f64;
            }
        }
        x
    }

    #[test]
    fn no_other_directions_keep_more_of_the_squared_distances_and_all_of_them_keep_all() {
        let x = rows();
        let factor = Matrix::from_vec(5, 5, (0..25).map(|k| (1.7 * k as f64).sin()).collect()).unwrap();
        let metric = Metric::new(factor).unwrap();
        let total = |m: &Metric| -> f64 {
            (0..60).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| m.squared_distance(x.row(i), x.row(j))).sum()
        };
        let (map, share) = metric.leading(&x, 2).unwrap();
        assert_eq!(map.rank(), 2);
        assert!((total(&map) / total(&metric) - share).abs() < 1e-9, "{share}");
        // Two rows of the factor are two directions of the mapped rows.
        for pair in [[0, 1], [0, 4], [2, 3]] {
            let other = Metric::new(metric.factor().select_rows(&pair)).unwrap();
            assert!(total(&other) <= total(&map) * (1.0 + 1e-12));
        }
        for i in 0..10 {
            let (near, far) = (map.squared_distance(x.row(i), x.row(30)), metric.squared_distance(x.row(i), x.row(30)));
            assert!(near <= far * (1.0 + 1e-12), "a map shows rows no farther apart than they are");
        }
        assert_eq!(metric.leading(&x, 5).unwrap(), (metric.clone(), 1.0));
        assert!(metric.leading(&x, 0).unwrap_err().to_string().contains("at least 1"));
    }

    #[test]
    fn of_the_euclidean_metric_they_are_the_principal_components_however_many_coordinates() {
        let x = rows();
        let all = Directions::of(&x, 2, 100).unwrap();
        let (map, share) = Metric::euclidean(5).leading(&x, 2).unwrap();
        assert_eq!(map.factor(), &all.vectors);
        assert!(share < 1.0 && share > 0.5);
        let mut wide = Matrix::zeros(6, 9);
        (0..6).for_each(|i| wide.row_mut(i)[..5].copy_from_slice(x.row(i)));
        let (by_columns, by_rows) = (Directions::of(&wide, 2, 9).unwrap(), Directions::of(&wide, 2, 8).unwrap());
        for (a, b) in by_columns.vectors.as_slice().iter().zip(by_rows.vectors.as_slice()) {
            assert!((a - b).abs() < 1e-9, "{a} and {b}");
        }
    }
}
