//! A model server that says what a test has written down, and speaks as the vendors do: streaming and not.

use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

/// Reaction of the model to a request.
#[derive(Clone)]
pub(crate) enum Does {
    /// Says this, and is done.
    Says(String),
    /// Calls tools: names, with their arguments as JSON text.
    Calls(Vec<(&'static str, String)>),
    /// Says this, and is cut off.
    IsCutOff(String),
    /// Will not answer.
    Refuses,
    /// The server answers with this status, header and body.
    Fails(u16, &'static str, String),
    /// The server says nothing at all.
    IsSilent,
    /// The connection breaks in the middle of the answer.
    BreaksOff(String),
    /// The body is this, whatever it is.
    Babbles(&'static str),
    /// Says this again and again in a stream, until nobody listens; `#` is the number of the time.
    GoesOn(&'static str),
    /// Says this in a stream, and then nothing more.
    Stalls(&'static str),
    /// Says nothing for so many milliseconds, then this.
    Waits(u64, String),
}

/// A report in the wrapper that the prompt asks for.
pub(crate) fn report(asked: &Asked, text: &str) -> Does {
    Does::Says(format!("{}{text}{}", asked.opening(), asked.closing()))
}

/// A request as the server got it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Which request it is, counted from 0.
    pub(crate) number: usize,
    pub(crate) path: String,
    /// Headers, their names in small letters.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// The system prompt.
    pub(crate) fn system(&self) -> &str {
        let places = ["/messages/0/content", "/systemInstruction/parts/0/text"];
        let places = places.iter().filter_map(|place| self.body.pointer(place)?.as_str());
        self.body["system"].as_str().or_else(|| places.into_iter().next()).unwrap_or_default()
    }

    /// Whether tools have answered already.
    pub(crate) fn turns(&self) -> usize {
        let messages = self.body["messages"].as_array().or(self.body["contents"].as_array()).unwrap();
        messages
            .iter()
            .filter(|message| ["assistant", "model"].contains(&message["role"].as_str().unwrap()))
            .count()
    }

    fn opening(&self) -> String {
        let line = self.system().lines().find(|line| line.contains("-FINAL format=")).unwrap_or_default();
        line.trim().split(" ...").next().unwrap().to_owned()
    }

    fn closing(&self) -> String {
        self.opening().replace(" format=\"text\"", "").replace("<ai", "</ai")
    }
}

/// A server on a port of its own.
pub(crate) struct ModelServer {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    looked_up: Arc<Mutex<Vec<String>>>,
    most: Arc<AtomicUsize>,
    closed: Arc<AtomicUsize>,
}

impl ModelServer {
    /// Starts it; `script` says what the model does with each request. Of itself it says nothing.
    pub(crate) fn start(script: impl Fn(&Asked) -> Does + Send + Sync + 'static) -> ModelServer {
        ModelServer::telling(|_| None, script)
    }

    /// Starts one that also tells something of itself: `told` has what it says at a path.
    pub(crate) fn telling(
        told: impl Fn(&str) -> Option<Value> + Send + Sync + 'static,
        script: impl Fn(&Asked) -> Does + Send + Sync + 'static,
    ) -> ModelServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (asked, most) = (Arc::<Mutex<Vec<Asked>>>::default(), Arc::<AtomicUsize>::default());
        let (looked_up, closed) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<AtomicUsize>::default());
        let server = ModelServer {
            url,
            asked: asked.clone(),
            looked_up: looked_up.clone(),
            most: most.clone(),
            closed: closed.clone(),
        };
        let told = Arc::new(told);
        let (script, now) = (Arc::new(script), Arc::<AtomicUsize>::default());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (script, asked, now, most) = (script.clone(), asked.clone(), now.clone(), most.clone());
                let (told, looked_up, closed) = (told.clone(), looked_up.clone(), closed.clone());
                thread::spawn(move || {
                    let mut reader = BufReader::new(stream.try_clone().unwrap());
                    while let Some(mut request) = read(&mut reader) {
                        if request.body.is_null() || request.path.starts_with("/api/") {
                            looked_up.lock().unwrap().push(request.path.clone());
                            let does = match told(&request.path) {
                                Some(told) => Does::Fails(200, "", told.to_string()),
                                None => Does::Fails(404, "", "not found".to_owned()),
                            };
                            answer(&mut &stream, &request, does);
                            continue;
                        }
                        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        let mut all = asked.lock().unwrap();
                        request.number = all.len();
                        all.push(request.clone());
                        drop(all);
                        let does = script(&request);
                        // Whoever has the answer may ask again before we come back from giving it.
                        now.fetch_sub(1, Ordering::SeqCst);
                        let goes_on = matches!(does, Does::GoesOn(_));
                        if !answer(&mut &stream, &request, does) {
                            closed.fetch_add(usize::from(goes_on), Ordering::SeqCst);
                            break;
                        }
                    }
                });
            }
        });
        server
    }

    /// Requests so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The paths at which it was asked about itself.
    pub(crate) fn looked_up(&self) -> Vec<String> {
        self.looked_up.lock().unwrap().clone()
    }

