//! The lines before and after a view: what it shows, and how to read more.

use crate::text::count::{count, grouped};
use crate::view::{Canvas, Piece, View, Wording};
use crate::weights::folding::{CLEAR_LINE_BYTES, FULL_FRAME_TOKENS, TWO_COUNTS_TOKENS};
use crate::{Budget, Grep, Kind, Output, Query, Result, State, tokens};

/// Adds the frame to a view, and quotes lines of the output that look like markers.
pub(crate) fn framed(view: View, output: &Output, budget: Budget) -> Result<View> {
    stating(view, output, budget, "")
}

/// Adds the frame to a view, with facts about the view in its first line.
pub(crate) fn stating(view: View, output: &Output, budget: Budget, facts: &str) -> Result<View> {
    let canvas = view.pieces().iter().find_map(Piece::canvas);
    let view = view.quoting(output)?;
    let is_marked = |piece: &Piece| matches!(piece, Piece::Omitted { .. } | Piece::Digest { .. });
    let is_quoted = |piece: &Piece| piece.canvas() == Some(Canvas::Quoted);
    let shown = Shown {
        canvas,
        has_markers: view.pieces().iter().any(is_marked),
        has_quotes: view.pieces().iter().any(is_quoted),
        facts: facts.to_owned(),
    };
    Ok(view.framed(opening(output, budget, &shown), closing(output, budget)))
}

/// Wording of markers. In a small view, only one of them has the call.
pub(crate) fn wording(budget: Budget) -> Wording {
    if is_full(budget) { Wording::Commands } else { Wording::Ranges }
}

/// Tokens of a frame around a view with markers.
pub(crate) fn frame_tokens(output: &Output, budget: Budget) -> u64 {
    let shown = Shown { canvas: None, has_markers: true, has_quotes: false, facts: String::new() };
    tokens::count(&opening(output, budget, &shown)) + tokens::count(&closing(output, budget))
}

fn is_full(budget: Budget) -> bool {
    budget.tokens >= FULL_FRAME_TOKENS
}

/// Properties of a view that its first line mentions.
struct Shown {
    /// Medium on which parts are rendered.
    canvas: Option<Canvas>,
    has_markers: bool,
    /// Whether lines that look like markers are quoted.
    has_quotes: bool,
    /// Facts about the view.
    facts: String,
}

/// First line: the size of the output and how it ended. In a small view it names the handle only if no marker does.
fn opening(output: &Output, budget: Budget, shown: &Shown) -> String {
    let record = output.record();
    let size = record.size;
    let exit = record.exit.map_or(String::new(), |exit| format!(", {exit}"));
    let state = match (&record.lost, &record.state) {
        (Some(lost), _) => {
            format!("; only {} bytes could be kept: {}", grouped(record.kept()), lost.why)
        }
        (None, State::CutShort(why)) => {
            format!("; cut short: {why}; what came is kept as {}", record.handle.short())
        }
        (None, State::Growing) => format!("; still growing, kept as {}", record.handle.short()),
        (None, State::Complete) if shown.has_markers && !is_full(budget) => String::new(),
        (None, State::Complete) => format!("; kept whole as {}", record.handle.short()),
    };
    let name = if is_full(budget) { "forebay view" } else { "view" };
    let (lines, bytes) = (count("line", size.lines), count("byte", size.bytes));
    let is_clear = size.bytes <= size.lines * CLEAR_LINE_BYTES;
    let size = if record.kind == Kind::Binary {
        bytes
    } else if budget.tokens < TWO_COUNTS_TOKENS && record.lost.is_none() && is_clear {
        lines
    } else {
        format!("{lines}, {bytes}")
    };
    let rendered = shown.canvas.map_or(String::new(), |canvas| format!(" {canvas}"));
    let quotes = if shown.has_quotes { "; \\[ is its own text" } else { "" };
    let facts = if shown.facts.is_empty() { String::new() } else { format!("; {}", shown.facts) };
    format!("[{name} of {size}{rendered}{exit}{state}{facts}{quotes}]\n")
}

/// Last line: how to read more, if there is room for it.
fn closing(output: &Output, budget: Budget) -> String {
    let record = output.record();
    if record.lost.is_some() || !is_full(budget) {
        return String::new();
    }
    let search = match record.kind {
        Kind::Binary => String::new(),
        _ => format!("[search: {}", output.call(&Query::Grep(Grep::new("PATTERN")))),
    };
    let unfolded = output.surface().unfolded().map_or(String::new(), |word| format!(" · unfolded: {word}"));
    match (output.path(), search.is_empty()) {
        (Some(path), false) => format!("{search} · file: {}{unfolded}]\n", path.display()),
        (Some(path), true) => format!("[file: {}{unfolded}]\n", path.display()),
        (None, false) => format!("{search}{unfolded}]\n"),
        (None, true) => String::new(),
    }
}
