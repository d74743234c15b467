//! The one error type of the crate.

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong between a table and a fitted model.
///
/// Messages name the parameter, column or row, what was found, and what to do about it. A parameter is called by the name that it
/// has in Rust: in a sentence it is "the parameter `name`", or `` `name = value` `` where a value is meant, so that a program
/// with other spellings can put them in.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is outside its range or does not fit the others.
    #[error("parameter `{name}`: {message}")]
    Parameter {
        /// The parameter's name: that of a field, such as `max_iterations`; `anchor.weight` is a field of a field.
        name: &'static str,
        /// What was found, what is allowed, and the remedy.
        message: String,
    },
    /// The data cannot be used as they are.
    #[error("{0}")]
    Data(String),
    /// Two things that must agree in size do not.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// What was measured.
        what: String,
        /// The size it must have.
        expected: usize,
        /// The size it has.
        found: usize,
    },
    /// The user gave up.
    #[error("interrupted")]
    Interrupted,
    /// The time was up before there was anything to return.
    #[error("{0}")]
    TimeLimit(String),
    /// A computation could not be carried through.
    #[error("numerical failure in {place}: {message}")]
    Numerical {
        /// Which computation.
        place: &'static str,
        /// What happened and what may help.
        message: String,
    },
}

impl Error {
    /// A [`Error::Parameter`].
    pub fn parameter(name: &'static str, message: impl Into<String>) -> Self {
        Self::Parameter { name, message: message.into() }
    }

    /// A [`Error::Data`].
    pub fn data(message: impl Into<String>) -> Self {
        Self::Data(message.into())
    }

    /// The time was up before it was known where the metric becomes zero.
    pub(crate) fn before_c_max() -> Self {
        let told = "the time limit was reached before c_max was computed; give the parameter `c` instead, or more time";
        Self::TimeLimit(told.to_owned())
    }

    /// A [`Error::Shape`].
    pub fn shape(what: impl Into<String>, expected: usize, found: usize) -> Self {
        Self::Shape { what: what.into(), expected, found }
    }
}

/// `FromStr`, which refuses other names with the parameter and those that there are, and `Display` of an enum of names.
macro_rules! names {
    ($type:ty, $parameter:literal, $($name:literal => $variant:path),+) => {
        impl std::str::FromStr for $type {
            type Err = $crate::Error;

            fn from_str(s: &str) -> $crate::Result<Self> {
                match s {
                    $($name => Ok($variant),)+
                    _ => Err($crate::Error::parameter($parameter, format!("`{s}` is not one of {}", [$($name),+].join(", ")))),
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $($variant => $name),+ })
            }
        }
    };
}
pub(crate) use names;
