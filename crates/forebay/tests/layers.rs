//! Imports go downward: a module uses only modules of its own layer and of the layers below. Inside a layer, files do not
//! import each other in a circle.
//!
//! The tests read the sources of five crates. They look at every path that begins with `crate::`, `super::` or `self::`
//! or in a `use` of a child, and follow re-exports. Code for tests is left out: unit tests of low layers make outputs
//! with a store.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its sources fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The layers of the library, bottom up. ARCHITECTURE.md shows them as a picture.
const LAYERS: &[(&str, &[&str])] = &[
    (
        "base",
        &[
            "clock", "call", "error", "formats", "handle", "kind", "limits", "masking", "record", "settings",
            "size", "stop", "terminal", "text", "threads", "tokens",
        ],
    ),
    ("request", &["request", "surface"]),
    ("store", &["bounds", "event", "output", "store"]),
    ("classify", &["classify", "weights"]),
    ("rank", &["outline", "rank"]),
    ("compact", &["compact"]),
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
    ("base", &["listener", "metrics", "page", "tenant", "timeouts", "uploads", "error", "random", "problem"]),
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

/// The layers of the shared store, bottom up.
const STORE_LAYERS: &[(&str, &[&str])] = &[
    ("base", &["cache", "encryption", "error", "failure", "frames", "runtime", "window"]),
    ("database", &["database", "key"]),
    ("bucket", &["blobs", "session_keys"]),
    ("servers", &["address", "schema"]),
    ("backend", &["backend"]),
    ("row", &["row"]),
    ("parts", &["content", "log", "reader", "rooms", "room_notes"]),
    ("folder", &["mirror_folder"]),
    ("ended", &["ended", "probe", "removal", "settle"]),
    ("sink", &["sink"]),
    ("store", &["store"]),
    ("mirror", &["mirror", "read_through"]),
    ("lib", &["lib"]),
];

/// The layers of the command line, bottom up.
const CLI_LAYERS: &[(&str, &[&str])] = &[
    ("base", &["error", "fallback", "family", "filter_process", "pty", "stop", "units"]),
    ("print", &["args", "bounds", "print"]),
    ("settings", &["client_file", "hosts", "launch", "live_log", "models", "progress", "sealing", "shared"]),
    ("context", &["capture", "screen", "settings"]),
    ("shared", &["context", "secrets"]),
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

const CRATES: [Crate; 5] = [
    Crate { folder: "forebay", root: "lib", layers: LAYERS },
    Crate { folder: "forebay-server", root: "lib", layers: SERVER_LAYERS },
    Crate { folder: "forebay-mcp", root: "lib", layers: MCP_LAYERS },
    Crate { folder: "forebay-store", root: "lib", layers: STORE_LAYERS },
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

/// Files that import each other in a circle. The list may only shrink: cut a circle, then remove its line.
const CIRCLES: &[&[&str]] = &[
    // Accepted: an output reads while its writer writes, and the store records events about both.
    &["bounds", "event", "output", "store", "store/history", "store/streams", "store/writer"],
    // To be cut.
    &["classify", "classify/form", "classify/markup"],
    &["digest/sections", "digest/states"],
    &["kind", "size"],
    &["rank/choose", "rank/passage"],
    &["reply", "room"],
    &[
        "store/disk",
        "store/disk/files",
        "store/disk/open",
        "store/disk/root",
        "store/disk/run_folder",
        "store/disk/sweep",
        "store/disk/turn",
    ],
];

#[test]
fn no_files_import_each_other_in_a_circle() {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let circles = circles(&imports(&sources(&library)));
    let is_part = |circle: &BTreeSet<String>, accepted: &[&str]| {
        circle.iter().all(|file| accepted.contains(&file.as_str()))
    };
    let is_accepted = |circle: &&BTreeSet<String>| CIRCLES.iter().any(|accepted| is_part(circle, accepted));
    let new: Vec<_> = circles.iter().filter(|circle| !is_accepted(circle)).collect();
    assert!(new.is_empty(), "files that import each other in a circle: {new:#?}");
    let is_left = |accepted: &&&[&str]| circles.iter().any(|circle| is_part(circle, accepted));
    let cut: Vec<_> = CIRCLES.iter().filter(|accepted| !is_left(accepted)).collect();
    assert!(cut.is_empty(), "circles that are cut; remove their lines from CIRCLES: {cut:?}");
}

#[test]
fn circles_are_found_through_lists_parents_and_re_exports() {
    type Files = &'static [(&'static str, &'static str)];
    let table: [(Files, &[&str]); 5] = [
        (&[("a", "use crate::b::X;"), ("b", "use crate::c;"), ("c", "fn f() { crate::a::f() }")], &["a b c"]),
        (&[("a", "use crate::{b::{X, Y}, c};"), ("b", ""), ("c", "use super::b;")], &[]),
        // A folder's file may export what its children hold, and they may use each other through it.
        (
            &[("a", "pub use b::X;\nmod b;\nmod c;"), ("a/b", "use crate::a::Y;"), ("a/c", "use super::X;")],
            &[],
        ),
        (&[("a", "use b::X;\nmod b;"), ("a/b", "use super::f;")], &["a a/b"]),
        (
            &[("lib", "pub use a::A;\npub use b::B;"), ("a", "use crate::B;"), ("b", "use crate::A;")],
            &["a b"],
        ),
    ];
    for (files, expected) in table {
        let sources = files.iter().map(|(name, code)| ((*name).to_owned(), (*code).to_owned())).collect();
        let found: Vec<String> = circles(&imports(&sources))
            .into_iter()
            .map(|circle| circle.into_iter().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(found, expected, "{files:?}");
    }
}

#[test]
fn paths_are_found_anywhere_in_the_code() {
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

/// The files that each file imports.
fn imports(sources: &BTreeMap<String, String>) -> BTreeMap<String, BTreeSet<String>> {
    let library = Library::new(sources);
    let files = sources.iter().filter(|(name, _)| *name != "lib");
    files.map(|(name, code)| (name.clone(), library.imports_of(name, code))).collect()
}

/// The groups of files of which each imports every other, directly or through others.
fn circles(imports: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<BTreeSet<String>> {
    let reached = |from: &String| {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(file) = open.pop() {
            let next = imports.get(file).into_iter().flatten();
            open.extend(next.filter(|file| reached.insert((*file).clone())));
        }
        reached
    };
    let reached: BTreeMap<&String, BTreeSet<String>> =
        imports.keys().map(|file| (file, reached(file))).collect();
    let circle = |file: &String| -> BTreeSet<String> {
        let others =
            reached[file].iter().filter(|other| reached.get(other).is_some_and(|all| all.contains(file)));
        others.cloned().collect()
    };
    imports.keys().map(circle).filter(|circle| circle.len() > 1).collect()
}

/// The files of the library with the names that they re-export.
struct Library<'a> {
    sources: &'a BTreeMap<String, String>,
    /// The path of each re-exported name, by the file that exports it.
    exports: BTreeMap<&'a str, BTreeMap<String, Vec<String>>>,
}

/// A `pub use` in the code of a file.
struct Export {
    begin: usize,
    end: usize,
    paths: Vec<Vec<String>>,
}

impl<'a> Library<'a> {
    fn new(sources: &'a BTreeMap<String, String>) -> Library<'a> {
        let exports = |code: &str| {
            let paths = exports_in(code).into_iter().flat_map(|export| export.paths);
            paths.filter_map(|path| Some((path.last()?.clone(), path))).collect()
        };
        Library {
            sources,
            exports: sources.iter().map(|(name, code)| (name.as_str(), exports(code))).collect(),
        }
    }

    fn imports_of(&self, name: &str, code: &str) -> BTreeSet<String> {
        let own = |path: &Vec<String>| {
            self.file_of(name, path, 0).is_some_and(|file| file.starts_with(&format!("{name}/")))
        };
        // A folder's file presents its children, and so depends on none of them.
        let presented: Vec<Export> =
            exports_in(code).into_iter().filter(|export| export.paths.iter().all(own)).collect();
        let is_presented =
            |at: usize| presented.iter().any(|export| (export.begin..export.end).contains(&at));
        let is_path =
            |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
        let roots = ["crate::", "super::", "self::"].iter().flat_map(|root| code.match_indices(root));
        let uses = code.match_indices("use ").map(|(at, word)| (at + word.len(), word));
        let paths = roots.chain(uses).map(|(at, _)| at).filter(|&at| is_path(at) && !is_presented(at));
        let files = paths.flat_map(|at| use_tree(&code[at..]).paths);
        files
            .filter_map(|path| self.file_of(name, &path, 0))
            .filter(|file| file != name && file != "lib")
            .collect()
    }

    /// The file that a path leads to from the file `from`; `None` for a path that does not begin in the library.
    fn file_of(&self, from: &str, path: &[String], depth: usize) -> Option<String> {
        let mut here = from.to_owned();
        for (at, segment) in path.iter().enumerate() {
            match segment.as_str() {
                "crate" => here = "lib".to_owned(),
                "self" => {}
                "super" => here = here.rsplit_once('/').map_or("lib", |(folder, _)| folder).to_owned(),
                _ => {
                    let child = if here == "lib" { segment.clone() } else { format!("{here}/{segment}") };
                    if self.sources.contains_key(&child) {
                        here = child;
                        continue;
                    }
                    let exported = self.exports.get(here.as_str()).and_then(|names| names.get(segment));
                    if let Some(exported) = exported.filter(|_| depth < 8) {
                        return self.file_of(&here, &[exported, &path[at + 1..]].concat(), depth + 1);
                    }
                    return (at > 0).then_some(here);
                }
            }
        }
        Some(here)
    }
}

fn exports_in(code: &str) -> Vec<Export> {
    let public = |at: &usize| {
        let before = code[..*at].trim_end();
        before.ends_with("pub") || before.ends_with("pub(crate)") || before.ends_with("pub(super)")
    };
    let uses = code.match_indices("use ").map(|(at, _)| at).filter(public);
    uses.map(|begin| {
        let begin = begin + "use ".len();
        let tree = use_tree(&code[begin..]);
        Export { begin, end: begin + tree.length, paths: tree.paths }
    })
    .collect()
}

/// The paths that a piece of code begins with: one, or all of a list in braces.
struct UseTree {
    paths: Vec<Vec<String>>,
    /// Bytes of the code that they take.
    length: usize,
}

fn use_tree(code: &str) -> UseTree {
    let blank = code.len() - code.trim_start().len();
    let mut length = blank;
    if code[length..].starts_with('{') {
        let mut paths = Vec::new();
        length += 1;
        loop {
            length =
                code.len() - code[length..].trim_start_matches(|c: char| c.is_whitespace() || c == ',').len();
            if code[length..].is_empty() || code[length..].starts_with('}') {
                return UseTree { paths, length: (length + 1).min(code.len()) };
            }
            let inner = use_tree(&code[length..]);
            paths.extend(inner.paths);
            length += inner.length;
        }
    }
    let word: String =
        code[length..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    if word.is_empty() {
        let skipped = code[length..].chars().next().map_or(0, char::len_utf8);
        return UseTree { paths: Vec::new(), length: length + skipped };
    }
    length += word.len();
    let goes_on = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '{' | '*');
    match code[length..].strip_prefix("::").filter(|rest| rest.starts_with(goes_on)) {
        Some(rest) => {
            let inner = use_tree(rest);
            let mut paths: Vec<Vec<String>> = inner.paths;
            if paths.is_empty() {
                paths.push(Vec::new());
            }
            paths.iter_mut().for_each(|path| path.insert(0, word.clone()));
            UseTree { paths, length: length + 2 + inner.length }
        }
        None => UseTree { paths: vec![vec![word]], length },
    }
}
