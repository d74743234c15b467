//! Exact k-nearest-neighbour search and classification.
//!
//! | file | what it does |
//! |---|---|
//! | `index` | [`NeighbourIndex`]: rows to search in, the choice of how, checks |
//! | `choose` | the rule of [`Algorithm::Auto`] |
//! | `brute`, `tree` | the two searches |
//! | `screen` | scores in single precision with a bound on their error: the kernel of both |
//! | `candidates` | which rows may still be among the nearest, given such scores |
//! | `distance` | the distance that decides in the end |
//! | `neighbours` | [`Neighbours`]: what a search returns |
//! | `select` | [`judge_k`]: the number of neighbours by cross-validation |
//! | `knn` | [`KnnClassifier`]: votes, shares, margins |

mod brute;
mod candidates;
mod choose;
mod distance;
mod index;
mod knn;
mod neighbours;
mod screen;
mod select;
mod tree;

pub use index::{Algorithm, NeighbourIndex};
pub use knn::{KnnClassifier, Prediction, Weights};
pub use neighbours::Neighbours;
pub(crate) use select::vote;
pub use select::{KScore, Validation, best_k, judge_k, usual_ks};
