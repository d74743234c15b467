//! Files in and out for lipmetric: tables, the model file, the bundled data sets.
//!
//! | step | module |
//! |---|---|
//! | where bytes come from: a path, standard input, memory; gzip undone | [`source`] |
//! | text in other encodings than UTF-8 | [`encoding`] |
//! | CSV, TSV, LIBSVM, NPY, NPZ, Parquet, JSON lines: told by name, else by content | [`format`](mod@format) |
//! | a file as a table, whole or batch by batch | [`read`] |
//! | a table as a file, written atomically | [`write`](mod@write) |
//! | a fitted model as a file | [`model`] |
//! | what a fit has come to, so that it goes on after it was killed | [`checkpoint`] |
//! | its learned map alone, for programs that know nothing of models | [`map`] |
//! | the data sets that travel with the program, and the one that is fetched | [`datasets`] |
//!
//! ```
//! use lipmetric_io::{ReadOptions, Source, read_table};
//!
//! let source = Source::bytes("flowers.csv", "height,width,label\n1.5,2,iris\n3,,rose\n");
//! let table = read_table(&source, &ReadOptions::default())?;
//! assert_eq!(table.rows(), 2);
//! assert_eq!(table.columns[0].name, "height");
//! assert_eq!(table.place(1), "flowers.csv, line 3");
//! # Ok::<(), lipmetric_io::Error>(())
//! ```

pub mod checkpoint;
pub mod datasets;
pub mod encoding;
pub mod error;
mod fingerprint;
pub mod format;
mod ids;
pub mod map;
pub mod model;
mod npy;
mod numbers;
pub mod read;
pub mod source;
mod strange;
pub mod write;

pub use encoding::Encoding;
pub use error::{Error, ErrorKind, Result};
pub use fingerprint::{fingerprint, fingerprint_of_text};
pub use format::Format;
pub use read::{ReadOptions, SparseTable, TableStream, read_sparse, read_table};
pub use source::Source;
pub use write::{TableWriter, Target, WriteOptions, atomic_write};
