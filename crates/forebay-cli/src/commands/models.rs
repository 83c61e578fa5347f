//! `forebay models`: the configured models, and whether they answer.

use crate::args::ByModels;
use crate::context::{Context, Outcome};
use crate::error::{DONE, NOT_THERE};
use crate::models::{self, Client, Facts};
use crate::print;
use forebay::model::{Message, Model, ModelError, Prompt, Stop, ToolCalls};
use serde_json::{Value, json};
use std::{process::ExitCode, sync::atomic::AtomicBool, time::Instant};

/// List the configured models and check that they answer.
///
/// Set models with `extract.models` or --models, as provider/model; they are tried in this order. Keys come from the
/// environment variables that the vendors' own tools read, or from a key command. They are never stored or printed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay models
  forebay models --check
  forebay models --models openai/gpt-5-mini,ollama/qwen3 --check

In your own settings ($XDG_CONFIG_HOME/forebay/settings.toml):
  [extract]
  models = [\"openai/gpt-5-mini\", \"local/qwen3\"]
  [providers.local]
  wire = \"openai-chat\"
  base_url = \"http://127.0.0.1:8000/v1\"
  [providers.openai]
  key_command = \"pass show openai\"")]
pub(crate) struct Args {
    /// Send each model a short prompt, and print its window, slots, speed and tool calls
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    pub(crate) by_models: ByModels,
}

/// Result of checking a model.
struct Checked {
    milliseconds: u128,
    /// Whether its answer was streamed, or why there was none.
    answered: Result<bool, ModelError>,
    facts: Facts,
    token_ratio: f64,
    /// How it calls tools, if it answers.
    tool_calls: Option<ToolCalls>,
}

/// Settings that suit a model.
struct Fitting {
    context_tokens: Option<u64>,
    parallel: Option<u64>,
    output_tokens: Option<u64>,
}

/// Maximum tokens of an answer: that of the built-in settings.
const LONGEST_ANSWER: u64 = 8_192;

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    context.models.check()?;
    let clients = context.models.clients();
    if clients.iter().next().is_none() && !context.json {
        let known: Vec<&str> = context.models.providers.keys().map(String::as_str).collect();
        print::out(
            format!(
                "No model is configured: `forebay extract` answers by the words of the instructions.\n\
                 Set extract.models, FOREBAY_EXTRACT_MODELS or --models to provider/model; there are the providers {}.\n",
                known.join(", ")
            )
            .as_bytes(),
        )?;
    } else if !args.check && !context.json {
        let rows: Vec<Vec<String>> = clients.iter().map(|client| told(client).into()).collect();
        print::out(print::table(&["model", "wire", "address", "key"], &[false; 4], &rows).as_bytes())?;
    }
    let mut failed = false;
    // Models can be slow, so each result is printed before the next request.
    for (index, client) in clients.iter().enumerate() {
        let checked = args.check.then(|| check(client));
        failed |= checked.as_ref().is_some_and(|checked| checked.answered.is_err());
        match (context.json, &checked) {
            (true, checked) => print::json(&as_json(client, checked.as_ref()))?,
            (false, Some(checked)) => {
                let between = if index == 0 { "" } else { "\n" };
                print::out(format!("{between}{}", lines(client, checked)).as_bytes())?;
            }
            (false, None) => {}
        }
    }
    Ok(ExitCode::from(if failed { NOT_THERE } else { DONE }))
}

/// Description of a model: name, provider's wire format, address, and origin of the key.
fn told(client: &Client) -> [String; 4] {
    let Ok(provider) = &client.provider else { return Default::default() };
    let wire = provider.wire.wire().to_string();
    [client.name().to_owned(), wire, provider.address(), provider.key().to_string()]
}

fn as_json(client: &Client, checked: Option<&Checked>) -> Value {
    let [name, wire, address, key] = told(client);
    let mut line = json!({"model": name, "wire": wire, "base_url": address, "key": key});
    let Some(checked) = checked else { return line };
    line["answers"] = checked.answered.is_ok().into();
    line["milliseconds"] = json!(checked.milliseconds);
    line["problem"] = json!(checked.answered.as_ref().err().map(ToString::to_string));
    let (facts, fitting) = (&checked.facts, checked.fitting());
    let (prompt, answer) = facts.speeds();
    line["window"] = json!(facts.window());
    line["window_from"] = json!(facts.window().map(|_| facts.window_from()));
    line["slots"] = json!(facts.slots());
    line["prompt_tokens_per_second"] = json!(prompt);
    line["answer_tokens_per_second"] = json!(answer);
    line["token_ratio"] = json!(checked.token_ratio);
    line["token_ratio_is_learnt"] = facts.token_ratio().is_some().into();
    line["tools"] = json!(checked.tool_calls);
    line["streams"] = json!(checked.answered.as_ref().ok());
    line["settings"] = json!({
        "extract.context_tokens": fitting.context_tokens,
        "extract.parallel": fitting.parallel,
        "extract.output_tokens": fitting.output_tokens,
    });
    line
}

