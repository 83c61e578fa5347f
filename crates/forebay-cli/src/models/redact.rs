//! Takes a provider's key out of what its server says.
//!
//! A server may repeat the key that it was sent: whole, in another case, broken over lines, or escaped. So letters and
//! digits alone are compared, without regard to case, in the text as it is and with its escapes resolved.

use std::{borrow::Cow, collections::VecDeque, ops::Range};

/// A shorter key is no secret, and a part of many words.
const SHORTEST_KEY: usize = 8;

/// With fewer letters and digits than this, a key may be words that an answer has for other reasons.
const DISTINCT: usize = 12;

/// Replacement for a key.
const GONE: &str = "…";

/// How often escapes are resolved in what was escaped before.
const LEVELS: usize = 2;

/// The longest escape that is resolved, in characters: `&#x0000;`.
const LONGEST_ESCAPE: usize = 8;

/// A key that must not be repeated.
pub(super) struct Secret<'a> {
    key: &'a str,
    /// Its letters and digits, in lower case.
    letters: Vec<char>,
}

impl<'a> Secret<'a> {
    pub(super) fn new(key: Option<&'a str>) -> Secret<'a> {
        let key = key.filter(|key| key.len() >= SHORTEST_KEY).unwrap_or_default();
        Secret { key, letters: key.chars().filter_map(letter).collect() }
    }

    /// An error without the key and without longer parts of it. Two halves make a key too.
    pub(super) fn out_of_error<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.out_of(text, SHORTEST_KEY)
    }

    /// Removes the key, or half of it, from an answer. A key made of words is removed only in its exact form, since
    /// an answer may contain those words for other reasons.
    pub(super) fn out_of_answer<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let is_distinct =
            self.letters.len() >= DISTINCT && self.letters.iter().any(|letter| letter.is_ascii_digit());
        if is_distinct {
            self.out_of(text, self.letters.len().div_ceil(2).max(SHORTEST_KEY))
        } else {
            self.as_written(text)
        }
    }

    fn as_written<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !self.key.is_empty() && text.contains(self.key) {
            text.replace(self.key, GONE).into()
        } else {
            text.into()
        }
    }

    /// The text without the key, and without `least` or more neighbouring letters of it.
    fn out_of<'t>(&self, text: &'t str, least: usize) -> Cow<'t, str> {
        if self.letters.len() < least {
            return self.as_written(text);
        }
        // At every level: a key may itself look like an escape.
        let mut found: Vec<Range<usize>> =
            (0..=LEVELS).flat_map(|levels| self.places(resolved(text, levels), least)).collect();
        if found.is_empty() {
            return text.into();
        }
        found.sort_by_key(|range| range.start);
        let mut kept = String::with_capacity(text.len());
        let mut at = 0;
        for range in found {
            if range.start >= at {
                kept.push_str(&text[at..range.start]);
                kept.push_str(GONE);
            }
            at = at.max(range.end);
        }
        kept.push_str(&text[at..]);
        kept.into()
    }

    /// Places where at least `least` adjacent letters of the key are adjacent in a text, ignoring separators.
    fn places(&self, symbols: impl Iterator<Item = Symbol>, least: usize) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        let mut window: VecDeque<(char, Range<usize>)> = VecDeque::with_capacity(least);
        for symbol in symbols {
            let Some(letter) = letter(symbol.is) else { continue };
            if window.len() == least {
                window.pop_front();
            }
            window.push_back((letter, symbol.at));
            let is_here = |part: &[char]| part.iter().eq(window.iter().map(|(letter, _)| letter));
            if window.len() == least && self.letters.windows(least).any(is_here) {
                let (first, last) = (&window[0].1, &window[least - 1].1);
                match found.last_mut() {
                    Some(before) if before.end >= first.start => before.end = last.end,
                    _ => found.push(first.start..last.end),
                }
            }
        }
        found
    }
}

/// A letter or digit as it is compared.
fn letter(character: char) -> Option<char> {
    character.is_alphanumeric().then(|| character.to_lowercase().next()).flatten()
}

/// A character of a text, and the bytes that stand for it.
#[derive(Clone, Debug)]
struct Symbol {
    is: char,
    at: Range<usize>,
}

/// Characters of a text with its escapes resolved `levels` times.
fn resolved(text: &str, levels: usize) -> Box<dyn Iterator<Item = Symbol> + '_> {
    match levels {
        0 => Box::new(text.char_indices().map(|(at, is)| Symbol { is, at: at..at + is.len_utf8() })),
        _ => Box::new(Resolved { inner: resolved(text, levels - 1), ahead: VecDeque::new() }),
    }
}

