//! Every address that is served: what it takes, what it gives, and who answers. The router and the OpenAPI document are
//! both made from this table, so that neither can say what the other does not.

use super::asked::{Answering, Asked};
use super::door::Right;
use super::{Web, archives, calls, health, look, outputs, put, queries, sessions};
use crate::commands::put::MOST_LATENCY;
use axum::http::Method;
use forebay::request::declared::{Argument, Declared, Takes, optional, required};
use forebay::request::tool_call;
use std::sync::Arc;

/// One address with one method.
pub(crate) struct Route {
    pub(crate) method: Method,
    /// The path; a part in braces stands for any one part.
    pub(crate) path: &'static str,
    /// What whoever comes must be allowed to; `None` lets everybody in.
    pub(crate) right: Option<Right>,
    /// The name that programs call it by.
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    /// What may stand behind the question mark.
    pub(crate) takes: &'static [Argument],
    /// The query tool that it asks: it takes the tool's arguments too.
    pub(crate) tool: Option<&'static str>,
    pub(crate) body: Body,
    pub(crate) gives: Gives,
    pub(crate) answer: fn(Arc<Web>, Asked) -> Answering,
}

/// What a request has as its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Nothing,
    /// The bytes of an output.
    Bytes,
    /// JSON of this schema.
    Json(&'static str),
    /// An archive.
    Archive,
}

/// What is given where all is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gives {
    /// JSON of this schema.
    Json(&'static str),
    /// The same, or the text alone for whoever asks for text.
    JsonOrText(&'static str),
    /// The same, or events as they come for whoever asks for a stream.
    JsonOrEvents(&'static str),
    /// What was put: JSON or text, with another status if it is new.
    Reply,
    /// The bytes of an output.
    Bytes,
    /// An archive.
    Archive,
    /// Plain text.
    Text,
    Nothing,
}

impl Route {
    /// What may stand behind the question mark, as it is declared.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &'static Argument> {
        let tool = self.tool.and_then(tool_call::declared).map_or(&[][..], |tool| tool.arguments);
        // The output is named in the path.
        tool.iter().filter(|argument| argument.name != "handle").chain(self.takes)
    }

    /// The same, in the form that checks what is sent.
    pub(crate) fn declared(&self) -> Declared {
        Declared { name: self.name, description: self.summary, arguments: self.takes }
    }

    /// What the parts in braces stand for in `path`, if it is this route's.
    pub(crate) fn matches(&self, path: &[String]) -> Option<Vec<(&'static str, String)>> {
        let mut own = self.path[1..].split('/');
        let mut named = Vec::new();
        for part in path {
            let wanted = own.next()?;
            match wanted.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
                Some(name) => named.push((name, part.clone())),
                None if wanted == part => {}
                None => return None,
            }
        }
        own.next().is_none().then_some(named)
    }
}

const ANY: u64 = i64::MAX as u64;

const SINCE: Argument = optional(
    "since",
    Takes::Text(40),
    "Only since then: 2026-11-16T10:00:00Z, 2026-11-16, 90s, 10m, 2h or 3d.",
);
const BUDGET: Argument = optional(
    "budget",
    Takes::Number { least: 64, most: 1_000_000, usual: None },
    "At most this many tokens are given; as the settings of the server say if it is not said.",
);
const WINDOW: Argument = optional(
    "context_window",
    Takes::Number { least: 0, most: ANY, usual: None },
    "How many tokens the model's context has; 0 if it is not known.",
);
const WIRES: &[&str] = &["openai-chat", "openai-responses", "anthropic", "gemini", "mcp", "function-call"];
const PREFIX: Argument = optional(
    "prefix",
    Takes::Text(40),
    "What the names of our own tools begin with; `output_` if it is not said.",
);
const PUT: &[Argument] = &[
    optional("tool", Takes::Text(200), "The tool's name; `put` if it is not said."),
    optional("server", Takes::Text(200), "The server that the tool belongs to."),
    optional(
        "tool_kind",
        Takes::Text(40),
        "What sort of tool it is, for the log: `mcp`, `rest`, `agent`, …; `mcp` with a server and `agent` without, if it is not said.",
    ),
    optional("args", Takes::Text(60_000), "The call's arguments, as JSON."),
    optional("intent", Takes::Text(4_000), "What is wanted from the output, in plain words."),
    optional("exit", Takes::Number { least: 0, most: 255, usual: None }, "The exit status of the command."),
    optional(
        "latency",
        Takes::Number { least: 0, most: MOST_LATENCY, usual: None },
        "How long the tool took, in milliseconds.",
    ),
    optional(
        "preset",
        Takes::Choice(&["digest", "handle", "head-tail", "materialize", "recovery"]),
        "The view that a large output gets.",
    ),
    optional(
        "calls",
        Takes::Choice(&["tools", "shell"]),
        "How the calls in a view are written: for the query tools, or for a shell. `tools` if it is not said.",
    ),
    optional(
        "wire",
        Takes::Choice(&["function-call"]),
        "Give the text as the response of a `<function_call>` record, for models without native calls.",
    ),
    BUDGET,
    WINDOW,
];

