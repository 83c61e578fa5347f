//! Uploads: stores an output of any size while it arrives, and responds with what the model gets.

use crate::encoding::Encoding;
use crate::problem::Problem;
use crate::random::random;
use crate::request::{Request, ResponseFuture, blocking, json, text};
use crate::state::Server;
use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderName, StatusCode};
use axum::response::Response;
use forebay::forms;
use forebay::{
    Call, End, Exit, Output, Record, Reply, Session, Settings, ShownView, State, Stream, Timestamp, What,
    Writer, event,
};
use http_body_util::BodyExt;
use serde_json::json;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Maximum parts of a body that wait for the store.
const MAX_WAITING_PARTS: usize = 4;

const HANDLE: HeaderName = HeaderName::from_static("forebay-handle");
const STORED: HeaderName = HeaderName::from_static("forebay-stored");

/// Stores an output under a new id.
pub(crate) fn post(server: Arc<Server>, request: Request) -> ResponseFuture {
    run_to_end(async move {
        let id = forebay::fresh_id(random()?);
        store_upload(server, request, id).await
    })
}

/// Stores an output under the id of its call. The same upload again is stored once.
pub(crate) fn put(server: Arc<Server>, request: Request) -> ResponseFuture {
    run_to_end(async move {
        let id = request.path_parameter("output").to_owned();
        if id.is_empty() {
            return Err(Problem::bad_request("the address has no call id; POST makes one"));
        }
        let (tenant, session) = (request.caller.tenant.clone(), request.session()?);
        // Two uploads of one call at a time would both find no output.
        let key = format!("{}/{session}/{id}", tenant.root().display());
        let _claim = server.uploads.claim(key).ok_or_else(|| {
            Problem::conflict("an output of this call is being uploaded; try again when that has ended")
        })?;
        let call_id = id.clone();
        let existing = blocking(move || Ok(tenant.store().of_call(&session, &call_id)?)).await?;
        if existing.iter().any(|record| record.state == State::Growing) {
            return Err(Problem::conflict("an output of this call is still growing"));
        }
        // An output that was cut short differs from this one: it stays, and this one gets another id.
        match existing.into_iter().find(|record| record.state == State::Complete) {
            Some(record) => repeat_upload(server, request, record).await,
            None => store_upload(server, request, id).await,
        }
    })
}

/// Runs an upload to its end even if its client is gone: the events then record the output, and no other upload of the
/// same call begins before that.
fn run_to_end(work: impl Future<Output = Result<Response, Problem>> + Send + 'static) -> ResponseFuture {
    Box::pin(async move {
        let ended = tokio::spawn(work).await;
        ended.unwrap_or_else(|_| {
            Err(Problem::internal("storing this output failed; the server's log says why"))
        })
    })
}

/// The call that an output belongs to.
fn call_of(request: &Request, session: Session, id: String) -> Result<Call, Problem> {
    let given = |name: &str| request.arguments.has(name).then(|| request.arguments.text(name).to_owned());
    let args = given("args");
    if let Some(args) = &args {
        serde_json::from_str::<serde::de::IgnoredAny>(args)
            .map_err(|error| Problem::bad_request(format!("args is not JSON: {error}")))?;
    }
    let tool = given("tool").unwrap_or_else(|| "put".to_owned());
    let latency = Duration::from_millis(request.arguments.number("latency").unwrap_or(0));
    let mut call = Call::new(session, id, tool, Timestamp::now() - latency);
    call.server = given("server");
    call.kind = given("tool_kind");
    call.args = args;
    call.intent = given("intent");
    Ok(call)
}

/// The settings for an upload.
fn settings_of(server: &Server, request: &Request) -> Result<Settings, Problem> {
    let mut settings = request.settings(server);
    if request.arguments.has("preset") {
        settings.preset = request.arguments.text("preset").parse()?;
    }
    Ok(settings)
}

