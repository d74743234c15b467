use super::Under;
use crate::linalg::exponential::{LEAST_EXPONENT, exponentials};
use crate::linalg::twofold::Twofold;
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

/// A row and all others.
struct Row<'a> {
    i: usize,
    class: Range<usize>,
    weights: &'a [f64],
    /// How much farther than the nearest all rows are; the row itself is infinitely far.
    apart: &'a [f64],
    /// `w_j exp(-apart_j)`.
    mass: &'a [f64],
}

impl Row<'_> {
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

/// `w exp(-apart)`, most of which are zero where rows are far apart.
fn masses(apart: &[f64], weights: &[f64]) -> Vec<f64> {
    struct Kernel<'a>(&'a [f64], &'a [f64], &'a mut [f64]);
    impl pulp::NullaryFnOnce for Kernel<'_> {
        type Output = ();
        #[inline(always)]
        fn call(self) {
            let Self(apart, weights, out) = self;
            out.iter_mut().zip(apart).for_each(|(o, a)| *o = if *a < LEAST_EXPONENT { -a } else { -LEAST_EXPONENT });
            exponentials(out);
            for ((o, a), w) in out.iter_mut().zip(apart).zip(weights) {
                *o = if *a < LEAST_EXPONENT { w * *o } else { 0.0 };
            }
        }
    }
    let mut out = vec![0.0; apart.len()];
    pulp::Arch::new().dispatch(Kernel(apart, weights, &mut out));
    out
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

impl Under {
    /// `sum_i w_i sum of w_j exp(-rho_ij) over other classes / the same over all others`: NCA's objective.
    pub(crate) fn expected_errors(&self) -> f64 {
        self.sum_of_rows(|row| {
            let (right, wrong) = row.masses();
            wrong / (right + wrong)
        })
    }

    /// `sum_i w_i KL(ideal_i, p_i)`: MCML's objective. Rows that are alone in their class count nothing.
    ///
    /// With `m` the mean of a row's differences of distance `a` to its class, `KL = ln(mean of exp(m - a)) + ln(1 + others / class)`,
    /// where the first mean is `1 + mean of (exp(m - a) - 1 - (m - a))`: sums of what is not negative, so that nothing cancels
    /// however small they are.
    pub(crate) fn collapse(&self) -> f64 {
        self.sum_of_rows(|row| {
            let all = row.sum_of_class(|_| 1.0);
            if all <= 0.0 {
                return 0.0;
            }
            let mean = row.sum_of_class(|a| a) / all;
            let (right, wrong) = row.masses();
            let plain = ((right + wrong) / all).ln() + mean;
            if plain > CANCELS * (1.0 + mean) || mean > MODERATE {
                return plain;
            }
            (row.sum_of_class(|a| bend(a - mean)) / all).ln_1p() + (wrong / right).ln_1p()
        })
    }

    /// The weighted sum of what a function makes of each row.
    fn sum_of_rows(&self, f: impl Fn(&Row<'_>) -> f64 + Sync) -> f64 {
        let (n, weights) = (self.cloud.len(), &self.cloud.weight);
        let of_row = |(class, i): (Range<usize>, usize)| {
            let mut apart = self.lengths_from(i);
            apart[i] = f64::INFINITY;
            let least = apart.iter().fold(f64::INFINITY, |least, a| if *a < least { *a } else { least });
            let width = class.clone().filter(|&j| j != i).map(|j| apart[j] - least).fold(0.0, f64::max);
            if least.is_finite() && (least > FAR || least > NARROW * width) {
                let nearest = apart.iter().position(|a| *a == least).unwrap_or(i);
                let from: Twofold = self.embedding.exactly(i, nearest);
                (0..n).filter(|&j| j != i).for_each(|j| apart[j] = (self.embedding.exactly(i, j) - from).value());
            } else {
                apart.iter_mut().for_each(|a| *a -= least);
            }
            let mass = masses(&apart, weights);
            weights[i] * f(&Row { i, class, weights, apart: &apart, mass: &mass })
        };
        let classes = self.cloud.classes();
        let rows: Vec<(Range<usize>, usize)> =
            classes.into_iter().flat_map(|class| class.clone().map(move |i| (class.clone(), i))).collect();
        let values: Vec<f64> = rows.into_par_iter().map(of_row).collect();
        values.iter().sum()
    }
}
