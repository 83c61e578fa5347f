//! Pieces of a view: what is done with each part of an output.

use crate::compact;
use crate::view::summary::Summary;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// One piece of a view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Piece {
    /// Bytes that are shown as they are.
    Verbatim(Range<u64>),
    /// Bytes that are shown as a reader would see them: without escape codes, tags, and the like.
    Rendered {
        /// The bytes.
        range: Range<u64>,
        /// Medium on which the reader would see them.
        on: Canvas,
    },
    /// Bytes that are not shown; a marker says so.
    Omitted {
        /// The bytes.
        range: Range<u64>,
        /// Why they are not shown.
        why: Why,
    },
    /// Bytes that are not shown; a marker says so and sums them up.
    Digest {
        /// The bytes.
        range: Range<u64>,
        /// Summary in the marker. Earlier versions stored its text.
        #[serde(alias = "text")]
        summary: Summary,
    },
}

impl Piece {
    /// Bytes of the output that it covers.
    pub fn range(&self) -> &Range<u64> {
        match self {
            Piece::Verbatim(range)
            | Piece::Rendered { range, .. }
            | Piece::Omitted { range, .. }
            | Piece::Digest { range, .. } => range,
        }
    }

    /// Medium on which its bytes are rendered, if they are.
    pub(crate) fn canvas(&self) -> Option<Canvas> {
        match self {
            Piece::Rendered { on, .. } => Some(*on),
            _ => None,
        }
    }
}

/// Medium on which a reader would see an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Canvas {
    /// A terminal.
    Screen,
    /// A browser.
    Page,
    /// A terminal, with a backslash before text that looks like a marker and is not one.
    Quoted,
    /// A compact form of the whole output, of which the piece is a part.
    Compact(compact::CompactForm),
}

impl std::fmt::Display for Canvas {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Canvas::Screen | Canvas::Quoted => f.pad("as a screen shows them"),
            Canvas::Page => f.pad("as a browser shows them"),
            Canvas::Compact(form) => form.fmt(f),
        }
    }
}

/// Why bytes are not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Why {
    /// They did not fit, and others matter more.
    LeftOut,
    /// Carriage returns wrote over them, so a person would not have seen them either.
    Overwritten,
    /// They could not be stored.
    Lost,
}

/// Wording of the markers of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Wording {
    /// Counts, and the command that reads the missing bytes.
    Commands,
    /// The first marker has the command; later ones only the lines or bytes that are missing.
    Ranges,
    /// `... [N characters truncated] ...`
    Characters,
    /// `... [N lines truncated — full output available in artifacts] ...`
    Lines,
    /// Counts, and the `context.read` that reads the missing bytes.
    References,
    /// `[... N characters truncated ...]`
    Recovery,
    /// No markers: the opening says everything.
    Silent,
}
