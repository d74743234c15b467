//! Exact search for rows: the nearest, the farthest, those within a distance, those of the highest score.
//!
//! Every search answers by one distance, squared differences added in `f64` from the first
//! column to the last, and breaks ties by the lower row number. What is cheaper (single precision, boxes, balls, inner
//! products) only decides what need not be looked at, with a bound on its own error. So the answers are the same bits for
//! any structure, any number of threads and any division of the queries.
//!
//! A file per question:
//!
//! | question | file | searched by |
//! |---|---|---|
//! | which `k` rows are nearest? | `nearest`: [`NeighbourIndex`] | brute force or a tree of balls, whichever is faster |
//! | which row of each class is nearest? | `per_class` | the same, an index per class |
//! | which row has the least squared distance plus an offset of its own? | `offset` | the same, in one more column |
//! | which row has the highest score? (a score falls with the distance and may depend on a value per row) | `best` | boxes, tiles of inner products, or pair by pair |
//! | which `k` sparse rows are nearest? | `sparse` | every row, where one of the two is not zero |
//! | which two rows are farthest apart? | `farthest` | boxes or tiles |
//! | which pairs of different classes are within a distance? | `within` | boxes or pair by pair |
//!
//! Two trees, because they are good at different things:
//!
//! - `balls`: shallow, 64 children to a node, and all of them scored at once in single precision (`screen`). A query for
//!   `k` neighbours keeps a set of candidates with intervals (`candidates`), and measures few rows. It is the faster one
//!   for votes, in any number of columns where a tree helps at all; `choose` decides against brute force (`brute`).
//! - `boxes`: a k-d tree in double precision whose bounds are exact in floating point, and whose nodes carry the range of
//!   a value. It can bound *any* score that falls with the distance (`u - L rho`, a slope), and distances from above, which
//!   balls with their rounding margins cannot do as tightly. Up to 16 columns; beyond, tiles of inner products screen.
//!
//! `graph` answers no question: it is what the approximate indexes of other programs search in, for files of theirs.
//!
//! `distance` has the distance itself and [`Cross`], by which `best`, `farthest` and `within` also take distances that have
//! no coordinates. `found` is what searches return.

mod balls;
mod best;
mod boxes;
mod brute;
mod candidates;
mod choose;
mod distance;
mod farthest;
mod found;
mod graph;
mod nearest;
mod offset;
mod per_class;
mod screen;
mod sparse;
mod within;

pub(crate) use best::{Best, Floor, Index, Nearest, Score};
pub use distance::{Coordinates, Cross, Distance};
pub(crate) use distance::{check_finite, from_raw, measured, rooted, squared_distance};
pub(crate) use farthest::farthest;
pub use found::{Neighbours, Pair};
pub use graph::Graph;
pub(crate) use nearest::check_k;
pub use nearest::{Algorithm, NeighbourIndex};
pub(crate) use offset::{Least, OffsetIndex, lifted};
pub(crate) use per_class::ClassIndex;
pub(crate) use sparse::{nearest_other_sparse, nearest_sparse};
pub(crate) use within::{Close, close_pairs};
