//! Prediction by the extension of values against the nearest neighbour: CPU seconds of index and search together, the same rows
//! and queries, the fastest of the repeats.

use crate::options::Options;
use crate::{Result, data, system, tell};
use lipmetric::Metric;
use lipmetric::classify::ExtensionFunction;
use lipmetric::lipschitz::{
    SquaredMahalanobis,
    values::{ValueOptions, learned_values},
};
use lipmetric::neighbours::NeighbourIndex;

/// As many queries as there are rows, over this.
const QUERIES: usize = 2;

pub(crate) fn run(name: &str, mut options: Options) -> Result {
    let repeats: usize = options.get("repeats")?.unwrap_or(3);
    let constant = options.get("constant")?.unwrap_or(0.25);
    options.finish()?;
    let (x, y) = data::labelled(name)?;
    let train: Vec<usize> = (0..x.rows()).filter(|i| i % (QUERIES + 1) < QUERIES).collect();
    let test: Vec<usize> = (0..x.rows()).filter(|i| i % (QUERIES + 1) == QUERIES).collect();
    let (rows, labels, queries) = (x.select_rows(&train), y.select(&train), x.select_rows(&test));
    let metric = Metric::euclidean(x.cols());
    let before = system::cpu_seconds();
    let options = ValueOptions { constant, ..ValueOptions::default() };
    let values = learned_values(&SquaredMahalanobis::new(&metric, &rows)?, &labels, &options)?;
    let learning = system::cpu_seconds() - before;
    let margins = values.margins();
    let bent = margins.iter().filter(|m| **m < 1.0).count();
    let (mut nearest, mut function) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..repeats {
        let before = system::cpu_seconds();
        let found = NeighbourIndex::new(rows.clone())?.query(&queries, 1)?;
        let between = system::cpu_seconds();
        let f = ExtensionFunction::new(rows.clone(), labels.clone(), margins.clone(), 0.5)?;
        let predicted = f.predict(&queries)?;
        let after = system::cpu_seconds();
        if found.len() != predicted.len() {
            return Err("one answer per query".into());
        }
        nearest = nearest.min(between - before);
        function = function.min(after - between);
    }
    tell(&serde_json::json!({
        "rows": rows.rows(), "queries": queries.rows(), "columns": rows.cols(), "classes": labels.classes().len(),
        "bent": bent, "learning": learning, "nearest": nearest, "function": function, "ratio": function / nearest,
    }));
    Ok(())
}
