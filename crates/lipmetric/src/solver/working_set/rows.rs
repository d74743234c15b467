//! A slack per row: the margins that are tight, slacks that are feasible, and multipliers that keep to the rows' own bounds.

use super::model::{Model, Push};
use super::outer::{Best, Outer, Settings};
use crate::pairs::pass::{Beyond, Far, Long, Query, shortest, some_long};
use crate::pairs::{Cloud, Compact, Embedding, Kind, Pass, Question, Run, Stretch, ask};
use crate::problem::{Bound, Certificate, SupportPair, relative_gap};
use crate::{Matrix, Metric, Result};
use serde::{Deserialize, Serialize};

/// Margins that are tight but for the gap, within these limits, have a row.
const MARGINS: (f64, f64) = (0.02, 0.5);
/// The same under a limit of the diameter, as parts of it.
const MARGINS_LIMITED: (f64, f64) = (0.02, 0.1);
/// The first slacks are half of what the worst margin lacks: so often they are lowered where none is tight.
const LOWERED: usize = 3;
/// Of the pairs of a point within a tile, so many of the tightest are listed.
const EACH: usize = 16;
/// Of the violated ones among them, so many.
const VIOLATED: usize = 32;
/// The hinge of a pair costs this many times what the cheaper of its slacks costs.
const DEARER: f64 = 2.0;
/// What rounding may change of a margin near zero.
const ROUNDING: f64 = 1e-12;
/// How often a row's lift is made as small as those of the others allow.
const ROUNDS: usize = 3;

/// What a pass over all pairs finds.
#[derive(Debug, Clone)]
pub(crate) struct Tight {
    /// Different-label pairs with `rho + xi_i + xi_j - 2` below the margin: the tightest of each point within each row of
    /// tiles, and all or most of the violated ones; ascending.
    pub(crate) pairs: Vec<Long>,
    /// Whether all violated ones are among them.
    complete: bool,
    /// The longest of the pairs that bound the diameter, and those that are nearly as long, in descending order.
    pub(crate) longest: f64,
    pub(crate) far: Vec<Long>,
}

/// The pass behind [`tight`].
pub(crate) struct Look<'a> {
    cloud: &'a Cloud,
    query: &'a Query,
    slack: &'a [f64],
    /// Of each point the least slack of its block.
    least: Vec<f64>,
    margin: f64,
}

/// What a row of tiles finds.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Part {
    pairs: Vec<Long>,
    /// Runs with more violated pairs than are listed.
    crowded: usize,
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
        part.columns.resize(self.cloud.len(), (f64::INFINITY, 0));
        let own = self.slack[run.i] - 2.0;
        let others = &self.slack[run.j0..run.j0 + run.rho.len()];
        let mut found: Vec<Long> = Vec::new();
        for (k, (&r, s)) in run.rho.iter().zip(others).enumerate() {
            let z = r + own + s;
            if z < self.margin {
                let j = run.j0 + k;
                found.push((z, run.i as u32, j as u32));
                let column = &mut part.columns[j];
                if z < column.0 {
                    *column = (z, run.i as u32);
                }
            }
        }
        if found.len() > EACH {
            found.sort_unstable_by(order);
            let violated = found.partition_point(|f| f.0 < 0.0);
            part.crowded += usize::from(violated > VIOLATED);
            found.truncate(violated.clamp(EACH, VIOLATED));
        }
        part.pairs.append(&mut found);
    }

    fn end(&self, part: &mut Part) {
        let found = part.columns.iter().enumerate().filter(|(_, c)| c.0 < self.margin);
        part.pairs.extend(found.map(|(j, &(z, i))| (z, i, j as u32)));
        part.columns = Vec::new();
        part.far.end(self.query);
    }

    fn merge(&self, into: &mut Part, mut next: Part) {
        into.pairs.append(&mut next.pairs);
        into.crowded += next.crowded;
        into.far.merge(next.far);
    }
}

fn order(a: &Long, b: &Long) -> std::cmp::Ordering {
    a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2)))
}

