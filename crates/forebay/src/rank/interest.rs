//! Words that a session states: those of its latest calls, and of the thoughts before them.
//!
//! A line with a name that a recent call also has is one that the next call is likely to need.

use crate::{Call, Output};
use std::collections::{HashMap, HashSet};

/// Weight of a word of a call.
const WORD: f32 = 2.0;

/// Factor on the weight of a word that is a name.
const NAME_FACTOR: f32 = 2.0;

/// Factor on the weights of a call for each later one.
const AGE: f32 = 0.9;

/// Bytes of arguments and of an intent that are read of one call.
const READ: usize = 8 * 1024;

/// Words that are in more lines than this say nothing about any of them: a number of lines, and a share of all.
const FEW_LINES: usize = 3;
const COMMON_SHARE: f32 = 0.2;

/// Maximum bytes of a line whose words are examined.
const LONG: usize = 5_000;

/// Words that a call and a line have in common by chance.
const COMMON: &[&str] = &[
    "this", "that", "with", "from", "have", "will", "they", "them", "then", "than", "what", "when", "where",
    "which", "there", "their", "into", "also", "only", "just", "need", "look", "looking", "check", "lets",
    "make", "sure", "should", "would", "could", "about", "after", "before", "first", "next", "file", "files",
    "code", "using", "used", "find", "show", "shows", "here", "more", "some", "very", "each", "because",
    "return", "func", "function", "class", "import", "error", "string", "true", "false", "none", "null",
    "self", "type", "test", "tests", "line", "lines", "read", "update",
];

/// Words that the session states, with their weights.
#[derive(Debug, Default)]
pub(crate) struct Interest {
    weights: HashMap<String, f32>,
}

impl Interest {
    /// Words of the calls of a session, up to the one that gave an output.
    pub(crate) fn of(output: &Output) -> Interest {
        let mut interest = Interest::default();
        let calls = std::iter::once(&output.record().call).chain(output.earlier_calls());
        let mut factor = 1.0;
        for call in calls {
            interest.add(call, factor);
            factor *= AGE;
        }
        interest
    }

    fn add(&mut self, call: &Call, factor: f32) {
        let args: Option<serde_json::Value> =
            call.args.as_deref().and_then(|args| serde_json::from_str(args).ok());
        let mut texts = Vec::new();
        texts.extend(call.intent.as_deref().map(|intent| intent.to_owned()));
        if let Some(args) = &args {
            strings(args, &mut texts);
        }
        let mut room = READ;
        for text in texts {
            let mut end = text.len().min(room);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            room -= end;
            for word in words(&text.as_bytes()[..end]) {
                if word.len() < 4 || word.iter().all(u8::is_ascii_digit) {
                    continue;
                }
                let Ok(word) = std::str::from_utf8(word) else { continue };
                if COMMON.contains(&word.to_ascii_lowercase().as_str()) {
                    continue;
                }
                let weight = WORD * factor * if is_name(word.as_bytes()) { NAME_FACTOR } else { 1.0 };
                let known = self.weights.entry(word.to_owned()).or_insert(0.0);
                *known = known.max(weight);
            }
        }
    }

    /// Whether the session states nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// Weight of a word.
    pub(crate) fn weight(&self, word: &[u8]) -> Option<f32> {
        self.weights.get(std::str::from_utf8(word).ok()?).copied()
    }

    /// Scores of lines by the words that they share with the session. Words of many lines do not count.
    pub(crate) fn scores(&self, lines: &[&[u8]]) -> Vec<f32> {
        if self.is_empty() {
            return vec![0.0; lines.len()];
        }
        let of_line = |line: &[u8]| -> HashSet<&str> {
            let known = |word: &&[u8]| self.weight(word).is_some();
            let found = words(&line[..line.len().min(LONG)]).filter(known);
            found
                .filter_map(|word| self.weights.get_key_value(std::str::from_utf8(word).ok()?))
                .map(|(word, _)| word.as_str())
                .collect()
        };
        let found: Vec<HashSet<&str>> = lines.iter().map(|line| of_line(line)).collect();
        let mut count: HashMap<&str, usize> = HashMap::new();
        for word in found.iter().flatten() {
            *count.entry(word).or_default() += 1;
        }
        let most = FEW_LINES.max((lines.len() as f32 * COMMON_SHARE) as usize);
        let score = |words: &HashSet<&str>| -> f32 {
            let mut scores: Vec<f32> = words
                .iter()
                .filter(|word| count[**word] <= most)
                .map(|word| self.weights[*word] * (1.0 + lines.len() as f32 / count[*word] as f32).ln())
                .collect();
            // Sums of floats depend on their order.
            scores.sort_unstable_by(f32::total_cmp);
            scores.iter().sum()
        };
        found.iter().map(score).collect()
    }

