//! What every solver hands back.

use super::Status;
use crate::Matrix;
use crate::problem::{Certificate, relative_gap};

/// The best point that a solver has found, and what is known about it.
#[derive(Debug, Clone)]
pub(crate) struct Solution {
    /// `L`, components x coordinates: `M = L^T L`.
    pub(crate) factor: Matrix,
    /// The objective there.
    pub(crate) objective: f64,
    /// A certified lower bound of the objective anywhere.
    pub(crate) bound: f64,
    /// The slack of each point, with a slack per row; else empty.
    pub(crate) slack: Vec<f64>,
    /// How the run ended.
    pub(crate) status: Status,
    /// Iterations done.
    pub(crate) iterations: usize,
    /// The multipliers that prove the bound, where the solver keeps them; rows and metric are those of the coordinates.
    pub(crate) certificate: Option<Certificate>,
}

impl Solution {
    /// The certified relative gap.
    pub(crate) fn gap(&self) -> f64 {
        relative_gap(self.objective, self.bound)
    }
}
