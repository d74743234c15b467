//! Passes over all pairs of rows: the hot kernels.
//!
//! Nearly everything that a solver wants to know of N rows is a question to their N (N - 1) / 2 unordered pairs: the sum of
//! the hinges, the longest pair, the pairs near a kink, a weighted sum of outer products. None of the answers is large, and
//! nothing of size N^2 is ever held. So all of them are asked in one way: [`scan`] takes the pairs past a [`Pass`].
//!
//! **What is reduced.** A pass sees pairs in runs ([`Run`]): one row against consecutive others, all of the same label or all
//! of another, with their squared distances under one metric or two. It adds what it finds to a *part*, and it may give each
//! pair a weight; the scan then returns `sum of w_ij (x_i - x_j)(x_i - x_j)^T` as well.
//!
//! **Why in tiles.** The points of a [`Cloud`] are sorted by class and cut into blocks of at most 128. The distances between
//! two blocks, a tile, come from one matrix product (`rho = g_i + g_j - 2 z_i . z_j`, see [`Embedding`]), which is many times
//! faster than pair by pair, and a tile of distances stays in the cache while the pass looks at it. Classes of a few points
//! share a block; their tiles are mixed, and cut into runs by label. A pass says which tiles it wants at all
//! ([`Pass::wanted`]).
//!
//! **What is left out.** At a small trade-off only near pairs push, and only far pairs bound the diameter. A pass may say of a
//! tile, from bounds on its lengths, that none of its pairs would change what it returns ([`Pass::skips`]); such a tile is not
//! computed, nor are such rows of a tile. Bounds come from boxes and balls around the mapped points of each block ([`screen`]),
//! with what rounding may do taken off, so that the answer is that of all pairs. They are tight where blocks are compact:
//! solvers put many points in such an order under the metric ([`Cloud::compacted`]). The cloud counts what was looked at.
//!
//! **Why in a fixed order.** Floating-point sums depend on their order. The unit of work is a *row of tiles*, a block against
//! itself and all later ones. What a row of tiles gives does not depend on who computes it or when; the parts are merged in
//! the order of the rows. Results are therefore the same to the last bit for any number of threads.
//!
//! **What a part is.** Plain data that serde can write: sums, counts, short lists. It holds no closure, no reference, no lock.
//! Its default is the part of no pairs.
//!
//! **Who computes.** An [`Executor`] is given the number of parts and a function from such a number to its part, and hands the
//! parts over in order. [`Threads`] is the one for this process: the parts of a bounded number of tasks at a time are held. Other
//! processes are reached by [`Helpers`]. They hold the same rows, and a pass goes to them as a [`Question`], plain data, with the
//! metric's factor (features x rank); [`ask`] puts it to whoever the cloud has. Their parts are the same bytes as those of the threads
//! here, and are merged in the same order. What they leave undone is done here. See `remote`.
//!
//! A new question is a new pass: a struct with what it needs to know, a part, `visit` and `merge`; with `impl Question` it travels. Questions of several
//! solvers are in [`pass`]; one that speaks of a solver's own types stands beside that solver. [`Softmax`] is the exception: a
//! row's chances need all of the row's distances at once, so that it goes through whole rows; its tasks run on the same
//! executors.
//!
//! | file | what it holds |
//! |---|---|
//! | `cloud` | the points, their classes and blocks |
//! | `points` | coordinates, with twice the digits where differences need them |
//! | `embedding` | points under a metric, ready for products |
//! | `scan` | the pass over all pairs |
//! | `screen` | bounds on the lengths of whole tiles |
//! | `order` | points in an order in which those of a block are near to each other |
//! | `executor` | who computes the parts |
//! | `remote` | questions that other processes are asked, and how they make the same cloud of the same rows |
//! | `pass/` | questions that several solvers ask |
//! | `outer` | sums of outer products over listed pairs |
//! | `softmax` | the chance of each row to pick each other as its neighbour |

mod cloud;
mod embedding;
mod executor;
mod order;
mod outer;
pub(crate) mod pass;
mod points;
mod remote;
mod scan;
mod screen;
mod softmax;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use cloud::Cloud;
pub(crate) use embedding::{Embedding, Mapped};
pub(crate) use executor::{Executor, Threads};
pub(crate) use order::Compact;
pub(crate) use outer::weighted_outer;
pub(crate) use points::{Differences, Points};
pub(crate) use remote::{Affine, Question, Source, ask, embedded, reply};
pub use remote::{Errand, Helpers};
pub(crate) use scan::{Kind, Pass, Run, Stretch, scan};
pub(crate) use softmax::{Row, Softmax, interleaved};
