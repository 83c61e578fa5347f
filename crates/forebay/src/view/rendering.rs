//! What a reader would see of bytes that were written for a screen or a browser.
//!
//! A rendering is a function of the bytes alone, so a view that shows one is proved like any other: by printing it anew.

pub(crate) mod cursor;
pub(crate) mod derived;
pub(crate) mod page;
pub(crate) mod quoted;

use memchr::{memchr, memrchr};
use std::borrow::Cow;

/// What a terminal would show of lines: no escape codes, of what carriage returns or a cursor that went up wrote over
/// only the last, and without the time stamps that runners put in front of every line.
pub(crate) fn screen(bytes: &[u8]) -> Vec<u8> {
    if cursor::goes_up(bytes) {
        return cursor::painted(bytes);
    }
    let mut shown = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let before = shown.len();
        plain(unstamped(last_written(line)), &mut shown);
        let ends = line.ends_with(b"\n");
        let blank = shown[before..].trim_ascii().is_empty();
        match blank && !line.trim_ascii().is_empty() {
            // Nothing but codes: there was no line on the screen.
            true => shown.truncate(before),
            false if ends => shown.push(b'\n'),
            false => {}
        }
    }
    shown
}

/// What carriage returns left of a line.
fn last_written(line: &[u8]) -> &[u8] {
    let end = line.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')).map_or(0, |at| at + 1);
    let mut line = &line[..end];
    while let Some(at) = memrchr(b'\r', line) {
        if !is_blank(&line[at + 1..]) {
            return &line[at + 1..];
        }
        line = &line[..at];
    }
    line
}

/// Whether nothing of a stretch is seen.
fn is_blank(bytes: &[u8]) -> bool {
    let mut shown = Vec::new();
    plain(bytes, &mut shown);
    shown.trim_ascii().is_empty()
}

/// Adds a stretch without its escape codes.
fn plain(mut bytes: &[u8], shown: &mut Vec<u8>) {
    while let Some(escape) = memchr(0x1b, bytes) {
        shown.extend_from_slice(&bytes[..escape]);
        bytes = &bytes[escape + code(&bytes[escape..])..];
    }
    shown.extend_from_slice(bytes);
}

/// How long the escape code is that some bytes begin with.
fn code(bytes: &[u8]) -> usize {
    let reach = &bytes[..bytes.len().min(128)];
    let until = |from: usize, ends: fn(u8) -> bool| {
        reach[from..].iter().position(|&byte| ends(byte)).map_or(reach.len(), |at| from + at + 1)
    };
    match bytes.get(1) {
        Some(b'[') => until(2, |byte| (0x40..=0x7e).contains(&byte)),
        Some(b']') => until(2, |byte| matches!(byte, 0x07 | b'\\' | b'\n')),
        Some(b'(' | b')') => reach.len().min(3),
        Some(_) => 2,
        None => 1,
    }
}

/// A line without what a runner put in front of it: `2024-05-01T10:00:00.1234567Z `, also in the brackets of
/// `[task …]`, and before it the names of job and step with tabs.
pub(crate) fn unstamped(line: &[u8]) -> &[u8] {
    let columns = || {
        let job = memchr(b'\t', &line[..line.len().min(80)])?;
        let step = memchr(b'\t', &line[job + 1..line.len().min(job + 121)])?;
        Some(job + step + 2)
    };
    match stamp(line).or_else(|| columns().and_then(|at| Some(at + stamp(&line[at..])?))) {
        Some(end) => &line[end..],
        None => line,
    }
}

/// A line as it reads: without what a runner put in front of it, and without codes.
pub(crate) fn readable(line: &[u8]) -> Cow<'_, [u8]> {
    if memchr(b'\x1b', line).is_none() {
        return Cow::Borrowed(unstamped(line));
    }
    let mut shown = Vec::with_capacity(line.len());
    plain(unstamped(line), &mut shown);
    Cow::Owned(shown)
}

/// How long the time stamp is that a line begins with.
fn stamp(line: &[u8]) -> Option<usize> {
    const FORM: &[u8] = b"0000-00-00T00:00:00";
    let start = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    let in_task = start.strip_prefix(b"[task ");
    let time = in_task.unwrap_or(start);
    let fits = |(form, byte): (&u8, &u8)| if *form == b'0' { byte.is_ascii_digit() } else { form == byte };
    if time.len() < FORM.len() || !FORM.iter().zip(time).all(fits) {
        return None;
    }
    let rest = &time[FORM.len()..];
    let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let fraction = rest.strip_prefix(b".").map_or(0, |rest| 1 + digits(rest));
    let rest = rest[fraction..].strip_prefix(b"Z")?;
    let rest = if in_task.is_some() { rest.strip_prefix(b"]")? } else { rest };
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    Some(line.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &str) -> String {
        String::from_utf8(screen(bytes.as_bytes())).unwrap()
    }

    #[test]
    fn what_a_terminal_would_show_is_shown() {
        let table = [
            ("plain\n    at a::b\n    at main\n", "plain\n    at a::b\n    at main\n"),
            ("\x1b[31;1merror\x1b[0m: no\r\n", "error: no\n"),
            ("10%\r50%\r100% done\nnext", "100% done\nnext"),
            ("travis_fold:start:a\r\x1b[0K$ make\n", "$ make\n"),
            ("a\n\n\x1b[0K\nb\n", "a\n\nb\n"),
            ("title\x1b]0;window\x07 end\n", "title end\n"),
            ("\r\n", "\n"),
            ("100%\r", "100%"),
            ("\x1b", ""),
            ("", ""),
        ];
        for (bytes, expected) in table {
            assert_eq!(shown(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn the_stamps_of_runners_are_left_out_and_other_times_are_not() {
        let table = [
            ("2024-05-01T10:00:00.1234567Z ##[error]no\n", "##[error]no\n"),
            ("2024-05-01T10:00:00Z no\n", "no\n"),
            ("[task 2024-05-01T10:00:00.123Z] 10:00:00 INFO - no\n", "10:00:00 INFO - no\n"),
            ("build\tRun tests\t2024-05-01T10:00:00.1Z no\n", "no\n"),
            ("2024-05-01 10:00:00,123 ERROR no\n", "2024-05-01 10:00:00,123 ERROR no\n"),
            ("2024-05-01T10:00:00+02:00 no\n", "2024-05-01T10:00:00+02:00 no\n"),
            ("a\tb\tc\n", "a\tb\tc\n"),
        ];
        for (bytes, expected) in table {
            assert_eq!(shown(bytes), expected, "{bytes:?}");
        }
    }
}
