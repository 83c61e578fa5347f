//! Writes the outputs of a session into an archive.

use crate::archive::proof::{self, Found, Mismatch, Passing, Stretches};
use crate::archive::{
    Beginning, EVENTS, FORMAT, LARGEST_RECORD, MANIFEST, MOST_OUTPUTS, Manifest, VERSION, fill, part_name,
    record_name,
};
use crate::event::{Event, LONGEST, What};
use crate::output::BLOCK;
use crate::reply::shown::LARGEST_VIEW;
use crate::{Error, Handle, Part, Record, Result, Session, State, Store, Timestamp};
use serde::Serialize;
use std::{
    collections::{HashMap, HashSet},
    io::{self, BufRead, BufReader, Read, Write},
};
use zstd::stream::write::Encoder;

/// Packs a log to a few hundredths as fast as a disk writes.
const LEVEL: i32 = 3;

/// Result of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Exported {
    /// The session.
    pub session: Session,
    /// Number of outputs.
    pub outputs: u64,
    /// Number of outputs that were still growing and are cut short in the archive.
    pub growing: u64,
    /// Bytes of the outputs.
    pub bytes: u64,
    /// Number of events.
    pub events: u64,
    /// Bytes of the archive.
    pub written: u64,
}

/// Writes all outputs of a session into an archive. An output that grows is written as it is now, cut short. One that is
/// damaged is an error: what is written can be imported. `progress` gets how many bytes of outputs are written.
pub fn export(
    store: &dyn Store,
    session: &Session,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(u64),
) -> Result<Exported> {
    let planned = plan(store, session)?;
    let mut exported = Exported {
        session: session.clone(),
        outputs: planned.len() as u64,
        growing: planned.iter().filter(|planned| planned.growing.is_some()).count() as u64,
        bytes: planned.iter().map(|planned| planned.record.kept()).sum(),
        events: 0,
        written: 0,
    };
    let log = Log::new(store, session, &planned)?;
    let mut events = 0;
    log.for_each(|line| {
        exported.events += 1;
        events += line.len() as u64 + 1;
        Ok(())
    })?;
    let firsts = planned.iter().filter(|planned| planned.first);
    let manifest = Manifest {
        format: FORMAT.to_owned(),
        version: VERSION,
        session: session.clone(),
        outputs: exported.outputs,
        bytes: firsts.map(|planned| planned.record.kept()).sum(),
        events,
    };
    let mut packed = Packed::new(out)?;
    packed.whole(MANIFEST, Timestamp::UNIX_EPOCH, &json(&manifest)?)?;
    let mut found = HashMap::new();
    let mut done = 0;
    for planned in &planned {
        let mut progress = |more| {
            done += more;
            progress(done);
        };
        output(store, planned, &mut found, &mut packed, &mut progress).map_err(|fault| match fault {
            Fault::Error(error) => error,
            Fault::Damage(mismatch) => damaged(&planned.record.handle, mismatch),
        })?;
    }
    if events > 0 {
        packed.begin(EVENTS, Timestamp::UNIX_EPOCH, events)?;
        log.for_each(|line| packed.write(line).and_then(|()| packed.write(b"\n")))?;
        packed.pad(events)?;
    }
    exported.written = packed.finish()?;
    Ok(exported)
}

/// One output of an archive to be.
struct Planned {
    record: Record,
    /// Whether it is the first that has its bytes.
    first: bool,
    /// Line index of a growing output's exported part. The index in the store may be shorter.
    growing: Option<Vec<u8>>,
}

/// The outputs of a session, oldest first, as they are now.
fn plan(store: &dyn Store, session: &Session) -> Result<Vec<Planned>> {
    let records = store.list(session)?;
    if records.len() as u64 > MOST_OUTPUTS {
        let why = format!("it has {} outputs, and an archive holds {MOST_OUTPUTS}", records.len());
        return Err(Error::store(format!("export session {session}"))(io::Error::other(why)));
    }
    let mut hashes = HashSet::new();
    let mut planned = Vec::new();
    for mut record in records {
        let handle = record.handle.clone();
        if record.hash.is_empty() {
            // It grows, or its record could not be read: then this is the error.
            record = store.record(&handle)?;
        }
        let mut growing = None;
        if record.state == State::Growing {
            let found = so_far(store, &handle)?;
            record.abandoned(found.measured);
            record.state = State::CutShort("it was still growing when it was exported".to_owned());
            growing = Some(found.index);
        }
        proof::record(&record, &handle).map_err(|mismatch| damaged(&handle, mismatch))?;
        planned.push(Planned { first: hashes.insert(record.hash.clone()), record, growing });
    }
    Ok(planned)
}

