//! Many rows from coarse to fine: the hinges are first those of a sample, weighted to stand for all, and the sample grows.

use crate::Matrix;
use crate::linalg;
use crate::pairs::pass::{Query, Rounded, rounded, some_long};
use crate::pairs::{Cloud, Compact, Embedding};
use crate::solver::Halt;
use crate::solver::working_set::model::Model;

/// Points of the first sample.
pub(super) const SAMPLE: usize = 2000;
/// How much larger the next sample is: its pass over the pairs takes nine times as long.
pub(super) const LARGER: usize = 3;
/// A sample is solved to this part of the error that it must be expected to have, `sqrt(coordinates / points)`.
const CARE: f64 = 0.25;
/// Points far out that join a sample, to bound the diameter only.
const FAR: usize = 500;

/// The points whose hinges count at the moment.
pub(super) struct Level {
    /// The points in an order of their own; `None` where these are all points, and not many.
    part: Option<Compact>,
    /// Whether these are some of the points only.
    pub(super) sampled: bool,
    /// The best objective and bound of the problem with these hinges.
    pub(super) objective: f64,
    pub(super) bound: f64,
}

/// Why a level ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Reached,
    Idle,
    Iterations,
    Told(Halt),
}

impl Ended {
    /// What the observer wanted, if it ended the level.
    pub(super) fn halt(self) -> Option<Halt> {
        match self {
            Self::Told(halt) => Some(halt),
            _ => None,
        }
    }
}

/// How hinges are rounded, and what of the pairs is listed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rounding {
    pub(super) width: f64,
    /// One in so many of the pairs within the width is listed.
    pub(super) every: u64,
    pub(super) query: Query,
}

/// Whether a sample of this size would be so large that all points are taken.
pub(super) fn takes_all(size: usize, cloud: &Cloud) -> bool {
    size * 2 > cloud.len()
}

/// The gap to which a sample of this size is worth solving.
pub(super) fn worth(size: usize, cloud: &Cloud, tolerance: f64) -> f64 {
    (CARE * (cloud.x.cols() as f64 / size as f64).sqrt()).max(0.5 * tolerance)
}

impl Level {
    /// All points, in a compact order under a map where they are many; the objective and the bound that are known of the problem.
    pub(super) fn of_all(cloud: &Cloud, map: &Matrix, (objective, bound): (f64, f64)) -> Self {
        Self { part: cloud.compacted(map), sampled: false, objective, bound }
    }

    /// Points evenly spaced within each class, each standing for as many as were left out; and, without weight, the points
    /// of the known long pairs and those farthest from the centre under the map.
    pub(super) fn of_sample(cloud: &Cloud, map: &Matrix, size: usize, known: &[(u32, u32)]) -> Self {
        let mut weight = vec![None; cloud.len()];
        for class in cloud.classes() {
            let chosen: Vec<usize> = cloud.spaced(class.clone(), size).collect();
            let all: f64 = cloud.weight[class].iter().sum();
            let own: f64 = chosen.iter().map(|&i| cloud.weight[i]).sum();
            chosen.iter().for_each(|&i| weight[i] = Some(cloud.weight[i] * all / own));
        }
        let z = linalg::product(&cloud.x, map);
        let mut far: Vec<(f64, usize)> = (0..cloud.len()).map(|i| (linalg::dot(z.row(i), z.row(i)), i)).collect();
        far.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let known = known.iter().flat_map(|pair| [pair.0 as usize, pair.1 as usize]);
        for i in far.iter().take(FAR).map(|f| f.1).chain(known) {
            weight[i] = weight[i].or(Some(0.0));
        }
        let keep: Vec<usize> = (0..cloud.len()).filter(|&i| weight[i].is_some()).collect();
        let part = cloud.part(&keep, weight.into_iter().flatten().collect());
        let part = match part.compacted(map) {
            Some(Compact { cloud, place }) => Compact { cloud, place: place.into_iter().map(|k| keep[k]).collect() },
            None => Compact { cloud: part, place: keep },
        };
        Self { part: Some(part), sampled: true, objective: f64::INFINITY, bound: 0.0 }
    }

    /// A pass over the pairs of the level under a metric, in the numbering of all points. `known` are the lengths of some long pairs.
    pub(super) fn pass(
        &self,
        cloud: &Cloud,
        embed: impl Fn(&Cloud) -> Embedding,
        rounding: &Rounding,
        known: &[f64],
    ) -> Rounded {
        let Rounding { width, every, query } = *rounding;
        let Some(order) = &self.part else {
            return rounded(cloud, &embed(cloud), width, every, &query);
        };
        let embedding = embed(&order.cloud);
        let mut long = some_long(&order.cloud, &embedding, query.among);
        long.extend(known);
        let mut seen = rounded(&order.cloud, &embedding, width, every, &query.knowing(long));
        order.placed(&mut seen.far);
        for (i, j, _) in &mut seen.zone {
            // Pairs of different label are in the order of their classes either way.
            (*i, *j) = (order.place[*i as usize] as u32, order.place[*j as usize] as u32);
        }
        seen
    }

    /// The part of all pairs that are pairs of the level.
    pub(super) fn share(&self, cloud: &Cloud) -> f64 {
        self.part.as_ref().map_or(1.0, |part| (part.cloud.len() as f64 / cloud.len() as f64).powi(2))
    }
}

/// Rows for the longest pairs that a pass has seen; the multipliers of the rows before in the order of those now, or nothing where there
/// are no new ones.
pub(super) fn with_rows_for(model: &mut Model, seen: &[(f64, u32, u32)], eta: &[f64]) -> Option<Vec<f64>> {
    let from = model.pull.clone();
    let mut pull = from.clone();
    pull.extend(seen.iter().map(|f| (f.1, f.2)));
    pull.sort_unstable();
    pull.dedup();
    if pull.len() == from.len() {
        return None;
    }
    let mut moved: Vec<f64> = pull.iter().map(|pair| from.binary_search(pair).map_or(0.0, |k| eta[k])).collect();
    moved.push(eta[from.len()]);
    model.pull = pull;
    Some(moved)
}
