//! Every setting of the library, declared once.
//!
//! A setting is a field with a doc comment. Its default and the reason for it stand in `default.toml`; its key,
//! its environment name, its help and the reference page come from this declaration.

use crate::{Budget, Error, Formats, Limits, Masking, Result, Secrets, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The text of the defaults, with their reasons. Hidden: only `forebay settings` prints it, and every value is in
/// [`Settings::default`].
#[doc(hidden)]
pub const DEFAULT: &str = include_str!("default.toml");

/// A named pair of limits and view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The lines that matter, in their order, with what is left out marked.
    Digest,
    /// Only a message with the handle.
    Handle,
    /// The beginning and the end, by characters and lines.
    HeadTail,
    /// A summary with snippets and a reference to the file.
    Materialize,
    /// The beginning, and calls that get the rest.
    Recovery,
}

impl std::fmt::Display for Preset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Preset::Digest => "digest",
            Preset::Handle => "handle",
            Preset::HeadTail => "head-tail",
            Preset::Materialize => "materialize",
            Preset::Recovery => "recovery",
        })
    }
}

impl std::str::FromStr for Preset {
    type Err = Error;

    fn from_str(name: &str) -> Result<Preset> {
        let presets =
            [Preset::Digest, Preset::Handle, Preset::HeadTail, Preset::Materialize, Preset::Recovery];
        let found = presets.into_iter().find(|preset| preset.to_string() == name);
        found.ok_or_else(|| Error::BadSetting(format!("there is no preset {:?}", crate::shortened(name, 60))))
    }
}

/// The settings of the library: limits of outputs, and the views of outputs that exceed them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Settings {
    /// The view that a large output gets.
    pub preset: Preset,
    /// Tools whose output is never touched: names, as `tool` or `server/tool`; a `*` at the end stands for any rest.
    pub bypass: Vec<String>,
    /// The preset `digest`.
    pub digest: Digest,
    /// Budget of one excerpt, at most the limit of an output that passes.
    pub excerpt: Budget,
    /// Limits of one query.
    pub query: QueryLimits,
    /// The preset `handle`.
    pub handle: HandleMessage,
    /// The preset `head-tail`.
    pub head_tail: HeadTail,
    /// The preset `materialize`.
    pub materialize: Materialize,
    /// The preset `recovery`.
    pub recovery: Recovery,
    /// Extraction by a model.
    pub extract: Extract,
    /// The room in the model's context.
    pub room: Window,
    /// The agent program whose outputs are replaced.
    pub host: Host,
    /// Retention of outputs.
    pub retention: Retention,
    /// Secrets in what a model reads.
    pub secrets: SecretSettings,
    /// What finds secrets and masks them. It is made of rules and values that no settings file holds.
    #[serde(skip)]
    pub masking: Masking,
    /// Formats of the user. They are read from files of their own, and no settings file sets them.
    #[serde(skip)]
    pub formats: Formats,
}

/// Secrets in what a model reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SecretSettings {
    /// Whether secrets are masked, only counted in the first line, or not looked for.
    pub mode: Secrets,
    /// Tools with another mode: names, as `tool` or `server/tool`.
    pub tools: BTreeMap<String, Secrets>,
    /// Values and texts that are no secrets: fingerprints that `forebay scan` prints, or patterns.
    pub allow: Vec<String>,
}

/// Limits of one query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct QueryLimits {
    /// Maximum seconds of a query; 0 sets no limit.
    pub timeout_seconds: u64,
    /// Bytes of memory for a jq filter under `serve` and `mcp`, besides ten times the size of its output; 0 sets no limit.
    pub filter_memory_bytes: u64,
}

/// Behaviour of an agent program without Forebay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Host {
    /// Tokens of an output that the host would show the model; savings are measured against them.
    pub shown_tokens: u64,
}

/// Retention of outputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Retention {
    /// When outputs are removed.
    pub mode: Keep,
    /// Maximum age of outputs in days; 0 sets no limit.
    pub max_age_days: u64,
    /// Maximum bytes of all outputs, beyond which the oldest are removed; 0 sets no limit.
    pub max_bytes: u64,
    /// Minimum free bytes of the disk, below which the oldest outputs are removed; 0 sets no limit.
    pub min_free_bytes: u64,
}

