//! Neighbourhood components analysis (Goldberger, Roweis, Hinton, Salakhutdinov 2005).
//!
//! Every row picks another one at random, near ones more often: `j` with a chance proportional to `exp(-||L(x_i - x_j)||^2)`.
//! The map `L` is chosen to make the expected number of rows that pick one of another class small. Not convex: what is found
//! is a local optimum, and depends on where the search begins.

use super::parameters::parameters;
use super::start::{Begin, Init, coordinates, note_collapse, notes_on};
use super::{Fit, Method, Outcome, Training, check_limits};
use crate::pairs::{Row, Softmax, interleaved};
use crate::problem::Coordinates;
use crate::solver::lbfgs::{End, Lbfgs, Steps};
use crate::solver::{Observer, Progress, Status, Termination, Timed};
use crate::{Error, Matrix, Metric, Result, linalg};
use std::cell::Cell;

parameters! {
    /// Neighbourhood components analysis.
    ///
    /// The objective that is reported is the expected number of rows that pick a neighbour of another class,
    /// `sum_i w_i (1 - p_i)`. With weights, row `i` counts `w_i` times, as a row and as a neighbour, but never as its own.
    ///
    /// ```
    /// use lipmetric::method::{Method, Nca, Training};
    /// use lipmetric::{Labels, Matrix, solver::Silent};
    /// let x = Matrix::from_rows(&[[0.0, 9.0], [0.5, 1.0], [2.0, 8.0], [2.5, 2.0]]);
    /// let y = Labels::from_names(["a", "a", "b", "b"]);
    /// let fit = Nca::new().n_components(1).fit(&Training::new(&x, &y)?, &mut Silent)?;
    /// assert_eq!(fit.metric.rank(), 1);
    /// assert!(fit.outcome.objective.unwrap() < 0.1);
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    pub struct Nca = "nca" {
        /// The number of rows of `L`, all unless it is given.
        n_components: Option<usize> as impl Into<Option<usize>> = None,
        /// Where the search begins, unless a metric to start from is given.
        init: Init = Init::Auto,
        /// There is no certificate: the search ends when a step improves the objective by less than this part of the rows.
        tolerance: f64 = 1e-5,
        /// Steps, at most.
        max_iterations: usize = 200,
    }
}

impl Nca {
    /// The objective of any metric on labelled rows: the expected number (by weight) of rows that pick a neighbour of
    /// another class.
    ///
    /// # Errors
    /// If the metric has another number of features, or there is one class only.
    pub fn objective(data: &Training<'_>, metric: &Metric) -> Result<f64> {
        let frame = coordinates(data)?;
        let factor = frame.inner(metric.factor())?;
        Ok(Softmax::new(&frame.cloud).sum(&factor, |row, c| errors(&frame, row, c)).value)
    }

    /// The gradient of [`Self::objective`] in the elements of the metric's factor.
    ///
    /// # Errors
    /// As there.
    pub fn gradient(data: &Training<'_>, metric: &Metric) -> Result<Matrix> {
        let frame = coordinates(data)?;
        let factor = frame.inner(metric.factor())?;
        let total = Softmax::new(&frame.cloud).sum(&factor, |row, c| errors(&frame, row, c));
        let mut gradient = frame.metric(&total.gradient)?.factor().clone();
        gradient.as_mut_slice().iter_mut().for_each(|v| *v *= 2.0);
        Ok(gradient)
    }
}

/// The chance that a point picks another class, and its derivative by the squared distances.
#[inline(always)]
fn errors(frame: &Coordinates, row: &Row<'_>, coefficients: &mut [f64]) -> f64 {
    // Points are sorted by class, and so are the others: those of its own class stand together.
    let from = row.others.partition_point(|&j| (j as usize) < row.same.start);
    let to = row.others.partition_point(|&j| (j as usize) < row.same.end);
    let right = interleaved(&row.chances[from..to]);
    let wrong = interleaved(&row.chances[..from]) + interleaved(&row.chances[to..]);
    let weight = frame.cloud.weight[row.i];
    let mut set = |range: std::ops::Range<usize>, factor: f64| {
        coefficients[range.clone()]
            .iter_mut()
            .zip(&row.chances[range])
            .for_each(|(out, chance)| *out = factor * chance);
    };
    set(0..from, -weight * right);
    set(from..to, weight * wrong);
    set(to..row.chances.len(), -weight * right);
    weight * wrong
}

