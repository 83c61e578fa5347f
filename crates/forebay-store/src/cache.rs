//! A cache of shared bytes on the local disk, so that repeated reads need no server.
//!
//! Bytes of an ended output never change, so their hash names them, and a cached block is never outdated. If the
//! cache is too large, the blocks that were read longest ago are removed.

use forebay::ReadAt;
use std::{
    fs::{self, DirBuilder, File, FileTimes},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

/// Bytes of a block: as many as a frame of an object has.
const BLOCK: u64 = 1024 * 1024;

/// Bytes written between two checks of the size.
const CHECK_EVERY: u64 = 64 * 1024 * 1024;

/// Blocks of outputs in a folder.
pub(crate) struct Cache {
    folder: PathBuf,
    /// Maximum bytes of all blocks.
    most: u64,
    /// Bytes written since the last check.
    written: AtomicU64,
}

impl Cache {
    /// The cache in a folder, which is created with the first block. With 0 as `most`, nothing is cached.
    pub(crate) fn new(folder: PathBuf, most: u64) -> Cache {
        Cache { folder, most, written: AtomicU64::new(0) }
    }

    /// The bytes of an ended output, read through the cache.
    pub(crate) fn over(self: &Arc<Self>, hash: &str, size: u64, bytes: Box<dyn ReadAt>) -> Box<dyn ReadAt> {
        if self.most == 0 || size > self.most {
            return bytes;
        }
        Box::new(Cached { cache: self.clone(), folder: self.folder.join(hash), size, bytes })
    }

    /// Removes the blocks that were read longest ago, until a tenth of the room is free.
    fn shrink(&self) -> io::Result<()> {
        let mut blocks = Vec::new();
        for output in fs::read_dir(&self.folder)?.flatten() {
            for block in fs::read_dir(output.path()).into_iter().flatten().flatten() {
                if let Ok(found) = block.metadata() {
                    blocks.push((
                        found.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                        found.len(),
                        block.path(),
                    ));
                }
            }
        }
        let mut bytes: u64 = blocks.iter().map(|(_, length, _)| length).sum();
        if bytes <= self.most {
            return Ok(());
        }
        blocks.sort();
        for (_, length, path) in blocks {
            if bytes <= self.most / 10 * 9 {
                break;
            }
            fs::remove_file(&path)?;
            bytes -= length;
            // The folder is removed only when it is empty.
            let _ = path.parent().map(fs::remove_dir);
        }
        Ok(())
    }

    fn wrote(&self, bytes: u64) {
        let before = self.written.fetch_add(bytes, Ordering::Relaxed);
        // The first block of a process also triggers a check: many short commands write little each.
        if before == 0 || before / CHECK_EVERY != (before + bytes) / CHECK_EVERY {
            // A cache that is too large does less harm than a read that fails.
            let _ = self.shrink();
        }
    }
}

/// Bytes of an ended output.
struct Cached {
    cache: Arc<Cache>,
    folder: PathBuf,
    size: u64,
    bytes: Box<dyn ReadAt>,
}

impl Cached {
    /// Reads from a block: from the local copy, or from the store, which creates the local copy.
    fn read_block(&self, block: u64, from: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let start = block * BLOCK;
        let length = BLOCK.min(self.size - start);
        let path = self.folder.join(block.to_string());
        if let Some(read) = local(&path, length, from, buffer) {
            return Ok(read);
        }
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        let mut filled = 0;
        while filled < bytes.len() {
            match self.bytes.read_at(start + filled as u64, &mut bytes[filled..])? {
                0 => return self.bytes.read_at(start + from, buffer),
                read => filled += read,
            }
        }
        // A full disk does not stop a read.
        if self.write(&path, &bytes).is_ok() {
            self.cache.wrote(length);
        }
        let bytes = bytes.get(usize::try_from(from).unwrap_or(usize::MAX)..).unwrap_or_default();
        let read = bytes.len().min(buffer.len());
        buffer[..read].copy_from_slice(&bytes[..read]);
        Ok(read)
    }

    /// Writes a block. Its name exists only when the block is complete.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let new = path.with_extension(std::process::id().to_string());
        let written = File::options().create(true).truncate(true).write(true).mode(0o600).open(&new);
        let written =
            written.and_then(|mut file| file.write_all(bytes)).and_then(|()| fs::rename(&new, path));
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written
    }
}

