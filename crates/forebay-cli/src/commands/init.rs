//! `forebay init`: registers Forebay with the installed agent programs, or removes it.
//!
//! Only Forebay's entries change. The diff is printed first, a copy of each original file is kept beside it, and
//! `--uninstall` restores every byte.

use crate::client_file::{self, Copies};
use crate::commands::mcp::wrap;
use crate::context::{Context, Outcome};
use crate::error::{CliError, DONE, NOT_THERE};
use crate::hosts::entries::{self, READS};
use crate::hosts::{HOSTS, Hooked, Host, HostFile, Part, Place, Scope, Way, claude_code};
use crate::print;
use serde_json::{Value, json};
use std::env;
use std::fs;
use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Set up coding agents, or restore their settings.
///
/// Large results of their tools are then stored and shown as views.
///
/// Prints the change to each settings file and asks before it is made. A copy of the file is kept beside it, and
/// --uninstall restores every byte. Without a host, the installed ones are set up. No command is ever rewritten, so the
/// rules of an agent decide as before.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Hosts: claude-code, codex, gemini-cli, opencode, copilot, cursor, qwen-code, goose, cline, vscode

Examples:
  forebay init                          set up the agents that are installed
  forebay init claude-code --dry-run    print what would change
  forebay init codex --scope project    for all who work in this folder
  forebay init --uninstall --yes        restore all settings
  forebay doctor                        whether it works")]
pub(crate) struct Args {
    /// Agents to set up; default: those that are installed
    #[arg(value_name = "HOST")]
    hosts: Vec<String>,
    /// Remove Forebay and restore the settings
    #[arg(long)]
    uninstall: bool,
    /// Settings to change
    #[arg(long, value_enum, value_name = "SCOPE", default_value = "user")]
    scope: Scope,
    /// Print the changes and make none
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Make the changes without asking
    #[arg(long)]
    yes: bool,
    /// Let the agent run the commands that only read outputs (read, grep, ls, …) without asking
    #[arg(long, conflicts_with = "uninstall")]
    allow_reads: bool,
    /// Also describe these commands in the agent's instructions file (CLAUDE.md, GEMINI.md or AGENTS.md)
    #[arg(long, conflicts_with = "uninstall")]
    instructions: bool,
}

/// A file and its new text.
struct Change {
    host: &'static str,
    path: PathBuf,
    top: PathBuf,
    /// `None` if the file does not exist.
    before: Option<String>,
    /// `None` if the file is removed.
    after: Option<String>,
    /// Whether the old text is copied first.
    with_copy: bool,
    /// Whether the file is executable.
    is_program: bool,
}

