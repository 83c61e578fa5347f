//! Measures an output while it arrives: first in the writing thread, and in separate threads once there is more, so
//! that measuring does not delay the writing.

use crate::size::{Measure, Measured, Text};
use std::{
    collections::VecDeque,
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
};

/// From here on measuring has threads of its own.
const LARGE: u64 = 2 * 1024 * 1024;

/// Copies bytes into its own blocks and measures them.
#[derive(Default)]
pub(crate) struct Measuring {
    /// The block that is being filled, as long as a block can be.
    pub(crate) block: Vec<u8>,
    pub(crate) filled: usize,
    index: Vec<u8>,
    /// Number of newlines in the measured bytes, for progress displays.
    lines: Arc<AtomicU64>,
    by: By,
}

enum By {
    Hand(Box<Measure>),
    Threads(Threads),
}

impl Default for By {
    fn default() -> By {
        By::Hand(Box::default())
    }
}

const MEASURED_AT_ONCE: usize = 1024 * 1024;
pub(crate) const READ_AT_ONCE: usize = 128 * 1024;

/// Zeroed by the system as it is first touched, so that a small output pays only for what it uses.
fn new_block() -> Vec<u8> {
    vec![0; MEASURED_AT_ONCE + READ_AT_ONCE]
}

impl Measuring {
    /// Continues from the state of `measure`.
    pub(crate) fn from(measure: Measure) -> Measuring {
        Measuring { by: By::Hand(Box::new(measure)), ..Measuring::default() }
    }

    /// The free rest of the block, for the next bytes.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        if self.block.is_empty() {
            self.block = new_block();
        }
        &mut self.block[self.filled..self.filled + READ_AT_ONCE]
    }

    /// Measures what has been filled in, at once or when there is enough of it.
    pub(crate) fn update(&mut self, length: usize, so_far: u64) {
        self.filled += length;
        match &mut self.by {
            By::Hand(measure) => {
                measure.update(&self.block[..self.filled]);
                self.filled = 0;
                self.index.extend(measure.take_index());
                self.lines.store(measure.text.newlines(), Ordering::Relaxed);
                if so_far >= LARGE
                    && let Ok(fed) = Threads::start(self.lines.clone())
                {
                    self.by = By::Threads(fed.go_on_from(std::mem::take(measure)));
                }
            }
            By::Threads(threads) if self.filled >= MEASURED_AT_ONCE => {
                let full = std::mem::take(&mut self.block);
                self.block = threads.measure(full, std::mem::take(&mut self.filled));
                self.index.extend(threads.index.try_iter().flatten());
            }
            By::Threads(_) => {}
        }
    }

    /// Number of newlines counted so far.
    pub(crate) fn lines(&self) -> u64 {
        self.lines.load(Ordering::Relaxed)
    }

    pub(crate) fn take_index(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.index)
    }

    pub(crate) fn finish(mut self) -> (Measured, Vec<u8>) {
        match self.by {
            By::Hand(measure) => (measure.finish(), self.index),
            By::Threads(mut threads) => {
                threads.measure(self.block, self.filled);
                let (measured, index) = threads.finish();
                self.index.extend(index);
                (measured, self.index)
            }
        }
    }
}

/// One thread for the hash and one for the rest, both fed the same blocks.
struct Threads {
    hash: Fed<blake3::Hasher>,
    text: Fed<Text>,
    /// Entries of the line index.
    index: mpsc::Receiver<Vec<u8>>,
    /// Blocks that a thread may still be reading, oldest first.
    under_way: VecDeque<Arc<(Vec<u8>, usize)>>,
}

/// A thread that is given a state, then blocks until their sender is gone, and then has a result.
struct Fed<T> {
    state: mpsc::Sender<T>,
    blocks: mpsc::SyncSender<Arc<(Vec<u8>, usize)>>,
    thread: thread::JoinHandle<Option<T>>,
}

impl<T: Send + 'static> Fed<T> {
    /// Fails if the system cannot start a thread. The state is sent later, because a thread that fails to start would
    /// drop it.
    fn start(mut update: impl FnMut(&mut T, &[u8]) + Send + 'static) -> io::Result<Fed<T>> {
        let (state, given) = mpsc::channel();
        // The bound is what keeps memory flat when bytes come faster than they are measured.
        let (blocks, to_measure) = mpsc::sync_channel::<Arc<(Vec<u8>, usize)>>(4);
        let thread = thread::Builder::new().spawn(move || {
            let mut state: T = given.recv().ok()?;
            for block in to_measure {
                update(&mut state, &block.0[..block.1]);
            }
            Some(state)
        })?;
        Ok(Fed { state, blocks, thread })
    }

    fn finish(self) -> T {
        drop(self.blocks);
        let state = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        state.unwrap_or_else(|| unreachable!("its sender lives until here"))
    }
}

impl Threads {
    fn start(lines: Arc<AtomicU64>) -> io::Result<Threads> {
        let (entries, index) = mpsc::channel();
        let hash = Fed::start(|hash: &mut blake3::Hasher, block| {
            hash.update(block);
        })?;
        let text = Fed::start(move |text: &mut Text, block| {
            text.update(block);
            lines.store(text.newlines(), Ordering::Relaxed);
            let _ = entries.send(text.take_index());
        })?;
        Ok(Threads { hash, text, index, under_way: VecDeque::new() })
    }

    /// Continues from the state of `measure`.
    fn go_on_from(self, measure: Box<Measure>) -> Threads {
        // The threads wait for these.
        let _ = self.hash.state.send(measure.hash);
        let _ = self.text.state.send(measure.text);
        self
    }

    /// Hands a block to both threads; returns one that they are done with, or none.
    fn measure(&mut self, block: Vec<u8>, filled: usize) -> Vec<u8> {
        let block = Arc::new((block, filled));
        // The threads end only when these senders are gone.
        let _ = self.hash.blocks.send(block.clone());
        let _ = self.text.blocks.send(block.clone());
        self.under_way.push_back(block);
        let done = self.under_way.pop_front().map(Arc::try_unwrap);
        match done {
            Some(Ok((block, _))) => block,
            Some(Err(busy)) => {
                self.under_way.push_front(busy);
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    fn finish(self) -> (Measured, Vec<u8>) {
        let (hash, text) = (self.hash.finish(), self.text.finish());
        (text.finish(&hash), self.index.iter().flatten().collect())
    }
}
