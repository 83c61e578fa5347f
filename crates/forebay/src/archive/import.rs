//! Puts the outputs of an archive into a store.

use crate::archive::read::{Take, walk};
use crate::archive::{Beginning, Manifest};
use crate::event::Logged;
use crate::output::BLOCK;
use crate::reply::shown::ShownView;
use crate::{Error, Handle, Part, Record, Result, Session, Sink, Store};
use serde::Serialize;
use std::io::{Read, Seek, SeekFrom};

/// Maximum conflicting handles that an error lists.
const NAMED: usize = 5;

/// Options of an import.
#[derive(Clone, Debug)]
pub struct Options {
    /// Session of the imported outputs; `None` for the archive's own.
    pub session: Option<Session>,
    /// Whether the archive is only proved, and nothing is written.
    pub dry_run: bool,
    /// An archive that unpacks to more bytes is refused.
    pub max_bytes: u64,
}

/// Result of an import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Imported {
    /// The session that the outputs are in.
    pub session: Session,
    /// Number of new outputs.
    pub added: u64,
    /// Number that existed already.
    pub already_there: u64,
    /// Bytes of the new outputs.
    pub bytes: u64,
    /// Number of new events.
    pub events_added: u64,
    /// Number that existed already.
    pub events_already_there: u64,
}

/// Puts the outputs of an archive into a store, under the names they had. What already exists stays as it is.
///
/// The archive is gone through twice: nothing is written before all of it is proved. Where writing fails, the outputs
/// that were written are removed. `progress` gets how many bytes have been unpacked, in both passes.
pub fn import(
    store: &dyn Store,
    source: &mut (impl Read + Seek),
    options: &Options,
    progress: &mut dyn FnMut(u64),
) -> Result<Imported> {
    let unreadable = || Error::store("read the archive");
    let start = source.stream_position().map_err(unreadable())?;
    let mut proved = Importer::new(store, options, false);
    let mut unpacked = 0;
    walk(source, options.max_bytes, &mut proved, &mut |done| {
        unpacked = done;
        progress(done);
    })?;
    if proved.taken > 0 {
        return Err(Error::Taken { count: proved.taken, handles: proved.taken_names });
    }
    let imported = proved.imported()?;
    if options.dry_run || imported.added == 0 && imported.events_added == 0 {
        return Ok(imported);
    }
    source.seek(SeekFrom::Start(start)).map_err(unreadable())?;
    let mut written = Importer::new(store, options, true);
    match walk(source, options.max_bytes, &mut written, &mut |done| progress(unpacked + done)) {
        Ok(()) => written.imported(),
        Err(error) => Err(written.undo(error)),
    }
}

/// Imports an archive. It writes only if `writes` is set.
struct Importer<'a> {
    store: &'a dyn Store,
    options: &'a Options,
    writes: bool,
    imported: Option<Imported>,
    /// Number of handles that exist with other bytes, and the first of them.
    taken: u64,
    taken_names: Vec<String>,
    /// The outputs that were written, the last of them perhaps not whole.
    made: Vec<Handle>,
    current: Option<Current>,
    /// Events in the store.
    logged: Option<Logged>,
}

/// The output that is being written.
struct Current {
    /// The name that it has in the archive.
    was: Handle,
    record: Record,
    sink: Box<dyn Sink>,
    view: Vec<u8>,
    same: Option<Handle>,
}

impl<'a> Importer<'a> {
    fn new(store: &'a dyn Store, options: &'a Options, writes: bool) -> Importer<'a> {
        Importer {
            store,
            options,
            writes,
            imported: None,
            taken: 0,
            taken_names: Vec::new(),
            made: Vec::new(),
            current: None,
            logged: None,
        }
    }

    fn imported(self) -> Result<Imported> {
        self.imported.ok_or_else(|| Error::BadArchive("it has no manifest".to_owned()))
    }

    fn counts(&mut self) -> &mut Imported {
        match &mut self.imported {
            Some(imported) => imported,
            None => unreachable!("the manifest comes first"),
        }
    }

    /// The handle as it is in this store.
    fn handle(&self, handle: &Handle) -> Result<Handle> {
        match &self.options.session {
            Some(session) => Handle::new(session.clone(), handle.id()),
            None => Ok(handle.clone()),
        }
    }

    /// The record as it is in this store.
    fn record(&self, record: &Record) -> Result<Record> {
        let mut record = record.clone();
        record.handle = self.handle(&record.handle)?;
        record.call.session = record.handle.session().clone();
        record.same_as = record.same_as.map(|same| self.handle(&same)).transpose()?;
        Ok(record)
    }

    fn taken(&mut self, handle: &Handle) {
        self.taken += 1;
        if self.taken_names.len() < NAMED {
            self.taken_names.push(handle.short());
        }
    }

    /// Error for a name that was taken between the two passes.
    fn taken_now(&mut self) -> Error {
        Error::Taken { count: self.taken, handles: std::mem::take(&mut self.taken_names) }
    }

    fn cannot(handle: &Handle) -> impl FnOnce(std::io::Error) -> Error {
        Error::store(format!("import {handle}"))
    }

    /// Writes the bytes of an output that has those of another.
    fn copy(&self, current: &mut Current, same: &Handle) -> Result<()> {
        let handle = &current.record.handle;
        let mut bytes = Beginning::new(self.store.open_part(same, Part::Bytes)?, current.record.kept());
        let mut hash = blake3::Hasher::new();
        let mut block = vec![0; BLOCK];
        loop {
            let read = bytes.read(&mut block).map_err(Importer::cannot(handle))?;
            if read == 0 {
                break;
            }
            hash.update(&block[..read]);
            current.sink.append(Part::Bytes, &block[..read]).map_err(Importer::cannot(handle))?;
        }
        if hash.finalize().to_hex().as_str() == current.record.hash {
            Ok(())
        } else {
            let why = format!("it has the bytes of {same}, and those are damaged in this store");
            Err(Importer::cannot(handle)(std::io::Error::other(why)))
        }
    }

    /// Removes the outputs that were written. Logged events stay: those without an output are ignored, and the next
    /// import does not add them again.
    fn undo(mut self, error: Error) -> Error {
        // Its writer must be gone before it can be removed for good.
        self.current = None;
        for handle in self.made.iter().rev() {
            if let Err(removing) = self.store.delete(handle) {
                let why = format!("{removing}, after the import had failed: {error}");
                return Error::store(format!("undo the import of {handle}"))(std::io::Error::other(why));
            }
        }
        error
    }
}

