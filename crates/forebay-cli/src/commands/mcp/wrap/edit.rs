//! Changes the words of commands in place, in JSON, JSON with comments, or TOML.

use jsonc_parser::ast::{Array, Object, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use std::ops::Range;
use toml_edit::{Document, Item, TableLike};

/// Form in which a client lists its servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// JSON: an object with this key, at the top level or in a project.
    Servers(&'static str),
    /// TOML: a table with this name.
    Toml(&'static str),
}

/// A text with changed commands.
#[derive(Debug)]
pub(super) struct Edited {
    pub(super) text: String,
    /// Changed servers.
    pub(super) changed: Vec<String>,
    /// Unchanged servers, each with the reason.
    pub(super) left: Vec<(String, &'static str)>,
}

/// A word and its place, quotes included.
#[derive(Clone, Debug)]
struct Word {
    at: Range<usize>,
    said: String,
}

/// A list of words.
#[derive(Clone, Debug)]
struct List {
    /// Place of the list, brackets included.
    at: Range<usize>,
    words: Vec<Word>,
}

/// A server in the text.
#[derive(Debug)]
struct Entry {
    name: String,
    command: Command,
}

#[derive(Debug)]
enum Command {
    /// A program, and its arguments if it has any.
    Program(Word, Option<List>),
    /// All words in one list.
    Words(List),
    /// None: the server has a URL, or the form is unknown.
    None,
}

/// Why a file cannot be changed: correct it, or name another.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unfit {
    #[error("not {form}: {why}")]
    NotParsed { form: &'static str, why: String },
    #[error("there are no servers in it: {0}")]
    NoServers(String),
}

/// Why a wrapped server is not wrapped again.
const ALREADY: &str = "it goes through the gateway already";

/// Arguments before the command of a wrapped server.
const GATEWAY: [&str; 2] = ["mcp", "--"];

/// Byte order mark, which Windows editors put before UTF-8. It stays, and is not part of the text.
const MARK: char = '\u{feff}';

/// Changes a text so that all servers go through the gateway. `is_us` tells whether a program is the gateway.
pub(super) fn wrapped(
    text: &str,
    form: Form,
    program: &str,
    is_us: &dyn Fn(&str) -> bool,
) -> Result<Edited, Unfit> {
    edited(text, form, |_, entry| {
        if entry.is_gateway(is_us) {
            return Err(ALREADY);
        }
        if entry.words_of_gateway(&|_| true) == Some(GATEWAY.len()) {
            return Err("its command has the form of the gateway's, under a name that is not known");
        }
        let before = |words: &[&str]| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", ");
        let comma = |list: &List| if list.words.is_empty() { "" } else { ", " };
        match &entry.command {
            Command::None => Err("it has no command to wrap"),
            Command::Words(list) => {
                let words = before(&[program, GATEWAY[0], GATEWAY[1]]);
                let start = list.at.start + 1;
                Ok(vec![(start..start, format!("{words}{}", comma(list)))])
            }
            Command::Program(word, args) => {
                let words = before(&[GATEWAY[0], GATEWAY[1], &word.said]);
                let command = (word.at.clone(), quoted(program));
                let args = match (args, form) {
                    (Some(list), _) => {
                        let start = list.at.start + 1;
                        (start..start, format!("{words}{}", comma(list)))
                    }
                    (None, Form::Servers(_)) => (word.at.end..word.at.end, format!(", \"args\": [{words}]")),
                    (None, Form::Toml(_)) => (word.at.end..word.at.end, format!("\nargs = [{words}]")),
                };
                Ok(vec![command, args])
            }
        }
    })
}

/// Changes a text so that no server goes through the gateway.
pub(super) fn unwrapped(text: &str, form: Form, is_us: &dyn Fn(&str) -> bool) -> Result<Edited, Unfit> {
    edited(text, form, |text, entry| {
        let Some(count) = entry.words_of_gateway(is_us) else {
            return Err(if entry.is_gateway(is_us) {
                "it contains no command of the server itself"
            } else {
                "it does not go through the gateway"
            });
        };
        // From the first word of the gateway to the first word of the server's own command.
        let without = |list: &List, count: usize| {
            let end = match list.words.get(count) {
                Some(next) => next.at.start,
                None => list.words.last().map_or(list.at.start + 1, |last| last.at.end),
            };
            (list.words[0].at.start..end, String::new())
        };
        Ok(match &entry.command {
            Command::Program(word, Some(list)) => {
                vec![
                    (word.at.clone(), text[list.words[count].at.clone()].to_owned()),
                    without(list, count + 1),
                ]
            }
            Command::Words(list) => vec![without(list, count + 1)],
            _ => Vec::new(),
        })
    })
}

/// Programs that run servers in the form of the gateway. If the text from `before` wrapping is given, only those that
/// run the command that the server of that name had.
pub(super) fn gateways(text: &str, form: Form, before: Option<&str>) -> Vec<String> {
    let entries = |text: &str| entries(text.trim_start_matches(MARK), form).unwrap_or_default();
    let plain = before.map(entries);
    let proven = |entry: &Entry, server: &str| {
        let Some(plain) = &plain else { return true };
        plain.iter().any(|other| other.name == entry.name && other.words().first() == Some(&server))
    };
    let mut programs = Vec::new();
    for entry in entries(text) {
        let words = entry.words();
        if let Some(count) = entry.words_of_gateway(&|_| true)
            && proven(&entry, words[count + 1])
        {
            programs.push(words[0].to_owned());
        }
    }
    programs.sort();
    programs.dedup();
    programs
}

impl Edited {
    /// Whether no server went through the gateway before. Only such a text is worth a copy.
    pub(super) fn was_plain(&self) -> bool {
        !self.left.iter().any(|(_, why)| *why == ALREADY)
    }
}

impl Entry {
    /// The program and all its arguments.
    fn words(&self) -> Vec<&str> {
        let (program, list) = match &self.command {
            Command::Program(word, list) => (Some(word), list.as_ref()),
            Command::Words(list) => (None, Some(list)),
            Command::None => (None, None),
        };
        let rest = list.into_iter().flat_map(|list| &list.words);
        program.into_iter().chain(rest).map(|word| word.said.as_str()).collect()
    }

    /// Whether the program is the gateway, with or without a server's command as its arguments.
    fn is_gateway(&self, is_us: &dyn Fn(&str) -> bool) -> bool {
        match self.words()[..] {
            [program, ref rest @ ..] => {
                is_us(program)
                    && rest.iter().take_while(|word| **word != GATEWAY[1]).any(|word| *word == GATEWAY[0])
            }
            [] => false,
        }
    }

    /// Number of the gateway's own arguments, if a server's command follows them.
    fn words_of_gateway(&self, is_us: &dyn Fn(&str) -> bool) -> Option<usize> {
        let words = self.words();
        let count = words.iter().position(|word| *word == GATEWAY[1])?;
        (self.is_gateway(is_us) && words.len() > count + 1).then_some(count)
    }
}

/// Changes of a text, or the reason why there are none.
type Changes = Result<Vec<(Range<usize>, String)>, &'static str>;

fn edited(whole: &str, form: Form, change: impl Fn(&str, &Entry) -> Changes) -> Result<Edited, Unfit> {
    let text = whole.trim_start_matches(MARK);
    let mut changes = Vec::new();
    let mut edited = Edited { text: text.to_owned(), changed: Vec::new(), left: Vec::new() };
    for entry in entries(text, form)? {
        match change(text, &entry) {
            Ok(some) => {
                changes.extend(some);
                edited.changed.push(entry.name);
            }
            Err(why) => edited.left.push((entry.name, why)),
        }
    }
    // From the end, so that earlier offsets stay valid.
    changes.sort_by_key(|(at, _)| std::cmp::Reverse((at.start, at.end)));
    for (at, new) in changes {
        edited.text.replace_range(at, &new);
    }
    edited.text.insert_str(0, &whole[..whole.len() - text.len()]);
    Ok(edited)
}

fn entries(text: &str, form: Form) -> Result<Vec<Entry>, Unfit> {
    match form {
        Form::Servers(key) => in_json(text, key),
        Form::Toml(key) => in_toml(text, key),
    }
}

/// A word in quotes, which are the same in JSON and TOML.
fn quoted(word: &str) -> String {
    serde_json::Value::from(word).to_string()
}

fn in_json(text: &str, key: &str) -> Result<Vec<Entry>, Unfit> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default())
        .map_err(|error| Unfit::NotParsed { form: "JSON", why: error.to_string() })?;
    let Some(Value::Object(file)) = &parsed.value else {
        return Err(Unfit::NotParsed { form: "JSON", why: "it is no object".to_owned() });
    };
    let projects = file.get_object("projects").into_iter().flat_map(|projects| &projects.properties);
    let projects = projects.filter_map(|project| project.value.as_object());
    let places: Vec<&Object> = [file].into_iter().chain(projects).collect();
    let servers = places.into_iter().filter_map(|place| place.get_object(key));
    let entries: Vec<Entry> = servers
        .flat_map(|servers| &servers.properties)
        .map(|server| Entry { name: server.name.as_str().to_owned(), command: json_command(&server.value) })
        .collect();
    if entries.is_empty() {
        Err(Unfit::NoServers(format!("\"{key}\" is missing or empty")))
    } else {
        Ok(entries)
    }
}

