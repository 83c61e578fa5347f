//! `forebay grep`: matching lines of an output within a budget, with the true total.

use crate::context::{Context, Outcome};
use crate::error::CliError;
use forebay::Query;
use forebay::query::{Grep, Selection};

/// Search an output with a regular expression.
///
/// The total counts all matches, however few are shown. In a line of more than 4 KiB each match counts by itself and is
/// shown with its surroundings.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay grep HANDLE 'error|panic' -C 3
  forebay grep HANDLE -i timeout --max 10 --json
  forebay grep HANDLE -F 'a[0]' --count
  forebay grep HANDLE -U 'error: .*\\n +at' 
  forebay grep HANDLE -e --verbose")]
pub(crate) struct Args {
    /// Handle of the output
    handle: String,
    /// Pattern in the syntax of Rust's regex crate
    #[arg(value_name = "PATTERN", required_unless_present = "pattern_flag", allow_hyphen_values = true)]
    pattern: Option<String>,
    /// Pattern that starts with a dash
    #[arg(
        short = 'e',
        long = "regexp",
        value_name = "PATTERN",
        conflicts_with = "pattern",
        allow_hyphen_values = true,
        id = "pattern_flag"
    )]
    pattern_flag: Option<String>,
    /// Ignore upper and lower case
    #[arg(short, long)]
    ignore_case: bool,
    /// Search for the pattern as plain text
    #[arg(short = 'F', long)]
    fixed_strings: bool,
    /// Let a match span several lines
    #[arg(short = 'U', long)]
    multiline: bool,
    /// Print the lines that do not match
    #[arg(short = 'v', long, conflicts_with_all = ["only_matching", "multiline"])]
    invert_match: bool,
    /// Print only the matching text, each match by itself
    #[arg(short, long)]
    only_matching: bool,
    /// Print only the number of matches
    #[arg(short, long, conflicts_with = "max")]
    count: bool,
    /// Print this many context lines around each match
    #[arg(short = 'C', long, value_name = "N", default_value_t = 0)]
    context: u64,
    /// Maximum matches to print; 0 only counts
    #[arg(long, value_name = "N", default_value_t = Grep::SHOWN)]
    max: usize,
    /// Start at this byte
    #[arg(long, value_name = "OFFSET", default_value_t = 0)]
    from_byte: u64,
}

pub(crate) fn run(args: Args, context: &Context) -> Outcome {
    let pattern = args.pattern.or(args.pattern_flag).ok_or_else(|| CliError::usage("no pattern"))?;
    let query = Grep {
        pattern,
        fixed: args.fixed_strings,
        ignore_case: args.ignore_case,
        multiline: args.multiline,
        wanted: match (args.invert_match, args.only_matching) {
            (true, _) => Selection::OtherLines,
            (false, true) => Selection::Matches,
            (false, false) => Selection::Lines,
        },
        context: args.context.min(200),
        max: if args.count { 0 } else { args.max },
        from_byte: args.from_byte,
    };
    context.answer(&args.handle, &Query::Grep(query))
}
