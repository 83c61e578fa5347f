//! Outputs whose standard output is JSON or a page: it is shown in that form, with standard error beside it.

use crate::classify::stdout::Stdout;
use crate::digest::fit::top_and_bottom;
use crate::digest::frame::frame_tokens;
use crate::digest::probe::Probe;
use crate::digest::recognizers;
use crate::view::{Piece, View, Why};
use crate::weights::folding::STDERR_SHARE;
use crate::{Budget, Kind, Output, Result};
use std::ops::Range;

/// Text that the first line of such a view adds.
const NOTE: &str = "; stdout by itself, stderr beside it]\n";

/// View of an output: of its separate streams if standard output has a form of its own, otherwise of all of it.
pub(crate) fn overview(probe: &Probe, budget: Budget) -> Result<View> {
    match apart(probe.output, budget)? {
        Some(view) => Ok(view),
        None => recognizers::view(probe, budget),
    }
}

/// View of an output with two streams whose standard output has a form of its own.
fn apart(output: &Output, budget: Budget) -> Result<Option<View>> {
    let Some(stdout) = Stdout::of(output)? else { return Ok(None) };
    let Some(stderr) = output.stderr()? else { return Ok(None) };
    let told = output.derived(&stderr)?.of_kind(Kind::Text);
    let beside = Budget {
        tokens: frame_tokens(output, budget) + (budget.tokens as f64 * STDERR_SHARE) as u64,
        ..budget
    };
    let of_stderr = match told.tokens_up_to(beside.tokens)? {
        Some((tokens, _)) if tokens <= beside.tokens => vec![Piece::Verbatim(0..told.len())],
        _ => top_and_bottom(&told, beside)?.pieces().to_vec(),
    };
    // The cost of standard error and its markers is known only after printing.
    for share in [1.0, 0.9, 0.75, 0.5] {
        let tokens = ((budget.tokens as f64 - beside.tokens as f64) * share) as u64;
        let view = recognizers::view(&Probe::new(&stdout.output), Budget { tokens, ..budget })?;
        let mut pieces = placed(view.pieces(), |range| stdout.origins(range));
        pieces.extend(placed(&of_stderr, |range| stderr.origins(range)));
        pieces.sort_by_key(|piece| piece.range().start);
        let Some(opening) = view.opening.strip_suffix("]\n") else { return Ok(None) };
        let opening = format!("{opening}{NOTE}");
        let joined = View::new(output.len(), pieces, view.wording)?;
        let joined = View { surface: output.surface().clone(), apart: true, ..joined };
        let joined = joined.quoting(output)?.framed(opening, view.closing);
        if budget.holds(&joined.print(output)?) {
            return Ok(Some(joined));
        }
    }
    Ok(None)
}

/// Pieces of a stream at their places in the output. A piece that the other stream interrupts becomes several; a
/// summary stays with the first.
fn placed(pieces: &[Piece], origins: impl Fn(&Range<u64>) -> Vec<Range<u64>>) -> Vec<Piece> {
    let mut placed = Vec::new();
    for piece in pieces {
        for (number, range) in origins(piece.range()).into_iter().enumerate() {
            placed.push(match piece {
                Piece::Verbatim(_) => Piece::Verbatim(range),
                Piece::Rendered { on, .. } => Piece::Rendered { range, on: *on },
                Piece::Digest { summary, .. } if number == 0 => {
                    Piece::Digest { range, summary: summary.clone() }
                }
                Piece::Digest { .. } => Piece::Omitted { range, why: Why::LeftOut },
                Piece::Omitted { why, .. } => Piece::Omitted { range, why: *why },
            });
        }
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of_streams;
    use proptest::prelude::*;

    fn shown(output: &Output, tokens: u64) -> String {
        let budget = Budget { tokens, bytes: tokens * 8, lines: None };
        let view = apart(output, budget).unwrap().unwrap();
        assert_eq!(crate::verify(&view, output).unwrap(), vec![]);
        let text = view.print(output).unwrap();
        assert!(budget.holds(&text));
        String::from_utf8(text).unwrap()
    }

    fn items(from: usize, to: usize) -> String {
        let item =
            |n: usize| format!(r#"{{"id": "item-{n}", "state": "open", "note": "words of part {n}"}}"#);
        (from..to).map(item).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn a_body_of_json_is_a_table_and_what_curl_tells_stands_beside_it() {
        let begins = format!("[{},", items(0, 40));
        let ends = format!("{}]", items(40, 80));
        let output = output_of_streams(&[
            "* Connected to shop.example port 443\n< HTTP/2 200\n",
            &begins,
            "{ [1378 bytes data]\n",
            &ends,
            "* Connection #0 to host shop.example left intact\n",
        ]);
        let text = shown(&output, 2_000);
        assert!(text.contains("; stdout by itself, stderr beside it]\n"), "{text}");
        for line in ["\n* Connected to shop.example port 443\n< HTTP/2 200\n", "\n* Connection #0 to host"] {
            assert!(text.contains(line), "{text}");
        }
        for item in [0, 39, 40, 79] {
            assert!(text.contains(&format!("item-{item} ")), "{item}: {text}");
        }
    }

    #[test]
    fn a_page_and_what_curl_tells_do_not_share_a_line() {
        let page: String = (0..400).map(|n| format!("<p>Paragraph {n} of the article.</p>")).collect();
        let page = format!("<html><body>{page}</body></html>");
        let text = shown(&output_of_streams(&["* Connected\n", &page, "* left intact\n"]), 900);
        assert!(text.contains("\n* Connected\nParagraph 0 of the article.\n"), "{text}");
        assert!(text.contains("]\n* left intact\n"), "{text}");
    }

    #[test]
    fn of_a_long_standard_error_both_ends_are_shown() {
        let told: String = (0..3_000).map(|n| format!("* step {n} of the handshake\n")).collect();
        let body = format!("[{}]", items(0, 400));
        let text = shown(&output_of_streams(&[&told, &body, "* done\n"]), 1_500);
        assert!(text.contains("* step 0 of") && text.contains("* done") && text.contains("item-0"), "{text}");
    }

    proptest! {
        #[test]
        fn every_byte_of_both_streams_is_in_a_piece(cuts in proptest::collection::vec(1usize..3_000, 0..6), tokens in 1_500u64..4_000) {
            let body = format!("[{}]", items(0, 60));
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(body.len() - 1)).collect();
            cuts.sort_unstable();
            cuts.dedup();
            let mut parts = vec!["* begins\n".to_owned()];
            let mut at = 0;
            for cut in cuts {
                parts.extend([body[at..cut].to_owned(), "{ [9 bytes data]\n".to_owned()]);
                at = cut;
            }
            parts.push(body[at..].to_owned());
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            let text = shown(&output_of_streams(&parts), tokens);
            prop_assert!(text.contains("item-0") && text.contains("* begins"), "{}", text);
        }
    }
}
