//! Certified robustness: how far a row may move before its predicted class can change.
//!
//! Points that are equally near to two rows form a hyperplane, and the distance to a hyperplane is exact, in any norm. So a
//! class that rests on row `i` and is opposed by row `j` holds up to the hyperplane between the two: farther than the triangle
//! inequality tells, and the farther the more the metric stretches some directions.
//!
//! | file | what it does |
//! |---|---|
//! | `ball` | [`Radius`]: which radius is asked for; the ball of a norm, seen from the mapped rows |
//! | `sites` | the training rows with their gradients, a query among them, and what rounding may do |
//! | `search` | of all opposing rows, those whose hyperplanes can matter |
//! | `vote` | the radius of a majority vote |
//! | `power` | that of a Lipschitz extension: which rows support a class, and with what weight |
//! | `exact` | the nearest point of another class itself |
//! | `program` | the quadratic program behind it, in `l2` |
//! | `linear` | the linear programs behind it, in `linf` and `l1` |

mod ball;
mod exact;
mod linear;
mod power;
mod program;
mod search;
mod sites;
mod vote;

pub(crate) use ball::Ball;
pub use ball::{Kind, Norm, Radius, Space};
pub(crate) use exact::{crossing, step_across};
pub(crate) use power::{Sides, nearest_hyperplane};
pub(crate) use search::Supporting;
pub(crate) use sites::{Sites, View};
pub(crate) use vote::vote_radius;
