//! Builds the masking of secrets: the scanner with the store's key, the user's values and rules, and the settings' modes.

use crate::error::CliError;
use crate::print;
use crate::settings::{read_bounded, secrets_folder};
use forebay::{DiskStore, Masking, Secrets, Settings};
use forebay_secrets::{Allowlist, NamedValue, Problem, Scanner, UserRules, is_secret_variable};
use std::collections::BTreeMap;
use std::env;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Masking for the outputs of a store.
///
/// Errors in the user's own rules are reported, and those rules are skipped; all other secrets are masked as usual.
pub(crate) fn masking(settings: &Settings, store: &DiskStore) -> Masking {
    let modes = &settings.secrets;
    let is_off = |mode: &Secrets| *mode == Secrets::Off;
    if is_off(&modes.mode) && modes.tools.values().all(is_off) {
        return Masking::default();
    }
    let mut fresh = [0; 32];
    // Without random numbers, equal secrets have equal tags in all stores.
    let _ = getrandom::fill(&mut fresh);
    let mut scanner = Scanner::new(store.secret_key(fresh)).with_values(known_values());
    for path in rule_files() {
        let parsed = read_bounded(&path, true)
            .map_err(|message| vec![Problem { line: 1, message }])
            .and_then(|text| UserRules::parse(&text));
        match parsed {
            Ok(rules) => scanner = scanner.with_rules(rules),
            Err(problems) => report(&path.display().to_string(), &problems),
        }
    }
    match Allowlist::parse(&modes.allow.join("\n")) {
        Ok(allowed) => scanner = scanner.with_allowed(allowed),
        Err(problems) => report("secrets.allow", &problems),
    }
    Masking::new(scanner, modes.mode, modes.tools.clone())
}

fn report(source: &str, problems: &[Problem]) {
    for Problem { line, message } in problems {
        print::warning(&CliError::usage(format!("{source}:{line}: {message}")));
    }
}

/// Values of environment variables that hold secrets, and those that the user registered.
fn known_values() -> Vec<NamedValue> {
    let variables = env::vars_os().filter_map(|(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        is_secret_variable(&name, &value).then(|| NamedValue { name, value: value.into_bytes() })
    });
    // Where the file cannot be read, `forebay secrets` says so.
    let registered = registered().unwrap_or_default().into_iter();
    registered.map(|(name, value)| NamedValue { name, value: value.into_bytes() }).chain(variables).collect()
}

/// The user's own rules, a file for each service.
fn rule_files() -> Vec<PathBuf> {
    let entries = secrets_folder().and_then(|folder| folder.read_dir().ok()).into_iter().flatten();
    let is_rules = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "toml");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_rules).collect();
    paths.sort();
    paths
}

/// The file of registered values.
fn file() -> Option<PathBuf> {
    secrets_folder().map(|folder| folder.join("values.json"))
}

/// The registered values by their names.
pub(crate) fn registered() -> Result<BTreeMap<String, String>, CliError> {
    let Some(path) = file().filter(|path| path.exists()) else { return Ok(BTreeMap::new()) };
    let wrong = |why: String| CliError::not_there(format!("cannot read {}: {why}", path.display()));
    let text = read_bounded(&path, true).map_err(wrong)?;
    // The parser's own message would repeat a value.
    serde_json::from_str(&text).map_err(|_| wrong("it is not a JSON object of texts".to_owned()))
}

/// Writes the registered values into a file that only the user can read.
pub(crate) fn register(values: &BTreeMap<String, String>) -> Result<PathBuf, CliError> {
    let path = file().ok_or_else(|| {
        CliError::not_there("there is no home folder for registered values").hint("set XDG_CONFIG_HOME")
    })?;
    write_private(&path, values)
        .map_err(|error| CliError::not_there(format!("cannot write {}: {error}", path.display())))?;
    Ok(path)
}

fn write_private(path: &Path, values: &BTreeMap<String, String>) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let beside = path.with_extension(format!("{}.part", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    let written = serde_json::to_writer_pretty(&mut file, values)
        .map_err(std::io::Error::from)
        .and_then(|()| file.write_all(b"\n"))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&beside, path));
    written.inspect_err(|_| drop(fs::remove_file(&beside)))
}
