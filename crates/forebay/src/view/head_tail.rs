//! The preset `head-tail`: the beginning and the end, by characters and by lines, in one pass over the original.

use super::{View, Wording};
use crate::{Output, Result, Settings};

/// A character has at most this many bytes.
const WIDEST: u64 = 4;

/// Cuts the middle out. Where lines are over, whole lines are kept as far as the characters allow.
pub(super) fn fold(output: &Output, settings: &Settings) -> Result<View> {
    let record = output.record();
    let limits = settings.head_tail.of(&record.call.tool);
    let ratio = limits.head_ratio.unwrap_or(settings.head_tail.head_ratio);
    let share = |limit: u64| {
        let head = (limit as f64 * ratio) as u64;
        (head, limit - head)
    };
    let (head_characters, tail_characters) = share(limits.characters);
    let (mut head, mut tail) = (0, output.len());
    if record.size.characters > limits.characters {
        head = first_characters(output, head_characters)?;
        tail = last_characters(output, tail_characters)?;
    }
    let artifact = artifact_line(output);
    if record.size.lines <= limits.lines {
        return Ok(
            View::showing(output, &[0..head, tail..output.len()], Wording::Characters)?.framed("", artifact)
        );
    }

    let (head_lines, tail_lines) = share(limits.lines);
    let by_characters = record.size.characters > limits.characters;
    let mut first = output.line_start(head_lines)?;
    let mut last = output.line_start(record.size.lines - tail_lines)?;
    if by_characters && head < first {
        first = output.line_start(output.newlines_before(head)?)?;
    }
    if by_characters && tail > last {
        last = output.line_start(output.newlines_before(tail.saturating_sub(1))? + 1)?;
    }
    // Where one line is longer than its whole share, whole lines would leave nothing of that end.
    if (first == 0 && head > 0) || (last == output.len() && tail < output.len()) {
        return Ok(
            View::showing(output, &[0..head, tail..output.len()], Wording::Characters)?.framed("", artifact)
        );
    }
    let shown = output.newlines_before(first)?;
    let opening = format!("[First {shown} lines of {}]\n", record.size.lines);
    Ok(View::showing(output, &[0..first, last..output.len()], Wording::Lines)?.framed(opening, artifact))
}

/// One line that names the artifact.
fn artifact_line(output: &Output) -> String {
    let handle = &output.record().handle;
    match output.path() {
        Some(path) => format!("[Full output: {} (handle {handle})]\n", path.display()),
        None => format!("[Full output: handle {handle}]\n"),
    }
}

/// Where the first `count` characters end.
pub(super) fn first_characters(output: &Output, count: u64) -> Result<u64> {
    Ok(length_of(&output.read(0..count.saturating_mul(WIDEST))?, count))
}

/// Where the last `count` characters start.
pub(super) fn last_characters(output: &Output, count: u64) -> Result<u64> {
    let from = output.character_start(output.len().saturating_sub(count.saturating_mul(WIDEST)))?;
    let bytes = output.read(from..output.len())?;
    Ok(from + length_of(&bytes, crate::size::characters(&bytes).saturating_sub(count)))
}

/// How many bytes the first `characters` characters have; a sequence that is not UTF-8 is one.
fn length_of(bytes: &[u8], characters: u64) -> u64 {
    let mut left = usize::try_from(characters).unwrap_or(usize::MAX);
    let mut length = 0;
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        let end = valid.char_indices().nth(left).map_or(valid.len(), |(at, _)| at);
        length += end;
        left -= valid[..end].chars().count();
        if left == 0 {
            break;
        }
        if !chunk.invalid().is_empty() {
            length += chunk.invalid().len();
            left -= 1;
        }
    }
    length as u64
}

