//! Walks over JSON in an output block by block, and finds the ends of values without parsing them.
//!
//! Only brackets and quotes are examined, so a value of any size or depth is skipped at the speed of memory.
//! [`parse`](super::parse) checks whether a value is well-formed when it is read.

use crate::output::BLOCK;
use crate::{Output, Result};
use memchr::memchr2;
use std::ops::Range;

/// A key longer than this is known by its beginning and its length.
const LONG_KEY: usize = 64 * 1024;

/// Why a walk ends early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The bytes end inside a value that began at this byte.
    Ended { began: u64 },
    /// The byte at this place is not valid JSON there.
    Wrong { at: u64, expected: &'static str },
}

/// A place in an output that moves forwards.
pub(crate) struct Scanner<'a> {
    output: &'a Output,
    block: Vec<u8>,
    /// Where the block starts in the output.
    start: u64,
    /// Where we are in the block.
    at: usize,
    /// Where to stop.
    end: u64,
}

/// Next step of a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next<T> {
    /// One more.
    Value(T),
    /// The last one was before.
    End,
    /// The bytes here are not JSON.
    Broken(Broken),
}

impl<T> Next<T> {
    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Next<U> {
        match self {
            Next::Value(value) => Next::Value(change(value)),
            Next::End => Next::End,
            Next::Broken(broken) => Next::Broken(broken),
        }
    }
}

/// A member of an array or object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// Where it begins: with its key, or in an array with its value.
    pub start: u64,
    /// The key as it is written, between its quotes; `None` in an array.
    pub key: Option<Vec<u8>>,
    /// The bytes of the value.
    pub value: Range<u64>,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(output: &'a Output, range: Range<u64>) -> Scanner<'a> {
        Scanner { output, block: Vec::new(), start: range.start, at: 0, end: range.end }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.start + self.at as u64
    }

    /// The rest of the block; empty only at the end.
    fn rest(&mut self) -> Result<&[u8]> {
        if self.at >= self.block.len() {
            self.start += self.block.len() as u64;
            self.at = 0;
            let wanted = usize::try_from(self.end.saturating_sub(self.start)).unwrap_or(BLOCK).min(BLOCK);
            self.block.resize(wanted, 0);
            let read = self.output.fill(self.start, &mut self.block)?;
            self.block.truncate(read);
        }
        Ok(&self.block[self.at..])
    }

    /// The next byte, which is not passed.
    pub(crate) fn peek(&mut self) -> Result<Option<u8>> {
        Ok(self.rest()?.first().copied())
    }

    /// Passes one byte.
    pub(crate) fn pass(&mut self) {
        self.at += 1;
    }

    /// The next byte that is not white space, which is not passed.
    pub(crate) fn next_visible(&mut self) -> Result<Option<u8>> {
        loop {
            let rest = self.rest()?;
            if rest.is_empty() {
                return Ok(None);
            }
            match rest.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) {
                Some(0) => return Ok(Some(rest[0])),
                Some(space) => self.at += space,
                None => self.at = self.block.len(),
            }
        }
    }

    /// Passes a byte order mark, if there is one.
    pub(crate) fn pass_mark(&mut self) -> Result<()> {
        if self.rest()?.starts_with(b"\xef\xbb\xbf") {
            self.at += 3;
        }
        Ok(())
    }

    /// Passes the value that begins here, and says whether it has an end.
    pub(crate) fn pass_value(&mut self) -> Result<bool> {
        let mut depth = 0u64;
        loop {
            let rest = self.rest()?;
            let Some(plain) = rest.iter().position(|&byte| MARKS[byte as usize] != 0) else {
                if rest.is_empty() {
                    // A bare word or number ends where the bytes do.
                    return Ok(depth == 0);
                }
                self.at = self.block.len();
                continue;
            };
            let byte = rest[plain];
            self.at += plain;
            match MARKS[byte as usize] {
                OPEN => {
                    // Something stands directly before a bracket: it ends here.
                    if depth == 0 && plain > 0 {
                        return Ok(true);
                    }
                    self.at += 1;
                    depth += 1;
                }
                CLOSE => {
                    if depth == 0 {
                        return Ok(true);
                    }
                    self.at += 1;
                    depth -= 1;
                    if depth == 0 {
                        return Ok(true);
                    }
                }
                QUOTE => {
                    if depth == 0 && plain > 0 {
                        return Ok(true);
                    }
                    self.at += 1;
                    if !self.pass_text(|_| ())? {
                        return Ok(false);
                    }
                    if depth == 0 {
                        return Ok(true);
                    }
                }
                _ if depth == 0 => return Ok(true),
                // Between the brackets of a value, commas and spaces tell nothing.
                _ => self.pass_between()?,
            }
        }
    }

    /// Passes what is neither a bracket nor a quote.
    fn pass_between(&mut self) -> Result<()> {
        let rest = self.rest()?;
        let passed = rest.iter().position(|&byte| MARKS[byte as usize] > BETWEEN).unwrap_or(rest.len());
        self.at += passed;
        Ok(())
    }

    /// Skips a string after its opening quote, passing its contents on; returns whether it is closed.
    fn pass_text(&mut self, mut take: impl FnMut(&[u8])) -> Result<bool> {
        loop {
            let rest = self.rest()?;
            if rest.is_empty() {
                return Ok(false);
            }
            let plain = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
            take(&rest[..plain]);
            let mark = rest.get(plain).copied();
            self.at += plain;
            match mark {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(true);
                }
                Some(_) => {
                    self.at += 1;
                    let Some(escaped) = self.peek()? else { return Ok(false) };
                    take(&[b'\\', escaped]);
                    self.at += 1;
                }
                None => {}
            }
        }
    }

    /// The key that begins here, without its quotes; `None` if it is not closed.
    fn key(&mut self) -> Result<Option<Vec<u8>>> {
        self.pass();
        let mut key = Vec::new();
        let mut length = 0;
        let ended = self.pass_text(|part| {
            length += part.len();
            key.extend_from_slice(&part[..part.len().min(LONG_KEY.saturating_sub(key.len()))]);
        })?;
        if length > LONG_KEY {
            key.extend_from_slice(format!("… {length} bytes").as_bytes());
        }
        Ok(ended.then_some(key))
    }
}

