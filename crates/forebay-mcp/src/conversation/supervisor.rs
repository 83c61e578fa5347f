//! Supervision of one server: starts it, passes messages both ways, and starts it again when it is gone.

use super::Conversation;
use crate::message::Message;
use crate::server::{Incoming, Link, QUEUE};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};

/// First pause before a restart; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Longest pause before a restart, and longest wait for an answer to `initialize`.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Uptime after which a server counts as started: the next restart is immediate again.
const STEADY: Duration = Duration::from_secs(60);

/// Longest time that a request waits for a restart; after that it is refused with the time to try again.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(1);

/// Keeps a server running until its conversation ends: sends it the messages of its queue, and passes its own to the
/// conversation. When it fails, its pending requests get an error, and it is started again.
pub(super) async fn supervise(
    conversation: Arc<Conversation>,
    number: usize,
    mut queue: mpsc::Receiver<Message>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut wait = FIRST_PAUSE;
    let mut starts = 0u64;
    loop {
        let began = Instant::now();
        let server = conversation.server(number);
        starts += 1;
        let connected = server.connect(conversation.connecting()).await;
        let why = match connected {
            Err(error) => error.to_string(),
            Ok(link) => {
                let Link { to, mut from, gone } = link;
                let greeted = tokio::select! {
                    greeted = greet_again(&conversation, number, starts, &to, &mut from) => greeted,
                    _ = stopped.wait_for(|&stopped| stopped) => Err("the gateway ends".to_owned()),
                };
                let why = match greeted {
                    Err(why) => why,
                    Ok(()) => {
                        // Requests that waited when the last one failed got an error then.
                        let unchecked = if starts > 1 { 2 * QUEUE } else { 0 };
                        let sending = Sending { queue: &mut queue, to: &to, unchecked };
                        pump(&conversation, number, sending, &mut from, &mut stopped).await
                    }
                };
                drop((to, from));
                let _ = gone.await;
                why
            }
        };
        if *stopped.borrow() {
            return;
        }
        if began.elapsed() > STEADY {
            wait = FIRST_PAUSE;
        }
        conversation.lost(number, &why, wait).await;
        if pause(&conversation, number, &mut queue, wait, &mut stopped).await.is_break() {
            return;
        }
        wait = (wait * 2).min(LONGEST_PAUSE);
    }
}

/// Messages on their way to a server.
struct Sending<'a> {
    queue: &'a mut mpsc::Receiver<Message>,
    to: &'a mpsc::Sender<Message>,
    /// The number of messages that may have waited for the server's predecessor: they are sent only if still wanted.
    unchecked: usize,
}

/// Passes messages both ways until the connection closes, and returns why.
async fn pump(
    conversation: &Arc<Conversation>,
    number: usize,
    sending: Sending<'_>,
    from: &mut mpsc::Receiver<Incoming>,
    stopped: &mut watch::Receiver<bool>,
) -> String {
    let Sending { queue, to, mut unchecked } = sending;
    let sending = async {
        while let Some(message) = queue.recv().await {
            if unchecked > 0 {
                unchecked -= 1;
                if !conversation.is_wanted(number, &message) {
                    continue;
                }
            }
            if to.send(message).await.is_err() {
                break;
            }
        }
        // The receiving end reports that the connection is closed.
        std::future::pending::<()>().await
    };
    let receiving = async {
        loop {
            match from.recv().await {
                Some(Incoming::Message(message)) => conversation.clone().from_server(number, message).await,
                Some(Incoming::Closed(why)) => return why,
                None => return "it is gone".to_owned(),
            }
        }
    };
    tokio::select! {
        () = sending => String::new(),
        why = receiving => why,
        _ = stopped.wait_for(|&stopped| stopped) => "the gateway ends".to_owned(),
    }
}

/// Repeats to a restarted server what the client sent to its predecessor.
async fn greet_again(
    conversation: &Arc<Conversation>,
    number: usize,
    starts: u64,
    to: &mpsc::Sender<Message>,
    from: &mut mpsc::Receiver<Incoming>,
) -> std::result::Result<(), String> {
    let Some(greeting) = conversation.greeting(number).filter(|_| starts > 1) else { return Ok(()) };
    let sent = |sent: std::result::Result<(), _>| sent.map_err(|_| "it takes no messages".to_owned());
    sent(to.send(greeting.hello).await)?;
    let answer = loop {
        let answer = tokio::time::timeout(LONGEST_PAUSE, from.recv()).await;
        match answer.map_err(|_| "it did not answer initialize".to_owned())? {
            None => return Err("it is gone".to_owned()),
            Some(Incoming::Closed(why)) => return Err(why),
            Some(Incoming::Message(message)) if conversation.is_answer_to(&message, &greeting.id) => {
                break message;
            }
            Some(Incoming::Message(message)) => conversation.clone().from_server(number, message).await,
        }
    };
    for message in greeting.then {
        sent(to.send(message).await)?;
    }
    conversation.is_back(number, &answer).await;
    Ok(())
}

/// Pauses before the next start. Requests wait too, for a limited time.
async fn pause(
    conversation: &Arc<Conversation>,
    number: usize,
    queue: &mut mpsc::Receiver<Message>,
    wait: Duration,
    stopped: &mut watch::Receiver<bool>,
) -> ControlFlow<()> {
    let until = tokio::time::Instant::now() + wait;
    let refusing = async {
        tokio::time::sleep(wait.min(REQUEST_TIMEOUT)).await;
        if wait <= REQUEST_TIMEOUT {
            return ControlFlow::Continue(());
        }
        loop {
            let message = tokio::select! {
                () = tokio::time::sleep_until(until) => return ControlFlow::Continue(()),
                message = queue.recv() => message,
            };
            let Some(message) = message else { return ControlFlow::Break(()) };
            let left = until.duration_since(tokio::time::Instant::now());
            conversation.refuse(number, &message, left).await;
        }
    };
    tokio::select! {
        flow = refusing => flow,
        _ = stopped.wait_for(|&stopped| stopped) => ControlFlow::Break(()),
    }
}