#[cfg(test)]
mod tests {
    use crate::store::memory::{output_of, output_of_call};
    use crate::{Call, Preset, Session, Settings};
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn settings(characters: u64, lines: u64) -> Settings {
        let mut settings = Settings { preset: Preset::HeadTail, ..Settings::default() };
        settings.head_tail.other.characters = characters;
        settings.head_tail.other.lines = lines;
        settings
    }

    fn check(text: &str, settings: &Settings, expected: Expect) {
        let output = output_of(text.as_bytes());
        let view = super::fold(&output, settings).unwrap();
        expected.assert_eq(&String::from_utf8(view.print(&output).unwrap()).unwrap());
    }

    #[test]
    fn thirty_percent_of_the_lines_are_the_first_and_seventy_the_last() {
        let text: String = (1..=500).map(|line| format!("line {line}\n")).collect();
        let output = output_of(text.as_bytes());
        let view = super::fold(&output, &settings(20_000, 100)).unwrap();
        let shown = String::from_utf8(view.print(&output).unwrap()).unwrap();
        assert!(shown.starts_with("[First 30 lines of 500]\nline 1\n"));
        let middle = "line 30\n... [400 lines truncated — full output available in artifacts] ...\n\n[Last 70 lines of 500]\nline 431\n";
        assert!(shown.contains(middle), "{shown}");
        assert!(shown.ends_with("line 500\n[Full output: handle s/id1234]\n"));
    }

    #[test]
    fn characters_alone_are_cut_in_the_middle() {
        check(
            "abcdefghijklmnopqrstuvwxyz",
            &settings(10, 100),
            expect![[r#"
            abc

            ... [16 characters truncated] ...

            tuvwxyz
            [Full output: handle s/id1234]
        "#]],
        );
        check(
            "äöüÄÖÜßéèêëñç漢字仮名🎉🎊xyz0",
            &settings(10, 100),
            expect![[r#"
            äöü

            ... [13 characters truncated] ...

            名🎉🎊xyz0
            [Full output: handle s/id1234]
        "#]],
        );
    }

    #[test]
    fn where_both_are_over_one_pass_keeps_whole_lines_within_the_characters() {
        let text: String = (1..=50).map(|line| format!("line {line} with some words\n")).collect();
        check(
            &text,
            &settings(200, 20),
            expect![[r#"
            [First 2 lines of 50]
            line 1 with some words
            line 2 with some words
            ... [43 lines truncated — full output available in artifacts] ...

            [Last 5 lines of 50]
            line 46 with some words
            line 47 with some words
            line 48 with some words
            line 49 with some words
            line 50 with some words
            [Full output: handle s/id1234]
        "#]],
        );
    }

    #[test]
    fn the_share_of_the_head_can_be_set_for_one_tool() {
        let mut settings = settings(20_000, 10);
        let own =
            crate::settings::CharactersAndLines { characters: 20_000, lines: 10, head_ratio: Some(0.5) };
        settings.head_tail.tools.insert("mine".into(), own);
        let call = Call::new(Session::safe("s"), "id1234", "mine", jiff::Timestamp::UNIX_EPOCH);
        let output = output_of_call(&call, "x\n".repeat(40).as_bytes());
        let text = super::fold(&output, &settings).unwrap().print(&output).unwrap();
        assert!(text.starts_with(b"[First 5 lines of 40]\n"));
    }

    proptest! {
        #[test]
        fn the_characters_shown_and_missing_are_those_of_the_original(
            text in "[a漢\\n🎉\r ]{30,120}", limit in 4u64..29, lines in 1u64..9,
        ) {
            let output = output_of(text.as_bytes());
            let view = super::fold(&output, &settings(limit, lines)).unwrap();
            let shown: u64 = view.pieces().iter().filter(|piece| matches!(piece, crate::Piece::Verbatim(_)))
                .map(|piece| crate::size::characters(&output.read(piece.range().clone()).unwrap())).sum();
            prop_assert!(shown <= limit);
            prop_assert!(crate::verify(&view, &output).unwrap().is_empty());
        }
    }
}
