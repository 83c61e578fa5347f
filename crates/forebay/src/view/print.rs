//! The one printer: writes the pieces of a view and every marker between them.
//!
//! A marker replaces the bytes it stands for, and nothing else: it is a line of its own where whole lines are missing, and
//! inside of a line where only a part of it is.

use crate::compact::{self, Compact};
use crate::masking;
use crate::size::Characters;
use crate::text::count::{count, grouped};
use crate::text::derived::Derived;
use crate::text::{html, lookalikes};
use crate::view::{Canvas, Omitted, Piece, Summary, View, Why, Wording};
use crate::{Kind, Output, Query, Result, terminal, tokens};
use std::ops::Range;

/// Counts and places of the bytes that a marker replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) bytes: Range<u64>,
    /// Numbers of the first and the last line with bytes in it, counted from 1.
    pub(crate) lines: (u64, u64),
    /// Whether it begins at the start of a line.
    pub(crate) begins_a_line: bool,
    /// Whether it begins and ends at the start of a line.
    pub(crate) whole_lines: bool,
    pub(crate) characters: u64,
}

/// Text printed for a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Printed {
    /// Number of the piece; `None` for the text before or after all of them.
    pub piece: Option<usize>,
    /// The text.
    pub text: Vec<u8>,
}

impl View {
    /// Prints the text that the model is shown.
    pub fn print(&self, output: &Output) -> Result<Vec<u8>> {
        self.print_with(output, |range| gap(self, output, range))
    }

    /// Prints the same text from a rendering of the output that is known.
    pub(crate) fn print_from(&self, output: &Output, compact: &Compact) -> Result<Vec<u8>> {
        Ok(concatenated(self.printed_with(output, |range| gap(self, output, range), Some(compact))?))
    }

    /// Prints the same text, piece by piece.
    pub fn printed(&self, output: &Output) -> Result<Vec<Printed>> {
        self.printed_with(output, |range| gap(self, output, range), None)
    }

    /// Prints with given counts of gaps, which verification computes again.
    pub(crate) fn print_with(
        &self,
        output: &Output,
        count: impl Fn(&Range<u64>) -> Result<Gap>,
    ) -> Result<Vec<u8>> {
        Ok(concatenated(self.printed_with(output, count, None)?))
    }

    /// Prints the pieces, with masks in place of secrets. A mask belongs to the piece in which it begins.
    fn printed_with(
        &self,
        output: &Output,
        count: impl Fn(&Range<u64>) -> Result<Gap>,
        known: Option<&Compact>,
    ) -> Result<Vec<Printed>> {
        let mut printed = self.printed_unmasked(output, count, known)?;
        if self.masks.is_empty() {
            return Ok(printed);
        }
        let mut start = 0;
        let mut masks = self.masks.clone();
        for Printed { text, .. } in &mut printed {
            let end = start + text.len() as u64;
            *text = masking::masked(text, start, &masks);
            // The rest of a mask that the next piece also has a part of is empty.
            masks
                .iter_mut()
                .filter(|mask| (start..end).contains(&mask.range.start))
                .for_each(|mask| mask.text.clear());
            start = end;
        }
        Ok(printed)
    }

