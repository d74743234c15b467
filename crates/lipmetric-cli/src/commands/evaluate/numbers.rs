//! The same where numbers are predicted.

use super::super::seen::{self, Seen};
use super::{Args, Tried, labelled_batch, try_method};
use crate::failure::{Failure, Result};
use crate::input::KeepArgs;
use crate::output::{self, Align, TextTable, counted, short};
use crate::session::Session;
use lipmetric::evaluate::{Errors, Summary};
use lipmetric::model::Predictor;
use lipmetric::prepare::Unseen;
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Report {
    judged: String,
    /// How many of the rows the model was fitted on.
    #[serde(skip_serializing_if = "Option::is_none")]
    training_rows: Option<usize>,
    /// In the mean over the splits, where there are several.
    #[serde(flatten)]
    errors: Errors,
    #[serde(skip_serializing_if = "Option::is_none")]
    r2_sd: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    splits: Vec<Errors>,
}

/// Refuses what is about classes.
fn check(args: &Args) -> Result {
    let of_classes = [("--radius", !args.certified.radius.is_empty()), ("--report, --plots", args.pages.wanted())];
    match of_classes.into_iter().find(|o| o.1) {
        Some((option, _)) => Err(Failure::Usage(format!("{option}: this is about classes, and numbers are predicted"))),
        None => Ok(()),
    }
}

pub(super) fn judge_model(args: &Args, (path, predictor): (&Path, &Predictor), session: &Session) -> Result {
    check(args)?;
    let model = predictor.model();
    let schema = model.preparation.schema();
    let seen = model.training.as_ref().map(Seen::of);
    let mut stream = session.reading(|| args.data.stream(&args.roles.ignore, model, &KeepArgs::default()))?;
    let (mut truth, mut predicted, mut met) = (Vec::new(), Vec::new(), 0);
    while let Some(batch) = labelled_batch(args, schema, &mut stream, session)? {
        truth.extend_from_slice(schema.targets(&batch)?.numbers().unwrap_or_default());
        predicted.extend(predictor.estimate(&batch)?);
        if let Some(seen) = &seen {
            met += seen.count(&model.preparation.read(&batch, Unseen::Error)?);
        }
    }
    if truth.is_empty() {
        return Err(Failure::Data(format!("{}: there are no rows to judge the model on", stream.origin())));
    }
    let known = model.training_rows()?.y.numbers().unwrap_or_default();
    let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
    if let Some(warning) = seen::warning(met, truth.len()) {
        session.note(format!("note: {warning}"));
    }
    let judged = format!("{} on {}", path.display(), stream.origin());
    let errors = Errors::of(&truth, &predicted, mean)?;
    show(args, &Report { judged, training_rows: Some(met), errors, r2_sd: None, splits: Vec::new() })
}

pub(super) fn judge_method(args: &Args, session: &Session) -> Result {
    check(args)?;
    let Tried { trials, judged, .. } = try_method(args, session)?;
    let splits: Vec<Errors> = trials.iter().filter_map(|t| t.errors).collect();
    let errors = Errors::mean(&splits).ok_or_else(|| Failure::Data("there are no splits to judge".to_owned()))?;
    let r2: Vec<f64> = splits.iter().map(|e| e.r2).collect();
    show(args, &Report { judged, training_rows: None, errors, r2_sd: Summary::of(&r2).map(|s| s.sd), splits })
}

fn show(args: &Args, report: &Report) -> Result {
    if args.json { output::print_json(report) } else { output::print(&describe(report)) }
}

fn describe(report: &Report) -> String {
    let Errors { n, r2, mae, rmse, mean_mae, mean_rmse, .. } = report.errors;
    let mut facts = TextTable::new(vec![Align::Left, Align::Right, Align::Left]);
    let of = match report.r2_sd {
        Some(sd) => format!("± {sd:.4} (standard deviation over the splits)"),
        None => format!("of {}", counted(n, "row", "rows")),
    };
    facts.row(["R2", &format!("{r2:.4}"), &of]);
    let mean = |error: f64| format!("always the mean of the training rows: {}", short(error));
    facts.row(["mean absolute error", &short(mae), &mean(mean_mae)]);
    facts.row(["root mean squared error", &short(rmse), &mean(mean_rmse)]);
    format!("{}\n\n{}", report.judged, facts.render())
}
