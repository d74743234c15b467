//! A fit, and how good it is.

use crate::options::Options;
use crate::trace::Trace;
use crate::{Result, data, method, system, tell};
use lipmetric::classify::{KnnClassifier, Weights};
use lipmetric::method::Training;
use lipmetric::neighbours::NeighbourIndex;
use lipmetric::solver::Budget;
use lipmetric::{Labels, Matrix, Metric};
use serde_json::json;
use std::time::{Duration, Instant};

pub(crate) fn run(source: &str, name: &str, mut options: Options) -> Result {
    let (mut x, names) = data::load(source)?;
    let y = Labels::from_names(names);
    let mut test = options.text("test").map(|path| data::load(&path)).transpose()?;
    match options.text("scale").as_deref() {
        None => {}
        Some("standard") => data::standardise(&mut x, test.as_mut().map(|(t, _)| t)),
        Some(other) => return Err(format!("no scale `{other}`").into()),
    }
    let learner = method::learner(name, &mut options)?;
    let repeats = options.get("repeats")?.unwrap_or(1_usize).max(1);
    let limit = options.get("seconds")?.map(Duration::from_secs_f64);
    let most: Option<f64> = options.get("cpu_seconds")?;
    let out = options.text("out");
    options.finish()?;
    let training = Training::new(&x, &y)?;
    let (mut cpu, mut wall, mut last) = (f64::INFINITY, f64::INFINITY, None);
    for _ in 0..repeats {
        let mut observer = Budget::new(limit, Trace::within(most));
        let (start, before) = (Instant::now(), system::cpu_seconds());
        last = Some(learner.fit(&training, &mut observer)?);
        let seconds = system::cpu_seconds() - before;
        if seconds < cpu {
            (cpu, wall) = (seconds, start.elapsed().as_secs_f64());
        }
    }
    let fit = last.ok_or("at least one repeat")?;
    if let Some(path) = out {
        std::fs::write(path, as_csv(fit.metric.factor()))?;
    }
    let accuracy = |k| test.as_ref().map(|(t, truth)| accuracy(&fit.metric, (&x, &y), (t, truth), k)).transpose();
    let o = &fit.outcome;
    tell(&json!({
        "method": name, "n": x.rows(), "p": x.cols(), "classes": y.classes().len(), "cpu_s": rounded(cpu), "wall_s": rounded(wall),
        "peak_mb": system::peak_megabytes().round(), "acc1": accuracy(1)?, "acc3": accuracy(3)?,
        "status": format!("{:?}", o.status), "c": o.c, "objective": o.objective, "dual": o.dual, "gap": o.gap,
        "iterations": o.iterations, "rank": fit.metric.rank(), "notes": o.notes,
    }));
    Ok(())
}

pub(crate) fn ceiling(source: &str, name: &str, mut options: Options) -> Result {
    let (x, y) = data::labelled(source)?;
    let lip = method::problem(name, &mut options)?;
    options.finish()?;
    let training = Training::new(&x, &y)?;
    let before = system::cpu_seconds();
    let c_max = lip.c_max(&training, &mut Trace::new())?;
    tell(&json!({ "c_max": c_max, "cpu_s": rounded(system::cpu_seconds() - before) }));
    Ok(())
}

fn rounded(value: f64) -> f64 {
    (1e4 * value).round() / 1e4
}

fn as_csv(matrix: &Matrix) -> String {
    let line = |i| matrix.row(i).iter().map(|v| format!("{v:e}")).collect::<Vec<_>>().join(",");
    (0..matrix.rows()).map(line).collect::<Vec<_>>().join("\n")
}

/// The share of the test rows that their nearest `k` training rows name rightly.
fn accuracy(metric: &Metric, (x, y): (&Matrix, &Labels), (test, truth): (&Matrix, &[String]), k: usize) -> Result<f64> {
    let index = NeighbourIndex::new(metric.transform(x)?)?;
    let codes = KnnClassifier::new(index, y.clone(), k, Weights::Uniform)?.predict(&metric.transform(test)?)?;
    let right = codes.iter().zip(truth).filter(|(c, t)| y.classes()[**c as usize] == **t).count();
    Ok(rounded(right as f64 / truth.len() as f64))
}
