//! Standard output by itself: what a command prints as its result, without what it says beside it on standard error.
//!
//! `curl -v` prints a page or JSON on one stream and tells about the connection on the other, between the parts of the
//! body. Together they are neither, so the body is judged and queried by itself.

use crate::classify::form::{self, Form};
use crate::size::Measure;
use crate::text::derived::Derived;
use crate::{Output, Result};
use std::ops::Range;

/// Largest output whose streams are taken apart, in bytes. Standard output is held in memory.
const LARGEST: u64 = 16 * 1024 * 1024;

/// Standard output of an output that also has standard error.
pub(crate) struct Stdout {
    /// Its bytes, with their places in the output.
    pub(crate) text: Derived,
    /// Its bytes, read the way an output is. The record has its own kind, and the size of both streams.
    pub(crate) output: Output,
    /// Form of its bytes.
    pub(crate) form: Form,
}

impl Stdout {
    /// Standard output, if it alone is JSON or a page, and standard error has bytes too.
    pub(crate) fn of(output: &Output) -> Result<Option<Stdout>> {
        if output.len() > LARGEST || output.is_growing() || !output.lost().is_empty() {
            return Ok(None);
        }
        let Some(text) = output.stdout()? else { return Ok(None) };
        let first = text.text.trim_ascii_start().first();
        if !matches!(first, Some(b'{' | b'[' | b'<')) {
            return Ok(None);
        }
        let mut measure = Measure::default();
        measure.update(&text.text);
        let output = output.derived(&text)?.of_kind(measure.finish().kind).ended_by(output.stop());
        let form = form::form(&output)?;
        Ok(matches!(form, Form::Json | Form::Html).then_some(Stdout { text, output, form }))
    }

    /// Ranges of the output that contain a range of standard output, in order.
    pub(crate) fn origins(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        self.text.origins(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of_streams;

    #[test]
    fn standard_output_is_judged_by_itself_if_it_is_json_or_a_page() {
        let json = r#"{"a": [1, 2],"#;
        let table: &[(&[&str], Option<Form>)] = &[
            // Parts of standard error and of standard output in turn.
            (
                &[
                    "* Connected\n< HTTP/1.1 200 OK\n",
                    json,
                    "{ [20 bytes data]\n",
                    r#""b": 3}"#,
                    "* left intact\n",
                ],
                Some(Form::Json),
            ),
            (
                &["* Connected\n", "<html><body><p>One.</p>", "* more\n", "<p>Two.</p></body></html>"],
                Some(Form::Html),
            ),
            (&["* Connected\n", "plain words\n"], None),
            (&["* Connected\n", "{ not json\n"], None),
            (&["", r#"{"a": 1}"#], None),
        ];
        for (parts, form) in table {
            let stdout = Stdout::of(&output_of_streams(parts)).unwrap();
            assert_eq!(stdout.map(|stdout| stdout.form), *form, "{parts:?}");
        }
    }

    #[test]
    fn ranges_of_standard_output_lead_to_their_places() {
        let output = output_of_streams(&["err1\n", r#"{"a": [1,"#, "err2\n", r#" 2]}"#]);
        let stdout = Stdout::of(&output).unwrap().unwrap();
        let text = |range: &Range<u64>| -> Vec<String> {
            stdout
                .origins(range)
                .into_iter()
                .map(|it| String::from_utf8(output.read(it).unwrap()).unwrap())
                .collect()
        };
        assert_eq!(text(&(0..13)), [r#"{"a": [1,"#, " 2]}"]);
        assert_eq!(text(&(6..11)), ["[1,", " 2"]);
        assert_eq!(text(&(0..2)), [r#"{""#]);
        assert_eq!(text(&(9..13)), [" 2]}"]);
    }
}
