//! A question in plain words, taken apart into what can be looked for.

use crate::rank::date;
use std::collections::HashSet;

/// No question has more terms that count: a mask of them fits a machine word.
const MOST: usize = 60;

/// What a word of trouble tells where it is a word like others: questions have it of themselves.
const TROUBLED_WORD: f32 = 0.5;

/// What a name tells beside a word: nobody copies one that does not matter. A unit that has it has its parts too.
const NAME: f32 = 1.6;

/// What a name inside a name tells, and what each word of a name does.
const INNER_NAME: f32 = 1.0;
const PART: f32 = 0.45;

/// What words that a hyphen joins tell together, beside what each of them does.
const JOINED: f32 = 0.5;

/// What a term tells that a question says again, by itself or as a part of a name: so much more each time, up to a
/// bound, since long questions say some words many times.
const SAID_AGAIN: f32 = 0.5;
const MOST_SAID: f32 = 2.0;

/// What a question is after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aim {
    /// What its words say.
    Words,
    /// What went wrong.
    Trouble,
    /// What a text is about: its beginning tells.
    Gist,
}

/// Something to look for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    /// What it looks like, in small letters; a word is cut to its stem.
    pub(crate) text: String,
    /// The form in which the question has it.
    pub(crate) form: String,
    /// Whether it is a word, of which other forms count as well. A name is looked for as it is.
    pub(crate) word: bool,
    /// How much it tells, before it is known how rare it is.
    pub(crate) weight: f32,
}

/// A question, taken apart.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// As it was asked.
    pub(crate) text: String,
    pub(crate) terms: Vec<Term>,
    /// What stands in quotes, in small letters.
    pub(crate) quoted: Vec<String>,
    pub(crate) aim: Aim,
    /// Whether it asks for a time.
    pub(crate) when: bool,
    /// Whether it speaks of trouble: then lines that do so too are worth more.
    pub(crate) trouble: bool,
    /// The words in which it does.
    troubled: Vec<Term>,
    /// Whether trouble counts the same wherever it stands, as in what a service writes; that of a run grows to the end.
    pub(crate) anywhere: bool,
}

impl Question {
    pub(crate) fn new(text: &str) -> Question {
        let text: String = text.chars().take(4_000).collect();
        let mut question = Question {
            text: text.clone(),
            terms: Vec::new(),
            quoted: quoted(&text),
            aim: Aim::Words,
            when: false,
            trouble: false,
            anywhere: false,
            troubled: Vec::new(),
        };
        let mut seen = HashSet::new();
        let mut troubled_by = Vec::new();
        let mut add = |term: Term| {
            if seen.insert(term.text.clone()) {
                question.terms.push(term);
            } else if let Some(known) = question.terms.iter_mut().find(|known| known.text == term.text) {
                known.weight = (known.weight + SAID_AGAIN * term.weight).min(MOST_SAID);
            }
        };
        for form in date::forms(&text) {
            add(Term { text: form.clone(), form, word: false, weight: NAME });
        }
        // One or two words are looked for as they are.
        let bare = text.split_whitespace().count() <= 2 && !text.contains('?');
        let mut words = 0;
        let mut asks_why = false;
        for chunk in text.split_whitespace() {
            let chunk =
                chunk.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '/' | '$' | '-'));
            let chunk = chunk.trim_start_matches(['-', '/']).trim_end_matches(['-', '/']);
            let name = is_name(chunk);
            let joined = chunk.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '/' | '’' | '\''));
            if name {
                words += 1;
                let weight = if joined { JOINED } else { NAME };
                add(Term { form: chunk.to_owned(), text: chunk.to_lowercase(), word: false, weight });
                for inner in inner_names(chunk) {
                    let text = inner.to_lowercase();
                    add(Term { form: inner.to_owned(), text, word: false, weight: INNER_NAME });
                }
            }
            for word in pieces(chunk) {
                let lower = word.to_lowercase();
                let troubled = !name && !bare && TROUBLED.contains(&stem(&lower).as_str());
                asks_why |= troubled;
                if troubled {
                    let (text, form) = (stem(&lower), lower.clone());
                    troubled_by.push(Term { text, form, word: true, weight: TROUBLED_WORD });
                }
                let counts = lower.chars().count() > 1 || lower.bytes().all(|byte| byte.is_ascii_digit());
                // The numbers in a name, such as a version, are nothing without it.
                let number = name && lower.len() < 4 && lower.bytes().all(|byte| byte.is_ascii_digit());
                if troubled || number || COMMON.contains(&lower.as_str()) || !counts {
                    continue;
                }
                words += usize::from(!SUBJECTS.contains(&lower.as_str()) && !WHOLE.contains(&lower.as_str()));
                // The parts of a name tell less than the name; words that a hyphen joins are words all the same.
                let weight = if name && !joined { PART } else { 1.0 };
                add(Term { text: stem(&lower), form: lower, word: true, weight });
            }
        }
        question.terms.truncate(MOST);
        question.troubled = troubled_by;
        let lower = text.to_lowercase();
        let has =
            |words: &[&str]| lower.split(|c: char| !c.is_alphanumeric()).any(|word| words.contains(&word));
        question.aim = match () {
            () if asks_why && words == 0 => Aim::Trouble,
            () if words == 0 && question.quoted.is_empty() => {
                if has(WHOLE) {
                    Aim::Gist
                } else {
                    Aim::Trouble
                }
            }
            () => Aim::Words,
        };
        if question.aim == Aim::Trouble {
            question.terms.clear();
        }
        question.when = has(&["when", "date", "time"]);
        question.trouble = asks_why || question.aim == Aim::Trouble;
        question
    }

    /// The question that names nothing but trouble.
    pub(crate) fn of_trouble() -> Question {
        Question::new("why did it fail?")
    }

    /// Whether it asks for what made something fail: what passed is no answer.
    pub(crate) fn of_failure(&self) -> bool {
        self.trouble && self.terms.iter().all(|term| term.text != "pass")
    }

    /// The question as it is put to a program or a list: nothing goes wrong where they speak of errors, and so its words
    /// of trouble are words like others.
    pub(crate) fn of_words(&self) -> Question {
        let mut question = Question { trouble: false, ..self.clone() };
        for term in &self.troubled {
            if question.terms.iter().all(|known| known.text != term.text) {
                question.terms.push(term.clone());
            }
        }
        question.terms.truncate(MOST);
        question
    }
}