/// What [`tight`] asks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TightMargins {
    query: Query,
    slack: Vec<f64>,
    margin: f64,
}

impl Question for TightMargins {
    const NAME: &'static str = "tight margins";
    type Part = Part;
    type Pass<'a> = Look<'a>;

    fn pass<'a>(&'a self, cloud: &'a Cloud, _: &[&'a Embedding]) -> Look<'a> {
        let least = cloud.least_of_block(&self.slack);
        Look { cloud, query: &self.query, slack: &self.slack, least, margin: self.margin }
    }
}

/// One pass over all pairs: the margins that are tight under these slacks, and the long pairs.
pub(crate) fn tight(cloud: &Cloud, now: &Embedding, slack: &[f64], margin: f64, query: &Query) -> Tight {
    let (mut found, _) = ask(cloud, &[now], &TightMargins { query: *query, slack: slack.to_vec(), margin });
    found.far.finish(query);
    found.pairs.sort_unstable_by(order);
    found.pairs.dedup_by_key(|t| (t.1, t.2));
    let Part { pairs, crowded, far, .. } = found;
    Tight { pairs, complete: crowded == 0, longest: far.longest, far: far.pairs }
}

/// The same, of points some of which may be at hand in a compact order.
fn tight_of(
    (cloud, order): (&Cloud, Option<&Compact>),
    factor: &Matrix,
    slack: &[f64],
    margin: f64,
    query: &Query,
) -> Tight {
    let Some(order) = order else { return tight(cloud, &Embedding::new(cloud, factor), slack, margin, query) };
    let now = Embedding::new(&order.cloud, factor);
    let slack: Vec<f64> = order.place.iter().map(|&i| slack[i]).collect();
    let mut found = tight(&order.cloud, &now, &slack, margin, query);
    // Pairs of different label are in the order of their classes either way.
    let place = |i: u32| order.place[i as usize] as u32;
    found.pairs.iter_mut().for_each(|(_, i, j)| (*i, *j) = (place(*i), place(*j)));
    found.pairs.sort_unstable_by(self::order);
    order.placed(&mut found.far);
    found
}

impl Tight {
    /// The least `rho + xi_i + xi_j - 2` of each point, as far as it is below the margin.
    fn least(&self, points: usize, margin: f64) -> Vec<f64> {
        let mut least = vec![margin; points];
        for &(z, i, j) in &self.pairs {
            for p in [i as usize, j as usize] {
                least[p] = least[p].min(z);
            }
        }
        least
    }

    /// What has to be added to the slacks so that no margin is violated.
    fn lifts(&self, weight: &[f64]) -> Vec<f64> {
        let points = weight.len();
        let violated = &self.pairs[..self.pairs.partition_point(|t| t.0 < 0.0)];
        let mut lift = vec![0.0f64; points];
        for &(z, i, j) in violated {
            for p in [i as usize, j as usize] {
                lift[p] = lift[p].max(-0.5 * z);
            }
        }
        if self.complete {
            // The cheaper slack may do it alone.
            for &(z, i, j) in violated.iter().filter(|t| weight[t.1 as usize] != weight[t.2 as usize]) {
                let p = if weight[i as usize] < weight[j as usize] { i } else { j };
                lift[p as usize] = lift[p as usize].max(-z);
            }
            let mut of_point: Vec<Vec<(u32, f64)>> = vec![Vec::new(); points];
            for &(z, i, j) in violated {
                of_point[i as usize].push((j, z));
                of_point[j as usize].push((i, z));
            }
            let mut dearest: Vec<usize> = (0..points).filter(|&p| !of_point[p].is_empty()).collect();
            dearest.sort_by(|&a, &b| weight[b].total_cmp(&weight[a]).then(a.cmp(&b)));
            for _ in 0..ROUNDS {
                for &p in &dearest {
                    lift[p] = of_point[p].iter().fold(0.0, |l: f64, &(j, z)| l.max(-z - lift[j as usize]));
                }
            }
        }
        lift
    }

