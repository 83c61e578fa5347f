//! Web pages, shown as the text of a browser.

use crate::classify::form::Form;
use crate::digest::frame::wording;
use crate::digest::passages;
use crate::digest::plan::{Plan, Wanted};
use crate::digest::probe::Probe;
use crate::rank::choose::UnitChoice;
use crate::text::html;
use crate::view::View;
use crate::{Budget, Result, rank};

/// Plans the view of a page that is small enough to be read as a whole.
pub(crate) fn recognize<'p>(
    probe: &'p Probe<'p>,
    wanted: &Wanted,
    budget: Budget,
) -> Result<Option<Plan<'p>>> {
    let output = probe.output;
    if probe.form()? != Form::Html || output.len() > crate::weights::bounds::LARGE {
        return Ok(None);
    }
    let page = html::text(&output.read(0..output.len())?);
    let units = match &wanted.text {
        Some(text) => rank::answering_page(output, &page, text)?,
        None => rank::page::overview(&page),
    };
    let last = (page.lines.len() as u64).saturating_sub(1);
    let choice = UnitChoice { units, last: Some(last), marker: 0, reads_on: wanted.text.is_none(), hole: 0 };
    let view = passages::view(output, budget, choice, "", |shown| {
        Ok(View::showing(output, shown, wording(budget))?.on_page())
    })?;
    Ok(Some(Plan::View(view)))
}