/// Which lines a window of an output has.
const LINES: &[Argument] = &[
    optional(
        "first",
        Takes::Number { least: 1, most: ANY, usual: Some(1) },
        "The first line, counted from 1.",
    ),
    optional("count", Takes::Number { least: 1, most: 5_000, usual: Some(200) }, "How many lines."),
    optional(
        "last",
        Takes::Number { least: 1, most: 5_000, usual: None },
        "So many lines from the end instead.",
    ),
    optional(
        "byte",
        Takes::Number { least: 0, most: ANY, usual: None },
        "The first line is the one with this byte.",
    ),
    optional(
        "width",
        Takes::Number { least: 16, most: 65_536, usual: Some(4_096) },
        "So many bytes of a line at most.",
    ),
];

const FIND: &[Argument] = &[
    required("pattern", Takes::Text(10_000), "A regular expression, or plain text with `fixed`."),
    optional("fixed", Takes::Switch, "Take the pattern letter by letter."),
    optional("ignore_case", Takes::Switch, "Take capitals and small letters for the same."),
    optional("from_byte", Takes::Number { least: 0, most: ANY, usual: Some(0) }, "Only from this byte on."),
    optional("max", Takes::Number { least: 1, most: 5_000, usual: Some(500) }, "How many matches at most."),
];

const TREE: &[Argument] = &[
    optional(
        "start",
        Takes::Number { least: 0, most: ANY, usual: None },
        "Where the value begins whose members are wanted; the documents if it is not said.",
    ),
    optional("end", Takes::Number { least: 0, most: ANY, usual: None }, "Where it ends."),
    optional("from", Takes::Number { least: 0, most: ANY, usual: None }, "The byte to go on from."),
    optional("max", Takes::Number { least: 1, most: 1_000, usual: Some(100) }, "How many members at most."),
];

