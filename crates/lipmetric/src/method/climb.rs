//! Certified distances of near triplets, and the ascent that makes them large.
//!
//! For a row `x`, a row `i` of its class and a row `j` of another, the hyperplane where the two are equally near lies at
//! `eps = (rho(x, x_j) - rho(x, x_i)) / (2 |M (x_i - x_j)|)`: no shorter Euclidean step makes `j` the nearer one. It is negative where
//! `j` is nearer already, and does not change with the scale of `M`.

use super::Training;
use super::start::{Begin, Init, coordinates, note_collapse, notes_on};
use super::{Fit, Outcome};
use crate::neighbours::{NeighbourIndex, squared_distance};
use crate::problem::Coordinates;
use crate::solver::{Halt, Kept, Observer, Progress, Status, Termination, Translated, row};
use crate::{Error, Matrix, Metric, Result, linalg};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::ops::ControlFlow;

/// The metric lives in this many directions, at most.
const DIMENSIONS: usize = 100;
/// So many rows of its own class, and so many of others, are near a row.
const NEAR: usize = 10;
/// Steps after which neighbours are searched again and the held-out rows are looked at.
const ROUND: usize = 10;
/// Rounds without a better result on the held-out rows after which the ascent ends.
const PATIENCE: usize = 8;
/// One row of so many is held out.
const HELD_OUT: usize = 5;
/// So many rows, at most, are learned from between two searches for neighbours, and so many are held out.
const SAMPLE: usize = 2000;
/// The minimum over near rows of other classes is softened by this part of the largest distance that counts.
const SOFT: f64 = 0.1;
/// How far a step moves each element of the factor, at most and relative to the start's largest.
const STEP: f64 = 0.02;

/// What is made large.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Aim {
    /// The mean certified distance of one random near triplet per row.
    Mean,
    /// The mean over rows of the certified distance that decides, up to this one, with a soft minimum.
    Deciding(Option<f64>),
}

/// Settings of an ascent.
pub(super) struct Climb {
    pub(super) aim: Aim,
    pub(super) init: Init,
    pub(super) components: Option<usize>,
    pub(super) seed: u64,
    pub(super) max_iterations: usize,
}

/// The rows, divided into those that teach and those that tell when to stop.
struct Ground {
    frame: Coordinates,
    x: Matrix,
    class: Vec<usize>,
    taught: Vec<usize>,
    held: Vec<usize>,
}

/// For each of some rows, near rows of its own class and of others.
type Near = Vec<(Vec<usize>, Vec<usize>)>;

/// Mapped rows `L x` and their gradients `M x`.
struct Mapped {
    z: Matrix,
    w: Matrix,
}

/// A row, one of its class, one of another, the certified distance between them, and how much it counts.
#[derive(Clone, Copy)]
struct Triplet {
    row: usize,
    own: usize,
    other: usize,
    distance: f64,
    share: f64,
}

impl Mapped {
    fn new(x: &Matrix, factor: &Matrix) -> Self {
        let z = linalg::product_transposed(x, factor);
        Self { w: linalg::product(&z, factor), z }
    }

    /// A triplet, from the squared distances of the row to the two others.
    fn between(&self, row: usize, (own, to_own): (usize, f64), (other, to_other): (usize, f64)) -> Triplet {
        let length = 2.0 * squared_distance(self.w.row(own), self.w.row(other)).sqrt();
        let distance = if length > 0.0 { (to_other - to_own) / length } else { 0.0 };
        Triplet { row, own, other, distance, share: 1.0 }
    }

    /// A near row and its squared distance.
    fn seen(&self, row: usize, near: usize) -> (usize, f64) {
        (near, squared_distance(self.z.row(row), self.z.row(near)))
    }

    fn triplet(&self, row: usize, own: usize, other: usize) -> Triplet {
        self.between(row, self.seen(row, own), self.seen(row, other))
    }

