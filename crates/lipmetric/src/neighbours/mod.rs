//! Exact search for the nearest rows.
//!
//! | file | what it does |
//! |---|---|
//! | `index` | [`NeighbourIndex`]: rows to search in, the choice of how, checks |
//! | `choose` | the rule of [`Algorithm::Auto`] |
//! | `brute`, `tree` | the two searches |
//! | `screen` | scores in single precision with a bound on their error: the kernel of both |
//! | `candidates` | which rows may still be among the nearest, given such scores |
//! | `distance` | the distance that decides in the end |
//! | `found` | [`Neighbours`]: what a search returns |

mod brute;
mod candidates;
mod choose;
mod distance;
mod found;
mod index;
mod per_class;
mod screen;
mod tree;

pub use found::Neighbours;
pub(crate) use index::check_k;
pub use index::{Algorithm, NeighbourIndex};
pub(crate) use per_class::ClassIndex;
