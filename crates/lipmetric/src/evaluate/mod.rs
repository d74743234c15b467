//! Judging: splits, scores, trials of a whole recipe, comparison tables.

mod compare;
mod score;
mod split;
mod trial;

pub use compare::{Cell, Comparison, Entry, Protocol, Subject, Summary, Supervisor};
pub use score::{ClassScore, Confusion};
pub use split::{Split, folds, holdouts};
pub use trial::Trial;
