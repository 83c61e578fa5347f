//! The preset `recovery`: the beginning, and calls of the agent's own tools that get the rest from the kept file.

pub(crate) mod pattern;
pub(crate) mod refine;

use crate::classify::form::Form;
use crate::outline::outline;
use crate::presets::head_tail::first_characters;
use crate::settings::Recovery;
use crate::text::count::grouped;
use crate::view::{View, Wording};
use crate::{Call, Grep, Kind, Output, Query, Result, Settings, shell_word};
use std::{collections::BTreeMap, fmt::Write};

/// Maximum bytes of an output that are searched for patterns, files and folders.
const LOOKED_AT: u64 = 4 * 1024 * 1024;

/// Lines of a suggested range after its first, as many as the seed document suggests.
const FURTHER: u64 = 50;

/// Size of the section. Smaller ones are tried until the view is smaller than its output.
struct Most {
    items: usize,
    counts: bool,
    commands: usize,
}

const SIZES: [Most; 7] = [
    Most { items: 20, counts: true, commands: usize::MAX },
    Most { items: 10, counts: true, commands: usize::MAX },
    Most { items: 5, counts: true, commands: 5 },
    Most { items: 3, counts: true, commands: 3 },
    Most { items: 3, counts: false, commands: 2 },
    Most { items: 0, counts: false, commands: 2 },
    Most { items: 0, counts: false, commands: 1 },
];

/// Kind of the tool that gave the output, which decides what to suggest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ToolKind {
    File,
    Grep,
    Shell,
    WebSearch,
    WebFetch,
    Glob,
    Other,
}

fn tool_kind(tool: &str) -> ToolKind {
    // Whole words of the name: `list_models` has no `ls` in it.
    let mut name = String::new();
    for c in tool.chars() {
        if c.is_uppercase() {
            name.push('_');
        }
        name.extend(c.to_lowercase());
    }
    let words: Vec<&str> =
        name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(word));
    if has(&["websearch"]) || (has(&["web"]) && has(&["search"])) {
        ToolKind::WebSearch
    } else if has(&["fetch", "http", "url", "webfetch"]) {
        ToolKind::WebFetch
    } else if has(&["grep", "search", "ripgrep", "rg"]) {
        ToolKind::Grep
    } else if has(&["glob", "find", "list", "ls"]) {
        ToolKind::Glob
    } else if has(&["shell", "exec", "execute", "command", "bash", "terminal", "run"]) {
        ToolKind::Shell
    } else if has(&["read", "file", "cat", "view", "open"]) {
        ToolKind::File
    } else {
        ToolKind::Other
    }
}

/// The first characters, one gap, and the section that says how to get at it.
pub(crate) fn fold(output: &Output, settings: &Settings) -> Result<View> {
    let settings = &settings.recovery;
    let record = output.record();
    let shown = match record.kind {
        Kind::Binary => 0,
        _ => first_characters(output, settings.shown_characters)?,
    };
    let start = 0..shown;
    let view = View::showing(output, &[start], Wording::Recovery)?;
    let section = Section::new(output, settings, shown)?;
    let mut framed = view.clone();
    for most in &SIZES {
        framed = view.clone().framed("", section.print(most));
        if crate::size::characters(&framed.print(output)?) < record.size.characters {
            break;
        }
    }
    Ok(framed)
}

/// Contents of the section.
struct Section {
    title: String,
    structure: Vec<Item>,
    counts: Vec<String>,
    commands: Vec<String>,
}

/// A definition of a source file.
struct Item {
    keyword: &'static str,
    name: String,
    line: u64,
}

impl Section {
    fn new(output: &Output, settings: &Recovery, shown: u64) -> Result<Section> {
        let call = &output.record().call;
        let kind = tool_kind(&call.tool);
        let structure = if kind == ToolKind::File { structure(output)? } else { Vec::new() };
        let text = String::from_utf8_lossy(&output.read(0..LOOKED_AT)?).into_owned();
        let source = Source { output, settings, kind, shown, text };
        let size = output.record().size;
        let lines = grouped(size.lines);
        let title = format!("{} | {lines} lines, {} chars", source.title(call), grouped(size.characters));
        let commands = source.commands(&structure)?;
        Ok(Section { title, counts: source.counts(), structure, commands })
    }

