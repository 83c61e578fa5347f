//! The preset `recovery`: the beginning, and calls of the agent's own tools that get the rest from the kept file.

use super::head_tail::first_characters;
use super::{View, Wording, errors, grouped};
use crate::query::{self, Form, outline::outline};
use crate::settings::Names;
use crate::{Call, Grep, Kind, Output, Query, Result, Settings, shell_word};
use regex::Regex;
use std::{collections::BTreeMap, fmt::Write, sync::LazyLock};

/// How much of a long output is looked at for its structure.
const LOOKED_AT: u64 = 4 * 1024 * 1024;
const LISTED: usize = 20;

/// What kind of tool gave the output, and so what helps to go on.
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
pub(super) fn fold(output: &Output, settings: &Settings) -> Result<View> {
    let settings = &settings.recovery;
    let shown = match output.record().kind {
        Kind::Binary => 0,
        _ => first_characters(output, settings.shown_characters)?,
    };
    let start = 0..shown;
    let view = View::showing(output, &[start], Wording::Recovery)?;
    let closing =
        Section { output, names: &settings.names, kind: tool_kind(&output.record().call.tool), shown }
            .print()?;
    Ok(view.framed("", closing))
}

struct Section<'a> {
    output: &'a Output,
    names: &'a Names,
    kind: ToolKind,
    /// How many bytes are shown above.
    shown: u64,
}

