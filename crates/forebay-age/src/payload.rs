//! The contents of a sealed file: blocks of 64 KiB, each encrypted with a nonce of its number and whether it is the last.

use crate::keys::{FileKey, cipher, random};
use crate::{Error, Key, Lock, header};
use ring::aead::{Aad, LessSafeKey, NONCE_LEN, Nonce};
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Bytes of a block; only the last one has fewer.
const BLOCK: usize = 64 * 1024;

/// Bytes that encryption adds to a block.
const TAG: usize = 16;

/// Bytes between header and first block, from which the key of the contents is derived.
const SALT: usize = 16;

fn contents_cipher(key: &FileKey, salt: &[u8; SALT]) -> LessSafeKey {
    cipher(key.derived(salt, "payload"))
}

fn nonce(number: u64, is_last: bool) -> Nonce {
    let mut nonce = [0; NONCE_LEN];
    nonce[3..11].copy_from_slice(&number.to_be_bytes());
    nonce[11] = u8::from(is_last);
    Nonce::assume_unique_for_key(nonce)
}

/// Seals what is written to it. [`finish`](Writer::finish) must be called at the end: a file without its last block
/// cannot be opened.
pub struct Writer<W: Write> {
    out: W,
    cipher: LessSafeKey,
    block: Vec<u8>,
    number: u64,
}

impl<W: Write> Writer<W> {
    /// Writes the header of a sealed file.
    pub fn new(mut out: W, lock: &Lock) -> Result<Writer<W>, Error> {
        let key = FileKey::generate()?;
        header::write(&mut out, lock, &key)?;
        let salt = random()?;
        out.write_all(&salt)?;
        let cipher = contents_cipher(&key, &salt);
        Ok(Writer { out, cipher, block: Vec::with_capacity(BLOCK + TAG), number: 0 })
    }

    /// Writes the last block.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_block(true)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn write_block(&mut self, is_last: bool) -> io::Result<()> {
        let nonce = nonce(self.number, is_last);
        self.cipher
            .seal_in_place_append_tag(nonce, Aad::empty(), &mut self.block)
            .map_err(|_| io::Error::other("a block cannot be sealed"))?;
        self.out.write_all(&self.block)?;
        self.block.clear();
        self.number += 1;
        Ok(())
    }
}

impl<W: Write> Write for Writer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.block.len() == BLOCK && !bytes.is_empty() {
            self.write_block(false)?;
        }
        let taken = bytes.len().min(BLOCK - self.block.len());
        self.block.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    /// Does nothing: a block is written when it is full.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads the contents of a sealed file. Damage is found in the block that is read, and a lost end in the last one.
pub struct Reader<R> {
    source: R,
    cipher: LessSafeKey,
    /// Where the first block is in the source.
    start: u64,
    /// Number of blocks, of which each but the last is full.
    blocks: u64,
    /// Bytes of the contents.
    length: u64,
    at: u64,
    /// The block that was read last, and its number.
    block: Vec<u8>,
    number: Option<u64>,
}

impl<R: Read + Seek> Reader<R> {
    /// Opens a sealed file with a key.
    pub fn open(mut source: R, key: &Key) -> Result<Reader<R>, Error> {
        let key = header::read(&mut source, key)?;
        let mut salt = [0; SALT];
        source.read_exact(&mut salt).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Error::Header("it ends too early"),
            _ => error.into(),
        })?;
        let start = source.stream_position()?;
        let sealed = source.seek(SeekFrom::End(0))?.saturating_sub(start);
        let whole = (BLOCK + TAG) as u64;
        let blocks = sealed.div_ceil(whole).max(1);
        let length = sealed.saturating_sub(blocks * TAG as u64);
        let cipher = contents_cipher(&key, &salt);
        let mut reader =
            Reader { source, cipher, start, blocks, length, at: 0, block: Vec::new(), number: None };
        // The last block is the only sign of an end that was cut off.
        reader.load(blocks - 1)?;
        Ok(reader)
    }

    /// Bytes of the contents.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    fn load(&mut self, number: u64) -> io::Result<()> {
        if self.number == Some(number) {
            return Ok(());
        }
        self.number = None;
        let is_last = number == self.blocks - 1;
        self.source.seek(SeekFrom::Start(self.start + number * (BLOCK + TAG) as u64))?;
        self.block.clear();
        (&mut self.source).take((BLOCK + TAG) as u64).read_to_end(&mut self.block)?;
        let opened = self.cipher.open_in_place(nonce(number, is_last), Aad::empty(), &mut self.block);
        let length = opened.map(|text| text.len()).map_err(|_| damaged(is_last))?;
        // Only empty contents have an empty block.
        if length == 0 && number > 0 {
            return Err(damaged(true));
        }
        self.block.truncate(length);
        self.number = Some(number);
        Ok(())
    }
}

fn damaged(is_last: bool) -> io::Error {
    let why = if is_last {
        "the sealed file is damaged or cut off at its end"
    } else {
        "the sealed file is damaged"
    };
    io::Error::new(io::ErrorKind::InvalidData, why)
}

impl<R: Read + Seek> Read for Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.length || buffer.is_empty() {
            return Ok(0);
        }
        self.load(self.at / BLOCK as u64)?;
        let rest = self.block.get((self.at % BLOCK as u64) as usize..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.at += length as u64;
        Ok(length)
    }
}

impl<R> Seek for Reader<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
