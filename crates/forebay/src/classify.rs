//! Classification: the form of an output, detected from samples of its lines.

pub(crate) mod diff;
pub(crate) mod form;
pub(crate) mod headings;
pub(crate) mod hint;
pub(crate) mod json;
pub(crate) mod language;
pub(crate) mod languages;
pub(crate) mod lines;
pub(crate) mod listing;
pub(crate) mod log;
pub(crate) mod markup;
pub(crate) mod parse;
pub(crate) mod sample;
pub(crate) mod search;
pub(crate) mod source;
pub(crate) mod sql;
pub(crate) mod stdout;
#[cfg(feature = "outline")]
pub(crate) mod syntax_tree;
pub(crate) mod table;
pub(crate) mod text;

use crate::classify::form::Form;
use crate::classify::hint::Hint;
use crate::classify::language::language;
use crate::classify::lines::{Numbering, Source};
use crate::classify::markup::{Markup, has_html_tags, is_fenced, is_page, is_xml};
use crate::classify::sample::Sample;
use crate::formats::Formats;
use crate::terminal::without_codes;
use crate::text::pattern::compiled;
use crate::weights::{bounds, classify as weights};
use crate::{Output, Result};
use regex::bytes::Regex;
use std::sync::LazyLock;

/// Returns the form of a text, and how its lines are numbered if numbers were printed before them.
pub(crate) fn classify(output: &Output) -> Result<(Form, Option<Numbering>)> {
    let sample = Sample::of(output)?;
    let numbering = Numbering::of(sample.head.iter().map(|line| &line[..]));
    let plain = match numbering {
        Some(numbering) => sample.without_numbers(numbering),
        None => sample,
    };
    let hint = Hint::of(&output.record().call);
    let form = form(&Source::new(output, numbering), &plain, &hint)?;
    Ok((form, numbering))
}

/// Returns the percentage of lines that begin with a time stamp or a level.
pub(crate) fn logged(output: &Output) -> Result<usize> {
    Ok(Sample::of(output)?.share(|line| log::is_stamped(line) || log::is_levelled(line)))
}

/// Tries the forms in order: first those that hardly anything else is mistaken for, last plain text.
fn form(source: &Source, sample: &Sample, hint: &Hint) -> Result<Form> {
    if sample.lines().all(|line| line.trim_ascii().is_empty()) {
        return Ok(Form::Text);
    }
    if is_diff(sample) {
        return Ok(Form::Diff);
    }
    if is_page(sample) {
        return Ok(Form::Html);
    }
    if is_xml(sample) && !has_html_tags(sample) {
        return Ok(Form::Text);
    }
    let formats = source.output.formats();
    if let Some(form) = stamped_form(sample) {
        return Ok(form);
    }
    if sample.share(search::is_match) >= weights::SEARCH_LINES || search::is_grouped(sample.lines()) {
        return Ok(Form::Matches);
    }
    let levelled = sample.share(log::is_levelled);
    if levelled < weights::LEVELS_OF_NO_TEST_RUN && sample.lines().any(|line| formats.is_of_test_run(line)) {
        let may_quote =
            || sample.share(|line| CODE.is_match(line)) >= weights::CODE_LINES || is_fenced(sample);
        if !may_quote() || hint.language().is_none() && ends_as_test_run(sample, formats) {
            return Ok(Form::TestRun);
        }
    }
    if sample.share(|line| formats.is_outcome(line)) >= weights::TEST_RESULTS {
        return Ok(Form::TestRun);
    }
    if listing::is_listing(sample.lines()) {
        return Ok(Form::Listing);
    }
    if levelled + sample.share(log::is_bracketed) >= weights::LOGGED_LINES {
        return Ok(Form::Log);
    }
    // What ends as a test run is not a program, whatever its tests print.
    if hint.language().is_none() && ends_as_test_run(sample, formats) && !is_fenced(sample) {
        return Ok(Form::TestRun);
    }
    let settings = sample.share(|line| SETTING.is_match(line));
    if settings >= weights::SETTING_LINES && hint.language().is_none() {
        return Ok(Form::Text);
    }
    let markup = Markup::of(sample, hint);
    if (markup.as_ref().is_none_or(|markup| !markup.is_certain) || hint.language().is_some())
        && let Some(language) = language(source, sample, hint)?
    {
        return Ok(Form::Code(language));
    }
    if let Some(markup) = markup {
        return Ok(markup.form);
    }
    if table::is_table(&sample.rows()) {
        return Ok(Form::Table);
    }
    if has_html_tags(sample) {
        return Ok(Form::Html);
    }
    if has_test_run(source)? {
        return Ok(Form::TestRun);
    }
    let is_log = levelled >= weights::FEW_LEVELS
        || sample.share(log::is_grave) >= weights::FEW_ERRORS
        || levelled + sample.share(log::is_step) >= weights::FEW_STEPS;
    Ok(if is_log { Form::Log } else { Form::Text })
}

