//! `forebay doctor`: checks whether the set-up agents work, and sums up what Forebay did for them.

use crate::commands::hook;
use crate::commands::init::{is_installed, named, obstacles, place};
use crate::context::{Context, Outcome};
use crate::error::{CliError, DONE, NOT_THERE};
use crate::hosts::{self, HOSTS, Hooked, Host, HostFile, Part, Place, Scope, claude_code, codex, entries};
use crate::print::{self, grouped};
use crate::settings::{Layers, OnProblem};
use forebay::stats::{By, Counts};
use forebay::text::count::count;
use forebay::{Event, Tally, Timestamp, What, event};
use serde::Serialize;
use serde_json::Value;
use std::env;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// Check that the configured agents work.
///
/// A fault comes with the command that mends it, or with what to do. A sample event is fed through the very command that each agent runs.
/// The exit status is 1 if something is broken.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  forebay doctor
  forebay doctor claude-code
  forebay doctor --json | jq -r 'select(.state == \"broken\") | .mend'")]
pub(crate) struct Args {
    /// Agents to check; default: those that are installed
    #[arg(value_name = "HOST")]
    hosts: Vec<String>,
}

/// Days that the summary covers.
const DAYS: i64 = 7;

/// Timeout for a program to print its version, and for a hook to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Number of a host's newest transcripts that are searched for errors.
const TRANSCRIPTS: usize = 20;

/// Bytes at the end of a transcript that are searched.
const TRANSCRIPT_END: u64 = 4 * 1024 * 1024;

/// Result of one check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Health {
    Good,
    Note,
    Broken,
}

/// One check.
#[derive(Debug, Serialize)]
struct Finding {
    /// The host; absent if the check concerns all.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'static str>,
    check: &'static str,
    state: Health,
    finding: String,
    /// Remedy: a command, or an instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    mend: Option<String>,
}

/// Collects findings.
#[derive(Default)]
struct Report {
    findings: Vec<Finding>,
    host: Option<&'static str>,
}

impl Report {
    fn add(&mut self, state: Health, check: &'static str, finding: impl Into<String>) -> &mut Finding {
        self.findings.push(Finding { host: self.host, check, state, finding: finding.into(), mend: None });
        let last = self.findings.len() - 1;
        &mut self.findings[last]
    }
}

