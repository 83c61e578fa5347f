//! Browsing for a person: windows of an output, searches, the view that the model got. Nothing here counts as shown to the
//! model.

use crate::problem::Problem;
use crate::request::{Request, json};
use crate::state::Server;
use axum::response::Response;
use forebay::query::{Found, Selection, nodes};
use forebay::{Budget, Grep, Output, Piece, Query, ShownView, Why, tokens};
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};
use std::time::{Duration, Instant};

fn output(server: &Server, request: &Request) -> Result<Output, Problem> {
    Ok(request.outputs(server)?.open(request.path_parameter("output"))?.on(&request.surface()))
}

/// Responds with the view that the model got, piece by piece.
pub(crate) fn view(server: &Server, request: &Request) -> Result<Response, Problem> {
    let output = output(server, request)?;
    let handle = output.record().handle.clone();
    let Some(given) = ShownView::of(request.store(), &handle)? else {
        return Ok(json(&json!({ "handle": handle.to_string(), "pieces": [], "tokens": Value::Null })));
    };
    let seen = given.output_as_shown(output)?;
    let mut pieces = Vec::new();
    for printed in given.view.printed(&seen)? {
        let text = String::from_utf8_lossy(&printed.text).into_owned();
        let Some(piece) = printed.piece.and_then(|number| given.view.pieces().get(number)) else {
            if !text.is_empty() {
                pieces.push(json!({ "kind": "frame", "text": text }));
            }
            continue;
        };
        let range = piece.range();
        let lines = [range.start, range.end - 1].map(|at| seen.newlines_before(at));
        let [first, last] = lines;
        let kind = match piece {
            Piece::Verbatim(_) => "verbatim",
            Piece::Rendered { .. } => "rendered",
            Piece::Omitted { why: Why::Lost, .. } => "lost",
            Piece::Omitted { why: Why::Overwritten, .. } => "overwritten",
            Piece::Omitted { .. } => "omitted",
            Piece::Digest { .. } => "digest",
        };
        pieces.push(json!({
            "kind": kind,
            "text": text,
            "start": range.start,
            "end": range.end,
            "lines": { "first": first? + 1, "last": last? + 1 },
        }));
    }
    Ok(json(&json!({ "handle": handle.to_string(), "pieces": pieces, "tokens": tokens::count(&given.text) })))
}

/// Maximum bytes of a window's lines.
const MAX_WINDOW_BYTES: usize = 4 * 1024 * 1024;

/// Bytes read at a time to find the end of a line.
const BLOCK_BYTES: u64 = 64 * 1024;

/// Responds with a window of lines.
pub(crate) fn lines(server: &Server, request: &Request) -> Result<Response, Problem> {
    let output = output(server, request)?;
    let total = output.lines()?;
    let given = |name| request.arguments.number(name).unwrap_or(0);
    let (first, count) = match (request.arguments.number("last"), request.arguments.number("byte")) {
        (Some(last), _) => (total.saturating_sub(last) + 1, last),
        (None, Some(byte)) => {
            let before = output.newlines_before(byte.min(output.len()))?;
            (before.min(total.saturating_sub(1)) + 1, given("count"))
        }
        (None, None) => (given("first"), given("count")),
    };
    let last = first.saturating_add(count - 1).min(total);
    let (mut lines, mut bytes) = (Vec::new(), 0);
    let mut buffered = Buffered { output: &output, start: 0, block: Vec::new() };
    let mut start = output.line_start(first - 1)?;
    for number in first..=last {
        let (end, next) = match buffered.newline(start)? {
            Some(newline) => (newline, newline + 1),
            // The last line, or a long one: the index knows where the next one starts.
            None if number == total && !ends_with_newline(&output)? => (output.len(), output.len()),
            None => {
                let next = output.line_start(number)?;
                (next - 1, next)
            }
        };
        let shown_to = end.min(start + given("width"));
        let shown = output.shown(start..shown_to)?;
        bytes += shown.len();
        let cut = shown_to < end;
        let text = String::from_utf8_lossy(&shown);
        lines.push(json!({ "line": number, "start": start, "end": end, "text": text, "cut": cut }));
        start = next;
        if bytes > MAX_WINDOW_BYTES {
            break;
        }
    }
    Ok(json(&json!({
        "first": first,
        "lines": lines,
        "total_lines": total,
        "total_bytes": output.len(),
        "growing": output.is_growing(),
    })))
}

/// A block of an output that was read already.
struct Buffered<'a> {
    output: &'a Output,
    start: u64,
    block: Vec<u8>,
}

impl Buffered<'_> {
    /// The offset of the first newline from `at` on, if it is in the next block.
    fn newline(&mut self, at: u64) -> Result<Option<u64>, Problem> {
        for _ in 0..2 {
            let from = usize::try_from(at - self.start).unwrap_or(usize::MAX);
            let found = self.block.get(from..).and_then(|rest| rest.iter().position(|&byte| byte == b'\n'));
            if let Some(found) = found {
                return Ok(Some(at + found as u64));
            }
            self.block = self.output.read(at..self.output.len().min(at + BLOCK_BYTES))?;
            self.start = at;
        }
        Ok(None)
    }
}