    fn printed_unmasked(
        &self,
        output: &Output,
        count: impl Fn(&Range<u64>) -> Result<Gap>,
        known: Option<&Compact>,
    ) -> Result<Vec<Printed>> {
        let mut printed = vec![Printed { piece: None, text: self.opening.clone().into_bytes() }];
        let rendering = Rendering::of(self, output, known.is_some())?;
        // What the other stream says does not stand on the same line.
        let ended = |mut text: Vec<u8>| {
            if self.apart && text.last().is_some_and(|&last| last != b'\n') {
                text.push(b'\n');
            }
            text
        };
        let compact = known.or(rendering.compact.as_ref());
        let mut place = compact::Place::default();
        // Whether an earlier marker has a call that reads lines, or any call.
        let (mut lines_called, mut called) = (false, false);
        for (number, piece) in self.pieces.iter().enumerate() {
            let mut show = |text: Vec<u8>| printed.push(Printed { piece: Some(number), text });
            let mut marker = match piece {
                Piece::Verbatim(range) => {
                    show(output.read(range.clone())?);
                    continue;
                }
                Piece::Rendered { range, on: Canvas::Page } => {
                    show(ended(lookalikes::quoted(rendering.page(range))));
                    continue;
                }
                Piece::Rendered { range, on: Canvas::Compact(_) } => {
                    // A stored view of a form that is no longer recognised shows the bytes.
                    let text = match compact {
                        Some(compact) => compact.print(rendering.place(range), &mut place),
                        None => output.read(range.clone())?,
                    };
                    show(ended(lookalikes::quoted(&text)));
                    continue;
                }
                Piece::Rendered { range, on: Canvas::Screen } => {
                    show(terminal::screen(&output.read(range.clone())?));
                    continue;
                }
                Piece::Rendered { range, on: Canvas::Quoted } => {
                    show(lookalikes::quoted(&terminal::screen(&output.read(range.clone())?)));
                    continue;
                }
                Piece::Omitted { why, .. }
                    if called && self.wording == Wording::Ranges && *why != Why::Lost =>
                {
                    ranged(&count(piece.range())?, *why, lines_called)
                }
                Piece::Omitted { why, .. } => {
                    let gap = count(piece.range())?;
                    called |= *why != Why::Lost;
                    lines_called |= *why != Why::Lost && gap.whole_lines;
                    self.omitted(output, &gap, *why)
                }
                Piece::Digest { summary, .. } => {
                    let gap = count(piece.range())?;
                    let known = lines_called && gap.whole_lines && self.wording == Wording::Ranges;
                    called = true;
                    lines_called |= gap.whole_lines && output.record().kind != Kind::Binary;
                    self.digest(output, &gap, summary, known)
                }
            };
            let ends_a_line = self.pieces.get(number + 1).is_some_and(|next| rendering.begins_a_line(next))
                || self.apart
                || piece.range().end == output.len()
                || output.read(piece.range().end - 1..piece.range().end)? == b"\n";
            if ends_a_line && !marker.is_empty() && !marker.ends_with('\n') {
                marker.push('\n');
            }
            show(marker.into_bytes());
        }
        if !self.closing.is_empty() {
            let last = printed.iter().rev().find_map(|printed| printed.text.last());
            let newline = if last.is_some_and(|&byte| byte != b'\n') { "\n" } else { "" };
            printed.push(Printed { piece: None, text: format!("{newline}{}", self.closing).into_bytes() });
        }
        Ok(printed)
    }

    fn omitted(&self, output: &Output, gap: &Gap, why: Why) -> String {
        let (bytes, lines) = (gap.byte_count(), gap.line_count());
        if why == Why::Lost {
            let why = output.record().lost.as_ref().map_or("the store failed", |lost| &lost.why);
            return format!("[… {} bytes are lost: {why}]", grouped(bytes));
        }
        match self.wording {
            Wording::Silent => String::new(),
            Wording::Characters => format!("\n\n... [{} characters truncated] ...\n\n", gap.characters),
            Wording::Lines if gap.whole_lines => {
                let total = output.record().size.lines;
                format!(
                    "\n... [{lines} lines truncated — full output available in artifacts] ...\n\n[Last {} lines of {total}]\n",
                    total.saturating_sub(gap.lines.1)
                )
            }
            // The rest of the last line of the head, or the beginning of the first line of the tail.
            Wording::Lines if gap.begins_a_line => {
                format!("... [{} characters truncated] ...\n\n", gap.characters)
            }
            Wording::Lines => format!("\n\n... [{} characters truncated] ...\n", gap.characters),
            Wording::Recovery => format!("\n\n[... {} characters truncated ...]\n", gap.characters),
            Wording::Ranges if why != Why::Overwritten => format!("[… {}]", self.call(output, gap)),
            Wording::Commands | Wording::Ranges | Wording::References => {
                let what = match (why, gap.whole_lines) {
                    (Why::Overwritten, _) => {
                        format!("{} bytes overwritten by carriage returns", grouped(bytes))
                    }
                    (_, true) => format!("{} omitted", count("line", lines)),
                    (_, false) if lines == 1 => {
                        format!("{} bytes of line {} omitted", grouped(bytes), gap.lines.0)
                    }
                    (_, false) => {
                        format!("{} bytes of lines {}–{} omitted", grouped(bytes), gap.lines.0, gap.lines.1)
                    }
                };
                format!("[… {what}: {}]", self.call(output, gap))
            }
        }
    }

