//! The records of a JSON output: items of arrays, members of large objects, documents on lines of their own.
//!
//! A walk over brackets and quotes goes down from the documents as far as values are too large to be shown, and no
//! further. So the records lie in the order of the output, they share no byte, and only punctuation and the keys of the
//! containers that were gone into stand between them. Nothing is parsed, and a small share of the size is kept in memory.

use crate::classify::json::locate::found;
use crate::classify::json::member;
use crate::classify::json::scan::{Broken, Documents, Member, Members, Next};
use crate::{Output, Result, tokens};
use std::ops::Range;

/// How large records are to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    /// Bytes above which the members of an object and the items of a list are records by themselves.
    pub(crate) worth: u64,
    /// Tokens above which a value is never one record.
    pub(crate) most: u64,
}

/// The records of an output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    /// Containers of the records, in the order in which they begin.
    pub(crate) lists: Vec<List>,
    /// The records, in the order of the output.
    pub(crate) records: Vec<JsonRecord>,
    /// The bytes of the output that are JSON; a few lines of text may stand around them.
    pub(crate) all: Range<u64>,
}

/// An array, an object or a sequence of documents whose members are records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct List {
    /// The path to it in its document, which is a jq filter.
    pub(crate) path: String,
    /// Its bytes, with its brackets.
    pub(crate) range: Range<u64>,
    /// Number of its document, counted from 0.
    pub(crate) document: u64,
    pub(crate) kind: ListKind,
    /// Number of its members, including those that were examined themselves.
    pub(crate) count: u64,
    /// The names of the columns, where its items are rows of plain values.
    pub(crate) columns: Option<Range<u64>>,
}

/// Kind of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListKind {
    /// The documents of an output.
    Documents,
    /// The items of an array.
    Array,
    /// The members of an object.
    Object,
}

/// A record, or a few small neighbours as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonRecord {
    /// Its bytes, with its key in an object.
    pub(crate) range: Range<u64>,
    /// The list that contains it.
    pub(crate) list: usize,
    /// Its number in the list, counted from 0.
    pub(crate) first: u64,
    /// Number of neighbours that it stands for.
    pub(crate) count: u64,
    /// Whether it is only a part of a value that has no members and is too large.
    pub(crate) part: bool,
}

/// Neighbours up to this many bytes together are one record: a number is too little to be chosen by itself.
const LEAST: u64 = 64;

/// Records that are kept, about: in larger outputs more neighbours are one record.
const MANY: u64 = 500_000;

/// Maximum depth of nesting that is searched for records.
const DEEPEST: usize = 64;

/// A token of JSON has rarely more bytes on average, so that more than this for each token is too much.
const TOKEN: u64 = 8;

/// Maximum columns whose names are examined.
const COLUMNS: usize = 400;

/// The records of an output, or `None` if it is not JSON.
pub(crate) fn records(output: &Output, level: Level) -> Result<Option<Records>> {
    let Some(all) = found(output)? else { return Ok(None) };
    let least = LEAST.max((all.end - all.start) / MANY);
    let records = Records { all: all.clone(), ..Records::default() };
    let mut walk = Walk { output, level, least, found: records };
    walk.documents(all)?;
    Ok(Some(walk.found))
}

impl Records {
    /// The path to a record, or to the first of several.
    pub(crate) fn path(&self, output: &Output, record: &JsonRecord) -> Result<String> {
        let number = record.first;
        let list = &self.lists[record.list];
        let List { path, kind, count, .. } = list;
        Ok(match kind {
            ListKind::Documents if *count <= 1 => ".".to_owned(),
            ListKind::Documents => format!("document {}", number + 1),
            ListKind::Array => item(path, number) + &self.of_document(list),
            ListKind::Object => match key_at(output, record.range.start)? {
                Some(key) => member(path, &key) + &self.of_document(list),
                None => path.clone() + &self.of_document(list),
            },
        })
    }

