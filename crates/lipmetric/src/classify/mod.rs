//! Exact k-nearest-neighbour classification.
//!
//! | file | what it does |
//! |---|---|
//! | `select` | [`judge_k`]: the number of neighbours by cross-validation |
//! | `knn` | [`KnnClassifier`]: votes, shares, margins |

mod knn;
mod select;

pub use knn::{KnnClassifier, Prediction, Weights};
pub(crate) use select::vote;
pub use select::{KScore, Validation, best_k, judge_k, usual_ks};
