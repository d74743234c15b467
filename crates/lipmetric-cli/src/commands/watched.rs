//! A fit beside a clock. Solvers look at the clock between their steps; where a single step takes longer than the user wants to
//! wait, what was promised is written without it.

use crate::failure::{Failure, Result};
use crate::output::short;
use crate::resources;
use crate::session::{self, Limit, Session};
use lipmetric::lipschitz::{Mahalanobis, Margins};
use lipmetric::model::{Recipe, TrainingRows};
use lipmetric::prepare::{Dataset, Preparation};
use lipmetric::solver::{Best, Budget, Halt, Observer, Progress, Status};
use lipmetric::view::{History, Step};
use lipmetric::{Labels, Matrix, Metric, Model};
use lipmetric_io::checkpoint::{Checkpoint, Identity};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Above this many rows the margins are left to `lipmetric margins`, so that a fit does not wait for them.
const MEASURED_ROWS: usize = 20_000;

/// Of a fit that was stopped, rows are measured up to so many multiplications.
const MEASURED_AT_THE_END: usize = 200_000_000;

/// How often the clock is looked at.
const TICK: Duration = Duration::from_millis(50);

/// The stack of the thread that fits; decompositions recurse.
const STACK: usize = 64 << 20;

/// A fitted model, and the margins of its rows if there was time to measure them.
pub(super) struct Watched {
    pub(super) model: Arc<Model>,
    pub(super) margins: Measured,
    /// How the fit came to it.
    pub(super) history: History,
}

/// Margins of the training rows.
#[derive(Default)]
pub(super) struct Measured {
    /// Under the model's distance.
    pub(super) learned: Option<Margins>,
    /// Under the Euclidean one, where that is another.
    pub(super) euclidean: Option<Margins>,
}

/// A margin that is this part of the diameter is nothing but rounding.
const COLLAPSED: f64 = 1e-9;

impl Measured {
    /// Says so if the learned distance puts rows of different classes on one point that the Euclidean distance tells apart.
    pub(super) fn collapsed(&self) -> Option<String> {
        let (learned, euclidean) = (self.learned.as_ref()?, self.euclidean.as_ref()?);
        let margin = learned.margin.distance;
        let collapsed = margin <= COLLAPSED * learned.diameter.distance && euclidean.ratio_diameter > COLLAPSED;
        collapsed.then(|| {
            format!(
                "the distance has collapsed: rows of different classes that are apart are {} from each other (the largest distance \
                 is {}), so that rounding decides which row is the nearest; let more rows vote with `k = auto`, or learn with \
                 a smaller `c = VALUE`",
                short(margin),
                short(learned.diameter.distance)
            )
        })
    }
}

enum News {
    Fitted(lipmetric::Result<Arc<Model>>),
    Measured(Box<lipmetric::Result<Measured>>),
}

fn locked(history: &Mutex<History>) -> MutexGuard<'_, History> {
    history.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes everything on, and keeps the course of the fit and the best metric that it has offered.
struct Felt<'p, O> {
    history: &'p Mutex<History>,
    best: Best,
    inner: O,
}

impl<O: Observer> Observer for Felt<'_, O> {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt> {
        let _ = locked(self.history).progress(at);
        self.inner.progress(at)
    }

    fn decided(&mut self, what: &str) {
        self.inner.decided(what);
    }

    fn reached(&mut self, metric: &mut dyn FnMut() -> Option<Metric>) {
        self.best.offer(metric);
    }
}

/// A fit's observer, with a checkpoint or without.
enum Kept<O> {
    Nowhere(O),
    In(Box<Checkpoint<O>>),
}

