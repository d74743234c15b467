//! Bounds on the lengths of whole tiles, so that those which hold nothing of interest need not be computed.
//!
//! Each block of points has a box and a ball around its mapped points. Two blocks are at least as far apart as these are, and no
//! farther than their far ends. A symmetric matrix that is not positive has coordinates that take from a squared length: their
//! part is bounded the other way round. What rounding may do to a length, as the passes compute it, is taken off.

use super::Cloud;
use crate::Matrix;

/// Clouds of fewer points are not screened: passes over their pairs take next to no time.
pub(super) const SCREENED: usize = 2_000;
/// Nor are points of more coordinates: all of their blocks overlap.
pub(super) const COORDINATES: usize = 64;
/// What rounding may change of a length, in units of the machine's precision times the longest one times the coordinates: see
/// [`Embedding::about_centre`](super::Embedding::about_centre), which has 12 at most for both of what is compared.
pub(super) const ROUNDING: f64 = 64.0;

/// What the lengths of some pairs are surely between.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) least: f64,
    pub(crate) most: f64,
}

/// Where the mapped points of each block lie.
#[derive(Debug)]
pub(crate) struct Screen {
    /// The mapped points; the first `positive` coordinates add to a squared length, the others take from it.
    z: Matrix,
    positive: usize,
    /// Boxes, a block each row.
    low: Matrix,
    high: Matrix,
    /// The means of the blocks, and how far the points are from them at most, in the coordinates that add.
    centre: Matrix,
    radius: Vec<f64>,
    off: f64,
}

impl Screen {
    /// For points that are mapped so, whose lengths may be off by `off`; nothing where that is not known.
    pub(super) fn new(cloud: &Cloud, z: Matrix, positive: usize, off: f64) -> Option<Self> {
        // Also takes in what is not a number.
        if off.is_nan() || off >= 1.0 || z.first_non_finite().is_some() {
            return None;
        }
        let (blocks, k) = (cloud.blocks.len(), z.cols());
        let (mut low, mut high) = (Matrix::zeros(blocks, k), Matrix::zeros(blocks, k));
        let (mut centre, mut radius) = (Matrix::zeros(blocks, k), vec![0.0f64; blocks]);
        for (b, (range, _)) in cloud.blocks.iter().enumerate() {
            low.row_mut(b).copy_from_slice(z.row(range.start));
            high.row_mut(b).copy_from_slice(z.row(range.start));
            for i in range.clone() {
                low.row_mut(b).iter_mut().zip(z.row(i)).for_each(|(l, v)| *l = l.min(*v));
                high.row_mut(b).iter_mut().zip(z.row(i)).for_each(|(h, v)| *h = h.max(*v));
                let part = 1.0 / range.len() as f64;
                centre.row_mut(b).iter_mut().zip(z.row(i)).for_each(|(c, v)| *c += part * v);
            }
            let farthest = range.clone().map(|i| apart(&z.row(i)[..positive], &centre.row(b)[..positive]));
            radius[b] = farthest.fold(0.0, f64::max).sqrt();
        }
        Some(Self { z, positive, low, high, centre, radius, off })
    }

    /// Bounds on the lengths between two blocks.
    pub(super) fn of_blocks(&self, a: usize, b: usize) -> Bounds {
        let far = apart(&self.centre.row(a)[..self.positive], &self.centre.row(b)[..self.positive]).sqrt();
        self.bounds((self.low.row(a), self.high.row(a)), b, (far, self.radius[a] + self.radius[b]))
    }

    /// Bounds on the lengths between a point and the points of a block.
    pub(super) fn of_point(&self, i: usize, b: usize) -> Bounds {
        let z = self.z.row(i);
        let far = apart(&z[..self.positive], &self.centre.row(b)[..self.positive]).sqrt();
        self.bounds((z, z), b, (far, self.radius[b]))
    }

    /// From boxes, and from balls with centres so far apart and radii of this sum.
    fn bounds(&self, (low, high): (&[f64], &[f64]), b: usize, (far, radii): (f64, f64)) -> Bounds {
        let others = self.low.row(b).iter().zip(self.high.row(b));
        let (mut near, mut across) = ([0.0; 2], [0.0; 2]);
        for (k, ((l, h), (from, to))) in low.iter().zip(high).zip(others).enumerate() {
            let gap = (from - h).max(l - to).max(0.0);
            let span = (to - l).max(h - from);
            let side = usize::from(k >= self.positive);
            near[side] += gap * gap;
            across[side] += span * span;
        }
        let least = near[0].max((far - radii).max(0.0).powi(2));
        let most = across[0].min((far + radii).powi(2));
        Bounds { least: least - across[1] - self.off, most: most - near[1] + self.off }
    }
}

fn apart(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

#[cfg(test)]
mod tests;
