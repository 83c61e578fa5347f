//! Sections, periods and errors of a log.

use crate::Result;
use crate::classify::lines::Source;
use crate::classify::log::{Level, STAMP, level, stamped};
use crate::formats::Role;
use crate::formats::sections::{ends_section, section};
use crate::outline::{Items, LineSpan, name, test_run};
use crate::terminal::without_codes;
use crate::text::count::counted;
use crate::text::pattern::compiled;
use crate::weights::outline as weights;
use regex::bytes::Regex;
use std::{collections::HashMap, sync::LazyLock};

/// Returns the hour of a time stamp with its date, and where it ends.
fn hour(stamp: &[u8]) -> Option<(&[u8], usize)> {
    let found = STAMP.captures(stamp)?;
    let hour = (1..=3).find_map(|group| found.get(group))?;
    Some((hour.as_bytes(), hour.end()))
}

/// Beginning or end of a fold of Travis, which can be anywhere in a line.
static FOLD: LazyLock<Regex> = LazyLock::new(|| compiled(r"travis_fold:(start|end):([\w.-]+)\s*"));

/// Returns the folds that begin (with their titles) or end in a line, and the line without them.
fn folds(line: &[u8]) -> Option<(Vec<Option<String>>, &[u8])> {
    memchr::memmem::find(line, b"travis_fold:")?;
    let (mut folds, mut rest) = (Vec::new(), line);
    for found in FOLD.captures_iter(line) {
        folds.push((&found[1] == b"start").then(|| name(&String::from_utf8_lossy(&found[2]))));
        rest = found.get(0).map_or(rest, |all| &line[all.end()..]);
    }
    Some((folds, rest))
}

/// Returns a line without the time marks of Travis.
fn without_times(line: &[u8]) -> &[u8] {
    match line.strip_prefix(b"travis_time:") {
        Some(rest) => memchr::memchr(b' ', rest).map_or(b"", |space| rest[space..].trim_ascii_start()),
        None => line,
    }
}

/// Error of a log, with its repetitions.
struct Wrong {
    line: u64,
    /// Last line of the first occurrence.
    until: u64,
    last: u64,
    times: u64,
    depth: u32,
    text: String,
}

/// The errors of a log, each once.
#[derive(Default)]
struct Distinct {
    errors: Vec<Wrong>,
    /// Index of each error by its text without digits.
    known: HashMap<Vec<u8>, usize>,
}

impl Distinct {
    fn add(&mut self, line: u64, text: &[u8], depth: u32) {
        if let Some(last) = self.errors.last_mut()
            && last.until + 1 == line
        {
            // Errors in neighbouring lines are one error.
            (last.until, last.last) = (line, line);
            return;
        }
        // The same error can have other numbers and addresses.
        let key: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_hexdigit()).take(200).collect();
        match self.known.get(&key) {
            Some(&index) => {
                self.errors[index].times += 1;
                self.errors[index].last = line;
            }
            None if self.errors.len() < weights::MAX_ERRORS => {
                self.known.insert(key, self.errors.len());
                let text = String::from_utf8_lossy(text).into_owned();
                self.errors.push(Wrong { line, until: line, last: line, times: 1, depth, text });
            }
            None => {}
        }
    }
}

/// Adds the sections with their errors and failed tests. A log without sections gets its hours or days.
pub(crate) fn outline(source: &Source, items: &mut Items) -> Result<()> {
    let mut buffer = Vec::new();
    let mut distinct = Distinct::default();
    let (mut errors, mut warnings, mut lines) = (0, 0, 0);
    let mut same_hour: Vec<u8> = Vec::new();
    let mut hours: Vec<(u64, Vec<u8>)> = Vec::new();
    // Open groups that have an end mark.
    let mut groups: u32 = 0;
    let mut sections = 0_u64;
    let mut in_suite = false;
    source.for_each(|line| {
        lines = line.number;
        let text = without_codes(line.text, &mut buffer);
        let (stamp, rest) = stamped(text);
        // Most lines have the hour of the line before, which is cheaper to test than to read the hour.
        if stamp > 0
            && (same_hour.is_empty() || !text.starts_with(&same_hour))
            && let Some((hour, end)) = hour(&text[..stamp])
        {
            same_hour = text[..end].to_vec();
            if hours.last().is_none_or(|(_, last)| last != hour) && hours.len() < crate::outline::KEPT {
                hours.push((line.number, hour.to_vec()));
            }
        }
        let text = rest;
        let (folds, text) = folds(text).unwrap_or((Vec::new(), text));
        for fold in folds {
            match fold {
                Some(title) => {
                    items.open(line.number, groups.min(8), "section", || title);
                    (groups, sections, in_suite) = (groups + 1, sections + 1, false);
                }
                None => groups = groups.saturating_sub(1),
            }
        }
        let text = without_times(text);
        if ends_section(text) {
            groups = groups.saturating_sub(1);
        }
        if let Some((title, is_group)) = section(text) {
            if let Some(event) = source.output.formats().event(text).filter(|event| *event == Role::Summary) {
                items.add(LineSpan::one(line.number), groups + 1, test_run::item(event).0, || {
                    test_run::called(text)
                });
                return;
            }
            items.open(line.number, groups.min(8), "section", || {
                name(String::from_utf8_lossy(title).trim_matches(['*', '=', ' ']))
            });
            groups += u32::from(is_group);
            sections += 1;
            in_suite = false;
            return;
        }
        let depth = groups.min(8) + u32::from(groups == 0 && sections > 0);
        if let Some(event) = source.output.formats().event(text) {
            let (kind, _) = test_run::item(event);
            in_suite |= event == Role::Suite;
            let deeper = u32::from(in_suite && event != Role::Suite);
            items.add(LineSpan::one(line.number), depth + deeper, kind, || test_run::called(text));
            return;
        }
        match level(text) {
            Some(Level::Error) => {
                errors += 1;
                distinct.add(line.number, text, depth);
            }
            Some(Level::Warning) => warnings += 1,
            None => {}
        }
    })?;
    if sections == 0 {
        stretches(hours, items);
    }
    let deeper = u32::from(sections == 0 && items.items.iter().any(|item| item.kind == "period"));
    for error in distinct.errors {
        let again = match error.times {
            1 => String::new(),
            times => format!(" (×{times}, last in line {})", error.last),
        };
        let text = crate::outline::shortened(&error.text, crate::outline::NAME - again.len());
        items.add(LineSpan { first: error.line, last: error.until }, error.depth + deeper, "error", || {
            format!("{text}{again}")
        });
    }
    if errors + warnings > 0 {
        let text = format!("{}, {}", counted(errors, "error"), counted(warnings, "warning"));
        let levels = crate::outline::Item {
            line: 1,
            last_line: lines,
            depth: 0,
            kind: "levels",
            name: text,
            count: None,
            symbol: None,
        };
        items.items.insert(0, levels);
    }
    Ok(())
}

