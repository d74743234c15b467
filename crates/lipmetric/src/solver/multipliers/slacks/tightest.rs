//! A pass over all pairs: of each point its tightest margins, a few, and the long pairs.

use crate::Matrix;
use crate::pairs::pass::{Far, Long, Query, shortest};
use crate::pairs::{Cloud, Compact, Embedding, Kind, Pass, Question, Run, Stretch, ask};
use serde::{Deserialize, Serialize};

/// Of the pairs of a point within a tile so many of the tightest are listed.
const EACH: usize = 6;
/// Of the pairs of a point in all tiles so many of the tightest.
const OF_POINT: u32 = 12;
/// Lists are cut where they hold so many pairs for each point.
const UNCUT: usize = 40;
/// What rounding may change of a margin near zero.
const ROUNDING: f64 = 1e-12;

/// What the pass finds.
#[derive(Debug, Clone)]
pub(super) struct Tightest {
    /// Different-label pairs with `rho + xi_i + xi_j - 2` below the margin, which is the first number: the tightest of each point among
    /// them, and some more; ascending.
    pub(super) pairs: Vec<Long>,
    /// The longest of the pairs that bound the diameter, and those that are nearly as long, in descending order.
    pub(super) longest: f64,
    pub(super) far: Vec<Long>,
}

/// The pass itself.
pub(crate) struct Look<'a> {
    cloud: &'a Cloud,
    query: &'a Query,
    slack: &'a [f64],
    /// Of each point the least slack of its block.
    least: Vec<f64>,
    margin: f64,
}

/// What some rows of tiles find.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Part {
    pairs: Vec<Long>,
    /// The tightest pair of each point, as the right one; empty once the row of tiles is complete.
    columns: Vec<(f64, u32)>,
    far: Far,
}

impl Pass for Look<'_> {
    type Part = Part;

    fn screened(&self) -> bool {
        true
    }

    fn skips(&self, pairs: &Stretch) -> bool {
        let Stretch { left, right, bounds, .. } = pairs;
        let own = if left.len() == 1 { self.slack[left.start] } else { self.least[left.start] };
        let loose = bounds.least + own + self.least[right.start] - 2.0 > self.margin + ROUNDING;
        (pairs.kind == Kind::Same || loose) && self.query.passes_over(pairs)
    }

    fn visit(&self, part: &mut Part, run: Run<'_>) {
        part.far.visit(self.query, self.cloud, &run);
        if run.same || shortest(run.rho) + self.slack[run.i] + self.least[run.j0] - 2.0 > self.margin + ROUNDING {
            return;
        }
        part.columns.resize(self.cloud.len(), (self.margin, 0));
        let own = self.slack[run.i] - 2.0;
        let others = &self.slack[run.j0..run.j0 + run.rho.len()];
        let mut found: [Long; EACH] = [(self.margin, 0, 0); EACH];
        for (k, (&r, s)) in run.rho.iter().zip(others).enumerate() {
            let z = r + own + s;
            if z >= self.margin {
                continue;
            }
            let j = run.j0 + k;
            let column = &mut part.columns[j];
            if z < column.0 {
                *column = (z, run.i as u32);
            }
            if z < found[EACH - 1].0 {
                let at = found.partition_point(|f| f.0 <= z);
                found.copy_within(at..EACH - 1, at + 1);
                found[at] = (z, run.i as u32, j as u32);
            }
        }
        part.pairs.extend(found.iter().filter(|f| f.0 < self.margin));
    }

    fn end(&self, part: &mut Part) {
        let found = part.columns.iter().enumerate().filter(|(_, c)| c.0 < self.margin);
        part.pairs.extend(found.map(|(j, &(z, i))| (z, i, j as u32)));
        part.columns = Vec::new();
        part.far.end(self.query);
    }

    fn merge(&self, into: &mut Part, mut next: Part) {
        into.pairs.append(&mut next.pairs);
        if into.pairs.len() > UNCUT * self.cloud.len() {
            cut(&mut into.pairs, self.cloud.len());
        }
        into.far.merge(next.far);
    }
}

/// Leaves of each point the tightest pairs, in ascending order.
fn cut(pairs: &mut Vec<Long>, points: usize) {
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    pairs.dedup_by_key(|t| (t.1, t.2));
    let mut count = vec![0u32; points];
    pairs.retain(|&(_, i, j)| {
        let (i, j) = (i as usize, j as usize);
        let wanted = count[i] < OF_POINT || count[j] < OF_POINT;
        if wanted {
            count[i] += 1;
            count[j] += 1;
        }
        wanted
    });
}

/// What [`tightest`] asks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TightestMargins {
    query: Query,
    slack: Vec<f64>,
    margin: f64,
}

impl Question for TightestMargins {
    const NAME: &'static str = "tightest margins";
    type Part = Part;
    type Pass<'a> = Look<'a>;

    fn pass<'a>(&'a self, cloud: &'a Cloud, _: &[&'a Embedding]) -> Look<'a> {
        let least = cloud.least_of_block(&self.slack);
        Look { cloud, query: &self.query, slack: &self.slack, least, margin: self.margin }
    }
}

/// One pass over all pairs of points, some of which may be at hand in a compact order: the tightest margins under these slacks, and the
/// long pairs.
pub(super) fn tightest(
    (cloud, order): (&Cloud, Option<&Compact>),
    factor: &Matrix,
    slack: &[f64],
    margin: f64,
    query: &Query,
) -> Tightest {
    let own = order.map_or(cloud, |order| &order.cloud);
    let slack = order.map_or_else(|| slack.to_vec(), |order| order.place.iter().map(|&i| slack[i]).collect());
    let now = Embedding::new(own, factor);
    let (mut found, _) = ask(own, &[&now], &TightestMargins { query: *query, slack, margin });
    found.far.finish(query);
    if let Some(order) = order {
        // Pairs of different label are in the order of their classes either way.
        let place = |i: u32| order.place[i as usize] as u32;
        found.pairs.iter_mut().for_each(|(_, i, j)| (*i, *j) = (place(*i), place(*j)));
        order.placed(&mut found.far.pairs);
    }
    cut(&mut found.pairs, cloud.len());
    Tightest { pairs: found.pairs, longest: found.far.longest, far: found.far.pairs }
}
