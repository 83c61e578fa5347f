//! `forebay mcp wrap` and `unwrap`: change a client's settings so that its servers go through the gateway.
//!
//! Only the words of commands change, in place: comments, order and formatting of the file stay. A copy of the
//! original file is kept beside it. Unwrapping restores every byte from it if nobody has changed the file since.

mod edit;

use crate::client_file::{self, Copies, is_us, program};
use crate::context::{Context, Outcome};
use crate::error::{CliError, DONE, NOT_THERE};
use crate::print;
use edit::{Edited, Form, Unfit};
use serde_json::json;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Route the servers of a client through the gateway.
///
/// Prints the change to the client's settings; with --yes, makes it. Servers at a URL stay unchanged, because the client may
/// have signed in to them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay mcp wrap cursor                        print the change
  forebay mcp wrap cursor --yes                  make the change
  forebay mcp wrap claude-code --file .mcp.json
  forebay mcp unwrap cursor --yes                restore the settings")]
pub(crate) struct Args {
    /// Client to change
    #[arg(value_enum, value_name = "CLIENT")]
    client: Client,
    /// Settings file of the client, if it is elsewhere
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Change the file instead of printing the change
    #[arg(long)]
    yes: bool,
}

/// Clients whose settings files are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Client {
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    #[value(name = "vscode")]
    VsCode,
    Codex,
    GeminiCli,
    #[value(name = "opencode")]
    OpenCode,
    QwenCode,
    Cline,
}

impl Client {
    /// Possible settings files, the most specific first.
    fn files(self) -> Vec<PathBuf> {
        let home = env::home_dir().unwrap_or_default();
        let config = env::var_os("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
        let library = home.join("Library/Application Support");
        match self {
            Client::ClaudeCode => vec![".mcp.json".into(), home.join(".claude.json")],
            Client::ClaudeDesktop => ["Claude/claude_desktop_config.json"]
                .iter()
                .flat_map(|name| [library.join(name), config.join(name)])
                .collect(),
            Client::Cursor => vec![".cursor/mcp.json".into(), home.join(".cursor/mcp.json")],
            Client::VsCode => {
                vec![
                    ".vscode/mcp.json".into(),
                    library.join("Code/User/mcp.json"),
                    config.join("Code/User/mcp.json"),
                ]
            }
            Client::Codex => {
                let codex = env::var_os("CODEX_HOME").map_or_else(|| home.join(".codex"), PathBuf::from);
                vec![".codex/config.toml".into(), codex.join("config.toml")]
            }
            Client::GeminiCli => vec![".gemini/settings.json".into(), home.join(".gemini/settings.json")],
            Client::QwenCode => vec![".qwen/settings.json".into(), home.join(".qwen/settings.json")],
            Client::Cline => {
                let name = "settings/cline_mcp_settings.json";
                let extension = Path::new("Code/User/globalStorage/saoudrizwan.claude-dev").join(name);
                let folders = [home.join(".cline/data"), home.join(".cline")];
                let own = folders.iter().map(|folder| folder.join(name));
                own.chain([library.join(&extension), config.join(&extension)]).collect()
            }
            Client::OpenCode => ["opencode.json", "opencode.jsonc"]
                .into_iter()
                .map(PathBuf::from)
                .chain(["opencode/opencode.json", "opencode/opencode.jsonc"].map(|name| config.join(name)))
                .collect(),
        }
    }

    fn form(self) -> Form {
        match self {
            Client::ClaudeCode
            | Client::ClaudeDesktop
            | Client::Cursor
            | Client::GeminiCli
            | Client::QwenCode
            | Client::Cline => Form::Servers("mcpServers"),
            Client::VsCode => Form::Servers("servers"),
            Client::OpenCode => Form::Servers("mcp"),
            Client::Codex => Form::Toml("mcp_servers"),
        }
    }
}

/// Direction of the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Wrap,
    Unwrap,
}

