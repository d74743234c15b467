//! Metric learning with certified optima.
//!
//! Labelled rows in, a distance out: a (squared) Mahalanobis metric
//! `rho_M(x, y) = (x - y)^T M (x - y)` with `M = L^T L`, learned so that
//! nearest-neighbour classification under it is better, together with a
//! certificate of how close to optimal it is.
//!
//! # Quick start
//!
//! A metric is learned from labelled rows, new rows are classified, and each prediction comes with a certified radius: a
//! row that moves by less keeps its class.
//!
//! ```
//! use lipmetric::Matrix;
//! use lipmetric::data::{Column, Table};
//! use lipmetric::method::Lip;
//! use lipmetric::model::{Predictor, Recipe};
//! use lipmetric::prepare::{Dataset, Roles};
//! use lipmetric::solver::Silent;
//!
//! let table = Table::new("flowers", vec![
//!     Column::numbers("length", vec![1.0, 1.3, 0.9, 3.1, 2.8, 3.0]),
//!     Column::numbers("noise", vec![0.2, 9.0, 4.0, 8.5, 0.4, 4.4]),
//!     Column::texts("kind", ["short", "short", "short", "long", "long", "long"]),
//! ]);
//! let data = Dataset::read(&table, &Roles::default())?; // the label is the last column, unless Roles says otherwise
//! let model = Recipe::new(&Lip::intra().into()).fit(&data, None, &mut Silent)?;
//! assert!(model.outcome.gap.unwrap() < 1e-4); // certified: no metric is better by more than this fraction
//!
//! let predictor = Predictor::new(model)?;
//! let told = &predictor.radii(&Matrix::from_rows(&[[2.9, 6.0]]))?[0];
//! assert_eq!(predictor.class(told.prediction.label), "long");
//! assert!(told.radius > 0.0);
//! # Ok::<(), lipmetric::Error>(())
//! ```
//!
//! Three examples of about 20 lines, in the repository's `crates/lipmetric/examples`, go on from here: `classify` (a table, new
//! rows), `certify` (what a prediction rests on, its certified radius) and `choose` (a [`Spec`](method::Spec) from JSON and back,
//! cross-validation).
//!
//! # Modules
//!
//! | what | module |
//! |---|---|
//! | raw columns, a dense matrix, labels (classes or numbers), splits | [`data`] |
//! | column types, missing values, categories, scaling: fitted steps | [`prepare`] |
//! | what a user calls to learn a metric | [`method`] |
//! | the objective of Lip^D and Lip^I | [`problem`] |
//! | how a fit is watched and stopped, and how it ended | [`solver`] |
//! | the learned map `x -> L x` | [`metric`] |
//! | exact search: nearest rows, farthest pairs | [`neighbours`] |
//! | the vote of the nearest rows, and how many vote | [`classify`] |
//! | numbers in place of classes: means of the nearest rows, Lipschitz functions | [`regress`] |
//! | margins, ratios, extensions, bounds | [`lipschitz`] |
//! | certified radii: how far a row may move before its class changes | [`robust`] |
//! | all of it in one piece: predict, explain, certify, map | [`model`] |
//! | scores, comparisons, statistical tests | [`evaluate`] |
//! | what pictures show, as plain data | [`view`] |
//! | fits whose passes over pairs of rows are computed in other processes | [`helpers`] |
//! | a certificate checked in exact arithmetic | [`verify`] |
//!
//! Nothing in this crate reads files or prints: `lipmetric-io` and `lipmetric-cli` do.

pub mod classify;
pub mod data;
pub mod error;
pub mod evaluate;
pub mod helpers;
mod linalg;
pub mod lipschitz;
pub mod method;
pub mod metric;
pub mod model;
pub mod neighbours;
mod pairs;
pub mod prepare;
pub mod problem;
pub mod regress;
pub mod robust;
pub mod solver;
pub mod verify;
pub mod view;

pub use data::{Labels, Matrix, Task};
pub use error::{Error, Result};
pub use metric::Metric;
pub use model::Model;

/// The README's examples are tests, too.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
