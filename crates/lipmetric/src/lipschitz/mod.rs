//! The Lipschitz toolbox: sections II and III of the paper.
//!
//! Everything is generic over a [`Distance`]: [`Mahalanobis`] (a learned metric or Euclid's), [`SquaredMahalanobis`]
//! (the paper's `rho_M`), a closure, a precomputed matrix; all are in [`distances`]. Which of them obey the triangle inequality
//! is said in the type, by [`TrueMetric`](distances::TrueMetric).
//!
//! | question | function | in the paper |
//! |---|---|---|
//! | how steep are the labels, or any function? | [`lipschitz_constant`], [`lipschitz_constant_of`] | Definition 1, `L_0` |
//! | how does a function continue beyond the sample? | [`Extension`], [`ExtensionClassifier`] | Theorem 1, Proposition 1 |
//! | which values are cheapest to give to the rows, at a given constant? | [`learned_values`](values::learned_values) | Lip^I on a fixed metric |
//! | how far apart are the classes, how wide are they? | [`margin`], [`diameter`], [`Margins`] | Definitions 2 to 4 |
//! | the same around each instance | [`LocalRatios`], [`local`] | Definition 5 |
//! | how many dimensions has the metric space? | [`doubling_dimension`](bounds::doubling_dimension) | Definition 6 |
//! | what error can be promised? | [`bounds`] | Theorem 2, Proposition 6, Corollary 1 |
//! | which rows to give up for a better promise? | [`trade_off`] | after Gottlieb et al. |
//! | what do the penalties of LMML and LMNN bound? | [`appendix`] | appendix |
//! | all of it at once | [`Report`] | |
//! | the same of a function that was learned | [`FunctionReport`] | Theorem 2 with `k` errors |
//! | how far can an instance move before its label changes? | [`certified_radii`], [`certified_accuracy`] | - |
//!
//! Results are exact (or bounds where they are called so), identical bit for bit for any number of threads, and take memory
//! in proportion to the data. Numbers that are infinite by nature (a constant across coinciding rows, a ratio over a
//! zero diameter) are infinite, not errors; what cannot be asked at all is a typed [`crate::Error`].

pub mod appendix;
pub mod bounds;
mod constant;
mod covering;
mod distance;
mod doubling;
mod extension;
mod function;
pub mod local;
mod margins;
mod matching;
mod other;
mod pair;
mod radius;
mod report;
pub mod trade_off;
pub mod values;

/// What a distance is, and those that there are.
pub mod distances {
    pub use super::distance::{Mahalanobis, SquaredMahalanobis, TrueMetric, Vectors, VectorsTo};
    pub use super::other::{AsMetric, Closure, ClosureTo, Precomputed, PrecomputedCross};
    #[doc(no_inline)]
    pub use crate::neighbours::{Coordinates, Cross, Distance, Pair};
}

pub use constant::{LipschitzConstant, lipschitz_constant, lipschitz_constant_of};
pub(crate) use distance::{check_range, root_rounding, row_rounding, squared_rounding};
#[doc(no_inline)]
pub use distances::{Distance, Mahalanobis, SquaredMahalanobis};
pub use extension::{Decision, Extension, ExtensionClassifier};
pub use function::FunctionReport;
#[doc(no_inline)]
pub use local::LocalRatios;
pub use margins::{ClassDiameter, ClassMargin, Margins, Surrogates};
pub use pair::{diameter, diameter_of, margin};
pub(crate) use radius::check_lengths;
pub use radius::{CertifiedRadius, certified_accuracy, certified_radii, input_radius_factor};
pub use report::{Report, ReportOptions};

use crate::{Error, Labels, Result};
use pair::Groups;

/// Labels that fit the sample and have two classes at least.
fn check_labels<D: Distance + ?Sized>(distance: &D, labels: &Labels) -> Result<Groups> {
    if labels.len() != distance.len() {
        return Err(Error::shape("labels of the sample", distance.len(), labels.len()));
    }
    if labels.numbers().is_some() {
        return Err(Error::data("margins are between classes, and these labels are numbers"));
    }
    let groups = Groups::new(labels);
    if groups.rows.len() < 2 {
        let name = groups.codes.first().map_or("none", |&c| labels.classes()[c as usize].as_str());
        return Err(Error::data(format!(
            "margins between classes need rows of two classes at least; all {} rows are of one ({name})",
            labels.len()
        )));
    }
    Ok(groups)
}

/// A finite value per row.
fn check_values<D: Distance + ?Sized>(distance: &D, values: &[f64]) -> Result<()> {
    if values.len() != distance.len() {
        return Err(Error::shape("values on the sample", distance.len(), values.len()));
    }
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(i) => Err(Error::data(format!("the function's value at row {i} is {}; it must be finite", values[i]))),
    }
}

/// Row numbers in range, sorted, each once.
fn check_rows(rows: &[usize], n: usize) -> Result<Vec<usize>> {
    if let Some(&bad) = rows.iter().find(|&&i| i >= n) {
        return Err(Error::data(format!("row {bad} does not exist: there are {n} rows")));
    }
    let mut rows = rows.to_vec();
    rows.sort_unstable();
    rows.dedup();
    Ok(rows)
}
