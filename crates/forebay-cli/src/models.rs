//! The configured models, as clients of their providers.
//!
//! If a server is busy or broken, the request is retried after a pause, until the retries or the deadline are used
//! up. A signal ends all waiting. Each provider's wire format is in a separate file. Windows, token ratios and slots
//! are learnt from servers' reports, errors and usage.

mod anthropic;
mod gemini;
mod learnt;
mod openai_chat;
mod overflow;
mod probe;
mod provider;
mod redact;
mod repetition;
mod request;
mod server;
mod sse;
mod stream;

pub(crate) use learnt::Facts;
pub(crate) use provider::Provider;

use crate::error::CliError;
use forebay::model::{Answer, Message, Model, ModelError, Profile, Prompt, Stop, ToolCalls, Usage};
use forebay::tokens;
use learnt::{Learnt, Report};
use overflow::Overflow;
use provider::{ModelWire, Operator};
use request::{Answered, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use stream::Request;
use tokio::{runtime::Runtime, sync::OnceCell};

/// How models are waited for.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Waiting {
    /// Seconds of silence in an answer that end a request. Before the answer begins, a server of one's own may take as
    /// long as the deadline leaves it: a request that waits for its turn is not silence.
    pub(crate) timeout_seconds: u64,
    /// Maximum seconds of one extraction, with all its requests.
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

/// Maximum timeout in seconds: a week.
const LONGEST: u64 = 7 * 24 * 3_600;

/// Minimum tokens for an answer, however full the window is.
const LEAST_ANSWER: u64 = 64;

/// Minimum tokens of a prompt, by our count, for computing the token ratio. In shorter prompts, the dozens of tokens
/// of the server's template distort it.
const LEAST_COUNTED: u64 = 300;

/// The configured models and their providers.
#[derive(Clone, Debug)]
pub(crate) struct ModelSettings {
    /// The models as provider/model, in their order.
    pub(crate) names: Vec<String>,
    pub(crate) waiting: Waiting,
    pub(crate) providers: BTreeMap<String, Provider>,
    /// Whether a signal ends an extraction. A server handles signals itself.
    pub(crate) ends_by_signal: bool,
    /// The file of facts learnt about models, if there is a folder for it.
    pub(crate) facts: Option<PathBuf>,
}

impl ModelSettings {
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

    /// The models for one extraction. Nothing is opened before the first request.
    pub(crate) fn clients(&self) -> Clients {
        self.clients_with(Learnt::new(self.facts.clone()))
    }

    fn clients_with(&self, learnt: Learnt) -> Clients {
        let learnt = Arc::new(learnt);
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
            let found = self.providers.get(provider);
            clients.push(Client {
                name: name.clone(),
                model: model.to_owned(),
                operator: found.map_or(Operator::Vendor, |found| Operator::of(provider, found)),
                fact_name: format!("{} {model}", found.map(Provider::address).unwrap_or_default()),
                provider: found.cloned().ok_or_else(missing),
                key: keys.entry(provider).or_default().clone(),
                waiting: self.waiting.clone(),
                ends_by_signal: self.ends_by_signal,
                other_limit: AtomicBool::new(false),
                report: OnceLock::new(),
                report_of_running: OnceLock::new(),
                learnt: learnt.clone(),
                opened: opened.clone(),
            });
        }
        Clients(clients)
    }
}

/// A fetched key: there may be none, or fetching may have failed. Concurrent callers wait for the first, so a command
/// that asks a person for the key runs only once.
type Fetched = OnceCell<Result<Option<String>, ModelError>>;

/// The models of one extraction.
pub(crate) struct Clients(Vec<Client>);

impl Clients {
    /// The models, each for itself.
    pub(crate) fn into_models(self) -> Vec<Box<dyn Model>> {
        self.0.into_iter().map(|client| Box::new(client) as Box<dyn Model>).collect()
    }

    /// The models as the library takes them.
    pub(crate) fn list(&self) -> Vec<&dyn Model> {
        self.0.iter().map(|client| client as &dyn Model).collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Client> {
        self.0.iter()
    }
}

/// State shared by the models of one extraction, created at the first request.
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
    /// Name at its provider.
    model: String,
    /// Who has it, or that nobody does.
    pub(crate) provider: Result<Provider, ModelError>,
    /// Who runs its server.
    operator: Operator,
    /// Name under which facts are stored: that of the server and that of the model.
    fact_name: String,
    /// The provider's key, once it was wanted.
    key: Arc<Fetched>,
    waiting: Waiting,
    ends_by_signal: bool,
    /// Whether its server accepts the limit of an answer only under its other name.
    other_limit: AtomicBool,
    /// Report of its server, requested once in an extraction.
    report: OnceLock<Report>,
    /// Report of the server once the model runs, if that says more.
    report_of_running: OnceLock<Report>,
    learnt: Arc<Learnt>,
    opened: Arc<OnceLock<Result<Opened, ModelError>>>,
}