    /// How many answers that go on nobody listens to any more.
    pub(crate) fn closed(&self) -> usize {
        self.closed.load(Ordering::SeqCst)
    }

    /// How many requests it had at once.
    pub(crate) fn most_at_once(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|&read| read > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|&read| read > 0)?;
        match line.trim().split_once(':') {
            Some((name, value)) => headers.push((name.to_lowercase(), value.trim().to_owned())),
            None => break,
        }
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let Some((_, length)) = length else {
        return Some(Asked { number: 0, path, headers, body: Value::Null });
    };
    let mut body = vec![0; length.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { number: 0, path, headers, body: serde_json::from_slice(&body).ok()? })
}

/// Answers a request; whether the connection can be used again.
fn answer(stream: &mut impl Write, asked: &Asked, does: Does) -> bool {
    let (status, header, body) = match &does {
        Does::Fails(status, header, body) => (*status, *header, body.clone()),
        Does::Babbles(body) => (200, "", (*body).to_owned()),
        Does::IsSilent => {
            thread::sleep(Duration::from_secs(60));
            return false;
        }
        Does::GoesOn(text) | Does::Stalls(text) => {
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            let mut sent = stream.write_all(head.as_bytes()).is_ok();
            for number in 0_usize.. {
                let delta = json!({"content": text.replace('#', &number.to_string())});
                let event = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
                let event = format!("data: {event}\n\n");
                let chunk = format!("{:x}\r\n{event}\r\n", event.len());
                sent = sent && stream.write_all(chunk.as_bytes()).and_then(|()| stream.flush()).is_ok();
                let pause = if matches!(does, Does::Stalls(_)) { 60_000 } else { 2 };
                thread::sleep(Duration::from_millis(pause));
                if !sent || pause > 2 {
                    break;
                }
            }
            return false;
        }
        Does::Waits(milliseconds, text) => {
            thread::sleep(Duration::from_millis(*milliseconds));
            return answer(stream, asked, Does::Says(text.clone()));
        }
        _ if is_streamed(asked) => {
            let events = if asked.path.starts_with("/v1beta") {
                gemini_events(&does)
            } else if asked.path.ends_with("/messages") {
                anthropic_events(&does)
            } else {
                openai_events(&does)
            };
            return send_events(stream, &events, matches!(does, Does::BreaksOff(_)));
        }
        _ => (200, "", message(asked, &does).to_string()),
    };
    let kind = if body.starts_with('{') { "application/json" } else { "text/plain" };
    let length = body.len() + if matches!(does, Does::BreaksOff(_)) { 100 } else { 0 };
    let header = if header.is_empty() { String::new() } else { format!("{header}\r\n") };
    let head = format!(
        "HTTP/1.1 {status} Status\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n{header}\r\n"
    );
    let sent = stream.write_all((head + &body).as_bytes()).is_ok();
    sent && !matches!(does, Does::BreaksOff(_))
}

fn is_streamed(asked: &Asked) -> bool {
    asked.body["stream"] == true || asked.path.contains("streamGenerateContent")
}

/// Sends events as chunks of a body whose length nobody knows.
fn send_events(stream: &mut impl Write, events: &[String], breaks_off: bool) -> bool {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let mut sent = stream.write_all(head.as_bytes()).is_ok();
    let shown = if breaks_off { events.len() / 2 } else { events.len() };
    for event in &events[..shown] {
        let chunk = format!("{:x}\r\n{event}\r\n", event.len());
        sent = sent && stream.write_all(chunk.as_bytes()).and_then(|()| stream.flush()).is_ok();
    }
    sent && !breaks_off && stream.write_all(b"0\r\n\r\n").is_ok()
}

/// The text of what it does, its calls, and why it stops, in the word of each vendor.
fn parts(does: &Does) -> (String, Vec<(&'static str, String)>, [&'static str; 3]) {
    match does {
        Does::Says(text) | Does::BreaksOff(text) => (text.clone(), Vec::new(), ["stop", "end_turn", "STOP"]),
        Does::Calls(calls) => (String::new(), calls.clone(), ["tool_calls", "tool_use", "STOP"]),
        Does::IsCutOff(text) => (text.clone(), Vec::new(), ["length", "max_tokens", "MAX_TOKENS"]),
        _ => (String::new(), Vec::new(), ["content_filter", "refusal", "SAFETY"]),
    }
}

fn object(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments))
}

