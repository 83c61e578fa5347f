//! Items of plain text: sections of settings, elements of XML, tables of SQL; else headings, which are numbered, in capitals,
//! or called articles and chapters.

use crate::Result;
use crate::classify::lines::Source;
use crate::outline::sections::Layout;
use crate::outline::{Items, name, sections, sql, xml};
use crate::text::pattern::compiled;
use regex::bytes::Regex;
use std::sync::LazyLock;

static NUMBERED: LazyLock<Regex> =
    LazyLock::new(|| compiled(r"^\s{0,12}((?:\d{1,3}\.)*\d{1,3})(?:\.|\))?\s{1,8}\p{Lu}[^.;!?]{1,90}\.?$"));

static CALLED: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?-u)^\s*(?:(?i-u:chapter|part|article|appendix|exhibit|schedule|annex)|(?i-u:section)) (?:\d[\d.]*|[IVXLC]+|[A-Z])\b",
    )
});

/// Bytes from the beginning that show how a text is laid out.
const BEGINNING: u64 = 64 * 1024;

/// Maximum characters of a heading.
const TITLE: usize = 90;

/// Adds the items of a text by its layout.
pub(crate) fn outline(source: &Source, items: &mut Items) -> Result<()> {
    let beginning = source.output.read(0..source.output.len().min(BEGINNING))?;
    let lines = || beginning.split(|&byte| byte == b'\n');
    if xml::begins(&beginning) {
        return xml::outline(source, items);
    }
    if crate::classify::sql::is_sql(lines()) {
        return sql::outline(source, items);
    }
    match sections::layout(lines()) {
        Some(layout @ Layout::Keys) => sections::outline(source, layout, items),
        // Headings are better items than lines that are just not indented.
        Some(layout @ Layout::Titles) => {
            headings(source, items, heading)?;
            if items.items.is_empty() { sections::outline(source, layout, items) } else { Ok(()) }
        }
        None => {
            headings(source, items, heading)?;
            let titles = lines().filter(|line| title_above(line).is_some()).count();
            if items.items.is_empty() && titles > 1 { headings(source, items, title_above) } else { Ok(()) }
        }
    }
}

/// Adds the headings. A heading follows a blank line, so items of a list are rarely mistaken for one.
fn headings(source: &Source, items: &mut Items, heading: fn(&[u8]) -> Option<u32>) -> Result<()> {
    let mut after_empty = true;
    source.for_each(|line| {
        let text = line.text.trim_ascii();
        if text.is_empty() {
            after_empty = true;
            return;
        }
        if std::mem::replace(&mut after_empty, false)
            && let Some(depth) = heading(line.text)
        {
            items.open(line.number, depth, "heading", || title(&line.lossy()));
        }
    })
}

fn heading(line: &[u8]) -> Option<u32> {
    if let Some(found) = CALLED.find(line) {
        let deep = found.as_bytes().trim_ascii_start().to_ascii_lowercase().starts_with(b"section");
        return Some(u32::from(deep));
    }
    if let Some(found) = NUMBERED.captures(line) {
        return Some(memchr::memchr_iter(b'.', &found[1]).count() as u32);
    }
    let text = std::str::from_utf8(line.trim_ascii()).ok()?;
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let capitals = text.chars().filter(|c| c.is_uppercase()).count();
    (letters >= 4 && capitals == letters && text.chars().count() <= TITLE).then_some(0)
}

/// A sentence that introduces the lines below: `Symbol table '.dynsym' contains 260 entries:`.
fn title_above(line: &[u8]) -> Option<u32> {
    let is_title = line.len() <= TITLE
        && line.trim_ascii_end().ends_with(b":")
        && !line.first().is_some_and(u8::is_ascii_whitespace);
    is_title.then_some(0)
}

/// Returns a heading up to the end of its sentence. In contracts the text continues on the same line.
fn title(line: &str) -> String {
    let line = line.trim();
    let end = line
        .match_indices(". ")
        .map(|(at, _)| at)
        .find(|&at| at >= 12 && line[..at].chars().next_back().is_some_and(char::is_alphabetic));
    name(end.map_or(line, |end| &line[..end]))
}

#[cfg(test)]
mod tests {
    use crate::outline::tests::of;

    #[test]
    fn plain_text_has_numbered_headings_and_such_in_capitals() {
        let out = of(
            "SERVICE AGREEMENT\n\nThis is made by the parties below.\n\nARTICLE I Terms\n\nSection 1.1 Definitions. As used in this agreement, words mean things.\n\n1. Scope\n\nWords.\n\n1.1 Inner scope\n\nMore words, and a list:\n1. first thing\n2. Second thing\n",
        );
        expect_test::expect![[r#"
            text
            1-4 heading | SERVICE AGREEMENT
            5-8 heading | ARTICLE I Terms
            7-8   heading | Section 1.1 Definitions
            9-17 heading | 1. Scope
            13-17   heading | 1.1 Inner scope
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn what_stands_above_tables_and_ends_with_a_colon_is_a_heading_where_there_is_no_other() {
        let out = of(
            "\ndemo:     file format elf64\n\n\nSection Headers:\n[ 0] .init  7\n[ 1] .text  9\n\nNo relocations here.\n\nSymbol table '.dynsym' contains 2 entries:\n 0: abort\n 1: exit\nand more:\n",
        );
        expect_test::expect![[r#"
            text
            5-10 heading | Section Headers:
            11-14 heading | Symbol table '.dynsym' contains 2 entries:
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn prose_has_no_items() {
        assert_eq!(of("It was a dark night.\n\nThe rain fell; nobody was there.\n"), "text\n");
    }
}
