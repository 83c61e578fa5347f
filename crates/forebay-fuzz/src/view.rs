//! Stored views.

use crate::{check_view, output_of};
use forebay::view::{Canvas, CompactForm, Wording};
use forebay::{Piece, Settings, View, Why, fold, verify};

/// Parts of stored views.
pub const WORDS: &[&str] = &[
    "{\"verbatim\":{\"start\":0,\"end\":9}},",
    "{\"rendered\":{\"range\":{\"start\":0,\"end\":90},\"on\":\"page\"}}",
    "\"screen\"",
    "\"quoted\"",
    "{\"compact\":\"lines\"}",
    "\"left-out\"",
    "\"overwritten\"",
    "\"lost\"",
    "\"commands\"",
    "\"ranges\"",
    "\"characters\"",
    "\"lines\"",
    "\"references\"",
    "\"recovery\"",
    "\"silent\"",
    "\"apart\":true,",
    "\"masks\":[{\"range\":{\"start\":3,\"end\":1},\"text\":\"#\"}],",
    ",",
    "{",
    "}",
    "[",
    "]",
    "null",
];

/// Largest output that is made for a view, in bytes.
const LARGEST: u64 = 64 * 1024;

/// Views of several kinds.
pub fn samples() -> Vec<Vec<u8>> {
    let total = 3_000;
    let output = output_of(&bytes_of(total));
    let mut settings = Settings::default();
    settings.digest.tokens = 100;
    settings.digest.budget.tokens = 100;
    let mut views = vec![fold(&output, &settings).unwrap()];
    let wordings = [
        Wording::Commands,
        Wording::Ranges,
        Wording::Characters,
        Wording::Lines,
        Wording::References,
        Wording::Recovery,
        Wording::Silent,
    ];
    for wording in wordings {
        let pieces = vec![
            Piece::Verbatim(0..28),
            Piece::Omitted { range: 28..700, why: Why::LeftOut },
            Piece::Rendered { range: 700..901, on: Canvas::Screen },
            Piece::Omitted { range: 901..1_500, why: Why::Overwritten },
            Piece::Rendered { range: 1_500..2_000, on: Canvas::Page },
            Piece::Omitted { range: 2_000..total, why: Why::LeftOut },
        ];
        views.push(View::new(total, pieces, wording).unwrap());
    }
    for form in [CompactForm::Lines, CompactForm::Matches, CompactForm::Numbered] {
        let pieces = vec![
            Piece::Rendered { range: 0..900, on: Canvas::Compact(form) },
            Piece::Omitted { range: 900..total, why: Why::LeftOut },
        ];
        views.push(View::new(total, pieces, Wording::Commands).unwrap());
    }
    views.iter().map(|view| serde_json::to_vec(view).unwrap()).collect()
}

/// A view that can be read from JSON prints its output truly, and verification refuses it for an output of another length.
pub fn check(stored: &[u8]) {
    let Ok(view) = serde_json::from_slice::<View>(stored) else { return };
    let other = output_of(b"<p>one</p>\ntwo\n");
    if view.total() != other.len() {
        assert_ne!(verify(&view, &other).unwrap(), [], "a view of another output is verified");
        let _ = view.print(&other);
    }
    if view.total() <= LARGEST {
        check_view(&view, &output_of(&bytes_of(view.total())));
    }
}

/// Text of so many bytes, with something for each canvas.
fn bytes_of(total: u64) -> Vec<u8> {
    let lines = "plain words in a line\n<p>a block &amp; more</p>\n\u{1b}[31m10%\r20%\u{1b}[0m done\nsrc/a.rs:12: fn é()\n";
    lines.bytes().cycle().take(usize::try_from(total).unwrap_or(0)).collect()
}
