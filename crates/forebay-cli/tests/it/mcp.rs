//! The MCP gateway in front of a server that does all that can go wrong.

mod hostile;

use crate::forebay::{Forebay, eventually, tokens};
use expect_test::expect;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

pub(crate) const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp/server.py");

/// A client at the other end of a pipe.
#[must_use]
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: Receiver<String>,
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Client {
    /// A client of the gateway in front of the server.
    pub(crate) fn new(forebay: &Forebay, flags: &[&str]) -> Client {
        Client::of(forebay.command([&["mcp"], flags, &["--", "python3", SERVER]].concat()))
    }

    /// A client of whatever speaks by its standard streams.
    pub(crate) fn of(mut command: Command) -> Client {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = |output: Box<dyn std::io::Read + Send>| {
            let (said, hears) = channel();
            std::thread::spawn(move || {
                let mut output = BufReader::new(output);
                let mut line = Vec::new();
                while output.read_until(b'\n', &mut line).unwrap_or(0) > 0 {
                    let _ = said.send(String::from_utf8_lossy(&std::mem::take(&mut line)).into_owned());
                }
            });
            hears
        };
        let output = lines(Box::new(child.stdout.take().unwrap()));
        let errors = lines(Box::new(child.stderr.take().unwrap()));
        let input = child.stdin.take();
        Client { child, input, lines: output, errors }
    }

    fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    #[track_caller]
    fn line(&self) -> String {
        let line = self.lines.recv_timeout(Duration::from_secs(60)).unwrap();
        line.trim_end_matches('\n').to_owned()
    }

    #[track_caller]
    fn message(&self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    #[track_caller]
    pub(crate) fn ask(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        let answer = self.message();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    #[track_caller]
    pub(crate) fn call(&mut self, id: u64, tool: &str, arguments: Value) -> Value {
        self.ask(id, "tools/call", json!({"name": tool, "arguments": arguments}))
    }

    #[track_caller]
    fn text(&mut self, id: u64, tool: &str, arguments: Value) -> String {
        let answer = self.call(id, tool, arguments);
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Greets, as a client of this name and revision.
    fn hello(&mut self, name: &str, revision: &str) -> Value {
        let params = json!({"protocolVersion": revision, "capabilities": {"sampling": {}},
            "clientInfo": {"name": name, "version": "1"}});
        let answer = self.ask(0, "initialize", params);
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        answer
    }

    pub(crate) fn greeted(mut self) -> Client {
        let _ = self.hello("somebody", "2025-06-18");
        self
    }

    /// Ends as a client does, and says what was said on standard error.
    fn end(mut self) -> String {
        self.input.take();
        eventually("the gateway ends", || self.child.try_wait().unwrap().is_some());
        self.errors.iter().collect()
    }
}

/// Whether a process is there.
fn lives(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn what_fits_passes_byte_for_byte_in_both_directions() {
    let forebay = Forebay::new();
    let mut direct = Command::new("python3");
    direct.arg(SERVER);
    let mut ends = [Client::of(direct), Client::new(&forebay, &[])];
    let table = [
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"me","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"echo","arguments":{"say":"hi"}}}"#,
        r#"{"id":1.5e3,"method":"tools/call","params":{"name":"lines","arguments":{"count":20}},"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"custom/method","params":{"x":1.50,"y":[ 1e400 ]}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"structured","arguments":{"count":3,"text":true}}}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"prompts/list"}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":6,"method":"no/such"}"#,
    ];
    for (number, line) in table.iter().enumerate() {
        let answers = ends.each_mut().map(|end| {
            end.send(line);
            end.line()
        });
        let [direct, through] = answers;
        // What we can do besides is told at the beginning.
        let direct = match number {
            0 => direct.replace(r#""prompts": {}}"#, r#""prompts": {},"resources":{}}"#),
            _ => direct,
        };
        assert_eq!(direct, through);
    }
    let [_, through] = ends;
    let _ = through.end();
    assert!(forebay.ls().is_empty(), "what fits is not kept");
}

/// JSON as nobody would write it: from a seed, so that a failure can be had again.
struct Odd(u64);

impl Odd {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % count
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }

    fn string(&mut self) -> String {
        let parts = [
            "a",
            " ",
            "é",
            "🎉",
            "\\n",
            "\\u00e9",
            "\\ud83c\\udf89",
            "\\ud800",
            "\\/",
            "\\\"",
            "\\\\",
            "{\\\"",
            "]",
            "<",
        ];
        let text: String = (0..self.below(12)).map(|_| self.one_of(&parts)).collect();
        format!("\"{text}\"")
    }

    fn value(&mut self, depth: u64) -> String {
        let space = self.one_of(&["", " ", "\t"]);
        match self.below(if depth == 0 { 3 } else { 5 }) {
            0 => self
                .one_of(&["null", "true", "1.50e+2", "-0", "1e400", "123456789012345678901234567890", "NaN"])
                .to_owned(),
            1 | 2 => self.string(),
            3 => {
                let items: Vec<String> = (0..self.below(4)).map(|_| self.value(depth - 1)).collect();
                format!("[{space}{}{space}]", items.join(&format!(",{space}")))
            }
            _ => self.object(&[], depth - 1),
        }
    }

    fn object(&mut self, fields: &[(&str, String)], depth: u64) -> String {
        let space = self.one_of(&["", " ", "  "]);
        let mut all: Vec<String> =
            fields.iter().map(|(name, value)| format!("\"{name}\"{space}:{value}")).collect();
        for _ in 0..self.below(3) {
            let at = self.below(all.len() as u64 + 1) as usize;
            let field = format!("\"x{}\":{}", self.below(9), self.value(depth));
            all.insert(at, field);
        }
        format!("{{{space}{}{space}}}", all.join(&format!("{space},")))
    }

    fn result(&mut self) -> String {
        let blocks: Vec<String> = (0..self.below(4))
            .map(|_| {
                let text = self.string();
                let kind = self.one_of(&["text", "image", "audio", "resource", "resource_link", "new"]);
                let key = self.one_of(&["text", "data", "resource", "uri"]);
                self.object(&[("type", format!("\"{kind}\"")), (key, text)], 2)
            })
            .collect();
        let structured = self.object(&[], 3);
        let content = ("content", format!("[{}]", blocks.join(",")));
        // Half of them are long enough to be looked into.
        let filler = ("filler", format!("\"{}\"", "a".repeat(self.below(2) as usize * 4_000)));
        self.object(&[content, filler, ("structuredContent", structured), ("isError", "false".to_owned())], 2)
    }
}

#[test]
fn any_result_that_fits_is_the_same_with_and_without() {
    let forebay = Forebay::new();
    let mut client = Client::new(&forebay, &[]).greeted();
    let mut odd = Odd(7);
    for id in 1..=500 {
        let result = odd.result();
        let params = json!({"name": "raw", "arguments": {"result": result}});
        client
            .send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string());
        assert_eq!(client.line(), format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
    }
}

#[test]
fn a_result_that_does_not_fit_is_kept_and_a_view_stands_in_its_place() {
    let forebay = Forebay::new();
    let mut client = Client::new(&forebay, &[]).greeted();
    let answer = client.call(1, "lines", json!({"count": 50_000, "error": true}));
    let result = &answer["result"];
    let view = result["content"][0]["text"].as_str().unwrap();
    assert!(tokens(view.as_bytes()) <= 1_500, "{}", tokens(view.as_bytes()));
    for shown in ["[forebay view of 50,000 lines", "\nline 1: all is well\n", "\nline 50000: all is well\n"] {
        assert!(view.contains(shown), "{shown}: {view}");
    }
    assert_eq!(result["isError"], true);
    assert_eq!(result["_meta"].to_string(), r#"{"kept":[1,2.5]}"#);
    let link = &result["content"][1];
    assert_eq!(
        (link["type"].as_str(), link["mimeType"].as_str()),
        (Some("resource_link"), Some("text/plain"))
    );
    let handle = link["name"].as_str().unwrap().to_owned();
    assert!(view.contains(&format!(r#"output_read(handle="{handle}""#)), "{view}");

    let read = client.text(2, "output_read", json!({"handle": handle, "lines": "40000:40001"}));
    assert!(read.contains("line 40000: all is well\nline 40001: all is well\n"), "{read}");
    let grep = client.text(3, "output_grep", json!({"handle": handle, "pattern": "49999:"}));
    assert!(grep.contains("49999:line 49999: all is well"), "{grep}");
    let uri = link["uri"].as_str().unwrap();
    let read = client.ask(4, "resources/read", json!({"uri": format!("{uri}?lines=7:8")}));
    assert_eq!(read["result"]["contents"][0]["text"], "line 7: all is well\nline 8: all is well\n", "{read}");
    let whole = client.ask(5, "resources/read", json!({"uri": uri}));
    assert!(whole["error"]["message"].as_str().unwrap().contains("?bytes=0:1048576"), "{whole}");
    let list = client.ask(6, "resources/list", json!({}));
    assert_eq!(list["result"]["resources"][0]["uri"], uri, "the server has no resources, we have: {list}");
    let gone = client.ask(7, "resources/read", json!({"uri": "forebay://other/abcdefgh"}));
    assert_eq!(gone["error"]["code"], -32_002, "{gone}");
    let _ = client.end();
    let session = handle.split('/').next().unwrap();
    let kept = forebay.run(["cat", handle.as_str()]).ok();
    let expected: String = (1..=50_000).map(|line| format!("line {line}: all is well\n")).collect();
    assert!(kept.text() == expected, "the bytes that are kept are those that came");
    let shown = forebay.run(["show", handle.as_str(), "--json"]).ok().json();
    assert_eq!(shown["call"]["server"], "odd", "{shown}");
    let verified = forebay.run(["verify", "--session", session]);
    assert_eq!(verified.status, 0, "{}", verified.err);
}

#[test]
fn clients_that_know_no_links_get_none() {
    let forebay = Forebay::new();
    let mut client = Client::new(&forebay, &[]);
    let _ = client.hello("old", "2025-03-26");
    let answer = client.call(1, "lines", json!({"count": 50_000}));
    assert_eq!(answer["result"]["content"].as_array().unwrap().len(), 1, "{answer}");
}

#[test]
fn every_kind_of_content_is_kept_whole() {
    let forebay = Forebay::new();
    let mut client = Client::new(&forebay, &[]).greeted();
    let answer = client.call(1, "media", json!({"count": 200}));
    let content = answer["result"]["content"].as_array().unwrap();
    let told: Vec<String> = content
        .iter()
        .map(|block| match block["type"].as_str().unwrap() {
            "text" => {
                let text = block["text"].as_str().unwrap();
                format!("text {}", text.lines().next().unwrap())
            }
            "image" => format!("image {}", block["data"].as_str().unwrap().len()),
            other => format!("{other} {}", block["mimeType"].as_str().unwrap_or("-")),
        })
        .collect();
    expect![[r#"
        image 68268
        text [audio audio/wav]
        resource_link application/octet-stream
        text [resource file:///x.bin · application/x]
        resource_link application/octet-stream
        text [resource file:///x.txt]
        resource_link text/plain
        resource_link -"#]]
    .assert_eq(&told.join("\n"));
    let bytes: Vec<u8> = (0..200).flat_map(|_| 0..=255u8).collect();
    let kept: Vec<Vec<u8>> = content
        .iter()
        .filter(|block| block["mimeType"] == "application/octet-stream")
        .map(|block| forebay.run(["cat", block["name"].as_str().unwrap()]).ok().out)
        .collect();
    assert_eq!(kept, [bytes.clone(), bytes]);
}

#[test]
fn many_small_blocks_are_kept_together_and_told_apart() {
    let forebay = Forebay::new();
    let mut client = Client::new(&forebay, &[]).greeted();
    let answer = client.call(1, "blocks", json!({"count": 400}));
    let content = answer["result"]["content"].as_array().unwrap();
    assert_eq!(content.len(), 2, "a view and a link: {answer}");
    assert!(content[0]["text"].as_str().unwrap().contains("\nblock 0: word"), "{answer}");
    let handle = content[1]["name"].as_str().unwrap();
    let text = forebay.run(["cat", handle]).ok().text();
    assert_eq!(text.lines().count(), 400);
    let list = client.text(2, "output_list", json!({}));
    let session = handle.split('/').next().unwrap();
    let all = list.lines().find(|line| line.starts_with(session) && !line.starts_with(handle)).unwrap();
    let blocks: Value =
        serde_json::from_slice(&forebay.run(["cat", all.split(' ').next().unwrap()]).ok().out).unwrap();
    assert_eq!(blocks.as_array().unwrap().len(), 400, "the blocks as they came are kept too");
    assert_eq!(blocks[399]["text"].as_str().unwrap(), format!("block 399: {}", "word ".repeat(40)));
}

#[test]
fn what_is_written_as_it_should_not_be_is_bounded_too() {
    let forebay = Forebay::new();
    let mut client = Client::new(&forebay, &[]).greeted();
    let answer = client.call(1, "latin", json!({"count": 20_000}));
    let handle = answer["result"]["content"][1]["name"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert!(forebay.run(["cat", handle]).ok().out == b"caf\xe9 ".repeat(20_000), "every byte is kept");
    let text = "word ".repeat(20_000);
    let result = format!(r#"{{"content":[],"x":1,"content":[{{"type":"text","text":"{text}"}}],"y":2}}"#);
    let params = json!({"name": "raw", "arguments": {"result": result}});
    client.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}).to_string());
    let line = client.line();
    assert!(line.len() < 15_000, "{}", line.len());
    assert_eq!(line.matches(r#""content":"#).count(), 1, "{line}");
    assert!(line.contains(r#""x":1,"y":2"#), "{line}");
}

#[test]
fn structured_content_is_folded_and_no_longer_promised() {
    let forebay = Forebay::new();
    let mut client = Client::new(&forebay, &[]).greeted();
    for (id, with_text, texts) in [(1, true, 1), (2, false, 1)] {
        let answer = client.call(id, "structured", json!({"count": 5_000, "text": with_text}));
        let result = &answer["result"];
        assert_eq!(result.get("structuredContent"), None);
        assert!(result["content"][0]["text"].as_str().unwrap().contains("row 0"), "{answer}");
        let content = result["content"].as_array().unwrap();
        let count = content.iter().filter(|block| block["type"] == "text").count();
        assert_eq!(count, texts, "what is said twice is shown once: {answer}");
    }
    let mut tools = Vec::new();
    let first = client.ask(3, "tools/list", json!({}));
    tools.extend(first["result"]["tools"].as_array().unwrap().clone());
    assert!(tools.iter().all(|tool| tool.get("outputSchema").is_none()), "{first}");
    let second = client.ask(4, "tools/list", json!({"cursor": "more"}));
    assert!(tools.iter().all(|tool| !tool["name"].as_str().unwrap().starts_with("output_")), "{first}");
    tools.extend(second["result"]["tools"].as_array().unwrap().clone());
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    expect![
        "echo lines blocks structured media huge die half garbage twice flood never ask progress pid output_read output_grep \
         output_json output_outline output_ask output_search output_list tool_output"
    ]
    .assert_eq(&names.join(" "));
}

#[test]
fn tools_on_the_list_of_exceptions_are_never_touched() {
    let forebay = Forebay::new();
    let mut command = forebay.command(["mcp", "--", "python3", SERVER]);
    command.env("FOREBAY_BYPASS", "odd/lines,structured");
    let mut client = Client::of(command).greeted();
    let answer = client.text(1, "lines", json!({"count": 20_000}));
    assert_eq!(answer.lines().count(), 20_000);
    let list = client.ask(2, "tools/list", json!({}));
    assert!(list["result"]["tools"][3].get("outputSchema").is_some(), "{list}");
}

#[test]
fn a_preset_handle_that_is_switched_off_lets_results_pass_and_keeps_none() {
    let forebay = Forebay::new();
    let agent = "---\ncontextWindow: 12000\ntoolOutput:\n  enabled: false\n---\n";
    let agent = forebay.file("off.ai", agent).display().to_string();
    let mut client = Client::new(&forebay, &["--agent", &agent]).greeted();
    assert_eq!(client.text(1, "lines", json!({"count": 20_000})).lines().count(), 20_000);
    assert_eq!(forebay.ls().len(), 0);
}

#[test]
fn where_the_root_cannot_be_written_results_are_kept_in_the_fallback() {
    let forebay = Forebay::new();
    let root = forebay.file("a-file", "").join("below").display().to_string();
    let mut client = Client::new(&forebay, &["--root", &root]).greeted();
    let view = client.text(1, "lines", json!({"count": 20_000}));
    assert!(view.contains("kept whole as s/"), "{view}");
    let listed = forebay.run(["ls", "--json", "--root", &root]).ok();
    let handle = listed.json()["handle"].as_str().unwrap().to_owned();
    let read = client.text(2, "output_read", json!({"handle": handle, "lines": "777:778"}));
    assert!(read.contains("[lines 777–778 of 20,000"), "{read}");
}

#[test]
fn limits_are_those_of_the_tool_the_server_or_the_host() {
    let folds = |client: &str, toml: bool, count: u64| {
        let forebay = Forebay::new();
        let set = if toml { "[digest.tools]\n\"odd/*\" = 100\n" } else { "" };
        forebay.file("forebay.toml", set);
        let mut end = Client::new(&forebay, &[]);
        let _ = end.hello(client, "2025-06-18");
        end.text(1, "lines", json!({"count": count})).lines().count() as u64 != count
    };
    assert!(!folds("somebody", false, 50), "about 450 tokens");
    assert!(folds("somebody", true, 50), "more than is set for this server");
    assert!(folds("somebody", false, 1_000), "about 9,000 tokens");
    assert!(!folds("claude-code", false, 1_000), "what the host shows whole");
    assert!(folds("claude-code", true, 1_000), "what is set by hand is stronger");
    assert!(folds("claude-code", false, 10_000), "more than the host shows");
}

#[test]
fn our_tools_give_way_to_those_of_the_server() {
    let forebay = Forebay::new();
    let mut client =
        Client::of(forebay.command(["mcp", "--", "python3", SERVER, "odd", "output_read", "tool_output"]))
            .greeted();
    let _ = client.ask(1, "tools/list", json!({}));
    let second = client.ask(2, "tools/list", json!({"cursor": "more"}));
    let names: Vec<&str> = second["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names.iter().filter(|name| **name == "output_read").count(), 1, "{names:?}");
    assert_eq!(names.iter().filter(|name| **name == "tool_output").count(), 1, "{names:?}");
    assert!(names.contains(&"forebay_output_read"), "{names:?}");
    let answer = client.call(3, "lines", json!({"count": 50_000}));
    let view = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(view.contains("forebay_output_read("), "{view}");
    assert_eq!(client.text(4, "output_read", json!({})), "the server's own output_read");
}

#[test]
fn a_call_that_a_view_printed_works_whatever_the_server_lists_later() {
    let forebay = Forebay::new();
    let mut client = Client::new(&forebay, &[]).greeted();
    let list = |client: &mut Client, id: u64| {
        let _ = client.ask(id, "tools/list", json!({}));
        client.ask(id + 1, "tools/list", json!({"cursor": "more"})).to_string()
    };
    let _ = list(&mut client, 1);
    let answer = client.call(3, "lines", json!({"count": 50_000}));
    let view = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(view.contains(" output_read(handle=\""), "{view}");
    let handle = answer["result"]["content"][1]["name"].as_str().unwrap().to_owned();
    client.send(r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"learn","arguments":{"tools":["output_read","tool_output"]}}}"#);
    assert_eq!(client.message()["method"], "notifications/tools/list_changed");
    assert_eq!(client.message()["id"], 4);
    let names = list(&mut client, 5);
    assert!(names.contains("\"output_read\"") && names.contains("\"forebay_output_read\""), "{names}");
    let table = [
        // Calls of older views, whether or not the server has a tool of that name by now.
        ("output_read", json!({"handle": handle, "lines": "7:7"}), "line 7: all is well"),
        ("output_grep", json!({"handle": handle, "pattern": "line 49999"}), "49999:line 49999"),
        ("output_list", json!({}), "[1 output]"),
        ("tool_output", json!({"handle": handle, "extract": "line 7"}), "ABSTRACT FROM TOOL OUTPUT"),
        ("forebay_output_read", json!({"handle": handle, "lines": "7:7"}), "line 7: all is well"),
        // Calls of the server's own.
        ("output_read", json!({"path": "x"}), "the server's own output_read"),
        ("output_read", json!({"handle": "another"}), "the server's own output_read"),
        ("tool_output", json!({}), "the server's own tool_output"),
    ];
    for (number, (tool, arguments, expected)) in table.into_iter().enumerate() {
        let text = client.text(10 + number as u64, tool, arguments.clone());
        assert!(text.contains(expected), "{tool} {arguments}: {text}");
    }
}

#[test]
fn without_a_server_the_tools_read_what_is_kept() {
    let forebay = Forebay::new();
    let lines: String = (1..=5_000).map(|line| format!("line {line}\n")).collect();
    let _ = forebay.put("call-1", lines.as_bytes(), &[]);
    let mut client = Client::of(forebay.command(["mcp", "--prefix", "kept_"])).greeted();
    let list = client.ask(1, "tools/list", json!({}));
    assert_eq!(list["result"]["tools"][0]["name"], "kept_read", "{list}");
    let read = client.text(2, "kept_read", json!({"handle": "call-1", "lines": "4000:4000"}));
    assert!(read.contains("line 4000\n"), "{read}");
    assert_eq!(client.ask(3, "no/such", json!({}))["error"]["code"], -32_601);
    assert_eq!(client.ask(4, "ping", json!({}))["result"], json!({}));
    assert_eq!(client.end(), "");
}

#[test]
fn a_server_that_dies_is_answered_for_and_started_again() {
    let forebay = Forebay::new();
    let mut client = Client::new(&forebay, &[]).greeted();
    let before = client.text(1, "pid", json!({}));
    for (id, tool, why) in [(2, "die", "signal: 9"), (3, "half", "in the middle of a message, after ")] {
        let answer = client.call(id, tool, json!({}));
        let text = answer["error"]["message"].as_str().unwrap();
        assert!(text.contains(why) && text.contains("ask again"), "{text}");
        let after = client.text(id + 10, "pid", json!({}));
        assert_ne!(before, after, "another process");
    }
    let said = client.end();
    assert_eq!(
        said.matches("odd heard {\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}").count(),
        3,
        "{said}"
    );
    assert!(said.contains("is back"), "{said}");
}

#[test]
fn what_is_no_message_does_not_stop_the_others() {
    let forebay = Forebay::new();
    let mut client = Client::new(&forebay, &[]).greeted();
    let answer = client.call(1, "garbage", json!({}));
    assert!(answer["error"]["message"].as_str().unwrap().contains("not JSON"), "{answer}");
    assert_eq!(client.text(2, "twice", json!({})), "first");
    assert_eq!(client.text(3, "echo", json!({})), "é ");
    client.send("{\"jsonrpc\":");
    assert_eq!(client.message()["error"]["code"], -32_700);
    client.send(r#"[{"jsonrpc":"2.0","id":8,"method":"ping"},{"jsonrpc":"2.0","id":9,"method":"ping"}]"#);
    assert_eq!((client.message()["id"].as_u64(), client.message()["id"].as_u64()), (Some(8), Some(9)));
    let said = client.end();
    assert!(said.contains("answered 2, which nobody waits for"), "{said}");
    assert!(said.contains("wrote a line of 18 bytes that is no message: this is no message"), "{said}");
}

#[test]
fn a_server_that_never_answers_is_not_waited_for() {
    let forebay = Forebay::new();
    let mut client = Client::new(&forebay, &["--timeout", "1s"]).greeted();
    let answer = client.call(1, "never", json!({}));
    assert_eq!(answer["error"]["message"], "the server python3 did not answer within 1 s");
    // Progress is a sign of life.
    client.send(
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"progress","arguments":{"times":4,"seconds":0.5},"_meta":{"progressToken":"t"}}}"#,
    );
    let messages: Vec<Value> = (0..5).map(|_| client.message()).collect();
    assert_eq!(messages[3]["params"]["progress"], 3, "{messages:?}");
    assert_eq!(messages[4]["result"]["content"][0]["text"], "done", "{messages:?}");
    assert!(client.end().contains(r#""method":"notifications/cancelled","params":{"requestId":1,"#));
}

#[test]
fn a_request_is_answered_once_and_not_after_it_was_called_off() {
    let forebay = Forebay::new();
    let mut client = Client::new(&forebay, &["--timeout", "1s"]).greeted();
    let never = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"never"}}"#;
    client.send(never);
    client.send(never);
    let twice = client.message();
    assert_eq!((&twice["id"], &twice["error"]["code"]), (&json!(1), &json!(-32_600)), "{twice}");
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    std::thread::sleep(Duration::from_millis(1_500));
    assert_eq!(client.call(2, "echo", json!({}))["id"], 2, "nobody waits for the first");
}

#[test]
fn a_flood_on_standard_error_holds_nobody_up() {
    let forebay = Forebay::new();
    let mut command = forebay.command(["mcp", "--", "python3", SERVER]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Nobody reads its standard error.
    let mut child = command.spawn().unwrap();
    let stuck = child.stderr.take().unwrap();
    let mut input = child.stdin.take().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"flood\",\"arguments\":{\"megabytes\":20}}}\n").unwrap();
    let line = output.lines().next().unwrap().unwrap();
    assert!(line.contains("done"), "{line}");
    drop(input);
    eventually("the gateway ends", || child.try_wait().unwrap().is_some());
    drop(stuck);
}

#[test]
fn nothing_is_left_behind_however_it_ends() {
    for end in ["input", "signal"] {
        let forebay = Forebay::new();
        // A server that does not mind that its input ends, and has a child of its own.
        let script = r#"sleep 1000 & echo $! >&2; trap '' TERM; while :; do sleep 1; done"#;
        let mut client = Client::of(forebay.command(["mcp", "--", "sh", "-c", script]));
        let pid = client.errors.recv_timeout(Duration::from_secs(20)).unwrap().trim().to_owned();
        assert!(lives(&pid));
        if end == "signal" {
            let gateway = rustix::process::Pid::from_child(&client.child);
            rustix::process::kill_process(gateway, rustix::process::Signal::TERM).unwrap();
        }
        client.input.take();
        eventually("the gateway ends", || client.child.try_wait().unwrap().is_some());
        eventually("what the server started ends", || !lives(&pid));
    }
}

#[test]
fn a_huge_result_does_not_fill_the_memory() {
    let forebay = Forebay::new();
    let mut client = Client::new(&forebay, &[]).greeted();
    let answer = client.call(1, "huge", json!({"megabytes": 100}));
    let handle =
        answer["result"]["content"][1]["name"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    let status = std::fs::read_to_string(format!("/proc/{}/status", client.child.id())).unwrap();
    let most = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    let kilobytes: u64 = most.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kilobytes < 80_000, "{most} for a result of 100 MB");
    let shown = forebay.run(["show", &handle, "--json"]).ok().json();
    assert_eq!(shown["size"]["bytes"], 97_796_000, "{shown}");
    let _ = client.end();
}

#[test]
fn a_message_that_never_ends_is_given_up() {
    let forebay = Forebay::new();
    let mut client = Client::new(&forebay, &["--max-message", "3MiB"]).greeted();
    let given_up = client.call(1, "endless", json!({}));
    let why = given_up["error"]["message"].as_str().unwrap();
    assert!(why.contains("more than 3145728 bytes") && why.contains("ask again"), "{why}");
    assert_eq!(client.text(2, "echo", json!({})), "é ", "it was started again");
    let large = client.call(3, "huge", json!({"megabytes": 2}));
    assert_eq!(large["result"]["content"][1]["type"], "resource_link", "what ends in time is kept");
    drop(client);
}

#[test]
fn a_server_that_cannot_be_run_is_told_at_once() {
    let forebay = Forebay::new();
    let error = forebay.run(["mcp", "--", "no-such-program-here"]).fails(127);
    expect![[r#"
        forebay: cannot run no-such-program-here: entity not found
    "#]]
    .assert_eq(&error);
}

#[test]
fn two_clients_cannot_read_each_others_outputs() {
    let forebay = Forebay::new();
    let connect = || {
        let mut command = forebay.command(["mcp", "--", "python3", SERVER]);
        command.env_remove("FOREBAY_SESSION");
        Client::of(command).greeted()
    };
    let (mut one, mut other) = (connect(), connect());
    let answer = one.call(1, "lines", json!({"count": 50_000}));
    let handle = answer["result"]["content"][1]["name"].as_str().unwrap().to_owned();
    let read = other.call(1, "output_read", json!({"handle": handle}));
    assert_eq!(read["result"]["isError"], true, "{read}");
    assert!(
        read["result"]["content"][0]["text"].as_str().unwrap().contains("asking for it again will not help")
    );
    let uri = answer["result"]["content"][1]["uri"].as_str().unwrap();
    assert_eq!(other.ask(2, "resources/read", json!({"uri": uri}))["error"]["code"], -32_002);
    assert_eq!(one.call(2, "output_read", json!({"handle": handle}))["result"]["isError"], false);
}

/// Two servers behind one.
fn two(forebay: &Forebay) -> Client {
    let server = |name: &str| json!({"command": "python3", "args": [SERVER, name]});
    let config = json!({"mcpServers": {"one": server("one"), "other": server("other")}});
    let file = forebay.file("servers.json", config.to_string());
    Client::of(forebay.command(["mcp", "--config", file.to_str().unwrap()]))
}

#[test]
fn many_servers_are_one() {
    let forebay = Forebay::new();
    let mut client = two(&forebay);
    let hello = client.hello("somebody", "2025-06-18");
    let told = &hello["result"];
    assert_eq!(told["serverInfo"]["name"], "forebay");
    assert_eq!(told["instructions"], "# one\none helps\n\n# other\nother helps");
    assert_eq!(told["capabilities"], json!({"tools": {"listChanged": true}, "resources": {}, "prompts": {}}));
    let list = client.ask(1, "tools/list", json!({}));
    let names: Vec<&str> = list["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 15 + 15 + 8, "all pages of all: {names:?}");
    assert_eq!((names[0], names[15], names[30]), ("one__echo", "other__echo", "output_read"));
    assert_eq!(client.text(2, "other__echo", json!({"say": "hi"})), "é hi");
    let view = client.call(3, "one__lines", json!({"count": 50_000}));
    let handle = view["result"]["content"][1]["name"].as_str().unwrap().to_owned();
    assert!(client.text(4, "output_list", json!({})).contains("one/lines"));
    assert!(client.text(5, "output_read", json!({"handle": handle, "lines": "9:9"})).contains("line 9: "));
    let prompts = client.ask(6, "prompts/list", json!({}));
    assert_eq!(prompts["result"]["prompts"], json!([{"name": "one__greet"}, {"name": "other__greet"}]));
    assert_eq!(client.ask(7, "prompts/get", json!({"name": "other__greet"}))["result"]["name"], "greet");
    assert_eq!(client.ask(8, "custom/method", json!({"x": 1}))["result"]["seen"], json!({"x": 1}));
    assert_eq!(client.call(9, "nobody__echo", json!({}))["error"]["code"], -32_602);

    // Both ask at once, with the same id and the same token.
    for (id, tool) in [(10, "one__ask"), (11, "other__ask")] {
        let params = json!({"name": tool, "arguments": {}});
        client
            .send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string());
    }
    let asked = [client.message(), client.message()];
    assert_ne!(asked[0]["id"], asked[1]["id"]);
    assert_ne!(asked[0]["params"]["_meta"]["progressToken"], asked[1]["params"]["_meta"]["progressToken"]);
    for request in &asked {
        let answer =
            json!({"jsonrpc": "2.0", "id": request["id"], "result": {"for": request["params"]["from"]}});
        client.send(&answer.to_string());
    }
    for answer in [client.message(), client.message()] {
        let name = if answer["id"] == 10 { "one" } else { "other" };
        let got: Value =
            serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!((&got["id"], &got["result"]["for"]), (&json!(1), &json!(name)), "{answer}");
    }
    let _ = client.end();
}

/// Tells what a subscription says: its method, its id, and the server that it comes from.
fn told(message: &Value) -> (&str, &Value, &Value) {
    let params = &message["params"];
    let id = &params["_meta"]["io.modelcontextprotocol/subscriptionId"];
    (message["method"].as_str().unwrap_or_default(), id, &params["from"])
}

#[test]
fn a_subscription_is_to_all_servers() {
    let forebay = Forebay::new();
    let mut client = two(&forebay);
    let (_, mut listen) = stateless(
        "subscriptions/listen",
        json!({"notifications": {"toolsListChanged": true, "otherChanged": true, "resourceSubscriptions": ["x:y"]}}),
    );
    listen["id"] = json!("mine");
    client.send(&listen.to_string());
    let agreed = client.message();
    assert_eq!(told(&agreed), ("notifications/subscriptions/acknowledged", &json!("mine"), &Value::Null));
    assert_eq!(
        agreed["params"]["notifications"], listen["params"]["notifications"],
        "what one of them tells"
    );
    for server in ["one", "other"] {
        client.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": format!("{server}__news")}}).to_string());
        assert_eq!(
            told(&client.message()),
            ("notifications/tools/list_changed", &json!("mine"), &json!(server))
        );
        assert_eq!(client.message()["id"], 1);
    }
    // One that was away is listened to again, and what it has may have changed.
    assert!(client.call(2, "one__die", json!({}))["error"].is_object());
    assert_eq!(told(&client.message()), ("notifications/tools/list_changed", &json!("mine"), &Value::Null));
    client.send(r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"one__news"}}"#);
    assert_eq!(told(&client.message()), ("notifications/tools/list_changed", &json!("mine"), &json!("one")));
    assert_eq!(client.message()["id"], 3);
    // One that serves it no more leaves it to the others; the last one ends it.
    assert_eq!(client.text(4, "one__over", json!({})), "over");
    client.send(r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"other__over"}}"#);
    let mut last = [client.message(), client.message()];
    last.sort_by_key(|message| message["id"].is_string());
    assert_eq!((&last[0]["id"], &last[1]["id"]), (&json!(5), &json!("mine")));
    let id = &last[1]["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!((id, &last[1]["result"]["resultType"]), (&json!("mine"), &json!("complete")));
    // Who no longer listens says so to all.
    client.send(&listen.to_string());
    assert_eq!(told(&client.message()).0, "notifications/subscriptions/acknowledged");
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"mine"}}"#);
    assert_eq!(client.text(6, "other__echo", json!({})), "é ");
    let said = client.end();
    for server in ["one", "other"] {
        let heard = said.lines().find(|line| line.starts_with(&format!("{server} heard"))).unwrap();
        assert!(heard.contains("notifications/cancelled") && heard.contains("forebay-"), "{heard}");
    }
}

#[test]
fn one_of_many_that_dies_leaves_the_others_alone() {
    let forebay = Forebay::new();
    let mut client = two(&forebay).greeted();
    let other = client.text(1, "other__pid", json!({}));
    let answer = client.call(2, "one__die", json!({}));
    assert!(answer["error"]["message"].as_str().unwrap().contains("the server one failed"), "{answer}");
    assert_eq!(client.text(3, "other__pid", json!({})), other);
    assert_eq!(client.text(4, "one__echo", json!({})), "é ");
    let _ = client.end();
}

#[test]
fn a_server_that_cannot_be_started_is_left_out_of_many() {
    let forebay = Forebay::new();
    let config = json!({"mcpServers": {
        "here": {"command": "python3", "args": [SERVER, "here"]}, "gone": {"command": "/no/such/program"}}});
    let file = forebay.file("servers.json", config.to_string());
    let mut client = Client::of(forebay.command(["mcp", "--config", file.to_str().unwrap()])).greeted();
    assert_eq!(client.text(1, "here__echo", json!({})), "é ");
    let began = std::time::Instant::now();
    let list = client.ask(3, "tools/list", json!({}));
    assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 15 + 8, "{list}");
    assert!(began.elapsed() < Duration::from_secs(10), "nobody waits for it");
    let answer = client.call(2, "gone__echo", json!({}));
    assert!(answer["error"]["message"].as_str().unwrap().contains("the server gone"), "{answer}");
    let said = client.end();
    assert!(said.contains("these servers do not answer, and are left out: gone"), "{said}");
}

/// A gateway that listens, and its address.
fn listening(forebay: &Forebay, flags: &[&str]) -> (Client, String) {
    listening_on(forebay, "127.0.0.1:0", flags)
}

fn listening_on(forebay: &Forebay, place: &str, flags: &[&str]) -> (Client, String) {
    heard_at(forebay.command([&["mcp", "--listen", place], flags, &["--", "python3", SERVER]].concat()))
}

/// A gateway for clients by HTTP before another server.
fn listening_before(forebay: &Forebay, server: &[&str]) -> (Client, String) {
    heard_at(forebay.command([&["mcp", "--listen", "127.0.0.1:0"], server].concat()))
}

fn heard_at(mut command: Command) -> (Client, String) {
    command.env_remove("FOREBAY_SESSION");
    let gateway = Client::of(command);
    let said = gateway.errors.recv_timeout(Duration::from_secs(30)).unwrap();
    let address = said.trim().strip_prefix("forebay: listening on ").unwrap().to_owned();
    (gateway, address)
}

#[test]
fn all_of_it_goes_by_http_too() {
    let forebay = Forebay::new();
    let (gateway, address) = listening(&forebay, &[]);
    let elsewhere = Forebay::new();
    let mut command = elsewhere.command(["mcp", "--url", &address]);
    // This one only carries: what is folded is folded at the other end.
    command.env("FOREBAY_DIGEST_TOKENS", "100000000");
    let mut client = Client::of(command).greeted();
    assert_eq!(client.text(1, "echo", json!({"say": "hi"})), "é hi");
    let view = client.call(2, "lines", json!({"count": 50_000}));
    let handle = view["result"]["content"][1]["name"].as_str().unwrap().to_owned();
    assert!(handle.starts_with("mcp-"), "{handle}");
    client.send(
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"progress","arguments":{"times":3,"seconds":0.1},"_meta":{"progressToken":"t"}}}"#,
    );
    let messages: Vec<Value> = (0..4).map(|_| client.message()).collect();
    assert_eq!(messages[2]["params"], json!({"progressToken": "t", "progress": 2}), "{messages:?}");
    // The server asks the client, and gets the answer.
    client.send(r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"ask"}}"#);
    let asked = client.message();
    assert_eq!(asked["method"], "sampling/createMessage");
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"x": 1}}).to_string());
    assert!(
        client.message()["result"]["content"][0]["text"].as_str().unwrap().contains(r#""result": {"x": 1}"#)
    );
    // A server that dies is started again behind the gateway.
    assert!(client.call(5, "die", json!({}))["error"]["message"].as_str().unwrap().contains("signal: 9"));
    assert_eq!(client.text(6, "echo", json!({})), "é ");

    assert!(!client.end().contains("panicked"));
    drop(gateway);
}

#[test]
fn a_session_that_the_far_side_has_forgotten_is_begun_anew() {
    let forebay = Forebay::new();
    let (gateway, address) = listening(&forebay, &[]);
    let mut client = Client::of(forebay.command(["mcp", "--url", &address])).greeted();
    assert_eq!(client.text(1, "echo", json!({})), "é ");
    drop(gateway);
    let down = client.call(2, "echo", json!({}));
    assert!(down["error"]["message"].as_str().unwrap().contains("cannot be reached"), "{down}");
    let place = address.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let (gateway, _) = listening_on(&forebay, place, &[]);
    let forgotten = client.call(3, "echo", json!({}));
    assert!(forgotten["error"]["message"].as_str().unwrap().contains("ended our session"), "{forgotten}");
    assert_eq!(client.text(4, "echo", json!({})), "é ");
    drop(gateway);
}

/// A request as it is written.
fn http(address: &str, method: &str, headers: &str, body: &str) -> String {
    use std::io::Read;
    let place = address.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let mut stream = std::net::TcpStream::connect(place).unwrap();
    let host = if headers.contains("Host:") { String::new() } else { format!("Host: {place}\r\n") };
    let request = format!(
        "{method} /mcp HTTP/1.1\r\n{host}{headers}Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_client_by_http_reaches_only_its_own_session() {
    let forebay = Forebay::new();
    let token = forebay.file("token", "0123456789abcdef\n");
    let (gateway, address) = listening(&forebay, &["--token-file", token.to_str().unwrap()]);
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"me","version":"1"}}}"#;
    let with = |more: &str| format!("Authorization: Bearer 0123456789abcdef\r\n{more}");
    let refused = |answer: String| answer.lines().next().unwrap().split(' ').nth(1).unwrap().to_owned();
    assert_eq!(refused(http(&address, "POST", "", hello)), "401");
    assert_eq!(refused(http(&address, "POST", &with("Origin: https://evil.example\r\n"), hello)), "403");
    assert_eq!(refused(http(&address, "POST", &with("Host: evil.example\r\n"), hello)), "403");
    assert_eq!(
        refused(http(&address, "POST", &with(""), r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)),
        "400"
    );
    assert_eq!(refused(http(&address, "POST", &with("Mcp-Session-Id: guess\r\n"), hello)), "404");
    let begin = || {
        let answer = http(&address, "POST", &with(""), hello);
        let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
        assert!(id.len() >= 26, "{id}");
        with(&format!("Mcp-Session-Id: {id}\r\n"))
    };
    let (one, other) = (begin(), begin());
    let call = |headers: &str, tool: &str, arguments: Value| {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
        let answer = http(&address, "POST", headers, &request.to_string());
        let data =
            answer.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or_else(|| panic!("{answer}"));
        serde_json::from_str::<Value>(data).unwrap()
    };
    let view = call(&one, "lines", json!({"count": 50_000}));
    let handle = view["result"]["content"][1]["name"].as_str().unwrap();
    let read =
        |headers: &str| call(headers, "output_read", json!({"handle": handle}))["result"]["isError"].clone();
    assert_eq!((read(&one), read(&other)), (json!(false), json!(true)));
    assert!(
        call(&other, "output_list", json!({}))["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .starts_with("[no outputs")
    );
    let pid = call(&one, "pid", json!({}))["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(lives(&pid));
    assert_eq!(refused(http(&address, "DELETE", &one, "")), "204");
    eventually("its server ends with the session", || !lives(&pid));
    assert_eq!(refused(http(&address, "POST", &one, hello)), "404");
    drop(gateway);
}

#[test]
fn a_server_that_takes_nothing_does_not_keep_us_from_ending() {
    let forebay = Forebay::new();
    let mut client = Client::of(forebay.command(["mcp", "--", "sleep", "1000"]));
    let mut input = client.input.take().unwrap();
    std::thread::spawn(move || {
        let line = format!(r#"{{"jsonrpc":"2.0","method":"x","params":"{}"}}"#, "y".repeat(2_000));
        while writeln!(input, "{line}").is_ok() {}
    });
    std::thread::sleep(Duration::from_millis(500));
    let _ = Command::new("kill").arg(client.child.id().to_string()).status();
    eventually("the gateway ends", || client.child.try_wait().unwrap().is_some());
}

/// A request of revision 2026-07-28: its headers and its body.
fn stateless(method: &str, more: Value) -> (String, Value) {
    let mut params = more;
    let name = match method {
        "resources/read" => params["uri"].as_str(),
        _ => params["name"].as_str(),
    };
    let name = name.map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "somebody", "version": "1"});
    let headers = format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}");
    (headers, json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
}

/// Asks without a session; the status and the messages that came.
fn asked_once(address: &str, more_headers: &str, method: &str, params: Value) -> (String, Vec<Value>) {
    let (headers, body) = stateless(method, params);
    let answer = http(address, "POST", &format!("{headers}{more_headers}"), &body.to_string());
    let status = answer.split(' ').nth(1).unwrap().to_owned();
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    let lines = body.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    (
        status,
        lines.filter_map(|line| serde_json::from_str::<Value>(line).ok()).filter(Value::is_object).collect(),
    )
}

#[test]
fn who_has_no_session_reads_what_it_has_the_handle_of_and_nothing_else() {
    let forebay = Forebay::new();
    let (gateway, address) = listening(&forebay, &[]);
    let call = |tool: &str, arguments: Value| {
        let (status, messages) =
            asked_once(&address, "", "tools/call", json!({"name": tool, "arguments": arguments}));
        assert_eq!((status.as_str(), messages.len()), ("200", 1), "{messages:?}");
        messages[0].clone()
    };
    assert_eq!(call("echo", json!({"say": "hi"}))["result"]["n"], 150.0);
    let view = call("lines", json!({"count": 50_000}));
    assert_eq!(view["id"], 1);
    let link = &view["result"]["content"][1];
    let handle = link["name"].as_str().unwrap();
    let (session, id) = handle.split_once('/').unwrap();
    assert!(session.len() >= "mcp-".len() + 26, "nobody guesses {session}");
    let read =
        |handle: &str| call("output_read", json!({"handle": handle, "lines": "7:7"}))["result"].clone();
    assert!(read(handle)["content"][0]["text"].as_str().unwrap().contains("line 7: all is well"));
    assert_eq!(read(id)["isError"], true, "half a handle is none");
    assert_eq!(read(&format!("mcp-{}/{id}", &session[4..12]))["isError"], true);
    let list = call("output_list", json!({}));
    assert!(list["result"]["content"][0]["text"].as_str().unwrap().starts_with("[no outputs"), "{list}");
    let (_, listed) = asked_once(&address, "", "resources/list", json!({}));
    assert_eq!(listed[0]["result"]["resources"], json!([]), "{listed:?}");
    let uri = format!("{}?lines=7:7", link["uri"].as_str().unwrap());
    let (_, resource) = asked_once(&address, "", "resources/read", json!({"uri": uri}));
    assert_eq!(resource[0]["result"]["contents"][0]["text"], "line 7: all is well\n", "{resource:?}");
    // What another client keeps with a session cannot be read from here.
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"me","version":"1"}}}"#;
    let answer = http(&address, "POST", "", hello);
    let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"lines","arguments":{"count":50000}}}"#;
    let answer = http(&address, "POST", &format!("Mcp-Session-Id: {id}\r\n"), request);
    let data = answer.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    let other: Value = serde_json::from_str(data).unwrap();
    assert_eq!(read(other["result"]["content"][1]["name"].as_str().unwrap())["isError"], true, "{other}");
    drop(gateway);
}

#[test]
fn who_sends_the_same_key_has_the_same_session() {
    let forebay = Forebay::new();
    let (gateway, address) = listening(&forebay, &["--session-key", "X-Client"]);
    let call = |key: &str, tool: &str, arguments: Value| {
        let (_, messages) = asked_once(
            &address,
            &format!("X-Client: {key}\r\n"),
            "tools/call",
            json!({"name": tool, "arguments": arguments}),
        );
        messages[0]["result"].clone()
    };
    let view = call("one", "lines", json!({"count": 50_000}));
    let handle = view["content"][1]["name"].as_str().unwrap().to_owned();
    assert!(handle.len() < 30, "it need not be a secret: {handle}");
    let list =
        |key: &str| call(key, "output_list", json!({}))["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(list("one").contains(&handle), "{}", list("one"));
    assert!(list("other").starts_with("[no outputs"), "{}", list("other"));
    assert_eq!(call("other", "output_read", json!({"handle": handle}))["isError"], true);
    assert_eq!(call("one", "output_read", json!({"handle": handle}))["isError"], false);
    // A client with sessions is known by it too.
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"me","version":"1"}}}"#;
    let answer = http(&address, "POST", "X-Client: one\r\n", hello);
    let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "output_read", "arguments": {"handle": handle}}});
    let answer = http(&address, "POST", &format!("Mcp-Session-Id: {id}\r\n"), &request.to_string());
    assert!(answer.contains(r#""isError":false"#), "{answer}");
    drop(gateway);
}

#[test]
fn requests_without_a_session_are_told_apart_whatever_their_ids() {
    let forebay = Forebay::new();
    let (gateway, address) = listening(&forebay, &[]);
    // Both have the id 1, and the same token: the server hears of two requests.
    let long = |times: u64| {
        let address = address.clone();
        std::thread::spawn(move || {
            let params = json!({"name": "progress", "arguments": {"times": times, "seconds": 0.05}, "_meta": {"progressToken": "t"}});
            asked_once(&address, "", "tools/call", params).1
        })
    };
    for (asked, times) in [(long(2), 2), (long(5), 5)] {
        let messages = asked.join().unwrap();
        assert_eq!(messages.len() as u64, times + 1, "{messages:?}");
        let (answer, progress) = messages.split_last().unwrap();
        assert!(progress.iter().all(|message| message["params"]["progressToken"] == "t"), "{progress:?}");
        assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(1), &json!("done")));
    }
    // A server that asks gets an answer, since nobody else gives one.
    let (_, asked) = asked_once(&address, "", "tools/call", json!({"name": "refused"}));
    assert!(asked[0]["result"]["content"][0]["text"].as_str().unwrap().contains("-32601"), "{asked:?}");
    drop(gateway);
}