impl Model for Client {
    fn name(&self) -> &str {
        &self.name
    }

    fn answer(&self, prompt: &Prompt) -> Result<Answer, ModelError> {
        self.answered(prompt, self.waiting.retries).map(|answered| answered.said)
    }

    fn profile(&self) -> Profile {
        self.report();
        let facts = self.facts();
        Profile { window: facts.window(), token_ratio: self.token_ratio(), slots: facts.slots() }
    }

    fn tool_calls(&self) -> ToolCalls {
        if self.operator == Operator::Vendor {
            return ToolCalls::Native;
        }
        let takes_tools = self.report().takes_tools;
        if let Some(known) = self.facts().tool_calls() {
            return known;
        }
        let probed = probe::tool_calls(takes_tools, |prompt| Ok(self.answered(prompt, 0)?.said));
        if let Some(probed) = probed {
            self.learnt.learn(&self.fact_name, |facts| facts.probed(probed));
        }
        // A server that cannot be probed cannot be asked for more either.
        probed.unwrap_or(ToolCalls::Native)
    }
}

impl Client {
    /// Known facts about the model.
    pub(crate) fn facts(&self) -> Facts {
        self.learnt.of(&self.fact_name)
    }

    /// An answer, and whether it came in parts.
    pub(crate) fn streamed_answer(&self, prompt: &Prompt) -> Result<(Answer, bool), ModelError> {
        self.answered(prompt, self.waiting.retries).map(|answered| (answered.said, answered.streamed))
    }

    /// The model's tokens for each that we count: as seen, or a guess on the safe side.
    pub(crate) fn token_ratio(&self) -> f64 {
        self.facts().token_ratio().unwrap_or_else(|| self.guess())
    }

    /// The token ratio before anything is known. Newer models of OpenAI have the vocabulary that we count by; those of
    /// other vendors make up to a quarter more tokens of English text and code, and small models with small vocabularies
    /// (SmolLM2 has 49,152 entries) 32 to 46 % more.
    fn guess(&self) -> f64 {
        let wire = self.provider.as_ref().map(|provider| provider.wire);
        match (self.operator, wire) {
            (Operator::User, _) => 1.5,
            (Operator::Vendor, Ok(ModelWire::OpenaiChat)) => 1.0,
            (Operator::Broker, _) if self.model.starts_with("openai/") => 1.0,
            (Operator::Vendor | Operator::Broker, _) => 1.25,
        }
    }

    fn opened(&self) -> Result<&Opened, ModelError> {
        let opened = self.opened.get_or_init(|| Opened::new(&self.waiting, self.ends_by_signal));
        opened.as_ref().map_err(Clone::clone)
    }

    fn key(&self, opened: &Opened, abandoned: &AtomicBool) -> Result<Option<&str>, ModelError> {
        let source = self.provider.as_ref().map_err(Clone::clone)?.key();
        let key =
            self.waited_for(opened, abandoned, self.key.get_or_init(|| async move { source.value().await }))?;
        key.as_ref().map(Option::as_deref).map_err(Clone::clone)
    }

    /// Report of the server. Vendors are not asked. Without an answer, the report is empty.
    fn report(&self) -> &Report {
        self.report.get_or_init(|| match self.operator {
            Operator::Vendor => Report::default(),
            Operator::Broker if self.facts().is_fresh() => Report::default(),
            Operator::Broker | Operator::User => self.reported_now(),
        })
    }

    fn reported_now(&self) -> Report {
        let asked = || -> Result<Report, ModelError> {
            let provider = self.provider.as_ref().map_err(Clone::clone)?;
            let (opened, nobody) = (self.opened()?, AtomicBool::new(false));
            let key = self.key(opened, &nobody)?;
            let Ok(headers) = request::headers(provider.wire, key) else { return Ok(Report::default()) };
            let server = server::Server {
                http: &opened.http,
                base_url: &provider.base_url(),
                headers,
                model: &self.model,
                is_ollama: self.name.starts_with("ollama/"),
            };
            self.waited_for(opened, &nobody, server.report())
        };
        let report = asked().unwrap_or_default();
        self.learnt.learn(&self.fact_name, |facts| {
            facts.report(&report);
            if self.operator == Operator::Broker {
                facts.asked_now();
            }
        });
        report
    }

