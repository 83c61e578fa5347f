//! The tool `tool_output`, exactly as models know it from the systems that the preset `handle` comes from.

use crate::extract::{Extraction, Extractor, Mode};
use crate::request::declared::{Arguments, Declared, Takes, optional, required};
use crate::{Error, Result, Settings, Surface};
use serde_json::{Map, Value};

pub(crate) const TOOL: Declared = Declared {
    name: "tool_output",
    description: "Extract information from a stored oversized tool output by handle",
    arguments: &[
        required(
            "handle",
            Takes::AnyText,
            "Handle of the stored tool output (relative path under the tool_output root, e.g. session-<uuid>/<file-uuid>; provided in the tool-result message)",
        ),
        required(
            "extract",
            Takes::AnyText,
            "Provide precise, detailed instructions about what you need from the tool output (be specific, include keys/fields/sections if known).",
        ),
        optional(
            "mode",
            Takes::Choice(&Mode::NAMES),
            "Optional override. auto=module decides; full-chunked=LLM chunk+reduce; read-grep=dynamic sub-agent with Read/Grep; truncate=keeps top and bottom, truncates in the middle.",
        ),
    ],
};

/// Answers a call; an answer that it cannot be followed is an answer too, in its own envelope.
pub(crate) fn answer(
    extractor: &Extractor,
    given: &Map<String, Value>,
    settings: &Settings,
    surface: &Surface,
) -> Result<String> {
    let handle = given.get("handle").and_then(Value::as_str).unwrap_or_default();
    let mode =
        given.get("mode").and_then(Value::as_str).and_then(|mode| mode.parse().ok()).unwrap_or_default();
    let answered = match Arguments::new(&TOOL, given) {
        Ok(arguments) => {
            let (instructions, extract) = (arguments.text("extract"), &settings.extract);
            let wanted = Extraction { instructions, mode, rerun: false, settings: extract };
            let (handle, budget) = (arguments.text("handle"), settings.excerpt_budget());
            let answered = extractor.extract_recorded(handle, &wanted, budget, surface);
            answered.map_err(|failed| failed.explanation)
        }
        Err(error) => Err(extractor.extraction_failed(handle, mode, given, &error)),
    };
    answered.map(|answer| answer.text).map_err(Error::BadQuery)
}
