//! Locations in files: `src/a.c:12:5`.

use crate::terminal::readable;

/// The file of a word that is a location; empty if the word has only the numbers and the file is named above:
/// `a.c:12:5`, `a.cs(12,5)`, `A.java:[12,5]`, `9:46`.
pub(crate) fn file(word: &[u8]) -> Option<&[u8]> {
    // The column may be a range: `a.lua:208:9-12`.
    let word = match word.iter().rposition(|byte| *byte == b'-') {
        Some(at) if word[..at].contains(&b':') && is_number(&word[at + 1..]) => &word[..at],
        _ => word,
    };
    let (file, numbers) = match word {
        [open @ .., b')'] => {
            let at = memchr::memrchr(b'(', open)?;
            (&open[..at], &open[at + 1..])
        }
        // Without the colon it is a process id: `sshd[2201]`.
        [open @ .., b']'] => {
            let at = memchr::memmem::rfind(open, b":[")?;
            (&open[..at], &open[at + 2..])
        }
        _ => {
            let numbers =
                word.iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b':').count();
            let (file, numbers) = word.split_at(word.len() - numbers);
            if file.is_empty() { (file, numbers) } else { (file, numbers.strip_prefix(b":")?) }
        }
    };
    let mut parts = numbers.split(|byte| matches!(byte, b':' | b','));
    (parts.clone().count() > usize::from(file.is_empty()) && parts.all(is_number)).then_some(file)
}

pub(crate) fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

/// Whether the text before a word ends with a location: `a.c:12:5: `, `a.ts:12:5 - `, `a.cs(12,5): fatal `, `a.sh: line 3: `.
pub(crate) fn is_before(start: &[u8]) -> bool {
    let graver = [&b"fatal "[..], b"runtime ", b"internal compiler ", b"syntax "];
    let start = graver.iter().find_map(|with| start.strip_suffix(*with)).unwrap_or(start).trim_ascii_end();
    let location = start.strip_suffix(b":").or(start.strip_suffix(b" -")).unwrap_or_default();
    let mut words = location.rsplit(u8::is_ascii_whitespace);
    let last = words.next().unwrap_or_default();
    file(last).is_some() || is_number(last) && words.next() == Some(b"line")
}

/// Whether the text after a level begins with a location: `] src/A.java:[12,5] …`.
pub(crate) fn is_behind(rest: &[u8]) -> bool {
    let rest = readable(rest);
    let mut words = rest.strip_prefix(b"] ").unwrap_or_default().split(u8::is_ascii_whitespace);
    words.next().and_then(file).is_some_and(|file| !file.is_empty())
}

/// Whether a line begins with a column that is a location in the file that is named above: `  9:46  `.
pub(crate) fn is_column(start: &[u8]) -> bool {
    let word = start.trim_ascii();
    start.len() > word.len() + 1 && file(word).is_some_and(<[u8]>::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_known_in_the_forms_of_many_tools() {
        let table = [
            ("src/a.c:12:5", Some("src/a.c")),
            ("a.go:5", Some("a.go")),
            ("a.cs(12,5)", Some("a.cs")),
            ("a.pas(12)", Some("a.pas")),
            ("/src/A.java:[12,5]", Some("/src/A.java")),
            ("C:\\src\\a.c:12", Some("C:\\src\\a.c")),
            ("pl/a.lua:208:9-12", Some("pl/a.lua")),
            ("9:46", Some("")),
            ("a.c:12:", None),
            ("a.c::12", None),
            ("a.c", None),
            ("a.c(x)", None),
            ("sshd[2201]", None),
            ("12", None),
            ("2026-11-17", None),
            ("v12", None),
            ("()", None),
            (":", None),
            ("", None),
        ];
        for (word, expected) in table {
            assert_eq!(file(word.as_bytes()), expected.map(str::as_bytes), "{word}");
        }
    }
}