/// The answer at once.
fn message(asked: &Asked, does: &Does) -> Value {
    let (text, calls, [openai, anthropic, gemini]) = parts(does);
    let numbered = calls.iter().enumerate();
    if asked.path.starts_with("/v1beta") {
        let mut parts = vec![json!({"text": "let me think", "thought": true}), json!({"text": text})];
        parts.extend(calls.iter().map(|(name, arguments)| {
            json!({"functionCall": {"name": name, "args": object(arguments)}, "thoughtSignature": "c2ln"})
        }));
        return json!({
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": gemini, "index": 0}],
            "usageMetadata": {"promptTokenCount": 50, "candidatesTokenCount": 4, "thoughtsTokenCount": 1},
        });
    }
    if asked.path.ends_with("/messages") {
        let mut content = vec![
            json!({"type": "thinking", "thinking": "let me think", "signature": "c2ln"}),
            json!({"type": "text", "text": text}),
        ];
        content.extend(numbered.map(|(index, (name, arguments))| {
            json!({"type": "tool_use", "id": format!("toolu_{index}"), "name": name, "input": object(arguments)})
        }));
        return json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": asked.body["model"], "content": content,
            "stop_reason": anthropic, "stop_sequence": null,
            "usage": {"input_tokens": 30, "cache_read_input_tokens": 20, "output_tokens": 5},
        });
    }
    let mut message = json!({"role": "assistant", "content": text, "refusal": null, "annotations": []});
    if !calls.is_empty() {
        message["content"] = Value::Null;
        message["tool_calls"] = numbered
            .map(|(index, (name, arguments))| {
                json!({"id": format!("call_{index}"), "type": "function",
                    "function": {"name": name, "arguments": arguments}})
            })
            .collect();
    }
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "model": asked.body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": openai}],
        "usage": {"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 55},
    })
}

/// A text in the pieces that a stream has it in.
fn pieces(text: &str) -> Vec<String> {
    text.chars().collect::<Vec<_>>().chunks(7).map(|piece| piece.iter().collect()).collect()
}

fn openai_events(does: &Does) -> Vec<String> {
    let (text, calls, [stop, ..]) = parts(does);
    let chunk = |delta: Value, finish: Value| {
        let choices = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": choices, "usage": null})
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    events.extend(pieces(&text).iter().map(|piece| chunk(json!({"content": piece}), Value::Null)));
    for (index, (name, arguments)) in calls.iter().enumerate() {
        let call = json!({"index": index, "id": format!("call_{index}"), "type": "function",
            "function": {"name": name, "arguments": ""}});
        events.push(chunk(json!({"tool_calls": [call]}), Value::Null));
        for piece in pieces(arguments) {
            let call = json!({"index": index, "function": {"arguments": piece}});
            events.push(chunk(json!({"tool_calls": [call]}), Value::Null));
        }
    }
    events.push(chunk(json!({}), stop.into()));
    events.push(json!({"choices": [], "usage": {"prompt_tokens": 50, "completion_tokens": 5}}));
    let mut lines: Vec<String> = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    lines.push("data: [DONE]\n\n".to_owned());
    lines
}

fn anthropic_events(does: &Does) -> Vec<String> {
    let (text, calls, [_, stop, _]) = parts(does);
    let mut events = vec![
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
            "content": [], "stop_reason": null,
            "usage": {"input_tokens": 30, "cache_read_input_tokens": 20, "output_tokens": 1}}}),
        json!({"type": "ping"}),
    ];
    let mut block = |index: usize, start: Value, deltas: Vec<Value>| {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.extend(
            deltas
                .into_iter()
                .map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    };
    block(
        0,
        json!({"type": "thinking", "thinking": "", "signature": ""}),
        vec![
            json!({"type": "thinking_delta", "thinking": "let me "}),
            json!({"type": "thinking_delta", "thinking": "think"}),
            json!({"type": "signature_delta", "signature": "c2ln"}),
        ],
    );
    let deltas = pieces(&text).iter().map(|piece| json!({"type": "text_delta", "text": piece})).collect();
    block(1, json!({"type": "text", "text": ""}), deltas);
    for (index, (name, arguments)) in calls.iter().enumerate() {
        let start = json!({"type": "tool_use", "id": format!("toolu_{index}"), "name": name, "input": {}});
        let deltas = pieces(arguments)
            .iter()
            .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
            .collect();
        block(index + 2, start, deltas);
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
        "usage": {"input_tokens": null, "output_tokens": 5}}));
    events.push(json!({"type": "message_stop"}));
    events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
        .collect()
}

fn gemini_events(does: &Does) -> Vec<String> {
    let (text, calls, [_, _, stop]) = parts(does);
    let mut parts = vec![json!({"text": "let me think", "thought": true})];
    parts.extend(pieces(&text).iter().map(|piece| json!({"text": piece})));
    parts.extend(calls.iter().map(|(name, arguments)| {
        json!({"functionCall": {"name": name, "args": object(arguments)}, "thoughtSignature": "c2ln"})
    }));
    let last = parts.len();
    let event = |(index, part): (usize, Value)| {
        let mut candidate = json!({"content": {"role": "model", "parts": [part]}, "index": 0});
        if index + 1 == last {
            candidate["finishReason"] = stop.into();
        }
        let usage = json!({"promptTokenCount": 50, "candidatesTokenCount": 4, "thoughtsTokenCount": 1});
        format!("data: {}\r\n\r\n", json!({"candidates": [candidate], "usageMetadata": usage}))
    };
    parts.into_iter().enumerate().map(event).collect()
}
