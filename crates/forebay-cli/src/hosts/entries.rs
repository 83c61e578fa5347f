//! Adds and removes Forebay's entries in a host's JSON settings, in place: comments, order and formatting of the rest
//! stay.
//!
//! An entry is recognised by the command that it runs, not by the path of the program. So an entry of an earlier
//! version is replaced, and never duplicated.

use crate::client_file::is_us;
use crate::error::CliError;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

/// Commands that only read outputs; a host may run them without asking.
pub(crate) const READS: [&str; 9] = ["read", "head", "tail", "grep", "json", "outline", "ask", "show", "ls"];

/// Name of the program that runs in place of the shell of Claude Code.
pub(crate) const SHELL: &str = "/forebay-shell";

/// One entry: its place and its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    /// Keys from the top of the file to the list or the value.
    pub(crate) path: &'static [&'static str],
    pub(crate) what: What,
}

/// Form of an entry.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    /// An item of the list at the path.
    Item(Value),
    /// The value at the path. A value that the user has set stays.
    Value(Value),
    /// A value that the file must have, even if the user has set it.
    Needed(Value),
}

/// A text with our entries.
#[derive(Debug, PartialEq)]
pub(crate) struct Added {
    pub(crate) text: String,
    /// Values that the user has set at our paths: key and value.
    pub(crate) taken: Vec<(String, String)>,
}

/// Byte order mark, which Windows editors put before UTF-8. It stays, and is not part of the text.
const MARK: char = '\u{feff}';

/// Adds entries to a text, which may be empty. Removes our earlier entries first.
pub(crate) fn add(text: &str, entries: &[Entry]) -> Result<Added, CliError> {
    let without = remove(text, entries)?;
    let (mark, body) = split_mark(&without);
    let root = parse(if body.trim().is_empty() { "{}\n" } else { body })?;
    let top = root.object_value().ok_or_else(no_object)?;
    let mut taken = Vec::new();
    for entry in entries {
        let Some((last, folders)) = entry.path.split_last() else { continue };
        let mut place = top.clone();
        for key in folders {
            place = place.object_value_or_create(key).ok_or_else(|| unfit(key, "an object"))?;
        }
        match &entry.what {
            What::Item(value) => {
                let list = place.array_value_or_create(last).ok_or_else(|| unfit(last, "a list"))?;
                list.ensure_multiline();
                list.append(input(value));
            }
            What::Value(value) => match place.get(last) {
                None => drop(place.append(last, input(value))),
                Some(there) => {
                    let there = there.value().map_or(String::new(), |value| value.to_string());
                    taken.push((entry.path.join("."), there));
                }
            },
            What::Needed(value) => {
                if place.get(last).is_none() {
                    place.insert(0, last, input(value));
                }
            }
        }
    }
    let added = format!("{mark}{root}");
    // Existing entries stay unchanged.
    let is_same = value_of(&added)? == value_of(text)?;
    Ok(Added { text: if is_same { text.to_owned() } else { added }, taken })
}

/// Removes our entries from a text, and the lists and objects that this leaves empty.
pub(crate) fn remove(text: &str, entries: &[Entry]) -> Result<String, CliError> {
    let (mark, body) = split_mark(text);
    if body.trim().is_empty() {
        return Ok(text.to_owned());
    }
    let root = parse(body)?;
    let top = root.object_value().ok_or_else(no_object)?;
    let is_needed = |entry: &&Entry| matches!(entry.what, What::Needed(_));
    let mut paths: Vec<&[&str]> =
        entries.iter().filter(|entry| !is_needed(entry)).map(|entry| entry.path).collect();
    paths.dedup();
    let mut removed = false;
    for path in paths {
        removed |= remove_at(&top, path);
    }
    // A value that every such file must have is removed only if nothing else is left in the file.
    let needed: Vec<&Entry> = entries.iter().filter(is_needed).collect();
    let is_rest = |name: Option<String>| needed.iter().any(|entry| Some(entry.path[0]) == name.as_deref());
    if removed && top.properties().iter().all(|property| is_rest(property.decoded_name())) {
        top.properties().into_iter().for_each(|property| property.remove());
    }
    Ok(format!("{mark}{root}"))
}

