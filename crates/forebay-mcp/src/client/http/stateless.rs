//! Clients of revision 2026-07-28 and later, which have no sessions: every request stands for itself.
//!
//! Those who are known by the same key share a conversation, its servers and a session. So do all of whom nothing is known,
//! but for the session: each of their results has one of its own, and its name is in the handle and nowhere else.
//! Different clients count from the same number, so a request has an id and a token of ours on its way, and its own back.

use super::{Clients, FULL, KEEP_ALIVE, MOST, REVISION, Refusal, SIGN, quietest, refused, status};
use super::{event_stream, failed, header, json_body, lock, one, takes_events, written_message};
use crate::conversation::Conversation;
use crate::gateway::Scope;
use crate::message::{Frame, Message, Parsed};
use crate::params::{self, decoded};
use crate::rpc::{self, HEADERS_DIFFER, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND};
use crate::rpc::{PARSE_ERROR, SUBSCRIPTION, key};
use crate::server::QUEUE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use futures_util::{StreamExt, stream};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// The errors of this revision that have a code of their own.
const LACKS_CAPABILITY: i64 = -32_021;
const UNKNOWN_REVISION: i64 = -32_022;

/// The field below `_meta` by which a request asks for the server's log messages.
const LOGS: &str = "io.modelcontextprotocol/logLevel";

/// A conversation of clients without sessions.
pub(super) struct Common {
    pub(super) conversation: Arc<Conversation>,
    asked: Mutex<Asked>,
}

/// Pending requests.
struct Asked {
    /// Number of requests so far.
    count: u64,
    /// By the number that replaces their id and token.
    open: HashMap<String, Open>,
    heard: Instant,
}

/// A request in progress: its own id and token as written, and the destination of its answer.
struct Open {
    id: String,
    token: Option<String>,
    to: mpsc::Sender<Message>,
    /// Whether the client requested log messages of the server; `None` for a subscription, which gets none.
    logs: Option<bool>,
}

/// Whether a message itself states this revision.
pub(super) fn is_of_it(message: &Message) -> bool {
    message.find(message.all(), &["params", "_meta", rpc::REVISION]).is_some()
}

impl Clients {
    /// Answers a message of a client without a session.
    pub(super) async fn stateless(&self, headers: &HeaderMap, message: Message) -> Response {
        let Ok(Parsed::One(frame)) = message.parse() else {
            return failed(StatusCode::BAD_REQUEST, "since revision 2026-07-28 there are no batches");
        };
        let (Some(_), Some(id)) = (&frame.method, &frame.id) else {
            return match frame.method {
                // There is nothing that it could be about: who no longer wants an answer hangs up.
                Some(_) => status(StatusCode::ACCEPTED),
                None => failed(StatusCode::BAD_REQUEST, "since revision 2026-07-28 clients answer nothing"),
            };
        };
        let differs = |differs: Differs| {
            let error = rpc::error(id, HEADERS_DIFFER, &differs.to_string());
            json_body(StatusCode::BAD_REQUEST, error)
        };
        if let Err(error) = agrees(headers, &message, &frame) {
            return differs(error);
        }
        match self.common(headers) {
            Ok(common) => match common.arguments_agree(headers, &message, &frame) {
                Ok(()) => common.answer(headers, &message, &frame).await,
                Err(error) => differs(error.into()),
            },
            Err(Refusal(status, why)) => failed(status, why),
        }
    }

    /// The conversation of the client with these headers.
    fn common(&self, headers: &HeaderMap) -> Result<Arc<Common>, Refusal> {
        let key = self.auth.key(headers);
        let no_name = |_| Refusal(StatusCode::INTERNAL_SERVER_ERROR, "there are no random numbers");
        let scope = match &key {
            Some(key) => Scope::Session(self.session(key).map_err(no_name)?),
            None => self.gateway.scope_of_strangers(),
        };
        let mut all = lock(&self.common);
        if !all.contains_key(&key) && all.len() >= MOST {
            let quietest = quietest(all.iter().map(|(key, common)| (key, common.silence()))).ok_or(FULL)?;
            all.remove(&quietest).into_iter().for_each(|common| self.end(common.conversation.clone()));
        }
        let common = all.entry(key).or_insert_with(|| {
            let (to_client, messages) = mpsc::channel(QUEUE);
            let conversation = Conversation::begin(self.gateway.clone(), scope, to_client);
            let asked = Asked { count: 0, open: HashMap::new(), heard: Instant::now() };
            let common = Arc::new(Common { conversation, asked: Mutex::new(asked) });
            tokio::spawn(common.clone().distribute(messages));
            common
        });
        common.conversation.authorization().set(self.authorization(headers));
        Ok(common.clone())
    }
}

