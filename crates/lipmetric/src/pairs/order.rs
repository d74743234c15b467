//! The points of each class in an order in which those of a block are near to each other.

use super::Cloud;
use super::cloud::ends;
use super::pass::Long;
use super::screen::{COORDINATES, SCREENED};
use crate::{Matrix, linalg};

/// Points in a compact order, and which of the points in the usual order each is.
#[derive(Debug, Clone)]
pub(crate) struct Compact {
    pub(crate) cloud: Cloud,
    pub(crate) place: Vec<usize>,
}

impl Compact {
    /// Long pairs in the usual numbers.
    pub(crate) fn placed(&self, far: &mut [Long]) {
        for (_, i, j) in far {
            let (a, b) = (self.place[*i as usize] as u32, self.place[*j as usize] as u32);
            (*i, *j) = (a.min(b), a.max(b));
        }
    }
}

impl Cloud {
    /// The points in a compact order under a map, where there are so many that passes over them are screened.
    pub(crate) fn compacted(&self, map: &Matrix) -> Option<Compact> {
        if self.len() < SCREENED || self.x.is_twofold() || self.x.cols() > COORDINATES {
            return None;
        }
        let place = self.compact_order(map);
        Some(Compact { cloud: self.reordered(&place), place })
    }

    /// The points of each class, block by block, in an order in which the points of a block are near to each other under this map
    /// (coordinates x components): halved again and again across the component in which they are most spread.
    fn compact_order(&self, map: &Matrix) -> Vec<usize> {
        let z = linalg::product(&self.x, map);
        let mut order: Vec<usize> = (0..self.len()).collect();
        for class in self.classes() {
            halve(&z, &mut order[class.clone()], &ends(&class));
        }
        order
    }

    /// The points in an order that keeps the classes together; all else is the same.
    fn reordered(&self, order: &[usize]) -> Self {
        let weight: Vec<f64> = order.iter().map(|&i| self.weight[i]).collect();
        let source = self.source_of_part(order, &weight, self.uniform);
        Self { uniform: self.uniform, source, ..self.part(order, weight) }
    }
}

/// Divides points at one of the ends of blocks, and each half again.
fn halve(z: &Matrix, points: &mut [usize], ends: &[usize]) {
    if ends.len() <= 2 || z.cols() == 0 {
        return points.sort_unstable();
    }
    let middle = ends.len() / 2;
    let at = ends[middle] - ends[0];
    let along = widest(z, points);
    points.select_nth_unstable_by(at, |&a, &b| z[(a, along)].total_cmp(&z[(b, along)]).then(a.cmp(&b)));
    let (first, second) = points.split_at_mut(at);
    halve(z, first, &ends[..=middle]);
    halve(z, second, &ends[middle..]);
}

/// The component in which points are most spread.
fn widest(z: &Matrix, points: &[usize]) -> usize {
    let count = points.len() as f64;
    let (mut mean, mut spread) = (vec![0.0; z.cols()], vec![0.0; z.cols()]);
    for &i in points {
        mean.iter_mut().zip(z.row(i)).for_each(|(m, v)| *m += v / count);
    }
    for &i in points {
        spread.iter_mut().zip(z.row(i)).zip(&mean).for_each(|((s, v), m)| *s += (v - m) * (v - m));
    }
    (0..z.cols()).max_by(|&a, &b| spread[a].total_cmp(&spread[b]).then(b.cmp(&a))).unwrap_or(0)
}
