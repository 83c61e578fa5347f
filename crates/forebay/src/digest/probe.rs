//! An output as the recognizers see it. Its properties are computed on first use and kept.

use crate::classify::form::{self, Form};
use crate::classify::source;
use crate::digest::rerun::Rerun;
use crate::digest::templates::Templates;
use crate::formats::verdict;
use crate::rank::passage::RankedUnit;
use crate::rank::score::FailureSignal;
use crate::text::failure_scan;
use crate::weights::folding::{BEST_UNITS, RUN_END_BYTES, RUN_END_LINES};
use crate::{Call, Output, Result, rank};
use std::cell::OnceCell;

/// Maximum bytes of an output that is read whole to check for rare kinds.
const READ_WHOLE: u64 = 8 * 1024 * 1024;

/// An output and its known properties. Each is computed at most once, however many budgets are tried.
pub(crate) struct Probe<'o> {
    pub(crate) output: &'o Output,
    rerun: Option<&'o Rerun>,
    form: OnceCell<Form>,
    whole: OnceCell<Option<Vec<u8>>>,
    ranked: OnceCell<Ranked>,
    failures: OnceCell<Ranked>,
    templates: OnceCell<Templates>,
    ends_badly: OnceCell<bool>,
    is_document: OnceCell<bool>,
}

/// Ranked units of an output, and how certainly they report a failure.
pub(crate) struct Ranked {
    pub(crate) units: Vec<RankedUnit>,
    pub(crate) signal: FailureSignal,
}

impl Ranked {
    /// Whether one of the best units starts with an error.
    pub(crate) fn starts_with_error(&self) -> bool {
        self.units.iter().take(BEST_UNITS).any(|unit| verdict::is_told(unit.text.as_bytes()))
    }
}

impl<'o> Probe<'o> {
    /// Probe of an output, with nothing computed yet.
    pub(crate) fn new(output: &'o Output) -> Probe<'o> {
        Probe {
            output,
            rerun: None,
            form: OnceCell::new(),
            whole: OnceCell::new(),
            ranked: OnceCell::new(),
            failures: OnceCell::new(),
            templates: OnceCell::new(),
            ends_badly: OnceCell::new(),
            is_document: OnceCell::new(),
        }
    }

    /// The same probe, with higher scores for lines that an earlier output lacks.
    pub(crate) fn since(self, rerun: Option<&'o Rerun>) -> Probe<'o> {
        Probe { rerun, ..self }
    }

    /// Probe of an output with a given form.
    #[cfg(test)]
    pub(crate) fn with_form(output: &'o Output, form: Form) -> Probe<'o> {
        Probe { form: OnceCell::from(form), ..Probe::new(output) }
    }

    /// Call that produced the output.
    pub(crate) fn call(&self) -> &'o Call {
        &self.output.record().call
    }

    /// Form of the output, corrected by its last lines and its history.
    pub(crate) fn form(&self) -> Result<Form> {
        let form = once(&self.form, || {
            Ok(match form::form(self.output)? {
                // Test runs print paths too.
                Form::Matches | Form::Listing | Form::Table if self.ends_badly()? => Form::TestRun,
                // Names of changes mention what they fix.
                Form::Log | Form::TestRun if form::is_changes(self.output)? => Form::Text,
                form => form,
            })
        })?;
        Ok(*form)
    }

    /// All bytes; `None` if the output is too large to be read whole.
    pub(crate) fn whole(&self) -> Result<Option<&[u8]>> {
        let whole = once(&self.whole, || {
            let length = self.output.len();
            Ok(if length > READ_WHOLE { None } else { Some(self.output.read(0..length)?) })
        })?;
        Ok(whole.as_deref())
    }

    /// Ranked units of a run: its failures, and its end.
    pub(crate) fn ranked(&self) -> Result<&Ranked> {
        once(&self.ranked, || rank::unasked(self.output).map(|(units, signal)| Ranked { units, signal }))
    }

    /// Failures of an output that always reports some, such as the log of a service.
    pub(crate) fn failures(&self) -> Result<&Ranked> {
        once(&self.failures, || rank::failures(self.output).map(|(units, signal)| Ranked { units, signal }))
    }

    /// Templates of the lines.
    pub(crate) fn templates(&self) -> Result<&Templates> {
        once(&self.templates, || Templates::of(self.output))
    }

    /// Units with higher scores for lines that an earlier output of the same call lacks.
    pub(crate) fn weighted(&self, units: Vec<RankedUnit>) -> Vec<RankedUnit> {
        match self.rerun {
            Some(rerun) => rerun.weighted(units),
            None => units,
        }
    }

    /// Whether the exit status says that the call succeeded.
    pub(crate) fn exited_well(&self) -> bool {
        self.output.record().exit.is_some_and(|exit| exit.status() == 0)
    }

    /// Whether the exit status says that the call failed.
    pub(crate) fn exited_badly(&self) -> bool {
        self.output.record().exit.is_some_and(|exit| exit.status() != 0)
    }

    /// Whether the last lines report a failure and are not part of a list.
    pub(crate) fn ends_badly(&self) -> Result<bool> {
        let ends_badly = once(&self.ends_badly, || {
            let output = self.output;
            let from = output.line_start_near(output.len().saturating_sub(RUN_END_BYTES), RUN_END_BYTES)?;
            let end = output.read(from..output.len())?;
            let mut scanner = failure_scan::Scanner::default();
            scanner.update(&end);
            let reported = scanner.finish();
            let lines = end.split(|&byte| byte == b'\n').rev().filter(|line| !line.trim_ascii().is_empty());
            let reports = |line: &[u8]| {
                let start = line.as_ptr() as usize - end.as_ptr() as usize;
                reported.iter().any(|&at| (start..start + line.len()).contains(&(at as usize)))
            };
            let mut last = lines.take(RUN_END_LINES);
            Ok(last.any(|line| reports(line) && !source::is_lone(line.trim_ascii())))
        })?;
        Ok(*ends_badly)
    }

    /// Whether a text is read from the beginning: prose, a history, or an SQL dump. A single line is none of these.
    pub(crate) fn is_document(&self) -> Result<bool> {
        let is_document = once(&self.is_document, || {
            Ok(self.output.record().size.lines > 1
                && (rank::is_prose(self.output)?
                    || form::is_history(self.output)?
                    || form::is_sql(self.output)?))
        })?;
        Ok(*is_document)
    }
}

/// The value of a cell, computed if it is empty.
fn once<T>(cell: &OnceCell<T>, compute: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(known) = cell.get() {
        return Ok(known);
    }
    let computed = compute()?;
    Ok(cell.get_or_init(|| computed))
}
