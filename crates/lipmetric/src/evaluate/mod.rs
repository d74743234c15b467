//! Evaluation: scores, trials of a whole recipe, comparison tables, and the statistical tests of their differences.

mod along;
mod analysis;
mod compare;
mod errors;
mod jobs;
mod probability;
mod score;
pub mod statistics;
mod trial;

pub use along::{HELD_OUT_GAP, accuracy_along};
pub use analysis::{Against, Analysis, OnOne};
pub use compare::{Cell, Comparison, Entry, Protocol, Summary, Supervisor, certified_trials, trials};
pub use errors::Errors;
pub use jobs::Advance;
pub use probability::{CalibrationBin, Reliability};
pub use score::{ClassScore, Confusion};
pub use trial::{Certification, Trial};
