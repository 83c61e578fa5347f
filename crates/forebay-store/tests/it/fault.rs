//! A proxy before an S3 server that counts requests, and fails as networks and services do.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{sleep, spawn};
use std::time::Duration;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Every connection is closed at once.
    Away,
    /// Every answer comes late.
    Slow(Duration),
    /// Some answers are lost after the request went through.
    LostAnswers,
    /// Some answers end after so many bytes.
    CutAnswers(usize),
    /// Some requests are refused with a status, and do not go through.
    Refused(&'static str),
}

/// A running proxy, which ends with the test process.
pub(crate) struct Proxy {
    pub(crate) endpoint: String,
    state: Arc<Mutex<State>>,
}

struct State {
    fault: Fault,
    /// Method, path and range of each request.
    requests: Vec<String>,
    /// Bytes of all answers.
    answered: u64,
}

impl Proxy {
    /// A proxy before the server at `endpoint`, such as `http://127.0.0.1:40111`.
    pub(crate) fn start(endpoint: &str) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = format!("http://{}", listener.local_addr().unwrap());
        let there = endpoint.trim_start_matches("http://").to_owned();
        let state = State { fault: Fault::None, requests: Vec::new(), answered: 0 };
        let state = Arc::new(Mutex::new(state));
        let shared = state.clone();
        spawn(move || {
            for client in listener.incoming().flatten() {
                let (there, state) = (there.clone(), shared.clone());
                spawn(move || carry(client, &there, &state));
            }
        });
        Proxy { endpoint: here, state }
    }

    pub(crate) fn fail(&self, fault: Fault) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).fault = fault;
    }

    /// The requests since the last call, and the bytes of their answers.
    pub(crate) fn take(&self) -> (Vec<String>, u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut state.requests), std::mem::take(&mut state.answered))
    }
}

/// Carries one request and its answer.
fn carry(mut client: TcpStream, there: &str, state: &Mutex<State>) -> Option<()> {
    let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut head, body) = request(&mut client)?;
    let (fault, number) = {
        let mut state = lock();
        let range = head.lines().find(|line| line.to_ascii_lowercase().starts_with("range:")).unwrap_or("");
        let first = head.lines().next()?.trim_end_matches(" HTTP/1.1").to_owned();
        state.requests.push(format!("{first} {range}").trim_end().to_owned());
        (state.fault, state.requests.len())
    };
    // Two of five are hit, at no regular distance.
    let is_hit = blake3::hash(&number.to_le_bytes()).as_bytes()[0] % 5 < 2;
    match fault {
        Fault::Away => return client.shutdown(Shutdown::Both).ok(),
        Fault::Slow(time) => sleep(time),
        Fault::Refused(status) if is_hit => {
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            return client.write_all(answer.as_bytes()).ok();
        }
        _ => {}
    }
    // The answer ends with the connection then.
    head.insert_str(head.find("\r\n")? + 2, "Connection: close\r\n");
    let mut server = TcpStream::connect(there).ok()?;
    server.write_all(head.as_bytes()).ok()?;
    server.write_all(&body).ok()?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer).ok()?;
    let answer = match fault {
        Fault::LostAnswers if is_hit => &[][..],
        Fault::CutAnswers(length) if is_hit => &answer[..answer.len().min(length)],
        _ => &answer[..],
    };
    lock().answered += answer.len() as u64;
    client.write_all(answer).ok()?;
    client.shutdown(Shutdown::Both).ok()
}

/// Reads a request: its head, and its body of the length that the head says.
fn request(client: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let (mut read, mut block) = (Vec::new(), vec![0; 64 * 1024]);
    let end = loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        let more = client.read(&mut block).ok().filter(|&more| more > 0)?;
        read.extend_from_slice(&block[..more]);
    };
    let mut body = read.split_off(end);
    let head = String::from_utf8(read).ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    while body.len() < length.unwrap_or(0) {
        let more = client.read(&mut block).ok().filter(|&more| more > 0)?;
        body.extend_from_slice(&block[..more]);
    }
    Some((head, body))
}
