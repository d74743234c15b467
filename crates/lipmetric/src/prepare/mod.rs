//! From raw columns to a dense matrix: column types, missing values, categories, scaling.
//!
//! Every step is *fitted* on training rows, can be shown, travels inside the model, and is applied again, unchanged,
//! to the rows of a prediction:
//!
//! 1. [`Schema::infer`] decides which column is what (numeric, boolean, category; the label; ignored ones).
//! 2. [`Schema::read`] lines a table's columns up with the schema and gives [`Columns`]; a column that is new, absent
//!    or of another type is an error that names it.
//! 3. [`Preparation::fit`] learns fill values and scaling from (some rows of) them, [`Preparation::apply`] makes
//!    the matrix.
//!
//! ```
//! use lipmetric::prepare::{Fill, Preparation, Roles, Scaling, Schema, Unseen};
//! use lipmetric::data::{Column, Table};
//! let table = Table::new("rows.csv", vec![
//!     Column::texts("size", ["1", "", "3"]),
//!     Column::texts("colour", ["red", "blue", "red"]),
//!     Column::texts("kind", ["a", "b", "b"]),
//! ]);
//! let schema = Schema::infer(&table, &Roles::default())?;
//! let columns = schema.read(&table, Unseen::Error)?;
//! let preparation = Preparation::fit(schema, &columns, None, Fill::Median, Scaling::None)?;
//! let x = preparation.apply(&columns)?;
//! assert_eq!(preparation.feature_names(), ["size", "colour=blue", "colour=red"]);
//! assert_eq!(x.row(1), [2.0, 1.0, 0.0]);
//! # Ok::<(), lipmetric::Error>(())
//! ```

mod columns;
mod dataset;
mod european;
mod fitted;
mod infer;
mod looks;
mod matching;
mod notation;
mod parsed;
mod quantile;
mod schema;
mod suspect;

pub use columns::{Cells, Columns};
pub use dataset::Dataset;
pub use fitted::{Fill, Preparation, Scaling, Step};
pub use infer::{ColumnRef, Roles};
pub use notation::Notation;
pub use quantile::Knots;
pub use schema::{Encoding, Feature, Kind, LabelColumn, Schema, Unseen};
