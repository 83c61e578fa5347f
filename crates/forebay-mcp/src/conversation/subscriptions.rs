//! A subscription of the client (`subscriptions/listen`) to several servers. Each server gets a separate request.
//! Their agreements are combined into one answer, and their messages have the client's own id.
//!
//! A server that ends is subscribed to again after its return. The subscription ends when the client cancels it, or
//! when no server is left.

use super::own::complete;
use super::{Conversation, Kind, Pending};
use crate::message::{Frame, Message, Parsed};
use crate::rpc::{self, SUBSCRIPTION, key};
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

const AGREED: &str = "notifications/subscriptions/acknowledged";

/// Longest wait for servers to agree before the client gets its answer; a later server joins then.
const AGREE_TIMEOUT: Duration = Duration::from_secs(20);

/// Pause before a subscription to a lost server is renewed.
const AGAIN: Duration = Duration::from_secs(1);

/// Maximum notifications held back until the client has its answer; further ones are dropped.
const MAX_HELD: usize = 256;

/// A subscription of the client.
pub(super) struct Subscription {
    /// The id of its request, as the client wrote it.
    id: String,
    /// The server for each of our own requests, by the normalised id.
    parts: HashMap<String, usize>,
    /// Notifications held back until the client has its answer; `None` after that.
    held: Option<Vec<Message>>,
    tells: mpsc::UnboundedSender<Heard>,
}

/// An event of a subscription.
pub(super) enum Heard {
    /// A server has agreed to tell these.
    Agreed(usize, Value),
    /// A server serves it no more, and this is its answer, if it gave one.
    Ended(usize, Option<Message>),
    /// A server is gone.
    Lost(usize),
    /// It is time to listen to a server again.
    Again(usize),
    /// The client no longer listens.
    CalledOff,
}

impl Conversation {
    /// Serves a subscription to its end.
    pub(super) async fn listen_to_all(self: Arc<Self>, message: Message, frame: Frame, id: String) {
        let mut stopped = self.stop.subscribe();
        let served = self.serve_subscription(&message, &frame, &id);
        let answer = tokio::select! {
            answer = served => answer,
            _ = stopped.wait_for(|&stopped| stopped) => None,
        };
        self.state().subscriptions.remove(&key(&id));
        if let Some(answer) = answer {
            self.tell_client(answer).await;
        }
    }

    /// Answer to a subscription that has ended; `None` if no request waits for it.
    async fn serve_subscription(&self, message: &Message, frame: &Frame, id: &str) -> Option<Message> {
        let (tells, mut hears) = mpsc::unbounded_channel();
        let held = Some(Vec::new());
        let subscription =
            Subscription { id: id.to_owned(), parts: HashMap::new(), held, tells: tells.clone() };
        self.state().subscriptions.insert(key(id), subscription);
        let mut serving: HashSet<usize> = self.able(&[]).into_iter().collect();
        let (mut unheard, mut agreed, mut refusal) = (serving.clone(), Map::new(), None);
        for &server in &serving {
            self.ask_to_listen(server, message, frame, id, &tells).await;
        }
        let patience = tokio::time::sleep(AGREE_TIMEOUT);
        tokio::pin!(patience);
        let mut begun = false;
        loop {
            if unheard.is_empty() && serving.is_empty() {
                return Some(self.ended(id, refusal.filter(|_| !begun)));
            }
            if unheard.is_empty() && !begun {
                begun = true;
                self.begin_listening(id, &agreed).await;
            }
            let heard = tokio::select! {
                heard = hears.recv() => heard?,
                () = &mut patience, if !begun => {
                    unheard.clear();
                    continue;
                }
            };
            match heard {
                Heard::Agreed(server, what) if unheard.remove(&server) => join(&mut agreed, &what),
                // It was away, and what it had listed may have changed.
                Heard::Agreed(_, what) => self.tell_of_changes(id, &what).await,
                Heard::Ended(server, answer) => {
                    unheard.remove(&server);
                    serving.remove(&server);
                    refusal = refusal.or(answer);
                }
                Heard::Lost(server) => {
                    unheard.remove(&server);
                    let tells = tells.clone();
                    tokio::spawn(async move {
                        tokio::time::sleep(AGAIN).await;
                        let _ = tells.send(Heard::Again(server));
                    });
                }
                Heard::Again(server) => self.ask_to_listen(server, message, frame, id, &tells).await,
                Heard::CalledOff => return None,
            }
        }
    }

    /// Sends a request of our own for a part of a subscription.
    async fn ask_to_listen(
        &self,
        server: usize,
        message: &Message,
        frame: &Frame,
        id: &str,
        tells: &mpsc::UnboundedSender<Heard>,
    ) {
        let part = {
            let mut state = self.state();
            let part = state.own_id();
            let Some(subscription) = state.subscriptions.get_mut(&key(id)) else { return };
            subscription.parts.retain(|_, other| *other != server);
            subscription.parts.insert(key(&part), server);
            let kind = Kind::Part(tells.clone());
            let pending = Pending { server, kind, since: Instant::now(), progress: None, called_off: false };
            state.pending.insert(part.clone(), pending);
            part
        };
        let asking = frame.id_at.clone().and_then(|at| message.with(at, &part, &self.spool).ok());
        match asking {
            Some(asking) => drop(self.queues[server].send(asking).await),
            None => drop(tells.send(Heard::Ended(server, None))),
        }
    }