    /// Document of a list, if there are several.
    pub(crate) fn of_document(&self, list: &List) -> String {
        match self.lists.first() {
            Some(documents) if documents.count > 1 && list.kind != ListKind::Documents => {
                format!(" of document {}", list.document + 1)
            }
            _ => String::new(),
        }
    }

    /// The record in which the byte `at` lies, or the first one behind it.
    pub(crate) fn at(&self, at: u64) -> usize {
        self.records.partition_point(|record| record.range.end <= at)
    }
}

/// The path to the item of an array.
fn item(path: &str, number: u64) -> String {
    format!("{path}[{number}]")
}

/// The key that is written at a place.
fn key_at(output: &Output, at: u64) -> Result<Option<String>> {
    /// Maximum bytes of a key that is named.
    const LONGEST: u64 = 256;
    let bytes = output.read(at..(at + LONGEST).min(output.len()))?;
    let mut values = serde_json::Deserializer::from_slice(&bytes).into_iter::<String>();
    Ok(values.next().and_then(std::result::Result::ok))
}

struct Walk<'a> {
    output: &'a Output,
    level: Level,
    least: u64,
    found: Records,
}

/// A member of a list: its number, its bytes with its key, and those of its value.
struct Value {
    list: usize,
    number: u64,
    with_key: Range<u64>,
    value: Range<u64>,
}

