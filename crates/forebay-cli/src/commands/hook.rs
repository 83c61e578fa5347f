//! `forebay hook`: the command that an agent program runs after a tool. Its answer replaces the tool's result.
//!
//! On any error, the host keeps its own result, the exit status is 0, and the cause is logged as an event of the
//! session.

use crate::args::{Calls, Common};
use crate::commands::clean;
use crate::context::{Context, random};
use crate::error::{CliError, DONE};
use crate::fallback;
use crate::hosts::{self, Heard, Hooked, Host, ToolResult, UNFOLDED, Whole};
use crate::print;
use crate::settings::{Layers, OnProblem};
use forebay::tokens::count;
use forebay::{
    Call, DiskStore, End, Exit, Output, Session, Settings, Store, Stream, Surface, Timestamp, Writer,
};
use serde_json::{Value, json};
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::DirBuilderExt;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

/// Answer an agent's hook: keep a tool's result and show a view of it.
///
/// `forebay init` registers this command with an agent, which runs it after each tool with an event on standard input. The
/// result is stored. If it does not fit, the answer puts a view in its place; otherwise nothing is printed. The exit
/// status is always 0.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay hook claude-code < event.json    what a hook of Claude Code answers to this event
  forebay doctor                           whether the hooks that are registered work")]
pub(crate) struct Args {
    /// Agent that sends the event: claude-code, codex, gemini-cli, opencode, copilot or cursor
    #[arg(value_name = "HOST")]
    host: String,
}

/// Maximum bytes of an event. Hosts put large results into files; a larger event is left unchanged.
const LARGEST: u64 = 256 * 1024 * 1024;

/// Bytes of an answer besides the view.
const AROUND: u64 = 512;

/// Time to wait until a host has written the rest of a file; it does so while the hook starts.
const PATIENCE: Duration = Duration::from_secs(2);

/// Pause between two checks of such a file.
const PAUSE: Duration = Duration::from_millis(10);

/// Beginnings of a view. A view is not folded again.
const VIEWS: [&str; 2] = ["[forebay view of ", "[view of "];

/// Runs the hook. Errors become events.
pub(crate) fn run(args: &Args, common: &Common) -> ExitCode {
    // The host has no use for the text of a panic.
    panic::set_hook(Box::new(|_| {}));
    let answered = panic::catch_unwind(AssertUnwindSafe(|| answer(args, common)));
    if answered.is_err() {
        note(common, None, &args.host, "the hook panicked");
    }
    ExitCode::from(DONE)
}

fn answer(args: &Args, common: &Common) {
    if hosts::is_off() {
        return;
    }
    let noted = |why: &str| note(common, None, &args.host, why);
    let Some((host, hooked)) = hosts::find(&args.host).and_then(|host| Some((host, host.hooked()?))) else {
        return noted("there is no hook for a host of this name");
    };
    let mut event = Vec::new();
    if let Err(error) = io::stdin().lock().take(LARGEST).read_to_end(&mut event) {
        return noted(&format!("the event cannot be read: {error}"));
    }
    let event: Value = match serde_json::from_slice(&event) {
        Ok(event) => event,
        Err(error) => return noted(&format!("the event is not JSON: {error}")),
    };
    let result = match (hooked.hear)(&event) {
        Heard::Nothing => return,
        Heard::Refused(answer) => {
            let _ = print::json(&answer);
            return;
        }
        Heard::Unknown(field) => {
            return noted(&format!("the event has another form than that of {}: {field}", host.title));
        }
        Heard::Result(result) => *result,
    };
    let mut prepared = match prepare(common, Some(&result.session)) {
        Ok(prepared) => prepared,
        Err(Failure { context, why }) => return note(common, context.as_deref(), &args.host, &why),
    };
    let unfolded = hosts::text(&result.args, "command").is_some();
    prepared.name_calls(hosts::program_in(host), unfolded);
    if let Some(shown) = &result.shown {
        prepared.set_baseline(count(shown));
    }
    let context = prepared.context;
    match view(&context, host, hooked, &result) {
        Ok(Some(view)) => {
            let _ = print::json(&(hooked.answer)(&event, &view));
        }
        Ok(None) => {}
        Err(why) => note(common, Some(&context), &args.host, &why.to_string()),
    }
    clean::now_and_then(&context);
}

/// Settings and store for the results of a host.
pub(crate) struct Prepared {
    pub(crate) context: Context,
    /// Flags that every command in a view needs.
    flags: String,
    /// Whether the user has set a baseline for savings.
    is_baseline_set: bool,
}

