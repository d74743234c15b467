//! How a fit is steered and how it ended: shared by every solver.

pub(crate) mod comparisons;
pub(crate) mod interior;
pub(crate) mod lbfgs;
pub(crate) mod listed;
pub(crate) mod multipliers;
mod observe;
pub(crate) mod splitting;
mod status;
pub(crate) mod working_set;

pub(crate) use observe::Timed;
pub use observe::{Budget, Halt, Observer, Progress, Silent};
pub use status::Status;
