use super::Among;
use crate::pairs::{Cloud, Embedding, Kind, Pass, Question, Run, Stretch, ask};
use serde::{Deserialize, Serialize};

/// Maxima that go side by side, so that one comparison need not wait for the one before.
const LANES: usize = 8;
/// Long pairs that [`longer`] lists, about: more would take more memory than they are worth.
const LONGER: usize = 400_000;
/// Lists are cut where they are this many times as long as wanted.
const UNCUT: usize = 8;

/// A pair with its squared distance.
pub(crate) type Long = (f64, u32, u32);

/// Which pairs a solver wants to know of.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Query {
    /// The pairs that bound the diameter.
    pub(crate) among: Among,
    /// Different-label pairs with a length inside are listed.
    pub(crate) window: (f64, f64),
    /// Of the pairs that bound the diameter those beyond this are listed, ...
    pub(crate) beyond: Beyond,
    /// ... at most this many of them, the longest.
    pub(crate) most: usize,
    /// Pairs below this length are surely neither the longest nor listed: see [`Query::knowing`].
    pub(crate) known: f64,
}

impl Query {
    /// Lists nothing: only sums and the longest pair are wanted.
    pub(crate) fn plain(among: Among) -> Self {
        Self { among, window: (0.0, 0.0), beyond: Beyond::Length(f64::INFINITY), most: 0, known: 0.0 }
    }

    /// The same where some of the pairs are known to be so long: shorter ones than the longest of these, in as far as the query
    /// wants no more, need not be looked at.
    pub(crate) fn knowing(self, mut lengths: Vec<f64>) -> Self {
        /// What rounding may have made of the lengths.
        const SURE: f64 = 1.0 - 1e-9;
        lengths.sort_unstable_by(|a, b| b.total_cmp(a));
        lengths.dedup_by(|a, b| same_length(*a, *b));
        let longest = lengths.first().copied().unwrap_or(0.0);
        let nth = lengths.get(self.most.saturating_sub(1)).copied().unwrap_or(0.0);
        let known = match self.beyond {
            Beyond::Part(part) => nth.max(part * longest),
            // Only the longest pairs of each point are listed: which, no list tells.
            Beyond::Length(least) => longest.min(least),
        };
        Self { known: (SURE * known).max(0.0), ..self }
    }

    /// Whether none of these pairs is surely wanted as a long one.
    pub(crate) fn passes_over(&self, pairs: &Stretch) -> bool {
        !self.among.may_hold(pairs.kind) || pairs.bounds.most < self.known
    }
}

/// Pairs of this length and above are long.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) enum Beyond {
    /// This length; of each point only the longest pairs are listed, two for each row of tiles.
    Length(f64),
    /// This part of the longest; all pairs are listed.
    Part(f64),
}

/// The longest pairs found so far.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Far {
    pub(crate) longest: f64,
    pub(crate) pairs: Vec<Long>,
    /// So many pairs are listed already that shorter ones are not wanted.
    floor: f64,
    /// The longest pair of each point from the left block on, as a right one; empty once the row of tiles is complete.
    columns: Vec<(f64, u32)>,
}

/// Lengths of a few pairs that are among the longest of those that bound the diameter: from a point of each class, or of all, to the
/// one farthest from it, and on from there.
pub(crate) fn some_long(cloud: &Cloud, embedding: &Embedding, among: Among) -> Vec<f64> {
    const SWEEPS: usize = 3;
    let groups = if among == Among::All { std::iter::once(0..cloud.len()).collect() } else { cloud.classes() };
    let mut out = Vec::with_capacity(SWEEPS * groups.len());
    for group in groups {
        let mut from = group.start;
        for _ in 0..SWEEPS {
            let lengths = group.clone().map(|j| (embedding.squared_distance(from, j), j));
            let Some(far) = lengths.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1))) else { break };
            out.push(far.0);
            from = far.1;
        }
    }
    out
}

