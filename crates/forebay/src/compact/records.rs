//! JSON as tables: below the names of the fields, each record of a list has one line.
//!
//! A value that all records share is printed once, and empty fields are left out. An object that was printed before
//! is replaced by its id. With less room, long texts are shortened, and fields that only repeat an address are left
//! out. The note says what is left out.

use crate::compact::value::{Data, Value, Values, values};
use crate::compact::{Compact, Role, Row};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

/// Level of detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Detail {
    /// 0: all fields that are not empty. 1: also omits addresses and fields that are `false`. 2: also cuts lists of
    /// plain values. 3: also omits long texts that do not identify a record. 4: has only fields that identify a
    /// record, if it has any, and flags.
    pub(crate) level: u8,
    /// Maximum characters of a text.
    pub(crate) text: u32,
}

/// Share of the records, in percent, that must have a field for it to have a column.
const COLUMN_SHARE: usize = 50;

/// Minimum bytes of an object's text for a repetition to be replaced by its id.
const WORTH_NAMING: usize = 60;

/// Maximum bytes of a text that is kept at level 3 even if it does not identify a record.
const SHORT_TEXT: usize = 24;

/// Minimum records of a table for a field to be rare, and minimum records per record with a rare field.
const MANY_RECORDS: usize = 20;
const RARE_FIELD: usize = 50;

/// Items shown of a list of plain values at level 2.
const SHOWN_ITEMS: usize = 12;

/// Maximum names of fields in the note.
const NAMED: usize = 8;

/// Renders JSON.
pub(crate) fn render(bytes: &[u8], detail: Detail) -> Option<Compact> {
    let Values { values, start, end } = values(bytes)?;
    let mut table = Tables {
        detail,
        rows: Vec::new(),
        seen: HashMap::new(),
        left_out: BTreeSet::new(),
        emptied: false,
        without_false: false,
        repeats: false,
        cut: 0,
        depth: 0,
        is_identified: false,
        rare: BTreeSet::new(),
    };
    if !bytes[..start].trim_ascii().is_empty() {
        table.row(0, [bytes[..start].trim_ascii(), b"\n"].concat(), Role::Heading);
    }
    match &values[..] {
        [value] => table.value(value, 0, ""),
        _ if values.iter().all(|value| matches!(value.data, Data::Object(_))) => {
            table.table(&values, 0, "", values[0].start)
        }
        _ => values.iter().for_each(|value| table.value(value, 0, "")),
    }
    if !bytes[end..].trim_ascii().is_empty() {
        table.row(end, [bytes[end..].trim_ascii(), b"\n"].concat(), Role::Heading);
    }
    let note = table.note();
    let mut rows = table.rows;
    if let Some(first) = rows.first_mut() {
        first.start = 0;
    }
    Some(Compact { rows, note, ..Compact::default() })
}

/// A field of a record: its name, prefixed by the names of the objects around it, and its value.
struct Field<'v, 'a> {
    name: String,
    value: Cell<'v, 'a>,
}

/// Value of a field.
enum Cell<'v, 'a> {
    Text(String),
    /// A list of records or lists, printed on separate lines.
    List(&'v [Value<'a>], usize),
}

struct Tables {
    detail: Detail,
    rows: Vec<Row>,
    /// Objects that were printed, by their text.
    seen: HashMap<String, ()>,
    /// Names of fields that are left out.
    left_out: BTreeSet<String>,
    /// Whether empty fields are left out.
    emptied: bool,
    /// Whether fields that are `false` are left out.
    without_false: bool,
    /// Whether an object is printed that was printed before.
    repeats: bool,
    /// Number of shortened texts.
    cut: usize,
    /// Number of tables around the next row.
    depth: u16,
    /// Whether the current record has fields that identify it.
    is_identified: bool,
    /// Names of fields that few records of the table have, or that are `false` in few. They show what is unusual
    /// about these records.
    rare: BTreeSet<String>,
}