/// Removes our entries at a path. Returns whether anything was removed.
fn remove_at(place: &CstObject, path: &[&str]) -> bool {
    let Some((key, rest)) = path.split_first() else { return false };
    let Some(property) = place.get(key) else { return false };
    if !rest.is_empty() {
        let Some(inner) = property.object_value() else { return false };
        let removed = remove_at(&inner, rest);
        if removed && inner.properties().is_empty() {
            property.remove();
        }
        return removed;
    }
    let removed = match property.array_value() {
        Some(list) => {
            let removed = remove_items(&list);
            if !removed || !list.elements().is_empty() {
                return removed;
            }
            true
        }
        None => property.value().and_then(|value| plain(&value)).is_some_and(|value| is_ours(&value)),
    };
    if removed {
        property.remove();
    }
    removed
}

/// Removes our items from a list. From a group of handlers, removes only ours.
fn remove_items(list: &CstArray) -> bool {
    let mut removed = false;
    for item in list.elements() {
        let handlers = item.as_object().and_then(|group| group.array_value("hooks"));
        if let Some(handlers) = handlers {
            let ours: Vec<CstNode> = handlers
                .elements()
                .into_iter()
                .filter(|handler| plain(handler).is_some_and(|value| is_ours(&value)))
                .collect();
            removed |= !ours.is_empty();
            if ours.len() == handlers.elements().len() && !ours.is_empty() {
                item.remove();
            } else {
                ours.into_iter().for_each(CstNode::remove);
            }
        } else if plain(&item).is_some_and(|value| is_ours(&value)) {
            item.remove();
            removed = true;
        }
    }
    removed
}

/// Whether a value starts one of our commands, or is a rule that allows one.
pub(crate) fn is_ours(value: &Value) -> bool {
    match value {
        Value::String(text) => starts_us(text),
        Value::Object(fields) => ["command", "bash"].iter().any(|key| fields.get(*key).is_some_and(is_ours)),
        _ => false,
    }
}

/// Whether a text is a command of ours that `init` writes: `forebay hook HOST`, `/…/forebay-shell`, or a rule such as
/// `Bash(forebay read:*)`.
pub(crate) fn starts_us(text: &str) -> bool {
    let ours = |program: &str| is_us(program.trim().trim_matches(['\'', '"']));
    if text.ends_with(SHELL) {
        return true;
    }
    if let Some((program, _)) = text.split_once(" hook ") {
        return ours(program);
    }
    let rule = text.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    rule.and_then(|rule| rule.rsplit_once(' '))
        .is_some_and(|(program, verb)| READS.contains(&verb.trim_end_matches(['*', ':'])) && ours(program))
}

fn split_mark(text: &str) -> (&str, &str) {
    let body = text.trim_start_matches(MARK);
    (&text[..text.len() - body.len()], body)
}

fn parse(text: &str) -> Result<CstRootNode, CliError> {
    CstRootNode::parse(text, &ParseOptions::default())
        .map_err(|error| CliError::usage(format!("not JSON: {error}")))
}

fn no_object() -> CliError {
    CliError::usage("not JSON settings: the file holds no object")
}

fn unfit(key: &str, wanted: &str) -> CliError {
    CliError::usage(format!("\"{key}\" is not {wanted}"))
}

/// Value of a node without comments.
fn plain(node: &CstNode) -> Option<Value> {
    jsonc_parser::parse_to_value(&node.to_string(), &ParseOptions::default()).ok().flatten().map(json)
}

fn json(value: jsonc_parser::JsonValue<'_>) -> Value {
    use jsonc_parser::JsonValue;
    match value {
        JsonValue::String(text) => Value::String(text.into_owned()),
        JsonValue::Number(number) => serde_json::from_str(number).unwrap_or(Value::Null),
        JsonValue::Boolean(is) => Value::Bool(is),
        JsonValue::Object(object) => {
            Value::Object(object.into_iter().map(|(key, value)| (key.to_string(), json(value))).collect())
        }
        JsonValue::Array(array) => Value::Array(array.into_iter().map(json).collect()),
        JsonValue::Null => Value::Null,
    }
}

