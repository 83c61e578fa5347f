//! The documents of JSON lines as one document: an array of all, as `jq -s` makes it.

use crate::classify::json::records::Level;
use crate::classify::json::records::records;
use crate::{Kind, Output, Result};

/// The documents of an output as the items of one array, held in memory. Any other output stays as it is.
pub(crate) fn together(output: &Output) -> Result<Output> {
    if output.record().kind != Kind::JsonLines {
        return Ok(output.clone());
    }
    let level = Level { worth: u64::MAX, most: u64::MAX };
    let found = records(output, level)?.unwrap_or_default();
    let mut text = b"[".to_vec();
    for record in &found.records {
        // Small documents are one record with the ends of lines between them.
        let lines = output.read(record.range.clone())?;
        for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            if text.len() > 1 {
                text.push(b',');
            }
            text.extend_from_slice(line.trim_ascii());
        }
    }
    text.push(b']');
    let mut record = output.record().clone();
    record.kind = Kind::Json;
    Ok(Output::new(record, Box::new(text), Box::new(Vec::new()), None)?.ended_by(output.stop()))
}
