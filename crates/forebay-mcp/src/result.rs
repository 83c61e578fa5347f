//! The parts of a `tools/call` result: its fields, and its blocks of content.

use crate::message::Message;
use crate::scan::{Field, Scanner};
use std::io;
use std::ops::Range;

/// Offsets of the parts of a result.
#[derive(Debug, Default)]
pub(crate) struct CallResult {
    pub(crate) fields: Vec<Field>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) structured: Option<Range<u64>>,
}

/// One block of content.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) range: Range<u64>,
    pub(crate) kind: BlockKind,
}

/// Content of a block. Ranges of strings include their quotes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Text {
        text: Range<u64>,
    },
    /// A resource with its text in it.
    ResourceText {
        text: Range<u64>,
        uri: Option<Range<u64>>,
        media_type: Option<Range<u64>>,
    },
    /// A resource with its bytes in it, in base64.
    ResourceBlob {
        blob: Range<u64>,
        uri: Option<Range<u64>>,
        media_type: Option<Range<u64>>,
    },
    Audio {
        data: Range<u64>,
        media_type: Option<Range<u64>>,
    },
    /// An image, a link, or something that we do not know: passed on as it is.
    Other,
}

impl CallResult {
    /// Parts of the result in `range` of a message.
    pub(crate) fn of(message: &Message, range: Range<u64>) -> io::Result<CallResult> {
        let mut result = CallResult::default();
        let mut scanner = Scanner::new(message.reader(range.clone()), range.start);
        scanner.fields(|scanner, name| {
            let start = scanner.named_at();
            let value = match name {
                "content" => scanner.items(|scanner| {
                    let block = block(message, scanner)?;
                    result.blocks.push(block);
                    Ok(())
                })?,
                _ => scanner.value()?,
            };
            if name == "structuredContent" {
                result.structured = Some(value.clone());
            }
            result.fields.push(Field { name: name.to_owned(), start, value });
            Ok(())
        })?;
        Ok(result)
    }
}

fn block<R: io::BufRead>(message: &Message, scanner: &mut Scanner<R>) -> io::Result<Block> {
    let (mut kind, mut text, mut data, mut media_type) = (None, None, None, None);
    let mut resource = (None, None, None, None);
    let range = scanner.fields(|scanner, name| {
        if name == "resource" {
            scanner.fields(|scanner, name| {
                let value = Some(scanner.value()?);
                match name {
                    "text" => resource.0 = value,
                    "blob" => resource.1 = value,
                    "uri" => resource.2 = value,
                    "mimeType" => resource.3 = value,
                    _ => {}
                }
                Ok(())
            })?;
            return Ok(());
        }
        let value = scanner.value()?;
        match name {
            "type" => kind = Some(value),
            "text" => text = Some(value),
            "data" => data = Some(value),
            "mimeType" => media_type = Some(value),
            _ => {}
        }
        Ok(())
    })?;
    let kind = kind.filter(|range| range.end - range.start < 40).and_then(|range| message.string(range));
    let string = |range: Option<Range<u64>>| -> Option<Range<u64>> {
        range.filter(|range| message.read(range.start..range.start + 1).is_ok_and(|first| first == b"\""))
    };
    let (resource_text, blob, uri, resource_type) = resource;
    let kind = match kind.as_deref() {
        Some("text") => string(text).map(|text| BlockKind::Text { text }),
        Some("audio") => string(data).map(|data| BlockKind::Audio { data, media_type }),
        Some("resource") => match (string(resource_text), string(blob)) {
            (Some(text), _) => Some(BlockKind::ResourceText { text, uri, media_type: resource_type }),
            (None, Some(blob)) => Some(BlockKind::ResourceBlob { blob, uri, media_type: resource_type }),
            (None, None) => None,
        },
        _ => None,
    };
    Ok(Block { range, kind: kind.unwrap_or(BlockKind::Other) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_block_is_told() {
        let text = r#"{"content":[{"type":"text","text":"a\"b"},{"text":"first","type":"text","annotations":{"text":1}},
            {"type":"image","data":"QUI=","mimeType":"image/png"},{"type":"audio","data":"QUI="},
            {"type":"resource","resource":{"uri":"file:///a","text":"t","mimeType":"text/x"}},
            {"type":"resource","resource":{"uri":"file:///b","blob":"QUI="}},
            {"type":"resource_link","uri":"x"},{"type":"text","text":7},{"type":"new"},5],
            "isError":true,"structuredContent":{"a":1},"_meta":{"x":1}}"#;
        let message = Message::from(text.to_owned());
        let result = CallResult::of(&message, message.all()).unwrap();
        let kinds: Vec<String> = result
            .blocks
            .iter()
            .map(|block| match &block.kind {
                BlockKind::Text { text } => format!("text {}", message.text(text.clone()).unwrap()),
                BlockKind::ResourceText { text, .. } => {
                    format!("resource {}", message.text(text.clone()).unwrap())
                }
                BlockKind::ResourceBlob { blob, .. } => {
                    format!("blob {}", message.text(blob.clone()).unwrap())
                }
                BlockKind::Audio { data, .. } => format!("audio {}", message.text(data.clone()).unwrap()),
                BlockKind::Other => "other".to_owned(),
            })
            .collect();
        assert_eq!(
            kinds,
            [
                r#"text "a\"b""#,
                r#"text "first""#,
                "other",
                r#"audio "QUI=""#,
                r#"resource "t""#,
                r#"blob "QUI=""#,
                "other",
                "other",
                "other",
                "other"
            ]
        );
        let names: Vec<&str> = result.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["content", "isError", "structuredContent", "_meta"]);
        assert_eq!(message.text(result.structured.unwrap()).unwrap(), r#"{"a":1}"#);
    }
}
