//! The agent programs that Forebay supports, one file each: the events that their hooks send, the answers that they
//! accept, and the entries in their settings.
//!
//! Only these files know a host's JSON. No command is ever rewritten: a user's rule is matched against the command
//! that runs, so a rewritten command could evade a rule that denies it. Results are replaced after the tool ran.

pub(crate) mod claude_code;
pub(crate) mod codex;
pub(crate) mod copilot;
pub(crate) mod cursor;
pub(crate) mod entries;
pub(crate) mod gateway;
pub(crate) mod gemini_cli;
pub(crate) mod opencode;

use crate::client_file::{is_us, program, program_file};
use entries::{Entry, READS};
use serde_json::Value;
use std::env;
use std::path::{Path, PathBuf};

/// An agent program.
pub(crate) struct Host {
    /// Name on the command line.
    pub(crate) name: &'static str,
    /// Name as its vendor writes it.
    pub(crate) title: &'static str,
    /// Its executable.
    pub(crate) program: &'static str,
    /// Version that the tests run. Older versions are untested.
    pub(crate) checked: Option<&'static str>,
    /// How its results can be replaced.
    pub(crate) way: Way,
    /// Remarks that `init` prints and the documentation repeats, one line each.
    pub(crate) notes: &'static [&'static str],
    /// Folders in the home folder that only this host creates.
    pub(crate) traces: &'static [&'static str],
}

/// How the results of a host's tools can be replaced.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    /// By a hook.
    Hook(Hooked),
    /// Only in front of its MCP servers.
    Gateway,
}

/// Events, answers and registration of a host's hook.
#[derive(Clone, Copy)]
pub(crate) struct Hooked {
    /// Reads an event.
    pub(crate) hear: fn(&Value) -> Heard,
    /// Writes the answer that replaces the result by a view.
    pub(crate) answer: fn(&Value, &str) -> Value,
    /// Maximum bytes of an answer that the host passes whole.
    pub(crate) most_bytes: u64,
    /// Whether commands in its shell have the user's path.
    pub(crate) keeps_path: bool,
    /// Files to change, and our part in each.
    pub(crate) files: fn(&Place) -> Vec<HostFile>,
    /// Sample event with a large result, for `doctor`.
    pub(crate) sample: fn(&str) -> Value,
    /// View in an answer, for `doctor`.
    pub(crate) shown: fn(&Value) -> Option<&str>,
}

/// Where a hook is registered, and for which program.
pub(crate) struct Place {
    pub(crate) scope: Scope,
    /// The user's home folder.
    pub(crate) home: PathBuf,
    /// The folder for settings of programs: `~/.config` by default.
    pub(crate) config: PathBuf,
    /// Folder of the project.
    pub(crate) project: PathBuf,
    /// Path of this program.
    pub(crate) program: PathBuf,
    /// Word that starts this program in the host's shell.
    pub(crate) word: String,
    /// Whether commands that only read outputs are allowed without asking.
    pub(crate) allows_reads: bool,
}

/// Whose settings are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Scope {
    /// Those of the user, for all projects
    User,
    /// Those of the project in the current folder, for all who work on it
    Project,
}

/// A file of a host, and our part in it.
pub(crate) struct HostFile {
    pub(crate) path: PathBuf,
    /// Folder above it that is kept when our file is removed.
    pub(crate) top: PathBuf,
    pub(crate) part: Part,
}

/// Our part in a file.
pub(crate) enum Part {
    /// Entries in JSON settings.
    Entries(Vec<Entry>),
    /// The whole file.
    Whole(String),
    /// The whole file, which is executable.
    Program(String),
}