impl Finding {
    fn mended_by(&mut self, mend: impl Into<String>) {
        self.mend = Some(mend.into());
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let named: Vec<&Host> = args.hosts.iter().map(|name| named(name)).collect::<Result<_, _>>()?;
    let home = env::home_dir().unwrap_or_default();
    let hosts: Vec<&Host> = if named.is_empty() {
        HOSTS.into_iter().filter(|host| is_installed(host, &home)).collect()
    } else {
        named.clone()
    };
    let mut report = Report::default();
    check_settings(&mut report, context);
    check_store(&mut report, context);
    check_shared(&mut report, context);
    if hosts::is_off() {
        report.add(Health::Note, "environment", format!("{} is set: nothing is folded", hosts::OFF));
    }
    for host in &hosts {
        report.host = Some(host.name);
        check_host(&mut report, host, named.iter().any(|named| named.name == host.name))?;
    }
    report.host = None;
    check_events(&mut report, context)?;
    let week = week(context)?;
    let is_broken = report.findings.iter().any(|finding| finding.state == Health::Broken);
    if context.json {
        report.findings.iter().try_for_each(print::json)?;
        print::json(&serde_json::json!({ "summary": {
            "days": DAYS, "seen": seen(&week), "folded": folded(&week), "saved": week.saved(), "read_back": week.queries,
        }}))?;
    } else {
        print::out(text(&report, &week).as_bytes())?;
    }
    Ok(ExitCode::from(if is_broken { NOT_THERE } else { DONE }))
}

fn text(report: &Report, week: &Counts) -> String {
    let mut text = String::new();
    let mut host = None;
    for finding in &report.findings {
        if finding.host != host {
            host = finding.host;
            if let Some(found) = host.and_then(hosts::find) {
                text.push_str(&format!("\n{}\n", found.title));
            } else {
                text.push('\n');
            }
        }
        let mark = match finding.state {
            Health::Good => "ok    ",
            Health::Note => "note  ",
            Health::Broken => "BROKEN",
        };
        text.push_str(&format!("{mark}  {}: {}\n", finding.check, finding.finding));
        if let Some(mend) = &finding.mend {
            text.push_str(&format!("        → {mend}\n"));
        }
    }
    let saved = match week.saved() {
        ..0 => format!("{} tokens more than without Forebay", grouped(week.saved().unsigned_abs())),
        saved => format!("{} tokens saved", grouped(saved.unsigned_abs())),
    };
    text.push_str(&format!(
        "\nlast {DAYS} days: {} seen, {} folded, {saved} (against what the agents themselves would have shown), {} read back\n",
        count("result", seen(week)),
        grouped(folded(week)),
        grouped(week.queries),
    ));
    forebay::printable(&text)
}

fn seen(week: &Counts) -> u64 {
    week.passed + folded(week)
}

fn folded(week: &Counts) -> u64 {
    week.triggers().iter().map(|(_, fired)| fired.times).sum()
}

fn since() -> Timestamp {
    Timestamp::now() - Duration::from_secs(DAYS as u64 * 24 * 3600)
}

/// Counts of all sessions in the last [`DAYS`] days.
fn week(context: &Context) -> Result<Counts, CliError> {
    let mut week = Counts::default();
    for session in context.local().sessions()? {
        let mut tally = Tally::new(By::Day, Some(since()));
        event::for_each(context.local(), &session, |event| tally.take(&event))?;
        week += tally.stats().total;
    }
    Ok(week)
}

fn check_settings(report: &mut Report, context: &Context) {
    let common = crate::args::Common {
        database: None,
        blobs: None,
        root: None,
        session: None,
        agent: None,
        budget: None,
        log: None,
        json: context.json,
    };
    match Layers::gather(&common, None, None, OnProblem::GoOn) {
        Ok(layers) if layers.problems.is_empty() => {
            report.add(Health::Good, "settings", "all of them parse");
        }
        Ok(layers) => {
            for problem in layers.problems {
                report.add(Health::Broken, "settings", problem.error.to_string()).mended_by(
                    "correct the value; until then every result stays as the agent has it (`forebay settings` shows all)",
                );
            }
        }
        Err(error) => {
            report.add(Health::Broken, "settings", error.to_string());
        }
    }
}

fn check_store(report: &mut Report, context: &Context) {
    let root = context.store.root();
    match tempfile_in(root) {
        Ok(()) => {
            let bytes: u64 = context
                .local()
                .sessions()
                .unwrap_or_default()
                .iter()
                .filter_map(|session| context.local().weights(session).ok())
                .flatten()
                .map(|weight| weight.bytes)
                .sum();
            report.add(
                Health::Good,
                "store",
                format!("{} can be written and holds {}", root.display(), print::bytes(bytes)),
            );
        }
        Err(error) => {
            report
                .add(Health::Broken, "store", format!("{} cannot be written: {error}", root.display()))
                .mended_by("free space or rights on it, or set FOREBAY_ROOT to another folder");
        }
    }
}

fn check_shared(report: &mut Report, context: &Context) {
    let Some(shared) = &context.shared else { return };
    match shared.check() {
        Ok(()) => {
            report.add(Health::Good, "shared store", format!("{} answers", shared.place()));
        }
        Err(error) => {
            report.add(Health::Broken, "shared store", error.to_string()).mended_by(
                "outputs stay on this machine until it answers; `forebay mirror status` shows which",
            );
        }
    }
}

/// Writes an unnamed file into a folder, which is created if it does not exist.
fn tempfile_in(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    tempfile::tempfile_in(folder)?.write_all(&[0; 4096])
}

/// Location of one of our entries, and the command that it runs.
struct Registered {
    file: PathBuf,
    command: Vec<String>,
    scope: Scope,
    /// Plugin or extension that installed it, if `init` did not.
    bundle: Option<&'static str>,
}

fn check_host(report: &mut Report, host: &Host, is_named: bool) -> Result<(), CliError> {
    check_version(report, host);
    let Some(hooked) = host.hooked() else {
        for note in host.notes {
            report.add(Health::Note, "coverage", *note);
        }
        return Ok(());
    };
    let mut registered = Vec::new();
    for scope in [Scope::User, Scope::Project] {
        let place = place(scope, false)?;
        for file in (hooked.files)(&place) {
            registered.extend(entries_in(report, &file, scope));
        }
    }
    registered.extend(bundled(host, &place(Scope::User, false)?));
    let mend = format!("forebay init {}", host.name);
    match &registered[..] {
        [] => {
            let state = if is_named { Health::Broken } else { Health::Note };
            report.add(state, "registered", "not set up").mended_by(mend);
            return Ok(());
        }
        [one] => {
            report.add(Health::Good, "registered", format!("once, in {}", one.file.display()));
        }
        [first, .., last] => {
            let finding = format!(
                "{} times, in {} and {}",
                registered.len(),
                first.file.display(),
                last.file.display()
            );
            let scope = if first.scope == last.scope { "user" } else { "project" };
            let mend = match last.bundle {
                Some(bundle) => format!("forebay init {} --uninstall, or remove the {bundle}", host.name),
                None => format!("forebay init {} --uninstall --scope {scope}", host.name),
            };
            report.add(Health::Broken, "registered", finding).mended_by(mend);
        }
    }
    for entry in &registered {
        check_hook(report, host, hooked, entry);
    }
    let place = place(Scope::User, false)?;
    for obstacle in obstacles(host, &place) {
        report.add(Health::Note, "settings of the agent", obstacle);
    }
    if host.name == codex::HOST.name {
        check_trust(report, &place, &registered);
    }
    if host.name == claude_code::HOST.name {
        check_prefix(report, &place);
        check_transcripts(report, &place);
    }
    if hooked.keeps_path && place.word != "forebay" {
        report.add(
            Health::Note,
            "path",
            format!("forebay is not on the path; views name {}", place.program.display()),
        );
    }
    Ok(())
}

fn check_version(report: &mut Report, host: &Host) {
    let Some(program) = on_path(host.program) else {
        report.add(Health::Note, "version", format!("{} is not on the path", host.program));
        return;
    };
    let printed = printed_by(Command::new(program).arg("--version"), b"").map(|(_, out)| out);
    let found = printed.as_deref().and_then(version_in);
    match (found, host.checked.and_then(version_in)) {
        (None, _) => {
            report.add(Health::Note, "version", format!("{} --version prints none", host.program));
        }
        (Some(found), Some(checked)) if found < checked => {
            let finding = format!("{}; tests run with {} and later", dotted(found), dotted(checked));
            report.add(Health::Note, "version", finding).mended_by(format!("update {}", host.title));
        }
        (Some(found), _) => {
            report.add(Health::Good, "version", dotted(found));
        }
    }
}

fn on_path(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// First version number in a text.
fn version_in(text: &str) -> Option<[u64; 3]> {
    text.split(|c: char| !(c.is_ascii_digit() || c == '.')).find_map(|word| {
        let parts: Vec<u64> =
            word.trim_matches('.').split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
        parts.try_into().ok()
    })
}

fn dotted(version: [u64; 3]) -> String {
    version.map(|part| part.to_string()).join(".")
}

/// Runs a program with an input; returns whether it succeeded and what it printed. `None` if it takes too long.
fn printed_by(command: &mut Command, input: &[u8]) -> Option<(bool, String)> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let (mut stdin, mut stdout) = (child.stdin.take()?, child.stdout.take()?);
    let input = input.to_vec();
    std::thread::spawn(move || stdin.write_all(&input));
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = stdout.read_to_string(&mut text);
        text
    });
    let started = Instant::now();
    loop {
        match child.try_wait().ok()? {
            Some(status) => return Some((status.success(), reader.join().ok()?)),
            None if started.elapsed() > PATIENCE => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// Our entries in a file of a host.
fn entries_in(report: &mut Report, file: &HostFile, scope: Scope) -> Vec<Registered> {
    let Ok(text) = fs::read_to_string(&file.path) else { return Vec::new() };
    let registered = |command| Registered { file: file.path.clone(), command, scope, bundle: None };
    if file.path.extension().is_some_and(|extension| extension == "js") {
        let program = text.lines().find_map(|line| line.strip_prefix("const PROGRAM = "));
        let program = program.and_then(|program| serde_json::from_str::<String>(program).ok());
        return program
            .map(|program| registered(vec![program, "hook".to_owned(), "opencode".to_owned()]))
            .into_iter()
            .collect();
    }
    if !matches!(file.part, Part::Entries(_))
        && file.path.extension().is_none_or(|extension| extension != "json")
    {
        return Vec::new();
    }
    let mut value = match entries::value_of(&text) {
        Ok(value) => value,
        Err(error) => {
            report
                .add(Health::Broken, "settings of the agent", format!("{}: {error}", file.path.display()))
                .mended_by("correct the file");
            return Vec::new();
        }
    };
    // The hook before an edit only refuses masks; it replaces no result.
    if let Some(hooks) = value.get_mut("hooks").and_then(Value::as_object_mut) {
        hooks.shift_remove("PreToolUse");
    }
    let mut commands = Vec::new();
    hook_commands(&value, &mut commands);
    commands.iter().map(|command| registered(by_shell(command))).collect()
}

fn by_shell(command: &str) -> Vec<String> {
    vec!["/bin/sh".to_owned(), "-c".to_owned(), command.to_owned()]
}

/// Our plugin or extension, if a host has it installed.
fn bundled(host: &Host, place: &Place) -> Option<Registered> {
    let (file, bundle, command) = match host.name {
        "claude-code" => {
            let file = claude_code::config_folder(place).join("settings.json");
            let value = entries::value_of(&fs::read_to_string(&file).ok()?).ok()?;
            let plugins = value["enabledPlugins"].as_object()?;
            let is_on = |(name, on): (&String, &Value)| name.starts_with("forebay@") && *on == true;
            plugins.iter().any(is_on).then_some((file, "plugin", "forebay hook claude-code"))?
        }
        "gemini-cli" => {
            let file = place.home.join(".gemini/extensions/forebay/hooks/hooks.json");
            file.is_file().then_some((file, "extension", "forebay hook gemini-cli"))?
        }
        _ => return None,
    };
    Some(Registered { file, command: by_shell(command), scope: Scope::User, bundle: Some(bundle) })
}

/// Finds all commands of hooks that are ours.
fn hook_commands(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for key in ["command", "bash"] {
                let command = fields.get(key).and_then(Value::as_str);
                found.extend(
                    command
                        .filter(|text| entries::starts_us(text) && text.contains(" hook "))
                        .map(str::to_owned),
                );
            }
            fields.values().for_each(|value| hook_commands(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| hook_commands(item, found)),
        _ => {}
    }
}

/// Tests the registered command with a large result.
fn check_hook(report: &mut Report, host: &Host, hooked: &Hooked, entry: &Registered) {
    let lines: String = (1..=2_000).map(|line| format!("line {line} of a sample\n")).collect();
    let event = (hooked.sample)(&lines).to_string();
    let shown = entry.command.last().cloned().unwrap_or_default();
    let Ok(root) = tempfile::tempdir() else { return };
    let mut command = Command::new(&entry.command[0]);
    command
        .args(&entry.command[1..])
        .env("FOREBAY_ROOT", root.path())
        .env_remove("FOREBAY_SESSION")
        .env_remove(hosts::OFF);
    // Invalid settings are reported by another check.
    command.env("XDG_CONFIG_HOME", root.path()).current_dir(root.path());
    let mend = format!("forebay init {}", host.name);
    match printed_by(&mut command, event.as_bytes()) {
        None => report
            .add(
                Health::Broken,
                "hook",
                format!("{shown}: does not start, or gave no answer in {PATIENCE:?}"),
            )
            .mended_by(mend),
        Some((true, answer)) => {
            let answer: Value = serde_json::from_str(&answer).unwrap_or_default();
            match (hooked.shown)(&answer) {
                Some(view) if view.contains("[forebay view of ") || view.contains("[view of ") => {
                    report.add(Health::Good, "hook", "answers a sample with a view");
                }
                _ => report
                    .add(Health::Broken, "hook", format!("{shown}: answers a sample with no view"))
                    .mended_by(mend),
            }
        }
        Some((false, _)) => {
            report.add(Health::Broken, "hook", format!("{shown}: fails")).mended_by(mend);
        }
    }
}

/// Whether Codex trusts our hook: it skips other hooks without a message.
fn check_trust(report: &mut Report, place: &Place, registered: &[Registered]) {
    let folder = env::var_os("CODEX_HOME").map_or_else(|| place.home.join(".codex"), PathBuf::from);
    let text = fs::read_to_string(folder.join("config.toml")).unwrap_or_default();
    let trusted = text.parse::<toml::Table>().ok().and_then(|config| {
        let state = config.get("hooks")?.get("state")?.as_table()?.clone();
        Some(registered.iter().all(|entry| {
            let file = entry.file.display().to_string();
            state.iter().any(|(key, state)| key.contains(&file) && state.get("trusted_hash").is_some())
        }))
    });
    match trusted {
        Some(true) => drop(report.add(Health::Good, "trust", "Codex trusts the hook")),
        _ => report
            .add(Health::Broken, "trust", "Codex does not trust the hook yet, and skips it silently")
            .mended_by("start codex, open /hooks and trust the entry of forebay"),
    }
}

/// Whether the shell prefix is ours, and its program exists.
fn check_prefix(report: &mut Report, place: &Place) {
    let settings = claude_code::config_folder(place).join("settings.json");
    let value = fs::read_to_string(&settings).ok().and_then(|text| entries::value_of(&text).ok());
    let prefix =
        value.as_ref().and_then(|value| value["env"][claude_code::PREFIX].as_str()).unwrap_or_default();
    let Some(shell) = Some(prefix).filter(|prefix| entries::starts_us(prefix)) else {
        // A foreign prefix is reported among the obstacles.
        if prefix.is_empty() {
            report
                .add(Health::Note, "shell prefix", "not set: commands that fail are not covered")
                .mended_by("forebay init claude-code");
        }
        return;
    };
    let mut command = Command::new(shell);
    command.arg("echo a line").env_remove("AI_AGENT");
    match printed_by(&mut command, b"") {
        Some((true, line)) if line == "a line\n" => {
            report.add(Health::Good, "shell prefix", "covers commands that fail");
        }
        _ => report
            .add(Health::Broken, "shell prefix", format!("{shell} does not run a line, so no command runs"))
            .mended_by("forebay init claude-code"),
    }
}

/// Reports errors of our hook in the newest transcripts of Claude Code.
fn check_transcripts(report: &mut Report, place: &Place) {
    let projects = claude_code::config_folder(place).join("projects");
    let folders = fs::read_dir(projects).into_iter().flatten().flatten();
    let week = SystemTime::now() - Duration::from_secs(DAYS as u64 * 24 * 3600);
    let mut files: Vec<(SystemTime, PathBuf)> = folders
        .flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten())
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "jsonl"))
        .filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.path())))
        .filter(|(modified, _)| *modified >= week)
        .collect();
    files.sort();
    let mut errors = Vec::new();
    for (_, path) in files.iter().rev().take(TRANSCRIPTS) {
        errors.extend(hook_errors(path).into_iter().map(|error| (path.clone(), error)));
    }
    match errors.first() {
        None => drop(report.add(
            Health::Good,
            "transcripts",
            format!("no error of the hook in {}", count("file", files.len().min(TRANSCRIPTS) as u64)),
        )),
        Some((path, error)) => {
            let finding = format!(
                "{} of the hook, the newest in {}: {error}",
                count("error", errors.len() as u64),
                path.display()
            );
            report
                .add(Health::Broken, "transcripts", finding)
                .mended_by("forebay doctor claude-code --json; report it with the version of the agent");
        }
    }
}

