//! Members of JSON documents, a line each, with their containers.

use crate::text::derived::{Derived, Line};

/// An object or an array.
#[derive(Clone, Debug)]
pub(crate) struct Container {
    /// Container that contains it.
    pub(crate) parent: Option<usize>,
    /// Line that opens it.
    pub(crate) line: usize,
    /// Key or index in its parent, as in a path.
    name: String,
}

/// Members of documents.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    /// A line for each member: its key and its value as written, or the opening of a container.
    pub(crate) text: Derived,
    /// Container of each line.
    pub(crate) within: Vec<usize>,
    pub(crate) containers: Vec<Container>,
}

impl Members {
    /// Returns the index of the container of a line, and the path to it in the syntax of filters.
    pub(crate) fn container(&self, line: usize) -> (usize, String) {
        let within = self.within[line];
        let mut container = within;
        let mut names = Vec::new();
        while let Some(parent) = self.containers[container].parent {
            names.push(self.containers[container].name.as_str());
            container = parent;
        }
        names.reverse();
        let path = names.concat();
        (within, if path.starts_with('.') { path } else { format!(".{path}") })
    }
}

/// Maximum bytes of an array of plain values that counts as one value.
const SHORT_ARRAY: usize = 200;

/// Maximum depth of containers; deeper ones count as values.
const DEEPEST: usize = 200;

/// Returns the members of the documents in `bytes`, up to the first byte that is not JSON.
pub(crate) fn members(bytes: &[u8]) -> Members {
    let mut walk = Walk { bytes, at: 0, members: Members::default(), open: Vec::new() };
    walk.members.containers.push(Container { parent: None, line: 0, name: String::new() });
    walk.run();
    walk.members
}

/// A container whose end has not come yet.
#[derive(Clone, Copy)]
struct Open {
    container: usize,
    /// Members so far.
    count: usize,
    is_array: bool,
}

struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    members: Members,
    open: Vec<Open>,
}

impl Walk<'_> {
    fn run(&mut self) {
        loop {
            self.blanks();
            let Some(&byte) = self.bytes.get(self.at) else { return };
            match byte {
                b',' => self.at += 1,
                b'}' | b']' => {
                    self.open.pop();
                    self.at += 1;
                }
                _ => {
                    if !self.member() {
                        return;
                    }
                }
            }
        }
    }

    fn blanks(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    /// Reads one member; false if this is not JSON.
    fn member(&mut self) -> bool {
        let start = self.at;
        let outermost = Open { container: 0, count: 0, is_array: true };
        let Open { container, count, is_array } = self.open.last().copied().unwrap_or(outermost);
        if let Some(open) = self.open.last_mut() {
            open.count += 1;
        }
        // Paths begin inside the document.
        let mut name = if self.open.is_empty() { String::new() } else { format!("[{count}]") };
        if !is_array {
            let Some(key) = self.string() else { return false };
            name = path_part(&String::from_utf8_lossy(key));
            self.blanks();
            if self.bytes.get(self.at) != Some(&b':') {
                return false;
            }
            self.at += 1;
            self.blanks();
        }
        let line = self.members.within.len();
        let short = self.short_array();
        let opens = short.is_none() && matches!(self.bytes.get(self.at), Some(b'{' | b'['));
        if let Some(end) = short {
            self.at = end;
        } else if opens && self.open.len() < DEEPEST {
            let is_array = self.bytes[self.at] == b'[';
            self.at += 1;
            let parent = (!self.open.is_empty()).then_some(container);
            self.members.containers.push(Container { parent: Some(parent.unwrap_or(0)), line, name });
            self.open.push(Open { container: self.members.containers.len() - 1, count: 0, is_array });
        } else if !self.value() {
            return false;
        }
        let begins = self.members.text.text.len() as u64;
        // The comma after a member belongs to its line.
        if !opens && self.bytes.get(self.at) == Some(&b',') {
            self.at += 1;
        }
        let mut after_line = false;
        for (at, &byte) in self.bytes[start..self.at].iter().enumerate() {
            // A member is one line, whatever its indentation. JSON strings contain no newlines.
            let indents = after_line && byte.is_ascii_whitespace();
            after_line = indents || byte == b'\n';
            if !indents {
                self.members.text.push(if byte == b'\n' || byte == b'\r' { b' ' } else { byte }, start + at);
            }
        }
        self.members.text.push(b'\n', self.at.max(1) - 1);
        self.members.text.lines.push(Line { start: begins, heading: opens, prose: 1.0 });
        self.members.within.push(container);
        true
    }

    /// Returns the end of an array of a few plain values that begins here.
    fn short_array(&self) -> Option<usize> {
        let rest = &self.bytes[self.at..(self.at + SHORT_ARRAY).min(self.bytes.len())];
        if rest.first() != Some(&b'[') {
            return None;
        }
        let (mut quoted, mut escaped) = (false, false);
        for (at, &byte) in rest.iter().enumerate().skip(1) {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                _ if quoted => {}
                b'[' | b'{' | b'}' => return None,
                b']' => return Some(self.at + at + 1),
                _ => {}
            }
        }
        None
    }

    /// Reads a string and returns the text between its quotes.
    fn string(&mut self) -> Option<&[u8]> {
        if self.bytes.get(self.at) != Some(&b'"') {
            return None;
        }
        let start = self.at + 1;
        let mut at = start;
        loop {
            at += memchr::memchr2(b'"', b'\\', &self.bytes[at..])?;
            if self.bytes[at] == b'"' {
                self.at = at + 1;
                return Some(&self.bytes[start..at]);
            }
            at = (at + 2).min(self.bytes.len());
        }
    }

    fn value(&mut self) -> bool {
        if self.bytes.get(self.at) == Some(&b'"') {
            return self.string().is_some();
        }
        let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        self.at += length;
        length > 0
    }
}

/// Returns a key in the syntax of paths.
fn path_part(key: &str) -> String {
    let plain = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain { format!(".{key}") } else { format!("[\"{key}\"]") }
}
