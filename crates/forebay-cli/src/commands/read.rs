//! `forebay read`: lines or bytes of an output, within a budget.

use crate::context::{Context, Outcome};
use forebay::{Query, query};

/// Read lines or bytes of an output.
///
/// The answer fits the budget, states its line numbers, and ends with the command that continues.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay read HANDLE                      read from the beginning
  forebay read HANDLE --lines 400:460      lines 400 to 460
  forebay read HANDLE --lines 1:9 --lines 400:   several parts at once
  forebay read HANDLE --bytes 8000:16000   bytes 8000 to 15999, even inside one long line")]
pub(crate) struct Args {
    /// Handle of the output
    handle: String,
    /// Range of lines, counted from 1, both ends included; may be given several times
    #[arg(long, value_name = "A:B", conflicts_with = "bytes", allow_hyphen_values = true)]
    lines: Vec<String>,
    /// Range of bytes, counted from 0, the end not included; may be given several times
    #[arg(long, value_name = "A:B", allow_hyphen_values = true)]
    bytes: Vec<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let query = match (args.lines.is_empty(), args.bytes.is_empty()) {
        (_, false) => Query::Bytes(all(&args.bytes, query::byte_ranges)?),
        (false, true) => Query::Lines(all(&args.lines, query::line_ranges)?),
        (true, true) => Query::Lines(vec![1..=u64::MAX]),
    };
    context.answer(&args.handle, &query)
}

/// The ranges of all flags, each parsed separately.
fn all<T>(texts: &[String], read: fn(&str) -> forebay::Result<Vec<T>>) -> forebay::Result<Vec<T>> {
    Ok(texts
        .iter()
        .map(|text| read(text))
        .collect::<forebay::Result<Vec<_>>>()?
        .into_iter()
        .flatten()
        .collect())
}
