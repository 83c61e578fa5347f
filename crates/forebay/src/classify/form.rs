//! The form of an output.

use crate::classify::json::locate::found;
use crate::classify::languages::Language;
use crate::classify::lines::Numbering;
use crate::terminal::readable;
use crate::text::pattern::compiled;
use crate::weights::classify as weights;
use crate::{Kind, Output, Result, classify};
use serde::Serialize;
use std::sync::LazyLock;

/// Form of an output, which decides how it is outlined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Form {
    /// Source code.
    Code(Language),
    /// Text with Markdown headings.
    Markdown,
    /// Text with underlined headings and directives, such as the documentation of Python.
    Rst,
    /// A web page, or a part of one.
    Html,
    /// A unified diff.
    Diff,
    /// Output of a test runner.
    TestRun,
    /// Log of a build or a program.
    Log,
    /// Rows and columns.
    Table,
    /// JSON, whole or by lines.
    Json,
    /// Results of a search: lines with their files.
    Matches,
    /// Paths.
    Listing,
    /// Any other text.
    Text,
    /// Not text.
    Binary,
}

impl Form {
    /// Name.
    pub fn name(self) -> &'static str {
        match self {
            Form::Code(language) => language.name(),
            Form::Markdown => "Markdown",
            Form::Rst => "reStructuredText",
            Form::Html => "HTML",
            Form::Diff => "diff",
            Form::TestRun => "test run",
            Form::Log => "log",
            Form::Table => "table",
            Form::Json => "JSON",
            Form::Matches => "search results",
            Form::Listing => "listing",
            Form::Text => "text",
            Form::Binary => "binary",
        }
    }
}

/// Classifies an output by its form.
pub(crate) fn form(output: &Output) -> Result<Form> {
    Ok(form_and_numbering(output)?.0)
}

/// Whether an output that is not JSON is a page of HTML.
pub(crate) fn is_page(output: &Output) -> Result<bool> {
    Ok(output.record().kind != Kind::Binary && classify::classify(output)?.0 == Form::Html)
}

/// Form of an output, and how its lines are numbered.
pub(crate) fn form_and_numbering(output: &Output) -> Result<(Form, Option<Numbering>)> {
    Ok(match output.record().kind {
        Kind::Binary => (Form::Binary, None),
        _ if found(output)?.is_some() => (Form::Json, None),
        _ => classify::classify(output)?,
    })
}

/// A line of `git log --oneline`, with or without a graph before it. The first group is the parenthesis before its names.
pub(crate) static CHANGE: LazyLock<regex::bytes::Regex> =
    LazyLock::new(|| compiled(r"^(?-u:[*|\\/_ ]*[0-9a-f]{7,12} (\()?\S)"));

/// Whether an output is a history of changes such as `git log` prints: the failures that it mentions are long past.
pub(crate) fn is_history(output: &Output) -> Result<bool> {
    static COMMIT: LazyLock<regex::bytes::Regex> =
        LazyLock::new(|| compiled(r"^(?-u:commit [0-9a-f]{7,64}(?: \(.*\))?\r?$)"));
    let start = output.read(0..HISTORY.min(output.len()))?;
    let first = start.split(|&byte| byte == b'\n').map(readable).find(|line| !line.is_empty());
    Ok(first.is_some_and(|first| COMMIT.is_match(&first)) || is_changes(output)?)
}

/// Whether an output is a history with one line for each change, to its end.
pub(crate) fn is_changes(output: &Output) -> Result<bool> {
    let start = output.read(0..HISTORY.min(output.len()))?;
    let lines = changes(&start);
    let count = lines.iter().filter(|is_change| **is_change).count();
    if count < 3 || count * 10 < lines.len() * 9 {
        return Ok(false);
    }
    let from = output.line_start_near(output.len().saturating_sub(HISTORY), HISTORY)?;
    Ok(changes(&output.read(from..output.len())?).iter().rev().take(3).all(|is_change| *is_change))
}

/// Returns for each line whether it is a change of a history with one line for each; lines that only draw a graph are left
/// out.
pub(crate) fn changes(bytes: &[u8]) -> Vec<bool> {
    let is_graph = |line: &[u8]| line.iter().all(|byte| b"*|\\/_ \r".contains(byte));
    let lines = bytes.split(|&byte| byte == b'\n').map(readable).filter(|line| !is_graph(line));
    lines.map(|line| CHANGE.is_match(&line)).collect()
}

/// Whether an output is a dump of SQL.
pub(crate) fn is_sql(output: &Output) -> Result<bool> {
    let start = output.read(0..HISTORY.min(output.len()))?;
    Ok(crate::classify::sql::is_sql(start.split(|&byte| byte == b'\n')))
}

/// Whether nearly every line of a log has a time stamp or a level, as in the log of a service but hardly of a build.
pub(crate) fn is_entries(output: &Output) -> Result<bool> {
    Ok(classify::logged(output)? >= weights::ENTRY_LINES)
}

/// Bytes read to recognise a history.
pub(crate) const HISTORY: u64 = 4 * 1024;
