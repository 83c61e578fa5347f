//! Export and import of sessions as archives.

use crate::problem::Problem;
use crate::put::{Received, send};
use crate::request::{Request, ResponseFuture, blocking, json};
use crate::state::Server;
use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::Response;
use forebay::archive::{self, Options};
use futures_util::stream;
use serde_json::json;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Bytes sent at a time.
const PART_BYTES: usize = 128 * 1024;

/// A writer that passes its bytes on, as fast as the receiver takes them.
struct PartWriter {
    to: mpsc::Sender<io::Result<Bytes>>,
    part: Vec<u8>,
}

impl PartWriter {
    fn send(&mut self) -> io::Result<()> {
        let part = std::mem::take(&mut self.part);
        self.to.blocking_send(Ok(part.into())).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for PartWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.part.extend_from_slice(bytes);
        if self.part.len() >= PART_BYTES {
            self.send()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Responds with a session as an archive.
pub(crate) fn export(server: Arc<Server>, request: Request) -> ResponseFuture {
    Box::pin(async move {
        let session = request.session()?;
        let tenant = request.caller.tenant.clone();
        let (for_check, name) = (tenant.clone(), session.clone());
        blocking(move || {
            if for_check.store().ids(&name, "")?.is_empty() {
                return Err(Problem::not_found(format!("session {name} has no outputs")));
            }
            Ok(())
        })
        .await?;
        let file = format!("attachment; filename=\"{session}.tar.zst\"");
        let (to, parts) = mpsc::channel(2);
        let slot = server.slot(request.holders())?;
        tokio::task::spawn_blocking(move || {
            let _slot = slot;
            let mut out = PartWriter { to, part: Vec::new() };
            let written = archive::export(tenant.store(), &session, &mut out, &mut |_| ());
            let ended = match written {
                Ok(_) => out.send(),
                // Breaks the response off, so that no client takes it for complete.
                Err(error) => {
                    let _ = out.to.blocking_send(Err(io::Error::other(error.to_string())));
                    Ok(())
                }
            };
            drop(ended);
        });
        let parts =
            stream::unfold(parts, |mut parts| async move { parts.recv().await.map(|part| (part, parts)) });
        let mut response = Response::new(Body::from_stream(parts));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/zstd"));
        if let Ok(file) = file.parse() {
            response.headers_mut().insert(CONTENT_DISPOSITION, file);
        }
        Ok(response)
    })
}

/// Imports an archive.
pub(crate) fn import(server: Arc<Server>, mut request: Request) -> ResponseFuture {
    Box::pin(async move {
        let name = request.arguments.has("as").then(|| request.arguments.text("as"));
        let session = name.map(str::parse).transpose()?;
        let tenant = request.caller.tenant.clone();
        let dry_run = request.arguments.is_on("dry_run");
        let (to, mut parts) = mpsc::channel(4);
        let body = std::mem::take(&mut request.body);
        let slot = server.slot(request.holders())?;
        let imported = tokio::task::spawn_blocking(move || -> Result<Response, Problem> {
            let _slot = slot;
            let mut body = Received { parts: &mut parts, part: Bytes::new(), ended: false };
            let mut file = spool(&mut body, None, tenant.root())
                .map_err(|error| Problem::internal(format!("the archive cannot be stored: {error}")))?;
            let options = Options { session, dry_run, max_bytes: tenant.disk.free()? };
            let imported = archive::import(tenant.store(), &mut file, &options, &mut |_| ())?;
            let mut value = json!(imported);
            value["dry_run"] = json!(dry_run);
            Ok(json(&value))
        });
        send(body, to, &server).await?;
        imported
            .await
            .map_err(|_| Problem::internal("importing this archive failed; the server's log says why"))?
    })
}

/// Copies an archive from a pipe into a file without a name, which can be read twice and is gone with this process. Copies
/// little more than `max_bytes`, if that is given: an archive is hardly larger than what it unpacks to.
pub fn spool(source: &mut dyn Read, max_bytes: Option<u64>, folder: &Path) -> io::Result<File> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut file = tempfile::tempfile_in(folder)?;
    let most = max_bytes.map_or(u64::MAX, |max| max.saturating_add(max / 64).saturating_add(1 << 16));
    io::copy(&mut source.take(most), &mut file)?;
    file.rewind()?;
    Ok(file)
}
