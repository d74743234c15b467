//! What a pass over all pairs tells the working set: the true objective, and the rows that a reduced problem should have.

use super::model::Push;
use crate::Matrix;
use crate::pairs::pass::{Far, Long, Query, shortest};
use crate::pairs::{Cloud, Compact, Embedding, Kind, Pass, Question, Run, Stretch, ask};
use serde::{Deserialize, Serialize};

/// What a pass over all pairs finds.
#[derive(Debug, Clone)]
pub(crate) struct Survey {
    /// Pairs inside the window with their lengths, sorted by pair.
    pub(crate) near: Vec<(Push, f64)>,
    /// `sum w A` over the pairs below the window.
    pub(crate) below: Matrix,
    /// `sum w` and `sum w rho` over them.
    pub(crate) below_weight: f64,
    pub(crate) below_length: f64,
    /// The longest of the pairs that bound the diameter.
    pub(crate) longest: f64,
    /// The longest pairs, in descending order.
    pub(crate) far: Vec<Long>,
}

/// The pass behind [`survey`].
pub(crate) struct Look<'a> {
    cloud: &'a Cloud,
    query: &'a Query,
}

/// What a row of tiles finds.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Part {
    near: Vec<(Push, f64)>,
    weight: f64,
    length: f64,
    far: Far,
}

impl Pass for Look<'_> {
    type Part = Part;

    fn weighted(&self) -> bool {
        self.query.window.0 > f64::NEG_INFINITY
    }

    fn screened(&self) -> bool {
        true
    }

    fn skips(&self, pairs: &Stretch) -> bool {
        (pairs.kind == Kind::Same || pairs.bounds.least >= self.query.window.1) && self.query.passes_over(pairs)
    }

    fn visit(&self, part: &mut Part, run: Run<'_>) {
        part.far.visit(self.query, self.cloud, &run);
        if run.same || shortest(run.rho) >= self.query.window.1 {
            return;
        }
        let Run { i, j0, rho, weight, .. } = run;
        let ((low, high), own) = (self.query.window, self.cloud.weight[i]);
        for (k, &r) in rho.iter().enumerate() {
            if r < high {
                let cap = own * self.cloud.weight[j0 + k];
                if r < low {
                    weight[k] = cap;
                    part.weight += cap;
                    part.length += cap * r;
                } else {
                    part.near.push((Push { i: i as u32, j: (j0 + k) as u32, cap }, r));
                }
            }
        }
    }

    fn end(&self, part: &mut Part) {
        part.far.end(self.query);
    }

    fn merge(&self, into: &mut Part, mut next: Part) {
        into.near.append(&mut next.near);
        into.weight += next.weight;
        into.length += next.length;
        into.far.merge(next.far);
    }
}

/// What [`survey`] asks.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Surveyed(Query);

impl Question for Surveyed {
    const NAME: &'static str = "survey";
    type Part = Part;
    type Pass<'a> = Look<'a>;

    fn pass<'a>(&'a self, cloud: &'a Cloud, _: &[&'a Embedding]) -> Look<'a> {
        Look { cloud, query: &self.0 }
    }
}

/// One pass over all pairs.
pub(crate) fn survey(cloud: &Cloud, embedding: &Embedding, query: &Query) -> Survey {
    let (mut found, below) = ask(cloud, &[embedding], &Surveyed(*query));
    found.near.sort_unstable_by_key(|n| (n.0.i, n.0.j));
    found.far.finish(query);
    let Part { near, weight: below_weight, length: below_length, far } = found;
    let p = cloud.x.cols();
    let below = below.unwrap_or_else(|| Matrix::zeros(p, p));
    Survey { near, below, below_weight, below_length, longest: far.longest, far: far.pairs }
}

/// The largest multiple that comes into question where no pair is below the window.
const MULTIPLE: f64 = 1e12;

impl Survey {
    /// The same in the usual numbers of the points.
    pub(crate) fn placed(mut self, order: &Compact) -> Self {
        // Pairs of different label are in the order of their classes either way.
        let place = |i: u32| order.place[i as usize] as u32;
        self.near.iter_mut().for_each(|(row, _)| (row.i, row.j) = (place(row.i), place(row.j)));
        self.near.sort_unstable_by_key(|n| (n.0.i, n.0.j));
        order.placed(&mut self.far);
        self
    }

    /// The best multiple of the metric that keeps the sides of all pairs outside the window, and its objective: `F(t M)` is
    /// convex and piecewise linear in `t`, with kinks at `2 / rho`.
    pub(crate) fn rescaled(&self, c: f64, window: (f64, f64)) -> (f64, f64) {
        let mut kinks: Vec<(f64, f64)> = self.near.iter().map(|n| (n.1.max(0.0), n.0.cap)).collect();
        kinks.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        // Walking t upwards from the smallest allowed: pairs cease to be violated, the longest first.
        let (least, most) = (2.0 / window.1.max(2.0), if window.0 > 0.0 { 2.0 / window.0.min(2.0) } else { MULTIPLE });
        let value = |t: f64| {
            let near: f64 = kinks.iter().map(|&(r, w)| w * (2.0 - t * r).max(0.0)).sum();
            c * t * self.longest + near + 2.0 * self.below_weight - t * self.below_length
        };
        let mut slope = c * self.longest - self.below_length - kinks.iter().map(|k| k.0 * k.1).sum::<f64>();
        let mut t = least;
        for &(r, w) in kinks.iter().rev() {
            if slope >= 0.0 || t >= most {
                break;
            }
            let kink = 2.0 / r.max(crate::linalg::TINY);
            if kink > most {
                t = most;
                break;
            }
            t = t.max(kink);
            slope += r * w;
        }
        let t = t.clamp(least, most);
        let (scaled, plain) = (value(t), value(1.0));
        if scaled < plain { (t, scaled) } else { (1.0, plain) }
    }
}

#[cfg(test)]
mod tests;
