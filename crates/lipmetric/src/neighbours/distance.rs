//! The one definition of distance that every search in this folder answers by.

/// The squared Euclidean distance: squared differences added from the first column to the last, in `f64`.
///
/// Searches may screen with cheaper estimates, but what they compare and return in the end is this number, so
/// that results do not depend on how they were found. Finite rows never give NaN; sums beyond the range of
/// `f64` are infinite.
#[inline]
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
