use crate::presets::recovery::*;
use crate::store::Store;
use crate::store::disk::DiskStore;
use crate::store::writer::Stream;
use crate::{Preset, Room, Session};
use regex::Regex;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An output that is kept in a folder of its own, beside the files that its call was about.
struct Kept {
    folder: tempfile::TempDir,
    output: Output,
    settings: Settings,
}

fn kept_under(root: &str, tool: &str, args: &str, text: &str) -> Kept {
    let folder = tempfile::tempdir().unwrap();
    let disk = DiskStore::new(folder.path().join(root));
    let store: &dyn Store = &disk;
    let call = Call {
        args: Some(args.into()),
        ..Call::new(Session::safe("s"), "id1234", tool, jiff::Timestamp::UNIX_EPOCH)
    };
    let mut writer = crate::Writer::begin(store, &call);
    writer.write(Stream::Stdout, text.as_bytes());
    let output = writer.finish(Default::default());
    let settings = Settings { preset: Preset::Recovery, ..Settings::default() };
    Kept { folder, output, settings }
}

fn kept(tool: &str, args: &str, text: &str) -> Kept {
    kept_under("a root", tool, args, text)
}

impl Kept {
    fn view(&self) -> String {
        String::from_utf8(fold(&self.output, &self.settings).unwrap().print(&self.output).unwrap()).unwrap()
    }

    fn calls(&self) -> Vec<Suggested> {
        let view = self.view();
        view.lines().filter_map(|line| Some(Suggested::parse(line.strip_prefix("  • ")?))).collect()
    }

    fn structure(&self) -> Vec<String> {
        let view = self.view();
        view.lines().filter_map(|line| line.strip_prefix("  - ")).map(str::to_owned).collect()
    }
}

/// A suggested call, taken apart.
#[derive(Debug)]
struct Suggested {
    tool: String,
    arguments: Vec<(String, Value)>,
}

