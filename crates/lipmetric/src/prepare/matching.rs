//! Lining a table's columns up with a schema's.

use super::Schema;
use super::schema::Encoding;
use crate::data::similar;
use crate::data::{Column, Table};
use crate::{Error, Result};
use std::collections::{HashMap, HashSet};

/// At most so many names are listed.
const MOST_LISTED: usize = 20;

impl Schema {
    /// Checks what a file may have wrong: that there are features, of different names and within the source's columns.
    pub(super) fn check(&self) -> Result<()> {
        if self.features.is_empty() {
            return Err(Error::data("the preparation has no features"));
        }
        self.notation.check()?;
        let mut names = HashSet::new();
        for feature in &self.features {
            if feature.index >= self.width {
                return Err(Error::data(format!(
                    "column `{}` lies outside of the {} columns",
                    feature.name, self.width
                )));
            }
            if self.named && !names.insert(feature.name.as_str()) {
                return Err(Error::data(format!("column `{}` is there twice", feature.name)));
            }
            if let Encoding::Category { levels } = &feature.encoding {
                let different: HashSet<&String> = levels.iter().collect();
                if levels.is_empty() || different.len() != levels.len() {
                    return Err(Error::data(format!(
                        "the levels of column `{}` are none or not all different",
                        feature.name
                    )));
                }
            }
        }
        Ok(())
    }

    /// Number of features after preparation: a category has one for each of its levels.
    #[must_use]
    pub fn prepared_width(&self) -> usize {
        let width = |encoding: &Encoding| match encoding {
            Encoding::Category { levels } => levels.len(),
            _ => 1,
        };
        self.features.iter().map(|f| width(&f.encoding)).sum()
    }

    /// Columns of a table that the schema knows nothing of, where both have names.
    #[must_use]
    pub fn extra_columns(&self, table: &Table) -> Vec<usize> {
        if !(self.named && table.named) {
            return Vec::new();
        }
        let features = self.features.iter().map(|f| f.name.as_str());
        let others = self.ignored.iter().map(String::as_str).chain(self.label.iter().map(|l| l.name.as_str()));
        let known: HashSet<&str> = features.chain(others).collect();
        (0..table.columns.len()).filter(|&i| !known.contains(table.columns[i].name.as_str())).collect()
    }

    /// The column of each feature, by name. Everything that is new or absent is told at once.
    pub(super) fn by_name<'t>(&self, table: &'t Table) -> Result<Vec<Option<&'t Column>>> {
        let place: HashMap<&str, &Column> = table.columns.iter().map(|c| (c.name.as_str(), c)).collect();
        let extra: Vec<&str> = self.extra_columns(table).into_iter().map(|i| table.columns[i].name.as_str()).collect();
        let found: Vec<Option<&Column>> = self.features.iter().map(|f| place.get(f.name.as_str()).copied()).collect();
        let absent: Vec<&str> =
            self.features.iter().zip(&found).filter(|(_, c)| c.is_none()).map(|(f, _)| f.name.as_str()).collect();
        if extra.is_empty() && absent.is_empty() {
            return Ok(found);
        }
        let mut parts = Vec::new();
        if !absent.is_empty() {
            let (noun, verb) = if absent.len() == 1 { ("column", "is") } else { ("columns", "are") };
            let meant: Vec<String> = (absent.iter().take(MOST_LISTED))
                .filter_map(|name| Some((name, similar(name, extra.iter().copied())?)))
                .map(|(name, there)| format!(" (is `{there}` meant to be `{name}`?)"))
                .collect();
            parts.push(format!("{noun} {}, which the model needs, {verb} absent{}", list(&absent), meant.concat()));
        }
        if !extra.is_empty() {
            let (noun, verb, it) = if extra.len() == 1 { ("column", "was", "it") } else { ("columns", "were", "them") };
            parts.push(format!(
                "{noun} {} {verb} not there when the model was fitted; remove {it}, or leave {it} out with `ignore = {}` or \
                 `extra = ignore`",
                list(&extra),
                extra.iter().take(MOST_LISTED).copied().collect::<Vec<_>>().join(",")
            ));
        }
        Err(Error::data(format!("{}: {}", table.origin, parts.join("; "))))
    }
}

fn list(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(MOST_LISTED).map(|n| format!("`{n}`")).collect();
    let more = names.len().saturating_sub(MOST_LISTED);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}
