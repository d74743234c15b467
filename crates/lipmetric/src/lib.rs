//! Metric learning with certified optima.
//!
//! Labelled rows in, a distance out: a (squared) Mahalanobis metric
//! `rho_M(x, y) = (x - y)^T M (x - y)` with `M = L^T L`, learned so that
//! nearest-neighbour classification under it is better, together with a
//! certificate of how close to optimal it is.
//!
//! The way of the data, and the module that owns each step:
//!
//! | step | module |
//! |---|---|
//! | raw columns, as a file holds them | [`table`] |
//! | missing values, categories, scaling: fitted steps | [`prepare`] |
//! | a dense matrix and class labels | [`matrix`], [`labels`] |
//! | what a user calls to learn a metric | [`learner`] |
//! | the objective of Lip^D and Lip^I | [`problem`] |
//! | how a fit is steered and how it ended | [`solver`] |
//! | the learned map `x -> L x` | [`metric`] |
//! | margins, ratios, extensions, bounds, certified radii | [`lipschitz`] |
//! | exact k-nearest-neighbour classification | [`classify`] |
//! | all of it in one piece, ready to predict | [`model`] |
//! | splits, scores, comparisons | [`evaluate`] |
//!
//! Nothing in this crate reads files or prints.

pub mod classify;
pub mod error;
pub mod evaluate;
pub mod labels;
pub mod learner;
mod linalg;
pub mod lipschitz;
pub mod matrix;
pub mod metric;
pub mod model;
mod pairs;
pub mod prepare;
pub mod problem;
pub mod solver;
pub mod table;

pub use error::{Error, Result};
pub use labels::Labels;
pub use matrix::Matrix;
pub use metric::Metric;
pub use model::Model;

/// The README's examples are tests, too.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
