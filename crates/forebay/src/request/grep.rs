//! A search for a pattern.

/// Pattern and options of a search.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Grep {
    /// A regular expression.
    pub pattern: String,
    /// Whether the pattern is taken letter by letter.
    pub fixed: bool,
    /// Whether capitals and small letters are the same.
    pub ignore_case: bool,
    /// Whether a match may go over lines.
    pub multiline: bool,
    /// Part of the result that is shown.
    pub wanted: Wanted,
    /// Lines shown before and after each match.
    pub context: u64,
    /// How many matches are shown at most; with 0 they are only counted.
    pub max: usize,
    /// Only what matches from this byte on.
    pub from_byte: u64,
}

impl Grep {
    /// Looks for `pattern`, as it is written, with no context.
    pub fn new(pattern: impl Into<String>) -> Grep {
        Grep {
            pattern: pattern.into(),
            fixed: false,
            ignore_case: false,
            multiline: false,
            wanted: Wanted::Lines,
            context: 0,
            max: SHOWN,
            from_byte: 0,
        }
    }
}

/// Part of the result of a search that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wanted {
    /// The lines that match.
    Lines,
    /// The lines that do not.
    OtherLines,
    /// Only what matches, every place of it.
    Matches,
}

/// How many matches are shown unless it is said.
pub const SHOWN: usize = 50;
