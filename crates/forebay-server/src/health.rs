//! The state of the server itself: health, readiness, counters and the OpenAPI document.

use crate::problem::Problem;
use crate::request::{Request, json, typed};
use crate::state::Server;
use crate::{metrics, openapi};
use axum::response::Response;
use serde_json::json;
use std::io::Write;

/// Responds that the server runs.
pub(crate) fn health(server: &Server, _: &Request) -> Result<Response, Problem> {
    let auth = server.config.auth.kind();
    Ok(json(&json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION"), "auth": auth })))
}

/// Responds whether the server can store outputs now.
pub(crate) fn ready(server: &Server, _: &Request) -> Result<Response, Problem> {
    if *server.stopping.borrow() {
        return Err(Problem::unavailable("the server is about to stop"));
    }
    if let Some(check) = &server.config.check_shared {
        check().map_err(|why| Problem::unavailable(format!("outputs cannot be stored now: {why}")))?;
    }
    for tenant in server.config.auth.tenants() {
        let root = tenant.root();
        let tried = std::fs::create_dir_all(root)
            .and_then(|()| tempfile::tempfile_in(root))
            .and_then(|mut file| file.write_all(&[b'x'; 16 * 1024]));
        tried.map_err(|error| Problem::unavailable(format!("outputs cannot be stored now: {error}")))?;
    }
    Ok(json(&json!({ "status": "ready", "version": env!("CARGO_PKG_VERSION") })))
}

/// Responds with the counters.
pub(crate) fn metrics(server: &Server, _: &Request) -> Result<Response, Problem> {
    let mut text = server.metrics.text();
    if let Some(look) = server.config.on_the_way {
        let found = server.config.auth.tenants().into_iter().map(|tenant| look(tenant.root()));
        text.push_str(&metrics::on_the_way(found));
    }
    Ok(typed("text/plain; version=0.0.4; charset=utf-8", text))
}

/// Responds with the OpenAPI document.
pub(crate) fn document(server: &Server, _: &Request) -> Result<Response, Problem> {
    Ok(json(&openapi::document(&server.endpoints, !server.config.auth.is_open())))
}
