//! The one error type of the crate.

use std::fmt;
use std::io;
use std::path::Path;

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Who has to act on an error: a program can choose its exit code by this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request itself is mistaken: an unknown name, an option that does not fit.
    Usage,
    /// A file was read but its content cannot be used.
    Data,
    /// The operating system refused to read or write.
    Io,
    /// A download failed.
    Network,
}

/// What can go wrong between a file and a table. Messages name the place, what was found, and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request is mistaken.
    #[error("{0}")]
    Usage(String),
    /// The content of a file cannot be used.
    #[error("{place}: {message}")]
    Data {
        /// Where in which source.
        place: Place,
        /// What was found there and what to do about it.
        message: String,
    },
    /// The operating system refused.
    #[error("cannot {action} {path}: {}", explain(source))]
    Io {
        /// What was tried, as a verb: `read`, `write`, ...
        action: &'static str,
        /// The path, `standard input` or `standard output`.
        path: String,
        /// The system's own error.
        source: io::Error,
    },
    /// A download failed.
    #[error("cannot download {url}: {message}")]
    Network {
        /// What was asked for.
        url: String,
        /// What happened and what to do about it.
        message: String,
    },
}

/// A place in a source: the file, and where known the line and the column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Place {
    /// The path, a data set's name or `standard input`.
    pub origin: String,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The column: its number from 1, and its name where there is one.
    pub column: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ", column {column}")?;
        }
        Ok(())
    }
}

impl Error {
    /// Which of the four kinds this is.
    ///
    /// ```
    /// use lipmetric_io::{Error, ErrorKind};
    /// assert_eq!(Error::usage("no such data set").kind(), ErrorKind::Usage);
    /// ```
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Usage(_) => ErrorKind::Usage,
            Self::Data { .. } => ErrorKind::Data,
            Self::Io { .. } => ErrorKind::Io,
            Self::Network { .. } => ErrorKind::Network,
        }
    }

    /// Whether the reader of our output went away, which a program should take as a quiet end.
    #[must_use]
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// A [`Error::Usage`].
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// A [`Error::Data`] about a source as a whole.
    pub fn data(origin: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Data { place: Place { origin: origin.into(), ..Place::default() }, message: message.into() }
    }

    /// A [`Error::Data`] about a line.
    pub fn data_at_line(origin: impl Into<String>, line: u64, message: impl Into<String>) -> Self {
        Self::Data { place: Place { origin: origin.into(), line: Some(line), column: None }, message: message.into() }
    }

    /// A [`Error::Data`] about a column; `line` where it is known.
    pub fn data_in_column(
        origin: impl Into<String>,
        line: Option<u64>,
        column: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self::Data {
            place: Place { origin: origin.into(), line, column: Some(column.into()) },
            message: message.into(),
        }
    }

    /// A [`Error::Io`].
    pub fn io(action: &'static str, path: impl Into<String>, source: io::Error) -> Self {
        Self::Io { action, path: path.into(), source }
    }

    /// A [`Error::Io`] about a path.
    pub fn io_path(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::io(action, path.display().to_string(), source)
    }
}

/// The system's error in plain words, with the remedy where there is a usual one.
fn explain(error: &io::Error) -> String {
    let remedy = match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or folder; check the spelling and the current folder",
        io::ErrorKind::PermissionDenied => "permission denied; check the rights of the file and of its folder",
        io::ErrorKind::IsADirectory => "it is a folder; name a file",
        io::ErrorKind::NotADirectory => "a part of the path is a file, not a folder; check the path",
        io::ErrorKind::StorageFull => "the disk is full; make room or choose another place",
        io::ErrorKind::QuotaExceeded => "your disk quota is used up; make room or choose another place",
        io::ErrorKind::ReadOnlyFilesystem => "the disk is mounted read-only; choose another place",
        _ => return error.to_string(),
    };
    remedy.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_of_the_system_comes_with_a_remedy() {
        for (kind, words) in [
            (io::ErrorKind::NotFound, "no such file"),
            (io::ErrorKind::PermissionDenied, "permission denied; check the rights"),
            (io::ErrorKind::IsADirectory, "name a file"),
            (io::ErrorKind::StorageFull, "disk is full"),
        ] {
            let error = Error::io("write", "out.csv", kind.into());
            let text = error.to_string();
            assert!(text.starts_with("cannot write out.csv: ") && text.contains(words), "{text}");
            assert_eq!(error.kind(), ErrorKind::Io);
        }
    }

    #[test]
    fn a_place_names_file_line_and_column() {
        let error = Error::data_in_column("a.csv", Some(7), "3 (`age`)", "not UTF-8");
        assert_eq!(error.to_string(), "a.csv, line 7, column 3 (`age`): not UTF-8");
        assert_eq!(error.kind(), ErrorKind::Data);
    }
}
