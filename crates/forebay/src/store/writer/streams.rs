//! Which stream each stretch of an output came by.
//!
//! An entry is written when a stretch begins, so that it is there whatever becomes of its writer. An output begins with
//! standard output; one that has nothing else has no entries.

use crate::record::Streams;
use crate::store::writer::Stream;

/// So many stretches are remembered, so that a small output need not read them back.
const REMEMBERED: usize = 4096;

/// The map of an output that is being written.
pub(crate) struct StreamMap {
    /// Where the first stretches begin.
    stretches: Vec<(u64, Stream)>,
    current: Stream,
    totals: Streams,
}

impl Default for StreamMap {
    fn default() -> StreamMap {
        StreamMap { stretches: Vec::new(), current: Stream::Stdout, totals: Streams::default() }
    }
}

impl StreamMap {
    /// Notes bytes of a stream; returns the entry of the stretch that begins with them, if one does.
    pub(crate) fn extend(&mut self, stream: Stream, length: u64) -> Option<[u8; 8]> {
        let start = self.totals.stdout + self.totals.stderr;
        match stream {
            Stream::Stdout => self.totals.stdout += length,
            Stream::Stderr => self.totals.stderr += length,
        }
        if stream == self.current {
            return None;
        }
        self.current = stream;
        if self.stretches.len() <= REMEMBERED {
            self.stretches.push((start, stream));
        }
        Some((start * 2 + u64::from(stream == Stream::Stderr)).to_le_bytes())
    }

    /// All stretches, if they were few enough to be remembered.
    pub(crate) fn remembered(&mut self) -> Option<Vec<(u64, Stream)>> {
        (self.stretches.len() <= REMEMBERED).then(|| std::mem::take(&mut self.stretches))
    }

    /// How much came by each, where there was more than one.
    pub(crate) fn totals(&self) -> Option<Streams> {
        (self.totals.stderr > 0).then_some(self.totals)
    }
}

/// The stretches that a [`Part::Streams`](crate::Part) lists, each with its beginning.
pub(crate) fn stretches(part: &[u8]) -> impl Iterator<Item = (u64, Stream)> {
    part.as_chunks::<8>().0.iter().map(|entry| {
        let entry = u64::from_le_bytes(*entry);
        (entry / 2, if entry % 2 == 1 { Stream::Stderr } else { Stream::Stdout })
    })
}
