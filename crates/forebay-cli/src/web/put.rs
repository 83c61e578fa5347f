//! Takes in outputs, as they come and of any size, and answers with what the model gets.

use super::asked::{Answering, Asked, blocking, json, text};
use super::encoding::Encoding;
use super::problem::Problem;
use super::{Under, Web};
use crate::machine_form;
use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderName, StatusCode};
use axum::response::Response;
use forebay::{
    Call, End, Exit, Folded, Given, Output, Record, Reply, Session, Settings, State, Stream, Timestamp, What,
};
use http_body_util::BodyExt;
use serde_json::json;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// So many parts of a body wait for the store.
const WAITING: usize = 4;

const HANDLE: HeaderName = HeaderName::from_static("forebay-handle");
const STORED: HeaderName = HeaderName::from_static("forebay-stored");

/// An output under a name of its own.
pub(crate) fn post(web: Arc<Web>, asked: Asked) -> Answering {
    to_its_end(async move {
        let id = forebay::fresh_id(crate::commands::random()?);
        taken_in(web, asked, id).await
    })
}

/// An output under the id of its call, once.
pub(crate) fn put(web: Arc<Web>, asked: Asked) -> Answering {
    to_its_end(async move {
        let id = asked.named("output").to_owned();
        if id.is_empty() {
            return Err(Problem::bad_request("the call has no id; POST makes one"));
        }
        let (store, session) = (asked.visitor.store.clone(), asked.session()?);
        // Two at once would both find nothing there.
        let key = format!("{}/{session}/{id}", store.root().display());
        let _alone = Under::begin(&web, key).ok_or_else(|| {
            Problem::conflict("an output of this call is just being put; ask again when it is there")
        })?;
        let call_id = id.clone();
        let there = blocking(move || Ok(store_of(&store).of_call(&session, &call_id)?)).await?;
        if there.iter().any(|record| record.state == State::Growing) {
            return Err(Problem::conflict("an output of this call is still growing"));
        }
        // One that was cut short is not what is put now: it stays, and this one gets a name beside it.
        match there.into_iter().find(|record| record.state == State::Complete) {
            Some(record) => sent_again(web, asked, record).await,
            None => taken_in(web, asked, id).await,
        }
    })
}

/// Goes on to the end even if nobody waits for the answer any more: what was taken in is told of, and nobody else begins
/// with the same before that.
fn to_its_end(work: impl Future<Output = Result<Response, Problem>> + Send + 'static) -> Answering {
    Box::pin(async move {
        let ended = tokio::spawn(work).await;
        ended.unwrap_or_else(|_| Err(Problem::ours("keeping this output failed; the server's log says why")))
    })
}

fn store_of(store: &forebay::DiskStore) -> &dyn forebay::Store {
    store
}

/// The call that an output belongs to.
fn call_of(asked: &Asked, session: Session, id: String) -> Result<Call, Problem> {
    let said = |name: &str| asked.given.has(name).then(|| asked.given.text(name).to_owned());
    let args = said("args");
    if let Some(args) = &args {
        serde_json::from_str::<serde::de::IgnoredAny>(args)
            .map_err(|error| Problem::bad_request(format!("args is not JSON: {error}")))?;
    }
    let tool = said("tool").unwrap_or_else(|| "put".to_owned());
    let latency = Duration::from_millis(asked.given.number("latency").unwrap_or(0));
    let call = Call::new(session, id, tool, Timestamp::now() - latency);
    Ok(Call { server: said("server"), kind: said("tool_kind"), args, intent: said("intent"), ..call })
}

/// The settings for what is put.
fn settings_of(web: &Web, asked: &Asked) -> Result<Settings, Problem> {
    let mut settings = asked.settings(web);
    if asked.given.has("preset") {
        settings.preset = asked.given.text("preset").parse()?;
    }
    Ok(settings)
}

