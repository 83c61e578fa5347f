//! Settings in layers, weakest first: built-in, user file, project file, environment, agent file, flags.
//!
//! A setting is declared once, as a field. Its key, its environment name and its help come from the declaration, by
//! way of the JSON schema that is derived from it.
//!
//! A value that is wrong is dropped and becomes a [`Problem`]; the other values count. The command decides whether a
//! problem stops it ([`OnProblem`]): one that wraps another program never stops for its own settings.

mod files;
mod formats;
mod project;

pub(crate) use formats::{format_folder, read_format};
pub(crate) use project::is_for_projects;

use crate::args::{ByModels, Common, Preset, Shown};
use crate::error::CliError;
use crate::hosts;
use crate::models::{Provider, Waiting};
use crate::print;
use crate::shared::{Shared, StoreSettings, shown_key_place, shown_url};
pub(crate) use files::read_bounded;
use files::{ProjectFile, project_files};
use forebay::{Session, shell_word};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    env, fmt,
    path::{Path, PathBuf},
    sync::LazyLock,
};
use toml::{Table, Value};

/// The defaults of what the library does not know, with their reasons.
pub(crate) const DEFAULT: &str = include_str!("default.toml");

/// All settings: where outputs are kept, how models are reached, and those of the library.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Settings {
    /// The folder in which outputs are kept. Unless it is set: `$XDG_DATA_HOME/forebay`.
    pub(crate) root: PathBuf,
    /// The conversation. Unless it is set, it is that of the agent in whose shell `forebay` runs, or named after the folder.
    pub(crate) session: String,
    /// Where outputs are shared with other machines.
    pub(crate) store: StoreSettings,
    /// How models are waited for.
    pub(crate) models: Waiting,
    /// Who has models.
    pub(crate) providers: BTreeMap<String, Provider>,
    #[serde(flatten)]
    pub(crate) shown: forebay::Settings,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    BuiltIn,
    UserFile(PathBuf),
    ProjectFile(PathBuf),
    Environment(String),
    AgentFile(PathBuf),
    Flag(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::BuiltIn => f.write_str("built-in"),
            Source::UserFile(path) | Source::ProjectFile(path) | Source::AgentFile(path) => {
                write!(f, "{}", path.display())
            }
            Source::Environment(name) => f.write_str(name),
            Source::Flag(name) => f.write_str(name),
        }
    }
}

/// Values with where they came from.
struct Layer {
    source: Source,
    values: Table,
}

/// The layers, and what they come to.
pub(crate) struct Layers {
    layers: Vec<Layer>,
    merged: Table,
    pub(crate) settings: Settings,
    /// The shared store, if one is set.
    pub(crate) shared: Option<Shared>,
    /// Faults of the values.
    pub(crate) problems: Vec<Problem>,
    /// Project files that do not count, each with the reason.
    pub(crate) ignored: Vec<String>,
}

/// A value, a file or a variable that is wrong. It is dropped, and the other settings count.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) error: CliError,
    origin: Origin,
}

/// Who wrote what is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The user, for this call.
    Flag,
    /// The user, in the environment or in a file of their own.
    User,
    /// A file that may come with a repository.
    Project,
}

impl Problem {
    fn new(origin: Origin, message: impl Into<String>) -> Problem {
        Problem { error: CliError::usage(message), origin }
    }
}

impl Source {
    fn origin(&self) -> Origin {
        match self {
            Source::Flag(_) => Origin::Flag,
            Source::BuiltIn | Source::UserFile(_) | Source::Environment(_) => Origin::User,
            Source::ProjectFile(_) | Source::AgentFile(_) => Origin::Project,
        }
    }
}

/// Reaction of a command to faulty settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnProblem {
    /// It stops: it shows settings, or a person starts it and looks at it.
    Stop,
    /// It stops unless a project's file is wrong, which has no say in it: it removes outputs.
    StopForUser,
    /// It stops for its own flags, and reports everything else: it keeps or reads outputs.
    StopForFlags,
    /// It reports and goes on: another program depends on it.
    GoOn,
}

