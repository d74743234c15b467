use super::columns::{Cells, Columns};
use super::notation::Notation;
use super::parsed::{Parsed, cell_text, codes};
use crate::data::{Column, Table, excerpt, number};
use crate::{Error, Labels, Result};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// Numbers.
    Numeric,
    /// Two opposite words (true/false, yes/no, t/f, y/n), as 0 and 1.
    Boolean,
    /// Names, one-hot encoded.
    Category,
}

impl std::str::FromStr for Kind {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self> {
        match s {
            "numeric" | "number" => Ok(Self::Numeric),
            "boolean" | "bool" => Ok(Self::Boolean),
            "category" | "categorical" => Ok(Self::Category),
            _ => Err(Error::parameter("kind", format!("`{s}` is not one of numeric, boolean, category"))),
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Numeric => "numeric",
            Self::Boolean => "boolean",
            Self::Category => "category",
        })
    }
}

/// How the cells of a column become numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Encoding {
    /// As they are.
    Numeric,
    /// 0 and 1.
    Boolean,
    /// One column per level.
    Category {
        /// The levels, in the order of the encoded columns.
        levels: Vec<String>,
    },
}

impl Encoding {
    /// The kind of column.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Numeric => Kind::Numeric,
            Self::Boolean => Kind::Boolean,
            Self::Category { .. } => Kind::Category,
        }
    }
}

/// A column that takes part in the metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Feature {
    /// Its name.
    pub name: String,
    /// Its position among the source's columns, the label's not counted.
    pub index: usize,
    /// How it becomes numbers.
    pub encoding: Encoding,
}

/// The column that holds the class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelColumn {
    /// Its name.
    pub name: String,
    /// Its position among all of the source's columns.
    pub index: usize,
}

/// What to do with a level of a category that was not seen in training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Unseen {
    /// Refuse the row, naming the place and the level.
    #[default]
    Error,
    /// Encode it as "none of the known levels": all zeros.
    Ignore,
}

/// Which columns a source has and what they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// The columns that take part, in the source's order.
    pub features: Vec<Feature>,
    /// The label's column, if there is one.
    pub label: Option<LabelColumn>,
    /// Columns that were left out, on request or because they number the rows.
    pub ignored: Vec<String>,
    /// Number of columns of the source without the label's.
    pub width: usize,
    /// Whether the source had names of its own.
    pub named: bool,
    /// How numbers and missing values are written.
    #[serde(default, skip_serializing_if = "Notation::is_usual")]
    pub notation: Notation,
}

impl Schema {
    /// Reads a table's features by this schema. Columns are matched by name where both sides have names of their
    /// own, else by position; the label's column may be there or not.
    ///
    /// # Errors
    /// If a column is absent, new or of another type, a value is infinite, or a level is unseen and `unseen` says so.
    pub fn read(&self, table: &Table, unseen: Unseen) -> Result<Columns> {
        let columns = if self.named && table.named { self.by_name(table)? } else { self.by_position(table)? };
        let rows = table.rows();
        let cells = self
            .features
            .iter()
            .zip(columns)
            .map(|(feature, column)| match column {
                Some(column) => feature.read(table, column, (unseen, &self.notation)),
                None => Ok(feature.zeros(rows)),
            })
            .collect::<Result<_>>()?;
        Ok(Columns::new(cells, rows))
    }

