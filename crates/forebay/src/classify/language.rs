//! Programming language of a text: lines look like it, and the text fits its grammar.

use crate::Result;
use crate::classify::hint::Hint;
use crate::classify::languages::{Language, NoTree};
use crate::classify::lines::Source;
use crate::classify::parse;
use crate::classify::sample::Sample;
use crate::weights::classify as weights;
use memchr::memmem;
use regex::bytes::RegexSet;
use std::cmp::Reverse;
use std::sync::LazyLock;

/// Bytes that are parsed to see whether a text fits a grammar.
const MAX_PARSED_GRAMMAR: u64 = 32 * 1024;

/// Patterns of lines that belong to a language, with the language of each.
static CUES: LazyLock<(RegexSet, Vec<Language>)> = LazyLock::new(|| {
    let cues: Vec<(Language, &str)> = Language::ALL
        .iter()
        .flat_map(|&language| language.cues().iter().map(move |&cue| (language, cue)))
        .collect();
    #[expect(clippy::expect_used, reason = "the patterns are part of the program, and tests compile them")]
    let set =
        RegexSet::new(cues.iter().map(|(_, cue)| format!("(?-u){cue}"))).expect("cues of the languages");
    (set, cues.into_iter().map(|(language, _)| language).collect())
});

/// Whether a line is blank or a comment. Comments look alike in many languages, and some files have little else.
fn is_comment(line: &[u8]) -> bool {
    line.is_empty() || [&b"//"[..], b"/*", b"*", b"# ", b"-- "].iter().any(|mark| line.starts_with(mark))
}

/// Returns the language that the first line of a script names.
fn named_by(line: &[u8]) -> Option<Language> {
    if line.starts_with(b"<?php") {
        return Some(Language::Php);
    }
    let interpreters = [
        ("python", Language::Python),
        ("node", Language::JavaScript),
        ("ruby", Language::Ruby),
        ("php", Language::Php),
        ("lua", Language::Lua),
        ("sh", Language::Bash),
    ];
    let command = line.strip_prefix(b"#!")?;
    interpreters
        .iter()
        .find(|(name, _)| memmem::find(command, name.as_bytes()).is_some())
        .map(|(_, language)| *language)
}

/// A language that lines look like.
struct Candidate {
    language: Language,
    /// Percentage of lines that look like it, more if the call or the first line names it.
    share: usize,
    is_hinted: bool,
}

/// Returns the language that lines look like and whose grammar the text fits.
pub(crate) fn language(source: &Source, sample: &Sample, hint: &Hint) -> Result<Option<Language>> {
    let candidates = candidates(sample, hint);
    if candidates.is_empty() {
        return Ok(None);
    }
    let text = crate::classify::text::text(source, MAX_PARSED_GRAMMAR)?.bytes;
    let mut best: Option<Fit> = None;
    for candidate in candidates {
        // After a good fit, only a language that about as many lines look like is tried.
        let is_beaten = |best: &Fit| best.of_text <= weights::GOOD_FIT && candidate.share * 2 < best.share;
        if best.as_ref().is_some_and(is_beaten) {
            break;
        }
        let worst = candidate.worst_fit();
        let Some(fit) = Fit::of(&candidate, worst, &text) else { continue };
        if fit.of_text <= worst && best.as_ref().is_none_or(|best| fit.is_better_than(best)) {
            best = Some(fit);
        }
    }
    Ok(best.map(|best| best.language))
}

