//! Copying an output from one store to another, as it is.

use crate::output::BLOCK;
use crate::store::{Part, Sink, Store};
use crate::{Error, Handle, Record, Result, State};
use std::io;

/// The result of copying an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// It was copied.
    New,
    /// The target already had it.
    AlreadyThere,
    /// It still grows, and can be copied when it has ended.
    Growing,
    /// Another output in the target has its name.
    NameTaken,
}

/// Copies an output with its bytes, its record and its view. The bytes are proved on the way: an output that is damaged is not
/// copied. One whose copy was broken off is copied again.
pub fn copy(from: &dyn Store, to: &dyn Store, handle: &Handle) -> Result<Copied> {
    let record = from.record(handle)?;
    if record.state == State::Growing {
        return Ok(Copied::Growing);
    }
    match to.record(handle) {
        Ok(there) if there.hash == record.hash && there.call == record.call => {
            return Ok(Copied::AlreadyThere);
        }
        Ok(there) if is_broken_off(from, to, &record, &there)? => to.delete(handle)?,
        Ok(_) => return Ok(Copied::NameTaken),
        Err(Error::NotFound { .. }) => {}
        Err(error) => return Err(error),
    }
    let Some(sink) = to.create(handle, &record.call)? else { return Ok(Copied::NameTaken) };
    let copied = write(from, to, &record, sink);
    if copied.is_err() {
        // The error says more than that of removing what there is of it.
        let _ = to.delete(handle);
    }
    copied.map(|()| Copied::New)
}

fn write(from: &dyn Store, to: &dyn Store, record: &Record, mut sink: Box<dyn Sink>) -> Result<()> {
    let handle = &record.handle;
    let cannot = || Error::store(format!("copy {handle}"));
    let mut hash = blake3::Hasher::new();
    let lengths = [(Part::Bytes, Some(record.kept())), (Part::Lines, None), (Part::Streams, None)];
    for (part, length) in lengths {
        each_block(from, handle, part, length, &mut |block| {
            if part == Part::Bytes {
                hash.update(block);
            }
            sink.append(part, block)
        })
        .map_err(cannot())?;
    }
    if hash.finalize().to_hex().as_str() != record.hash {
        return Err(cannot()(io::Error::other("its bytes are not those that its record describes")));
    }
    sink.finish(record)?;
    let mut view = Vec::new();
    each_block(from, handle, Part::View, None, &mut |block| {
        view.extend_from_slice(block);
        Ok(())
    })
    .map_err(cannot())?;
    if !view.is_empty() {
        to.attach(handle, Part::View, &view)?;
    }
    if let Some(older) = &record.same_as {
        // Two copies are no harm, and the older one may not be there.
        let _ = to.share(handle, older);
    }
    Ok(())
}

/// Whether the output in the target is the beginning of an interrupted copy.
fn is_broken_off(from: &dyn Store, to: &dyn Store, record: &Record, there: &Record) -> Result<bool> {
    if there.call != record.call || !matches!(there.state, State::CutShort(_)) || there.kept() > record.kept()
    {
        return Ok(false);
    }
    let handle = &record.handle;
    let begins = |store: &dyn Store| {
        let mut hash = blake3::Hasher::new();
        each_block(store, handle, Part::Bytes, Some(there.kept()), &mut |block| {
            hash.update(block);
            Ok(())
        })
        .map(|()| hash.finalize())
        .map_err(Error::store(format!("copy {handle}")))
    };
    Ok(begins(from)? == begins(to)?)
}

