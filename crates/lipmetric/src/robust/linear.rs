//! The point nearest to the origin that satisfies linear inequalities, in `linf` or `l1`: a dual simplex method.
//!
//! In `l1` each feature of the step pays its size, and stays at 0 unless the inequalities need it. In `linf` the step is `u / tau`
//! with `u` in the cube from -1 to 1, and `tau` is made large; a feature stays at a side of the cube unless the inequalities need
//! it elsewhere. So a feature is either at rest or *free*, and the free ones (with `tau`) are determined by the *active*
//! inequalities, as many as they are. The systems are as small as that, whatever the number of features.

use super::ball::Norm;
use super::program::Added;

/// What is no larger than this part of the largest is rounding.
const ROUNDING: f64 = 1e-12;
/// How far a free feature may be where it does not belong, as a part of the whole.
const ASTRAY: f64 = 1e-11;

/// An inequality `normal . v >= bound` that holds with equality; the normal has dual length 1.
#[derive(Debug, Clone)]
struct Active {
    id: usize,
    normal: Vec<f64>,
    bound: f64,
    multiplier: f64,
}

/// `min |v|` over the inequalities that were added so far. The multipliers are never negative, so that at any time they prove
/// how long `v` must be at least.
#[derive(Debug)]
pub(super) struct Linear {
    cube: bool,
    /// The nearest point.
    pub(super) point: Vec<f64>,
    active: Vec<Active>,
    free: Vec<usize>,
    /// The side of the cube where a feature rests, or the sign of a free one that pays.
    side: Vec<f64>,
    /// The sum of the normals, each times its multiplier.
    gradient: Vec<f64>,
    /// `u` and `tau`, or `v` and 1.
    at: Vec<f64>,
    tau: f64,
    /// The largest `tau` there was: what is far below it is zero.
    first_tau: f64,
    /// Multipliers that add up to a normal of zero and a bound above it, once there are such.
    proof: Option<Vec<(usize, f64)>>,
}

/// What a change of the multipliers is for.
enum Entering {
    /// An inequality that the point violates.
    Row(Active),
    /// A free feature that is where it does not belong: its place among the free ones.
    Rest(usize),
}

/// What ends a change of the multipliers.
#[derive(Clone, Copy)]
enum Blocked {
    /// The multiplier of an active inequality is zero.
    Row(usize),
    /// This feature becomes free, or the one that leaves changes its sign.
    Feature(usize),
}

impl Linear {
    pub(super) fn new(norm: Norm, dimension: usize) -> Self {
        let zeros = || vec![0.0; dimension];
        Self {
            cube: norm == Norm::Linf,
            point: zeros(),
            active: Vec::new(),
            free: Vec::new(),
            side: zeros(),
            gradient: zeros(),
            at: zeros(),
            tau: 1.0,
            first_tau: 0.0,
            proof: None,
        }
    }

    /// The multipliers, each with the inequality's name.
    pub(super) fn multipliers(&self) -> Vec<(usize, f64)> {
        self.active.iter().map(|a| (a.id, a.multiplier)).collect()
    }

    pub(super) fn holds(&self, id: usize) -> bool {
        self.active.iter().any(|a| a.id == id)
    }

    /// Adds `normal . v >= bound`, which the point violates. The normal has dual length 1.
    pub(super) fn add(&mut self, id: usize, normal: Vec<f64>, bound: f64) -> Added {
        let row = Active { id, normal, bound, multiplier: 0.0 };
        let mut possible = if self.cube && self.active.is_empty() {
            self.begin(row);
            self.place()
        } else {
            self.pivot(Entering::Row(row))
        };
        for _ in 0..50 + 20 * self.at.len() {
            let Some(place) = self.astray().filter(|_| possible) else { break };
            possible = self.pivot(Entering::Rest(place));
        }
        if possible && self.astray().is_none() {
            Added::Moved
        } else {
            Added::Impossible(self.proof.take().unwrap_or_else(|| self.multipliers()))
        }
    }

