//! Certificates: what proves that a metric is nearly optimal.
//!
//! The dual problem: `lambda` in `[0, w_i w_j]` on the different-label pairs (with a slack per row: `lambda >= 0` and
//! `sum_j lambda_ij <= w_i`), `eta >= 0` with `sum eta = c` on the pairs that bound the diameter, and
//! `sum lambda A <= sum eta A` in the order of matrices; its value is `2 sum lambda`. Multipliers that miss only the
//! last condition become feasible when `lambda` is scaled down, so that whatever a solver has at hand gives a bound
//! (`bound`). Every solver takes its bound from here.

mod bound;

pub(crate) use bound::{Bound, Known, Mix, Multipliers, certify, certify_mapped, is_surely_positive, tested_scale};

use crate::data::{Pair, check_pairs};
use crate::{Error, Matrix, Metric, Result};

/// A pair of rows with a nonzero multiplier: what the optimum rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SupportPair {
    /// One row.
    pub first: usize,
    /// The other row.
    pub second: usize,
    /// Whether the pair is one of different label that is pushed apart; else it bounds the diameter.
    pub pushes: bool,
    /// The multiplier: `lambda` of a pair that is pushed, `eta` of one that bounds the diameter.
    pub multiplier: f64,
}

impl SupportPair {
    /// A pair and its multiplier.
    #[must_use]
    pub fn new(first: usize, second: usize, pushes: bool, multiplier: f64) -> Self {
        Self { first, second, pushes, multiplier }
    }
}

/// Multipliers `lambda` (pairs of different label) and `eta` (pairs that bound the diameter) that are feasible for the dual
/// problem: `lambda_ij <= w_i w_j` (with a slack per row: `sum_j lambda_ij <= w_i`), `sum eta = c`, and
/// `sum lambda A - sum eta A` negative semidefinite. Then `2 sum lambda` is a lower bound of the objective. With the
/// training rows and the metric this is all that a verifier needs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Certificate {
    /// Pairs with a multiplier of their own.
    pub pairs: Vec<SupportPair>,
    /// `eta` in addition, for every pair that bounds the diameter: this, shared out in proportion to `w_i w_j`.
    pub mean: f64,
    /// `lambda / (w_i w_j)` of the pairs of different label that are not listed and closer than 2 under `sides`; all
    /// others have none.
    pub below: f64,
    /// With the mean of the longest distances as the diameter: `eta / (w_i w_j)` of the pairs that bound it, are not listed
    /// and are longer than `edge` under `sides`.
    pub beyond: f64,
    /// The length from which on these pairs count.
    pub edge: f64,
    /// The metric that tells which pairs these are.
    pub sides: Metric,
    /// The weight of each row, where they are not all one; else empty.
    pub weights: Vec<f64>,
    /// With a slack per row: slacks for each row that are feasible for the metric, and as small as a few rounds make them.
    pub slack: Vec<f64>,
    /// Where the rows do not vary, to rounding, in some direction: coordinates x features. The bound is then over all metrics
    /// that see the rows through these coordinates, which is over all metrics but those that measure rounding.
    pub basis: Option<Matrix>,
    /// Where the problem is one of pairs: what it is made of. `mean` is then shared out in proportion to the strengths of the similar
    /// pairs.
    pub given: Option<GivenPairs>,
}

/// The problem that was posed by pairs in place of labels.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GivenPairs {
    /// Each pair once, with all of its strength: similar ones bound the diameter, dissimilar ones push.
    pub pairs: Vec<Pair>,
    /// How much the metric's trace counts in the diameter, beside the mean of the similar pairs.
    pub plain: f64,
}

impl GivenPairs {
    /// A problem of these pairs.
    #[must_use]
    pub fn new(pairs: Vec<Pair>, plain: f64) -> Self {
        Self { pairs, plain }
    }

    fn check(&self, rows: usize) -> Result<()> {
        check_pairs(&self.pairs, rows)?;
        if self.plain.is_finite() && self.plain >= 0.0 {
            return Ok(());
        }
        Err(Error::data(format!(
            "the trace counts {} in the diameter: that must be finite and not negative",
            self.plain
        )))
    }
}

/// A multiplier up to this part of the largest determines nothing: it is about what the gap leaves.
const UNUSED: f64 = 1e-6;

