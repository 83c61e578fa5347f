//! `forebay shell`: runs in place of the shell of Claude Code, below its permission rules, and folds the output of
//! failing commands.
//!
//! The command runs as without Forebay: with the same line, environment and streams. The host gives it a file for its
//! output, and reads that file after the command has ended. So nothing delays the output while the command runs, and
//! a view replaces the file's contents at the end. The output of a successful command is left to the hook, which
//! knows the call's id.

use crate::args::Common;
use crate::capture::Running;
use crate::commands::hook::{Failure, Prepared, note, prepare};
use crate::context::random;
use crate::error::CliError;
use crate::hosts;
use crate::hosts::claude_code::{self, command_of};
use crate::print;
use forebay::tokens::count_bytes;
use forebay::{Call, End, Exit, Stream, Timestamp, Writer};
use serde_json::json;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Run a line of the shell for Claude Code, and fold the output of a command that fails.
///
/// `forebay init claude-code` registers this command as CLAUDE_CODE_SHELL_PREFIX. The line runs unchanged, with its
/// environment, its streams and its exit status. Lines that are not a tool's (hooks, starts of MCP servers) run without
/// Forebay.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Line for the shell
    #[arg(value_name = "LINE", allow_hyphen_values = true)]
    line: OsString,
}

/// Characters of a failed command's output that the host shows from the start, and again from the end of the first
/// `READ` characters.
const SHOWN: usize = 5_000;

/// Characters of a failed command's output that the host reads.
const READ: usize = 30_000;

/// Maximum bytes of a view that the host shows whole.
const MOST_BYTES: u64 = 9_500;

pub(crate) fn run(args: &Args, common: &Common) -> ExitCode {
    let mut shell = Command::new(shell_for(&args.line.to_string_lossy()));
    shell.arg("-c").arg(&args.line);
    let output = OutputFile::of_stdout().filter(|_| is_tool() && !hosts::is_off());
    let Some(output) = output else { return become_it(&mut shell) };
    let running = match Running::beside(&mut shell) {
        Ok(running) => running,
        Err(_) => return become_it(&mut shell),
    };
    let exit = match running.wait() {
        Ok(exit) => exit,
        Err(error) => return print::error(&CliError::from(error)),
    };
    if exit != Exit::Code(0)
        && let Err(Failure { context, why }) = fold(&args.line, &output, exit, common)
    {
        note(common, context.as_deref(), claude_code::HOST.name, &why);
    }
    ExitCode::from(u8::try_from(exit.status() & 0xff).unwrap_or(1))
}

/// Becomes the shell, because Forebay does not handle this line.
fn become_it(shell: &mut Command) -> ExitCode {
    let error = shell.exec();
    print::error(&CliError::cannot_run(shell.get_program(), &error))
}

/// Whether the line comes from a tool. The host uses the prefix for hooks and for starting MCP servers too.
fn is_tool() -> bool {
    env::var("AI_AGENT").is_ok_and(|agent| agent.ends_with("_agent"))
        && env::var_os("CLAUDE_PROJECT_DIR").is_none()
}

/// The shell for which the host made the line: that of its snapshot.
fn shell_for(line: &str) -> &'static str {
    if line.contains("/snapshot-zsh-") {
        "zsh"
    } else if line.contains("/snapshot-bash-") || is_tool() {
        "bash"
    } else {
        "/bin/sh"
    }
}

/// The file that standard output is connected to, and the command's output in it.
struct OutputFile {
    path: PathBuf,
    start: u64,
}

impl OutputFile {
    /// The file, if standard output is a file.
    fn of_stdout() -> Option<OutputFile> {
        let file = stdout().ok()?;
        let found = file.metadata().ok()?;
        let path = path_of(&file)?;
        found.is_file().then_some(OutputFile { path, start: found.len() })
    }

    /// Opens the file at the start of the command's output.
    fn open(&self) -> io::Result<File> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.start))?;
        Ok(file)
    }

    /// Replaces the command's output by a text.
    fn replace(&self, text: &[u8]) -> io::Result<()> {
        let mut file = stdout()?;
        file.set_len(self.start)?;
        // All writers share the position. A file opened for appending has none.
        file.seek(SeekFrom::Start(self.start))?;
        file.write_all(text)
    }
}

