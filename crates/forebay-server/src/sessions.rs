//! Sessions: their list, their events, what was saved in them, and the room in their model's context window.

use crate::problem::Problem;
use crate::request::{Request, ResponseFuture, blocking, json, typed};
use crate::state::Server;
use crate::tenant::Tenant;
use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;
use forebay::forms;
use forebay::stats::By;
use forebay::text::moment::moment;
use forebay::{Event, Ledger, Masking, Session, Stats, Store, Tally, Timestamp, accounting, event};
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// Lists the sessions, the one with the newest output first.
pub(crate) fn list(_: &Server, request: &Request) -> Result<Response, Problem> {
    let mut sessions = Vec::new();
    for session in request.store().sessions()? {
        let weights = request.store().weights(&session)?;
        let latest = weights.iter().map(|weight| weight.time).max();
        sessions.push((
            latest,
            session,
            weights.len(),
            weights.iter().map(|weight| weight.bytes).sum::<u64>(),
        ));
    }
    sessions.sort_by(|one, other| (other.0, &one.1).cmp(&(one.0, &other.1)));
    let total = sessions.len();
    let shown = sessions.into_iter().skip(number(request, "skip")).take(number(request, "limit"));
    let shown: Vec<Value> = shown
        .map(|(latest, session, outputs, bytes)| {
            let open = request.caller.tenant.is_open(&session);
            json!({ "session": session, "outputs": outputs, "bytes": bytes, "latest": latest, "open": open })
        })
        .collect();
    Ok(json(&json!({ "sessions": shown, "total": total })))
}

/// The value of a number parameter that has a default.
pub(crate) fn number(request: &Request, name: &str) -> usize {
    request.arguments.number(name).and_then(|number| usize::try_from(number).ok()).unwrap_or(usize::MAX)
}

/// Removes a session.
pub(crate) fn remove(_: &Server, request: &Request) -> Result<Response, Problem> {
    let session = request.session()?;
    if request.store().ids(&session, "")?.is_empty() && !request.store().sessions()?.contains(&session) {
        return Err(Problem::not_found(format!("there is no session {session}")));
    }
    let (removed, stays) = request.caller.tenant.remove_session(&session, Timestamp::now())?;
    Ok(json(&json!({ "removed": removed, "stays": stays })))
}

/// Responds with the room in the model's context window.
pub(crate) fn room(server: &Server, request: &Request) -> Result<Response, Problem> {
    Ok(json(&forms::room(&request.outputs(server)?, request.window(server))?))
}

/// The body of a room report.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Used {
    used: u64,
}

/// Records how many tokens the host says are in use.
pub(crate) fn report(server: &Server, request: &Request, body: Used) -> Result<Response, Problem> {
    if i64::try_from(body.used).is_err() {
        return Err(Problem::bad_request("`used` is larger than any context window"));
    }
    request.outputs(server)?.set_used_tokens(body.used)?;
    room(server, request)
}

/// Responds with what was saved in one session.
pub(crate) fn stats(_: &Server, request: &Request) -> Result<Response, Problem> {
    let session = request.session()?;
    stats_of(request, &[session])
}

/// Responds with what was saved in all sessions.
pub(crate) fn all_stats(_: &Server, request: &Request) -> Result<Response, Problem> {
    stats_of(request, &request.store().sessions()?)
}

fn stats_of(request: &Request, sessions: &[Session]) -> Result<Response, Problem> {
    let by = if request.arguments.text("by") == "day" { By::Day } else { By::Tool };
    let since = since(request)?;
    let mut stats = Stats::default();
    for session in sessions {
        let mut tally = Tally::new(by, since);
        event::for_each(request.store(), session, |event| tally.take(&event))?;
        stats += tally.stats();
    }
    Ok(json(&forms::stats(&stats, by)))
}

fn since(request: &Request) -> Result<Option<Timestamp>, Problem> {
    if !request.arguments.has("since") {
        return Ok(None);
    }
    let since = moment(request.arguments.text("since"), Timestamp::now());
    since.map(Some).map_err(|error| Problem::bad_request(error.to_string()))
}

/// Poll interval for new events.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Longest silence on a stream: after it, a comment keeps the connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Maximum events sent at a time.
const MAX_BATCH: usize = 500;

/// The form of events in a response.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The events themselves.
    Events,
    /// The log line of each event that has one.
    Log,
    /// The accounting entry of each reply.
    Accounting,
}

impl Form {
    fn of(request: &Request) -> Form {
        match request.arguments.text("form") {
            "log" => Form::Log,
            "accounting" => Form::Accounting,
            _ => Form::Events,
        }
    }
}

/// Reads the events of a session, a part at a time.
struct Reader {
    session: Session,
    output: Option<String>,
    since: Option<Timestamp>,
    form: Form,
    /// Joins the events of each call, so it needs all of them.
    ledger: Ledger,
    /// Offset up to which events were read.
    at: u64,
    /// Offset of the first event to return.
    from: u64,
    masking: Masking,
}

