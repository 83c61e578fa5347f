//! Forms of documents: Markdown, reStructuredText, HTML and XML.

use crate::classify::form::Form;
use crate::classify::headings::{level, underline};
use crate::classify::hint::Hint;
use crate::classify::sample::Sample;
use crate::text::pattern::compiled;
use crate::weights::classify as weights;
use memchr::memmem;
use regex::bytes::Regex;
use std::sync::LazyLock;

static MARKDOWN: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"^(?-u:\s*[*+-] \S|\d+\. \S|> |\|.*\||!?\[[^\]]*\]\(|\*\*\S)|(?-u:\]\([^)\s]+\))|`[^`]+`|\*\*[^*]+\*\*",
    )
});

static RST: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^\s*\.\. (?:[\w-]+::|_[^:]+:)|:[a-z:]+:`[^`]+`|``[^`]+``|^\s*:\w[\w ]*: ?"));

/// A markup language that a text may have.
pub(crate) struct Markup {
    pub(crate) form: Form,
    /// Whether no program looks like this.
    pub(crate) is_certain: bool,
}

impl Markup {
    /// Recognises Markdown and reStructuredText.
    pub(crate) fn of(sample: &Sample, hint: &Hint) -> Option<Markup> {
        let headings = sample.count(|line| level(line).is_some());
        let deep = sample.count(is_deep_heading);
        let fences = sample.count(|line| line.starts_with(b"```"));
        // The tables of a database have a rule above and below.
        let is_drawn = sample.lines().any(|line| line.starts_with(b"+-"));
        let inline = sample.share(|line| MARKDOWN.is_match(line) && !(is_drawn && line.starts_with(b"|")));
        let underlined = sample.head.windows(2).filter(|pair| is_underlined(&pair[0], &pair[1])).count();
        let directives = sample.count(|line| RST.is_match(line));
        let only_rst = sample.count(|line| line.starts_with(b".. ") || memmem::find(line, b"::`").is_some());
        if underlined > 0 && only_rst + usize::from(hint.is("rst")) > 0 && directives > headings {
            let is_certain = sample.head.first().is_some_and(|line| !line.starts_with(b"#"));
            return Some(Markup { form: Form::Rst, is_certain });
        }
        let markdown = |is_certain| Some(Markup { form: Form::Markdown, is_certain });
        let is_named = hint.is("md") || hint.is("markdown") || hint.is("mdx");
        // In many languages a comment looks like a heading of the first level.
        if deep > 0 && (fences >= 2 || inline >= weights::MARKUP_WITH_HEADINGS || is_named) {
            return markdown(fences >= 2 || inline >= weights::CERTAIN_MARKUP || is_named);
        }
        if (fences >= 2 || is_named) && headings + underlined > 0 {
            return markdown(true);
        }
        if headings > 0 && deep == 0 && inline >= weights::MARKUP_WITH_TITLES {
            return markdown(false);
        }
        if underlined > 0 && inline >= weights::MARKUP_WITH_RULES { markdown(false) } else { None }
    }
}

fn is_deep_heading(line: &[u8]) -> bool {
    level(line).is_some_and(|level| level >= 2)
}

/// Whether a line is a heading with a rule of its length below.
fn is_underlined(line: &[u8], below: &[u8]) -> bool {
    let length = line.trim_ascii_end().len();
    let is_as_long = |rule: (u8, usize)| rule.1.abs_diff(length) <= 2;
    !line.starts_with(b" ")
        && (3..120).contains(&length)
        && underline(line).is_none()
        && underline(below.trim_ascii_end()).is_some_and(is_as_long)
}

/// Whether a text has headings and fenced quotes, as documents do that show the output of a run.
pub(crate) fn is_fenced(sample: &Sample) -> bool {
    sample.count(|line| line.starts_with(b"```")) >= 2 && sample.count(is_deep_heading) >= 2
}

/// Whether a text begins as a page of HTML.
pub(crate) fn is_page(sample: &Sample) -> bool {
    let lines = sample.head.iter().map(|line| line.trim_ascii()).filter(|line| !line.is_empty());
    for line in lines.take(weights::PAGE_HEAD_LINES) {
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

/// Whether a text is XML: its first line says so, or most lines begin with a tag.
pub(crate) fn is_xml(sample: &Sample) -> bool {
    let is_tag = |line: &[u8]| {
        let line = line.trim_ascii_start();
        line.starts_with(b"<")
            && line.get(1).is_some_and(|byte| byte.is_ascii_alphabetic() || b"/!".contains(byte))
    };
    sample.first_line().is_some_and(|first| {
        first.starts_with(b"<?xml ") || is_tag(first) && sample.share(is_tag) >= weights::XML_LINES
    })
}

static TAGS: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?i-u)</?(?:div|p|a|span|table|tr|td|th|h[1-6]|li|ul|ol|body|html|head|section|article|main|b|i|strong|em)(?: [^>]*)?/?>",
    )
});

/// Whether enough lines of a text have tags of HTML.
pub(crate) fn has_html_tags(sample: &Sample) -> bool {
    sample.share(|line| TAGS.is_match(line)) >= weights::HTML_LINES
}
