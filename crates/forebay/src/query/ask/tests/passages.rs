use super::{SMALL, answer, noise};
use crate::Budget;
use crate::query::Found;
use crate::query::ask::overview::merged;
use crate::rank::passage::Passage;
use crate::store::memory::output_of;
use std::ops::Range;

#[test]
fn parts_of_a_giant_line_come_with_their_places() {
    let text = format!(
        "{}The capital of Ruritania is Strelsau. {}",
        "Some words stand here. ".repeat(4_000),
        "More words stand there. ".repeat(4_000)
    );
    let found = answer(text.as_bytes(), "What is the capital of Ruritania?", SMALL);
    let Found::Passages(passages) = found.found else { panic!() };
    let best = passages.iter().find(|passage| passage.text.contains("Strelsau")).unwrap();
    assert_eq!(&text[best.bytes.start as usize..best.bytes.end as usize], best.text);
    assert!(String::from_utf8(found.text).unwrap().contains(&format!("[1 @{}] ", best.bytes.start)));
}

#[test]
fn passages_are_shown_as_a_terminal_shows_them() {
    let text = noise(0, 300) + "10%\r50%\r\u{1b}[31merror\u{1b}[0m: no space left\r\n" + &noise(300, 600);
    let shown = String::from_utf8(answer(text.as_bytes(), "what went wrong?", SMALL).text).unwrap();
    assert!(shown.contains("error: no space left\n") && !shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn words_and_lines_at_a_border_are_not_cut() {
    for text in [
        "x".repeat(393) + " could not be done" + &" w".repeat(300),
        "+".repeat(398) + "fail" + &"+".repeat(300),
        "x".repeat(2 << 20),
        "é".repeat(2 << 20),
    ] {
        answer(text.as_bytes(), "why did it fail?", SMALL);
        answer(text.as_bytes(), "which words were done?", SMALL);
    }
}

#[test]
fn a_passage_is_named_by_its_first_and_last_shown_line() {
    let text = noise(0, 60) + "\n\nRuritania has a king\n\nand a castle\n\n" + &noise(60, 90);
    for tokens in [64, 80, 120, 200, 400] {
        let budget = Budget { tokens, ..SMALL };
        let found = answer(text.as_bytes(), "Who is king in Ruritania?", budget);
        let Found::Passages(passages) = found.found else { panic!() };
        assert!(!passages.is_empty());
        for passage in passages {
            let lines: Vec<&str> = text
                .lines()
                .skip(passage.line as usize - 1)
                .take((passage.last_line - passage.line) as usize + 1)
                .collect();
            assert_eq!(passage.text.trim_end_matches('\n'), lines.join("\n"));
            assert!(!lines[0].is_empty() && !lines[lines.len() - 1].is_empty(), "{lines:?}");
        }
    }
}

#[test]
fn passages_that_touch_become_one() {
    let text = "a\nb\nc\nd\ne\n";
    let passage = |bytes: Range<u64>, said: Option<&str>, path: Option<&str>| Passage {
        line: bytes.start / 2 + 1,
        last_line: 0,
        text: if said.is_some() {
            String::new()
        } else {
            text[bytes.start as usize..bytes.end as usize].to_owned()
        },
        bytes,
        said: said.map(str::to_owned),
        path: path.map(str::to_owned),
    };
    let words = vec![passage(0..4, None, None), passage(8..10, None, None), passage(6..8, None, Some(".x"))];
    let others = vec![passage(2..6, None, None), passage(6..10, Some("two lines"), None)];
    let merged = merged(&output_of(text.as_bytes()), words, others).unwrap();
    let seen: Vec<(Range<u64>, &str)> =
        merged.iter().map(|one| (one.bytes.clone(), one.text.as_str())).collect();
    assert_eq!(seen, [(0..6, "a\nb\nc\n"), (6..8, "d\n"), (6..10, ""), (8..10, "e\n")]);
}

#[test]
fn the_parent_of_a_line_is_shown_with_it() {
    let tree = |name: &str| format!("│ ├─┬ {name}@1.0.0\n");
    let leaves =
        |n: u64| -> String { (n..n + 20).map(|n| format!("│ │ ├── leaf{n}@1.0.0\n")).collect() };
    let parents = tree("outer") + &leaves(0) + &tree("parent") + &leaves(20) + "│ │ ├── yaml@3.15.2\n";
    let all = parents + &leaves(40) + &tree("other") + &leaves(60);
    let budget = Budget { tokens: 100, ..SMALL };
    let shown = String::from_utf8(answer(all.as_bytes(), "Where is yaml?", budget).text).unwrap();
    assert!(shown.contains("─┬ parent@1.0.0") && !shown.contains("─┬ outer@1.0.0"), "{shown}");

    let section = |n: u64| format!("## 3.{n}.0\n\n{}\n", noise(n * 200, n * 200 + 200));
    let text: String = (0..9).map(section).collect();
    let text = text.replace("unit number 1100 of", "unit for Ruritania of");
    let budget = Budget { tokens: 600, bytes: 8_000, lines: None };
    let shown = String::from_utf8(answer(text.as_bytes(), "What about Ruritania?", budget).text).unwrap();
    assert!(shown.contains("] ## 3.5.0\n") && !shown.contains("## 3.4.0"), "{shown}");
}

#[test]
fn in_a_program_the_line_above_a_block_is_shown_with_its_statement() {
    let function = |n: u64| {
        format!(
            "static void part{n}() {{\n    if (ready({n})) {{\n        run({n});\n    }}\n    wait_for({n});\n}}\n"
        )
    };
    let functions: String = (0..40).map(function).collect();
    let text = format!("#include <a.h>\n{functions}").replace("run(20)", "shrink(ruritania)");
    let budget = Budget { tokens: 64, ..SMALL };
    let shown =
        String::from_utf8(answer(text.as_bytes(), "When does Ruritania shrink?", budget).text).unwrap();
    assert!(shown.contains("    if (ready(20)) {\n        shrink"), "{shown}");
}

#[test]
fn a_sentence_is_shown_whole() {
    let wrapped = "It may be that the castle of the king is closed to whoever comes\nfrom the town of Ruritania by the river without a letter that says\nwho he is, or to anyone who comes late.\n";
    let text = noise(0, 60) + "\n" + wrapped + "\n" + &noise(60, 90);
    let budget = Budget { tokens: 72, ..SMALL };
    let shown = String::from_utf8(answer(text.as_bytes(), "Who is in Ruritania?", budget).text).unwrap();
    assert!(shown.contains(wrapped), "{shown}");
}

#[test]
fn a_small_gap_between_two_passages_is_filled() {
    let between = "it stands on a hill above it all\nthat has no name on any map yet\nand few ever go up there at night\n";
    let other = |n: u64| format!("the town {n} has a king in Ruritania too\n{}", noise(n * 20, n * 20 + 20));
    let text = noise(0, 60)
        + &format!("Ruritania has a king\n{between}the king of Ruritania is old\n")
        + &noise(60, 80)
        + &(0..12).map(other).collect::<String>();
    let budget = Budget { tokens: 160, ..SMALL };
    let shown = String::from_utf8(answer(text.as_bytes(), "the king of Ruritania", budget).text).unwrap();
    assert!(shown.contains(&format!("a king\n{between}the king")), "{shown}");
}
