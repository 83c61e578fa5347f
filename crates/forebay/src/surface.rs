//! The surface of a reader: how a call that reads an output is written for a shell, for tools or for files.
//!
//! Views and excerpts end with the call that reads on. The call itself is a [`Query`]; a surface writes it.

use crate::request::filter::Filter;
use crate::request::grep::{Grep, Selection};
use crate::request::{ranges, tool_call};
use crate::text::quote::shell_quoted;
use crate::{Handle, Query};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The place where a reader makes calls. It decides how calls are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Surface {
    /// At a shell: `forebay read HANDLE --lines 1:9`.
    Shell {
        /// Word that starts Forebay: its name, or its file where the shell does not find the name.
        #[serde(default = "name", skip_serializing_if = "is_name")]
        program: String,
        /// Flags that every command needs, such as ` --root DIR`.
        flags: String,
        /// Word that, in a command, has its result shown unfolded; `None` where nobody looks for one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unfolded: Option<String>,
    },
    /// Among an agent's tools: `output_read(handle="HANDLE", lines="1:9")`.
    Tools {
        /// Prefix of the names of the tools.
        prefix: String,
    },
    /// With an agent that reads this one output as a file: `Read(filename="HANDLE", lines="1:9")`.
    Files,
}

impl Default for Surface {
    fn default() -> Surface {
        Surface::shell(String::new())
    }
}

/// The name of the program that has the commands.
fn name() -> String {
    "forebay".to_owned()
}

fn is_name(program: &str) -> bool {
    program == "forebay"
}

impl Surface {
    /// A shell that finds Forebay by its name, with flags that every command needs.
    pub fn shell(flags: String) -> Surface {
        Surface::Shell { program: name(), flags, unfolded: None }
    }

    /// The word that shows the result of a command unfolded, if there is one.
    pub(crate) fn unfolded(&self) -> Option<&str> {
        match self {
            Surface::Shell { unfolded, .. } => unfolded.as_deref(),
            Surface::Tools { .. } | Surface::Files => None,
        }
    }

    /// Writes the call that runs `query` on the output that `handle` names.
    pub fn call(&self, handle: &Handle, query: &Query) -> String {
        match self {
            Surface::Shell { program, flags, .. } => {
                let (verb, arguments) = typed(query);
                format!("{program} {verb} {}{flags}{arguments}", handle.short())
            }
            Surface::Tools { prefix } => {
                let call = tool_call::call_of(handle, query);
                format!("{prefix}{}({})", call.name, listed(&call.arguments, "handle"))
            }
            Surface::Files => {
                let call = tool_call::call_of(handle, query);
                let (first, rest) = call.name.split_at(1);
                format!("{}{rest}({})", first.to_uppercase(), listed(&call.arguments, "filename"))
            }
        }
    }

    /// Writes the call that reads bytes that are not text.
    pub(crate) fn raw(&self, handle: &Handle) -> String {
        match self {
            Surface::Shell { program, flags, .. } => format!("{program} cat {}{flags}", handle.short()),
            Surface::Tools { .. } | Surface::Files => self.call(handle, &Query::Bytes(vec![0..1_024])),
        }
    }
}

/// Writes arguments of a call, the first of them under the name `handle`.
fn listed(arguments: &Map<String, Value>, handle: &str) -> String {
    let named = |name: &str| if name == "handle" { handle.to_owned() } else { name.to_owned() };
    let arguments = arguments.iter().map(|(name, value)| format!("{}={value}", named(name)));
    arguments.collect::<Vec<_>>().join(", ")
}

/// A query as a command line: the command, and the arguments after the handle.
fn typed(query: &Query) -> (&'static str, String) {
    match query {
        Query::Lines(ranges) => {
            let ranges = ranges.iter().map(|range| format!(" --lines {}", ranges::written(range)));
            ("read", ranges.collect())
        }
        Query::Bytes(ranges) => {
            let ranges = ranges.iter().map(|range| format!(" --bytes {}:{}", range.start, range.end));
            ("read", ranges.collect())
        }
        Query::Head(count) => ("head", format!(" -n {count}")),
        Query::Tail(count) => ("tail", format!(" -n {count}")),
        Query::Grep(grep) => {
            let usual = Grep::new("");
            let number = |flag: &str, value: u64, usual: u64| {
                if value == usual { String::new() } else { format!(" {flag} {value}") }
            };
            let switch = |flag: &str, on: bool| if on { format!(" {flag}") } else { String::new() };
            let flags = [
                switch("-i", grep.ignore_case),
                switch("-F", grep.fixed),
                switch("-U", grep.multiline),
                switch("-v", grep.wanted == Selection::OtherLines),
                switch("-o", grep.wanted == Selection::Matches),
                number("-C", grep.context, usual.context),
                number("--max", grep.max as u64, usual.max as u64),
                number("--from-byte", grep.from_byte, usual.from_byte),
            ];
            ("grep", format!(" {}{}", pattern(&grep.pattern), flags.concat()))
        }
        Query::Json(filter) => {
            let skip = if filter.skip > 0 { format!(" --skip {}", filter.skip) } else { String::new() };
            let usual = filter.max == Filter::SHOWN;
            let max = if usual { String::new() } else { format!(" --max {}", filter.max) };
            let typed = shell_quoted(&filter.filter);
            if filter.filter.starts_with('-') {
                ("json", format!("{skip}{max} -- {typed}"))
            } else {
                ("json", format!(" {typed}{skip}{max}"))
            }
        }
        Query::Shape { skip: 0 } => ("json", String::new()),
        Query::Shape { skip } => ("json", format!(" --skip {skip}")),
        Query::Outline(outlined) => {
            let from = if outlined.from_line > 1 {
                format!(" --from-line {}", outlined.from_line)
            } else {
                String::new()
            };
            let skip = if outlined.skip > 0 { format!(" --skip {}", outlined.skip) } else { String::new() };
            let depth = outlined.depth.map_or(String::new(), |depth| format!(" --depth {depth}"));
            ("outline", from + &skip + &depth)
        }
        Query::Ask(question) => ("ask", format!(" {}", shell_quoted(question))),
    }
}

/// A pattern as an argument: quoted if necessary, and after the flag `-e` if it begins with a dash.
fn pattern(pattern: &str) -> String {
    let dash = if pattern.starts_with('-') { "-e " } else { "" };
    let plain = !pattern.is_empty() && pattern.chars().all(|c| c.is_ascii_alphanumeric());
    dash.to_owned() + &if plain { pattern.to_owned() } else { shell_quoted(pattern) }
}
