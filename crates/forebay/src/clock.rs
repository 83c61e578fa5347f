//! The clock of the caller.

use jiff::Timestamp;

/// The caller's clock, such as `&Timestamp::now`. The library has none of its own, so a test can state the time.
pub type Clock<'a> = &'a (dyn Fn() -> Timestamp + Send + Sync);