/// Words that speak of trouble, by their stems.
const TROUBLED: &[&str] = &[
    "fail",
    "error",
    "wrong",
    "crash",
    "break",
    "broke",
    "broken",
    "problem",
    "exception",
    "warn",
    "issu",
    "happen",
    "failure",
    "failur",
    "unexpect",
];

/// What troubles happen to: naming it tells nothing of where.
pub(crate) const SUBJECTS: &[&str] = &[
    "build",
    "builds",
    "job",
    "jobs",
    "run",
    "command",
    "ci",
    "test",
    "tests",
    "log",
    "pipeline",
    "step",
    "report",
    "reports",
    "reported",
    "output",
    "task",
    "workflow",
    "cause",
    "caused",
    "reason",
    "root",
    "main",
    "go",
    "went",
    "compile",
    "compiler",
    "compilation",
];

/// What the whole of an output is called, by questions that are about all of it.
pub(crate) const WHOLE: &[&str] = &[
    "article",
    "page",
    "document",
    "text",
    "file",
    "about",
    "summary",
    "summarise",
    "summarize",
    "overview",
];

/// Words that say nothing of where to look.
const COMMON: &[&str] = &[
    "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by",
    "can", "could", "did", "do", "does", "don", "for", "from", "get", "give", "had", "has", "have", "he",
    "her", "his", "how", "i", "if", "in", "into", "is", "it", "its", "let", "like", "many", "may", "me",
    "more", "most", "much", "my", "no", "not", "of", "on", "or", "our", "out", "please", "s", "say", "says",
    "she", "should", "show", "so", "some", "such", "t", "tell", "than", "that", "the", "their", "them",
    "then", "there", "these", "they", "this", "those", "to", "under", "up", "us", "was", "we", "were",
    "what", "when", "where", "which", "while", "who", "whom", "whose", "why", "will", "with", "would", "you",
    "your",
];

/// Whether a chunk of a question is a name: something that people do not say but copy.
fn is_name(chunk: &str) -> bool {
    let inner = chunk.char_indices().skip(1).any(|(at, c)| {
        matches!(c, '_' | '/' | '.' | ':' | '\\' | '@' | '-' | '=' | '(' | '[')
            && at + c.len_utf8() < chunk.len()
    });
    let digits = chunk.bytes().any(|byte| byte.is_ascii_digit());
    let humps =
        chunk.as_bytes().windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    chunk.len() > 1 && (inner || humps || digits && chunk.bytes().any(|byte| byte.is_ascii_alphabetic()))
}

