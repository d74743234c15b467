use super::shown::sample;
use crate::lipschitz::{LocalRatios, Mahalanobis, Margins};
use crate::neighbours::Pair;
use crate::robust::{Ball, Norm, Sites, Supporting, nearest_hyperplane};
use crate::{Labels, Matrix, Metric, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Rows that are measured: of more, a sample.
const MEASURED: usize = 4000;

/// How far classes are apart under a metric, in relation to how wide they are.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
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
    /// How many rows' distances to each other were counted, and how many were certified.
    pub counted: usize,
    /// Distances between rows of the same class, in units of the mean distance.
    pub same: Histogram,
    /// Distances between rows of different classes, likewise.
    pub different: Histogram,
    /// The part of the rows that the nearest other row predicts rightly, and would after any move of this Euclidean length on the
    /// prepared features: up to the hyperplanes between the rows of its class and those of others.
    pub certified: Curve,
}

/// Margin, diameters and their ratios.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
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
#[non_exhaustive]
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
#[non_exhaustive]
pub struct Histogram {
    /// The ends of the bins, one more than there are bins.
    pub edges: Vec<f64>,
    /// How many values fall into each.
    pub counts: Vec<usize>,
}

/// A line through points.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Curve {
    /// Ascending.
    pub x: Vec<f64>,
    /// A value for each.
    pub y: Vec<f64>,
}

impl Histogram {
    /// Bins of equal width from zero; the last one holds whatever is beyond.
    pub(super) fn from_zero(to: f64, bins: usize) -> Self {
        Self { edges: (0..=bins).map(|k| to * k as f64 / bins as f64).collect(), counts: vec![0; bins] }
    }

    pub(super) fn add(&mut self, value: f64) {
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

impl MarginsView {
    /// Of labelled rows under a metric, and how many rows were measured: of many a sample.
    ///
    /// # Errors
    /// As [`Margins::new`].
    pub(super) fn of(metric: &Metric, x: &Matrix, y: &Labels) -> Result<(usize, Self)> {
        let rows = sample(y, MEASURED);
        let some = x.select_rows(&rows);
        let distance = Mahalanobis::new(metric, &some)?;
        Ok((rows.len(), Self::new(&Margins::new(&distance, &y.select(&rows))?, &rows)))
    }

    /// With the numbers that the rows have in the table.
    fn new(margins: &Margins, rows: &[usize]) -> Self {
        let pair = |p: Pair| PairView { first: rows[p.i], second: rows[p.j], distance: p.distance };
        Self {
            margin: pair(margins.margin),
            diameter: pair(margins.diameter),
            class_diameters: margins.class_diameters.iter().map(|c| (c.class.clone(), c.diameter)).collect(),
            ratio_diameter: margins.ratio_diameter,
            ratio_intra: margins.ratio_intra,
        }
    }
}

impl Separation {
    /// Of labelled rows under a metric. Of many rows a sample is measured.
    ///
    /// # Errors
    /// As [`Margins::new`].
    pub fn of(metric: &Metric, x: &Matrix, y: &Labels) -> Result<Self> {
        /// Rows whose distances to each other are counted, and that are certified: where classes are far apart, that looks at triples.
        const COUNTED: usize = 1500;
        let rows = sample(y, MEASURED);
        let whole = rows.len() == y.len();
        let (some_x, some_y) = if whole { (x.clone(), y.clone()) } else { (x.select_rows(&rows), y.select(&rows)) };
        let distance = Mahalanobis::new(metric, &some_x)?;
        let margins = Margins::new(&distance, &some_y)?;
        let local = LocalRatios::new(&distance, &some_y)?;
        let mut ratios = Histogram::from_zero(1.0, 20);
        local.ratios.iter().for_each(|r| ratios.add(r.ratio_diameter));
        let median = local.summary_diameter(1).quantiles[2];
        let counted = sample(&some_y, COUNTED);
        let (same, different) = distances(distance.mapped(), &some_y, &counted);
        let certified = certified(
            metric,
            &some_x.select_rows(&counted),
            &distance.mapped().select_rows(&counted),
            &some_y.select(&counted),
        );
        Ok(Self {
            rows: rows.len(),
            of: y.len(),
            margins: MarginsView::new(&margins, &rows),
            local: ratios,
            local_median: median,
            counted: counted.len(),
            same,
            different,
            certified,
        })
    }
}

fn apart(mapped: &Matrix, i: usize, j: usize) -> f64 {
    mapped.row(i).iter().zip(mapped.row(j)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// Distances within and between the classes, in units of their mean.
fn distances(mapped: &Matrix, y: &Labels, rows: &[usize]) -> (Histogram, Histogram) {
    /// Bins of a histogram.
    const BINS: usize = 30;
    /// Distances up to this many times their mean have bins of their own; the last bin holds those beyond.
    const REACH: f64 = 3.0;
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

/// Leave-one-out: how far each row that the nearest other row predicts rightly may move, up to the hyperplanes between rows of its
/// class and the others. Rows whose squares leave the range of numbers have no certificate.
fn certified(metric: &Metric, x: &Matrix, mapped: &Matrix, y: &Labels) -> Curve {
    let radii = || -> Result<Vec<f64>> {
        let ball = Ball::new(metric, Norm::L2, &vec![1.0; x.cols()])?;
        let sites = Sites::new(&ball, metric, x, mapped.clone())?;
        let codes = y.codes();
        let one = |i: usize| -> Result<f64> {
            let view = sites.see(x.row(i), mapped.row(i), None)?;
            let others = (0..x.rows() as u32).filter(|&j| j as usize != i);
            let (own, opposing) = others.partition(|&j| codes[j as usize] == codes[i]);
            let opposing: Vec<u32> = opposing;
            Ok(nearest_hyperplane(&view, &mut Supporting::new(own), &opposing))
        };
        (0..x.rows()).into_par_iter().map(one).collect()
    };
    let radii = radii().unwrap_or_default();
    Curve::surviving(radii.into_iter().filter(|r| *r > 0.0).collect(), x.rows())
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
        // From 9 the way to the middle of 1 and 4 is 6.5; the triangle inequality would certify no more than 1.5.
        let farthest = |s: &Separation| *s.certified.x.last().unwrap();
        assert!((farthest(&seen) - 6.5).abs() < 1e-9, "{}", farthest(&seen));
        // Twice the distance on every axis moves no radius on the features.
        let twice = Metric::new(Matrix::from_rows(&[[2.0]])).unwrap();
        let learned = Separation::of(&twice, &x, &y).unwrap();
        assert!((farthest(&learned) - farthest(&seen)).abs() < 1e-9);
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