/// Measures the bytes that a growing output has now.
fn so_far(store: &dyn Store, handle: &Handle) -> Result<Found> {
    let cannot = || Error::store(format!("read {handle}"));
    let part = store.open_part(handle, Part::Bytes)?;
    let size = part.size().map_err(cannot())?;
    let mut bytes = Beginning::new(part, size);
    let mut passing = Passing::default();
    let mut block = vec![0; BLOCK];
    loop {
        match bytes.read(&mut block).map_err(cannot())? {
            0 => return Ok(passing.finish()),
            read => passing.update(&block[..read]),
        }
    }
}

/// Why an output could not be written.
enum Fault {
    Error(Error),
    Damage(Mismatch),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Error(error)
    }
}

impl From<Mismatch> for Fault {
    fn from(mismatch: Mismatch) -> Fault {
        Fault::Damage(mismatch)
    }
}

fn damaged(handle: &Handle, mismatch: Mismatch) -> Error {
    let why = format!("{mismatch}; `forebay verify {handle}` tells more");
    Error::store(format!("export {handle}"))(io::Error::other(why))
}

fn output(
    store: &dyn Store,
    planned: &Planned,
    found: &mut HashMap<String, Found>,
    packed: &mut Packed<'_>,
    progress: &mut dyn FnMut(u64),
) -> std::result::Result<(), Fault> {
    let Planned { record, first, growing } = planned;
    let (handle, at) = (&record.handle, record.call.at);
    let cannot = || Error::store(format!("read {handle}"));
    let name = |part| part_name(handle.id(), part);
    let json = json(record)?;
    if json.len() as u64 > LARGEST_RECORD {
        return Err(Mismatch::RecordTooLarge.into());
    }
    packed.whole(&record_name(handle.id()), at, &json)?;
    if *first {
        let mut bytes = Beginning::new(store.open_part(handle, Part::Bytes)?, record.kept());
        packed.begin(&name(Part::Bytes), at, record.kept())?;
        let mut passing = Passing::default();
        let mut block = vec![0; BLOCK];
        loop {
            let read = bytes.read(&mut block).map_err(cannot())?;
            if read == 0 {
                break;
            }
            passing.update(&block[..read]);
            packed.write(&block[..read])?;
            progress(read as u64);
        }
        packed.pad(record.kept())?;
        found.insert(record.hash.clone(), passing.finish());
    }
    let Some(found) = found.get(&record.hash) else {
        unreachable!("the first that has its bytes came before")
    };
    proof::bytes(record, found)?;

    let lines = match growing {
        Some(index) => index.clone(),
        // More than there should be is seen as such without reading all of it.
        None => whole_entries(read_part(store, handle, Part::Lines, found.index.len() as u64 + 8)?),
    };
    proof::lines(record, found, &lines)?;
    packed.whole_if_any(&name(Part::Lines), at, &lines)?;

    let entries = stretches(store, record)? * 8;
    if entries > 0 {
        let mut streams = Beginning::new(store.open_part(handle, Part::Streams)?, entries);
        packed.begin(&name(Part::Streams), at, entries)?;
        io::copy(&mut streams, &mut packed.tar).map_err(cannot())?;
        packed.pad(entries)?;
    }

    let view = read_part(store, handle, Part::View, LARGEST_VIEW + 1)?;
    if !view.is_empty() {
        match proof::view(record, &view) {
            Ok(_) => packed.whole(&name(Part::View), at, &view)?,
            // The model was given a view of more than had come when this was measured.
            Err(_) if growing.is_some() => {}
            Err(mismatch) => return Err(mismatch.into()),
        }
    }
    Ok(())
}

/// A whole part if it has at most `most` bytes, otherwise its beginning.
fn read_part(store: &dyn Store, handle: &Handle, part: Part, most: u64) -> Result<Vec<u8>> {
    let cannot = || Error::store(format!("read {handle}"));
    let part = store.open_part(handle, part)?;
    let size = part.size().map_err(cannot())?.min(most);
    let mut bytes = Vec::new();
    Beginning::new(part, size).read_to_end(&mut bytes).map_err(cannot())?;
    Ok(bytes)
}

/// A table without the part of an entry that a failing store left at its end.
fn whole_entries(mut table: Vec<u8>) -> Vec<u8> {
    table.truncate(table.len() - table.len() % 8);
    table
}

