//! Parts of outputs, open for reading.

use crate::backend::Backend;
use crate::blobs::{Blobs, Framed};
use crate::failure::Failure;
use crate::key::Key;
use crate::row::{self, Found, Location, Place, signed, unsigned};
use crate::runtime::Runtime;
use crate::window::Window;
use crate::{database::retrying, row::GROWING};
use forebay::{Part, ReadAt};
use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};
use tokio_postgres::types::Type;

/// Number that stands for a part in the database.
pub(crate) fn part_number(part: Part) -> i32 {
    match part {
        Part::Bytes => 0,
        Part::Lines => 1,
        Part::Streams => 2,
        Part::View => 3,
    }
}

/// The bytes of an output.
pub(crate) struct Bytes {
    runtime: Arc<Runtime>,
    source: Arc<BytesSource>,
    /// The size of a finished output. That of a growing one is asked for each time.
    size: Option<u64>,
    /// Guards what was read last.
    window: Mutex<Window>,
}

impl Bytes {
    pub(crate) fn new(runtime: Arc<Runtime>, backend: Arc<Backend>, key: Key, found: &Found) -> Bytes {
        let size = (found.state != GROWING).then_some(found.bytes);
        let location = Mutex::new(found.location.clone());
        let source = Arc::new(BytesSource { backend, key, location, frames: Mutex::default() });
        Bytes { runtime, source, size, window: Mutex::default() }
    }
}

impl ReadAt for Bytes {
    fn size(&self) -> io::Result<u64> {
        match self.size {
            Some(size) => Ok(size),
            None => {
                let source = self.source.clone();
                Ok(self.runtime.wait(async move { source.find().await })??.bytes)
            }
        }
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if self.size.is_some_and(|size| offset >= size) {
            return Ok(0);
        }
        read_through(&self.window, offset, buffer, |offset, length| {
            let source = self.source.clone();
            Ok(self.runtime.wait(async move { source.read(offset, length).await })??)
        })
    }
}

/// Fills `buffer` from the window, and the window by `fetch`, until there is no more.
fn read_through(
    window: &Mutex<Window>,
    offset: u64,
    buffer: &mut [u8],
    fetch: impl Fn(u64, u64) -> io::Result<(u64, Vec<u8>)>,
) -> io::Result<usize> {
    let mut window = window.lock().unwrap_or_else(PoisonError::into_inner);
    let mut filled = 0;
    while filled < buffer.len() {
        let at = offset + filled as u64;
        let copied = window.copy_to(at, &mut buffer[filled..]);
        if copied == 0 {
            let (start, bytes) = fetch(at, window.length_from(at, (buffer.len() - filled) as u64))?;
            window.replace(start, bytes);
            if window.copy_to(at, &mut [0]) == 0 {
                break;
            }
        }
        filled += copied;
    }
    Ok(filled)
}

/// Where the bytes of an output are read.
pub(crate) struct BytesSource {
    backend: Arc<Backend>,
    key: Key,
    /// Guards the place of the bytes, which may change once when the output ends.
    location: Mutex<Location>,
    /// Guards the table of frames of the object, once it is read.
    frames: Mutex<Option<Arc<Framed>>>,
}

impl BytesSource {
    async fn find(&self) -> Result<Found, Failure> {
        let found = retrying(|_| row::find(&self.backend.database, &self.key)).await?;
        *self.location.lock().unwrap_or_else(PoisonError::into_inner) = found.location.clone();
        Ok(found)
    }

