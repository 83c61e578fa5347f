//! `forebay mcp wrap` and `unwrap`: a client's own settings, so that its servers go through the gateway.
//!
//! Only the words of commands are changed, at the places where they stand: comments, order and form of the file stay. A
//! copy of the file as it was is kept beside it, and gives back every byte if nobody has changed the file since.

mod edit;

use super::{Context, Outcome};
use crate::error::{CliError, DONE, NOT_THERE};
use crate::print;
use edit::{Edited, Form, Unfit};
use serde_json::json;
use similar::TextDiff;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Have the servers of a client go through the gateway.
///
/// Shows what would change in the client's settings; with --yes, changes it. Servers at an address stay as they are,
/// because the client may have signed in to them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay mcp wrap cursor                        what would change
  forebay mcp wrap cursor --yes                  change it
  forebay mcp wrap claude-code --file .mcp.json
  forebay mcp unwrap cursor --yes                as it was before")]
pub(crate) struct Args {
    /// The client
    #[arg(value_enum, value_name = "CLIENT")]
    client: Client,
    /// The client's settings, if they are elsewhere
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Change the file, and do not only show how
    #[arg(long)]
    yes: bool,
}

/// The clients whose settings we know.
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
}

impl Client {
    /// Where its settings may be, the nearest first.
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
            Client::OpenCode => ["opencode.json", "opencode.jsonc"]
                .into_iter()
                .map(PathBuf::from)
                .chain(["opencode/opencode.json", "opencode/opencode.jsonc"].map(|name| config.join(name)))
                .collect(),
        }
    }

    fn form(self) -> Form {
        match self {
            Client::ClaudeCode | Client::ClaudeDesktop | Client::Cursor | Client::GeminiCli => {
                Form::Servers("mcpServers")
            }
            Client::VsCode => Form::Servers("servers"),
            Client::OpenCode => Form::Servers("mcp"),
            Client::Codex => Form::Toml("mcp_servers"),
        }
    }
}

/// What is done to the file.
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
    let copy = copy_of(&file);
    let edited = match way {
        Way::Wrap => edit::wrapped(&text, args.client.form(), &program).map_err(wrong)?,
        Way::Unwrap => unwrapped(&text, &copy, args.client.form(), &program).map_err(wrong)?,
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
        write(&file, &edited, &copy, way)?;
    }
    Ok(ExitCode::from(DONE))
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

/// Other settings of the client in which something would change too: it may read several files.
fn others(args: &Args, file: &Path, way: Way, program: &str) -> Vec<PathBuf> {
    let changes = |other: &PathBuf| {
        let form = args.client.form();
        let edited = fs::read_to_string(other).ok().and_then(|text| match way {
            Way::Wrap => edit::wrapped(&text, form, program).ok(),
            Way::Unwrap => edit::unwrapped(&text, form).ok(),
        });
        edited.is_some_and(|edited| !edited.changed.is_empty())
    };
    let files = if args.file.is_none() { args.client.files() } else { Vec::new() };
    files.into_iter().filter(|other| other != file && changes(other)).collect()
}

/// How we are called: by name where that finds us, and by our path otherwise.
fn program() -> Result<String, CliError> {
    let own = env::current_exe()?;
    let found = env::var_os("PATH").and_then(|path| {
        env::split_paths(&path).map(|folder| folder.join("forebay")).find(|program| program.is_file())
    });
    let same = |found: &PathBuf| fs::canonicalize(found).ok() == fs::canonicalize(&own).ok();
    Ok(if found.is_some_and(|found| same(&found)) { "forebay".to_owned() } else { own.display().to_string() })
}

/// Where the file as it was is kept.
fn copy_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".before-forebay");
    name.into()
}

/// The file as it was before: from the copy, if wrapping that gives what there is now, and otherwise word by word.
fn unwrapped(text: &str, copy: &Path, form: Form, program: &str) -> Result<Edited, Unfit> {
    let edited = edit::unwrapped(text, form)?;
    let before = fs::read_to_string(copy).ok();
    let exact =
        before.filter(|before| edit::wrapped(before, form, program).is_ok_and(|again| again.text == text));
    Ok(match exact {
        Some(text) => Edited { text, ..edited },
        None => edited,
    })
}

fn show(file: &Path, text: &str, edited: &Edited, yes: bool) -> Result<(), CliError> {
    let name = file.display().to_string();
    let diff =
        TextDiff::from_lines(text, edited.text.as_str()).unified_diff().header(&name, &name).to_string();
    print::out(diff.as_bytes())?;
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

fn write(file: &Path, edited: &Edited, copy: &Path, way: Way) -> Result<(), CliError> {
    let cannot = |error: std::io::Error| {
        CliError::from(std::io::Error::new(error.kind(), format!("{}: {error}", file.display())))
    };
    // What is in it may be secret: no copy is open to more people than the file.
    if way == Way::Wrap && edited.was_plain() {
        fs::copy(file, copy).map_err(cannot)?;
    }
    // A reader must never see half of it: written beside, then renamed.
    let real = fs::canonicalize(file).map_err(cannot)?;
    let mut beside = real.as_os_str().to_owned();
    beside.push(".forebay-new");
    fs::copy(&real, &beside).and_then(|_| fs::write(&beside, &edited.text)).map_err(cannot)?;
    fs::rename(&beside, &real).map_err(cannot)?;
    if way == Way::Unwrap {
        let _ = fs::remove_file(copy);
    }
    Ok(())
}
