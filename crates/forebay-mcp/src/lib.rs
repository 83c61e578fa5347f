//! An MCP gateway: passes messages between a client and its servers, and replaces results that are too large by a small
//! view, with tools to read the rest.
//!
//! This is the only crate that knows MCP. Messages are forwarded as their sender wrote them; a change replaces ranges of
//! the original (`message`). A `Conversation` is one client with its servers and decides where each message goes; `fold`
//! replaces results.

mod client;
mod client_limits;
pub mod config;
mod conversation;
mod diagnostics;
mod error;
mod fold;
mod gateway;
mod listing;
mod message;
mod params;
mod random;
mod resources;
mod result;
mod rpc;
#[doc(hidden)] // for forebay-fuzz
pub mod scan;
mod server;
mod sse;
mod stdio;
mod text;

pub use client::http::Auth;
pub use diagnostics::Diagnostics;
pub use error::{Error, Result};
pub use gateway::{Answer, Gateway};
pub use server::{Reached, Server};

use std::sync::Arc;

/// Serves the client on standard input and output, until it disconnects or a signal stops the gateway.
pub fn serve_stdio(gateway: Gateway) -> Result<()> {
    // Passing a message on costs less than waking another thread, so one thread passes them all. Long work runs on
    // other threads.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let diagnostics = gateway.diagnostics.clone();
    let served = runtime.block_on(async {
        let serving = client::serve(Arc::new(gateway), stdio::input(), stdio::output(), signalled());
        tokio::spawn(serving).await.unwrap_or_else(|failed| Err(std::io::Error::other(failed).into()))
    });
    // A pending read of standard input may never end, and is no longer needed.
    runtime.shutdown_background();
    diagnostics.end();
    served
}

/// Serves clients over HTTP until a signal stops the gateway. Writes the address to standard error.
pub fn serve_http(gateway: Gateway, auth: Auth) -> Result<()> {
    auth.check()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let diagnostics = gateway.diagnostics.clone();
    let lines = diagnostics.clone();
    let served = runtime.block_on(async {
        let listening = |address: &str| lines.line(&format!("listening on {address}"));
        client::http::serve(Arc::new(gateway), auth, listening, signalled()).await
    });
    runtime.shutdown_background();
    diagnostics.end();
    served
}

/// Waits until a signal asks this process to end.
pub async fn signalled() {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
    let [Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)] = signals else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        _ = hangup.recv() => {}
    }
}
