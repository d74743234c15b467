//! `admm_fit TRAIN.csv|synthetic:ROWSxFEATURESxCLASSES D|I C|relFRACTION paper|admm|augmented [TOLERANCE] [SECONDS] [MU]
//! [ITERATIONS] [RANK]`: one JSON line. With `LIP_TRACE` set in the environment, the progress on standard error (for `paper`, the curve).
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used)]

use lipmetric::method::{Learner, LipAdmm, Solver, TradeOff, Training};
use lipmetric::problem::Variant;
use lipmetric::solver::{Budget, Observer, Progress, Stop};
use lipmetric::{Labels, Matrix};
use std::ops::ControlFlow;
use std::time::Duration;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (x, y) = match args[1].strip_prefix("synthetic:") {
        Some(size) => synthetic(size),
        None => read(&args[1]),
    };
    let variant = if args[2] == "I" { Variant::Intra } else { Variant::Diameter };
    let c = match args[3].strip_prefix("rel") {
        Some(fraction) => TradeOff::Relative(fraction.parse().unwrap()),
        None => TradeOff::Absolute(args[3].parse().unwrap()),
    };
    let solver = match args[4].as_str() {
        "paper" => Solver::Paper,
        "augmented" => Solver::Augmented,
        _ => Solver::Admm,
    };
    let number = |k: usize| args.get(k).and_then(|t| t.parse::<f64>().ok());
    let mut lip = LipAdmm::new(variant).trade_off(c).solver(solver).tolerance(number(5).unwrap_or(1e-3));
    if let Some(mu) = number(7) {
        lip = lip.mu(mu);
    }
    if let Some(iterations) = number(8).filter(|&n| n > 0.0) {
        lip = lip.max_iterations(iterations as usize);
    }
    if let Some(rank) = number(9) {
        lip = lip.rank(rank as usize);
    }
    let data = Training::new(&x, &y).unwrap();
    let begun = cpu();
    let start = std::time::Instant::now();
    let trace = Trace { on: std::env::var_os("LIP_TRACE").is_some(), last: String::new() };
    let mut observer = Budget::new(number(6).map(Duration::from_secs_f64), trace);
    let fit = lip.fit(&data, &mut observer).unwrap();
    let o = &fit.outcome;
    println!(
        "{{\"cpu_s\": {:.4}, \"c\": {}, \"rank\": {}, \"status\": \"{:?}\", \"objective\": {}, \"dual\": {}, \"gap\": {:e}, \"iterations\": {}, \"wall_s\": {:.4}, \"peak_mb\": {:.0}}}",
        cpu() - begun,
        o.c.unwrap(),
        fit.metric.rank(),
        o.status,
        o.objective.unwrap(),
        o.dual.unwrap(),
        o.gap.unwrap(),
        o.iterations,
        start.elapsed().as_secs_f64(),
        peak()
    );
}

fn read(path: &str) -> (Matrix, Labels) {
    let text = std::fs::read_to_string(path).unwrap();
    let (mut values, mut names) = (Vec::new(), Vec::new());
    for line in text.lines().skip(1) {
        let mut cells: Vec<&str> = line.split(',').collect();
        names.push(cells.pop().unwrap().to_owned());
        values.extend(cells.iter().map(|c| c.parse::<f64>().unwrap()));
    }
    (Matrix::from_vec(names.len(), values.len() / names.len(), values).unwrap(), Labels::from_names(&names))
}

/// Overlapping classes around random centres, with correlated noise.
fn synthetic(size: &str) -> (Matrix, Labels) {
    let sizes: Vec<usize> = size.split('x').map(|s| s.parse().unwrap()).collect();
    let (rows, features, classes) = (sizes[0], sizes[1], sizes[2]);
    let mut state = 1u64;
    let mut normal = || {
        let mut sum = 0.0;
        for _ in 0..12 {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            sum += ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64;
        }
        sum - 6.0
    };
    let centres: Vec<f64> = (0..classes * features).map(|k| normal() / (1.0 + (k % features) as f64 * 0.2)).collect();
    let mut x = Matrix::zeros(rows, features);
    let mut names = Vec::new();
    for i in 0..rows {
        let class = i % classes;
        let common = normal();
        for k in 0..features {
            x[(i, k)] = 2.0 * centres[class * features + k] + normal() + 0.5 * common;
        }
        names.push(format!("c{class}"));
    }
    (x, Labels::from_names(names))
}

/// CPU seconds of all threads of this process so far, where the system tells.
fn cpu() -> f64 {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return f64::NAN };
    let nanoseconds = |text: String| text.split(' ').next().and_then(|t| t.parse::<f64>().ok());
    tasks
        .filter_map(|t| std::fs::read_to_string(t.ok()?.path().join("schedstat")).ok())
        .filter_map(nanoseconds)
        .sum::<f64>()
        * 1e-9
}

/// The largest resident size of this process so far in MB, where the system tells.
fn peak() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.split_whitespace().next()?.parse::<f64>().ok()).map_or(f64::NAN, |kb| kb / 1024.0)
}

struct Trace {
    on: bool,
    last: String,
}

impl Observer for Trace {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Stop> {
        if self.on && at.primal.is_some() {
            let (primal, dual, gap) = (at.primal.unwrap_or(0.0), at.dual.unwrap_or(0.0), at.gap.unwrap_or(1.0));
            let line = format!("{primal:14.6} {dual:14.6} {gap:9.2e} {:7} rows", at.working_set.unwrap_or(0));
            if line != self.last {
                eprintln!("{:6} {line} {:8.3} s", at.iteration, at.seconds);
                self.last = line;
            }
        }
        ControlFlow::Continue(())
    }
}
