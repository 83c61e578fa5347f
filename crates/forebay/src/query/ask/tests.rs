mod context;

use super::*;
use crate::excerpt;
use crate::query::ask::overview::{NOWHERE, merged};
use crate::rank::passage::Passage;
use crate::store::memory::output_of;
use crate::tokens;
use expect_test::{Expect, expect};
use proptest::prelude::*;

pub(super) const SMALL: Budget = Budget { tokens: 120, bytes: 2_000, lines: None };

pub(super) fn answer(text: &[u8], question: &str, budget: Budget) -> Excerpt {
    let excerpt = excerpt(&output_of(text), &Query::Ask(question.into()), budget).unwrap();
    assert!(budget.holds(&excerpt.text), "{}", String::from_utf8_lossy(&excerpt.text));
    excerpt
}

#[test]
fn a_word_that_stands_nowhere_by_itself_is_found_inside_of_others() {
    let mut text: String = (0..300).map(|n| format!("Unpacking libpart{n}-java (1.{n}-1) ...\n")).collect();
    text += "Unpacking libguava-java (31.1-1) ...\n";
    text += &(0..300).map(|n| format!("Setting up libpart{n}-java (1.{n}-1) ...\n")).collect::<String>();
    let found = answer(text.as_bytes(), "Which guava version was unpacked?", SMALL);
    let found = String::from_utf8_lossy(&found.text).into_owned();
    assert!(found.contains("Unpacking libguava-java (31.1-1)"), "{found}");
}

fn check(text: &str, question: &str, expected: Expect) {
    expected.assert_eq(&String::from_utf8_lossy(&answer(text.as_bytes(), question, SMALL).text));
}

pub(super) fn noise(from: u64, to: u64) -> String {
    (from..to).map(|line| format!("compiling unit number {line} of the project\n")).collect()
}

/// Lines that are like no other.
pub(super) fn unlike(from: u8, to: u8) -> String {
    let letter = |n: u8| char::from(b'a' + n);
    (from..to).map(|n| format!("compiling {}{} for the project\n", letter(n % 26), letter(n / 26))).collect()
}

#[test]
fn a_question_that_names_only_trouble_finds_the_cause_with_what_belongs_to_it() {
    let text = noise(0, 400)
        + "thread 'main' panicked at src/store.rs:12:5:\nassertion failed: left == right\n    at store::open\n    at main\n"
        + &noise(400, 700)
        + "0 errors in the documentation\nerror_handling_test ... ok\n"
        + &noise(700, 800);
    let found = answer(text.as_bytes(), "Why did the build fail?", SMALL);
    let shown = String::from_utf8(found.text).unwrap();
    let cause = "thread 'main' panicked at src/store.rs:12:5:\nassertion failed: left == right\n    at store::open\n    at main\n";
    assert!(shown.contains(cause), "{shown}");
    assert!(!shown.contains("0 errors"), "{shown}");
}

