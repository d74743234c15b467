//! What is true of a metric, and of multipliers, on the rows as they were given.

use super::impostors::within;
use super::{Lists, Loss, Multiplied, Penalty, Problem};
use crate::pairs::Cloud;
use crate::problem::{Listed, SUMMED, Under, Weighed};
use crate::{Matrix, Metric, Result, linalg};

/// How much farther than its reach an anchor looks for rows: lengths are rounded.
const FARTHER: f64 = 1e-9;

impl Problem<'_> {
    /// The objective of a metric on the given rows, which come in the order of the problem's points. `pull` are the pairs of a
    /// linear penalty.
    pub(crate) fn measured(&self, lists: &Lists, rows: &Under, metric: &Metric, pull: &[Weighed]) -> f64 {
        let penalty = match &self.penalty {
            Penalty::Linear(_) => pull.iter().map(|&(i, j, w)| w * rows.length(i as usize, j as usize)).sum(),
            Penalty::Squared => {
                let gram = linalg::product_transposed(metric.factor(), metric.factor());
                linalg::inner(&gram, &gram)
            }
        };
        let near =
            |point: usize, targets: &[u32]| targets.iter().map(|&j| rows.length(point, j as usize)).fold(0.0, f64::max);
        let reach = |a: &super::Anchor| ((1.0 + near(a.point, &a.targets)) * (1.0 + FARTHER)).sqrt();
        let found = (!lists.are_complete()).then(|| {
            let radius: Vec<f64> = self.anchors.iter().map(reach).collect();
            within(self, (&rows.cloud, &rows.embedding), &radius)
        });
        let mut loss = 0.0;
        for (k, a) in self.anchors.iter().enumerate() {
            let others = found.as_ref().map_or(lists.of(k).0, |f| &f[k]);
            let mut worst = 0.0f64;
            for (&l, &j) in others.iter().flat_map(|l| a.targets.iter().map(move |j| (l, j))) {
                let t = rows.violation(1.0, a.point, j as usize, l as usize);
                match self.loss {
                    Loss::Each => loss += a.cost * rows.cloud.weight[l as usize] * t.max(0.0),
                    Loss::Worst => worst = worst.max(t),
                }
            }
            loss += a.cost * worst;
        }
        penalty + loss
    }

    /// The lower bound of the objective that multipliers prove on the given rows: over all metrics that see them through the basis
    /// (for the squared penalty, whose basis has orthonormal rows, over all metrics). Zero where they prove nothing.
    pub(crate) fn proved(
        &self,
        multiplied: &Multiplied,
        (cloud, basis): (&Cloud, &Matrix),
        pull: &[Weighed],
    ) -> Result<f64> {
        let sum = multiplied.sum * (1.0 - SUMMED);
        if !(sum > 0.0 && sum.is_finite()) {
            return Ok(0.0);
        }
        let listed = Listed { cloud, basis };
        match &self.penalty {
            Penalty::Linear(_) => {
                let part = listed.proved_part(pull, 0.0, &multiplied.pairs, multiplied.scale);
                Ok(part * multiplied.scale * sum)
            }
            Penalty::Squared => {
                let norm = listed.pushing_norm(&multiplied.pairs)?;
                let positive = norm * norm;
                let s = if positive > 0.0 { (2.0 * sum / positive).min(1.0 - SUMMED) } else { 1.0 - SUMMED };
                Ok(((s * sum - 0.25 * s * s * positive) * (1.0 - SUMMED)).max(0.0))
            }
        }
    }
}
