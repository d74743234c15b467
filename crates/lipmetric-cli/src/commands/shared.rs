//! What several commands have in common: labelled tables to learn from, and rows that stream through a model.

use super::bad_rows::{BadRowRule, BadRows};
use crate::failure::{Failure, Result};
use crate::input::{DataArgs, IgnoreArgs, KeepArgs, PrepareArgs, ReadArgs, RoleArgs, remove};
use crate::outputs;
use crate::session::Session;
use lipmetric::data::{Column, Table, Values};
use lipmetric::evaluate::Protocol;
use lipmetric::method::Spec;
use lipmetric::model::{ClassifierSpec, Recipe, Rows};
use lipmetric::prepare::{ColumnRef, Dataset, Schema, Unseen};
use lipmetric::{Matrix, Model, Task};
use lipmetric_io::{Format, TableStream, TableWriter, Target, WriteOptions};
use std::path::{Path, PathBuf};

/// How many rows are in memory at once.
pub(crate) const BATCH: usize = 4096;

/// A labelled table, which column is what, and how columns become features.
#[derive(clap::Args)]
pub(crate) struct LabelledArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) roles: RoleArgs,
    #[command(flatten)]
    pub(crate) prepare: PrepareArgs,
}

impl LabelledArgs {
    pub(crate) fn table(&self, session: &Session) -> Result<Table> {
        self.data.table(&self.roles.ignore, session)
    }

    /// The table as it stands, and read.
    pub(crate) fn read(&self, task: Task, session: &Session) -> Result<(Table, Dataset)> {
        let table = self.table(session)?;
        let data = self.roles.read(&table, task, session)?;
        Ok((table, data))
    }
}

impl PrepareArgs {
    /// A method with this preparation and this classifier.
    pub(crate) fn recipe<'a>(&self, spec: &'a Spec, classifier: ClassifierSpec) -> Recipe<'a> {
        Recipe::new(spec).prepared(self.fill, self.scale.0).predicting(classifier)
    }
}

/// On which rows methods are fitted, and on which they are judged.
#[derive(clap::Args)]
pub(crate) struct SplitArgs {
    /// Number of train/test splits
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "Splits")]
    repeats: usize,
    /// Fraction of each class to train on
    #[arg(long, value_name = "FRACTION", default_value_t = 0.6, help_heading = "Splits")]
    train_fraction: f64,
    /// Cross-validation with this many folds instead of repeated splits
    #[arg(long, value_name = "K", conflicts_with_all = ["repeats", "train_fraction"], help_heading = "Splits")]
    folds: Option<usize>,
    /// Seed of the random splits
    #[arg(long, value_name = "SEED", default_value_t = 0, help_heading = "Splits")]
    seed: u64,
}

impl SplitArgs {
    pub(crate) fn protocol(&self) -> Protocol {
        let &Self { repeats, train_fraction, folds, seed } = self;
        Protocol { train_fraction, repeats, folds, seed }
    }
}

/// Refuses a model of numbers where classes are asked about.
pub(crate) fn needs_classes(model: &Model, what: &str) -> Result {
    match model.task {
        Task::Regression => Err(Failure::Usage(format!("{what}: the model predicts numbers, and has no classes"))),
        Task::Pairs => {
            Err(Failure::Usage(format!("{what}: the model was learned from rows without labels, and has no classes")))
        }
        _ => Ok(()),
    }
}

/// Rows to take through a model, and where the results go.
#[derive(clap::Args)]
pub(crate) struct BatchArgs {
    #[command(flatten)]
    named: NamedArgs,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}

/// Where the results of rows go.
#[derive(clap::Args)]
pub(crate) struct OutArgs {
    /// Write to this file, in the format that its name asks for (default: standard output, as CSV)
    #[arg(short, long, value_name = "OUT", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Write no row of column names (CSV and TSV)
    #[arg(long, help_heading = "Output")]
    no_header: bool,
    /// Write JSON lines, an object per row, to standard output
    #[arg(long, conflicts_with_all = ["output", "no_header"], help_heading = "Output")]
    jsonl: bool,
    #[command(flatten)]
    keep: KeepArgs,
}

/// A model and rows, one after the other; the model also by `--model`, as other commands have it.
#[derive(clap::Args)]
pub(crate) struct NamedArgs {
    /// The model, as `lipmetric fit --model` wrote it; `-` is standard input
    #[arg(value_name = "MODEL", required_unless_present = "model")]
    first: Option<PathBuf>,
    /// File to read: CSV, TSV, LIBSVM, NPY, NPZ, Parquet or JSON lines, plain or gzipped; `-` is standard input
    #[arg(value_name = "FILE")]
    second: Option<PathBuf>,
    /// The model, where it is not named first
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// A bundled data set instead of a file (`lipmetric datasets list`)
    #[arg(long, value_name = "NAME")]
    data: Option<String>,
    #[command(flatten)]
    reading: ReadArgs,
}

