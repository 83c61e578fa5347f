//! A server with a URL: streamable HTTP, or the older transport with server-sent events.
//!
//! Each message is a POST; its answer is JSON or a stream of events. Other messages of the server arrive on a GET
//! that stays open. A server that supports only the older transport refuses the first POST; a GET then returns the
//! URL for posts.

use super::Authorization;
use super::{Incoming, Link, QUEUE};
use crate::error::{Error, Result};
use crate::listing::Listing;
use crate::message::{Frame, Growing, Message, Parsed, Spool};
use crate::params::{self, Param, Sent, encoded};
use crate::rpc::{self, HEADERS_DIFFER, INTERNAL_ERROR, error_with};
use crate::sse::Events;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE,
};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio::task::AbortHandle;

/// Connection timeout.
const CONNECT: Duration = Duration::from_secs(20);

/// Pause before a stream that ended is opened again.
const AGAIN: Duration = Duration::from_secs(1);

/// Maximum attempts to resume a stream without a new event.
const TRIES: u32 = 5;

/// Timeout for closing the session at the server.
const GOODBYE: Duration = Duration::from_secs(2);

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const REVISION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// Maximum characters that are reported of a refusal.
const REFUSAL: usize = 300;

/// Maximum pages of a list of tools.
const PAGES: usize = 1_000;

/// One connection.
struct Http {
    name: String,
    address: Url,
    client: Client,
    headers: HeaderMap,
    authorization: Authorization,
    /// Values that clients have sent as `Mcp-Param-…`.
    sent: Sent,
    /// The tool arguments that are also sent as headers, as far as they are known.
    params: Mutex<HashMap<String, Vec<Param>>>,
    /// Requests of revision 2026-07-28 in progress. Closing the connection cancels one.
    posts: Mutex<HashMap<String, AbortHandle>>,
    spool: Spool,
    comes: mpsc::Sender<Incoming>,
    /// Headers of the session that the server has set for further requests.
    session: Mutex<HeaderMap>,
}

/// Headers of every request to a server.
pub(super) struct Carried {
    pub(super) headers: BTreeMap<String, String>,
    /// In place of the header of that name, if there is one.
    pub(super) authorization: Authorization,
    /// Values that clients have sent as `Mcp-Param-…`.
    pub(super) sent: Sent,
}

/// The position in a stream of events.
#[derive(Default)]
struct Place {
    /// The id of the last event, if they have any.
    id: Option<String>,
    /// Pause before reconnecting, if the server sets one.
    retry: Option<Duration>,
}

/// Connects to a URL. Only the first message shows whether there is a server.
pub(super) async fn connect(
    name: &str,
    address: &str,
    carried: Carried,
    legacy: bool,
    spool: &Spool,
) -> Result<Link> {
    let wrong = |what: String| Error::Config(format!("the server {name}: {what}"));
    let url = Url::parse(address).map_err(|error| wrong(format!("{address:?} is not a URL: {error}")))?;
    let mut all = HeaderMap::new();
    for (header, value) in &carried.headers {
        let header: HeaderName =
            header.parse().map_err(|_| wrong(format!("{header:?} is not the name of a header")))?;
        let value: HeaderValue =
            value.parse().map_err(|_| wrong(format!("the value of the header {header} cannot be sent")))?;
        all.insert(header, value);
    }
    let client = client(&url).map_err(|error| wrong(format!("no HTTP client can be made: {error}")))?;
    let (to, messages) = mpsc::channel(QUEUE);
    let (comes, from) = mpsc::channel(QUEUE);
    let http = Arc::new(Http {
        name: name.to_owned(),
        address: url,
        client,
        headers: all,
        authorization: carried.authorization,
        sent: carried.sent,
        params: Mutex::default(),
        posts: Mutex::default(),
        spool: spool.clone(),
        comes,
        session: Mutex::default(),
    });
    let gone = tokio::spawn(async move {
        if legacy { http.legacy(messages, None).await } else { http.streamable(messages).await }
    });
    Ok(Link { to, from, gone })
}

