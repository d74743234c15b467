//! A fit beside a clock. Solvers look at the clock between their steps; where a single step takes longer than the user wants to
//! wait, what was promised is written without it.

use crate::failure::{Failure, Result};
use crate::output::short;
use crate::session::{self, Limit, Session};
use lipmetric::classify::{K, Weights};
use lipmetric::lipschitz::{Mahalanobis, Margins};
use lipmetric::method::{Euclidean, Spec};
use lipmetric::model::{Calibrated, Classifier, ClassifierSpec, Recipe, Rows, TrainingRows};
use lipmetric::prepare::Dataset;
use lipmetric::solver::{Budget, Halt, Observer, Progress, Silent, Status};
use lipmetric::view::History;
use lipmetric::{Labels, Matrix, Metric, Model};
use lipmetric_io::checkpoint::{Checkpoint, Identity};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Above this many rows the margins are left to `lipmetric margins`, so that a fit does not wait for them.
const MEASURED_ROWS: usize = 20_000;

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

/// The course of a fit, and the best metric that it has offered.
#[derive(Default)]
struct Course {
    history: History,
    best: Option<Metric>,
}

fn locked(course: &Mutex<Course>) -> MutexGuard<'_, Course> {
    course.lock().unwrap_or_else(PoisonError::into_inner)
}

/// So many times as long as it took to ask for the best metric it is not asked for again: a twentieth of the time, at most.
const REST: u32 = 20;

/// Passes everything on, and keeps the course of the fit.
struct Felt<'p, O> {
    course: &'p Mutex<Course>,
    /// When the best metric may be asked for again.
    next: Instant,
    inner: O,
}

impl<O: Observer> Observer for Felt<'_, O> {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt> {
        let _ = locked(self.course).history.progress(at);
        self.inner.progress(at)
    }

    fn decided(&mut self, what: &str) {
        self.inner.decided(what);
    }

    fn reached(&mut self, metric: &mut dyn FnMut() -> Option<Metric>) {
        let begun = Instant::now();
        if begun < self.next {
            return;
        }
        if let Some(metric) = metric() {
            locked(self.course).best = Some(metric);
        }
        let now = Instant::now();
        self.next = now + TICK + REST * (now - begun);
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
    let course = &Mutex::new(Course::default());
    let felt = Felt { course, next: Instant::now(), inner: session.fit_observer() };
    let observer = Budget::new(limit.map(|l| l.left()), felt);
    let mut observer = Kept::open(checkpoint, observer, (recipe, data), session)?;
    let told = |model, margins| {
        let history = locked(course).history.clone();
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
            if let Some(model) = model {
                let _ = sender.send(News::Measured(Box::new(measure_both(&model))));
            }
        };
        std::thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, work)
            .map_err(|e| Failure::Failed(format!("cannot start a thread: {e}")))?;
        let clock = Clock { session, limit };
        // Made as soon as the time is up, so that it is there when nobody waits any longer.
        let mut spare = None;
        let fitted = match clock.wait(&news, || spare = Some(stand_in(recipe, data))) {
            Ok(News::Fitted(fitted)) => fitted,
            Ok(News::Measured(_)) | Err(None) => {
                return Err(Failure::Failed("the fit ended without a result".to_owned()));
            }
            Err(Some(halt)) => {
                let best = locked(course).best.take();
                let spare = spare.take().unwrap_or_else(|| stand_in(recipe, data));
                let model = spare.map(|model| instead(model, recipe, (halt, best)));
                model.and_then(|model| told(Arc::new(model), Measured::default())).end()
            }
        };
        let model = match fitted {
            Ok(model) => model,
            // Interrupted before there was anything to keep.
            Err(lipmetric::Error::Interrupted) => {
                let model = spare.take().unwrap_or_else(|| stand_in(recipe, data))?;
                Arc::new(instead(model, recipe, (clock.halt(), None)))
            }
            Err(e) => return Err(e.into()),
        };
        if news_of_early_end(&model) {
            return told(model, Measured::default());
        }
        match clock.wait(&news, || ()) {
            Ok(News::Measured(margins)) => told(model, (*margins)?),
            Err(Some(_)) => told(model, Measured::default()).end(),
            _ => told(model, Measured::default()),
        }
    })
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
    limit: Option<Limit>,
}