/// The fields that every event has, also one of a newer version.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    id: Option<String>,
    at: Timestamp,
}

impl Reader {
    fn new(server: &Server, request: &Request, from: u64) -> Result<Reader, Problem> {
        let session = request.session()?;
        let output = request.arguments.has("output").then(|| request.arguments.text("output").to_owned());
        let (form, ledger) = (Form::of(request), Ledger::new(session.clone()));
        let at = if form == Form::Events { from } else { 0 };
        let masking = server.config.settings.masking.clone();
        Ok(Reader { session, output, since: since(request)?, form, ledger, at, from, masking })
    }

    /// Whether the parameters select the event in a line.
    fn selects(&self, line: &[u8]) -> bool {
        let Ok(head) = serde_json::from_slice::<Head>(line) else { return false };
        self.since.is_none_or(|since| head.at >= since)
            && self.output.as_ref().is_none_or(|output| head.id.as_ref() == Some(output))
    }

    /// The text for the event in a line, in the requested form.
    fn text_of(&mut self, line: &[u8]) -> Option<String> {
        if self.form == Form::Events {
            return self.selects(line).then(|| String::from_utf8_lossy(line).trim_end().to_owned());
        }
        let event = Event::parse(line)?;
        let entry = self.ledger.take(&event);
        if self.at <= self.from || !self.selects(line) {
            return None;
        }
        match self.form {
            Form::Accounting => serde_json::to_string(&entry?.accounting).ok(),
            _ => accounting::log_line(&event, &self.session, entry.as_ref()),
        }
    }

    /// Reads at most `max` events, each with the offset of its end.
    fn read(&mut self, store: &dyn Store, max: usize) -> Result<Vec<(u64, String)>, Problem> {
        let session = self.session.clone();
        // A log that is shorter than what was read of it is another one.
        if store.open_log(&session)?.size().unwrap_or(0) < self.at.max(self.from) {
            (self.at, self.from, self.ledger) = (0, 0, Ledger::new(session.clone()));
        }
        let mut read = Vec::new();
        self.at = event::for_each_line(store, &session, self.at, |line| {
            self.at += line.len() as u64;
            let masked = self.masking.text(&String::from_utf8_lossy(line)).into_owned();
            read.extend(self.text_of(masked.as_bytes()).map(|text| (self.at, text)));
            if read.len() < max { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(read)
    }
}

/// Responds with the events of a session, or with a stream of them.
pub(crate) fn events(server: Arc<Server>, request: Request) -> ResponseFuture {
    Box::pin(async move {
        let last = request.headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
        let from = last.or(request.arguments.number("from")).unwrap_or(0);
        let mut reader = Reader::new(&server, &request, from)?;
        if request.wants_stream() {
            return Ok(stream_of(server, request.caller.tenant, reader));
        }
        blocking(move || {
            let events = reader.read(request.store(), number(&request, "limit"))?;
            // An event or an entry is a JSON object already; a log line becomes a JSON string.
            let events: Vec<String> = events
                .into_iter()
                .map(|(_, line)| if reader.form == Form::Log { json!(line).to_string() } else { line })
                .collect();
            Ok(typed(
                "application/json",
                format!("{{\"events\":[{}],\"next\":{}}}", events.join(","), reader.at),
            ))
        })
        .await
    })
}

/// A stream of events, until the client disconnects or the server stops.
fn stream_of(server: Arc<Server>, tenant: Arc<Tenant>, reader: Reader) -> Response {
    let events = stream::unfold((server, tenant, reader), |(server, tenant, mut reader)| async move {
        let mut quiet = Duration::ZERO;
        loop {
            if *server.stopping.borrow() {
                return None;
            }
            let (for_read, from) = (tenant.clone(), reader.at);
            let read = blocking(move || {
                let events = reader.read(for_read.store(), MAX_BATCH)?;
                Ok((reader, events))
            });
            let batch;
            (reader, batch) = read.await.ok()?;
            if batch.is_empty() && reader.at == from && quiet < KEEP_ALIVE {
                let mut stopping = server.stopping.clone();
                tokio::select! {
                    () = tokio::time::sleep(POLL_INTERVAL) => quiet += POLL_INTERVAL,
                    _ = stopping.changed() => {}
                }
                continue;
            }
            let mut text: String =
                batch.iter().map(|(at, line)| format!("id: {at}\ndata: {line}\n\n")).collect();
            if text.is_empty() {
                text = ":\n\n".to_owned();
            }
            return Some((Ok::<_, std::convert::Infallible>(Bytes::from(text)), (server, tenant, reader)));
        }
    });
    let mut response = Response::new(Body::from_stream(events));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
