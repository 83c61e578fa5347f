//! The models that are configured, as clients of their providers.
//!
//! A request is sent again where its server was busy or broken, after a pause, until the retries or the deadline are
//! used up; a signal ends all waiting. How each provider speaks stands in a file of its own.

mod anthropic;
mod gemini;
mod openai_chat;
mod provider;
mod request;
mod sse;

pub(crate) use provider::{Key, Provider, Speech};

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
use tokio::runtime::Runtime;

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
    /// The models for one extraction. Nothing is opened before the first is asked.
    pub(crate) fn clients(&self) -> Result<Clients, CliError> {
        let opened = Arc::<OnceLock<Result<Opened, String>>>::default();
        let client = |name: &String| -> Result<Client, CliError> {
            let (provider, model) = name.split_once('/').unwrap_or((name, ""));
            let Some(found) = self.providers.get(provider) else {
                let known: Vec<&str> = self.providers.keys().map(String::as_str).collect();
                let problem = format!("there is no provider {provider:?} for the model {name:?}");
                return Err(CliError::usage(problem)
                    .hint(format!("there are {}; `[providers.NAME]` adds one", known.join(", "))));
            };
            Ok(Client {
                name: name.clone(),
                model: model.to_owned(),
                base_url: found.base_url(),
                key: found.key(),
                speech: found.wire,
                waiting: self.waiting.clone(),
                ends_by_signal: self.ends_by_signal,
                opened: opened.clone(),
            })
        };
        self.names.iter().map(client).collect::<Result<_, _>>().map(Clients)
    }
}

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
    fn new(waiting: &Waiting, ends_by_signal: bool) -> Result<Opened, String> {
        let signalled = Arc::default();
        if ends_by_signal {
            crate::stop::flag(&signalled).map_err(|error| error.to_string())?;
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        Ok(Opened {
            runtime: runtime.map_err(|error| error.to_string())?,
            http: request::client()?,
            deadline: Instant::now() + Duration::from_secs(waiting.deadline_seconds),
            signalled,
        })
    }
}

/// A model at its provider.
pub(crate) struct Client {
    name: String,
    /// What its provider calls it.
    model: String,
    pub(crate) base_url: String,
    pub(crate) key: Key,
    pub(crate) speech: Speech,
    waiting: Waiting,
    ends_by_signal: bool,
    opened: Arc<OnceLock<Result<Opened, String>>>,
}

impl Model for Client {
    fn name(&self) -> &str {
        &self.name
    }

    fn answer(&self, prompt: &Prompt) -> Result<Said, ModelError> {
        let key = self.key.value().map_err(ModelError::Lasting)?;
        let mut request = Request {
            speech: self.speech,
            base_url: &self.base_url,
            key: key.as_deref(),
            model: &self.model,
            stream: self.waiting.stream,
            silence: Duration::from_secs(self.waiting.timeout_seconds),
            other_limit: false,
        };
        let opened = self.opened.get_or_init(|| Opened::new(&self.waiting, self.ends_by_signal));
        let opened = opened.as_ref().map_err(|why| ModelError::Lasting(why.clone()))?;
        let asked = self.asked(opened, &mut request, prompt);
        // A server may repeat what it was sent, and a key is for nobody's eyes.
        asked.map_err(|error| {
            let hidden = |text: String| match &key {
                Some(key) if !key.is_empty() => text.replace(key.as_str(), "…"),
                _ => text,
            };
            match error {
                ModelError::Passing(why) => ModelError::Passing(hidden(why)),
                ModelError::Lasting(why) => ModelError::Lasting(hidden(why)),
                ModelError::Stopped(why) => ModelError::Stopped(hidden(why)),
            }
        })
    }
}

impl Client {
    fn asked(&self, opened: &Opened, request: &mut Request, prompt: &Prompt) -> Result<Said, ModelError> {
        let mut tries = 0;
        loop {
            let problem = match self.waited_for(opened, request.send(&opened.http, prompt))? {
                Ok(said) => return Ok(said),
                Err(problem) => problem,
            };
            tries += 1;
            let (why, pause) = match problem {
                Problem::Lasting(why) => return Err(ModelError::Lasting(why)),
                Problem::OtherLimit if !request.other_limit => {
                    request.other_limit = true;
                    continue;
                }
                Problem::OtherLimit => {
                    return Err(ModelError::Lasting("it takes no limit of its answer".to_owned()));
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
            self.waited_for(opened, async { tokio::time::sleep(pause).await })?;
        }
    }

    /// The result of something, unless the deadline passes or a signal comes before.
    fn waited_for<T>(&self, opened: &Opened, work: impl Future<Output = T>) -> Result<T, ModelError> {
        let signalled = async {
            while !opened.signalled.load(Ordering::Relaxed) {
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
                () = signalled => Err(ModelError::Stopped("a signal came".to_owned())),
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