fn stdout() -> io::Result<File> {
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(target_os = "linux")]
fn path_of(_: &File) -> Option<PathBuf> {
    Some(PathBuf::from("/proc/self/fd/1"))
}

#[cfg(not(target_os = "linux"))]
fn path_of(file: &File) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let path = rustix::fs::getpath(file).ok()?;
    Some(PathBuf::from(OsString::from_vec(path.into_bytes())))
}

/// Stores the output of a failed command, and replaces it by a view if it does not fit.
fn fold(line: &OsStr, file: &OutputFile, exit: Exit, common: &Common) -> Result<(), Failure> {
    let command = command_of(&line.to_string_lossy());
    if hosts::calls_us(&command) {
        return Ok(());
    }
    let mut prepared = prepare(common, None)?;
    if prepared.context.settings.is_off() {
        return Ok(());
    }
    prepared.name_calls(hosts::program_in(&claude_code::HOST), true);
    if hosts::asks_for_all(&command) {
        prepared.context.settings.bypass.push("*".to_owned());
    }
    match replace(&mut prepared, &command, file, exit) {
        Ok(()) => Ok(()),
        Err(error) => Err(Failure { context: Some(Box::new(prepared.context)), why: error.to_string() }),
    }
}

fn replace(prepared: &mut Prepared, command: &str, file: &OutputFile, exit: Exit) -> Result<(), CliError> {
    let shown = shown_tokens(&mut file.open()?)?;
    prepared.set_baseline(shown);
    let context = &mut prepared.context;
    let mut call = Call::new(context.session.clone(), forebay::fresh_id(random()?), "Bash", Timestamp::now());
    call.args = Some(json!({ "command": command }).to_string());
    let mut source = file.open()?;
    let mut writer = Writer::begin(context.store(), &call);
    while writer.read_from(Stream::Stdout, &mut source)? > 0 {}
    let bytes = writer.bytes();
    let output = writer.finish(End { exit: Some(exit), cut_short: None, at: Some(Timestamp::now()) });
    if let Some(lost) = &output.record().lost {
        let why = format!("{} bytes of a command's output could not be kept: {}", lost.bytes, lost.why);
        return Err(CliError::not_there(why));
    }
    let digest = &mut context.settings.digest;
    if output.record().size.characters > 2 * SHOWN as u64 {
        digest.tokens = 1;
        digest.tools.clear();
    }
    digest.budget.bytes = digest.budget.bytes.min(MOST_BYTES);
    let reply = context.session_outputs().reply(&output.on(&context.surface), &context.settings)?;
    let Some(folded) = reply.folded else { return Ok(()) };
    // A background process may still write. Its output must then stay where the host reads it.
    let now = file.open()?.metadata()?.len();
    if now != file.start + bytes {
        return Err(CliError::not_there("the output still grew when its view was made"));
    }
    Ok(file.replace(&folded.text)?)
}

/// Tokens of an output that the host would show.
fn shown_tokens(file: &mut File) -> io::Result<u64> {
    let mut text = Vec::new();
    file.take(4 * READ as u64).read_to_end(&mut text)?;
    let text: Vec<char> = String::from_utf8_lossy(&text).chars().take(READ).collect();
    if text.len() <= 2 * SHOWN {
        return Ok(u64::MAX);
    }
    let shown: String = text[..SHOWN].iter().chain(&text[text.len() - SHOWN..]).collect();
    Ok(count_bytes(shown.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_runs_in_the_shell_it_was_made_for() {
        let table = [
            ("source /h/.claude/shell-snapshots/snapshot-zsh-1-x.sh && eval ls", "zsh"),
            ("source /h/.claude/shell-snapshots/snapshot-bash-1-x.sh && eval ls", "bash"),
            ("npx some-server", "/bin/sh"),
        ];
        for (line, shell) in table {
            assert_eq!(shell_for(line), shell, "{line}");
        }
    }
}
