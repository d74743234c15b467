/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong between a dataset and what is learned from it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is outside its range, or the rows cannot be used as they are.
    #[error(transparent)]
    Library(#[from] lipmetric::Error),
    /// An error of linfa.
    #[error(transparent)]
    Linfa(#[from] linfa::Error),
}
