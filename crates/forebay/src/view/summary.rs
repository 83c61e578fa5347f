//! Summary of bytes that a view does not show: data from which the printer writes a marker.

use serde::{Deserialize, Serialize};

/// Summary of bytes that are not shown. [`View::print`](crate::View::print) writes it as one marker:
/// `[… 40 lines of a diff omitted, with 2 files; text: CALL`, then the lines of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored")]
#[non_exhaustive]
pub struct Summary {
    /// How the marker says that bytes are missing.
    pub omitted: Omitted,
    /// Kind of what is missing: `a diff`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Contents of what is missing: `2 files`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contents: Option<String>,
    /// Facts about the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Further facts, one a line, printed after the call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub list: Vec<String>,
}

/// How a marker with a summary says that bytes are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Omitted {
    /// Not at all: the text of the summary says it.
    #[default]
    Unsaid,
    /// `… omitted`
    Uncounted,
    /// `… 9 lines omitted`
    Lines,
    /// `9 lines, 90 bytes not shown`
    Size,
}

impl Summary {
    /// Summary whose text says everything; lines after the first are its list.
    pub(crate) fn stated(text: &str) -> Summary {
        let mut lines = text.split('\n').map(str::to_owned);
        Summary { text: lines.next(), list: lines.collect(), ..Summary::default() }
    }

    /// Summary of lines that the marker counts.
    pub(crate) fn of_lines() -> Summary {
        Summary { omitted: Omitted::Lines, ..Summary::default() }
    }

    /// Summary of bytes that the marker does not count.
    pub(crate) fn uncounted() -> Summary {
        Summary { omitted: Omitted::Uncounted, ..Summary::default() }
    }

    /// The same summary, with the kind of what is missing.
    pub(crate) fn of_kind(self, kind: impl Into<String>) -> Summary {
        Summary { kind: Some(kind.into()), ..self }
    }

    /// The same summary, with the contents of what is missing.
    pub(crate) fn with(self, contents: impl Into<String>) -> Summary {
        Summary { contents: Some(contents.into()), ..self }
    }

    /// The same summary, with another text.
    pub(crate) fn saying(self, text: impl Into<String>) -> Summary {
        Summary { text: Some(text.into()), ..self }
    }

    /// The same summary, with another list.
    pub(crate) fn listing(self, list: Vec<String>) -> Summary {
        Summary { list, ..self }
    }
}

/// A summary as views store it. Earlier versions stored the text of the marker without its call.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Text(String),
    Summary {
        omitted: Omitted,
        kind: Option<String>,
        contents: Option<String>,
        text: Option<String>,
        #[serde(default)]
        list: Vec<String>,
    },
}

impl From<Stored> for Summary {
    fn from(stored: Stored) -> Summary {
        match stored {
            Stored::Text(text) => Summary::stated(&text),
            Stored::Summary { omitted, kind, contents, text, list } => {
                Summary { omitted, kind, contents, text, list }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;
    use crate::view::{Piece, View, Wording};

    fn stored_view(digest: &str) -> String {
        format!(
            r#"{{"total":24,"pieces":[{{"verbatim":{{"start":0,"end":4}}}},{{"digest":{digest}}}],"wording":"commands","opening":"[view]\n","closing":""}}"#
        )
    }

    #[test]
    fn a_stored_view_of_an_earlier_version_prints_as_it_did() {
        let output = output_of(b"one\ntwo\nthree\nfour\nfive\n");
        let table = [
            (
                r#"{"range":{"start":4,"end":24},"text":"… 4 lines omitted; in all\nUntracked files: 4 lines"}"#,
                "[view]\none\n[… 4 lines omitted; in all: forebay read s/id1234 --lines 2:5\nUntracked files: 4 lines]\n",
            ),
            (
                r#"{"range":{"start":4,"end":24},"text":"… omitted; 81 findings by code: D102 × 60"}"#,
                "[view]\none\n[… omitted; 81 findings by code: D102 × 60: forebay read s/id1234 --lines 2:5]\n",
            ),
        ];
        for (digest, expected) in table {
            let view: View = serde_json::from_str(&stored_view(digest)).unwrap();
            assert_eq!(String::from_utf8(view.print(&output).unwrap()).unwrap(), expected);
            assert_eq!(crate::verify(&view, &output).unwrap(), []);
        }
    }

    #[test]
    fn a_summary_is_stored_as_data_and_read_back() {
        let summary = Summary::of_lines().of_kind("a diff").with("2 files").saying("all but 1 of 10 hunks");
        let summary = summary.listing(vec!["1 x.py".to_owned()]);
        let piece = Piece::Digest { range: 4..24, summary };
        let stored = serde_json::to_string(&piece).unwrap();
        assert_eq!(
            stored,
            r#"{"digest":{"range":{"start":4,"end":24},"summary":{"omitted":"lines","kind":"a diff","contents":"2 files","text":"all but 1 of 10 hunks","list":["1 x.py"]}}}"#
        );
        assert_eq!(serde_json::from_str::<Piece>(&stored).unwrap(), piece);
        let output = output_of(b"one\ntwo\nthree\nfour\nfive\n");
        let view = View::new(24, vec![Piece::Verbatim(0..4), piece], Wording::Commands).unwrap();
        assert_eq!(
            String::from_utf8(view.print(&output).unwrap()).unwrap(),
            "one\n[… 4 lines of a diff omitted, with 2 files; all but 1 of 10 hunks: forebay read s/id1234 --lines 2:5\n1 x.py]\n"
        );
    }
}
