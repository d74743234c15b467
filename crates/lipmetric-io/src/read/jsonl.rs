//! JSON lines: an object per line, its keys the columns.

use std::collections::HashMap;
use std::fmt;

use lipmetric::data::{Column, Table, Texts, Values, excerpt};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::lines::{Lines, not_utf8};
use super::{Batches, MAX_COLUMNS};
use crate::numbers::shortest;
use crate::source::Input;
use crate::{Error, Result};

/// An object's entries in their order.
struct Entries(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object such as {\"a\": 1}")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

pub(super) struct JsonLines {
    lines: Lines,
    /// The first line's keys.
    names: Vec<String>,
    place: HashMap<String, usize>,
    seen: usize,
}

impl JsonLines {
    pub(super) fn new(input: Input) -> Self {
        Self { lines: Lines::new(input), names: Vec::new(), place: HashMap::new(), seen: 0 }
    }

    /// Takes in one object; the message of what is wrong with it otherwise.
    fn take_in(&mut self, text: &str, cells: &mut Vec<Texts>) -> Result<(), String> {
        let Entries(entries) =
            serde_json::from_str(text).map_err(|e| format!("this is not a JSON object ({e}); write one per line"))?;
        if self.names.is_empty() {
            if entries.is_empty() {
                return Err("an object without keys; the first line has to name the columns".to_owned());
            }
            self.names = entries.iter().map(|(key, _)| key.clone()).collect();
            if self.names.len() > MAX_COLUMNS {
                return Err(format!("{} keys; at most {MAX_COLUMNS} can be read", self.names.len()));
            }
            self.place = self.names.iter().enumerate().map(|(j, name)| (name.clone(), j)).collect();
            if self.place.len() < self.names.len() {
                return Err("a key occurs more than once; give every column its own name".to_owned());
            }
        }
        cells.resize_with(self.names.len(), Texts::new);
        let mut row = vec![String::new(); self.names.len()];
        for (key, value) in entries {
            let Some(&j) = self.place.get(&key) else {
                return Err(format!(
                    "the key `{}` is not in the first line; give every line the same keys",
                    excerpt(&key)
                ));
            };
            row[j] = match value {
                Value::Null => String::new(),
                Value::Bool(truth) => truth.to_string(),
                Value::Number(n) => n.as_f64().filter(|_| n.is_f64()).map_or_else(|| n.to_string(), shortest),
                Value::String(text) => text.trim().to_owned(),
                Value::Array(_) | Value::Object(_) => {
                    return Err(format!("the value of `{}` is nested; flatten it", excerpt(&key)));
                }
            };
        }
        for (column, cell) in cells.iter_mut().zip(&row) {
            column.push(cell);
        }
        Ok(())
    }
}

impl Batches for JsonLines {
    fn next_batch(&mut self, max_rows: usize) -> Result<Option<Table>> {
        let origin = self.lines.input.origin.clone();
        let (mut cells, mut lines) = (Vec::new(), Vec::new());
        while lines.len() < max_rows && (lines.is_empty() || !self.lines.input.would_wait(max_rows)) {
            let Some((number, line)) = self.lines.next()? else { break };
            let fail = |message| Error::data_at_line(&origin, number, message);
            let text = std::str::from_utf8(line).map_err(|e| fail(not_utf8(line, e)))?.to_owned();
            if text.trim().is_empty() {
                continue;
            }
            self.take_in(&text, &mut cells).map_err(fail)?;
            lines.push(number);
        }
        if lines.is_empty() {
            return Ok(None);
        }
        let names = self.names.iter().cloned();
        let columns = names.zip(cells).map(|(name, c)| Column { name, values: Values::Text(c) }).collect();
        let mut table = Table::new(origin, columns);
        (table.first_row, self.seen) = (self.seen, self.seen + lines.len());
        table.lines = lines;
        Ok(Some(table))
    }
}