    /// For each near row of another class, the triplet with the own row whose hyperplane is farthest.
    fn farthest(&self, row: usize, (own, others): &(Vec<usize>, Vec<usize>)) -> Vec<Triplet> {
        let own: Vec<(usize, f64)> = own.iter().map(|&i| self.seen(row, i)).collect();
        let farthest = |&j: &usize| {
            let other = self.seen(row, j);
            let all = own.iter().map(|&own| self.between(row, own, other));
            all.max_by(|a, b| a.distance.total_cmp(&b.distance))
        };
        others.iter().filter_map(farthest).collect()
    }

    /// The triplet that decides how far the row's class is certified: the nearest of those.
    fn deciding(&self, row: usize, near: &(Vec<usize>, Vec<usize>)) -> Option<Triplet> {
        self.farthest(row, near).into_iter().min_by(|a, b| a.distance.total_cmp(&b.distance))
    }

    /// The triplets that may decide, each with its share in a soft minimum; those from `cap` on do not count.
    fn may_decide(&self, row: usize, near: &(Vec<usize>, Vec<usize>), cap: f64) -> Vec<Triplet> {
        let mut all = self.farthest(row, near);
        let least = all.iter().fold(f64::INFINITY, |m: f64, t| m.min(t.distance));
        all.iter_mut().for_each(|t| t.share = ((least - t.distance) / (SOFT * cap)).exp());
        let total: f64 = all.iter().map(|t| t.share).sum();
        all.iter_mut().for_each(|t| t.share /= total);
        all.retain(|t| t.distance < cap);
        all
    }
}

impl Ground {
    fn new(frame: Coordinates, rng: &mut ChaCha8Rng) -> Result<Self> {
        let all = &frame.cloud.x;
        let x = all.select_cols(0..all.cols().min(DIMENSIONS));
        let (mut taught, mut held, mut class) = (Vec::new(), Vec::new(), vec![0; x.rows()]);
        for (k, range) in frame.cloud.classes().iter().enumerate() {
            class[range.clone()].fill(k);
            let mut rows: Vec<usize> = range.clone().collect();
            rows.shuffle(rng);
            let kept = rows.len() - rows.len() / HELD_OUT;
            held.extend(rows.drain(kept..));
            taught.extend(rows);
        }
        taught.sort_unstable();
        held.sort_unstable();
        let held = sampled(held, rng);
        if taught.iter().all(|&i| taught.iter().filter(|&&j| class[j] == class[i]).take(2).count() < 2) {
            return Err(Error::data("no two rows have the same label: no row has a neighbour of its own class"));
        }
        Ok(Self { frame, x, class, taught, held })
    }

    /// The metric on the features of a factor on these coordinates.
    fn metric(&self, factor: &Matrix) -> Result<Metric> {
        let mut wide = Matrix::zeros(factor.rows(), self.frame.rank());
        for i in 0..wide.rows() {
            wide.row_mut(i)[..self.x.cols()].copy_from_slice(factor.row(i));
        }
        self.frame.metric(&wide)
    }

    /// The same with all rows to learn from.
    fn whole(self) -> Self {
        Self { taught: (0..self.x.rows()).collect(), held: Vec::new(), ..self }
    }

    /// Near rows, among those that teach, of each of these rows.
    fn near(&self, z: &Matrix, rows: &[usize]) -> Result<Near> {
        let mut near: Near = vec![(Vec::new(), Vec::new()); rows.len()];
        for class in 0..self.frame.cloud.classes().len() {
            let asked: Vec<usize> = (0..rows.len()).filter(|&q| self.class[rows[q]] == class).collect();
            if asked.is_empty() {
                continue;
            }
            let queries = z.select_rows(&asked.iter().map(|&q| rows[q]).collect::<Vec<_>>());
            let (own, others): (Vec<usize>, Vec<usize>) = self.taught.iter().partition(|&&i| self.class[i] == class);
            for (among, is_own) in [(own, true), (others, false)] {
                if among.is_empty() {
                    continue;
                }
                let found = NeighbourIndex::new(z.select_rows(&among))?.query(&queries, (NEAR + 1).min(among.len()))?;
                for (at, &q) in asked.iter().enumerate() {
                    let ids =
                        found.indices(at).iter().map(|&k| among[k]).filter(|&i| i != rows[q]).take(NEAR).collect();
                    if is_own { near[q].0 = ids } else { near[q].1 = ids }
                }
            }
        }
        Ok(near)
    }

