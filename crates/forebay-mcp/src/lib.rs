//! Stands between an MCP client and its servers: results that fit pass as they are, and of those that do not the client
//! gets a small view, with tools to read the rest.
//!
//! The only crate that knows MCP. Messages are forwarded as they are written; what must be changed in one is put
//! between ranges of the original (`message`). A `Conversation` is one client with its servers and says which message
//! goes where; `fold` is what becomes of a result that is too large.

mod client;
pub mod config;
mod conversation;
mod error;
mod fold;
mod gateway;
mod hosts;
mod listing;
mod message;
mod params;
mod resources;
mod result;
mod scan;
mod server;
mod sse;
mod stdio;
mod talk;
mod text;

pub use client::http::{Door, is_here, name_of};
pub use error::{Error, Result};
pub use gateway::{Answer, Gateway};
pub use server::{Reached, Server};
pub use talk::Talk;

use std::sync::Arc;

/// Serves the client at our standard streams until it is gone or a signal ends us.
pub fn serve_stdio(gateway: Gateway) -> Result<()> {
    // A message that passes costs less than waking another thread, so one thread carries them all. What takes long is
    // done beside it.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let talk = gateway.talk.clone();
    let served = runtime.block_on(async {
        let serving = client::serve(Arc::new(gateway), stdio::input(), stdio::output(), signalled());
        tokio::spawn(serving).await.unwrap_or_else(|failed| Err(std::io::Error::other(failed).into()))
    });
    // A read of our standard input may hang for ever, and nobody needs it any more.
    runtime.shutdown_background();
    talk.end();
    served
}

/// Serves clients that come by HTTP until a signal ends us. Where they come to is said on standard error.
pub fn serve_http(gateway: Gateway, door: Door) -> Result<()> {
    door.check()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let talk = gateway.talk.clone();
    let said = talk.clone();
    let served = runtime.block_on(async {
        let listening = |address: &str| said.say(&format!("listening on {address}"));
        client::http::serve(Arc::new(gateway), door, listening, signalled()).await
    });
    runtime.shutdown_background();
    talk.end();
    served
}

/// Ends when a signal asks this process to.
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

/// Random bits, for what must have a name that nothing else has.
fn random() -> Result<[u8; 16]> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| Error::Random(error.to_string()))?;
    Ok(random)
}
