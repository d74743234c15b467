//! Whether differences between methods are more than the chance of the splits and of the choice of data sets.
//!
//! - [`resampled_t`]: one data set, repeated splits. Their training parts overlap, so that the usual t-test calls
//!   differences far too easily; Nadeau and Bengio (2003) correct its variance.
//! - [`wilcoxon`]: two methods over several data sets (signed ranks), exact.
//! - [`friedman`] and [`critical_difference`]: many methods over several data sets (average ranks; Demsar 2006).
//! - [`holm`]: many tests at once.
//! - [`share_band`]: what a share on so many rows is good for.

mod band;
mod distribution;
mod friedman;
mod holm;
mod resampled;
mod wilcoxon;

pub use band::share_band;
use distribution::{chi_squared_tail, f_tail, normal_tail, range_quantile, t_two_sided};
pub use friedman::{Friedman, critical_difference, friedman, ranks};
pub use holm::holm;
pub use resampled::{ResampledT, resampled_t};
pub use wilcoxon::{Wilcoxon, wilcoxon};

use serde::Serialize;

/// What a test allows to say about a method beside another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better, at the level asked for.
    Better,
    /// Worse, at the level asked for.
    Worse,
    /// The test shows no difference: there may be none, or too few data to see it.
    NoDifferenceShown,
}

impl Verdict {
    /// By the sign of a difference, if its p-value is at most `level`; without a p-value nothing is shown.
    ///
    /// ```
    /// use lipmetric::evaluate::statistics::Verdict;
    /// assert_eq!(Verdict::of(0.02, Some(0.01), 0.05), Verdict::Better);
    /// assert_eq!(Verdict::of(-0.02, Some(0.2), 0.05), Verdict::NoDifferenceShown);
    /// assert_eq!(Verdict::of(-0.02, None, 0.05), Verdict::NoDifferenceShown);
    /// ```
    #[must_use]
    pub fn of(difference: f64, p: Option<f64>, level: f64) -> Self {
        match p {
            Some(p) if p <= level && difference > 0.0 => Self::Better,
            Some(p) if p <= level && difference < 0.0 => Self::Worse,
            _ => Self::NoDifferenceShown,
        }
    }

    /// The verdict in words.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NoDifferenceShown => "no difference shown",
        }
    }
}
