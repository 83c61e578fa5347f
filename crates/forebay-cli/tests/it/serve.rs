//! `forebay serve`, as clients of every kind come to it.

use crate::forebay::Forebay;
use crate::http::{Answer, Server};
use crate::model_server::{ModelServer, report};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    os::unix::fs::{FileTypeExt, PermissionsExt},
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    process::Stdio,
    thread,
    time::Duration,
};

fn log(lines: u64) -> Vec<u8> {
    let lines: String = (1..=lines).map(|line| format!("line {line}: all is well\n")).collect();
    format!("{lines}ERROR: disk on fire\n").into_bytes()
}

const OUTPUTS: &str = "/v1/sessions/s/outputs";

#[test]
fn what_is_put_is_answered_with_what_the_model_gets_and_every_query_reads_the_rest() {
    let forebay = Forebay::new();
    let server = Server::start(&forebay, &[]);
    let small = server.put(&format!("{OUTPUTS}/small1?tool=cat"), b"all of it\n").is(201).json();
    assert_eq!((&small["stored"], &small["text"]), (&json!(false), &json!("all of it\n")));
    let path = format!("{OUTPUTS}/large1?tool=make&exit=2&args=%7B%22command%22%3A%22make%22%7D");
    let large = server.put(&path, &log(50_000)).is(201).json();
    assert_eq!(
        (&large["handle"], &large["stored"], &large["exit"]),
        (&json!("s/large1"), &json!(true), &json!(2))
    );
    let view = large["text"].as_str().unwrap();
    assert!(view.contains("disk on fire") && view.contains("output_read(handle="), "{view}");
    // The same bytes are on the disk, where the command line finds them.
    assert_eq!(forebay.run(["cat", "s/large1"]).ok().out, log(50_000));

    let table = [
        ("read?lines=40000:40001", "line 40000: all is well\nline 40001: all is well"),
        ("read?tail=1", "ERROR: disk on fire"),
        ("grep?pattern=fire&context=1", "50001:ERROR: disk on fire"),
        ("ask?question=what%20is%20on%20fire%3F", "ERROR: disk on fire"),
        ("outline", "50,001 lines"),
    ];
    for (query, expected) in table {
        let answer = server.get(&format!("{OUTPUTS}/large1/{query}")).is(200).json();
        let text = answer["text"].as_str().unwrap();
        assert!(text.contains(expected) && answer["total_lines"] == 50_001, "{query}: {text}");
        let plain =
            server.ask(&format!("GET {OUTPUTS}/large1/{query}"), &[("accept", "text/plain")], b"").is(200);
        assert!(plain.text().contains(expected) && plain.header("content-type").starts_with("text/plain"));
    }
    let found = server.get("/v1/sessions/s/search?words=fire%20disk").is(200).json();
    assert_eq!(found["total"], 1);
    server.put(&format!("{OUTPUTS}/json12?tool=api"), br#"{"a": [1, 2, {"b": true}]}"#).is(201);
    let value = server.get(&format!("{OUTPUTS}/json12/json?filter=.a%5B2%5D.b")).is(200).json();
    assert!(value["text"].as_str().unwrap().contains("true"), "{value}");
    // The calls that an answer advises are answered as well.
    let read = json!({"name": "output_read", "arguments": {"handle": "s/large1", "lines": "7:7"}});
    let too_many = json!({"content": vec![json!({"type": "tool_use", "id": "x", "name": "output_list", "input": {}}); 65]});
    server.post("/v1/sessions/s/calls?wire=anthropic", &too_many.to_string()).is(400);
    let called = server.post("/v1/sessions/s/calls", &read.to_string()).is(200).json();
    assert!(called["text"].as_str().unwrap().contains("line 7: all is well"), "{called}");
    // Each of these counts among what the model was given.
    let stats = server.get("/v1/sessions/s/stats").is(200).json();
    assert_eq!(stats["queries"], 13, "{stats}");
    let listed = server.get(OUTPUTS).is(200).json();
    assert_eq!(listed["total"], 3);
    assert_eq!(listed["outputs"][1]["got"]["as"], "view");
}

#[test]
fn an_agent_lists_the_tools_and_has_its_models_calls_answered_in_its_own_form() {
    let forebay = Forebay::new();
    let server = Server::start(&forebay, &[]);
    server.put(&format!("{OUTPUTS}/call-1"), &log(9)).is(201);
    for wire in ["openai-chat", "openai-responses", "anthropic", "gemini", "mcp", "function-call"] {
        let tools = server.get(&format!("/v1/tools?wire={wire}")).is(200).json();
        assert!(tools["tools"].to_string().contains("output_grep"), "{wire}: {tools}");
    }
    let message = json!({"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function":
        {"name": "my_grep", "arguments": "{\"handle\": \"call-1\", \"pattern\": \"fire\"}"}}]});
    let answer =
        server.post("/v1/sessions/s/calls?wire=openai-chat&prefix=my_", &message.to_string()).is(200);
    let result = &answer.json()["results"][0];
    assert_eq!((&result["role"], &result["tool_call_id"]), (&json!("tool"), &json!("c1")));
    assert!(result["content"].as_str().unwrap().contains("10:ERROR: disk on fire"), "{result}");
}

