//! Server-sent events, as models stream their answers.

/// Cuts a stream into the data of its events.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// Bytes of a line that is not complete yet.
    line: Vec<u8>,
    /// The data lines of the event that is not whole yet.
    data: Vec<String>,
}

impl Events {
    /// Adds bytes; returns the events that they complete.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut events = Vec::new();
        for &byte in bytes {
            if byte != b'\n' {
                self.line.push(byte);
                continue;
            }
            if self.is_end_of_event() {
                events.extend(self.event());
            }
        }
        events
    }

    /// The event that a stream ended in, without the empty line behind it.
    pub(super) fn end(&mut self) -> Option<String> {
        self.is_end_of_event();
        self.event()
    }

    /// Adds a line; returns whether it is the empty line that ends an event.
    fn is_end_of_event(&mut self) -> bool {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(&line)).into_owned();
        if let Some(data) = line.strip_prefix("data:") {
            self.data.push(data.strip_prefix(' ').unwrap_or(data).to_owned());
        }
        line.is_empty()
    }

    fn event(&mut self) -> Option<String> {
        let data = std::mem::take(&mut self.data);
        (!data.is_empty()).then(|| data.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_whole_however_the_stream_is_cut() {
        let stream =
            ": hello\r\nevent: x\r\ndata: {\"a\":\r\ndata: \"é\"}\r\n\r\ndata:[DONE]\n\n\ndata: last";
        for size in [1, 2, 7, 1_000] {
            let mut events = Events::default();
            let mut found: Vec<String> =
                stream.as_bytes().chunks(size).flat_map(|part| events.take(part)).collect();
            found.extend(events.end());
            assert_eq!(found, ["{\"a\":\n\"é\"}", "[DONE]", "last"], "{size}");
        }
    }
}