impl Tables {
    /// Adds a row. Offsets of rows increase: text at the same offset, or an earlier one, joins the previous row.
    fn row(&mut self, start: usize, text: Vec<u8>, role: Role) {
        match self.rows.last_mut() {
            Some(last) if last.start >= start as u64 => {
                last.text.extend(text);
                if let Some(fresh) = &mut last.fresh {
                    *fresh = last.text.clone();
                }
            }
            _ => self.rows.push(Row { start: start as u64, text, role, depth: self.depth, ..Row::default() }),
        }
    }

    fn line(&mut self, start: usize, indent: usize, text: &str, role: Role) {
        let text = format!("{}{text}\n", " ".repeat(indent)).into_bytes();
        self.row(start, text, role);
    }

    /// Adds rows for a value that is not in a table.
    fn value(&mut self, value: &Value, indent: usize, name: &str) {
        match &value.data {
            Data::Object(_) => {
                for (start, field) in self.fields_with_places(value) {
                    match field.value {
                        Cell::Text(text) => {
                            self.line(start, indent, &format!("{}: {text}", field.name), Role::Item)
                        }
                        Cell::List(items, at) => {
                            self.line(at, indent, &format!("{}:", field.name), Role::Heading);
                            self.list(items, indent + 1, &field.name, at);
                        }
                    }
                }
            }
            Data::List(items) => self.list(items, indent, name, value.start),
            _ => {
                let text = self.scalar(value);
                self.line(value.start, indent, &text, Role::Item);
            }
        }
    }

    fn list(&mut self, items: &[Value], indent: usize, name: &str, start: usize) {
        if items.len() >= 2 && items.iter().all(|item| matches!(item.data, Data::Object(_))) {
            return self.table(items, indent, name, start);
        }
        for item in items {
            self.value(item, indent, "");
        }
    }

    /// Adds rows for records: shared values, the names of their fields, and a line for each record.
    fn table(&mut self, records: &[Value], indent: usize, name: &str, start: usize) {
        let outer = std::mem::replace(&mut self.rare, rare_fields(records));
        let rows: Vec<Vec<Field>> = records.iter().map(|record| self.fields(record)).collect();
        self.rare = outer;
        let mut order: Vec<&str> = Vec::new();
        let mut count: HashMap<&str, usize> = HashMap::new();
        for field in rows.iter().flatten() {
            let known = count.entry(&field.name).or_insert(0);
            if *known == 0 {
                order.push(&field.name);
            }
            *known += 1;
        }
        let total = rows.len();
        let shared: Vec<&str> = order
            .iter()
            .copied()
            .filter(|name| total > 2 && count[name] == total && is_shared(name, &rows))
            .collect();
        let is_column = |name: &&str| !shared.contains(name) && count[name] * 100 >= total * COLUMN_SHARE;
        let columns: Vec<&str> = order.iter().copied().filter(is_column).collect();
        let mut head = format!("{total} rows");
        if !shared.is_empty() {
            let all: Vec<String> = rows[0]
                .iter()
                .filter(|field| shared.contains(&field.name.as_str()))
                .filter_map(|field| match &field.value {
                    Cell::Text(text) => Some(format!("{}={text}", field.name)),
                    Cell::List(..) => None,
                })
                .collect();
            let _ = write!(head, " (all: {})", all.join(", "));
        }
        let _ = write!(head, ": {}", columns.join(" | "));
        self.line(start, indent, &head, Role::Heading);
        // Text of the previous record, and number of its repetitions since.
        let (mut last, mut repeated): (Option<String>, usize) = (None, 0);
        for (number, (record, row)) in records.iter().zip(&rows).enumerate() {
            let mut by_name: BTreeMap<&str, &Cell> = BTreeMap::new();
            for field in row {
                by_name.entry(&field.name).or_insert(&field.value);
            }
            let mut cells: Vec<String> = Vec::new();
            let mut inner: Vec<(&str, &[Value], usize)> = Vec::new();
            for column in &columns {
                cells.push(match by_name.get(column) {
                    Some(Cell::Text(text)) => text.clone(),
                    Some(Cell::List(items, at)) => {
                        inner.push((column, items, *at));
                        format!("[{}]", items.len())
                    }
                    None => String::new(),
                });
            }
            for field in row {
                let name = field.name.as_str();
                if columns.contains(&name) || shared.contains(&name) {
                    continue;
                }
                match &field.value {
                    Cell::Text(text) => cells.push(format!("{name}={text}")),
                    Cell::List(items, at) => inner.push((name, items, *at)),
                }
            }
            while cells.last().is_some_and(String::is_empty) {
                cells.pop();
            }
            let text = cells.join(" | ");
            let before = self.rows.len();
            if inner.is_empty() && last.as_ref() == Some(&text) {
                repeated += 1;
                self.row(record.start, Vec::new(), Role::Item);
                continue;
            }
            self.count(std::mem::take(&mut repeated));
            self.line(record.start, indent, &text, Role::Item);
            last = inner.is_empty().then(|| text.clone());
            if self.rows.len() > before
                && let Some(row) = self.rows.last_mut()
            {
                row.fresh = Some(format!("{}{name}[{number}] {text}\n", " ".repeat(indent)).into_bytes());
            }
            self.depth += 1;
            for (field, items, at) in inner {
                self.line(at, indent + 1, &format!(".{field}:"), Role::Context);
                self.list(items, indent + 2, field, at);
            }
            self.depth -= 1;
        }
        self.count(repeated);
    }