impl Suggested {
    fn parse(call: &str) -> Suggested {
        let argument = Regex::new(r#"(\w+)=("(?:[^"\\]|\\.)*"|[^,)"]+)"#).unwrap();
        let (tool, rest) = call.split_once('(').unwrap();
        let arguments = argument.captures_iter(rest.rsplit_once("  # ").map_or(rest, |(call, _)| call));
        let arguments =
            arguments.map(|found| (found[1].to_owned(), serde_json::from_str(&found[2]).unwrap()));
        Suggested { tool: tool.to_owned(), arguments: arguments.collect() }
    }

    fn text(&self, key: &str) -> &str {
        let found = self.arguments.iter().find(|(name, _)| name == key);
        found.and_then(|(_, value)| value.as_str()).unwrap_or_else(|| panic!("{key} of {self:?}"))
    }

    /// Result of the agent's tool of this name, if it can be run here.
    fn run(&self, folder: &Path) -> Option<String> {
        let mut command = match self.tool.as_str() {
            "shell" => {
                let mut command = Command::new("sh");
                command.args(["-c", self.text("command")]);
                command
            }
            "grep_content" => {
                let mut command = Command::new("grep");
                command.args(["-rnE", self.text("pattern"), self.text("path")]);
                command
            }
            _ => return None,
        };
        let ran = command.current_dir(folder).output().unwrap();
        assert!(ran.status.success(), "{self:?}: {}", String::from_utf8_lossy(&ran.stderr));
        assert!(!ran.stdout.is_empty(), "{self:?} prints nothing");
        Some(String::from_utf8_lossy(&ran.stdout).into_owned())
    }
}

fn python() -> String {
    let mut text =
        String::from("import os\n\n\nclass DataProcessor:\n    def __init__(self):\n        pass\n");
    (0..200).for_each(|number| text.push_str(&format!("        self.field_{number} = {number}\n")));
    text + "\ndef main():\n    DataProcessor()\n"
}

#[test]
fn a_source_file_is_recovered_by_its_structure() {
    let kept = kept("read_file", r#"{"file_path": "large_module.py"}"#, &python());
    let text = kept.view();
    let shown: String = python().chars().take(2_000).collect();
    let hidden = python().chars().count() - 2_000;
    assert!(
        text.starts_with(&format!(
            "{shown}\n\n[... {hidden} characters truncated ...]\n\n--- Recovery Options ---\n"
        )),
        "{text}"
    );
    let section = text.split_once("--- Recovery Options ---\n").unwrap().1;
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
    .assert_eq(&section.replace(kept.folder.path().to_str().unwrap(), "DIR"));
}

/// A file, its source, the comment that fills it up, and its structure.
type Row = (&'static str, &'static str, &'static str, &'static [&'static str]);

#[rustfmt::skip]
const LANGUAGES: &[Row] = &[
    ("a.py", "import os\n\nclass Store(Base):\n    async def get(self):\n        pass\n\ndef main():\n    pass\n", "# x",
        &["class Store (line 3)", "def get (line 4)", "def main (line 7)"]),
    ("a.rs", "pub struct Store<T> { items: Vec<T> }\nimpl<T> Store<T> {\n    pub fn get(&self) -> u32 { 1 }\n}\nimpl fmt::Display for Store<u8> {}\npub(crate) enum Kind { A }\ntrait Named {}\nmacro_rules! two { () => { 2 } }\nconst LEFT: u32 = 1;\nfn main() {}\n", "// x",
        &["struct Store (line 1)", "impl Store (line 2)", "fn get (line 3)", "impl Store (line 5)", "enum Kind (line 6)", "trait Named (line 7)", "macro_rules! two (line 8)", "fn main (line 10)"]),
    ("a.go", "package m\n\ntype Store struct {\n\titems []string\n}\n\ntype Getter interface {\n\tGet(i int) string\n}\n\nfunc (s *Store) Get(i int) string {\n\treturn s.items[i]\n}\n\nfunc main() {}\n", "// x",
        &["struct Store (line 3)", "interface Getter (line 7)", "func Get (line 11)", "func main (line 15)"]),
    ("a.js", "const fs = require(\"fs\");\nexport default class Store extends Base {\n  constructor(items) { this.items = items; }\n  get = (index) => this.items[index];\n}\nexport async function main(args) { return 1; }\nconst helper = async (a, b) => { return a; };\nmodule.exports.run = function (x) { return x; };\nfunction* each() {}\n", "// x",
        &["class Store (line 2)", "method constructor (line 3)", "method get (line 4)", "function main (line 6)", "function helper (line 7)", "function module.exports.run (line 8)", "function each (line 9)"]),
    ("a.ts", "import { a } from \"./a\";\nexport interface Shape<T> { area(): number; }\ntype Name = string | number;\nenum Colour { Red }\nnamespace Inner {\n  export function f(x: number): void {}\n}\nabstract class Store implements Shape<string> {\n  abstract size(): number;\n  private async area(): number { return 1; }\n}\nexport const helper = (a: string): number => a.length;\n", "// x",
        &["interface Shape (line 2)", "enum Colour (line 4)", "namespace Inner (line 5)", "function f (line 6)", "class Store (line 8)", "method size (line 9)", "method area (line 10)", "function helper (line 12)"]),
    ("a.tsx", "import React from \"react\";\ninterface Props { name: string; }\nexport function Hello({ name }: Props): JSX.Element {\n  return <div>Hello {name}</div>;\n}\nexport const Page: React.FC = () => (<Hello name=\"x\" />);\n", "// x",
        &["interface Props (line 2)", "function Hello (line 3)", "function Page (line 6)"]),
    ("A.java", "package org.example;\n\n@Entity\npublic class Store<T> extends Base {\n    public Store(List<T> items) { this.items = items; }\n    @Override\n    public static <T> List<T> get(int index) throws IOException { return null; }\n    enum Kind { A }\n    interface Named { String name(); }\n}\nrecord Point(int x) {}\n", "// x",
        &["class Store (line 4)", "method Store (line 5)", "method get (line 7)", "enum Kind (line 8)", "interface Named (line 9)", "method name (line 9)", "record Point (line 11)"]),
    ("a.c", "#include <stdio.h>\n#define MAX(a, b) ((a) > (b) ? (a) : (b))\nstruct point {\n    int x;\n};\ntypedef struct { int y; } other_t;\nint add(int a, int b);\nstatic struct point *make(int x)\n{\n    return 0;\n}\nint main(int argc, char **argv) { return 0; }\n", "// x",
        &["#define MAX (line 2)", "struct point (line 3)", "typedef other_t (line 6)", "function add (line 7)", "function make (line 8)", "function main (line 12)"]),
    ("a.cpp", "#include <vector>\nnamespace store {\ntemplate <typename T>\nclass Store : public Base {\npublic:\n    explicit Store(int size);\n    ~Store();\n    const T& get(size_t i) const { return items[i]; }\n    bool operator==(const Store& other) const { return true; }\n};\n}\nstd::string store::Shop::name(const Cart& cart) const { return \"\"; }\nint main(int argc, char** argv) { return 0; }\n", "// x",
        &["namespace store (line 2)", "class Store (line 4)", "function Store (line 6)", "function ~Store (line 7)", "function get (line 8)", "function operator== (line 9)", "function store::Shop::name (line 12)", "function main (line 13)"]),
    ("a.cs", "using System;\nnamespace App.Data\n{\n    [Serializable]\n    public class Store<T> : IStore where T : class\n    {\n        public int Count { get; private set; }\n        public Store(int size) { }\n        [Obsolete]\n        public static async Task<T> Get(int index) { return items[index]; }\n    }\n    public interface IStore { }\n    public struct Point { }\n}\n", "// x",
        &["namespace App.Data (line 2)", "class Store (line 5)", "method Store (line 8)", "method Get (line 10)", "interface IStore (line 12)", "struct Point (line 13)"]),
    ("a.rb", "require \"set\"\nmodule Tools\n  class Store < Base\n    def initialize(items)\n      @items = items\n    end\n    def self.open(path)\n      new(path)\n    end\n    def empty?\n      true\n    end\n  end\nend\n", "# x",
        &["module Tools (line 2)", "class Store (line 3)", "def initialize (line 4)", "def open (line 7)", "def empty? (line 10)"]),
    ("a.php", "<?php\nnamespace App;\nuse App\\Base;\nfinal class Store extends Base\n{\n    public static function get(int $index): ?string { return $this->items[$index]; }\n}\ninterface Named {}\ntrait Loud {}\nfunction helper($a) { return $a; }\n", "// x",
        &["class Store (line 4)", "function get (line 6)", "interface Named (line 8)", "trait Loud (line 9)", "function helper (line 10)"]),
    ("a.lua", "local M = {}\nlocal function helper(a)\n  return a\nend\nfunction M.get(self, index)\n  return self[index]\nend\nfunction M:size() return 1 end\nM.put = function(x)\n  return x\nend\nreturn M\n", "-- x",
        &["function helper (line 2)", "function M.get (line 5)", "function M:size (line 8)", "function M.put (line 9)"]),
    ("a.sh", "#!/usr/bin/env bash\nset -euo pipefail\nusage() {\n  echo \"usage: $0\"\n}\nfunction build {\n  make \"$1\"\n}\nbuild all\n", "# x",
        &["function usage (line 3)", "function build (line 6)"]),
    ("Store.kt", "package org.example\n\nimport java.util.UUID\n\ndata class Item(val id: Int)\n\nclass Store(private val items: List<Item>) {\n    fun get(index: Int): Item {\n        return items[index]\n    }\n    private suspend fun <T> load() {\n        val x = 1\n    }\n}\n", "// x",
        &["class Item (line 5)", "class Store (line 7)", "fun get (line 8)", "fun load (line 11)"]),
];

#[test]
fn the_structure_of_every_language_has_keywords_and_names_as_it_writes_them() {
    for (file, source, comment, expected) in LANGUAGES {
        let text = format!("{source}{}", format!("{comment}\n").repeat(900));
        let kept = kept("read_file", &format!(r#"{{"path": "{file}"}}"#), &text);
        assert_eq!(kept.structure(), *expected, "{file}");
        let grep = kept.calls().into_iter().find(|call| call.tool == "grep_content").unwrap();
        let found = grep.run(kept.folder.path()).unwrap();
        let first = expected[0].rsplit_once("(line ").unwrap().1.trim_end_matches(')');
        let line = |found: &str| found.split(':').next().map(|line| line == first).unwrap_or_default();
        assert!(found.lines().any(line), "{file}: {grep:?} finds\n{found}");
    }
}

#[test]
fn a_file_that_is_called_a_text_has_no_structure_whatever_is_in_it() {
    for (file, has_structure) in [("a.py", true), ("a.txt", false), ("A.LOG", false), ("", true)] {
        let code = "import os\n\ndef get(self, x):\n    return self.x[1]\n\n".repeat(100);
        let kept = kept("read_file", &format!(r#"{{"path": "{file}"}}"#), &code);
        assert_eq!(kept.view().contains("\nStructure:\n"), has_structure, "{file:?}");
    }
}

#[test]
fn every_suggestion_works_and_what_it_gives_is_short_enough_to_pass() {
    let numbered = |count: u64, line: &str| -> String {
        (0..count).map(|number| format!("{}\n", line.replace('#', &number.to_string()))).collect()
    };
    let wide = |width: usize| format!("{}\n", "long words of a line ".repeat(width)).repeat(40);
    let cases = [
        ("read_file", r#"{"path": "a.py"}"#, python()),
        ("read_file", r#"{"path": "notes.txt"}"#, numbered(900, "note # on something")),
        ("read_file", r#"{"path": "wide.txt"}"#, wide(10)),
        ("read_file", r#"{"path": "wider.txt"}"#, wide(300)),
        ("read_file", r#"{"path": "漢字.txt"}"#, numbered(900, "漢字漢字漢字漢字 #")),
        ("execute_shell", r#"{"command": "make"}"#, "building\nerror: it broke\n".repeat(300)),
        ("execute_shell", r#"{"command": "make"}"#, numbered(900, "building #") + "error: it broke\n"),
        ("execute_shell", r#"{"command": "seq 9000"}"#, numbered(9_000, "#")),
        ("glob_files", r#"{"pattern": "**/*"}"#, numbered(200, "src/#.rs") + &numbered(90, "docs/#.md")),
        ("web_search", r#"{"query": "rust"}"#, numbered(200, "#. https://example.org/# some words")),
        ("anything", "{}", "x".repeat(30_000)),
        ("anything", "{}", "same\n".repeat(3_000)),
    ];
    for (tool, args, text) in cases {
        let kept = kept(tool, args, &text);
        let mut shells = 0;
        for call in kept.calls() {
            let Some(given) = call.run(kept.folder.path()) else { continue };
            assert!(given.chars().count() <= 3_500, "{tool} {args} {call:?}: {}", given.chars().count());
            shells += u64::from(call.tool == "shell");
        }
        assert!(shells >= 2, "{}", kept.view());
    }
}

#[test]
fn no_search_is_suggested_that_finds_everything() {
    for (text, wanted) in [
        ("same\n".repeat(3_000), None),
        ("x".repeat(30_000), None),
        ("same thing\n".repeat(800) + "other thing\n", Some("other")),
        ("1\n".repeat(4_000) + "23\n", Some("23")),
        ("all is well\n".repeat(400) + "error: it broke\n", Some("[Ee]rror|[Ff]ail|[Ee]xception")),
    ] {
        let calls = kept("read_file", r#"{"path": "a.txt"}"#, &text).calls();
        let grep = calls.iter().find(|call| call.tool == "grep_content").map(|call| call.text("pattern"));
        assert_eq!(grep, wanted);
    }
}

/// Source files, and what a search for `pub fn` in them printed.
fn searched() -> (Vec<(PathBuf, String)>, String) {
    let file = |name: &str, count: u64| {
        let text: String = (0..count).map(|n| format!("pub fn {name}_{n}() -> u64\n// no\n")).collect();
        (PathBuf::from(format!("src/{name}.rs")), text)
    };
    let files = vec![file("large", 400), file("middle", 60), file("small", 20)];
    let mut printed = String::new();
    for (path, text) in &files {
        for (number, line) in text.lines().enumerate().filter(|(_, line)| line.contains("pub fn")) {
            printed.push_str(&format!("{}:{}:{line}\n", path.display(), number + 1));
        }
    }
    (files, printed)
}

#[test]
fn a_search_of_many_files_is_narrowed_with_all_its_arguments() {
    let (files, printed) = searched();
    let kept =
        kept("grep_content", r#"{"pattern": "pub fn", "path": "src", "ignore_case": false}"#, &printed);
    for (path, text) in files {
        std::fs::create_dir_all(kept.folder.path().join("src")).unwrap();
        std::fs::write(kept.folder.path().join(path), text).unwrap();
    }
    let text = kept.view();
    assert!(text.contains("Matches per file: src/large.rs (400), src/middle.rs (60), src/small.rs (20)\n"));
    for call in [
        r#"grep_content(pattern="pub fn", path="src/middle.rs", ignore_case=false)  # its 60 matches"#,
        r#"grep_content(pattern="pub fn", path="src/small.rs", ignore_case=false)  # its 20 matches"#,
    ] {
        assert!(text.contains(&format!("  • {call}\n")), "{call}\n{text}");
    }
    let calls = kept.calls();
    let narrower = calls.iter().find(|call| call.text("pattern").starts_with("pub fn.*")).unwrap();
    assert_eq!((narrower.text("path"), &narrower.arguments[2].1), ("src", &Value::Bool(false)));
    for call in &calls {
        let given = call.run(kept.folder.path()).unwrap();
        assert!(given.chars().count() <= 3_500, "{call:?}: {given}");
    }
}

#[test]
fn a_call_of_another_tool_is_narrowed_under_its_own_name() {
    let (_, printed) = searched();
    let kept = kept("ripgrep_search", r#"{"regex": "pub fn", "dir": "src"}"#, &printed);
    let text = kept.view();
    assert!(text.contains("  • ripgrep_search(regex=\"pub fn\", dir=\"src/middle.rs\")  # its 60"), "{text}");
}

#[test]
fn a_listing_is_narrowed_by_folder_and_by_extension() {
    let listed: String =
        (0..600).map(|n| format!("src/{n}.rs\n")).chain((0..40).map(|n| format!("docs/{n}.md\n"))).collect();
    let rust: String =
        (0..600).map(|n| format!("src/a/{n}.rs\n")).chain(["src/b/c.rs\n".to_owned()]).collect();
    for (tool, args, text, expected) in [
        (
            "glob_files",
            r#"{"pattern": "**/*"}"#,
            &listed,
            &[
                r#"glob_files(pattern="docs/*")  # the 40 entries of this folder"#,
                r#"glob_files(pattern="**/*.md")  # the 40 entries with this extension"#,
            ][..],
        ),
        (
            "glob_files",
            r#"{"pattern": "**/*.rs", "path": "src", "limit": 9}"#,
            &rust,
            &[r#"glob_files(pattern="b/*.rs", path="src", limit=9)  # the 1 entries of this folder"#],
        ),
        (
            "list_directory",
            r#"{"path": ".", "recursive": true}"#,
            &listed,
            &[r#"list_directory(path="docs", recursive=true)  # the 40 entries of this folder"#],
        ),
    ] {
        let view = kept(tool, args, text).view();
        for call in expected {
            assert!(view.contains(&format!("  • {call}\n")), "{call}\n{view}");
        }
    }
}

#[test]
fn a_page_is_saved_and_the_search_names_its_file() {
    let page = "some words of a page\n".repeat(400) + "the API endpoint\n";
    for (args, save, path) in [
        (r#"{"url": "https://example.com/docs"}"#, true, "temp/docs.md"),
        (r#"{"url": "https://example.com/a/index.html?x=1#top", "timeout": 5}"#, true, "temp/index.md"),
        (r#"{"url": "https://example.com/"}"#, true, "temp/example.com.md"),
        (r#"{"url": "https://example.com/docs", "save_to": "here.md"}"#, false, "here.md"),
    ] {
        let kept = kept("web_fetch", args, &page);
        let calls = kept.calls();
        let fetched = calls.iter().find(|call| call.tool == "web_fetch");
        assert_eq!(fetched.map(|call| call.text("save_to")), save.then_some(path), "{args}");
        if let Some(fetched) = fetched {
            let before: Value = serde_json::from_str(args).unwrap();
            let kept: Vec<_> = fetched.arguments.iter().filter(|(key, _)| key != "save_to").collect();
            assert_eq!(kept.len(), before.as_object().unwrap().len(), "{args}");
            assert!(kept.iter().all(|(key, value)| before[key] == *value), "{args}");
        }
        let grep = calls.iter().find(|call| call.tool == "grep_content").unwrap();
        assert_eq!(grep.text("path"), path);
        // As if the page had been fetched.
        std::fs::create_dir_all(kept.folder.path().join("temp")).unwrap();
        std::fs::write(kept.folder.path().join(path), &page).unwrap();
        assert!(grep.run(kept.folder.path()).unwrap().contains("the API endpoint"));
    }
}

#[test]
fn a_web_search_is_narrowed_to_one_site_and_to_one_result() {
    let results = "1. https://docs.rs/a words\n2. https://docs.rs/b words\n3. https://x.org/c\n".repeat(60);
    let view = kept("web_search", r#"{"query": "rust", "lang": "en"}"#, &results).view();
    assert!(
        view.contains("  • web_search(query=\"rust site:docs.rs\", lang=\"en\")  # results of one site\n")
    );
    assert!(view.contains("  • web_fetch(url=\"https://docs.rs/a\")  # one result\n"), "{view}");
}

#[test]
fn a_view_is_shorter_than_its_output_or_the_output_passes() {
    let code: String = (0..200).map(|n| format!("def function_{n}():\n    pass\n")).collect();
    let long = "a-folder-with-a-long-name/".repeat(60);
    for (root, is_cut) in [("root", true), (&long[..400], true), (&long, false)] {
        for length in [3_501, 3_600] {
            let kept = kept_under(root, "read_file", r#"{"path": "a.py"}"#, &code[..length]);
            let reply = crate::preview(&kept.output, &kept.settings, Room::Unknown).unwrap();
            assert_eq!(reply.folded.is_some(), is_cut, "{} {length}", root.len());
            if let Some(folded) = reply.folded {
                assert!(folded.text.len() < length, "{}", String::from_utf8_lossy(&folded.text));
            }
        }
    }
}

#[test]
fn a_folded_listing_names_where_its_bulk_is() {
    let text = kept("glob_files", "{}", &"src/a.rs\nsrc/b.rs\ndocs/c.md\n".repeat(130)).view();
    assert!(text.contains("Files per folder: src (260), docs (130)\n"), "{text}");
    assert!(text.contains("Files per extension: .rs (260), .md (130)\n"), "{text}");
}
