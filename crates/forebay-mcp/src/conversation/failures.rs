//! Failures of servers: requests to a server that is down, silent or garbled get an error, and a restarted server gets the
//! client's first messages again.

use super::{Conversation, Heard, Kind, Pending, TOOLS_CHANGED};
use crate::message::{Frame, Message, Parsed};
use crate::rpc::INTERNAL_ERROR;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

/// Messages to repeat to a restarted server.
pub(crate) struct Greeting {
    pub(crate) hello: Message,
    pub(crate) id: String,
    pub(crate) then: Vec<Message>,
}

impl Conversation {
    /// Whether a message answers the request with this id.
    pub(crate) fn is_answer_to(&self, message: &Message, id: &str) -> bool {
        match message.parse() {
            Ok(Parsed::One(frame)) => frame.method.is_none() && frame.id.as_deref() == Some(id),
            _ => false,
        }
    }

    /// The client's first messages, for a restarted server.
    pub(crate) fn greeting(&self, server: usize) -> Option<Greeting> {
        let mut state = self.state();
        let (hello, _) = state.hello.clone()?;
        // A client whose first request was never answered repeats it itself; it does not know about one of several servers.
        if state.servers[server].capabilities.is_none() && self.has_one_server() {
            return None;
        }
        let id = state.own_id();
        let Ok(Parsed::One(frame)) = hello.parse() else { return None };
        let hello = hello.with(frame.id_at?, &id, &self.spool).ok()?;
        let mut then: Vec<Message> = state.initialized.clone().into_iter().collect();
        let again: Vec<Message> =
            state.servers[server].again.iter().map(|(_, message)| message.clone()).collect();
        for message in again {
            let Ok(Parsed::One(frame)) = message.parse() else { continue };
            let Some(at) = frame.id_at else { continue };
            let id = state.own_id();
            // The answer is dropped when it arrives.
            let (asked, _) = oneshot::channel();
            state.pending.insert(id.clone(), Pending::ours(server, asked));
            then.extend(message.with(at, &id, &self.spool));
        }
        Some(Greeting { hello, id, then })
    }

    /// Notes that a server has restarted, and its answer to `initialize`.
    pub(crate) async fn is_back(&self, server: usize, answer: &Message) {
        self.diagnostics().line(&format!("{} is back", self.server(server).name));
        let late = self.state().servers[server].capabilities.is_none();
        if late && let Ok(Parsed::One(Frame { result: Some(result), .. })) = answer.parse() {
            let revision = self.state().revision.clone();
            self.note_server(server, answer, result);
            self.state().revision = revision;
            // No list had its tools so far.
            self.tell_client(TOOLS_CHANGED.to_owned().into()).await;
        }
    }

    /// Answers the pending requests of a failed server with errors.
    pub(crate) async fn lost(&self, server: usize, why: &str, wait: Duration) {
        let name = &self.server(server).name;
        self.diagnostics().line(&format!("{name}: {why}; it is started again in {} ms", wait.as_millis()));
        let text =
            format!("the server {name} failed: {why}. It is being started again; ask again in a moment.");
        for id in self.forget(|pending| pending.server == server) {
            self.error(&id, INTERNAL_ERROR, &text).await;
        }
    }

    /// Refuses a request to a server that is down.
    pub(crate) async fn refuse(&self, server: usize, message: &Message, wait: Duration) {
        let Ok(Parsed::One(Frame { id: Some(id), .. })) = message.parse() else { return };
        if self.state().pending.get(&id).is_none_or(|pending| pending.server != server) {
            return;
        }
        let seconds = wait.as_secs() + 1;
        let text = format!(
            "the server {} is down. It is started again in {seconds} s; ask again then.",
            self.server(server).name
        );
        if let Some(id) = self.forget_one(&id) {
            self.error(&id, INTERNAL_ERROR, &text).await;
        }
    }

    /// Whether a message for a server is still wanted. When a server ends, its pending requests get an error and may
    /// be sent again by the client; a restarted server must not run the old ones.
    pub(crate) fn is_wanted(&self, server: usize, message: &Message) -> bool {
        match message.parse() {
            Ok(Parsed::One(Frame { method: Some(_), id: Some(id), .. })) => {
                self.state().pending.get(&id).is_some_and(|pending| pending.server == server)
            }
            _ => true,
        }
    }