/// Returns the form of an output with time stamps or marks of a CI system: a log, or a table whose rows begin with a time.
fn stamped_form(sample: &Sample) -> Option<Form> {
    let is_marked = sample.lines().any(log::is_mark);
    let is_stamped = sample.share(log::is_stamped) >= weights::STAMPED_LINES;
    if !is_marked && is_stamped && table::is_stamped(&sample.rows()) {
        return Some(Form::Table);
    }
    (is_marked || is_stamped).then_some(Form::Log)
}

/// Whether a text ends as test runs do, whatever it quotes before that.
fn ends_as_test_run(sample: &Sample, formats: &Formats) -> bool {
    let lines: Vec<&[u8]> = sample.lines().filter(|line| !line.trim_ascii().is_empty()).collect();
    lines.iter().rev().take(weights::MAX_SUMMARY_LINES).any(|line| formats.is_of_test_run(line))
}

/// Whether there is a summary of a test run outside the sample.
fn has_test_run(source: &Source) -> Result<bool> {
    let mut found = false;
    let mut buffer = Vec::new();
    let from = source.output.line_start_near(source.output.len().saturating_sub(bounds::MEDIUM), 0)?;
    source.for_each_from(from, |line| {
        found = found || source.output.formats().is_of_test_run(without_codes(line.text, &mut buffer));
    })?;
    Ok(found)
}

/// Beginnings of lines that a unified diff has besides its hunks.
const DIFF_LINES: &[&[u8]] = &[
    b"diff ",
    b"index ",
    b"new file",
    b"deleted file",
    b"rename ",
    b"similarity ",
    b"old mode",
    b"new mode",
    b"commit ",
    b"Author: ",
    b"Date: ",
    b"Binary files ",
    b"Index: ",
    b"====",
];

/// Whether a text is a diff: it begins as one, has a hunk, and hardly anything but lines of diffs.
fn is_diff(sample: &Sample) -> bool {
    // A diff that is not unified begins with its files, or with the lines of a file.
    let first = sample.head.first().map_or(&b""[..], |line| line);
    let begins = diff::is_plain(first) && !matches!(first.first(), Some(b'<' | b'>' | b'-'));
    if begins && sample.share(diff::is_plain) >= weights::PLAIN_DIFF_LINES {
        return true;
    }
    let hunks = sample.count(|line| diff::hunk(&String::from_utf8_lossy(line)).is_some());
    let begins = sample.head.iter().take(weights::DIFF_HEAD_LINES).any(|line| {
        line.starts_with(b"diff --git ") || line.starts_with(b"--- ") || line.starts_with(b"Index: ")
    });
    let belongs = |line: &[u8]| {
        matches!(line.first(), Some(b' ' | b'+' | b'-' | b'@' | b'\\'))
            || DIFF_LINES.iter().any(|beginning| line.starts_with(beginning))
    };
    hunks > 0 && begins && sample.share(belongs) >= weights::UNIFIED_DIFF_LINES
}

/// Lines of a program in any language.
static CODE: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"(?-u:[;{}]\s*$|^\s*(?:def|class|import|from|return|if|for|while|else|try|except|fn|func|function|let|const|var|public|private|static|elif|with|end|use|struct|#include)\b)",
    )
});

/// Lines of settings, whose comments look like headings and whose values look like code.
static SETTING: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r#"^(?-u:\s*(?:- )?["']?[\w./-]+["']?(?::(?: .*|)| = .*)|[A-Z_][A-Z0-9_]*=.*|\s*- .*|\[\[?[\w."-]+\]\]?|#.*)$"#,
    )
});

