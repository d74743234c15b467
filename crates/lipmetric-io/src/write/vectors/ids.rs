//! The ids of rows.

use std::collections::HashMap;
use std::io::{self, Write};

use lipmetric::data::{Column, Table, Texts, Values, excerpt, is_missing};

use super::super::npz::write_texts;
use crate::numbers::{as_whole, shortest};
use crate::{Error, Result};

/// The ids so far: given ones, or the numbers of the rows from 0.
#[derive(Default)]
pub(super) struct Ids {
    counted: usize,
    given: Texts,
    /// Where each was first.
    places: HashMap<String, String>,
    text: bool,
}

impl Ids {
    pub(super) fn len(&self) -> usize {
        self.counted + self.given.len()
    }

    pub(super) fn count(&mut self, rows: usize) {
        self.counted += rows;
    }

    pub(super) fn get(&self, i: usize) -> String {
        if self.counted > 0 { i.to_string() } else { self.given.get(i).to_owned() }
    }

    /// Whether all ids are whole numbers, written as such.
    pub(super) fn whole(&self) -> bool {
        !self.text
    }

    /// Takes the ids of a batch; each must be there, and once.
    pub(super) fn take(&mut self, table: &Table, column: &Column) -> Result<()> {
        for i in 0..table.rows() {
            let id = match &column.values {
                Values::Number(v) if v[i].is_nan() => String::new(),
                Values::Number(v) => shortest(v[i]),
                Values::Text(t) => t.get(i).to_owned(),
            };
            let refuse = |message: String| Err(Error::data(table.place(i), message));
            if is_missing(&id) {
                return refuse(format!("the row has no id in column `{}`; every row needs one", column.name));
            }
            if let Some(first) = self.places.get(&id) {
                let shown = excerpt(&id);
                return refuse(format!(
                    "the id `{shown}` in column `{}` was already that of {first}; ids must differ",
                    column.name
                ));
            }
            self.text |= as_whole(&id).is_none();
            self.given.push(&id);
            self.places.insert(id, table.place(i));
        }
        Ok(())
    }

    /// The ids as an array of NumPy: 64-bit whole numbers where all are, else text.
    pub(super) fn write_npy(&self, out: &mut dyn Write) -> io::Result<()> {
        write_texts(&mut { out }, &self.given)
    }
}