/// A setting as it is declared.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// The parts of its name; `*` stands for the name of a tool or a provider.
    pub(crate) path: Vec<String>,
    pub(crate) doc: String,
    kind: String,
}

impl Key {
    pub(crate) fn name(&self) -> String {
        self.path.join(".")
    }

    /// The environment variable that sets it.
    pub(crate) fn environment(&self) -> String {
        format!("FOREBAY_{}", self.path.join("_").to_uppercase())
    }

    /// How many parts of its name make one entry: a tool or a provider is wrong or right as a whole.
    fn group_length(&self) -> usize {
        self.path.iter().position(|part| part == "*").map_or(self.path.len(), |star| star + 1)
    }

    fn fits(&self, path: &[String]) -> bool {
        self.path.len() == path.len()
            && self.path.iter().zip(path).all(|(own, given)| own == "*" || own == given)
    }
}

impl Layers {
    /// Gathers all layers. Values out of range are dropped only if the command continues without them.
    pub(crate) fn gather(
        common: &Common,
        shown: Option<&Shown>,
        by_models: Option<&ByModels>,
        on_problem: OnProblem,
    ) -> Result<Layers, CliError> {
        let mut problems = Vec::new();
        let mut layers = vec![Layer { source: Source::BuiltIn, values: built_in()? }];
        if let Some(path) = user_file() {
            let read = read_bounded(&path, true);
            layers.extend(file_layer(Source::UserFile(path.clone()), read, &path, &mut problems));
        }
        let mut ignored = Vec::new();
        for file in project_files() {
            match file {
                ProjectFile::Counts(path) => {
                    let read = read_bounded(&path, false);
                    layers.extend(file_layer(Source::ProjectFile(path.clone()), read, &path, &mut problems));
                }
                ProjectFile::Ignored(path, why) => ignored.push(format!("{}: {why}", path.display())),
            }
        }
        layers.extend(environment(&mut problems));
        let agent = env::var_os("FOREBAY_AGENT").filter(|name| !name.is_empty()).map(PathBuf::from);
        if let Some(path) = common.agent.clone().or(agent) {
            let values = front_matter(&path, &mut problems);
            layers.push(Layer { source: Source::AgentFile(path), values });
        }
        layers.extend(flags(common, shown, by_models));
        let here = env::current_dir().ok();
        layers.iter_mut().for_each(|layer| absolute_root(&mut layer.values, here.as_deref()));

        for layer in &mut layers[1..] {
            drop_keys(layer, &mut problems);
        }
        let in_range = |settings: &Settings| settings.shown.check().map_err(|error| error.to_string());
        let mut settings = match on_problem {
            // What is out of range is shown, or refused, as it is.
            OnProblem::Stop => fitted(&mut layers, &|_| Ok(()), &mut problems)?,
            _ => fitted(&mut layers, &in_range, &mut problems)?,
        };
        settings.shown.formats = formats::formats(&mut problems);
        if let Err(error) = settings.shown.check() {
            let error =
                CliError::from(error).hint("`forebay settings` shows every value and where it came from");
            problems.push(Problem { error, origin: Origin::User });
        }
        let shared = shared(&settings.store, &layers, &mut problems);
        let merged = merged(&layers);
        Ok(Layers { layers, merged, settings, shared, problems, ignored })
    }

    /// Stops for the problems that stop this command, and reports the others.
    pub(crate) fn settle(&mut self, on_problem: OnProblem) -> Result<(), CliError> {
        let mut fatal = Vec::new();
        for Problem { error, origin } in self.problems.drain(..) {
            let stops = match on_problem {
                OnProblem::Stop => true,
                OnProblem::StopForUser => origin != Origin::Project,
                OnProblem::StopForFlags => origin == Origin::Flag,
                OnProblem::GoOn => false,
            };
            if stops {
                fatal.push(error);
            } else {
                print::warning(&error);
            }
        }
        let last = fatal.pop();
        fatal.into_iter().for_each(|error| {
            print::error(&error);
        });
        last.map_or(Ok(()), Err)
    }

    /// Whether this flag was given and counts.
    pub(crate) fn has_flag(&self, flag: &str) -> bool {
        self.layers.iter().any(|layer| layer.source.to_string() == flag && !layer.values.is_empty())
    }

