//! Answers as JSON: the same for `--json` and for whoever comes by HTTP.

use forebay::extract::Extract;
use forebay::query::{Found, Searched};
use forebay::stats::{By, Counts};

use forebay::{
    Excerpt, Folded, Handle, Output, Outputs, Record, Reply, Result, State, Stats, Store, Surface, Window,
    wire,
};
use serde_json::{Map, Value, json};

/// What the model is given for an output.
pub(crate) fn reply(output: &Output, reply: &Reply) -> Result<Value> {
    let record = output.record();
    let text = text(output, reply)?;
    let kept = record.lost.as_ref().is_none_or(|_| record.kept() > 0);
    let mut value = json!({
        "handle": kept.then(|| record.handle.to_string()),
        "stored": reply.folded.is_some() && kept,
        "reason": reply.folded.as_ref().map(|folded| folded.reason),
        "text": text,
        "size": reply.size,
        "exit": record.exit.map(forebay::Exit::status),
    });
    let more = [
        (
            "signal",
            record.exit.and_then(
                |exit| {
                    if let forebay::Exit::Signal(n) = exit { Some(json!(n)) } else { None }
                },
            ),
        ),
        (
            "cut_short",
            if let forebay::State::CutShort(why) = &record.state { Some(json!(why)) } else { None },
        ),
        ("lost", record.lost.as_ref().map(|lost| json!(lost))),
    ];
    for (name, field) in more {
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

/// What the model is given for an output, as the response of a `<function_call>` record.
pub(crate) fn function_call(output: &Output, reply: &Reply) -> Result<String> {
    Ok(wire::function_call::record_of(&output.record().call, &text(output, reply)?))
}

/// The answer to a query.
pub(crate) fn excerpt(output: &Output, excerpt: &Excerpt, surface: &Surface) -> Result<Value> {
    let handle = &output.record().handle;
    let mut value = json!({ "handle": handle.to_string() });
    let found = match &excerpt.found {
        Found::Bytes => {
            let parts =
                excerpt.shown.iter().map(|range| part_json(output, range)).collect::<Result<Vec<_>>>()?;
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

/// A part of an output.
fn part_json(output: &Output, range: &std::ops::Range<u64>) -> Result<Value> {
    let bytes = output.read(range.clone())?;
    let lines = [range.start, range.end.max(range.start + 1) - 1].map(|at| output.newlines_before(at));
    let [first, last] = lines;
    Ok(json!({
        "lines": {"first": first? + 1, "last": last? + 1},
        "bytes": {"start": range.start, "end": range.end},
        "utf8": std::str::from_utf8(&bytes).is_ok(),
        "content": String::from_utf8_lossy(&bytes),
    }))
}

/// A record: all its fields, and those that scripts ask for first.
pub(crate) fn record(record: &Record, store: &dyn Store) -> Value {
    let mut value = json!(record);
    if let Some(object) = value.as_object_mut() {
        object.insert("handle".into(), json!(record.handle.to_string()));
        object.insert("tool".into(), json!(record.call.full_name()));
        object.insert("complete".into(), json!(record.state == State::Complete));
        object.insert("exit".into(), json!(record.exit.map(forebay::Exit::status)));
        object.insert("path".into(), json!(store.path(&record.handle)));
    }
    value
}

/// What was saved, with what it is sorted by.
pub(crate) fn stats(stats: &Stats, by: By) -> Value {
    let mut value = counts_json(&stats.total);
    let groups: Map<String, Value> = stats
        .groups
        .iter()
        .map(|(name, counts)| (name.clone(), Value::Object(counts_json(counts))))
        .collect();
    value.insert(if by == By::Day { "by_day" } else { "by_tool" }.to_owned(), Value::Object(groups));
    Value::Object(value)
}

fn counts_json(counts: &Counts) -> Map<String, Value> {
    let Value::Object(mut value) = json!(counts) else { return Map::new() };
    for (reason, fired) in counts.triggers() {
        if let Some(trigger) = value.get_mut(&reason.to_string()).and_then(Value::as_object_mut) {
            trigger.insert("mean_characters_saved".to_owned(), json!(fired.mean_characters_saved()));
        }
    }
    value.insert("saved".to_owned(), json!(counts.saved()));
    value
}

/// How much of a model's context is in use, and what is left of it.
pub(crate) fn room(outputs: &Outputs, window: Window) -> Result<Value> {
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

/// What an extraction gave.
pub(crate) fn extract(handle: &Handle, answer: &Extract) -> Value {
    let reading = answer.reading.as_ref();
    let fell_back = answer.fell_back.as_ref();
    json!({
        "handle": handle.to_string(),
        "strategy": answer.strategy,
        "fell_back": fell_back.map(|(from, why)| json!({"from": from.to_string(), "why": why})),
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

/// What words were found in all outputs of a session.
pub(crate) fn searched(found: &Searched) -> Value {
    json!({ "total": found.total, "searched": found.searched, "outputs": found.groups })
}
