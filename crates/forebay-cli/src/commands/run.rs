//! `forebay run`: runs a command, stores all its output, and prints the view.

use crate::args::{CallArgs, Shown, Waits};
use crate::capture::{NotStarted, Pipes, Running};
use crate::commands::{clean, hold};
use crate::context::{Context, Outcome};
use crate::error::{CliError, DONE};
use crate::launch::Launch;
use crate::launch::run_bare;
use crate::print::{self, grouped};
use crate::progress::fresh_line;
use crate::pty::Pty;
use crate::screen::Screen;
use crate::units;
use forebay::{End, Output, Query, Timestamp, Writer, shell_word};
use std::{
    ffi::OsString,
    io::{self, IsTerminal},
    process::{Command, ExitCode},
    time::Duration,
};

/// Run a command, store its output and print a view of it.
///
/// The exit status is the command's own: 128 plus the signal's number if a signal ended it, 127 if it was not found, 126 if
/// it cannot be executed, 124 after a timeout, 1 if it succeeded but its output was not shared within the time of --wait. A small output is written unchanged to the streams it came from.
///
/// The command stays in the process group of its caller, and on Linux it ends when forebay is killed. Signals are passed on
/// to it. If its output cannot be captured, the command runs anyway, with the streams of forebay.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay run -- cargo test
  forebay run --budget 800 -- sh -c 'make 2>&1 | tee build.log'
  forebay run --timeout 90s --preset head-tail -- pytest -x
  forebay run --pty -- npm create vite         with colours, prompts and progress bars
  forebay run --json -- git log | jq .size")]
pub(crate) struct Args {
    #[command(flatten)]
    call: CallArgs,
    #[command(flatten)]
    pub(crate) shown: Shown,
    /// End the command after this time (90, 90s, 5m, 1h), and store what it printed
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    timeout: Option<Duration>,
    /// Run the command on a pseudo-terminal, which merges its two streams
    #[arg(long)]
    pty: bool,
    #[command(flatten)]
    waits: Waits,
    /// Command and its arguments
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
    let mut call = context.call(args.call, "run_command", Some(call_args))?;
    call.terminal = true;

    if let Err(error) = context.can_keep() {
        return Err(run_bare(Command::new(program).args(rest), &error));
    }
    let pty = args.pty.then(Pty::open).and_then(|pty| {
        let told = |error| print::err(&format!("forebay: the command gets no pseudo-terminal: {error}\n"));
        pty.map_err(told).ok()
    });
    let mut screen = Screen::new(pty.as_ref().is_some_and(|pty| pty.keyboard.is_some()));
    let launch = Launch { program, arguments: rest, on_terminal: pty.is_some() };
    let running = match Running::start(&launch, pty) {
        Ok(running) => running,
        Err(NotStarted::Command(error)) => return Err(CliError::cannot_run(program, &error)),
        Err(NotStarted::Capture(error)) => {
            let no_limit = if args.timeout.is_some() { " and has no time limit" } else { "" };
            print::err(&format!("forebay: the output is not kept{no_limit}: {error}\n"));
            return Err(CliError::cannot_run(program, &launch.execute()));
        }
    };
    clean::now_and_then(context);
    let mut writer = Writer::begin(context.store(), &call);
    let ended = running.capture(&mut writer, args.timeout, &mut screen)?;
    screen.clear();
    let cut_short = ended.timed_out.then(|| {
        let seconds = args.timeout.unwrap_or_default().as_secs_f64();
        format!("the command was ended after {seconds} s")
    });
    let end = End { exit: Some(ended.exit), cut_short, at: Some(Timestamp::now()) };
    let held = ended.held.filter(|_| !ended.timed_out);
    // Even if printing fails, the exit status is that of the command.
    let is_seen = screen.is_live && io::stdout().is_terminal() && !context.json;
    let answered = answer(writer, held, end, is_seen, context);
    let output = answered.map_err(|error| print::error(&error)).ok();
    let status =
        if ended.timed_out { TIMED_OUT } else { u8::try_from(ended.exit.status() & 0xff).unwrap_or(1) };
    if let (Some(output), Some(patience)) = (output, args.waits.wait)
        && let Err(error) = context.wait_until_shared(&output, patience)
    {
        let not_shared = print::error(&error);
        return Ok(if status == DONE { not_shared } else { ExitCode::from(status) });
    }
    Ok(ExitCode::from(status))
}

/// Ends the output, or passes it to a separate process, and prints the model's view. If the output was already on the
/// screen, prints only its handle. Returns the output.
fn answer(
    writer: Writer<'_>,
    held: Option<Pipes>,
    end: End,
    is_seen: bool,
    context: &Context,
) -> Result<Output, CliError> {
    let output = match held {
        Some(pipes) => hold::leave(writer, pipes, end, context),
        None => writer.finish(end),
    }
    .on(&context.surface);
    if is_seen {
        let (handle, lines) = (&output.record().handle, grouped(output.lines()?));
        print::err(&format!("{}forebay: {lines} lines kept as {handle}\n", fresh_line()));
    } else {
        let reply = context.session_outputs().reply(&output, &context.settings)?;
        context.give(context.store(), &output, &reply)?;
    }
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
    Ok(output)
}
