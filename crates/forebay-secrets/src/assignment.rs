//! Secrets that are recognised only by the name beside them: `ASANA_PAT=…`, `"password": "…"`, `--api-key …`.
//!
//! Three questions are answered in turn. What does the name claim ([`name`])? How is the value joined to it
//! ([`separator`])? Does the value look like what the name claims, and not like a placeholder, a reference or code?

mod name;
mod separator;
mod value;

use crate::placeholder::is_placeholder;
use crate::randomness::{Shape, is_random, is_uuid};
use crate::text::{ends_with_ignore_case, is_start, line_end, line_start};
pub(crate) use name::{Claim, Words};
use separator::{Join, Joint};
use std::ops::Range;

/// Maximum bytes of a name. Longer runs of letters are data.
const MAX_NAME: usize = 64;

/// Minimum bytes of a value.
const MIN_VALUE: usize = 6;

/// Minimum bytes of a value that only a blank or a dash separates from its name.
const MIN_LOOSE: usize = 8;

/// A value that is a secret because of its name.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) range: Range<usize>,
    pub(crate) label: &'static str,
    /// Service that the name indicates.
    pub(crate) service: Option<String>,
}

/// The name around a keyword, and the value if it is a secret.
#[derive(Debug)]
pub(crate) struct Answer {
    /// End of the name. Keywords before this end need no search of their own.
    pub(crate) name_end: usize,
    pub(crate) named: Option<Named>,
}

/// Checks the setting whose name contains `at`.
pub(crate) fn find(text: &[u8], at: usize) -> Answer {
    let Some(name) = name_at(text, at) else {
        return Answer { name_end: at, named: None };
    };
    let named = look(text, name.clone());
    Answer { name_end: name.end, named }
}

/// The name that contains `at`; `None` if it is too long to be one.
fn name_at(text: &[u8], at: usize) -> Option<Range<usize>> {
    let of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let run_before =
        |end: usize| text[..end].iter().rev().take(MAX_NAME).take_while(|byte| of_word(byte)).count();
    let mut start = at - run_before(at);
    if at - start == MAX_NAME {
        return None;
    }
    while let [.., b'-' | b'.'] = text[..start] {
        let length = run_before(start - 1);
        if length == 0 || at - start + length + 1 > MAX_NAME {
            break;
        }
        start -= length + 1;
    }
    // The letter of an escape and the end of a colour code are not part of the name.
    if start > 0 && start < at && text[start - 1] == b'\\' && matches!(text[start], b'n' | b't' | b'r') {
        start += 1;
    }
    if text[..start].ends_with(b"\x1b[") {
        let colour = text[start..at].iter().position(|byte| *byte == b'm').map_or(0, |m| m + 1);
        start += colour;
    }
    if text[..start].ends_with(b"%") && at - start >= 2 {
        start += 2;
    }
    start += text[start..at].iter().take_while(|byte| matches!(byte, b'-' | b'.' | b'_')).count();

    let mut end = at;
    let limit = text.len().min(at + MAX_NAME);
    loop {
        end += text[end..limit].iter().take_while(|byte| of_word(byte)).count();
        if end == limit && end < text.len() {
            return None;
        }
        let [b'-' | b'.', after @ ..] = &text[end..limit] else { break };
        let next = &after[..after.iter().take_while(|byte| of_word(byte)).count()];
        let digits = next.iter().filter(|byte| byte.is_ascii_digit()).count();
        if next.is_empty() || next.len() >= 7 && digits >= 2 {
            break;
        }
        end += 1 + next.len();
    }
    Some(start..end)
}

/// Words before a name, separated by a blank, as in `Unseal Key`. At most two are used.
fn words_before(text: &[u8], start: usize) -> &[u8] {
    let mut from = start;
    for _ in 0..2 {
        let Some(word_end) = from.checked_sub(1).filter(|end| text[*end] == b' ') else { break };
        let limit = word_end.saturating_sub(24);
        let letters = text[limit..word_end]
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        let letters = letters.count();
        if letters == 0 {
            break;
        }
        from = word_end - letters;
    }
    &text[from..start]
}

