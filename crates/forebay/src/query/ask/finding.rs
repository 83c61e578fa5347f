//! What linters find: a location, a code, and what is wrong there.

use super::location::{self, is_number};

/// How linters that print columns say how grave a finding is.
const LEVELS: &[&[u8]] = &[b"error", b"warning", b"warn", b"info"];

/// The code of a finding: `a.py:12:4: E0202: …`, `a.py:3:1: F401 …`, `12:5  error  …  no-undef`,
/// `a.c:3: warning: … [-Wshadow]`, `a.ts:3:1 - error TS2307: …`, `a.cs(3,1): error CS0103: …`, `error[E0432]: …`.
pub(super) fn code(line: &[u8]) -> Option<&[u8]> {
    if let Some(code) = line.strip_prefix(b"error[").or(line.strip_prefix(b"warning[")) {
        return code.split(|&byte| byte == b']').next().filter(|code| letters(code).is_some());
    }
    let words = || line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty() && *word != b"-");
    let place = words().next()?;
    location::file(place.strip_suffix(b":").unwrap_or(place))?;
    let word = |at: usize| words().nth(at).map(|word| word.strip_suffix(b":").unwrap_or(word));
    let first = word(1);
    let levelled = first.filter(|first| LEVELS.contains(first)).and_then(|_| word(2));
    if let Some(code) = first.into_iter().chain(levelled).find(|word| letters(word).is_some()) {
        return Some(code);
    }
    let last = words().next_back().filter(|_| words().count() > 2)?;
    let name = match last {
        [b'[', name @ .., b']'] | [b'(', name @ .., b')'] => name,
        // Behind a place without a colon stand columns: how grave it is, what it is, and the name.
        name if !place.ends_with(b":") && first.is_some_and(|first| LEVELS.contains(&first)) => name,
        _ => return None,
    };
    let is_name = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-/@_W=".contains(byte);
    (name.len() > 2 && name.iter().all(is_name)).then_some(name)
}

/// The code of a finding that says in which file it is.
pub(crate) fn code_in_file(line: &[u8]) -> Option<&[u8]> {
    let path = line.split(|&byte| byte == b':').next().unwrap_or_default();
    code(line).filter(|_| path.contains(&b'.') && !path.contains(&b' '))
}

/// The letters of a code that is made of letters and a number: `E0202`, `SC2086`.
fn letters(code: &[u8]) -> Option<&[u8]> {
    let (letters, number) = code.split_at(code.iter().take_while(|byte| byte.is_ascii_uppercase()).count());
    let fits = (1..=4).contains(&letters.len()) && (2..=5).contains(&number.len()) && is_number(number);
    fits.then_some(letters)
}

/// How grave a finding is whose code says it by its letter, as those of pylint with their four digits do.
fn level(line: &[u8]) -> Option<u8> {
    let code = code(line)?;
    let letters = letters(code).filter(|letters| code.len() == letters.len() + 4)?;
    if let [letter] = letters { Some(*letter) } else { None }
}

/// Whether a finding is an error by its code.
pub(crate) fn is_error(line: &[u8]) -> bool {
    matches!(level(line), Some(b'E' | b'F'))
}

/// Whether a finding is a remark by its code: a warning, a convention, something to refactor.
pub(super) fn is_remark(line: &[u8]) -> bool {
    matches!(level(line), Some(b'W' | b'R' | b'C' | b'I'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_have_codes_in_many_forms() {
        let table = [
            ("src/a.py:441:4: E0202: hides this method (method-hidden)", Some("E0202")),
            ("src/a.py:1:1: F401 `os` imported but unused", Some("F401")),
            ("12:5  error  'a' is not defined  no-undef", Some("no-undef")),
            (
                "9:46  warning  Unexpected any  @typescript-eslint/no-explicit-any",
                Some("@typescript-eslint/no-explicit-any"),
            ),
            ("src/a.c:3:7: warning: declaration shadows a parameter [-Wshadow]", Some("-Wshadow")),
            ("app/a.py:7: error: Incompatible types in assignment  [assignment]", Some("assignment")),
            ("a.go:5:2: should omit the type (revive)", Some("revive")),
            ("src/a.ts:27:15 - error TS2307: Cannot find module './b'", Some("TS2307")),
            ("src/a.ts(27,15): error TS2307: Cannot find module './b'", Some("TS2307")),
            ("a.cs(3,1): warning CS0168: it is never used", Some("CS0168")),
            ("error[E0432]: unresolved import `a`", Some("E0432")),
            ("error[email]: it is gone", None),
            ("a.go:5:2: imported and not used", None),
            ("12:30 we met at the house", None),
            ("error: it is gone", None),
            ("", None),
        ];
        for (line, expected) in table {
            assert_eq!(code(line.as_bytes()), expected.map(str::as_bytes), "{line}");
        }
    }

    #[test]
    fn the_letter_of_a_code_tells_errors_from_remarks() {
        let table = [
            ("a.py:1:0: E1101: no member", (true, false)),
            ("a.py:1:0: F0001: cannot be read", (true, false)),
            ("a.py:1:0: W0707: raise it with `from exc`: ValueError('failed')", (false, true)),
            ("a.py:1:0: C0116: no docstring", (false, true)),
            // Other linters have other codes.
            ("a.py:1:80: E501 line too long", (false, false)),
        ];
        for (line, expected) in table {
            assert_eq!((is_error(line.as_bytes()), is_remark(line.as_bytes())), expected, "{line}");
        }
    }
}
