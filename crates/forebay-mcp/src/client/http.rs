//! Clients over streamable HTTP.
//!
//! A client of a revision with sessions begins with `initialize`. It gets a session id, and its own conversation and
//! servers; only a client with the id can reach the session (`streams`). Since revision 2026-07-28 there are no
//! sessions, and every request is independent (`stateless`). `auth` decides which clients are accepted.

mod auth;
mod stateless;
mod streams;

use crate::conversation::Conversation;
use crate::error::Result;
use crate::gateway::{Gateway, Scope};
use crate::message::{Frame, Growing, Message, Parsed, blocks};
use crate::rpc::{INVALID_REQUEST, STATELESS_SINCE, error};
use crate::server::QUEUE;
pub use auth::Auth;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::Response;
use forebay::Session;
use futures_util::{Stream, StreamExt, stream};
use stateless::Common;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use streams::{Event, Streams};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Path of the endpoint.
pub(crate) const PATH: &str = "/mcp";

const SESSION: &str = "mcp-session-id";
const REVISION: &str = "mcp-protocol-version";
const LAST_EVENT: &str = "last-event-id";

/// The first revision whose clients accept an event without data, which gives them an id to resume from.
const PRIMED_SINCE: &str = "2025-11-25";

/// Longest silence on a stream: after it, a comment keeps the connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Time of silence after which a client counts as disconnected and its servers are stopped.
const SILENCE: Duration = Duration::from_secs(30 * 60);

/// Maximum clients at once, since each has its own servers. A further client replaces the one that was silent
/// longest, since many leave without notice.
const MOST: usize = 128;

const FULL: Refusal =
    Refusal(StatusCode::SERVICE_UNAVAILABLE, "too many clients are connected; try again in a moment");

