//! What a pass over all pairs tells the solver: the true objective, and the pairs that the reduced problem should hold.

use crate::pairs::pass::{Far, Long, Query, hinge};
use crate::pairs::{Cloud, Embedding, Pass, Run, Threads, scan};
use serde::{Deserialize, Serialize};

/// What one pass over all pairs finds.
#[derive(Debug, Clone)]
pub(super) struct Survey {
    /// `sum of w max(0, 2 - rho)` over the different-label pairs.
    pub(super) hinge: f64,
    /// The largest distance among the pairs that bound the diameter.
    pub(super) longest: f64,
    /// Different-label pairs that have changed sides of the kink since the other embedding, or lie near it.
    pub(super) near: Vec<(u32, u32)>,
    /// Pairs that bound the diameter and exceed the given length, with their distance.
    pub(super) far: Vec<Long>,
    /// Slack per row: different-label pairs with a small `rho + xi_i + xi_j - 2`, ascending.
    pub(super) tight: Vec<Long>,
    /// The mean of the longest distances: what lies beyond its edge (filled in elsewhere).
    pub(super) excess: f64,
}

/// The pass behind [`survey`].
pub(super) struct Look<'a> {
    pub(super) cloud: &'a Cloud,
    pub(super) query: &'a Query,
    /// The slack of each point, and a margin.
    pub(super) slack: Option<(&'a [f64], f64)>,
}

/// What a row of tiles finds.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Part {
    hinge: f64,
    near: Vec<(u32, u32)>,
    far: Far,
    tight: Vec<Long>,
    /// The tightest pair of each point, as the right one; empty once the row of tiles is complete.
    columns: Vec<(f64, u32)>,
}

impl Pass for Look<'_> {
    type Part = Part;

    fn visit(&self, part: &mut Part, run: Run<'_>) {
        if !run.same && self.cloud.weight[run.i] > 0.0 {
            match self.slack {
                Some((slack, margin)) => self.tight(part, slack, margin, &run),
                None => self.near(part, &run),
            }
        }
        part.far.visit(self.query, self.cloud, &run);
    }

    fn end(&self, part: &mut Part) {
        if let Some((_, margin)) = self.slack {
            let found = part.columns.iter().enumerate().filter(|(_, c)| c.0 < margin);
            part.tight.extend(found.map(|(j, &(z, i))| (z, i, j as u32)));
            part.columns = Vec::new();
        }
        part.far.end(self.query);
    }

    fn merge(&self, into: &mut Part, mut next: Part) {
        into.hinge += next.hinge;
        into.near.append(&mut next.near);
        into.far.merge(next.far);
        into.tight.append(&mut next.tight);
    }
}

impl Look<'_> {
    /// The hinges of a run, and those of its pairs that crossed the kink or lie near it.
    fn near(&self, part: &mut Part, run: &Run<'_>) {
        part.hinge += hinge(self.cloud, run);
        let (low, high) = self.query.window;
        // Without another embedding no pair has crossed; with an empty window there is nothing to list.
        let other = if run.other.is_empty() { run.rho } else { run.other };
        if run.other.is_empty() && low >= high {
            return;
        }
        for (k, (&r, &o)) in run.rho.iter().zip(other).enumerate() {
            let crossed = (o < 2.0) != (r < 2.0);
            if (crossed || (r > low && r < high)) && self.cloud.weight[run.j0 + k] > 0.0 {
                part.near.push((run.i as u32, (run.j0 + k) as u32));
            }
        }
    }

    /// The tightest pair of a run, and of each of its right points.
    fn tight(&self, part: &mut Part, slack: &[f64], margin: f64, run: &Run<'_>) {
        part.columns.resize(self.cloud.len(), (f64::INFINITY, 0));
        let mut least = (f64::INFINITY, 0);
        for (k, &r) in run.rho.iter().enumerate() {
            let j = run.j0 + k;
            if self.cloud.weight[j] == 0.0 {
                continue;
            }
            let z = r + slack[run.i] + slack[j] - 2.0;
            if z < least.0 {
                least = (z, j);
            }
            let column = &mut part.columns[j];
            if z < column.0 {
                *column = (z, run.i as u32);
            }
        }
        if least.0 < margin {
            part.tight.push((least.0, run.i as u32, least.1 as u32));
        }
    }
}

/// One pass over all pairs under `now`; `before` is the embedding whose sides of the kink are remembered.
///
/// With `slack` (a slack per row, and a margin) the different-label pairs are looked at one by one: in each row of tiles
/// the tightest pair of each point is reported where it is below the margin.
pub(super) fn survey(
    cloud: &Cloud,
    now: &Embedding,
    before: Option<&Embedding>,
    query: &Query,
    slack: Option<(&[f64], f64)>,
) -> Survey {
    let embeddings: Vec<&Embedding> = std::iter::once(now).chain(before).collect();
    let (mut found, _) = scan(cloud, &embeddings, &Look { cloud, query, slack }, &Threads);
    found.far.finish(query);
    found.tight.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    found.tight.dedup_by_key(|t| (t.1, t.2));
    let Part { hinge, near, far, tight, .. } = found;
    Survey { hinge, longest: far.longest, near, far: far.pairs, tight, excess: 0.0 }
}
