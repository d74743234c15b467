use super::shared::{BatchArgs, RowArgs};
use crate::failure::Result;
use crate::session::Session;
use lipmetric::Task;
use lipmetric::data::Column;
use lipmetric::view::Projection;

/// Map rows so that Euclidean distances between them are the learned distances
///
/// Rows stream through in constant memory, in their order. The output's format is what its name asks for: .csv, .tsv,
/// .libsvm, .npy, .npz, .parquet (text formats also with .gz).
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lipmetric fit --data haberman --model h.lip
  lipmetric transform --model h.lip --data haberman -o mapped.npy
  lipmetric transform --model h.lip --data haberman --with-label > mapped.csv
  lipmetric transform --model h.lip --data haberman --dims 2 > map.csv")]
pub(crate) struct Args {
    #[command(flatten)]
    batches: BatchArgs,
    /// Add the label's column of the input
    #[arg(long, help_heading = "Output")]
    with_label: bool,
    /// Only this many coordinates: the directions in which the training rows spread most under the learned distance
    #[arg(long, value_name = "N", help_heading = "Output")]
    dims: Option<usize>,
    #[command(flatten)]
    rows: RowArgs,
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let (path, data) = args.batches.source()?;
    let model = crate::input::load_model(&path)?.model;
    let label = model.preparation.schema().label.as_ref().map_or("label", |l| l.name.as_str());
    let projection = args.dims.map(|dims| Projection::of(&model, dims)).transpose()?;
    args.batches.out.run((&path, &data), &args.rows, &model, label, session, |batch| {
        let z = model.transform(args.rows.of(batch))?;
        let z = projection.as_ref().map_or_else(|| z.clone(), |p| p.apply(&z));
        let column = |j: usize| Column::numbers(format!("z{}", j + 1), (0..z.rows()).map(|i| z[(i, j)]).collect());
        let mut columns: Vec<Column> = (0..z.cols()).map(column).collect();
        if args.with_label {
            let schema = model.preparation.schema();
            let labels = match model.task {
                Task::Regression => schema.targets(batch)?,
                _ => schema.labels_as(batch, &model.classes)?,
            };
            columns.push(Column::texts(label, (0..labels.len()).map(|i| labels.text(i))));
        }
        Ok(columns)
    })
}
