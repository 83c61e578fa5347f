//! Queries as calls of tools: the tools, the query of a call, and the call of a query.

use crate::request::declared::{Arguments, Declared, Takes, optional, required};
use crate::request::filter::Filter;
use crate::request::grep::{Grep, Selection};
use crate::request::{Outlined, ranges, tool_call};
use crate::{Error, Handle, Query, Result};
use serde_json::{Map, Value, json};

pub(crate) const HANDLE: &str = "The handle of the output, as it was given.";

pub(crate) const ANY: u64 = i64::MAX as u64;

/// The tools. Descriptions say when to call, not how it works. The agent that extracts has `read` and `grep` too, so their
/// texts are part of its measured prompts.
pub(crate) const TOOLS: &[Declared] = &[
    Declared {
        name: "read",
        description: "Read a part of a stored tool output: lines, bytes, or its end. Nothing is run again. The answer is bounded and ends with the call that goes on.",
        arguments: &[
            required("handle", Takes::Text(300), HANDLE),
            optional(
                "lines",
                Takes::Text(2_000),
                "Lines to read, counted from 1: \"120:180\"; several ranges stand apart by blanks: \"1:20 400:420\".",
            ),
            optional(
                "bytes",
                Takes::Text(4_000),
                "Bytes to read instead of lines, counted from 0: \"0:4000\". For very long lines.",
            ),
            optional(
                "tail",
                Takes::Number { least: 1, most: ANY, usual: None },
                "Read this many lines from the end instead.",
            ),
        ],
    },
    Declared {
        name: "grep",
        description: "Find the lines of a stored tool output that match a regular expression, with line numbers and the true total.",
        arguments: &[
            required("handle", Takes::Text(300), HANDLE),
            required(
                "pattern",
                Takes::Text(10_000),
                "A regular expression (Rust syntax), or plain text with fixed.",
            ),
            optional(
                "context",
                Takes::Number { least: 0, most: 200, usual: Some(0) },
                "Lines shown before and after each match.",
            ),
            optional("ignore_case", Takes::Switch, "Take capitals and small letters for the same."),
            optional("fixed", Takes::Switch, "Take the pattern letter by letter."),
            optional("multiline", Takes::Switch, "Let a match go over lines."),
            optional("invert", Takes::Switch, "Show the lines that do not match."),
            optional("only_matching", Takes::Switch, "Show only what matches, not its whole line."),
            optional(
                "max",
                Takes::Number { least: 0, most: 10_000, usual: Some(Grep::SHOWN as u64) },
                "How many matches are shown at most; 0 only counts.",
            ),
            optional(
                "from_byte",
                Takes::Number { least: 0, most: ANY, usual: Some(0) },
                "Only what matches from this byte on.",
            ),
        ],
    },
    Declared {
        name: "json",
        description: "Run a jq filter over a stored JSON or JSON-lines tool output. Without a filter, get its shape: every path with types, counts and example values. Begin with the shape.",
        arguments: &[
            required("handle", Takes::Text(300), HANDLE),
            optional(
                "filter",
                Takes::Text(10_000),
                "A jq filter: \".items[] | select(.status == \\\"failed\\\") | .id\". Leave it out for the shape.",
            ),
            optional(
                "skip",
                Takes::Number { least: 0, most: ANY, usual: Some(0) },
                "Results (or paths) to skip.",
            ),
            optional(
                "max",
                Takes::Number { least: 1, most: 10_000, usual: Some(Filter::SHOWN) },
                "Maximum results shown.",
            ),
        ],
    },
    Declared {
        name: "outline",
        description: "See what is in a stored tool output, with line numbers to read: classes and functions of code, headings, files and hunks of a diff, failing tests, sections and errors of a log, columns of a table.",
        arguments: &[
            required("handle", Takes::Text(300), HANDLE),
            optional(
                "from_line",
                Takes::Number { least: 1, most: ANY, usual: Some(1) },
                "Only items that begin on this line or after it.",
            ),
            optional(
                "skip",
                Takes::Number { least: 0, most: ANY, usual: Some(0) },
                "Items to skip on that line.",
            ),
            optional(
                "depth",
                Takes::Number { least: 0, most: 1_000, usual: None },
                "Maximum depth; 0 shows only the outermost items.",
            ),
        ],
    },
    Declared {
        name: "ask",
        description: "Ask a question about a stored tool output in plain words, and get the passages that answer it best, with line numbers. Use it when you do not know what to grep for.",
        arguments: &[
            required("handle", Takes::Text(300), HANDLE),
            required("question", Takes::Text(4_000), "What you want to know; names, paths and numbers help."),
        ],
    },
    Declared {
        name: "search",
        description: "Find the lines that have all the given words in any stored tool output of this conversation, the newest output first.",
        arguments: &[required("words", Takes::Text(1_000), "Words that occur in one line, in any order.")],
    },
    Declared {
        name: "list",
        description: "List the stored tool outputs of this conversation with their handles, the newest first.",
        arguments: &[],
    },
];