impl Walk<'_> {
    fn documents(&mut self, all: Range<u64>) -> Result<()> {
        let list = self.list(".".to_owned(), all.clone(), ListKind::Documents);
        let mut documents = Documents::of(self.output, all.clone())?;
        let mut end = all.start;
        loop {
            match documents.next()? {
                Next::Value(value) => {
                    end = value.end;
                    let number = self.counted(list);
                    self.value(Value { list, number, with_key: value.clone(), value }, ".".to_owned(), 0)?;
                }
                Next::End => return Ok(()),
                Next::Broken(broken) => {
                    let from = match broken {
                        Broken::Ended { began } => began,
                        Broken::Wrong { at, .. } => at,
                    };
                    let number = self.counted(list);
                    return self.parts(list, number, from.max(end)..all.end);
                }
            }
        }
    }

    fn list(&mut self, path: String, range: Range<u64>, kind: ListKind) -> usize {
        let document = self.found.lists.first().map_or(0, |documents| documents.count.saturating_sub(1));
        self.found.lists.push(List { path, range, document, kind, count: 0, columns: None });
        self.found.lists.len() - 1
    }

    /// Counts one more member of a list, and returns its number.
    fn counted(&mut self, list: usize) -> u64 {
        let count = &mut self.found.lists[list].count;
        *count += 1;
        *count - 1
    }

    /// Adds a value as a record, or examines its members.
    fn value(&mut self, value: Value, path: String, depth: usize) -> Result<()> {
        if self.is_record(&value)? {
            self.push(&value);
            return Ok(());
        }
        let members = if depth < DEEPEST { Members::of(self.output, value.value.clone())? } else { None };
        let Some(mut members) = members else {
            return self.parts(value.list, value.number, value.with_key);
        };
        let kind = if members.is_object() { ListKind::Object } else { ListKind::Array };
        let list = self.list(path, value.value.clone(), kind);
        self.found.lists[list].columns = self.columns(&value, list)?;
        let mut end = value.value.start + 1;
        loop {
            match members.next()? {
                Next::Value(Member { start, key, value: inner }) => {
                    let number = self.counted(list);
                    end = inner.end;
                    let inside = Value { list, number, with_key: start..inner.end, value: inner };
                    // Most values are small, and need no path.
                    let path = if self.is_small(&inside) {
                        String::new()
                    } else {
                        self.path_in(list, number, key.as_deref())
                    };
                    self.value(inside, path, depth + 1)?;
                }
                Next::End => return Ok(()),
                Next::Broken(_) => {
                    let number = self.counted(list);
                    return self.parts(list, number, end..value.value.end);
                }
            }
        }
    }

    fn path_in(&self, list: usize, number: u64, key: Option<&[u8]>) -> String {
        let path = &self.found.lists[list].path;
        match key {
            None => item(path, number),
            Some(key) => {
                let written = [b"\"", key, b"\""].concat();
                let read = serde_json::from_slice::<String>(&written);
                member(path, &read.unwrap_or_else(|_| String::from_utf8_lossy(key).into_owned()))
            }
        }
    }

    fn is_small(&self, value: &Value) -> bool {
        value.value.end - value.value.start <= self.level.worth
    }

    /// Whether a value is shown as a whole.
    fn is_record(&self, value: &Value) -> Result<bool> {
        if self.is_small(value) {
            return Ok(true);
        }
        if !self.fits(&value.value)? {
            return Ok(false);
        }
        let Some(mut members) = Members::of(self.output, value.value.clone())? else { return Ok(true) };
        let all = self.found.all.end - self.found.all.start;
        let is_item = match self.found.lists[value.list].kind {
            ListKind::Array => true,
            ListKind::Object => false,
            // One document is not a record of a list.
            ListKind::Documents => (value.value.end - value.value.start) * 2 <= all,
        };
        if !is_item {
            return Ok(false);
        }
        // An item whose bulk is a list of its own is a page of records and none itself; so is a list of lists.
        let (mut bulk, mut largest) = (None, 0);
        while let Next::Value(Member { value, .. }) = members.next()? {
            if !members.is_object() {
                return Ok(!self.opens(value.start, b"[{")?);
            }
            let size = value.end - value.start;
            if size > largest {
                (bulk, largest) = (Some(value), size);
            }
        }
        let Some(bulk) =
            bulk.filter(|bulk| (bulk.end - bulk.start) * 2 > value.value.end - value.value.start)
        else {
            return Ok(true);
        };
        Ok(!(self.opens(bulk.start, b"[")? && self.opens(bulk.start + 1, b"[{")?))
    }

    /// Whether one of some brackets comes next.
    fn opens(&self, at: u64, brackets: &[u8]) -> Result<bool> {
        let near = self.output.read(at..(at + 64).min(self.output.len()))?;
        Ok(near.trim_ascii_start().first().is_some_and(|byte| brackets.contains(byte)))
    }

    fn fits(&self, range: &Range<u64>) -> Result<bool> {
        let (size, most) = (range.end - range.start, self.level.most);
        match size {
            _ if size <= most => Ok(true),
            _ if size > most.saturating_mul(TOKEN) => Ok(false),
            _ => Ok(tokens::fit(&String::from_utf8_lossy(&self.output.read(range.clone())?), most)),
        }
    }

    fn push(&mut self, value: &Value) {
        let Value { list, number, with_key, .. } = value;
        if let Some(last) = self.found.records.last_mut()
            && last.list == *list
            && !last.part
            && last.first + last.count == *number
            && with_key.end - last.range.start <= self.least
        {
            last.count += 1;
            last.range.end = with_key.end;
            return;
        }
        self.found.records.push(JsonRecord {
            range: with_key.clone(),
            list: *list,
            first: *number,
            count: 1,
            part: false,
        });
    }

    /// Adds a value without members that is too large as several parts, cut at suitable places.
    fn parts(&mut self, list: usize, number: u64, range: Range<u64>) -> Result<()> {
        let size = usize::try_from(self.level.worth.clamp(256, 1024 * 1024)).unwrap_or(256);
        let mut at = range.start;
        while at < range.end {
            let end = range.end.min(at + size as u64);
            let bytes = self.output.read(at..end + u64::from(end < range.end))?;
            let length = if end < range.end { text_border(&bytes, size) } else { bytes.len() };
            let part = at..(at + length.max(1) as u64).min(range.end);
            at = part.end;
            self.found.records.push(JsonRecord { range: part, list, first: number, count: 1, part: true });
        }
        Ok(())
    }

    /// The names of the columns of a list of rows: the array of names beside it that has as many as a row, or its first
    /// row, if that has only names and the next one has not.
    fn columns(&self, value: &Value, list: usize) -> Result<Option<Range<u64>>> {
        if self.found.lists[list].kind != ListKind::Array {
            return Ok(None);
        }
        let Some(mut rows) = Members::of(self.output, value.value.clone())? else { return Ok(None) };
        let mut first = Vec::new();
        while first.len() < 2
            && let Next::Value(row) = rows.next()?
        {
            first.push(row.value);
        }
        let [one, two] = first.as_slice() else { return Ok(None) };
        let (Some(one_row), Some(two_row)) = (self.row(one)?, self.row(two)?) else { return Ok(None) };
        let all_names = |row: &[bool]| !row.is_empty() && row.iter().all(|name| *name);
        if one_row.len() == two_row.len() && all_names(&one_row) && !all_names(&two_row) {
            return Ok(Some(one.clone()));
        }
        let parent = &self.found.lists[value.list];
        let Some(mut beside) = Members::of(self.output, parent.range.clone())? else { return Ok(None) };
        if parent.kind != ListKind::Object {
            return Ok(None);
        }
        for _ in 0..COLUMNS {
            let Next::Value(Member { value: sibling, .. }) = beside.next()? else { break };
            if sibling.start != value.value.start
                && sibling.end - sibling.start <= self.level.worth.max(4_096)
                && self.row(&sibling)?.is_some_and(|names| names.len() == one_row.len() && all_names(&names))
            {
                return Ok(Some(sibling));
            }
        }
        Ok(None)
    }

    /// Which items of a short array of plain values are strings; `None` if it is something else.
    fn row(&self, range: &Range<u64>) -> Result<Option<Vec<bool>>> {
        if range.end - range.start > 64 * 1024 || !self.opens(range.start, b"[")? {
            return Ok(None);
        }
        let bytes = self.output.read(range.clone())?;
        let Ok(items) = serde_json::from_slice::<Vec<serde_json::Value>>(&bytes) else { return Ok(None) };
        let plain = items.len() <= COLUMNS && !items.iter().any(|item| item.is_array() || item.is_object());
        Ok(plain.then(|| items.iter().map(serde_json::Value::is_string).collect()))
    }
}