impl<O: Observer> Kept<O> {
    fn open(
        asked: Option<(&Path, Duration)>,
        observer: O,
        (recipe, data): (&Recipe<'_>, &Dataset),
        session: &Session,
    ) -> Result<Self> {
        let Some((path, every)) = asked else { return Ok(Self::Nowhere(observer)) };
        let checkpoint = Checkpoint::open(path, &Identity::of(recipe, data), observer)?.every(every);
        if checkpoint.taken_up() {
            session.note(format!("going on from the checkpoint {}", path.display()));
        }
        Ok(Self::In(Box::new(checkpoint)))
    }

    fn fit(&mut self, recipe: &Recipe<'_>, data: &Dataset, session: &Session) -> lipmetric::Result<Model> {
        match self {
            Self::Nowhere(observer) => recipe.fit(data, None, observer),
            Self::In(checkpoint) => {
                let fitted = recipe.fit(data, None, checkpoint.as_mut());
                if let Some(failure) = checkpoint.failure() {
                    session.note(format!("no checkpoint is kept: {failure}"));
                }
                fitted
            }
        }
    }
}

/// Fits, measures and hands over to `finish`. If the fit does not end in time, `finish` gets the best metric that it has offered, or
/// the Euclidean distance in its place, and the program ends with it.
pub(super) fn fit(
    recipe: &Recipe<'_>,
    data: &Dataset,
    (limit, checkpoint): (Option<Limit>, Option<(&Path, Duration)>),
    session: &Session,
    finish: impl Fn(Watched) -> Result,
) -> Result {
    let (history, best) = (&Mutex::new(History::default()), Best::default());
    let felt = Felt { history, best: best.clone(), inner: session.fit_observer() };
    let observer = Budget::new(limit.map(|l| l.left_to_fit()), felt);
    let mut observer = Kept::open(checkpoint, observer, (recipe, data), session)?;
    let told = |model, margins| {
        let history = locked(history).clone();
        finish(Watched { model, margins, history })
    };
    std::thread::scope(|scope| {
        let (sender, news) = channel();
        let work = move || {
            let fitted = observer.fit(recipe, data, session).map(Arc::new);
            let model = fitted.as_ref().ok().cloned();
            // The progress that is shown ends here.
            drop(observer);
            // Nobody listens any more where the program is about to end.
            let _ = sender.send(News::Fitted(fitted));
            if let Some(model) = model.filter(|model| measured_in_time(model)) {
                let _ = sender.send(News::Measured(Box::new(measure_both(&model))));
            }
        };
        std::thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, work)
            .map_err(|e| Failure::Failed(format!("cannot start a thread: {e}")))?;
        let clock = Clock { session, limit: Cell::new(limit) };
        // Prepared as soon as the time is up, so that they are there when nobody waits any longer.
        let mut spare = None;
        let instead = |spare: Option<Result<_>>, halt, best: Option<Metric>| -> Result<Arc<Model>> {
            let (preparation, rows) = spare.unwrap_or_else(|| prepared(recipe, data))?;
            let learned = best.is_some();
            let mut model = recipe.stopped(preparation, rows, (halt, best))?;
            model.outcome.notes.extend(locked(history).steps.last().filter(|_| learned).and_then(last_known));
            Ok(Arc::new(model))
        };
        let make = || {
            let (rows, busy) = resources::with_load(|| prepared(recipe, data));
            spare = Some(rows);
            Some(busy)
        };
        let fitted = match clock.wait(&news, make) {
            Ok(News::Fitted(fitted)) => fitted,
            Ok(News::Measured(_)) | Err(None) => {
                return Err(Failure::Failed("the fit ended without a result".to_owned()));
            }
            Err(Some(halt)) => {
                let model = instead(spare.take(), halt, best.take());
                model.and_then(|model| told(model, Measured::default())).end()
            }
        };
        let model = match fitted {
            Ok(model) => model,
            // Ended before there was anything to keep.
            Err(lipmetric::Error::Interrupted | lipmetric::Error::TimeLimit(_)) => {
                instead(spare.take(), clock.halt(), None)?
            }
            Err(e) => return Err(e.into()),
        };
        if news_of_early_end(&model) {
            return told(model, Measured::default());
        }
        match clock.wait(&news, || None) {
            Ok(News::Measured(margins)) => told(model, (*margins)?),
            Err(Some(_)) => told(model, Measured::default()).end(),
            _ => told(model, Measured::default()),
        }
    })
}

/// What a fit that was not waited for had proved.
fn last_known(step: &Step) -> Option<String> {
    let (objective, bound) = (step.objective?, step.bound?);
    let gap = step.gap.map_or_else(String::new, |gap| format!(", a gap of {}", short(gap)));
    Some(format!(
        "at step {}, the last that was finished, the best distance had an objective of about {} where {} is the lower bound{gap}; this was \
         not measured again",
        step.iteration,
        short(objective),
        short(bound)
    ))
}

/// Whether the rows of a model are worth measuring: of one that was stopped only if it takes no time.
fn measured_in_time(model: &Model) -> bool {
    let stopped = matches!(model.outcome.status, Status::TimeLimit | Status::Interrupted);
    let rows = model.training.as_ref().map_or(0, |rows| rows.x.rows());
    !stopped || (rows * rows).saturating_mul(model.metric.features()) < MEASURED_AT_THE_END
}

