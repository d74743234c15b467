//! How a fit is steered and how it ended: shared by every solver.

pub(crate) mod admm;
pub(crate) mod augmented;
pub(crate) mod hinge;
pub(crate) mod interior;
pub(crate) mod lbfgs;
pub(crate) mod local;
mod observe;
pub(crate) mod reduced;
mod status;

pub use observe::{Budget, Observer, Progress, Silent, Stop};
pub use status::Status;
