//! What an output is, told from samples of its lines.

pub(crate) mod diff;
pub(crate) mod form;
pub(crate) mod headings;
pub(crate) mod json;
pub(crate) mod languages;
pub(crate) mod lines;
pub(crate) mod listing;
pub(crate) mod log;
pub(crate) mod parse;
pub(crate) mod search;
pub(crate) mod source;
pub(crate) mod sql;
pub(crate) mod table;
pub(crate) mod text;

use crate::classify::form::Form;
use crate::classify::languages::Language;
use crate::classify::lines::{LOOKED_AT, Numbering, Source, without_colours};
use crate::formats::test_runs;
use crate::{Call, Output, Result};
use memchr::{memchr, memmem};
use regex::bytes::{Regex, RegexSet};
use std::sync::LazyLock;

/// A window of a sample.
const WINDOW: u64 = 32 * 1024;

/// The beginning, the end, and so many windows between them.
const BETWEEN: u64 = 6;

/// So much of a line is looked at.
const LINE: usize = 256;

/// So much is parsed to see whether a text fits a grammar.
const TRIED: u64 = 32 * 1024;

/// The lines of a sample.
struct Sample {
    /// Lines of the beginning.
    head: Vec<Vec<u8>>,
    /// The same, with as much of each as the outline of a table looks at.
    long: Vec<Vec<u8>>,
    /// Lines of the other windows.
    rest: Vec<Vec<u8>>,
}

impl Sample {
    fn of(output: &Output) -> Result<Sample> {
        let long = window(output, 0, WINDOW, LOOKED_AT)?;
        let head = long.iter().map(|line| line[..line.len().min(LINE)].to_vec()).collect();
        let mut rest = Vec::new();
        let length = output.len();
        if length > WINDOW {
            let between = (length - WINDOW) / (BETWEEN + 1);
            for place in 1..=BETWEEN {
                rest.extend(window(output, WINDOW.max(place * between), WINDOW / 4, LINE)?);
            }
            rest.extend(window(output, length.saturating_sub(WINDOW).max(WINDOW), WINDOW, LINE)?);
        }
        Ok(Sample { head, long, rest })
    }

    fn lines(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.head.iter().chain(&self.rest).map(|line| &line[..])
    }

    /// The lines as rows of a table, whose columns are told by how many fields they have: the beginning, with as much of each as
    /// there is, and of the other windows what was not cut.
    fn rows(&self) -> Vec<&[u8]> {
        let whole = self.rest.iter().filter(|line| line.len() < LINE);
        self.long.iter().chain(whole).map(|line| &line[..]).collect()
    }

    /// How many of a hundred lines hold to `what`; empty lines do not count.
    fn share(&self, mut what: impl FnMut(&[u8]) -> bool) -> usize {
        let (mut held, mut all) = (0, 0);
        for line in self.lines().filter(|line| !line.trim_ascii().is_empty()) {
            held += usize::from(what(line));
            all += 1;
        }
        held * 100 / all.max(1)
    }

    fn count(&self, mut what: impl FnMut(&[u8]) -> bool) -> usize {
        self.lines().filter(|line| what(line)).count()
    }

    fn without_numbers(&self, numbering: Numbering) -> Sample {
        let plain = |lines: &[Vec<u8>]| {
            lines.iter().map(|line| numbering.strip(line).unwrap_or_default().to_vec()).collect()
        };
        Sample { head: plain(&self.head), long: plain(&self.long), rest: plain(&self.rest) }
    }
}

/// The lines of a window, without those that are cut by its borders, each cut to what is looked at.
fn window(output: &Output, start: u64, length: u64, line: usize) -> Result<Vec<Vec<u8>>> {
    let bytes = output.read(start..(start + length).min(output.len()))?;
    let whole = start + length >= output.len();
    let mut bytes = &bytes[..];
    if start > 0 {
        bytes = &bytes[memchr(b'\n', bytes).map_or(bytes.len(), |newline| newline + 1)..];
    } else {
        bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    }
    let mut lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) || (!whole && lines.len() > 1) {
        lines.pop();
    }
    let mut buffer = Vec::new();
    let plain = |text: &[u8]| without_colours(&text[..text.len().min(line)], &mut buffer).to_vec();
    Ok(lines.into_iter().map(plain).collect())
}

/// The form of a text, and how its lines are numbered if numbers were printed before them.
pub(crate) fn classify(output: &Output) -> Result<(Form, Option<Numbering>)> {
    let sample = Sample::of(output)?;
    let numbering = Numbering::of(sample.head.iter().map(|line| &line[..]));
    let plain = match numbering {
        Some(numbering) => sample.without_numbers(numbering),
        None => sample,
    };
    let hint = Hint::of(&output.record().call);
    let form = form(&Source::new(output, numbering), &plain, &hint)?;
    Ok((form, numbering))
}

