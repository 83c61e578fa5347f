//! Several servers behind one: lists are put together, and everything else finds its server.
//!
//! A tool or prompt is called `<server>__<name>`, always: were only names that clash changed, a server that is added, or
//! is down for a moment, would change the names of others, and a client's permissions and prompt caches hang on them.
//! Requests that servers make are given ids of our own, because two servers count from the same number.

use super::own::{capabilities, complete, named, us};
use super::{Answer, Conversation, Kind, Pending};
use crate::listing::{self, Listing};
use crate::message::{Frame, Message, Parsed};
use crate::resources;
use crate::rpc::{self, INVALID_PARAMS, METHOD_NOT_FOUND};
use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;

/// Separates the name of a server from that of a tool.
const BETWEEN: &str = "__";

/// Prefix of the ids and tokens that servers' requests get.
const MARK: &str = "forebay:";

/// Timeout of requests to all servers; later answers are ignored.
const ASK_TIMEOUT: Duration = Duration::from_secs(20);

/// Maximum pages of a list.
const MAX_PAGES: usize = 1_000;

impl Conversation {
    /// Answers a request of the client, or takes it to the server that can.
    pub(super) async fn request_to_many(self: Arc<Self>, message: Message, id: String) {
        let Ok(Parsed::One(frame)) = message.parse() else { return };
        let method = frame.method.clone().unwrap_or_default();
        match method.as_str() {
            "initialize" | "server/discover" => self.hello_to_all(&message, &frame, &id, &method).await,
            "tools/list" => {
                let result = self.all_tools(&message, &frame).await;
                self.result_text(&id, &result).await;
            }
            "prompts/list" => {
                let result = self.all_prompts(&message, &frame).await;
                self.result_text(&id, &result).await;
            }
            "resources/list" | "resources/templates/list" => {
                let result = self.all_resources(&message, &frame, &method).await;
                self.result_text(&id, &result).await;
            }
            "logging/setLevel" => {
                for server in self.able(&["logging"]) {
                    self.remember(server, &message, &frame, &method);
                }
                join_all(
                    self.able(&["logging"]).into_iter().map(|server| self.ask(server, &message, &frame)),
                )
                .await;
                self.result(&id, &json!({})).await;
            }
            "subscriptions/listen" => self.listen_to_all(message, frame, id).await,
            _ => self.try_each(&message, &frame, &method, &id).await,
        }
    }

    async fn result_text(&self, id: &str, result: &str) {
        self.tell_client(rpc::result(id, result)).await;
    }

    /// The servers that can do something, as far as it is known.
    pub(super) fn able(&self, capability: &[&str]) -> Vec<usize> {
        let state = self.state();
        let able = |server: &usize| {
            let known = &state.servers[*server].capabilities;
            match known {
                Some(known) => capability.iter().all(|name| known.get(name).is_some()),
                // A server that did not answer `initialize` is not asked again; before `initialize` nothing is known.
                None => state.hello.is_none(),
            }
        };
        (0..self.queues.len()).filter(able).collect()
    }

    /// Forwards a client's request to a server.
    async fn ask(&self, server: usize, message: &Message, frame: &Frame) -> Answer {
        let (asked, answer) = oneshot::channel();
        let id = {
            let mut state = self.state();
            let id = state.own_id();
            state.pending.insert(id.clone(), Pending::ours(server, asked));
            id
        };
        let asking = message.with(frame.id_at.clone()?, &id, &self.spool).ok()?;
        let answered = tokio::time::timeout(ASK_TIMEOUT, async {
            self.queues[server].send(asking).await.ok()?;
            answer.await.ok().flatten()
        });
        let answered = answered.await.ok().flatten();
        self.forget_one(&id);
        answered
    }

