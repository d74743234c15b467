//! What one run of the program shares: how much it says, how it shows progress, whether the user wants it to stop.

use crate::cli::Global;
use crate::failure::{Failure, Result};
use crate::output;
use crate::progress::{self, Detail, FitObserver};
use crate::resources::Stopwatch;
use crate::signals::Interrupt;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use lipmetric::evaluate::{Advance, Supervisor};
use lipmetric::solver::{Halt, Observer, Progress};
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How often a log without a terminal is told how far things are.
const LOG_EVERY: Duration = Duration::from_secs(progress::LOG_EVERY as u64);

/// More threads than this many per processor only take memory and time to start.
const MOST_THREADS_PER_PROCESSOR: usize = 16;

pub(crate) struct Session {
    quiet: bool,
    /// How often `-v` was given.
    verbose: u8,
    interrupt: Interrupt,
    /// When the program began: time limits are counted from here.
    begun: Instant,
}

impl Session {
    pub(crate) fn start(global: &Global) -> Result<Self> {
        let begun = Instant::now();
        if let Some(threads) = global.threads {
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            let threads = threads.min(MOST_THREADS_PER_PROCESSOR * processors);
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build_global()
                .map_err(|e| Failure::Failed(format!("cannot start {threads} threads: {e}")))?;
        }
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !lipmetric_io::read::panic_is_handled() {
                usual(info);
            }
        }));
        exit_instead_of_abort()?;
        Ok(Self { quiet: global.quiet, verbose: global.verbose, interrupt: Interrupt::listen()?, begun })
    }

    /// The limit of so many seconds from the start of the program: reading the table is part of it.
    pub(crate) fn limit(&self, seconds: Option<f64>) -> Result<Option<Limit>> {
        let Some(seconds) = seconds else { return Ok(None) };
        let whole = (seconds > 0.0)
            .then(|| Duration::try_from_secs_f64(seconds).ok())
            .flatten()
            .ok_or_else(|| Failure::Usage(format!("--time-limit: {seconds} is not a number of seconds above zero")))?;
        // A limit beyond what the clock can tell is none.
        Ok(self.begun.checked_add(whole).map(|end| Limit::new(whole, end)))
    }

    /// Says something about the run, on standard error.
    pub(crate) fn note(&self, text: impl std::fmt::Display) {
        if !self.quiet {
            output::say(&text.to_string());
        }
    }

    /// Says something that only those want to know who asked for it with `-v`.
    pub(crate) fn detail(&self, text: impl std::fmt::Display) {
        if self.verbose > 0 {
            self.note(text);
        }
    }

    pub(crate) fn interrupted(&self) -> bool {
        self.interrupt.asked()
    }

    /// Reads input: an interrupt meanwhile ends the program at once.
    pub(crate) fn reading<T>(&self, read: impl FnOnce() -> T) -> T {
        self.interrupt.while_waiting(read)
    }

    /// Whether progress goes to a log, line by line, instead of to a terminal.
    fn logs(&self) -> bool {
        !self.quiet && !std::io::stderr().is_terminal()
    }

    /// Fails if the user has pressed Ctrl-C.
    pub(crate) fn go_on(&self) -> Result {
        if self.interrupted() { Err(Failure::Interrupted(String::new())) } else { Ok(()) }
    }

    fn bar(&self, bar: ProgressBar, template: &str) -> ProgressBar {
        // indicatif shows nothing where standard error is no terminal.
        bar.set_draw_target(if self.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() });
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar
    }

    /// Watches one fit.
    pub(crate) fn fit_observer(&self) -> FitObserver<'_> {
        let detail = match self.verbose {
            _ if self.quiet => Detail::Nothing,
            0 if self.logs() => Detail::Log,
            0 => Detail::Nothing,
            1 => Detail::News,
            _ => Detail::Steps,
        };
        FitObserver::new(self, self.bar(ProgressBar::new_spinner(), "{spinner} {msg}"), detail)
    }

    /// Ends the program with this failure if something that is watched only between its steps goes on for too long after the limit
    /// or an interrupt: by a second, or 5 %. What comes before is found where it can be. `late` may say that it is to be waited for.
    pub(crate) fn deadline(
        &self,
        limit: Option<Limit>,
        late: impl Fn() -> Option<Failure> + Send + 'static,
    ) -> Deadline {
        let done = Arc::new(AtomicBool::new(false));
        let (over, interrupt) = (done.clone(), self.interrupt.clone());
        let end = limit.and_then(|l| l.end.checked_add(patience(limit)));
        std::thread::spawn(move || {
            let mut asked = None;
            while !over.load(Ordering::SeqCst) {
                std::thread::sleep(TICK);
                let now = Instant::now();
                if asked.is_none() && interrupt.asked() {
                    asked = now.checked_add(patience(None));
                }
                let interrupted = asked.is_some_and(|at| now >= at);
                if !interrupted && end.is_none_or(|end| now < end) {
                    continue;
                }
                let Some(late) = late() else { continue };
                if !over.swap(true, Ordering::SeqCst) {
                    let failure = if interrupted { Failure::Interrupted(String::new()) } else { late };
                    failure.tell();
                    lipmetric_io::write::remove_unfinished();
                    std::process::exit(i32::from(failure.code()));
                }
            }
        });
        Deadline(done)
    }

    /// Watches many fits, which shall not go on for longer than the limit.
    pub(crate) fn supervisor(&self, what: &'static str, limit: Option<Limit>) -> ManyFits {
        let bar = self.bar(ProgressBar::new(1), "{prefix} {wide_bar} {pos}/{len} {msg}");
        bar.set_prefix(what);
        let end = limit.map(|limit| limit.end);
        let log = self.logs().then(|| Mutex::new(Instant::now()));
        let stop = StopOnly { interrupt: self.interrupt.clone(), end };
        ManyFits { bar, what, log, done: Arc::default(), stop }
    }
}

