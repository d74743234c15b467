use crate::failure::{Failure, Result};
use crate::output::{self, short, whole};
use lipmetric::method::Method;
use lipmetric::problem::{Diameter, GivenPairs, Slack};
use lipmetric::verify::{PairStatement, Statement, USUAL_LIMIT, Verified, is_of_pairs};
use lipmetric::{Matrix, Model};
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
  lipmetric fit --data echo --method lip-pairs --certificate --model pairs.lip
  lipmetric verify pairs.lip --json")]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    slack: Option<Slack>,
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

/// What of a statement is told, of labelled rows or of pairs.
struct Told<'a> {
    /// What the problem is made of and measures, in words.
    problem: String,
    diameter: Diameter,
    c: f64,
    x: &'a Matrix,
    /// None of pairs.
    slack: Option<Slack>,
    /// Coordinates of the metrics that the bound is over, where it is not over all.
    coordinates: Option<usize>,
}

impl<'a> Told<'a> {
    fn of(model: &'a Model) -> lipmetric::Result<Self> {
        if is_of_pairs(model) {
            let statement = PairStatement::of(model)?;
            let PairStatement { x, diameter, c, .. } = statement;
            let GivenPairs { pairs, plain, .. } = statement.given()?;
            let similar = pairs.iter().filter(|pair| pair.similar).count();
            let problem = format!(
                "{similar} similar and {} dissimilar pairs, diameter {diameter} (with {} of the trace)",
                pairs.len() - similar,
                short(*plain)
            );
            return Ok(Self { problem, diameter, c, x, slack: None, coordinates: None });
        }
        let Statement { x, slack, diameter, c, certificate, .. } = Statement::of(model)?;
        let coordinates = certificate.basis.as_ref().map(Matrix::rows);
        let problem = format!("{slack}, diameter {diameter}");
        Ok(Self { problem, diameter, c, x, slack: Some(slack), coordinates })
    }
}

pub(crate) fn run(args: &Args) -> Result {
    let stored = crate::input::load_model(&args.model)?;
    let (model, origin) = (&stored.model, args.model.display());
    let told = Told::of(model).map_err(|e| Failure::Data(format!("{origin}: {}", Failure::from(e))))?;
    let verified = Verified::of(model, args.limit)?;
    if args.json {
        let outcome = &model.outcome;
        output::print_json(&Report {
            holds: verified.holds(),
            verified: &verified,
            claimed: Claimed { objective: outcome.objective, bound: outcome.dual, gap: outcome.gap },
            method: model.spec.name(),
            slack: told.slack,
            diameter: told.diameter,
            c: told.c,
            n: told.x.rows(),
            p: told.x.cols(),
            checksum: &stored.checksum,
        })?;
    } else {
        output::print(&describe(&origin.to_string(), model, &told, &verified))?;
    }
    if verified.holds() {
        return Ok(());
    }
    Err(Failure::NotProved(format!("{origin}: not everything that the model claims holds: {}", verified.reasons[0])))
}

fn describe(origin: &str, model: &Model, told: &Told<'_>, verified: &Verified) -> String {
    let Told { problem, c, x, .. } = told;
    let weighted = match (verified.weighted, told.slack) {
        (false, _) => "",
        (true, Some(_)) => ", weighted rows",
        (true, None) => ", pairs of different strength",
    };
    let mut text = format!(
        "{origin}: {}, {problem}, c = {c}{weighted}; {} rows of {} features\n\n",
        model.spec.name(),
        x.rows(),
        x.cols()
    );
    let which = match (told.coordinates, verified.every_metric) {
        (Some(coordinates), false) => format!("no metric on the {coordinates} coordinates in which the rows vary"),
        _ => "no metric".to_owned(),
    };
    let most = if told.slack == Some(Slack::Instance) { "at most " } else { "" };
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