fn json_command(server: &Value) -> Command {
    let Some(server) = server.as_object() else { return Command::None };
    let list = |array: &Array| {
        let words = array.elements.iter().map(|word| {
            let word = word.as_string_lit()?;
            Some(Word { at: word.range.start..word.range.end, said: word.value.to_string() })
        });
        let range = array.range();
        Some(List { at: range.start..range.end, words: words.collect::<Option<_>>()? })
    };
    match server.get("command").map(|command| &command.value) {
        Some(Value::StringLit(word)) => {
            let word = Word { at: word.range.start..word.range.end, said: word.value.to_string() };
            match server.get("args").map(|args| &args.value) {
                None => Command::Program(word, None),
                Some(args) => match args.as_array().and_then(list) {
                    Some(args) => Command::Program(word, Some(args)),
                    None => Command::None,
                },
            }
        }
        Some(Value::Array(words)) => match list(words) {
            Some(words) if !words.words.is_empty() => Command::Words(words),
            _ => Command::None,
        },
        _ => Command::None,
    }
}

fn in_toml(text: &str, key: &str) -> Result<Vec<Entry>, Unfit> {
    let file = Document::parse(text)
        .map_err(|error| Unfit::NotParsed { form: "TOML", why: error.message().to_owned() })?;
    let servers = file.get(key).and_then(Item::as_table_like);
    let entries: Vec<Entry> = servers
        .into_iter()
        .flat_map(TableLike::iter)
        .map(|(name, server)| Entry { name: name.to_owned(), command: toml_command(server) })
        .collect();
    if entries.is_empty() { Err(Unfit::NoServers(format!("[{key}.NAME] is missing"))) } else { Ok(entries) }
}

