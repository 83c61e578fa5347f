//! One client and the servers that serve it: which message goes where, and what is changed on the way.
//!
//! With one server behind it, everything passes as it is but for the results of tools, lists of tools and resources, the
//! capabilities, and calls of our own tools. With several, lists are put together, names of tools and prompts get
//! the name of their server as a prefix, and ids of the servers' own requests are made unique (see `multi_server`).

mod failures;
mod multi_server;
mod own;
mod results;
mod subscriptions;
mod supervisor;
#[cfg(test)]
mod tests;
mod waiting;

use crate::diagnostics::Diagnostics;
use crate::fold::Called;
use crate::gateway::{Gateway, Scope};
use crate::message::{Frame, Message, Parsed, Spool};
use crate::params::{Param, Sent};
use crate::rpc::{self, INVALID_REQUEST, PARSE_ERROR, REVISION};
use crate::server::{Authorization, Connecting, QUEUE, Server};
use forebay::store::disk::Held;
use forebay::{Outputs, Session};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use subscriptions::{Heard, Subscription};
use tokio::sync::{mpsc, oneshot, watch};
use waiting::Waiting;

/// The first revision whose results may have links to resources.
const LINKS_SINCE: &str = "2025-06-18";

/// Tells a client to ask for the list of tools again.
const TOOLS_CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;

/// One client and its servers.
pub(crate) struct Conversation {
    gateway: Arc<Gateway>,
    scope: Scope,
    /// The client's `Authorization`, if it is passed on to servers.
    authorization: Authorization,
    /// Values that clients have sent as `Mcp-Param-…`.
    sent: Sent,
    spool: Spool,
    to_client: mpsc::Sender<Message>,
    queues: Vec<mpsc::Sender<Message>>,
    stop: watch::Sender<bool>,
    /// State of the conversation. The lock is never held across an await.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The client's name and protocol revision.
    client: String,
    revision: String,
    /// The first request of the client and its id, and the notification after it.
    hello: Option<(Message, String)>,
    initialized: Option<Message>,
    /// Requests that a server must answer.
    pending: Waiting,
    /// The names of the servers' tools, as the client knows them.
    taken: HashSet<String>,
    /// The prefix of our tools' names, if it differs from the configured one.
    prefix: Option<String>,
    /// The names of our tools under the configured prefix.
    first: HashSet<String>,
    /// The tool arguments that are also sent as headers, by the tool's name as the client knows it.
    params: HashMap<String, Vec<Param>>,
    /// Subscriptions to several servers, by the one spelling of their ids.
    subscriptions: HashMap<String, Subscription>,
    /// The known facts about each server.
    servers: Vec<Known>,
    /// Number of the last request of our own. Numbering starts at random, so that ids do not collide with the
    /// client's.
    asked: u64,
    /// The sessions in which something is kept, and the lock on the one that is the client's.
    kept: Vec<Session>,
    held: Option<Held>,
}

/// Known facts about a server.
#[derive(Default)]
struct Known {
    /// The name it has given itself.
    name: Option<String>,
    capabilities: Option<Value>,
    /// Messages to repeat after a restart, by their subject.
    again: Vec<(String, Message)>,
    /// Addresses of its resources.
    addresses: HashSet<String>,
}

impl State {
    /// An id for a request of our own: one that no waiting request has, whatever ids the client uses.
    fn own_id(&mut self) -> String {
        loop {
            self.asked += 1;
            let id = format!("\"forebay-{}\"", self.asked);
            if self.pending.get(&id).is_none() {
                return id;
            }
        }
    }
}

struct Pending {
    server: usize,
    kind: Kind,
    since: Instant,
    /// As it is written.
    progress: Option<String>,
    /// Whether the client has cancelled it; an answer may still arrive.
    called_off: bool,
}

impl Pending {
    /// A request of our own.
    fn ours(server: usize, asked: oneshot::Sender<Answer>) -> Pending {
        Pending { server, kind: Kind::Ours(asked), since: Instant::now(), progress: None, called_off: false }
    }
}

