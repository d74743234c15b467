//! The ids of rows: each is there, and each once.

use crate::numbers::shortest;
use crate::{Error, Result};
use lipmetric::data::{Column, Table, Values, excerpt, is_missing};

/// The id of a row of a table.
pub(crate) fn id_of(table: &Table, column: &Column, row: usize) -> Result<String> {
    let id = match &column.values {
        Values::Number(v) if v[row].is_nan() => String::new(),
        Values::Number(v) => shortest(v[row]),
        Values::Text(t) => t.get(row).to_owned(),
    };
    if is_missing(&id) {
        let message = format!("the row has no id in column `{}`; every row needs one", column.name);
        return Err(Error::data(table.place(row), message));
    }
    Ok(id)
}

/// What is said of a row whose id was that of another row, at `first`.
pub(crate) fn twice(table: &Table, column: &Column, row: usize, id: &str, first: &str) -> Error {
    let (id, column) = (excerpt(id), &column.name);
    let message = format!("the id `{id}` in column `{column}` was already that of {first}; ids must differ");
    Error::data(table.place(row), message)
}
