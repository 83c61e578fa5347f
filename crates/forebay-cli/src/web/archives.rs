//! Sessions as archives, out and in.

use super::Web;
use super::asked::{Answering, Asked, blocking, json};
use super::problem::Problem;
use super::put::{Received, send};
use crate::commands::import::spooled;
use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::Response;
use forebay::Store;
use forebay::archive::{self, Options};
use futures_util::stream;
use serde_json::json;
use std::io::{self, Write};
use std::sync::Arc;
use tokio::sync::mpsc;

/// So much is sent at once.
const AT_ONCE: usize = 128 * 1024;

/// Hands on what is written, as fast as it is taken.
struct Sent {
    to: mpsc::Sender<io::Result<Bytes>>,
    part: Vec<u8>,
}

impl Sent {
    fn send(&mut self) -> io::Result<()> {
        let part = std::mem::take(&mut self.part);
        self.to.blocking_send(Ok(part.into())).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for Sent {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.part.extend_from_slice(bytes);
        if self.part.len() >= AT_ONCE {
            self.send()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// All outputs of a session in one file.
pub(crate) fn export(web: Arc<Web>, asked: Asked) -> Answering {
    Box::pin(async move {
        let session = asked.session()?;
        let store = asked.visitor.store.clone();
        let (there, name) = (store.clone(), session.clone());
        blocking(move || match there.ids(&name, "")?.is_empty() {
            true => Err(Problem::not_found(format!("nothing is kept in session {name}"))),
            false => Ok(()),
        })
        .await?;
        let file = format!("attachment; filename=\"{session}.tar.zst\"");
        let (to, parts) = mpsc::channel(2);
        let place = web.place(&asked)?;
        tokio::task::spawn_blocking(move || {
            let _place = place;
            let mut out = Sent { to, part: Vec::new() };
            let written = archive::export(&*store, &session, &mut out, &mut |_| ());
            let ended = match written {
                Ok(_) => out.send(),
                // What is sent is broken off, so that nobody takes it for whole.
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

/// Takes in the outputs of such a file.
pub(crate) fn import(web: Arc<Web>, mut asked: Asked) -> Answering {
    Box::pin(async move {
        let session = match asked.given.has("as") {
            true => Some(asked.given.text("as").parse()?),
            false => None,
        };
        let store = asked.visitor.store.clone();
        let dry_run = asked.given.is_on("dry_run");
        let (to, mut parts) = mpsc::channel(4);
        let body = std::mem::take(&mut asked.body);
        let place = web.place(&asked)?;
        let taken = tokio::task::spawn_blocking(move || -> Result<Response, Problem> {
            let _place = place;
            let mut body = Received { parts: &mut parts, part: Bytes::new(), ended: false };
            let mut file = spooled(&mut body, None, store.root())?;
            let options = Options { session, dry_run, max_bytes: store.free()? };
            let imported = archive::import(&*store, &mut file, &options, &mut |_| ())?;
            let mut value = json!(imported);
            value["dry_run"] = json!(dry_run);
            Ok(json(&value))
        });
        send(body, to, &web).await?;
        taken.await.map_err(|_| Problem::ours("taking in this archive failed; the server's log says why"))?
    })
}
