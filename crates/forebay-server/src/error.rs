//! Errors before the server listens. What a client reads is in `problem`.

use crate::listener::Listen;
use forebay::Session;
use std::io;
use std::path::PathBuf;

/// The result of preparing a server.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a server cannot be started, or its tokens cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is open to other machines, and no tokens protect it.
    #[error("{0} can be reached from other machines, so tokens are needed")]
    TokensNeeded(Listen),
    /// The file of tokens cannot be read, or holds something else.
    #[error("cannot read the tokens {}: {why}", file.display())]
    BadTokens {
        /// The file.
        file: PathBuf,
        /// Description of the fault.
        why: String,
    },
    /// A token's hash in the file of tokens is not one.
    #[error("a token's hash is not one: {0:?}")]
    BadHash(String),
    /// The tenant of a token is the one to which tokens without a tenant belong.
    #[error(
        "the tenant {0} of a token is store.tenant, to which tokens without a tenant belong; rename one of them"
    )]
    TakenTenant(Session),
    /// The file of tokens is empty.
    #[error("the file of tokens is empty, so no client could connect")]
    NoTokens,
    /// The token file of the root cannot be read.
    #[error("cannot read the token of this root, {}: {source}", file.display())]
    UnreadableToken {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The token file of the root cannot be written.
    #[error("cannot write the token of this root, {}: {source}", file.display())]
    UnwritableToken {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The system gives no random numbers.
    #[error("no random numbers for a name: {0}")]
    Random(getrandom::Error),
}
