//! Certified distances of near triplets, and the ascent that makes them large.
//!
//! For a row `x`, a row `i` of its class and a row `j` of another, the hyperplane where the two are equally near lies at
//! `eps = (rho(x, x_j) - rho(x, x_i)) / (2 |M (x_i - x_j)|)`: no shorter Euclidean step makes `j` the nearer one. It is negative where
//! `j` is nearer already, and does not change with the scale of `M`.

mod near;

use super::Training;
use super::start::{Begin, Init, coordinates, note_collapse, notes_on};
use super::{Fit, Outcome};
use crate::neighbours::NeighbourIndex;
use crate::problem::Coordinates;
use crate::solver::{Halt, Kept, Observer, Progress, Status, Termination, Translated, row};
use crate::{Error, Matrix, Metric, Result, linalg};
use near::{Mapped, Near, laplace_product};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::ops::ControlFlow;

/// The metric lives in this many directions, at most. In 100, the Euclidean distance of 10,000 rows of Fashion-MNIST loses up to two
/// points of certified accuracy, in 200 up to one.
const DIMENSIONS: usize = 200;
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
/// How far the first step moves each element of the factor, at most and relative to the start's largest; the last ones move it by
/// next to nothing. Twice as much, and always the same, lost up to a point on 2,000 rows of Fashion-MNIST.
const STEP: f64 = 0.01;

/// What is made large.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Aim {
    /// The mean certified distance of one random near triplet per row.
    Mean,
    /// The certified distance that decides, of each row and up to this one, and a little the mean of all near triplets.
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
type Lists = Vec<(Vec<usize>, Vec<usize>)>;

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
    fn near(&self, z: &Matrix, rows: &[usize]) -> Result<Lists> {
        let mut near: Lists = vec![(Vec::new(), Vec::new()); rows.len()];
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

    /// The area under the curve of certified accuracy of these rows, up to `cap`: the weighted mean of their deciding distances, of
    /// which those below 0 count as 0 and those above `cap` as `cap`.
    fn score(&self, mapped: &Mapped, rows: &[usize], cap: f64) -> Result<f64> {
        let lists = self.near(&mapped.z, rows)?;
        let deciding = |(&row, (own, others)): (&usize, &(Vec<usize>, Vec<usize>))| {
            mapped.near(row, own, others).deciding().map(|distance| (self.weight(row), distance))
        };
        let found: Vec<Option<(f64, f64)>> = rows.par_iter().zip(&lists).map(deciding).collect();
        let (mut sum, mut total) = (0.0, 0.0);
        for (weight, distance) in found.into_iter().flatten() {
            sum += weight * distance.clamp(0.0, cap);
            total += weight;
        }
        Ok(if total > 0.0 { sum / total } else { 0.0 })
    }

    /// The gradient in the factor of the weighted mean of the distances between near rows.
    ///
    /// In the metric `M` it is a sum over pairs of rows `+a a^T - b b^T - (M c c^T + c c^T M)`, each with a coefficient, where `a`,
    /// `b` and `c` are the differences of the three rows. A sum of such squares is `X^T (G X)`, where `G` is the Laplace matrix of a graph of pairs.
    fn gradient(&self, factor: &Matrix, all: &[Near]) -> Matrix {
        let counts = |near: &Near| self.weight(near.row) * near.share.iter().sum::<f64>();
        let total: f64 = all.iter().map(counts).sum::<f64>().max(f64::MIN_POSITIVE);
        let (mut apart, mut between) = (Vec::new(), Vec::new());
        for near in all {
            let columns = near.others.len();
            let mut to_others = vec![0.0; columns];
            for (a, &i) in near.own.iter().enumerate() {
                let mut to_own = 0.0;
                for (b, &j) in near.others.iter().enumerate() {
                    let at = a * columns + b;
                    let length = near.length[at];
                    if length == 0.0 || near.share[at] == 0.0 {
                        continue;
                    }
                    let share = self.weight(near.row) * near.share[at] / total / (2.0 * length);
                    to_others[b] += share;
                    to_own += share;
                    between.push((i, j, share * near.distance[at] / length));
                }
                apart.push((near.row, i, -to_own));
            }
            apart.extend(near.others.iter().zip(to_others).map(|(&j, share)| (near.row, j, share)));
        }
        let squares = |edges: &[_]| linalg::transposed_product(&self.x, &laplace_product(edges, &self.x));
        let turned = linalg::product(&linalg::transposed_product(factor, factor), &squares(&between));
        let mut by_metric = squares(&apart);
        for i in 0..by_metric.rows() {
            for j in 0..by_metric.cols() {
                by_metric[(i, j)] -= turned[(i, j)] + turned[(j, i)];
            }
        }
        let mut gradient = linalg::product(factor, &by_metric);
        gradient.as_mut_slice().iter_mut().for_each(|v| *v *= 2.0);
        gradient
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
            "{kept} steps were taken: after these, the area under the curve of certified accuracy of {held} held-out rows is largest, {:.4}",
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
        let mut adam = Adam { mean: vec![0.0; size], square: vec![0.0; size], steps: 0, rate: 0.0 };
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
            let gradient = ground.gradient(&factor, &self.seen(&rows, &mapped, &near, cap, rng));
            adam.rate = STEP * largest * (1.0 - step as f64 / self.max_iterations as f64);
            adam.step(factor.as_mut_slice(), gradient.as_slice());
        }
        Ok((best, most, None))
    }

    /// The near rows of a step.
    fn seen(&self, rows: &[usize], mapped: &Mapped, lists: &Lists, cap: f64, rng: &mut ChaCha8Rng) -> Vec<Near> {
        let known = rows.iter().zip(lists).filter(|(_, (own, others))| !own.is_empty() && !others.is_empty());
        if self.aim == Aim::Mean {
            let mut pick = |from: &[usize]| [from[rng.random_range(0..from.len())]];
            return known.map(|(&row, (own, others))| mapped.near(row, &pick(own), &pick(others))).collect();
        }
        let known: Vec<_> = known.collect();
        let counted = |&(row, (own, others)): &(&usize, &(Vec<usize>, Vec<usize>))| {
            let mut near = mapped.near(*row, own, others);
            near.count_deciding(cap);
            near
        };
        known.par_iter().map(counted).collect()
    }
}

/// Twice the median of the certified distances that are positive.
fn usual_cap(ground: &Ground, start: &Matrix, rng: &mut ChaCha8Rng) -> Result<f64> {
    let mapped = Mapped::new(&ground.x, start);
    let rows = ground.sample(rng);
    let near = ground.near(&mapped.z, &rows)?;
    let found = rows.iter().zip(&near).filter_map(|(&row, (own, others))| mapped.near(row, own, others).deciding());
    let mut positive: Vec<f64> = found.filter(|d| *d > 0.0).collect();
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
        let seen = |mapped: &Mapped| -> Vec<Near> {
            let rows = ground.taught.iter().zip(&near);
            rows.map(|(&row, (own, others))| mapped.near(row, own, others)).collect()
        };
        let mut all = seen(&mapped);
        all.iter_mut().for_each(|near| near.count_deciding(0.8));
        let mean = |factor: &Matrix| {
            let (mut sum, mut total) = (0.0, 0.0);
            for (near, counted) in seen(&Mapped::new(&ground.x, factor)).iter().zip(&all) {
                sum += near.distance.iter().zip(&counted.share).map(|(d, share)| d * share).sum::<f64>();
                total += counted.share.iter().sum::<f64>();
            }
            sum / total
        };
        let gradient = ground.gradient(&factor, &all);
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
