//! Work on other threads, while the calling one looks after Python's signals and callbacks.
//!
//! The interpreter is released for the whole of a fit. The calling thread waits for news: it takes the interpreter back to hand
//! figures to a listener, and every so often to see whether Ctrl-C was pressed. Either may ask the fit to stop; it then returns
//! the best metric so far. After Ctrl-C nobody is kept waiting: work that does not end at once is left to end by itself.

use crate::failure::raise;
use crate::model::Model;
use cpu_time::ProcessTime;
use lipmetric::Result;
use lipmetric::solver::{Best, Budget, Halt, Observer, Progress};
use lipmetric::{Error, Metric};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often signals are looked for.
const PATIENCE: Duration = Duration::from_millis(50);
/// How long work may go on after Ctrl-C, or after a listener has raised something, before it is no longer waited for: on the clock,
/// and of processor time, so that a busy machine loses nothing that an idle one would keep.
const GRACE: Duration = Duration::from_millis(700);
/// On the clock alone, however busy the machine is.
const MOST_GRACE: Duration = Duration::from_secs(10);
/// Steps that are kept of a fit, at most: beyond, every second one goes.
const HISTORY: usize = 10_000;

/// Pools by their number of threads, and the process that they belong to.
type Pools = Option<(u32, HashMap<usize, Arc<ThreadPool>>)>;

static POOLS: Mutex<Pools> = Mutex::new(None);

/// The number of threads unless a call says otherwise: the first of these variables that is set (joblib sets the last one for its
/// workers, so that they do not crowd each other out), or as many as the machine has.
pub(crate) fn usual_threads() -> usize {
    let set = |name: &str| std::env::var(name).ok()?.trim().parse::<usize>().ok().filter(|n| *n > 0);
    ["LIPMETRIC_NUM_THREADS", "RAYON_NUM_THREADS", "OMP_NUM_THREADS"]
        .into_iter()
        .find_map(set)
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// A pool of so many threads. A forked process makes its own: threads do not survive a fork.
fn pool(threads: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    let threads = threads.unwrap_or_else(usual_threads);
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if pools.as_ref().is_none_or(|(owner, _)| *owner != process) {
        // The parent's are not ours to end: dropping them would wait for threads that are not there.
        std::mem::forget(pools.replace((process, HashMap::new())));
    }
    let known = &mut pools.get_or_insert_with(|| (process, HashMap::new())).1;
    if let Some(made) = known.get(&threads) {
        return Ok(Arc::clone(made));
    }
    let made = ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| PyRuntimeError::new_err(format!("cannot start {threads} threads: {e}")))?;
    Ok(Arc::clone(known.entry(threads).or_insert(Arc::new(made))))
}

/// Does something short without the interpreter, on the usual threads.
pub(crate) fn released<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let pool = pool(threads)?;
    py.detach(|| pool.install(work)).map_err(raise)
}

/// What a fit has to tell.
enum News {
    Step(Progress),
    Advance { done: usize, total: usize },
    Decided(String),
}

/// Speaks for the fit to the thread that waits for it.
#[derive(Clone)]
pub(crate) struct Messenger {
    stop: Arc<AtomicBool>,
    news: Option<Sender<(News, SyncSender<()>)>>,
}

impl Messenger {
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// How many of many fits are done.
    pub(crate) fn advanced(&self, done: usize, total: usize) {
        self.tell(News::Advance { done, total });
    }

    /// Waits until the listener has heard it.
    fn tell(&self, news: News) {
        if let Some(sender) = &self.news {
            let (heard, answer) = sync_channel(1);
            if sender.send((news, heard)).is_ok() {
                let _ = answer.recv();
            }
        }
    }
}

impl Observer for Messenger {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt> {
        self.tell(News::Step(*at));
        if self.stopped() { ControlFlow::Break(Halt::Interrupted) } else { ControlFlow::Continue(()) }
    }

    fn decided(&mut self, what: &str) {
        self.tell(News::Decided(what.to_owned()));
    }
}