fn look(text: &[u8], name: Range<usize>) -> Option<Named> {
    // Most names are in prose and in code that assigns nothing. They are rejected before their words are split.
    let joint = separator::after(text, name.clone())?;
    let range = value::at(text, &name, &joint)?;
    if !can_be_secret(&text[range.clone()], &text[name.clone()], &joint) {
        return None;
    }
    let mut before: &[u8] = &[];
    let mut words = Words::of(before, &text[name.clone()]);
    if words.count() <= 2 && !joint.quoted_name {
        before = words_before(text, name.start);
        if !before.is_empty() {
            words = Words::of(before, &text[name.clone()]);
        }
    }
    let claim = words.claim()?;
    // Test runners print `PASS: ` and `TEST-PASS | ` before the name of a test.
    let own = &text[name.clone()];
    if ends_with_ignore_case(own, b"pass")
        && (!own.ends_with(b"pass") && joint.join != Join::Equals || joint.join == Join::Blank)
    {
        return None;
    }
    if words.is_signature() && !joint.is_param {
        return None;
    }
    let value = &text[range.clone()];
    let setting = Setting { text, name, joint, claim, words: &words, before };
    setting.accepts(value, &range).then(|| Named {
        range,
        label: words.label(),
        service: words.service().map(str::to_owned),
    })
}

/// Whether a value can be a secret, whatever its name claims. In prose, the word after a name usually cannot.
fn can_be_secret(value: &[u8], name: &[u8], joint: &Joint) -> bool {
    if !joint.is_loose() {
        return value.len() >= MIN_VALUE;
    }
    // Another assignment, or a memory address.
    let is_pair = value.iter().position(|byte| *byte == b'=').is_some_and(|equals| equals + 2 < value.len());
    let names_password =
        || name.array_windows::<2>().any(|two| matches!(two, [b'p' | b'P', b'a' | b'A' | b'w' | b'W']));
    value.len() >= MIN_LOOSE
        && !is_pair
        && !value.starts_with(b"0x")
        && (value.iter().any(u8::is_ascii_digit) || names_password())
}

/// A name, its claim, and the separator between it and its value.
struct Setting<'a> {
    text: &'a [u8],
    name: Range<usize>,
    joint: Joint,
    claim: Claim,
    words: &'a Words,
    before: &'a [u8],
}

