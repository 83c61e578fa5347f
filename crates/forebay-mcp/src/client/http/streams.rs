//! The streams of one client: which message goes to which stream, and what a client missed while it was disconnected.
//!
//! Every event has an id, and the last events are kept. A client that reconnects with the id of the last event it saw
//! gets the later events of the same stream. Without an id it gets the messages that no stream has received.

use crate::message::{Frame, Message, Parsed};
use crate::rpc::key;
use crate::server::QUEUE;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Maximum messages, and their total bytes, kept for a client that reconnects.
const KEPT: usize = 256;
const KEPT_BYTES: u64 = 8 * 1024 * 1024;

/// An event of a stream: a message, or at its start only an id to resume from.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) id: String,
    pub(super) message: Option<Message>,
}

/// The streams of a client.
pub(super) struct Streams(Mutex<State>);

struct State {
    /// Requests that are being answered, by the one spelling of their id.
    answering: HashMap<String, Asked>,
    /// Streams with a listener, by number.
    open: HashMap<u64, mpsc::Sender<Event>>,
    /// The stream that the client listens on, whether it is connected at present or not.
    listening: Option<u64>,
    /// Number of streams so far.
    streams: u64,
    /// Number of messages so far.
    messages: u64,
    /// The last of them, in their order.
    kept: VecDeque<Kept>,
    heard: Instant,
}

/// A request has the id of one that is being answered.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id {0} is that of a request which is not answered yet")]
pub(super) struct Answering(String);

/// A request that is being answered.
struct Asked {
    /// The token of its progress.
    token: Option<String>,
    stream: u64,
}

struct Kept {
    stream: u64,
    number: u64,
    message: Message,
    /// Whether a connection took it.
    given: bool,
}

