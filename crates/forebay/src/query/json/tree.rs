//! What stands directly inside a value, with its place in the output: how a person walks through a document of any size.

use crate::classify::json::locate::found;
use crate::classify::json::scan::{Broken, Documents, Members};
use crate::{Output, Result};
use serde::Serialize;
use std::ops::Range;

/// A value inside another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Node {
    /// Its key as it is written, between its quotes; `None` in an array, and of a document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Where it begins in the output.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
    /// The beginning of it, as it is written.
    pub text: String,
}

/// What stands inside a value, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Nodes {
    /// The values.
    pub nodes: Vec<Node>,
    /// The byte to go on from; `None` after the last.
    pub next: Option<u64>,
    /// Why there are no more, if that is not how it should end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}

/// So much of a value is told.
const TOLD: u64 = 240;

/// The documents of an output, or what stands inside the array or object at `within`: at most `max` values, from the byte
/// `from` on, where an earlier answer ended.
pub fn nodes(output: &Output, within: Option<Range<u64>>, from: Option<u64>, max: usize) -> Result<Nodes> {
    let Some(within) = within else {
        let all = found(output)?.unwrap_or(0..output.len());
        let mut documents = Documents::of(output, from.unwrap_or(all.start)..all.end)?;
        return gathered(output, max, || {
            let document = documents.next()?;
            Ok(document.map(|range| range.map(|range| (None, range))))
        });
    };
    let within = within.start.min(output.len())..within.end.min(output.len());
    let members = match from {
        Some(from) => Members::after(output, within, from)?,
        None => Members::of(output, within)?,
    };
    let Some(mut members) = members else { return Ok(Nodes::default()) };
    gathered(output, max, || {
        Ok(members.next()?.map(|member| member.map(|member| (member.key, member.value))))
    })
}

/// A value that comes next, with its key; none after the last, or why there can be none.
type Next = std::result::Result<Option<(Option<Vec<u8>>, Range<u64>)>, Broken>;

fn gathered(output: &Output, max: usize, mut next: impl FnMut() -> Result<Next>) -> Result<Nodes> {
    let mut found = Nodes::default();
    while found.nodes.len() < max {
        match next()? {
            Ok(Some((key, value))) => {
                let told = output.read(value.start..value.end.min(value.start + TOLD))?;
                found.nodes.push(Node {
                    key: key.map(|key| String::from_utf8_lossy(&key).into_owned()),
                    start: value.start,
                    end: value.end,
                    text: String::from_utf8_lossy(&told).into_owned(),
                });
            }
            Ok(None) => return Ok(found),
            Err(broken) => {
                found.broken = Some(match broken {
                    Broken::Ended { began } => {
                        format!("the output ends inside the value that began at byte {began}")
                    }
                    Broken::Wrong { at, expected } => format!("byte {at} is not {expected}"),
                });
                return Ok(found);
            }
        }
    }
    found.next = found.nodes.last().map(|node| node.end);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;

    fn told(nodes: &Nodes) -> Vec<String> {
        let told = |node: &Node| {
            format!("{}{}", node.key.as_deref().map_or(String::new(), |key| format!("{key}=")), node.text)
        };
        nodes.nodes.iter().map(told).chain(nodes.broken.clone()).collect()
    }

    #[test]
    fn a_document_is_walked_through_level_by_level_and_part_by_part() {
        let output = output_of(br#"{"a": [1, "two", {"x": null}], "b\"c": true}"#);
        let root = nodes(&output, None, None, 10).unwrap();
        assert_eq!(root.nodes.len(), 1);
        let root = &root.nodes[0];
        let inside = nodes(&output, Some(root.start..root.end), None, 10).unwrap();
        assert_eq!(told(&inside), [r#"a=[1, "two", {"x": null}]"#, r#"b\"c=true"#]);
        let list = &inside.nodes[0];
        let first = nodes(&output, Some(list.start..list.end), None, 2).unwrap();
        assert_eq!(told(&first), ["1", "\"two\""]);
        let rest = nodes(&output, Some(list.start..list.end), first.next, 2).unwrap();
        assert_eq!((told(&rest), rest.next), (vec![r#"{"x": null}"#.to_owned()], None));
        let inside_a_number = nodes(&output, Some(7..8), None, 2).unwrap();
        assert_eq!(inside_a_number, Nodes::default());
    }

    #[test]
    fn documents_on_lines_are_told_one_after_the_other() {
        let output = output_of(b"{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
        let first = nodes(&output, None, None, 2).unwrap();
        assert_eq!(told(&first), ["{\"a\":1}", "{\"a\":2}"]);
        assert_eq!(told(&nodes(&output, None, first.next, 2).unwrap()), ["{\"a\":3}"]);
    }

    #[test]
    fn what_is_no_json_ends_with_the_reason() {
        let output = output_of(b"{\"a\": [1, 2");
        let found = nodes(&output, Some(0..11), None, 9).unwrap();
        assert_eq!(told(&found), ["the output ends inside the value that began at byte 0"]);
    }
}