impl Change {
    fn is_none(&self) -> bool {
        self.before == self.after
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let hosts = chosen(args)?;
    if hosts.is_empty() {
        return Err(CliError::not_there("none of the agents that Forebay knows is installed here")
            .hint("name one: forebay init claude-code"));
    }
    let mut allows_reads = args.allow_reads;
    let is_asked = !args.yes && !args.dry_run && io::stdin().is_terminal() && !context.json;
    if is_asked && !args.uninstall && !allows_reads {
        let question = format!("Let the agent run `forebay {}` without asking?", READS.join("|"));
        allows_reads = is_agreed(&question);
    }
    let place = place(args.scope, allows_reads)?;
    let mut changes = Vec::new();
    for host in &hosts {
        match &host.way {
            Way::Hook(hooked) => changes.extend(changes_of(host, hooked, &place, args)?),
            Way::Gateway => {}
        }
        if !args.uninstall && !context.json {
            print::err(&format!("{}\n", host.title));
            host.notes.iter().for_each(|note| print::err(&format!("  {note}\n")));
            obstacles(host, &place).iter().for_each(|note| print::err(&format!("  ! {note}\n")));
        }
    }
    let gateways: Vec<&Host> = hosts.iter().copied().filter(|host| host.hooked().is_none()).collect();
    changes.retain(|change| !change.is_none());
    if !context.json {
        for change in &changes {
            let [before, after] =
                [&change.before, &change.after].map(|text| text.as_deref().unwrap_or_default());
            print::out(client_file::diff(&change.path, before, after).as_bytes())?;
        }
    }
    let is_wanted = !changes.is_empty()
        && (args.yes || (is_asked && is_agreed(&format!("Change {}?", listed(&changes)))));
    if is_wanted {
        changes.iter().try_for_each(make)?;
    }
    if context.json {
        let files: Vec<Value> =
            changes.iter().map(|change| json!({"host": change.host, "file": change.path})).collect();
        print::json(&json!({"files": files, "written": is_wanted}))?;
    } else if changes.is_empty() && gateways.is_empty() {
        print::err(if args.uninstall {
            "forebay: Forebay is not set up here\n"
        } else {
            "forebay: all is set up already\n"
        });
    } else if !is_wanted && !changes.is_empty() {
        print::err("forebay: nothing is changed yet; --yes changes it\n");
    } else if is_wanted && !args.uninstall {
        print::err("forebay: done; `forebay doctor` tells whether it works\n");
    }
    let mut code = DONE;
    for host in gateways {
        if !wrap::servers_of(host.name, args.yes, args.uninstall, context)? {
            code = NOT_THERE;
        }
    }
    Ok(ExitCode::from(code))
}

/// The named hosts, or the installed ones.
fn chosen(args: &Args) -> Result<Vec<&'static Host>, CliError> {
    if args.hosts.is_empty() {
        let home = env::home_dir().unwrap_or_default();
        return Ok(HOSTS.into_iter().filter(|host| is_installed(host, &home)).collect());
    }
    args.hosts.iter().map(|name| named(name)).collect()
}

/// The host with this name.
pub(crate) fn named(name: &str) -> Result<&'static Host, CliError> {
    crate::hosts::find(name).ok_or_else(|| {
        let names: Vec<&str> = HOSTS.iter().map(|host| host.name).collect();
        CliError::usage(format!("there is no host {name:?}")).hint(format!("hosts: {}", names.join(", ")))
    })
}

/// Whether a host is installed: its program is on the path, or its folder is in the home folder.
pub(crate) fn is_installed(host: &Host, home: &Path) -> bool {
    let on_path = env::var_os("PATH")
        .is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(host.program).is_file()));
    on_path || host.traces.iter().any(|trace| home.join(trace).exists())
}

/// Location of the entries.
pub(crate) fn place(scope: Scope, allows_reads: bool) -> Result<Place, CliError> {
    let home = env::home_dir().unwrap_or_default();
    let config = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    Ok(Place {
        scope,
        config: config.unwrap_or_else(|| home.join(".config")),
        home,
        project: env::current_dir()?,
        program: client_file::program_file()?,
        word: client_file::program()?,
        allows_reads,
    })
}

fn changes_of(host: &Host, hooked: &Hooked, place: &Place, args: &Args) -> Result<Vec<Change>, CliError> {
    let mut changes = Vec::new();
    if args.uninstall {
        // Rules that allow our commands are removed too.
        let place = self::place(args.scope, true)?;
        for file in (hooked.files)(&place) {
            changes.push(removal(host, file)?);
        }
        changes.push(instructions_removed(host, &place)?);
        return Ok(changes);
    }
    for file in (hooked.files)(place) {
        changes.push(addition(host, file)?);
    }
    if args.instructions {
        changes.push(instructions_added(host, place)?);
    }
    Ok(changes)
}

fn read(path: &Path) -> Result<Option<String>, CliError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CliError::not_there(format!("cannot read {}: {error}", path.display()))),
    }
}

fn in_file(path: &Path) -> impl Fn(CliError) -> CliError + '_ {
    move |error| CliError::usage(format!("{}: {error}", path.display()))
}