    /// Slacks near the given ones, for which the pass was, that violate no margin.
    pub(crate) fn feasible(&self, slack: &[f64], weight: &[f64]) -> Vec<f64> {
        slack.iter().zip(self.lifts(weight)).map(|(s, l)| s + l).collect()
    }

    /// Lowers slacks whose margins are not tight, each by half of what is left: no margin is violated by that.
    pub(crate) fn lower(&self, slack: &mut [f64], margin: f64) {
        let least = self.least(slack.len(), margin);
        for (s, z) in slack.iter_mut().zip(least).filter(|(_, z)| *z > 0.0) {
            *s = (*s - 0.5 * z).max(0.0);
        }
    }

    /// Lowers the slacks of points without any margin that is nearly tight.
    pub(crate) fn lower_idle(&self, slack: &mut [f64], margin: f64) {
        let least = self.least(slack.len(), margin);
        for (s, _) in slack.iter_mut().zip(least).filter(|(_, z)| *z >= margin) {
            *s = (*s - 0.5 * margin).max(0.0);
        }
    }

    /// Rows for the pairs, sorted by pair.
    pub(crate) fn push(&self, cloud: &Cloud) -> Vec<Push> {
        let cap = |i: u32, j: u32| DEARER * cloud.weight[i as usize].min(cloud.weight[j as usize]);
        let mut push: Vec<Push> = self.pairs.iter().map(|&(_, i, j)| Push { i, j, cap: cap(i, j) }).collect();
        push.sort_unstable_by_key(|r| (r.i, r.j));
        push
    }
}

impl Outer<'_> {
    /// With a slack per row: evaluates the metric on all pairs, and renews the rows.
    pub(super) fn look_at_rows(&mut self, factor: &Matrix) -> bool {
        let gap = relative_gap(self.best.objective, self.bound);
        let margin = match &self.limit {
            Some(limit) => limit.longest * gap.clamp(MARGINS_LIMITED.0, MARGINS_LIMITED.1),
            None => gap.clamp(MARGINS.0, MARGINS.1),
        };
        let embedding = Embedding::new(self.cloud, factor);
        self.arrange(factor);
        let query = self.query().knowing(self.known_lengths(&embedding));
        let points = (self.cloud, self.order.as_ref());
        let found = tight_of(points, factor, &self.state.slack, margin, &query);
        let slack = found.feasible(&self.state.slack, &self.cloud.weight);
        let loss: f64 = slack.iter().zip(&self.cloud.weight).map(|(s, w)| s * w).sum();
        let objective = match &self.limit {
            Some(limit) => limit.diameter_per_gain(loss, found.longest),
            None => self.settings.c * found.longest + loss,
        };
        if objective < self.best.objective {
            self.best = Best { objective, diameter: found.longest, factor: factor.clone(), slack };
        }
        self.renew_rows(&found, margin, &embedding)
    }

    fn renew_rows(&mut self, found: &Tight, margin: f64, embedding: &Embedding) -> bool {
        found.lower_idle(&mut self.state.slack, margin);
        let mut push = found.push(self.cloud);
        let mut kept: Vec<Push> =
            self.model.push.iter().zip(&self.state.lambda).filter(|r| *r.1 > 0.0).map(|r| *r.0).collect();
        kept.retain(|row| push.binary_search_by_key(&(row.i, row.j), |r| (r.i, r.j)).is_err());
        push.append(&mut kept);
        push.sort_unstable_by_key(|r| (r.i, r.j));
        let pull = self.long_pairs(&found.far, found.longest, embedding);
        self.replace(push, Vec::new(), pull)
    }

    /// The multipliers behind a bound, as a verifier wants them.
    pub(super) fn proof(&self, lambda: &[f64], bound: &Bound) -> Result<Certificate> {
        let pushes = self.model.push.iter().zip(lambda).map(|(r, l)| (r.i, r.j, true, bound.scale * l));
        let eta = &self.state.eta;
        let pulls = self.model.pull.iter().zip(eta).map(|(r, e)| (r.0, r.1, false, bound.mix.kept * e));
        let pairs = pushes.chain(pulls).filter(|p| p.3 > 0.0);
        let pairs = pairs.map(|(i, j, pushes, l)| SupportPair::new(i as usize, j as usize, pushes, l)).collect();
        let mean = bound.mix.kept * eta[self.model.pull.len()] + bound.mix.mean;
        // No pair shares a multiplier: what tells which ones would does not matter.
        let sides = Metric::new(Matrix::identity(self.cloud.x.cols()))?;
        Ok(Certificate { pairs, mean, ..Certificate::nothing(sides) })
    }
}