/// A contradiction between the headers of a request and its message.
#[derive(Debug, thiserror::Error)]
enum Differs {
    #[error("the header {0} comes more than once")]
    Twice(&'static str),
    #[error("the header {0} does not say what the message says")]
    Other(&'static str),
    #[error(transparent)]
    Argument(#[from] params::Differs),
}

/// Whether the headers agree with the message. A proxy that reads only the headers must not be misled.
fn agrees(headers: &HeaderMap, message: &Message, frame: &Frame) -> Result<(), Differs> {
    let param = |path: &[&str]| message.string(message.find(frame.params.clone()?, path)?);
    let method = frame.method.as_deref().unwrap_or_default();
    let name = match method {
        "tools/call" | "prompts/get" => param(&["name"]),
        "resources/read" => param(&["uri"]),
        _ => None,
    };
    let table = [
        (REVISION, Some(param(&["_meta", rpc::REVISION]))),
        ("mcp-method", Some(Some(method.to_owned()))),
        ("mcp-name", name.map(Some)),
    ];
    for (header_name, said) in table {
        let Some(said) = said else { continue };
        if headers.get_all(header_name).iter().count() > 1 {
            return Err(Differs::Twice(header_name));
        }
        if said.is_none() || header(headers, header_name).and_then(decoded) != said {
            return Err(Differs::Other(header_name));
        }
    }
    Ok(())
}

/// The HTTP status for an answer.
fn status_of(message: &Message, frame: &Frame) -> StatusCode {
    let code = frame.error.clone().and_then(|error| message.find(error, &["code"]));
    match code.and_then(|range| message.value(range).ok()?.as_i64()) {
        Some(METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(
            PARSE_ERROR | INVALID_REQUEST | INVALID_PARAMS | HEADERS_DIFFER | LACKS_CAPABILITY
            | UNKNOWN_REVISION,
        ) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

impl Common {
    /// Time since the last request; `None` while one is pending.
    pub(super) fn silence(&self) -> Option<Duration> {
        let asked = lock(&self.asked);
        asked.open.is_empty().then(|| asked.heard.elapsed())
    }

    /// Checks that the headers of a call agree with its arguments, as far as the tool's schema is known.
    fn arguments_agree(
        &self,
        headers: &HeaderMap,
        message: &Message,
        frame: &Frame,
    ) -> Result<(), params::Differs> {
        let param = |name: &str| message.find(frame.params.clone()?, &[name]);
        let Some(name) = param("name").and_then(|range| message.string(range)) else { return Ok(()) };
        let Some(params) = self.conversation.params(&name) else { return Ok(()) };
        let arguments = param("arguments").and_then(|range| message.value(range).ok()).unwrap_or_default();
        params::check(&params, &arguments, |name| {
            headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?")).collect()
        })
    }

    /// Answers a request: as JSON if no message precedes the answer, otherwise as events.
    async fn answer(self: Arc<Self>, headers: &HeaderMap, message: &Message, frame: &Frame) -> Response {
        let (says, mut hears) = mpsc::channel(QUEUE);
        let takes_events = takes_events(headers);
        let (Some(asking), request) = self.ask(message, frame, says) else {
            return failed(StatusCode::BAD_REQUEST, "the request cannot be read");
        };
        let mirrored = headers.iter().filter(|(name, _)| name.as_str().starts_with(params::HEADER));
        let mirrored =
            mirrored.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
        self.conversation.sent().put(&request.number, mirrored.collect());
        tokio::spawn(self.conversation.clone().from_client(asking));
        let first = loop {
            match tokio::time::timeout(KEEP_ALIVE, hears.recv()).await {
                Ok(None) => return failed(StatusCode::INTERNAL_SERVER_ERROR, "there is no answer"),
                Ok(Some(message)) => match message.parse() {
                    Ok(Parsed::One(frame)) if frame.method.is_none() => {
                        let code = status_of(&message, &frame);
                        return refused(&message).unwrap_or_else(|| json_body(code, message));
                    }
                    _ if takes_events => break written_message(None, message).left_stream(),
                    _ => {}
                },
                Err(_) if takes_events => break one(SIGN).right_stream(),
                Err(_) => {}
            }
        };
        let rest = stream::unfold((hears, request), |(mut hears, request)| async move {
            let next = match tokio::time::timeout(KEEP_ALIVE, hears.recv()).await {
                Ok(Some(message)) => written_message(None, message).left_stream(),
                Ok(None) => return None,
                Err(_) => one(SIGN).right_stream(),
            };
            Some((next, (hears, request)))
        });
        event_stream(first.chain(rest.flatten()))
    }

    /// A request with a number of ours. Dropping the returned guard cancels it.
    fn ask(
        self: &Arc<Self>,
        message: &Message,
        frame: &Frame,
        to: mpsc::Sender<Message>,
    ) -> (Option<Message>, Request) {
        let mut asked = lock(&self.asked);
        asked.heard = Instant::now();
        asked.count += 1;
        let number = asked.count.to_string();
        let token = frame.params.clone().and_then(|params| message.find(params, &["_meta", "progressToken"]));
        let changes = [frame.id_at.clone(), token.clone()].into_iter().flatten();
        let changes = changes.map(|range| (range, number.clone())).collect();
        let asking = message.with_all(changes, self.conversation.spool()).ok();
        let token = token.and_then(|range| message.text(range).ok());
        let logs = frame.params.clone().and_then(|params| message.find(params, &["_meta", LOGS])).is_some();
        let logs = (frame.method.as_deref() != Some("subscriptions/listen")).then_some(logs);
        let open = Open { id: frame.id.clone().unwrap_or_default(), token, to, logs };
        asked.open.insert(number.clone(), open);
        (asking, Request { common: self.clone(), number })
    }

    /// Takes messages to the requests that they are about, under their own ids.
    async fn distribute(self: Arc<Self>, mut messages: mpsc::Receiver<Message>) {
        while let Some(message) = messages.recv().await {
            let Ok(Parsed::One(frame)) = message.parse() else { continue };
            if let (Some(_), Some(id)) = (&frame.method, &frame.id) {
                // A server that asks would wait for ever: since 2026-07-28 clients answer nothing.
                let none = rpc::error(id, METHOD_NOT_FOUND, "this client answers no requests");
                tokio::spawn(self.conversation.clone().from_client(none));
                continue;
            }
            if let Some((message, to)) = self.for_client(&message, &frame) {
                let _ = to.send(message).await;
            }
        }
    }

    /// Rewrites a message for its client, and returns its destination. A message that belongs to no request is
    /// dropped, since it may concern another client. A log message names no request; it goes to the only request in
    /// progress, if there is exactly one.
    fn for_client(&self, message: &Message, frame: &Frame) -> Option<(Message, mpsc::Sender<Message>)> {
        let inside = |path: &[&str]| message.find(frame.params.clone().or(frame.result.clone())?, path);
        let (token, subscription) = (inside(&["progressToken"]), inside(&["_meta", SUBSCRIPTION]));
        let number = |range: &Option<Range<u64>>| message.text(range.clone()?).ok().map(|text| key(&text));
        let mut asked = lock(&self.asked);
        let (open, changes) = match &frame.method {
            None => {
                let open = asked.open.remove(&key(frame.id.as_deref()?))?;
                let changes = [(frame.id_at.clone(), open.id.clone()), (subscription, open.id.clone())];
                (open, changes)
            }
            Some(method) if method == "notifications/message" => {
                let mut answered = asked.open.values().filter(|open| open.logs.is_some());
                return match (answered.next(), answered.next()) {
                    (Some(Open { logs: Some(true), to, .. }), None) => Some((message.clone(), to.clone())),
                    _ => None,
                };
            }
            Some(_) => {
                let about = number(&subscription).or_else(|| number(&token))?;
                let Open { id, token: own, to, logs } = asked.open.get(&about)?;
                let open = Open { id: id.clone(), token: own.clone(), to: to.clone(), logs: *logs };
                let changes = [(subscription, open.id.clone()), (token, own.clone().unwrap_or(about))];
                (open, changes)
            }
        };
        let changes = changes.into_iter().filter_map(|(range, text)| Some((range?, text))).collect();
        Some((message.with_all(changes, self.conversation.spool()).ok()?, open.to))
    }
}

/// A request whose client is still there.
struct Request {
    common: Arc<Common>,
    number: String,
}

impl Drop for Request {
    fn drop(&mut self) {
        let number = &self.number;
        self.common.conversation.sent().forget(number);
        if lock(&self.common.asked).open.remove(number).is_none() {
            return;
        }
        // Who hangs up before the answer no longer wants it.
        let cancelled = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{number},"reason":"the client has gone"}}}}"#
        );
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(self.common.conversation.clone().from_client(cancelled.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_must_say_what_the_message_says() {
        let text = r#"{"id":1,"method":"tools/call","params":{"name":"é","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let message = Message::from(text.to_owned());
        let Ok(Parsed::One(frame)) = message.parse() else { panic!("one message") };
        let told = |pairs: &[(&str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                let name: axum::http::HeaderName = name.parse().unwrap();
                headers.append(name, value.parse().unwrap());
            }
            agrees(&headers, &message, &frame).err().map(|differs| differs.to_string()).unwrap_or_default()
        };
        let revision = (REVISION, "2026-07-28");
        let (method, name) = (("mcp-method", "tools/call"), ("mcp-name", "=?base64?w6k=?="));
        assert_eq!(told(&[revision, method, name]), "");
        let table = [
            (vec![("mcp-protocol-version", "2026-07-29"), method, name], REVISION),
            (vec![method, name], REVISION),
            (vec![revision, name], "mcp-method"),
            (vec![revision, ("mcp-method", "tools/list"), name], "mcp-method"),
            (vec![revision, method], "mcp-name"),
            (vec![revision, method, ("mcp-name", "=?base64?w6k?=")], "mcp-name"),
            (vec![revision, method, method, name], "mcp-method"),
        ];
        for (pairs, wrong) in table {
            assert!(told(&pairs).contains(wrong), "{pairs:?}");
        }
    }
}
