//! Every split's result, for programs.

use super::beside::PaperReport;
use super::{Args, Outcome};
use crate::failure::Failure;
use crate::method::options::{self, Given};
use lipmetric::classify::K;
use lipmetric::evaluate::{Analysis, Cell, Comparison, Errors, Trial};
use lipmetric::method::{Method, Spec};
use lipmetric::model::ClassifierSpec;
use lipmetric::prepare::Dataset;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Report<'a> {
    train_fraction: f64,
    /// Splits that the results are over.
    repeats: usize,
    /// Splits that were asked for.
    repeats_asked: usize,
    /// Where the splits are the folds of a cross-validation: their number. `train_fraction` has no part then.
    #[serde(skip_serializing_if = "Option::is_none")]
    folds: Option<usize>,
    seed: u64,
    fill: String,
    scale: String,
    /// Where certified accuracies were asked for, and what the radii are of.
    #[serde(skip_serializing_if = "<[f64]>::is_empty")]
    radii: &'a [f64],
    #[serde(skip_serializing_if = "Option::is_none")]
    radius: Option<String>,
    /// The radius that the methods are judged by, if not by the plain accuracy.
    #[serde(skip_serializing_if = "Option::is_none")]
    ranked_by: Option<f64>,
    /// Of the whole comparison.
    seconds: f64,
    methods: Vec<MethodReport<'a>>,
    data: Vec<DataReport<'a>>,
    statistics: Option<&'a Analysis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paper: Option<PaperReport<'a>>,
}

#[derive(Serialize)]
struct MethodReport<'a> {
    name: &'a str,
    learner: &'static str,
    parameters: Given,
    spec: &'a Spec,
    /// `nearest` or `extension`.
    classifier: &'static str,
    /// Neighbours that vote: 0 where the training rows decide, none where nothing votes.
    k: Option<usize>,
    best: usize,
    mean_rank: Option<f64>,
}

#[derive(Serialize)]
struct DataReport<'a> {
    name: &'a str,
    rows: usize,
    features: usize,
    classes: &'a [String],
    class_counts: Vec<usize>,
    train_rows: usize,
    test_rows: usize,
    methods: Vec<CellReport<'a>>,
}

#[derive(Serialize)]
struct CellReport<'a> {
    method: &'a str,
    accuracy_mean: Option<f64>,
    accuracy_sd: Option<f64>,
    best: bool,
    fit_seconds_mean: Option<f64>,
    splits: Vec<SplitReport<'a>>,
}

#[derive(Serialize)]
struct SplitReport<'a> {
    accuracy: Option<f64>,
    fit_seconds: Option<f64>,
    status: Option<lipmetric::solver::Status>,
    gap: Option<f64>,
    iterations: Option<usize>,
    c: Option<f64>,
    c_max: Option<f64>,
    /// `confusion[true class][predicted class]`.
    confusion: Option<&'a [Vec<usize>]>,
    refused: Option<String>,
    /// Where numbers are predicted; `accuracy` is then R2.
    #[serde(flatten)]
    errors: Option<Errors>,
    /// At each of `radii`.
    #[serde(skip_serializing_if = "<[f64]>::is_empty")]
    certified: &'a [f64],
}

