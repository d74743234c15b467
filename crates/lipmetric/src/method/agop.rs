//! The metric of a recursive feature machine (Radhakrishnan, Beaglehole, Pandit and Belkin 2024).
//!
//! A function is fitted under a metric: kernel ridge with the Laplace kernel, `f_c(x) = sum_j A_jc exp(-d_M(x, x_j) / l)` on targets
//! of 1 and -1. The average over the rows of the outer products of its gradients (AGOP), summed over the classes, tells in which
//! directions it changes, and is the next metric: directions along which the classes do not change count for little. A few rounds
//! of it, each in closed form.
//!
//! The Laplace kernel has no gradient at distance zero. It is taken to be zero there: a row's own term, and that of a row equal to
//! it, has no part in the gradient at the row.

use super::parameters::parameters;
use super::start::{coordinates, note_collapse, notes_on};
use super::{Fit, Method, Outcome, Training};
use crate::classify::smooth::{Decay, Points, Ridge, Wanted, explained, fit, largest};
use crate::classify::{Kernel, SmoothFunction, Smoothness};
use crate::data::{folds, holdouts};
use crate::problem::Coordinates;
use crate::solver::{Halt, Kept, Observer, Progress, Status, Timed};
use crate::{Error, Labels, Matrix, Result, linalg};
use std::ops::ControlFlow;

parameters! {
    /// The metric from the gradients of a smooth function, fitted by kernel ridge: a recursive feature machine.
    ///
    /// Each round fits the function under the metric of the round before, the first one under the Euclidean metric, and takes the
    /// mean over the rows of the outer products of its gradients, scaled to a mean diagonal of one. Closed form, no steps, the same
    /// result every time. How many rounds are best is chosen by cross-validation. From 2,000 rows on, 2,000 of them are learned
    /// from.
    ///
    /// ```
    /// use lipmetric::method::{Agop, Method, Training};
    /// use lipmetric::{Labels, Matrix, solver::Silent};
    /// let x = Matrix::from_rows(&[[0.0, 0.3], [0.2, 0.9], [0.1, 0.6], [1.0, 0.2], [1.1, 0.8], [0.9, 0.5]]);
    /// let y = Labels::from_names(["a", "a", "a", "b", "b", "b"]);
    /// let fit = Agop::new().fit(&Training::new(&x, &y)?, &mut Silent)?;
    /// let m = fit.metric.matrix();
    /// assert!(m[(0, 0)] > 2.0 * m[(1, 1)], "{m:?}");
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    pub struct Agop = "agop" {
        /// Rounds, at most: the best number of them is chosen by cross-validation.
        rounds: usize = 3,
        /// The bandwidth of the kernel, as a part of the root of the mean squared distance. By itself, bandwidth and ridge are those
        /// that predict each row best from the others under the Euclidean metric.
        width: Option<f64> as impl Into<Option<f64>> = None,
        /// The ridge: how much the size of the function counts against its errors.
        ridge: Option<f64> as impl Into<Option<f64>> = None,
        /// The seed of the folds, and of the sample of many rows.
        seed: u64 = 0,
    }
}

/// Rows that are learned from, at most: a metric needs no more, and the work grows with their third power.
const ROWS: usize = 2000;
/// Rows that the number of rounds is chosen by, at most, and the folds that they are dealt to.
const JUDGED: usize = 1000;
const FOLDS: usize = 5;
/// Rows that bandwidth and ridge are chosen by, at most.
const TRIED: usize = 500;
/// Bandwidths, from where only near rows matter to where the kernel is nearly linear in the distance, ...
const WIDTHS: [f64; 4] = [3.0, 1.5, 0.7, 0.35];
/// ... and ridges, from where the targets' noise is as large as the targets to nearly none.
const RIDGES: [f64; 4] = [1.0, 1e-1, 1e-2, 1e-3];

