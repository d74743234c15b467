//! Local Lipschitz margin ratios (Definition 5) and their distribution over the instances.

use super::check_labels;
use super::margins::ratio;
use super::pair::{Groups, diameter_of, indices};
use crate::neighbours::{Best, Distance, Nearest, from_raw, measured};
use crate::{Error, Labels, Result};
use serde::Serialize;

/// The local ratios of a subset `S^l` (Definition 5).
///
/// The paper's first line for the intra form names the global classes; its second line, which is what is computed
/// here, names the local ones.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LocalRatio {
    /// `D(S^l_1, S^l_-1)`: the smallest distance between rows of different classes in the subset.
    pub margin: f64,
    /// `diam(S^l)`.
    pub diameter: f64,
    /// The sum over classes of `diam(S^l_k)`.
    pub intra: f64,
    /// Local-Ratio^Diam.
    pub ratio_diameter: f64,
    /// Local-Ratio^Intra; infinite where each class has one row (or coinciding rows) in the subset.
    pub ratio_intra: f64,
}

impl LocalRatio {
    fn new(margin: f64, diameter: f64, intra: f64) -> Self {
        Self { margin, diameter, intra, ratio_diameter: ratio(margin, diameter), ratio_intra: ratio(margin, intra) }
    }
}

/// The local ratios of the rows `rows`.
///
/// ```
/// use lipmetric::{Labels, Matrix, lipschitz::{Mahalanobis, local::local_ratio}};
/// let x = Matrix::from_rows(&[[0.0], [1.0], [4.0], [9.0]]);
/// let y = Labels::from_names(["a", "a", "b", "b"]);
/// let local = local_ratio(&Mahalanobis::euclidean(&x).unwrap(), &y, &[0, 1, 2]).unwrap();
/// assert_eq!((local.margin, local.diameter, local.intra), (3.0, 4.0, 1.0));
/// ```
///
/// # Errors
/// If a row does not exist, the labels do not fit the sample, or the subset has rows of one class only.
pub fn local_ratio<D: Distance + ?Sized>(distance: &D, labels: &Labels, rows: &[usize]) -> Result<LocalRatio> {
    if labels.len() != distance.len() {
        return Err(Error::shape("labels of the sample", distance.len(), labels.len()));
    }
    let rows = super::check_rows(rows, distance.len())?;
    let groups = Groups::new(&labels.select(&rows));
    if groups.rows.len() < 2 {
        return Err(Error::data(format!("a local ratio needs rows of two classes; these {} are of one", rows.len())));
    }
    let mut margin = f64::INFINITY;
    let mut intra = 0.0;
    for (a, group) in groups.rows.iter().enumerate() {
        let members: Vec<usize> = group.iter().map(|&k| rows[k]).collect();
        intra += diameter_of(distance, &members)?.map_or(0.0, |p| p.distance);
        for &j in groups.rows[..a].iter().flatten() {
            for &i in &members {
                margin = margin.min(measured(distance, i, rows[j])?);
            }
        }
    }
    let diameter = diameter_of(distance, &rows)?.map_or(0.0, |p| p.distance);
    Ok(LocalRatio::new(margin, diameter, intra))
}

/// The local ratios of every instance, with `S^l = {x_i, nearest row of its class, nearest row of another}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LocalRatios {
    /// The nearest other row of the same class; none for the only row of a class.
    pub nearest_same: Vec<Option<usize>>,
    /// The nearest row of a different class.
    pub nearest_other: Vec<usize>,
    /// The ratios of `S^l`. For the only row of a class it is a set of two, and the intra form is infinite.
    pub ratios: Vec<LocalRatio>,
}