    /// Adds the number of repetitions to the last row with text.
    fn count(&mut self, repeated: usize) {
        let shown = self.rows.iter_mut().rev().find(|row| !row.text.is_empty());
        if let Some(row) = shown.filter(|_| repeated > 0) {
            row.text.truncate(row.text.trim_ascii_end().len());
            row.text.extend(format!(" [×{}]\n", repeated + 1).bytes());
            row.fresh = None;
        }
    }

    fn fields<'v, 'a>(&mut self, record: &'v Value<'a>) -> Vec<Field<'v, 'a>> {
        self.fields_with_places(record).into_iter().map(|(_, field)| field).collect()
    }

    /// The fields of an object and of the objects in it, without those that are left out.
    fn fields_with_places<'v, 'a>(&mut self, record: &'v Value<'a>) -> Vec<(usize, Field<'v, 'a>)> {
        let mut fields = Vec::new();
        self.is_identified = identifying(record, 2) > 0;
        self.flatten(record, "", &mut fields);
        fields
    }

    fn flatten<'v, 'a>(
        &mut self,
        object: &'v Value<'a>,
        before: &str,
        fields: &mut Vec<(usize, Field<'v, 'a>)>,
    ) {
        let Data::Object(members) = &object.data else { return };
        for (key, value) in members {
            let name = format!("{before}{key}");
            if self.leaves_out(&name, value) {
                continue;
            }
            let cell = match &value.data {
                Data::Object(inner) => {
                    let written = written(value);
                    if written.len() >= WORTH_NAMING && self.seen.insert(written, ()).is_some() {
                        self.repeats = true;
                        Cell::Text(format!("^{}", identity(inner).unwrap_or_default()))
                    } else {
                        self.flatten(value, &format!("{name}."), fields);
                        continue;
                    }
                }
                Data::List(items)
                    if items.iter().all(|item| !matches!(item.data, Data::List(_) | Data::Object(_))) =>
                {
                    let shown = if self.detail.level < 2 { items.len() } else { SHOWN_ITEMS };
                    let mut texts: Vec<String> =
                        items.iter().take(shown).map(|item| self.scalar(item)).collect();
                    if items.len() > shown {
                        texts.push(format!("… {} more", items.len() - shown));
                    }
                    Cell::Text(format!("[{}]", texts.join(", ")))
                }
                Data::List(items) if items.len() == 1 && matches!(items[0].data, Data::Object(_)) => {
                    self.flatten(&items[0], &format!("{name}[0]."), fields);
                    continue;
                }
                Data::List(items) => Cell::List(items, value.start),
                _ => Cell::Text(self.scalar(value)),
            };
            fields.push((value.start, Field { name, value: cell }));
        }
    }

