use super::schema::{Encoding, Feature, Kind, LabelColumn, Schema, as_number, cell_text, number, shorten, truth};
use crate::data::{Column, Table, Values, is_missing};
use crate::{Error, Result};
use std::collections::HashMap;

/// A text column with more levels than this, on more than half of its rows, is taken for an identifier.
const MANY_LEVELS: usize = 20;

/// A column by name or by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnRef(String);

impl ColumnRef {
    /// `text` is a column's name or, if no column has that name, its number: from 1, or from the end with a minus.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The column's position in a table.
    ///
    /// # Errors
    /// If there is no such column; the message lists those there are.
    pub fn find(&self, table: &Table) -> Result<usize> {
        let n = table.columns.len() as i64;
        if let Some(i) = table.position(&self.0) {
            return Ok(i);
        }
        match self.0.parse::<i64>() {
            Ok(k) if (1..=n).contains(&k) => Ok((k - 1) as usize),
            Ok(k) if (-n..=-1).contains(&k) => Ok((n + k) as usize),
            Ok(k) => Err(Error::data(format!("{}: no column {k}: there are {n}, counted from 1", table.origin))),
            Err(_) => {
                let names: Vec<&str> = table.columns.iter().take(20).map(|c| c.name.as_str()).collect();
                let more = if table.columns.len() > 20 { ", ..." } else { "" };
                Err(Error::data(format!(
                    "{}: no column `{}`; there are: {}{more}",
                    table.origin,
                    shorten(&self.0),
                    names.join(", ")
                )))
            }
        }
    }
}

/// Which columns play which part.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roles {
    /// The label's column; the last one if not given.
    pub label: Option<ColumnRef>,
    /// Columns to leave out.
    pub ignore: Vec<ColumnRef>,
    /// Kinds that override what the content suggests.
    pub kinds: Vec<(ColumnRef, Kind)>,
}

impl Schema {
    /// Decides what each column of a table is, from its content.
    ///
    /// A column is numeric if every cell that is not missing is a number, boolean if the cells are two opposite words,
    /// else a category. Refused, with the remedy, are columns without any value, columns that are numbers but for a few
    /// cells, and columns of text that are different on most rows (identifiers).
    ///
    /// # Errors
    /// As above; or if the label's or an ignored column does not exist, or no feature is left.
    pub fn infer(table: &Table, roles: &Roles) -> Result<Self> {
        if table.columns.is_empty() || table.rows() == 0 {
            return Err(Error::data(format!("{}: there are no rows", table.origin)));
        }
        let label = match &roles.label {
            Some(at) => at.find(table)?,
            None => table.columns.len() - 1,
        };
        let ignored = roles.ignore.iter().map(|r| r.find(table)).collect::<Result<Vec<_>>>()?;
        if ignored.contains(&label) {
            return Err(Error::parameter(
                "ignore",
                format!("column `{}` is the label and cannot be ignored", table.columns[label].name),
            ));
        }
        let kinds: HashMap<usize, Kind> =
            roles.kinds.iter().map(|(r, k)| Ok((r.find(table)?, *k))).collect::<Result<_>>()?;
        let mut features = Vec::new();
        for (at, column) in table.columns.iter().enumerate() {
            if at == label || ignored.contains(&at) {
                continue;
            }
            let encoding = match kinds.get(&at) {
                Some(&kind) => encoding_of(table, column, kind)?,
                None => guess(table, column)?,
            };
            features.push(Feature { name: column.name.clone(), index: at - usize::from(at > label), encoding });
        }
        if features.is_empty() {
            return Err(Error::data(format!(
                "{}: no feature columns: the only columns are the label and ignored ones",
                table.origin
            )));
        }
        Ok(Self {
            features,
            label: Some(LabelColumn { name: table.columns[label].name.clone(), index: label }),
            ignored: ignored.iter().map(|&i| table.columns[i].name.clone()).collect(),
            width: table.columns.len() - 1,
            named: table.named,
        })
    }
}

fn guess(table: &Table, column: &Column) -> Result<Encoding> {
    if let Values::Number(_) = column.values {
        return encoding_of(table, column, Kind::Numeric);
    }
    let rows = column.values.len();
    let present: Vec<usize> = (0..rows).filter(|&i| !is_missing(&cell_text(&column.values, i))).collect();
    let odd: Vec<usize> = present.iter().copied().filter(|&i| number(&column.values, i).is_none()).collect();
    if odd.is_empty() {
        return encoding_of(table, column, Kind::Numeric);
    }
    if 2 * odd.len() < present.len() || odd.iter().all(|&i| cell_text(&column.values, i).parse::<f64>().is_ok()) {
        let first = odd[0];
        return Err(Error::data(format!(
            "{}, column `{}`: `{}` is not a (finite) number, but {} of the column's {} values are; mend the cell, \
             or leave the column out with `--ignore`, or take it as names with `--kind {}=category`",
            table.place(first),
            column.name,
            shorten(&cell_text(&column.values, first)),
            present.len() - odd.len(),
            present.len(),
            column.name
        )));
    }
    if odd.len() == present.len() && present.iter().all(|&i| truth(&column.values, i).is_some()) {
        return encoding_of(table, column, Kind::Boolean);
    }
    let encoding = encoding_of(table, column, Kind::Category)?;
    if let Encoding::Category { levels } = &encoding
        && levels.len() > MANY_LEVELS
        && 2 * levels.len() > present.len()
    {
        return Err(Error::data(format!(
            "{}: column `{}` has {} different texts on {} rows, as an identifier would; leave it out with \
             `--ignore {}`, or insist with `--kind {}=category`",
            table.origin,
            column.name,
            levels.len(),
            present.len(),
            column.name,
            column.name
        )));
    }
    Ok(encoding)
}

fn encoding_of(table: &Table, column: &Column, kind: Kind) -> Result<Encoding> {
    let rows = column.values.len();
    let present: Vec<usize> = (0..rows).filter(|&i| !is_missing(&cell_text(&column.values, i))).collect();
    if present.is_empty() {
        return Err(Error::data(format!(
            "{}: every value of column `{}` is missing; leave it out with `--ignore {}`",
            table.origin, column.name, column.name
        )));
    }
    let refuse = |i: usize, wanted: &str| {
        Err(Error::data(format!(
            "{}, column `{}`: `{}` is not {wanted}",
            table.place(i),
            column.name,
            shorten(&cell_text(&column.values, i))
        )))
    };
    match kind {
        Kind::Numeric => match present.iter().find(|&&i| number(&column.values, i).is_none()) {
            Some(&i) => refuse(i, "a (finite) number"),
            None => Ok(Encoding::Numeric),
        },
        Kind::Boolean => match present.iter().find(|&&i| truth(&column.values, i).is_none()) {
            Some(&i) => refuse(i, "a truth value (true/false, yes/no, 1/0)"),
            None => Ok(Encoding::Boolean),
        },
        Kind::Category => {
            let mut levels: Vec<String> = present.iter().map(|&i| cell_text(&column.values, i)).collect();
            levels.sort_unstable();
            levels.dedup();
            if levels.iter().all(|l| as_number(l).is_some()) {
                let value = |l: &String| as_number(l).unwrap_or(f64::NAN);
                levels.sort_by(|a, b| value(a).total_cmp(&value(b)));
                levels.dedup_by(|a, b| value(a) == value(b));
            }
            Ok(Encoding::Category { levels })
        }
    }
}
