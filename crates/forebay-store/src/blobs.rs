//! Objects in a bucket: the bytes of outputs, each under the hash of the bytes.
//!
//! An object is never changed. It may be written twice with the same bytes, so a write whose answer was lost does no
//! harm.

use crate::encryption::{Content, Context};
use crate::failure::Failure;
use crate::frames::{self, FOOTER, Table};
use crate::key::Key;
use object_store::path::Path;
use object_store::{
    GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, WriteMultipart,
};
use std::{ops::Range, sync::Arc};

/// Maximum bytes of a single request. Larger objects are sent in parts.
const SINGLE: usize = 8 * 1024 * 1024;

/// Maximum parts of an object: below the limit of S3, which is 10,000.
const PARTS: u64 = 9_000;

/// Maximum parts uploaded at the same time: a single stream does not use the full bandwidth.
const AT_ONCE: usize = 4;

/// Bytes read from the end of an object to find its table: enough for 8 GB of output. A small object is read whole.
const END: u64 = 64 * 1024;

/// Bytes of one request when a large range is read: so many arrive while a request is answered.
const REQUEST: u64 = 4 * 1024 * 1024;

/// The objects of a bucket below a prefix.
#[derive(Clone)]
pub(crate) struct Blobs {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
}

impl Blobs {
    pub(crate) fn new(store: Arc<dyn ObjectStore>, prefix: Path) -> Blobs {
        Blobs { store, prefix }
    }

    /// The name of an object: `<prefix>/<tenant>/<session>/<hash>`.
    pub(crate) fn path(&self, key: &Key, hash: &str) -> Path {
        self.prefix.clone().join(key.tenant.as_str()).join(key.session.as_str()).join(hash)
    }

    /// A name in the bucket for a probe.
    pub(crate) fn probe_path(&self, id: &str) -> Path {
        self.prefix.clone().join(format!("forebay-probe-{id}"))
    }

    /// The client of the bucket.
    pub(crate) fn store(&self) -> &dyn ObjectStore {
        &*self.store
    }

    /// Begins an object of about `length` bytes.
    pub(crate) fn upload(&self, path: Path, length: u64) -> Upload {
        let part = SINGLE.max(usize::try_from(length / PARTS).unwrap_or(SINGLE));
        Upload { store: self.store.clone(), path, part, waiting: Vec::new(), parts: None, stored: 0 }
    }

    /// Checks that the bucket answers, by a request for an object that does not exist.
    pub(crate) async fn check(&self) -> Result<(), Failure> {
        match self.store.head(&self.probe_path("missing")).await {
            Ok(_) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(failure(error)),
        }
    }

    /// Removes an object. Succeeds if it does not exist.
    pub(crate) async fn remove(&self, path: &Path) -> Result<(), Failure> {
        match self.store.delete(path).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(failure(error)),
        }
    }

    /// Reads a range of an object. With a `tag`, fails if the object has been replaced since.
    async fn range(&self, path: &Path, range: Range<u64>, tag: Option<&str>) -> Result<Got, Failure> {
        let options = GetOptions {
            range: Some(GetRange::Bounded(range)),
            if_match: tag.map(str::to_owned),
            ..GetOptions::default()
        };
        let got = self.store.get_opts(path, options).await.map_err(failure)?;
        let (size, tag) = (got.meta.size, got.meta.e_tag.clone());
        Ok(Got { size, tag, bytes: got.bytes().await.map_err(failure)?.to_vec() })
    }

    /// A range of an object, by several requests at once if it is large.
    async fn wide_range(
        &self,
        path: &Path,
        range: Range<u64>,
        tag: Option<&str>,
    ) -> Result<Vec<u8>, Failure> {
        let mut parts = tokio::task::JoinSet::new();
        let mut at = range.start;
        while at < range.end {
            let end = range.end.min(at + REQUEST);
            let (blobs, path, tag) = (self.clone(), path.clone(), tag.map(str::to_owned));
            parts.spawn(async move { (at, blobs.range(&path, at..end, tag.as_deref()).await) });
            at = end;
        }
        let mut parts = parts.join_all().await;
        parts.sort_by_key(|(at, _)| *at);
        let mut bytes = Vec::with_capacity(usize::try_from(range.end - range.start).unwrap_or(0));
        for (_, part) in parts {
            bytes.extend(part?.bytes);
        }
        Ok(bytes)
    }

    /// A range of an object that has the bytes as they are.
    pub(crate) async fn plain(&self, path: &Path, range: Range<u64>) -> Result<Vec<u8>, Failure> {
        self.wide_range(path, range, None).await
    }

    /// Opens an object of frames, whose size is about `stored`.
    pub(crate) async fn open_frames(&self, path: &Path, stored: u64) -> Result<Framed, Failure> {
        let mut end = match self.range(path, stored.saturating_sub(END)..stored.max(1), None).await {
            Ok(end) if end.size == stored => end,
            Err(missing @ Failure::Damaged(_)) => return Err(missing),
            // It was written again by a program that compresses otherwise.
            _ => {
                let size = self.store.head(path).await.map_err(failure)?.size;
                self.range(path, size.saturating_sub(END)..size, None).await?
            }
        };
        let length = Table::encoded_length(&end.bytes).map_err(damaged)? as u64;
        if length > end.bytes.len() as u64 {
            let from = end.size.saturating_sub(length);
            end = self.range(path, from..end.size, end.tag.as_deref()).await?;
        }
        let from = end.bytes.len().saturating_sub(length as usize);
        let table = Table::decode(&end.bytes[from..]).map_err(damaged)?;
        let start = end.size - end.bytes.len() as u64;
        Ok(Framed { table, tag: end.tag, start, end: end.bytes })
    }

    /// The plain bytes of the frames that hold `range`, and where they begin.
    pub(crate) async fn frames(
        &self,
        path: &Path,
        object: &Framed,
        content: Content<'_>,
        range: Range<u64>,
    ) -> Result<(u64, Vec<u8>), Failure> {
        let frames = object.table.frames_of(range.clone());
        let Some(first) = frames.first() else { return Ok((range.start, Vec::new())) };
        let stored = frames::range_of(frames);
        let known = stored.start.checked_sub(object.start).and_then(|from| {
            let from = usize::try_from(from).ok()?;
            object.end.get(from..from + usize::try_from(stored.end - stored.start).ok()?)
        });
        let open = |at: u64, frame: &[u8]| {
            let opened = content.cipher.open(Context::Frame(content.name, at), frame.to_vec());
            opened.map_err(std::io::Error::from)
        };
        let plain = match known {
            Some(bytes) => frames::decompress(frames, bytes, open),
            None => {
                let bytes = self.wide_range(path, stored, object.tag.as_deref()).await?;
                frames::decompress(frames, &bytes, open)
            }
        };
        Ok((first.plain_start, plain.map_err(damaged)?))
    }
}

