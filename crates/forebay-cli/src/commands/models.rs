//! `forebay models`: which models read, and whether they answer.

use super::{Context, Outcome};
use crate::args::ByModels;
use crate::error::{DONE, NOT_THERE};
use crate::models::Client;
use crate::print;
use forebay::model::{Message, Model, Prompt, Said, Stop};
use serde_json::json;
use std::{process::ExitCode, time::Instant};

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

In the settings:
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
    said: Result<Said, String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let clients = context.clients()?;
    let checked: Vec<(&Client, Option<Checked>)> =
        clients.iter().map(|client| (client, args.check.then(|| check(client)))).collect();
    if context.json {
        for (client, checked) in &checked {
            let mut line = json!({
                "model": client.name(),
                "wire": client.speech,
                "base_url": client.base_url,
                "key": client.key.to_string(),
            });
            if let Some(Checked { milliseconds, said }) = checked {
                line["answers"] = said.is_ok().into();
                line["milliseconds"] = json!(milliseconds);
                line["problem"] = json!(said.as_ref().err());
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

fn row(client: &Client, checked: &Option<Checked>) -> Vec<String> {
    let answers = match checked {
        None => String::new(),
        Some(Checked { milliseconds, said: Ok(_) }) => format!("yes, in {milliseconds} ms"),
        Some(Checked { said: Err(why), .. }) => format!("no: {why}"),
    };
    let wire = client.speech.wire().to_string();
    vec![client.name().to_owned(), wire, client.base_url.clone(), client.key.to_string(), answers]
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
    };
    let said = client.answer(&prompt).map_err(|error| error.to_string()).and_then(|said| match &said.stop {
        Stop::Refused(why) => Err(format!("it refused: {why}")),
        _ => Ok(said),
    });
    Checked { milliseconds: started.elapsed().as_millis(), said }
}
