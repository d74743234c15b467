//! What the learners of a factor share: rows as coordinates without redundancy, and where a fit begins.

use super::Training;
use crate::pairs::Cloud;
use crate::{Error, Matrix, Metric, Result, linalg};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::ops::Range;

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

/// Singular values below this fraction of the largest count as zero.
const RANK_TOLERANCE: f64 = 1e-10;

/// The rows of positive weight, centred, in coordinates in which distances are the features' own; directions in which the
/// rows do not vary are left out.
pub(super) struct Frame {
    pub(super) cloud: Cloud,
    /// `x -> back x` maps a difference of rows to the coordinates: coordinates x features.
    back: Matrix,
    /// The opposite: features x coordinates.
    forth: Matrix,
    /// The points of the same class as each point, itself included.
    pub(super) same: Vec<Range<usize>>,
    pub(super) notes: Vec<String>,
}

impl Frame {
    pub(super) fn new(data: &Training<'_>) -> Result<Self> {
        let codes = data.y.codes();
        let counts = |i: &usize| data.weights.is_none_or(|w| w[*i] > 0.0);
        let mut used = (0..codes.len()).filter(counts).map(|i| codes[i]);
        let first = used.next();
        if used.all(|c| Some(c) == first) {
            return Err(Error::data("all rows have the same label: there is nothing to tell apart"));
        }
        Self::of_any_labels(data)
    }

    /// The same for a method that does not look at the labels.
    pub(super) fn of_any_labels(data: &Training<'_>) -> Result<Self> {
        let (x, p) = (data.x, data.x.cols());
        let ones;
        let weights = match data.weights {
            Some(weights) => weights,
            None => {
                ones = vec![1.0; x.rows()];
                &ones
            }
        };
        let used: Vec<usize> = (0..x.rows()).filter(|&i| weights[i] > 0.0).collect();
        let n = used.len();
        let codes = data.y.codes();
        let mut mean = vec![0.0; p];
        for &i in &used {
            mean.iter_mut().zip(x.row(i)).for_each(|(m, v)| *m += v / n as f64);
        }
        let mut centred = Matrix::zeros(x.rows(), p);
        let mut largest = 0.0f64;
        for &i in &used {
            for (k, (c, v)) in centred.row_mut(i).iter_mut().zip(x.row(i)).enumerate() {
                *c = v - mean[k];
                // A constant feature's mean may be off by rounding.
                if c.abs() <= 1e-14 * v.abs() {
                    *c = 0.0;
                }
                largest = largest.max(c.abs());
            }
        }
        if largest == 0.0 {
            return Err(Error::data("all rows are equal: no metric can tell them apart"));
        }
        if !(1e-140..=1e140).contains(&largest) {
            return Err(Error::data(format!(
                "the rows spread over {largest:e}, whose square is beyond floating point: scale the features first"
            )));
        }
        let rows = centred.select_rows(&used);
        let forth = directions(&rows)?;
        let rank = forth.cols();
        let coordinates = linalg::product(&centred, &forth);
        let cloud = Cloud::new(&coordinates, codes, weights);
        let mut same: Vec<Range<usize>> = Vec::with_capacity(n);
        while same.len() < n {
            let start = same.len();
            let size = cloud.class[start..].iter().take_while(|&&c| c == cloud.class[start]).count();
            same.extend(std::iter::repeat_n(start..start + size, size));
        }
        let mut notes = Vec::new();
        if rank < p {
            notes.push(format!(
                "the rows vary in {rank} of {p} dimensions only (constant or dependent features, or few rows): the metric \
                 does not measure the others"
            ));
        }
        Ok(Self { cloud, back: forth.transpose(), forth, same, notes })
    }

    pub(super) fn rank(&self) -> usize {
        self.back.rows()
    }

    /// Number of classes that have rows.
    pub(super) fn classes(&self) -> usize {
        1 + self.cloud.class.windows(2).filter(|w| w[0] != w[1]).count()
    }

    /// Changes the coordinates to `T x`, `inverse` being that of `T`; `T` is symmetric.
    pub(super) fn change(&mut self, map: &Matrix, inverse: &Matrix) {
        self.cloud.x = linalg::product(&self.cloud.x, map);
        self.back = linalg::product(map, &self.back);
        self.forth = linalg::product(&self.forth, inverse);
    }

