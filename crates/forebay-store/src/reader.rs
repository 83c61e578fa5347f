//! Parts of outputs, open for reading.

use crate::backend::Backend;
use crate::blobs::{Blobs, Framed};
use crate::encryption::{Cipher, Content, Context};
use crate::failure::Failure;
use crate::frames::FRAME;
use crate::key::Key;
use crate::row::{self, Found, Location, Place, signed, unsigned};
use crate::runtime::Runtime;
use crate::window::Windows;
use crate::{database::retrying, row::GROWING};
use forebay::{Part, ReadAt};
use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};
use tokio_postgres::types::Type;

/// Number of a part in the database.
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
    /// Size of a finished output. The size of a growing one is fetched each time.
    size: Option<u64>,
    /// The bytes that were read last.
    windows: Windows,
}

impl Bytes {
    pub(crate) fn new(
        runtime: Arc<Runtime>,
        backend: Arc<Backend>,
        key: Key,
        found: &Found,
    ) -> Result<Bytes, Failure> {
        let cipher = found.readable()?;
        let size = (found.state != GROWING).then_some(found.bytes);
        let location = Mutex::new(found.location.clone());
        let source = Arc::new(BytesSource { backend, key, cipher, location, frames: Mutex::default() });
        Ok(Bytes { runtime, source, size, windows: Windows::default() })
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
        self.windows.read(offset, buffer, |offset, length| {
            let source = self.source.clone();
            Ok(self.runtime.wait(async move { source.read(offset, length).await })??)
        })
    }
}

/// Where the bytes of an output are read.
pub(crate) struct BytesSource {
    backend: Arc<Backend>,
    key: Key,
    cipher: Cipher,
    /// Guards the place of the bytes, which may change once when the output ends.
    location: Mutex<Location>,
    /// Guards the object's table of frames, after the first read.
    frames: Mutex<Option<Arc<Framed>>>,
}

impl BytesSource {
    async fn find(&self) -> Result<Found, Failure> {
        let found = retrying(|_| row::find(&self.backend, &self.key)).await?;
        *self.location.lock().unwrap_or_else(PoisonError::into_inner) = found.location.clone();
        Ok(found)
    }

