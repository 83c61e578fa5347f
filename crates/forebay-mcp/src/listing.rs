//! Lists of servers, with our additions, and without promises that we cannot keep.

use crate::message::{Message, Part};
use crate::scan::{Field, Scanner, fields_of};
use serde_json::Value;
use std::io;
use std::ops::Range;

/// A list in a result: its entries as they are written, and the other fields.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) fields: Vec<Field>,
    pub(crate) entries: Vec<Range<u64>>,
    /// Where the next page begins, if there is one.
    pub(crate) next: Option<String>,
}

impl Listing {
    /// The list under `key` of the result in `range`.
    pub(crate) fn of(message: &Message, range: Range<u64>, key: &str) -> io::Result<Listing> {
        let mut listing = Listing::default();
        Scanner::new(message.reader(range.clone()), range.start).fields(|scanner, name| {
            let start = scanner.named_at();
            let value = if name == key {
                scanner.items(|scanner| {
                    listing.entries.push(scanner.value()?);
                    Ok(())
                })?
            } else {
                scanner.value()?
            };
            if name == "nextCursor" {
                listing.next = message.string(value.clone());
            }
            listing.fields.push(Field { name: name.to_owned(), start, value });
            Ok(())
        })?;
        Ok(listing)
    }

    /// The whole message with other entries in the list.
    pub(crate) fn with(&self, message: &Message, at: Range<u64>, key: &str, entries: &[String]) -> Vec<Part> {
        let list = format!("[{}]", entries.join(","));
        let mut parts = vec![Part::Old(0..at.start), Part::text("{")];
        for (number, field) in self.fields.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            parts.extend([Part::text(comma), Part::Old(field.label())]);
            parts.push(if field.name == key {
                Part::text(list.as_str())
            } else {
                Part::Old(field.value.clone())
            });
        }
        if !self.fields.iter().any(|field| field.name == key) {
            let comma = if self.fields.is_empty() { "" } else { "," };
            parts.push(Part::text(format!("{comma}\"{key}\":{list}")));
        }
        parts.extend([Part::text("}"), Part::Old(at.end..message.len())]);
        parts
    }
}

/// An entry of a list: what it is called, and how it is written.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Tools of a server as listed to the client: renamed by `rename`, and without an `outputSchema` unless `whole` says
/// that their results are never changed. A client with the schema refuses a result without structured content.
pub(crate) fn tools(
    message: &Message,
    listing: &Listing,
    rename: impl Fn(&str) -> Option<String>,
    whole: impl Fn(&str) -> bool,
) -> io::Result<Vec<Entry>> {
    let tool = |range: &Range<u64>| {
        let fields = fields_of(message.reader(range.clone()), range.start)?;
        let named = fields.iter().find(|field| field.name == "name");
        let name = named.and_then(|field| message.string(field.value.clone())).unwrap_or_default();
        let other = rename(&name);
        let drops = fields.iter().any(|field| field.name == "outputSchema") && !whole(&name);
        if !drops && other.is_none() {
            return Ok(Entry { name, text: message.text(range.clone())? });
        }
        let mut written = Vec::new();
        for field in fields.iter().filter(|field| !(drops && field.name == "outputSchema")) {
            let value = match (&other, field.name.as_str()) {
                (Some(other), "name") => Value::from(other.as_str()).to_string(),
                _ => message.text(field.value.clone())?,
            };
            written.push(message.text(field.label())? + &value);
        }
        Ok(Entry { name, text: format!("{{{}}}", written.join(",")) })
    };
    listing.entries.iter().map(tool).collect()
}

