//! Text as a terminal shows it: without escape codes and without what was overwritten.
//!
//! A rendering depends on the bytes alone, so a view that contains one is verified like any other: by printing it again.

pub(crate) mod cursor;

use crate::text::timestamp::unstamped;
use memchr::{memchr, memchr2, memrchr};
use std::borrow::Cow;

/// Returns lines as a terminal shows them: without escape codes, without text that carriage returns or a cursor that went
/// up overwrote, and without the time stamps that runners put in front of every line.
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
        if blank && !line.trim_ascii().is_empty() {
            // Nothing but codes: the screen had no such line.
            shown.truncate(before);
        } else if ends {
            shown.push(b'\n');
        }
    }
    shown
}

/// Returns the part of a line that carriage returns did not overwrite.
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

/// Whether a terminal shows nothing of some bytes.
fn is_blank(bytes: &[u8]) -> bool {
    let mut shown = Vec::new();
    plain(bytes, &mut shown);
    shown.trim_ascii().is_empty()
}

/// Appends bytes without their escape codes.
fn plain(mut bytes: &[u8], shown: &mut Vec<u8>) {
    while let Some(escape) = memchr(0x1b, bytes) {
        shown.extend_from_slice(&bytes[..escape]);
        bytes = &bytes[escape + code(&bytes[escape..])..];
    }
    shown.extend_from_slice(bytes);
}

/// Returns the length of the escape code at the beginning of some bytes.
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

/// Returns a line without escape codes and without the time stamp of a runner.
pub(crate) fn readable(line: &[u8]) -> Cow<'_, [u8]> {
    if memchr(b'\x1b', line).is_none() {
        return Cow::Borrowed(unstamped(line));
    }
    let mut shown = Vec::with_capacity(line.len());
    plain(unstamped(line), &mut shown);
    Cow::Owned(shown)
}

/// Returns a line as it was printed: without escape codes and overwritten text, but with its time stamp.
pub(crate) fn as_printed(line: &[u8]) -> String {
    let mut shown = Vec::with_capacity(line.len());
    plain(last_written(line), &mut shown);
    String::from_utf8_lossy(&shown).into_owned()
}

/// Returns the text of a unit as a terminal shows it.
pub(crate) fn visible(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&screen(bytes)).into_owned()
}

/// Returns a text without escape codes, and with a space for each carriage return.
pub(crate) fn without_codes<'b>(text: &'b [u8], buffer: &'b mut Vec<u8>) -> &'b [u8] {
    if memchr2(0x1b, b'\r', text).is_none() {
        return text;
    }
    buffer.clear();
    plain(text, buffer);
    buffer.iter_mut().filter(|byte| **byte == b'\r').for_each(|byte| *byte = b' ');
    buffer
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
    fn codes_are_dropped_and_returns_become_spaces() {
        for (text, expected) in [
            ("plain", "plain"),
            ("\x1b[1;31merror\x1b[0m: no\r", "error: no "),
            ("travis_fold:start:a\r\x1b[0K", "travis_fold:start:a "),
            ("\x1b(Bok\x1b]0;title\x07!", "ok!"),
        ] {
            let mut buffer = Vec::new();
            assert_eq!(without_codes(text.as_bytes(), &mut buffer), expected.as_bytes(), "{text:?}");
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
