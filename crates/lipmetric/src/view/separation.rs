use super::shown::sample;
use crate::lipschitz::{LocalRatios, Mahalanobis, Margins, input_radius_factor};
use crate::neighbours::Pair;
use crate::{Labels, Matrix, Metric, Result};
use serde::{Deserialize, Serialize};

/// Rows that are measured: of more, a sample.
const MEASURED: usize = 4000;

/// How far classes are apart under a metric, in relation to how wide they are.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Separation {
    /// How many rows were measured.
    pub rows: usize,
    /// Of how many.
    pub of: usize,
    /// Margin, diameters and ratios.
    pub margins: MarginsView,
    /// The local ratios over the diameter: a count of rows for each.
    pub local: Histogram,
    /// Their median.
    pub local_median: f64,
    /// Distances between rows of the same class, in units of the mean distance.
    pub same: Histogram,
    /// Distances between rows of different classes, likewise.
    pub different: Histogram,
    /// The part of the rows that the nearest other row predicts rightly, and would after any move of this Euclidean length on the
    /// prepared features, by the triangle inequality.
    pub certified: Curve,
}

/// Margin, diameters and their ratios.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MarginsView {
    /// The nearest rows of different classes.
    pub margin: PairView,
    /// The farthest rows.
    pub diameter: PairView,
    /// The diameter of every class.
    pub class_diameters: Vec<(String, f64)>,
    /// Margin over diameter.
    pub ratio_diameter: f64,
    /// Margin over the sum of the class diameters.
    pub ratio_intra: f64,
}

/// Two rows, and how far apart they are.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct PairView {
    /// The number of one.
    pub first: usize,
    /// The number of the other.
    pub second: usize,
    /// Their distance.
    pub distance: f64,
}

/// Counts in bins.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Histogram {
    /// The ends of the bins, one more than there are bins.
    pub edges: Vec<f64>,
    /// How many values fall into each.
    pub counts: Vec<usize>,
}

/// A line through points.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Curve {
    /// Ascending.
    pub x: Vec<f64>,
    /// A value for each.
    pub y: Vec<f64>,
}

impl Histogram {
    /// Bins of equal width from zero; the last one holds whatever is beyond.
    fn from_zero(to: f64, bins: usize) -> Self {
        Self { edges: (0..=bins).map(|k| to * k as f64 / bins as f64).collect(), counts: vec![0; bins] }
    }

    fn add(&mut self, value: f64) {
        let (bins, to) = (self.counts.len(), self.edges[self.counts.len()]);
        let at = (value / to * bins as f64) as usize;
        self.counts[at.min(bins - 1)] += 1;
    }
}

impl Curve {
    /// The part of all that is at least as large, for values spread over those given; `of` counts those that are none, too.
    pub(crate) fn surviving(mut values: Vec<f64>, of: usize) -> Self {
        /// Points of a curve.
        const POINTS: usize = 80;
        values.retain(|v| v.is_finite());
        values.sort_by(f64::total_cmp);
        let Some(&top) = values.last() else { return Self::default() };
        let x: Vec<f64> = (0..=POINTS).map(|k| top * k as f64 / POINTS as f64).collect();
        let least = |r: f64| values.len() - values.partition_point(|v| *v < r);
        Self { y: x.iter().map(|&r| least(r) as f64 / of.max(1) as f64).collect(), x }
    }
}

impl Separation {
    /// Of labelled rows under a metric. Of many rows a sample is measured.
    ///
    /// # Errors
    /// As [`Margins::new`].
    pub fn of(metric: &Metric, x: &Matrix, y: &Labels) -> Result<Self> {
        let rows = sample(y, MEASURED);
        let whole = rows.len() == y.len();
        let (some_x, some_y) = if whole { (x.clone(), y.clone()) } else { (x.select_rows(&rows), y.select(&rows)) };
        let distance = Mahalanobis::new(metric, &some_x)?;
        let pair = |p: Pair| PairView { first: rows[p.i], second: rows[p.j], distance: p.distance };
        let margins = Margins::new(&distance, &some_y)?;
        let local = LocalRatios::new(&distance, &some_y)?;
        let mut ratios = Histogram::from_zero(1.0, 20);
        local.ratios.iter().for_each(|r| ratios.add(r.ratio_diameter));
        let median = local.summary_diameter(1).quantiles[2];
        let (same, different) = distances(distance.mapped(), &some_y);
        Ok(Self {
            rows: rows.len(),
            of: y.len(),
            margins: MarginsView {
                margin: pair(margins.margin),
                diameter: pair(margins.diameter),
                class_diameters: margins.class_diameters.iter().map(|c| (c.class.clone(), c.diameter)).collect(),
                ratio_diameter: margins.ratio_diameter,
                ratio_intra: margins.ratio_intra,
            },
            local: ratios,
            local_median: median,
            same,
            different,
            certified: certified(metric, distance.mapped(), &local)?,
        })
    }
}