    /// The factor on the features of a factor on the coordinates.
    pub(super) fn metric(&self, factor: &Matrix) -> Result<Metric> {
        Metric::new(linalg::product(factor, &self.back))
    }

    /// The metric on the features of `M` on the coordinates, by the square roots of its eigenvalues: the true `M`, of its
    /// own rank.
    pub(super) fn metric_of(&self, m: &Matrix) -> Result<Metric> {
        self.metric(&root(m)?)
    }

    /// The factor on the coordinates of a metric on the features.
    pub(super) fn inner(&self, metric: &Metric) -> Result<Matrix> {
        if metric.features() != self.back.cols() {
            return Err(Error::shape("features of the metric", self.back.cols(), metric.features()));
        }
        Ok(linalg::product(metric.factor(), &self.forth))
    }

    /// Where to begin, as a factor on the coordinates: components x coordinates. To be asked before any change of them.
    pub(super) fn start(&self, begin: Begin<'_>, components: Option<usize>) -> Result<Matrix> {
        let (p, rank) = (self.back.cols(), self.rank());
        if let Some(asked) = components
            && (asked == 0 || asked > p)
        {
            return Err(Error::parameter(
                "n_components",
                format!("{asked} components of {p} features: give 1 to {p}, or leave it out for all"),
            ));
        }
        let count = components.unwrap_or(p).min(rank);
        let first = || {
            let mut l = Matrix::zeros(count, rank);
            (0..count).for_each(|k| l[(k, k)] = 1.0);
            l
        };
        let init = match begin {
            Begin::Rule(init) => init,
            Begin::Given(metric) => return self.given(metric, components),
        };
        Ok(match init {
            Init::Auto if components.is_some_and(|c| c < self.classes()) => self.discriminant(count)?,
            Init::Auto | Init::Pca => first(),
            Init::Identity if count == rank => first(),
            Init::Identity => {
                let mut l = Matrix::zeros(count, rank);
                (0..count).for_each(|k| l.row_mut(k).copy_from_slice(self.forth.row(k)));
                l
            }
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
                linalg::product(&l, &self.forth)
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
        self.inner(metric)
    }

    /// Rows `v` of largest between-class scatter among those of unit within-class scatter.
    fn discriminant(&self, count: usize) -> Result<Matrix> {
        let (x, p) = (&self.cloud.x, self.rank());
        let (mut within, mut between) = (Matrix::zeros(p, p), Matrix::zeros(p, p));
        let mut at = 0;
        let total: f64 = self.cloud.weight.iter().sum();
        while at < self.cloud.len() {
            let range = self.same[at].clone();
            let mut mean = vec![0.0; p];
            let mass: f64 = range.clone().map(|i| self.cloud.weight[i]).sum();
            for i in range.clone() {
                mean.iter_mut().zip(x.row(i)).for_each(|(m, v)| *m += v * self.cloud.weight[i] / mass);
            }
            for i in range.clone() {
                let d: Vec<f64> = x.row(i).iter().zip(&mean).map(|(v, m)| v - m).collect();
                rank_one(&mut within, self.cloud.weight[i] / total, &d);
            }
            rank_one(&mut between, mass / total, &mean);
            at = range.end;
        }
        let (whiten, _) = roots(&within, 1e-8)?;
        let eigen = linalg::symmetric_eigen(&linalg::congruence(&between, &whiten))?;
        let mut top = Matrix::zeros(count, p);
        for k in 0..count {
            for a in 0..p {
                top[(k, a)] = eigen.vectors[(a, p - 1 - k)];
            }
        }
        Ok(linalg::product(&top, &whiten))
    }
}

fn rank_one(a: &mut Matrix, t: f64, v: &[f64]) {
    for (i, vi) in v.iter().enumerate() {
        a.row_mut(i).iter_mut().zip(v).for_each(|(o, vj)| *o += t * vi * vj);
    }
}

/// Orthonormal columns that span the rows, those of largest variance first: features x rank.
fn directions(rows: &Matrix) -> Result<Matrix> {
    let (n, p) = (rows.rows(), rows.cols());
    let keep = |values: &[f64]| {
        let top = values.first().copied().unwrap_or(0.0);
        values.iter().take_while(|&&s| s > RANK_TOLERANCE * top).count()
    };
    if p <= n {
        // Where no direction is weak the scatter matrix tells it all, for less.
        let eigen = linalg::symmetric_eigen(&linalg::transposed_product(rows, rows))?;
        let top = eigen.values.last().copied().unwrap_or(0.0);
        if eigen.values.first().is_some_and(|&low| low > 1e-9 * top) {
            let mut out = Matrix::zeros(p, p);
            for a in 0..p {
                (0..p).for_each(|k| out[(a, k)] = eigen.vectors[(a, p - 1 - k)]);
            }
            return Ok(out);
        }
        let (values, right) = linalg::singular(rows)?;
        let rank = keep(&values);
        let mut out = Matrix::zeros(p, rank);
        for a in 0..p {
            out.row_mut(a).copy_from_slice(&right.row(a)[..rank]);
        }
        return Ok(out);
    }
    // Fewer rows than features: the small side has all there is to know.
    let transposed = rows.transpose();
    let (values, left) = linalg::singular(&transposed)?;
    let rank = keep(&values);
    let mut out = linalg::product(&transposed, &left);
    let mut kept = Matrix::zeros(p, rank);
    for a in 0..p {
        for k in 0..rank {
            kept[(a, k)] = out[(a, k)] / values[k];
        }
    }
    // Once more against rounding in the small directions.
    out = kept;
    for k in 0..rank {
        for e in 0..k {
            let t: f64 = (0..p).map(|a| out[(a, k)] * out[(a, e)]).sum();
            (0..p).for_each(|a| out[(a, k)] -= t * out[(a, e)]);
        }
        let norm = (0..p).map(|a| out[(a, k)] * out[(a, k)]).sum::<f64>().sqrt();
        (0..p).for_each(|a| out[(a, k)] /= norm);
    }
    Ok(out)
}

/// `S^-1/2` and `S^1/2` of a symmetric matrix, its eigenvalues raised to at least this fraction of the largest.
pub(super) fn roots(s: &Matrix, floor: f64) -> Result<(Matrix, Matrix)> {
    let eigen = linalg::symmetric_eigen(s)?;
    let p = s.rows();
    let top = eigen.values.last().copied().unwrap_or(0.0);
    if top.is_nan() || top <= 0.0 {
        return Ok((Matrix::identity(p), Matrix::identity(p)));
    }
    let build = |f: &dyn Fn(f64) -> f64| {
        let mut out = eigen.apply(|v| f(v.max(floor * top)));
        linalg::symmetrise(&mut out);
        out
    };
    Ok((build(&|v| 1.0 / v.sqrt()), build(&f64::sqrt)))
}

/// `L` with `L^T L` the positive part of a symmetric `M`, rows of largest eigenvalue first, those that rounding has made
/// left out.
pub(super) fn root(m: &Matrix) -> Result<Matrix> {
    let eigen = linalg::symmetric_eigen(m)?;
    let p = m.rows();
    let top = eigen.values.last().copied().unwrap_or(0.0).max(0.0);
    let kept: Vec<usize> = (0..p).rev().filter(|&k| eigen.values[k] > 1e-14 * top && eigen.values[k] > 0.0).collect();
    let mut out = Matrix::zeros(kept.len(), p);
    for (r, &k) in kept.iter().enumerate() {
        let scale = eigen.values[k].sqrt();
        for a in 0..p {
            out[(r, a)] = scale * eigen.vectors[(a, k)];
        }
    }
    Ok(out)
}

/// A note where the metric maps all rows to one point.
pub(super) fn note_collapse(metric: &Metric, x: &Matrix, notes: &mut Vec<String>) -> Result<()> {
    let mapped = metric.transform(x)?;
    let spread = (0..mapped.cols()).any(|k| {
        let first = mapped[(0, k)];
        (1..mapped.rows()).any(|i| (mapped[(i, k)] - first).abs() > 1e-12 * first.abs().max(1e-300))
    });
    if !spread {
        notes.push("the metric maps all rows to one point: every distance is zero".to_owned());
    }
    Ok(())
}