/// Result of a check, one line for each fact.
fn lines(client: &Client, checked: &Checked) -> String {
    let [name, wire, address, key] = told(client);
    let seconds = checked.milliseconds as f64 / 1_000.0;
    let (facts, fitting) = (&checked.facts, checked.fitting());
    let mut lines = vec![(
        "answers",
        match &checked.answered {
            Ok(_) => format!("yes, in {seconds:.1} s"),
            Err(why) => format!("no: {why}"),
        },
    )];
    if let Some(window) = facts.window() {
        lines.push(("window", format!("{} tokens ({})", print::grouped(window), facts.window_from())));
    } else if checked.answered.is_ok() {
        lines.push(("window", "unknown: its server does not say".to_owned()));
    }
    if let Ok(streams) = checked.answered {
        if let Some(slots) = facts.slots() {
            lines.push(("slots", format!("{slots} at the same time")));
        }
        let speeds = match facts.speeds() {
            (Some(prompt), Some(answer)) => Some(format!("reads {prompt:.0}, writes {answer:.0} tokens/s")),
            (Some(prompt), None) => Some(format!("reads {prompt:.0} tokens/s")),
            (None, Some(answer)) => Some(format!("writes {answer:.0} tokens/s")),
            (None, None) => None,
        };
        lines.extend(speeds.map(|speeds| ("speed", speeds)));
        let from = if facts.token_ratio().is_some() { "learnt from its counts" } else { "a guess" };
        let ratio = format!("{:.2} of its tokens for each of ours ({from})", checked.token_ratio);
        lines.push(("token ratio", ratio));
        let tools = match checked.tool_calls {
            Some(ToolCalls::Native) => "native calls",
            Some(ToolCalls::Text) => "calls as lines of text",
            Some(ToolCalls::None) | None => "none",
        };
        lines.push(("tools", tools.to_owned()));
        lines.push(("streaming", if streams { "yes" } else { "no" }.to_owned()));
        let settings = [
            ("extract.context_tokens", fitting.context_tokens),
            ("extract.parallel", fitting.parallel),
            ("extract.output_tokens", fitting.output_tokens),
        ];
        let settings: Vec<String> = settings
            .into_iter()
            .filter_map(|(name, value)| value.map(|value| format!("{name} = {value}")))
            .collect();
        if !settings.is_empty() {
            lines.push(("settings", settings.join(", ")));
        }
    }
    let lines: String = lines.iter().map(|(name, text)| format!("  {name:<12} {text}\n")).collect();
    format!("{name}  {wire}  {address}  key {key}\n{lines}")
}

impl Checked {
    fn fitting(&self) -> Fitting {
        // The settings count in our tokens.
        let context = self.facts.window().map(|window| (window as f64 / self.token_ratio) as u64);
        Fitting {
            context_tokens: context,
            parallel: self.facts.slots(),
            output_tokens: context.map(|context| (context / 4).min(LONGEST_ANSWER)),
        }
    }
}

/// Sends a model a prompt of a few hundred tokens, which also shows its speed and how it counts tokens.
fn check(client: &Client) -> Checked {
    client.profile();
    let nobody = AtomicBool::new(false);
    // Servers cache the beginning of a prompt. A different beginning each time makes them read it.
    let text = format!("{}\n{}\nSay: ready", models::nonce(), TEXT.repeat(4));
    let prompt = Prompt {
        system: "Answer with one word.",
        messages: &[Message::User(text)],
        tools: &[],
        may_call: false,
        // Models that think need room before they answer.
        max_output: 512,
        abandoned: &nobody,
    };
    let started = Instant::now();
    let useless = |why: String| Err(ModelError::Lasting(why));
    let answered = client.streamed_answer(&prompt).and_then(|(said, streamed)| match &said.stop {
        Stop::Refused(why) if why.is_empty() => useless("it refused".to_owned()),
        Stop::Refused(why) => useless(format!("it refused: {why}")),
        _ if said.text.trim().is_empty() => useless("its answer was empty".to_owned()),
        _ => Ok(streamed),
    });
    let milliseconds = started.elapsed().as_millis();
    let tool_calls = answered.is_ok().then(|| client.tool_calls());
    let (facts, token_ratio) = (client.facts(), client.token_ratio());
    Checked { milliseconds, answered, facts, token_ratio, tool_calls }
}

/// Sample lines of an output, a hundred tokens.
const TEXT: &str = "\
2026-03-02T09:14:07.221Z INFO  http: GET /api/v1/users/4711?fields=name,mail 200 in 18 ms (bytes=5120)
   Compiling serde_json v1.0.149
error[E0308]: mismatched types --> src/main.rs:42:17
{\"id\": 93, \"status\": \"failed\", \"path\": \"/var/lib/app/cache\", \"retries\": [1, 2, 5]}
";
