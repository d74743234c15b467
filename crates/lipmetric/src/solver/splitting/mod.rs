//! The paper's ADMM: as printed, and a form for many rows and many features.
//!
//! | file | what it does |
//! |---|---|
//! | `paper` | Algorithm 1, iterate for iterate, without its large matrices |
//! | `two_block` | two blocks, over-relaxed, on a working set of pairs (see `solver/working_set`) |

mod paper;
mod two_block;

pub(crate) use paper::Faithful;
pub(crate) use two_block::Practical;
