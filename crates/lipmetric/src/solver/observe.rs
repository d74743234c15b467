use crate::{Matrix, Metric};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
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
    /// The part of the pairs that passes over all pairs had to look at so far: the others were known not to matter.
    pub looked_at: Option<f64>,
    /// While `c_max` is computed, before the fit itself: what is known of it so far, from below and from above. There are no other
    /// figures then.
    pub c_max: Option<(f64, f64)>,
    /// Of a fit that learns from many folds: folds that are done, and folds in all.
    pub folds: Option<(usize, usize)>,
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

/// What a fit has come to in a part of its work, so that another run of the same fit can go on from there. Only that part knows what
/// the numbers mean; it checks them before it uses them.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Kept {
    /// What is no number.
    pub text: String,
    /// What is.
    pub numbers: Vec<Matrix>,
}

impl Kept {
    /// Text and numbers.
    #[must_use]
    pub fn new(text: impl Into<String>, numbers: Vec<Matrix>) -> Self {
        Self { text: text.into(), numbers }
    }

    /// A single matrix of this shape, if that is what it is and all its elements are finite.
    pub(crate) fn single(self, rows: usize, cols: usize) -> Option<Matrix> {
        let [one] = <[Matrix; 1]>::try_from(self.numbers).ok()?;
        ((one.rows(), one.cols()) == (rows, cols) && one.first_non_finite().is_none()).then_some(one)
    }
}

/// A row of numbers as a matrix.
pub(crate) fn row(values: Vec<f64>) -> Matrix {
    let cols = values.len();
    Matrix::from_vec(1, cols, values).unwrap_or_default()
}

/// Watches a fit and may end it. Solvers know nothing of clocks, signals or printing: they report here, often
/// enough (at least once an iteration), and return their best point when told to stop.
pub trait Observer {
    /// Called with the current figures; `Break` ends the fit.
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt>;

    /// Called with a choice that the fit has made, such as the solver by the size of the data, in a plain sentence.
    fn decided(&mut self, _what: &str) {}

    /// What an earlier run of the same fit has kept of a part of its work; nothing, unless somebody keeps it.
    fn kept(&mut self, _part: &str) -> Option<Kept> {
        None
    }

    /// Offers what has been reached in a part, every so often; `state` is asked only where it is to be kept now.
    fn keep(&mut self, _part: &str, _state: &mut dyn FnMut() -> Kept) {}

    /// Offers the best metric so far, every so often, to whoever may not wait for the end; `metric` is asked only where it is wanted.
    fn reached(&mut self, _metric: &mut dyn FnMut() -> Option<Metric>) {}

    /// A part is done, and this is its result: what was kept of its own parts is of no use any more.
    fn finished(&mut self, _part: &str, _result: &Kept) {}
}

/// Passes on what is kept to a field.
macro_rules! keeps_in {
    ($inner:tt) => {
        fn kept(&mut self, part: &str) -> Option<Kept> {
            self.$inner.kept(part)
        }

        fn keep(&mut self, part: &str, state: &mut dyn FnMut() -> Kept) {
            self.$inner.keep(part, state);
        }

        fn reached(&mut self, metric: &mut dyn FnMut() -> Option<Metric>) {
            self.$inner.reached(metric);
        }

        fn finished(&mut self, part: &str, result: &Kept) {
            self.$inner.finished(part, result);
        }
    };
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

    keeps_in!(inner);
}

/// So many times as long as it took to ask for the best metric it is not asked for again: a twentieth of the time, at most.
const REST: u32 = 20;
/// And not sooner than this.
const PAUSE: Duration = Duration::from_millis(50);

/// Keeps the best metric that a fit has offered ([`Observer::reached`]), for whoever may not wait for its end. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Best {
    metric: Arc<Mutex<Option<Metric>>>,
    /// When it may be asked for again.
    next: Option<Instant>,
}

impl Best {
    /// Asks for the best metric so far, unless that was done just now.
    pub fn offer(&mut self, metric: &mut dyn FnMut() -> Option<Metric>) {
        let begun = Instant::now();
        if self.next.is_some_and(|next| begun < next) {
            return;
        }
        if let Some(metric) = metric() {
            *self.metric.lock().unwrap_or_else(PoisonError::into_inner) = Some(metric);
        }
        let now = Instant::now();
        self.next = Some(now + PAUSE + REST * (now - begun));
    }