    fn weight(&self, row: usize) -> f64 {
        self.frame.cloud.weight[row]
    }

    /// The weighted mean of the deciding distances of these rows, each up to `cap`.
    fn score(&self, mapped: &Mapped, rows: &[usize], cap: f64) -> Result<f64> {
        let near = self.near(&mapped.z, rows)?;
        let found: Vec<Option<Triplet>> =
            rows.par_iter().zip(&near).map(|(&row, near)| mapped.deciding(row, near)).collect();
        let (mut sum, mut total) = (0.0, 0.0);
        for t in found.into_iter().flatten() {
            sum += self.weight(t.row) * t.distance.min(cap);
            total += self.weight(t.row);
        }
        Ok(if total > 0.0 { sum / total } else { 0.0 })
    }

    /// The gradient of the weighted mean of these distances in the factor.
    ///
    /// In the metric `M` it is a sum over pairs of rows `+a a^T - b b^T - (M c c^T + c c^T M)`, each with a coefficient, where `a`,
    /// `b` and `c` are the differences of the three rows. A sum of such squares is `X^T (G X)`, where `G` is the Laplace matrix of a graph of pairs.
    fn gradient(&self, factor: &Matrix, mapped: &Mapped, triplets: &[Triplet]) -> Matrix {
        let counts = |t: &Triplet| self.weight(t.row) * t.share;
        let total: f64 = triplets.iter().map(counts).sum::<f64>().max(f64::MIN_POSITIVE);
        let zeros = || Matrix::zeros(self.x.rows(), self.x.cols());
        let (mut apart, mut between) = (zeros(), zeros());
        for t in triplets {
            let length = squared_distance(mapped.w.row(t.own), mapped.w.row(t.other)).sqrt();
            if length == 0.0 {
                continue;
            }
            let share = counts(t) / total / (2.0 * length);
            self.add_pair(&mut apart, t.row, t.other, share);
            self.add_pair(&mut apart, t.row, t.own, -share);
            self.add_pair(&mut between, t.own, t.other, share * t.distance / length);
        }
        let turned = linalg::product(
            &linalg::transposed_product(factor, factor),
            &linalg::transposed_product(&self.x, &between),
        );
        let mut by_metric = linalg::transposed_product(&self.x, &apart);
        for i in 0..by_metric.rows() {
            for j in 0..by_metric.cols() {
                by_metric[(i, j)] -= turned[(i, j)] + turned[(j, i)];
            }
        }
        let mut gradient = linalg::product(factor, &by_metric);
        gradient.as_mut_slice().iter_mut().for_each(|v| *v *= 2.0);
        gradient
    }

    /// Adds a pair of rows to the product of a graph's Laplace matrix with the rows.
    fn add_pair(&self, product: &mut Matrix, a: usize, b: usize, weight: f64) {
        let difference = self.x.row(a).iter().zip(self.x.row(b)).map(|(x, y)| weight * (x - y));
        product.row_mut(a).iter_mut().zip(difference.clone()).for_each(|(sum, d)| *sum += d);
        product.row_mut(b).iter_mut().zip(difference).for_each(|(sum, d)| *sum -= d);
    }

    /// The rows that teach, or some of them at random.
    fn sample(&self, rng: &mut ChaCha8Rng) -> Vec<usize> {
        sampled(self.taught.clone(), rng)
    }
}

/// These rows, or some of them at random where they are many.
fn sampled(mut rows: Vec<usize>, rng: &mut ChaCha8Rng) -> Vec<usize> {
    if rows.len() <= SAMPLE {
        return rows;
    }
    let mut chosen = rows.partial_shuffle(rng, SAMPLE).0.to_vec();
    chosen.sort_unstable();
    chosen
}