/// When outputs are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// When their session ends.
    Session,
    /// When their process ends; they are in a folder of its own.
    Process,
    /// When they are too old or too many.
    Keep,
}

impl std::fmt::Display for Keep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Keep::Session => "session",
            Keep::Process => "process",
            Keep::Keep => "keep",
        })
    }
}

/// Settings of the preset `digest`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Digest {
    /// Maximum tokens of an output that passes unchanged.
    pub tokens: u64,
    /// An output of more tokens that fits is shown in a compact form, if that saves enough; 0 turns this off.
    pub compact_from: u64,
    /// Minimum share of its tokens, 0 to 1, that a view must save; otherwise the output passes.
    #[schemars(range(min = 0, max = 1))]
    pub least_saving: f64,
    /// Budget of the view.
    pub budget: Budget,
    /// Limits in tokens for individual tools.
    #[serde(default)]
    pub tools: BTreeMap<String, u64>,
}

/// Settings of the preset `handle`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct HandleMessage {
    /// Whether outputs are stored and replaced; if not, each passes unchanged.
    pub enabled: bool,
    /// An output of more bytes is replaced; 0 replaces every output that is not empty.
    #[schemars(range(max = 1_000_000))]
    pub max_bytes: u64,
}

/// Settings of the preset `head-tail`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct HeadTail {
    /// Share of the beginning, 0 to 1; the end gets the rest.
    #[schemars(range(min = 0, max = 1))]
    pub head_ratio: f64,
    /// Limits of tools without their own.
    pub other: CharactersAndLines,
    /// Limits of individual tools.
    pub tools: BTreeMap<String, CharactersAndLines>,
}

/// Limits of the preset `head-tail`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CharactersAndLines {
    /// More characters than this are cut.
    pub characters: u64,
    /// More lines than this are cut.
    pub lines: u64,
    /// Share of the beginning for this tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    pub head_ratio: Option<f64>,
}

/// Settings of the preset `materialize`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Materialize {
    /// An output of more characters is summarised; counted in UTF-16 units, as the length of a JavaScript string.
    pub max_inline_chars: u64,
    /// An output of more bytes is summarised.
    pub max_inline_bytes: u64,
    /// Maximum lines of the beginning and of the end.
    pub snippet_lines: u64,
    /// Maximum bytes of the beginning and of the end.
    pub snippet_bytes: u64,
}

/// Settings of the preset `recovery`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Recovery {
    /// Characters of the beginning that are shown.
    pub shown_characters: u64,
    /// Limit of tools without their own.
    pub other: Characters,
    /// Limits of individual tools.
    pub tools: BTreeMap<String, Characters>,
    /// Names of the agent's own tools and of their arguments.
    pub names: Names,
}

/// A limit of the preset `recovery`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Characters {
    /// More characters than this are cut.
    pub characters: u64,
}

/// Names of the agent's own tools and of their arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Names {
    /// The tool that searches files.
    pub grep: String,
    /// Its argument for the pattern.
    pub pattern: String,
    /// Its argument for the path; `file_path` and `filename` also work.
    pub path: String,
    /// The tool that runs a command.
    pub shell: String,
    /// Its argument for the command.
    pub command: String,
    /// The tool that finds files by pattern.
    pub glob: String,
    /// The tool that searches the web.
    pub search: String,
    /// Its argument for the search words.
    pub query: String,
    /// The tool that fetches a page.
    pub fetch: String,
    /// Its argument for the address.
    pub url: String,
}

impl Names {
    fn all(&self) -> [(&str, &str); 10] {
        [
            ("grep", &self.grep),
            ("pattern", &self.pattern),
            ("path", &self.path),
            ("shell", &self.shell),
            ("command", &self.command),
            ("glob", &self.glob),
            ("search", &self.search),
            ("query", &self.query),
            ("fetch", &self.fetch),
            ("url", &self.url),
        ]
    }
}

/// Whether a text can be the name of a tool or an argument. Names stand in the calls that a view suggests, and a
/// project may set them: one must not become an instruction.
fn is_tool_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.:/".contains(c);
    (1..=64).contains(&name.len()) && name.chars().all(allowed)
}

