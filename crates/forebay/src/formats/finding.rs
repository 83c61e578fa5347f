//! Findings of linters: a location, a code and a message.

use crate::formats::location::{file, is_number};

/// Severities that linters print in a column: of errors, and of anything less.
const ERRORS: &[&str] = &["error", "✖", "✘", "×"];
const REMARKS: &[&str] = &["warning", "warn", "info", "⚠", "ℹ"];

/// Beginnings of codes of pyflakes and pycodestyle, also as ruff and flake8 print them, for programs that cannot run: syntax
/// errors, comparisons that are always true, misplaced statements and undefined names.
const BREAKS: &[&[u8]] = &[b"E9", b"F63", b"F7", b"F82"];

/// Maximum number of errors that are few, and how many times as many findings there must be. Then each error is shown.
pub(crate) const FEW: usize = 12;
const TIMES: usize = 10;

/// Whether errors are so few among the findings that each of them is worth showing.
pub(crate) fn are_few(errors: usize, found: usize) -> bool {
    errors <= FEW && errors * TIMES <= found
}

fn is_one_of(word: &[u8], words: &[&str]) -> bool {
    words.iter().any(|known| known.as_bytes() == word)
}

/// Whether a word is a severity.
fn is_level(word: &[u8]) -> bool {
    is_one_of(word, ERRORS) || is_one_of(word, REMARKS)
}

/// Sign for the severity before a location, and the line without it: `  ✖  3:1  …`.
fn signed(line: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let line = line.trim_ascii_start();
    let (sign, rest) = line.split_at(line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len()));
    if !sign.is_ascii() && is_level(sign) { (Some(sign), rest) } else { (None, line) }
}

/// The words of a line, without the dash that may follow a location.
fn words(line: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty() && *word != b"-")
}

/// Severity of a finding of RuboCop, and the name of its rule: `a.rb:3:1: W: Lint/Void: …`, `W:  3:  1: [Correctable] Lint/Void: …`.
fn rule(line: &[u8]) -> Option<(u8, &[u8])> {
    let mut level = None;
    for word in words(line).take(6) {
        let bare = word.strip_suffix(b":").unwrap_or(word);
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'/';
        match bare {
            [letter, rest @ ..] if letter.is_ascii_uppercase() && (rest.is_empty() || rest[0] == b':') => {
                level = Some(*letter);
            }
            [b'[', .., b']'] if level.is_some() => {}
            [letter, ..]
                if letter.is_ascii_uppercase() && bare.contains(&b'/') && bare.iter().all(is_name) =>
            {
                return level.filter(|_| bare.len() < word.len()).map(|level| (level, bare));
            }
            _ if is_number(bare) || file(bare).is_some() => {}
            _ => return None,
        }
    }
    None
}

/// Severity and code of a finding that points at the line above: `   ^-- SC1046 (error): …`.
fn pointed(line: &[u8]) -> Option<(u8, &[u8])> {
    let mut words = words(line).filter(|_| line.trim_ascii_start().starts_with(b"^-"));
    let code = words.nth(1).filter(|code| letters(code).is_some())?;
    match words.next()? {
        b"(error):" => Some((b'E', code)),
        b"(warning):" => Some((b'W', code)),
        b"(info):" => Some((b'I', code)),
        b"(style):" => Some((b'C', code)),
        _ => None,
    }
}

