//! Which radius is asked for: the norm, where it is measured, and how closely.

use crate::error::names;
use crate::{Error, Matrix, Metric, Result, linalg};
use serde::{Deserialize, Serialize};

/// How the length of a change of a row is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Norm {
    /// The root of the sum of the squared changes.
    #[default]
    L2,
    /// The largest change of any feature.
    Linf,
    /// The sum of the changes.
    L1,
}

/// Where a radius is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Space {
    /// In the learned distance itself, whose norm is always `l2`.
    #[default]
    Learned,
    /// On the prepared features: filled, scaled, categories as columns of 0 and 1. All of them may change.
    Prepared,
    /// In the units of the input's numeric columns. Categories and yes/no columns stay as they are; a missing value counts as
    /// the one that it was filled with.
    Input,
}

/// How closely a radius is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// A certified lower bound: no smaller change has an effect.
    #[default]
    Bound,
    /// The distance to the nearest point of another class, from below and up to rounding.
    Exact,
}

names!(Norm, "radius_norm", "l2" => Norm::L2, "linf" => Norm::Linf, "l1" => Norm::L1);
names!(Space, "radius_space", "learned" => Space::Learned, "prepared" => Space::Prepared, "input" => Space::Input);
names!(Kind, "radius", "bound" => Kind::Bound, "exact" => Kind::Exact);

/// Which radius is asked for.
///
/// ```
/// use lipmetric::robust::{Kind, Norm, Radius, Space};
/// let asked = Radius::new(Norm::Linf, Space::Input); // no column by more than ...
/// assert_eq!(asked.kind, Kind::Bound);
/// assert_eq!("linf".parse::<Norm>()?, asked.norm);
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Radius {
    /// The norm.
    pub norm: Norm,
    /// Where it is measured.
    pub space: Space,
    /// How closely.
    pub kind: Kind,
}

impl Radius {
    /// A certified bound in this norm, measured there. In the learned distance the norm is `l2` whatever is given.
    #[must_use]
    pub fn new(norm: Norm, space: Space) -> Self {
        let norm = if space == Space::Learned { Norm::L2 } else { norm };
        Self { norm, space, kind: Kind::Bound }
    }

    /// The same, as closely as this.
    #[must_use]
    pub fn kind(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }
}

impl Norm {
    /// The length of a gradient by the dual norm: how much the largest step of length 1 changes a linear function.
    #[inline(always)]
    pub(crate) fn dual(self, gradient: impl Iterator<Item = f64>) -> f64 {
        match self {
            Self::L2 => gradient.fold(0.0, |sum, g| sum + g * g).sqrt(),
            Self::Linf => gradient.fold(0.0, |sum, g| sum + g.abs()),
            Self::L1 => gradient.fold(0.0, |most, g| g.abs().max(most)),
        }
    }
}

impl Norm {
    /// The length of a step.
    pub(crate) fn length(self, step: &[f64]) -> f64 {
        match self {
            Self::L2 => Self::L2.dual(step.iter().copied()),
            Self::Linf => Self::L1.dual(step.iter().copied()),
            Self::L1 => Self::Linf.dual(step.iter().copied()),
        }
    }

    /// The dual length of a difference.
    #[inline(always)]
    pub(super) fn distance(self, a: &[f64], b: &[f64]) -> f64 {
        match self {
            Self::L2 => lanes(a, b, |sum, d| sum + d * d, |x, y| x + y).sqrt(),
            Self::Linf => lanes(a, b, |sum, d| sum + d.abs(), |x, y| x + y),
            Self::L1 => lanes(a, b, |most, d| d.abs().max(most), f64::max),
        }
    }
}

/// Differences folded in four lanes, which a vector unit takes at once.
#[inline(always)]
fn lanes(a: &[f64], b: &[f64], fold: impl Fn(f64, f64) -> f64, join: impl Fn(f64, f64) -> f64) -> f64 {
    let (a, a_rest) = a.as_chunks::<4>();
    let (b, b_rest) = b.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (x, y) in a.iter().zip(b) {
        for l in 0..4 {
            sums[l] = fold(sums[l], x[l] - y[l]);
        }
    }
    for (l, (x, y)) in a_rest.iter().zip(b_rest).enumerate() {
        sums[l] = fold(sums[l], x - y);
    }
    join(join(sums[0], sums[1]), join(sums[2], sums[3]))
}

/// The steps `v` of length 1 at most, as they move a mapped row: `z + B v`.
///
/// `B` is `L` times a diagonal matrix that says how far each prepared feature moves with its own step, without the columns of
/// features that cannot move; none where the mapped row itself moves.
#[derive(Debug, Clone)]
pub(crate) struct Ball {
    norm: Norm,
    /// `B^T`, a row per feature that can move.
    transposed: Option<Matrix>,
    /// The prepared features that can move, and how far each moves per step.
    moving: Vec<(usize, f64)>,
    /// A learned distance of 1 is at least this long a step.
    factor: f64,
}

impl Ball {
    /// The ball of the learned distance.
    pub(crate) fn learned() -> Self {
        Self { norm: Norm::L2, transposed: None, moving: Vec::new(), factor: 1.0 }
    }