/// Adam's running means.
struct Adam {
    mean: Vec<f64>,
    square: Vec<f64>,
    steps: i32,
    rate: f64,
}

impl Adam {
    fn step(&mut self, at: &mut [f64], gradient: &[f64]) {
        self.steps += 1;
        let (fix, fix_square) = (1.0 - 0.9_f64.powi(self.steps), 1.0 - 0.999_f64.powi(self.steps));
        for (k, g) in gradient.iter().enumerate() {
            self.mean[k] = 0.9 * self.mean[k] + 0.1 * g;
            self.square[k] = 0.999 * self.square[k] + 0.001 * g * g;
            at[k] += self.rate * (self.mean[k] / fix) / ((self.square[k] / fix_square).sqrt() + 1e-12);
        }
    }
}

impl Adam {
    /// Everything that goes on from a step of [`ROUND`] many.
    fn kept(&self, factor: &Matrix, best: &Best, rng: &ChaCha8Rng) -> Kept {
        let figures = row(vec![f64::from(self.steps), best.score, best.round as f64]);
        let numbers =
            vec![figures, factor.clone(), best.factor.clone(), row(self.mean.clone()), row(self.square.clone())];
        Kept::new(rng.get_word_pos().to_string(), numbers)
    }

    /// Goes back to what was kept, and returns the step; nothing happens if it is none of this ascent.
    fn revive(&mut self, kept: &Kept, factor: &mut Matrix, best: &mut Best, rng: &mut ChaCha8Rng) -> Option<usize> {
        let position: u128 = kept.text.parse().ok()?;
        let [figures, now, held, mean, square] = kept.numbers.as_slice() else { return None };
        let &[steps, score, round] = figures.as_slice() else { return None };
        let alike = |m: &Matrix| (m.rows(), m.cols()) == (factor.rows(), factor.cols());
        let long = |m: &Matrix| m.as_slice().len() == self.mean.len();
        if !(alike(now) && alike(held) && long(mean) && long(square) && steps >= 0.0)
            || kept.numbers.iter().any(|m| m.first_non_finite().is_some())
        {
            return None;
        }
        rng.set_word_pos(position);
        (self.mean, self.square) = (mean.as_slice().to_vec(), square.as_slice().to_vec());
        self.steps = steps as i32;
        *factor = now.clone();
        *best = Best { factor: held.clone(), score, round: round as usize };
        Some(steps as usize)
    }
}

/// The best factor so far, and when it was found.
struct Best {
    factor: Matrix,
    score: f64,
    round: usize,
}

