//! The tools `context.list`, `context.read`, `context.tail` and `context.grep`, which read a materialized output.
//!
//! They answer in JSON. An answer that would be larger than the budget has less in it and says so: `limit` of a read is
//! the number of bytes that were read and `done` whether they were the last; `next` of a tail and of a grep is the call
//! that reads the rest.

use crate::event::Answered;
use crate::masking;
use crate::query::grep::Match;
use crate::query::{Found, fitted};
use crate::request::declared::{Arguments, Declared, Takes, optional, required};
use crate::request::grep::Grep;
use crate::{Budget, ContextRef, Error, Output, Outputs, Query, Result, excerpt};
use serde_json::{Map, Value, json};

const ID: &str = "The id of the ContextRef.";

/// Maximum bytes of one `context.read`.
const LONGEST_READ: u64 = 65_536;

/// The tools.
pub(crate) const TOOLS: &[Declared] = &[
    Declared {
        name: "list",
        description: "List the context files of this conversation, the newest first.",
        arguments: &[
            optional("kind", Takes::Text(100), "Only files of this kind, such as \"artifact\"."),
            optional(
                "limit",
                Takes::Number { least: 1, most: 500, usual: Some(50) },
                "Maximum files listed.",
            ),
        ],
    },
    Declared {
        name: "read",
        description: "Read a part of a context file, from a byte on.",
        arguments: &[
            required("id", Takes::Text(300), ID),
            optional(
                "offset",
                Takes::Number { least: 0, most: i64::MAX as u64, usual: Some(0) },
                "The first byte.",
            ),
            optional(
                "limit",
                Takes::Number { least: 1, most: LONGEST_READ, usual: Some(8_192) },
                "Maximum bytes.",
            ),
        ],
    },
    Declared {
        name: "tail",
        description: "Read the last lines of a context file. Where not all of them fit, next is the call that reads the others.",
        arguments: &[
            required("id", Takes::Text(300), ID),
            optional("lines", Takes::Number { least: 1, most: 2_000, usual: Some(200) }, "Maximum lines."),
        ],
    },
    Declared {
        name: "grep",
        description: "Find the lines of a context file that match a regular expression. Where there are more matches, next is the call that shows them.",
        arguments: &[
            required("id", Takes::Text(300), ID),
            required("pattern", Takes::Text(1_000), "A regular expression."),
            optional(
                "maxResults",
                Takes::Number { least: 1, most: 200, usual: Some(50) },
                "Maximum matches shown.",
            ),
            optional(
                "contextLines",
                Takes::Number { least: 0, most: 200, usual: Some(0) },
                "Lines shown before and after each match.",
            ),
            optional("caseSensitive", Takes::Switch, "Match case."),
            optional(
                "offset",
                Takes::Number { least: 0, most: i64::MAX as u64, usual: Some(0) },
                "The first byte, as next gives it.",
            ),
        ],
    },
];

/// Answers a call of one of these tools, and records which bytes the answer shows.
pub(crate) fn answer(
    outputs: &Outputs,
    tool: &Declared,
    given: &Map<String, Value>,
    budget: Budget,
) -> Result<String> {
    let text = text_of(outputs, tool.name, &Arguments::new(tool, given)?, budget)?;
    let handle = given.get("id").and_then(|id| outputs.find(id.as_str()?).ok());
    let id = handle.as_ref().map_or("", |handle| handle.id());
    let query = format!("context.{}", tool.name);
    let answered = Answered::text(id, &query, given.clone(), budget, &text);
    let output = handle.and_then(|handle| outputs.open(&handle.to_string()).ok());
    outputs.record_answer(match output {
        Some(output) => with_places(answered, &output, tool.name, &text),
        None => answered,
    });
    Ok(text)
}

