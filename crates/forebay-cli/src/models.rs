//! The models that are configured, as clients of their providers.
//!
//! A request is sent again where its server was busy or broken, after a pause, until the retries or the deadline are
//! used up; a signal ends all waiting. How each provider speaks stands in a file of its own.

mod anthropic;
mod gemini;
mod openai_chat;
mod overflow;
mod provider;
mod redact;
mod request;
mod sse;

pub(crate) use provider::Provider;

use crate::error::CliError;
use forebay::model::{Model, ModelError, Prompt, Said};
use request::{Problem, Request};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{runtime::Runtime, sync::OnceCell};

/// How models are waited for.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Waiting {
    /// So many seconds of silence end a request.
    pub(crate) timeout_seconds: u64,
    /// So many seconds may one extraction take with all its requests.
    pub(crate) deadline_seconds: u64,
    /// How often a request is sent again to a server that was busy or broken.
    pub(crate) retries: u64,
    /// The pause before the first of these; each is twice the one before.
    pub(crate) backoff_milliseconds: u64,
    /// Whether answers are streamed.
    pub(crate) stream: bool,
}

/// No pause is longer, unless the server asks for it.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Nobody waits longer: a week, in seconds.
const LONGEST: u64 = 7 * 24 * 3_600;

/// Which models there are, and how they are reached.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// The models as provider/model, in their order.
    pub(crate) names: Vec<String>,
    pub(crate) waiting: Waiting,
    pub(crate) providers: BTreeMap<String, Provider>,
    /// Whether a signal ends an extraction. Whoever serves others sees to signals himself.
    pub(crate) ends_by_signal: bool,
}

impl Reach {
    /// Whether all models have a provider.
    pub(crate) fn check(&self) -> Result<(), CliError> {
        match self.clients().0.iter().find_map(|client| client.provider.as_ref().err()) {
            Some(problem) => {
                let known: Vec<&str> = self.providers.keys().map(String::as_str).collect();
                let hint = format!(
                    "there are {}; `[providers.NAME]` in your own settings adds one",
                    known.join(", ")
                );
                Err(CliError::usage(problem.to_string()).hint(hint))
            }
            None => Ok(()),
        }
    }

    /// The models for one extraction. Nothing is opened before the first is asked.
    pub(crate) fn clients(&self) -> Clients {
        let opened = Arc::<OnceLock<Result<Opened, ModelError>>>::default();
        let mut keys: BTreeMap<&str, Arc<Fetched>> = BTreeMap::new();
        let mut clients: Vec<Client> = Vec::new();
        for name in &self.names {
            if clients.iter().any(|client| client.name == *name) {
                continue;
            }
            let (provider, model) = name.split_once('/').unwrap_or((name, ""));
            let missing =
                || ModelError::Lasting(format!("there is no provider {provider:?} for the model {name:?}"));
            clients.push(Client {
                name: name.clone(),
                model: model.to_owned(),
                provider: self.providers.get(provider).cloned().ok_or_else(missing),
                key: keys.entry(provider).or_default().clone(),
                waiting: self.waiting.clone(),
                ends_by_signal: self.ends_by_signal,
                other_limit: AtomicBool::new(false),
                opened: opened.clone(),
            });
        }
        Clients(clients)
    }
}

/// A key once it was wanted: there may be none, or none to be had. Whoever wants it at the same time waits for the one
/// who asked first: a command that asks a person for the key is run once.
type Fetched = OnceCell<Result<Option<String>, ModelError>>;

/// The models of one extraction.
pub(crate) struct Clients(Vec<Client>);

