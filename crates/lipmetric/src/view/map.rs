use crate::metric::Directions;
use crate::{Error, Labels, Matrix, Metric, Model, Result, linalg};
use serde::{Deserialize, Serialize};

/// Directions that a picture can be turned to.
const DIRECTIONS: usize = 6;
/// Above this many coordinates the directions are found from the distances of as many rows, not from a covariance.
const SIDE: usize = 300;
/// The same where they are a map of their own.
const SIDE_OF_MAP: usize = 1000;
/// Features that are named with a direction.
const NAMED: usize = 3;

/// Rows under a metric, in the orthogonal directions in which they spread most: what is apart in a picture of two of them is at
/// least that far apart by the metric.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Map {
    /// `coordinates[d][k]`: where the row drawn as number `k` is in direction `d`, from the mean of all rows.
    pub coordinates: Vec<Vec<f64>>,
    /// The part of the rows' squared distances that is along each direction.
    pub shares: Vec<f64>,
    /// The features that a direction is made of, the largest parts first, each with its part (of unit length over all features).
    pub parts: Vec<Vec<(String, f64)>>,
    /// `centres[d][class]`: the mean of each class.
    pub centres: Vec<Vec<f64>>,
    /// The learned metric within these directions: `gram[d][e]` is the learned inner product of steps of length 1.
    pub gram: Vec<Vec<f64>>,
}

/// Where the rows are, and under which metric.
pub(super) struct Seen<'a> {
    /// Prepared rows.
    pub(super) x: &'a Matrix,
    pub(super) y: &'a Labels,
    /// The rows that the directions are of.
    pub(super) from: &'a Matrix,
    /// The metric that the directions are of.
    pub(super) metric: &'a Metric,
    /// The metric whose ellipses are drawn.
    pub(super) learned: &'a Metric,
    /// The features' names.
    pub(super) names: &'a [String],
}

impl Map {
    /// Of the rows with these numbers.
    pub(super) fn of(seen: &Seen<'_>, shown: &[usize]) -> Result<Self> {
        let mapped = seen.metric.transform(seen.x)?;
        let Directions { mean, vectors: directions, shares } = if std::ptr::eq(seen.x, seen.from) {
            Directions::of(&mapped, DIRECTIONS, SIDE)?
        } else {
            Directions::of(&seen.metric.transform(seen.from)?, DIRECTIONS, SIDE)?
        };
        let along = |row: &[f64], d: usize| -> f64 {
            directions.row(d).iter().zip(row.iter().zip(&mean)).map(|(v, (x, m))| v * (x - m)).sum()
        };
        let dims = directions.rows();
        let members = seen.y.members();
        let centre = |rows: &Vec<usize>, d: usize| {
            rows.iter().map(|&i| along(mapped.row(i), d)).sum::<f64>() / rows.len().max(1) as f64
        };
        // Back in the features: a step along the direction is one along `L^T v`.
        let pulled = match seen.metric.is_euclidean() {
            true => directions.clone(),
            false => linalg::product(&directions, seen.metric.factor()),
        };
        Ok(Self {
            coordinates: (0..dims).map(|d| shown.iter().map(|&i| along(mapped.row(i), d)).collect()).collect(),
            shares,
            parts: (0..dims).map(|d| parts(pulled.row(d), seen.names)).collect(),
            centres: (0..dims).map(|d| members.iter().map(|rows| centre(rows, d)).collect()).collect(),
            gram: gram(&directions, seen)?,
        })
    }
}

/// Mapped rows in fewer coordinates: the directions in which a model's training rows spread most under its distance.
#[derive(Debug, Clone, PartialEq)]
pub struct Projection(Directions);

impl Projection {
    /// To so many coordinates.
    ///
    /// # Errors
    /// If none is asked for or more than the map gives, or the model was stored without its training rows.
    pub fn of(model: &Model, dims: usize) -> Result<Self> {
        let mapped = model.metric.transform(&model.training_rows()?.x)?;
        let most = mapped.cols();
        if dims == 0 || dims > most {
            return Err(Error::parameter(
                "dims",
                format!("{dims} coordinates of a map that has {most}: give 1 to {most}"),
            ));
        }
        Ok(Self(Directions::of(&mapped, dims, SIDE_OF_MAP)?))
    }

