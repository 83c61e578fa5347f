//! Random numbers of the system.

use crate::error::{Error, Result};

/// Random bits, for names that must be unique.
pub(crate) fn random() -> Result<[u8; 16]> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| Error::Random(error.to_string()))?;
    Ok(random)
}