/// How often a deadline is looked at.
const TICK: Duration = Duration::from_millis(50);

/// How long to wait for something that has been asked to end: what is then written instead takes some time, too, and both together shall
/// take no more than a second, or 5 %.
pub(crate) fn patience(limit: Option<Limit>) -> Duration {
    limit.map_or(Duration::ZERO, |l| l.whole.mul_f64(0.03)).max(Duration::from_millis(400))
}

/// How fast rows are prepared, and how fast a model is put together, checked and written, each on a machine with nothing else to do.
const BYTES_PER_SECOND: f64 = 2e8;

/// How many pairs of rows are looked at in a second, by one thread of the same machine.
const PAIRS_PER_SECOND: f64 = 3e8;

/// A machine may have so much else to do that everything takes as many times as long; a table that comes slowly tells nothing more.
const BUSIEST: f64 = 10.0;

/// A limit of time.
#[derive(Clone, Copy)]
pub(crate) struct Limit {
    whole: Duration,
    /// When nothing may be done any more.
    last: Instant,
    /// When the work is to end, so that there is time to write.
    pub(crate) end: Instant,
    /// How long before its end to make ready what is written if there is nothing better.
    pub(crate) lead: Duration,
    /// Seconds that writing takes on a machine with nothing else to do.
    writing: f64,
    /// How long before its end a fit is asked to stop, so that it can still measure what it has come to.
    measuring: Duration,
}

impl Limit {
    fn new(whole: Duration, last: Instant) -> Self {
        Self { whole, last, end: last, lead: Duration::ZERO, writing: 0.0, measuring: Duration::ZERO }
    }

    /// The same, earlier by the time that it takes to write a model with so many bytes, if one is written, and with as much time to make
    /// its rows ready: on a machine as busy as this one was so far.
    pub(crate) fn leaving_time_to_write(self, bytes: usize, written: bool, watch: &Stopwatch) -> Self {
        let busy = watch.busy();
        let seconds = bytes as f64 / BYTES_PER_SECOND;
        let made = Self { writing: seconds, ..self }.reserve(busy);
        Self { writing: if written { seconds } else { 0.0 }, lead: made, ..self }.on_a_machine(busy)
    }

    /// The same for a fit that has to look at so many pairs of rows to say what its result is worth, on a machine where everything takes so
    /// many times as long as it would with nothing else to do. Where that would take too much of the limit even so nothing is kept back for it.
    pub(crate) fn leaving_time_to_measure(self, pairs: f64, busy: f64) -> Self {
        /// The largest part of the limit that is kept back.
        const MOST: f64 = 0.4;
        let (alone, most) = (pairs / PAIRS_PER_SECOND, MOST * self.whole.as_secs_f64());
        let seconds = if alone <= most { (busy.clamp(1.0, BUSIEST) * alone).min(most) } else { 0.0 };
        let measuring = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        Self { measuring, ..self }
    }

    /// What is left for a fit.
    pub(crate) fn left_to_fit(&self) -> Duration {
        self.left().saturating_sub(self.measuring)
    }