/// The code of a finding: `a.py:12:4: E0202: …`, `a.py:3:1: F401 …`, `12:5  error  …  no-undef`, `✖  12:5  …  no-undef`,
/// `a.c:3: warning: … [-Wshadow]`, `a.ts:3:1 - error TS2307: …`, `a.cs(3,1): error CS0103: …`, `error[E0432]: …`.
pub(crate) fn code(line: &[u8]) -> Option<&[u8]> {
    if let Some(code) = line.strip_prefix(b"error[").or(line.strip_prefix(b"warning[")) {
        return code.split(|&byte| byte == b']').next().filter(|code| letters(code).is_some());
    }
    if let Some((_, name)) = rule(line).or_else(|| pointed(line)) {
        return Some(name);
    }
    let (sign, line) = signed(line);
    let words = || words(line);
    let location = words().next()?;
    file(location.strip_suffix(b":").unwrap_or(location))?;
    let word = |at: usize| words().nth(at).map(|word| bare(word.strip_suffix(b":").unwrap_or(word)));
    let first = word(1);
    let levelled = first.filter(|first| is_level(first)).and_then(|_| word(2));
    if let Some(code) = first.into_iter().chain(levelled).find(|word| letters(word).is_some()) {
        return Some(code);
    }
    let last = words().next_back().filter(|_| words().count() > 2)?;
    let name = match bare(last) {
        name if name.len() < last.len() => name,
        // A location without a colon is followed by columns: severity, message and name.
        name if !location.ends_with(b":") && sign.or(first).is_some_and(is_level) => name,
        _ => return None,
    };
    let name = graded(name).map_or(name, |(_, name)| name);
    if letters(name).is_some() {
        return Some(name);
    }
    let is_name = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-/@_W=".contains(byte);
    (name.len() > 2 && name.iter().all(is_name)).then_some(name)
}

/// Severity before the name of a rule, as in one form of eslint: `Error/no-empty`.
fn graded(name: &[u8]) -> Option<(u8, &[u8])> {
    let error = name.strip_prefix(b"Error/").map(|name| (b'E', name));
    error.or(name.strip_prefix(b"Warning/").map(|name| (b'W', name)))
}

/// A word without the brackets around it.
fn bare(word: &[u8]) -> &[u8] {
    match word {
        [b'[', bare @ .., b']'] | [b'(', bare @ .., b')'] => bare,
        _ => word,
    }
}

/// The code of a finding that names its file.
pub(crate) fn code_in_file(line: &[u8]) -> Option<&[u8]> {
    code(line).filter(|_| names_file(line))
}

/// Whether a finding names its file, and not only a line of the file that is named above.
pub(crate) fn names_file(line: &[u8]) -> bool {
    let path = line.split(|&byte| byte == b':').next().unwrap_or_default();
    path.contains(&b'.') && !path.contains(&b' ')
}

/// The letters of a code of letters and digits: `E0202`, `SC2086`.
fn letters(code: &[u8]) -> Option<&[u8]> {
    let (letters, number) = code.split_at(code.iter().take_while(|byte| byte.is_ascii_uppercase()).count());
    let fits = (1..=4).contains(&letters.len()) && (2..=5).contains(&number.len()) && is_number(number);
    fits.then_some(letters)
}

/// Severity of a finding as a letter, which the codes of pylint begin with.
fn level(line: &[u8]) -> Option<u8> {
    if let Some((level, _)) = rule(line).or_else(|| pointed(line)) {
        return Some(level);
    }
    let code = code(line)?;
    if let Some((level, _)) = words(line).next_back().map(bare).and_then(graded) {
        return Some(level);
    }
    // The codes of luacheck have three digits and stand in brackets.
    let is_bracketed =
        || words(line).nth(1).is_some_and(|word| word.len() > code.len() && bare(word) == code);
    match letters(code)? {
        [letter] if code.len() == 5 || is_bracketed() => Some(*letter),
        _ => None,
    }
}

/// Whether a finding is an error, by its code or by the word after its location.
pub(crate) fn is_error(line: &[u8]) -> bool {
    let (sign, rest) = signed(line);
    let said = sign.or(words(rest).nth(1)).map(|said| said.strip_suffix(b":").unwrap_or(said));
    matches!(level(line), Some(b'E' | b'F'))
        || code(line)
            .is_some_and(|code| code.len() == 4 && BREAKS.iter().any(|beginning| code.starts_with(beginning)))
        || said.is_some_and(|said| is_one_of(said, ERRORS)) && code(line).is_some()
}