impl Certificate {
    /// No multiplier at all: proves that the objective is not below zero.
    #[must_use]
    pub fn nothing(sides: Metric) -> Self {
        Self {
            pairs: Vec::new(),
            mean: 0.0,
            below: 0.0,
            beyond: 0.0,
            edge: 0.0,
            sides,
            weights: Vec::new(),
            slack: Vec::new(),
            basis: None,
            given: None,
        }
    }

    /// The pairs that the optimum rests on, those with the largest multipliers first. Pairs far inside the margin all have the
    /// largest possible multiplier and are not listed.
    #[must_use]
    pub fn support(&self) -> Vec<SupportPair> {
        let most = self.pairs.iter().fold(0.0, |m: f64, s| m.max(s.multiplier));
        let mut pairs: Vec<SupportPair> = self.pairs.iter().copied().filter(|s| s.multiplier > UNUSED * most).collect();
        pairs.sort_by(|a, b| b.multiplier.total_cmp(&a.multiplier).then((a.first, a.second).cmp(&(b.first, b.second))));
        pairs
    }

    /// Whether it can be one of so many rows of so many features: its sizes and row numbers, and that all numbers are finite.
    ///
    /// # Errors
    /// If not: the message says what does not fit.
    pub fn check(&self, rows: usize, features: usize) -> Result<()> {
        if self.sides.features() != features {
            return Err(Error::shape("features of the certificate's metric", features, self.sides.features()));
        }
        if let Some(basis) = self.basis.as_ref().filter(|b| b.cols() != features) {
            return Err(Error::shape("features of the certificate's basis", features, basis.cols()));
        }
        for (what, values) in [("weights", &self.weights), ("slacks", &self.slack)] {
            if !values.is_empty() && values.len() != rows {
                return Err(Error::shape(format!("the certificate's {what}"), rows, values.len()));
            }
            if let Some(i) = values.iter().position(|v| !v.is_finite()) {
                return Err(Error::data(format!("number {i} of the certificate's {what} is {}", values[i])));
            }
        }
        if let Some(i) = self.weights.iter().position(|w| *w < 0.0) {
            return Err(Error::data(format!(
                "weight {i} of the certificate is {}: none may be negative",
                self.weights[i]
            )));
        }
        if let Some(p) = self.pairs.iter().find(|p| p.first >= rows || p.second >= rows) {
            let (i, j) = (p.first, p.second);
            return Err(Error::data(format!("the certificate names rows {i} and {j}, but there are {rows}, from 0")));
        }
        self.given.as_ref().map_or(Ok(()), |given| given.check(rows))?;
        let shared = [self.mean, self.below, self.beyond, self.edge];
        let basis = self.basis.iter().flat_map(|b| b.as_slice());
        let all = self.pairs.iter().map(|p| &p.multiplier).chain(&shared).chain(basis);
        if all.into_iter().any(|v| !v.is_finite()) {
            return Err(Error::data("a multiplier of the certificate, or its basis, is not finite"));
        }
        Ok(())
    }
}

/// `|objective - bound| / |objective|`; one where no point is known yet. Exact arithmetic excludes a bound above the objective: a
/// solver that finds one has lost its digits, and is as far from an answer as the two are apart.
pub(crate) fn relative_gap(objective: f64, bound: f64) -> f64 {
    if !objective.is_finite() {
        return 1.0;
    }
    if objective == bound { 0.0 } else { (objective - bound).abs() / objective.abs() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_relative_to_the_objective_and_none_at_equality() {
        assert_eq!(relative_gap(2.0, 1.0), 0.5);
        assert_eq!(relative_gap(0.0, 0.0), 0.0);
        assert_eq!(relative_gap(4.0, 4.0), 0.0);
        assert_eq!(relative_gap(f64::INFINITY, 1.0), 1.0);
        assert_eq!(relative_gap(f64::NAN, 1.0), 1.0);
        assert_eq!(relative_gap(1.0, f64::NEG_INFINITY), f64::INFINITY);
    }

    #[test]
    fn a_bound_above_the_objective_is_no_gap_of_zero() {
        assert_eq!(relative_gap(1.0, 1.5), 0.5);
        assert_eq!(relative_gap(0.0, 1.0), f64::INFINITY);
    }
}