/// Settings of extraction by a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Extract {
    /// Maximum chunks that `auto` reads. Of a larger output it reads the parts that match the instructions.
    pub max_chunks: u64,
    /// Overlap of neighbouring chunks, in percent.
    #[schemars(range(max = 50))]
    pub overlap_percent: u64,
    /// An output whose lines have more bytes than this on average is read in chunks.
    pub avg_line_bytes: u64,
    /// Models as `provider/model`, tried in this order.
    pub models: Vec<String>,
    /// Tokens that a model reads and writes at once; of a list of models, the fewest. 0: as the model's server says, and
    /// 100,000 where it does not.
    pub context_tokens: u64,
    /// Tokens of `context_tokens` that are reserved for the model's own text.
    pub output_tokens: u64,
    /// Chunks that are read in parallel.
    #[schemars(range(min = 1))]
    pub parallel: u64,
    /// Maximum turns of an agent that reads and searches by itself.
    #[schemars(range(min = 2))]
    pub max_turns: u64,
    /// Maximum tool calls of that agent, over all turns.
    #[schemars(range(min = 1))]
    pub max_tool_calls: u64,
    /// How many calls of a model a reading in chunks may need: one for each chunk, and one that makes one answer of theirs.
    #[schemars(range(min = 1))]
    pub max_calls: u64,
}

impl Default for Settings {
    #[expect(clippy::expect_used, reason = "the file is part of the program, and a test reads it")]
    fn default() -> Settings {
        toml::from_str(DEFAULT).expect("default.toml has every setting")
    }
}

impl Settings {
    /// The preset and a hash of the user's formats, which decide how a view looks; `None` for the default preset and no
    /// formats of a user.
    pub(crate) fn view_maker(&self) -> Option<String> {
        let preset = (self.preset != Preset::Digest).then(|| self.preset.to_string());
        let parts: Vec<String> = preset.into_iter().chain(self.formats.hash()).collect();
        (!parts.is_empty()).then(|| parts.join(" "))
    }

    /// Checks what a type cannot: ranges, and limits that make sense together.
    pub fn check(&self) -> Result<()> {
        let wrong = |text: String| Err(Error::BadSetting(text));
        let ratio = |key: &str, ratio: f64| {
            if (0.0..=1.0).contains(&ratio) {
                Ok(())
            } else {
                Err(Error::BadSetting(format!("{key} is a share from 0 to 1, not {ratio}")))
            }
        };
        for (name, budget) in [("digest.budget", self.digest.budget), ("excerpt", self.excerpt)] {
            let least = Budget::LEAST;
            if budget.tokens < least.tokens
                || budget.bytes < least.bytes
                || budget.lines.is_some_and(|lines| Some(lines) < least.lines)
            {
                return wrong(format!(
                    "{name} is {} tokens and {} bytes, and a budget has at least {} tokens, {} bytes and 8 lines",
                    budget.tokens, budget.bytes, least.tokens, least.bytes
                ));
            }
        }
        if self.handle.max_bytes > 1_000_000 {
            return wrong(format!("handle.max_bytes is at most 1000000, not {}", self.handle.max_bytes));
        }
        if self.extract.overlap_percent > 50 {
            return wrong(format!(
                "extract.overlap_percent is at most 50, not {}",
                self.extract.overlap_percent
            ));
        }
        let Extract {
            max_chunks,
            parallel,
            max_turns,
            max_tool_calls,
            max_calls,
            context_tokens,
            output_tokens,
            ..
        } = self.extract;
        let least = [
            ("max_chunks", max_chunks, 1),
            ("parallel", parallel, 1),
            // One turn to read, and one to answer.
            ("max_turns", max_turns, 2),
            ("max_tool_calls", max_tool_calls, 1),
            ("max_calls", max_calls, 1),
        ];
        if let Some((key, number, least)) = least.iter().find(|(_, number, least)| number < least) {
            return wrong(format!("extract.{key} is at least {least}, not {number}"));
        }
        if output_tokens == 0 || (context_tokens > 0 && output_tokens >= context_tokens) {
            return wrong(format!(
                "extract.output_tokens is {output_tokens}, and must be less than extract.context_tokens, {context_tokens}, and not 0"
            ));
        }
        if let Some(model) = self.extract.models.iter().find(|model| !model.contains('/')) {
            return wrong(format!("extract.models has {model:?}, and a model is provider/model"));
        }
        if let Some((key, name)) = self.recovery.names.all().into_iter().find(|(_, name)| !is_tool_name(name))
        {
            return wrong(format!(
                "recovery.names.{key} is {:?}, and a name has up to 64 letters, digits and `_-.:/`",
                crate::shortened(name, 60)
            ));
        }
        ratio("digest.least_saving", self.digest.least_saving)?;
        ratio("head_tail.head_ratio", self.head_tail.head_ratio)?;
        for (tool, limits) in &self.head_tail.tools {
            ratio(&format!("head_tail.tools.{tool}.head_ratio"), limits.head_ratio.unwrap_or_default())?;
        }
        let limits = self.recovery.tools.values().chain([&self.recovery.other]);
        let least = limits.map(|limit| limit.characters).min().unwrap_or(u64::MAX);
        if least <= self.recovery.shown_characters {
            return wrong(format!(
                "recovery.shown_characters is {}, but a tool is cut at {least} characters: cutting must save something",
                self.recovery.shown_characters
            ));
        }
        Ok(())
    }