    /// The flags without which a command would not find the root: none, if the environment or the user's own file says
    /// where it is.
    pub(crate) fn root_flags(&self) -> String {
        let source = self
            .layers
            .iter()
            .rev()
            .find(|layer| layer.values.contains_key("root"))
            .map(|layer| &layer.source);
        match source {
            Some(Source::Flag(_) | Source::AgentFile(_)) => root_flag(&self.settings.root),
            _ => String::new(),
        }
    }

    /// Whether any layer sets this key.
    pub(crate) fn is_set(&self, key: &[&str]) -> bool {
        let key: Vec<String> = key.iter().map(|&part| part.to_owned()).collect();
        self.layers.iter().any(|layer| layer.source != Source::BuiltIn && get(&layer.values, &key).is_some())
    }

    /// Every value with its key and its source, in the order of the declarations.
    pub(crate) fn values(&self) -> Vec<(String, Value, &Source)> {
        let mut leaves = Vec::new();
        collect(&self.merged, &mut Vec::new(), &mut leaves);
        let keys = keys();
        let place = |path: &[String]| keys.iter().position(|key| key.fits(path)).unwrap_or(usize::MAX);
        leaves.sort_by_key(|(path, _)| (place(path), path.clone()));
        leaves
            .into_iter()
            .map(|(path, value)| {
                let layer = self.layers.iter().rev().find(|layer| get(&layer.values, &path).is_some());
                let name = path.join(".");
                let value = match value {
                    Value::String(place) if name == "store.key" => Value::String(shown_key_place(place)),
                    Value::String(url) if name.starts_with("store.") => Value::String(shown_url(url)),
                    value => value.clone(),
                };
                (name, value, layer.map_or(&Source::BuiltIn, |layer| &layer.source))
            })
            .collect()
    }
}

/// The flag that names a root, as written in a command.
pub(crate) fn root_flag(root: &Path) -> String {
    format!(" --root {}", shell_word(&root.display().to_string()))
}

/// Values of a settings file. If it cannot be read or parsed, none of them is used.
fn file_layer(
    source: Source,
    read: Result<String, String>,
    path: &Path,
    problems: &mut Vec<Problem>,
) -> Option<Layer> {
    let parsed = read.and_then(|text| {
        // The parser's own report repeats the line, which may hold what nobody else is to read.
        text.parse::<Table>().map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
            format!("line {line}: {}", error.message().trim_end())
        })
    });
    match parsed {
        Ok(mut values) => {
            absolute_root(&mut values, path.parent());
            Some(Layer { source, values })
        }
        Err(error) => {
            let error = format!("cannot read the settings {}: {error}", path.display());
            problems.push(Problem::new(source.origin(), error));
            None
        }
    }
}

/// The shared store that is set. One that is set wrongly is a problem of whoever set it, and outputs stay on this machine.
fn shared(settings: &StoreSettings, layers: &[Layer], problems: &mut Vec<Problem>) -> Option<Shared> {
    let source = |key: &str| {
        let path = ["store".to_owned(), key.to_owned()];
        layers.iter().rev().find(|layer| get(&layer.values, &path).is_some()).map(|layer| &layer.source)
    };
    let is_in_file = |key: &str| !matches!(source(key), Some(Source::Environment(_) | Source::Flag(_)));
    Shared::new(settings, is_in_file).unwrap_or_else(|error| {
        let named =
            source("database").filter(|source| **source != Source::BuiltIn).or_else(|| source("blobs"));
        let origin = named.map_or(Origin::User, Source::origin);
        let place = named.map_or(String::new(), |source| format!("{source}: "));
        problems.push(Problem::new(origin, format!("{place}{error}")));
        None
    })
}

fn merged(layers: &[Layer]) -> Table {
    let mut merged = Table::new();
    layers.iter().for_each(|layer| merge(&mut merged, &layer.values));
    merged
}

/// Check of settings beyond the types of their values.
type Check<'a> = &'a dyn Fn(&Settings) -> Result<(), String>;

fn checked(values: Table, check: Check<'_>) -> Result<Settings, String> {
    let settings: Settings =
        values.try_into().map_err(|error: toml::de::Error| error.message().trim_end().to_owned())?;
    check(&settings).map(|()| settings)
}

