//! Numbers from mapped rows: what is predicted where the targets are numbers.
//!
//! | file | what |
//! |---|---|
//! | `means` | [`Means`]: the mean of the nearest rows |
//! | `lipschitz` | [`LipschitzFunction`]: the numbers of the rows, smoothed and extended to everywhere with a chosen constant |
//!
//! The third function is the smooth one of the distances, which serves classes and numbers alike
//! ([`SmoothFunction`](crate::classify::SmoothFunction)).

mod lipschitz;
mod means;

pub use lipschitz::LipschitzFunction;
pub(crate) use lipschitz::SMOOTHED;
pub use means::Means;
