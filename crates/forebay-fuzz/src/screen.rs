//! The terminal: escape codes, carriage returns and a cursor that moves.

use crate::{check_fold, check_view, output_of};
use forebay::view::{Canvas, Wording};
use forebay::{Piece, View};

/// Codes of terminals.
pub const WORDS: &[&str] = &[
    "\u{1b}[A",
    "\u{1b}[2A",
    "\u{1b}[1F",
    "\u{1b}[B",
    "\u{1b}[9C",
    "\u{1b}[3D",
    "\u{1b}[7G",
    "\u{1b}[2;5H",
    "\u{1b}[J",
    "\u{1b}[2J",
    "\u{1b}[K",
    "\u{1b}[1K",
    "\u{1b}[2K",
    "\u{1b}[31m",
    "\u{1b}[0m",
    "\u{1b}]0;title\u{7}",
    "\u{1b}(B",
    "\u{1b}",
    "\u{1b}[",
    "\r",
    "\n",
    "\r\n",
    "\u{8}",
    "é",
    "[… 1:2]",
    "\u{1b}[999999H",
    "2024-05-01T10:00:00Z ",
];

/// Outputs of programs that repaint.
pub fn samples() -> Vec<Vec<u8>> {
    let bars: String =
        (0..20).map(|n| format!("\u{1b}[2A\u{1b}[2Klayer a {n}\n\u{1b}[2Klayer b {n}\n")).collect();
    [
        "\u{1b}[31;1merror\u{1b}[0m: it failed\r\n10%\r50%\r100% done\nnext line\n",
        &format!("pulling\na\nb\n{bars}done\n"),
        "a\nb\nc\n\u{1b}[2;2Hx\u{1b}[Jy\n\u{1b}[1;1H\u{1b}[2Jnew screen\n\u{1b}]0;title\u{7}text\u{8}\u{8}TT\n",
        "2024-05-01T10:00:00.1234567Z ##[group]Run\n2024-05-01T10:00:01.1234567Z \u{1b}[36;1mmake\u{1b}[0m\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// Any bytes can be shown as a terminal shows them, and no escape code is left.
pub fn check(bytes: &[u8]) {
    let output = output_of(bytes);
    if !bytes.is_empty() {
        for on in [Canvas::Screen, Canvas::Quoted] {
            let pieces = vec![Piece::Rendered { range: 0..output.len(), on }];
            let text = check_view(&View::new(output.len(), pieces, Wording::Ranges).unwrap(), &output);
            assert!(!text.contains(&0x1b), "an escape code is left");
            assert!(
                std::str::from_utf8(bytes).is_err() || std::str::from_utf8(&text).is_ok(),
                "UTF-8 is broken"
            );
        }
    }
    check_fold(&output);
}