/// The settings that the layers come to, without the values that do not fit.
fn fitted(layers: &mut [Layer], check: Check<'_>, problems: &mut Vec<Problem>) -> Result<Settings, CliError> {
    // Nearly always everything fits, and a value that a stronger layer replaces does no harm.
    if let Ok(settings) = checked(merged(layers), check) {
        return Ok(settings);
    }
    let mut so_far = Table::new();
    for layer in layers {
        if layer.source != Source::BuiltIn {
            drop_misfits(layer, &so_far, check, problems);
        }
        merge(&mut so_far, &layer.values);
    }
    checked(so_far, check).map_err(|error| CliError::usage(format!("settings: {error}")))
}

/// Drops the values of a layer that do not fit what the weaker layers come to: the one without which all others fit,
/// or else every value that does not fit those before it.
fn drop_misfits(layer: &mut Layer, weaker: &Table, check: Check<'_>, problems: &mut Vec<Problem>) {
    let groups = groups(layer);
    let fits = |groups: &[&Group]| {
        let mut values = weaker.clone();
        merge(&mut values, &table_of(groups));
        checked(values, check).map(|_| ())
    };
    let all: Vec<&Group> = groups.iter().collect();
    if fits(&all).is_ok() {
        return;
    }
    let without = |one: usize| -> Vec<&Group> {
        groups.iter().enumerate().filter(|(number, _)| *number != one).map(|(_, group)| group).collect()
    };
    let (kept, dropped) = match (0..groups.len()).find(|&one| fits(&without(one)).is_ok()) {
        Some(one) => (without(one), vec![&groups[one]]),
        None => {
            let (mut kept, mut rest) = (Vec::new(), all);
            // A value may need one that comes after it.
            loop {
                let before = rest.len();
                rest.retain(|group| {
                    kept.push(*group);
                    let fit = fits(&kept).is_ok();
                    if !fit {
                        kept.pop();
                    }
                    !fit
                });
                if rest.len() == before {
                    break (kept, rest);
                }
            }
        }
    };
    for group in dropped {
        let why = fits(&[&kept[..], &[group]].concat()).err().unwrap_or_default();
        let what = match &layer.source {
            Source::Flag(_) => String::new(),
            _ => format!(" {}:", group.name()),
        };
        problems.push(Problem::new(layer.source.origin(), format!("{}:{what} {why}", layer.source)));
    }
    layer.values = table_of(&kept);
}

/// Values that are dropped together: one, those of one tool or provider, or all that a flag sets.
struct Group {
    path: Vec<String>,
    leaves: Vec<(Vec<String>, Value)>,
}

impl Group {
    /// Its key, with the value where there is one.
    fn name(&self) -> String {
        match &self.leaves[..] {
            [(path, value)] if *path == self.path => format!("{} = {value}", self.path.join(".")),
            _ => self.path.join("."),
        }
    }
}

fn groups(layer: &Layer) -> Vec<Group> {
    let mut leaves = Vec::new();
    collect(&layer.values, &mut Vec::new(), &mut leaves);
    let mut groups: Vec<Group> = Vec::new();
    for (path, value) in leaves {
        let length = match &layer.source {
            Source::Flag(_) => 0,
            _ => keys().iter().find(|key| key.fits(&path)).map_or(path.len(), Key::group_length),
        };
        let leaf = (path.clone(), value.clone());
        match groups.iter_mut().find(|group| group.path == path[..length]) {
            Some(group) => group.leaves.push(leaf),
            None => groups.push(Group { path: path[..length].to_vec(), leaves: vec![leaf] }),
        }
    }
    groups
}

fn table_of(groups: &[&Group]) -> Table {
    let mut values = Table::new();
    for (path, value) in groups.iter().flat_map(|group| &group.leaves) {
        set(&mut values, path, value.clone());
    }
    values
}

/// A root that is not absolute is below the folder that its layer belongs to.
fn absolute_root(values: &mut Table, folder: Option<&Path>) {
    let root = values.get("root").and_then(Value::as_str).map(PathBuf::from);
    if let (Some(root), Some(folder)) = (root.filter(|root| root.is_relative()), folder) {
        values.insert("root".into(), Value::String(folder.join(root).display().to_string()));
    }
}

