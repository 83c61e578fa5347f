//! The clock: the library has none of its own.

use jiff::Timestamp;

/// A clock: the library has none of its own.
pub type Clock = fn() -> Timestamp;