/// The record of an answer, with the bytes of the output that the answer shows or was made from.
fn with_places(answered: Answered, output: &Output, tool: &str, text: &str) -> Answered {
    let Ok(answer) = serde_json::from_str::<Value>(text) else { return answered };
    let number = |name: &str| answer[name].as_u64();
    let line = |first: u64| Some((output.line_start(first).ok()?, output.line_start(first + 1).ok()?));
    let places = || -> Option<Vec<(u64, u64)>> {
        if tool == "grep" {
            let lines = answer["matches"].as_array()?.iter();
            return lines.map(|found| line(found["line"].as_u64()?.checked_sub(1)?)).collect();
        }
        let length = (answer["content"].as_str()?.len() as u64).min(output.len());
        let start = match number("offset") {
            Some(offset) => offset,
            // The end of the output; of a line that is too long, a part of it.
            None => line(number("totalLines")?.checked_sub(number("lines")?)?)?.0.max(output.len() - length),
        };
        Some(vec![(start, (start + number("limit").unwrap_or(length)).min(output.len()))])
    };
    let places = places().unwrap_or_default().into_iter().filter(|(start, end)| start < end).collect();
    let (shown, drawn_from) = if tool == "grep" { (Vec::new(), places) } else { (places, Vec::new()) };
    Answered { length: output.len(), shown, drawn_from, ..answered }
}

fn text_of(outputs: &Outputs, name: &str, arguments: &Arguments, budget: Budget) -> Result<String> {
    match name {
        "list" => list(outputs, arguments, budget),
        "read" => read(outputs, arguments, budget),
        "tail" => tail(outputs, arguments, budget),
        _ => grep(outputs, arguments, budget),
    }
}

fn list(outputs: &Outputs, arguments: &Arguments, budget: Budget) -> Result<String> {
    let kind = arguments.text("kind");
    let records = outputs.list()?;
    let refs: Vec<ContextRef> = records
        .iter()
        .rev()
        .map(ContextRef::from)
        .filter(|reference| kind.is_empty() || reference.kind == kind)
        .collect();
    let wanted = refs.len().min(arguments.number("limit").unwrap_or(0) as usize);
    let total = refs.len();
    largest(wanted as u64, budget, |count| Ok(json!({"items": refs[..count as usize], "total": total})))
}

fn tail(outputs: &Outputs, arguments: &Arguments, budget: Budget) -> Result<String> {
    let output = outputs.open_for_query(arguments.text("id"))?;
    let total = output.lines()?;
    let id = output.record().handle.id().to_owned();
    let from = output.line_start(total - arguments.number("lines").unwrap_or(0).min(total))?;
    let start = from.max(output.len().saturating_sub(budget.bytes));
    let end = output.read(start..output.len())?;
    let masks = output.masks_in(start..output.len())?;
    largest(end.len() as u64, budget, |count| {
        let mut cut = end.len() - count as usize;
        // Whole lines where one fits, else whole characters.
        let newline = memchr::memchr(b'\n', &end[cut..]).map(|at| cut + at + 1);
        match newline.filter(|&at| at < end.len() && (cut > 0 || start > from)) {
            Some(line) => cut = line,
            None => {
                while end.get(cut).is_some_and(|byte| byte & 0xc0 == 0x80) {
                    cut += 1;
                }
            }
        }
        let shown = start + cut as u64;
        let first = output.newlines_before(shown)?;
        let content = masking::masked(&end[cut..], shown, &masks);
        let content = String::from_utf8_lossy(&content);
        let mut answer = json!({"id": id, "lines": total - first, "totalLines": total, "content": content});
        if shown > from {
            let limit = (shown - from).min(LONGEST_READ);
            answer["next"] = next("read", json!({"id": id, "offset": from, "limit": limit}));
        }
        Ok(answer)
    })
}

/// The call that reads on.
fn next(tool: &str, arguments: Value) -> Value {
    json!({"name": format!("context.{tool}"), "arguments": arguments})
}

