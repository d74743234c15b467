use crate::pairs::{Row, interleaved};
use crate::problem::Coordinates;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What a row that picks a neighbour of another class costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Loss {
    /// The chance of it, `1 - p_i`: the sum is the expected number of errors, as in the paper of NCA.
    #[default]
    Errors,
    /// `-log p_i`: the sum is minus the logarithm of the likelihood of the classes. A row among others costs without limit.
    Log,
}

impl Loss {
    /// What a point costs, and the derivative by its squared distances to the others.
    #[inline(always)]
    pub(super) fn of(self, frame: &Coordinates, row: &Row<'_>, coefficients: &mut [f64]) -> f64 {
        // Points are sorted by class, and so are the others: those of its own class stand together.
        let from = row.others.partition_point(|&j| (j as usize) < row.same.start);
        let to = row.others.partition_point(|&j| (j as usize) < row.same.end);
        let right = interleaved(&row.chances[from..to]);
        let weight = frame.cloud.weight[row.i];
        let mut set = |range: Range<usize>, factor: f64| {
            coefficients[range.clone()]
                .iter_mut()
                .zip(&row.chances[range])
                .for_each(|(out, chance)| *out = factor * chance);
        };
        let (value, same, other) = match self {
            Self::Errors => {
                let wrong = interleaved(&row.chances[..from]) + interleaved(&row.chances[to..]);
                (weight * wrong, weight * wrong, -weight * right)
            }
            // A point that is alone in its class has no right choice, whatever the metric.
            Self::Log if row.same.len() < 2 => (0.0, 0.0, 0.0),
            Self::Log => {
                // The other way to say it keeps the digits of a chance that is nearly one.
                let wrong = interleaved(&row.chances[..from]) + interleaved(&row.chances[to..]);
                let value = if wrong < 0.5 { -(-wrong).ln_1p() } else { -right.ln() };
                (weight * value, weight * wrong / right, -weight)
            }
        };
        set(0..from, other);
        set(from..to, same);
        set(to..row.chances.len(), other);
        value
    }
}