fn addition(host: &Host, file: HostFile) -> Result<Change, CliError> {
    let HostFile { path, top, part } = file;
    let before = read(&path)?;
    let is_program = matches!(part, Part::Program(_));
    let mut with_copy = false;
    let after = match &part {
        Part::Entries(entries) => {
            let text = before.as_deref().unwrap_or_default();
            let added = entries::add(text, entries).map_err(in_file(&path))?;
            for (key, value) in &added.taken {
                print::err(&format!("forebay: {}: {key} is {value} and stays\n", path.display()));
            }
            with_copy = before.is_some() && entries::remove(text, entries).map_err(in_file(&path))? == text;
            added.text
        }
        Part::Whole(text) | Part::Program(text) => {
            if before.as_ref().is_some_and(|before| !is_our_file(before)) {
                return Err(CliError::usage(format!(
                    "{} exists and was not created by Forebay",
                    path.display()
                ))
                .hint("rename the file, then run init again"));
            }
            text.clone()
        }
    };
    Ok(Change { host: host.name, path, top, before, after: Some(after), with_copy, is_program })
}

fn removal(host: &Host, file: HostFile) -> Result<Change, CliError> {
    let HostFile { path, top, part } = file;
    let before = read(&path)?;
    let Some(text) = &before else {
        return Ok(Change {
            host: host.name,
            path,
            top,
            before: None,
            after: None,
            with_copy: false,
            is_program: false,
        });
    };
    let after = match &part {
        Part::Entries(entries) => {
            let without = entries::remove(text, entries).map_err(in_file(&path))?;
            let copies = Copies::of(&path);
            // A copy can be restored if adding our entries to it gives the current text, apart from the entries
            // themselves.
            let gives = |copy: &String| {
                let subsets = [entries.len(), entries.len() - entries.len().min(READS.len())];
                subsets.iter().any(|&count| {
                    let again = entries::add(copy, &entries[..count]);
                    again
                        .and_then(|again| entries::remove(&again.text, entries))
                        .is_ok_and(|again| again == without)
                })
            };
            if without == *text {
                Some(without)
            } else if let Some(copy) = copies.texts().find(gives) {
                Some(copy)
            } else if copies.there.is_empty() && is_empty_object(&without) {
                None
            } else {
                Some(without)
            }
        }
        Part::Whole(_) | Part::Program(_) if is_our_file(text) => None,
        Part::Whole(_) | Part::Program(_) => Some(text.clone()),
    };
    Ok(Change { host: host.name, path, top, before, after, with_copy: false, is_program: false })
}

fn is_empty_object(text: &str) -> bool {
    entries::value_of(text).is_ok_and(|value| value.as_object().is_some_and(serde_json::Map::is_empty))
}

/// Whether `init` made a file: it says so, or, if it cannot, it runs our hook.
fn is_our_file(text: &str) -> bool {
    let starts_hook = |value: Value| entries::is_ours(&value["hooks"]["postToolUse"][0]);
    text.contains("Made by `forebay init ") || entries::value_of(text).is_ok_and(starts_hook)
}

/// First line of our part of an instructions file.
const BEGIN: &str = "<!-- forebay -->\n";

/// Last line of our part.
const END: &str = "<!-- /forebay -->\n";

fn instructions_file(host: &Host, place: &Place) -> Option<PathBuf> {
    let (user, project) = match host.name {
        "claude-code" => (claude_code::config_folder(place).join("CLAUDE.md"), "CLAUDE.md"),
        "codex" => (place.home.join(".codex/AGENTS.md"), "AGENTS.md"),
        "gemini-cli" => (place.home.join(".gemini/GEMINI.md"), "GEMINI.md"),
        "opencode" => (place.config.join("opencode/AGENTS.md"), "AGENTS.md"),
        "copilot" => (place.home.join(".copilot/copilot-instructions.md"), "AGENTS.md"),
        _ => return None,
    };
    Some(match place.scope {
        Scope::User => user,
        Scope::Project => place.project.join(project),
    })
}

