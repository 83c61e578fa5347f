//! The runtime on which requests to servers run.
//!
//! The library is synchronous, and its caller may be a worker of another runtime, which must not be blocked by
//! `block_on`. So requests run on threads of their own, and the caller waits on a channel.

use std::{future::Future, io, sync::mpsc};

/// Threads that run requests: one can compress or hash while the other waits for a server.
const THREADS: usize = 2;

/// Runs requests on threads of its own.
pub(crate) struct Runtime {
    /// Empty only while this is dropped.
    runtime: Option<tokio::runtime::Runtime>,
}

impl Runtime {
    pub(crate) fn start() -> io::Result<Runtime> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("forebay-store")
            .enable_all()
            .build()?;
        Ok(Runtime { runtime: Some(runtime) })
    }

    /// Runs a request to its end and returns its answer. Blocks the calling thread, which may belong to another
    /// runtime.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        request: impl Future<Output = T> + Send + 'static,
    ) -> io::Result<T> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.spawn(async move {
            // The receiver is gone only if its thread panicked.
            let _ = answer.send(request.await);
        });
        answered.recv().map_err(|_| io::Error::other("the request ended without an answer"))
    }

    /// Starts a request without waiting for it.
    pub(crate) fn spawn(
        &self,
        request: impl Future<Output = ()> + Send + 'static,
    ) -> Option<tokio::task::AbortHandle> {
        self.runtime.as_ref().map(|runtime| runtime.spawn(request).abort_handle())
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // Dropping a runtime blocks, which panics inside another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_answered_inside_and_outside_of_another_runtime() {
        let runtime = Runtime::start().unwrap();
        assert_eq!(runtime.wait(async { 1 }).unwrap(), 1);
        for mut other in
            [tokio::runtime::Builder::new_current_thread(), tokio::runtime::Builder::new_multi_thread()]
        {
            let other = other.enable_all().build().unwrap();
            let answer = other.block_on(async {
                let runtime = Runtime::start().unwrap();
                runtime.wait(async {
                    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                    2
                })
            });
            assert_eq!(answer.unwrap(), 2);
        }
    }

    #[test]
    fn a_request_that_panics_is_an_error() {
        let runtime = Runtime::start().unwrap();
        assert!(runtime.wait(async { panic!("a defect") }).map(|(): ()| ()).is_err());
        assert_eq!(runtime.wait(async { 3 }).unwrap(), 3, "the next one runs");
    }
}
