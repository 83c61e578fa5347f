//! Lines of diffs.

/// Line of `diff -r` for a file that only one side has.
pub(crate) const ONLY: &str = "Only in ";

/// Whether a line is a command of the default format of `diff`: `12,14c9`.
pub(crate) fn is_command(line: &[u8]) -> bool {
    let Some(at) = line.iter().position(|byte| b"acd".contains(byte)) else { return false };
    let is_lines = |lines: &[u8]| {
        let mut numbers = lines.splitn(2, |&byte| byte == b',');
        numbers.all(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
    };
    is_lines(&line[..at]) && is_lines(&line[at + 1..])
}

/// Whether a line is part of a diff that is not unified.
pub(crate) fn is_plain(line: &[u8]) -> bool {
    matches!(line, b"---" | [b'<' | b'>', b' ', ..] | b"<" | b">")
        || is_command(line)
        || [&b"diff -"[..], ONLY.as_bytes(), b"Binary files "].iter().any(|start| line.starts_with(start))
}

/// Returns the lines of a hunk in the old and in the new file, and the context in its header.
pub(crate) fn hunk(line: &str) -> Option<((u64, u64), &str)> {
    let (ranges, context) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let count = |range: &str| match range.split_once(',') {
        Some((from, count)) => from.parse::<u64>().ok().and(count.parse::<u64>().ok()),
        None => range.parse::<u64>().ok().map(|_| 1),
    };
    Some(((count(old)?, count(new)?), context))
}
