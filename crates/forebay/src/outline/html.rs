//! Title and headings of a web page.

use crate::Result;
use crate::classify::lines::Source;
use crate::outline::{Items, LineSpan, name};
use memchr::{memchr_iter, memmem};

/// Maximum bytes of a heading that are read.
const HEADING: usize = 1024;

/// Bytes that tell which tag it is.
const TAG: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Page,
    /// Heading of this level, 0 for the title.
    Heading(u8),
    /// Content that is not text, up to this end.
    Code(&'static [u8]),
}

/// Adds the headings. A page can be a single line, so it is read by tags and not by lines.
pub(crate) fn outline(source: &Source, items: &mut Items) -> Result<()> {
    let mut inside = Inside::Page;
    let mut began = 1;
    let mut heading: Vec<u8> = Vec::new();
    let mut found: Vec<(u64, u64, u8, Vec<u8>)> = Vec::new();
    let mut more = 0;
    // The end of a block that may begin a tag.
    let mut pending: Vec<u8> = Vec::new();
    let mut number = 1;
    let mut scan = |bytes: &[u8], last: bool| -> usize {
        let mut at = 0;
        loop {
            let rest = &bytes[at..];
            let Some(tag) = next_tag(rest, inside) else {
                let kept = if last { 0 } else { rest.len().min(TAG) };
                let text = &rest[..rest.len() - kept];
                collect(&mut heading, inside, text);
                number += memchr_iter(b'\n', text).count() as u64;
                return at + text.len();
            };
            collect(&mut heading, inside, &rest[..tag]);
            number += memchr_iter(b'\n', &rest[..tag]).count() as u64;
            at += tag;
            let rest = &bytes[at..];
            if rest.len() < TAG && !last {
                return at;
            }
            match inside {
                Inside::Code(_) => inside = Inside::Page,
                Inside::Heading(level) if closes(rest, level) => {
                    if found.len() < crate::outline::KEPT {
                        found.push((began, number, level, std::mem::take(&mut heading)));
                    } else {
                        more += 1;
                    }
                    inside = Inside::Page;
                }
                Inside::Heading(_) | Inside::Page => {
                    if let Some(next) = opened(rest) {
                        // The next heading ends a heading without an end.
                        heading.clear();
                        (inside, began) = (next, number);
                    }
                }
            }
            collect(&mut heading, inside, &rest[..1]);
            at += 1;
        }
    };
    source.output.for_each_block(0..source.output.len(), |_, block| {
        pending.extend_from_slice(block);
        let used = scan(&pending, false);
        pending.drain(..used);
    })?;
    scan(&pending, true);
    items.more += more;
    for (line, last, level, text) in found {
        let text = plain(&text);
        match level {
            _ if text.trim().is_empty() => {}
            0 => items.add(LineSpan { first: line, last }, 0, "title", || name(&text)),
            level => items.open(line, u32::from(level) - 1, "heading", || name(&text)),
        }
    }
    Ok(())
}

fn next_tag(bytes: &[u8], inside: Inside) -> Option<usize> {
    match inside {
        Inside::Code(b"-->") => memmem::find(bytes, b"-->"),
        Inside::Code(end) => memchr_iter(b'<', bytes).find(|&at| begins(&bytes[at..], end)),
        _ => memchr_iter(b'<', bytes).find(|&at| {
            let rest = &bytes[at..];
            rest.len() < TAG || opened(rest).is_some() || rest.get(1) == Some(&b'/')
        }),
    }
}

fn begins(bytes: &[u8], tag: &[u8]) -> bool {
    bytes.len() >= tag.len() && bytes[..tag.len()].eq_ignore_ascii_case(tag)
}

fn opened(tag: &[u8]) -> Option<Inside> {
    let ends = |length: usize| tag.get(length).is_some_and(|byte| b" >\t\r\n".contains(byte));
    if begins(tag, b"<h") && ends(3) {
        return tag
            .get(2)
            .filter(|level| (b'1'..=b'6').contains(level))
            .map(|level| Inside::Heading(level - b'0'));
    }
    if begins(tag, b"<title") && ends(6) {
        return Some(Inside::Heading(0));
    }
    if begins(tag, b"<script") {
        return Some(Inside::Code(b"</script"));
    }
    if begins(tag, b"<style") {
        return Some(Inside::Code(b"</style"));
    }
    tag.starts_with(b"<!--").then_some(Inside::Code(b"-->"))
}

fn closes(tag: &[u8], level: u8) -> bool {
    match level {
        0 => begins(tag, b"</title"),
        level => begins(tag, b"</h") && tag.get(3) == Some(&(b'0' + level)),
    }
}

fn collect(heading: &mut Vec<u8>, inside: Inside, text: &[u8]) {
    if matches!(inside, Inside::Heading(_)) {
        let room = HEADING.saturating_sub(heading.len());
        heading.extend_from_slice(&text[..text.len().min(room)]);
    }
}

/// Returns the text of a heading, without tags and with entities replaced.
fn plain(heading: &[u8]) -> String {
    let heading = String::from_utf8_lossy(heading);
    let mut text = String::new();
    let mut in_tag = false;
    for c in heading.chars() {
        match c {
            '<' => in_tag = true,
            '>' if in_tag => {
                in_tag = false;
                text.push(' ');
            }
            _ if in_tag => {}
            _ => text.push(c),
        }
    }
    let names = [
        ("&nbsp;", " "),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&rsquo;", "’"),
        ("&#8217;", "’"),
        ("&mdash;", "—"),
        ("&ndash;", "–"),
        ("&amp;", "&"),
    ];
    names.iter().fold(text, |text, (name, character)| text.replace(name, character))
}

#[cfg(test)]
mod tests {
    use crate::outline::tests::of;

    #[test]
    fn a_page_has_its_title_and_headings() {
        let out = of(
            "<!DOCTYPE html>\n<html><head><title>A &amp; B</title>\n<script>var x = \"<h1>no</h1>\";</script></head>\n<body><h1 class=\"a\">One <b>bold</b></h1>\n<!-- <h2>no</h2> -->\n<h2>\nTwo\n</h2><p>x</p><H3>Three</H3>\n<header>x</header></body></html>\n",
        );
        expect_test::expect![[r#"
            HTML
            2-2 title | A & B
            4-9 heading | One bold
            6-9   heading | Two
            8-9     heading | Three
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_tag_that_two_blocks_share_is_found() {
        for pad in 0..40 {
            let filler = " ".repeat(crate::output::BLOCK - 40 + pad - 6);
            let out = of(&format!("<html>{filler}<h1>Here</h1></html>"));
            assert_eq!(out, "HTML\n1-1 heading | Here\n", "{pad}");
        }
    }
}
