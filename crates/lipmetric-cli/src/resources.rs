//! What the process has used.

use cpu_time::ProcessTime;
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

    /// Processor seconds of all threads.
    pub(crate) fn cpu_seconds(&self) -> Option<f64> {
        Some(self.cpu?.try_elapsed().ok()?.as_secs_f64())
    }
}

/// The most memory that the process has held at once; `None` where the system does not tell (only Linux does).
pub(crate) fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kb| kb * 1024)
}