/// The kind of a request, as far as its answer is changed.
enum Kind {
    Call(Called),
    Tools,
    Resources,
    Templates,
    Hello,
    Other,
    /// It is answered when the client no longer listens.
    Subscription,
    /// It is our own request.
    Ours(oneshot::Sender<Answer>),
    /// It is our own request to one of several servers for a part of a subscription.
    Part(mpsc::UnboundedSender<Heard>),
}

/// An answer to a request of our own; `None` if there is none.
pub(crate) type Answer = Option<(Message, Frame)>;

impl Conversation {
    /// Starts a conversation and its servers. Messages for the client go to `to_client`.
    pub(crate) fn begin(
        gateway: Arc<Gateway>,
        scope: Scope,
        to_client: mpsc::Sender<Message>,
    ) -> Arc<Conversation> {
        // Request ids start at random, so that no client has the same ones.
        let first_id = crate::random::random()
            .map_or(0, |random| u64::from(random[0]) << 16 | u64::from(random[1]) << 8);
        let (conversation, queues) = Conversation::new(gateway, scope, to_client, first_id);
        let stopped = conversation.stop.subscribe();
        for (number, queue) in queues.into_iter().enumerate() {
            tokio::spawn(supervisor::supervise(conversation.clone(), number, queue, stopped.clone()));
        }
        if let Some(timeout) = conversation.gateway.timeout {
            tokio::spawn(conversation.clone().watch_the_clock(timeout, stopped));
        }
        conversation
    }

    /// A conversation without its servers, and the messages for each of them. `first_id` is the number of the first request
    /// of our own.
    fn new(
        gateway: Arc<Gateway>,
        scope: Scope,
        to_client: mpsc::Sender<Message>,
        first_id: u64,
    ) -> (Arc<Conversation>, Vec<mpsc::Receiver<Message>>) {
        let (stop, _) = watch::channel(false);
        let (queues, ends): (Vec<_>, Vec<_>) = gateway.servers.iter().map(|_| mpsc::channel(QUEUE)).unzip();
        let known = gateway.servers.iter().map(|_| Known::default()).collect();
        let conversation = Arc::new(Conversation {
            spool: gateway.spool(),
            scope,
            authorization: Authorization::default(),
            sent: Sent::default(),
            to_client,
            queues,
            stop,
            state: Mutex::new(State {
                servers: known,
                first: names(&gateway.own(&gateway.prefix)),
                asked: first_id,
                ..State::default()
            }),
            gateway,
        });
        (conversation, ends)
    }

    /// Ends the conversation: stops the servers and waits until they have ended.
    pub(crate) async fn end(&self) {
        let _ = self.stop.send(true);
        // Every supervisor has a receiver of this until its server has ended.
        self.stop.closed().await;
        let (held, kept) = {
            let mut state = self.state();
            (state.held.take(), std::mem::take(&mut state.kept))
        };
        if let (Some(held), Scope::Session(session)) = (held, &self.scope) {
            self.gateway.store.close(session, held);
        }
        if self.gateway.settings.retention.mode == forebay::settings::Keep::Session {
            for session in kept.iter().filter(|session| !self.gateway.store.is_open(session)) {
                let _ = self.gateway.store.remove_session(session, (self.gateway.now)(), false);
            }
        }
    }

    /// Whether there is one server and we are to be taken for it.
    fn has_one_server(&self) -> bool {
        self.queues.len() == 1 && !self.gateway.many
    }

    pub(crate) fn server(&self, number: usize) -> &Server {
        &self.gateway.servers[number]
    }

    pub(crate) fn diagnostics(&self) -> &Diagnostics {
        &self.gateway.diagnostics
    }