const BETWEEN: u8 = 1;
const OPEN: u8 = 2;
const CLOSE: u8 = 3;
const QUOTE: u8 = 4;

/// Class of each byte outside of strings.
const MARKS: [u8; 256] = {
    let mut marks = [0; 256];
    marks[b' ' as usize] = BETWEEN;
    marks[b'\t' as usize] = BETWEEN;
    marks[b'\r' as usize] = BETWEEN;
    marks[b'\n' as usize] = BETWEEN;
    marks[b',' as usize] = BETWEEN;
    marks[b':' as usize] = BETWEEN;
    marks[b'[' as usize] = OPEN;
    marks[b'{' as usize] = OPEN;
    marks[b']' as usize] = CLOSE;
    marks[b'}' as usize] = CLOSE;
    marks[b'"' as usize] = QUOTE;
    marks
};

/// The members of one array or object, one after the other.
pub(crate) struct Members<'a> {
    scanner: Scanner<'a>,
    began: u64,
    object: bool,
    first: bool,
    ended: bool,
    /// The member in which the bytes end.
    unfinished: Option<Member>,
}

impl<'a> Members<'a> {
    /// Enters the array or object at the start of `range`; `None` if there is another value.
    pub(crate) fn of(output: &'a Output, range: Range<u64>) -> Result<Option<Members<'a>>> {
        let mut scanner = Scanner::new(output, range.clone());
        let object = match scanner.peek()? {
            Some(b'{') => true,
            Some(b'[') => false,
            _ => return Ok(None),
        };
        scanner.pass();
        Ok(Some(Members { scanner, began: range.start, object, first: true, ended: false, unfinished: None }))
    }

    /// Continues in the array or object at the start of `range`, after the member that ends at `at`.
    pub(crate) fn after(output: &'a Output, range: Range<u64>, at: u64) -> Result<Option<Members<'a>>> {
        let end = range.end;
        let at = at.clamp(range.start, end);
        let members = Members::of(output, range)?;
        Ok(members.map(|members| Members { scanner: Scanner::new(output, at..end), first: false, ..members }))
    }

    pub(crate) fn is_object(&self) -> bool {
        self.object
    }

    /// The member in which the bytes ended, where they did.
    pub(crate) fn unfinished(&mut self) -> Option<Member> {
        self.unfinished.take()
    }

    /// The next member.
    pub(crate) fn next(&mut self) -> Result<Next<Member>> {
        if self.ended {
            return Ok(Next::End);
        }
        let member = self.step()?;
        self.ended = !matches!(member, Next::Value(_));
        Ok(member)
    }

    fn step(&mut self) -> Result<Next<Member>> {
        let ended = Broken::Ended { began: self.began };
        let Some(mut next) = self.scanner.next_visible()? else { return Ok(Next::Broken(ended)) };
        let close = if self.object { b'}' } else { b']' };
        if next == close {
            self.scanner.pass();
            return Ok(Next::End);
        }
        if !self.first {
            if next != b',' {
                let expected = if self.object { "',' or '}'" } else { "',' or ']'" };
                return Ok(Next::Broken(Broken::Wrong { at: self.scanner.offset(), expected }));
            }
            self.scanner.pass();
            match self.scanner.next_visible()? {
                Some(byte) => next = byte,
                None => return Ok(Next::Broken(ended)),
            }
        }
        self.first = false;
        let begin = self.scanner.offset();
        let key = if self.object {
            if next != b'"' {
                return Ok(Next::Broken(Broken::Wrong { at: self.scanner.offset(), expected: "a key" }));
            }
            let Some(key) = self.scanner.key()? else { return Ok(Next::Broken(ended)) };
            match self.scanner.next_visible()? {
                Some(b':') => self.scanner.pass(),
                Some(_) => {
                    return Ok(Next::Broken(Broken::Wrong { at: self.scanner.offset(), expected: "':'" }));
                }
                None => return Ok(Next::Broken(ended)),
            }
            if self.scanner.next_visible()?.is_none() {
                return Ok(Next::Broken(ended));
            }
            Some(key)
        } else {
            None
        };
        let start = self.scanner.offset();
        if !self.scanner.pass_value()? {
            self.unfinished = Some(Member { start: begin, key, value: start..self.scanner.offset() });
            return Ok(Next::Broken(ended));
        }
        let value = start..self.scanner.offset();
        // A number at the very end of the bytes may have more digits to come.
        if self.scanner.peek()?.is_none() {
            let last = self.scanner.output.read(value.end.saturating_sub(1)..value.end)?;
            if !matches!(last.first(), Some(b'"' | b']' | b'}')) {
                return Ok(Next::Broken(ended));
            }
        }
        if value.is_empty() {
            return Ok(Next::Broken(Broken::Wrong { at: start, expected: "a value" }));
        }
        Ok(Next::Value(Member { start: begin, key, value }))
    }
}

/// The documents of an output, one after the other.
pub(crate) struct Documents<'a> {
    scanner: Scanner<'a>,
}

impl<'a> Documents<'a> {
    pub(crate) fn of(output: &'a Output, range: Range<u64>) -> Result<Documents<'a>> {
        let mut scanner = Scanner::new(output, range.clone());
        if range.start == 0 {
            scanner.pass_mark()?;
        }
        Ok(Documents { scanner })
    }

    /// Where the next document begins.
    pub(crate) fn begin(&mut self) -> Result<u64> {
        self.scanner.next_visible()?;
        Ok(self.scanner.offset())
    }

    /// The bytes of the next document.
    pub(crate) fn next(&mut self) -> Result<Next<Range<u64>>> {
        if self.scanner.next_visible()?.is_none() {
            return Ok(Next::End);
        }
        let began = self.scanner.offset();
        if !self.scanner.pass_value()? {
            return Ok(Next::Broken(Broken::Ended { began }));
        }
        if self.scanner.offset() == began {
            return Ok(Next::Broken(Broken::Wrong { at: began, expected: "a value" }));
        }
        Ok(Next::Value(began..self.scanner.offset()))
    }
}