/// The names in a name: `tests/test_a.py::Case::test_it` is written `Case.test_it` elsewhere.
fn inner_names(name: &str) -> impl Iterator<Item = &str> {
    let inner = name.split(|c: char| !c.is_alphanumeric() && c != '_');
    inner.filter(move |inner| {
        inner.len() < name.len() && is_name(inner) && !inner.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// The words of a chunk: runs of letters or digits, and the humps of a camel.
pub(crate) fn pieces(chunk: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    for run in chunk.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty()) {
        let mut start = 0;
        let bytes = run.as_bytes();
        for at in 1..bytes.len() {
            if bytes[at - 1].is_ascii_lowercase() && bytes[at].is_ascii_uppercase() {
                pieces.push(&run[start..at]);
                start = at;
            }
        }
        pieces.push(&run[start..]);
    }
    pieces
}

/// What stands in quotes.
fn quoted(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (open, close) in [('"', '"'), ('“', '”'), ('`', '`')] {
        let mut rest = text;
        while let Some((_, after)) = rest.split_once(open) {
            let Some((inside, behind)) = after.split_once(close) else { break };
            if inside.chars().any(char::is_alphanumeric) {
                found.push(inside.to_lowercase());
            }
            rest = behind;
        }
    }
    found
}

/// Endings that make forms of one word, and what stands for them; the first that leaves enough of the word is taken.
const FORMS: &[&[(&str, &str)]] = &[
    &[
        ("sses", "ss"),
        ("ss", "ss"),
        ("ies", "y"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("xes", "x"),
        ("us", "us"),
        ("s", ""),
    ],
    &[
        ("ations", ""),
        ("ation", ""),
        ("ating", ""),
        ("ated", ""),
        ("ators", ""),
        ("ator", ""),
        ("ate", ""),
        ("ions", ""),
        ("ion", ""),
        ("ments", ""),
        ("ment", ""),
        ("ness", ""),
        ("ied", "y"),
        ("ings", ""),
        ("ing", ""),
        ("edly", ""),
        ("ed", ""),
        ("ers", ""),
        ("er", ""),
        ("ors", ""),
        ("or", ""),
        ("ally", ""),
        ("ly", ""),
        ("able", ""),
        ("ible", ""),
        ("ive", ""),
        ("al", ""),
        ("ity", ""),
        ("ance", ""),
        ("ence", ""),
    ],
    &[("e", "")],
];

/// The stem of a word in small letters: what its forms have in common.
pub(crate) fn stem(word: &str) -> String {
    if !word.is_ascii() || word.bytes().any(|byte| byte.is_ascii_digit()) {
        return word.to_owned();
    }
    let mut stem = word.to_owned();
    for (step, endings) in FORMS.iter().enumerate() {
        let least = if step == 0 { 2 } else { 4 };
        let Some((rest, end)) =
            endings.iter().find_map(|(ending, end)| Some((stem.strip_suffix(ending)?, end)))
        else {
            continue;
        };
        if rest.len() < least {
            continue;
        }
        let mut shorter = rest.to_owned();
        // `stopped` is a form of `stop`.
        if step == 1 && end.is_empty() {
            let bytes = shorter.as_bytes();
            let doubled = bytes.len() > 3 && bytes[bytes.len() - 1] == bytes[bytes.len() - 2];
            if doubled && !matches!(bytes[bytes.len() - 1], b's' | b'l' | b'e' | b'o') {
                shorter.pop();
            }
        }
        shorter.push_str(end);
        stem = shorter;
    }
    stem
}

/// How all forms of a word with this stem begin.
pub(crate) fn beginning(stem: &str) -> &str {
    match stem.strip_suffix('y') {
        Some(rest) if rest.len() >= 3 => rest,
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_names_inside() {
        for (name, inner) in [
            ("tests/test_a.py::TestCase::test_it", &["test_a", "TestCase", "test_it"][..]),
            ("django.db.models.QuerySet", &["QuerySet"]),
            ("test_it", &[]),
            ("3.0.0beta3", &[]),
            ("10.251.91.229", &[]),
        ] {
            assert_eq!(inner_names(name).collect::<Vec<_>>(), inner, "{name}");
        }
        let terms = Question::new("Why does t.py::FirstCase::read_it fail?").terms;
        let weights: Vec<(&str, f32)> = terms.iter().map(|term| (&*term.text, term.weight)).collect();
        let names = [("t.py::firstcase::read_it", NAME), ("firstcase", INNER_NAME), ("read_it", INNER_NAME)];
        assert_eq!(weights[..3], names);
        assert!(weights[3..].iter().all(|(_, weight)| *weight == PART), "{weights:?}");
    }

    #[test]
    fn what_a_question_says_again_tells_more() {
        let terms = Question::new("the voice of phineas on phineas and ferb, Ferb: Ferb! Ferb!").terms;
        let weights: Vec<(&str, f32)> = terms.iter().map(|term| (&*term.text, term.weight)).collect();
        assert_eq!(weights, [("voic", 1.0), ("phinea", 1.0 + SAID_AGAIN), ("ferb", MOST_SAID)]);
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for forms in [
            &["fail", "fails", "failed", "failing"][..],
            &["adapt", "adapted", "adaptation", "adaptations"],
            &["permission", "permissions"],
            &["stop", "stopped", "stopping", "stops"],
            &["query", "queries"],
            &["class", "classes"],
            &["party", "parties"],
            &["migrate", "migrated", "migration", "migrations", "migrating"],
        ] {
            let stems: HashSet<String> = forms.iter().map(|form| stem(form)).collect();
            assert_eq!(stems.len(), 1, "{stems:?}");
            for form in forms {
                assert!(form.starts_with(beginning(&stem(form))), "{form}");
            }
        }
        assert_ne!(stem("party"), stem("part"));
    }
}
