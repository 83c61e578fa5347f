//! A server at an address: streamable HTTP, and the older transport by server-sent events.
//!
//! Each message is a POST; its answer is JSON or a stream of events. What the server says by itself comes by a GET that
//! stays open. A server that knows only the older way refuses the first POST, and is then asked by a GET where to post.

use super::Authorization;
use super::{Incoming, Link, WAITING};
use crate::conversation::{self, INTERNAL, error_with};
use crate::error::{Error, Result};
use crate::message::{Frame, Growing, Message, Parsed, Spool};
use crate::sse::Events;
use base64::{Engine, engine::general_purpose::STANDARD};
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE,
};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio::task::AbortHandle;

/// A server is reached in this time or not at all.
const CONNECT: Duration = Duration::from_secs(20);

/// A stream that ended is opened again after this time.
const AGAIN: Duration = Duration::from_secs(1);

/// A stream that breaks off is gone on with so many times without anything new.
const TRIES: u32 = 5;

/// The end of a session is told in this time or not at all.
const GOODBYE: Duration = Duration::from_secs(2);

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const REVISION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// What is said of an answer that was refused.
const REFUSAL: usize = 300;

/// One connection.
struct Http {
    name: String,
    address: Url,
    client: Client,
    headers: HeaderMap,
    authorization: Authorization,
    /// Requests of revision 2026-07-28 that are being answered: to call one off is to hang up.
    posts: Mutex<HashMap<String, AbortHandle>>,
    spool: Spool,
    comes: mpsc::Sender<Incoming>,
    /// What the server gave us for the session: headers of every further request.
    session: Mutex<HeaderMap>,
}

/// What every request to a server carries.
pub(super) struct Carried {
    pub(super) headers: BTreeMap<String, String>,
    /// In place of the header of that name, if there is one.
    pub(super) authorization: Authorization,
}

/// Where a stream of events has come to.
#[derive(Default)]
struct Place {
    /// The id of the last event, if they have any.
    id: Option<String>,
    /// How long to wait before coming back, if the server says so.
    retry: Option<Duration>,
}

