//! Lines of test runners.

use crate::text::pattern::compiled;
use regex::bytes::{Regex, RegexSet};
use std::sync::LazyLock;

/// Event that a line of a test run reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A part of the run begins.
    Suite,
    /// A test failed, and the lines after this one tell how.
    Failure,
    /// A test failed; the line is all there is.
    Failed,
    /// How it ended.
    Summary,
}

/// Lines of pytest, cargo, go, jest, vitest, mocha, JUnit under Maven and Gradle, RSpec, CTest, TAP and unittest.
pub(crate) const PATTERNS: &[(Event, &str)] = &[
    (
        Event::Summary,
        r"^=+ .*\b\d+ (?:passed|failed|errors?|skipped|deselected|warnings?|xfailed)\b.* in \d.*=+$",
    ),
    (Event::Summary, r"^=* ?tests finished: \d+ passed"),
    (Event::Summary, r"^(?:\d+ (?:passed|failed|error|skipped|warnings?)s?,? ?)+ in [\d.]+ ?s"),
    (
        Event::Suite,
        r"^=+ (?:test session starts|FAILURES|ERRORS|warnings summary|short test summary info|slowest .*|PASSES|test process starts) =+$",
    ),
    (Event::Failure, r"^_{3,} (?:ERROR (?:at|collecting) )?\S.*? _{3,}$"),
    (Event::Failed, r"^(?:FAILED|ERROR) \S+\.py(?:::|$| - )"),
    (Event::Failed, r"^\S+::\S+ (?:FAILED|ERROR)\b"),
    (Event::Summary, r"^test result: (?:ok|FAILED)\."),
    (Event::Failed, r"^test \S+.* \.\.\. FAILED"),
    (Event::Failure, r"^-{4} .+ std(?:out|err) -{4}$"),
    (Event::Suite, r"^\s*(?:Running (?:unittests )?\S+\.rs \(|Doc-tests \w)"),
    (Event::Suite, r"^\s*(?:Nextest run|Starting \d+ tests? across)\b"),
    (Event::Failed, r"^\s*FAIL \[ *[\d.]+s\] \S+"),
    (Event::Failure, r"^\s*--- FAIL: \S+ \([\d.]+s\)"),
    (Event::Suite, r"^(?:FAIL|ok {2}|---)\s*\t\S+\t(?:[\d.]+s|\(cached\)|\[.*\])"),
    (Event::Suite, r"^\s?(?:PASS|FAIL) {1,2}[\w@./\\\[\](){} -]+\.\w+(?: \([\d.]+ ?m?s\))?$"),
    (Event::Failure, r"^\s*(?-u:\xe2\x97\x8f) .+ (?-u:\xe2\x80\xba) "),
    (Event::Failure, r"^\s*(?-u:\xe2\x97\x8f) Test suite failed to run"),
    (Event::Failure, r"^\s*FAIL\s+\S+ > .+"),
    (Event::Failed, r"^\s+(?-u:\xc3\x97|\xe2\x9c\x95|\xe2\x9c\x97|\xe2\x9c\x96) .+"),
    (Event::Summary, r"^\s*(?:Tests|Test Suites|Test Files|Snapshots):?\s+(?:\d+ \w+(?:,? \|? ?)?)+"),
    (Event::Summary, r"^\s+\d+ (?:passing|failing|pending)\b"),
    (Event::Failure, r"^ {2,4}\d{1,4}\) \S.*"),
    (Event::Suite, r"^(?:\[INFO\] )?Running (?:[a-z_][\w$]*\.)+[A-Z][\w$]*$"),
    (Event::Failed, r"^(?:\[ERROR\] )?Tests run: \d+.*<<< (?:FAILURE|ERROR)!"),
    (Event::Failure, r"^(?:\[ERROR\] )?\S+\(?.*\)?\s+Time elapsed: .*<<< (?:FAILURE|ERROR)!"),
    (Event::Summary, r"^(?:\[\w+\] )?Tests run: \d+, Failures: \d+, Errors: \d+(?:, Skipped: \d+)?$"),
    (Event::Failure, r"^\S+(?: > .+)+ FAILED$"),
    (Event::Summary, r"^\d+ tests? completed(?:, \d+ (?:failed|skipped))*$"),
    (Event::Suite, r"^(?:Failures|Failed examples|Pending:.*):$"),
    (Event::Failed, r"^rspec \./\S+:\d+ # "),
    (Event::Summary, r"^\d+ examples?, \d+ failures?"),
    (Event::Summary, r"^\d+ (?:runs|tests), \d+ assertions, \d+ failures, \d+ errors"),
    (Event::Failed, r"^\s*\d+/\d+ Test +#\d+: .*\*\*\*"),
    (Event::Summary, r"^\d+% tests passed, \d+ tests? failed out of \d+"),
    (Event::Failure, r"^\s*not ok \d+\b"),
    (Event::Suite, r"^\s*# Subtest: "),
    (Event::Summary, r"^# (?:tests|pass|fail) +\d+$"),
    (Event::Failure, r"^(?:FAIL|ERROR): \w+ \([\w.]+\)"),
    (Event::Failed, r"^\w+ \([\w.]+\).* \.\.\. (?:FAIL|ERROR)$"),
    (Event::Summary, r"^Ran \d+ tests? in [\d.]+s"),
    (Event::Summary, r"^FAILED \((?:failures|errors|skipped|expected failures|unexpected successes)="),
    (Event::Suite, r"^\[-{10}\] \d+ tests? from \S+(?:, where .*)?$"),
    (Event::Failed, r"^\[  FAILED  \] \S+"),
    (Event::Summary, r"^\[==========\] \d+ tests? from .* ran\."),
    (Event::Summary, r"^OK \(\d+ tests?, \d+ assertions?\)"),
    (Event::Summary, r"^Tests: \d+, Assertions: \d+"),
    // busted, ert, testthat, tasty, Erlang's common test.
    (Event::Summary, r"^\d+ success(?:es)? / \d+ failures? / \d+ errors?"),
    (Event::Summary, r"^Ran \d+ tests, \d+ results as expected"),
    (Event::Summary, r"^\[ FAIL \d+ \| WARN \d+ \| SKIP \d+ \| PASS \d+ \]"),
    (Event::Summary, r"^(?:\d+ out of \d+ tests failed|All \d+ tests passed) \("),
    (Event::Summary, r"^Testing .*: TEST COMPLETE, \d+ ok, \d+ failed"),
    // Catch2, doctest, automake.
    (Event::Summary, r"^(?:\[doctest\] )?test cases: +\d+ \| +\d+ (?:passed|failed)"),
    (Event::Summary, r"^# (?:TOTAL|PASS|FAIL): +\d+$"),
    // Jasmine, karma, ava, cucumber, behave, Robot, ExUnit.
    (Event::Summary, r"^\d+ specs?, \d+ failures?"),
    (Event::Summary, r"Executed \d+ of \d+ (?:specs? )?(?:\(\d+ FAILED\)|SUCCESS|\w+ in )"),
    (Event::Summary, r"^\s+\d+ tests? (?:failed|passed)$"),
    (
        Event::Summary,
        r"^\d+ (?:features?|scenarios?|steps?) (?:\(\d+ (?:failed|passed|skipped|undefined|pending)|passed, \d+ failed)",
    ),
    (Event::Summary, r"^\d+ tests, \d+ (?:passed, \d+ failed|failures?)"),
    // clojure.test, ScalaTest, XCTest, NUnit, .NET.
    (Event::Summary, r"^Ran \d+ tests containing \d+ assertions"),
    (Event::Summary, r"^(?:\[info\] )?Tests: succeeded \d+, failed \d+"),
    (Event::Summary, r"^\s*Executed \d+ tests, with \d+ failures?"),
    (Event::Summary, r"^\s*(?:Test Count|Tests run|Total tests): \d+[,.] (?:Passed|Errors|Failures): \d+"),
    (Event::Summary, r"^(?:Failed|Passed)!\s+- Failed: +\d+, Passed: +\d+"),
];