impl Setting<'_> {
    /// Whether a value matches the claim of its name.
    fn accepts(&self, value: &[u8], range: &Range<usize>) -> bool {
        // The rest of a value beside a mask, and the name of a function before its arguments.
        if !self.joint.quoted_value && matches!(self.text.get(range.end), Some(b'[' | b'*' | b'<' | b'(')) {
            return false;
        }
        // `openssl s_client` prints the key of a connection that has ended.
        if value.len() == 96 && self.text[self.name.clone()] == *b"Master-Key" {
            return false;
        }
        if value.len() > value::MAX_VALUE || is_placeholder(value) || value::is_path(value) {
            return false;
        }
        // `settings.api_key = module.api_key`, and a date such as `2026-01-31T10:00:00Z`.
        let own = &self.text[self.name.clone()];
        let repeats = own.len() >= 6 && !self.joint.quoted_value && value.ends_with(own);
        if repeats || value::is_date(value) {
            return false;
        }
        let shape = Shape::of(value);
        // The text of an element ends with the next tag.
        if self.joint.join == Join::Tag && !self.joint.quoted_value {
            let after = &self.text[range.end..];
            if !after.trim_ascii_start().starts_with(b"<") {
                return false;
            }
        }
        match self.claim {
            Claim::Password => self.accepts_password(value, &shape, range),
            Claim::Secret => self.accepts_secret(value, &shape),
            Claim::Weak => self.accepts_weak(value, &shape),
            Claim::Service => {
                !matches!(self.joint.join, Join::Pipe | Join::Flag)
                    && shape.length >= 24
                    && shape.digits >= 3
                    && is_random(value)
                    && self.is_whole(range)
            }
        }
    }

    fn accepts_password(&self, value: &[u8], shape: &Shape, range: &Range<usize>) -> bool {
        if value::is_code(value) && !self.joint.quoted_value {
            return false;
        }
        if self.joint.is_loose() {
            let length = if self.is_netrc() || self.joint.quoted_value { 8 } else { 16 };
            return shape.length >= length && (shape.digits > 0 || self.is_netrc()) && is_random(value);
        }
        if is_random(value) {
            return true;
        }
        if self.joint.join == Join::Comma || shape.length > 64 || value.iter().any(u8::is_ascii_whitespace) {
            return false;
        }
        let letters = shape.letters();
        let varied = letters >= 2 && (shape.digits > 0 || shape.symbols > 0) && shape.distinct >= 5;
        let words_only = shape.symbols > 0 && shape.digits == 0 && shape.in_words * 2 > shape.length;
        let is_identifier = value.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let line = self.joint.is_env || self.joint.is_param || self.joint.join == Join::Flag;
        if self.joint.quoted_value {
            // A made-up password in code or in a test is less certain than one in a settings file.
            let classes = [shape.lower, shape.upper, shape.digits, shape.symbols];
            let classes = classes.into_iter().filter(|count| *count > 0).count();
            return varied && !words_only && shape.length >= 8 && (classes >= 3 || line);
        }
        if line {
            return varied && !words_only;
        }
        varied
            && !words_only
            && shape.digits > 0
            && !is_identifier
            && shape.symbols * 2 <= shape.length
            && self.is_whole(range)
    }

    /// Whether the line is one of a netrc file.
    fn is_netrc(&self) -> bool {
        let line = &self.text[line_start(self.text, self.name.start, 256)..self.name.start];
        line.trim_ascii().is_empty() || memchr::memmem::find(line, b"login ").is_some()
    }

    fn accepts_secret(&self, value: &[u8], shape: &Shape) -> bool {
        if value.iter().any(u8::is_ascii_whitespace) || shape.length < 12 && !self.joint.is_env {
            return false;
        }
        if is_uuid(value) {
            let client_token = self.words.count() == 2 && self.words.claim() == Some(Claim::Secret) && {
                let name = &self.text[self.name.clone()];
                name.eq_ignore_ascii_case(b"clienttoken") || name.eq_ignore_ascii_case(b"client_token")
            };
            return self.words.count() > 1 && !client_token;
        }
        if value::is_code(value) && !self.joint.quoted_value {
            return false;
        }
        let strict = self.joint.is_loose() || self.joint.join == Join::Pipe;
        if strict && (shape.length < 16 || shape.digits == 0 || shape.letters() == 0 || self.is_prose()) {
            return false;
        }
        (self.joint.join != Join::Dash || !value.contains(&b'_')) && is_random(value)
    }

    fn accepts_weak(&self, value: &[u8], shape: &Shape) -> bool {
        if self.words.count() < 2 || shape.length < 16 || !is_random(value) || shape.digits < 2 {
            return false;
        }
        if is_uuid(value) && self.words.service().is_none() {
            return false;
        }
        if self.joint.is_loose()
            && (self.is_prose() || self.joint.join == Join::Dash && value.contains(&b'_'))
        {
            return false;
        }
        self.joint.quoted_value || !value::is_code(value)
    }

    /// Whether the words before the name are those of a sentence rather than of a name.
    fn is_prose(&self) -> bool {
        const WORDS: &[&[u8]] = &[
            b"the",
            b"a",
            b"an",
            b"this",
            b"that",
            b"with",
            b"for",
            b"of",
            b"from",
            b"by",
            b"in",
            b"to",
            b"and",
            b"or",
            b"no",
            b"invalid",
            b"unexpected",
            b"unknown",
            b"missing",
            b"expected",
            b"bad",
            b"wrong",
            b"next",
            b"same",
            b"each",
            b"cache",
            b"found",
            b"got",
            b"using",
            b"rsa",
            b"dsa",
            b"ecdsa",
            b"ed25519",
            b"ssh",
            b"host",
            b"gpg",
        ];
        let mut words = self.before.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        words.any(|word| WORDS.iter().any(|prose| word.eq_ignore_ascii_case(prose)))
    }

    /// Whether nothing but punctuation follows the value on its line.
    fn is_whole(&self, range: &Range<usize>) -> bool {
        let rest = &self.text[range.end..line_end(self.text, range.end, 80)];
        is_start(self.text, self.name.start)
            && rest.iter().all(|byte| {
                matches!(
                    byte,
                    b'"' | b'\''
                        | b'`'
                        | b','
                        | b';'
                        | b' '
                        | b'\t'
                        | b'\r'
                        | b'}'
                        | b')'
                        | b']'
                        | b'\\'
                        | b'='
                )
            })
    }
}
