//! The bounds that a program sets on the queries of its readers.

use crate::request::filter::{Filter, Values};
use crate::stop::Stop;
use crate::{Output, Result};

/// Limits that a program sets on its queries.
pub trait Bounds: Send + Sync {
    /// Called when a query begins; raising the flag ends it.
    fn begin(&self) -> Stop;

    /// Runs a filter in another process with limited memory, and returns up to `enough` bytes of its results. `None`
    /// runs it in this process.
    fn filter(&self, output: &Output, filter: &Filter, enough: u64, stop: &Stop) -> Option<Result<Values>> {
        let _ = (output, filter, enough, stop);
        None
    }
}
