//! `forebay outline`: what is in an output, with line numbers, bounded.

use crate::context::{Context, Outcome};
use forebay::Query;
use forebay::query::Outlined;

/// See what is in an output: functions, headings, files, failures.
///
/// Code is outlined by its classes and functions, a diff by its files and hunks, a test run by its suites and failures, a
/// log by its sections and errors, a table by its columns, text by its headings. What an output is, is told from its
/// bytes. Where all of it does not fit, the outer things are shown.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay outline HANDLE
  forebay outline HANDLE --depth 0
  forebay outline HANDLE --from-line 1200")]
pub(crate) struct Args {
    /// The output
    handle: String,
    /// Only what begins on this line or after it
    #[arg(long, value_name = "LINE", default_value_t = 1)]
    from_line: u64,
    /// Pass over so many of those
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip: u64,
    /// No deeper than this; 0 shows only the outermost things
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let query = Query::Outline(Outlined { from_line: args.from_line, skip: args.skip, depth: args.depth });
    context.answer(&args.handle, &query)
}
