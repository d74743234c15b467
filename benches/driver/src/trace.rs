//! The progress of a fit on standard error, and its end after some CPU seconds.

use crate::system;
use lipmetric::solver::{Halt, Observer, Progress};
use std::ops::ControlFlow;

/// Prints a line where something changed, if the environment asks for it.
pub(crate) struct Trace {
    on: bool,
    last: String,
    /// Ends the fit when this process has used so many CPU seconds. Reading them takes as long as a step of a small fit, so that
    /// without a limit nobody asks.
    until: Option<f64>,
}

impl Trace {
    pub(crate) fn new() -> Self {
        Self { on: std::env::var_os("BENCH_TRACE").is_some(), last: String::new(), until: None }
    }

    /// The same for at most so many CPU seconds from now on: on a machine with other work wall time says little.
    pub(crate) fn within(seconds: Option<f64>) -> Self {
        Self { until: seconds.map(|seconds| system::cpu_seconds() + seconds), ..Self::new() }
    }
}

impl Observer for Trace {
    #[expect(clippy::print_stderr, reason = "results are on standard output")]
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt> {
        if self.on && at.primal.is_some() {
            let [primal, dual, gap] = [at.primal, at.dual, at.gap].map(|v| v.unwrap_or(f64::NAN));
            let looked = 100.0 * at.looked_at.unwrap_or(1.0);
            let rows = at.working_set.unwrap_or(0);
            let line = format!("{primal:16.9} {dual:16.9} {gap:9.2e} {rows:7} rows {looked:5.1} %");
            if line != self.last {
                eprintln!("{:6} {line} {:8.3} s", at.iteration, at.seconds);
                self.last = line;
            }
        }
        match self.until {
            Some(until) if system::cpu_seconds() > until => ControlFlow::Break(Halt::TimeLimit),
            _ => ControlFlow::Continue(()),
        }
    }
}
