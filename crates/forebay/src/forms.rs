//! JSON forms of answers: the same for `--json`, the HTTP API and bindings for other languages.

use crate::extract::Extract;
use crate::query::{Found, Searched};
use crate::stats::{By, Counts};
use crate::{
    Excerpt, Exit, Folded, Handle, Output, Outputs, Record, Reply, Result, Secrets, State, Stats, Store,
    Surface, Window, wire,
};
use serde_json::{Map, Value, json};

/// The form of a reply: what the model gets for an output.
pub fn reply(output: &Output, reply: &Reply) -> Result<Value> {
    let record = output.record();
    let text = text(output, reply)?;
    let has_bytes = record.lost.as_ref().is_none_or(|_| record.kept() > 0);
    let mut value = json!({
        "handle": has_bytes.then(|| record.handle.to_string()),
        "stored": reply.folded.is_some() && has_bytes,
        "reason": reply.folded.as_ref().map(|folded| folded.reason),
        "text": text,
        "size": reply.size,
        "exit": record.exit.map(Exit::status),
    });
    let signal = record.exit.and_then(|exit| match exit {
        Exit::Signal(number) => Some(json!(number)),
        Exit::Code(_) => None,
    });
    let cut_short = match &record.state {
        State::CutShort(why) => Some(json!(why)),
        _ => None,
    };
    let lost = record.lost.as_ref().map(|lost| json!(lost));
    for (name, field) in [("signal", signal), ("cut_short", cut_short), ("lost", lost)] {
        if let (Some(object), Some(field)) = (value.as_object_mut(), field) {
            object.insert(name.to_owned(), field);
        }
    }
    Ok(value)
}

fn text(output: &Output, reply: &Reply) -> Result<String> {
    Ok(match &reply.folded {
        Some(Folded { text, .. }) => String::from_utf8_lossy(text).into_owned(),
        None => String::from_utf8_lossy(&output.read(0..output.len())?).into_owned(),
    })
}

/// A reply as the response of a `<function_call>` record.
pub fn function_call(output: &Output, reply: &Reply) -> Result<String> {
    Ok(wire::function_call::record_of(&output.record().call, &text(output, reply)?))
}

/// The form of an excerpt: the answer to a query.
pub fn excerpt(output: &Output, excerpt: &Excerpt, surface: &Surface) -> Result<Value> {
    let handle = &output.record().handle;
    let mut value = json!({ "handle": handle.to_string() });
    let mut found = match &excerpt.found {
        Found::Bytes => {
            let parts =
                excerpt.shown.iter().map(|range| part_form(output, range)).collect::<Result<Vec<_>>>()?;
            match <[_; 1]>::try_from(parts) {
                Ok([part]) => part,
                Err(parts) => json!({ "parts": parts }),
            }
        }
        Found::Matches(matches) => json!(matches),
        Found::Values(values) => json!(values),
        Found::Shape(shape) => json!(shape),
        Found::Outline(outline) => {
            json!({ "form": outline.form.name(), "items": outline.items, "note": outline.note })
        }
        Found::Passages(passages) => json!({ "passages": passages }),
    };
    if output.secrets() == Secrets::Mask {
        output.masking().mask(&mut found, "");
    }
    let rest = json!({
        "total_lines": excerpt.total_lines,
        "total_bytes": output.len(),
        "growing": excerpt.growing,
        "next": excerpt.next.as_ref().map(|next| surface.call(handle, next)),
    });
    for fields in [found, rest] {
        if let (Some(value), Value::Object(fields)) = (value.as_object_mut(), fields) {
            value.extend(fields);
        }
    }
    Ok(value)
}

/// The form of a part of an output.
fn part_form(output: &Output, range: &std::ops::Range<u64>) -> Result<Value> {
    let bytes = output.shown(range.clone())?;
    let lines = [range.start, range.end.max(range.start + 1) - 1].map(|at| output.newlines_before(at));
    let [first, last] = lines;
    Ok(json!({
        "lines": {"first": first? + 1, "last": last? + 1},
        "bytes": {"start": range.start, "end": range.end},
        "utf8": std::str::from_utf8(&bytes).is_ok(),
        "content": String::from_utf8_lossy(&bytes),
    }))
}

/// The form of a record: all its fields, with some of them in a form that is simple for scripts.
pub fn record(record: &Record, store: &dyn Store) -> Value {
    let mut value = json!(record);
    if let Some(object) = value.as_object_mut() {
        object.insert("handle".into(), json!(record.handle.to_string()));
        object.insert("tool".into(), json!(record.call.full_name()));
        object.insert("complete".into(), json!(record.state == State::Complete));
        object.insert("exit".into(), json!(record.exit.map(Exit::status)));
        object.insert("path".into(), json!(store.path(&record.handle)));
    }
    value
}

/// The form of statistics: the total, and the groups by tool or by day.
pub fn stats(stats: &Stats, by: By) -> Value {
    let mut value = counts_form(&stats.total);
    let groups: Map<String, Value> = stats
        .groups
        .iter()
        .map(|(name, counts)| (name.clone(), Value::Object(counts_form(counts))))
        .collect();
    value.insert(if by == By::Day { "by_day" } else { "by_tool" }.to_owned(), Value::Object(groups));
    Value::Object(value)
}

fn counts_form(counts: &Counts) -> Map<String, Value> {
    let Value::Object(mut value) = json!(counts) else { return Map::new() };
    for (reason, fired) in counts.triggers() {
        if let Some(trigger) = value.get_mut(&reason.to_string()).and_then(Value::as_object_mut) {
            trigger.insert("mean_characters_saved".to_owned(), json!(fired.mean_characters_saved()));
        }
    }
    value.insert("saved".to_owned(), json!(counts.saved()));
    value
}

/// The form of the room: how much of the model's context window is in use, and how much is left.
pub fn room(outputs: &Outputs, window: Window) -> Result<Value> {
    let in_use = outputs.in_use()?;
    let Window { context_window, output_reserve, safety_buffer } = window;
    Ok(json!({
        "context_window": (context_window > 0).then_some(context_window),
        "output_reserve": output_reserve,
        "safety_buffer": safety_buffer,
        "reported": in_use.reported,
        "given": in_use.given,
        "left": outputs.room()?.left(),
    }))
}

/// The form of an extraction.
pub fn extract(handle: &Handle, answer: &Extract) -> Value {
    let reading = answer.reading.as_ref();
    json!({
        "handle": handle.to_string(),
        "strategy": answer.strategy,
        "fell_back": answer.fell_back,
        "repeated": answer.repeated,
        "stopped": answer.stopped,
        "leniencies": reading.map(|reading| &reading.leniencies),
        "models": reading.map(|reading| &reading.models),
        "asked": reading.map(|reading| reading.asked),
        "usage": reading.map(|reading| reading.usage),
        "read": reading.map(|reading| &reading.ranges),
        "text": answer.text,
    })
}

/// The form of a search across the outputs of a session.
pub fn searched(found: &Searched) -> Value {
    json!({ "total": found.total, "searched": found.searched, "outputs": found.groups })
}
