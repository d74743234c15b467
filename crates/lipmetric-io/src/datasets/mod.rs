//! The data sets that travel with the program, and the one that is fetched on request.

mod catalogue;
mod fetch;

use std::path::Path;

use lipmetric::data::Table;

pub use catalogue::{Dataset, list};
pub use fetch::{FetchOptions, data_dir, fetch};

use crate::{Error, ReadOptions, Result, Source, read_table};

/// The data set of this name, in any case.
///
/// ```
/// use lipmetric_io::datasets;
/// assert_eq!(datasets::find("Haberman")?.rows, 306);
/// assert!(datasets::find("iris").unwrap_err().to_string().contains("haberman"));
/// # Ok::<(), lipmetric_io::Error>(())
/// ```
///
/// # Errors
/// If there is none; the message lists the names.
pub fn find(name: &str) -> Result<&'static Dataset> {
    list().iter().find(|d| d.name.eq_ignore_ascii_case(name.trim())).ok_or_else(|| {
        let names = list().iter().map(|d| d.name).collect::<Vec<_>>().join(", ");
        let meant = lipmetric::data::similar(name, list().iter().map(|d| d.name));
        let meant = meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
        Error::usage(format!("there is no data set `{name}`; there are: {names}{meant}"))
    })
}

/// Whether a data set can be loaded as things stand: bundled, or fetched before.
#[must_use]
pub fn is_available(dataset: &Dataset) -> bool {
    dataset.is_bundled() || load(dataset.name).is_ok()
}

/// A data set as a table, its label in the last column.
///
/// # Errors
/// If there is no such data set, or it must be fetched first.
pub fn load(name: &str) -> Result<Table> {
    load_from(name, None)
}

/// As [`load`], with another folder to look for fetched data sets in.
///
/// # Errors
/// As [`load`].
pub fn load_from(name: &str, folder: Option<&Path>) -> Result<Table> {
    let dataset = find(name)?;
    match dataset.csv() {
        Some(csv) => {
            let mut table = read_table(
                &Source::bytes(format!("{}.csv", dataset.name), csv),
                &ReadOptions { header: Some(true), delimiter: Some(b','), ..ReadOptions::default() },
            )?;
            dataset.name.clone_into(&mut table.origin);
            Ok(table)
        }
        None => fetch::load_fetched(dataset, folder),
    }
}
