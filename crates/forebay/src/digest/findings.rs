//! Findings of linters, counted by code. Those with rare codes are outliers.

use crate::classify::form::Form;
use crate::digest::ends::Parts;
use crate::digest::plan::{Plan, Wanted};
use crate::digest::probe::Probe;
use crate::digest::summarize::Summarize;
use crate::formats::finding::{FEW as FEW_ERRORS, are_few, code_in_file, is_error};
use crate::text::count::{count, grouped};
use crate::view::Summary;
use crate::view::print::Gap;
use crate::weights::folding::{FINDINGS_PERCENT, MAX_CODES, MIN_FINDINGS, Shares};
use crate::{Budget, Output, Result};
use std::collections::HashMap;
use std::ops::Range;

/// Plans the view of the findings of a linter, if the output is a list of findings with codes.
pub(crate) fn recognize<'p>(probe: &'p Probe<'p>, wanted: &Wanted, _: Budget) -> Result<Option<Plan<'p>>> {
    let may_have_findings = matches!(probe.form()?, Form::Matches | Form::TestRun | Form::Text | Form::Log);
    if wanted.exclusive || !may_have_findings {
        return Ok(None);
    }
    let Some(findings) = probe.whole()?.and_then(Findings::of) else { return Ok(None) };
    let outliers = findings.outliers();
    Ok(Some(Plan::Ends(Parts { outliers, ..Parts::new(Shares::FINDINGS, findings) })))
}

/// A list of findings.
pub(crate) struct Findings {
    codes: Vec<Code>,
    count: u64,
    /// Errors among the findings. Collection stops at one more than the maximum for few errors.
    errors: Vec<Range<u64>>,
}

/// A code of a linter.
struct Code {
    code: String,
    count: u64,
    /// First finding with this code.
    first: Range<u64>,
    is_error: bool,
}

impl Findings {
    /// Parses an output that consists almost only of findings.
    pub(crate) fn of(bytes: &[u8]) -> Option<Findings> {
        let mut codes: HashMap<&[u8], Code> = HashMap::new();
        let (mut at, mut lines, mut found, mut errors) = (0, 0, 0, Vec::new());
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            let range = at..at + line.len() as u64;
            at = range.end;
            if line.trim_ascii().is_empty() {
                continue;
            }
            lines += 1;
            let Some(code) = code_in_file(line) else {
                // Any other output is not read to its end.
                if lines > MIN_FINDINGS * 2 && found * 2 < lines {
                    return None;
                }
                continue;
            };
            found += 1;
            if errors.len() <= FEW_ERRORS && is_error(line) {
                errors.push(range.clone());
            }
            let known = codes.entry(code).or_insert_with(|| Code {
                code: String::from_utf8_lossy(code).into_owned(),
                count: 0,
                first: range,
                is_error: is_error(line),
            });
            known.count += 1;
        }
        if found < MIN_FINDINGS || found * 100 < lines * FINDINGS_PERCENT {
            return None;
        }
        let mut codes: Vec<Code> = codes.into_values().collect();
        codes.sort_by(|a, b| b.count.cmp(&a.count).then(a.first.start.cmp(&b.first.start)));
        Some(Findings { codes, count: found as u64, errors })
    }

    /// One finding of each code, the least frequent codes first: errors, then other findings. If there are few
    /// errors, all of them come before the other findings.
    fn outliers(&self) -> Vec<Range<u64>> {
        let mut codes: Vec<&Code> = self.codes.iter().collect();
        codes.sort_by_key(|code| (!code.is_error, code.count, code.first.start));
        codes.truncate(MAX_CODES);
        let errors = codes.partition_point(|code| code.is_error);
        let mut outliers: Vec<Range<u64>> = codes.iter().map(|code| code.first.clone()).collect();
        if are_few(self.errors.len(), self.count as usize) {
            let others: Vec<_> =
                self.errors.iter().filter(|error| !outliers.contains(error)).cloned().collect();
            outliers.splice(errors..errors, others);
        }
        outliers
    }
}

