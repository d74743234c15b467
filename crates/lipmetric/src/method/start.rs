//! What the learners of a factor share: the rows' coordinates, and where a fit begins.

use super::Training;
use crate::problem::Coordinates;
use crate::{Error, Matrix, Metric, Result, linalg};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// The least eigenvalue of the spread within classes, as a part of its largest: a discriminant direction divides by it.
const FLAT: f64 = 1e-8;
/// Coordinates that differ by less than this part are equal up to rounding.
const SAME: f64 = 1e-12;

/// Where a fit begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Init {
    /// `Lda` for fewer components than classes, else `Pca` for fewer than features, else `Identity`.
    #[default]
    Auto,
    /// The features as they are, the first of them where there are fewer components.
    Identity,
    /// The directions of largest variance, not rescaled.
    Pca,
    /// The directions that best tell the classes' means apart, relative to the spread within classes.
    Lda,
    /// Normal random numbers, from this seed.
    Random(u64),
}

/// Where a fit begins: by a rule, or at a given metric.
#[derive(Clone, Copy)]
pub(super) enum Begin<'a> {
    Rule(Init),
    Given(&'a Metric),
}

impl<'a> Begin<'a> {
    /// At the metric that is given with the rows, or else by the rule.
    pub(super) fn new(rule: Init, data: &Training<'a>) -> Self {
        data.start.map_or(Self::Rule(rule), Self::Given)
    }

    /// Whether the scale, too, is the method's to choose.
    pub(super) fn is_auto(self) -> bool {
        matches!(self, Self::Rule(Init::Auto))
    }
}

/// The rows that count, in coordinates in which distances are the features' own.
pub(super) fn coordinates(data: &Training<'_>) -> Result<Coordinates> {
    if data.y.numbers().is_some() {
        data.y.check_two_classes()?;
        return coordinates_of_any_labels(data);
    }
    let codes = data.y.codes();
    let counts = |i: &usize| data.weights.is_none_or(|w| w[*i] > 0.0);
    let mut used = (0..codes.len()).filter(counts).map(|i| codes[i]);
    let first = used.next();
    if used.all(|c| Some(c) == first) {
        return Err(Error::data("all rows have the same label: at least two classes are needed"));
    }
    coordinates_of_any_labels(data)
}

/// The same for a method that does not look at the labels.
pub(super) fn coordinates_of_any_labels(data: &Training<'_>) -> Result<Coordinates> {
    Coordinates::rotated(data.x, data.y.codes(), &weights(data))?.check()
}

/// The weight of each row.
pub(super) fn weights(data: &Training<'_>) -> Vec<f64> {
    data.weights.map_or_else(|| vec![1.0; data.x.rows()], <[f64]>::to_vec)
}

/// A note where the rows do not vary in every dimension.
pub(super) fn notes_on(coordinates: &Coordinates) -> Vec<String> {
    let (rank, p) = (coordinates.rank(), coordinates.features());
    let few = || {
        format!(
            "the rows vary in {rank} of {p} dimensions only (constant or dependent features, or few rows): the metric \
             does not measure the others"
        )
    };
    (rank < p).then(few).into_iter().collect()
}

impl Coordinates {
    /// Where to begin, as a factor on the coordinates: components x coordinates. To be asked before any change of them.
    pub(super) fn start(&self, begin: Begin<'_>, components: Option<usize>) -> Result<Matrix> {
        let (p, rank) = (self.features(), self.rank());
        if let Some(asked) = components
            && (asked == 0 || asked > p)
        {
            return Err(Error::parameter(
                "n_components",
                format!("{asked} components of {p} features: give 1 to {p}, or leave it out for all"),
            ));
        }
        let count = components.unwrap_or(p).min(rank);
        let first = |of: usize| Matrix::identity(of).select_rows(&Vec::from_iter(0..count));
        let init = match begin {
            Begin::Rule(init) => init,
            Begin::Given(metric) => return self.given(metric, components),
        };
        Ok(match init {
            Init::Auto if components.is_some_and(|c| c < self.cloud.classes().len()) => self.discriminant(count)?,
            Init::Auto | Init::Pca => first(rank),
            Init::Identity if count == rank => first(rank),
            Init::Identity => self.inner(&first(p))?,
            Init::Lda => self.discriminant(count)?,
            Init::Random(seed) => {
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                let mut l = Matrix::zeros(count, p);
                let scale = 1.0 / (p as f64).sqrt();
                for v in l.as_mut_slice() {
                    // Box and Muller.
                    let (a, b): (f64, f64) = (rng.random(), rng.random());
                    *v = scale * (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos();
                }
                self.inner(&l)?
            }
        })
    }

    fn given(&self, metric: &Metric, components: Option<usize>) -> Result<Matrix> {
        if let Some(asked) = components
            && asked != metric.rank()
        {
            return Err(Error::parameter(
                "n_components",
                format!("{asked}, but the metric to start from has {} components", metric.rank()),
            ));
        }
        self.inner(metric.factor())
    }

    /// Rows `v` of largest between-class scatter among those of unit within-class scatter.
    fn discriminant(&self, count: usize) -> Result<Matrix> {
        let (cloud, p) = (&self.cloud, self.rank());
        let (mut within, mut between) = (Matrix::zeros(p, p), Matrix::zeros(p, p));
        let total: f64 = cloud.weight.iter().sum();
        for class in cloud.classes() {
            let mean = cloud.weighted_mean(class.clone());
            let mass: f64 = cloud.weight[class.clone()].iter().sum();
            for i in class {
                let d: Vec<f64> = cloud.x.row(i).iter().zip(&mean).map(|(v, m)| v - m).collect();
                rank_one(&mut within, cloud.weight[i] / total, &d);
            }
            rank_one(&mut between, mass / total, &mean);
        }
        let (whiten, _) = linalg::roots(&within, FLAT)?;
        let eigen = linalg::symmetric_eigen(&linalg::congruence(&between, &whiten))?;
        let top = eigen.vectors.select_cols((p - count..p).rev());
        Ok(linalg::transposed_product(&top, &whiten))
    }
}

fn rank_one(a: &mut Matrix, t: f64, v: &[f64]) {
    for (i, vi) in v.iter().enumerate() {
        a.row_mut(i).iter_mut().zip(v).for_each(|(o, vj)| *o += t * vi * vj);
    }
}

/// A note where the metric maps all rows to one point.
pub(super) fn note_collapse(metric: &Metric, x: &Matrix, notes: &mut Vec<String>) -> Result<()> {
    let mapped = metric.transform(x)?;
    let spread = (0..mapped.cols()).any(|k| {
        let first = mapped[(0, k)];
        (1..mapped.rows()).any(|i| (mapped[(i, k)] - first).abs() > SAME * first.abs().max(linalg::TINY))
    });
    if !spread {
        notes.push(
            "the metric maps all rows to one point: all distances are 0, and it cannot separate the classes".to_owned(),
        );
    }
    Ok(())
}
