use crate::failure::{Failure, Result};
use crate::output::{self, short, whole};
use lipmetric::Model;
use lipmetric::method::Method;
use lipmetric::problem::{Diameter, Slack};
use lipmetric::verify::{Statement, USUAL_LIMIT, Verified};
use serde::Serialize;
use std::path::PathBuf;

/// Check a model's certificate in exact arithmetic
///
/// A model that was fitted with `--certificate` holds multipliers that prove a lower bound of every metric's objective. They, and
/// the objective of the stored metric, are checked from the file alone, without rounding, by code that the solvers share nothing
/// with. Exit code 4 says that something the file claims does not hold.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lipmetric fit --data echo --method lip-d --certificate --model echo.lip
  lipmetric verify echo.lip
  lipmetric verify echo.lip --json")]
pub(crate) struct Args {
    /// The model, as `lipmetric fit --certificate --model` wrote it
    model: PathBuf,
    /// Multiplications of 64-bit words to spend at most; a check that would take more is refused with the number
    #[arg(long, value_name = "N", default_value_t = USUAL_LIMIT)]
    limit: f64,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    holds: bool,
    #[serde(flatten)]
    verified: &'a Verified,
    claimed: Claimed,
    method: &'a str,
    slack: Slack,
    diameter: Diameter,
    c: f64,
    n: usize,
    p: usize,
    checksum: &'a str,
}

#[derive(Serialize)]
struct Claimed {
    objective: Option<f64>,
    bound: Option<f64>,
    gap: Option<f64>,
}

pub(crate) fn run(args: &Args) -> Result {
    let stored = crate::input::load_model(&args.model)?;
    let (model, origin) = (&stored.model, args.model.display());
    let statement = Statement::of(model).map_err(|e| Failure::Data(format!("{origin}: {}", Failure::from(e))))?;
    let verified = Verified::of(model, args.limit)?;
    if args.json {
        let outcome = &model.outcome;
        output::print_json(&Report {
            holds: verified.holds(),
            verified: &verified,
            claimed: Claimed { objective: outcome.objective, bound: outcome.dual, gap: outcome.gap },
            method: model.spec.name(),
            slack: statement.slack,
            diameter: statement.diameter,
            c: statement.c,
            n: statement.x.rows(),
            p: statement.x.cols(),
            checksum: &stored.checksum,
        })?;
    } else {
        output::print(&describe(&origin.to_string(), model, &statement, &verified))?;
    }
    if verified.holds() {
        return Ok(());
    }
    Err(Failure::NotProved(format!("{origin}: not everything that the model claims holds: {}", verified.reasons[0])))
}

fn describe(origin: &str, model: &Model, statement: &Statement<'_>, verified: &Verified) -> String {
    let (slack, diameter) = (statement.slack, statement.diameter);
    let mut text = format!(
        "{origin}: {}, {slack}, diameter {diameter}, c = {}{}; {} rows of {} features\n\n",
        model.spec.name(),
        statement.c,
        if verified.weighted { ", weighted rows" } else { "" },
        statement.x.rows(),
        statement.x.cols()
    );
    let which = match (&statement.certificate.basis, verified.every_metric) {
        (Some(basis), false) => format!("no metric on the {} coordinates in which the rows vary", basis.rows()),
        _ => "no metric".to_owned(),
    };
    let most = if statement.slack == Slack::Instance { "at most " } else { "" };
    text += &format!("proved: {which} has an objective below {}\n", whole(verified.bound));
    text += &format!("the stored metric has {most}{}\n", whole(verified.objective));
    match verified.gap {
        Some(_) if verified.bound == 0.0 && verified.objective > 0.0 => {
            text += "which does not say how near to the best it is\n";
        }
        Some(gap) => text += &format!("so it is within {} of the best, relatively\n", short(gap)),
        None => text += "which is below that: the metric measures more than these coordinates\n",
    }
    text += &format!("checked in exact arithmetic, {} pairs of rows\n", verified.pairs);
    for reason in &verified.reasons {
        text += &format!("does not hold: {reason}\n");
    }
    text
}
