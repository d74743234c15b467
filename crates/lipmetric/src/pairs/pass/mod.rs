//! Questions that more than one solver asks of all pairs, a file each.
//!
//! | file | what it finds |
//! |---|---|
//! | `hinge` | the objective's parts: the sum of the hinges, the longest pair that bounds the diameter |
//! | `far` | the longest pairs: of each point, or all; those beyond a length |
//! | `rounded` | hinges rounded over a width, their multipliers, the pairs within the width |
//! | `window` | a window around the kink that holds about so many pairs |
//! | `spread` | the weighted scatter of the pairs that a rule takes |

mod far;
mod hinge;
mod rounded;
mod spread;
mod window;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use far::{
    Beyond, Far, Long, Longer, Query, Shorter, keep_longest, longer, longest, same_length, shorter, shortest, some_long,
};
pub(crate) use hinge::{Hinges, hinge, objective};
pub(crate) use rounded::{Rounded, RoundedHinges, is_listed, rounded};
pub(crate) use spread::spread;
pub(crate) use window::{Around, window, window_of_sample};

use super::Kind;
use serde::{Deserialize, Serialize};

/// Which pairs are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Among {
    /// All.
    All,
    /// Those of equal label.
    Same,
}

impl Among {
    /// Whether a pair, of equal label or not, is one of them.
    pub(crate) fn holds(self, same: bool) -> bool {
        self == Self::All || same
    }

    /// Whether a tile may hold one of them.
    pub(crate) fn may_hold(self, kind: Kind) -> bool {
        self == Self::All || kind != Kind::Different
    }
}
