//! Named NumPy arrays in a zip archive: features `X`, labels `y` and column names, or a single table.

use std::io::{BufReader, Read};

use lipmetric::data::{Column, Table, Texts, Values};
use zip::ZipArchive;

use super::npy::Array;
use super::{Loaded, RandomAccess, ReadSeek, position_names};
use crate::npy::{Header, HeaderError};
use crate::{Error, Result, strange};

const FEATURES: [&str; 3] = ["X", "x", "data"];
const LABELS: [&str; 5] = ["y", "Y", "label", "labels", "target"];
const NAMES: [&str; 2] = ["columns", "feature_names"];

struct Archive {
    origin: String,
    zip: ZipArchive<Box<dyn ReadSeek>>,
    /// Array names, without `.npy`.
    arrays: Vec<String>,
    limit: u64,
}

pub(super) fn open(source: RandomAccess, limit: u64) -> Result<Loaded> {
    let origin = source.origin.clone();
    let zip = ZipArchive::new(source.into_read_seek()?).map_err(|e| zip_failure(&origin, e))?;
    let names: Vec<String> = zip.file_names().filter_map(Result::ok).map(Into::into).collect();
    let arrays: Vec<String> = names.iter().filter_map(|n| n.strip_suffix(".npy").map(str::to_owned)).collect();
    if arrays.is_empty() && !names.is_empty() {
        return Err(Error::data(origin, strange::zip_kind(&names)));
    }
    Archive { origin, zip, arrays, limit }.load().map(Loaded::new)
}

fn zip_failure(origin: &str, error: zip::result::ZipError) -> Error {
    match error {
        zip::result::ZipError::Io(e) if e.raw_os_error().is_some() => Error::io("read", origin, e),
        other => Error::data(
            origin,
            format!("this is not a readable NPZ (zip) file, or it is cut short ({other}); get it again"),
        ),
    }
}

impl Archive {
    fn load(mut self) -> Result<Table> {
        let features = self.find(&FEATURES);
        let labels = self.find(&LABELS);
        let names = self.find(&NAMES);
        let (features, labels) = match (features, labels) {
            (Some(x), y) => (x, y),
            (None, None) => {
                let mut others = self.arrays.iter().filter(|a| Some(*a) != names.as_ref());
                match (others.next(), others.next()) {
                    (Some(only), None) => (only.clone(), None),
                    _ => return Err(self.unclear()),
                }
            }
            (None, Some(_)) => return Err(self.unclear()),
        };
        let columns = self.columns(&features)?;
        let rows = columns.first().map_or(0, Values::len);
        let named = names.is_some();
        let names = match names {
            Some(array) => self.names(&array, columns.len())?,
            None => position_names(columns.len()).collect(),
        };
        let mut columns: Vec<Column> =
            names.into_iter().zip(columns).map(|(name, values)| Column { name, values }).collect();
        if let Some(array) = labels {
            let labels = self.texts(&array)?;
            if labels.len() != rows {
                let message =
                    format!("array `{features}` has {rows} rows but `{array}` has {}; they must agree", labels.len());
                return Err(Error::data(&self.origin, message));
            }
            if columns.iter().any(|c| c.name == "label") {
                let message = format!("a feature is named `label`, but `{array}` holds the labels; rename the feature");
                return Err(Error::data(&self.origin, message));
            }
            columns.push(Column { name: "label".to_owned(), values: Values::Text(labels) });
        }
        let mut table = Table::new(self.origin, columns);
        table.named = named;
        Ok(table)
    }

    fn find(&self, candidates: &[&str]) -> Option<String> {
        candidates.iter().find(|c| self.arrays.iter().any(|a| a == *c)).map(|c| (*c).to_owned())
    }

    fn unclear(&self) -> Error {
        let found = if self.arrays.is_empty() { "no arrays".to_owned() } else { self.arrays.join(", ") };
        let message = format!(
            "cannot tell which array is the table; found: {found}. Save the features as `X` and the labels as `y`, \
             or a single two-dimensional array"
        );
        Error::data(&self.origin, message)
    }

    /// Opens an array and hands its header and elements over.
    fn with_array<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&Array, bool, &mut dyn Read, &dyn Fn(std::io::Error) -> Error) -> Result<T>,
    ) -> Result<T> {
        let place = format!("{}, array `{name}`", self.origin);
        let member = self.zip.by_name(&format!("{name}.npy")).map_err(|e| zip_failure(&place, e))?;
        let fail = |e: std::io::Error| {
            if e.raw_os_error().is_some() {
                Error::io("read", &place, e)
            } else {
                Error::data(&place, format!("the compression is damaged or cut short ({e}); get the file again"))
            }
        };
        let mut reader = BufReader::new(member);
        let header = Header::read(&mut reader).map_err(|e| match e {
            HeaderError::Io(e) => fail(e),
            HeaderError::Content(message) => Error::data(&place, message),
        })?;
        let array = Array::new(&place, &header, self.limit)?;
        let content = read(&array, header.fortran, &mut reader, &fail)?;
        array.finish(&mut reader, &fail)?;
        Ok(content)
    }

    fn columns(&mut self, name: &str) -> Result<Vec<Values>> {
        self.with_array(name, |array, fortran, mut reader, fail| array.read_all(&mut reader, fortran, fail))
    }

    /// A one-dimensional array as text.
    fn texts(&mut self, name: &str) -> Result<Texts> {
        let place = format!("{}, array `{name}`", self.origin);
        self.with_array(name, |array, _, mut reader, fail| {
            if array.columns != 1 {
                let message = format!("expected one value per row, found {} columns", array.columns);
                return Err(Error::data(place, message));
            }
            array.read_text(&mut reader, fail)
        })
    }

    fn names(&mut self, array: &str, columns: usize) -> Result<Vec<String>> {
        let names: Vec<String> = self.texts(array)?.iter().map(str::to_owned).collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if names.len() != columns || sorted.len() != columns {
            let message = format!(
                "array `{array}` must hold one name per column, each its own: {columns} columns, {} names of which \
                 {} are distinct",
                names.len(),
                sorted.len()
            );
            return Err(Error::data(&self.origin, message));
        }
        Ok(names)
    }
}