#[expect(clippy::expect_used, reason = "the patterns are part of the program, and tests compile them")]
pub(crate) static SET: LazyLock<RegexSet> = LazyLock::new(|| {
    // Borders of words that are those of Unicode are slow in lines with other signs than ASCII's, and runners print many.
    RegexSet::new(PATTERNS.iter().map(|(_, pattern)| format!("(?-u){pattern}")))
        .expect("patterns of this file")
});

/// Prefilter that every pattern implies, so that most lines are skipped at scan speed.
pub(crate) static CANDIDATE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?-u)^(?:[=_-]{3}|FAIL|ERROR|PASS|OK|ok {2}|test |Ran \d|\d|\s|#|\[|not ok|rspec|Running|Tests|Test |Testing |Executed|All \d|Total tests|Passed!|Failed!|Snapshots|Failures:|Failed examples:|Pending|Doc-tests|Nextest|tests finished)|(?:FAILED|FAIL|ERROR|FAILURE!)\b",
    )
});

/// Event of a line, read without colours and time stamps; `None` for most lines.
pub(crate) fn event(line: &[u8]) -> Option<Event> {
    if line.len() > 400 || !CANDIDATE.is_match(line) {
        return None;
    }
    SET.matches(line).iter().next().map(|index| PATTERNS[index].0)
}

/// Whether a line is a test with how it went.
pub(crate) fn is_result(line: &[u8]) -> bool {
    static RESULT: LazyLock<Regex> = LazyLock::new(|| {
        compiled(
            r"(?-u)^(?:\S+::\S+ (?:PASSED|FAILED|SKIPPED|ERROR|XFAIL|XPASS)\b|test \S+.* \.\.\. (?:ok|FAILED|ignored)|\w+ \([\w.]+\) \.\.\. (?:ok|FAIL|ERROR|skipped))",
        )
    });
    RESULT.is_match(line)
}

/// Whether a line marks a test run: its beginning or its result.
pub(crate) fn is_telling(line: &[u8]) -> bool {
    match event(line) {
        Some(Event::Summary) => true,
        // pytest says when it begins, go says which packages it is done with.
        Some(Event::Suite) => memchr::memmem::find(line, b" starts ===").is_some() || line.contains(&b'\t'),
        _ => line.starts_with(b"--- PASS: ") || line.starts_with(b"--- FAIL: "),
    }
}
