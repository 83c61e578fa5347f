//! Sessions: which there are, what happened in them, what was saved, and the room of their models.

use super::Web;
use super::asked::{Answering, Asked, blocking, json, typed};
use super::problem::Problem;
use crate::{machine_form, units};
use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;
use forebay::stats::By;
use forebay::{DiskStore, Event, Ledger, Session, Stats, Store, Tally, Timestamp, accounting};
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// Which there are.
pub(crate) fn list(_: &Web, asked: &Asked) -> Result<Response, Problem> {
    let mut sessions = Vec::new();
    for session in asked.store().sessions()? {
        let weights = asked.store().weights(&session)?;
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
    let shown = sessions.into_iter().skip(number(asked, "skip")).take(number(asked, "limit"));
    let shown: Vec<Value> = shown
        .map(|(latest, session, outputs, bytes)| {
            let open = asked.visitor.store.is_open(&session);
            json!({ "session": session, "outputs": outputs, "bytes": bytes, "latest": latest, "open": open })
        })
        .collect();
    Ok(json(&json!({ "sessions": shown, "total": total })))
}

/// A number that is known to be there.
pub(crate) fn number(asked: &Asked, name: &str) -> usize {
    asked.given.number(name).and_then(|number| usize::try_from(number).ok()).unwrap_or(usize::MAX)
}

/// Removes a session.
pub(crate) fn remove(_: &Web, asked: &Asked) -> Result<Response, Problem> {
    let session = asked.session()?;
    if asked.store().ids(&session, "")?.is_empty() && !asked.store().sessions()?.contains(&session) {
        return Err(Problem::not_found(format!("there is no session {session}")));
    }
    let report = asked.visitor.store.remove_session(&session, Timestamp::now(), false)?;
    Ok(json(&json!({ "removed": report.gone.len(), "stays": report.stays.len() })))
}

/// The room that is left.
pub(crate) fn room(web: &Web, asked: &Asked) -> Result<Response, Problem> {
    Ok(json(&machine_form::room(&asked.outputs(web)?, asked.window(web))?))
}

/// What the host counts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Used {
    used: u64,
}

/// Takes the host's word for what is in use.
pub(crate) fn report(web: &Web, asked: &Asked, said: Used) -> Result<Response, Problem> {
    if i64::try_from(said.used).is_err() {
        return Err(Problem::bad_request("no context has so many tokens"));
    }
    asked.outputs(web)?.report(said.used)?;
    room(web, asked)
}

/// What was saved in one session.
pub(crate) fn stats(_: &Web, asked: &Asked) -> Result<Response, Problem> {
    let session = asked.session()?;
    told(asked, &[session])
}

/// What was saved in all.
pub(crate) fn all_stats(_: &Web, asked: &Asked) -> Result<Response, Problem> {
    told(asked, &asked.store().sessions()?)
}

fn told(asked: &Asked, sessions: &[Session]) -> Result<Response, Problem> {
    let by = if asked.given.text("by") == "day" { By::Day } else { By::Tool };
    let since = since(asked)?;
    let mut stats = Stats::default();
    for session in sessions {
        let mut tally = Tally::new(by, since);
        asked.store().for_each_event(session, |event| tally.take(&event))?;
        stats += tally.stats();
    }
    Ok(json(&machine_form::stats(&stats, by)))
}

fn since(asked: &Asked) -> Result<Option<Timestamp>, Problem> {
    let text = asked.given.text("since");
    match asked.given.has("since") {
        true => units::moment(text).map(Some).map_err(Problem::bad_request),
        false => Ok(None),
    }
}

/// How often is looked for new events.
const PAUSE: Duration = Duration::from_millis(100);

/// A stream that says nothing is kept open by a sign of life.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// So many events are sent at once.
const AT_ONCE: usize = 500;

/// How events are told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As they stand in the session.
    Events,
    /// The log line of each event that has one.
    Log,
    /// The accounting entry of each reply.
    Accounting,
}