fn ends_with_newline(output: &Output) -> Result<bool, Problem> {
    let length = output.len();
    Ok(length > 0 && output.read(length - 1..length)? == b"\n")
}

/// Budget of a search for a person, who may read more than a model.
const PERSON_BUDGET: Budget = Budget { tokens: u64::MAX, bytes: 8 * 1024 * 1024, lines: None };

/// Responds with the matches of a pattern.
pub(crate) fn find(server: &Server, request: &Request) -> Result<Response, Problem> {
    let output =
        request.outputs(server)?.open_for_query(request.path_parameter("output"))?.on(&request.surface());
    let number = |name| request.arguments.number(name).unwrap_or(0);
    let grep = Grep {
        fixed: request.arguments.is_on("fixed"),
        ignore_case: request.arguments.is_on("ignore_case"),
        wanted: Selection::Matches,
        max: usize::try_from(number("max")).unwrap_or(usize::MAX),
        from_byte: number("from_byte"),
        ..Grep::new(request.arguments.text("pattern"))
    };
    let excerpt = forebay::excerpt(&output, &Query::Grep(grep), PERSON_BUDGET)?;
    let Found::Matches(found) = excerpt.found else {
        return Err(Problem::internal("a search returned something other than matches"));
    };
    let next = match excerpt.next {
        Some(Query::Grep(next)) => Some(next.from_byte),
        _ => None,
    };
    let matches: Vec<Value> = found
        .shown
        .iter()
        .map(|found| json!({ "line": found.line, "byte": found.byte, "text": found.text }))
        .collect();
    Ok(json(&json!({ "total": found.total, "matches": matches, "next": next })))
}

/// Responds with the members of a value in a JSON output.
pub(crate) fn tree(server: &Server, request: &Request) -> Result<Response, Problem> {
    let output =
        request.outputs(server)?.open_for_query(request.path_parameter("output"))?.on(&request.surface());
    let number = |name| request.arguments.number(name);
    let within = match (number("start"), number("end")) {
        (Some(start), Some(end)) if start <= end => Some(start..end),
        (None, None) => None,
        _ => return Err(Problem::bad_request("start and end belong together, and start comes first")),
    };
    let max = usize::try_from(number("max").unwrap_or(100)).unwrap_or(usize::MAX);
    let mut members = json!(nodes(&output, within, number("from"), max)?);
    server.config.settings.masking.json(&mut members);
    Ok(json(&members))
}

/// Maximum bytes of an output that is compared.
const MAX_COMPARED_BYTES: u64 = 32 * 1024 * 1024;

/// Longest time of a comparison, which then ends with a coarser result.
const DIFF_TIMEOUT: Duration = Duration::from_secs(5);

/// Context lines around a difference.
const CONTEXT_LINES: usize = 3;

/// Maximum lines in a response to a comparison.
const MAX_DIFF_LINES: usize = 5_000;

/// Responds with the differences from another output.
pub(crate) fn diff(server: &Server, request: &Request) -> Result<Response, Problem> {
    let new = output(server, request)?;
    let old = if request.arguments.has("with") {
        request.outputs(server)?.open(request.arguments.text("with"))?
    } else {
        forebay::store::earlier_run(request.store(), new.record()).ok_or_else(|| {
            Problem::not_found("there is no earlier run of this call; `with` names another output")
        })?
    };
    if let Some(large) = [&old, &new].into_iter().find(|output| output.len() > MAX_COMPARED_BYTES) {
        return Err(Problem::bad_request(format!(
            "{} has {} bytes, and outputs of up to {MAX_COMPARED_BYTES} can be compared",
            large.record().handle,
            large.len()
        )));
    }
    let (old_bytes, new_bytes) = (old.shown(0..old.len())?, new.shown(0..new.len())?);
    let (old_text, new_text) = (String::from_utf8_lossy(&old_bytes), String::from_utf8_lossy(&new_bytes));
    let diff = TextDiff::configure()
        .deadline(Instant::now() + DIFF_TIMEOUT)
        .diff_lines(old_text.as_ref(), new_text.as_ref());
    let (mut added, mut removed, mut lines_total) = (0u64, 0u64, 0);
    let mut hunks = Vec::new();
    for group in diff.grouped_ops(CONTEXT_LINES) {
        let mut lines = Vec::new();
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Delete => {
                    removed += 1;
                    "-"
                }
                ChangeTag::Insert => {
                    added += 1;
                    "+"
                }
                ChangeTag::Equal => " ",
            };
            lines_total += 1;
            if lines_total <= MAX_DIFF_LINES {
                let number = |index: Option<usize>| index.map(|index| index + 1);
                let text = forebay::shortened(change.value().trim_end_matches('\n'), 2_000);
                lines.push(json!({ "sign": sign, "old": number(change.old_index()), "new": number(change.new_index()), "text": text }));
            }
        }
        if !lines.is_empty() {
            hunks.push(json!(lines));
        }
    }
    Ok(json(&json!({
        "old": old.record().handle.to_string(),
        "new": new.record().handle.to_string(),
        "added": added,
        "removed": removed,
        "hunks": hunks,
        "whole": lines_total <= MAX_DIFF_LINES,
    })))
}