fn grep(outputs: &Outputs, arguments: &Arguments, budget: Budget) -> Result<String> {
    let number = |name: &str| arguments.number(name).unwrap_or(0);
    let output = outputs.open_for_query(arguments.text("id"))?;
    let id = output.record().handle.id();
    let wanted = Grep {
        ignore_case: !arguments.is_on("caseSensitive"),
        context: number("contextLines"),
        max: number("maxResults") as usize,
        from_byte: number("offset"),
        ..Grep::new(arguments.text("pattern"))
    };
    let found = |grep: Grep, budget: Budget| match excerpt(&output, &Query::Grep(grep), budget)?.found {
        Found::Matches(found) => Ok(found),
        _ => Err(Error::BadQuery("nothing was looked for".to_owned())),
    };
    // The total is that of the whole file, wherever the search goes on.
    let total = match wanted.from_byte {
        0 => None,
        _ => Some(found(Grep { max: 0, from_byte: 0, ..wanted.clone() }, budget)?.total),
    };
    let mut room = budget;
    loop {
        let found = found(wanted.clone(), room)?;
        let matches: Vec<Value> = found.shown.iter().map(shown).collect();
        let print = |count: usize| {
            let mut answer = json!({
                "id": id, "totalMatches": total.unwrap_or(found.total), "matches": matches[..count],
            });
            if count > 0 && (count as u64) < found.total {
                let mut same =
                    json!({"id": id, "pattern": wanted.pattern, "offset": found.shown[count - 1].end});
                for (name, usual) in [("maxResults", 50), ("contextLines", 0)] {
                    if number(name) != usual {
                        same[name] = number(name).into();
                    }
                }
                if !wanted.ignore_case {
                    same["caseSensitive"] = true.into();
                }
                answer["next"] = next("grep", same);
            }
            answer.to_string()
        };
        let count = fitted(matches.len(), budget, |count| print(count).into_bytes());
        // JSON may take more room than the text that the search was fitted to: with less, matches are cut shorter.
        if count > 0 || matches.is_empty() || room.bytes < Budget::LEAST.bytes {
            return Ok(print(count));
        }
        room = Budget { tokens: room.tokens / 2, bytes: room.bytes / 2, ..room };
    }
}

/// A match. A part of a long line comes with its offset.
fn shown(found: &Match) -> Value {
    let mut shown = json!({"line": found.line, "content": found.text});
    if found.partial {
        shown["partial"] = true.into();
        shown["offset"] = found.byte.into();
    }
    for (name, lines) in [("before", &found.before), ("after", &found.after)] {
        if !lines.is_empty() {
            shown[name] = json!(lines);
        }
    }
    shown
}

fn read(outputs: &Outputs, arguments: &Arguments, budget: Budget) -> Result<String> {
    let output = outputs.open_for_query(arguments.text("id"))?;
    let offset = arguments.number("offset").unwrap_or(0);
    if offset > output.len() {
        return Err(Error::OutOfRange(format!(
            "offset {offset} is behind the end: {} has {} bytes",
            output.record().handle.id(),
            output.len()
        )));
    }
    let rest = output.len() - offset;
    let wanted = arguments.number("limit").unwrap_or(0).min(rest).min(budget.bytes);
    // With what follows, to see whether a character is cut.
    let bytes = output.read(offset..offset + wanted + 1)?;
    let masks = output.masks_in(offset..(offset + wanted).min(output.len()))?;
    largest(wanted, budget, |count| {
        let mut end = count as usize;
        // A cut of ours keeps characters whole.
        let least = end.saturating_sub(3).max(1);
        while end > least && count < rest && bytes.get(end).is_some_and(|byte| byte & 0xc0 == 0x80) {
            end -= 1;
        }
        Ok(json!({
            "id": output.record().handle.id(),
            "offset": offset,
            "limit": end,
            "done": end as u64 == rest && !output.is_growing(),
            "content": String::from_utf8_lossy(&masking::masked(&bytes[..end], offset, &masks)),
        }))
    })
}

/// The answer with as much content as the budget allows, up to `most`.
fn largest(most: u64, budget: Budget, answer: impl Fn(u64) -> Result<Value>) -> Result<String> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    // The error of an answer that cannot be made is returned only for the largest one that fits.
    let text = |count: usize| answer(count as u64).map(|value| value.to_string());
    text(fitted(most, budget, |count| text(count).unwrap_or_default().into_bytes()))
}
