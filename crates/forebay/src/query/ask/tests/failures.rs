use super::{SMALL, answer, check, noise, unlike};
use crate::Budget;
use crate::query::Found;
use expect_test::expect;

#[test]
fn a_question_about_failures_finds_the_cause_with_its_trace() {
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
fn words_of_the_question_are_found_with_the_failure_after_them() {
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
fn a_passed_test_does_not_answer_why_one_fails() {
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
fn output_of_passed_tests_does_not_answer_why_one_fails() {
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
fn passed_tests_beside_a_failed_one_are_not_shown() {
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
fn the_trace_of_a_named_failure_is_shown_with_its_end() {
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
fn a_failure_word_that_is_a_value_is_found_in_its_records() {
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
fn a_failed_step_is_found_anywhere() {
    let text = noise(0, 40)
        + "fetching the index\nthe index has no such entry as x\nThe command \"make\" exited with 2.\n"
        + &"# testing that an error is told\n".repeat(300)
        + &noise(40, 400)
        + "Done.\n";
    let shown = String::from_utf8(answer(text.as_bytes(), "Why did it fail?", SMALL).text).unwrap();
    assert!(shown.contains("no such entry as x\nThe command \"make\" exited with 2.\n"), "{shown}");
}

#[test]
fn output_of_passed_tests_is_not_a_failure() {
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
fn a_summary_that_names_every_test_counts_once() {
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
fn commands_that_a_shell_echoes_are_not_changed_lines() {
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
fn the_name_of_a_tap_test_is_shown_above_its_checks() {
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
fn a_verdict_counts_anywhere() {
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
fn an_expected_failure_is_not_a_failure() {
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
fn of_many_waiting_threads_the_one_that_differs_is_shown() {
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
fn the_end_of_a_long_line_begins_with_a_whole_character() {
    for before in 0..12 {
        let text = "x".repeat(before) + &"漢字🎉 ".repeat(60) + "plain words here\n";
        let budget = Budget { tokens: 198, ..SMALL };
        let shown = String::from_utf8(answer(text.as_bytes(), "why did it fail?", budget).text).unwrap();
        assert!(!shown.contains('\u{fffd}'), "{before}: {shown}");
    }
}

#[test]
fn the_same_message_about_many_files_is_shown_for_a_few() {
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
fn the_line_that_an_error_points_at_is_its_cause() {
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
fn a_report_with_a_prefix_on_every_line_is_read_without_it() {
    let frames: String =
        (0..12).map(|n| format!("=     #{n} 0x45508{n} in function_{n} /src/file_{n}.c:12:3\n")).collect();
    let text = noise(0, 300) + "= ==1==ERROR: a sanitizer found it\n" + &frames + &noise(300, 600);
    let budget = Budget { tokens: 330, ..SMALL };
    let shown = String::from_utf8(answer(text.as_bytes(), "Why did it fail?", budget).text).unwrap();
    assert!(shown.contains("found it\n=     #0") && shown.contains("function_8"), "{shown}");
}

#[test]
fn failures_are_found_among_documents_of_json_lines() {
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
fn a_question_about_failures_finds_them_outside_of_runs() {
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
