#![doc = include_str!("../README.md")]
//!
//! | file | what it does |
//! |---|---|
//! | `params` | what learns, unchecked and checked, and `Fit` |
//! | `learned` | what was learned: `Predict`, `Transformer`, probabilities, certified radii |
//! | `distance` | the learned distance for the indices of linfa-nn |
//! | `error` | what can go wrong |

mod distance;
mod error;
mod learned;
mod params;

pub use distance::LearnedDistance;
pub use error::{Error, Result};
pub use learned::Learned;
pub use params::{MetricLearner, MetricLearnerParams};

// What a user needs beside linfa.
pub use lipmetric;