    /// The first inequality of the cube: its corner that satisfies it best.
    fn begin(&mut self, mut row: Active) {
        row.multiplier = 1.0 / row.bound;
        self.side = row.normal.iter().map(|v| if *v < 0.0 { -1.0 } else { 1.0 }).collect();
        self.active.push(row);
    }

    /// The column of `tau` in the system of the active rows, after those of the free features.
    fn entries<'a>(&'a self, row: &'a Active) -> impl Iterator<Item = f64> + 'a {
        self.free.iter().map(move |&k| row.normal[k]).chain(self.cube.then_some(-row.bound))
    }

    /// The point and the gradient of the active rows and free features; false where they do not determine it.
    fn place(&mut self) -> bool {
        self.gradient.fill(0.0);
        for row in &self.active {
            self.gradient.iter_mut().zip(&row.normal).for_each(|(g, n)| *g += row.multiplier * n);
        }
        self.at.fill(0.0);
        if self.cube {
            self.at.copy_from_slice(&self.side);
            for &k in &self.free {
                self.at[k] = 0.0;
            }
        }
        let right = self.active.iter().map(|a| if self.cube { -dot(&a.normal, &self.at) } else { a.bound }).collect();
        let rows = self.active.iter().map(|a| self.entries(a).collect()).collect();
        let Some(found) = solve(rows, right) else { return false };
        for (&k, v) in self.free.iter().zip(&found) {
            self.at[k] = *v;
        }
        if self.cube {
            self.tau = found[self.free.len()];
            self.first_tau = self.first_tau.max(self.tau);
            if self.tau <= ROUNDING * self.first_tau {
                return false;
            }
        }
        self.point = self.at.iter().map(|v| v / self.tau).collect();
        true
    }

    /// The free feature that is farthest from where it belongs, by its place.
    fn astray(&self) -> Option<usize> {
        let size = if self.cube { 1.0 } else { self.at.iter().map(|v| v.abs()).sum() };
        let wrong = |k: usize| if self.cube { self.at[k].abs() - 1.0 } else { -self.side[k] * self.at[k] };
        let all = self.free.iter().map(|&k| wrong(k)).enumerate();
        all.filter(|(_, by)| *by > ASTRAY * size).max_by(|a, b| a.1.total_cmp(&b.1)).map(|(place, _)| place)
    }

    /// Changes the multipliers as far as they stay valid, and then what is active and free; false where there is no end to it.
    fn pivot(&mut self, entering: Entering) -> bool {
        let right: Vec<f64> = match &entering {
            Entering::Row(row) => self.entries(row).map(|v| -v).collect(),
            Entering::Rest(place) => {
                let mut right = vec![0.0; self.active.len()];
                right[*place] = self.at[self.free[*place]].signum();
                right
            }
        };
        let rows: Vec<Vec<f64>> = self.active.iter().map(|a| self.entries(a).collect()).collect();
        let Some(change) = solve(transposed(&rows), right) else { return false };
        let mut turn = match &entering {
            Entering::Row(row) => row.normal.clone(),
            Entering::Rest(_) => vec![0.0; self.at.len()],
        };
        let mut sizes: Vec<f64> = turn.iter().map(|t| t.abs()).collect();
        for (row, by) in self.active.iter().zip(&change) {
            turn.iter_mut().zip(&row.normal).for_each(|(t, n)| *t += by * n);
            sizes.iter_mut().zip(&row.normal).for_each(|(s, n)| *s += (by * n).abs());
        }
        if !self.cube {
            // No feature begins to pay by what rounding leaves of a sum that is zero.
            turn.iter_mut().zip(&sizes).filter(|(t, s)| t.abs() <= ROUNDING * **s).for_each(|(t, _)| *t = 0.0);
        }
        let leaving = if let Entering::Rest(place) = entering { Some(self.free.remove(place)) } else { None };
        let slope = match &entering {
            Entering::Row(row) => row.bound * self.tau - dot(&row.normal, &self.at),
            Entering::Rest(_) => leaving.map_or(0.0, |k| self.at[k].abs() - 1.0),
        };
        if let (true, Some(k)) = (self.cube, leaving) {
            self.side[k] = self.at[k].signum();
            self.gradient[k] = 0.0;
        }
        let by_row = self.first_row(&change);
        let by_feature =
            if self.cube { self.last_flip(&turn, slope, by_row.1, leaving) } else { self.first_payer(&turn) };
        let (blocked, step) = if by_feature.1 <= by_row.1 { by_feature } else { by_row };
        let Some(blocked) = blocked else {
            let own = if let Entering::Row(row) = entering { Some((row.id, 1.0)) } else { None };
            let others = self.active.iter().zip(&change).map(|(row, by)| (row.id, by.max(0.0)));
            self.proof = Some(others.chain(own).collect());
            return false;
        };
        for (row, by) in self.active.iter_mut().zip(&change) {
            row.multiplier = (row.multiplier + step * by).max(0.0);
        }
        match blocked {
            Blocked::Row(place) => drop(self.active.remove(place)),
            Blocked::Feature(k) => {
                if !self.cube {
                    self.side[k] = turn[k].signum();
                }
                self.free.push(k);
            }
        }
        if let Entering::Row(row) = entering {
            self.active.push(Active { multiplier: step, ..row });
        }
        self.place()
    }