/// The answer to `initialize` or `server/discover`, in which the server can do what we add: tools, whose list `changes`
/// or not, and resources.
pub(crate) fn with_capabilities(
    message: &Message,
    result: Range<u64>,
    changes: bool,
) -> io::Result<Vec<Part>> {
    let mut parts = vec![Part::Old(0..result.start)];
    let Some(at) = message.find(result.clone(), &["capabilities"]) else {
        parts.push(Part::Old(result.start..message.len()));
        return Ok(parts);
    };
    let fields = fields_of(message.reader(at.clone()), at.start)?;
    let changing = if changes { r#"{"listChanged":true}"# } else { "{}" };
    let missing: Vec<String> = [("tools", changing), ("resources", "{}")]
        .into_iter()
        .filter(|(name, _)| !fields.iter().any(|field| field.name == *name))
        .map(|(name, can)| format!("\"{name}\":{can}"))
        .collect();
    let comma = if fields.is_empty() || missing.is_empty() { "" } else { "," };
    let end = at.end - 1;
    let tools = fields.iter().find(|field| field.name == "tools" && changes).map(|field| field.value.clone());
    match tools.filter(|tools| message.find(tools.clone(), &["listChanged"]).is_none()) {
        Some(tools) => {
            let more =
                if fields_of(message.reader(tools.clone()), tools.start)?.is_empty() { "" } else { "," };
            parts.push(Part::Old(result.start..tools.end - 1));
            parts.push(Part::text(format!("{more}\"listChanged\":true")));
            parts.push(Part::Old(tools.end - 1..end));
        }
        None => parts.push(Part::Old(result.start..end)),
    }
    parts.extend([Part::text(format!("{comma}{}", missing.join(","))), Part::Old(end..message.len())]);
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Spool;

    fn spool() -> Spool {
        Spool::new(std::env::temp_dir(), u64::MAX)
    }

    fn composed(message: &Message, parts: &[Part]) -> String {
        let message = message.composed(parts, &spool()).unwrap();
        message.text(message.all()).unwrap()
    }

    #[test]
    fn a_tool_stays_as_it_is_written_but_for_what_we_cannot_keep() {
        let text = r#"{"id":1,"result":{"ttlMs":5, "tools":[ {"name":"a","inputSchema":{"max":1e2}},{"name":"b","outputSchema":{"x":1},"new":[1 ]} ]}}"#;
        let message = Message::from(text.to_owned());
        let result = message.find(message.all(), &["result"]).unwrap();
        let listing = Listing::of(&message, result.clone(), "tools").unwrap();
        let entries = tools(&message, &listing, |_| None, |_| false).unwrap();
        let texts: Vec<String> = entries.into_iter().map(|entry| entry.text).collect();
        assert_eq!(texts, [r#"{"name":"a","inputSchema":{"max":1e2}}"#, r#"{"name":"b","new":[1 ]}"#]);
        assert_eq!(
            composed(&message, &listing.with(&message, result, "tools", &texts)),
            r#"{"id":1,"result":{"ttlMs":5,"tools":[{"name":"a","inputSchema":{"max":1e2}},{"name":"b","new":[1 ]}]}}"#
        );
        let renamed = tools(&message, &listing, |name| Some(format!("s__{name}")), |_| true).unwrap();
        assert_eq!(renamed[0].text, r#"{"name":"s__a","inputSchema":{"max":1e2}}"#);
        assert_eq!(renamed[1].text, r#"{"name":"s__b","outputSchema":{"x":1},"new":[1 ]}"#);
    }

    #[test]
    fn capabilities_are_added_and_none_is_lost() {
        let table = [
            (r#"{"capabilities":{}}"#, r#"{"capabilities":{"tools":{},"resources":{}}}"#),
            (
                r#"{"capabilities":{"tools":{"listChanged":true} },"x":1}"#,
                r#"{"capabilities":{"tools":{"listChanged":true} ,"resources":{}},"x":1}"#,
            ),
            (
                r#"{"capabilities":{"resources":{},"tools":{}}}"#,
                r#"{"capabilities":{"resources":{},"tools":{}}}"#,
            ),
            (r#"{"x":1}"#, r#"{"x":1}"#),
        ];
        for (before, after) in table {
            let message = Message::from(before.to_owned());
            assert_eq!(
                composed(&message, &with_capabilities(&message, message.all(), false).unwrap()),
                after
            );
        }
        let changing = [
            (r#"{"capabilities":{}}"#, r#"{"capabilities":{"tools":{"listChanged":true},"resources":{}}}"#),
            (
                r#"{"capabilities":{"tools":{ },"resources":{}},"x":1}"#,
                r#"{"capabilities":{"tools":{ "listChanged":true},"resources":{}},"x":1}"#,
            ),
            (
                r#"{"capabilities":{"tools":{"y":1}}}"#,
                r#"{"capabilities":{"tools":{"y":1,"listChanged":true},"resources":{}}}"#,
            ),
            (
                r#"{"capabilities":{"tools":{"listChanged":true},"resources":{}}}"#,
                r#"{"capabilities":{"tools":{"listChanged":true},"resources":{}}}"#,
            ),
        ];
        for (before, after) in changing {
            let message = Message::from(before.to_owned());
            assert_eq!(composed(&message, &with_capabilities(&message, message.all(), true).unwrap()), after);
        }
    }
}