/// The routes.
pub(crate) static ROUTES: &[Route] = &[
    Route {
        method: Method::GET,
        path: "/v1/sessions",
        right: Some(Right::Read),
        name: "list_sessions",
        summary: "The sessions, the one with the newest output first.",
        takes: &[
            optional("limit", Takes::Number { least: 1, most: 1_000, usual: Some(100) }, "How many at most."),
            optional("skip", Takes::Number { least: 0, most: ANY, usual: Some(0) }, "Pass over so many."),
        ],
        tool: None,
        body: Body::Nothing,
        gives: Gives::Json("Sessions"),
        answer: |web, asked| asked.blocking(web, sessions::list),
    },
    Route {
        method: Method::DELETE,
        path: "/v1/sessions/{session}",
        right: Some(Right::Delete),
        name: "delete_session",
        summary: "Remove a session with all its outputs. What is in use stays, and is told.",
        takes: &[],
        tool: None,
        body: Body::Nothing,
        gives: Gives::Json("Removed"),
        answer: |web, asked| asked.blocking(web, sessions::remove),
    },
    Route {
        method: Method::GET,
        path: "/v1/sessions/{session}/room",
        right: Some(Right::Read),
        name: "get_room",
        summary: "How much of the model's context is in use, and how much is left for outputs.",
        takes: &[WINDOW],
        tool: None,
        body: Body::Nothing,
        gives: Gives::Json("Room"),
        answer: |web, asked| asked.blocking(web, sessions::room),
    },
    Route {
        method: Method::PUT,
        path: "/v1/sessions/{session}/room",
        right: Some(Right::Write),
        name: "report_room",
        summary: "Say how many tokens of the model's context are in use; what is handed over from now on is added.",
        takes: &[WINDOW],
        tool: None,
        body: Body::Json("RoomReport"),
        gives: Gives::Json("Room"),
        answer: |web, asked| asked.with_json(web, sessions::report),
    },
    Route {
        method: Method::GET,
        path: "/v1/sessions/{session}/events",
        right: Some(Right::Read),
        name: "get_events",
        summary: "What happened in a session, oldest first; with `Accept: text/event-stream`, what happens from then on as well.",
        takes: &[
            optional(
                "from",
                Takes::Number { least: 0, most: ANY, usual: Some(0) },
                "The byte of the events to begin at, as `next` said it.",
            ),
            optional("output", Takes::Text(300), "Only events of this output."),
            optional(
                "limit",
                Takes::Number { least: 1, most: 10_000, usual: Some(1_000) },
                "How many at most; a stream has no limit.",
            ),
            optional(
                "form",
                Takes::Choice(&["events", "log", "accounting"]),
                "Events as they are, the log line of each that has one, or the accounting entry of each reply; `events` if it is not said.",
            ),
            SINCE,
        ],
        tool: None,
        body: Body::Nothing,
        gives: Gives::JsonOrEvents("Events"),
        answer: sessions::events,
    },
    Route {
        method: Method::GET,
        path: "/v1/sessions/{session}/stats",
        right: Some(Right::Read),
        name: "get_session_stats",
        summary: "What was saved in a session, all costs deducted.",
        takes: STATS,
        tool: None,
        body: Body::Nothing,
        gives: Gives::Json("Stats"),
        answer: |web, asked| asked.blocking(web, sessions::stats),
    },
    Route {
        method: Method::GET,
        path: "/v1/stats",
        right: Some(Right::Read),
        name: "get_stats",
        summary: "What was saved in all sessions, all costs deducted.",
        takes: STATS,
        tool: None,
        body: Body::Nothing,
        gives: Gives::Json("Stats"),
        answer: |web, asked| asked.blocking(web, sessions::all_stats),
    },
    Route {
        method: Method::GET,
        path: "/v1/sessions/{session}/search",
        right: Some(Right::Read),
        name: "search",
        summary: "The lines that have all the given words in any output of a session, the newest output first.",
        takes: &[BUDGET],
        tool: Some("search"),
        body: Body::Nothing,
        gives: Gives::JsonOrText("Searched"),
        answer: |web, asked| asked.blocking(web, queries::search),
    },
    Route {
        method: Method::GET,
        path: "/v1/sessions/{session}/outputs",
        right: Some(Right::Read),
        name: "list_outputs",
        summary: "The outputs of a session with what the model got of each, the newest first.",
        takes: &[
            optional("limit", Takes::Number { least: 1, most: 1_000, usual: Some(100) }, "How many at most."),
            optional("skip", Takes::Number { least: 0, most: ANY, usual: Some(0) }, "Pass over so many."),
        ],
        tool: None,
        body: Body::Nothing,
        gives: Gives::Json("Outputs"),
        answer: |web, asked| asked.blocking(web, outputs::list),
    },
    Route {
        method: Method::POST,
        path: "/v1/sessions/{session}/outputs",
        right: Some(Right::Write),
        name: "post_output",
        summary: "Keep an output of any size; the answer is what the model gets for it.",
        takes: PUT,
        tool: None,
        body: Body::Bytes,
        gives: Gives::Reply,
        answer: put::post,
    },
    Route {
        method: Method::PUT,
        path: "/v1/sessions/{session}/outputs/{output}",
        right: Some(Right::Write),
        name: "put_output",
        summary: "The same under the id of its call: sent again, it is kept once and gets the same answer.",
        takes: PUT,
        tool: None,
        body: Body::Bytes,
        gives: Gives::Reply,
        answer: put::put,
    },
    Route {
        method: Method::GET,
        path: "/v1/sessions/{session}/outputs/{output}",
        right: Some(Right::Read),
        name: "get_output",
        summary: "What is known of an output, and what the model was given of it.",
        takes: &[],
        tool: None,
        body: Body::Nothing,
        gives: Gives::Json("Output"),
        answer: |web, asked| asked.blocking(web, outputs::get),
    },
    Route {
        method: Method::DELETE,
        path: "/v1/sessions/{session}/outputs/{output}",
        right: Some(Right::Delete),
        name: "delete_output",
        summary: "Remove an output and all that belongs to it.",
        takes: &[],
        tool: None,
        body: Body::Nothing,
        gives: Gives::Nothing,
        answer: |web, asked| asked.blocking(web, outputs::remove),
    },
    Route {
        method: Method::GET,
        path: "/v1/sessions/{session}/outputs/{output}/bytes",
        right: Some(Right::Read),
        name: "get_bytes",
        summary: "The bytes of an output, exactly; ranges are served.",
        takes: &[],
        tool: None,
        body: Body::Nothing,
        gives: Gives::Bytes,
        answer: outputs::bytes,
    },
    query(
        "read",
        "/v1/sessions/{session}/outputs/{output}/read",
        "Lines, bytes or the end of an output, within the budget.",
    ),
    query(
        "grep",
        "/v1/sessions/{session}/outputs/{output}/grep",
        "The lines that match a regular expression, with the true total.",
    ),
    query(
        "json",
        "/v1/sessions/{session}/outputs/{output}/json",
        "What a jq filter gives over JSON, or the shape of it.",
    ),
    query(
        "outline",
        "/v1/sessions/{session}/outputs/{output}/outline",
        "What is in an output, with line numbers to read.",
    ),
    query("ask", "/v1/sessions/{session}/outputs/{output}/ask", "The passages that answer a question best."),
    Route {
        method: Method::POST,
        path: "/v1/sessions/{session}/outputs/{output}/extract",
        right: Some(Right::Extract),
        name: "extract",
        summary: "Have an output read by models as instructions in plain words say.",
        takes: &[BUDGET],
        tool: None,
        body: Body::Json("Extraction"),
        gives: Gives::JsonOrText("Extract"),
        answer: |web, asked| asked.with_json(web, queries::extract),
    },
    look(
        "view",
        "/v1/sessions/{session}/outputs/{output}/view",
        "What the model saw, piece by piece. To look costs the model nothing.",
        &[],
        "View",
        |web, asked| asked.blocking(web, look::view),
    ),
    look(
        "lines",
        "/v1/sessions/{session}/outputs/{output}/lines",
        "A window of lines. To look costs the model nothing.",
        LINES,
        "Lines",
        |web, asked| asked.blocking(web, look::lines),
    ),
    look(
        "find",
        "/v1/sessions/{session}/outputs/{output}/find",
        "Where a pattern stands. To look costs the model nothing.",
        FIND,
        "Found",
        |web, asked| asked.blocking(web, look::find),
    ),
    look(
        "tree",
        "/v1/sessions/{session}/outputs/{output}/tree",
        "What stands inside a value of a JSON output. To look costs the model nothing.",
        TREE,
        "Nodes",
        |web, asked| asked.blocking(web, look::tree),
    ),
    look(
        "diff",
        "/v1/sessions/{session}/outputs/{output}/diff",
        "What differs from the earlier run of the same call, or from another output.",
        &[optional("with", Takes::Text(300), "The other output; the earlier run if it is not said.")],
        "Diff",
        |web, asked| asked.blocking(web, look::diff),
    ),
    Route {
        method: Method::GET,
        path: "/v1/sessions/{session}/export",
        right: Some(Right::Read),
        name: "export",
        summary: "All outputs of a session as one archive, as `forebay export` writes it.",
        takes: &[],
        tool: None,
        body: Body::Nothing,
        gives: Gives::Archive,
        answer: archives::export,
    },
    Route {
        method: Method::POST,
        path: "/v1/import",
        right: Some(Right::Write),
        name: "import",
        summary: "Take in an archive. All of it is proved before anything is kept.",
        takes: &[
            optional(
                "as",
                Takes::Text(128),
                "The session that the outputs get, in place of the one they had.",
            ),
            optional("dry_run", Takes::Switch, "Only prove the archive, and say what would be added."),
        ],
        tool: None,
        body: Body::Archive,
        gives: Gives::Json("Imported"),
        answer: archives::import,
    },
    Route {
        method: Method::GET,
        path: "/v1/tools",
        right: Some(Right::Read),
        name: "list_tools",
        summary: "The query tools, in the form that an agent's model takes.",
        takes: &[
            optional("wire", Takes::Choice(WIRES), "The form; `mcp` if it is not said."),
            optional(
                "set",
                Takes::Choice(&["own", "context", "all"]),
                "Our own tools, those named context.*, or both; `own` if it is not said, and `all` under the preset materialize.",
            ),
            PREFIX,
        ],
        tool: None,
        body: Body::Nothing,
        gives: Gives::Json("Tools"),
        answer: |web, asked| asked.blocking(web, calls::tools),
    },
    Route {
        method: Method::POST,
        path: "/v1/sessions/{session}/calls",
        right: Some(Right::Read),
        name: "call_tools",
        summary: "Answer a model's calls of the query tools: its message in the form of `wire`, or one call with a name and arguments.",
        takes: &[
            optional(
                "wire",
                Takes::Choice(WIRES),
                "The form of the message; without it the body is one call.",
            ),
            PREFIX,
            BUDGET,
        ],
        tool: None,
        body: Body::Json("Calls"),
        gives: Gives::Json("Results"),
        answer: |web, asked| asked.with_json(web, calls::answer),
    },
    Route {
        method: Method::GET,
        path: "/v1/openapi.json",
        right: None,
        name: "get_openapi",
        summary: "This document.",
        takes: &[],
        tool: None,
        body: Body::Nothing,
        gives: Gives::Json("OpenApi"),
        answer: |web, asked| asked.at_once(web, health::openapi),
    },
    Route {
        method: Method::GET,
        path: "/health",
        right: None,
        name: "get_health",
        summary: "Whether the server lives.",
        takes: &[],
        tool: None,
        body: Body::Nothing,
        gives: Gives::Json("Health"),
        answer: |web, asked| asked.at_once(web, health::health),
    },
    Route {
        method: Method::GET,
        path: "/ready",
        right: None,
        name: "get_ready",
        summary: "Whether the server can keep outputs now: its stores can be written to, and it is not about to stop.",
        takes: &[],
        tool: None,
        body: Body::Nothing,
        gives: Gives::Json("Health"),
        answer: |web, asked| asked.blocking(web, health::ready),
    },
    Route {
        method: Method::GET,
        path: "/metrics",
        right: Some(Right::Metrics),
        name: "get_metrics",
        summary: "Counters of the server, in the form that Prometheus reads.",
        takes: &[],
        tool: None,
        body: Body::Nothing,
        gives: Gives::Text,
        answer: |web, asked| asked.at_once(web, health::metrics),
    },
];

const STATS: &[Argument] = &[
    optional("by", Takes::Choice(&["tool", "day"]), "What the groups are; `tool` if it is not said."),
    SINCE,
];

/// An address that asks a query of an output.
const fn query(tool: &'static str, path: &'static str, summary: &'static str) -> Route {
    Route {
        method: Method::GET,
        path,
        right: Some(Right::Read),
        name: tool,
        summary,
        takes: &[BUDGET],
        tool: Some(tool),
        body: Body::Nothing,
        gives: Gives::JsonOrText("Excerpt"),
        answer: |web, asked| asked.blocking(web, queries::answer),
    }
}

/// An address for a person who looks at an output.
const fn look(
    name: &'static str,
    path: &'static str,
    summary: &'static str,
    takes: &'static [Argument],
    gives: &'static str,
    answer: fn(Arc<Web>, Asked) -> Answering,
) -> Route {
    let gives = Gives::Json(gives);
    let right = Some(Right::Read);
    Route {
        method: Method::GET,
        path,
        right,
        name,
        summary,
        takes,
        tool: None,
        body: Body::Nothing,
        gives,
        answer,
    }
}