impl Clock<'_> {
    fn halt(&self) -> Halt {
        if self.session.interrupted() { Halt::Interrupted } else { Halt::TimeLimit }
    }

    /// Waits for news until nobody would wait any longer: then why. `Err(None)` if there will be no news. Once the time is up,
    /// `late` is called.
    fn wait(&self, news: &Receiver<News>, late: impl FnOnce()) -> Result<News, Option<Halt>> {
        let (mut asked, mut late): (Option<Instant>, _) = (None, Some(late));
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
            let Some(over) = asked.into_iter().chain(self.limit.map(|l| l.end)).min().filter(|over| now >= *over)
            else {
                continue;
            };
            match late.take() {
                Some(late) => late(),
                None if now - over > session::patience(self.limit) => return Err(Some(self.halt())),
                None => {}
            }
        }
    }
}

/// A model of the same rows with the Euclidean distance.
fn stand_in(recipe: &Recipe<'_>, data: &Dataset) -> Result<Model> {
    let euclidean: Spec = Euclidean::new().into();
    let classifier = match recipe.classifier {
        ClassifierSpec::Vote { k: K::Fixed(k), weights } => ClassifierSpec::Vote { k: K::Fixed(k), weights },
        ClassifierSpec::Vote { weights, .. } => ClassifierSpec::Vote { k: K::Fixed(1), weights },
        _ => ClassifierSpec::Vote { k: K::Fixed(1), weights: Weights::Uniform },
    };
    if data.labels.are_none() {
        let plain = Recipe::new(&euclidean).prepared(recipe.fill, recipe.scaling).thresholding(recipe.threshold);
        let told = plain.pairing(recipe.pairs).comparing(recipe.triplets).comparing_pairs(recipe.quadruplets);
        return Ok(told.fit(data, None, &mut Silent)?);
    }
    let plain =
        Recipe::new(&euclidean).prepared(recipe.fill, recipe.scaling).predicting(classifier).reduced_to(recipe.dims);
    Ok(plain.fit(data, None, &mut Silent)?)
}

/// The best metric of a method that is still at work, or the Euclidean distance where it has none yet.
fn instead(mut model: Model, recipe: &Recipe<'_>, (halt, best): (Halt, Option<Metric>)) -> Model {
    model.spec = recipe.spec.clone();
    model.used = recipe.spec.clone();
    model.outcome.status = if halt == Halt::Interrupted { Status::Interrupted } else { Status::TimeLimit };
    // A metric of features whose scaling was chosen is none of these.
    let scaled = !(recipe.scaling.is_auto() && matches!(recipe.spec, Spec::Auto(_)));
    let note = match best.filter(|metric| scaled && metric.features() == model.metric.features()) {
        Some(metric) => {
            let kept = recipe.dims.zip(model.training.as_ref()).map(|(dims, rows)| metric.leading(&rows.x, dims));
            model.metric = kept.and_then(|kept| Some(kept.ok()?.0)).unwrap_or(metric);
            rethreshold(&mut model, recipe);
            "the fit was in the middle of a step that was not waited for: this is the best distance before it, and its figures are not known"
        }
        None => {
            "the fit was stopped before the method had a first result: this is the Euclidean distance, nothing was learned"
        }
    };
    model.outcome.notes.push(note.to_owned());
    model
}

/// Chooses the threshold of rows without labels anew, on the training pairs: there was no time to hold some out.
fn rethreshold(model: &mut Model, recipe: &Recipe<'_>) {
    let (Some(pairs), Some(rule), Some(rows)) = (recipe.pairs, recipe.threshold, &model.training) else { return };
    let x = rows.x.clone();
    if model.calibrate(Rows::Prepared(&x), pairs, rule).is_ok()
        && let Classifier::Pairs(pairing) = &mut model.classifier
    {
        pairing.chosen = Calibrated::Training;
    }
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
