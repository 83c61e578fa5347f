//! The checks of an output in an archive, which are the same for export and import.

use crate::archive::{LARGEST_RECORD, LONGEST_EVENT};
use crate::record::VERSION;
use crate::reply::shown::{LARGEST_VIEW, ShownView};
use crate::size::{Measure, Measured};
use crate::store::streams::stretches;
use crate::{Handle, Kind, Record, Session, Size, State, Stream, Streams};
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

/// A contradiction in an archived output. The message completes "<handle>: …".
#[derive(Debug, thiserror::Error)]
pub(crate) enum Mismatch {
    #[error("its record has version {0}, which this program does not know")]
    Version(u32),
    #[error("its record is that of {0}")]
    OtherHandle(Handle),
    #[error("its call is of session {0}")]
    OtherSession(Session),
    #[error("its record says that it is the same as an output of another session")]
    SameAsElsewhere,
    #[error("its record says that it is still growing")]
    Growing,
    #[error("its record says that more bytes were lost than there were")]
    LostTooMany,
    #[error("its record has no hash")]
    NoHash,
    #[error("its record has more than {LARGEST_RECORD} bytes")]
    RecordTooLarge,
    #[error("its bytes are not those of its record: there are {found}, not {recorded}")]
    Length { found: u64, recorded: u64 },
    #[error("its bytes are not those of its record: the hash differs")]
    Hash,
    #[error("its bytes are not those of its record: characters or lines are counted wrong")]
    Counts,
    #[error("its bytes are not those of its record: they are {found}, not {recorded}")]
    Kind { found: Kind, recorded: Kind },
    #[error("its bytes are not those of its record: fewer tokens than there can be")]
    Tokens,
    #[error("its line index is not that of its bytes")]
    Lines,
    #[error("the streams do not follow each other at byte {0}")]
    StreamOrder(u64),
    #[error("its streams are not those of its record")]
    Streams,
    #[error("its view has more than {LARGEST_VIEW} bytes")]
    ViewTooLarge,
    #[error("its view is invalid: {0}")]
    View(#[from] serde_json::Error),
    #[error("its view is of {viewed} bytes, and it has {kept}")]
    ViewLength { viewed: u64, kept: u64 },
}

type Proved = Result<(), Mismatch>;

/// Measures bytes as they are read or written.
#[derive(Default)]
pub(crate) struct Passing {
    measure: Measure,
    index: Vec<u8>,
}

impl Passing {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.measure.update(bytes);
        self.index.extend(self.measure.take_index());
    }

    pub(crate) fn finish(self) -> Found {
        Found { measured: self.measure.finish(), index: self.index }
    }
}

/// Measurements of the bytes of an output.
pub(crate) struct Found {
    pub(crate) measured: Measured,
    /// Line index of the bytes: an eight-thousandth of their size.
    pub(crate) index: Vec<u8>,
}

/// Proves that the record can be that of an output with this handle.
pub(crate) fn record(record: &Record, handle: &Handle) -> Proved {
    let session = handle.session();
    let is_hash =
        |hash: &str| hash.len() == 64 && hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let is_elsewhere = |same: &Handle| same.session() != session;
    let mismatch = if record.version == 0 || record.version > VERSION {
        Mismatch::Version(record.version)
    } else if record.handle != *handle {
        Mismatch::OtherHandle(record.handle.clone())
    } else if record.call.session != *session {
        Mismatch::OtherSession(record.call.session.clone())
    } else if record.same_as.as_ref().is_some_and(is_elsewhere) {
        Mismatch::SameAsElsewhere
    } else if record.state == State::Growing {
        Mismatch::Growing
    } else if record.lost.as_ref().is_some_and(|lost| lost.bytes > record.size.bytes) {
        Mismatch::LostTooMany
    } else if !is_hash(&record.hash) {
        Mismatch::NoHash
    } else {
        return Ok(());
    };
    Err(mismatch)
}

/// Proves that the bytes are those that the record describes.
pub(crate) fn bytes(record: &Record, found: &Found) -> Proved {
    let (recorded, measured) = (&record.size, &found.measured);
    let size = &measured.size;
    if record.kept() != size.bytes {
        return Err(Mismatch::Length { found: size.bytes, recorded: record.kept() });
    }
    if record.hash != measured.hash {
        return Err(Mismatch::Hash);
    }
    if record.lost.is_some() {
        // The rest of the record counts bytes that were not kept.
        return Ok(());
    }
    let counts = |size: &Size| (size.characters, size.lines, size.longest_line);
    if counts(recorded) != counts(size) {
        return Err(Mismatch::Counts);
    }
    if record.kind != measured.kind {
        return Err(Mismatch::Kind { found: measured.kind, recorded: record.kind });
    }
    // With a token count that is too low, an output could pass that does not fit.
    if recorded.tokens < size.tokens || recorded.tokens_exact != size.tokens_exact {
        return Err(Mismatch::Tokens);
    }
    Ok(())
}

/// Proves that the line index is that of the bytes.
pub(crate) fn lines(record: &Record, found: &Found, lines: &[u8]) -> Proved {
    // Where the store failed, the index may have failed first. A missing index is slow; a wrong one gives wrong lines.
    let right = match record.lost {
        Some(_) => lines.len().is_multiple_of(8) && found.index.starts_with(lines),
        None => lines.is_empty() || lines == found.index,
    };
    if right { Ok(()) } else { Err(Mismatch::Lines) }
}

/// Checks the stretches of an output's streams as they are read.
pub(crate) struct Stretches {
    length: u64,
    /// Beginning and stream of the last one.
    last: Option<(u64, Stream)>,
    totals: Streams,
}

impl Stretches {
    pub(crate) fn of(record: &Record) -> Stretches {
        Stretches { length: record.kept(), last: None, totals: Streams::default() }
    }

    /// Takes whole entries.
    pub(crate) fn update(&mut self, entries: &[u8]) -> Proved {
        for (start, stream) in stretches(entries) {
            let (before, current) = self.last.unwrap_or((0, Stream::Stdout));
            let goes_on = start > before || self.last.is_none();
            if !goes_on || stream == current || start >= self.length {
                return Err(Mismatch::StreamOrder(start));
            }
            self.close(start);
            self.last = Some((start, stream));
        }
        Ok(())
    }

    pub(crate) fn finish(mut self, record: &Record) -> Proved {
        self.close(self.length);
        match record.streams {
            Some(said) if record.lost.is_none() && said != self.totals => Err(Mismatch::Streams),
            _ => Ok(()),
        }
    }

    fn close(&mut self, end: u64) {
        let (start, stream) = self.last.unwrap_or((0, Stream::Stdout));
        match stream {
            Stream::Stdout => self.totals.stdout += end - start,
            Stream::Stderr => self.totals.stderr += end - start,
        }
    }
}

/// Proves that the view is one of this output.
pub(crate) fn view(record: &Record, view: &[u8]) -> Result<ShownView, Mismatch> {
    if view.len() as u64 > LARGEST_VIEW {
        return Err(Mismatch::ViewTooLarge);
    }
    let given: ShownView = serde_json::from_slice(view)?;
    let (total, kept) = (given.view.total(), record.kept());
    if total == kept || given.growing && total < kept {
        Ok(given)
    } else {
        Err(Mismatch::ViewLength { viewed: total, kept })
    }
}

/// Whether a line can be an event. Its kind is not checked: a newer program may know more kinds.
pub(crate) fn is_event(line: &[u8]) -> bool {
    line.len() as u64 <= LONGEST_EVENT && serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(line).is_ok()
}
