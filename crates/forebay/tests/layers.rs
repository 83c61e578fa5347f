//! Imports go downward: a module uses only modules of its own layer and of the layers below.
//!
//! The test reads the sources of four crates. It looks at every path that begins with `crate::` or leaves a folder with
//! `super::`, and follows what `lib.rs` exports. Code for tests is left out: unit tests of low layers make outputs with
//! a store.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its sources fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The layers of the library, bottom up. ARCHITECTURE.md shows them as a picture.
const LAYERS: &[(&str, &[&str])] = &[
    (
        "base",
        &[
            "clock", "call", "error", "handle", "kind", "limits", "record", "settings", "size", "stop",
            "terminal", "text", "threads", "tokens",
        ],
    ),
    ("request", &["request", "surface"]),
    ("store", &["bounds", "event", "output", "store"]),
    ("formats", &["classify", "formats"]),
    ("rank", &["outline", "rank"]),
    ("view", &["view"]),
    ("digest", &["digest", "presets"]),
    ("query", &["query"]),
    ("outputs", &["accounting", "outputs", "reply", "room"]),
    ("wire", &["wire"]),
    ("built", &["archive", "extract", "forms", "model", "stats"]),
    ("tools", &["tools"]),
    ("lib", &["lib"]),
];

/// The layers of the HTTP server, bottom up.
const SERVER_LAYERS: &[(&str, &[&str])] = &[
    ("base", &["listener", "metrics", "page", "timeouts", "uploads", "error", "random", "problem"]),
    ("auth", &["auth", "encoding", "local_token", "slots"]),
    ("routing", &["config", "endpoint", "openapi", "state"]),
    ("request", &["request", "sweep"]),
    ("handlers", &["archives", "browse", "calls", "health", "outputs", "put", "queries", "sessions"]),
    ("routes", &["routes"]),
    ("server", &["server"]),
    ("lib", &["lib"]),
];

/// The layers of the MCP gateway, bottom up.
const MCP_LAYERS: &[(&str, &[&str])] = &[
    ("base", &["client_limits", "diagnostics", "error", "params", "random", "scan", "stdio", "text"]),
    ("message", &["message"]),
    ("parts", &["listing", "resources", "result", "rpc", "sse"]),
    ("server", &["fold", "server"]),
    ("gateway", &["config", "gateway"]),
    ("conversation", &["conversation"]),
    ("client", &["client"]),
    ("lib", &["lib"]),
];

/// The layers of the command line, bottom up.
const CLI_LAYERS: &[(&str, &[&str])] = &[
    ("base", &["error", "fallback", "family", "filter_process", "pty", "stop", "units"]),
    ("print", &["args", "bounds", "print"]),
    ("settings", &["hosts", "launch", "live_log", "models", "progress"]),
    ("context", &["capture", "screen", "settings"]),
    ("shared", &["context"]),
    ("commands", &["commands"]),
    ("typed", &["typed"]),
    ("main", &["main"]),
];

/// A crate whose imports go downward: its folder, its root and its layers.
struct Crate {
    folder: &'static str,
    root: &'static str,
    layers: &'static [(&'static str, &'static [&'static str])],
}

const CRATES: [Crate; 4] = [
    Crate { folder: "forebay", root: "lib", layers: LAYERS },
    Crate { folder: "forebay-server", root: "lib", layers: SERVER_LAYERS },
    Crate { folder: "forebay-mcp", root: "lib", layers: MCP_LAYERS },
    Crate { folder: "forebay-cli", root: "main", layers: CLI_LAYERS },
];

#[test]
fn no_module_imports_from_a_layer_above_it() {
    let upward: Vec<String> = CRATES.iter().flat_map(upward_imports).collect();
    assert!(upward.is_empty(), "imports from a layer above:\n{}", upward.join("\n"));
}

/// The imports of a crate from a layer above, as lines.
fn upward_imports(of: &Crate) -> BTreeSet<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let sources = sources(&crates.join(of.folder).join("src"));
    let exports = exports(&sources[of.root]);
    let layer = |module: &str| of.layers.iter().position(|(_, modules)| modules.contains(&module));
    let modules: BTreeSet<&str> = sources.keys().filter_map(|name| name.split('/').next()).collect();
    let mut upward = BTreeSet::new();
    for (name, source) in sources.iter().filter(|(name, _)| *name != of.root) {
        let module = name.split('/').next().unwrap_or(name);
        let from = layer(module)
            .unwrap_or_else(|| panic!("{}: {module} is in no layer; add it to its list", of.folder));
        for used in used(source, name) {
            let to = match exports.get(&used) {
                // Types of other crates are below everything.
                Some(module) if !modules.contains(module.as_str()) => continue,
                Some(module) => module.clone(),
                None if modules.contains(used.as_str()) => used,
                None => of.root.to_owned(),
            };
            if layer(&to).is_none_or(|to| to > from) {
                upward.insert(format!("{}: {name} imports {to}", of.folder));
            }
        }
    }
    upward
}

#[test]
fn paths_are_found_wherever_they_stand() {
    let table = [
        ("use crate::view::View;", "query/ask", vec!["view"]),
        ("use crate::{Budget, query::{self, Grep as G}, text};", "view", vec!["Budget", "query", "text"]),
        ("fn f() { crate::tokens::count(\"crate::store::x\") } // crate::event", "view", vec!["tokens"]),
        ("use super::super::super::view::X; use super::ask;", "query/ask/rank", vec!["view"]),
        ("#[cfg(test)]\nmod tests { use crate::store::X; }\nuse crate::call::Call;", "view", vec!["call"]),
        ("#[cfg(test)]\nuse crate::store::X;\nuse crate::call::Call;", "view", vec!["call"]),
    ];
    for (source, name, expected) in table {
        let found = used(&code(source), name);
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected, "{source}");
    }
}

