//! Our own standard streams. Pipes and sockets are read and written without a thread in between.
//!
//! Other processes share these pipes, so their flags must not change: a pipe is opened again under its name in
//! `/proc`, and each call on a socket requests not to wait. If neither is possible, threads wait.

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe;

/// Something to read from.
pub(crate) type Input = Box<dyn AsyncRead + Send + Unpin>;

/// Something to write to.
pub(crate) type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Our standard input.
pub(crate) fn input() -> Input {
    if let Ok(pipe) = pipe::OpenOptions::new().open_receiver("/proc/self/fd/0") {
        return Box::new(pipe);
    }
    match Socket::of(io::stdin()) {
        Ok(socket) => Box::new(socket),
        Err(_) => Box::new(tokio::io::stdin()),
    }
}

/// Our standard output.
pub(crate) fn output() -> Output {
    if let Ok(pipe) = pipe::OpenOptions::new().open_sender("/proc/self/fd/1") {
        return Box::new(pipe);
    }
    match Socket::of(io::stdout()) {
        Ok(socket) => Box::new(socket),
        Err(_) => Box::new(tokio::io::stdout()),
    }
}

/// A socket that others may share.
struct Socket(AsyncFd<OwnedFd>);

impl Socket {
    #[expect(
        deprecated,
        reason = "the way without this mark is unsafe, and an owned descriptor is what it claims to be"
    )]
    fn of(stream: impl AsFd) -> io::Result<Socket> {
        let socket = stream.as_fd().try_clone_to_owned()?;
        // An error if it is none.
        rustix::net::sockopt::socket_type(&socket)?;
        Ok(Socket(AsyncFd::new(socket)?))
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.0.poll_read_ready(context))?;
            let took = ready.try_io(|socket| {
                let room = buffer.initialize_unfilled();
                let (read, _) = recv(socket, room, RecvFlags::DONTWAIT).map_err(io::Error::from)?;
                Ok(read)
            });
            match took {
                Ok(Ok(read)) => {
                    buffer.advance(read);
                    return Poll::Ready(Ok(()));
                }
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(error)) => return Poll::Ready(Err(error)),
                Err(_not_yet) => {}
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            let mut ready = ready!(self.0.poll_write_ready(context))?;
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            match ready.try_io(|socket| send(socket, bytes, flags).map_err(io::Error::from)) {
                Ok(Err(error)) if error.raw_os_error() == Some(Errno::INTR.raw_os_error()) => {}
                Ok(sent) => return Poll::Ready(sent),
                Err(_not_yet) => {}
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The end of the process is the end of its streams.
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn a_socket_carries_all_and_is_left_as_it_was() {
        let (here, there) = std::os::unix::net::UnixStream::pair().unwrap();
        let (mut one, mut other) = (Socket::of(&here).unwrap(), Socket::of(&there).unwrap());
        let sent = vec![7; 3_000_000];
        let sending = sent.clone();
        let writing = tokio::spawn(async move {
            one.write_all(&sending).await.unwrap();
        });
        let mut got = vec![0; sent.len()];
        other.read_exact(&mut got).await.unwrap();
        writing.await.unwrap();
        assert!(got == sent);
        let flags = rustix::fs::fcntl_getfl(&here).unwrap();
        assert!(!flags.contains(rustix::fs::OFlags::NONBLOCK), "whoever shares it can wait for it");
        drop(here);
        assert_eq!(other.read(&mut [0; 9]).await.unwrap(), 0, "the end is seen");
    }

    #[tokio::test]
    async fn what_is_no_socket_is_told() {
        assert!(Socket::of(std::fs::File::open("/dev/null").unwrap()).is_err());
    }
}
