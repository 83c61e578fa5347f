//! All routes: their parameters, bodies and handlers. The router and the OpenAPI document are both made from this table, so
//! they always agree.

use crate::auth::Right;
use crate::endpoint::{Endpoint, RequestBody, ResponseBody};
use crate::request::{Request, ResponseFuture};
use crate::state::Server;
use crate::{archives, browse, calls, health, outputs, put, queries, sessions};
use axum::http::Method;
use forebay::request::declared::{Argument, Takes, optional, required};
use std::sync::Arc;

/// A route: its description and its handler.
pub(crate) struct Route {
    pub(crate) endpoint: Endpoint,
    pub(crate) handler: fn(Arc<Server>, Request) -> ResponseFuture,
}

/// Longest accepted duration of a call, in milliseconds: a year.
pub const MAX_LATENCY_MS: u64 = 365 * 24 * 60 * 60 * 1_000;

const ANY: u64 = i64::MAX as u64;

const SINCE: Argument = optional(
    "since",
    Takes::Text(40),
    "Only from this time on: 2026-11-16T10:00:00Z, 2026-11-16, 90s, 10m, 2h or 3d.",
);
const BUDGET: Argument = optional(
    "budget",
    Takes::Number { least: 64, most: 1_000_000, usual: None },
    "Maximum tokens of the answer. Default: the server's settings.",
);
const WINDOW: Argument = optional(
    "context_window",
    Takes::Number { least: 0, most: ANY, usual: None },
    "Tokens of the model's context window; 0 if unknown.",
);
const WIRES: &[&str] = &["openai-chat", "openai-responses", "anthropic", "gemini", "mcp", "function-call"];
const PREFIX: Argument =
    optional("prefix", Takes::Text(40), "Prefix of the names of our own tools. Default: `output_`.");
const PUT: &[Argument] = &[
    optional("tool", Takes::Text(200), "Name of the tool. Default: `put`."),
    optional("server", Takes::Text(200), "MCP server of the tool."),
    optional(
        "tool_kind",
        Takes::Text(40),
        "Kind of tool for the log: `mcp`, `rest`, `agent`, …. Default: `mcp` with a server, `agent` without.",
    ),
    optional("args", Takes::Text(60_000), "Arguments of the call, as JSON."),
    optional("intent", Takes::Text(4_000), "What the model wants from the output, in plain words."),
    optional("exit", Takes::Number { least: 0, most: 255, usual: None }, "Exit status of the command."),
    optional(
        "latency",
        Takes::Number { least: 0, most: MAX_LATENCY_MS, usual: None },
        "Duration of the call, in milliseconds.",
    ),
    optional(
        "preset",
        Takes::Choice(&["digest", "handle", "head-tail", "materialize", "recovery"]),
        "View of an output that is too large.",
    ),
    optional(
        "calls",
        Takes::Choice(&["tools", "shell"]),
        "How calls in a view are written: for the query tools, or for a shell. Default: `tools`.",
    ),
    optional(
        "wire",
        Takes::Choice(&["function-call"]),
        "Return the text as the response of a `<function_call>` record, for models without native calls.",
    ),
    BUDGET,
    WINDOW,
];

/// Parameters of a window of lines.
const LINES: &[Argument] = &[
    optional("first", Takes::Number { least: 1, most: ANY, usual: Some(1) }, "First line, counted from 1."),
    optional("count", Takes::Number { least: 1, most: 5_000, usual: Some(200) }, "Number of lines."),
    optional(
        "last",
        Takes::Number { least: 1, most: 5_000, usual: None },
        "Number of lines at the end, instead of `first` and `count`.",
    ),
    optional(
        "byte",
        Takes::Number { least: 0, most: ANY, usual: None },
        "Offset of a byte on the first line, instead of `first`.",
    ),
    optional(
        "width",
        Takes::Number { least: 16, most: 65_536, usual: Some(4_096) },
        "Maximum bytes of a line.",
    ),
];

