//! The bytes that were read last, so that small reads one after the other are one request.

/// Bytes that a single read asks for at least: the line index is looked up by 8 bytes at a time.
const SMALLEST: u64 = 64 * 1024;

/// Bytes that a read asks for which goes on where the last one ended: whoever reads on reads much.
const AHEAD: u64 = 4 * 1024 * 1024;

/// A stretch of bytes that never change.
#[derive(Default)]
pub(crate) struct Window {
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// Copies what it has from `offset` on into `buffer`; returns how many bytes that were.
    pub(crate) fn copy_to(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let Some(from) = offset.checked_sub(self.start).and_then(|from| usize::try_from(from).ok()) else {
            return 0;
        };
        let rest = self.bytes.get(from..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        length
    }

    /// Number of bytes to ask for to read `wanted` bytes from `offset`.
    pub(crate) fn length_from(&self, offset: u64, wanted: u64) -> u64 {
        let goes_on = offset > 0 && offset == self.end();
        wanted.max(if goes_on { AHEAD } else { SMALLEST })
    }

    /// Keeps these bytes instead.
    pub(crate) fn replace(&mut self, start: u64, bytes: Vec<u8>) {
        (self.start, self.bytes) = (start, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_gives_what_it_has() {
        let mut window = Window::default();
        window.replace(10, b"abcdef".to_vec());
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
    fn a_read_that_goes_on_reads_ahead() {
        let mut window = Window::default();
        window.replace(10, b"abcdef".to_vec());
        let table = [(0, 8, SMALLEST), (16, 8, AHEAD), (17, 8, SMALLEST), (17, SMALLEST + 1, SMALLEST + 1)];
        for (offset, wanted, expected) in table {
            assert_eq!(window.length_from(offset, wanted), expected, "{offset}");
        }
        assert_eq!(Window::default().length_from(0, 8), SMALLEST, "the first read is not a sequence");
    }
}