/// Stores the body while it arrives, then responds with what the model gets.
async fn store_upload(server: Arc<Server>, mut request: Request, id: String) -> Result<Response, Problem> {
    let call = call_of(&request, request.session()?, id)?;
    let settings = settings_of(&server, &request)?;
    let encoding = Encoding::of(&request.headers)?;
    let exit = request.arguments.number("exit").and_then(|code| i32::try_from(code).ok()).map(Exit::Code);
    let declared =
        request.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if let Some(length) = declared.filter(|&length| length > server.config.max_upload) {
        return Err(Problem::too_large(format!(
            "the output has {length} bytes, and this server accepts up to {}",
            server.config.max_upload
        )));
    }
    let slot = server.slot(request.holders())?;
    server.sweep_if_due(&request.caller.tenant);
    let body = std::mem::take(&mut request.body);
    let (sender, mut parts) = mpsc::channel(MAX_WAITING_PARTS);
    let (for_writer, surface) = (server.clone(), request.surface());
    let tenant = request.caller.tenant.clone();
    let stored = tokio::task::spawn_blocking(move || {
        let _slot = slot;
        let _counted = for_writer.metrics.upload();
        let body = Received { parts: &mut parts, part: Bytes::new(), ended: false };
        let mut writer = Writer::begin(tenant.store(), &call);
        let read_all = || -> io::Result<()> {
            let mut body = encoding.decoded(body, for_writer.config.max_upload)?;
            while writer.read_from(Stream::Stdout, &mut body)? > 0 {}
            Ok(())
        };
        let problem = read_all().err().map(|error| unreadable(&for_writer, encoding, &error));
        for_writer.metrics.received(writer.bytes());
        let cut_short = problem.as_ref().map(Problem::detail);
        (writer.finish(End { exit, cut_short, at: Some(Timestamp::now()) }).on(&surface), problem)
    });
    let sent = send(body, sender, &server).await;
    let failed = |_| Problem::internal("storing this output failed; the server's log says why");
    let (output, unreadable) = stored.await.map_err(failed)?;
    // A mistake of the client comes before its consequence.
    if let Some(problem) = sent.err().or(unreadable) {
        return Err(problem.with_field("handle", output.record().handle.to_string()));
    }
    if let Some(lost) = &output.record().lost {
        let detail = format!("{} bytes could not be stored: {}", lost.bytes, lost.why);
        let problem = Problem::not_stored(detail);
        return Err(match output.record().kept() {
            0 => problem,
            _ => problem.with_field("handle", output.record().handle.to_string()),
        });
    }
    blocking(move || {
        let outputs = request.outputs(&server)?;
        let reply = outputs.reply(&output, &settings)?;
        server.metrics.replied(reply.folded.is_some(), reply.tokens);
        let mut response = response_of(&request, &output, &reply, false)?;
        *response.status_mut() = StatusCode::CREATED;
        Ok(response)
    })
    .await
}

/// Why the bytes of an output could not be read to their end.
fn unreadable(server: &Server, encoding: Encoding, error: &io::Error) -> Problem {
    match (error.kind(), encoding) {
        (io::ErrorKind::FileTooLarge, _) => too_large(server),
        (_, Encoding::Identity) => Problem::bad_request(error.to_string()),
        _ => Problem::bad_request(format!("the body cannot be decoded: {error}")),
    }
}

/// The problem of an upload with more bytes than the server accepts.
fn too_large(server: &Server) -> Problem {
    let max = server.config.max_upload;
    Problem::too_large(format!(
        "this server accepts outputs of up to {max} bytes; the first {max} are stored"
    ))
}

/// The response to an upload, as JSON or as the text that the model gets.
fn response_of(
    request: &Request,
    output: &Output,
    reply: &Reply,
    repeated: bool,
) -> Result<Response, Problem> {
    let record =
        if request.arguments.has("wire") { Some(forms::function_call(output, reply)?) } else { None };
    let mut value = forms::reply(output, reply)?;
    value["repeated"] = json!(repeated);
    if let Some(record) = &record {
        value["text"] = json!(record);
    }
    let mut response = match (&reply.folded, request.wants_text()) {
        (_, false) => json(&value),
        (_, true) if record.is_some() => text(record.unwrap_or_default().into_bytes()),
        (Some(folded), true) => text(folded.text.clone()),
        (None, true) => text(output.read(0..output.len())?),
    };
    let headers = response.headers_mut();
    if let Some(handle) = value["handle"].as_str().and_then(|handle| handle.parse().ok()) {
        headers.insert(HANDLE, handle);
    }
    if let Ok(stored) = value["stored"].to_string().parse() {
        headers.insert(STORED, stored);
    }
    Ok(response)
}