/// A client that needs certificates only for addresses that do.
fn client(address: &Url) -> reqwest::Result<Client> {
    // Somebody else in this process may have chosen one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = || Client::builder().connect_timeout(CONNECT);
    match address.scheme() {
        "http" => builder().tls_certs_only([]).build(),
        _ => builder().build(),
    }
}

impl Http {
    fn session(&self) -> HeaderMap {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember(&self, name: HeaderName, value: HeaderValue) {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).insert(name, value);
    }

    fn with_headers(&self, request: RequestBuilder) -> RequestBuilder {
        let mut headers = self.headers.clone();
        if let Some(value) = self.authorization.get().and_then(|value| HeaderValue::from_str(&value).ok()) {
            headers.insert(AUTHORIZATION, value);
        }
        request.headers(headers).headers(self.session())
    }

    fn posts(&self) -> MutexGuard<'_, HashMap<String, AbortHandle>> {
        self.posts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the connection if a message cancels a request of revision 2026-07-28, in which there is no message for
    /// it.
    fn hangs_up(&self, message: &Message, frame: &Frame) -> bool {
        let id = frame.params.clone().and_then(|params| message.find(params, &["requestId"]));
        let post = id.and_then(|range| self.posts().remove(&message.text(range).ok()?));
        post.as_ref().map(AbortHandle::abort).is_some()
    }

    /// Sends messages as they arrive, each in a separate POST.
    async fn streamable(self: Arc<Self>, mut messages: mpsc::Receiver<Message>) {
        let mut first = true;
        while let Some(message) = messages.recv().await {
            let Ok(Parsed::One(frame)) = message.parse() else { continue };
            let method = frame.method.clone().unwrap_or_default();
            let is_request = frame.id.is_some() && frame.method.is_some();
            if is_request && method != "initialize" {
                // A slow response must not delay the next message.
                let (http, is_modern) = (self.clone(), !modern(&message).is_empty());
                let id = frame.id.unwrap_or_default();
                let (own, begin) = (id.clone(), Arc::new(Notify::new()));
                let begins = begin.clone();
                let post = tokio::spawn(async move {
                    begins.notified().await;
                    http.post(&message).await;
                    http.posts().remove(&own);
                });
                if is_modern {
                    self.posts().insert(id, post.abort_handle());
                }
                begin.notify_one();
                continue;
            }
            if method == "notifications/cancelled" && self.hangs_up(&message, &frame) {
                continue;
            }
            if let Posted::Refused = self.post_first(&message, first).await {
                return self.legacy(messages, Some(message)).await;
            }
            first = false;
            if method == "notifications/initialized" {
                tokio::spawn(self.clone().listen());
            }
        }
        let farewell = self.with_headers(self.client.delete(self.address.clone())).send();
        if self.session().contains_key(SESSION) {
            let _ = tokio::time::timeout(GOODBYE, farewell).await;
        }
        let _ = self.comes.send(Incoming::Closed("it was let go".to_owned())).await;
    }

    async fn post_first(self: &Arc<Self>, message: &Message, first: bool) -> Posted {
        match self.send(message).await {
            Ok(response)
                if first
                    && [StatusCode::BAD_REQUEST, StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED]
                        .contains(&response.status())
                    && !is_json(&response) =>
            {
                Posted::Refused
            }
            sent => {
                self.taken(message, sent).await;
                Posted::Taken
            }
        }
    }

    async fn post(&self, message: &Message) {
        let sent = self.send(message).await;
        self.taken(message, sent).await;
    }

    async fn send(&self, message: &Message) -> std::result::Result<Response, Broken> {
        self.send_to(self.address.clone(), message).await
    }

    async fn send_to(&self, address: Url, message: &Message) -> std::result::Result<Response, Broken> {
        let mut request = self
            .with_headers(self.client.post(address))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        let modern = modern(message);
        if !modern.is_empty() {
            for (name, value) in self.mirrored(message) {
                request = request.header(name, value);
            }
        }
        for (name, value) in modern {
            request = request.header(name, value);
        }
        Ok(request.body(body(message)).send().await?)
    }

