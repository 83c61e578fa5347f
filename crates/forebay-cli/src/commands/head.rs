//! `forebay head`: the first lines of an output, within a budget.

use crate::context::{Context, Outcome};
use forebay::Query;

/// Read the first lines of an output.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Handle of the output
    handle: String,
    /// Number of lines
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    lines: u64,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    context.answer(&args.handle, &Query::Head(args.lines))
}
