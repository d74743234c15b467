//! `rival_fit TRAIN.csv TEST.csv METHOD [name=value ...]`: fits on z-scored features and prints one JSON line: CPU seconds,
//! the outcome (of the fastest of `repeats=N` fits), 1-NN and 3-NN accuracy on the test rows. `out=FILE` writes the factor `L` as CSV.
//! With `RIVAL_TRACE` set in the environment, every iteration on standard error.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used)]

use lipmetric::classify::{KnnClassifier, Weights};
use lipmetric::method::{Euclidean, Init, Learner, Lmml, Lmnn, Mcml, Nca, Training};
use lipmetric::neighbours::NeighbourIndex;
use lipmetric::solver::{Observer, Progress, Stop};
use lipmetric::{Labels, Matrix};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (mut x, names) = read(&args[1]);
    let (mut test, truth) = read(&args[2]);
    standardise(&mut x, &mut test);
    let y = Labels::from_names(&names);
    let options: BTreeMap<&str, &str> = args[4..].iter().map(|a| a.split_once('=').unwrap()).collect();
    let learner = learner(&args[3], &options);
    let data = Training::new(&x, &y).unwrap();
    let repeats = options.get("repeats").map_or(1, |v| v.parse::<usize>().unwrap());
    let (mut seconds, mut fit) = (f64::INFINITY, None);
    for _ in 0..repeats.max(1) {
        let begun = cpu();
        fit = Some(learner.fit(&data, &mut Trace(std::env::var_os("RIVAL_TRACE").is_some())).unwrap());
        seconds = seconds.min(cpu() - begun);
    }
    let fit = fit.unwrap();
    let o = &fit.outcome;
    if let Some(path) = options.get("out") {
        let l = fit.metric.factor();
        let lines: Vec<String> =
            (0..l.rows()).map(|i| l.row(i).iter().map(|v| format!("{v:e}")).collect::<Vec<_>>().join(",")).collect();
        std::fs::write(path, lines.join("\n")).unwrap();
    }
    let accuracy = |k: usize| {
        let index = NeighbourIndex::new(fit.metric.transform(&x).unwrap()).unwrap();
        let knn = KnnClassifier::new(index, y.clone(), k, Weights::Uniform).unwrap();
        let codes = knn.predict(&fit.metric.transform(&test).unwrap()).unwrap();
        let right = codes.iter().zip(&truth).filter(|(c, t)| y.classes()[**c as usize] == **t).count();
        right as f64 / truth.len() as f64
    };
    println!(
        "{}",
        serde_json::json!({
            "method": learner.name(), "n": x.rows(), "p": x.cols(), "cpu_s": (1e4 * seconds).round() / 1e4,
            "acc1": (1e4 * accuracy(1)).round() / 1e4, "acc3": (1e4 * accuracy(3)).round() / 1e4,
            "status": format!("{:?}", o.status), "objective": o.objective, "gap": o.gap, "iterations": o.iterations,
            "rank": fit.metric.rank(), "notes": o.notes,
        })
    );
}

fn learner(method: &str, options: &BTreeMap<&str, &str>) -> Box<dyn Learner> {
    let number = |name: &str| options.get(name).map(|v| v.parse::<f64>().unwrap());
    let count = |name: &str| options.get(name).map(|v| v.parse::<usize>().unwrap());
    let init = match options.get("init") {
        None => Init::Auto,
        Some(&"identity") => Init::Identity,
        Some(&"pca") => Init::Pca,
        Some(&"lda") => Init::Lda,
        Some(seed) => Init::Random(seed.parse().unwrap()),
    };
    match method {
        "nca" => {
            let mut nca = Nca::new().init(init);
            if let Some(v) = number("tol") {
                nca = nca.tolerance(v);
            }
            if let Some(v) = count("max_iter") {
                nca = nca.max_iterations(v);
            }
            if let Some(v) = count("n_components") {
                nca = nca.n_components(v);
            }
            Box::new(nca)
        }
        "lmnn" => {
            let mut lmnn = Lmnn::new().init(init).row_slack(options.contains_key("row_slack"));
            if let Some(v) = number("tol") {
                lmnn = lmnn.tolerance(v);
            }
            if let Some(v) = count("k") {
                lmnn = lmnn.k(v);
            }
            if let Some(v) = number("push") {
                lmnn = lmnn.push(v);
            }
            if let Some(v) = count("max_iter") {
                lmnn = lmnn.max_iterations(v);
            }
            if let Some(v) = count("n_components") {
                lmnn = lmnn.n_components(v);
            }
            Box::new(lmnn)
        }
        "mcml" => {
            let mut mcml = Mcml::new();
            if let Some(v) = number("tol") {
                mcml = mcml.tolerance(v);
            }
            if let Some(v) = count("max_iter") {
                mcml = mcml.max_iterations(v);
            }
            Box::new(mcml)
        }
        "lmml" => {
            let mut lmml = Lmml::new();
            if let Some(v) = number("tol") {
                lmml = lmml.tolerance(v);
            }
            if let Some(v) = number("alpha") {
                lmml = lmml.alpha(v);
            }
            if let Some(v) = count("max_iter") {
                lmml = lmml.max_iterations(v);
            }
            Box::new(lmml)
        }
        _ => Box::new(Euclidean),
    }
}

fn read(path: &str) -> (Matrix, Vec<String>) {
    let text = std::fs::read_to_string(path).unwrap();
    let (mut values, mut names) = (Vec::new(), Vec::new());
    for line in text.lines().skip(1) {
        let mut cells: Vec<&str> = line.split(',').collect();
        names.push(cells.pop().unwrap().to_owned());
        values.extend(cells.iter().map(|c| c.parse::<f64>().unwrap()));
    }
    (Matrix::from_vec(names.len(), values.len() / names.len(), values).unwrap(), names)
}

/// Zero mean and unit variance on the training rows.
fn standardise(x: &mut Matrix, test: &mut Matrix) {
    let n = x.rows() as f64;
    for k in 0..x.cols() {
        let mean = (0..x.rows()).map(|i| x[(i, k)]).sum::<f64>() / n;
        let sd = ((0..x.rows()).map(|i| (x[(i, k)] - mean).powi(2)).sum::<f64>() / n).sqrt();
        let sd = if sd > 0.0 { sd } else { 1.0 };
        for m in [&mut *x, &mut *test] {
            (0..m.rows()).for_each(|i| m[(i, k)] = (m[(i, k)] - mean) / sd);
        }
    }
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

struct Trace(bool);

impl Observer for Trace {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Stop> {
        if self.0 {
            let (primal, dual) = (at.primal.unwrap_or(f64::NAN), at.dual.unwrap_or(f64::NAN));
            let (gap, set) = (at.gap.unwrap_or(f64::NAN), at.working_set.unwrap_or(0));
            eprintln!("{:5} {primal:16.9} {dual:16.9} {gap:10.3e} {set:8} {:8.3} s", at.iteration, at.seconds);
        }
        ControlFlow::Continue(())
    }
}