    /// The active row whose multiplier is zero first.
    fn first_row(&self, change: &[f64]) -> (Option<Blocked>, f64) {
        let least = ROUNDING * largest(change);
        let mut first = (None, f64::INFINITY);
        for (place, (row, by)) in self.active.iter().zip(change).enumerate() {
            if *by < -least && row.multiplier / -by < first.1 {
                first = (Some(Blocked::Row(place)), row.multiplier / -by);
            }
        }
        first
    }

    /// In `l1`: the resting feature for which it first pays to move.
    fn first_payer(&self, turn: &[f64]) -> (Option<Blocked>, f64) {
        let least = ROUNDING * largest(turn);
        let mut first = (None, f64::INFINITY);
        for (k, by) in turn.iter().enumerate().filter(|(_, by)| by.abs() > least) {
            let step = (1.0 - by.signum() * self.gradient[k]).max(0.0) / by.abs();
            if step < first.1 && !self.free.contains(&k) {
                first = (Some(Blocked::Feature(k)), step);
            }
        }
        first
    }

    /// In `linf`: features change their side of the cube one after another, up to the one after which the change is of no more
    /// use. None does beyond `end`.
    fn last_flip(&mut self, turn: &[f64], slope: f64, end: f64, leaving: Option<usize>) -> (Option<Blocked>, f64) {
        let least = ROUNDING * largest(turn);
        let turns = |k: usize| self.side[k] * turn[k] < -least && Some(k) != leaving && !self.free.contains(&k);
        let at = |k: usize| (self.side[k] * self.gradient[k]).max(0.0) / turn[k].abs();
        let mut flips: Vec<(f64, usize)> = (0..turn.len()).filter(|&k| turns(k)).map(|k| (at(k), k)).collect();
        flips.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut rest = slope;
        for (step, k) in flips {
            if step > end {
                break;
            }
            rest -= 2.0 * turn[k].abs();
            if rest <= 0.0 {
                return (Some(Blocked::Feature(k)), step);
            }
            self.side[k] = -self.side[k];
        }
        (None, f64::INFINITY)
    }
}

fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |most, x| x.abs().max(most))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn transposed(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    (0..rows.len()).map(|c| rows.iter().map(|row| row[c]).collect()).collect()
}

