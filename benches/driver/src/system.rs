//! What the operating system tells about this process; NaN where it tells nothing.

use std::fs;

/// CPU seconds of all threads of this process so far.
pub(crate) fn cpu_seconds() -> f64 {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return f64::NAN };
    let nanoseconds = |text: String| text.split(' ').next().and_then(|t| t.parse::<f64>().ok());
    tasks.filter_map(|t| fs::read_to_string(t.ok()?.path().join("schedstat")).ok()).filter_map(nanoseconds).sum::<f64>()
        * 1e-9
}

/// The largest resident size of this process so far, in MB.
pub(crate) fn peak_megabytes() -> f64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.split_whitespace().next()?.parse::<f64>().ok()).map_or(f64::NAN, |kb| kb / 1024.0)
}
