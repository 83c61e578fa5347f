//! Reads an archive from its beginning to its end and checks all of it.

use crate::archive::proof::{self, Found, Mismatch, Passing, Stretches};
use crate::archive::{
    EVENTS, FORMAT, LARGEST_MANIFEST, LARGEST_RECORD, LONGEST_EVENT, MANIFEST, MOST_OUTPUTS, Manifest,
    VERSION, fill, part_name, record_name,
};
use crate::handle::shown;
use crate::output::BLOCK;
use crate::reply::shown::LARGEST_VIEW;
use crate::{Error, Handle, Part, Record, Result};
use std::{
    collections::{HashMap, HashSet},
    io::{self, BufRead, BufReader, Read},
};
use tar::{Archive, Entries, Entry, EntryType};
use zstd::stream::read::Decoder;

/// First bytes of a zstd frame.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A frame that wants more memory than 8 MiB to be unpacked is refused; ours want 2 MiB.
const WINDOW_LOG: u32 = 23;

/// The end of a tar file is two blocks of zeros.
const TAR_BLOCK: usize = 512;

/// Receives the contents of an archive in order.
pub(crate) trait Take {
    /// The session and the number of outputs, before anything else.
    fn manifest(&mut self, manifest: &Manifest) -> Result<()>;
    /// Start of an output. `same` is an earlier output with the same bytes, which are then not repeated.
    fn begin(&mut self, record: &Record, same: Option<&Handle>) -> Result<()>;
    /// The next bytes of a part. They are not proved before the output ends; a view comes whole.
    fn part(&mut self, part: Part, bytes: &[u8]) -> Result<()>;
    /// End of the current output, which matches its record.
    fn end(&mut self) -> Result<()>;
    /// An event, without its newline.
    fn event(&mut self, line: &[u8]) -> Result<()>;
}

/// Reads an archive. Anything unexpected is an error.
pub(crate) fn walk(
    source: &mut dyn Read,
    max_bytes: u64,
    take: &mut dyn Take,
    progress: &mut dyn FnMut(u64),
) -> Result<()> {
    let mut source = BufReader::with_capacity(BLOCK, source);
    let start = source.fill_buf().map_err(unreadable)?;
    if start.is_empty() {
        return Err(bad("it is empty"));
    }
    if start.starts_with(b"age-encryption.org/") {
        return Err(bad("it is encrypted; `forebay import --identity KEY` decrypts it"));
    }
    if !start.starts_with(&MAGIC) && !MAGIC.starts_with(start) {
        return Err(bad("it is not a zstd file"));
    }
    let mut decoder = Decoder::with_buffer(source).map_err(unreadable)?.single_frame();
    decoder.window_log_max(WINDOW_LOG).map_err(unreadable)?;
    let mut tar = Archive::new(LimitedReader { source: decoder, read: 0, max: max_bytes, progress });
    let mut contents = Contents::new(tar.entries().map_err(unreadable)?.raw(true))?;
    contents.walk(max_bytes, take)?;
    // The first block of zeros has been met, or there is nothing more.
    let mut counted = tar.into_inner();
    let mut block = [0; TAR_BLOCK + 1];
    match fill(&mut counted, &mut block).map_err(unreadable)? {
        TAR_BLOCK if block.iter().all(|&byte| byte == 0) => {}
        0..TAR_BLOCK => return Err(bad("it ends without its end mark")),
        _ => return Err(bad("there is data after its end")),
    }
    match counted.source.finish().fill_buf().map_err(unreadable)? {
        [] => Ok(()),
        _ => Err(bad("there is data after its end")),
    }
}

/// The error of an invalid archive.
fn bad(why: impl Into<String>) -> Error {
    Error::BadArchive(why.into())
}

/// The error of an output that contradicts its record.
fn mismatched(mismatch: Mismatch) -> Error {
    bad(mismatch.to_string())
}

/// Error of a read: an I/O error of this machine, or an error in the archive.
fn unreadable(error: io::Error) -> Error {
    match (error.raw_os_error(), error.kind()) {
        (Some(_), _) => Error::store("read the archive")(error),
        (None, io::ErrorKind::UnexpectedEof) => bad("it ends too early; it may be half a file"),
        (None, _) => bad(format!("it is damaged: {error}")),
    }
}

/// Counts unpacked bytes up to a limit.
struct LimitedReader<'a, R> {
    source: R,
    read: u64,
    max: u64,
    progress: &'a mut dyn FnMut(u64),
}

impl<R: Read> Read for LimitedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.read += read as u64;
        if self.read > self.max {
            return Err(io::Error::other(too_large(self.max)));
        }
        (self.progress)(self.read);
        Ok(read)
    }
}