    /// The coordinates of rows that the model has mapped, from the mean of its training rows.
    #[must_use]
    pub fn apply(&self, mapped: &Matrix) -> Matrix {
        self.0.apply(mapped)
    }
}

/// The features with the largest parts in a direction.
fn parts(direction: &[f64], names: &[String]) -> Vec<(String, f64)> {
    let length = direction.iter().map(|v| v * v).sum::<f64>().sqrt();
    if length == 0.0 {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..direction.len()).collect();
    order.sort_by(|&a, &b| direction[b].abs().total_cmp(&direction[a].abs()).then(a.cmp(&b)));
    let name = |j: usize| names.get(j).cloned().unwrap_or_default();
    order.into_iter().take(NAMED).map(|j| (name(j), direction[j] / length)).collect()
}

/// The learned inner products of unit steps along the directions.
fn gram(directions: &Matrix, seen: &Seen<'_>) -> Result<Vec<Vec<f64>>> {
    let dims = directions.rows();
    // In the learned space itself the directions are orthonormal.
    let stepped = if std::ptr::eq(seen.metric, seen.learned) {
        directions.clone()
    } else {
        seen.learned.transform(directions)?
    };
    let product = linalg::product_transposed(&stepped, &stepped);
    Ok((0..dims).map(|d| product.row(d).to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(p: usize) -> Vec<String> {
        (0..p).map(|j| format!("f{j}")).collect()
    }

    #[test]
    fn the_first_direction_is_the_one_of_the_largest_spread_and_distances_are_kept() {
        let x = Matrix::from_rows(&[[0.0, 0.0], [4.0, 4.0], [8.0, 8.0], [4.0, 4.5]]);
        let y = Labels::from_names(["a", "a", "b", "b"]);
        let metric = Metric::euclidean(2);
        let names = names(2);
        let seen = Seen { x: &x, y: &y, from: &x, metric: &metric, learned: &metric, names: &names };
        let map = Map::of(&seen, &[0, 1, 2, 3]).unwrap();
        assert!(map.shares[0] > 0.99 && (map.shares[0] + map.shares[1] - 1.0).abs() < 1e-12);
        let apart = |i: usize, j: usize| map.coordinates.iter().map(|c| (c[i] - c[j]).powi(2)).sum::<f64>().sqrt();
        assert!((apart(0, 2) - 128.0_f64.sqrt()).abs() < 1e-9 && (apart(1, 3) - 0.5).abs() < 1e-9);
        assert!((map.gram[0][0] - 1.0).abs() < 1e-12 && map.gram[0][1].abs() < 1e-12);
        assert!((map.centres[0][0] + map.centres[0][1]).abs() < 1e-9);
    }

    #[test]
    fn ellipses_on_the_euclidean_map_are_those_of_the_learned_metric() {
        let x = Matrix::from_rows(&[[0.0, 0.0], [10.0, 0.0], [0.0, 1.0], [10.0, 1.0]]);
        let y = Labels::from_names(["a", "b", "a", "b"]);
        let (plain, learned) =
            (Metric::euclidean(2), Metric::new(Matrix::from_rows(&[[0.5, 0.0], [0.0, 3.0]])).unwrap());
        let names = names(2);
        let map = Map::of(&Seen { x: &x, y: &y, from: &x, metric: &plain, learned: &learned, names: &names }, &[0, 3])
            .unwrap();
        assert!((map.gram[0][0] - 0.25).abs() < 1e-12 && (map.gram[1][1] - 9.0).abs() < 1e-12);
        assert_eq!(map.parts[0][0].0, "f0");
    }

    #[test]
    fn many_coordinates_go_another_way_to_the_same_picture() {
        let mut x = Matrix::zeros(40, 400);
        for i in 0..40 {
            x[(i, 7)] = i as f64;
            x[(i, 9)] = (i % 3) as f64;
        }
        let y = Labels::from_names((0..40).map(|i| ["a", "b"][i % 2]));
        let metric = Metric::euclidean(400);
        let names = names(400);
        let map = Map::of(&Seen { x: &x, y: &y, from: &x, metric: &metric, learned: &metric, names: &names }, &[0, 39])
            .unwrap();
        assert!((map.coordinates[0][1] - map.coordinates[0][0]).abs() > 38.9);
        assert_eq!(map.parts[0][0].0, "f7");
        assert_eq!(map.parts[1][0].0, "f9");
    }
}