/// The defaults, with those that depend on where we are.
fn built_in() -> Result<Table, CliError> {
    let parsed = |text: &str| -> Result<Table, CliError> {
        text.parse().map_err(|error| CliError::usage(format!("the built-in settings: {error}")))
    };
    let mut values = parsed(forebay::settings::DEFAULT)?;
    values.extend(parsed(DEFAULT)?);
    values.insert("root".into(), Value::String(default_root().display().to_string()));
    let of_host = hosts::session_of_shell().map(|session| Session::safe(&session));
    values.insert("session".into(), Value::String(of_host.unwrap_or_else(folder_session).to_string()));
    Ok(values)
}

fn folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    let set = env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    set.or_else(|| env::home_dir().filter(|home| home.is_absolute()).map(|home| home.join(below_home)))
}

fn default_root() -> PathBuf {
    folder("XDG_DATA_HOME", ".local/share").map_or_else(temporary_root, |data| data.join("forebay"))
}

/// The root of a user without a home folder.
pub(crate) fn root_without_home() -> Option<PathBuf> {
    folder("XDG_DATA_HOME", ".local/share").is_none().then(temporary_root)
}

fn temporary_root() -> PathBuf {
    env::temp_dir().join(format!("forebay-{}", rustix::process::getuid().as_raw()))
}

/// Session of the current folder: its name, and a hash that distinguishes folders with the same name.
pub(crate) fn folder_session() -> Session {
    let folder = env::current_dir().unwrap_or_default();
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name: String = Session::safe(&name).as_str().chars().take(24).collect();
    Session::safe(&format!("{name}-{}", forebay::fingerprint(folder.as_os_str().as_encoded_bytes())))
}

/// Where the user's own settings are, whether there are any or not.
pub(crate) fn user_settings() -> Option<PathBuf> {
    folder("XDG_CONFIG_HOME", ".config").map(|config| config.join("forebay/settings.toml"))
}

/// The folder of the user's own rules for secrets and of registered values, whether it exists or not.
pub(crate) fn secrets_folder() -> Option<PathBuf> {
    folder("XDG_CONFIG_HOME", ".config").map(|config| config.join("forebay/secrets"))
}

/// The file of facts learnt about models.
pub(crate) fn model_facts() -> Option<PathBuf> {
    folder("XDG_CACHE_HOME", ".cache").map(|cache| cache.join("forebay/models.json"))
}

fn user_file() -> Option<PathBuf> {
    user_settings().filter(|path| path.symlink_metadata().is_ok())
}

/// A layer for each variable that sets something.
fn environment(problems: &mut Vec<Problem>) -> Vec<Layer> {
    let mut layers = Vec::new();
    let mut add = |name: &str, path: &[String], value: Value| {
        let mut values = Table::new();
        set(&mut values, path, value);
        layers.push(Layer { source: Source::Environment(name.to_owned()), values });
    };
    let list = |text: &str| {
        Value::Array(
            text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(Value::from).collect(),
        )
    };
    if let Ok(tools) = env::var("TOOL_RESULT_BYPASS_TOOLS") {
        add("TOOL_RESULT_BYPASS_TOOLS", &["bypass".to_owned()], list(&tools));
    }
    let mut variables = Vec::new();
    for (name, value) in env::vars_os() {
        let Some(name) = name.to_str().filter(|name| name.starts_with("FOREBAY_")) else { continue };
        match (name, value.into_string()) {
            ("FOREBAY_AGENT" | hosts::OFF, _) => {}
            (_, Ok(value)) if value.is_empty() => {}
            // These two are nearly always set, and the table of all settings need not be made for them.
            ("FOREBAY_ROOT" | "FOREBAY_SESSION", Ok(value)) => {
                add(name, &[name["FOREBAY_".len()..].to_lowercase()], Value::String(value));
            }
            (_, Ok(value)) => variables.push((name.to_owned(), value)),
            (_, Err(_)) => problems.push(Problem::new(Origin::User, format!("{name} is not UTF-8"))),
        }
    }
    variables.sort();
    for (name, text) in variables {
        match parsed_variable(&name, &text, &list) {
            Ok((path, value)) => add(&name, path, value),
            Err(problem) => problems.push(problem),
        }
    }
    layers
}

