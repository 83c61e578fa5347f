//! One tool call, as far as it is known when its output begins.

use crate::formats::{Formats, command};
use crate::text::quote::shell_word;
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
    /// Time of the call. The library has no clock: the caller passes it.
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

    /// One argument as text: the first of `names` that exists.
    pub fn argument(&self, names: &[&str]) -> Option<String> {
        let args: serde_json::Value = serde_json::from_str(self.args.as_deref()?).ok()?;
        names.iter().find_map(|name| args.get(name)?.as_str().map(str::to_owned))
    }

    /// The file that it reads, as its arguments say.
    pub(crate) fn file(&self) -> Option<String> {
        self.argument(FILE).or_else(|| command::shown_file(&self.command()?))
    }

    /// Whether it reads what was written to be read: a file that is not called a log, or the help of a program.
    pub(crate) fn reads(&self) -> bool {
        match self.argument(FILE) {
            Some(file) => !command::is_log(&file),
            None => self.command().is_some_and(|line| command::reads(&line)),
        }
    }

    /// The question to answer with its output: the caller's intent, else why the tests fail that its command names.
    pub(crate) fn wanted(&self, formats: &Formats) -> Option<String> {
        let intent = self.intent.clone().filter(|intent| !intent.trim().is_empty());
        let names = || formats.named_tests(&self.command()?);
        intent.or_else(|| names().map(|names| format!("why does {names} fail?")))
    }

    /// The command line that it runs. A list of words becomes one line.
    pub(crate) fn command(&self) -> Option<String> {
        let words = || {
            let args: serde_json::Value = serde_json::from_str(self.args.as_deref()?).ok()?;
            let words = COMMAND.iter().find_map(|name| args.get(name)?.as_array())?;
            Some(words.iter().filter_map(|word| word.as_str().map(shell_word)).collect::<Vec<_>>().join(" "))
        };
        self.argument(COMMAND).or_else(words)
    }

    /// The handle that an output of this call gets at a given attempt, from 1: the later ones are for names that are taken.
    pub fn handle(&self, attempt: u32) -> crate::Result<Handle> {
        let mut id = crate::handle::safe_id(&self.id);
        if attempt > 1 {
            id.truncate(LONGEST_NUMBERED);
            id = format!("{id}-{attempt}");
        }
        Handle::new(self.session.clone(), &id)
    }
}

/// The arguments that name a file.
const FILE: &[&str] = &["file_path", "path", "filename", "file", "filepath", "absolute_path", "uri"];

/// The arguments that hold a command.
const COMMAND: &[&str] = &["command", "cmd", "script"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_is_what_the_caller_says_or_the_tests_that_the_command_names() {
        let call = |command: &str| Call {
            args: Some(serde_json::json!({ "command": command }).to_string()),
            ..Call::new(Session::safe("s"), "id", "run_command", Timestamp::UNIX_EPOCH)
        };
        let formats = Formats::default();
        assert_eq!(call("pytest -k login").wanted(&formats).as_deref(), Some("why does login fail?"));
        assert_eq!(call("cargo test").wanted(&formats), None);
        let asked = Call { intent: Some("which port?".to_owned()), ..call("pytest -k login") };
        assert_eq!(asked.wanted(&formats).as_deref(), Some("which port?"));
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
            ("sh -c 'man bash'", None, true),
            ("bash -lc \"cd app && cat -n src/main.py | head -n 90\"", Some("src/main.py"), true),
            ("git show HEAD~2:src/main.rs", Some("src/main.rs"), true),
            ("cat a.md && cat b.md", Some("a.md"), true),
            ("cat a.md && make test", None, false),
            ("cat notes.md | grep error", None, false),
            ("python tool.py --help | less", None, true),
        ];
        for (said, file, reads) in table {
            assert_eq!(command(said).file().as_deref(), file, "{said}");
            assert_eq!(command(said).reads(), reads, "{said}");
        }
        let words = serde_json::json!({ "command": ["bash", "-lc", "cat 'my notes.md'"] });
        assert_eq!(call(words).file().as_deref(), Some("my notes.md"));
        assert!(call(serde_json::json!({ "file_path": "a/b.yaml" })).reads());
        assert!(!call(serde_json::json!({ "file_path": "a/b.log" })).reads());
    }
}
