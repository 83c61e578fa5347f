//! Where clients connect: a port, or a socket file that only its owner can connect to.

use rustix::fs::Mode;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener as StdUnixListener, UnixStream as StdUnixStream};
use std::path::{Path, PathBuf};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

/// Where to listen.
#[derive(Clone, Debug)]
pub enum Listen {
    /// An address and a port; port 0 is any free one.
    Address(SocketAddr),
    /// A socket file.
    Socket(PathBuf),
}

impl Listen {
    /// Whether only this machine can connect.
    pub fn is_local(&self) -> bool {
        match self {
            Listen::Address(address) => address.ip().is_loopback(),
            Listen::Socket(_) => true,
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Listen::Address(address) => write!(f, "http://{address}"),
            Listen::Socket(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A connection of either kind.
pub(crate) trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

/// An open port or socket file.
pub(crate) enum Listener {
    Port(TcpListener),
    Socket(UnixListener, SocketFile),
}

impl Listener {
    /// Begins to listen.
    pub(crate) async fn bind(listen: &Listen) -> io::Result<Listener> {
        match listen {
            Listen::Address(address) => Ok(Listener::Port(TcpListener::bind(address).await?)),
            Listen::Socket(path) => {
                let (listener, file) = SocketFile::bind(path)?;
                Ok(Listener::Socket(UnixListener::from_std(listener)?, file))
            }
        }
    }

    /// Where it listens, with the port that it got.
    pub(crate) fn address(&self) -> io::Result<Listen> {
        Ok(match self {
            Listener::Port(listener) => Listen::Address(listener.local_addr()?),
            Listener::Socket(_, file) => Listen::Socket(file.path.clone()),
        })
    }

    /// The next connection, and the address of the client.
    pub(crate) async fn accept(&self) -> io::Result<(Box<dyn Connection>, Option<IpAddr>)> {
        Ok(match self {
            Listener::Port(listener) => {
                let (stream, peer) = listener.accept().await?;
                let _ = stream.set_nodelay(true);
                (Box::new(stream), Some(peer.ip()))
            }
            Listener::Socket(listener, _) => (Box::new(listener.accept().await?.0), None),
        })
    }
}

/// A socket file that is removed when it is dropped.
pub(crate) struct SocketFile {
    path: PathBuf,
    /// Device and inode: another server may have put its own there since.
    identity: (u64, u64),
}

impl SocketFile {
    fn bind(path: &Path) -> io::Result<(StdUnixListener, SocketFile)> {
        // A file that no server listens on was left behind by one.
        if let Ok(there) = std::fs::symlink_metadata(path) {
            if !there.file_type().is_socket() {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, "something else has this name"));
            }
            match StdUnixStream::connect(path) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path)?,
                _ => return Err(io::Error::new(io::ErrorKind::AddrInUse, "a server listens there")),
            }
        }
        // Only the owner may ever connect, so the file has this mode from the beginning.
        let usual = rustix::process::umask(Mode::from_bits_retain(0o177));
        let bound = StdUnixListener::bind(path);
        rustix::process::umask(usual);
        let listener = bound?;
        listener.set_nonblocking(true)?;
        let there = std::fs::symlink_metadata(path)?;
        Ok((listener, SocketFile { path: path.to_owned(), identity: (there.dev(), there.ino()) }))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let there = std::fs::symlink_metadata(&self.path);
        if there.is_ok_and(|there| (there.dev(), there.ino()) == self.identity) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