/// The setting that a variable means, and its value.
fn parsed_variable(
    name: &str,
    text: &str,
    list: &dyn Fn(&str) -> Value,
) -> Result<(&'static [String], Value), Problem> {
    let Some(key) = keys().iter().find(|key| key.environment() == name) else {
        let nearest = nearest(name, keys().iter().map(Key::environment));
        let wrong = format!("the environment has {name}, which sets nothing; did you mean {nearest}?");
        return Err(Problem::new(Origin::User, wrong));
    };
    let wrong = |what: &str| Problem::new(Origin::User, format!("{name} must be {what}, not {text:?}"));
    let value = match key.kind.as_str() {
        "integer" => Value::Integer(text.parse().map_err(|_| wrong("a whole number"))?),
        "number" => Value::Float(text.parse().map_err(|_| wrong("a number"))?),
        "boolean" => Value::Boolean(text.parse().map_err(|_| wrong("true or false"))?),
        "array" => list(text),
        _ => Value::String(text.to_owned()),
    };
    Ok((&key.path, value))
}

/// Names of our settings for the keys of an agent file's front matter.
const FRONT_MATTER: [(&str, &[&str]); 8] = [
    ("contextWindow", &["room", "context_window"]),
    ("toolResponseMaxBytes", &["handle", "max_bytes"]),
    ("toolOutput.enabled", &["handle", "enabled"]),
    ("toolOutput.maxChunks", &["extract", "max_chunks"]),
    ("toolOutput.overlapPercent", &["extract", "overlap_percent"]),
    ("toolOutput.avgLineBytesThreshold", &["extract", "avg_line_bytes"]),
    ("toolOutput.models", &["extract", "models"]),
    ("toolOutput.storeDir", &["root"]),
];

/// The settings in the YAML between the first two `---` lines of an agent file. Its other keys are the agent's.
fn front_matter(path: &Path, problems: &mut Vec<Problem>) -> Table {
    let mut wrong = |what: String| {
        problems.push(Problem::new(Origin::Project, format!("{}: {what}", path.display())));
    };
    let yaml = match yaml_of(path) {
        Ok(yaml) => yaml,
        Err(error) => {
            wrong(format!("cannot read the agent file: {error}"));
            return Table::new();
        }
    };
    let mut found: Vec<(String, serde_json::Value)> = Vec::new();
    for (key, value) in yaml.as_object().into_iter().flatten() {
        match value.as_object() {
            Some(inner) if key == "toolOutput" => {
                found.extend(inner.iter().map(|(name, value)| (format!("{key}.{name}"), value.clone())));
            }
            _ if ["toolResponseMaxBytes", "toolOutput", "contextWindow"].contains(&key.as_str()) => {
                found.push((key.clone(), value.clone()))
            }
            _ => {}
        }
    }
    let mut values = Table::new();
    for (key, value) in found {
        let Some((_, path)) = FRONT_MATTER.iter().find(|(name, _)| *name == key) else {
            let nearest = nearest(&key, FRONT_MATTER.iter().map(|(name, _)| (*name).to_owned()));
            wrong(format!("there is no setting {key}; did you mean {nearest}?"));
            continue;
        };
        let path: Vec<String> = path.iter().map(|&part| part.to_owned()).collect();
        let value = match value {
            // One model may stand without a list.
            serde_json::Value::String(model) if key == "toolOutput.models" => {
                Ok(Value::Array(vec![Value::String(model)]))
            }
            value => Value::try_from(value),
        };
        match value {
            Ok(value) => set(&mut values, &path, value),
            Err(error) => {
                wrong(format!("{key}: {error}"));
                continue;
            }
        }
        if key != "contextWindow" {
            // All other keys are those of the preset `handle`: an agent file that has one means it.
            values.insert("preset".into(), Value::from("handle"));
        }
    }
    values
}

