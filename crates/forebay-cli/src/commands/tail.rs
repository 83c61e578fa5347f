//! `forebay tail`: the last lines of an output, and new lines while it grows.

use crate::context::{Context, Outcome};
use crate::error::{CliError, DONE};
use crate::print;
use crate::units;
use forebay::event::Answered;
use forebay::{Budget, Handle, Query, tokens};
use serde_json::Map;
use std::{
    io::{self, IsTerminal},
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

/// Read the last lines of an output, or follow it while it grows.
///
/// Following ends with the output, after the time limit, or when the budget is used up (unless it prints to a terminal). The
/// last line then names the command that continues.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay tail HANDLE -n 50
  forebay tail HANDLE --follow --wait 30s")]
pub(crate) struct Args {
    /// Handle of the output
    handle: String,
    /// Number of lines
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    lines: u64,
    /// Follow the output while it grows
    #[arg(short, long, conflicts_with = "json")]
    follow: bool,
    /// Follow for at most this time (30, 30s, 5m)
    #[arg(long, value_name = "TIME", requires = "follow", value_parser = units::duration)]
    wait: Option<Duration>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let query = Query::Tail(args.lines);
    if !args.follow {
        return context.answer(&args.handle, &query);
    }
    let output = context.open(&args.handle)?;
    let whole = context.settings.excerpt_budget();
    let budget = Budget {
        tokens: whole.tokens.saturating_sub(LAST_LINE.tokens).max(Budget::LEAST.tokens),
        bytes: whole.bytes.saturating_sub(LAST_LINE.bytes).max(Budget::LEAST.bytes),
        ..whole
    };
    let excerpt = forebay::excerpt(&output, &query, budget)?;
    // New output continues where this answer ends, possibly within a line.
    let open_line =
        output.is_growing() && !output.is_empty() && output.read(output.len() - 1..output.len())? != b"\n";
    print::out(if open_line {
        excerpt.text.strip_suffix(b"\n").unwrap_or(&excerpt.text)
    } else {
        &excerpt.text
    })?;
    let handle = output.record().handle.clone();
    let spent =
        Budget { tokens: tokens::count_bytes(&excerpt.text), bytes: excerpt.text.len() as u64, lines: None };
    let before = if io::stdout().is_terminal() {
        Budget { tokens: u64::MAX, bytes: u64::MAX, lines: None }
    } else {
        Budget {
            tokens: budget.tokens.saturating_sub(spent.tokens),
            bytes: budget.bytes.saturating_sub(spent.bytes),
            lines: None,
        }
    };
    let until = args.wait.and_then(|wait| Instant::now().checked_add(wait));
    let mut left = before;
    let last = follow(context, &handle, (output.len(), open_line), &mut left, until);
    // Followed lines count as read.
    let arguments =
        Map::from_iter([("follow".to_owned(), true.into()), ("lines".to_owned(), args.lines.into())]);
    let mut answered = Answered::text(handle.id(), "tail", arguments, whole, "");
    answered.length = output.len();
    answered.bytes = spent.bytes + (before.bytes - left.bytes);
    answered.tokens = spent.tokens + (before.tokens - left.tokens);
    context.outputs(&args.handle)?.record_answer(answered);
    print::out(last?.as_bytes())?;
    Ok(ExitCode::from(DONE))
}

/// Budget of the line with the reason why following ended.
const LAST_LINE: Budget = Budget { tokens: 60, bytes: 300, lines: None };

/// Prints new bytes; returns the line with the reason why following ended.
fn follow(
    context: &Context,
    handle: &Handle,
    (mut at, mut open_line): (u64, bool),
    left: &mut Budget,
    until: Option<Instant>,
) -> Result<String, CliError> {
    loop {
        let output = context.store().open(handle)?;
        while at < output.len() {
            let block = output.read(at..output.len().min(at + 1_024))?;
            let cost = tokens::count_bytes(&block);
            if cost > left.tokens || block.len() as u64 > left.bytes {
                let next = context.surface.call(handle, &Query::Bytes(vec![at..output.len()]));
                return Ok(format!("\n[the budget is used up; next: {next}]\n"));
            }
            *left =
                Budget { tokens: left.tokens - cost, bytes: left.bytes - block.len() as u64, lines: None };
            if !print::is_read(&block)? {
                return Ok(String::new());
            }
            at += block.len() as u64;
            open_line = true;
        }
        if !output.is_growing() {
            let exit = output.record().exit.map_or(String::new(), |exit| format!(", {exit}"));
            let open = open_line && output.read(output.len().max(1) - 1..output.len())? != b"\n";
            return Ok(format!("{}[end of {}{exit}]\n", if open { "\n" } else { "" }, handle.short()));
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            let next = context.surface.call(handle, &Query::Tail(20));
            return Ok(format!("[still growing; next: {next} --follow]\n"));
        }
        thread::sleep(Duration::from_millis(50));
    }
}