async fn taken_in(web: Arc<Web>, mut asked: Asked, id: String) -> Result<Response, Problem> {
    let call = call_of(&asked, asked.session()?, id)?;
    let settings = settings_of(&web, &asked)?;
    let encoding = Encoding::of(&asked.headers)?;
    let exit = asked.given.number("exit").and_then(|code| i32::try_from(code).ok()).map(Exit::Code);
    let declared =
        asked.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|length| length > web.config.max_upload) {
        return Err(Problem::too_large(format!(
            "outputs of up to {} bytes are taken here",
            web.config.max_upload
        )));
    }
    let place = web.place(&asked)?;
    web.sweep_now_and_then(&asked.visitor.store);
    let body = std::mem::take(&mut asked.body);
    let (says, mut hears) = mpsc::channel(WAITING);
    let (for_writer, surface) = (web.clone(), asked.surface());
    let store = asked.visitor.store.clone();
    let kept = tokio::task::spawn_blocking(move || {
        let _place = place;
        let _counted = for_writer.metrics.upload();
        let body = Received { parts: &mut hears, part: Bytes::new(), ended: false };
        let mut writer = store_of(&store).begin(&call);
        let read_all = || -> io::Result<()> {
            let mut body = encoding.decoded(body, for_writer.config.max_upload)?;
            while writer.read_from(Stream::Stdout, &mut body)? > 0 {}
            Ok(())
        };
        let problem = read_all().err().map(|error| unread(&for_writer, encoding, &error));
        for_writer.metrics.received(writer.bytes());
        let cut_short = problem.as_ref().map(Problem::detail);
        (writer.finish(End { exit, cut_short, at: Some(Timestamp::now()) }).on(&surface), problem)
    });
    let sent = send(body, says, &web).await;
    let gone = |_| Problem::ours("keeping this output failed; the server's log says why");
    let (output, unread) = kept.await.map_err(gone)?;
    // What the client did wrong comes before what that led to.
    if let Some(problem) = sent.err().or(unread) {
        return Err(problem.with("handle", output.record().handle.to_string()));
    }
    if let Some(lost) = &output.record().lost {
        let detail = format!("{} bytes could not be kept: {}", lost.bytes, lost.why);
        let problem = Problem::disk(detail);
        return Err(match output.record().kept() {
            0 => problem,
            _ => problem.with("handle", output.record().handle.to_string()),
        });
    }
    blocking(move || {
        let outputs = asked.outputs(&web)?;
        let reply = outputs.reply(&output, &settings)?;
        web.metrics.replied(reply.folded.is_some(), reply.tokens);
        let mut response = answered(&asked, &output, &reply, false)?;
        *response.status_mut() = StatusCode::CREATED;
        Ok(response)
    })
    .await
}

/// Why the bytes of an output could not be read to their end.
fn unread(web: &Web, encoding: Encoding, error: &io::Error) -> Problem {
    match (error.kind(), encoding) {
        (io::ErrorKind::FileTooLarge, _) => too_large(web),
        (_, Encoding::Identity) => Problem::bad_request(error.to_string()),
        _ => Problem::bad_request(format!("the body cannot be decoded: {error}")),
    }
}

/// More came than is taken.
fn too_large(web: &Web) -> Problem {
    let most = web.config.max_upload;
    Problem::too_large(format!("outputs of up to {most} bytes are taken here; so many of this one are kept"))
}