fn apart(mapped: &Matrix, i: usize, j: usize) -> f64 {
    mapped.row(i).iter().zip(mapped.row(j)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// Distances within and between the classes, in units of their mean.
fn distances(mapped: &Matrix, y: &Labels) -> (Histogram, Histogram) {
    /// Rows whose distances to each other are counted.
    const COUNTED: usize = 1500;
    /// Bins of a histogram.
    const BINS: usize = 30;
    /// Distances up to this many times their mean have bins of their own; the last bin holds those beyond.
    const REACH: f64 = 3.0;
    let rows = sample(y, COUNTED);
    let each = |f: &mut dyn FnMut(f64, bool)| {
        for (a, &i) in rows.iter().enumerate() {
            for &j in &rows[..a] {
                f(apart(mapped, i, j), y.codes()[i] == y.codes()[j]);
            }
        }
    };
    let (mut sum, mut count) = (0.0, 0_usize);
    each(&mut |d, _| {
        sum += d;
        count += 1;
    });
    let mean = if sum > 0.0 { sum / count as f64 } else { 1.0 };
    let (mut same, mut different) = (Histogram::from_zero(REACH, BINS), Histogram::from_zero(REACH, BINS));
    each(&mut |d, alike| if alike { same.add(d / mean) } else { different.add(d / mean) });
    (same, different)
}

/// Leave-one-out: how far each row that the nearest other row predicts rightly may move.
fn certified(metric: &Metric, mapped: &Matrix, local: &LocalRatios) -> Result<Curve> {
    let factor = input_radius_factor(metric)?;
    let radius = |i: usize| {
        let same = local.nearest_same[i].map_or(f64::INFINITY, |s| apart(mapped, i, s));
        (apart(mapped, i, local.nearest_other[i]) - same) / 2.0 * factor
    };
    let n = local.nearest_other.len();
    Ok(Curve::surviving((0..n).map(radius).filter(|r| *r > 0.0).collect(), n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_is_counted_once_and_ratios_are_the_toolboxs() {
        let x = Matrix::from_rows(&[[0.0], [1.0], [4.0], [9.0]]);
        let y = Labels::from_names(["a", "a", "b", "b"]);
        let seen = Separation::of(&Metric::euclidean(1), &x, &y).unwrap();
        assert_eq!((seen.margins.ratio_diameter, seen.margins.ratio_intra), (3.0 / 9.0, 0.5));
        assert_eq!((seen.same.counts.iter().sum::<usize>(), seen.different.counts.iter().sum::<usize>()), (2, 4));
        assert_eq!(seen.local.counts.iter().sum::<usize>(), 4);
        // The rows at 0 and 1 are nearer to each other than to 4; 4 is nearer to 1; 9 is nearer to 4 than to 1.
        assert_eq!(seen.certified.y[0], 0.75);
        assert_eq!(*seen.certified.x.last().unwrap(), 1.5);
        // Twice the distance on every axis moves no radius on the features.
        let twice = Metric::new(Matrix::from_rows(&[[2.0]])).unwrap();
        let learned = Separation::of(&twice, &x, &y).unwrap();
        assert!((learned.certified.x.last().unwrap() - 1.5).abs() < 1e-9);
        assert_eq!(learned.same, seen.same);
    }

    #[test]
    fn many_rows_are_sampled_and_pairs_have_the_numbers_of_the_table() {
        let n = 9000;
        let x = Matrix::from_vec(n, 1, (0..n).map(|i| (i * i % 7919) as f64 + (i % 2) as f64 * 1e5).collect()).unwrap();
        let y = Labels::from_names((0..n).map(|i| ["a", "b"][i % 2]));
        let seen = Separation::of(&Metric::euclidean(1), &x, &y).unwrap();
        assert!(seen.rows <= MEASURED + 2 && seen.of == n);
        let PairView { first, second, distance } = seen.margins.margin;
        assert_eq!((x[(first, 0)] - x[(second, 0)]).abs(), distance);
        assert_ne!(y.codes()[first], y.codes()[second]);
    }
}