    /// Whether a field is left out: it is empty, or the level of detail omits it.
    fn leaves_out(&mut self, name: &str, value: &Value) -> bool {
        let is_empty = match &value.data {
            Data::Null => true,
            Data::Text(text) => text.is_empty(),
            Data::List(items) => items.is_empty(),
            Data::Object(members) => members.is_empty(),
            Data::Bool(yes) => !yes && self.detail.level >= 1,
            Data::Number(_) => false,
        };
        let is_false = matches!(value.data, Data::Bool(false));
        if is_empty && !(is_false && self.rare.contains(name)) {
            self.emptied |= !is_false;
            self.without_false |= is_false;
            return true;
        }
        if self.rare.contains(name) {
            return false;
        }
        let leaf = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
        let level = self.detail.level;
        let omitted = match &value.data {
            Data::Text(text) => {
                let is_address = text.starts_with("http://") || text.starts_with("https://");
                level >= 1
                    && (is_address && is_about_address(&leaf)
                        || OPAQUE.iter().any(|word| leaf.contains(word)))
                    || level >= 3 && is_address
                    || level >= 3 && text.len() > SHORT_TEXT && !identifies(&leaf)
                    || level >= 4 && self.is_identified && !identifies(&leaf)
            }
            Data::Number(number) => {
                level >= 4 && self.is_identified && number.len() > 1 && !identifies(&leaf)
            }
            _ => false,
        };
        if omitted {
            self.left_out.insert(leaf);
        }
        omitted
    }

    /// A plain value on one line.
    fn scalar(&mut self, value: &Value) -> String {
        match &value.data {
            Data::Text(text) => {
                let shown: String = match text.char_indices().nth(self.detail.text as usize) {
                    Some((at, _)) => {
                        self.cut += 1;
                        format!("{}…(+{})", &text[..at], text[at..].chars().count())
                    }
                    None => text.to_string(),
                };
                shown.replace("\r\n", "\n").replace('\n', "\\n")
            }
            Data::Number(number) => (*number).to_owned(),
            Data::Bool(yes) => yes.to_string(),
            Data::Null => "null".to_owned(),
            Data::List(_) | Data::Object(_) => written(value),
        }
    }

    /// Lists what the rendering leaves out.
    fn note(&self) -> String {
        let mut parts = Vec::new();
        match (self.emptied, self.without_false) {
            (true, true) => parts.push("empty and false fields left out".to_owned()),
            (true, false) => parts.push("empty fields left out".to_owned()),
            (false, true) => parts.push("false fields left out".to_owned()),
            (false, false) => {}
        }
        if self.repeats {
            parts.push("^ is an object shown before".to_owned());
        }
        if !self.left_out.is_empty() {
            let mut names: Vec<&str> = self.left_out.iter().take(NAMED).map(String::as_str).collect();
            let more = format!("{} more", self.left_out.len().saturating_sub(NAMED));
            if self.left_out.len() > NAMED {
                names.push(&more);
            }
            parts.push(format!("without {}", names.join(", ")));
        }
        if self.cut > 0 {
            parts.push(format!(
                "{} cut at {} characters",
                crate::text::count::count("text", self.cut as u64),
                self.detail.text
            ));
        }
        parts.join("; ")
    }
}

/// Whether a field has the same text in all rows.
fn is_shared(name: &str, rows: &[Vec<Field>]) -> bool {
    let text = |row: &Vec<Field>| {
        row.iter().find(|field| field.name == name).and_then(|field| match &field.value {
            Cell::Text(text) => Some(text.clone()),
            Cell::List(..) => None,
        })
    };
    let first = text(&rows[0]);
    first.is_some() && rows.iter().all(|row| text(row) == first)
}

