//! The preset `head-tail`: the beginning and the end, by characters and by lines, in one pass over the original.

use crate::view::print::is_line_start;
use crate::view::{Piece, View, Why, Wording};
use crate::{Output, Result, Settings};
use std::ops::Range;

/// Maximum bytes of one character.
const WIDEST: u64 = 4;

/// Cuts the middle out, by characters first, then by lines. Neither end keeps more than its share of both limits.
pub(crate) fn fold(output: &Output, settings: &Settings) -> Result<View> {
    let record = output.record();
    let limits = settings.head_tail.of(&record.call.tool);
    let ratio = limits.head_ratio.unwrap_or(settings.head_tail.head_ratio);
    let share = |limit: u64| {
        let head = (limit as f64 * ratio) as u64;
        (head, limit - head)
    };
    let (mut head, mut tail) = (output.len(), 0);
    if record.size.characters > limits.characters {
        let (head_characters, tail_characters) = share(limits.characters);
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
    let head = within_head(output, head, head_lines)?;
    let tail = within_tail(output, tail, record.size.lines - tail_lines)?;
    // Lines that are left out whole. The missing part of a line that is shown in part is counted in characters.
    let lines = next_line(output, head)?..this_line(output, tail)?;
    let opening =
        format!("[First {} lines of {}]\n", output.newlines_before(lines.start)?, record.size.lines);
    let omitted = |range: Range<u64>| Piece::Omitted { range, why: Why::LeftOut };
    let mut pieces = vec![
        Piece::Verbatim(0..head),
        omitted(head..lines.start),
        omitted(lines.clone()),
        omitted(lines.end..tail),
        Piece::Verbatim(tail..output.len()),
    ];
    pieces.retain(|piece| !piece.range().is_empty());
    let view = View::new(output.len(), pieces, Wording::Lines)?.framed(opening, artifact);
    Ok(View { surface: output.surface().clone(), ..view })
}

/// End of a head of at most `lines` lines and `limit` bytes. It ends with a whole line, unless
/// a long line would then take more than half of the head with it.
fn within_head(output: &Output, limit: u64, lines: u64) -> Result<u64> {
    let end = output.line_start(lines)?;
    let whole = this_line(output, limit)?;
    let loses_half = limit - whole > limit / 2;
    Ok(if end <= limit {
        end
    } else if loses_half {
        limit
    } else {
        whole
    })
}

/// Start of a tail that starts at `limit` at the earliest, and not before the line with the index `line`.
fn within_tail(output: &Output, limit: u64, line: u64) -> Result<u64> {
    let first = output.line_start(line)?;
    let whole = next_line(output, limit)?;
    let loses_half = whole - limit > (output.len() - limit) / 2;
    Ok(if first >= limit {
        first
    } else if loses_half {
        limit
    } else {
        whole
    })
}

/// Start of the line that contains `offset`; `offset` itself at the end of the output.
fn this_line(output: &Output, offset: u64) -> Result<u64> {
    if is_line_start(output, offset)? {
        return Ok(offset);
    }
    output.line_start(output.newlines_before(offset)?)
}

/// Start of the first line at `offset` or after it.
fn next_line(output: &Output, offset: u64) -> Result<u64> {
    if is_line_start(output, offset)? {
        return Ok(offset);
    }
    output.line_start(output.newlines_before(offset)? + 1)
}

/// One line that names the artifact.
fn artifact_line(output: &Output) -> String {
    let handle = &output.record().handle;
    match output.path() {
        Some(path) => format!("[Full output: {} (handle {handle})]\n", path.display()),
        None => format!("[Full output: handle {handle}]\n"),
    }
}

/// End of the first `count` characters.
pub(crate) fn first_characters(output: &Output, count: u64) -> Result<u64> {
    Ok(length_of(&output.read(0..count.saturating_mul(WIDEST))?, count))
}

/// Start of the last `count` characters.
pub(crate) fn last_characters(output: &Output, count: u64) -> Result<u64> {
    let from = output.character_start(output.len().saturating_sub(count.saturating_mul(WIDEST)))?;
    let bytes = output.read(from..output.len())?;
    Ok(from + length_of(&bytes, crate::size::characters(&bytes).saturating_sub(count)))
}

/// Bytes of the first `characters` characters; a sequence that is not UTF-8 is one character.
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
    use crate::{Call, Piece, Preset, Session, Settings};
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
        let view = crate::presets::head_tail::fold(&output, settings).unwrap();
        expected.assert_eq(&String::from_utf8(view.print(&output).unwrap()).unwrap());
    }

    #[test]
    fn thirty_percent_of_the_lines_are_the_first_and_seventy_the_last() {
        let text: String = (1..=500).map(|line| format!("line {line}\n")).collect();
        let output = output_of(text.as_bytes());
        let view = crate::presets::head_tail::fold(&output, &settings(20_000, 100)).unwrap();
        let shown = String::from_utf8(view.print(&output).unwrap()).unwrap();
        assert!(shown.starts_with("[First 30 lines of 500]\nline 1\n"));
        let middle = "line 30\n\n... [400 lines truncated — full output available in artifacts] ...\n\n[Last 70 lines of 500]\nline 431\n";
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
        let text = crate::presets::head_tail::fold(&output, &settings).unwrap().print(&output).unwrap();
        assert!(text.starts_with(b"[First 5 lines of 40]\n"));
    }

    #[test]
    fn a_line_longer_than_its_share_is_cut_inside_and_lines_are_cut_all_the_same() {
        let text = format!("{}\n{}", "x".repeat(25), "a\n".repeat(40));
        check(
            &text,
            &settings(20, 4),
            expect![[r#"
                [First 1 lines of 41]
                xxxxxx

                ... [20 characters truncated] ...

                ... [37 lines truncated — full output available in artifacts] ...

                [Last 3 lines of 41]
                a
                a
                a
                [Full output: handle s/id1234]
            "#]],
        );
        let text = format!("{}b\n{}y", "a\n".repeat(40), "x".repeat(24));
        check(
            &text,
            &settings(20, 4),
            expect![[r#"
                [First 1 lines of 42]
                a

                ... [40 lines truncated — full output available in artifacts] ...

                [Last 1 lines of 42]
                ... [11 characters truncated] ...

                xxxxxxxxxxxxxy
                [Full output: handle s/id1234]
            "#]],
        );
    }

    proptest! {
        #[test]
        fn no_view_has_more_than_its_limits_and_its_counts_add_up(
            lines in proptest::collection::vec("[a漢🎉\r ]{0,60}", 1..60),
            ends in any::<bool>(), limit in 4u64..400, most in 1u64..30, ratio in 0.0..=1.0f64,
        ) {
            let text = lines.join("\n") + if ends { "\n" } else { "" };
            let output = output_of(text.as_bytes());
            let size = output.record().size;
            prop_assume!(size.characters > limit || size.lines > most);
            let mut settings = settings(limit, most);
            settings.head_tail.head_ratio = ratio;
            let view = crate::presets::head_tail::fold(&output, &settings).unwrap();
            prop_assert!(crate::verify(&view, &output).unwrap().is_empty());

            let shown: Vec<String> = view.pieces().iter()
                .filter(|piece| matches!(piece, Piece::Verbatim(_)))
                .map(|piece| String::from_utf8(output.read(piece.range().clone()).unwrap()).unwrap())
                .collect();
            let shown_characters: u64 = shown.iter().map(|text| text.chars().count() as u64).sum();
            prop_assert!(shown_characters <= limit);
            let printed = String::from_utf8(view.print(&output).unwrap()).unwrap();
            let numbers = |before: &str, after: &str| -> Vec<u64> {
                let lines = printed.lines().filter_map(|line| line.strip_prefix(before));
                lines.filter_map(|line| line.split_once(after)?.0.parse().ok()).collect()
            };
            let truncated = numbers("... [", " characters truncated] ...");
            if size.lines <= most {
                prop_assert_eq!(truncated, [size.characters - shown_characters]);
                return Ok(());
            }
            let shown_lines: u64 = shown.iter().map(|text| text.lines().count() as u64).sum();
            prop_assert!(shown_lines <= most);
            let of = format!(" lines of {}]", size.lines);
            let counted = [
                numbers("[First ", &of), numbers("... [", " lines truncated"), numbers("[Last ", &of),
            ].map(|numbers| numbers[0]);
            prop_assert_eq!(counted.iter().sum::<u64>(), size.lines);
            prop_assert_eq!(counted[0] + counted[2], shown_lines);
            // Characters left out of lines that are shown in part.
            let whole: u64 = text.split_inclusive('\n').skip(counted[0] as usize).take(counted[1] as usize)
                .map(|line| line.chars().count() as u64).sum();
            prop_assert_eq!(truncated.iter().sum::<u64>() + whole + shown_characters, size.characters);
        }
    }
}
