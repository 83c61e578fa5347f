//! Instructions in plain words, answered over a whole output: the tool `tool_output`.
//!
//! The answer is plain text in an envelope that says of which output it is and by which strategy it was made. A strategy
//! that cannot run is replaced by `truncate`, and the answer says why.

use crate::{Budget, Error, Output, Query, Result, excerpt, tokens, view};
use std::{fmt, str::FromStr};

/// How an output is to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// As fits the output and what is there to read it with.
    #[default]
    Auto,
    /// By a model, chunk by chunk.
    FullChunked,
    /// By a model that reads and searches.
    ReadGrep,
    /// Its beginning and its end.
    Truncate,
}

impl Mode {
    /// All of them, as they are written.
    pub const NAMES: [&'static str; 4] = ["auto", "full-chunked", "read-grep", "truncate"];
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Mode::NAMES[*self as usize])
    }
}

impl FromStr for Mode {
    type Err = Error;

    fn from_str(name: &str) -> Result<Mode> {
        let modes = [Mode::Auto, Mode::FullChunked, Mode::ReadGrep, Mode::Truncate];
        modes.into_iter().find(|mode| mode.to_string() == name).ok_or_else(|| {
            Error::BadQuery(format!("mode must be one of {}, and is {name:?}", Mode::NAMES.join(", ")))
        })
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extract {
    /// The answer, in its envelope.
    pub text: String,
    /// How it was made.
    pub strategy: &'static str,
    /// What was meant and why it could not be, if something else was done.
    pub fell_back: Option<(Mode, String)>,
}

/// Reads an output as `instructions` say. The answer holds the budget.
pub fn extract(output: &Output, instructions: &str, mode: Mode, budget: Budget) -> Result<Extract> {
    let no_model = || Some((mode, "no model is configured (extract.models)".to_owned()));
    let (strategy, fell_back) = match mode {
        Mode::Auto => ("ask", None),
        Mode::Truncate => ("truncate", None),
        Mode::FullChunked | Mode::ReadGrep => ("truncate", no_model()),
    };
    let mut head = opening(output, strategy);
    if let Some((mode, why)) = &fell_back {
        head.push_str(&format!(
            "WARNING: {mode} could not run: {why}. These are the beginning and the end instead.\n"
        ));
    }
    let cost = Budget {
        tokens: tokens::count(&head),
        bytes: head.len() as u64,
        lines: Some(head.lines().count() as u64),
    };
    let room = budget.less(cost);
    let body = match strategy {
        "ask" => excerpt(output, &Query::Ask(instructions.to_owned()), room)?.text,
        _ => view::top_and_bottom(output, room)?.print(output)?,
    };
    let text = head + &String::from_utf8_lossy(&body);
    Ok(Extract { text, strategy, fell_back })
}

fn opening(output: &Output, strategy: &str) -> String {
    let record = output.record();
    format!(
        "ABSTRACT FROM TOOL OUTPUT {} WITH HANDLE {}, STRATEGY:{strategy}:\n\n",
        record.call.full_name(),
        record.handle
    )
}

/// The answer to instructions that could not be followed.
pub(crate) fn failed(tool: &str, handle: &str, mode: Mode, why: &str) -> String {
    format!("TOOL_OUTPUT FAILED FOR {tool} WITH HANDLE {handle}, STRATEGY:{mode}:\n\n{why}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::output_of;
    use expect_test::{Expect, expect};

    fn check(mode: Mode, expected: Expect) {
        let text: String = (1..=5_000).map(|line| format!("line {line}\n")).collect();
        let output = output_of(text.replace("line 4000\n", "error: disk is full\n").as_bytes());
        let budget = Budget { tokens: 150, bytes: 12_000, lines: None };
        let answer = extract(&output, "which error is there?", mode, budget).unwrap();
        assert!(budget.holds(answer.text.as_bytes()));
        expected.assert_eq(&answer.text);
    }

    #[test]
    fn without_a_model_the_passages_answer_and_other_strategies_say_why_they_cannot() {
        check(
            Mode::Auto,
            expect![[r#"
                ABSTRACT FROM TOOL OUTPUT tool WITH HANDLE s/id1234, STRATEGY:ask:

                [1 passage · 5,000 lines · s/id1234]
                [3994–4014]
                line 3994
                line 3995
                line 3996
                line 3997
                line 3998
                line 3999
                error: disk is full
                line 4001
                line 4002
                line 4003
                line 4004
                line 4005
                line 4006
                line 4007
                line 4008
                line 4009
                line 4010
                line 4011
                line 4012
                line 4013
                line 4014
            "#]],
        );
        check(
            Mode::Truncate,
            expect![[r#"
                ABSTRACT FROM TOOL OUTPUT tool WITH HANDLE s/id1234, STRATEGY:truncate:

                [forebay view of 5,000 lines, 48,903 bytes; kept whole as s/id1234]
                line 1
                line 2
                line 3
                line 4
                [… 4,983 lines omitted: forebay read s/id1234 --lines 5:4987]
                line 4988
                line 4989
                line 4990
                line 4991
                line 4992
                line 4993
                line 4994
                line 4995
                line 4996
                line 4997
                line 4998
                line 4999
                line 5000
            "#]],
        );
        check(
            Mode::ReadGrep,
            expect![[r#"
                ABSTRACT FROM TOOL OUTPUT tool WITH HANDLE s/id1234, STRATEGY:truncate:

                WARNING: read-grep could not run: no model is configured (extract.models). These are the beginning and the end instead.
                [forebay view of 5,000 lines, 48,903 bytes; kept whole as s/id1234]
                line 1
                line 2
                line 3
                [… 4,988 lines omitted: forebay read s/id1234 --lines 4:4991]
                line 4992
                line 4993
                line 4994
                line 4995
                line 4996
                line 4997
                line 4998
                line 4999
                line 5000
            "#]],
        );
    }

    #[test]
    fn modes_are_read_as_they_are_written() {
        for name in Mode::NAMES {
            assert_eq!(name.parse::<Mode>().unwrap().to_string(), name);
        }
        assert!("all".parse::<Mode>().unwrap_err().to_string().contains("auto, full-chunked"));
    }
}
