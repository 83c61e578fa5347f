//! The client's side: where its messages come from, and where ours go.

pub(crate) mod http;

use crate::conversation::Conversation;
use crate::error::Result;
use crate::gateway::Gateway;
use crate::message::{Line, Lines, Message, write_all_ready};
use crate::server::WAITING;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

/// Serves one client that writes messages to `input` and reads them from `output`, one a line, until its input ends or
/// `stopped` does. When this returns, no server is left.
pub(crate) async fn serve(
    gateway: Arc<Gateway>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    stopped: impl Future<Output = ()>,
) -> Result<()> {
    let (to_client, messages) = mpsc::channel(WAITING);
    let writing = tokio::spawn(write(output, messages));
    let conversation = Conversation::begin(gateway.clone(), to_client)?;
    let mut lines = Lines::new(input, gateway.spool());
    tokio::pin!(stopped);
    loop {
        let line = tokio::select! {
            line = lines.next() => line?,
            () = &mut stopped => break,
            // A client that reads no more is gone.
            () = writing_ended(&writing) => break,
        };
        match line {
            Some(Line::Message(message) | Line::Cut(message)) => {
                conversation.clone().from_client(message).await
            }
            None => break,
        }
    }
    conversation.end().await;
    drop(conversation);
    let _ = tokio::time::timeout(std::time::Duration::from_secs(1), writing).await;
    Ok(())
}

async fn writing_ended(writing: &tokio::task::JoinHandle<()>) {
    while !writing.is_finished() {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
}

async fn write(mut output: impl AsyncWrite + Unpin, mut messages: mpsc::Receiver<Message>) {
    while let Some(message) = messages.recv().await {
        if write_all_ready(message, &mut messages, &mut output).await.is_err() {
            return;
        }
    }
}
