//! `forebay json`: the results of a jq filter, or the shape of a document, within a budget.

use crate::context::{Context, Outcome};
use forebay::Query;
use forebay::query::Filter;

/// Run a jq filter over a JSON output, or print its shape.
///
/// Without a filter, prints each path with its types, its number of occurrences and examples; each path is a filter itself.
/// Filters that go through the members of an array, such as `.[] | …` or `map(…)`, read an output of any size in little
/// memory.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay json HANDLE                                       print its shape
  forebay json HANDLE '.items[] | select(.ok | not) | .id'
  forebay json HANDLE 'group_by(.kind) | map({kind: .[0].kind, n: length})'")]
pub(crate) struct Args {
    /// Handle of the output
    handle: String,
    /// Filter in the language of jq
    #[arg(allow_hyphen_values = true)]
    filter: Option<String>,
    /// Skip this many results or paths
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip: u64,
    /// Maximum results to print
    #[arg(long, value_name = "N", default_value_t = Filter::SHOWN, requires = "filter", value_parser = clap::value_parser!(u64).range(1..))]
    max: u64,
}

pub(crate) fn run(args: Args, context: &Context) -> Outcome {
    let query = match args.filter {
        Some(filter) => Query::Json(Filter { skip: args.skip, max: args.max, ..Filter::new(filter) }),
        None => Query::Shape { skip: args.skip },
    };
    context.answer(&args.handle, &query)
}
