//! Elements of XML, nested, with their counts.

use crate::Result;
use crate::classify::lines::Source;
use crate::outline::{Items, LineSpan, name};
use memchr::{memchr, memchr_iter, memmem};

/// Maximum bytes that are read.
const READ: u64 = 16 * 1024 * 1024;

/// Maximum depth of elements and maximum number of kinds; others are skipped.
const DEEPEST: usize = 4;
const KINDS: usize = 500;

/// Whether a text begins like XML.
pub(crate) fn begins(beginning: &[u8]) -> bool {
    let text = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning).trim_ascii_start();
    text.starts_with(b"<?xml ")
        || text.starts_with(b"<!DOCTYPE ")
        || text.starts_with(b"<")
            && text.get(1).is_some_and(u8::is_ascii_alphabetic)
            && memmem::find(text, b"</").is_some()
}

/// Elements of one name with the same parents.
struct Kind {
    name: Vec<u8>,
    within: Option<usize>,
    depth: usize,
    lines: LineSpan,
    count: u64,
}

/// Adds an item for each kind of element.
pub(crate) fn outline(source: &Source, items: &mut Items) -> Result<()> {
    let bytes = source.output.read(0..source.output.len().min(READ))?;
    let mut kinds: Vec<Kind> = Vec::new();
    // Open elements; `None` for those that are skipped.
    let mut open: Vec<Option<usize>> = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(start) = memchr(b'<', &bytes[at..]).map(|found| at + found) {
        let end = end_of(&bytes, start);
        line += memchr_iter(b'\n', &bytes[at..start]).count() as u64;
        let tag = &bytes[start + 1..end];
        match tag.first() {
            Some(b'/') => {
                if let Some(kind) = open.pop().flatten() {
                    kinds[kind].lines.last = line;
                }
            }
            Some(b'!' | b'?') | None => {}
            Some(_) => {
                let length = tag
                    .iter()
                    .take_while(|byte| !byte.is_ascii_whitespace() && !b"/>".contains(byte))
                    .count();
                let kind = seen(&mut kinds, &open, &tag[..length], line);
                if !tag.ends_with(b"/>") {
                    open.push(kind);
                }
            }
        }
        line += memchr_iter(b'\n', &bytes[start..end]).count() as u64;
        at = end;
    }
    for kind in &kinds {
        let title = String::from_utf8_lossy(&kind.name).into_owned();
        let title = match kind.count {
            1 => title,
            count => format!("{title} × {}", crate::text::count::grouped(count)),
        };
        items.add(kind.lines, kind.depth as u32, "element", || name(&title));
    }
    Ok(())
}

/// Counts an element that begins on this line.
fn seen(kinds: &mut Vec<Kind>, open: &[Option<usize>], name: &[u8], line: u64) -> Option<usize> {
    let within = match open.last() {
        Some(within) => Some((*within)?),
        None => None,
    };
    let depth = open.len();
    let known =
        kinds.iter().position(|kind| kind.within == within && kind.depth == depth && kind.name == name);
    match known {
        Some(known) => {
            kinds[known].count += 1;
            kinds[known].lines.last = line;
            Some(known)
        }
        None if depth < DEEPEST && kinds.len() < KINDS => {
            kinds.push(Kind { name: name.to_vec(), within, depth, lines: LineSpan::one(line), count: 1 });
            Some(kinds.len() - 1)
        }
        None => None,
    }
}

/// Returns the end of the tag, comment or the like that begins here.
fn end_of(bytes: &[u8], start: usize) -> usize {
    let rest = &bytes[start..];
    let until = |end: &[u8]| memmem::find(rest, end).map(|found| start + found + end.len());
    let end = if rest.starts_with(b"<!--") {
        until(b"-->")
    } else if rest.starts_with(b"<![CDATA[") {
        until(b"]]>")
    } else if rest.starts_with(b"<!DOCTYPE")
        && memchr(b'[', rest) < memchr(b'>', rest)
        && memchr(b'[', rest).is_some()
    {
        until(b"]>").or_else(|| until(b">"))
    } else {
        tag_end(rest).map(|end| start + end)
    };
    end.unwrap_or(bytes.len())
}

/// Returns the length of a tag. Quotes may contain its end mark.
fn tag_end(tag: &[u8]) -> Option<usize> {
    let mut quote = None;
    for (at, &byte) in tag.iter().enumerate() {
        match (quote, byte) {
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            (None, b'>') => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::outline::tests::of;

    #[test]
    fn xml_has_its_elements_counted() {
        let out = of(
            "<?xml version=\"1.0\"?>\n<!-- <no> -->\n<suites>\n  <suite time=\"12:30:01\" n=\">\">\n    <case name=\"a\"/>\n    <case name=\"b\"><failure>x &lt; y</failure></case>\n  </suite>\n  <suite/>\n</suites>\n",
        );
        expect_test::expect![[r#"
            text
            3-9 element | suites
            4-8   element | suite × 2
            5-6     element | case × 2
            6-6       element | failure
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_report_on_one_line_is_no_search() {
        let cases: String = (0..40).map(|n| format!("<case n=\"t.py\" at=\"12:{n:02}:10\"/>")).collect();
        let out = of(&format!("<?xml version=\"1.0\"?><suite at=\"2024-05-01T10:04:11\">{cases}</suite>"));
        assert_eq!(out, "text\n1-1 element | suite\n1-1   element | case × 40\n");
    }
}
