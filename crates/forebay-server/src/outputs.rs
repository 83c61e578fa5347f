//! Outputs: their list, their records and their bytes.

use crate::problem::Problem;
use crate::request::{Request, ResponseFuture, blocking, json, no_content};
use crate::sessions::number;
use crate::state::Server;
use axum::body::{Body, Bytes};
use axum::http::header::{
    ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
    IF_RANGE, RANGE,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use forebay::forms;
use forebay::store::earlier_run;
use forebay::{Event, Kind, Output, Record, Session, ShownView, Store, What, event};
use futures_util::stream;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Tokens of an output that the model got, counted from the events.
#[derive(Default)]
struct Usage {
    /// The last answer to its call.
    reply: Option<Replied>,
    queries: u64,
    retrieved: u64,
    extractions: u64,
    extracted: u64,
}

/// The answer to the call of an output.
struct Replied {
    /// Why the model got a view; `None` if it got the whole output.
    reason: Option<forebay::Reason>,
    tokens: u64,
    /// Tokens of the whole output.
    baseline: u64,
}

impl Usage {
    fn json(&self) -> Value {
        let Some(Replied { reason, tokens, baseline }) = self.reply else {
            return json!({ "as": Value::Null, "queries": self.queries, "retrieved": self.retrieved });
        };
        let costs = tokens + self.retrieved + self.extracted;
        json!({
            "as": if reason.is_some() { "view" } else { "whole" },
            "reason": reason,
            "tokens": tokens,
            "baseline": baseline,
            "queries": self.queries,
            "retrieved": self.retrieved,
            "extractions": self.extractions,
            "extracted": self.extracted,
            "saved": i128::from(baseline) - i128::from(costs),
        })
    }
}

/// Usage of each output of a session, by the output's id.
fn usage_of(store: &dyn Store, session: &Session) -> Result<HashMap<String, Usage>, Problem> {
    let mut all: HashMap<String, Usage> = HashMap::new();
    event::for_each(store, session, |Event { what, .. }| {
        let Some(id) = what.id().filter(|id| !id.is_empty()) else { return };
        let usage = all.entry(id.to_owned()).or_default();
        match &what {
            What::OutputPassed(replied) | What::ViewGiven(replied) => {
                let (reason, tokens, baseline) = (replied.reason, replied.tokens, replied.baseline);
                usage.reply = Some(Replied { reason, tokens, baseline });
            }
            What::QueryAnswered(answered) => {
                usage.queries += 1;
                usage.retrieved = usage.retrieved.saturating_add(answered.tokens);
            }
            What::ExtractionDone(done) => {
                usage.extractions += 1;
                let cost = done.tokens_in.saturating_add(done.tokens_out).saturating_add(done.tokens);
                usage.extracted = usage.extracted.saturating_add(cost);
            }
            _ => {}
        }
    })?;
    Ok(all)
}

/// The record of an output, with what the model got of it.
fn record_json(server: &Server, request: &Request, record: &Record, usage: &HashMap<String, Usage>) -> Value {
    let record = &server.config.settings.masking.record(record);
    let mut value = forms::record(record, request.store());
    value["got"] = usage.get(record.handle.id()).map_or_else(|| Usage::default().json(), Usage::json);
    if !request.caller.is_local {
        value["path"] = Value::Null;
    }
    value
}

/// Lists the secrets of an output with their lines, unmasked, for the person at the page.
pub(crate) fn reveal(server: &Server, request: &Request) -> Result<Response, Problem> {
    request.caller.require_person()?;
    let outputs = request.outputs(server)?;
    let output = outputs.open(request.path_parameter("output"))?;
    let found = output.found_secrets()?;
    if !found.is_empty() {
        outputs.secrets_revealed(&output, found.len() as u64);
    }
    let secrets = found.iter().map(|secret| {
        let mut value = json!(secret);
        value["text"] = json!(output.revealed(secret)?);
        Ok(value)
    });
    Ok(json(&json!({ "secrets": secrets.collect::<forebay::Result<Vec<Value>>>()? })))
}

/// Lists the outputs of a session, the newest first.
pub(crate) fn list(server: &Server, request: &Request) -> Result<Response, Problem> {
    let (store, session) = (request.store(), request.session()?);
    let mut weights = store.weights(&session)?;
    weights.sort_by(|one, other| (other.time, &other.handle).cmp(&(one.time, &one.handle)));
    let total = weights.len();
    let usage = usage_of(store, &session)?;
    let mut outputs = Vec::new();
    for weight in weights.into_iter().skip(number(request, "skip")).take(number(request, "limit")) {
        // Another process may remove it meanwhile.
        let Ok(record) = store.record(&weight.handle) else { continue };
        outputs.push(record_json(server, request, &record, &usage));
    }
    Ok(json(&json!({ "outputs": outputs, "total": total })))
}

/// Responds with the record of an output.
pub(crate) fn get(server: &Server, request: &Request) -> Result<Response, Problem> {
    let output = request.outputs(server)?.open(request.path_parameter("output"))?;
    let record = output.record();
    let mut value = record_json(server, request, record, &usage_of(request.store(), &record.call.session)?);
    value["given"] = json!(ShownView::of(request.store(), &record.handle)?);
    value["length"] = json!(output.len());
    value["before"] =
        json!(earlier_run(request.store(), record).map(|before| before.record().handle.to_string()));
    Ok(json(&value))
}

/// Removes an output.
pub(crate) fn remove(server: &Server, request: &Request) -> Result<Response, Problem> {
    let output = request.outputs(server)?.open(request.path_parameter("output"))?;
    // A prefix of an id is enough to read an output, but not to remove it.
    if output.record().handle.id() != request.path_parameter("output") {
        return Err(Problem::not_found(
            "there is no output with exactly this id; removing one takes the whole id",
        ));
    }
    if output.is_growing() {
        return Err(Problem::conflict("the output is still growing; remove it when its command has ended"));
    }
    request.store().delete(&output.record().handle)?;
    Ok(no_content())
}

/// Bytes read and sent at a time.
const PART_BYTES: u64 = 256 * 1024;

/// Responds with the bytes of an output.
pub(crate) fn bytes(server: Arc<Server>, request: Request) -> ResponseFuture {
    Box::pin(async move {
        let (output, headers, first) = blocking(move || {
            let output = request.outputs(&server)?.open(request.path_parameter("output"))?;
            let first = output.read(0..output.len().min(16))?;
            Ok((output, request.headers, first))
        })
        .await?;
        let record = output.record();
        let etag = (!output.is_growing()).then(|| format!("\"{}\"", record.hash));
        let mut response = Response::new(Body::empty());
        let response_headers = response.headers_mut();
        let name = format!("inline; filename=\"{}.{}\"", record.handle.id(), extension(record.kind));
        response_headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type(record.kind, &first)));
        response_headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        // A browser that shows it runs nothing of it.
        response_headers.insert(
            "content-security-policy",
            HeaderValue::from_static("sandbox; default-src 'none'; frame-ancestors 'none'"),
        );
        let mut put = |name, value: &str| value.parse().map(|value| response_headers.insert(name, value));
        let _ = put(CONTENT_DISPOSITION, &name);
        if let Some(etag) = &etag {
            let _ = put(ETAG, etag);
            let same = headers.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok());
            if same.is_some_and(|same| same == "*" || same.split(',').any(|one| one.trim() == etag)) {
                *response.status_mut() = StatusCode::NOT_MODIFIED;
                return Ok(response);
            }
        }
        let length = output.len();
        let range = match requested_range(&headers, length, etag.as_deref()) {
            Some(Ok(range)) => {
                let _ = put(CONTENT_RANGE, &format!("bytes {}-{}/{length}", range.start, range.end - 1));
                *response.status_mut() = StatusCode::PARTIAL_CONTENT;
                range
            }
            Some(Err(NotSatisfiable)) => return Err(Problem::range_not_satisfiable(length)),
            None => 0..length,
        };
        response.headers_mut().insert(CONTENT_LENGTH, (range.end - range.start).into());
        *response.body_mut() = body_of(output, range);
        Ok(response)
    })
}

