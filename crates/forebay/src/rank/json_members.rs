//! The members of JSON documents, a line each, with the containers they stand in.

use crate::text::derived::{Derived, Line};

/// An object or an array.
#[derive(Clone, Debug)]
pub(crate) struct Container {
    /// The one it stands in.
    pub(crate) parent: Option<usize>,
    /// The line that opens it.
    pub(crate) line: usize,
    /// Its key or its number in its parent, as a path has it.
    name: String,
}

/// The members of documents.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    /// A line for each member: its key and its value as they stand, or where its container opens.
    pub(crate) text: Derived,
    /// The container each line stands in.
    pub(crate) within: Vec<usize>,
    pub(crate) containers: Vec<Container>,
}

impl Members {
    /// The container that a line stands in: its number, and the path to it as a filter has it.
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

/// An array of plain values that has no more bytes is taken as a value.
const SHORT_ARRAY: usize = 200;

/// Deeper containers are taken as values.
const DEEPEST: usize = 200;

/// The members of the documents in `bytes`, as far as they are JSON.
pub(crate) fn members(bytes: &[u8]) -> Members {
    let mut walk = Walk { bytes, at: 0, members: Members::default(), open: Vec::new() };
    walk.members.containers.push(Container { parent: None, line: 0, name: String::new() });
    walk.run();
    walk.members
}

struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    members: Members,
    /// The open containers: which, how many members it has had, whether it is an array.
    open: Vec<(usize, usize, bool)>,
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

    /// Takes in one member; false where this is not JSON any more.
    fn member(&mut self) -> bool {
        let start = self.at;
        let (container, number, array) = self.open.last().copied().unwrap_or((0, 0, true));
        if let Some(open) = self.open.last_mut() {
            open.1 += 1;
        }
        // A document is what paths begin with.
        let mut name = if self.open.is_empty() { String::new() } else { format!("[{number}]") };
        if !array {
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
            let array = self.bytes[self.at] == b'[';
            self.at += 1;
            let parent = (!self.open.is_empty()).then_some(container);
            self.members.containers.push(Container { parent: Some(parent.unwrap_or(0)), line, name });
            self.open.push((self.members.containers.len() - 1, 0, array));
        } else if !self.value() {
            return false;
        }
        let begins = self.members.text.text.len() as u64;
        // What follows a member belongs to how it is written.
        if !opens && self.bytes.get(self.at) == Some(&b',') {
            self.at += 1;
        }
        let mut after_line = false;
        for (at, &byte) in self.bytes[start..self.at].iter().enumerate() {
            // A line here is a member, whatever blanks are in it. No string has an end of a line in it.
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

    /// The end of an array of a few plain values that begins here: it is read as one value.
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

    /// A string with its quotes behind it; what is between them.
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

/// A key as a path has it.
fn path_part(key: &str) -> String {
    let plain = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain { format!(".{key}") } else { format!("[\"{key}\"]") }
}