#[test]
fn what_the_question_names_is_found_with_what_went_wrong_after_it() {
    let mut text = String::new();
    for test in ["alpha", "beta", "gamma"] {
        text += &noise(0, 60);
        text += &format!(
            "FAIL: test_{test} (suite.Case)\nTraceback (most recent call last):\n  File \"t.py\", line 3\nAssertionError: {test} is not 1\n\n"
        );
    }
    check(
        &text,
        "Why does test_beta (suite.Case) fail?",
        expect![[r#"
            [1 passage · 195 lines · s/id1234]
            [126–136]
            FAIL: test_beta (suite.Case)
            Traceback (most recent call last):
              File "t.py", line 3
            AssertionError: beta is not 1

            compiling unit number 0 of the project
            compiling unit number 1 of the project
            compiling unit number 2 of the project
            compiling unit number 3 of the project
            compiling unit number 4 of the project
            compiling unit number 5 of the project
        "#]],
    );
}

#[test]
fn what_passed_is_no_answer_to_why_something_fails() {
    let passed = |n: u64| format!("PASSED tests/test_grid.py::TestGrid::test_plot_{n}\n");
    let all: String = (0..60).map(passed).collect();
    let text = noise(0, 60)
        + "____ TestGrid.test_plot ____\n\ngrid = 1\n\n>   left = right\nit is the wrong way round\n\ngrid.py:3: it stops\n"
        + &noise(60, 90)
        + &all
        + "FAILED tests/test_grid.py::TestGrid::test_plot\n";
    let named = "tests/test_grid.py::TestGrid::test_plot";
    let budget = Budget { tokens: 150, ..SMALL };
    for (question, failure) in
        [(format!("Why does {named} fail?"), true), (format!("Does {named} fail or pass?"), false)]
    {
        let shown = String::from_utf8(answer(text.as_bytes(), &question, budget).text).unwrap();
        assert_eq!(shown.contains("wrong way round\n\ngrid.py:3: it stops"), failure, "{shown}");
    }
}

#[test]
fn what_is_said_in_tests_that_passed_is_no_answer_either() {
    let title = |text: &str| format!("{:=^60}\n", format!(" {text} "));
    let passed = |n: u64| format!("____ TestGrid.test_plot_{n} ____\nthe grid {n} is drawn\n");
    let text = title("FAILURES")
        + "____ TestGrid.test_plot ____\n\ngrid = 1\n\n>   left = right\nit is the wrong way round\n\ngrid.py:3: it stops\n"
        + &title("PASSES")
        + &(0..60).map(passed).collect::<String>()
        + &title("short test summary info")
        + "FAILED tests/test_grid.py::TestGrid::test_plot\n";
    let question = "Why does tests/test_grid.py::TestGrid::test_plot fail?";
    let budget = Budget { tokens: 150, ..SMALL };
    for (name, is_shown) in [("PASSES", true), ("OTHERS", false)] {
        let text = text.replace("PASSES", name);
        let shown = String::from_utf8(answer(text.as_bytes(), question, budget).text).unwrap();
        assert_eq!(shown.contains("wrong way round\n\ngrid.py:3: it stops"), is_shown, "{shown}");
    }
}

#[test]
fn what_passed_beside_what_failed_is_not_shown_for_it() {
    let said: String = ('a'..'i').map(|name| format!("{name} goes on\n")).collect();
    let passed: String = (0..60).map(|n| format!("PASSED other.py::part_{n}\n")).collect();
    let text = noise(0, 60)
        + &format!("____ test_plot ____\n{said}it is round\n")
        + &noise(60, 90)
        + &format!("FAILED t.py::test_plot\n{passed}");
    let shown =
        String::from_utf8(answer(text.as_bytes(), "Why does t.py::test_plot fail?", SMALL).text).unwrap();
    assert!(shown.contains("it is round\n"), "{shown}");
}

#[test]
fn the_trace_of_what_is_named_is_shown_with_its_end() {
    let frames: String =
        (0..40).map(|n| format!("  File \"{n}.py\", line {n}\n    call_{n}(it)\n")).collect();
    let text = noise(0, 60)
        + "ERROR: test_beta (suite.Case)\nTraceback (most recent call last):\n"
        + &frames
        + "suite.Gone\n"
        + &noise(60, 90);
    let shown =
        String::from_utf8(answer(text.as_bytes(), "Why does test_beta (suite.Case) fail?", SMALL).text)
            .unwrap();
    assert!(shown.contains("suite.Gone\n"), "{shown}");
}

#[test]
fn a_word_of_trouble_that_is_a_value_is_found_in_the_records_that_have_it() {
    let rows: Vec<String> = (0..5_000)
        .map(|id| {
            let state = if id % 997 == 0 { "failed" } else { "ok" };
            format!(r#"{{"id":{id},"state":"{state}"}}"#)
        })
        .collect();
    let text = format!("{{\"rows\":[{}]}}", rows.join(","));
    let shown =
        String::from_utf8(answer(text.as_bytes(), "which rows have state failed?", SMALL).text).unwrap();
    for id in [997, 1_994, 2_991] {
        assert!(shown.contains(&format!("[.rows[{id}]]\n\"state\":\"failed\"\n")), "{id}: {shown}");
    }
}

#[test]
fn a_step_that_ended_badly_is_found_wherever_it_stands() {
    let text = noise(0, 40)
        + "fetching the index\nthe index has no such entry as x\nThe command \"make\" exited with 2.\n"
        + &"# testing that an error is told\n".repeat(300)
        + &noise(40, 400)
        + "Done.\n";
    let shown = String::from_utf8(answer(text.as_bytes(), "Why did it fail?", SMALL).text).unwrap();
    assert!(shown.contains("no such entry as x\nThe command \"make\" exited with 2.\n"), "{shown}");
}

#[test]
fn what_tests_said_that_passed_is_no_trouble() {
    let title = |text: &str| format!("{:=^60}\n", format!(" {text} "));
    let kinds = ["Value", "Key", "Type", "Name", "Index", "Import", "Runtime", "Lookup", "Memory", "System"];
    let inner: String =
        kinds.iter().map(|kind| format!("E   {kind}Error: the {kind} is wrong here\n")).collect();
    let text = title("FAILURES")
        + "____ test_one ____\nE   assert 1 == 2\nt.py:3: it stops there\n"
        + &title("PASSES")
        + &inner
        + &title("short test summary info")
        + &(0..80).map(|n| format!("PASSED t.py::test_of_part_{n}\n")).collect::<String>()
        + "FAILED t.py::test_one\n";
    let shown = String::from_utf8(answer(text.as_bytes(), "Why did it fail?", SMALL).text).unwrap();
    assert!(shown.contains("E   assert 1 == 2") && !shown.contains("TypeError"), "{shown}");
    let unnamed = text.replace("PASSES", "OTHERS");
    let shown = String::from_utf8(answer(unnamed.as_bytes(), "Why did it fail?", SMALL).text).unwrap();
    assert!(shown.contains("TypeError"), "{shown}");
}

#[test]
fn a_summary_that_names_every_test_is_one() {
    let title = |text: &str| format!("{:=^60}\n", format!(" {text} "));
    let text = title("FAILURES")
        + "____ test_one ____\nE   assert 1 == 2\n"
        + &(0..9).map(|n| format!("E     of part {n} it got {n}\n")).collect::<String>()
        + "t.py:3: it stops there\n"
        + &title("PASSES")
        + &noise(0, 300)
        + "E   TypeError: the type is wrong here\nE   ValueError: and so is the value\n"
        + &noise(300, 600)
        + &title("short test summary info")
        + &(0..2_000).map(|n| format!("PASSED t.py::test_of_part_{n}\n")).collect::<String>()
        + "FAILED t.py::test_one\n";
    let shown = String::from_utf8(answer(text.as_bytes(), "Why did it fail?", SMALL).text).unwrap();
    assert!(shown.contains("E   assert 1 == 2") && !shown.contains("TypeError"), "{shown}");
}

#[test]
fn of_many_failures_the_first_is_shown_with_its_name_and_its_line() {
    let title = |text: &str| format!("{:=^60}\n", format!(" {text} "));
    let failure = |n: u64| {
        let quoted: String = (0..9).map(|m| format!("        assert part_{m} == {m}\n")).collect();
        format!(
            "_____ test_of_{n} _____\n\n    def test_of_{n}():\n{quoted}>       check({n})\n\nt.py:{n}: \n\
             _ _ _ _ _ _ _ _ _ _\n\n>   return weights[key]\n           ^^^^^^^^^^^^\nE   KeyError: 'weight'\n\nlib.py:78: KeyError\n"
        )
    };
    let text = title("FAILURES")
        + &(0..40).map(failure).collect::<String>()
        + &title("short test summary info")
        + &(0..40).map(|n| format!("FAILED t.py::test_of_{n}\n")).collect::<String>()
        + "40 failed in 1s\n";
    let shown = String::from_utf8(answer(text.as_bytes(), "Why did it fail?", SMALL).text).unwrap();
    let first =
        ">   return weights[key]\n           ^^^^^^^^^^^^\nE   KeyError: 'weight'\n\nlib.py:78: KeyError\n";
    assert!(shown.contains("_____ test_of_0 _____\n") && shown.contains(first), "{shown}");
    assert!(!shown.contains("        assert part"), "{shown}");
}

#[test]
fn commands_that_a_shell_echoes_are_no_changes() {
    let text = noise(0, 60)
        + "it cannot be built\n"
        + &(0..9).map(|n| format!("+ clean part_{n}\n")).collect::<String>()
        + &noise(60, 90)
        + "AssertionError: they differ\n- Expected\n+ Received\n- one\n+ other\n"
        + &noise(90, 99);
    let shown = String::from_utf8(answer(text.as_bytes(), "why did it fail?", SMALL).text).unwrap();
    assert!(shown.contains("+ other\n") && !shown.contains("+ clean part_6"), "{shown}");
}

#[test]
fn the_name_of_a_test_in_tap_stands_above_what_was_checked_in_it() {
    let passed =
        |from: u64, to: u64| (from..to).map(|n| format!("ok {n} is what it was\n")).collect::<String>();
    let text = "TAP version 13\n# parses\n".to_owned()
        + &(1..80)
            .map(|n| format!("# {}\nok {n} is what it was\n", unlike(n as u8, n as u8 + 1).trim()))
            .collect::<String>()
        + "# keeps to the limit\n"
        + &passed(80, 85)
        + "not ok 85 should be equivalent\n  ---\n    expected: 20\n    actual:   21\n  ...\n"
        + &passed(86, 160);
    let shown = String::from_utf8(answer(text.as_bytes(), "why did it fail?", SMALL).text).unwrap();
    assert!(shown.contains("# keeps to the limit\n") && shown.contains("actual:   21"), "{shown}");
}

#[test]
fn a_verdict_counts_wherever_it_is_given() {
    let worse = ["fatal", "panic", "exception", "traceback", "segmentation", "core dumped", "out of memory"];
    let later: String = worse.iter().map(|word| format!("it was a {word} here\n{}", noise(0, 9))).collect();
    for verdict in [
        "not ok 24 dns - resolves",
        "--- FAIL: TestParse (0.01s)",
        "FAIL a test of it [a.phpt]",
        "src/a.c:12:5: error: the name is not declared",
        "error[E0308]: the types are others",
        "src/a.c:12:5: runtime error: the sum is too large",
        "  9:46  error  the key is there twice",
        "##[error]the image is not there",
        "[taskcluster:error] the image has another size",
        "10:00 INFO - TEST-UNEXPECTED-FAIL | a.html | it is",
        "10:00 INFO - TEST-UNEXPECTED-PASS | a.html | it is",
    ] {
        let text = noise(0, 20) + verdict + "\n" + &noise(20, 400) + &later + &noise(400, 800);
        let shown = String::from_utf8(answer(text.as_bytes(), "Why did it fail?", SMALL).text).unwrap();
        assert!(shown.contains(verdict), "{shown}");
    }
    let text = noise(0, 20) + "there was an error in it\n" + &noise(20, 400) + &later + &noise(400, 800);
    let shown = String::from_utf8(answer(text.as_bytes(), "Why did it fail?", SMALL).text).unwrap();
    assert!(!shown.contains("there was an error"), "{shown}");
}

#[test]
fn what_was_known_to_fail_is_no_trouble() {
    let known: String = (0..30).map(|n| format!("TEST-KNOWN-FAIL | {}.html\n", "y".repeat(n + 1))).collect();
    let text = noise(0, 300) + "the part could not be read\n" + &noise(300, 400) + &known + &noise(400, 500);
    let shown = String::from_utf8(answer(text.as_bytes(), "Why did it fail?", SMALL).text).unwrap();
    assert!(shown.contains("could not be read") && !shown.contains("KNOWN"), "{shown}");
}

#[test]
fn a_command_that_is_quoted_over_several_lines_does_not_hide_the_cause() {
    let command: String =
        ('a'..'q').map(|letter| format!("  step {letter} && do the next thing \\\n")).collect();
    let text = noise(0, 200)
        + "the tree has changes that nobody made\n"
        + &format!("The command \"make \\\n{command}\" exited with 1.\n")
        + "bye\n";
    let shown = String::from_utf8(answer(text.as_bytes(), "Why did it fail?", SMALL).text).unwrap();
    assert!(shown.contains("changes that nobody made") && shown.contains("exited with 1."), "{shown}");
    assert!(!shown.contains("step d"), "{shown}");
}

#[test]
fn of_many_threads_that_wait_the_one_is_shown_that_does_something_else() {
    let waits = |n: u64| {
        format!("goroutine {n} [semacquire]:\nmain.(*Broker).Subscribe(0xc0{n:04x})\n\tmain.go:21 +0x65\n\n")
    };
    let text = "fatal error: all goroutines are asleep - deadlock!\n\n".to_owned()
        + &(1..40).map(waits).collect::<String>()
        + "goroutine 43 [chan send]:\nmain.(*Broker).Publish(0xc00007)\n\tmain.go:17 +0xeb\n\n"
        + &(44..90).map(waits).collect::<String>();
    let budget = Budget { tokens: 400, bytes: 4_000, lines: None };
    let shown = String::from_utf8(answer(text.as_bytes(), "why did it fail?", budget).text).unwrap();
    let holder = "goroutine 43 [chan send]:\nmain.(*Broker).Publish(0xc00007)\n\tmain.go:17 +0xeb\n";
    assert!(shown.contains("all goroutines are asleep") && shown.contains(holder), "{shown}");
}

#[test]
fn how_a_long_line_ended_begins_with_a_whole_character() {
    for before in 0..12 {
        let text = "x".repeat(before) + &"漢字🎉 ".repeat(60) + "plain words here\n";
        let budget = Budget { tokens: 198, ..SMALL };
        let shown = String::from_utf8(answer(text.as_bytes(), "why did it fail?", budget).text).unwrap();
        assert!(!shown.contains('\u{fffd}'), "{before}: {shown}");
    }
}

#[test]
fn what_is_said_of_many_files_is_shown_of_a_few() {
    let said =
        |name: char| format!("src/{name}/index.test.ts failed due to an error of code 1\n{}", noise(0, 3));
    let text = noise(0, 200)
        + "No tests were found, and that is invalid here\n"
        + &noise(200, 240)
        + &('a'..='y').map(said).collect::<String>();
    let budget = Budget { tokens: 400, bytes: 4_000, ..SMALL };
    let shown = String::from_utf8(answer(text.as_bytes(), "Why did it fail?", budget).text).unwrap();
    assert!(shown.contains("No tests were found"), "{shown}");
}

#[test]
fn what_a_line_points_at_is_its_cause() {
    for (pointing, is_shown) in [("^---- failure of the lint", true), ("---- failure of the lint", false)] {
        let text = unlike(0, 200)
            + "The function depends on the locale:\n"
            + &('a'..'i').map(|name| format!("src/{name}.cpp: prints it\n")).collect::<String>()
            + pointing
            + "\n"
            + &unlike(200, 230);
        let shown = String::from_utf8(answer(text.as_bytes(), "Why did it fail?", SMALL).text).unwrap();
        assert_eq!(shown.contains("depends on the locale"), is_shown, "{shown}");
    }
}

#[test]
fn where_warnings_are_errors_the_warning_is_the_cause() {
    let text = noise(0, 200)
        + "src/Ipynb.hs:94:10: Warning:\n    No explicit implementation\n\n<no location>:\nFailing due to -Werror.\n"
        + &noise(200, 260);
    let shown = String::from_utf8(answer(text.as_bytes(), "Why did it fail?", SMALL).text).unwrap();
    assert!(shown.contains("No explicit implementation"), "{shown}");
}

#[test]
fn a_report_with_a_sign_before_every_line_is_read_as_one_without() {
    let frames: String =
        (0..12).map(|n| format!("=     #{n} 0x45508{n} in function_{n} /src/file_{n}.c:12:3\n")).collect();
    let text = noise(0, 300) + "= ==1==ERROR: a sanitizer found it\n" + &frames + &noise(300, 600);
    let budget = Budget { tokens: 330, ..SMALL };
    let shown = String::from_utf8(answer(text.as_bytes(), "Why did it fail?", budget).text).unwrap();
    assert!(shown.contains("found it\n=     #0") && shown.contains("function_8"), "{shown}");
}

#[test]
fn in_a_program_what_stands_near_each_other_counts_together() {
    let function = |name: &str, first: &str, second: &str| {
        let rest = "    value += 1\n".repeat(4);
        format!("def {name}(value):\n    {first} = value\n{rest}    {second} = value\n{rest}{rest}{rest}\n")
    };
    let others = |from: u64, to: u64| -> String {
        let names =
            ["header", "folding"].map(|first| move |n| function(&format!("other{n}"), first, "value"));
        (from..to).flat_map(|n| names.iter().map(move |name| name(n))).collect()
    };
    let text =
        format!("import os\n\n{}{}{}", others(0, 9), function("meant", "header", "folding"), others(9, 18));
    let shown =
        String::from_utf8(answer(text.as_bytes(), "The header loses its folding", SMALL).text).unwrap();
    let meant = shown.split("[364–").nth(1).unwrap_or_default();
    assert!(meant.contains("    folding = value"), "{shown}");
}

#[test]
fn how_a_program_is_described_leads_to_what_it_does() {
    let described: String = (0..30).map(|n| format!("    A sentence about it, number {n}.\n")).collect();
    let other = |n: u64| format!("def other{n}(value):\n    value += {n}\n\n");
    let text = format!(
        "import os\n\ndef header(folding):\n    \"\"\"\n{described}    \"\"\"\n    first = value\n    return first\n\n{}",
        (0..60).map(other).collect::<String>()
    );
    let shown =
        String::from_utf8(answer(text.as_bytes(), "The header loses its folding", SMALL).text).unwrap();
    assert!(shown.contains("    first = value\n    return first\n"), "{shown}");
}

#[test]
fn a_document_says_what_a_term_means_where_it_is_in_quotes() {
    let clause = |n: u64| {
        format!(
            "{n}. The parties agree that what part {n} of this text says of the work holds for all of them, and for whoever comes after them, until they agree on something else in writing.\n"
        )
    };
    let clauses = |from, to| (from..to).map(clause).collect::<String>();
    for (quoted, is_shown) in [("\"Parties\"", true), ("“Parties”", true), ("Parties", false)] {
        let meant = format!(
            "Acme, whose seat is in the town of that name by the river, and Brook, whose seat is on the other side of it, are referred to in all that follows as the {quoted}, both of them.\n"
        );
        let text = clauses(0, 40) + &meant + &clauses(40, 80);
        let shown = String::from_utf8(answer(text.as_bytes(), "Who are the parties?", SMALL).text).unwrap();
        assert_eq!(shown.contains("Acme"), is_shown, "{shown}");
    }
}

#[test]
fn of_a_list_the_file_that_answers_most_is_shown_before_others_and_tests_after_them() {
    let line = |path: &str, n: u64| format!("{path}:{n}: merge(left, right)\n");
    let part = |n: u64| line(&format!("src/part{n}.rs"), n);
    let text: String = (0..20)
        .map(part)
        .chain((0..3).map(|n| line("tests/a.rs", n)))
        .chain((20..40).map(part))
        .chain((0..4).map(|n| line("src/zipping/of_all_parts.rs", n)))
        .collect();
    let shown =
        String::from_utf8(answer(text.as_bytes(), "Merge fails when left is empty", SMALL).text).unwrap();
    let times = |what: &str| shown.matches(what).count();
    assert!(times("src/zipping") == 4 && times("src/part") > 0 && times("tests/") == 0, "{shown}");
}

#[test]
fn rare_words_tell_more_than_common_ones_and_forms_of_a_word_are_one() {
    let text = noise(0, 300) + "the migrations were adapted for parties\n" + &noise(300, 600);
    let found =
        answer(text.as_bytes(), "Which unit of the project has a migration adaptation for the party?", SMALL);
    assert!(String::from_utf8(found.text).unwrap().contains("the migrations were adapted for parties\n"));
}

#[test]
fn members_of_json_are_found_by_their_path_and_by_what_stands_beside_them() {
    let versions: Vec<String> = (0..300)
        .map(|n| {
            format!(r#""1.{n}.0":{{"name":"axios","dist":{{"shasum":"{:08x}","size":{n}}}}}"#, n * 7_919)
        })
        .collect();
    let text = format!(r#"{{"versions":{{{}}}}}"#, versions.join(","));
    let found = answer(text.as_bytes(), "What is the shasum of axios 1.123.0?", SMALL);
    let shown = String::from_utf8(found.text).unwrap();
    assert!(shown.contains("[.versions[\"1.123.0\"].dist]\n\"shasum\":\"000edcd5\""), "{shown}");
    let Found::Passages(passages) = found.found else { panic!() };
    let passage = passages.iter().find(|passage| passage.text.contains("000edcd5")).unwrap();
    assert!(
        text[passage.bytes.start as usize..passage.bytes.end as usize].contains("\"shasum\":\"000edcd5\"")
    );
}

#[test]
fn of_a_page_only_what_a_browser_shows_is_looked_at() {
    let menu: String = (0..200).map(|n| format!("<li><a href='/x{n}'>Item {n}</a></li>")).collect();
    let text = format!(
        "<!DOCTYPE html><html><head><title>The tide &amp; the moon</title><script>var tide = 'moon';</script></head>\
         <body><ul>{menu}</ul><h2>Why tides rise</h2><p>The sea is drawn to the moon, and so the water <b>rises</b> twice \
         a day on most of the coasts of the world.</p><h2>Fish</h2><p>Many fish follow the water and feed where it has \
         been, which birds and people know well.</p></body></html>"
    );
    check(
        &text,
        "What does the page say under \"Fish\"?",
        expect![[r#"
            [1 passage · 1 line · s/id1234]
            [1 @7306]
            Why tides rise
            The sea is drawn to the moon, and so the water rises twice a day on most of the coasts of the world.
            Fish
            Many fish follow the water and feed where it has been, which birds and people know well.
        "#]],
    );
    check(
        &text,
        "What does the article \"The tide & the moon\" report?",
        expect![[r#"
            [3 passages · 1 line · s/id1234]
            [1] The tide & the moon
            [1 @7328] The sea is drawn to the moon, and so the water rises twice a day on most of the coasts of the world.
            [1 @7455] Many fish follow the water and feed where it has been, which birds and people know well.
        "#]],
    );
}

#[test]
fn the_heading_comes_with_what_stands_under_it() {
    let release = |n: u64, what: &str| {
        let fixes: String = (0..8).map(|fix| format!("- mend part {fix} of {n}\n")).collect();
        format!("1.{n}.0\n=====\n\n{fixes}{what}\n")
    };
    let text: String = (0..30).map(|n| release(n, if n == 17 { "- drop the fig\n" } else { "" })).collect();
    let found = answer(text.as_bytes(), "Which release dropped the fig?", SMALL);
    let found = String::from_utf8_lossy(&found.text).into_owned();
    assert!(found.contains("1.17.0\n") && found.contains("- drop the fig\n"), "{found}");
}

#[test]
fn on_a_page_what_stands_under_a_heading_is_found_by_what_the_heading_says() {
    let person = |name: &str, actor: &str| {
        format!(
            "<h3>{name} Huxley</h3><table><tr><td>{actor}</td><td>all seasons</td></tr></table>\
             <p>A friend of the family who has lived next door for as long as anybody can remember.</p>\
             <p>Seen in the pilot, where the Huxleys talk about the Huxleys.</p>"
        )
    };
    let people = [("Ann", "Jo Berg"), ("Ben", "Kim Dahl"), ("Cleo", "Lou Eng"), ("Dan", "Max Fox")];
    let people: String = people.iter().map(|(name, actor)| person(name, actor)).collect();
    // Neither a heading nor a tag of the whole page comes first.
    let text = format!("The Huxleys - a list<h1>The Huxleys</h1><p>All of the Huxleys.</p>{people}");
    check(
        &text,
        "who is cleo of the huxleys?",
        expect![[r#"
            [2 passages · 1 line · s/id1234]
            [1] Ben Huxley
            [1 @475]
            Seen in the pilot, where the Huxleys talk about the Huxleys.
            Cleo Huxley
            Lou Eng all seasons
            A friend of the family who has lived next door for as long as anybody can remember.
            Seen in the pilot, where the Huxleys talk about the Huxleys.
            Dan Huxley
            Max Fox all seasons
            A friend of the family who has lived next door for as long as anybody can remember.
        "#]],
    );
}

#[test]
fn a_giant_line_is_answered_from_in_parts_with_where_they_are() {
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
fn what_is_found_the_terminal_would_show() {
    let text = noise(0, 300) + "10%\r50%\r\u{1b}[31merror\u{1b}[0m: no space left\r\n" + &noise(300, 600);
    let shown = String::from_utf8(answer(text.as_bytes(), "what went wrong?", SMALL).text).unwrap();
    assert!(shown.contains("error: no space left\n") && !shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn words_and_lines_that_a_border_cuts_are_taken_whole_or_not() {
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
fn documents_of_json_lines_are_told_apart_and_asked_for_trouble() {
    let line =
        |n: u64| format!("{{\"n\":{n},\"level\":\"{}\"}}\n", if n % 100 == 7 { "error" } else { "info" });
    let text: String = (0..500).map(line).collect();
    let found = answer(text.as_bytes(), "what went wrong?", SMALL);
    let Found::Passages(passages) = found.found else { panic!() };
    assert!(
        passages.len() > 2
            && passages.iter().all(|passage| passage.line == passage.last_line && passage.line % 100 == 8),
        "{passages:?}"
    );
}

#[test]
fn what_a_text_is_about_it_says_as_it_begins() {
    let text = format!("# Forebay keeps what tools say\n\n{}", noise(0, 900));
    let shown = String::from_utf8(answer(text.as_bytes(), "what is this text about?", SMALL).text).unwrap();
    assert!(shown.contains("# Forebay keeps what tools say"), "{shown}");
}

#[test]
fn a_passage_is_named_by_the_first_and_the_last_line_that_is_shown() {
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
fn where_nothing_answers_that_is_said_and_what_stands_out_is_shown() {
    let text = noise(0, 300) + "error: no space left on device\n" + &noise(300, 400);
    for tokens in [1_000, 110] {
        let budget = Budget { tokens, bytes: 4_000, lines: None };
        let found = answer(text.as_bytes(), "Where is Ruritania?", budget);
        assert_eq!((found.found, found.shown, found.lines), (Found::Passages(Vec::new()), Vec::new(), None));
        let shown = String::from_utf8(found.text).unwrap();
        assert!(
            shown.starts_with("[nothing answers that by its words; what stands out · 401 lines"),
            "{shown}"
        );
        assert!(shown.contains("error: no space left on device\n"), "{shown}");
        assert!(tokens::count(&shown) <= tokens / NOWHERE || tokens < 2 * Budget::LEAST.tokens, "{shown}");
    }
}

#[test]
fn a_question_about_all_of_an_output_gets_what_stands_out() {
    let record = |n: u64| format!("{{\"id\":{n},\"plan\":\"free\"}}\n");
    let text: String = (0..90).map(record).collect::<String>() + "{\"id\":90,\"plan\":\"gold\"}\n";
    let text = text + &(91..200).map(record).collect::<String>();
    let budget = Budget { tokens: 400, bytes: 8_000, lines: None };
    let found = answer(text.as_bytes(), "Which record is unlike the others?", budget);
    let Found::Passages(passages) = found.found else { panic!() };
    assert!(passages.iter().any(|passage| passage.text.contains("\"gold\"")), "{passages:?}");
    // What is said of others has lines and bytes, too.
    let said = passages.iter().find(|passage| passage.said.is_some()).unwrap();
    // Passages may lie in it, and so nothing is said to be omitted.
    assert!(!said.said.as_ref().unwrap().contains("omitted"), "{said:?}");
    assert!(said.text.is_empty() && said.last_line > said.line, "{said:?}");
    let shown = String::from_utf8(found.text).unwrap();
    let label = format!("[{}–{}: {}]\n", said.line, said.last_line, said.said.as_ref().unwrap());
    assert!(shown.contains(&label), "{shown}");
}

#[test]
fn what_has_the_words_of_a_question_is_shown_with_what_stands_out() {
    let text = noise(0, 200)
        + "the lexer was built in 9 s\n"
        + &noise(200, 400)
        + "error: no space left on device\n";
    let budget = Budget { tokens: 300, bytes: 4_000, lines: None };
    for (question, both) in [("How is the lexer?", true), ("How is \"the lexer\"?", false)] {
        let found = answer(text.as_bytes(), question, budget);
        let Found::Passages(passages) = &found.found else { panic!() };
        assert_eq!(passages.len(), found.shown.len());
        let shown = String::from_utf8(found.text).unwrap();
        assert!(shown.contains("the lexer was built"), "{shown}");
        assert_eq!(shown.contains("no space left"), both, "{shown}");
    }
}

#[test]
fn a_question_about_trouble_finds_it_in_what_is_no_run() {
    let paths = |from: u64| (from..from + 300).map(|n| format!("./src/part{n}/mod.rs\n")).collect::<String>();
    let text = paths(0) + "find: './secret': Permission denied\n" + &paths(300);
    for question in ["what went wrong?", "why did it fail?", "Which package failed to install?"] {
        for tokens in [150, 400] {
            let budget = Budget { tokens, bytes: 8_000, lines: None };
            let shown = String::from_utf8(answer(text.as_bytes(), question, budget).text).unwrap();
            assert!(shown.contains("Permission denied"), "{question} in {tokens}: {shown}");
        }
    }
}

#[test]
fn a_page_is_answered_for_as_a_whole_by_what_it_says() {
    let item = |n: u64| format!("<li><a href='/x{n}'>Item {n}</a></li>");
    let menu: String = (0..90).map(item).collect();
    let text = format!(
        "<!DOCTYPE html><html><head><title>Tides</title></head><body><ul>{menu}</ul><p>The sea is drawn to the moon, and so the \
         water rises twice a day on most of the coasts of the world.</p></body></html>"
    );
    let found = answer(text.as_bytes(), "What stands out here?", SMALL);
    let Found::Passages(passages) = found.found else { panic!() };
    assert!(passages.iter().any(|passage| passage.text.starts_with("The sea is drawn")), "{passages:?}");
}

#[test]
fn passages_that_touch_are_one() {
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
fn what_a_line_belongs_to_is_shown_with_it() {
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
fn in_a_program_the_line_that_a_statement_stands_under_is_shown_with_it() {
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
fn a_sentence_is_shown_to_its_end_and_from_its_beginning() {
    let wrapped = "It may be that the castle of the king is closed to whoever comes\nfrom the town of Ruritania by the river without a letter that says\nwho he is, or to anyone who comes late.\n";
    let text = noise(0, 60) + "\n" + wrapped + "\n" + &noise(60, 90);
    let budget = Budget { tokens: 72, ..SMALL };
    let shown = String::from_utf8(answer(text.as_bytes(), "Who is in Ruritania?", budget).text).unwrap();
    assert!(shown.contains(wrapped), "{shown}");
}

#[test]
fn a_small_hole_between_two_passages_is_filled() {
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

#[test]
fn a_date_is_found_however_it_is_written() {
    for written in ["2015/03/15", "2015-03-15", "Mar 15 2015", "15/Mar/2015"] {
        let day =
            |n: u64| format!("{},15,3,2015,march\n", written.replace("15", &format!("{:02}", n % 14 + 16)));
        let text = (0..90).map(day).chain([format!("{written},wet\n")]).chain((90..180).map(day));
        let text: String = text.collect();
        let budget = Budget { tokens: 80, ..SMALL };
        let question = "How much did it rain on 15 March 2015?";
        let shown = String::from_utf8(answer(text.as_bytes(), question, budget).text).unwrap();
        assert!(shown.contains(&format!("{written},wet")), "{shown}");
    }
}

#[test]
fn the_rows_with_the_most_of_what_is_asked_for_are_shown() {
    let row = |n: u64| format!("2012/01/{n},{}.5,{}\n", n * 37 % 91, n * 7 % 13);
    let text = "date,temp_max,wind\n".to_owned() + &(0..90).map(row).collect::<String>();
    let shown = String::from_utf8(answer(text.as_bytes(), "What was the hottest day?", SMALL).text).unwrap();
    assert!(shown.contains(",90.5,") && shown.contains("date,temp_max,wind"), "{shown}");
}

#[test]
fn of_a_record_that_is_named_the_members_are_shown_and_no_long_text_of_others() {
    let prose = "The rsa package is under a licence that who wrote it gave. ".repeat(40);
    let record = |n: u64, name: &str| {
        format!(
            r#"{{"name":"{name}","author":"Author {n}","description":"{prose}","needs":["part{n} (>=1)"]}}"#
        )
    };
    let records: Vec<String> = (0..40).map(|n| record(n, if n == 23 { "rsa" } else { "other" })).collect();
    let text = format!(r#"{{"installed":[{}]}}"#, records.join(","));
    let budget = Budget { tokens: 500, bytes: 8_000, lines: None };
    for (question, answered) in
        [("Who wrote rsa?", "\"author\":\"Author 23\""), ("Which part does rsa need?", "\"part23 (>=1)\"")]
    {
        let shown = String::from_utf8(answer(text.as_bytes(), question, budget).text).unwrap();
        assert!(shown.contains(answered), "{question}: {shown}");
    }
}

#[test]
fn nothing_is_said_to_be_nothing() {
    let none = expect![[r#"
        [nothing answers that by its words; what stands out · 1 line · s/id1234]
        [1] some words
    "#]];
    none.assert_eq(&String::from_utf8_lossy(&answer(b"some words\n", "Where is Ruritania?", SMALL).text));
    for question in ["", " \n"] {
        assert!(excerpt(&output_of(b"x"), &Query::Ask(question.into()), SMALL).is_err());
    }
    for (text, question) in [
        (&b""[..], "why?"),
        (b"\n\n\n", "why?"),
        (&[0; 900], "why?"),
        (b"x", "???"),
        (b"{}", "what?"),
        (b"<html>", "what?"),
    ] {
        answer(text, question, SMALL);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_answer_is_within_its_budget_and_shows_what_is_there(
        start in prop_oneof![Just(""), Just("<!doctype html>"), Just("["), Just("{\"a\":"), Just("diff --git a/x b/x\n@@ -1 +1 @@\n")],
        parts in proptest::collection::vec(prop_oneof![
            Just(b"plain words here\n".to_vec()), Just(b"error: it broke\n".to_vec()), Just(b"    at deep place\n".to_vec()),
            Just(vec![b'x'; 3_000]), Just("漢字🎉 ".repeat(50).into_bytes()), Just(b"\n\n".to_vec()), Just(b"50%\r".to_vec()),
            Just(b"<p>some <b>text</b>&amp;&#99;</p>".to_vec()), Just(b"{\"key\": [1, \"words\"]},".to_vec()),
            Just(b"exit code 1\n".to_vec()), proptest::collection::vec(any::<u8>(), 0..60),
        ], 0..60),
        question in prop_oneof![Just("why did it fail?"), Just("what does key say of words?"), Just("error at \"deep place\" 漢字"), Just("summary of the page")],
        tokens in 64u64..500,
    ) {
        let bytes = [start.as_bytes().to_vec(), parts.concat()].concat();
        let budget = Budget { tokens, bytes: tokens * 8, lines: None };
        let first = answer(&bytes, question, budget);
        prop_assert_eq!(&first.text, &answer(&bytes, question, budget).text, "the same question has the same answer");
        let Found::Passages(passages) = &first.found else { panic!() };
        let text = String::from_utf8_lossy(&bytes);
        // Escape codes, what was written over and tags are left out.
        let plain = start.is_empty() && !bytes.iter().any(|byte| matches!(byte, 0x1b | b'\r' | b'<'));
        for line in passages.iter().filter(|_| plain).flat_map(|passage| passage.text.lines()) {
            prop_assert!(text.contains(line), "every line that is shown is there: {line:?}");
        }
        let mut at = 0;
        for range in &first.shown {
            prop_assert!(range.start >= at && range.end > range.start && range.end <= bytes.len() as u64);
            at = range.start;
        }
    }
}
