//! How far a majority vote of the nearest rows holds.

use super::search::{Supporting, Tally, search};
use super::sites::View;
use crate::Labels;

/// The radius within which the vote of the `k` nearest rows, each with one vote, stays with the class `label`.
///
/// Let `e_ij` be the distance to the hyperplane between a row `i` of the class and an opposing row `j`. At a point where the
/// class has `t` of the `k` votes, `k - t` opposing rows are nearer than all but `t` of its own. For each of these `j`, of any
/// `t + 1` own rows one is not nearer, so that the point is beyond the `(t + 1)`-th largest `e_ij`; with `k - t` such rows, it is
/// beyond the `(k - t)`-th smallest of those. Another class `b` wins there only if
///
/// - it has more than `t` votes: beyond the `(t + 1)`-th smallest over its own rows as well; or
/// - it has `t`, and its nearest row is nearer than all own rows, which is how ties are broken: beyond the `t`-th smallest, and
///   beyond the least of the largest `e_ij` over its rows.
///
/// It also has its share of the opposing votes at least. The radius is the least over `t` from 0 to `k / 2`. With two classes
/// and an odd `k` that is the `s`-th smallest over `j` of the `s`-th largest over `i`, `s = (k + 1) / 2`.
pub(crate) fn vote_radius(view: &View<'_>, labels: &Labels, members: &[Vec<usize>], label: u32, k: usize) -> f64 {
    let codes = labels.codes();
    let ids = |own: bool| (0..view.sites().len() as u32).filter(move |&i| (codes[i as usize] == label) == own);
    let opposing: Vec<u32> = ids(false).collect();
    if opposing.is_empty() {
        return f64::INFINITY;
    }
    let sizes = members.iter().enumerate().map(|(class, rows)| if class == label as usize { 0 } else { rows.len() });
    let mut votes = Votes::new(codes, sizes.collect(), k);
    let mut supporting = Supporting::new(ids(true).collect());
    search(view, &mut supporting, &opposing, &mut votes);
    let radius = votes.level();
    if k == 1 { radius.max(by_triangles(view, &mut supporting, &opposing)) } else { radius }
}

/// Half the difference of the distances to the nearest rows, as a step of the ball. Hyperplanes are never nearer, but for
/// rounding.
fn by_triangles(view: &View<'_>, supporting: &mut Supporting, opposing: &[u32]) -> f64 {
    let Some(own) = supporting.get(0, view) else { return 0.0 };
    let nearest = opposing.iter().min_by(|a, b| view.low[**a as usize].total_cmp(&view.low[**b as usize]));
    let Some(&other) = nearest else { return f64::INFINITY };
    let ((same, rounding), (other, more)) = (view.distance(own), view.distance(other as usize));
    view.sites().ball().of_learned(((other - same - rounding - more) / 2.0).max(0.0))
}

/// The least values that were offered, ascending.
#[derive(Debug, Clone)]
struct Smallest {
    most: usize,
    values: Vec<f64>,
}

impl Smallest {
    fn new(most: usize) -> Self {
        Self { most, values: Vec::new() }
    }

    fn offer(&mut self, value: f64) {
        if self.values.len() == self.most {
            if self.values.last().is_none_or(|&last| value >= last) {
                return;
            }
            self.values.pop();
        }
        let place = self.values.partition_point(|v| *v <= value);
        self.values.insert(place, value);
    }

    /// The `rank`-th smallest, from 1; infinite where there are fewer.
    fn get(&self, rank: usize) -> f64 {
        self.values.get(rank - 1).copied().unwrap_or(f64::INFINITY)
    }
}

/// Order statistics of the hyperplanes, for every number of votes `t` that the class may keep.
struct Votes<'a> {
    codes: &'a [u32],
    k: usize,
    /// The number of opposing classes that have rows.
    rivals: usize,
    /// Over all opposing rows, by `t`.
    all: Vec<Smallest>,
    /// The same over the rows of each class.
    by_class: Vec<Vec<Smallest>>,
    level: f64,
}

impl<'a> Votes<'a> {
    fn new(codes: &'a [u32], sizes: Vec<usize>, k: usize) -> Self {
        let kept = || 0..=k / 2;
        let rivals = sizes.iter().filter(|n| **n > 0).count();
        let needed = |t: usize| share(k - t, rivals).max(t + 1);
        let class = |n: &usize| if *n == 0 { Vec::new() } else { kept().map(|t| Smallest::new(needed(t))).collect() };
        let by_class = sizes.iter().map(class).collect();
        let all = kept().map(|t| Smallest::new(k - t)).collect();
        Self { codes, k, rivals, all, by_class, level: f64::INFINITY }
    }

    /// How near class `b` may win while the predicted one keeps `t` votes.
    fn rival(&self, b: &[Smallest], t: usize) -> f64 {
        let least = share(self.k - t, self.rivals);
        if least > t {
            return b[t].get(least);
        }
        // More votes than the class has, or as many and the nearest row.
        let more = if 2 * t < self.k { b[t].get(t + 1) } else { f64::INFINITY };
        more.min(b[t].get(t).max(b[0].get(1)))
    }

    fn radius(&self) -> f64 {
        let kept = |t: usize| {
            let rivals = self.by_class.iter().filter(|b| !b.is_empty()).map(|b| self.rival(b, t));
            self.all[t].get(self.k - t).max(rivals.fold(f64::INFINITY, f64::min))
        };
        (0..=self.k / 2).map(kept).fold(f64::INFINITY, f64::min)
    }
}

/// The votes that the strongest of some classes has at least.
fn share(votes: usize, classes: usize) -> usize {
    votes.div_ceil(classes.max(1)).max(1)
}

impl Tally for Votes<'_> {
    fn depth(&self) -> usize {
        self.k / 2 + 1
    }

    fn level(&self) -> f64 {
        self.level
    }

    fn add(&mut self, j: usize, farthest: &[f64], _: &mut Supporting, _: &View<'_>) {
        let class = &mut self.by_class[self.codes[j] as usize];
        for ((value, all), own) in farthest.iter().zip(&mut self.all).zip(class) {
            all.offer(*value);
            own.offer(*value);
        }
        self.level = self.level.min(self.radius());
    }
}
