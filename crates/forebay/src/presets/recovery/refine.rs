//! A narrower form of the call that produced an output: its other arguments stay, and its result is short enough to
//! pass.

use crate::presets::recovery::pattern::{compiled, frequent};
use crate::presets::recovery::{Source, ToolKind, first_line, quoted};
use regex::Regex;
use serde_json::{Map, Value};
use std::{collections::BTreeMap, sync::LazyLock};

/// Files that a search of many is aimed at.
const FILES: usize = 2;

/// Characters of an argument; a call with a longer one is not suggested.
const ARGUMENT: usize = 500;

/// Tools that the seed document names: `recovery.names` says what the agent calls them.
const NAMED: [&str; 4] = ["grep_content", "glob_files", "web_search", "web_fetch"];

/// Narrower calls.
#[derive(Default)]
pub(crate) struct Refined {
    pub(crate) calls: Vec<String>,
    /// The file that one of the calls saves a page to.
    pub(crate) saved_to: Option<String>,
}

impl Source<'_> {
    pub(crate) fn refined(&self) -> Refined {
        let calls = match self.kind {
            ToolKind::Grep => self.narrower_search(),
            ToolKind::Glob => self.narrower_listing(),
            ToolKind::WebSearch => self.narrower_query(),
            ToolKind::WebFetch => return self.saved_page(),
            ToolKind::File | ToolKind::Shell | ToolKind::Other => Vec::new(),
        };
        Refined { calls, saved_to: None }
    }

    /// The arguments of the call.
    fn arguments(&self) -> Map<String, Value> {
        let args = self.output.record().call.args.as_deref().unwrap_or_default();
        serde_json::from_str(args).unwrap_or_default()
    }

    /// The first of the arguments that is there, and its text.
    fn argument(&self, keys: &[&str]) -> Option<(String, String)> {
        let arguments = self.arguments();
        keys.iter().find_map(|key| Some(((*key).to_owned(), arguments.get(*key)?.as_str()?.to_owned())))
    }

    /// The call again, with one of its arguments changed or added.
    fn changed(&self, tool: &str, key: &str, value: &str, note: &str) -> Option<String> {
        let own = &self.output.record().call.tool;
        let tool = if NAMED.contains(&own.as_str()) { tool } else { own };
        let mut arguments = self.arguments();
        arguments.insert(key.to_owned(), value.into());
        let is_short = |value: &Value| match value {
            Value::String(text) => text.len() <= ARGUMENT,
            other => other.to_string().len() <= ARGUMENT,
        };
        let fits = arguments.len() <= 12 && arguments.values().all(is_short);
        fits.then(|| format!("{}  # {note}", written(tool, arguments)))
    }

    /// A search with a longer pattern, and of single files.
    fn narrower_search(&self) -> Vec<String> {
        let names = &self.settings.names;
        let most = self.threshold(&self.output.record().call.tool);
        let pattern = self.argument(&["pattern", "query", "regex", &names.pattern]);
        let narrower = pattern.as_ref().and_then(|(key, pattern)| {
            let (narrower, lines) = self.longer_pattern(pattern, most)?;
            self.changed(&names.grep, key, &narrower, &format!("{lines} of these matches"))
        });
        let path = self.argument(&["path", "file_path", "directory", "dir", &names.path]);
        let key = path.map_or_else(|| names.path.clone(), |(key, _)| key);
        let files = self.largest(file_of, most).into_iter().take(FILES);
        let files = files.filter(|_| pattern.is_some()).filter_map(|(file, lines)| {
            self.changed(&names.grep, &key, &file, &format!("its {lines} matches"))
        });
        narrower.into_iter().chain(files).collect()
    }

    /// The pattern with a word that follows it in some of the matches, and the number of these.
    fn longer_pattern(&self, pattern: &str, most: u64) -> Option<(String, u64)> {
        let matches = Regex::new(pattern).ok()?;
        let lines = self.text.lines().map(content_of);
        let behind = lines.filter_map(|line| matches.find(line).map(|found| &line[found.end()..]));
        let group = if pattern.contains('|') { format!("({pattern})") } else { pattern.to_owned() };
        frequent(behind, most).into_iter().take(8).find_map(|word| {
            let narrower = format!("{group}.*{word}");
            let regex = Regex::new(&narrower).ok()?;
            let lines = self.found(|line| regex.is_match(content_of(line)), most)?;
            (lines > 0).then_some((narrower, lines))
        })
    }

    /// A listing of one folder, and of the files with one extension.
    fn narrower_listing(&self) -> Vec<String> {
        let names = &self.settings.names;
        let most = self.threshold(&self.output.record().call.tool);
        let path = self.argument(&["path", "directory", "dir", &names.path]);
        let pattern = self.argument(&["pattern", "glob", &names.pattern]);
        let folder = self.largest(folder_of, most).into_iter().next();
        let note = |count: u64, what: &str| format!("the {count} entries {what}");
        if let (None, Some((key, _))) = (&pattern, &path) {
            let call = folder.and_then(|(folder, count)| {
                self.changed(&names.glob, key, &folder, &note(count, "of this folder"))
            });
            return call.into_iter().collect();
        }
        let (key, pattern) = pattern.unwrap_or_else(|| (names.pattern.clone(), "**/*".to_owned()));
        let (start, last) =
            pattern.rfind('/').map_or(("", &pattern[..]), |slash| pattern.split_at(slash + 1));
        let has_extension = last.contains('.');
        let in_folder = folder.and_then(|(folder, count)| {
            // Patterns are relative to the folder of the call.
            let above = path.as_ref().map_or("", |(_, path)| path.trim_end_matches('/'));
            let folder = folder.strip_prefix(above).map_or(&folder[..], |rest| rest.trim_start_matches('/'));
            let files = if has_extension { last } else { "*" };
            let narrower = if folder.is_empty() { files.to_owned() } else { format!("{folder}/{files}") };
            self.changed(&names.glob, &key, &narrower, &note(count, "of this folder"))
        });
        let extension = self.largest(extension_of, most).into_iter().next().filter(|_| !has_extension);
        let by_extension = extension.and_then(|(extension, count)| {
            let narrower = match last {
                "**" => format!("{pattern}/*{extension}"),
                _ if last.contains('*') => format!("{start}*{extension}"),
                _ => format!("{pattern}/**/*{extension}"),
            };
            self.changed(&names.glob, &key, &narrower, &note(count, "with this extension"))
        });
        in_folder.into_iter().chain(by_extension).collect()
    }

    /// Keys of most lines, the most frequent first, if a result with those lines alone would pass.
    fn largest(&self, key: fn(&str) -> Option<String>, most: u64) -> Vec<(String, u64)> {
        let mut seen: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        let mut total = 0;
        for line in self.text.lines() {
            let Some(key) = key(line) else { continue };
            let (lines, characters) = seen.entry(key).or_default();
            *lines += 1;
            *characters += line.chars().count() as u64 + 1;
            total += 1;
        }
        let times = self.output.len().div_ceil((self.text.len() as u64).max(1)).max(1);
        let fits = |(lines, characters): (u64, u64)| characters * times <= most && lines < total;
        let mut largest: Vec<(String, u64)> =
            seen.into_iter().filter(|(_, size)| fits(*size)).map(|(key, (lines, _))| (key, lines)).collect();
        largest.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        largest
    }

    /// A query for the site with most results, and one result itself.
    fn narrower_query(&self) -> Vec<String> {
        let names = &self.settings.names;
        let addresses: Vec<&str> = ADDRESS.find_iter(&self.text).map(|found| found.as_str()).collect();
        let mut sites: BTreeMap<&str, usize> = BTreeMap::new();
        for address in &addresses {
            *sites.entry(site(address)).or_default() += 1;
        }
        let largest = sites.iter().max_by_key(|(site, count)| (**count, std::cmp::Reverse(**site)));
        let narrower = self.argument(&["query", "q", &names.query]).and_then(|(key, query)| match largest {
            Some((site, _)) => {
                self.changed(&names.search, &key, &format!("{query} site:{site}"), "results of one site")
            }
            None => self.changed(&names.search, &key, &format!("\"{query}\""), "these words in this order"),
        });
        let result = addresses.first().map(|address| {
            format!("{}  # one result", written(&names.fetch, [(names.url.clone(), (*address).into())]))
        });
        narrower.into_iter().chain(result).collect()
    }

    /// The page again, saved to a file that can be searched.
    fn saved_page(&self) -> Refined {
        let names = &self.settings.names;
        if let Some((_, saved)) = self.argument(&["save_to"]).filter(|(_, saved)| saved.len() <= ARGUMENT) {
            return Refined { calls: Vec::new(), saved_to: Some(saved) };
        }
        let Some((_, url)) = self.argument(&["url", &names.url]) else { return Refined::default() };
        let file = file_for(&url);
        let call = self.changed(&names.fetch, "save_to", &file, &format!("then {}", names.grep));
        let saved_to = call.is_some().then_some(file);
        Refined { calls: call.into_iter().collect(), saved_to }
    }
}