    /// Marker with a summary. A `known` call is shortened to the lines that it would read.
    fn digest(&self, output: &Output, gap: &Gap, summary: &Summary, known: bool) -> String {
        let call = match output.record().kind {
            // Nobody reads such bytes by lines.
            Kind::Binary => self.surface.raw(&output.record().handle),
            _ if known => format!("{}:{}", gap.lines.0, gap.lines.1),
            _ => self.call(output, gap),
        };
        format!("[{}: {call}{}]", summary.first_line(gap), summary.further_lines())
    }

    /// Call that reads a gap.
    fn call(&self, output: &Output, gap: &Gap) -> String {
        let handle = &output.record().handle;
        let Range { start, end } = gap.bytes;
        match (self.wording, gap.whole_lines) {
            (Wording::References, _) => {
                format!("context.read(\"{}\", {start}, {})", handle.id(), (end - start).min(65_536))
            }
            (_, true) => self.surface.call(handle, &Query::Lines(vec![gap.lines.0..=gap.lines.1])),
            (_, false) => self.surface.call(handle, &Query::Bytes(vec![start..end])),
        }
    }
}

/// The whole output, or its standard output, in the forms that the pieces of a view are cut from.
struct Rendering {
    /// Standard output, if it is rendered by itself.
    stdout: Option<Derived>,
    page: Option<Derived>,
    compact: Option<Compact>,
}

impl Rendering {
    /// The forms that a view needs. The compact one may be known.
    fn of(view: &View, output: &Output, is_known: bool) -> Result<Rendering> {
        let canvases = || view.pieces.iter().filter_map(Piece::canvas);
        let form = canvases().find_map(|canvas| match canvas {
            Canvas::Compact(form) if !is_known => Some(form),
            _ => None,
        });
        let is_on_page = canvases().any(|canvas| canvas == Canvas::Page);
        let stdout = if view.apart { output.stdout()? } else { None };
        let source = || match &stdout {
            Some(stdout) => Ok(stdout.text.clone()),
            None => output.read(0..output.len()),
        };
        let page = if is_on_page { Some(html::text(&source()?)) } else { None };
        let compact = match form {
            Some(form) => compact::render(form, &source()?),
            None => None,
        };
        Ok(Rendering { stdout, page, compact })
    }

    /// Place of a range of the output in what is rendered.
    fn place(&self, range: &Range<u64>) -> Range<u64> {
        match &self.stdout {
            Some(stdout) => {
                let within = stdout.within(range);
                within.start as u64..within.end as u64
            }
            None => range.clone(),
        }
    }

    /// Text of a page that came from a range of the output.
    fn page(&self, range: &Range<u64>) -> &[u8] {
        self.page.as_ref().map_or(&[], |page| &page.text[page.within(&self.place(range))])
    }

    /// Whether a piece begins a line of a page, which has lines of its own.
    fn begins_a_line(&self, piece: &Piece) -> bool {
        match (piece, &self.page) {
            (Piece::Rendered { range, on: Canvas::Page }, Some(page)) => {
                matches!(page.text[..page.within(&self.place(range)).start].last(), None | Some(b'\n'))
            }
            _ => false,
        }
    }
}

fn concatenated(printed: Vec<Printed>) -> Vec<u8> {
    printed.into_iter().flat_map(|printed| printed.text).collect()
}

/// Marker after one with a call: only the lines or bytes that are missing. Numbers alone are those of lines, as in that call.
fn ranged(gap: &Gap, why: Why, lines_called: bool) -> String {
    let Gap { bytes, lines, whole_lines, .. } = gap;
    match (why, whole_lines) {
        (Why::Overwritten, _) => format!("[… bytes {}:{} overwritten]", bytes.start, bytes.end),
        (_, true) if lines_called => format!("[… {}:{}]", lines.0, lines.1),
        (_, true) => format!("[… lines {}:{}]", lines.0, lines.1),
        (_, false) => format!("[… bytes {}:{}]", bytes.start, bytes.end),
    }
}

impl Summary {
    /// First line of its marker, without the call.
    fn first_line(&self, gap: &Gap) -> String {
        let kind = self.kind.as_ref().map_or(String::new(), |kind| format!(" of {kind}"));
        let contents = self.contents.as_ref().map_or(String::new(), |contents| format!(", with {contents}"));
        let lines = || count("line", gap.line_count());
        let (omitted, separator) = match self.omitted {
            Omitted::Unsaid => (String::new(), ""),
            Omitted::Uncounted => (format!("…{kind} omitted{contents}"), "; "),
            Omitted::Lines => (format!("… {}{kind} omitted{contents}", lines()), "; "),
            Omitted::Size => (format!("{}, {} not shown", lines(), count("byte", gap.byte_count())), ": "),
        };
        match &self.text {
            Some(text) => omitted + separator + text,
            None => omitted,
        }
    }

