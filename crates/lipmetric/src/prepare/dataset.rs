use super::parsed::cell_text;
use super::{Columns, LabelColumn, Roles, Schema, suspect};
use crate::data::{Table, Task};
use crate::{Error, Labels, Result};

/// A label with more different values than this, on more than half of the rows, is taken for a measurement.
const MANY_CLASSES: usize = 20;

/// A labelled table with typed columns: what a model is fitted on.
///
/// ```
/// use lipmetric::data::{Column, Table};
/// use lipmetric::prepare::{Dataset, Roles};
/// let table = Table::new("rows", vec![Column::numbers("x", vec![1.0, 2.0]), Column::texts("kind", ["a", "b"])]);
/// let data = Dataset::read(&table, &Roles::default())?;
/// assert_eq!(data.labels.classes(), ["a", "b"]);
/// assert_eq!(data.schema.features[0].name, "x");
/// # Ok::<(), lipmetric::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Dataset {
    /// What messages and reports call it.
    pub name: String,
    /// What its columns are.
    pub schema: Schema,
    /// Its features.
    pub columns: Columns,
    /// Its labels.
    pub labels: Labels,
    /// The line of the source that each row began on, from 1; empty where the source has no lines.
    pub lines: Vec<u64>,
    /// What a person should know about it: columns that number the rows, labels that are nearly the same.
    pub notes: Vec<String>,
}

impl Dataset {
    /// Decides what the columns of a table are and reads them. The data set is called what the table's origin is.
    ///
    /// # Errors
    /// If a column cannot be told or read (see [`Schema::infer`]), all rows are of one class, or the label is a different
    /// value on most rows: then it is a measurement, not a class ([`Roles::task`]).
    pub fn read(table: &Table, roles: &Roles) -> Result<Self> {
        let kept;
        let mut skipped = 0;
        let mut table = table;
        if roles.skip_unlabelled && table.rows() > 0 && !table.columns.is_empty() {
            let label = &table.columns[roles.label_in(table)?].values;
            let rows: Vec<usize> =
                (0..table.rows()).filter(|&i| !roles.notation.is_missing(&cell_text(label, i))).collect();
            skipped = table.rows() - rows.len();
            if skipped > 0 {
                kept = table.select_rows(&rows);
                table = &kept;
            }
        }
        let (schema, columns, mut notes) = Schema::infer_noted(table, roles).map_err(|e| with_gaps(e, table, roles))?;
        let labels = match roles.task {
            Task::Regression => {
                let targets = schema.targets(table)?;
                targets.check_two_classes().map_err(|e| Error::data(format!("{}: {e}", table.origin)))?;
                targets
            }
            _ => {
                let labels = schema.labels(table)?;
                check_classes(table, &schema, &labels)?;
                notes.extend(suspect::of_labels(schema.label.as_ref().map_or("", |l| &l.name), &labels));
                labels
            }
        };
        match skipped {
            0 => {}
            1 => notes.push("1 row without a label is left out".to_owned()),
            _ => notes.push(format!("{skipped} rows without a label are left out")),
        }
        Ok(Self { name: table.origin.clone(), schema, columns, labels, lines: table.lines.clone(), notes })
    }

    /// Features and, apart from them, their labels: what a program holds in memory. New rows may come with a last column called
    /// `label`, or without it.
    ///
    /// ```
    /// use lipmetric::data::Table;
    /// use lipmetric::prepare::{Dataset, Roles};
    /// use lipmetric::{Labels, Matrix};
    /// let features = Table::from_matrix(&Matrix::from_rows(&[[1.0], [2.0]]));
    /// let data = Dataset::labelled(&features, "kind", Labels::from_names(["a", "b"]), &Roles::default())?;
    /// assert_eq!((data.schema.width, data.schema.label.unwrap().index), (1, 1));
    /// # Ok::<(), lipmetric::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a column cannot be told or read, there is not one label per row, or all rows are of one class. There may be [no
    /// labels](Labels::none) at all.
    pub fn labelled(features: &Table, label: &str, labels: Labels, roles: &Roles) -> Result<Self> {
        let (mut schema, columns, notes) = Schema::infer_beside(features, None, roles, false)?;
        if labels.len() != columns.rows() {
            return Err(Error::shape("labels", columns.rows(), labels.len()));
        }
        if !labels.are_none() {
            labels.check_two_classes()?;
            schema.label = Some(LabelColumn { name: label.to_owned(), index: schema.width });
        }
        Ok(Self { name: features.origin.clone(), schema, columns, labels, lines: features.lines.clone(), notes })
    }

    /// Rows without labels: every column that is not ignored is a feature.
    ///
    /// # Errors
    /// If a column cannot be told or read, or the roles name a label.
    pub fn unlabelled(table: &Table, roles: &Roles) -> Result<Self> {
        if roles.label.is_some() {
            return Err(Error::parameter("label", "these rows are read without labels; leave it out"));
        }
        let (schema, columns, notes) = Schema::infer_beside(table, None, roles, true)?;
        let labels = Labels::none(columns.rows());
        Ok(Self { name: table.origin.clone(), schema, columns, labels, lines: table.lines.clone(), notes })
    }

    /// The same under another name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }
}

/// What is wrong with columns, and that labels are missing as well.
fn with_gaps(error: Error, table: &Table, roles: &Roles) -> Error {
    let (Error::Data(told), Ok(label)) = (&error, roles.label_in(table)) else { return error };
    let is_missing = |i: &usize| roles.notation.is_missing(&cell_text(&table.columns[label].values, *i));
    match (0..table.rows()).filter(is_missing).count() {
        0 => error,
        gaps => Error::data(format!(
            "{told}\nthe label is missing in {gaps} of {} rows: fill it in, remove these rows, or leave them out with the parameter \
             `skip_unlabelled`",
            table.rows()
        )),
    }
}

fn check_classes(table: &Table, schema: &Schema, labels: &Labels) -> Result<()> {
    let origin = &table.origin;
    let remedy = "the parameter `label` names the label's column";
    labels.check_two_classes().map_err(|e| Error::data(format!("{origin}: {e}; {remedy}")))?;
    let (classes, rows) = (labels.classes().len(), labels.len());
    if classes > MANY_CLASSES && 2 * classes > rows {
        let name = schema.label.as_ref().map_or("", |l| l.name.as_str());
        let numbers = labels.classes().iter().all(|c| schema.notation.number(c).is_some());
        let regression = if numbers { "; to predict a number, say `task = regression`" } else { "" };
        return Err(Error::data(format!(
            "{origin}: column `{name}` has {classes} different values on {rows} rows, so it is hardly a class; {remedy}{regression}"
        )));
    }
    Ok(())
}