    /// Reports the agreed subscription to the client, and then the messages that were held back.
    async fn begin_listening(&self, id: &str, agreed: &Map<String, Value>) {
        self.tell_client(told(AGREED, id, json!({ "notifications": agreed }))).await;
        loop {
            let held = {
                let mut state = self.state();
                let Some(subscription) = state.subscriptions.get_mut(&key(id)) else { return };
                match &mut subscription.held {
                    Some(held) if !held.is_empty() => std::mem::take(held),
                    held => {
                        *held = None;
                        return;
                    }
                }
            };
            for message in held {
                self.tell_client(message).await;
            }
        }
    }

    /// Reports all lists to the client that a server may have changed while it did not run.
    async fn tell_of_changes(&self, id: &str, agreed: &Value) {
        for list in ["tools", "prompts", "resources"] {
            if agreed[format!("{list}ListChanged")] == true {
                let method = format!("notifications/{list}/list_changed");
                self.tell_client(told(&method, id, json!({}))).await;
            }
        }
    }

    /// Answer to a subscription without a server.
    fn ended(&self, id: &str, refusal: Option<Message>) -> Message {
        let refused = refusal.and_then(|refusal| match refusal.parse() {
            Ok(Parsed::One(Frame { error: Some(_), id_at: Some(at), .. })) => {
                refusal.with(at, id, &self.spool).ok()
            }
            _ => None,
        });
        refused.unwrap_or_else(|| {
            let mut result = complete(json!({}));
            result["_meta"] = json!({ SUBSCRIPTION: serde_json::from_str::<Value>(id).unwrap_or_default() });
            rpc::result(id, &result.to_string())
        })
    }

    /// Passes a server's message for a subscription to the client; returns whether it was such a message.
    pub(super) async fn says_to_a_subscription(&self, message: &Message, frame: &Frame) -> bool {
        let param = |path: &[&str]| message.find(frame.params.clone()?, path);
        let text = |path: &[&str]| message.text(param(path)?).ok();
        let is_end = frame.method.as_deref() == Some("notifications/cancelled");
        let path: &[&str] = if is_end { &["requestId"] } else { &["_meta", SUBSCRIPTION] };
        let Some(part) = text(path).map(|part| key(&part)) else { return false };
        let (said, is_held) = {
            let mut state = self.state();
            let mut all = state.subscriptions.values_mut();
            let Some(subscription) = all.find(|subscription| subscription.parts.contains_key(&part)) else {
                return false;
            };
            let server = subscription.parts[&part];
            if is_end {
                subscription.parts.remove(&part);
                let _ = subscription.tells.send(Heard::Ended(server, None));
                state.pending.remove(&part);
                return true;
            }
            if frame.method.as_deref() == Some(AGREED) {
                let what = param(&["notifications"]).and_then(|range| message.value(range).ok());
                let _ = subscription.tells.send(Heard::Agreed(server, what.unwrap_or_default()));
                return true;
            }
            let Some(said) = param(path).and_then(|at| message.with(at, &subscription.id, &self.spool).ok())
            else {
                return true;
            };
            match &mut subscription.held {
                Some(held) if held.len() < MAX_HELD => held.push(said.clone()),
                _ => {}
            }
            (said, subscription.held.is_some())
        };
        if !is_held {
            self.tell_client(said).await;
        }
        true
    }

    /// Ends a subscription that the client calls off; says whether it was one.
    pub(super) fn no_longer_listens(&self, id: &str) -> bool {
        let mut state = self.state();
        let Some(subscription) = state.subscriptions.remove(&key(id)) else { return false };
        for (part, server) in subscription.parts {
            state.pending.remove(&part);
            let cancelled = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{part}}}}}"#
            );
            // A server that does not read must not keep the others waiting.
            let _ = self.queues[server].try_send(cancelled.into());
        }
        let _ = subscription.tells.send(Heard::CalledOff);
        true
    }
}

/// A notification to a subscription.
fn told(method: &str, id: &str, mut params: Value) -> Message {
    params["_meta"] = json!({ SUBSCRIPTION: serde_json::from_str::<Value>(id).unwrap_or_default() });
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string().into()
}

/// Merges one server's agreement into that of all.
fn join(all: &mut Map<String, Value>, one: &Value) {
    for (name, value) in one.as_object().into_iter().flatten() {
        match (all.get_mut(name), value) {
            (Some(Value::Array(all)), Value::Array(more)) => {
                let new: Vec<Value> = more.iter().filter(|one| !all.contains(one)).cloned().collect();
                all.extend(new);
            }
            (Some(Value::Bool(true)), _) => {}
            _ => drop(all.insert(name.clone(), value.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_servers_agree_to_is_told_as_one() {
        let mut all = Map::new();
        let ones = [
            json!({"toolsListChanged": true, "resourceSubscriptions": ["a", "b"]}),
            json!({"toolsListChanged": false, "promptsListChanged": true, "resourceSubscriptions": ["b", "c"]}),
            json!(null),
        ];
        ones.iter().for_each(|one| join(&mut all, one));
        let together = json!({"toolsListChanged": true, "promptsListChanged": true, "resourceSubscriptions": ["a", "b", "c"]});
        assert_eq!(Value::from(all), together);
    }
}