/// Meaning of an event.
pub(crate) enum Heard {
    /// An event without a result for Forebay.
    Nothing,
    /// A tool's result.
    Result(Box<ToolResult>),
    /// A call to refuse before it runs, with the answer.
    Refused(Value),
    /// An event whose named field has an unknown form.
    Unknown(&'static str),
}

/// Reason given when an edit that contains a mask is refused.
pub(crate) const MASK_IN_EDIT: &str = "the text has a mask of Forebay, such as [secret: …], which stands for a secret that you \
     were not shown. Nothing was written. Change other lines only, or ask the user to edit this one";

/// Whether the arguments of a call contain one of our masks.
pub(crate) fn has_mask(args: &Value) -> bool {
    let is_masked = |text: &str| {
        text.match_indices("[secret: ").any(|(at, _)| {
            let mask = text[at..].split_once(']').map_or("", |(mask, _)| mask);
            mask.rsplit_once('#').is_some_and(|(_, tag)| tag.len() == 4 && mask.len() < 200)
        })
    };
    match args {
        Value::String(text) => is_masked(text),
        Value::Array(values) => values.iter().any(has_mask),
        Value::Object(members) => members.values().any(has_mask),
        _ => false,
    }
}

/// Result of a tool, as reported by its host.
#[derive(Debug, PartialEq)]
pub(crate) struct ToolResult {
    /// The host's session. Sub-agents share that of their parent.
    pub(crate) session: String,
    /// The host's id of the call, if it has one.
    pub(crate) call: Option<String>,
    pub(crate) tool: String,
    pub(crate) server: Option<String>,
    pub(crate) args: Value,
    pub(crate) whole: Whole,
    pub(crate) exit: Option<i32>,
    /// Text that the host shows the model if nothing replaces the result; `None` if that is the whole output.
    pub(crate) shown: Option<String>,
    /// Maximum tokens of a result that passes, if different from the settings.
    pub(crate) most_tokens: Option<u64>,
    /// Maximum bytes of an answer that the host passes whole, if this tool has its own.
    pub(crate) most_bytes: Option<u64>,
}

/// Location of the whole output.
#[derive(Debug, PartialEq)]
pub(crate) enum Whole {
    /// The event, by stream.
    Text { stdout: String, stderr: String },
    /// A file.
    File(PathBuf),
    /// A file that the host may still be writing, and its expected last bytes.
    Unfinished { path: PathBuf, end: String },
    /// None: the host cut the output before the hook.
    Cut { text: String, why: String },
}

impl Whole {
    pub(crate) fn text(stdout: impl Into<String>) -> Whole {
        Whole::Text { stdout: stdout.into(), stderr: String::new() }
    }
}

/// Maximum tokens of a file that a model reads whole. Files are mostly read in order to edit them, so a file is
/// folded only above the tokens that hosts themselves show of an output.
pub(crate) const FILE_TOKENS: u64 = 10_000;

/// Word at the end of a command that shows its result unfolded. In a shell it begins a comment.
pub(crate) const UNFOLDED: &str = "#whole";

/// Variable that switches Forebay off, before a command or in the environment.
pub(crate) const OFF: &str = "FOREBAY_OFF";

/// All hosts.
pub(crate) const HOSTS: [&Host; 10] = [
    &claude_code::HOST,
    &codex::HOST,
    &gemini_cli::HOST,
    &opencode::HOST,
    &copilot::HOST,
    &cursor::HOST,
    &gateway::QWEN_CODE,
    &gateway::GOOSE,
    &gateway::CLINE,
    &gateway::VSCODE,
];

/// The host with this name.
pub(crate) fn find(name: &str) -> Option<&'static Host> {
    HOSTS.into_iter().find(|host| host.name == name)
}

impl Host {
    pub(crate) fn hooked(&self) -> Option<&Hooked> {
        match &self.way {
            Way::Hook(hooked) => Some(hooked),
            Way::Gateway => None,
        }
    }
}

impl Place {
    /// The command that a host runs as its hook. In a project's settings it must also work on other machines.
    pub(crate) fn hook_command(&self, host: &str) -> String {
        match self.scope {
            Scope::User => {
                format!("{} hook {host}", forebay::shell_word(&self.program.display().to_string()))
            }
            Scope::Project => format!("forebay hook {host}"),
        }
    }

    /// Base folder of the settings: the home folder, or the project.
    pub(crate) fn base(&self) -> &Path {
        match self.scope {
            Scope::User => &self.home,
            Scope::Project => &self.project,
        }
    }

    /// Commands that only read outputs, as prefixes for a host's rules.
    pub(crate) fn reads(&self) -> impl Iterator<Item = String> + '_ {
        READS.iter().filter(|_| self.allows_reads).map(|verb| format!("{} {verb}", self.word))
    }
}

impl HostFile {
    pub(crate) fn entries(path: PathBuf, top: &Path, entries: Vec<Entry>) -> HostFile {
        HostFile { path, top: top.to_owned(), part: Part::Entries(entries) }
    }

    pub(crate) fn program(path: PathBuf, top: &Path, text: String) -> HostFile {
        HostFile { path, top: top.to_owned(), part: Part::Program(text) }
    }

    pub(crate) fn whole(path: PathBuf, top: &Path, text: String) -> HostFile {
        HostFile { path, top: top.to_owned(), part: Part::Whole(text) }
    }
}

/// Variables that a host sets in its shell.
const SHELLS: [(&str, &Host); 5] = [
    ("CLAUDECODE", &claude_code::HOST),
    ("CODEX_THREAD_ID", &codex::HOST),
    ("GEMINI_CLI", &gemini_cli::HOST),
    ("OPENCODE", &opencode::HOST),
    ("COPILOT_CLI", &copilot::HOST),
];

