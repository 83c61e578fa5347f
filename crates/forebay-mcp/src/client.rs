//! The client's side: receives its messages and sends ours.

pub(crate) mod http;

use crate::conversation::Conversation;
use crate::error::Result;
use crate::gateway::{Gateway, Scope};
use crate::message::{Line, Lines, Message, write_all_ready};
use crate::server::QUEUE;
use crate::stdio::{Input, Output};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Serves one client that writes messages to `input` and reads them from `output`, one a line, until its input ends or
/// `stopped` does. When this returns, no server is left.
pub(crate) async fn serve(
    gateway: Arc<Gateway>,
    input: Input,
    output: Output,
    stopped: impl Future<Output = ()>,
) -> Result<()> {
    let (to_client, messages) = mpsc::channel(QUEUE);
    let mut writing = tokio::spawn(write(output, messages));
    let scope = Scope::Session(gateway.session()?);
    let conversation = Conversation::begin(gateway.clone(), scope, to_client);
    let mut lines = Lines::new(input, gateway.spool());
    let serving = async {
        loop {
            match lines.next().await {
                Ok(Some(Line::Message(message) | Line::Cut(message))) => {
                    conversation.clone().from_client(message).await
                }
                Ok(None) => return,
                Err(error) => {
                    return gateway.diagnostics.line(&format!("the client cannot be read: {error}"));
                }
            }
        }
    };
    // Stopping must interrupt every wait, also for a server that reads nothing.
    let reads = tokio::select! {
        () = serving => true,
        () = stopped => true,
        // A client that no longer reads has disconnected.
        _ = &mut writing => false,
    };
    conversation.end().await;
    drop(conversation);
    if reads {
        let _ = tokio::time::timeout(std::time::Duration::from_secs(1), writing).await;
    }
    Ok(())
}

async fn write(mut output: Output, mut messages: mpsc::Receiver<Message>) {
    while let Some(message) = messages.recv().await {
        if write_all_ready(message, &mut messages, &mut output).await.is_err() {
            return;
        }
    }
}
