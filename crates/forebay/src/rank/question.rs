//! A question in plain words, split into search terms.

use crate::rank::date;
use crate::weights::question as weights;

/// Aim of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aim {
    /// Places with its words.
    Words,
    /// Failures.
    Failure,
    /// The subject of a text.
    Subject,
}

/// A search term.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    /// Text to search for, in lower case; for a word, its stem.
    pub(crate) text: String,
    /// Form in which the question has it.
    pub(crate) form: String,
    /// Whether it is a word, whose other forms match too. A name matches only as it is.
    pub(crate) word: bool,
    /// Weight before its rarity in the output is known.
    pub(crate) weight: f32,
}

impl Term {
    fn name(name: &str, weight: f32) -> Term {
        Term { text: name.to_lowercase(), form: name.to_owned(), word: false, weight }
    }

    fn word(lower: &str, weight: f32) -> Term {
        Term { text: stem(lower), form: lower.to_owned(), word: true, weight }
    }
}

/// A question, taken apart.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// The question as written, cut to [`weights::MAX_QUESTION_CHARS`].
    pub(crate) text: String,
    pub(crate) terms: Vec<Term>,
    /// Phrases in quotes, in lower case.
    pub(crate) quoted: Vec<String>,
    pub(crate) aim: Aim,
    /// Whether it asks for a time.
    pub(crate) asks_when: bool,
    /// Whether it mentions a failure: then lines that report one score higher.
    pub(crate) mentions_failure: bool,
    /// Words by which it mentions a failure.
    failure_terms: Vec<Term>,
    /// Whether failures count the same wherever they are, as in the log of a service. In a run they count more towards
    /// the end.
    pub(crate) ignores_position: bool,
}

impl Question {
    pub(crate) fn new(text: &str) -> Question {
        let text: String = text.chars().take(weights::MAX_QUESTION_CHARS).collect();
        let mut terms = Terms::of(&text);
        terms.all.truncate(weights::MAX_TERMS);
        let quoted = quoted(&text);
        let lower = text.to_lowercase();
        let has =
            |words: &[&str]| lower.split(|c: char| !c.is_alphanumeric()).any(|word| words.contains(&word));
        let has_no_words = terms.words == 0;
        let mentions_failure = !terms.of_failure.is_empty();
        let aim = if has_no_words && mentions_failure {
            Aim::Failure
        } else if has_no_words && quoted.is_empty() {
            if has(WHOLE) { Aim::Subject } else { Aim::Failure }
        } else {
            Aim::Words
        };
        if aim == Aim::Failure {
            terms.all.clear();
        }
        let asks_when = has(&["when", "date", "time"]);
        Question {
            text,
            terms: terms.all,
            quoted,
            aim,
            asks_when,
            mentions_failure: mentions_failure || aim == Aim::Failure,
            failure_terms: terms.of_failure,
            ignores_position: false,
        }
    }

    /// Returns the question for failures alone.
    pub(crate) fn failure() -> Question {
        Question {
            text: String::new(),
            terms: Vec::new(),
            quoted: Vec::new(),
            aim: Aim::Failure,
            asks_when: false,
            mentions_failure: true,
            failure_terms: Vec::new(),
            ignores_position: false,
        }
    }

    /// Whether it asks for the cause of a failure. Then lines that report success are no answer.
    pub(crate) fn asks_for_cause(&self) -> bool {
        self.mentions_failure && self.terms.iter().all(|term| term.text != "pass")
    }

    /// Returns the question with its failure words as ordinary words. A program or a list that mentions errors reports
    /// none.
    pub(crate) fn with_failure_as_words(&self) -> Question {
        let mut question = Question { mentions_failure: false, ..self.clone() };
        for term in &self.failure_terms {
            if question.terms.iter().all(|known| known.text != term.text) {
                question.terms.push(term.clone());
            }
        }
        question.terms.truncate(weights::MAX_TERMS);
        question
    }
}

/// Terms of a question while they are collected.
#[derive(Default)]
struct Terms {
    all: Vec<Term>,
    /// Words by which the question mentions a failure.
    of_failure: Vec<Term>,
    /// Names and words that lead somewhere.
    words: usize,
}