    fn by_position<'t>(&self, table: &'t Table) -> Result<Vec<Option<&'t Column>>> {
        let found = table.columns.len();
        let label_at = if table.sparse { Some(found.saturating_sub(1)) } else { self.label.as_ref().map(|l| l.index) };
        let full = self.width + usize::from(self.label.is_some());
        let without_label = |at: Option<usize>| -> Vec<&'t Column> {
            table.columns.iter().enumerate().filter(|(i, _)| Some(*i) != at).map(|(_, c)| c).collect()
        };
        if table.sparse {
            let columns = without_label(label_at);
            if columns.len() > self.width {
                return Err(Error::data(format!(
                    "{}: feature {} is new: the model was fitted on {} features",
                    table.origin,
                    columns.len(),
                    self.width
                )));
            }
            return Ok(self.features.iter().map(|f| columns.get(f.index).copied()).collect());
        }
        if found == full || found == self.width {
            let columns = without_label(if found == full { label_at } else { None });
            return Ok(self.features.iter().map(|f| columns.get(f.index).copied()).collect());
        }
        if found == self.features.len() {
            return Ok(table.columns.iter().map(Some).collect());
        }
        Err(Error::data(format!(
            "{}: {found} columns, but the model was fitted on {} features{}; give the same columns in the same order",
            table.origin,
            self.features.len(),
            if self.label.is_some() { " (with or without the label's column)" } else { "" }
        )))
    }

    /// The labels of a table that was inferred with this schema.
    ///
    /// Labels that all read as numbers are the same class if they are the same number (`1`, `+1`, `1.0`), under the
    /// first spelling met.
    ///
    /// # Errors
    /// If there is no such column or a label is missing.
    pub fn labels(&self, table: &Table) -> Result<Labels> {
        let mut names = self.label_names(table)?;
        if names.iter().all(|n| number(n).is_some()) {
            let mut spelling: HashMap<u64, String> = HashMap::new();
            for name in &mut names {
                // Adding zero makes -0 and +0 one class.
                let bits = (number(name).unwrap_or(0.0) + 0.0).to_bits();
                match spelling.get(&bits) {
                    Some(first) => name.clone_from(first),
                    None => drop(spelling.insert(bits, name.clone())),
                }
            }
        }
        Ok(Labels::from_names(names))
    }

    /// The numbers in the label's column of a table, for a model that predicts numbers.
    ///
    /// # Errors
    /// If there is no such column, or a cell is missing or no number.
    pub fn targets(&self, table: &Table) -> Result<Labels> {
        let name = &self.label_column(table)?.name;
        let read = |(i, cell): (usize, String)| {
            self.notation.number(&cell).ok_or_else(|| {
                Error::data(format!(
                    "{}, column `{name}`: the target `{}` is not a number; correct the cell, name another column with the parameter \
                     `label`, or predict classes with `task = classification`",
                    table.place(i),
                    excerpt(&cell)
                ))
            })
        };
        Labels::from_numbers(self.label_names(table)?.into_iter().enumerate().map(read).collect::<Result<_>>()?)
    }

    /// The labels of a table as codes of given classes: those of a model. A label that is none of them gets a class of
    /// its own, after the given ones.
    ///
    /// # Errors
    /// If there is no such column or a label is missing.
    pub fn labels_as(&self, table: &Table, classes: &[String]) -> Result<Labels> {
        let names = self.label_names(table)?;
        let mut all = classes.to_vec();
        let mut code: HashMap<String, u32> = all.iter().enumerate().map(|(k, c)| (c.clone(), k as u32)).collect();
        let codes = names
            .into_iter()
            .map(|name| match code.get(&name) {
                Some(&k) => k,
                None => {
                    let same = number(&name).and_then(|v| all.iter().position(|c| number(c).is_some_and(|w| w == v)));
                    let k = same.unwrap_or_else(|| {
                        all.push(name.clone());
                        all.len() - 1
                    }) as u32;
                    code.insert(name, k);
                    k
                }
            })
            .collect();
        Labels::from_codes(all, codes)
    }

    /// The rows of a table that have a label.
    ///
    /// # Errors
    /// If there is no label column.
    pub fn labelled(&self, table: &Table) -> Result<Table> {
        let column = &self.label_column(table)?.values;
        let rows: Vec<usize> =
            (0..table.rows()).filter(|&i| !self.notation.is_missing(&cell_text(column, i))).collect();
        Ok(table.select_rows(&rows))
    }

    fn label_column<'t>(&self, table: &'t Table) -> Result<&'t Column> {
        let label = self.label.as_ref().ok_or_else(|| Error::data("the model has no label column"))?;
        let full = self.width + 1;
        let at = if table.sparse {
            table.columns.len().checked_sub(1)
        } else if self.named && table.named {
            table.position(&label.name)
        } else {
            (table.columns.len() == full).then_some(label.index)
        };
        at.and_then(|i| table.columns.get(i)).ok_or_else(|| {
            Error::data(format!("{}: no label column `{}`; the parameter `label` names it", table.origin, label.name))
        })
    }

    fn label_names(&self, table: &Table) -> Result<Vec<String>> {
        let column = self.label_column(table)?;
        (0..table.rows())
            .map(|i| {
                let name = cell_text(&column.values, i).into_owned();
                if self.notation.is_missing(&name) {
                    return Err(Error::data(format!(
                        "{}, column `{}`: the label is missing; fill it in, remove the row, or leave such rows out with the parameter \
                         `skip_unlabelled`",
                        table.place(i),
                        column.name
                    )));
                }
                Ok(name)
            })
            .collect()
    }
}

impl Feature {
    fn zeros(&self, rows: usize) -> Cells {
        match &self.encoding {
            Encoding::Numeric | Encoding::Boolean => Cells::Number(vec![0.0; rows]),
            Encoding::Category { levels } => {
                let zero = levels.iter().position(|l| number(l) == Some(0.0));
                Cells::Level(vec![zero.map_or(Cells::UNSEEN, |z| z as u32); rows])
            }
        }
    }

    fn read(&self, table: &Table, column: &Column, (unseen, notation): (Unseen, &Notation)) -> Result<Cells> {
        match &self.encoding {
            Encoding::Numeric => Parsed::new(table, column, notation).numbers(),
            Encoding::Boolean => Parsed::new(table, column, notation).truths(),
            Encoding::Category { levels } => codes(table, column, levels, (unseen, notation)),
        }
    }
}