/// The longest of the pairs that bound the diameter.
pub(super) fn longest(cloud: &Cloud, settings: &Settings, factor: &Matrix) -> f64 {
    let query = Query { beyond: Beyond::Part(1.0), most: 1, ..Query::plain(settings.variant.bounding()) };
    tight(cloud, &Embedding::new(cloud, factor), &vec![2.0; cloud.len()], 0.0, &query).longest
}

/// Slacks that are feasible for a metric, and not too large.
pub(super) fn first_slacks(cloud: &Cloud, settings: &Settings, factor: &Matrix) -> Vec<f64> {
    let query = Query { beyond: Beyond::Part(1.0), most: 1, ..Query::plain(settings.variant.bounding()) };
    let order = cloud.compacted(factor);
    let long = |order: &Compact| some_long(&order.cloud, &Embedding::new(&order.cloud, factor), query.among);
    let query = query.knowing(order.as_ref().map(long).unwrap_or_default());
    let points = (cloud, order.as_ref());
    let nothing = vec![0.0; cloud.len()];
    // No margin is wider than 2.
    let mut slack = tight_of(points, factor, &nothing, 2.0, &query).feasible(&nothing, &cloud.weight);
    for _ in 0..LOWERED {
        tight_of(points, factor, &slack, 2.0, &query).lower(&mut slack, 2.0);
    }
    slack
}

/// Multipliers with `sum_j lambda_ij <= w_i`: each is scaled down by what the more overloaded of its two points asks for.
pub(crate) fn within_loads(model: &Model, lambda: &[f64]) -> Vec<f64> {
    let part: Vec<f64> =
        model.loads(lambda).iter().zip(&model.weight).map(|(l, w)| if l > w { w / l } else { 1.0 }).collect();
    model.push.iter().zip(lambda).map(|(r, l)| l * part[r.i as usize].min(part[r.j as usize])).collect()
}