/// The solution of a square system by elimination; none where it is singular but for rounding.
fn solve(mut rows: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let n = right.len();
    let sizes: Vec<f64> = (0..n).map(|c| rows.iter().fold(0.0, |most: f64, row| row[c].abs().max(most))).collect();
    for c in 0..n {
        let best = (c..n).max_by(|&a, &b| rows[a][c].abs().total_cmp(&rows[b][c].abs()))?;
        if rows[best][c].abs() <= ROUNDING * sizes[c] {
            return None;
        }
        rows.swap(c, best);
        right.swap(c, best);
        let (above, below) = rows.split_at_mut(c + 1);
        let pivot = &above[c];
        for (r, row) in below.iter_mut().enumerate() {
            let part = row[c] / pivot[c];
            if part != 0.0 {
                row[c..].iter_mut().zip(&pivot[c..]).for_each(|(v, p)| *v -= part * p);
                right[c + 1 + r] -= part * right[c];
            }
        }
    }
    for c in (0..n).rev() {
        right[c] = (right[c] - dot(&rows[c][c + 1..], &right[c + 1..])) / rows[c][c];
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn length(norm: Norm, v: &[f64]) -> f64 {
        if norm == Norm::Linf { largest(v) } else { v.iter().map(|x| x.abs()).sum() }
    }

    /// Random inequalities with a common point, or with none.
    fn inequalities(p: usize, n: usize, possible: bool, rng: &mut ChaCha8Rng) -> Vec<(Vec<f64>, f64)> {
        let mut draw = |by: f64| by * (2.0 * rng.random::<f64>() - 1.0);
        let inside: Vec<f64> = (0..p).map(|_| draw(3.0)).collect();
        // Coarse numbers make ties.
        let mut row = || (0..p).map(|_| (2.0 * draw(1.6)).round() / 2.0).collect::<Vec<f64>>();
        let mut all: Vec<(Vec<f64>, f64)> = (0..n).map(|_| row()).map(|r| (r.clone(), dot(&r, &inside))).collect();
        if !possible {
            let first = all[0].0.clone();
            all.push((first.iter().map(|v| -v).collect(), 1.0 - all[0].1));
        }
        all.retain(|(r, _)| largest(r) > 0.0);
        all
    }

    #[test]
    fn the_nearest_point_satisfies_all_and_the_multipliers_prove_that_none_is_nearer() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let (mut reached, mut refused) = (0, 0);
        for trial in 0..600 {
            let (p, n) = (1 + trial % 9, 1 + trial % 31);
            let norm = if trial % 2 == 0 { Norm::Linf } else { Norm::L1 };
            let possible = trial % 5 != 0;
            let mut all = inequalities(p, n, possible, &mut rng);
            for (row, bound) in &mut all {
                let size = norm.dual(row.iter().copied());
                row.iter_mut().for_each(|v| *v /= size);
                *bound /= size;
            }
            let mut program = Linear::new(norm, p);
            let mut end = None;
            let proved_by = |multipliers: &[(usize, f64)]| {
                let sum = (0..p).map(|k| multipliers.iter().map(|(i, y)| y * all[*i].0[k]).sum::<f64>());
                let worth: f64 = multipliers.iter().map(|(i, y)| y * all[*i].1).sum();
                if worth == 0.0 { 0.0 } else { worth / norm.dual(sum) }
            };
            for _ in 0..400 {
                let short = |(row, bound): &(Vec<f64>, f64)| bound - dot(row, &program.point);
                let worst = (0..all.len()).max_by(|&a, &b| short(&all[a]).total_cmp(&short(&all[b])));
                let Some(worst) = worst.filter(|&w| short(&all[w]) > 1e-10) else {
                    end = Some(true);
                    break;
                };
                if let Added::Impossible(proof) = program.add(worst, all[worst].0.clone(), all[worst].1) {
                    assert!(proof.iter().all(|(_, y)| *y >= 0.0));
                    let far = proved_by(&proof);
                    assert!(far > 1e9, "{trial} {norm} {p} {n}: only {far} is proved");
                    end = Some(false);
                    break;
                }
            }
            let multipliers = program.multipliers();
            assert!(multipliers.iter().all(|(_, y)| *y >= 0.0));
            let proved = proved_by(&multipliers);
            match end {
                Some(true) => {
                    let found = length(norm, &program.point);
                    assert!((found - proved).abs() <= 1e-8 * (1.0 + found), "{trial} {norm}: {found} {proved}");
                    reached += 1;
                }
                Some(false) => {
                    assert!(!possible, "{trial} {norm} {p} {n}: there is a point");
                    refused += 1;
                }
                None => panic!("{trial} {norm} {p} {n}: the active set does not settle"),
            }
        }
        assert!(reached >= 480 && refused > 60, "{reached} {refused}");
    }
}