/// Why a request is not answered.
struct Refusal(StatusCode, &'static str);

/// All clients.
struct Clients {
    gateway: Arc<Gateway>,
    auth: Auth,
    /// Clients with sessions, by the session's id.
    all: Mutex<HashMap<String, Arc<Client>>>,
    /// Clients without sessions, by the value that identifies them.
    common: Mutex<HashMap<Option<String>, Arc<Common>>>,
    /// The sessions of clients that a value identifies.
    known: Mutex<HashMap<String, Session>>,
    /// Conversations that are ending: a server may take long, and the client need not wait for it.
    ending: Mutex<Vec<JoinHandle<()>>>,
}

/// One client with a session.
struct Client {
    conversation: Arc<Conversation>,
    streams: Streams,
}

/// Locks a value that is never left half changed, so that a panic in another thread does no harm.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves clients until `stopped` ends. Calls `listening` with the address.
pub(crate) async fn serve(
    gateway: Arc<Gateway>,
    auth: Auth,
    listening: impl FnOnce(&str),
    stopped: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    auth.check()?;
    let listener = tokio::net::TcpListener::bind(auth.listen).await?;
    listening(&format!("http://{}{PATH}", listener.local_addr()?));
    let clients = Arc::new(Clients {
        gateway,
        auth,
        all: Mutex::default(),
        common: Mutex::default(),
        known: Mutex::default(),
        ending: Mutex::default(),
    });
    tokio::spawn(clients.clone().end_silent_clients());
    let router = Router::new().fallback(answer).with_state(clients.clone());
    tokio::select! {
        served = async { axum::serve(listener, router).await } => served?,
        () = stopped => {}
    }
    let all: Vec<Arc<Client>> = lock(&clients.all).drain().map(|(_, client)| client).collect();
    let common: Vec<Arc<Common>> = lock(&clients.common).drain().map(|(_, common)| common).collect();
    all.iter().for_each(|client| clients.end(client.conversation.clone()));
    common.iter().for_each(|common| clients.end(common.conversation.clone()));
    let ending = std::mem::take(&mut *lock(&clients.ending));
    futures_util::future::join_all(ending).await;
    Ok(())
}

async fn answer(State(clients): State<Arc<Clients>>, request: Request) -> Response {
    if let Some((status, why)) = clients.auth.refusal(request.headers()) {
        return plain(status, why);
    }
    if request.uri().path() != PATH {
        return plain(StatusCode::NOT_FOUND, "the endpoint is /mcp");
    }
    let stateless = is_stateless(request.headers());
    match *request.method() {
        Method::POST => clients.post(request).await,
        Method::GET if !stateless => clients.listen(request.headers()),
        Method::DELETE if !stateless => clients.delete(request.headers()),
        _ if stateless => plain(StatusCode::METHOD_NOT_ALLOWED, "POST"),
        _ => plain(StatusCode::METHOD_NOT_ALLOWED, "POST, GET or DELETE"),
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Whether the headers name a revision without sessions.
fn is_stateless(headers: &HeaderMap) -> bool {
    !headers.contains_key(SESSION)
        && header(headers, REVISION).is_some_and(|revision| revision >= STATELESS_SINCE)
}

impl Clients {
    /// Ends the conversation of a client that has disconnected.
    fn end(&self, conversation: Arc<Conversation>) {
        let mut ending = lock(&self.ending);
        ending.retain(|end| !end.is_finished());
        ending.push(tokio::spawn(async move { conversation.end().await }));
    }

    /// The client of a request.
    fn client(&self, headers: &HeaderMap) -> std::result::Result<Arc<Client>, Refusal> {
        let Some(id) = header(headers, SESSION) else {
            let why = "the session id is missing: begin a session with initialize";
            return Err(Refusal(StatusCode::BAD_REQUEST, why));
        };
        match lock(&self.all).get(id) {
            Some(client) => Ok(client.clone()),
            None => {
                Err(Refusal(StatusCode::NOT_FOUND, "there is no such session: begin one with initialize"))
            }
        }
    }

    /// The session of the clients that `key` identifies.
    fn session(&self, key: &str) -> Result<Session> {
        let mut known = lock(&self.known);
        if let Some(session) = known.get(key) {
            return Ok(session.clone());
        }
        let session = self.gateway.session()?;
        known.insert(key.to_owned(), session.clone());
        Ok(session)
    }

    /// A client's `Authorization`, if it is passed on.
    fn authorization(&self, headers: &HeaderMap) -> Option<String> {
        let value = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        value.filter(|_| self.auth.pass_authorization).map(str::to_owned)
    }

    async fn post(self: Arc<Self>, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let message = match read(body, &self.gateway).await {
            Ok(message) => message,
            Err(error) => return failed(StatusCode::BAD_REQUEST, &error.to_string()),
        };
        let frames = match frames(&message, &self.gateway) {
            Ok(frames) => frames,
            Err(error) => return failed(StatusCode::BAD_REQUEST, &error.to_string()),
        };
        let hello = frames.iter().any(|(frame, _)| frame.method.as_deref() == Some("initialize"));
        let stateless = is_stateless(&parts.headers)
            || !parts.headers.contains_key(SESSION) && stateless::is_of_it(&message);
        if stateless && !hello {
            return self.stateless(&parts.headers, message).await;
        }
        let (client, id) = if hello && !parts.headers.contains_key(SESSION) {
            match self.make_room().map(|()| self.begin(&parts.headers)) {
                Ok(Ok((client, id))) => (client, Some(id)),
                Ok(Err(error)) => return failed(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
                Err(Refusal(status, why)) => return failed(status, why),
            }
        } else {
            match self.client(&parts.headers) {
                Ok(client) => (client, None),
                Err(Refusal(status, why)) => return failed(status, why),
            }
        };
        let conversation = client.conversation.clone();
        conversation.authorization().set(self.authorization(&parts.headers));
        let hears = match client.streams.answer(&frames, takes_places(&parts.headers)) {
            Ok(hears) => hears,
            Err(answering) => return failed(StatusCode::BAD_REQUEST, &answering.to_string()),
        };
        let Some(mut hears) = hears else {
            conversation.from_client(message).await;
            return status(StatusCode::ACCEPTED);
        };
        tokio::spawn(conversation.from_client(message));
        let mut first = None;
        if self.auth.pass_authorization {
            // The server may ask for authorization, so the status is decided by its first answer.
            first = tokio::time::timeout(KEEP_ALIVE, hears.recv()).await.ok().flatten();
            if let Some(refused) = first.as_ref().and_then(|event| event.message.as_ref()).and_then(refused) {
                return refused;
            }
        }
        let mut response =
            if takes_events(&parts.headers) { events(first, hears) } else { json(hears).await };
        if let Some(id) = id.and_then(|id| id.parse().ok()) {
            response.headers_mut().insert(SESSION, id);
        }
        response
    }

    /// Ends the client that was silent the longest, if there is no room for another.
    fn make_room(&self) -> std::result::Result<(), Refusal> {
        let mut all = lock(&self.all);
        if all.len() >= MOST {
            let quietest =
                quietest(all.iter().map(|(id, client)| (id, client.streams.silence()))).ok_or(FULL)?;
            all.remove(&quietest).into_iter().for_each(|client| self.end(client.conversation.clone()));
        }
        Ok(())
    }

    /// A new client, with the id of its session: more random bits than anybody can guess.
    fn begin(&self, headers: &HeaderMap) -> Result<(Arc<Client>, String)> {
        let session = match self.auth.key(headers) {
            Some(key) => self.session(&key)?,
            None => self.gateway.session()?,
        };
        let (to_client, messages) = mpsc::channel(QUEUE);
        let conversation = Conversation::begin(self.gateway.clone(), Scope::Session(session), to_client);
        let client = Arc::new(Client { conversation, streams: Streams::new() });
        tokio::spawn(client.clone().distribute(messages));
        let id = forebay::fresh_id(crate::random::random()?);
        lock(&self.all).insert(id.clone(), client.clone());
        Ok((client, id))
    }

    /// The stream that a client listens on, either new or resumed.
    fn listen(&self, headers: &HeaderMap) -> Response {
        match self.client(headers) {
            Ok(client) => {
                events(None, client.streams.listen(header(headers, LAST_EVENT), takes_places(headers)))
            }
            Err(Refusal(status, why)) => failed(status, why),
        }
    }

    fn delete(&self, headers: &HeaderMap) -> Response {
        let client = match self.client(headers) {
            Ok(client) => client,
            Err(Refusal(status, why)) => return failed(status, why),
        };
        lock(&self.all).retain(|_, other| !Arc::ptr_eq(other, &client));
        self.end(client.conversation.clone());
        status(StatusCode::NO_CONTENT)
    }

    /// Ends the conversations of clients that have been silent for too long.
    async fn end_silent_clients(self: Arc<Self>) {
        loop {
            tokio::time::sleep(SILENCE / 10).await;
            let mut silent = Vec::new();
            lock(&self.all).retain(|_, client| {
                let is_silent = client.streams.silence().is_some_and(|silence| silence > SILENCE);
                silent.extend(is_silent.then(|| client.conversation.clone()));
                !is_silent
            });
            lock(&self.common).retain(|_, common| {
                let is_silent = common.silence().is_some_and(|silence| silence > SILENCE);
                silent.extend(is_silent.then(|| common.conversation.clone()));
                !is_silent
            });
            silent.into_iter().for_each(|conversation| self.end(conversation));
        }
    }
}

impl Client {
    /// Takes messages to the streams that they belong to.
    async fn distribute(self: Arc<Self>, mut messages: mpsc::Receiver<Message>) {
        while let Some(message) = messages.recv().await {
            self.streams.give(message).await;
        }
    }
}

/// The client that was silent the longest; active ones are skipped.
fn quietest<'a, T: Clone + 'a>(all: impl Iterator<Item = (&'a T, Option<Duration>)>) -> Option<T> {
    let silent = all.filter_map(|(who, silence)| Some((who, silence?)));
    silent.max_by_key(|(_, silence)| *silence).map(|(who, _)| who.clone())
}

fn takes_events(headers: &HeaderMap) -> bool {
    let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("*/*");
    accepts.contains("text/event-stream") || accepts.contains("*/*")
}

/// Whether a client takes an event that has only an id.
fn takes_places(headers: &HeaderMap) -> bool {
    header(headers, REVISION).is_some_and(|revision| revision >= PRIMED_SINCE)
}

/// The messages of a body, each with the token of its progress.
fn frames(message: &Message, gateway: &Gateway) -> std::io::Result<Vec<(Frame, Option<String>)>> {
    let one = |message: &Message, frame: Frame| {
        let token = frame.params.clone().and_then(|params| message.find(params, &["_meta", "progressToken"]));
        let token = token.and_then(|range| message.text(range).ok());
        (frame, token)
    };
    Ok(match message.parse()? {
        Parsed::One(frame) => vec![one(message, frame)],
        Parsed::Many(parts) => {
            let mut frames = Vec::new();
            for part in parts {
                let part = message.part(part, &gateway.spool())?;
                if let Parsed::One(frame) = part.parse()? {
                    frames.push(one(&part, frame));
                }
            }
            frames
        }
    })
}

async fn read(body: Body, gateway: &Gateway) -> std::io::Result<Message> {
    let mut growing = Growing::new(gateway.spool());
    let mut blocks = body.into_data_stream();
    while let Some(block) = blocks.next().await {
        growing.push(&block.map_err(std::io::Error::other)?)?;
    }
    growing.finish()
}

/// A stream of messages as events.
fn events(first: Option<Event>, messages: mpsc::Receiver<Event>) -> Response {
    let rest = stream::unfold(messages, |mut messages| async move {
        match tokio::time::timeout(KEEP_ALIVE, messages.recv()).await {
            Ok(Some(event)) => Some((written(event).left_stream(), messages)),
            Ok(None) => None,
            Err(_) => Some((one(SIGN).right_stream(), messages)),
        }
    });
    event_stream(stream::iter(first.map(written)).flatten().chain(rest.flatten()))
}

const SIGN: Bytes = Bytes::from_static(b": still here\n\n");

fn one(bytes: Bytes) -> impl Stream<Item = std::io::Result<Bytes>> + Send {
    stream::iter([Ok(bytes)])
}

fn event_stream(events: impl Stream<Item = std::io::Result<Bytes>> + Send + 'static) -> Response {
    let mut response = Response::new(Body::from_stream(events));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert("cache-control", HeaderValue::from_static("no-cache"));
    response
}

fn written(event: Event) -> impl Stream<Item = std::io::Result<Bytes>> + Send {
    match event.message {
        Some(message) => written_message(Some(&event.id), message).left_stream(),
        None => one(format!("id: {}\ndata:\n\n", event.id).into()).right_stream(),
    }
}

/// One message as an event: at once, if it is in memory.
fn written_message(
    id: Option<&str>,
    message: Message,
) -> impl Stream<Item = std::io::Result<Bytes>> + Send + use<> {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    let before = format!("event: message\n{id}data: ").into_bytes();
    let after = &b"\n\n"[..];
    match message {
        Message::Memory(bytes) => one([&before, &bytes[..], after].concat().into()).left_stream(),
        large => {
            let all = one(before.into()).chain(Box::pin(blocks(large)));
            all.chain(one(Bytes::from_static(after))).right_stream()
        }
    }
}

/// The answer as JSON, for clients that take no events.
async fn json(mut messages: mpsc::Receiver<Event>) -> Response {
    let mut answer = None;
    while let Some(event) = messages.recv().await {
        answer = event.message.or(answer);
    }
    match answer {
        Some(answer) => json_body(StatusCode::OK, answer),
        None => failed(StatusCode::INTERNAL_SERVER_ERROR, "there is no answer"),
    }
}

fn json_body(code: StatusCode, message: Message) -> Response {
    let mut response = status(code);
    *response.body_mut() = Body::from_stream(blocks(message));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The answer of a server that wants to know who asks, as it would have come without us.
fn refused(message: &Message) -> Option<Response> {
    let data = message.find(message.all(), &["error", "data"])?;
    let code = message.value(message.find(data.clone(), &["httpStatus"])?).ok()?.as_u64()?;
    let code = StatusCode::from_u16(u16::try_from(code).ok()?).ok()?;
    let mut response = json_body(code, message.clone());
    let challenge = message.find(data, &["wwwAuthenticate"]).and_then(|range| message.string(range));
    if let Some(challenge) = challenge.and_then(|challenge| challenge.parse().ok()) {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    Some(response)
}

fn status(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

fn plain(code: StatusCode, text: &'static str) -> Response {
    let mut response = status(code);
    *response.body_mut() = Body::from(text);
    response
}

/// A refusal in the form of the protocol.
fn failed(code: StatusCode, why: &str) -> Response {
    json_body(code, error("null", INVALID_REQUEST, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_that_was_silent_the_longest_makes_room_and_no_active_one() {
        let second = Duration::from_secs(1);
        let table: [(&str, Option<Duration>); 3] =
            [("a", Some(second)), ("b", None), ("c", Some(second * 2))];
        assert_eq!(quietest(table.iter().map(|(name, silence)| (name, *silence))), Some("c"));
        assert_eq!(quietest(table[1..2].iter().map(|(name, silence)| (name, *silence))), None);
    }
}