impl Clients {
    /// The models as the library takes them.
    pub(crate) fn list(&self) -> Vec<&dyn Model> {
        self.0.iter().map(|client| client as &dyn Model).collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Client> {
        self.0.iter()
    }
}

/// What the models of one extraction share from the moment when one is asked.
struct Opened {
    /// Drives the requests of all threads that wait for one.
    runtime: Runtime,
    http: reqwest::Client,
    deadline: Instant,
    signalled: Arc<AtomicBool>,
}

impl Opened {
    fn new(waiting: &Waiting, ends_by_signal: bool) -> Result<Opened, ModelError> {
        let cannot = |error: std::io::Error| ModelError::Lasting(format!("it cannot be asked: {error}"));
        let signalled = Arc::default();
        if ends_by_signal {
            crate::stop::flag(&signalled).map_err(cannot)?;
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        Ok(Opened {
            runtime: runtime.map_err(cannot)?,
            http: request::client()?,
            deadline: Instant::now() + Duration::from_secs(waiting.deadline_seconds.min(LONGEST)),
            signalled,
        })
    }
}

/// A model at its provider.
pub(crate) struct Client {
    name: String,
    /// What its provider calls it.
    model: String,
    /// Who has it, or that nobody does.
    pub(crate) provider: Result<Provider, ModelError>,
    /// The provider's key, once it was wanted.
    key: Arc<Fetched>,
    waiting: Waiting,
    ends_by_signal: bool,
    /// Whether its server takes the limit of an answer only under its other name.
    other_limit: AtomicBool,
    opened: Arc<OnceLock<Result<Opened, ModelError>>>,
}

impl Model for Client {
    fn name(&self) -> &str {
        &self.name
    }

    fn answer(&self, prompt: &Prompt) -> Result<Said, ModelError> {
        let provider = self.provider.as_ref().map_err(Clone::clone)?;
        let opened = self.opened.get_or_init(|| Opened::new(&self.waiting, self.ends_by_signal));
        let opened = opened.as_ref().map_err(Clone::clone)?;
        let source = provider.key();
        let key = self.waited_for(opened, prompt, self.key.get_or_init(|| source.value()))?;
        let request = Request {
            wire: provider.wire,
            base_url: &provider.base_url(),
            key: key.as_ref().map_err(Clone::clone)?.as_deref(),
            model: &self.model,
            stream: self.waiting.stream,
            silence: Duration::from_secs(self.waiting.timeout_seconds.min(LONGEST)),
            other_limit: &self.other_limit,
        };
        self.asked(opened, &request, prompt)
    }
}

impl Client {
    fn asked(&self, opened: &Opened, request: &Request, prompt: &Prompt) -> Result<Said, ModelError> {
        let mut tries = 0;
        loop {
            let problem = match self.waited_for(opened, prompt, request.send(&opened.http, prompt))? {
                Ok(said) => return Ok(said),
                Err(problem) => problem,
            };
            tries += 1;
            let (why, pause) = match problem {
                Problem::Lasting(why) => return Err(ModelError::Lasting(why)),
                Problem::OtherLimit if tries < 3 => {
                    self.other_limit.store(true, Ordering::Relaxed);
                    continue;
                }
                Problem::OtherLimit => {
                    return Err(ModelError::Lasting("it takes no limit of its answer".to_owned()));
                }
                Problem::TooLong { why, overflow } => {
                    return Err(ModelError::TooLong {
                        why,
                        tokens: overflow.prompt,
                        window: overflow.window,
                    });
                }
                Problem::Passing { why, after } => (why, after),
            };
            let times = if tries == 1 { String::new() } else { format!(" ({tries} times)") };
            if tries > self.waiting.retries {
                return Err(ModelError::Lasting(format!("{why}{times}")));
            }
            let pause = pause.unwrap_or_else(|| self.pause(tries));
            if Instant::now() + pause >= opened.deadline {
                let asked = format!("the deadline would pass before the next try in {} s", pause.as_secs());
                return Err(ModelError::Lasting(format!("{why}{times}; {asked}")));
            }
            self.waited_for(opened, prompt, async { tokio::time::sleep(pause).await })?;
        }
    }

