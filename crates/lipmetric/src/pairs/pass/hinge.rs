use super::Among;
use super::far::longest;
use crate::pairs::{Cloud, Embedding, Kind, Pass, Question, Run, Stretch, ask};
use serde::{Deserialize, Serialize};

/// Sums that go side by side, so that one addition need not wait for the one before.
const LANES: usize = 8;

/// `sum of w max(0, 2 - rho)` over a run of different-label pairs.
pub(crate) fn hinge(cloud: &Cloud, run: &Run<'_>) -> f64 {
    if cloud.uniform {
        let mut sums = [0.0; LANES];
        let (chunks, rest) = run.rho.as_chunks::<LANES>();
        let tail: f64 = rest.iter().map(|r| (2.0 - r).max(0.0)).sum();
        for c in chunks {
            for k in 0..LANES {
                let v = 2.0 - c[k];
                sums[k] += if v > 0.0 { v } else { 0.0 };
            }
        }
        return sums.iter().sum::<f64>() + tail;
    }
    let weights = &cloud.weight[run.j0..run.j0 + run.rho.len()];
    cloud.weight[run.i] * run.rho.iter().zip(weights).map(|(r, w)| w * (2.0 - r).max(0.0)).sum::<f64>()
}

/// The sum of the hinges, and the longest of the pairs that bound the diameter.
pub(crate) struct Objective<'a> {
    pub(super) cloud: &'a Cloud,
    pub(super) among: Among,
}

impl Pass for Objective<'_> {
    type Part = (f64, f64);

    fn screened(&self) -> bool {
        true
    }

    fn skips(&self, pairs: &Stretch) -> bool {
        !self.among.may_hold(pairs.kind) && (pairs.kind == Kind::Same || pairs.bounds.least > 2.0)
    }

    fn visit(&self, (sum, most): &mut Self::Part, run: Run<'_>) {
        if !run.same {
            *sum += hinge(self.cloud, &run);
        }
        if self.among.holds(run.same) {
            *most = longest(run.rho).max(*most);
        }
    }

    fn merge(&self, into: &mut Self::Part, next: Self::Part) {
        into.0 += next.0;
        into.1 = into.1.max(next.1);
    }
}

/// What [`objective`] asks.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Hinges {
    among: Among,
}

impl Question for Hinges {
    const NAME: &'static str = "objective";
    type Part = (f64, f64);
    type Pass<'a> = Objective<'a>;

    fn pass<'a>(&'a self, cloud: &'a Cloud, _: &[&'a Embedding]) -> Objective<'a> {
        Objective { cloud, among: self.among }
    }
}

/// The sum of the hinges `w max(0, 2 - rho)` of the different-label pairs, and the longest of the pairs that bound the
/// diameter.
pub(crate) fn objective(cloud: &Cloud, embedding: &Embedding, among: Among) -> (f64, f64) {
    ask(cloud, &[embedding], &Hinges { among }).0
}
