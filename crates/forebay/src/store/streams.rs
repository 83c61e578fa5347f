//! The map of an output's streams: which stretch of its bytes came by which stream.
//!
//! An entry is written when a stretch begins, so that it survives the end of its writer. An output begins with standard
//! output; one that has nothing else has no entries.

use crate::error::{Error, Result};
use crate::output::{Output, ReadAt, read_full};
use crate::record::Streams;
use crate::store::writer::Stream;
use crate::store::{Part, Store};

/// Maximum ranges kept in memory, so that they need not be read back for a small output.
const REMEMBERED: usize = 4096;

/// The map of an output that is being written.
pub(crate) struct StreamMap {
    /// Beginnings of the first stretches.
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

    /// Bytes of each stream, if there was more than one.
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

/// The stretches that a part lists, if they are few enough to be remembered.
pub(crate) fn remembered(part: &dyn ReadAt) -> Option<Vec<(u64, Stream)>> {
    let mut entries = vec![0; (REMEMBERED + 1) * 8];
    let filled = read_full(part, 0, &mut entries).ok()?;
    let is_whole = filled > 0 && filled % 8 == 0 && filled <= REMEMBERED * 8;
    is_whole.then(|| stretches(&entries[..filled]).collect())
}

/// Bytes of the map of stretches that are read at a time.
const MAP_BLOCK: usize = 64 * 1024;

/// Passes the bytes of an output to `take` in order, each range with its stream.
pub fn for_each_stretch(
    store: &dyn Store,
    output: &Output,
    mut take: impl FnMut(Stream, &[u8]),
) -> Result<()> {
    let (mut at, mut current) = (0, Stream::Stdout);
    let mut show = |start: u64, next: Stream| {
        // A damaged map may hold any offset; every byte is passed on once and in order all the same.
        let start = start.clamp(at, output.len());
        let range = std::mem::replace(&mut at, start)..start;
        let stream = std::mem::replace(&mut current, next);
        output.for_each_block(range, |_, block| take(stream, block))
    };
    if let Some(stretches) = output.stretches() {
        stretches.iter().try_for_each(|&(start, stream)| show(start, stream))?;
    } else {
        let handle = &output.record().handle;
        let part = store.open_part(handle, Part::Streams)?;
        let cannot = || Error::store(format!("read which stream each part of {handle} came by"));
        if output.record().streams.is_some() && part.size().map_err(cannot())? == 0 {
            return Err(cannot()(std::io::ErrorKind::NotFound.into()));
        }
        let mut read = 0;
        let mut entries = vec![0; MAP_BLOCK];
        // Every stretch has a byte, so a longer map is damaged.
        while read / 8 <= output.len() {
            let filled = part.read_at(read, &mut entries).map_err(cannot())?;
            stretches(&entries[..filled]).try_for_each(|(start, stream)| show(start, stream))?;
            if filled < 8 {
                break;
            }
            read += (filled - filled % 8) as u64;
        }
    }
    show(output.len(), Stream::Stdout)
}
