//! `forebay models`: which models read, and whether they answer.

use super::{Context, Outcome};
use crate::args::ByModels;
use crate::error::{DONE, NOT_THERE};
use crate::models::Client;
use crate::print;
use forebay::model::{Message, Model, ModelError, Prompt, Stop};
use serde_json::json;
use std::{process::ExitCode, sync::atomic::AtomicBool, time::Instant};

/// See which models read, and whether they answer.
///
/// Models are set with `extract.models` or --models, as provider/model, and tried in their order. Keys come from the
/// variables that the vendors' own tools read, or from a key command; they are never written or shown.
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
    /// Ask each of them something
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    pub(crate) by_models: ByModels,
}

/// What a model made of a question.
struct Checked {
    milliseconds: u128,
    said: Result<(), ModelError>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    context.reach.check()?;
    let clients = context.reach.clients();
    let checked: Vec<(&Client, Option<Checked>)> =
        clients.iter().map(|client| (client, args.check.then(|| check(client)))).collect();
    if context.json {
        for (client, checked) in &checked {
            let [name, wire, address, key] = told(client);
            let mut line = json!({"model": name, "wire": wire, "base_url": address, "key": key});
            if let Some(Checked { milliseconds, said }) = checked {
                line["answers"] = said.is_ok().into();
                line["milliseconds"] = json!(milliseconds);
                line["problem"] = json!(said.as_ref().err().map(ToString::to_string));
            }
            print::json(&line)?;
        }
    } else if checked.is_empty() {
        let known: Vec<&str> = context.reach.providers.keys().map(String::as_str).collect();
        print::out(
            format!(
                "No model is configured: `forebay extract` answers by the words of the instructions.\n\
                 Set extract.models, FOREBAY_EXTRACT_MODELS or --models to provider/model; there are the providers {}.\n",
                known.join(", ")
            )
            .as_bytes(),
        )?;
    } else {
        let rows: Vec<Vec<String>> = checked.iter().map(|(client, checked)| row(client, checked)).collect();
        let head = ["model", "wire", "address", "key", if args.check { "answers" } else { "" }];
        print::out(print::table(&head, &[false; 5], &rows).as_bytes())?;
    }
    let failed = checked.iter().any(|(_, checked)| checked.as_ref().is_some_and(|it| it.said.is_err()));
    Ok(ExitCode::from(if failed { NOT_THERE } else { DONE }))
}

/// What is told of a model: its name, how its provider speaks, where that is, and where the key comes from.
fn told(client: &Client) -> [String; 4] {
    let Ok(provider) = &client.provider else { return Default::default() };
    let address = provider.base_url();
    // An address may have a password in it.
    let address = match address.split_once("://") {
        Some((scheme, rest)) => {
            format!("{scheme}://{}", rest.rsplit_once('@').map_or(rest, |(_, host)| host))
        }
        None => address,
    };
    [client.name().to_owned(), provider.wire.wire().to_string(), address, provider.key().to_string()]
}

fn row(client: &Client, checked: &Option<Checked>) -> Vec<String> {
    let answers = match checked {
        None => String::new(),
        Some(Checked { milliseconds, said: Ok(()) }) => format!("yes, in {milliseconds} ms"),
        Some(Checked { said: Err(why), .. }) => format!("no: {why}"),
    };
    told(client).into_iter().chain([answers]).collect()
}

fn check(client: &Client) -> Checked {
    let started = Instant::now();
    let prompt = Prompt {
        system: "Answer with one word.",
        messages: &[Message::User("Say: ready".to_owned())],
        tools: &[],
        may_call: false,
        // Models that think need some room before they say a word.
        max_output: 512,
        abandoned: &AtomicBool::new(false),
    };
    let useless = |why: String| Err(ModelError::Lasting(why));
    let said = client.answer(&prompt).and_then(|said| match &said.stop {
        Stop::Refused(why) if why.is_empty() => useless("it refused".to_owned()),
        Stop::Refused(why) => useless(format!("it refused: {why}")),
        _ if said.text.trim().is_empty() => useless("its answer was empty".to_owned()),
        _ => Ok(()),
    });
    Checked { milliseconds: started.elapsed().as_millis(), said }
}
