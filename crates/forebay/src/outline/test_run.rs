//! Suites, failed tests and summaries of test runs.

use crate::Result;
use crate::classify::lines::Source;
use crate::formats::Role;
use crate::outline::{Items, LineSpan, name};
use crate::terminal::without_codes;

/// Returns the name of an item: the line without the rules around it.
pub(crate) fn called(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    let bare = text.trim_matches(['=', '_', '-', ' ']);
    name(if bare.is_empty() { text } else { bare })
}

/// Returns the kind of item for a line with this role, and whether it goes on after its line.
pub(crate) fn item(role: Role) -> (&'static str, bool) {
    match role {
        Role::Suite => ("suite", true),
        Role::Failure => ("failure", true),
        Role::Failed => ("failure", false),
        _ => ("summary", false),
    }
}

/// Adds the suites with the failures in them, and the summaries.
pub(crate) fn outline(source: &Source, items: &mut Items) -> Result<()> {
    let mut buffer = Vec::new();
    let mut in_suite = false;
    // The output of passed tests has the same rules around it as failures.
    let mut passed = false;
    source.for_each(|line| {
        let text = without_codes(line.text, &mut buffer);
        let Some(event) = source.output.formats().event(text) else { return };
        let (kind, goes_on) = item(event);
        if event == Role::Suite {
            in_suite = true;
            passed = memchr::memmem::find(text, b"= PASSES =").is_some();
        }
        if passed && event == Role::Failure {
            return;
        }
        let depth = u32::from(in_suite && matches!(event, Role::Failure | Role::Failed));
        let last = if goes_on { crate::outline::OPEN } else { line.number };
        items.add(LineSpan { first: line.number, last }, depth, kind, || called(text));
        if event == Role::Summary {
            (in_suite, passed) = (false, false);
        }
    })
}

#[cfg(test)]
mod tests {
    use crate::outline::tests::of;

    #[test]
    fn a_run_is_one_whatever_its_tests_print() {
        let mut text: String = (0..40)
            .map(|n| format!("=== RUN   TestAll/case{n}\n    x_test.go:3: error: simulated, handled\n"))
            .collect();
        (0..40).for_each(|n| text += &format!("    --- PASS: TestAll/case{n} (0.00s)\n"));
        text += "FAIL\nFAIL\tx\t0.008s\nFAIL\n";
        assert!(of(&text).starts_with("test run\n"), "{}", of(&text));
    }