/// Why the host keeps its own result, and the session in which that is logged, if known.
pub(crate) struct Failure {
    pub(crate) context: Option<Box<Context>>,
    pub(crate) why: String,
}

/// Reads settings and store for a host's session, or for that of the environment. With invalid settings the host
/// keeps its own result, because they may exempt the tool.
pub(crate) fn prepare(common: &Common, session: Option<&str>) -> Result<Prepared, Failure> {
    let cannot = |error: CliError| Failure { context: None, why: error.to_string() };
    let mut layers = Layers::gather(common, None, None, OnProblem::GoOn).map_err(cannot)?;
    let problems: Vec<String> = layers.problems.drain(..).map(|problem| problem.error.to_string()).collect();
    let is_baseline_set = layers.is_set(&["host", "shown_tokens"]);
    let flags = layers.root_flags();
    let mut context = Context::new(layers, common, Calls::Shell, OnProblem::GoOn).map_err(cannot)?;
    if let Some(session) = session.filter(|_| !context.session_is_set) {
        context.session = Session::safe(session);
    }
    if !problems.is_empty() {
        let why = format!("the settings are wrong: {}", problems.join("; "));
        return Err(Failure { context: Some(Box::new(context)), why });
    }
    if let Some(why) = context.keep_elsewhere() {
        note(common, Some(&context), "store", why.trim_end());
    } else {
        fallback::take_in(context.store.root());
    }
    if let Err(error) = context.can_keep() {
        return Err(Failure { context: Some(Box::new(context)), why: error.to_string() });
    }
    let mut prepared = Prepared { context, flags, is_baseline_set };
    // Unless we know that a host cuts outputs, we assume that it shows all of them.
    prepared.set_baseline(u64::MAX);
    Ok(prepared)
}

impl Prepared {
    /// Sets the tokens that the host would show without Forebay.
    pub(crate) fn set_baseline(&mut self, tokens: u64) {
        if !self.is_baseline_set {
            self.context.settings.host.shown_tokens = tokens;
        }
    }

    /// Makes views name calls of this program. With `unfolded` they also name the word that shows a command's result
    /// whole.
    pub(crate) fn name_calls(&mut self, program: String, unfolded: bool) {
        self.context.surface = Surface::Shell {
            program,
            flags: self.flags.clone(),
            unfolded: unfolded.then(|| UNFOLDED.to_owned()),
        };
    }
}

/// Stores a result. Returns the view that replaces it if it does not fit.
fn view(
    context: &Context,
    host: &Host,
    hooked: &Hooked,
    result: &ToolResult,
) -> Result<Option<String>, CliError> {
    if context.settings.is_off() {
        return Ok(None);
    }
    let command = hosts::text(&result.args, "command").unwrap_or_default();
    // Our own commands print bounded answers, or whole ones on request. A text that was read never becomes an output
    // again.
    if hosts::calls_us(command) || is_view(&result.whole) {
        return Ok(None);
    }
    let mut settings = context.settings.clone();
    if hosts::asks_for_all(command) {
        settings.bypass.push("*".to_owned());
    }
    let output = keep(context, result)?;
    if let Some(lost) = &output.record().lost {
        let why =
            format!("{} bytes of a result of {} could not be kept: {}", lost.bytes, host.title, lost.why);
        return Err(CliError::not_there(why));
    }
    fit(&mut settings, result.most_bytes.unwrap_or(hooked.most_bytes), &output, result);
    let reply = context.session_outputs().reply(&output.on(&context.surface), &settings)?;
    let view = reply.folded.map(|folded| String::from_utf8_lossy(&folded.text).into_owned());
    Ok(view.filter(|view| Some(view) != result.shown.as_ref()))
}

/// Adapts limits and budget to what the host passes whole. A result that the host cuts is always folded.
fn fit(settings: &mut Settings, most_bytes: u64, output: &Output, result: &ToolResult) {
    let digest = &mut settings.digest;
    if let Some(tokens) = result.most_tokens {
        digest.tokens = digest.tokens.max(tokens);
        // An edit must quote the file exactly.
        digest.compact_from = 0;
    }
    if result.shown.is_some() || output.len() > most_bytes {
        digest.tokens = 1;
        digest.tools.clear();
    }
    digest.budget.bytes = digest.budget.bytes.min(most_bytes.saturating_sub(AROUND));
}