impl Climb {
    /// Learns a metric from these rows.
    pub(super) fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let frame = coordinates(data)?;
        let start = self.start(&frame, data)?;
        let mut notes = notes_on(&frame);
        let ground = Ground::new(frame, &mut rng)?;
        if ground.frame.rank() > DIMENSIONS {
            let rank = ground.frame.rank();
            notes.push(format!("the metric measures the {DIMENSIONS} directions of largest variance of {rank}"));
        }
        let start = start.select_cols(0..ground.x.cols());
        let cap = match self.aim {
            Aim::Mean => f64::INFINITY,
            Aim::Deciding(Some(cap)) => cap,
            Aim::Deciding(None) => usual_cap(&ground, &start, &mut rng)?,
        };
        if let Aim::Deciding(None) = self.aim {
            notes.push(format!("certified distances count up to {cap:.3}: twice their median at the start"));
        }
        let (mut best, mut steps, mut halt) =
            self.ascend(&ground, start.clone(), cap, None, &mut rng, ("ascent", observer))?;
        let (kept, held) = (best.round * ROUND, ground.held.len());
        notes.push(format!(
            "{kept} steps were taken: after these, {held} held-out rows have the largest mean certified distance, {:.4}",
            best.score
        ));
        let ground = ground.whole();
        if held > 0 && kept > 0 && halt.is_none() {
            let again;
            let watched = ("ascent with all rows", &mut *observer);
            (best, again, halt) = self.ascend(&ground, start, cap, Some(kept), &mut rng, watched)?;
            steps += again;
        }
        let mapped = Mapped::new(&ground.x, &best.factor);
        let reached = ground.score(&mapped, &ground.taught, cap)?;
        let metric = ground.metric(&best.factor)?;
        note_collapse(&metric, data.x, &mut notes)?;
        // The stop on held-out rows is what is asked for; the limit is there for them, too.
        let ended = Termination { halt, ..Termination::default() }.status(0.0).unwrap_or(Status::Optimal);
        let mut outcome = Outcome::new(ended, steps).with_notes(notes);
        outcome.objective = Some(-reached);
        Ok(Fit::new(metric, outcome))
    }

    /// Where to begin: with no more components than directions that the metric can live in.
    fn start(&self, frame: &Coordinates, data: &Training<'_>) -> Result<Matrix> {
        let many = frame.rank() > DIMENSIONS && self.components.is_none();
        match Begin::new(self.init, data) {
            Begin::Rule(Init::Auto | Init::Identity) if many => frame.start(Begin::Rule(Init::Pca), Some(DIMENSIONS)),
            begin => frame.start(begin, self.components),
        }
    }

    /// Steps up to the best result on the held-out rows or, where their number is given, all of them.
    fn ascend(
        &self,
        ground: &Ground,
        start: Matrix,
        cap: f64,
        given: Option<usize>,
        rng: &mut ChaCha8Rng,
        (part, observer): (&str, &mut dyn Observer),
    ) -> Result<(Best, usize, Option<Halt>)> {
        let metric = |kept: &Kept| ground.metric(kept.numbers.get(2)?).ok();
        let observer = &mut Translated { inner: observer, metric: &metric };
        let judges = if ground.held.is_empty() { &ground.taught } else { &ground.held };
        let largest = start.as_slice().iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let size = start.as_slice().len();
        let mut adam = Adam { mean: vec![0.0; size], square: vec![0.0; size], steps: 0, rate: STEP * largest };
        let mut best = Best { factor: start.clone(), score: f64::NEG_INFINITY, round: 0 };
        let mut factor = start;
        let (mut rows, mut near) = (Vec::new(), Vec::new());
        let most = given.unwrap_or(self.max_iterations);
        let mut first = 0;
        if let Some(step) = observer.kept(part).and_then(|kept| adam.revive(&kept, &mut factor, &mut best, rng)) {
            first = step;
        }
        for step in first..=most {
            let mapped = Mapped::new(&ground.x, &factor);
            if step % ROUND == 0 {
                let score = if given.is_some() { step as f64 } else { ground.score(&mapped, judges, cap)? };
                if score > best.score {
                    best = Best { factor: factor.clone(), score, round: step / ROUND };
                }
                let primal = given.is_none().then_some(-best.score);
                let told = Progress { iteration: step, primal, ..Progress::default() };
                if let ControlFlow::Break(halt) = observer.progress(&told) {
                    return Ok((best, step, Some(halt)));
                }
                if step == most || step / ROUND >= best.round + PATIENCE {
                    return Ok((best, step, None));
                }
                observer.keep(part, &mut || adam.kept(&factor, &best, rng));
                rows = ground.sample(rng);
                near = ground.near(&mapped.z, &rows)?;
            }
            let triplets = self.triplets(&rows, &mapped, &near, cap, rng);
            let gradient = ground.gradient(&factor, &mapped, &triplets);
            adam.step(factor.as_mut_slice(), gradient.as_slice());
        }
        Ok((best, most, None))
    }

    /// The triplets of a step.
    fn triplets(&self, rows: &[usize], mapped: &Mapped, near: &Near, cap: f64, rng: &mut ChaCha8Rng) -> Vec<Triplet> {
        if self.aim == Aim::Mean {
            let rows = rows.iter().zip(near).filter(|(_, (own, others))| !own.is_empty() && !others.is_empty());
            let mut pick = |from: &[usize]| from[rng.random_range(0..from.len())];
            return rows.map(|(&row, (own, others))| mapped.triplet(row, pick(own), pick(others))).collect();
        }
        let deciding = rows.par_iter().zip(near).map(|(&row, near)| mapped.may_decide(row, near, cap));
        let all: Vec<Vec<Triplet>> = deciding.collect();
        all.into_iter().flatten().collect()
    }
}

