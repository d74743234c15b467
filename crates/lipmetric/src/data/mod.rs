//! Plain data: tables as files hold them, matrices, labels (classes or numbers), pairs and comparisons of
//! rows without labels, and how rows are split into training and test rows.

mod labels;
mod matrix;
mod matrix_ref;
mod similar;
mod sparse;
mod split;
mod table;
mod tuples;

pub use labels::{Labels, Task};
pub use matrix::Matrix;
pub(crate) use matrix::to_unit;
pub use matrix_ref::MatrixRef;
pub use similar::similar;
pub use sparse::SparseRows;
pub use split::{Split, folds, holdouts};
pub use table::{Column, Table, Texts, Values, excerpt, is_missing, number};
pub(crate) use tuples::notes_on_pairs;
pub use tuples::{Pair, Quadruplet, Triplet, check_pairs};
