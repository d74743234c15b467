//! Mapped rows for a vector index: single precision, a vector per row, with ids.
//!
//! | file | writes |
//! |---|---|
//! | `npy` | one NumPy array |
//! | `fvecs` | the length and the elements of each vector, as the benchmarks of approximate search have them |
//! | `faiss` | the file of a `faiss.IndexFlatL2`, within an `IndexIDMap` where there are ids |
//! | `parquet` | an id, other columns, and a list of floats for each row |
//! | `pgvector` | a script for PostgreSQL: table, rows, nothing half-done |
//! | `graph` | the files of hnswlib and usearch, with a graph of near neighbours |
//! | `ids` | the ids: kept until their type is known, and looked through for doubles |

mod faiss;
mod fvecs;
mod graph;
mod ids;
mod npy;
#[cfg(feature = "parquet")]
mod parquet;
mod pgvector;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use lipmetric::data::{Table, Values};

use super::atomic::Sink;
use super::{Target, write_whole};
use crate::{Error, Result};
use ids::Ids;

/// What vectors can be written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VectorFormat {
    /// One NumPy array.
    Npy,
    /// Length and elements of each vector.
    Fvecs,
    /// A flat index of Faiss.
    Faiss,
    /// An index of hnswlib.
    Hnswlib,
    /// An index of usearch.
    Usearch,
    /// Parquet with a column of lists.
    Parquet,
    /// A script for PostgreSQL with pgvector.
    Pgvector,
}

impl VectorFormat {
    /// Every format.
    pub const ALL: [Self; 7] =
        [Self::Npy, Self::Fvecs, Self::Faiss, Self::Hnswlib, Self::Usearch, Self::Parquet, Self::Pgvector];

    /// Whether the format has a place for other columns than the vectors.
    #[must_use]
    pub fn has_columns(self) -> bool {
        matches!(self, Self::Parquet | Self::Pgvector)
    }
}

impl fmt::Display for VectorFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Npy => "npy",
            Self::Fvecs => "fvecs",
            Self::Faiss => "faiss",
            Self::Hnswlib => "hnswlib",
            Self::Usearch => "usearch",
            Self::Parquet => "parquet",
            Self::Pgvector => "pgvector",
        })
    }
}

impl FromStr for VectorFormat {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|f| f.to_string() == name).ok_or_else(|| {
            let all: Vec<String> = Self::ALL.iter().map(ToString::to_string).collect();
            Error::usage(format!("unknown format `{name}`; choose {}", all.join(", ")))
        })
    }
}

/// How vectors are written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VectorOptions {
    /// How many of a batch's last columns make up the vector.
    pub dimensions: usize,
    /// Whether the first column of a batch holds ids; otherwise rows are numbered from 0.
    pub ids: bool,
    /// The table's name, for a database; a point stands between the schema and the name.
    pub table: String,
}

impl VectorOptions {
    /// Vectors of so many elements, without ids.
    #[must_use]
    pub fn new(dimensions: usize) -> Self {
        Self { dimensions, ids: false, table: "items".to_owned() }
    }
}

/// Writes vectors batch by batch. Nothing appears under the target's name before [`VectorWriter::finish`].
///
/// ```
/// use lipmetric::data::{Column, Table};
/// use lipmetric_io::Target;
/// use lipmetric_io::write::{VectorFormat, VectorOptions, VectorWriter};
///
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("two.fvecs");
/// let table = Table::new("rows", vec![Column::numbers("z1", vec![0.5, 1.0]), Column::numbers("z2", vec![2.0, 3.0])]);
/// let mut writer = VectorWriter::create(&Target::new(&path), VectorFormat::Fvecs, VectorOptions::new(2))?;
/// writer.write_batch(&table)?;
/// writer.finish()?;
/// assert_eq!(std::fs::read(&path).unwrap().len(), 2 * (4 + 2 * 4));
/// # Ok::<(), lipmetric_io::Error>(())
/// ```
pub struct VectorWriter {
    target: Target,
    format: VectorFormat,
    options: VectorOptions,
    ids: Ids,
    vectors: Box<dyn WriteVectors>,
}

impl fmt::Debug for VectorWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VectorWriter")
            .field("target", &self.target)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

/// A batch as the writers of formats take it.
struct Batch<'a> {
    /// Row by row.
    vectors: &'a [f32],
    /// The ids of these rows, as text.
    ids: &'a [String],
    /// Whether ids were given.
    given: bool,
    /// The other columns.
    beside: &'a Table,
}

/// Told how many vectors are linked, says whether to go on.
type GoOn<'a> = &'a mut dyn FnMut(usize) -> bool;

