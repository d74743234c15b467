//! The objective that Lip^D and Lip^I minimise, and the certificate of a solution.
//!
//! In one place for every solver:
//!
//! `F(M) = c * diameter_P(rho_M) + sum over D of max(0, 2 - rho_M)`, `M` positive semidefinite,
//!
//! with D the different-label pairs and P all pairs (Lip^D, paper eq. (maopt3)) or the same-label pairs (Lip^I,
//! (ma2opt3)); with a slack per row (eqs. (frame), (maopt1), (ma2opt1)) the sum becomes
//! `min sum xi_i` with `rho_M(x_i, x_j) >= 2 - xi_i - xi_j`.

mod audit;
mod balance;
mod certificate;
mod coordinates;
mod faint;
mod leak;
pub(crate) mod moments;
mod totals;

pub(crate) use audit::{Figures, Listed, Problem, SUMMED, Under, Weighed, distance_to_ideal, expected_errors};
pub(crate) use balance::balancing;
pub(crate) use certificate::{
    Bound, Known, Mix, Multipliers, certify, certify_mapped, is_surely_positive, relative_gap, tested_scale,
};
pub use certificate::{Certificate, GivenPairs, SupportPair};
pub(crate) use coordinates::Coordinates;
pub(crate) use totals::{different_sum, groups, mean_pair, value_at_zero};

use crate::pairs::pass::Among;
use serde::{Deserialize, Serialize};

/// Which pairs bound the diameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Variant {
    /// Every pair: Lip^D.
    Diameter,
    /// The pairs of equal label: Lip^I.
    Intra,
}

impl Variant {
    /// The pairs that bound the diameter.
    pub(crate) fn bounding(self) -> Among {
        match self {
            Self::Diameter => Among::All,
            Self::Intra => Among::Same,
        }
    }
}

/// What the slack of a violated margin belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Slack {
    /// A slack per pair of rows, as in eq. (maopt3).
    Pair,
    /// A slack per row, as in eqs. (frame) and (maopt1): a mislabelled row pays once, not once per pair.
    Instance,
}

impl std::fmt::Display for Slack {
    /// In words: "a slack per row".
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Pair => "a slack per pair",
            Self::Instance => "a slack per row",
        })
    }
}

/// A metric that the learned one is drawn towards, by `(gamma / 2) |M - M_0|^2` in the objective, measured in coordinates
/// where the training rows have unit covariance. It makes the optimum unique. The scale of `M_0` is fitted: it is the
/// multiple with the smallest objective.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Anchor {
    /// Which metric.
    pub towards: Towards,
    /// `gamma` in units of `c diameter(M_0) / |M_0|^2`: at 1 the anchor weighs about as much as the diameter.
    pub weight: f64,
}

/// The metrics that an [`Anchor`] can draw towards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Towards {
    /// The Euclidean distance of the features as they are given.
    Euclid,
    /// The Mahalanobis distance of the covariance within the classes.
    Within,
}

/// What of the distances within P the diameter is.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Diameter {
    /// The largest, as in the paper.
    #[default]
    Maximum,
    /// The mean of this part of them, the longest (their conditional value at risk): between 0, the maximum, and 1, the
    /// mean.
    Cvar(f64),
    /// The mean: outliers count as much as any other row.
    Mean,
}

impl std::fmt::Display for Diameter {
    /// In words: "the mean of the longest 10.0 %".
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Maximum => f.write_str("the largest distance"),
            Self::Cvar(level) => write!(f, "the mean of the longest {:.1} %", 100.0 * level),
            Self::Mean => f.write_str("the mean distance"),
        }
    }
}