/// How many of a hundred lines begin with a time or say how grave they are.
pub(crate) fn logged(output: &Output) -> Result<usize> {
    Ok(Sample::of(output)?.share(|line| log::is_stamped(line) || log::is_levelled(line)))
}

/// Forms that hardly anything else is taken for come first, text comes last.
fn form(source: &Source, sample: &Sample, hint: &Hint) -> Result<Form> {
    if sample.lines().all(|line| line.trim_ascii().is_empty()) {
        return Ok(Form::Text);
    }
    if is_diff(sample) {
        return Ok(Form::Diff);
    }
    if is_page(sample) {
        return Ok(Form::Html);
    }
    if is_xml(sample) && tags(sample) < TAGGED {
        return Ok(Form::Text);
    }
    let marked = sample.lines().any(log::is_mark);
    let stamped = sample.share(log::is_stamped);
    if !marked && stamped >= 40 && table::is_stamped(&sample.rows()) {
        return Ok(Form::Table);
    }
    if marked || stamped >= 40 {
        return Ok(Form::Log);
    }
    if sample.share(crate::classify::search::is_match) >= 75
        || crate::classify::search::is_grouped(sample.lines())
    {
        return Ok(Form::Matches);
    }
    let levelled = sample.share(log::is_levelled);
    if levelled < 30 && sample.lines().any(test_runs::is_telling) {
        let quotes = || sample.share(|line| CODE.is_match(line)) >= 30 || is_fenced(sample);
        if !quotes() || hint.language().is_none() && ends_as_test_run(sample) {
            return Ok(Form::TestRun);
        }
    }
    if sample.share(test_runs::is_result) >= 60 {
        return Ok(Form::TestRun);
    }
    if listing::is_listing(sample.lines()) {
        return Ok(Form::Listing);
    }
    if levelled + sample.share(log::is_bracketed) >= 40 {
        return Ok(Form::Log);
    }
    // Whatever a program of tests prints, what ends as a run of them is no program itself.
    if hint.language().is_none() && ends_as_test_run(sample) && !is_fenced(sample) {
        return Ok(Form::TestRun);
    }
    if sample.share(|line| SETTING.is_match(line)) >= 70 && hint.language().is_none() {
        return Ok(Form::Text);
    }
    let markup = markup_form(sample, hint);
    if (markup.is_none_or(|(_, sure)| !sure) || hint.language().is_some())
        && let Some(language) = language(source, sample, hint)?
    {
        return Ok(Form::Code(language));
    }
    if let Some((form, _)) = markup {
        return Ok(form);
    }
    if table::is_table(&sample.rows()) {
        return Ok(Form::Table);
    }
    if tags(sample) >= TAGGED {
        return Ok(Form::Html);
    }
    if has_test_run(source)? {
        return Ok(Form::TestRun);
    }
    if levelled >= 10 || sample.share(log::is_grave) >= 3 || levelled + sample.share(log::is_step) >= 20 {
        return Ok(Form::Log);
    }
    Ok(Form::Text)
}

/// Whether a text has headings and quotes between fences, as documents do that show what a run prints.
fn is_fenced(sample: &Sample) -> bool {
    sample.count(|line| line.starts_with(b"```")) >= 2
        && sample.count(|line| crate::classify::headings::level(line).is_some_and(|level| level >= 2)) >= 2
}

/// In so many lines before its end a test run says how it ended.
const LAST: usize = 12;

/// Whether a text ends as test runs do, whatever it quotes before that.
fn ends_as_test_run(sample: &Sample) -> bool {
    let lines: Vec<&[u8]> = sample.lines().filter(|line| !line.trim_ascii().is_empty()).collect();
    lines.iter().rev().take(LAST).any(|line| test_runs::is_telling(line))
}

/// So much is looked through for the end of a test run that no sample has.
const LOOKED_THROUGH: u64 = 8 * 1024 * 1024;

/// Whether there is a test run somewhere in what nothing else is known of.
fn has_test_run(source: &Source) -> Result<bool> {
    let mut found = false;
    let mut buffer = Vec::new();
    let from = source.output.line_start_near(source.output.len().saturating_sub(LOOKED_THROUGH), 0)?;
    source.for_each_from(from, |line| {
        found = found || test_runs::is_telling(without_colours(line.text, &mut buffer));
    })?;
    Ok(found)
}

/// So many of a hundred lines are of a diff that is not unified.
const PLAIN: usize = 98;

