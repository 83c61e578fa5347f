//! What is told of the server itself: whether it lives, whether it can keep outputs, what it counts, what it serves.

use super::asked::{Asked, json, typed};
use super::problem::Problem;
use super::{Web, openapi as document};
use axum::response::Response;
use serde_json::json;
use std::io::Write;

/// Whether it lives.
pub(crate) fn health(web: &Web, _: &Asked) -> Result<Response, Problem> {
    let auth = web.config.door.auth();
    Ok(json(&json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION"), "auth": auth })))
}

/// Whether it can keep outputs now.
pub(crate) fn ready(web: &Web, _: &Asked) -> Result<Response, Problem> {
    if *web.stopping.borrow() {
        return Err(Problem::unavailable("the server is about to stop"));
    }
    for store in web.config.door.stores() {
        let root = store.root();
        let tried = std::fs::create_dir_all(root)
            .and_then(|()| tempfile::tempfile_in(root))
            .and_then(|mut file| file.write_all(&[b'x'; 16 * 1024]));
        tried.map_err(|error| Problem::unavailable(format!("outputs cannot be kept now: {error}")))?;
    }
    Ok(json(&json!({ "status": "ready", "version": env!("CARGO_PKG_VERSION") })))
}

/// What it counts.
pub(crate) fn metrics(web: &Web, _: &Asked) -> Result<Response, Problem> {
    Ok(typed("text/plain; version=0.0.4; charset=utf-8", web.metrics.text()))
}

/// What it serves.
pub(crate) fn openapi(web: &Web, _: &Asked) -> Result<Response, Problem> {
    Ok(json(&document::document(!web.config.door.is_open())))
}
