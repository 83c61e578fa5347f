//! Outputs: which there are, what is known of each, and their bytes.

use super::Web;
use super::asked::{Answering, Asked, blocking, json, nothing};
use super::problem::Problem;
use super::sessions::number;
use crate::machine_form;
use axum::body::{Body, Bytes};
use axum::http::header::{
    ACCEPT_RANGES, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
    IF_RANGE, RANGE,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use forebay::{Event, Given, Kind, Output, Record, Session, Store, What};
use futures_util::stream;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// What the model got of an output, told from the events.
#[derive(Default)]
struct Got {
    /// The first answer to its call: the reason, tokens, and tokens without us.
    reply: Option<(Option<forebay::Reason>, u64, u64)>,
    queries: u64,
    retrieved: u64,
    extractions: u64,
    extracted: u64,
}

impl Got {
    fn json(&self) -> Value {
        let Some((reason, tokens, baseline)) = self.reply else {
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

/// What the model got of each output of a session.
fn got(store: &dyn Store, session: &Session) -> Result<HashMap<String, Got>, Problem> {
    let mut all: HashMap<String, Got> = HashMap::new();
    store.for_each_event(session, |Event { what, .. }| {
        let Some(id) = what.id().filter(|id| !id.is_empty()) else { return };
        let got = all.entry(id.to_owned()).or_default();
        match &what {
            What::OutputPassed(replied) | What::ViewGiven(replied) => {
                got.reply = Some((replied.reason, replied.tokens, replied.baseline));
            }
            What::QueryAnswered(answered) => {
                got.queries += 1;
                got.retrieved = got.retrieved.saturating_add(answered.tokens);
            }
            What::ExtractionDone(done) => {
                got.extractions += 1;
                let cost = done.tokens_in.saturating_add(done.tokens_out).saturating_add(done.tokens);
                got.extracted = got.extracted.saturating_add(cost);
            }
            _ => {}
        }
    })?;
    Ok(all)
}

/// What is known of an output, with what the model got of it.
fn told(asked: &Asked, record: &Record, got: &HashMap<String, Got>) -> Value {
    let mut value = machine_form::record(record, asked.store());
    value["got"] = got.get(record.handle.id()).map_or_else(|| Got::default().json(), Got::json);
    if !asked.visitor.is_here {
        value["path"] = Value::Null;
    }
    value
}

/// Which there are, the newest first.
pub(crate) fn list(_: &Web, asked: &Asked) -> Result<Response, Problem> {
    let (store, session) = (asked.store(), asked.session()?);
    let mut weights = store.weights(&session)?;
    weights.sort_by(|one, other| (other.time, &other.handle).cmp(&(one.time, &one.handle)));
    let total = weights.len();
    let got = got(store, &session)?;
    let mut outputs = Vec::new();
    for weight in weights.into_iter().skip(number(asked, "skip")).take(number(asked, "limit")) {
        // It may go while we look.
        let Ok(record) = store.record(&weight.handle) else { continue };
        let value = told(asked, &record, &got);
        outputs.push(value);
    }
    Ok(json(&json!({ "outputs": outputs, "total": total })))
}

/// What is known of one.
pub(crate) fn get(web: &Web, asked: &Asked) -> Result<Response, Problem> {
    let output = asked.outputs(web)?.open(asked.named("output"))?;
    let record = output.record();
    let mut value = told(asked, record, &got(asked.store(), &record.call.session)?);
    value["given"] = json!(Given::of(asked.store(), &record.handle)?);
    value["length"] = json!(output.len());
    value["before"] = json!(asked.store().before(record).map(|before| before.record().handle.to_string()));
    Ok(json(&value))
}

/// Removes one.
pub(crate) fn remove(web: &Web, asked: &Asked) -> Result<Response, Problem> {
    let output = asked.outputs(web)?.open(asked.named("output"))?;
    // A beginning of a name is good enough to read by, and not to remove by.
    if output.record().handle.id() != asked.named("output") {
        return Err(Problem::not_found(
            "there is no output of exactly this name; removing takes the whole id",
        ));
    }
    if output.is_growing() {
        return Err(Problem::conflict("the output still grows: it can be removed when it has ended"));
    }
    asked.store().delete(&output.record().handle)?;
    Ok(nothing())
}

/// So much is read and sent at once.
const AT_ONCE: u64 = 256 * 1024;

/// The bytes of one.
pub(crate) fn bytes(web: Arc<Web>, asked: Asked) -> Answering {
    Box::pin(async move {
        let (output, headers, first) = blocking(move || {
            let output = asked.outputs(&web)?.open(asked.named("output"))?;
            let first = output.read(0..output.len().min(16))?;
            Ok((output, asked.headers, first))
        })
        .await?;
        let record = output.record();
        let etag = (!output.is_growing()).then(|| format!("\"{}\"", record.hash));
        let mut response = Response::new(Body::empty());
        let answer = response.headers_mut();
        let name = format!("inline; filename=\"{}.{}\"", record.handle.id(), ending(record.kind));
        answer.insert(CONTENT_TYPE, HeaderValue::from_static(media_type(record.kind, &first)));
        answer.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        // Whatever it is, it does nothing where it is shown.
        answer.insert(
            "content-security-policy",
            HeaderValue::from_static("sandbox; default-src 'none'; frame-ancestors 'none'"),
        );
        let mut put = |name, value: &str| value.parse().map(|value| answer.insert(name, value));
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
        let range = match wanted(&headers, length, etag.as_deref()) {
            Some(Ok(range)) => {
                let _ = put(CONTENT_RANGE, &format!("bytes {}-{}/{length}", range.start, range.end - 1));
                *response.status_mut() = StatusCode::PARTIAL_CONTENT;
                range
            }
            Some(Err(())) => return Err(Problem::not_in_range(length)),
            None => 0..length,
        };
        response.headers_mut().insert(CONTENT_LENGTH, (range.end - range.start).into());
        *response.body_mut() = body_of(output, range);
        Ok(response)
    })
}

/// A part of an output, read as it is sent: a slow reader holds no thread.
fn body_of(output: Output, range: Range<u64>) -> Body {
    let output = Arc::new(output);
    Body::from_stream(stream::unfold((output, range), |(output, range)| async move {
        if range.is_empty() {
            return None;
        }
        let end = range.end.min(range.start + AT_ONCE);
        let (for_read, start) = (output.clone(), range.start);
        let read = blocking(move || Ok(for_read.read(start..end)?)).await;
        let read = read.map_err(|problem| std::io::Error::other(problem.detail()));
        let next = if read.is_ok() { end..range.end } else { range.end..range.end };
        Some((read.map(Bytes::from), (output, next)))
    }))
}

/// The part that is asked for, if one is; `Err` if there is no such part. Several parts at once are not served: whoever
/// asks for them gets all, as is allowed.
fn wanted(headers: &HeaderMap, length: u64, etag: Option<&str>) -> Option<Result<Range<u64>, ()>> {
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
    Some(if range.is_empty() || range.start >= length { Err(()) } else { Ok(range) })
}

/// The media type. Pages and drawings are text: nobody runs what a tool said.
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

fn ending(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "txt",
        Kind::Json => "json",
        Kind::JsonLines => "jsonl",
        Kind::Binary => "bin",
    }
}
