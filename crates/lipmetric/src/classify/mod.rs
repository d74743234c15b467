//! Classification by the nearest rows: their vote, the function that extends their values, or a smooth function of the distances.
//!
//! | file | what it does |
//! |---|---|
//! | `vote` | [`K`], [`Weights`]: how many neighbours vote, and how their votes are counted |
//! | `knn` | [`KnnClassifier`]: the vote of the nearest rows, shares, margins |
//! | `extension` | [`ExtensionFunction`]: the function that the paper selects, by a value per row |
//! | `smooth/` | [`SmoothFunction`]: kernel ridge on the distances to the rows |
//! | `calibrate` | [`Calibration`]: probabilities from the values of a function |
//! | `threshold` | [`JudgedPairs`]: whether two rows are similar, by their distance |
//! | `select` | [`judge_k`]: the number of neighbours by cross-validation |

mod calibrate;
mod extension;
mod knn;
mod select;
pub(crate) mod smooth;
mod threshold;
mod vote;

pub use calibrate::Calibration;
pub use extension::{ExtensionDecision, ExtensionFunction, OnSample};
pub use knn::{KnnClassifier, Neighbour, Prediction};
pub use select::{KScore, Validation, best_k, judge_k, usual_ks};
pub use smooth::{Kernel, KernelChoice, Reading, SmoothFunction, SmoothSpec, Smoothness};
pub use threshold::{JudgedPairs, PairScores, ThresholdRule};
pub(crate) use vote::Poll;
pub use vote::{K, Weights, vote};