    fn params(&self) -> MutexGuard<'_, HashMap<String, Vec<Param>>> {
        self.params.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Arguments of a call as headers: those that the client has sent, otherwise the required ones.
    fn mirrored(&self, message: &Message) -> params::Headers {
        let Ok(Parsed::One(frame)) = message.parse() else { return Vec::new() };
        let id = frame.id.as_deref().map(rpc::key).unwrap_or_default();
        if let Some(sent) = self.sent.get(&id) {
            return sent;
        }
        let param = |name: &str| message.find(frame.params.clone()?, &[name]);
        let Some(name) = param("name").and_then(|range| message.string(range)) else { return Vec::new() };
        let params = match self.params().get(&name) {
            Some(params) if frame.method.as_deref() == Some("tools/call") => params.clone(),
            _ => return Vec::new(),
        };
        let arguments = param("arguments").and_then(|range| message.value(range).ok()).unwrap_or_default();
        params::headers(&params, &arguments)
    }

    /// Notes which arguments of the tools in a list are also sent as headers.
    fn learn(&self, message: &Message, result: Range<u64>) -> Option<String> {
        let listing = Listing::of(message, result, "tools").ok()?;
        for entry in listing.entries {
            let marked = |text: &String| text.contains(params::MARK);
            let schema = message.find(entry.clone(), &["inputSchema"]);
            let schema = schema.and_then(|range| message.text(range).ok()).filter(marked);
            let name = message.find(entry, &["name"]).and_then(|range| message.string(range));
            let Some(name) = name else { continue };
            let declared = schema.and_then(|text| params::declared(&serde_json::from_str(&text).ok()?).ok());
            match declared {
                Some(params) => self.params().insert(name, params),
                None => self.params().remove(&name),
            };
        }
        listing.next
    }

    /// Fetches the tools again after a call was refused for its headers; returns whether they are known now.
    async fn fetch_tools_again(&self, call: &Message) -> bool {
        let before = self.mirrored(call);
        let meta = call.find(call.all(), &["params", "_meta"]).and_then(|range| call.value(range).ok());
        let mut meta = meta.unwrap_or_default();
        meta.as_object_mut().map(|meta| meta.remove("progressToken"));
        let mut params = json!({ "_meta": meta });
        for _ in 0..PAGES {
            let asked = json!({ "jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": params });
            let Ok(response) = self.send(&asked.to_string().into()).await else { break };
            let Some((answer, Some(result))) = self.answer_in(response).await else { break };
            match self.learn(&answer, result) {
                Some(next) => params["cursor"] = next.into(),
                None => break,
            }
        }
        self.mirrored(call) != before
    }

    /// Whether a refused call can be sent again with other headers.
    async fn can_mend(&self, call: &Message, frame: &Frame, refusal: &Message) -> bool {
        let code = refusal.find(refusal.all(), &["error", "code"]).and_then(|at| refusal.text(at).ok());
        // Headers that the client has sent itself are not corrected.
        let is_its_own = frame.id.as_deref().is_some_and(|id| self.sent.get(&rpc::key(id)).is_some());
        code == Some(HEADERS_DIFFER.to_string()) && !is_its_own && self.fetch_tools_again(call).await
    }

    /// The only answer in a response, and its result.
    async fn answer_in(&self, mut response: Response) -> Option<(Message, Option<Range<u64>>)> {
        let (mut body, mut events) = (Growing::new(self.spool.clone()), Events::new(self.spool.clone()));
        let is_events = is_events(&response);
        let answer = |message: Message| match message.parse() {
            Ok(Parsed::One(Frame { method: None, result, .. })) => Some((message, result)),
            _ => None,
        };
        while let Some(bytes) = response.chunk().await.ok()? {
            if !is_events {
                body.push(&bytes).ok()?;
                continue;
            }
            let found = events.push(&bytes).ok()?.into_iter().find_map(|event| answer(event.data));
            if found.is_some() {
                return found;
            }
        }
        answer(body.finish().ok()?)
    }