/// The least of some lengths; infinity if there are none.
pub(crate) fn shortest(rho: &[f64]) -> f64 {
    let mut lanes = [f64::INFINITY; LANES];
    let (chunks, rest) = rho.as_chunks::<LANES>();
    lanes.iter_mut().zip(rest).for_each(|(m, &r)| *m = if r > *m { *m } else { r });
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(m, &r)| *m = if r > *m { *m } else { r });
    }
    lanes.iter().fold(f64::INFINITY, |m: f64, &r| if r > m { m } else { r })
}

/// The largest of some lengths; zero if none is positive.
pub(crate) fn longest(rho: &[f64]) -> f64 {
    let mut lanes = [0.0f64; LANES];
    let (chunks, rest) = rho.as_chunks::<LANES>();
    lanes.iter_mut().zip(rest).for_each(|(m, &r)| *m = if r > *m { r } else { *m });
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(m, &r)| *m = if r > *m { r } else { *m });
    }
    lanes.iter().fold(0.0, |m: f64, &r| if r > m { r } else { m })
}

impl Far {
    /// Takes in some pairs.
    pub(crate) fn visit(&mut self, query: &Query, cloud: &Cloud, run: &Run<'_>) {
        if !query.among.holds(run.same) {
            return;
        }
        let most = longest(run.rho);
        self.longest = self.longest.max(most);
        let least = match query.beyond {
            Beyond::Length(least) => least,
            Beyond::Part(part) => self.floor.max(part * self.longest),
        };
        if most > least {
            match query.beyond {
                Beyond::Length(_) => self.add_longest(least, cloud, run),
                Beyond::Part(_) => self.add_all(least, query.most, run),
            }
        }
    }
}

impl Far {
    /// The longest pair of the run, and of each of its right points.
    fn add_longest(&mut self, least: f64, cloud: &Cloud, run: &Run<'_>) {
        self.columns.resize(cloud.len(), (least, 0));
        let mut longest = (least, 0);
        for (k, (&r, column)) in run.rho.iter().zip(&mut self.columns[run.j0..]).enumerate() {
            if r > longest.0 {
                longest = (r, run.j0 + k);
            }
            if r > column.0 {
                *column = (r, run.i as u32);
            }
        }
        self.pairs.push((longest.0, run.i as u32, longest.1 as u32));
    }

    fn add_all(&mut self, least: f64, most: usize, run: &Run<'_>) {
        let found = run.rho.iter().enumerate().filter(|(_, r)| **r > least);
        self.pairs.extend(found.map(|(k, &r)| (r, run.i as u32, (run.j0 + k) as u32)));
        if self.pairs.len() > UNCUT * most {
            keep_longest(&mut self.pairs, most);
            if self.pairs.len() == most {
                self.floor = self.pairs[most - 1].0;
            }
        }
    }

    /// The row of tiles is complete.
    pub(crate) fn end(&mut self, query: &Query) {
        if let Beyond::Length(least) = query.beyond {
            let found = self.columns.iter().enumerate().filter(|(_, c)| c.0 > least);
            self.pairs.extend(found.map(|(j, &(r, i))| (r, i, j as u32)));
            self.columns = Vec::new();
        }
        keep_longest(&mut self.pairs, query.most);
    }

    /// Takes in what the next row of tiles has found.
    pub(crate) fn merge(&mut self, mut next: Self) {
        self.longest = self.longest.max(next.longest);
        self.pairs.append(&mut next.pairs);
    }

    /// All rows of tiles are merged: the longest pairs in descending order.
    pub(crate) fn finish(&mut self, query: &Query) {
        keep_longest(&mut self.pairs, query.most);
        if let Beyond::Part(part) = query.beyond {
            let least = part * self.longest;
            self.pairs.retain(|f| f.0 > least);
        }
    }
}

/// The longest of the listed pairs in descending order; of equal lengths, which are mostly equal differences of discrete
/// features, only the first.
pub(crate) fn keep_longest(far: &mut Vec<Long>, most: usize) {
    // With many features most pairs are nearly as long as the longest: few of them need to be put in order.
    let some = most.saturating_mul(4);
    if far.len() > some && some > 0 {
        far.select_nth_unstable_by(some, descending);
        let mut top = far[..some].to_vec();
        sort_distinct(&mut top);
        if top.len() >= most {
            *far = top;
        }
    }
    sort_distinct(far);
    far.truncate(most);
}

