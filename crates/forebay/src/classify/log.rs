//! Lines of logs: levels, steps and marks.

use crate::formats::sections::{is_of_log, is_section};
use crate::text::pattern::compiled;
use regex::bytes::Regex;
use std::sync::LazyLock;

/// Time stamp, with an optional name in brackets and an optional byte order mark before it.
pub(crate) static STAMP: LazyLock<Regex> = LazyLock::new(|| {
    compiled(concat!(
        r"^(?-u:(?:\xef\xbb\xbf)?(?:<\d{1,3}>)?(?:\[(?:[a-z]+ )?)?(?:",
        r"(\d{4}[-/.]\d\d[-/.]\d\d[T _]\d\d)[:.]\d\d(?:[:.]\d\d(?:[.,:]\d+)?)?(?:Z| ?[+-]\d\d:?\d\d| UTC)?",
        r"|([A-Z][a-z]{2} [ \d]\d \d\d):\d\d:\d\d",
        r"|(\d{6} \d{2})\d{4} \d+",
        r"|\d\d:\d\d:\d\d(?:[.,]\d+)?",
        r"|[ \d]{1,6}\.\d{6}",
        r"|[^ ]+ (?:- \S+ )?\[\d\d/[A-Z][a-z]{2}/\d{4}[: ][^\]]+",
        r"|(?:\d+:[A-Z] )?\d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d(?:\.\d+)?",
        r"|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)? \d{4}",
        r")\]?[ :\t|]{0,3})",
    ))
});

/// Returns the length of the time stamp of a line, and the line after it.
pub(crate) fn stamped(line: &[u8]) -> (usize, &[u8]) {
    let length = if is_stamped(line) { STAMP.find(line).map_or(0, |found| found.len()) } else { 0 };
    (length, &line[length..])
}

/// Whether a line begins with a time stamp.
pub(crate) fn is_stamped(line: &[u8]) -> bool {
    // Every stamp has a digit soon.
    line.iter().take(24).any(u8::is_ascii_digit) && STAMP.is_match(line)
}

/// Whether only a log has a line like this one.
pub(crate) fn is_mark(line: &[u8]) -> bool {
    is_of_log(line) || is_of_log(stamped(line).1)
}

/// Level of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Error,
    Warning,
}

pub(crate) static LEVEL: LazyLock<Regex> = LazyLock::new(|| {
    compiled(concat!(
        r"(?-u:(\b(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC|EMERG|FAILURE)\b",
        r"|\b(?:error|fatal|Error|FATAL ERROR|fatal error|panic|failure)(?:\[\w+\])?:",
        r"|##\[error\]|\[(?:error|ERR|E|fatal)\]|npm ERR!|Traceback \(most recent|\bpanicked at\b",
        r"|\b\w*(?:Exception|Error)\b: |\blevel=(?:error|fatal)|command not found|^E: |exited with [1-9])",
        r"|\b(?:WARN|WARNING|[Ww]arning(?:\[\w+\])?:|warn:|level=warn)|##\[warning\]|\[(?:warn|warning|W)\])",
    ))
});

/// Counts of zero, which are not errors.
pub(crate) static HARMLESS: LazyLock<Regex> = LazyLock::new(|| {
    compiled(r"(?i-u)\b(?:0|no) (?:\w+ )?(?:error|failure)|\b(?:error|failure|failed)s?\s*[=:]\s*0\b")
});

pub(crate) fn level(line: &[u8]) -> Option<Level> {
    // Finding groups takes longer than finding a match, and most lines have none.
    if !LEVEL.is_match(line) {
        return None;
    }
    let found = LEVEL.captures(line)?;
    if HARMLESS.is_match(line) {
        return None;
    }
    Some(if found.get(1).is_some() { Level::Error } else { Level::Warning })
}

/// Whether a line has a level, as in logs.
pub(crate) fn is_levelled(line: &[u8]) -> bool {
    static LEVELLED: LazyLock<Regex> = LazyLock::new(|| {
        compiled(
            r"(?-u:^\[?(?:INFO|DEBUG|TRACE|WARN|WARNING|ERROR|FATAL|NOTICE)\b|[\])\d] +(?:INFO|DEBUG|TRACE|WARN|WARNING|ERROR|FATAL) |: (?:error|warning|note): |^\s+\d+:\d+\s+(?:error|warning)\s|^(?:error|warning|npm ERR!|npm WARN|Error|Warning)\b.?:? |level=\w+)",
        )
    });
    LEVELLED.is_match(line)
}

/// Whether a line begins with a name in brackets.
pub(crate) fn is_bracketed(line: &[u8]) -> bool {
    static BRACKETED: LazyLock<Regex> = LazyLock::new(|| compiled(r"^(?-u:\[[\w .:/@-]{1,40}\]:? \S)"));
    BRACKETED.is_match(line)
}

/// Whether a line has the level of an error or a warning.
pub(crate) fn is_grave(line: &[u8]) -> bool {
    level(line).is_some()
}

/// Whether a line looks like a step of a build.
pub(crate) fn is_step(line: &[u8]) -> bool {
    static STEP: LazyLock<Regex> = LazyLock::new(|| {
        compiled(
            r"^(?-u:\s*(?:Building|Compiling|Downloading|Downloaded|Running|Installing|Updating|Started|Starting|Collecting|Fetching|Unpacking|Setting up|Get:\d|Preparing|Checking|Cloning|Linking|Creating|Finished|Requirement already|Successfully|Processing|checking|make|gcc|g\+\+|cc|\$|\+) \S|\[ *\d+%\]|\[\d+/\d+\]|\S+\.(?:c|cc|cpp|h|rs|ts|js|go|java|py)[:(]\d+)",
        )
    });
    STEP.is_match(line) || is_section(line)
}