impl Summarize for Findings {
    /// Findings per code, the most frequent codes first.
    fn summary(&self, _: &Output, gap: &Gap, room: u64) -> Result<Option<Summary>> {
        let summary = |text: &str| Summary::uncounted().saying(text);
        let mut text = format!("{} by code: ", count("finding", self.count));
        let mut listed = 0;
        for code in &self.codes {
            let separator = if listed == 0 { "" } else { ", " };
            let next = format!("{text}{separator}{} × {}", code.code, grouped(code.count));
            if summary(&next).tokens(gap) > room {
                break;
            }
            (text, listed) = (next, listed + 1);
        }
        let more = self.codes.len() - listed;
        let others = if more > 0 { format!(", and {more} more") } else { String::new() };
        Ok((listed > 0).then(|| summary(&(text + &others))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::summarize::summary_of;
    use crate::store::memory::output_of;

    fn finding(file: usize, code: &str) -> String {
        format!("src/a{file}.py:{file}:1: {code} what was found\n")
    }

    #[test]
    fn the_few_errors_are_all_shown() {
        let remarks: String = (0..60).map(|file| finding(file, "C: Style/Alias:")).collect();
        let errors = |count| (0..count).map(|file| finding(file, "E: Lint/Syntax:")).collect::<String>();
        for (count, shown) in [(3, 4), (7, 2)] {
            let text = errors(count) + &remarks;
            assert_eq!(Findings::of(text.as_bytes()).unwrap().outliers().len(), shown, "{count}");
        }
        // The rarest of them is the first.
        let fatal = finding(9, "F: Lint/Fatal:");
        let text = errors(3) + &fatal + &remarks;
        let output = output_of(text.as_bytes());
        let outliers = Findings::of(text.as_bytes()).unwrap().outliers();
        let lines: Vec<u64> =
            outliers.iter().map(|range| output.newlines_before(range.start).unwrap()).collect();
        assert_eq!(lines, [3, 0, 1, 2, 4]);
    }

    #[test]
    fn findings_are_counted_by_code_and_those_of_rare_codes_are_shown() {
        let mut text: String = (0..60).map(|file| finding(file, "D102")).collect();
        text += &finding(3, "S102");
        text += &(0..20).map(|file| finding(file, "E501")).collect::<String>();
        text += "Found 81 errors.\n";
        let output = output_of(text.as_bytes());
        let findings = Findings::of(text.as_bytes()).unwrap();
        let outliers = findings.outliers();
        assert_eq!(output.read(outliers[0].clone()).unwrap(), finding(3, "S102").as_bytes());
        assert_eq!(
            summary_of(&findings, &output, 60).unwrap(),
            "81 findings by code: D102 × 60, E501 × 20, S102 × 1"
        );
        assert_eq!(
            summary_of(&findings, &output, 22).unwrap(),
            "81 findings by code: D102 × 60, E501 × 20, and 1 more"
        );
    }

    #[test]
    fn errors_come_before_remarks_however_often_they_were_found() {
        let mut text: String = (0..50).map(|file| finding(file, "C0116:")).collect();
        text += &finding(1, "W0107:");
        text += &(0..4).map(|file| finding(file, "E1101:")).collect::<String>();
        let findings = Findings::of(text.as_bytes()).unwrap();
        let first = findings.outliers()[0].clone();
        assert_eq!(&text[first.start as usize..first.end as usize], finding(0, "E1101:"));
    }

    #[test]
    fn an_output_with_few_findings_is_not_a_list_of_findings() {
        let few: String = (0..10).map(|file| finding(file, "D102")).collect();
        let among: String =
            (0..100).map(|n| format!("{}step {n}\nstep {n} done\n", finding(n, "D102"))).collect();
        for text in [few, among, String::new(), "plain words\n".repeat(300)] {
            assert!(Findings::of(text.as_bytes()).is_none(), "{text}");
        }
    }
}
