//! Parts of a text that a search considers secret.

use crate::secret::Kind;
use std::borrow::Cow;
use std::ops::Range;

/// Searches by how certain their finds are, the least certain first. If two find the same secret, the more certain
/// one names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// Another occurrence of a value that was found.
    Repeated,
    /// By the name beside it.
    Name,
    /// By its place: a URL, a header, an option.
    Place,
    /// By its own form.
    Form,
    /// By the lines before and after it.
    Block,
    /// By a rule of the user.
    UserRule,
    /// By a known value.
    Value,
}

/// A part of a text that is considered secret.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// Ranges of the secret, in order. There are several if line breaks between them stay.
    pub(crate) pieces: Vec<Range<usize>>,
    pub(crate) kind: Kind,
    pub(crate) source: Source,
    /// Decoded value, if the text has it in an encoded form.
    pub(crate) value: Option<Vec<u8>>,
}

impl Candidate {
    /// A candidate with a single range.
    pub(crate) fn new(range: Range<usize>, kind: Kind, source: Source) -> Candidate {
        Candidate { pieces: vec![range], kind, source, value: None }
    }

    /// The value: decoded, or as written but without line breaks.
    pub(crate) fn value<'a>(&'a self, text: &'a [u8]) -> Cow<'a, [u8]> {
        match (&self.value, &*self.pieces) {
            (Some(value), _) => Cow::Borrowed(value),
            (None, [piece]) => Cow::Borrowed(&text[piece.clone()]),
            (None, pieces) => pieces.iter().flat_map(|piece| &text[piece.clone()]).copied().collect(),
        }
    }

    pub(crate) fn start(&self) -> usize {
        self.pieces.first().map_or(0, |piece| piece.start)
    }

    pub(crate) fn end(&self) -> usize {
        self.pieces.last().map_or(0, |piece| piece.end)
    }
}

/// Sorts candidates and joins those that overlap, so that no part of either stays visible.
pub(crate) fn join(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    candidates.retain(|candidate| candidate.start() < candidate.end());
    candidates.sort_by_key(|candidate| candidate.start());
    let mut joined: Vec<Candidate> = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        match joined.last_mut() {
            Some(last) if candidate.start() < last.end() => last.absorb(candidate),
            _ => joined.push(candidate),
        }
    }
    joined
}

impl Candidate {
    fn absorb(&mut self, other: Candidate) {
        let mut all = std::mem::take(&mut self.pieces);
        all.extend(other.pieces);
        all.sort_by_key(|piece| piece.start);
        for piece in all {
            match self.pieces.last_mut() {
                Some(last) if piece.start <= last.end => last.end = last.end.max(piece.end),
                _ => self.pieces.push(piece),
            }
        }
        if other.source > self.source {
            self.kind = other.kind;
            self.source = other.source;
            self.value = other.value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_candidates_become_one_with_the_better_name() {
        let candidate = |range, name: &'static str, source| Candidate::new(range, Kind::of(name), source);
        let joined = join(vec![
            candidate(20..25, "c", Source::Name),
            candidate(4..10, "b", Source::Form),
            candidate(0..6, "a", Source::Name),
            candidate(10..12, "d", Source::Name),
        ]);
        let found: Vec<_> = joined.iter().map(|one| (one.start()..one.end(), one.kind.to_string())).collect();
        assert_eq!(found, [(0..10, "b".to_owned()), (10..12, "d".to_owned()), (20..25, "c".to_owned())]);
    }
}