    /// Greets all servers at once, and puts together what they can do.
    async fn hello_to_all(&self, message: &Message, frame: &Frame, id: &str, method: &str) {
        let answers = join_all((0..self.queues.len()).map(|server| self.ask(server, message, frame))).await;
        if method != "initialize" && answers.iter().flatten().any(|(_, frame)| frame.error.is_some()) {
            // One of them has sessions and needs `initialize`. The client sends that after this error.
            return self
                .error(id, METHOD_NOT_FOUND, "not all servers here can be asked without initialize")
                .await;
        }
        let mut capabilities = capabilities(self.gateway.tools_when_kept && method == "initialize");
        let (mut instructions, mut revisions, mut failures) = (Vec::new(), Vec::new(), Vec::new());
        let mut supported: Option<Vec<String>> = None;
        for (server, answer) in answers.into_iter().enumerate() {
            let name = self.server(server).name.clone();
            let result = answer.and_then(|(message, frame)| Some((frame.result?, message)));
            let Some((result, message)) = result else {
                failures.push(name);
                continue;
            };
            self.note_server(server, &message, result.clone());
            let value = message.value(result).unwrap_or_default();
            merge(&mut capabilities, &value["capabilities"]);
            revisions.extend(value["protocolVersion"].as_str().map(str::to_owned));
            let spoken: Vec<String> =
                serde_json::from_value(value["supportedVersions"].clone()).unwrap_or_default();
            supported = Some(match supported {
                None => spoken,
                Some(all) => all.into_iter().filter(|revision| spoken.contains(revision)).collect(),
            });
            instructions.extend(value["instructions"].as_str().map(|text| format!("# {name}\n{text}")));
        }
        if !failures.is_empty() {
            self.diagnostics()
                .line(&format!("these servers do not answer, and are left out: {}", failures.join(", ")));
        }
        let (_, told) = self.who_asks(message, frame);
        let asked = Self::param(message, frame, &["protocolVersion"]).unwrap_or(told);
        // All servers must understand the revision, so it is the oldest.
        let revision = revisions.into_iter().min().unwrap_or(asked);
        self.state().revision = revision.clone();
        let supported = supported.unwrap_or_else(|| vec![revision.clone()]);
        let mut result = match method {
            "initialize" => json!({ "capabilities": capabilities, "serverInfo": us() }),
            _ => complete(json!({ "capabilities": capabilities, "_meta": named() })),
        };
        let more = [
            ("protocolVersion", (method == "initialize").then(|| json!(revision))),
            ("supportedVersions", (method != "initialize").then(|| json!(supported))),
            ("instructions", (!instructions.is_empty()).then(|| json!(instructions.join("\n\n")))),
        ];
        if let Some(result) = result.as_object_mut() {
            result.extend(more.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        }
        self.result(id, &result).await;
    }

    /// All pages of a list of a server.
    async fn pages(
        &self,
        server: usize,
        message: &Message,
        frame: &Frame,
        key: &str,
    ) -> Vec<(Message, Listing)> {
        let mut pages = Vec::new();
        let mut cursor: Option<String> = None;
        while pages.len() < MAX_PAGES {
            let params = cursor.as_ref().map(|cursor| self.with_cursor(message, frame, cursor));
            let (message, frame) = match &params {
                None => (message, frame),
                Some(Some((message, frame))) => (message, frame),
                Some(None) => break,
            };
            let Some((answer, answered)) = self.ask(server, message, frame).await else { break };
            let Some(listing) = answered.result.and_then(|at| Listing::of(&answer, at, key).ok()) else {
                break;
            };
            let next = listing.next.clone();
            pages.push((answer, listing));
            match next {
                Some(next) if Some(&next) != cursor.as_ref() => cursor = Some(next),
                _ => break,
            }
        }
        pages
    }

    /// A request for a further page.
    fn with_cursor(&self, message: &Message, frame: &Frame, cursor: &str) -> Option<(Message, Frame)> {
        let mut params = match frame.params.clone() {
            Some(range) => message.value(range).ok()?,
            None => json!({}),
        };
        params.as_object_mut()?.insert("cursor".to_owned(), cursor.into());
        let method = frame.method.as_deref().unwrap_or_default();
        let request = json!({ "jsonrpc": "2.0", "id": 0, "method": method, "params": params }).to_string();
        let request = Message::from(request);
        match request.parse() {
            Ok(Parsed::One(frame)) => Some((request, frame)),
            _ => None,
        }
    }

    /// The pages of all servers that can do something, in the order of the servers.
    async fn all_pages(
        &self,
        message: &Message,
        frame: &Frame,
        capability: &str,
        key: &str,
    ) -> Vec<(usize, Vec<(Message, Listing)>)> {
        let able = self.able(&[capability]);
        let pages = join_all(able.iter().map(|&server| self.pages(server, message, frame, key))).await;
        able.into_iter().zip(pages).collect()
    }

    fn called_here(&self, server: usize, name: &str) -> String {
        format!("{}{BETWEEN}{name}", self.server(server).name)
    }

    async fn all_tools(&self, message: &Message, frame: &Frame) -> String {
        let mut entries = Vec::new();
        for (server, pages) in self.all_pages(message, frame, "tools", "tools").await {
            for (page, listing) in pages {
                let rename = |name: &str| Some(self.called_here(server, name));
                let whole = |tool: &str| self.gateway.bypasses(&self.server(server).name, tool);
                let mut tools = listing::tools(&page, &listing, rename, whole).unwrap_or_default();
                tools.retain(|tool| self.can_be_called(server, &self.called_here(server, &tool.name), tool));
                self.state().taken.extend(tools.iter().map(|tool| self.called_here(server, &tool.name)));
                entries.extend(tools.into_iter().map(|tool| tool.text));
            }
        }
        entries.extend(self.own_tools().iter().map(Value::to_string));
        listed("tools", &entries)
    }

    async fn all_prompts(&self, message: &Message, frame: &Frame) -> String {
        let mut entries = Vec::new();
        for (server, pages) in self.all_pages(message, frame, "prompts", "prompts").await {
            for (page, listing) in pages {
                let rename = |name: &str| Some(self.called_here(server, name));
                let prompts = listing::tools(&page, &listing, rename, |_| true).unwrap_or_default();
                entries.extend(prompts.into_iter().map(|prompt| prompt.text));
            }
        }
        listed("prompts", &entries)
    }

    async fn all_resources(&self, message: &Message, frame: &Frame, method: &str) -> String {
        let (key, ours) = match method {
            "resources/list" => ("resources", resources::list(&self.outputs(None))),
            _ => ("resourceTemplates", resources::templates()),
        };
        let mut entries = Vec::new();
        for (server, pages) in self.all_pages(message, frame, "resources", key).await {
            for (page, listing) in pages {
                for range in listing.entries {
                    let uri = page.find(range.clone(), &["uri"]).and_then(|at| page.string(at));
                    self.state().servers[server].addresses.extend(uri);
                    entries.extend(page.text(range));
                }
            }
        }
        entries.extend(ours.iter().map(Value::to_string));
        listed(key, &entries)
    }

    /// The path of the parameter that names a tool or prompt, if the request has one.
    pub(super) fn named_in(
        message: &Message,
        frame: &Frame,
        method: &str,
    ) -> Option<&'static [&'static str]> {
        match method {
            "tools/call" | "prompts/get" => Some(&["name"]),
            "completion/complete" => {
                let path: &[&str] = &["ref", "name"];
                Self::param(message, frame, path).is_some().then_some(path)
            }
            _ => None,
        }
    }

