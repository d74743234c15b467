//! The objective that Lip^D and Lip^I minimise, in one place for every solver:
//!
//! `F(M) = c * diameter_P(rho_M) + sum over D of max(0, 2 - rho_M)`, `M` positive semidefinite,
//!
//! with D the different-label pairs and P all pairs (Lip^D, paper eq. (maopt3)) or the same-label pairs (Lip^I,
//! (ma2opt3)); with a slack per instance (eqs. (frame), (maopt1), (ma2opt1)) the sum becomes
//! `min sum xi_i` with `rho_M(x_i, x_j) >= 2 - xi_i - xi_j`.

mod leak;
mod space;

pub(crate) use leak::leak;
pub(crate) use space::Space;

use serde::{Deserialize, Serialize};

/// Which pairs bound the diameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// Every pair: Lip^D.
    Diameter,
    /// The pairs of equal label: Lip^I.
    Intra,
}

/// What the slack of a violated margin belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Slack {
    /// A slack per pair of rows, as in eq. (maopt3).
    Pair,
    /// A slack per row, as in eqs. (frame) and (maopt1): a mislabelled row pays once, not once per pair.
    Instance,
}