/// The host whose shell this process runs in.
pub(crate) fn of_shell() -> Option<&'static Host> {
    SHELLS.iter().find(|(name, _)| env::var_os(name).is_some()).map(|(_, host)| *host)
}

/// Word that starts this program in a host's shell: its name if it is on the path there, otherwise its file.
pub(crate) fn program_in(host: &Host) -> String {
    let keeps_path = host.hooked().is_none_or(|hooked| hooked.keeps_path);
    let found = if keeps_path { program() } else { program_file().map(|file| file.display().to_string()) };
    forebay::shell_word(&found.unwrap_or_else(|_| "forebay".to_owned()))
}

/// Session of the agent in whose shell this process runs, from the agent's environment.
pub(crate) fn session_of_shell() -> Option<String> {
    ["CLAUDE_CODE_SESSION_ID", "CODEX_SESSION_ID", "CODEX_THREAD_ID", "COPILOT_SESSION_ID"]
        .iter()
        .find_map(|name| env::var(name).ok())
        .filter(|session| !session.is_empty())
}

/// Whether this process runs in the shell of an agent with a known session. Such an agent can read no other session.
pub(crate) fn knows_session() -> bool {
    of_shell().is_some() && session_of_shell().is_some()
}

/// Whether a command requests its result unfolded: with the word [`UNFOLDED`], or with [`OFF`] before it.
pub(crate) fn asks_for_all(line: &str) -> bool {
    let is_off =
        |word: &str| word.strip_prefix(OFF).is_some_and(|rest| rest.starts_with('=') && rest != "=0");
    line.split_whitespace().any(|word| word == UNFOLDED || is_off(word))
}

/// Whether the environment switches Forebay off.
pub(crate) fn is_off() -> bool {
    env::var_os(OFF).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Whether a command is a single call of this program. Its answers are already bounded, or meant to be whole.
pub(crate) fn calls_us(line: &str) -> bool {
    let single = !line.contains(['|', ';', '&', '\n', '<', '>', '`']) && !line.contains("$(");
    let program = line.split_whitespace().next().unwrap_or_default().trim_matches(['\'', '"']);
    single && program.rsplit('/').next().is_some_and(|name| name.starts_with("forebay")) && is_us(program)
}

/// A text field of an event.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// The server and the tool in a name such as `mcp__server__tool`.
pub(crate) fn mcp_name(name: &str) -> (Option<String>, String) {
    match name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
        Some((server, tool)) => (Some(server.to_owned()), tool.to_owned()),
        None => (None, name.to_owned()),
    }
}

/// The text of content blocks; `None` if there is a block that is not text.
pub(crate) fn text_of_blocks(blocks: &[Value]) -> Option<String> {
    let texts = blocks.iter().map(|block| match text(block, "type") {
        Some("text") | None => text(block, "text"),
        Some(_) => None,
    });
    Some(texts.collect::<Option<Vec<_>>>()?.join("\n"))
}

/// A project in which tests register hooks.
#[cfg(test)]
fn project_of_tests() -> Place {
    Place {
        scope: Scope::Project,
        home: "/home/u".into(),
        config: "/home/u/.config".into(),
        project: "/p".into(),
        program: "/opt/forebay".into(),
        word: "forebay".into(),
        allows_reads: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_asks_for_all_of_its_result_by_a_word() {
        let table = [
            ("cargo test #whole", true),
            ("FOREBAY_OFF=1 cargo test", true),
            ("cd app && FOREBAY_OFF=1 make", true),
            ("FOREBAY_OFF=0 make", false),
            ("echo '#wholesale'", false),
            ("grep FOREBAY_OFF src", false),
        ];
        for (line, asks) in table {
            assert_eq!(asks_for_all(line), asks, "{line}");
        }
    }

    #[test]
    fn only_a_single_call_of_this_program_is_one() {
        let table = [
            ("forebay read s/abc --lines 1:9", true),
            ("'/opt/forebay' grep s/abc error", true),
            ("forebay cat s/abc | sort", false),
            ("forebay ls; make", false),
            ("make forebay", false),
        ];
        for (line, calls) in table {
            assert_eq!(calls_us(line), calls, "{line}");
        }
    }

    #[test]
    fn every_host_has_a_name_of_its_own() {
        for (number, host) in HOSTS.iter().enumerate() {
            assert!(HOSTS[number + 1..].iter().all(|other| other.name != host.name), "{}", host.name);
            assert!(!host.notes.is_empty() && !host.traces.is_empty(), "{}", host.name);
        }
    }
}