/// Keeps the steps and the best metric so far, and passes the steps on.
struct Recorder {
    inner: Messenger,
    best: Best,
    history: Arc<Mutex<Vec<Progress>>>,
    seen: usize,
    every: usize,
}

impl Observer for Recorder {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt> {
        if self.seen.is_multiple_of(self.every) && at.iteration > 0 && at.c_max.is_none() {
            let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
            history.push(*at);
            if history.len() > HISTORY {
                let mut keep = false;
                history.retain(|_| {
                    keep = !keep;
                    keep
                });
                self.every *= 2;
            }
        }
        self.seen += 1;
        self.inner.progress(at)
    }

    fn decided(&mut self, what: &str) {
        self.inner.decided(what);
    }

    fn reached(&mut self, metric: &mut dyn FnMut() -> Option<Metric>) {
        self.best.offer(metric);
    }
}

/// What came of watched work.
pub(crate) struct Watched<T> {
    pub(crate) result: Result<T>,
    pub(crate) history: Vec<Progress>,
    /// The best metric that was offered until then.
    pub(crate) best: Option<Metric>,
    /// What Ctrl-C or the listener raised meanwhile.
    pub(crate) raised: Option<PyErr>,
}

impl<T> Watched<T> {
    /// The result, unless something was raised.
    pub(crate) fn unless_raised(self) -> PyResult<T> {
        match self.raised {
            Some(error) => Err(error),
            None => self.result.map_err(raise),
        }
    }
}

impl Watched<lipmetric::Model> {
    /// The model; of a fit whose time was up before it had a result, what `stopped` makes of the best metric that was offered.
    /// Where Ctrl-C or the listener raised something, the best model so far is the exception's `model`. After Ctrl-C
    /// there is always one: of a fit that was not waited for, or that had no result yet, it is what `stopped` makes of the best metric
    /// that was offered, and the exception's `note` says what that is.
    pub(crate) fn model(
        self,
        py: Python<'_>,
        stopped: impl FnOnce((Halt, Option<Metric>)) -> PyResult<lipmetric::Model>,
    ) -> PyResult<Model> {
        let Some(error) = self.raised else {
            let model = match self.result {
                Err(Error::TimeLimit(_)) => stopped((Halt::TimeLimit, self.best))?,
                result => result.map_err(raise)?,
            };
            return Ok(Model::fitted(model, self.history));
        };
        let value = error.value(py);
        let model = match self.result {
            Err(Error::Interrupted) if error.is_instance_of::<PyKeyboardInterrupt>(py) => {
                stopped((Halt::Interrupted, self.best)).ok().inspect(|model| {
                    let _ = value.setattr("note", model.outcome.notes.last());
                })
            }
            result => result.ok(),
        };
        if let Some(model) = model {
            value.setattr("model", Model::fitted(model, self.history))?;
        }
        Err(error)
    }
}

/// How work is watched.
pub(crate) struct Watching<'py> {
    pub(crate) threads: Option<usize>,
    pub(crate) time_limit: Option<f64>,
    /// Called with a kind of news and a dictionary of figures; work stops where it says `True`.
    pub(crate) listener: Option<Bound<'py, PyAny>>,
}

impl Watching<'_> {
    /// Does the work, and listens to it.
    pub(crate) fn run<T: Send + 'static>(
        self,
        py: Python<'_>,
        work: impl FnOnce(&mut dyn Observer, &Messenger) -> Result<T> + Send + 'static,
    ) -> PyResult<Watched<T>> {
        let limit = self.time_limit.map(limit).transpose()?;
        let pool = pool(self.threads)?;
        let listener = self.listener.map(Bound::unbind);
        let (sender, news) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let messenger = Messenger { stop: Arc::clone(&stop), news: listener.is_some().then_some(sender) };
        let (history, best) = (Arc::new(Mutex::new(Vec::new())), Best::default());
        let recorder =
            Recorder { inner: messenger.clone(), history: Arc::clone(&history), best: best.clone(), seen: 0, every: 1 };
        let (done, finished) = sync_channel(1);
        let (result, raised) = py.detach(move || {
            let worker = std::thread::spawn(move || {
                // Nobody may be waiting any more.
                let _ = done.send(pool.install(move || work(&mut Budget::new(limit, recorder), &messenger)));
            });
            let (result, raised) = listen(&news, &finished, listener.as_ref(), &stop);
            match (result, &raised) {
                (Some(result), _) => (result, raised),
                (None, Some(_)) => (Err(Error::Interrupted), raised),
                (None, None) => match worker.join() {
                    Ok(()) => unreachable!("work that ends without a result has panicked"),
                    Err(panic) => std::panic::resume_unwind(panic),
                },
            }
        });
        let history = std::mem::take(&mut *history.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(Watched { result, history, best: best.take(), raised })
    }
}