#[test]
fn what_a_request_without_a_session_must_say_is_checked() {
    let forebay = Forebay::new();
    let (gateway, address) = listening(&forebay, &[]);
    let (headers, body) = stateless("tools/call", json!({"name": "echo"}));
    let status = |headers: &str, body: &str| {
        let answer = http(&address, "POST", headers, body);
        let code =
            answer.split("\"code\":").nth(1).map(|rest| rest.split([',', '}']).next().unwrap().to_owned());
        format!("{} {}", answer.split(' ').nth(1).unwrap(), code.unwrap_or_default().trim())
    };
    let table = [
        (headers.clone(), body.to_string(), "200 "),
        (headers.replace("echo", "lines"), body.to_string(), "400 -32020"),
        (headers.replace("tools/call", "tools/list"), body.to_string(), "400 -32020"),
        (headers.replace("07-28", "07-29"), body.to_string(), "400 -32020"),
        (String::new(), body.to_string(), "400 -32020"),
        (headers.clone(), format!("[{body}]"), "400 -32600"),
        (headers.clone(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned(), "400 -32600"),
        (headers.clone(), r#"{"jsonrpc":"2.0","method":"notifications/x"}"#.to_owned(), "202 "),
    ];
    for (headers, body, expected) in table {
        assert_eq!(status(&headers, &body), expected, "{headers}{body}");
    }
    let (_, unknown) = stateless("no/such", json!({}));
    let headers = headers.replace("tools/call", "no/such").replace("Mcp-Name: echo\r\n", "");
    assert_eq!(status(&headers, &unknown.to_string()), "404 -32601", "so that a client greets instead");
    assert_eq!(http(&address, "GET", &headers, "").split(' ').nth(1), Some("405"));
    drop(gateway);
}

#[test]
fn what_a_server_logs_goes_to_the_only_request_that_it_can_be_about() {
    let forebay = Forebay::new();
    let (gateway, address) = listening(&forebay, &[]);
    let logs = |level: Value| {
        let meta = json!({"io.modelcontextprotocol/logLevel": level});
        let meta = if level.is_null() { json!({}) } else { meta };
        asked_once(&address, "", "tools/call", json!({"name": "logs", "_meta": meta})).1
    };
    let told = logs(json!("info"));
    assert_eq!((told.len(), &told[0]["params"]["data"]), (2, &json!("at work")), "{told:?}");
    assert_eq!(logs(Value::Null).len(), 1, "it has not asked for it");
    // Another request is being answered: whose it is cannot be told.
    let (headers, body) = stateless("tools/call", json!({"name": "never"}));
    let place = address.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let mut stream = std::net::TcpStream::connect(place).unwrap();
    let length = body.to_string().len();
    let request =
        format!("POST /mcp HTTP/1.1\r\nHost: {place}\r\n{headers}Content-Length: {length}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).unwrap();
    eventually("the other request is there", || logs(json!("info")).len() == 1);
    drop(gateway);
}

#[test]
fn arguments_that_must_stand_in_headers_do() {
    let forebay = Forebay::new();
    let remote = Remote::new(&["marks"]);
    let mut client = Client::of(forebay.command(["mcp", "--url", &remote.1]));
    let mut ask = |id: u64, method: &str, params: Value| {
        let (_, mut message) = stateless(method, params);
        message["id"] = json!(id);
        client.send(&message.to_string());
        let answer = client.message();
        assert_eq!(answer["id"], id, "{answer}");
        answer["result"].clone()
    };
    // The list was never asked for: the server refuses, and we ask for it ourselves.
    for (id, region, header) in [(1, "us-west1", "us-west1"), (2, "é", "=?base64?w6k=?=")] {
        let called = ask(id, "tools/call", json!({"name": "query", "arguments": {"region": region}}));
        assert_eq!(
            called["content"][0]["text"],
            json!({"mcp-param-region": header}).to_string().replace(':', ": ")
        );
    }
    assert_eq!(ask(3, "tools/call", json!({"name": "query", "arguments": {}}))["content"][0]["text"], "{}");
    let listed = ask(4, "tools/list", json!({}));
    let names: Vec<&str> =
        listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"query") && !names.contains(&"wrong"), "{names:?}");
    assert!(client.end().contains("the tool wrong of remote is left out"));

    // What a client sends itself goes on as it came.
    let (gateway, address) = listening_before(&forebay, &["--url", &remote.1]);
    let call = |headers: &str, arguments: Value| {
        let (status, messages) =
            asked_once(&address, headers, "tools/call", json!({"name": "query", "arguments": arguments}));
        let said = &messages[0];
        let text = said["result"]["content"][0]["text"].as_str().map(str::to_owned);
        (status, text.unwrap_or_else(|| said["error"]["code"].to_string()))
    };
    let right = "Mcp-Param-Region: here\r\nMcp-Param-New: x\r\n";
    let told = |status: &str, text: &str| (status.to_owned(), text.to_owned());
    let both = told("200", r#"{"mcp-param-new": "x", "mcp-param-region": "here"}"#);
    assert_eq!(call(right, json!({"region": "here"})), both);
    assert_eq!(call(right, json!({"region": "there"})), told("400", "-32020"), "the server says so");
    assert_eq!(
        call("", json!({"region": "here"})),
        told("400", "-32020"),
        "and it is not mended for a client"
    );
    assert_eq!(asked_once(&address, "", "tools/list", json!({})).0, "200");
    assert_eq!(call("", json!({"region": "here"})), told("400", "-32020"), "now we say so");
    assert_eq!(call(right, json!({"region": "here"})), both);
    drop(gateway);
}

#[test]
fn who_hangs_up_no_longer_wants_the_answer() {
    let forebay = Forebay::new();
    let (gateway, address) = listening(&forebay, &[]);
    let (headers, body) = stateless("tools/call", json!({"name": "never"}));
    let place = address.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let mut stream = std::net::TcpStream::connect(place).unwrap();
    let body = body.to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {place}\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    // The server has it once it answers another.
    eventually("the server is there", || {
        asked_once(&address, "", "tools/call", json!({"name": "echo"})).0 == "200"
    });
    drop(stream);
    let heard = gateway.errors.recv_timeout(Duration::from_secs(30)).unwrap();
    assert!(heard.contains("notifications/cancelled") && heard.contains("the client has gone"), "{heard}");
    drop(gateway);
}

#[test]
fn a_stream_that_broke_is_gone_on_with() {
    use std::io::Read;
    let forebay = Forebay::new();
    let (gateway, address) = listening(&forebay, &[]);
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"me","version":"1"}}}"#;
    let answer = http(&address, "POST", "", hello);
    let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let headers = format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
    let place = address.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"progress","arguments":{"times":6,"seconds":0.2},"_meta":{"progressToken":"t"}}}"#;
    let mut stream = std::net::TcpStream::connect(place).unwrap();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {place}\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut seen = String::new();
    while !seen.contains(r#""progress": 1"#) {
        let mut block = [0; 4096];
        let read = stream.read(&mut block).unwrap();
        seen.push_str(std::str::from_utf8(&block[..read]).unwrap());
    }
    drop(stream);
    let last = seen.lines().rev().find_map(|line| line.strip_prefix("id: ")).unwrap();
    let rest = http(&address, "GET", &format!("{headers}Last-Event-ID: {last}\r\n"), "");
    let progress: Vec<String> = (2..6).map(|number| format!(r#""progress": {number}"#)).collect();
    assert!(progress.iter().all(|said| rest.contains(said)) && !rest.contains(r#""progress": 1"#), "{rest}");
    assert!(rest.contains(r#""text": "done""#), "the stream ends with its answer: {rest}");
    let all = http(
        &address,
        "GET",
        &format!("{headers}Last-Event-ID: {}-0\r\n", last.split('-').next().unwrap()),
        "",
    );
    assert!(all.contains(r#""progress": 0"#) && all.contains(r#""text": "done""#), "{all}");
    drop(gateway);
}

/// A server at an address that does as it is told by its arguments.
struct Remote(Child, String);

impl Remote {
    fn new(arguments: &[&str]) -> Remote {
        let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp/remote.py");
        let mut command = Command::new("python3");
        let mut child = command.arg(server).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Remote(child, address.trim().to_owned())
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn an_answer_that_breaks_off_is_gone_on_with_where_it_was() {
    let forebay = Forebay::new();
    let remote = Remote::new(&["breaks"]);
    let mut client = Client::of(forebay.command(["mcp", "--url", &remote.1])).greeted();
    client.send(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":1}}}"#,
    );
    let messages: Vec<Value> = (0..3).map(|_| client.message()).collect();
    let progress = |number: usize| messages[number]["params"]["progress"].as_u64();
    assert_eq!((progress(0), progress(1)), (Some(1), Some(2)), "{messages:?}");
    assert_eq!(messages[2]["result"]["content"][0]["text"], "after place-2", "{messages:?}");
}

#[test]
fn a_server_that_wants_to_know_who_asks_is_told_or_the_client_is() {
    let forebay = Forebay::new();
    let remote = Remote::new(&["bearer"]);
    let mut client = Client::of(forebay.command(["mcp", "--url", &remote.1]));
    let refused = client.hello("somebody", "2025-06-18");
    let text = refused["error"]["message"].as_str().unwrap();
    assert!(text.contains("HTTP 401") && text.contains("--header 'Authorization: Bearer ${NAME}'"), "{text}");
    assert_eq!(
        refused["error"]["data"],
        json!({"httpStatus": 401, "wwwAuthenticate": "Bearer resource_metadata=\"http://there\""})
    );
    let mut command =
        forebay.command(["mcp", "--url", &remote.1, "--header", "Authorization: Bearer ${THE_TOKEN}"]);
    command.env("THE_TOKEN", "sesame");
    let mut client = Client::of(command).greeted();
    assert_eq!(client.text(1, "x", json!({})), "Bearer sesame");
    let missing = forebay.run(["mcp", "--url", "http://x", "--header", "A: ${NOT_THERE}"]).fails(2);
    assert!(missing.contains("the environment variable NOT_THERE is not set"), "{missing}");

    // Clients that sign in themselves do so through us.
    let mut command =
        forebay.command(["mcp", "--listen", "127.0.0.1:0", "--url", &remote.1, "--pass-authorization"]);
    command.env_remove("FOREBAY_SESSION");
    let gateway = Client::of(command);
    let said = gateway.errors.recv_timeout(Duration::from_secs(30)).unwrap();
    let address = said.trim().strip_prefix("forebay: listening on ").unwrap().to_owned();
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"me","version":"1"}}}"#;
    let refused = http(&address, "POST", "", hello);
    assert!(refused.starts_with("HTTP/1.1 401 "), "{refused}");
    assert!(refused.contains("www-authenticate: Bearer resource_metadata=\"http://there\""), "{refused}");
    let own = "Authorization: Bearer sesame\r\n";
    let answer = http(&address, "POST", own, hello);
    let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}"#;
    let answer = http(&address, "POST", &format!("{own}Mcp-Session-Id: {id}\r\n"), call);
    assert!(answer.contains("Bearer sesame"), "{answer}");
    let (status, _) = asked_once(&address, "", "tools/call", json!({"name": "x"}));
    assert_eq!(status, "401");
    let (status, answer) = asked_once(&address, own, "tools/call", json!({"name": "x"}));
    assert_eq!(
        (status.as_str(), &answer[0]["result"]["content"][0]["text"]),
        ("200", &json!("Bearer sesame"))
    );
    drop(gateway);
}

#[test]
fn a_server_behind_https_is_trusted_by_its_certificate() {
    let forebay = Forebay::new();
    let file = |name: &str| forebay.folder().join(name).to_str().unwrap().to_owned();
    let (key, certificate) = (file("key.pem"), file("certificate.pem"));
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
        ])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout", &key, "-out", &certificate])
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let remote = Remote::new(&["plain", &certificate, &key]);
    assert!(remote.1.starts_with("https://"), "{}", remote.1);
    let hello = |trusts: bool| {
        let mut command = forebay.command(["mcp", "--url", &remote.1]);
        if trusts {
            command.env("SSL_CERT_FILE", &certificate);
        }
        Client::of(command).hello("somebody", "2025-06-18")
    };
    assert_eq!(hello(true)["result"]["serverInfo"]["name"], "remote");
    let refused = hello(false);
    let text = refused["error"]["message"].as_str().unwrap();
    assert!(text.contains("cannot be reached") && text.contains("certificate"), "{text}");
}

#[test]
fn our_tools_can_be_listed_only_once_something_is_kept() {
    let forebay = Forebay::new();
    let mut client = Client::new(&forebay, &["--tools-when-kept"]).greeted();
    let names = |id: u64, client: &mut Client| {
        let list = client.ask(id, "tools/list", json!({"cursor": "more"}));
        let names = list["result"]["tools"].as_array().unwrap().iter();
        names.filter(|tool| tool["name"].as_str().unwrap().starts_with("output_")).count()
    };
    assert_eq!(names(1, &mut client), 0);
    client.send(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"lines","arguments":{"count":50000}}}"#);
    let mut both = [client.message(), client.message()];
    both.sort_by_key(|message| message["id"].is_u64());
    assert_eq!(both[0]["method"], "notifications/tools/list_changed", "{}", both[0]);
    assert_eq!(both[1]["id"], 2);
    assert_eq!(names(3, &mut client), 7);
    let answer = client.call(4, "lines", json!({"count": 50_000}));
    assert_eq!(answer["id"], 4, "it is told once: {answer}");
}

#[test]
fn nobody_else_is_let_in_without_a_token() {
    let forebay = Forebay::new();
    let error = forebay.run(["mcp", "--listen", "0.0.0.0:0"]).fails(2);
    expect![[r#"
        forebay: 0.0.0.0 can be reached from other machines, so a token is needed
        hint: give one with --token-file FILE, or listen on 127.0.0.1
    "#]]
    .assert_eq(&error);
}

#[test]
fn a_clients_settings_are_wrapped_and_given_back_byte_for_byte() {
    let forebay = Forebay::new();
    let before = "{\n  // mine\n  \"mcpServers\": {\"a\": {\"command\": \"npx\",\"args\":[ \"x\"]}, \"b\": {\"url\": \"http://x\"}},\r\n}";
    std::fs::create_dir(forebay.folder().join("work/.cursor")).unwrap();
    let file = forebay.file(".cursor/mcp.json", before);
    let text = || std::fs::read_to_string(&file).unwrap();
    let secret = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&file, secret).unwrap();
    let shown = forebay.run(["mcp", "wrap", "cursor"]);
    assert!(shown.text().contains("+  \"mcpServers\": {\"a\": {\"command\": \""), "{}", shown.text());
    assert!(
        shown.err.contains("b stays as it is") && shown.err.contains("--yes changes it"),
        "{}",
        shown.err
    );
    assert_eq!(text(), before, "to look is free");
    assert_eq!(forebay.run(["mcp", "wrap", "cursor", "--yes"]).status, 0);
    let wrapped = text();
    assert!(wrapped.contains(r#""args":["mcp", "--", "npx",  "x"]"#), "{wrapped}");
    for name in [".cursor/mcp.json", ".cursor/mcp.json.before-forebay"] {
        let file = std::fs::metadata(forebay.folder().join("work").join(name)).unwrap();
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&file) & 0o777, 0o600, "{name}");
    }
    assert_eq!(forebay.run(["mcp", "unwrap", "cursor", "--yes"]).status, 0);
    assert_eq!(text(), before);
    assert_eq!(
        std::fs::read_dir(forebay.folder().join("work/.cursor")).unwrap().count(),
        1,
        "no copy is left"
    );
    // A client may read several files, and only one is changed at a time.
    let home = forebay.folder().join("home/.cursor");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("mcp.json"), r#"{"mcpServers": {"c": {"command": "x"}}}"#).unwrap();
    let mut command = forebay.command(["mcp", "wrap", "cursor"]);
    let shown = command.env("HOME", forebay.folder().join("home")).output().unwrap();
    let said = String::from_utf8(shown.stderr).unwrap();
    assert!(said.contains("home/.cursor/mcp.json names servers too; give it with --file"), "{said}");
    let none = forebay.run(["mcp", "wrap", "codex"]).fails(1);
    assert!(none.contains("looked for .codex/config.toml"), "{none}");
}

#[test]
fn a_gateway_of_another_name_is_known_and_its_backup_is_kept() {
    let forebay = Forebay::new();
    let binary = env!("CARGO_BIN_EXE_forebay");
    let other = forebay.folder().join("fb");
    std::fs::hard_link(binary, &other).or_else(|_| std::fs::copy(binary, &other).map(drop)).unwrap();
    let before =
        "{\"mcpServers\": {\"a\": {\"command\": \"npx\",\"args\":[ \"x\"]}, \"b\": {\"command\": \"uvx\"}}}";
    let file = forebay.file("servers.json", before);
    let copy = forebay.folder().join("work/servers.json.before-forebay");
    let text = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
    let run = |program: &str, way: &str| {
        let typed = forebay.command(["mcp", way, "cursor", "--file", "servers.json", "--yes"]);
        let mut command = Command::new(program);
        command.args(typed.get_args()).env_clear().current_dir(forebay.folder().join("work"));
        command.envs(typed.get_envs().filter_map(|(name, value)| Some((name, value?))));
        crate::forebay::Ran::from(command.output().unwrap())
    };
    let other = other.to_str().unwrap();
    assert_eq!(run(other, "wrap").status, 0);
    let wrapped = text(&file);
    assert!(wrapped.contains(&format!("\"command\": \"{other}\"")), "{wrapped}");
    for program in [other, binary] {
        let again = run(program, "wrap");
        assert!(again.err.contains("there is nothing to change"), "{program}: {}", again.err);
        assert_eq!((text(&file), text(&copy)), (wrapped.clone(), before.to_owned()), "{program}");
    }
    assert_eq!(run(binary, "unwrap").status, 0);
    assert_eq!(text(&file), before);
    assert!(!copy.exists());
    // A copy that says something else is not written over, and stays.
    std::fs::write(&copy, "mine").unwrap();
    assert_eq!(run(binary, "wrap").status, 0);
    assert_eq!(
        (text(&copy), text(&copy.with_extension("before-forebay-2"))),
        ("mine".to_owned(), before.to_owned())
    );
    assert!(run(binary, "unwrap").err.contains("stays"));
    assert_eq!((text(&file), text(&copy)), (before.to_owned(), "mine".to_owned()));
}

#[test]
fn a_file_of_settings_keeps_its_byte_order_mark_its_owner_and_its_mode() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let forebay = Forebay::new();
    let table = [
        ("cursor", "\u{feff}{\"mcpServers\": {\"a\": {\"command\": \"npx\"}}}\r\n"),
        ("codex", "\u{feff}[mcp_servers.a]\ncommand = \"npx\"\n"),
    ];
    for (client, before) in table {
        let file = forebay.file(client, before);
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
        // Only root may give a file away.
        let _ = chown(&file, Some(54_321), Some(54_322));
        let owned = |path: &std::path::Path| {
            let data = std::fs::metadata(path).unwrap();
            (data.uid(), data.gid(), data.mode() & 0o7777)
        };
        let first = owned(&file);
        assert_eq!(forebay.run(["mcp", "wrap", client, "--file", client, "--yes"]).status, 0);
        let wrapped = std::fs::read_to_string(&file).unwrap();
        assert!(wrapped.starts_with('\u{feff}') && wrapped.contains("\"mcp\", \"--\", \"npx\""), "{wrapped}");
        assert_eq!(owned(&file), first);
        assert_eq!(owned(&file.with_extension("before-forebay")), first);
        assert_eq!(forebay.run(["mcp", "unwrap", client, "--file", client, "--yes"]).status, 0);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
        assert_eq!(owned(&file), first);
    }
}