impl LocalRatios {
    /// Measures every instance of a labelled sample. Of equally near rows the one with the smallest number counts.
    ///
    /// ```
    /// use lipmetric::{Labels, Matrix, lipschitz::{LocalRatios, Mahalanobis}};
    /// let x = Matrix::from_rows(&[[0.0], [1.0], [4.0], [9.0]]);
    /// let y = Labels::from_names(["a", "a", "b", "b"]);
    /// let local = LocalRatios::new(&Mahalanobis::euclidean(&x).unwrap(), &y).unwrap();
    /// assert_eq!(local.nearest_other, [2, 2, 1, 1]);
    /// assert_eq!(local.ratios[0].ratio_intra, 3.0); // {0, 1 | 4}: margin 3 over 1
    /// ```
    ///
    /// # Errors
    /// If the labels are of another number of rows or of one class only, or a distance is not a finite number of at
    /// least 0.
    pub fn new<D: Distance + ?Sized>(distance: &D, labels: &Labels) -> Result<Self> {
        let groups = check_labels(distance, labels)?;
        let indices = indices(distance, &groups);
        let n = distance.len();
        let (mut same, mut other) = (vec![Best::NONE; n], vec![Best::NONE; n]);
        for (k, rows) in groups.rows.iter().enumerate() {
            let mut nearest = vec![Best::NONE; rows.len()];
            indices[k].search(distance, rows, true, &Nearest, &mut nearest, None)?;
            rows.iter().zip(nearest).for_each(|(&i, best)| same[i] = best);
            let mut nearest = vec![Best::NONE; rows.len()];
            for (j, index) in indices.iter().enumerate() {
                if j != k {
                    index.search(distance, rows, false, &Nearest, &mut nearest, None)?;
                }
            }
            rows.iter().zip(nearest).for_each(|(&i, best)| other[i] = best);
        }
        let mut ratios = Vec::with_capacity(n);
        for i in 0..n {
            let to_other = from_raw(distance, -other[i].score);
            ratios.push(match same[i].found() {
                None => LocalRatio::new(to_other, to_other, 0.0),
                Some(s) => {
                    let across = measured(distance, s.at, other[i].at)?;
                    let to_same = from_raw(distance, -s.score);
                    LocalRatio::new(to_other.min(across), to_same.max(to_other).max(across), to_same)
                }
            });
        }
        Ok(Self {
            nearest_same: same.iter().map(|b| b.found().map(|b| b.at)).collect(),
            nearest_other: other.iter().map(|b| b.at).collect(),
            ratios,
        })
    }

    /// How the ratios of the diameter form are distributed.
    #[must_use]
    pub fn summary_diameter(&self, bins: usize) -> LocalSummary {
        LocalSummary::new(self.ratios.iter().map(|r| r.ratio_diameter).collect(), bins)
    }

    /// How the ratios of the intra form are distributed.
    #[must_use]
    pub fn summary_intra(&self, bins: usize) -> LocalSummary {
        LocalSummary::new(self.ratios.iter().map(|r| r.ratio_intra).collect(), bins)
    }
}

/// The distribution of a ratio over the instances.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LocalSummary {
    /// Number of instances.
    pub instances: usize,
    /// How many of the ratios are infinite.
    pub infinite: usize,
    /// The minimum, the quartiles and the maximum, infinite ratios included: the values at the ranks
    /// `round(q (n - 1))` for `q = 0, 1/4, 1/2, 3/4, 1`.
    pub quantiles: [f64; 5],
    /// The mean of the finite ratios; 0 if there is none.
    pub mean: f64,
    /// The finite ratios, counted.
    pub histogram: Histogram,
}

/// Counts in bins of equal width; the last bin holds its upper end as well.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Histogram {
    /// The ends of the bins, one more than there are bins.
    pub edges: Vec<f64>,
    /// How many values fall into each bin.
    pub counts: Vec<usize>,
}

impl LocalSummary {
    fn new(mut values: Vec<f64>, bins: usize) -> Self {
        values.sort_by(f64::total_cmp);
        let n = values.len();
        let quantile = |q: f64| if n == 0 { 0.0 } else { values[(q * (n - 1) as f64).round() as usize] };
        let finite = &values[..values.partition_point(|v| v.is_finite())];
        let mean = finite.iter().sum::<f64>() / finite.len().max(1) as f64;
        Self {
            instances: n,
            infinite: n - finite.len(),
            quantiles: [0.0, 0.25, 0.5, 0.75, 1.0].map(quantile),
            mean,
            histogram: Histogram::new(finite, bins.max(1)),
        }
    }
}

impl Histogram {
    /// `sorted` is ascending and finite.
    fn new(sorted: &[f64], bins: usize) -> Self {
        let (low, high) = match (sorted.first(), sorted.last()) {
            (Some(&low), Some(&high)) if low < high => (low, high),
            (Some(&only), _) => (only, only + 1.0),
            _ => (0.0, 1.0),
        };
        let edges: Vec<f64> = (0..=bins).map(|k| low + (high - low) * (k as f64 / bins as f64)).collect();
        let mut counts = vec![0; bins];
        for v in sorted {
            let bin = edges[1..bins].partition_point(|edge| edge <= v);
            counts[bin] += 1;
        }
        Self { edges, counts }
    }
}
