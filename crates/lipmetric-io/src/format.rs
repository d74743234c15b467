//! The formats of tables: told by a file's name, otherwise by its content.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::{Error, Result};

/// A file format for tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Cells between delimiters (comma, semicolon, bar, blanks: found out unless given).
    Csv,
    /// Cells between tabs.
    Tsv,
    /// Sparse text: `label index:value ...`.
    Libsvm,
    /// One array of NumPy.
    Npy,
    /// Several named arrays of NumPy.
    Npz,
    /// Apache Parquet.
    Parquet,
    /// JSON lines: an object per row.
    Jsonl,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 7] = [Self::Csv, Self::Tsv, Self::Libsvm, Self::Npy, Self::Npz, Self::Parquet, Self::Jsonl];

    /// The format that a file's name asks for, and whether it asks for gzip as well (`.gz`).
    /// `.txt` tells nothing: such files may hold CSV or LIBSVM.
    ///
    /// ```
    /// use lipmetric_io::Format;
    /// assert_eq!(Format::of_name("a/b.CSV.gz"), (Some(Format::Csv), true));
    /// assert_eq!(Format::of_name("b.txt"), (None, false));
    /// ```
    pub fn of_name(path: impl AsRef<Path>) -> (Option<Self>, bool) {
        let Some(name) = path.as_ref().file_name() else { return (None, false) };
        let name = name.to_string_lossy().to_ascii_lowercase();
        let (name, gzip) = match name.strip_suffix(".gz") {
            Some(inner) => (inner, true),
            None => (name.as_str(), false),
        };
        let format = match name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("csv") => Some(Self::Csv),
            Some("tsv") => Some(Self::Tsv),
            Some("libsvm" | "svm" | "svmlight") => Some(Self::Libsvm),
            Some("npy") => Some(Self::Npy),
            Some("npz") => Some(Self::Npz),
            Some("parquet" | "pq") => Some(Self::Parquet),
            Some("jsonl" | "ndjson") => Some(Self::Jsonl),
            _ => None,
        };
        (format, gzip)
    }

    /// The binary format whose mark these first bytes carry.
    pub(crate) fn of_magic(sample: &[u8]) -> Option<Self> {
        if sample.starts_with(b"\x93NUMPY") {
            Some(Self::Npy)
        } else if sample.starts_with(b"PK\x03\x04") || sample.starts_with(b"PK\x05\x06") {
            Some(Self::Npz)
        } else if sample.starts_with(b"PAR1") {
            Some(Self::Parquet)
        } else {
            None
        }
    }

    /// The format that content looks like; text that does not look like LIBSVM is taken for CSV.
    pub(crate) fn of_content(sample: &[u8], complete: bool) -> Self {
        Self::of_magic(sample).unwrap_or(if looks_like_libsvm(sample, complete) {
            Self::Libsvm
        } else if sample.trim_ascii_start().starts_with(b"{\"") {
            Self::Jsonl
        } else {
            Self::Csv
        })
    }

    /// Whether the format is lines of text.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv | Self::Libsvm | Self::Jsonl)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Csv => "CSV",
            Self::Tsv => "TSV",
            Self::Libsvm => "LIBSVM",
            Self::Npy => "NPY",
            Self::Npz => "NPZ",
            Self::Parquet => "Parquet",
            Self::Jsonl => "JSONL",
        })
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|f| f.to_string().eq_ignore_ascii_case(name)).ok_or_else(|| {
            Error::usage(format!("unknown format `{name}`; choose csv, tsv, libsvm, npy, npz, parquet or jsonl"))
        })
    }
}

/// Whether the first lines all read `label index:value ...`, at least one of them with a pair.
fn looks_like_libsvm(sample: &[u8], complete: bool) -> bool {
    let text = String::from_utf8_lossy(sample);
    let mut lines: Vec<&str> = text.lines().collect();
    // The last line of an incomplete sample may be cut anywhere.
    if !complete && lines.len() > 1 {
        lines.pop();
    }
    let mut pairs = 0;
    let mut tokens_of = lines.iter().map(|l| l.split('#').next().unwrap_or("").split_whitespace());
    let all_fit = tokens_of.by_ref().take(20).all(|mut tokens| {
        let label_fits = tokens.next().is_none_or(|label| !label.contains([':', '"']));
        label_fits
            && tokens.all(|pair| {
                pairs += 1;
                pair.split_once(':').is_some_and(|(index, value)| {
                    (index == "qid" || index.parse::<u64>().is_ok()) && value.parse::<f64>().is_ok()
                })
            })
    });
    all_fit && pairs > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_formats() {
        for (name, format) in [
            ("a.csv", Format::Csv),
            ("a.tsv", Format::Tsv),
            ("a.svm", Format::Libsvm),
            ("a.libsvm", Format::Libsvm),
            ("a.svmlight", Format::Libsvm),
            ("a.npy", Format::Npy),
            ("a.npz", Format::Npz),
            ("a.pq", Format::Parquet),
            ("a.ndjson", Format::Jsonl),
            ("a.b.PARQUET", Format::Parquet),
        ] {
            assert_eq!(Format::of_name(name), (Some(format), false));
            assert_eq!(Format::of_name(format!("{name}.gz")), (Some(format), true));
        }
        assert_eq!(Format::of_name("csv"), (None, false));
        assert_eq!(Format::of_name(".."), (None, false));
    }

    #[test]
    fn content_tells_libsvm_from_csv() {
        assert_eq!(Format::of_content(b"+1 1:2 3:4.5 # note\n\n-1 2:1\n", true), Format::Libsvm);
        assert_eq!(Format::of_content(b"1 2 3\n4 5 6\n", true), Format::Csv);
        assert_eq!(Format::of_content(b"time value\n10:30 4\n", true), Format::Csv);
        assert_eq!(Format::of_content(b"\x93NUMPY\x01", true), Format::Npy);
        assert_eq!(Format::of_content(b"", true), Format::Csv);
    }

    #[test]
    fn format_names_parse_in_any_case() {
        assert_eq!("parquet".parse::<Format>().unwrap(), Format::Parquet);
        assert!("xls".parse::<Format>().unwrap_err().to_string().contains("choose csv"));
    }
}
