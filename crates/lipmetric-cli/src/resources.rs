//! What the process has used.

use cpu_time::{ProcessTime, ThreadTime};
use std::time::Instant;

/// A stopwatch for wall and processor time.
pub(crate) struct Stopwatch {
    wall: Instant,
    cpu: Option<ProcessTime>,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { wall: Instant::now(), cpu: ProcessTime::try_now().ok() }
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.wall.elapsed().as_secs_f64()
    }

    /// How many times as long everything has taken as it would with nothing else to do.
    pub(crate) fn busy(&self) -> f64 {
        self.cpu_seconds().map_or(1.0, |cpu| self.seconds() / cpu)
    }

    /// Processor seconds of all threads.
    pub(crate) fn cpu_seconds(&self) -> Option<f64> {
        Some(self.cpu?.try_elapsed().ok()?.as_secs_f64())
    }
}

/// Does something, and tells how many times as long as its processor time it took: how busy the machine is with other things.
pub(crate) fn with_load<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let (wall, cpu) = (Instant::now(), ThreadTime::try_now().ok());
    let done = work();
    let used = cpu.and_then(|cpu| cpu.try_elapsed().ok()).map_or(0.0, |used| used.as_secs_f64());
    (done, if used > 0.0 { wall.elapsed().as_secs_f64() / used } else { 1.0 })
}

/// The most memory that the process has held at once; `None` where the system does not tell (only Linux does).
pub(crate) fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kb| kb * 1024)
}