/// How many stretches lie in what is written of an output.
fn stretches(store: &dyn Store, record: &Record) -> std::result::Result<u64, Fault> {
    let cannot = || Error::store(format!("read {}", record.handle));
    let part = store.open_part(&record.handle, Part::Streams)?;
    let size = part.size().map_err(cannot())?;
    let mut streams = Beginning::new(part, size - size % 8);
    let mut proved = Stretches::of(record);
    let mut count = 0;
    let mut block = vec![0; BLOCK.min(usize::try_from(size).unwrap_or(BLOCK).next_multiple_of(8))];
    loop {
        let filled = fill(&mut streams, &mut block).map_err(cannot())?;
        // Of one that grows, further stretches may have begun since it was measured.
        let inside = crate::store::streams::stretches(&block[..filled])
            .take_while(|(start, _)| *start < record.kept())
            .count();
        proved.update(&block[..inside * 8])?;
        count += inside as u64;
        if filled == 0 || inside * 8 < filled {
            proved.finish(record)?;
            return Ok(count);
        }
    }
}

/// The events of a session, up to the last whole one there is now.
struct Log<'a> {
    store: &'a dyn Store,
    session: &'a Session,
    size: u64,
    /// How the outputs ended that were still growing.
    ended: Vec<Vec<u8>>,
}

impl<'a> Log<'a> {
    fn new(store: &'a dyn Store, session: &'a Session, planned: &[Planned]) -> Result<Log<'a>> {
        let cannot = Error::store(format!("read the events of {session}"));
        let size = store.open_log(session)?.size().map_err(cannot)?;
        let ended = planned
            .iter()
            .filter(|planned| planned.growing.is_some())
            .map(|Planned { record, .. }| json(&Event { what: What::ended(record), at: record.call.at }))
            .collect::<Result<_>>()?;
        Ok(Log { store, session, size, ended })
    }

    /// Passes every event to `take`. Lines that are not events are skipped.
    fn for_each(&self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let cannot = || Error::store(format!("read the events of {}", self.session));
        let mut lines =
            BufReader::with_capacity(BLOCK, Beginning::new(self.store.open_log(self.session)?, self.size));
        let mut line = Vec::new();
        while lines.by_ref().take(LONGEST).read_until(b'\n', &mut line).map_err(cannot())? > 0 {
            // What has no newline is a line that is being written, or that nobody finished.
            if line.pop() == Some(b'\n') && proof::is_event(&line) {
                take(&line)?;
            }
            line.clear();
        }
        self.ended.iter().try_for_each(|line| take(line))
    }
}

fn json(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|error| cannot_write(error.into()))
}

fn cannot_write(error: io::Error) -> Error {
    Error::store("write the archive")(error)
}

/// The archive as it is written.
struct Packed<'a> {
    tar: Encoder<'static, CountingWriter<'a>>,
}

impl<'a> Packed<'a> {
    fn new(out: &'a mut dyn Write) -> Result<Packed<'a>> {
        let mut tar = Encoder::new(CountingWriter::new(out), LEVEL).map_err(cannot_write)?;
        tar.include_checksum(true).map_err(cannot_write)?;
        Ok(Packed { tar })
    }

    /// Begins an entry; exactly `size` bytes must follow, and then its padding.
    fn begin(&mut self, name: &str, at: Timestamp, size: u64) -> Result<()> {
        let mut header = tar::Header::new_ustar();
        header.set_path(name).map_err(cannot_write)?;
        header.set_size(size);
        header.set_mode(0o600);
        header.set_mtime(u64::try_from(at.as_second()).unwrap_or(0));
        header.set_cksum();
        self.write(header.as_bytes())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.tar.write_all(bytes).map_err(cannot_write)
    }

    /// Ends an entry: the next one begins with a block.
    fn pad(&mut self, size: u64) -> Result<()> {
        let over = (size % 512) as usize;
        self.write(&[0; 512][..(512 - over) % 512])
    }

    fn whole(&mut self, name: &str, at: Timestamp, bytes: &[u8]) -> Result<()> {
        self.begin(name, at, bytes.len() as u64)?;
        self.write(bytes)?;
        self.pad(bytes.len() as u64)
    }

    fn whole_if_any(&mut self, name: &str, at: Timestamp, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() { Ok(()) } else { self.whole(name, at, bytes) }
    }

    /// Ends the archive; returns how many bytes it has.
    fn finish(mut self) -> Result<u64> {
        self.write(&[0; 1024])?;
        let mut counted = self.tar.finish().map_err(cannot_write)?;
        counted.flush().map_err(cannot_write)?;
        Ok(counted.written)
    }
}

/// Counts the bytes that are written.
pub struct CountingWriter<'a> {
    out: &'a mut dyn Write,
    written: u64,
}

impl<'a> CountingWriter<'a> {
    /// Writes to `out`.
    pub fn new(out: &'a mut dyn Write) -> CountingWriter<'a> {
        CountingWriter { out, written: 0 }
    }

    /// Number of bytes so far.
    pub fn written(&self) -> u64 {
        self.written
    }
}

impl Write for CountingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