/// The front matter of an agent file.
fn yaml_of(path: &Path) -> Result<serde_json::Value, String> {
    let text = read_bounded(path, true)?;
    let yaml = text
        .strip_prefix("---\n")
        .or_else(|| text.strip_prefix("---\r\n"))
        .and_then(|rest| rest.split_once("\n---").map(|(yaml, _)| yaml))
        .ok_or("it has no front matter: YAML between two lines of ---")?;
    serde_saphyr::from_str(yaml).map_err(|error| format!("front matter: {error}"))
}

fn flags(common: &Common, shown: Option<&Shown>, by_models: Option<&ByModels>) -> Vec<Layer> {
    let mut layers = Vec::new();
    let mut add = |flag: &'static str, pairs: &[(&[&str], Value)]| {
        let mut values = Table::new();
        for (path, value) in pairs {
            set(&mut values, &path.iter().map(|&part| part.to_owned()).collect::<Vec<_>>(), value.clone());
        }
        layers.push(Layer { source: Source::Flag(flag), values });
    };
    let number = |n: u64| Value::Integer(i64::try_from(n).unwrap_or(i64::MAX));
    let list = |texts: &[String]| Value::Array(texts.iter().cloned().map(Value::String).collect());
    if let Some(root) = &common.root {
        add("--root", &[(&["root"], Value::String(root.display().to_string()))]);
    }
    if let Some(database) = &common.database {
        add("--database", &[(&["store", "database"], Value::String(database.clone()))]);
    }
    if let Some(blobs) = &common.blobs {
        add("--blobs", &[(&["store", "blobs"], Value::String(blobs.clone()))]);
    }
    if let Some(session) = &common.session {
        add("--session", &[(&["session"], Value::String(session.clone()))]);
    }
    if let Some(tokens) = common.budget {
        add(
            "--budget",
            &[
                (&["digest", "tokens"], number(tokens)),
                (&["digest", "budget", "tokens"], number(tokens)),
                (&["digest", "budget", "bytes"], number(tokens.saturating_mul(8))),
                (&["excerpt", "tokens"], number(tokens)),
                (&["excerpt", "bytes"], number(tokens.saturating_mul(8))),
            ],
        );
    }
    if let Some(bytes) = shown.and_then(|shown| shown.tool_response_max_bytes) {
        add(
            "--tool-response-max-bytes",
            &[(&["handle", "max_bytes"], number(bytes)), (&["preset"], Value::from("handle"))],
        );
    }
    if let Some(tokens) = shown.and_then(|shown| shown.context_window) {
        add("--context-window", &[(&["room", "context_window"], number(tokens))]);
    }
    if let Some(models) = by_models.and_then(|by_models| by_models.models.as_ref()) {
        add("--models", &[(&["extract", "models"], list(models))]);
    }
    if let Some(chunks) = by_models.and_then(|by_models| by_models.max_chunks) {
        add("--max-chunks", &[(&["extract", "max_chunks"], number(chunks))]);
    }
    if let Some(preset) = shown.and_then(|shown| shown.preset) {
        let name = match preset {
            Preset::Digest => "digest",
            Preset::Handle => "handle",
            Preset::HeadTail => "head-tail",
            Preset::Materialize => "materialize",
            Preset::Recovery => "recovery",
        };
        add("--preset", &[(&["preset"], Value::from(name))]);
    }
    layers
}

/// Drops the keys of a file that set nothing, and those that a project may not set.
fn drop_keys(layer: &mut Layer, problems: &mut Vec<Problem>) {
    // Flags and variables are known by their names already.
    if matches!(layer.source, Source::BuiltIn | Source::Environment(_) | Source::Flag(_)) {
        return;
    }
    let by_project = matches!(layer.source, Source::ProjectFile(_));
    let groups = groups(layer);
    let counts = |group: &&Group| {
        for (path, _) in &group.leaves {
            let Some(key) = keys().iter().find(|key| key.fits(path)) else {
                let name = path.join(".");
                let nearest = nearest(&name, keys().iter().map(Key::name));
                let wrong = format!("there is no setting {name}; did you mean {nearest}?");
                problems.push(Problem::new(layer.source.origin(), format!("{}: {wrong}", layer.source)));
                return false;
            };
            if by_project && !is_for_projects(key) {
                let own =
                    user_settings().map_or("your own settings".to_owned(), |path| path.display().to_string());
                let name = group.path.join(".");
                let wrong = format!("{name} cannot be set by a project; it belongs in {own}");
                problems.push(Problem::new(layer.source.origin(), format!("{}: {wrong}", layer.source)));
                return false;
            }
        }
        true
    };
    layer.values = table_of(&groups.iter().filter(counts).collect::<Vec<_>>());
}

