//! Errors of the gateway, sorted by who can act on them.

/// An error of the gateway.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The settings of the gateway make no sense.
    #[error("{0}")]
    Config(String),
    /// A server cannot be started or reached.
    #[error("the server {name} cannot be started: {source}")]
    Start {
        /// The server.
        name: String,
        /// Why.
        source: std::io::Error,
    },
    /// An output could not be kept, so it was passed on as it was.
    #[error("the output of {0} could not be kept, and was passed on whole")]
    NotKept(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] forebay::Error),
    /// A message cannot be read or written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// There are no random numbers for a name.
    #[error("no random numbers for a name: {0}")]
    Random(String),
}

/// The result of something in the gateway.
pub type Result<T> = std::result::Result<T, Error>;