const FIND: &[Argument] = &[
    required("pattern", Takes::Text(10_000), "A regular expression, or plain text with `fixed`."),
    optional("fixed", Takes::Switch, "Search for the pattern as plain text."),
    optional("ignore_case", Takes::Switch, "Ignore upper and lower case."),
    optional(
        "from_byte",
        Takes::Number { least: 0, most: ANY, usual: Some(0) },
        "Offset of the byte to start at.",
    ),
    optional("max", Takes::Number { least: 1, most: 5_000, usual: Some(500) }, "Maximum matches."),
];

const TREE: &[Argument] = &[
    optional(
        "start",
        Takes::Number { least: 0, most: ANY, usual: None },
        "Offset where the value starts whose members are listed. Default: list the documents.",
    ),
    optional("end", Takes::Number { least: 0, most: ANY, usual: None }, "Offset where the value ends."),
    optional(
        "from",
        Takes::Number { least: 0, most: ANY, usual: None },
        "Offset to continue from, as `next` returned it.",
    ),
    optional("max", Takes::Number { least: 1, most: 1_000, usual: Some(100) }, "Maximum members."),
];

/// All routes.
pub(crate) static ROUTES: &[Route] = &[
    Route {
        endpoint: Endpoint {
            method: Method::GET,
            path: "/v1/sessions",
            right: Some(Right::Read),
            name: "list_sessions",
            summary: "List sessions, the one with the newest output first.",
            parameters: &[
                optional(
                    "limit",
                    Takes::Number { least: 1, most: 1_000, usual: Some(100) },
                    "Maximum entries.",
                ),
                optional("skip", Takes::Number { least: 0, most: ANY, usual: Some(0) }, "Entries to skip."),
            ],
            tool: None,
            body: RequestBody::Nothing,
            response: ResponseBody::Json("Sessions"),
        },
        handler: |server, request| request.blocking(server, sessions::list),
    },
    Route {
        endpoint: Endpoint {
            method: Method::DELETE,
            path: "/v1/sessions/{session}",
            right: Some(Right::Delete),
            name: "delete_session",
            summary: "Remove a session with all its outputs. Outputs in use stay, and are counted.",
            parameters: &[],
            tool: None,
            body: RequestBody::Nothing,
            response: ResponseBody::Json("Removed"),
        },
        handler: |server, request| request.blocking(server, sessions::remove),
    },
    Route {
        endpoint: Endpoint {
            method: Method::GET,
            path: "/v1/sessions/{session}/room",
            right: Some(Right::Read),
            name: "get_room",
            summary: "Get the used and the free part of the model's context window.",
            parameters: &[WINDOW],
            tool: None,
            body: RequestBody::Nothing,
            response: ResponseBody::Json("Room"),
        },
        handler: |server, request| request.blocking(server, sessions::room),
    },
    Route {
        endpoint: Endpoint {
            method: Method::PUT,
            path: "/v1/sessions/{session}/room",
            right: Some(Right::Write),
            name: "report_room",
            summary: "Report how many tokens of the model's context window are in use; later answers are added to it.",
            parameters: &[WINDOW],
            tool: None,
            body: RequestBody::Json("RoomReport"),
            response: ResponseBody::Json("Room"),
        },
        handler: |server, request| request.with_json(server, sessions::report),
    },
    Route {
        endpoint: Endpoint {
            method: Method::GET,
            path: "/v1/sessions/{session}/events",
            right: Some(Right::Read),
            name: "get_events",
            summary: "Get the events of a session, oldest first; with `Accept: text/event-stream`, also those to come.",
            parameters: &[
                optional(
                    "from",
                    Takes::Number { least: 0, most: ANY, usual: Some(0) },
                    "Offset to continue from, as `next` returned it.",
                ),
                optional("output", Takes::Text(300), "Only events of this output."),
                optional(
                    "limit",
                    Takes::Number { least: 1, most: 10_000, usual: Some(1_000) },
                    "Maximum events; a stream has no limit.",
                ),
                optional(
                    "form",
                    Takes::Choice(&["events", "log", "accounting"]),
                    "The events themselves, their log lines, or the accounting entry of each reply. Default: `events`.",
                ),
                SINCE,
            ],
            tool: None,
            body: RequestBody::Nothing,
            response: ResponseBody::JsonOrEvents("Events"),
        },
        handler: sessions::events,
    },
    Route {
        endpoint: Endpoint {
            method: Method::GET,
            path: "/v1/sessions/{session}/stats",
            right: Some(Right::Read),
            name: "get_session_stats",
            summary: "Get the tokens saved in a session, all costs deducted.",
            parameters: STATS,
            tool: None,
            body: RequestBody::Nothing,
            response: ResponseBody::Json("Stats"),
        },
        handler: |server, request| request.blocking(server, sessions::stats),
    },
    Route {
        endpoint: Endpoint {
            method: Method::GET,
            path: "/v1/stats",
            right: Some(Right::Read),
            name: "get_stats",
            summary: "Get the tokens saved in all sessions, all costs deducted.",
            parameters: STATS,
            tool: None,
            body: RequestBody::Nothing,
            response: ResponseBody::Json("Stats"),
        },
        handler: |server, request| request.blocking(server, sessions::all_stats),
    },
    Route {
        endpoint: Endpoint {
            method: Method::GET,
            path: "/v1/sessions/{session}/search",
            right: Some(Right::Read),
            name: "search",
            summary: "Search all outputs of a session for lines with all of the words, the newest output first.",
            parameters: &[BUDGET],
            tool: Some("search"),
            body: RequestBody::Nothing,
            response: ResponseBody::JsonOrText("Searched"),
        },
        handler: |server, request| request.blocking(server, queries::search),
    },
    Route {
        endpoint: Endpoint {
            method: Method::GET,
            path: "/v1/sessions/{session}/outputs",
            right: Some(Right::Read),
            name: "list_outputs",
            summary: "List the outputs of a session with what the model got of each, the newest first.",
            parameters: &[
                optional(
                    "limit",
                    Takes::Number { least: 1, most: 1_000, usual: Some(100) },
                    "Maximum entries.",
                ),
                optional("skip", Takes::Number { least: 0, most: ANY, usual: Some(0) }, "Entries to skip."),
            ],
            tool: None,
            body: RequestBody::Nothing,
            response: ResponseBody::Json("Outputs"),
        },
        handler: |server, request| request.blocking(server, outputs::list),
    },
    Route {
        endpoint: Endpoint {
            method: Method::POST,
            path: "/v1/sessions/{session}/outputs",
            right: Some(Right::Write),
            name: "post_output",
            summary: "Store an output of any size, and get what the model should read of it.",
            parameters: PUT,
            tool: None,
            body: RequestBody::Bytes,
            response: ResponseBody::Reply,
        },
        handler: put::post,
    },
    Route {
        endpoint: Endpoint {
            method: Method::PUT,
            path: "/v1/sessions/{session}/outputs/{output}",
            right: Some(Right::Write),
            name: "put_output",
            summary: "Store an output under the id of its call. The same upload again is stored once and gets the same response.",
            parameters: PUT,
            tool: None,
            body: RequestBody::Bytes,
            response: ResponseBody::Reply,
        },
        handler: put::put,
    },
    Route {
        endpoint: Endpoint {
            method: Method::GET,
            path: "/v1/sessions/{session}/outputs/{output}",
            right: Some(Right::Read),
            name: "get_output",
            summary: "Get the record of an output, and what the model got of it.",
            parameters: &[],
            tool: None,
            body: RequestBody::Nothing,
            response: ResponseBody::Json("Output"),
        },
        handler: |server, request| request.blocking(server, outputs::get),
    },
    Route {
        endpoint: Endpoint {
            method: Method::DELETE,
            path: "/v1/sessions/{session}/outputs/{output}",
            right: Some(Right::Delete),
            name: "delete_output",
            summary: "Remove an output with its record and views.",
            parameters: &[],
            tool: None,
            body: RequestBody::Nothing,
            response: ResponseBody::Nothing,
        },
        handler: |server, request| request.blocking(server, outputs::remove),
    },
    Route {
        endpoint: Endpoint {
            method: Method::POST,
            path: "/v1/sessions/{session}/outputs/{output}/reveal",
            right: Some(Right::Read),
            name: "reveal_secrets",
            summary: "Show a person the lines with secrets of an output, unmasked. It is recorded as an event. Not for tokens with some rights only.",
            parameters: &[],
            tool: None,
            body: RequestBody::Nothing,
            response: ResponseBody::Json("RevealedSecrets"),
        },
        handler: |server, request| request.blocking(server, outputs::reveal),
    },
    Route {
        endpoint: Endpoint {
            method: Method::GET,
            path: "/v1/sessions/{session}/outputs/{output}/bytes",
            right: Some(Right::Read),
            name: "get_bytes",
            summary: "Get the bytes of an output, whole or a range.",
            parameters: &[],
            tool: None,
            body: RequestBody::Nothing,
            response: ResponseBody::Bytes,
        },
        handler: outputs::bytes,
    },
    query_route(
        "read",
        "/v1/sessions/{session}/outputs/{output}/read",
        "Read lines, bytes or the end of an output, within the budget.",
    ),
    query_route(
        "grep",
        "/v1/sessions/{session}/outputs/{output}/grep",
        "Search an output with a regular expression, with the true number of matches.",
    ),
    query_route(
        "json",
        "/v1/sessions/{session}/outputs/{output}/json",
        "Run a jq filter over a JSON output, or get its shape.",
    ),
    query_route(
        "outline",
        "/v1/sessions/{session}/outputs/{output}/outline",
        "Get the outline of an output, with line numbers to read.",
    ),
    query_route(
        "ask",
        "/v1/sessions/{session}/outputs/{output}/ask",
        "Get the passages that best answer a question.",
    ),
    Route {
        endpoint: Endpoint {
            method: Method::POST,
            path: "/v1/sessions/{session}/outputs/{output}/extract",
            right: Some(Right::Extract),
            name: "extract",
            summary: "Have models read an output and follow instructions in plain words.",
            parameters: &[BUDGET],
            tool: None,
            body: RequestBody::Json("Extraction"),
            response: ResponseBody::JsonOrText("Extract"),
        },
        handler: |server, request| request.with_json(server, queries::extract),
    },
    browse_route(
        "view",
        "/v1/sessions/{session}/outputs/{output}/view",
        "Get the view that the model got, piece by piece. Does not count as shown to the model.",
        &[],
        "View",
        |server, request| request.blocking(server, browse::view),
    ),
    browse_route(
        "lines",
        "/v1/sessions/{session}/outputs/{output}/lines",
        "Get a window of lines. Does not count as shown to the model.",
        LINES,
        "Lines",
        |server, request| request.blocking(server, browse::lines),
    ),
    browse_route(
        "find",
        "/v1/sessions/{session}/outputs/{output}/find",
        "Find a pattern. Does not count as shown to the model.",
        FIND,
        "Found",
        |server, request| request.blocking(server, browse::find),
    ),
    browse_route(
        "tree",
        "/v1/sessions/{session}/outputs/{output}/tree",
        "List the members of a value in a JSON output. Does not count as shown to the model.",
        TREE,
        "Nodes",
        |server, request| request.blocking(server, browse::tree),
    ),
    browse_route(
        "diff",
        "/v1/sessions/{session}/outputs/{output}/diff",
        "Compare an output with the earlier run of the same call, or with another output.",
        &[optional("with", Takes::Text(300), "Handle of the other output. Default: the earlier run.")],
        "Diff",
        |server, request| request.blocking(server, browse::diff),
    ),
    Route {
        endpoint: Endpoint {
            method: Method::GET,
            path: "/v1/sessions/{session}/export",
            right: Some(Right::Read),
            name: "export",
            summary: "Export a session as an archive, as `forebay export` does.",
            parameters: &[],
            tool: None,
            body: RequestBody::Nothing,
            response: ResponseBody::Archive,
        },
        handler: archives::export,
    },
    Route {
        endpoint: Endpoint {
            method: Method::POST,
            path: "/v1/import",
            right: Some(Right::Write),
            name: "import",
            summary: "Import a session archive. All of it is verified before anything is stored.",
            parameters: &[
                optional("as", Takes::Text(128), "Name of the imported session. Default: its own name."),
                optional(
                    "dry_run",
                    Takes::Switch,
                    "Verify the archive and report what would be added, without storing it.",
                ),
            ],
            tool: None,
            body: RequestBody::Archive,
            response: ResponseBody::Json("Imported"),
        },
        handler: archives::import,
    },
    Route {
        endpoint: Endpoint {
            method: Method::GET,
            path: "/v1/tools",
            right: Some(Right::Read),
            name: "list_tools",
            summary: "List the query tools in a model's wire format.",
            parameters: &[
                optional("wire", Takes::Choice(WIRES), "Wire format. Default: `mcp`."),
                optional(
                    "set",
                    Takes::Choice(&["own", "context", "all"]),
                    "Our own tools, those named context.*, or both. Default: `own`, or `all` with the preset materialize.",
                ),
                PREFIX,
            ],
            tool: None,
            body: RequestBody::Nothing,
            response: ResponseBody::Json("Tools"),
        },
        handler: |server, request| request.blocking(server, calls::tools),
    },
    Route {
        endpoint: Endpoint {
            method: Method::POST,
            path: "/v1/sessions/{session}/calls",
            right: Some(Right::Read),
            name: "call_tools",
            summary: "Answer a model's calls of the query tools: its message in the wire format, or one call with a name and arguments.",
            parameters: &[
                optional(
                    "wire",
                    Takes::Choice(WIRES),
                    "Wire format of the message; without it the body is one call.",
                ),
                PREFIX,
                BUDGET,
            ],
            tool: None,
            body: RequestBody::Json("Calls"),
            response: ResponseBody::Json("Results"),
        },
        handler: |server, request| request.with_json(server, calls::answer),
    },
    Route {
        endpoint: Endpoint {
            method: Method::GET,
            path: "/v1/openapi.json",
            right: None,
            name: "get_openapi",
            summary: "Get this document.",
            parameters: &[],
            tool: None,
            body: RequestBody::Nothing,
            response: ResponseBody::Json("OpenApi"),
        },
        handler: |server, request| request.immediate(server, health::document),
    },
    Route {
        endpoint: Endpoint {
            method: Method::GET,
            path: "/health",
            right: None,
            name: "get_health",
            summary: "Check that the server runs.",
            parameters: &[],
            tool: None,
            body: RequestBody::Nothing,
            response: ResponseBody::Json("Health"),
        },
        handler: |server, request| request.immediate(server, health::health),
    },
    Route {
        endpoint: Endpoint {
            method: Method::GET,
            path: "/ready",
            right: None,
            name: "get_ready",
            summary: "Check that the server can store outputs: its stores are writable, and it is not about to stop.",
            parameters: &[],
            tool: None,
            body: RequestBody::Nothing,
            response: ResponseBody::Json("Health"),
        },
        handler: |server, request| request.blocking(server, health::ready),
    },
    Route {
        endpoint: Endpoint {
            method: Method::GET,
            path: "/metrics",
            right: Some(Right::Metrics),
            name: "get_metrics",
            summary: "Get the counters of the server in Prometheus' text format.",
            parameters: &[],
            tool: None,
            body: RequestBody::Nothing,
            response: ResponseBody::Text,
        },
        handler: |server, request| request.immediate(server, health::metrics),
    },
];

const STATS: &[Argument] =
    &[optional("by", Takes::Choice(&["tool", "day"]), "How results are grouped. Default: `tool`."), SINCE];

/// A route that queries an output.
const fn query_route(tool: &'static str, path: &'static str, summary: &'static str) -> Route {
    Route {
        endpoint: Endpoint {
            method: Method::GET,
            path,
            right: Some(Right::Read),
            name: tool,
            summary,
            parameters: &[BUDGET],
            tool: Some(tool),
            body: RequestBody::Nothing,
            response: ResponseBody::JsonOrText("Excerpt"),
        },
        handler: |server, request| request.blocking(server, queries::answer),
    }
}

/// A route for a person who browses an output.
const fn browse_route(
    name: &'static str,
    path: &'static str,
    summary: &'static str,
    parameters: &'static [Argument],
    schema: &'static str,
    handler: fn(Arc<Server>, Request) -> ResponseFuture,
) -> Route {
    Route {
        endpoint: Endpoint {
            method: Method::GET,
            path,
            right: Some(Right::Read),
            name,
            summary,
            parameters,
            tool: None,
            body: RequestBody::Nothing,
            response: ResponseBody::Json(schema),
        },
        handler,
    }
}
