//! Work that a signal ends cleanly: unfinished changes are undone, which a killed process could not do.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::{
    io::{self, Read, Seek, SeekFrom, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Has signals that would end the process set `signalled` instead.
pub(crate) fn flag(signalled: &Arc<AtomicBool>) -> io::Result<()> {
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, signalled.clone())?;
    }
    Ok(())
}

/// Reads or writes until a signal comes; from then on it fails.
pub(crate) struct Stop<T> {
    inner: T,
    signalled: Arc<AtomicBool>,
}

impl<T> Stop<T> {
    pub(crate) fn on_signals(inner: T) -> io::Result<Stop<T>> {
        let signalled = Arc::new(AtomicBool::new(false));
        flag(&signalled)?;
        Ok(Stop { inner, signalled })
    }

    fn check(&self) -> io::Result<()> {
        if self.signalled.load(Ordering::Relaxed) {
            // The error of the system: it is not the archive that is wrong.
            Err(rustix::io::Errno::CANCELED.into())
        } else {
            Ok(())
        }
    }
}

impl<R: Read> Read for Stop<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.check()?;
        self.inner.read(buffer)
    }
}

impl<W: Write> Write for Stop<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.check()?;
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<S: Seek> Seek for Stop<S> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}