/// Multipliers that share each point's weight evenly among its pairs, as far as their other points allow it.
pub(crate) fn even_loads(model: &Model) -> Vec<f64> {
    let count = model.loads(&vec![1.0; model.push.len()]);
    let share = |p: u32| model.weight[p as usize] / count[p as usize];
    model.push.iter().map(|r| share(r.i).min(share(r.j))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairs::pass::Among;

    fn sample(n: usize) -> (Cloud, Vec<f64>) {
        let value = |k: usize| ((k * 7919 % 1013) as f64 / 1013.0 - 0.5) * 3.0;
        let x = Matrix::from_vec(n, 2, (0..2 * n).map(value).collect()).unwrap();
        let class: Vec<u32> = (0..n).map(|i| (i % 3) as u32).collect();
        let weight: Vec<f64> = (0..n).map(|i| 1.0 + (i % 4) as f64).collect();
        let slack = (0..n).map(|i| 0.2 * (i % 5) as f64).collect();
        (Cloud::new(&x, &class, &weight), slack)
    }

    fn margins(cloud: &Cloud, now: &Embedding, slack: &[f64]) -> Vec<Long> {
        let mut out = Vec::new();
        for i in 0..cloud.len() {
            for j in (i + 1..cloud.len()).filter(|&j| cloud.class[i] != cloud.class[j]) {
                out.push((now.squared_distance(i, j) + slack[i] + slack[j] - 2.0, i as u32, j as u32));
            }
        }
        out
    }

    #[test]
    fn feasible_slacks_violate_no_margin_and_lowered_ones_none_either() {
        for n in [40, 400] {
            let (cloud, slack) = sample(n);
            let now = Embedding::new(&cloud, &Matrix::identity(2));
            let query = Query { beyond: Beyond::Part(0.9), most: 5, ..Query::plain(Among::All) };
            let margin = 0.5;
            let found = tight(&cloud, &now, &slack, margin, &query);
            assert_eq!(found.complete, n == 40);
            let all = margins(&cloud, &now, &slack);
            let least = all.iter().map(|t| t.0).fold(f64::INFINITY, f64::min);
            assert!((found.pairs[0].0 - least).abs() < 1e-12);
            let mut feasible = found.feasible(&slack, &cloud.weight);
            assert!(margins(&cloud, &now, &feasible).iter().all(|t| t.0 > -1e-12));
            assert!(feasible.iter().zip(&slack).all(|(f, s)| f >= s));
            let again = tight(&cloud, &now, &feasible, margin, &query);
            again.lower(&mut feasible, margin);
            assert!(margins(&cloud, &now, &feasible).iter().all(|t| t.0 > -1e-12));
            assert!(feasible.iter().all(|s| *s >= 0.0));
        }
    }

    #[test]
    fn the_tightest_margin_of_each_of_many_points_is_that_of_a_loop_in_a_compact_order_too() {
        // Points come twice, with different labels.
        let (cloud, slack) = sample(2_100);
        let mut factor = Matrix::identity(2);
        factor.as_mut_slice().iter_mut().for_each(|v| *v *= 6.0);
        let (margin, now) = (0.5, Embedding::new(&cloud, &factor));
        let mut least = vec![margin; cloud.len()];
        for (z, i, j) in margins(&cloud, &now, &slack) {
            for p in [i as usize, j as usize] {
                least[p] = z.min(least[p]);
            }
        }
        let order = cloud.compacted(&factor).unwrap();
        for among in [Among::All, Among::Same] {
            let pairs = (0..cloud.len()).flat_map(|i| (i + 1..cloud.len()).map(move |j| (i, j)));
            let bounding = pairs.filter(|&(i, j)| among.holds(cloud.class[i] == cloud.class[j]));
            let longest = bounding.map(|(i, j)| now.squared_distance(i, j)).fold(0.0, f64::max);
            let query = Query { beyond: Beyond::Part(0.9), most: 5, ..Query::plain(among) };
            let query = query.knowing(some_long(&cloud, &now, among));
            for order in [None, Some(&order)] {
                let found = tight_of((&cloud, order), &factor, &slack, margin, &query);
                let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-10;
                assert!(found.least(cloud.len(), margin).iter().zip(&least).all(close));
                assert!(close((&found.longest, &longest)) && close((&found.far[0].0, &longest)));
                let (_, i, j) = found.far[0];
                assert!(i < j && close((&now.squared_distance(i as usize, j as usize), &longest)));
                assert!(found.pairs.iter().all(|t| cloud.class[t.1 as usize] < cloud.class[t.2 as usize]));
            }
        }
    }

    #[test]
    fn scaled_multipliers_keep_to_the_weights_of_their_rows() {
        let (cloud, slack) = sample(40);
        let now = Embedding::new(&cloud, &Matrix::identity(2));
        let query = Query::plain(Among::All);
        let push = tight(&cloud, &now, &slack, 0.5, &query).push(&cloud);
        let lambda: Vec<f64> = (0..push.len()).map(|k| 0.1 * (k % 9) as f64).collect();
        let model = Model { push, weight: cloud.weight.clone(), ..Model::empty(1.0, Matrix::identity(2)) };
        let scaled = within_loads(&model, &lambda);
        assert!(scaled.iter().zip(&lambda).all(|(s, l)| *s <= *l && *s >= 0.0));
        let loads = model.loads(&scaled);
        assert!(loads.iter().zip(&model.weight).all(|(l, w)| *l <= w * (1.0 + 1e-12)));
        assert!(model.loads(&lambda).iter().zip(&model.weight).any(|(l, w)| l > w));
    }
}
