use super::Under;
use super::measure::SURE;
use crate::linalg::exponential::{LEAST_EXPONENT, exponentials};
use crate::linalg::twofold::Twofold;
use crate::pairs::{Cloud, Mapped};
use crate::{Matrix, Metric};
use rayon::prelude::*;
use std::ops::Range;

/// Squared distances above which their differences, as exponents, would lose digits that matter.
const FAR: f64 = 1e4;
/// Where a row's class is this much farther away than it is wide, differences of distances are computed in twice the precision.
const NARROW: f64 = 1e5;
/// Mean differences up to this have powers of `e` that are numbers.
const MODERATE: f64 = 300.0;
/// Where sums cancel to less than this part of their terms, they are computed without cancellation.
const CANCELS: f64 = 1e-3;

/// Rows at a time, and what of a row is looked at together.
const BLOCK: usize = 32;
const LANES: usize = 8;
/// Powers of `e` beyond this are zero where figures are measured in the usual precision.
const NEGLIGIBLE: f64 = 100.0;
/// What a power of `e` and its logarithm may lose, in roundings.
const POWER: f64 = 8.0 * f64::EPSILON;

/// A row and all others.
struct Row<'a> {
    i: usize,
    class: Range<usize>,
    weights: &'a [f64],
    /// The length to the nearest.
    least: f64,
    /// How much farther than the nearest all rows are; the row itself is infinitely far.
    apart: &'a [f64],
    /// `w_j exp(-apart_j)`.
    mass: &'a [f64],
}

impl Row<'_> {
    /// What a sum over the others may lose by rounding, as a part of it.
    fn summed(&self) -> f64 {
        self.mass.len() as f64 * f64::EPSILON
    }

    /// The mass of the row's class, and of the other classes.
    fn masses(&self) -> (f64, f64) {
        let sum = |range: Range<usize>| self.mass[range].iter().sum::<f64>();
        (sum(self.class.clone()), sum(0..self.class.start) + sum(self.class.end..self.mass.len()))
    }

    /// The weighted sum over the other rows of the class of what a function makes of their differences of distance.
    fn sum_of_class(&self, f: impl Fn(f64) -> f64) -> f64 {
        let part = |range: Range<usize>| -> f64 {
            self.apart[range.clone()].iter().zip(&self.weights[range]).map(|(a, w)| w * f(*a)).sum()
        };
        part(self.class.start..self.i) + part(self.i + 1..self.class.end)
    }
}

/// `w exp(-apart)`, zero beyond `most`.
#[inline(always)]
fn powers(apart: &[f64], weights: &[f64], most: f64, out: &mut [f64]) {
    out.iter_mut().zip(apart).for_each(|(o, a)| *o = if *a < most { -a } else { -most });
    exponentials(out);
    for ((o, a), w) in out.iter_mut().zip(apart).zip(weights) {
        *o = if *a < most { w * *o } else { 0.0 };
    }
}

/// `w exp(-apart)` into `out`, zero beyond `most`: most are where rows are far apart.
fn masses(apart: &[f64], weights: &[f64], most: f64, out: &mut [f64]) {
    struct Kernel<'a>(&'a [f64], &'a [f64], f64, &'a mut [f64]);
    impl pulp::NullaryFnOnce for Kernel<'_> {
        type Output = ();
        #[inline(always)]
        fn call(self) {
            let Self(apart, weights, most, out) = self;
            let ((a, a_rest), (w, w_rest)) = (apart.as_chunks::<LANES>(), weights.as_chunks::<LANES>());
            let (o, o_rest) = out.as_chunks_mut::<LANES>();
            for ((a, w), o) in a.iter().zip(w).zip(o) {
                if least(a) < most {
                    powers(a, w, most, o);
                } else {
                    o.fill(0.0);
                }
            }
            powers(a_rest, w_rest, most, o_rest);
        }
    }
    pulp::Arch::new().dispatch(Kernel(apart, weights, most, out));
}

/// `exp(-t) - 1 + t`, with all digits where `t` is small.
fn bend(t: f64) -> f64 {
    if t.abs() > 0.5 {
        return (-t).exp_m1() + t;
    }
    let (mut term, mut sum) = (0.5 * t * t, 0.0);
    // The last of these is below 1e-17 of the first.
    for k in 3..18 {
        sum += term;
        term *= -t / f64::from(k);
    }
    sum
}

/// What a length may be off by.
type Off<'a> = &'a (dyn Fn(f64) -> f64 + Sync);

/// A row's share of NCA's objective, and what it may be off by.
fn error_of_row(row: &Row<'_>, off: Off<'_>) -> (f64, f64) {
    let (right, wrong) = row.masses();
    let share = wrong / (right + wrong);
    let differences = 2.0 * off(row.least + NEGLIGIBLE) + POWER;
    (share, 2.0 * share * (differences + row.summed()))
}

/// A row's share of MCML's objective, likewise; zero for rows that are alone in their class.
///
/// With `m` the mean of a row's differences of distance `a` to its class, `KL = ln(mean of exp(m - a)) + ln(1 + others / class)`,
/// where the first mean is `1 + mean of (exp(m - a) - 1 - (m - a))`: sums of what is not negative, so that nothing cancels
/// however small they are.
fn collapse_of_row(row: &Row<'_>, off: Off<'_>) -> (f64, f64) {
    let all = row.sum_of_class(|_| 1.0);
    if all <= 0.0 {
        return (0.0, 0.0);
    }
    let mean = row.sum_of_class(|a| a) / all;
    let own = || (row.class.start..row.i).chain(row.i + 1..row.class.end);
    let farthest = own().map(|j| row.apart[j]).fold(NEGLIGIBLE, f64::max);
    let differences = 2.0 * off(row.least + farthest) + POWER;
    let off = 2.0 * differences + row.summed() * (2.0 + mean);
    let (right, wrong) = row.masses();
    let plain = ((right + wrong) / all).ln() + mean;
    if plain > CANCELS * (1.0 + mean) || mean > MODERATE {
        return (plain, off);
    }
    ((row.sum_of_class(|a| bend(a - mean)) / all).ln_1p() + (wrong / right).ln_1p(), off)
}

