//! Seals files in the [age](https://age-encryption.org/v1) format, and opens them.
//!
//! A file is sealed for the holders of one or more keys, or with a passphrase. Any program that knows the format opens it:
//! `age -d -i key.txt FILE`. The contents are encrypted in blocks of 64 KiB, so a [`Reader`] can seek.
//!
//! ```
//! use forebay_age::{Identity, Key, Lock, Reader, Writer};
//! use std::io::{Cursor, Read, Write};
//!
//! let identity = Identity::generate()?;
//! let mut writer = Writer::new(Vec::new(), &Lock::Recipients(vec![identity.recipient()]))?;
//! writer.write_all(b"the contents")?;
//! let sealed = writer.finish()?;
//!
//! let mut text = String::new();
//! Reader::open(Cursor::new(sealed), &Key::Identities(vec![identity]))?.read_to_string(&mut text)?;
//! assert_eq!(text, "the contents");
//! # Ok::<(), forebay_age::Error>(())
//! ```

mod bech32;
mod header;
mod keys;
mod payload;

pub use header::is_sealed;
pub use keys::{Identity, Key, Lock, Recipient};
pub use payload::{Reader, Writer};

use std::io;

/// A file that cannot be sealed or opened, or a key that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file does not begin as a sealed one does.
    #[error("it is not a file in the age format")]
    NotSealed,
    /// The file is sealed, and its header is damaged or not understood.
    #[error("its header is damaged: {0}")]
    Header(&'static str),
    /// The file is sealed with a passphrase, and keys were given.
    #[error("it is sealed with a passphrase")]
    NeedsPassphrase,
    /// The file is sealed for keys, and a passphrase was given.
    #[error("it is sealed for a key, not with a passphrase")]
    NeedsIdentity,
    /// None of the keys opens the file.
    #[error("it is not sealed for this key")]
    WrongKey,
    /// The passphrase does not open the file.
    #[error("the passphrase is wrong")]
    WrongPassphrase,
    /// Trying a passphrase would take more memory than is reasonable.
    #[error("its passphrase is stretched 2^{0} times; at most 2^{max} is accepted", max = keys::MAX_WORK)]
    TooMuchWork(u8),
    /// A text is no recipient.
    #[error("it is not a recipient, which begins with `age1` and has 62 characters")]
    NoRecipient,
    /// A text is no identity.
    #[error("it is not an identity, which begins with `AGE-SECRET-KEY-1` and has 74 characters")]
    NoIdentity,
    /// The system gave no random numbers.
    #[error("the system gave no random numbers")]
    NoRandomness,
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<ring::error::Unspecified> for Error {
    /// `ring` reports an error in this way here only if it gets no random numbers.
    fn from(_: ring::error::Unspecified) -> Error {
        Error::NoRandomness
    }
}
