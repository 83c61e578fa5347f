//! Clients that come by streamable HTTP, each with a conversation and servers of its own.
//!
//! A client begins with `initialize` and gets an id of its session; whoever has not the id cannot reach the session. The
//! answer to a request is a stream of events that ends with it. What servers say by themselves goes to the stream that
//! the client listens on, and otherwise to the stream of a request that is being answered.

use crate::conversation::{Conversation, INVALID_REQUEST, error};
use crate::error::{Error, Result};
use crate::gateway::Gateway;
use crate::message::{Frame, Growing, Message, Parsed, blocks};
use crate::server::WAITING;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use futures_util::{Stream, StreamExt, stream};
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Where the endpoint is.
pub(crate) const PATH: &str = "/mcp";

const SESSION: &str = "mcp-session-id";

/// A stream that says nothing is kept open by a sign of life.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// A client that is silent for so long is gone: its servers are let go.
const SILENCE: Duration = Duration::from_secs(30 * 60);

/// So many messages wait for a client that listens nowhere.
const HELD: usize = 256;

/// Who may come, and how.
#[derive(Clone, Debug)]
pub struct Door {
    /// Where to listen.
    pub listen: SocketAddr,
    /// What every request must carry as `Authorization: Bearer`; needed where not only this machine can come.
    pub token: Option<String>,
    /// Pages that may come besides those of this machine, as `https://example.org`.
    pub origins: Vec<String>,
    /// Names under which we are reached besides those of this machine.
    pub hosts: Vec<String>,
}

impl Door {
    /// Whether it is safe to open.
    pub fn check(&self) -> Result<()> {
        match self.listen.ip().is_loopback() || self.token.is_some() {
            true => Ok(()),
            false => Err(Error::Config(format!(
                "{} can be reached from other machines, so a token is needed",
                self.listen.ip()
            ))),
        }
    }

    /// Whether a request may come in; otherwise what to answer.
    fn refusal(&self, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        // A page in a browser must not reach us under a name that leads to this machine, nor from a page of others.
        let host = text(HOST).unwrap_or_default();
        if self.listen.ip().is_loopback()
            && !is_here(host)
            && !self.hosts.iter().any(|name| name == name_of(host))
        {
            return Some((StatusCode::FORBIDDEN, "this host is not served here"));
        }
        if let Some(origin) = text(ORIGIN) {
            let here = origin.split_once("://").is_some_and(|(_, host)| is_here(host));
            if !here && !self.origins.iter().any(|allowed| allowed == origin) {
                return Some((StatusCode::FORBIDDEN, "this origin may not come here"));
            }
        }
        let given = text(AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
        match &self.token {
            Some(token) if !same(given.trim(), token) => {
                Some((StatusCode::UNAUTHORIZED, "a bearer token is needed"))
            }
            _ => None,
        }
    }
}

/// The name of a host without its port.
fn name_of(host: &str) -> &str {
    match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    }
}

fn is_here(host: &str) -> bool {
    matches!(name_of(host), "localhost" | "127.0.0.1" | "::1")
}

/// Whether two texts are the same, in a time that tells nothing of where they differ.
fn same(one: &str, other: &str) -> bool {
    one.len() == other.len()
        && one.bytes().zip(other.bytes()).fold(0, |all, (one, other)| all | (one ^ other)) == 0
}

