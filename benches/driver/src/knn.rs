//! The k-nearest-neighbour search on rows from raw files: wall and CPU seconds of index and search together, for
//! every repeat.

use crate::options::Options;
use crate::{Result, data, system, tell};
use lipmetric::neighbours::{Algorithm, NeighbourIndex};
use std::time::Instant;

pub(crate) fn run(rows: &str, queries: &str, mut options: Options) -> Result {
    let columns = options.get("columns")?.ok_or("columns=N is needed")?;
    let k = options.get("k")?.unwrap_or(1);
    let threads = options.get("threads")?.unwrap_or(1);
    let repeats = options.get("repeats")?.unwrap_or(1);
    let out = options.text("out");
    let algorithm = match options.text("algorithm").as_deref() {
        None | Some("auto") => Algorithm::Auto,
        Some("brute") => Algorithm::Brute,
        Some("tree") => Algorithm::Tree,
        Some(other) => return Err(format!("no algorithm `{other}`").into()),
    };
    options.finish()?;
    let (rows, queries) = (data::raw(rows, columns)?, data::raw(queries, columns)?);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let (mut seconds, mut cpu) = (Vec::new(), Vec::new());
    for _ in 0..repeats {
        let rows = rows.clone();
        let (start, before) = (Instant::now(), system::cpu_seconds());
        let found = pool.install(|| NeighbourIndex::with_algorithm(rows, algorithm)?.query(&queries, k))?;
        seconds.push(start.elapsed().as_secs_f64());
        cpu.push(system::cpu_seconds() - before);
        if let Some(path) = &out {
            let indices = (0..found.len()).flat_map(|i| found.indices(i));
            let bytes: Vec<u8> = indices.flat_map(|&i| (i as u64).to_le_bytes()).collect();
            std::fs::write(path, bytes)?;
        }
    }
    tell(&serde_json::json!({ "seconds": seconds, "cpu_seconds": cpu }));
    Ok(())
}
