//! From the last iterate to a solution: the least rank, and multipliers by pair.

use super::certify::Proof;
use super::engine::{Best, Engine, Settings};
use super::scan::survey;
use super::tail;
use crate::pairs::pass::Query;
use crate::pairs::{Cloud, Embedding};
use crate::problem::{Bound, Certificate, Diameter, Slack, SupportPair, relative_gap};
use crate::solver::{Solution, Status};
use crate::{Matrix, Metric, Result, linalg};

/// Eigenvalues below these parts of the largest are tried to be left out, the most first.
const NEGLIGIBLE: [f64; 5] = [1e-4, 1e-5, 1e-6, 1e-7, 1e-8];

impl Engine<'_> {
    /// The best point, of the least rank that the gap allows, and what proves it.
    pub(super) fn finish(self, status: Status, iterations: usize) -> Result<Solution> {
        let certificate = self.certificate()?;
        let bound = self.proof.bound.value;
        let best = trimmed(self.cloud, &self.settings, self.best, bound, &self.state.rows.sums[0], self.state.scalar);
        Ok(Solution {
            factor: best.factor.transpose(),
            objective: best.objective,
            slack: best.slack,
            bound,
            status,
            iterations,
            certificate: Some(certificate),
        })
    }

    /// The multipliers of the best certificate, scaled, by pair.
    fn certificate(&self) -> Result<Certificate> {
        // Rows are only ever added behind the others, so that the certificate's multipliers belong to the first ones.
        let Proof { bound: Bound { scale, mix, .. }, lambda } = &self.proof;
        let rows = &self.state.rows;
        let mut pairs = Vec::with_capacity(lambda.len());
        for k in 0..lambda.len() {
            let pushes = rows.push[k];
            let multiplier = lambda[k] * if pushes { *scale } else { mix.kept };
            match rows.pair(k) {
                Some((first, second)) => pairs.push(SupportPair { first, second, pushes, multiplier }),
                None => {
                    let members = &rows.members[rows.j[k] as usize];
                    let multiplier = multiplier / members.len() as f64;
                    let pair = |&(i, j): &(u32, u32)| (i as usize, j as usize);
                    pairs.extend(members.iter().map(pair).map(|(first, second)| SupportPair {
                        first,
                        second,
                        pushes,
                        multiplier,
                    }));
                }
            }
        }
        let sum = |push: bool| {
            let whole = |k: &usize| rows.pair(*k).is_none() && rows.members[rows.j[*k] as usize].is_empty();
            let at = (0..lambda.len()).find(|k| rows.push[*k] == push && whole(k));
            at.map_or(0.0, |k| lambda[k])
        };
        let below = sum(true) * scale;
        let (mean, beyond) = match self.settings.diameter {
            Diameter::Maximum => (sum(false) * mix.kept + mix.mean, 0.0),
            Diameter::Cvar(_) => (mix.mean, sum(false) * mix.kept * tail::rate(self.cloud, &self.settings)),
            Diameter::Mean => (self.settings.c, 0.0),
        };
        let sides = Metric::new(self.sides_factor.transpose())?;
        Ok(Certificate { pairs, mean, below, beyond, edge: self.edge, ..Certificate::nothing(sides) })
    }
}

/// Interior points have full rank; optima often have not. Leaves out the smallest directions of `M` as long as the
/// certified gap allows it.
fn trimmed(cloud: &Cloud, settings: &Settings<'_>, best: Best, bound: f64, mean: &Matrix, scalar: f64) -> Best {
    if settings.anchor.is_some() {
        return best;
    }
    let Ok(eigen) = linalg::symmetric_eigen(&linalg::product_transposed(&best.factor, &best.factor)) else {
        return best;
    };
    let allowed = settings.stop.tolerance.max(relative_gap(best.objective, bound));
    let top = eigen.values.last().copied().unwrap_or(0.0);
    let p = eigen.values.len();
    for threshold in NEGLIGIBLE {
        let skip = eigen.values.iter().take_while(|&&v| v <= threshold * top).count();
        if skip == 0 {
            break;
        }
        let factor = eigen.scaled(skip..p, f64::sqrt);
        let now = Embedding::new(cloud, &factor);
        let query = Query::plain(settings.variant.bounding());
        let slacks = (settings.slack == Slack::Instance).then_some((&best.slack[..], 0.0));
        let found = survey(cloud, &now, None, &query, slacks);
        let mut slack = best.slack.clone();
        let loss = match settings.slack {
            Slack::Pair => found.hinge,
            Slack::Instance => {
                for &(z, i, j) in &found.tight {
                    for point in [i as usize, j as usize] {
                        slack[point] = slack[point].max(best.slack[point] - 0.5 * z);
                    }
                }
                slack.iter().zip(&cloud.weight).map(|(s, w)| s * w).sum()
            }
        };
        let diameter = match settings.diameter {
            Diameter::Maximum => found.longest,
            Diameter::Cvar(_) => {
                let excess = tail::look(cloud, &now, scalar, settings.variant, None, (0.0, 0.0)).excess;
                scalar + tail::rate(cloud, settings) * excess / settings.c
            }
            Diameter::Mean => linalg::inner(mean, &linalg::product_transposed(&factor, &factor)),
        };
        let objective = settings.c * diameter + loss;
        if relative_gap(objective, bound) <= allowed {
            return Best { objective, diameter, factor, slack };
        }
    }
    best
}
