use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Where a fit stands. Figures that a method does not have are `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
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
    /// Seconds since the fit began; solvers leave it at zero, and what hands the figures on to the user's observer sets it.
    pub seconds: f64,
}

/// Why a fit is asked to stop early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Halt {
    /// The time is up.
    TimeLimit,
    /// The user wants it.
    Interrupted,
}

/// Watches a fit and may end it. Solvers know nothing of clocks, signals or printing: they report here, often
/// enough (at least once an iteration), and return their best point when told to stop.
pub trait Observer {
    /// Called with the current figures; `Break` ends the fit.
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt>;

    /// Called with a choice that the fit has made, such as the solver by the size of the data, in a plain sentence.
    fn decided(&mut self, _what: &str) {}
}

/// An observer that only lets the fit go on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _: &Progress) -> ControlFlow<Halt> {
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
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt> {
        self.inner.progress(at)?;
        match self.end {
            Some(end) if Instant::now() >= end => ControlFlow::Break(Halt::TimeLimit),
            _ => ControlFlow::Continue(()),
        }
    }

    fn decided(&mut self, what: &str) {
        self.inner.decided(what);
    }
}

/// The clock of a fit: tells another observer the seconds since this one was made.
///
/// A method makes one before anything else. Where a fit runs others inside (a path, a choice between metrics, the largest
/// trade-off first), theirs pass their figures on to it, and the outermost clock has the last word: it is never set back.
pub(crate) struct Timed<'a> {
    inner: &'a mut dyn Observer,
    begun: Instant,
}

impl<'a> Timed<'a> {
    /// The fit begins now.
    pub(crate) fn new(inner: &'a mut dyn Observer) -> Self {
        Self { inner, begun: Instant::now() }
    }
}

impl Observer for Timed<'_> {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt> {
        self.inner.progress(&Progress { seconds: self.begun.elapsed().as_secs_f64(), ..*at })
    }

    fn decided(&mut self, what: &str) {
        self.inner.decided(what);
    }
}

impl<O: Observer + ?Sized> Observer for &mut O {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt> {
        (**self).progress(at)
    }

    fn decided(&mut self, what: &str) {
        (**self).decided(what);
    }
}
