//! How much memory there is, and whether a fit will find room in it.

use crate::failure::{Failure, Result};
use crate::output::counted;
use lipmetric::model::Foreseen;
use std::fs::read_to_string;

/// What the program itself, its threads and the workspace of matrix products take of the address space.
const ADDRESSES: u64 = 1 << 30;

/// A number of bytes as it is typed: `800M`, `2G`, `2GiB`, or bytes.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let shift = match text[end..].trim().to_ascii_lowercase().trim_end_matches("ib").trim_end_matches('b') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err("write a number of bytes, such as 800M or 2G".to_owned()),
    };
    let number: f64 = text[..end].parse().map_err(|_| "write a number of bytes, such as 800M or 2G".to_owned())?;
    let bytes = number * (1_u64 << shift) as f64;
    if bytes >= 1.0 { Ok(bytes as u64) } else { Err("at least 1 byte is needed".to_owned()) }
}

/// A number of bytes for people.
pub(crate) fn shown(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1024.0 && unit + 1 < units.len() {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    if unit == 0 || value >= 100.0 {
        format!("{value:.0} {}", units[unit])
    } else {
        format!("{value:.1} {}", units[unit])
    }
}

/// What the machine can give to this process: free memory, the limit of its control group, the limit of its address space. `None`
/// where the system does not tell (only Linux does).
pub(crate) fn available() -> Option<u64> {
    least().map(|(bytes, _)| bytes)
}

/// The same, and what sets this limit.
fn least() -> Option<(u64, &'static str)> {
    let free = kilobytes(&read_to_string("/proc/meminfo").ok()?, "MemAvailable:");
    let limits = [
        (free, "what this machine has free"),
        (of_group(), "what the control group has left"),
        (
            of_addresses(),
            "what the limit of the address space (`ulimit -v`) leaves beside the 1 GiB of the program itself",
        ),
    ];
    limits.into_iter().filter_map(|(bytes, whose)| Some((bytes?, whose))).min_by_key(|(bytes, _)| *bytes)
}

fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kb| kb * 1024)
}

/// What is left of the control group's memory, of either version.
fn of_group() -> Option<u64> {
    let number = |path: &str| read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let of = |limit: &str, used: &str| Some(number(limit)?.saturating_sub(number(used)?));
    of("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current")
        .or_else(|| of("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"))
}

/// What is left of the address space (`ulimit -v`).
fn of_addresses() -> Option<u64> {
    let limits = read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|l| l.strip_prefix("Max address space"))?;
    let most: u64 = line.split_whitespace().next()?.parse().ok()?;
    let used = kilobytes(&read_to_string("/proc/self/status").ok()?, "VmSize:")?;
    Some(most.saturating_sub(used).saturating_sub(ADDRESSES))
}

/// Refuses a fit that would not find room, before it begins.
pub(crate) fn check(foreseen: &Foreseen, limit: Option<u64>, origin: &str) -> Result {
    let Some((most, whose)) = limit.map(|limit| (limit, "--max-memory")).or_else(least) else { return Ok(()) };
    if foreseen.bytes <= most {
        return Ok(());
    }
    Err(Failure::Data(format!(
        "{origin}: {} x {} need at least {} of memory with this method, and {} is {whose}; choose fewer features (a category has \
         one for each of its levels) or rows, or a method that needs less (`--method nn`)",
        counted(foreseen.rows, "row", "rows"),
        counted(foreseen.features, "feature", "features"),
        shown(foreseen.bytes),
        shown(most),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_shown_as_people_write_them() {
        for (text, bytes) in [("1000", 1000), ("2k", 2048), ("1.5 GiB", 3 << 29), ("800MB", 800 << 20)] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in ["", "G", "-1", "2x", "0", "1e3"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!([shown(12), shown(3 << 29), shown(800 << 20)], ["12 bytes", "1.5 GiB", "800 MiB"]);
    }
}
