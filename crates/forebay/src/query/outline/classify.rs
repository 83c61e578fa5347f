//! What an output is, told from samples of its lines.

use super::lines::{Numbering, Source, without_colours};
use super::{Form, Language, code, diff, log, markup, matches, parse, table, test_run};
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
    /// Lines of the other windows.
    rest: Vec<Vec<u8>>,
}

impl Sample {
    fn of(output: &Output) -> Result<Sample> {
        let head = window(output, 0, WINDOW)?;
        let mut rest = Vec::new();
        let length = output.len();
        if length > WINDOW {
            let between = (length - WINDOW) / (BETWEEN + 1);
            for place in 1..=BETWEEN {
                rest.extend(window(output, WINDOW.max(place * between), WINDOW / 4)?);
            }
            rest.extend(window(output, length.saturating_sub(WINDOW).max(WINDOW), WINDOW)?);
        }
        Ok(Sample { head, rest })
    }

    fn lines(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.head.iter().chain(&self.rest).map(|line| &line[..])
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
        Sample { head: plain(&self.head), rest: plain(&self.rest) }
    }
}

/// The lines of a window, without those that are cut by its borders, each cut to what is looked at.
fn window(output: &Output, start: u64, length: u64) -> Result<Vec<Vec<u8>>> {
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
    Ok(lines
        .into_iter()
        .map(|line| without_colours(&line[..line.len().min(LINE)], &mut buffer).to_vec())
        .collect())
}