    /// Whether a prompt was cut off. Some servers cut long prompts without an error, and state their window only
    /// while the model runs. Such a server is asked again after the first answer.
    fn was_cut_off(&self, counted: u64) -> Option<ModelError> {
        if !self.report.get().is_some_and(|report| report.is_guess) {
            return None;
        }
        let report = self.report_of_running.get_or_init(|| self.reported_now());
        let window = report.window.filter(|&window| !report.is_guess && counted > window)?;
        let why = format!("its server cut the prompt off: its window has {window} tokens");
        Some(ModelError::TooLong { why, tokens: None, window: Some(window) })
    }

    /// The answer, and how it came.
    fn answered(&self, prompt: &Prompt, retries: u64) -> Result<Answered, ModelError> {
        let provider = self.provider.as_ref().map_err(Clone::clone)?;
        let opened = self.opened()?;
        let silence = Duration::from_secs(self.waiting.timeout_seconds.min(LONGEST));
        let request = Request {
            wire: provider.wire,
            base_url: &provider.base_url(),
            key: self.key(opened, prompt.abandoned)?,
            model: &self.model,
            stream: self.waiting.stream,
            idle_timeout: silence,
            response_timeout: (self.operator != Operator::User).then_some(silence),
            address: &provider.address(),
            start: self.start(&provider.address()),
            other_limit: &self.other_limit,
        };
        let counted = counted(prompt);
        let answered = self.asked(opened, &request, prompt, counted, retries)?;
        self.learnt.learn(&self.fact_name, |facts| {
            if counted >= LEAST_COUNTED {
                facts.count(counted, answered.said.usage.tokens_in, self.guess());
            }
            facts.speed(answered.prompt_speed, answered.answer_speed);
        });
        if let Some(error) = self.was_cut_off(counted) {
            return Err(error);
        }
        Ok(self.with_usage(answered, counted))
    }

    /// The command that starts a server like this one.
    fn start(&self, address: &str) -> Option<String> {
        let (name, _) = self.name.split_once('/')?;
        let host = address.split_once("://").map_or(address, |(_, rest)| rest).split('/').next()?;
        let port = host.rsplit_once(':').map(|(_, port)| port);
        let port_unless = |usual: &str| match port.filter(|&port| port != usual) {
            Some(port) => format!(" --port {port}"),
            None => String::new(),
        };
        match name {
            "ollama" => Some("ollama serve".to_owned()),
            "llamacpp" => Some(format!("llama-server -m MODEL.gguf --port {}", port.unwrap_or("8080"))),
            "vllm" => Some(format!("vllm serve {}{}", self.model, port_unless("8000"))),
            _ => None,
        }
    }

    /// An answer whose cost is not 0 where the server did not get to tell it.
    fn with_usage(&self, mut answered: Answered, counted: u64) -> Answered {
        if answered.said.usage == Usage::default() && answered.said.stop == Stop::Repeated {
            let ratio = self.token_ratio();
            let tokens = |counted: u64| (counted as f64 * ratio).ceil() as u64;
            answered.said.usage =
                Usage { tokens_in: tokens(counted), tokens_out: tokens(tokens::count(&answered.said.text)) };
        }
        answered
    }