    /// Handles the response to a message.
    async fn taken(&self, message: &Message, sent: std::result::Result<Response, Broken>) {
        let Ok(Parsed::One(frame)) = message.parse() else { return };
        let method = frame.method.as_deref().unwrap_or_default();
        let is_refused =
            |response: &Response| response.status() == StatusCode::BAD_REQUEST && is_json(response);
        let sent = match sent {
            Ok(response) if method == "tools/call" && is_refused(&response) => {
                let Some((answer, _)) = self.answer_in(response).await else { return };
                if !self.can_mend(message, &frame, &answer).await {
                    let _ = self.comes.send(Incoming::Message(answer)).await;
                    return;
                }
                self.send(message).await
            }
            sent => sent,
        };
        let id = frame.id.as_deref().filter(|_| frame.method.is_some());
        let failed = match sent {
            Err(error) => Some(format!("the server {} cannot be reached: {error}", self.name).into()),
            Ok(response) => self.read(response, Asked { id, method }).await,
        };
        if let (Some(id), Some(failed)) = (id, failed) {
            let error = error_with(id, INTERNAL_ERROR, &failed.text, failed.data);
            let _ = self.comes.send(Incoming::Message(error)).await;
        }
    }

    /// Reads a response; returns an error if the request got no answer.
    async fn read(&self, response: Response, asked: Asked<'_>) -> Option<Failure> {
        let status = response.status();
        if let Some(session) = response.headers().get(SESSION).filter(|_| asked.method == "initialize") {
            self.remember(SESSION, session.clone());
        }
        if status == StatusCode::NOT_FOUND && self.session().contains_key(SESSION) {
            // The session is over; a new one is begun.
            let _ = self.comes.send(Incoming::Closed("it has ended our session".to_owned())).await;
            return None;
        }
        if [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&status) {
            return Some(self.wants_to_know_who_asks(response).await);
        }
        if !status.is_success() && !is_json(&response) {
            let body = response.text().await.unwrap_or_default();
            let body = forebay::shortened(body.trim(), REFUSAL);
            return Some(format!("the server {} answered HTTP {status}: {body}", self.name).into());
        }
        let answered = if is_events(&response) {
            self.events(response, asked).await
        } else {
            self.json(response, asked).await
        };
        match answered {
            Ok(true) => None,
            Ok(false) => Some(format!("the server {} sent no answer (HTTP {status})", self.name).into()),
            Err(error) => Some(format!("the answer of the server {} broke off: {error}", self.name).into()),
        }
    }

    /// Failure for a request that a server refuses without authentication. It carries the server's challenge, for clients that
    /// can act on it.
    async fn wants_to_know_who_asks(&self, response: Response) -> Failure {
        let status = response.status();
        let challenge = response.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
        let data = json!({ "httpStatus": status.as_u16(), "wwwAuthenticate": challenge });
        let body = response.text().await.unwrap_or_default();
        let body = forebay::shortened(body.trim(), REFUSAL);
        let text = format!(
            "the server {} refused the request (HTTP {status}): it must be told who asks, and asking again does not help. \
             Whoever set up the gateway gives it the header Authorization: --header 'Authorization: Bearer ${{NAME}}' beside \
             --url, or \"headers\" in the file of --config, where ${{NAME}} is a variable of the environment. It said: {body}",
            self.name
        );
        Failure { text, data: Some(data) }
    }

    async fn json(&self, mut response: Response, asked: Asked<'_>) -> std::result::Result<bool, Broken> {
        let mut body = Growing::new(self.spool.clone());
        while let Some(bytes) = response.chunk().await? {
            body.push(&bytes)?;
        }
        if body.is_empty() {
            return Ok(false);
        }
        let message = body.finish()?;
        Ok(self.give(message, asked).await)
    }

    /// Reads a stream of events. A stream that breaks before the answer is resumed, if its events have ids.
    async fn events(&self, response: Response, asked: Asked<'_>) -> std::result::Result<bool, Broken> {
        let mut place = Place::default();
        let mut answered = self.events_from(response, &mut place, asked).await;
        let mut in_vain = 0;
        while asked.id.is_some() && place.id.is_some() && !matches!(answered, Ok(true)) && in_vain < TRIES {
            let before = place.id.clone();
            tokio::select! {
                () = tokio::time::sleep(place.retry.unwrap_or(AGAIN)) => {}
                () = self.comes.closed() => break,
            }
            match self.get(&place).send().await {
                Ok(response) if response.status().is_success() && is_events(&response) => {
                    answered = self.events_from(response, &mut place, asked).await;
                }
                Ok(response) => return Err(Broken::NoMore(response.status())),
                Err(error) => answered = Err(error.into()),
            }
            in_vain = if place.id == before { in_vain + 1 } else { 0 };
        }
        answered
    }