    /// A line of a server that is no message. Only a line that is plainly a broken answer ends a request with an error:
    /// anything else is output that strayed to standard output, and the true answer is still to come.
    pub(super) async fn garbled(&self, server: usize, message: &Message, error: &std::io::Error) {
        let name = &self.server(server).name;
        let start = message.text(0..message.len().min(200)).unwrap_or_default();
        self.diagnostics()
            .line(&format!("{name} wrote a line of {} bytes that is no message: {start}", message.len()));
        let end = message.text(message.len().saturating_sub(200)..message.len()).unwrap_or_default();
        let has = |field: &str| [&start, &end].iter().any(|text| text.contains(field));
        if !start.trim_start().starts_with('{')
            || !has("\"jsonrpc\"")
            || !(has("\"result\"") || has("\"error\""))
        {
            return;
        }
        let waiting = self.state().pending.ids(|pending| pending.server == server);
        let names = |id: &&String| [&start, &end].iter().any(|text| has_id(text, id));
        let meant = match &waiting[..] {
            // An answer that was cut before its id can only be to the one request that waits.
            [only] if !has("\"id\"") => Some(only),
            many => many.iter().find(names),
        };
        let text = format!("the server {name} answered with something that is not JSON: {error}");
        if let Some(id) = meant.and_then(|id| self.forget_one(id)) {
            self.error(&id, INTERNAL_ERROR, &text).await;
        }
    }

    /// Removes pending requests, and returns the ids of those that are the client's.
    fn forget(&self, which: impl Fn(&Pending) -> bool) -> Vec<String> {
        let ids = self.state().pending.ids(which);
        ids.iter().flat_map(|id| self.forget_one(id)).collect()
    }

    pub(super) fn forget_one(&self, id: &str) -> Option<String> {
        match self.state().pending.remove(id)? {
            (_, Pending { kind: Kind::Ours(asked), .. }) => {
                let _ = asked.send(None);
                None
            }
            (_, Pending { kind: Kind::Part(tells), server, .. }) => {
                let _ = tells.send(Heard::Lost(server));
                None
            }
            (id, _) => Some(id),
        }
    }

    /// Restarts the timeout of a request that reports progress.
    pub(super) fn note_progress(&self, message: &Message, frame: &Frame) {
        let token = frame.params.clone().and_then(|params| message.find(params, &["progressToken"]));
        let token = token.and_then(|range| message.text(range).ok());
        let mut state = self.state();
        for pending in state.pending.all_mut().filter(|pending| pending.progress == token) {
            pending.since = Instant::now();
        }
    }

    /// Answers requests with an error after the timeout, and cancels them at the server.
    pub(super) async fn watch_the_clock(
        self: Arc<Self>,
        timeout: Duration,
        mut stopped: watch::Receiver<bool>,
    ) {
        let look = (timeout / 4).clamp(Duration::from_millis(20), Duration::from_secs(5));
        loop {
            tokio::select! {
                () = tokio::time::sleep(look) => {}
                _ = stopped.wait_for(|&stopped| stopped) => return,
            }
            let late = self.state().pending.ids(|pending| {
                pending.since.elapsed() > timeout
                    && !matches!(pending.kind, Kind::Subscription | Kind::Part(_))
            });
            for id in late {
                let known = self.state().pending.get(&id).map(|pending| (pending.server, pending.called_off));
                let Some((server, called_off)) = known else { continue };
                if called_off {
                    self.forget_one(&id);
                    continue;
                }
                let name = &self.server(server).name;
                let text = format!("the server {name} did not answer within {} s", timeout.as_secs_f64());
                if let Some(id) = self.forget_one(&id) {
                    self.error(&id, INTERNAL_ERROR, &text).await;
                }
                let cancelled = json!({ "reason": text }).to_string();
                let cancelled = cancelled.replacen('{', &format!("{{\"requestId\":{id},"), 1);
                let cancelled =
                    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{cancelled}}}"#);
                // A server that does not read must not block this.
                let _ = self.queues[server].try_send(cancelled.into());
            }
        }
    }
}

/// Whether a text that may be broken names an id.
fn has_id(text: &str, id: &str) -> bool {
    text.match_indices("\"id\"").any(|(at, found)| {
        let rest = text[at + found.len()..].trim_start().strip_prefix(':').unwrap_or_default().trim_start();
        rest.strip_prefix(id).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
    })
}