/// Whether a finding is a remark by its code: a warning, a convention, something to refactor.
pub(crate) fn is_remark(line: &[u8]) -> bool {
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
            ("  56:3  ✖  Unexpected property \"aligm\"  property-no-unknown", Some("property-no-unknown")),
            ("  ⚠  56:3  Unexpected var.  no-var", Some("no-var")),
            ("lib/a.rb:31:7: E: Lint/Syntax: unexpected token tIVAR", Some("Lint/Syntax")),
            ("E: 31:  7: Lint/Syntax: unexpected token tIVAR", Some("Lint/Syntax")),
            ("C:2112: 33: [Correctable] Style/Alias: Use alias.", Some("Style/Alias")),
            ("    pl/a.lua:208:9-12: (E011) expected '=' near 'List'", Some("E011")),
            ("C: 12 Style/Alias", None),
            ("src/a.c:3:7: warning: declaration shadows a parameter [-Wshadow]", Some("-Wshadow")),
            ("app/a.py:7: error: Incompatible types in assignment  [assignment]", Some("assignment")),
            ("a.go:5:2: should omit the type (revive)", Some("revive")),
            (
                "/w/a.js:2:19: Unexpected control character. [Error/no-control-regex]",
                Some("no-control-regex"),
            ),
            ("/w/a.js:2:19: Missing semicolon. [Warning/semi]", Some("semi")),
            ("a.sh:3:5: note: Double quote to prevent globbing. [SC2086]", Some("SC2086")),
            ("        ^-- SC1046 (error): Couldn't find 'fi' for this 'if'.", Some("SC1046")),
            ("   ^--^ SC2164 (warning): Use 'cd ... || exit' in case cd fails.", Some("SC2164")),
            ("   ^-- here: it fails", None),
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
    fn errors_are_told_from_remarks_by_the_letter_of_a_code_or_by_what_stands_beside_the_location() {
        let table = [
            ("a.py:1:0: E1101: no member", (true, false)),
            ("a.py:1:0: F0001: cannot be read", (true, false)),
            ("a.py:1:0: F821 Undefined name `sp`", (true, false)),
            ("a.py:1:0: E999 SyntaxError: invalid syntax", (true, false)),
            ("a.py:1:0: E741 Ambiguous variable name: `l`", (false, false)),
            ("a.py:1:0: F401 `os` imported but unused", (false, false)),
            ("a.py:1:0: W0707: raise it with `from exc`: ValueError('failed')", (false, true)),
            ("a.py:1:0: C0116: no docstring", (false, true)),
            ("  56:3  ✖  Unexpected property  property-no-unknown", (true, false)),
            ("  ✖  56:3  Unexpected var.  no-var", (true, false)),
            ("  56:3  ⚠  Expected a line  rule-line", (false, false)),
            ("a.ts:3:1 - error TS2307: Cannot find module", (true, false)),
            ("12:5  warning  it failed with an error  no-undef", (false, false)),
            ("E: 31:  7: Lint/Syntax: unexpected token", (true, false)),
            ("a.rb:31:7: W: Lint/Void: it is not used", (false, true)),
            ("pl/a.lua:208:9-12: (E011) expected '='", (true, false)),
            ("pl/a.lua:208:9-12: (W143) undefined field", (false, true)),
            ("/w/a.js:2:19: Empty block statement. [Error/no-empty]", (true, false)),
            ("/w/a.js:2:19: Missing semicolon. [Warning/semi]", (false, true)),
            ("        ^-- SC1046 (error): Couldn't find 'fi' for this 'if'.", (true, false)),
            ("        ^-- SC2181 (style): Check exit code directly.", (false, true)),
            // Other linters have other codes.
            ("a.py:1:80: E501 line too long", (false, false)),
        ];
        for (line, expected) in table {
            assert_eq!((is_error(line.as_bytes()), is_remark(line.as_bytes())), expected, "{line}");
        }
    }
}