    /// Reads one connection's events to their end.
    async fn events_from(
        &self,
        mut response: Response,
        place: &mut Place,
        asked: Asked<'_>,
    ) -> std::result::Result<bool, Broken> {
        let mut events = Events::new(self.spool.clone());
        let mut answered = false;
        loop {
            let Some(bytes) = response.chunk().await? else { return Ok(answered) };
            for event in events.push(&bytes)? {
                answered |= self.give(event.data, asked).await;
            }
            place.id = events.last_id().map(str::to_owned).or(place.id.take());
            place.retry = events.retry().or(place.retry);
        }
    }

    /// A request for events: from a place on, if there was one.
    fn get(&self, place: &Place) -> RequestBuilder {
        let request =
            self.with_headers(self.client.get(self.address.clone())).header(ACCEPT, "text/event-stream");
        match &place.id {
            Some(id) => request.header("last-event-id", id),
            None => request,
        }
    }

    /// Passes a message on; returns whether it is the answer to the request.
    async fn give(&self, message: Message, asked: Asked<'_>) -> bool {
        let is_answer = match message.parse() {
            Ok(Parsed::One(frame)) => {
                match (frame.result, asked.method) {
                    (Some(result), "initialize") => {
                        let revision = message.find(result, &["protocolVersion"]);
                        let revision = revision.and_then(|range| message.string(range)?.parse().ok());
                        revision.into_iter().for_each(|revision| self.remember(REVISION, revision));
                    }
                    (Some(result), "tools/list") => drop(self.learn(&message, result)),
                    _ => {}
                }
                frame.method.is_none() && frame.id.is_some() && asked.id.is_some()
            }
            Ok(Parsed::Many(_)) => true,
            Err(_) => false,
        };
        let _ = self.comes.send(Incoming::Message(message)).await;
        is_answer
    }

    /// Listens for messages that the server sends on its own, if it offers them.
    async fn listen(self: Arc<Self>) {
        let mut place = Place::default();
        loop {
            let response = tokio::select! {
                response = self.get(&place).send() => response,
                () = self.comes.closed() => return,
            };
            match response {
                Ok(response) if response.status().is_success() && is_events(&response) => {
                    tokio::select! {
                        _ = self.events_from(response, &mut place, Asked::NOTHING) => {}
                        () = self.comes.closed() => return,
                    }
                }
                Ok(_) => return,
                Err(_) => {}
            }
            tokio::time::sleep(place.retry.unwrap_or(AGAIN)).await;
        }
    }

    /// The older transport: a GET that stays open names the URL for posts, and carries all answers.
    async fn legacy(self: Arc<Self>, mut messages: mpsc::Receiver<Message>, first: Option<Message>) {
        let why = match self.legacy_until_end(&mut messages, first).await {
            Ok(()) => "it was let go".to_owned(),
            Err(broken) => broken.to_string(),
        };
        let _ = self.comes.send(Incoming::Closed(why)).await;
    }

    async fn legacy_until_end(
        &self,
        messages: &mut mpsc::Receiver<Message>,
        first: Option<Message>,
    ) -> std::result::Result<(), Broken> {
        let mut response = self.get(&Place::default()).send().await?;
        if !response.status().is_success() || !is_events(&response) {
            return Err(Broken::NoEvents(response.status()));
        }
        let mut events = Events::new(self.spool.clone());
        let mut post_to = None;
        let mut waiting: Vec<Message> = first.into_iter().collect();
        loop {
            let bytes = tokio::select! {
                bytes = response.chunk() => bytes?,
                message = messages.recv() => {
                    let Some(message) = message else { return Ok(()) };
                    waiting.push(message);
                    Some(Default::default())
                }
            };
            let Some(bytes) = bytes else { return Err(Broken::Closed) };
            for event in events.push(&bytes)? {
                if event.name == "endpoint" {
                    let place = event.data.text(event.data.all()).unwrap_or_default();
                    let place = place.trim();
                    post_to = Some(self.address.join(place).map_err(|_| Broken::Place(place.to_owned()))?);
                } else {
                    self.give(event.data, Asked::NOTHING).await;
                }
            }
            if let Some(address) = &post_to {
                for message in std::mem::take(&mut waiting) {
                    let sent = self.send_to(address.clone(), &message).await;
                    match sent {
                        Ok(response) if response.status().is_success() => {}
                        sent => self.taken(&message, sent).await,
                    }
                }
            }
        }
    }
}