fn nearest(wrong: &str, right: impl Iterator<Item = String>) -> String {
    right.min_by_key(|name| strsim::damerau_levenshtein(name, wrong)).unwrap_or_default()
}

/// Every setting there is, from the declarations.
pub(crate) fn keys() -> &'static [Key] {
    static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
        let schema = schemars::schema_for!(Settings).to_value();
        let mut keys = Vec::new();
        walk(&schema, &schema, &mut Vec::new(), "", &mut keys);
        keys
    });
    &KEYS
}

fn walk(
    root: &serde_json::Value,
    node: &serde_json::Value,
    path: &mut Vec<String>,
    doc: &str,
    keys: &mut Vec<Key>,
) {
    let text = |node: &serde_json::Value, name: &str| {
        node.get(name).and_then(|value| value.as_str()).map(str::to_owned)
    };
    let doc = text(node, "description").unwrap_or_else(|| doc.to_owned());
    if let Some(reference) = text(node, "$ref") {
        let target = root.pointer(reference.trim_start_matches('#')).cloned().unwrap_or_default();
        return walk(root, &target, path, &doc, keys);
    }
    let properties = node.get("properties").and_then(|value| value.as_object());
    for (name, inner) in properties.into_iter().flatten() {
        path.push(name.clone());
        walk(root, inner, path, "", keys);
        path.pop();
    }
    if let Some(any) = node.get("additionalProperties").filter(|any| any.is_object()) {
        path.push("*".to_owned());
        walk(root, any, path, &doc, keys);
        path.pop();
    } else if properties.is_none() {
        let kind = match node.get("type") {
            Some(serde_json::Value::Array(kinds)) => {
                kinds.first().and_then(|kind| kind.as_str()).unwrap_or_default().to_owned()
            }
            _ => text(node, "type").unwrap_or_default(),
        };
        keys.push(Key { path: path.clone(), doc, kind });
    }
}

fn collect<'a>(table: &'a Table, path: &mut Vec<String>, leaves: &mut Vec<(Vec<String>, &'a Value)>) {
    for (name, value) in table {
        path.push(name.clone());
        match value {
            Value::Table(inner) => collect(inner, path, leaves),
            _ => leaves.push((path.clone(), value)),
        }
        path.pop();
    }
}

fn get<'a>(table: &'a Table, path: &[String]) -> Option<&'a Value> {
    let (name, rest) = path.split_first()?;
    match (table.get(name)?, rest.is_empty()) {
        (value, true) => Some(value),
        (Value::Table(inner), false) => get(inner, rest),
        _ => None,
    }
}

fn set(table: &mut Table, path: &[String], value: Value) {
    let Some((name, rest)) = path.split_first() else {
        return;
    };
    if rest.is_empty() {
        table.insert(name.clone(), value);
        return;
    }
    let inner = table.entry(name.clone()).or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(inner) = inner {
        set(inner, rest, value);
    }
}

fn merge(into: &mut Table, from: &Table) {
    for (name, value) in from {
        match (into.get_mut(name), value) {
            (Some(Value::Table(into)), Value::Table(from)) => merge(into, from),
            _ => {
                into.insert(name.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_declared_and_every_declaration_has_a_doc() {
        let keys = keys();
        let mut leaves = Vec::new();
        let defaults = built_in().unwrap();
        collect(&defaults, &mut Vec::new(), &mut leaves);
        for (path, _) in leaves {
            assert!(keys.iter().any(|key| key.fits(&path)), "{path:?}");
        }
        for key in keys.iter() {
            assert!(!key.doc.is_empty(), "{}", key.name());
        }
    }
}
