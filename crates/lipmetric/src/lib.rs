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
//! | raw columns, a dense matrix, class labels, splits | [`data`] |
//! | missing values, categories, scaling: fitted steps | [`prepare`] |
//! | what a user calls to learn a metric | [`method`] |
//! | the objective of Lip^D and Lip^I | [`problem`] |
//! | how a fit is steered and how it ended | [`solver`] |
//! | the learned map `x -> L x` | [`metric`] |
//! | margins, ratios, extensions, bounds, certified radii | [`lipschitz`] |
//! | exact search for the nearest rows | [`neighbours`] |
//! | classification by a vote of the nearest rows | [`classify`] |
//! | all of it in one piece, ready to predict | [`model`] |
//! | splits, scores, comparisons | [`evaluate`] |
//!
//! Nothing in this crate reads files or prints.

pub mod classify;
pub mod data;
pub mod error;
pub mod evaluate;
mod linalg;
pub mod lipschitz;
pub mod method;
pub mod metric;
pub mod model;
pub mod neighbours;
mod pairs;
pub mod prepare;
pub mod problem;
pub mod solver;

pub use data::{Labels, Matrix};
pub use error::{Error, Result};
pub use metric::Metric;
pub use model::Model;

/// The README's examples are tests, too.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
