//! Judging: splits, scores, trials of a whole recipe, comparison tables.

mod score;
mod split;

pub use score::{ClassScore, Confusion};
pub use split::{Split, folds, holdouts};
