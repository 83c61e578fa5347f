//! What is said on standard error: our own words and those of the servers.
//!
//! Whoever reads our standard error may read slowly or not at all, and a server may flood it. Nobody waits for it:
//! what has no room is left out, and it is said how much that was.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// So many pieces wait to be written, each at most as large as one read.
const WAITING: usize = 256;

/// The end takes no longer than this, whatever the reader does.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// The way to standard error.
#[derive(Clone)]
pub struct Talk {
    said: SyncSender<Said>,
    left_out: Arc<AtomicU64>,
    /// Told when all was written; taken by whoever waits for it.
    done: Arc<Mutex<Receiver<()>>>,
}

enum Said {
    Bytes(Vec<u8>),
    End,
}

impl Talk {
    /// A way to `writer`, which a thread of its own writes to.
    pub fn to(mut writer: impl Write + Send + 'static) -> Talk {
        let (said, hears) = sync_channel(WAITING);
        let (tells_done, done) = sync_channel(1);
        std::thread::spawn(move || {
            while let Ok(Said::Bytes(bytes)) = hears.recv() {
                let _ = writer.write_all(&bytes).and_then(|()| writer.flush());
            }
            let _ = tells_done.try_send(());
        });
        Talk { said, left_out: Arc::default(), done: Arc::new(Mutex::new(done)) }
    }

    /// Says a line of our own.
    pub(crate) fn say(&self, line: &str) {
        let line = forebay::printable(&forebay::shortened(line, 1_000)).replace('\n', " ");
        self.pass(format!("forebay: {line}\n").into_bytes());
    }

    /// Passes on what a server said.
    pub(crate) fn pass(&self, bytes: Vec<u8>) {
        let before = self.left_out.swap(0, Ordering::Relaxed);
        if before > 0 {
            let note = format!("\nforebay: {before} bytes of standard error were left out here\n");
            if self.said.try_send(Said::Bytes(note.into_bytes())).is_err() {
                self.left_out.fetch_add(before, Ordering::Relaxed);
            }
        }
        let length = bytes.len() as u64;
        if self.said.try_send(Said::Bytes(bytes)).is_err() {
            self.left_out.fetch_add(length, Ordering::Relaxed);
        }
    }

    /// Waits until all is written, or until nobody reads it.
    pub fn end(&self) {
        if self.said.try_send(Said::End).is_ok()
            && let Ok(done) = self.done.lock()
        {
            let _ = done.recv_timeout(LAST_WORDS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that takes nothing until it is told to.
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
    fn nobody_waits_for_a_reader_that_does_not_read() {
        let (go, goes) = sync_channel(1);
        let (wrote, written) = sync_channel(10_000);
        let talk = Talk::to(Stuck(goes, wrote));
        for _ in 0..5_000 {
            talk.pass(b"0123456789".to_vec());
        }
        drop(go);
        std::thread::sleep(Duration::from_millis(100));
        talk.say("the end");
        talk.end();
        let all: Vec<u8> = written.try_iter().flatten().collect();
        let text = String::from_utf8(all).unwrap();
        assert!(text.contains("bytes of standard error were left out here\n"), "{}", text.len());
        assert!(text.ends_with("forebay: the end\n"));
    }
}