    fn location(&self) -> Location {
        self.location.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads about `length` bytes around `offset`; returns their offset too.
    async fn read(&self, offset: u64, length: u64) -> Result<(u64, Vec<u8>), Failure> {
        let location = self.location();
        let read = self.read_from(&location, offset, length).await;
        let is_there = matches!(&read, Ok((start, bytes)) if offset < start + bytes.len() as u64);
        if is_there {
            return read;
        }
        // There may be no more bytes; or the output has ended, and they have moved; or it was removed.
        let found = self.find().await?;
        let read = if found.location == location {
            read?
        } else {
            self.read_from(&found.location, offset, length).await?
        };
        if read.0 + read.1.len() as u64 <= offset && offset < found.bytes {
            return Err(Failure::Damaged(format!("its bytes end before {offset} of {}", found.bytes)));
        }
        Ok(read)
    }

    async fn read_from(
        &self,
        location: &Location,
        offset: u64,
        length: u64,
    ) -> Result<(u64, Vec<u8>), Failure> {
        match location.place {
            Place::Rows => {
                let content = Content { cipher: &self.cipher, name: &location.content };
                retrying(|_| chunks(&self.backend, &self.key, content, offset, length)).await
            }
            Place::Object => {
                // Whole stretches, as of frames: what is near is asked for next, and a request costs more than the bytes.
                let start = offset - offset % FRAME as u64;
                let end = offset.saturating_add(length).max(start + FRAME as u64).min(location.bytes);
                let path = self.blobs()?.path(&self.key, &location.object);
                Ok((start.min(end), self.blobs()?.plain(&path, start.min(end)..end).await?))
            }
            Place::Frames | Place::EncryptedFrames => self.read_frames(location, offset, length).await,
        }
    }

    async fn read_frames(
        &self,
        location: &Location,
        offset: u64,
        length: u64,
    ) -> Result<(u64, Vec<u8>), Failure> {
        let blobs = self.blobs()?;
        let path = blobs.path(&self.key, &location.object);
        let range = offset..offset.saturating_add(length);
        let content = Content { cipher: &self.cipher, name: &location.content };
        let known = self.frames.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(frames) = known {
            match blobs.frames(&path, &frames, content, range.clone()).await {
                // The object may have been written again, with other frames of the same bytes.
                Err(Failure::Bucket(_)) => {}
                read => return read,
            }
        }
        let frames = Arc::new(blobs.open_frames(&path, location.stored).await?);
        *self.frames.lock().unwrap_or_else(PoisonError::into_inner) = Some(frames.clone());
        blobs.frames(&path, &frames, content, range).await
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
    content: Content<'_>,
    offset: u64,
    length: u64,
) -> Result<(u64, Vec<u8>), Failure> {
    const SQL: &str = "SELECT start, bytes FROM forebay_chunks \
        WHERE tenant = $1 AND session = $2 AND content = $3 AND start < $5 AND start >= coalesce(\
            (SELECT max(start) FROM forebay_chunks \
             WHERE tenant = $1 AND session = $2 AND content = $3 AND start <= $4), 0) ORDER BY start";
    let Content { cipher, name } = content;
    let (start, end) = (signed(offset), signed(offset.saturating_add(length)));
    let params = key.session_params(&[(&name, Type::TEXT), (&start, Type::INT8), (&end, Type::INT8)]);
    let rows = backend.database.query(SQL, &params).await?;
    stretch(rows, offset, |start, bytes| cipher.open(Context::Bytes(name, start), bytes))
}

/// The stretch that rows of the database hold together: its beginning, and its bytes as `open` decrypts them.
fn stretch(
    rows: Vec<tokio_postgres::Row>,
    offset: u64,
    open: impl Fn(u64, Vec<u8>) -> Result<Vec<u8>, Failure>,
) -> Result<(u64, Vec<u8>), Failure> {
    let (mut first, mut bytes) = (None, Vec::new());
    for row in rows {
        let start = unsigned(row.try_get(0)?);
        first.get_or_insert(start);
        bytes.extend(open(start, row.try_get(1)?)?);
    }
    Ok((first.unwrap_or(offset), bytes))
}

/// A part of an output beside its bytes.
pub(crate) struct Beside {
    runtime: Arc<Runtime>,
    backend: Arc<Backend>,
    key: Key,
    cipher: Cipher,
    part: i32,
    /// The bytes that were read last.
    windows: Windows,
}

impl Beside {
    pub(crate) fn new(
        runtime: Arc<Runtime>,
        backend: Arc<Backend>,
        key: Key,
        cipher: Cipher,
        part: Part,
    ) -> Beside {
        Beside { runtime, backend, key, cipher, part: part_number(part), windows: Windows::default() }
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
        Ok(row.map_or(0, |row| unsigned(row.get(0)).saturating_sub(self.cipher.overhead())))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        const SQL: &str = "SELECT start, bytes FROM forebay_parts \
            WHERE tenant = $1 AND session = $2 AND id = $3 AND part = $4 AND start < $6 \
            AND start >= coalesce((SELECT max(start) FROM forebay_parts \
                WHERE tenant = $1 AND session = $2 AND id = $3 AND part = $4 AND start <= $5), 0) ORDER BY start";
        self.windows.read(offset, buffer, |offset, length| {
            let (backend, key, part) = (self.backend.clone(), self.key.clone(), self.part);
            let cipher = self.cipher.clone();
            let read = self.runtime.wait(async move {
                let (from, end) = (signed(offset), signed(offset.saturating_add(length)));
                let params = key.params(&[(&part, Type::INT4), (&from, Type::INT8), (&end, Type::INT8)]);
                let rows = retrying(|_| backend.database.query(SQL, &params)).await?;
                stretch(rows, offset, |start, bytes| cipher.open(Context::Part(&key.id, part, start), bytes))
            })?;
            Ok(read?)
        })
    }
}