/// Answer to a request for a range.
struct Got {
    size: u64,
    tag: Option<String>,
    bytes: Vec<u8>,
}

/// An object of frames whose table has been read.
pub(crate) struct Framed {
    table: Table,
    /// Version of the object. Another version may have other frames.
    tag: Option<String>,
    /// Last bytes of the object, and their offset. A small object is here as a whole.
    start: u64,
    end: Vec<u8>,
}

/// An object that is being written.
pub(crate) struct Upload {
    store: Arc<dyn ObjectStore>,
    path: Path,
    /// Bytes per part.
    part: usize,
    /// Bytes that are not sent yet. While they fit into a single request, nothing is sent.
    waiting: Vec<u8>,
    parts: Option<WriteMultipart>,
    stored: u64,
}

impl Upload {
    /// Adds bytes.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.stored += bytes.len() as u64;
        if let Some(parts) = &mut self.parts {
            parts.wait_for_capacity(AT_ONCE).await.map_err(failure)?;
            parts.write(bytes);
            return Ok(());
        }
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() > SINGLE {
            let upload = self.store.put_multipart(&self.path).await.map_err(failure)?;
            let mut parts = WriteMultipart::new_with_chunk_size(upload, self.part);
            parts.write(&std::mem::take(&mut self.waiting));
            self.parts = Some(parts);
        }
        Ok(())
    }

    /// Makes the object readable; returns its size.
    pub(crate) async fn finish(self) -> Result<u64, Failure> {
        match self.parts {
            Some(parts) => parts.finish().await.map_err(failure)?,
            None => {
                let payload = PutPayload::from(self.waiting);
                self.store.put(&self.path, payload).await.map_err(failure)?
            }
        };
        Ok(self.stored)
    }

    /// Removes the parts that were sent. An object is never visible before it is complete, so this only frees space.
    pub(crate) async fn abort(self) {
        if let Some(parts) = self.parts
            && let Err(error) = parts.abort().await
        {
            tracing::warn!("cannot remove the parts of an upload: {}", failure(error));
        }
    }
}

/// Writes an object if a condition holds.
pub(crate) async fn put(
    store: &dyn ObjectStore,
    path: &Path,
    bytes: &'static [u8],
    mode: PutMode,
) -> object_store::Result<object_store::PutResult> {
    store.put_opts(path, PutPayload::from_static(bytes), PutOptions::from(mode)).await
}

fn damaged(error: std::io::Error) -> Failure {
    Failure::Damaged(format!("its object in the bucket cannot be read: {error}"))
}

