//! Settings in layers, weakest first: built-in, user file, project file, environment, agent file, flags.
//!
//! A setting is declared once, as a field. Its key, its environment name and its help come from the declaration, by
//! way of the JSON schema that is derived from it.

use crate::args::{ByModels, Common, Preset, Shown};
use crate::error::CliError;
use crate::models::{Provider, Waiting};
use forebay::{Session, shell_word};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    env, fmt, fs,
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
    /// The conversation. Unless it is set, it is named after the folder that `forebay` runs in.
    pub(crate) session: String,
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
    File(PathBuf),
    Environment(String),
    AgentFile(PathBuf),
    Flag(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::BuiltIn => f.write_str("built-in"),
            Source::File(path) | Source::AgentFile(path) => write!(f, "{}", path.display()),
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
    /// What is wrong with the values, if anything is: only the command that shows them may go on.
    pub(crate) problem: Option<CliError>,
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

    fn fits(&self, path: &[String]) -> bool {
        self.path.len() == path.len()
            && self.path.iter().zip(path).all(|(own, given)| own == "*" || own == given)
    }
}

impl Layers {
    /// Gathers all layers.
    pub(crate) fn gather(
        common: &Common,
        shown: Option<&Shown>,
        by_models: Option<&ByModels>,
    ) -> Result<Layers, CliError> {
        let mut layers = vec![Layer { source: Source::BuiltIn, values: built_in()? }];
        let files = [user_file(), project_file()];
        for path in files.into_iter().flatten() {
            let text = fs::read_to_string(&path).map_err(|error| {
                CliError::usage(format!("cannot read the settings {}: {error}", path.display()))
            })?;
            let mut values: Table =
                text.parse().map_err(|error| CliError::usage(format!("{}: {error}", path.display())))?;
            absolute_root(&mut values, path.parent());
            layers.push(Layer { source: Source::File(path), values });
        }
        layers.extend(environment()?);
        if let Some(path) = &common.agent {
            layers.push(Layer { source: Source::AgentFile(path.clone()), values: front_matter(path)? });
        }
        layers.extend(flags(common, shown, by_models));
        let here = env::current_dir().ok();
        layers.iter_mut().for_each(|layer| absolute_root(&mut layer.values, here.as_deref()));

        for layer in &layers[1..] {
            check_keys(layer)?;
            check_providers(layer)?;
        }
        let mut merged = Table::new();
        layers.iter().for_each(|layer| merge(&mut merged, &layer.values));
        let settings: Settings = merged.clone().try_into().map_err(|error| misfit(&layers, &error))?;
        let problem = settings.shown.check().err().map(|error| {
            CliError::from(error).hint("`forebay settings` shows every value and where it came from")
        });
        Ok(Layers { layers, merged, settings, problem })
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
            Some(Source::Flag(_) | Source::AgentFile(_)) => self.root_flag(),
            Some(Source::File(path)) if Some(path) != user_file().as_ref() => self.root_flag(),
            _ => String::new(),
        }
    }

    fn root_flag(&self) -> String {
        format!(" --root {}", shell_word(&self.settings.root.display().to_string()))
    }

    /// Whether somebody set this.
    pub(crate) fn is_set(&self, key: &[&str]) -> bool {
        let key: Vec<String> = key.iter().map(|&part| part.to_owned()).collect();
        self.layers.iter().any(|layer| layer.source != Source::BuiltIn && get(&layer.values, &key).is_some())
    }

    /// Every value with its key and its source, in the order of the declarations.
    pub(crate) fn values(&self) -> Vec<(String, &Value, &Source)> {
        let mut leaves = Vec::new();
        collect(&self.merged, &mut Vec::new(), &mut leaves);
        let keys = keys();
        let place = |path: &[String]| keys.iter().position(|key| key.fits(path)).unwrap_or(usize::MAX);
        leaves.sort_by_key(|(path, _)| (place(path), path.clone()));
        leaves
            .into_iter()
            .map(|(path, value)| {
                let layer = self.layers.iter().rev().find(|layer| get(&layer.values, &path).is_some());
                (path.join("."), value, layer.map_or(&Source::BuiltIn, |layer| &layer.source))
            })
            .collect()
    }
}

/// The error of a value that does not fit its setting, with the layer and the key it stands in.
fn misfit(layers: &[Layer], error: &toml::de::Error) -> CliError {
    let mut merged = Table::new();
    for layer in layers {
        let mut leaves = Vec::new();
        collect(&layer.values, &mut Vec::new(), &mut leaves);
        for (path, value) in leaves {
            set(&mut merged, &path, value.clone());
            // The built-in values make a whole; from then on each value must fit into it.
            if layer.source != Source::BuiltIn
                && let Err(error) = merged.clone().try_into::<Settings>()
            {
                let (source, key) = (&layer.source, path.join("."));
                return CliError::usage(format!("{source}: {key} = {value}: {}", error.message()));
            }
        }
    }
    CliError::usage(format!("settings: {}", error.message()))
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
    values.insert("session".into(), Value::String(folder_session().to_string()));
    Ok(values)
}

fn folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    let set = env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    set.or_else(|| env::home_dir().filter(|home| home.is_absolute()).map(|home| home.join(below_home)))
}

fn default_root() -> PathBuf {
    match folder("XDG_DATA_HOME", ".local/share") {
        Some(data) => data.join("forebay"),
        // Without a home, outputs are still kept, in a folder that is the user's own.
        None => env::temp_dir().join(format!("forebay-{}", rustix::process::getuid().as_raw())),
    }
}