    /// Sends a message to a server. A server that does not read must not delay the others.
    pub(super) fn to_one_of_many(&self, server: usize, message: Message) {
        if let Err(TrySendError::Full(message)) = self.queues[server].try_send(message) {
            let queue = self.queues[server].clone();
            tokio::spawn(async move { queue.send(message).await });
        }
    }

    /// Takes a request to the server whose tool or prompt it names, under the name that it has there.
    pub(super) async fn by_name(
        &self,
        message: Message,
        frame: &Frame,
        method: &str,
        id: String,
        path: &[&str],
    ) {
        let at = frame.params.clone().and_then(|params| message.find(params, path));
        let name = at.clone().and_then(|at| message.string(at)).unwrap_or_default();
        // If the name of one server is a prefix of another's, the longest match counts.
        let found = (0..self.queues.len())
            .filter_map(|server| {
                let rest = name.strip_prefix(&self.server(server).name)?.strip_prefix(BETWEEN)?;
                Some((server, rest.to_owned()))
            })
            .min_by_key(|(_, rest)| rest.len());
        let (Some((server, there)), Some(at)) = (found, at) else {
            let text = format!(
                "there is no {:?} here: names begin with that of their server",
                forebay::shortened(&name, 100)
            );
            return self.error(&id, INVALID_PARAMS, &text).await;
        };
        let Ok(message) = message.with(at, &Value::from(there).to_string(), &self.spool) else { return };
        let Ok(Parsed::One(frame)) = message.parse() else { return };
        let kind = match method {
            "tools/call" => Kind::Call(self.called(&message, &frame, server)),
            _ => Kind::Other,
        };
        self.to_server(server, id, kind, message, &frame).await;
    }

    /// Asks one server after the other until one can answer; the one that knows the resource first.
    async fn try_each(&self, message: &Message, frame: &Frame, method: &str, id: &str) {
        let about =
            Self::param(message, frame, &["uri"]).or_else(|| Self::param(message, frame, &["ref", "uri"]));
        let mut able = match method.split('/').next().unwrap_or_default() {
            capability @ ("resources" | "prompts" | "tools" | "tasks") => self.able(&[capability]),
            "completion" => self.able(&["completions"]),
            _ => self.able(&[]),
        };
        if let Some(uri) = &about {
            let state = self.state();
            able.sort_by_key(|&server| !state.servers[server].addresses.contains(uri));
        }
        let mut last = None;
        for server in able {
            let Some((answer, answered)) = self.ask(server, message, frame).await else { continue };
            let good = answered.result.is_some();
            last = answered.id_at.and_then(|at| answer.with(at, id, &self.spool).ok());
            if good {
                self.remember(server, message, frame, method);
                break;
            }
        }
        match last {
            Some(answer) => self.tell_client(answer).await,
            None => {
                self.error(
                    id,
                    METHOD_NOT_FOUND,
                    &format!("no server answers {}", forebay::shortened(method, 100)),
                )
                .await
            }
        }
    }

