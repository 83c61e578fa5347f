//! Servers and clients that mean no good: nobody else is hurt, and what can be answered is.

use super::{Client, Forebay, asked_once, eventually, listening, two};
use serde_json::{Value, json};
use std::io::Write;

/// Lines that are no message, or a message that nobody expects.
fn odd_lines() -> Vec<Vec<u8>> {
    let long = "x".repeat(5_000);
    let mut lines: Vec<Vec<u8>> = [
        "",
        " ",
        "\u{feff}{}",
        "{}",
        "[]",
        "[[]]",
        "[{}]",
        "null",
        "7",
        "\"x\"",
        "{",
        "[",
        "{\"id\":",
        r#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":{},"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":[1],"result":1}"#,
        r#"{"jsonrpc":"2.0","id":1e999,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":true,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":99999,"result":{},"error":{}}"#,
        r#"{"jsonrpc":"2.0","id":99998,"id":99999,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"forebay-1","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"forebay:9999:1","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"forebay:0:\"","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"forebay:18446744073709551616:1","result":{}}"#,
        r#"{"jsonrpc":"2.0","method":5}"#,
        r#"{"jsonrpc":"2.0","method":null,"id":null}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":[]}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":{}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99999}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"_meta":7}}"#,
    ]
    .map(|line| line.as_bytes().to_vec())
    .into();
    lines.push(format!(r#"{{"jsonrpc":"2.0","id":"{long}","result":{{}}}}"#).into());
    lines.push(format!(r#"{{"jsonrpc":"2.0","{long}":1,"method":"notifications/x"}}"#).into());
    lines.push("[".repeat(100_000).into());
    lines.push(
        format!(r#"{{"jsonrpc":"2.0","method":"x","params":{}{}}}"#, "[".repeat(20_000), "]".repeat(20_000))
            .into(),
    );
    lines.push(b"\xff\xfe\x00".to_vec());
    lines.push(b"{\"\xff\":1,\"id\":99999,\"result\":\"\xff\"}".to_vec());
    lines.push(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/\xff\"}".to_vec());
    lines
}

impl Client {
    fn send_raw(&mut self, line: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(&[line, b"\n"].concat()).unwrap();
    }

    /// The answer to a request, whatever else is said before it.
    fn answer_to(&self, id: u64) -> Value {
        loop {
            let line = self.line();
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Asks until there is a result: a server that was killed by what it read is back in a moment.
    fn goes_on(&mut self, id: &mut u64, tool: &str, line: &[u8]) {
        let what = String::from_utf8_lossy(&line[..line.len().min(100)]).into_owned();
        eventually(&format!("it goes on after {what}"), || {
            *id += 1;
            self.send(
                &json!({"jsonrpc": "2.0", "id": *id, "method": "tools/call", "params": {"name": tool}})
                    .to_string(),
            );
            self.answer_to(*id)["result"].is_object()
        });
    }
}

#[test]
fn whatever_a_server_says_its_requests_are_answered() {
    let forebay = Forebay::new();
    let one = Client::new(&forebay, &[]).greeted();
    for (mut client, before) in [(one, ""), (two(&forebay).greeted(), "one__")] {
        let mut id = 1_000;
        for line in odd_lines() {
            id += 1;
            let arguments = json!({"bytes": line});
            client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": format!("{before}says"), "arguments": arguments}}).to_string());
            // None of them is plainly an answer to this request, so the true answer is waited for.
            let answer = client.answer_to(id);
            let text = &answer["result"]["content"][0]["text"];
            assert_eq!(text, "done", "{answer} after {}", String::from_utf8_lossy(&line));
            client.goes_on(&mut id, &format!("{before}echo"), &line);
        }
        assert!(!client.end().contains("panicked"));
    }
}

#[test]
fn a_result_that_no_disk_takes_passes_whole_and_the_server_goes_on() {
    let forebay = Forebay::new();
    let mut command = std::process::Command::new("sh");
    let gateway = forebay.command(["mcp", "--", "python3", super::SERVER]);
    // No file can have more than about half a megabyte; the result has 1.4.
    command
        .args(["-c", "ulimit -f 900; exec \"$0\" \"$@\""])
        .arg(gateway.get_program())
        .args(gateway.get_args());
    command.env_clear().envs(gateway.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut client = Client::of(command).greeted();
    let server = client.text(1, "pid", json!({}));
    let text = client.text(2, "lines", json!({"count": 60_000}));
    assert!(text.len() > 1_400_000 && text.ends_with("line 60000: all is well\n"), "{}", text.len());
    let large = client.text(3, "huge", json!({"megabytes": 3}));
    assert!(large.len() > 2_800_000, "{}", large.len());
    assert_eq!(client.text(4, "pid", json!({})), server, "it was not started again");
    let said = client.end();
    assert!(said.contains("the result of lines passes as it is"), "{said}");
}

#[test]
fn whatever_a_client_says_it_is_served() {
    let forebay = Forebay::new();
    let one = Client::new(&forebay, &[]).greeted();
    let calls = [
        r#"{"jsonrpc":"2.0","id":1,"method":""}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":5}}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","name":"output_read","arguments":[]}}"#,
        r#"{"jsonrpc":"2.0","id":6,"method":"resources/read","params":{"uri":"forebay://../../x"}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"forebay://"}}"#,
        r#"{"jsonrpc":"2.0","id":"forebay-2","method":"tools/list"}"#,
        r#"[{"jsonrpc":"2.0","id":8,"method":"ping"},7,[],{"jsonrpc":"2.0","id":9,"method":"ping"}]"#,
    ];
    for (mut client, before) in [(one, ""), (two(&forebay).greeted(), "one__")] {
        let mut id = 1_000;
        let lines = odd_lines().into_iter().chain(calls.iter().map(|call| call.as_bytes().to_vec()));
        for line in lines {
            client.send_raw(&line);
            client.goes_on(&mut id, &format!("{before}echo"), &line);
        }
        assert!(!client.end().contains("panicked"));
    }
}

#[test]
fn of_two_requests_with_one_id_the_first_is_served() {
    let forebay = Forebay::new();
    let one = Client::new(&forebay, &[]).greeted();
    for (mut client, before) in [(one, ""), (two(&forebay).greeted(), "one__")] {
        let call = |tool: &str| {
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": format!("{before}{tool}")}}).to_string()
        };
        client.send(&call("never"));
        client.send(&call("echo"));
        let refused = client.message();
        assert!(refused["error"]["message"].as_str().unwrap().contains("not answered yet"), "{refused}");
        assert_eq!(client.text(2, &format!("{before}echo"), json!({})), "é ");
        // What is called off at once is called off at the server too.
        client.send(&call("never").replace("\"id\":1", "\"id\":3"));
        client.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#);
        assert_eq!(client.text(4, &format!("{before}echo"), json!({})), "é ");
        let said = client.end();
        assert!(said.contains(r#"notifications/cancelled","params":{"requestId":3}"#), "{said}");
    }
}

#[test]
fn every_request_is_answered_once_while_the_server_comes_and_goes() {
    let forebay = Forebay::new();
    let mut client = Client::new(&forebay, &[]).greeted();
    let mut id = 0;
    for _ in 0..4 {
        let tools = ["echo", "echo", "die", "echo", "twice", "half", "echo"];
        let mut ids = Vec::new();
        for tool in tools {
            id += 1;
            ids.push(id);
            client.send(
                &json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}})
                    .to_string(),
            );
            client.send(
                &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
                    .to_string(),
            );
        }
        let mut answered: Vec<u64> = tools.iter().map(|_| client.message()["id"].as_u64().unwrap()).collect();
        answered.sort_unstable();
        assert_eq!(answered, ids);
    }
    client.goes_on(&mut id, "echo", b"");
    drop(client);
}

#[test]
fn what_waited_for_a_server_that_died_is_not_done_by_the_next() {
    let forebay = Forebay::new();
    let mut client = Client::new(&forebay, &[]).greeted();
    let touched = forebay.file("touched", "");
    client.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"deaf","arguments":{"seconds":1}}}"#);
    let arguments = json!({"file": touched, "long": "x".repeat(10_000)});
    for id in 2..=100 {
        client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "touch", "arguments": arguments}}).to_string());
    }
    for _ in 1..=100 {
        let answer = client.message();
        assert!(answer["error"]["message"].as_str().unwrap().contains("ask again"), "{answer}");
    }
    assert_eq!(client.text(101, "echo", json!({})), "é ");
    assert_eq!(
        std::fs::read_to_string(&touched).unwrap(),
        "",
        "whoever was told that it failed may ask again"
    );
    drop(client);
}

#[test]
fn many_clients_at_once_get_each_their_own() {
    let forebay = Forebay::new();
    let (gateway, address) = listening(&forebay, &[]);
    let client = |number: u64| {
        let address = address.clone();
        std::thread::spawn(move || {
            for time in 0..10 {
                let say = format!("{number} {time}");
                let params = json!({"name": "echo", "arguments": {"say": say}});
                let (status, told) = asked_once(&address, "", "tools/call", params);
                assert_eq!(status, "200");
                assert_eq!(told[0]["result"]["content"][0]["text"], format!("é {say}"));
            }
        })
    };
    let clients: Vec<_> = (0..16).map(client).collect();
    clients.into_iter().for_each(|client| client.join().unwrap());
    drop(gateway);
}