/// The query of a call.
pub(crate) fn query_with(name: &str, arguments: &Arguments) -> Result<Query> {
    Ok(match name {
        "read" => {
            let given = ["lines", "bytes", "tail"].iter().filter(|name| arguments.has(name)).count();
            if given > 1 {
                return Err(Error::BadQuery("read takes one of lines, bytes and tail at a time".to_owned()));
            }
            match arguments.number("tail") {
                Some(count) => Query::Tail(count),
                None if arguments.has("bytes") => Query::Bytes(ranges::byte_ranges(arguments.text("bytes"))?),
                None if arguments.has("lines") => Query::Lines(ranges::line_ranges(arguments.text("lines"))?),
                None => Query::Lines(vec![1..=u64::MAX]),
            }
        }
        "grep" => Query::Grep(Grep {
            pattern: arguments.text("pattern").to_owned(),
            fixed: arguments.is_on("fixed"),
            ignore_case: arguments.is_on("ignore_case"),
            multiline: arguments.is_on("multiline"),
            wanted: match (arguments.is_on("invert"), arguments.is_on("only_matching")) {
                (true, true) => {
                    return Err(Error::BadQuery(
                        "what does not match cannot be shown as only what matches".to_owned(),
                    ));
                }
                (true, false) => Selection::OtherLines,
                (false, true) => Selection::Matches,
                (false, false) => Selection::Lines,
            },
            context: arguments.number("context").unwrap_or(0),
            max: usize::try_from(arguments.number("max").unwrap_or(0)).unwrap_or(usize::MAX),
            from_byte: arguments.number("from_byte").unwrap_or(0),
        }),
        "json" => {
            let skip = arguments.number("skip").unwrap_or(0);
            match arguments.text("filter").trim() {
                "" => Query::Shape { skip },
                filter => Query::Json(Filter {
                    filter: filter.to_owned(),
                    skip,
                    max: arguments.number("max").unwrap_or(Filter::SHOWN),
                    together: false,
                    masks: Vec::new(),
                }),
            }
        }
        "outline" => Query::Outline(Outlined {
            from_line: arguments.number("from_line").unwrap_or(1),
            skip: arguments.number("skip").unwrap_or(0),
            depth: arguments.number("depth").map(|depth| u32::try_from(depth).unwrap_or(u32::MAX)),
        }),
        _ => Query::Ask(arguments.text("question").to_owned()),
    })
}

/// A tool's name without its prefix, and its arguments.
pub(crate) struct Named {
    pub(crate) name: &'static str,
    pub(crate) arguments: Map<String, Value>,
}

/// The call for `query` on the output of `handle`, without the arguments that have their default.
pub(crate) fn call_of(handle: &Handle, query: &Query) -> Named {
    let mut arguments = Map::new();
    arguments.insert("handle".into(), handle.short().into());
    let mut set = |name: &str, value: Value| {
        arguments.insert(name.to_owned(), value);
    };
    let name = match query {
        Query::Lines(ranges) => {
            let ranges: Vec<String> = ranges.iter().map(ranges::written).collect();
            set("lines", ranges.join(" ").into());
            "read"
        }
        Query::Bytes(ranges) => {
            let range = |range: &std::ops::Range<u64>| format!("{}:{}", range.start, range.end);
            let ranges: Vec<String> = ranges.iter().map(range).collect();
            set("bytes", ranges.join(" ").into());
            "read"
        }
        Query::Head(count) => {
            set("lines", format!("1:{count}").into());
            "read"
        }
        Query::Tail(count) => {
            set("tail", json!(count));
            "read"
        }
        Query::Grep(grep) => {
            let usual = Grep::new("");
            set("pattern", grep.pattern.clone().into());
            let switches = [
                ("fixed", grep.fixed),
                ("ignore_case", grep.ignore_case),
                ("multiline", grep.multiline),
                ("invert", grep.wanted == Selection::OtherLines),
                ("only_matching", grep.wanted == Selection::Matches),
            ];
            switches.iter().filter(|(_, on)| *on).for_each(|(name, _)| set(name, true.into()));
            let numbers = [
                ("context", grep.context, usual.context),
                ("max", grep.max as u64, usual.max as u64),
                ("from_byte", grep.from_byte, usual.from_byte),
            ];
            numbers
                .iter()
                .filter(|(_, value, usual)| value != usual)
                .for_each(|(name, value, _)| set(name, (*value).into()));
            "grep"
        }
        Query::Json(filter) => {
            set("filter", filter.filter.clone().into());
            if filter.skip > 0 {
                set("skip", filter.skip.into());
            }
            if filter.max != Filter::SHOWN {
                set("max", filter.max.into());
            }
            "json"
        }
        Query::Shape { skip } => {
            if *skip > 0 {
                set("skip", (*skip).into());
            }
            "json"
        }
        Query::Outline(outlined) => {
            if outlined.from_line > 1 {
                set("from_line", outlined.from_line.into());
            }
            if outlined.skip > 0 {
                set("skip", outlined.skip.into());
            }
            if let Some(depth) = outlined.depth {
                set("depth", depth.into());
            }
            "outline"
        }
        Query::Ask(question) => {
            set("question", question.clone().into());
            "ask"
        }
    };
    Named { name, arguments }
}

/// The declaration of one of our own tools; `name` is without a prefix.
pub fn declared(name: &str) -> Option<&'static Declared> {
    tool_call::TOOLS.iter().find(|tool| tool.name == name)
}

/// The query of a call of one of our own tools; `name` is without a prefix.
pub fn query_of(name: &str, given: &Map<String, Value>) -> Result<Query> {
    let tool = declared(name).ok_or_else(|| Error::BadQuery(format!("there is no tool {name:?}")))?;
    tool_call::query_with(name, &Arguments::new(tool, given)?)
}
