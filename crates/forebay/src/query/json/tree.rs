//! The values directly inside a value, with their places in the output: a person walks through a document of any size
//! with them.

use crate::classify::json::locate::found;
use crate::classify::json::scan::{Broken, Documents, Member, Members, Next};
use crate::{Output, Result};
use serde::Serialize;
use std::ops::Range;

/// A value inside another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Node {
    /// Its key as it is written between its quotes; `None` in an array, and for a document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// First byte in the output.
    pub start: u64,
    /// Byte after its last one.
    pub end: u64,
    /// Its first bytes, as they are written.
    pub text: String,
}

/// The values directly inside a value, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Nodes {
    /// The values.
    pub nodes: Vec<Node>,
    /// Byte from which to continue; `None` after the last value.
    pub next: Option<u64>,
    /// Why no more values can be read, if the JSON is broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}

/// Maximum bytes of the text of a [`Node`]: about two lines of a wide terminal.
const SHOWN_BYTES: u64 = 240;

/// The documents of an output, or the values inside the array or object at `within`: at most `max` values, from the byte
/// `from` on, where an earlier answer ended.
pub fn nodes(output: &Output, within: Option<Range<u64>>, from: Option<u64>, max: usize) -> Result<Nodes> {
    let Some(within) = within else {
        let all = found(output)?.unwrap_or(0..output.len());
        let mut documents = Documents::of(output, from.unwrap_or(all.start)..all.end)?;
        return gathered(output, max, || {
            let document = documents.next()?;
            Ok(document.map(|value| Member { start: value.start, key: None, value }))
        });
    };
    let within = within.start.min(output.len())..within.end.min(output.len());
    let members = match from {
        Some(from) => Members::after(output, within, from)?,
        None => Members::of(output, within)?,
    };
    let Some(mut members) = members else { return Ok(Nodes::default()) };
    gathered(output, max, || members.next())
}

fn gathered(output: &Output, max: usize, mut next: impl FnMut() -> Result<Next<Member>>) -> Result<Nodes> {
    let mut nodes = Nodes::default();
    while nodes.nodes.len() < max {
        match next()? {
            Next::Value(Member { key, value, .. }) => {
                let text = output.read(value.start..value.end.min(value.start + SHOWN_BYTES))?;
                nodes.nodes.push(Node {
                    key: key.map(|key| String::from_utf8_lossy(&key).into_owned()),
                    start: value.start,
                    end: value.end,
                    text: String::from_utf8_lossy(&text).into_owned(),
                });
            }
            Next::End => return Ok(nodes),
            Next::Broken(broken) => {
                nodes.broken = Some(match broken {
                    Broken::Ended { began } => {
                        format!("the output ends inside the value that began at byte {began}")
                    }
                    Broken::Wrong { at, expected } => format!("byte {at} is not {expected}"),
                });
                return Ok(nodes);
            }
        }
    }
    nodes.next = nodes.nodes.last().map(|node| node.end);
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;

    fn printed(nodes: &Nodes) -> Vec<String> {
        let line = |node: &Node| {
            format!("{}{}", node.key.as_deref().map_or(String::new(), |key| format!("{key}=")), node.text)
        };
        nodes.nodes.iter().map(line).chain(nodes.broken.clone()).collect()
    }

    #[test]
    fn a_document_is_walked_level_by_level_and_part_by_part() {
        let output = output_of(br#"{"a": [1, "two", {"x": null}], "b\"c": true}"#);
        let root = nodes(&output, None, None, 10).unwrap();
        assert_eq!(root.nodes.len(), 1);
        let root = &root.nodes[0];
        let inside = nodes(&output, Some(root.start..root.end), None, 10).unwrap();
        assert_eq!(printed(&inside), [r#"a=[1, "two", {"x": null}]"#, r#"b\"c=true"#]);
        let list = &inside.nodes[0];
        let first = nodes(&output, Some(list.start..list.end), None, 2).unwrap();
        assert_eq!(printed(&first), ["1", "\"two\""]);
        let rest = nodes(&output, Some(list.start..list.end), first.next, 2).unwrap();
        assert_eq!((printed(&rest), rest.next), (vec![r#"{"x": null}"#.to_owned()], None));
        let inside_a_number = nodes(&output, Some(7..8), None, 2).unwrap();
        assert_eq!(inside_a_number, Nodes::default());
    }

    #[test]
    fn documents_on_lines_are_nodes_one_after_the_other() {
        let output = output_of(b"{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
        let first = nodes(&output, None, None, 2).unwrap();
        assert_eq!(printed(&first), ["{\"a\":1}", "{\"a\":2}"]);
        assert_eq!(printed(&nodes(&output, None, first.next, 2).unwrap()), ["{\"a\":3}"]);
    }

    #[test]
    fn broken_json_ends_with_the_reason() {
        let output = output_of(b"{\"a\": [1, 2");
        let nodes = nodes(&output, Some(0..11), None, 9).unwrap();
        assert_eq!(printed(&nodes), ["the output ends inside the value that began at byte 0"]);
    }
}