    /// The best metric that was offered.
    #[must_use]
    pub fn take(&self) -> Option<Metric> {
        self.metric.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The clock of a fit: tells another observer the seconds since this one was made.
///
/// A method makes one before anything else. Where a fit runs others inside (a path, a choice between metrics, the largest
/// trade-off first), theirs pass their figures on to it, and the outermost clock has the last word: it is never set back.
///
/// A wish to stop is remembered: what is done after it hears it again.
pub(crate) struct Timed<'a> {
    inner: &'a mut dyn Observer,
    begun: Instant,
    stop: Option<Halt>,
}

impl<'a> Timed<'a> {
    /// The fit begins now.
    pub(crate) fn new(inner: &'a mut dyn Observer) -> Self {
        Self { inner, begun: Instant::now(), stop: None }
    }
}

impl Observer for Timed<'_> {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt> {
        if let Some(stop) = self.stop {
            return ControlFlow::Break(stop);
        }
        let told = self.inner.progress(&Progress { seconds: self.begun.elapsed().as_secs_f64(), ..*at });
        self.stop = told.break_value();
        told
    }

    fn decided(&mut self, what: &str) {
        self.inner.decided(what);
    }

    keeps_in!(inner);
}

/// Between a solver, which keeps numbers in coordinates of its own, and an observer, who may want a metric of the features.
pub(crate) struct Translated<'a> {
    pub(crate) inner: &'a mut dyn Observer,
    /// The metric of what the solver keeps.
    pub(crate) metric: &'a dyn Fn(&Kept) -> Option<Metric>,
}

impl Observer for Translated<'_> {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt> {
        self.inner.progress(at)
    }

    fn decided(&mut self, what: &str) {
        self.inner.decided(what);
    }

    fn kept(&mut self, part: &str) -> Option<Kept> {
        self.inner.kept(part)
    }

    fn keep(&mut self, part: &str, state: &mut dyn FnMut() -> Kept) {
        self.inner.keep(part, state);
        self.inner.reached(&mut || (self.metric)(&state()));
    }

    fn finished(&mut self, part: &str, result: &Kept) {
        self.inner.finished(part, result);
    }
}

/// Between the computation of `c_max` and an observer: the figures of the problems that are solved for it say nothing about the fit's own.
pub(crate) struct Ceilinged<'a> {
    pub(crate) inner: &'a mut dyn Observer,
    /// The bounds of `c_max` from those that the solver tells, or from its figures.
    pub(crate) bounds: &'a dyn Fn(&Progress) -> (f64, f64),
}

impl Observer for Ceilinged<'_> {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt> {
        let c_max = Some((self.bounds)(at));
        self.inner.progress(&Progress { c_max, primal: None, dual: None, gap: None, ..*at })
    }

    fn decided(&mut self, what: &str) {
        self.inner.decided(what);
    }
}

/// Passes everything on but what is to be kept: for fits inside of another one, which are done again from their beginning.
pub(crate) struct Fleeting<'a>(pub(crate) &'a mut dyn Observer);

impl Observer for Fleeting<'_> {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt> {
        self.0.progress(at)
    }

    fn decided(&mut self, what: &str) {
        self.0.decided(what);
    }
}

impl<O: Observer + ?Sized> Observer for &mut O {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt> {
        (**self).progress(at)
    }

    fn decided(&mut self, what: &str) {
        (**self).decided(what);
    }

    fn kept(&mut self, part: &str) -> Option<Kept> {
        (**self).kept(part)
    }

    fn keep(&mut self, part: &str, state: &mut dyn FnMut() -> Kept) {
        (**self).keep(part, state);
    }

    fn reached(&mut self, metric: &mut dyn FnMut() -> Option<Metric>) {
        (**self).reached(metric);
    }

    fn finished(&mut self, part: &str, result: &Kept) {
        (**self).finished(part, result);
    }
}