/// Connects to an address. The first message tells whether it is there.
pub(super) async fn connect(
    name: &str,
    address: &str,
    carried: Carried,
    legacy: bool,
    spool: &Spool,
) -> Result<Link> {
    let wrong = |what: String| Error::Config(format!("the server {name}: {what}"));
    let url = Url::parse(address).map_err(|error| wrong(format!("{address:?} is no address: {error}")))?;
    let mut all = HeaderMap::new();
    for (header, value) in &carried.headers {
        let header: HeaderName =
            header.parse().map_err(|_| wrong(format!("{header:?} is no name of a header")))?;
        let value: HeaderValue =
            value.parse().map_err(|_| wrong(format!("the value of the header {header} cannot be sent")))?;
        all.insert(header, value);
    }
    let client = client(&url).map_err(|error| wrong(format!("no HTTP client can be made: {error}")))?;
    let (to, messages) = mpsc::channel(WAITING);
    let (comes, from) = mpsc::channel(WAITING);
    let http = Arc::new(Http {
        name: name.to_owned(),
        address: url,
        client,
        headers: all,
        authorization: carried.authorization,
        posts: Mutex::default(),
        spool: spool.clone(),
        comes,
        session: Mutex::default(),
    });
    let gone = tokio::spawn(async move {
        match legacy {
            true => http.legacy(messages, None).await,
            false => http.streamable(messages).await,
        }
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

    /// Hangs up if a message calls off a request of revision 2026-07-28: such a server takes no word for it.
    fn hangs_up(&self, message: &Message, frame: &Frame) -> bool {
        let id = frame.params.clone().and_then(|params| message.find(params, &["requestId"]));
        let post = id.and_then(|range| self.posts().remove(&message.text(range).ok()?));
        post.as_ref().map(AbortHandle::abort).is_some()
    }

    /// Sends messages as they come, each by a POST of its own.
    async fn streamable(self: Arc<Self>, mut messages: mpsc::Receiver<Message>) {
        let mut first = true;
        while let Some(message) = messages.recv().await {
            let Ok(Parsed::One(frame)) = message.parse() else { continue };
            let method = frame.method.clone().unwrap_or_default();
            let is_request = frame.id.is_some() && frame.method.is_some();
            if is_request && method != "initialize" {
                // Whoever is slow to answer must not hold the next message up.
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

    async fn send(&self, message: &Message) -> std::result::Result<Response, String> {
        self.send_to(self.address.clone(), message).await
    }

    async fn send_to(&self, address: Url, message: &Message) -> std::result::Result<Response, String> {
        let mut request = self
            .with_headers(self.client.post(address))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        for (name, value) in modern(message) {
            request = request.header(name, value);
        }
        request.body(body(message)).send().await.map_err(|error| said(&error))
    }

    /// Takes in what came of a message.
    async fn taken(&self, message: &Message, sent: std::result::Result<Response, String>) {
        let Ok(Parsed::One(frame)) = message.parse() else { return };
        let id = frame.id.filter(|_| frame.method.is_some());
        let failed = match sent {
            Err(error) => Some(format!("the server {} cannot be reached: {error}", self.name).into()),
            Ok(response) => {
                self.read(response, id.as_deref(), frame.method.as_deref() == Some("initialize")).await
            }
        };
        if let (Some(id), Some(failed)) = (id, failed) {
            let error = error_with(&id, INTERNAL, &failed.text, failed.data);
            let _ = self.comes.send(Incoming::Message(error)).await;
        }
    }

    /// Reads an answer; says what is wrong if the request got none.
    async fn read(&self, response: Response, id: Option<&str>, hello: bool) -> Option<Failure> {
        let status = response.status();
        if let Some(session) = response.headers().get(SESSION).filter(|_| hello) {
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
        let answered = match is_events(&response) {
            true => self.events(response, id, hello).await,
            false => self.json(response, id, hello).await,
        };
        match answered {
            Ok(true) => None,
            Ok(false) => Some(format!("the server {} sent no answer (HTTP {status})", self.name).into()),
            Err(error) => Some(format!("the answer of the server {} broke off: {error}", self.name).into()),
        }
    }

    /// What is said where a server refuses who asks, with what it said itself for clients that can act on it.
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

    async fn json(
        &self,
        mut response: Response,
        id: Option<&str>,
        hello: bool,
    ) -> std::result::Result<bool, String> {
        let mut body = Growing::new(self.spool.clone());
        while let Some(bytes) = response.chunk().await.map_err(|error| said(&error))? {
            body.push(&bytes).map_err(|error| error.to_string())?;
        }
        if body.is_empty() {
            return Ok(false);
        }
        let message = body.finish().map_err(|error| error.to_string())?;
        Ok(self.give(message, id, hello).await)
    }

    /// Reads a stream of events. One that breaks off before the answer to `id` goes on where it was, if its events have
    /// ids.
    async fn events(
        &self,
        response: Response,
        id: Option<&str>,
        hello: bool,
    ) -> std::result::Result<bool, String> {
        let mut place = Place::default();
        let mut answered = self.events_from(response, &mut place, id, hello).await;
        let mut in_vain = 0;
        while id.is_some() && place.id.is_some() && !matches!(answered, Ok(true)) && in_vain < TRIES {
            let before = place.id.clone();
            tokio::select! {
                () = tokio::time::sleep(place.retry.unwrap_or(AGAIN)) => {}
                () = self.comes.closed() => break,
            }
            match self.get(&place).send().await {
                Ok(response) if response.status().is_success() && is_events(&response) => {
                    answered = self.events_from(response, &mut place, id, hello).await;
                }
                Ok(response) => return Err(format!("it cannot be gone on with: HTTP {}", response.status())),
                Err(error) => answered = Err(said(&error)),
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
        id: Option<&str>,
        hello: bool,
    ) -> std::result::Result<bool, String> {
        let mut events = Events::new(self.spool.clone());
        let mut answered = false;
        loop {
            let bytes = response.chunk().await;
            let Some(bytes) = bytes.map_err(|error| said(&error))? else { return Ok(answered) };
            for event in events.push(&bytes).map_err(|error| error.to_string())? {
                answered |= self.give(event.data, id, hello).await;
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

    /// Gives a message on; says whether it is the answer to `id`.
    async fn give(&self, message: Message, id: Option<&str>, hello: bool) -> bool {
        let is_answer = match message.parse() {
            Ok(Parsed::One(frame)) => {
                if let Some(result) = frame.result.filter(|_| hello)
                    && let Some(revision) = message.find(result, &["protocolVersion"])
                    && let Some(revision) = message.string(revision).and_then(|text| text.parse().ok())
                {
                    self.remember(REVISION, revision);
                }
                frame.method.is_none() && frame.id.is_some() && id.is_some()
            }
            Ok(Parsed::Many(_)) => true,
            Err(_) => false,
        };
        let _ = self.comes.send(Incoming::Message(message)).await;
        is_answer
    }

    /// Hears what the server says by itself, as long as it offers that.
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
                        _ = self.events_from(response, &mut place, None, false) => {}
                        () = self.comes.closed() => return,
                    }
                }
                Ok(_) => return,
                Err(_) => {}
            }
            tokio::time::sleep(place.retry.unwrap_or(AGAIN)).await;
        }
    }

    /// The older transport: a GET that stays open says where to post, and brings all answers.
    async fn legacy(self: Arc<Self>, mut messages: mpsc::Receiver<Message>, first: Option<Message>) {
        let why = match self.legacy_until_end(&mut messages, first).await {
            Ok(()) => "it was let go".to_owned(),
            Err(why) => why,
        };
        let _ = self.comes.send(Incoming::Closed(why)).await;
    }

    async fn legacy_until_end(
        &self,
        messages: &mut mpsc::Receiver<Message>,
        first: Option<Message>,
    ) -> std::result::Result<(), String> {
        let mut response = self.get(&Place::default()).send().await.map_err(|error| said(&error))?;
        if !response.status().is_success() || !is_events(&response) {
            return Err(format!("it answered HTTP {} and no events", response.status()));
        }
        let mut events = Events::new(self.spool.clone());
        let mut post_to = None;
        let mut waiting: Vec<Message> = first.into_iter().collect();
        loop {
            let bytes = tokio::select! {
                bytes = response.chunk() => bytes.map_err(|error| said(&error))?,
                message = messages.recv() => {
                    let Some(message) = message else { return Ok(()) };
                    waiting.push(message);
                    Some(Default::default())
                }
            };
            let Some(bytes) = bytes else { return Err("it closed its stream of events".to_owned()) };
            for event in events.push(&bytes).map_err(|error| error.to_string())? {
                if event.name == "endpoint" {
                    let place = event.data.text(event.data.all()).unwrap_or_default();
                    post_to = Some(self.address.join(place.trim()).map_err(|error| error.to_string())?);
                } else {
                    self.give(event.data, None, false).await;
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

/// What came of the first message.
enum Posted {
    Taken,
    /// The server does not know this transport.
    Refused,
}

/// The headers that revision 2026-07-28 wants to see what a message is without reading it.
fn modern(message: &Message) -> Vec<(&'static str, String)> {
    let Ok(Parsed::One(frame)) = message.parse() else { return Vec::new() };
    let param = |path: &[&str]| message.string(message.find(frame.params.clone()?, path)?);
    let Some(revision) = param(&["_meta", conversation::REVISION]) else { return Vec::new() };
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

/// A text as a header can carry it: as it is, or in base64.
fn encoded(text: &str) -> String {
    let plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    match plain {
        true => text.to_owned(),
        false => format!("=?base64?{}?=", STANDARD.encode(text)),
    }
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

/// An error with what is behind it: the outermost says only that a request failed.
fn said(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
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
