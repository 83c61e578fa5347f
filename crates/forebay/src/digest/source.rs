//! Source code: its beginning, its end, and the definitions in between.

use crate::classify::form::Form;
use crate::digest::ends::Parts;
use crate::digest::fit;
use crate::digest::outline_items::{OutlineItems, definition};
use crate::digest::plan::{Plan, Wanted};
use crate::digest::probe::Probe;
use crate::outline::{self, Outline};
use crate::weights::folding::Shares;
use crate::weights::rows::MAX_PARSED_PROGRAM;
use crate::{Budget, Result};
use std::ops::Range;

/// Plans the view of a program.
pub(crate) fn recognize<'p>(probe: &'p Probe<'p>, _: &Wanted, budget: Budget) -> Result<Option<Plan<'p>>> {
    let form = probe.form()?;
    if !matches!(form, Form::Code(_)) {
        return Ok(None);
    }
    let outline = outline::outline_parsing(probe.output, MAX_PARSED_PROGRAM)?;
    let shares = Shares::of(form);
    let shares = if ends_with_tests(&outline) { shares.without_end() } else { shares };
    let skipped = licence(&fit::beginning(probe.output, budget)?).into_iter().collect();
    Ok(Some(Plan::Ends(Parts { skipped, ..Parts::new(shares, OutlineItems::new(outline)) })))
}

/// Licence at the beginning of a file, except its first line.
fn licence(beginning: &[u8]) -> Option<Range<u64>> {
    let mut at = 0;
    let mut first = None;
    let mut in_block = false;
    for line in beginning.split_inclusive(|&byte| byte == b'\n') {
        let text = line.trim_ascii();
        let opens = text.starts_with(b"/*");
        let is_comment =
            in_block || opens || [&b"//"[..], b"#", b"--", b";"].iter().any(|mark| text.starts_with(mark));
        if !is_comment {
            break;
        }
        in_block = (in_block || opens) && !text.ends_with(b"*/");
        at += line.len();
        first = first.or(Some(at));
    }
    let words = beginning[..at].to_ascii_lowercase();
    let is_licence = [&b"copyright"[..], b"licence", b"license"]
        .iter()
        .any(|word| memchr::memmem::find(&words, word).is_some());
    first.filter(|first| is_licence && !in_block && *first < at).map(|first| first as u64..at as u64)
}

/// Whether a file ends with its tests, as files of Rust do: such an end says little about what the file does.
fn ends_with_tests(outline: &Outline) -> bool {
    let is_code = matches!(outline.form, Form::Code(_));
    let last = outline.items.iter().rfind(|item| item.depth == 0);
    is_code && last.is_some_and(|last| definition(&last.name).trim() == "mod tests")
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(feature = "outline")]
    use crate::digest::plan::shown;

    #[test]
    #[cfg(feature = "lang-rust")]
    fn a_file_that_ends_with_its_tests_is_shown_from_its_beginning() {
        let mut text: String =
            (0..200).map(|n| format!("pub fn number_{n}() -> u32 {{\n    {n}\n}}\n\n")).collect();
        let code = shown(recognize, &text, Form::Code(crate::classify::languages::Language::Rust), 300);
        assert!(code.contains("fn number_199()") && !code.contains("fn number_7()"), "{code}");
        text += "#[cfg(test)]\nmod tests {\n";
        (0..60).for_each(|n| text += &format!("    #[test]\n    fn test_{n}() {{}}\n"));
        text += "}\n";
        let code = shown(recognize, &text, Form::Code(crate::classify::languages::Language::Rust), 300);
        assert!(code.contains("fn number_7()"), "{code}");
    }

    #[test]
    fn the_licence_that_a_file_begins_with_is_passed_over_but_for_its_first_line() {
        let table: [(&str, Option<&str>); 6] = [
            (
                "/*\n * Copyright 2024 A\n * All rights\n */\nint x;\n",
                Some(" * Copyright 2024 A\n * All rights\n */\n"),
            ),
            ("// Copyright 2024 A\n// Licensed under B\n\npackage a\n", Some("// Licensed under B\n")),
            ("#!/bin/sh\n# License: B\n# more\necho\n", Some("# License: B\n# more\n")),
            ("// What this file is for\n// and how\npackage a\n", None),
            ("/* Copyright */\nint x;\n", None),
            ("int x;\n// Copyright\n// more\n", None),
        ];
        for (text, expected) in table {
            let found = licence(text.as_bytes()).map(|range| &text[range.start as usize..range.end as usize]);
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    #[cfg(feature = "lang-python")]
    fn as_many_definitions_are_counted_as_are_listed() {
        let methods: String =
            (0..80).map(|n| format!("    def step_{n}(self):\n        return self.x[{n}]\n\n")).collect();
        let text = shown(
            recognize,
            &format!("import os\n\nclass Store:\n{methods}"),
            Form::Code(crate::classify::languages::Language::Python),
            400,
        );
        let said = text.lines().find(|line| line.contains(" of Python omitted, with ")).unwrap();
        let counted: usize = said.split("with ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        let listed = text.lines().find(|line| line.contains(" · ")).unwrap();
        assert_eq!(counted, listed.split(" · ").count(), "{text}");
    }
}