impl<'a> Report<'a> {
    pub(super) fn new(outcome: &'a Outcome<'_>, subjects: &'a [Dataset], args: &'a Args) -> Self {
        let comparison = &outcome.comparison;
        let best = comparison.best();
        let ranks = comparison.average_ranks();
        let method = |m: usize| MethodReport {
            name: &comparison.methods[m],
            learner: outcome.specs[m].name(),
            parameters: options::parameters(&outcome.specs[m]),
            spec: &outcome.specs[m],
            classifier: match outcome.classifiers[m] {
                ClassifierSpec::Extension { .. } => "extension",
                ClassifierSpec::Smooth(_) => "smooth",
                ClassifierSpec::Auto => "auto",
                _ => "nearest",
            },
            k: match outcome.classifiers[m] {
                ClassifierSpec::Vote { k: K::Fixed(k), .. } => Some(k),
                ClassifierSpec::Vote { k: K::Auto, .. } => Some(0),
                _ => None,
            },
            best: best.iter().filter(|b| b[m]).count(),
            mean_rank: ranks.as_ref().map(|r| r[m]),
        };
        let data = |s: usize| DataReport {
            name: &comparison.subjects[s],
            rows: subjects[s].labels.len(),
            features: subjects[s].schema.features.len(),
            classes: subjects[s].labels.classes(),
            class_counts: subjects[s].labels.counts(),
            train_rows: comparison.splits[s].first().map_or(0, |split| split.train.len()),
            test_rows: comparison.splits[s].first().map_or(0, |split| split.test.len()),
            methods: (0..comparison.methods.len())
                .map(|m| CellReport::new(&comparison.methods[m], &comparison.cells[s][m], best[s][m]))
                .collect(),
        };
        Self {
            train_fraction: outcome.protocol.train_fraction,
            repeats: comparison.repeats(),
            repeats_asked: outcome.protocol.count(),
            folds: outcome.protocol.folds,
            seed: outcome.protocol.seed,
            fill: args.prepare.fill.to_string(),
            scale: args.prepare.scale.to_string(),
            radii: &args.certified.radius,
            radius: (!args.certified.radius.is_empty()).then(|| args.certified.describe()),
            ranked_by: args.rank_by,
            seconds: outcome.seconds,
            methods: (0..comparison.methods.len()).map(method).collect(),
            data: (0..comparison.subjects.len()).map(data).collect(),
            statistics: outcome.analysis.as_ref(),
            paper: args.paper.then(|| PaperReport::new(comparison)),
        }
    }
}

impl<'a> CellReport<'a> {
    fn new(method: &'a str, cell: &'a Cell, best: bool) -> Self {
        let summary = cell.accuracy();
        Self {
            method,
            accuracy_mean: summary.map(|s| s.mean),
            accuracy_sd: summary.map(|s| s.sd),
            best,
            fit_seconds_mean: cell.fit_seconds(),
            splits: splits(cell).collect(),
        }
    }
}

fn splits(cell: &Cell) -> impl Iterator<Item = SplitReport<'_>> {
    cell.trials.iter().map(|trial| {
        let done = trial.as_ref().ok();
        let outcome = done.map(|t| &t.outcome);
        SplitReport {
            accuracy: done.map(Trial::score),
            fit_seconds: done.map(|t| t.fit_seconds),
            status: outcome.map(|o| o.status),
            gap: outcome.and_then(|o| o.gap),
            iterations: outcome.map(|o| o.iterations),
            c: outcome.and_then(|o| o.c),
            c_max: outcome.and_then(|o| o.c_max),
            confusion: done.map(|t| t.confusion.counts()),
            refused: trial.as_ref().err().map(refusal),
            errors: done.and_then(|t| t.errors),
            certified: done.map_or(&[], |t| &t.certified),
        }
    })
}

/// Why a split could not be fitted, in the command line's words.
pub(super) fn refusal(error: &lipmetric::Error) -> String {
    Failure::from(error.clone()).to_string()
}

/// A confusion matrix in one cell: counts separated by blanks, rows (true classes) by semicolons.
fn in_a_cell(counts: &[Vec<usize>]) -> String {
    let row = |row: &Vec<usize>| row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    counts.iter().map(row).collect::<Vec<_>>().join(";")
}

/// A line per split.
pub(super) fn as_csv(comparison: &Comparison, radii: &[f64]) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let number = |v: Option<f64>| v.map(|v| v.to_string()).unwrap_or_default();
    let mut text = "data,method,split,accuracy,fit_seconds,status,gap,refused,confusion".to_owned();
    text.extend(radii.iter().map(|radius| format!(",certified_{radius}")));
    text.push('\n');
    for (subject, row) in comparison.subjects.iter().zip(&comparison.cells) {
        for (method, cell) in comparison.methods.iter().zip(row) {
            for (i, split) in splits(cell).enumerate() {
                let status = serde_json::to_value(split.status).ok();
                text += &format!(
                    "{},{},{},{},{},{},{},{},{}",
                    quoted(subject),
                    quoted(method),
                    i + 1,
                    number(split.accuracy),
                    number(split.fit_seconds),
                    status.as_ref().and_then(|s| s.as_str()).unwrap_or_default(),
                    number(split.gap),
                    split.refused.as_deref().map(quoted).unwrap_or_default(),
                    split.confusion.map(in_a_cell).unwrap_or_default()
                );
                text.extend((0..radii.len()).map(|at| format!(",{}", number(split.certified.get(at).copied()))));
                text.push('\n');
            }
        }
    }
    text
}