fn limit(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|limit| !limit.is_zero())
        .ok_or_else(|| PyValueError::new_err(format!("`time_limit`: {seconds} is not a number of seconds above zero")))
}

/// Hands news on and looks for signals until the work is done. What they raise stops it: then its result is waited for a moment
/// only. There is none of work that has panicked, either.
fn listen<T>(
    news: &Receiver<(News, SyncSender<()>)>,
    finished: &Receiver<T>,
    listener: Option<&Py<PyAny>>,
    stop: &AtomicBool,
) -> (Option<T>, Option<PyErr>) {
    let mut raised: Option<(PyErr, Instant, ProcessTime)> = None;
    loop {
        let answer = match listener {
            None => match finished.recv_timeout(PATIENCE) {
                Ok(result) => return (Some(result), raised.map(|r| r.0)),
                Err(RecvTimeoutError::Disconnected) => return (None, raised.map(|r| r.0)),
                Err(RecvTimeoutError::Timeout) => signals(),
            },
            Some(listener) => match news.recv_timeout(PATIENCE) {
                Ok((news, heard)) => {
                    let stopped = stop.load(Ordering::SeqCst);
                    let answer = if stopped { Ok(true) } else { Python::attach(|py| tell(py, listener, &news)) };
                    let _ = heard.send(());
                    answer
                }
                // The messengers are gone, and the work with them.
                Err(RecvTimeoutError::Disconnected) => return (finished.recv().ok(), raised.map(|r| r.0)),
                Err(RecvTimeoutError::Timeout) => signals(),
            },
        };
        match answer {
            Ok(wanted) => stop.fetch_or(wanted, Ordering::SeqCst),
            Err(error) => {
                raised.get_or_insert((error, Instant::now(), ProcessTime::now()));
                stop.fetch_or(true, Ordering::SeqCst)
            }
        };
        let long = |(_, since, used): &(PyErr, Instant, ProcessTime)| {
            let clock = since.elapsed();
            clock > MOST_GRACE || (clock > GRACE && used.elapsed() > GRACE)
        };
        if raised.as_ref().is_some_and(long) {
            return (finished.try_recv().ok(), raised.map(|r| r.0));
        }
    }
}

/// Whether a signal wants something raised; none asks for a stop by itself.
fn signals() -> PyResult<bool> {
    Python::attach(|py| py.check_signals().map(|()| false))
}

/// Tells the listener; whether it wants the work to stop.
fn tell(py: Python<'_>, listener: &Py<PyAny>, news: &News) -> PyResult<bool> {
    py.check_signals()?;
    let figures = PyDict::new(py);
    let kind = match news {
        News::Step(at) => {
            figures.set_item("iteration", at.iteration)?;
            figures.set_item("objective", at.primal)?;
            figures.set_item("bound", at.dual)?;
            figures.set_item("gap", at.gap)?;
            figures.set_item("pairs", at.working_set)?;
            figures.set_item("c_max", at.c_max)?;
            figures.set_item("looked_at", at.looked_at)?;
            figures.set_item("seconds", at.seconds)?;
            "step"
        }
        News::Advance { done, total } => {
            figures.set_item("done", done)?;
            figures.set_item("total", total)?;
            "advance"
        }
        News::Decided(what) => {
            figures.set_item("message", what)?;
            "decided"
        }
    };
    listener.call1(py, (kind, figures))?.bind(py).is_truthy()
}