fn too_large(max: u64) -> String {
    format!("it unpacks to more than the {max} bytes that are allowed")
}

/// The entries of an archive, with the next one in memory.
struct Contents<'a, R: Read> {
    entries: Entries<'a, R>,
    next: Option<Item<'a, R>>,
}

/// One entry.
struct Item<'a, R: Read> {
    name: String,
    size: u64,
    entry: Entry<'a, R>,
}

impl<'a, R: Read> Contents<'a, R> {
    fn new(entries: Entries<'a, R>) -> Result<Contents<'a, R>> {
        let mut contents = Contents { entries, next: None };
        contents.advance()?;
        Ok(contents)
    }

    fn advance(&mut self) -> Result<()> {
        self.next = match self.entries.next() {
            None => None,
            Some(entry) => {
                let entry = entry.map_err(unreadable)?;
                let name = String::from_utf8_lossy(&entry.header().path_bytes()).into_owned();
                // Entries are read raw: a long name, an attribute or a sparse map is an entry of its own kind.
                if entry.header().entry_type() != EntryType::Regular {
                    return Err(bad(format!("'{}' is not a plain file", shown(&name))));
                }
                Some(Item { name, size: entry.size(), entry })
            }
        };
        Ok(())
    }

    /// Hands the next entry to `take` if it is the one with this name.
    fn entry<T>(
        &mut self,
        name: &str,
        take: impl FnOnce(&mut Item<'a, R>) -> Result<T>,
    ) -> Result<Option<T>> {
        let Some(item) = self.next.as_mut().filter(|item| item.name == name) else { return Ok(None) };
        let taken = take(item)?;
        self.advance()?;
        Ok(Some(taken))
    }

    /// Error for an entry at a place where `wanted` is expected.
    fn instead_of(&self, wanted: &str) -> Error {
        match &self.next {
            Some(item) => bad(format!("it has '{}' where {wanted} should be", shown(&item.name))),
            None => bad(format!("it ends where {wanted} should be")),
        }
    }

    fn walk(&mut self, max_bytes: u64, take: &mut dyn Take) -> Result<()> {
        let manifest = self.manifest(max_bytes)?;
        take.manifest(&manifest)?;
        let mut left = manifest.bytes;
        let mut ids = HashSet::new();
        let mut found = HashMap::new();
        for _ in 0..manifest.outputs {
            let record = self.record(&manifest, &mut ids)?;
            self.output(&record, &mut left, &mut found, take).map_err(|error| match error {
                Error::BadArchive(why) => bad(format!("{}: {why}", record.handle)),
                error => error,
            })?;
        }
        if left > 0 {
            return Err(bad(format!("it has {left} bytes of outputs less than it says")));
        }
        if manifest.events > 0 {
            let events = self.entry(EVENTS, |item| item.events(manifest.events, take))?;
            events.ok_or_else(|| self.instead_of("the events"))?;
        }
        match self.next {
            Some(_) => Err(self.instead_of("its end")),
            None => Ok(()),
        }
    }

    fn manifest(&mut self, max_bytes: u64) -> Result<Manifest> {
        let text = self.entry(MANIFEST, |item| item.whole(LARGEST_MANIFEST))?;
        let text = text.ok_or_else(|| self.instead_of("the manifest"))?;
        let wrong = |error| bad(format!("its manifest is invalid: {error}"));
        // The version is looked at first: a newer form may have other fields.
        let form: serde_json::Value = serde_json::from_slice(&text).map_err(wrong)?;
        if form["format"] != FORMAT {
            return Err(bad("it is not an archive of forebay"));
        }
        if form["version"].as_u64().is_none_or(|version| version != u64::from(VERSION)) {
            return Err(bad(format!("its version is {}, and this program reads {VERSION}", form["version"])));
        }
        let manifest: Manifest = serde_json::from_value(form).map_err(wrong)?;
        if manifest.outputs > MOST_OUTPUTS {
            return Err(bad(format!("it has {} outputs, and {MOST_OUTPUTS} are allowed", manifest.outputs)));
        }
        // Every output has at least a record: a header and a block.
        let records = manifest.outputs * 2 * TAR_BLOCK as u64;
        let total = manifest.bytes.checked_add(manifest.events).and_then(|total| total.checked_add(records));
        if total.is_some_and(|total| total <= max_bytes) {
            Ok(manifest)
        } else {
            Err(bad(too_large(max_bytes)))
        }
    }

    fn record(&mut self, manifest: &Manifest, ids: &mut HashSet<String>) -> Result<Record> {
        let id = self.next.as_ref().and_then(|item| {
            item.name.strip_prefix("outputs/")?.strip_suffix("/record.json").map(str::to_owned)
        });
        let Some(id) = id else { return Err(self.instead_of("the record of an output")) };
        let handle = Handle::new(manifest.session.clone(), &id)
            .map_err(|_| self.instead_of("the record of an output"))?;
        if !ids.insert(id) {
            return Err(bad(format!("it has {handle} twice")));
        }
        let text = self.entry(&record_name(handle.id()), |item| item.whole(LARGEST_RECORD))?;
        let record: Record = serde_json::from_slice(&text.unwrap_or_default())
            .map_err(|error| bad(format!("{handle}: its record is invalid: {error}")))?;
        proof::record(&record, &handle).map_err(|mismatch| bad(format!("{handle}: {mismatch}")))?;
        Ok(record)
    }

    fn output(
        &mut self,
        record: &Record,
        left: &mut u64,
        found: &mut HashMap<String, (Handle, Found)>,
        take: &mut dyn Take,
    ) -> Result<()> {
        let id = record.handle.id();
        let same = found.get(&record.hash).map(|(handle, _)| handle.clone());
        take.begin(record, same.as_ref())?;
        if same.is_none() {
            let name = part_name(id, Part::Bytes);
            let passed = self.entry(&name, |item| {
                // More than was declared is refused before it is unpacked.
                if item.size != record.kept() || item.size > *left {
                    return Err(bad(format!("it has {} bytes, which is not what was declared", item.size)));
                }
                *left -= item.size;
                let mut passing = Passing::default();
                item.for_each_block(|block| {
                    passing.update(block);
                    take.part(Part::Bytes, block)
                })?;
                Ok(passing.finish())
            })?;
            let passed = passed.ok_or_else(|| self.instead_of("its bytes"))?;
            found.insert(record.hash.clone(), (record.handle.clone(), passed));
        }
        let Some((_, found)) = found.get(&record.hash) else { unreachable!("it was found just now") };
        proof::bytes(record, found).map_err(mismatched)?;
        self.entry(&part_name(id, Part::Lines), |item| {
            let lines = item.whole(found.index.len() as u64)?;
            proof::lines(record, found, &lines).map_err(mismatched)?;
            take.part(Part::Lines, &lines)
        })?;
        let mut stretches = Stretches::of(record);
        self.entry(&part_name(id, Part::Streams), |item| {
            if !item.size.is_multiple_of(8) || item.size / 8 > record.kept() {
                return Err(bad("its streams are invalid"));
            }
            item.for_each_block(|block| {
                stretches.update(block).map_err(mismatched)?;
                take.part(Part::Streams, block)
            })
        })?;
        stretches.finish(record).map_err(mismatched)?;
        self.entry(&part_name(id, Part::View), |item| {
            let view = item.whole(LARGEST_VIEW)?;
            proof::view(record, &view).map_err(mismatched)?;
            take.part(Part::View, &view)
        })?;
        take.end()
    }
}

impl<R: Read> Item<'_, R> {
    /// Reads all of it if it has at most `most` bytes.
    fn whole(&mut self, most: u64) -> Result<Vec<u8>> {
        if self.size > most {
            let name = shown(&self.name);
            return Err(bad(format!("'{name}' has {} bytes, and {most} are allowed", self.size)));
        }
        let mut whole = Vec::new();
        self.for_each_block(|block| {
            whole.extend_from_slice(block);
            Ok(())
        })?;
        Ok(whole)
    }

    /// Hands it on in blocks. All but the last are full, so that no entry of a table is cut.
    fn for_each_block(&mut self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut block = vec![0; BLOCK.min(usize::try_from(self.size).unwrap_or(BLOCK))];
        let mut left = self.size;
        while left > 0 {
            let filled = fill(&mut self.entry, &mut block).map_err(unreadable)?;
            if filled == 0 {
                return Err(bad(format!("it ends in the middle of '{}'", shown(&self.name))));
            }
            left -= filled as u64;
            take(&block[..filled])?;
        }
        Ok(())
    }

    fn events(&mut self, declared: u64, take: &mut dyn Take) -> Result<()> {
        if self.size != declared {
            return Err(bad(format!("it has {} bytes of events, not {declared} as it says", self.size)));
        }
        let mut left = self.size;
        let mut lines = BufReader::with_capacity(BLOCK, &mut self.entry);
        let mut line = Vec::new();
        while left > 0 {
            line.clear();
            let read =
                (&mut lines).take(LONGEST_EVENT + 1).read_until(b'\n', &mut line).map_err(unreadable)?;
            left = left.saturating_sub(read as u64);
            match line.pop() {
                Some(b'\n') if proof::is_event(&line) => take.event(&line)?,
                _ => return Err(bad("one of its events is invalid")),
            }
        }
        Ok(())
    }
}
