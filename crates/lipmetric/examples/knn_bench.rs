//! Times the k-nearest-neighbour search on rows from raw files; `benches/knn/compare.py` drives it.
//!
//! Usage: `knn_bench ROWS QUERIES COLUMNS K auto|brute|tree THREADS REPEATS INDICES_OUT`. Files hold `f64` in
//! little-endian order, row after row. Prints the wall and CPU seconds of index and search together, for every
//! repeat (CPU seconds where the system tells them in `/proc`).
#![allow(clippy::print_stdout)]

use lipmetric::Matrix;
use lipmetric::neighbours::{Algorithm, NeighbourIndex};
use std::error::Error;
use std::time::Instant;

fn read(path: &str, columns: usize) -> Result<Matrix, Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    let values: Vec<f64> = bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
    Ok(Matrix::from_vec(values.len() / columns, columns, values)?)
}

/// CPU seconds of the threads of this process so far, where Linux tells them.
fn cpu_seconds() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanoseconds = |stat: String| stat.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok());
    threads
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("schedstat")).ok())
        .filter_map(nanoseconds)
        .sum::<f64>()
        / 1e9
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [rows, queries, columns, k, algorithm, threads, repeats, out] = args.as_slice() else {
        return Err("usage: knn_bench ROWS QUERIES COLUMNS K auto|brute|tree THREADS REPEATS INDICES_OUT".into());
    };
    let columns = columns.parse()?;
    let algorithm = match algorithm.as_str() {
        "auto" => Algorithm::Auto,
        "brute" => Algorithm::Brute,
        "tree" => Algorithm::Tree,
        other => return Err(format!("no algorithm `{other}`").into()),
    };
    let (rows, queries, k) = (read(rows, columns)?, read(queries, columns)?, k.parse()?);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.parse()?).build()?;
    let (mut seconds, mut cpu) = (Vec::new(), Vec::new());
    for _ in 0..repeats.parse()? {
        let rows = rows.clone();
        let (start, cpu_start) = (Instant::now(), cpu_seconds());
        let found = pool.install(|| NeighbourIndex::with_algorithm(rows, algorithm)?.query(&queries, k))?;
        seconds.push(start.elapsed().as_secs_f64());
        cpu.push(cpu_seconds() - cpu_start);
        let bytes: Vec<u8> =
            (0..found.len()).flat_map(|i| found.indices(i)).flat_map(|&i| (i as u64).to_le_bytes()).collect();
        std::fs::write(out, bytes)?;
    }
    println!("{}", serde_json::json!({ "seconds": seconds, "cpu_seconds": cpu }));
    Ok(())
}
