//! A server behind the gateway: how it is reached, and how it is brought back when it is gone.

mod child;
mod http;

use crate::conversation::Conversation;
use crate::error::Result;
use crate::message::Message;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};

/// So many messages wait for a server that does not take them.
pub(crate) const WAITING: usize = 64;

/// The first wait before a server is started again; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// No wait is longer.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// A server that lived so long is not failing at its start.
const STEADY: Duration = Duration::from_secs(60);

/// A request waits so long for a server that is being brought back; after that it is told when to try again.
const PATIENCE: Duration = Duration::from_secs(1);

/// A server, as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// What it is called.
    pub name: String,
    /// How it is reached.
    pub reached: Reached,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reached {
    /// It is a program that speaks by its standard streams.
    Program {
        /// The program and its arguments.
        command: Vec<OsString>,
        /// What is set in its environment.
        environment: BTreeMap<String, String>,
        /// The folder it runs in, if it is another than ours.
        folder: Option<PathBuf>,
    },
    /// It is at an address.
    Address {
        /// Where it is.
        url: String,
        /// What every request to it carries, such as `Authorization`.
        headers: BTreeMap<String, String>,
        /// Whether it is known to speak only by the older transport.
        legacy: bool,
    },
}

/// What a client sends as `Authorization`, for servers that are to see it: the latest, since it may be renewed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Authorization(Arc<Mutex<Option<String>>>);

impl Authorization {
    pub(crate) fn set(&self, value: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = value;
    }

    fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A connection to a server.
pub(crate) struct Link {
    /// Takes messages to it; the server is let go when this is dropped.
    pub(crate) to: mpsc::Sender<Message>,
    /// Gives its messages, and in the end why there are no more.
    pub(crate) from: mpsc::Receiver<Incoming>,
    /// Ends when nothing of it is left.
    pub(crate) gone: tokio::task::JoinHandle<()>,
}

/// What comes from a server.
pub(crate) enum Incoming {
    Message(Message),
    /// It is gone.
    Closed(String),
}

impl Server {
    /// Whether it is at an address, and so sees headers.
    pub(crate) fn is_at_an_address(&self) -> bool {
        matches!(self.reached, Reached::Address { .. })
    }

    async fn connect(&self, conversation: &Conversation) -> Result<Link> {
        let spool = conversation.spool();
        match &self.reached {
            Reached::Program { command, environment, folder } => {
                child::start(&self.name, command, environment, folder.as_deref(), conversation.talk(), spool)
            }
            Reached::Address { url, headers, legacy } => {
                let carried = http::Carried {
                    headers: headers.clone(),
                    authorization: conversation.authorization().clone(),
                    sent: conversation.sent().clone(),
                };
                http::connect(&self.name, url, carried, *legacy, spool).await
            }
        }
    }
}

/// Keeps a server running as long as its conversation goes on: messages go to it, and what it says is given to the
/// conversation. When it is gone, those who wait for it are told, and it is started again.
pub(crate) async fn tend(
    conversation: Arc<Conversation>,
    number: usize,
    mut queue: mpsc::Receiver<Message>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut wait = FIRST_WAIT;
    let mut starts = 0u64;
    loop {
        let began = Instant::now();
        let server = conversation.server(number);
        starts += 1;
        let connected = server.connect(&conversation).await;
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
                        // Those who waited when the last one went were told that it is gone.
                        let doubtful = if starts > 1 { 2 * WAITING } else { 0 };
                        let to = (&to, doubtful);
                        pump(&conversation, number, &mut queue, to, &mut from, &mut stopped).await
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
            wait = FIRST_WAIT;
        }
        conversation.lost(number, &why, wait).await;
        if pause(&conversation, number, &mut queue, wait, &mut stopped).await.is_break() {
            return;
        }
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}

/// Passes messages both ways until the server is gone; says why. Of so many messages to it, it is asked whether they are
/// still wanted.
async fn pump(
    conversation: &Arc<Conversation>,
    number: usize,
    queue: &mut mpsc::Receiver<Message>,
    (to, mut doubtful): (&mpsc::Sender<Message>, usize),
    from: &mut mpsc::Receiver<Incoming>,
    stopped: &mut watch::Receiver<bool>,
) -> String {
    let sending = async {
        while let Some(message) = queue.recv().await {
            if doubtful > 0 {
                doubtful -= 1;
                if !conversation.is_wanted(number, &message) {
                    continue;
                }
            }
            if to.send(message).await.is_err() {
                break;
            }
        }
        // Whether it is gone is told by its other end.
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

/// Says again to a server that was started anew what the client said to the first one.
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
        let answer = tokio::time::timeout(LONGEST_WAIT, from.recv()).await;
        match answer.map_err(|_| "it did not answer initialize".to_owned())? {
            None => return Err("it is gone".to_owned()),
            Some(Incoming::Closed(why)) => return Err(why),
            Some(Incoming::Message(message)) => match conversation.is_answer_to(&message, &greeting.id) {
                true => break message,
                false => conversation.clone().from_server(number, message).await,
            },
        }
    };
    for message in greeting.then {
        sent(to.send(message).await)?;
    }
    conversation.is_back(number, &answer).await;
    Ok(())
}

/// Waits before the next start. Requests wait too, but not for long.
async fn pause(
    conversation: &Arc<Conversation>,
    number: usize,
    queue: &mut mpsc::Receiver<Message>,
    wait: Duration,
    stopped: &mut watch::Receiver<bool>,
) -> ControlFlow<()> {
    let until = tokio::time::Instant::now() + wait;
    let refusing = async {
        tokio::time::sleep(wait.min(PATIENCE)).await;
        if wait <= PATIENCE {
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