/// Names of fields that few of many records have, or that are `false` in few.
fn rare_fields(records: &[Value]) -> BTreeSet<String> {
    // Number of records with each field, and number in which it is `false`.
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for record in records {
        if let Data::Object(members) = &record.data {
            for (key, value) in members {
                let (has, is_false) = counts.entry(key).or_default();
                *has += usize::from(!matches!(value.data, Data::Null));
                *is_false += usize::from(matches!(value.data, Data::Bool(false)));
            }
        }
    }
    let is_rare = |(has, is_false): (usize, usize)| {
        records.len() >= MANY_RECORDS
            && (has * RARE_FIELD <= records.len() || is_false > 0 && is_false * RARE_FIELD <= records.len())
    };
    counts.into_iter().filter(|(_, count)| is_rare(*count)).map(|(name, _)| name.to_owned()).collect()
}

/// Number of fields that identify a record: its own, and those of objects in it.
fn identifying(record: &Value, depth: usize) -> usize {
    let Data::Object(members) = &record.data else { return 0 };
    let mut found = 0;
    for (key, value) in members {
        found += match &value.data {
            Data::Text(_) | Data::Number(_) => usize::from(identifies(&key.to_ascii_lowercase())),
            Data::Object(_) if depth > 1 => identifying(value, depth - 1),
            _ => 0,
        };
    }
    found
}

/// Names of fields whose texts mean nothing to a reader, such as ids of nodes and signatures.
const OPAQUE: &[&str] = &["node_id", "gravatar_id", "signature", "payload"];

/// Whether a field is an address that another field implies.
fn is_about_address(leaf: &str) -> bool {
    leaf.ends_with("url")
        || leaf.ends_with("urls")
        || leaf.ends_with("href")
        || leaf.contains("avatar")
        || leaf.contains("_links")
}

/// Whether a field distinguishes records, or is their subject.
fn identifies(leaf: &str) -> bool {
    const NAMES: &[&str] = &[
        "id",
        "sha",
        "number",
        "name",
        "title",
        "path",
        "file",
        "filename",
        "type",
        "object",
        "state",
        "status",
        "key",
        "slug",
        "login",
        "uuid",
        "text",
        "content",
        "message",
        "label",
        "level",
        "msg",
        "ts",
        "ref",
        "email",
        "date",
        "count",
        "line",
        "body",
        "table",
        "column",
        "version",
        "branch",
        "author",
        "user",
        "code",
        "error",
        "reason",
        "description",
    ];
    let leaf = leaf.trim_end_matches(|c: char| c == ']' || c == '[' || c.is_ascii_digit());
    let last = leaf.rsplit(['_', '-']).next().unwrap_or(leaf);
    let is =
        |word: &str| NAMES.contains(&word) || word.strip_suffix('s').is_some_and(|one| NAMES.contains(&one));
    is(leaf) || is(last) || leaf.ends_with("id") || leaf.ends_with("name")
}

/// Text of a value, used to recognise repetitions.
fn written(value: &Value) -> String {
    let mut text = String::new();
    write_value(value, &mut text);
    text
}

fn write_value(value: &Value, text: &mut String) {
    match &value.data {
        Data::Null => text.push_str("null"),
        Data::Bool(yes) => text.push_str(if *yes { "true" } else { "false" }),
        Data::Number(number) => text.push_str(number),
        Data::Text(inner) => {
            let _ = write!(text, "{inner:?}");
        }
        Data::List(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                text.push_str(if at > 0 { ", " } else { "" });
                write_value(item, text);
            }
            text.push(']');
        }
        Data::Object(members) => {
            text.push('{');
            for (at, (key, item)) in members.iter().enumerate() {
                text.push_str(if at > 0 { ", " } else { "" });
                let _ = write!(text, "{key}: ");
                write_value(item, text);
            }
            text.push('}');
        }
    }
}