impl NamedArgs {
    /// The model's file, and the rows.
    pub(crate) fn both(&self) -> Result<(PathBuf, DataArgs)> {
        let names: Vec<&PathBuf> = self.model.iter().chain(&self.first).chain(&self.second).collect();
        let (model, file) = match (&names[..], &self.data) {
            ([model, file], None) => (*model, Some((*file).clone())),
            ([model], Some(_)) => (*model, None),
            ([only], None) if self.model.is_none() => {
                return Err(Failure::Usage(format!(
                    "{} is taken for the model; name the rows behind it, as in `MODEL FILE`, or a data set with --data",
                    only.display()
                )));
            }
            ([_], None) => return Err(crate::input::no_data()),
            _ => {
                return Err(Failure::Usage("name one MODEL, and one FILE or a data set with --data".to_owned()));
            }
        };
        if model.as_os_str() == "-" && file.as_ref().is_some_and(|file| file.as_os_str() == "-") {
            return Err(Failure::Usage("MODEL and FILE cannot both be standard input; name a file for one".to_owned()));
        }
        Ok((model.clone(), DataArgs::new(file, self.data.clone(), self.reading.clone())))
    }
}

impl BatchArgs {
    /// The model's file, and the rows.
    pub(crate) fn source(&self) -> Result<(PathBuf, DataArgs)> {
        self.named.both()
    }

    /// Whether columns of the input are wanted in the output.
    pub(crate) fn keeps(&self) -> bool {
        !self.out.keep.is_empty()
    }

    /// Finds what is wrong with the output before the work.
    pub(crate) fn check_output(&self) -> Result {
        let (model, data) = self.source()?;
        self.out.check(&model, &data)
    }

    /// Writes all results at once.
    pub(crate) fn write(&self, results: &Table, label: &str) -> Result {
        let mut writer = self.out.writer(label)?.1;
        writer.write_batch(results)?;
        Ok(writer.finish()?)
    }
}

impl OutArgs {
    fn check(&self, model: &Path, data: &DataArgs) -> Result {
        self.output.as_ref().map_or(Ok(()), |output| outputs::check("--output", output, &[data.path(), Some(model)]))
    }

    /// Where results go, and what writes them.
    fn writer(&self, label: &str) -> Result<(Target, TableWriter)> {
        let target = self.output.as_ref().map_or(Target::Stdout, Target::new);
        let options = WriteOptions {
            no_header: self.no_header,
            label: Some(label.to_owned()),
            format: self.jsonl.then_some(Format::Jsonl),
            ..WriteOptions::default()
        };
        let writer = TableWriter::create(&target, &options)?;
        Ok((target, writer))
    }

    /// Writes new columns for the rows, batch by batch: a row for each row, or the same number of rows for each. `label` is the
    /// column that formats with a place for labels put there.
    pub(crate) fn run(
        &self,
        (path, data): (&Path, &DataArgs),
        rows: &RowArgs,
        model: &Model,
        label: &str,
        session: &Session,
        columns: impl Fn(&Table) -> Result<Vec<Column>>,
    ) -> Result {
        self.check(path, data)?;
        let mut stream = rows.stream(data, model, &self.keep, session)?;
        let (target, mut writer) = self.writer(label)?;
        let make = |whole: &Table, batch: &Table| {
            let kept = self.keep.of(whole)?;
            let mut out = Table::new(batch.origin.clone(), joined(kept, columns(batch)?, batch.rows())?);
            out.first_row = batch.first_row;
            Ok(out)
        };
        let through = target == Target::Stdout;
        rows.through(&mut stream, model, through, session, make, |out| {
            writer.write_batch(out)?;
            if through {
                writer.flush()?;
            }
            Ok(())
        })?;
        writer.finish()?;
        Ok(())
    }
}

/// Columns that are kept, and those that are added. Where there are several new rows for each row of the input, its cells are
/// repeated.
fn joined(mut kept: Vec<Column>, added: Vec<Column>, rows: usize) -> Result<Vec<Column>> {
    if let Some(twice) = kept.iter().find(|k| added.iter().any(|a| a.name == k.name)) {
        return Err(Failure::Usage(format!(
            "--keep: the results have a column `{}` as well; rename it in the input",
            twice.name
        )));
    }
    let each = added.first().map_or(rows, |column| column.values.len()) / rows.max(1);
    if each > 1 {
        kept = kept.into_iter().map(|column| repeated(column, each)).collect();
    }
    kept.extend(added);
    Ok(kept)
}