    fn asked(
        &self,
        opened: &Opened,
        request: &Request,
        prompt: &Prompt,
        counted: u64,
        retries: u64,
    ) -> Result<Answered, ModelError> {
        let (mut tries, mut is_shorter) = (0, false);
        let estimate = || (counted as f64 * self.token_ratio()).ceil() as u64;
        let mut prompt = *prompt;
        prompt.max_output = limit(prompt.max_output, self.facts().window(), estimate());
        loop {
            let problem =
                match self.waited_for(opened, prompt.abandoned, request.send(&opened.http, &prompt))? {
                    Ok(answered) => return Ok(answered),
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
                    return Err(ModelError::Lasting("it accepts no limit on its answer".to_owned()));
                }
                Problem::TooLong { why, overflow: Overflow { prompt: tokens, window } } => {
                    self.learnt.learn(&self.fact_name, |facts| {
                        window.into_iter().for_each(|window| facts.overflow(window));
                        if let Some(tokens) = tokens.filter(|_| counted >= LEAST_COUNTED) {
                            facts.count(counted, tokens, self.guess());
                        }
                    });
                    // Some servers refuse a prompt that fits, for an answer that might not.
                    let used = tokens.unwrap_or_else(estimate);
                    let shorter = limit(prompt.max_output, window, used);
                    let fits = window.is_some_and(|window| used + shorter <= window);
                    if !is_shorter && fits && shorter < prompt.max_output {
                        (is_shorter, prompt.max_output) = (true, shorter);
                        continue;
                    }
                    return Err(ModelError::TooLong { why, tokens, window });
                }
                Problem::Passing { why, after } => (why, after),
            };
            let times = if tries == 1 { String::new() } else { format!(" ({tries} times)") };
            if tries > retries {
                return Err(ModelError::Lasting(format!("{why}{times}")));
            }
            let pause = pause.unwrap_or_else(|| self.pause(tries));
            if Instant::now() + pause >= opened.deadline {
                let asked = format!("the deadline would pass before the next try in {} s", pause.as_secs());
                return Err(ModelError::Lasting(format!("{why}{times}; {asked}")));
            }
            self.waited_for(opened, prompt.abandoned, async { tokio::time::sleep(pause).await })?;
        }
    }

    /// Waits for a result until the deadline passes, a signal arrives or the caller gives up.
    fn waited_for<T>(
        &self,
        opened: &Opened,
        abandoned: &AtomicBool,
        work: impl Future<Output = T>,
    ) -> Result<T, ModelError> {
        let ended = async {
            loop {
                if opened.signalled.load(Ordering::Relaxed) {
                    break "a signal came";
                }
                if abandoned.load(Ordering::Relaxed) {
                    break "the caller stopped waiting";
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

    /// Pause before attempt number `tries` + 1, slightly randomised so that many clients do not retry at once.
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

/// Maximum tokens of an answer: as many as are wanted, or as the window leaves after a prompt of `used` tokens.
fn limit(wanted: u64, window: Option<u64>, used: u64) -> u64 {
    let left = window.map_or(wanted, |window| window.saturating_sub(used).max(LEAST_ANSWER));
    wanted.min(left)
}

/// Tokens of all that a prompt sends, by our count.
fn counted(prompt: &Prompt) -> u64 {
    let message = |message: &Message| match message {
        Message::User(text) => tokens::count(text),
        Message::Model(said) => {
            let calls =
                said.calls.iter().map(|call| tokens::count(&format!("{} {:?}", call.name, call.arguments)));
            tokens::count(&said.text) + calls.sum::<u64>()
        }
        Message::Results(results) => results.iter().map(|result| tokens::count(&result.text)).sum(),
    };
    let tools = prompt.tools.iter();
    let tools =
        tools.map(|tool| tokens::count(&format!("{} {} {}", tool.name, tool.description, tool.schema)));
    tokens::count(prompt.system) + prompt.messages.iter().map(message).sum::<u64>() + tools.sum::<u64>()
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
    use super::stream::Fold;
    use super::*;
    use serde_json::{Value, json};
    use std::{io::Read, net::TcpListener};

    #[test]
    fn an_answer_is_no_longer_than_the_window_leaves_it() {
        let table = [
            (8_192, None, 1_000_000, 8_192),
            (8_192, Some(100_000), 1_000, 8_192),
            (8_192, Some(4_096), 1_000, 3_096),
            (8_192, Some(4_096), 4_090, 64),
            (8_192, Some(4_096), 9_000, 64),
            (32, Some(4_096), 9_000, 32),
        ];
        for (wanted, window, used, expected) in table {
            assert_eq!(super::limit(wanted, window, used), expected, "{wanted} {window:?} {used}");
        }
    }

    #[test]
    fn an_answer_that_nobody_waits_for_is_not_received_any_more() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let provider = Provider {
            wire: super::provider::ModelWire::OpenaiChat,
            base_url: format!("http://{}", listener.local_addr().unwrap()),
            base_url_env: String::new(),
            key_env: Vec::new(),
            key_command: String::new(),
            key_optional: true,
        };
        let models = ModelSettings {
            names: vec!["mine/model".to_owned()],
            waiting: Waiting {
                timeout_seconds: 60,
                deadline_seconds: 60,
                retries: 0,
                backoff_milliseconds: 1,
                stream: true,
            },
            providers: [("mine".to_owned(), provider)].into(),
            ends_by_signal: false,
            facts: None,
        };
        let abandoned = AtomicBool::new(false);
        let clients = models.clients_with(Learnt::new(None));
        std::thread::scope(|scope| {
            let server = scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut buffer = [0; 65_536];
                assert!(stream.read(&mut buffer).unwrap() > 0);
                abandoned.store(true, Ordering::Relaxed);
                // Zero bytes are the end of the connection.
                stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
                while stream.read(&mut buffer).unwrap() > 0 {}
            });
            let prompt = Prompt {
                system: "",
                messages: &[Message::User("hello".to_owned())],
                tools: &[],
                may_call: false,
                max_output: 64,
                abandoned: &abandoned,
            };
            let error = clients.list()[0].answer(&prompt).unwrap_err();
            assert_eq!(error, ModelError::Stopped("the caller stopped waiting".to_owned()));
            server.join().unwrap();
        });
        // Until here the client could still have used the connection.
        drop(clients);
    }

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
                let _ = fold.adds(event);
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