/// Returns the text that identifies an object: its login, id, name or the like.
fn identity<'v>(members: &'v [(std::borrow::Cow<str>, Value)]) -> Option<&'v str> {
    let names = ["login", "id", "name", "title", "sha", "type"];
    names.iter().find_map(|name| {
        members.iter().find(|(key, _)| key == name).and_then(|(_, value)| match &value.data {
            Data::Text(text) if !text.is_empty() => Some(text.as_ref()),
            Data::Number(number) => Some(*number),
            _ => None,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, level: u8, cut: u32, expected: &str, note: &str) {
        let compact = render(text.as_bytes(), Detail { level, text: cut }).unwrap();
        assert_eq!(String::from_utf8_lossy(&compact.text()), expected);
        assert_eq!(compact.note, note);
    }

    #[test]
    fn records_stand_below_the_names_of_their_fields() {
        let text = r#"{"object": "list", "results": [
            {"object": "block", "id": "a1", "type": "heading", "archived": null, "by": {"id": "u1", "name": "Ann", "mail": "ann@example.org", "role": "owner"}},
            {"object": "block", "id": "b2", "type": "text", "parts": [], "by": {"id": "u1", "name": "Ann", "mail": "ann@example.org", "role": "owner"}},
            {"object": "block", "id": "c3", "type": "text", "extra": 7}], "more": false}"#;
        check(
            text,
            0,
            u32::MAX,
            "object: list\nresults:\n 3 rows (all: object=block): id | type\n a1 | heading | by.id=u1 | by.name=Ann | by.mail=ann@example.org | by.role=owner\n b2 | text | by=^u1\n c3 | text | extra=7\nmore: false\n",
            "empty fields left out; ^ is an object shown before",
        );
    }

    #[test]
    fn what_few_records_have_is_kept_where_room_is_short_and_equal_records_are_counted() {
        let record = |n: u64| format!(r#"{{"id": {n}, "weight": 412, "name": "n"}}, "#);
        let text: String = (0..60).map(record).collect();
        let text = format!(r#"[{text}{{"id": 60, "weight": 412, "name": "n", "warning_sum": 77}}]"#);
        let compact = render(text.as_bytes(), Detail { level: 4, text: 60 }).unwrap();
        let shown = String::from_utf8(compact.text()).unwrap();
        assert!(shown.starts_with("61 rows (all: name=n): id\n0\n1\n"), "{shown}");
        assert!(shown.ends_with("\n59\n60 | warning_sum=77\n"), "{shown}");
        assert_eq!(compact.note, "without weight");
        check(
            &format!("[{}]", [r#"{"n": 1, "ok": 2}"#; 3].join(",")),
            4,
            60,
            "3 rows (all: n=1, ok=2): \n [×3]\n",
            "",
        );
    }

    #[test]
    fn with_less_room_texts_are_cut_and_the_note_names_what_is_left_out() {
        let text = r#"[{"id": 1, "avatar_url": "https://example.org/1", "body": "one two three"}, {"id": 2, "avatar_url": "https://example.org/2", "body": "four\nfive"}]"#;
        check(
            text,
            1,
            7,
            "2 rows: id | body\n1 | one two…(+6)\n2 | four\\nfi…(+2)\n",
            "without avatar_url; 2 texts cut at 7 characters",
        );
    }

    #[test]
    fn a_record_after_a_gap_says_where_it_stands() {
        let text = r#"{"items": [{"id": 1}, {"id": 2}, {"id": 3}]}"#;
        let compact = render(text.as_bytes(), Detail { level: 0, text: 100 }).unwrap();
        let last = compact.rows.last().unwrap().start;
        let printed = compact.print(last..last + 9, &mut crate::compact::Place::default());
        assert_eq!(String::from_utf8_lossy(&printed), " items[2] 3\n");
    }
}
