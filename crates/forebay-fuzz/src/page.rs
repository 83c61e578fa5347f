//! The reader of HTML.

use crate::{check_fold, check_view, output_of};
use forebay::view::{Canvas, Wording};
use forebay::{Output, Piece, View};

/// Words of HTML.
pub const WORDS: &[&str] = &[
    "<p>",
    "</p>",
    "<",
    "</",
    "<!--",
    "-->",
    "<a href='x'>",
    "</a>",
    "<script>",
    "</script",
    "<br/>",
    "<td>",
    "<h1>",
    "<!",
    "<?",
    "&amp;",
    "&#x1f600;",
    "&#xd800;",
    "&#0;",
    "&eacute;",
    "&nbsp;",
    "&",
    ";",
    "<svg/>",
    "\u{a0}",
    "é",
    "[next: ",
    "\r\n",
];

/// Pages.
pub fn samples() -> Vec<Vec<u8>> {
    let article: String =
        (1..30).map(|n| format!("<p>Paragraph {n} says <b>something</b> &amp; more.</p>\n")).collect();
    [
        "<html><body><h1>Title</h1><p>One &lt;two&gt; &eacute;&#233;&#xe9;.</p><ul><li><a href='#x'>x</a></ul></body></html>",
        "<!doctype html><head><style>p { color: red }</style><script>if (a < b) alert('</p>')</script></head><p>Text<br>more",
        "<table><tr><th>Name<th>Size</tr><tr><td>a.rs<td>12</tr></table><!-- <p>hidden --> &nbsp; 3 < 4 &bogus; caf\u{e9}",
        &format!("<html><title>Long</title><body>{article}</body></html>"),
    ]
    .map(|page| page.as_bytes().to_vec())
    .to_vec()
}

/// Any bytes can be shown as a browser shows them, whole or in parts, and a text stays a text.
pub fn check(page: &[u8]) {
    let output = output_of(page);
    let whole = shown(&output, &[]);
    assert!(std::str::from_utf8(page).is_err() || std::str::from_utf8(&whole).is_ok(), "UTF-8 is broken");
    let (third, half) = (page.len() as u64 / 3, page.len() as u64 / 2);
    let in_parts = shown(&output, &[third, half]);
    // A backslash before what looks like a marker depends on where a line is cut.
    assert!(page.contains(&b'[') || page.contains(&b'&') || in_parts == whole, "parts lose text");
    check_fold(&output);
}

/// The text of a page that is shown in parts, cut at these places.
fn shown(output: &Output, cuts: &[u64]) -> Vec<u8> {
    let ends = cuts.iter().copied().chain([output.len()]);
    let mut start = 0;
    let mut pieces = Vec::new();
    for end in ends.filter(|&end| end > 0) {
        if end > start {
            pieces.push(Piece::Rendered { range: start..end, on: Canvas::Page });
            start = end;
        }
    }
    check_view(&View::new(output.len(), pieces, Wording::Ranges).unwrap(), output)
}
