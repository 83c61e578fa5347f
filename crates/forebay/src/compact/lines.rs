//! Lines as a screen shows them, with repeated lines counted and long encoded data shortened.

use crate::compact::{Compact, Row, lines_of};
use crate::terminal;

/// Minimum letters and digits of a word that counts as encoded data, which nobody reads.
const MIN_ENCODED: usize = 200;

/// Characters shown of an encoded word.
const SHOWN_OF_ENCODED: usize = 40;

/// Bytes of a part of a long line. A longer line is divided into parts.
const PART: usize = 1_024;
const LONG: usize = 4 * PART;

/// Maximum bytes of a word that is never cut between two parts.
const LONGEST_WORD: usize = 100;

/// Renders text by lines.
pub(crate) fn render(bytes: &[u8]) -> Option<Compact> {
    render_within(bytes, u64::MAX)
}

/// Renders text by lines, unless the result has more than `most` bytes.
pub(crate) fn render_within(bytes: &[u8], most: u64) -> Option<Compact> {
    let mut rows: Vec<Row> = Vec::new();
    let (mut length, mut counted) = (0, 0);
    let mut repeated: u64 = 0;
    let mut last: &[u8] = b"";
    let mut note = "";
    for (start, line) in lines_of(bytes) {
        length += rows[counted..].iter().map(|row| row.text.len() as u64).sum::<u64>();
        counted = rows.len();
        if length > most {
            return None;
        }
        if line == last && !line.trim_ascii().is_empty() {
            repeated += 1;
            note = "repeated lines counted";
            continue;
        }
        count(&mut rows, std::mem::take(&mut repeated));
        last = line;
        // A second blank line carries no information.
        let is_blank = line.trim_ascii().is_empty();
        if is_blank && rows.last().is_some_and(|row| row.text == b"\n") {
            continue;
        }
        // A carriage return may overwrite text of an earlier part.
        if line.len() > LONG && !is_overwritten(line) {
            parts(start, line, &mut rows);
            continue;
        }
        let text = if is_blank { b"\n".to_vec() } else { shown(line) };
        rows.push(Row { start, text, ..Row::default() });
    }
    count(&mut rows, repeated);
    Some(Compact { rows, note: note.to_owned(), ..Compact::default() })
}

/// Adds the number of repetitions to the last row.
fn count(rows: &mut [Row], repeated: u64) {
    let Some(row) = rows.last_mut().filter(|_| repeated > 0) else { return };
    let end = row.text.iter().rposition(|byte| !byte.is_ascii_whitespace()).map_or(0, |at| at + 1);
    row.text.truncate(end);
    row.text.extend(format!(" [×{}]\n", repeated + 1).bytes());
}

/// Whether a line returns to its beginning before its end.
fn is_overwritten(line: &[u8]) -> bool {
    memchr::memchr(b'\r', crate::compact::without_end(line)).is_some()
}

/// A line as a screen shows it.
fn shown(line: &[u8]) -> Vec<u8> {
    let has_end = line.ends_with(b"\n");
    let plain = line.iter().all(|&byte| byte >= b' ' || byte == b'\n' || byte == b'\t');
    let mut text = if plain { line.to_vec() } else { terminal::screen(line) };
    let end = text.iter().rposition(|byte| !byte.is_ascii_whitespace()).map_or(0, |at| at + 1);
    text.truncate(end);
    if text.len() >= MIN_ENCODED {
        text = without_encoded(&text);
    }
    if has_end {
        text.push(b'\n');
    }
    text
}

/// A text in which long encoded words are shortened.
fn without_encoded(text: &[u8]) -> Vec<u8> {
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=_-".contains(byte);
    let mut shown = Vec::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let word = rest.iter().take_while(|byte| is_of_word(byte)).count();
        if word >= MIN_ENCODED {
            shown.extend(&rest[..SHOWN_OF_ENCODED]);
            shown.extend(format!("…(+{})", word - SHOWN_OF_ENCODED).bytes());
        } else {
            shown.extend(&rest[..word]);
        }
        let other = rest[word..].iter().take_while(|byte| !is_of_word(byte)).count();
        shown.extend(&rest[word..word + other]);
        rest = &rest[word + other..];
    }
    shown
}

/// Divides a long line into rows.
fn parts(start: u64, line: &[u8], rows: &mut Vec<Row>) {
    let mut at = 0;
    while at < line.len() {
        let mut end = (at + PART).min(line.len());
        if end < line.len() {
            // Words are not cut, unless they are too long.
            let last = memchr::memrchr(b' ', &line[end - LONGEST_WORD..end]);
            end = last.map_or(end, |blank| end - LONGEST_WORD + blank + 1);
        }
        while end < line.len() && line[end] & 0xc0 == 0x80 {
            end += 1;
        }
        let part = &line[at..end];
        let shown = match part.strip_suffix(b"\n") {
            Some(part) => [&terminal::screen(&without_encoded(part))[..], b"\n"].concat(),
            None => terminal::screen(&without_encoded(part)),
        };
        rows.push(Row { start: start + at as u64, text: shown, ..Row::default() });
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let compact = render(text.as_bytes()).unwrap();
        assert_eq!(String::from_utf8_lossy(&compact.text()), expected);
    }

    #[test]
    fn repeated_lines_are_counted_and_blank_ones_shown_once() {
        check("a\nb\nb\nb\n\n\n\nc\n", "a\nb [×3]\n\nc\n");
        check("x\nx", "x\nx");
    }

    #[test]
    fn codes_blank_ends_and_encoded_data_are_left_out() {
        check("\u{1b}[31mred\u{1b}[0m   \nnext\r\n", "red\nnext\n");
        let data = "QUJD".repeat(80);
        check(&format!("key: {data}.\n"), &format!("key: {}…(+280).\n", &data[..40]));
    }

    #[test]
    fn of_a_line_that_is_overwritten_only_the_last_state_is_shown() {
        let steps: String = (0..900).map(|step| format!("step {step}/900 done\r")).collect();
        check(&format!("{steps}\u{1b}[Kfinished\n"), "finished\n");
    }

    #[test]
    fn a_long_line_has_rows_of_its_own() {
        let line = "word ".repeat(2_000);
        let compact = render(line.as_bytes()).unwrap();
        assert_eq!(compact.rows.len(), 10);
        assert_eq!(String::from_utf8_lossy(&compact.text()), line);
    }
}
