//! What searches measure by: the one squared Euclidean distance, and any other distance behind a trait.

use crate::{Error, Matrix, Result};

/// Distances from *queries* to the *points* of a sample.
///
/// [`Distance`] is the case in which the queries are the sample itself.
pub trait Cross: Sync {
    /// Number of queries.
    fn queries(&self) -> usize;

    /// Number of sample points.
    fn points(&self) -> usize;

    /// The distance from query `q` to point `i`.
    fn get(&self, q: usize, i: usize) -> f64;

    /// Coordinates whose Euclidean distances these are, where there are any: with them, whole groups of pairs are
    /// ruled out by bounds and the rest is computed in blocks. The default is none; then every pair is visited.
    fn coordinates(&self) -> Option<Coordinates<'_>> {
        None
    }

    /// How far [`Self::get`] may be from the exact distance by rounding, for a computed distance of `d`. The default
    /// claims that it is exact.
    fn rounding(&self, d: f64) -> f64 {
        let _ = d;
        0.0
    }
}

/// Distances between the points of one finite sample: symmetric, not negative, zero from a point to itself.
///
/// Whether the *triangle inequality* holds as well is said by [`TrueMetric`](crate::lipschitz::distances::TrueMetric), in the type.
pub trait Distance: Cross {
    /// Number of points.
    fn len(&self) -> usize {
        self.points()
    }

    /// Whether there is no point.
    fn is_empty(&self) -> bool {
        self.points() == 0
    }
}

/// Rows whose Euclidean distances (or the squares of them) are the distances in question.
#[derive(Debug, Clone, Copy)]
pub struct Coordinates<'a> {
    /// A row per query.
    pub queries: &'a Matrix,
    /// A row per sample point, of the same length.
    pub points: &'a Matrix,
    /// Whether the distance is the square of the Euclidean one.
    pub squared: bool,
}

/// The squared Euclidean distance: squared differences added from the first column to the last, in `f64`.
///
/// Searches may screen with cheaper estimates, but what they compare and return in the end is this number, so
/// that results do not depend on how they were found. Finite rows never give NaN; sums beyond the range of
/// `f64` are infinite.
#[inline(always)]
pub(crate) fn squared_distance(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).fold(0.0, |sum, (a, b)| {
        let t = a - b;
        sum + t * t
    })
}

/// A factor that covers the rounding of [`squared_distance`] over `columns` columns, with room to spare.
pub(crate) fn rounding_allowance(columns: usize) -> f64 {
    1.0 + 4.0 * (columns as f64 + 4.0) * f64::EPSILON
}

/// A distance that was asked for, checked to be one.
pub(crate) fn measured<C: Cross + ?Sized>(cross: &C, q: usize, i: usize) -> Result<f64> {
    let d = cross.get(q, i);
    if d.is_finite() && d >= 0.0 {
        return Ok(d);
    }
    Err(Error::data(format!("the distance from row {q} to row {i} is {d}; a distance is a finite number, at least 0")))
}

/// The distance that a raw value stands for.
#[inline(always)]
pub(crate) fn from_raw<C: Cross + ?Sized>(cross: &C, raw: f64) -> f64 {
    if rooted(cross) { raw.sqrt() } else { raw }
}

/// Whether distances are the roots of raw values.
pub(crate) fn rooted<C: Cross + ?Sized>(cross: &C) -> bool {
    cross.coordinates().is_some_and(|c| !c.squared)
}

/// Refuses what cannot be measured. `what` is what messages call a row.
pub(crate) fn check_finite(x: &Matrix, what: &str) -> Result<()> {
    match x.first_non_finite() {
        None => Ok(()),
        Some((i, j)) => Err(Error::data(format!(
            "{what} {i}, column {j} is {}: distances need finite numbers (fill or drop missing values first)",
            x[(i, j)]
        ))),
    }
}
