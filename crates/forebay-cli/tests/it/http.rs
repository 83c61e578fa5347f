//! A server, and a client that says exactly what it is told to.

use crate::forebay::Forebay;
use serde_json::Value;
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

/// A server that runs.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: String,
    /// The address with the token, if it has one.
    pub(crate) url: Option<String>,
}

/// Response of a server.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Server {
    /// A server that asks for no token, unless the arguments have tokens.
    pub(crate) fn start(forebay: &Forebay, args: &[&str]) -> Server {
        Server::start_with(forebay, args, |_| ())
    }

    /// A server that asks for the token of its root.
    pub(crate) fn guarded(forebay: &Forebay, args: &[&str]) -> Server {
        Server::spawn(forebay.command([&["serve", "--json", "--listen", "127.0.0.1:0"], args].concat()))
    }

    /// The same with a command that is changed before it runs.
    pub(crate) fn start_with(forebay: &Forebay, args: &[&str], change: impl FnOnce(&mut Command)) -> Server {
        let mut all = [&["serve", "--json"], args].concat();
        if !args.contains(&"--listen") {
            all.extend(["--listen", "127.0.0.1:0"]);
        }
        if !args.contains(&"--tokens") {
            all.push("--no-token");
        }
        let mut command = forebay.command(all);
        change(&mut command);
        Server::spawn(command)
    }

    fn spawn(mut command: Command) -> Server {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let address = said["listening"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
        Server { child, address, url: said["url"].as_str().map(str::to_owned) }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).unwrap()
    }

    /// Sends a request with these headers; one connection each.
    pub(crate) fn ask(&self, request: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut stream = self.connect();
        let host = if headers.iter().any(|(name, _)| *name == "host") {
            String::new()
        } else {
            format!("host: {}\r\n", self.address)
        };
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let head = format!(
            "{request} HTTP/1.1\r\n{host}connection: close\r\ncontent-length: {}\r\n{headers}\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        // A server that has seen enough may have closed already.
        let _ = stream.write_all(body);
        Answer::read(stream)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path}"), &[], b"")
    }

    pub(crate) fn put(&self, path: &str, body: &[u8]) -> Answer {
        self.ask(&format!("PUT {path}"), &[], body)
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        self.ask(&format!("POST {path}"), &[], body.as_bytes())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Answer {
    pub(crate) fn read(stream: impl Read) -> Answer {
        Answer::next(&mut BufReader::new(stream))
    }

    fn next(reader: &mut dyn BufRead) -> Answer {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let mut headers = Vec::new();
        loop {
            line.clear();
            reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_lowercase(), value.to_owned()));
        }
        if status == 100 {
            return Answer::next(reader);
        }
        let mut body = Vec::new();
        let _ = reader.read_to_end(&mut body);
        let answer = Answer { status, headers, body };
        match answer.header("transfer-encoding") {
            "chunked" => Answer { body: unchunked(&answer.body), ..answer },
            _ => answer,
        }
    }

    /// A header, empty if it is not there.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(own, _)| own == name).map_or("", |(_, value)| value)
    }

    /// The same answer, if its status is this one.
    pub(crate) fn is(self, status: u16) -> Answer {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = body.iter().position(|&byte| byte == b'\n') {
        let size = String::from_utf8_lossy(&body[..end]);
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 || end + 1 + size > body.len() {
            break;
        }
        whole.extend_from_slice(&body[end + 1..end + 1 + size]);
        body = &body[(end + 3 + size).min(body.len())..];
    }
    whole
}
