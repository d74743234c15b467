//! How a fit is watched and stopped ([`Observer`], [`Budget`]), and how it ended ([`Status`]); the same for every solver.

pub(crate) mod comparisons;
pub(crate) mod interior;
pub(crate) mod lbfgs;
pub(crate) mod listed;
pub(crate) mod multipliers;
mod observe;
mod report;
pub(crate) mod splitting;
mod status;
mod stop;
pub(crate) mod working_set;

pub use observe::{Best, Budget, Halt, Kept, Observer, Progress, Silent};
pub(crate) use observe::{Ceilinged, Fleeting, Timed, Translated, row};
pub(crate) use report::Solution;
pub use status::Status;
pub(crate) use stop::{Stop, Termination};