/// Errors of our hook that a transcript records.
fn hook_errors(path: &Path) -> Vec<String> {
    let read = || {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TRANSCRIPT_END)))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        Ok::<_, std::io::Error>(String::from_utf8_lossy(&text).into_owned())
    };
    let is_error = |attachment: &Value| {
        matches!(
            hosts::text(attachment, "type"),
            Some("hook_error_during_execution" | "hook_non_blocking_error" | "hook_blocking_error")
        ) && attachment.to_string().contains("forebay")
    };
    read()
        .unwrap_or_default()
        .lines()
        .filter(|line| line.contains("hook_"))
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|line| line.get("attachment").filter(|attachment| is_error(attachment)).cloned())
        .map(|attachment| {
            let said = ["stderr", "content", "error"].iter().find_map(|key| hosts::text(&attachment, key));
            forebay::shortened(said.unwrap_or("no message"), 200)
        })
        .collect()
}

/// Reports why a host's own result was used in the last days.
fn check_events(report: &mut Report, context: &Context) -> Result<(), CliError> {
    let mut causes: Vec<(String, String, u64, Timestamp)> = Vec::new();
    for session in context.local().sessions()? {
        event::for_each(context.local(), &session, |event: Event| {
            let What::FellBack(fell_back) = event.what else { return };
            let Some(host) = fell_back.from.strip_prefix(hook::FROM).filter(|_| event.at >= since()) else {
                return;
            };
            match causes.iter_mut().find(|(known, why, ..)| known == host && *why == fell_back.why) {
                Some((_, _, times, at)) => {
                    *times += 1;
                    *at = (*at).max(event.at);
                }
                None => causes.push((host.to_owned(), fell_back.why, 1, event.at)),
            }
        })?;
    }
    for (host, why, times, at) in causes {
        let finding =
            format!("{host}: {why} ({}, last {})", count("time", times), at.strftime("%Y-%m-%d %H:%M:%SZ"));
        report.add(Health::Note, "results that stayed as they were", finding);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_a_program_prints() {
        let table = [
            ("2.1.326 (Claude Code)", Some([2, 1, 326])),
            ("codex-cli 0.169.0", Some([0, 169, 0])),
            ("GitHub Copilot CLI 1.0.102.", Some([1, 0, 102])),
            ("v1.18.33\n", Some([1, 18, 33])),
            ("none", None),
        ];
        for (text, version) in table {
            assert_eq!(version_in(text), version, "{text}");
        }
    }
}