/// Why a request is not answered.
struct Refusal(StatusCode, &'static str);

/// All clients.
struct Clients {
    gateway: Arc<Gateway>,
    door: Door,
    /// By the ids of their sessions.
    all: Mutex<HashMap<String, Arc<Client>>>,
    /// The ends of those that have gone: a server may take its time, and its client need not wait for it.
    ending: Mutex<Vec<JoinHandle<()>>>,
}

/// One client.
struct Client {
    conversation: Arc<Conversation>,
    streams: Mutex<Streams>,
}

/// Where messages to a client can go.
struct Streams {
    /// Requests that are being answered, by their id: their stream and the token of their progress.
    answering: HashMap<String, (Option<String>, mpsc::Sender<Message>)>,
    /// The stream that the client listens on.
    listening: Option<mpsc::Sender<Message>>,
    /// What could go nowhere.
    held: VecDeque<Message>,
    heard: Instant,
}

/// Serves clients until `stopped`. `listening` is told the address.
pub(crate) async fn serve(
    gateway: Arc<Gateway>,
    door: Door,
    listening: impl FnOnce(&str),
    stopped: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    door.check()?;
    let listener = tokio::net::TcpListener::bind(door.listen).await?;
    listening(&format!("http://{}{PATH}", listener.local_addr()?));
    let clients = Arc::new(Clients { gateway, door, all: Mutex::default(), ending: Mutex::default() });
    tokio::spawn(clients.clone().let_the_silent_go());
    let router = Router::new().fallback(answer).with_state(clients.clone());
    tokio::select! {
        served = async { axum::serve(listener, router).await } => served?,
        () = stopped => {}
    }
    let all: Vec<Arc<Client>> = clients.all().drain().map(|(_, client)| client).collect();
    all.into_iter().for_each(|client| clients.end(client));
    let ending = std::mem::take(&mut *clients.ending());
    futures_util::future::join_all(ending).await;
    Ok(())
}

async fn answer(State(clients): State<Arc<Clients>>, request: Request) -> Response {
    if let Some((status, why)) = clients.door.refusal(request.headers()) {
        return plain(status, why);
    }
    if request.uri().path() != PATH {
        return plain(StatusCode::NOT_FOUND, "the endpoint is /mcp");
    }
    match *request.method() {
        Method::POST => clients.post(request).await,
        Method::GET => clients.listen(request.headers()),
        Method::DELETE => clients.delete(request.headers()),
        _ => plain(StatusCode::METHOD_NOT_ALLOWED, "POST, GET or DELETE"),
    }
}

impl Clients {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Client>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ending(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.ending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the conversation of a client that has gone.
    fn end(&self, client: Arc<Client>) {
        let mut ending = self.ending();
        ending.retain(|end| !end.is_finished());
        ending.push(tokio::spawn(async move { client.conversation.end().await }));
    }

    /// The client of a request.
    fn client(&self, headers: &HeaderMap) -> std::result::Result<Arc<Client>, Refusal> {
        let Some(id) = headers.get(SESSION).and_then(|id| id.to_str().ok()) else {
            let why = "a session begins with initialize, and its id is needed from then on";
            return Err(Refusal(StatusCode::BAD_REQUEST, why));
        };
        match self.all().get(id) {
            Some(client) => Ok(client.clone()),
            None => Err(Refusal(
                StatusCode::NOT_FOUND,
                "there is no such session (any more): begin with initialize",
            )),
        }
    }

    async fn post(self: Arc<Self>, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let message = match read(body, &self.gateway).await {
            Ok(message) => message,
            Err(error) => return failed(StatusCode::BAD_REQUEST, &error.to_string()),
        };
        let frames = match frames(&message) {
            Ok(frames) => frames,
            Err(error) => return failed(StatusCode::BAD_REQUEST, &error.to_string()),
        };
        let hello = frames.iter().any(|(frame, _)| frame.method.as_deref() == Some("initialize"));
        let (client, id) = match hello && !parts.headers.contains_key(SESSION) {
            true => match self.begin() {
                Ok((client, id)) => (client, Some(id)),
                Err(error) => return failed(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
            },
            false => match self.client(&parts.headers) {
                Ok(client) => (client, None),
                Err(Refusal(status, why)) => return failed(status, why),
            },
        };
        let (says, hears) = mpsc::channel(WAITING);
        let requests = client.answers_go_to(&frames, &says);
        drop(says);
        let conversation = client.conversation.clone();
        if requests == 0 {
            conversation.from_client(message).await;
            return status(StatusCode::ACCEPTED);
        }
        tokio::spawn(conversation.from_client(message));
        let accepts = parts.headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("*/*");
        let takes_events = accepts.contains("text/event-stream") || accepts.contains("*/*");
        let mut response = match takes_events {
            true => events(hears),
            false => json(hears).await,
        };
        if let Some(id) = id.and_then(|id| id.parse().ok()) {
            response.headers_mut().insert(SESSION, id);
        }
        response
    }

    /// A new client, with the id of its session: more random bits than anybody can guess.
    fn begin(&self) -> Result<(Arc<Client>, String)> {
        let (to_client, messages) = mpsc::channel(WAITING);
        let conversation = Conversation::begin(self.gateway.clone(), to_client)?;
        let streams = Streams {
            answering: HashMap::new(),
            listening: None,
            held: VecDeque::new(),
            heard: Instant::now(),
        };
        let client = Arc::new(Client { conversation, streams: Mutex::new(streams) });
        tokio::spawn(client.clone().distribute(messages));
        let id = forebay::fresh_id(crate::random()?);
        self.all().insert(id.clone(), client.clone());
        Ok((client, id))
    }

    /// The stream that a client listens on.
    fn listen(&self, headers: &HeaderMap) -> Response {
        let client = match self.client(headers) {
            Ok(client) => client,
            Err(Refusal(status, why)) => return failed(status, why),
        };
        let (says, hears) = mpsc::channel(HELD);
        let mut streams = client.streams();
        for message in std::mem::take(&mut streams.held) {
            let _ = says.try_send(message);
        }
        streams.listening = Some(says);
        events(hears)
    }

    fn delete(&self, headers: &HeaderMap) -> Response {
        let client = match self.client(headers) {
            Ok(client) => client,
            Err(Refusal(status, why)) => return failed(status, why),
        };
        self.all().retain(|_, other| !Arc::ptr_eq(other, &client));
        self.end(client);
        status(StatusCode::NO_CONTENT)
    }

    /// Ends the conversations of clients that have gone without a word.
    async fn let_the_silent_go(self: Arc<Self>) {
        loop {
            tokio::time::sleep(SILENCE / 10).await;
            let silent: Vec<Arc<Client>> = {
                let mut all = self.all();
                let silent = all.iter().filter(|(_, client)| client.is_silent());
                let silent: Vec<String> = silent.map(|(id, _)| id.clone()).collect();
                silent.iter().filter_map(|id| all.remove(id)).collect()
            };
            silent.into_iter().for_each(|client| self.end(client));
        }
    }
}

impl Client {
    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_silent(&self) -> bool {
        let streams = self.streams();
        let listens = streams.listening.as_ref().is_some_and(|stream| !stream.is_closed());
        !listens && streams.answering.is_empty() && streams.heard.elapsed() > SILENCE
    }

    /// Remembers where the answers to some requests go; says how many they are.
    fn answers_go_to(&self, frames: &[(Frame, Option<String>)], to: &mpsc::Sender<Message>) -> usize {
        let mut streams = self.streams();
        streams.heard = Instant::now();
        let requests = frames.iter().filter(|(frame, _)| frame.method.is_some());
        let requests = requests.filter_map(|(frame, token)| Some((frame.id.clone()?, token.clone())));
        let requests: Vec<_> = requests.collect();
        for (id, token) in &requests {
            streams.answering.insert(id.clone(), (token.clone(), to.clone()));
        }
        requests.len()
    }

    /// Takes messages to the streams that they belong to.
    async fn distribute(self: Arc<Self>, mut messages: mpsc::Receiver<Message>) {
        while let Some(message) = messages.recv().await {
            let Some(stream) = self.stream_for(&message) else {
                self.hold(message);
                continue;
            };
            if let Err(unsent) = stream.send(message).await {
                self.hold(unsent.0);
            }
        }
    }

    fn hold(&self, message: Message) {
        let mut streams = self.streams();
        if streams.held.len() == HELD {
            streams.held.pop_front();
        }
        streams.held.push_back(message);
    }

    fn stream_for(&self, message: &Message) -> Option<mpsc::Sender<Message>> {
        let Ok(Parsed::One(frame)) = message.parse() else { return None };
        let mut streams = self.streams();
        streams.answering.retain(|_, (_, stream)| !stream.is_closed());
        if let (None, Some(id)) = (&frame.method, &frame.id) {
            // The stream of a request ends with its answer.
            return streams.answering.remove(id).map(|(_, stream)| stream);
        }
        let token = frame.params.and_then(|params| message.find(params, &["progressToken"]));
        let token = token.and_then(|range| message.text(range).ok());
        let by_token = streams.answering.values().find(|(other, _)| other.is_some() && *other == token);
        let listening = streams.listening.as_ref().filter(|stream| !stream.is_closed());
        let any = streams.answering.values().next().map(|(_, stream)| stream);
        by_token.map(|(_, stream)| stream).or(listening).or(any).cloned()
    }
}

/// The messages of a body, each with the token of its progress.
fn frames(message: &Message) -> std::io::Result<Vec<(Frame, Option<String>)>> {
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
                let part = Message::from(message.text(part)?);
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
fn events(messages: mpsc::Receiver<Message>) -> Response {
    let stream = stream::unfold(messages, |mut messages| async move {
        let message = tokio::time::timeout(SIGN_OF_LIFE, messages.recv()).await;
        match message {
            Ok(Some(message)) => Some((event(message).left_stream(), messages)),
            Ok(None) => None,
            Err(_) => {
                let sign = stream::iter([Ok(Bytes::from_static(b": still here\n\n"))]);
                Some((sign.right_stream(), messages))
            }
        }
    });
    let mut response = Response::new(Body::from_stream(stream.flatten()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, axum::http::HeaderValue::from_static("text/event-stream"));
    headers.insert("cache-control", axum::http::HeaderValue::from_static("no-cache"));
    response
}

/// One message as an event: at once, if it is in memory.
fn event(message: Message) -> impl Stream<Item = std::io::Result<Bytes>> + Send {
    let (before, after) = (&b"event: message\ndata: "[..], &b"\n\n"[..]);
    match message {
        Message::Memory(bytes) => stream::iter([Ok([before, &bytes, after].concat().into())]).left_stream(),
        large => {
            let end = |bytes| stream::iter([Ok(Bytes::from_static(bytes))]);
            end(before).chain(Box::pin(blocks(large))).chain(end(after)).right_stream()
        }
    }
}

/// The answer as JSON, for clients that take no events.
async fn json(mut messages: mpsc::Receiver<Message>) -> Response {
    let mut answer = None;
    while let Some(message) = messages.recv().await {
        answer = Some(message);
    }
    let Some(answer) = answer else {
        return failed(StatusCode::INTERNAL_SERVER_ERROR, "there is no answer");
    };
    let mut response = Response::new(Body::from_stream(blocks(answer)));
    response.headers_mut().insert(CONTENT_TYPE, axum::http::HeaderValue::from_static("application/json"));
    response
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
    let message = error("null", INVALID_REQUEST, why);
    let mut response = status(code);
    *response.body_mut() = Body::from_stream(blocks(message));
    response.headers_mut().insert(CONTENT_TYPE, axum::http::HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(listen: &str, token: Option<&str>) -> Door {
        Door {
            listen: listen.parse().unwrap(),
            token: token.map(str::to_owned),
            origins: vec!["https://good.example".to_owned()],
            hosts: Vec::new(),
        }
    }

    #[test]
    fn only_those_who_may_come_in() {
        let table = [
            ("127.0.0.1:9", "", None),
            ("localhost", "", None),
            ("[::1]:9", "", None),
            ("evil.example", "", Some(403)),
            ("localhost.evil.example:9", "", Some(403)),
            ("localhost", "https://evil.example", Some(403)),
            ("localhost", "null", Some(403)),
            ("localhost", "http://localhost:3000", None),
            ("localhost", "https://good.example", None),
        ];
        for (host, origin, refused) in table {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            let origins = [origin].into_iter().filter(|origin| !origin.is_empty());
            headers.extend(origins.map(|origin| (ORIGIN, origin.parse().unwrap())));
            let answer = door("127.0.0.1:0", None).refusal(&headers).map(|(status, _)| status.as_u16());
            assert_eq!(answer, refused, "{headers:?}");
        }
    }

    #[test]
    fn a_token_is_needed_where_others_can_come() {
        assert!(door("0.0.0.0:0", None).check().is_err());
        assert!(door("0.0.0.0:0", Some("t")).check().is_ok());
        assert!(door("[::1]:0", None).check().is_ok());
        for (given, refused) in [("Bearer right", false), ("Bearer wrong", true), ("right", true), ("", true)]
        {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, "any.example".parse().unwrap());
            headers.insert(AUTHORIZATION, given.parse().unwrap());
            assert_eq!(door("0.0.0.0:0", Some("right")).refusal(&headers).is_some(), refused, "{given:?}");
        }
    }
}
