//! Scope of a question: the places with its words, or the output as a whole. "What is wrong here?" has no word that leads
//! to a place; then the overview of the output is the answer.

use crate::classify::source::Layout;
use crate::formats::finding;
use crate::rank::extremes;
use crate::rank::question::{Aim, Question, SUBJECTS, Term, WHOLE, pieces, stem};
use crate::rank::scan::scan;
use crate::terminal::readable;
use crate::weights::{bounds, scope as weights};
use crate::{Output, Result};
use std::{collections::HashSet, sync::LazyLock};

/// Scope of a question in an output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scope {
    /// Units with its words.
    Words,
    /// Units with its words, with this share of the budget, and the overview.
    WordsAndOverview(f64),
    /// Failures, with this share of the budget, and the overview.
    Failures(f64),
    /// The overview.
    Overview,
    /// No part: the output contains none of its words.
    Nowhere,
}

impl Scope {
    /// Returns the question to rank by: failures alone if no word of the question leads to a place.
    pub(crate) fn question(self, question: Question) -> Question {
        if let Scope::Failures(_) = self { Question::failure() } else { question }
    }
}

/// Finds the scope of a question in an output.
pub(crate) fn of(output: &Output, question: &Question) -> Result<Scope> {
    if !question.quoted.is_empty() || extremes::is_asked(question) {
        return Ok(Scope::Words);
    }
    let is_json = output.len() <= bounds::LARGE && crate::classify::json::locate::found(output)?.is_some();
    if question.terms.is_empty() && !question.mentions_failure {
        return Ok(Scope::Overview);
    }
    let Some(scanned) = scan(output, question)? else { return Ok(Scope::Words) };
    let failures = scanned.seen.iter().filter(|_| question.mentions_failure);
    let highest = failures.map(|seen| seen.failure_weight).fold(0.0, f32::max);
    if is_json && highest > 0.0 {
        // The name of a state or a field can be a failure word.
        return Ok(Scope::Words);
    }
    let has_failure = highest >= weights::MIN_FAILURE;
    if question.aim == Aim::Failure {
        return Ok(if has_failure { Scope::Failures(1.0) } else { Scope::Overview });
    }
    let command = output.record().call.command().unwrap_or_default().to_lowercase();
    let of_command: HashSet<String> = pieces(&command).into_iter().map(stem).collect();
    // All of an output is about what its command names.
    let is_of_command = |term: &Term| {
        if term.word { of_command.contains(&term.text) } else { command.contains(&term.text) }
    };
    let found = question.terms.iter().enumerate().filter(|(at, _)| scanned.having[*at] > 0);
    let found: Vec<&Term> = found.map(|(_, term)| term).collect();
    let leading: Vec<&Term> = found.iter().copied().filter(|term| leads_to_place(term)).collect();
    // In a program, a list or prose, an answer can be anywhere, and the best place is not the only one.
    let is_sparse = match Layout::of(output)? {
        _ if is_json => false,
        Layout::Lone => !is_findings(output)?,
        layout => layout != Layout::Blocks,
    };
    if is_sparse && !leading.is_empty() {
        return Ok(Scope::Words);
    }
    let of_output: Vec<&Term> = leading.into_iter().filter(|term| !is_of_command(term)).collect();
    Ok(if of_output.iter().any(|term| !term.word) {
        Scope::Words
    } else if !of_output.is_empty() {
        Scope::WordsAndOverview(if is_json { weights::WORDS_SHARE_IN_JSON } else { weights::WORDS_SHARE })
    } else if has_failure {
        Scope::Failures(weights::WORDS_SHARE)
    } else if !found.is_empty() {
        Scope::WordsAndOverview(weights::GENERAL_WORDS_SHARE)
    } else if question.mentions_failure || !question.terms.iter().any(leads_to_place) {
        Scope::Overview
    } else {
        Scope::Nowhere
    })
}

/// Whether a list consists of findings of a linter, each of which means something by itself.
fn is_findings(output: &Output) -> Result<bool> {
    let start = output.read(0..output.len().min(weights::FINDINGS_SAMPLE_BYTES))?;
    let lines = || start.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let findings = lines().filter(|line| finding::code_in_file(&readable(line)).is_some()).count();
    Ok(findings * 2 > lines().count())
}

/// Whether a term leads to a place in an output.
fn leads_to_place(term: &Term) -> bool {
    let form = term.form.as_str();
    let is_general = || SUBJECTS.contains(&form) || WHOLE.contains(&form) || GENERAL.contains(&term.text);
    // A part of a name has less weight: it leads nowhere that the name does not.
    term.weight >= weights::MIN_TERM_WEIGHT && !(term.word && is_general())
}

/// Words that fit any output: its parts, its properties, and what is wanted from it.
static GENERAL: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let words = [PARTS, QUALITIES, VERBS];
    words.iter().flat_map(|words| words.split_whitespace()).map(stem).collect()
});

/// Parts of outputs, and things that outputs report.
const PARTS: &str = "line message value name number finding record row column entry item element field key section \
    part list table tree result detail location place position package module request response connection thread process \
    host task migration commit change function class kind type sort state side hand way thing point rest word code data \
    content information info example case set group level version stage phase suite manifest archive \
    report call statement rule check";

