//! How many steps a search takes, by rows that it does not see.
//!
//! What a search without a certificate gains on the rows that it learns from it loses on others in the end. Here it goes down on a
//! part of the rows, step by step, and the others say after how many steps it served them best.

use super::start::coordinates;
use super::{Part, Training};
use crate::data::holdouts;
use crate::problem::Coordinates;
use crate::solver::lbfgs::{End, Told};
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

/// The number of steps that served held-out rows best.
pub(super) struct Chosen {
    pub(super) steps: usize,
    /// Steps that were done to find it.
    pub(super) done: usize,
    /// Who ended it early.
    pub(super) halt: Option<Halt>,
}

/// A search on some of the rows, from its start on.
pub(super) trait Descent {
    /// What the rows that it does not see cost now.
    fn cost(&self, unseen: &Unseen<'_>) -> Result<f64>;

    /// Takes one step.
    fn step(&mut self, watch: &mut dyn FnMut(Told<'_>) -> ControlFlow<Halt>) -> End;
}

/// Goes down on some rows in these coordinates, as far as it is told to by `path`.
type Walk<'a> = dyn Fn(&Training<'_>, &Coordinates, &mut Path<'_, '_>) -> Result<()> + 'a;

/// Chooses the number of steps, `most` at most, by rows that the search does not see, so many times; nothing where none can be held
/// out. `walk` makes the search and lets the path follow it.
pub(super) fn choose(
    data: &Training<'_>,
    (repeats, most): (usize, usize),
    observer: &mut dyn Observer,
    walk: &Walk<'_>,
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
        let mut path = Path { unseen: &unseen, most, costs: Vec::new(), told: &mut out, observer: &mut *observer };
        walk(&training, &frame, &mut path)?;
        paths.push(path.costs);
        if out.halt.is_some() {
            break;
        }
    }
    out.steps = best_of(&paths);
    Ok((!paths.is_empty()).then_some(out))
}

/// What the rows cost that a search does not see, after each of its steps.
pub(super) struct Path<'a, 'o> {
    unseen: &'a Unseen<'a>,
    most: usize,
    costs: Vec<f64>,
    told: &'a mut Chosen,
    observer: &'o mut dyn Observer,
}

impl Path<'_, '_> {
    /// Follows a search until further steps do not help.
    pub(super) fn follow(&mut self, descent: &mut dyn Descent) -> Result<()> {
        let mut best = 0;
        loop {
            self.costs.push(descent.cost(self.unseen)?);
            let at = self.costs.len() - 1;
            best = if self.costs[at] < self.costs[best] { at } else { best };
            if at >= best + PATIENCE || at >= self.most {
                return Ok(());
            }
            let (done, observer) = (self.told.done, &mut *self.observer);
            let end = descent.step(&mut |told| {
                observer.progress(&Progress { iteration: done + 1, primal: Some(told.value), ..Progress::default() })
            });
            match end {
                End::IterationLimit => {}
                End::Stopped(halt) => self.told.halt = Some(halt),
                End::Converged | End::Stalled => return Ok(()),
            }
            self.told.done += 1;
            if self.told.halt.is_some() {
                return Ok(());
            }
        }
    }
}

/// Where the paths are lowest in the mean; one that ended early stays where it was.
fn best_of(paths: &[Vec<f64>]) -> usize {
    let longest = paths.iter().map(Vec::len).max().unwrap_or(0);
    let total = |at: usize| -> f64 { paths.iter().map(|path| path[at.min(path.len() - 1)]).sum() };
    (0..longest).fold((0, f64::INFINITY), |best, at| if total(at) < best.1 { (at, total(at)) } else { best }).0
}

/// A note on the number of steps.
pub(super) fn note(steps: usize) -> String {
    match steps {
        0 => "no step helped rows that were held out: the start is kept".to_owned(),
        _ => format!("rows that were held out were predicted best after steps: {steps}"),
    }
}

/// Rows that a search does not see, beside those that it does.
pub(super) struct Unseen<'a> {
    seen: &'a Training<'a>,
    /// Which of all rows they are.
    pub(super) rows: Vec<usize>,
    x: Matrix,
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
        Self { seen, x: data.x.select_rows(&rows), mass: weight.iter().sum(), weight, rows }
    }

    /// The mean of what the rows cost, where each picks a row that was seen: `of` is told which of all rows it is and, in proportion,
    /// the chance of each row that was seen.
    pub(super) fn cost(&self, metric: &Metric, of: impl Fn(usize, &[f64]) -> f64) -> Result<f64> {
        let (z, rows) = (metric.transform(&self.x)?, metric.transform(self.seen.x)?);
        let half: Vec<f64> = (0..rows.rows())
            .map(|j| 0.5 * linalg::dot(rows.row(j), rows.row(j)) - 0.5 * self.seen.weights.map_or(1.0, |w| w[j]).ln())
            .collect();
        let products = linalg::product_transposed(&z, &rows);
        let (mut total, mut chances) = (0.0, vec![0.0; half.len()]);
        for (i, (&row, &weight)) in self.rows.iter().zip(&self.weight).enumerate() {
            // The row's own length is in all of them.
            let score = |j: usize| 2.0 * (products[(i, j)] - half[j]);
            let top = (0..half.len()).map(score).fold(f64::NEG_INFINITY, f64::max);
            chances.iter_mut().enumerate().for_each(|(j, c)| *c = (score(j) - top).exp());
            total += weight * of(row, &chances);
        }
        Ok(total / self.mass)
    }
}
