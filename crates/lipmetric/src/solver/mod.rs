//! How a fit is steered and how it ended: shared by every solver.

pub(crate) mod interior;
mod observe;
mod status;

pub use observe::{Budget, Observer, Progress, Silent, Stop};
pub use status::Status;
