//! `forebay settings`: every setting with its value and origin.

use crate::context::Outcome;
use crate::error::DONE;
use crate::print;
use crate::settings::{self, Layers, keys};
use serde_json::json;
use std::process::ExitCode;

/// Show every setting with its value and where it came from.
///
/// Settings come in layers, the weakest first: built-in, the user's file (`$XDG_CONFIG_HOME/forebay/settings.toml`),
/// `forebay.toml` in the project, the environment, the front matter of an agent file, flags. A project's file may set only
/// how much is shown and how (the column `project` of --reference). It is read only if you or root own it and it is in
/// your home folder or the repository.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay settings
  FOREBAY_PRESET=handle forebay settings --json
  forebay settings --defaults > ~/.config/forebay/settings.toml")]
pub(crate) struct Args {
    /// Print the built-in file, with the reason for each value
    #[arg(long)]
    defaults: bool,
    /// Print the reference page
    #[arg(long, conflicts_with = "defaults")]
    reference: bool,
}

pub(crate) fn run(args: &Args, layers: &Layers, as_json: bool) -> Outcome {
    if args.defaults {
        print::out(format!("{}\n{}", forebay::settings::DEFAULT, settings::DEFAULT).as_bytes())?;
    } else if args.reference {
        print::out(reference().as_bytes())?;
    } else if as_json {
        for (key, value, source) in layers.values() {
            print::json(&json!({ "key": key, "value": value, "source": source.to_string() }))?;
        }
    } else {
        let rows: Vec<Vec<String>> = layers
            .values()
            .into_iter()
            .map(|(key, value, source)| vec![key, value.to_string(), source.to_string()])
            .collect();
        print::out(print::table(&["SETTING", "VALUE", "FROM"], &[false; 3], &rows).as_bytes())?;
    }
    if !args.defaults && !args.reference {
        for ignored in &layers.ignored {
            print::err(&forebay::printable(&format!("forebay: {ignored}; the file is ignored\n")));
        }
    }
    Ok(ExitCode::from(DONE))
}

/// The reference page, generated from the declarations of the settings.
fn reference() -> String {
    let mut text = String::from(
        "# Settings\n\n\
         Made by `forebay settings --reference`; a test keeps it so. `*` stands for the name of a tool or a provider. The defaults, each\n\
         with its reason, are printed by `forebay settings --defaults`.\n\n\
         A project's `forebay.toml` may hold the settings with a mark in the column `project`; the others are yours alone and belong in\n\
         `$XDG_CONFIG_HOME/forebay/settings.toml`. The nearest `forebay.toml` counts that is in the current folder or above it, in your home\n\
         folder or the repository, and that belongs to you or to root. What is wrong in a file, a variable or an agent file is reported and\n\
         left out by the commands that wrap a program (`run`, `session`, `mcp`), keep outputs or read them, and the rest counts; `settings`,\n\
         `models`, `serve`, `export` and `import` refuse it, and `clean` refuses it unless it is a project's.\n\n\
         | setting | environment | project | what it is |\n|---|---|---|---|\n",
    );
    for key in keys() {
        let environment = if key.path.contains(&"*".to_owned()) {
            "–".to_owned()
        } else {
            format!("`{}`", key.environment())
        };
        let doc = key.doc.replace('\n', " ").replace('|', "\\|");
        let project = if settings::is_for_projects(key) { "✓" } else { "" };
        text.push_str(&format!("| `{}` | {environment} | {project} | {doc} |\n", key.name()));
    }
    text
}