fn repeated(column: Column, each: usize) -> Column {
    let values = match &column.values {
        Values::Number(v) => Values::Number(v.iter().flat_map(|v| std::iter::repeat_n(*v, each)).collect()),
        Values::Text(t) => Values::Text(t.iter().flat_map(|t| std::iter::repeat_n(t, each)).collect()),
    };
    Column { values, ..column }
}

/// How rows are read for a model.
#[derive(clap::Args)]
#[command(next_help_heading = "Columns")]
pub(crate) struct RowArgs {
    #[command(flatten)]
    ignore: IgnoreArgs,
    /// What to do with a category that the training rows did not have
    #[arg(long, value_enum, value_name = "RULE", default_value_t = UnseenRule::Error)]
    unseen: UnseenRule,
    /// What to do with columns that the model does not know
    #[arg(long, value_enum, value_name = "RULE", default_value_t = UnseenRule::Error)]
    extra: UnseenRule,
    /// What to do with a row that cannot be read
    #[arg(long, value_enum, value_name = "RULE", default_value_t = BadRowRule::Error)]
    bad_rows: BadRowRule,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum UnseenRule {
    /// Refuse it
    Error,
    /// Go on as if it were not there
    Ignore,
}

impl RowArgs {
    /// Takes the rows of a stream through a model, batch by batch. `make` gets each batch as it was read, and without the
    /// columns that the model does not take; what it gives is for `write`.
    pub(crate) fn through(
        &self,
        stream: &mut TableStream,
        model: &Model,
        to_reader: bool,
        session: &Session,
        make: impl Fn(&Table, &Table) -> Result<Table>,
        mut write: impl FnMut(&Table) -> Result,
    ) -> Result {
        let mut bad = BadRows::new(self.bad_rows, to_reader);
        while let Some(batch) = bad.next(stream, session)? {
            session.go_on()?;
            let one = |whole: &Table| {
                let mut batch = whole.clone();
                self.ignore.drop_from(&mut batch)?;
                self.drop_extra(&mut batch, model);
                make(whole, &batch)
            };
            for out in bad.each(&batch, one, session)? {
                write(&out)?;
                bad.written += out.rows();
            }
        }
        bad.tell(session);
        Ok(())
    }

    /// The whole table for a model, without the columns that it does not take.
    pub(crate) fn whole(&self, data: &DataArgs, model: &Model, session: &Session) -> Result<Table> {
        let mut table = data.table(&self.ignore, session)?;
        self.ignore.drop_from(&mut table)?;
        self.drop_extra(&mut table, model);
        Ok(table)
    }

    /// Opens rows for a model, with the columns to keep.
    pub(crate) fn stream(
        &self,
        data: &DataArgs,
        model: &Model,
        keep: &KeepArgs,
        session: &Session,
    ) -> Result<TableStream> {
        session.reading(|| data.stream(&self.ignore, model, keep))
    }

    /// Takes out the columns that the model does not know, where that is wished.
    fn drop_extra(&self, table: &mut Table, model: &Model) {
        if matches!(self.extra, UnseenRule::Ignore) {
            let extra = model.preparation.schema().extra_columns(table);
            remove(table, &extra);
        }
    }

    /// The rows of a batch, prepared as in the model's fit.
    pub(crate) fn prepared(&self, batch: &Table, model: &Model) -> Result<Matrix> {
        Ok(model.preparation.read(batch, self.unseen())?)
    }

    fn unseen(&self) -> Unseen {
        match self.unseen {
            UnseenRule::Error => Unseen::Error,
            UnseenRule::Ignore => Unseen::Ignore,
        }
    }

    /// The rows of a batch, as a model takes them.
    pub(crate) fn of<'a>(&self, batch: &'a Table) -> Rows<'a> {
        Rows::Table(batch, self.unseen())
    }
}

/// Moves the column that the user calls the label to where the model had it, under the model's name for it, and takes out
/// what is to be ignored.
pub(crate) fn line_up(table: &mut Table, schema: &Schema, roles: &RoleArgs) -> Result {
    if let Some(label) = &roles.label {
        let Some(place) = &schema.label else {
            return Err(Failure::Data("the model has no label column".to_owned()));
        };
        let at = ColumnRef::new(label).find(table)?;
        let mut column = table.columns.remove(at);
        column.name.clone_from(&place.name);
        table.columns.insert(place.index.min(table.columns.len()), column);
    }
    roles.ignore.drop_from(table)
}