/// Converts an error of the bucket. In the addresses of its text, everything after `?` is removed: it may be a
/// signature.
pub(crate) fn failure(error: object_store::Error) -> Failure {
    match &error {
        object_store::Error::NotFound { path, .. } => {
            Failure::Damaged(format!("its object {path} is not in the bucket"))
        }
        _ => Failure::Bucket(without_signatures(&error.to_string())),
    }
}

/// A text without the options of the addresses in it, and without names and passwords before `@`.
pub(crate) fn without_signatures(text: &str) -> String {
    let ends = |c: char| c.is_whitespace() || matches!(c, ')' | '"' | '\'' | ',' | '>' | '`');
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + "://".len());
        shown.push_str(before);
        let end = after.find(ends).unwrap_or(after.len());
        let address = after[..end].split('?').next().unwrap_or_default();
        let (host, path) = address.split_once('/').map_or((address, None), |(host, path)| (host, Some(path)));
        shown.push_str(host.rsplit('@').next().unwrap_or_default());
        path.into_iter().for_each(|path| shown.extend(["/", path]));
        rest = &after[end..];
    }
    shown + rest
}

/// The last bytes always include the footer of the table.
const _: () = assert!((END as usize) > FOOTER);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encryption::Cipher;

    #[test]
    fn errors_show_no_signature_and_no_password() {
        let table = [
            ("no address", "no address"),
            (
                "error sending request for url (https://a.example/b/c?sig=secret&se=1): timed out",
                "error sending request for url (https://a.example/b/c): timed out",
            ),
            ("proxy http://me:secret@proxy:3128/ failed", "proxy http://proxy:3128/ failed"),
            ("https://h?secret", "https://h"),
            ("two: http://a?x=1, http://b/c?y=2", "two: http://a, http://b/c"),
        ];
        for (text, expected) in table {
            assert_eq!(without_signatures(text), expected);
        }
    }

    fn key() -> Key {
        Key { tenant: "t".to_owned(), session: "s".to_owned(), id: "a".to_owned() }
    }

    /// Bytes that are not encrypted.
    const CLEAR: Content<'_> = Content { cipher: &Cipher::NONE, name: "hash" };

    /// Writes plain bytes as frames.
    async fn write(blobs: &Blobs, plain: &[u8], frame: usize) -> u64 {
        let mut upload = blobs.upload(blobs.path(&key(), "hash"), plain.len() as u64);
        let mut table = Table::default();
        for part in plain.chunks(frame) {
            let bytes = frames::compress(part).unwrap();
            table.push(bytes.len(), part.len()).unwrap();
            upload.write(&bytes).await.unwrap();
        }
        upload.write(&table.encode()).await.unwrap();
        upload.finish().await.unwrap()
    }

    #[tokio::test]
    async fn ranges_of_small_and_large_objects_come_back() {
        let blobs = Blobs::new(Arc::new(object_store::memory::InMemory::new()), Path::from("p"));
        let path = blobs.path(&key(), "hash");
        assert_eq!(path.as_ref(), "p/t/s/hash");
        let mut noise = vec![0; 10 << 20];
        blake3::Hasher::new().finalize_xof().fill(&mut noise);
        // The first is read as a whole, the second has a long table, the third is sent in parts.
        let text = b"many lines\n".repeat(100_000);
        for (plain, frame) in [(&text, 1 << 20), (&text, 100), (&noise, 1 << 20)] {
            let stored = write(&blobs, plain, frame).await;
            for hint in [stored, stored / 2, stored + 100, stored + 1_000_000, 0] {
                let object = blobs.open_frames(&path, hint).await.unwrap();
                for at in [0, 99, 100, plain.len() / 2, plain.len() - 1] {
                    let range = at as u64..(at as u64 + 10);
                    let (start, found) = blobs.frames(&path, &object, CLEAR, range).await.unwrap();
                    let from = at - start as usize;
                    let end = (at + 10).min(plain.len());
                    assert_eq!(&found[from..from + (end - at)], &plain[at..end], "{at} {hint}");
                }
            }
        }
    }

    #[tokio::test]
    async fn an_object_that_was_written_again_is_not_read_by_its_old_table() {
        let blobs = Blobs::new(Arc::new(object_store::memory::InMemory::new()), Path::from("p"));
        let path = blobs.path(&key(), "hash");
        let mut plain = vec![0; 1 << 20];
        blake3::Hasher::new().finalize_xof().fill(&mut plain);
        let stored = write(&blobs, &plain, 100_000).await;
        let old = blobs.open_frames(&path, stored).await.unwrap();
        let stored = write(&blobs, &plain, 70_000).await;
        assert!(matches!(blobs.frames(&path, &old, CLEAR, 0..10).await, Err(Failure::Bucket(_))));
        let new = blobs.open_frames(&path, stored).await.unwrap();
        assert_eq!(blobs.frames(&path, &new, CLEAR, 0..10).await.unwrap().1[..10], plain[..10]);
    }
}