/// By how much to scale a start so that neighbours are neither out of reach nor all alike. `near` is the mean of
/// `-log sum_j exp(-d_ij)`: about the squared distance to the nearest. A start that is not asked for by name is also made
/// soft enough that rows see more than their nearest neighbour, which leads to better optima.
fn softening(begin: Begin<'_>, near: f64, variance: f64) -> f64 {
    if near > SOFT && begin.is_auto() || near > 700.0 {
        (SOFT / near).sqrt()
    } else if variance < 1e-4 && variance > 0.0 {
        (1.0 / variance).sqrt()
    } else {
        1.0
    }
}

/// The mean squared length of the mapped points.
fn inner_spread(frame: &Coordinates, factor: &Matrix) -> f64 {
    let mapped = linalg::product_transposed(&frame.cloud.x, factor);
    linalg::inner(&mapped, &mapped) / frame.cloud.len() as f64
}

const SOFT: f64 = 4.0;

impl Method for Nca {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn check(&self) -> Result<()> {
        check_limits(self.tolerance, self.max_iterations)
    }

    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        self.check()?;
        data.check_for(self)?;
        let observer = &mut Timed::new(observer);
        let frame = coordinates(data)?;
        let begin = Begin::new(self.init, data);
        let start = frame.start(begin, self.n_components)?;
        let (r, p) = (start.rows(), start.cols());
        let mut notes = notes_on(&frame);
        let lonely = frame.cloud.classes().iter().filter(|s| s.len() == 1).count();
        if lonely > 0 {
            notes.push(format!("classes of a single row: {lonely}; these rows have no neighbour of their own class"));
        }
        let softmax = Softmax::new(&frame.cloud);
        let mut factor = Matrix::zeros(r, p);
        let mass: f64 = frame.cloud.weight.iter().sum();
        let near = Cell::new(0.0);
        let mut function = |x: &[f64], g: &mut [f64]| {
            factor.as_mut_slice().copy_from_slice(x);
            let total = softmax.sum(&factor, |row, c| errors(&frame, row, c));
            g.iter_mut().zip(total.gradient.as_slice()).for_each(|(o, v)| *o = 2.0 * v);
            near.set(-total.log_total / mass);
            total.value
        };
        let variance = 2.0 * inner_spread(&frame, &start);
        let mut state = Lbfgs::new(start.into_vec(), &mut function);
        let scale = softening(begin, near.get(), variance);
        if scale != 1.0 {
            state.x.iter_mut().for_each(|v| *v *= scale);
            state.renew(&mut function, true);
            notes.push(format!(
                "the start was scaled by {scale:.3e}, so that each row gives weight to several neighbours"
            ));
        }
        let steps = Steps {
            memory: 10,
            decrease: self.tolerance,
            scale: mass,
            gradient: 0.0,
            max_iterations: self.max_iterations,
        };
        let end = state.run(&mut function, &steps, &mut |iteration, value| {
            observer.progress(&Progress { iteration, primal: Some(value), ..Progress::default() })
        });
        let metric = frame.metric(&Matrix::from_vec(r, p, state.x)?)?;
        note_collapse(&metric, data.x, &mut notes)?;
        let mut outcome = Outcome::new(status(end), state.iterations).with_notes(notes);
        outcome.objective = Some(finite(state.value)?);
        Ok(Fit::new(metric, outcome))
    }
}

/// What a run's end says of a fit without a certificate: a run that cannot lower the objective any more has converged.
pub(super) fn status(end: End) -> Status {
    let ended = Termination { halt: end.halt(), exhausted: end == End::IterationLimit, ..Termination::default() };
    ended.status(0.0).unwrap_or(Status::Optimal)
}

pub(super) fn finite(value: f64) -> Result<f64> {
    if value.is_finite() {
        return Ok(value);
    }
    Err(Error::Numerical {
        place: "the objective",
        message: format!("it is {value}: the features may be of very different magnitude, scale them first"),
    })
}
