//! The OpenAPI document, made from the table of routes. The schemas of responses are here; tests compare them with a
//! running server.

use crate::encoding::Encoding;
use crate::endpoint::{Endpoint, RequestBody, ResponseBody};
use forebay::request::declared::Declared;
use serde_json::{Map, Value, json};

/// The whole document; `tokens` tells whether the server asks for tokens.
pub(crate) fn document(endpoints: &[&Endpoint], tokens: bool) -> Value {
    let mut paths = Map::new();
    for endpoint in endpoints {
        let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        path[endpoint.method.as_str().to_lowercase()] = operation(endpoint, tokens);
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Forebay",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Keeps every byte a tool prints, and shows the model the part it needs.",
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        "components": { "schemas": schemas(), "responses": { "Problem": problem() } },
    });
    if tokens {
        document["components"]["securitySchemes"] =
            json!({ "token": { "type": "http", "scheme": "bearer" } });
    }
    document
}

fn operation(endpoint: &Endpoint, tokens: bool) -> Value {
    let mut operation = json!({
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "parameters": parameters(endpoint),
        "responses": responses(endpoint, tokens),
    });
    match endpoint.body {
        RequestBody::Nothing => {}
        // An output may be empty, and its media type makes no difference.
        RequestBody::Bytes => {
            operation["requestBody"] = body(false, &["application/octet-stream"], json!({}));
            operation["requestBody"]["description"] =
                format!("With `Content-Encoding` (one of {}) it is stored decoded.", Encoding::ACCEPTED)
                    .into();
        }
        RequestBody::Archive => {
            operation["requestBody"] =
                body(true, &["application/zstd", "application/octet-stream"], json!({}));
        }
        RequestBody::Json(schema) => {
            operation["requestBody"] = body(true, &["application/json"], reference(schema))
        }
    }
    if tokens && let Some(right) = endpoint.right {
        operation["security"] = json!([{ "token": [] }]);
        operation["description"] = format!("The token must have the right `{}`.", right.name()).into();
    }
    operation
}

