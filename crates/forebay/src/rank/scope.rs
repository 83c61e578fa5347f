//! How far a question reaches: to where its words stand, or to an output as a whole. "What is wrong here?" has no word
//! that leads anywhere; then what stands out is the answer.

use crate::classify::source::Layout;
use crate::formats::finding;
use crate::rank::question::{Aim, Question, SUBJECTS, Term, WHOLE, pieces, stem};
use crate::rank::scan::scan;
use crate::rank::{READ_WHOLE, extremes};
use crate::terminal::readable;
use crate::{Output, Result};
use std::{collections::HashSet, sync::LazyLock};

/// How far a question reaches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reach {
    /// To where its words stand.
    Words,
    /// To there, with this share of the budget, and to what stands out.
    Both(f64),
    /// To what speaks of trouble, with this share of the budget, and to what stands out.
    Trouble(f64),
    /// To what stands out.
    Whole,
    /// Nowhere: nothing has its words.
    Nowhere,
}

impl Reach {
    /// What is meant by a question that reaches so far: where no word leads anywhere, whatever speaks of trouble.
    pub(crate) fn meant(self, question: Question) -> Question {
        if let Reach::Trouble(_) = self { Question::of_trouble() } else { question }
    }
}

/// The best half of what words find has nearly all that they find, where lines say something by themselves. Words that
/// any output could be asked with find less.
pub(crate) const TOLD: f64 = 0.5;
const TOLD_IN_JSON: f64 = 0.75;
const GENERAL: f64 = 0.25;

/// What speaks of trouble as surely as this can be what a question about trouble is after.
const SPEAKS: f32 = 1.0;

/// How far a question reaches in an output.
pub(crate) fn of(output: &Output, question: &Question) -> Result<Reach> {
    if !question.quoted.is_empty() || extremes::is_asked(question) {
        return Ok(Reach::Words);
    }
    let is_json = output.len() <= READ_WHOLE && crate::classify::json::locate::found(output)?.is_some();
    if question.terms.is_empty() && !question.trouble {
        return Ok(Reach::Whole);
    }
    let Some(scanned) = scan(output, question)? else { return Ok(Reach::Words) };
    if is_json && question.trouble && scanned.seen.iter().any(|seen| seen.trouble > 0.0) {
        // A state or a field is called by a word of trouble.
        return Ok(Reach::Words);
    }
    let speaks = question.trouble && scanned.seen.iter().any(|seen| seen.trouble >= SPEAKS);
    if question.aim == Aim::Trouble {
        return Ok(if speaks { Reach::Trouble(1.0) } else { Reach::Whole });
    }
    let found = |at: usize| scanned.having[at] > 0;
    let command = output.record().call.command().unwrap_or_default().to_lowercase();
    let called: HashSet<String> = pieces(&command).into_iter().map(stem).collect();
    // What a command is about, all of its output is about.
    let is_called = |term: &Term| match term.word {
        true => called.contains(&term.text),
        false => command.contains(&term.text),
    };
    let terms = question.terms.iter().enumerate().filter(|(at, _)| found(*at));
    let any = terms.clone().next().is_some();
    let telling: Vec<&Term> = terms.map(|(_, term)| term).filter(|term| tells(term)).collect();
    // In a program, a list or prose, what is asked about may be anywhere, and its best place is not the only one.
    let is_sparse = match Layout::of(output)? {
        _ if is_json => false,
        Layout::Lone => !is_findings(output)?,
        layout => layout != Layout::Blocks,
    };
    if is_sparse && !telling.is_empty() {
        return Ok(Reach::Words);
    }
    let mut words = telling.iter().filter(|term| !is_called(term)).map(|term| term.word);
    Ok(match words.next() {
        Some(first) if !first || words.any(|is_word| !is_word) => Reach::Words,
        Some(_) => Reach::Both(if is_json { TOLD_IN_JSON } else { TOLD }),
        None if speaks => Reach::Trouble(TOLD),
        None if any => Reach::Both(GENERAL),
        None if question.trouble || question.terms.iter().all(|term| !tells(term)) => Reach::Whole,
        None => Reach::Nowhere,
    })
}

/// So many bytes tell whether a list is one of findings.
const FINDINGS: u64 = 16 * 1024;

/// Whether a list is what a linter found, of which each line says something by itself.
fn is_findings(output: &Output) -> Result<bool> {
    let start = output.read(0..output.len().min(FINDINGS))?;
    let lines = || start.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let findings = lines().filter(|line| finding::code_in_file(&readable(line)).is_some()).count();
    Ok(findings * 2 > lines().count())
}

