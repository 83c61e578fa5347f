//! Server-sent events: parsing and writing.

use crate::message::{Growing, Message, Spool};
use std::io;
use std::time::Duration;

/// Longest pause before reconnecting that a server may set.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// One event: what it is called, and its data.
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) data: Message,
}

/// Reads events from a stream of bytes.
pub(crate) struct Events {
    spool: Spool,
    /// The line that is being read, as far as it is short: names and small data.
    line: Vec<u8>,
    /// Whether the current line is data, which is passed on as it arrives.
    in_data: bool,
    after_return: bool,
    name: String,
    data: Option<Growing>,
    /// The id of the event that is being read, if it has one, and that of the last one that ended.
    id: Option<String>,
    last_id: Option<String>,
    retry: Option<Duration>,
}

/// Maximum bytes kept of a line that is not data.
const LONGEST_LINE: usize = 16 * 1024;

/// Bytes of a line that decide whether it is data.
const LOOKED_AT: usize = 6;

impl Events {
    pub(crate) fn new(spool: Spool) -> Events {
        Events {
            spool,
            line: Vec::new(),
            in_data: false,
            after_return: false,
            name: String::new(),
            data: None,
            id: None,
            last_id: None,
            retry: None,
        }
    }

    /// The id of the last event that has one.
    pub(crate) fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// Pause before reconnecting, if the stream sets one.
    pub(crate) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Adds bytes of the stream; returns the events that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> io::Result<Vec<Event>> {
        let mut events = Vec::new();
        let mut rest = bytes;
        if std::mem::take(&mut self.after_return) && rest.first() == Some(&b'\n') {
            rest = &rest[1..];
        }
        while !rest.is_empty() {
            let end = memchr::memchr2(b'\n', b'\r', rest);
            self.more(&rest[..end.unwrap_or(rest.len())])?;
            let Some(end) = end else { break };
            events.extend(self.end_of_line()?);
            let both = rest[end] == b'\r' && rest.get(end + 1) == Some(&b'\n');
            self.after_return = rest[end] == b'\r' && rest.len() == end + 1;
            rest = &rest[end + 1 + usize::from(both)..];
        }
        Ok(events)
    }

    /// Takes more of a line.
    fn more(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.in_data {
            return self.data.get_or_insert_with(|| Growing::new(self.spool.clone())).push(bytes);
        }
        // What is not data is short, or nothing that we look for.
        self.line.extend(&bytes[..bytes.len().min(LONGEST_LINE - self.line.len().min(LONGEST_LINE))]);
        if self.line.len() >= LOOKED_AT && self.line.starts_with(b"data:") {
            self.in_data = true;
            let line = std::mem::take(&mut self.line);
            let value = &line[5..];
            let value = value.strip_prefix(b" ").unwrap_or(value);
            let data = self.data.get_or_insert_with(|| Growing::new(self.spool.clone()));
            if !data.is_empty() {
                data.push(b"\n")?;
            }
            data.push(value)?;
        }
        Ok(())
    }

    fn end_of_line(&mut self) -> io::Result<Option<Event>> {
        if std::mem::take(&mut self.in_data) {
            return Ok(None);
        }
        let line = std::mem::take(&mut self.line);
        if let Some(name) = line.strip_prefix(b"event:") {
            self.name = String::from_utf8_lossy(name).trim().to_owned();
        }
        if let Some(id) = line.strip_prefix(b"id:") {
            self.id = Some(String::from_utf8_lossy(id).trim().to_owned());
        }
        if let Some(retry) = line.strip_prefix(b"retry:") {
            let wait = String::from_utf8_lossy(retry).trim().parse().ok().map(Duration::from_millis);
            self.retry = wait.map(|wait| wait.min(LONGEST_WAIT)).or(self.retry);
        }
        if !line.is_empty() {
            return Ok(None);
        }
        self.last_id = self.id.take().or(self.last_id.take());
        let name = std::mem::take(&mut self.name);
        match self.data.take().filter(|data| !data.is_empty()) {
            Some(data) => Ok(Some(Event { name, data: data.finish()? })),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str, at_once: usize) -> Vec<(String, String)> {
        let mut events = Events::new(Spool::new(std::env::temp_dir(), u64::MAX));
        let parts = text.as_bytes().chunks(at_once);
        let all = parts.flat_map(|part| events.push(part).unwrap());
        all.map(|event| (event.name, event.data.text(event.data.all()).unwrap())).collect()
    }

    #[test]
    fn a_stream_tells_where_it_has_come_to() {
        let mut events = Events::new(Spool::new(std::env::temp_dir(), u64::MAX));
        let mut told = |text: &str| {
            let count = events.push(text.as_bytes()).unwrap().len();
            (count, events.last_id().map(str::to_owned), events.retry())
        };
        let wait = Some(Duration::from_millis(5));
        assert_eq!(told("data: x\n\n"), (1, None, None));
        assert_eq!(told("id: a\nretry: 5\ndata:\n\n"), (0, Some("a".into()), wait), "an id without data");
        assert_eq!(told("id: b\ndata: y\n"), (0, Some("a".into()), wait), "it has not ended");
        assert_eq!(told("\n"), (1, Some("b".into()), wait));
        assert_eq!(told("data: z\nretry: x\n\n"), (1, Some("b".into()), wait));
        assert_eq!(told("retry: 99999999\n").2, Some(LONGEST_WAIT));
    }

    #[test]
    fn a_line_without_an_end_takes_no_memory_without_end() {
        let mut events = Events::new(Spool::new(std::env::temp_dir(), u64::MAX));
        for _ in 0..1_000 {
            assert!(events.push(&[b':'; 4_000]).unwrap().is_empty());
        }
        assert!(events.line.len() <= LONGEST_LINE, "{}", events.line.len());
        let after = events.push(b"\ndata: x\n\n").unwrap();
        assert_eq!(after.len(), 1, "and what comes after it is read");
    }

    #[test]
    fn events_are_read_however_they_are_cut() {
        let text = "\u{feff}: hello\nid: 1\nevent: message\ndata: {\"a\":\ndata: 1}\n\ndata:x\r\n\r\ndata\n\nretry: 5\r\rdata: y\r\rdata: half";
        for at_once in 1..text.len() {
            assert_eq!(
                events(text, at_once),
                [
                    ("message".into(), "{\"a\": 1}".into()),
                    (String::new(), "x".into()),
                    (String::new(), "y".into())
                ],
                "{at_once} bytes at once"
            );
        }
    }
}