/// Reads from a complete local block, and records the time of the read.
fn local(path: &Path, length: u64, from: u64, buffer: &mut [u8]) -> Option<usize> {
    let file = File::open(path).ok()?;
    if file.metadata().ok()?.len() != length {
        return None;
    }
    let read = ReadAt::read_at(&file, from, buffer).ok()?;
    let _ = file.set_times(FileTimes::new().set_modified(SystemTime::now()));
    Some(read)
}

impl ReadAt for Cached {
    fn size(&self) -> io::Result<u64> {
        Ok(self.size)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if offset >= self.size || buffer.is_empty() {
            return Ok(0);
        }
        self.read_block(offset / BLOCK, offset % BLOCK, buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Bytes that count how often they are read.
    struct Source {
        bytes: Vec<u8>,
        reads: Arc<Mutex<u64>>,
    }

    impl ReadAt for Source {
        fn size(&self) -> io::Result<u64> {
            Ok(self.bytes.len() as u64)
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
            *self.reads.lock().unwrap() += 1;
            let rest = self.bytes.get(offset as usize..).unwrap_or_default();
            let read = rest.len().min(buffer.len()).min(300_000);
            buffer[..read].copy_from_slice(&rest[..read]);
            Ok(read)
        }
    }

    fn whole(bytes: &dyn ReadAt) -> Vec<u8> {
        let mut read = vec![0; bytes.size().unwrap() as usize];
        let mut filled = 0;
        while filled < read.len() {
            match bytes.read_at(filled as u64, &mut read[filled..]).unwrap() {
                0 => break,
                more => filled += more,
            }
        }
        read.truncate(filled);
        read
    }

    fn files(folder: &Path) -> u64 {
        let outputs = fs::read_dir(folder).into_iter().flatten().flatten();
        outputs.flat_map(|output| fs::read_dir(output.path()).unwrap().flatten()).count() as u64
    }

    #[test]
    fn bytes_that_were_read_are_read_again_without_the_store() {
        let folder = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..2_500_000u32).map(|number| (number % 251) as u8).collect();
        let reads = Arc::new(Mutex::new(0));
        let source = || Box::new(Source { bytes: bytes.clone(), reads: reads.clone() });
        let open = || {
            let cache = Arc::new(Cache::new(folder.path().join("cache"), 100 * BLOCK));
            cache.over("hash", bytes.len() as u64, source())
        };
        assert!(whole(&*open()) == bytes);
        let before = *reads.lock().unwrap();
        assert!(whole(&*open()) == bytes);
        let mut end = [0; 9];
        assert_eq!(open().read_at(bytes.len() as u64 - 4, &mut end).unwrap(), 4);
        assert_eq!(open().read_at(bytes.len() as u64, &mut end).unwrap(), 0);
        assert_eq!(*reads.lock().unwrap(), before);
        // A block that was damaged in length is read from the store.
        fs::write(folder.path().join("cache/hash/1"), b"short").unwrap();
        assert!(whole(&*open()) == bytes);
        assert!(*reads.lock().unwrap() > before);
    }

    #[test]
    fn the_blocks_that_were_read_longest_ago_go_when_there_are_too_many() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("cache");
        let read = |hash: &str, most: u64| {
            let source = Source { bytes: vec![b'x'; BLOCK as usize], reads: Arc::default() };
            let cache = Arc::new(Cache::new(place.clone(), most));
            assert_eq!(whole(&*cache.over(hash, BLOCK, Box::new(source))).len() as u64, BLOCK);
        };
        for (age, hash) in ["a", "b", "c"].iter().enumerate() {
            read(hash, 10 * BLOCK);
            let time = SystemTime::now() - std::time::Duration::from_secs(100 - age as u64);
            let file = File::open(place.join(hash).join("0")).unwrap();
            file.set_times(FileTimes::new().set_modified(time)).unwrap();
        }
        read("a", 10 * BLOCK);
        assert_eq!(files(&place), 3);
        read("d", 3 * BLOCK);
        let there: Vec<bool> = ["a", "b", "c", "d"].map(|hash| place.join(hash).exists()).to_vec();
        assert_eq!(there, [true, false, false, true], "a was read again");
        read("e", 0);
        assert!(!place.join("e").exists(), "nothing is kept");
    }
}