/// Whether a term tells something of where to look.
fn tells(term: &Term) -> bool {
    let is_general = || {
        let form = term.form.as_str();
        SUBJECTS.contains(&form) || WHOLE.contains(&form) || ANY.contains(&term.text)
    };
    match term.word {
        // A part of a name tells nothing that the name does not.
        true => term.weight >= 1.0 && !is_general(),
        false => term.weight >= 1.0,
    }
}

/// Words that speak of any output: of its parts, of what is unlike the rest, and of what is wanted from it.
static ANY: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let words = [PARTS, QUALITIES, VERBS];
    words.iter().flat_map(|words| words.split_whitespace()).map(stem).collect()
});

/// What outputs are made of, and what they tell of.
const PARTS: &str = "line message value name number finding record row column entry item element field key section \
    part list table tree result detail location place position package module request response connection thread process \
    host task migration commit change function class kind type sort state side hand way thing point rest word code data \
    content information info example case set group level version stage phase suite manifest archive \
    report call statement rule check";

/// What may be said of them.
const QUALITIES: &str = "first last next other others else unlike different differ difference same odd strange unusual weird \
    abnormal anomaly anomalous outlier suspicious suspect interesting important notable noteworthy noticeable relevant \
    significant unique rare simple simplest simpler overall general total right correct incorrect bad badly good real really exactly \
    actual actually anything something nothing everything each both only ever yet still now just here cannot large big small \
    healthy incident culprit offending blocker bottleneck attention concern concerning worth";

/// What is wanted from them.
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
    fn a_question_reaches_as_far_as_its_words_lead() {
        let json = r#"{"rows":[{"id":1,"state":"ok"},{"id":2,"state":"failed"}]}"#;
        let list: String =
            (1..30).map(|n| format!("src/part{n}.rs:{n}:    let letter = value({n});\n")).collect();
        for (text, question, reach) in [
            // Nothing but words that any output could be asked with, and those are nowhere.
            (RUN, "What went wrong?", Reach::Trouble(1.0)),
            (RUN, "What is wrong here?", Reach::Trouble(TOLD)),
            ("all is well\n", "What is wrong here?", Reach::Whole),
            (RUN, "Which of these entries is unlike the others?", Reach::Whole),
            (RUN, "What stands out, and what must be fixed first?", Reach::Whole),
            (RUN, "Why did the build fail?", Reach::Trouble(1.0)),
            (RUN, "Which package failed?", Reach::Trouble(TOLD)),
            (json, "Which record is odd?", Reach::Whole),
            // Words that are nowhere, with trouble or without.
            (RUN, "Why did the bundle fail?", Reach::Trouble(TOLD)),
            ("all is well\n", "Why did the bundle fail?", Reach::Whole),
            (RUN, "Where is Ruritania?", Reach::Nowhere),
            (json, "Where is Ruritania?", Reach::Nowhere),
            // Words that stand somewhere; those of any output lead less far.
            (RUN, "Why does the lexer fail?", Reach::Both(TOLD)),
            (RUN, "Whose socket is old?", Reach::Both(TOLD)),
            (RUN, "Which type is wrong?", Reach::Trouble(TOLD)),
            (RUN, "Which types are there?", Reach::Both(GENERAL)),
            (json, "Does each state have rows?", Reach::Both(GENERAL)),
            (json, "Which ones are ok?", Reach::Both(TOLD_IN_JSON)),
            // Names, what is quoted, and the most of something.
            (RUN, "Why does E0308 come?", Reach::Words),
            (RUN, "What is \"old\"?", Reach::Words),
            (RUN, "Which is the largest?", Reach::Words),
            // What is a field or a value is asked for by its name.
            (json, "which rows have state failed?", Reach::Words),
            (&list, "where is the letter changed?", Reach::Words),
            (&list, "where is the value changed?", Reach::Both(GENERAL)),
        ] {
            let question = Question::new(question);
            assert_eq!(of(&output_of(text.as_bytes()), &question).unwrap(), reach, "{}", question.text);
        }
    }

    #[test]
    fn what_a_command_is_about_does_not_lead_anywhere_in_its_output() {
        let text = "checking main.c\nlint: 3 remarks in main.c\n\nall else is clean\n".repeat(30);
        let call = Call {
            args: Some(r#"{"command": "lint --strict main.c"}"#.to_owned()),
            ..Call::new(Session::safe("s"), "id1234", "run", jiff::Timestamp::UNIX_EPOCH)
        };
        for (question, called, by_itself) in [
            ("What does lint say?", Reach::Both(GENERAL), Reach::Both(TOLD)),
            ("What is wrong in main.c?", Reach::Both(GENERAL), Reach::Words),
            ("Where does it speak of remarks?", Reach::Both(TOLD), Reach::Both(TOLD)),
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