/// Stores the whole output under the host's id for the call.
fn keep(context: &Context, result: &ToolResult) -> Result<Output, CliError> {
    let id = match result.call.clone().filter(|id| !id.is_empty()) {
        Some(id) => id,
        None => forebay::fresh_id(random()?),
    };
    let mut call = Call::new(context.session.clone(), id, &result.tool, Timestamp::now());
    call.server = result.server.clone();
    call.args = (!result.args.is_null()).then(|| result.args.to_string());
    let mut cut_short = None;
    let file = match &result.whole {
        Whole::File(path) => Some(opened(path)?),
        Whole::Unfinished { path, end } => {
            let mut file = opened(path)?;
            if !is_finished(&mut file, end)? {
                cut_short = Some("its file was not complete when Forebay read it".to_owned());
            }
            Some(file)
        }
        Whole::Text { .. } | Whole::Cut { .. } => None,
    };
    let mut writer = Writer::begin(context.store(), &call);
    match &result.whole {
        Whole::Text { stdout, stderr } => {
            writer.write(Stream::Stdout, stdout.as_bytes());
            if !stderr.is_empty() && !stdout.is_empty() && !stdout.ends_with('\n') {
                writer.write(Stream::Stdout, b"\n");
            }
            writer.write(Stream::Stderr, stderr.as_bytes());
        }
        Whole::Cut { text, why } => {
            writer.write(Stream::Stdout, text.as_bytes());
            cut_short = Some(why.clone());
        }
        Whole::File(_) | Whole::Unfinished { .. } => {}
    }
    if let Some(mut file) = file {
        while writer.read_from(Stream::Stdout, &mut file)? > 0 {}
    }
    let exit = result.exit.map(Exit::Code);
    Ok(writer.finish(End { exit, cut_short, at: Some(Timestamp::now()) }))
}

fn opened(path: &Path) -> Result<File, CliError> {
    let cannot =
        |error| CliError::not_there(format!("the host's file {} cannot be read: {error}", path.display()));
    let file = File::open(path).map_err(cannot)?;
    if file.metadata().map_err(cannot)?.is_file() {
        Ok(file)
    } else {
        Err(CliError::not_there(format!("{} is not a file", path.display())))
    }
}

/// Waits until a file ends with the expected bytes; returns whether it does. The file is then read from its start.
fn is_finished(file: &mut File, end: &str) -> io::Result<bool> {
    let started = Instant::now();
    let mut last = vec![0; end.len()];
    loop {
        let length = file.metadata()?.len();
        let mut is_finished = false;
        if let Some(at) = length.checked_sub(end.len() as u64) {
            file.seek(SeekFrom::Start(at))?;
            file.read_exact(&mut last)?;
            is_finished = last == end.as_bytes();
        }
        if is_finished || started.elapsed() > PATIENCE {
            file.seek(SeekFrom::Start(0))?;
            return Ok(is_finished);
        }
        thread::sleep(PAUSE);
    }
}

fn is_view(whole: &Whole) -> bool {
    match whole {
        Whole::Text { stdout, .. } => VIEWS.iter().any(|start| stdout.starts_with(start)),
        Whole::Cut { text, .. } => VIEWS.iter().any(|start| text.starts_with(start)),
        Whole::File(_) | Whole::Unfinished { .. } => false,
    }
}

/// Logs why the host keeps its own result, in the host's session or, if unknown, in that of the environment.
pub(crate) fn note(common: &Common, context: Option<&Context>, host: &str, why: &str) {
    let event = json!({
        "event": "fell-back", "id": "", "from": format!("{FROM}{host}"), "to": "the host's own result", "why": why,
        "at": Timestamp::now(),
    });
    let Ok(line) = serde_json::to_vec(&event) else { return };
    let own;
    let context = match context {
        Some(context) => context,
        None => {
            own = Layers::gather(common, None, None, OnProblem::GoOn)
                .and_then(|layers| Context::new(layers, common, Calls::Shell, OnProblem::GoOn));
            match &own {
                Ok(context) => context,
                Err(_) => return,
            }
        }
    };
    // If the root is not writable, the fallback may be.
    if logged(&context.store, &context.session, &line).is_err()
        && let Ok(folder) = fallback::make(context.store.root())
    {
        let _ = logged(&DiskStore::new(folder), &context.session, &line);
    }
}

/// Logs an event, and creates the folder that makes a session without outputs appear in lists.
fn logged(store: &DiskStore, session: &Session, line: &[u8]) -> Result<(), CliError> {
    store.log(session, line)?;
    let folder = store.root().join(session.as_str()).join("tool");
    Ok(DirBuilder::new().recursive(true).mode(0o700).create(folder)?)
}

/// Beginning of the `from` of such an event.
pub(crate) const FROM: &str = "hook ";
