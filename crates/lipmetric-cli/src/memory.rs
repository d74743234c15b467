//! How much memory there is, and whether a fit will find room in it.

use crate::failure::{Failure, Result};
use crate::output::counted;
use lipmetric::Model;
use lipmetric::model::Foreseen;
use std::fs::read_to_string;

/// What the program itself and the workspace of matrix products take of the address space, most of which is never touched.
const ADDRESSES: u64 = 384 << 20;

/// What a thread takes of it: its stack, and room for small allocations that the system sets apart for it.
const ADDRESSES_OF_A_THREAD: u64 = 128 << 20;

/// At most so much is put aside: threads find room in what others have where the system sets no more apart.
const MOST_ADDRESSES: u64 = 1 << 30;

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
            "what the limit of the address space (`ulimit -v`) leaves beside the program and its threads: raise that limit, or give \
             fewer `--threads`",
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
    Some(most.saturating_sub(used.max(own_addresses(rayon::current_num_threads()))))
}

/// What the program with so many threads takes of the address space.
fn own_addresses(threads: usize) -> u64 {
    (ADDRESSES + ADDRESSES_OF_A_THREAD * threads as u64).min(MOST_ADDRESSES)
}

/// What is less than so many bytes, and what sets this limit.
fn exceeded(bytes: u64, limit: Option<u64>) -> Option<(u64, &'static str)> {
    limit.map(|limit| (limit, "--max-memory")).or_else(least).filter(|(most, _)| bytes > *most)
}

/// Refuses to write out the matrix of the Euclidean distance, which is stored as what it is, where there is no room. `what` asks for
/// it, `remedy` is what to do.
pub(crate) fn check_identity(features: usize, limit: Option<u64>, (what, remedy): (&str, &str)) -> Result {
    /// The identity, and what is made of it.
    const COPIES: u64 = 2;
    let bytes = (features as u64).saturating_mul(features as u64).saturating_mul(8 * COPIES);
    match exceeded(bytes, limit) {
        Some((most, whose)) => Err(Failure::Data(format!(
            "{what}: the matrix of the Euclidean distance on {features} features takes {} of memory, and {} is {whose}; {remedy}",
            shown(bytes),
            shown(most)
        ))),
        None => Ok(()),
    }
}

/// Refuses a page or a picture, which has the Euclidean distance beside the learned one, where there is no room for its certificates.
pub(crate) fn check_page(features: usize, limit: Option<u64>) -> Result {
    check_identity(features, limit, ("pages and pictures", "leave them out"))
}

/// The same of a model that has this distance.
pub(crate) fn check_model(model: &Model, limit: Option<u64>, asked: (&str, &str)) -> Result {
    if model.metric.is_euclidean() { check_identity(model.metric.features(), limit, asked) } else { Ok(()) }
}

/// Refuses a fit that would not find room, before it begins.
pub(crate) fn check(foreseen: &Foreseen, limit: Option<u64>, origin: &str) -> Result {
    let Some((most, whose)) = exceeded(foreseen.bytes, limit) else { return Ok(()) };
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
    fn many_threads_do_not_take_the_whole_address_space() {
        assert_eq!([1, 2, 64].map(own_addresses), [512 << 20, 640 << 20, 1 << 30]);
    }

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
