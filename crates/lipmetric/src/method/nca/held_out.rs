use super::super::start::{Begin, coordinates};
use super::super::{Part, Training};
use super::Nca;
use super::search::Search;
use crate::data::holdouts;
use crate::solver::lbfgs::{End, Lbfgs};
use crate::solver::{Halt, Observer, Progress};
use crate::{Matrix, Metric, Result, linalg};
use std::ops::ControlFlow;

/// How much of each class is learned from while the number of steps is chosen; the others tell when to stop.
const SHARE: f64 = 0.8;
/// Times that rows are held out.
pub(super) const REPEATS: usize = 3;
/// Rows that tell when to stop, at most, each time: enough for a standard error of some hundredths.
const ROWS: usize = 1000;
/// A search ends after so many steps that do not help.
const PATIENCE: usize = 10;
/// No row counts more than one that is this likely: a single outlier must not decide.
const LEAST_CHANCE: f64 = 1e-12;

/// The number of steps that served held-out rows best.
pub(super) struct Chosen {
    pub(super) steps: usize,
    /// Steps that were done to find it.
    pub(super) done: usize,
    /// Who ended it early.
    pub(super) halt: Option<Halt>,
}

/// Chooses the number of steps by rows that the search does not see, so many times; nothing where none can be held out.
pub(super) fn choose(
    nca: &Nca,
    data: &Training<'_>,
    repeats: usize,
    observer: &mut dyn Observer,
) -> Result<Option<Chosen>> {
    let Ok(splits) = holdouts(data.y, SHARE, repeats, 0) else { return Ok(None) };
    let mut out = Chosen { steps: 0, done: 0, halt: None };
    let mut paths: Vec<Vec<f64>> = Vec::new();
    for split in splits {
        let part = Part::of(data, &split.train);
        let training = Training { start: data.start, ..part.training()? };
        // A part may hold one class only, or rows without weight.
        let Ok(frame) = coordinates(&training) else { continue };
        let unseen = Unseen::new(data, &training, split.test);
        if unseen.mass == 0.0 {
            continue;
        }
        let search = Search::new(nca, &frame, Begin::new(nca.init, &training))?;
        let mut state = search.begin();
        let (mut costs, mut best) = (Vec::new(), 0);
        loop {
            costs.push(unseen.cost(&frame.metric(&search.factor(&state)?)?)?);
            let at = costs.len() - 1;
            best = if costs[at] < costs[best] { at } else { best };
            if at >= best + PATIENCE || at >= nca.max_iterations {
                break;
            }
            match step(&search, &mut state, out.done, observer) {
                End::IterationLimit => {}
                End::Stopped(halt) => out.halt = Some(halt),
                End::Converged | End::Stalled => break,
            }
            out.done += 1;
            if out.halt.is_some() {
                break;
            }
        }
        paths.push(costs);
        if out.halt.is_some() {
            break;
        }
    }
    out.steps = best_of(&paths);
    Ok((!paths.is_empty()).then_some(out))
}

fn step(search: &Search<'_>, state: &mut Lbfgs, done: usize, observer: &mut dyn Observer) -> End {
    let next = state.iterations + 1;
    search.run(state, next, &mut |told| -> ControlFlow<Halt> {
        observer.progress(&Progress { iteration: done + 1, primal: Some(told.value), ..Progress::default() })
    })
}

/// Where the paths are lowest in the mean; one that ended early stays where it was.
fn best_of(paths: &[Vec<f64>]) -> usize {
    let longest = paths.iter().map(Vec::len).max().unwrap_or(0);
    let total = |at: usize| -> f64 { paths.iter().map(|path| path[at.min(path.len() - 1)]).sum() };
    (0..longest).fold((0, f64::INFINITY), |best, at| if total(at) < best.1 { (at, total(at)) } else { best }).0
}

/// Rows that a search does not see, beside those that it does.
struct Unseen<'a> {
    seen: &'a Training<'a>,
    x: Matrix,
    class: Vec<u32>,
    weight: Vec<f64>,
    mass: f64,
}

impl<'a> Unseen<'a> {
    fn new(data: &Training<'_>, seen: &'a Training<'a>, mut rows: Vec<usize>) -> Self {
        let count = rows.len();
        if count > ROWS {
            rows = (0..ROWS).map(|k| rows[k * count / ROWS]).collect();
        }
        let weight: Vec<f64> = rows.iter().map(|&i| data.weights.map_or(1.0, |w| w[i])).collect();
        let class = rows.iter().map(|&i| data.y.codes()[i]).collect();
        Self { seen, x: data.x.select_rows(&rows), class, mass: weight.iter().sum(), weight }
    }

    /// The mean of `-log p` over the rows, where each picks a row that was seen.
    fn cost(&self, metric: &Metric) -> Result<f64> {
        let (z, rows) = (metric.transform(&self.x)?, metric.transform(self.seen.x)?);
        let half: Vec<f64> = (0..rows.rows())
            .map(|j| 0.5 * linalg::dot(rows.row(j), rows.row(j)) - 0.5 * self.seen.weights.map_or(1.0, |w| w[j]).ln())
            .collect();
        let products = linalg::product_transposed(&z, &rows);
        let mut total = 0.0;
        for (i, (&class, &weight)) in self.class.iter().zip(&self.weight).enumerate() {
            // The row's own length is in all of them.
            let score = |j: usize| 2.0 * (products[(i, j)] - half[j]);
            let top = (0..half.len()).map(score).fold(f64::NEG_INFINITY, f64::max);
            let (mut own, mut all) = (0.0, 0.0);
            for (j, &code) in self.seen.y.codes().iter().enumerate() {
                let chance = (score(j) - top).exp();
                all += chance;
                own += if code == class { chance } else { 0.0 };
            }
            total -= weight * (own / all).max(LEAST_CHANCE).ln();
        }
        Ok(total / self.mass)
    }
}