    pub(crate) fn spool(&self) -> &Spool {
        &self.spool
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that holds it leaves it half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The parts of this conversation that connections to servers need.
    fn connecting(&self) -> Connecting<'_> {
        Connecting {
            spool: &self.spool,
            diagnostics: &self.gateway.diagnostics,
            authorization: &self.authorization,
            sent: &self.sent,
        }
    }

    pub(crate) fn authorization(&self) -> &Authorization {
        &self.authorization
    }

    pub(crate) fn sent(&self) -> &Sent {
        &self.sent
    }

    /// The arguments of a tool that are also sent as headers.
    pub(crate) fn params(&self, tool: &str) -> Option<Vec<Param>> {
        self.state().params.get(tool).cloned()
    }

    /// The outputs that a caller with this handle may read.
    fn outputs(&self, handle: Option<&str>) -> Outputs<'_> {
        let session = self.scope.to_read(handle);
        Outputs::new(&*self.gateway.reads, session, &*self.gateway.now)
            .within(self.gateway.settings.room)
            .knowing(&self.gateway.settings.formats)
            .masked_by(&self.gateway.settings.masking)
    }

    fn prefix(&self) -> String {
        self.state().prefix.clone().unwrap_or_else(|| self.gateway.prefix.clone())
    }

    async fn tell_client(&self, message: Message) {
        // A client that has disconnected gets nothing.
        let _ = self.to_client.send(message).await;
    }

    async fn result(&self, id: &str, result: &Value) {
        self.tell_client(rpc::result(id, &result.to_string())).await;
    }

    async fn error(&self, id: &str, code: i64, message: &str) {
        self.tell_client(rpc::error(id, code, message)).await;
    }

    /// Routes a message of the client.
    pub(crate) async fn from_client(self: Arc<Self>, message: Message) {
        match message.parse() {
            Ok(Parsed::One(frame)) => self.one_from_client(message, frame).await,
            Ok(Parsed::Many(parts)) => {
                for part in parts {
                    match message.part(part, &self.spool).and_then(|part| Ok((part.parse()?, part))) {
                        Ok((Parsed::One(frame), part)) => self.clone().one_from_client(part, frame).await,
                        _ => self.error("null", INVALID_REQUEST, "a batch holds messages").await,
                    }
                }
            }
            Err(error) => self.error("null", PARSE_ERROR, &error.to_string()).await,
        }
    }

    async fn one_from_client(self: Arc<Self>, message: Message, frame: Frame) {
        match (frame.method.clone(), frame.id.clone()) {
            (Some(method), Some(id)) => self.request(message, &frame, &method, id).await,
            (Some(method), None) => self.notification(message, &frame, &method).await,
            (None, _) => self.answer_to_server(message, &frame).await,
        }
    }

    /// A text in the parameters of a message.
    fn param(message: &Message, frame: &Frame, path: &[&str]) -> Option<String> {
        message.string(message.find(frame.params.clone()?, path)?)
    }

    async fn request(self: Arc<Self>, message: Message, frame: &Frame, method: &str, id: String) {
        if self.state().pending.get(&id).is_some() {
            return self.taken_already(&id).await;
        }
        self.note_client(&message, frame, method, &id);
        if self.is_for_us(&message, frame, method) {
            tokio::spawn(async move { self.answer_it(message, &id).await });
            return;
        }
        if !self.has_one_server() {
            // A message for one server is sent immediately, so that it keeps its order and precedes its cancellation.
            match Self::named_in(&message, frame, method) {
                Some(path) => self.by_name(message, frame, method, id, path).await,
                None => drop(tokio::spawn(self.request_to_many(message, id))),
            }
            return;
        }
        let kind = match method {
            "initialize" | "server/discover" => Kind::Hello,
            "tools/list" => Kind::Tools,
            "tools/call" | "tasks/result" => Kind::Call(self.called(&message, frame, 0)),
            "resources/list" => Kind::Resources,
            "resources/templates/list" => Kind::Templates,
            "subscriptions/listen" => Kind::Subscription,
            _ => Kind::Other,
        };
        self.remember(0, &message, frame, method);
        self.to_server(0, id, kind, message, frame).await;
    }

    async fn taken_already(&self, id: &str) {
        let text = format!("the id {id} is that of a request which is not answered yet");
        self.error(id, INVALID_REQUEST, &text).await;
    }

    /// Sends a request to a server and remembers what to do with its answer.
    async fn to_server(&self, server: usize, id: String, kind: Kind, message: Message, frame: &Frame) {
        let progress =
            frame.params.clone().and_then(|params| message.find(params, &["_meta", "progressToken"]));
        let progress = progress.and_then(|range| message.text(range).ok());
        let pending = Pending { server, kind, since: Instant::now(), progress, called_off: false };
        let is_new = {
            let mut state = self.state();
            let is_new = state.pending.get(&id).is_none();
            if is_new {
                state.pending.insert(id.clone(), pending);
            }
            is_new
        };
        if !is_new {
            self.taken_already(&id).await;
        } else if self.has_one_server() {
            drop(self.queues[server].send(message).await);
        } else {
            self.to_one_of_many(server, message);
        }
    }

    /// Notes the client's name and revision.
    fn note_client(&self, message: &Message, frame: &Frame, method: &str, id: &str) {
        let param = |path: &[&str]| Self::param(message, frame, path);
        let (name, revision) = match method {
            "initialize" => (param(&["clientInfo", "name"]), param(&["protocolVersion"])),
            _ if self.state().hello.is_none() => told_in_request(message, frame),
            _ => (None, None),
        };
        let mut state = self.state();
        if let Some(name) = name {
            state.client = name;
        }
        if let Some(revision) = revision {
            state.revision = revision;
        }
        if method == "initialize" {
            state.hello = Some((message.clone(), id.to_owned()));
        }
    }

    /// Remembers messages to repeat after a restart of a server.
    fn remember(&self, server: usize, message: &Message, frame: &Frame, method: &str) {
        let about = match method {
            "logging/setLevel" => method.to_owned(),
            "resources/subscribe" | "resources/unsubscribe" => {
                format!("subscribe {}", Self::param(message, frame, &["uri"]).unwrap_or_default())
            }
            _ => return,
        };
        let mut state = self.state();
        let again = &mut state.servers[server].again;
        again.retain(|(other, _)| *other != about);
        if method != "resources/unsubscribe" {
            again.push((about, message.clone()));
        }
    }

    fn called(&self, message: &Message, frame: &Frame, server: usize) -> Called {
        let args = frame.params.clone().and_then(|params| message.find(params, &["arguments"]));
        // Arguments are stored beside the output and must not be larger than most outputs.
        let args = args.filter(|range| range.end - range.start <= 64 * 1024);
        let name = if self.has_one_server() { self.state().servers[server].name.clone() } else { None };
        let (client, revision) = self.who_asks(message, frame);
        Called {
            tool: Self::param(message, frame, &["name"]).unwrap_or_else(|| "task".to_owned()),
            server: name.or_else(|| Some(self.server(server).name.clone())),
            args: args.and_then(|range| message.text(range).ok()),
            client,
            links: revision.as_str() >= LINKS_SINCE,
        }
    }

    /// The name and the revision of the client: from the request, or from an earlier one.
    fn who_asks(&self, message: &Message, frame: &Frame) -> (String, String) {
        let (name, revision) = told_in_request(message, frame);
        let state = self.state();
        (name.unwrap_or_else(|| state.client.clone()), revision.unwrap_or_else(|| state.revision.clone()))
    }

    /// Whether our own tools are in the lists that a client of this revision gets.
    fn lists_own_tools(&self) -> bool {
        if !self.gateway.tools_when_kept || self.queues.is_empty() || self.state().hello.is_none() {
            return true;
        }
        // Outputs may be from earlier: a session with a name can be older than this process.
        !self.state().kept.is_empty() || self.outputs(None).list().is_ok_and(|all| !all.is_empty())
    }

    async fn notification(self: Arc<Self>, message: Message, frame: &Frame, method: &str) {
        match method {
            "notifications/initialized" => self.state().initialized = Some(message.clone()),
            "notifications/cancelled" => self.note_called_off(&message, frame),
            _ => {}
        }
        if self.has_one_server() {
            drop(self.queues[0].send(message).await)
        } else {
            self.notification_to_many(message, frame, method).await
        }
    }

    /// The client's answer to a request of a server.
    async fn answer_to_server(&self, message: Message, frame: &Frame) {
        if self.has_one_server() {
            drop(self.queues[0].send(message).await)
        } else {
            self.answer_to_one_of_many(message, frame).await
        }
    }

    /// Routes a message of a server to the client.
    pub(crate) async fn from_server(self: Arc<Self>, server: usize, message: Message) {
        match message.parse() {
            Ok(Parsed::One(frame)) => self.one_from_server(server, message, frame).await,
            Ok(Parsed::Many(parts)) => {
                for part in parts {
                    if let Ok(part) = message.part(part, &self.spool)
                        && let Ok(Parsed::One(frame)) = part.parse()
                    {
                        self.clone().one_from_server(server, part, frame).await;
                    }
                }
            }
            Err(error) => self.garbled(server, &message, &error).await,
        }
    }

    async fn one_from_server(self: Arc<Self>, server: usize, message: Message, frame: Frame) {
        if let Some(method) = &frame.method {
            if method == "notifications/progress" {
                self.note_progress(&message, &frame);
            }
            return if self.has_one_server() {
                self.tell_client(message).await
            } else {
                self.one_of_many_says(server, message, &frame).await
            };
        }
        let Some(id) = frame.id.clone() else {
            // An answer without an id is about something that the server could not read.
            return if self.has_one_server() {
                self.tell_client(message).await
            } else {
                self.diagnostics().line(&format!("{} answered to nothing", self.server(server).name))
            };
        };
        let pending = {
            let mut state = self.state();
            match state.pending.get(&id) {
                Some(pending) if pending.server == server => {
                    state.pending.remove(&id).map(|(_, pending)| pending)
                }
                _ => None,
            }
        };
        match pending {
            None => {
                let name = &self.server(server).name;
                self.diagnostics()
                    .line(&format!("{name} answered {id}, which nobody waits for; it was left out"));
            }
            Some(Pending { kind: Kind::Ours(asked), .. }) => {
                let _ = asked.send(Some((message, frame)));
            }
            Some(Pending { kind: Kind::Part(tells), .. }) => {
                let _ = tells.send(Heard::Ended(server, Some(message)));
            }
            Some(Pending { kind: Kind::Call(called), .. }) => self.give_result(message, frame, called).await,
            Some(Pending { kind, .. }) => {
                let changed = self.changed(server, &message, &frame, &kind);
                self.tell_client(changed.unwrap_or(message)).await;
            }
        }
    }

    /// Notes that the client has cancelled a request.
    fn note_called_off(&self, message: &Message, frame: &Frame) {
        let id = frame.params.clone().and_then(|params| message.find(params, &["requestId"]));
        if let Some(id) = id.and_then(|range| message.text(range).ok()) {
            self.state().pending.get_mut(&id).into_iter().for_each(|pending| pending.called_off = true);
        }
    }
}

/// The client's name and revision in a request, which every request has since 2026-07-28.
fn told_in_request(message: &Message, frame: &Frame) -> (Option<String>, Option<String>) {
    let meta = frame.params.clone().and_then(|params| message.find(params, &["_meta"]));
    let said = |path: &[&str]| message.string(message.find(meta.clone()?, path)?);
    (said(&["io.modelcontextprotocol/clientInfo", "name"]), said(&[REVISION]))
}

/// The names of tools.
fn names(tools: &[forebay::wire::Tool]) -> HashSet<String> {
    tools.iter().map(|tool| tool.name.clone()).collect()
}