/// Responds to an upload for a call that has an output: the same bytes get the same response, others are refused.
async fn repeat_upload(
    server: Arc<Server>,
    mut request: Request,
    record: Record,
) -> Result<Response, Problem> {
    let encoding = Encoding::of(&request.headers)?;
    let slot = server.slot(request.holders())?;
    let body = std::mem::take(&mut request.body);
    let (sender, mut parts) = mpsc::channel(MAX_WAITING_PARTS);
    let tenant = request.caller.tenant.clone();
    let for_reader = server.clone();
    let compared = tokio::task::spawn_blocking(move || -> Result<Option<Output>, Problem> {
        let _slot = slot;
        let output = tenant.store().open(&record.handle)?;
        let body = Received { parts: &mut parts, part: Bytes::new(), ended: false };
        let same = encoding
            .decoded(body, for_reader.config.max_upload)
            .and_then(|mut body| is_same(&output, &mut body))
            .map_err(|error| unreadable(&for_reader, encoding, &error))?;
        Ok(same.then_some(output))
    });
    let sent = send(body, sender, &server).await;
    let compared = compared
        .await
        .map_err(|_| Problem::internal("comparing this output failed; the server's log says why"))?;
    // A difference is reported even if the rest of the body was not read.
    let output = match compared {
        Ok(Some(output)) => {
            sent?;
            output
        }
        Ok(None) => {
            return Err(Problem::conflict(
                "this call already has an output with other bytes: an output never changes",
            ));
        }
        Err(problem) => return Err(sent.err().unwrap_or(problem)),
    };
    blocking(move || {
        let output = output.on(&request.surface());
        let reply = match earlier_reply(&request, &output)? {
            Some(reply) => reply,
            // It was stored, but no response was recorded.
            None => request.outputs(&server)?.reply(&output, &settings_of(&server, &request)?)?,
        };
        response_of(&request, &output, &reply, true)
    })
    .await
}

/// The reply that the session's events record for an output.
fn earlier_reply(request: &Request, output: &Output) -> Result<Option<Reply>, Problem> {
    let record = output.record();
    let mut found = None;
    event::for_each(request.store(), &record.call.session, |event| {
        if let What::OutputPassed(of) | What::ViewGiven(of) = event.what
            && of.id == record.handle.id()
        {
            found = Some(of);
        }
    })?;
    let Some(replied) = found else { return Ok(None) };
    let (size, tokens) = (record.size, replied.tokens);
    let Some(reason) = replied.reason else { return Ok(Some(Reply::passed(size, tokens))) };
    let given = ShownView::of(request.store(), &record.handle)?;
    Ok(given.map(|given| Reply::shown(size, tokens, reason, given)))
}

/// Whether a body has the bytes of an output.
fn is_same(output: &Output, body: &mut impl Read) -> io::Result<bool> {
    let (mut at, mut buffer) = (0, vec![0; 64 * 1024]);
    loop {
        let read = body.read(&mut buffer)?;
        if read == 0 {
            return Ok(at == output.len());
        }
        let expected = output.read(at..at + read as u64).map_err(io::Error::other)?;
        if expected != buffer[..read] {
            return Ok(false);
        }
        at += read as u64;
    }
}

/// Passes a body on, part by part, as fast as the receiver reads. Ends if the client stops sending for too long.
pub(crate) async fn send(
    mut body: Body,
    to: mpsc::Sender<io::Result<Bytes>>,
    server: &Server,
) -> Result<(), Problem> {
    let mut sent = 0;
    let problem = loop {
        match tokio::time::timeout(server.config.idle, body.frame()).await {
            Ok(None) => {
                // An empty part marks the end.
                let _ = to.send(Ok(Bytes::new())).await;
                return Ok(());
            }
            Ok(Some(Ok(frame))) => {
                let Ok(data) = frame.into_data() else { continue };
                if data.is_empty() {
                    continue;
                }
                sent += data.len() as u64;
                if sent > server.config.max_upload {
                    break too_large(server);
                }
                // The receiver may have read enough.
                if to.send(Ok(data)).await.is_err() {
                    return Ok(());
                }
            }
            Ok(Some(Err(error))) => {
                break Problem::bad_request(format!(
                    "the client stopped sending after {sent} bytes: {error}"
                ));
            }
            Err(_) => {
                let waited = Duration::as_secs(&server.config.idle);
                break Problem::timed_out(format!(
                    "the client sent nothing for {waited} seconds after {sent} bytes"
                ));
            }
        }
    };
    let _ = to.send(Err(io::Error::other(problem.detail()))).await;
    Err(problem)
}

/// A body that another task sends, read on a thread where work may block.
pub(crate) struct Received<'a> {
    pub(crate) parts: &'a mut mpsc::Receiver<io::Result<Bytes>>,
    pub(crate) part: Bytes,
    pub(crate) ended: bool,
}

impl Read for Received<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.part.is_empty() && !self.ended {
            self.part = match self.parts.blocking_recv() {
                Some(part) => part?,
                // The sender is gone without marking the end.
                None => {
                    return Err(io::Error::other("the client disconnected before it had sent everything"));
                }
            };
            self.ended = self.part.is_empty();
        }
        let count = self.part.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.part.split_to(count));
        Ok(count)
    }
}