/// Passes a part to `take`, block by block; `length` bytes of it, or all.
fn each_block(
    store: &dyn Store,
    handle: &Handle,
    part: Part,
    length: Option<u64>,
    take: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let bytes = store.open_part(handle, part).map_err(io::Error::other)?;
    let length = length.map_or_else(|| bytes.size(), Ok)?;
    let mut block = vec![0; BLOCK];
    let mut at = 0;
    while at < length {
        let wanted = usize::try_from(length - at).unwrap_or(BLOCK).min(BLOCK);
        let read = bytes.read_at(at, &mut block[..wanted])?;
        if read == 0 {
            return Err(io::Error::other(format!("it has {at} bytes and should have {length}")));
        }
        take(&block[..read])?;
        at += read as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::writer::{End, Stream, Writer};
    use crate::{Call, MemoryStore, Outputs, Session, Settings, Timestamp, verify_output};

    fn call(id: &str) -> Call {
        Call::new(Session::safe("s"), id, "tool", Timestamp::UNIX_EPOCH)
    }

    fn put(store: &MemoryStore, id: &str, bytes: &[u8]) -> Handle {
        let mut writer = Writer::begin(store, &call(id));
        writer.write(Stream::Stdout, bytes);
        writer.write(Stream::Stderr, b"and an error\n");
        let output = writer.finish(End::default());
        let outputs = Outputs::new(store, Session::safe("s"), &|| Timestamp::UNIX_EPOCH);
        outputs.reply(&output, &Settings::default()).unwrap();
        output.record().handle.clone()
    }

    #[test]
    fn an_output_is_copied_once_with_all_that_belongs_to_it() {
        let (from, to) = (MemoryStore::default(), MemoryStore::default());
        for (id, bytes) in [("empty1", &b""[..]), ("large1", &b"many lines\n".repeat(100_000))] {
            let handle = put(&from, id, bytes);
            for expected in [Copied::New, Copied::AlreadyThere] {
                assert_eq!(copy(&from, &to, &handle).unwrap(), expected);
                assert_eq!(to.record(&handle).unwrap(), from.record(&handle).unwrap());
                assert_eq!(verify_output(&to, &handle).unwrap(), []);
                for part in [Part::Bytes, Part::Lines, Part::Streams, Part::View] {
                    let size = |store: &MemoryStore| store.open_part(&handle, part).unwrap().size().unwrap();
                    assert_eq!(size(&to), size(&from), "{part:?}");
                }
            }
        }
    }

    #[test]
    fn a_copy_that_was_broken_off_is_made_again_and_nothing_else_is_replaced() {
        let (from, to) = (MemoryStore::default(), MemoryStore::default());
        let bytes = b"a line\n".repeat(1_000);
        for (id, begun, expected) in [
            ("broken", &bytes[..3_500], Copied::New),
            ("nothing", &[], Copied::New),
            ("other1", b"other bytes", Copied::NameTaken),
        ] {
            let handle = put(&from, id, &bytes);
            let mut sink = to.create(&handle, &call(id)).unwrap().unwrap();
            sink.append(Part::Bytes, begun).unwrap();
            drop(sink);
            assert_eq!(copy(&from, &to, &handle).unwrap(), expected, "{id}");
        }
        let mut growing = Writer::begin(&from, &call("growing"));
        growing.write(Stream::Stdout, b"more\n");
        let handle = growing.handle().unwrap().clone();
        assert_eq!(copy(&from, &to, &handle).unwrap(), Copied::Growing);
        assert!(to.record(&handle).is_err());
    }

    #[test]
    fn a_damaged_output_is_not_copied() {
        let (from, to) = (MemoryStore::default(), MemoryStore::default());
        let handle = put(&from, "good12", b"some bytes\n");
        let mut record = from.record(&handle).unwrap();
        from.delete(&handle).unwrap();
        let mut sink = from.create(&handle, &record.call).unwrap().unwrap();
        sink.append(Part::Bytes, b"same length and an error").unwrap();
        record.size.bytes = 24;
        sink.finish(&record).unwrap();
        let error = copy(&from, &to, &handle).unwrap_err().to_string();
        assert!(error.contains("not those that its record describes"), "{error}");
        assert!(to.record(&handle).is_err());
    }
}
