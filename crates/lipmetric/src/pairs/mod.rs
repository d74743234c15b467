//! Unordered pairs of rows in tiles: the hot kernels.
//!
//! A [`Cloud`] is a set of weighted, labelled points, sorted by class and cut into blocks; a tile is a block against a
//! block. Distances of a tile come from one matrix product (`rho = g_i + g_j - 2 z_i . z_j`), sums over pairs are a
//! map over tiles followed by a reduction in the tiles' fixed order: nothing of size N^2 is held, and results are
//! bit-identical for any number of threads.

mod cloud;
mod laplacian;
mod softmax;
mod sweep;
mod tiles;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use cloud::Cloud;
pub(crate) use laplacian::{spread, weighted_outer};
pub(crate) use softmax::{Row, Softmax, interleaved};
pub(crate) use sweep::{Run, sweep};
pub(crate) use tiles::{Embedding, Kind, Tile, map_tiles};