impl Terms {
    fn of(text: &str) -> Terms {
        let mut terms = Terms::default();
        for form in date::forms(text) {
            terms.add(Term { text: form.clone(), form, word: false, weight: weights::WHOLE_NAME });
        }
        // One or two words are looked for as they are.
        let is_bare = text.split_whitespace().count() <= 2 && !text.contains('?');
        for chunk in text.split_whitespace() {
            let chunk =
                chunk.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '/' | '$' | '-'));
            let chunk = chunk.trim_start_matches(['-', '/']).trim_end_matches(['-', '/']);
            terms.add_chunk(chunk, is_bare);
        }
        terms
    }

    fn add_chunk(&mut self, chunk: &str, is_bare: bool) {
        let is_name = is_name(chunk);
        let is_hyphenated = chunk.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '/' | '’' | '\''));
        if is_name {
            self.words += 1;
            self.add(Term::name(
                chunk,
                if is_hyphenated { weights::HYPHENATED } else { weights::WHOLE_NAME },
            ));
            for inner in inner_names(chunk) {
                self.add(Term::name(inner, weights::INNER_NAME));
            }
        }
        for word in pieces(chunk) {
            let lower = word.to_lowercase();
            if !is_name && !is_bare && FAILURE.contains(&stem(&lower).as_str()) {
                self.of_failure.push(Term::word(&lower, weights::FAILURE_TERM));
                continue;
            }
            let is_number = lower.bytes().all(|byte| byte.is_ascii_digit());
            let is_letter = lower.chars().count() <= 1 && !is_number;
            // The numbers in a name, such as a version, mean nothing without it.
            let is_part = is_name && lower.len() < 4 && is_number;
            if is_part || is_letter || COMMON.contains(&lower.as_str()) {
                continue;
            }
            self.words +=
                usize::from(!SUBJECTS.contains(&lower.as_str()) && !WHOLE.contains(&lower.as_str()));
            // Words joined by a hyphen are words all the same.
            let is_part = is_name && !is_hyphenated;
            self.add(Term::word(&lower, if is_part { weights::NAME_PART } else { weights::PLAIN_WORD }));
        }
    }

    fn add(&mut self, term: Term) {
        match self.all.iter_mut().find(|known| known.text == term.text) {
            Some(known) => {
                let weight = known.weight + weights::REPEATED_TERM * term.weight;
                known.weight = weight.min(weights::MAX_REPEATED_TERM);
            }
            None => self.all.push(term),
        }
    }
}

/// Words that mention a failure, by their stems.
const FAILURE: &[&str] = &[
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

/// Things that fail. Their names do not lead to a place.
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

/// Words for a whole output in questions about all of it.
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

/// Words that do not lead to a place.
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

/// Whether a chunk of a question is a name: something that people copy rather than say.
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

/// Returns the names in a name: `tests/test_a.py::Case::test_it` is written `Case.test_it` elsewhere.
fn inner_names(name: &str) -> impl Iterator<Item = &str> {
    let inner = name.split(|c: char| !c.is_alphanumeric() && c != '_');
    inner.filter(move |inner| {
        inner.len() < name.len() && is_name(inner) && !inner.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Returns the words of a chunk: runs of letters or digits, cut at the humps of camel case.
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

/// Returns the phrases in quotes, in lower case.
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

/// Endings of the forms of a word, with their replacements. In each group the first that leaves enough of the word is cut.
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

/// Returns the stem of a word in lower case: what its forms have in common.
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

/// Returns the beginning of all forms of a word with this stem.
pub(crate) fn beginning(stem: &str) -> &str {
    match stem.strip_suffix('y') {
        Some(rest) if rest.len() >= 3 => rest,
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

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
        let names = [
            ("t.py::firstcase::read_it", super::weights::WHOLE_NAME),
            ("firstcase", super::weights::INNER_NAME),
            ("read_it", super::weights::INNER_NAME),
        ];
        assert_eq!(weights[..3], names);
        assert!(weights[3..].iter().all(|(_, weight)| *weight == super::weights::NAME_PART), "{weights:?}");
    }

    #[test]
    fn a_repeated_term_weighs_more_up_to_a_bound() {
        let terms = Question::new("the voice of phineas on phineas and ferb, Ferb: Ferb! Ferb!").terms;
        let weights: Vec<(&str, f32)> = terms.iter().map(|term| (&*term.text, term.weight)).collect();
        assert_eq!(weights, [("voic", 1.0), ("phinea", 1.5), ("ferb", 2.0)]);
    }

    #[test]
    fn the_aim_of_a_question_follows_from_its_words() {
        for (text, aim, mentions_failure) in [
            ("why did it fail?", Aim::Failure, true),
            ("What went wrong in the build?", Aim::Failure, true),
            ("what is in there?", Aim::Failure, true),
            ("What is this page about?", Aim::Subject, false),
            ("Why does the lexer fail?", Aim::Words, true),
            ("fail", Aim::Words, false),
            ("Which port does it use?", Aim::Words, false),
        ] {
            let question = Question::new(text);
            assert_eq!((question.aim, question.mentions_failure), (aim, mentions_failure), "{text}");
            assert_eq!(question.terms.is_empty(), aim == Aim::Failure, "{text}");
        }
    }

    #[test]
    fn asking_why_it_failed_is_the_question_for_failures() {
        let (asked, built) = (Question::new("why did it fail?"), Question::failure());
        assert_eq!((asked.aim, &asked.terms, &asked.quoted), (built.aim, &built.terms, &built.quoted));
        assert_eq!(
            (asked.mentions_failure, asked.asks_when, asked.ignores_position),
            (built.mentions_failure, built.asks_when, built.ignores_position)
        );
    }

    #[test]
    fn failure_words_become_terms_where_nothing_is_reported() {
        let terms = |question: &Question| -> Vec<String> {
            question.terms.iter().map(|term| term.form.clone()).collect()
        };
        let question = Question::new("Why does the lexer error fail?");
        assert_eq!(terms(&question), ["lexer"]);
        assert_eq!(terms(&question.with_failure_as_words()), ["lexer", "error", "fail"]);
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
