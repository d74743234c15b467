//! Exact k-nearest-neighbour classification.
//!
//! | file | what it does |
//! |---|---|
//! | `vote` | [`K`], [`Weights`]: how many neighbours vote, and how their votes are counted |
//! | `knn` | [`KnnClassifier`]: the vote of the nearest rows, shares, margins |
//! | `select` | [`judge_k`]: the number of neighbours by cross-validation |

mod knn;
mod select;
mod vote;

pub use knn::{KnnClassifier, Neighbour, Prediction};
pub use select::{KScore, Validation, best_k, judge_k, usual_ks};
pub(crate) use vote::Poll;
pub use vote::{K, Weights};
