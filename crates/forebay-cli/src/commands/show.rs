//! `forebay show`: the record of an output, and what the model got of it.

use crate::commands::ls;
use crate::context::{Context, Outcome};
use crate::error::DONE;
use crate::print::{self, grouped};
use forebay::forms;
use forebay::{Record, ShownView, State, tokens};
use serde_json::json;
use std::{fmt::Write, process::ExitCode};

/// Show the record of an output and what the model got of it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Handle of the output
    handle: String,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let output = context.open(&args.handle)?;
    let record = output.record();
    let given = ShownView::of(context.store(), &record.handle)?;
    let masking = &context.settings.masking;
    if context.json {
        let mut value = forms::record(record, context.store());
        if let Some(object) = value.as_object_mut() {
            object.insert("given".into(), json!(given));
        }
        masking.json(&mut value);
        print::json(&value)?;
        return Ok(ExitCode::from(DONE));
    }
    let mut text = facts(&masking.record(record), output.path().map(|path| path.display().to_string()));
    match given {
        Some(given) => {
            let shown = grouped(given.view.verbatim_bytes());
            let _ = writeln!(
                text,
                "view      {} tokens, {shown} bytes of the output as they are:\n",
                tokens::count(&given.text)
            );
            text.push_str(&given.text);
        }
        None => text.push_str("view      none was given\n"),
    }
    print::out(text.as_bytes())?;
    Ok(ExitCode::from(DONE))
}

fn facts(record: &Record, path: Option<String>) -> String {
    let mut text = String::new();
    let mut fact = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<9} {value}");
    };
    let size = record.size;
    fact("handle", record.handle.to_string());
    fact("tool", record.call.full_name());
    if let Some(args) = &record.call.args {
        fact("args", args.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect());
    }
    fact("called", record.call.at.to_string());
    fact(
        "state",
        match &record.state {
            State::CutShort(why) => format!("cut short: {why}"),
            _ => ls::ended(record),
        },
    );
    if record.state == State::Growing {
        fact("size", format!("{} bytes so far", grouped(size.bytes)));
    } else {
        let at_most = if size.tokens_exact { "" } else { "at most " };
        let [bytes, characters, lines, longest, tokens] =
            [size.bytes, size.characters, size.lines, size.longest_line, size.tokens].map(grouped);
        fact(
            "size",
            format!(
                "{bytes} bytes, {characters} characters, {lines} lines, longest line {longest}, {at_most}{tokens} tokens"
            ),
        );
        fact("kind", record.kind.to_string());
    }
    if let Some(streams) = record.streams {
        fact(
            "streams",
            format!("stdout {} bytes, stderr {} bytes", grouped(streams.stdout), grouped(streams.stderr)),
        );
    }
    if let Some(lost) = &record.lost {
        fact("lost", format!("{} bytes: {}", grouped(lost.bytes), lost.why));
    }
    if !record.hash.is_empty() {
        fact("blake3", record.hash.clone());
    }
    if let Some(path) = path {
        fact("file", path);
    }
    text
}