    /// Lines of its marker after the call, each with the line break before it.
    fn further_lines(&self) -> String {
        self.list.iter().flat_map(|line| ["\n", line]).collect()
    }

    /// Tokens of its marker, without the call.
    pub(crate) fn tokens(&self, gap: &Gap) -> u64 {
        tokens::count(&(self.first_line(gap) + &self.further_lines()))
    }

    /// Its facts without the count of omitted items, for a reader who sees other parts of the same bytes.
    pub(crate) fn facts(&self) -> String {
        let contents = self.contents.as_ref().map(|contents| format!("with {contents}"));
        let facts: Vec<String> = contents.into_iter().chain(self.text.clone()).collect();
        facts.join("; ") + &self.further_lines()
    }
}

/// Approximate tokens of a marker in the middle of an output.
pub(crate) fn marker_tokens(output: &Output, wording: Wording) -> u64 {
    let middle = output.record().size.lines / 2 + 1;
    tokens::count(&match wording {
        Wording::Ranges => format!("[… {middle}:{}]\n", middle * 2),
        _ => {
            let call = output.call(&Query::Lines(vec![middle..=middle * 2]));
            format!("[… {} lines omitted: {call}]\n", grouped(middle))
        }
    })
}

impl Gap {
    /// Gap with counts from the line index, and no count of characters.
    pub(crate) fn at(output: &Output, range: &Range<u64>) -> Result<Gap> {
        let before = output.newlines_before(range.start)?;
        let inside_last = output.newlines_before(range.end - 1)?;
        let begins_a_line = is_line_start(output, range.start)?;
        Ok(Gap {
            bytes: range.clone(),
            lines: (before + 1, inside_last + 1),
            begins_a_line,
            whole_lines: begins_a_line && is_line_start(output, range.end)?,
            characters: 0,
        })
    }

    fn line_count(&self) -> u64 {
        self.lines.1 - self.lines.0 + 1
    }

    fn byte_count(&self) -> u64 {
        self.bytes.end - self.bytes.start
    }
}

/// Counts a gap with the line index, and its characters if the wording of the view names them.
fn gap(view: &View, output: &Output, range: &Range<u64>) -> Result<Gap> {
    let gap = Gap::at(output, range)?;
    let characters = match view.wording {
        Wording::Lines if !gap.whole_lines => characters(output, range)?,
        Wording::Characters | Wording::Recovery => match characters_left(view, output, range)? {
            Some(left) => left,
            None => characters(output, range)?,
        },
        _ => 0,
    };
    Ok(Gap { characters, ..gap })
}

/// Counts the characters of a range.
fn characters(output: &Output, range: &Range<u64>) -> Result<u64> {
    let mut characters = Characters::default();
    output.for_each_block(range.clone(), |_, block| characters.update(block))?;
    Ok(characters.finish().0)
}

/// Counts the characters of a gap as the total less those of the shown pieces, which reads fewer bytes. `None` if
/// that may be wrong: if another piece is not verbatim, a character is cut, or the record counts lost bytes.
fn characters_left(view: &View, output: &Output, range: &Range<u64>) -> Result<Option<u64>> {
    let shown = || view.pieces.iter().filter(|piece| matches!(piece, Piece::Verbatim(_)));
    for edge in [range.start, range.end] {
        if edge < output.len() && matches!(output.read(edge..edge + 1)?[..], [0x80..=0xbf]) {
            return Ok(None);
        }
    }
    if shown().count() + 1 < view.pieces.len() || output.record().lost.is_some() {
        return Ok(None);
    }
    let mut left = output.record().size.characters;
    for piece in shown() {
        left = left.saturating_sub(crate::size::characters(&output.read(piece.range().clone())?));
    }
    Ok(Some(left))
}