/// The form of a text, and how its lines are numbered if numbers were printed before them.
pub(super) fn classify(output: &Output) -> Result<(Form, Option<Numbering>)> {
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
    let marked = sample.lines().any(log::is_mark);
    let stamped = sample.share(log::is_stamped);
    if marked || stamped >= 40 {
        return Ok(Form::Log);
    }
    if sample.share(matches::is_match) >= 75 {
        return Ok(Form::Matches);
    }
    let levelled = sample.share(log::is_levelled);
    if levelled < 30
        && sample.lines().any(test_run::is_telling)
        && sample.share(|line| CODE.is_match(line)) < 30
    {
        return Ok(Form::TestRun);
    }
    if sample.share(matches::is_listed) >= 90 && sample.head.len() >= 3 {
        return Ok(Form::Listing);
    }
    if levelled + sample.share(log::is_bracketed) >= 40 {
        return Ok(Form::Log);
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
    let lines: Vec<&[u8]> = sample.lines().collect();
    if table::is_table(&lines) {
        return Ok(Form::Table);
    }
    if tags(sample) >= 30 {
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

/// So much is looked through for the end of a test run that no sample has.
const LOOKED_THROUGH: u64 = 8 * 1024 * 1024;

/// Whether there is a test run somewhere in what nothing else is known of.
fn has_test_run(source: &Source) -> Result<bool> {
    let mut found = false;
    let mut buffer = Vec::new();
    let from = source.output.line_start_near(source.output.len().saturating_sub(LOOKED_THROUGH), 0)?;
    source.for_each_from(from, |line| {
        found = found || test_run::is_telling(without_colours(line.text, &mut buffer));
    })?;
    Ok(found)
}

/// A diff has a hunk, begins as one, and has nothing but lines that diffs have.
fn is_diff(sample: &Sample) -> bool {
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

static TAGS: LazyLock<Regex> = LazyLock::new(|| {
    super::compiled(
        r"(?i-u)</?(?:div|p|a|span|table|tr|td|th|h[1-6]|li|ul|ol|body|html|head|section|article|main|b|i|strong|em)(?: [^>]*)?/?>",
    )
});

/// How many of a hundred lines have tags of pages in them.
fn tags(sample: &Sample) -> usize {
    sample.share(|line| TAGS.find_iter(line).take(2).count() >= 1)
}

static MARKDOWN: LazyLock<Regex> = LazyLock::new(|| {
    super::compiled(
        r"^(?-u:\s*[*+-] \S|\d+\. \S|> |\|.*\||!?\[[^\]]*\]\(|\*\*\S)|(?-u:\]\([^)\s]+\))|`[^`]+`|\*\*[^*]+\*\*",
    )
});

static RST: LazyLock<Regex> = LazyLock::new(|| {
    super::compiled(r"^\s*\.\. (?:[\w-]+::|_[^:]+:)|:[a-z:]+:`[^`]+`|``[^`]+``|^\s*:\w[\w ]*: ?")
});

/// Markdown or reStructuredText, and whether no code looks like it.
fn markup_form(sample: &Sample, hint: &Hint) -> Option<(Form, bool)> {
    let headings = sample.count(|line| markup::level(line).is_some());
    let deep = sample.count(|line| markup::level(line).is_some_and(|level| level >= 2));
    let fences = sample.count(|line| line.starts_with(b"```"));
    let inline = sample.share(|line| MARKDOWN.is_match(line));
    let underlined = sample.head.windows(2).filter(|pair| {
        let long = pair[0].trim_ascii_end().len();
        !pair[0].starts_with(b" ")
            && (3..120).contains(&long)
            && markup::underline(&pair[0]).is_none()
            && markup::underline(pair[1].trim_ascii_end())
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
        let path =
            call.argument(&["file_path", "path", "filename", "file", "filepath", "absolute_path", "uri"]);
        let command = || {
            let command = call.argument(&["command", "cmd", "script"])?;
            // What prints a file as it is.
            let shows = ["cat", "head", "tail", "sed", "bat", "nl", "less", "more"];
            let first = command.split_whitespace().next()?;
            if !shows.contains(&first) {
                return None;
            }
            let words = command.split(['|', ';', '&', '>']).next()?;
            words.split_whitespace().skip(1).filter(|word| word.contains('.')).last().map(str::to_owned)
        };
        let path = path.or_else(command);
        let extension = path.and_then(|path| {
            let name = path.rsplit(['/', '\\']).next()?.trim_matches(['"', '\'']).to_owned();
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
    super::compiled(
        r"(?-u:[;{}]\s*$|^\s*(?:def|class|import|from|return|if|for|while|else|try|except|fn|func|function|let|const|var|public|private|static|elif|with|end|use|struct|#include)\b)",
    )
});

/// Lines of settings, whose comments look like headings and whose values look like code.
static SETTING: LazyLock<Regex> = LazyLock::new(|| {
    super::compiled(
        r#"^(?-u:\s*(?:- )?["']?[\w./-]+["']?(?::(?: .*|)| = .*)|\s*- .*|\[\[?[\w."-]+\]\]?|#.*)$"#,
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
            let share = score * 100 / all.max(1);
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
    candidates.truncate(4);
    if candidates.is_empty() {
        return Ok(None);
    }
    let text = code::text(source, TRIED)?.bytes;
    let mut best: Option<(usize, Language)> = None;
    for (share, language) in candidates {
        let hinted = hint.language() == Some(language);
        // Where hardly a line looks like the language, all of it has to fit.
        let worst = match share {
            _ if hinted && share < 30 + FEW => 3,
            _ if hinted => 30,
            _ if share < SOME => 5,
            _ => 15,
        };
        let misfit = match parse::parse(language, &text) {
            Ok(tree) => parse::misfit(&tree) * 100 / text.len().max(1),
            // Without a grammar there have to be many such lines.
            Err(parse::NoTree::NoGrammar) if share >= 40 => worst.min(14),
            Err(_) => 100,
        };
        if misfit > worst {
            continue;
        }
        if misfit <= 3 && best.is_none() {
            return Ok(Some(language));
        }
        if best.is_none_or(|(least, _)| misfit + 3 < least) {
            best = Some((misfit, language));
        }
    }
    Ok(best.map(|(_, language)| language))
}