    fn location(&self) -> Location {
        self.location.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads about `length` bytes around `offset`; returns where they begin.
    async fn read(&self, offset: u64, length: u64) -> Result<(u64, Vec<u8>), Failure> {
        let location = self.location();
        let read = self.read_from(&location, offset, length).await;
        let is_there = matches!(&read, Ok((start, bytes)) if offset < start + bytes.len() as u64);
        if is_there {
            return read;
        }
        // There may be no more bytes; or the output has ended, and they have moved.
        match self.find().await {
            Ok(found) if found.location != location => self.read_from(&found.location, offset, length).await,
            _ => read,
        }
    }

    async fn read_from(
        &self,
        location: &Location,
        offset: u64,
        length: u64,
    ) -> Result<(u64, Vec<u8>), Failure> {
        match location.place {
            Place::Rows => {
                retrying(|_| chunks(&self.backend, &self.key, &location.content, offset, length)).await
            }
            Place::Object => {
                let end = offset.saturating_add(length).min(location.bytes);
                let path = self.blobs()?.path(&self.key, &location.content);
                Ok((offset, self.blobs()?.plain(&path, offset.min(end)..end).await?))
            }
            Place::Frames => self.read_frames(location, offset, length).await,
        }
    }

    async fn read_frames(
        &self,
        location: &Location,
        offset: u64,
        length: u64,
    ) -> Result<(u64, Vec<u8>), Failure> {
        let blobs = self.blobs()?;
        let path = blobs.path(&self.key, &location.content);
        let range = offset..offset.saturating_add(length);
        let known = self.frames.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(frames) = known {
            match blobs.frames(&path, &frames, range.clone()).await {
                // The object may have been written again, with other frames of the same bytes.
                Err(Failure::Bucket(_)) => {}
                read => return read,
            }
        }
        let frames = Arc::new(blobs.open_frames(&path, location.stored).await?);
        *self.frames.lock().unwrap_or_else(PoisonError::into_inner) = Some(frames.clone());
        blobs.frames(&path, &frames, range).await
    }

    fn blobs(&self) -> Result<&Blobs, Failure> {
        let missing = "its bytes are in a bucket, and no bucket is set; set store.blobs";
        self.backend.blobs.as_deref().ok_or_else(|| Failure::Damaged(missing.to_owned()))
    }
}

/// The rows of bytes that hold `length` bytes from `offset`, put together.
pub(crate) async fn chunks(
    backend: &Backend,
    key: &Key,
    content: &str,
    offset: u64,
    length: u64,
) -> Result<(u64, Vec<u8>), Failure> {
    const SQL: &str = "SELECT min(start), string_agg(bytes, ''::bytea ORDER BY start) FROM forebay_chunks \
        WHERE tenant = $1 AND session = $2 AND content = $3 AND start < $5 AND start >= coalesce(\
            (SELECT max(start) FROM forebay_chunks \
             WHERE tenant = $1 AND session = $2 AND content = $3 AND start <= $4), 0)";
    let end = signed(offset.saturating_add(length));
    let start = signed(offset);
    let params = key.session_params(&[(&content, Type::TEXT), (&start, Type::INT8), (&end, Type::INT8)]);
    stretch(backend.database.query_opt(SQL, &params).await?, offset)
}

/// The stretch that a row of the database holds: its beginning, and its bytes.
fn stretch(row: Option<tokio_postgres::Row>, offset: u64) -> Result<(u64, Vec<u8>), Failure> {
    let Some(row) = row else { return Ok((offset, Vec::new())) };
    let start: Option<i64> = row.try_get(0)?;
    let bytes: Option<Vec<u8>> = row.try_get(1)?;
    Ok((start.map_or(offset, unsigned), bytes.unwrap_or_default()))
}

/// A part of an output beside its bytes.
pub(crate) struct Beside {
    runtime: Arc<Runtime>,
    backend: Arc<Backend>,
    key: Key,
    part: i32,
    /// Guards what was read last.
    window: Mutex<Window>,
}

impl Beside {
    pub(crate) fn new(runtime: Arc<Runtime>, backend: Arc<Backend>, key: Key, part: Part) -> Beside {
        Beside { runtime, backend, key, part: part_number(part), window: Mutex::default() }
    }
}

impl ReadAt for Beside {
    fn size(&self) -> io::Result<u64> {
        const SQL: &str = "SELECT start + octet_length(bytes) FROM forebay_parts \
            WHERE tenant = $1 AND session = $2 AND id = $3 AND part = $4 ORDER BY start DESC LIMIT 1";
        let (backend, key, part) = (self.backend.clone(), self.key.clone(), self.part);
        let row = self.runtime.wait(async move {
            let params = key.params(&[(&part, Type::INT4)]);
            retrying(|_| backend.database.query_opt(SQL, &params)).await
        })??;
        Ok(row.map_or(0, |row| unsigned(row.get(0))))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        const SQL: &str = "SELECT min(start), string_agg(bytes, ''::bytea ORDER BY start) FROM forebay_parts \
            WHERE tenant = $1 AND session = $2 AND id = $3 AND part = $4 AND start < $6 \
            AND start >= coalesce((SELECT max(start) FROM forebay_parts \
                WHERE tenant = $1 AND session = $2 AND id = $3 AND part = $4 AND start <= $5), 0)";
        read_through(&self.window, offset, buffer, |offset, length| {
            let (backend, key, part) = (self.backend.clone(), self.key.clone(), self.part);
            let read = self.runtime.wait(async move {
                let (from, end) = (signed(offset), signed(offset.saturating_add(length)));
                let params = key.params(&[(&part, Type::INT4), (&from, Type::INT8), (&end, Type::INT8)]);
                stretch(retrying(|_| backend.database.query_opt(SQL, &params)).await?, offset)
            })?;
            Ok(read?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_filled_from_as_many_stretches_as_it_takes() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1_000).collect();
        // A source that gives at most 100 bytes, and begins up to 7 bytes before the offset.
        let fetch = |offset: u64, _: u64| {
            let start = offset as usize - offset as usize % 7;
            Ok((start as u64, bytes[start.min(1_000)..(start + 100).min(1_000)].to_vec()))
        };
        for (offset, wanted, expected) in
            [(0, 1_000, 1_000), (5, 300, 300), (900, 300, 100), (1_000, 9, 0), (2_000, 9, 0)]
        {
            let mut buffer = vec![0; wanted];
            let read = read_through(&Mutex::default(), offset, &mut buffer, fetch).unwrap();
            assert_eq!(read, expected, "{offset}");
            assert_eq!(buffer[..read], bytes[(offset as usize).min(1_000)..][..read], "{offset}");
        }
    }
}