/// Whether a line starts at `offset`, or the output ends there.
pub(crate) fn is_line_start(output: &Output, offset: u64) -> Result<bool> {
    Ok(offset == 0 || offset == output.len() || output.read(offset - 1..offset)? == b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;
    use expect_test::{Expect, expect};

    fn check(bytes: &[u8], shown: &[Range<u64>], expected: Expect) {
        let output = output_of(bytes);
        let view = View::showing(&output, shown, Wording::Commands).unwrap();
        expected.assert_eq(&String::from_utf8_lossy(&view.print(&output).unwrap()));
    }

    #[test]
    fn a_marker_takes_the_place_of_the_lines_it_stands_for() {
        let text = b"one\ntwo\nthree\nfour\nfive\n";
        check(
            text,
            &[0..4, 19..24],
            expect![[r#"
            one
            [… 3 lines omitted: forebay read s/id1234 --lines 2:4]
            five
        "#]],
        );
        check(
            text,
            &[4..8],
            expect![[r#"
            [… 1 line omitted: forebay read s/id1234 --lines 1:1]
            two
            [… 3 lines omitted: forebay read s/id1234 --lines 3:5]
        "#]],
        );
        check(
            text,
            &[],
            expect![[r#"
            [… 5 lines omitted: forebay read s/id1234 --lines 1:5]
        "#]],
        );
    }

    #[test]
    fn a_marker_inside_a_line_stands_inside_the_line() {
        check(
            b"begin middle end\n",
            &[0..6, 12..17],
            expect![[r#"
            begin [… 6 bytes of line 1 omitted: forebay read s/id1234 --bytes 6:12] end
        "#]],
        );
        check(
            b"a long line\nand another\n",
            &[0..6, 16..24],
            expect![[r#"
            a long[… 10 bytes of lines 1–2 omitted: forebay read s/id1234 --bytes 6:16]another
        "#]],
        );
    }

    #[test]
    fn a_marker_before_a_block_of_a_page_ends_its_line() {
        let page = b"<html><p>One.</p><p>Two.</p><p>Three and four.</p></html>";
        let output = output_of(page);
        let place = |words: &[u8]| memchr::memmem::find(page, words).unwrap() as u64;
        let print = |shown: &[Range<u64>]| {
            let view = View::showing(&output, shown, Wording::Ranges).unwrap().on_page();
            String::from_utf8(view.print(&output).unwrap()).unwrap()
        };
        let shown = print(&[place(b"One")..place(b"</p>"), place(b"Three")..place(b"</p></html>")]);
        assert!(shown.contains("]\nThree and four."), "{shown}");
        let shown = print(&[place(b"and four")..place(b"</p></html>")]);
        assert!(shown.contains("]and four."), "{shown}");
    }

    #[test]
    fn a_count_of_characters_is_that_of_its_gap() {
        let output = output_of("ab\u{e9}d\u{e9}fgh\n".as_bytes());
        let verbatim = |range| Piece::Verbatim(range);
        let omitted = |range| Piece::Omitted { range, why: Why::LeftOut };
        for wording in [Wording::Characters, Wording::Recovery] {
            let print = |pieces| {
                let view = View::new(output.len(), pieces, wording).unwrap();
                assert_eq!(crate::verify(&view, &output).unwrap(), [], "{wording:?}");
                String::from_utf8_lossy(&view.print(&output).unwrap()).into_owned()
            };
            let shown = print(vec![omitted(0..4), verbatim(4..5), omitted(5..11)]);
            assert!(shown.contains("3 characters") && shown.contains("5 characters"), "{shown}");
            let shown = print(vec![verbatim(0..3), omitted(3..6), verbatim(6..11)]);
            assert!(shown.contains("3 characters"), "both halves of a cut character count: {shown}");
            assert!(print(vec![verbatim(0..4), omitted(4..11)]).contains("6 characters"));
        }
    }

    #[test]
    fn overwritten_bytes_are_marked_as_such() {
        check(
            b"10%\r50%\r100%\ndone\n",
            &[8..18],
            expect![[r#"
            [… 8 bytes overwritten by carriage returns: forebay read s/id1234 --bytes 0:8]100%
            done
        "#]],
        );
    }

    #[test]
    fn an_end_without_a_newline_stays_one() {
        check(
            b"a\nb",
            &[0..2],
            expect![[r#"
            a
            [… 1 line omitted: forebay read s/id1234 --lines 2:2]
        "#]],
        );
        check(
            b"a\nb",
            &[2..3],
            expect![[r#"
            [… 1 line omitted: forebay read s/id1234 --lines 1:1]
            b"#]],
        );
    }

    #[test]
    fn thousands_stand_apart() {
        let table = [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in table {
            assert_eq!(grouped(number), text);
        }
    }
}