/// Where a long line is best cut: at most `longest` bytes from its start, and near that behind `;`, `}`, `,` or a blank.
/// Never inside a character, nor behind the backslash of an escape.
pub(crate) fn text_border(bytes: &[u8], longest: usize) -> usize {
    /// Fraction of the longest part, as a divisor, that is searched for a place to cut.
    const NEAR: usize = 4;
    if bytes.len() <= longest {
        return bytes.len();
    }
    let least = longest - longest / NEAR;
    let part = &bytes[least..longest];
    let behind = |set: &[u8]| part.iter().rposition(|byte| set.contains(byte)).map(|at| least + at + 1);
    if let Some(at) = [&b"\n"[..], b";}", b",", b" \t"].iter().find_map(|set| behind(set)) {
        return at;
    }
    let is_start = |at: &usize| bytes[*at] & 0xc0 != 0x80 && bytes[at - 1] != b'\\';
    (longest.saturating_sub(8).max(1)..=longest).rev().find(is_start).unwrap_or(longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    fn of(text: &str, level: Level) -> Records {
        records(&output_of(text.as_bytes()), level).unwrap().unwrap()
    }

    /// The records as their paths and their text.
    fn told(text: &str, level: Level) -> Vec<String> {
        let output = output_of(text.as_bytes());
        let found = records(&output, level).unwrap().unwrap();
        let told = |record: &JsonRecord| {
            let many =
                if record.count > 1 { format!(" and {} more", record.count - 1) } else { String::new() };
            let text = &text[record.range.start as usize..record.range.end as usize];
            format!("{}{many}: {text}", found.path(&output, record).unwrap())
        };
        found.records.iter().map(told).collect()
    }

    fn long(letter: char) -> String {
        letter.to_string().repeat(60)
    }

    #[test]
    fn records_are_at_the_level_at_which_they_are_worth_showing() {
        let (a, b) = (long('a'), long('b'));
        let level = Level { worth: 100, most: 1_000 };
        let table = [
            // Small values are a record whole; neighbours that are tiny are one.
            (r#"{"a": 1}"#.to_owned(), vec![r#".: {"a": 1}"#.to_owned()]),
            (
                format!(r#"[1, 2, "{a}", "{b}"]"#),
                vec![
                    ".[0] and 1 more: 1, 2".to_owned(),
                    format!(r#".[2]: "{a}""#),
                    format!(r#".[3]: "{b}""#),
                ],
            ),
            // Members of an object have their key.
            (
                format!(r#"{{"x": "{a}", "y": {{"z": "{b}"}}}}"#),
                vec![format!(r#".x: "x": "{a}""#), format!(r#".y: "y": {{"z": "{b}"}}"#)],
            ),
            // An array inside is gone into, and an object that is an item is whole.
            (
                format!(r#"{{"n": 2, "items": [{{"k": "{a}", "l": "{b}"}}, {{"k": "{b}", "l": "{a}"}}]}}"#),
                vec![
                    r#".n: "n": 2"#.to_owned(),
                    format!(r#".items[0]: {{"k": "{a}", "l": "{b}"}}"#),
                    format!(r#".items[1]: {{"k": "{b}", "l": "{a}"}}"#),
                ],
            ),
            // An item that is a page of records is gone into.
            (
                format!(r#"[{{"page": 1, "odd key": [{{"k": "{a}"}}, {{"k": "{b}"}}]}}]"#),
                vec![
                    r#".[0].page: "page": 1"#.to_owned(),
                    format!(r#".[0]["odd key"][0]: {{"k": "{a}"}}"#),
                    format!(r#".[0]["odd key"][1]: {{"k": "{b}"}}"#),
                ],
            ),
            // Documents on lines.
            (
                format!("{{\"k\": \"{a}\"}}\n{{\"k\": \"{b}\"}}\n"),
                vec![format!(r#"document 1: {{"k": "{a}"}}"#), format!(r#"document 2: {{"k": "{b}"}}"#)],
            ),
        ];
        for (text, expected) in table {
            assert_eq!(told(&text, level), expected, "{text}");
        }
    }

    #[test]
    fn a_value_that_is_too_large_is_taken_in_parts_by_its_members_and_a_string_by_its_words() {
        let level = Level { worth: 300, most: 300 };
        let words = "some words ".repeat(200);
        let text = json!([{"id": 1, "text": words, "rest": {"a": long('a'), "b": long('b')}}]).to_string();
        let found = of(&text, level);
        let parts: Vec<&JsonRecord> = found.records.iter().filter(|record| record.part).collect();
        assert!(parts.len() > 4 && parts.iter().all(|part| part.range.end - part.range.start <= 300));
        let ends = |part: &&JsonRecord| &text[part.range.end as usize - 1..part.range.end as usize];
        assert!(parts[..parts.len() - 1].iter().all(|part| ends(part) == " "), "{parts:?}");
        let whole = told(&text, level);
        assert_eq!(whole[0], ".[0].id: \"id\":1");
        assert!(whole.last().unwrap().starts_with(".[0].rest: \"rest\":{"), "{whole:?}");
    }

    #[test]
    fn rows_have_the_names_of_their_columns() {
        let rows: Vec<Json> = (0..40).map(|n| json!([n, format!("name {n}"), true])).collect();
        let with_header: Vec<Json> = [json!(["id", "name", "ok"])].into_iter().chain(rows.clone()).collect();
        let table = [
            (json!({"columns": ["id", "name", "ok"], "rows": rows}), Some(r#"["id","name","ok"]"#)),
            (json!({"columns": ["id", "name"], "rows": rows}), None),
            (json!(with_header), Some(r#"["id","name","ok"]"#)),
            (json!(rows), None),
            (json!(vec![json!(["a", "b"]); 50]), None),
        ];
        for (document, expected) in table {
            let text = document.to_string();
            let found = of(&text, Level { worth: 100, most: 200 });
            let list = found.lists.last().unwrap();
            let columns = list.columns.clone().map(|range| &text[range.start as usize..range.end as usize]);
            assert_eq!(columns, expected, "{text}");
        }
    }

    #[test]
    fn what_breaks_off_is_in_parts_and_text_around_json_is_not_in_any() {
        let lines = "{\"a\": 1}\n".repeat(30);
        let found = of(&format!("warning: old\n{lines}Done.\n"), Level { worth: 100, most: 100 });
        assert_eq!(found.all, 13..13 + lines.trim_end().len() as u64);
        assert_eq!(found.lists[0].count, 30);
        assert!(records(&output_of(b"plain words\n"), Level { worth: 1, most: 1 }).unwrap().is_none());
    }

    #[test]
    fn a_long_line_is_cut_where_something_ends() {
        let table = [
            ("aaaa;bbbb bbbbcccc", 12, "aaaa;bbbb "),
            ("f(a,b);g(c,d);h(e)", 15, "f(a,b);g(c,d);"),
            ("f(a,b)+g(c,d)+h(eeeee)", 13, "f(a,b)+g(c,"),
            ("abcdefghijklmnop", 8, "abcdefgh"),
            ("aaaaaaaé本é本", 10, "aaaaaaaé"),
            ("short", 10, "short"),
        ];
        for (text, longest, expected) in table {
            assert_eq!(&text[..text_border(text.as_bytes(), longest)], expected);
        }
    }

    fn value() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<i32>().prop_map(Json::from),
            "[a-zé\"\\\\ ,{}\\[\\]]{0,80}".prop_map(Json::from),
        ];
        leaf.prop_recursive(5, 200, 12, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..12).prop_map(Json::from),
                proptest::collection::btree_map("[a-z\" ]{0,8}", inner, 0..12)
                    .prop_map(|members| Json::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn records_tile_the_document_and_each_is_what_its_path_finds(
            document in value(),
            pretty in any::<bool>(),
            worth in 1u64..200,
            most in 1u64..300,
        ) {
            let text = if pretty { format!("{document:#}") } else { document.to_string() };
            let output = output_of(text.as_bytes());
            let Some(found) = records(&output, Level { worth, most }).unwrap() else { return Ok(()) };
            let mut at = 0;
            let mut between = String::new();
            for record in &found.records {
                let range = record.range.start as usize..record.range.end as usize;
                prop_assert!(at <= range.start && range.start < range.end && range.end <= text.len());
                between.push_str(&text[at..range.start]);
                at = range.end;
                let list = &found.lists[record.list];
                prop_assert!(record.first + record.count <= list.count);
                prop_assert!(list.range.start <= record.range.start && record.range.end <= list.range.end);
                if record.part {
                    continue;
                }
                #[cfg(feature = "json")]
                {
                    let inside = match list.kind {
                        ListKind::Object => format!("{{{}}}", &text[range]),
                        _ => format!("[{}]", &text[range]),
                    };
                    let inside: Json = serde_json::from_str(&inside).unwrap();
                    let first = inside.as_array().map(|items| &items[0]);
                    let first = first.or_else(|| inside.as_object().and_then(|members| members.values().next()));
                    let path = found.path(&output, record).unwrap();
                    let values = crate::query::json::filter(&output, &path, 0, 1, 1 << 20).unwrap().values;
                    let by_path: Json = serde_json::from_str(&values[0].json).unwrap();
                    prop_assert_eq!(first, Some(&by_path));
                }
            }
            between.push_str(&text[at..]);
            // Only brackets, commas and the keys of what was gone into are in no record.
            let keys: serde_json::Result<Vec<Json>> = serde_json::from_str(
                &format!("[{}]", between.split(|c: char| "[]{},:".contains(c) || c.is_whitespace())
                    .filter(|part| !part.is_empty()).filter(|part| part.starts_with('"') && part.ends_with('"') && part.len() > 1)
                    .collect::<Vec<_>>().join(",")));
            prop_assert!(keys.is_ok() || between.contains("\\\"") || between.contains(' '), "{}", between);
            prop_assert!(!between.contains(|c: char| c.is_ascii_digit()), "{}", between);
        }
    }
}
