//! What is true of a metric on the rows as they were given, whatever a solver believes.
//!
//! Solvers work in coordinates where the rows are well scaled, with fast distances (`|z_i|^2 + |z_j|^2 - 2 z_i . z_j`). Where
//! rows are much nearer to each other than the range of the features, that loses digits: a solver's objective may then not be
//! that of its metric, and its multipliers not feasible. So neither is reported. The objective is measured anew on the given rows,
//! from differences ([`Problem::measure`]); the bound is proved anew from the multipliers, on exact differences and in twice the
//! usual precision, with an allowance for all rounding that is left ([`Problem::prove`]).
//!
//! Most rows do not need that care. A sum over all pairs is first taken by fast distances about the centre of the rows, together
//! with what it may be off by at most (`Embedding::about_centre`). Where ten digits of it are surely right, it stands; where not,
//! every length is computed from differences in twice the precision.
//!
//! Problems of other methods are measured by [`Under`], the rows under a metric, and bounded by sums over pairs that are listed
//! ([`Listed`]).
//!
//! | file | what it does |
//! |---|---|
//! | `measure` | the objective of Lip^D and Lip^I |
//! | `prove` | their bound, from multipliers |
//! | `anchored` | the same with an anchor |
//! | `under` | lengths of pairs under a metric |
//! | `chances` | the objectives of NCA and MCML |
//! | `listed` | whether sums over listed pairs are positive, and how large they are |

mod anchored;
mod chances;
mod listed;
mod measure;
mod prove;
mod under;

pub(crate) use chances::{distance_to_ideal, expected_errors};
pub(crate) use listed::{Listed, SUMMED, Weighed};
pub(crate) use measure::Figures;
pub(crate) use under::Under;

use super::{Diameter, Slack, Variant};
use crate::Matrix;
use crate::pairs::{Cloud, Helpers};
use std::sync::Arc;

/// A problem on the rows as they were given.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    /// The given rows of positive weight, sorted by class.
    cloud: Cloud,
    variant: Variant,
    slack: Slack,
    diameter: Diameter,
    c: f64,
}

impl Problem {
    pub(crate) fn new(
        (x, class, weight): (&Matrix, &[u32], &[f64]),
        (variant, slack, diameter): (Variant, Slack, Diameter),
        c: f64,
    ) -> Self {
        Self { cloud: Cloud::new(x, class, weight), variant, slack, diameter, c }
    }

    /// The same, whose passes over the pairs helpers compute, if there are any; they hold the given rows, with these weights.
    pub(crate) fn helped_by(self, helpers: Option<&Arc<dyn Helpers>>, weight: &[f64]) -> Self {
        Self { cloud: self.cloud.helped_by(helpers, weight, None), ..self }
    }

    /// The total weight of the pairs that bound the diameter.
    fn bounding(&self) -> f64 {
        let (different, same) = self.cloud.pair_totals();
        match self.variant {
            Variant::Diameter => different + same,
            Variant::Intra => same,
        }
    }
}

#[cfg(test)]
mod tests;
