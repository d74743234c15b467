//! The ids of rows.

use std::collections::HashMap;
use std::io::{self, Write};

use lipmetric::data::{Column, Table, Texts};

use super::super::npz::write_texts;
use crate::Result;
use crate::ids::{id_of, twice};
use crate::numbers::as_whole;

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
            let id = id_of(table, column, i)?;
            if let Some(first) = self.places.get(&id) {
                return Err(twice(table, column, i, &id, first));
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