#[cfg(test)]
mod tests {
    use crate::classify::form::form;
    use crate::store::memory::output_of;

    /// How the outputs of many tools look, and what each is.
    const OUTPUTS: &[(&str, &str, &str)] = &[
        (
            "mariadb -t",
            "text",
            "MariaDB [bank]> SHOW GLOBAL STATUS LIKE 'Innodb%';\n+------------------+-------+\n| Variable_name    | Value |\n+------------------+-------+\n| Innodb_deadlocks | 1     |\n| Innodb_log_waits | 0     |\n+------------------+-------+\nMariaDB [bank]> SHOW ENGINE INNODB STATUS\\G\n------------------------\nLATEST DETECTED DEADLOCK\n------------------------\nTRANSACTION 40, ACTIVE 2 sec starting index read\n",
        ),
        (
            "pytest -v",
            "test run",
            "============================= test session starts ==============================\nplatform linux -- Python 3.12.3, pytest-8.3.3, pluggy-1.5.0 -- /usr/bin/python3\ncollected 4 items\n\ntests/test_a.py::test_one PASSED                                         [ 25%]\ntests/test_a.py::test_two[3-4] PASSED                                    [ 50%]\ntests/test_a.py::TestB::test_three SKIPPED (no network)                  [ 75%]\ntests/test_b.py::test_four PASSED                                        [100%]\n\n========================= 3 passed, 1 skipped in 0.12s =========================\n",
        ),
        (
            "pytest -v, the middle of it",
            "test run",
            "tests/test_a.py::test_one PASSED                                         [ 25%]\ntests/test_a.py::test_two[3-4] PASSED                                    [ 50%]\ntests/test_a.py::TestB::test_three FAILED                                [ 75%]\ntests/test_b.py::test_four PASSED                                        [100%]\n",
        ),
        (
            "cargo test",
            "test run",
            "   Compiling demo v0.1.0 (/srv/demo)\n    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.52s\n     Running unittests src/lib.rs (target/debug/deps/demo-1)\n\nrunning 2 tests\ntest tests::one ... ok\ntest tests::two ... ok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n",
        ),
        (
            "go test -v",
            "test run",
            "=== RUN   TestOne\n--- PASS: TestOne (0.00s)\n=== RUN   TestTwo\n    a_test.go:12: got 1, want 2\n--- FAIL: TestTwo (0.00s)\nFAIL\nFAIL\texample.org/demo\t0.003s\nFAIL\n",
        ),
        (
            "jest",
            "test run",
            "PASS src/a.test.js\n  adds\n    ✓ twice (2 ms)\nFAIL src/b.test.js\n  ● subtracts › once\n\n    expect(received).toBe(expected)\n\nTest Suites: 1 failed, 1 passed, 2 total\nTests:       1 failed, 1 passed, 2 total\nSnapshots:   0 total\nTime:        0.8 s\n",
        ),
        (
            "mocha",
            "test run",
            "\n\n  Cart\n    ✔ adds\n    ✔ removes\n    1) totals\n\n\n  2 passing (8ms)\n  1 failing\n\n  1) Cart\n       totals:\n     AssertionError [ERR_ASSERTION]: 1 == 2\n",
        ),
        (
            "rspec",
            "test run",
            "..F\n\nFailures:\n\n  1) Cart totals\n     Failure/Error: expect(1).to eq(2)\n\nFinished in 0.01 seconds (files took 0.1 seconds to load)\n3 examples, 1 failure\n\nFailed examples:\n\nrspec ./spec/cart_spec.rb:9 # Cart totals\n",
        ),
        (
            "ctest",
            "test run",
            "Test project /srv/build\n    Start 1: parse\n1/2 Test #1: parse ............................   Passed    0.01 sec\n    Start 2: print\n2/2 Test #2: print ............................***Failed    0.02 sec\n\n50% tests passed, 1 tests failed out of 2\n\nTotal Test time (real) =   0.03 sec\n",
        ),
        (
            "mvn test",
            "log",
            "[INFO] Scanning for projects...\n[INFO] Building demo 1.0\n[INFO] --- surefire:3.2.5:test (default-test) @ demo ---\n[INFO] Running org.example.CartTest\n[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0\n[ERROR] BUILD FAILURE\n",
        ),
        (
            "a log of a proxy, with addresses that are no paths",
            "log",
            "127.0.0.1:37678 [16/Nov/2026:20:41:01.331] web app/a1 0/0/0/4/4 200 116 \"GET /app/8 HTTP/1.1\"\n127.0.0.1:37690 [16/Nov/2026:20:41:01.349] web app/a2 0/0/0/1/1 200 116 \"GET /app/9 HTTP/1.1\"\n[ALERT]    (32687) : backend 'pay' has no server available!\n127.0.0.1:37700 [16/Nov/2026:20:41:01.357] web pay/<NOSRV> 0/-1/-1/-1/0 503 217 \"GET /pay/80 HTTP/1.1\"\n",
        ),
        (
            "a log with the number of a process before the time",
            "log",
            "18133:C 16 Nov 2026 20:37:02.056 # Redis is starting\n\n_.-``__ ''-._\n\nport.7391\n18133:M 16 Nov 2026 20:37:02.057 * Running mode=standalone\n18133:M 16 Nov 2026 20:37:02.059 * Ready to accept connections\n18133:M 16 Nov 2026 20:37:06.184 # Background saving error\n",
        ),
        (
            "httpd",
            "log",
            "[Mon Nov 16 20:41:01.331 2026] [core:error] [pid 7] AH00037: Symbolic link not allowed\n[Mon Nov 16 20:41:02.331 2026] [mpm_event:notice] [pid 7] AH00489: resuming normal operations\n",
        ),
        (
            "python -m http.server",
            "log",
            "127.0.0.1 - - [16/Nov/2026 20:41:01] \"GET / HTTP/1.1\" 200 -\n127.0.0.1 - bob [16/Nov/2026 20:41:01] \"GET /a HTTP/1.1\" 404 -\n",
        ),
        (
            "what has numbers before colons that do not grow",
            "text",
            "src/a.rs\n7: one\n3: two\n\nsrc/b.rs\n9: three\n2: four\n",
        ),
        (
            "gradle test",
            "test run",
            "> Task :compileJava UP-TO-DATE\n> Task :test\n\nCartTest > totals() FAILED\n    org.opentest4j.AssertionFailedError at CartTest.java:12\n\n2 tests completed, 1 failed\n\nBUILD FAILED in 3s\n",
        ),
        (
            "npm ls",
            "text",
            "demo@1.0.0 /srv/demo\n├─┬ express@4.19.2\n│ ├── accepts@1.3.8\n│ └─┬ body-parser@1.20.2\n│   └── bytes@3.1.2\n└── lodash@4.17.21\n",
        ),
        (
            "docker ps",
            "table",
            "CONTAINER ID   IMAGE          COMMAND                  CREATED        STATUS        PORTS      NAMES\n1a2b3c4d5e6f   postgres:16    \"docker-entrypoint.s…\"   2 hours ago    Up 2 hours    5432/tcp   db\n2a2b3c4d5e6f   redis:7        \"docker-entrypoint.s…\"   2 hours ago    Up 2 hours    6379/tcp   cache\n3a2b3c4d5e6f   nginx:latest   \"/docker-entrypoint.…\"   3 hours ago    Up 3 hours    80/tcp     web\n",
        ),
        (
            "kubectl get pods",
            "table",
            "NAME                    READY   STATUS             RESTARTS   AGE\nweb-5d4f8c7b9-abcde     1/1     Running            0          3d\nweb-5d4f8c7b9-fghij     0/1     CrashLoopBackOff   12         3d\ndb-0                    1/1     Running            0          9d\n",
        ),
        (
            "ps aux",
            "table",
            "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\nroot           1  0.0  0.1 168140 11712 ?        Ss   09:00   0:01 /sbin/init splash\nroot           2  0.0  0.0      0     0 ?        S    09:00   0:00 [kthreadd]\nwww-data     731  0.3  1.2 214000 51212 ?        S    09:01   0:22 nginx: worker process\n",
        ),
        (
            "df",
            "table",
            "Filesystem     1K-blocks     Used Available Use% Mounted on\n/dev/sda1       41152736 20342148  18688152  53% /\ntmpfs            4021344        0   4021344   0% /dev/shm\n/dev/sdb1      103081248 61205184  36596800  63% /data\n",
        ),
        (
            "env",
            "text",
            "HOME=/root\nPATH=/usr/local/bin:/usr/bin:/bin\nLANG=C.UTF-8\nPWD=/srv/demo\nSHLVL=1\nTERM=xterm\n",
        ),
        (
            "git status",
            "text",
            "On branch main\nYour branch is up to date with 'origin/main'.\n\nChanges not staged for commit:\n  (use \"git add <file>...\" to update what will be committed)\n\tmodified:   src/a.rs\n\tmodified:   src/b.rs\n\nno changes added to commit (use \"git add\" and/or \"git commit -a\")\n",
        ),
        (
            "git log --oneline",
            "text",
            "c388cd5 serve: a tenant's name that is none is told as such\n3f0fb15 tests: clients vanish at every moment of a put\n748dacc serve: what is configured is said once\nebaec46 readme: what the tests install\n264860e bench: the gateway with less beside it\n",
        ),
        (
            "rg",
            "search results",
            "src/a.rs:    let x = 1;\nsrc/a.rs:    let y = x;\nsrc/b.rs:fn x() {\ndocs/c.md:the letter x\n",
        ),
        (
            "grep -rn",
            "search results",
            "./src/a.rs:12:    let x = 1;\n./src/a.rs:15:    let y = x;\n./src/b.rs:3:fn x() {\n",
        ),
        (
            "eslint",
            "log",
            "\n/srv/demo/src/a.js\n   1:10  error    'x' is defined but never used  no-unused-vars\n  12:5   warning  Unexpected console statement   no-console\n\n/srv/demo/src/b.js\n   3:1   error    Unexpected var, use let        no-var\n\n✖ 3 problems (2 errors, 1 warning)\n",
        ),
        (
            "tsc",
            "log",
            "src/a.ts(12,5): error TS2322: Type 'string' is not assignable to type 'number'.\nsrc/a.ts(18,9): error TS2304: Cannot find name 'y'.\nsrc/b.ts(3,1): error TS7006: Parameter 'z' implicitly has an 'any' type.\n",
        ),
        (
            "mypy",
            "log",
            "src/a.py:12: error: Incompatible return value type (got \"str\", expected \"int\")  [return-value]\nsrc/a.py:18: note: See https://mypy.example/errors\nsrc/b.py:3: error: Name \"y\" is not defined  [name-defined]\nFound 2 errors in 2 files (checked 9 source files)\n",
        ),
        (
            "ruff",
            "log",
            "src/a.py:1:8: F401 [*] `os` imported but unused\nsrc/a.py:12:5: E711 Comparison to `None` should be `cond is None`\nsrc/b.py:3:1: I001 [*] Import block is un-sorted or un-formatted\nFound 3 errors.\n[*] 2 fixable with the `--fix` option.\n",
        ),
        (
            "go vet",
            "log",
            "# example.org/demo\n./a.go:12:2: undefined: x\n./a.go:18:9: cannot use y (variable of type string) as int value in return statement\n./b.go:3:8: \"os\" imported and not used\n",
        ),
        (
            "find",
            "listing",
            ".\n./src\n./src/a.rs\n./src/b c.rs\n./docs\n./docs/a.md\n./README\n./docs/b.md\n./x/y.z\n./x/k.z\n./x/l.z\n",
        ),
        ("ls -R", "listing", ".:\nREADME\ndocs\nsrc\n\n./docs:\na.md\n\n./src:\na.rs\nmain\n"),
        (
            "ls -l",
            "listing",
            "total 12\ndrwxr-xr-x 2 root root 4096 Nov 16 10:04 docs\n-rw-r--r-- 1 root root  120 Nov 16 10:04 README\n-rw-r--r-- 1 root root 9120 Nov 16 10:04 a b.txt\n",
        ),
        ("du -h", "listing", "4.0K\t./docs\n120K\t./src/query\n180K\t./src\n200K\t.\n"),
        (
            "tree",
            "listing",
            ".\n├── README\n├── docs\n│   └── a.md\n└── src\n    ├── a.rs\n    └── main\n\n2 directories, 4 files\n",
        ),
        (
            "a report of tests",
            "text",
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><testsuites><testsuite time=\"12.5\" timestamp=\"2024-05-01T10:04:11.2\"><testcase file=\"a.py\" /></testsuite></testsuites>",
        ),
        (
            "data in XML",
            "text",
            "<?xml version=\"1.0\"?>\n<!DOCTYPE entries [\n  <!ELEMENT entries (entry+)>\n]>\n<entries>\n  <entry\n    code=\"AED\"\n    number=\"784\" />\n  <entry\n    code=\"AFN\"\n    number=\"971\" />\n</entries>\n",
        ),
        ("git ls-files", "listing", ".gitignore\nCargo.toml\nsrc/lib.rs\nsrc/a/b.rs\n"),
    ];

