use crate::classify::Weights;
use crate::neighbours::{NeighbourIndex, check_k};
use crate::{Error, Matrix, Result};

/// The mean of the numbers of the nearest rows.
///
/// ```
/// use lipmetric::classify::Weights;
/// use lipmetric::neighbours::NeighbourIndex;
/// use lipmetric::{Matrix, regress::Means};
/// let index = NeighbourIndex::new(Matrix::from_rows(&[[0.0], [1.0], [5.0]]))?;
/// let means = Means::new(index, vec![2.0, 4.0, 9.0], 2, Weights::Uniform)?;
/// assert_eq!(means.predict(&Matrix::from_rows(&[[0.2], [3.5]]))?, [3.0, 6.5]);
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug)]
pub struct Means {
    index: NeighbourIndex,
    numbers: Vec<f64>,
    k: usize,
    weights: Weights,
}

impl Means {
    /// The mean of the `k` nearest rows of `index`, which have these numbers.
    ///
    /// # Errors
    /// If `k` is 0 or larger than the number of rows, or if there is not one number per row.
    pub fn new(index: NeighbourIndex, numbers: Vec<f64>, k: usize, weights: Weights) -> Result<Self> {
        if numbers.len() != index.rows().rows() {
            return Err(Error::shape("numbers of the indexed rows", index.rows().rows(), numbers.len()));
        }
        check_k(k, index.rows().rows(), "rows")?;
        Ok(Self { index, numbers, k, weights })
    }

    /// The rows it searches in.
    #[must_use]
    pub fn index(&self) -> &NeighbourIndex {
        &self.index
    }

    /// The number of each query.
    ///
    /// # Errors
    /// If the queries have another number of columns than the rows, or one is not finite.
    pub fn predict(&self, queries: &Matrix) -> Result<Vec<f64>> {
        let found = self.index.query(queries, self.k)?;
        let one = |i: usize| {
            let numbers = found.indices(i).iter().map(|&row| self.numbers[row]);
            self.weights.mean(numbers, found.squared_distances(i))
        };
        Ok((0..found.len()).map(one).collect())
    }

    /// The least and the largest number that a row may get that is less than this far from each query.
    ///
    /// Its neighbours are among the rows that are nearer to the query than the `k`-th neighbour and twice the radius; their mean is
    /// at least that of the `k` smallest numbers of these rows, and at most that of the `k` largest. Weighted by distance it is one
    /// of the numbers at the least.
    ///
    /// # Errors
    /// As [`Self::predict`].
    pub fn ranges(&self, queries: &Matrix, radius: f64) -> Result<Vec<(f64, f64)>> {
        let found = self.index.query(queries, self.k)?;
        let one = |i: usize| {
            let farthest = found.squared_distances(i).last().copied().unwrap_or(0.0).sqrt();
            let reach = (farthest + 2.0 * radius) * (1.0 + 1e-9);
            let mut near: Vec<f64> = self.within(queries.row(i), reach).map(|row| self.numbers[row]).collect();
            near.sort_unstable_by(f64::total_cmp);
            let count = if self.weights == Weights::Uniform { self.k.min(near.len()) } else { 1 };
            let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
            (mean(&near[..count]), mean(&near[near.len() - count..]))
        };
        Ok((0..found.len()).map(one).collect())
    }

    fn within(&self, query: &[f64], reach: f64) -> impl Iterator<Item = usize> {
        let rows = self.index.rows();
        let near = move |row: &usize| crate::neighbours::squared_distance(rows.row(*row), query) <= reach * reach;
        (0..rows.rows()).filter(near)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> (Matrix, Vec<f64>) {
        let x = Matrix::from_vec(40, 2, (0..80).map(|k| ((7 * k * k + k) % 23) as f64 / 5.0).collect()).unwrap();
        (x, (0..40).map(|i| ((i * i) % 17) as f64).collect())
    }

    #[test]
    fn means_are_those_of_a_plain_search() {
        let (x, y) = rows();
        let queries = Matrix::from_vec(9, 2, (0..18).map(|k| 0.31 * k as f64).collect()).unwrap();
        for weights in [Weights::Uniform, Weights::Distance] {
            let means = Means::new(NeighbourIndex::new(x.clone()).unwrap(), y.clone(), 5, weights).unwrap();
            for (q, found) in means.predict(&queries).unwrap().into_iter().enumerate() {
                let mut order: Vec<(f64, usize)> = (0..40)
                    .map(|i| (x.row(i).iter().zip(queries.row(q)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt(), i))
                    .collect();
                order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                let weight = |d: f64| if weights == Weights::Uniform { 1.0 } else { 1.0 / d };
                let total: f64 = order[..5].iter().map(|o| weight(o.0)).sum();
                let expected = order[..5].iter().map(|o| weight(o.0) * y[o.1]).sum::<f64>() / total;
                assert!((found - expected).abs() < 1e-9, "{found} and {expected}");
            }
        }
    }

    #[test]
    fn no_row_near_by_leaves_the_range() {
        let (x, y) = rows();
        let queries = Matrix::from_vec(6, 2, (0..12).map(|k| 0.4 * k as f64).collect()).unwrap();
        for weights in [Weights::Uniform, Weights::Distance] {
            let means = Means::new(NeighbourIndex::new(x.clone()).unwrap(), y.clone(), 3, weights).unwrap();
            for (q, (low, high)) in means.ranges(&queries, 0.3).unwrap().into_iter().enumerate() {
                for step in 0..32 {
                    let (angle, far) = (0.4 * f64::from(step), 0.299 * f64::from(step % 5) / 4.0);
                    let at = [queries[(q, 0)] + far * angle.cos(), queries[(q, 1)] + far * angle.sin()];
                    let found = means.predict(&Matrix::from_rows(&[at])).unwrap()[0];
                    assert!(low - 1e-9 <= found && found <= high + 1e-9, "{low} {found} {high}");
                }
            }
        }
    }
}
