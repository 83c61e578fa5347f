//! The recognizers in order: the first that claims an output plans its view.

use crate::digest::fit::top_and_bottom;
use crate::digest::frame::framed;
use crate::digest::plan::{Recognizer, Wanted};
use crate::digest::probe::Probe;
use crate::digest::{
    binary, compacted, conflicts, diff, document, findings, folders, json_paths, logs, outline_items, page,
    run, screen, sections, source, table, threads, totals,
};
use crate::view::View;
use crate::weights::folding::{CHOSEN_TOKENS, FULL_FRAME_TOKENS, SUCCEEDED_RUN_TOKENS, SUCCEEDED_TOKENS};
use crate::{Budget, Result};

/// Recognizers by name: first those of rare but certain kinds, then those of runs, then those of single forms.
/// Recognizers of compact forms come before the digests that they replace. The last one claims every output.
static ORDER: &[(&str, Recognizer)] = &[
    ("binary", binary::recognize),
    ("screen", screen::recognize),
    ("whole", compacted::recognize_whole),
    ("conflicts", conflicts::recognize),
    ("threads", threads::recognize),
    ("findings", findings::recognize),
    ("sections", sections::recognize),
    ("records", compacted::recognize_records),
    ("page", page::recognize),
    ("entries", logs::recognize_entries),
    ("rows", compacted::recognize_rows),
    ("run", run::recognize),
    ("document", document::recognize),
    ("json", json_paths::recognize),
    ("log", logs::recognize),
    ("listing", folders::recognize),
    ("table", table::recognize),
    ("diff", diff::recognize),
    ("source", source::recognize),
    ("text", totals::recognize),
    ("outline", outline_items::recognize),
];

/// Recognizers of compact forms.
const COMPACT: [&str; 3] = ["whole", "records", "rows"];

/// Recognizers of outputs that were read, or that explain a failure of something else. An exit status says nothing
/// about these.
const READ: [&str; 3] = ["conflicts", "threads", "page"];

/// Recognizers whose views a reader needs even if the command succeeded: failures, changes and programs.
const TELLING: [&str; 6] = ["entries", "findings", "run", "document", "diff", "source"];

/// View of an output, by its kind and by what is wanted of it.
pub(crate) fn view(probe: &Probe, budget: Budget) -> Result<View> {
    Ok(claimed(probe, budget, &[])?.1)
}

/// View of an output that shows original lines and summaries of the others, for an answer about all of it.
pub(crate) fn in_lines(probe: &Probe, budget: Budget) -> Result<View> {
    Ok(claimed(probe, budget, &COMPACT)?.1)
}

/// View of an output, and the name of the recognizer that claims it. Recognizers in `except` are skipped.
fn claimed(probe: &Probe, budget: Budget, except: &[&str]) -> Result<(&'static str, View)> {
    let wanted = Wanted::of(probe.output, budget)?;
    for (name, recognize) in ORDER.iter().filter(|(name, _)| !except.contains(name)) {
        // A choice or a summary needs less room than a whole output.
        let most = match name {
            name if COMPACT.contains(name) => u64::MAX,
            name if !probe.exited_well() || READ.contains(name) => CHOSEN_TOKENS,
            name if TELLING.contains(name) => SUCCEEDED_RUN_TOKENS,
            _ => SUCCEEDED_TOKENS,
        };
        let capped = Budget { tokens: budget.tokens.min(most), ..budget };
        if let Some(plan) = recognize(probe, &wanted, capped)? {
            let view = plan.view(probe.output, &wanted, capped)?;
            // A short view within a larger budget names the output as a larger view does.
            let is_short = probe.exited_well() && capped.tokens < FULL_FRAME_TOKENS;
            let has_room = budget.tokens >= FULL_FRAME_TOKENS;
            let view = if is_short && has_room { framed(view, probe.output, budget)? } else { view };
            return Ok((name, view));
        }
    }
    Ok(("ends", top_and_bottom(probe.output, budget)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::{output_of, output_of_call};
    use crate::{Call, Session, Timestamp};

    fn many(line: &str) -> String {
        (0..90).map(|n| line.replace('#', &n.to_string()) + "\n").collect()
    }

    fn called(command: &str) -> Call {
        Call {
            args: Some(serde_json::json!({ "command": command }).to_string()),
            ..Call::new(Session::safe("s"), "id1234", "run", Timestamp::UNIX_EPOCH)
        }
    }

    #[test]
    fn each_kind_of_output_has_its_recognizer() {
        let conflict = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n";
        let bars: String = (0..900).map(|step| format!("{step} of 900\r")).collect();
        let letters = |n: usize| "abcdefghijklmnopqrstuvwxyz".chars().cycle().skip(n).step_by(n % 7 + 1);
        let words = |n: usize| letters(n).take(9).collect::<String>();
        let text: String =
            (0..90).map(|n| format!("{} {} {}\n", words(n), words(n * 3), words(n * 5))).collect();
        let table: &[(&str, &str, String)] = &[
            ("screen", "make", format!("start\n{bars}done\n")),
            ("whole", "ping", "the same line\n".repeat(900)),
            ("conflicts", "cat a.txt", many("word #") + conflict + &many("line #")),
            (
                "threads",
                "kill -QUIT 7",
                many("goroutine # [select]:\nmain.worker(0x#)\n\t/srv/main.go:4 +0x1d\n"),
            ),
            ("findings", "ruff check", many("src/a#.py:#:1: D102 what was found")),
            ("sections", "git status", "A list:\n  of one\nB list:\n".to_owned() + &many("\tfile # of them")),
            ("sections", "rsync -ain a b", many(">f..t...... src/part#.rs") + "*deleting   .env\n"),
            ("binary", "cat a.bin", "\0\u{1}".repeat(900)),
            ("page", "curl", format!("<html><body>{}</body></html>", many("<p>Words of part #.</p>"))),
            ("entries", "serve", many("2024-05-01 12:00:0# INFO request # was answered in # ms")),
            ("run", "make", many("cc part_#.c") + "error: it is gone\n"),
            ("document", "git log --oneline", many("abcdef0 change the #th part")),
            ("json", "curl", format!("[{}1]", "{\"a\": 1}, ".repeat(900))),
            ("listing", "find .", many("src/folder/p#x#.rs")),
            ("table", "query", "id,state,amount\n".to_owned() + &many("#,paid,#")),
            (
                "diff",
                "git diff",
                many("diff --git a/f# b/f#\n--- a/f#\n+++ b/f#\n@@ -1,2 +1,2 @@\n a\n-b\n+c"),
            ),
            ("source", "cat a.rs", many("fn part_#(n: u64) -> u64 {\n    n + #\n}\n")),
            ("text", "show", text),
            ("outline", "rg total", many("src/a.rs:#:    total += #;")),
        ];
        for (expected, command, text) in table {
            let output = output_of_call(&called(command), text.as_bytes());
            let budget = Budget { tokens: 250, bytes: 2_000, lines: None };
            let (name, view) = claimed(&Probe::new(&output), budget, &[]).unwrap();
            assert_eq!(name, *expected, "{}", String::from_utf8_lossy(&view.print(&output).unwrap()));
        }
    }

    #[test]
    fn every_output_is_claimed_by_a_recognizer() {
        for text in ["", "\n", "x", "a,b\n1,2\n", "\u{feff}", "{", "<p>"] {
            let output = output_of(text.as_bytes());
            let budget = Budget { tokens: 90, bytes: 900, lines: None };
            assert_ne!(claimed(&Probe::new(&output), budget, &[]).unwrap().0, "ends", "{text:?}");
        }
    }
}