    /// The result of something, unless the deadline passes, a signal comes or nobody waits any more.
    fn waited_for<T>(
        &self,
        opened: &Opened,
        prompt: &Prompt,
        work: impl Future<Output = T>,
    ) -> Result<T, ModelError> {
        let ended = async {
            loop {
                if opened.signalled.load(Ordering::Relaxed) {
                    break "a signal came";
                }
                if prompt.abandoned.load(Ordering::Relaxed) {
                    break "nobody waits for it any more";
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let late = || {
            let seconds = self.waiting.deadline_seconds;
            ModelError::Lasting(format!("the deadline of {seconds} s passed (models.deadline_seconds)"))
        };
        if Instant::now() >= opened.deadline {
            return Err(late());
        }
        opened.runtime.block_on(async {
            tokio::select! {
                biased;
                why = ended => Err(ModelError::Stopped(why.to_owned())),
                result = work => Ok(result),
                () = tokio::time::sleep_until(opened.deadline.into()) => Err(late()),
            }
        })
    }

    /// How long to wait before try number `tries` + 1: a little less or more, so that many do not come at once.
    fn pause(&self, tries: u64) -> Duration {
        let first = Duration::from_millis(self.waiting.backoff_milliseconds);
        let pause = first.saturating_mul(1 << (tries - 1).min(16)).min(LONGEST_PAUSE);
        let mut random = [0; 1];
        let share = match getrandom::fill(&mut random) {
            Ok(()) => 0.75 + f64::from(random[0]) / 512.0,
            Err(_) => 1.0,
        };
        pause.mul_f64(share)
    }
}

/// Random letters and digits that no text knows.
pub(crate) fn nonce() -> String {
    let mut random = [0; 12];
    match getrandom::fill(&mut random) {
        Ok(()) => random.iter().map(|byte| format!("{byte:02x}")).collect(),
        // Without random numbers no answer can be proved, and the library takes no empty nonce.
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::request::Fold;
    use super::{anthropic, gemini, openai_chat};
    use serde_json::{Value, json};

    /// Whatever a server sends, it is read or refused.
    #[test]
    fn no_stream_is_too_strange_to_be_read_or_refused() {
        let odd = [
            json!(null),
            json!("x"),
            json!(7),
            json!([]),
            json!(["x"]),
            json!({}),
            json!(u64::MAX),
            json!([[{}]]),
        ];
        let mut events: Vec<Value> = odd.to_vec();
        for value in &odd {
            for kind in [
                "message_start",
                "content_block_start",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
            ] {
                events.push(json!({"type": kind, "index": 0, "message": value, "content_block": value, "delta": value, "usage": value}));
            }
            events.push(json!({"choices": value, "usage": value}));
            events.push(json!({"choices": [{"delta": value, "finish_reason": value}]}));
            events.push(json!({"choices": [{"delta": {"tool_calls": [value, {"index": value, "id": value, "function": value}]}}]}));
            events.push(json!({"candidates": value, "promptFeedback": value, "usageMetadata": value}));
            events.push(json!({"candidates": [value]}));
            events.push(json!({"candidates": [{"content": value, "finishReason": value}]}));
        }
        events.push(json!({"type": "message_stop"}));
        events.push(json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}));
        events.push(json!({"candidates": [{"finishReason": "STOP"}],
            "usageMetadata": {"candidatesTokenCount": u64::MAX, "thoughtsTokenCount": u64::MAX}}));
        let folds: [Box<dyn Fold>; 3] = [
            Box::<openai_chat::Stream>::default(),
            Box::<anthropic::Stream>::default(),
            Box::<gemini::Stream>::default(),
        ];
        for (mut fold, said) in folds.into_iter().zip([openai_chat::said, anthropic::said, gemini::said]) {
            for event in &events {
                fold.take(event.clone());
                let _ = said(event);
            }
            let _ = said(&fold.whole().unwrap());
        }
    }

    #[test]
    fn a_stream_of_gemini_keeps_its_end_whatever_comes_behind_it() {
        let mut stream = Box::<gemini::Stream>::default();
        let part =
            json!({"content": {"role": "model", "parts": [{"text": "half"}]}, "finishReason": "MAX_TOKENS"});
        stream.take(json!({"candidates": [part]}));
        stream.take(json!({"candidates": [{"content": {"role": "model"}}]}));
        stream.take(json!({"usageMetadata": {"promptTokenCount": 7}}));
        let said = gemini::said(&stream.whole().unwrap()).unwrap();
        assert_eq!(
            (said.text.as_str(), said.stop, said.usage.tokens_in),
            ("half", forebay::model::Stop::Length, 7)
        );
    }

    #[test]
    fn calls_that_all_have_the_same_number_are_told_apart_by_their_ids() {
        let mut stream = Box::<openai_chat::Stream>::default();
        let delta = |call: Value| json!({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]});
        for (id, name) in [("a", "Grep"), ("b", "Read")] {
            stream.take(delta(
                json!({"index": 0, "id": id, "function": {"name": name, "arguments": "{\"x\":"}}),
            ));
            stream.take(delta(json!({"index": 0, "function": {"arguments": "1}"}})));
        }
        let said = openai_chat::said(&stream.whole().unwrap()).unwrap();
        let calls: Vec<(&str, bool)> =
            said.calls.iter().map(|call| (call.name.as_str(), call.arguments.is_ok())).collect();
        assert_eq!(calls, [("Grep", true), ("Read", true)]);
    }
}
