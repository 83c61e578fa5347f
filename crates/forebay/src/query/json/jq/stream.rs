//! Follows a path through the bytes of a large document, and returns the values of members one by one, so that only
//! the values that the filter needs are parsed.

use crate::classify::json::scan::{Broken, Member, Members, Next};
use crate::query::json::jq::batch::{Halt, LARGEST_VALUE, too_large};
use crate::query::json::jq::parse;
use crate::query::json::jq::plan::Step;
use crate::{Error, Output, Result};
use bytes::Bytes;
use jaq_json::Val;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::vec::IntoIter;

/// Maximum keys of one object that are held in memory.
const MOST_KEYS: usize = 4_000_000;

/// The end of one step of a path.
pub(crate) enum Followed {
    /// The step leads to this value.
    To(Range<u64>),
    /// The array or object has no such member.
    Nowhere,
    /// The JSON is broken before the step leads to a value.
    Broken(Broken),
}

/// Follows one step. If the output ends inside the target of the step, the available part is the target.
pub(crate) fn follow(members: &mut Members, step: &Step) -> Result<Followed> {
    let mut found = None;
    let mut last = VecDeque::new();
    let mut number = 0;
    loop {
        let (member, broken) = match members.next()? {
            Next::Value(member) => (member, None),
            Next::End => break,
            Next::Broken(broken @ Broken::Ended { .. }) => match members.unfinished() {
                Some(member) => (member, Some(broken)),
                None => return Ok(found.map_or(Followed::Broken(broken), Followed::To)),
            },
            Next::Broken(broken) => return Ok(Followed::Broken(broken)),
        };
        match step {
            // Of members with the same key, the last one counts.
            Step::Key(key) if member.key.as_deref().is_some_and(|raw| is_key(raw, key)) => {
                found = Some(member.value);
            }
            Step::Key(_) => {}
            Step::Index(at) if *at >= 0 => {
                if number == *at {
                    return Ok(Followed::To(member.value));
                }
            }
            Step::Index(at) => {
                last.push_back(member.value);
                if last.len() as u64 > at.unsigned_abs() {
                    last.pop_front();
                }
            }
        }
        if let Some(broken) = broken {
            return Ok(found.map_or(Followed::Broken(broken), Followed::To));
        }
        number += 1;
    }
    if let Step::Index(at) = step
        && *at < 0
        && last.len() as u64 == at.unsigned_abs()
    {
        found = last.pop_front();
    }
    Ok(found.map_or(Followed::Nowhere, Followed::To))
}

/// Whether a key, as it is written, is this one.
fn is_key(raw: &[u8], key: &str) -> bool {
    if raw.contains(&b'\\') { decoded(raw) == key.as_bytes() } else { raw == key.as_bytes() }
}

/// A key without its escapes.
fn decoded(raw: &[u8]) -> Vec<u8> {
    let quoted = Bytes::from([b"\"", raw, b"\""].concat());
    match parse::parse(&quoted, 0..quoted.len()) {
        Ok(Val::TStr(text)) => text.to_vec(),
        _ => raw.to_vec(),
    }
}

/// The values of the members of an array or object, in the order in which a filter goes through them.
pub(crate) struct MemberValues<'a> {
    members: Members<'a>,
    /// The values of an object, which are known only once its last key is read.
    of_object: Option<IntoIter<Range<u64>>>,
    /// Why the values end before the array or object does.
    pub(crate) broken: Option<Broken>,
}

impl<'a> MemberValues<'a> {
    pub(crate) fn new(members: Members<'a>) -> Result<MemberValues<'a>> {
        let mut values = MemberValues { members, of_object: None, broken: None };
        if values.members.is_object() {
            values.of_object = Some(values.last_of_each_key()?.into_iter());
        }
        Ok(values)
    }

    /// The next value; `None` after the last, and at broken JSON.
    pub(crate) fn next(&mut self) -> Result<Option<Range<u64>>> {
        if let Some(of_object) = &mut self.of_object {
            return Ok(of_object.next());
        }
        Ok(self.next_member()?.map(|member| member.value))
    }

    fn next_member(&mut self) -> Result<Option<Member>> {
        match self.members.next()? {
            Next::Value(member) => return Ok(Some(member)),
            Next::End => {}
            Next::Broken(broken) => self.broken = Some(broken),
        }
        Ok(None)
    }

    /// The last value of each key, in the order in which the keys first came.
    fn last_of_each_key(&mut self) -> Result<Vec<Range<u64>>> {
        let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut ranges: Vec<Range<u64>> = Vec::new();
        while let Some(Member { key, value, .. }) = self.next_member()? {
            let key = key.unwrap_or_default();
            let key = if key.contains(&b'\\') { decoded(&key) } else { key };
            match places.get(&key) {
                Some(&place) => ranges[place] = value,
                None if ranges.len() == MOST_KEYS => return Err(too_many_keys()),
                None => {
                    places.insert(key, ranges.len());
                    ranges.push(value);
                }
            }
        }
        Ok(ranges)
    }
}

fn too_many_keys() -> Error {
    Error::BadQuery(format!("an object has more than {MOST_KEYS} keys; grep the output instead"))
}

/// An array or object with the same members, all of them null: enough for `length` and `keys`.
pub(crate) fn skeleton(output: &Output, mut members: Members) -> Result<Val, Halt> {
    let mut object = jaq_json::Map::default();
    let mut items = 0usize;
    loop {
        match members.next()? {
            Next::Value(Member { key: Some(key), .. }) => {
                object.insert(Val::utf8_str(decoded(&key)), Val::Null);
            }
            Next::Value(_) => items += 1,
            Next::End => break,
            Next::Broken(broken) => return Err(Halt::broken(output, &broken)),
        }
        if object.len() > MOST_KEYS || items as u64 > output.len() {
            return Err(Halt::Failed(too_many_keys()));
        }
    }
    Ok(if members.is_object() { Val::obj(object) } else { std::iter::repeat_n(Val::Null, items).collect() })
}

/// The members of an array from number `wanted.start` up to `wanted.end`, as an array.
pub(crate) fn slice(output: &Output, mut members: Members, wanted: Range<u64>) -> Result<Slice, Halt> {
    let mut range = 0..0;
    let mut number = 0;
    while number < wanted.end {
        match members.next()? {
            Next::Value(member) => {
                if number >= wanted.start {
                    range = if range.is_empty() { member.value } else { range.start..member.value.end };
                }
            }
            Next::End => break,
            Next::Broken(broken) => return Err(Halt::broken(output, &broken)),
        }
        number += 1;
    }
    if range.end - range.start > LARGEST_VALUE {
        return Err(Halt::Failed(too_large(&range)));
    }
    let text = [b"[", &output.read(range.clone())?[..], b"]"].concat();
    let length = text.len();
    match parse::parse(&Bytes::from(text), 0..length) {
        Ok(value) => Ok(Slice { value, length: length as u64 }),
        Err(wrong) => {
            // The bracket in front is not in the output.
            let at = (range.start + wrong.at as u64).saturating_sub(1);
            Err(Halt::unparsable(output, at, wrong.why))
        }
    }
}

/// Some members of an array as an array of their own.
pub(crate) struct Slice {
    pub(crate) value: Val,
    /// Bytes of its text.
    pub(crate) length: u64,
}