/// The code of each file by its path without `.rs`, without the files that are only for tests.
fn sources(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root).unwrap().with_extension("");
                let name = name.to_string_lossy().replace('\\', "/");
                found.insert(name, code(&std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let only_for_tests: Vec<String> = found
        .iter()
        .flat_map(|(name, source)| {
            let folder =
                if ["lib", "main"].contains(&name.as_str()) { String::new() } else { format!("{name}/") };
            test_modules(source).into_iter().map(move |module| format!("{folder}{module}"))
        })
        .collect();
    let is_for_tests =
        |name: &str| only_for_tests.iter().any(|test| name == test || name.starts_with(&format!("{test}/")));
    found.retain(|name, _| !is_for_tests(name));
    found.into_iter().map(|(name, source)| (name, without_tests(&source))).collect()
}

/// Source text without comments and without what stands in strings and characters.
fn code(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut code = String::new();
    let mut at = 0;
    let end_of = |from: usize, end: &str| source[from..].find(end).map_or(source.len(), |found| from + found);
    while at < bytes.len() {
        let rest = &source[at..];
        let starts_word = at == 0 || !(bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
        let raw = rest.trim_start_matches(['b', 'r']);
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let is_raw = starts_word
            && rest[..rest.len() - raw.len()].contains('r')
            && rest.len() - raw.len() <= 2
            && raw[hashes..].starts_with('"');
        if rest.starts_with("//") {
            at = end_of(at, "\n");
        } else if is_raw {
            let begin = at + (rest.len() - raw.len()) + hashes + 1;
            let end = format!("\"{}", "#".repeat(hashes));
            at = end_of(begin, &end) + end.len();
        } else if rest.starts_with('"') {
            at += 1;
            while at < bytes.len() && bytes[at] != b'"' {
                at += if bytes[at] == b'\\' { 2 } else { 1 };
            }
            at += 1;
        } else if let Some(length) = character(rest) {
            at += length;
        } else {
            let next = rest.chars().next().unwrap_or(' ');
            code.push(next);
            at += next.len_utf8();
        }
    }
    code
}

/// The bytes of a character literal; `None` for a lifetime and all else.
fn character(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('\'')?;
    let first = inside.chars().next()?;
    let close = if first == '\\' {
        1 + inside[1..].find('\'').filter(|_| !inside.starts_with("\\'"))?
    } else {
        first.len_utf8()
    };
    let close = if inside.starts_with("\\'") { 2 } else { close };
    inside[close..].starts_with('\'').then_some(close + 2)
}

/// Names of the modules that are declared for tests and have files of their own.
fn test_modules(code: &str) -> Vec<String> {
    let behind = code.split("#[cfg(test)]").skip(1);
    let declared = behind.filter_map(|rest| {
        let name = rest
            .trim_start()
            .strip_prefix("pub(crate) ")
            .unwrap_or(rest.trim_start())
            .strip_prefix("mod ")?;
        let (name, _) = name.split_once(';')?;
        name.chars().all(|c| c.is_alphanumeric() || c == '_').then(|| name.to_owned())
    });
    declared.collect()
}

/// Code without the items that are declared for tests.
fn without_tests(code: &str) -> String {
    let mut kept = String::new();
    let mut rest = code;
    while let Some((before, behind)) = rest.split_once("#[cfg(test)]") {
        kept.push_str(before);
        let mut depth = 0;
        let end = behind.char_indices().find(|(_, c)| {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            depth == 0 && matches!(c, ';' | '}')
        });
        rest = end.map_or("", |(end, _)| &behind[end + 1..]);
    }
    kept + rest
}

/// The modules and names below the root of the library that a file uses.
fn used(code: &str, name: &str) -> BTreeSet<String> {
    let code = without_tests(code);
    let mut found = BTreeSet::new();
    let is_path = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
    for (at, _) in code.match_indices("crate::").filter(|(at, _)| is_path(*at)) {
        found.extend(firsts(&code[at + "crate::".len()..]));
    }
    // As many steps up as the file is deep lead to the root.
    let depth = name.split('/').count();
    let steps = "super::".repeat(depth);
    for (at, _) in code.match_indices(&steps).filter(|(at, _)| is_path(*at)) {
        found.extend(firsts(&code[at + steps.len()..]));
    }
    found
}

/// The first names of the paths that begin here: one, or those of a list in braces.
fn firsts(rest: &str) -> Vec<String> {
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let Some(list) = rest.strip_prefix('{') else { return vec![word(rest)] };
    let mut found = Vec::new();
    let (mut depth, mut begins) = (0, true);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            c if begins && !c.is_whitespace() => {
                found.push(word(&list[at..]));
                begins = false;
            }
            _ => {}
        }
    }
    found
}

/// The module of each name that `lib.rs` exports.
fn exports(lib: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for used in lib.split("pub use ").skip(1) {
        let Some((path, _)) = used.split_once(';') else { continue };
        let path = path.strip_prefix("crate::").unwrap_or(path);
        let Some((module, names)) = path.split_once("::") else { continue };
        let names = names.split_once('{').map_or(names, |(_, names)| names).trim_end_matches('}');
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let name = name.rsplit("::").next().unwrap_or(name);
            found.insert(name.to_owned(), module.trim().to_owned());
        }
    }
    found
}