fn instructions_added(host: &Host, place: &Place) -> Result<Change, CliError> {
    let path = instructions_file(host, place)
        .ok_or_else(|| CliError::usage(format!("no instructions file of {} is known", host.title)))?;
    let before = read(&path)?;
    let text = before.as_deref().unwrap_or_default();
    let word = &place.word;
    let ours = format!(
        "{BEGIN}A large tool result is stored whole and shown as a view that names its handle.\n\
         - `{word} read HANDLE --lines 100:200` reads lines, `{word} grep HANDLE PATTERN -C 3` searches.\n\
         - `{word} ask HANDLE 'question'` finds passages, `{word} json HANDLE FILTER` runs a jq filter.\n{END}"
    );
    let rest = without_instructions(text);
    let gap = if rest.is_empty() || rest.ends_with('\n') { "" } else { "\n" };
    let after = Some(format!("{rest}{gap}{ours}"));
    let with_copy = before.is_some() && rest == text;
    Ok(Change {
        host: host.name,
        top: place.base().to_owned(),
        path,
        before,
        after,
        with_copy,
        is_program: false,
    })
}

fn instructions_removed(host: &Host, place: &Place) -> Result<Change, CliError> {
    let path = instructions_file(host, place).unwrap_or_default();
    let before = if path.as_os_str().is_empty() { None } else { read(&path)? };
    let text = before.as_deref().unwrap_or_default();
    let rest = without_instructions(text);
    let copies = Copies::of(&path);
    let copy = copies.texts().find(|copy| copy.trim_end() == rest.trim_end()).filter(|_| rest != text);
    let after = if rest.trim().is_empty() && rest != text && copies.there.is_empty() {
        None
    } else {
        before.as_ref().map(|_| copy.unwrap_or(rest))
    };
    Ok(Change {
        host: host.name,
        top: place.base().to_owned(),
        path,
        before,
        after,
        with_copy: false,
        is_program: false,
    })
}

/// A text without our part.
fn without_instructions(text: &str) -> String {
    match (text.find(BEGIN), text.find(END)) {
        (Some(start), Some(end)) if start < end => format!("{}{}", &text[..start], &text[end + END.len()..]),
        _ => text.to_owned(),
    }
}

/// Settings of a host that disable our entries.
pub(crate) fn obstacles(host: &Host, place: &Place) -> Vec<String> {
    if host.name != claude_code::HOST.name {
        return Vec::new();
    }
    let mut found = Vec::new();
    for managed in [
        "/etc/claude-code/managed-settings.json",
        "/Library/Application Support/ClaudeCode/managed-settings.json",
    ] {
        let value = fs::read_to_string(managed).ok().and_then(|text| entries::value_of(&text).ok());
        for key in ["allowManagedHooksOnly", "disableAllHooks"] {
            if value.as_ref().is_some_and(|value| value[key] == true) {
                found.push(format!("{managed} sets {key}: hooks of users do not run on this machine"));
            }
        }
    }
    for settings in [
        claude_code::config_folder(place).join("settings.json"),
        place.project.join(".claude/settings.json"),
        place.project.join(".claude/settings.local.json"),
    ] {
        let value = fs::read_to_string(&settings).ok().and_then(|text| entries::value_of(&text).ok());
        let Some(value) = value else { continue };
        if value["disableAllHooks"] == true {
            found.push(format!("{} sets disableAllHooks: no hook runs", settings.display()));
        }
        let prefix = value["env"][claude_code::PREFIX].as_str().unwrap_or_default();
        if !prefix.is_empty() && !entries::starts_us(prefix) {
            found.push(format!(
                "{} sets {} to {prefix}, which stays: commands that fail are not covered",
                settings.display(),
                claude_code::PREFIX
            ));
        }
    }
    found
}

fn listed(changes: &[Change]) -> String {
    changes.iter().map(|change| change.path.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn make(change: &Change) -> Result<(), CliError> {
    let copies = Copies::of(&change.path);
    match (&change.before, &change.after) {
        (Some(before), Some(after)) => {
            client_file::replace(&change.path, before, after, change.with_copy.then_some(&copies))?;
            if !change.with_copy && !copies.there.is_empty() && copies.texts().any(|copy| copy == *after) {
                copies.remove_like(after);
            }
            Ok(())
        }
        (None, Some(after)) => client_file::create(&change.path, after, change.is_program),
        (Some(_), None) => client_file::remove(&change.path, &change.top),
        (None, None) => Ok(()),
    }
}

fn is_agreed(question: &str) -> bool {
    print::err(&format!("{question} [y/N] "));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}