    /// Names mentioned in the session that occur in a text, those with the highest weight first.
    pub(crate) fn names_in<'t>(&self, text: &'t [u8]) -> Vec<&'t str> {
        let mut found: Vec<(f32, &str)> = Vec::new();
        let mut seen = HashSet::new();
        for word in words(text).filter(|word| is_name(word)) {
            if let (Some(weight), Ok(name)) = (self.weight(word), std::str::from_utf8(word))
                && seen.insert(name)
            {
                found.push((weight, name));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        found.into_iter().map(|(_, name)| name).collect()
    }
}

/// The texts in the arguments of a call.
fn strings(value: &serde_json::Value, texts: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => texts.push(text.clone()),
        serde_json::Value::Array(items) => items.iter().for_each(|item| strings(item, texts)),
        serde_json::Value::Object(members) => members.values().for_each(|value| strings(value, texts)),
        serde_json::Value::Number(number) => texts.push(number.to_string()),
        serde_json::Value::Bool(_) | serde_json::Value::Null => {}
    }
}

/// Words of a text: letters, digits and underscores.
pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || *byte >= 0x80;
    text.split(move |byte| !is_of_word(byte)).filter(|word| !word.is_empty())
}

/// Whether a word is a name in a program: it has an underscore, a capital inside, or a digit.
pub(crate) fn is_name(word: &[u8]) -> bool {
    let inner = word.iter().position(|&byte| byte != b'_').map_or(&word[..0], |at| &word[at..]);
    let has_underscore = inner.iter().rev().skip_while(|&&byte| byte == b'_').any(|&byte| byte == b'_');
    let is_camel = word.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let has_digit = word.iter().any(u8::is_ascii_digit) && word.iter().any(u8::is_ascii_alphabetic);
    word.len() >= 4 && (has_underscore || is_camel || has_digit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of_call;
    use crate::{Session, Timestamp};

    fn call(args: &str, intent: &str) -> Call {
        let call = Call::new(Session::safe("s"), "id1234", "run", Timestamp::UNIX_EPOCH);
        Call { args: Some(args.to_owned()), intent: Some(intent.to_owned()), ..call }
    }

    #[test]
    fn lines_with_names_of_the_latest_calls_score_highest() {
        let output = output_of_call(
            &call(r#"{"command": "grep -n parse_date src"}"#, "find where dates are parsed"),
            b"x\n",
        );
        let output = output.with_earlier_calls(vec![call(r#"{"file": "calendar_view.py"}"#, "")]);
        let interest = Interest::of(&output);
        let lines: Vec<&[u8]> =
            vec![b"def parse_date(text):", b"class calendar_view:", b"for dates in parsed", b"x = 1"];
        let scores = interest.scores(&lines);
        assert!(
            scores[0] > scores[1] && scores[1] > 0.0 && scores[2] > 0.0 && scores[3] == 0.0,
            "{scores:?}"
        );
        assert_eq!(
            interest.names_in(b"def parse_date(calendar_view): parse_date"),
            ["parse_date", "calendar_view"]
        );
    }

    #[test]
    fn words_of_most_lines_say_nothing_about_any_of_them() {
        let output = output_of_call(&call(r#"{"q": "get_value rare_name"}"#, ""), b"x\n");
        let mut lines: Vec<&[u8]> = vec![b"get_value()"; 20];
        lines[7] = b"get_value(rare_name)";
        let scores = Interest::of(&output).scores(&lines);
        assert_eq!(scores.iter().filter(|score| **score > 0.0).count(), 1);
    }

    #[test]
    fn names_are_told_from_words() {
        for name in ["parse_date", "parseDate", "abc123", "HTTPServer2"] {
            assert!(is_name(name.as_bytes()), "{name}");
        }
        for word in ["date", "__", "_private", "12345", "a_b"] {
            assert!(!is_name(word.as_bytes()), "{word}");
        }
    }
}
