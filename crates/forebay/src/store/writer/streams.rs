//! Which stream each stretch of an output came by.

use super::Stream;
use crate::record::Streams;

/// So many stretches are remembered, so that a small output need not read them back.
const REMEMBERED: usize = 4096;

/// Which stream each stretch came by. An entry is where a stretch ends, times two, and one more for stderr.
#[derive(Default)]
pub(super) struct StreamMap {
    /// The first stretches, as many as a small output has.
    stretches: Vec<(u64, Stream)>,
    current: Option<Stream>,
    pub(super) end: u64,
    started: u64,
    totals: Streams,
}

impl StreamMap {
    /// Notes that bytes up to `end` came by `stream`; returns the entry of a stretch that this ended.
    pub(super) fn extend(&mut self, stream: Stream, end: u64) -> Option<[u8; 8]> {
        let entry = self.current.filter(|current| *current != stream).map(|current| self.close(current));
        self.current = Some(stream);
        self.end = end;
        entry
    }

    /// The entry of the last stretch, if there was more than one stream.
    pub(super) fn last(&mut self, end: u64) -> Option<[u8; 8]> {
        self.end = end;
        let entry = self.pause()?;
        (self.totals.stderr > 0).then_some(entry)
    }

    /// Ends the stretch that is under way.
    pub(super) fn pause(&mut self) -> Option<[u8; 8]> {
        let current = self.current.take()?;
        Some(self.close(current))
    }

    fn close(&mut self, stream: Stream) -> [u8; 8] {
        let length = self.end - self.started;
        match stream {
            Stream::Stdout => self.totals.stdout += length,
            Stream::Stderr => self.totals.stderr += length,
        }
        self.started = self.end;
        if self.stretches.len() <= REMEMBERED {
            self.stretches.push((self.end, stream));
        }
        (self.end * 2 + u64::from(stream == Stream::Stderr)).to_le_bytes()
    }

    /// All stretches, if they were few enough to be remembered.
    pub(super) fn remembered(&mut self) -> Option<Vec<(u64, Stream)>> {
        (self.stretches.len() <= REMEMBERED).then(|| std::mem::take(&mut self.stretches))
    }

    pub(super) fn totals(&self) -> Option<Streams> {
        (self.totals.stderr > 0).then_some(self.totals)
    }
}

/// The stretches that a [`Part::Streams`] lists, each with its end.
pub(crate) fn stretches(part: &[u8]) -> impl Iterator<Item = (u64, Stream)> {
    part.as_chunks::<8>().0.iter().map(|entry| {
        let entry = u64::from_le_bytes(*entry);
        (entry / 2, if entry % 2 == 1 { Stream::Stderr } else { Stream::Stdout })
    })
}
