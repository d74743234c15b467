use super::Under;
use crate::linalg::twofold::Twofold;
use rayon::prelude::*;
use std::ops::Range;

/// Squared distances above which their differences, as exponents, would lose digits that matter.
const FAR: f64 = 1e4;
/// `exp` of less than minus this is zero.
const NOTHING: f64 = 746.0;

/// `exp(-apart)`, most of which are zero where rows are far apart.
fn falling(apart: f64) -> f64 {
    if apart > NOTHING { 0.0 } else { (-apart).exp() }
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
    pub(crate) fn collapse(&self) -> f64 {
        let sum = self.sum_of_rows(|class, weights, apart| {
            // A row is infinitely far from itself.
            let others = || class.clone().filter(|&j| apart[j].is_finite());
            let mass: f64 = others().map(|j| weights[j]).sum();
            if mass <= 0.0 {
                return 0.0;
            }
            let total: f64 = apart.iter().zip(weights).map(|(a, w)| w * falling(*a)).sum();
            let mean: f64 = others().map(|j| weights[j] / mass * apart[j]).sum();
            (total / mass).ln() + mean
        });
        sum.max(0.0)
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
            if least > FAR && least.is_finite() {
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
