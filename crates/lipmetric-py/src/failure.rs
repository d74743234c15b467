//! Errors of the library as Python's exceptions.

use lipmetric::Error;
use lipmetric_io::Error as IoError;
use pyo3::PyErr;
use pyo3::exceptions::{
    PyArithmeticError, PyFileNotFoundError, PyOSError, PyPermissionError, PyRuntimeError, PyValueError,
};
use std::io::ErrorKind;

/// What cannot be used is a `ValueError`; what cannot be computed an `ArithmeticError`. What Ctrl-C raises does not come this way.
pub(crate) fn raise(error: Error) -> PyErr {
    match error {
        Error::Interrupted => PyRuntimeError::new_err(
            "the fit was ended, by the callback or the time limit, before there was anything to return",
        ),
        Error::Numerical { .. } => PyArithmeticError::new_err(error.to_string()),
        Error::TimeLimit(text) => PyRuntimeError::new_err(text),
        other => PyValueError::new_err(other.to_string()),
    }
}

/// The same of files: what the system refuses is an `OSError`, by its kind.
pub(crate) fn raise_io(error: IoError) -> PyErr {
    let text = error.to_string();
    match error {
        IoError::Io { source, .. } => match source.kind() {
            ErrorKind::NotFound => PyFileNotFoundError::new_err(text),
            ErrorKind::PermissionDenied => PyPermissionError::new_err(text),
            _ => PyOSError::new_err(text),
        },
        _ => PyValueError::new_err(text),
    }
}

/// JSON that the package itself has written and that says something wrong.
pub(crate) fn raise_json(error: serde_json::Error) -> PyErr {
    // Of one line, so that where in it means nothing to a reader.
    let text = error.to_string();
    PyValueError::new_err(text.split(" at line ").next().unwrap_or_default().to_owned())
}
