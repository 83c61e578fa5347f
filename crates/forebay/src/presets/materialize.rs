//! The preset `materialize`: a summary with snippets, and a reference to the file that has everything.

use crate::view::units::{self, Unit};
use crate::view::{View, Wording};
use crate::{Kind, Output, Record, Result, Settings};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Points to an output that was taken out of the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextRef {
    /// The id of the output.
    pub id: String,
    /// Always `artifact`.
    pub kind: String,
    /// The media type.
    pub mime_type: String,
    /// Size in bytes.
    pub byte_size: u64,
    /// When the call was made.
    pub created_at: String,
    /// Tool, server, call and size, for a person.
    pub hint: String,
}

impl From<&Record> for ContextRef {
    fn from(record: &Record) -> ContextRef {
        let call = &record.call;
        let server = call.server.as_ref().map_or(String::new(), |server| format!(" of server {server}"));
        ContextRef {
            id: record.handle.id().to_owned(),
            kind: "artifact".to_owned(),
            mime_type: record.kind.media_type().to_owned(),
            byte_size: record.size.bytes,
            created_at: call.at.to_string(),
            hint: format!(
                "tool {}{server}, call {}, {} bytes",
                call.tool,
                shown_id(&call.id),
                record.size.bytes
            ),
        }
    }
}

/// Maximum paragraphs around errors that are shown.
const PARAGRAPHS: usize = 3;

/// View of the head, the tail and paragraphs around errors, within what may be inline.
pub(crate) fn fold(output: &Output, settings: &Settings) -> Result<View> {
    let limits = &settings.materialize;
    let mut paragraphs = Vec::new();
    for at in output.error_lines()?.into_iter().take(PARAGRAPHS) {
        let units = units::around(output, at, 2, 4)?;
        paragraphs.extend(units.into_iter().filter(|unit| !unit.overwritten).map(|unit| unit.range));
    }
    if output.record().kind == Kind::Binary {
        paragraphs.clear();
    }
    let mut bytes = limits.snippet_bytes;
    loop {
        let mut shown = if bytes < limits.snippet_bytes / 4 { Vec::new() } else { paragraphs.clone() };
        if output.record().kind != Kind::Binary {
            shown.extend(snippet(units::first(output, bytes.max(1))?, limits.snippet_lines, bytes));
            shown.extend(snippet(units::last(output, bytes.max(1))?, limits.snippet_lines, bytes));
        }
        let view =
            View::showing(output, &shown, Wording::References)?.framed(opening(output), closing(output)?);
        let text = view.print(output)?;
        let fits = crate::size::utf16_units(&text) <= limits.max_inline_chars
            && text.len() as u64 <= limits.max_inline_bytes;
        if fits || bytes == 0 {
            return Ok(view);
        }
        bytes = if bytes < 64 { 0 } else { bytes * 3 / 4 };
    }
}

/// First units within the limits on lines and bytes.
fn snippet(units: Vec<Unit>, lines: u64, bytes: u64) -> Vec<Range<u64>> {
    let mut left = bytes;
    let fits = |unit: &Unit| {
        let length = unit.range.end - unit.range.start;
        let fits = length <= left;
        left = left.saturating_sub(length);
        fits
    };
    let seen = units.into_iter().filter(|unit| !unit.overwritten);
    seen.take(usize::try_from(lines).unwrap_or(usize::MAX)).take_while(fits).map(|unit| unit.range).collect()
}

fn opening(output: &Output) -> String {
    let record = output.record();
    let json = if matches!(record.kind, Kind::Json) { "yes" } else { "no" };
    format!(
        "[Output of {}, call {}, kept as a file]\n[Size: {} bytes, {} characters, {} lines; JSON: {json}]\n",
        record.call.full_name(),
        shown_id(&record.call.id),
        record.size.bytes,
        record.size.characters,
        record.size.lines,
    )
}

/// Id of a call as it can be printed. A long one says nothing to a reader, so it is cut.
fn shown_id(id: &str) -> String {
    let start: String = id.chars().take(64).collect();
    let more = if start.len() < id.len() { "…" } else { "" };
    crate::printable(&start).replace('\n', " ") + more
}

fn closing(output: &Output) -> Result<String> {
    let reference = ContextRef::from(output.record());
    let json =
        serde_json::to_string(&reference).map_err(|error| crate::Error::NotAView(error.to_string()))?;
    let id = &reference.id;
    Ok(format!(
        "ContextRef: {json}\n\
         If you need more details: first context.tail(\"{id}\", 200), or context.grep(\"{id}\", 'Error|Exception', …).\n"
    ))
}

#[cfg(test)]
mod tests {
    use crate::store::memory::{output_of, output_of_call};
    use crate::{Call, Preset, Session, Settings};
    use expect_test::expect;

    fn settings() -> Settings {
        Settings { preset: Preset::Materialize, ..Settings::default() }
    }

    #[test]
    fn the_summary_has_all_that_it_must_have() {
        let mut lines: Vec<String> = (1..=900).map(|line| format!("step {line} of the build\n")).collect();
        lines[450] = "Exception: out of cheese\n".into();
        let call = Call {
            server: Some("builder".into()),
            ..Call::new(Session::safe("s"), "call/1", "make", jiff::Timestamp::UNIX_EPOCH)
        };
        let output = output_of_call(&call, lines.concat().as_bytes());
        let mut settings = settings();
        settings.materialize.snippet_lines = 2;
        let text = crate::presets::materialize::fold(&output, &settings).unwrap().print(&output).unwrap();
        expect![[r#"
            [Output of builder/make, call call/1, kept as a file]
            [Size: 19695 bytes, 19695 characters, 900 lines; JSON: no]
            step 1 of the build
            step 2 of the build
            [… 446 lines omitted: context.read("call-1-ccb51e1d", 40, 9708)]
            step 449 of the build
            step 450 of the build
            Exception: out of cheese
            step 452 of the build
            step 453 of the build
            step 454 of the build
            step 455 of the build
            [… 443 lines omitted: context.read("call-1-ccb51e1d", 9905, 9746)]
            step 899 of the build
            step 900 of the build
            ContextRef: {"id":"call-1-ccb51e1d","kind":"artifact","mimeType":"text/plain","byteSize":19695,"createdAt":"1970-01-01T00:00:00Z","hint":"tool make of server builder, call call/1, 19695 bytes"}
            If you need more details: first context.tail("call-1-ccb51e1d", 200), or context.grep("call-1-ccb51e1d", 'Error|Exception', …).
        "#]]
        .assert_eq(&String::from_utf8(text).unwrap());
    }

    #[test]
    fn the_summary_stays_within_what_may_be_inline() {
        for text in
            ["x".repeat(4_001), "word ".repeat(3_000), "error: bad\n".repeat(5_000), "漢字\n".repeat(2_000)]
        {
            let output = output_of(text.as_bytes());
            let shown =
                crate::presets::materialize::fold(&output, &settings()).unwrap().print(&output).unwrap();
            assert!(String::from_utf8_lossy(&shown).chars().count() <= 4_000, "{}", shown.len());
        }
    }
}