    /// Takes a notification of the client to the servers that it is for.
    pub(super) async fn notification_to_many(&self, message: Message, frame: &Frame, method: &str) {
        let about = |name: &str| {
            let at = frame.params.clone().and_then(|params| message.find(params, &[name]))?;
            Some((message.text(at.clone()).ok()?, at))
        };
        let (to, message) = match method {
            "notifications/cancelled" => match about("requestId") {
                Some((id, _)) if self.no_longer_listens(&id) => return,
                Some((id, _)) => {
                    let server = self.state().pending.get(&id).map(|pending| pending.server);
                    (server.into_iter().collect(), message)
                }
                None => return,
            },
            "notifications/progress" => {
                match about("progressToken").and_then(|(token, at)| Some((theirs(&token)?, at))) {
                    Some(((server, token), at)) if server < self.queues.len() => {
                        match message.with(at, &token, &self.spool) {
                            Ok(message) => (vec![server], message),
                            Err(_) => return,
                        }
                    }
                    _ => return,
                }
            }
            _ => ((0..self.queues.len()).collect(), message),
        };
        for server in to {
            // A server that does not read must not keep the others waiting.
            let _ = self.queues[server].try_send(message.clone());
        }
    }

    /// Passes the client's answer to the server that sent the request.
    pub(super) async fn answer_to_one_of_many(&self, message: Message, frame: &Frame) {
        let meant = frame.id.as_deref().and_then(theirs).zip(frame.id_at.clone());
        if let Some(((server, id), at)) = meant
            && server < self.queues.len()
            && let Ok(message) = message.with(at, &id, &self.spool)
        {
            let _ = self.queues[server].send(message).await;
        }
    }

    /// Takes a request or a notification of a server to the client.
    pub(super) async fn one_of_many_says(&self, server: usize, message: Message, frame: &Frame) {
        if frame.id.is_none() && self.says_to_a_subscription(&message, frame).await {
            return;
        }
        let param = |path: &[&str]| frame.params.clone().and_then(|params| message.find(params, path));
        let mut ours: Vec<Range<u64>> = Vec::new();
        match (frame.method.as_deref(), &frame.id) {
            (_, Some(_)) => {
                ours.extend(frame.id_at.clone());
                ours.extend(param(&["_meta", "progressToken"]));
            }
            (Some("notifications/cancelled"), None) => ours.extend(param(&["requestId"])),
            _ => {}
        }
        let changed =
            ours.into_iter().map(|range| Ok((range.clone(), self.ours(server, &message.text(range)?))));
        let changed: std::io::Result<Vec<_>> = changed.collect();
        match changed.and_then(|changes| message.with_all(changes, &self.spool)) {
            Ok(message) => self.tell_client(message).await,
            Err(error) => self
                .diagnostics()
                .line(&format!("a message of {} is lost: {error}", self.server(server).name)),
        }
    }

    /// The id under which the client knows what a server calls `id`.
    fn ours(&self, server: usize, id: &str) -> String {
        Value::from(format!("{MARK}{server}:{id}")).to_string()
    }
}

/// A list of entries as they are written.
fn listed(key: &str, entries: &[String]) -> String {
    let rest = complete(json!({})).to_string();
    format!("{{\"{key}\":[{}],{}", entries.join(","), &rest[1..])
}

/// The server, and its own id, for an id that we assigned.
fn theirs(id: &str) -> Option<(usize, String)> {
    let id: String = serde_json::from_str(id).ok()?;
    let (server, id) = id.strip_prefix(MARK)?.split_once(':')?;
    Some((server.parse().ok()?, id.to_owned()))
}

/// Merges the capabilities of another server into those of all.
fn merge(all: &mut Value, one: &Value) {
    match (all, one) {
        (Value::Object(all), Value::Object(one)) => {
            for (name, value) in one {
                merge(all.entry(name).or_insert(Value::Object(Map::new())), value);
            }
        }
        (all @ Value::Bool(true), Value::Bool(_)) => *all = Value::Bool(true),
        (all, one) => *all = one.clone(),
    }
}
