//! What happened in a session, a line each: the memory that stats, accounting and repeats are told from.
//!
//! An event refers to outputs by their ids and never holds their bytes. Each is one line of JSON, whole or not there.

use crate::{Error, Exit, Kind, Reason, Record, Result, Session, Size, State, Store, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::io::{BufRead, BufReader, Read};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// What it was.
    #[serde(flatten)]
    pub what: What,
    /// When.
    pub at: Timestamp,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum What {
    /// A tool was called, and its output begins.
    CallStarted(Started),
    /// An output is kept whole.
    OutputStored(Stored),
    /// An output is kept as far as it came.
    OutputCutShort(Stored),
    /// The model was given an output as it is.
    OutputPassed(Replied),
    /// The model was given a view in place of an output.
    ViewGiven(Replied),
    /// A query was answered.
    QueryAnswered(Answered),
    /// A model read an output and gave an abstract of it.
    ExtractionDone(Extracted),
    /// Something else was given than what was meant.
    FellBack(FellBack),
    /// An output was removed.
    Swept(Swept),
    /// The caller said how much of the context is in use.
    RoomReported {
        /// In tokens.
        used: u64,
    },
}

/// A call that began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Started {
    /// The output's id.
    pub id: String,
    /// The host's id of the call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// Its server, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// How many characters the arguments have; the record holds them.
    pub argument_characters: u64,
}

/// An output that ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// The output's id.
    pub id: String,
    /// How large it is.
    pub size: Size,
    /// What its bytes are.
    pub kind: Kind,
    /// The BLAKE3 hash of its bytes.
    pub hash: String,
    /// How its command ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// How many of its bytes could not be kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// Why it is not whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The id of the first output with the same bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
}

/// What the model was given for a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replied {
    /// The output's id.
    pub id: String,
    /// Why it was not given as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// How many characters the model was given.
    pub characters: u64,
    /// How many bytes.
    pub bytes: u64,
    /// How many tokens.
    pub tokens: u64,
    /// How many tokens it would have been given without us: the output, or what its host shows of one so large.
    pub baseline: u64,
}

/// An answer to a query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// The output's id.
    pub id: String,
    /// The name of the query.
    pub query: String,
    /// What was asked.
    pub arguments: Map<String, Value>,
    /// How many bytes the output had.
    pub length: u64,
    /// The bytes of the output that were shown.
    pub shown: Vec<(u64, u64)>,
    /// The tokens that the answer could have.
    pub budget: u64,
    /// How many bytes it has.
    pub bytes: u64,
    /// How many tokens it has.
    pub tokens: u64,
}

/// An abstract that a model gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Extracted {
    /// The output's id.
    pub id: String,
    /// How it was made.
    pub strategy: String,
    /// The model, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens that the model read.
    pub tokens_in: u64,
    /// Tokens that it wrote.
    pub tokens_out: u64,
    /// Tokens of the answer that the asking model was given.
    pub tokens: u64,
}

/// Something else was given than what was meant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FellBack {
    /// The output's id.
    pub id: String,
    /// What was meant.
    pub from: String,
    /// What was given.
    pub to: String,
    /// The true cause.
    pub why: String,
}

/// An output that was removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Swept {
    /// The output's id.
    pub id: String,
    /// How many bytes that gave back.
    pub bytes: u64,
    /// Why it went.
    pub why: String,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl What {
    /// The event of a call that begins.
    pub(crate) fn started(record: &Record) -> What {
        let call = &record.call;
        What::CallStarted(Started {
            id: record.handle.id().to_owned(),
            call: call.id.clone(),
            tool: call.tool.clone(),
            server: call.server.clone(),
            argument_characters: call.args.as_ref().map_or(0, |args| args.chars().count() as u64),
        })
    }

    /// The event of an output that ended.
    pub(crate) fn ended(record: &Record) -> What {
        let stored = Stored {
            id: record.handle.id().to_owned(),
            size: record.size,
            kind: record.kind,
            hash: record.hash.clone(),
            exit: record.exit,
            lost: record.lost.as_ref().map_or(0, |lost| lost.bytes),
            why: if let State::CutShort(why) = &record.state { Some(why.clone()) } else { None },
            same_as: record.same_as.as_ref().map(|handle| handle.id().to_owned()),
        };
        match &stored.why {
            Some(_) => What::OutputCutShort(stored),
            None => What::OutputStored(stored),
        }
    }

    /// The output it is about.
    pub fn id(&self) -> Option<&str> {
        Some(match self {
            What::CallStarted(started) => &started.id,
            What::OutputStored(stored) | What::OutputCutShort(stored) => &stored.id,
            What::OutputPassed(replied) | What::ViewGiven(replied) => &replied.id,
            What::QueryAnswered(answered) => &answered.id,
            What::ExtractionDone(extracted) => &extracted.id,
            What::FellBack(fell_back) => &fell_back.id,
            What::Swept(swept) => &swept.id,
            What::RoomReported { .. } => return None,
        })
    }
}

impl Event {
    /// Adds it to the events of a session. What happened is worth more than the note of it: a store that cannot be
    /// written to can still be read, so a note that fails is let go.
    pub(crate) fn log(self, store: &dyn Store, session: &Session) {
        let _ = serde_json::to_vec(&self).map(|line| store.log(session, &line));
    }
}

impl dyn Store + '_ {
    /// Hands the events of a session to `take`, oldest first. Lines that are no events are passed over.
    pub fn for_each_event(&self, session: &Session, mut take: impl FnMut(Event)) -> Result<()> {
        let cannot = || Error::store(format!("read the events of {session}"));
        let mut lines = BufReader::with_capacity(1 << 16, From(self.open_log(session)?, 0));
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).map_err(cannot())? > 0 {
            if let Ok(event) = serde_json::from_slice(&line) {
                take(event);
            }
            line.clear();
        }
        Ok(())
    }
}

/// Reads on from an offset.
struct From(Box<dyn crate::ReadAt>, u64);

impl Read for From {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.0.read_at(self.1, buffer)?;
        self.1 += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_line_that_says_first_what_it_is() {
        let what = What::Swept(Swept { id: "a".into(), bytes: 7, why: "old".into() });
        let event = Event { what, at: Timestamp::UNIX_EPOCH };
        let line = r#"{"event":"swept","id":"a","bytes":7,"why":"old","at":"1970-01-01T00:00:00Z"}"#;
        assert_eq!(serde_json::to_string(&event).unwrap(), line);
        assert_eq!(serde_json::from_str::<Event>(line).unwrap(), event);
    }
}