#[test]
fn an_output_that_is_put_again_under_its_call_is_kept_once_and_gets_the_same_answer() {
    let forebay = Forebay::new();
    let server = Server::start(&forebay, &[]);
    let path = format!("{OUTPUTS}/toolu_01?tool=make");
    let first = server.put(&path, &log(50_000)).is(201).json();
    let again = server.put(&path, &log(50_000)).is(200).json();
    assert_eq!((&again["text"], &again["handle"]), (&first["text"], &first["handle"]));
    assert_eq!((&first["repeated"], &again["repeated"]), (&json!(false), &json!(true)));
    for other in [log(49_999), [log(50_000), b"more".to_vec()].concat(), Vec::new()] {
        assert_eq!(server.put(&path, &other).is(409).json()["type"], "urn:forebay:problem:conflict");
    }
    assert_eq!(forebay.ls().len(), 1);
    let stats = server.get("/v1/sessions/s/stats").json();
    assert_eq!(stats["token_budget"]["times"], 1, "what is repeated is not given twice: {stats}");
    // Also if it is asked for otherwise, or there is less room by now.
    let more = server.put(&format!("{path}&budget=1000000"), &log(50_000)).is(200).json();
    assert_eq!(more["text"], first["text"]);
    let whole = server.put(&format!("{OUTPUTS}/whole1?budget=100000"), &log(2_000)).is(201).json();
    let _ = server.ask("PUT /v1/sessions/s/room", &[], br#"{"used": 199000}"#).is(200);
    let again = server.put(&format!("{OUTPUTS}/whole1?context_window=200000"), &log(2_000)).is(200).json();
    assert_eq!((&again["text"], &again["stored"]), (&whole["text"], &json!(false)));
    assert_eq!(server.ask(&format!("DELETE {OUTPUTS}/whole1"), &[], b"").status, 204);
    // A name that no file can have is still the name of a call.
    let odd = format!("{OUTPUTS}/call%2F7%20x");
    let (one, two) = (server.put(&odd, b"x").is(201).json(), server.put(&odd, b"x").is(200).json());
    assert_eq!(one["handle"], two["handle"]);
}

/// Begins to put an output, and sends so much of it.
fn begin(server: &Server, path: &str, part: &str) -> TcpStream {
    let mut stream = server.connect();
    let head =
        format!("PUT {path} HTTP/1.1\r\nhost: {}\r\ntransfer-encoding: chunked\r\n\r\n", server.address);
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(format!("{:x}\r\n{part}\r\n", part.len()).as_bytes()).unwrap();
    stream
}

/// Waits until an output is as it should be.
fn wait_for(server: &Server, path: &str, as_wanted: impl Fn(&Value) -> bool) -> Value {
    loop {
        let answer = server.get(path);
        if answer.status == 200 && as_wanted(&answer.json()) {
            return answer.json();
        }
        thread::yield_now();
    }
}

#[test]
fn a_client_that_vanishes_leaves_what_it_sent_and_can_put_the_whole_again() {
    let forebay = Forebay::new();
    let server = Server::start(&forebay, &[]);
    let path = format!("{OUTPUTS}/gone12");
    let stream = begin(&server, &path, "the first part\n");
    wait_for(&server, &path, |output| output["length"] == 15);
    // Meanwhile nobody else can put it.
    server.put(&path, b"other").is(409);
    drop(stream);
    let left = wait_for(&server, &path, |output| output["state"] != "growing");
    assert!(left["state"]["cut-short"].as_str().unwrap().contains("client"), "{left}");
    let whole = server.put(&path, b"the first part\nand the second\n").is(201).json();
    assert_eq!(whole["handle"], "s/gone12-2");
    assert_eq!(server.put(&path, b"the first part\nand the second\n").is(200).json()["handle"], "s/gone12-2");
}

#[test]
fn clients_that_vanish_before_they_are_answered_leave_one_output_of_a_call() {
    let forebay = Forebay::new();
    let server = Server::start(&forebay, &[]);
    thread::scope(|scope| {
        for client in 0..6 {
            let server = &server;
            scope.spawn(move || {
                for number in 0..60 {
                    let path = format!("{OUTPUTS}/c{client}-{number}-x");
                    let mut stream = server.connect();
                    let head = format!(
                        "PUT {path} HTTP/1.1\r\nhost: {}\r\ncontent-length: 4\r\n\r\nall\n",
                        server.address
                    );
                    stream.write_all(head.as_bytes()).unwrap();
                    // At every moment of the way.
                    thread::sleep(Duration::from_micros(number * 100));
                    drop(stream);
                    while server.put(&path, b"all\n").status == 409 {}
                }
            });
        }
    });
    let complete: Vec<Value> = forebay.ls().into_iter().filter(|output| output["complete"] == true).collect();
    assert_eq!(complete.len(), 360);
    let given = server.get("/v1/sessions/s/stats").json();
    assert!(given["passed"].as_u64().unwrap() == 360, "each was told of once: {given}");
}

#[test]
fn only_the_whole_id_removes_an_output() {
    let forebay = Forebay::new();
    let server = Server::start(&forebay, &[]);
    server.put(&format!("{OUTPUTS}/call-10"), b"x").is(201);
    server.get(&format!("{OUTPUTS}/call-1/bytes")).is(200);
    server.ask(&format!("DELETE {OUTPUTS}/call-1"), &[], b"").is(404);
    server.get(&format!("{OUTPUTS}/call-10/bytes")).is(200);
    server.put(&format!("{OUTPUTS}/"), b"x").is(400);
}

#[test]
fn a_client_that_stops_sending_is_told_so_and_what_came_is_kept() {
    let forebay = Forebay::new();
    let server = Server::start(&forebay, &["--idle", "0.3s"]);
    let stream = begin(&server, &format!("{OUTPUTS}/slow12"), "half a");
    let answer = Answer::read(stream).is(408).json();
    assert_eq!(answer["handle"], "s/slow12");
    assert_eq!(forebay.run(["cat", "s/slow12"]).ok().out, b"half a");
    // One that does not even say what it wants is let go.
    let mut stream = server.connect();
    stream.write_all(b"GET /v1/sess").unwrap();
    let mut said = Vec::new();
    let _ = stream.read_to_end(&mut said);
    assert!(!String::from_utf8_lossy(&said).contains("200 OK"));
}

#[test]
fn an_output_that_is_too_large_is_refused_and_a_client_that_takes_nothing_holds_nobody_up() {
    let forebay = Forebay::new();
    let server = Server::start(&forebay, &["--max-upload", "20MB", "--idle", "1s"]);
    server.put(&format!("{OUTPUTS}/large1"), &vec![b'x'; 19_000_000]).is(201);
    let mut stream = server.connect();
    let head = format!(
        "PUT {OUTPUTS}/toolarge HTTP/1.1\r\nhost: {}\r\ncontent-length: 20000001\r\n\r\n",
        server.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    Answer::read(stream).is(413);
    assert_eq!(forebay.ls().len(), 1, "what says that it is too large is not even begun");
    // Clients that ask for much and take nothing: others are served, and these are let go.
    let slow: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = server.connect();
            let head = format!("GET {OUTPUTS}/large1/bytes HTTP/1.1\r\nhost: {}\r\n\r\n", server.address);
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    assert_eq!(server.get(&format!("{OUTPUTS}/large1/bytes")).is(200).body.len(), 19_000_000);
    loop {
        let metrics = server.get("/metrics").is(200).text();
        let open = metrics.lines().find(|line| line.starts_with("forebay_connections ")).unwrap();
        if open == "forebay_connections 1" {
            break;
        }
        thread::yield_now();
    }
    drop(slow);
}

#[test]
fn ranges_are_served_as_they_are_asked_for() {
    let forebay = Forebay::new();
    let server = Server::start(&forebay, &[]);
    server.put(&format!("{OUTPUTS}/digits"), b"0123456789").is(201);
    let path = format!("GET {OUTPUTS}/digits/bytes");
    let table: &[(&str, u16, &str, &str)] = &[
        ("bytes=0-3", 206, "bytes 0-3/10", "0123"),
        ("bytes=4-", 206, "bytes 4-9/10", "456789"),
        ("bytes=-2", 206, "bytes 8-9/10", "89"),
        ("bytes=5-500", 206, "bytes 5-9/10", "56789"),
        ("bytes=-500", 206, "bytes 0-9/10", "0123456789"),
        ("bytes=10-", 416, "bytes */10", ""),
        ("bytes=-0", 416, "bytes */10", ""),
        ("bytes=5-3", 200, "", "0123456789"),
        ("bytes=1-2,4-5", 200, "", "0123456789"),
        ("lines=1-2", 200, "", "0123456789"),
        ("bytes=x-y", 200, "", "0123456789"),
    ];
    for (range, status, content_range, body) in table {
        let answer = server.ask(&path, &[("range", range)], b"").is(*status);
        assert_eq!(answer.header("content-range"), *content_range, "{range}");
        assert!(*status == 416 || answer.text() == *body, "{range}");
    }
    let whole = server.get(&format!("{OUTPUTS}/digits/bytes"));
    let etag = whole.header("etag").to_owned();
    server.ask(&path, &[("if-none-match", &etag)], b"").is(304);
    server.ask(&path, &[("range", "bytes=0-1"), ("if-range", &etag)], b"").is(206);
    server.ask(&path, &[("range", "bytes=0-1"), ("if-range", "\"other\"")], b"").is(200);
    let head = server.ask(&format!("HEAD {OUTPUTS}/digits/bytes"), &[], b"").is(200);
    assert_eq!((head.header("content-length"), head.body.len()), ("10", 0));
}

#[test]
fn what_a_tool_said_does_nothing_where_it_is_shown() {
    let forebay = Forebay::new();
    let server = Server::start(&forebay, &[]);
    let table: &[(&str, &[u8], &str)] = &[
        ("page12", b"<!doctype html><script>alert(1)</script>", "text/plain; charset=utf-8"),
        (
            "svg123",
            b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
            "text/plain; charset=utf-8",
        ),
        ("json12", b"{\"a\": 1}", "application/json"),
        ("lines1", b"{\"a\": 1}\n{\"a\": 2}\n", "application/jsonl"),
        ("png123", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0", "image/png"),
        ("binary", b"\0\x01\x02<script>", "application/octet-stream"),
        ("webp12", b"RIFF\0\0\0\0WEBPVP8 \0", "image/webp"),
        ("riff12", b"RIFF\0", "application/octet-stream"),
    ];
    for (id, bytes, media_type) in table {
        server.put(&format!("{OUTPUTS}/{id}"), bytes).is(201);
        let answer = server.get(&format!("{OUTPUTS}/{id}/bytes")).is(200);
        assert_eq!((answer.header("content-type"), &answer.body[..]), (*media_type, *bytes), "{id}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert!(answer.header("content-security-policy").starts_with("sandbox; default-src 'none'"));
    }
    let page = server.get("/").is(200);
    let policy = page.header("content-security-policy");
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
}

/// Makes a token for a tenant.
fn token(forebay: &Forebay, tenant: &str, may: &str) -> String {
    let args = ["serve", "token", "--tokens", "tokens.toml", "--tenant", tenant, "--may", may];
    let ran = forebay.run(args);
    assert_eq!(ran.status, 0, "{}", ran.err);
    format!("Bearer {}", ran.text().trim())
}

#[test]
fn a_token_reaches_its_own_tenant_and_does_only_what_it_may() {
    let forebay = Forebay::new();
    let (one, two) = (token(&forebay, "one", "read,write,delete"), token(&forebay, "two", "read,write"));
    let reader = token(&forebay, "one", "read");
    let server = Server::start(&forebay, &["--tokens", "tokens.toml"]);
    let ask =
        |token: &str, request: &str, body: &[u8]| server.ask(request, &[("authorization", token)], body);
    let output = format!("{OUTPUTS}/secret");
    ask(&one, &format!("PUT {output}"), b"of one").is(201);
    // For the other tenant there is no such session, output or event.
    assert_eq!(ask(&two, "GET /v1/sessions", b"").is(200).json()["total"], 0);
    for path in ["", "/bytes", "/view", "/lines", "/read", "/grep?pattern=one", "/tree"] {
        ask(&two, &format!("GET {output}{path}"), b"").is(404);
    }
    assert_eq!(ask(&two, "GET /v1/sessions/s/events", b"").is(200).json()["events"], json!([]));
    assert_eq!(ask(&two, "GET /v1/stats", b"").is(200).json()["outputs"], 0);
    ask(&two, "GET /v1/sessions/s/export", b"").is(404);
    ask(&two, &format!("PUT {output}"), b"of two").is(201);
    assert_eq!(ask(&one, &format!("GET {output}/bytes"), b"").is(200).text(), "of one");
    // Rights.
    assert_eq!(ask(&reader, &format!("GET {output}/bytes"), b"").is(200).text(), "of one");
    assert_eq!(ask(&reader, &format!("GET {output}"), b"").is(200).json()["path"], Value::Null);
    let binary =
        ask(&one, &format!("PUT {OUTPUTS}/binary?budget=64"), &[0, 255].repeat(9_000)).is(201).text();
    assert!(!binary.contains("tenants"), "{binary}");
    ask(&reader, &format!("PUT {output}"), b"x").is(403);
    ask(&reader, &format!("DELETE {output}"), b"").is(403);
    ask(&one, &format!("POST {output}/extract"), br#"{"instructions": "x"}"#).is(403);
    ask(&one, "GET /metrics", b"").is(403);
    ask(&one, &format!("DELETE {output}"), b"").is(204);
    ask(&one, &format!("GET {output}"), b"").is(404);
    // Nobody in particular.
    for wrong in ["", "Bearer", "Bearer fb_00", "Basic eA==", &one.replace("fb_", "fb_0")] {
        let answer = ask(wrong, "GET /v1/sessions", b"").is(401);
        assert_eq!(answer.header("www-authenticate"), "Bearer");
    }
    server.get("/health").is(200);
    server.get("/ready").is(200);
    let kept = std::fs::read_to_string(forebay.folder().join("work/tokens.toml")).unwrap();
    assert!(!kept.contains(one.trim_start_matches("Bearer fb_")), "only hashes are kept");
}

#[test]
fn nobody_from_elsewhere_comes_without_tokens() {
    let forebay = Forebay::new();
    let ran = forebay.run(["serve", "token", "--tokens", "t.toml", "--tenant", "../other"]);
    assert_eq!((ran.status, ran.err.contains("a tenant's name")), (2, true), "{}", ran.err);
    let ran = forebay.run(["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("tokens are needed") && ran.err.contains("forebay serve token"), "{}", ran.err);
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn other_users_of_this_machine_do_not_come_in_without_the_token() {
    let forebay = Forebay::new();
    forebay.put("secret", b"of the owner", &[]);
    let server = Server::guarded(&forebay, &[]);
    let output = format!("{OUTPUTS}/secret");
    let requests = [
        "GET /v1/sessions".to_owned(),
        format!("GET {output}/bytes"),
        format!("PUT {OUTPUTS}/other1"),
        format!("DELETE {output}"),
        "DELETE /v1/sessions/s".to_owned(),
        "GET /v1/sessions/s/events".to_owned(),
        "GET /metrics".to_owned(),
    ];
    for request in &requests {
        for headers in [&[][..], &[("authorization", "Bearer fb_00")], &[("cookie", "forebay=1")]] {
            let answer = server.ask(request, headers, b"").is(401);
            assert_eq!(answer.header("www-authenticate"), "Bearer", "{request}");
            assert!(answer.text().contains("`forebay serve token` prints the token"), "{request}");
        }
    }
    for open in ["/", "/page.js", "/health", "/ready", "/v1/openapi.json"] {
        server.get(open).is(200);
    }
    assert_eq!(server.get("/health").json()["auth"], "local-token");
    let document = server.get("/v1/openapi.json").json();
    assert_eq!(document["components"]["securitySchemes"]["token"]["scheme"], "bearer");
    // Our own commands find it, and nobody else can.
    let token = forebay.run(["serve", "token"]).ok().text().trim().to_owned();
    assert_eq!(server.url.as_deref(), Some(&*format!("http://{}/?token={token}", server.address)));
    let said = forebay.run(["serve", "token", "--json"]).ok();
    let said: Value = serde_json::from_slice(&said.out).unwrap();
    assert_eq!(said["token"], token);
    assert_eq!(mode(Path::new(said["file"].as_str().unwrap())), 0o600);
    let with = |token: &str, request: &str| {
        server.ask(request, &[("authorization", &format!("Bearer {token}"))], b"")
    };
    let told = with(&token, &format!("GET {output}")).is(200).json();
    assert!(told["path"].as_str().unwrap().starts_with('/'), "whoever has the token is here: {told}");
    // A new token counts at once, and the old one no longer does.
    let newer = forebay.run(["serve", "token", "--rotate"]).ok().text().trim().to_owned();
    with(&token, "GET /v1/sessions").is(401);
    with(&newer, &format!("DELETE {output}")).is(204);
    // What others could have read or written is no secret.
    let file = forebay.root().join(".serve-token");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    with(&newer, "GET /v1/sessions").is(503);
    let ran = forebay.run(["serve", "--listen", "127.0.0.1:0"]);
    assert!(ran.status != 0 && ran.err.contains("other users can read it") && ran.err.contains("--rotate"));
    for wrong in [["--rotate", "--tokens", "t"], ["--may", "read", "--json"], ["--tenant", "a", "--json"]] {
        assert_eq!(forebay.run([&["serve", "token"][..], &wrong].concat()).status, 2, "{wrong:?}");
    }
}

#[test]
fn a_browser_that_comes_with_the_token_gets_a_cookie_that_reads_for_our_own_page_only() {
    let forebay = Forebay::new();
    forebay.put("secret", b"of the owner", &[]);
    let server = Server::guarded(&forebay, &[]);
    let url = server.url.clone().unwrap();
    let token = url.split_once("token=").unwrap().1;
    let wrong = server.get("/?token=fb_00").is(303);
    assert_eq!((wrong.header("location"), wrong.header("set-cookie")), ("/", ""));
    let right = server.get(&format!("/?token={token}")).is(303);
    assert_eq!((right.header("location"), right.header("cache-control")), ("/", "no-store"));
    let (cookie, rules) = right.header("set-cookie").split_once("; ").unwrap();
    assert_eq!(rules, "HttpOnly; SameSite=Strict; Path=/");
    assert!(!cookie.contains(token), "the cookie does not tell the token");
    let (name, value) = cookie.split_once('=').unwrap();
    let read = r#"{"name": "output_read", "arguments": {"handle": "secret"}}"#;
    let own = format!("http://{}", server.address);
    let (calls, output) = ("POST /v1/sessions/s/calls", format!("{OUTPUTS}/secret"));
    let get = format!("GET {output}/bytes");
    let several = format!("other=1; {name}=0; {cookie}");
    type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], u16);
    let table: &[Row] = &[
        (&get, &[("cookie", cookie)], 200),
        (&get, &[("cookie", &several)], 200),
        (&get, &[("cookie", cookie), ("sec-fetch-site", "same-origin")], 200),
        (&get, &[("cookie", cookie), ("sec-fetch-site", "none")], 200),
        (&get, &[("cookie", &format!("{name}={}", value.replace(['0', '1', '2'], "3")))], 401),
        (&get, &[("cookie", &format!("{name}={token}"))], 401),
        (&get, &[("cookie", &format!("forebay={value}"))], 401),
        (&get, &[("cookie", cookie), ("authorization", "Bearer fb_00")], 401),
        // A page of others, on another host or on another port of this one.
        (&get, &[("cookie", cookie), ("sec-fetch-site", "cross-site")], 403),
        (&get, &[("cookie", cookie), ("sec-fetch-site", "same-site")], 403),
        (&get, &[("cookie", cookie), ("origin", "http://127.0.0.1:1")], 403),
        (calls, &[("cookie", cookie), ("origin", &own)], 200),
        (calls, &[("cookie", cookie), ("origin", "https://evil.example")], 403),
        (calls, &[("cookie", cookie), ("origin", "http://127.0.0.1:1")], 403),
        (calls, &[("cookie", cookie), ("origin", "null")], 403),
        (calls, &[("cookie", cookie)], 403),
        (calls, &[("cookie", cookie), ("host", "evil.example"), ("origin", "http://evil.example")], 403),
        // The page only reads.
        (&format!("PUT {OUTPUTS}/other1"), &[("cookie", cookie), ("origin", &own)], 403),
        (&format!("DELETE {output}"), &[("cookie", cookie), ("origin", &own)], 403),
    ];
    for (request, headers, status) in table {
        let answer = server.ask(request, headers, read.as_bytes());
        assert_eq!(answer.status, *status, "{request} {headers:?}: {}", answer.text());
    }
    assert_eq!(forebay.run(["cat", "s/secret"]).ok().out, b"of the owner");
    let _ = forebay.run(["serve", "token", "--rotate"]).ok();
    server.ask(&get, &[("cookie", cookie)], b"").is(401);
}

/// Asks by a socket file.
fn ask_socket(path: &Path, request: &str, body: &str) -> Answer {
    let mut stream = UnixStream::connect(path).unwrap();
    let head = format!(
        "{request} HTTP/1.1\r\nhost: any\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    Answer::read(stream)
}

#[test]
fn a_socket_file_is_for_its_owner_and_goes_with_its_server() {
    let forebay = Forebay::new();
    let path = forebay.folder().join("work/fb.sock");
    // What a server left that was killed.
    drop(UnixListener::bind(&path).unwrap());
    let start = || {
        let mut child = forebay
            .command(["serve", "--json", "--socket", "fb.sock"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        (child, serde_json::from_str::<Value>(&line).unwrap())
    };
    let (mut child, said) = start();
    assert_eq!(said, json!({"listening": "unix:fb.sock"}));
    assert_eq!(mode(&path), 0o600);
    let _ = ask_socket(&path, &format!("PUT {OUTPUTS}/call-1"), "all of it\n").is(201);
    assert_eq!(ask_socket(&path, &format!("GET {OUTPUTS}/call-1/bytes"), "").is(200).text(), "all of it\n");
    let ran = forebay.run(["serve", "--socket", "fb.sock"]);
    assert!(ran.status != 0 && ran.err.contains("a server listens there"), "{}", ran.err);
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(!path.exists());
    // What is not a socket stays what it is.
    let file = forebay.file("fb.sock", "mine");
    let ran = forebay.run(["serve", "--socket", "fb.sock"]);
    assert!(ran.status != 0 && ran.err.contains("something else has this name"), "{}", ran.err);
    assert!(!fs::metadata(&file).unwrap().file_type().is_socket());
    assert_eq!(fs::read(file).unwrap(), b"mine");
    assert_eq!(forebay.run(["serve", "--socket", "a", "--listen", "127.0.0.1:0"]).status, 2);
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_at_another_address_of_this_machine_is_reached_by_that_address() {
    let forebay = Forebay::new();
    let server = Server::start(&forebay, &["--listen", "127.0.0.2:0"]);
    assert!(server.address.starts_with("127.0.0.2:"));
    let own = format!("http://{}", server.address);
    server.ask("GET /v1/sessions", &[("origin", &own)], b"").is(200);
    server.ask("GET /v1/sessions", &[("host", "127.0.0.2.evil.example")], b"").is(403);
    server.ask("GET /v1/sessions", &[("host", "192.0.2.1")], b"").is(403);
}

/// Begins to put outputs that never end, and waits until each has its place or was refused.
fn begin_slow(server: &Server, sessions: &[&str], each: usize, token: &str) -> Vec<TcpStream> {
    let begun: Vec<TcpStream> = sessions
        .iter()
        .flat_map(|session| (0..each).map(move |number| (session, number)))
        .map(|(session, number)| {
            let mut stream = server.connect();
            let head = format!(
                "PUT /v1/sessions/{session}/outputs/slow-{number} HTTP/1.1\r\nhost: {}\r\n\
                 authorization: {token}\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n",
                server.address
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    let counted = |metrics: &str, name: &str| -> usize {
        let line = metrics.lines().find(|line| line.starts_with(name));
        line.map_or(0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
    };
    let refused = "forebay_requests_total{route=\"put_output\",status=\"503\"}";
    loop {
        let metrics = server.ask("GET /metrics", &[("authorization", token)], b"").is(200).text();
        if counted(&metrics, "forebay_uploads ") + counted(&metrics, refused) == begun.len() {
            return begun;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn clients_that_send_slowly_do_not_take_the_places_of_others() {
    let forebay = Forebay::new();
    let server = Server::start(&forebay, &[]);
    let slow = begin_slow(&server, &["slow"], 256, "");
    let refused = server.put("/v1/sessions/slow/outputs/more12", b"x").is(503);
    assert!(
        refused.text().contains("session slow already has 64 uploads, exports and extractions"),
        "{}",
        refused.text()
    );
    assert_eq!(refused.header("retry-after"), "1");
    server.put(&format!("{OUTPUTS}/call-1"), b"of another session").is(201);
    drop(slow);
    // What they held is given back.
    while server.put("/v1/sessions/slow/outputs/more12", b"x").status == 503 {
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_tenant_that_sends_slowly_does_not_take_the_places_of_another() {
    let forebay = Forebay::new();
    let (one, two) = (token(&forebay, "one", "read,write,metrics"), token(&forebay, "two", "read,write"));
    let server = Server::start(&forebay, &["--tokens", "tokens.toml"]);
    let _slow = begin_slow(&server, &["a", "b", "c", "d"], 64, &one);
    let put = |token: &str| {
        server.ask("PUT /v1/sessions/e/outputs/call-1", &[("authorization", token)], b"all of it")
    };
    assert!(
        put(&one).is(503).text().contains("this tenant already has 128 uploads, exports and extractions")
    );
    put(&two).is(201);
}

/// Bytes in an encoding of HTTP.
fn encoded(encoding: &str, bytes: &[u8]) -> Vec<u8> {
    let level = flate2::Compression::fast();
    match encoding {
        "gzip" | "x-gzip" => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        "deflate" => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        "zstd" => zstd::encode_all(bytes, 1).unwrap(),
        _ => bytes.to_vec(),
    }
}

#[test]
fn an_encoded_body_is_kept_decoded_or_refused() {
    let forebay = Forebay::new();
    let server = Server::start(&forebay, &["--max-upload", "20MB"]);
    let put = |id: &str, encoding: &str, body: &[u8]| {
        server.ask(&format!("PUT {OUTPUTS}/{id}"), &[("content-encoding", encoding)], body)
    };
    for encoding in ["gzip", "x-gzip", "deflate", "zstd", "identity"] {
        let id = format!("of-{encoding}");
        put(&id, encoding, &encoded(encoding, &log(5_000))).is(201);
        assert_eq!(server.get(&format!("{OUTPUTS}/{id}/bytes")).is(200).body, log(5_000), "{encoding}");
        // The same bytes are the same output, however they come.
        assert_eq!(server.put(&format!("{OUTPUTS}/{id}"), &log(5_000)).is(200).json()["repeated"], true);
        assert_eq!(put(&id, encoding, &encoded(encoding, &log(5_000))).is(200).json()["repeated"], true);
        put(&id, encoding, &encoded(encoding, &log(4_999))).is(409);
    }
    let members = [encoded("gzip", b"one\n"), encoded("gzip", b"two\n")].concat();
    assert_eq!(put("members", "gzip", &members).is(201).json()["text"], "one\ntwo\n");
    for unknown in ["br", "compress", "gzip, gzip"] {
        let refused = put("unknown", unknown, b"x").is(415);
        assert_eq!(refused.header("accept-encoding"), "identity, gzip, deflate, zstd");
        assert!(refused.text().contains("send one of identity, gzip"), "{}", refused.text());
    }
    server.get(&format!("{OUTPUTS}/unknown")).is(404);
    let refused = server.ask(
        "POST /v1/sessions/s/calls",
        &[("content-encoding", "gzip")],
        &encoded("gzip", br#"{"name": "output_list"}"#),
    );
    assert_eq!(refused.is(415).header("accept-encoding"), "identity");
    // What is broken or cut is kept as far as it could be read, and says so.
    let whole = encoded("gzip", &log(5_000));
    for (id, body) in [("broken", &b"no gzip at all"[..]), ("cut123", &whole[..whole.len() / 2])] {
        let problem = put(id, "gzip", body).is(400).json();
        assert!(problem["detail"].as_str().unwrap().contains("cannot be decoded"), "{problem}");
        assert_eq!(problem["handle"], format!("s/{id}"));
        let kept = server.get(&format!("{OUTPUTS}/{id}")).is(200).json();
        assert!(kept["state"]["cut-short"].as_str().unwrap().contains("cannot be decoded"), "{kept}");
    }
    // A little that becomes much is bounded like everything else.
    for encoding in ["gzip", "zstd"] {
        let bomb = encoded(encoding, &vec![0; 40_000_000]);
        assert!(bomb.len() < 1_000_000);
        let problem = put(&format!("bomb-{encoding}"), encoding, &bomb).is(413).json();
        assert_eq!(problem["handle"], format!("s/bomb-{encoding}"));
        let kept = server.get(&format!("{OUTPUTS}/bomb-{encoding}")).is(200).json();
        assert!(kept["length"].as_u64().unwrap() <= 20_000_000, "{kept}");
    }
}

#[test]
fn pages_of_others_and_names_that_only_lead_here_are_refused() {
    let forebay = Forebay::new();
    let server =
        Server::start(&forebay, &["--allow-origin", "https://friend.example", "--allow-host", "box.local"]);
    let own = format!("http://{}", server.address);
    let table: &[(&[(&str, &str)], u16)] = &[
        (&[], 200),
        (&[("host", "localhost:1")], 200),
        (&[("host", "[::1]:1")], 200),
        (&[("host", "box.local:80")], 200),
        (&[("host", "evil.example")], 403),
        (&[("host", "127.0.0.1.evil.example")], 403),
        (&[("origin", &own)], 200),
        (&[("origin", "https://friend.example")], 200),
        (&[("origin", "https://evil.example")], 403),
        (&[("origin", "http://localhost:1")], 403),
        (&[("origin", "null")], 403),
        (&[("sec-fetch-site", "cross-site")], 403),
        (&[("sec-fetch-site", "same-origin")], 200),
    ];
    for (headers, status) in table {
        let answer = server.ask("GET /v1/sessions", headers, b"").is(*status);
        let allowed = answer.header("access-control-allow-origin");
        let friend = headers.iter().any(|(_, value)| *value == "https://friend.example");
        assert_eq!(allowed, if friend { "https://friend.example" } else { "" }, "{headers:?}");
    }
    let preflight = |origin| {
        server.ask(
            "OPTIONS /v1/sessions",
            &[("origin", origin), ("access-control-request-method", "GET")],
            b"",
        )
    };
    assert_eq!(preflight("https://friend.example").is(204).header("access-control-allow-methods"), "GET");
    preflight("https://evil.example").is(403);
}

#[test]
fn a_request_that_cannot_be_answered_says_why_and_what_to_do() {
    let forebay = Forebay::new();
    let server = Server::start(&forebay, &[]);
    server.put(&format!("{OUTPUTS}/call-1"), b"x\n").is(201);
    let table = [
        ("GET /v1/nothing", 404, "/v1/openapi.json"),
        ("PATCH /v1/sessions", 405, "GET"),
        ("GET /v1/sessions?limit=0", 400, "a whole number from 1"),
        ("GET /v1/sessions?limit=5&limit=6", 400, "twice"),
        ("GET /v1/sessions?what=1", 400, "parameters of this address: limit, skip"),
        ("GET /v1/sessions/..%2F..%2Fetc/outputs", 400, "not the name of a session"),
        ("GET /v1/sessions/s/outputs/nothere/bytes", 404, "will not help"),
        ("GET /v1/sessions/s/outputs/..%2Fx/bytes", 404, "will not help"),
        ("GET /v1/sessions/s/outputs/call-1/grep", 400, "\"pattern\" is missing"),
        ("GET /v1/sessions/s/outputs/call-1/grep?pattern=(", 400, "unclosed"),
        ("GET /v1/sessions/s/outputs/call-1/read?lines=7:9", 416, "1 line"),
        ("PUT /v1/sessions/s/outputs/c2?args=%7B", 400, "args is not JSON"),
        ("PUT /v1/sessions/s/outputs/c2?preset=none", 400, "one of digest"),
        ("POST /v1/sessions/s/calls", 400, "the body"),
        ("POST /v1/import", 422, "archive"),
        ("DELETE /v1/sessions/none", 404, "no session none"),
    ];
    for (request, status, detail) in table {
        let answer = server.ask(request, &[], b"").is(status);
        assert_eq!(answer.header("content-type"), "application/problem+json", "{request}");
        let problem = answer.json();
        assert_eq!(problem["status"], status);
        assert!(problem["detail"].as_str().unwrap().contains(detail), "{request}: {problem}");
    }
    assert_eq!(
        server.ask("PATCH /v1/sessions/s/outputs/x", &[], b"").header("allow"),
        "PUT, GET, HEAD, DELETE"
    );
}

#[test]
fn events_come_as_they_happen_and_a_client_that_comes_back_misses_none() {
    let forebay = Forebay::new();
    let server = Server::start(&forebay, &[]);
    let listen = |from: &str| {
        let mut stream = server.connect();
        let head = format!(
            "GET /v1/sessions/s/events HTTP/1.1\r\nhost: {}\r\naccept: text/event-stream\r\n{from}\r\n",
            server.address
        );
        stream.write_all(head.as_bytes()).unwrap();
        BufReader::new(stream).lines().map(|line| line.unwrap())
    };
    let mut events = listen("");
    // The output of another process is an event like any other.
    forebay.put("first1", b"one\n", &[]);
    let data =
        |line: &String| line.strip_prefix("data: ").map(|data| serde_json::from_str::<Value>(data).unwrap());
    let mut ids = Vec::new();
    let mut kinds = Vec::new();
    while kinds.len() < 3 {
        let line = events.next().unwrap();
        ids.extend(line.strip_prefix("id: ").map(str::to_owned));
        kinds.extend(data(&line).map(|event| event["event"].as_str().unwrap().to_owned()));
    }
    assert_eq!(kinds, ["call-started", "output-stored", "output-passed"]);
    drop(events);
    server.put(&format!("{OUTPUTS}/second"), b"two\n").is(201);
    let mut later = listen(&format!("last-event-id: {}\r\n", ids[1]));
    let first = later.find_map(|line| data(&line)).unwrap();
    assert_eq!((&first["event"], &first["id"]), (&json!("output-passed"), &json!("first1")));
    let told = server.get("/v1/sessions/s/events?output=second").is(200).json();
    assert_eq!(told["events"].as_array().unwrap().len(), 3, "{told}");
    let next = told["next"].as_u64().unwrap();
    assert_eq!(server.get(&format!("/v1/sessions/s/events?from={next}")).json()["events"], json!([]));
}

#[test]
fn log_lines_and_accounting_entries_come_as_they_happen() {
    let forebay = Forebay::new();
    let server = Server::start(&forebay, &[]);
    let listen = |form: &str| {
        let mut stream = server.connect();
        let head = format!(
            "GET /v1/sessions/s/events?form={form} HTTP/1.1\r\nhost: {}\r\naccept: text/event-stream\r\n\r\n",
            server.address
        );
        stream.write_all(head.as_bytes()).unwrap();
        let lines = BufReader::new(stream).lines().map(|line| line.unwrap());
        lines.filter_map(|line| line.strip_prefix("data: ").map(str::to_owned))
    };
    let (mut log_lines, mut entries) = (listen("log"), listen("accounting"));
    server.put(&format!("{OUTPUTS}/small1?tool=cat"), b"small\n").is(201);
    server.put(&format!("{OUTPUTS}/large1?tool=make&server=builder"), &log(50_000)).is(201);
    let line = log_lines.next().unwrap();
    assert!(line.starts_with("[WRN] Tool 'make' output stored for tool_output (token_budget)."), "{line}");
    let heard: Vec<String> = entries.by_ref().take(2).collect();
    // The same as the command line prints.
    let printed = |form: &str| forebay.run(["events", "--form", form]).ok().text();
    assert_eq!(printed("log"), format!("{line}\n"));
    assert_eq!(printed("accounting"), format!("{}\n", heard.join("\n")));
    let get = |query: &str| server.get(&format!("/v1/sessions/s/events?{query}")).is(200).json();
    let told = get("form=log");
    assert_eq!(told["events"], json!([line]));
    let all = get("form=accounting");
    let expected: Vec<Value> = heard.iter().map(|entry| serde_json::from_str(entry).unwrap()).collect();
    assert_eq!(all["events"], json!(expected));
    assert_eq!(all["events"][1]["details"]["tool_output_handle"], "s/large1");
    assert_eq!(get("form=accounting&output=small1")["events"], json!([expected[0]]));
    assert_eq!(get("form=events"), get(""));
    // Page by page, an entry is told although its call began on an earlier page.
    let first = get("form=accounting&limit=1");
    assert_eq!(first["events"], json!([expected[0]]));
    for from in [first["next"].as_u64().unwrap(), get("limit=5")["next"].as_u64().unwrap()] {
        assert_eq!(get(&format!("form=accounting&from={from}"))["events"], json!([expected[1]]), "{from}");
    }
    let next = &all["next"];
    assert_eq!(get(&format!("form=accounting&from={next}"))["events"], json!([]));
    server.get("/v1/sessions/s/events?form=other").is(400);
}

#[test]
fn a_session_goes_out_as_an_archive_and_comes_in_again() {
    let forebay = Forebay::new();
    let server = Server::start(&forebay, &[]);
    server.put(&format!("{OUTPUTS}/call-1?tool=make"), &log(5_000)).is(201);
    let archive = server.get("/v1/sessions/s/export").is(200);
    assert_eq!(archive.header("content-type"), "application/zstd");
    let other = Forebay::new();
    let there = Server::start(&other, &[]);
    let import = |path: &str| there.ask(&format!("POST {path}"), &[], &archive.body).is(200).json();
    assert_eq!(import("/v1/import?dry_run=true")["added"], 1);
    assert_eq!(there.get("/v1/sessions").json()["total"], 0);
    assert_eq!(import("/v1/import")["added"], 1);
    assert_eq!(import("/v1/import")["already_there"], 1);
    assert_eq!(import("/v1/import?as=copy")["session"], "copy");
    assert_eq!(there.get("/v1/sessions/copy/outputs/call-1/bytes").is(200).body, log(5_000));
    let broken = there.ask("POST /v1/import", &[], &archive.body[..archive.body.len() / 2]).is(422);
    assert!(broken.json()["detail"].as_str().unwrap().contains("nothing of it is kept"));
    // What is removed is gone.
    assert_eq!(there.ask("DELETE /v1/sessions/copy", &[], b"").is(200).json()["removed"], 1);
    there.get("/v1/sessions/copy/outputs/call-1").is(404);
}

#[test]
fn outputs_are_fitted_into_the_room_that_a_host_reports() {
    let forebay = Forebay::new();
    let server = Server::start(&forebay, &[]);
    let said = server
        .ask("PUT /v1/sessions/s/room?context_window=200000", &[], br#"{"used": 180000}"#)
        .is(200)
        .json();
    assert_eq!((&said["reported"], &said["context_window"]), (&json!(180_000), &json!(200_000)));
    let left = said["left"].as_u64().unwrap();
    let path = format!("{OUTPUTS}/large1?context_window=200000");
    let reply = server.put(&path, &log(50_000)).is(201).json();
    let after = server.get("/v1/sessions/s/room?context_window=200000").is(200).json();
    assert!(after["left"].as_u64().unwrap() < left, "{after}");
    assert!(reply["stored"] == true);
    server.ask("PUT /v1/sessions/s/room", &[], br#"{"used": -1}"#).is(400);
}

#[test]
fn a_person_looks_at_lines_matches_members_and_differences() {
    let forebay = Forebay::new();
    let server = Server::start(&forebay, &[]);
    let long = format!("short\n{}\nlast, no newline", "x".repeat(100_000));
    server.put(&format!("{OUTPUTS}/mixed1"), long.as_bytes()).is(201);
    let lines = |query: &str| server.get(&format!("{OUTPUTS}/mixed1/lines?{query}")).is(200).json();
    let whole = lines("");
    assert_eq!(whole["total_lines"], 3);
    let told: Vec<(u64, u64, u64, usize, bool)> = whole["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| {
            let number = |name: &str| line[name].as_u64().unwrap();
            (
                number("line"),
                number("start"),
                number("end"),
                line["text"].as_str().unwrap().len(),
                line["cut"] == true,
            )
        })
        .collect();
    assert_eq!(told, [(1, 0, 5, 5, false), (2, 6, 100_006, 4_096, true), (3, 100_007, 100_023, 16, false)]);
    assert_eq!(lines("last=1")["lines"][0]["text"], "last, no newline");
    assert_eq!(lines("first=3&count=9")["lines"].as_array().unwrap().len(), 1);
    assert_eq!(lines("first=4")["lines"], json!([]));
    let found =
        server.get(&format!("{OUTPUTS}/mixed1/find?pattern=L?AST|sho&ignore_case=true&max=1")).is(200).json();
    assert_eq!((&found["total"], &found["matches"][0]["line"]), (&json!(2), &json!(1)));
    let next = found["next"].as_u64().unwrap();
    let found = server.get(&format!("{OUTPUTS}/mixed1/find?pattern=L?AST&ignore_case=true&from_byte={next}"));
    assert_eq!(found.is(200).json()["matches"][0]["byte"], 100_007);

    server.put(&format!("{OUTPUTS}/json12"), br#"{"a": [1, 2, 3]}"#).is(201);
    let root = server.get(&format!("{OUTPUTS}/json12/tree")).is(200).json();
    let (start, end) = (&root["nodes"][0]["start"], &root["nodes"][0]["end"]);
    let inside = server.get(&format!("{OUTPUTS}/json12/tree?start={start}&end={end}")).is(200).json();
    assert_eq!((&inside["nodes"][0]["key"], &inside["nodes"][0]["text"]), (&json!("a"), &json!("[1, 2, 3]")));

    let run = |id: &str, bytes: &[u8]| {
        server.put(&format!("{OUTPUTS}/{id}?tool=sh&args=%7B%22command%22%3A%22t%22%7D"), bytes).is(201)
    };
    let _ = run("run-001", &log(100));
    let _ = run("run-002", &[log(100), b"and one more\n".to_vec()].concat());
    let diff = server.get(&format!("{OUTPUTS}/run-002/diff")).is(200).json();
    assert_eq!((&diff["old"], &diff["added"], &diff["removed"]), (&json!("s/run-001"), &json!(1), &json!(0)));
    assert_eq!(diff["hunks"][0][3]["text"], "and one more");
    server.get(&format!("{OUTPUTS}/run-001/diff")).is(404);
    assert_eq!(server.get(&format!("{OUTPUTS}/run-001/diff?with=run-002")).is(200).json()["removed"], 1);
    // To look is free.
    assert_eq!(server.get("/v1/sessions/s/stats").json()["queries"], 0);
}

#[test]
fn what_the_model_saw_is_told_piece_by_piece_and_says_the_same() {
    let forebay = Forebay::new();
    let server = Server::start(&forebay, &[]);
    let reply = server.put(&format!("{OUTPUTS}/large1"), &log(50_000)).is(201).json();
    let view = server.get(&format!("{OUTPUTS}/large1/view")).is(200).json();
    let pieces = view["pieces"].as_array().unwrap();
    let text: String = pieces.iter().map(|piece| piece["text"].as_str().unwrap()).collect();
    assert_eq!(text, reply["text"]);
    let ranges: Vec<(u64, u64)> = pieces
        .iter()
        .filter(|piece| piece["kind"] != "frame")
        .map(|piece| (piece["start"].as_u64().unwrap(), piece["end"].as_u64().unwrap()))
        .collect();
    assert!(ranges.windows(2).all(|two| two[0].1 == two[1].0), "{ranges:?}");
    assert_eq!((ranges[0].0, ranges.last().unwrap().1), (0, log(50_000).len() as u64));
}

#[test]
fn instructions_are_read_by_models_and_the_answer_says_what_was_read() {
    let forebay = Forebay::new();
    let models = ModelServer::start(|asked| report(asked, "the disk is on fire"));
    let server = Server::start_with(&forebay, &["--models", "openai/gpt-test"], |command| {
        crate::extract::reaching(command, &models);
    });
    server.put(&format!("{OUTPUTS}/large1"), &log(2_000)).is(201);
    let body = json!({"instructions": "what burns?", "mode": "full-chunked"}).to_string();
    let answer = server.post(&format!("{OUTPUTS}/large1/extract"), &body).is(200).json();
    assert!(answer["text"].as_str().unwrap().contains("the disk is on fire"), "{answer}");
    assert_eq!(answer["strategy"], "full-chunked");
    let events = server.get("/v1/sessions/s/events?output=large1").json().to_string();
    assert!(events.contains("what burns?") && events.contains("\"ranges\""), "{events}");
}

#[test]
fn many_clients_at_once_lose_nothing_that_was_acknowledged() {
    let forebay = Forebay::new();
    let server = Server::start(&forebay, &[]);
    thread::scope(|scope| {
        for client in 0..16 {
            let server = &server;
            scope.spawn(move || {
                for number in 0..12 {
                    let id = format!("c{client}-n{number}-x");
                    let body = log(200 + client * 50 + number);
                    server.put(&format!("{OUTPUTS}/{id}?tool=t{client}"), &body).is(201);
                    assert_eq!(server.get(&format!("{OUTPUTS}/{id}/bytes")).is(200).body, body);
                    if number % 4 == 0 {
                        // Some vanish in the middle.
                        drop(begin(server, &format!("{OUTPUTS}/{id}-gone"), "part"));
                    }
                }
            });
        }
    });
    let complete = forebay.ls().iter().filter(|output| output["complete"] == true).count();
    assert_eq!(complete, 16 * 12);
    assert_eq!(forebay.run(["verify"]).status, 0);
}

#[test]
fn a_server_that_is_told_to_stop_finishes_what_is_under_way() {
    let forebay = Forebay::new();
    let mut server = Server::start(&forebay, &[]);
    let path = format!("{OUTPUTS}/during");
    let mut stream = begin(&server, &path, "before\n");
    wait_for(&server, &path, |output| output["length"] == 7);
    let process = rustix::process::Pid::from_child(&server.child);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    // Nobody new is let in from some moment on.
    while TcpStream::connect(&server.address).is_ok() {
        thread::yield_now();
    }
    stream.write_all(b"6\r\nafter\n\r\n0\r\n\r\n").unwrap();
    let answer = Answer::read(stream).is(201).json();
    assert_eq!(answer["text"], "before\nafter\n");
    assert!(server.child.wait().unwrap().success());
    assert_eq!(forebay.run(["cat", "s/during"]).ok().out, b"before\nafter\n");
}

/// The processes that a process has started.
fn children(parent: u32) -> usize {
    let stat = |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("stat")).ok();
    let of =
        |stat: &String| stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(stat);
    all.filter(|stat| of(stat) == Some(parent)).count()
}

#[test]
fn a_filter_that_takes_all_memory_or_all_time_harms_nobody_else() {
    let forebay = Forebay::new();
    let server = Server::start_with(&forebay, &[], |command| {
        command
            .env("FOREBAY_QUERY_TIMEOUT_SECONDS", "120")
            .env("FOREBAY_QUERY_FILTER_MEMORY_BYTES", "1000000");
    });
    server.put(&format!("{OUTPUTS}/small1?tool=api"), b"[1, 2, 3]").is(201);
    let encoded = |filter: &str| form_urlencoded::byte_serialize(filter.as_bytes()).collect::<String>();
    let filter = |filter: &str| server.get(&format!("{OUTPUTS}/small1/json?filter={}", encoded(filter)));
    let table = [
        // What an error says of a value is endless in print.
        ("reduce range(60) as $_ (1; [., .]) | try .a catch length", "of memory"),
        ("(\"a\"*20000000)|[match(\"\";\"g\")]|length", "too many steps or too much memory"),
        ("def f(x): x|f(x); f(.)", "the filter was stopped"),
    ];
    for (hostile, expected) in table {
        let text = filter(hostile).is(200).json()["text"].as_str().unwrap().to_owned();
        assert!(text.contains("stopped: ") && text.contains(expected), "{hostile}: {text}");
        assert!(filter("add").is(200).json()["text"].as_str().unwrap().contains("\n6\n"));
    }
    // A wrong filter is told as it is everywhere.
    assert!(filter("nosuch").is(400).text().contains("there is no such filter"));
    let slow = server.get(&format!("{OUTPUTS}/small1/grep?pattern=a%7B100000%7D")).is(400).text();
    assert!(slow.contains("size limit"), "{slow}");
    drop(server);
    let server = Server::start_with(&forebay, &[], |command| {
        command.env("FOREBAY_QUERY_TIMEOUT_SECONDS", "2");
    });
    let answer = server.get(&format!("{OUTPUTS}/small1/json?filter={}", encoded(ENDLESS))).is(200).json();
    assert!(answer["text"].as_str().unwrap().contains("longer than 2 seconds"), "{answer}");
}

#[test]
fn a_filter_that_a_model_writes_is_bounded_as_any_other() {
    let memory = "reduce range(60) as $_ (1; [., .]) | try .state catch length";
    for (filter, seconds, expected) in [(ENDLESS, "2", "longer than 2 seconds"), (memory, "120", "of memory")]
    {
        let forebay = Forebay::new();
        let models = ModelServer::start(move |asked| match asked.number {
            0 => report(asked, filter),
            _ => report(asked, "length"),
        });
        let server = Server::start_with(&forebay, &["--models", "openai/gpt-test"], |command| {
            command
                .env("FOREBAY_QUERY_TIMEOUT_SECONDS", seconds)
                .env("FOREBAY_QUERY_FILTER_MEMORY_BYTES", "1000000");
            crate::extract::reaching(command, &models);
        });
        // Documents on lines are put together first, which must not take a filter out of its bounds.
        let lines = "{\"state\": \"failed\"}\n".repeat(32);
        server.put(&format!("{OUTPUTS}/lines1?tool=api"), lines.as_bytes()).is(201);
        let body = json!({"instructions": "How many failed?"}).to_string();
        let answer = server.post(&format!("{OUTPUTS}/lines1/extract"), &body).is(200).json();
        assert!(answer["text"].as_str().unwrap().contains("\n32\n"), "{answer}");
        let told = models.asked()[1].body.to_string();
        assert!(told.contains(expected), "{told}");
    }
}

/// A filter that looks for each match through all of the text: for hours, before its steps are used up.
const ENDLESS: &str = "(\"a\" * 3000000) | [match(\"a.*z|a\"; \"g\")] | length";

#[cfg(target_os = "linux")]
#[test]
fn the_work_of_a_client_that_is_gone_ends() {
    let forebay = Forebay::new();
    let server = Server::start_with(&forebay, &[], |command| {
        command.env("FOREBAY_QUERY_TIMEOUT_SECONDS", "600");
    });
    server.put(&format!("{OUTPUTS}/small1?tool=api"), b"[1, 2, 3]").is(201);
    let endless: String = form_urlencoded::byte_serialize(ENDLESS.as_bytes()).collect();
    let gone: Vec<TcpStream> = (0..40)
        .map(|_| {
            let mut client = server.connect();
            let head = format!(
                "GET {OUTPUTS}/small1/json?filter={endless} HTTP/1.1\r\nhost: {}\r\n\r\n",
                server.address
            );
            client.write_all(head.as_bytes()).unwrap();
            client
        })
        .collect();
    let pid = server.child.id();
    crate::forebay::eventually("filters run", || children(pid) > 0);
    assert!(children(pid) <= 8, "each may take much memory, so few run at once");
    drop(gone);
    crate::forebay::eventually("nobody waits, and nothing runs", || children(pid) == 0);
    let answer = server.get(&format!("{OUTPUTS}/small1/json?filter=add")).is(200).json();
    assert!(answer["text"].as_str().unwrap().contains("\n6\n"));
}