    /// Whether outputs pass whatever their size and are not kept: the preset `handle`, switched off.
    pub fn is_off(&self) -> bool {
        self.preset == Preset::Handle && !self.handle.enabled
    }

    /// Whether the output of this tool is never touched.
    pub fn bypasses(&self, call: &crate::Call) -> bool {
        if self.is_off() {
            return true;
        }
        let names = [call.tool.clone(), call.full_name()];
        self.bypass.iter().any(|entry| match entry.strip_suffix('*') {
            Some(start) => names.iter().any(|name| name.starts_with(start)),
            None => names.contains(entry),
        })
    }

    /// When an output of `tool` no longer fits.
    pub fn limits(&self, tool: &str) -> Limits {
        match self.preset {
            Preset::Digest => Limits {
                tokens: Some(self.digest.tools.get(tool).copied().unwrap_or(self.digest.tokens)),
                ..Limits::default()
            },
            Preset::Handle if !self.handle.enabled => Limits::default(),
            Preset::Handle => Limits { bytes: Some(self.handle.max_bytes), ..Limits::default() },
            Preset::HeadTail => {
                let limits = self.head_tail.of(tool);
                Limits { characters: Some(limits.characters), lines: Some(limits.lines), ..Limits::default() }
            }
            Preset::Materialize => Limits {
                characters: Some(self.materialize.max_inline_chars),
                bytes: Some(self.materialize.max_inline_bytes),
                ..Limits::default()
            },
            Preset::Recovery => Limits {
                characters: Some(self.recovery.tools.get(tool).unwrap_or(&self.recovery.other).characters),
                ..Limits::default()
            },
        }
    }

    /// Has views and excerpts cost at most so many tokens, whatever is set for single tools.
    pub fn set_budget(&mut self, tokens: u64) {
        let bytes = tokens.saturating_mul(8);
        self.digest.tokens = tokens;
        self.digest.tools.clear();
        for budget in [&mut self.digest.budget, &mut self.excerpt] {
            *budget = Budget { tokens, bytes, ..*budget };
        }
    }

    /// Budget of an excerpt: the set one, at most the limit of an output that passes, so that a read never
    /// becomes a stored output.
    pub fn excerpt_budget(&self) -> Budget {
        let tools: Vec<&str> = match self.preset {
            Preset::Digest => self.digest.tools.keys().map(String::as_str).collect(),
            Preset::HeadTail => self.head_tail.tools.keys().map(String::as_str).collect(),
            Preset::Recovery => self.recovery.tools.keys().map(String::as_str).collect(),
            Preset::Handle | Preset::Materialize => Vec::new(),
        };
        tools.into_iter().chain([""]).map(|tool| self.limits(tool)).fold(self.excerpt, |budget, limits| {
            // A limit that lets nothing pass cannot bound what is read: whoever sets it must let reads pass.
            let least = Budget::LEAST;
            let positive =
                |limit: Option<u64>, least| limit.filter(|&limit| limit >= least).unwrap_or(u64::MAX);
            budget.min(Budget {
                tokens: positive(limits.tokens, least.tokens),
                bytes: positive(limits.bytes, least.bytes).min(positive(limits.characters, least.bytes)),
                lines: limits.lines.filter(|&lines| Some(lines) >= least.lines),
            })
        })
    }
}

