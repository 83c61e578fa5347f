//! What must hold of an output in an archive. Asked of what goes in and of what comes out.
//!
//! A fault is a text that completes "…: the fault".

use crate::archive::LONGEST_EVENT;
use crate::record::VERSION;
use crate::reply::shown::{LARGEST_VIEW, ShownView};
use crate::size::{Measure, Measured};
use crate::store::streams::stretches;
use crate::{Handle, Record, State, Stream, Streams};
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

/// What is not as it must be.
pub(crate) type Proved = Result<(), String>;

/// Bytes that go by, and what is found of them.
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

/// What was found of bytes that went by.
pub(crate) struct Found {
    pub(crate) measured: Measured,
    /// Their line index: an eight-thousandth of their size.
    pub(crate) index: Vec<u8>,
}

/// The record can be that of an output with this name.
pub(crate) fn record(record: &Record, handle: &Handle) -> Proved {
    let session = handle.session();
    let is_hash =
        |hash: &str| hash.len() == 64 && hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let fault = if record.version == 0 || record.version > VERSION {
        format!("its record has version {}, which this program does not know", record.version)
    } else if record.handle != *handle {
        format!("its record is that of {}", record.handle)
    } else if record.call.session != *session {
        format!("its call is of session {}", record.call.session)
    } else if record.same_as.as_ref().is_some_and(|same| same.session() != session) {
        "it is said to be the same as an output of another session".to_owned()
    } else if record.state == State::Growing {
        "its record says that it still grows".to_owned()
    } else if record.lost.as_ref().is_some_and(|lost| lost.bytes > record.size.bytes) {
        "more of it is said to be lost than there was".to_owned()
    } else if !is_hash(&record.hash) {
        "its record has no hash".to_owned()
    } else {
        return Ok(());
    };
    Err(fault)
}

/// The bytes are those that the record tells of.
pub(crate) fn bytes(record: &Record, found: &Found) -> Proved {
    let (said, measured) = (&record.size, &found.measured);
    let size = &measured.size;
    let differs = |what: &str| Err(format!("its bytes are not those of its record: {what}"));
    if record.kept() != size.bytes {
        return differs(&format!("there are {}, not {}", size.bytes, record.kept()));
    }
    if record.hash != measured.hash {
        return differs("the hash is another");
    }
    if record.lost.is_some() {
        // The rest of the record is of bytes that are nowhere.
        return Ok(());
    }
    if (said.characters, said.lines, said.longest_line) != (size.characters, size.lines, size.longest_line) {
        return differs("characters or lines are counted wrong");
    }
    if record.kind != measured.kind {
        return differs(&format!("they are {}, not {}", measured.kind, record.kind));
    }
    // A number of tokens that is too low would let an output pass that does not fit.
    if said.tokens < size.tokens || said.tokens_exact != size.tokens_exact {
        return differs("fewer tokens than there can be");
    }
    Ok(())
}

/// The line index is that of the bytes.
pub(crate) fn lines(record: &Record, found: &Found, lines: &[u8]) -> Proved {
    // Where the store failed, the index may have failed first. One that is missing is slow; one that is wrong is a lie.
    let right = match record.lost {
        Some(_) => lines.len().is_multiple_of(8) && found.index.starts_with(lines),
        None => lines.is_empty() || lines == found.index,
    };
    if right { Ok(()) } else { Err("its line index is not that of its bytes".to_owned()) }
}

/// The stretches of the streams, as they go by.
pub(crate) struct Stretches {
    length: u64,
    /// Where the last one begins, and its stream.
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
                return Err(format!("the streams do not follow each other at byte {start}"));
            }
            self.close(start);
            self.last = Some((start, stream));
        }
        Ok(())
    }

    pub(crate) fn finish(mut self, record: &Record) -> Proved {
        self.close(self.length);
        match record.streams {
            Some(said) if record.lost.is_none() && said != self.totals => {
                Err("its streams are not those of its record".to_owned())
            }
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

/// The view is one of this output.
pub(crate) fn view(record: &Record, view: &[u8]) -> Result<ShownView, String> {
    if view.len() as u64 > LARGEST_VIEW {
        return Err(format!("its view has more than {LARGEST_VIEW} bytes"));
    }
    let given: ShownView =
        serde_json::from_slice(view).map_err(|error| format!("its view is none: {error}"))?;
    let (total, kept) = (given.view.total(), record.kept());
    if total == kept || given.growing && total < kept {
        Ok(given)
    } else {
        Err(format!("its view is of {total} bytes, and it has {kept}"))
    }
}

/// Whether a line can be an event. What kinds there are is not asked: a newer program may have more.
pub(crate) fn is_event(line: &[u8]) -> bool {
    line.len() as u64 <= LONGEST_EVENT && serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(line).is_ok()
}