fn toml_command(server: &Item) -> Command {
    let word = |value: &toml_edit::Value| Some(Word { at: value.span()?, said: value.as_str()?.to_owned() });
    let Some(server) = server.as_table_like() else { return Command::None };
    let Some(command) = server.get("command").and_then(Item::as_value).and_then(word) else {
        return Command::None;
    };
    match server.get("args") {
        None => Command::Program(command, None),
        Some(args) => {
            let list = args.as_array().and_then(|array| {
                Some(List { at: array.span()?, words: array.iter().map(word).collect::<Option<_>>()? })
            });
            list.map_or(Command::None, |list| Command::Program(command, Some(list)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn is_forebay(program: &str) -> bool {
        program.ends_with("forebay")
    }

    fn check(form: Form, text: &str, expected: Expect) {
        let wrapped = wrapped(text, form, "forebay", &is_forebay).unwrap();
        expected.assert_eq(&wrapped.text);
        let again = super::wrapped(&wrapped.text, form, "forebay", &is_forebay).unwrap();
        assert_eq!(
            (again.text.as_str(), again.changed.len()),
            (wrapped.text.as_str(), 0),
            "nothing is wrapped twice"
        );
        let back = unwrapped(&wrapped.text, form, &is_forebay).unwrap();
        assert_eq!(back.changed, wrapped.changed);
    }

    #[test]
    fn only_the_words_of_commands_change() {
        check(
            Form::Servers("mcpServers"),
            "{\n  // mine\n  \"mcpServers\": {\n    \"files\": { \"command\": \"npx\", \"args\": [\n      \"-y\", /* all */ \"x\" ], \"env\": {\"A\": \"1\"} },\n    \"web\": {\"url\": \"https://example.org\"},\n    \"bare\": {\"command\": \"uvx\"},\n  },\n  \"other\": 1.0\n}\n",
            expect![[r#"
                {
                  // mine
                  "mcpServers": {
                    "files": { "command": "forebay", "args": ["mcp", "--", "npx", 
                      "-y", /* all */ "x" ], "env": {"A": "1"} },
                    "web": {"url": "https://example.org"},
                    "bare": {"command": "forebay", "args": ["mcp", "--", "uvx"]},
                  },
                  "other": 1.0
                }
            "#]],
        );
        check(
            Form::Servers("mcp"),
            r#"{"mcp": {"a": {"type": "local", "command": ["bun", "x"]}}}"#,
            expect![[
                r#"{"mcp": {"a": {"type": "local", "command": ["forebay", "mcp", "--", "bun", "x"]}}}"#
            ]],
        );
        check(
            Form::Toml("mcp_servers"),
            "model = \"x\" # mine\n\n[mcp_servers.files]\ncommand = 'npx' # here\nargs = [\n  \"-y\", # yes\n]\n[mcp_servers.bare]\ncommand = \"uvx\"\n",
            expect![[r#"
                model = "x" # mine

                [mcp_servers.files]
                command = "forebay" # here
                args = ["mcp", "--", "npx", 
                  "-y", # yes
                ]
                [mcp_servers.bare]
                command = "forebay"
                args = ["mcp", "--", "uvx"]
            "#]],
        );
    }

    #[test]
    fn a_text_that_was_changed_since_is_unwrapped_word_by_word() {
        let text =
            r#"{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"]}, "b": {"command": ["q"]}}}"#;
        let wrapped = wrapped(text, Form::Servers("mcpServers"), "/opt/forebay", &is_forebay).unwrap();
        let changed = wrapped.text.replace("}}}", "}, \"c\": {\"command\": \"new\"}}}");
        let back = unwrapped(&changed, Form::Servers("mcpServers"), &is_forebay).unwrap();
        assert_eq!(back.text, text.replace("}}}", "}, \"c\": {\"command\": \"new\"}}}"));
        assert_eq!(back.changed, ["a", "b"]);
        assert_eq!(back.left, [("c".to_owned(), "it does not go through the gateway")]);
    }

    #[test]
    fn projects_have_servers_of_their_own() {
        let text = r#"{"projects": {"/p": {"mcpServers": {"a": {"command": "x"}}}}}"#;
        let wrapped = |text: &str, form| wrapped(text, form, "forebay", &is_forebay);
        assert_eq!(wrapped(text, Form::Servers("mcpServers")).unwrap().changed, ["a"]);
        assert!(wrapped("{}", Form::Servers("mcpServers")).is_err());
        assert!(wrapped("{", Form::Servers("mcpServers")).is_err());
        assert!(wrapped("x = ", Form::Toml("mcp_servers")).is_err());
    }

    #[test]
    fn a_command_of_the_gateway_is_known_whatever_flags_it_has() {
        let form = Form::Servers("s");
        let file = |words: &str| format!("{{\"s\": {{\"a\": {{\"command\": [{words}]}}}}}}");
        // The words of the command, whether it is wrapped already, and what unwrapping leaves.
        let table = [
            (r#""forebay", "mcp", "--", "npx", "x""#, true, Some(r#""npx", "x""#)),
            (r#""/opt/forebay", "mcp", "--timeout", "9s", "--", "npx""#, true, Some(r#""npx""#)),
            (r#""forebay", "--session", "s", "mcp", "--", "npx""#, true, Some(r#""npx""#)),
            (r#""forebay", "mcp", "--url", "https://x""#, true, None),
            (r#""forebay", "run", "--", "mcp""#, false, None),
            (r#""other", "mcp", "--", "npx""#, true, None),
            (r#""other", "mcp", "gateway", "--", "npx""#, false, None),
        ];
        for (words, is_left, back) in table {
            let text = file(words);
            assert_eq!(
                wrapped(&text, form, "forebay", &is_forebay).unwrap().changed.is_empty(),
                is_left,
                "{words}"
            );
            assert_eq!(
                unwrapped(&text, form, &is_forebay).unwrap().text,
                file(back.unwrap_or(words)),
                "{words}"
            );
        }
    }

    #[test]
    fn a_gateway_of_any_name_is_proved_by_the_text_before_it_was_wrapped() {
        let form = Form::Servers("s");
        let text = r#"{"s": {"a": {"command": "/x/fb", "args": ["mcp", "--", "npx"]}, "b": {"command": "tool", "args": ["mcp", "--", "y"]}}}"#;
        let before =
            r#"{"s": {"a": {"command": "npx"}, "b": {"command": "tool", "args": ["mcp", "--", "y"]}}}"#;
        assert_eq!(gateways(text, form, Some(before)), ["/x/fb"]);
        assert_eq!(gateways(text, form, None), ["/x/fb", "tool"]);
    }
}
