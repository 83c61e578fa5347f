//! The bytes that were read last, so that small reads one after the other are one request.
//!
//! A search reads several stretches of an output at once, one in each thread. Each has a window of its own, so they do not
//! take each other's bytes away, and requests are made while nobody holds the lock.

use std::io;
use std::sync::{Mutex, PoisonError};

/// Minimum bytes of a request. The line index, for example, is read 8 bytes at a time.
const SMALLEST: u64 = 64 * 1024;

/// Bytes that a read asks for which goes on where the last one ended: whoever reads on reads much. Each further one asks
/// for twice as much, up to the largest, so that a long search waits for few requests.
const AHEAD: u64 = 4 * 1024 * 1024;
const FARTHEST_AHEAD: u64 = 16 * 1024 * 1024;

/// Maximum stretches that are read at once. With more, reading ahead is given up.
const WINDOWS: usize = 8;

/// A range of bytes that never change.
#[derive(Default)]
struct Window {
    start: u64,
    bytes: Vec<u8>,
    /// Bytes that the read asks for which goes on after this stretch.
    ahead: u64,
    /// Number of the read that used it last.
    used: u64,
}

impl Window {
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// Copies what it has from `offset` on into `buffer`; returns how many bytes that were.
    fn copy_to(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let Some(from) = offset.checked_sub(self.start).and_then(|from| usize::try_from(from).ok()) else {
            return 0;
        };
        let rest = self.bytes.get(from..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        length
    }
}

/// The stretches that were read last.
#[derive(Default)]
pub(crate) struct Windows {
    /// Guards the stretches. It is free while bytes are fetched.
    windows: Mutex<Vec<Window>>,
}

impl Windows {
    /// Fills `buffer` from the windows, and the windows by `fetch`, until there is no more. `fetch` gets an offset and a
    /// number of bytes, and returns about so many and where they begin.
    pub(crate) fn read(
        &self,
        offset: u64,
        buffer: &mut [u8],
        fetch: impl Fn(u64, u64) -> io::Result<(u64, Vec<u8>)>,
    ) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            let at = offset + filled as u64;
            let rest = &mut buffer[filled..];
            let mut copied = self.copy(at, rest);
            if copied == 0 {
                let (length, ahead) = self.length_from(at, rest.len() as u64);
                let (start, bytes) = fetch(at, length)?;
                copied = self.keep(Window { start, bytes, ahead, used: 0 }, at, rest);
                if copied == 0 {
                    break;
                }
            }
            filled += copied;
        }
        Ok(filled)
    }

    fn copy(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let now = next(&windows);
        for window in windows.iter_mut() {
            let copied = window.copy_to(offset, buffer);
            if copied > 0 {
                window.used = now;
                return copied;
            }
        }
        0
    }

    /// Number of bytes to ask for to read `wanted` bytes from `offset`, and for the read after that one.
    fn length_from(&self, offset: u64, wanted: u64) -> (u64, u64) {
        let windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        match windows.iter().find(|window| offset > 0 && window.end() == offset) {
            Some(before) => (wanted.max(before.ahead), (before.ahead * 2).min(FARTHEST_AHEAD)),
            None => (wanted.max(SMALLEST), AHEAD),
        }
    }

    /// Keeps a stretch in place of the one before it, or of the one that was used longest ago, and copies from it.
    fn keep(&self, mut new: Window, offset: u64, buffer: &mut [u8]) -> usize {
        let copied = new.copy_to(offset, buffer);
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        new.used = next(&windows);
        // A fetch may begin before `offset`, with a whole row or frame.
        let before = windows.iter().position(|window| (new.start..=offset).contains(&window.end()));
        let oldest = || (0..windows.len()).min_by_key(|&number| windows[number].used);
        match before.or_else(|| if windows.len() < WINDOWS { None } else { oldest() }) {
            Some(number) => windows[number] = new,
            None => windows.push(new),
        }
        copied
    }
}

/// The number of the next read.
fn next(windows: &[Window]) -> u64 {
    windows.iter().map(|window| window.used).max().unwrap_or(0) + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn a_window_gives_what_it_has() {
        let window = Window { start: 10, bytes: b"abcdef".to_vec(), ahead: AHEAD, used: 0 };
        // offset, wanted, expected
        let table: [(u64, usize, &[u8]); 6] =
            [(10, 3, b"abc"), (12, 9, b"cdef"), (15, 1, b"f"), (16, 4, b""), (9, 4, b""), (u64::MAX, 1, b"")];
        for (offset, wanted, expected) in table {
            let mut buffer = vec![0; wanted];
            let read = window.copy_to(offset, &mut buffer);
            assert_eq!(&buffer[..read], expected, "{offset}");
        }
    }

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
            let read = Windows::default().read(offset, &mut buffer, fetch).unwrap();
            assert_eq!(read, expected, "{offset}");
            assert_eq!(buffer[..read], bytes[(offset as usize).min(1_000)..][..read], "{offset}");
        }
    }

    /// Reads stretches of a large output by turns, a small block at a time; returns the requests that this took.
    fn requests(stretches: &[u64], length: u64) -> Vec<(u64, u64)> {
        const BLOCK: u64 = 128 * 1024;
        let asked = RefCell::new(Vec::new());
        let windows = Windows::default();
        let mut buffer = vec![0; BLOCK as usize];
        for at in (0..length).step_by(BLOCK as usize) {
            for start in stretches {
                let read = windows.read(start + at, &mut buffer, |offset, length| {
                    asked.borrow_mut().push((offset, length));
                    Ok((offset, vec![0; length as usize]))
                });
                assert_eq!(read.unwrap() as u64, BLOCK);
            }
        }
        asked.into_inner()
    }

    #[test]
    fn each_of_several_readers_reads_ahead_and_farther_each_time() {
        const MIB: u64 = 1024 * 1024;
        let alone: Vec<u64> = requests(&[1 << 30], 80 * MIB).iter().map(|(_, length)| *length).collect();
        let expected = [128 * 1024, 4 * MIB, 8 * MIB, 16 * MIB, 16 * MIB, 16 * MIB, 16 * MIB, 16 * MIB];
        assert_eq!(alone, expected);
        let stretches: Vec<u64> = (1..=WINDOWS as u64).map(|number| number << 40).collect();
        let together = requests(&stretches, 80 * MIB);
        assert_eq!(together.len(), expected.len() * WINDOWS, "no reader takes the bytes of another");
        for (start, _) in together.iter().take(WINDOWS) {
            assert!(stretches.contains(start));
        }
    }

    #[test]
    fn a_single_read_asks_for_little() {
        let asked = RefCell::new(Vec::new());
        let windows = Windows::default();
        for offset in [0, 1 << 20, 5, 1 << 30] {
            let read = windows.read(offset, &mut [0; 8], |offset, length| {
                asked.borrow_mut().push(length);
                Ok((offset, vec![0; length as usize]))
            });
            assert_eq!(read.unwrap(), 8);
        }
        assert_eq!(asked.into_inner(), [SMALLEST; 3], "the third is there");
    }
}
