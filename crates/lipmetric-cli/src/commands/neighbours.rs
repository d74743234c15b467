use super::shared::{NamedArgs, OutArgs, RowArgs};
use crate::failure::Result;
use crate::session::Session;
use lipmetric::data::{Column, Table};
use lipmetric::model::{Predictor, TrainingRows};
use lipmetric::neighbours::Neighbours;

/// How many neighbours are told unless it is said.
const USUAL: usize = 10;

/// Find the nearest training rows of each row
///
/// By an exact index in the learned distance, nearest first: a row out for each neighbour, with the number of the row that was
/// asked about (query), the place among its neighbours (rank), the number of the training row (row, from 1), the line of the
/// training file that it began on (line; missing where the file has no lines), its label and its distance. A training row that
/// is asked about is its own nearest neighbour, at distance 0.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lipmetric fit --data haberman --model h.lip
  lipmetric neighbours h.lip --data haberman --k 3
  lipmetric neighbours h.lip --data haberman --k 3 --keep age -o near.parquet
  lipmetric datasets export haberman | lipmetric neighbours h.lip - --jsonl")]
pub(crate) struct Args {
    #[command(flatten)]
    named: NamedArgs,
    /// How many neighbours of each row [default: 10, or all training rows where there are fewer]
    #[arg(long, value_name = "N")]
    k: Option<usize>,
    #[command(flatten)]
    out: OutArgs,
    #[command(flatten)]
    rows: RowArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let (path, data) = args.named.both()?;
    let predictor = Predictor::new(crate::input::load_model(&path)?.model)?;
    let training = predictor.model().training_rows()?;
    let k = args.k.unwrap_or(USUAL.min(training.x.rows()));
    args.out.run((&path, &data), &args.rows, predictor.model(), "label", session, |batch| {
        Ok(columns(batch, &predictor.neighbours(args.rows.of(batch), k)?, training))
    })
}

/// A row for each neighbour of each row of the batch.
fn columns(batch: &Table, found: &Neighbours, training: &TrainingRows) -> Vec<Column> {
    let each = || (0..found.len()).flat_map(|i| (0..found.k()).map(move |at| (i, at)));
    let near = || each().map(|(i, at)| found.indices(i)[at]);
    // As text, which writers of JSON take for whole numbers.
    let line = |row: usize| training.lines.get(row).map(ToString::to_string).unwrap_or_default();
    vec![
        Column::texts("query", each().map(|(i, _)| (batch.first_row + i + 1).to_string())),
        Column::texts("rank", each().map(|(_, at)| (at + 1).to_string())),
        Column::texts("row", near().map(|row| (row + 1).to_string())),
        Column::texts("line", near().map(line)),
        Column::texts("label", near().map(|row| training.y.text(row))),
        Column::numbers("distance", each().map(|(i, at)| found.squared_distances(i)[at].sqrt()).collect()),
    ]
}