/// Returns the languages that lines look like, the likeliest first.
fn candidates(sample: &Sample, hint: &Hint) -> Vec<Candidate> {
    let (set, of) = &*CUES;
    let mut scores = [0_usize; Language::ALL.len()];
    let place = |language: Language| Language::ALL.iter().position(|known| *known == language);
    let mut all = 0;
    let lines = sample.lines().map(<[u8]>::trim_ascii).filter(|line| !is_comment(line));
    for line in lines.take(weights::LANGUAGE_SAMPLE_LINES) {
        all += 1;
        let mut seen = [false; Language::ALL.len()];
        for index in &set.matches(line) {
            if let Some(place) = place(of[index]) {
                scores[place] += usize::from(!std::mem::replace(&mut seen[place], true));
            }
        }
    }
    let named = sample.head.iter().find(|line| !line.is_empty()).and_then(|line| named_by(line));
    let tagged =
        sample.count(|line| memmem::find(line, b"</").is_some() || memmem::find(line, b"/>").is_some());
    let has_tags = tagged * weights::TSX_ONE_TAG_IN >= all;
    let candidate = |(&language, score): (&Language, usize)| {
        // A single line can look like anything.
        let share = if score < 2 { 0 } else { score * 100 / all.max(1) };
        let share = match language {
            Language::Tsx if !has_tags => 0,
            Language::TypeScript if has_tags => 0,
            Language::Other | Language::Cpp => share * weights::AMBIGUOUS_LANGUAGE_TENTHS / 10,
            _ => share,
        };
        let is_hinted = hint.language() == Some(language);
        let hinted = if is_hinted { weights::EXTENSION_BONUS } else { 0 };
        let named = if named == Some(language) { weights::FIRST_LINE_BONUS } else { 0 };
        Candidate { language, share: share + hinted + named, is_hinted }
    };
    let mut candidates: Vec<Candidate> = Language::ALL
        .iter()
        .zip(scores)
        .map(candidate)
        .filter(|candidate| candidate.share >= weights::MIN_LANGUAGE_LINES)
        .collect();
    candidates.sort_by_key(|candidate| Reverse(candidate.share));
    candidates.truncate(weights::MAX_LANGUAGES_TRIED);
    candidates
}

impl Candidate {
    /// Returns the percentage of bytes that may not fit the grammar.
    fn worst_fit(&self) -> usize {
        let only_hinted = weights::EXTENSION_BONUS + weights::MIN_LANGUAGE_LINES;
        if self.is_hinted && self.share < only_hinted {
            weights::MISFIT_OF_EXTENSION_ONLY
        } else if self.is_hinted {
            weights::MISFIT_WITH_EXTENSION
        } else if self.share < weights::SOME_LANGUAGE_LINES {
            weights::MISFIT_OF_FEW_LINES
        } else {
            weights::MISFIT
        }
    }
}

/// How well a text fits the grammar of a language.
struct Fit {
    language: Language,
    share: usize,
    is_hinted: bool,
    /// Percentage of bytes that do not fit.
    of_text: usize,
    /// Percentage of bytes outside comments that do not fit.
    of_code: usize,
    /// Places that do not fit.
    faults: usize,
}

impl Fit {
    /// Parses a text. `None` if that says nothing about the language.
    fn of(candidate: &Candidate, worst: usize, text: &[u8]) -> Option<Fit> {
        let &Candidate { language, share, is_hinted } = candidate;
        match parse::fit(language, text) {
            Ok(parse::Fit { misfit, comments, faults }) => {
                // Comments fit many languages: the rest decides.
                let code = text.len().saturating_sub(comments).max(text.len() / 10).max(1);
                let of_text = misfit * 100 / text.len().max(1);
                Some(Fit { language, share, is_hinted, of_text, of_code: misfit * 100 / code, faults })
            }
            // Without a grammar, many lines have to look like the language.
            Err(NoTree::NoGrammar) if share >= weights::LINES_WITHOUT_GRAMMAR => {
                let misfit = worst.min(weights::MISFIT_WITHOUT_GRAMMAR);
                let faults = weights::MAX_FAULTS;
                Some(Fit { language, share, is_hinted, of_text: misfit, of_code: misfit, faults })
            }
            Err(_) => None,
        }
    }

    /// Whether this fit is better than that of a language that more lines look like: much less of the code does not fit, at
    /// no more places, or at far fewer.
    fn is_better_than(&self, best: &Fit) -> bool {
        let misses_less = self.of_code + weights::BETTER_FIT < best.of_code
            && self.faults <= best.faults.max(weights::MAX_FAULTS);
        let has_fewer_faults =
            self.faults * weights::FEWER_FAULTS < best.faults && best.faults > weights::MAX_FAULTS;
        misses_less || has_fewer_faults && !best.is_hinted && self.share * 2 >= best.share
    }
}
