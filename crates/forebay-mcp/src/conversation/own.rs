//! Requests that the gateway answers itself: calls of our own tools, and reads of stored outputs.

use super::Conversation;
use crate::message::{Frame, Message, Parsed};
use crate::rpc::{INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND};
use crate::{gateway, resources};
use forebay::request::tool_call;
use forebay::wire::{ToolCall, ToolResult, Wire};
use serde_json::{Value, json};
use std::sync::Arc;

/// Protocol revisions that the gateway supports if it has no server, and the default one.
const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
const USUAL: &str = "2025-11-25";

impl Conversation {
    /// Whether we answer a request ourselves.
    pub(super) fn is_for_us(&self, message: &Message, frame: &Frame, method: &str) -> bool {
        let about_output = |path: &[&str]| {
            Self::param(message, frame, path).is_some_and(|uri| uri.starts_with(resources::SCHEME))
        };
        match method {
            "tools/call" => {
                let Some(name) = Self::param(message, frame, &["name"]) else { return false };
                let argument = |name| Self::param(message, frame, &["arguments", name]);
                self.is_our_tool(&name, || argument("handle").or_else(|| argument("id")))
            }
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => about_output(&["uri"]),
            "completion/complete" => about_output(&["ref", "uri"]),
            // Without a server, or with several, no one server could answer.
            "ping" => !self.has_one_server(),
            _ => self.queues.is_empty(),
        }
    }

    /// Whether a call of this name is for us. A server may list a tool of one of our names after views were given that
    /// print it: a call that names an output of ours stays ours, and every other call is the server's.
    fn is_our_tool(&self, name: &str, handle: impl FnOnce() -> Option<String>) -> bool {
        if self.name_now(name).is_none() {
            return false;
        }
        let taken = self.state().taken.contains(name);
        !taken
            || handle().is_some_and(|handle| {
                tokio::task::block_in_place(|| self.outputs(Some(&handle)).find(&handle).is_ok())
            })
    }

    /// Current name of one of our tools that was listed or printed under this name. The prefix becomes longer when a
    /// server lists a tool with the same name.
    fn name_now(&self, name: &str) -> Option<String> {
        let first = &self.gateway.prefix;
        let state = self.state();
        let mut known = name;
        while !state.first.contains(known) {
            known = known.strip_prefix(gateway::OTHER_PREFIX)?;
        }
        let prefix = state.prefix.as_deref().unwrap_or(first);
        Some(match known.strip_prefix(first.as_str()).filter(|base| tool_call::declared(base).is_some()) {
            Some(base) => format!("{prefix}{base}"),
            None => known.to_owned(),
        })
    }

    /// Our own tools as entries of a list. If a server has a tool with the same name, ours get a longer prefix.
    pub(super) fn own_tools(&self) -> Vec<Value> {
        let taken = self.state().taken.clone();
        let prefix = self.gateway.prefix(&|name| taken.contains(name));
        let entries = self.gateway.entries(&prefix, &|name| taken.contains(name));
        self.state().prefix = Some(prefix);
        if self.lists_own_tools() { entries } else { Vec::new() }
    }

    /// Answers a request.
    pub(super) async fn answer_it(self: Arc<Self>, message: Message, id: &str) {
        let answering = self.clone();
        let answered = tokio::task::spawn_blocking(move || answering.answered(&message)).await;
        match answered {
            Ok(Ok(result)) => self.result(id, &result).await,
            Ok(Err((code, text))) => self.error(id, code, &text).await,
            Err(_) => self.error(id, INTERNAL_ERROR, "the request could not be answered").await,
        }
    }

    fn answered(&self, message: &Message) -> Result<Value, (i64, String)> {
        let unreadable = |error: std::io::Error| (INVALID_PARAMS, error.to_string());
        let Ok(Parsed::One(frame)) = message.parse() else {
            return Err((INVALID_PARAMS, "not a request".into()));
        };
        let params = match frame.params {
            Some(range) => message.value(range).map_err(unreadable)?,
            None => json!({}),
        };
        match frame.method.as_deref().unwrap_or_default() {
            "tools/call" => {
                let calls = Wire::Mcp.calls(&params).map_err(|error| (INVALID_PARAMS, error.to_string()))?;
                let results: Vec<ToolResult> = calls
                    .iter()
                    .map(|call| {
                        let given = call.arguments.as_ref().ok();
                        let handle =
                            given.and_then(|given| given.get("handle").or(given.get("id"))?.as_str());
                        let outputs = self.outputs(handle);
                        let name = self.name_now(&call.name).unwrap_or_else(|| call.name.clone());
                        let call = ToolCall { name, ..call.clone() };
                        (self.gateway.answer)(outputs, &call, &self.gateway.settings, &self.prefix())
                    })
                    .collect();
                Ok(Wire::Mcp.results(&results).remove(0))
            }
            "resources/read" => {
                let uri = params["uri"].as_str().unwrap_or_default();
                let handle = uri.strip_prefix(resources::SCHEME);
                resources::read(&self.outputs(handle), uri).map_err(|error| (error.code, error.message))
            }
            "completion/complete" => {
                Ok(json!({ "completion": { "values": [], "hasMore": false }, "resultType": "complete" }))
            }
            // Kept outputs never change, so there is never anything to tell.
            "resources/subscribe" | "resources/unsubscribe" | "ping" | "logging/setLevel" => Ok(json!({})),
            "initialize" => {
                let asked = params["protocolVersion"].as_str().unwrap_or_default();
                let revision = REVISIONS.into_iter().find(|&known| known == asked).unwrap_or(USUAL);
                let capabilities = capabilities(self.gateway.tools_when_kept);
                Ok(json!({ "protocolVersion": revision, "capabilities": capabilities, "serverInfo": us() }))
            }
            "server/discover" => {
                let versions = json!({ "supportedVersions": REVISIONS, "capabilities": capabilities(false), "_meta": named() });
                Ok(complete(versions))
            }
            "tools/list" => Ok(complete(json!({ "tools": self.own_tools() }))),
            "resources/list" => Ok(complete(json!({ "resources": resources::list(&self.outputs(None)) }))),
            "resources/templates/list" => {
                Ok(complete(json!({ "resourceTemplates": resources::templates() })))
            }
            method => {
                Err((METHOD_NOT_FOUND, format!("there is no method {}", forebay::shortened(method, 100))))
            }
        }
    }
}

/// Adds the fields that revision 2026-07-28 requires to one of our lists or descriptions. Other revisions ignore
/// them.
pub(super) fn complete(mut result: Value) -> Value {
    if let Some(result) = result.as_object_mut() {
        result.insert("resultType".to_owned(), "complete".into());
        result.insert("ttlMs".to_owned(), 0.into());
        result.insert("cacheScope".to_owned(), "private".into());
    }
    result
}

/// Our name where revision 2026-07-28 has it.
pub(super) fn named() -> Value {
    json!({ "io.modelcontextprotocol/serverInfo": us() })
}

/// Our capabilities: tools, whose list may change, and resources.
pub(super) fn capabilities(changes: bool) -> Value {
    if changes {
        json!({ "tools": { "listChanged": true }, "resources": {} })
    } else {
        json!({ "tools": {}, "resources": {} })
    }
}

/// Our name, if no server has one.
pub(super) fn us() -> Value {
    json!({ "name": "forebay", "version": env!("CARGO_PKG_VERSION") })
}
