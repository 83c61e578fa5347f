//! `forebay outline`: the items of an output with line numbers, within a budget.

use crate::context::{Context, Outcome};
use forebay::Query;
use forebay::query::Outlined;

/// Print the outline of an output: functions, headings, files, failures.
///
/// Code is outlined by its classes and functions, a diff by its files and hunks, a test run by its suites and failures, a
/// log by its sections and errors, a table by its columns, text by its headings. The form is recognized from the bytes. If
/// the outline does not fit, only the outer items are printed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay outline HANDLE
  forebay outline HANDLE --depth 0
  forebay outline HANDLE --from-line 1200")]
pub(crate) struct Args {
    /// Handle of the output
    handle: String,
    /// Start at this line
    #[arg(long, value_name = "LINE", default_value_t = 1)]
    from_line: u64,
    /// Skip this many items
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip: u64,
    /// Maximum depth; 0 prints only the outermost items
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let query = Query::Outline(Outlined { from_line: args.from_line, skip: args.skip, depth: args.depth });
    context.answer(&args.handle, &query)
}