impl Agop {
    /// The metrics of all rounds, one after the other, without a choice between them. Where the observer ends it, or the function
    /// does not change anywhere, there are fewer, at least one.
    ///
    /// # Errors
    /// If the data or the parameters do not allow a fit.
    pub fn path(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Vec<Fit>> {
        self.check()?;
        data.check_for(self)?;
        let frame = coordinates(data)?;
        let (rows, notes) = self.rows(data, &frame)?;
        self.fits(data, &frame, &rows.machine(self), (self.rounds, notes), &mut Timed::new(observer))
    }

    /// The rows that are learned from.
    fn rows(&self, data: &Training<'_>, frame: &Coordinates) -> Result<(Rows, Vec<String>)> {
        let (cloud, mut notes) = (&frame.cloud, notes_on(frame));
        let all = Rows {
            x: Matrix::clone(&cloud.x),
            y: data.y.select(&cloud.origin),
            weights: (!cloud.uniform).then(|| cloud.weight.clone()),
        };
        if cloud.len() <= ROWS {
            return Ok((all, notes));
        }
        notes.push(format!("{ROWS} of {} rows, drawn from each class in proportion, were learned from", cloud.len()));
        Ok((all.sample(ROWS, self.seed)?, notes))
    }

    /// The metrics of so many rounds.
    fn fits(
        &self,
        data: &Training<'_>,
        frame: &Coordinates,
        machine: &Machine<'_>,
        (rounds, notes): (usize, Vec<String>),
        observer: &mut dyn Observer,
    ) -> Result<Vec<Fit>> {
        let mut factor = Matrix::identity(machine.rows.x.cols());
        let mut out: Vec<Fit> = Vec::new();
        let mut done = kept_rounds(observer, factor.cols());
        for round in 1..=rounds {
            factor = match done.get(round - 1) {
                Some(known) => known.clone(),
                None => {
                    let Some(next) = machine.next(&factor, &machine.function(&factor)?)? else { break };
                    done.push(next.clone());
                    observer.finished(Self::NAME, &Kept::new("", done.clone()));
                    next
                }
            };
            let metric = frame.metric(&factor)?;
            let mut notes = notes.clone();
            note_collapse(&metric, data.x, &mut notes)?;
            observer.reached(&mut || Some(metric.clone()));
            let halt = observer.progress(&Progress { iteration: round, ..Progress::default() });
            let status = match halt {
                ControlFlow::Break(halt) if round < rounds => Status::from(halt),
                _ => Status::ClosedForm,
            };
            out.push(Fit::new(metric, Outcome::new(status, round).with_notes(notes)));
            if status != Status::ClosedForm {
                break;
            }
        }
        if out.is_empty() {
            return Err(Error::data(
                "the fitted function does not change between the rows: no direction tells the classes apart",
            ));
        }
        Ok(out)
    }

    /// The number of rounds after which the function predicts held-out rows best; of equal ones the least. Inside, who wanted to stop.
    fn best(&self, machine: &Machine<'_>, observer: &mut dyn Observer) -> Result<(usize, Option<Halt>)> {
        if self.rounds == 1 || machine.rows.y.len() < 2 {
            return Ok((1, None));
        }
        let judged = machine.rows.sample(JUDGED, self.seed)?;
        let mut right = vec![0.0; self.rounds];
        for split in folds(&judged.y, FOLDS.min(judged.y.len()), self.seed)? {
            let (part, unseen) = (judged.part(&split.train), judged.part(&split.test));
            let machine = Machine { rows: &part, smoothness: machine.smoothness };
            // A part that cannot be learned from tells nothing.
            let Ok(()) = machine.judge(&unseen, &mut right) else { continue };
            if let ControlFlow::Break(halt) = observer.progress(&Progress::default()) {
                return Ok((1, Some(halt)));
            }
        }
        let best = (0..self.rounds).fold(0, |best, t| if right[t] > right[best] + 1e-9 { t } else { best });
        Ok((best + 1, None))
    }
}

/// The factors of the rounds that an earlier run has done.
fn kept_rounds(observer: &mut dyn Observer, coordinates: usize) -> Vec<Matrix> {
    let kept = observer.kept(Agop::NAME).map_or_else(Vec::new, |kept| kept.numbers);
    let good = |m: &Matrix| m.cols() == coordinates && m.first_non_finite().is_none();
    if kept.iter().all(good) { kept } else { Vec::new() }
}

/// Rows to learn from, in coordinates of their own.
struct Rows {
    x: Matrix,
    y: Labels,
    weights: Option<Vec<f64>>,
}

impl Rows {
    fn part(&self, rows: &[usize]) -> Self {
        let weights = self.weights.as_ref().map(|w| rows.iter().map(|&i| w[i]).collect());
        Self { x: self.x.select_rows(rows), y: self.y.select(rows), weights }
    }

    /// About so many of them, from each class in proportion.
    fn sample(&self, count: usize, seed: u64) -> Result<Self> {
        let n = self.y.len();
        if n <= count {
            return Ok(self.part(&Vec::from_iter(0..n)));
        }
        let splits = holdouts(&self.y, count as f64 / n as f64, 1, seed)?;
        Ok(splits.first().map_or_else(|| self.part(&[]), |split| self.part(&split.train)))
    }

    fn weight(&self, i: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |w| w[i])
    }