/// What a format's writer does.
trait WriteVectors: Send {
    fn write(&mut self, batch: &Batch<'_>) -> Result<()>;

    /// What is to be done once all vectors are there and takes its time.
    fn link(&mut self, _: GoOn<'_>) -> Result<()> {
        Ok(())
    }

    fn finish(self: Box<Self>, ids: &Ids) -> Result<()>;
}

impl VectorWriter {
    /// Opens a target; mistakes in its name and missing rights show here, before anything is computed.
    ///
    /// # Errors
    /// If the target cannot be written, the vectors would have no elements, or more than the format takes.
    pub fn create(target: &Target, format: VectorFormat, options: VectorOptions) -> Result<Self> {
        let width = options.dimensions;
        if width == 0 {
            return Err(Error::usage(
                "the learned map has no dimension (all distances are zero): there is nothing to search in",
            ));
        }
        if format == VectorFormat::Pgvector && width > pgvector::MOST {
            return Err(Error::usage(format!(
                "pgvector takes vectors of up to {} elements, and these have {width}; learn a map of lower rank (`rank`)",
                pgvector::MOST
            )));
        }
        let sink = Sink::open(target)?;
        let vectors: Box<dyn WriteVectors> = match format {
            VectorFormat::Npy => Box::new(npy::Npy::new(sink, width)?),
            VectorFormat::Fvecs => Box::new(fvecs::Fvecs::new(sink, width)),
            VectorFormat::Faiss => Box::new(faiss::Flat::new(sink, width, options.ids)?),
            VectorFormat::Hnswlib => Box::new(graph::Linked::new(sink, width, graph::Whose::Hnswlib)),
            VectorFormat::Usearch => Box::new(graph::Linked::new(sink, width, graph::Whose::Usearch)),
            VectorFormat::Pgvector => Box::new(pgvector::Script::new(sink, width, &options.table)?),
            #[cfg(feature = "parquet")]
            VectorFormat::Parquet => Box::new(parquet::Lists::new(sink, width)),
            #[cfg(not(feature = "parquet"))]
            VectorFormat::Parquet => {
                return Err(Error::usage("this program was built without Parquet; build it with `feature = parquet`"));
            }
        };
        Ok(Self { target: target.clone(), format, options, ids: Ids::default(), vectors })
    }

    /// Adds the rows of a table: the id where there are ids, then other columns, then the elements of the vector.
    ///
    /// # Errors
    /// If writing fails, an id is missing or there twice, or single precision cannot hold a number.
    pub fn write_batch(&mut self, table: &Table) -> Result<()> {
        let from = table.columns.len() - self.options.dimensions;
        let vectors = singles(table, from)?;
        let before = self.ids.len();
        let at = usize::from(self.options.ids);
        if self.options.ids {
            self.ids.take(table, &table.columns[0])?;
        } else {
            self.ids.count(table.rows());
        }
        let mut beside = Table::new(table.origin.clone(), table.columns[at..from].to_vec());
        beside.lines.clone_from(&table.lines);
        let ids: Vec<String> = (before..self.ids.len()).map(|i| self.ids.get(i)).collect();
        self.vectors.write(&Batch { vectors: &vectors, ids: &ids, given: self.options.ids, beside: &beside })
    }

    /// Completes the file and puts it in its place. A format without a place for ids has them in a file beside it, which is
    /// returned.
    ///
    /// # Errors
    /// If writing fails or nothing was written.
    pub fn finish(self) -> Result<Option<PathBuf>> {
        self.finish_while(&mut |_| true)
    }

    /// The same, for formats that link each vector to others: `go_on` is told how many have links and says whether to go on.
    ///
    /// # Errors
    /// As [`Self::finish`]; or if it is given up.
    pub fn finish_while(mut self, go_on: &mut dyn FnMut(usize) -> bool) -> Result<Option<PathBuf>> {
        if self.ids.len() == 0 {
            return Err(Error::data(self.target.name(), "there are no rows to write"));
        }
        let beside = match (&self.target, self.format) {
            (Target::Path(path), VectorFormat::Npy | VectorFormat::Fvecs) if self.options.ids => {
                Some(companion(path, "ids.npy"))
            }
            _ => None,
        };
        self.vectors.link(go_on)?;
        if let Some(path) = &beside {
            write_whole(&Target::Path(path.clone()), |out| self.ids.write_npy(out))?;
        }
        self.vectors.finish(&self.ids)?;
        Ok(beside)
    }
}

/// The name of a file beside another: `items.ids.npy` beside `items.npy`.
#[must_use]
pub fn companion(path: &Path, ending: &str) -> PathBuf {
    path.with_extension(ending)
}

/// The last columns as vectors in single precision, row by row.
fn singles(table: &Table, from: usize) -> Result<Vec<f32>> {
    let columns = &table.columns[from..];
    let mut out = Vec::with_capacity(table.rows() * columns.len());
    for i in 0..table.rows() {
        for (j, column) in columns.iter().enumerate() {
            let value = match &column.values {
                Values::Number(v) => v[i],
                Values::Text(t) => lipmetric::data::number(t.get(i)).unwrap_or(f64::NAN),
            };
            let single = value as f32;
            if !single.is_finite() {
                let message =
                    format!("element {} of the mapped row is {value:e}, which single precision cannot hold", j + 1);
                return Err(Error::data(table.place(i), message));
            }
            out.push(single);
        }
    }
    Ok(out)
}

/// Little-endian bytes of vectors.
fn bytes(vectors: &[f32]) -> Vec<u8> {
    vectors.iter().flat_map(|v| v.to_le_bytes()).collect()
}