fn body(required: bool, media_types: &[&str], schema: Value) -> Value {
    let content: Map<String, Value> =
        media_types.iter().map(|&name| (name.to_owned(), json!({ "schema": schema }))).collect();
    json!({ "required": required, "content": content })
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

fn parameters(endpoint: &Endpoint) -> Vec<Value> {
    let in_path = endpoint.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<Value> = in_path
        .map(|name| {
            let (schema, description) = match name {
                "session" => (
                    json!({ "type": "string", "pattern": "^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$" }),
                    "The session: one conversation.",
                ),
                _ if endpoint.name == "put_output" => (
                    json!({ "type": "string", "minLength": 1 }),
                    "The host's id of the call; the output is named after it.",
                ),
                _ => (
                    json!({ "type": "string", "pattern": "^[A-Za-z0-9_][A-Za-z0-9_-]{0,127}$" }),
                    "The id of the output, or a unique prefix of it with 6 or more characters.",
                ),
            };
            json!({ "name": name, "in": "path", "required": true, "schema": schema, "description": description })
        })
        .collect();
    for argument in endpoint.arguments() {
        let one = Declared { name: "", description: "", arguments: std::slice::from_ref(argument) };
        let mut schema = forebay::wire::Tool::declared(&one, "").schema["properties"][argument.name].take();
        // A model may pass an empty text; an address leaves the parameter out.
        if schema["type"] == "string" && schema.get("enum").is_none() {
            schema["minLength"] = 1.into();
        }
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        parameters.push(json!({
            "name": argument.name,
            "in": "query",
            "required": argument.required,
            "schema": schema,
            "description": description,
        }));
    }
    parameters
}

fn responses(endpoint: &Endpoint, tokens: bool) -> Value {
    let json_content = |schema: &str| json!({ "application/json": { "schema": reference(schema) } });
    let text = json!({ "schema": { "type": "string" } });
    let success = |content: Value| json!({ "description": "Success.", "content": content });
    let mut responses = Map::new();
    let mut add = |status: &str, response: Value| responses.insert(status.to_owned(), response);
    match endpoint.response {
        ResponseBody::Json(schema) => {
            add("200", success(json_content(schema)));
        }
        ResponseBody::JsonOrText(schema) => {
            let mut content = json_content(schema);
            content["text/plain"] = text;
            add("200", success(content));
        }
        ResponseBody::JsonOrEvents(schema) => {
            let mut content = json_content(schema);
            content["text/event-stream"] = text;
            add("200", success(content));
        }
        ResponseBody::Reply => {
            let mut content = json_content("Reply");
            content["text/plain"] = text;
            add("201", json!({ "description": "Stored.", "content": content.clone() }));
            add("200", json!({ "description": "Stored before.", "content": content }));
        }
        ResponseBody::Bytes => {
            let any = json!({ "*/*": { "schema": {} } });
            add("200", success(any.clone()));
            add("206", json!({ "description": "The requested range.", "content": any }));
            add("304", json!({ "description": "Unchanged since the client read it." }));
        }
        ResponseBody::Archive => {
            add("200", success(json!({ "application/zstd": { "schema": {} } })));
        }
        ResponseBody::Text => {
            add("200", success(json!({ "text/plain": text })));
        }
        ResponseBody::Nothing => {
            add("204", json!({ "description": "Done." }));
        }
    }
    if tokens && endpoint.right.is_some() {
        add("401", json!({ "$ref": "#/components/responses/Problem" }));
    }
    for status in ["400", "403", "404"] {
        add(status, json!({ "$ref": "#/components/responses/Problem" }));
    }
    if endpoint.arguments().next().is_some() {
        add("414", json!({ "description": "The address is longer than 64 KiB." }));
        add(
            "431",
            json!({ "description": "The address and the headers together are longer than the server reads." }),
        );
    }
    let more: &[&str] = match (endpoint.name, endpoint.response, endpoint.body) {
        (_, _, RequestBody::Archive) => &["408", "409", "413", "422", "503", "507"],
        (_, ResponseBody::Reply, _) => &["408", "409", "413", "503", "507"],
        (_, ResponseBody::Archive, _) => &["503"],
        ("extract", ..) => &["408", "413", "416", "503"],
        (_, _, RequestBody::Json(_)) => &["408", "413", "416"],
        ("delete_output", ..) => &["409"],
        ("get_ready", ..) => &["503"],
        ("read" | "get_bytes" | "lines" | "grep" | "outline" | "find" | "json" | "ask", ..) => &["416"],
        _ => &[],
    };
    if endpoint.body != RequestBody::Nothing {
        add("415", json!({ "$ref": "#/components/responses/Problem" }));
    }
    for status in more {
        add(status, json!({ "$ref": "#/components/responses/Problem" }));
    }
    Value::Object(responses)
}

fn problem() -> Value {
    json!({
        "description": "What failed, and what to do about it.",
        "content": { "application/problem+json": { "schema": reference("Problem") } },
    })
}

/// An object with these fields, some of which are required.
fn object(fields: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": fields, "required": required })
}

fn schemas() -> Value {
    let text = json!({ "type": "string" });
    let number = json!({ "type": "integer" });
    let count = json!({ "type": "integer", "minimum": 0 });
    let yes = json!({ "type": "boolean" });
    let maybe = |schema: &Value| json!({ "anyOf": [schema, { "type": "null" }] });
    let list = |schema: &Value| json!({ "type": "array", "items": schema });
    let any = json!({});
    let time = json!({ "type": "string", "format": "date-time" });
    let range = json!({ "type": "array", "items": count, "minItems": 2, "maxItems": 2 });
    let size = object(
        json!({ "bytes": count, "characters": count, "lines": count, "longest_line": count, "tokens": count, "tokens_exact": yes }),
        &["bytes", "characters", "lines", "longest_line", "tokens", "tokens_exact"],
    );
    let reason = json!({ "enum": ["reserve_failed", "size_cap", "token_budget", "compact", "secrets"] });
    let got = object(
        json!({
            "as": { "enum": ["view", "whole", null] },
            "reason": maybe(&reason),
            "tokens": count,
            "baseline": count,
            "queries": count,
            "retrieved": count,
            "extractions": count,
            "extracted": count,
            "saved": number,
        }),
        &["as", "queries", "retrieved"],
    );
    let record = json!({
        "version": count,
        "handle": text,
        "call": { "type": "object" },
        "tool": text,
        "state": any,
        "complete": yes,
        "size": reference("Size"),
        "kind": { "enum": ["text", "json", "json-lines", "binary"] },
        "hash": text,
        "exit": maybe(&number),
        "path": maybe(&text),
        "got": reference("Got"),
    });
    let always = ["handle", "call", "tool", "state", "complete", "size", "kind", "hash", "exit", "got"];
    let mut output = record.clone();
    output["given"] = maybe(&json!({ "type": "object" }));
    output["length"] = count.clone();
    output["before"] = maybe(&text);
    json!({
        "Problem": object(
            json!({ "type": text, "title": text, "status": number, "detail": text, "handle": text }),
            &["type", "title", "status", "detail"],
        ),
        "Size": size,
        "Got": got,
        "Reply": object(
            json!({
                "handle": maybe(&text),
                "stored": yes,
                "reason": maybe(&reason),
                "text": text,
                "size": reference("Size"),
                "exit": maybe(&number),
                "repeated": yes,
            }),
            &["handle", "stored", "reason", "text", "size", "exit", "repeated"],
        ),
        "Sessions": object(
            json!({
                "sessions": list(&object(
                    json!({ "session": text, "outputs": count, "bytes": count, "latest": maybe(&time), "open": yes }),
                    &["session", "outputs", "bytes", "latest", "open"],
                )),
                "total": count,
            }),
            &["sessions", "total"],
        ),
        "Removed": object(json!({ "removed": count, "stays": count }), &["removed", "stays"]),
        "RoomReport": {
            "type": "object",
            "properties": { "used": { "type": "integer", "minimum": 0, "maximum": i64::MAX } },
            "required": ["used"],
            "additionalProperties": false,
        },
        "Room": object(
            json!({
                "context_window": maybe(&count),
                "output_reserve": count,
                "safety_buffer": count,
                "reported": count,
                "given": count,
                "left": maybe(&count),
            }),
            &["context_window", "output_reserve", "safety_buffer", "reported", "given", "left"],
        ),
        "RevealedSecrets": object(
            json!({
                "secrets": list(&object(
                    json!({
                        "line": count,
                        "bytes": object(json!({ "start": count, "end": count }), &["start", "end"]),
                        "kind": text,
                        "tag": text,
                        "fingerprint": text,
                        "text": text,
                    }),
                    &["line", "bytes", "kind", "tag", "fingerprint", "text"],
                )),
            }),
            &["secrets"],
        ),
        "Events": object(
            json!({
                "events": list(&json!({ "anyOf": [
                    object(json!({ "event": text, "at": time }), &["event", "at"]),
                    // The form `accounting`.
                    object(
                        json!({
                            "type": text, "timestamp": number, "status": { "enum": ["ok", "failed"] }, "latency": count,
                            "mcpServer": text, "command": text, "charactersIn": count, "charactersOut": count,
                            "details": { "type": "object" },
                        }),
                        &["type", "timestamp", "status", "latency", "command", "charactersIn", "charactersOut"],
                    ),
                    // The form `log`.
                    text,
                ] })),
                "next": count,
            }),
            &["events", "next"],
        ),
        "Stats": object(
            json!({
                "outputs": count, "bytes": count, "baseline": count, "given": count, "retrieved": count,
                "saved": number, "reserve_failed": reference("Fired"), "size_cap": reference("Fired"), "token_budget": reference("Fired"), "compact": reference("Fired"), "secrets": reference("Fired"), "by_tool": { "type": "object" }, "by_day": { "type": "object" },
            }),
            &["outputs", "bytes", "baseline", "given", "retrieved", "saved", "reserve_failed", "size_cap", "token_budget", "compact", "secrets"],
        ),
        "Fired": object(
            json!({ "times": count, "characters_saved": number, "mean_characters_saved": maybe(&number) }),
            &["times", "characters_saved", "mean_characters_saved"],
        ),
        "Searched": object(
            json!({ "total": count, "searched": count, "outputs": list(&any), "text": text }),
            &["total", "searched", "outputs", "text"],
        ),
        "Outputs": object(
            json!({ "outputs": list(&object(record, &always)), "total": count }),
            &["outputs", "total"],
        ),
        "Output": object(output, &[&always[..], &["given", "length", "before"]].concat()),
        "Excerpt": object(
            json!({
                "handle": text, "text": text, "total_lines": count, "total_bytes": count, "growing": yes,
                "next": maybe(&text),
            }),
            &["handle", "text", "total_lines", "total_bytes", "growing", "next"],
        ),
        "Extraction": {
            "type": "object",
            "properties": {
                "instructions": { "type": "string", "pattern": "\\S" },
                "mode": { "enum": ["auto", "full-chunked", "read-grep", "truncate"] },
                "anew": yes,
            },
            "required": ["instructions"],
            "additionalProperties": false,
        },
        "Extract": object(
            json!({
                "handle": text, "strategy": text, "fell_back": any, "repeated": yes, "stopped": any, "leniencies": any, "models": any,
                "asked": maybe(&count), "usage": any, "read": maybe(&list(&range)), "text": text,
            }),
            &["handle", "strategy", "repeated", "text"],
        ),
        "View": object(
            json!({
                "handle": text,
                "tokens": maybe(&count),
                "pieces": list(&object(
                    json!({
                        "kind": { "enum": ["frame", "verbatim", "rendered", "omitted", "overwritten", "lost", "digest"] },
                        "text": text, "start": count, "end": count,
                        "lines": object(json!({ "first": count, "last": count }), &["first", "last"]),
                    }),
                    &["kind", "text"],
                )),
            }),
            &["handle", "tokens", "pieces"],
        ),
        "Lines": object(
            json!({
                "first": count,
                "lines": list(&object(
                    json!({ "line": count, "start": count, "end": count, "text": text, "cut": yes }),
                    &["line", "start", "end", "text", "cut"],
                )),
                "total_lines": count, "total_bytes": count, "growing": yes,
            }),
            &["first", "lines", "total_lines", "total_bytes", "growing"],
        ),
        "Found": object(
            json!({
                "total": count,
                "matches": list(&object(
                    json!({ "line": count, "byte": count, "text": text }),
                    &["line", "byte", "text"],
                )),
                "next": maybe(&count),
            }),
            &["total", "matches", "next"],
        ),
        "Nodes": object(
            json!({
                "nodes": list(&object(
                    json!({ "key": text, "start": count, "end": count, "text": text }),
                    &["start", "end", "text"],
                )),
                "next": maybe(&count),
                "broken": text,
            }),
            &["nodes", "next"],
        ),
        "Diff": object(
            json!({
                "old": text, "new": text, "added": count, "removed": count, "whole": yes,
                "hunks": list(&list(&object(
                    json!({ "sign": { "enum": ["+", "-", " "] }, "old": maybe(&count), "new": maybe(&count), "text": text }),
                    &["sign", "old", "new", "text"],
                ))),
            }),
            &["old", "new", "added", "removed", "hunks", "whole"],
        ),
        "Imported": object(
            json!({
                "session": text, "added": count, "already_there": count, "bytes": count, "events_added": count,
                "events_already_there": count, "dry_run": yes,
            }),
            &["session", "added", "already_there", "bytes", "events_added", "events_already_there", "dry_run"],
        ),
        "Tools": object(json!({ "wire": text, "tools": any }), &["wire", "tools"]),
        "Calls": { "description": "The message of a model in the wire format, or one call: a name and arguments." },
        "Results": object(json!({ "results": list(&any), "text": text, "is_error": yes }), &[]),
        "Health": object(
            json!({ "status": text, "version": text, "auth": { "enum": ["none", "local-token", "tokens"] } }),
            &["status", "version"],
        ),
        "OpenApi": { "type": "object" },
    })
}
