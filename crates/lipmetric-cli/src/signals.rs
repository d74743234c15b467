//! Ctrl-C and the signals that mean the same.

use crate::failure::{Failure, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the user wants an end, and whether there is anything that an orderly end would save.
#[derive(Clone, Default)]
pub(crate) struct Interrupt {
    asked: Arc<AtomicBool>,
    waiting: Arc<AtomicBool>,
}

impl Interrupt {
    /// Listens for Ctrl-C and, where there is such a thing, for the signal of `kill`, `timeout` and `docker stop`.
    pub(crate) fn listen() -> Result<Self> {
        let interrupt = Self::default();
        let fail = |e: &dyn std::fmt::Display| Failure::Failed(format!("cannot listen for Ctrl-C: {e}"));
        let other = interrupt.clone();
        ctrlc::set_handler(move || other.ask()).map_err(|e| fail(&e))?;
        #[cfg(unix)]
        {
            let mut signals =
                signal_hook::iterator::Signals::new([signal_hook::consts::SIGTERM]).map_err(|e| fail(&e))?;
            let other = interrupt.clone();
            std::thread::spawn(move || signals.forever().for_each(|_| other.ask()));
        }
        Ok(interrupt)
    }

    /// The first time asks for an orderly end; a second time, or while input is waited for, there is nothing to wait for.
    fn ask(&self) {
        if self.asked.swap(true, Ordering::SeqCst) || self.waiting.load(Ordering::SeqCst) {
            lipmetric_io::write::remove_unfinished();
            std::process::exit(130);
        }
    }

    pub(crate) fn asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    /// Reads input: an interrupt meanwhile ends the program at once.
    pub(crate) fn while_waiting<T>(&self, read: impl FnOnce() -> T) -> T {
        self.waiting.store(true, Ordering::SeqCst);
        let got = read();
        self.waiting.store(false, Ordering::SeqCst);
        got
    }
}
