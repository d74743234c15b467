//! What the scripts in `benches/` run: one task, timed, told as one JSON line on standard output.
//!
//! `BENCH_TRACE=1` in the environment prints the progress of a fit on standard error, one line where something changed:
//! iteration, objective, bound, gap, size of the working set, seconds.

mod data;
mod fit;
mod function;
mod knn;
mod lipschitz;
mod method;
mod options;
mod path;
mod system;
mod trace;

use std::process::ExitCode;

/// Any failure ends the task with its message.
type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

const USAGE: &str = "\
usage: bench-driver TASK ARGUMENTS [name=value ...]

  fit DATA METHOD     METHOD: lip-d, lip-i, lmnn, lmml, nca, mcml, nn
                      every method:  tol, max_iter, seconds, cpu_seconds, repeats (the fastest counts), scale=standard,
                                     test=FILE (accuracy on it), out=FILE (the factor L as CSV)
                      lip-d, lip-i:  solver=auto|exact|augmented|admm|paper, c or c_rel, slack=pair|instance,
                                     diameter=max|mean|LEVEL, anchor=WEIGHT, mu, rank
                      others:        init, n_components, k, push, row_slack, alpha
  c-max DATA METHOD   the largest c of lip-d or lip-i that learns something: slack, diameter
  path DATA METHOD    a path over c against separate fits: slack, points
  knn ROWS QUERIES    columns, k, algorithm=auto|brute|tree, threads, repeats, out; raw little-endian f64
  function DATA       learned values, and prediction by them against 1-NN: constant, repeats
  lipschitz           margins and diameters of a large sample: rows, columns

DATA is a CSV file (header, numbers without gaps, label last) or made up: synthetic:, letters: or
sonar:ROWSxFEATURESxCLASSES.";

fn run() -> Result {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (named, plain): (Vec<&str>, Vec<&str>) = args.iter().map(String::as_str).partition(|a| a.contains('='));
    let options = options::Options::new(&named)?;
    match plain.as_slice() {
        ["fit", data, method] => fit::run(data, method, options),
        ["c-max", data, method] => fit::ceiling(data, method, options),
        ["path", data, method] => path::run(data, method, options),
        ["knn", rows, queries] => knn::run(rows, queries, options),
        ["function", data] => function::run(data, options),
        ["lipschitz"] => lipschitz::run(options),
        _ => Err(USAGE.into()),
    }
}

#[expect(clippy::print_stderr, reason = "the scripts show what is on standard error")]
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Tells the result.
#[expect(clippy::print_stdout, reason = "the results go to standard output")]
fn tell(line: &impl std::fmt::Display) {
    println!("{line}");
}
