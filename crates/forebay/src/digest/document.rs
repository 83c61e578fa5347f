//! Texts that are read from the beginning: prose, histories, SQL dumps.

use crate::classify::form::{self, Form};
use crate::digest::ends::Parts;
use crate::digest::outline_items::OutlineItems;
use crate::digest::plan::{Plan, Wanted};
use crate::digest::probe::Probe;
use crate::view::units;
use crate::weights::folding::{MAX_STATEMENTS, Shares};
use crate::{Budget, Result, outline};

/// Plans the view of a document.
pub(crate) fn recognize<'p>(probe: &'p Probe<'p>, _: &Wanted, _: Budget) -> Result<Option<Plan<'p>>> {
    if probe.form()? != Form::Text || !probe.is_document()? {
        return Ok(None);
    }
    let output = probe.output;
    let outline = outline::outline(output)?;
    // Statements that create something in a dump, and named changes of a history.
    let statements = outline.items.iter().filter(|item| item.kind == "statement").map(|item| item.line);
    let lines: Vec<u64> =
        if form::is_history(output)? { outline::named_changes(output)? } else { statements.collect() };
    let starts = lines.iter().take(MAX_STATEMENTS).map(|line| output.line_start(line - 1));
    let outliers = units::at(output, &starts.collect::<Result<Vec<u64>>>()?)?;
    let shares = if form::is_sql(output)? { Shares::SQL } else { Shares::DOCUMENT };
    Ok(Some(Plan::Ends(Parts { outliers, ..Parts::new(shares, OutlineItems::new(outline)) })))
}