    fn print(&self, most: &Most) -> String {
        let mut text = format!("\n--- Recovery Options ---\n{}\n", self.title);
        if most.items > 0 && !self.structure.is_empty() {
            text.push_str("\nStructure:\n");
            for Item { keyword, name, line } in self.structure.iter().take(most.items) {
                let _ = writeln!(text, "  - {keyword} {name} (line {line})");
            }
            if self.structure.len() > most.items {
                let _ = writeln!(text, "  - … and {} more", self.structure.len() - most.items);
            }
        }
        for line in self.counts.iter().filter(|_| most.counts) {
            let _ = writeln!(text, "\n{line}");
        }
        text.push_str("\nCommands:\n");
        for command in self.commands.iter().take(most.commands) {
            let _ = writeln!(text, "  • {command}");
        }
        text
    }
}

/// Kinds of definitions that hold a value or name a part, and are neither classes nor functions.
const VALUES: &[&str] = &["const", "static", "type", "field", "property", "var", "let", "import", "package"];

/// Extensions of files that are text whatever is in them.
const TEXTS: &[&str] = &["txt", "text", "log", "md", "rst", "csv", "tsv"];

/// Classes and functions with their lines, where the output is source code.
fn structure(output: &Output) -> Result<Vec<Item>> {
    let file = output.record().call.file().unwrap_or_default();
    let extension = file.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    if extension.is_some_and(|extension| TEXTS.contains(&extension.as_str())) {
        return Ok(Vec::new());
    }
    let outline = outline(output)?;
    let is_code = matches!(outline.form, Form::Code(_));
    let defined = outline.items.into_iter().filter(|item| is_code && !VALUES.contains(&item.kind));
    let item = |item: crate::outline::Item| {
        let symbol = item.symbol?;
        let name = crate::shortened(&symbol.name, 80);
        Some(Item { keyword: symbol.keyword, name, line: item.line })
    };
    Ok(defined.filter_map(item).collect())
}

/// An output, and the data for its suggestions.
struct Source<'a> {
    output: &'a Output,
    settings: &'a Recovery,
    kind: ToolKind,
    /// Bytes that are shown above the section.
    shown: u64,
    /// The beginning of the output, [`LOOKED_AT`] bytes at most.
    text: String,
}