/// Qualities of them.
const QUALITIES: &str = "first last next other others else unlike different differ difference same odd strange unusual weird \
    abnormal anomaly anomalous outlier suspicious suspect interesting important notable noteworthy noticeable relevant \
    significant unique rare simple simplest simpler overall general total right correct incorrect bad badly good real really exactly \
    actual actually anything something nothing everything each both only ever yet still now just here cannot large big small \
    healthy incident culprit offending blocker bottleneck attention concern concerning worth";

/// Verbs about them.
const VERBS: &str = "need needs hold holds contain include come comes came make makes made stop stopped stand stands look \
    looks matter fix fixed must follow follows end ended start begin begins give gave gives see seen find found know done \
    want turn turned listed lists because without between rather before after against instead mean means explain \
    describe take takes took happen happened going blame blamed prevent prevented keep keeps kept complain complains \
    deal summary takeaway broke work works working did didn doesn isn wasn";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::{output_of, output_of_call};
    use crate::{Call, Session};

    const RUN: &str = "compiling parser\ncompiling lexer\nlinking the server\nwarning: the socket of user ann is old\n\
        error[E0308]: mismatched types in parser\nuser bob has gone\nerror: could not compile\n";

    #[test]
    fn the_scope_of_a_question_follows_from_where_its_words_are() {
        let json = r#"{"rows":[{"id":1,"state":"ok"},{"id":2,"state":"failed"}]}"#;
        let list: String =
            (1..30).map(|n| format!("src/part{n}.rs:{n}:    let letter = value({n});\n")).collect();
        for (text, question, scope) in [
            // Nothing but words that any output could be asked with, and those are nowhere.
            (RUN, "What went wrong?", Scope::Failures(1.0)),
            (RUN, "What is wrong here?", Scope::Failures(weights::WORDS_SHARE)),
            ("all is well\n", "What is wrong here?", Scope::Overview),
            (RUN, "Which of these entries is unlike the others?", Scope::Overview),
            (RUN, "What stands out, and what must be fixed first?", Scope::Overview),
            (RUN, "Why did the build fail?", Scope::Failures(1.0)),
            (RUN, "Which package failed?", Scope::Failures(weights::WORDS_SHARE)),
            (json, "Which record is odd?", Scope::Overview),
            // Words that are nowhere, with trouble or without.
            (RUN, "Why did the bundle fail?", Scope::Failures(weights::WORDS_SHARE)),
            ("all is well\n", "Why did the bundle fail?", Scope::Overview),
            (RUN, "Where is Ruritania?", Scope::Nowhere),
            (json, "Where is Ruritania?", Scope::Nowhere),
            // Words that stand somewhere; those of any output lead less far.
            (RUN, "Why does the lexer fail?", Scope::WordsAndOverview(weights::WORDS_SHARE)),
            (RUN, "Whose socket is old?", Scope::WordsAndOverview(weights::WORDS_SHARE)),
            (RUN, "Which type is wrong?", Scope::Failures(weights::WORDS_SHARE)),
            (RUN, "Which types are there?", Scope::WordsAndOverview(weights::GENERAL_WORDS_SHARE)),
            (json, "Does each state have rows?", Scope::WordsAndOverview(weights::GENERAL_WORDS_SHARE)),
            (json, "Which ones are ok?", Scope::WordsAndOverview(weights::WORDS_SHARE_IN_JSON)),
            // Names, what is quoted, and the most of something.
            (RUN, "Why does E0308 come?", Scope::Words),
            (RUN, "What is \"old\"?", Scope::Words),
            (RUN, "Which is the largest?", Scope::Words),
            // What is a field or a value is asked for by its name.
            (json, "which rows have state failed?", Scope::Words),
            (&list, "where is the letter changed?", Scope::Words),
            (&list, "where is the value changed?", Scope::WordsAndOverview(weights::GENERAL_WORDS_SHARE)),
        ] {
            let question = Question::new(question);
            assert_eq!(of(&output_of(text.as_bytes()), &question).unwrap(), scope, "{}", question.text);
        }
    }

    #[test]
    fn words_of_the_command_do_not_lead_to_a_place_in_its_output() {
        let text = "checking main.c\nlint: 3 remarks in main.c\n\nall else is clean\n".repeat(30);
        let call = Call {
            args: Some(r#"{"command": "lint --strict main.c"}"#.to_owned()),
            ..Call::new(Session::safe("s"), "id1234", "run", jiff::Timestamp::UNIX_EPOCH)
        };
        for (question, called, by_itself) in [
            (
                "What does lint say?",
                Scope::WordsAndOverview(weights::GENERAL_WORDS_SHARE),
                Scope::WordsAndOverview(weights::WORDS_SHARE),
            ),
            ("What is wrong in main.c?", Scope::WordsAndOverview(weights::GENERAL_WORDS_SHARE), Scope::Words),
            (
                "Where does it speak of remarks?",
                Scope::WordsAndOverview(weights::WORDS_SHARE),
                Scope::WordsAndOverview(weights::WORDS_SHARE),
            ),
        ] {
            let question = Question::new(question);
            assert_eq!(
                of(&output_of_call(&call, text.as_bytes()), &question).unwrap(),
                called,
                "{}",
                question.text
            );
            assert_eq!(of(&output_of(text.as_bytes()), &question).unwrap(), by_itself, "{}", question.text);
        }
    }
}