/// A diff has a hunk, begins as one, and has nothing but lines that diffs have.
fn is_diff(sample: &Sample) -> bool {
    // What is not unified begins with the files, or says which lines of one it is about.
    let first = sample.head.first().map_or(&b""[..], |line| line);
    let begins = diff::is_plain(first) && !matches!(first.first(), Some(b'<' | b'>' | b'-'));
    if begins && sample.share(diff::is_plain) >= PLAIN {
        return true;
    }
    let hunks = sample.count(|line| diff::hunk(&String::from_utf8_lossy(line)).is_some());
    let begins = sample.head.iter().take(60).any(|line| {
        line.starts_with(b"diff --git ") || line.starts_with(b"--- ") || line.starts_with(b"Index: ")
    });
    let belongs = |line: &[u8]| {
        matches!(line.first(), Some(b' ' | b'+' | b'-' | b'@' | b'\\'))
            || [
                &b"diff "[..],
                b"index ",
                b"new file",
                b"deleted file",
                b"rename ",
                b"similarity ",
                b"old mode",
                b"new mode",
                b"commit ",
                b"Author: ",
                b"Date: ",
                b"Binary files ",
                b"Index: ",
                b"====",
            ]
            .iter()
            .any(|beginning| line.starts_with(beginning))
    };
    hunks > 0 && begins && sample.share(belongs) >= 90
}

/// A page says so at its beginning.
fn is_page(sample: &Sample) -> bool {
    let first = sample.head.iter().map(|line| line.trim_ascii()).filter(|line| !line.is_empty());
    for line in first.take(20) {
        let line = line.to_ascii_lowercase();
        if line.starts_with(b"<!doctype html") || line.starts_with(b"<html") {
            return true;
        }
        if !line.starts_with(b"<!--") && !line.starts_with(b"<?xml") && !line.ends_with(b"-->") {
            return false;
        }
    }
    false
}

/// XML says so in its first line, or has hardly a line that does not begin with a tag.
fn is_xml(sample: &Sample) -> bool {
    let first = sample.head.iter().map(|line| line.trim_ascii()).find(|line| !line.is_empty());
    let is_tag = |line: &[u8]| {
        let line = line.trim_ascii_start();
        line.starts_with(b"<")
            && line.get(1).is_some_and(|byte| byte.is_ascii_alphabetic() || b"/!".contains(byte))
    };
    first.is_some_and(|first| first.starts_with(b"<?xml ") || is_tag(first) && sample.share(is_tag) >= 60)
}

/// So many of a hundred lines of a page have tags of pages in them.
const TAGGED: usize = 30;

static TAGS: LazyLock<Regex> = LazyLock::new(|| {
    crate::text::pattern::compiled(
        r"(?i-u)</?(?:div|p|a|span|table|tr|td|th|h[1-6]|li|ul|ol|body|html|head|section|article|main|b|i|strong|em)(?: [^>]*)?/?>",
    )
});

/// How many of a hundred lines have tags of pages in them.
fn tags(sample: &Sample) -> usize {
    sample.share(|line| TAGS.find_iter(line).take(2).count() >= 1)
}

static MARKDOWN: LazyLock<Regex> = LazyLock::new(|| {
    crate::text::pattern::compiled(
        r"^(?-u:\s*[*+-] \S|\d+\. \S|> |\|.*\||!?\[[^\]]*\]\(|\*\*\S)|(?-u:\]\([^)\s]+\))|`[^`]+`|\*\*[^*]+\*\*",
    )
});

static RST: LazyLock<Regex> = LazyLock::new(|| {
    crate::text::pattern::compiled(
        r"^\s*\.\. (?:[\w-]+::|_[^:]+:)|:[a-z:]+:`[^`]+`|``[^`]+``|^\s*:\w[\w ]*: ?",
    )
});

/// Markdown or reStructuredText, and whether no code looks like it.
fn markup_form(sample: &Sample, hint: &Hint) -> Option<(Form, bool)> {
    let headings = sample.count(|line| crate::classify::headings::level(line).is_some());
    let deep = sample.count(|line| crate::classify::headings::level(line).is_some_and(|level| level >= 2));
    let fences = sample.count(|line| line.starts_with(b"```"));
    // The tables of a database have a rule above and below.
    let drawn = sample.lines().any(|line| line.starts_with(b"+-"));
    let inline = sample.share(|line| MARKDOWN.is_match(line) && !(drawn && line.starts_with(b"|")));
    let underlined = sample.head.windows(2).filter(|pair| {
        let long = pair[0].trim_ascii_end().len();
        !pair[0].starts_with(b" ")
            && (3..120).contains(&long)
            && crate::classify::headings::underline(&pair[0]).is_none()
            && crate::classify::headings::underline(pair[1].trim_ascii_end())
                .is_some_and(|(_, length)| length.abs_diff(long) <= 2)
    });
    let underlined = underlined.count();
    let directives = sample.count(|line| RST.is_match(line));
    let rst_only = sample.count(|line| line.starts_with(b".. ") || memmem::find(line, b"::`").is_some());
    if underlined > 0 && rst_only + usize::from(hint.is("rst")) > 0 && directives > headings {
        return Some((Form::Rst, sample.head.first().is_some_and(|line| !line.starts_with(b"#"))));
    }
    let markdown = hint.is("md") || hint.is("markdown") || hint.is("mdx");
    // A comment of many languages looks like a heading of the first level.
    if deep > 0 && (fences >= 2 || inline >= 10 || markdown) {
        return Some((Form::Markdown, fences >= 2 || inline >= 25 || markdown));
    }
    if (fences >= 2 || markdown) && headings + underlined > 0 {
        return Some((Form::Markdown, true));
    }
    if headings > 0 && deep == 0 && inline >= 20 {
        return Some((Form::Markdown, false));
    }
    (underlined > 0 && inline >= 10).then_some((Form::Markdown, false))
}

