//! `c_max` as the largest gain under a limit of the diameter.
//!
//! `(F(0) - loss(M)) / diameter(M)` does not change where `M` shrinks further once no slack is at zero: under a small limit of the
//! diameter the largest gain is `c_max` times the limit, and no trade-off has to rise. The multipliers of the diameter are then free
//! in their sum; any of them, with multipliers of the pairs that use up the rows' weights, prove an upper bound.

use super::LEAST;
use super::climb::{filled, least_ratio};
use super::model::Model;
use super::outer::{DIMENSIONS_WITH_SLACKS, Inner, Outer, SUBSPACE, Settings};
use crate::pairs::Cloud;
use crate::problem::{Slack, mean_pair, value_at_zero};
use crate::solver::{Observer, Status};
use crate::{Matrix, Result, linalg};

/// The gain under the limit, as a part of `F(0)`, is this at most: of a row whose slack is far below the others' the slack is then still
/// above zero.
const PART: f64 = 0.05;
/// Bounds further apart than this are not good enough, should there be another way.
const ROUGHLY: f64 = 1.1;

/// What is known of the largest gain per diameter.
#[derive(Debug, Clone)]
pub(super) struct Limit {
    /// `F(0)`.
    zero: f64,
    /// The diameter that is allowed.
    pub(super) longest: f64,
    pub(super) above: f64,
}

/// The largest gain per diameter, from both sides, and the metric that has the lower one: coordinates x rank.
pub(crate) struct Gain {
    pub(crate) below: f64,
    pub(crate) above: f64,
    pub(crate) factor: Matrix,
    pub(crate) status: Status,
}

/// Whether the metric is sought in all coordinates, or in the end in as many as it needs: with more of them the subspace that is good
/// for a rising trade-off was further from the optimum under a limit.
pub(crate) fn suits_limit(cloud: &Cloud, slack: Slack) -> bool {
    let most = match slack {
        Slack::Pair => SUBSPACE,
        Slack::Instance => DIMENSIONS_WITH_SLACKS,
    };
    cloud.x.cols() <= most
}

/// The largest gain per diameter of the loss with a slack per row; of the loss `2 - <only, M>` where that is given. Below it is zero
/// where nothing was found.
pub(crate) fn largest_gain(
    cloud: &Cloud,
    only: Option<&Matrix>,
    settings: Settings,
    inner: &mut dyn Inner,
    observer: &mut dyn Observer,
) -> Result<Gain> {
    let mean = mean_pair(cloud, settings.variant);
    let zero = if only.is_some() { 2.0 } else { value_at_zero(cloud, Slack::Instance) };
    let nothing = Model { weight: cloud.weight.clone(), ..Model::empty(1.0, mean.clone()) };
    // The bound of multipliers that are shared out evenly, most often within a factor of ten.
    let even = only.cloned().or_else(|| filled(cloud, &nothing, &[], &[]));
    let above = even.map_or(Ok(f64::INFINITY), |even| linalg::largest_generalised(&even, &mean))?;
    let longest = PART * zero / above;
    if !(longest.is_finite() && longest > 0.0) {
        return Ok(Gain { below: 0.0, above, factor: Matrix::zeros(cloud.x.cols(), 0), status: Status::Stalled });
    }
    let limit = Limit { zero, longest, above };
    let mut outer = Outer::begin(cloud, Settings { c: above, ..settings }, None, only, Some(limit), inner)?;
    let (status, _) = outer.run(inner, observer)?;
    let above = outer.limit.as_ref().map_or(above, |limit| limit.above);
    let below = outer.limit.as_ref().map_or(0.0, |limit| limit.per_diameter(outer.best.objective));
    Ok(Gain { below, above, factor: outer.best.factor, status })
}

impl Gain {
    /// Whether the bounds are so near to each other that no other way is tried.
    pub(crate) fn is_known(&self) -> bool {
        self.above <= ROUGHLY * self.below
    }

    /// The better of both bounds, and the metric of the lower one.
    pub(crate) fn with(self, other: Self) -> Self {
        let above = self.above.min(other.above);
        let status = other.status;
        if self.below > other.below { Self { above, status, ..self } } else { Self { above, ..other } }
    }
}

impl Limit {
    /// What `F(0)` of gain takes of the diameter.
    pub(super) fn diameter_per_gain(&self, loss: f64, longest: f64) -> f64 {
        if loss < self.zero { longest * self.zero / (self.zero - loss) } else { f64::INFINITY }
    }

    /// The gain per diameter of a metric whose diameter per gain this is.
    pub(super) fn per_diameter(&self, objective: f64) -> f64 {
        self.zero / objective
    }

    /// The order of magnitude of the loss.
    pub(super) fn size(&self) -> f64 {
        self.zero
    }
}

impl Outer<'_> {
    /// Under a limit: takes a bound from the multipliers, `pull` being `sum eta A`, and counts their sum as `c`.
    pub(super) fn bound_gain(&mut self, lambda: &[f64], pull: &Matrix) -> Result<()> {
        let c = self.settings.c;
        let push = match self.only {
            Some(row) => Some(row.clone()),
            None => {
                let lengths = self.model.lengths(&self.cloud.x, &self.whole()).push;
                filled(self.cloud, &self.model, lambda, &lengths)
            }
        };
        let (Some(limit), Some(push)) = (&mut self.limit, push) else { return Ok(()) };
        limit.above = limit.above.min(least_ratio(&push, (pull, &self.mean), c)?);
        self.bound = self.bound.max(limit.zero / limit.above);
        Ok(())
    }

    /// Under a limit the sum of the diameter's multipliers takes the place of `c`.
    pub(super) fn count_multipliers(&mut self) {
        if self.limit.is_some() {
            let c = self.state.eta.iter().sum::<f64>().max(LEAST);
            (self.settings.c, self.model.c) = (c, c);
        }
    }

    /// The current metric in all coordinates.
    fn whole(&self) -> Matrix {
        let factor = self.factor();
        linalg::product_transposed(&factor, &factor)
    }
}