    /// The ball of a norm where feature `k` moves by `moves[k]` per step: not at all at 0.
    ///
    /// # Errors
    /// If no feature can move, or the largest singular value cannot be computed.
    pub(crate) fn new(metric: &Metric, norm: Norm, moves: &[f64]) -> Result<Self> {
        let moving: Vec<(usize, f64)> = moves.iter().copied().enumerate().filter(|(_, m)| *m != 0.0).collect();
        if moving.is_empty() {
            return Err(Error::parameter(
                "radius_space",
                "no column of the model is a number that can move a little: categories and yes/no columns change at once; \
                 ask for `radius_space = prepared`",
            ));
        }
        let factor = metric.factor();
        let mut transposed = Matrix::zeros(moving.len(), metric.rank());
        for (r, &(k, per_step)) in moving.iter().enumerate() {
            for (c, v) in transposed.row_mut(r).iter_mut().enumerate() {
                *v = factor[(c, k)] * per_step;
            }
        }
        let factor = 1.0 / operator_norm_above(&transposed, norm)?;
        Ok(Self { norm, transposed: Some(transposed), moving, factor })
    }

    pub(crate) fn norm(&self) -> Norm {
        self.norm
    }

    /// `B^T`, a row per feature that can move; none where the mapped row itself moves.
    pub(super) fn gradient_map(&self) -> Option<&Matrix> {
        self.transposed.as_ref()
    }

    /// The dual length of `B^T z` for a `z` of this length, at most.
    pub(super) fn gradient_of(&self, length: f64) -> f64 {
        length / self.factor
    }

    /// How a step moves the mapped row.
    pub(super) fn moved(&self, step: &[f64]) -> Vec<f64> {
        let Some(transposed) = &self.transposed else { return step.to_vec() };
        let mut by = vec![0.0; transposed.cols()];
        for (k, v) in step.iter().enumerate() {
            by.iter_mut().zip(transposed.row(k)).for_each(|(b, t)| *b += v * t);
        }
        by
    }

    /// A prepared row after a step; none where steps are of the mapped row.
    pub(crate) fn stepped(&self, row: &[f64], step: &[f64]) -> Option<Vec<f64>> {
        self.transposed.as_ref()?;
        let mut row = row.to_vec();
        self.moving.iter().zip(step).for_each(|(&(k, per_step), v)| row[k] += per_step * v);
        Some(row)
    }

    /// The length of the step from one prepared row to another.
    pub(crate) fn step_between(&self, from: &[f64], to: &[f64]) -> f64 {
        let step: Vec<f64> = self.moving.iter().map(|&(k, per_step)| (to[k] - from[k]) / per_step).collect();
        self.norm.length(&step)
    }

    /// How far a step of this length moves the mapped row, at most.
    pub(crate) fn to_learned(&self, length: f64) -> f64 {
        if length == 0.0 { 0.0 } else { length / self.factor }
    }

    /// What a radius in the learned distance is worth in this ball: a step that is shorter moves the mapped row by less. It is
    /// how a classifier that knows a radius in the learned distance alone has one in every norm.
    pub(crate) fn of_learned(&self, radius: f64) -> f64 {
        if radius == 0.0 { 0.0 } else { radius * self.factor }
    }
}

/// A bound of `|B v|_2` over the steps of length 1 at most, from `B^T`.
fn operator_norm_above(transposed: &Matrix, norm: Norm) -> Result<f64> {
    let columns = (0..transposed.rows()).map(|k| Norm::L2.dual(transposed.row(k).iter().copied()));
    let above = 1.0 + 8.0 * (transposed.rows() + transposed.cols() + 4) as f64 * f64::EPSILON;
    let spectral = || Ok(linalg::spectral_norm_above(transposed)? * above);
    Ok(match norm {
        Norm::L2 => spectral()?,
        // The ends of the ball are steps of one feature.
        Norm::L1 => columns.fold(0.0, f64::max) * above,
        Norm::Linf => (columns.sum::<f64>() * above).min(spectral()? * (transposed.rows() as f64).sqrt() * above),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_learned_radius_is_worth_what_the_strongest_step_allows() {
        let metric = Metric::new(Matrix::from_rows(&[[3.0, 0.0, 0.0], [0.0, 4.0, 1.0]])).unwrap();
        let worth = |norm, moves: &[f64]| Ball::new(&metric, norm, moves).unwrap().of_learned(2.0);
        let near = |a: f64, b: f64| a <= b && a > b * (1.0 - 1e-9);
        assert!(near(worth(Norm::L1, &[1.0, 1.0, 1.0]), 2.0 / 4.0));
        assert!(near(worth(Norm::L2, &[1.0, 1.0, 0.0]), 2.0 / 4.0));
        assert!(near(worth(Norm::L2, &[1.0, 0.5, 0.0]), 2.0 / 3.0));
        // Steps of (1, 1, 1) stretch by the root of 34, and the bounds are 8 and the root of 3 times 17.
        assert!(near(worth(Norm::Linf, &[1.0, 1.0, 1.0]), 2.0 / 51.0_f64.sqrt()));
        assert_eq!(Ball::learned().of_learned(2.0), 2.0);
        assert!(Ball::new(&metric, Norm::L2, &[0.0; 3]).is_err());
    }
}
