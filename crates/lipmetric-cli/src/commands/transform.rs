use crate::failure::Result;
use crate::input::{DataArgs, IgnoreArgs};
use crate::session::Session;
use lipmetric::data::{Column, Table, Values};
use lipmetric::prepare::Unseen;
use lipmetric_io::model::load_model;
use lipmetric_io::{TableWriter, Target, WriteOptions};
use std::path::PathBuf;

/// How many rows are in memory at once.
pub(crate) const BATCH: usize = 4096;

/// Map rows by a model: Euclidean distances between the results are the learned ones
///
/// Rows stream through in constant memory, in their order. The output's format is what its name asks for: .csv, .tsv,
/// .libsvm, .npy, .npz, .parquet (text formats also with .gz).
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  lipmetric fit --data haberman --model h.lip
  lipmetric transform --model h.lip --data haberman -o mapped.npy
  lipmetric transform --model h.lip --data haberman --with-label > mapped.csv")]
pub(crate) struct Args {
    #[command(flatten)]
    data: DataArgs,
    /// The model to map by
    #[arg(long, value_name = "MODEL")]
    model: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
    /// Add the label's column of the input
    #[arg(long)]
    with_label: bool,
    #[command(flatten)]
    rows: RowArgs,
}

/// Where rows go.
#[derive(clap::Args)]
pub(crate) struct OutputArgs {
    /// Write to this file, in the format that its name asks for (default: standard output, as CSV)
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Write no row of column names (CSV and TSV)
    #[arg(long)]
    no_header: bool,
}

impl OutputArgs {
    /// `label` is the column that formats with a place for labels put there.
    pub(crate) fn writer(&self, label: &str) -> Result<TableWriter> {
        let target = self.output.as_ref().map_or(Target::Stdout, Target::new);
        let options =
            WriteOptions { no_header: self.no_header, label: Some(label.to_owned()), ..WriteOptions::default() };
        Ok(TableWriter::create(&target, &options)?)
    }
}

/// How rows are read for a model.
#[derive(clap::Args)]
pub(crate) struct RowArgs {
    #[command(flatten)]
    pub(crate) ignore: IgnoreArgs,
    /// What to do with a category's level that training did not have
    #[arg(long, value_enum, value_name = "RULE", default_value_t = UnseenRule::Error)]
    unseen: UnseenRule,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum UnseenRule {
    /// Refuse the row
    Error,
    /// Take it as none of the known levels
    Ignore,
}

impl RowArgs {
    pub(crate) fn unseen(&self) -> Unseen {
        match self.unseen {
            UnseenRule::Error => Unseen::Error,
            UnseenRule::Ignore => Unseen::Ignore,
        }
    }
}

/// A table of new columns for the rows of another.
pub(crate) fn beside(input: &Table, columns: Vec<Column>) -> Table {
    Table {
        origin: input.origin.clone(),
        columns,
        named: true,
        sparse: false,
        lines: Vec::new(),
        first_row: input.first_row,
    }
}

pub(crate) fn run(args: &Args, session: &Session) -> Result {
    let model = load_model(&args.model)?.model;
    let mut stream = args.data.stream(&args.rows.ignore, &model)?;
    let label = model.preparation.schema().label.as_ref().map_or("label", |l| l.name.as_str());
    let mut writer = args.output.writer(label)?;
    while let Some(mut batch) = stream.next_batch(BATCH)? {
        session.go_on()?;
        args.rows.ignore.drop_from(&mut batch)?;
        let z = model.metric.transform(&model.preparation.read(&batch, args.rows.unseen())?)?;
        let mut columns: Vec<Column> = (0..z.cols())
            .map(|j| Column {
                name: format!("z{}", j + 1),
                values: Values::Number((0..z.rows()).map(|i| z[(i, j)]).collect()),
            })
            .collect();
        if args.with_label {
            let labels = model.preparation.schema().labels_as(&batch, &model.classes)?;
            let values = Values::Text((0..labels.len()).map(|i| labels.name(i)).collect());
            columns.push(Column { name: label.to_owned(), values });
        }
        writer.write_batch(&beside(&batch, columns))?;
    }
    writer.finish()?;
    Ok(())
}