impl Source<'_> {
    fn title(&self, call: &Call) -> String {
        let names = &self.settings.names;
        let argument =
            |keys: &[&str]| call.argument(keys).map_or_else(|| self.file(), |value| first_line(&value));
        match self.kind {
            ToolKind::File => {
                format!("File: {}", argument(&["file_path", "path", "filename", "file", &names.path]))
            }
            ToolKind::Grep => format!("Search: {}", argument(&["pattern", &names.pattern])),
            ToolKind::Shell => format!("Command: {}", argument(&["command", "cmd", &names.command])),
            ToolKind::WebSearch => format!("Web search: {}", argument(&["query", &names.query])),
            ToolKind::WebFetch => format!("Page: {}", argument(&["url", &names.url])),
            ToolKind::Glob => format!("Listing: {}", argument(&["pattern", "path"])),
            ToolKind::Other => format!("Output of {}: {}", call.full_name(), self.file()),
        }
    }

    /// Name of the stored output: its file, if it has one.
    fn file(&self) -> String {
        match self.output.path() {
            Some(path) => path.display().to_string(),
            None => self.output.record().handle.to_string(),
        }
    }

    /// Characters that a result of this tool may have before it is cut.
    fn threshold(&self, tool: &str) -> u64 {
        self.settings.tools.get(tool).unwrap_or(&self.settings.other).characters
    }

    /// Counts that show where most lines are: matches per file, files per folder.
    fn counts(&self) -> Vec<String> {
        let lines = || self.text.lines();
        let mut counts = match self.kind {
            ToolKind::Grep => vec![top("Matches per file", lines().filter_map(refine::file_of))],
            ToolKind::Glob => vec![
                top("Files per folder", lines().filter_map(refine::folder_of)),
                top("Files per extension", lines().filter_map(refine::extension_of)),
            ],
            _ => Vec::new(),
        };
        counts.retain(|line| !line.is_empty());
        counts
    }

    /// Calls on the stored file, or narrower ones than the call before. No command is suggested again.
    fn commands(&self, structure: &[Item]) -> Result<Vec<String>> {
        let names = &self.settings.names;
        let pattern = self.pattern(structure)?;
        let Some(path) = self.output.path() else {
            let grep = pattern.map(|pattern| self.output.call(&Query::Grep(Grep::new(&pattern))));
            return Ok(grep.into_iter().chain([self.output.call(&Query::Tail(FURTHER))]).collect());
        };
        let path = path.display().to_string();
        let refined = self.refined();
        let searched = refined.saved_to.as_ref().unwrap_or(&path);
        let grep = pattern.map(|pattern| {
            let arguments =
                [(names.pattern.clone(), pattern.into()), (names.path.clone(), searched.as_str().into())];
            refine::written(&names.grep, arguments)
        });
        let shell = |(command, note): (String, String)| {
            format!("{}({}={})  # {note}", names.shell, names.command, quoted(&command))
        };
        let ranges = self.ranges(structure, &shell_word(&path))?.into_iter().map(shell);
        Ok(refined.calls.into_iter().chain(grep).chain(ranges).collect())
    }

    /// Commands that print useful ranges, with notes: after the shown part, the last definition, the end. The output of each is
    /// short enough to pass.
    fn ranges(&self, structure: &[Item], file: &str) -> Result<Vec<(String, String)>> {
        let most = self.threshold(&self.settings.names.shell);
        let lines = self.output.record().size.lines;
        let mut ranges = Vec::new();
        if self.kind == ToolKind::Shell {
            ranges.push(match self.last_fitting(1, lines, most)? {
                Some(last) => (format!("head -n {last} {file}"), format!("First {last} lines")),
                None => (format!("head -c {most} {file}"), format!("First {most} bytes")),
            });
        }
        let next = self.output.newlines_before(self.shown)? + 1;
        let definition = structure.iter().rev().map(|item| item.line).find(|line| *line > next);
        let parts =
            [Some((next, definition.map_or(lines, |line| line - 1))), definition.map(|line| (line, lines))];
        for (from, to) in parts.into_iter().flatten() {
            ranges.push(match self.last_fitting(from, to.min(from + FURTHER), most)? {
                Some(to) => (format!("sed -n '{from},{to}p' {file}"), format!("Lines {from}-{to}")),
                None => {
                    let start = self.shown.max(self.output.line_start(from - 1)?);
                    let command = format!("tail -c +{} {file} | head -c {most}", start + 1);
                    (command, format!("{most} bytes of line {from} and on"))
                }
            });
        }
        ranges.push(match self.fitting_at_the_end(most)? {
            0 => (format!("tail -c {most} {file}"), format!("Last {most} bytes")),
            last => (format!("tail -n {last} {file}"), format!("Last {last} lines")),
        });
        Ok(ranges)
    }

    /// The last line, `to` at most, up to which the lines from `from` on have no more than `most` characters.
    fn last_fitting(&self, from: u64, to: u64, most: u64) -> Result<Option<u64>> {
        let start = self.output.line_start(from - 1)?;
        // Enough bytes to have more than so many characters.
        let bytes = self.output.read(start..start + (most + 1) * 4)?;
        let lines = bytes.split_inclusive(|&byte| byte == b'\n').take((to + 1 - from) as usize);
        let fitting = fitting(lines, most);
        Ok((fitting > 0).then(|| from + fitting - 1))
    }

    /// Number of lines at the end, [`FURTHER`] at most, that have no more than `most` characters.
    fn fitting_at_the_end(&self, most: u64) -> Result<u64> {
        let start = self.output.len().saturating_sub((most + 1) * 4);
        let bytes = self.output.read(start..self.output.len())?;
        let lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
        // The first one may have begun before what was read.
        let whole = &lines[usize::from(start > 0).min(lines.len())..];
        Ok(fitting(whole.iter().rev().copied().take(FURTHER as usize), most))
    }
}

/// Number of the first lines that have no more than `most` characters together.
fn fitting<'a>(lines: impl Iterator<Item = &'a [u8]>, most: u64) -> u64 {
    let ends = lines.scan(0, |characters, line| {
        *characters += crate::size::characters(line);
        (*characters <= most).then_some(())
    });
    ends.count() as u64
}

/// `label: a (12), b (3), …`, the largest first.
fn top(label: &str, keys: impl Iterator<Item = String>) -> String {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    // A longer text is not a path.
    keys.filter(|key| key.len() <= 200 && !key.contains(char::is_control))
        .for_each(|key| *counts.entry(key).or_default() += 1);
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let more = if counts.len() > 8 { format!(", … and {} more", counts.len() - 8) } else { String::new() };
    let shown: Vec<String> = counts.iter().take(8).map(|(key, count)| format!("{key} ({count})")).collect();
    if shown.is_empty() { String::new() } else { format!("{label}: {}{more}", shown.join(", ")) }
}

fn first_line(text: &str) -> String {
    let line: String = text.lines().next().unwrap_or_default().chars().take(120).collect();
    let line = crate::printable(&line);
    if line.len() < text.trim_end().len() { format!("{line}…") } else { line }
}

/// A string as a call has it.
fn quoted(text: &str) -> String {
    let text = crate::printable(text);
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests;
