//! Certified robustness: how far a row may move before its predicted class can change.
//!
//! Points that are equally near to two rows form a hyperplane, and the distance to a hyperplane is exact, in any norm. So a
//! class that rests on row `i` and is opposed by row `j` holds up to the hyperplane between the two: farther than the triangle
//! inequality tells, and the farther the more the metric stretches some directions.
//!
//! | file | what it does |
//! |---|---|
//! | `ball` | [`Radius`]: which radius is asked for; the ball of a norm, seen from the mapped rows |

mod ball;

pub(crate) use ball::Ball;
pub use ball::{Kind, Norm, Radius, Space};