static ADDRESS: LazyLock<Regex> = LazyLock::new(|| compiled(r#"https?://[^\s"'<>)\]]{1,300}"#));

/// The host of an address.
fn site(address: &str) -> &str {
    let host = address.split_once("://").map_or(address, |(_, rest)| rest);
    host.split(['/', '?', '#', ':']).next().unwrap_or_default()
}

/// The file that a page is saved to, called after the last part of its address.
fn file_for(url: &str) -> String {
    let path = url.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or_default();
    let stem = if last == site(path) { last } else { last.rsplit_once('.').map_or(last, |(stem, _)| stem) };
    let is_safe = |c: &char| c.is_ascii_alphanumeric() || "._-".contains(*c);
    let stem: String = stem.chars().filter(is_safe).take(60).collect();
    let stem = stem.trim_start_matches(['.', '-']);
    format!("temp/{}.md", if stem.is_empty() { "page" } else { stem })
}

/// A call as an agent writes it.
pub(crate) fn written(tool: &str, arguments: impl IntoIterator<Item = (String, Value)>) -> String {
    let argument = |(key, value): (String, Value)| match value {
        Value::String(text) => format!("{key}={}", quoted(&text)),
        other => format!("{key}={other}"),
    };
    let arguments: Vec<String> = arguments.into_iter().map(argument).collect();
    format!("{}({})", first_line(tool), arguments.join(", "))
}

/// The file that a line of search results is of.
pub(crate) fn file_of(line: &str) -> Option<String> {
    let (path, rest) = line.split_once(':')?;
    rest.starts_with(|c: char| c.is_ascii_digit()).then(|| path.to_owned()).filter(|path| is_path(path))
}

/// Content of a line of search results, without its file and its number.
fn content_of(line: &str) -> &str {
    let behind = |line: &str| {
        let (number, content) = line.split_once([':', '-'])?;
        (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(content.len())
    };
    let length = line.split_once(':').and_then(|(_, rest)| behind(rest)).or_else(|| behind(line));
    length.map_or(line, |length| &line[line.len() - length..])
}

/// The folder of an entry of a listing.
pub(crate) fn folder_of(line: &str) -> Option<String> {
    line.trim().rsplit_once('/').map(|(folder, _)| folder.to_owned()).filter(|folder| is_path(folder))
}

/// The extension of an entry of a listing, with its dot.
pub(crate) fn extension_of(line: &str) -> Option<String> {
    let name = line.trim().rsplit('/').next()?;
    name.rsplit_once('.').map(|(_, extension)| format!(".{extension}")).filter(|extension| is_path(extension))
}

/// Whether a text may be a path. A longer text is not.
fn is_path(text: &str) -> bool {
    text.len() <= 200 && !text.contains(char::is_control)
}