/// The answer, as JSON or as the text that the model gets.
fn answered(asked: &Asked, output: &Output, reply: &Reply, repeated: bool) -> Result<Response, Problem> {
    let record = match asked.given.has("wire") {
        true => Some(machine_form::function_call(output, reply)?),
        false => None,
    };
    let mut value = machine_form::reply(output, reply)?;
    value["repeated"] = json!(repeated);
    if let Some(record) = &record {
        value["text"] = json!(record);
    }
    let mut response = match (&reply.folded, asked.wants_text()) {
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

/// What was put before: the same bytes get the same answer, and others are refused.
async fn sent_again(web: Arc<Web>, mut asked: Asked, record: Record) -> Result<Response, Problem> {
    let encoding = Encoding::of(&asked.headers)?;
    let place = web.place(&asked)?;
    let body = std::mem::take(&mut asked.body);
    let (says, mut hears) = mpsc::channel(WAITING);
    let store = asked.visitor.store.clone();
    let for_reader = web.clone();
    let compared = tokio::task::spawn_blocking(move || -> Result<Option<Output>, Problem> {
        let _place = place;
        let output = store_of(&store).open(&record.handle)?;
        let body = Received { parts: &mut hears, part: Bytes::new(), ended: false };
        let same = encoding
            .decoded(body, for_reader.config.max_upload)
            .and_then(|mut body| is_the_same(&output, &mut body))
            .map_err(|error| unread(&for_reader, encoding, &error))?;
        Ok(same.then_some(output))
    });
    let sent = send(body, says, &web).await;
    let compared = compared.await.map_err(|_| Problem::ours("comparing this output failed"))?;
    // What differs is told even where the rest was not awaited.
    let output = match compared {
        Ok(Some(output)) => {
            sent?;
            output
        }
        Ok(None) => {
            return Err(Problem::conflict(
                "this call was put before with other bytes: an output never changes",
            ));
        }
        Err(problem) => return Err(sent.err().unwrap_or(problem)),
    };
    blocking(move || {
        let output = output.on(&asked.surface());
        let reply = match given_before(&asked, &output)? {
            Some(reply) => reply,
            // It was kept, but nobody was told.
            None => asked.outputs(&web)?.reply(&output, &settings_of(&web, &asked)?)?,
        };
        answered(&asked, &output, &reply, true)
    })
    .await
}

/// What was given for an output, as its session remembers it.
fn given_before(asked: &Asked, output: &Output) -> Result<Option<Reply>, Problem> {
    let record = output.record();
    let mut replied = None;
    asked.store().for_each_event(&record.call.session, |event| {
        if let What::OutputPassed(of) | What::ViewGiven(of) = event.what
            && of.id == record.handle.id()
        {
            replied = Some(of);
        }
    })?;
    let Some(replied) = replied else { return Ok(None) };
    let (size, tokens) = (record.size, replied.tokens);
    let Some(reason) = replied.reason else { return Ok(Some(Reply { size, tokens, folded: None })) };
    let given = Given::of(asked.store(), &record.handle)?;
    Ok(given.map(|given| {
        let folded = Folded { reason, view: given.view, text: given.text.into_bytes(), shrunk: None };
        Reply { size, tokens, folded: Some(folded) }
    }))
}

fn is_the_same(output: &Output, body: &mut impl Read) -> io::Result<bool> {
    let (mut at, mut buffer) = (0, vec![0; 64 * 1024]);
    loop {
        let read = body.read(&mut buffer)?;
        if read == 0 {
            return Ok(at == output.len());
        }
        let there = output.read(at..at + read as u64).map_err(io::Error::other)?;
        if there != buffer[..read] {
            return Ok(false);
        }
        at += read as u64;
    }
}

/// Hands a body on, part by part, as fast as it is taken; a client that stops sending is not waited for.
pub(crate) async fn send(
    mut body: Body,
    to: mpsc::Sender<io::Result<Bytes>>,
    web: &Web,
) -> Result<(), Problem> {
    let mut sent = 0;
    let problem = loop {
        match tokio::time::timeout(web.config.idle, body.frame()).await {
            Ok(None) => {
                // Nothing is the sign that all was sent.
                let _ = to.send(Ok(Bytes::new())).await;
                return Ok(());
            }
            Ok(Some(Ok(frame))) => {
                let Ok(data) = frame.into_data() else { continue };
                if data.is_empty() {
                    continue;
                }
                sent += data.len() as u64;
                if sent > web.config.max_upload {
                    break too_large(web);
                }
                // Whoever takes it may have seen enough.
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
                let waited = Duration::as_secs(&web.config.idle);
                break Problem::timed_out(format!("nothing came for {waited} seconds after {sent} bytes"));
            }
        }
    };
    let _ = to.send(Err(io::Error::other(problem.detail()))).await;
    Err(problem)
}

/// A body that comes from elsewhere, to be read where work may block.
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
                // Whoever sent it is gone without the sign that it was all.
                None => return Err(io::Error::other("the client went away before it had sent all")),
            };
            self.ended = self.part.is_empty();
        }
        let count = self.part.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.part.split_to(count));
        Ok(count)
    }
}
