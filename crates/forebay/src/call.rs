//! One tool call, as far as it is known when its output begins.

use crate::{Handle, Session};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Characters of an id that are kept when a number is appended to it.
pub(crate) const LONGEST_NUMBERED: usize = 110;

/// One tool call: who was called with what, and in which conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Call {
    /// The conversation it belongs to.
    pub session: Session,
    /// The id the host gave it, or a [fresh one](crate::fresh_id). The output is named after it.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// The server the tool belongs to, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Kind of the tool (`mcp`, `rest`, `agent`, …), if the caller states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The arguments, verbatim JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<String>,
    /// The caller's purpose, in plain words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// When it was made. The library has no clock: the caller says.
    pub at: Timestamp,
    /// Whether the output is that of a wrapped command, kept with the terminal's logs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub terminal: bool,
}

impl Call {
    /// A call of `tool` with no arguments and no server.
    pub fn new(session: Session, id: impl Into<String>, tool: impl Into<String>, at: Timestamp) -> Call {
        let (id, tool) = (id.into(), tool.into());
        Call { session, id, tool, server: None, kind: None, args: None, intent: None, at, terminal: false }
    }

    /// `<server>/<tool>`, or the tool alone, as it can be printed.
    pub fn full_name(&self) -> String {
        let name = match &self.server {
            Some(server) => format!("{server}/{}", self.tool),
            None => self.tool.clone(),
        };
        crate::printable(&name).replace('\n', " ")
    }

    /// One argument as text, under the first of `names` that is there.
    pub fn argument(&self, names: &[&str]) -> Option<String> {
        let args: serde_json::Value = serde_json::from_str(self.args.as_deref()?).ok()?;
        names.iter().find_map(|name| args.get(name)?.as_str().map(str::to_owned))
    }

    /// The file that it reads, as its arguments say.
    pub(crate) fn file(&self) -> Option<String> {
        let path = ["file_path", "path", "filename", "file", "filepath", "absolute_path", "uri"];
        self.argument(&path).or_else(|| shown_file(&self.command()?))
    }

    /// Whether it reads what was written to be read: a file that is not called a log, or what a program says of its use.
    pub(crate) fn reads(&self) -> bool {
        let asks_for_help = |command: String| {
            let mut words = command.split_whitespace().peekable();
            let tells = |first: &&str| matches!(*first, "man" | "info" | "help");
            if words.next_if(tells).is_some() {
                return true;
            }
            let is_sized = words.next().is_some_and(|program| SIZED.contains(&program));
            let mut rest = words.clone();
            words.next_if_eq(&"help").is_some()
                || words.any(|word| word == "--help" || word.starts_with("--help="))
                || !is_sized
                    && rest.any(|word| word == "-h")
                    && matches!(rest.next(), None | Some("all" | "full"))
        };
        self.file().is_some_and(|file| !is_log(&file)) || self.command().is_some_and(asks_for_help)
    }

    /// What is wanted from it: what the caller says, else the names of tests that the command asks for.
    pub(crate) fn wanted(&self) -> Option<String> {
        let said = self.intent.clone().filter(|intent| !intent.trim().is_empty());
        said.or_else(|| named_tests(&self.command()?))
    }

    /// The command that it runs.
    pub(crate) fn command(&self) -> Option<String> {
        self.argument(COMMAND)
    }

    /// The handle that an output of this call would like to have.
    pub(crate) fn handle(&self, attempt: u32) -> crate::Result<Handle> {
        let mut id = crate::handle::safe_id(&self.id);
        if attempt > 1 {
            id.truncate(LONGEST_NUMBERED);
            id = format!("{id}-{attempt}");
        }
        Handle::new(self.session.clone(), &id)
    }
}

/// The arguments that hold a command.
const COMMAND: &[&str] = &["command", "cmd", "script"];

/// Commands that take `-h` for sizes that people read.
const SIZED: &[&str] = &["df", "du", "free", "ls", "lsblk", "sort", "tree"];

/// Commands that print a file as it is.
const SHOWING: &[&str] = &["cat", "head", "tail", "sed", "bat", "nl", "less", "more", "zcat", "xzcat"];

/// The file that a command prints as it is.
fn shown_file(command: &str) -> Option<String> {
    let command = command.split(['|', ';', '&', '>']).next()?;
    let mut words = command.split_whitespace();
    words.next().filter(|first| SHOWING.contains(first))?;
    let is_path = |word: &&str| word.contains(['.', '/']) || word.starts_with(char::is_alphabetic);
    words.rfind(is_path).map(|path| path.trim_matches(['"', '\'']).to_owned())
}