/// The session of the folder we run in: its name, and a hash that keeps folders of the same name apart.
pub(crate) fn folder_session() -> Session {
    let folder = env::current_dir().unwrap_or_default();
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name: String = Session::safe(&name).as_str().chars().take(24).collect();
    Session::safe(&format!("{name}-{}", forebay::fingerprint(folder.as_os_str().as_encoded_bytes())))
}

fn user_file() -> Option<PathBuf> {
    folder("XDG_CONFIG_HOME", ".config")
        .map(|config| config.join("forebay/settings.toml"))
        .filter(|path| path.is_file())
}

/// `forebay.toml` in this folder or the nearest one above it.
fn project_file() -> Option<PathBuf> {
    let here = env::current_dir().ok()?;
    here.ancestors().map(|folder| folder.join("forebay.toml")).find(|path| path.is_file())
}

/// A layer for each variable that sets something.
fn environment() -> Result<Vec<Layer>, CliError> {
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
    let mut variables: Vec<(String, String)> = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, value)| name.starts_with("FOREBAY_") && name != "FOREBAY_AGENT" && !value.is_empty())
        .filter_map(|(name, value)| match name.as_str() {
            // These two are nearly always set, and the table of all settings need not be made for them.
            "FOREBAY_ROOT" | "FOREBAY_SESSION" => {
                add(&name, &[name["FOREBAY_".len()..].to_lowercase()], Value::String(value));
                None
            }
            _ => Some((name, value)),
        })
        .collect();
    variables.sort();
    if variables.is_empty() {
        return Ok(layers);
    }
    let keys = keys();
    for (name, text) in variables {
        let Some(key) = keys.iter().find(|key| key.environment() == name) else {
            let nearest = nearest(&name, keys.iter().map(Key::environment));
            return Err(CliError::usage(format!(
                "the environment has {name}, which sets nothing; did you mean {nearest}?"
            )));
        };
        let wrong = |what: &str| CliError::usage(format!("{name} must be {what}, not {text:?}"));
        let value = match key.kind.as_str() {
            "integer" => Value::Integer(text.parse().map_err(|_| wrong("a whole number"))?),
            "number" => Value::Float(text.parse().map_err(|_| wrong("a number"))?),
            "boolean" => Value::Boolean(text.parse().map_err(|_| wrong("true or false"))?),
            "array" => list(&text),
            _ => Value::String(text),
        };
        add(&name, &key.path, value);
    }
    Ok(layers)
}

/// What the keys of an agent file's front matter are called here.
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
fn front_matter(path: &Path) -> Result<Table, CliError> {
    let wrong = |what: String| CliError::usage(format!("{}: {what}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let yaml = text
        .strip_prefix("---\n")
        .or_else(|| text.strip_prefix("---\r\n"))
        .and_then(|rest| rest.split_once("\n---").map(|(yaml, _)| yaml))
        .ok_or_else(|| wrong("has no front matter: YAML between two lines of ---".to_owned()))?;
    let yaml: serde_json::Value =
        serde_saphyr::from_str(yaml).map_err(|error| wrong(format!("front matter: {error}")))?;
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
            return Err(wrong(format!("there is no setting {key}; did you mean {nearest}?")));
        };
        let path: Vec<String> = path.iter().map(|&part| part.to_owned()).collect();
        let value = match value {
            // One model may stand without a list.
            serde_json::Value::String(model) if key == "toolOutput.models" => {
                Value::Array(vec![Value::String(model)])
            }
            value => Value::try_from(value).map_err(|error| wrong(format!("{key}: {error}")))?,
        };
        set(&mut values, &path, value);
    }
    if values.contains_key("handle") {
        // These keys are those of the preset `handle`: whoever sets them means it.
        values.insert("preset".into(), Value::from("handle"));
    }
    Ok(values)
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

/// Refuses providers in files that come with a project: what is cloned from elsewhere must not say where keys are sent,
/// nor which command prints them.
fn check_providers(layer: &Layer) -> Result<(), CliError> {
    let foreign = match &layer.source {
        Source::File(path) => Some(path) != user_file().as_ref(),
        Source::AgentFile(_) => true,
        Source::BuiltIn | Source::Environment(_) | Source::Flag(_) => false,
    };
    match foreign && layer.values.contains_key("providers") {
        true => Err(CliError::usage(format!("{}: providers cannot be set by a project", layer.source))
            .hint("they belong into your own file, $XDG_CONFIG_HOME/forebay/settings.toml")),
        false => Ok(()),
    }
}

/// Refuses keys that set nothing, with the nearest that would.
fn check_keys(layer: &Layer) -> Result<(), CliError> {
    // Flags and variables are known by their names already.
    if !matches!(layer.source, Source::File(_)) {
        return Ok(());
    }
    let keys = keys();
    let mut leaves = Vec::new();
    collect(&layer.values, &mut Vec::new(), &mut leaves);
    for (path, _) in leaves {
        if !keys.iter().any(|key| key.fits(&path)) {
            let name = path.join(".");
            let nearest = nearest(&name, keys.iter().map(Key::name));
            return Err(CliError::usage(format!(
                "{}: there is no setting {name}; did you mean {nearest}?",
                layer.source
            )));
        }
    }
    Ok(())
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
