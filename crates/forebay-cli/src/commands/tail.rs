//! `forebay tail`: the last lines of an output, and what comes after them while it grows.

use super::{Context, Outcome};
use crate::error::DONE;
use crate::print;
use forebay::{Handle, Query, Result, tokens};
use std::{
    io::{self, IsTerminal},
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

/// Read the last lines of an output, or follow it while it grows.
///
/// Following ends when the output does, when the time is over, or, unless a terminal is reading, when the budget is
/// used up; then the last line says how to go on.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay tail HANDLE -n 50
  forebay tail HANDLE --follow --wait 30")]
pub(crate) struct Args {
    /// The output
    handle: String,
    /// How many lines
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    lines: u64,
    /// Go on with what comes while the output grows
    #[arg(short, long, conflicts_with = "json")]
    follow: bool,
    /// Follow for at most this many seconds
    #[arg(long, value_name = "SECONDS", requires = "follow")]
    wait: Option<f64>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let query = Query::Tail(args.lines);
    if !args.follow {
        return context.answer(&args.handle, &query);
    }
    let output = context.open(&args.handle)?;
    let budget = context.settings.excerpt_budget();
    let excerpt = forebay::excerpt(&output, &query, budget)?;
    // What comes next goes on where this stops, inside a line too.
    let open_line =
        output.is_growing() && output.read(excerpt.bytes.clone())?.last().is_some_and(|&byte| byte != b'\n');
    print::out(if open_line {
        excerpt.text.strip_suffix(b"\n").unwrap_or(&excerpt.text)
    } else {
        &excerpt.text
    })?;
    let handle = output.record().handle.clone();
    if !output.is_growing() {
        return Ok(ExitCode::from(DONE));
    }
    let left = match io::stdout().is_terminal() {
        true => u64::MAX,
        false => budget.tokens.saturating_sub(tokens::count_bytes(&excerpt.text)),
    };
    let until = args
        .wait
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .map(|wait| Instant::now() + wait);
    let last = follow(context, &handle, output.len(), left, until)?;
    print::out(last.as_bytes())?;
    Ok(ExitCode::from(DONE))
}

/// Prints what comes; returns the line that says why it stopped.
fn follow(
    context: &Context,
    handle: &Handle,
    mut at: u64,
    mut left: u64,
    until: Option<Instant>,
) -> Result<String> {
    // What the last line itself may cost.
    const LAST_LINE: u64 = 60;
    let short = handle.short();
    loop {
        let output = context.store().open(handle)?;
        while at < output.len() {
            let block = output.read(at..output.len().min(at + 4_096))?;
            let cost = tokens::count_bytes(&block);
            if cost + LAST_LINE > left {
                return Ok(format!(
                    "\n[the budget is used up; next: forebay read {short} --bytes {at}:{}]\n",
                    output.len()
                ));
            }
            left -= cost;
            if print::out(&block).is_err() {
                return Ok(String::new());
            }
            at += block.len() as u64;
        }
        if !output.is_growing() {
            let exit = output.record().exit.map_or(String::new(), |exit| format!(", {exit}"));
            let open = !output.is_empty() && output.read(output.len() - 1..output.len())? != b"\n";
            return Ok(format!("{}[end of {short}{exit}]\n", if open { "\n" } else { "" }));
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return Ok(format!("[still growing; next: forebay tail {short} --follow]\n"));
        }
        thread::sleep(Duration::from_millis(50));
    }
}