/// Whether a file is called a log.
fn is_log(file: &str) -> bool {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file).to_ascii_lowercase();
    let says = |part: &str| matches!(part, "log" | "logs" | "out" | "output" | "stdout" | "stderr" | "err");
    name.split(|c: char| !c.is_ascii_alphabetic()).any(says)
}

/// Flags of test runners behind which the names of tests stand.
const FILTERS: &[&str] =
    &["-k", "-run", "--run", "-t", "--filter", "--tests", "--test", "--testNamePattern", "--gtest_filter"];

/// Programs that run tests and do not say so in their names.
const RUNNERS: &[&str] =
    &["mocha", "mvn", "mvnw", "gradle", "gradlew", "tox", "nox", "ava", "cypress", "playwright"];

/// Whether a command runs tests: `pytest`, `go test`, `npm run test:unit`, `rspec`.
fn runs_tests(command: &str) -> bool {
    command.split_whitespace().any(|word| {
        let name = word.rsplit('/').next().unwrap_or(word);
        let says = ["test", "spec", "jest"].iter().any(|part| name.contains(part));
        says && !word.starts_with('-') || RUNNERS.contains(&name)
    })
}

/// The tests that a command asks for by name.
fn named_tests(command: &str) -> Option<String> {
    if !runs_tests(command) {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    let mut words = command.split_whitespace().map(|word| word.trim_matches(['\'', '"']));
    while let Some(word) = words.next() {
        let (flag, value) = word.split_once('=').unwrap_or((word, ""));
        match FILTERS.contains(&flag) || flag == "-Dtest" {
            true if !value.is_empty() => names.push(value),
            true => names.extend(words.next()),
            false => names.extend(word.split_once("::").map(|(_, name)| name)),
        }
    }
    let names: Vec<&str> =
        names.into_iter().filter(|name| name.len() > 2 && !name.starts_with('-')).collect();
    (!names.is_empty()).then(|| format!("why does {} fail?", names.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_is_what_the_caller_says_or_the_tests_that_the_command_names() {
        let call = |command: &str| Call {
            args: Some(serde_json::json!({ "command": command }).to_string()),
            ..Call::new(Session::safe("s"), "id", "run_command", Timestamp::UNIX_EPOCH)
        };
        let table = [
            ("pytest tests/a.py::TestA::test_b -x", Some("why does TestA::test_b fail?")),
            ("pytest -k 'login' tests", Some("why does login fail?")),
            ("go test ./... -run TestLogin", Some("why does TestLogin fail?")),
            ("mvn test -Dtest=LoginTest", Some("why does LoginTest fail?")),
            ("cargo test", None),
            ("make -k", None),
            ("make -k CFLAGS=-g all", None),
            ("cargo clippy -- -D clippy::needless_pass_by_value", None),
            ("cargo test parse::tests::empty", Some("why does tests::empty fail?")),
            ("./gradlew check --tests LoginSpec", Some("why does LoginSpec fail?")),
        ];
        for (command, expected) in table {
            assert_eq!(call(command).wanted().as_deref(), expected, "{command}");
        }
        let said = Call { intent: Some("which port?".to_owned()), ..call("pytest -k login") };
        assert_eq!(said.wanted().as_deref(), Some("which port?"));
    }

    #[test]
    fn what_reads_a_text_is_told_from_what_runs_something() {
        let call = |args: serde_json::Value| Call {
            args: Some(args.to_string()),
            ..Call::new(Session::safe("s"), "id", "run_command", Timestamp::UNIX_EPOCH)
        };
        let command = |command: &str| call(serde_json::json!({ "command": command }));
        let table = [
            ("cat src/lib.rs", Some("src/lib.rs"), true),
            ("sed -n 1,80p docs/guide.md | head", Some("docs/guide.md"), true),
            ("cat LICENSE", Some("LICENSE"), true),
            ("cat 'a.toml'", Some("a.toml"), true),
            ("zcat changelog.gz", Some("changelog.gz"), true),
            ("cat build.log", Some("build.log"), false),
            ("tail -n 500 /srv/run/nohup.out", Some("/srv/run/nohup.out"), false),
            ("cat test_output.txt", Some("test_output.txt"), false),
            ("man tar", None, true),
            ("gcc --help=optimizers", None, true),
            ("curl -h all", None, true),
            ("git help -a", None, true),
            ("psql -h db -c select", None, false),
            ("du -h", None, false),
            ("make help", None, true),
            ("make test", None, false),
            ("", None, false),
        ];
        for (said, file, reads) in table {
            assert_eq!(command(said).file().as_deref(), file, "{said}");
            assert_eq!(command(said).reads(), reads, "{said}");
        }
        assert!(call(serde_json::json!({ "file_path": "a/b.yaml" })).reads());
        assert!(!call(serde_json::json!({ "file_path": "a/b.log" })).reads());
    }
}