/// The request that something answers.
#[derive(Clone, Copy)]
struct Asked<'a> {
    id: Option<&'a str>,
    method: &'a str,
}

impl Asked<'_> {
    /// Messages that the server sends without a request.
    const NOTHING: Asked<'static> = Asked { id: None, method: "" };
}

/// Why a request got no answer, and what a program can make of it.
struct Failure {
    text: String,
    data: Option<Value>,
}

impl From<String> for Failure {
    fn from(text: String) -> Failure {
        Failure { text, data: None }
    }
}

/// The result of the first message.
enum Posted {
    Taken,
    /// The server does not know this transport.
    Refused,
}

/// The headers that revision 2026-07-28 wants to see what a message is without reading it.
fn modern(message: &Message) -> Vec<(&'static str, String)> {
    let Ok(Parsed::One(frame)) = message.parse() else { return Vec::new() };
    let param = |path: &[&str]| message.string(message.find(frame.params.clone()?, path)?);
    let Some(revision) = param(&["_meta", rpc::REVISION]) else { return Vec::new() };
    let name = match frame.method.as_deref() {
        Some("tools/call" | "prompts/get") => param(&["name"]),
        Some("resources/read") => param(&["uri"]),
        _ => None,
    };
    let mut headers = vec![("mcp-protocol-version", revision)];
    headers.extend(frame.method.clone().map(|method| ("mcp-method", method)));
    headers.extend(name.map(|name| ("mcp-name", encoded(&name))));
    headers.retain(|(_, value)| HeaderValue::from_str(value).is_ok());
    headers
}

fn body(message: &Message) -> reqwest::Body {
    match message {
        Message::Memory(bytes) => bytes.clone().into(),
        Message::File { .. } => reqwest::Body::wrap_stream(crate::message::blocks(message.clone())),
    }
}

fn is_json(response: &Response) -> bool {
    is_of(response, "application/json")
}

fn is_events(response: &Response) -> bool {
    is_of(response, "text/event-stream")
}

fn is_of(response: &Response, kind: &str) -> bool {
    let header = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    header.is_some_and(|value| value.trim_start().to_lowercase().starts_with(kind))
}

/// Why there is no answer, or no more of one.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("{}", innermost(.0))]
    Request(#[from] reqwest::Error),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("it cannot be gone on with: HTTP {0}")]
    NoMore(StatusCode),
    #[error("it answered HTTP {0} and no events")]
    NoEvents(StatusCode),
    #[error("it closed its stream of events")]
    Closed,
    #[error("it says that messages go to {0:?}, which is no address")]
    Place(String),
}

/// The cause of an error: the outermost error says only that a request failed.
fn innermost(error: &reqwest::Error) -> &dyn std::error::Error {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_without_a_session_says_in_its_headers_what_it_is() {
        let told = |method: &str, params: &str| {
            let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
            let text = format!(r#"{{"id":1,"method":"{method}","params":{{{params}{meta}}}}}"#);
            modern(&text.into()).into_iter().map(|(_, value)| value).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(told("tools/list", ""), "2026-07-28 tools/list");
        assert_eq!(told("tools/call", r#""name":"a b","#), "2026-07-28 tools/call a b");
        assert_eq!(told("tools/call", r#""name":"é","#), "2026-07-28 tools/call =?base64?w6k=?=");
        assert_eq!(
            told("resources/read", r#""uri":"x://y ","#),
            "2026-07-28 resources/read =?base64?eDovL3kg?="
        );
        assert_eq!(told("completion/complete", r#""name":"x","#), "2026-07-28 completion/complete");
        assert!(modern(&r#"{"id":1,"method":"tools/list"}"#.to_owned().into()).is_empty());
    }
}