fn descending(a: &Long, b: &Long) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2)))
}

fn sort_distinct(far: &mut Vec<Long>) {
    far.sort_unstable_by(descending);
    far.dedup_by(|a, b| same_length(a.0, b.0));
}

/// Lengths that differ by less than this part are equal up to rounding, which a sum of squares of many features multiplies.
const SAME: f64 = 1e-11;

/// Whether two lengths agree up to rounding.
pub(crate) fn same_length(a: f64, b: f64) -> bool {
    (a - b).abs() <= SAME * a.max(b)
}

/// Pairs that exceed a length.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Longer {
    pub(super) among: Among,
    pub(super) length: f64,
    /// At most this many of a row of tiles, the first.
    pub(super) most: usize,
}

impl Pass for Longer {
    type Part = Vec<(u32, u32)>;

    fn wanted(&self, kind: Kind) -> bool {
        self.among.may_hold(kind)
    }

    fn screened(&self) -> bool {
        true
    }

    fn skips(&self, pairs: &Stretch) -> bool {
        pairs.bounds.most < self.length
    }

    fn visit(&self, part: &mut Self::Part, run: Run<'_>) {
        if self.among.holds(run.same) {
            let long = run.rho.iter().enumerate().filter(|(_, r)| **r > self.length);
            let room = self.most.saturating_sub(part.len());
            part.extend(long.take(room).map(|(k, _)| (run.i as u32, (run.j0 + k) as u32)));
        }
    }

    fn merge(&self, into: &mut Self::Part, mut next: Self::Part) {
        into.append(&mut next);
    }
}

/// Different-label pairs below a length.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Shorter {
    pub(super) length: f64,
    /// At most this many of a row of tiles, the first.
    pub(super) most: usize,
}

impl Pass for Shorter {
    type Part = Vec<(u32, u32)>;

    fn wanted(&self, kind: Kind) -> bool {
        kind != Kind::Same
    }

    fn screened(&self) -> bool {
        true
    }

    fn skips(&self, pairs: &Stretch) -> bool {
        pairs.bounds.least > self.length
    }

    fn visit(&self, part: &mut Self::Part, run: Run<'_>) {
        if !run.same && shortest(run.rho) < self.length {
            let short = run.rho.iter().enumerate().filter(|(_, r)| **r < self.length);
            let room = self.most.saturating_sub(part.len());
            part.extend(short.take(room).map(|(k, _)| (run.i as u32, (run.j0 + k) as u32)));
        }
    }

    fn merge(&self, into: &mut Self::Part, mut next: Self::Part) {
        into.append(&mut next);
    }
}

impl Question for Longer {
    const NAME: &'static str = "longer pairs";
    type Part = Vec<(u32, u32)>;
    type Pass<'a> = Self;

    fn pass<'a>(&'a self, _: &'a Cloud, _: &[&'a Embedding]) -> Self {
        *self
    }
}

impl Question for Shorter {
    const NAME: &'static str = "shorter pairs";
    type Part = Vec<(u32, u32)>;
    type Pass<'a> = Self;

    fn pass<'a>(&'a self, _: &'a Cloud, _: &[&'a Embedding]) -> Self {
        *self
    }
}

/// The different-label pairs below a length; where there are very many, the first of each row of tiles.
pub(crate) fn shorter(cloud: &Cloud, embedding: &Embedding, length: f64) -> Vec<(u32, u32)> {
    let most = (LONGER / cloud.tile_rows().max(1)).max(1);
    ask(cloud, &[embedding], &Shorter { length, most }).0
}

/// The pairs that exceed a length; where there are very many, the first of each row of tiles.
pub(crate) fn longer(cloud: &Cloud, embedding: &Embedding, among: Among, length: f64) -> Vec<(u32, u32)> {
    let most = (LONGER / cloud.tile_rows().max(1)).max(1);
    ask(cloud, &[embedding], &Longer { among, length, most }).0
}