/// What the arguments of a call say of what it gave.
struct Hint {
    extension: Option<String>,
}

impl Hint {
    fn of(call: &Call) -> Hint {
        let extension = call.file().and_then(|path| {
            let name = path.rsplit(['/', '\\']).next()?;
            Some(name.rsplit_once('.')?.1.to_ascii_lowercase())
        });
        Hint { extension }
    }

    fn is(&self, extension: &str) -> bool {
        self.extension.as_deref() == Some(extension)
    }

    fn language(&self) -> Option<Language> {
        Language::of_extension(self.extension.as_deref()?)
    }
}

/// Lines that belong to code of any kind.
static CODE: LazyLock<Regex> = LazyLock::new(|| {
    crate::text::pattern::compiled(
        r"(?-u:[;{}]\s*$|^\s*(?:def|class|import|from|return|if|for|while|else|try|except|fn|func|function|let|const|var|public|private|static|elif|with|end|use|struct|#include)\b)",
    )
});

/// Lines of settings, whose comments look like headings and whose values look like code.
static SETTING: LazyLock<Regex> = LazyLock::new(|| {
    crate::text::pattern::compiled(
        r#"^(?-u:\s*(?:- )?["']?[\w./-]+["']?(?::(?: .*|)| = .*)|[A-Z_][A-Z0-9_]*=.*|\s*- .*|\[\[?[\w."-]+\]\]?|#.*)$"#,
    )
});

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

/// So many of a hundred lines look like a language, or it is not looked at any closer.
const FEW: usize = 8;

/// So many of a hundred lines look like a language, or it has to fit better than usual.
const SOME: usize = 12;

/// Comments look like each other in many languages, and some files have little else.
fn is_comment(line: &[u8]) -> bool {
    line.is_empty() || [&b"//"[..], b"/*", b"*", b"# ", b"-- "].iter().any(|mark| line.starts_with(mark))
}

