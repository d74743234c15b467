//! Penalties that suit each other.
//!
//! After a move each constraint still misses something: the multiplier's change over its penalty. What that costs is the same
//! for all kinds of constraints where the penalties suit each other; where one kind misses most, all others are exact for nothing.

use super::{Anchor, GROW, Spot, Value};
use crate::solver::working_set::Penalty;
use crate::solver::working_set::model::{Model, State};
use crate::{Matrix, linalg};

/// What a kind of constraint may miss, as a part of what is missed most: less than that, and its penalty shrinks.
const LESS: f64 = 0.3;
/// A penalty changes by this factor at most, beside the growth of all.
const MOST: f64 = 3.0;

/// What is missed, times what it costs.
pub(super) struct Missed {
    push: f64,
    pull: f64,
    cone: f64,
    /// What staying near the place where the move began costs: of the metric, ...
    metric: f64,
    /// ... and of the slacks.
    slack: f64,
}

impl Missed {
    pub(super) fn by(
        (model, x): (&Model, &Matrix),
        (before, after): (&State, &Value),
        (spot, anchor): (&Spot, &Anchor),
        penalty: &Penalty,
    ) -> Self {
        let cost = |new: &[f64], old: &[f64], k: usize| new[k].max(old[k]) * (new[k] - old[k]).abs();
        let push: f64 = (0..model.pushes()).map(|k| cost(&after.lambda, &before.lambda, k) / model.cap(k)).sum();
        let pull: f64 = (0..model.pulls()).map(|k| cost(&after.eta, &before.eta, k)).sum();
        // What is not positive in the metric is taken from the diameter.
        let cone = distance(&after.z.matrix, &before.z) * size(&model.pull_sum(x, &after.eta));
        let each = spot.slack.iter().zip(&anchor.slack).zip(&model.weight);
        // Under a limit slacks differ from those of the zero metric by about the limit.
        let most = model.limit.unwrap_or(f64::INFINITY);
        let slack: f64 = each.map(|((s, a), w)| w * (s - a).abs() * s.max(*a).min(most)).sum();
        Self {
            push: push / penalty.push,
            pull: pull / penalty.pull,
            cone: cone / penalty.cone,
            metric: anchor.proximal * distance(&spot.m, &anchor.m) * size(&spot.m),
            slack: anchor.proximal_slack * slack,
        }
    }

    /// The penalties after a move with this growth of all, and what the weights of the distance to its beginning are divided by
    /// beside the growth: of the metric, of the slacks.
    pub(super) fn balanced(&self, penalty: &Penalty, growth: f64) -> (Penalty, f64, f64) {
        let wanted = LESS * self.push.max(self.pull).max(self.cone);
        let factor = |v: f64| if wanted > 0.0 { (v / wanted).sqrt().clamp(1.0 / MOST, MOST) } else { 1.0 };
        // A move that did not come to its end asks for smaller penalties, and none grows by more than an easy move lets it.
        let most = if growth < 1.0 { 1.0 } else { GROW / growth };
        let t = |v: f64| growth * factor(v).min(most);
        let Penalty { push, pull, cone } = *penalty;
        let next = Penalty { push: push * t(self.push), pull: pull * t(self.pull), cone: cone * t(self.cone) };
        (next, factor(self.metric), factor(self.slack))
    }
}

fn size(a: &Matrix) -> f64 {
    linalg::inner(a, a).sqrt()
}

fn distance(a: &Matrix, b: &Matrix) -> f64 {
    a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missed_most_gets_the_larger_penalty() {
        let penalty = Penalty { push: 1.0, pull: 1.0, cone: 1.0 };
        let missed = Missed { push: 1.0, pull: 0.3, cone: 1e-6, metric: 0.3, slack: 1e-6 };
        let (next, metric, slack) = missed.balanced(&penalty, 1.0);
        assert!(next.push > 1.5 && (next.pull - 1.0).abs() < 1e-12 && (next.cone - 1.0 / MOST).abs() < 1e-12);
        assert!((metric - 1.0).abs() < 1e-12 && (slack - 1.0 / MOST).abs() < 1e-12);
        // An easy move lets all grow, the one that is missed most no more; after a hard one none grows.
        assert!((missed.balanced(&penalty, GROW).0.push - GROW).abs() < 1e-12);
        assert!(missed.balanced(&penalty, 0.5).0.push <= 0.5);
        let nothing = Missed { push: 0.0, pull: 0.0, cone: 0.0, metric: 0.0, slack: 0.0 };
        assert_eq!(nothing.balanced(&penalty, 2.0).0, penalty.times(2.0));
    }
}