pub(crate) fn run(args: &Args, way: Way, context: &Context) -> Outcome {
    let file = file(args)?;
    let text = fs::read_to_string(&file)
        .map_err(|error| CliError::not_there(format!("cannot read {}: {error}", file.display())))?;
    let wrong = |why: Unfit| CliError::usage(format!("{}: {why}", file.display()));
    let program = program()?;
    let copies = Copies::of(&file);
    let form = args.client.form();
    // If a copy has another command for a server, the program that now replaces that command is the gateway.
    let proven: Vec<String> =
        copies.texts().flat_map(|before| edit::gateways(&text, form, Some(&before))).collect();
    let is_us = |program: &str| is_us(program) || proven.iter().any(|known| known == program);
    let edited = match way {
        Way::Wrap => edit::wrapped(&text, form, &program, &is_us).map_err(wrong)?,
        Way::Unwrap => unwrapped(&text, &copies, form, &is_us).map_err(wrong)?,
    };
    let others = others(args, &file, way, &program);
    if context.json {
        print::json(&json!({
            "file": file, "changed": edited.changed, "left": edited.left, "written": args.yes && edited.text != text,
            "others": others,
        }))?;
    } else {
        show(&file, &text, &edited, args.yes)?;
        for other in &others {
            print::err(&format!("forebay: {} names servers too; give it with --file\n", other.display()));
        }
    }
    if edited.text == text {
        return Ok(ExitCode::from(if edited.changed.is_empty() && way == Way::Unwrap {
            NOT_THERE
        } else {
            DONE
        }));
    }
    if args.yes {
        write(&file, &text, &edited, &copies, way)?;
    }
    Ok(ExitCode::from(DONE))
}

/// Routes all servers of a host through the gateway, or restores its settings. Returns whether each file could be read.
pub(crate) fn servers_of(
    host: &str,
    yes: bool,
    is_undone: bool,
    context: &Context,
) -> Result<bool, CliError> {
    let Ok(client) = <Client as clap::ValueEnum>::from_str(host, false) else { return Ok(true) };
    let files: Vec<PathBuf> = client.files().into_iter().filter(|file| file.is_file()).collect();
    if files.is_empty() {
        let looked: Vec<String> = client.files().iter().map(|file| file.display().to_string()).collect();
        print::err(&format!("forebay: {host} has no MCP servers: looked for {}\n", looked.join(", ")));
    }
    let mut all_read = true;
    for file in files {
        let args = Args { client, file: Some(file), yes };
        if let Err(error) = run(&args, if is_undone { Way::Unwrap } else { Way::Wrap }, context) {
            print::warning(&error);
            all_read = false;
        }
    }
    Ok(all_read)
}

fn file(args: &Args) -> Result<PathBuf, CliError> {
    if let Some(file) = &args.file {
        return Ok(file.clone());
    }
    let files = args.client.files();
    files.iter().find(|file| file.is_file()).cloned().ok_or_else(|| {
        let looked: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        CliError::not_there(format!("there are no settings of this client: looked for {}", looked.join(", ")))
            .hint("name the file with --file")
    })
}

/// Other settings files that would also change: a client may read several.
fn others(args: &Args, file: &Path, way: Way, program: &str) -> Vec<PathBuf> {
    let changes = |other: &PathBuf| {
        let form = args.client.form();
        let edited = fs::read_to_string(other).ok().and_then(|text| match way {
            Way::Wrap => edit::wrapped(&text, form, program, &is_us).ok(),
            Way::Unwrap => edit::unwrapped(&text, form, &is_us).ok(),
        });
        edited.is_some_and(|edited| !edited.changed.is_empty())
    };
    let files = if args.file.is_none() { args.client.files() } else { Vec::new() };
    files.into_iter().filter(|other| other != file && changes(other)).collect()
}

/// Text of the file before wrapping: that of a copy, if wrapping it gives the current text; otherwise the unwrapped
/// text.
fn unwrapped(text: &str, copies: &Copies, form: Form, is_us: &dyn Fn(&str) -> bool) -> Result<Edited, Unfit> {
    let edited = edit::unwrapped(text, form, is_us)?;
    let programs = edit::gateways(text, form, None);
    let gives = |before: &String| {
        let wrapped = |program: &String| edit::wrapped(before, form, program, is_us);
        programs.iter().any(|program| wrapped(program).is_ok_and(|again| again.text == text))
    };
    Ok(match copies.texts().find(gives) {
        Some(text) => Edited { text, ..edited },
        None => edited,
    })
}

fn show(file: &Path, text: &str, edited: &Edited, yes: bool) -> Result<(), CliError> {
    print::out(client_file::diff(file, text, &edited.text).as_bytes())?;
    for (name, why) in &edited.left {
        print::err(&format!("forebay: {name} stays as it is: {why}\n"));
    }
    if edited.text == text {
        print::err("forebay: there is nothing to change\n");
    } else if !yes {
        print::err("forebay: nothing is changed yet; --yes changes it\n");
    }
    Ok(())
}

fn write(file: &Path, text: &str, edited: &Edited, copies: &Copies, way: Way) -> Result<(), CliError> {
    let with_copy = (way == Way::Wrap && edited.was_plain()).then_some(copies);
    client_file::replace(file, text, &edited.text, with_copy)?;
    if way == Way::Unwrap {
        copies.remove_like(&edited.text);
    }
    Ok(())
}