impl Section<'_> {
    fn print(&self) -> Result<String> {
        let record = self.output.record();
        let structure = self.structure()?;
        let mut text = String::from("\n--- Recovery Options ---\n");
        let _ = writeln!(
            text,
            "{} | {} lines, {} chars",
            self.title(&record.call),
            grouped(record.size.lines),
            grouped(record.size.characters)
        );
        if !structure.is_empty() {
            text.push_str("\nStructure:\n");
            for item in structure.iter().take(LISTED) {
                let _ = writeln!(text, "  - {} {} (line {})", item.kind, item.name, item.line);
            }
            if structure.len() > LISTED {
                let _ = writeln!(text, "  - … and {} more", structure.len() - LISTED);
            }
        }
        for line in self.counts()? {
            let _ = writeln!(text, "\n{line}");
        }
        text.push_str("\nCommands:\n");
        for command in self.commands(&structure)? {
            let _ = writeln!(text, "  • {command}");
        }
        Ok(text)
    }

    fn title(&self, call: &Call) -> String {
        let argument = |names: &[&str]| call.argument(names).map(|value| first_line(&value));
        let path = || argument(&["file_path", "path", "filename", "file", &self.names.path]);
        match self.kind {
            ToolKind::File => format!("File: {}", path().unwrap_or_else(|| self.file())),
            ToolKind::Grep => format!(
                "Search: {}",
                argument(&["pattern", &self.names.pattern]).unwrap_or_else(|| self.file())
            ),
            ToolKind::Shell => format!(
                "Command: {}",
                argument(&["command", "cmd", &self.names.command]).unwrap_or_else(|| self.file())
            ),
            ToolKind::WebSearch => format!(
                "Web search: {}",
                argument(&["query", &self.names.query]).unwrap_or_else(|| self.file())
            ),
            ToolKind::WebFetch => {
                format!("Page: {}", argument(&["url", &self.names.url]).unwrap_or_else(|| self.file()))
            }
            ToolKind::Glob => {
                format!("Listing: {}", argument(&["pattern", "path"]).unwrap_or_else(|| self.file()))
            }
            ToolKind::Other => format!("Output of {}: {}", call.full_name(), self.file()),
        }
    }

    /// What the kept output is called: its file, where it has one.
    fn file(&self) -> String {
        match self.output.path() {
            Some(path) => path.display().to_string(),
            None => self.output.record().handle.to_string(),
        }
    }

    /// Classes and functions with their lines, where the output looks like source code.
    fn structure(&self) -> Result<Vec<Item>> {
        if self.kind != ToolKind::File {
            return Ok(Vec::new());
        }
        let outline = outline(self.output)?;
        let is_code = matches!(outline.form, Form::Code(_));
        let defined = outline.items.into_iter().filter(|item| is_code && !VALUES.contains(&item.kind));
        Ok(defined.map(|item| Item { kind: item.kind, name: name(&item), line: item.line }).collect())
    }

    /// Counts that tell where the bulk is: matches a file, files a folder.
    fn counts(&self) -> Result<Vec<String>> {
        let (label, key): (&str, fn(&str) -> Option<String>) = match self.kind {
            ToolKind::Grep => ("Matches per file", |line| {
                let (path, rest) = line.split_once(':')?;
                rest.starts_with(|c: char| c.is_ascii_digit()).then(|| path.to_owned())
            }),
            ToolKind::Glob => ("Files per folder", |line| Some(line.trim().rsplit_once('/')?.0.to_owned())),
            _ => return Ok(Vec::new()),
        };
        let text = self.output.read(0..LOOKED_AT)?;
        let text = String::from_utf8_lossy(&text);
        let mut lines = vec![top(label, text.lines().filter_map(key))];
        if self.kind == ToolKind::Glob {
            let ending = |line: &str| {
                let name = line.trim().rsplit('/').next()?.to_owned();
                Some(format!(".{}", name.rsplit_once('.')?.1))
            };
            lines.push(top("Files per extension", text.lines().filter_map(ending)));
        }
        lines.retain(|line| !line.is_empty());
        Ok(lines)
    }

    /// Calls that work on what is kept. The tool itself is never to be run again.
    fn commands(&self, structure: &[Item]) -> Result<Vec<String>> {
        let names = self.names;
        let call = &self.output.record().call;
        let mut commands = Vec::new();
        let Some(path) = self.output.path() else {
            return Ok(vec![
                self.output.call(&Query::Grep(Grep::new("PATTERN"))),
                self.output.call(&Query::Tail(50)),
            ]);
        };
        let path = path.display().to_string();
        let grep = |pattern: &str| {
            format!("{}({}={}, {}={})", names.grep, names.pattern, quoted(pattern), names.path, quoted(&path))
        };
        let shell = |command: String, note: &str| {
            format!("{}({}={})  # {note}", names.shell, names.command, quoted(&command))
        };
        let file = shell_word(&path);

        match self.kind {
            ToolKind::File => commands.extend(structure.first().map(|item| grep(&item.name))),
            ToolKind::WebSearch => {
                let query =
                    call.argument(&["query", &names.query]).map(|text| first_line(&text)).unwrap_or_default();
                commands.push(format!(
                    "{}({}={})  # a narrower query",
                    names.search,
                    names.query,
                    quoted(&format!("{query} …"))
                ));
                let text = self.output.read(0..LOOKED_AT)?;
                let found =
                    ADDRESS.find(&String::from_utf8_lossy(&text)).map(|found| found.as_str().to_owned());
                commands.extend(
                    found.map(|url| format!("{}({}={})  # one result", names.fetch, names.url, quoted(&url))),
                );
            }
            ToolKind::WebFetch => {
                if let Some(url) = call.argument(&["url", &names.url]).filter(|url| url.len() <= 500) {
                    let save = "page.md";
                    commands.push(format!(
                        "{}({}={}, save_to={})  # then {}",
                        names.fetch,
                        names.url,
                        quoted(&url),
                        quoted(save),
                        names.grep
                    ));
                }
            }
            ToolKind::Glob => {
                let pattern =
                    call.argument(&["pattern", "path"]).map(|text| first_line(&text)).unwrap_or_default();
                commands.push(format!(
                    "{}({}={})  # a narrower pattern",
                    names.glob,
                    names.pattern,
                    quoted(&format!("{pattern}…"))
                ));
            }
            ToolKind::Grep => {
                let pattern = call
                    .argument(&["pattern", &names.pattern])
                    .map(|text| first_line(&text))
                    .unwrap_or_default();
                commands.push(format!(
                    "{}({}={})  # a narrower pattern",
                    names.grep,
                    names.pattern,
                    quoted(&format!("{pattern}…"))
                ));
            }
            ToolKind::Shell | ToolKind::Other => {}
        }
        if structure.is_empty() {
            let pattern = match errors::find(self.output)?.is_empty() {
                false => "[Ee]rror|[Ff]ail|[Ee]xception",
                true => ".",
            };
            commands.push(grep(pattern));
        }
        self.ranges(structure, |command, note| commands.push(shell(command.replace("FILE", &file), note)))?;
        Ok(commands)
    }

    /// Ranges worth a look: what follows the shown part, the last definition, the end.
    fn ranges(&self, structure: &[Item], mut push: impl FnMut(String, &str)) -> Result<()> {
        let size = self.output.record().size;
        if size.longest_line > 10_000 {
            push(format!("tail -c +{} FILE | head -c 4000", self.shown + 1), "The next 4000 bytes");
            push("tail -c 4000 FILE".to_owned(), "The last 4000 bytes");
            return Ok(());
        }
        let next = self.output.newlines_before(self.shown)? + 1;
        let last = structure.last().map(|item| item.line).filter(|&line| line > next + 50);
        for from in [Some(next), last].into_iter().flatten() {
            let to = (from + 50).min(size.lines);
            push(format!("sed -n '{from},{to}p' FILE"), &format!("Lines {from}-{to}"));
        }
        push("tail -n 50 FILE".to_owned(), "Last 50 lines");
        Ok(())
    }
}