/// Twice the median of the certified distances that are positive.
fn usual_cap(ground: &Ground, start: &Matrix, rng: &mut ChaCha8Rng) -> Result<f64> {
    let mapped = Mapped::new(&ground.x, start);
    let rows = ground.sample(rng);
    let near = ground.near(&mapped.z, &rows)?;
    let found = rows.iter().zip(&near).filter_map(|(&row, near)| mapped.deciding(row, near));
    let mut positive: Vec<f64> = found.map(|t| t.distance).filter(|d| *d > 0.0).collect();
    positive.sort_unstable_by(f64::total_cmp);
    Ok(positive.get(positive.len() / 2).map_or(1.0, |median| 2.0 * median))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Labels;
    use crate::solver::Silent;

    fn rows() -> (Matrix, Labels) {
        let value = |k: u32| f64::from(k * k % 97) / 40.0 + f64::from(k % 7) / 9.0;
        let x = Matrix::from_vec(60, 3, (0..180).map(value).collect()).unwrap();
        let y = Labels::from_names((0..60).map(|i| if x[(i, 0)] + 0.4 * x[(i, 1)] > 1.7 { "p" } else { "n" }));
        (x, y)
    }

    #[test]
    fn the_gradient_is_that_of_differences() {
        let (x, y) = rows();
        let training = Training::new(&x, &y).unwrap();
        let ground = Ground::new(coordinates(&training).unwrap(), &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
        let factor = Matrix::from_rows(&[[1.0, 0.2, -0.1], [0.3, 0.8, 0.1], [0.0, -0.2, 0.5]]);
        let mapped = Mapped::new(&ground.x, &factor);
        let near = ground.near(&mapped.z, &ground.taught).unwrap();
        let triplets: Vec<Triplet> =
            ground.taught.iter().zip(&near).filter_map(|(&row, near)| mapped.deciding(row, near)).collect();
        let mean = |factor: &Matrix| {
            let mapped = Mapped::new(&ground.x, factor);
            let all = triplets.iter().map(|t| mapped.triplet(t.row, t.own, t.other).distance);
            all.sum::<f64>() / triplets.len() as f64
        };
        let gradient = ground.gradient(&factor, &mapped, &triplets);
        for k in 0..9 {
            let moved = |by: f64| {
                let mut moved = factor.clone();
                moved.as_mut_slice()[k] += by;
                mean(&moved)
            };
            let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            assert!((slope - gradient.as_slice()[k]).abs() < 1e-6 * (1.0 + slope.abs()), "{k}: {slope}");
        }
    }

    #[test]
    fn an_ascent_raises_certified_distances_and_is_the_same_for_any_number_of_threads() {
        let (x, y) = rows();
        let training = Training::new(&x, &y).unwrap();
        for aim in [Aim::Mean, Aim::Deciding(None), Aim::Deciding(Some(0.3))] {
            let climb = Climb { aim, init: Init::Identity, components: None, seed: 3, max_iterations: 120 };
            let fit = climb.fit(&training, &mut Silent).unwrap();
            let start = Climb { max_iterations: 1, ..climb }.fit(&training, &mut Silent).unwrap();
            assert!(fit.outcome.objective < start.outcome.objective, "{aim:?}");
            let climb = Climb { aim, init: Init::Identity, components: None, seed: 3, max_iterations: 120 };
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            assert_eq!(pool.install(|| climb.fit(&training, &mut Silent)).unwrap(), fit);
        }
    }
}