/// Whether a model is one that stands in for the method's own: its rows are not measured.
fn news_of_early_end(model: &Model) -> bool {
    model.outcome.status == Status::Interrupted && model.metric.is_euclidean()
}

/// Ends the program with a result, whatever its threads are doing.
pub(super) trait End {
    fn end<T>(self) -> T;
}

impl End for Result {
    fn end<T>(self) -> T {
        lipmetric_io::write::remove_unfinished();
        std::process::exit(match self {
            Ok(()) | Err(Failure::BrokenPipe) => 0,
            Err(failure) => {
                failure.tell();
                i32::from(failure.code())
            }
        })
    }
}

struct Clock<'c> {
    session: &'c Session,
    limit: Cell<Option<Limit>>,
}

impl Clock<'_> {
    fn halt(&self) -> Halt {
        if self.session.interrupted() { Halt::Interrupted } else { Halt::TimeLimit }
    }

    /// Waits for news until nobody would wait any longer: then why. `Err(None)` if there will be no news. Shortly before the time is up,
    /// `late` is called; it tells how busy the machine is.
    fn wait(&self, news: &Receiver<News>, late: impl FnOnce() -> Option<f64>) -> Result<News, Option<Halt>> {
        let (mut asked, mut late): (Option<Instant>, _) = (None, Some(late));
        let soon = self.limit.get().map(|l| l.end.checked_sub(l.lead).unwrap_or(l.end));
        loop {
            match news.recv_timeout(TICK) {
                Ok(news) => return Ok(news),
                Err(RecvTimeoutError::Disconnected) => return Err(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = Instant::now();
            if asked.is_none() && self.session.interrupted() {
                asked = Some(now);
            }
            if (asked.is_some() || soon.is_some_and(|soon| now >= soon))
                && let Some(late) = late.take()
            {
                let busy = late();
                self.limit.set(self.limit.get().map(|l| busy.map_or(l, |busy| l.on_a_machine(busy))));
            }
            let limit = self.limit.get();
            let over = asked.into_iter().chain(limit.map(|l| l.end)).min();
            if over.is_some_and(|over| Instant::now().saturating_duration_since(over) > session::patience(limit)) {
                return Err(Some(self.halt()));
            }
        }
    }
}

/// The rows as a fit has them.
fn prepared(recipe: &Recipe<'_>, data: &Dataset) -> Result<(Preparation, TrainingRows)> {
    let scaling = recipe.scaling.unwrap_or_default();
    let preparation = Preparation::fit(data.schema.clone(), &data.columns, None, recipe.fill, scaling)?;
    let mut rows = TrainingRows::new(preparation.apply(&data.columns)?, data.labels.clone());
    rows.lines.clone_from(&data.lines);
    Ok((preparation, rows))
}

/// Margins and ratios of the training rows, under the metric and under the Euclidean distance.
fn measure_both(model: &Model) -> lipmetric::Result<Measured> {
    let classes = |rows: &&TrainingRows| rows.y.numbers().is_none() && !rows.y.are_none();
    let Some(rows) = model.training.as_ref().filter(classes) else { return Ok(Measured::default()) };
    let of = |metric: &Metric| measure(metric, &rows.x, &rows.y);
    // It is there to compare with: a learned distance may well exist where Euclidean ones leave the range of numbers.
    let euclidean =
        if model.metric.is_euclidean() { None } else { of(&Metric::euclidean(rows.x.cols())).ok().flatten() };
    Ok(Measured { learned: of(&model.metric)?, euclidean })
}

/// Margins and ratios of rows under a metric; none of too many rows.
pub(super) fn measure(metric: &Metric, x: &Matrix, y: &Labels) -> lipmetric::Result<Option<Margins>> {
    if x.rows() > MEASURED_ROWS {
        return Ok(None);
    }
    Ok(Some(Margins::new(&Mahalanobis::new(metric, x)?, y)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_that_is_not_waited_for_says_what_it_had_proved() {
        let mut history = History::default();
        let mut at = Progress::default();
        (at.iteration, at.dual) = (3, Some(1.5));
        let _ = history.progress(&at);
        assert!(history.steps.last().and_then(last_known).is_none(), "on a sample no metric is known yet");
        (at.iteration, at.primal, at.gap) = (7, Some(2.0), Some(0.25));
        let _ = history.progress(&at);
        let told = history.steps.last().and_then(last_known).unwrap_or_default();
        assert!(told.starts_with("at step 7, ") && told.contains("about 2 where 1.5 is the lower bound"), "{told}");
        assert!(told.contains("a gap of 0.25"), "{told}");
    }
}
