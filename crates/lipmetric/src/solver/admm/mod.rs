//! The paper's ADMM: as printed, and a form for many rows and many features.
//!
//! | file | what it does |
//! |---|---|
//! | `proximal` | the proximal operators of the updates |
//! | `moments` | `A^T A` in closed form from fourth moments |
//! | `faithful` | Algorithm 1, iterate for iterate, without its large matrices |
//! | `practical` | two blocks, over-relaxed, on a working set of pairs (see `solver/reduced`) |

mod faithful;
pub(crate) mod moments;
mod practical;
pub(crate) mod proximal;

pub(crate) use faithful::{Faithful, Settings as PaperSettings};
pub(crate) use practical::Practical;
