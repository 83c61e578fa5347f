//! `forebay mcp wrap` and `unwrap`: a client's own settings, so that its servers go through the gateway.
//!
//! Only the words of commands are changed, at the places where they stand: comments, order and form of the file stay. A
//! copy of the file as it was is kept beside it, and gives back every byte if nobody has changed the file since.

mod edit;

use crate::context::{Context, Outcome};
use crate::error::{CliError, DONE, NOT_THERE};
use crate::print;
use edit::{Edited, Form, Unfit};
use serde_json::json;
use similar::TextDiff;
use std::env;
use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tempfile::NamedTempFile;

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
}

impl Client {
    /// Possible settings files, the nearest first.
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
    // What stands before a server in place of its command in a copy is the gateway, whatever it is called.
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

/// Other settings files of the client that would change too: it may read several.
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

/// The command that starts this program: its name if that is on the path, otherwise its file.
fn program() -> Result<String, CliError> {
    let own = env::current_exe()?;
    let found = env::var_os("PATH").and_then(|path| {
        env::split_paths(&path).map(|folder| folder.join("forebay")).find(|program| program.is_file())
    });
    let same = |found: &PathBuf| fs::canonicalize(found).ok() == fs::canonicalize(&own).ok();
    Ok(if found.is_some_and(|found| same(&found)) { "forebay".to_owned() } else { own.display().to_string() })
}

/// Whether a program is this one: by its name, or because it is the same file.
fn is_us(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    let same = |found: &Path| {
        let own = env::current_exe().and_then(fs::canonicalize);
        own.is_ok_and(|own| fs::canonicalize(found).is_ok_and(|found| found == own))
    };
    name.starts_with("forebay")
        || if name == program {
            env::var_os("PATH")
                .is_some_and(|path| env::split_paths(&path).any(|folder| same(&folder.join(program))))
        } else {
            same(Path::new(program))
        }
}

/// Backups of a file from before it was wrapped. None is ever overwritten: each may be the only copy of its text.
struct Copies {
    /// Existing backups, the oldest first.
    there: Vec<PathBuf>,
    /// The name of the next backup.
    free: PathBuf,
}

impl Copies {
    fn of(file: &Path) -> Copies {
        let named = |number: u32| {
            let mut name = file.as_os_str().to_owned();
            name.push(".before-forebay");
            if number > 1 {
                name.push(format!("-{number}"));
            }
            PathBuf::from(name)
        };
        let there: Vec<PathBuf> =
            (1..).map(named).take_while(|copy| copy.symlink_metadata().is_ok()).collect();
        let free = named(u32::try_from(there.len()).unwrap_or(u32::MAX) + 1);
        Copies { there, free }
    }

    /// Their text, the newest first.
    fn texts(&self) -> impl Iterator<Item = String> {
        self.there.iter().rev().filter_map(|copy| fs::read_to_string(copy).ok())
    }
}

/// The file from before wrapping: a backup, if wrapping that gives the current text; otherwise the text unwrapped.
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

fn write(file: &Path, text: &str, edited: &Edited, copies: &Copies, way: Way) -> Result<(), CliError> {
    let cannot = |error: io::Error| {
        CliError::from(io::Error::new(error.kind(), format!("{}: {error}", file.display())))
    };
    let real = fs::canonicalize(file).map_err(cannot)?;
    let before = fs::metadata(&real).map_err(cannot)?;
    if way == Way::Wrap && edited.was_plain() && !copies.texts().any(|copy| copy == text) {
        // Of a file that belongs to somebody else the copy may be ours: no more people can read it.
        let copy = beside(&copies.free, text, &before).map_err(cannot)?;
        let _ = own_like(copy.path(), &before);
        copy.persist(&copies.free).map_err(|error| cannot(error.error))?;
    }
    // A reader must never see half of it: written beside, then renamed. Where the new file cannot have the owner of the
    // old one, the old one is written over.
    let new = beside(&real, &edited.text, &before).map_err(cannot)?;
    match own_like(new.path(), &before) {
        Ok(()) => drop(new.persist(&real).map_err(|error| cannot(error.error))?),
        Err(_) => fs::write(&real, &edited.text).map_err(cannot)?,
    }
    if way == Way::Unwrap {
        for copy in &copies.there {
            if fs::read_to_string(copy).is_ok_and(|before| before == edited.text) {
                let _ = fs::remove_file(copy);
            } else {
                print::err(&format!(
                    "forebay: {} differs from what there is now, and stays\n",
                    copy.display()
                ));
            }
        }
    }
    Ok(())
}

/// A new file in the folder of `path`. Its text may be secret, so it gets the permissions of the old file.
fn beside(path: &Path, text: &str, old: &Metadata) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut new = NamedTempFile::new_in(folder)?;
    new.write_all(text.as_bytes())?;
    new.as_file().sync_all()?;
    fs::set_permissions(new.path(), old.permissions())?;
    Ok(new)
}

/// Gives a file the owner, the group and the mode of another.
fn own_like(path: &Path, other: &Metadata) -> io::Result<()> {
    let own = fs::metadata(path)?;
    if (own.uid(), own.gid()) != (other.uid(), other.gid()) {
        chown(path, Some(other.uid()), Some(other.gid()))?;
        // Changing the owner clears some bits of the mode.
        fs::set_permissions(path, other.permissions())?;
    }
    Ok(())
}