/// Characters with their escapes resolved.
struct Resolved<'a> {
    inner: Box<dyn Iterator<Item = Symbol> + 'a>,
    ahead: VecDeque<Symbol>,
}

impl Iterator for Resolved<'_> {
    type Item = Symbol;

    fn next(&mut self) -> Option<Symbol> {
        while self.ahead.len() < LONGEST_ESCAPE {
            let Some(symbol) = self.inner.next() else { break };
            self.ahead.push_back(symbol);
        }
        let first = self.ahead.front()?.clone();
        if !matches!(first.is, '%' | '\\' | '&') {
            return self.ahead.pop_front();
        }
        let text: String = self.ahead.iter().map(|symbol| symbol.is).collect();
        let Some((is, length)) = escape(&text) else { return self.ahead.pop_front() };
        let last = self.ahead.drain(..length).next_back()?;
        Some(Symbol { is, at: first.at.start..last.at.end })
    }
}

/// The character that the escape at the start of a text stands for, and how many characters the escape has.
fn escape(text: &str) -> Option<(char, usize)> {
    let code = |digits: &str, radix| {
        let all = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
        all.then(|| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32)).flatten()
    };
    let hex =
        |start: usize, length: usize| Some((code(text.get(start..start + length)?, 16)?, start + length));
    match text.get(..2).unwrap_or(text) {
        "\\u" => hex(2, 4),
        "\\x" => hex(2, 2),
        "\\n" | "\\t" | "\\r" | "\\b" | "\\f" => Some((' ', 2)),
        "&#" => {
            let number = &text[2..text.find(';')?];
            let is = match number.strip_prefix(['x', 'X']) {
                Some(digits) => code(digits, 16),
                None => code(number, 10),
            };
            Some((is?, number.chars().count() + 3))
        }
        start if start.starts_with('%') => hex(1, 2),
        start if start.starts_with('&') => {
            let names = ["&amp;", "&quot;", "&apos;", "&lt;", "&gt;", "&nbsp;"];
            names.iter().find(|name| text.starts_with(**name)).map(|name| {
                // An escaped ampersand may begin another escape.
                (if *name == "&amp;" { '&' } else { ' ' }, name.len())
            })
        }
        start if start.starts_with("\\\\") => Some(('\\', 2)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-Very-Secret-0123";

    #[test]
    fn a_key_is_taken_out_however_a_server_writes_it() {
        let secret = Secret::new(Some(KEY));
        let table = [
            ("bad key sk-Very-Secret-0123!", "bad key …!"),
            ("bad key SK-VERY-SECRET-0123!", "bad key …!"),
            ("bad key sk-very-\nsecret -\t0123!", "bad key …!"),
            ("bad key s k - V e r y - S e c r e t - 0 1 2 3!", "bad key …!"),
            ("bad key skVerySecret0123, \"sk-Very\" + \"-Secret-0123\"", "bad key …, \"…\""),
            ("bad key sk%2DVery%2dSecret%2D0123!", "bad key …!"),
            ("bad key %73k-Very-Secret-0123 and sk%252DVery-%2553ecret-0123!", "bad key … and …!"),
            (r"bad key sk-Very\n-Secret\u002d012\u0033!", "bad key …!"),
            (r"bad key \\u0073k-Very-Secret-0123!", "bad key …!"),
            ("bad key sk&#45;Very-&#83;ecret-012&#x33;!", "bad key …!"),
            ("bad key sk-Ve\u{200b}ry-Secret-0123!", "bad key …!"),
            ("first sk-Very-Sec, then ret-0123 and so on", "first …, then ret-0123 and so on"),
            ("%", "%"),
            ("&", "&"),
            ("&#;\\u12 \\", "&#;\\u12 \\"),
            ("100 % secret, é", "100 % secret, é"),
        ];
        for (said, shown) in table {
            assert_eq!(secret.out_of_error(said), shown, "{said}");
        }
        assert_eq!(secret.out_of_answer("It is sk-very-\nsecret-0123."), "It is ….");
    }

    #[test]
    fn words_that_are_also_a_key_stay_in_an_answer() {
        let words = Secret::new(Some("not-needed"));
        assert_eq!(words.out_of_answer("This is not needed."), "This is not needed.");
        assert_eq!(words.out_of_answer("The key is not-needed."), "The key is ….");
        assert_eq!(words.out_of_error("the key NOT NEEDED is wrong"), "the key … is wrong");
        for none in [None, Some(""), Some("short")] {
            assert_eq!(Secret::new(none).out_of_error("short"), "short");
        }
        let signs = Secret::new(Some("--------a"));
        assert_eq!(signs.out_of_error("a --------a"), "a …");
    }
}