impl Take for Importer<'_> {
    fn manifest(&mut self, manifest: &Manifest) -> Result<()> {
        let session = self.options.session.clone().unwrap_or_else(|| manifest.session.clone());
        let (added, already_there, bytes, events_added, events_already_there) = Default::default();
        self.imported =
            Some(Imported { session, added, already_there, bytes, events_added, events_already_there });
        Ok(())
    }

    fn begin(&mut self, record: &Record, same: Option<&Handle>) -> Result<()> {
        let was = record.handle.clone();
        let record = self.record(record)?;
        match self.store.record(&record.handle) {
            Ok(there) if there.hash == record.hash => {
                self.counts().already_there += 1;
                return Ok(());
            }
            Ok(_) => {
                self.taken(&record.handle);
                return if self.writes { Err(self.taken_now()) } else { Ok(()) };
            }
            Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        let counts = self.counts();
        counts.added += 1;
        counts.bytes += record.kept();
        if !self.writes {
            return Ok(());
        }
        let Some(sink) = self.store.create(&record.handle, &record.call)? else {
            self.taken(&record.handle);
            return Err(self.taken_now());
        };
        self.made.push(record.handle.clone());
        let same = same.map(|same| self.handle(same)).transpose()?;
        let mut current = Current { was, record, sink, view: Vec::new(), same };
        if let Some(same) = current.same.clone() {
            self.copy(&mut current, &same)?;
        }
        self.current = Some(current);
        Ok(())
    }

    fn part(&mut self, part: Part, bytes: &[u8]) -> Result<()> {
        match (&mut self.current, part) {
            (None, _) => Ok(()),
            (Some(current), Part::View) => {
                current.view = bytes.to_vec();
                Ok(())
            }
            (Some(current), _) => {
                current.sink.append(part, bytes).map_err(Importer::cannot(&current.record.handle))
            }
        }
    }

    fn end(&mut self) -> Result<()> {
        let Some(Current { was, record, sink, mut view, same }) = self.current.take() else { return Ok(()) };
        let handle = &record.handle;
        sink.finish(&record)?;
        if !view.is_empty() {
            if *handle != was {
                view = renamed(view, &was, handle)?;
            }
            self.store.attach(handle, Part::View, &view)?;
        }
        if let Some(same) = same {
            // Two copies are no harm.
            let _ = self.store.share(handle, &same);
        }
        Ok(())
    }

    fn event(&mut self, line: &[u8]) -> Result<()> {
        let session = self.counts().session.clone();
        let mut logged = match self.logged.take() {
            Some(logged) => logged,
            None => Logged::of(self.store, &session)?,
        };
        let is_there = logged.take(line);
        self.logged = Some(logged);
        if is_there {
            self.counts().events_already_there += 1;
            return Ok(());
        }
        if self.writes {
            self.store.log(&session, line)?;
        }
        self.counts().events_added += 1;
        Ok(())
    }
}

/// A view under a new handle. It keeps the original handle, so that its text can still be verified.
fn renamed(view: Vec<u8>, was: &Handle, is: &Handle) -> Result<Vec<u8>> {
    let wrong = |error| Error::BadArchive(format!("{was}: its view is invalid: {error}"));
    let mut given: ShownView = serde_json::from_slice(&view).map_err(wrong)?;
    let named = given.handle.clone().or_else(|| Some(was.clone())).filter(|handle| handle != is);
    if named == given.handle {
        return Ok(view);
    }
    given.handle = named;
    serde_json::to_vec(&given).map_err(wrong)
}