    /// With the settings that are asked for, or those that predict each row best from the others.
    fn machine(&self, agop: &Agop) -> Machine<'_> {
        let smoothness = match (agop.width, agop.ridge) {
            (Some(width), Some(ridge)) => Smoothness::new(width, ridge),
            (width, ridge) => self.settings(width, ridge, agop.seed),
        };
        Machine { rows: self, smoothness }
    }

    fn settings(&self, width: Option<f64>, ridge: Option<f64>, seed: u64) -> Smoothness {
        let widths = width.map_or_else(|| WIDTHS.to_vec(), |w| vec![w]);
        let ridges = ridge.map_or_else(|| RIDGES.to_vec(), |r| vec![r]);
        let mut best = (Smoothness::new(widths[0], ridges[0]), (f64::NEG_INFINITY, f64::NEG_INFINITY));
        let Ok(some) = self.sample(TRIED, seed) else { return best.0 };
        let points = Points::new(&some.x);
        let squared = points.squared_within();
        let wanted = Wanted::new(&some.y, some.weights.as_deref());
        for &width in &widths {
            let kernel = Decay::new(Kernel::Laplace, width * points.spread()).of(&squared);
            for &ridge in &ridges {
                // One that is singular to rounding is not to be taken.
                let Ok(solved) = Ridge::new(&kernel, &wanted.targets, some.weights.as_deref(), ridge) else { continue };
                let score = some.score(solved.left_out(&wanted.targets), &wanted);
                if score > best.1 {
                    best = (Smoothness::new(width, ridge), score);
                }
            }
        }
        best.0
    }

    /// How much is predicted correctly and, to decide between equals, minus the squared errors.
    fn score(&self, values: Matrix, wanted: &Wanted) -> (f64, f64) {
        let mut errors = 0.0;
        for i in 0..values.rows() {
            let apart = values.row(i).iter().zip(wanted.targets.row(i)).map(|(v, t)| (v - t) * (v - t));
            errors += self.weight(i) * apart.sum::<f64>();
        }
        (self.right(&wanted.told(values)), -errors)
    }

    /// How much is predicted correctly by these values, a column per class; of numbers, R2 times the rows.
    fn right(&self, values: &Matrix) -> f64 {
        if let Some(numbers) = self.y.numbers() {
            return explained(values.as_slice(), numbers).iter().enumerate().map(|(i, e)| self.weight(i) * e).sum();
        }
        let hits = self.y.codes().iter().enumerate().filter(|(i, code)| largest(values.row(*i)) == **code);
        hits.map(|(i, _)| self.weight(i)).sum()
    }
}

/// The rows and how smooth their functions are.
struct Machine<'a> {
    rows: &'a Rows,
    smoothness: Smoothness,
}

impl Machine<'_> {
    /// The function under the metric of a factor.
    fn function(&self, factor: &Matrix) -> Result<SmoothFunction> {
        let mapped = linalg::product_transposed(&self.rows.x, factor);
        Ok(fit(&mapped, &self.rows.y, self.rows.weights.as_deref(), self.smoothness, None)?.function)
    }

    /// The factor of the next round's metric; nothing where the function does not change anywhere.
    fn next(&self, factor: &Matrix, function: &SmoothFunction) -> Result<Option<Matrix>> {
        let mapped = linalg::product_transposed(&self.rows.x, factor);
        // The gradients in the rows' coordinates are L^T times those of the mapped rows.
        let mut m = linalg::congruence(&function.gradient_products(&mapped)?, factor);
        let p = m.rows();
        let mean = (0..p).map(|k| m[(k, k)]).sum::<f64>() / p as f64;
        if !(mean > 0.0 && mean.is_finite()) {
            return Ok(None);
        }
        m.as_mut_slice().iter_mut().for_each(|v| *v /= mean);
        Ok(Some(linalg::root(&m)?))
    }

    /// Adds to each round what its function predicts correctly of rows that it has not seen.
    fn judge(&self, unseen: &Rows, right: &mut [f64]) -> Result<()> {
        let mut factor = Matrix::identity(self.rows.x.cols());
        let mut function = self.function(&factor)?;
        for right in right {
            // A function that changes nowhere has no next round: it stays.
            if let Some(next) = self.next(&factor, &function)? {
                factor = next;
                function = self.function(&factor)?;
            }
            *right += unseen.right(&function.values(&linalg::product_transposed(&unseen.x, &factor))?);
        }
        Ok(())
    }
}

impl Method for Agop {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn check(&self) -> Result<()> {
        if self.rounds == 0 {
            return Err(Error::parameter("rounds", "0 rounds: give at least 1, usually 3"));
        }
        Smoothness::new(self.width.unwrap_or(1.0), self.ridge.unwrap_or(1.0)).check()
    }

    fn takes_start(&self) -> bool {
        false
    }

    fn takes_numbers(&self) -> bool {
        true
    }

    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        self.check()?;
        data.check_for(self)?;
        let observer = &mut Timed::new(observer);
        let frame = coordinates(data)?;
        let (rows, mut notes) = self.rows(data, &frame)?;
        let machine = rows.machine(self);
        let (rounds, halt) = self.best(&machine, observer)?;
        let Smoothness { width, ridge, .. } = machine.smoothness;
        notes.push(format!("rounds: {rounds}, bandwidth {width} of the root mean squared distance, ridge {ridge}"));
        let fits = self.fits(data, &frame, &machine, (rounds, notes), observer)?;
        let mut last = fits.into_iter().last().ok_or_else(|| Error::data("no round could be done"))?;
        if let Some(halt) = halt {
            last.outcome.status = Status::from(halt);
        }
        Ok(last)
    }
}
