//! What several commands have in common: labelled tables to learn from, and rows that stream through a model.

use crate::failure::{Failure, Result};
use crate::input::{DataArgs, IgnoreArgs, PrepareArgs, RoleArgs};
use crate::session::Session;
use lipmetric::Model;
use lipmetric::data::{Column, Table};
use lipmetric::method::Spec;
use lipmetric::model::{ClassifierSpec, Recipe, Rows};
use lipmetric::prepare::{ColumnRef, Dataset, Schema, Unseen};
use lipmetric_io::{TableWriter, Target, WriteOptions};
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
        let data = self.roles.read(&table)?;
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
    /// The model, as `lipmetric fit --model` wrote it
    #[arg(long, value_name = "MODEL", help_heading = None::<&str>)]
    pub(crate) model: PathBuf,
    /// Write to this file, in the format that its name asks for (default: standard output, as CSV)
    #[arg(short, long, value_name = "OUT", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Write no row of column names (CSV and TSV)
    #[arg(long, help_heading = "Output")]
    no_header: bool,
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
        let mut stream = self.data.stream(&rows.ignore, model)?;
        let target = self.output.as_ref().map_or(Target::Stdout, Target::new);
        let options =
            WriteOptions { no_header: self.no_header, label: Some(label.to_owned()), ..WriteOptions::default() };
        let mut writer = TableWriter::create(&target, &options)?;
        while let Some(mut batch) = stream.next_batch(BATCH)? {
            session.go_on()?;
            rows.ignore.drop_from(&mut batch)?;
            let mut out = Table::new(batch.origin.clone(), columns(&batch)?);
            out.first_row = batch.first_row;
            writer.write_batch(&out)?;
        }
        writer.finish()?;
        Ok(())
    }
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
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum UnseenRule {
    /// Refuse the row
    Error,
    /// Treat it as none of the known categories
    Ignore,
}

impl RowArgs {
    /// The rows of a batch, as a model takes them.
    pub(crate) fn of<'a>(&self, batch: &'a Table) -> Rows<'a> {
        let unseen = match self.unseen {
            UnseenRule::Error => Unseen::Error,
            UnseenRule::Ignore => Unseen::Ignore,
        };
        Rows::Table(batch, unseen)
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
