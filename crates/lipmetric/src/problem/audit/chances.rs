use super::Under;
use crate::linalg::twofold::Twofold;
use rayon::prelude::*;
use std::ops::Range;

/// Squared distances above which their differences, as exponents, would lose digits that matter.
const FAR: f64 = 1e4;
/// Where a row's class is this much farther away than it is wide, differences of distances are computed in twice the precision.
const NARROW: f64 = 1e5;
/// Mean differences up to this have powers of `e` that are numbers.
const MODERATE: f64 = 300.0;
/// `exp` of less than minus this is zero.
const NOTHING: f64 = 746.0;

/// `exp(-apart)`, most of which are zero where rows are far apart.
fn falling(apart: f64) -> f64 {
    if apart > NOTHING { 0.0 } else { (-apart).exp() }
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
        self.sum_of_rows(|class, weights, apart| {
            let mass =
                |range: &mut dyn Iterator<Item = usize>| range.map(|j| weights[j] * falling(apart[j])).sum::<f64>();
            let right = mass(&mut class.clone());
            let wrong = mass(&mut (0..class.start).chain(class.end..apart.len()));
            wrong / (right + wrong)
        })
    }

    /// `sum_i w_i KL(ideal_i, p_i)`: MCML's objective. Rows that are alone in their class count nothing.
    ///
    /// With `m` the mean of a row's differences of distance `a` to its class, `KL = ln(mean of exp(m - a)) + ln(1 + others / class)`,
    /// where the first mean is `1 + mean of (exp(m - a) - 1 - (m - a))`: sums of what is not negative, so that nothing cancels
    /// however small they are.
    pub(crate) fn collapse(&self) -> f64 {
        self.sum_of_rows(|class, weights, apart| {
            // A row is infinitely far from itself.
            let others = || class.clone().filter(|&j| apart[j].is_finite());
            let mass: f64 = others().map(|j| weights[j]).sum();
            if mass <= 0.0 {
                return 0.0;
            }
            let mean: f64 = others().map(|j| weights[j] / mass * apart[j]).sum();
            let near =
                |range: &mut dyn Iterator<Item = usize>| range.map(|j| weights[j] * falling(apart[j])).sum::<f64>();
            let right = near(&mut others());
            let wrong = near(&mut (0..class.start).chain(class.end..apart.len()));
            if mean > MODERATE {
                return ((right + wrong) / mass).ln() + mean;
            }
            let within: f64 = others().map(|j| weights[j] / mass * bend(apart[j] - mean)).sum();
            within.ln_1p() + (wrong / right).ln_1p()
        })
    }

    /// The weighted sum of what a function makes of each row's class, of all weights, and of how much farther than the nearest
    /// all rows are; the row itself is infinitely far.
    fn sum_of_rows(&self, f: impl Fn(Range<usize>, &[f64], &[f64]) -> f64 + Sync) -> f64 {
        let (n, weights) = (self.cloud.len(), &self.cloud.weight);
        let of_row = |(class, i): (Range<usize>, usize)| {
            let mut apart = self.lengths_from(i);
            apart[i] = f64::INFINITY;
            let nearest = (0..n).min_by(|&a, &b| apart[a].total_cmp(&apart[b])).unwrap_or(i);
            let least = apart[nearest];
            let width = class.clone().filter(|&j| j != i).map(|j| apart[j] - least).fold(0.0, f64::max);
            if least.is_finite() && (least > FAR || least > NARROW * width) {
                let from: Twofold = self.embedding.exactly(i, nearest);
                (0..n).filter(|&j| j != i).for_each(|j| apart[j] = (self.embedding.exactly(i, j) - from).value());
            } else {
                apart.iter_mut().for_each(|a| *a -= least);
            }
            weights[i] * f(class, weights, &apart)
        };
        let classes = self.cloud.classes();
        let rows: Vec<(Range<usize>, usize)> =
            classes.into_iter().flat_map(|class| class.clone().map(move |i| (class.clone(), i))).collect();
        let values: Vec<f64> = rows.into_par_iter().map(of_row).collect();
        values.iter().sum()
    }
}