impl Form {
    fn of(asked: &Asked) -> Form {
        match asked.given.text("form") {
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
    /// Joins the events of a call, so it takes all of them, also those that are not wanted.
    ledger: Ledger,
    /// The byte up to which events were read.
    at: u64,
    /// The byte from which on events are wanted.
    from: u64,
}

/// What every event has, also one of a newer version.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    id: Option<String>,
    at: Timestamp,
}

impl Reader {
    fn new(asked: &Asked, from: u64) -> Result<Reader, Problem> {
        let session = asked.session()?;
        let output = asked.given.has("output").then(|| asked.given.text("output").to_owned());
        let (form, ledger) = (Form::of(asked), Ledger::new(session.clone()));
        let at = if form == Form::Events { from } else { 0 };
        Ok(Reader { session, output, since: since(asked)?, form, ledger, at, from })
    }

    fn takes(&self, line: &[u8]) -> bool {
        let Ok(head) = serde_json::from_slice::<Head>(line) else { return false };
        self.since.is_none_or(|since| head.at >= since)
            && self.output.as_ref().is_none_or(|output| head.id.as_ref() == Some(output))
    }

    /// What is told for a line, if anything is.
    fn told(&mut self, line: &[u8]) -> Option<String> {
        if self.form == Form::Events {
            return self.takes(line).then(|| String::from_utf8_lossy(line).trim_end().to_owned());
        }
        let event = Event::parse(line)?;
        let entry = self.ledger.take(&event);
        if self.at <= self.from || !self.takes(line) {
            return None;
        }
        match self.form {
            Form::Accounting => serde_json::to_string(&entry?.accounting).ok(),
            _ => accounting::log_line(&event, &self.session, entry.as_ref()),
        }
    }

    /// The next ones, at most so many, each with the byte behind it.
    fn read(&mut self, store: &dyn Store, most: usize) -> Result<Vec<(u64, String)>, Problem> {
        let session = self.session.clone();
        // Events that are fewer than what was read of them are others.
        if store.open_log(&session)?.size().unwrap_or(0) < self.at.max(self.from) {
            (self.at, self.from, self.ledger) = (0, 0, Ledger::new(session.clone()));
        }
        let mut told = Vec::new();
        self.at = store.for_each_event_line(&session, self.at, |line| {
            self.at += line.len() as u64;
            told.extend(self.told(line).map(|text| (self.at, text)));
            if told.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(told)
    }
}

/// What happened, and what happens.
pub(crate) fn events(web: Arc<Web>, asked: Asked) -> Answering {
    Box::pin(async move {
        let last = asked.headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
        let from = last.or(asked.given.number("from")).unwrap_or(0);
        let mut reader = Reader::new(&asked, from)?;
        if asked.wants_stream() {
            return Ok(stream_of(web, asked.visitor.store, reader));
        }
        blocking(move || {
            let told = reader.read(asked.store(), number(&asked, "limit"))?;
            // An event or an entry is an object already; a log line becomes text.
            let told: Vec<String> = told
                .into_iter()
                .map(|(_, line)| if reader.form == Form::Log { json!(line).to_string() } else { line })
                .collect();
            Ok(typed(
                "application/json",
                format!("{{\"events\":[{}],\"next\":{}}}", told.join(","), reader.at),
            ))
        })
        .await
    })
}

/// Events as they come, until the client or the server goes.
fn stream_of(web: Arc<Web>, store: Arc<DiskStore>, reader: Reader) -> Response {
    let events = stream::unfold((web, store, reader), |(web, store, mut reader)| async move {
        let mut quiet = Duration::ZERO;
        loop {
            if *web.stopping.borrow() {
                return None;
            }
            let (for_read, from) = (store.clone(), reader.at);
            let read = blocking(move || {
                let told = reader.read(&*for_read, AT_ONCE)?;
                Ok((reader, told))
            });
            let told;
            (reader, told) = read.await.ok()?;
            if told.is_empty() && reader.at == from && quiet < SIGN_OF_LIFE {
                let mut stopping = web.stopping.clone();
                tokio::select! {
                    () = tokio::time::sleep(PAUSE) => quiet += PAUSE,
                    _ = stopping.changed() => {}
                }
                continue;
            }
            let mut text: String =
                told.iter().map(|(at, line)| format!("id: {at}\ndata: {line}\n\n")).collect();
            if text.is_empty() {
                text = ":\n\n".to_owned();
            }
            return Some((Ok::<_, std::convert::Infallible>(Bytes::from(text)), (web, store, reader)));
        }
    });
    let mut response = Response::new(Body::from_stream(events));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