impl HeadTail {
    /// The limits of a tool.
    pub(crate) fn of(&self, tool: &str) -> CharactersAndLines {
        *self.tools.get(tool).unwrap_or(&self.other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Call, Session};

    #[test]
    fn the_defaults_are_whole_and_in_range() {
        Settings::default().check().unwrap();
    }

    #[test]
    fn the_thresholds_are_those_of_the_systems_the_presets_come_from() {
        let with = |preset| Settings { preset, ..Settings::default() };
        let head_tail = |tool| {
            let limits = with(Preset::HeadTail).limits(tool);
            (limits.characters.unwrap(), limits.lines.unwrap())
        };
        assert_eq!(head_tail("read_file"), (50_000, 500));
        assert_eq!(head_tail("run_command"), (20_000, 200));
        assert_eq!(head_tail("list_directory"), (10_000, 100));
        assert_eq!(head_tail("search_files"), (30_000, 300));
        assert_eq!(head_tail("anything_else"), (20_000, 200));
        let recovery = |tool| with(Preset::Recovery).limits(tool).characters.unwrap();
        assert_eq!(
            ["read_file", "grep_content", "execute_shell", "glob_files", "other"].map(recovery),
            [3_500; 5]
        );
        assert_eq!((recovery("web_search"), recovery("web_fetch")), (4_000, 5_000));
        assert_eq!(with(Preset::Handle).limits("x").bytes, Some(12_288));
        let materialize = with(Preset::Materialize).limits("x");
        assert_eq!((materialize.characters, materialize.bytes), (Some(4_000), Some(16_384)));
    }

    #[test]
    fn an_out_of_range_error_names_the_key_and_the_value() {
        let mut settings = Settings::default();
        settings.handle.max_bytes = 1_000_001;
        assert_eq!(
            settings.check().unwrap_err().to_string(),
            "handle.max_bytes is at most 1000000, not 1000001"
        );
        let mut settings = Settings::default();
        settings.recovery.other.characters = 2_000;
        assert!(settings.check().unwrap_err().to_string().contains("cutting must save something"));
        let mut settings = Settings::default();
        settings.head_tail.head_ratio = 1.5;
        assert!(settings.check().unwrap_err().to_string().contains("from 0 to 1"));
        let mut settings = Settings::default();
        settings.excerpt.tokens = 0;
        assert!(
            settings
                .check()
                .unwrap_err()
                .to_string()
                .starts_with("excerpt is 0 tokens and 12000 bytes, and a budget has at least 64")
        );
        let mut settings = Settings::default();
        settings.extract.models = vec!["gpt".into()];
        assert!(settings.check().unwrap_err().to_string().contains("provider/model"));
    }

    #[test]
    fn a_bypassed_tool_is_known_by_name_by_server_and_by_prefix() {
        let settings = Settings {
            bypass: ["plain", "fs/read", "git/*"].map(str::to_owned).to_vec(),
            ..Settings::default()
        };
        let call = |server: Option<&str>, tool: &str| Call {
            server: server.map(str::to_owned),
            ..Call::new(Session::safe("s"), "i", tool, jiff::Timestamp::UNIX_EPOCH)
        };
        let table = [
            (None, "plain", true),
            (Some("any"), "plain", true),
            (Some("fs"), "read", true),
            (Some("other"), "read", false),
            (Some("git"), "log", true),
            (None, "plainer", false),
        ];
        for (server, tool, expected) in table {
            assert_eq!(settings.bypasses(&call(server, tool)), expected, "{server:?} {tool}");
        }
    }

    #[test]
    fn an_excerpt_is_never_larger_than_an_output_that_passes() {
        for preset in
            [Preset::Digest, Preset::Handle, Preset::HeadTail, Preset::Materialize, Preset::Recovery]
        {
            let settings = Settings {
                preset,
                excerpt: Budget { tokens: 90_000, bytes: 900_000, lines: None },
                ..Settings::default()
            };
            let budget = settings.excerpt_budget();
            for tool in ["read_file", "list_directory", "web_fetch", "other"] {
                let limits = settings.limits(tool);
                assert!(limits.tokens.is_none_or(|limit| budget.tokens <= limit), "{preset:?}");
                assert!(limits.bytes.is_none_or(|limit| budget.bytes <= limit), "{preset:?}");
                assert!(limits.characters.is_none_or(|limit| budget.bytes <= limit), "{preset:?}");
                assert!(limits.lines.is_none_or(|limit| budget.lines.unwrap() <= limit), "{preset:?}");
            }
        }
    }
}