/// The weighted sum of what a function makes of each row, and of what that may be off by. `lengths` writes the squared lengths of
/// all pairs with some rows, `apart` what those of a row are more than the least of them.
fn sum_of_rows(
    cloud: &Cloud,
    most: f64,
    lengths: impl Fn(Range<usize>, &mut [f64]) + Sync,
    apart: impl Fn(usize, &Range<usize>, f64, &mut [f64]) + Sync,
    f: impl Fn(&Row<'_>) -> (f64, f64) + Sync,
) -> (f64, f64) {
    let (n, weights) = (cloud.len(), &cloud.weight);
    let classes: Vec<Range<usize>> =
        cloud.classes().into_iter().flat_map(|class| std::iter::repeat_n(class.clone(), class.len())).collect();
    let of_block = |(room, mass): &mut (Vec<f64>, Vec<f64>), from: usize| {
        let rows = from..(from + BLOCK).min(n);
        let room = &mut room[..rows.len() * n];
        lengths(rows.clone(), room);
        rows.zip(room.chunks_exact_mut(n)).fold((0.0, 0.0), |(sum, off), (i, row)| {
            row[i] = f64::INFINITY;
            let least = least(row);
            apart(i, &classes[i], least, row);
            masses(row, weights, most, mass);
            let (value, each) = f(&Row { i, class: classes[i].clone(), weights, least, apart: row, mass });
            (sum + weights[i] * value, off + weights[i] * each)
        })
    };
    // Every element is written before it is read, so that a thread's room serves one block after the other.
    let room = || (vec![0.0; BLOCK.min(n) * n], vec![0.0; n]);
    let starts: Vec<usize> = (0..n).step_by(BLOCK).collect();
    let blocks: Vec<(f64, f64)> = starts.into_par_iter().map_init(room, of_block).collect();
    blocks.into_iter().fold((0.0, 0.0), |(sum, off), (s, o)| (sum + s, off + o))
}

/// The least of some lengths.
#[inline(always)]
fn least(lengths: &[f64]) -> f64 {
    lengths.iter().fold(f64::INFINITY, |least, a| if *a < least { *a } else { least })
}

/// Rows, their classes and their weights.
type Rows<'a> = (&'a Matrix, &'a [u32], &'a [f64]);

/// `sum_i w_i sum of w_j exp(-rho_ij) over other classes / the same over all others`: NCA's objective on rows under a metric.
pub(crate) fn expected_errors(rows: Rows<'_>, metric: &Metric) -> f64 {
    measured(rows, metric, error_of_row)
}

/// `sum_i w_i KL(ideal_i, p_i)`: MCML's objective on rows under a metric. Rows that are alone in their class count nothing.
pub(crate) fn distance_to_ideal(rows: Rows<'_>, metric: &Metric) -> f64 {
    measured(rows, metric, collapse_of_row)
}

/// In the usual precision where ten digits are surely right, else with every length right to rounding.
fn measured(rows: Rows<'_>, metric: &Metric, f: impl Fn(&Row<'_>, Off<'_>) -> (f64, f64) + Sync) -> f64 {
    let cloud = Cloud::new(rows.0, rows.1, rows.2);
    let mapped = Mapped::new(&cloud, &metric.factor().transpose());
    let error = |length: f64| mapped.error(length);
    if error(NEGLIGIBLE) <= SURE {
        let all = 0..cloud.len();
        let lengths = |rows: Range<usize>, out: &mut [f64]| mapped.distances(out, &rows, &all);
        let apart = |_: usize, _: &Range<usize>, least: f64, row: &mut [f64]| {
            row.iter_mut().for_each(|a| *a -= least);
        };
        let (sum, off) = sum_of_rows(&cloud, NEGLIGIBLE, lengths, apart, |row| f(row, &error));
        let total: f64 = cloud.weight.iter().sum();
        if off + total * total * (-NEGLIGIBLE).exp() <= SURE * sum {
            return sum;
        }
    }
    Under::new(rows, metric).sum_of_rows(|row| f(row, &|_| 0.0).0)
}

impl Under {
    /// The weighted sum of what a function makes of each row.
    fn sum_of_rows(&self, f: impl Fn(&Row<'_>) -> f64 + Sync) -> f64 {
        let n = self.cloud.len();
        let lengths = |rows: Range<usize>, out: &mut [f64]| {
            rows.zip(out.chunks_exact_mut(n)).for_each(|(i, row)| self.lengths_from(i, row));
        };
        let apart = |i: usize, class: &Range<usize>, least: f64, row: &mut [f64]| {
            let width = class.clone().filter(|&j| j != i).map(|j| row[j] - least).fold(0.0, f64::max);
            if least.is_finite() && (least > FAR || least > NARROW * width) {
                let nearest = row.iter().position(|a| *a == least).unwrap_or(i);
                let from: Twofold = self.embedding.exactly(i, nearest);
                (0..n).filter(|&j| j != i).for_each(|j| row[j] = (self.embedding.exactly(i, j) - from).value());
            } else {
                row.iter_mut().for_each(|a| *a -= least);
            }
        };
        sum_of_rows(&self.cloud, LEAST_EXPONENT, lengths, apart, |row| (f(row), 0.0)).0
    }
}
