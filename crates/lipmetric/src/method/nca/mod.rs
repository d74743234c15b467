//! Neighbourhood components analysis (Goldberger, Roweis, Hinton, Salakhutdinov 2005).
//!
//! Every row picks another one at random, near ones more often: `j` with a chance proportional to `exp(-||L(x_i - x_j)||^2)`.
//! The map `L` is chosen to make the expected number of rows that pick one of another class small. Not convex: what is found
//! is a local optimum, and depends on where the search begins.
//!
//! With [`Loss::Log`] the likelihood of the classes takes the place of the expected errors, a penalty keeps the map near its
//! start, and the search ends where it serves rows best that it does not see.
//!
//! | file | what |
//! |---|---|
//! | `loss` | what is summed, and its derivative |
//! | `search` | the objective on given coordinates, the start's scale, the steps |

mod loss;
mod search;

pub use loss::Loss;

use super::held_out::{self, Chosen};
use super::parameters::parameters;
use super::start::{Begin, Init, coordinates, note_collapse, notes_on, weights};
use super::{Fit, Method, Outcome, Training, check_limits};
use crate::pairs::Softmax;
use crate::problem::expected_errors;
use crate::solver::lbfgs::End;
use crate::solver::{Kept, Observer, Progress, Status, Termination, Timed, Translated};
use crate::{Error, Matrix, Metric, Result};
use search::{Search, Walk};