/// The language that the first line names.
fn first_line(line: &[u8]) -> Option<Language> {
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

/// Lines that are looked at for cues.
const LINES: usize = 600;

/// The language that lines look like and whose grammar they fit.
fn language(source: &Source, sample: &Sample, hint: &Hint) -> Result<Option<Language>> {
    let (set, of) = &*CUES;
    let mut scores = [0_usize; Language::ALL.len()];
    let place = |language: Language| Language::ALL.iter().position(|known| *known == language);
    let mut all = 0;
    for line in sample.lines().map(<[u8]>::trim_ascii).filter(|line| !is_comment(line)).take(LINES) {
        all += 1;
        let mut seen = [false; Language::ALL.len()];
        for index in &set.matches(line) {
            if let Some(place) = place(of[index]) {
                scores[place] += usize::from(!std::mem::replace(&mut seen[place], true));
            }
        }
    }
    let named = sample.head.iter().find(|line| !line.is_empty()).and_then(|line| first_line(line));
    let has_tags =
        sample.count(|line| memmem::find(line, b"</").is_some() || memmem::find(line, b"/>").is_some());
    let mut candidates: Vec<(usize, Language)> = Language::ALL
        .iter()
        .zip(scores)
        .map(|(&language, score)| {
            // One line may look like anything.
            let share = if score < 2 { 0 } else { score * 100 / all.max(1) };
            let share = match language {
                Language::Tsx if has_tags * 50 < all => 0,
                Language::TypeScript if has_tags * 50 >= all => 0,
                // A language that others are much like has to be much better.
                Language::Other | Language::Cpp => share * 9 / 10,
                _ => share,
            };
            let hinted = if hint.language() == Some(language) { 30 } else { 0 };
            (share + hinted + if named == Some(language) { 50 } else { 0 }, language)
        })
        .filter(|(share, _)| *share >= FEW)
        .collect();
    candidates.sort_by_key(|(share, _)| std::cmp::Reverse(*share));
    candidates.truncate(CANDIDATES);
    if candidates.is_empty() {
        return Ok(None);
    }
    let text = crate::classify::text::text(source, TRIED)?.bytes;
    let mut best: Option<Fit> = None;
    for (share, language) in candidates {
        // What fits well is left only for what as many lines look like.
        if best.as_ref().is_some_and(|best| best.of_text <= 3 && share * 2 < best.share) {
            break;
        }
        let hinted = hint.language() == Some(language);
        // Where hardly a line looks like the language, all of it has to fit.
        let worst = match share {
            _ if hinted && share < 30 + FEW => 3,
            _ if hinted => 30,
            _ if share < SOME => 5,
            _ => 15,
        };
        let (of_text, of_code, faults) = match parse::parse(language, &text) {
            Ok(tree) => {
                let misfit = parse::misfit(&tree);
                let (comments, faults) = parse::comments_and_faults(&tree);
                // Comments are much the same in many languages, so how well a text fits is told by the rest.
                let code = text.len().saturating_sub(comments).max(text.len() / 10).max(1);
                (misfit * 100 / text.len().max(1), misfit * 100 / code, faults)
            }
            // Without a grammar there have to be many such lines.
            Err(parse::NoTree::NoGrammar) if share >= 40 => (worst.min(14), worst.min(14), FAULTS),
            Err(_) => continue,
        };
        let fit = Fit { language, share, hinted, of_text, of_code, faults };
        if fit.of_text <= worst && best.as_ref().is_none_or(|best| fit.is_better_than(best)) {
            best = Some(fit);
        }
    }
    Ok(best.map(|best| best.language))
}

/// So many languages are tried.
const CANDIDATES: usize = 5;

/// In so few places a text may not fit its own language.
const FAULTS: usize = 10;

/// How well a text fits the grammar of a language.
struct Fit {
    language: Language,
    /// How many of a hundred lines look like it, and more if something else says so.
    share: usize,
    /// Whether the call names it.
    hinted: bool,
    /// How many of a hundred bytes do not fit.
    of_text: usize,
    /// How many of a hundred bytes that are no comments do not fit.
    of_code: usize,
    /// At how many places it does not fit.
    faults: usize,
}

impl Fit {
    /// Whether it is better than one that more lines look like: much less of it does not fit, and at no more places, or at far fewer.
    fn is_better_than(&self, best: &Fit) -> bool {
        let less = self.of_code + 3 < best.of_code && self.faults <= best.faults.max(FAULTS);
        let fewer = self.faults * 4 < best.faults && best.faults > FAULTS;
        less || fewer && !best.hinted && self.share * 2 >= best.share
    }
}

#[cfg(test)]
mod tests {
    use crate::classify::form::form;
    use crate::store::memory::output_of;

    /// How the outputs of many tools look, and what each is.
    const OUTPUTS: &[(&str, &str, &str)] = &[
        (
            "mariadb -t",
            "text",
            "MariaDB [bank]> SHOW GLOBAL STATUS LIKE 'Innodb%';\n+------------------+-------+\n| Variable_name    | Value |\n+------------------+-------+\n| Innodb_deadlocks | 1     |\n| Innodb_log_waits | 0     |\n+------------------+-------+\nMariaDB [bank]> SHOW ENGINE INNODB STATUS\\G\n------------------------\nLATEST DETECTED DEADLOCK\n------------------------\nTRANSACTION 40, ACTIVE 2 sec starting index read\n",
        ),
        (
            "pytest -v",
            "test run",
            "============================= test session starts ==============================\nplatform linux -- Python 3.12.3, pytest-8.3.3, pluggy-1.5.0 -- /usr/bin/python3\ncollected 4 items\n\ntests/test_a.py::test_one PASSED                                         [ 25%]\ntests/test_a.py::test_two[3-4] PASSED                                    [ 50%]\ntests/test_a.py::TestB::test_three SKIPPED (no network)                  [ 75%]\ntests/test_b.py::test_four PASSED                                        [100%]\n\n========================= 3 passed, 1 skipped in 0.12s =========================\n",
        ),
        (
            "pytest -v, the middle of it",
            "test run",
            "tests/test_a.py::test_one PASSED                                         [ 25%]\ntests/test_a.py::test_two[3-4] PASSED                                    [ 50%]\ntests/test_a.py::TestB::test_three FAILED                                [ 75%]\ntests/test_b.py::test_four PASSED                                        [100%]\n",
        ),
        (
            "cargo test",
            "test run",
            "   Compiling demo v0.1.0 (/srv/demo)\n    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.52s\n     Running unittests src/lib.rs (target/debug/deps/demo-1)\n\nrunning 2 tests\ntest tests::one ... ok\ntest tests::two ... ok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n",
        ),
        (
            "go test -v",
            "test run",
            "=== RUN   TestOne\n--- PASS: TestOne (0.00s)\n=== RUN   TestTwo\n    a_test.go:12: got 1, want 2\n--- FAIL: TestTwo (0.00s)\nFAIL\nFAIL\texample.org/demo\t0.003s\nFAIL\n",
        ),
        (
            "jest",
            "test run",
            "PASS src/a.test.js\n  adds\n    ✓ twice (2 ms)\nFAIL src/b.test.js\n  ● subtracts › once\n\n    expect(received).toBe(expected)\n\nTest Suites: 1 failed, 1 passed, 2 total\nTests:       1 failed, 1 passed, 2 total\nSnapshots:   0 total\nTime:        0.8 s\n",
        ),
        (
            "mocha",
            "test run",
            "\n\n  Cart\n    ✔ adds\n    ✔ removes\n    1) totals\n\n\n  2 passing (8ms)\n  1 failing\n\n  1) Cart\n       totals:\n     AssertionError [ERR_ASSERTION]: 1 == 2\n",
        ),
        (
            "rspec",
            "test run",
            "..F\n\nFailures:\n\n  1) Cart totals\n     Failure/Error: expect(1).to eq(2)\n\nFinished in 0.01 seconds (files took 0.1 seconds to load)\n3 examples, 1 failure\n\nFailed examples:\n\nrspec ./spec/cart_spec.rb:9 # Cart totals\n",
        ),
        (
            "ctest",
            "test run",
            "Test project /srv/build\n    Start 1: parse\n1/2 Test #1: parse ............................   Passed    0.01 sec\n    Start 2: print\n2/2 Test #2: print ............................***Failed    0.02 sec\n\n50% tests passed, 1 tests failed out of 2\n\nTotal Test time (real) =   0.03 sec\n",
        ),
        (
            "mvn test",
            "log",
            "[INFO] Scanning for projects...\n[INFO] Building demo 1.0\n[INFO] --- surefire:3.2.5:test (default-test) @ demo ---\n[INFO] Running org.example.CartTest\n[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0\n[ERROR] BUILD FAILURE\n",
        ),
        (
            "a log of a proxy, with addresses that are no paths",
            "log",
            "127.0.0.1:37678 [16/Nov/2026:20:41:01.331] web app/a1 0/0/0/4/4 200 116 \"GET /app/8 HTTP/1.1\"\n127.0.0.1:37690 [16/Nov/2026:20:41:01.349] web app/a2 0/0/0/1/1 200 116 \"GET /app/9 HTTP/1.1\"\n[ALERT]    (32687) : backend 'pay' has no server available!\n127.0.0.1:37700 [16/Nov/2026:20:41:01.357] web pay/<NOSRV> 0/-1/-1/-1/0 503 217 \"GET /pay/80 HTTP/1.1\"\n",
        ),
        (
            "a log with the number of a process before the time",
            "log",
            "18133:C 16 Nov 2026 20:37:02.056 # Redis is starting\n\n_.-``__ ''-._\n\nport.7391\n18133:M 16 Nov 2026 20:37:02.057 * Running mode=standalone\n18133:M 16 Nov 2026 20:37:02.059 * Ready to accept connections\n18133:M 16 Nov 2026 20:37:06.184 # Background saving error\n",
        ),
        (
            "httpd",
            "log",
            "[Mon Nov 16 20:41:01.331 2026] [core:error] [pid 7] AH00037: Symbolic link not allowed\n[Mon Nov 16 20:41:02.331 2026] [mpm_event:notice] [pid 7] AH00489: resuming normal operations\n",
        ),
        (
            "python -m http.server",
            "log",
            "127.0.0.1 - - [16/Nov/2026 20:41:01] \"GET / HTTP/1.1\" 200 -\n127.0.0.1 - bob [16/Nov/2026 20:41:01] \"GET /a HTTP/1.1\" 404 -\n",
        ),
        (
            "what has numbers before colons that do not grow",
            "text",
            "src/a.rs\n7: one\n3: two\n\nsrc/b.rs\n9: three\n2: four\n",
        ),
        (
            "gradle test",
            "test run",
            "> Task :compileJava UP-TO-DATE\n> Task :test\n\nCartTest > totals() FAILED\n    org.opentest4j.AssertionFailedError at CartTest.java:12\n\n2 tests completed, 1 failed\n\nBUILD FAILED in 3s\n",
        ),
        (
            "npm ls",
            "text",
            "demo@1.0.0 /srv/demo\n├─┬ express@4.19.2\n│ ├── accepts@1.3.8\n│ └─┬ body-parser@1.20.2\n│   └── bytes@3.1.2\n└── lodash@4.17.21\n",
        ),
        (
            "docker ps",
            "table",
            "CONTAINER ID   IMAGE          COMMAND                  CREATED        STATUS        PORTS      NAMES\n1a2b3c4d5e6f   postgres:16    \"docker-entrypoint.s…\"   2 hours ago    Up 2 hours    5432/tcp   db\n2a2b3c4d5e6f   redis:7        \"docker-entrypoint.s…\"   2 hours ago    Up 2 hours    6379/tcp   cache\n3a2b3c4d5e6f   nginx:latest   \"/docker-entrypoint.…\"   3 hours ago    Up 3 hours    80/tcp     web\n",
        ),
        (
            "kubectl get pods",
            "table",
            "NAME                    READY   STATUS             RESTARTS   AGE\nweb-5d4f8c7b9-abcde     1/1     Running            0          3d\nweb-5d4f8c7b9-fghij     0/1     CrashLoopBackOff   12         3d\ndb-0                    1/1     Running            0          9d\n",
        ),
        (
            "ps aux",
            "table",
            "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\nroot           1  0.0  0.1 168140 11712 ?        Ss   09:00   0:01 /sbin/init splash\nroot           2  0.0  0.0      0     0 ?        S    09:00   0:00 [kthreadd]\nwww-data     731  0.3  1.2 214000 51212 ?        S    09:01   0:22 nginx: worker process\n",
        ),
        (
            "df",
            "table",
            "Filesystem     1K-blocks     Used Available Use% Mounted on\n/dev/sda1       41152736 20342148  18688152  53% /\ntmpfs            4021344        0   4021344   0% /dev/shm\n/dev/sdb1      103081248 61205184  36596800  63% /data\n",
        ),
        (
            "env",
            "text",
            "HOME=/root\nPATH=/usr/local/bin:/usr/bin:/bin\nLANG=C.UTF-8\nPWD=/srv/demo\nSHLVL=1\nTERM=xterm\n",
        ),
        (
            "git status",
            "text",
            "On branch main\nYour branch is up to date with 'origin/main'.\n\nChanges not staged for commit:\n  (use \"git add <file>...\" to update what will be committed)\n\tmodified:   src/a.rs\n\tmodified:   src/b.rs\n\nno changes added to commit (use \"git add\" and/or \"git commit -a\")\n",
        ),
        (
            "git log --oneline",
            "text",
            "c388cd5 serve: a tenant's name that is none is told as such\n3f0fb15 tests: clients vanish at every moment of a put\n748dacc serve: what is configured is said once\nebaec46 readme: what the tests install\n264860e bench: the gateway with less beside it\n",
        ),
        (
            "rg",
            "search results",
            "src/a.rs:    let x = 1;\nsrc/a.rs:    let y = x;\nsrc/b.rs:fn x() {\ndocs/c.md:the letter x\n",
        ),
        (
            "grep -rn",
            "search results",
            "./src/a.rs:12:    let x = 1;\n./src/a.rs:15:    let y = x;\n./src/b.rs:3:fn x() {\n",
        ),
        (
            "eslint",
            "log",
            "\n/srv/demo/src/a.js\n   1:10  error    'x' is defined but never used  no-unused-vars\n  12:5   warning  Unexpected console statement   no-console\n\n/srv/demo/src/b.js\n   3:1   error    Unexpected var, use let        no-var\n\n✖ 3 problems (2 errors, 1 warning)\n",
        ),
        (
            "tsc",
            "log",
            "src/a.ts(12,5): error TS2322: Type 'string' is not assignable to type 'number'.\nsrc/a.ts(18,9): error TS2304: Cannot find name 'y'.\nsrc/b.ts(3,1): error TS7006: Parameter 'z' implicitly has an 'any' type.\n",
        ),
        (
            "mypy",
            "log",
            "src/a.py:12: error: Incompatible return value type (got \"str\", expected \"int\")  [return-value]\nsrc/a.py:18: note: See https://mypy.example/errors\nsrc/b.py:3: error: Name \"y\" is not defined  [name-defined]\nFound 2 errors in 2 files (checked 9 source files)\n",
        ),
        (
            "ruff",
            "log",
            "src/a.py:1:8: F401 [*] `os` imported but unused\nsrc/a.py:12:5: E711 Comparison to `None` should be `cond is None`\nsrc/b.py:3:1: I001 [*] Import block is un-sorted or un-formatted\nFound 3 errors.\n[*] 2 fixable with the `--fix` option.\n",
        ),
        (
            "go vet",
            "log",
            "# example.org/demo\n./a.go:12:2: undefined: x\n./a.go:18:9: cannot use y (variable of type string) as int value in return statement\n./b.go:3:8: \"os\" imported and not used\n",
        ),
        (
            "find",
            "listing",
            ".\n./src\n./src/a.rs\n./src/b c.rs\n./docs\n./docs/a.md\n./README\n./docs/b.md\n./x/y.z\n./x/k.z\n./x/l.z\n",
        ),
        ("ls -R", "listing", ".:\nREADME\ndocs\nsrc\n\n./docs:\na.md\n\n./src:\na.rs\nmain\n"),
        (
            "ls -l",
            "listing",
            "total 12\ndrwxr-xr-x 2 root root 4096 Nov 16 10:04 docs\n-rw-r--r-- 1 root root  120 Nov 16 10:04 README\n-rw-r--r-- 1 root root 9120 Nov 16 10:04 a b.txt\n",
        ),
        ("du -h", "listing", "4.0K\t./docs\n120K\t./src/query\n180K\t./src\n200K\t.\n"),
        (
            "tree",
            "listing",
            ".\n├── README\n├── docs\n│   └── a.md\n└── src\n    ├── a.rs\n    └── main\n\n2 directories, 4 files\n",
        ),
        (
            "a report of tests",
            "text",
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><testsuites><testsuite time=\"12.5\" timestamp=\"2024-05-01T10:04:11.2\"><testcase file=\"a.py\" /></testsuite></testsuites>",
        ),
        (
            "data in XML",
            "text",
            "<?xml version=\"1.0\"?>\n<!DOCTYPE entries [\n  <!ELEMENT entries (entry+)>\n]>\n<entries>\n  <entry\n    code=\"AED\"\n    number=\"784\" />\n  <entry\n    code=\"AFN\"\n    number=\"971\" />\n</entries>\n",
        ),
        ("git ls-files", "listing", ".gitignore\nCargo.toml\nsrc/lib.rs\nsrc/a/b.rs\n"),
    ];

    #[test]
    #[cfg(all(
        feature = "lang-java",
        feature = "lang-c",
        feature = "lang-javascript",
        feature = "lang-ruby"
    ))]
    fn code_is_known_though_it_is_mostly_comments_and_its_end_is_not_seen() {
        let comment = "    /**\n     * Says what it does, at length, and when it may be used.\n     * @param name the name\n     */\n";
        let java: String = (0..300)
            .map(|n| format!("{comment}    public int get{n}(int value) throws IOException {{\n        if (value > {n}) {{\n            return value;\n        }}\n        return size.get();\n    }}\n\n"))
            .collect();
        let javascript: String = (0..300)
            .map(|n| format!("{comment}    get{n}(value) {{\n        if (value === undefined) return this._size;\n        this._size = value;\n        return this;\n    }}\n\n"))
            .collect();
        let c: String = (0..300)
            .map(|n| format!("{comment}    void get{n} (struct state *s) {{\n        if (s->size > {n}) s->size = 0;\n        return s->size;\n    }}\n\n"))
            .collect();
        for (text, expected) in [
            (format!("package a;\n\nimport java.util.List;\n\npublic class Store {{\n{java}}}\n"), "Java"),
            (
                format!(
                    "const {{ A }} = require('./a.js');\n\nclass Store extends A {{\n{javascript}}}\n\nexports.Store = Store;\n"
                ),
                "JavaScript",
            ),
            (format!("#include <stdio.h>\n\n#ifdef ALL\n{c}#endif\n"), "C"),
        ] {
            assert_eq!(form(&output_of(text.as_bytes())).unwrap().name(), expected);
        }
    }

    #[test]
    fn what_has_other_signs_in_it_is_no_ruby() {
        let found: String =
            (0..40).map(|n| format!("{n} 2024-11-16 /srv/node_modules/@types/p{n}/package.json\n")).collect();
        let symbols: String = (0..40)
            .map(|n| format!("  {n:06}: 0000 00 FUNC GLOBAL DEFAULT UND call_{n}@GLIBC_2.2.5 (2)\n"))
            .collect();
        for text in [found, symbols] {
            assert_eq!(form(&output_of(text.as_bytes())).unwrap().name(), "text", "{text}");
        }
    }

    #[test]
    fn a_title_in_capitals_above_prose_is_no_header_and_a_wide_table_is_one() {
        let prose = "  Everyone is permitted to copy and distribute verbatim copies\nof this document, but changing it is not what anybody may do.\n";
        let text = format!("                    SOME GENERAL PUBLIC TERMS\n\n{}", prose.repeat(30));
        assert_eq!(form(&output_of(text.as_bytes())).unwrap().name(), "text");
        for columns in [5, 17, 60, 200] {
            let row =
                |n: usize| (0..columns).map(|c| format!("value of {}", n * c)).collect::<Vec<_>>().join(",");
            let names: Vec<String> = (0..columns).map(|c| format!("c{c}")).collect();
            let rows: String = (0..30).map(|n| row(n) + "\n").collect();
            let text = format!("{}\n{rows}", names.join(","));
            assert_eq!(form(&output_of(text.as_bytes())).unwrap().name(), "table", "{columns}");
        }
    }

    #[test]
    fn the_outputs_of_many_tools_are_known_for_what_they_are() {
        let mut wrong = Vec::new();
        for (tool, expected, text) in OUTPUTS {
            let form = form(&output_of(text.as_bytes())).unwrap();
            if form.name() != *expected {
                wrong.push(format!("{tool}: {}, not {expected}", form.name()));
            }
        }
        assert_eq!(wrong, Vec::<String>::new());
    }
}
