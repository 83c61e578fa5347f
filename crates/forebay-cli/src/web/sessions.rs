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
use forebay::{DiskStore, Session, Stats, Store, Tally, Timestamp};
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

/// Which events are wanted.
struct Wanted {
    session: Session,
    output: Option<String>,
    since: Option<Timestamp>,
}

/// What every event has, also one of a newer version.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    id: Option<String>,
    at: Timestamp,
}

impl Wanted {
    fn takes(&self, line: &[u8]) -> bool {
        let Ok(head) = serde_json::from_slice::<Head>(line) else { return false };
        self.since.is_none_or(|since| head.at >= since)
            && self.output.as_ref().is_none_or(|output| head.id.as_ref() == Some(output))
    }

    /// Events from a byte on, at most so many, each with the byte behind it; and where to go on.
    fn read(&self, store: &dyn Store, from: u64, most: usize) -> Result<(Vec<(u64, String)>, u64), Problem> {
        let (mut events, mut at) = (Vec::new(), from);
        let size = store.open_log(&self.session)?.size().unwrap_or(0);
        if size < from {
            at = 0;
        }
        let next = store.for_each_event_line(&self.session, at, |line| {
            at += line.len() as u64;
            if self.takes(line) {
                events.push((at, String::from_utf8_lossy(line).trim_end().to_owned()));
            }
            if events.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok((events, next))
    }
}

/// What happened, and what happens.
pub(crate) fn events(web: Arc<Web>, asked: Asked) -> Answering {
    Box::pin(async move {
        let session = asked.session()?;
        let output = asked.given.has("output").then(|| asked.given.text("output").to_owned());
        let wanted = Wanted { session, output, since: since(&asked)? };
        let last = asked.headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
        let from = last.or(asked.given.number("from")).unwrap_or(0);
        if asked.wants_stream() {
            return Ok(stream_of(web, asked.visitor.store, wanted, from));
        }
        blocking(move || {
            let (events, next) = wanted.read(asked.store(), from, number(&asked, "limit"))?;
            // A line that is taken is an object already.
            let events: Vec<String> = events.into_iter().map(|(_, line)| line).collect();
            Ok(typed("application/json", format!("{{\"events\":[{}],\"next\":{next}}}", events.join(","))))
        })
        .await
    })
}

/// Events as they come, until the client or the server goes.
fn stream_of(web: Arc<Web>, store: Arc<DiskStore>, wanted: Wanted, from: u64) -> Response {
    let wanted = Arc::new(wanted);
    let events = stream::unfold((web, store, wanted, from), |(web, store, wanted, from)| async move {
        let mut quiet = Duration::ZERO;
        loop {
            if *web.stopping.borrow() {
                return None;
            }
            let (for_read, to_read) = (store.clone(), wanted.clone());
            let read = blocking(move || to_read.read(&*for_read, from, AT_ONCE)).await;
            let (events, next) = read.ok()?;
            if events.is_empty() && next == from && quiet < SIGN_OF_LIFE {
                let mut stopping = web.stopping.clone();
                tokio::select! {
                    () = tokio::time::sleep(PAUSE) => quiet += PAUSE,
                    _ = stopping.changed() => {}
                }
                continue;
            }
            let mut text: String =
                events.iter().map(|(at, line)| format!("id: {at}\ndata: {line}\n\n")).collect();
            if text.is_empty() {
                text = ":\n\n".to_owned();
            }
            return Some((Ok::<_, std::convert::Infallible>(Bytes::from(text)), (web, store, wanted, next)));
        }
    });
    let mut response = Response::new(Body::from_stream(events));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