/// Value of a whole text in JSON with comments.
pub(crate) fn value_of(text: &str) -> Result<Value, CliError> {
    let body = text.trim_start_matches(MARK);
    let parsed = jsonc_parser::parse_to_value(body, &ParseOptions::default())
        .map_err(|error| CliError::usage(format!("not JSON: {error}")))?;
    Ok(parsed.map_or(Value::Null, json))
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(is) => CstInputValue::Bool(*is),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn entries(program: &str) -> Vec<Entry> {
        let handler = json!({"type": "command", "command": format!("{program} hook claude-code")});
        vec![
            Entry {
                path: &["hooks", "PostToolUse"],
                what: What::Item(json!({"matcher": "Bash", "hooks": [handler]})),
            },
            Entry { path: &["env", "PREFIX"], what: What::Value(json!(format!("{program}-shell"))) },
            Entry {
                path: &["permissions", "allow"],
                what: What::Item(json!(format!("Bash({program} read:*)"))),
            },
        ]
    }

    #[test]
    fn entries_are_added_and_the_rest_stays_as_it_is() {
        let check = |text: &str, expected: Expect| {
            let added = add(text, &entries("/opt/forebay")).unwrap();
            expected.assert_eq(&added.text);
            assert_eq!(add(&added.text, &entries("/opt/forebay")).unwrap(), added, "nothing is added twice");
            let moved = add(&added.text, &entries("/usr/bin/forebay")).unwrap().text;
            let expected = added.text.replace("/opt/forebay", "/usr/bin/forebay");
            assert_eq!(value_of(&moved).unwrap(), value_of(&expected).unwrap(), "{text}");
            let back = remove(&added.text, &entries("x")).unwrap();
            assert_eq!(
                value_of(&back).unwrap(),
                value_of(if text.is_empty() { "{}" } else { text }).unwrap()
            );
        };
        check(
            "",
            expect![[r#"
            {
              "hooks": {
                "PostToolUse": [
                  {
                    "matcher": "Bash",
                    "hooks": [
                      {
                        "type": "command",
                        "command": "/opt/forebay hook claude-code"
                      }
                    ]
                  }
                ]
              },
              "env": {
                "PREFIX": "/opt/forebay-shell"
              },
              "permissions": {
                "allow": [
                  "Bash(/opt/forebay read:*)"
                ]
              }
            }
        "#]],
        );
        check(
            "{\n  // mine\n  \"hooks\": {\n    \"PostToolUse\": [ // all of them\n      { \"matcher\": \"Edit\", \"hooks\": [{ \"type\": \"command\", \"command\": \"fmt\" }] }\n    ]\n  },\n  \"env\": { \"A\": \"1\" }, /* end */\n}\n",
            expect![[r#"
                {
                  // mine
                  "hooks": {
                    "PostToolUse": [ // all of them
                      { "matcher": "Edit", "hooks": [{ "type": "command", "command": "fmt" }] },
                      {
                        "matcher": "Bash",
                        "hooks": [
                          {
                            "type": "command",
                            "command": "/opt/forebay hook claude-code"
                          }
                        ]
                      }
                    ]
                  },
                  "env": {
                    "A": "1",
                    "PREFIX": "/opt/forebay-shell"
                  }, /* end */
                  "permissions": {
                    "allow": [
                      "Bash(/opt/forebay read:*)"
                    ]
                  },
                }
            "#]],
        );
    }

    #[test]
    fn a_value_of_somebody_else_stays_and_is_named() {
        let added = add(r#"{"env": {"PREFIX": "/usr/bin/log.sh"}}"#, &entries("/opt/forebay")).unwrap();
        assert_eq!(added.taken, [("env.PREFIX".to_owned(), "\"/usr/bin/log.sh\"".to_owned())]);
        assert!(added.text.contains(r#""PREFIX": "/usr/bin/log.sh""#), "{}", added.text);
    }

    #[test]
    fn what_cannot_be_changed_is_refused() {
        for text in ["{", "[]", r#"{"hooks": []}"#, r#"{"hooks": {"PostToolUse": {}}}"#] {
            assert!(add(text, &entries("/opt/forebay")).is_err(), "{text}");
        }
    }

    #[test]
    fn an_entry_is_ours_by_what_it_starts() {
        let table = [
            ("forebay hook codex", true),
            ("'/opt/my tools/forebay' hook codex", true),
            ("/home/my name/.claude/forebay-shell", true),
            ("/opt/forebay-0.9 hook claude-code", true),
            ("Bash(forebay read:*)", true),
            ("Shell(/opt/forebay ls)", true),
            ("Bash(forebay clean:*)", false),
            ("other hook codex", false),
            ("/usr/bin/log.sh", false),
            ("echo forebay", false),
        ];
        for (text, ours) in table {
            assert_eq!(starts_us(text), ours, "{text}");
        }
    }
}
