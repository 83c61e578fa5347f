//! Keys that a filter names, strings that it compares with, and the records it goes through.

use crate::Result;
use crate::classify::json::member;
use crate::query::json::jq::plan::{flat, integer, text};
use crate::query::json::jq::program::{Tree, tree, visit};
use jaq_core::load::parse::Term;
use jaq_core::path::{Part, Path};
use std::collections::BTreeSet;

/// Keys, strings and records that a filter searches for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LookedFor {
    /// Keys that it looks up and does not construct itself.
    pub(crate) keys: BTreeSet<String>,
    /// Strings in it that are not keys.
    pub(crate) strings: BTreeSet<String>,
    /// The path to the records that it goes through first, which ends with `[]`.
    pub(crate) records: String,
}

/// Filters that make objects, with the keys of these objects.
const MAKERS: &[(&str, &[&str])] = &[
    ("to_entries", &["key", "value"]),
    ("with_entries", &["key", "value"]),
    ("from_entries", &["key", "value", "name", "k", "v"]),
    ("match", &["offset", "length", "string", "captures", "name"]),
];

/// Finds the keys, strings and records of a filter. One that does not parse is an error.
pub(crate) fn looked_for(code: &str) -> Result<LookedFor> {
    let tree = tree(code)?;
    let (mut found, mut made, mut named) = (LookedFor::default(), BTreeSet::new(), BTreeSet::new());
    visit(&tree, &mut |term| match term {
        Term::Path(_, Path(parts)) => {
            let indices =
                parts.iter().filter_map(|(part, _)| if let Part::Index(at) = part { Some(at) } else { None });
            found.keys.extend(indices.filter_map(text));
        }
        Term::Obj(members) => {
            for (key, value) in members {
                let Some(key) = text(key) else { continue };
                // A key alone is looked up, and then made.
                if value.is_none() {
                    found.keys.insert(key.clone());
                } else {
                    made.insert(key.clone());
                }
                named.insert(key);
            }
        }
        Term::Call(name, args) => {
            let keys = MAKERS.iter().filter(|(maker, _)| maker == name).flat_map(|(_, keys)| *keys);
            made.extend(keys.map(|key| (*key).to_owned()));
            if *name == "has" {
                found.keys.extend(args.iter().filter_map(text));
            }
        }
        Term::Str(..) => found.strings.extend(text(term)),
        _ => {}
    });
    found.strings.retain(|string| !found.keys.contains(string) && !named.contains(string));
    found.keys.retain(|key| !made.contains(key));
    found.records = records_path(&tree);
    Ok(found)
}

/// The path that a filter begins with, up to the last `[]` in it.
fn records_path(tree: &Tree) -> String {
    let mut path = ".".to_owned();
    begin(tree, &mut path);
    match path.rfind("[]") {
        Some(at) => path[..at + 2].to_owned(),
        None => path + "[]",
    }
}

/// Adds the path that a filter begins with; returns whether the filter is only a path.
fn begin(tree: &Tree, path: &mut String) -> bool {
    for atom in flat(tree) {
        let goes_on = match &atom {
            Term::Path(of, Path(parts)) if matches!(**of, Term::Id) => match parts.as_slice() {
                [(Part::Range(None, None), _)] => {
                    path.push_str("[]");
                    true
                }
                [(Part::Index(index), _)] => match (text(index), integer(index)) {
                    (Some(key), _) => {
                        *path = member(path, &key);
                        true
                    }
                    (None, Some(number)) => {
                        path.push_str(&format!("[{number}]"));
                        true
                    }
                    _ => false,
                },
                _ => false,
            },
            Term::Call("map", args) if args.len() == 1 => {
                path.push_str("[]");
                begin(&args[0], path);
                false
            }
            Term::Arr(Some(inner)) => {
                begin(inner, path);
                false
            }
            _ => false,
        };
        if !goes_on {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_strings_and_records_of_a_filter_are_found() {
        let table = [
            ("length", "", "", ".[]"),
            (".items | length", "items", "", ".items[]"),
            ("[.items[] | select(.status == \"open\")] | length", "items status", "open", ".items[]"),
            (".items | map(select(.a.b > 2) | .c) | add", "a b c items", "", ".items[]"),
            ("[.pages[].rows[] | .x] | add / length", "pages rows x", "", ".pages[].rows[]"),
            ("group_by(.k) | map({kind: .[0].k, n: length})", "k", "", ".[]"),
            ("map({name, size: .bytes}) | map(.size)", "bytes name", "", ".[]"),
            ("to_entries | map(select(.value.ok) | .key)", "ok", "", ".[]"),
            (".[] | select(has(\"x y\")) | .[\"x y\"]", "x y", "", ".[]"),
            (".[0].name", "name", "", ".[0].name[]"),
        ];
        for (code, keys, strings, records) in table {
            let found = looked_for(code).unwrap();
            let joined = |set: BTreeSet<String>| set.into_iter().collect::<Vec<_>>().join(" ");
            let all = (joined(found.keys), joined(found.strings), found.records);
            assert_eq!(all, (keys.to_owned(), strings.to_owned(), records.to_owned()), "{code}");
        }
        assert!(looked_for(".items[ | length").is_err());
    }
}
