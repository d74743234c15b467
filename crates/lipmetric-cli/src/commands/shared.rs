//! What several commands have in common: labelled tables to learn from, and rows that stream through a model.

use super::bad_rows::{BadRowRule, BadRows};
use crate::failure::{Failure, Result};
use crate::input::{DataArgs, IgnoreArgs, KeepArgs, PrepareArgs, RoleArgs, remove};
use crate::outputs;
use crate::session::Session;
use lipmetric::data::{Column, Table};
use lipmetric::method::Spec;
use lipmetric::model::{ClassifierSpec, Recipe, Rows};
use lipmetric::prepare::{ColumnRef, Dataset, Schema, Unseen};
use lipmetric::{Matrix, Model};
use lipmetric_io::{Format, TableWriter, Target, WriteOptions};
use std::path::PathBuf;

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
    pub(crate) fn read(&self, session: &Session) -> Result<(Table, Dataset)> {
        let table = self.table(session)?;
        let data = self.roles.read(&table, session)?;
        Ok((table, data))
    }
}

impl PrepareArgs {
    /// A method with this preparation and this classifier.
    pub(crate) fn recipe<'a>(&self, spec: &'a Spec, classifier: ClassifierSpec) -> Recipe<'a> {
        Recipe::new(spec).prepared(self.fill, self.scale).predicting(classifier)
    }
}

/// Rows to take through a model, and where the results go.
#[derive(clap::Args)]
pub(crate) struct BatchArgs {
    #[command(flatten)]
    data: DataArgs,
    /// The model, as `lipmetric fit --model` wrote it; `-` is standard input
    #[arg(long, value_name = "MODEL", help_heading = None::<&str>)]
    pub(crate) model: PathBuf,
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

impl BatchArgs {
    /// Writes new columns for the rows, batch by batch. `label` is the column that formats with a place for labels put
    /// there.
    pub(crate) fn run(
        &self,
        rows: &RowArgs,
        model: &Model,
        label: &str,
        session: &Session,
        columns: impl Fn(&Table) -> Result<Vec<Column>>,
    ) -> Result {
        if let Some(output) = &self.output {
            outputs::check("--output", output, &[self.data.path(), Some(&self.model)])?;
        }
        let mut stream = session.reading(|| self.data.stream(&rows.ignore, model, &self.keep))?;
        let target = self.output.as_ref().map_or(Target::Stdout, Target::new);
        let options = WriteOptions {
            no_header: self.no_header,
            label: Some(label.to_owned()),
            format: self.jsonl.then_some(Format::Jsonl),
            ..WriteOptions::default()
        };
        let mut writer = TableWriter::create(&target, &options)?;
        let mut bad = BadRows::new(rows.bad_rows, target == Target::Stdout);
        while let Some(batch) = bad.next(&mut stream, session)? {
            session.go_on()?;
            let one = |batch: &Table| {
                let kept = self.keep.of(batch)?;
                let mut batch = batch.clone();
                rows.ignore.drop_from(&mut batch)?;
                rows.drop_extra(&mut batch, model);
                let mut out = Table::new(batch.origin.clone(), joined(kept, columns(&batch)?)?);
                out.first_row = batch.first_row;
                Ok(out)
            };
            for out in bad.each(&batch, one, session)? {
                writer.write_batch(&out)?;
                bad.written += out.rows();
            }
            if target == Target::Stdout {
                writer.flush()?;
            }
        }
        bad.tell(session);
        writer.finish()?;
        Ok(())
    }
}

/// Columns that are kept, and those that are added.
fn joined(mut kept: Vec<Column>, added: Vec<Column>) -> Result<Vec<Column>> {
    if let Some(twice) = kept.iter().find(|k| added.iter().any(|a| a.name == k.name)) {
        return Err(Failure::Usage(format!(
            "--keep: the results have a column `{}` as well; rename it in the input",
            twice.name
        )));
    }
    kept.extend(added);
    Ok(kept)
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
