use super::measure::{AT_KINK, of_difference, tiny};
use crate::linalg::twofold::Twofold;
use crate::pairs::{Cloud, Embedding};
use crate::{Matrix, Metric};

/// The rows as they were given under a metric: lengths of pairs are right to rounding.
pub(crate) struct Under {
    /// The given rows of positive weight, sorted by class.
    pub(crate) cloud: Cloud,
    /// The same mapped.
    pub(crate) embedding: Embedding,
    /// Features x components.
    factor: Matrix,
    tiny: f64,
}

impl Under {
    pub(crate) fn new((x, class, weight): (&Matrix, &[u32], &[f64]), metric: &Metric) -> Self {
        let cloud = Cloud::new(x, class, weight);
        let factor = metric.factor().transpose();
        Self { embedding: Embedding::careful(&cloud, &factor), tiny: tiny(&cloud, &factor), factor, cloud }
    }

    /// The squared length of a pair.
    pub(crate) fn length(&self, i: usize, j: usize) -> f64 {
        let plain = self.embedding.squared_distance(i, j);
        if plain > self.tiny {
            return plain;
        }
        of_difference(self.cloud.x.row(i), self.cloud.x.row(j), &self.factor)
    }

    /// The squared lengths of all pairs with a row; zero with itself.
    pub(super) fn lengths_from(&self, i: usize, out: &mut [f64]) {
        self.embedding.distances(out, &(i..i + 1), &(0..self.cloud.len()));
        for (j, length) in out.iter_mut().enumerate().filter(|(_, length)| **length <= self.tiny) {
            *length = of_difference(self.cloud.x.row(i), self.cloud.x.row(j), &self.factor);
        }
    }

    /// `length - rho`, with all digits where that is a small difference.
    pub(crate) fn lacking(&self, length: f64, i: usize, j: usize) -> f64 {
        let plain = length - self.length(i, j);
        if plain.abs() > AT_KINK * length { plain } else { self.embedding.lacking(length, i, j) }
    }

    /// `margin + rho_ij - rho_il`: by how much a comparison is violated.
    pub(crate) fn violation(&self, margin: f64, i: usize, j: usize, l: usize) -> f64 {
        let near = self.length(i, j);
        let plain = margin + near - self.length(i, l);
        if plain.abs() > AT_KINK * (margin + near) {
            return plain;
        }
        (Twofold::from(margin) + self.embedding.exactly(i, j) - self.embedding.exactly(i, l)).value()
    }
}
