//! A search for a pattern.

/// Pattern and options of a search.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Grep {
    /// A regular expression.
    pub pattern: String,
    /// Whether the pattern is plain text, not a regular expression.
    pub fixed: bool,
    /// Whether case is ignored.
    pub ignore_case: bool,
    /// Whether a match may span lines.
    pub multiline: bool,
    /// Part of the result that is shown.
    pub wanted: Selection,
    /// Lines shown before and after each match.
    pub context: u64,
    /// Maximum matches shown; with 0 they are only counted.
    pub max: usize,
    /// First byte that is searched.
    pub from_byte: u64,
}

impl Grep {
    /// Matches shown unless the caller sets another number.
    pub const SHOWN: usize = 50;

    /// Searches for a regular expression, without context lines.
    pub fn new(pattern: impl Into<String>) -> Grep {
        Grep {
            pattern: pattern.into(),
            fixed: false,
            ignore_case: false,
            multiline: false,
            wanted: Selection::Lines,
            context: 0,
            max: Grep::SHOWN,
            from_byte: 0,
        }
    }
}

/// The parts of an output that a search returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Selection {
    /// Matching lines.
    Lines,
    /// The lines that do not match.
    OtherLines,
    /// Only the text of each match.
    Matches,
}