parameters! {
    /// Neighbourhood components analysis.
    ///
    /// The objective that is reported is the expected number of rows that pick a neighbour of another class,
    /// `sum_i w_i (1 - p_i)`, or with [`Loss::Log`] `-sum_i w_i log p_i`, each with the penalty. With weights, row `i` counts `w_i`
    /// times, as a row and as a neighbour, but never as its own.
    ///
    /// With [`Loss::Log`] the start is scaled to the largest likelihood, unless it was asked for by name. The number of steps is
    /// chosen three times by a fifth of the rows, which the search does not see, and then done on all rows.
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
        /// What is minimised.
        loss: Loss = Loss::Errors,
        /// What it costs to leave the start: this part of the rows' number for as far as the start is from zero. By itself 0 for
        /// `Loss::Errors` and 0.3 for `Loss::Log`.
        penalty: Option<f64> as impl Into<Option<f64>> = None,
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

/// The penalty of [`Loss::Log`] unless another one is asked for. Of 0.3, 1 and 3 it gave the best votes in the mean of nineteen
/// tables: bundled ones, some of scikit-learn's, and generated ones.
const LOG_PENALTY: f64 = 0.3;

impl Nca {
    /// The objective of any metric on labelled rows: the expected number (by weight) of rows that pick a neighbour of
    /// another class.
    ///
    /// # Errors
    /// If the metric has another number of features, or there is one class only.
    pub fn objective(data: &Training<'_>, metric: &Metric) -> Result<f64> {
        let frame = coordinates(data)?;
        let factor = frame.inner(metric.factor())?;
        Ok(Softmax::new(&frame.cloud).sum(&factor, |row, c| Loss::Errors.of(&frame, row, c)).value)
    }

    /// The gradient of [`Self::objective`] in the elements of the metric's factor.
    ///
    /// # Errors
    /// As there.
    pub fn gradient(data: &Training<'_>, metric: &Metric) -> Result<Matrix> {
        let frame = coordinates(data)?;
        let factor = frame.inner(metric.factor())?;
        let total = Softmax::new(&frame.cloud).sum(&factor, |row, c| Loss::Errors.of(&frame, row, c));
        let mut gradient = frame.metric(&total.gradient)?.factor().clone();
        gradient.as_mut_slice().iter_mut().for_each(|v| *v *= 2.0);
        Ok(gradient)
    }

    /// What [`Loss::Log`] sums, of any metric on labelled rows and without the penalty: minus the logarithm of the chance (by
    /// weight) that every row picks a neighbour of its own class. Rows that are alone in their class do not count.
    ///
    /// # Errors
    /// As of [`Self::objective`].
    pub fn log_loss(data: &Training<'_>, metric: &Metric) -> Result<f64> {
        let frame = coordinates(data)?;
        let factor = frame.inner(metric.factor())?;
        let softmax = Softmax::new(&frame.cloud).with_own_class();
        Ok(softmax.sum(&factor, |row, c| Loss::Log.of(&frame, row, c)).value)
    }

    /// The penalty that is taken.
    fn usual_penalty(&self) -> f64 {
        self.penalty.unwrap_or(match self.loss {
            Loss::Errors => 0.0,
            Loss::Log => LOG_PENALTY,
        })
    }
}

impl Method for Nca {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn check(&self) -> Result<()> {
        check_limits(self.tolerance, self.max_iterations)?;
        match self.penalty {
            Some(wrong) if !(wrong >= 0.0 && wrong.is_finite()) => {
                Err(Error::parameter("penalty", format!("{wrong} is not a number from 0 on, for example 1")))
            }
            _ => Ok(()),
        }
    }

    fn fit(&self, data: &Training<'_>, observer: &mut dyn Observer) -> Result<Fit> {
        self.fit_by(data, held_out::REPEATS, observer)
    }
}

impl Nca {
    /// The same, where the number of steps is chosen by so many parts of the rows.
    pub(super) fn fit_by(&self, data: &Training<'_>, repeats: usize, observer: &mut dyn Observer) -> Result<Fit> {
        self.check()?;
        data.check_for(self)?;
        let observer = &mut Timed::new(observer);
        let frame = coordinates(data)?;
        let search = Search::new(self, &frame, Begin::new(self.init, data))?;
        let mut notes = notes_on(&frame);
        let lonely = frame.cloud.classes().iter().filter(|s| s.len() == 1).count();
        if lonely > 0 {
            notes.push(format!("classes of a single row: {lonely}; these rows have no neighbour of their own class"));
        }
        if search.scale != 1.0 {
            notes.push(scaled(self.loss, search.scale));
        }
        let chosen = if self.loss == Loss::Log { self.steps(data, repeats, observer)? } else { None };
        let (most, before) = chosen.as_ref().map_or((self.max_iterations, 0), |c| (c.steps, c.done));
        let mut state = search.revived(observer.kept(Self::NAME)).unwrap_or_else(|| search.begin());
        let reached = |kept: &Kept| frame.metric(&search.shaped(kept.numbers.get(1)?).ok()?).ok();
        let observer = &mut Translated { inner: observer, metric: &reached };
        let mut end = search.run(&mut state, most, &mut |told| {
            if let Some(state) = told.state {
                observer.keep(Self::NAME, &mut || Kept::new("", state.numbers()));
            }
            let (iteration, primal) = (before + told.iteration, Some(told.value));
            observer.progress(&Progress { iteration, primal, ..Progress::default() })
        });
        let mut enough = false;
        if let Some(chosen) = chosen {
            notes.push(held_out::note(chosen.steps));
            end = chosen.halt.map_or(end, End::Stopped);
            enough = chosen.steps < self.max_iterations;
        }
        let metric = frame.metric(&search.factor(&state)?)?;
        note_collapse(&metric, data.x, &mut notes)?;
        let status = if enough && end == End::IterationLimit { Status::HeldOut } else { status(end) };
        let mut outcome = Outcome::new(status, state.iterations).with_notes(notes);
        // What the search believes is that of its coordinates; the penalty is defined there.
        let plain = self.loss == Loss::Errors && self.usual_penalty() == 0.0;
        let measured = plain.then(|| expected_errors((data.x, data.y.codes(), &weights(data)), &metric));
        outcome.objective = Some(finite(measured.unwrap_or(state.value))?);
        Ok(Fit::new(metric, outcome))
    }

    /// The number of steps that serves held-out rows best.
    fn steps(&self, data: &Training<'_>, repeats: usize, observer: &mut dyn Observer) -> Result<Option<Chosen>> {
        held_out::choose(data, (repeats, self.max_iterations), observer, &|training, frame, path| {
            let search = Search::new(self, frame, Begin::new(self.init, training))?;
            path.follow(&mut Walk { state: search.begin(), search, seen: training.y.codes(), truth: data.y.codes() })
        })
    }
}

/// A note on the start's scale.
fn scaled(loss: Loss, scale: f64) -> String {
    let why = match loss {
        Loss::Errors => "so that each row gives weight to several neighbours",
        Loss::Log => "under which the classes are most likely",
    };
    format!("the start was scaled by {scale:.3e}, {why}")
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
