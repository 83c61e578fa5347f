//! `forebay run`: run a command, keep all it prints, print the view.

use super::{Context, Outcome, hold};
use crate::args::{CallArgs, Shown};
use crate::capture::{Pipes, Running};
use crate::error::CliError;
use crate::print;
use crate::progress::Progress;
use forebay::{End, Query, Timestamp, Writer, shell_word};
use std::{
    ffi::OsString,
    io,
    process::{Command, ExitCode},
    time::Duration,
};

/// Run a command, keep all it prints, print the view.
///
/// The exit status is the command's own: 128 and the signal's number if a signal ended it, 127 if it was not found,
/// 124 after a timeout. A small output goes to the streams it came from, byte for byte.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay run -- cargo test
  forebay run --budget 800 -- sh -c 'make 2>&1 | tee build.log'
  forebay run --timeout 90s --preset head-tail -- pytest -x
  forebay run --json -- git log | jq .size")]
pub(crate) struct Args {
    #[command(flatten)]
    call: CallArgs,
    #[command(flatten)]
    pub(crate) shown: Shown,
    /// End the command after this long (90, 90s, 5m, 1h); what it printed is kept
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    timeout: Option<Duration>,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// The status of `timeout` from coreutils.
const TIMED_OUT: u8 = 124;

pub(crate) fn run(args: Args, context: &Context) -> Outcome {
    let [program, rest @ ..] = &args.command[..] else {
        return Err(CliError::usage("no command to run"));
    };
    let words: Vec<String> = args.command.iter().map(|word| shell_word(&word.to_string_lossy())).collect();
    let call_args = serde_json::json!({ "command": words.join(" ") }).to_string();
    let call = forebay::Call { terminal: true, ..context.call(args.call, "run_command", Some(call_args))? };

    let running = Running::start(Command::new(program).args(rest)).map_err(|error| {
        let code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
        CliError::not_run(format!("cannot run {}: {error}", program.to_string_lossy()), code)
    })?;
    let mut writer = context.store().begin(&call);
    let mut progress = Progress::new();
    let ended = running.capture(&mut writer, args.timeout, |bytes, lines| progress.show(bytes, lines))?;
    progress.clear();
    let cut_short = ended.timed_out.then(|| {
        let seconds = args.timeout.unwrap_or_default().as_secs_f64();
        format!("the command was ended after {seconds} s")
    });
    let end = End { exit: Some(ended.exit), cut_short, at: Some(Timestamp::now()) };
    let held = ended.held.filter(|_| !ended.timed_out);
    // Whatever becomes of the answer, the status is the command's.
    if let Err(error) = answer(writer, held, end, context) {
        error.report();
    }
    Ok(match ended.timed_out {
        true => ExitCode::from(TIMED_OUT),
        false => ExitCode::from(u8::try_from(ended.exit.status() & 0xff).unwrap_or(1)),
    })
}

/// Ends the output, or leaves it to a process of its own, and prints what the model gets.
fn answer(writer: Writer<'_>, held: Option<Pipes>, end: End, context: &Context) -> Result<(), CliError> {
    let output = match held {
        Some(pipes) => hold::leave(writer, pipes, end, context)?,
        None => writer.finish(end),
    }
    .on(&context.surface);
    let reply = context.session_outputs().reply(&output, &context.settings)?;
    context.give(&output, &reply)?;
    if output.is_growing() && !context.json {
        let tail = context.surface.call(&output.record().handle, &Query::Tail(20));
        print::err(&format!(
            "forebay: a process in the background still has the output open; what it says is kept: \
             {tail} --follow\n"
        ));
    }
    if let Some(lost) = &output.record().lost {
        print::err(&format!("forebay: {} bytes of the output could not be kept: {}\n", lost.bytes, lost.why));
    }
    Ok(())
}

pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a time: write 90, 90s, 5m or 1h");
    let (number, factor) = match text.char_indices().last() {
        Some((at, 's')) => (&text[..at], 1.0),
        Some((at, 'm')) => (&text[..at], 60.0),
        Some((at, 'h')) => (&text[..at], 3600.0),
        _ => (text, 1.0),
    };
    let seconds: f64 = number.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(seconds * factor).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let table = [("90", 90.0), ("1.5s", 1.5), ("5m", 300.0), ("1h", 3600.0)];
        for (text, seconds) in table {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in ["", "x", "-1", "5 parsecs", "1e400"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