    #[test]
    #[cfg(all(
        feature = "lang-java",
        feature = "lang-c",
        feature = "lang-javascript",
        feature = "lang-ruby"
    ))]
    fn code_is_known_though_it_is_mostly_comments_and_its_end_is_not_seen() {
        let comment = "    /**\n     * Says what it does, at length, and when it may be used.\n     * @param name the name\n     */\n";
        let java: String = (0..300)
            .map(|n| format!("{comment}    public int get{n}(int value) throws IOException {{\n        if (value > {n}) {{\n            return value;\n        }}\n        return size.get();\n    }}\n\n"))
            .collect();
        let javascript: String = (0..300)
            .map(|n| format!("{comment}    get{n}(value) {{\n        if (value === undefined) return this._size;\n        this._size = value;\n        return this;\n    }}\n\n"))
            .collect();
        let c: String = (0..300)
            .map(|n| format!("{comment}    void get{n} (struct state *s) {{\n        if (s->size > {n}) s->size = 0;\n        return s->size;\n    }}\n\n"))
            .collect();
        for (text, expected) in [
            (format!("package a;\n\nimport java.util.List;\n\npublic class Store {{\n{java}}}\n"), "Java"),
            (
                format!(
                    "const {{ A }} = require('./a.js');\n\nclass Store extends A {{\n{javascript}}}\n\nexports.Store = Store;\n"
                ),
                "JavaScript",
            ),
            (format!("#include <stdio.h>\n\n#ifdef ALL\n{c}#endif\n"), "C"),
        ] {
            assert_eq!(form(&output_of(text.as_bytes())).unwrap().name(), expected);
        }
    }

    #[test]
    fn what_has_other_signs_in_it_is_no_ruby() {
        let found: String =
            (0..40).map(|n| format!("{n} 2024-11-16 /srv/node_modules/@types/p{n}/package.json\n")).collect();
        let symbols: String = (0..40)
            .map(|n| format!("  {n:06}: 0000 00 FUNC GLOBAL DEFAULT UND call_{n}@GLIBC_2.2.5 (2)\n"))
            .collect();
        for text in [found, symbols] {
            assert_eq!(form(&output_of(text.as_bytes())).unwrap().name(), "text", "{text}");
        }
    }

    #[test]
    fn a_title_in_capitals_above_prose_is_no_header_and_a_wide_table_is_one() {
        let prose = "  Everyone is permitted to copy and distribute verbatim copies\nof this document, but changing it is not what anybody may do.\n";
        let text = format!("                    SOME GENERAL PUBLIC TERMS\n\n{}", prose.repeat(30));
        assert_eq!(form(&output_of(text.as_bytes())).unwrap().name(), "text");
        for columns in [5, 17, 60, 200] {
            let row =
                |n: usize| (0..columns).map(|c| format!("value of {}", n * c)).collect::<Vec<_>>().join(",");
            let names: Vec<String> = (0..columns).map(|c| format!("c{c}")).collect();
            let rows: String = (0..30).map(|n| row(n) + "\n").collect();
            let text = format!("{}\n{rows}", names.join(","));
            assert_eq!(form(&output_of(text.as_bytes())).unwrap().name(), "table", "{columns}");
        }
    }

    #[test]
    fn the_outputs_of_many_tools_are_known_for_what_they_are() {
        let mut wrong = Vec::new();
        for (tool, expected, text) in OUTPUTS {
            let form = form(&output_of(text.as_bytes())).unwrap();
            if form.name() != *expected {
                wrong.push(format!("{tool}: {}, not {expected}", form.name()));
            }
        }
        assert_eq!(wrong, Vec::<String>::new());
    }
}