impl Streams {
    pub(super) fn new() -> Streams {
        Streams(Mutex::new(State {
            answering: HashMap::new(),
            open: HashMap::new(),
            listening: None,
            streams: 0,
            messages: 0,
            kept: VecDeque::new(),
            heard: Instant::now(),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Time since the last request; `None` while the client listens or a request is pending.
    pub(super) fn silence(&self) -> Option<Duration> {
        let state = self.state();
        let busy = state.connected(state.listening).is_some() || !state.answering.is_empty();
        (!busy).then(|| state.heard.elapsed())
    }

    /// Opens the stream for the answers to some messages; `None` if none of them is a request. With `primed` the
    /// stream begins with an event id from which it can be resumed.
    pub(super) fn answer(
        &self,
        frames: &[(Frame, Option<String>)],
        primed: bool,
    ) -> Result<Option<mpsc::Receiver<Event>>, Answering> {
        let mut state = self.state();
        state.heard = Instant::now();
        let requests = frames.iter().filter(|(frame, _)| frame.method.is_some());
        let requests: Vec<(String, Option<String>)> =
            requests.filter_map(|(frame, token)| Some((key(frame.id.as_deref()?), token.clone()))).collect();
        if requests.is_empty() {
            return Ok(None);
        }
        if let Some((id, _)) = requests.iter().find(|(id, _)| state.answering.contains_key(id)) {
            return Err(Answering(id.clone()));
        }
        let (stream, hears) = state.opened();
        for (id, token) in requests {
            state.answering.insert(id, Asked { token, stream });
        }
        state.prime(stream, primed);
        Ok(Some(hears))
    }

    /// Opens a stream to listen on, or the one again on which `last` was the last event that the client has seen.
    pub(super) fn listen(&self, last: Option<&str>, primed: bool) -> mpsc::Receiver<Event> {
        let mut state = self.state();
        state.heard = Instant::now();
        let place = last.and_then(|id| {
            let (stream, number) = id.split_once('-')?;
            Some((stream.parse::<u64>().ok()?, number.parse::<u64>().ok()?))
        });
        // A place that we never gave is none.
        let place = place.filter(|(stream, _)| (1..=state.streams).contains(stream));
        let (stream, hears) = match place {
            Some((stream, _)) => (stream, state.connect(stream)),
            None => {
                let (stream, hears) = state.opened();
                state.listening = Some(stream);
                (stream, hears)
            }
        };
        state.prime(stream, primed && place.is_none());
        state.give_again(stream, place.map(|(_, number)| number));
        let awaited = state.answering.values().any(|asked| asked.stream == stream);
        if !awaited && state.listening != Some(stream) {
            // All that it was for has been said.
            state.open.remove(&stream);
        }
        hears
    }

    /// Takes a message to the stream that it belongs to.
    pub(super) async fn give(&self, message: Message) {
        let (to, stream, number, event) = {
            let mut state = self.state();
            let stream = state.stream_for(&message);
            let number = state.keep(stream, message.clone());
            (state.connected(Some(stream)), stream, number, event(stream, number, message))
        };
        if let Some(to) = to
            && to.send(event).await.is_ok()
        {
            self.state().note_given(number);
        }
        let mut state = self.state();
        let awaited = state.answering.values().any(|asked| asked.stream == stream);
        if !awaited && state.listening != Some(stream) {
            // The stream of a request ends with its answer.
            state.open.remove(&stream);
        }
    }
}

fn event(stream: u64, number: u64, message: Message) -> Event {
    Event { id: format!("{stream}-{number}"), message: Some(message) }
}

impl State {
    /// A new stream.
    fn opened(&mut self) -> (u64, mpsc::Receiver<Event>) {
        self.streams += 1;
        (self.streams, self.connect(self.streams))
    }

    /// A new connection for a stream. The previous listener receives nothing more.
    fn connect(&mut self, stream: u64) -> mpsc::Receiver<Event> {
        // The channel has room for the missed messages and for new ones.
        let (says, hears) = mpsc::channel(QUEUE + self.kept.len() + 1);
        self.open.insert(stream, says);
        hears
    }

    fn connected(&self, stream: Option<u64>) -> Option<mpsc::Sender<Event>> {
        self.open.get(&stream?).filter(|to| !to.is_closed()).cloned()
    }

    fn prime(&self, stream: u64, primed: bool) {
        if let Some(to) = self.open.get(&stream).filter(|_| primed) {
            let _ = to.try_send(Event { id: format!("{stream}-{}", self.messages), message: None });
        }
    }

    /// Sends the messages after one on a stream, or all undelivered ones.
    fn give_again(&mut self, stream: u64, after: Option<u64>) {
        let Some(to) = self.open.get(&stream).cloned() else { return };
        for kept in &mut self.kept {
            let missed = match after {
                Some(after) => kept.stream == stream && kept.number > after,
                None => !kept.given,
            };
            if missed {
                kept.stream = stream;
                kept.given = to.try_send(event(stream, kept.number, kept.message.clone())).is_ok();
            }
        }
    }

    fn keep(&mut self, stream: u64, message: Message) -> u64 {
        self.messages += 1;
        self.kept.push_back(Kept { stream, number: self.messages, message, given: false });
        let bytes = |kept: &VecDeque<Kept>| kept.iter().map(|kept| kept.message.len()).sum::<u64>();
        while self.kept.len() > KEPT || (self.kept.len() > 1 && bytes(&self.kept) > KEPT_BYTES) {
            self.kept.pop_front();
        }
        self.messages
    }

    fn note_given(&mut self, number: u64) {
        if let Some(kept) = self.kept.iter_mut().rev().find(|kept| kept.number == number) {
            kept.given = true;
        }
    }

    /// The stream that a message belongs to. One that belongs to none waits for the next that listens.
    fn stream_for(&mut self, message: &Message) -> u64 {
        let Ok(Parsed::One(frame)) = message.parse() else { return self.listening.unwrap_or(0) };
        if let (None, Some(id)) = (&frame.method, &frame.id) {
            return self.answering.remove(&key(id)).map_or(0, |asked| asked.stream);
        }
        let token = frame.params.and_then(|params| message.find(params, &["progressToken"]));
        let token = token.and_then(|range| message.text(range).ok());
        let by_token = self.answering.values().find(|asked| asked.token.is_some() && asked.token == token);
        if let Some(asked) = by_token {
            return asked.stream;
        }
        if let (Some(listening), Some(_)) = (self.listening, self.connected(self.listening)) {
            return listening;
        }
        let answering = self.answering.values().map(|asked| asked.stream);
        let connected = answering.filter(|stream| self.connected(Some(*stream)).is_some()).min();
        connected.or(self.listening).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(text: &str) -> Vec<(Frame, Option<String>)> {
        let message = Message::from(text.to_owned());
        let Ok(Parsed::One(frame)) = message.parse() else { panic!("{text}") };
        vec![(frame, Some("\"t\"".to_owned()))]
    }

    fn said(hears: &mut mpsc::Receiver<Event>) -> Vec<(String, String)> {
        let text = |event: Event| {
            let message = event.message.map(|message| message.text(message.all()).unwrap());
            (event.id, message.unwrap_or_default())
        };
        std::iter::from_fn(|| hears.try_recv().ok()).map(text).collect()
    }

    const REQUEST: &str = r#"{"id":7,"method":"x"}"#;
    const PROGRESS: &str = r#"{"method":"notifications/progress","params":{"progressToken":"t"}}"#;
    const ANSWER: &str = r#"{"id":7,"result":1}"#;
    const NEWS: &str = r#"{"method":"notifications/news"}"#;

    fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|(id, text)| ((*id).to_owned(), (*text).to_owned())).collect()
    }

    #[tokio::test]
    async fn who_comes_back_gets_what_it_missed_on_its_stream() {
        let streams = Streams::new();
        let mut first = streams.answer(&frames(REQUEST), true).unwrap().unwrap();
        streams.give(PROGRESS.to_owned().into()).await;
        assert_eq!(said(&mut first), pairs(&[("1-0", ""), ("1-1", PROGRESS)]));
        drop(first);
        streams.give(PROGRESS.to_owned().into()).await;
        let mut again = streams.listen(Some("1-1"), true);
        assert_eq!(said(&mut again), pairs(&[("1-2", PROGRESS)]), "and it goes on:");
        streams.give(ANSWER.to_owned().into()).await;
        assert_eq!(said(&mut again), pairs(&[("1-3", ANSWER)]));
        assert!(again.recv().await.is_none(), "the stream ends with its answer");
        let mut late = streams.listen(Some("1-0"), true);
        assert_eq!(said(&mut late), pairs(&[("1-1", PROGRESS), ("1-2", PROGRESS), ("1-3", ANSWER)]));
        assert!(late.recv().await.is_none());
    }

    #[tokio::test]
    async fn what_nobody_got_goes_to_who_listens_next() {
        let streams = Streams::new();
        drop(streams.answer(&frames(REQUEST), false).unwrap());
        assert_eq!(streams.answer(&frames(REQUEST), false).unwrap_err(), Answering("7".to_owned()));
        streams.give(NEWS.to_owned().into()).await;
        streams.give(ANSWER.to_owned().into()).await;
        let mut listens = streams.listen(Some("9-0"), false);
        assert_eq!(said(&mut listens), pairs(&[("2-1", NEWS), ("2-2", ANSWER)]));
        drop(listens);
        streams.give(NEWS.to_owned().into()).await;
        let mut again = streams.listen(Some("2-2"), false);
        assert_eq!(said(&mut again), pairs(&[("2-3", NEWS)]));
        streams.give(NEWS.to_owned().into()).await;
        assert_eq!(said(&mut again), pairs(&[("2-4", NEWS)]), "it listens again");
    }

    #[tokio::test]
    async fn an_answer_is_known_however_its_id_is_written() {
        let streams = Streams::new();
        let mut hears = streams.answer(&frames(r#"{"id":1.5e3,"method":"x"}"#), false).unwrap().unwrap();
        assert_eq!(streams.silence(), None, "it is being answered");
        let answer = r#"{"id":1500.0,"result":1}"#;
        streams.give(answer.to_owned().into()).await;
        assert_eq!(said(&mut hears), pairs(&[("1-1", answer)]));
        assert!(hears.recv().await.is_none() && streams.silence().is_some());
    }

    #[tokio::test]
    async fn what_is_kept_is_bounded() {
        let streams = Streams::new();
        for _ in 0..KEPT + 10 {
            streams.give(NEWS.to_owned().into()).await;
        }
        let mut listens = streams.listen(None, false);
        let all = said(&mut listens);
        assert_eq!((all.len(), all[0].0.as_str()), (KEPT, "1-11"));
        let large = format!(r#"{{"method":"{}"}}"#, "x".repeat(KEPT_BYTES as usize / 2));
        for _ in 0..5 {
            streams.give(large.clone().into()).await;
        }
        assert_eq!(streams.state().kept.len(), 1, "two are more than are kept");
    }
}
