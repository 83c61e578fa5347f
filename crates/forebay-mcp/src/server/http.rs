//! A server at an address: streamable HTTP, and the older transport by server-sent events.
//!
//! Each message is a POST; its answer is JSON or a stream of events. What the server says by itself comes by a GET that
//! stays open. A server that knows only the older way refuses the first POST, and is then asked by a GET where to post.

use super::{Incoming, Link, WAITING};
use crate::conversation::{INTERNAL, error};
use crate::error::{Error, Result};
use crate::message::{Growing, Message, Parsed, Spool};
use crate::sse::Events;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;

/// A server is reached in this time or not at all.
const CONNECT: Duration = Duration::from_secs(20);

/// A stream that ended is opened again after this time.
const AGAIN: Duration = Duration::from_secs(1);

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
    spool: Spool,
    comes: mpsc::Sender<Incoming>,
    /// What the server gave us for the session: headers of every further request.
    session: Mutex<HeaderMap>,
}

/// Connects to an address. The first message tells whether it is there.
pub(super) async fn connect(
    name: &str,
    address: &str,
    headers: &BTreeMap<String, String>,
    legacy: bool,
    spool: &Spool,
) -> Result<Link> {
    let wrong = |what: String| Error::Config(format!("the server {name}: {what}"));
    let url = Url::parse(address).map_err(|error| wrong(format!("{address:?} is no address: {error}")))?;
    let mut all = HeaderMap::new();
    for (header, value) in headers {
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
        request.headers(self.headers.clone()).headers(self.session())
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
                let http = self.clone();
                tokio::spawn(async move { http.post(&message).await });
                first = false;
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
            Err(error) => Some(format!("the server {} cannot be reached: {error}", self.name)),
            Ok(response) => {
                self.read(response, id.as_deref(), frame.method.as_deref() == Some("initialize")).await
            }
        };
        if let (Some(id), Some(failed)) = (id, failed) {
            let _ = self.comes.send(Incoming::Message(error(&id, INTERNAL, &failed))).await;
        }
    }

    /// Reads an answer; says what is wrong if the request got none.
    async fn read(&self, response: Response, id: Option<&str>, hello: bool) -> Option<String> {
        let status = response.status();
        if let Some(session) = response.headers().get(SESSION).filter(|_| hello) {
            self.remember(SESSION, session.clone());
        }
        if status == StatusCode::NOT_FOUND && self.session().contains_key(SESSION) {
            // The session is over; a new one is begun.
            let _ = self.comes.send(Incoming::Closed("it has ended our session".to_owned())).await;
            return None;
        }
        if !status.is_success() && !is_json(&response) {
            let body = response.text().await.unwrap_or_default();
            let body = forebay::shortened(body.trim(), REFUSAL);
            let hint = match status {
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => " (set the header Authorization for it)",
                _ => "",
            };
            return Some(format!("the server {} answered HTTP {status}{hint}: {body}", self.name));
        }
        let answered = match is_events(&response) {
            true => self.events(response, id, hello).await,
            false => self.json(response, id, hello).await,
        };
        match answered {
            Ok(true) => None,
            Ok(false) => Some(format!("the server {} sent no answer (HTTP {status})", self.name)),
            Err(error) => Some(format!("the answer of the server {} broke off: {error}", self.name)),
        }
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

    async fn events(
        &self,
        mut response: Response,
        id: Option<&str>,
        hello: bool,
    ) -> std::result::Result<bool, String> {
        let mut events = Events::new(self.spool.clone());
        let mut answered = false;
        while let Some(bytes) = response.chunk().await.map_err(|error| said(&error))? {
            for event in events.push(&bytes).map_err(|error| error.to_string())? {
                answered |= self.give(event.data, id, hello).await;
            }
        }
        Ok(answered)
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
        loop {
            let request =
                self.with_headers(self.client.get(self.address.clone())).header(ACCEPT, "text/event-stream");
            let response = tokio::select! {
                response = request.send() => response,
                () = self.comes.closed() => return,
            };
            match response {
                Ok(response) if response.status().is_success() && is_events(&response) => {
                    tokio::select! {
                        _ = self.events(response, None, false) => {}
                        () = self.comes.closed() => return,
                    }
                }
                Ok(_) => return,
                Err(_) => {}
            }
            tokio::time::sleep(AGAIN).await;
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
        let request =
            self.with_headers(self.client.get(self.address.clone())).header(ACCEPT, "text/event-stream");
        let mut response = request.send().await.map_err(|error| said(&error))?;
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
    let Some(revision) = param(&["_meta", "io.modelcontextprotocol/protocolVersion"]) else {
        return Vec::new();
    };
    let name = param(&["name"]).or_else(|| param(&["uri"]));
    let mut headers = vec![("mcp-protocol-version", revision)];
    headers.extend(frame.method.clone().map(|method| ("mcp-method", method)));
    headers.extend(name.map(|name| ("mcp-name", name)));
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

/// An error with what is behind it: the outermost says only that a request failed.
fn said(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
