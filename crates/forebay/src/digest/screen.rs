//! Repainted outputs, such as progress bars: the final content of the screen.

use crate::digest::frame::{framed, wording};
use crate::digest::plan::{Plan, Wanted};
use crate::digest::probe::Probe;
use crate::view::{View, repainted};
use crate::{Budget, Result};

/// Maximum bytes of an output that is rendered whole to see whether it fits.
const RENDERED_WHOLE: u64 = 1024 * 1024;

/// Plans the view of a repainted output whose final screen fits.
pub(crate) fn recognize<'p>(probe: &'p Probe<'p>, _: &Wanted, budget: Budget) -> Result<Option<Plan<'p>>> {
    let output = probe.output;
    if output.len() > RENDERED_WHOLE || repainted::areas(output)?.is_empty() {
        return Ok(None);
    }
    let whole = View::showing(output, &[0..output.len()], wording(budget))?.on_screen(output)?;
    let view = framed(whole, output, budget)?;
    Ok(budget.holds(&view.print(output)?).then_some(Plan::View(view)))
}
