//! Every way to fail, and its exit code.

use crate::method::options::{flag_of, in_flags};
use crate::output;
use lipmetric_io::ErrorKind;
use std::process::ExitCode;

pub(crate) type Result<T = (), E = Failure> = std::result::Result<T, E>;

/// Why the program ends other than well. Exit codes: 1 failed, 2 usage, 3 bad data, 4 not converged or not proved, 130 interrupted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Data(String),
    #[error("{0}")]
    Failed(String),
    #[error("{0}")]
    NotConverged(String),
    #[error("{0}")]
    NotProved(String),
    #[error("interrupted{0}")]
    Interrupted(String),
    #[error("broken pipe")]
    BrokenPipe,
}

impl Failure {
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::BrokenPipe => 0,
            Self::Failed(_) => 1,
            Self::Usage(_) => 2,
            Self::Data(_) => 3,
            Self::NotConverged(_) | Self::NotProved(_) => 4,
            Self::Interrupted(_) => 130,
        }
    }

    /// Tells the user and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        self.tell();
        ExitCode::from(self.code())
    }

    /// Tells the user.
    pub(crate) fn tell(&self) {
        output::say(&format!("lipmetric: {self}"));
    }

    /// A failure to write results.
    pub(crate) fn output(error: &std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Self::BrokenPipe
        } else {
            Self::Failed(format!("cannot write standard output: {error}"))
        }
    }
}

impl From<lipmetric::Error> for Failure {
    fn from(error: lipmetric::Error) -> Self {
        use lipmetric::Error::{Data, Interrupted, Parameter, Shape};
        let text = in_flags(&error.to_string());
        match error {
            Parameter { name, message } => Self::Usage(format!("{}: {}", flag_of(name), in_flags(&message))),
            Data(_) | Shape { .. } => Self::Data(text),
            Interrupted => Self::Interrupted(String::new()),
            _ => Self::Failed(text),
        }
    }
}

impl From<lipmetric_io::Error> for Failure {
    fn from(error: lipmetric_io::Error) -> Self {
        if error.is_broken_pipe() {
            return Self::BrokenPipe;
        }
        let text = in_flags(&error.to_string());
        match error.kind() {
            ErrorKind::Usage => Self::Usage(text),
            ErrorKind::Data => Self::Data(text),
            _ => Self::Failed(text),
        }
    }
}