/// Adds the hours of a log, or its days if it has too many hours.
fn stretches(mut hours: Vec<(u64, Vec<u8>)>, items: &mut Items) {
    let mut unit = "h";
    if hours.len() > weights::MAX_HOURS {
        unit = "";
        for (_, hour) in &mut hours {
            hour.truncate(hour.len() - 3);
        }
        hours.dedup_by(|next, before| next.1 == before.1);
    }
    if hours.len() < 2 {
        return;
    }
    for (line, hour) in hours {
        let text = String::from_utf8_lossy(&hour).replace('T', " ");
        items.open(line, 0, "period", || name(&format!("{text}{unit}")));
    }
}

#[cfg(test)]
mod tests {
    use crate::outline::tests::{of, of_file};

    #[test]
    fn a_stamp_may_stand_behind_how_grave_an_entry_of_syslog_is() {
        for (line, expected) in [
            ("<134>Nov 17 19:17:20 localhost haproxy[5242]: backend app has no server", true),
            ("Nov 17 19:17:20 localhost sshd[1]: Accepted", true),
            ("<1340>Nov 17 19:17:20 localhost", false),
            ("<b>Nov 17 19:17:20", false),
        ] {
            assert_eq!(crate::classify::log::is_stamped(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn groups_of_a_workflow_are_sections_with_their_errors() {
        let out = of(
            "2024-05-01T10:00:00.1Z ##[group]Run build\n2024-05-01T10:00:00.2Z make all\n2024-05-01T10:00:00.3Z ##[endgroup]\n2024-05-01T10:00:01.1Z src/a.c:3:1: error: expected ;\n2024-05-01T10:00:01.2Z warning: unused\n2024-05-01T10:00:02.1Z ##[group]Run test\n2024-05-01T10:00:02.2Z ##[endgroup]\n2024-05-01T10:00:03.1Z ##[error]Process completed with exit code 1.\n",
        );
        expect_test::expect![[r#"
            log
            1-8 levels | 2 errors, 1 warning
            1-5 section | Run build
            4-4   error | src/a.c:3:1: error: expected ;
            6-8 section | Run test
            8-8   error | ##[error]Process completed with exit code 1.
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn folds_may_begin_and_end_in_one_line() {
        let out = of(
            "travis_fold:start:info\r\u{1b}[0K\u{1b}[33;1mInfo\u{1b}[0m\nhost: a\ntravis_fold:end:info\r\u{1b}[0Ktravis_fold:start:git\r\u{1b}[0K$ git clone\ntravis_fold:end:git\r\u{1b}[0K\nbash: foo: command not found\nThe command \"make\" exited with 2.\n",
        );
        expect_test::expect![[r#"
            log
            1-6 levels | 2 errors, 0 warnings
            1-2 section | info
            3-6 section | git
            3-4   section | $ git clone
            5-6   error | bash: foo: command not found
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_log_without_sections_has_hours_and_says_the_same_error_once() {
        let out = of(
            "May  1 10:00:00 host app: up\nMay  1 10:30:00 host app: error: no disk 12\nMay  1 10:31:00 host app: fine\nMay  1 11:00:00 host app: error: no disk 13\nMay  1 11:00:01 host app: bye\n",
        );
        expect_test::expect![[r#"
            log
            1-5 levels | 2 errors, 0 warnings
            1-3 period | May 1 10h
            2-2   error | host app: error: no disk 12 (×2, last in line 4)
            4-5 period | May 1 11h
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn steps_of_builds_are_sections() {
        let out = of(
            "[INFO] Scanning for projects...\n[INFO] --- maven-compiler-plugin:3.1:compile (default) @ app ---\n[INFO] Compiling 3 files\n[ERROR] COMPILATION ERROR :\n[INFO] --- surefire:test @ app ---\n[INFO] BUILD FAILURE\nStep 2/3 : RUN make\nmake[1]: Entering directory '/a'\n",
        );
        expect_test::expect![[r#"
            log
            1-8 levels | 2 errors, 0 warnings
            2-4 section | maven-compiler-plugin:3.1:compile (default) @ app
            4-4   error | [ERROR] COMPILATION ERROR :
            5-6 section | surefire:test @ app
            6-6   error | [INFO] BUILD FAILURE
            7-7 section | Step 2/3 : RUN make
            8-8 section | Entering directory '/a'
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_count_of_no_errors_is_no_error() {
        let out =
            of_file("x.log", "[INFO] errors: 0, failures: 0\n[INFO] ERROR count: 0 errors\n[WARN] careful\n");
        assert_eq!(out, "log\n1-3 levels | 0 errors, 1 warning\n");
    }
}