    /// The same where everything takes so many times as long as it would with nothing else to do.
    pub(crate) fn on_a_machine(self, busy: f64) -> Self {
        Self { end: self.last.checked_sub(self.reserve(busy)).unwrap_or(self.last), ..self }
    }

    /// The time that writing takes, a third of the whole at most.
    fn reserve(&self, busy: f64) -> Duration {
        Duration::from_secs_f64(busy.clamp(1.0, BUSIEST) * self.writing).min(self.whole / 3)
    }

    /// What is left of it.
    pub(crate) fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }
}

/// While it is there, a limit holds.
pub(crate) struct Deadline(Arc<AtomicBool>);

impl Drop for Deadline {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Memory that cannot be had where nobody foresaw it ends the program with the system's message and a code of ours, not with a
/// signal.
fn exit_instead_of_abort() -> Result {
    #[cfg(unix)]
    {
        let always = Arc::new(AtomicBool::new(true));
        signal_hook::flag::register_conditional_shutdown(signal_hook::consts::SIGABRT, 1, always)
            .map_err(|e| Failure::Failed(format!("cannot listen for signals: {e}")))?;
    }
    Ok(())
}

/// Whether results may be coloured: standard output is a terminal and `NO_COLOR` is not set.
pub(crate) fn colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// Watches only for Ctrl-C and the clock.
#[derive(Clone)]
struct StopOnly {
    interrupt: Interrupt,
    end: Option<Instant>,
}

impl StopOnly {
    fn now(&self) -> bool {
        self.interrupt.asked() || self.end.is_some_and(|end| Instant::now() >= end)
    }
}

impl Observer for StopOnly {
    fn progress(&mut self, _: &Progress) -> ControlFlow<Halt> {
        if self.now() { ControlFlow::Break(Halt::Interrupted) } else { ControlFlow::Continue(()) }
    }
}

pub(crate) struct ManyFits {
    bar: ProgressBar,
    what: &'static str,
    /// When the log was last told; none where there is a terminal or nobody wants to know.
    log: Option<Mutex<Instant>>,
    /// Fits that are done.
    pub(crate) done: Arc<AtomicUsize>,
    stop: StopOnly,
}

impl Supervisor for ManyFits {
    fn observer(&self) -> Box<dyn Observer> {
        Box::new(self.stop.clone())
    }

    fn advanced(&self, at: &Advance) {
        self.done.store(at.done, Ordering::SeqCst);
        self.bar.set_length(at.total as u64);
        self.bar.set_position(at.done as u64);
        // Whole seconds, rounded up: a bar that says 0 and goes on is no help.
        let left = Duration::from_secs(at.seconds_left.ceil() as u64);
        self.bar.set_message(format!("{} left", HumanDuration(left)));
        let Some(mut told) = self.log.as_ref().and_then(|log| log.lock().ok()) else { return };
        if told.elapsed() >= LOG_EVERY {
            *told = Instant::now();
            output::say(&format!(
                "{}: {} of {} done, about {} left",
                self.what,
                at.done,
                at.total,
                HumanDuration(left)
            ));
        }
    }

    fn cancelled(&self) -> bool {
        self.stop.now()
    }
}

impl Drop for ManyFits {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_is_asked_to_stop_in_time_to_measure_what_it_has_come_to() {
        let now = Instant::now();
        let limit = |seconds: u64| Limit::new(Duration::from_secs(seconds), now + Duration::from_secs(seconds));
        let kept = |seconds, pairs, busy| limit(seconds).leaving_time_to_measure(pairs, busy).measuring.as_secs_f64();
        assert!((kept(10, 3e8, 1.0) - 1.0).abs() < 1e-9);
        assert!((kept(10, 3e8, 2.0) - 2.0).abs() < 1e-9);
        assert!((kept(100, 3e8, 1e6) - BUSIEST).abs() < 1e-9);
        assert!((kept(10, 3e8, 1e6) - 4.0).abs() < 1e-9);
        // Where it would take most of the limit on an idle machine nothing is kept back for it.
        assert_eq!((kept(10, 3e9, 1.0), kept(10, 0.0, 1.0), kept(1, f64::INFINITY, 1.0)), (0.0, 0.0, 0.0));
        let fit = limit(1000).leaving_time_to_measure(3e9, 1.0);
        assert!(fit.left() > fit.left_to_fit() && fit.left_to_fit() > Duration::from_secs(900));
    }
}