    #[test]
    fn a_run_of_pytest_has_its_failures_and_how_it_ended() {
        let out = of(
            "===== test session starts =====\nplatform linux\ncollected 3 items\n\ntests/test_a.py .F\n\n===== FAILURES =====\n_____ test_two _____\n\n    def test_two():\n>       assert 1 == 2\nE       assert 1 == 2\n\ntests/test_a.py:5: AssertionError\n===== short test summary info =====\nFAILED tests/test_a.py::test_two - assert 1 == 2\n===== 1 failed, 2 passed in 0.12s =====\n",
        );
        expect_test::expect![[r#"
            test run
            1-6 suite | test session starts
            7-14 suite | FAILURES
            8-14   failure | test_two
            15-16 suite | short test summary info
            16-16   failure | FAILED tests/test_a.py::test_two - assert 1 == 2
            17-17 summary | 1 failed, 2 passed in 0.12s
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn how_runs_of_many_runners_ended_is_known() {
        for line in [
            "OK (3 tests, 9 assertions)",
            "Tests: 1672, Assertions: 4425, Failures: 4, Skipped: 4.",
            "115 successes / 1 failure / 0 errors / 0 pending : 1.203 seconds",
            "Ran 150 tests, 149 results as expected, 1 unexpected (2026-11-17 06:44:49+0000, 0.282541 sec)",
            "[ FAIL 1 | WARN 0 | SKIP 0 | PASS 20 ]",
            "2 out of 50 tests failed (0.02s)",
            "Testing shop: TEST COMPLETE, 12 ok, 1 failed of 13 test cases",
            "test cases:  40 |  39 passed | 1 failed",
            "[doctest] test cases:  60 |  59 passed | 1 failed | 0 skipped",
            "# TOTAL: 1",
            "1605 specs, 6 failures",
            "Executed 1605 of 1605 specs (6 FAILED) in 4 secs.",
            "Chrome 120.0 (Linux): Executed 20 of 20 (1 FAILED) (0.5 secs / 0.3 secs)",
            "  2 tests failed",
            "12 scenarios (1 failed, 11 passed)",
            "3 scenarios passed, 1 failed, 0 skipped",
            "10 tests, 9 passed, 1 failed",
            "10 tests, 1 failure",
            "Ran 3 tests containing 9 assertions.",
            "[info] Tests: succeeded 10, failed 1, canceled 0, ignored 0, pending 0",
            "\t Executed 10 tests, with 1 failure (0 unexpected) in 0.1 (0.2) seconds",
            "  Test Count: 10, Passed: 9, Failed: 1, Warnings: 0, Inconclusive: 0, Skipped: 0",
            "Failed!  - Failed:     1, Passed:     9, Skipped:     0, Total:    10",
        ] {
            assert!(crate::formats::Formats::default().is_of_test_run(line.as_bytes()), "{line}");
        }
        for line in ["4 steps (see below)", "Tests: none", "# a comment", "Executed the plan of 3 men"] {
            assert!(!crate::formats::Formats::default().is_of_test_run(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn a_run_that_quotes_a_program_is_a_run() {
        let program = "class Template extends Base\n{\n    private $source;\n\n    public function show()\n    {\n        return $this->source;\n    }\n}\n";
        let quoted = format!("Compiled templates that failed:\n<?php\n{}", program.repeat(40));
        let end = "\n1) CartTest::testTotal\nFailed asserting that 2 is 1.\n\nFAILURES!\nTests: 12, Assertions: 40, Failures: 1.\n";
        assert!(of(&format!("{quoted}{end}")).starts_with("test run\n"));
        assert!(of(&quoted).starts_with("PHP\n"));
        let document = "# Shop\n\n## What it prints\n\n```\nFAILURES!\nTests: 12, Assertions: 40, Failures: 1.\n```\n\n## How to build it\n\n".to_owned();
        let prose = "It is built by `make`, and there is nothing else to say of that.\n\n".repeat(12);
        assert!(of(&format!("{document}{prose}")).starts_with("Markdown\n"));
    }

    #[test]
    fn a_run_of_cargo_has_its_failures_and_how_it_ended() {
        let out = of(
            "   Compiling a v0.1.0\n     Running unittests src/lib.rs (target/debug/deps/a-1)\n\nrunning 2 tests\ntest a ... ok\ntest b::c ... FAILED\n\nfailures:\n\n---- b::c stdout ----\nthread 'b::c' panicked at src/lib.rs:5:9:\nassertion failed\n\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n\n   Doc-tests a\n\ntest result: ok. 0 passed; 0 failed\n",
        );
        expect_test::expect![[r#"
            test run
            2-14 suite | Running unittests src/lib.rs (target/debug/deps/a-1)
            6-6   failure | test b::c ... FAILED
            10-14   failure | b::c stdout
            15-15 summary | test result: FAILED. 1 passed; 1 failed; 0 ignored
            17-18 suite | Doc-tests a
            19-19 summary | test result: ok. 0 passed; 0 failed
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_run_of_go_has_its_failures_and_how_it_ended() {
        let out = of(
            "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n    b_test.go:9: no\n--- FAIL: TestB (0.01s)\nFAIL\nFAIL\texample.org/a\t0.012s\nok  \texample.org/b\t0.100s\n--- FAIL: TestC (0.00s)\n",
        );
        expect_test::expect![[r#"
            test run
            5-6 failure | FAIL: TestB (0.01s)
            7-7 suite | FAIL example.org/a 0.012s
            8-9 suite | ok example.org/b 0.100s
            9-9   failure | FAIL: TestC (0.00s)
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_run_of_jest_has_its_failures_and_how_it_ended() {
        let out = of(
            "PASS src/a.test.js\nFAIL src/b.test.js\n  ● adds › twice\n\n    expect(received).toBe(expected)\n\n      at Object.<anonymous> (src/b.test.js:3:5)\n\nTest Suites: 1 failed, 1 passed, 2 total\nTests:       1 failed, 3 passed, 4 total\nTime:        1.2 s\n",
        );
        expect_test::expect![[r#"
            test run
            1-1 suite | PASS src/a.test.js
            2-8 suite | FAIL src/b.test.js
            3-8   failure | ● adds › twice
            9-9 summary | Test Suites: 1 failed, 1 passed, 2 total
            10-10 summary | Tests: 1 failed, 3 passed, 4 total
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_run_of_mocha_has_its_failures_and_how_it_ended() {
        let out = of(
            "  Store\n    ✓ gets\n    1) puts\n\n  1 passing (8ms)\n  1 failing\n\n  1) Store\n       puts:\n     AssertionError: no\n",
        );
        expect_test::expect![[r#"
            test run
            3-4 failure | 1) puts
            5-5 summary | 1 passing (8ms)
            6-6 summary | 1 failing
            8-10 failure | 1) Store
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_run_of_maven_has_its_failures_and_how_it_ended() {
        let out = of(
            "[INFO] Running org.example.ATest\n[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s <<< FAILURE! -- in org.example.ATest\n[ERROR] org.example.ATest.two  Time elapsed: 0.01 s  <<< FAILURE!\njava.lang.AssertionError\n\tat org.example.ATest.two(ATest.java:9)\n\tat x\n\tat y\n\tat z\n\tat w\n\tat v\nResults:\nTests run: 2, Failures: 1, Errors: 0, Skipped: 0\n",
        );
        expect_test::expect![[r#"
            test run
            1-11 suite | [INFO] Running org.example.ATest
            2-2   failure | [ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s <<< FAILURE! -- in org.example.ATest
            3-11   failure | [ERROR] org.example.ATest.two Time elapsed: 0.01 s <<< FAILURE!
            12-12 summary | Tests run: 2, Failures: 1, Errors: 0, Skipped: 0
        "#]].assert_eq(&out);
    }

    #[test]
    fn a_run_of_gradle_has_its_failures_and_how_it_ended() {
        let out = of(
            "> Task :test\n\norg.example.ATest > two FAILED\n    java.lang.AssertionError at ATest.java:9\n\n2 tests completed, 1 failed\n",
        );
        expect_test::expect![[r#"
            test run
            3-5 failure | org.example.ATest > two FAILED
            6-6 summary | 2 tests completed, 1 failed
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_run_of_rspec_has_its_failures_and_how_it_ended() {
        let out = of(
            ".F\n\nFailures:\n\n  1) Store puts\n     Failure/Error: expect(1).to eq(2)\n\nFinished in 0.1 seconds\n2 examples, 1 failure\n\nFailed examples:\n\nrspec ./spec/store_spec.rb:5 # Store puts\n",
        );
        expect_test::expect![[r#"
            test run
            3-8 suite | Failures:
            5-8   failure | 1) Store puts
            9-9 summary | 2 examples, 1 failure
            11-13 suite | Failed examples:
            13-13   failure | rspec ./spec/store_spec.rb:5 # Store puts
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_run_of_ctest_has_its_failures_and_how_it_ended() {
        let out = of(
            "Test project /build\n    Start 1: a\n1/2 Test #1: a ................   Passed    0.01 sec\n    Start 2: b\n2/2 Test #2: b ................***Failed    0.01 sec\n\n50% tests passed, 1 tests failed out of 2\n",
        );
        expect_test::expect![[r#"
            test run
            5-5 failure | 2/2 Test #2: b ................***Failed 0.01 sec
            7-7 summary | 50% tests passed, 1 tests failed out of 2
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_run_of_tap_has_its_failures_and_how_it_ended() {
        let out = of(
            "TAP version 13\n1..2\nok 1 - a\nnot ok 2 - b\n  ---\n  at: x\n  ---\n# tests 2\n# pass 1\n# fail 1\n",
        );
        expect_test::expect![[r#"
            test run
            4-7 failure | not ok 2 - b
            8-8 summary | # tests 2
            9-9 summary | # pass 1
            10-10 summary | # fail 1
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_run_of_unittest_has_its_failures_and_how_it_ended() {
        let out = of(
            "test_a (tests.A) ... ok\ntest_b (tests.A) ... FAIL\n\n======================================================================\nFAIL: test_b (tests.A)\n----------------------------------------------------------------------\nTraceback (most recent call last):\nAssertionError\n\n----------------------------------------------------------------------\nRan 2 tests in 0.001s\n\nFAILED (failures=1)\n",
        );
        expect_test::expect![[r#"
            test run
            2-2 failure | test_b (tests.A) ... FAIL
            5-10 failure | FAIL: test_b (tests.A)
            11-11 summary | Ran 2 tests in 0.001s
            13-13 summary | FAILED (failures=1)
        "#]]
        .assert_eq(&out);
    }
}
