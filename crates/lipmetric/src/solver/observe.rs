use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Where a fit stands. Figures that a method does not have are `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Progress {
    /// Iterations done.
    pub iteration: usize,
    /// Objective of the best point so far.
    pub primal: Option<f64>,
    /// Best certified lower bound of the objective so far.
    pub dual: Option<f64>,
    /// Relative gap between the two.
    pub gap: Option<f64>,
    /// How many pairs the solver holds at the moment.
    pub working_set: Option<usize>,
    /// Seconds since the fit began.
    pub seconds: f64,
}

/// Why a fit is asked to stop early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The time is up.
    TimeLimit,
    /// The user wants it.
    Interrupted,
}

/// Watches a fit and may end it. Solvers know nothing of clocks, signals or printing: they report here, often
/// enough (at least once an iteration), and return their best point when told to stop.
pub trait Observer {
    /// Called with the current figures; `Break` ends the fit.
    fn progress(&mut self, at: &Progress) -> ControlFlow<Stop>;
}

/// An observer that only lets the fit go on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _: &Progress) -> ControlFlow<Stop> {
        ControlFlow::Continue(())
    }
}

/// Ends a fit after a time, and passes everything on to another observer.
#[derive(Debug)]
pub struct Budget<O> {
    inner: O,
    end: Option<Instant>,
}

impl<O: Observer> Budget<O> {
    /// Stops the fit once `limit` has passed from now; never, if there is no limit.
    pub fn new(limit: Option<Duration>, inner: O) -> Self {
        Self { inner, end: limit.and_then(|l| Instant::now().checked_add(l)) }
    }
}

impl<O: Observer> Observer for Budget<O> {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Stop> {
        self.inner.progress(at)?;
        match self.end {
            Some(end) if Instant::now() >= end => ControlFlow::Break(Stop::TimeLimit),
            _ => ControlFlow::Continue(()),
        }
    }
}

impl<O: Observer + ?Sized> Observer for &mut O {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Stop> {
        (**self).progress(at)
    }
}
