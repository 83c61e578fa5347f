//! `forebay read`: lines or bytes of an output, bounded.

use super::{Context, Outcome, parse_range};
use forebay::Query;

/// Read lines or bytes of an output.
///
/// The answer is bounded, says where it stands, and ends with the command that goes on.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay read HANDLE                      from the beginning
  forebay read HANDLE --lines 400:460      lines 400 to 460
  forebay read HANDLE --bytes 8000:16000   bytes 8000 to 15999, also inside one giant line")]
pub(crate) struct Args {
    /// The output
    handle: String,
    /// Lines, counted from 1, both ends included
    #[arg(long, value_name = "A:B", conflicts_with = "bytes", value_parser = parse_range)]
    lines: Option<(Option<u64>, Option<u64>)>,
    /// Bytes, counted from 0, the end not included
    #[arg(long, value_name = "A:B", value_parser = parse_range)]
    bytes: Option<(Option<u64>, Option<u64>)>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let query = match (args.lines, args.bytes) {
        (_, Some((from, to))) => Query::Bytes(from.unwrap_or(0)..to.unwrap_or(u64::MAX)),
        (Some((from, to)), None) => Query::Lines(from.unwrap_or(1)..=to.unwrap_or(u64::MAX)),
        (None, None) => Query::Lines(1..=u64::MAX),
    };
    context.answer(&args.handle, &query)
}
