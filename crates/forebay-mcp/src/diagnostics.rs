//! Standard error: our own lines and what servers write there.
//!
//! The reader of standard error may be slow or stuck, and a server may flood it. Nothing waits for it: what does not fit
//! into the queue is dropped, and a line says how much that was.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Maximum pieces that wait to be written, each at most as large as one read.
const QUEUE: usize = 256;

/// Longest time to write what still waits at the end.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(300);

/// Writes lines to standard error, from a thread of its own.
#[derive(Clone)]
pub struct Diagnostics {
    queue: SyncSender<Piece>,
    dropped: Arc<AtomicU64>,
    /// Gets a message when everything is written.
    done: Arc<Mutex<Receiver<()>>>,
}

enum Piece {
    Bytes(Vec<u8>),
    End,
}

impl Diagnostics {
    /// Starts a thread that writes to `writer`.
    pub fn to(mut writer: impl Write + Send + 'static) -> Diagnostics {
        let (queue, pieces) = sync_channel(QUEUE);
        let (written, done) = sync_channel(1);
        std::thread::spawn(move || {
            while let Ok(Piece::Bytes(bytes)) = pieces.recv() {
                let _ = writer.write_all(&bytes).and_then(|()| writer.flush());
            }
            let _ = written.try_send(());
        });
        Diagnostics { queue, dropped: Arc::default(), done: Arc::new(Mutex::new(done)) }
    }

    /// Writes a line of our own.
    pub(crate) fn line(&self, line: &str) {
        let line = forebay::printable(&forebay::shortened(line, 1_000)).replace('\n', " ");
        self.pass(format!("forebay: {line}\n").into_bytes());
    }

    /// Passes on what a server wrote.
    pub(crate) fn pass(&self, bytes: Vec<u8>) {
        let before = self.dropped.swap(0, Ordering::Relaxed);
        if before > 0 {
            let note = format!("\nforebay: {before} bytes of standard error were left out here\n");
            if self.queue.try_send(Piece::Bytes(note.into_bytes())).is_err() {
                self.dropped.fetch_add(before, Ordering::Relaxed);
            }
        }
        let length = bytes.len() as u64;
        if self.queue.try_send(Piece::Bytes(bytes)).is_err() {
            self.dropped.fetch_add(length, Ordering::Relaxed);
        }
    }

    /// Waits until everything is written, but not for long.
    pub fn end(&self) {
        if self.queue.try_send(Piece::End).is_ok()
            && let Ok(done) = self.done.lock()
        {
            let _ = done.recv_timeout(FLUSH_TIMEOUT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that blocks until it is released.
    struct Stuck(Receiver<()>, SyncSender<Vec<u8>>);

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.0.recv();
            let _ = self.1.send(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_does_not_read_blocks_nothing() {
        let (go, goes) = sync_channel(1);
        let (wrote, written) = sync_channel(10_000);
        let diagnostics = Diagnostics::to(Stuck(goes, wrote));
        for _ in 0..5_000 {
            diagnostics.pass(b"0123456789".to_vec());
        }
        drop(go);
        std::thread::sleep(Duration::from_millis(100));
        diagnostics.line("the end");
        diagnostics.end();
        let all: Vec<u8> = written.try_iter().flatten().collect();
        let text = String::from_utf8(all).unwrap();
        assert!(text.contains("bytes of standard error were left out here\n"), "{}", text.len());
        assert!(text.ends_with("forebay: the end\n"));
    }
}
