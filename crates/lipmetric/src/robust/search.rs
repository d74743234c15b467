//! Of all opposing rows, those whose hyperplanes can decide the radius.

use super::sites::View;

/// Rows that are sorted at first; then ever more.
const FIRST: usize = 64;

/// The rows that support the predicted class, least term first, sorted only as far as they are asked for.
#[derive(Debug)]
pub(crate) struct Supporting {
    sorted: Vec<u32>,
    rest: Vec<u32>,
}

impl Supporting {
    pub(crate) fn new(rows: Vec<u32>) -> Self {
        Self { sorted: Vec::new(), rest: rows }
    }

    /// The row of the `at`-th least term.
    pub(super) fn get(&mut self, at: usize, view: &View<'_>) -> Option<usize> {
        while at >= self.sorted.len() && !self.rest.is_empty() {
            let by = |a: &u32, b: &u32| view.high[*a as usize].total_cmp(&view.high[*b as usize]).then(a.cmp(b));
            let next = self.sorted.len().max(FIRST).min(self.rest.len());
            if next < self.rest.len() {
                self.rest.select_nth_unstable_by(next, by);
            }
            let begin = self.sorted.len();
            self.sorted.extend(self.rest.drain(..next));
            self.sorted[begin..].sort_unstable_by(by);
        }
        self.sorted.get(at).map(|&i| i as usize)
    }
}

/// What becomes of the hyperplanes to the opposing rows.
pub(crate) trait Tally {
    /// How many of the farthest hyperplanes to a row count.
    fn depth(&self) -> usize;

    /// The radius as it stands: rows whose `depth`-th farthest hyperplane is not nearer cannot matter.
    fn level(&self) -> f64;

    /// The `depth` farthest hyperplanes to the opposing row `j`, farthest first.
    fn add(&mut self, j: usize, farthest: &[f64], supporting: &mut Supporting, view: &View<'_>);
}

/// Offers every opposing row that can matter to the tally, the most promising first.
pub(crate) fn search(view: &View<'_>, supporting: &mut Supporting, opposing: &[u32], tally: &mut impl Tally) {
    let depth = tally.depth();
    // The hyperplanes from the nearest supporting rows alone, by the triangle inequality of their normals.
    let (mut high, mut reach) = (f64::INFINITY, f64::INFINITY);
    if supporting.get(depth - 1, view).is_some() {
        high = f64::NEG_INFINITY;
        reach = 0.0;
        for i in (0..depth).filter_map(|at| supporting.get(at, view)) {
            high = high.max(view.high[i]);
            reach = reach.max(view.reach[i]);
        }
    }
    let bound = |&j: &u32| (view.hyperplane_from(high, reach, j as usize), j);
    let mut waiting: Vec<(f64, u32)> = opposing.iter().map(bound).collect();
    let by = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    let mut farthest = vec![0.0; depth];
    let mut next = FIRST;
    while !waiting.is_empty() {
        let part = next.min(waiting.len());
        if part < waiting.len() {
            waiting.select_nth_unstable_by(part, by);
        }
        waiting[..part].sort_unstable_by(by);
        for &(bound, j) in &waiting[..part] {
            if bound >= tally.level() {
                return;
            }
            hyperplanes(view, supporting, j as usize, tally.level(), &mut farthest);
            if farthest[depth - 1] < tally.level() {
                tally.add(j as usize, &farthest, supporting, view);
            }
        }
        waiting.drain(..part);
        waiting.retain(|w| w.0 < tally.level());
        next *= 2;
    }
}

/// The farthest hyperplanes between `j` and a supporting row. It may end early where all of them reach `enough`.
fn hyperplanes(view: &View<'_>, supporting: &mut Supporting, j: usize, enough: f64, farthest: &mut [f64]) {
    farthest.fill(0.0);
    let last = farthest.len() - 1;
    let mut at = 0;
    while let Some(i) = supporting.get(at, view) {
        at += 1;
        let gap = view.low[j] - view.high[i];
        if gap <= 0.0 {
            return; // No later row has a lesser term.
        }
        // The normal is at least as long as its ends are differently far from the query.
        if gap < 2.0 * farthest[last] * (view.reach[i] - view.reach[j]).abs() * (1.0 - 1e-9) {
            continue;
        }
        let found = view.hyperplane(i, j);
        if found > farthest[last] {
            let place = farthest.partition_point(|f| *f >= found);
            farthest[place..].rotate_right(1);
            farthest[place] = found;
            if farthest[last] >= enough {
                return;
            }
        }
    }
}