struct Item {
    kind: &'static str,
    name: String,
    line: u64,
}

/// Things in source code that hold a value, and are neither classes nor functions.
const VALUES: &[&str] = &["const", "static", "type", "field", "property", "var", "let", "import"];

/// The name in a signature: what stands behind what it is.
fn name(item: &query::Item) -> String {
    let behind = item.name.split_once(item.kind).map_or(item.name.as_str(), |(_, behind)| behind);
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let name: String = behind.trim_start().chars().take_while(|c| is_part(*c)).collect();
    if name.is_empty() { item.name.clone() } else { name }
}

#[expect(clippy::expect_used, reason = "the patterns are part of the program, and tests compile them")]
fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of this file")
}

static ADDRESS: LazyLock<Regex> = LazyLock::new(|| compiled(r#"https?://[^\s"'<>)\]]{1,300}"#));

/// `label: a (12), b (3), …`, the largest first.
fn top(label: &str, keys: impl Iterator<Item = String>) -> String {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    // What is longer is no path.
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
mod tests {
    use super::*;
    use crate::store::{Store, Stream, disk::DiskStore};
    use crate::{Preset, Session};
    use std::process::Command;

    fn view(tool: &str, args: &str, text: &str) -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        let disk = DiskStore::new(folder.path().join("a root"));
        let store: &dyn Store = &disk;
        let call = Call {
            args: Some(args.into()),
            ..Call::new(Session::safe("s"), "id1234", tool, jiff::Timestamp::UNIX_EPOCH)
        };
        let mut writer = store.begin(&call);
        writer.write(Stream::Stdout, text.as_bytes());
        let output = writer.finish(Default::default());
        let settings = Settings { preset: Preset::Recovery, ..Settings::default() };
        let text = fold(&output, &settings).unwrap().print(&output).unwrap();
        let text = String::from_utf8(text).unwrap();
        (folder, text)
    }

    fn python() -> String {
        let mut text =
            String::from("import os\n\n\nclass DataProcessor:\n    def __init__(self):\n        pass\n");
        (0..200).for_each(|number| text.push_str(&format!("        self.field_{number} = {number}\n")));
        text + "\ndef main():\n    DataProcessor()\n"
    }

    #[test]
    fn a_source_file_is_recovered_by_its_structure() {
        let (folder, text) = view("read_file", r#"{"file_path": "large_module.py"}"#, &python());
        let shown: String = python().chars().take(2_000).collect();
        let hidden = python().chars().count() - 2_000;
        assert!(
            text.starts_with(&format!(
                "{shown}\n\n[... {hidden} characters truncated ...]\n\n--- Recovery Options ---\n"
            )),
            "{text}"
        );
        let section = text
            .split_once("--- Recovery Options ---\n")
            .unwrap()
            .1
            .replace(folder.path().to_str().unwrap(), "DIR");
        expect_test::expect![[r#"
            File: large_module.py | 209 lines, 5,683 chars

            Structure:
              - class DataProcessor (line 4)
              - def __init__ (line 5)
              - def main (line 208)

            Commands:
              • grep_content(pattern="DataProcessor", path="DIR/a root/s/tool/id1234.txt")
              • shell(command="sed -n '79,129p' 'DIR/a root/s/tool/id1234.txt'")  # Lines 79-129
              • shell(command="sed -n '208,209p' 'DIR/a root/s/tool/id1234.txt'")  # Lines 208-209
              • shell(command="tail -n 50 'DIR/a root/s/tool/id1234.txt'")  # Last 50 lines
        "#]]
        .assert_eq(&section);
    }

    #[test]
    fn every_suggested_command_works_on_what_is_kept() {
        let long_line = "x".repeat(30_000);
        let cases = [
            ("read_file", r#"{"path": "a.py"}"#, python()),
            ("execute_shell", r#"{"command": "make"}"#, "building\nerror: it broke\n".repeat(300)),
            ("grep_content", r#"{"pattern": "x"}"#, "src/a.rs:12:let x\nsrc/b.rs:3:let y\n".repeat(200)),
            ("glob_files", r#"{"pattern": "**/*"}"#, "src/a.rs\nsrc/view/b.rs\ndocs/c.md\n".repeat(200)),
            ("web_search", r#"{"query": "rust"}"#, "1. https://example.org/a some words\n".repeat(200)),
            ("web_fetch", r#"{"url": "https://example.org"}"#, "some words of a page\n".repeat(400)),
            ("anything", "{}", long_line),
        ];
        for (tool, args, output) in cases {
            let (_folder, text) = view(tool, args, &output);
            let commands: Vec<String> = text
                .lines()
                .filter_map(|line| line.strip_prefix("  • shell(command=\"")?.split_once("\")  #"))
                .map(|(command, _)| command.replace("\\\"", "\"").replace("\\\\", "\\"))
                .collect();
            assert!(commands.len() >= 2, "{text}");
            for command in commands {
                let ran = Command::new("sh").args(["-c", &command]).output().unwrap();
                assert!(ran.status.success() && !ran.stdout.is_empty(), "{command}");
            }
            let greps = text.lines().filter_map(|line| {
                line.strip_prefix("  • grep_content(pattern=\"")?.split_once("\", path=\"")
            });
            for (pattern, path) in greps {
                let path = path.trim_end_matches("\")");
                let ran = Command::new("grep").args(["-qE", pattern, path]).status().unwrap();
                assert!(ran.success(), "{pattern} {path}");
            }
        }
    }

    #[test]
    fn counts_tell_where_the_bulk_is() {
        let (_folder, text) =
            view("grep_content", "{}", &"src/a.rs:12:let x\nsrc/b.rs:3:y\nsrc/a.rs:14:z\n".repeat(90));
        assert!(text.contains("Matches per file: src/a.rs (180), src/b.rs (90)\n"), "{text}");
        let (_folder, text) = view("glob_files", "{}", &"src/a.rs\nsrc/b.rs\ndocs/c.md\n".repeat(130));
        assert!(text.contains("Files per folder: src (260), docs (130)\n"), "{text}");
        assert!(text.contains("Files per extension: .rs (260), .md (130)\n"), "{text}");
    }
}