/// A part of an output, read while it is sent: a slow client holds no thread.
fn body_of(output: Output, range: Range<u64>) -> Body {
    let output = Arc::new(output);
    Body::from_stream(stream::unfold((output, range), |(output, range)| async move {
        if range.is_empty() {
            return None;
        }
        let end = range.end.min(range.start + PART_BYTES);
        let (for_read, start) = (output.clone(), range.start);
        let read = blocking(move || Ok(for_read.read(start..end)?)).await;
        let read = read.map_err(|problem| std::io::Error::other(problem.detail()));
        let next = if read.is_ok() { end..range.end } else { range.end..range.end };
        Some((read.map(Bytes::from), (output, next)))
    }))
}

/// A requested range that the output does not have.
struct NotSatisfiable;

/// The range that the headers request, if they request one. A request for several ranges gets the whole output, which HTTP
/// allows.
fn requested_range(
    headers: &HeaderMap,
    length: u64,
    etag: Option<&str>,
) -> Option<Result<Range<u64>, NotSatisfiable>> {
    let text = headers.get(RANGE)?.to_str().ok()?.strip_prefix("bytes=")?;
    if let Some(condition) = headers.get(IF_RANGE)
        && condition.to_str().ok() != etag
    {
        return None;
    }
    let (start, end) = text.trim().split_once('-')?;
    if text.contains(',') {
        return None;
    }
    let range = match (start.trim(), end.trim()) {
        ("", last) => {
            let last: u64 = last.parse().ok()?;
            length.saturating_sub(last)..length
        }
        (start, "") => start.parse().ok()?..length,
        (start, end) => {
            let (start, end): (u64, u64) = (start.parse().ok()?, end.parse().ok()?);
            if start > end {
                return None;
            }
            start..end.saturating_add(1).min(length)
        }
    };
    Some(if range.is_empty() || range.start >= length { Err(NotSatisfiable) } else { Ok(range) })
}

/// The media type. Web pages and SVG are text, so that a browser runs nothing of an output.
fn media_type(kind: Kind, first: &[u8]) -> &'static str {
    match kind {
        Kind::Text => "text/plain; charset=utf-8",
        Kind::Binary if first.starts_with(b"\x89PNG\r\n\x1a\n") => "image/png",
        Kind::Binary if first.starts_with(b"\xff\xd8\xff") => "image/jpeg",
        Kind::Binary if first.starts_with(b"GIF8") => "image/gif",
        Kind::Binary if first.starts_with(b"RIFF") && first.get(8..12) == Some(b"WEBP") => "image/webp",
        kind => kind.media_type(),
    }
}

fn extension(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "txt",
        Kind::Json => "json",
        Kind::JsonLines => "jsonl",
        Kind::Binary => "bin",
    }
}
