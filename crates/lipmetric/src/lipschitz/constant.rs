//! The Lipschitz constant of labels, or of any function, on the sample.

use super::check_values;
use super::pair::{Groups, margin};
use crate::neighbours::{Best, Distance, Floor, Index, Score, measured, rooted};
use crate::{Labels, Result};
use serde::Serialize;

/// A Lipschitz constant on a sample, with the pair of rows that attains it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LipschitzConstant {
    /// `sup |u_i - u_j| / rho(x_i, x_j)`. Infinite if two rows coincide but their values differ; then `i` and `j`
    /// are such rows. Zero if all values are equal.
    pub constant: f64,
    /// The smaller row number of the pair.
    pub i: usize,
    /// The larger row number of the pair.
    pub j: usize,
    /// The distance of the pair.
    pub distance: f64,
}

impl LipschitzConstant {
    /// Whether two rows coincide although their values differ: no Lipschitz function takes these values.
    #[must_use]
    pub fn is_infinite(&self) -> bool {
        self.constant.is_infinite()
    }
}

/// The Lipschitz constant of the labels, `L_0 = sup |t_i - t_j| / rho(x_i, x_j)` with `t = +1, -1`: it is
/// `2 / L-Margin`. With more than two classes it is the largest of the one-versus-rest constants, which is the same.
///
/// ```
/// use lipmetric::{Labels, Matrix, lipschitz::{Mahalanobis, lipschitz_constant}};
/// let x = Matrix::from_rows(&[[0.0], [4.0], [4.0]]);
/// let l0 = |y: [&str; 3]| lipschitz_constant(&Mahalanobis::euclidean(&x).unwrap(), &Labels::from_names(y)).unwrap();
/// assert_eq!(l0(["a", "b", "b"]).constant, 0.5);
/// let duplicate = l0(["a", "a", "b"]);
/// assert!(duplicate.is_infinite());
/// assert_eq!((duplicate.i, duplicate.j), (1, 2));
/// ```
///
/// # Errors
/// As [`margin`].
pub fn lipschitz_constant<D: Distance + ?Sized>(distance: &D, labels: &Labels) -> Result<LipschitzConstant> {
    let pair = margin(distance, labels)?;
    Ok(LipschitzConstant { constant: 2.0 / pair.distance, i: pair.i, j: pair.j, distance: pair.distance })
}

/// The Lipschitz constant of any function on the sample, given by its values.
///
/// Of pairs that attain it, the one with the smallest row numbers is named.
///
/// ```
/// use lipmetric::{Matrix, lipschitz::{Mahalanobis, lipschitz_constant_of}};
/// let x = Matrix::from_rows(&[[0.0], [1.0], [3.0]]);
/// let steepest = lipschitz_constant_of(&Mahalanobis::euclidean(&x).unwrap(), &[0.0, 0.5, 3.5]).unwrap();
/// assert_eq!((steepest.i, steepest.j, steepest.constant), (1, 2, 1.5));
/// ```
///
/// # Errors
/// If there are fewer than two rows, a value per row is missing or not finite, or a distance is not a finite number of
/// at least 0.
pub fn lipschitz_constant_of<D: Distance + ?Sized>(distance: &D, values: &[f64]) -> Result<LipschitzConstant> {
    check_values(distance, values)?;
    let n = distance.len();
    if n < 2 {
        return Err(crate::Error::data(format!("a Lipschitz constant needs two rows at least, and there are {n}")));
    }
    let ids: Vec<usize> = (0..n).collect();
    let index = Index::new(distance, ids.clone(), values.to_vec());
    let floor = Floor::new(0.0);
    let top = steepest(distance, &ids, values, &index, &floor)?.unwrap_or(Slope { slope: 0.0, i: 0, j: 1 });
    top.constant(distance)
}

/// The constant of the one-versus-rest functions that are `margins[i]` at row `i` for its own class and `-margins[i]`
/// for every other one, at its largest over the classes.
pub(crate) fn constant_of_margins<D: Distance + ?Sized>(
    distance: &D,
    groups: &Groups,
    margins: &[f64],
) -> Result<LipschitzConstant> {
    let indices: Vec<Index> = (groups.rows.iter())
        .map(|rows| Index::new(distance, rows.clone(), rows.iter().map(|&i| margins[i]).collect()))
        .collect();
    let negated: Vec<f64> = margins.iter().map(|m| -m).collect();
    let floor = Floor::new(0.0);
    let mut top = Slope { slope: 0.0, i: 0, j: 1 };
    for (a, rows) in groups.rows.iter().enumerate() {
        for (b, index) in indices.iter().enumerate().take(a + 1) {
            if a != b {
                top = top.max(steepest(distance, rows, &negated, index, &floor)?);
            }
            // Two rows of the same class, or both among the rest of a third class, have the same sign.
            if a == b || groups.rows.len() > 2 {
                top = top.max(steepest(distance, rows, margins, index, &floor)?);
            }
        }
    }
    top.constant(distance)
}

/// A slope with the pair of rows that has it; the larger one wins, then the smaller row numbers.
#[derive(Debug, Clone, Copy)]
struct Slope {
    slope: f64,
    i: usize,
    j: usize,
}

impl Slope {
    fn max(self, other: Option<Self>) -> Self {
        match other {
            Some(o) if o.slope > self.slope || (o.slope == self.slope && (o.i, o.j) < (self.i, self.j)) => o,
            _ => self,
        }
    }

    fn constant<D: Distance + ?Sized>(self, distance: &D) -> Result<LipschitzConstant> {
        let Self { slope, i, j } = self;
        Ok(LipschitzConstant { constant: slope, i, j, distance: measured(distance, i, j)? })
    }
}

/// The steepest pair of a query (with its value in `values`) and another point of the index, unless the floor shows
/// that another is steeper.
fn steepest<D: Distance + ?Sized>(
    distance: &D,
    queries: &[usize],
    values: &[f64],
    index: &Index,
    floor: &Floor,
) -> Result<Option<Slope>> {
    let score = Steepest { values, rooted: rooted(distance) };
    let mut best = vec![Best::NONE; queries.len()];
    index.search(distance, queries, true, &score, &mut best, Some(floor))?;
    let found = queries.iter().zip(best).filter_map(|(&q, best)| Some((q, best.found()?)));
    let slopes = found.map(|(q, best)| Slope { slope: best.score, i: q.min(best.at), j: q.max(best.at) });
    Ok(slopes.reduce(|a, b| a.max(Some(b))))
}

/// The largest slope wins.
struct Steepest<'a> {
    values: &'a [f64],
    rooted: bool,
}

impl Score for Steepest<'_> {
    #[inline(always)]
    fn bound(&self, q: usize, lo: f64, hi: f64, raw: f64) -> f64 {
        let rise = (self.values[q] - lo).abs().max((hi - self.values[q]).abs());
        let run = if self.rooted { raw.sqrt() } else { raw };
        if rise == 0.0 { 0.0 } else { rise / run }
    }
}
