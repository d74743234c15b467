//! A file per command: its arguments, and what it does.

mod bad_rows;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod datasets;
mod dry_run;
pub(crate) mod evaluate;
mod explain;
pub(crate) mod export;
mod figures;
pub(crate) mod fit;
pub(crate) mod inspect;
pub(crate) mod man;
pub(crate) mod margins;
pub(crate) mod neighbours;
mod pairs;
pub(crate) mod path;
pub(crate) mod plot;
pub(crate) mod predict;
mod prepared;
mod seen;
mod shared;
mod sparse;
mod suspects;
pub(crate) mod transform;
pub(crate) mod verify;
mod watched;

use crate::cli::Command;
use crate::failure::Result;
use crate::session::Session;

pub(crate) fn run(command: Command, session: &Session) -> Result {
    match command {
        Command::Fit(args) => fit::run(&args, session),
        Command::Predict(args) => predict::run(&args, session),
        Command::Neighbours(args) => neighbours::run(&args, session),
        Command::Export(args) => export::run(&args, session),
        Command::Transform(args) => transform::run(&args, session),
        Command::Evaluate(args) => evaluate::run(&args, session),
        Command::Compare(args) => compare::run(&args, session),
        Command::Margins(args) => margins::run(&args, session),
        Command::Path(args) => path::run(&args, session),
        Command::Inspect(args) => inspect::run(&args, session),
        Command::Plot(args) => plot::run(&args, session),
        Command::Verify(args) => verify::run(&args),
        Command::Datasets(args) => datasets::run(&args, session),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}
